/* SPDX-License-Identifier: Apache-2.0
 * docs/compat.md, from the table of operations: what is answered, and what is refused with the documented error. */
#include "server/compat.h"

#include "rest/services/services.h"

static void file_row_put(struct buf *out, const struct op *op)
{
	static const struct {
		unsigned bit;
		const char *name;
	} methods[] = { { M_GET, "GET" },	{ M_HEAD, "HEAD" },	  { M_PUT, "PUT" },	{ M_POST, "POST" },
			{ M_DELETE, "DELETE" }, { M_OPTIONS, "OPTIONS" }, { M_MERGE, "MERGE" }, { M_PATCH, "PATCH" } };
	buf_printf(out, "| %s | ", op->title);
	const char *between = "";
	for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
		if (op->methods & methods[i].bit) {
			buf_printf(out, "%s%s", between, methods[i].name);
			between = ", ";
		}
	BUF_PUT(out, " | ");
	between = "`";
	const char *end = "";
	if (op->restype && op->restype[0]) {
		buf_printf(out, "%srestype=%s", between, op->restype);
		between = "&";
		end = "`";
	}
	if (op->comp && op->comp[0]) {
		buf_printf(out, "%scomp=%s", between, op->comp);
		end = "`";
	}
	buf_put(out, slice_str(end));
	buf_printf(out, " | %s |\n", op_is_built(op) ? "yes" : "no: answers the documented error");
}

/* ---- prose ---- */

static const char not_there[] =
	"Query Blob Contents, the change feed and hierarchical namespaces (dfs) are refused with the documented error, "
	"never ignored. Table speaks Atom in versions"
	" before 2015-12-11 (the only form before 2013-08-15) and JSON from 2013-08-15 on. NFS shares, their "
	"links and the headers x-ms-mode, -owner and -group are not there: such a share is refused when it is"
	" created.";

static const char *const limits[] = {
	"A block list is written by one commit: one that names more than about 280,000 extents of 4 MiB (1.1 "
	"TiB in large blocks, 0.3 TiB in 50,000 blocks with the longest ids) is refused with "
	"BlockListTooLong.",
	"One answer reads a page blob from about 100,000 runs of pages (100 GiB in large writes); a Get Blob "
	"of more answers ServerBusy: read it in ranges.",
	"The source of a copy, or of a write from a URL, is on this server, in whichever of its accounts; any"
	" other URL is refused with CannotVerifyCopySource: no other server is ever asked.",
	"Names of deleted containers, queues and tables are free at once; ContainerBeingDeleted and its kin "
	"are never answered.",
	"An entity group transaction is one commit: what its operations write (a merge writes the whole "
	"entity) is at most 6 MiB together; more is refused with RequestBodyTooLarge.",
	"PartitionKey, RowKey and strings in a $filter compare by code point. Azure compares UTF-16 units, "
	"which differs only between U+E000 to U+FFFF and what lies beyond them.",
	"A request has at most 1,024 headers: metadata of more pairs than that is refused, however short.",
	"A DELETE of messages with a popreceipt but without an id is refused (UnsupportedQueryParameter): it "
	"would clear the queue where one message was meant.",
	"List Blobs with deletedwithversions shows a name that has versions only without a version id: when "
	"the blob was deleted is not kept.",
	"Find Blobs by Tags finds current blobs; include=versions is refused (UnsupportedQueryParameter).",
	"Set Container Metadata, Set Container ACL, Lease Container and Delete Container honour If-Match and "
	"If-None-Match, as the document on managing concurrency says; the service itself refuses them.",
	"Lists and properties leave out what is younger than the version asked for. A copy made with a "
	"version before 2012-02-12 answers 201 when it is done; of page blobs 202, and goes on.",
	"Customer-provided keys are taken over HTTPS, and over plain HTTP from the server's own machine (loopback: a "
	"proxy that ends TLS, a test); from elsewhere a request with one is refused (InvalidHeaderValue).",
	"All uncommitted blocks of a blob are under one customer-provided key, or none: another one is refused by Put "
	"Block, and by a Put Block List that takes blocks of it. Copy Blob takes no key.",
	"Chosen where the service's documents are silent about customer-provided keys: conditions are judged before "
	"the key; a key together with a scope is InvalidHeaderValue; Set Blob Properties needs no key, but one that is "
	"given must be the right one; versions before 2019-02-02 know no keys (FeatureVersionMismatch).",
	"An encryption scope is a name: any well-formed one is taken, kept with the blob and shown, and encrypts "
	"nothing "
	"(EncryptionScopeNotAvailable is never answered). A container that denies other scopes denies keys, too.",
	"A directory cannot be renamed to where something below it would lie under more than 250 levels or have a path "
	"of more than 2,048 characters (InvalidFileOrDirectoryPathName). A directory that once was that deep, and now "
	"has more than 2,048 entries, is refused, too.",
	"Copy File answers when all bytes are copied, with the status success; until then others see it as "
	"pending and may abort it.",
	"A Get File of very many small pieces ends early, with its connection, if the file is changed while it is sent "
	"(the next request says how it is then). A List Ranges of more than 200,000 ranges answers ServerBusy unless "
	"the "
	"version knows markers.",
	"Set File Service Properties keeps whether SMB clients must encrypt (from 2026-02-06 on; new sessions are held "
	"to "
	"it) and whether NFS clients must; several channels of one session stay off. The retention of deleted shares "
	"is a "
	"setting of the server (--shareDeleteRetentionDays).",
	"Permissions of files are kept and given back; they bind nobody, since whoever may ask at all acts "
	"for the account.",
	"Bearer tokens are taken with --oauth and over HTTPS only, on loopback, too; none are issued here. "
	"What a proved token may do is what a file of roles gives its owner (--oauthRoles, "
	"docs/authorization.md). Rights by group or app role do not reach a user delegation SAS, which "
	"carries only its maker's object id.",
	"Stricter than Azure on purpose: a Shared Key date more than 15 minutes ahead is refused as an old "
	"one is; so are query parameters whose name has a ':' or a control character, or whose value has a "
	"line feed before a ':', where they are signed (AuthenticationFailed).",
	"Names of properties are XML names of letters, digits and underscores (else PropertyNameInvalid): Atom writes "
	"them as elements.",
	"File over SMB: 2.1, 3.0, 3.0.2 and 3.1.1, signed and encrypted, NTLMv2 by account key. Refused as Azure Files "
	"refuses them: named streams (OBJECT_NAME_INVALID), extended attributes (EAS_NOT_SUPPORTED), sparse files and "
	"reparse points (INVALID_DEVICE_REQUEST), links and short names (NOT_SUPPORTED), directory leases (none are "
	"granted). Missing: Kerberos, several channels of one session (REQUEST_NOT_ACCEPTED), APPINSTANCE contexts. "
	"docs/smb.md has the whole list.",
	"In Atom, characters that XML 1.0 cannot hold come as U+FFFD.",
};

enum { PROSE_COLUMNS = 116 };

/* Wrapped like every document; the lines behind the first are indented. */
static void prose_put(struct buf *out, const char *mark, const char *text)
{
	size_t column = strlen(mark), indent = column;
	buf_put(out, slice_str(mark));
	for (struct slice rest = slice_str(text), word; slice_is_set(rest);) {
		word = slice_cut(&rest, ' ');
		if (column > indent && column + 1 + word.len > PROSE_COLUMNS) {
			buf_printf(out, "\n%*s", (int)indent, "");
			column = indent;
		} else if (column > indent) {
			buf_put_byte(out, ' ');
			column++;
		}
		buf_put(out, word);
		column += word.len;
	}
	buf_put_byte(out, '\n');
}

/* What runs against this server, and by which command of the tree. */
static const struct {
	const char *name, *what, *command;
} programs[] = {
	{ "JavaScript SDKs of Blob, Queue, Table and File (newest)", "all suites under test/sdk", "make test" },
	{ "Python SDKs 12.31, 12.18, 12.27 (blob, queue, file share), tables 12.7", "the suite of test/sdks",
	  "make sdks" },
	{ "Go azblob 1.7, azqueue 1.0, azfile 1.5, aztables 1.4", "the suite of test/sdks", "make sdks" },
	{ "Java azure-storage-blob 12.36, queue and file share 12.29, tables 12.5", "the suite of test/sdks",
	  "make sdks" },
	{ "Azure CLI 2.45", "blobs, leases, queues, messages, tables, entities, shares and files", "make test" },
	{ "azcopy 10.32", "copies of trees both ways, between containers, sync", "make test" },
	{ "rclone 1.60", "copy, check by contents, bisync, purge; a FUSE mount used as files", "make clients" },
	{ "restic 0.14", "init, two backups, forget and prune, check of all data, restore", "make clients" },
	{ "pgBackRest 2.45", "full and incremental backup of a PostgreSQL 15, archived log, restore", "make clients" },
	{ "barman-cloud 3.4", "backup of a PostgreSQL 15, archived log, restore", "make clients" },
	{ "duplicity 0.8", "full and incremental backup, verify, restore", "make clients" },
	{ "GDAL 3.6", "a layer written to and read from `/vsiaz/`", "make clients" },
	{ "zarr 3.1 (adlfs)", "an array in chunks: written, changed in part, grown, read", "make clients" },
	{ "LanceDB 0.40", "a table: four writers that race, update, delete, vector search", "make clients" },
	{ "OpenDAL 0.47", "blocks, ranges, lists, copy, delete", "make clients" },
	{ "Testcontainers for Node.js 11, podman 4.3, podman-compose 1.0", "start the container image",
	  "make package-test" },
};

static void programs_put(struct buf *out)
{
	BUF_PUT(out,
		"\n## Programs\n\nNobody here wrote them. `make clients` and `make sdks` also demand that no answer "
		"is 5xx and that\n`zaffre scrub` is clean behind them.\n\n"
		"| program | what it does there | run by |\n|---|---|---|\n");
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
		buf_printf(out, "| %s | %s | `%s` |\n", programs[i].name, programs[i].what, programs[i].command);
}

void compat_print(struct buf *out)
{
	BUF_PUT(out, "# What is answered\n\n"
		     "Written by `zaffre compat` from the table of operations (src/rest/*/ops.def); `make docs` "
		     "refreshes it and a test\n"
		     "checks that it is up to date. Every well-formed x-ms-version from 2009-09-19 on is accepted and "
		     "echoed, also newer\n"
		     "ones than are known.\n");
	for (size_t i = 0; i < SERVICE_COUNT; i++) {
		const struct rest_service *s = rest_services[i];
		size_t built = 0;
		for (size_t k = 0; k < s->op_count; k++)
			built += op_is_built(&s->ops[k]);
		buf_printf(out,
			   "\n## %s: %zu of %zu operations\n\n| operation | method | query | answered "
			   "|\n|---|---|---|---|\n",
			   i == SERVICE_WEB ? "Static website" : service_facts((enum service)i)->title, built,
			   s->op_count);
		for (size_t k = 0; k < s->op_count; k++)
			file_row_put(out, &s->ops[k]);
	}
	BUF_PUT(out, "\n## Not there\n\n");
	prose_put(out, "", not_there);
	programs_put(out);
	BUF_PUT(out, "\n## Limits of what is there\n\n");
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
		prose_put(out, "- ", limits[i]);
}

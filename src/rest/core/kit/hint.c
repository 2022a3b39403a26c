/* SPDX-License-Identifier: Apache-2.0
 * One sentence for whoever wrote the client: first what has nothing to do with the error itself (another service was
 * meant, an account is not here), then by the error, and if nothing better is known the error's own text with what the
 * answer's body says besides; a HEAD has none. Never a key or a signature: of the request only names are repeated. */
#include "rest/core/kit/hint.h"

#include <ctype.h>

#include "rest/core/conn/conn_int.h"
#include "rest/core/service.h"
#include "wire/date.h"

enum { HINT_MAX_BYTES = 1024, HINT_ACCOUNTS = 8, HINT_NAME_BYTES = 128 };

static bool contains(struct slice text, const char *part)
{
	return text.len && memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

static void put_name(struct buf *out, struct slice name)
{
	buf_put(out, slice_first(name, HINT_NAME_BYTES));
	if (name.len > HINT_NAME_BYTES)
		BUF_PUT(out, "...");
}

/* ---- another service was meant ---- */

/* As the official clients name themselves: JavaScript and Python, .NET, Java, Go. */
static const struct {
	const char *part;
	enum service service;
} agents[] = {
	{ "storage-blob", SERVICE_BLOB },	{ "Storage.Blobs", SERVICE_BLOB },	  { "azblob", SERVICE_BLOB },
	{ "storage-queue", SERVICE_QUEUE },	{ "Storage.Queues", SERVICE_QUEUE },	  { "azqueue", SERVICE_QUEUE },
	{ "data-tables", SERVICE_TABLE },	{ "Data.Tables", SERVICE_TABLE },	  { "aztables", SERVICE_TABLE },
	{ "storage-file-share", SERVICE_FILE }, { "Storage.Files.Shares", SERVICE_FILE }, { "azfile", SERVICE_FILE },
};

static bool service_by_agent(const struct request *r, enum service *ret)
{
	struct slice agent = request_header(r, "user-agent");
	for (size_t i = 0; i < sizeof agents / sizeof *agents; i++)
		if (contains(agent, agents[i].part)) {
			*ret = agents[i].service;
			return true;
		}
	return false;
}

/* By what only one of them knows. */
static bool service_by_request(const struct request *r, enum service *ret)
{
	struct slice path = r->head->path, restype = request_param(r, "restype");
	if (slice_is_set(request_header(r, "x-ms-blob-type")) || slice_eq(restype, SLICE("container")))
		*ret = SERVICE_BLOB;
	else if (slice_eq(restype, SLICE("share")) || slice_eq(restype, SLICE("directory")))
		*ret = SERVICE_FILE;
	else if (contains(path, "/Tables") || contains(path, "(PartitionKey=") ||
		 slice_is_set(request_header(r, "dataserviceversion")))
		*ret = SERVICE_TABLE;
	else if (slice_is_set(request_param(r, "visibilitytimeout")) || slice_is_set(request_param(r, "numofmessages")))
		*ret = SERVICE_QUEUE;
	else
		return service_by_agent(r, ret);
	return true;
}

/* Its address as this client could reach it; false: it is not served. */
static bool put_endpoint(struct buf *out, const struct request *r, enum service service)
{
	const struct rest_server *s = r->server;
	struct slice host = slice_first(r->head->host, slice_find_byte(r->head->host, ':'));
	for (size_t i = 0; i < s->listener_count; i++) {
		if (s->listeners[i].service != service)
			continue;
		buf_put(out, s->listeners[i].tls ? SLICE("https://") : SLICE("http://"));
		put_name(out, host.len ? host : SLICE("127.0.0.1"));
		buf_printf(out, ":%u/", s->listeners[i].port);
		return true;
	}
	return false;
}

static bool hint_service(struct buf *out, const struct request *r)
{
	enum service meant;
	if (!service_by_request(r, &meant) || meant == r->service || r->service >= SERVICE_WEB)
		return false;
	buf_printf(out, "This is the %s port. ", service_facts(r->service)->title);
	struct buf at;
	buf_init(&at, HINT_MAX_BYTES);
	if (put_endpoint(&at, r, meant))
		buf_printf(out, "The request looks like one for %s, which is at %.*s", service_facts(meant)->title,
			   SLICE_FMT(buf_slice(&at)));
	else
		buf_printf(out, "The request looks like one for %s, which is not served here.",
			   service_facts(meant)->title);
	buf_fini(&at);
	return true;
}

static bool hint_data_lake(struct buf *out, const struct request *r)
{
	struct slice agent = request_header(r, "user-agent"), resource = request_param(r, "resource");
	bool meant = contains(r->head->host, ".dfs.") || contains(agent, "datalake") || contains(agent, "DataLake") ||
		     slice_eq(resource, SLICE("filesystem")) || slice_eq(resource, SLICE("directory")) ||
		     slice_eq(resource, SLICE("file"));
	if (!meant)
		return false;
	BUF_PUT(out, "Data Lake (the dfs API) is not served. Its containers and files are those of the Blob API: ");
	if (!put_endpoint(out, r, SERVICE_BLOB))
		BUF_PUT(out, "not served here either.");
	return true;
}

/* ---- the account ---- */

static bool hint_account(struct buf *out, const struct request *r)
{
	const struct rest_access *a = r->access;
	if (slice_is_set(r->account) || r->service >= SERVICE_WEB)
		return false;
	struct slice rest = slice_from(r->head->path, 1), name = slice_first(rest, slice_find_byte(rest, '/'));
	if (name.len == 0)
		BUF_PUT(out, "The URL names no account: it is http://HOST:PORT/ACCOUNT/NAME. Have ");
	else {
		BUF_PUT(out, "No account ");
		put_name(out, name);
		BUF_PUT(out, ", have ");
	}
	for (size_t i = 0; i < a->account_count && i < HINT_ACCOUNTS; i++) {
		buf_put(out, i ? SLICE(", ") : SLICE(""));
		put_name(out, a->accounts[i].name);
	}
	if (a->account_count > HINT_ACCOUNTS)
		buf_printf(out, " and %zu more", a->account_count - HINT_ACCOUNTS);
	BUF_PUT(out, ". ZAFFRE_ACCOUNTS adds others, --anyAccount takes every name.");
	return true;
}

/* ---- who asks ---- */

static void put_duration(struct buf *out, uint64_t ticks)
{
	static const struct {
		uint64_t seconds;
		const char *unit;
	} units[] = { { 86400, "day" }, { 3600, "hour" }, { 60, "minute" }, { 1, "second" } };
	uint64_t seconds = ticks / TICKS_PER_SECOND;
	size_t i = 0;
	while (i < 3 && seconds < units[i].seconds)
		i++;
	uint64_t n = seconds / units[i].seconds;
	buf_printf(out, "%llu %s%s", (unsigned long long)n, units[i].unit, n == 1 ? "" : "s");
}

static bool hint_sas_time(struct buf *out, const struct request *r)
{
	uint64_t start, expiry, now = r->arrival_ticks;
	if (!slice_is_set(request_param(r, "sig")))
		return false;
	if (date_parse_iso(request_param(r, "se"), &expiry) && expiry < now) {
		BUF_PUT(out, "The SAS ended ");
		put_duration(out, now - expiry);
		BUF_PUT(out, " ago, at ");
		date_put_iso(out, expiry);
	} else if (date_parse_iso(request_param(r, "st"), &start) && start > now) {
		BUF_PUT(out, "The SAS begins in ");
		put_duration(out, start - now);
		BUF_PUT(out, ", at ");
		date_put_iso(out, start);
	} else {
		return false;
	}
	BUF_PUT(out, "; the server's clock says ");
	date_put_iso(out, now);
	if (clock_moved(r->server->clock))
		BUF_PUT(out, " (moved by the test kit)");
	return true;
}

static struct slice fault_value(const struct request *r, const char *name)
{
	for (size_t i = 0; i < r->fault.count; i++)
		if (strcmp(r->fault.detail[i].name, name) == 0)
			return r->fault.detail[i].value;
	return SLICE_NONE;
}

static bool hint_access(struct buf *out, const struct request *r, enum err e)
{
	struct slice detail = fault_value(r, "AuthenticationErrorDetail");
	/* Before they knew a challenge, versions told the anonymous that there is nothing. */
	bool hidden = e == ERR_RESOURCE_NOT_FOUND && r->identity.kind == AUTH_ANONYMOUS &&
		      !slice_is_set(request_header(r, "authorization"));
	if (!error_is_access(e) && !hidden)
		return false;
	if (hint_sas_time(out, r))
		return true;
	/* Those of a wrong signature repeat it. */
	bool repeats = contains(detail, "ignature found") || contains(detail, "ignature did not match");
	if (slice_is_set(detail) && !repeats) {
		put_name(out, detail);
		return true;
	}
	if (e == ERR_AUTHENTICATION_FAILED) {
		BUF_PUT(out, "The signature does not fit: another key than the one of account ");
		put_name(out, r->account);
		BUF_PUT(out, ", or the signed text differs; --debug logs the text that was expected.");
		return true;
	}
	if (e == ERR_NO_AUTHENTICATION_INFORMATION || hidden) {
		BUF_PUT(out, "No credentials: sign with the account key, a SAS or a bearer token, or make the "
			     "container public.");
		return true;
	}
	if (slice_is_set(request_param(r, "sig"))) {
		BUF_PUT(out, "The SAS has sp=");
		put_name(out, request_param(r, "sp"));
		if (r->op && (*r->op->sas || *r->op->account_sas))
			buf_printf(out, "; %s needs one of \"%s\" (service SAS) or \"%s\" (account SAS)", r->op->title,
				   r->op->sas, r->op->account_sas);
		return true;
	}
	return false;
}

/* ---- by the error ---- */

static const struct {
	enum err error;
	const char *text;
} known[] = {
#define HINT(error, sentence) { ERR_##error, sentence },
#include "rest/core/kit/hints.def"
#undef HINT
};

/* What is missing, by name, and how it is made. */
static bool hint_missing(struct buf *out, const struct request *r, enum err e)
{
	const char *what = e == ERR_CONTAINER_NOT_FOUND ? "container"
			   : e == ERR_QUEUE_NOT_FOUND	? "queue"
			   : e == ERR_TABLE_NOT_FOUND	? "table"
			   : e == ERR_SHARE_NOT_FOUND	? "share"
							: NULL;
	if (!what)
		return false;
	buf_printf(out, "No %s ", what);
	put_name(out, r->container);
	BUF_PUT(out, " in account ");
	put_name(out, r->account);
	BUF_PUT(out, ": create it first, or start the server with --create ");
	if (e != ERR_CONTAINER_NOT_FOUND)
		buf_printf(out, "%s:", what);
	put_name(out, r->container);
	return true;
}

static bool hint_if_match(struct buf *out, const struct request *r, enum err e)
{
	struct slice header = fault_value(r, "HeaderName");
	bool asked = slice_eq_nocase(header, SLICE("If-Match")) ||
		     (r->service == SERVICE_TABLE && r->level == LEVEL_ENTITY &&
		      !slice_is_set(request_header(r, "if-match")) &&
		      (e == ERR_MISSING_REQUIRED_HEADER || e == ERR_INVALID_INPUT));
	if (!asked)
		return false;
	BUF_PUT(out, "This change needs If-Match: send the ETag that was read, or * to overwrite whatever is there.");
	return true;
}

static const char *known_find(enum err e)
{
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].error == e)
			return known[i].text;
	return NULL;
}

/* What the answer says of this request alone, then the sentence for the error; without one the service's own text. */
static void put_details(struct buf *out, const struct request *r, enum err e)
{
	const char *sentence = known_find(e);
	struct slice text = slice_is_set(r->fault.message) ? r->fault.message : slice_str(err_info(e)->text);
	if (slice_is_set(r->fault.message) || !sentence)
		put_name(out, text.len ? text : slice_str(err_info(e)->code));
	if (sentence)
		buf_printf(out, "%s%s", out->len ? " " : "", sentence);
	for (size_t i = 0; i < r->fault.count; i++) {
		buf_printf(out, "%s%s: ", i ? ", " : " (", r->fault.detail[i].name);
		put_name(out, r->fault.detail[i].value);
	}
	if (r->fault.count)
		BUF_PUT(out, ")");
}

static void hint_write(struct buf *out, const struct request *r, enum err e)
{
	if (slice_eq(r->head->path, SLICE("-"))) {
		BUF_PUT(out, "That was no HTTP/1.1 request; a client that speaks TLS to a plain port looks so too.");
		return;
	}
	/* What was understood as a request to this service was meant for it. */
	bool lost = !slice_is_set(r->account) || !r->op || err_info(e)->http_status == 400 ||
		    err_info(e)->http_status == 404 || err_info(e)->http_status == 405;
	if (lost && (hint_data_lake(out, r) || hint_service(out, r)))
		return;
	if (hint_account(out, r) || hint_access(out, r, e) || hint_missing(out, r, e) || hint_if_match(out, r, e))
		return;
	put_details(out, r, e);
}

void hint_put(struct exchange *ex)
{
	struct request *r = &ex->req;
	struct buf out;
	if (!r->server->config.kit || err_info(ex->error)->http_status < 400)
		return;
	buf_init(&out, HINT_MAX_BYTES);
	hint_write(&out, r, ex->error);
	/* One that was too long is shown as far as it came. */
	for (size_t i = 0; i < out.len; i++)
		if (out.ptr[i] < 0x20 || out.ptr[i] > 0x7e)
			out.ptr[i] = out.ptr[i] == '\n' ? ' ' : '?';
	struct slice text = arena_dup(r->arena, slice_make(out.ptr, out.len));
	buf_fini(&out);
	if (!slice_is_set(text) || text.len == 0)
		return;
	r->reason = text;
	response_header(r, "x-zaffre-hint", text);
}

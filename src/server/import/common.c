/* SPDX-License-Identifier: Apache-2.0
 * What the three services share: requests with their outcome, metadata, XML, policies, properties, and the name of what
 * is under way. */
#include "base/limits.h"
#include "base/sys/clock.h"
#include "server/import/import.h"
#include "wire/xml.h"

enum { FAILED_SHOWN_MAX = 50 };
#define SHOW_NS	       UINT64_C(200000000)
#define LINES_NS       UINT64_C(5000000000)
#define MARK_CONTAINER SLICE("zaffre-import")
#define MARK_BLOB      SLICE("under-way")

bool import_row_ours(struct import_job *job, struct slice row, const char *member)
{
	return import_row_is(row, member, job->account, &job->row);
}

void import_row_done(struct import_job *job)
{
	uint64_t now = base_monotonic_ns();
	job->rows_done++;
	if (!job->shown_ns)
		job->shown_ns = now;
	if (now - job->shown_ns < (job->terminal ? SHOW_NS : LINES_NS))
		return;
	job->shown_ns = now;
	unsigned long long percent = job->rows_total ? 100 * job->rows_done / job->rows_total : 100;
	fprintf(stderr, "%s%llu%%, %llu of %llu rows, %.1f MiB%s", job->terminal ? "\r" : "",
		percent < 100 ? percent : 100, (unsigned long long)job->rows_done, (unsigned long long)job->rows_total,
		(double)job->bytes / (double)MIB, job->terminal ? "\033[K" : "\n");
}

void import_say_failed(struct import_job *job, const char *what, struct slice container, struct slice object,
		       struct slice why)
{
	if (++job->failed > FAILED_SHOWN_MAX)
		return;
	fprintf(stderr, "%sfailed: %s %.*s%s%.*s: %.*s\n", job->terminal ? "\r\033[K" : "", what, SLICE_FMT(container),
		object.len ? "/" : "", SLICE_FMT(object), SLICE_FMT(why));
}

int import_do(struct import_job *job, struct import_request *r)
{
	int status = job->stopped ? 0 : import_send(&job->target, r);
	job->stopped = status == 0;
	import_request_fini(r);
	return status;
}

bool import_must(struct import_job *job, struct import_request *r, const char *what, struct slice container,
		 struct slice object)
{
	int status = import_do(job, r);
	if (status >= 300)
		import_say_failed(job, what, container, object, slice_str(job->target.why));
	return status >= 200 && status < 300;
}

void import_put_metadata(struct import_request *r, const struct json_node *metadata)
{
	for (const struct json_node *m = metadata ? metadata->child : NULL; m; m = m->next) {
		struct slice name = arena_printf(r->arena, "x-ms-meta-%.*s", SLICE_FMT(m->name));
		if (slice_is_set(name) && slice_is_set(m->text))
			import_request_header(r, name, m->text);
	}
}

/* ---- XML ---- */

/* What a row calls it and what the service does. */
static const char *xml_name(struct slice name)
{
	static const char *const names[][2] = {
		{ "logging", "Logging" },
		{ "version", "Version" },
		{ "deleteProperty", "Delete" },
		{ "read", "Read" },
		{ "write", "Write" },
		{ "retentionPolicy", "RetentionPolicy" },
		{ "enabled", "Enabled" },
		{ "days", "Days" },
		{ "hourMetrics", "HourMetrics" },
		{ "minuteMetrics", "MinuteMetrics" },
		{ "includeAPIs", "IncludeAPIs" },
		{ "cors", "Cors" },
		{ "allowedOrigins", "AllowedOrigins" },
		{ "allowedMethods", "AllowedMethods" },
		{ "allowedHeaders", "AllowedHeaders" },
		{ "exposedHeaders", "ExposedHeaders" },
		{ "maxAgeInSeconds", "MaxAgeInSeconds" },
		{ "defaultServiceVersion", "DefaultServiceVersion" },
		{ "deleteRetentionPolicy", "DeleteRetentionPolicy" },
		{ "staticWebsite", "StaticWebsite" },
		{ "indexDocument", "IndexDocument" },
		{ "errorDocument404Path", "ErrorDocument404Path" },
		{ "id", "Id" },
		{ "accessPolicy", "AccessPolicy" },
		{ "start", "Start" },
		{ "expiry", "Expiry" },
		{ "permission", "Permission" },
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (slice_eq(name, slice_str(names[i][0])))
			return names[i][1];
	return NULL;
}

void import_put_xml(struct buf *out, const char *root, const char *element, const struct json_node *node)
{
	xml_open(out, root);
	for (const struct json_node *n = node->child; n; n = n->next) {
		const char *name = node->kind == JSON_ARRAY ? element : xml_name(n->name);
		if (!name || n->kind == JSON_NULL)
			continue;
		if (n->kind == JSON_OBJECT || n->kind == JSON_ARRAY)
			import_put_xml(out, name, element, n);
		else
			xml_put(out, name, n->text);
	}
	xml_close(out, root);
}

void import_policies(struct import_job *job, enum service service, struct slice name, const struct json_node *acl,
		     struct slice public_access)
{
	struct import_request r;
	struct buf body;
	if (!acl || !acl->child)
		return;
	buf_init(&body, 64 * KIB);
	import_put_xml(&body, "SignedIdentifiers", "SignedIdentifier", acl);
	import_request_init(&r, service, "PUT", &job->row);
	import_request_path(&r, name, SLICE_NONE);
	if (service == SERVICE_BLOB)
		BUF_PUT(&r.query, "restype=container&");
	BUF_PUT(&r.query, "comp=acl");
	if (public_access.len)
		import_request_header(&r, SLICE("x-ms-blob-public-access"), public_access);
	r.body = buf_slice(&body);
	(void)import_must(job, &r, "access policies of", name, SLICE_NONE);
	buf_fini(&body);
}

static void properties_send(struct import_job *job, enum service service, struct slice row)
{
	struct import_request r;
	struct json_node *node;
	struct buf body;
	buf_init(&body, 64 * KIB);
	if (json_parse(row, &job->row, 8, &node) == ERR_OK) {
		import_put_xml(&body, "StorageServiceProperties", "CorsRule", node);
		import_request_init(&r, service, "PUT", &job->row);
		BUF_PUT(&r.path, "/");
		BUF_PUT(&r.query, "restype=service&comp=properties");
		r.body = buf_slice(&body);
		(void)import_must(job, &r, "service properties of", slice_str(service_facts(service)->title),
				  SLICE_NONE);
	}
	buf_fini(&body);
}

void import_properties(struct import_job *job, enum service service, enum import_file file)
{
	struct json_walk w;
	if (!import_rows(&job->ws, file, SLICE("$SERVICES_COLLECTION$"), &w))
		return;
	for (; !job->stopped && json_walk_next(&w); arena_reset(&job->row))
		if (import_row_ours(job, w.value, "accountName"))
			properties_send(job, service, w.value);
}

/* ---- what is under way ---- */

static void mark_request(struct import_job *job, struct import_request *r, const char *method)
{
	import_request_init(r, SERVICE_BLOB, method, &job->row);
	import_request_path(r, MARK_CONTAINER, MARK_BLOB);
}

static int mark_container(struct import_job *job, const char *method)
{
	struct import_request r;
	import_request_init(&r, SERVICE_BLOB, method, &job->row);
	import_request_path(&r, MARK_CONTAINER, SLICE_NONE);
	BUF_PUT(&r.query, "restype=container");
	return import_do(job, &r);
}

bool import_begin_several(struct import_job *job, const char *what, struct slice container, struct slice object)
{
	struct import_request r;
	struct slice text = arena_printf(&job->row, "%s\n%.*s\n%.*s", what, SLICE_FMT(container), SLICE_FMT(object));
	if (!job->marked && mark_container(job, "PUT") == 0)
		return false;
	job->marked = true;
	mark_request(job, &r, "PUT");
	import_request_header(&r, SLICE("x-ms-blob-type"), SLICE("BlockBlob"));
	r.body = text;
	return slice_is_set(text) && import_must(job, &r, "note that it is under way:", container, object);
}

bool import_end_several(struct import_job *job)
{
	struct import_request r;
	mark_request(job, &r, "DELETE");
	int status = import_do(job, &r);
	return status == 202 || status == 404;
}

/* Removes what the text names. */
static bool half_remove(struct import_job *job, struct slice text)
{
	struct import_request r;
	struct slice what = slice_cut(&text, '\n'), container = slice_cut(&text, '\n');
	if (slice_eq(what, SLICE("queue"))) {
		import_request_init(&r, SERVICE_QUEUE, "DELETE", &job->row);
		import_request_path(&r, container, SLICE_NONE);
	} else {
		import_request_init(&r, SERVICE_BLOB, "DELETE", &job->row);
		import_request_path(&r, container, text);
		import_request_header(&r, SLICE("x-ms-delete-snapshots"), SLICE("include"));
	}
	int status = import_do(job, &r);
	if (status >= 300 && status != 404)
		import_say_failed(job, "removing what an import left half done:", container, text,
				  slice_str(job->target.why));
	return status == 404 || (status >= 200 && status < 300);
}

bool import_recover(struct import_job *job)
{
	struct import_request r;
	mark_request(job, &r, "GET");
	int status = import_do(job, &r);
	if (status == 404)
		return true;
	if (status != 200) {
		if (status)
			import_say_failed(job, "first request:", SLICE_NONE, SLICE_NONE, slice_str(job->target.why));
		return false;
	}
	job->marked = true;
	struct slice text = arena_dup(&job->row, job->target.body);
	return slice_is_set(text) && half_remove(job, text) && import_end_several(job);
}

void import_finish(struct import_job *job)
{
	if (job->marked && !job->stopped)
		(void)mark_container(job, "DELETE");
}

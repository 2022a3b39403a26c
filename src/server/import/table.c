/* SPDX-License-Identifier: Apache-2.0
 * Tables and entities. An entity's row holds its properties as the client sent them, so they are sent again as they
 * stand there; only a GUID is kept in Base64. */
#include "base/limits.h"
#include "server/import/import.h"
#include "wire/base64.h"

enum { GUID_TEXT = 36, GUID_QUOTED_BASE64 = 50 };

static void put_headers(struct import_request *r)
{
	import_request_header(r, SLICE("Content-Type"), SLICE("application/json"));
	import_request_header(r, SLICE("Accept"), SLICE("application/json;odata=nometadata"));
	import_request_header(r, SLICE("Prefer"), SLICE("return-no-content"));
	import_request_header(r, SLICE("DataServiceVersion"), SLICE("3.0;NetFx"));
}

static bool is_guid(struct slice properties, struct slice name, struct arena *arena)
{
	struct slice type = arena_printf(arena, "%.*s@odata.type", SLICE_FMT(name));
	struct json_walk w;
	for (bool ok = slice_is_set(type) && json_walk_begin(&w, properties); ok && json_walk_next(&w);)
		if (slice_eq(w.name, type))
			return slice_eq(w.value, SLICE("\"Edm.Guid\""));
	return false;
}

/* The value as it is to be sent: as it stands there, quotes included, but for a GUID in Base64. */
static void put_value(struct buf *out, const struct json_walk *w, struct slice properties, struct arena *arena)
{
	struct slice guid;
	if (w->value.len == GUID_QUOTED_BASE64 && is_guid(properties, w->name, arena) &&
	    base64_decode(slice_make(w->value.ptr + 1, w->value.len - 2), arena, &guid) == ERR_OK &&
	    guid.len == GUID_TEXT) {
		BUF_PUT(out, "\"");
		json_put_text(out, guid);
		BUF_PUT(out, "\"");
	} else {
		buf_put(out, w->value);
	}
}

/* Given by the server, or said apart. */
static bool is_system(struct slice name)
{
	return slice_eq(name, SLICE("Timestamp")) || slice_eq(name, SLICE("Timestamp@odata.type")) ||
	       slice_eq(name, SLICE("PartitionKey")) || slice_eq(name, SLICE("RowKey")) ||
	       slice_has_prefix(name, SLICE("odata."));
}

static bool put_entity(struct import_job *job, struct slice row, struct buf *out)
{
	struct json_walk w;
	struct slice properties = json_walk_find(row, "properties"), partition = json_walk_find(row, "PartitionKey"),
		     key = json_walk_find(row, "RowKey");
	if (!slice_is_set(partition) || !slice_is_set(key) || !json_walk_begin(&w, properties) || !w.object)
		return false;
	buf_printf(out, "{\"PartitionKey\":%.*s,\"RowKey\":%.*s", SLICE_FMT(partition), SLICE_FMT(key));
	while (json_walk_next(&w)) {
		if (is_system(w.name))
			continue;
		buf_printf(out, ",\"%.*s\":", SLICE_FMT(w.name));
		put_value(out, &w, properties, &job->row);
	}
	BUF_PUT(out, "}");
	return w.state == JSON_WALK_DONE && buf_ok(out);
}

static void entity_import(struct import_job *job, struct slice table, struct slice row)
{
	struct import_request r;
	struct buf body;
	struct slice key = import_row_text(row, "RowKey", &job->row);
	buf_init(&body, LIMIT_SMALL_BODY_BYTES);
	if (put_entity(job, row, &body)) {
		import_request_init(&r, SERVICE_TABLE, "POST", &job->row);
		import_request_path(&r, table, SLICE_NONE);
		put_headers(&r);
		r.body = buf_slice(&body);
		int status = import_do(job, &r);
		job->taken[IMPORT_COUNT_ENTITIES] += status == 201 || status == 204;
		job->already[IMPORT_COUNT_ENTITIES] += status == 409;
		if (status >= 300 && status != 409)
			import_say_failed(job, "entity of the table", table, key, slice_str(job->target.why));
	} else {
		import_say_failed(job, "entity of the table", table, key,
				  SLICE("its row is not of a form that is known"));
	}
	buf_fini(&body);
}

static void entities_import(struct import_job *job, struct slice table)
{
	struct json_walk w;
	struct slice collection = arena_printf(&job->row, "%.*s$%.*s", SLICE_FMT(job->account), SLICE_FMT(table));
	if (!slice_is_set(collection) || !import_rows(&job->ws, IMPORT_TABLES, collection, &w))
		return;
	struct arena_position before = arena_position(&job->row);
	for (; !job->stopped && json_walk_next(&w); arena_rewind(&job->row, before)) {
		entity_import(job, table, w.value);
		import_row_done(job);
	}
}

static void table_import(struct import_job *job, struct slice row)
{
	struct import_request r;
	struct buf body;
	struct slice name = import_row_text(row, "table", &job->row);
	buf_init(&body, 64 * KIB);
	BUF_PUT(&body, "{\"TableName\":\"");
	json_put_text(&body, name);
	BUF_PUT(&body, "\"}");
	import_request_init(&r, SERVICE_TABLE, "POST", &job->row);
	import_request_path(&r, SLICE("Tables"), SLICE_NONE);
	put_headers(&r);
	r.body = buf_slice(&body);
	int status = import_do(job, &r);
	bool made = status == 201 || status == 204;
	job->taken[IMPORT_COUNT_TABLES] += made;
	job->already[IMPORT_COUNT_TABLES] += status == 409;
	if (made)
		import_policies(job, SERVICE_TABLE, name, import_row_node(row, "tableAcl", &job->row), SLICE_NONE);
	if (made || status == 409)
		entities_import(job, name);
	else if (status)
		import_say_failed(job, "table", name, SLICE_NONE, slice_str(job->target.why));
	buf_fini(&body);
}

void import_tables(struct import_job *job)
{
	struct json_walk w;
	if (import_rows(&job->ws, IMPORT_TABLES, SLICE("$TABLES_COLLECTION$"), &w))
		for (; !job->stopped && json_walk_next(&w); arena_reset(&job->row), import_row_done(job))
			if (import_row_ours(job, w.value, "account"))
				table_import(job, w.value);
	import_properties(job, SERVICE_TABLE, IMPORT_TABLES);
}

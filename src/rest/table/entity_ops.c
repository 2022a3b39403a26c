/* SPDX-License-Identifier: Apache-2.0
 * Insert, get, update, merge, upsert and delete of one entity. */
#include "rest/table/entity_ops.h"

#include "rest/core/op.h"
#include "rest/core/server.h"
#include "rest/table/entity_atom.h"

struct entity_call {
	union { /* first: the applies get the call */
		struct entity_batch batch;
		struct entity_get get;
	};
	struct entity_write write;
	struct entity_writer writer;
	enum table_prefer prefer;
	enum http_method method;
	struct slice partition;
	struct slice partition_key, row_key;
};

/* ---- Changes, their parsing ---- */

static enum err refuse_key(struct request *req, enum err e, const char *name, struct slice value)
{
	if (e != ERR_OUT_OF_RANGE_INPUT)
		return e;
	return rest_table_fault(req, e,
				arena_printf(req->arena, "The '%s' parameter of value '%.*s' is out of range.", name,
					     SLICE_FMT(value)));
}

static enum err check_keys(struct request *req, const struct entity_write *w)
{
	enum err e = entity_key_check(w->partition_key);
	if (e)
		return refuse_key(req, e, "PartitionKey", w->partition_key);
	e = entity_key_check(w->row_key);
	return e ? refuse_key(req, e, "RowKey", w->row_key) : ERR_OK;
}

static enum err parse_properties(struct request *req, const struct entity_change *c, struct entity_write *w)
{
	struct entity_body body;
	bool atom;
	TRY(rest_table_body_is_atom(req->version, c->head, c->body, &atom));
	TRY(atom ? rest_entity_atom_parse(c->body, req->arena, &body)
		 : rest_entity_body_parse(c->body, req->arena, &body));
	if (w->action == ENTITY_INSERT) {
		if (!slice_is_set(body.partition_key) || !slice_is_set(body.row_key))
			return ERR_PROPERTIES_NEED_VALUE;
		if (body.key_typed) /* where the address has the keys, those of the body are not asked for their type */
			return ERR_INVALID_INPUT;
		w->partition_key = body.partition_key;
		w->row_key = body.row_key;
	}
	/* Else the address has the keys, and those of the body are not asked whether they are the same. */
	w->properties = body.properties;
	return entity_size_check(w->partition_key, w->row_key, w->properties);
}

static enum err find_action(const struct entity_change *c, const struct table_match *m, enum entity_action *ret)
{
	switch (c->method) {
	case HTTP_POST:
		*ret = ENTITY_INSERT;
		return ERR_OK;
	case HTTP_PUT:
		*ret = m->present ? ENTITY_REPLACE : ENTITY_INSERT_OR_REPLACE;
		return ERR_OK;
	case HTTP_MERGE:
	case HTTP_PATCH:
		*ret = m->present ? ENTITY_MERGE : ENTITY_INSERT_OR_MERGE;
		return ERR_OK;
	case HTTP_DELETE:
		*ret = ENTITY_DELETE;
		return m->present ? ERR_OK : ERR_INVALID_INPUT;
	default:
		return ERR_INVALID_INPUT;
	}
}

enum err rest_entity_change_parse(struct request *req, const struct entity_change *c, struct entity_write *w)
{
	struct table_match match = { 0 };
	*w = (struct entity_write){ .partition_key = c->partition_key, .row_key = c->row_key, .properties = SLICE("") };
	if (c->method != HTTP_POST)
		TRY(rest_table_match_parse(c->head, &match));
	TRY(find_action(c, &match, &w->action));
	w->match_any = match.any;
	w->match_ticks = match.ticks;
	if (w->action != ENTITY_DELETE) {
		TRY(parse_properties(req, c, w));
		TRY(check_keys(req, w));
	}
	struct key k;
	entity_key(&k, w->partition_key, w->row_key);
	if (k.overflow) /* no such entity can have been written */
		return ERR_RESOURCE_NOT_FOUND;
	w->key = arena_dup(req->arena, key_slice(&k));
	return slice_is_set(w->key) ? ERR_OK : ERR_NO_MEMORY;
}

enum err rest_entity_change_allowed(const struct request *req, struct slice table, const struct entity_write *w)
{
	const struct auth_identity *id = &req->identity;
	static const char *const letters[] = {
		[ENTITY_INSERT] = "a",
		[ENTITY_REPLACE] = "u",
		[ENTITY_MERGE] = "u",
		[ENTITY_INSERT_OR_REPLACE] = "au",
		[ENTITY_INSERT_OR_MERGE] = "au",
		[ENTITY_DELETE] = "d",
	};
	for (const char *letter = letters[w->action]; *letter; letter++)
		if (!auth_allows_in(id, table, *letter))
			return auth_refusal(id, ERR_AUTHORIZATION_PERMISSION_MISMATCH);
	return rest_table_range_check(req, w->partition_key, w->row_key);
}

struct slice rest_entity_url(struct request *req, const struct entity_writer *w, const struct entity_write *e)
{
	struct buf b;
	buf_init(&b, 3 * LIMIT_KEY_BYTES + LIMIT_HEAD_BYTES);
	buf_put(&b, w->root);
	rest_entity_link_write(&b, w, e->partition_key, e->row_key);
	struct slice s = buf_ok(&b) ? arena_dup(req->arena, buf_slice(&b)) : SLICE_NONE;
	buf_fini(&b);
	return s;
}

/* ---- Changes, as requests ---- */

static enum err call_new(struct request *req, struct entity_call **ret)
{
	struct entity_call *c = ARENA_NEW(req->arena, struct entity_call);
	if (!c)
		return ERR_NO_MEMORY;
	req->call = c;
	*ret = c;
	TRY(rest_table_method(req->head, &c->method));
	return rest_table_writer_init_level(req, &c->writer);
}

static enum err queue_change(struct request *req, struct slice body)
{
	struct entity_call *c = req->call;
	struct entity_change change = {
		.method = c->method,
		.head = req->head,
		.partition_key = c->partition_key,
		.row_key = c->row_key,
		.body = body,
	};
	TRY(rest_entity_change_parse(req, &change, &c->write));
	TRY(rest_table_range_check(req, c->write.partition_key, c->write.row_key));
	c->batch = (struct entity_batch){ .write = &c->write, .count = 1 };
	request_step_write(req, c->partition, entity_write_apply);
	return ERR_OK;
}

static enum err insert_parse(struct request *req)
{
	struct entity_call *c;
	TRY(call_new(req, &c));
	if (c->method != HTTP_POST)
		return ERR_METHOD_NOT_ALLOWED;
	req->body_limit_bytes = LIMIT_TABLE_BODY_BYTES;
	c->prefer = rest_table_prefer_of(request_header(req, "prefer"));
	return rest_table_find(req, req->container, ERR_TABLE_NOT_FOUND, &c->partition);
}

static enum err change_parse_body(struct request *req)
{
	return queue_change(req, req->body);
}

static enum err change_parse(struct request *req)
{
	struct entity_call *c;
	TRY(call_new(req, &c));
	req->body_limit_bytes = LIMIT_TABLE_BODY_BYTES;
	TRY(rest_table_keys_parse(req, req->object, &c->partition_key, &c->row_key));
	bool matched = slice_is_set(request_header(req, "if-match"));
	return rest_table_find(req, req->container, matched ? ERR_RESOURCE_NOT_FOUND : ERR_TABLE_NOT_FOUND,
			       &c->partition);
}

/* Which letters a SAS needs depends on X-HTTP-Method. */
static enum err post_method_parse_body(struct request *req)
{
	TRY(queue_change(req, req->body));
	struct entity_call *c = req->call;
	return rest_entity_change_allowed(req, req->container, &c->write);
}

static enum err delete_parse(struct request *req)
{
	struct entity_call *c;
	TRY(call_new(req, &c));
	TRY(rest_table_keys_parse(req, req->object, &c->partition_key, &c->row_key));
	TRY(rest_table_find(req, req->container, ERR_RESOURCE_NOT_FOUND, &c->partition));
	return queue_change(req, SLICE_NONE);
}

static void etag_header(struct request *req, uint64_t ticks)
{
	char etag[ENTITY_ETAG_MAX];
	size_t len = rest_entity_etag_format(ticks, etag);
	response_header(req, "ETag", slice_make(etag, len));
}

static enum err insert_format(struct request *req)
{
	struct entity_call *c = req->call;
	struct slice url = rest_entity_url(req, &c->writer, &c->write);
	bool no_content = c->prefer == PREFER_NO_CONTENT;
	req->response.status = no_content ? 204 : 201;
	etag_header(req, c->write.ticks);
	response_header(req, "Location", url);
	if (c->prefer != PREFER_NOTHING)
		response_header(req, "Preference-Applied",
				no_content ? SLICE("return-no-content") : SLICE("return-content"));
	if (no_content) {
		response_header(req, "DataServiceId", url);
		rest_table_empty_headers(req);
	} else {
		struct entity e = { c->write.partition_key, c->write.row_key, c->write.ticks, c->write.properties };
		rest_table_headers(req, c->writer.level, false);
		rest_entity_write(&req->response.body, &c->writer, &e, true);
	}
	return slice_is_set(url) && buf_ok(&req->response.body) ? ERR_OK : ERR_NO_MEMORY;
}

static enum err change_format(struct request *req)
{
	struct entity_call *c = req->call;
	req->response.status = 204;
	if (c->write.action != ENTITY_DELETE)
		etag_header(req, c->write.ticks);
	rest_table_empty_headers(req);
	return ERR_OK;
}

const struct handler handler_entity_insert = { .parse = insert_parse,
					       .parse_body = change_parse_body,
					       .format = insert_format };
const struct handler handler_entity_update = { .parse = change_parse,
					       .parse_body = change_parse_body,
					       .format = change_format };
const struct handler handler_entity_merge = { .parse = change_parse,
					      .parse_body = change_parse_body,
					      .format = change_format };
const struct handler handler_entity_post_method = { .parse = change_parse,
						    .parse_body = post_method_parse_body,
						    .format = change_format };
const struct handler handler_entity_delete = { .parse = delete_parse, .format = change_format };

/* ---- Get ---- */

/* An entity of several rows is read again, on one snapshot. */
static enum err get_again(struct request *req)
{
	struct entity_call *c = req->call;
	if (c->get.in_parts)
		request_step_read(req, c->partition, entity_get_whole);
	return ERR_OK;
}

enum err rest_entity_select_parse(struct request *req, struct entity_writer *w)
{
	struct slice rest;
	TRY(rest_table_option(req, "$select", &rest));
	if (!slice_is_set(rest))
		return ERR_OK;
	w->select = ARENA_NEW_ARRAY(req->arena, struct slice, SELECT_MAX);
	w->select_index = ARENA_NEW(req->arena, struct name_index);
	if (!w->select || !w->select_index)
		return ERR_NO_MEMORY;
	w->select_all = false;
	while (slice_is_set(rest)) {
		struct slice name = slice_trim(slice_cut(&rest, ','));
		bool all = slice_eq(name, SLICE("*"));
		w->select_all |= all;
		if (all || entity_name_index_find(w->select_index, w->select, name) >= 0)
			continue;
		if (entity_name_check(name) || w->select_count == SELECT_MAX)
			return ERR_INVALID_INPUT;
		w->select[w->select_count] = name;
		entity_name_index_add(w->select_index, w->select, w->select_count++);
	}
	return ERR_OK;
}

static enum err get_parse(struct request *req)
{
	struct entity_call *c;
	struct key k;
	TRY(call_new(req, &c));
	TRY(rest_entity_select_parse(req, &c->writer));
	TRY(rest_table_keys_parse(req, req->object, &c->partition_key, &c->row_key));
	/* Outside of its SAS's key range an entity is not there for a reader. */
	if (rest_table_range_check(req, c->partition_key, c->row_key) != ERR_OK)
		return ERR_RESOURCE_NOT_FOUND;
	TRY(rest_table_find(req, req->container, ERR_RESOURCE_NOT_FOUND, &c->partition));
	entity_key(&k, c->partition_key, c->row_key);
	if (k.overflow)
		return ERR_RESOURCE_NOT_FOUND;
	c->get.key = arena_dup(req->arena, key_slice(&k));
	if (!slice_is_set(c->get.key))
		return ERR_NO_MEMORY;
	req->log_note = SLICE("plan=point");
	request_step_read_points(req, c->partition, entity_get_point);
	request_step_call(req, get_again);
	return ERR_OK;
}

static enum err get_format(struct request *req)
{
	struct entity_call *c = req->call;
	if (!c->get.found)
		return ERR_RESOURCE_NOT_FOUND;
	struct entity e = { c->partition_key, c->row_key, c->get.ticks, c->get.properties };
	req->response.status = 200;
	etag_header(req, e.ticks);
	rest_table_headers(req, c->writer.level, false);
	rest_entity_write(&req->response.body, &c->writer, &e, true);
	return buf_ok(&req->response.body) ? ERR_OK : ERR_NO_MEMORY;
}

const struct handler handler_entity_get = { .parse = get_parse, .format = get_format };

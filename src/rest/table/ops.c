/* SPDX-License-Identifier: Apache-2.0
 * Create, delete, get and query tables. A table is a resource of the account (svc/account/resource.h); its entities
 * live in the partition of its generation. */
#include "rest/core/op.h"
#include "rest/core/server.h"
#include "rest/table/common.h"
#include "rest/table/entity_atom.h"
#include "svc/account/names.h"
#include "svc/table/filter.h"
#include "wire/json.h"

struct tables_call {
	union {
		struct resource_create create;
		struct resource_delete remove;
	};
	struct entity_writer writer;
	enum table_prefer prefer;
	struct tables_list list; /* query */
};

static void write_table(struct buf *b, const struct entity_writer *w, struct slice name, bool metadata_url)
{
	if (w->level == ODATA_ATOM) {
		rest_table_atom_write(b, w, name, metadata_url);
		return;
	}
	buf_put_byte(b, '{');
	if (metadata_url && w->level != ODATA_NONE) {
		BUF_PUT(b, "\"odata.metadata\":\"");
		buf_put(b, w->root);
		BUF_PUT(b, "$metadata#Tables/@Element\",");
	}
	if (w->level == ODATA_FULL) {
		BUF_PUT(b, "\"odata.type\":\"");
		buf_put(b, w->account);
		BUF_PUT(b, ".Tables\",\"odata.id\":\"");
		buf_put(b, w->root);
		BUF_PUT(b, "Tables('");
		buf_put(b, name);
		BUF_PUT(b, "')\",\"odata.editLink\":\"Tables('");
		buf_put(b, name);
		BUF_PUT(b, "')\",");
	}
	BUF_PUT(b, "\"TableName\":");
	rest_table_json_text_write(b, name);
	buf_put_byte(b, '}');
}

static enum err call_new(struct request *req, struct tables_call **ret)
{
	struct tables_call *c = ARENA_NEW(req->arena, struct tables_call);
	if (!c)
		return ERR_NO_MEMORY;
	req->call = c;
	*ret = c;
	enum http_method method;
	TRY(rest_table_method(req->head, &method));
	if (method != req->head->method) /* no operation on tables has a verb that a proxy does not know */
		return ERR_METHOD_NOT_ALLOWED;
	return rest_table_writer_init_level(req, &c->writer);
}

/* ---- Create ---- */

static enum err create_parse(struct request *req)
{
	struct tables_call *c;
	TRY(call_new(req, &c));
	c->prefer = rest_table_prefer_of(request_header(req, "prefer"));
	return ERR_OK;
}

static enum err parse_name(struct request *req, struct slice *ret)
{
	struct json_node *body;
	bool atom;
	TRY(rest_table_body_is_atom(req->version, req->head, req->body, &atom));
	if (atom)
		return rest_table_atom_parse(req->body, req->arena, ret);
	enum err e = json_parse(req->body, req->arena, 1, &body);
	if (e)
		return e == ERR_SYNTAX ? ERR_INVALID_INPUT : e;
	*ret = json_member_string(body, "TableName");
	return ERR_OK;
}

static enum err create_parse_body(struct request *req)
{
	struct tables_call *c = req->call;
	struct slice name;
	TRY(parse_name(req, &name));
	if (!slice_is_set(name))
		return ERR_PROPERTIES_NEED_VALUE;
	TRY(name_check_table(name));
	struct resource *r = &c->create.resource;
	r->kind = RESOURCE_TABLE;
	r->name = name;
	r->generation = rng_u64(req->rng) | 1;
	c->create.exists_error = ERR_TABLE_ALREADY_EXISTS;
	struct slice account = resource_account_partition(req->arena, req->account);
	struct slice generation =
		resource_generation_partition(req->arena, req->account, RESOURCE_TABLE, r->generation);
	if (!slice_is_set(account) || !slice_is_set(generation))
		return ERR_NO_MEMORY;
	request_step_write(req, account, resource_create_reserve);
	request_step_write(req, generation, resource_create_open);
	request_step_write(req, account, resource_create_publish);
	return ERR_OK;
}

static enum err create_format(struct request *req)
{
	struct tables_call *c = req->call;
	TRY(c->create.refused);
	struct slice name = c->create.resource.name;
	struct slice url = arena_printf(req->arena, "%.*sTables('%.*s')", SLICE_FMT(c->writer.root), SLICE_FMT(name));
	bool no_content = c->prefer == PREFER_NO_CONTENT;
	req->response.status = no_content ? 204 : 201;
	response_header(req, "Location", url);
	if (c->prefer != PREFER_NOTHING)
		response_header(req, "Preference-Applied",
				no_content ? SLICE("return-no-content") : SLICE("return-content"));
	if (no_content) {
		response_header(req, "DataServiceId", url);
		rest_table_empty_headers(req);
	} else {
		rest_table_headers(req, c->writer.level, false);
		write_table(&req->response.body, &c->writer, name, true);
	}
	return slice_is_set(url) && buf_ok(&req->response.body) ? ERR_OK : ERR_NO_MEMORY;
}

const struct handler handler_table_create = { .parse = create_parse,
					      .parse_body = create_parse_body,
					      .format = create_format };

/* ---- Delete ---- */

static enum err delete_parse(struct request *req)
{
	struct tables_call *c;
	struct resource r;
	TRY(call_new(req, &c));
	enum err e = resource_find(req->server->store, req->account, RESOURCE_TABLE, req->container, req->arena, &r);
	if (e)
		return e == ERR_NOT_FOUND ? ERR_RESOURCE_NOT_FOUND : e;
	c->remove = (struct resource_delete){ .kind = RESOURCE_TABLE,
					      .name = req->container,
					      .generation = r.generation,
					      .missing_error = ERR_RESOURCE_NOT_FOUND };
	struct slice account = resource_account_partition(req->arena, req->account);
	struct slice generation = resource_generation_partition(req->arena, req->account, RESOURCE_TABLE, r.generation);
	if (!slice_is_set(account) || !slice_is_set(generation))
		return ERR_NO_MEMORY;
	request_step_write(req, account, resource_delete_remove);
	request_step_write(req, generation, resource_delete_close);
	return ERR_OK;
}

static enum err delete_format(struct request *req)
{
	req->response.status = 204;
	rest_table_empty_headers(req);
	return ERR_OK;
}

const struct handler handler_table_delete = { .parse = delete_parse, .format = delete_format };

/* ---- Get one ---- */

static enum err get_parse(struct request *req)
{
	struct tables_call *c;
	TRY(call_new(req, &c));
	enum err e = resource_find(req->server->store, req->account, RESOURCE_TABLE, req->container, req->arena,
				   &c->create.resource);
	return e == ERR_NOT_FOUND ? ERR_RESOURCE_NOT_FOUND : e;
}

static enum err get_format(struct request *req)
{
	struct tables_call *c = req->call;
	req->response.status = 200;
	rest_table_headers(req, c->writer.level, false);
	write_table(&req->response.body, &c->writer, c->create.resource.name, true);
	return buf_ok(&req->response.body) ? ERR_OK : ERR_NO_MEMORY;
}

const struct handler handler_table_get = { .parse = get_parse, .format = get_format };

/* ---- Query ---- */

static enum err query_apply(struct txn *t, void *call)
{
	struct tables_call *c = call;
	return tables_list_apply(t, &c->list);
}

static enum err query_parse(struct request *req)
{
	struct tables_call *c;
	TRY(call_new(req, &c));
	TRY(rest_table_options_check(req));
	TRY(rest_table_top(req, &c->list.limit));
	struct slice next = request_param(req, "NextTableName");
	struct filter *filter;
	TRY(rest_table_filter_tables(req, &filter));
	c->list.filter = filter;
	if (slice_is_set(next) && !rest_table_token_read(req->arena, next, &c->list.from_name))
		return fault_query(req, ERR_INVALID_INPUT, "NextTableName", next, "");
	struct slice account = resource_account_partition(req->arena, req->account);
	if (!slice_is_set(account))
		return ERR_NO_MEMORY;
	/* A page of what there is is short; a search through all there is goes to a worker when it takes long. */
	request_step_read(req, account, query_apply);
	return ERR_OK;
}

static void open_list(struct buf *b, const struct entity_writer *w)
{
	if (w->level == ODATA_ATOM) {
		atom_feed_open(b, w, SLICE("Tables"));
		return;
	}
	buf_put_byte(b, '{');
	if (w->level != ODATA_NONE) {
		BUF_PUT(b, "\"odata.metadata\":\"");
		buf_put(b, w->root);
		BUF_PUT(b, "$metadata#Tables\",");
	}
	BUF_PUT(b, "\"value\":[");
}

static void write_tables(struct buf *b, const struct tables_call *c)
{
	bool atom = c->writer.level == ODATA_ATOM;
	open_list(b, &c->writer);
	for (size_t i = 0; i < c->list.count; i++) {
		if (i && !atom)
			buf_put_byte(b, ',');
		write_table(b, &c->writer, c->list.name[i], false);
	}
	if (atom)
		atom_feed_close(b);
	else
		BUF_PUT(b, "]}");
}

static enum err query_format(struct request *req)
{
	struct tables_call *c = req->call;
	req->response.status = 200;
	rest_table_headers(req, c->writer.level, true);
	write_tables(&req->response.body, c);
	if (slice_is_set(c->list.next_name)) {
		struct slice token = rest_table_token_make(req->arena, c->list.next_name);
		if (!slice_is_set(token))
			return ERR_NO_MEMORY;
		response_header(req, "x-ms-continuation-NextTableName", token);
	}
	return buf_ok(&req->response.body) ? ERR_OK : ERR_NO_MEMORY;
}

const struct handler handler_table_query_tables = { .parse = query_parse, .format = query_format };

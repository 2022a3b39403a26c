/* SPDX-License-Identifier: Apache-2.0
 * Entity group transactions: POST /$batch. Either one change set, all of whose operations become one transaction
 * (svc/table/entity.h), or a single GET, which runs as a request of its own (rest/core/driver.h).
 *
 * What is wrong with the multipart document itself is an answer of its own (400). What is wrong with an operation, be
 * it its text or what the store says to it, is told inside: outer status 202, one part with the operation's status and
 * a message that begins with its index if there are several. */
#include "rest/core/conn/driver.h"
#include "rest/core/server.h"
#include "rest/table/entity_ops.h"
#include "rest/table/error.h"
#include "rest/table/ops.h"
#include "wire/date.h"
#include "wire/http/multipart.h"

struct batch_op {
	const struct multipart_request *part;
	struct slice table, keys; /* keys absent: the table itself */
	struct query query;
	enum odata_level level;
	enum table_prefer prefer;
};

struct batch_call {
	struct entity_batch batch; /* first: the apply gets the call */
	struct entity_writer writer;
	struct slice boundary;
	struct multipart parts;
	struct batch_op *op;
	struct http_head *head; /* of the part being read */
	struct slice partition;
	enum err refused;    /* an operation was refused before the store was asked: */
	size_t failed;	     /* this one */
	struct request *get; /* the only part, a GET that ran; else NULL */
};

/* ---- Addresses of parts ---- */

/* table, table() or table(keys), with or without the service's URL before it. */
static enum err parse_target(struct request *req, const struct http_head *head, struct batch_op *op)
{
	struct slice path = slice_from(head->path, 1), text;
	if (req->path_style) {
		struct slice rest = path, first = slice_cut(&rest, '/');
		if (slice_eq(first, req->account) && slice_is_set(rest))
			path = rest;
	}
	if (uri_decode(path, req->arena, &text) != ERR_OK)
		return ERR_INVALID_URI;
	if (slice_is_set(head->query) && uri_parse_query(head->query, req->arena, &op->query) != ERR_OK)
		return ERR_INVALID_URI;
	struct slice keys = text;
	op->table = slice_cut(&keys, '(');
	op->keys = SLICE_NONE;
	if (slice_is_set(keys)) {
		if (!keys.len || keys.ptr[keys.len - 1] != ')')
			return ERR_INVALID_URI;
		keys.len--;
		if (keys.len)
			op->keys = keys;
	}
	if (!op->table.len || slice_find_byte(op->table, '/') < op->table.len)
		return ERR_INVALID_URI;
	return name_check_table(op->table);
}

static enum err open_part(struct request *req, const struct multipart_request *part, struct batch_op *op)
{
	struct batch_call *c = req->call;
	op->part = part;
	if (multipart_head(part, c->head) != ERR_OK)
		return ERR_INVALID_INPUT;
	TRY(parse_target(req, c->head, op));
	/* Every SAS but an account's speaks of one table. */
	const struct auth_identity *id = &req->identity;
	bool scoped = id->kind == AUTH_SERVICE_SAS || id->kind == AUTH_DELEGATION_SAS;
	return scoped && !slice_eq_nocase(id->scope_container, op->table) ? auth_refusal(id, ERR_AUTHORIZATION_FAILURE)
									  : ERR_OK;
}

/* ---- A change set ---- */

static enum err parse_change(struct request *req, size_t i)
{
	struct batch_call *c = req->call;
	struct batch_op *op = &c->op[i];
	struct entity_write *w = &c->batch.write[i];
	TRY(open_part(req, &c->parts.requests[i], op));
	struct entity_change change = {
		.head = c->head,
		.partition_key = SLICE_NONE,
		.body = op->part->body,
	};
	op->prefer = rest_table_prefer_of(http_header(c->head, SLICE("prefer")));
	TRY(rest_table_format_of(req->version, &op->query, c->head, &op->level));
	TRY(rest_table_method(c->head, &change.method));
	if ((change.method == HTTP_POST) == slice_is_set(op->keys))
		return ERR_INVALID_INPUT;
	if (slice_is_set(op->keys))
		TRY(rest_table_keys_parse(req, op->keys, &change.partition_key, &change.row_key));
	TRY(rest_entity_change_parse(req, &change, w));
	TRY(rest_entity_change_allowed(req, op->table, w));
	if (!slice_eq_nocase(op->table, c->op[0].table) || !slice_eq(w->partition_key, c->batch.write[0].partition_key))
		return ERR_COMMANDS_IN_BATCH_ACT_ON_DIFFERENT_PARTITIONS;
	for (size_t j = 0; j < i; j++)
		if (slice_eq(c->batch.write[j].key, w->key))
			return ERR_INVALID_DUPLICATE_ROW;
	return ERR_OK;
}

/* Errors of the machine end the whole request; all others are an operation's. */
static bool is_operations_own(enum err e)
{
	return e > ERR_SYNTAX && (err_info(e)->http_status < 500 || e == ERR_NOT_IMPLEMENTED);
}

static enum err refuse(struct batch_call *c, size_t index, enum err e)
{
	c->refused = e;
	c->failed = index;
	return is_operations_own(e) ? ERR_OK : e;
}

static enum err parse_changeset(struct request *req)
{
	struct batch_call *c = req->call;
	size_t count = c->parts.count;
	c->op = ARENA_NEW_ARRAY(req->arena, struct batch_op, count);
	c->batch.write = ARENA_NEW_ARRAY(req->arena, struct entity_write, count);
	if (!c->op || !c->batch.write)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < count; i++)
		c->op[i].level = c->writer.level;
	if (count > BATCH_OPS_MAX) {
		rest_table_fault(req, ERR_INVALID_INPUT,
				 SLICE("The batch request operation exceeds the maximum 100 changes per change set."));
		return refuse(c, BATCH_OPS_MAX - 1, ERR_INVALID_INPUT); /* the last that fits is the one named */
	}
	for (size_t i = 0; i < count && !c->refused; i++) {
		enum err e = parse_change(req, i);
		if (e)
			TRY(refuse(c, i, e));
		else
			c->batch.count = i + 1;
	}
	if (!c->batch.count)
		return ERR_OK;
	c->writer.table = c->op[0].table;
	enum err e = rest_table_find(req, c->op[0].table, ERR_TABLE_NOT_FOUND, &c->partition);
	if (e)
		return refuse(c, 0, rest_table_fault(req, e, SLICE_NONE));
	/* The first operation that fails is the one to name: those before one that cannot be read are asked too. */
	if (c->refused)
		request_step_read(req, c->partition, entity_batch_judge);
	else
		request_step_write(req, c->partition, entity_batch_apply);
	return ERR_OK;
}

/* ---- A single GET ---- */

static bool is_read(const struct op *op)
{
	return op->id == OP_ENTITY_GET || op->id == OP_ENTITY_QUERY;
}

/* It is made as whoever sent the batch; what that identity may read is asked of the part like of any request. */
static enum err run_get(struct request *req)
{
	struct batch_call *c = req->call;
	const struct multipart_request *q = &c->parts.requests[0];
	struct child_part part = { .method = q->method,
				   .target = q->url,
				   .headers = q->headers,
				   .header_count = q->header_count,
				   .trusted = &req->identity,
				   .account_implied = true,
				   .allowed = is_read };
	c->get = request_run_child(req, &part);
	return c->get ? ERR_OK : ERR_NO_MEMORY;
}

static enum err batch_parse_body(struct request *req)
{
	struct batch_call *c = req->call;
	enum err e = multipart_parse(req->body, c->boundary, req->arena, &c->parts);
	c->head = arena_alloc(req->arena, sizeof *c->head);
	if (!c->head)
		return ERR_NO_MEMORY;
	if (e)
		return e == ERR_NO_MEMORY ? e : ERR_INVALID_INPUT;
	if (c->parts.count == 0)
		return ERR_INVALID_INPUT;
	if (c->parts.count == 1 && !c->parts.requests[0].in_changeset) {
		request_step_call(req, run_get);
		return ERR_OK;
	}
	if (req->secondary)
		return rest_table_fault(req, ERR_INSUFFICIENT_ACCOUNT_PERMISSIONS,
					SLICE("Write operations are not allowed."));
	for (size_t i = 0; i < c->parts.count; i++)
		if (!c->parts.requests[i].in_changeset)
			return ERR_INVALID_INPUT;
	return c->parts.changesets == 1 ? parse_changeset(req) : ERR_INVALID_INPUT;
}

/* ---- Answers ---- */

static const char part_headers[] = "Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n";
#define NO_BODY_HEADERS "X-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\nDataServiceVersion: 3.0;\r\n"

static struct slice boundary_make(struct request *req, const char *prefix)
{
	char id[UUID_TEXT_BYTES];
	struct uuid u = rng_uuid(req->rng);
	uuid_format(&u, id);
	return arena_printf(req->arena, "%s_%.*s", prefix, (int)sizeof id, id);
}

static void put_content_id(struct buf *b, struct slice id)
{
	if (!slice_is_set(id))
		return;
	BUF_PUT(b, "Content-ID: ");
	buf_put(b, id);
	BUF_PUT(b, "\r\n");
}

static void put_header(struct buf *b, const char *name, struct slice value)
{
	buf_put(b, slice_str(name));
	BUF_PUT(b, ": ");
	buf_put(b, value);
	BUF_PUT(b, "\r\n");
}

static void put_preference(struct buf *b, enum table_prefer prefer)
{
	if (prefer != PREFER_NOTHING)
		put_header(b, "Preference-Applied",
			   prefer == PREFER_NO_CONTENT ? SLICE("return-no-content") : SLICE("return-content"));
}

/* "3:text": the index stands there if there is more than one operation it could be. */
static struct slice error_message(struct request *req, size_t index, enum err e)
{
	const struct batch_call *c = req->call;
	struct slice text = slice_is_set(req->fault.message) ? req->fault.message : slice_str(err_info(e)->text);
	char id[UUID_TEXT_BYTES], time[DATE_ISO_BYTES], prefix[24] = "";
	uuid_format(&req->request_id, id);
	date_format_iso(req->arrival_ticks, time);
	if (c->parts.count > 1)
		snprintf(prefix, sizeof prefix, "%zu:", index);
	struct slice all = arena_printf(req->arena, "%s%.*s\nRequestId:%.*s\nTime:%.*s", prefix, SLICE_FMT(text),
					(int)sizeof id, id, (int)sizeof time, time);
	return slice_is_set(all) ? all : text;
}

static void put_error(struct request *req, struct buf *b, size_t index, enum err e)
{
	const struct batch_call *c = req->call;
	const struct batch_op *op = &c->op[index];
	bool atom = op->level == ODATA_ATOM;
	struct slice code = slice_str(err_info(e)->code), message = error_message(req, index, e);
	multipart_put_status(b, err_info(e)->http_status);
	put_content_id(b, c->parts.requests[index].content_id);
	put_preference(b, op->prefer);
	BUF_PUT(b, NO_BODY_HEADERS);
	put_header(b, "Content-Type",
		   atom ? SLICE("application/xml;charset=utf-8")
			: rest_table_content_type(req->version, ODATA_MINIMAL, false));
	BUF_PUT(b, "\r\n");
	if (atom)
		rest_table_error_put_xml(b, code, message);
	else
		rest_table_error_put_json(b, code, message);
}

static void put_insert_answer(struct request *req, struct buf *b, const struct batch_op *op,
			      const struct entity_write *w)
{
	struct batch_call *c = req->call;
	struct slice url = rest_entity_url(req, &c->writer, w);
	bool no_content = op->prefer == PREFER_NO_CONTENT;
	put_preference(b, op->prefer);
	put_header(b, "Location", slice_is_set(url) ? url : SLICE(""));
	if (no_content) {
		put_header(b, "DataServiceId", slice_is_set(url) ? url : SLICE(""));
		return;
	}
	put_header(b, "Content-Type", rest_table_content_type(req->version, op->level, false));
}

static void put_answer(struct request *req, struct buf *b, size_t i)
{
	struct batch_call *c = req->call;
	const struct entity_write *w = &c->batch.write[i];
	const struct batch_op *op = &c->op[i];
	bool insert = w->action == ENTITY_INSERT;
	bool content = insert && op->prefer != PREFER_NO_CONTENT;
	multipart_put_status(b, content ? 201 : 204);
	put_content_id(b, op->part->content_id);
	BUF_PUT(b, NO_BODY_HEADERS);
	if (insert)
		put_insert_answer(req, b, op, w);
	if (w->action != ENTITY_DELETE) {
		char etag[ENTITY_ETAG_MAX];
		put_header(b, "ETag", slice_make(etag, rest_entity_etag_format(w->ticks, etag)));
	}
	BUF_PUT(b, "\r\n");
	if (content) {
		struct entity e = { w->partition_key, w->row_key, w->ticks, w->properties };
		c->writer.level = op->level;
		rest_entity_write(b, &c->writer, &e, true);
	}
}

static void put_changeset(struct request *req, struct buf *b, struct slice outer, struct slice inner)
{
	struct batch_call *c = req->call;
	/* What the store refused comes before what could not be read, and has no words of its own. */
	enum err refused = c->batch.refused ? rest_table_fault(req, c->batch.refused, SLICE_NONE) : c->refused;
	struct slice type =
		arena_printf(req->arena, "Content-Type: multipart/mixed; boundary=%.*s\r\n", SLICE_FMT(inner));
	multipart_put_part(b, outer, slice_is_set(type) ? type : SLICE(""));
	if (refused) {
		size_t failed = c->batch.refused ? c->batch.failed : c->failed;
		multipart_put_part(b, inner, slice_str(part_headers));
		put_error(req, b, failed, refused);
		multipart_put_part_end(b);
	}
	for (size_t i = 0; i < c->batch.count && !refused; i++) {
		multipart_put_part(b, inner, slice_str(part_headers));
		put_answer(req, b, i);
		multipart_put_part_end(b);
	}
	multipart_put_close(b, inner);
}

static bool has_data_service_version(struct slice headers)
{
	while (slice_is_set(headers))
		if (slice_has_prefix_nocase(slice_cut(&headers, '\n'), SLICE("DataServiceVersion:")))
			return true;
	return false;
}

/* The answer of the GET becomes a part, without what belongs to the connection. */
static void put_get(struct request *req, struct buf *b, struct slice outer)
{
	const struct batch_call *c = req->call;
	const struct response *answer = &c->get->response;
	multipart_put_part(b, outer, slice_str(part_headers));
	multipart_put_status(b, answer->status);
	put_content_id(b, c->parts.requests[0].content_id);
	buf_put(b, buf_slice(&answer->headers));
	if (!has_data_service_version(buf_slice(&answer->headers)))
		BUF_PUT(b, "DataServiceVersion: 3.0;\r\n");
	BUF_PUT(b, "\r\n");
	buf_put(b, buf_slice(&answer->body));
	multipart_put_part_end(b);
}

/* A failing machine is told of the whole, all else inside. */
static enum err whole_error(enum err e)
{
	return e && !is_operations_own(e) ? e : ERR_OK;
}

static enum err batch_format(struct request *req)
{
	struct slice outer = boundary_make(req, "batchresponse"), inner = boundary_make(req, "changesetresponse");
	struct slice type = arena_printf(req->arena, "multipart/mixed; boundary=%.*s", SLICE_FMT(outer));
	if (!slice_is_set(outer) || !slice_is_set(inner) || !slice_is_set(type))
		return ERR_NO_MEMORY;
	struct buf b;
	buf_init(&b, req->response.body.limit_bytes);
	const struct batch_call *c = req->call;
	enum err e = c->get ? whole_error(request_child_error(c->get)) : ERR_OK;
	if (c->get)
		put_get(req, &b, outer);
	else
		put_changeset(req, &b, outer, inner);
	multipart_put_close(&b, outer);
	if (!e && !buf_ok(&b))
		e = ERR_NO_MEMORY;
	buf_clear(&req->response.headers);
	buf_clear(&req->response.body);
	buf_put(&req->response.body, buf_slice(&b));
	buf_fini(&b);
	req->response.status = 202;
	response_header(req, "Content-Type", type);
	rest_table_empty_headers(req);
	return e;
}

static enum err batch_parse(struct request *req)
{
	struct batch_call *c = ARENA_NEW(req->arena, struct batch_call);
	if (!c)
		return ERR_NO_MEMORY;
	req->call = c;
	req->body_limit_bytes = LIMIT_TABLE_BODY_BYTES;
	TRY(rest_table_writer_init(req, &c->writer));
	TRY(rest_table_writer_set_time(req, &c->writer));
	c->writer.level = rest_table_errors_are_xml(req) ? ODATA_ATOM : ODATA_MINIMAL;
	return multipart_boundary(request_header(req, "content-type"), &c->boundary) == ERR_OK ? ERR_OK
											       : ERR_INVALID_INPUT;
}

const struct handler handler_table_batch = { .parse = batch_parse,
					     .parse_body = batch_parse_body,
					     .format = batch_format };

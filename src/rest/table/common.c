/* SPDX-License-Identifier: Apache-2.0
 * Shared pieces of the table handlers. See table_common.h. */
#include "rest/table/common.h"

#include "rest/core/server.h"
#include "rest/table/entity_atom.h"
#include "svc/table/filter.h"
#include "wire/base64.h"
#include "wire/date.h"

enum err rest_table_fault(struct request *req, enum err err, struct slice message)
{
	req->fault.message = message;
	return err;
}

static bool has_token(struct slice text, struct slice token)
{
	for (size_t i = 0; i + token.len <= text.len; i++)
		if (slice_eq_nocase(slice_make(text.ptr + i, token.len), token))
			return true;
	return false;
}

struct slice rest_table_service_root(struct request *req)
{
	struct slice host = req->head->host;
	return arena_printf(req->arena, "%s://%.*s/%.*s%s", req->secure ? "https" : "http", SLICE_FMT(host),
			    req->path_style ? (int)req->account.len : 0, req->account.ptr, req->path_style ? "/" : "");
}

enum err rest_table_writer_init(struct request *req, struct entity_writer *w)
{
	if (!req->head->host.len) /* links begin with it, and HTTP/1.0 need not tell it */
		return ERR_HOST_INFORMATION_NOT_PRESENT;
	*w = (struct entity_writer){
		.level = ODATA_MINIMAL, .account = req->account, .table = req->container, .select_all = true
	};
	w->root = rest_table_service_root(req);
	return slice_is_set(w->root) ? ERR_OK : ERR_NO_MEMORY;
}

enum err rest_table_writer_set_time(struct request *req, struct entity_writer *w)
{
	char *text = arena_alloc(req->arena, DATE_ISO_BYTES);
	if (!text)
		return ERR_NO_MEMORY;
	date_format_iso(req->arrival_ticks, text);
	w->updated = slice_make(text, DATE_ISO_BYTES);
	return ERR_OK;
}

enum err rest_table_writer_init_level(struct request *req, struct entity_writer *w)
{
	TRY(rest_table_writer_init(req, w));
	TRY(rest_table_format_of(req->version, &req->query, req->head, &w->level));
	return w->level == ODATA_ATOM ? rest_table_writer_set_time(req, w) : ERR_OK;
}

enum err rest_table_method(const struct http_head *head, enum http_method *ret)
{
	static const struct {
		const char *text;
		enum http_method method;
	} methods[] = {
		{ "MERGE", HTTP_MERGE }, { "PATCH", HTTP_PATCH }, { "PUT", HTTP_PUT }, { "DELETE", HTTP_DELETE }
	};
	struct slice tunnelled = http_header(head, SLICE("x-http-method"));
	*ret = head->method;
	if (!slice_is_set(tunnelled))
		return ERR_OK;
	if (head->method != HTTP_POST)
		return ERR_X_METHOD_NOT_USING_POST;
	if (http_header_count(head, SLICE("x-http-method")) > 1)
		return ERR_X_METHOD_INCORRECT_COUNT;
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
		if (slice_eq(tunnelled, slice_str(methods[i].text))) {
			*ret = methods[i].method;
			return ERR_OK;
		}
	return ERR_X_METHOD_INCORRECT_VALUE;
}

enum table_prefer rest_table_prefer_of(struct slice header)
{
	if (has_token(header, SLICE("return-no-content")))
		return PREFER_NO_CONTENT;
	return has_token(header, SLICE("return-content")) ? PREFER_CONTENT : PREFER_NOTHING;
}

void rest_table_headers(struct request *req, enum odata_level level, bool list)
{
	response_header(req, "Content-Type", rest_table_content_type(req->version, level, list));
	rest_table_empty_headers(req);
}

void rest_table_empty_headers(struct request *req)
{
	BUF_PUT(&req->response.headers, "Cache-Control: no-cache\r\nX-Content-Type-Options: nosniff\r\n");
	/* Versions of the time of Atom said it; from 2015-12-11 on only parts of a batch do. */
	if (req->version < VERSION(2013, 8, 15))
		BUF_PUT(&req->response.headers, "DataServiceVersion: 1.0;\r\n");
	else if (req->version < VERSION(2015, 12, 11))
		BUF_PUT(&req->response.headers, "DataServiceVersion: 3.0;\r\n");
}

void rest_entity_write(struct buf *b, struct entity_writer *w, const struct entity *e, bool document)
{
	if (w->level == ODATA_ATOM)
		rest_entity_atom_write(b, w, e, document);
	else
		rest_entity_json_write(b, w, e, document);
}

struct slice rest_table_token_make(struct arena *arena, struct slice text)
{
	size_t len = BASE64_BYTES(text.len);
	struct slice head = arena_printf(arena, "1!%zu!", len);
	char *all = slice_is_set(head) ? arena_alloc(arena, head.len + len) : NULL;
	if (!all)
		return SLICE_NONE;
	memcpy(all, head.ptr, head.len);
	base64_encode_to(all + head.len, text);
	for (size_t i = head.len; i < head.len + len; i++)
		all[i] = all[i] == '=' ? '-' : all[i] == '+' ? '*' : all[i] == '/' ? '_' : all[i];
	return slice_make(all, head.len + len);
}

bool rest_table_token_read(struct arena *arena, struct slice token, struct slice *ret)
{
	struct slice rest = token;
	uint64_t len;
	if (!slice_eq(slice_cut(&rest, '!'), SLICE("1")) || !slice_to_u64(slice_cut(&rest, '!'), &len) ||
	    !slice_is_set(rest) || rest.len != len)
		return false;
	char *plain = arena_alloc(arena, rest.len);
	if (!plain)
		return false;
	for (size_t i = 0; i < rest.len; i++) {
		char c = rest.ptr[i];
		plain[i] = c == '-' ? '=' : c == '*' ? '+' : c == '_' ? '/' : c;
	}
	return base64_decode(slice_make(plain, rest.len), arena, ret) == ERR_OK;
}

enum err rest_table_find(struct request *req, struct slice table, enum err missing, struct slice *ret_partition)
{
	struct resource r;
	enum err e = resource_find(req->server->store, req->account, RESOURCE_TABLE, table, req->arena, &r);
	if (e)
		return e == ERR_NOT_FOUND ? missing : e;
	*ret_partition = resource_generation_partition(req->arena, req->account, RESOURCE_TABLE, r.generation);
	return slice_is_set(*ret_partition) ? ERR_OK : ERR_NO_MEMORY;
}

enum err rest_table_option(struct request *req, const char *name, struct slice *ret)
{
	struct slice value = request_param(req, name);
	*ret = SLICE_NONE;
	for (size_t i = 0; i < req->query.count; i++) {
		const struct param *p = &req->query.params[i];
		if (p->value.ptr != value.ptr || slice_find_byte(p->raw_value, '+') == p->raw_value.len)
			continue;
		char *text = arena_alloc(req->arena, p->raw_value.len);
		if (!text)
			return ERR_NO_MEMORY;
		for (size_t j = 0; j < p->raw_value.len; j++)
			text[j] = p->raw_value.ptr[j] == '+' ? ' ' : p->raw_value.ptr[j];
		if (uri_decode(slice_make(text, p->raw_value.len), req->arena, &value) != ERR_OK)
			return ERR_INVALID_URI;
		break;
	}
	if (slice_trim(value).len)
		*ret = value;
	return ERR_OK;
}

typedef enum err filter_parse_fn(struct slice, struct arena *, struct filter **, size_t *);

static enum err parse_filter(struct request *req, filter_parse_fn *parse, struct filter **ret)
{
	struct slice text;
	size_t position = 0;
	*ret = NULL;
	TRY(rest_table_option(req, "$filter", &text));
	if (!slice_is_set(text))
		return ERR_OK;
	enum err e = parse(text, req->arena, ret, &position);
	if (e == ERR_SYNTAX)
		return rest_table_fault(req, ERR_INVALID_INPUT,
					arena_printf(req->arena, "Syntax error at position %zu in '%.*s'.",
						     edm_utf16_units(slice_first(text, position)), SLICE_FMT(text)));
	if (e == ERR_OUT_OF_RANGE_INPUT) {
		size_t start = position;
		while (start > 0 && (unsigned char)(text.ptr[start - 1] - '0') < 10)
			start--;
		start -= start > 0 && text.ptr[start - 1] == '-';
		return rest_table_fault(req, ERR_INVALID_INPUT,
					arena_printf(req->arena, "Unrecognized 'Edm.Int32' literal '%.*s' in '%.*s'.",
						     (int)(position - start), text.ptr + start, SLICE_FMT(text)));
	}
	return e == ERR_LIMIT ? ERR_INVALID_INPUT : e;
}

enum err rest_table_filter(struct request *req, struct filter **ret)
{
	return parse_filter(req, filter_parse, ret);
}

enum err rest_table_filter_tables(struct request *req, struct filter **ret)
{
	return parse_filter(req, filter_parse_lower, ret);
}

enum err rest_table_options_check(const struct request *req)
{
	static const char *const missing[] = { "$orderby", "$skip", "$inlinecount", "$expand" };
	for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
		if (request_param(req, missing[i]).len)
			return ERR_NOT_IMPLEMENTED;
	return ERR_OK;
}

enum err rest_table_top(struct request *req, size_t *ret)
{
	struct slice text = request_param(req, "$top");
	uint64_t top = TABLES_PAGE_MAX;
	if (slice_is_set(text) && (!slice_to_u64(text, &top) || top > TABLES_PAGE_MAX))
		return ERR_INVALID_INPUT;
	*ret = (size_t)top;
	return ERR_OK;
}

/* 'text' at the front of *rest, quotes doubled inside. */
static bool take_quoted(struct arena *arena, struct slice *rest, struct slice *ret)
{
	if (!rest->len || rest->ptr[0] != '\'')
		return false;
	char *plain = arena_alloc(arena, rest->len);
	if (!plain)
		return false;
	size_t n = 0;
	for (size_t i = 1; i < rest->len; i++) {
		if (rest->ptr[i] == '\'') {
			if (i + 1 == rest->len || rest->ptr[i + 1] != '\'') {
				*rest = slice_from(*rest, i + 1);
				*ret = slice_make(plain, n);
				return true;
			}
			i++;
		}
		plain[n++] = rest->ptr[i];
	}
	return false;
}

static bool take_prefix(struct slice *rest, struct slice prefix)
{
	if (!slice_has_prefix(*rest, prefix))
		return false;
	*rest = slice_from(*rest, prefix.len);
	return true;
}

static enum err refuse_keys(struct request *req)
{
	return rest_table_fault(
		req, ERR_INVALID_INPUT,
		arena_printf(req->arena,
			     "The number of keys specified in the URI does not match number of key properties "
			     "for the resource '%.*s.%.*s'.",
			     SLICE_FMT(req->account), SLICE_FMT(req->container)));
}

enum err rest_table_keys_parse(struct request *req, struct slice text, struct slice *ret_pk, struct slice *ret_rk)
{
	struct slice pk = SLICE_NONE, rk = SLICE_NONE;
	do {
		while (take_prefix(&text, SLICE(" ")))
			;
		struct slice *key = NULL;
		if (take_prefix(&text, SLICE("PartitionKey=")))
			key = &pk;
		else if (take_prefix(&text, SLICE("RowKey=")))
			key = &rk;
		if (!key || slice_is_set(*key) || !take_quoted(req->arena, &text, key))
			return refuse_keys(req);
	} while (take_prefix(&text, SLICE(",")));
	if (text.len || !slice_is_set(pk) || !slice_is_set(rk))
		return refuse_keys(req);
	*ret_pk = pk;
	*ret_rk = rk;
	return ERR_OK;
}

struct entity_bounds rest_table_sas_bounds(const struct request *req)
{
	const struct auth_identity *id = &req->identity;
	return (struct entity_bounds){ id->start_pk, id->start_rk, id->end_pk, id->end_rk };
}

enum err rest_table_range_check(const struct request *req, struct slice pk, struct slice rk)
{
	struct entity_bounds bounds = rest_table_sas_bounds(req);
	return entity_bounds_hold(&bounds, pk, rk) ? ERR_OK : auth_refusal(&req->identity, ERR_AUTHORIZATION_FAILURE);
}

/* One quoted validator, weak or not, and nothing else. */
static bool is_etag(struct slice s)
{
	take_prefix(&s, SLICE("W/"));
	if (s.len < 2 || s.ptr[0] != '"' || s.ptr[s.len - 1] != '"')
		return false;
	return slice_find_byte(slice_make(s.ptr + 1, s.len - 2), '"') == s.len - 2;
}

enum err rest_table_match_parse(const struct http_head *head, struct table_match *ret)
{
	struct slice if_match = http_header(head, SLICE("if-match"));
	*ret = (struct table_match){ .present = slice_is_set(if_match) };
	if (slice_is_set(http_header(head, SLICE("if-none-match"))) || http_header_count(head, SLICE("if-match")) > 1)
		return ERR_INVALID_INPUT;
	if (!ret->present)
		return ERR_OK;
	ret->any = slice_eq(if_match, SLICE("*"));
	if (!ret->any && !is_etag(if_match))
		return ERR_INVALID_INPUT;
	ret->ticks = ret->any ? 0 : rest_entity_etag_parse(if_match);
	return ERR_OK;
}

/* SPDX-License-Identifier: Apache-2.0
 * Table as a service: its table of operations, and how it reads a path. */
#include "rest/core/service.h"
#include "rest/common/cors.h"
#include "rest/common/policy.h"
#include "rest/common/service_handlers.h"
#include "rest/core/server.h"
#include "rest/table/error.h"
#include "rest/table/format.h"
#include "rest/table/ops.h"
#include "svc/account/names.h"
#include "svc/table/entity.h"

#define OP OP_HANDLER
#include "rest/table/ops.def"
#undef OP

static const struct op ops[] = {
#define OP OP_ROW
#include "rest/table/ops.def"
#undef OP
};

/* 'name' with '' for a quote. */
static bool unquote(struct request *r, struct slice quoted, struct slice *ret)
{
	if (quoted.len < 2 || quoted.ptr[0] != '\'' || quoted.ptr[quoted.len - 1] != '\'')
		return false;
	char *dst = arena_alloc(r->arena, quoted.len);
	size_t n = 0;
	if (!dst)
		return false;
	for (size_t i = 1; i + 1 < quoted.len; i++) {
		if (quoted.ptr[i] == '\'' && (i + 2 >= quoted.len || quoted.ptr[++i] != '\''))
			return false;
		dst[n++] = quoted.ptr[i];
	}
	*ret = slice_make(dst, n);
	return true;
}

/* "/table/Tables" and "/table/Tables('t')", which clients make of an address that has the table in it already: each
 * verb has its own answer. Any other path below a table is no address. */
static enum err nested_path_error(const struct request *r, struct slice name)
{
	struct slice rest = name;
	slice_cut(&rest, '/');
	if (!slice_eq_nocase(rest, SLICE("Tables")))
		return ERR_INVALID_URI;
	switch (r->head->method) {
	case HTTP_GET:
		return ERR_TABLE_NOT_FOUND;
	case HTTP_POST:
		return ERR_PROPERTIES_NEED_VALUE;
	default:
		return ERR_NOT_IMPLEMENTED;
	}
}

/* /Tables, /Tables('t'), /t, /t(), /t(PartitionKey='p',RowKey='r'), /$batch */
static enum err split_path(struct request *r, struct slice path)
{
	struct slice text;
	TRY(address_decode(r, path, &text));
	if (text.len && text.ptr[text.len - 1] == '/')
		text.len--;
	if (slice_eq(text, SLICE("$batch"))) {
		r->level = LEVEL_BATCH;
		return ERR_OK;
	}
	struct slice inner = text;
	struct slice name = slice_cut(&inner, '(');
	bool parentheses = slice_is_set(inner);
	if (parentheses && (inner.len == 0 || inner.ptr[inner.len - 1] != ')'))
		return ERR_INVALID_URI;
	if (parentheses)
		inner.len--;
	if (slice_eq_nocase(name, SLICE("tables"))) {
		r->level = inner.len ? LEVEL_TABLE_NAME : LEVEL_TABLES;
		return !inner.len || unquote(r, inner, &r->container) ? ERR_OK : ERR_INVALID_URI;
	}
	if (slice_find_byte(name, '/') < name.len)
		return nested_path_error(r, name);
	r->container = name;
	r->level = inner.len ? LEVEL_ENTITY : LEVEL_TABLE;
	if (inner.len)
		r->object = inner;
	return ERR_OK;
}

/* A batch of entities names no table; the token that lets it in does. */
static enum err find_policy(struct request *r, struct slice id, struct auth_policy *ret)
{
	return policy_find_in(r, r->container.len ? r->container : request_param(r, "tn"), id, ret);
}

/* Names of tables are judged before anything is looked up; creating one has its name in the body. */
static enum err check_request(struct request *r)
{
	r->may_be_read = r->op->id == OP_TABLE_BATCH;
	if (r->op->level == LEVEL_SERVICE || r->head->method == HTTP_OPTIONS)
		return ERR_OK;
	TRY(rest_table_check_data_service_version(r->version, r->head));
	return r->level == LEVEL_TABLE || r->level == LEVEL_ENTITY ? name_check_table(r->container) : ERR_OK;
}

SERVICE_PROPERTIES_HANDLERS(table);
SERVICE_STATS_HANDLER(table);

const struct rest_service rest_service_table = {
	.ops = ops,
	.op_count = sizeof ops / sizeof *ops,
	.properties = PROPERTY_LOGGING,
	.weigh = entity_row_weigh,
	.split_path = split_path,
	.check_request = check_request,
	.find_policy = find_policy,
	.decorate = cors_decorate,
	.error_form = rest_table_error_form,
	.not_built_error = ERR_NOT_IMPLEMENTED,
	.wrong_verb_error = ERR_METHOD_NOT_ALLOWED,
};

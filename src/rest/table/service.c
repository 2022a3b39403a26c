/* SPDX-License-Identifier: Apache-2.0
 * Table as a service: its table of operations, and how it reads a path. */
#include "rest/core/service.h"
#include "rest/common/cors.h"
#include "rest/common/policy.h"
#include "rest/core/server.h"
#include "rest/table/error.h"
#include "rest/table/ops.h"

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
		return ERR_INVALID_URI;
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

const struct rest_service rest_service_table = {
	.ops = ops,
	.op_count = sizeof ops / sizeof *ops,
	.split_path = split_path,
	.find_policy = find_policy,
	.decorate = cors_decorate,
	.error_form = table_error_form,
	.not_built_error = ERR_NOT_IMPLEMENTED,
	.wrong_verb_error = ERR_METHOD_NOT_ALLOWED,
};

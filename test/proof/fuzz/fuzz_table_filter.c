/* SPDX-License-Identifier: Apache-2.0
 * $filter: a tree that was read is written and read again; what matches lies within the plan. */
#include "svc/table/filter.h"

#include <math.h>

#include "base/sys/rng.h"
#include "fuzz.h"

static void put_literal(struct buf *b, const struct edm_value *v)
{
	char text[64];
	switch (v->type) {
	case EDM_STRING:
		buf_put_byte(b, '\'');
		for (size_t i = 0; i < v->bytes.len; i++) {
			if (v->bytes.ptr[i] == '\'')
				buf_put_byte(b, '\'');
			buf_put_byte(b, (unsigned char)v->bytes.ptr[i]);
		}
		buf_put_byte(b, '\'');
		break;
	case EDM_BINARY:
		BUF_PUT(b, "X'");
		for (size_t i = 0; i < v->bytes.len; i++)
			buf_printf(b, "%02X", (unsigned char)v->bytes.ptr[i]);
		BUF_PUT(b, "'");
		break;
	case EDM_GUID: {
		struct uuid u;
		memcpy(u.bytes, v->bytes.ptr, sizeof u.bytes);
		uuid_format(&u, text);
		buf_printf(b, "guid'%.36s'", text);
		break;
	}
	case EDM_DOUBLE:
		if (isnan(v->number) || isinf(v->number))
			buf_printf(b, isnan(v->number) ? "NaN" : v->number > 0 ? "INF" : "-INF");
		else
			buf_printf(b, "%.17gd", v->number);
		break;
	case EDM_BOOLEAN:
		buf_printf(b, v->boolean ? "true" : "false");
		break;
	case EDM_DATETIME:
		buf_printf(b, "datetime'%.*s'", (int)edm_datetime_format(v->ticks, text), text);
		break;
	default:
		buf_printf(b, "%lld%s", (long long)v->integer, v->type == EDM_INT64 ? "L" : "");
	}
}

static void put_node(struct buf *b, const struct filter *f, const struct filter_node *n)
{
	static const char *const ops[] = { "eq", "ne", "gt", "ge", "lt", "le" };
	switch (n->kind) {
	case FILTER_AND:
	case FILTER_OR:
		BUF_PUT(b, "(");
		put_node(b, f, n->left);
		buf_printf(b, n->kind == FILTER_AND ? " and " : " or ");
		put_node(b, f, n->right);
		BUF_PUT(b, ")");
		break;
	case FILTER_NOT:
		BUF_PUT(b, "not (");
		put_node(b, f, n->left);
		BUF_PUT(b, ")");
		break;
	case FILTER_CONSTANT:
		put_literal(b, &n->value);
		break;
	case FILTER_TRUTH:
		buf_put(b, f->property[n->property]);
		break;
	case FILTER_COMPARE:
		buf_put(b, f->property[n->property]);
		buf_printf(b, " %s ", ops[n->op]);
		put_literal(b, &n->value);
	}
}

static void check_plan(const struct filter *f, struct arena *arena, struct slice pk, struct slice rk)
{
	static const char run[] = "\x01\x01"
				  "a\x01x"
				  "\x02\x01"
				  "b\x04"
				  "\x05\x01"
				  "c\x01"
				  "\x04\x01"
				  "d\0\0\0\0\0\0\xf8\x3f";
	struct entity e = { pk, rk, UINT64_C(637000000000000000), slice_make(run, sizeof run - 1) };
	struct plan plan;
	struct key k;
	bool matches, covered = false;
	CHECK(filter_match(f, &e, &matches) == ERR_OK);
	CHECK(plan_make(f, arena, &plan) == ERR_OK);
	entity_key(&k, pk, rk);
	for (size_t i = 0; i < plan.count; i++) {
		CHECK(slice_cmp(plan.range[i].from, plan.range[i].until) < 0);
		CHECK(i == 0 || slice_cmp(plan.range[i - 1].until, plan.range[i].from) <= 0);
		covered |= slice_cmp(key_slice(&k), plan.range[i].from) >= 0 &&
			   slice_cmp(key_slice(&k), plan.range[i].until) < 0;
	}
	CHECK(covered || !matches);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice s = fuzz_copy(slice_make(data, size));
	struct arena arena;
	struct buf once, twice;
	struct filter *f, *again;
	size_t position = 0;
	arena_init(&arena, 16 << 20);
	buf_init(&once, 1 << 20);
	buf_init(&twice, 1 << 20);
	enum err e = filter_parse(s, &arena, &f, &position);
	if (e == ERR_OK) {
		CHECK(f->comparison_count <= FILTER_COMPARISONS_MAX && f->property_count <= f->comparison_count);
		put_node(&once, f, f->root);
		/* Written out it may be nested deeper than it was, by the parentheses. */
		e = filter_parse(buf_slice(&once), &arena, &again, &position);
		CHECK(e == ERR_OK || e == ERR_LIMIT);
		if (e == ERR_OK) {
			put_node(&twice, again, again->root);
			CHECK(slice_eq(buf_slice(&once), buf_slice(&twice)));
		}
		check_plan(f, &arena, SLICE("p"), SLICE("r"));
		check_plan(f, &arena, SLICE(""), SLICE("x"));
		check_plan(f, &arena, SLICE("x"), SLICE(""));
	} else {
		CHECK(position <= size);
	}
	struct arena tiny;
	arena_init(&tiny, size * 7 % 4096);
	e = filter_parse(s, &tiny, &f, &position);
	arena_fini(&tiny);
	buf_fini(&twice);
	buf_fini(&once);
	arena_fini(&arena);
	fuzz_free(s);
	return 0;
}

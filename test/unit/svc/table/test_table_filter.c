/* SPDX-License-Identifier: Apache-2.0
 * $filter: the grammar case by case, then random filters over random entities against a plain model. The model
 * evaluates the tree the generator made; the filter under test only ever sees the text. Plans and pages are checked on
 * the same data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/sys/rng.h"
#include "engine/mem/mem.h"
#include "svc/common/generation.h"
#include "svc/table/query.h"

#include <math.h>
#include <stdio.h>

/* ---- The grammar ---- */

static void dump(struct buf *b, const struct filter *f, const struct filter_node *n)
{
	static const char *const ops[] = { "eq", "ne", "gt", "ge", "lt", "le" };
	switch (n->kind) {
	case FILTER_AND:
	case FILTER_OR:
		buf_printf(b, "(");
		dump(b, f, n->left);
		buf_printf(b, n->kind == FILTER_AND ? " & " : " | ");
		dump(b, f, n->right);
		buf_printf(b, ")");
		break;
	case FILTER_NOT:
		buf_printf(b, "!");
		dump(b, f, n->left);
		break;
	case FILTER_CONSTANT:
		buf_put(b, n->value.boolean ? SLICE("true") : SLICE("false"));
		break;
	case FILTER_TRUTH:
		buf_put(b, f->property[n->property]);
		break;
	case FILTER_COMPARE:
		buf_printf(b, "%.*s %s ", SLICE_FMT(f->property[n->property]), ops[n->op]);
		const struct edm_value *v = &n->value;
		buf_printf(b, "%.*s:", SLICE_FMT(slice_from(edm_type_name(v->type), 4)));
		if (v->type == EDM_STRING)
			buf_put(b, v->bytes);
		else if (v->type == EDM_BINARY || v->type == EDM_GUID)
			for (size_t i = 0; i < v->bytes.len; i++)
				buf_printf(b, "%02x", (unsigned char)v->bytes.ptr[i]);
		else if (v->type == EDM_DOUBLE)
			buf_printf(b, "%g", v->number);
		else if (v->type == EDM_BOOLEAN)
			buf_printf(b, "%d", v->boolean);
		else if (v->type == EDM_DATETIME)
			buf_printf(b, "%llu", (unsigned long long)v->ticks);
		else
			buf_printf(b, "%lld", (long long)v->integer);
	}
}

static void test_grammar(void **state)
{
	static const struct {
		const char *text, *tree;
	} cases[] = {
		{ "a eq 1", "a eq Int32:1" },
		{ "  a   ne -1 ", "a ne Int32:-1" },
		{ "1 lt a", "a gt Int32:1" },
		{ "1 ge a", "a le Int32:1" },
		{ "a gt 5L", "a gt Int64:5" },
		{ "a ge 2147483647", "a ge Int32:2147483647" },
		{ "a ge -2147483648", "a ge Int32:-2147483648" },
		{ "a ge 5000000000L", "a ge Int64:5000000000" },
		{ "a eq 9223372036854775807L", "a eq Int64:9223372036854775807" },
		{ "a eq -9223372036854775808L", "a eq Int64:-9223372036854775808" },
		{ "a lt 1.5", "a lt Double:1.5" },
		{ "a lt 1e3", "a lt Double:1000" },
		{ "a lt -2.5e-1", "a lt Double:-0.25" },
		{ "a eq 3d", "a eq Double:3" },
		{ "a eq NaN", "a eq Double:nan" },
		{ "a eq INF", "a eq Double:inf" },
		{ "a eq -INF", "a eq Double:-inf" },
		{ "a eq ''", "a eq String:" },
		{ "a eq 'o''hara'", "a eq String:o'hara" },
		{ "a eq 'x and y'", "a eq String:x and y" },
		{ "a eq true", "a eq Boolean:1" },
		{ "a ne false", "a ne Boolean:0" },
		{ "a ge datetime'0001-01-01T00:00:01Z'", "a ge DateTime:10000000" },
		{ "a ge datetime'0001-01-01T00:00:00.0000001Z'", "a ge DateTime:1" },
		{ "a eq guid'00010203-0405-0607-0809-0a0b0c0d0e0f'", "a eq Guid:000102030405060708090a0b0c0d0e0f" },
		{ "a eq X'00FFab'", "a eq Binary:00ffab" },
		{ "a eq binary'01'", "a eq Binary:01" },
		{ "a eq X''", "a eq Binary:" },
		{ "a", "a" },
		{ "not a", "!a" },
		{ "not not a", "!!a" },
		{ "a and b", "(a & b)" },
		{ "a or b and c", "(a | (b & c))" },
		{ "false", "false" },
		{ "true and RowKey eq '1'", "(true & RowKey eq String:1)" },
		{ "not (FALSE or a eq True)", "!(false | a eq Boolean:1)" },
		{ "(a or b) and c", "((a | b) & c)" },
		{ "a and b or c and d", "((a & b) | (c & d))" },
		{ "not a eq 1 and b", "(!a eq Int32:1 & b)" },
		{ "not (a eq 1 and b)", "!(a eq Int32:1 & b)" },
		{ "(PartitionKey eq 'p') and ((RowKey ge 'a') and (RowKey lt 'b'))",
		  "(PartitionKey eq String:p & (RowKey ge String:a & RowKey lt String:b))" },
		{ "\xc3\xa9tat eq 1", "\xc3\xa9tat eq Int32:1" },
	};
	struct arena arena;
	struct buf b;
	arena_init(&arena, MIB);
	buf_init(&b, MIB);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct filter *f;
		size_t position = 0;
		enum err e = filter_parse(slice_str(cases[i].text), &arena, &f, &position);
		if (e)
			print_message("%s: stopped at %zu\n", cases[i].text, position);
		assert_int_equal(e, ERR_OK);
		buf_clear(&b);
		dump(&b, f, f->root);
		buf_put_byte(&b, 0);
		assert_string_equal(b.ptr, cases[i].tree);
	}
	buf_fini(&b);
	arena_fini(&arena);
}

static void test_syntax_errors(void **state)
{
	/* Positions are behind the token that did not fit (the service says position 7 in 'aaa bbb ccc'). */
	static const struct {
		const char *text;
		size_t position;
	} cases[] = {
		{ "aaa bbb ccc", 7 },
		{ "", 0 },
		{ "a eq", 4 },
		{ "a eq 1 b", 8 },
		{ "(a eq 1", 7 },
		{ "a eq 1)", 7 },
		{ "a eq 'x", 7 },
		{ "1 eq 1", 6 },
		{ "a eq b", 6 },
		{ "1", 1 },
		{ "a EQ 1", 4 },
		{ "a eq 1 AND b", 10 },
		{ "a eq 1x", 6 },
		{ "a eq 1.2.3", 8 },
		{ "a eq 1.5L", 9 },
		{ "a eq -", 6 },
		{ "a = 1", 3 },
		{ "a eq guid'x'", 12 },
		{ "a eq datetime'2020-13-01T00:00:00Z'", 35 },
		{ "a eq X'0'", 9 },
		{ "a eq X'zz'", 10 },
		{ "not", 3 },
		{ "a and", 5 },
		{ "or a", 4 },
		{ "a eq foo'x'", 11 },
		{ "startswith(a,'x')", 11 },
		{ "(PartitionKey ) and a", 15 },
		{ "not RowKey", 10 },
		{ "Timestamp", 9 },
		{ "true eq true", 12 },
	};
	struct arena arena;
	arena_init(&arena, MIB);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct filter *f;
		size_t position = 999;
		enum err e = filter_parse(slice_str(cases[i].text), &arena, &f, &position);
		bool right = e == ERR_SYNTAX && position == cases[i].position;
		if (!right)
			print_message("'%s': error %d at %zu, not %zu\n", cases[i].text, e, position,
				      cases[i].position);
		assert_true(right);
	}
	arena_fini(&arena);
}

static void test_limits(void **state)
{
	struct arena arena;
	struct buf b;
	struct filter *f;
	size_t position;
	arena_init(&arena, MIB);
	buf_init(&b, MIB);
	for (int i = 0; i < FILTER_COMPARISONS_MAX; i++)
		buf_printf(&b, "%sp%d eq %d", i ? " and " : "", i, i);
	assert_int_equal(filter_parse(buf_slice(&b), &arena, &f, &position), ERR_OK);
	assert_int_equal(f->comparison_count, FILTER_COMPARISONS_MAX);
	assert_int_equal(filter_parse(SLICE("a eq 2147483648"), &arena, &f, &position), ERR_OUT_OF_RANGE_INPUT);
	assert_int_equal(position, 15);
	buf_printf(&b, " and q");
	assert_int_equal(filter_parse(buf_slice(&b), &arena, &f, &position), ERR_LIMIT);

	for (int depth = FILTER_DEPTH_MAX - 2; depth <= 20000; depth += depth < FILTER_DEPTH_MAX + 2 ? 1 : 5000) {
		for (int kind = 0; kind < 2; kind++) {
			buf_clear(&b);
			for (int i = 0; i < depth; i++)
				buf_printf(&b, kind ? "(" : "not ");
			buf_printf(&b, "a eq 1");
			for (int i = 0; i < depth && kind; i++)
				buf_printf(&b, ")");
			enum err e = filter_parse(buf_slice(&b), &arena, &f, &position);
			assert_int_equal(e, depth < FILTER_DEPTH_MAX ? ERR_OK : ERR_LIMIT);
		}
	}
	buf_fini(&b);
	arena_fini(&arena);
}

/* ---- Random data, a plain model ---- */

enum { MODEL_PROPERTIES = 5, MODEL_ENTITIES = 300 };

struct model_entity {
	char pk[8], rk[8];
	struct edm_value value[MODEL_PROPERTIES];
	char bytes[MODEL_PROPERTIES][24];
	struct slice properties, key;
	uint64_t ticks;
};

static const char *const model_names[MODEL_PROPERTIES] = { "a", "b", "cc", "Dd", "_e" };

static void random_text(struct rng *r, char *dst, size_t max)
{
	static const char letters[] = "aab c'";
	size_t n = rng_below(r, max + 1);
	for (size_t i = 0; i < n; i++)
		dst[i] = letters[rng_below(r, sizeof letters - 1)];
	dst[n] = 0;
}

/* Few different values of each type, so that equal ones meet. */
static struct edm_value random_value(struct rng *r, char *bytes)
{
	struct edm_value v = { .type = (enum edm_type)(1 + rng_below(r, 8)) };
	int small = (int)rng_below(r, 5) - 2;
	switch (v.type) {
	case EDM_STRING:
		random_text(r, bytes, 3);
		v.bytes = slice_str(bytes);
		break;
	case EDM_BINARY:
		for (int i = 0; i < 2; i++)
			bytes[i] = (char)(rng_below(r, 3) * 100);
		v.bytes = slice_make(bytes, rng_below(r, 3));
		break;
	case EDM_GUID:
		memset(bytes, (int)rng_below(r, 3) * 90, 16);
		v.bytes = slice_make(bytes, 16);
		break;
	case EDM_INT32:
	case EDM_INT64:
		v.integer = small;
		break;
	case EDM_DOUBLE:
		v.number = rng_below(r, 6) == 0 ? (double)NAN : rng_below(r, 6) == 0 ? (double)INFINITY : small / 2.0;
		break;
	case EDM_BOOLEAN:
		v.boolean = rng_below(r, 2);
		break;
	default:
		v.ticks = UINT64_C(637000000000000000) + rng_below(r, 3);
	}
	return v;
}

static void random_entity(struct rng *r, struct model_entity *e, struct arena *arena)
{
	struct buf b;
	random_text(r, e->pk, 2);
	random_text(r, e->rk, 4);
	buf_init(&b, 4096);
	for (int i = 0; i < MODEL_PROPERTIES; i++) {
		e->value[i].type = EDM_NONE;
		if (rng_below(r, 3) == 0)
			continue;
		e->value[i] = random_value(r, e->bytes[i]);
		property_encode(&b, slice_str(model_names[i]), &e->value[i]);
	}
	struct key k;
	entity_key(&k, slice_str(e->pk), slice_str(e->rk));
	e->key = arena_dup(arena, key_slice(&k));
	e->properties = arena_dup(arena, buf_slice(&b));
	buf_fini(&b);
}

/* The generator's own tree. Property -1 is PartitionKey, -2 RowKey. */
struct model_node {
	char kind; /* & | ! = ? */
	int left, right, property, op;
	struct edm_value value;
	char bytes[24];
};
struct model_filter {
	struct model_node node[64];
	int count, leaves;
};

static int random_node(struct rng *r, struct model_filter *m, int depth)
{
	int at = m->count++;
	struct model_node *n = &m->node[at];
	uint64_t pick = rng_below(r, 10);
	n->op = (int)rng_below(r, 6);
	if (depth > 0 && pick < 6 && m->leaves < 12) {
		n->kind = "&&||!!"[pick];
		n->left = random_node(r, m, depth - 1);
		m->node[at].right = n->kind == '!' ? -1 : random_node(r, m, depth - 1);
		return at;
	}
	m->leaves++;
	n->property = (int)rng_below(r, MODEL_PROPERTIES + 5) - 5;
	n->kind = '=';
	if (n->property < 0) {
		n->property = n->property < -2 ? -1 : -2;
		n->value = (struct edm_value){ .type = EDM_STRING };
		random_text(r, n->bytes, 3);
		n->value.bytes = slice_str(n->bytes);
		if (rng_below(r, 12) == 0)
			n->value = (struct edm_value){ .type = EDM_INT32, .integer = 1 };
	} else if (pick == 9) {
		n->kind = '?';
	} else {
		n->value = random_value(r, n->bytes);
	}
	return at;
}

static const char *name_of(int property)
{
	return property == -1 ? "PartitionKey" : property == -2 ? "RowKey" : model_names[property];
}

static void put_literal(struct buf *b, const struct edm_value *v)
{
	char text[64];
	switch (v->type) {
	case EDM_STRING:
		buf_put_byte(b, '\'');
		for (size_t i = 0; i < v->bytes.len; i++)
			buf_printf(b, v->bytes.ptr[i] == '\'' ? "''" : "%c", v->bytes.ptr[i]);
		buf_put_byte(b, '\'');
		break;
	case EDM_BINARY:
		buf_printf(b, "X'");
		for (size_t i = 0; i < v->bytes.len; i++)
			buf_printf(b, "%02x", (unsigned char)v->bytes.ptr[i]);
		buf_printf(b, "'");
		break;
	case EDM_GUID: {
		struct uuid u;
		memcpy(u.bytes, v->bytes.ptr, 16);
		uuid_format(&u, text);
		buf_printf(b, "guid'%.36s'", text);
		break;
	}
	case EDM_INT32:
		buf_printf(b, "%d", (int)v->integer);
		break;
	case EDM_INT64:
		buf_printf(b, "%lldL", (long long)v->integer);
		break;
	case EDM_DOUBLE:
		buf_printf(b, isnan(v->number) ? "NaN" : isinf(v->number) ? "INF" : "%.1f", v->number);
		break;
	case EDM_BOOLEAN:
		buf_printf(b, v->boolean ? "true" : "false");
		break;
	default:
		text[edm_datetime_format(v->ticks, text)] = 0;
		buf_printf(b, "datetime'%s'", text);
	}
}

static void put_text(struct rng *r, struct buf *b, const struct model_filter *m, int at)
{
	static const char *const ops[] = { "eq", "ne", "gt", "ge", "lt", "le" }, *const mirrored[] = {
		"eq", "ne", "lt", "le", "gt", "ge"
	};
	const struct model_node *n = &m->node[at];
	switch (n->kind) {
	case '!':
		buf_printf(b, "not (");
		put_text(r, b, m, n->left);
		buf_printf(b, ")");
		break;
	case '?':
		buf_printf(b, "%s", name_of(n->property));
		break;
	case '=':
		if (rng_below(r, 4) == 0) {
			put_literal(b, &n->value);
			buf_printf(b, " %s %s", mirrored[n->op], name_of(n->property));
		} else {
			buf_printf(b, "%s %s ", name_of(n->property), ops[n->op]);
			put_literal(b, &n->value);
		}
		break;
	default:
		buf_printf(b, "(");
		put_text(r, b, m, n->left);
		buf_printf(b, n->kind == '&' ? ") and (" : ") or (");
		put_text(r, b, m, n->right);
		buf_printf(b, ")");
	}
}

/* By hand, type by type: nothing of this is shared with the code under test. */
static bool model_compare(const struct edm_value *s, const struct edm_value *l, int op)
{
	int c;
	bool widened = l->type == EDM_INT32 && (s->type == EDM_INT64 || s->type == EDM_DOUBLE);
	if (s->type != l->type && !widened)
		return false;
	if (s->type == EDM_DOUBLE) {
		double x = s->number, y = widened ? (double)l->integer : l->number;
		if (isnan(x) || isnan(y))
			return false;
		c = x < y ? -1 : x > y;
	} else if (s->type == EDM_INT32 || s->type == EDM_INT64) {
		c = s->integer < l->integer ? -1 : s->integer > l->integer;
	} else if (s->type == EDM_BOOLEAN) {
		c = (int)s->boolean - (int)l->boolean;
	} else if (s->type == EDM_DATETIME) {
		c = s->ticks < l->ticks ? -1 : s->ticks > l->ticks;
	} else {
		size_t n = s->bytes.len < l->bytes.len ? s->bytes.len : l->bytes.len;
		c = n ? memcmp(s->bytes.ptr, l->bytes.ptr, n) : 0;
		if (c == 0)
			c = s->bytes.len < l->bytes.len ? -1 : s->bytes.len > l->bytes.len;
	}
	bool holds[] = { c == 0, c != 0, c > 0, c >= 0, c < 0, c <= 0 };
	return holds[op];
}

static bool model_eval(const struct model_filter *m, int at, const struct model_entity *e)
{
	const struct model_node *n = &m->node[at];
	struct edm_value key = { .type = EDM_STRING };
	const struct edm_value *v = &key;
	switch (n->kind) {
	case '&':
		return model_eval(m, n->left, e) && model_eval(m, n->right, e);
	case '|':
		return model_eval(m, n->left, e) || model_eval(m, n->right, e);
	case '!':
		return !model_eval(m, n->left, e);
	}
	if (n->property < 0)
		key.bytes = slice_str(n->property == -1 ? e->pk : e->rk);
	else
		v = &e->value[n->property];
	if (n->kind == '?')
		return v->type == EDM_BOOLEAN && v->boolean;
	return model_compare(v, &n->value, n->op);
}

static int by_keys(const void *a, const void *b)
{
	const struct model_entity *x = a, *y = b;
	int c = strcmp(x->pk, y->pk);
	return c ? c : strcmp(x->rk, y->rk);
}

static size_t model_fill(struct rng *r, struct model_entity *e, struct arena *arena)
{
	size_t n = 0;
	for (int i = 0; i < MODEL_ENTITIES; i++) {
		random_entity(r, &e[n], arena);
		bool known = false;
		for (size_t j = 0; j < n; j++)
			known |= by_keys(&e[j], &e[n]) == 0;
		n += !known;
	}
	qsort(e, n, sizeof *e, by_keys);
	/* Sorting moved what the values point to. */
	for (size_t i = 0; i < n; i++)
		for (int p = 0; p < MODEL_PROPERTIES; p++)
			if (e[i].value[p].type == EDM_STRING || e[i].value[p].type == EDM_BINARY ||
			    e[i].value[p].type == EDM_GUID)
				e[i].value[p].bytes.ptr = e[i].bytes[p];
	return n;
}

static struct filter *random_filter(struct rng *r, struct model_filter *m, struct arena *arena, struct buf *text)
{
	struct filter *f = NULL;
	size_t position;
	*m = (struct model_filter){ 0 };
	random_node(r, m, 4);
	buf_clear(text);
	put_text(r, text, m, 0);
	enum err e = filter_parse(buf_slice(text), arena, &f, &position);
	if (e == ERR_LIMIT)
		return NULL;
	if (e)
		print_message("%.*s at %zu\n", SLICE_FMT(buf_slice(text)), position);
	assert_int_equal(e, ERR_OK);
	return f;
}

static bool plan_covers(const struct plan *p, struct slice key)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct plan_range *g = &p->range[i];
		if (g->point ? slice_eq(key, g->from) : slice_cmp(key, g->from) >= 0 && slice_cmp(key, g->until) < 0)
			return true;
	}
	return false;
}

static void test_against_model(void **state)
{
	static struct model_entity e[MODEL_ENTITIES];
	struct arena arena, scratch;
	struct rng r;
	struct buf text;
	struct model_filter m;
	uint64_t matched = 0, narrow = 0;
	rng_init_seed(&r, 20);
	arena_init(&arena, 64 * MIB);
	arena_init(&scratch, MIB);
	buf_init(&text, MIB);
	size_t count = model_fill(&r, e, &arena);
	for (int round = 0; round < 20000; round++) {
		arena_reset(&scratch);
		struct filter *f = random_filter(&r, &m, &scratch, &text);
		struct plan plan;
		if (!f)
			continue;
		assert_int_equal(plan_make(f, &scratch, &plan), ERR_OK);
		for (size_t i = 0; i < count; i++) {
			struct entity x = { slice_str(e[i].pk), slice_str(e[i].rk), 1, e[i].properties };
			bool got, want = model_eval(&m, 0, &e[i]), covered = plan_covers(&plan, e[i].key);
			assert_int_equal(filter_match(f, &x, &got), ERR_OK);
			if (got != want || (want && !covered))
				print_message("%.*s on '%s','%s': %d, model %d, covered %d\n",
					      SLICE_FMT(buf_slice(&text)), e[i].pk, e[i].rk, got, want, covered);
			assert_int_equal(got, want);
			assert_true(covered || !want);
			matched += want;
			narrow += !covered;
		}
	}
	/* The test would prove nothing if filters never matched or plans never excluded. */
	assert_true(matched > 100000 && narrow > 100000);
	buf_fini(&text);
	arena_fini(&scratch);
	arena_fini(&arena);
}

/* ---- Plans ---- */

static void test_plan_names(void **state)
{
	static const struct {
		const char *filter, *name;
		size_t ranges;
	} cases[] = {
		{ "PartitionKey eq 'p' and RowKey eq 'r'", "point", 1 },
		{ "RowKey eq 'r' and x gt 5 and PartitionKey eq 'p'", "point", 1 },
		{ "PartitionKey eq 'p' and (RowKey eq 'r' or RowKey eq 's')", "points", 2 },
		{ "(PartitionKey eq 'p' and RowKey eq 'r') or (PartitionKey eq 'q' and RowKey eq 's')", "points", 2 },
		{ "PartitionKey eq 'p'", "range pk", 1 },
		{ "PartitionKey eq 'p' and RowKey ge 'a' and RowKey lt 'b'", "range pk", 1 },
		{ "PartitionKey eq 'p' or PartitionKey eq 'q'", "range pk", 2 },
		{ "not (PartitionKey ne 'p')", "range pk", 1 },
		{ "PartitionKey gt 'p'", "range", 1 },
		{ "PartitionKey ge 'p' and PartitionKey lt 'q' and x eq 1", "range", 1 },
		{ "not (PartitionKey lt 'p' or PartitionKey gt 'q')", "range", 1 },
		{ "RowKey eq 'r'", "scan", 1 },
		{ "x eq 1", "scan", 1 },
		{ "PartitionKey eq 'p' or x eq 1", "scan", 1 },
		{ "PartitionKey eq 'p' and PartitionKey eq 'q'", "none", 0 },
		{ "PartitionKey eq 5", "none", 0 },
		{ "PartitionKey gt 'p' and PartitionKey lt 'p'", "none", 0 },
	};
	struct arena arena;
	arena_init(&arena, MIB);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct filter *f;
		struct plan plan;
		size_t position;
		assert_int_equal(filter_parse(slice_str(cases[i].filter), &arena, &f, &position), ERR_OK);
		assert_int_equal(plan_make(f, &arena, &plan), ERR_OK);
		assert_string_equal(plan.name, cases[i].name);
		assert_int_equal(plan.count, cases[i].ranges);
	}
	struct plan all;
	assert_int_equal(plan_make(NULL, &arena, &all), ERR_OK);
	assert_string_equal(all.name, "scan");
	arena_fini(&arena);
}

/* ---- Pages over a store ---- */

struct bench {
	struct clock clock;
	struct engine *engine;
	struct store *store;
	struct arena arena;
	struct slice partition;
	struct key partition_key;
};

static enum err open_generation(struct txn *txn, void *call)
{
	return generation_open(txn);
}

static void bench_open(struct bench *b)
{
	memset(b, 0, sizeof *b);
	clock_init_fake(&b->clock, UINT64_C(639000000000000000));
	arena_init(&b->arena, 64 * MIB);
	assert_int_equal(engine_mem_open(NULL, &b->engine), ERR_OK);
	struct store_options so = { .clock = &b->clock };
	assert_int_equal(store_open(b->engine, &so, &b->store), ERR_OK);
	key_partition(&b->partition_key, SLICE("acc"), 't', 7);
	b->partition = key_slice(&b->partition_key);
	assert_int_equal(store_write_wait(b->store, b->partition, open_generation, NULL, &b->arena), ERR_OK);
}

struct sink {
	struct model_entity *e;
	size_t *found;
	size_t count, full_at, total;
	unsigned expires; /* after so many scans; 0 = never */
};

static enum err sink_emit(void *arg, const struct entity *x, bool *ret_full)
{
	struct sink *s = arg;
	for (size_t i = 0; i < s->total; i++)
		if (slice_eq(x->partition_key, slice_str(s->e[i].pk)) && slice_eq(x->row_key, slice_str(s->e[i].rk))) {
			assert_true(slice_eq(x->properties, s->e[i].properties));
			s->found[s->count++] = i;
			*ret_full = s->full_at && s->count % s->full_at == 0;
			return ERR_OK;
		}
	fail_msg("an entity nobody put");
	return ERR_CORRUPT;
}

static bool sink_expired(void *arg)
{
	struct sink *s = arg;
	return s->expires && --s->expires == 0;
}

static void test_pages(void **state)
{
	static struct model_entity e[MODEL_ENTITIES];
	static struct bench b;
	static struct table_query q;
	struct rng r;
	struct buf text;
	struct model_filter m;
	struct arena scratch;
	rng_init_seed(&r, 21);
	bench_open(&b);
	arena_init(&scratch, 16 * MIB);
	buf_init(&text, MIB);
	size_t count = model_fill(&r, e, &b.arena), multi = 0;
	for (size_t i = 0; i < count; i++) {
		struct entity_write w = { .action = ENTITY_INSERT,
					  .key = e[i].key,
					  .partition_key = slice_str(e[i].pk),
					  .row_key = slice_str(e[i].rk),
					  .properties = e[i].properties };
		struct entity_batch batch = { .write = &w, .count = 1 };
		assert_int_equal(store_write_wait(b.store, b.partition, entity_write_apply, &batch, &b.arena), ERR_OK);
	}
	for (int round = 0; round < 2000; round++) {
		size_t found[MODEL_ENTITIES + 1], want = 0, pages = 0;
		arena_reset(&scratch);
		struct filter *f = round % 10 ? random_filter(&r, &m, &scratch, &text) : NULL;
		struct plan plan;
		if (round % 10 && !f)
			continue;
		assert_int_equal(plan_make(f, &scratch, &plan), ERR_OK);
		struct sink s = { .e = e, .found = found, .total = count, .full_at = rng_below(&r, 4) ? 0 : 3 };
		struct slice from = SLICE_NONE;
		do {
			q = (struct table_query){ .filter = f,
						  .plan = &plan,
						  .from = from,
						  .limit = 1 + rng_below(&r, 40),
						  .emit = sink_emit,
						  .expired = sink_expired,
						  .arg = &s };
			s.expires = (unsigned)rng_below(&r, 2);
			assert_int_equal(store_read(b.store, b.partition, table_query_apply, &q, &scratch), ERR_OK);
			assert_true(q.matched <= q.limit);
			if (q.more) {
				struct key k;
				entity_key(&k, q.next_partition_key, q.next_row_key);
				from = arena_dup(&scratch, key_slice(&k));
			}
			pages++;
		} while (q.more && pages < 1000);
		for (size_t i = 0; i < count; i++)
			if (!f || model_eval(&m, 0, &e[i])) {
				assert_true(want < s.count);
				assert_int_equal(found[want++], i);
			}
		assert_int_equal(want, s.count);
		multi += pages > 1;
	}
	assert_true(multi > 200);
	buf_fini(&text);
	arena_fini(&scratch);
	store_close(b.store);
	arena_fini(&b.arena);
}

static enum err close_generation(struct txn *txn, void *call)
{
	return generation_close(txn);
}

/* Its rows go one after another, behind its back. */
static void test_deleted_table(void **state)
{
	static struct bench b;
	static struct table_query q;
	struct plan plan;
	bench_open(&b);
	assert_int_equal(plan_make(NULL, &b.arena, &plan), ERR_OK);
	struct sink s = { .total = 0 };
	q = (struct table_query){ .plan = &plan, .limit = 1, .emit = sink_emit, .arg = &s };
	assert_int_equal(store_read(b.store, b.partition, table_query_apply, &q, &b.arena), ERR_OK);
	assert_int_equal(store_write_wait(b.store, b.partition, close_generation, NULL, &b.arena), ERR_OK);
	assert_int_equal(store_read(b.store, b.partition, table_query_apply, &q, &b.arena), ERR_TABLE_NOT_FOUND);
	store_close(b.store);
	arena_fini(&b.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grammar),	      cmocka_unit_test(test_syntax_errors),
		cmocka_unit_test(test_limits),	      cmocka_unit_test(test_against_model),
		cmocka_unit_test(test_plan_names),    cmocka_unit_test(test_pages),
		cmocka_unit_test(test_deleted_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

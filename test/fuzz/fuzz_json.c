/* SPDX-License-Identifier: Apache-2.0
 * JSON: a tree that was read is written and read again; any bytes can be written as a string. */
#include "wire/json.h"

#include <math.h>

#include "base/limits.h"
#include "fuzz.h"

static void put_node(struct json_out *o, const struct json_node *n)
{
	if (slice_is_set(n->name))
		json_name(o, n->name);
	switch (n->kind) {
	case JSON_NULL:
		json_null(o);
		break;
	case JSON_BOOL:
	case JSON_NUMBER:
		json_raw(o, n->text);
		break;
	case JSON_STRING:
		json_string(o, n->text);
		break;
	case JSON_OBJECT:
	case JSON_ARRAY:
		if (n->kind == JSON_OBJECT)
			json_object_begin(o);
		else
			json_array_begin(o);
		for (const struct json_node *c = n->child; c; c = c->next)
			put_node(o, c);
		if (n->kind == JSON_OBJECT)
			json_object_end(o);
		else
			json_array_end(o);
	}
}

static void check_same(const struct json_node *a, const struct json_node *b)
{
	CHECK(a->kind == b->kind && slice_eq(a->name, b->name) && slice_eq(a->text, b->text));
	CHECK(slice_is_set(a->name) == slice_is_set(b->name));
	double v, again;
	if (a->kind == JSON_NUMBER && json_number_to_double(a->text, &v)) {
		struct buf t;
		buf_init(&t, 256);
		json_put_double(&t, v);
		CHECK(json_number_to_double(buf_slice(&t), &again) && memcmp(&v, &again, sizeof v) == 0);
		buf_fini(&t);
	}
	const struct json_node *x = a->child, *y = b->child;
	for (; x && y; x = x->next, y = y->next)
		check_same(x, y);
	CHECK(!x && !y);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice s = slice_make(data, size);
	struct arena arena;
	struct buf b;
	struct json_node *root, *again;
	struct json_member *members;
	size_t count;
	arena_init(&arena, 32 << 20);
	buf_init(&b, 32 << 20);
	if (json_parse(s, &arena, LIMIT_JSON_DEPTH, &root) == ERR_OK) {
		struct json_out o = json_out_make(&b);
		put_node(&o, root);
		CHECK(buf_ok(&b) && json_parse(buf_slice(&b), &arena, LIMIT_JSON_DEPTH, &again) == ERR_OK);
		check_same(root, again);
	}
	if (json_parse_flat(s, &arena, &members, &count) == ERR_OK) {
		CHECK(count <= LIMIT_JSON_VALUES);
		for (size_t i = 0; i < count; i++)
			CHECK(slice_is_set(members[i].name) && members[i].kind < JSON_OBJECT);
	}
	buf_clear(&b);
	json_put_string(&b, s);
	CHECK(buf_ok(&b) && json_parse(buf_slice(&b), &arena, 0, &root) == ERR_OK && root->kind == JSON_STRING);
	/* An arena that ends early is an error and nothing else. */
	struct arena tiny;
	arena_init(&tiny, size * 7 % 4096);
	enum err e = json_parse(s, &tiny, LIMIT_JSON_DEPTH, &root);
	CHECK(e == ERR_OK || e == ERR_SYNTAX || e == ERR_NO_MEMORY);
	arena_fini(&tiny);
	buf_fini(&b);
	arena_fini(&arena);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 * JSON: a tree that was read is written and read again; any bytes can be written as a string. */
#include "wire/json.h"

#include <math.h>

#include "base/limits.h"
#include "fuzz.h"

static void put_string(struct buf *b, struct slice s)
{
	BUF_PUT(b, "\"");
	json_put_text(b, s);
	BUF_PUT(b, "\"");
}

static void put_node(struct buf *b, const struct json_node *n)
{
	if (slice_is_set(n->name)) {
		put_string(b, n->name);
		BUF_PUT(b, ":");
	}
	switch (n->kind) {
	case JSON_NULL:
		BUF_PUT(b, "null");
		break;
	case JSON_BOOL:
	case JSON_NUMBER:
		buf_put(b, n->text);
		break;
	case JSON_STRING:
		put_string(b, n->text);
		break;
	case JSON_OBJECT:
	case JSON_ARRAY:
		buf_put_byte(b, n->kind == JSON_OBJECT ? '{' : '[');
		for (const struct json_node *c = n->child; c; c = c->next) {
			put_node(b, c);
			if (c->next)
				BUF_PUT(b, ",");
		}
		buf_put_byte(b, n->kind == JSON_OBJECT ? '}' : ']');
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
		put_node(&b, root);
		CHECK(buf_ok(&b) && json_parse(buf_slice(&b), &arena, LIMIT_JSON_DEPTH, &again) == ERR_OK);
		check_same(root, again);
	}
	if (json_parse_flat(s, &arena, &members, &count) == ERR_OK) {
		CHECK(count <= LIMIT_JSON_VALUES);
		for (size_t i = 0; i < count; i++)
			CHECK(slice_is_set(members[i].name) && members[i].kind < JSON_OBJECT);
	}
	buf_clear(&b);
	put_string(&b, s);
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

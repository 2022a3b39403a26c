/* SPDX-License-Identifier: Apache-2.0
 * XML: a tree that was read is written and read again; any bytes can be written as text and the result is well-formed.
 */
#include "wire/xml.h"

#include "base/limits.h"
#include "fuzz.h"

static struct slice terminated(struct slice s, char *dst, size_t cap)
{
	size_t n = s.len < cap - 1 ? s.len : cap - 1;
	memcpy(dst, s.ptr, n);
	dst[n] = '\0';
	return slice_make(dst, n);
}

/* Attributes beyond the first are dropped: the writer has one at most. Returns false if a name is too long to write. */
static bool put_node(struct buf *b, struct xml_node *n, unsigned depth)
{
	char name[256], attr[256];
	CHECK(depth <= LIMIT_XML_DEPTH && n->name.len && slice_find_byte(n->name, ':') == n->name.len);
	if (terminated(n->name, name, sizeof name).len != n->name.len)
		return false;
	if (n->attrs) {
		n->attrs->next = NULL;
		if (terminated(n->attrs->name, attr, sizeof attr).len != n->attrs->name.len)
			return false;
		xml_open_attr(b, name, attr, n->attrs->value);
	} else {
		xml_open(b, name);
	}
	CHECK(!n->child || n->text.len == 0);
	xml_put_text(b, n->text);
	for (struct xml_node *c = n->child; c; c = c->next)
		if (!put_node(b, c, depth + 1))
			return false;
	xml_close(b, name);
	return true;
}

static void check_same(const struct xml_node *a, const struct xml_node *b)
{
	CHECK(slice_eq(a->name, b->name) && slice_eq(a->text, b->text) && !a->attrs == !b->attrs);
	if (a->attrs)
		CHECK(slice_eq(a->attrs->name, b->attrs->name) && slice_eq(a->attrs->value, b->attrs->value));
	const struct xml_node *x = a->child, *y = b->child;
	for (; x && y; x = x->next, y = y->next)
		check_same(x, y);
	CHECK(!x && !y);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice s = slice_make(data, size), text = SLICE_NONE;
	struct arena arena;
	struct buf b;
	struct xml_node *root, *again;
	struct xml_error error = { 0 };
	arena_init(&arena, LIMIT_REQUEST_ARENA_BYTES);
	buf_init(&b, LIMIT_SMALL_BODY_BYTES);
	enum err e = xml_parse(s, &arena, &root, &error);
	CHECK(e == ERR_OK || e == ERR_SYNTAX || e == ERR_NO_MEMORY);
	CHECK(e != ERR_SYNTAX || error.reason.len);
	xml_begin(&b);
	if (e == ERR_OK && put_node(&b, root, 1)) {
		CHECK(buf_ok(&b) && xml_parse(buf_slice(&b), &arena, &again, &error) == ERR_OK);
		check_same(root, again);
	}
	buf_clear(&b);
	xml_begin(&b);
	xml_open_attr(&b, "r", "a", s);
	xml_put(&b, "t", s);
	xml_put_name(&b, "n", s);
	xml_close(&b, "r");
	if (buf_ok(&b) && size < 1 << 20) {
		CHECK(xml_parse(buf_slice(&b), &arena, &root, &error) == ERR_OK);
		if (xml_is_legal(s))
			CHECK(xml_child_text(root, "t", &text) == ERR_OK && slice_eq(text, s) &&
			      slice_eq(xml_attr(root, "a"), s));
		else
			CHECK(slice_eq(xml_attr(xml_child(root, "n"), "Encoded"), SLICE("true")));
	}
	buf_fini(&b);
	arena_fini(&arena);
	return 0;
}

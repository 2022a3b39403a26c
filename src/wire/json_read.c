/* SPDX-License-Identifier: Apache-2.0
 * yajl's events build the tree. yajl does not survive an allocation that fails, so its memory comes from the arena and
 * a refusal there jumps straight out of it; the arena owns everything, nothing leaks. */
#include <math.h>
#include <setjmp.h>
#include <yajl/yajl_parse.h>

#include "base/limits.h"
#include "wire/chars.h"
#include "wire/json.h"

struct reader {
	struct arena *arena;
	struct slice document;
	struct json_node *root;
	struct json_node *stack[LIMIT_JSON_DEPTH];
	unsigned depth, max_depth;
	size_t values;
	struct slice name; /* of the next member */
	bool no_memory;
	jmp_buf out_of_memory;
};

/* Blocks carry their size in front, for realloc; 16 bytes keep the alignment. */
enum { BLOCK_HEAD_BYTES = 16 };

static void *block_alloc(void *arg, size_t bytes)
{
	struct reader *r = arg;
	char *p = bytes <= SIZE_MAX - BLOCK_HEAD_BYTES ? arena_alloc(r->arena, bytes + BLOCK_HEAD_BYTES) : NULL;
	if (!p) {
		r->no_memory = true;
		longjmp(r->out_of_memory, 1);
	}
	memcpy(p, &bytes, sizeof bytes);
	return p + BLOCK_HEAD_BYTES;
}

static void *block_realloc(void *arg, void *old, size_t bytes)
{
	size_t old_bytes = 0;
	if (old) {
		memcpy(&old_bytes, (char *)old - BLOCK_HEAD_BYTES, sizeof old_bytes);
		if (bytes <= old_bytes)
			return old;
	}
	void *p = block_alloc(arg, bytes);
	if (old)
		memcpy(p, old, old_bytes);
	return p;
}

static void block_free(void *arg, void *p)
{
}

/* What stands in the document as it is needs no copy. */
static struct slice keep(struct reader *r, const void *ptr, size_t len)
{
	uintptr_t at = (uintptr_t)ptr, begin = (uintptr_t)r->document.ptr;
	struct slice s = slice_make(len ? ptr : "", len);
	if (len && (at < begin || at >= begin + r->document.len)) {
		s = arena_dup(r->arena, s);
		r->no_memory |= !slice_is_set(s);
	}
	return s;
}

static struct json_node *add(struct reader *r, enum json_kind kind)
{
	if (++r->values > LIMIT_JSON_VALUES)
		return NULL;
	struct json_node *n = ARENA_NEW(r->arena, struct json_node);
	if (!n) {
		r->no_memory = true;
		return NULL;
	}
	n->kind = kind;
	n->name = r->name;
	r->name = SLICE_NONE;
	if (r->depth == 0) {
		r->root = n;
		return n;
	}
	struct json_node *parent = r->stack[r->depth - 1];
	if (parent->last_child)
		parent->last_child->next = n;
	else
		parent->child = n;
	parent->last_child = n;
	return n;
}

static int add_text(struct reader *r, enum json_kind kind, const void *ptr, size_t len)
{
	struct json_node *n = add(r, kind);
	if (!n)
		return 0;
	n->text = keep(r, ptr, len);
	return slice_is_set(n->text);
}

static int on_null(void *arg)
{
	return add(arg, JSON_NULL) != NULL;
}

static int on_boolean(void *arg, int v)
{
	struct json_node *n = add(arg, JSON_BOOL);
	if (n)
		n->text = v ? SLICE("true") : SLICE("false");
	return n != NULL;
}

static int on_number(void *arg, const char *ptr, size_t len)
{
	return add_text(arg, JSON_NUMBER, ptr, len);
}

static int on_string(void *arg, const unsigned char *ptr, size_t len)
{
	return add_text(arg, JSON_STRING, ptr, len);
}

static int on_name(void *arg, const unsigned char *ptr, size_t len)
{
	struct reader *r = arg;
	r->name = keep(r, ptr, len);
	return slice_is_set(r->name);
}

static int begin(struct reader *r, enum json_kind kind)
{
	struct json_node *n = r->depth < r->max_depth ? add(r, kind) : NULL;
	if (!n)
		return 0;
	r->stack[r->depth++] = n;
	return 1;
}

static int on_object(void *arg)
{
	return begin(arg, JSON_OBJECT);
}

static int on_array(void *arg)
{
	return begin(arg, JSON_ARRAY);
}

static int on_end(void *arg)
{
	struct reader *r = arg;
	r->depth--;
	return 1;
}

/* \uXXXX at p; -1 if it is none. */
static int escape_at(const char *p, const char *end)
{
	int v = 0;
	if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
		return -1;
	for (int i = 2; i < 6; i++) {
		int d = char_hex(p[i]);
		if (d < 0)
			return -1;
		v = v << 4 | d;
	}
	return v;
}

/* yajl reads half a surrogate pair as '?' or as bytes that are no UTF-8; nobody should store either. */
static bool surrogates_paired(struct slice document)
{
	const char *p = document.ptr, *end = document.ptr + document.len;
	while (p < end && (p = memchr(p, '\\', (size_t)(end - p)))) {
		int v = escape_at(p, end);
		if (v < 0xd800 || v > 0xdfff) {
			p += v >= 0 ? 6 : end - p > 1 ? 2 : 1;
			continue;
		}
		int low = v < 0xdc00 ? escape_at(p + 6, end) : -1;
		if (low < 0xdc00 || low > 0xdfff)
			return false;
		p += 12;
	}
	return true;
}

static bool run_parser(struct reader *r)
{
	static const yajl_callbacks events = {
		.yajl_null = on_null,
		.yajl_boolean = on_boolean,
		.yajl_number = on_number,
		.yajl_string = on_string,
		.yajl_start_map = on_object,
		.yajl_map_key = on_name,
		.yajl_end_map = on_end,
		.yajl_start_array = on_array,
		.yajl_end_array = on_end,
	};
	yajl_alloc_funcs memory = { block_alloc, block_realloc, block_free, r };
	if (setjmp(r->out_of_memory))
		return false;
	yajl_handle parser = yajl_alloc(&events, &memory, r);
	yajl_config(parser, yajl_dont_validate_strings, 1); /* done before, and stricter */
	return yajl_parse(parser, (const unsigned char *)r->document.ptr, r->document.len) == yajl_status_ok &&
	       yajl_complete_parse(parser) == yajl_status_ok && r->root;
}

enum err json_parse(struct slice document, struct arena *arena, unsigned max_depth, struct json_node **ret)
{
	if (document.len > LIMIT_SMALL_BODY_BYTES)
		return ERR_SYNTAX;
	if (slice_has_prefix(document, SLICE("\xef\xbb\xbf")))
		document = slice_from(document, 3);
	if (!char_utf8_valid(document) || !surrogates_paired(document))
		return ERR_SYNTAX;
	struct reader r = { .arena = arena, .document = document };
	r.max_depth = max_depth < LIMIT_JSON_DEPTH ? max_depth : LIMIT_JSON_DEPTH;
	if (!run_parser(&r))
		return r.no_memory ? ERR_NO_MEMORY : ERR_SYNTAX;
	*ret = r.root;
	return ERR_OK;
}

enum err json_parse_flat(struct slice document, struct arena *arena, struct json_member **ret, size_t *ret_count)
{
	struct json_node *root;
	TRY(json_parse(document, arena, 1, &root));
	if (root->kind != JSON_OBJECT)
		return ERR_SYNTAX;
	size_t count = 0;
	for (struct json_node *n = root->child; n; n = n->next)
		count++;
	struct json_member *members = ARENA_NEW_ARRAY(arena, struct json_member, count);
	if (!members)
		return ERR_NO_MEMORY;
	size_t i = 0;
	for (struct json_node *n = root->child; n; n = n->next)
		members[i++] = (struct json_member){ n->name, n->kind, n->text };
	*ret = members;
	*ret_count = count;
	return ERR_OK;
}

struct json_node *json_member(const struct json_node *node, const char *name)
{
	struct slice wanted = slice_str(name);
	if (!node || node->kind != JSON_OBJECT)
		return NULL;
	struct json_node *n = node->child;
	while (n && !slice_eq(n->name, wanted))
		n = n->next;
	return n;
}

struct slice json_member_string(const struct json_node *node, const char *name)
{
	struct json_node *n = json_member(node, name);
	return n && n->kind == JSON_STRING ? n->text : SLICE_NONE;
}

bool json_number_to_double(struct slice text, double *ret)
{
	char copy[512];
	char *end;
	if (text.len == 0 || text.len >= sizeof copy)
		return false;
	memcpy(copy, text.ptr, text.len);
	copy[text.len] = '\0';
	if (strspn(copy, "0123456789+-.eE") != text.len) /* strtod reads more: 0x1F, nan */
		return false;
	double v = strtod(copy, &end);
	if (end != copy + text.len || isinf(v) || isnan(v))
		return false;
	*ret = v;
	return true;
}

bool json_number_is_integer(struct slice text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] == '.' || text.ptr[i] == 'e' || text.ptr[i] == 'E')
			return false;
	return true;
}

/* SPDX-License-Identifier: Apache-2.0
 * Histories: words to numbers, lines in and out, and the check of every key. Names (values, ETags, lease and message
 * ids) are numbered from 1 within their key, in the order they appear. Memory is not bounded here: this is a tool of
 * tests. */
#include "linear_int.h"

#include <assert.h>

struct name {
	unsigned key;
	unsigned number;
	struct slice text;
};

struct key_entry {
	struct slice text;
	const struct linear_model *model;
	unsigned names;
	size_t ops;
};

struct linear_history {
	struct linear_op *ops;
	size_t count, cap;
	struct key_entry *keys;
	size_t key_count, key_cap;
	struct name *names; /* hashed; text.ptr NULL = free. Keys are names of key 0. */
	size_t name_count, name_cap;
};

static const struct linear_model *const models[] = { &linear_blob,  &linear_entity, &linear_pair,
						     &linear_queue, &linear_lease,  &linear_file };
static const char *const status_text[] = { "ok", "404", "409", "412", "unknown" };

static void *need(void *p)
{
	if (!p)
		abort();
	return p;
}

static char *dup_text(struct slice s)
{
	char *p = need(malloc(s.len + 1));
	memcpy(p, s.ptr, s.len);
	p[s.len] = 0;
	return p;
}

static size_t name_slot(const struct linear_history *h, unsigned key, struct slice text)
{
	uint64_t hash = UINT64_C(1469598103934665603) ^ key;
	for (size_t i = 0; i < text.len; i++)
		hash = (hash ^ (unsigned char)text.ptr[i]) * UINT64_C(1099511628211);
	size_t at = (hash ^ hash >> 29) & (h->name_cap - 1);
	while (h->names[at].text.ptr && (h->names[at].key != key || !slice_eq(h->names[at].text, text)))
		at = (at + 1) & (h->name_cap - 1);
	return at;
}

static void names_grow(struct linear_history *h)
{
	struct name *old = h->names;
	size_t old_cap = h->name_cap;
	h->name_cap = old_cap ? old_cap * 2 : 256;
	h->names = need(calloc(h->name_cap, sizeof *h->names));
	for (size_t i = 0; i < old_cap; i++)
		if (old[i].text.ptr)
			h->names[name_slot(h, old[i].key, old[i].text)] = old[i];
	free(old);
}

/* The number of a name of `key`; a new one gets `next`. */
static unsigned name_number(struct linear_history *h, unsigned key, struct slice text, unsigned next)
{
	if (h->name_count * 2 >= h->name_cap)
		names_grow(h);
	size_t at = name_slot(h, key, text);
	if (!h->names[at].text.ptr) {
		h->names[at] = (struct name){ key, next, slice_make(dup_text(text), text.len) };
		h->name_count++;
	}
	return h->names[at].number;
}

static unsigned key_number(struct linear_history *h, struct slice key)
{
	struct slice rest = key, prefix = slice_cut(&rest, ':');
	const struct linear_model *model = NULL;
	for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
		if (slice_is_set(rest) && slice_eq(prefix, slice_str(models[i]->name)))
			model = models[i];
	if (!model)
		return 0;
	unsigned n = name_number(h, 0, key, (unsigned)h->key_count + 1);
	if (n > h->key_count) {
		if (h->key_count == h->key_cap) {
			h->key_cap = h->key_cap ? h->key_cap * 2 : 16;
			h->keys = need(realloc(h->keys, h->key_cap * sizeof *h->keys));
		}
		h->keys[h->key_count++] =
			(struct key_entry){ .text = slice_make(dup_text(key), key.len), .model = model };
	}
	return n;
}

static bool word_number(struct linear_history *h, unsigned key, bool number, struct slice word, uint64_t *ret)
{
	struct key_entry *k = &h->keys[key - 1];
	int64_t signed_number;
	if (word.len && word.ptr[0] == '#') {
		number = true;
		word = slice_from(word, 1);
	}
	if (number) {
		bool fine = slice_to_i64(word, &signed_number);
		*ret = fine ? (uint64_t)signed_number : 0;
		return fine;
	}
	if (word.len == 0)
		return false;
	unsigned n = name_number(h, key, word, k->names + 1);
	if (n > k->names)
		k->names = n;
	*ret = n;
	return true;
}

/* "LO..HI" */
static bool parse_window(struct slice value, struct linear_op *op)
{
	struct slice lo = slice_cut(&value, '.');
	return slice_to_u64(lo, &op->at_lo) && slice_is_set(value) && value.len > 1 && value.ptr[0] == '.' &&
	       slice_to_u64(slice_from(value, 1), &op->at_hi) && op->at_lo <= op->at_hi;
}

static bool parse_args(struct linear_history *h, const struct linear_model *model, struct linear_op *op,
		       struct slice args)
{
	if (slice_eq(args, SLICE("-")))
		return true;
	while (slice_is_set(args)) {
		struct slice value = slice_cut(&args, ','), name = slice_cut(&value, '=');
		size_t i = 0;
		if (slice_eq(name, SLICE("at"))) {
			if (!slice_is_set(value) || !parse_window(value, op))
				return false;
			continue;
		}
		while (i < LINEAR_ARGS && model->ops[op->kind].arg[i] &&
		       !slice_eq(name, slice_str(model->ops[op->kind].arg[i])))
			i++;
		if (i == LINEAR_ARGS || !model->ops[op->kind].arg[i] || !slice_is_set(value) ||
		    !word_number(h, op->key, model->ops[op->kind].numbers, value, &op->arg[i]))
			return false;
		op->given |= 1u << i;
	}
	return true;
}

static bool parse_result(struct linear_history *h, const struct linear_model *model, struct linear_op *op,
			 struct slice result)
{
	struct slice word = slice_cut(&result, ',');
	size_t s = 0;
	while (s < 5 && !slice_eq(word, slice_str(status_text[s])))
		s++;
	if (s == 5)
		return false;
	op->status = (enum linear_status)s;
	for (size_t i = 0; i < 2 && slice_is_set(result); i++)
		if (!word_number(h, op->key, model->ops[op->kind].numbers, slice_cut(&result, ','), &op->got[i]))
			return false;
	return !slice_is_set(result);
}

struct linear_history *linear_history_new(void)
{
	return need(calloc(1, sizeof(struct linear_history)));
}

void linear_history_free(struct linear_history *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < h->count; i++)
		free(h->ops[i].text);
	for (size_t i = 0; i < h->key_count; i++)
		free((char *)(uintptr_t)h->keys[i].text.ptr);
	for (size_t i = 0; i < h->name_cap; i++)
		free((char *)(uintptr_t)h->names[i].text.ptr);
	free(h->ops);
	free(h->keys);
	free(h->names);
	free(h);
}

static char *line_new(unsigned client, struct slice op, struct slice key, struct slice args, uint64_t call,
		      uint64_t ret, struct slice result)
{
	char *line, end[24];
	snprintf(end, sizeof end, "%llu", (unsigned long long)ret);
	int n = asprintf(&line, "%u %.*s %.*s %.*s %llu %s %.*s", client, SLICE_FMT(op), SLICE_FMT(key),
			 SLICE_FMT(args), (unsigned long long)call, ret == LINEAR_NEVER ? "-" : end, SLICE_FMT(result));
	if (n < 0)
		abort();
	return line;
}

enum err linear_history_add(struct linear_history *h, unsigned client, struct slice op, struct slice key,
			    struct slice args, uint64_t call_ns, uint64_t return_ns, struct slice result)
{
	struct linear_op o = {
		.client = client, .key = key_number(h, key), .call = call_ns, .ret = return_ns, .at_hi = UINT64_MAX
	};
	if (!o.key || return_ns < call_ns)
		return ERR_SYNTAX;
	const struct linear_model *model = h->keys[o.key - 1].model;
	while (o.kind < LINEAR_OPS && model->ops[o.kind].op && !slice_eq(op, slice_str(model->ops[o.kind].op)))
		o.kind++;
	if (o.kind == LINEAR_OPS || !model->ops[o.kind].op)
		return ERR_SYNTAX;
	if (return_ns == LINEAR_NEVER)
		result = SLICE("unknown");
	if (!parse_args(h, model, &o, args) || !parse_result(h, model, &o, result))
		return ERR_SYNTAX;
	if (o.status == STATUS_UNKNOWN)
		o.ret = LINEAR_NEVER;
	if (h->count == h->cap) {
		h->cap = h->cap ? h->cap * 2 : 64;
		h->ops = need(realloc(h->ops, h->cap * sizeof *h->ops));
	}
	o.text = line_new(client, op, key, args, call_ns, o.ret, result);
	h->keys[o.key - 1].ops++;
	h->ops[h->count++] = o;
	return ERR_OK;
}

enum err linear_history_add_line(struct linear_history *h, struct slice line)
{
	struct slice field[7];
	size_t n = 0;
	uint64_t client, call, ret = LINEAR_NEVER;
	for (line = slice_trim(line); slice_is_set(line) && line.len && n < 7;
	     line = slice_is_set(line) ? slice_trim(line) : line)
		field[n++] = slice_cut(&line, ' ');
	if (n == 0 || field[0].ptr[0] == '#')
		return ERR_OK;
	if (n != 7 || (slice_is_set(line) && line.len))
		return ERR_SYNTAX;
	if (!slice_to_u64(field[0], &client) || client > UINT32_MAX || !slice_to_u64(field[4], &call) ||
	    (!slice_eq(field[5], SLICE("-")) && !slice_to_u64(field[5], &ret)))
		return ERR_SYNTAX;
	return linear_history_add(h, (unsigned)client, field[1], field[2], field[3], call, ret, field[6]);
}

void linear_history_print(const struct linear_history *h, struct buf *out)
{
	for (size_t i = 0; i < h->count; i++)
		buf_printf(out, "%s\n", h->ops[i].text);
}

size_t linear_history_count(const struct linear_history *h)
{
	return h->count;
}

static int by_call(const void *a, const void *b)
{
	const struct linear_op *x = *(const struct linear_op *const *)a, *y = *(const struct linear_op *const *)b;
	return x->call < y->call ? -1 : x->call > y->call;
}

static void explain(struct buf *why, const struct key_entry *key, const struct linear_op *const *ops, size_t count,
		    const char *wrong, const struct linear_op *at)
{
	if (!why)
		return;
	buf_printf(why, "%.*s: %s%s%s\n", SLICE_FMT(key->text), wrong, at ? ", at: " : "", at ? at->text : "");
	for (size_t i = 0; i < count; i++)
		buf_printf(why, "    %s\n", ops[i]->text);
}

static enum linear_answer check_key(const struct key_entry *key, const struct linear_op *const *ops, size_t count,
				    struct buf *why)
{
	size_t stuck = 0;
	const char *wrong = key->model->scan ? key->model->scan(ops, count, key->names) : NULL;
	if (wrong) {
		explain(why, key, ops, count, wrong, NULL);
		return LINEAR_VIOLATION;
	}
	if (key->model == &linear_queue && key->names > 63)
		return LINEAR_GAVE_UP;
	enum linear_answer answer = linear_search(key->model, ops, count, &stuck);
	if (answer == LINEAR_VIOLATION)
		explain(why, key, ops, count, "no order explains these results", ops[stuck]);
	return answer;
}

enum linear_answer linear_history_check(const struct linear_history *h, struct buf *why)
{
	enum linear_answer worst = LINEAR_OK;
	const struct linear_op **ops = need(malloc((h->count + 1) * sizeof *ops));
	for (size_t k = 1; k <= h->key_count && worst != LINEAR_VIOLATION; k++) {
		size_t n = 0;
		for (size_t i = 0; i < h->count; i++)
			if (h->ops[i].key == k)
				ops[n++] = &h->ops[i];
		qsort(ops, n, sizeof *ops, by_call);
		enum linear_answer answer = check_key(&h->keys[k - 1], ops, n, why);
		if (answer == LINEAR_VIOLATION || worst == LINEAR_OK)
			worst = answer;
	}
	free(ops);
	return worst;
}

/* SPDX-License-Identifier: Apache-2.0
 * The search of Wing and Gong with Lowe's memory: walk the calls in order of time, place one whose result the model
 * allows, lift it out, begin again; when a return comes up whose call was not placed, take the last placement back. A
 * set of placed operations together with the state it led to is never tried twice. Operations with an open outcome have
 * no return: they may be placed anywhere after their call, or not at all, so the search ends when no return is left. */
#include "linear_int.h"

#include <assert.h>

enum { CACHE_MAX = 1 << 20 };

struct event {
	uint64_t time;
	uint32_t op;
	bool is_return;
	struct event *prev, *next, *match; /* a call's match is its return, NULL if it never came */
};

struct memory {
	uint64_t *slots; /* each: words of placed operations, a mark, the state; the word between is 0 in a free slot */
	size_t words, slot_words, cap, used;
};

struct placed {
	struct event *call;
	struct linear_state before;
};

static int event_order(const void *a, const void *b)
{
	const struct event *x = a, *y = b;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->is_return != y->is_return) /* at the same instant: calls first, the weaker claim */
		return x->is_return ? 1 : -1;
	return x->op < y->op ? -1 : x->op > y->op;
}

static uint64_t hash_words(const uint64_t *w, size_t n)
{
	uint64_t h = UINT64_C(0x9e3779b97f4a7c15);
	for (size_t i = 0; i < n; i++) {
		h = (h ^ w[i]) * UINT64_C(0xff51afd7ed558ccd);
		h ^= h >> 32;
	}
	return h;
}

static void memory_put(struct memory *m, const uint64_t *entry)
{
	size_t at = hash_words(entry, m->slot_words) & (m->cap - 1);
	while (m->slots[at * m->slot_words + m->words])
		at = (at + 1) & (m->cap - 1);
	memcpy(&m->slots[at * m->slot_words], entry, m->slot_words * sizeof *entry);
	m->used++;
}

static void memory_grow(struct memory *m)
{
	struct memory bigger = { .words = m->words, .slot_words = m->slot_words, .cap = m->cap ? m->cap * 2 : 256 };
	bigger.slots = calloc(bigger.cap * bigger.slot_words, sizeof *bigger.slots);
	if (!bigger.slots)
		abort();
	for (size_t i = 0; i < m->cap; i++)
		if (m->slots[i * m->slot_words + m->words])
			memory_put(&bigger, &m->slots[i * m->slot_words]);
	free(m->slots);
	*m = bigger;
}

/* True if this was not there before. The word behind the set marks a slot as taken. */
static bool memory_add(struct memory *m, const uint64_t *set, const struct linear_state *state, uint64_t *scratch)
{
	if (m->used * 2 >= m->cap)
		memory_grow(m);
	memcpy(scratch, set, m->words * sizeof *set);
	scratch[m->words] = 1;
	memcpy(&scratch[m->words + 1], state->bytes, LINEAR_STATE_BYTES);
	size_t at = hash_words(scratch, m->slot_words) & (m->cap - 1);
	for (; m->slots[at * m->slot_words + m->words]; at = (at + 1) & (m->cap - 1))
		if (memcmp(&m->slots[at * m->slot_words], scratch, m->slot_words * sizeof *scratch) == 0)
			return false;
	memcpy(&m->slots[at * m->slot_words], scratch, m->slot_words * sizeof *scratch);
	m->used++;
	return true;
}

static void unlink_event(struct event *e)
{
	e->prev->next = e->next;
	if (e->next)
		e->next->prev = e->prev;
}

static void relink_event(struct event *e)
{
	e->prev->next = e;
	if (e->next)
		e->next->prev = e;
}

static void lift(struct event *call)
{
	unlink_event(call);
	if (call->match)
		unlink_event(call->match);
}

static void unlift(struct event *call)
{
	if (call->match)
		relink_event(call->match);
	relink_event(call);
}

static size_t events_build(struct event *event, const struct linear_op *const *ops, size_t count)
{
	size_t n = 0;
	for (size_t i = 0; i < count; i++) {
		event[n++] = (struct event){ .time = ops[i]->call, .op = (uint32_t)i };
		if (ops[i]->ret != LINEAR_NEVER)
			event[n++] = (struct event){ .time = ops[i]->ret, .op = (uint32_t)i, .is_return = true };
	}
	qsort(event, n, sizeof *event, event_order);
	return n;
}

/* head is a sentinel; *ret_returns counts the returns. */
static void events_link(struct event *head, struct event *event, size_t n, size_t count, size_t *ret_returns)
{
	struct event **call = calloc(count, sizeof *call), *last = head;
	*ret_returns = 0;
	for (size_t i = 0; i < n; i++) {
		event[i].prev = last;
		last->next = &event[i];
		last = &event[i];
		if (!event[i].is_return) {
			call[event[i].op] = &event[i];
		} else {
			assert(call[event[i].op]); /* nothing returns before it is called */
			call[event[i].op]->match = &event[i];
			++*ret_returns;
		}
	}
	free(call);
}

struct search {
	const struct linear_model *model;
	const struct linear_op *const *ops;
	struct event head;
	struct placed *stack;
	size_t depth, returns_left, deepest;
	uint64_t *set, *scratch;
	struct memory memory;
	struct linear_state state;
};

static bool place(struct search *s, struct event *call)
{
	struct linear_state next;
	memset(&next, 0, sizeof next);
	if (!s->model->step(&s->state, s->ops[call->op], &next))
		return false;
	s->set[call->op / 64] |= UINT64_C(1) << (call->op % 64);
	if (!memory_add(&s->memory, s->set, &next, s->scratch)) {
		s->set[call->op / 64] &= ~(UINT64_C(1) << (call->op % 64));
		return false;
	}
	s->stack[s->depth++] = (struct placed){ call, s->state };
	s->state = next;
	s->returns_left -= call->match != NULL;
	lift(call);
	return true;
}

static struct event *take_back(struct search *s)
{
	struct placed *p = &s->stack[--s->depth];
	s->state = p->before;
	s->set[p->call->op / 64] &= ~(UINT64_C(1) << (p->call->op % 64));
	s->returns_left += p->call->match != NULL;
	unlift(p->call);
	return p->call;
}

static enum linear_answer run(struct search *s, size_t *ret_stuck)
{
	struct event *e = s->head.next;
	while (s->returns_left) {
		if (s->memory.used > CACHE_MAX)
			return LINEAR_GAVE_UP;
		if (e && !e->is_return) {
			e = place(s, e) ? s->head.next : e->next;
			continue;
		}
		assert(e); /* a return is left, so the walk meets one */
		if (s->depth >= s->deepest) {
			s->deepest = s->depth;
			*ret_stuck = e->op;
		}
		if (s->depth == 0)
			return LINEAR_VIOLATION;
		e = take_back(s)->next;
	}
	return LINEAR_OK;
}

enum linear_answer linear_search(const struct linear_model *model, const struct linear_op *const *ops, size_t count,
				 size_t *ret_stuck)
{
	struct search s = { .model = model, .ops = ops };
	struct event *event = calloc(2 * count + 1, sizeof *event);
	size_t words = (count + 63) / 64;
	s.memory.words = words;
	s.memory.slot_words = words + 1 + LINEAR_STATE_BYTES / 8;
	s.set = calloc(words + 1, sizeof *s.set);
	s.scratch = calloc(s.memory.slot_words, sizeof *s.scratch);
	s.stack = calloc(count + 1, sizeof *s.stack);
	memory_grow(&s.memory);
	events_link(&s.head, event, events_build(event, ops, count), count, &s.returns_left);
	model->init(&s.state);
	*ret_stuck = 0;
	enum linear_answer answer = run(&s, ret_stuck);
	free(event);
	free(s.set);
	free(s.scratch);
	free(s.stack);
	free(s.memory.slots);
	return answer;
}

/* SPDX-License-Identifier: Apache-2.0
 * Whose job is next: the lines of the accounts and the time each of them used. */
#include "store/commit/pending.h"

#include <assert.h>

_Static_assert(PENDING_LINES == 64, "a bit of a word for each");

/* The account is what comes before the first byte 01 of a partition's id (store/key.h). */
static unsigned line_of(struct slice partition)
{
	uint64_t h = UINT64_C(1469598103934665603);
	for (size_t i = 0; i < partition.len && partition.ptr[i] != 1; i++)
		h = (h ^ (unsigned char)partition.ptr[i]) * UINT64_C(1099511628211);
	return (unsigned)(h >> 32) % PENDING_LINES;
}

static void line_add(struct pending_line *l, struct store_job *j)
{
	j->next = NULL;
	if (l->last)
		l->last->next = j;
	else
		l->first = j;
	l->last = j;
}

static struct store_job *line_take(struct pending_line *l)
{
	struct store_job *j = l->first;
	l->first = j->next;
	if (!l->first)
		l->last = NULL;
	j->next = NULL;
	return j;
}

void pending_add(struct pending *p, struct store_job *j)
{
	j->line = line_of(j->partition);
	struct pending_line *l = &p->line[j->line];
	if (!l->first) {
		p->waiting |= UINT64_C(1) << j->line;
		l->used = l->used > p->served ? l->used : p->served;
	}
	line_add(l, j);
}

void pending_add_again(struct pending *p, struct store_job *j)
{
	j->next = p->again.first;
	p->again.first = j;
	if (!p->again.last)
		p->again.last = j;
}

/* The line that used the least; -1: all are empty. */
static int next_line(const struct pending *p)
{
	int best = -1;
	for (uint64_t left = p->waiting; left; left &= left - 1) {
		int i = __builtin_ctzll(left);
		if (best < 0 || p->line[i].used < p->line[best].used)
			best = i;
	}
	return best;
}

struct store_job *pending_next(const struct pending *p)
{
	if (p->again.first)
		return p->again.first;
	int i = next_line(p);
	return i < 0 ? NULL : p->line[i].first;
}

struct store_job *pending_take(struct pending *p)
{
	if (p->again.first)
		return line_take(&p->again);
	int i = next_line(p);
	assert(i >= 0);
	struct pending_line *l = &p->line[i];
	struct store_job *j = line_take(l);
	p->served = l->used;
	if (!l->first)
		p->waiting &= ~(UINT64_C(1) << i);
	return j;
}

void pending_charge(struct pending *p, unsigned line, uint64_t cost)
{
	p->line[line].used += cost;
}

bool pending_has_others(const struct pending *p, const struct store_job *j)
{
	return (p->waiting & ~(UINT64_C(1) << j->line)) != 0;
}

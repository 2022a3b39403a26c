/* SPDX-License-Identifier: Apache-2.0
 * Get and peek: the oldest visible messages, merged from the heads of the two lanes (rows.h).
 *
 * A picker walks both lanes in order of visible time. It reads the ready lane by one point read when one message is
 * wanted and by a scan otherwise; the timed lane only as far as something due there could be older than the ready
 * lane's next message (QUEUE_ORDER_SLACK: nearly as old does not matter), or when the ready lane has nothing left.
 * Expired messages on the way are dropped, a bounded number per call; who found nothing else calls again. */
#include <assert.h>

#include "svc/queue/rows.h"

/* Order among messages that became visible within this time is not worth a scan. */
#define QUEUE_ORDER_SLACK (TICKS_PER_SECOND / 100)

struct lane_page {
	struct rows rows;
	size_t next;
};

struct picker {
	struct txn *txn;
	struct queue_head *head;
	uint64_t now;
	unsigned want;
	struct lane_page ready, timed;
	uint64_t ready_from;	      /* sequence the next ready page begins at */
	uint64_t timed_from;	      /* nothing undelivered in the timed lane before this ... */
	uint64_t timed_from_sequence; /* ... and this */
	bool ready_end;
	bool has_ready, has_timed; /* the candidates below are loaded and not yet used */
	struct message ready_next, timed_next;
};

static void picker_init(struct picker *p, struct txn *txn, struct queue_head *head, unsigned want)
{
	*p = (struct picker){ .txn = txn,
			      .head = head,
			      .now = txn_now(txn),
			      .want = want,
			      .ready_from = head->ready_head,
			      .timed_from = head->due };
	p->ready_end = head->count == head->timed;
}

/* Positions only grow, so what lies before this one is what it was when somebody looked. */
static void picker_seek(struct picker *p, const struct queue_position *from)
{
	if (from->sequence > p->ready_from)
		p->ready_from = from->sequence;
	if (from->visible_ticks >= p->timed_from) {
		p->timed_from = from->visible_ticks;
		p->timed_from_sequence = from->visible_sequence;
	}
}

/* Before everything that the picker has not handed out. */
static struct queue_position picker_position(const struct picker *p)
{
	return (struct queue_position){
		.sequence = p->has_ready ? p->ready_next.sequence : p->ready_from,
		.visible_ticks = p->timed_from,
		.visible_sequence = p->has_timed ? p->timed_next.sequence : p->timed_from_sequence,
	};
}

/* The first page is what is wanted; who needs a second one is stepping over expired messages and takes larger steps. */
static size_t page_limit(const struct picker *p, const struct lane_page *page)
{
	return page->rows.count ? QUEUE_BATCH_MAX : p->want;
}

/* Loads the next message of the ready lane as a candidate, if there is one. */
static enum err ready_load(struct picker *p)
{
	if (p->has_ready || p->ready_end)
		return ERR_OK;
	if (p->want == 1 && p->ready_from == p->head->ready_head) {
		enum err e = message_find(p->txn, p->head->epoch, false, 0, p->ready_from, &p->ready_next);
		if (e == ERR_OK) {
			p->ready_from++;
			p->has_ready = true;
		}
		if (e != ERR_NOT_FOUND)
			return e;
	}
	if (p->ready.next == p->ready.rows.count) {
		struct row_key from, until;
		queue_row_key_ready(&from, p->head->epoch, p->ready_from);
		queue_row_key_ready(&until, p->head->epoch, p->head->next_sequence);
		struct scan_spec spec = { .from = row_key_slice(&from),
					  .until = row_key_slice(&until),
					  .limit_rows = page_limit(p, &p->ready) };
		p->ready.next = 0;
		TRY(txn_scan(p->txn, &spec, &p->ready.rows));
		if (p->ready.rows.count == 0) {
			p->ready_end = true;
			return ERR_OK;
		}
	}
	TRY(message_decode(&p->ready.rows.row[p->ready.next++], &p->ready_next));
	p->ready_from = p->ready_next.sequence + 1;
	p->has_ready = true;
	return ERR_OK;
}

/* Loads the next message of the timed lane that became visible before `until`. */
static enum err timed_load(struct picker *p, uint64_t until_time)
{
	if (p->has_timed)
		return ERR_OK;
	if (p->timed.next == p->timed.rows.count) {
		struct row_key from, until;
		queue_row_key_timed(&from, p->head->epoch, p->timed_from, p->timed_from_sequence);
		queue_row_key_timed(&until, p->head->epoch, until_time, 0);
		struct scan_spec spec = { .from = row_key_slice(&from),
					  .until = row_key_slice(&until),
					  .limit_rows = page_limit(p, &p->timed) };
		p->timed.next = 0;
		TRY(txn_scan(p->txn, &spec, &p->timed.rows));
		if (p->timed.rows.count == 0) {
			p->timed_from = until_time;
			p->timed_from_sequence = 0;
			return ERR_OK;
		}
	}
	TRY(message_decode(&p->timed.rows.row[p->timed.next++], &p->timed_next));
	p->timed_from = p->timed_next.visible;
	p->timed_from_sequence = p->timed_next.sequence + 1;
	p->has_timed = true;
	return ERR_OK;
}

/* The next message in order, expired or not; *ret is NULL at the end. */
static enum err picker_next(struct picker *p, const struct message **ret)
{
	TRY(ready_load(p));
	/* Strictly before: of two equally old the ready one goes first. */
	uint64_t until = p->has_ready ? p->ready_next.visible : p->now + 1;
	uint64_t slack = p->has_ready ? QUEUE_ORDER_SLACK : 0;
	if (p->head->timed > 0 && p->timed_from < until && until - p->timed_from > slack)
		TRY(timed_load(p, until));
	*ret = NULL;
	if (p->has_timed && (!p->has_ready || p->timed_next.visible < p->ready_next.visible)) {
		p->has_timed = false;
		*ret = &p->timed_next;
	} else if (p->has_ready) {
		p->has_ready = false;
		*ret = &p->ready_next;
	}
	return ERR_OK;
}

/* Everything the picker handed out has left its place: the head remembers where the rest begins. */
static void picker_finish(struct picker *p)
{
	struct queue_head *h = p->head;
	uint64_t ready = picker_position(p).sequence;
	if (h->count == h->timed || p->ready_end)
		ready = h->next_sequence;
	if (ready > h->ready_head)
		h->ready_head = ready;
	if (h->timed > 0 && p->timed_from > h->due)
		h->due = p->timed_from;
}

/* Moves one message out of sight. */
static enum err hide(struct txn *txn, struct queue_head *head, const struct message *m, uint64_t visible,
		     struct message *to)
{
	*to = *m;
	to->timed = true;
	to->visible = visible;
	to->change++;
	to->dequeue_count++;
	to->received = txn_now(txn);
	to->was_visible = m->visible;
	/* It will not be seen again: only the index can find it when its time is up. */
	to->indexed = to->expires <= visible;
	TRY(message_remove(txn, head->epoch, m, false));
	TRY(message_save(txn, head->epoch, to));
	return ERR_OK;
}

enum err queue_apply_get(struct txn *txn, void *call)
{
	struct queue_get *g = call;
	struct queue_head head;
	struct picker p;
	struct message hidden[QUEUE_BATCH_MAX];
	unsigned dropped = 0;
	assert(g->want >= 1 && g->want <= QUEUE_BATCH_MAX);
	g->found = 0;
	TRY(head_load(txn, &head));
	picker_init(&p, txn, &head, g->want);
	uint64_t visible = p.now + g->timeout_s * TICKS_PER_SECOND, due_before = head.due;
	/* Rows are changed only after the last one was picked, so that no scan meets a row that this call moved. */
	struct message picked[QUEUE_BATCH_MAX], drop[LIMIT_QUEUE_DROP_ROWS];
	while (g->found < g->want && dropped < LIMIT_QUEUE_DROP_ROWS) {
		const struct message *m;
		TRY(picker_next(&p, &m));
		if (!m)
			break;
		if (message_expired(m, p.now))
			drop[dropped++] = *m;
		else
			picked[g->found++] = *m;
	}
	for (unsigned i = 0; i < dropped; i++) {
		TRY(message_remove(txn, head.epoch, &drop[i], true));
		head_forget(&head, &drop[i]);
	}
	for (unsigned i = 0; i < g->found; i++) {
		TRY(hide(txn, &head, &picked[i], visible, &hidden[i]));
		head_forget(&head, &picked[i]);
	}
	picker_finish(&p);
	g->again = g->found == 0 && dropped == LIMIT_QUEUE_DROP_ROWS;
	for (unsigned i = 0; i < g->found; i++) {
		head.count++;
		head_remember_timed(&head, visible);
		message_show(&hidden[i], head.epoch, &g->message[i]);
		TRY(message_text(txn, head.epoch, &hidden[i], &g->message[i].text));
	}
	/* A queue that is polled in vain writes nothing, unless that spares later polls a long way. */
	if (dropped == 0 && g->found == 0 && head.due - due_before < TICKS_PER_SECOND)
		return ERR_OK;
	head.touched = p.now;
	return head_save(txn, &head);
}

enum err queue_apply_peek(struct txn *txn, void *call)
{
	struct queue_get *g = call;
	struct queue_head head;
	struct picker p;
	g->found = 0;
	TRY(head_load(txn, &head));
	picker_init(&p, txn, &head, g->want);
	picker_seek(&p, &g->from);
	unsigned skipped = 0;
	while (g->found < g->want && skipped < LIMIT_QUEUE_SKIP_ROWS) {
		const struct message *m;
		TRY(picker_next(&p, &m));
		if (!m)
			break;
		if (message_expired(m, p.now)) {
			skipped++;
			continue;
		}
		struct queue_message *shown = &g->message[g->found++];
		message_show(m, head.epoch, shown);
		TRY(message_text(txn, head.epoch, m, &shown->text));
	}
	g->again = g->found == 0 && skipped == LIMIT_QUEUE_SKIP_ROWS;
	g->next = picker_position(&p);
	return ERR_OK;
}

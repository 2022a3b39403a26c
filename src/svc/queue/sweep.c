/* SPDX-License-Identifier: Apache-2.0
 * The background work of a queue, in bounded rounds. A round runs first on a snapshot, where walking over removed rows
 * costs no request anything, and is committed only if it found something to do. What the first run learned about where
 * live rows begin is handed to the second as hints, so that the committer seeks straight there.
 *
 * Why a hint is safe (rows.h): sequences only grow, so a first live ready row stays the first. In the timed lane rows
 * come in at their transaction's now or later; everything the snapshot did not see is committed after the last change
 * it did see, whose time is max(touched, swept), so a position up to that time stays a lower bound. */
#include "svc/queue/rows.h"

#include <assert.h>

enum {
	READY_LAG = 64,	    /* removed rows before the first live one that are worth a commit */
	MESSAGE_WRITES = 3, /* at most, to remove or to index one: row, text, index */
	OWN_WRITES = 2,	    /* head and sweep row */
};
#define INDEX_AFTER_TICKS (10 * TICKS_PER_SECOND) /* a due message that nobody got for so long gets its index row */
#define DUE_LAG_TICKS	  (1 * TICKS_PER_SECOND)  /* remembered position of the timed lane may lag by this ... */
#define DUE_LAG_SHARE	  8 /* ... or by this part of the time since the last request, so that an idle queue settles */
#define EXPIRY_LAG_TICKS  (3600 * TICKS_PER_SECOND)

struct sweep {
	/* hints: out of the dry run, in for the committed one */
	uint64_t hint_head;  /* first live ready row */
	uint64_t hint_ready; /* the same from where the sweep of the ready lane goes on */
	uint64_t hint_due;
	bool renew_swept; /* the position of the timed lane needs a newer `swept` to move on */
	bool full;	  /* the disk is: only what removes rows is done */
	/* out */
	bool changed; /* there is something to commit */
	bool more;    /* a limit was reached */
	/* of one run */
	struct txn *txn;
	struct queue_head head;
	struct queue_sweep_row row;
	uint64_t now;
	size_t writes_left; /* of LIMIT_SWEEP_WRITES, all kinds of work together */
};

/* Room for one more message in this commit; if not, another round follows. */
static bool sweep_room(struct sweep *s)
{
	if (s->writes_left >= MESSAGE_WRITES)
		return true;
	s->more = true;
	return false;
}

static enum err sweep_drop(struct sweep *s, const struct message *m)
{
	assert(s->writes_left >= MESSAGE_WRITES);
	s->changed = true;
	s->writes_left -= MESSAGE_WRITES;
	head_forget(&s->head, m);
	return message_remove(s->txn, s->head.epoch, m, true);
}

/* What a clear left: rows of epochs before the present one. */
static enum err sweep_old_epochs(struct sweep *s)
{
	static const char tags[] = { 'r', 'v', 't', 'x' };
	size_t left = LIMIT_QUEUE_CLEAN_ROWS;
	if (s->row.clean_epoch >= s->head.epoch)
		return ERR_OK;
	for (size_t i = 0; i < sizeof tags && left; i++) {
		struct key from, until;
		key_init(&from);
		key_tag(&from, tags[i]);
		key_u64(&from, s->row.clean_epoch);
		key_init(&until);
		key_tag(&until, tags[i]);
		key_u64(&until, s->head.epoch);
		struct scan_spec spec = {
			.from = key_slice(&from), .until = key_slice(&until), .limit_rows = left, .keys_only = true
		};
		struct rows rows;
		TRY(txn_scan(s->txn, &spec, &rows));
		for (size_t k = 0; k < rows.count; k++)
			TRY(txn_del(s->txn, rows.row[k].key));
		left -= rows.count;
	}
	assert(LIMIT_QUEUE_CLEAN_ROWS - left <= s->writes_left);
	s->writes_left -= LIMIT_QUEUE_CLEAN_ROWS - left;
	s->changed = true;
	if (left)
		s->row.clean_epoch = s->head.epoch;
	else
		s->more = true;
	return ERR_OK;
}

/* One page of the ready lane from *at on. *ret_stop: a message was met that is not yet to go, and so are all behind it.
 */
static enum err sweep_ready_page(struct sweep *s, size_t limit, uint64_t *at, bool *ret_stop)
{
	struct row_key from, until;
	queue_row_key_ready(&from, s->head.epoch, *at);
	queue_row_key_ready(&until, s->head.epoch, s->head.next_sequence);
	struct scan_spec spec = { .from = row_key_slice(&from), .until = row_key_slice(&until), .limit_rows = limit };
	struct rows rows;
	TRY(txn_scan(s->txn, &spec, &rows));
	for (size_t i = 0; i < rows.count; i++) {
		struct message m;
		TRY(message_decode(&rows.row[i], &m));
		if (txn_is_dry(s->txn) && !s->hint_ready)
			s->hint_ready = m.sequence;
		*ret_stop = message_mortal(&m) && !m.indexed && !message_expired(&m, s->now);
		if (*ret_stop)
			return ERR_OK;
		if (message_expired(&m, s->now)) {
			*ret_stop = !sweep_room(s);
			if (*ret_stop)
				return ERR_OK;
			TRY(sweep_drop(s, &m));
		}
		*at = m.sequence + 1;
	}
	*ret_stop = !rows.more;
	return ERR_OK;
}

/* Expired messages at the head of the ready lane, past those that never expire or are indexed. The first page is small:
 * mostly the first message says that there is nothing to do. */
static enum err sweep_ready(struct sweep *s)
{
	uint64_t begin = s->head.ready_head > s->row.ready ? s->head.ready_head : s->row.ready;
	if (s->hint_ready > begin)
		begin = s->hint_ready;
	uint64_t at = begin;
	bool stop = s->head.count == s->head.timed;
	for (size_t limit = 4; !stop && limit <= LIMIT_QUEUE_SWEEP_ROWS; limit *= 4)
		TRY(sweep_ready_page(s, limit, &at, &stop));
	s->more = s->more || !stop;
	if (at > begin) {
		s->row.ready = at;
		s->changed = true;
	}
	return ERR_OK;
}

/* The first live ready row, if requests would walk over many removed ones to it. */
static enum err sweep_ready_head(struct sweep *s)
{
	struct queue_head *h = &s->head;
	if (h->count == h->timed)
		return ERR_OK;
	struct row_key from, until;
	queue_row_key_ready(&from, h->epoch, s->hint_head > h->ready_head ? s->hint_head : h->ready_head);
	queue_row_key_ready(&until, h->epoch, h->next_sequence);
	struct scan_spec spec = { .from = row_key_slice(&from), .until = row_key_slice(&until), .limit_rows = 1 };
	struct rows rows;
	struct message m;
	TRY(txn_scan(s->txn, &spec, &rows));
	if (rows.count == 0)
		return ERR_OK;
	TRY(message_decode(&rows.row[0], &m));
	s->hint_head = m.sequence;
	if (m.sequence - h->ready_head > READY_LAG) {
		h->ready_head = m.sequence;
		s->changed = true;
	}
	return ERR_OK;
}

/* Due messages nobody came for: expired ones go, the others get an index row so that nobody has to look at them again.
 */
static enum err sweep_timed(struct sweep *s)
{
	uint64_t due = s->hint_due > s->head.due ? s->hint_due : s->head.due;
	uint64_t end = s->now > INDEX_AFTER_TICKS ? s->now - INDEX_AFTER_TICKS : 0;
	/* Only what is past may be remembered: rows still come in from now on. */
	if (s->head.timed == 0 || due >= end || s->row.timed >= end)
		return ERR_OK;
	struct row_key from, until;
	if (due > s->row.timed)
		queue_row_key_timed(&from, s->head.epoch, due, 0);
	else
		queue_row_key_timed(&from, s->head.epoch, s->row.timed, s->row.timed_sequence);
	queue_row_key_timed(&until, s->head.epoch, end, 0);
	struct scan_spec spec = { .from = row_key_slice(&from),
				  .until = row_key_slice(&until),
				  .limit_rows = LIMIT_QUEUE_SWEEP_ROWS };
	struct rows rows;
	TRY(txn_scan(s->txn, &spec, &rows));
	for (size_t i = 0; i < rows.count; i++) {
		struct message m;
		TRY(message_decode(&rows.row[i], &m));
		if (!sweep_room(s))
			return ERR_OK;
		if (message_expired(&m, s->now)) {
			TRY(sweep_drop(s, &m));
		} else if (message_mortal(&m) && !m.indexed) {
			m.indexed = true;
			s->writes_left -= MESSAGE_WRITES;
			TRY(message_save(s->txn, s->head.epoch, &m));
		}
		s->row.timed = m.visible;
		s->row.timed_sequence = m.sequence + 1;
		s->changed = true;
	}
	s->more = s->more || rows.more;
	return ERR_OK;
}

/* Indexed messages whose time is up. */
static enum err sweep_expired(struct sweep *s)
{
	struct row_key from, until;
	queue_row_key_expiry(&from, s->head.epoch, s->row.expiry, 0);
	queue_row_key_expiry(&until, s->head.epoch, s->now + 1, 0);
	struct scan_spec spec = { .from = row_key_slice(&from),
				  .until = row_key_slice(&until),
				  .limit_rows = LIMIT_QUEUE_SWEEP_ROWS };
	struct rows rows;
	TRY(txn_scan(s->txn, &spec, &rows));
	for (size_t i = 0; i < rows.count; i++) {
		struct expiry_row x;
		struct message m;
		if (!sweep_room(s))
			return ERR_OK;
		TRY(expiry_decode(&rows.row[i], &x));
		enum err e = message_find(s->txn, s->head.epoch, x.timed, x.visible, x.sequence, &m);
		if (e == ERR_NOT_FOUND || (e == ERR_OK && (!m.indexed || m.expires != x.expires)))
			return ERR_CORRUPT;
		TRY(e);
		TRY(sweep_drop(s, &m));
		s->row.expiry = x.expires;
	}
	s->more = s->more || rows.more;
	if (rows.count == 0 && s->now - s->row.expiry > EXPIRY_LAG_TICKS && s->head.touched > s->row.swept)
		s->changed = true;
	if (!rows.more && s->changed)
		s->row.expiry = s->now;
	return ERR_OK;
}

/* The remembered position of the timed lane follows the clock past what was removed. */
static enum err sweep_due(struct sweep *s)
{
	struct queue_head *h = &s->head;
	uint64_t settled = h->touched > s->row.swept ? h->touched : s->row.swept;
	if (h->timed == 0)
		return ERR_OK;
	struct row_key from;
	struct key until;
	queue_row_key_timed(&from, h->epoch, h->due, 0);
	key_init(&until);
	key_tag(&until, 'v');
	key_u64(&until, (uint64_t)h->epoch + 1);
	struct scan_spec spec = { .from = row_key_slice(&from), .until = key_slice(&until), .limit_rows = 1 };
	struct rows rows;
	struct message m;
	if (txn_is_dry(s->txn)) {
		TRY(txn_scan(s->txn, &spec, &rows));
		if (rows.count == 0)
			return ERR_OK;
		TRY(message_decode(&rows.row[0], &m));
		s->hint_due = m.visible < settled ? m.visible : settled;
		uint64_t lag = s->now > h->touched ? (s->now - h->touched) / DUE_LAG_SHARE : 0;
		if (lag < DUE_LAG_TICKS)
			lag = DUE_LAG_TICKS;
		/* Behind the first live row and behind the clock by too much: commit, if only for a newer `swept`. */
		uint64_t goal = m.visible < s->now ? m.visible : s->now;
		s->renew_swept = goal > h->due && goal - h->due > lag;
	} else if (s->hint_due > h->due) {
		assert(s->hint_due <= s->now); /* rows still come in from now on */
		h->due = s->hint_due;
		s->changed = true;
	}
	s->changed = s->changed || s->renew_swept;
	return ERR_OK;
}

static enum err sweep_apply(struct txn *txn, void *call)
{
	struct sweep *s = call;
	s->txn = txn;
	s->changed = s->more = false;
	s->now = txn_now(txn);
	s->writes_left = LIMIT_SWEEP_WRITES - OWN_WRITES;
	TRY(head_load(txn, &s->head));
	TRY(sweep_load(txn, &s->row));
	TRY(sweep_old_epochs(s));
	if (!s->full) {
		TRY(sweep_due(s));
		TRY(sweep_timed(s));
		TRY(sweep_ready_head(s));
	}
	TRY(sweep_ready(s));
	TRY(sweep_expired(s));
	if (!s->changed)
		return ERR_OK;
	s->row.swept = s->now;
	TRY(head_save(txn, &s->head));
	return sweep_save(txn, &s->row);
}

enum err queue_sweep(struct store *store, struct slice partition, struct arena *arena, bool *ret_more)
{
	struct sweep s = { .changed = false };
	enum err e = store_read(store, partition, sweep_apply, &s, arena);
	bool more = s.more;
	if (e == ERR_OK && s.changed) {
		e = store_write_wait(store, partition, sweep_apply, &s, arena);
		s.full = e == ERR_NO_SPACE;
		if (s.full)
			e = store_write_wait(store, partition, sweep_apply, &s, arena);
		more = s.more || (more && !s.full);
	}
	if (e != ERR_OK && e != ERR_QUEUE_NOT_FOUND)
		return e;
	*ret_more = e == ERR_OK && more;
	return ERR_OK;
}

/* SPDX-License-Identifier: Apache-2.0
 * Put, update, delete, clear and count. Each reads the head, at most one message, and writes the head back. */
#include "svc/queue/rows.h"

#include <assert.h>

static uint64_t ticks_after(uint64_t now, uint64_t seconds)
{
	return now + seconds * TICKS_PER_SECOND;
}

static uint64_t expiry_of(uint64_t now, uint64_t ttl_s)
{
	return ttl_s >= (QUEUE_TIME_LAST - now) / TICKS_PER_SECOND ? TICKS_FOREVER : ticks_after(now, ttl_s);
}

/* Gives m its text, in the row or apart. */
static enum err message_set_text(struct txn *txn, uint32_t epoch, struct message *m, struct slice text)
{
	m->text_bytes = (uint32_t)text.len;
	m->text_apart = text.len > ROW_TEXT_BYTES;
	m->text = m->text_apart ? SLICE_NONE : text;
	if (!m->text_apart)
		return ERR_OK;
	char *value = arena_alloc(txn_arena(txn), text.len + 1);
	struct row_key key;
	if (!value)
		return ERR_NO_MEMORY;
	value[0] = 1; /* version, as in every value */
	memcpy(value + 1, text.ptr, text.len);
	queue_row_key_text(&key, epoch, m->sequence);
	return txn_put(txn, row_key_slice(&key), slice_make(value, text.len + 1));
}

enum err queue_apply_put(struct txn *txn, void *call)
{
	struct queue_put *p = call;
	struct queue_head head;
	uint64_t now = txn_now(txn);
	TRY(head_load(txn, &head));
	struct message m = { .timed = p->delay_s > 0,
			     .visible = ticks_after(now, p->delay_s),
			     .sequence = head.next_sequence++,
			     .salt = p->salt,
			     .inserted = now,
			     .expires = expiry_of(now, p->ttl_s) };
	head.touched = now;
	head.count++;
	if (m.timed) {
		m.indexed = m.expires <= m.visible;
		head_remember_timed(&head, m.visible);
	} else if (message_mortal(&m)) {
		m.indexed = m.expires < head.last_expiry || m.expires - now > ORDERED_TTL_TICKS;
		if (!m.indexed)
			head.last_expiry = m.expires;
	}
	assert(m.sequence >= head.ready_head); /* else nobody would look where it lies */
	TRY(message_set_text(txn, head.epoch, &m, p->text));
	TRY(message_save(txn, head.epoch, &m));
	TRY(head_save(txn, &head));
	message_show(&m, head.epoch, &p->message);
	return ERR_OK;
}

/* The message a receipt stands for, if it still does. */
static enum err find_by_receipt(struct txn *txn, const struct queue_change *c, struct queue_head *head,
				struct message *ret)
{
	TRY(head_load(txn, head));
	const struct queue_receipt *r = &c->receipt;
	if (c->foreign || r->epoch != head->epoch)
		return ERR_MESSAGE_NOT_FOUND;
	enum err e = message_find(txn, head->epoch, r->timed, r->visible_ticks, r->sequence, ret);
	if (e == ERR_NOT_FOUND)
		return ERR_MESSAGE_NOT_FOUND;
	if (e != ERR_OK)
		return e;
	if (ret->change != r->change || !message_id_matches(ret, &c->id) || message_expired(ret, txn_now(txn)))
		return ERR_MESSAGE_NOT_FOUND;
	return ERR_OK;
}

enum err queue_apply_update(struct txn *txn, void *call)
{
	struct queue_change *c = call;
	struct queue_head head;
	struct message m;
	uint64_t now = txn_now(txn);
	c->past_expiry = false;
	TRY(find_by_receipt(txn, c, &head, &m));
	struct message to = m;
	to.timed = true;
	to.visible = ticks_after(now, c->timeout_s);
	to.change++;
	to.indexed = to.expires <= to.visible;
	if (to.visible > to.expires) {
		c->past_expiry = true;
		c->left_s = (to.expires - now) / TICKS_PER_SECOND;
		return ERR_OUT_OF_RANGE_QUERY_PARAMETER_VALUE;
	}
	bool drop_text = c->has_text && c->text.len <= ROW_TEXT_BYTES;
	TRY(message_remove(txn, head.epoch, &m, drop_text));
	if (c->has_text)
		TRY(message_set_text(txn, head.epoch, &to, c->text));
	TRY(message_save(txn, head.epoch, &to));
	head_forget(&head, &m);
	head.count++;
	head_remember_timed(&head, to.visible);
	head.touched = now;
	message_show(&to, head.epoch, &c->message);
	return head_save(txn, &head);
}

enum err queue_apply_delete(struct txn *txn, void *call)
{
	struct queue_change *c = call;
	struct queue_head head;
	struct message m;
	TRY(find_by_receipt(txn, c, &head, &m));
	TRY(message_remove(txn, head.epoch, &m, true));
	head_forget(&head, &m);
	head.touched = txn_now(txn);
	return head_save(txn, &head);
}

enum err queue_apply_clear(struct txn *txn, void *call)
{
	struct queue_head head;
	struct row_key first;
	TRY(head_load(txn, &head));
	if (!head.count)
		return ERR_OK;
	/* The sweep removes the messages. One that is ready goes at once: a full disk takes only what removes rows. */
	queue_row_key_ready(&first, head.epoch, head.ready_head);
	TRY(txn_del(txn, row_key_slice(&first)));
	assert(head.timed <= head.count && head.ready_head <= head.next_sequence);
	head.epoch++;
	head.count = 0;
	head.timed = 0;
	head.ready_head = head.next_sequence;
	head.due = TICKS_FOREVER;
	head.last_expiry = 0;
	head.touched = txn_now(txn);
	return head_save(txn, &head);
}

enum err queue_apply_count(struct txn *txn, void *call)
{
	struct queue_count *c = call;
	struct queue_head head;
	TRY(head_load(txn, &head));
	c->count = head.count;
	return ERR_OK;
}

/* SPDX-License-Identifier: Apache-2.0
 * Bytes of a queue's rows. Values begin with a version; integers are little-endian.
 *   message  version u8, flags u8, change u32, dequeue count u32, text bytes u32, salt u64, inserted u64, expires u64,
 *            text unless apart
 *            version 2: a message that was received; received u64 and was visible u64 stand before the text. One of
 *            version 1 never was, or was by a program that did not keep the time
 *   head     version u8, epoch u32, then seven u64 in the order of struct queue_head
 *   sweep    version u8, clean epoch u32, then five u64 in the order of struct queue_sweep_row
 *   index    version u8, lane u8, visible u64 (0 in the ready lane)
 *   receipt  version u8, lane u8, change u32, epoch u32, visible u64, sequence u64, sum of all before u8 */
#include "svc/queue/rows.h"

#include <assert.h>

#include "base/bytes.h"
#include "svc/common/generation.h"

enum {
	ROW_VERSION = 1,
	RECEIVED_VERSION = 2,
	RECEIPT_VERSION = 4,
	FLAG_INDEXED = 1,
	FLAG_TEXT_APART = 2,
	LANE_READY = 'r',
	LANE_TIMED = 'v'
};
enum { HEAD_BYTES = 1 + 4 + 7 * 8, SWEEP_BYTES = 1 + 4 + 5 * 8, EXPIRY_BYTES = 1 + 1 + 8 };
#define KEY_HEAD  SLICE("h")
#define KEY_SWEEP SLICE("s")

/* A buf over memory of the caller's: what does not fit fails, nothing is allocated. */
static struct buf buf_over(char *mem, size_t bytes)
{
	return (struct buf){ .ptr = mem, .cap = bytes, .limit_bytes = bytes };
}

/* Same bytes as key_u64, without a 4 KiB key on the stack of every caller. */
static void row_key_u64(struct row_key *k, uint64_t v)
{
	for (int shift = 63; shift >= 0; shift -= 7)
		k->bytes[k->len++] = (char)(0x80 | ((v >> shift) & 0x7f));
}

static void row_key_begin(struct row_key *k, char tag, uint32_t epoch)
{
	k->bytes[0] = tag;
	k->len = 1;
	row_key_u64(k, epoch);
}

void queue_row_key_ready(struct row_key *k, uint32_t epoch, uint64_t sequence)
{
	row_key_begin(k, 'r', epoch);
	row_key_u64(k, sequence);
}

void queue_row_key_timed(struct row_key *k, uint32_t epoch, uint64_t visible, uint64_t sequence)
{
	row_key_begin(k, 'v', epoch);
	row_key_u64(k, visible);
	row_key_u64(k, sequence);
}

void queue_row_key_text(struct row_key *k, uint32_t epoch, uint64_t sequence)
{
	row_key_begin(k, 't', epoch);
	row_key_u64(k, sequence);
}

void queue_row_key_expiry(struct row_key *k, uint32_t epoch, uint64_t expires, uint64_t sequence)
{
	row_key_begin(k, 'x', epoch);
	row_key_u64(k, expires);
	row_key_u64(k, sequence);
}

void queue_row_key_message(struct row_key *k, uint32_t epoch, const struct message *m)
{
	if (m->timed)
		queue_row_key_timed(k, epoch, m->visible, m->sequence);
	else
		queue_row_key_ready(k, epoch, m->sequence);
}

enum err head_load(struct txn *txn, struct queue_head *ret)
{
	struct slice value;
	TRY(generation_require(txn, ERR_QUEUE_NOT_FOUND));
	enum err e = txn_get(txn, KEY_HEAD, &value);
	if (e == ERR_NOT_FOUND) {
		*ret = (struct queue_head){ .epoch = 1, .next_sequence = 1, .ready_head = 1, .due = TICKS_FOREVER };
		return ERR_OK;
	}
	if (e != ERR_OK)
		return e;
	struct cursor c = cursor_make(value);
	if (cursor_u8(&c) != ROW_VERSION)
		return ERR_CORRUPT;
	ret->epoch = cursor_u32(&c);
	ret->next_sequence = cursor_u64(&c);
	ret->count = cursor_u64(&c);
	ret->timed = cursor_u64(&c);
	ret->ready_head = cursor_u64(&c);
	ret->due = cursor_u64(&c);
	ret->last_expiry = cursor_u64(&c);
	ret->touched = cursor_u64(&c);
	return cursor_done(&c) && ret->timed <= ret->count ? ERR_OK : ERR_CORRUPT;
}

enum err head_save(struct txn *txn, const struct queue_head *h)
{
	char mem[HEAD_BYTES];
	struct buf b = buf_over(mem, sizeof mem);
	bytes_put_u8(&b, ROW_VERSION);
	bytes_put_u32(&b, h->epoch);
	bytes_put_u64(&b, h->next_sequence);
	bytes_put_u64(&b, h->count);
	bytes_put_u64(&b, h->timed);
	bytes_put_u64(&b, h->ready_head);
	bytes_put_u64(&b, h->due);
	bytes_put_u64(&b, h->last_expiry);
	bytes_put_u64(&b, h->touched);
	assert(buf_ok(&b));
	return txn_put(txn, KEY_HEAD, buf_slice(&b));
}

enum err sweep_load(struct txn *txn, struct queue_sweep_row *ret)
{
	struct slice value;
	enum err e = txn_get(txn, KEY_SWEEP, &value);
	if (e == ERR_NOT_FOUND) {
		*ret = (struct queue_sweep_row){ .clean_epoch = 1 };
		return ERR_OK;
	}
	if (e != ERR_OK)
		return e;
	struct cursor c = cursor_make(value);
	if (cursor_u8(&c) != ROW_VERSION)
		return ERR_CORRUPT;
	ret->clean_epoch = cursor_u32(&c);
	ret->ready = cursor_u64(&c);
	ret->timed = cursor_u64(&c);
	ret->timed_sequence = cursor_u64(&c);
	ret->expiry = cursor_u64(&c);
	ret->swept = cursor_u64(&c);
	return cursor_done(&c) ? ERR_OK : ERR_CORRUPT;
}

enum err sweep_save(struct txn *txn, const struct queue_sweep_row *s)
{
	char mem[SWEEP_BYTES];
	struct buf b = buf_over(mem, sizeof mem);
	bytes_put_u8(&b, ROW_VERSION);
	bytes_put_u32(&b, s->clean_epoch);
	bytes_put_u64(&b, s->ready);
	bytes_put_u64(&b, s->timed);
	bytes_put_u64(&b, s->timed_sequence);
	bytes_put_u64(&b, s->expiry);
	bytes_put_u64(&b, s->swept);
	assert(buf_ok(&b));
	return txn_put(txn, KEY_SWEEP, buf_slice(&b));
}

static enum err message_decode_value(struct slice value, struct message *ret)
{
	struct cursor c = cursor_make(value);
	uint8_t version = cursor_u8(&c);
	if (version != ROW_VERSION && version != RECEIVED_VERSION)
		return ERR_CORRUPT;
	uint8_t flags = cursor_u8(&c);
	if (flags & ~(FLAG_INDEXED | FLAG_TEXT_APART))
		return ERR_CORRUPT;
	ret->indexed = flags & FLAG_INDEXED;
	ret->text_apart = flags & FLAG_TEXT_APART;
	ret->change = cursor_u32(&c);
	ret->dequeue_count = cursor_u32(&c);
	ret->text_bytes = cursor_u32(&c);
	ret->salt = cursor_u64(&c);
	ret->inserted = cursor_u64(&c);
	ret->expires = cursor_u64(&c);
	ret->received = version == RECEIVED_VERSION ? cursor_u64(&c) : 0;
	ret->was_visible = version == RECEIVED_VERSION ? cursor_u64(&c) : 0;
	if (version == RECEIVED_VERSION && !ret->received)
		return ERR_CORRUPT;
	ret->text = ret->text_apart ? SLICE_NONE : cursor_raw(&c, ret->text_bytes);
	return cursor_done(&c) ? ERR_OK : ERR_CORRUPT;
}

enum err message_decode(const struct row *row, struct message *ret)
{
	struct slice rest = row->key;
	uint64_t epoch;
	ret->timed = key_take_tag(&rest, 'v');
	if (!ret->timed && !key_take_tag(&rest, 'r'))
		return ERR_CORRUPT;
	if (!key_take_u64(&rest, &epoch) || (ret->timed && !key_take_u64(&rest, &ret->visible)) ||
	    !key_take_u64(&rest, &ret->sequence) || rest.len)
		return ERR_CORRUPT;
	TRY(message_decode_value(row->value, ret));
	if (!ret->timed)
		ret->visible = ret->inserted;
	return ERR_OK;
}

enum err message_find(struct txn *txn, uint32_t epoch, bool timed, uint64_t visible, uint64_t sequence,
		      struct message *ret)
{
	struct row_key key;
	struct slice value;
	*ret = (struct message){ .timed = timed, .visible = visible, .sequence = sequence };
	queue_row_key_message(&key, epoch, ret);
	TRY(txn_get(txn, row_key_slice(&key), &value));
	TRY(message_decode_value(value, ret));
	if (!timed)
		ret->visible = ret->inserted;
	return ERR_OK;
}

static enum err expiry_save(struct txn *txn, uint32_t epoch, const struct message *m)
{
	char mem[EXPIRY_BYTES];
	struct row_key key;
	struct buf b = buf_over(mem, sizeof mem);
	bytes_put_u8(&b, ROW_VERSION);
	bytes_put_u8(&b, m->timed ? LANE_TIMED : LANE_READY);
	bytes_put_u64(&b, m->timed ? m->visible : 0);
	queue_row_key_expiry(&key, epoch, m->expires, m->sequence);
	return txn_put(txn, row_key_slice(&key), buf_slice(&b));
}

enum err expiry_decode(const struct row *row, struct expiry_row *ret)
{
	struct slice rest = row->key;
	struct cursor c = cursor_make(row->value);
	uint64_t epoch;
	if (!key_take_tag(&rest, 'x') || !key_take_u64(&rest, &epoch) || !key_take_u64(&rest, &ret->expires) ||
	    !key_take_u64(&rest, &ret->sequence) || rest.len || cursor_u8(&c) != ROW_VERSION)
		return ERR_CORRUPT;
	uint8_t lane = cursor_u8(&c);
	ret->timed = lane == LANE_TIMED;
	ret->visible = cursor_u64(&c);
	return cursor_done(&c) && (ret->timed || lane == LANE_READY) ? ERR_OK : ERR_CORRUPT;
}

void message_encode(struct buf *b, const struct message *m)
{
	bytes_put_u8(b, m->received ? RECEIVED_VERSION : ROW_VERSION);
	bytes_put_u8(b, (uint8_t)((m->indexed ? FLAG_INDEXED : 0) | (m->text_apart ? FLAG_TEXT_APART : 0)));
	bytes_put_u32(b, m->change);
	bytes_put_u32(b, m->dequeue_count);
	bytes_put_u32(b, m->text_bytes);
	bytes_put_u64(b, m->salt);
	bytes_put_u64(b, m->inserted);
	bytes_put_u64(b, m->expires);
	if (m->received) {
		bytes_put_u64(b, m->received);
		bytes_put_u64(b, m->was_visible);
	}
	if (!m->text_apart)
		buf_put(b, m->text);
}

enum err message_save(struct txn *txn, uint32_t epoch, const struct message *m)
{
	size_t bytes = ROW_FIXED_BYTES + (m->text_apart ? 0 : m->text.len);
	char *mem = arena_alloc(txn_arena(txn), bytes);
	if (!mem)
		return ERR_NO_MEMORY;
	struct row_key key;
	struct buf b = buf_over(mem, bytes);
	message_encode(&b, m);
	assert(buf_ok(&b));
	queue_row_key_message(&key, epoch, m);
	TRY(txn_put(txn, row_key_slice(&key), buf_slice(&b)));
	return m->indexed ? expiry_save(txn, epoch, m) : ERR_OK;
}

enum err message_remove(struct txn *txn, uint32_t epoch, const struct message *m, bool with_text)
{
	struct row_key key;
	queue_row_key_message(&key, epoch, m);
	TRY(txn_del(txn, row_key_slice(&key)));
	if (m->indexed) {
		queue_row_key_expiry(&key, epoch, m->expires, m->sequence);
		TRY(txn_del(txn, row_key_slice(&key)));
	}
	if (with_text && m->text_apart) {
		queue_row_key_text(&key, epoch, m->sequence);
		TRY(txn_del(txn, row_key_slice(&key)));
	}
	return ERR_OK;
}

enum err message_text(struct txn *txn, uint32_t epoch, const struct message *m, struct slice *ret)
{
	struct row_key key;
	struct slice value;
	if (!m->text_apart) {
		*ret = m->text;
		return ERR_OK;
	}
	queue_row_key_text(&key, epoch, m->sequence);
	enum err e = txn_get(txn, row_key_slice(&key), &value);
	if (e == ERR_NOT_FOUND || (e == ERR_OK && (value.len != m->text_bytes + 1u || value.ptr[0] != ROW_VERSION)))
		return ERR_CORRUPT;
	if (e == ERR_OK)
		*ret = slice_from(value, 1);
	return e;
}

/* Unique by the sequence; spread by an odd factor and hidden behind the salt, so that ids of one queue look unlike each
 * other. */
struct uuid message_id(const struct message *m)
{
	struct uuid id;
	uint64_t mixed = (m->sequence * UINT64_C(0x9e3779b97f4a7c15)) ^ m->salt;
	for (int i = 0; i < 8; i++) {
		id.bytes[i] = (unsigned char)(mixed >> (8 * i));
		id.bytes[8 + i] = (unsigned char)(m->salt >> (8 * i));
	}
	return id;
}

bool message_id_matches(const struct message *m, const struct uuid *id)
{
	struct uuid mine = message_id(m);
	return uuid_eq(&mine, id);
}

void message_show(const struct message *m, uint32_t epoch, struct queue_message *ret)
{
	*ret = (struct queue_message){
		.id = message_id(m),
		.inserted_ticks = m->inserted,
		.expires_ticks = m->expires < QUEUE_TIME_LAST ? m->expires : QUEUE_TIME_LAST,
		.visible_ticks = m->visible,
		.received_ticks = m->received,
		.was_visible_ticks = m->was_visible,
		.dequeue_count = m->dequeue_count,
		.receipt = { .timed = m->timed,
			     .epoch = epoch,
			     .change = m->change,
			     .sequence = m->sequence,
			     .visible_ticks = m->timed ? m->visible : 0 },
	};
}

void head_forget(struct queue_head *h, const struct message *m)
{
	assert(h->count > 0);
	h->count--;
	if (m->timed) {
		assert(h->timed > 0);
		h->timed--;
		if (h->timed == 0)
			h->due = TICKS_FOREVER;
	} else if (m->sequence == h->ready_head) {
		h->ready_head++;
	}
	if (h->count == h->timed)
		h->ready_head = h->next_sequence;
}

void head_remember_timed(struct queue_head *h, uint64_t visible)
{
	h->timed++;
	if (visible < h->due)
		h->due = visible;
}

static unsigned char receipt_sum(const unsigned char *bytes)
{
	unsigned sum = 0x5a;
	for (int i = 0; i < QUEUE_RECEIPT_BYTES - 1; i++)
		sum = sum * 31 + bytes[i];
	return (unsigned char)(sum ^ (sum >> 8));
}

void queue_receipt_encode(const struct queue_receipt *r, unsigned char dst[QUEUE_RECEIPT_BYTES])
{
	struct buf b = buf_over((char *)dst, QUEUE_RECEIPT_BYTES - 1);
	bytes_put_u8(&b, RECEIPT_VERSION);
	bytes_put_u8(&b, r->timed ? LANE_TIMED : LANE_READY);
	bytes_put_u32(&b, r->change);
	bytes_put_u32(&b, r->epoch);
	bytes_put_u64(&b, r->visible_ticks);
	bytes_put_u64(&b, r->sequence);
	assert(buf_ok(&b) && b.len == QUEUE_RECEIPT_BYTES - 1);
	dst[QUEUE_RECEIPT_BYTES - 1] = receipt_sum(dst);
}

bool queue_receipt_decode(struct slice bytes, struct queue_receipt *ret)
{
	if (bytes.len != QUEUE_RECEIPT_BYTES || bytes.ptr[0] != RECEIPT_VERSION ||
	    receipt_sum((const unsigned char *)bytes.ptr) != (unsigned char)bytes.ptr[QUEUE_RECEIPT_BYTES - 1])
		return false;
	struct cursor c = cursor_make(slice_first(slice_from(bytes, 1), QUEUE_RECEIPT_BYTES - 2));
	uint8_t lane = cursor_u8(&c);
	ret->timed = lane == LANE_TIMED;
	ret->change = cursor_u32(&c);
	ret->epoch = cursor_u32(&c);
	ret->visible_ticks = cursor_u64(&c);
	ret->sequence = cursor_u64(&c);
	return cursor_done(&c) && (ret->timed || lane == LANE_READY);
}

enum err queue_row_weigh(struct slice key, struct slice value, struct arena *arena, uint64_t *ret_bytes)
{
	bool message = key.len && strchr("rvt", key.ptr[0]);
	*ret_bytes = message ? key.len + value.len : 0;
	return ERR_OK;
}

/* Messages that were cleared are not counted once they are swept. */
static bool row_is_message(struct slice key, struct slice value, struct arena *arena)
{
	return key.ptr[0] != 't';
}

const struct count_rule queue_count_rule = { "rvt", queue_row_weigh, row_is_message };

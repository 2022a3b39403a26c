/* SPDX-License-Identifier: Apache-2.0
 * How a queue lies in its partition. Not for other rooms.
 *
 *   'h'                                      head: counters and remembered positions, below
 *   'r' u64(epoch) u64(sequence)             ready lane: messages put without delay and never got nor updated
 *   'v' u64(epoch) u64(visible) u64(sequence) timed lane: all others, by the time they are (or were) visible
 *   't' u64(epoch) u64(sequence)             text of a message that is longer than ROW_TEXT_BYTES
 *   'x' u64(epoch) u64(expires) u64(sequence) expiry index, only of messages whose `indexed` flag is set
 *   's'                                      sweep: positions of the background work
 *
 * Order. The visible time of a ready message is its insertion time, and sequences follow insertion, so both lanes are
 * in order of visible time and a get merges their heads. In the common case (the ready lane's head is older than
 * anything that is due in the timed lane) it needs two point reads and no scan.
 *
 * Remembered positions. Rows before a position have been removed; seeking to it steps over no removed row. They are
 * lower bounds, so a stale one costs time, never a message:
 *   ready_head  sequences only grow, so no later row lies before it
 *   due         the store's time never runs backwards and a row enters the timed lane with visible >= now; a position
 *               moves at most to the `now` of a transaction that saw everything before it (that is what `touched` and
 *               `swept` are for)
 *
 * Expiry without an index row per message. Ready messages whose expiry is not before that of any ready message put
 * earlier (`last_expiry`; always so while everybody uses one time to live) expire in order of sequence: the sweep looks
 * at the first one. Others are indexed when put. A timed message that would expire while hidden is indexed when it is
 * hidden; one that has been due for a while without being got is indexed by the sweep. Getting, updating or deleting
 * takes the index row along.
 *
 * Clear begins a new epoch; rows of older epochs are unreachable and swept. */
#ifndef SVC_QUEUE_ROWS_H
#define SVC_QUEUE_ROWS_H

#include "base/buf.h"
#include "store/key.h"
#include "svc/queue/queue.h"

enum {
	ROW_TEXT_BYTES = 2048, /* longer texts lie apart, so that hiding a message does not rewrite them */
	ROW_FIXED_BYTES = 54,  /* of a message that was received; others have 16 less */
	ROW_KEY_BYTES = 1 + 3 * KEY_U64_BYTES,
};
/* Only what lives at most this long counts for last_expiry: one message of a century would push all others into the
 * index. */
#define ORDERED_TTL_TICKS (UINT64_C(8) * 24 * 3600 * TICKS_PER_SECOND)

struct queue_head {
	uint32_t epoch;
	uint64_t next_sequence;
	uint64_t count; /* rows in both lanes */
	uint64_t timed; /* of them in the timed lane */
	uint64_t ready_head;
	uint64_t due; /* TICKS_FOREVER if the timed lane is empty */
	uint64_t last_expiry;
	uint64_t touched; /* time of the last request that changed the queue */
};
enum err head_load(struct txn *,
		   struct queue_head *ret) MUST_CHECK; /* requires a live generation; new queues have no row */
enum err head_save(struct txn *, const struct queue_head *) MUST_CHECK;

struct queue_sweep_row {
	uint32_t clean_epoch; /* older epochs are gone */
	uint64_t ready;	      /* ready rows before it are indexed or never expire */
	uint64_t timed;	      /* timed rows before (this, timed_sequence) likewise */
	uint64_t timed_sequence;
	uint64_t expiry; /* index rows before it are gone */
	uint64_t swept;	 /* time of the last sweep that was committed */
};
enum err sweep_load(struct txn *, struct queue_sweep_row *ret) MUST_CHECK;
enum err sweep_save(struct txn *, const struct queue_sweep_row *) MUST_CHECK;

/* A message and its place. */
struct message {
	bool timed;
	uint64_t visible; /* timed lane: its key; ready lane: the insertion time */
	uint64_t sequence;
	bool indexed;
	bool text_apart;
	uint32_t change;
	uint32_t dequeue_count;
	uint32_t text_bytes;
	uint64_t salt;
	uint64_t inserted;
	uint64_t expires;     /* TICKS_FOREVER = never */
	uint64_t received;    /* time of the last get; 0 = none, or not known */
	uint64_t was_visible; /* since when it was visible for that get */
	struct slice text;    /* absent if apart */
};

static inline bool message_expired(const struct message *m, uint64_t now)
{
	return m->expires <= now;
}
static inline bool message_mortal(const struct message *m)
{
	return m->expires != TICKS_FOREVER;
}

struct row_key {
	size_t len;
	char bytes[ROW_KEY_BYTES];
};
static inline struct slice row_key_slice(const struct row_key *k)
{
	return slice_make(k->bytes, k->len);
}
void queue_row_key_ready(struct row_key *, uint32_t epoch, uint64_t sequence);
void queue_row_key_timed(struct row_key *, uint32_t epoch, uint64_t visible, uint64_t sequence);
void queue_row_key_text(struct row_key *, uint32_t epoch, uint64_t sequence);
void queue_row_key_expiry(struct row_key *, uint32_t epoch, uint64_t expires, uint64_t sequence);
void queue_row_key_message(struct row_key *, uint32_t epoch, const struct message *);

void message_encode(struct buf *, const struct message *); /* the value of its row */
/* From a row of either lane; the text points into it. */
enum err message_decode(const struct row *, struct message *ret) MUST_CHECK;
enum err message_find(struct txn *, uint32_t epoch, bool timed, uint64_t visible, uint64_t sequence,
		      struct message *ret) MUST_CHECK;
/* Writes the row at m's place, and the index row if m->indexed. Text rows are the caller's. */
enum err message_save(struct txn *, uint32_t epoch, const struct message *) MUST_CHECK;
/* Removes the row and its index row; the text row too if `with_text`. */
enum err message_remove(struct txn *, uint32_t epoch, const struct message *, bool with_text) MUST_CHECK;
enum err message_text(struct txn *, uint32_t epoch, const struct message *, struct slice *ret) MUST_CHECK;

/* The expiry index points back at the row. */
struct expiry_row {
	uint64_t expires, sequence;
	bool timed;
	uint64_t visible;
};
enum err expiry_decode(const struct row *, struct expiry_row *ret) MUST_CHECK;

struct uuid message_id(const struct message *);
bool message_id_matches(const struct message *, const struct uuid *);
/* What the front end shows of it. */
void message_show(const struct message *, uint32_t epoch, struct queue_message *ret);

/* Rows taken out of the lanes: counters and positions follow. */
void head_forget(struct queue_head *, const struct message *);
/* A row enters the timed lane. */
void head_remember_timed(struct queue_head *, uint64_t visible);

#endif

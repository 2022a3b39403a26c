/* SPDX-License-Identifier: Apache-2.0
 * Messages of one queue: the applies that the front end runs on the queue's generation partition, and the background
 * sweep.
 *
 * Rules. A message is visible when its time has come and it has not expired. A get hides it for a while, counts it and
 * gives it a new receipt; an update does so without counting. A receipt stays good until the message is got again,
 * updated, deleted, cleared or expired; that its time has come does not kill it. Order is by the time a message became
 * visible, about QUEUE_ORDER_SLACK exact. Times are ticks (base/clock.h). How the rows lie is in rows.h.
 *
 * Applies reset their outputs at their start and may run several times. Slices they return live in the transaction's
 * arena. */
#ifndef SVC_QUEUE_QUEUE_H
#define SVC_QUEUE_QUEUE_H

#include "base/sys/rng.h"
#include "store/store.h"
#include "svc/common/count.h"

enum { QUEUE_BATCH_MAX = 32, QUEUE_TEXT_BYTES_MAX = 64 * 1024, QUEUE_RECEIPT_BYTES = 27 };
#define QUEUE_TTL_NEVER UINT64_MAX
/* 9999-12-31T23:59:59Z: the last time the protocol can write. A message that would live longer never expires. */
#define QUEUE_TIME_LAST UINT64_C(3155378975990000000)

/* Where a message's row lies and which state of it the receipt stands for. */
struct queue_receipt {
	bool timed;		/* in the timed lane, else in the ready lane */
	uint32_t epoch;		/* of the queue: a clear begins a new one */
	uint32_t change;	/* of the message */
	uint64_t visible_ticks; /* part of the key in the timed lane, else 0 */
	uint64_t sequence;
};
void queue_receipt_encode(const struct queue_receipt *, unsigned char dst[QUEUE_RECEIPT_BYTES]);
/* False: no receipt of ours; it cannot name any message. */
bool queue_receipt_decode(struct slice bytes, struct queue_receipt *ret);

struct queue_message {
	struct uuid id;
	uint64_t inserted_ticks;
	uint64_t expires_ticks; /* QUEUE_TIME_LAST if never */
	uint64_t visible_ticks;
	uint64_t received_ticks;    /* of the last get; 0: never, or by a program that did not keep it */
	uint64_t was_visible_ticks; /* since when that get could have had it; 0 likewise */
	uint32_t dequeue_count;
	struct queue_receipt receipt;
	struct slice text;
};

struct queue_put {
	struct slice text;
	uint64_t salt; /* random: half of the message's id */
	uint32_t delay_s;
	uint64_t ttl_s;		      /* or QUEUE_TTL_NEVER */
	struct queue_message message; /* out, without the text */
};
enum err queue_apply_put(struct txn *, void *call);

/* How far a peek has looked: in the ready lane, and in the timed lane. */
struct queue_position {
	uint64_t sequence;
	uint64_t visible_ticks, visible_sequence;
};

struct queue_get {
	unsigned want;		    /* 1..QUEUE_BATCH_MAX */
	uint32_t timeout_s;	    /* get: how long they stay hidden */
	struct queue_position from; /* peek: where to begin; zero at first */
	unsigned found;		    /* out */
	bool again; /* out: one round of work found only expired messages, and there is more; found is 0 */
	struct queue_position next; /* out of peek, with again: where to go on */
	struct queue_message message[QUEUE_BATCH_MAX];
};
/* Expired messages on the way are removed, so that another round begins behind them. */
enum err queue_apply_get(struct txn *, void *call);
/* As get without hiding, counting or receipts; reads only. Another round has its own snapshot: what was put meanwhile
 * lies behind the position. */
enum err queue_apply_peek(struct txn *, void *call);

/* For who shows a queue: every message from a position on, hidden ones too, in the order of their rows; reads only.
 * `again`: there is more behind `next`, even if nothing was found. */
enum err queue_apply_list(struct txn *, void *queue_get);

struct queue_change {
	struct uuid id;
	bool foreign; /* the receipt or the id cannot be ours: there is no such message */
	struct queue_receipt receipt;
	uint32_t timeout_s; /* update */
	bool has_text;	    /* update: replace the text */
	struct slice text;
	struct queue_message message; /* out of update: receipt, visible_ticks */
	bool past_expiry;	      /* out of update: refused because it would stay hidden until after its end ... */
	uint64_t left_s;	      /* ... which is so far away */
};
enum err queue_apply_update(struct txn *, void *call); /* past_expiry answers ERR_OUT_OF_RANGE_QUERY_PARAMETER_VALUE */
enum err queue_apply_delete(struct txn *, void *call);

/* O(1): what was there is unreachable at once and swept later. Takes no call. */
enum err queue_apply_clear(struct txn *, void *call);

struct queue_count {
	uint64_t count; /* out: messages, hidden ones included */
};
enum err queue_apply_count(struct txn *, void *call);

/* One bounded round of background work on the queue in `partition`: removes expired messages and what a clear left, and
 * moves remembered positions past removed rows so that no request walks over them. Blocks on a commit if there is
 * something to do, so it runs on a background thread, never two at a time for one queue. *ret_more: another round would
 * find work now. A queue that is being deleted is no error. */
enum err queue_sweep(struct store *, struct slice partition, struct arena *, bool *ret_more) MUST_CHECK;

/* What a row weighs in its quota of stored bytes (store/meter.h). */
enum err queue_row_weigh(struct slice key, struct slice value, struct arena *, uint64_t *ret_bytes) MUST_CHECK;
extern const struct count_rule queue_count_rule; /* and how what it holds is counted */

#endif

/* SPDX-License-Identifier: Apache-2.0
 * What the REST front end counts, and how it is shown: requests by operation and status, errors by code, time and
 * bytes, and the last conflicts with the object that was fought over.
 *
 * Each loop counts for itself: only its thread writes, any thread reads, so counting costs a few additions and no
 * shared cache line. Names and help texts stand in metrics.def, once. */
#ifndef REST_METRICS_H
#define REST_METRICS_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/service.h"

struct rest_access;
struct rest_server;
struct exchange;

/* Upper ends of the latency buckets, in microseconds; what takes longer is in one more. */
extern const uint32_t metrics_bucket_us[];
enum { METRICS_BUCKETS = 15, METRICS_STATUS_CLASSES = 5, METRICS_CONFLICTS = 64 };

struct metrics_op {
	atomic_uint_least64_t status[METRICS_STATUS_CLASSES]; /* 1xx to 5xx */
	atomic_uint_least64_t bucket[METRICS_BUCKETS + 1];
	atomic_uint_least64_t total_us, bytes_in, bytes_out;
};

/* A request that lost a race or met a lease: who and over what. Text is cut to fit. */
struct metrics_conflict {
	uint64_t ticks;
	enum err error;
	const char *op;
	uint8_t account_len, object_len, client_len;
	char account[32], object[160], client[64];
};

/* By the slot of an account; what goes past the table is not counted. */
enum { METRICS_ACCOUNTS = 1024 };
struct metrics_account {
	atomic_uint_least64_t answered, refused; /* refused: with an error */
};

struct metrics_loop {
	struct metrics_account accounts[METRICS_ACCOUNTS];
	struct metrics_op *ops[SERVICE_COUNT]; /* op_count each; NULL while the service was not asked */
	struct metrics_op unknown;	       /* no operation was found */
	atomic_uint_least64_t errors[ERR_COUNT];
	atomic_uint_least64_t aborted; /* the peer left before the answer was out */
	/* The newest METRICS_CONFLICTS, in a ring. Conflicts are rare: a lock that nobody else wants costs nothing. */
	pthread_mutex_t conflict_lock;
	uint64_t conflict_count;
	struct metrics_conflict conflict[METRICS_CONFLICTS];
};

enum err metrics_loop_init(struct metrics_loop *, const struct rest_server *) MUST_CHECK;
void metrics_loop_fini(struct metrics_loop *);
/* One request ended, or was cut off. Loop thread. */
void metrics_count(struct exchange *, bool aborted);

/* A few counters over all operations of the services (not those of the admin listener), for who compares moments. */
struct metrics_sum {
	uint64_t at_ms;			      /* the caller's */
	uint64_t requests, errors, conflicts; /* errors: 4xx and 5xx; conflicts: 409 and 412 of them */
	uint64_t bucket[METRICS_BUCKETS + 1];
	uint64_t groups, transactions, sync_us, written_bytes, connections;
};
void metrics_sum(const struct rest_server *, struct metrics_sum *ret);

/* What all loops counted for one operation of a service, or for one account. */
struct metrics_figures {
	uint64_t requests, status[METRICS_STATUS_CLASSES], bucket[METRICS_BUCKETS + 1], total_us, bytes_in, bytes_out;
};
void metrics_add_op(const struct rest_server *, size_t service, size_t op, struct metrics_figures *sum);
void metrics_add_account(const struct rest_server *, unsigned slot, uint64_t *answered, uint64_t *refused);
/* The time, in seconds, that this part (0 to 1) of the requests took at most; within a bucket as if evenly spread. */
double metrics_quantile(const struct metrics_figures *, double part);

/* Answers 409 and 412 by what was in the way. */
enum metrics_conflict_kind {
	CONFLICT_CONDITION,
	CONFLICT_LEASE,
	CONFLICT_EXISTS,
	CONFLICT_OPEN,
	CONFLICT_STATE,
	CONFLICT_KINDS
};
extern const char *const metrics_conflict_word[CONFLICT_KINDS];
void metrics_conflicts(const struct rest_server *, uint64_t ret[CONFLICT_KINDS]);

/* Prometheus' text format, version 0.0.4: everything above, the store's and the engine's counters, the process. */
void metrics_put_text(const struct rest_server *, const struct rest_access *, struct buf *out);
/* The newest conflicts as a JSON array, newest first. */
void metrics_put_conflicts(const struct rest_server *, struct buf *out);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * What happened in the last quarter of an hour, for charts: every SAMPLE_EVERY_MS the first loop writes what came to a
 * few counters into a ring. Fixed memory (50 KiB), some microseconds a sample; only where an admin listener is. */
#ifndef REST_SAMPLES_H
#define REST_SAMPLES_H

#include <pthread.h>

#include "base/buf.h"
#include "io/loop.h"
#include "rest/core/metrics.h"

enum { SAMPLE_EVERY_MS = 2000, SAMPLES_KEPT = 15 * 60 * 1000 / SAMPLE_EVERY_MS };

/* Of one interval. Counters that do not fit stay at their most. */
struct sample {
	uint64_t at_ms; /* its end, of the monotonic clock */
	uint32_t span_ms;
	uint32_t requests, errors, conflicts; /* of the services; what operators ask is no load */
	uint32_t bucket[METRICS_BUCKETS + 1]; /* requests by their time */
	uint32_t groups, transactions;	      /* made durable */
	uint32_t sync_us;		      /* that took */
	uint32_t written_kib;
	uint32_t connections; /* at its end */
};

struct samples {
	struct rest_server *server;
	struct io_timer timer;
	struct metrics_sum last; /* first loop only */
	pthread_mutex_t lock;
	uint64_t next;	       /* number of the next sample; the ring holds those before it */
	struct sample *sample; /* SAMPLES_KEPT; NULL: nobody can ask */
};

void samples_init(struct samples *);
/* Before the first loop's thread runs. ERR_NO_MEMORY. */
enum err samples_start(struct samples *, struct rest_server *) MUST_CHECK;
void samples_fini(struct samples *);
/* {"now":ms,"next":N,"bounds":[us,...],"samples":[[...],...]}: those from number `since` on that are still there,
 * oldest first; of each the numbers in the order of put_sample, the buckets last. Any thread. */
void samples_read(struct samples *, uint64_t since, struct buf *out);

#endif

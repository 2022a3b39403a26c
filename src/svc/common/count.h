/* SPDX-License-Identifier: Apache-2.0
 * What a container, queue, table or share holds, counted by going through its rows: for figures that nobody needs at
 * every moment. What must be exact at every commit is metered (store/meter.h). */
#ifndef SVC_COUNT_H
#define SVC_COUNT_H

#include "store/meter.h"

struct count {
	uint64_t objects; /* blobs, messages, entities, files */
	uint64_t bytes;	  /* as a quota of stored bytes weighs them */
};

/* How a service's rows are counted: only those that begin with one of the tags are read. */
struct count_rule {
	const char *tags;
	meter_weigh_fn *weigh;
	bool (*is_object)(struct slice key, struct slice value, struct arena *);
};

/* Adds what the partition holds, page by page, each page at its own moment: what is written meanwhile may be in it or
 * not. `go_on` is asked after each page, with the sum so far; false ends it with ERR_STOPPED. Blocks. */
enum err count_partition(struct store *, struct slice partition, const struct count_rule *,
			 bool (*go_on)(void *arg, const struct count *), void *arg, struct count *sum) MUST_CHECK;

#endif

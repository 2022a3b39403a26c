/* SPDX-License-Identifier: Apache-2.0
 * One page of a query: walks the plan's ranges on one snapshot, asks the filter, hands matching entities to the caller.
 *
 * A page ends at `limit` entities, when the caller has had enough (emit says so, or expired between two scans), or at
 * the end of the ranges. Unless it is the end, the next keys name where to go on (the first entity not looked at, or a
 * point between two). The rows of a scan are dropped before the next one, so a long search holds one scan's memory. */
#ifndef SVC_TABLE_QUERY_H
#define SVC_TABLE_QUERY_H

#include "svc/table/filter.h"

struct table_query {
	const struct filter *filter; /* NULL: everything in the ranges */
	const struct plan *plan;
	struct slice from; /* absent, or the key to go on from */
	size_t limit;	   /* entities */
	/* Takes one; its slices are gone when it returns. *ret_full: the page is full, this one still belongs to it. */
	enum err (*emit)(void *arg, const struct entity *, bool *ret_full);
	/* Asked after every scan: stop here? May be NULL. */
	bool (*expired)(void *arg);
	void *arg;
	/* out */
	size_t matched;
	uint64_t scanned;
	bool more;
	struct slice next_partition_key, next_row_key; /* if more; in next_bytes */
	char next_bytes[LIMIT_KEY_BYTES + 1];
};

enum err table_query_apply(struct txn *, void *table_query);

#endif

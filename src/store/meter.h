/* SPDX-License-Identifier: Apache-2.0
 * How many bytes a partition holds, where somebody asked for it, and a bound on them. The number is a row of the
 * partition (KEY_USAGE) that each transaction brings up to date in its own commit, so it is exact: of writers that
 * race for the last bytes those that do not fit fail with ERR_QUOTA_REACHED, and a transaction that makes the partition
 * smaller always passes. Where nobody asks, nothing is counted and nothing is paid.
 *
 * What a row weighs is the service's to say: a pure function of key and value. A partition is counted from its first
 * key on, some rows a transaction; the row says how far that came, and rows before that place are kept up to date
 * meanwhile. Its bound holds once everything was counted. Metering lasts until the store is closed; the next opening
 * counts anew, because somebody may have written without (the row names the opening it was made in). */
#ifndef STORE_METER_H
#define STORE_METER_H

#include "store/store.h"

/* What the row weighs. The arena is for the moment. */
typedef enum err meter_weigh_fn(struct slice key, struct slice value, struct arena *, uint64_t *ret_bytes);

/* From now on; again: another bound. limit_bytes 0: none. Any thread. ERR_LIMIT: too many partitions. */
enum err store_meter(struct store *, struct slice partition, meter_weigh_fn *, uint64_t limit_bytes) MUST_CHECK;
bool store_is_metered(struct store *, struct slice partition);
/* Counts what is there; blocks. ERR_OK also if it is not metered. */
enum err store_meter_count(struct store *, struct slice partition) MUST_CHECK;
/* Of all metered partitions whose id begins with `prefix`, as of their last transactions. Any thread. */
uint64_t store_usage(struct store *, struct slice prefix);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Giving back what no record names any more. Short lists of extents are retired in the transaction that drops the last
 * name; longer ones are queued as one 'z' row and emptied in the background, in the order they were queued, a bounded
 * piece at a time. The order matters: a staging is emptied before the content that took blocks from it. */
#ifndef SVC_BLOB_RETIRE_H
#define SVC_BLOB_RETIRE_H

#include "svc/blob/record.h"

enum { RETIRE_AT_ONCE_EXTENTS = 64 };

/* No record names the content any more. */
enum err blob_retire_content(struct txn *, const struct content *) MUST_CHECK;
/* The staging `id` of `name` is over; blocks that the content `kept` took are not given back (kept.kind EMPTY: none).
 */
enum err blob_retire_staging(struct txn *, struct slice name, uint64_t staging, const struct content *kept) MUST_CHECK;
/* As blob_retire_content, but blocks that `kept` took over stay. */
enum err blob_retire_content_keeping(struct txn *, const struct content *, const struct content *kept) MUST_CHECK;

/* A range of page chunks was cleared by a row: it is to be swept (page_clear.c). */
enum err blob_retire_clear(struct txn *, uint64_t content, uint64_t ticks) MUST_CHECK;

/* The history of a name has a mark: it is to be swept (history.c). */
enum err blob_retire_history(struct txn *, struct slice name) MUST_CHECK;

/* A 'p' row names these extents no longer (blob_extent_drop_ref each): a few at once, many in the background. */
enum err blob_retire_names(struct txn *, const struct extent_ref *, uint16_t count) MUST_CHECK;

/* Is the block list `content` on its way out? Then parts of it are gone, and with them the owners of extents that other
 * parts still name. */
enum err blob_retire_is_queued(struct txn *, uint64_t content, bool *ret) MUST_CHECK;

/* Background: one bounded piece of the partition's queue, if there is one. *ret_more: it may have been longer. Blocks.
 */
enum err blob_retire_round(struct store *, struct slice partition, bool *ret_more) MUST_CHECK;
/* Everything in a dropped container (resource_empty_fn): retires the extents that its rows name, a bounded piece per
 * call. */
enum err blob_retire_container(struct store *, struct slice partition, bool *ret_more) MUST_CHECK;

#endif

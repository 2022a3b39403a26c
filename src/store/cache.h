/* SPDX-License-Identifier: Apache-2.0
 * The cache of hot records: unwrapped payloads (and "there is none"), by partition and key, bounded in bytes.
 *
 * It never shows a record older than one a finished read could have seen. The committer brackets every group:
 * cache_flux_begin before the commit takes the group's keys out and refuses to let them in; cache_flux_end after it
 * (and before anybody is told) lets them in again, with the new value if the key was hot. A reader that missed got a
 * ticket before it reads the engine; cache_fill refuses if the key is in flux or its shard saw a flux end since the
 * ticket. Threads: any for find, ticket and fill; one at a time for the flux calls. */
#ifndef STORE_CACHE_H
#define STORE_CACHE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"

struct cache;

struct cache *cache_new(size_t limit_bytes); /* NULL: out of memory */
void cache_free(struct cache *);	     /* accepts NULL */

/* Hashes are the caller's (store_hash), the same for the same key.
 * True: *ret_err is ERR_OK (the value copied into the arena), ERR_NOT_FOUND (known to be absent) or ERR_NO_MEMORY.
 * False: *ret_ticket is for cache_fill. */
bool cache_find(struct cache *, uint64_t hash, struct slice partition, struct slice key, struct arena *,
		struct slice *ret, enum err *ret_err, uint64_t *ret_ticket);
/* An absent value says that there is no record. */
void cache_fill(struct cache *, uint64_t hash, struct slice partition, struct slice key, struct slice value,
		uint64_t ticket);
void cache_flux_begin(struct cache *, uint64_t hash, struct slice partition, struct slice key);
/* An absent value: deleted, or unknown (keep = false). Called once for every cache_flux_begin. */
void cache_flux_end(struct cache *, uint64_t hash, struct slice partition, struct slice key, struct slice value,
		    bool keep);
void cache_stats(struct cache *, uint64_t *ret_hits, uint64_t *ret_misses, size_t *ret_bytes);

#endif

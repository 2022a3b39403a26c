/* SPDX-License-Identifier: Apache-2.0
 * Retired extents. A commit that retires one writes a row under the next sequence number; a reader's pin remembers the
 * newest number that was committed when it was taken. Everything retired at or before the oldest pin can be seen by
 * nobody: reclaim deletes its row and clears its published bits in one batch, and then gives the blocks back. That
 * batch is in the journal before, as every other: if a crash loses it, the row is still there and is worked again. */
#include "engine/rocks/locator/locator.h"
#include "engine/rocks/rocks_int.h"
#include "engine/rocks/segment/segment.h"

#include "base/bytes.h"
#include "base/sys/clock.h"

#include <assert.h>
#include <stdlib.h>

enum { RECLAIM_ROWS = 256, COUNT_ROWS_MAX = 100000 };
enum { COMPACT_TABLES = 8 };				      /* of the largest levels, 32 MiB each, in one round */
#define COMPACT_SOON_NS	 (UINT64_C(500) * 1000 * 1000)	      /* something was deleted since */
#define COMPACT_AGAIN_NS (UINT64_C(600) * 1000 * 1000 * 1000) /* nothing that is known of */

void rocks_put_retired(struct rocks *r, rocksdb_writebatch_t *batch, uint64_t sequence, const struct extent_ref *e)
{
	struct layout_row row;
	layout_retired_encode(&row, sequence, e);
	rocks_put_own(r, batch, &row);
}

/* ---- pins ---- */

uint64_t rocks_pin(struct engine *e)
{
	struct rocks *r = rocks_of(e);
	pthread_mutex_lock(&r->pin_lock);
	uint64_t at = atomic_load(&r->retire_durable);
	if (r->pin_count && r->pins[r->pin_count - 1].at == at) {
		r->pins[r->pin_count - 1].count++;
	} else {
		if (r->pin_count == r->pin_cap) {
			size_t cap = r->pin_cap ? r->pin_cap * 2 : 64;
			struct pin_bucket *p = realloc(r->pins, cap * sizeof *p);
			/* Without memory the newest bucket serves: it holds back more than needed, never less. */
			if (!p) {
				assert(r->pin_count);
				r->pins[r->pin_count - 1].count++;
				at = r->pins[r->pin_count - 1].at;
				pthread_mutex_unlock(&r->pin_lock);
				return at + 1;
			}
			r->pins = p;
			r->pin_cap = cap;
		}
		r->pins[r->pin_count++] = (struct pin_bucket){ at, 1 };
	}
	pthread_mutex_unlock(&r->pin_lock);
	return at + 1; /* never 0 */
}

void rocks_unpin(struct engine *e, uint64_t pin)
{
	struct rocks *r = rocks_of(e);
	uint64_t at = pin - 1;
	pthread_mutex_lock(&r->pin_lock);
	size_t low = 0, high = r->pin_count;
	while (low < high) {
		size_t mid = (low + high) / 2;
		if (r->pins[mid].at < at)
			low = mid + 1;
		else
			high = mid;
	}
	assert(low < r->pin_count && r->pins[low].at == at && r->pins[low].count);
	if (--r->pins[low].count == 0) {
		r->pin_count--;
		memmove(&r->pins[low], &r->pins[low + 1], (r->pin_count - low) * sizeof *r->pins);
	}
	pthread_mutex_unlock(&r->pin_lock);
}

/* Every retire up to this number is out of sight. */
static uint64_t unseen_until(struct rocks *r)
{
	pthread_mutex_lock(&r->pin_lock);
	/* Read before the pins are: a pin taken later cannot be older. */
	uint64_t until = atomic_load(&r->retire_durable);
	if (r->pin_count && r->pins[0].at < until)
		until = r->pins[0].at;
	pthread_mutex_unlock(&r->pin_lock);
	return until;
}

/* ---- reclaim ---- */

struct retired {
	uint64_t sequence;
	struct extent_ref extent;
};

static enum err retired_row(rocksdb_iterator_t *it, struct retired *ret)
{
	size_t key_len, value_len;
	const char *key = rocksdb_iter_key(it, &key_len), *value = rocksdb_iter_value(it, &value_len);
	return layout_retired_decode(slice_make(key, key_len), slice_make(value, value_len), &ret->sequence,
				     &ret->extent);
}

/* A row that is damaged stops the round before it: clearing the wrong bits would let others write over live bytes. */
static enum err retired_read(struct rocks *r, uint64_t until, struct retired *ret, size_t *ret_count, bool *ret_more)
{
	char from[LAYOUT_RETIRED_KEY_BYTES], end[LAYOUT_RETIRED_KEY_BYTES];
	size_t n = 0;
	enum err damaged = ERR_OK;
	layout_retired_key(from, r->reclaim_from);
	layout_retired_key(end, until + 1);
	rocksdb_readoptions_t *read = rocksdb_readoptions_create();
	rocksdb_readoptions_set_iterate_upper_bound(read, end, sizeof end);
	rocksdb_iterator_t *it = rocksdb_create_iterator_cf(r->db, read, r->family[FAMILY_METADATA]);
	for (rocksdb_iter_seek(it, from, sizeof from); n < RECLAIM_ROWS && rocksdb_iter_valid(it);
	     rocksdb_iter_next(it)) {
		damaged = retired_row(it, &ret[n]);
		if (damaged != ERR_OK)
			break;
		n++;
	}
	*ret_more = rocksdb_iter_valid(it) && damaged == ERR_OK;
	*ret_count = n;
	char *error = NULL;
	rocksdb_iter_get_error(it, &error);
	rocksdb_iter_destroy(it);
	rocksdb_readoptions_destroy(read);
	enum err err = rocks_error(error);
	return err == ERR_OK && !n ? damaged : err;
}

static enum err reclaim_rows(struct rocks *r, const struct retired *dead, size_t count)
{
	bool cleared[RECLAIM_ROWS];
	rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
	pthread_mutex_lock(&r->publish_lock);
	for (size_t i = 0; i < count; i++) {
		char key[LAYOUT_RETIRED_KEY_BYTES];
		layout_retired_key(key, dead[i].sequence);
		rocksdb_writebatch_delete_cf(batch, r->family[FAMILY_METADATA], key, sizeof key);
		cleared[i] = segment_published_set(r->segments, &dead[i].extent, false);
	}
	for (size_t i = 0; i < count; i++) {
		uint32_t region = segment_region(&dead[i].extent);
		bool seen = !cleared[i];
		for (size_t k = 0; k < i && !seen; k++)
			seen = cleared[k] && segment_region(&dead[k].extent) == region;
		if (!seen)
			rocks_put_bitmap(r, batch, region);
	}
	enum err err = rocks_write(r, batch, (struct rocks_changed){ 0 }, false);
	if (err == ERR_NO_SPACE)
		for (size_t i = 0; i < count; i++)
			if (cleared[i])
				segment_published_set(r->segments, &dead[i].extent, true);
	pthread_mutex_unlock(&r->publish_lock);
	rocksdb_writebatch_destroy(batch);
	TRY(err);
	for (size_t i = 0; i < count; i++)
		if (cleared[i])
			segment_release(r->segments, &dead[i].extent);
	r->reclaim_from = dead[count - 1].sequence + 1;
	atomic_fetch_sub(&r->retired_waiting, count);
	return ERR_OK;
}

/* ---- compaction ---- */

static int by_key(const void *a, const void *b)
{
	return slice_cmp(*(const struct slice *)a, *(const struct slice *)b);
}

/* Where the tables of a family begin behind `from`, in order; the caller frees them. NULL: none, or no memory. */
static struct slice *tables_behind(const rocksdb_livefiles_t *files, const char *family, struct slice from,
				   size_t *ret_count)
{
	int all = rocksdb_livefiles_count(files);
	struct slice *begin = malloc(((size_t)all + 1) * sizeof *begin);
	size_t count = 0;
	for (int i = 0; begin && i < all; i++) {
		size_t len;
		const char *key = rocksdb_livefiles_smallestkey(files, i, &len);
		/* Those of level 0 begin anywhere. */
		if (rocksdb_livefiles_level(files, i) > 0 && slice_cmp(slice_make(key, len), from) > 0 &&
		    strcmp(rocksdb_livefiles_column_family_name(files, i), family) == 0)
			begin[count++] = slice_make(key, len);
	}
	if (count)
		qsort(begin, count, sizeof *begin, by_key);
	*ret_count = count;
	return begin;
}

/* The end of the next piece. False: it has none, the piece reaches to the end of the family. */
static bool piece_end(struct rocks *r, struct full_key *ret)
{
	struct slice from = slice_make(r->compact_from.bytes, r->compact_from.len);
	size_t count;
	const rocksdb_livefiles_t *files = rocksdb_livefiles(r->db);
	struct slice *begin = tables_behind(files, layout_family_name[r->compact_family], from, &count);
	bool found = begin && count > COMPACT_TABLES && begin[COMPACT_TABLES].len <= sizeof ret->bytes;
	if (found) {
		ret->len = begin[COMPACT_TABLES].len;
		memcpy(ret->bytes, begin[COMPACT_TABLES].ptr, ret->len);
	}
	free(begin);
	rocksdb_livefiles_destroy(files);
	return found;
}

/* It may write what the family has in memory to a table. */
static enum err compact_piece(struct rocks *r)
{
	struct full_key *from = &r->compact_from, until;
	bool ends = piece_end(r, &until);
	pthread_mutex_lock(&r->compact_lock);
	enum err err = rocks_tables_begin(r);
	if (err == ERR_OK)
		rocksdb_compact_range_cf(r->db, r->family[r->compact_family], from->len ? from->bytes : NULL, from->len,
					 ends ? until.bytes : NULL, ends ? until.len : 0);
	rocks_tables_end(r);
	pthread_mutex_unlock(&r->compact_lock);
	TRY(err);
	if (ends) {
		memcpy(from->bytes, until.bytes, until.len);
		from->len = until.len;
	} else {
		from->len = 0;
		r->compact_family++;
	}
	return ERR_OK;
}

static bool compaction_begins(struct rocks *r)
{
	uint64_t deleted = atomic_load(&r->deletes_when_short), now = base_monotonic_ns();
	if (!atomic_load(&r->short_of_space) || now - r->compacted_ns < (deleted ? COMPACT_SOON_NS : COMPACT_AGAIN_NS))
		return false;
	/* With next to nothing free a flush would fail, and with it the store: first extents give their space back. */
	if (atomic_load(&r->hurries) || rocks_is_tight(r) || rocks_flush(r) != ERR_OK)
		return false;
	r->compact_family = 0;
	r->compact_from.len = 0;
	r->compact_deletes = deleted;
	return true;
}

/* Short of space, deleted rows are compacted away now and not some day. A piece at a time: the space of extents is
 * given back in between. Its errors are RocksDB's own to deal with: a compaction that finds no room is undone and tried
 * again. True: there is more to do. */
static bool compact_deleted(struct rocks *r)
{
	r->compacting = r->compacting || compaction_begins(r);
	if (!r->compacting || atomic_load(&r->hurries))
		return false;
	if (compact_piece(r) != ERR_OK)
		return false; /* and nothing more is written */
	if (r->compact_family < FAMILIES)
		return true;
	r->compacting = false;
	if (r->locator)
		locator_look(r->locator); /* it keeps tables open that are gone, and with them their space */
	atomic_fetch_sub(&r->deletes_when_short, r->compact_deletes);
	r->compacted_ns = base_monotonic_ns();
	atomic_store(&r->compaction_looked_ns, 0);
	return false;
}

enum err rocks_reclaim(struct engine *e, bool *ret_more)
{
	struct rocks *r = rocks_of(e);
	struct retired dead[RECLAIM_ROWS];
	size_t count = 0;
	bool more = false;
	if (atomic_load(&r->failed))
		return ERR_STOPPED;
	if (atomic_load(&r->retired_waiting)) {
		uint64_t until = unseen_until(r);
		TRY(retired_read(r, until, dead, &count, &more));
		if (count)
			TRY(reclaim_rows(r, dead, count));
	}
	if (!more) {
		segments_give_back(r->segments, atomic_load(&r->short_of_space));
		more = compact_deleted(r);
	}
	*ret_more = more;
	return ERR_OK;
}

/* A piece may take seconds on a slow disk: a stop would wait for it. */
void rocks_reclaim_hurry(struct engine *e)
{
	struct rocks *r = rocks_of(e);
	atomic_store(&r->hurries, true);
	if (!atomic_load(&r->failed))
		rocksdb_disable_manual_compaction(r->db);
}

/* The last row, where there are too many to count one by one. */
static enum err retired_last(rocksdb_iterator_t *it, struct retired *ret)
{
	rocksdb_iter_seek_to_last(it);
	return rocksdb_iter_valid(it) ? retired_row(it, ret) : ERR_OK;
}

enum err rocks_reclaim_open(struct rocks *r)
{
	char from[LAYOUT_RETIRED_KEY_BYTES], end[2] = { 0, 'd' + 1 };
	uint64_t count = 0, first = 1;
	struct retired last = { .sequence = 0 };
	enum err damaged = ERR_OK;
	layout_retired_key(from, 0);
	rocksdb_readoptions_t *read = rocksdb_readoptions_create();
	rocksdb_readoptions_set_iterate_upper_bound(read, end, sizeof end);
	rocksdb_iterator_t *it = rocksdb_create_iterator_cf(r->db, read, r->family[FAMILY_METADATA]);
	for (rocksdb_iter_seek(it, from, sizeof from);
	     damaged == ERR_OK && count < COUNT_ROWS_MAX && rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
		damaged = retired_row(it, &last);
		if (count++ == 0)
			first = last.sequence;
	}
	if (damaged == ERR_OK && rocksdb_iter_valid(it)) {
		damaged = retired_last(it, &last);
		count = last.sequence - first + 1; /* sequences have no holes but those of lost groups */
	}
	char *error = NULL;
	rocksdb_iter_get_error(it, &error);
	rocksdb_iter_destroy(it);
	rocksdb_readoptions_destroy(read);
	r->reclaim_from = first;
	r->retire_next = last.sequence + 1;
	r->retire_durable = last.sequence;
	r->retired_waiting = count;
	enum err err = rocks_error(error);
	return err == ERR_OK ? damaged : err;
}

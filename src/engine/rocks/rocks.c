/* SPDX-License-Identifier: Apache-2.0
 * Rows in RocksDB: reads, scans, snapshots, dropping and listing partitions. */
#include "engine/rocks/locator/locator.h"
#include "engine/rocks/rocks_int.h"
#include "engine/rocks/segment/segment.h"
#include "store/key.h"

#include <assert.h>
#include <stdlib.h>

enum {
	SCAN_FIRST_ROWS = 32,
	SCAN_FOLD_STEPS = 1,  /* past one row more; a seek costs what three steps cost (bench/run listdirs) */
	SCAN_LONG_ROWS = 256, /* a page of a list: 12 reads of the file instead of 639 for 5,000 blobs */
	SCAN_AHEAD_BYTES = 256 * 1024,
	DROP_SMALL_ROWS = 256,
	ERROR_TEXT_BYTES = 1024,
};

static _Thread_local char last_error[ERROR_TEXT_BYTES];

enum err rocks_error(char *text)
{
	last_error[0] = 0;
	if (!text)
		return ERR_OK;
	snprintf(last_error, sizeof last_error, "%s", text);
	enum err err = ERR_IO;
	if (strncmp(text, "Corruption", 10) == 0)
		err = ERR_CORRUPT;
	else if (strstr(text, "No space left"))
		err = ERR_NO_SPACE;
	rocksdb_free(text);
	return err;
}

const char *rocks_last_error(void)
{
	return last_error;
}

uint64_t rocks_property(struct rocks *r, const char *name)
{
	uint64_t sum = 0, one;
	for (int i = 0; i < FAMILIES; i++)
		if (rocksdb_property_int_cf(r->db, r->family[i], name, &one) == 0)
			sum += one;
	return sum;
}

void rocks_count_nothing(void)
{
	static _Thread_local bool told;
	if (!told)
		rocksdb_set_perf_level(rocksdb_disable);
	told = true;
}

static enum err get_from_rocksdb(struct rocks *r, enum family family, rocksdb_readoptions_t *read,
				 struct slice full_key, struct arena *arena, struct slice *ret)
{
	char *error = NULL;
	rocks_count_nothing();
	rocksdb_pinnableslice_t *p =
		rocksdb_get_pinned_cf(r->db, read, r->family[family], full_key.ptr, full_key.len, &error);
	if (error)
		return rocks_error(error);
	if (!p)
		return ERR_NOT_FOUND;
	size_t len;
	const char *value = rocksdb_pinnableslice_value(p, &len);
	struct slice copy = arena_dup(arena, slice_make(value, len));
	rocksdb_pinnableslice_destroy(p);
	if (!slice_is_set(copy))
		return ERR_NO_MEMORY;
	*ret = copy;
	return ERR_OK;
}

enum err rocks_get(struct rocks *r, enum family family, rocksdb_readoptions_t *read, struct slice full_key,
		   struct arena *arena, struct slice *ret)
{
	bool now = read == r->read; /* and not as of a snapshot */
	switch (now && r->locator ? locator_find(r->locator, family, full_key, arena, ret) : LOCATED_UNKNOWN) {
	case LOCATED_ROW:
		return ERR_OK;
	case LOCATED_NOTHING:
		return ERR_NOT_FOUND;
	case LOCATED_UNKNOWN:
		break;
	}
	return get_from_rocksdb(r, family, read, full_key, arena, ret);
}

/* The row "flushed through" is put behind all others and only after those of the other families are in tables: whatever
 * prefix of its own changes RocksDB remembers after a crash, the row is there only if everything up to its number is.
 * */
static char *flush_families(struct rocks *r, rocksdb_flushoptions_t *o)
{
	char *error = NULL;
	struct layout_row row;
	uint64_t through = atomic_load(&r->last_number);
	for (int i = 0; i < FAMILY_METADATA && !error; i++)
		rocksdb_flush_cf(r->db, o, r->family[i], &error);
	layout_number_encode(&row, LAYOUT_FLUSHED_KEY, through);
	if (!error)
		rocksdb_put_cf(r->db, r->write_memory, r->family[FAMILY_METADATA], row.key, row.key_len, row.value,
			       row.value_len, &error);
	if (!error)
		rocksdb_flush_cf(r->db, o, r->family[FAMILY_METADATA], &error);
	return error;
}

enum err rocks_flush(struct rocks *r)
{
	enum err err = rocks_tables_begin(r);
	if (err == ERR_OK)
		err = rocks_flush_synced(r);
	rocks_tables_end(r);
	return err;
}

enum err rocks_flush_synced(struct rocks *r)
{
	pthread_mutex_lock(&r->flush_lock);
	uint64_t page = r->locator ? locator_flush_begin(r->locator) : 0;
	rocksdb_flushoptions_t *o = rocksdb_flushoptions_create();
	char *error = flush_families(r, o);
	rocksdb_flushoptions_destroy(o);
	if (r->locator && !error)
		locator_flushed(r->locator, page);
	pthread_mutex_unlock(&r->flush_lock);
	return rocks_error(error);
}

/* ---- scans ---- */

struct scan {
	struct arena *arena;
	struct rows rows;
	size_t cap, limit, bytes, skip;
	bool keys_only;
	struct slice partition;
	size_t (*fold)(void *arg, struct slice key);
	void *fold_arg;
};

static bool scan_full(const struct scan *s)
{
	return s->rows.count == s->limit || (s->rows.count && s->bytes >= LIMIT_SCAN_BYTES);
}

static enum err scan_add(struct scan *s, struct slice full_key, struct slice value)
{
	if (s->rows.count == s->cap) {
		size_t cap = s->cap ? s->cap * 4 : SCAN_FIRST_ROWS;
		if (cap > s->limit)
			cap = s->limit;
		struct row *rows = arena_alloc(s->arena, cap * sizeof *rows);
		if (!rows)
			return ERR_NO_MEMORY;
		if (s->rows.count)
			memcpy(rows, s->rows.row, s->rows.count * sizeof *rows);
		s->rows.row = rows;
		s->cap = cap;
	}
	struct slice key = slice_from(full_key, s->skip);
	size_t value_len = s->keys_only ? 0 : value.len;
	char *copy = arena_alloc(s->arena, key.len + value_len);
	if (!copy)
		return ERR_NO_MEMORY;
	if (key.len)
		memcpy(copy, key.ptr, key.len);
	if (value_len)
		memcpy(copy + key.len, value.ptr, value_len);
	s->rows.row[s->rows.count++] =
		(struct row){ slice_make(copy, key.len),
			      s->keys_only ? SLICE_NONE : slice_make(copy + key.len, value_len) };
	s->bytes += key.len + value_len;
	return ERR_OK;
}

static struct slice iter_key(const rocksdb_iterator_t *it)
{
	size_t len;
	const char *p = rocksdb_iter_key(it, &len);
	return slice_make(p, len);
}

static struct slice iter_value(const rocksdb_iterator_t *it)
{
	size_t len;
	const char *p = rocksdb_iter_value(it, &len);
	return slice_make(p, len);
}

static enum err iter_error(rocksdb_iterator_t *it)
{
	char *error = NULL;
	rocksdb_iter_get_error(it, &error);
	return rocks_error(error);
}

/* Past the row that was added and what its beginning stands for: by steps if that is near, else by a seek. */
static void scan_fold(struct scan *s, rocksdb_iterator_t *it)
{
	struct slice key = iter_key(it);
	size_t folded = s->fold(s->fold_arg, slice_from(key, s->skip));
	struct key end;
	struct full_key full;
	rocksdb_iter_next(it);
	if (folded == 0)
		return;
	/* The key that was added is in the arena: the iterator's own is gone. */
	struct slice added = s->rows.row[s->rows.count - 1].key, begin = slice_first(added, folded);
	for (int step = 0; step < SCAN_FOLD_STEPS; step++) {
		if (!rocksdb_iter_valid(it) || !slice_has_prefix(slice_from(iter_key(it), s->skip), begin))
			return;
		rocksdb_iter_next(it);
	}
	key_init(&end);
	memcpy(end.bytes, begin.ptr, begin.len); /* no longer than a key of ours */
	end.len = begin.len;
	key_prefix_end(&end);
	full_key_make(&full, s->partition, key_slice(&end));
	rocksdb_iter_seek(it, full.bytes, full.len);
}

static enum err scan_merge(struct scan *s, rocksdb_iterator_t *it, struct overlay_pair pair, struct slice until)
{
	for (;;) {
		bool db = rocksdb_iter_valid(it);
		const struct overlay_node *o = overlay_pair_first(&pair);
		if (o && slice_cmp(o->key, until) >= 0)
			o = NULL;
		if (!db && !o)
			return ERR_OK;
		struct slice key = db ? iter_key(it) : SLICE_NONE;
		int order = !o ? -1 : !db ? 1 : slice_cmp(key, o->key);
		bool deleted = order >= 0 && !slice_is_set(o->value);
		if (!deleted) {
			if (scan_full(s)) {
				s->rows.more = true;
				return ERR_OK;
			}
			TRY(order < 0 ? scan_add(s, key, iter_value(it)) : scan_add(s, o->key, o->value));
		}
		if (order < 0 && !o && s->fold) {
			scan_fold(s, it);
			continue;
		}
		if (order <= 0)
			rocksdb_iter_next(it);
		if (order >= 0)
			overlay_pair_next(&pair);
	}
}

static enum err scan_by(rocksdb_iterator_t *it, const struct engine_group *group, struct slice from, struct slice until,
			struct scan *s)
{
	rocksdb_iter_seek(it, from.ptr, from.len);
	struct overlay_pair pair = { group ? overlay_seek(&group->overlay, from) : NULL,
				     group && group->below ? overlay_seek(&group->below->overlay, from) : NULL };
	TRY(scan_merge(s, it, pair, until));
	return iter_error(it);
}

/* To make an iterator over all tables costs more than a few rows read with it. RocksDB asks for the end of a scan again
 * at each seek. */
static enum err scan_short(struct engine_group *g, struct slice from, struct slice until, struct scan *s)
{
	rocksdb_readoptions_set_iterate_upper_bound(g->iterator_read, until.ptr, until.len);
	if (!g->iterator)
		g->iterator = rocksdb_create_iterator_cf(g->rocks->db, g->iterator_read, g->rocks->family[FAMILY_ROWS]);
	return scan_by(g->iterator, g, from, until, s);
}

/* One family's part of a scan. */
static enum err scan_family(struct rocks *r, enum family family, const rocksdb_snapshot_t *snapshot,
			    struct engine_group *group, struct slice from, struct slice until, struct scan *s)
{
	if (slice_cmp(from, until) >= 0)
		return ERR_OK;
	rocks_count_nothing();
	if (group && !snapshot && family == FAMILY_ROWS && s->limit < SCAN_LONG_ROWS)
		return scan_short(group, from, until, s);
	rocksdb_readoptions_t *read = rocksdb_readoptions_create();
	rocksdb_readoptions_set_snapshot(read, snapshot);
	rocksdb_readoptions_set_iterate_upper_bound(read, until.ptr, until.len);
	if (s->limit >= SCAN_LONG_ROWS && !s->fold)
		rocksdb_readoptions_set_readahead_size(read, SCAN_AHEAD_BYTES);
	rocksdb_iterator_t *it = rocksdb_create_iterator_cf(r->db, read, r->family[family]);
	enum err err = scan_by(it, group, from, until, s);
	rocksdb_iter_destroy(it);
	rocksdb_readoptions_destroy(read);
	return err;
}

static struct slice key_min(struct slice a, struct slice b)
{
	return slice_cmp(a, b) < 0 ? a : b;
}

static struct slice key_max(struct slice a, struct slice b)
{
	return slice_cmp(a, b) < 0 ? b : a;
}

enum err rocks_scan(struct rocks *r, const rocksdb_snapshot_t *snapshot, struct engine_group *group,
		    struct slice partition, const struct scan_spec *spec, struct arena *arena, struct rows *ret)
{
	static const char first_content[] = { KEY_TAG_CONTENT }, behind_contents[] = { KEY_TAG_CONTENT + 1 };
	struct full_key from_key, until_key, low_key, high_key;
	full_key_make(&from_key, partition, spec->from);
	if (slice_is_set(spec->until))
		full_key_make(&until_key, partition, spec->until);
	else
		full_key_make_end(&until_key, partition);
	full_key_make(&low_key, partition, slice_make(first_content, 1));
	full_key_make(&high_key, partition, slice_make(behind_contents, 1));
	struct slice from = full_key_slice(&from_key), until = full_key_slice(&until_key),
		     low = full_key_slice(&low_key), high = full_key_slice(&high_key);
	struct scan s = { .arena = arena,
			  .skip = partition.len + 1,
			  .keys_only = spec->keys_only,
			  .partition = partition,
			  .fold = spec->fold,
			  .fold_arg = spec->fold_arg };
	s.limit = spec->limit_rows && spec->limit_rows < LIMIT_SCAN_ROWS ? spec->limit_rows : LIMIT_SCAN_ROWS;
	if (layout_is_metadata(partition)) {
		TRY(scan_family(r, FAMILY_METADATA, snapshot, group, from, until, &s));
		*ret = s.rows;
		return ERR_OK;
	}

	/* Contents lie in the middle of a partition. Where a scan meets both families, both are read as of one moment.
	 */
	bool crosses = slice_cmp(from, high) < 0 && slice_cmp(until, low) > 0 &&
		       (slice_cmp(from, low) < 0 || slice_cmp(until, high) > 0);
	const rocksdb_snapshot_t *moment = crosses && !snapshot ? rocksdb_create_snapshot(r->db) : NULL;
	const rocksdb_snapshot_t *at = moment ? moment : snapshot;
	enum err err = scan_family(r, FAMILY_ROWS, at, group, from, key_min(until, low), &s);
	if (err == ERR_OK && !s.rows.more)
		err = scan_family(r, FAMILY_CONTENTS, at, group, key_max(from, low), key_min(until, high), &s);
	if (err == ERR_OK && !s.rows.more)
		err = scan_family(r, FAMILY_ROWS, at, group, key_max(from, high), until, &s);
	if (moment)
		rocksdb_release_snapshot(r->db, moment);
	if (err == ERR_OK)
		*ret = s.rows;
	return err;
}

/* ---- the operations of an engine ---- */

static enum err op_snapshot_take(struct engine *e, struct engine_snapshot **ret)
{
	struct rocks *r = rocks_of(e);
	struct engine_snapshot *s = calloc(1, sizeof *s);
	if (!s)
		return ERR_NO_MEMORY;
	s->snapshot = rocksdb_create_snapshot(r->db);
	s->read = rocksdb_readoptions_create();
	rocksdb_readoptions_set_snapshot(s->read, s->snapshot);
	rocksdb_readoptions_set_fill_cache(s->read, 0);
	*ret = s;
	return ERR_OK;
}

static void op_snapshot_drop(struct engine *e, struct engine_snapshot *s)
{
	if (!s)
		return;
	rocksdb_readoptions_destroy(s->read);
	rocksdb_release_snapshot(rocks_of(e)->db, s->snapshot);
	free(s);
}

static enum err op_get(struct engine *e, struct engine_snapshot *s, struct slice partition, struct slice key,
		       struct arena *arena, struct slice *ret_value)
{
	struct rocks *r = rocks_of(e);
	struct full_key k;
	full_key_make(&k, partition, key);
	return rocks_get(r, layout_family(partition, key), s ? s->read : r->read, slice_make(k.bytes, k.len), arena,
			 ret_value);
}

static enum err op_scan(struct engine *e, struct engine_snapshot *s, struct slice partition,
			const struct scan_spec *spec, struct arena *arena, struct rows *ret_rows)
{
	return rocks_scan(rocks_of(e), s ? s->snapshot : NULL, NULL, partition, spec, arena, ret_rows);
}

/* A few rows are deleted one by one, because every range tombstone slows later reads a little; many by one range. */
static enum err op_drop_partition(struct engine *e, struct slice partition)
{
	struct rocks *r = rocks_of(e);
	struct arena arena;
	struct rows rows;
	struct full_key from, until;
	arena_init(&arena, 4 * MIB);
	enum err err =
		rocks_scan(r, NULL, NULL, partition,
			   &(struct scan_spec){ .limit_rows = DROP_SMALL_ROWS, .keys_only = true }, &arena, &rows);
	rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
	if (err == ERR_OK && !rows.more) {
		for (size_t i = 0; i < rows.count; i++) {
			full_key_make(&from, partition, rows.row[i].key);
			rocksdb_writebatch_delete_cf(batch, r->family[layout_family(partition, rows.row[i].key)],
						     from.bytes, from.len);
		}
	} else if (err == ERR_OK) {
		full_key_make(&from, partition, SLICE_NONE);
		full_key_make_end(&until, partition);
		for (int i = 0; i < FAMILIES; i++)
			rocksdb_writebatch_delete_range_cf(batch, r->family[i], from.bytes, from.len, until.bytes,
							   until.len);
	}
	if (err == ERR_OK && rocksdb_writebatch_count(batch))
		err = rocks_write(r, batch, (struct rocks_changed){ .partition = partition }, false);
	rocksdb_writebatch_destroy(batch);
	arena_fini(&arena);
	return err;
}

/* The id of the first partition at or after `at` that has a row in any family; absent: none. */
static struct slice next_partition(rocksdb_iterator_t *it[FAMILIES], const struct full_key *at)
{
	struct slice first = SLICE_NONE;
	for (int i = 0; i < FAMILIES; i++) {
		rocksdb_iter_seek(it[i], at->bytes, at->len);
		if (!rocksdb_iter_valid(it[i]))
			continue;
		struct slice key = iter_key(it[i]);
		struct slice id = slice_first(key, slice_find_byte(key, 0));
		if (!slice_is_set(first) || slice_cmp(id, first) < 0)
			first = id;
	}
	return first;
}

static enum err list_into(rocksdb_iterator_t *it[FAMILIES], struct slice from, size_t limit, struct arena *arena,
			  struct slice *list, size_t *ret_count)
{
	struct full_key at;
	if (from.len)
		full_key_make(&at, from, SLICE_NONE);
	else
		at = (struct full_key){ .len = 1, .bytes = { 1 } }; /* behind the engine's own rows */
	*ret_count = 0;
	while (*ret_count < limit) {
		struct slice found = next_partition(it, &at);
		if (!slice_is_set(found))
			break;
		struct slice id = arena_dup(arena, found);
		if (!slice_is_set(id))
			return ERR_NO_MEMORY;
		list[(*ret_count)++] = id;
		full_key_make_end(&at, id);
	}
	for (int i = 0; i < FAMILIES; i++)
		TRY(iter_error(it[i]));
	return ERR_OK;
}

static enum err op_list_partitions(struct engine *e, struct slice from, size_t limit, struct arena *arena,
				   struct slice **ret, size_t *ret_count)
{
	struct rocks *r = rocks_of(e);
	rocksdb_iterator_t *it[FAMILIES];
	struct slice *list = ARENA_NEW_ARRAY(arena, struct slice, limit ? limit : 1);
	if (!list)
		return ERR_NO_MEMORY;
	for (int i = 0; i < FAMILIES; i++)
		it[i] = rocksdb_create_iterator_cf(r->db, r->read, r->family[i]);
	enum err err = list_into(it, from, limit, arena, list, ret_count);
	for (int i = 0; i < FAMILIES; i++)
		rocksdb_iter_destroy(it[i]);
	if (err == ERR_OK)
		*ret = list;
	return err;
}

static enum err op_extent_begin(struct engine *e, uint32_t length_hint, struct extent_writer **ret)
{
	struct rocks *r = rocks_of(e);
	return atomic_load(&r->failed) ? ERR_STOPPED : segment_writer_new(r->segments, length_hint, ret);
}

/* After a failed commit nothing is given back: the batch that published it may be on the disk all the same, and its
 * blocks must not be written again before a restart has told. */
static void op_extent_abandon(struct engine *e, const struct extent_ref *extent)
{
	struct rocks *r = rocks_of(e);
	if (!atomic_load(&r->failed))
		segment_release(r->segments, extent);
}

static enum err op_extent_read(struct engine *e, const struct extent_ref *extent, uint32_t offset, uint32_t length,
			       void *dst)
{
	return segment_read(rocks_of(e)->segments, extent, offset, length, dst);
}

static void op_stats(struct engine *e, struct engine_stats *ret)
{
	struct rocks *r = rocks_of(e);
	*ret = (struct engine_stats){ .retired_waiting = r->retired_waiting,
				      .sync_ns = r->sync_ns,
				      .syncs = r->syncs,
				      .bytes_written = r->bytes_written };
	ret->disk_is_short = !rocks_has_space(r, 0, &ret->disk_free_bytes);
	segment_stats(r->segments, ret);
	if (r->locator)
		locator_stats(r->locator, ret);
}

const struct engine_ops rocks_ops = {
	.name = "rocks",
	.inline_bytes = PAYLOAD_INLINE_BYTES,
	.shards = 1,
	.groups_overlap = true,
	.close = rocks_close,
	.snapshot_take = op_snapshot_take,
	.snapshot_drop = op_snapshot_drop,
	.get = op_get,
	.scan = op_scan,
	.group_begin = rocks_group_begin,
	.group_get = rocks_group_get,
	.group_scan = rocks_group_scan,
	.group_accept = rocks_group_accept,
	.group_commit = rocks_group_commit,
	.group_abort = rocks_group_abort,
	.group_sync_later = rocks_group_sync_later,
	.sync = rocks_sync,
	.extent_begin = op_extent_begin,
	.extent_id = segment_writer_id,
	.extent_append = segment_writer_append,
	.extent_seal = segment_writer_seal,
	.extent_append_seal = segment_writer_append_seal,
	.extent_abandon = op_extent_abandon,
	.extent_writer_free = segment_writer_free,
	.extent_read = op_extent_read,
	.pin = rocks_pin,
	.unpin = rocks_unpin,
	.drop_partition = op_drop_partition,
	.list_partitions = op_list_partitions,
	.reclaim = rocks_reclaim,
	.reclaim_hurry = rocks_reclaim_hurry,
	.stats = op_stats,
};

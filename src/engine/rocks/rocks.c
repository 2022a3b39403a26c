/* SPDX-License-Identifier: Apache-2.0
 * Rows in RocksDB: reads, scans, snapshots, dropping and listing partitions. */
#include "engine/rocks/rocks_int.h"
#include "engine/rocks/segment.h"

#include <assert.h>
#include <stdlib.h>

enum { SCAN_FIRST_ROWS = 32, DROP_SMALL_ROWS = 256 };

void full_key_make(struct full_key *k, struct slice partition, struct slice key)
{
	assert(partition.len && partition.len <= LIMIT_KEY_BYTES && key.len <= LIMIT_KEY_BYTES);
	memcpy(k->bytes, partition.ptr, partition.len);
	k->bytes[partition.len] = 0;
	if (key.len)
		memcpy(k->bytes + partition.len + 1, key.ptr, key.len);
	k->len = partition.len + 1 + key.len;
}

enum err rocks_error(char *text)
{
	if (!text)
		return ERR_OK;
	enum err err = ERR_IO;
	if (strncmp(text, "Corruption", 10) == 0)
		err = ERR_CORRUPT;
	else if (strstr(text, "No space left"))
		err = ERR_NO_SPACE;
	rocksdb_free(text);
	return err;
}

enum err rocks_get(struct rocks *r, rocksdb_readoptions_t *read, struct slice full_key, struct arena *arena,
		   struct slice *ret)
{
	char *error = NULL;
	rocksdb_pinnableslice_t *p = rocksdb_get_pinned(r->db, read, full_key.ptr, full_key.len, &error);
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

enum err rocks_flush(struct rocks *r)
{
	char *error = NULL;
	rocksdb_flushoptions_t *o = rocksdb_flushoptions_create();
	rocksdb_flush(r->db, o, &error);
	rocksdb_flushoptions_destroy(o);
	return rocks_error(error);
}

/* ---- scans ---- */

struct scan {
	struct arena *arena;
	struct rows rows;
	size_t cap, limit, bytes, skip;
	bool keys_only;
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

static enum err scan_merge(struct scan *s, rocksdb_iterator_t *it, const struct overlay_node *o, struct slice until)
{
	for (;;) {
		bool db = rocksdb_iter_valid(it);
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
		if (order <= 0)
			rocksdb_iter_next(it);
		if (order >= 0)
			o = o->next[0];
	}
}

enum err rocks_scan(struct rocks *r, const rocksdb_snapshot_t *snapshot, const struct overlay *overlay,
		    struct slice partition, const struct scan_spec *spec, struct arena *arena, struct rows *ret)
{
	struct full_key from, until;
	full_key_make(&from, partition, spec->from);
	full_key_make(&until, partition, slice_is_set(spec->until) ? spec->until : SLICE_NONE);
	if (!slice_is_set(spec->until))
		until.bytes[partition.len] = 1; /* behind the partition */
	struct slice until_key = slice_make(until.bytes, until.len);
	struct scan s = { .arena = arena, .skip = partition.len + 1, .keys_only = spec->keys_only };
	s.limit = spec->limit_rows && spec->limit_rows < LIMIT_SCAN_ROWS ? spec->limit_rows : LIMIT_SCAN_ROWS;
	if (slice_cmp(slice_make(from.bytes, from.len), until_key) >= 0) {
		*ret = s.rows;
		return ERR_OK;
	}

	rocksdb_readoptions_t *read = rocksdb_readoptions_create();
	rocksdb_readoptions_set_snapshot(read, snapshot);
	rocksdb_readoptions_set_iterate_upper_bound(read, until.bytes, until.len);
	rocksdb_iterator_t *it = rocksdb_create_iterator(r->db, read);
	rocksdb_iter_seek(it, from.bytes, from.len);
	const struct overlay_node *o = overlay ? overlay_seek(overlay, slice_make(from.bytes, from.len)) : NULL;
	enum err err = scan_merge(&s, it, o, until_key);
	if (err == ERR_OK) {
		char *error = NULL;
		rocksdb_iter_get_error(it, &error);
		err = rocks_error(error);
	}
	rocksdb_iter_destroy(it);
	rocksdb_readoptions_destroy(read);
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
	return rocks_get(r, s ? s->read : r->read, slice_make(k.bytes, k.len), arena, ret_value);
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
			rocksdb_writebatch_delete(batch, from.bytes, from.len);
		}
	} else if (err == ERR_OK) {
		full_key_make(&from, partition, SLICE_NONE);
		full_key_make(&until, partition, SLICE_NONE);
		until.bytes[partition.len] = 1;
		rocksdb_writebatch_delete_range(batch, from.bytes, from.len, until.bytes, until.len);
	}
	if (err == ERR_OK && rocksdb_writebatch_count(batch)) {
		char *error = NULL;
		/* Not synced: the record that orders the drop goes only after it, in the same log. */
		rocksdb_write(r->db, r->write_lazy, batch, &error);
		err = rocks_error(error);
	}
	rocksdb_writebatch_destroy(batch);
	arena_fini(&arena);
	return err;
}

static enum err list_into(rocksdb_iterator_t *it, struct slice from, size_t limit, struct arena *arena,
			  struct slice *list, size_t *ret_count)
{
	size_t n = 0;
	struct full_key at;
	if (from.len)
		full_key_make(&at, from, SLICE_NONE);
	else
		at = (struct full_key){ .len = 1, .bytes = { 1 } }; /* behind the engine's own rows */
	rocksdb_iter_seek(it, at.bytes, at.len);
	while (n < limit && rocksdb_iter_valid(it)) {
		struct slice key = iter_key(it);
		struct slice id = arena_dup(arena, slice_first(key, slice_find_byte(key, 0)));
		if (!slice_is_set(id))
			return ERR_NO_MEMORY;
		list[n++] = id;
		full_key_make(&at, id, SLICE_NONE);
		at.bytes[id.len] = 1;
		rocksdb_iter_seek(it, at.bytes, at.len);
	}
	char *error = NULL;
	rocksdb_iter_get_error(it, &error);
	*ret_count = n;
	return rocks_error(error);
}

static enum err op_list_partitions(struct engine *e, struct slice from, size_t limit, struct arena *arena,
				   struct slice **ret, size_t *ret_count)
{
	struct rocks *r = rocks_of(e);
	size_t count;
	struct slice *list = ARENA_NEW_ARRAY(arena, struct slice, limit ? limit : 1);
	if (!list)
		return ERR_NO_MEMORY;
	rocksdb_iterator_t *it = rocksdb_create_iterator(r->db, r->read);
	enum err err = list_into(it, from, limit, arena, list, &count);
	rocksdb_iter_destroy(it);
	if (err == ERR_OK) {
		*ret = list;
		*ret_count = count;
	}
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
				      .syncs = r->syncs,
				      .bytes_written = r->bytes_written };
	segment_stats(r->segments, ret);
}

const struct engine_ops rocks_ops = {
	.name = "rocks",
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
	.extent_begin = op_extent_begin,
	.extent_append = segment_writer_append,
	.extent_seal = segment_writer_seal,
	.extent_abandon = op_extent_abandon,
	.extent_writer_free = segment_writer_free,
	.extent_read = op_extent_read,
	.pin = rocks_pin,
	.unpin = rocks_unpin,
	.drop_partition = op_drop_partition,
	.list_partitions = op_list_partitions,
	.reclaim = rocks_reclaim,
	.stats = op_stats,
};

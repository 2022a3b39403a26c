/* SPDX-License-Identifier: Apache-2.0
 * The index of one table: read once from end to end, then in memory until the table is gone. */
#include "engine/rocks/locator/locator_int.h"

#include "base/sys/file.h"
#include "base/sys/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	SLOTS_PER_TWO_ROWS = 3,
	BLOCKS_MAX = 1 << 16,
};

/* What a table that was refused has no use for. */
static void index_empty(struct locator *l, struct table_index *t)
{
	l->index_bytes -= t->bytes;
	t->bytes = 0;
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
	sst_map_free(&t->map);
	free(t->slot);
	t->slot = NULL;
}

void locator_index_free(struct locator *l, struct table_index *t)
{
	index_empty(l, t);
	l->index_count--;
	l->refused_count -= t->refused;
	free(t);
}

static void index_add(struct table_index *t, uint64_t hash, uint32_t block)
{
	uint32_t i = index_slot(t, hash);
	while (t->slot[i])
		i = i + 1 < t->slot_count ? i + 1 : 0;
	t->slot[i] = index_fingerprint(hash) | block;
}

/* Of rows with one key the first, which is the newest, counts. */
static enum err index_fill(const struct locator *l, struct table_index *t, char *block, struct full_key *last)
{
	struct sst_cursor c;
	struct sst_row row;
	uint64_t rows = 0, partition;
	last->len = 0;
	for (uint32_t i = 0; i < t->map.block_count; i++) {
		if (atomic_load_explicit(&l->stop, memory_order_relaxed))
			return ERR_STOPPED;
		TRY(sst_block_read(t->fd, &t->map, i, block));
		if (!sst_block_begin(&c, slice_make(block, sst_block_bytes(&t->map, i) - SST_TRAILER_BYTES)))
			return ERR_CORRUPT;
		while (c.at < c.end) {
			if (!sst_block_next(&c, &row) || ++rows > t->map.row_count || row.key.len > sizeof last->bytes)
				return ERR_CORRUPT;
			if (slice_eq(row.key, slice_make(last->bytes, last->len)))
				continue;
			memcpy(last->bytes, row.key.ptr, row.key.len);
			last->len = row.key.len;
			index_add(t, locator_hash(l, row.key, &partition), i);
		}
	}
	return ERR_OK;
}

static uint32_t largest_block(const struct sst_map *m)
{
	uint32_t most = 0;
	for (uint32_t i = 0; i < m->block_count; i++)
		if (sst_block_bytes(m, i) > most)
			most = sst_block_bytes(m, i);
	return most;
}

static enum err index_read(struct locator *l, struct table_index *t)
{
	TRY(sst_map_read(t->fd, &t->map));
	if (t->map.block_count > BLOCKS_MAX || t->map.row_count > INDEX_BYTES_MAX / sizeof *t->slot)
		return ERR_LIMIT;
	t->slot_count = (uint32_t)(t->map.row_count * SLOTS_PER_TWO_ROWS / 2 + 1);
	t->bytes = (t->slot_count + t->map.block_count) * sizeof *t->slot;
	l->index_bytes += t->bytes;
	t->slot = calloc(t->slot_count, sizeof *t->slot);
	char *block = malloc(largest_block(&t->map) + 1);
	struct full_key *last = malloc(sizeof *last);
	enum err err = t->slot && block && last ? index_fill(l, t, block, last) : ERR_NO_MEMORY;
	free(last);
	free(block);
	return err;
}

/* Once: a RocksDB that writes tables in another way has all of them refused. */
static void tell_refusal(struct locator *l, uint64_t number, enum err err)
{
	if (!l->refusal_told)
		log_warn("the index of rows cannot read the table %06llu.sst (%s); RocksDB reads it and those like it, "
			 "more slowly. A damaged table is found by `zaffre scrub`.",
			 (unsigned long long)number,
			 err == ERR_LIMIT ? "it is too large" : "damaged, or of another form");
	l->refusal_told = true;
}

enum err locator_index_make(struct locator *l, uint64_t number, struct table_index **ret)
{
	char name[48];
	snprintf(name, sizeof name, "db/%06llu.sst", (unsigned long long)number);
	int fd = base_file_open_at(l->options.dir_fd, name, O_RDONLY | O_NOATIME, 0);
	if (fd < 0 && errno == EPERM) /* somebody else's files */
		fd = base_file_open_at(l->options.dir_fd, name, O_RDONLY, 0);
	if (fd < 0)
		return ERR_NOT_FOUND;
	struct table_index *t = calloc(1, sizeof *t);
	if (!t) {
		close(fd);
		return ERR_NO_MEMORY;
	}
	t->number = number;
	t->fd = fd;
	l->index_count++;
	enum err err = index_read(l, t);
	/* From now on one block at a time: nothing beyond it is wanted. */
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	if (err == ERR_NO_MEMORY || err == ERR_IO || err == ERR_STOPPED) {
		locator_index_free(l, t);
		return err;
	}
	/* Damaged, or written in another way: RocksDB shall read it, and say what there is to say. */
	t->refused = err != ERR_OK;
	if (t->refused) {
		index_empty(l, t);
		atomic_fetch_add(&l->refused_count, 1);
		tell_refusal(l, number, err);
	}
	*ret = t;
	return ERR_OK;
}

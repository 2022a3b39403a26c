/* SPDX-License-Identifier: Apache-2.0
 * The locator's thread: takes the list of tables when flushes pause, and indexes them. Tables that this process wrote
 * are in the page cache most likely and are indexed at once; others when they are read often. */
#include "engine/rocks/locator_int.h"

#include "base/clock.h"
#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
	PAUSE_MS = 500,	    /* without a flush, before a set is made */
	BUILD_AT_ONCE = 32, /* tables; then the readers get them */
	SLOTS_PER_ROWS = 3, /* 3 for 2 */
	BLOCKS_MAX = 1 << 16,
	SET_BYTES = 64 * 1024 * 1024,
};
#define INDEX_BYTES_MAX (96u * 1024 * 1024) /* 16 million rows */

/* ---- one table ---- */

static void index_free(struct locator *l, struct table_index *t)
{
	l->index_bytes -= t->bytes;
	l->index_count--;
	if (t->fd >= 0)
		close(t->fd);
	table_map_free(&t->map);
	free(t->slot);
	free(t);
}

static void index_add(struct table_index *t, uint64_t hash, uint32_t block)
{
	uint32_t i = index_slot(t, hash);
	while (t->slot[i])
		i = i + 1 < t->slot_count ? i + 1 : 0;
	t->slot[i] = index_mark(hash) | block;
}

/* Of rows with one key the first, which is the newest, counts. */
static enum err index_fill(const struct locator *l, struct table_index *t, char *block, struct full_key *last)
{
	struct table_cursor c;
	struct table_row row;
	uint64_t rows = 0, partition;
	last->len = 0;
	for (uint32_t i = 0; i < t->map.block_count; i++) {
		TRY(table_block_read(t->fd, &t->map, i, block));
		if (!table_block_begin(&c, slice_make(block, table_block_bytes(&t->map, i) - TABLE_TRAILER_BYTES)))
			return ERR_CORRUPT;
		while (c.at < c.end) {
			if (!table_block_next(&c, &row) || ++rows > t->map.row_count ||
			    row.key.len > sizeof last->bytes)
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

static uint32_t largest_block(const struct table_map *m)
{
	uint32_t most = 0;
	for (uint32_t i = 0; i < m->block_count; i++)
		if (table_block_bytes(m, i) > most)
			most = table_block_bytes(m, i);
	return most;
}

static enum err index_read(struct locator *l, struct table_index *t)
{
	TRY(table_map_read(t->fd, &t->map));
	if (t->map.block_count > BLOCKS_MAX || t->map.row_count > INDEX_BYTES_MAX / sizeof *t->slot)
		return ERR_LIMIT;
	t->slot_count = (uint32_t)(t->map.row_count * SLOTS_PER_ROWS / 2 + 1);
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

/* ERR_NOT_FOUND: RocksDB has removed the table. */
static enum err index_make(struct locator *l, uint64_t number, struct table_index **ret)
{
	char name[48];
	snprintf(name, sizeof name, "db/%06llu.sst", (unsigned long long)number);
	int fd = openat(l->options.dir_fd, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return ERR_NOT_FOUND;
	/* One block at a time: nothing beyond it is wanted. */
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	struct table_index *t = calloc(1, sizeof *t);
	if (!t) {
		close(fd);
		return ERR_NO_MEMORY;
	}
	t->number = number;
	t->fd = fd;
	l->index_count++;
	enum err err = index_read(l, t);
	if (err == ERR_NO_MEMORY || err == ERR_IO) {
		index_free(l, t);
		return err;
	}
	if (err !=
	    ERR_OK) { /* damaged, or written in another way: RocksDB shall read it, and say what there is to say */
		t->refused = true;
		table_map_free(&t->map);
		free(t->slot);
		t->slot = NULL;
		l->index_bytes -= t->bytes;
		t->bytes = 0;
		close(t->fd);
		t->fd = -1;
	}
	*ret = t;
	return ERR_OK;
}

/* ---- a set of tables ---- */

static void set_free(struct locator *l, struct table_set *s)
{
	for (int f = 0; f < LOCATED_FAMILIES; f++)
		for (int v = 0; v < LEVELS; v++)
			for (size_t i = 0; i < s->level[f][v].count; i++) {
				struct table_index *t = s->level[f][v].table[i].index;
				if (t && --t->uses == 0)
					index_free(l, t);
			}
	arena_fini(&s->arena);
	free(s);
}

void locator_set_dispose(struct locator *l, struct table_set *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&l->lock);
	s->next_disposed = l->disposed;
	l->disposed = s;
	pthread_cond_signal(&l->wake);
	pthread_mutex_unlock(&l->lock);
}

static void free_disposed(struct locator *l)
{
	pthread_mutex_lock(&l->lock);
	struct table_set *s = l->disposed;
	l->disposed = NULL;
	pthread_mutex_unlock(&l->lock);
	while (s) {
		struct table_set *next = s->next_disposed;
		set_free(l, s);
		s = next;
	}
}

/* Changes whenever the tables of a family do. */
static uint64_t tables_version(const struct locator *l)
{
	uint64_t sum = 0, one;
	for (int i = 0; i < LOCATED_FAMILIES; i++)
		if (rocksdb_property_int_cf(l->options.db, l->options.family[i], "rocksdb.current-super-version-number",
					    &one) == 0)
			sum += one;
	return sum;
}

static int family_named(const char *name)
{
	return strcmp(name, ROCKS_NAME_ROWS) == 0	? FAMILY_ROWS
	       : strcmp(name, ROCKS_NAME_CONTENTS) == 0 ? FAMILY_CONTENTS
							: LOCATED_FAMILIES;
}

/* "/000123.sst" */
static uint64_t number_in(const char *name)
{
	uint64_t number = 0;
	struct slice digits = slice_str(name[0] == '/' ? name + 1 : name);
	return slice_to_u64(slice_first(digits, slice_find_byte(digits, '.')), &number) ? number : 0;
}

static int by_largest(const void *a, const void *b)
{
	return slice_cmp(((const struct placed_table *)a)->largest, ((const struct placed_table *)b)->largest);
}

static bool place(struct table_set *s, const rocksdb_livefiles_t *files, int i)
{
	int family = family_named(rocksdb_livefiles_column_family_name(files, i)),
	    level = rocksdb_livefiles_level(files, i);
	if (family == LOCATED_FAMILIES)
		return true;
	if (level < 0 || level >= LEVELS)
		return false;
	struct level *v = &s->level[family][level];
	struct placed_table *t = &v->table[v->count];
	size_t smallest_len, largest_len;
	const char *smallest = rocksdb_livefiles_smallestkey(files, i, &smallest_len),
		   *largest = rocksdb_livefiles_largestkey(files, i, &largest_len);
	t->number = number_in(rocksdb_livefiles_name(files, i));
	t->smallest = arena_dup(&s->arena, slice_make(smallest, smallest_len));
	t->largest = arena_dup(&s->arena, slice_make(largest, largest_len));
	v->count++;
	return slice_is_set(t->smallest) && slice_is_set(t->largest);
}

static bool place_all(struct table_set *s, const rocksdb_livefiles_t *files)
{
	int count = rocksdb_livefiles_count(files);
	size_t room[LOCATED_FAMILIES][LEVELS] = { 0 };
	for (int i = 0; i < count; i++) {
		int family = family_named(rocksdb_livefiles_column_family_name(files, i)),
		    level = rocksdb_livefiles_level(files, i);
		if (family < LOCATED_FAMILIES && level >= 0 && level < LEVELS)
			room[family][level]++;
	}
	for (int f = 0; f < LOCATED_FAMILIES; f++)
		for (int v = 0; v < LEVELS; v++) {
			s->level[f][v].table = ARENA_NEW_ARRAY(&s->arena, struct placed_table, room[f][v] + 1);
			if (!s->level[f][v].table)
				return false;
		}
	for (int i = 0; i < count; i++)
		if (!place(s, files, i))
			return false;
	for (int f = 0; f < LOCATED_FAMILIES; f++)
		for (int v = 1; v < LEVELS; v++)
			qsort(s->level[f][v].table, s->level[f][v].count, sizeof(struct placed_table), by_largest);
	return true;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = (*(struct placed_table *const *)a)->number, y = (*(struct placed_table *const *)b)->number;
	return x < y ? -1 : x > y;
}

static bool list_by_number(struct table_set *s)
{
	size_t count = 0;
	for (int f = 0; f < LOCATED_FAMILIES; f++)
		for (int v = 0; v < LEVELS; v++)
			count += s->level[f][v].count;
	s->by_number = ARENA_NEW_ARRAY(&s->arena, struct placed_table *, count + 1);
	if (!s->by_number)
		return false;
	for (int f = 0; f < LOCATED_FAMILIES; f++)
		for (int v = 0; v < LEVELS; v++)
			for (size_t i = 0; i < s->level[f][v].count; i++)
				s->by_number[s->count++] = &s->level[f][v].table[i];
	qsort(s->by_number, s->count, sizeof *s->by_number, by_number);
	return true;
}

/* What the set before knew of the tables. */
static void inherit(const struct table_set *old, struct table_set *s)
{
	for (size_t i = 0; i < s->count; i++) {
		struct placed_table *t = s->by_number[i];
		struct placed_table **before = bsearch(&t, old->by_number, old->count, sizeof t, by_number);
		if (!before)
			continue;
		atomic_store(&t->asked, atomic_load(&(*before)->asked));
		t->index = (*before)->index;
		if (t->index)
			t->index->uses++;
	}
}

static bool may_build(const struct locator *l, const struct placed_table *t)
{
	return !t->index && (t->number >= l->first_own || atomic_load(&t->asked) >= ASKED_OFTEN) &&
	       l->index_bytes < INDEX_BYTES_MAX && l->index_count < l->options.tables_max;
}

/* False: some are left. Ends when a flush begins: then there will be other tables. */
static bool build(struct locator *l, struct table_set *s, uint64_t flushes)
{
	int built = 0;
	for (size_t i = 0; i < s->count; i++) {
		struct placed_table *t = s->by_number[i];
		if (!may_build(l, t))
			continue;
		if (built == BUILD_AT_ONCE || atomic_load(&l->flushes) != flushes)
			return false;
		if (index_make(l, t->number, &t->index) == ERR_OK)
			t->index->uses = 1;
		built++;
	}
	return true;
}

static struct table_set *set_new(void)
{
	struct table_set *s = calloc(1, sizeof *s);
	if (s)
		arena_init(&s->arena, SET_BYTES);
	return s;
}

/* Only the thread frees sets: what it sees here stays. */
static const struct table_set *current(struct locator *l)
{
	pthread_mutex_lock(&l->write_lock);
	const struct table_set *s = l->set;
	pthread_mutex_unlock(&l->write_lock);
	return s;
}

static bool list_tables(struct locator *l, struct table_set *s)
{
	const rocksdb_livefiles_t *files = rocksdb_livefiles(l->options.db);
	bool listed = place_all(s, files) && list_by_number(s);
	rocksdb_livefiles_destroy(files);
	return listed;
}

bool locator_refresh(struct locator *l)
{
	uint64_t flushes = atomic_load(&l->flushes);
	struct table_set *s = set_new();
	if (!s)
		return true;
	free_disposed(l);
	/* In this order: the tables may hold more than page and version tell, never less. */
	s->page = atomic_load(&l->flushed);
	s->version = tables_version(l);
	if (!list_tables(l, s)) {
		set_free(l, s);
		return true;
	}
	const struct table_set *old = current(l);
	if (old)
		inherit(old, s);
	bool all = build(l, s, flushes);
	(void)locator_set_install(l, s);
	free_disposed(l);
	return all;
}

/* ---- the thread ---- */

void locator_look(struct locator *l)
{
	pthread_mutex_lock(&l->lock);
	l->look = true;
	pthread_cond_signal(&l->wake);
	pthread_mutex_unlock(&l->lock);
}

static bool nothing_runs(const struct locator *l)
{
	static const char *const what[] = { "rocksdb.num-running-compactions", "rocksdb.num-running-flushes",
					    "rocksdb.compaction-pending" };
	uint64_t n;
	for (int i = 0; i < LOCATED_FAMILIES; i++)
		for (size_t k = 0; k < sizeof what / sizeof what[0]; k++)
			if (rocksdb_property_int_cf(l->options.db, l->options.family[i], what[k], &n) != 0 || n)
				return false;
	return true;
}

/* Compactions go on for a while after a flush. */
static bool at_rest(struct locator *l)
{
	const struct table_set *s = current(l);
	return s && s->version == tables_version(l) && s->page == atomic_load(&l->flushed) && nothing_runs(l);
}

static void wait_pause(struct locator *l)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += PAUSE_MS % 1000 * 1000000L;
	t.tv_sec += PAUSE_MS / 1000 + t.tv_nsec / 1000000000L;
	t.tv_nsec %= 1000000000L;
	while (!l->stop && pthread_cond_timedwait(&l->wake, &l->lock, &t) != ETIMEDOUT)
		;
}

static bool paused(struct locator *l)
{
	pthread_mutex_lock(&l->lock);
	bool stop = l->stop;
	pthread_mutex_unlock(&l->lock);
	return !stop && base_monotonic_ns() - atomic_load(&l->flushed_ns) >= PAUSE_MS * UINT64_C(1000000);
}

/* False: again, after a pause. */
static bool bring_up_to_date(struct locator *l)
{
	bool all = false;
	free_disposed(l);
	while (!all && paused(l))
		all = locator_refresh(l);
	return all && at_rest(l);
}

static void *locator_main(void *arg)
{
	struct locator *l = arg;
	pthread_setname_np(pthread_self(), "locator");
	thread_step_back(THREAD_TIDIES);
	pthread_mutex_lock(&l->lock);
	while (!l->stop) {
		if (!l->look && !l->disposed) {
			pthread_cond_wait(&l->wake, &l->lock);
			continue;
		}
		l->look = false;
		pthread_mutex_unlock(&l->lock);
		bool done = bring_up_to_date(l);
		pthread_mutex_lock(&l->lock);
		if (!done) {
			wait_pause(l);
			l->look = true;
		}
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

bool locator_start(struct locator *l)
{
	const rocksdb_livefiles_t *files = rocksdb_livefiles(l->options.db);
	for (int i = 0; i < rocksdb_livefiles_count(files); i++) {
		uint64_t number = number_in(rocksdb_livefiles_name(files, i));
		l->first_own = number >= l->first_own ? number + 1 : l->first_own;
	}
	rocksdb_livefiles_destroy(files);
	l->look = true;
	l->runs = !l->options.idle && pthread_create(&l->thread, NULL, locator_main, l) == 0;
	return l->runs || l->options.idle;
}

void locator_stop(struct locator *l)
{
	pthread_mutex_lock(&l->lock);
	l->stop = true;
	pthread_cond_signal(&l->wake);
	pthread_mutex_unlock(&l->lock);
	if (l->runs)
		pthread_join(l->thread, NULL);
	locator_set_dispose(l, l->set);
	l->set = NULL;
	free_disposed(l);
}

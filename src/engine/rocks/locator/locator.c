/* SPDX-License-Identifier: Apache-2.0
 * Keys that were written since the tables were listed, and reads that ask both. */
#include "engine/rocks/locator/locator_int.h"

#include "base/hash.h"
#include "base/panic.h"
#include "base/sys/clock.h"
#include "base/sys/rng.h"

#include <assert.h>
#include <stdlib.h>

enum {
	BLOCK_ON_STACK_BYTES = 8 * 1024,
	LINE_BITS = 512,
	CANDIDATES_MAX = 16, /* level 0 has six at most when nothing is behind */
};

/* ---- the slot ---- */

/* A thread always goes through the same one, which few share: no line of memory goes to and fro. NULL: closed. */
static struct reader_slot *slot_enter(struct locator *l)
{
	static atomic_uint threads;
	static _Thread_local unsigned number;
	if (!number)
		number = atomic_fetch_add(&threads, 1) + 1;
	struct reader_slot *g = &l->slot[number % READER_SLOTS];
	return pthread_rwlock_tryrdlock(&g->lock) == 0 ? g : NULL;
}

static void slot_leave(struct reader_slot *g)
{
	pthread_rwlock_unlock(&g->lock);
}

/* Every read that began before is over; others go on, or ask RocksDB while their slot is looked at. */
static void wait_for_readers(struct locator *l)
{
	for (int i = 0; i < READER_SLOTS; i++) {
		pthread_rwlock_wrlock(&l->slot[i].lock);
		pthread_rwlock_unlock(&l->slot[i].lock);
	}
}

/* ---- notes ---- */

uint64_t locator_hash(const struct locator *l, struct slice full_key, uint64_t *ret_partition_hash)
{
	size_t len = slice_find_byte(full_key, 0);
	*ret_partition_hash = base_hash_bytes(l->seed, slice_first(full_key, len));
	return base_hash_bytes(*ret_partition_hash, slice_from(full_key, len));
}

static struct page *page_new(struct locator *l)
{
	if (atomic_load(&l->pages_alive) >= PAGES_ALIVE_MAX)
		return NULL;
	struct page *p = aligned_alloc(_Alignof(struct page), sizeof *p);
	if (!p)
		return NULL;
	memset(p, 0, sizeof *p);
	atomic_fetch_add(&l->pages_alive, 1);
	return p;
}

static void page_free(struct locator *l, struct page *p)
{
	if (!p)
		return;
	free(p);
	atomic_fetch_sub(&l->pages_alive, 1);
}

/* Two bits of a key, in one line of memory. */
static inline uint64_t note_bit(uint64_t hash, int i)
{
	uint64_t line = (hash >> 16) % (NOTE_BITS / LINE_BITS);
	return line * LINE_BITS + (i ? hash >> 55 : hash >> 46) % LINE_BITS;
}

static void page_add(struct page *p, uint64_t hash)
{
	for (int i = 0; i < 2; i++) {
		uint64_t bit = note_bit(hash, i);
		atomic_uint_fast64_t *w = &p->word[bit / 64];
		atomic_store_explicit(w, atomic_load_explicit(w, memory_order_relaxed) | UINT64_C(1) << bit % 64,
				      memory_order_release);
	}
}

static bool page_may_have(struct page *p, uint64_t hash)
{
	for (int i = 0; i < 2; i++) {
		uint64_t bit = note_bit(hash, i);
		if (!(atomic_load_explicit(&p->word[bit / 64], memory_order_acquire) >> bit % 64 & 1))
			return false;
	}
	return true;
}

void locator_write_begin(struct locator *l)
{
	pthread_mutex_lock(&l->write_lock);
}

void locator_write_end(struct locator *l)
{
	pthread_mutex_unlock(&l->write_lock);
}

void locator_note(struct locator *l, struct slice full_key)
{
	uint64_t partition;
	assert(l->page_count > 0 &&
	       l->page_count <= PAGES_MAX); /* a key that is not noted would be read from a table */
	page_add(l->page[l->page_count - 1], locator_hash(l, full_key, &partition));
}

void locator_note_partition(struct locator *l, struct slice partition)
{
	page_add(l->page[l->page_count - 1], base_hash_bytes(l->seed, partition));
}

/* ---- what reads go by ---- */

const struct table_set *locator_current(struct locator *l)
{
	const struct view *v = atomic_load(&l->view);
	return v ? v->set : NULL;
}

const struct table_set *locator_kept(struct locator *l)
{
	locator_write_begin(l);
	const struct table_set *kept = l->kept;
	locator_write_end(l);
	return kept;
}

static void set_dispose(struct locator *l, struct table_set *set)
{
	set->next_disposed = l->disposed.set;
	l->disposed.set = set;
}

/* Under the write lock, in place of the one before; NULL: none. */
static void keep(struct locator *l, struct table_set *set)
{
	if (l->kept)
		set_dispose(l, l->kept);
	l->kept = set;
}

/* Under the write lock: the set and the pages there are. NULL: nothing is known from now on. */
static void show(struct locator *l, struct view *v, struct table_set *set)
{
	struct view *old = atomic_load(&l->view);
	if (v) {
		v->set = set;
		v->page_count = l->page_count;
		memcpy(v->page, l->page, sizeof v->page);
	}
	atomic_store(&l->view, v);
	if (!old)
		return;
	if (old->set != set)
		set_dispose(l, old->set);
	old->next_disposed = l->disposed.view;
	l->disposed.view = old;
}

/* Under the write lock: pages whose rows are all in the tables that are looked into, or in any if there are none. */
static void forget_pages(struct locator *l, uint64_t through)
{
	size_t gone = 0;
	while (gone + 1 < l->page_count && l->page_last - (l->page_count - 1) + gone <= through) {
		struct page *p = l->page[gone++];
		p->next_disposed = l->disposed.page;
		l->disposed.page = p;
	}
	l->page_count -= gone;
	memmove(l->page, l->page + gone, l->page_count * sizeof *l->page);
}

/* Under the write lock: there is no page for what is written next, so nothing is known from now on. */
static void hide_set(struct locator *l)
{
	struct view *v = atomic_load(&l->view);
	if (!v)
		return;
	keep(l, v->set);
	show(l, NULL, v->set);
}

void locator_forget_set(struct locator *l)
{
	locator_write_begin(l);
	show(l, NULL, NULL);
	keep(l, NULL);
	locator_write_end(l);
}

void locator_free_disposed(struct locator *l)
{
	locator_write_begin(l);
	struct disposed gone = l->disposed;
	l->disposed = (struct disposed){ 0 };
	locator_write_end(l);
	if (gone.view || gone.set || gone.page)
		wait_for_readers(l);
	for (struct view *v = gone.view, *next; v; v = next) {
		next = v->next_disposed;
		free(v);
	}
	for (struct table_set *s = gone.set, *next; s; s = next) {
		next = s->next_disposed;
		locator_set_free(l, s);
	}
	for (struct page *p = gone.page, *next; p; p = next) {
		next = p->next_disposed;
		page_free(l, p);
	}
}

/* ---- flushes ---- */

/* Without memory there is no new page, and the flush brings only those before the last into tables. What it takes is
 * NULL afterwards. */
static void begin_page(struct locator *l, struct page **fresh, struct view **v)
{
	struct view *old = atomic_load(&l->view);
	if (!*fresh || !*v || l->page_count == PAGES_MAX)
		return;
	l->page[l->page_count++] = *fresh;
	*fresh = NULL;
	l->page_last++;
	if (old) {
		show(l, *v, old->set);
		*v = NULL;
	}
}

uint64_t locator_flush_begin(struct locator *l)
{
	struct page *fresh = page_new(l);
	struct view *v = calloc(1, sizeof *v);
	locator_write_begin(l);
	if (l->page_count == PAGES_MAX) {
		hide_set(l);
		forget_pages(l, atomic_load(&l->flushed));
	}
	begin_page(l, &fresh, &v);
	uint64_t before = l->page_last - 1;
	locator_write_end(l);
	page_free(l, fresh);
	free(v);
	atomic_fetch_add(&l->flushes, 1);
	return before;
}

void locator_flushed(struct locator *l, uint64_t page)
{
	uint64_t seen = atomic_load(&l->flushed);
	while (seen < page && !atomic_compare_exchange_weak(&l->flushed, &seen, page))
		;
	atomic_store(&l->flushed_ns, base_monotonic_ns());
	locator_look(l);
}

bool locator_set_install(struct locator *l, struct table_set *set)
{
	struct view *v = calloc(1, sizeof *v);
	locator_write_begin(l);
	/* Flushes that came meanwhile may have taken away pages it would need. */
	bool fits = v && set->page + l->page_count >= l->page_last;
	if (fits) {
		forget_pages(l, set->page);
		show(l, v, set);
		keep(l, NULL);
	} else if (l->kept) {
		keep(l, set);
	} else {
		set_dispose(l, set);
	}
	locator_write_end(l);
	if (!fits)
		free(v);
	return fits;
}

void locator_set_keep(struct locator *l, struct table_set *set)
{
	locator_write_begin(l);
	if (l->kept)
		keep(l, set);
	else
		set_dispose(l, set);
	locator_write_end(l);
}

/* ---- reads ---- */

struct finding {
	struct slice key;
	uint64_t hash;
	struct arena *arena;
	/* The newest so far. */
	bool found, deleted;
	uint64_t sequence;
	struct slice value;
};

enum looked { MET, NOT_MET, NOT_KNOWN }; /* met: and taken into account */

static enum looked look_into_block(struct finding *f, const struct table_index *t, uint32_t block)
{
	char on_stack[BLOCK_ON_STACK_BYTES];
	uint32_t bytes = sst_block_bytes(&t->map, block);
	char *buffer = bytes <= sizeof on_stack ? on_stack : arena_alloc(f->arena, bytes);
	struct sst_row row;
	if (!buffer || sst_block_read(t->fd, &t->map, block, buffer) != ERR_OK)
		return NOT_KNOWN;
	enum err err = sst_block_find(slice_make(buffer, bytes - SST_TRAILER_BYTES), f->key, &row);
	if (err != ERR_OK)
		return err == ERR_NOT_FOUND ? NOT_MET : NOT_KNOWN;
	if (f->found && f->sequence >= row.sequence)
		return MET;
	struct slice value = row.deleted ? SLICE_NONE : buffer == on_stack ? arena_dup(f->arena, row.value) : row.value;
	if (!row.deleted && !slice_is_set(value))
		return NOT_KNOWN;
	f->found = true;
	f->deleted = row.deleted;
	f->sequence = row.sequence;
	f->value = value;
	return MET;
}

static bool in_range(const struct sst_map *m, struct slice key)
{
	for (size_t i = 0; i < m->range_count; i++)
		if (slice_cmp(m->range[i].from, key) <= 0 && slice_cmp(key, m->range[i].until) < 0)
			return true;
	return false;
}

static enum looked look_into_table(struct finding *f, struct placed_table *p, bool *ret_wanted)
{
	const struct table_index *t = p->index;
	if (!t || t->refused) {
		if (!t && atomic_fetch_add_explicit(&p->asked, 1, memory_order_relaxed) + 1 == ASKED_OFTEN)
			*ret_wanted = true;
		return NOT_KNOWN;
	}
	if (t->map.range_count && in_range(&t->map, f->key))
		return NOT_KNOWN;
	uint32_t fingerprint = index_fingerprint(f->hash);
	for (uint32_t i = index_slot(t, f->hash); t->slot[i]; i = i + 1 < t->slot_count ? i + 1 : 0) {
		if ((t->slot[i] & 0xffff0000) != fingerprint)
			continue;
		enum looked looked = look_into_block(f, t, t->slot[i] & 0xffff);
		if (looked != NOT_MET)
			return looked;
	}
	return NOT_MET;
}

static bool covers(const struct placed_table *p, struct slice key)
{
	return slice_cmp(p->smallest, key) <= 0 && slice_cmp(key, p->largest) <= 0;
}

/* The first table of a level that ends at the key or behind it; its count: none. */
static size_t level_seek(const struct level *v, struct slice key)
{
	size_t low = 0, high = v->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (slice_cmp(v->table[middle].largest, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The tables that may have the key, from the newest level to the oldest. */
struct candidates {
	struct {
		struct placed_table *table;
		int level;
	} at[CANDIDATES_MAX];
	size_t count;
};

/* Level 0 is in no order, and any of its tables may have the key; further down it is one, or two that meet at it. What
 * is asked first of each is on its way from memory while the next is looked for. False: too many. */
static bool collect(const struct finding *f, const struct level *level, struct candidates *c)
{
	for (int v = 0; v < LEVELS; v++) {
		for (size_t i = v ? level_seek(&level[v], f->key) : 0; i < level[v].count; i++) {
			struct placed_table *t = &level[v].table[i];
			if (v > 0 && slice_cmp(t->smallest, f->key) > 0)
				break;
			if (v == 0 && !covers(t, f->key))
				continue;
			if (c->count == CANDIDATES_MAX)
				return false;
			c->at[c->count].table = t;
			c->at[c->count++].level = v;
			if (t->index && t->index->slot)
				__builtin_prefetch(&t->index->slot[index_slot(t->index, f->hash)]);
		}
	}
	return true;
}

/* A row that is found hides those in levels below. */
static enum looked look_into_tables(struct finding *f, const struct candidates *c, bool *ret_wanted)
{
	for (size_t i = 0; i < c->count; i++) {
		if (f->found && c->at[i].level != c->at[i - 1].level)
			break;
		if (look_into_table(f, c->at[i].table, ret_wanted) == NOT_KNOWN)
			return NOT_KNOWN;
	}
	return f->found ? MET : NOT_MET;
}

static enum looked look(struct locator *l, enum family family, struct finding *f, bool *ret_wanted)
{
	uint64_t partition;
	const struct view *v = atomic_load_explicit(&l->view, memory_order_acquire);
	if (!v)
		return NOT_KNOWN;
	f->hash = locator_hash(l, f->key, &partition);
	for (size_t i = 0; i < v->page_count; i++)
		if (page_may_have(v->page[i], f->hash) || page_may_have(v->page[i], partition))
			return NOT_KNOWN;
	struct candidates c;
	c.count = 0; /* the rest is written before it is read */
	return collect(f, v->set->level[family], &c) ? look_into_tables(f, &c, ret_wanted) : NOT_KNOWN;
}

enum located locator_find(struct locator *l, enum family family, struct slice full_key, struct arena *arena,
			  struct slice *ret)
{
	struct finding f = { .key = full_key, .arena = arena };
	bool wanted = false;
	if ((int)family >= LOCATED_FAMILIES || !atomic_load_explicit(&l->view, memory_order_relaxed))
		return LOCATED_UNKNOWN;
	struct reader_slot *slot = slot_enter(l);
	if (!slot)
		return LOCATED_UNKNOWN;
	struct arena_position before = arena_position(arena);
	enum looked looked = look(l, family, &f, &wanted);
	enum located located = looked == NOT_KNOWN		? LOCATED_UNKNOWN
			       : looked == NOT_MET || f.deleted ? LOCATED_NOTHING
								: LOCATED_ROW;
	atomic_fetch_add_explicit(&slot->count[located], 1, memory_order_relaxed);
	slot_leave(slot);
	if (wanted)
		locator_look(l);
	if (located == LOCATED_ROW)
		*ret = f.value;
	else
		arena_rewind(arena, before); /* of blocks that were looked into */
	return located;
}

void locator_stats(struct locator *l, struct engine_stats *ret)
{
	for (int i = 0; i < READER_SLOTS; i++) {
		ret->index_rows += atomic_load(&l->slot[i].count[LOCATED_ROW]);
		ret->index_absent += atomic_load(&l->slot[i].count[LOCATED_NOTHING]);
		ret->index_unknown += atomic_load(&l->slot[i].count[LOCATED_UNKNOWN]);
	}
	ret->index_tables = atomic_load(&l->index_count);
	ret->index_refused = atomic_load(&l->refused_count);
	ret->index_bytes = atomic_load(&l->index_bytes);
}

/* ---- begin and end ---- */

struct locator *locator_new(const struct locator_options *options)
{
	struct rng rng;
	pthread_rwlockattr_t writers_first;
	struct locator *l = aligned_alloc(64, sizeof *l);
	if (!l)
		return NULL;
	memset(l, 0, sizeof *l);
	l->magic = LOCATOR_ALIVE;
	l->options = *options;
	l->page[0] = page_new(l);
	if (!l->page[0]) {
		free(l);
		return NULL;
	}
	l->page_count = 1;
	l->page_last = 1;
	rng_init_system(&rng);
	l->seed = rng_u64(&rng); /* whoever chooses the names cannot choose where they fall */
	pthread_rwlockattr_init(&writers_first);
	pthread_rwlockattr_setkind_np(&writers_first, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	for (int i = 0; i < READER_SLOTS; i++)
		pthread_rwlock_init(&l->slot[i].lock, &writers_first);
	pthread_rwlockattr_destroy(&writers_first);
	pthread_mutex_init(&l->write_lock, NULL);
	pthread_mutex_init(&l->lock, NULL);
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&l->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	if (!locator_start(l)) {
		locator_free(l);
		return NULL;
	}
	return l;
}

void locator_free(struct locator *l)
{
	if (!l)
		return;
	MAGIC_CHECK(l, LOCATOR_ALIVE);
	locator_stop(l);
	l->magic = 0;
	for (size_t i = 0; i < l->page_count; i++)
		free(l->page[i]);
	for (int i = 0; i < READER_SLOTS; i++)
		pthread_rwlock_destroy(&l->slot[i].lock);
	pthread_mutex_destroy(&l->write_lock);
	pthread_mutex_destroy(&l->lock);
	pthread_cond_destroy(&l->wake);
	free(l);
}

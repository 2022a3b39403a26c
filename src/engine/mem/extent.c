/* SPDX-License-Identifier: Apache-2.0
 * Extents of the mem engine: immutable byte runs with a checksum per chunk that also covers the extent's id and place.
 * Retirement and pins draw from one counter of events: a retired extent goes when every pin is younger than its
 * retirement. Space is counted as if it were a file that never shrinks, so that tests see reuse. */
#include "base/bytes.h"
#include "engine/mem/mem_int.h"

#include <assert.h>

enum { CHUNK_BYTES = 64 * 1024, RECLAIM_ROUND = 64 };

struct extent_writer {
	struct mem_engine *engine;
	uint64_t id;
	unsigned char *bytes;
	size_t len, cap;
};

enum err mem_extent_begin(struct engine *engine, uint32_t length_hint, struct extent_writer **ret)
{
	struct mem_engine *e = mem_engine_of(engine);
	enum err err = ERR_OK;
	pthread_mutex_lock(&e->mem->lock);
	uint64_t id = e->mem->extent_next_id++;
	if (mem_engine_dead(e) || e->mem->failed)
		err = ERR_IO;
	else if (mem_chance(e->mem, e->mem->faults.no_space_permille))
		err = ERR_NO_SPACE;
	pthread_mutex_unlock(&e->mem->lock);
	if (err)
		return err;
	struct extent_writer *w = mem_alloc(sizeof *w);
	w->engine = e;
	w->id = id;
	*ret = w;
	return ERR_OK;
}

uint64_t mem_extent_id(const struct extent_writer *w)
{
	return w->id;
}

enum err mem_extent_append(struct extent_writer *w, struct slice bytes)
{
	if (bytes.len > LIMIT_EXTENT_BYTES - w->len)
		return ERR_LIMIT;
	mem_grow(&w->bytes, &w->cap, w->len + bytes.len, 1);
	if (bytes.len)
		memcpy(w->bytes + w->len, bytes.ptr, bytes.len);
	w->len += bytes.len;
	return ERR_OK;
}

static uint32_t chunk_crc(const struct extent *x, uint32_t chunk)
{
	uint64_t bound[3] = { x->id, x->place, chunk };
	size_t at = (size_t)chunk * CHUNK_BYTES, len = x->length_bytes - at;
	uint32_t crc = crc32c(0, slice_make(bound, sizeof bound));
	return crc32c(crc, slice_make(x->shared->bytes + at, len < CHUNK_BYTES ? len : CHUNK_BYTES));
}

static size_t extent_index(const struct mem *mem, uint64_t id)
{
	size_t lo = 0, hi = mem->extent_count;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (mem->extents[mid]->id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* In the order of ids, whatever the order they are sealed in. There is room for one more. */
static void extent_insert(struct mem *mem, struct extent *x)
{
	size_t i = extent_index(mem, x->id);
	memmove(&mem->extents[i + 1], &mem->extents[i], (mem->extent_count - i) * sizeof *mem->extents);
	mem->extents[i] = x;
	mem->extent_count++;
}

enum err mem_extent_seal(struct extent_writer *w, struct extent_ref *ret)
{
	struct mem *mem = w->engine->mem;
	enum err err = w->len == 0 ? ERR_LIMIT : ERR_OK;
	uint32_t chunks = (uint32_t)((w->len + CHUNK_BYTES - 1) / CHUNK_BYTES);
	struct extent *x = mem_alloc(sizeof *x);
	x->shared = mem_alloc(sizeof *x->shared + chunks * sizeof x->shared->crc[0]);
	x->shared->users = 1;
	pthread_mutex_lock(&mem->lock);
	if (mem_engine_dead(w->engine) || mem->failed)
		err = ERR_IO;
	if (!err) {
		x->id = w->id;
		x->place = x->id * 7919; /* anything a caller could not guess from the id by accident */
		x->length_bytes = (uint32_t)w->len;
		x->shared->bytes = w->bytes;
		w->bytes = NULL;
		for (uint32_t i = 0; i < chunks; i++)
			x->shared->crc[i] = chunk_crc(x, i);
		mem_grow(&mem->extents, &mem->extent_cap, mem->extent_count + 1, sizeof *mem->extents);
		extent_insert(mem, x);
		mem->space_used += x->length_bytes;
		if (mem->space_used > mem->space_total)
			mem->space_total = mem->space_used;
		mem->bytes_written += x->length_bytes;
		*ret = (struct extent_ref){ x->id, x->place, x->length_bytes };
	}
	pthread_mutex_unlock(&mem->lock);
	if (err)
		mem_extent_drop(x);
	mem_extent_writer_free(w);
	return err;
}

enum err mem_extent_append_seal(struct extent_writer *w, struct slice last, struct extent_ref *ret)
{
	enum err err = mem_extent_append(w, last);
	if (err == ERR_OK)
		return mem_extent_seal(w, ret);
	mem_extent_writer_free(w);
	return err;
}

void mem_extent_writer_free(struct extent_writer *w)
{
	if (!w)
		return;
	free(w->bytes);
	free(w);
}

static struct extent *mem_extent_find(struct mem *mem, const struct extent_ref *ref)
{
	size_t i = extent_index(mem, ref->id);
	struct extent *x = i < mem->extent_count ? mem->extents[i] : NULL;
	return x && x->id == ref->id && x->place == ref->place && x->length_bytes == ref->length_bytes ? x : NULL;
}

void mem_extent_drop(struct extent *x)
{
	if (__atomic_sub_fetch(&x->shared->users, 1, __ATOMIC_ACQ_REL) == 0) {
		free(x->shared->bytes);
		free(x->shared);
	}
	free(x);
}

struct extent *mem_extent_share(const struct extent *from)
{
	struct extent *x = mem_alloc(sizeof *x);
	*x = *from;
	x->retired_commit = x->retired_event = 0;
	__atomic_add_fetch(&x->shared->users, 1, __ATOMIC_RELAXED);
	return x;
}

static void extent_free(struct mem *mem, struct extent *x)
{
	mem->space_used -= x->length_bytes;
	mem_extent_drop(x);
}

void mem_extents_restore(struct mem *mem, struct extent *const *saved, size_t count, uint64_t commit)
{
	size_t have = mem->extent_count, at = 0, most = have + count, out = 0;
	struct extent **merged = mem_alloc(most * sizeof *merged);
	for (size_t i = 0; i < have || at < count;) {
		bool old = i < have && (at == count || mem->extents[i]->id <= saved[at]->id);
		struct extent *x = old ? mem->extents[i++] : mem_extent_share(saved[at]);
		bool wanted = at < count && saved[at]->id == x->id;
		if (!old) {
			x->published_commit = commit;
			mem->space_used += x->length_bytes;
		}
		if (wanted) {
			x->retired_commit = x->retired_event = 0;
			at++;
		} else if (x->published_commit && !x->retired_commit) {
			x->retired_commit = commit;
			x->retired_event = ++mem->event;
		}
		merged[out++] = x;
	}
	if (mem->space_used > mem->space_total)
		mem->space_total = mem->space_used;
	free(mem->extents);
	mem->extents = merged;
	mem->extent_count = out;
	mem->extent_cap = most;
}

void mem_extent_abandon(struct engine *engine, const struct extent_ref *ref)
{
	struct mem_engine *e = mem_engine_of(engine);
	struct mem *mem = e->mem;
	pthread_mutex_lock(&mem->lock);
	struct extent *x = mem_engine_dead(e) ? NULL : mem_extent_find(mem, ref);
	if (x) {
		size_t i = extent_index(mem, x->id);
		assert(!x->published_commit);
		memmove(&mem->extents[i], &mem->extents[i + 1], (mem->extent_count - i - 1) * sizeof *mem->extents);
		mem->extent_count--;
		extent_free(mem, x);
	}
	pthread_mutex_unlock(&mem->lock);
}

enum err mem_extent_read(struct engine *engine, const struct extent_ref *ref, uint32_t offset, uint32_t length,
			 void *dst)
{
	struct mem_engine *e = mem_engine_of(engine);
	enum err err = ERR_OK;
	pthread_mutex_lock(&e->mem->lock);
	struct extent *x = mem_extent_find(e->mem, ref);
	if (mem_engine_dead(e))
		err = ERR_IO;
	else if (!x || offset > x->length_bytes || length > x->length_bytes - offset)
		err = ERR_CORRUPT;
	for (uint32_t i = offset / CHUNK_BYTES; !err && length && i <= (offset + length - 1) / CHUNK_BYTES; i++)
		if (x->shared->crc[i] != chunk_crc(x, i))
			err = ERR_CORRUPT;
	if (!err && length)
		memcpy(dst, x->shared->bytes + offset, length);
	pthread_mutex_unlock(&e->mem->lock);
	return err;
}

uint64_t mem_pin(struct engine *engine)
{
	struct mem *mem = mem_engine_of(engine)->mem;
	struct pin *p = mem_alloc(sizeof *p);
	pthread_mutex_lock(&mem->lock);
	uint64_t event = p->event = ++mem->event;
	p->next = mem->pins;
	mem->pins = p;
	pthread_mutex_unlock(&mem->lock);
	return event;
}

void mem_unpin(struct engine *engine, uint64_t pin)
{
	struct mem_engine *e = mem_engine_of(engine);
	struct mem *mem = e->mem;
	pthread_mutex_lock(&mem->lock);
	struct pin **at = &mem->pins;
	while (*at && (*at)->event != pin)
		at = &(*at)->next;
	struct pin *p = *at;
	assert(p || mem_engine_dead(e)); /* a power cut took the pins with it */
	if (p)
		*at = p->next;
	pthread_mutex_unlock(&mem->lock);
	free(p);
}

void mem_extent_apply(struct mem *mem, const struct write *w, uint64_t commit)
{
	struct extent *x = mem_extent_find(mem, &w->extent);
	assert(x); /* published: sealed and not abandoned; retired: alive until now */
	if (w->kind == WRITE_PUBLISH) {
		assert(!x->published_commit);
		x->published_commit = commit;
	} else {
		assert(x->published_commit && !x->retired_commit);
		x->retired_commit = commit;
		x->retired_event = ++mem->event;
	}
}

static uint64_t oldest_pin(const struct mem *mem)
{
	uint64_t oldest = UINT64_MAX;
	for (const struct pin *p = mem->pins; p; p = p->next)
		if (p->event < oldest)
			oldest = p->event;
	return oldest;
}

enum err mem_reclaim(struct engine *engine, bool *ret_more)
{
	struct mem_engine *e = mem_engine_of(engine);
	struct mem *mem = e->mem;
	size_t kept = 0, freed = 0;
	bool more = false;
	pthread_mutex_lock(&mem->lock);
	enum err err = mem_engine_dead(e) ? ERR_IO : ERR_OK;
	uint64_t pinned = oldest_pin(mem);
	for (size_t i = 0; !err && i < mem->extent_count; i++) {
		struct extent *x = mem->extents[i];
		bool goes = x->retired_commit && x->retired_commit <= mem->durable && x->retired_event < pinned;
		if (goes && freed < RECLAIM_ROUND) {
			extent_free(mem, x);
			freed++;
		} else {
			more |= goes;
			mem->extents[kept++] = x;
		}
	}
	if (!err)
		mem->extent_count = kept;
	pthread_mutex_unlock(&mem->lock);
	if (!err)
		*ret_more = more;
	return err;
}

void mem_extents_crash(struct mem *mem)
{
	size_t kept = 0;
	for (size_t i = 0; i < mem->extent_count; i++) {
		struct extent *x = mem->extents[i];
		if (x->retired_commit > mem->durable)
			x->retired_commit = 0;
		if (!x->published_commit || x->published_commit > mem->durable)
			extent_free(mem, x);
		else
			mem->extents[kept++] = x;
	}
	mem->extent_count = kept;
}

void mem_extents_fini(struct mem *mem)
{
	for (size_t i = 0; i < mem->extent_count; i++)
		extent_free(mem, mem->extents[i]);
	free(mem->extents);
}

void mem_extents_stats(const struct mem *mem, struct engine_stats *ret)
{
	for (size_t i = 0; i < mem->extent_count; i++) {
		const struct extent *x = mem->extents[i];
		ret->extent_bytes_live += x->published_commit ? x->length_bytes : 0;
		ret->retired_waiting += x->retired_commit != 0;
	}
	ret->extent_bytes_free = mem->space_total - mem->space_used;
}

bool engine_mem_corrupt_extent(struct engine *engine, const struct extent_ref *ref, uint32_t offset)
{
	struct mem *mem = mem_engine_of(engine)->mem;
	pthread_mutex_lock(&mem->lock);
	struct extent *x = mem_extent_find(mem, ref);
	bool there = x && offset < x->length_bytes;
	if (there)
		x->shared->bytes[offset] ^= 0x10;
	pthread_mutex_unlock(&mem->lock);
	return there;
}

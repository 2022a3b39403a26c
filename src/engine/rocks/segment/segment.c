/* SPDX-License-Identifier: Apache-2.0
 * Space in the segment files: which blocks are used, where the next extent goes, and how files grow. */
#include "engine/rocks/segment/segment_int.h"

#include "base/limits.h"
#include "base/panic.h"
#include "base/sys/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FREE_REGIONS_KEPT = 1, HOLE_MIN_BLOCKS = 4 };
enum { GROW_BLOCKS = 2048 }; /* 8 MiB at a time, so that a small disk is not filled by the first extent */

static enum err errno_error(void)
{
	return errno == ENOSPC || errno == EDQUOT ? ERR_NO_SPACE : errno == ENOMEM ? ERR_NO_MEMORY : ERR_IO;
}

/* ---- bitmaps ---- */

static bool bit_get(const uint64_t *map, size_t i)
{
	return map[i / 64] >> (i % 64) & 1;
}

static void bits_set(uint64_t *map, size_t from, size_t count, bool value)
{
	for (size_t i = from; i < from + count; i++) {
		if (value)
			map[i / 64] |= UINT64_C(1) << (i % 64);
		else
			map[i / 64] &= ~(UINT64_C(1) << (i % 64));
	}
}

static size_t bits_count(const uint64_t *map)
{
	size_t n = 0;
	for (size_t i = 0; i < REGION_WORDS; i++)
		n += (size_t)__builtin_popcountll(map[i]);
	return n;
}

/* The first bit with this value in [from, end), or end. */
static size_t bits_find(const uint64_t *map, size_t from, size_t end, bool value)
{
	while (from < end) {
		uint64_t word = (value ? map[from / 64] : ~map[from / 64]) >> (from % 64);
		if (word) {
			from += (size_t)__builtin_ctzll(word);
			return from < end ? from : end;
		}
		from = (from / 64 + 1) * 64;
	}
	return end;
}

/* First run of `count` bits of this value in [from, end); end if there is none. */
static size_t find_run(const uint64_t *map, size_t from, size_t end, size_t count, bool value)
{
	for (;;) {
		from = bits_find(map, from, end, value);
		if (from + count > end)
			return end;
		size_t other = bits_find(map, from, from + count, !value);
		if (other == from + count)
			return from;
		from = other;
	}
}

/* ---- files and regions ---- */

static void file_close(struct segment_file *f)
{
	if (!f)
		return;
	if (f->direct_fd >= 0)
		close(f->direct_fd);
	close(f->fd);
	free(f);
}

static enum err file_open(struct segments *s, uint32_t number, bool create, struct segment_file **ret)
{
	char name[32];
	snprintf(name, sizeof name, "%06u.seg", number);
	struct segment_file *f = calloc(1, sizeof *f);
	if (!f)
		return ERR_NO_MEMORY;
	f->fd = base_file_open_at(s->dir_fd, name, O_RDWR | (create ? O_CREAT : 0), 0600);
	f->direct_fd = -1;
	if (f->fd < 0) {
		enum err err = errno == ENOENT && !create ? ERR_NOT_FOUND : errno_error();
		free(f);
		return err;
	}
	/* Some file systems (tmpfs) have no direct i/o: then the page cache it is. */
	if (!s->buffered)
		f->direct_fd = base_file_open_at(s->dir_fd, name, O_RDWR | O_DIRECT, 0);
	if (create && fsync(s->dir_fd) != 0) {
		file_close(f);
		return ERR_IO;
	}
	*ret = f;
	return ERR_OK;
}

static enum err region_add(struct segments *s, size_t grown_blocks)
{
	if (s->region_count == REGIONS_MAX)
		return ERR_NO_SPACE;
	struct region *r = calloc(1, sizeof *r);
	if (!r)
		return ERR_NO_MEMORY;
	r->grown_blocks = grown_blocks;
	r->free_blocks = grown_blocks;
	r->no_run_of = SIZE_MAX;
	s->region[s->region_count] = r;
	atomic_store_explicit(&s->region_count, s->region_count + 1, memory_order_release);
	return ERR_OK;
}

/* Opens the files that exist; regions follow from their sizes. */
static enum err open_files(struct segments *s)
{
	for (uint32_t number = 0; number < FILES_MAX; number++) {
		struct stat st;
		enum err err = file_open(s, number, false, &s->file[number]);
		if (err == ERR_NOT_FOUND)
			return ERR_OK;
		TRY(err);
		/* A later file exists only if this many regions were in use, whatever a power cut left of the sizes. */
		while (s->region_count < (size_t)number * SEGMENT_FILE_REGIONS)
			TRY(region_add(s, 0));
		if (fstat(s->file[number]->fd, &st) != 0)
			return ERR_IO;
		uint64_t blocks = (uint64_t)st.st_size / SEGMENT_BLOCK_BYTES;
		for (int i = 0; i < SEGMENT_FILE_REGIONS && (blocks || i == 0); i++) {
			size_t here = blocks < SEGMENT_REGION_BLOCKS ? blocks : SEGMENT_REGION_BLOCKS;
			TRY(region_add(s, here));
			blocks -= here;
		}
	}
	return ERR_OK;
}

enum err segments_open(const struct segments_options *o, struct segments **ret)
{
	struct segments *s = calloc(1, sizeof *s);
	if (!s)
		return ERR_NO_MEMORY;
	s->magic = SEGMENTS_ALIVE;
	pthread_mutex_init(&s->lock, NULL);
	s->options = *o;
	s->buffered = o->buffered;
	s->next_id = o->first_id;
	s->region = calloc(REGIONS_MAX, sizeof(struct region *));
	s->file = calloc(FILES_MAX, sizeof(struct segment_file *));
	s->dir_fd = -1;
	enum err err = s->region && s->file ? ERR_OK : ERR_NO_MEMORY;
	if (err == ERR_OK && mkdirat(o->dir_fd, "segments", 0700) != 0 && errno != EEXIST)
		err = errno_error();
	if (err == ERR_OK) {
		s->dir_fd = base_file_open_dir_at(o->dir_fd, "segments");
		if (s->dir_fd < 0)
			err = errno_error();
	}
	if (err == ERR_OK)
		err = open_files(s);
	if (err != ERR_OK) {
		segments_close(s);
		return err;
	}
	*ret = s;
	return ERR_OK;
}

void segments_close(struct segments *s)
{
	if (!s)
		return;
	for (size_t i = 0; s->region && i < s->region_count && s->region[i]; i++) {
		free(s->region[i]->holes);
		free(s->region[i]);
	}
	for (size_t i = 0; s->file && i < FILES_MAX && s->file[i]; i++)
		file_close(s->file[i]);
	for (size_t i = 0; i < s->pool_count; i++)
		free(s->pool[i]);
	if (s->dir_fd >= 0)
		close(s->dir_fd);
	free(s->region);
	free(s->file);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

enum err segments_restore(struct segments *s, uint32_t region, const unsigned char *bitmap)
{
	if (region >= s->region_count)
		return ERR_CORRUPT;
	struct region *r = s->region[region];
	memcpy(r->published, bitmap, SEGMENT_BITMAP_BYTES);
	memcpy(r->used, bitmap, SEGMENT_BITMAP_BYTES);
	size_t used = bits_count(r->used);
	if (bits_find(r->used, r->grown_blocks, SEGMENT_REGION_BLOCKS, true) != SEGMENT_REGION_BLOCKS)
		return ERR_CORRUPT; /* the file is shorter than what was published in it */
	r->free_blocks = r->grown_blocks - used;
	atomic_fetch_add(&s->published_blocks, used);
	return ERR_OK;
}

struct segment_file *segment_file_of(struct segments *s, uint32_t region)
{
	return s->file[region / SEGMENT_FILE_REGIONS];
}

uint64_t segment_offset(uint64_t place)
{
	uint64_t region = (place >> 32) % SEGMENT_FILE_REGIONS;
	return (region * SEGMENT_REGION_BLOCKS + (uint32_t)place) * SEGMENT_BLOCK_BYTES;
}

size_t segment_blocks(uint32_t length_bytes)
{
	size_t chunks = (length_bytes + (size_t)SEGMENT_CHUNK_BYTES - 1) / SEGMENT_CHUNK_BYTES;
	return (length_bytes + 4 * chunks + SEGMENT_BLOCK_BYTES - 1) / SEGMENT_BLOCK_BYTES;
}

/* ---- allocation, under the lock ---- */

static bool take_run(struct segments *s, size_t number, size_t count, uint64_t *ret_place)
{
	struct region *r = s->region[number];
	if (r->free_blocks < count || count >= r->no_run_of)
		return false;
	size_t at = find_run(r->used, r->cursor, r->grown_blocks, count, false);
	if (at == r->grown_blocks)
		at = find_run(r->used, 0, r->grown_blocks, count, false);
	if (at == r->grown_blocks) {
		r->no_run_of = count;
		return false;
	}
	bits_set(r->used, at, count, true);
	r->free_blocks -= count;
	r->cursor = at + count;
	*ret_place = (uint64_t)number << 32 | at;
	return true;
}

/* A region whose file can be grown by a run of `count`; a new region (and file) if there is none. */
static enum err find_growing(struct segments *s, size_t count, size_t *ret)
{
	size_t n = s->region_count;
	while (s->growing < n &&
	       (s->region[s->growing]->leaving || s->region[s->growing]->grown_blocks + count > SEGMENT_REGION_BLOCKS))
		s->growing++;
	if (s->growing == n) {
		uint32_t number = (uint32_t)(n / SEGMENT_FILE_REGIONS);
		if (number == FILES_MAX)
			return ERR_NO_SPACE;
		if (!s->file[number])
			TRY(file_open(s, number, true, &s->file[number]));
		TRY(region_add(s, 0));
	}
	*ret = s->growing;
	return ERR_OK;
}

/* Some file systems cannot take space beforehand (NFS, FAT, many in user space): there a file is made long enough, and
 * a write finds out whether there is room for it. */
static enum err take_space(const struct segment_file *f, off_t at, off_t bytes)
{
	struct stat st;
	int failed;
	do
		failed = fallocate(f->fd, 0, at, bytes);
	while (failed && errno == EINTR);
	if (failed && errno == EOPNOTSUPP)
		failed = fstat(f->fd, &st) != 0 || (st.st_size < at + bytes && ftruncate(f->fd, at + bytes) != 0);
	return failed ? errno_error() : ERR_OK;
}

/* Holes between extents come before new space: the file gets no longer. */
static enum err refill(struct segments *s, size_t number, size_t at, size_t count)
{
	struct region *r = s->region[number];
	if (!s->options.may_grow(s->options.arg, count * SEGMENT_BLOCK_BYTES))
		return ERR_NO_SPACE;
	TRY(take_space(segment_file_of(s, (uint32_t)number), (off_t)segment_offset((uint64_t)number << 32 | at),
		       (off_t)(count * SEGMENT_BLOCK_BYTES)));
	bits_set(r->holes, at, count, false);
	bits_set(r->used, at, count, false);
	r->hole_blocks -= count;
	r->free_blocks += count;
	r->no_run_of = SIZE_MAX;
	r->cursor = at;
	return ERR_OK;
}

static bool find_hole(const struct segments *s, size_t count, size_t *ret_region, size_t *ret_at)
{
	for (size_t i = 0; i < s->region_count; i++) {
		const struct region *r = s->region[i];
		if (r->hole_blocks < count || r->leaving)
			continue;
		*ret_region = i;
		*ret_at = find_run(r->holes, 0, r->grown_blocks, count, true);
		if (*ret_at < r->grown_blocks)
			return true;
	}
	return false;
}

static enum err grow(struct segments *s, size_t count, size_t *ret_region)
{
	size_t last = 0, hole = 0;
	if (find_hole(s, count, ret_region, &hole))
		return refill(s, *ret_region, hole, count);
	TRY(find_growing(s, count, &last));
	struct region *r = s->region[last];
	size_t room = SEGMENT_REGION_BLOCKS - r->grown_blocks;
	size_t want = count > GROW_BLOCKS ? count : GROW_BLOCKS < room ? GROW_BLOCKS : room;
	if (!s->options.may_grow(s->options.arg, want * SEGMENT_BLOCK_BYTES)) {
		want = count;
		if (!s->options.may_grow(s->options.arg, want * SEGMENT_BLOCK_BYTES))
			return ERR_NO_SPACE;
	}
	uint64_t at = segment_offset((uint64_t)last << 32 | r->grown_blocks);
	TRY(take_space(segment_file_of(s, (uint32_t)last), (off_t)at, (off_t)(want * SEGMENT_BLOCK_BYTES)));
	r->grown_blocks += want;
	r->free_blocks += want;
	r->no_run_of = SIZE_MAX;
	*ret_region = last;
	return ERR_OK;
}

enum err segment_reserve(struct segments *s, size_t count, uint64_t *ret_place)
{
	enum err err = ERR_OK;
	pthread_mutex_lock(&s->lock);
	bool found = false;
	for (size_t i = 0, n = s->region_count; i < n && !found; i++) {
		size_t number = (s->current + i) % n;
		found = take_run(s, number, count, ret_place);
		if (found)
			s->current = number;
	}
	if (!found) {
		size_t grown = 0;
		err = grow(s, count, &grown);
		if (err == ERR_OK && !take_run(s, grown, count, ret_place))
			err = ERR_NO_SPACE;
		if (err == ERR_OK)
			s->current = grown;
	}
	pthread_mutex_unlock(&s->lock);
	return err;
}

void segment_unreserve(struct segments *s, uint64_t place, size_t count)
{
	if (!count)
		return;
	pthread_mutex_lock(&s->lock);
	struct region *r = s->region[place >> 32];
	bits_set(r->used, (uint32_t)place, count, false);
	r->free_blocks += count;
	r->no_run_of = SIZE_MAX;
	if (r->cursor > (uint32_t)place)
		r->cursor = (uint32_t)place;
	pthread_mutex_unlock(&s->lock);
}

/* ---- giving back ---- */

static bool punch(struct segments *s, size_t number, size_t at, size_t count)
{
	return fallocate(segment_file_of(s, (uint32_t)number)->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			 (off_t)segment_offset((uint64_t)number << 32 | at), (off_t)(count * SEGMENT_BLOCK_BYTES)) == 0;
}

/* Under the lock, which is let go of meanwhile: a run of free blocks becomes a hole. Nobody takes it before it is one.
 * False: the file system cannot. */
static bool make_hole(struct segments *s, size_t number, size_t at, size_t count)
{
	struct region *r = s->region[number];
	bits_set(r->used, at, count, true);
	r->free_blocks -= count;
	pthread_mutex_unlock(&s->lock);
	bool punched = punch(s, number, at, count);
	pthread_mutex_lock(&s->lock);
	if (punched) {
		bits_set(r->holes, at, count, true);
		r->hole_blocks += count;
	} else {
		bits_set(r->used, at, count, false);
		r->free_blocks += count;
		s->cannot_punch = true;
	}
	return punched;
}

/* Under the lock: all that is free between the extents of a region. */
static void make_holes(struct segments *s, size_t number)
{
	struct region *r = s->region[number];
	if (!r->holes)
		r->holes = calloc(REGION_WORDS, sizeof *r->holes);
	for (size_t at = 0, end; r->holes && !s->cannot_punch && r->free_blocks; at = end) {
		at = bits_find(r->used, at, r->grown_blocks, false);
		end = bits_find(r->used, at, r->grown_blocks, true);
		if (at >= r->grown_blocks)
			return;
		if (end - at >= HOLE_MIN_BLOCKS && !make_hole(s, number, at, end - at))
			return;
	}
}

/* Under the lock: the last of the free regions, if there are more than are kept. */
static bool find_leaving(const struct segments *s, size_t kept, size_t *ret)
{
	size_t found = 0;
	for (size_t i = 0; i < s->region_count; i++) {
		const struct region *r = s->region[i];
		if (!r->grown_blocks || r->free_blocks + r->hole_blocks != r->grown_blocks)
			continue;
		*ret = i;
		found++;
	}
	return found > kept;
}

/* Under the lock, which is let go of meanwhile: a region in which nothing is left. */
static void leave_region(struct segments *s, size_t number)
{
	struct region *r = s->region[number];
	size_t grown = r->grown_blocks;
	/* Holes in it are as free as the rest now. */
	if (r->holes) {
		for (size_t i = 0; i < REGION_WORDS; i++)
			r->used[i] &= ~r->holes[i];
		memset(r->holes, 0, REGION_WORDS * sizeof *r->holes);
	}
	r->hole_blocks = 0;
	/* Nobody finds room in it meanwhile, nor makes it grow. */
	r->grown_blocks = r->free_blocks = r->cursor = 0;
	r->leaving = true;
	pthread_mutex_unlock(&s->lock);
	bool punched = punch(s, number, 0, SEGMENT_REGION_BLOCKS);
	pthread_mutex_lock(&s->lock);
	r->leaving = false;
	if (!punched) {
		r->grown_blocks = r->free_blocks = grown;
		s->cannot_punch = true;
	} else if (number < s->growing) {
		s->growing = number;
	}
}

void segments_give_back(struct segments *s, bool short_of_space)
{
	size_t number = 0;
	pthread_mutex_lock(&s->lock);
	while (!s->cannot_punch && find_leaving(s, short_of_space ? 0 : FREE_REGIONS_KEPT, &number))
		leave_region(s, number);
	for (size_t i = 0; short_of_space && !s->cannot_punch && i < s->region_count; i++)
		make_holes(s, i);
	pthread_mutex_unlock(&s->lock);
}

static size_t used_end(const struct region *r)
{
	size_t words = REGION_WORDS;
	while (words && !r->used[words - 1])
		words--;
	return words ? words * 64 - (size_t)__builtin_clzll(r->used[words - 1]) : 0;
}

/* A file with holes does not tell how far its regions have space: each counts up to its last extent. */
void segments_restored(struct segments *s)
{
	struct stat st;
	for (size_t i = 0; i < s->region_count; i++) {
		struct region *r = s->region[i];
		if (fstat(segment_file_of(s, (uint32_t)i)->fd, &st) != 0 || st.st_blocks * INT64_C(512) >= st.st_size)
			continue;
		size_t end = used_end(r);
		if (end == 0 && !punch(s, i, 0, SEGMENT_REGION_BLOCKS))
			continue;
		r->grown_blocks = end;
		r->free_blocks = end - bits_count(r->used);
		/* Which of the free ones have space is not known either: now none has. */
		pthread_mutex_lock(&s->lock);
		make_holes(s, i);
		pthread_mutex_unlock(&s->lock);
	}
}

/* ---- published space ---- */

bool segment_ref_valid(struct segments *s, const struct extent_ref *e)
{
	return e->length_bytes && e->length_bytes <= LIMIT_EXTENT_BYTES &&
	       segment_region(e) < atomic_load_explicit(&s->region_count, memory_order_acquire) &&
	       (uint64_t)(uint32_t)e->place + segment_blocks(e->length_bytes) <= SEGMENT_REGION_BLOCKS;
}

void segment_release(struct segments *s, const struct extent_ref *e)
{
	if (segment_ref_valid(s, e))
		segment_unreserve(s, e->place, segment_blocks(e->length_bytes));
}

bool segment_is_published(struct segments *s, const struct extent_ref *e)
{
	if (!segment_ref_valid(s, e))
		return false;
	const uint64_t *map = s->region[segment_region(e)]->published;
	size_t at = (uint32_t)e->place, end = at + segment_blocks(e->length_bytes);
	return bits_find(map, at, end, false) == end;
}

bool segment_published_set(struct segments *s, const struct extent_ref *e, bool published)
{
	if (!segment_ref_valid(s, e))
		return false;
	struct region *r = s->region[segment_region(e)];
	size_t at = (uint32_t)e->place, count = segment_blocks(e->length_bytes);
	MAGIC_CHECK(s, SEGMENTS_ALIVE);
	assert(at + count <= SEGMENT_REGION_BLOCKS);
	if (bit_get(r->published, at) == published)
		return false;
	/* No extent shares a block with another: two would write over each other once one of them is reclaimed. */
	if (published && bits_find(r->published, at, at + count, true) != at + count)
		return false;
	bits_set(r->published, at, count, published);
	if (published)
		atomic_fetch_add(&s->published_blocks, count);
	else
		atomic_fetch_sub(&s->published_blocks, count);
	return true;
}

const unsigned char *segment_published(struct segments *s, uint32_t region)
{
	return (const unsigned char *)s->region[region]->published;
}

void segment_stats(struct segments *s, struct engine_stats *ret)
{
	uint64_t free_blocks = 0;
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->region_count; i++)
		free_blocks += s->region[i]->free_blocks;
	pthread_mutex_unlock(&s->lock);
	ret->extent_bytes_free = free_blocks * SEGMENT_BLOCK_BYTES;
	ret->extent_bytes_live = atomic_load(&s->published_blocks) * SEGMENT_BLOCK_BYTES;
	ret->bytes_written += atomic_load(&s->bytes_written);
	ret->syncs += atomic_load(&s->syncs);
}

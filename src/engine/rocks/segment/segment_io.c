/* SPDX-License-Identifier: Apache-2.0
 * Bytes of extents: writers fill a reused, aligned buffer and write it past the page cache; readers go through it and
 * verify whole chunks. */
#include "base/bytes.h"
#include "base/limits.h"
#include "engine/rocks/segment/segment_int.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	CHUNKS_MAX = LIMIT_EXTENT_BYTES / SEGMENT_CHUNK_BYTES,
	FLUSH_BYTES = 1024 * 1024,			  /* one write; larger ones were not faster */
	BUFFER_BYTES = FLUSH_BYTES + SEGMENT_BLOCK_BYTES, /* the last flush may carry the checksums too */
};

struct extent_writer {
	struct segments *segments;
	uint64_t id;
	uint64_t place;
	size_t blocks; /* reserved */
	uint32_t length_bytes;
	uint32_t flushed_bytes;
	uint32_t chunk_crc;
	uint32_t chunk_count; /* whole ones */
	uint32_t crc[CHUNKS_MAX];
	char *buffer;
	size_t buffered;
};

static void *buffer_take(struct segments *s)
{
	void *b = NULL;
	pthread_mutex_lock(&s->lock);
	if (s->pool_count)
		b = s->pool[--s->pool_count];
	pthread_mutex_unlock(&s->lock);
	return b ? b : aligned_alloc(SEGMENT_BLOCK_BYTES, BUFFER_BYTES);
}

static void buffer_give(struct segments *s, void *b)
{
	pthread_mutex_lock(&s->lock);
	if (s->pool_count < POOL_MAX) {
		s->pool[s->pool_count++] = b;
		b = NULL;
	}
	pthread_mutex_unlock(&s->lock);
	free(b);
}

static uint32_t chunk_seed(uint64_t id, uint32_t chunk)
{
	char seed[12];
	bytes_store(seed, id, 8);
	for (int i = 0; i < 4; i++)
		seed[8 + i] = (char)(chunk >> (8 * i));
	return crc32c(0, slice_make(seed, sizeof seed));
}

enum err segment_writer_new(struct segments *s, uint32_t length_hint, struct extent_writer **ret)
{
	struct extent_writer *w = malloc(sizeof *w);
	if (!w)
		return ERR_NO_MEMORY;
	*w = (struct extent_writer){ .segments = s, .id = atomic_fetch_add(&s->next_id, 1) };
	w->buffer = buffer_take(s);
	w->chunk_crc = chunk_seed(w->id, 0);
	if (length_hint == 0 || length_hint > LIMIT_EXTENT_BYTES)
		length_hint = LIMIT_EXTENT_BYTES;
	enum err err = w->buffer ? segment_reserve(s, segment_blocks(length_hint), &w->place) : ERR_NO_MEMORY;
	if (err != ERR_OK) {
		segment_writer_free(w);
		return err;
	}
	w->blocks = segment_blocks(length_hint);
	*ret = w;
	return ERR_OK;
}

uint64_t segment_writer_id(const struct extent_writer *w)
{
	return w->id;
}

void segment_writer_free(struct extent_writer *w)
{
	if (!w)
		return;
	segment_unreserve(w->segments, w->place, w->blocks);
	if (w->buffer)
		buffer_give(w->segments, w->buffer);
	free(w);
}

/* Consumes the pieces. Those that go past the page cache have whole blocks. */
static enum err write_pieces(struct segments *s, uint64_t place, uint64_t skip, struct iovec *piece, int count)
{
	struct segment_file *f = segment_file_of(s, (uint32_t)(place >> 32));
	int fd = f->direct_fd >= 0 ? f->direct_fd : f->fd;
	uint64_t at = segment_offset(place) + skip;
	while (count) {
		ssize_t n = pwritev(fd, piece, count, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EINVAL && fd != f->fd) {
			fd = f->fd; /* opened for direct i/o, yet not able to */
			continue;
		}
		if (n <= 0)
			return n < 0 && (errno == ENOSPC || errno == EDQUOT) ? ERR_NO_SPACE : ERR_IO;
		atomic_fetch_add(&s->bytes_written, (uint64_t)n);
		at += (uint64_t)n;
		for (size_t left = (size_t)n; left;) {
			assert(count > 0);
			size_t part = left < piece->iov_len ? left : piece->iov_len;
			piece->iov_base = (char *)piece->iov_base + part;
			piece->iov_len -= part;
			left -= part;
			if (piece->iov_len == 0) {
				piece++;
				count--;
			}
		}
	}
	atomic_fetch_add(&f->writes, 1);
	return ERR_OK;
}

static enum err write_all(struct segments *s, uint64_t place, uint64_t skip, char *bytes, size_t count)
{
	struct iovec piece = { bytes, count };
	return write_pieces(s, place, skip, &piece, 1);
}

/* More came than the hint said: a run for the largest extent, and what is on disk already is copied there. */
static enum err move_writer(struct extent_writer *w)
{
	struct segments *s = w->segments;
	uint64_t place;
	size_t blocks = segment_blocks(LIMIT_EXTENT_BYTES);
	TRY(segment_reserve(s, blocks, &place));
	char *copy = w->flushed_bytes ? buffer_take(s) : NULL;
	enum err err = w->flushed_bytes && !copy ? ERR_NO_MEMORY : ERR_OK;
	int fd = segment_file_of(s, (uint32_t)(w->place >> 32))->fd;
	for (uint64_t at = 0; err == ERR_OK && at < w->flushed_bytes; at += FLUSH_BYTES) {
		if (pread(fd, copy, FLUSH_BYTES, (off_t)(segment_offset(w->place) + at)) != FLUSH_BYTES)
			err = ERR_IO;
		else
			err = write_all(s, place, at, copy, FLUSH_BYTES);
	}
	if (copy)
		buffer_give(s, copy);
	if (err != ERR_OK) {
		segment_unreserve(s, place, blocks);
		return err;
	}
	segment_unreserve(s, w->place, w->blocks);
	w->place = place;
	w->blocks = blocks;
	return ERR_OK;
}

static void add_crc(struct extent_writer *w, struct slice bytes)
{
	uint32_t in_chunk = w->length_bytes % SEGMENT_CHUNK_BYTES;
	while (bytes.len) {
		struct slice now = slice_first(bytes, SEGMENT_CHUNK_BYTES - in_chunk);
		w->chunk_crc = crc32c(w->chunk_crc, now);
		in_chunk += (uint32_t)now.len;
		bytes = slice_from(bytes, now.len);
		if (in_chunk == SEGMENT_CHUNK_BYTES) {
			w->crc[w->chunk_count++] = w->chunk_crc;
			w->chunk_crc = chunk_seed(w->id, w->chunk_count);
			in_chunk = 0;
		}
	}
}

enum err segment_writer_append(struct extent_writer *w, struct slice bytes)
{
	if (bytes.len > LIMIT_EXTENT_BYTES - w->length_bytes)
		return ERR_LIMIT;
	if (segment_blocks(w->length_bytes + (uint32_t)bytes.len) > w->blocks)
		TRY(move_writer(w));
	while (bytes.len) {
		struct slice now = slice_first(bytes, FLUSH_BYTES - w->buffered);
		add_crc(w, now);
		memcpy(w->buffer + w->buffered, now.ptr, now.len);
		w->buffered += now.len;
		w->length_bytes += (uint32_t)now.len;
		bytes = slice_from(bytes, now.len);
		/* The last full buffer waits for seal, which adds the checksums to it. */
		if (w->buffered == FLUSH_BYTES && (bytes.len || w->length_bytes < LIMIT_EXTENT_BYTES)) {
			TRY(write_all(w->segments, w->place, w->flushed_bytes, w->buffer, FLUSH_BYTES));
			w->flushed_bytes += FLUSH_BYTES;
			w->buffered = 0;
		}
	}
	return ERR_OK;
}

/* Checksums and zeros behind what is buffered: whole blocks. */
static size_t buffer_close(struct extent_writer *w)
{
	if (w->length_bytes % SEGMENT_CHUNK_BYTES)
		w->crc[w->chunk_count++] = w->chunk_crc;
	for (uint32_t i = 0; i < w->chunk_count; i++)
		for (int k = 0; k < 4; k++)
			w->buffer[w->buffered++] = (char)(w->crc[i] >> (8 * k));
	size_t padded = (w->buffered + SEGMENT_BLOCK_BYTES - 1) / SEGMENT_BLOCK_BYTES * SEGMENT_BLOCK_BYTES;
	assert(padded <= BUFFER_BYTES);
	memset(w->buffer + w->buffered, 0, padded - w->buffered);
	return padded;
}

static enum err seal_end(struct extent_writer *w, enum err err, struct extent_ref *ret)
{
	if (err == ERR_OK) {
		size_t blocks = segment_blocks(w->length_bytes);
		*ret = (struct extent_ref){ w->id, w->place, w->length_bytes };
		segment_unreserve(w->segments, w->place + blocks, w->blocks - blocks);
		w->blocks = 0; /* the ref has them now */
	}
	segment_writer_free(w);
	return err;
}

enum err segment_writer_seal(struct extent_writer *w, struct extent_ref *ret)
{
	if (w->length_bytes == 0)
		return seal_end(w, ERR_LIMIT, ret);
	size_t padded = buffer_close(w);
	return seal_end(w, write_all(w->segments, w->place, w->flushed_bytes, w->buffer, padded), ret);
}

/* All of an extent is at hand, from a block's beginning on: its whole blocks go to the disk from where they are, what
 * is left of it with the checksums, in one call. */
enum err segment_writer_append_seal(struct extent_writer *w, struct slice last, struct extent_ref *ret)
{
	size_t whole = last.len / SEGMENT_BLOCK_BYTES * SEGMENT_BLOCK_BYTES;
	bool in_place = w->length_bytes == 0 && whole && (uintptr_t)last.ptr % SEGMENT_BLOCK_BYTES == 0 &&
			last.len <= LIMIT_EXTENT_BYTES && segment_blocks((uint32_t)last.len) <= w->blocks;
	if (!in_place) {
		enum err err = segment_writer_append(w, last);
		return err == ERR_OK ? segment_writer_seal(w, ret) : seal_end(w, err, ret);
	}
	add_crc(w, last);
	w->length_bytes = (uint32_t)last.len;
	w->buffered = last.len - whole;
	memcpy(w->buffer, last.ptr + whole, w->buffered);
	struct iovec pieces[] = { { (char *)(uintptr_t)last.ptr, whole }, { w->buffer, buffer_close(w) } };
	return seal_end(w, write_pieces(w->segments, w->place, 0, pieces, 2), ret);
}

/* ---- reading ---- */

static bool read_exact(int fd, void *dst, size_t count, uint64_t at)
{
	char *p = dst;
	while (count) {
		ssize_t n = pread(fd, p, count, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		at += (uint64_t)n;
		count -= (size_t)n;
	}
	return true;
}

struct reading {
	const struct extent_ref *extent;
	int fd;
	uint64_t base;
	uint32_t first_chunk;
	unsigned char crc[CHUNKS_MAX * 4];
};

static uint32_t chunk_length(const struct extent_ref *e, uint32_t chunk)
{
	uint32_t at = chunk * SEGMENT_CHUNK_BYTES;
	return e->length_bytes - at < SEGMENT_CHUNK_BYTES ? e->length_bytes - at : SEGMENT_CHUNK_BYTES;
}

static bool chunk_ok(const struct reading *r, uint32_t chunk, const char *bytes)
{
	const unsigned char *p = r->crc + 4 * (chunk - r->first_chunk);
	uint32_t want = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
	return crc32c(chunk_seed(r->extent->id, chunk), slice_make(bytes, chunk_length(r->extent, chunk))) == want;
}

/* Part of one chunk, through a buffer of this thread. */
static enum err read_part(const struct reading *r, uint32_t chunk, uint32_t from, uint32_t length, char *dst)
{
	static _Thread_local char bounce[SEGMENT_CHUNK_BYTES];
	if (!read_exact(r->fd, bounce, chunk_length(r->extent, chunk), r->base + (uint64_t)chunk * SEGMENT_CHUNK_BYTES))
		return ERR_IO;
	if (!chunk_ok(r, chunk, bounce))
		return ERR_CORRUPT;
	memcpy(dst, bounce + from, length);
	return ERR_OK;
}

static enum err read_whole(const struct reading *r, uint32_t chunk, uint32_t count, uint32_t bytes, char *dst)
{
	if (!read_exact(r->fd, dst, bytes, r->base + (uint64_t)chunk * SEGMENT_CHUNK_BYTES))
		return ERR_IO;
	for (uint32_t i = 0; i < count; i++)
		if (!chunk_ok(r, chunk + i, dst + (size_t)i * SEGMENT_CHUNK_BYTES))
			return ERR_CORRUPT;
	return ERR_OK;
}

enum err segment_read(struct segments *s, const struct extent_ref *e, uint32_t offset, uint32_t length, void *dst)
{
	if (!segment_ref_valid(s, e))
		return ERR_CORRUPT;
	if (offset > e->length_bytes || length > e->length_bytes - offset)
		return ERR_LIMIT;
	if (length == 0)
		return ERR_OK;
	char *out = dst;
	uint32_t end = offset + length;
	uint32_t last = (end - 1) / SEGMENT_CHUNK_BYTES;
	struct reading r = { .extent = e,
			     .fd = segment_file_of(s, segment_region(e))->fd,
			     .base = segment_offset(e->place),
			     .first_chunk = offset / SEGMENT_CHUNK_BYTES };
	uint32_t chunk = r.first_chunk;
	if (!read_exact(r.fd, r.crc, 4 * (last - chunk + 1), r.base + e->length_bytes + 4 * (uint64_t)chunk))
		return ERR_IO;
	while (offset < end) {
		uint32_t start = chunk * SEGMENT_CHUNK_BYTES;
		uint32_t chunk_end = start + chunk_length(e, chunk);
		if (offset > start || end < chunk_end) {
			uint32_t part = (end < chunk_end ? end : chunk_end) - offset;
			TRY(read_part(&r, chunk, offset - start, part, out));
			out += part;
			offset += part;
			chunk++;
			continue;
		}
		/* From here whole chunks, up to one that is wanted only in part. */
		uint32_t count = end == e->length_bytes ? last - chunk + 1 : end / SEGMENT_CHUNK_BYTES - chunk;
		uint32_t bytes = (end == e->length_bytes ? end : (chunk + count) * SEGMENT_CHUNK_BYTES) - start;
		TRY(read_whole(&r, chunk, count, bytes, out));
		out += bytes;
		offset += bytes;
		chunk += count;
	}
	return ERR_OK;
}

bool segment_sync(struct segments *s, const struct extent_ref *e)
{
	if (!segment_ref_valid(s, e))
		return true; /* found and refused when it is published */
	struct segment_file *f = segment_file_of(s, segment_region(e));
	uint64_t writes = atomic_load(&f->writes);
	if (atomic_load(&f->writes_synced) >= writes)
		return true;
	if (fdatasync(f->fd) != 0)
		return false;
	atomic_store(&f->writes_synced, writes);
	atomic_fetch_add(&s->syncs, 1);
	return true;
}

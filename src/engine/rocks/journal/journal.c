/* SPDX-License-Identifier: Apache-2.0
 * Appending to the journal, and its thread that gets full files free again. */
#include "engine/rocks/journal/journal_int.h"

#include "base/panic.h"
#include "base/sys/file.h"
#include "base/sys/rng.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { KEEP_BUFFER_BYTES = 1024 * 1024 };

void journal_file_name(char name[JOURNAL_NAME_BYTES], size_t i)
{
	snprintf(name, JOURNAL_NAME_BYTES, "%zu", i);
}

/* Past the page cache if that is possible. -1 and errno. */
static int journal_file_open(struct journal *j, size_t i, int flags)
{
	char name[JOURNAL_NAME_BYTES];
	journal_file_name(name, i);
	int fd = -1;
	if (!j->options.buffered)
		fd = base_file_open_at(j->dir_fd, name, flags | O_RDWR | O_DIRECT, 0600);
	return fd >= 0 ? fd : base_file_open_at(j->dir_fd, name, flags | O_RDWR, 0600);
}

static enum err write_at(int fd, uint64_t at, const char *bytes, size_t count)
{
	while (count) {
		ssize_t n = pwrite(fd, bytes, count, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		/* Direct i/o may be allowed by open and not by write. */
		if (n < 0 && errno == EINVAL && fcntl(fd, F_GETFL) & O_DIRECT &&
		    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_DIRECT) == 0)
			continue;
		if (n <= 0)
			return n < 0 && (errno == ENOSPC || errno == EDQUOT) ? ERR_NO_SPACE : ERR_IO;
		bytes += n;
		at += (uint64_t)n;
		count -= (size_t)n;
	}
	return ERR_OK;
}

static bool write_header(const struct journal_file *f, const struct journal_header *h)
{
	_Alignas(JOURNAL_BLOCK_BYTES) char block[JOURNAL_BLOCK_BYTES];
	journal_header_encode(block, h);
	return write_at(f->fd, 0, block, sizeof block) == ERR_OK;
}

static bool mark_free(struct journal_file *f, uint64_t flushed)
{
	return write_header(f, &(struct journal_header){ .free = true, .flushed = flushed }) && fdatasync(f->fd) == 0;
}

/* File i. Its space is taken now: an append must not meet a full disk. */
static enum err make_file(struct journal *j, size_t i)
{
	uint64_t bytes = j->options.file_bytes;
	if (!j->options.may_grow(j->options.arg, bytes))
		return ERR_NO_SPACE;
	int fd = journal_file_open(j, i, O_CREAT);
	if (fd < 0)
		return ERR_IO;
	if (fallocate(fd, 0, 0, (off_t)bytes) != 0 && (errno == ENOSPC || errno == EDQUOT)) {
		char name[JOURNAL_NAME_BYTES];
		journal_file_name(name, i);
		close(fd);
		unlinkat(j->dir_fd, name, 0);
		return ERR_NO_SPACE;
	}
	if (fsync(fd) != 0 || fsync(j->dir_fd) != 0) {
		close(fd);
		return ERR_IO;
	}
	j->file[i] = (struct journal_file){ .state = JOURNAL_FREE, .fd = fd };
	return ERR_OK;
}

static enum err add_file(struct journal *j)
{
	if (j->file_count == JOURNAL_FILES_MAX)
		return ERR_NO_SPACE;
	TRY(make_file(j, j->file_count));
	j->file_count++;
	return ERR_OK;
}

/* ---- getting files free ---- */

/* Under the lock: the newest record in a full file; 0: no file is full. */
static uint64_t full_through(const struct journal *j)
{
	uint64_t through = 0;
	for (size_t i = 0; i < j->file_count; i++)
		if (j->file[i].state == JOURNAL_FULL && j->file[i].last > through)
			through = j->file[i].last;
	return through;
}

/* Under the lock, which it lets go of while it writes. */
static bool free_files(struct journal *j, uint64_t through)
{
	for (size_t i = 0; i < j->file_count; i++) {
		struct journal_file *f = &j->file[i];
		if (f->state != JOURNAL_FULL || f->last > through)
			continue;
		assert(f != j->current || j->current->state != JOURNAL_USED); /* nobody writes to it */
		pthread_mutex_unlock(&j->lock);
		bool marked = mark_free(f, through);
		pthread_mutex_lock(&j->lock);
		if (!marked)
			return false;
		f->state = JOURNAL_FREE;
		pthread_cond_broadcast(&j->wake);
	}
	return true;
}

static void *journal_main(void *arg)
{
	struct journal *j = arg;
	pthread_setname_np(pthread_self(), "journal");
	pthread_mutex_lock(&j->lock);
	while (!j->stop && !j->failed) {
		uint64_t through = full_through(j);
		if (!through) {
			pthread_cond_wait(&j->wake, &j->lock);
			continue;
		}
		pthread_mutex_unlock(&j->lock);
		bool flushed = j->options.flush(j->options.arg);
		pthread_mutex_lock(&j->lock);
		if (flushed)
			j->flushed = through;
		if (!flushed || !free_files(j, through)) {
			j->failed = true;
			pthread_cond_broadcast(&j->wake);
		}
	}
	pthread_mutex_unlock(&j->lock);
	return NULL;
}

/* ---- appending ---- */

static struct journal_file *free_file(struct journal *j)
{
	for (size_t i = 0; i < j->file_count; i++)
		if (j->file[i].state == JOURNAL_FREE)
			return &j->file[i];
	return NULL;
}

/* Under the lock: a free file, waited for if it cannot be made. */
static enum err take_free_file(struct journal *j, struct journal_file **ret)
{
	while (!j->failed) {
		*ret = free_file(j);
		if (*ret)
			return ERR_OK;
		if (add_file(j) == ERR_OK)
			continue;
		if (!full_through(j))
			return ERR_NO_SPACE;
		pthread_cond_wait(&j->wake, &j->lock);
	}
	return ERR_IO;
}

static bool sync_current(struct journal *j)
{
	if (j->synced == j->last)
		return true;
	assert(j->current); /* what is not synced lies in it */
	if (fdatasync(j->current->fd) != 0)
		return false;
	j->synced = j->last;
	return true;
}

/* The current file is full; what is in it has been given to RocksDB. It is synced before there is another one: what was
 * not is in one file, and ends where the journal ends. */
static enum err next_file(struct journal *j)
{
	struct journal_file *f;
	if (!sync_current(j))
		return ERR_IO;
	pthread_mutex_lock(&j->lock);
	if (j->current && j->current->state == JOURNAL_USED) {
		j->current->state = JOURNAL_FULL;
		pthread_cond_broadcast(&j->wake);
	}
	enum err err = take_free_file(j, &f);
	uint64_t flushed = j->flushed;
	if (err == ERR_OK) {
		*f = (struct journal_file){ .state = JOURNAL_USED,
					    .fd = f->fd,
					    .epoch = j->epoch,
					    .first = j->last + 1,
					    .last = j->last,
					    .end_bytes = JOURNAL_BLOCK_BYTES };
		j->current = f;
	}
	pthread_mutex_unlock(&j->lock);
	TRY(err);
	return write_header(f, &(struct journal_header){ .epoch = j->epoch, .first = f->first, .flushed = flushed })
		       ? ERR_OK
		       : ERR_IO;
}

static bool buffer_reserve(struct journal *j, size_t bytes)
{
	if (bytes <= j->buffer_bytes)
		return true;
	free(j->buffer);
	j->buffer_bytes = bytes < KEEP_BUFFER_BYTES ? KEEP_BUFFER_BYTES : bytes;
	j->buffer = aligned_alloc(JOURNAL_BLOCK_BYTES, j->buffer_bytes);
	if (!j->buffer)
		j->buffer_bytes = 0;
	return j->buffer != NULL;
}

static void buffer_trim(struct journal *j)
{
	if (j->buffer_bytes > KEEP_BUFFER_BYTES) {
		free(j->buffer);
		j->buffer = NULL;
		j->buffer_bytes = 0;
	}
}

static bool has_failed(struct journal *j)
{
	pthread_mutex_lock(&j->lock);
	bool failed = j->failed;
	pthread_mutex_unlock(&j->lock);
	return failed;
}

static enum err fail(struct journal *j)
{
	pthread_mutex_lock(&j->lock);
	j->failed = true;
	pthread_cond_broadcast(&j->wake);
	pthread_mutex_unlock(&j->lock);
	return ERR_IO;
}

/* Where the next record goes, of so many bytes. ERR_NO_SPACE: nothing happened, and it may be tried again. */
static enum err append_begin(struct journal *j, size_t bytes)
{
	MAGIC_CHECK(j, JOURNAL_ALIVE);
	assert(j->runs);
	bool failed = has_failed(j);
	if (failed)
		return ERR_IO;
	if (!buffer_reserve(j, bytes))
		return ERR_NO_SPACE; /* as little happened */
	if (!j->current || j->current->state != JOURNAL_USED || j->current->end_bytes >= j->options.file_bytes) {
		enum err no_file = next_file(j);
		if (no_file != ERR_OK)
			return no_file == ERR_NO_SPACE ? no_file : fail(j);
	}
	return ERR_OK;
}

/* While a full file waits for a flush everything is synced: the tables of one family must not have what a power cut can
 * take from those of another. */
static bool may_sync_later(struct journal *j)
{
	pthread_mutex_lock(&j->lock);
	bool may = !full_through(j);
	pthread_mutex_unlock(&j->lock);
	return may;
}

static enum err append(struct journal *j, struct slice batch, bool later, uint64_t *ret_number)
{
	size_t most = journal_record_bytes(JOURNAL_RECORD_HEAD_BYTES + JOURNAL_SYNCED_BYTES, batch.len);
	assert(batch.len > 0 && batch.len < JOURNAL_SAYS_SYNCED); /* its length is stored in 31 bits */
	TRY(append_begin(j, most));
	struct journal_file *f = j->current;
	bool sync = !later || !may_sync_later(j);
	/* Numbers of a file follow one another, and no record is written over another of this run. */
	assert(f->last == j->last && f->end_bytes >= JOURNAL_BLOCK_BYTES && f->end_bytes % JOURNAL_BLOCK_BYTES == 0);
	size_t head = journal_record_head_bytes(j->last + 1, j->synced), bytes = journal_record_bytes(head, batch.len);
	char *body = j->buffer + head;
	memcpy(body, batch.ptr, batch.len);
	memset(body + batch.len, 0, bytes - head - batch.len);
	journal_record_encode(j->buffer, j->last + 1, j->epoch, j->synced, slice_make(body, batch.len));
	enum err err = write_at(f->fd, f->end_bytes, j->buffer, bytes);
	/* Only a record that reaches beyond the space taken for the file can meet a full disk. What is there of it does
	 * not verify, and the next one is written over it. */
	if (err == ERR_OK && sync && fdatasync(f->fd) != 0)
		err = ERR_IO;
	buffer_trim(j);
	if (err != ERR_OK)
		return err == ERR_NO_SPACE ? err : fail(j);
	f->end_bytes += bytes;
	pthread_mutex_lock(&j->lock);
	f->last = ++j->last;
	pthread_mutex_unlock(&j->lock);
	if (sync)
		j->synced = j->last;
	*ret_number = j->last;
	return ERR_OK;
}

enum err journal_append(struct journal *j, struct slice batch, uint64_t *ret_number)
{
	return append(j, batch, false, ret_number);
}

enum err journal_append_later(struct journal *j, struct slice batch, uint64_t *ret_number)
{
	return append(j, batch, true, ret_number);
}

enum err journal_sync(struct journal *j)
{
	MAGIC_CHECK(j, JOURNAL_ALIVE);
	if (has_failed(j))
		return ERR_IO;
	return sync_current(j) ? ERR_OK : fail(j);
}

uint64_t journal_synced(const struct journal *j)
{
	return j->synced;
}

/* ---- start and stop ---- */

enum err journal_start(struct journal *j)
{
	struct rng rng;
	rng_init_system(&rng);
	j->epoch = rng_u64(&rng);
	for (size_t i = 0; i < j->file_count; i++) {
		struct journal_file *f = &j->file[i];
		f->fd = journal_file_open(j, i, 0);
		if (f->fd < 0 && errno == ENOENT)
			TRY(make_file(j, i));
		else if (f->fd < 0)
			return ERR_IO;
	}
	j->flushed = j->synced = j->last;
	journal_clear(j);
	for (size_t i = 0; i < j->file_count; i++)
		if (j->file[i].state != JOURNAL_FREE)
			return ERR_IO;
	while (j->file_count < JOURNAL_FILES_FIRST)
		TRY(add_file(j));
	if (pthread_create(&j->thread, NULL, journal_main, j) != 0)
		return ERR_NO_MEMORY;
	j->runs = true;
	return ERR_OK;
}

void journal_stop(struct journal *j)
{
	if (!j->runs)
		return;
	pthread_mutex_lock(&j->lock);
	j->stop = true;
	pthread_cond_broadcast(&j->wake);
	pthread_mutex_unlock(&j->lock);
	pthread_join(j->thread, NULL);
	j->runs = false;
}

void journal_clear(struct journal *j)
{
	assert(!j->runs);
	for (size_t i = 0; i < j->file_count; i++)
		if (j->file[i].state != JOURNAL_FREE && mark_free(&j->file[i], j->last))
			j->file[i].state = JOURNAL_FREE;
}

void journal_free(struct journal *j)
{
	if (!j)
		return;
	MAGIC_CHECK(j, JOURNAL_ALIVE);
	journal_stop(j);
	for (size_t i = 0; i < j->file_count; i++)
		if (j->file[i].fd >= 0)
			close(j->file[i].fd);
	if (j->dir_fd >= 0)
		close(j->dir_fd);
	free(j->buffer);
	pthread_cond_destroy(&j->wake);
	pthread_mutex_destroy(&j->lock);
	j->magic = 0;
	free(j);
}

/* SPDX-License-Identifier: Apache-2.0
 * What a start finds in the journal. */
#include "engine/rocks/journal/journal_int.h"

#include "base/bytes.h"
#include "base/limits.h"
#include "base/sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_BYTES = 1024 * 1024 };

/* ---- what lies in a block ---- */

void journal_header_encode(char block[JOURNAL_BLOCK_BYTES], const struct journal_header *h)
{
	memset(block, 0, JOURNAL_BLOCK_BYTES);
	memcpy(block + 4, JOURNAL_MAGIC.ptr, JOURNAL_MAGIC.len);
	bytes_store(block + 12, h->free, 8);
	bytes_store(block + 20, h->epoch, 8);
	bytes_store(block + 28, h->first, 8);
	bytes_store(block + 36, h->flushed, 8);
	bytes_store(block, crc32c(0, slice_make(block + 4, JOURNAL_HEADER_BYTES - 4)), 4);
}

static bool header_decode(const char block[JOURNAL_BLOCK_BYTES], struct journal_header *ret)
{
	if (!slice_eq(slice_make(block + 4, JOURNAL_MAGIC.len), JOURNAL_MAGIC) ||
	    bytes_load(block, 4) != crc32c(0, slice_make(block + 4, JOURNAL_HEADER_BYTES - 4)))
		return false;
	*ret = (struct journal_header){ .free = bytes_load(block + 12, 8) != 0,
					.epoch = bytes_load(block + 20, 8),
					.first = bytes_load(block + 28, 8),
					.flushed = bytes_load(block + 36, 8) };
	return ret->free || ret->first > 0; /* numbers begin with 1 */
}

void journal_record_encode(char *head, uint64_t number, uint64_t epoch, uint64_t synced, struct slice batch)
{
	size_t head_bytes = journal_record_head_bytes(number, synced);
	bool says_synced = head_bytes > JOURNAL_RECORD_HEAD_BYTES;
	bytes_store(head + 4, batch.len | (says_synced ? JOURNAL_SAYS_SYNCED : 0), 4);
	bytes_store(head + 8, number, 8);
	bytes_store(head + 16, epoch, 8);
	if (says_synced)
		bytes_store(head + JOURNAL_RECORD_HEAD_BYTES, synced, JOURNAL_SYNCED_BYTES);
	bytes_store(head, crc32c(crc32c(0, slice_make(head + 4, head_bytes - 4)), batch), 4);
}

/* ---- reading a file ---- */

/* Reads all or says why not: ERR_NOT_FOUND where the file ends before. */
static enum err read_at(int fd, uint64_t at, char *dst, size_t count)
{
	while (count) {
		ssize_t n = pread(fd, dst, count, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ERR_IO;
		if (n == 0)
			return ERR_NOT_FOUND;
		dst += n;
		at += (uint64_t)n;
		count -= (size_t)n;
	}
	return ERR_OK;
}

struct reader {
	int fd;
	uint64_t file_bytes;
	uint64_t epoch, number; /* of the record expected next */
	uint64_t at;
	char *bytes; /* the record, and room for it */
	size_t cap;
};

static enum err reader_room(struct reader *r, size_t bytes)
{
	if (bytes <= r->cap)
		return ERR_OK;
	char *more = realloc(r->bytes, bytes);
	if (!more)
		return ERR_NO_MEMORY;
	r->bytes = more;
	r->cap = bytes;
	return ERR_OK;
}

struct record {
	uint64_t number, synced;
	struct slice batch;
	size_t bytes; /* in the file */
};

/* The record that lies where the reader is. ERR_NOT_FOUND: none of this run that is whole. */
static enum err reader_look(struct reader *r, struct record *ret)
{
	if (r->at + JOURNAL_RECORD_HEAD_BYTES > r->file_bytes)
		return ERR_NOT_FOUND;
	TRY(reader_room(r, READ_BYTES));
	TRY(read_at(r->fd, r->at, r->bytes, JOURNAL_RECORD_HEAD_BYTES));
	uint32_t length = (uint32_t)bytes_load(r->bytes + 4, 4);
	size_t batch = length & ~JOURNAL_SAYS_SYNCED, more = length & JOURNAL_SAYS_SYNCED ? JOURNAL_SYNCED_BYTES : 0,
	       head = JOURNAL_RECORD_HEAD_BYTES + more;
	if (bytes_load(r->bytes + 16, 8) != r->epoch ||
	    more + batch > r->file_bytes - r->at - JOURNAL_RECORD_HEAD_BYTES)
		return ERR_NOT_FOUND;
	TRY(reader_room(r, head + batch));
	TRY(read_at(r->fd, r->at + JOURNAL_RECORD_HEAD_BYTES, r->bytes + JOURNAL_RECORD_HEAD_BYTES, more + batch));
	if (bytes_load(r->bytes, 4) != crc32c(0, slice_make(r->bytes + 4, head - 4 + batch)))
		return ERR_NOT_FOUND;
	uint64_t number = bytes_load(r->bytes + 8, 8);
	*ret = (struct record){ .number = number,
				.synced = more ? bytes_load(r->bytes + JOURNAL_RECORD_HEAD_BYTES, 8) : number - 1,
				.batch = slice_make(r->bytes + head, batch),
				.bytes = journal_record_bytes(head, batch) };
	return ERR_OK;
}

/* The next record. ERR_NOT_FOUND: here is the end, be it by a record that is torn, of another run or not there. */
static enum err reader_next(struct reader *r, struct slice *ret_batch)
{
	struct record record;
	TRY(reader_look(r, &record));
	if (record.number != r->number)
		return ERR_NOT_FOUND;
	r->at += record.bytes;
	r->number++;
	*ret_batch = record.batch;
	return ERR_OK;
}

/* Opens a file for reading through the page cache, at its first record. */
static enum err reader_open(struct journal *j, size_t i, const struct journal_file *f, struct reader *ret)
{
	char name[JOURNAL_NAME_BYTES];
	struct stat st;
	journal_file_name(name, i);
	*ret = (struct reader){ .fd = base_file_open_at(j->dir_fd, name, O_RDONLY, 0),
				.epoch = f->epoch,
				.number = f->first,
				.at = JOURNAL_BLOCK_BYTES };
	if (ret->fd < 0)
		return ERR_IO;
	if (fstat(ret->fd, &st) != 0) {
		close(ret->fd);
		return ERR_IO;
	}
	ret->file_bytes = (uint64_t)st.st_size;
	return ERR_OK;
}

static void reader_close(struct reader *r)
{
	close(r->fd);
	free(r->bytes);
}

/* ---- all files ---- */

static enum err file_look(struct journal *j, size_t i)
{
	struct journal_file *f = &j->file[i];
	struct journal_header h;
	struct reader r;
	char block[JOURNAL_BLOCK_BYTES];
	*f = (struct journal_file){ .state = JOURNAL_FREE, .fd = -1 };
	TRY(reader_open(j, i, f, &r));
	enum err err = read_at(r.fd, 0, block, sizeof block);
	if (err == ERR_OK && header_decode(block, &h)) {
		j->header_flushed = h.flushed > j->header_flushed ? h.flushed : j->header_flushed;
		if (!h.free) {
			struct slice batch;
			*f = (struct journal_file){
				.state = JOURNAL_FULL, .fd = -1, .epoch = h.epoch, .first = h.first
			};
			r.epoch = h.epoch;
			r.number = h.first;
			while ((err = reader_next(&r, &batch)) == ERR_OK)
				;
			f->last = r.number - 1;
			f->end_bytes = r.at;
		}
	}
	reader_close(&r);
	return err == ERR_NOT_FOUND ? ERR_OK : err;
}

static int by_first(const void *a, const void *b)
{
	const struct journal_file *x = *(struct journal_file *const *)a, *y = *(struct journal_file *const *)b;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* The files of the newest run of records without a gap, oldest first. */
static size_t newest_run(struct journal *j, struct journal_file *run[JOURNAL_FILES_MAX])
{
	size_t count = 0, from;
	for (size_t i = 0; i < j->file_count; i++)
		if (j->file[i].state != JOURNAL_FREE)
			run[count++] = &j->file[i];
	if (!count)
		return 0;
	qsort(run, count, sizeof(struct journal_file *), by_first);
	for (from = count - 1; from > 0 && run[from - 1]->last + 1 == run[from]->first; from--)
		;
	memmove(run, run + from, (count - from) * sizeof(struct journal_file *));
	return count - from;
}

/* Records behind the last one of the run, each of which says how far the journal was synced when it was written. */
static enum err look_behind(struct journal *j, const struct journal_file *f)
{
	struct reader r;
	struct record record = { .bytes = 0 };
	enum err err = reader_open(j, (size_t)(f - j->file), f, &r);
	if (err != ERR_OK)
		return err;
	for (r.at = f->end_bytes; err == ERR_OK && r.at < r.file_bytes; r.at += record.bytes) {
		err = reader_look(&r, &record);
		if (err == ERR_NOT_FOUND) {
			record = (struct record){ .bytes = JOURNAL_BLOCK_BYTES };
			err = ERR_OK;
		}
		j->said_synced = record.synced > j->said_synced ? record.synced : j->said_synced;
	}
	reader_close(&r);
	return err;
}

static enum err look(struct journal *j)
{
	struct journal_file *run[JOURNAL_FILES_MAX];
	char name[JOURNAL_NAME_BYTES];
	for (size_t i = 0; i < JOURNAL_FILES_MAX; i++) {
		journal_file_name(name, i);
		j->file[i] = (struct journal_file){ .state = JOURNAL_FREE, .fd = -1 };
		struct stat st;
		if (fstatat(j->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
			TRY(file_look(j, i));
			j->file_count = i + 1; /* one that is missing hides none behind it */
		} else if (errno != ENOENT) {
			return ERR_IO; /* there may be commits in it that are nowhere else */
		}
	}
	size_t count = newest_run(j, run);
	j->flushed = j->header_flushed > j->options.in_tables ? j->header_flushed : j->options.in_tables;
	j->last = j->flushed;
	if (!count)
		return ERR_OK;
	if (run[count - 1]->last > j->flushed) {
		j->last = run[count - 1]->last;
		if (run[0]->first > j->flushed + 1)
			return ERR_CORRUPT;
	}
	return look_behind(j, run[count - 1]);
}

enum err journal_open(const struct journal_options *options, struct journal **ret, uint64_t *ret_last)
{
	struct journal *j = calloc(1, sizeof *j);
	if (!j)
		return ERR_NO_MEMORY;
	j->magic = JOURNAL_ALIVE;
	j->options = *options;
	pthread_mutex_init(&j->lock, NULL);
	pthread_cond_init(&j->wake, NULL);
	bool made = mkdirat(options->dir_fd, "journal", 0700) == 0;
	if (made)
		fsync(options->dir_fd);
	j->dir_fd = made || errno == EEXIST ? base_file_open_dir_at(options->dir_fd, "journal") : -1;
	enum err err = j->dir_fd < 0 ? ERR_IO : look(j);
	if (err != ERR_OK) {
		journal_free(j);
		return err;
	}
	j->synced = j->last;
	*ret_last = j->last;
	*ret = j;
	return ERR_OK;
}

uint64_t journal_said_synced(const struct journal *j)
{
	return j->said_synced;
}

uint64_t journal_header_flushed(const struct journal *j)
{
	return j->header_flushed;
}

enum err journal_replay(struct journal *j, enum err (*each)(void *arg, struct slice batch), void *arg,
			uint64_t *ret_count)
{
	struct journal_file *run[JOURNAL_FILES_MAX];
	size_t count = j->last > j->flushed ? newest_run(j, run) : 0;
	*ret_count = 0;
	for (size_t i = 0; i < count; i++) {
		struct reader r;
		struct slice batch;
		enum err err = reader_open(j, (size_t)(run[i] - j->file), run[i], &r);
		if (err != ERR_OK)
			return err;
		while (err == ERR_OK && r.number <= run[i]->last) {
			err = reader_next(&r, &batch);
			if (err == ERR_NOT_FOUND)
				err = ERR_IO; /* it was there a moment ago */
			if (err == ERR_OK && r.number - 1 > j->flushed) {
				err = each(arg, batch);
				++*ret_count;
			}
		}
		reader_close(&r);
		TRY(err);
	}
	return ERR_OK;
}

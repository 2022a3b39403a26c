/* SPDX-License-Identifier: Apache-2.0
 * What a start finds in the journal. The input says which files there are and what lies in them: headers and records
 * with right checksums and any numbers, torn or damaged ones, and plain bytes. Whatever it is, it is refused, or the
 * records that are given out are those that were written, each once, in order and without a gap up to the one that is
 * said to be the last. */
#include "engine/rocks/journal/journal_int.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

enum { FILE_BYTES = 64 * 1024, BATCH_MAX = 9000 };

struct input {
	const uint8_t *at, *end;
};

static unsigned take(struct input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

/* A batch tells its number and run in every word: what comes back can be held against them. */
static size_t put_record(char *dst, uint64_t number, uint64_t epoch, uint64_t synced, size_t words, unsigned damage)
{
	size_t head = journal_record_head_bytes(number, synced);
	uint64_t *body = (uint64_t *)(void *)(dst + head);
	for (size_t i = 0; i < words; i++)
		body[i] = number * 1000 + epoch;
	journal_record_encode(dst, number, epoch, synced, slice_make(body, words * sizeof *body));
	if (damage)
		dst[damage % (head + words * sizeof *body)] ^= 4;
	return journal_record_bytes(head, words * sizeof *body);
}

static void put_file(int dir, size_t i, struct input *in)
{
	static _Alignas(JOURNAL_BLOCK_BYTES) char bytes[FILE_BYTES + 2 * JOURNAL_BLOCK_BYTES + BATCH_MAX];
	char name[JOURNAL_NAME_BYTES];
	unsigned flags = take(in);
	uint64_t epoch = take(in) % 3, number = 1 + take(in) % 16; /* records are numbered from 1 */
	size_t at = JOURNAL_BLOCK_BYTES;
	memset(bytes, 0, sizeof bytes);
	journal_header_encode(bytes,
			      &(struct journal_header){
				      .free = flags & 1, .epoch = epoch, .first = number, .flushed = take(in) % 16 });
	if (flags & 2)
		bytes[take(in) % JOURNAL_HEADER_BYTES] ^= 1;
	for (unsigned left = take(in) % 12; left && at < FILE_BYTES; left--) {
		unsigned what = take(in);
		uint64_t is = what & 1 ? number + take(in) % 3 : number;
		at += put_record(bytes + at, is, what & 2 ? take(in) % 3 : epoch, what & 8 ? take(in) % is : is - 1,
				 take(in) * 4 % (BATCH_MAX / 8), what & 4 ? 1 + take(in) * 8 : 0);
		number++;
	}
	for (unsigned left = flags & 4 ? take(in) : 0; left; left--)
		bytes[(take(in) * 256 + take(in)) % at] = (char)take(in);
	if (flags & 8)
		at -= take(in) * 16 % at;
	journal_file_name(name, i);
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && write(fd, bytes, at) == (ssize_t)at);
	close(fd);
}

struct seen {
	uint64_t count, first, last;
};

static enum err each(void *arg, struct slice batch)
{
	struct seen *s = arg;
	s->count++;
	if (batch.len < sizeof(uint64_t))
		return ERR_OK;
	uint64_t word, other;
	memcpy(&word, batch.ptr, sizeof word);
	for (size_t at = 0; at + sizeof other <= batch.len; at += sizeof other) {
		memcpy(&other, batch.ptr + at, sizeof other);
		CHECK(other == word); /* all of one record */
	}
	uint64_t number = word / 1000;
	if (s->first)
		CHECK(number == s->first + s->count - 1);
	else
		s->first = number - (s->count - 1);
	return ERR_OK;
}

/* In memory; removed at the end. */
static char path[] = "/dev/shm/zaffre-fuzz-XXXXXX";
static int store = -1;

static void clean(void)
{
	char name[sizeof "journal/" + JOURNAL_NAME_BYTES];
	for (size_t i = 0; i < JOURNAL_FILES_MAX; i++) {
		snprintf(name, sizeof name, "journal/%zu", i);
		unlinkat(store, name, 0);
	}
	unlinkat(store, "journal", AT_REMOVEDIR);
	rmdir(path);
}

static void begin(void)
{
	if (store >= 0)
		return;
	CHECK(mkdtemp(path));
	store = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(store >= 0 && mkdirat(store, "journal", 0700) == 0 && atexit(clean) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };
	begin();
	int dir = openat(store, "journal", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char name[JOURNAL_NAME_BYTES];
	size_t files = take(&in) % (JOURNAL_FILES_MAX + 1);
	for (size_t i = 0; i < JOURNAL_FILES_MAX; i++) {
		journal_file_name(name, i);
		if (i < files)
			put_file(dir, i, &in);
		else
			unlinkat(dir, name, 0);
	}
	close(dir);
	struct journal *j;
	uint64_t last, count;
	struct seen s = { 0 };
	struct journal_options options = { .dir_fd = store, .file_bytes = FILE_BYTES, .buffered = true };
	if (journal_open(&options, &j, &last) != ERR_OK)
		return 0;
	CHECK(journal_replay(j, each, &s, &count) == ERR_OK && count == s.count);
	if (count && s.first)
		CHECK(s.first + count - 1 == last);
	journal_free(j);
	return 0;
}

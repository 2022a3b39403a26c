/* SPDX-License-Identifier: Apache-2.0
 * Has the log lost its end? RocksDB replays its log up to the first record that does not verify: after a crash that is
 * where the unfinished write was, but a bit that rotted earlier looks the same, and what was acknowledged behind it
 * would be gone without a word. So every commit carries a number, stored with it, and a small mapped file (TAIL)
 * remembers the number of the last one that was synced. After a restart the store must have at least that one.
 *
 * The file is written after the sync and is not synced itself: it can be behind (after a power cut), never ahead. After
 * kill -9 it is exact. Two words, the number and its complement: anything else says nothing. */
#include "engine/rocks/rocks_int.h"

#include "base/bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TAIL_BYTES = 4096 };
#define COMMIT_KEY slice_make("\0s", 2)

enum err rocks_tail_open(struct rocks *r, uint64_t *ret_remembered)
{
	static const char zeros[TAIL_BYTES];
	int fd = openat(r->dir_fd, "TAIL", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return ERR_IO;
	off_t size = lseek(fd, 0, SEEK_END);
	/* Its block exists from the start: a store to a mapped hole on a full disk would be a signal, not an error. */
	if (size != TAIL_BYTES &&
	    (ftruncate(fd, 0) != 0 || pwrite(fd, zeros, TAIL_BYTES, 0) != TAIL_BYTES || fsync(fd) != 0)) {
		close(fd);
		return ERR_IO;
	}
	void *map = mmap(NULL, TAIL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return ERR_NO_MEMORY;
	r->tail = map;
	*ret_remembered = r->tail[0] == ~r->tail[1] ? r->tail[0] : 0;
	return ERR_OK;
}

void rocks_tail_close(struct rocks *r)
{
	if (r->tail)
		munmap(r->tail, TAIL_BYTES);
	r->tail = NULL;
}

enum err rocks_tail_read(struct rocks *r)
{
	struct arena arena;
	struct slice value;
	arena_init(&arena, 64 * KIB);
	enum err err = rocks_get(r, FAMILY_ROWS, r->read, COMMIT_KEY, &arena, &value);
	if (err == ERR_OK) {
		struct cursor c = cursor_make(value);
		r->commit_number = cursor_u64(&c);
		err = cursor_done(&c) ? ERR_OK : ERR_CORRUPT;
	} else if (err == ERR_NOT_FOUND) {
		r->commit_number = 0;
		err = ERR_OK;
	}
	arena_fini(&arena);
	return err;
}

void rocks_tail_put(struct rocks *r, rocksdb_writebatch_t *batch)
{
	char number[8];
	r->commit_number++;
	for (int i = 0; i < 8; i++)
		number[i] = (char)(r->commit_number >> (8 * i));
	rocksdb_writebatch_put(batch, COMMIT_KEY.ptr, COMMIT_KEY.len, number, sizeof number);
}

void rocks_tail_remember(struct rocks *r)
{
	__atomic_store_n(&r->tail[0], r->commit_number, __ATOMIC_RELAXED);
	__atomic_store_n(&r->tail[1], ~r->commit_number, __ATOMIC_RELAXED);
}

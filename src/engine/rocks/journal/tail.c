/* SPDX-License-Identifier: Apache-2.0
 * Has the journal lost its end? It is read up to the first record that does not verify: after a crash that is where the
 * unfinished write was, but a bit that rotted earlier looks the same, and what was acknowledged behind it would be gone
 * without a word. So a small mapped file (TAIL) remembers the number of the last commit that was synced. After a
 * restart the journal must have at least that one.
 *
 * The file is written after the sync and is not synced itself: it can be behind (after a power cut), never ahead. After
 * kill -9 it is exact. Two words, the number and its complement: anything else says nothing. */
#include "engine/rocks/rocks_int.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TAIL_BYTES = 4096 };

enum err rocks_tail_open(struct rocks *r, uint64_t *ret_remembered)
{
	static const char zeros[TAIL_BYTES];
	int fd = openat(r->dir_fd, "TAIL", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return ERR_IO;
	off_t size = lseek(fd, 0, SEEK_END);
	/* Its block exists from the start: a store to a mapped hole on a full disk would be a signal, not an error. */
	if (size < 0 || (size != TAIL_BYTES &&
			 (ftruncate(fd, 0) != 0 || pwrite(fd, zeros, TAIL_BYTES, 0) != TAIL_BYTES || fsync(fd) != 0))) {
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

void rocks_tail_remember(struct rocks *r, uint64_t number)
{
	__atomic_store_n(&r->tail[0], number, __ATOMIC_RELAXED);
	__atomic_store_n(&r->tail[1], ~number, __ATOMIC_RELAXED);
}

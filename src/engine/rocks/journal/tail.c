/* SPDX-License-Identifier: Apache-2.0
 * The file TAIL: how far the journal was acknowledged, so that a journal that lost its end is noticed at a start. */
#include "engine/rocks/journal/tail.h"

#include "base/sys/file.h"

#include <assert.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TAIL_BYTES = 4096 };

enum err tail_open(struct tail *t, int dir_fd, uint64_t *ret_remembered)
{
	static const char zeros[TAIL_BYTES];
	int fd = base_file_open_at(dir_fd, "TAIL", O_RDWR | O_CREAT, 0600);
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
	t->word = map;
	*ret_remembered = t->word[0] == ~t->word[1] ? t->word[0] : 0;
	return ERR_OK;
}

void tail_close(struct tail *t)
{
	if (t->word)
		munmap(t->word, TAIL_BYTES);
	t->word = NULL;
}

void tail_remember(struct tail *t, uint64_t number)
{
	assert(t->word);
	__atomic_store_n(&t->word[0], number, __ATOMIC_RELAXED);
	__atomic_store_n(&t->word[1], ~number, __ATOMIC_RELAXED);
}

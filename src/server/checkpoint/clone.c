/* SPDX-License-Identifier: Apache-2.0
 * Copying files of a store. See clone.h. */
#include "server/checkpoint/clone.h"

#include "base/limits.h"
#include "base/sys/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { PIECE_BYTES = 1024 * 1024 };

bool clone_show(struct clone_progress *p, bool last)
{
	if (p->note && !p->note(p->note_arg, p)) {
		errno = ECANCELED;
		return false;
	}
	if (!p->terminal || !p->total_bytes)
		return true;
	unsigned percent = (unsigned)((p->copied_bytes + p->linked_bytes) * 100 / p->total_bytes);
	if (percent > 100 || last)
		percent = 100;
	if (percent == p->shown_percent && !last)
		return true;
	p->shown_percent = percent;
	fprintf(stderr, "\r%3u %%  %llu MiB%s", percent,
		(unsigned long long)((p->copied_bytes + p->linked_bytes) / MIB), last ? "\n" : "");
	fflush(stderr);
	return true;
}

static bool write_at(int fd, const char *bytes, size_t len, off_t at)
{
	while (len) {
		ssize_t n = pwrite(fd, bytes, len, at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		bytes += n;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

/* What is between two holes. */
static bool copy_run(int from, int to, off_t at, off_t end, char *piece, struct clone_progress *p)
{
	while (at < end) {
		size_t want = end - at < PIECE_BYTES ? (size_t)(end - at) : PIECE_BYTES;
		ssize_t n = pread(from, piece, want, at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || (n > 0 && !write_at(to, piece, (size_t)n, at)))
			return false;
		if (n == 0)
			return true;
		at += n;
		p->copied_bytes += (uint64_t)n;
		if (!clone_show(p, false))
			return false;
	}
	return true;
}

static bool copy_bytes(int from, int to, off_t size, struct clone_progress *p)
{
	if (ioctl(to, FICLONE, from) == 0) {
		p->linked_bytes += (uint64_t)size;
		return true;
	}
	char *piece = malloc(PIECE_BYTES);
	bool ok = piece && ftruncate(to, size) == 0;
	for (off_t at = 0; ok && at < size;) {
		off_t data = lseek(from, at, SEEK_DATA);
		if (data < 0 && errno == ENXIO)
			break; /* holes to the end */
		off_t hole = data < 0 ? size : lseek(from, data, SEEK_HOLE);
		if (data < 0)
			data = at; /* a file system that does not know holes */
		if (hole < 0 || hole > size)
			hole = size;
		ok = copy_run(from, to, data, hole, piece, p);
		at = hole;
	}
	free(piece);
	return ok;
}

bool clone_file(int from_fd, int to_fd, const char *name, struct clone_progress *p)
{
	struct stat st;
	int to = -1, from = base_file_open_at(from_fd, name, O_RDONLY, 0);
	bool ok = from >= 0 && fstat(from, &st) == 0;
	if (ok)
		to = openat(to_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	ok = ok && to >= 0 && copy_bytes(from, to, st.st_size, p);
	if (ok) {
		struct timespec times[2] = { st.st_atim, st.st_mtim };
		if (geteuid() == 0 && fchown(to, st.st_uid, st.st_gid) != 0)
			errno = 0; /* a file system without owners */
		ok = futimens(to, times) == 0 && fsync(to) == 0;
	}
	int error = errno;
	if (from >= 0)
		close(from);
	if (to >= 0) {
		close(to);
		if (!ok)
			unlinkat(to_fd, name, 0);
	}
	errno = error;
	return ok;
}

bool clone_link(int from_fd, int to_fd, const char *name, struct clone_progress *p)
{
	struct stat st;
	if (fstatat(from_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode) ||
	    linkat(from_fd, name, to_fd, name, 0) != 0)
		return false;
	p->linked_bytes += (uint64_t)st.st_size;
	(void)clone_show(p, false);
	return true;
}

bool clone_text(int to_fd, const char *name, struct slice text)
{
	int fd = openat(to_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool ok = fd >= 0 && write_at(fd, text.ptr, text.len, 0) && fsync(fd) == 0;
	int error = errno;
	if (fd >= 0)
		close(fd);
	errno = error;
	return ok && fsync(to_fd) == 0;
}

int clone_make_dir(int at_fd, const char *path)
{
	if (mkdirat(at_fd, path, 0700) != 0)
		return -1;
	return openat(at_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

bool clone_each_name(int dir_fd, bool (*each)(void *arg, const char *name), void *arg)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	bool ok = dir != NULL;
	if (!dir && fd >= 0)
		close(fd);
	int error = 0;
	while (ok) {
		errno = 0;
		struct dirent *e = readdir(dir);
		if (!e) {
			error = errno;
			break;
		}
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			ok = each(arg, e->d_name);
	}
	int failed = ok ? error : errno;
	if (dir)
		closedir(dir);
	errno = failed;
	return ok && error == 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

void clone_remove_tree(const char *path)
{
	nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

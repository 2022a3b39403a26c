/* SPDX-License-Identifier: Apache-2.0
 * LD_PRELOAD: writes down everything that changes files under ZAFFRE_RECORD_DIR, in order, into ZAFFRE_RECORD_LOG, for
 * test/proof/crash/torn.c to replay. One call at a time, so the order of the log is the order of things. A file is
 * known by its inode, as names change. Not seen: stores to mapped files (TAIL) and stdio (RocksDB's LOG). Writes to
 * the file ZAFFRE_RECORD_ACKS are marks: what the writer told its clients up to here. The disk looks small
 * (DISK_BYTES), so that files of the journal are small too and soon used again. */
#include "record.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

enum { DISK_BYTES = 32 << 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int log_fd = -1;
static const char *dir, *acks;
static size_t dir_len;
static int (*real_open)(const char *, int, ...), (*real_openat)(int, const char *, int, ...);
static ssize_t (*real_write)(int, const void *, size_t), (*real_pwrite)(int, const void *, size_t, off_t);
static ssize_t (*real_pwritev)(int, const struct iovec *, int, off_t);
static int (*real_fsync)(int), (*real_fdatasync)(int), (*real_ftruncate)(int, off_t);
static int (*real_fallocate)(int, int, off_t, off_t), (*real_rename)(const char *, const char *);
static int (*real_unlink)(const char *), (*real_mkdir)(const char *, mode_t),
	(*real_mkdirat)(int, const char *, mode_t);
static int (*real_fstatvfs)(int, struct statvfs *);
static int (*real_renameat)(int, const char *, int, const char *), (*real_unlinkat)(int, const char *, int);

#define REAL(name) *(void **)&real_##name = dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void begin(void)
{
	REAL(open), REAL(openat), REAL(write), REAL(pwrite), REAL(pwritev), REAL(fsync), REAL(fdatasync),
		REAL(ftruncate);
	REAL(fallocate), REAL(rename), REAL(unlink), REAL(mkdir), REAL(mkdirat), REAL(renameat), REAL(unlinkat),
		REAL(fstatvfs);
	dir = getenv("ZAFFRE_RECORD_DIR");
	acks = getenv("ZAFFRE_RECORD_ACKS");
	const char *log = getenv("ZAFFRE_RECORD_LOG");
	if (!dir || !log)
		return;
	dir_len = strlen(dir);
	log_fd = real_open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void put(const void *bytes, size_t len)
{
	if (real_write(log_fd, bytes, len) != (ssize_t)len)
		abort(); /* a log with a hole proves nothing */
}

static void event(enum record_kind kind, uint64_t ino, uint64_t offset, const char *path, const char *path2,
		  const void *data, size_t len)
{
	struct record r = { .kind = kind,
			    .ino = ino,
			    .offset = offset,
			    .length = len,
			    .path_length = path ? (uint32_t)strlen(path) : 0,
			    .path2_length = path2 ? (uint32_t)strlen(path2) : 0 };
	int keep = errno;
	put(&r, sizeof r);
	if (path)
		put(path, r.path_length);
	if (path2)
		put(path2, r.path2_length);
	if (data && len)
		put(data, len);
	errno = keep;
}

/* The path below the directory, or NULL if it is not there. */
static const char *below(const char *path)
{
	if (log_fd < 0 || strncmp(path, dir, dir_len) != 0 || (path[dir_len] != '/' && path[dir_len] != 0))
		return NULL;
	return path[dir_len] ? path + dir_len + 1 : ".";
}

static const char *resolve(int at, const char *path, char out[PATH_MAX])
{
	char link[64];
	if (path[0] == '/') {
		snprintf(out, PATH_MAX, "%s", path);
	} else {
		snprintf(link, sizeof link, at == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", at);
		ssize_t n = readlink(link, out, PATH_MAX - 2);
		if (n < 0)
			return NULL;
		snprintf(out + n, PATH_MAX - (size_t)n, "/%s", path);
	}
	return below(out);
}

/* Is it a file of ours? Its inode and, if asked for, its path. */
static int ours(int fd, uint64_t *ino, mode_t *mode, char out[PATH_MAX])
{
	char link[64];
	struct stat st;
	if (log_fd < 0 || fd == log_fd || fstat(fd, &st) != 0)
		return 0;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, out, PATH_MAX - 1);
	if (n <= 0)
		return 0;
	out[n] = 0;
	*ino = st.st_ino;
	*mode = st.st_mode;
	if (acks && strcmp(out, acks) == 0)
		return 2;
	return below(out) != NULL;
}

static int opened(int at, const char *path, int flags, int mode)
{
	char full[PATH_MAX];
	struct stat st;
	const char *name = resolve(at, path, full);
	if (!name)
		return real_openat(at, path, flags, mode);
	pthread_mutex_lock(&lock);
	int existed = stat(full, &st) == 0;
	int fd = real_openat(at, path, flags, mode);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		if (!existed)
			event(RECORD_CREATE, st.st_ino, 0, name, NULL, NULL, 0);
		else if (flags & O_TRUNC)
			event(RECORD_TRUNCATE, st.st_ino, 0, NULL, NULL, NULL, 0);
	}
	pthread_mutex_unlock(&lock);
	return fd;
}

#define MODE                                                                                                           \
	va_list args;                                                                                                  \
	va_start(args, flags);                                                                                         \
	int mode = va_arg(args, int);                                                                                  \
	va_end(args)
int open(const char *path, int flags, ...)
{
	MODE;
	return opened(AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...)
{
	MODE;
	return opened(AT_FDCWD, path, flags, mode);
}
int openat(int at, const char *path, int flags, ...)
{
	MODE;
	return opened(at, path, flags, mode);
}
int openat64(int at, const char *path, int flags, ...)
{
	MODE;
	return opened(at, path, flags, mode);
}

static ssize_t wrote(int fd, const void *p, size_t n, off_t at)
{
	char path[PATH_MAX];
	uint64_t ino;
	mode_t mode;
	int kind = ours(fd, &ino, &mode, path);
	if (!kind)
		return at < 0 ? real_write(fd, p, n) : real_pwrite(fd, p, n, at);
	pthread_mutex_lock(&lock);
	off_t offset = at;
	if (at < 0)
		offset = fcntl(fd, F_GETFL) & O_APPEND ? lseek(fd, 0, SEEK_END) : lseek(fd, 0, SEEK_CUR);
	ssize_t done = at < 0 ? real_write(fd, p, n) : real_pwrite(fd, p, n, at);
	if (done > 0)
		event(kind == 2 ? RECORD_MARK : RECORD_WRITE, ino, (uint64_t)offset, NULL, NULL, p, (size_t)done);
	pthread_mutex_unlock(&lock);
	return done;
}
ssize_t write(int fd, const void *p, size_t n)
{
	return wrote(fd, p, n, -1);
}
ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
	return wrote(fd, p, n, at);
}
ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
{
	return wrote(fd, p, n, at);
}
/* Several pieces are several writes: a power cut may leave any of them. */
static ssize_t wrote_pieces(int fd, const struct iovec *piece, int count, off_t at)
{
	char path[PATH_MAX];
	uint64_t ino;
	mode_t mode;
	if (ours(fd, &ino, &mode, path) != 1)
		return real_pwritev(fd, piece, count, at);
	pthread_mutex_lock(&lock);
	ssize_t done = real_pwritev(fd, piece, count, at);
	for (size_t left = done > 0 ? (size_t)done : 0; left; piece++) {
		size_t part = left < piece->iov_len ? left : piece->iov_len;
		if (part)
			event(RECORD_WRITE, ino, (uint64_t)at, NULL, NULL, piece->iov_base, part);
		at += (off_t)part;
		left -= part;
	}
	pthread_mutex_unlock(&lock);
	return done;
}
ssize_t pwritev(int fd, const struct iovec *piece, int count, off_t at)
{
	return wrote_pieces(fd, piece, count, at);
}
ssize_t pwritev64(int fd, const struct iovec *piece, int count, off64_t at)
{
	return wrote_pieces(fd, piece, count, at);
}
/* Whoever writes in another way (writev, a mapping): the comparison of the full replay tells. */

static int synced(int fd, int (*real)(int))
{
	char path[PATH_MAX];
	uint64_t ino;
	mode_t mode;
	if (ours(fd, &ino, &mode, path) != 1)
		return real(fd);
	pthread_mutex_lock(&lock);
	int r = real(fd);
	if (r == 0)
		event(S_ISDIR(mode) ? RECORD_SYNC_DIR : RECORD_SYNC, ino, 0, below(path), NULL, NULL, 0);
	pthread_mutex_unlock(&lock);
	return r;
}
int fsync(int fd)
{
	return synced(fd, real_fsync);
}
int fdatasync(int fd)
{
	return synced(fd, real_fdatasync);
}

int ftruncate(int fd, off_t size)
{
	char path[PATH_MAX];
	uint64_t ino;
	mode_t mode;
	int is_ours = ours(fd, &ino, &mode, path) == 1;
	pthread_mutex_lock(&lock);
	int r = real_ftruncate(fd, size);
	if (r == 0 && is_ours)
		event(RECORD_TRUNCATE, ino, (uint64_t)size, NULL, NULL, NULL, 0);
	pthread_mutex_unlock(&lock);
	return r;
}
int ftruncate64(int fd, off64_t size)
{
	return ftruncate(fd, size);
}

int fallocate(int fd, int how, off_t at, off_t len)
{
	char path[PATH_MAX];
	uint64_t ino;
	mode_t mode;
	int is_ours = ours(fd, &ino, &mode, path) == 1;
	pthread_mutex_lock(&lock);
	int r = real_fallocate(fd, how, at, len);
	if (r == 0 && is_ours && how == 0)
		event(RECORD_GROW, ino, (uint64_t)(at + len), NULL, NULL, NULL, 0);
	pthread_mutex_unlock(&lock);
	return r;
}
int fallocate64(int fd, int how, off64_t at, off64_t len)
{
	return fallocate(fd, how, at, len);
}
int posix_fallocate(int fd, off_t at, off_t len)
{
	return fallocate(fd, 0, at, len) == 0 ? 0 : errno;
}
int posix_fallocate64(int fd, off64_t at, off64_t len)
{
	return posix_fallocate(fd, at, len);
}

static int renamed(int from_at, const char *from, int to_at, const char *to)
{
	char a[PATH_MAX], b[PATH_MAX];
	const char *x = resolve(from_at, from, a), *y = resolve(to_at, to, b);
	pthread_mutex_lock(&lock);
	int r = real_renameat(from_at, from, to_at, to);
	if (r == 0 && x && y)
		event(RECORD_RENAME, 0, 0, x, y, NULL, 0);
	pthread_mutex_unlock(&lock);
	return r;
}
int rename(const char *from, const char *to)
{
	return renamed(AT_FDCWD, from, AT_FDCWD, to);
}
int renameat(int from_at, const char *from, int to_at, const char *to)
{
	return renamed(from_at, from, to_at, to);
}

static int removed(int at, const char *path, int flags)
{
	char full[PATH_MAX];
	const char *name = resolve(at, path, full);
	pthread_mutex_lock(&lock);
	int r = real_unlinkat(at, path, flags);
	if (r == 0 && name)
		event(RECORD_UNLINK, 0, 0, name, NULL, NULL, 0);
	pthread_mutex_unlock(&lock);
	return r;
}
int unlink(const char *path)
{
	return removed(AT_FDCWD, path, 0);
}
int unlinkat(int at, const char *path, int flags)
{
	return removed(at, path, flags);
}

static int made(int at, const char *path, mode_t mode)
{
	char full[PATH_MAX];
	const char *name = resolve(at, path, full);
	pthread_mutex_lock(&lock);
	int r = real_mkdirat(at, path, mode);
	if (r == 0 && name)
		event(RECORD_MKDIR, 0, 0, name, NULL, NULL, 0);
	pthread_mutex_unlock(&lock);
	return r;
}
int mkdir(const char *path, mode_t mode)
{
	return made(AT_FDCWD, path, mode);
}
int mkdirat(int at, const char *path, mode_t mode)
{
	return made(at, path, mode);
}

int fstatvfs(int fd, struct statvfs *v)
{
	int r = real_fstatvfs(fd, v);
	if (r == 0 && v->f_blocks > DISK_BYTES / v->f_frsize)
		v->f_blocks = DISK_BYTES / v->f_frsize;
	return r;
}

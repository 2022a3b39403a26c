/* SPDX-License-Identifier: Apache-2.0
 * LD_PRELOAD: the n-th call of one function on files whose path has a text in it fails, once.
 * ZAFFRE_FAIL="function text n errno"; a byte is written to the file ZAFFRE_FAIL_HIT when it has. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
	char function[32], text[128];
	int n, error;
} wanted;
static atomic_int calls;

__attribute__((constructor)) static void begin(void)
{
	const char *fail = getenv("ZAFFRE_FAIL");
	if (!fail || sscanf(fail, "%31s %127s %d %d", wanted.function, wanted.text, &wanted.n, &wanted.error) != 4)
		wanted.n = 0;
}

static bool fails(const char *function, const char *path)
{
	if (!wanted.n || strcmp(function, wanted.function) != 0 || !strstr(path, wanted.text) ||
	    atomic_fetch_add(&calls, 1) + 1 != wanted.n)
		return false;
	const char *hit = getenv("ZAFFRE_FAIL_HIT");
	int fd = hit ? (int)syscall(SYS_openat, AT_FDCWD, hit, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
	if (fd >= 0 && syscall(SYS_write, fd, "!", 1) == 1)
		close(fd);
	errno = wanted.error;
	return true;
}

static bool fails_fd(const char *function, int fd)
{
	char link[32], path[4096];
	int error = errno;
	if (!wanted.n || strcmp(function, wanted.function) != 0)
		return false;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof path - 1);
	path[n > 0 ? n : 0] = 0;
	errno = error;
	return fails(function, path);
}

#define REAL(name)                                                                                                     \
	static __typeof__(name) *real;                                                                                 \
	if (!real)                                                                                                     \
	*(void **)&real = dlsym(RTLD_NEXT, #name)

ssize_t read(int fd, void *p, size_t n)
{
	REAL(read);
	return fails_fd("read", fd) ? -1 : real(fd, p, n);
}
ssize_t pread(int fd, void *p, size_t n, off_t at)
{
	REAL(pread);
	return fails_fd("pread", fd) ? -1 : real(fd, p, n, at);
}
ssize_t write(int fd, const void *p, size_t n)
{
	REAL(write);
	return fails_fd("write", fd) ? -1 : real(fd, p, n);
}
int fsync(int fd)
{
	REAL(fsync);
	return fails_fd("fsync", fd) ? -1 : real(fd);
}
int fdatasync(int fd)
{
	REAL(fdatasync);
	return fails_fd("fdatasync", fd) ? -1 : real(fd);
}
off_t lseek(int fd, off_t at, int whence)
{
	REAL(lseek);
	return fails_fd("lseek", fd) ? -1 : real(fd, at, whence);
}
int fstatat(int dir, const char *path, struct stat *st, int flags)
{
	REAL(fstatat);
	return fails("fstatat", path) ? -1 : real(dir, path, st, flags);
}
int open(const char *path, int flags, ...)
{
	REAL(open);
	va_list args;
	va_start(args, flags);
	int mode = va_arg(args, int);
	va_end(args);
	return fails("open", path) ? -1 : real(path, flags, mode);
}
/* Its path is that of the program or library that calls. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*begin)(void *), void *arg)
{
	REAL(pthread_create);
	Dl_info caller;
	bool known = dladdr(__builtin_return_address(0), &caller) != 0;
	return known && fails("pthread_create", caller.dli_fname) ? wanted.error : real(thread, attributes, begin, arg);
}
DIR *opendir(const char *path)
{
	REAL(opendir);
	return fails("opendir", path) ? NULL : real(path);
}
struct dirent *readdir(DIR *dir)
{
	REAL(readdir);
	return fails_fd("readdir", dirfd(dir)) ? NULL : real(dir);
}

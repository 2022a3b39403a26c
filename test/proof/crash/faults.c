/* SPDX-License-Identifier: Apache-2.0
 * LD_PRELOAD: makes the n-th call of a kind fail, once or from then on. ZAFFRE_FAULTS names a file of 40 bytes that a
 * test maps or writes while the process runs: u32 kind, u32 sticky, u32 errno, u32 unused, u64 countdown, u64 hits,
 * u64 calls seen while armed. Kinds: 1 allocations of C code but the C library's own (which aborts when it cannot
 * register a destructor), 2 all allocations (C++'s too), 3 writes to files, 4 syncs of files, 5 opens, 6 reads of
 * files. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { ALLOC_C = 1, ALLOC_ALL, WRITE, SYNC, OPEN, READ };

struct control {
	_Atomic uint32_t kind, sticky, error, unused;
	_Atomic int64_t countdown;
	_Atomic uint64_t hits, seen;
};
static struct control none, *control = &none;
/* Where C++'s allocator, RocksDB and the C library lie. */
static struct {
	uintptr_t from, to;
} cxx[8];
static int cxx_count;

static int note_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size, (void)arg;
	static const char *const names[] = { "libstdc++", "librocksdb", "libc.so", "ld-linux" };
	bool known = false;
	for (int i = 0; i < 4; i++)
		known = known || strstr(info->dlpi_name, names[i]);
	if (!known)
		return 0;
	for (int i = 0; i < info->dlpi_phnum && cxx_count < 8; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
			cxx[cxx_count].from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
			cxx[cxx_count].to = cxx[cxx_count].from + info->dlpi_phdr[i].p_memsz;
			cxx_count++;
		}
	return 0;
}

static int (*real_open)(const char *, int, ...), (*real_open64)(const char *, int, ...);
static int (*real_openat)(int, const char *, int, ...), (*real_openat64)(int, const char *, int, ...);
static ssize_t (*real_write)(int, const void *, size_t), (*real_read)(int, void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t), (*real_pread)(int, void *, size_t, off_t);
static ssize_t (*real_writev)(int, const struct iovec *, int);
static ssize_t (*real_pwritev)(int, const struct iovec *, int, off_t);
static int (*real_fsync)(int), (*real_fdatasync)(int);

#define REAL(name) *(void **)&real_##name = dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void begin(void)
{
	REAL(open), REAL(open64), REAL(openat), REAL(openat64), REAL(write), REAL(read), REAL(pwrite), REAL(pread);
	REAL(writev), REAL(pwritev), REAL(fsync), REAL(fdatasync);
	dl_iterate_phdr(note_object, NULL);
	const char *path = getenv("ZAFFRE_FAULTS");
	int fd = path ? real_open(path, O_RDWR | O_CLOEXEC) : -1;
	void *map = fd >= 0 ? mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
	if (map != MAP_FAILED)
		control = map;
}

static int fails(uint32_t kind)
{
	if (atomic_load_explicit(&control->kind, memory_order_acquire) != kind)
		return 0;
	atomic_fetch_add(&control->seen, 1);
	int64_t left = atomic_fetch_sub(&control->countdown, 1);
	if (left > 1 || (left < 1 && !control->sticky))
		return 0;
	atomic_fetch_add(&control->hits, 1);
	errno = (int)control->error;
	return 1;
}

/* ---- memory ---- */

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static int alloc_fails(void *caller)
{
	if (fails(ALLOC_ALL))
		return 1;
	if (control->kind != ALLOC_C)
		return 0;
	for (int i = 0; i < cxx_count; i++)
		if ((uintptr_t)caller >= cxx[i].from && (uintptr_t)caller < cxx[i].to)
			return 0;
	return fails(ALLOC_C);
}
#define CALLER __builtin_return_address(0)

void *malloc(size_t n)
{
	return alloc_fails(CALLER) ? NULL : __libc_malloc(n);
}
void *calloc(size_t n, size_t m)
{
	return alloc_fails(CALLER) ? NULL : __libc_calloc(n, m);
}
void *realloc(void *p, size_t n)
{
	return alloc_fails(CALLER) ? NULL : __libc_realloc(p, n);
}
void *aligned_alloc(size_t a, size_t n)
{
	return alloc_fails(CALLER) ? NULL : __libc_memalign(a, n);
}
int posix_memalign(void **ret, size_t a, size_t n)
{
	*ret = alloc_fails(CALLER) ? NULL : __libc_memalign(a, n);
	return *ret ? 0 : ENOMEM;
}

/* ---- files ---- */

static int is_file(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

ssize_t write(int fd, const void *p, size_t n)
{
	return is_file(fd) && fails(WRITE) ? -1 : real_write(fd, p, n);
}
ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
	return fails(WRITE) ? -1 : real_pwrite(fd, p, n, at);
}
ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
{
	return fails(WRITE) ? -1 : real_pwrite(fd, p, n, at);
}
ssize_t writev(int fd, const struct iovec *v, int n)
{
	return is_file(fd) && fails(WRITE) ? -1 : real_writev(fd, v, n);
}
ssize_t pwritev(int fd, const struct iovec *v, int n, off_t at)
{
	return fails(WRITE) ? -1 : real_pwritev(fd, v, n, at);
}
ssize_t read(int fd, void *p, size_t n)
{
	return is_file(fd) && fails(READ) ? -1 : real_read(fd, p, n);
}
ssize_t pread(int fd, void *p, size_t n, off_t at)
{
	return fails(READ) ? -1 : real_pread(fd, p, n, at);
}
ssize_t pread64(int fd, void *p, size_t n, off64_t at)
{
	return fails(READ) ? -1 : real_pread(fd, p, n, at);
}
int fsync(int fd)
{
	return fails(SYNC) ? -1 : real_fsync(fd);
}
int fdatasync(int fd)
{
	return fails(SYNC) ? -1 : real_fdatasync(fd);
}

#define MODE                                                                                                           \
	va_list args;                                                                                                  \
	va_start(args, flags);                                                                                         \
	int mode = va_arg(args, int);                                                                                  \
	va_end(args)
int open(const char *path, int flags, ...)
{
	MODE;
	return fails(OPEN) ? -1 : real_open(path, flags, mode);
}
int open64(const char *path, int flags, ...)
{
	MODE;
	return fails(OPEN) ? -1 : real_open64(path, flags, mode);
}
int openat(int dir, const char *path, int flags, ...)
{
	MODE;
	return fails(OPEN) ? -1 : real_openat(dir, path, flags, mode);
}
int openat64(int dir, const char *path, int flags, ...)
{
	MODE;
	return fails(OPEN) ? -1 : real_openat64(dir, path, flags, mode);
}

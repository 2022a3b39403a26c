/* SPDX-License-Identifier: Apache-2.0
 * LD_PRELOAD: a disk that lies. Every sync says yes and does nothing, and nothing is opened for synchronous or direct
 * writing. The mutant of the power-cut test: with it, acknowledged writes must be seen to go missing. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>

int fsync(int fd)
{
	(void)fd;
	return 0;
}

int fdatasync(int fd)
{
	(void)fd;
	return 0;
}

int sync_file_range(int fd, off64_t offset, off64_t bytes, unsigned flags)
{
	(void)fd, (void)offset, (void)bytes, (void)flags;
	return 0;
}

#define PLAIN(flags) ((flags) & ~(O_SYNC | O_DSYNC | O_DIRECT))
#define OPEN_LIKE(name, path_param, path_arg)                                                                          \
	int name(path_param const char *path, int flags, ...)                                                          \
	{                                                                                                              \
		static int (*real)(path_param const char *, int, ...);                                                 \
		va_list args;                                                                                          \
		va_start(args, flags);                                                                                 \
		int mode = va_arg(args, int);                                                                          \
		va_end(args);                                                                                          \
		if (!real)                                                                                             \
			*(void **)&real = dlsym(RTLD_NEXT, #name);                                                     \
		return real(path_arg path, PLAIN(flags), mode);                                                        \
	}
#define NOTHING
#define DIR_PARAM int dir,
#define DIR_ARG	  dir,
OPEN_LIKE(open, NOTHING, NOTHING)
OPEN_LIKE(open64, NOTHING, NOTHING)
OPEN_LIKE(openat, DIR_PARAM, DIR_ARG)
OPEN_LIKE(openat64, DIR_PARAM, DIR_ARG)

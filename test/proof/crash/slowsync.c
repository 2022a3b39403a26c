/* SPDX-License-Identifier: Apache-2.0
 * LD_PRELOAD: a slow disk. Every sync takes its time before it is done, so that what is said before a sync is said long
 * before it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

static void wait_a_while(void)
{
	struct timespec t = { .tv_nsec = 30 * 1000 * 1000 };
	nanosleep(&t, NULL);
}

#define SYNC(name)                                                                                                     \
	int name(int fd)                                                                                               \
	{                                                                                                              \
		static int (*real)(int);                                                                               \
		if (!real)                                                                                             \
			*(void **)&real = dlsym(RTLD_NEXT, #name);                                                     \
		wait_a_while();                                                                                        \
		return real(fd);                                                                                       \
	}
SYNC(fsync)
SYNC(fdatasync)

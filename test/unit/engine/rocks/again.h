/* SPDX-License-Identifier: Apache-2.0
 * The test program once more, as a process of its own that may be killed. Under an emulator (make arm64-test) the
 * kernel cannot start the program by itself: ZAFFRE_TEST_EMULATOR names what does. */
#ifndef TEST_ROCKS_AGAIN_H
#define TEST_ROCKS_AGAIN_H

#include <spawn.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

extern char **environ;

/* As `program flag where`; the result of posix_spawn. */
static inline int again_start(char *flag, char *where, pid_t *ret_pid)
{
	char self[4096];
	ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
	char *emulator = getenv("ZAFFRE_TEST_EMULATOR");
	if (len < 0)
		return -1;
	self[len] = 0;
	char *direct[] = { self, flag, where, NULL }, *emulated[] = { emulator, self, flag, where, NULL };
	return emulator ? posix_spawnp(ret_pid, emulator, NULL, NULL, emulated, environ)
			: posix_spawn(ret_pid, self, NULL, NULL, direct, environ);
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Landlock, by its three system calls: the C library of Debian 12 has no functions for them. Rights that the running
 * kernel does not know are not asked for; those that it knows and nobody granted are refused. */
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of later versions than the header's. */
#define FS_REFER    (UINT64_C(1) << 13) /* version 2 */
#define FS_TRUNCATE (UINT64_C(1) << 14) /* version 3 */
#define FS_IOCTL    (UINT64_C(1) << 15) /* version 5 */

#define FILE_READ  ((uint64_t)LANDLOCK_ACCESS_FS_READ_FILE)
#define DIR_READ   ((uint64_t)LANDLOCK_ACCESS_FS_READ_DIR)
#define FILE_WRITE ((uint64_t)LANDLOCK_ACCESS_FS_WRITE_FILE | FS_TRUNCATE)
#define DIR_WRITE  ((uint64_t)LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE)
#define DIR_OWN                                                                                                        \
	((uint64_t)LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_SOCK |        \
	 FS_REFER)
/* All of version 1. */
#define EVERYTHING_1                                                                                                   \
	(FILE_READ | DIR_READ | LANDLOCK_ACCESS_FS_WRITE_FILE | DIR_WRITE | LANDLOCK_ACCESS_FS_EXECUTE |               \
	 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_SOCK |                  \
	 LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |                 \
	 LANDLOCK_ACCESS_FS_MAKE_SYM)

static uint64_t rights_of_kernel(long version)
{
	uint64_t rights = EVERYTHING_1;
	if (version >= 2)
		rights |= FS_REFER;
	if (version >= 3)
		rights |= FS_TRUNCATE;
	if (version >= 5)
		rights |= FS_IOCTL;
	return rights;
}

static uint64_t rights_of_use(enum sandbox_use use)
{
	switch (use) {
	case SANDBOX_READ:
		return FILE_READ | DIR_READ;
	case SANDBOX_WRITE:
		return FILE_READ | DIR_READ | FILE_WRITE | DIR_WRITE;
	case SANDBOX_OWN:
		return FILE_READ | DIR_READ | FILE_WRITE | DIR_WRITE | DIR_OWN;
	}
	return 0;
}

/* 0, or -1 with errno. What does not exist needs no right. */
static int path_allow(int ruleset, const struct sandbox_path *p, uint64_t known)
{
	struct stat st;
	int fd = open(p->path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : -1;
	uint64_t rights = rights_of_use(p->use) & known;
	if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
		rights &= FILE_READ | FILE_WRITE; /* a file takes no rights of directories */
	struct landlock_path_beneath_attr rule = { .allowed_access = rights, .parent_fd = fd };
	long failed = rights ? syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) : 0;
	int saved = errno;
	close(fd);
	errno = saved;
	return failed ? -1 : 0;
}

enum sandbox_result sandbox_files(const struct sandbox_path *paths, size_t count)
{
	if (SANDBOX_SANITIZED)
		return SANDBOX_MISSING;
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	if (version < 1)
		return SANDBOX_MISSING;
	struct landlock_ruleset_attr attr = { .handled_access_fs = rights_of_kernel(version) };
	int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
	if (ruleset < 0)
		return SANDBOX_FAILED;
	int failed = 0;
	for (size_t i = 0; i < count && !failed; i++)
		failed = path_allow(ruleset, &paths[i], attr.handled_access_fs);
	if (!failed)
		failed = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
			 syscall(SYS_landlock_restrict_self, ruleset, 0) != 0;
	int saved = errno;
	close(ruleset);
	errno = saved;
	return failed ? SANDBOX_FAILED : SANDBOX_ON;
}

void sandbox_hide_memory(void)
{
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

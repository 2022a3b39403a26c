/* SPDX-License-Identifier: Apache-2.0
 * Opening files of the data directory. */
#include "base/sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ELOOP: a link; ENXIO: a pipe without its other end, or a device that is not there; ENOTDIR and EISDIR speak for
 * themselves but mean the same here. */
static void name_wrong_kind(void)
{
	if (errno == ELOOP || errno == ENXIO || errno == EISDIR || errno == ENOTDIR)
		errno = FILE_WRONG_KIND;
}

/* A regular file takes no notice of O_NONBLOCK. */
static int open_regular(int dir_fd, const char *name, int flags, mode_t mode)
{
	struct stat st;
	int fd = openat(dir_fd, name, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, mode);
	if (fd < 0) {
		name_wrong_kind();
		return -1;
	}
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	errno = FILE_WRONG_KIND;
	return -1;
}

int base_file_open_at(int dir_fd, const char *name, int flags, mode_t mode)
{
	return open_regular(dir_fd, name, flags | O_NOFOLLOW, mode);
}

int base_file_open_setting(const char *path)
{
	return open_regular(AT_FDCWD, path, O_RDONLY, 0);
}

int base_file_open_dir_at(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		name_wrong_kind();
	return fd;
}

/* SPDX-License-Identifier: Apache-2.0
 * shutdown DIR: at the first byte on standard input, cuts the file system of DIR off from its disk, as a power cut
 * does: nothing that is not on the disk yet gets there any more, not even the journal (FS_IOC_SHUTDOWN without flushing
 * the log; ext4 and XFS know it). */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define FS_SHUTDOWN	       _IOR('X', 125, uint32_t)
#define FS_SHUTDOWN_NOLOGFLUSH 2u

int main(int argc, char **argv)
{
	uint32_t how = FS_SHUTDOWN_NOLOGFLUSH;
	int fd = argc == 2 ? open(argv[1], O_RDONLY | O_DIRECTORY) : -1;
	char byte;
	if (fd < 0 || read(STDIN_FILENO, &byte, 1) != 1 || ioctl(fd, FS_SHUTDOWN, &how) != 0) {
		fprintf(stderr, "shutdown: %s\n", strerror(errno));
		return 1;
	}
	return 0;
}

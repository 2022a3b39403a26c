/* SPDX-License-Identifier: Apache-2.0
 * What the disk alone can do, with the bytes of a work and nothing else:
 *   limit_disk DIR log BYTES GROUP SECONDS     groups of GROUP records appended to a file written before, one fdatasync
 *                                              each
 *   limit_disk DIR file BYTES WRITERS SECONDS  WRITERS threads write BYTES each and fdatasync, over and over, into
 * files
 *                                              written before */
#include "base/limits.h"
#include "base/sys/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

enum { LOG_FILE_BYTES = 256 * MIB, PIECE_BYTES = MIB, WRITERS_MAX = 64 };

static const char *dir;
static size_t record_bytes;
static double run_seconds;
static char *bytes;

static void die(const char *what)
{
	fprintf(stderr, "limit_disk: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void write_all(int fd, const char *from, size_t left, off_t at)
{
	while (left > 0) {
		ssize_t n = pwrite(fd, from, left, at);
		if (n <= 0)
			die("write");
		from += n;
		at += n;
		left -= (size_t)n;
	}
}

static int file_prepare(unsigned index, size_t size)
{
	char path[512];
	snprintf(path, sizeof path, "%s/limit-%u", dir, index);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		die(path);
	for (size_t at = 0; at < size; at += PIECE_BYTES)
		write_all(fd, bytes, PIECE_BYTES, (off_t)at);
	if (fsync(fd) != 0)
		die("fsync");
	unlink(path);
	return fd;
}

static void log_run(unsigned group)
{
	size_t bytes_a_group = record_bytes * group, at = 0;
	int fd = file_prepare(0, LOG_FILE_BYTES);
	uint64_t from = base_monotonic_ns(), until = from + (uint64_t)(run_seconds * 1e9), groups = 0, now = from;
	for (; now < until; now = base_monotonic_ns(), groups++) {
		if (at + bytes_a_group > LOG_FILE_BYTES)
			at = 0;
		write_all(fd, bytes, bytes_a_group, (off_t)at);
		if (fdatasync(fd) != 0)
			die("fdatasync");
		at += bytes_a_group;
	}
	double seconds = (double)(now - from) * 1e-9;
	printf("{\"work\":\"limit-log\",\"rate\":%.1f,\"syncs\":%.1f,\"bytes\":%zu,\"group\":%u}\n",
	       (double)(groups * group) / seconds, (double)groups / seconds, record_bytes, group);
}

struct writer {
	pthread_t thread;
	int fd;
	uint64_t count;
	double seconds;
};

static void *writer_run(void *arg)
{
	struct writer *w = arg;
	uint64_t from = base_monotonic_ns(), until = from + (uint64_t)(run_seconds * 1e9), now = from;
	for (; now < until; now = base_monotonic_ns(), w->count++) {
		for (size_t at = 0; at < record_bytes; at += PIECE_BYTES)
			write_all(w->fd, bytes + at, PIECE_BYTES, (off_t)at);
		if (fdatasync(w->fd) != 0)
			die("fdatasync");
	}
	w->seconds = (double)(now - from) * 1e-9;
	return NULL;
}

static void file_run(unsigned count)
{
	static struct writer writers[WRITERS_MAX];
	double rate = 0;
	for (unsigned i = 0; i < count; i++)
		writers[i].fd = file_prepare(i, record_bytes);
	for (unsigned i = 0; i < count; i++)
		if (pthread_create(&writers[i].thread, NULL, writer_run, &writers[i]) != 0)
			die("thread");
	for (unsigned i = 0; i < count; i++) {
		pthread_join(writers[i].thread, NULL);
		rate += (double)writers[i].count / writers[i].seconds;
	}
	printf("{\"work\":\"limit-file\",\"rate\":%.3f,\"mb_s\":%.1f,\"bytes\":%zu,\"writers\":%u}\n", rate,
	       rate * (double)record_bytes * 1e-6, record_bytes, count);
}

int main(int argc, char **argv)
{
	if (argc != 6)
		return 2;
	dir = argv[1];
	record_bytes = strtoul(argv[3], NULL, 10);
	unsigned many = (unsigned)strtoul(argv[4], NULL, 10);
	run_seconds = strtod(argv[5], NULL);
	size_t all = record_bytes * many + PIECE_BYTES;
	bytes = malloc(all);
	if (!bytes || many == 0 || many > 4096)
		die("arguments");
	for (size_t i = 0; i < all; i++)
		bytes[i] = (char)(i * 2654435761u >> 13);
	if (strcmp(argv[2], "log") == 0)
		log_run(many);
	else if (many <= WRITERS_MAX)
		file_run(many);
	return 0;
}

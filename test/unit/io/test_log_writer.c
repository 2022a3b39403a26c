/* SPDX-License-Identifier: Apache-2.0
 * The access log's writer: lines for which there is no memory are lost, those that come later are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/log_writer.h"

enum { LONG_BYTES = 512 * 1024 }; /* the allocator asks the system for it */

static size_t read_all(int fd, char *dst, size_t room)
{
	ssize_t n = pread(fd, dst, room, 0);
	assert_true(n >= 0);
	return (size_t)n;
}

static void one_that_finds_no_memory_is_lost_alone(void **state)
{
#ifdef ZAFFRE_SANITIZED
	print_message("reason: a sanitizer's own memory cannot be limited\n");
	skip();
#endif
	char path[] = "/tmp/log-writer.XXXXXX", seen[64];
	int fd = mkstemp(path);
	struct log_writer *w;
	struct rlimit before, none;
	char *lines = malloc(LONG_BYTES);
	assert_true(fd >= 0 && lines);
	unlink(path);
	memset(lines, 'x', LONG_BYTES);
	lines[LONG_BYTES - 1] = '\n';
	assert_int_equal(io_log_writer_new(dup(fd), &w), ERR_OK);
	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	none = (struct rlimit){ .rlim_cur = 0, .rlim_max = before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
	void *volatile there = malloc(LONG_BYTES);
	if (!there)
		io_log_writer_put(w, slice_make(lines, LONG_BYTES));
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
	if (there) {
		free(there);
		io_log_writer_free(w);
		close(fd);
		free(lines);
		print_message("reason: memory cannot be limited here (qemu takes the limit and does not keep it)\n");
		skip();
	}
	io_log_writer_put(w, SLICE("kept\n"));
	io_log_writer_free(w); /* and writes what it has */
	size_t len = read_all(fd, seen, sizeof seen);
	assert_int_equal(len, 5);
	assert_memory_equal(seen, "kept\n", 5);
	close(fd);
	free(lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(one_that_finds_no_memory_is_lost_alone) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 * Listening sockets: messages that say what to do, accepting, running out of descriptors. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/listen.h"

static struct buf message;

static void expect_message(const char *part)
{
	buf_put_byte(&message, 0);
	if (!strstr(message.ptr, part))
		fail_msg("\"%s\" does not say \"%s\"", message.ptr, part);
	buf_clear(&message);
}

static void messages_say_what_to_do(void **state)
{
	int fd, second;
	uint16_t port, other;
	assert_int_equal(io_listen("127.0.0.1", 0, &fd, &port, &message), ERR_OK);
	assert_int_not_equal(port, 0);
	assert_int_equal(io_listen("127.0.0.1", port, &second, &other, &message), ERR_IO);
	expect_message("is in use");
	close(fd);
	assert_int_equal(io_listen("192.0.2.1", 0, &fd, &port, &message), ERR_IO);
	expect_message("not an address of this machine");
	assert_int_equal(io_listen("no such host", 0, &fd, &port, &message), ERR_IO);
	expect_message("cannot find the address");
}

static int connect_to(uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
	return fd;
}

static void a_name_is_reached_by_number(void **state)
{
	int fd;
	uint16_t port;
	assert_int_equal(io_listen("localhost", 0, &fd, &port, &message), ERR_OK);
	close(connect_to(port));
	close(fd);
}

static enum io_accept accept_soon(int listener, size_t taken, int *reserve, int *ret_fd, char *address)
{
	struct pollfd p = { listener, POLLIN, 0 };
	assert_int_equal(poll(&p, 1, 5000), 1);
	return io_accept(listener, taken, reserve, ret_fd, address);
}

static void accepts_and_tells_who(void **state)
{
	int listener, fd, reserve = io_reserve_fd();
	uint16_t port;
	char address[IO_ADDRESS_TEXT_BYTES];
	assert_int_equal(io_listen("127.0.0.1", 0, &listener, &port, &message), ERR_OK);
	assert_int_equal(io_accept(listener, 0, &reserve, &fd, address), IO_ACCEPT_NONE);
	int client = connect_to(port);
	assert_int_equal(accept_soon(listener, 0, &reserve, &fd, address), IO_ACCEPTED);
	assert_string_equal(address, "127.0.0.1");
	close(fd);
	close(client);
	close(listener);
	close(reserve);
}

static void without_descriptors_the_backlog_still_drains(void **state)
{
	int listener, fd = -1, reserve = io_reserve_fd();
	uint16_t port;
	char address[IO_ADDRESS_TEXT_BYTES], byte;
	struct rlimit old, low;
	assert_int_equal(io_listen("127.0.0.1", 0, &listener, &port, &message), ERR_OK);
	int client = connect_to(port);
	getrlimit(RLIMIT_NOFILE, &old);
	low = old;
	low.rlim_cur = (rlim_t)client + 1; /* everything up to the newest is taken */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	enum io_accept result = accept_soon(listener, 0, &reserve, &fd, address);
	setrlimit(RLIMIT_NOFILE, &old);
	assert_int_equal(result, IO_ACCEPT_EXHAUSTED);
	assert_true(reserve >= 0);
	assert_int_equal(recv(client, &byte, 1, 0), 0); /* told at once, not left hanging */
	close(client);
	client = connect_to(port);
	assert_int_equal(accept_soon(listener, 0, &reserve, &fd, address), IO_ACCEPTED);
	close(fd);
	close(client);
	close(listener);
	close(reserve);
}

/* An engine that cannot open its next log has to stop: connections leave it some. */
static void files_come_before_connections(void **state)
{
	int listener, fd = -1, reserve = io_reserve_fd(), taken[64];
	uint16_t port;
	char address[IO_ADDRESS_TEXT_BYTES];
	size_t n = 0;
	struct rlimit old, low;
	assert_int_equal(io_listen("127.0.0.1", 0, &listener, &port, &message), ERR_OK);
	int client = connect_to(port);
	getrlimit(RLIMIT_NOFILE, &old);
	low = old;
	low.rlim_cur = 64;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	do
		taken[n++] = dup(client);
	while (taken[n - 1] >= 0 && taken[n - 1] < 31); /* half of so few are for files */
	enum io_accept late = accept_soon(listener, 16, &reserve, &fd, address);
	int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
	/* A quarter of them is for connections in any case. */
	int few = connect_to(port), early_fd = -1;
	enum io_accept early = accept_soon(listener, 15, &reserve, &early_fd, address);
	while (n)
		close(taken[--n]);
	close(client);
	client = connect_to(port);
	enum io_accept again = accept_soon(listener, 0, &reserve, &fd, address);
	setrlimit(RLIMIT_NOFILE, &old);
	assert_int_equal(late, IO_ACCEPT_EXHAUSTED);
	assert_int_equal(early, IO_ACCEPTED);
	close(early_fd);
	close(few);
	assert_true(file >= 0);
	assert_int_equal(again, IO_ACCEPTED);
	close(fd);
	close(file);
	close(client);
	close(listener);
	close(reserve);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_say_what_to_do),
		cmocka_unit_test(a_name_is_reached_by_number),
		cmocka_unit_test(accepts_and_tells_who),
		cmocka_unit_test(without_descriptors_the_backlog_still_drains),
		cmocka_unit_test(files_come_before_connections),
	};
	buf_init(&message, 4096);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	buf_fini(&message);
	return failed;
}

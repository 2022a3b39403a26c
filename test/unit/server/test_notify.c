/* SPDX-License-Identifier: Apache-2.0
 * What a service manager is told, at a path and at an abstract address; nobody there harms nobody. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/notify.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A manager's socket; `name` as in NOTIFY_SOCKET. */
static int listen_at(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t len = strlen(name);
	assert_true(len < sizeof address.sun_path);
	memcpy(address.sun_path, name, len);
	if (name[0] == '@')
		address.sun_path[0] = 0;
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	assert_true(fd >= 0);
	assert_int_equal(
		bind(fd, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)), 0);
	return fd;
}

static void expect_heard(int fd, const char *words)
{
	char got[64];
	ssize_t n = recv(fd, got, sizeof got, MSG_DONTWAIT);
	assert_int_equal(n, (ssize_t)strlen(words));
	assert_memory_equal(got, words, strlen(words));
}

static void at_a_path(void **state)
{
	(void)state;
	char dir[] = "/tmp/zaffre-notify-XXXXXX", name[64];
	assert_non_null(mkdtemp(dir));
	snprintf(name, sizeof name, "%s/socket", dir);
	int fd = listen_at(name);
	setenv("NOTIFY_SOCKET", name, 1);
	notify_manager("READY=1");
	expect_heard(fd, "READY=1");
	close(fd);
	unlink(name);
	rmdir(dir);
	notify_manager("STOPPING=1"); /* the manager is gone */
}

static void at_an_abstract_address(void **state)
{
	(void)state;
	char name[64];
	snprintf(name, sizeof name, "@zaffre-notify-%d", (int)getpid());
	int fd = listen_at(name);
	setenv("NOTIFY_SOCKET", name, 1);
	notify_manager("STOPPING=1");
	expect_heard(fd, "STOPPING=1");
	close(fd);
}

static void without_a_manager(void **state)
{
	(void)state;
	char name[300];
	memset(name, 'x', sizeof name);
	name[0] = '/';
	name[sizeof name - 1] = 0;
	setenv("NOTIFY_SOCKET", name, 1); /* longer than an address can be */
	notify_manager("READY=1");
	setenv("NOTIFY_SOCKET", "relative", 1);
	notify_manager("READY=1");
	unsetenv("NOTIFY_SOCKET");
	notify_manager("READY=1");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(at_a_path), cmocka_unit_test(at_an_abstract_address),
					    cmocka_unit_test(without_a_manager) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 * Accepting on a loop: who comes without room waits and is taken later, a stop takes who is connected already. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/acceptor.h"

enum { CLIENTS = 100 };

static struct {
	struct io_acceptor acceptor;
	struct io_loop *loop;
	pthread_t thread;
	uint16_t port;
	atomic_size_t room, taken, refused; /* refused: times that there was no room */
	sem_t took, ran_out;
	int fds[CLIENTS];
} here;

static bool has_room(struct io_acceptor *a, size_t *ret_connections)
{
	(void)a;
	*ret_connections = here.taken;
	return here.taken < here.room;
}

static void take(struct io_acceptor *a, int fd, const char *address)
{
	(void)a;
	assert_string_equal(address, "127.0.0.1");
	here.fds[here.taken] = fd;
	here.taken++;
	sem_post(&here.took);
}

static void ran_out(struct io_acceptor *a)
{
	(void)a;
	here.refused++;
	sem_post(&here.ran_out);
}

static void *run_loop(void *arg)
{
	io_loop_run(here.loop, NULL, arg);
	return NULL;
}

static void begin(size_t room)
{
	static const struct io_acceptor_ops ops = { has_room, take, ran_out };
	struct buf message;
	int fd;
	here.room = room;
	here.taken = here.refused = 0;
	sem_init(&here.took, 0, 0);
	sem_init(&here.ran_out, 0, 0);
	buf_init(&message, 4096);
	assert_int_equal(io_listen("127.0.0.1", 0, &fd, &here.port, &message), ERR_OK);
	buf_fini(&message);
	assert_int_equal(io_loop_new(&here.loop), ERR_OK);
	io_acceptor_init(&here.acceptor, &ops);
	io_acceptor_open(&here.acceptor, fd);
	assert_int_equal(io_acceptor_start(&here.acceptor, here.loop), ERR_OK);
}

static void stop_task(struct io_task *t)
{
	(void)t;
	io_acceptor_stop(&here.acceptor);
	io_loop_stop(here.loop);
}

static void end(void)
{
	for (size_t i = 0; i < here.taken; i++)
		close(here.fds[i]);
	io_acceptor_fini(&here.acceptor);
	io_loop_free(here.loop);
	sem_destroy(&here.took);
	sem_destroy(&here.ran_out);
}

static int connect_here(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(here.port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
	return fd;
}

static void who_comes_without_room_is_taken_when_there_is_some(void **state)
{
	(void)state;
	begin(1);
	pthread_create(&here.thread, NULL, run_loop, NULL);
	int first = connect_here(), second = connect_here();
	sem_wait(&here.took);
	sem_wait(&here.ran_out);
	assert_int_equal(here.taken, 1);
	here.room = 2;
	sem_wait(&here.took);
	assert_int_equal(here.taken, 2);
	static struct io_task stop = { .run = stop_task };
	io_loop_post(here.loop, &stop);
	pthread_join(here.thread, NULL);
	close(first);
	close(second);
	end();
}

static void a_stop_takes_who_is_connected_already(void **state)
{
	(void)state;
	int clients[CLIENTS / 2];
	begin(CLIENTS);
	for (size_t i = 0; i < CLIENTS / 2; i++)
		clients[i] = connect_here();
	/* The stop is queued before the loop has looked at its socket for the first time. */
	static struct io_task stop = { .run = stop_task };
	io_loop_post(here.loop, &stop);
	run_loop(NULL);
	assert_int_equal(here.taken, CLIENTS / 2);
	assert_int_equal(here.refused, 0);
	assert_int_equal(here.acceptor.fd, -1);
	for (size_t i = 0; i < CLIENTS / 2; i++)
		close(clients[i]);
	end();
}

static void without_a_socket_nothing_happens(void **state)
{
	(void)state;
	struct io_acceptor a;
	struct io_loop *loop;
	static const struct io_acceptor_ops ops = { has_room, take, NULL };
	assert_int_equal(io_loop_new(&loop), ERR_OK);
	io_acceptor_init(&a, &ops);
	assert_int_equal(io_acceptor_start(&a, loop), ERR_OK);
	io_acceptor_stop(&a);
	io_acceptor_fini(&a);
	io_loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_comes_without_room_is_taken_when_there_is_some),
		cmocka_unit_test(a_stop_takes_who_is_connected_already),
		cmocka_unit_test(without_a_socket_nothing_happens),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

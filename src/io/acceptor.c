/* SPDX-License-Identifier: Apache-2.0
 * Accepting connections. The socket is registered level-triggered: what a turn leaves in the backlog is reported again.
 * A pause takes it out of the loop, because it would be reported all the time. */
#include "io/acceptor.h"

#include <assert.h>
#include <unistd.h>

enum { ACCEPTS_PER_TURN = 64, PAUSE_MS = 50 };

static void pause_accepting(struct io_acceptor *a)
{
	io_loop_remove(a->loop, a->fd);
	a->paused = true;
	io_timer_set(a->loop, &a->pause, io_loop_now_ms(a->loop) + PAUSE_MS);
}

static void pause_ended(struct io_timer *t)
{
	struct io_acceptor *a = io_container_of(t, struct io_acceptor, pause);
	if (io_loop_add_listener(a->loop, a->fd, &a->source) == ERR_OK)
		a->paused = false;
	else
		pause_accepting(a);
}

static void ran_out(struct io_acceptor *a)
{
	if (a->ops->ran_out)
		a->ops->ran_out(a);
	pause_accepting(a);
}

static void accept_turn(struct io_acceptor *a)
{
	for (unsigned i = 0; i < ACCEPTS_PER_TURN; i++) {
		int fd;
		char address[IO_ADDRESS_TEXT_BYTES];
		size_t connections = 0;
		if (!a->ops->has_room(a, &connections)) {
			ran_out(a);
			return;
		}
		switch (io_accept(a->fd, connections, &a->reserve_fd, &fd, address)) {
		case IO_ACCEPTED:
			a->ops->take(a, fd, address);
			break;
		case IO_ACCEPT_EXHAUSTED:
			/* One was taken and closed; the others wait in the backlog until descriptors are free again. */
			ran_out(a);
			return;
		case IO_ACCEPT_NONE:
			return;
		}
	}
}

static void socket_ready(struct io_source *s, uint32_t events)
{
	(void)events;
	struct io_acceptor *a = io_container_of(s, struct io_acceptor, source);
	if (a->fd >= 0)
		accept_turn(a);
}

void io_acceptor_init(struct io_acceptor *a, const struct io_acceptor_ops *ops)
{
	a->ops = ops;
	a->fd = a->reserve_fd = -1;
	a->source.ready = socket_ready;
	io_timer_init(&a->pause, pause_ended);
}

void io_acceptor_open(struct io_acceptor *a, int fd)
{
	assert(fd >= 0 && a->fd < 0);
	a->fd = fd;
	a->reserve_fd = io_reserve_fd();
}

enum err io_acceptor_start(struct io_acceptor *a, struct io_loop *loop)
{
	a->loop = loop;
	return a->fd >= 0 ? io_loop_add_listener(loop, a->fd, &a->source) : ERR_OK;
}

void io_acceptor_stop(struct io_acceptor *a)
{
	if (a->fd < 0)
		return;
	/* Who is connected already was never told no: a last turn for the backlog. It may end in a pause. */
	if (!a->paused)
		accept_turn(a);
	if (!a->paused)
		io_loop_remove(a->loop, a->fd);
	io_timer_clear(a->loop, &a->pause);
	io_acceptor_fini(a);
}

void io_acceptor_fini(struct io_acceptor *a)
{
	if (a->fd >= 0)
		close(a->fd);
	if (a->reserve_fd >= 0)
		close(a->reserve_fd);
	a->fd = a->reserve_fd = -1;
}

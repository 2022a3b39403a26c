/* SPDX-License-Identifier: Apache-2.0
 * A listening socket at work: accepts on one loop, a bounded number a turn, and hands each connection to its owner.
 * Without a slot or a descriptor left it pauses, and what waits stays in the backlog. */
#ifndef IO_ACCEPTOR_H
#define IO_ACCEPTOR_H

#include "io/listen.h"
#include "io/loop.h"

struct io_acceptor;

struct io_acceptor_ops {
	/* Whether one more may come; *ret_connections is how many there are. */
	bool (*has_room)(struct io_acceptor *, size_t *ret_connections);
	/* A new connection: the descriptor is the owner's from here on. */
	void (*take)(struct io_acceptor *, int fd, const char *address);
	/* No slot or no descriptor is left: the owner may close what is idle. NULL if it never does. */
	void (*ran_out)(struct io_acceptor *);
};

/* Belongs to its loop's thread from start to stop. */
struct io_acceptor {
	struct io_source source;
	struct io_timer pause;
	struct io_loop *loop;
	const struct io_acceptor_ops *ops;
	int fd, reserve_fd; /* -1: closed */
	bool paused;
};

/* Nothing is open yet; io_acceptor_fini is allowed. */
void io_acceptor_init(struct io_acceptor *, const struct io_acceptor_ops *);
/* Takes the listening socket `fd`; nothing is accepted before the start. */
void io_acceptor_open(struct io_acceptor *, int fd);
/* Before the loop runs, or on its thread. Does nothing if no socket was taken. */
enum err io_acceptor_start(struct io_acceptor *, struct io_loop *) MUST_CHECK;
/* On the loop's thread: a last turn for who is connected already, then the socket is closed. */
void io_acceptor_stop(struct io_acceptor *);
/* Closes what is still open, once its loop has ended or never ran. */
void io_acceptor_fini(struct io_acceptor *);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Private to rest/core: the connection. Small, because ten thousand of them may sit idle; all that a request needs is
 * in its exchange. Belongs to its loop's thread once adopted. */
#ifndef REST_CONN_INT_H
#define REST_CONN_INT_H

#include "io/acceptor.h"
#include "io/stream.h"
#include "rest/core/conn/exchange_int.h"

/* What may follow what stands in conn.c; conn_enter holds to it. */
enum conn_state { CONN_IDLE, CONN_HEAD, CONN_BODY, CONN_BUSY, CONN_WRITE, CONN_DRAIN, CONN_LINGER, CONN_CLOSED };

enum { CONN_MAGIC = 0x636f6e6e };

struct conn {
	uint32_t magic;
	struct io_source source;
	struct io_stream stream;
	struct io_timer timer;
	struct io_task task; /* adoption, turns, and at last the free */
	struct rest_loop *rl;
	struct conn *next, **prev;
	struct exchange *ex; /* NULL when idle */
	enum conn_state state;
	enum service service;
	bool local;		 /* through a unix socket */
	bool trusted;		 /* from a proxy whose word about the client is taken */
	bool proxy_pending;	 /* and it has yet to say it, in a PROXY header */
	bool secure_before;	 /* the client spoke TLS with that proxy */
	bool readable, writable; /* as far as we know */
	bool peer_ended;
	bool task_queued;
	bool delayed;		 /* its answer waits because logins failed */
	bool idle_since_request; /* the deadline of idleness is set */
	bool answered;		 /* at least once: not the first to go when slots run out */
	unsigned turn_requests;
	size_t turn_bytes; /* read */
	unsigned turn_reads;
	uint64_t turn_began_ns; /* arrival of the first request that was answered in it */
	uint64_t window_bytes;	/* of the body, when its window began */
	size_t lingered_bytes;
	uint64_t stalled_ms;   /* when the peer stopped reading its answer */
	uint16_t address_slot; /* io/addresses.h */
	uint8_t address_len;
	char address[IO_ADDRESS_TEXT_BYTES];
};

struct rest_listener_state {
	struct io_acceptor acceptor; /* on loop 0 */
	struct rest_server *server;
	uint16_t port;
	enum service service;
	bool local;
	struct io_tls *tls;
};
/* listener.c */
void listener_init(struct rest_listener_state *, struct rest_server *, const struct rest_listener *);
size_t rest_server_connections(const struct rest_server *);

/* The task of a loop that closes the connections that were idle for longest. */
void conn_evict_task(struct io_task *);
/* The one that gives up large answers which nobody reads. */
void conn_shed_task(struct io_task *);
/* On the loop's thread. The connection's stream, service and address are set. */
void conn_adopt(struct rest_loop *, struct conn *);
/* Closes the idle ones, or all. */
void conn_drain_all(struct rest_loop *, bool by_force);

/* ---- for the files of the connection ---- */

static inline const struct rest_timeouts *conn_timeouts(const struct conn *c)
{
	return &c->rl->server->config.timeouts;
}
static inline uint64_t timeout_or(uint64_t configured_ms, uint64_t standard_ms)
{
	return configured_ms ? configured_ms : standard_ms;
}
/* conn.c */
void conn_enter(struct conn *, enum conn_state);
void conn_deadline(struct conn *, uint64_t after_ms);
void conn_defer(struct conn *); /* goes on after the others had their turn */
void conn_close(struct conn *);
void conn_enter_linger(struct conn *);
/* As io_stream_read; remembers when the socket is empty, and closes a broken one. */
ssize_t conn_read(struct conn *, void *dst, size_t size);
void conn_run_request(struct conn *, enum driver_state);
void conn_keep_rest(struct exchange *); /* what came behind the request moves to the front of `in` */
/* conn_body.c. True: the state changed. */
bool conn_body(struct conn *);
bool conn_drain(struct conn *);	   /* the small rest of a body that was not wanted */
void conn_continue(struct conn *); /* 100, if it is waited for */
/* forwarded.c: proxies in front of us. */
bool forwarded_is_trusted(const struct rest_server *, struct slice address);
/* Takes the PROXY header off the socket. STREAM_AGAIN: not all of it is there; STREAM_BROKEN: it is none. 1: done. */
ssize_t forwarded_read(struct conn *);
/* What the headers of a request from a trusted proxy say about its client. */
void forwarded_apply(struct exchange *);
/* conn_answer.c */
void conn_answer(struct conn *);
bool conn_write(struct conn *); /* true: the state changed */

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Private to rest/core: an exchange is a request with all that carries it, from the bytes of its head to the last byte
 * of its answer. Exchanges are recycled by their loop: an idle connection holds none.
 *
 * Who may touch one: the loop's thread, except that (a) between store_write and the wake task the committer uses job
 * and the arena, and (b) between submit and done a worker uses what the work names. `pending` counts those; an exchange
 * whose connection is gone is freed when it comes to 0. */
#ifndef REST_EXCHANGE_INT_H
#define REST_EXCHANGE_INT_H

#include <pthread.h>

#include "base/limits.h"
#include "base/panic.h"
#include "io/audit.h"
#include "io/listen.h"
#include "io/loop.h"
#include "io/pool.h"
#include "rest/core/hasher.h"
#include "rest/core/metrics.h"
#include "rest/core/request.h"
#include "rest/core/server.h"
#include "wire/hash.h"
#include "wire/http/structured.h"

struct conn;

enum { EXCHANGE_MAGIC = 0x65786368, REST_LOOP_MAGIC = 0x6c6f6f70 };

/* Where a request is in its life (request.h); exchange_enter holds to the table in exchange.c. */
enum request_state {
	REQUEST_NONE,	 /* no head yet */
	REQUEST_PREPARE, /* address, operation, access, parse */
	REQUEST_BODY,	 /* the body arrives */
	REQUEST_STEPS,	 /* its steps run on the loop */
	REQUEST_PARKED,	 /* the committer, a worker or parts of a batch have it */
	REQUEST_DONE,	 /* the answer is ready or on its way */
};

enum driver_state {
	DRIVER_DONE,   /* the answer is ready to be sent */
	DRIVER_BODY,   /* wants the body: feed it, then driver_body_end */
	DRIVER_PARKED, /* goes on by itself; ex->advanced is called */
};

/* A body goes to its worker, and an answer to its socket, in pieces of this size. */
enum { BODY_BUFFER_BYTES = 1024 * 1024, BODY_BUFFER_SMALL_BYTES = 64 * 1024, STREAM_PIECE_BYTES = 256 * 1024 };

/* One buffer of a streamed body. */
struct body_buffer {
	char *ptr;
	size_t len, cap;
	enum { BUFFER_ARENA, BUFFER_POOL, BUFFER_HEAP } from;
};

/* The body on its way from the socket to memory or to the payload (body.c). */
struct body_sink {
	bool began;
	struct payload_writer *writer;
	bool counted; /* among the account's uploads */
	struct hash_md5 md5;
	uint64_t crc64;
	uint64_t received_bytes;
	struct buf memory;	 /* BODY_MEMORY that did not come in one piece */
	struct body_buffer fill; /* being filled by the loop */
	struct body_buffer busy; /* being written by a worker and hashed by the hasher */
	unsigned working;	 /* parts of the work under way */
	bool last;		 /* the work at hand ends the payload */
	bool ended;		 /* everything was received */
	bool finished;		 /* req.payload is complete and owned */
	enum err error;
	enum err write_error;
	struct io_work write;
	struct hash_job hash;
	bool md5_at_turn; /* the MD5 is taken of the whole payload at the end of the loop's turn */
	struct exchange *next_at_turn;
};

/* How the body lies in the byte stream (conn.c). */
struct framing {
	bool chunked, ended;
	uint64_t left_bytes; /* of a Content-Length */
	struct http_chunked chunk;
	struct slice data;		       /* decoded bytes of a chunk that the sink had no room for yet */
	struct structured_decoder *structured; /* NULL: the bytes are the body's */
	struct slice framed;		       /* of a structured message, not decoded yet */
	size_t in_pos;			       /* next byte of `in` */
	size_t raw_pos;			       /* next byte of `raw` */
};

struct exchange {
	struct request req; /* first: handlers see only this */
	uint32_t magic;
	enum request_state state;
	struct http_head head;
	struct arena arena;
	struct rest_loop *rl;
	struct access_use *access_use;				/* what req.access is counted in */
	struct conn *conn;					/* NULL: a part of a batch, or the peer is gone */
	void (*advanced)(struct exchange *, enum driver_state); /* after it was parked; loop thread */
	unsigned pending;
	enum err error; /* what the answer says */
	struct store_job job;
	bool write_uncertain; /* a commit may have published the payload */
	bool write_done;      /* a commit did */
	struct io_task wake;
	enum err async_error; /* result of what was pending */
	struct io_work work;  /* STEP_WORK, and what else moved to a worker */
	uint64_t work_submitted_ns;
	bool long_work;	       /* it waits for a worker, or has one */
	bool formatted;	       /* by the worker */
	bool peer_ended;       /* the peer had ended its side when the request began */
	atomic_bool abandoned; /* the connection is gone; also read by workers */
	struct body_sink sink;
	struct exchange *children, *next_child;
	bool (*child_allowed)(const struct op *);
	enum err child_refused; /* what the others answer; ERR_OK: InvalidInput */
	bool close_after;	/* Connection: close */
	bool skip_body;		/* HEAD, 204, 304 */
	bool continued;		/* 100 Continue was sent */
	bool broken_framing;	/* where the next request begins is not known */
	/* The test kit (kit/inject.h): what happens to the answer. */
	bool inject_reset, inject_truncate;
	uint32_t answer_delay_ms; /* the answer waits: the test kit's, or of a failed login */
	const char *tls_version;  /* NULL: none, or nobody asks */
	bool audited;		  /* its line was handed over, or is not wanted */
	struct audit_waiter audit;

	struct buf in; /* from the first byte of the head on; frozen while the request runs */
	size_t scanned_bytes;
	struct buf raw; /* chunked bodies that did not fit `in` */
	struct framing framing;
	struct buf out; /* the head of the answer */
	size_t out_pos;
	struct slice body_rest; /* of the answer, from memory */
	size_t span_index;	/* next byte of the answer's spans */
	uint64_t span_pos;
	struct structured_encoder *encoder; /* the spans go out as a structured message; NULL: as they are */
	char *piece;			    /* bytes of spans on their way out, from the loop's pool */
	size_t piece_pos, piece_len;
	uint64_t bytes_in, bytes_out;	     /* bodies, for the log */
	char address[IO_ADDRESS_TEXT_BYTES]; /* the peer's */
	size_t held_bytes;		     /* as counted in the budget (memory.c) */
	struct arena_position parsed;	     /* everything behind it is the handler's */
	struct exchange *next_free;
};

static inline struct exchange *exchange_of(struct request *r)
{
	return (struct exchange *)r;
}

/* A buffer of the pool while nobody uses it. */
struct free_buffer {
	struct free_buffer *next;
};

/* One per loop thread. */
struct rest_loop {
	uint32_t magic;
	struct rest_server *server;
	struct io_loop *loop;
	pthread_t thread;
	bool started;
	unsigned index;
	struct access_use *access_use; /* of the requests to come */
	struct rng rng;		       /* of the system: ids that must not be guessed */
	struct rng id_rng;	       /* seeded: request ids, which need only be unique */
	uint64_t date_second;
	char date[32]; /* RFC 1123, of date_second */
	struct buf log;
	struct exchange *free_exchanges;
	size_t free_exchange_count, live_exchanges;
	struct free_buffer *free_buffers; /* BODY_BUFFER_BYTES each */
	size_t free_buffer_count, live_buffers;
	struct exchange *hash_first, **hash_last; /* their bodies ended in this turn (body.c) */
	struct io_task hash_task;
	struct conn *conns;
	atomic_size_t conn_count;
	unsigned delayed_count; /* answers that wait because logins failed */
	bool draining;
	struct io_task drain_task;
	int64_t held_untold; /* bytes the budget does not know of yet */
	struct io_task evict_task, shed_task;
	atomic_bool shedding; /* shed_task is posted */
	atomic_bool evicting; /* evict_task is posted */
	struct io_timer drain_timer;
	/* Written by the loop alone, read by any thread. */
	atomic_uint_least64_t requests;
	struct metrics_loop metrics;
};

static inline void stat_add(atomic_uint_least64_t *counter, uint64_t n)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n, memory_order_relaxed);
}

/* exchange.c */
void exchange_enter(struct exchange *, enum request_state);
void exchange_describe(struct panic_out *, const void *exchange); /* for panic_subject_set */
struct exchange *exchange_get(struct rest_loop *);		  /* NULL: no memory */
void exchange_put(struct exchange *);	/* ends the request and recycles it; pending must be 0 */
void exchange_reset(struct exchange *); /* ends the request, ready for the next on the same connection */
char *buffer_get(struct rest_loop *);
void buffer_put(struct rest_loop *, char *);

/* access_set.c: a loop counts the requests that use a set of accounts; the last gives it back. */
struct access_use {
	struct rest_access *access;
	size_t live;
};
enum err access_use_new(struct rest_access *, struct access_use **ret) MUST_CHECK;
void access_use_free(struct access_use *); /* of a loop whose thread ended; accepts NULL */
void access_take(struct exchange *);	   /* the loop's; a part of a batch has its parent's */
void access_drop(struct exchange *);
void access_init(struct rest_access *);
void access_release(struct rest_access *);

/* Clears the request, keeping its memory, before its head is filled in. */
void request_init(struct exchange *);

/* driver.c */
enum driver_state driver_begin(struct exchange *);
/* The body is there, or this is wrong with it. */
enum driver_state driver_body_end(struct exchange *, enum err);
/* Makes this error the answer; nothing may be pending. */
enum driver_state driver_fail(struct exchange *, enum err);
/* The parts of a batch are done: on with the steps. */
enum driver_state driver_continue(struct exchange *);
enum err body_too_large(struct request *);
/* The peer is gone, or ended its side: ends the connection of long work. */
bool exchange_waits_in_vain(const struct exchange *);
/* An answer to what is no request at all (a head that does not parse). */
void driver_refuse(struct exchange *, enum err);

/* body.c: the sink. */
/* The length of the data, if it was announced: of a structured message that is not the Content-Length. */
bool body_length(const struct exchange *, uint64_t *ret);
enum err body_begin(struct exchange *);
/* Where the next bytes should be read to; *ret_room may be 0: wait, conn_resume follows. NULL: out of memory. */
char *body_room(struct exchange *, size_t *ret_room);
enum err body_filled(struct exchange *, size_t bytes);
/* Bytes that lie somewhere already (kept until the request ends). *ret_taken < all: wait, conn_resume follows. */
enum err body_take(struct exchange *, struct slice bytes, size_t *ret_taken);
/* All was received. True: complete (or sink.error); false: a worker is at it, conn_resume follows. */
bool body_finish(struct exchange *);
void body_drop(struct exchange *); /* gives up what is not finished; not while working */
void body_free(struct exchange *);

/* conn.c: something the exchange waited for is there. */
void conn_resume(struct exchange *);

/* server.c */
void rest_loop_check_drained(struct rest_loop *);
void exchange_pool_fini(struct rest_loop *);

/* address.c, route.c, access.c */
enum err address_find(struct request *);
enum err route_error(struct request *);
enum err access_check(struct request *);
/* It failed: how long the answer waits if that was a login, which is counted. */
uint32_t access_slow_down(struct request *);
/* How fast the account and the container may be used; the bytes of a request are charged when it ended. */
enum err access_check_quota(struct request *);
void access_charge_quota(struct exchange *);
/* A container that has a quota of stored bytes, or whose account has, is counted from its first write on. */
void access_meter(struct request *, struct slice partition);

/* memory.c */
void memory_init(struct rest_server *);
void memory_count(struct exchange *);		/* what it holds now */
void memory_count_on_worker(struct exchange *); /* the same, by the worker that has it */
void memory_release(struct exchange *);		/* it holds nothing any more */
/* The budget is spent: answer ServerBusy. Also has slow readers of large answers closed. */
bool memory_is_short(struct rest_server *);
/* The answer is ready: frees what was only needed to make it. */
void memory_trim(struct exchange *);

/* response.c */
uint64_t response_body_bytes(const struct response *); /* its Content-Length */
/* Makes the answer a structured message. */
enum err response_structure(struct exchange *) MUST_CHECK;
void response_finish_head(struct exchange *); /* writes ex->out */
void response_reset(struct response *);
struct slice response_body(const struct response *);
/* error_body.c: turns ex->error into the response. */
void error_format(struct exchange *);

/* audit.c */
/* True: the answer is ready and waits for its line in the audit log; ex->advanced follows. */
bool audit_hold(struct exchange *);
/* The same for what nobody waits for: a part of a batch, a client that is gone. Once a request. */
void audit_note(struct exchange *, bool aborted);
/* ERR_BUSY: lines cannot be written, so nothing is done that would need one. */
enum err audit_check(struct exchange *) MUST_CHECK;

/* accesslog.c */
const char *rest_auth_name(const struct request *); /* of the way it proved who it is */
void accesslog_write(struct exchange *, bool aborted);
void accesslog_flush(struct rest_loop *);

#endif

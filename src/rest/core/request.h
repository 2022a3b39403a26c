/* SPDX-License-Identifier: Apache-2.0
 * One REST request from its head to its last byte, and the contract of a handler.
 *
 * Life of a request (rest/core/driver.c), all on the loop thread that owns the connection unless said otherwise:
 *   1. head parsed; account, resource names, version, request id and client id found (rest/core/address.c)
 *   2. row of ops.def found (rest/core/route.c)
 *   3. authenticated and authorised (rest/core/access.c over src/auth)
 *   4. handler->parse: headers and query into a call struct of the handler's own (in the arena, req->call), steps
 * queued
 *   5. if there is a body: the first STEP_READ/WRITE step runs dry on a snapshot (req->precheck); an error is answered
 *      before "100 Continue" and before the body is read
 *   6. the body: BODY_MEMORY collects it into req->body and calls handler->parse_body; BODY_STREAM runs it through
 *      hashes into req->payload (workers do that for large bodies)
 *   7. the steps run in order; the first error ends them
 *   8. handler->format writes status, headers and body; on error driver formats the error (XML, OData JSON) and drops
 *      what was put into the response, except that an ERR_NOT_MODIFIED keeps the headers set so far (ETag,
 *      Last-Modified)
 *   9. one access-log line; the arena is reset
 * A read (STEP_READ, or a STEP_CALL that reads) that takes longer than LIMIT_LOOP_READ_NS begins again on a worker,
 * where the reads behind it and format then run too; a long document (LIMIT_LOOP_PARSE_BYTES) is parsed on a
 * worker. So apply, parse_body and format touch nothing but the request. Long work whose client is gone is dropped,
 * unless a write of the request was done: a peer that ends its side counts as gone there, while everything short is
 * still answered.
 * A handler never blocks, never touches the socket, and reports errors by returning them; details for the error body go
 * into req->fault. Work that may block is a STEP_WORK (runs on a worker thread while the request is parked). A request
 * can also run without a connection of its own (a part of a batch): see request_run_child in rest/core/driver.h. */
#ifndef REST_REQUEST_H
#define REST_REQUEST_H

#include "auth/auth.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/service.h"
#include "base/sys/rng.h"
#include "store/encrypted.h"
#include "store/extent.h"
#include "store/store.h"
#include "wire/http/http1.h"
#include "wire/http/uri.h"

struct request;
struct rest_server; /* rest/core/server.h: configuration, store, workers */
struct rest_access; /* rest/core/server.h: accounts */

/* x-ms-version as a number that compares: VERSION(2019, 12, 12) == 20191212. */
#define VERSION(y, m, d) ((uint32_t)(y)*10000u + (uint32_t)(m)*100u + (uint32_t)(d))
/* Of "YYYY-MM-DD"; false if it has another form. */
bool request_version_parse(struct slice, uint32_t *ret);

enum step_kind {
	STEP_READ,	  /* apply on a snapshot */
	STEP_READ_POINTS, /* apply with point reads through the cache of hot records */
	STEP_WRITE,	  /* apply by the committer */
	STEP_CALL,	  /* call(req) on the loop: may look at results and add steps behind the last. ERR_BUDGET: it
			     began nothing that lasts, and is called again on a worker */
	STEP_WORK,	  /* call(req) on a worker thread: may block */
};

struct step {
	enum step_kind kind;
	struct slice partition;		    /* READ, WRITE: outlives the request (arena) */
	apply_fn *apply;		    /* READ, WRITE: gets req->call. CALL: of the step it adds, if it says so */
	enum err (*call)(struct request *); /* CALL, WORK */
};

enum { REQUEST_STEPS_MAX = 16, FAULT_DETAILS_MAX = 6, FAULT_HEADERS_MAX = 2 };

/* Extra elements of an error body, in order: <HeaderName>..</HeaderName>. */
struct fault_detail {
	const char *name;
	struct slice value;
};
struct fault {
	struct fault_detail detail[FAULT_DETAILS_MAX];
	size_t count;
	struct fault_detail header[FAULT_HEADERS_MAX]; /* headers that only this error has */
	size_t header_count;
	struct slice message;	/* replaces the text of errors.def if set */
	uint64_t retry_after_s; /* of a 503; 0: the usual one */
	bool has_length;	/* InvalidRange of a read: how long the resource is, for Content-Range */
	uint64_t length_bytes;
};
void fault_add(struct request *, const char *element, struct slice value);
void fault_add_header(struct request *, const char *name, struct slice value);
/* The common ones; each returns the error so that a handler can `return` it. */
enum err fault_header(struct request *, enum err, const char *header_name, struct slice value);
enum err fault_query(struct request *, enum err, const char *parameter, struct slice value, const char *reason);

/* A span of body bytes: from memory in the arena (bytes set), from an extent, or zeros (extent.length_bytes == 0). */
struct body_span {
	struct slice bytes;
	struct extent_ref extent;
	uint32_t offset;
	uint64_t length;		    /* of an extent: at most its length */
	const struct extent_cipher *cipher; /* the extent is encrypted; NULL mostly */
};

struct response {
	int status;
	struct buf headers; /* "Name: value\r\n" lines, without Date, Server, ids, version, lengths: the driver adds
			       those */
	struct buf body;    /* whole bodies (XML, JSON, small blobs) */
	struct slice body_slice; /* instead of `body`: bytes in the arena */
	struct body_span *spans; /* instead of `body`: streamed, in the arena */
	size_t span_count;
	/* The spans are not all: more_bytes are to come. Called when those before are out, it puts the next ones in
	 * their place and takes them off more_bytes. An error closes the connection: the status is out already. */
	enum err (*more)(struct request *);
	uint64_t more_bytes;
	uint64_t content_length; /* of spans, or of the body a HEAD would have: set_length says it counts */
	bool set_length;
	uint64_t pin; /* extents stay until the answer is out; 0 = none. Taken by request_pin before the read */
};

struct request {
	struct rest_server *server;
	const struct rest_access *access; /* accounts and rules as they were when it began */
	struct arena *arena;
	struct rng *rng; /* of the loop */
	const struct http_head *head;
	enum service service;
	const struct op *op;
	const struct handler *handler; /* of the operation, unless the parent of a part put another in its place */
	bool secure;		       /* came over TLS */
	bool local;		       /* came through the unix socket: from the server's own user, or root */
	struct slice client_ip;
	uint64_t arrival_ticks;
	uint64_t arrival_ns; /* monotonic */
	struct uuid request_id;
	struct slice client_request_id; /* absent or valid to echo */
	uint32_t version;		/* effective, VERSION() form */
	struct slice version_text;	/* as echoed */

	struct slice account;		  /* name */
	const struct auth_limits *limits; /* of the account; NULL: none, or not known yet */
	bool account_known;		  /* there is such an account */
	unsigned account_index;		  /* its slot: who takes turns with others */
	bool path_style;		  /* the account came from the path */
	struct slice raw_resource_path;	  /* path behind the account, still encoded, begins with '/' or empty */
	struct slice container; /* container, queue, table or share; decoded; empty at service level; "$root" made
				   explicit */
	struct slice object; /* blob name, message id; of an entity the text inside the parentheses; decoded; empty if
				none */
	bool secondary;	     /* the account was named with "-secondary" */
	bool may_be_read;    /* set by check_request: a POST that can be a read; its handler refuses writes there */
	unsigned level;	     /* enum level of rest/core/op.h */
	struct query query;

	struct auth_identity identity;

	void *call;	/* the handler's own */
	void *wait;	/* the service's own: what a request that waits for others needs */
	bool suspended; /* request_suspend */
	struct step steps[REQUEST_STEPS_MAX];
	unsigned step_count, step_next;
	bool precheck; /* set by parse: run the first step dry before the body */

	uint64_t body_limit_bytes; /* set by the driver from ops.def, lowered by parse */
	uint64_t body_limit_shown; /* MaxLimit, if that is of what the body holds; 0: body_limit_bytes */
	enum err body_limit_error; /* default ERR_REQUEST_BODY_TOO_LARGE with MaxLimit */
	struct slice body;	   /* BODY_MEMORY */
	struct payload payload;	   /* BODY_STREAM */
	bool payload_in_extents;   /* set by parse: never in memory, however short */
	/* Set by parse: what the payload is encrypted with, and what is read; NULL mostly. In the arena. */
	const struct extent_cipher *cipher;
	bool has_secret;	   /* a key came with the head: arena and head are wiped at the end */
	bool want_md5, want_crc64; /* set by parse: hash the streamed body; results below */
	unsigned char body_md5[16];
	uint64_t body_crc64;

	bool structured;	   /* set by body_checks_parse: the body is a structured message */
	uint64_t structured_bytes; /* of its data, as the client says */
	bool structured_answer;	   /* set by parse: so shall the answer be */

	struct response response;
	struct fault fault;
	struct slice string_to_sign; /* of a refused signature, for who asks why; never logged from here */
	struct slice reason;	     /* development mode: why it was refused, for the access log */
	bool denied;		     /* access_check said no */
	bool login_failed;	     /* because what it proves itself with proves nothing */
	struct slice deny_reason;    /* for the audit log: never what the client sent as a secret */
	struct slice log_note;	     /* extra text for the access log ("plan") */

	void *held; /* prepared and not used yet: release_held gets it at the end */
	void (*release_held)(void *);
	/* Set by request_hand_over: the admin listener answers for who asks, in this account alone; else absent. */
	struct slice vouched_account;
	bool read_only;			     /* what would write is refused */
	const struct auth_identity *trusted; /* of a part: proved by its parent, not asked again in the same account */
	struct request *parent;		     /* of a part of a batch, else NULL */
	bool account_implied;		     /* of a part: a path without an account is in its parent's */
	unsigned children_pending;	     /* parts started and not yet done: the next step waits for them */
};

struct handler {
	enum err (*parse)(struct request *);
	enum err (*parse_body)(struct request *); /* after the body arrived, before the steps; may be NULL */
	enum err (*format)(struct request *);
	/* A step failed; may be NULL. On the loop, with nothing pending. Returns the error to answer; or ERR_OK after
	 * it queued other steps behind request_steps_clear, and the request goes on with those. */
	enum err (*refused)(struct request *, enum err);
};

void request_step_read(struct request *, struct slice partition, apply_fn *);
void request_step_read_points(struct request *, struct slice partition, apply_fn *);
void request_step_write(struct request *, struct slice partition, apply_fn *);
void request_step_call(struct request *, enum err (*call)(struct request *));
/* From the last step, a call: all ran, and what is added now runs from the beginning of the list. For work that takes
 * as many commits as it takes. */
void request_steps_restart(struct request *);
/* From `refused`: nothing is queued any more. */
void request_steps_clear(struct request *);
/* From the call of a STEP_CALL: when it returned, the request waits until request_resume, which is called once, later
 * and on the request's loop. With an error that is the answer; else the next step follows. While it waits it lives,
 * whatever its peer does. */
void request_suspend(struct request *);
void request_resume(struct request *, enum err);
struct io_loop *request_loop(struct request *);
void request_step_work(struct request *, enum err (*call)(struct request *));
/* The answer is long: a worker makes it. As the last step. */
void request_step_format(struct request *);
/* For store_read_until from a STEP_CALL: soon on the loop; 0, so none, on the worker where it is called again. */
uint64_t request_read_deadline_ns(const struct request *);
/* For STEP_WORK that made req->payload itself: from now on it is given back unless a write published it. */
void request_own_payload(struct request *);
/* From struct rest_service.redirect: `path` (which begins with the account) is a request to that service, made with the
 * authority of `account`. Everything but the proof of who asks goes on as for every other request. */
void request_hand_over(struct request *, enum service, struct slice account, struct slice path);
/* Another object of this container that a header names, as the source of a rename: may it be changed so too? By the
 * request's own credentials, or, where those are a token for one object, by the token in the query of its URL. */
enum err request_check_source(struct request *, struct slice object, struct slice token) MUST_CHECK;
/* The client is gone: nobody reads the answer. Long work looks now and then and stops. Any thread. */
bool request_is_abandoned(const struct request *);
void request_pin(struct request *); /* once, before reading a record whose extents will be streamed */

/* Shorthands for handlers. */
static inline struct slice request_header(const struct request *r, const char *name)
{
	return http_header(r->head, slice_str(name));
}
static inline struct slice request_param(const struct request *r, const char *name)
{
	return query_get(&r->query, slice_str(name));
}
void response_header_put(struct request *, struct slice name, struct slice value);
/* The length of a literal name is known when this is compiled. */
static inline void response_header(struct request *r, const char *name, struct slice value)
{
	response_header_put(r, slice_str(name), value);
}
/* The first of the two that is set: what a SAS says in place of a stored header, and the stored one. */
void response_header_or(struct request *, const char *name, struct slice override, struct slice own);
void response_header_u64(struct request *, const char *name, uint64_t value);
/* RFC 1123 of ticks. */
void response_header_time(struct request *, const char *name, uint64_t ticks);

#endif

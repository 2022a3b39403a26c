/* SPDX-License-Identifier: Apache-2.0
 * The load generator: one thread, one epoll set, one request under way per connection. A work says what a connection
 * asks next and what a good answer is; a protocol moves the bytes. Nothing here is shared with the server but codecs.
 */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include "base/buf.h"
#include "base/sys/rng.h"

#include <stdint.h>

enum { NOISE_BYTES = 64 * 1024 * 1024 + 4096, KEY_DIGITS = 8 };

struct options {
	const char *work, *target, *auth, *container, *prefix;
	int port;
	unsigned connections;
	double seconds, warmup_seconds;
	uint64_t count;	   /* stop after so many operations; 0 = by time */
	uint64_t keys;	   /* size of the population read from */
	uint64_t base;	   /* first key written */
	uint64_t bytes;	   /* payload */
	uint64_t depth;	   /* blocks of a blob, entities of a batch or page */
	int root_pids[16]; /* whose CPU time is the server's */
	unsigned root_count;
};
extern struct options opt;
extern char *noise;
extern const char *sas; /* the account SAS, a query string */

struct conn {
	int fd;
	unsigned index;
	struct rng rng;
	uint64_t started_ns;
	/* The request: head, then body. */
	struct buf head;
	struct slice body;
	size_t sent_bytes;
	bool idle; /* asks no more */
	/* The reply. */
	struct buf in;
	uint64_t skip_bytes; /* of a body nobody looks at, still to come */
	uint64_t skipped_bytes;
	size_t scan_bytes;	       /* how far chunks have been decoded */
	size_t head_bytes, body_bytes; /* 0 until the head is whole */
	bool chunked;
	/* What the work remembers between its requests. */
	unsigned step;
	uint64_t key;
	struct buf note;
	char **etags;
	void *link; /* PGconn */
};

struct reply {
	int status;
	struct slice head, body;
	uint64_t body_bytes;
};

struct protocol {
	void (*open)(struct conn *);
	void (*submit)(struct conn *); /* begins to send what the work built */
	/* Goes on; true when a reply is whole, *ret then says which. */
	bool (*ready)(struct conn *, struct reply *ret);
};
extern const struct protocol protocol_http, protocol_redis, protocol_pg;

enum answer { ANSWER_DONE, ANSWER_MORE, ANSWER_BAD, ANSWER_UNCOUNTED };
struct work {
	const char *name, *help;
	const struct protocol *protocol;
	uint64_t bytes, depth, keys; /* defaults */
	bool discard;		     /* bodies are read and forgotten */
	void (*request)(struct conn *);
	enum answer (*answer)(struct conn *, const struct reply *);
};
extern const struct work works_blob[], works_queue[], works_table[], works_file[], works_redis[], works_pg[];
extern const struct work *work;

void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
uint64_t next_key(void); /* the next key to write */
uint64_t keys_given(void);
int socket_open(int port);
void conn_watch(struct conn *); /* its descriptor joins the loop */

/* Requests from a template: the key's digits are the only part that changes. */
struct template
{
	struct buf text;
	size_t key_at;
};
void template_use(struct conn *, struct template *, uint64_t key);
void template_init(struct template *, const char *method, const char *path, const char *query, const char *headers);
void key_digits(char dst[KEY_DIGITS], uint64_t key);
void http_request(struct conn *, const char *method, struct slice path, const char *query, const char *headers,
		  struct slice body);
struct slice http_reply_header(const struct reply *, struct slice name);
struct slice text_between(struct slice text, struct slice from, struct slice until);

void sign_init(void);
/* The Authorization header's value of a GET without query. */
void sign_get(const char *path, const char *date, struct buf *ret);
const char *sign_date(void);

#endif

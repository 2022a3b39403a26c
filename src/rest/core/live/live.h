/* SPDX-License-Identifier: Apache-2.0
 * A ring of the newest requests as JSON, filled only while somebody reads it: who reads asks again within
 * LIVE_WATCH_SECONDS. Lines are those of the access log, so a signature is never among them. */
#ifndef REST_LIVE_H
#define REST_LIVE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "wire/http/http1.h"

enum { LIVE_LINES = 512, LIVE_LINE_BYTES = 4096, LIVE_WATCH_SECONDS = 10 };

struct live_line {
	uint16_t len;
	char text[LIVE_LINE_BYTES];
};

struct live {
	atomic_uint_least64_t watched_until_ns; /* 0: nobody looks */
	pthread_mutex_t lock;
	uint64_t next;		/* number of the next line; the ring holds those before it */
	struct live_line *line; /* LIVE_LINES, made when somebody looks for the first time */
};

void live_init(struct live *);
void live_fini(struct live *);
/* Is it worth making a line? Any thread; one load while nobody looks. */
bool live_is_watched(struct live *);
/* One request: the line of the access log, and its headers without credentials, as many as fit. A line that is too long
 * by itself is left out. Any thread. */
void live_put(struct live *, struct slice line, struct slice service, const struct http_head *);
/* {"next":N,"requests":[...]}: those from number `since` on that are still there, oldest first. Asks for more. */
void live_read(struct live *, uint64_t since, struct buf *out);

#endif

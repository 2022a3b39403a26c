/* SPDX-License-Identifier: Apache-2.0
 * Which loop and connection an open belongs to, so that a break can be told to its holder: from REST requests, from
 * other connections, from the same one.
 *
 * A break that is posted on the holder's own loop is delivered at once: it goes out before anything that is answered
 * later. Otherwise a notice is copied, posted to the holder's loop and delivered there at most once; if the holder left
 * meanwhile it is dropped, which is right: its open is closed, or waits for a reconnect with its break in its row.
 *
 * Threads: holder_post from any; add and remove on the holder's own loop. */
#ifndef WAIT_HOLDER_H
#define WAIT_HOLDER_H

#include "base/err.h"
#include "io/loop.h"

struct holder_list;

struct holder_notice {
	uint64_t open_id;
	enum { NOTICE_BREAK, NOTICE_CLOSED } what; /* closed: by force, from the other door */
	bool is_lease;
	uint8_t client[16], lease_key[16];
	uint8_t from, to; /* cache states, R 1, H 2, W 4 */
	uint16_t epoch;
	bool ack_required;
};

typedef void holder_notice_fn(void *owner, const struct holder_notice *);

enum err holder_list_new(struct holder_list **ret) MUST_CHECK;
void holder_list_free(struct holder_list *); /* accepts NULL */

enum err holder_add(struct holder_list *, uint64_t open_id, struct io_loop *, holder_notice_fn *,
		    void *owner) MUST_CHECK;
void holder_remove(struct holder_list *, uint64_t open_id); /* absent is fine */
/* False: nobody holds it here. */
bool holder_post(struct holder_list *, const struct holder_notice *);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * MD5 of large bodies, all that are under way at once: a thread of its own takes the windows of different bodies into
 * the lanes of hash_md5_update_many, a step of each in turn. A window that comes joins at the next step, one that is
 * done leaves; nothing waits for company. More threads join in when there are more bodies than lanes. */
#ifndef REST_HASHER_H
#define REST_HASHER_H

#include "base/err.h"
#include "io/loop.h"
#include "wire/hash.h"

struct hasher;

struct hash_job { /* embedded in its owner; not submitted again before done ran */
	struct io_task done;
	struct io_loop *home; /* where done runs */
	struct hash_md5 *state;
	struct slice bytes; /* used up */
	struct hash_job *next;
};

/* At most so many threads hash at a time. */
enum err hasher_new(unsigned threads, struct hasher **ret) MUST_CHECK;
/* Finishes what is queued and joins the threads. Accepts NULL. */
void hasher_free(struct hasher *);
/* Any thread. The queue is as long as there are bodies under way: each has one job. */
void hasher_submit(struct hasher *, struct hash_job *);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * The thread that does what nobody waits for, in bounded rounds: dropped generations, retired contents, expired
 * messages. */
#ifndef JOBS_BACKGROUND_H
#define JOBS_BACKGROUND_H

#include "store/store.h"

struct background;

/* Before the first request: finishes creations that a crash cut in two. */
void background_at_start(struct store *, const struct slice *accounts, size_t account_count);
/* Before the first request: handles that outlive the server stand in the way again, until their clients come back or
 * their time is over. A store whose handles cannot be read must not be served. */
enum err background_load_opens(struct store *, const struct slice *accounts, size_t account_count) MUST_CHECK;
/* The accounts' names outlive it. NULL if there is no memory or thread for it (said in the log): the server
 * works, space is not reclaimed. */
struct background *background_start(struct store *, const struct slice *accounts, size_t account_count);
/* These from the next round on. `accounts` is copied, the names outlive it. Any thread; accepts NULL. */
enum err background_set_accounts(struct background *, const struct slice *accounts, size_t account_count) MUST_CHECK;
void background_stop(struct background *); /* waits for the round that runs; accepts NULL */
/* How long it rests after a piece of a share's work that took `took_ns`, during which the store had `txns` transactions
 * (its own among them), before it goes on with what there is more. 0 if nobody else wrote. */
uint64_t background_rest_ns(uint64_t took_ns, uint64_t txns, bool more);

#endif

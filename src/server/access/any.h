/* SPDX-License-Identifier: Apache-2.0
 * --anyAccount, development mode: an account is there as soon as a path names it, with the well-known key, so that each
 * worker of a test run can have one of its own. They stay until the process ends. Any thread. */
#ifndef SERVER_ANY_H
#define SERVER_ANY_H

#include "rest/core/server.h"

struct any_accounts;

enum { ANY_ACCOUNTS_MAX = 4096 };

/* `made` is called for each new one, on the thread that asked for it: its data is tended from then on. NULL: no memory.
 */
struct any_accounts *any_new(void (*made)(void *arg), void *arg);
void any_free(struct any_accounts *); /* accepts NULL; after the last request */
/* From now on that one finds them too. */
void any_give(struct any_accounts *, struct rest_access *);
/* Their names, at most `room`; returns how many. */
size_t any_names(struct any_accounts *, struct slice *ret, size_t room);

#endif

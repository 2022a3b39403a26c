/* SPDX-License-Identifier: Apache-2.0
 * The explorer: a page that looks into the store, and what the page asks besides the services' own operations.
 *
 * No second way to the data. A request to /api/<service>/<account>/... is handed to that service's REST front end as it
 * is; the admin listener only proves who asks, by a session. A session is a text of its account (or "*"), the time it
 * ends and a MAC under a secret of this process: nothing is kept, and a restart, or a change of the account's keys,
 * ends all of them. The page sends it in a header of its own, which no foreign page can make a browser send. */
#ifndef REST_ADMIN_EXPLORER_H
#define REST_ADMIN_EXPLORER_H

#include "rest/core/request.h"
#include "rest/core/server.h"
#include "wire/hash.h"

struct explorer {
	struct hash_hmac_key secret;
	uint64_t started_ns;
};

/* struct rest_service.start, stop and redirect of the admin listener. */
enum err explorer_start(struct rest_server *, void **ret_state) MUST_CHECK;
void explorer_stop(void *state);
enum err explorer_redirect(struct request *) MUST_CHECK;

/* The path is the page's, one of its files, or below /api/. */
bool explorer_has_page(struct slice path);
bool explorer_has_api(struct slice path);

/* session.c */
/* Which accounts the session of a request reaches: a name, or "*". ERR_NO_AUTHENTICATION_INFORMATION without one. */
enum err explorer_session_check(struct request *, struct slice *ret_scope) MUST_CHECK;
bool explorer_scope_has(struct slice scope, struct slice account);
/* May this one have a session for the asking: development mode, from this machine, and by a name of it. */
bool explorer_is_at_home(const struct request *);
/* By the operator (--adminReadOnly), or by the switch of the page that sent this. */
bool explorer_is_read_only(const struct request *);
/* A new session; absent if there is no memory. */
struct slice explorer_session_make(struct request *, struct slice scope);
/* Equal, in a time that does not tell where they differ. */
bool explorer_secret_eq(struct slice a, struct slice b);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * What an operator forbids on an account, whoever asks and whatever they prove. A file has one line a limit:
 *
 *   # account         limit                value
 *   *                 public-access        off
 *   myaccount         shared-key           off
 *   myaccount         addresses            10.0.0.0/8,192.168.1.5,2001:db8::/32
 *   myaccount         sas-max-hours        24
 *   myaccount         requests-per-second  500
 *   myaccount/photos  egress-per-second    10MiB
 *   myaccount/photos  stored-bytes         500GiB
 *
 * Rates can also be about one container, queue, table or share. '*' is every account; lines about one account come on
 * top and replace what they are about. */
#ifndef AUTH_LIMITS_H
#define AUTH_LIMITS_H

#include "auth/address.h"
#include "auth/auth.h"
#include "auth/quota.h"
#include "base/buf.h"

enum { LIMITS_RANGES_MAX = 64, LIMITS_CONTAINERS_MAX = 64 };

struct container_quota {
	struct slice name;
	struct auth_quota *quota;
};

/* Read-only once made, but for what the quotas count. */
struct auth_limits {
	bool no_shared_key;		   /* nor any SAS that an account key signed */
	bool no_public_access;		   /* nobody is anonymous */
	uint64_t sas_max_ticks;		   /* from its start (else from now) to its expiry; 0: no limit */
	struct auth_quota *quota;	   /* NULL: none */
	struct container_quota *container; /* NULL: none */
	size_t container_count;
	bool stores_limited; /* it or a container of it has a quota of stored bytes: they are counted */
	size_t range_count;  /* 0: every address */
	struct address_range range[LIMITS_RANGES_MAX];
};

/* Gives each account its limits, in the arena. ERR_SYNTAX with the line and what is wrong in *ret_message. */
enum err limits_apply(struct slice text, struct auth_account *, size_t count, struct arena *,
		      struct buf *ret_message) MUST_CHECK;

/* The quota of that container, queue, table or share; NULL if it has none of its own. */
struct auth_quota *limits_container_quota(const struct auth_limits *, struct slice container);

/* May a client with this address ask at all? ERR_AUTHORIZATION_FAILURE if not. */
enum err limits_check_address(const struct auth_account *, struct slice client_ip) MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Who is asking, and may they? Pure: the caller gives keys, stored policies and time; nothing is fetched here.
 *
 * auth_authenticate finds the scheme (Shared Key, Shared Key Lite, account SAS, service SAS, user delegation SAS,
 * bearer, or none) and proves it; auth_authorize then asks whether that identity may do one operation. Secrets are
 * compared in constant time and never written anywhere. Both account keys count. */
#ifndef AUTH_AUTH_H
#define AUTH_AUTH_H

#include "base/arena.h"
#include "base/err.h"
#include "base/service.h"
#include "base/slice.h"
#include "wire/http/http1.h"
#include "wire/http/uri.h"

enum auth_kind {
	AUTH_ANONYMOUS,
	AUTH_SHARED_KEY, /* also Lite: the owner */
	AUTH_ACCOUNT_SAS,
	AUTH_SERVICE_SAS,
	AUTH_DELEGATION_SAS,
	AUTH_BEARER,
};

struct auth_identity {
	enum auth_kind kind;
	struct slice permissions;    /* SAS: letters, the token's or the policy's */
	struct slice services;	     /* account SAS: ss */
	struct slice resource_types; /* account SAS: srt */
	char resource; /* service SAS: 'c', 'b', 's' for sr=bs (snapshot), 'v' for sr=bv, 'd', 'q', 't', 'f' ... */
	struct slice override_cache_control, override_content_disposition, override_content_encoding,
		override_content_language,
		override_content_type; /* rscc, rscd, rsce, rscl, rsct; absent if not given */
	bool has_table_range;
	struct slice start_pk, start_rk, end_pk, end_rk; /* table SAS; absent = unbounded */
	struct slice subject, tenant;			 /* bearer, delegation: oid, tid */
	struct slice app;				 /* bearer: the program, appid or azp */
	unsigned key; /* by which of the account's keys: 1, 2; 0: none, or a key derived from one */
	/* What a service or delegation SAS reaches; auth_authorize holds every request (and every part of a batch) to
	 * it. scope_object is empty unless the token names one object. Tables compare without case. */
	struct slice scope_container, scope_object;
	/* Bearer and delegation, where a file of roles says what they may (auth/roles.h). */
	bool by_roles;
	const struct auth_grant *grant;
	size_t grant_count;
	enum service role_service; /* where the request that was authenticated points */
	struct slice role_account, role_container;
	struct slice encryption_scope; /* ses; absent if not given */
	uint32_t sas_version;	       /* sv as yyyymmdd; 0 if no SAS */
};

struct auth_grant; /* auth/roles.h: one rule that holds for an identity */

struct auth_account {
	struct slice name;
	struct slice key[2];		  /* decoded; an absent one never matches */
	void *key_state[2];		  /* prepared HMAC contexts, auth_account_prepare; NULL works, slower */
	const struct auth_limits *limits; /* auth/limits.h: what is forbidden whoever asks; NULL: nothing */
	unsigned slot;			  /* its number as long as the process lives, whatever accounts come and go */
};
/* Prepares key_state; auth_account_release frees it. Prepared state may be shared by threads (it is copied per use). */
void auth_account_prepare(struct auth_account *);
void auth_account_release(struct auth_account *);

struct auth_policy { /* a stored access policy, or part of one */
	struct slice id;
	struct slice start, expiry, permission; /* ISO 8601 text; absent = not in the policy */
};

/* A user delegation key is derived from the account's key and these fields, so none is ever stored; a change of the
 * account keys takes all of them back. Times count in whole seconds, because clients write them in several forms. */
struct auth_delegation {
	struct slice object_id, tenant_id; /* skoid, sktid: whose rights the key carries */
	uint64_t start_ticks, expiry_ticks;
	struct slice service;	       /* sks: "b", "q", "t", "f" */
	struct slice version;	       /* skv as text */
	struct slice delegated_tenant; /* skdutid; absent if not asked for */
};
enum { AUTH_DELEGATION_KEY_BYTES = 32 };
/* The key's value, made with the first account key that is set. ERR_NOT_FOUND if none is. */
enum err auth_delegation_key(const struct auth_account *, const struct auth_delegation *,
			     unsigned char ret_key[AUTH_DELEGATION_KEY_BYTES]) MUST_CHECK;

struct auth_bearer_config; /* auth/bearer.h: issuer, audience, key set, mode */

struct auth_request {
	const struct http_head *head;
	const struct query *query;
	enum service service;
	const struct auth_account *account;
	bool path_style;	      /* the URL path begins with the account (the signed path then holds it twice) */
	struct slice account_in_path; /* as sent, may carry "-secondary" */
	struct slice container;	      /* decoded; container, queue, table or share; empty at service level */
	struct slice object;	      /* decoded; empty if none */
	uint32_t version;	      /* effective x-ms-version */
	bool secure;
	struct slice client_ip;
	uint64_t now_ticks;
	/* Clients' clocks: what the age of a request's date and of a token is judged by; 0: now_ticks. They differ
	 * while tests move the server's clock. */
	uint64_t client_ticks;
	/* Looks up a stored access policy of the addressed container. ERR_NOT_FOUND if there is none of that id. */
	enum err (*find_policy)(void *arg, struct slice id, struct auth_policy *ret);
	void *find_policy_arg;
	const struct auth_bearer_config *bearer;
	const struct auth_account
		*account_for_delegation; /* delegation keys derive from its secret; NULL: from `account` */
};

static inline uint64_t auth_client_ticks(const struct auth_request *r)
{
	return r->client_ticks ? r->client_ticks : r->now_ticks;
}

struct auth_failure {
	struct slice detail;	     /* AuthenticationErrorDetail for the client, absent if none */
	struct slice string_to_sign; /* for the debug log only */
	bool wrong_proof;	     /* a signature, or a token's: who sends it does not have the key */
};

enum err auth_authenticate(const struct auth_request *, struct arena *, struct auth_identity *ret,
			   struct auth_failure *ret_failure) MUST_CHECK;

/* One operation's demands, from ops.def. */
struct auth_demand {
	const char *sas; /* any of these letters; "x&y" all of them; "" never by service SAS; "*" any permission */
	const char *account_sas;
	char resource_type; /* s, c, o */
	bool at_container;  /* the operation addresses a container (not an object): service SAS of a blob does not reach
			       it */
	bool no_bearer;	    /* not with a bearer token: container and table ACLs, Get Account Information */
	bool bearer_only;   /* only with a bearer token: Get User Delegation Key */
};
enum err auth_authorize(const struct auth_request *, const struct auth_identity *,
			const struct auth_demand *) MUST_CHECK;
/* How a refusal is answered to this identity: `e`, or ERR_RESOURCE_NOT_FOUND to a service SAS of a version that hid
 * what it did not allow. */
enum err auth_refusal(const struct auth_identity *, enum err e) MUST_CHECK;
/* True if the identity's SAS carries the letter (owner and bearer: always). For rules inside operations (overwrite,
 * tags). */
bool auth_allows(const struct auth_identity *, char letter);
/* The same for a part of a batch, which may name another container than the batch does. */
bool auth_allows_in(const struct auth_identity *, struct slice container, char letter);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Who may do what with a bearer token: a file of rules, each giving one of Azure's data roles to somebody somewhere.
 * Nobody has a right that no rule gives.
 *
 *   # who                                  where               role
 *   oid:5f1e...                            myaccount           Storage Blob Data Owner
 *   group:77aa...                          myaccount/photos    Storage Blob Data Reader
 *   app-role:Mailer                        *                   Storage Queue Data Message Sender
 *   issuer:https://sts/,oid:90bc...        myaccount           Storage Table Data Contributor
 *
 * One rule a line, its three parts apart by blanks; lines that begin with '#' and empty ones mean nothing. Who: one or
 * several conditions joined by ',', which all have to hold, on the token's claims oid (else sub), groups, roles and
 * iss; ids compare without case. Where: an account, one container, queue, table or share of it, or '*' for every
 * account.
 *
 * A user delegation SAS carries its maker's oid and nothing else of the maker's token: only rules that name an oid (and
 * the issuer, if they do) count for it. */
#ifndef AUTH_ROLES_H
#define AUTH_ROLES_H

#include "auth/auth.h"
#include "base/buf.h"

enum { ROLES_RULES_MAX = 1024 };

/* Read-only once made: any thread may use it. */
struct auth_roles;

/* Copies the text. ERR_SYNTAX with the line and what is wrong in *ret_message, ERR_NO_MEMORY. */
enum err roles_new(struct slice text, struct auth_roles **ret, struct buf *ret_message) MUST_CHECK;
void roles_free(struct auth_roles *); /* accepts NULL */

/* What a token says about its owner. */
struct role_claims {
	struct slice issuer, object_id;
	const struct slice *group, *app_role;
	size_t group_count, app_role_count;
};
/* The rules that hold for them become the identity's grants, in the arena. */
enum err roles_find(const struct auth_roles *, const struct role_claims *, struct arena *,
		    struct auth_identity *ret) MUST_CHECK;

/* Do the identity's grants allow what an operation demands, at the request's account and container? */
bool roles_allow_demand(const struct auth_request *, const struct auth_identity *, const struct auth_demand *);
/* May it do what the letter stands for to objects (blobs, messages, entities) of that container? */
bool roles_allow_letter(const struct auth_identity *, enum service, struct slice account, struct slice container,
			char letter);

#endif

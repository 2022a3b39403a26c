/* SPDX-License-Identifier: Apache-2.0
 * Stored access policies on the wire: <SignedIdentifiers>, for containers, queues, tables and shares. */
#ifndef REST_ACL_H
#define REST_ACL_H

#include "rest/core/request.h"
#include "svc/account/resource.h"

/* Reads the request's body into policy[]. `letters`: the permissions a policy of this resource may have. An empty body
 * is an empty list. Errors: InvalidXmlDocument (also a sixth policy or a bad id), InvalidXmlNodeValue. */
enum err acl_parse(struct request *, const char *letters, struct policy policy[POLICIES_MAX],
		   size_t *ret_count) MUST_CHECK;
/* The body and Content-Type of Get ACL. */
void acl_format(struct request *, const struct policy *, size_t count);

/* Get and Set ACL of a resource without leases and conditions; what differs from one to the next. */
struct acl_facts {
	char kind; /* enum resource_kind */
	const char *letters;
	enum err missing_error;
	bool no_cache; /* the answer of Get says so */
};
enum err acl_parse_get(struct request *, const struct acl_facts *) MUST_CHECK;
enum err acl_parse_set(struct request *, const struct acl_facts *) MUST_CHECK;
enum err acl_parse_set_body(struct request *);
enum err acl_format_get(struct request *);
enum err acl_format_set(struct request *);

#endif

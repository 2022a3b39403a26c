/* SPDX-License-Identifier: Apache-2.0
 * Stored access policies and public access of the addressed container (queue, table, share), from its record through
 * the cache of hot records: what struct rest_service asks for. */
#ifndef REST_POLICY_H
#define REST_POLICY_H

#include "rest/core/op.h"

enum err policy_find(struct request *, struct slice id, struct auth_policy *ret) MUST_CHECK;
/* Of the container of that name, where the path does not name it. */
enum err policy_find_in(struct request *, struct slice container, struct slice id, struct auth_policy *ret) MUST_CHECK;
enum err policy_find_public_access(struct request *, enum anon *ret) MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0
 * What the files of the admin listener share. */
#ifndef REST_ADMIN_ADMIN_H
#define REST_ADMIN_ADMIN_H

#include "base/buf.h"
#include "rest/core/request.h"

/* kit.c: the test kit. kit_parse is the parse of a POST or DELETE to a path of its own. */
bool kit_is_path(struct slice path);
enum err kit_parse(struct request *) MUST_CHECK;
int kit_put(const struct rest_server *, struct buf *out); /* its state; returns the status */

/* stats.c: /stats; returns the status. */
int stats_put(const struct request *, struct buf *out);

/* leases.c: on a worker. */
enum err leases_put(struct request *, struct buf *out) MUST_CHECK;

#endif

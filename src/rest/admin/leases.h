/* SPDX-License-Identifier: Apache-2.0
 * The walk over an account that finds its leases: containers with their blobs, then shares with their files. On a
 * worker.
 *
 *   leases_walk_init(&w, server, out); set the bounds; leases_walk(&w, account, start) writes one JSON object a lease,
 *   commas between; w.stopped: a bound was reached, and in_shares, at_container and at_name say where to go on. */
#ifndef REST_ADMIN_LEASES_H
#define REST_ADMIN_LEASES_H

#include "base/buf.h"
#include "rest/core/request.h"

struct lease_walk {
	struct rest_server *server;
	struct buf *out;
	uint64_t now; /* in ticks */
	/* bounds; those of _init are for who asks once */
	size_t found_max, looked_max;
	uint64_t deadline_ns; /* 0: none */
	/* so far */
	struct slice account, container;
	size_t found, looked;
	bool too_deep; /* directories below DEPTH_MAX were left out */
	bool stopped;
	bool in_shares;
	struct buf at_container, at_name;
};

/* Where a walk that stopped goes on: at that object of that container or share, or at the first after it. */
struct lease_start {
	bool shares;
	struct slice container, name; /* empty: the beginning */
};

void leases_walk_init(struct lease_walk *, struct rest_server *, struct buf *out);
void leases_walk_fini(struct lease_walk *);
enum err leases_walk(struct lease_walk *, struct slice account, const struct lease_start *) MUST_CHECK;

#endif

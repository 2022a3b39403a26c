/* SPDX-License-Identifier: Apache-2.0
 * How many logins from an address failed of late, over all its connections. A table of fixed size: two addresses that
 * share a place forget each other, so nobody can make it grow, and nobody is slowed for another's failures. */
#ifndef SMB_FAILURES_H
#define SMB_FAILURES_H

#include <stdint.h>

#include "base/slice.h"
#include "io/listen.h"

enum { FAILURES_PLACES = 1024, FAILURES_FORGET_MS = 60000 /* since the last one */ };

struct failures {
	struct failures_of {
		char address[IO_ADDRESS_TEXT_BYTES];
		unsigned count;
		uint64_t last_ms;
	} place[FAILURES_PLACES];
};

/* One more; how many there are now. */
unsigned failures_add(struct failures *, struct slice address, uint64_t now_ms);

#endif

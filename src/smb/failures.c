/* SPDX-License-Identifier: Apache-2.0
 * Failed logins by address. */
#include "smb/failures.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "base/hash.h"

unsigned failures_add(struct failures *f, struct slice address, uint64_t now_ms)
{
	assert(f);
	struct failures_of *p = &f->place[base_hash_bytes(0, address) % FAILURES_PLACES];
	if (address.len >= sizeof p->address)
		address.len = sizeof p->address - 1;
	bool same = slice_eq(slice_str(p->address), address);
	if (!same || now_ms > p->last_ms + FAILURES_FORGET_MS) {
		memset(p->address, 0, sizeof p->address);
		memcpy(p->address, address.ptr, address.len);
		p->count = 0;
	}
	p->last_ms = now_ms;
	if (p->count < UINT_MAX)
		p->count++;
	return p->count;
}

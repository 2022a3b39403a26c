/* SPDX-License-Identifier: Apache-2.0
 * Counters of connections by a hash of their peer's address. */
#include "io/addresses.h"

#include "base/hash.h"

bool io_addresses_take(struct io_addresses *a, const char *address, size_t most, unsigned *ret_slot)
{
	unsigned slot = (unsigned)(base_hash_bytes(a->seed, slice_str(address)) % IO_ADDRESS_SLOTS);
	if (atomic_fetch_add_explicit(&a->count[slot], 1, memory_order_relaxed) >= most) {
		io_addresses_give(a, slot);
		return false;
	}
	*ret_slot = slot;
	return true;
}

void io_addresses_give(struct io_addresses *a, unsigned slot)
{
	atomic_fetch_sub_explicit(&a->count[slot], 1, memory_order_relaxed);
}

/* SPDX-License-Identifier: Apache-2.0
 * How many connections each peer address has. Addresses share counters by a hash nobody outside can compute: an exact
 * count would need a table that grows with whoever connects. Two that share a counter have the bound together. Any
 * thread. */
#ifndef IO_ADDRESSES_H
#define IO_ADDRESSES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { IO_ADDRESS_SLOTS = 4096 };

struct io_addresses {
	uint64_t seed; /* random */
	atomic_uint count[IO_ADDRESS_SLOTS];
};

/* Counts one more connection of the address. False: it has `most` already. *ret_slot: for io_addresses_give. */
bool io_addresses_take(struct io_addresses *, const char *address, size_t most, unsigned *ret_slot);
void io_addresses_give(struct io_addresses *, unsigned slot);

#endif

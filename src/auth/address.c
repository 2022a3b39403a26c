/* SPDX-License-Identifier: Apache-2.0
 * Text to addresses and ranges. See address.h. */
#include "auth/address.h"

#include <arpa/inet.h>

bool auth_address_parse(struct slice text, unsigned char ret[ADDRESS_BYTES])
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	char copy[INET6_ADDRSTRLEN];
	if (text.len == 0 || text.len >= sizeof copy)
		return false;
	memcpy(copy, text.ptr, text.len);
	copy[text.len] = 0;
	memcpy(ret, mapped, sizeof mapped);
	return inet_pton(AF_INET, copy, ret + sizeof mapped) == 1 || inet_pton(AF_INET6, copy, ret) == 1;
}

/* The network of an address: the first `bits` stay, the others are all there can be. */
static bool network_parse(struct slice address, struct slice bits_text, struct address_range *ret)
{
	enum { MAPPED_BITS = 96, ALL_BITS = 128 };
	uint64_t bits;
	bool v4 = slice_find_byte(address, ':') == address.len;
	if (!auth_address_parse(address, ret->low) || !slice_to_u64(bits_text, &bits) || bits > (v4 ? 32 : ALL_BITS))
		return false;
	bits += v4 ? MAPPED_BITS : 0;
	memcpy(ret->high, ret->low, ADDRESS_BYTES);
	for (unsigned i = (unsigned)bits; i < ALL_BITS; i++) {
		unsigned char bit = (unsigned char)(0x80 >> i % 8);
		ret->low[i / 8] &= (unsigned char)~bit;
		ret->high[i / 8] |= bit;
	}
	return true;
}

bool auth_address_range_parse(struct slice text, struct address_range *ret)
{
	struct slice bits = text, first = slice_cut(&bits, '/');
	if (slice_is_set(bits))
		return network_parse(first, bits, ret);
	struct slice last = text;
	first = slice_cut(&last, '-');
	return auth_address_parse(first, ret->low) && auth_address_parse(slice_is_set(last) ? last : first, ret->high);
}

bool auth_address_range_holds(const struct address_range *r, const unsigned char address[ADDRESS_BYTES])
{
	return memcmp(address, r->low, ADDRESS_BYTES) >= 0 && memcmp(address, r->high, ADDRESS_BYTES) <= 0;
}

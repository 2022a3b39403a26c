/* SPDX-License-Identifier: Apache-2.0
 * Addresses of clients: one, or a range of them, IPv4 and IPv6 in one form that compares. */
#ifndef AUTH_ADDRESS_H
#define AUTH_ADDRESS_H

#include "base/slice.h"

enum { ADDRESS_BYTES = 16 };

/* Both ends included. */
struct address_range {
	unsigned char low[ADDRESS_BYTES], high[ADDRESS_BYTES];
};

/* As 16 bytes, IPv4 in its mapped form. False if it is no address. */
bool auth_address_parse(struct slice text, unsigned char ret[ADDRESS_BYTES]);
/* "10.0.0.5", "10.0.0.5-10.0.0.9" or "10.0.0.0/8". */
bool auth_address_range_parse(struct slice text, struct address_range *ret);
bool auth_address_range_holds(const struct address_range *, const unsigned char address[ADDRESS_BYTES]);

#endif

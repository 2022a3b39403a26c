/* SPDX-License-Identifier: Apache-2.0
 * The PROXY protocol, versions 1 and 2: a balancer in front of us says at the beginning of a connection whose it is.
 * Only for connections from balancers that are trusted: anybody can write such a line. */
#ifndef IO_PROXY_H
#define IO_PROXY_H

#include "base/slice.h"
#include "io/listen.h"

struct proxy_header {
	size_t bytes; /* of the whole header */
	bool has_address;
	char address[IO_ADDRESS_TEXT_BYTES]; /* the client's */
	bool secure;			     /* version 2: the client spoke TLS with the balancer */
};

enum proxy_result { PROXY_DONE, PROXY_MORE, PROXY_BAD };

enum { PROXY_HEADER_BYTES_MAX = 536 }; /* of version 2 with its extensions; the longest of version 1 is 107 */

/* Pure: what the bytes that a connection began with say. */
enum proxy_result io_proxy_parse(struct slice bytes, struct proxy_header *ret);
/* Looks at what the socket has and takes exactly the header off it. PROXY_MORE: nothing was taken. */
enum proxy_result io_proxy_read(int fd, struct proxy_header *ret);

#endif

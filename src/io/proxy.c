/* SPDX-License-Identifier: Apache-2.0
 * Reading PROXY headers. See proxy.h. */
#include "io/proxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>

#include "base/bytes.h"

enum {
	LINE_BYTES_MAX = 107, /* version 1 with its line end */
	HEAD_BYTES = 16,
	FAMILY_V4 = 1,
	FAMILY_V6 = 2,
	TLV_SSL = 0x20,
	TLV_HEAD_BYTES = 3,
	CLIENT_SSL = 1,
};

static const unsigned char signature[12] = { 0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a };

/* Written again from its bytes, so that what is compared later has one form. */
static void put_address(struct proxy_header *ret, int family, const void *bytes)
{
	const unsigned char *b = bytes;
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	if (family == AF_INET6 && memcmp(b, mapped, sizeof mapped) == 0)
		inet_ntop(AF_INET, b + sizeof mapped, ret->address, sizeof ret->address);
	else
		inet_ntop(family, b, ret->address, sizeof ret->address);
	ret->has_address = true;
}

static bool text_address(struct slice text, int family, struct proxy_header *ret)
{
	char copy[IO_ADDRESS_TEXT_BYTES];
	unsigned char bytes[16];
	if (text.len == 0 || text.len >= sizeof copy)
		return false;
	memcpy(copy, text.ptr, text.len);
	copy[text.len] = 0;
	if (inet_pton(family, copy, bytes) != 1)
		return false;
	put_address(ret, family, bytes);
	return true;
}

static bool is_port(struct slice text)
{
	uint64_t port;
	return text.len <= 5 && slice_to_u64(text, &port) && port <= UINT16_MAX;
}

/* "PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\n" or "PROXY UNKNOWN ...\r\n". */
static enum proxy_result parse_line(struct slice bytes, struct proxy_header *ret)
{
	size_t end = slice_find_byte(bytes, '\n');
	if (end >= LINE_BYTES_MAX || (end == bytes.len && bytes.len >= LINE_BYTES_MAX))
		return PROXY_BAD;
	if (end == bytes.len)
		return PROXY_MORE;
	struct slice line = slice_first(bytes, end), ignored;
	if (end == 0 || line.ptr[end - 1] != '\r')
		return PROXY_BAD;
	line = slice_first(line, end - 1);
	ret->bytes = end + 1;
	ignored = slice_cut(&line, ' '); /* PROXY */
	struct slice family = slice_cut(&line, ' ');
	if (slice_eq(family, SLICE("UNKNOWN")))
		return PROXY_DONE;
	int kind = slice_eq(family, SLICE("TCP4")) ? AF_INET : slice_eq(family, SLICE("TCP6")) ? AF_INET6 : AF_UNSPEC;
	struct slice from = slice_cut(&line, ' '), to = slice_cut(&line, ' '), from_port = slice_cut(&line, ' ');
	struct proxy_header other;
	(void)ignored;
	if (kind == AF_UNSPEC || !text_address(to, kind, &other) || !is_port(from_port) || !slice_is_set(line) ||
	    !is_port(line) || !text_address(from, kind, ret))
		return PROXY_BAD;
	return PROXY_DONE;
}

/* Extensions: type, length, value. One of them says whether the client spoke TLS. */
static bool parse_extensions(struct slice rest, struct proxy_header *ret)
{
	while (rest.len) {
		if (rest.len < TLV_HEAD_BYTES)
			return false;
		size_t len = (size_t)(unsigned char)rest.ptr[1] << 8 | (unsigned char)rest.ptr[2];
		unsigned type = (unsigned char)rest.ptr[0];
		rest = slice_from(rest, TLV_HEAD_BYTES);
		if (len > rest.len)
			return false;
		if (type == TLV_SSL && len > 0)
			ret->secure = (unsigned char)rest.ptr[0] & CLIENT_SSL;
		rest = slice_from(rest, len);
	}
	return true;
}

static enum proxy_result parse_binary(struct slice bytes, struct proxy_header *ret)
{
	if (bytes.len < HEAD_BYTES)
		return PROXY_MORE;
	unsigned version = (unsigned char)bytes.ptr[12] >> 4, command = (unsigned char)bytes.ptr[12] & 15;
	unsigned family = (unsigned char)bytes.ptr[13] >> 4;
	size_t len = (size_t)(unsigned char)bytes.ptr[14] << 8 | (unsigned char)bytes.ptr[15];
	if (version != 2 || command > 1 || HEAD_BYTES + len > PROXY_HEADER_BYTES_MAX)
		return PROXY_BAD;
	if (bytes.len < HEAD_BYTES + len)
		return PROXY_MORE;
	ret->bytes = HEAD_BYTES + len;
	struct slice rest = slice_first(slice_from(bytes, HEAD_BYTES), len);
	if (command == 0) /* LOCAL: the balancer itself, looking after our health */
		return PROXY_DONE;
	size_t address = family == FAMILY_V4 ? 4 : family == FAMILY_V6 ? 16 : 0, room = 2 * address + 4;
	if (!address)
		return PROXY_DONE; /* a family we do not know: the connection's own address stays */
	if (len < room)
		return PROXY_BAD;
	put_address(ret, family == FAMILY_V4 ? AF_INET : AF_INET6, rest.ptr);
	return parse_extensions(slice_from(rest, room), ret) ? PROXY_DONE : PROXY_BAD;
}

enum proxy_result io_proxy_parse(struct slice bytes, struct proxy_header *ret)
{
	static const char word[] = "PROXY ";
	size_t word_len = sizeof word - 1;
	*ret = (struct proxy_header){ .bytes = 0 };
	if (bytes.len == 0)
		return PROXY_MORE;
	if (memcmp(bytes.ptr, signature, bytes.len < sizeof signature ? bytes.len : sizeof signature) == 0)
		return bytes.len < sizeof signature ? PROXY_MORE : parse_binary(bytes, ret);
	if (memcmp(bytes.ptr, word, bytes.len < word_len ? bytes.len : word_len) != 0)
		return PROXY_BAD;
	return bytes.len < word_len ? PROXY_MORE : parse_line(bytes, ret);
}

enum proxy_result io_proxy_read(int fd, struct proxy_header *ret)
{
	char bytes[PROXY_HEADER_BYTES_MAX];
	ssize_t n;
	do
		n = recv(fd, bytes, sizeof bytes, MSG_PEEK);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK ? PROXY_MORE : PROXY_BAD;
	if (n == 0)
		return PROXY_BAD;
	enum proxy_result result = io_proxy_parse(slice_make(bytes, (size_t)n), ret);
	if (result == PROXY_DONE && recv(fd, bytes, ret->bytes, 0) != (ssize_t)ret->bytes)
		return PROXY_BAD;
	return result;
}

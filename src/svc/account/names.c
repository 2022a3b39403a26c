/* SPDX-License-Identifier: Apache-2.0
 * Names of containers, queues, tables, shares and blobs. */
#include "svc/account/names.h"

enum { CONTAINER_NAME_MIN = 3, CONTAINER_NAME_MAX = 63, BLOB_NAME_MAX = 1024, BLOB_SEGMENTS_MAX = 254 };

static bool is_lower_or_digit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

enum err name_check_container(struct slice n, bool special_ok)
{
	if (special_ok && (slice_eq(n, SLICE("$root")) || slice_eq(n, SLICE("$web")) || slice_eq(n, SLICE("$logs"))))
		return ERR_OK;
	if (n.len < CONTAINER_NAME_MIN || n.len > CONTAINER_NAME_MAX)
		return ERR_NAME_LENGTH_OUT_OF_RANGE;
	for (size_t i = 0; i < n.len; i++) {
		bool edge = i == 0 || i + 1 == n.len;
		if (is_lower_or_digit(n.ptr[i]))
			continue;
		if (n.ptr[i] != '-' || edge || n.ptr[i - 1] == '-')
			return ERR_INVALID_RESOURCE_NAME;
	}
	return ERR_OK;
}

enum err name_check_table(struct slice name)
{
	for (size_t i = 0; i < name.len; i++) {
		unsigned char c = (unsigned char)name.ptr[i];
		bool letter = (unsigned char)((c | 0x20) - 'a') < 26, digit = (unsigned char)(c - '0') < 10;
		if (!letter && !(digit && i))
			return ERR_INVALID_RESOURCE_NAME;
	}
	if (slice_eq_nocase(name, SLICE("tables")))
		return ERR_INVALID_RESOURCE_NAME;
	return name.len >= TABLE_NAME_MIN && name.len <= TABLE_NAME_MAX ? ERR_OK : ERR_NAME_LENGTH_OUT_OF_RANGE;
}

size_t name_characters(struct slice s)
{
	size_t count = 0;
	for (size_t i = 0; i < s.len; i++)
		count += ((unsigned char)s.ptr[i] & 0xc0) != 0x80;
	return count;
}

/* The next code point of valid UTF-8 (uri_decode checked it). */
static uint32_t next_code_point(struct slice s, size_t *at)
{
	unsigned char c = (unsigned char)s.ptr[(*at)++];
	int more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;
	uint32_t v = more == 3 ? c & 0x07u : more == 2 ? c & 0x0fu : more == 1 ? c & 0x1fu : c;
	while (more-- && *at < s.len)
		v = v << 6 | ((unsigned char)s.ptr[(*at)++] & 0x3fu);
	return v;
}

/* As the service lists them: C1 controls but a few, and noncharacters. */
static bool is_forbidden(uint32_t c)
{
	if (c < 0x20 || c == 0x7f)
		return true;
	if (c >= 0x80 && c <= 0x9f)
		return c != 0x81 && c != 0x8d && c != 0x8f && c != 0x90 && c != 0x9d;
	if (c >= 0xfdd1 && c <= 0xfdef)
		return c != 0xfddd;
	if (c > 0xffff && (c & 0xfffe) == 0xfffe) /* the last two of a plane; every fourth plane's are let through */
		return (c >> 16) % 4 != 0;
	return c >= 0xfff0 && c < 0xffff; /* U+FFFF is taken, as the service takes it */
}

enum err name_check_blob(struct slice container, struct slice name)
{
	size_t characters = 0, segments = 1;
	if (name.len == 0)
		return ERR_INVALID_URI;
	for (size_t at = 0; at < name.len;) {
		uint32_t c = next_code_point(name, &at);
		if (is_forbidden(c))
			return ERR_INVALID_RESOURCE_NAME;
		segments += c == '/';
		characters += c > 0xffff ? 2 : 1; /* as UTF-16 has them */
	}
	if (characters > BLOB_NAME_MAX || segments > BLOB_SEGMENTS_MAX)
		return ERR_NAME_LENGTH_OUT_OF_RANGE;
	if (slice_eq(container, SLICE("$root")) && segments > 1)
		return ERR_INVALID_RESOURCE_NAME;
	return ERR_OK;
}

bool name_is_identifier(struct slice n)
{
	for (size_t i = 0; i < n.len; i++) {
		unsigned char c = (unsigned char)n.ptr[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
		if (!letter && (i == 0 || c < '0' || c > '9'))
			return false;
	}
	return n.len != 0;
}

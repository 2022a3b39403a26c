/* SPDX-License-Identifier: Apache-2.0
 * Order-preserving keys. Every append checks the room left and marks overflow, so a builder checks once at its end. */
#include "store/key.h"

#include <assert.h>

#include "base/wide.h"

enum { KEY_END = 0x01, KEY_ESCAPE = 0x02, KEY_ESCAPE_BASE = 0x03 };

void key_init(struct key *k)
{
	k->len = 0;
	k->overflow = false;
}

static void key_byte(struct key *k, unsigned char c)
{
	if (k->len >= sizeof k->bytes) {
		k->overflow = true;
		return;
	}
	k->bytes[k->len++] = (char)c;
}

static void key_bytes(struct key *k, struct slice s)
{
	if (s.len > sizeof k->bytes - k->len) {
		k->overflow = true;
		s.len = sizeof k->bytes - k->len;
	}
	memcpy(k->bytes + k->len, s.ptr, s.len);
	k->len += s.len;
}

void key_tag(struct key *k, char tag)
{
	assert(tag != 0);
	key_byte(k, (unsigned char)tag);
}

static wide_t is_escaped(wide_t c)
{
	return (c >= 0) & (c <= KEY_ESCAPE);
}

void key_str_open(struct key *k, struct slice s)
{
	while (s.len && !k->overflow) {
		size_t plain = wide_find(s, is_escaped);
		key_bytes(k, slice_first(s, plain));
		s = slice_from(s, plain);
		if (s.len) {
			key_byte(k, KEY_ESCAPE);
			key_byte(k, (unsigned char)((unsigned char)s.ptr[0] + KEY_ESCAPE_BASE));
			s = slice_from(s, 1);
		}
	}
}

void key_str(struct key *k, struct slice s)
{
	key_str_open(k, s);
	key_byte(k, KEY_END);
}

void key_u64(struct key *k, uint64_t v)
{
	for (int shift = 63; shift >= 0; shift -= 7)
		key_byte(k, (unsigned char)(0x80 | ((v >> shift) & 0x7f)));
}

void key_u64_desc(struct key *k, uint64_t v)
{
	key_u64(k, ~v);
}

struct slice key_slice(const struct key *k)
{
	return slice_make(k->bytes, k->len);
}

void key_prefix_end(struct key *k)
{
	while (k->len) {
		unsigned char c = (unsigned char)k->bytes[k->len - 1];
		if (c != 0xff) {
			k->bytes[k->len - 1] = (char)(c + 1);
			return;
		}
		k->len--;
	}
}

void key_after(struct key *k, struct slice key)
{
	key_init(k);
	if (key.len < sizeof k->bytes) {
		memcpy(k->bytes, key.ptr, key.len);
		k->bytes[key.len] = KEY_END;
		k->len = key.len + 1;
		return;
	}
	/* No longer key fits: the next one of full length. */
	assert(key.len == sizeof k->bytes);
	memcpy(k->bytes, key.ptr, key.len);
	k->len = key.len;
	key_prefix_end(k);
}

bool key_take_tag(struct slice *rest, char tag)
{
	if (rest->len == 0 || rest->ptr[0] != tag)
		return false;
	*rest = slice_from(*rest, 1);
	return true;
}

bool key_take_str(struct slice *rest, char *dst, size_t dst_size, struct slice *ret)
{
	size_t n = 0;
	for (size_t i = 0; i < rest->len; i++) {
		unsigned char c = (unsigned char)rest->ptr[i];
		if (c == KEY_END) {
			*rest = slice_from(*rest, i + 1);
			*ret = slice_make(dst, n);
			return true;
		}
		if (c == KEY_ESCAPE) {
			if (++i == rest->len)
				return false;
			c = (unsigned char)rest->ptr[i];
			if (c < KEY_ESCAPE_BASE || c > KEY_ESCAPE_BASE + KEY_ESCAPE)
				return false;
			c = (unsigned char)(c - KEY_ESCAPE_BASE);
		} else if (c == 0) {
			return false;
		}
		if (n == dst_size)
			return false;
		dst[n++] = (char)c;
	}
	return false;
}

bool key_take_u64(struct slice *rest, uint64_t *ret)
{
	uint64_t v = 0;
	if (rest->len < KEY_U64_BYTES)
		return false;
	for (int i = 0; i < KEY_U64_BYTES; i++) {
		unsigned char c = (unsigned char)rest->ptr[i];
		if (!(c & 0x80) || (i == 0 && c > 0x81))
			return false;
		v = (v << 7) | (c & 0x7f);
	}
	*rest = slice_from(*rest, KEY_U64_BYTES);
	*ret = v;
	return true;
}

bool key_take_u64_desc(struct slice *rest, uint64_t *ret)
{
	uint64_t v;
	if (!key_take_u64(rest, &v))
		return false;
	*ret = ~v;
	return true;
}

void key_partition_account(struct key *k, struct slice account)
{
	key_init(k);
	key_str(k, account);
	key_tag(k, 'a');
}

void key_partition(struct key *k, struct slice account, char kind, uint64_t generation)
{
	key_init(k);
	key_str(k, account);
	key_tag(k, kind);
	key_u64(k, generation);
}

/* SPDX-License-Identifier: Apache-2.0
 * Default scopes of containers, as bytes. */
#include "svc/blob/scope.h"

#include "base/bytes.h"
#include "svc/blob/record.h"

enum { SCOPE_RECORD_VERSION = 1, SCOPE_MIN_BYTES = 3 };

void blob_scope_encode(struct buf *b, const struct container_scope *s)
{
	bytes_put_u8(b, SCOPE_RECORD_VERSION);
	bytes_put_u8(b, s->deny_override);
	bytes_put_str(b, s->name);
}

enum err blob_scope_decode(struct slice extra, struct container_scope *ret)
{
	if (extra.len == 0) {
		*ret = (struct container_scope){ .name = SLICE_NONE };
		return ERR_OK;
	}
	struct cursor c = cursor_make(extra);
	if (cursor_u8(&c) != SCOPE_RECORD_VERSION)
		return ERR_CORRUPT;
	struct container_scope s = { .deny_override = cursor_u8(&c) != 0 };
	s.name = cursor_str(&c);
	if (!cursor_done(&c))
		return ERR_CORRUPT;
	*ret = s;
	return ERR_OK;
}

bool blob_scope_name_is_valid(struct slice s)
{
	if (s.len < SCOPE_MIN_BYTES || s.len > BLOB_SCOPE_MAX_BYTES)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];
		bool ok = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-';
		if (!ok)
			return false;
	}
	return true;
}

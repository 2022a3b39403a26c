/* SPDX-License-Identifier: Apache-2.0
 * What a new file or directory gets from its parent's descriptor: the ACEs that are marked to be inherited, as Windows
 * does it. An ACE with generic rights or for CREATOR OWNER is resolved for the child itself, and a directory passes the
 * original on as inherit-only. Where the parent's DACL inherits by itself (AI), so does the child's, and its ACEs are
 * marked as inherited. The owner of everything that is made through an account's key is SYSTEM. */
#include "base/bytes.h"
#include "wire/sddl/sddl.h"
#include "wire/sddl/sddl_int.h"

enum { OI = 0x01, CI = 0x02, NP = 0x04, IO = 0x08, ID = 0x10 };

/* Of a share's root, and what follows from it: the common case needs no computing. */
#define ROOT                                                                                                           \
	"O:SYG:SYD:(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)(A;;0x1200a9;;;BU)(A;OICIIO;GXGR;;;BU)(A;OICI;0x1301bf;;;AU)"       \
	"(A;;FA;;;SY)(A;OICIIO;GA;;;CO)"
#define ROOT_FILE "O:SYG:SYD:(A;;FA;;;BA)(A;;FA;;;SY)(A;;0x1200a9;;;BU)(A;;0x1301bf;;;AU)(A;;FA;;;SY)"

static const unsigned char creator_owner[] = { 1, 1, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0 };
static const unsigned char system_sid[] = { 1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0 };

/* Generic rights as those of files. */
static uint32_t map_generic(uint32_t mask)
{
	static const struct {
		uint32_t generic, specific;
	} map[] = {
		{ 0x10000000, 0x1f01ff }, { 0x20000000, 0x1200a0 }, { 0x40000000, 0x120116 }, { 0x80000000, 0x120089 }
	};
	for (size_t i = 0; i < 4; i++)
		if (mask & map[i].generic)
			mask = (mask & ~map[i].generic) | map[i].specific;
	return mask;
}

static void put_ace(struct buf *acl, struct slice ace, unsigned flags)
{
	size_t start = acl->len;
	buf_put(acl, ace);
	if (buf_ok(acl))
		acl->ptr[start + 1] = (char)flags;
}

/* The ACE as it holds for the child itself. */
static void put_effective(struct buf *acl, struct slice ace, unsigned flags)
{
	size_t start = acl->len;
	bool is_owner = ace.len == ACE_HEADER_BYTES + sizeof creator_owner &&
			memcmp(ace.ptr + ACE_HEADER_BYTES, creator_owner, sizeof creator_owner) == 0;
	put_ace(acl, ace, flags);
	if (!buf_ok(acl))
		return;
	bytes_store(acl->ptr + start + 4, map_generic((uint32_t)bytes_load(ace.ptr + 4, 4)), 4);
	if (is_owner)
		memcpy(acl->ptr + start + ACE_HEADER_BYTES, system_sid, sizeof system_sid);
}

static bool must_resolve(struct slice ace)
{
	uint32_t mask = (uint32_t)bytes_load(ace.ptr + 4, 4);
	return (mask & 0xf0000000) || (ace.len == ACE_HEADER_BYTES + sizeof creator_owner &&
				       memcmp(ace.ptr + ACE_HEADER_BYTES, creator_owner, sizeof creator_owner) == 0);
}

/* How many ACEs were put. `mark` is ID or 0. */
static unsigned inherit_ace(struct buf *acl, struct slice ace, bool directory, unsigned mark)
{
	unsigned flags = (unsigned char)ace.ptr[1], keep = (flags & ~(unsigned)(IO | ID)) | mark;
	if (flags & NP)
		keep &= ~(unsigned)(OI | CI | NP);
	if (!directory) {
		if (!(flags & OI))
			return 0;
		put_effective(acl, ace, keep & ~(unsigned)(OI | CI | NP));
		return 1;
	}
	if (!(flags & CI)) { /* for files alone: a directory only passes it on */
		if (!(flags & OI) || (flags & NP))
			return 0;
		put_ace(acl, ace, keep | IO);
		return 1;
	}
	if (!must_resolve(ace) || (flags & NP)) {
		put_effective(acl, ace, keep);
		return 1;
	}
	put_effective(acl, ace, keep & ~(unsigned)(OI | CI));
	put_ace(acl, ace, keep | IO);
	return 2;
}

static void put_header(struct buf *out, unsigned control)
{
	bytes_put_u8(out, 1);
	bytes_put_u8(out, 0);
	bytes_put_u16(out, (uint16_t)(SD_SELF_RELATIVE | SD_DACL_PRESENT | control));
	bytes_put_u32(out, SD_HEADER_BYTES);
	bytes_put_u32(out, SD_HEADER_BYTES + sizeof system_sid);
	bytes_put_u32(out, 0);
	bytes_put_u32(out, SD_HEADER_BYTES + 2 * sizeof system_sid);
	buf_put(out, slice_make(system_sid, sizeof system_sid));
	buf_put(out, slice_make(system_sid, sizeof system_sid));
}

/* `parent` is well-formed: it was made by sddl_parse. */
static enum err inherit(struct slice parent, bool directory, struct buf *child)
{
	size_t offset = bytes_load(parent.ptr + 16, 4), start;
	unsigned count = 0, revision = 2, automatic = (unsigned)bytes_load(parent.ptr + 2, 2) & SD_DACL_AUTO;
	put_header(child, automatic);
	start = child->len;
	bytes_put_u64(child, 0);
	struct slice acl = offset ? slice_from(parent, offset) : SLICE_NONE;
	if (acl.len >= ACL_HEADER_BYTES) {
		size_t left = bytes_load(acl.ptr + 4, 2);
		revision = (unsigned char)acl.ptr[0];
		struct slice rest = slice_from(slice_first(acl, bytes_load(acl.ptr + 2, 2)), ACL_HEADER_BYTES);
		for (; left; left--) {
			struct slice ace = slice_first(rest, bytes_load(rest.ptr + 2, 2));
			count += inherit_ace(child, ace, directory, automatic ? ID : 0);
			rest = slice_from(rest, ace.len);
		}
	}
	if (!buf_ok(child) || child->len - start > UINT16_MAX)
		return ERR_NO_MEMORY;
	child->ptr[start] = (char)revision;
	bytes_store(child->ptr + start + 2, child->len - start, 2);
	bytes_store(child->ptr + start + 4, count, 2);
	return ERR_OK;
}

struct slice sddl_inherit(struct arena *arena, struct slice parent_text, bool directory)
{
	struct buf parent, child, text;
	struct slice result = SLICE_NONE;
	if (!slice_is_set(parent_text) || slice_eq(parent_text, SLICE(ROOT)))
		return directory ? SLICE(ROOT) : SLICE(ROOT_FILE);
	buf_init(&parent, 2 * SDDL_BINARY_MAX_BYTES);
	buf_init(&child, 2 * SDDL_BINARY_MAX_BYTES);
	buf_init(&text, 16 * SDDL_BINARY_MAX_BYTES);
	enum err e = sddl_parse(parent_text, &parent);
	if (e == ERR_OK)
		e = inherit(buf_slice(&parent), directory, &child);
	if (e == ERR_OK)
		e = sddl_format(buf_slice(&child), &text);
	if (e == ERR_OK)
		result = arena_dup(arena, buf_slice(&text));
	buf_fini(&parent);
	buf_fini(&child);
	buf_fini(&text);
	return result;
}

/* SPDX-License-Identifier: Apache-2.0
 * Security descriptors of QUERY_INFO and SET_INFO: SDDL in the share, binary on the wire. */
#include "smb/security.h"

#include "wire/sddl/sddl.h"

#define DEFAULT_SDDL                                                                                                   \
	"O:SYG:SYD:(A;OICI;FA;;;BA)(A;;0x1200a9;;;BU)(A;OICIIO;GXGR;;;BU)(A;OICI;0x1301bf;;;AU)(A;OICI;FA;;;SY)"       \
	"(A;OICIIO;FA;;;CO)"

enum { HEAD_BYTES = 20, PARTS = 4, CONTROL_SELF_RELATIVE = 0x8000 };

/* The four parts of a descriptor: owner, group, SACL, DACL, as its head lists them. */
static const unsigned part_bit[PARTS] = { SDDL_OWNER, SDDL_GROUP, SDDL_SACL, SDDL_DACL };
/* Control bits that belong to a part. "Inherited automatically" is taken from who asks for it; asking is no state. */
static const uint16_t part_control[PARTS] = { 0x0001, 0x0002, 0x2A30, 0x150C };
static const uint16_t part_asks[PARTS] = { 0, 0, 0x0200, 0x0100 };
static const uint16_t part_automatic[PARTS] = { 0, 0, 0x0800, 0x0400 };

struct descriptor {
	uint16_t control;
	struct slice part[PARTS]; /* absent if not there */
};

/* `binary` is well-formed: sddl_format or sddl_parse has seen it. */
static void descriptor_split(struct slice binary, struct descriptor *ret)
{
	unsigned parts = sddl_parts(binary);
	*ret = (struct descriptor){ .control = smb2_u16(binary, 2) };
	for (unsigned i = 0; i < PARTS; i++) {
		uint32_t at = smb2_u32(binary, 4 + 4 * i);
		if (!(parts & part_bit[i]) || at == 0)
			continue;
		size_t len = i < 2 ? 8 + 4 * (size_t)(unsigned char)binary.ptr[at + 1] : smb2_u16(binary, at + 2);
		ret->part[i] = slice_make(binary.ptr + at, len);
	}
}

static void descriptor_put(struct buf *b, const struct descriptor *d)
{
	uint32_t at = HEAD_BYTES;
	bytes_put_u16(b, 1);
	bytes_put_u16(b, d->control | CONTROL_SELF_RELATIVE);
	for (unsigned i = 0; i < PARTS; i++) {
		bytes_put_u32(b, slice_is_set(d->part[i]) ? at : 0);
		at += (uint32_t)d->part[i].len;
	}
	for (unsigned i = 0; i < PARTS; i++)
		if (slice_is_set(d->part[i]))
			buf_put(b, d->part[i]);
}

/* Those of `to` named in `parts` become those of `from`. */
static void parts_take(struct descriptor *to, const struct descriptor *from, unsigned parts)
{
	for (unsigned i = 0; i < PARTS; i++) {
		if (!(parts & part_bit[i]))
			continue;
		to->part[i] = from->part[i];
		to->control = (uint16_t)((to->control & ~part_control[i]) | (from->control & part_control[i]));
	}
}

static enum err buf_into_arena(struct buf *b, struct arena *arena, struct slice *ret)
{
	*ret = buf_ok(b) ? arena_dup(arena, buf_slice(b)) : SLICE_NONE;
	buf_fini(b);
	return slice_is_set(*ret) ? ERR_OK : ERR_NO_MEMORY;
}

static enum err binary_of(struct arena *arena, struct slice sddl, struct slice *ret)
{
	struct buf b;
	buf_init(&b, SDDL_BINARY_MAX_BYTES);
	enum err e = sddl_parse(slice_is_set(sddl) ? sddl : SLICE(DEFAULT_SDDL), &b);
	if (e != ERR_OK) {
		buf_fini(&b);
		return e;
	}
	return buf_into_arena(&b, arena, ret);
}

static enum err text_of(struct arena *arena, struct slice binary, struct slice *ret)
{
	struct buf b;
	buf_init(&b, FILE_PERMISSION_BYTES_MAX);
	enum err e = sddl_format(binary, &b);
	if (e != ERR_OK) {
		buf_fini(&b);
		return e;
	}
	return buf_into_arena(&b, arena, ret);
}

uint32_t smb_security_parse(struct smb_request *r, struct slice binary, struct file_permission *ret)
{
	struct slice text;
	if (binary.len >= HEAD_BYTES && sddl_parts(binary) == 0)
		return STATUS_OK; /* it names nothing: all is inherited */
	enum err e = text_of(&r->arena, binary, &text);
	if (e != ERR_OK)
		return e == ERR_SYNTAX ? STATUS_INVALID_PARAMETER : STATUS_INSUFFICIENT_RESOURCES;
	*ret = (struct file_permission){ .how = FILE_PERMISSION_TEXT, .text = text };
	return STATUS_OK;
}

enum err smb_security_show(struct arena *arena, struct slice sddl, unsigned parts, struct slice *ret)
{
	struct slice binary;
	struct descriptor all, some = { 0 };
	struct buf b;
	TRY(binary_of(arena, sddl, &binary));
	descriptor_split(binary, &all);
	parts_take(&some, &all, parts);
	buf_init(&b, SDDL_BINARY_MAX_BYTES + HEAD_BYTES);
	descriptor_put(&b, &some);
	return buf_into_arena(&b, arena, ret);
}

static void automatic_settle(struct descriptor *d)
{
	for (unsigned i = 0; i < PARTS; i++) {
		if (!(d->control & part_asks[i]))
			d->control = (uint16_t)(d->control & ~part_automatic[i]);
		d->control = (uint16_t)(d->control & ~part_asks[i]);
	}
}

enum err smb_security_merge(struct arena *arena, struct slice sddl, struct slice binary, unsigned parts,
			    struct slice *ret_sddl)
{
	struct slice old, checked;
	struct descriptor was, given;
	struct buf b;
	TRY(text_of(arena, binary, &checked)); /* well-formed? */
	TRY(binary_of(arena, sddl, &old));
	descriptor_split(old, &was);
	descriptor_split(binary, &given);
	automatic_settle(&given);
	parts_take(&was, &given, parts);
	buf_init(&b, SDDL_BINARY_MAX_BYTES + HEAD_BYTES);
	descriptor_put(&b, &was);
	struct slice merged;
	TRY(buf_into_arena(&b, arena, &merged));
	return text_of(arena, merged, ret_sddl);
}

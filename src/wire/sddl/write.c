/* SPDX-License-Identifier: Apache-2.0
 * A self-relative descriptor into SDDL text. Every offset and size is checked before it is followed: the bytes may come
 * from a client. */
#include "base/bytes.h"
#include "wire/sddl/sddl.h"
#include "wire/sddl/sddl_int.h"

/* The SID at the beginning of `bytes`; absent if it does not fit. */
static struct slice sid_at(struct slice bytes)
{
	if (bytes.len < 8 || bytes.ptr[0] != 1 || (unsigned char)bytes.ptr[1] > SID_SUBS_MAX)
		return SLICE_NONE;
	size_t n = 8 + 4 * (size_t)(unsigned char)bytes.ptr[1];
	return n <= bytes.len ? slice_first(bytes, n) : SLICE_NONE;
}

static void put_sid(struct slice sid, struct buf *out)
{
	const char *alias = sddl_sid_alias(sid);
	if (alias) {
		buf_put(out, slice_str(alias));
		return;
	}
	uint64_t authority = 0;
	for (size_t i = 2; i < 8; i++)
		authority = authority << 8 | (unsigned char)sid.ptr[i];
	/* Above 32 bits the convention is hexadecimal. */
	buf_printf(out, authority > UINT32_MAX ? "S-1-0x%llx" : "S-1-%llu", (unsigned long long)authority);
	for (size_t at = 8; at < sid.len; at += 4)
		buf_printf(out, "-%llu", (unsigned long long)bytes_load(sid.ptr + at, 4));
}

static void put_words(const struct sddl_word *table, uint32_t bits, struct buf *out)
{
	for (const struct sddl_word *w = table; w->word; w++)
		if (bits & w->bits)
			buf_put(out, slice_str(w->word));
}

static const char *type_word(unsigned type)
{
	for (const struct sddl_word *w = sddl_ace_types; w->word; w++)
		if (w->bits == type)
			return w->word;
	return NULL;
}

static void put_rights(unsigned type, uint32_t mask, struct buf *out)
{
	uint32_t known = 0;
	for (const struct sddl_word *w = sddl_whole_rights; w->word; w++) {
		bool of_label = w->word[0] == 'N';
		if (w->bits == mask && of_label == (type == 0x11) && w->word[0] != 'K') {
			buf_put(out, slice_str(w->word));
			return;
		}
	}
	for (const struct sddl_word *w = sddl_rights; w->word; w++)
		known |= w->bits;
	if (mask & ~known || mask == 0 || type == 0x11)
		buf_printf(out, "0x%x", (unsigned)mask);
	else
		put_words(sddl_rights, mask, out);
}

static void put_guid(const char *bytes, struct buf *out)
{
	static const unsigned char order[GUID_BYTES] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };
	for (size_t i = 0; i < GUID_BYTES; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			buf_put_byte(out, '-');
		buf_printf(out, "%02x", (unsigned char)bytes[order[i]]);
	}
}

/* What stands between the rights and the SID: two GUIDs or nothing. Moves *ace behind them. */
static bool put_objects(unsigned type, struct slice *ace, struct buf *out)
{
	if (!sddl_type_has_guids(type)) {
		BUF_PUT(out, ";;;");
		return true;
	}
	if (ace->len < 4)
		return false;
	uint64_t present = bytes_load(ace->ptr, 4);
	*ace = slice_from(*ace, 4);
	for (unsigned bit = 1; bit <= 2; bit <<= 1) {
		buf_put_byte(out, ';');
		if (!(present & bit))
			continue;
		if (ace->len < GUID_BYTES)
			return false;
		put_guid(ace->ptr, out);
		*ace = slice_from(*ace, GUID_BYTES);
	}
	buf_put_byte(out, ';');
	return present <= 3;
}

static bool put_ace(struct slice ace, struct buf *out)
{
	unsigned type = (unsigned char)ace.ptr[0];
	const char *word = type_word(type);
	uint32_t mask = (uint32_t)bytes_load(ace.ptr + 4, 4);
	if (!word || (ace.ptr[1] & 0x20)) /* a flag that has no word */
		return false;
	buf_printf(out, "(%s;", word);
	put_words(sddl_ace_flags, (unsigned char)ace.ptr[1], out);
	buf_put_byte(out, ';');
	put_rights(type, mask, out);
	ace = slice_from(ace, ACE_HEADER_BYTES);
	if (!put_objects(type, &ace, out))
		return false;
	struct slice sid = sid_at(ace);
	if (!slice_is_set(sid) || sid.ptr[1] == 0)
		return false;
	put_sid(sid, out);
	buf_put_byte(out, ')');
	return true;
}

static bool put_acl(struct slice acl, struct buf *out)
{
	if (acl.len < ACL_HEADER_BYTES)
		return false;
	size_t size = bytes_load(acl.ptr + 2, 2), count = bytes_load(acl.ptr + 4, 2);
	if (size < ACL_HEADER_BYTES || size > acl.len)
		return false;
	struct slice rest = slice_from(slice_first(acl, size), ACL_HEADER_BYTES);
	for (size_t i = 0; i < count; i++) {
		size_t n = rest.len >= ACE_HEADER_BYTES ? bytes_load(rest.ptr + 2, 2) : 0;
		if (n < ACE_HEADER_BYTES || n > rest.len || !put_ace(slice_first(rest, n), out))
			return false;
		rest = slice_from(rest, n);
	}
	return true;
}

static bool put_acl_part(struct slice binary, size_t offset, unsigned control, char letter, struct buf *out)
{
	buf_printf(out, "%c:", letter);
	if (control & SD_DACL_PROTECTED)
		BUF_PUT(out, "P");
	if (control & SD_DACL_AUTO_REQUEST)
		BUF_PUT(out, "AR");
	if (control & SD_DACL_AUTO)
		BUF_PUT(out, "AI");
	if (offset == 0) {
		BUF_PUT(out, "NO_ACCESS_CONTROL");
		return true;
	}
	return offset < binary.len && put_acl(slice_from(binary, offset), out);
}

static bool put_sid_part(struct slice binary, size_t offset, char letter, struct buf *out)
{
	struct slice sid = offset && offset < binary.len ? sid_at(slice_from(binary, offset)) : SLICE_NONE;
	if (offset == 0)
		return true;
	if (!slice_is_set(sid) || sid.ptr[1] == 0)
		return false;
	buf_printf(out, "%c:", letter);
	put_sid(sid, out);
	return true;
}

enum err sddl_format(struct slice binary, struct buf *text)
{
	if (binary.len < SD_HEADER_BYTES || binary.len > SDDL_BINARY_MAX_BYTES * 3 || binary.ptr[0] != 1)
		return ERR_SYNTAX;
	unsigned control = (unsigned)bytes_load(binary.ptr + 2, 2);
	size_t offset[4];
	for (size_t i = 0; i < 4; i++)
		offset[i] = bytes_load(binary.ptr + 4 + 4 * i, 4);
	if (!(control & SD_SELF_RELATIVE) || !put_sid_part(binary, offset[0], 'O', text) ||
	    !put_sid_part(binary, offset[1], 'G', text))
		return ERR_SYNTAX;
	if ((control & SD_DACL_PRESENT) && !put_acl_part(binary, offset[3], control, 'D', text))
		return ERR_SYNTAX;
	if ((control & SD_SACL_PRESENT) && !put_acl_part(binary, offset[2], control >> 1, 'S', text))
		return ERR_SYNTAX;
	return buf_ok(text) ? ERR_OK : ERR_NO_MEMORY;
}

unsigned sddl_parts(struct slice binary)
{
	unsigned parts = 0;
	if (binary.len < SD_HEADER_BYTES)
		return 0;
	unsigned control = (unsigned)bytes_load(binary.ptr + 2, 2);
	parts |= bytes_load(binary.ptr + 4, 4) ? SDDL_OWNER : 0;
	parts |= bytes_load(binary.ptr + 8, 4) ? SDDL_GROUP : 0;
	parts |= control & SD_DACL_PRESENT ? SDDL_DACL : 0;
	parts |= control & SD_SACL_PRESENT ? SDDL_SACL : 0;
	return parts;
}

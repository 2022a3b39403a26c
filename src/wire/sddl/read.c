/* SPDX-License-Identifier: Apache-2.0
 * SDDL text into a self-relative descriptor.
 *
 * The parts come in any order in the text, each at most once. Each is built into a buffer of its own; at the end
 * header, SACL, DACL, owner and group are put one behind the other, which is the order Windows writes them in. */
#include "base/bytes.h"
#include "wire/sddl/sddl.h"
#include "wire/sddl/sddl_int.h"

struct reader {
	struct slice rest;
	unsigned control;
	struct buf owner, group, dacl, sacl;
	bool has_owner, has_group;
	bool has_dacl, has_sacl; /* also a null ACL, which has no bytes */
};

static bool take(struct slice *rest, char c)
{
	if (rest->len == 0 || rest->ptr[0] != c)
		return false;
	*rest = slice_from(*rest, 1);
	return true;
}

static bool take_word(struct slice *rest, struct slice word)
{
	if (!slice_has_prefix_nocase(*rest, word))
		return false;
	*rest = slice_from(*rest, word.len);
	return true;
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

/* Decimal, 0x hexadecimal; at least one digit. */
static bool take_number(struct slice *rest, uint64_t max, uint64_t *ret)
{
	unsigned base = take_word(rest, SLICE("0x")) ? 16 : 10;
	uint64_t v = 0;
	size_t n = 0;
	for (; n < rest->len && (unsigned)digit_of(rest->ptr[n]) < base; n++) {
		v = v * base + (unsigned)digit_of(rest->ptr[n]);
		if (v > max)
			return false;
	}
	*rest = slice_from(*rest, n);
	*ret = v;
	return n > 0;
}

/* S-1-<authority>-<sub>... */
static bool take_sid_numbers(struct slice *rest, struct buf *out)
{
	uint64_t authority, sub;
	uint32_t subs[SID_SUBS_MAX];
	unsigned count = 0;
	if (!take_number(rest, (UINT64_C(1) << 48) - 1, &authority))
		return false;
	while (take(rest, '-')) {
		if (count == SID_SUBS_MAX || !take_number(rest, UINT32_MAX, &sub))
			return false;
		subs[count++] = (uint32_t)sub;
	}
	if (count == 0)
		return false;
	bytes_put_u8(out, 1);
	bytes_put_u8(out, (uint8_t)count);
	for (int shift = 40; shift >= 0; shift -= 8) /* the authority alone is big-endian */
		bytes_put_u8(out, (uint8_t)(authority >> shift));
	for (unsigned i = 0; i < count; i++)
		bytes_put_u32(out, subs[i]);
	return true;
}

static bool take_sid(struct slice *rest, struct buf *out)
{
	if (take_word(rest, SLICE("S-1-")))
		return take_sid_numbers(rest, out);
	struct slice alias = slice_first(*rest, 2);
	if (alias.len < 2 || !sddl_alias_sid(alias, out))
		return false;
	*rest = slice_from(*rest, 2);
	return true;
}

/* Words of a table one behind the other, each at most as often as it likes. */
static bool take_words(struct slice *field, const struct sddl_word *table, uint32_t *bits)
{
	while (field->len) {
		const struct sddl_word *w = table;
		while (w->word && !slice_has_prefix_nocase(*field, slice_str(w->word)))
			w++;
		if (!w->word)
			return false;
		*bits |= w->bits;
		*field = slice_from(*field, strlen(w->word));
	}
	return true;
}

static bool parse_rights(struct slice field, uint32_t *ret)
{
	uint64_t number;
	*ret = 0;
	if (field.len && field.ptr[0] >= '0' && field.ptr[0] <= '9') {
		if (!take_number(&field, UINT32_MAX, &number) || field.len)
			return false;
		*ret = (uint32_t)number;
		return true;
	}
	while (field.len) {
		struct slice one = slice_first(field, 2);
		struct slice again = one;
		if (!take_words(&one, sddl_rights, ret) && !take_words(&again, sddl_whole_rights, ret))
			return false;
		field = slice_from(field, 2);
	}
	return true;
}

/* 8-4-4-4-12 hexadecimal digits; the first three groups are little-endian numbers. */
static bool parse_guid(struct slice text, unsigned char out[GUID_BYTES])
{
	static const unsigned char order[GUID_BYTES] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };
	size_t at = 0;
	if (text.len != 36)
		return false;
	for (size_t i = 0; i < GUID_BYTES; i++) {
		if ((i == 4 || i == 6 || i == 8 || i == 10) && text.ptr[at++] != '-')
			return false;
		int high = digit_of(text.ptr[at]), low = digit_of(text.ptr[at + 1]);
		if (high > 15 || low > 15)
			return false;
		out[order[i]] = (unsigned char)(high << 4 | low);
		at += 2;
	}
	return true;
}

static bool put_guids(struct buf *out, struct slice object, struct slice inherited)
{
	unsigned char one[GUID_BYTES], two[GUID_BYTES];
	if ((object.len && !parse_guid(object, one)) || (inherited.len && !parse_guid(inherited, two)))
		return false;
	bytes_put_u32(out, (object.len ? 1u : 0u) | (inherited.len ? 2u : 0u));
	if (object.len)
		buf_put(out, slice_make(one, sizeof one));
	if (inherited.len)
		buf_put(out, slice_make(two, sizeof two));
	return true;
}

static bool parse_type(struct slice field, unsigned *ret)
{
	for (const struct sddl_word *w = sddl_ace_types; w->word; w++)
		if (slice_eq_nocase(field, slice_str(w->word))) {
			*ret = w->bits;
			return true;
		}
	return false;
}

/* type;flags;rights;object;inherited object;sid, without the brackets. */
static bool parse_ace(struct slice text, struct buf *out)
{
	struct slice field[6];
	unsigned type;
	uint32_t flags = 0, mask;
	for (size_t i = 0; i < 6; i++) {
		if (!slice_is_set(text))
			return false;
		field[i] = slice_trim(slice_cut(&text, ';'));
	}
	if (slice_is_set(text) || !parse_type(field[0], &type) || !take_words(&field[1], sddl_ace_flags, &flags) ||
	    !parse_rights(field[2], &mask))
		return false;
	size_t start = out->len;
	bytes_put_u8(out, (uint8_t)type);
	bytes_put_u8(out, (uint8_t)flags);
	bytes_put_u16(out, 0);
	bytes_put_u32(out, mask);
	if (sddl_type_has_guids(type) ? !put_guids(out, field[3], field[4]) : field[3].len || field[4].len)
		return false;
	if (!take_sid(&field[5], out) || field[5].len || !buf_ok(out))
		return false;
	bytes_store(out->ptr + start + 2, out->len - start, 2);
	return true;
}

static bool take_aces(struct slice *rest, struct buf *acl)
{
	unsigned count = 0, revision = 2;
	bytes_put_u64(acl, 0);
	while (take(rest, '(')) {
		size_t end = slice_find_byte(*rest, ')'), start = acl->len;
		if (end == rest->len || ++count > SDDL_ACES_MAX || !parse_ace(slice_first(*rest, end), acl))
			return false;
		if (sddl_type_has_guids((unsigned char)acl->ptr[start]))
			revision = 4;
		*rest = slice_from(*rest, end + 1);
	}
	if (!buf_ok(acl) || acl->len > UINT16_MAX)
		return false;
	acl->ptr[0] = (char)revision;
	bytes_store(acl->ptr + 2, acl->len, 2);
	bytes_store(acl->ptr + 4, count, 2);
	return true;
}

/* Behind "D:" or "S:". shift moves the bits of a DACL to those of a SACL. */
static bool take_acl(struct reader *r, struct buf *acl, unsigned present, unsigned shift)
{
	r->control |= present;
	bool no_acl = false;
	for (;;) {
		if (take_word(&r->rest, SLICE("NO_ACCESS_CONTROL")))
			no_acl = true;
		else if (take_word(&r->rest, SLICE("AR")))
			r->control |= (unsigned)SD_DACL_AUTO_REQUEST << shift;
		else if (take_word(&r->rest, SLICE("AI")))
			r->control |= (unsigned)SD_DACL_AUTO << shift;
		else if (take_word(&r->rest, SLICE("P")))
			r->control |= (unsigned)SD_DACL_PROTECTED << shift;
		else
			break;
	}
	if (no_acl)
		return r->rest.len == 0 || r->rest.ptr[0] != '(';
	return take_aces(&r->rest, acl);
}

static bool take_part(struct reader *r)
{
	if (take_word(&r->rest, SLICE("O:")) && !r->has_owner)
		return (r->has_owner = true) && take_sid(&r->rest, &r->owner);
	if (take_word(&r->rest, SLICE("G:")) && !r->has_group)
		return (r->has_group = true) && take_sid(&r->rest, &r->group);
	if (take_word(&r->rest, SLICE("D:")) && !r->has_dacl)
		return (r->has_dacl = true) && take_acl(r, &r->dacl, SD_DACL_PRESENT, 0);
	if (take_word(&r->rest, SLICE("S:")) && !r->has_sacl)
		return (r->has_sacl = true) && take_acl(r, &r->sacl, SD_SACL_PRESENT, 1);
	return false;
}

static void put_descriptor(const struct reader *r, struct buf *out)
{
	const struct buf *parts[] = { &r->owner, &r->group, &r->sacl, &r->dacl };
	static const unsigned placed[] = { 2, 3, 0, 1 }; /* where in the file each of these stands */
	uint32_t offset[4] = { 0 }, at = SD_HEADER_BYTES;
	for (unsigned place = 0; place < 4; place++)
		for (unsigned i = 0; i < 4; i++)
			if (placed[i] == place && parts[i]->len) {
				offset[i] = at;
				at += (uint32_t)parts[i]->len;
			}
	bytes_put_u8(out, 1);
	bytes_put_u8(out, 0);
	bytes_put_u16(out, (uint16_t)(r->control | SD_SELF_RELATIVE));
	for (unsigned i = 0; i < 4; i++)
		bytes_put_u32(out, offset[i]);
	buf_put(out, buf_slice(&r->sacl));
	buf_put(out, buf_slice(&r->dacl));
	buf_put(out, buf_slice(&r->owner));
	buf_put(out, buf_slice(&r->group));
}

enum err sddl_parse(struct slice text, struct buf *binary)
{
	struct reader r = { .rest = slice_trim(text) };
	struct buf *parts[] = { &r.owner, &r.group, &r.dacl, &r.sacl };
	for (size_t i = 0; i < 4; i++)
		buf_init(parts[i], SDDL_BINARY_MAX_BYTES);
	bool fine = r.rest.len > 0;
	while (fine && r.rest.len) {
		fine = take_part(&r);
		r.rest = slice_trim(r.rest);
	}
	bool memory = true;
	for (size_t i = 0; i < 4; i++)
		memory = memory && buf_ok(parts[i]);
	if (fine && memory)
		put_descriptor(&r, binary);
	for (size_t i = 0; i < 4; i++)
		buf_fini(parts[i]);
	if (!fine)
		return ERR_SYNTAX;
	return memory && buf_ok(binary) ? ERR_OK : ERR_NO_MEMORY;
}

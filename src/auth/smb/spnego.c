/* SPDX-License-Identifier: Apache-2.0
 * SPNEGO tokens in DER, as far as a server of NTLM needs them: read strictly, every length against its container. */
#include "auth/smb/spnego.h"

enum {
	TAG_OCTETS = 0x04,
	TAG_OID = 0x06,
	TAG_ENUM = 0x0A,
	TAG_SEQUENCE = 0x30,
	TAG_APPLICATION = 0x60,
	TAG_0 = 0xA0,
	TAG_1 = 0xA1,
	TAG_2 = 0xA2,
	TAG_3 = 0xA3,
};

#define OID_SPNEGO SLICE("\x2b\x06\x01\x05\x05\x02")
#define OID_NTLM   SLICE("\x2b\x06\x01\x04\x01\x82\x37\x02\x02\x0a")

/* The next element of *rest, which moves behind it. */
static bool der_next(struct slice *rest, unsigned char *ret_tag, struct slice *ret_value)
{
	if (rest->len < 2)
		return false;
	unsigned char tag = (unsigned char)rest->ptr[0], first = (unsigned char)rest->ptr[1];
	size_t length = first, head = 2;
	if (first >= 0x80) {
		size_t more = first & 0x7F;
		if (more == 0 || more > 4 || rest->len < 2 + more)
			return false;
		length = 0;
		for (size_t i = 0; i < more; i++)
			length = length << 8 | (unsigned char)rest->ptr[2 + i];
		head += more;
	}
	if (length > rest->len - head)
		return false;
	*ret_tag = tag;
	*ret_value = slice_make(rest->ptr + head, length);
	*rest = slice_from(*rest, head + length);
	return true;
}

/* The one element inside `outer`, of that tag. */
static bool der_only(struct slice outer, unsigned char tag, struct slice *ret)
{
	unsigned char found;
	return der_next(&outer, &found, ret) && found == tag;
}

static enum err mechanisms_parse(struct slice outer, struct spnego_token *ret)
{
	struct slice list, oid;
	unsigned char tag;
	ret->mechanisms = outer;
	if (!der_only(outer, TAG_SEQUENCE, &list))
		return ERR_SYNTAX;
	for (unsigned i = 0; list.len > 0; i++) {
		if (!der_next(&list, &tag, &oid) || tag != TAG_OID)
			return ERR_SYNTAX;
		if (!slice_eq(oid, OID_NTLM))
			continue;
		ret->ntlm_offered = true;
		ret->ntlm_preferred |= i == 0;
	}
	return ERR_OK;
}

static enum err init_parse(struct slice value, struct spnego_token *ret)
{
	struct slice oid, choice, fields, field;
	unsigned char tag;
	if (!der_next(&value, &tag, &oid) || tag != TAG_OID || !slice_eq(oid, OID_SPNEGO) ||
	    !der_only(value, TAG_0, &choice) || !der_only(choice, TAG_SEQUENCE, &fields))
		return ERR_SYNTAX;
	ret->first = true;
	while (fields.len > 0) {
		if (!der_next(&fields, &tag, &field))
			return ERR_SYNTAX;
		if (tag == TAG_0)
			TRY(mechanisms_parse(field, ret));
		if (tag == TAG_2 && !der_only(field, TAG_OCTETS, &ret->token))
			return ERR_SYNTAX;
		if (tag == TAG_3 && !der_only(field, TAG_OCTETS, &ret->signature))
			return ERR_SYNTAX;
	}
	return slice_is_set(ret->mechanisms) ? ERR_OK : ERR_SYNTAX;
}

static enum err answer_parse(struct slice value, struct spnego_token *ret)
{
	struct slice fields, field;
	unsigned char tag;
	if (!der_only(value, TAG_SEQUENCE, &fields))
		return ERR_SYNTAX;
	while (fields.len > 0) {
		if (!der_next(&fields, &tag, &field))
			return ERR_SYNTAX;
		if (tag == TAG_2 && !der_only(field, TAG_OCTETS, &ret->token))
			return ERR_SYNTAX;
		if (tag == TAG_3 && !der_only(field, TAG_OCTETS, &ret->signature))
			return ERR_SYNTAX;
	}
	return ERR_OK;
}

enum err spnego_parse(struct slice bytes, struct spnego_token *ret)
{
	*ret = (struct spnego_token){ 0 };
	if (bytes.len > SPNEGO_BYTES_MAX)
		return ERR_SYNTAX;
	if (slice_has_prefix(bytes, slice_make("NTLMSSP\0", 8))) {
		ret->raw = ret->ntlm_offered = ret->ntlm_preferred = true;
		ret->token = bytes;
		return ERR_OK;
	}
	unsigned char tag;
	struct slice value;
	if (!der_next(&bytes, &tag, &value))
		return ERR_SYNTAX;
	return tag == TAG_APPLICATION ? init_parse(value, ret) : tag == TAG_1 ? answer_parse(value, ret) : ERR_SYNTAX;
}

/* ---- writing: sizes are known before, so every head is written once ---- */

static size_t der_size(size_t length)
{
	return length + (length < 0x80 ? 2 : length < 0x100 ? 3 : length < 0x10000 ? 4 : 5);
}

static void der_head_put(struct buf *b, unsigned char tag, size_t length)
{
	buf_put_byte(b, tag);
	if (length < 0x80) {
		buf_put_byte(b, (unsigned char)length);
		return;
	}
	unsigned more = length < 0x100 ? 1 : length < 0x10000 ? 2 : 3;
	buf_put_byte(b, (unsigned char)(0x80 | more));
	while (more-- > 0)
		buf_put_byte(b, (unsigned char)(length >> (8 * more)));
}

static void der_put(struct buf *b, unsigned char outer, unsigned char tag, struct slice value)
{
	der_head_put(b, outer, der_size(value.len));
	der_head_put(b, tag, value.len);
	buf_put(b, value);
}

void spnego_offer_put(struct buf *b)
{
	size_t list = der_size(OID_NTLM.len), field = der_size(list), fields = der_size(field);
	size_t choice = der_size(fields), all = der_size(OID_SPNEGO.len) + der_size(choice);
	der_head_put(b, TAG_APPLICATION, all);
	der_head_put(b, TAG_OID, OID_SPNEGO.len);
	buf_put(b, OID_SPNEGO);
	der_head_put(b, TAG_0, choice);
	der_head_put(b, TAG_SEQUENCE, fields);
	der_head_put(b, TAG_0, field);
	der_head_put(b, TAG_SEQUENCE, list);
	der_head_put(b, TAG_OID, OID_NTLM.len);
	buf_put(b, OID_NTLM);
}

static size_t field_size(struct slice s)
{
	return slice_is_set(s) ? der_size(der_size(s.len)) : 0;
}

void spnego_answer_put(struct buf *b, enum spnego_state state, bool name_mechanism, struct slice token,
		       struct slice signature)
{
	char state_byte = (char)state;
	struct slice mechanism = name_mechanism ? OID_NTLM : SLICE_NONE;
	size_t fields = field_size(slice_make(&state_byte, 1)) + field_size(mechanism) + field_size(token) +
			field_size(signature);
	der_head_put(b, TAG_1, der_size(fields));
	der_head_put(b, TAG_SEQUENCE, fields);
	der_put(b, TAG_0, TAG_ENUM, slice_make(&state_byte, 1));
	if (slice_is_set(mechanism))
		der_put(b, TAG_1, TAG_OID, mechanism);
	if (slice_is_set(token))
		der_put(b, TAG_2, TAG_OCTETS, token);
	if (slice_is_set(signature))
		der_put(b, TAG_3, TAG_OCTETS, signature);
}

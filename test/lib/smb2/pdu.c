/* SPDX-License-Identifier: Apache-2.0
 * Finding a message by its name, and what all of them share. */
#include "lib/smb2/pdu.h"

#include "wire/utf16.h"

static const struct pdu *find_in(const struct pdu *list, size_t count, struct slice name)
{
	for (size_t i = 0; i < count; i++)
		if (slice_eq(slice_str(list[i].name), name))
			return &list[i];
	return NULL;
}

const struct pdu *pdu_find(struct slice name)
{
	const struct pdu *found = find_in(pdu_requests, pdu_request_count, name);
	if (!found)
		found = find_in(pdu_contexts, pdu_context_count, name);
	if (!found)
		found = find_in(pdu_answers, pdu_answer_count, name);
	return found ? found : find_in(pdu_infos, pdu_info_count, name);
}

enum err pdu_parse(const struct pdu *p, struct slice bytes, struct pdu_value *ret)
{
	struct smb2_header h;
	if (p->has_header)
		TRY(smb2_header_parse(bytes, &h));
	return p->parse(bytes, ret);
}

void pdu_begin(struct buf *b, uint16_t structure_size)
{
	static const struct smb2_header none = { 0 };
	smb2_header_put(b, &none);
	bytes_put_u16(b, structure_size);
}

void pdu_offset_set(struct buf *b, size_t at, size_t bytes)
{
	if (buf_ok(b))
		bytes_store(b->ptr + at, b->len, bytes);
}

enum err pdu_path(struct cursor *c, size_t bytes, struct arena *arena, struct slice *ret)
{
	struct slice raw = cursor_raw(c, bytes), text;
	if (c->failed)
		return ERR_SYNTAX;
	TRY(utf16_to_utf8(raw, arena, &text));
	for (char *at = (char *)(uintptr_t)text.ptr; at < text.ptr + text.len; at++)
		if (*at == '\\')
			*at = '/';
	*ret = text;
	return ERR_OK;
}

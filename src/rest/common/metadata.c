/* SPDX-License-Identifier: Apache-2.0
 * x-ms-meta-* headers into metadata, and metadata into headers and XML. */
#include "rest/common/metadata.h"

#include "svc/account/names.h"
#include "wire/xml.h"

enum { METADATA_MAX_BYTES = 8 * 1024 };
#define PREFIX SLICE("x-ms-meta-")

enum err metadata_parse(struct request *r, struct pairs *ret)
{
	struct pairs p = { NULL, 0 };
	size_t count = 0, bytes = 0;
	for (size_t i = 0; i < r->head->header_count; i++)
		count += slice_has_prefix_nocase(r->head->headers[i].name, PREFIX);
	if (count) {
		p.pair = ARENA_NEW_ARRAY(r->arena, struct pair, count);
		if (!p.pair)
			return ERR_NO_MEMORY;
	}
	for (size_t i = 0; count && i < r->head->header_count; i++) {
		const struct http_header *h = &r->head->headers[i];
		if (!slice_has_prefix_nocase(h->name, PREFIX))
			continue;
		struct slice name = slice_from(h->name, PREFIX.len);
		if (name.len == 0) {
			fault_add(r, "MetadataValue", h->value);
			return ERR_EMPTY_METADATA_KEY;
		}
		/* A value that a list could not show would be another one there than in the headers of a get. */
		if (!name_is_identifier(name) || !xml_is_legal(h->value))
			return ERR_INVALID_METADATA;
		for (size_t k = 0; k < p.count; k++)
			if (slice_eq_nocase(p.pair[k].name, name))
				return ERR_INVALID_METADATA;
		bytes += name.len + h->value.len;
		p.pair[p.count++] = (struct pair){ name, h->value };
	}
	if (bytes > METADATA_MAX_BYTES)
		return ERR_METADATA_TOO_LARGE;
	*ret = p;
	return ERR_OK;
}

void metadata_put_headers(struct request *r, const struct pairs *p)
{
	struct buf *b = &r->response.headers;
	for (size_t i = 0; i < p->count; i++) {
		buf_put(b, PREFIX);
		buf_put(b, p->pair[i].name);
		BUF_PUT(b, ": ");
		buf_put(b, p->pair[i].value);
		BUF_PUT(b, "\r\n");
	}
}

void metadata_put_xml(struct buf *b, const struct pairs *p)
{
	if (!p->count) {
		BUF_PUT(b, "<Metadata />");
		return;
	}
	BUF_PUT(b, "<Metadata>");
	for (size_t i = 0; i < p->count; i++) {
		buf_put_byte(b, '<');
		buf_put(b, p->pair[i].name);
		buf_put_byte(b, '>');
		xml_put_text(b, p->pair[i].value);
		BUF_PUT(b, "</");
		buf_put(b, p->pair[i].name);
		buf_put_byte(b, '>');
	}
	BUF_PUT(b, "</Metadata>");
}

enum err metadata_from_answer(struct arena *arena, const struct request *part, struct pairs *ret)
{
	struct slice all = buf_slice(&part->response.headers);
	struct pairs p = { NULL, 0 };
	size_t lines = 1;
	for (size_t i = 0; i < all.len; i++)
		lines += all.ptr[i] == '\n';
	p.pair = ARENA_NEW_ARRAY(arena, struct pair, lines);
	if (!p.pair)
		return ERR_NO_MEMORY;
	while (slice_is_set(all) && all.len) {
		struct slice value = slice_cut(&all, '\n');
		if (value.len && value.ptr[value.len - 1] == '\r')
			value.len--;
		struct slice name = slice_cut(&value, ':');
		if (slice_is_set(value) && slice_has_prefix_nocase(name, PREFIX))
			p.pair[p.count++] = (struct pair){ slice_from(name, PREFIX.len), slice_trim(value) };
	}
	*ret = p;
	return ERR_OK;
}

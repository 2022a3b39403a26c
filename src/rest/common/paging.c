/* SPDX-License-Identifier: Apache-2.0
 * prefix, marker and maxresults of lists; a marker is Base64 of a place and a number, opaque to clients. */
#include "rest/common/paging.h"

#include "base/bytes.h"
#include "rest/core/server.h"
#include "wire/base64.h"
#include "wire/xml.h"

enum err paging_parse(struct request *r, struct paging *ret)
{
	struct paging p = { .prefix = request_param(r, "prefix"),
			    .marker = request_param(r, "marker"),
			    .maxresults = request_param(r, "maxresults"),
			    .limit = PAGE_MAX_RESULTS };
	int64_t n;
	if (!slice_is_set(p.prefix))
		p.prefix = SLICE("");
	if (slice_is_set(p.marker) && p.marker.len == 0)
		p.marker = SLICE_NONE;
	if (slice_is_set(p.maxresults) && p.maxresults.len) {
		if (!slice_to_i64(p.maxresults, &n))
			return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "maxresults", p.maxresults, NULL);
		if (n < 1) {
			enum err e = fault_query(r, ERR_OUT_OF_RANGE_QUERY_PARAMETER_VALUE, "maxresults", p.maxresults,
						 NULL);
			fault_add(r, "MinimumAllowed", SLICE("1"));
			fault_add(r, "MaximumAllowed", SLICE("2147483647"));
			return e;
		}
		p.limit = n < PAGE_MAX_RESULTS ? (size_t)n : PAGE_MAX_RESULTS;
	}
	*ret = p;
	return ERR_OK;
}

bool include_next(struct slice *rest, struct slice *ret)
{
	if (!slice_is_set(*rest))
		return false;
	*ret = slice_trim(slice_cut(rest, ','));
	return true;
}

/* 2!<length of the base64>!<base64 of u64 number + text> */
void marker_encode(struct buf *out, struct slice text, uint64_t number)
{
	struct buf raw, coded;
	buf_init(&raw, 16 * KIB);
	buf_init(&coded, 32 * KIB);
	bytes_put_u64(&raw, number);
	buf_put(&raw, text);
	base64_encode(&coded, buf_slice(&raw));
	buf_printf(out, "2!%zu!", coded.len);
	buf_put(out, buf_slice(&coded));
	out->failed = out->failed || !buf_ok(&raw) || !buf_ok(&coded);
	buf_fini(&raw);
	buf_fini(&coded);
}

enum err marker_decode(struct request *r, struct slice marker, struct slice *ret_text, uint64_t *ret_number)
{
	struct slice rest = marker, raw;
	struct slice version = slice_cut(&rest, '!'), length = slice_is_set(rest) ? slice_cut(&rest, '!') : SLICE_NONE;
	uint64_t n;
	bool fine = slice_eq(version, SLICE("2")) && slice_is_set(rest) && slice_to_u64(length, &n) && n == rest.len &&
		    base64_decode(rest, r->arena, &raw) == ERR_OK && raw.len >= 8;
	if (!fine)
		return ERR_OUT_OF_RANGE_INPUT;
	struct cursor c = cursor_make(raw);
	*ret_number = cursor_u64(&c);
	*ret_text = cursor_raw(&c, cursor_left(&c));
	return ERR_OK;
}

bool paging_has_urls(const struct request *r)
{
	return r->version < VERSION(2013, 8, 15);
}

struct slice paging_endpoint(struct request *r)
{
	struct slice account = r->path_style ? r->account : SLICE("");
	return arena_printf(r->arena, "%s://%.*s/%.*s%s", r->secure ? "https" : "http", SLICE_FMT(r->head->host),
			    SLICE_FMT(account), account.len ? "/" : "");
}

static void put_attribute(struct buf *b, const char *name, struct slice value, struct slice more)
{
	buf_printf(b, " %s=\"", name);
	xml_put_text(b, value);
	xml_put_text(b, more);
	buf_put_byte(b, '"');
}

void paging_put_endpoint(struct request *r, struct buf *b)
{
	put_attribute(b, "ServiceEndpoint", paging_endpoint(r), SLICE(""));
}

void paging_open_xml(struct request *r, struct buf *b, const struct paging *p, struct slice container)
{
	xml_begin(b);
	BUF_PUT(b, "<EnumerationResults");
	if (paging_has_urls(r)) {
		put_attribute(b, slice_is_set(container) ? "ContainerName" : "AccountName", paging_endpoint(r),
			      slice_is_set(container) ? container : SLICE(""));
	} else {
		paging_put_endpoint(r, b);
		if (slice_is_set(container))
			put_attribute(b, "ContainerName", container, SLICE(""));
	}
	buf_put_byte(b, '>');
	if (p->prefix.len)
		xml_put_name(b, "Prefix", p->prefix);
	if (slice_is_set(p->marker))
		xml_put(b, "Marker", p->marker);
	if (slice_is_set(p->maxresults) && p->maxresults.len)
		xml_put(b, "MaxResults", p->maxresults);
}

bool paging_version_parse(struct slice text, uint64_t *ret_ticks)
{
	uint64_t v = 0;
	if (text.len != 16)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		unsigned d = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
			     : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10)
						    : 16;
		if (d == 16)
			return false;
		v = v << 4 | d;
	}
	*ret_ticks = v;
	return true;
}

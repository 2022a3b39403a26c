/* SPDX-License-Identifier: Apache-2.0
 * Put Page (update and clear), Get Page Ranges and its difference form. */
#include "svc/blob/content/page.h"

#include "rest/blob/encryption.h"
#include "rest/common/conditional.h"
#include "rest/common/paging.h"
#include "rest/common/ranged.h"
#include "wire/http/range.h"
#include "wire/http/uri.h"
#include "wire/xml.h"

enum {
	PUT_PAGE_MAX_BYTES = 4 * 1024 * 1024,
	PAGE_RANGES_MAX = 10000,	   /* in one of several answers */
	PAGE_RANGES_WHOLE_MAX = 200 * 1000 /* for who knows no marker: 16 MiB of XML */
};

struct page_call {
	struct blob_put_page_call put; /* first: the apply gets this */
	struct body_checks checks;
};

static enum err parse_sequence(struct request *r, const char *header, bool *ret_has, uint64_t *ret)
{
	struct slice v;
	int64_t n;
	TRY(conditional_header(r, header, &v));
	*ret_has = slice_is_set(v);
	if (!*ret_has)
		return ERR_OK;
	if (!slice_to_i64(v, &n) || n < 0)
		return fault_header(r, ERR_INVALID_HEADER_VALUE, header, v);
	*ret = (uint64_t)n;
	return ERR_OK;
}

enum err rest_blob_sequence_conditions_parse(struct request *r, struct blob_put_page_call *c)
{
	TRY(parse_sequence(r, "x-ms-if-sequence-number-le", &c->has_le, &c->sequence_le));
	TRY(parse_sequence(r, "x-ms-if-sequence-number-lt", &c->has_lt, &c->sequence_lt));
	return parse_sequence(r, "x-ms-if-sequence-number-eq", &c->has_eq, &c->sequence_eq);
}

enum err rest_blob_page_range_parse(struct request *r, struct blob_put_page_call *c)
{
	struct slice text = request_header(r, "x-ms-range");
	const char *name = slice_is_set(text) ? "x-ms-range" : "Range";
	if (!slice_is_set(text))
		text = request_header(r, "Range");
	if (!slice_is_set(text))
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, "Range", SLICE_NONE);
	struct range range = range_parse(text);
	if (range.kind != RANGE_CLOSED || range.first % PAGE_BYTES || (range.last + 1) % PAGE_BYTES ||
	    range.last == UINT64_MAX)
		return range.kind == RANGE_CLOSED && !c->clear ? ERR_INVALID_PAGE_RANGE
							       : fault_header(r, ERR_INVALID_HEADER_VALUE, name, text);
	c->offset = range.first;
	c->length = range.last - range.first + 1;
	if (!c->clear && c->length > PUT_PAGE_MAX_BYTES) {
		fault_add(r, "MaxLimit", SLICE("4194304"));
		return ERR_REQUEST_BODY_TOO_LARGE;
	}
	return ERR_OK;
}

static enum err parse_write_kind(struct request *r, struct blob_put_page_call *c)
{
	struct slice kind = request_header(r, "x-ms-page-write");
	if (!slice_is_set(kind))
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, "x-ms-page-write", SLICE_NONE);
	c->clear = slice_eq_nocase(kind, SLICE("clear"));
	if (!c->clear && !slice_eq_nocase(kind, SLICE("update")))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-page-write", kind);
	return ERR_OK;
}

static enum err parse_page(struct request *r)
{
	struct slice partition;
	struct page_call *c = ARENA_NEW(r->arena, struct page_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(parse_write_kind(r, &c->put));
	TRY(rest_blob_page_range_parse(r, &c->put));
	TRY(rest_blob_target_write(r, &c->put.target));
	TRY(rest_blob_encryption_parse(r, ENCRYPTION_CHANGE, &c->put.target));
	TRY(rest_blob_sequence_conditions_parse(r, &c->put));
	TRY(body_checks_parse(r, &c->checks));
	TRY(rest_blob_encryption_find(r, ENCRYPTION_CHANGE, &c->put.target, &partition));
	bool has_body = r->head->chunked || (r->head->has_content_length && r->head->content_length);
	if (c->put.clear && has_body)
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "Content-Length", request_header(r, "Content-Length"));
	r->body_limit_bytes = PUT_PAGE_MAX_BYTES;
	r->want_md5 = blob_answers_md5(r, &c->checks);
	r->want_crc64 = true;
	r->precheck = true;
	r->payload_in_extents = true;
	request_step_write(r, partition, blob_apply_put_page);
	return ERR_OK;
}

static enum err check_page(struct request *r)
{
	struct page_call *c = r->call;
	if (c->put.clear)
		return ERR_OK;
	if (r->payload.length_bytes != c->put.length)
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "Content-Length", request_header(r, "Content-Length"));
	TRY(body_checks_compare(r, &c->checks));
	c->put.payload = &r->payload;
	return ERR_OK;
}

static enum err format_page(struct request *r)
{
	struct page_call *c = r->call;
	r->response.status = 201;
	rest_blob_put_etag(r, c->put.blob.etag, c->put.blob.modified_ticks);
	response_header_u64(r, "x-ms-blob-sequence-number", c->put.blob.sequence_number);
	if (!c->put.clear) {
		bool md5 = blob_answers_md5(r, &c->checks);
		body_checks_put_headers(r, md5, !md5);
		rest_blob_put_encrypted(r, &c->put.blob.encryption);
	}
	return ERR_OK;
}

/* ---- Get Page Ranges ---- */

/* Is it this blob's URL, by whatever host? Then its path ends with the names of container and blob; of the root
 * container it may leave out the former. */
static bool names_blob(const struct request *r, struct slice url)
{
	struct slice path, names = arena_printf(r->arena, "/%.*s/%.*s", SLICE_FMT(r->container), SLICE_FMT(r->object));
	if (slice_eq(r->container, SLICE("$root")))
		names = slice_from(names, r->container.len + 1);
	return slice_is_set(names) &&
	       uri_decode(slice_first(url, slice_find_byte(url, '?')), r->arena, &path) == ERR_OK &&
	       path.len >= names.len && slice_eq(slice_from(path, path.len - names.len), names);
}

static enum err parse_previous(struct request *r, struct blob_page_ranges_call *c)
{
	struct slice url = request_header(r, "x-ms-previous-snapshot-url");
	struct slice text = request_param(r, "prevsnapshot");
	c->diff = slice_is_set(text) || slice_is_set(url);
	if (slice_is_set(url)) {
		struct query q;
		size_t at = slice_find_byte(url, '?');
		if (at == url.len || uri_parse_query(slice_from(url, at + 1), r->arena, &q) != ERR_OK ||
		    !names_blob(r, url))
			return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-previous-snapshot-url", url);
		text = query_get(&q, SLICE("snapshot"));
	}
	if (!c->diff)
		return ERR_OK;
	uint64_t ticks;
	if (!rest_blob_time_text_parse(text, &ticks))
		return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "prevsnapshot", text,
				   "Not a valid date-time.");
	c->previous_ticks = ticks;
	return ERR_OK;
}

/* Older clients would take the first ranges for all there are, and the rest of the blob for zeros. */
static bool knows_marker(const struct request *r)
{
	return r->version >= VERSION(2020, 10, 2);
}

struct ranges_call {
	struct blob_page_ranges_call ranges; /* first: the apply gets this */
	bool paged;			     /* a page was asked for: the last one says that it is */
};

static enum err choose_formatter(struct request *r)
{
	const struct ranges_call *c = r->call;
	if (c->ranges.count > PAGE_RANGES_MAX)
		request_step_format(r);
	return ERR_OK;
}

static enum err parse_ranges(struct request *r)
{
	struct slice partition;
	struct paging paging;
	struct ranges_call *call = ARENA_NEW(r->arena, struct ranges_call);
	if (!call)
		return ERR_NO_MEMORY;
	struct blob_page_ranges_call *c = &call->ranges;
	r->call = call;
	TRY(rest_blob_target_read(r, &c->target));
	TRY(parse_previous(r, c));
	TRY(paging_parse(r, &paging));
	c->limit = slice_is_set(paging.maxresults) && paging.maxresults.len ? paging.limit : PAGE_RANGES_MAX;
	if (!knows_marker(r))
		c->limit = PAGE_RANGES_WHOLE_MAX;
	call->paged = knows_marker(r) && (paging.maxresults.len || slice_is_set(paging.marker));
	struct slice unused_text;
	if (knows_marker(r) && slice_is_set(paging.marker))
		TRY(marker_decode(r, paging.marker, &unused_text, &c->from));
	struct ranged range;
	ranged_parse_range(r, &range);
	c->has_range = range.has_range;
	c->range_first = range.first - range.first % PAGE_BYTES;
	c->range_last = range.last | (PAGE_BYTES - 1);
	TRY(rest_blob_find(r, &partition));
	request_step_read(r, partition, blob_apply_page_ranges);
	request_step_call(r, choose_formatter);
	return ERR_OK;
}

static enum err format_ranges(struct request *r)
{
	const struct ranges_call *call = r->call;
	const struct blob_page_ranges_call *c = &call->ranges;
	struct buf *b = &r->response.body;
	if (c->more && !knows_marker(r)) {
		r->fault.message = SLICE("The ranges are more than one answer holds. Ask for a part of the blob.");
		return ERR_BUSY;
	}
	r->response.status = 200;
	response_header(r, "Content-Type", SLICE("application/xml"));
	rest_blob_put_etag(r, c->blob.etag, c->blob.modified_ticks);
	response_header_u64(r, "x-ms-blob-content-length", c->blob.length_bytes);
	xml_begin(b);
	xml_open(b, "PageList");
	for (size_t i = 0; i < c->count; i++) {
		const char *name = c->range[i].clear ? "ClearRange" : "PageRange";
		xml_open(b, name);
		xml_put_u64(b, "Start", c->range[i].first);
		xml_put_u64(b, "End", c->range[i].last);
		xml_close(b, name);
	}
	if (c->more) {
		BUF_PUT(b, "<NextMarker>");
		marker_encode(b, SLICE(""), c->next);
		BUF_PUT(b, "</NextMarker>");
	} else if (call->paged) {
		BUF_PUT(b, "<NextMarker />");
	}
	xml_close(b, "PageList");
	return ERR_OK;
}

const struct handler handler_blob_put_page = { .parse = parse_page, .parse_body = check_page, .format = format_page };
const struct handler handler_blob_get_page_ranges = { .parse = parse_ranges, .format = format_ranges };

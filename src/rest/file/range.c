/* SPDX-License-Identifier: Apache-2.0
 * Put Range (update and clear), List Ranges and its difference form. */
#include "rest/file/range.h"

#include "rest/common/paging.h"
#include "rest/common/ranged.h"
#include "rest/core/body_checks.h"
#include "rest/core/server.h"
#include "wire/date.h"
#include "wire/http/range.h"
#include "wire/xml.h"

enum {
	PUT_RANGE_MAX_BYTES = 4 * 1024 * 1024,
	LIST_RANGES_MAX = 10000,	   /* in one of several answers */
	LIST_RANGES_WHOLE_MAX = 200 * 1000 /* for who knows no marker: 16 MiB of XML */
};
#define LIST_RANGES_PAGED VERSION(2026, 10, 6)

/* ---- Put Range ---- */

struct write_call {
	struct file_write_call write; /* first: the apply gets this */
	struct body_checks checks;
};

static enum err parse_write_kind(struct request *r, struct file_write_call *c)
{
	struct slice kind = request_header(r, "x-ms-write");
	if (!slice_is_set(kind))
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, "x-ms-write", SLICE_NONE);
	c->clear = slice_eq_nocase(kind, SLICE("clear"));
	if (!c->clear && !slice_eq_nocase(kind, SLICE("update")))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-write", kind);
	return ERR_OK;
}

enum err rest_file_write_range_parse(struct request *r, struct file_write_call *c)
{
	struct slice text = request_header(r, "x-ms-range");
	const char *name = slice_is_set(text) ? "x-ms-range" : "Range";
	if (!slice_is_set(text))
		text = request_header(r, "Range");
	if (!slice_is_set(text))
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, "x-ms-range", SLICE_NONE);
	struct range range = range_parse(text);
	if (range.kind != RANGE_CLOSED)
		return fault_header(r, ERR_INVALID_HEADER_VALUE, name, text);
	if (range.last >= FILE_SIZE_MAX_BYTES)
		return ERR_INVALID_RANGE;
	c->offset = range.first;
	c->length = range.last - range.first + 1;
	if (!c->clear && c->length > PUT_RANGE_MAX_BYTES) {
		fault_add(r, "MaxLimit", SLICE("4194304"));
		return ERR_REQUEST_BODY_TOO_LARGE;
	}
	return ERR_OK;
}

enum err rest_file_write_time_parse(struct request *r, struct file_write_call *c)
{
	struct slice v = request_header(r, "x-ms-file-last-write-time");
	if (!slice_is_set(v) || !file_since(r, FILE_V_PROPERTIES_OPTIONAL))
		return ERR_OK;
	c->keep_written = slice_eq_nocase(v, SLICE("preserve"));
	return c->keep_written || slice_eq_nocase(v, SLICE("now"))
		       ? ERR_OK
		       : fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-file-last-write-time", v);
}

static enum err parse_write(struct request *r)
{
	struct slice partition;
	struct write_call *c = ARENA_NEW(r->arena, struct write_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(parse_write_kind(r, &c->write));
	TRY(rest_file_write_range_parse(r, &c->write));
	TRY(rest_file_write_time_parse(r, &c->write));
	TRY(rest_file_target_write(r, FILE_KIND_FILE, &c->write.target));
	TRY(body_checks_parse(r, &c->checks));
	if (c->write.clear) {
		TRY(rest_file_refuse_body(r));
		if (c->checks.has_md5)
			return fault_header(r, ERR_INVALID_HEADER_VALUE, "Content-MD5", c->checks.md5_text);
	}
	TRY(rest_file_find(r, &partition));
	r->body_limit_bytes = PUT_RANGE_MAX_BYTES;
	r->want_md5 = !c->write.clear;
	r->want_crc64 = c->checks.has_crc64;
	r->precheck = true;
	rest_file_step_write_in(r, partition, file_apply_write, &c->write.events);
	return ERR_OK;
}

static enum err check_write(struct request *r)
{
	struct write_call *c = r->call;
	if (c->write.clear)
		return ERR_OK;
	if (r->payload.length_bytes != c->write.length)
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "Content-Length", request_header(r, "Content-Length"));
	TRY(body_checks_compare(r, &c->checks));
	c->write.payload = &r->payload;
	return ERR_OK;
}

void rest_file_put_written(struct request *r, const struct inode *i)
{
	r->response.status = 201;
	rest_file_put_etag(r, i->etag);
	if (file_since(r, FILE_V_PROPERTIES_OPTIONAL)) {
		char text[DATE_ISO_BYTES];
		date_format_iso(i->written_ticks, text);
		response_header(r, "x-ms-file-last-write-time", slice_make(text, sizeof text));
	}
}

static enum err format_write(struct request *r)
{
	struct write_call *c = r->call;
	rest_file_put_written(r, &c->write.inode);
	if (c->write.clear)
		return ERR_OK;
	body_checks_put_headers(r, true, false);
	response_header(r, "x-ms-request-server-encrypted", SLICE("true"));
	return ERR_OK;
}

/* ---- List Ranges ---- */

static bool knows_marker(const struct request *r)
{
	return r->version >= LIST_RANGES_PAGED;
}

static enum err parse_page(struct request *r, struct file_ranges_call *c)
{
	struct paging paging;
	struct slice unused_text;
	c->limit = LIST_RANGES_WHOLE_MAX;
	if (!knows_marker(r))
		return ERR_OK;
	TRY(paging_parse(r, &paging));
	c->limit = slice_is_set(paging.maxresults) && paging.maxresults.len ? paging.limit : LIST_RANGES_MAX;
	return slice_is_set(paging.marker) ? marker_decode(r, paging.marker, &unused_text, &c->from) : ERR_OK;
}

static enum err parse_list(struct request *r)
{
	struct file_ranges_call *c = ARENA_NEW(r->arena, struct file_ranges_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(rest_file_target_read(r, FILE_KIND_FILE, &c->target));
	TRY(rest_file_snapshot_parse(r, "prevsharesnapshot", &c->diff, &c->previous_ticks));
	TRY(rest_file_flag_parse(r, "x-ms-file-support-rename", &c->follow_rename));
	TRY(parse_page(r, c));
	struct ranged range;
	ranged_parse_range(r, &range);
	c->has_range = range.has_range;
	c->range_first = range.first;
	c->range_last = range.last;
	return rest_file_step_read(r, file_apply_ranges);
}

static enum err format_list(struct request *r)
{
	struct file_ranges_call *c = r->call;
	struct buf *b = &r->response.body;
	if (c->more && !knows_marker(r)) {
		r->fault.message = SLICE("The ranges are more than one answer holds. Ask for a part of the file.");
		return ERR_BUSY;
	}
	r->response.status = 200;
	response_header(r, "Content-Type", SLICE("application/xml"));
	rest_file_put_etag(r, c->inode.etag);
	response_header_u64(r, "x-ms-content-length", c->inode.size_bytes);
	xml_begin(b);
	if (c->count == 0 && !knows_marker(r)) {
		BUF_PUT(b, "<Ranges />");
		return ERR_OK;
	}
	xml_open(b, "Ranges");
	for (size_t i = 0; i < c->count; i++) {
		const char *name = c->range[i].clear ? "ClearRange" : "Range";
		xml_open(b, name);
		xml_put_u64(b, "Start", c->range[i].first);
		xml_put_u64(b, "End", c->range[i].last);
		xml_close(b, name);
	}
	if (c->more) {
		BUF_PUT(b, "<NextMarker>");
		marker_encode(b, SLICE(""), c->next);
		BUF_PUT(b, "</NextMarker>");
	} else if (knows_marker(r)) {
		BUF_PUT(b, "<NextMarker />");
	}
	xml_close(b, "Ranges");
	return ERR_OK;
}

const struct handler handler_file_put_range = {
	.parse = parse_write, .parse_body = check_write, .format = format_write, .refused = rest_file_refused
};
const struct handler handler_file_list_ranges = { .parse = parse_list,
						  .format = format_list,
						  .refused = rest_file_refused };

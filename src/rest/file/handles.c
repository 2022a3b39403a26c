/* SPDX-License-Identifier: Apache-2.0
 * List Handles, Force Close Handles: what SMB clients have open of a file or below a directory. */
#include "base/hash.h"
#include "rest/common/paging.h"
#include "rest/core/server.h"
#include "rest/file/common.h"
#include "svc/file/open.h"
#include "wait/holder.h"
#include "wait/wait.h"
#include "wire/xml.h"

enum { CLOSE_AT_ONCE_MAX = 100 }; /* handles closed by one request; the marker goes on */
#define HANDLES_ACCESS	  VERSION(2023, 1, 3)
#define HANDLES_FAILED	  VERSION(2019, 7, 7)
#define ACCESS_READ_DATA  0x1u
#define ACCESS_WRITE_DATA 0x6u /* write or append */
#define ACCESS_DELETE	  0x10000u

struct handles_call {
	struct file_handles_call handles; /* first: the apply gets this */
	struct paging paging;
	struct slice partition;
};

/* <inode>-<open> of the last one shown. */
static enum err parse_marker(struct request *r, struct slice marker, struct file_handles_call *c)
{
	struct slice rest = marker;
	if (!slice_is_set(marker) || !marker.len)
		return ERR_OK;
	struct slice first = slice_cut(&rest, '-');
	if (!slice_is_set(rest) || !slice_to_u64(first, &c->after) || !slice_to_u64(rest, &c->after_open))
		return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "marker", marker, "Invalid marker.");
	return ERR_OK;
}

static enum err begin(struct request *r, struct handles_call **ret)
{
	struct handles_call *c = ARENA_NEW(r->arena, struct handles_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(rest_file_target_read(r, FILE_KIND_ANY, &c->handles.target));
	TRY(rest_file_flag_parse(r, "x-ms-recursive", &c->handles.recursive));
	TRY(paging_parse(r, &c->paging));
	TRY(parse_marker(r, c->paging.marker, &c->handles));
	*ret = c;
	return ERR_OK;
}

/* ---- list ---- */

static enum err parse_list(struct request *r)
{
	struct handles_call *c;
	TRY(begin(r, &c));
	c->handles.limit = c->paging.limit;
	return rest_file_step_read(r, file_apply_list_handles);
}

/* What the explorer shows beside: the protocol has no elements for it, so other clients do not get it. */
static void put_handle_more(struct buf *b, const struct file_handle_info *h)
{
	const struct file_open *o = &h->open;
	char share[4] = "", cache[4] = "";
	size_t n = 0, k = 0;
	for (size_t i = 0; i < 3; i++)
		if (o->share & (SHARE_READ << i))
			share[n++] = "rwd"[i];
	const uint8_t bits[] = { CACHE_READ, CACHE_HANDLE, CACHE_WRITE };
	for (size_t i = 0; o->oplock.kind != OPLOCK_NONE && i < sizeof bits; i++)
		if (o->oplock.state & bits[i])
			cache[k++] = "RHW"[i];
	xml_put(b, "ShareMode", n ? slice_make(share, n) : SLICE("none"));
	xml_put(b, "Oplock", k ? slice_make(cache, k) : SLICE("none"));
	xml_put_u64(b, "Locks", o->range_count);
	xml_put(b, "DeletePending", h->delete_pending ? SLICE("true") : SLICE("false"));
}

static void put_handle(struct request *r, struct buf *b, const struct file_handle_info *h)
{
	xml_open(b, "Handle");
	xml_put_u64(b, "HandleId", h->open.open_id);
	xml_put_name(b, "Path", h->path);
	xml_put_u64(b, "FileId", h->open.inode_id);
	xml_put_u64(b, "ParentId", h->parent_id);
	xml_put_u64(b, "SessionId", h->open.opener.session_id);
	if (file_since(r, HANDLES_ACCESS)) {
		xml_open(b, "AccessRightList");
		if (h->open.access & ACCESS_READ_DATA)
			xml_put(b, "AccessRight", SLICE("Read"));
		if (h->open.access & ACCESS_WRITE_DATA)
			xml_put(b, "AccessRight", SLICE("Write"));
		if (h->open.access & ACCESS_DELETE)
			xml_put(b, "AccessRight", SLICE("Delete"));
		xml_close(b, "AccessRightList");
	}
	xml_put(b, "ClientIp", h->open.opener.client_ip);
	xml_put_rfc1123(b, "OpenTime", h->open.opened_ticks);
	if (h->open.reconnected_ticks)
		xml_put_rfc1123(b, "LastReconnectTime", h->open.reconnected_ticks);
	if (slice_is_set(r->vouched_account))
		put_handle_more(b, h);
	xml_close(b, "Handle");
}

static struct slice next_marker(struct request *r, const struct file_handles_call *c)
{
	return c->more ? arena_printf(r->arena, "%llu-%llu", (unsigned long long)c->next,
				      (unsigned long long)c->next_open)
		       : SLICE_NONE;
}

static enum err format_list(struct request *r)
{
	struct handles_call *c = r->call;
	struct buf *b = &r->response.body;
	r->response.status = 200;
	response_header(r, "Content-Type", SLICE("application/xml"));
	xml_begin(b);
	xml_open(b, "EnumerationResults");
	if (slice_is_set(c->paging.marker))
		xml_put(b, "Marker", c->paging.marker);
	if (slice_is_set(c->paging.maxresults) && c->paging.maxresults.len)
		xml_put(b, "MaxResults", c->paging.maxresults);
	if (c->handles.count == 0)
		BUF_PUT(b, "<Entries />");
	else
		xml_open(b, "Entries");
	for (size_t i = 0; i < c->handles.count; i++)
		put_handle(r, b, &c->handles.handle[i]);
	if (c->handles.count)
		xml_close(b, "Entries");
	xml_put(b, "NextMarker", next_marker(r, &c->handles));
	xml_close(b, "EnumerationResults");
	return ERR_OK;
}

/* ---- force close ---- */

/* The clients learn that their handles are gone, and whoever waited for them looks again. */
static enum err tell_closed(struct request *r)
{
	struct handles_call *c = r->call;
	for (size_t i = 0; i < c->handles.closed_count; i++) {
		const struct file_handle *h = &c->handles.closed[i];
		struct wait_key key = { .share = base_hash_bytes(0, c->partition), .inode = h->inode_id };
		struct holder_notice n = { .open_id = h->open_id, .what = NOTICE_CLOSED };
		if (r->server->config.holders)
			holder_post(r->server->config.holders, &n);
		if (r->server->config.waits)
			wait_wake(r->server->config.waits, &key);
		rest_file_publish(r, c->partition, &c->handles.events[i]);
	}
	return ERR_OK;
}

static enum err parse_close(struct request *r)
{
	struct handles_call *c;
	struct slice id = request_header(r, "x-ms-handle-id");
	TRY(begin(r, &c));
	if (!slice_is_set(id))
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, "x-ms-handle-id", SLICE_NONE);
	c->handles.close = slice_eq(id, SLICE("*"));
	if (!c->handles.close && !slice_to_u64(id, &c->handles.close_one))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-handle-id", id);
	c->handles.limit = CLOSE_AT_ONCE_MAX;
	TRY(rest_file_find(r, &c->partition));
	request_step_write(r, c->partition, file_apply_force_close);
	request_step_call(r, tell_closed);
	return ERR_OK;
}

static enum err format_close(struct request *r)
{
	struct handles_call *c = r->call;
	struct slice marker = next_marker(r, &c->handles);
	r->response.status = 200;
	if (slice_is_set(marker))
		response_header(r, "x-ms-marker", marker);
	response_header_u64(r, "x-ms-number-of-handles-closed", c->handles.count);
	if (file_since(r, HANDLES_FAILED))
		response_header(r, "x-ms-number-of-handles-failed", SLICE("0"));
	return ERR_OK;
}

/* What lies below is asked for of a file. */
static enum err refused_close(struct request *r, enum err e)
{
	if (e == ERR_INVALID_HEADER_VALUE)
		return fault_header(r, e, "x-ms-recursive", request_header(r, "x-ms-recursive"));
	return rest_file_refused(r, e);
}

const struct handler handler_handles_list = { .parse = parse_list,
					      .format = format_list,
					      .refused = rest_file_refused };
const struct handler handler_handles_close = { .parse = parse_close, .format = format_close, .refused = refused_close };

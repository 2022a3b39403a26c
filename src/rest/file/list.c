/* SPDX-License-Identifier: Apache-2.0
 * List Directories and Files: one level of a directory, both kinds in one order, as pages of XML. The marker holds the
 * name that the next page begins with. */
#include "rest/common/paging.h"
#include "rest/file/marker.h"
#include "rest/file/properties.h"
#include "wire/date.h"
#include "wire/etag.h"
#include "wire/http/uri.h"
#include "wire/pen.h"
#include "wire/xml.h"

#define LIST_INCLUDES	 VERSION(2020, 4, 8)  /* include, and x-ms-file-extended-info */
#define LIST_CHANGE_TIME VERSION(2020, 6, 12) /* ChangeTime and Last-Modified belong to Timestamps */
#define LIST_IDS	 VERSION(2020, 10, 2) /* FileId and DirectoryId always */
#define LIST_ENCODED	 VERSION(2021, 12, 2) /* names that XML cannot hold */

/* An entry without its name: every element at its longest. */
enum { ENTRY_BYTES = 1024 };

struct list_call {
	struct file_list_call list; /* first: the apply gets this */
	struct paging paging;
	bool timestamps, etags, attributes, keys, ids;
};

/* ---- parameters ---- */

static enum err parse_include(struct request *r, struct list_call *c)
{
	struct slice include = request_param(r, "include"), item;
	bool extended = false;
	c->ids = file_since(r, LIST_IDS);
	if (!file_since(r, LIST_INCLUDES))
		return ERR_OK;
	while (include_next(&include, &item)) {
		if (slice_eq_nocase(item, SLICE("Timestamps")))
			c->timestamps = true;
		else if (slice_eq_nocase(item, SLICE("ETag")))
			c->etags = true;
		else if (slice_eq_nocase(item, SLICE("Attributes")))
			c->attributes = true;
		else if (slice_eq_nocase(item, SLICE("PermissionKey")))
			c->keys = true;
		else if (item.len)
			return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "include", request_param(r, "include"),
					   "Invalid query parameter value.");
	}
	TRY(rest_file_flag_parse(r, "x-ms-file-extended-info", &extended));
	c->ids = c->ids || extended;
	return ERR_OK;
}

static enum err parse_marker(struct request *r, struct slice marker, struct slice *ret)
{
	enum err e = rest_file_marker_parse(marker, r->arena, ret);
	return e == ERR_SYNTAX ? fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "marker", marker, "Invalid marker.")
			       : e;
}

static enum err parse(struct request *r)
{
	struct list_call *c = ARENA_NEW(r->arena, struct list_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(rest_file_target_read(r, FILE_KIND_DIRECTORY, &c->list.target));
	TRY(paging_parse(r, &c->paging));
	TRY(parse_include(r, c));
	if (slice_is_set(c->paging.marker))
		TRY(parse_marker(r, c->paging.marker, &c->list.from));
	c->list.prefix = c->paging.prefix.len ? c->paging.prefix : SLICE_NONE;
	c->list.limit = c->paging.limit;
	return rest_file_step_read(r, file_apply_list);
}

/* ---- the answer ---- */

static void put_attribute(struct request *r, struct buf *b, const char *name, struct slice value)
{
	bool encode = !xml_is_legal(value) && file_since(r, LIST_ENCODED);
	if (encode)
		BUF_PUT(b, " Encoded=\"true\"");
	buf_printf(b, " %s=\"", name);
	if (encode)
		uri_encode(b, value, "/");
	else
		xml_put_text(b, value);
	buf_put_byte(b, '"');
}

static struct slice path_text(struct request *r, const struct file_path *path)
{
	struct slice text = SLICE("");
	for (size_t i = 0; i < path->count; i++)
		text = arena_printf(r->arena, "%.*s%s%.*s", SLICE_FMT(text), i ? "/" : "", SLICE_FMT(path->name[i]));
	return text;
}

static void put_head(struct request *r, struct buf *b, const struct list_call *c)
{
	const struct file_target *t = &c->list.target;
	xml_begin(b);
	BUF_PUT(b, "<EnumerationResults");
	paging_put_endpoint(r, b);
	buf_printf(b, " ShareName=\"%.*s\"", SLICE_FMT(r->container));
	if (t->has_snapshot) {
		BUF_PUT(b, " ShareSnapshot=\"");
		date_put_iso(b, t->snapshot_ticks);
		BUF_PUT(b, "\"");
	}
	put_attribute(r, b, "DirectoryPath", path_text(r, &t->place.path));
	BUF_PUT(b, ">");
	if (c->paging.prefix.len)
		xml_put_name(b, "Prefix", c->paging.prefix);
	if (slice_is_set(c->paging.marker))
		xml_put(b, "Marker", c->paging.marker);
	if (slice_is_set(c->paging.maxresults) && c->paging.maxresults.len)
		xml_put(b, "MaxResults", c->paging.maxresults);
	if (file_since(r, LIST_IDS))
		xml_put_u64(b, "DirectoryId", c->list.directory.id);
}

static void pen_iso(struct pen *p, uint64_t ticks)
{
	date_format_iso(ticks, p->at);
	p->at += DATE_ISO_BYTES;
}

static void put_properties(const struct request *r, struct pen *p, const struct list_call *c, const struct inode *i)
{
	if (i->kind == FILE_KIND_DIRECTORY && !c->timestamps && !c->etags) {
		PEN(p, "<Properties />");
		return;
	}
	PEN(p, "<Properties>");
	if (i->kind == FILE_KIND_FILE)
		PEN_U64(p, "Content-Length", i->size_bytes);
	if (c->timestamps) {
		PEN_ELEMENT(p, "CreationTime", pen_iso(p, i->created_ticks));
		PEN_ELEMENT(p, "LastAccessTime", pen_iso(p, i->accessed_ticks));
		PEN_ELEMENT(p, "LastWriteTime", pen_iso(p, i->written_ticks));
		if (file_since(r, LIST_CHANGE_TIME)) {
			PEN_ELEMENT(p, "ChangeTime", pen_iso(p, i->changed_ticks));
			PEN_DATE(p, "Last-Modified", i->etag);
		}
	}
	if (c->etags) {
		PEN(p, "<Etag>");
		etag_format(i->etag, p->at);
		p->at += ETAG_BYTES;
		PEN(p, "</Etag>");
	}
	PEN(p, "</Properties>");
}

/* Everything behind the name, with one reservation of memory. */
static void put_rest(const struct request *r, struct pen *p, const struct list_call *c, const struct inode *i)
{
	if (!pen_take(p, ENTRY_BYTES))
		return;
	if (c->ids)
		PEN_U64(p, "FileId", i->id);
	put_properties(r, p, c, i);
	if (c->attributes) {
		PEN(p, "<Attributes>");
		p->at += rest_file_attributes_format(i->attributes, p->at);
		PEN(p, "</Attributes>");
	}
	if (c->keys && i->permission) {
		PEN(p, "<PermissionKey>");
		p->at += rest_file_permission_key_format(r, i->permission, p->at);
		PEN(p, "</PermissionKey>");
	}
	if (i->kind == FILE_KIND_DIRECTORY)
		PEN(p, "</Directory>");
	else
		PEN(p, "</File>");
	pen_leave(p);
}

static enum err format(struct request *r)
{
	struct list_call *c = r->call;
	struct buf *b = &r->response.body;
	struct pen pen = pen_of(b);
	r->response.status = 200;
	response_header(r, "Content-Type", SLICE("application/xml"));
	put_head(r, b, c);
	if (c->list.count)
		BUF_PUT(b, "<Entries>");
	else
		BUF_PUT(b, "<Entries />");
	for (size_t i = 0; i < c->list.count; i++) {
		paging_expect(b, i, c->list.count);
		const struct inode *e = &c->list.entry[i];
		if (e->kind == FILE_KIND_DIRECTORY)
			BUF_PUT(b, "<Directory>");
		else
			BUF_PUT(b, "<File>");
		xml_put_name(b, "Name", e->name);
		put_rest(r, &pen, c, e);
	}
	if (c->list.count)
		BUF_PUT(b, "</Entries>");
	if (c->list.more) {
		BUF_PUT(b, "<NextMarker>");
		rest_file_marker_put(b, c->list.next);
		BUF_PUT(b, "</NextMarker>");
	} else {
		BUF_PUT(b, "<NextMarker />");
	}
	BUF_PUT(b, "</EnumerationResults>");
	return ERR_OK;
}

const struct handler handler_directory_list = { .parse = parse, .format = format, .refused = rest_file_refused };

/* SPDX-License-Identifier: Apache-2.0
 * Headers that many File operations take, and those that many of their answers carry. */
#include "rest/file/common.h"

#include "rest/common/conditional.h"
#include "rest/common/metadata.h"
#include "rest/core/server.h"
#include "rest/file/properties.h"
#include "rest/file/wait.h"
#include "svc/account/names.h"
#include "wire/base64.h"
#include "wire/date.h"
#include "wire/etag.h"

enum err rest_file_find_share(struct request *r, struct resource *ret, struct slice *ret_partition)
{
	TRY(name_check_container(r->container, false));
	enum err e = resource_find(r->server->store, r->account, RESOURCE_SHARE, r->container, r->arena, ret);
	if (e == ERR_NOT_FOUND)
		return ERR_SHARE_NOT_FOUND;
	TRY(e);
	*ret_partition = resource_generation_partition(r->arena, r->account, RESOURCE_SHARE, ret->generation);
	if (!slice_is_set(*ret_partition))
		return ERR_NO_MEMORY;
	rest_file_wait_in(r, *ret_partition);
	return ERR_OK;
}

enum err rest_file_find(struct request *r, struct slice *ret_partition)
{
	struct resource share;
	return rest_file_find_share(r, &share, ret_partition);
}

enum err rest_file_step_write(struct request *r, apply_fn *apply, const struct file_events *events)
{
	struct slice partition;
	TRY(rest_file_find(r, &partition));
	rest_file_step_write_in(r, partition, apply, events);
	return ERR_OK;
}

enum err rest_file_step_read(struct request *r, apply_fn *apply)
{
	struct slice partition;
	TRY(rest_file_find(r, &partition));
	request_step_read(r, partition, apply);
	return ERR_OK;
}

enum err rest_file_flag_parse(struct request *r, const char *header, bool *ret)
{
	struct slice v = request_header(r, header);
	bool is_true = slice_eq_nocase(v, SLICE("true"));
	if (slice_is_set(v) && v.len && !is_true && !slice_eq_nocase(v, SLICE("false")))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, header, v);
	*ret = is_true;
	return ERR_OK;
}

enum err rest_file_path_rules_parse(struct request *r, const char *header, struct file_path_rules *ret)
{
	struct file_path_rules rules = { .keep_dots = false };
	if (file_since(r, FILE_V_TRAILING_DOT))
		TRY(rest_file_flag_parse(r, header, &rules.keep_dots));
	*ret = rules;
	return ERR_OK;
}

enum err rest_file_snapshot_parse(struct request *r, const char *parameter, bool *ret_has, uint64_t *ret_ticks)
{
	struct slice text = request_param(r, parameter);
	*ret_has = slice_is_set(text) && text.len;
	if (!*ret_has)
		return ERR_OK;
	if (!date_parse_iso(text, ret_ticks))
		return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, parameter, text, "Not a valid date-time.");
	return ERR_OK;
}

enum err rest_file_snapshot_refuse(struct request *r)
{
	struct slice text = request_param(r, "sharesnapshot");
	return slice_is_set(text) && text.len ? fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "sharesnapshot", text,
							    "This operation is not allowed on a share snapshot.")
					      : ERR_OK;
}

static enum err target_common(struct request *r, enum file_kind kind, struct file_target *t)
{
	struct file_path_rules rules;
	TRY(rest_file_path_rules_parse(r, "x-ms-allow-trailing-dot", &rules));
	TRY(file_path_split(r->arena, r->object, rules, &t->place.path));
	t->kind = kind;
	TRY(rest_file_wait_prepare(r, &t->breaks));
	return rest_lease_id_parse(r, "x-ms-lease-id", &t->has_lease_id, &t->lease_id);
}

enum err rest_file_target_read(struct request *r, enum file_kind kind, struct file_target *ret)
{
	struct file_target t = { .has_snapshot = false };
	TRY(target_common(r, kind, &t));
	TRY(rest_file_snapshot_parse(r, "sharesnapshot", &t.has_snapshot, &t.snapshot_ticks));
	*ret = t;
	return ERR_OK;
}

enum err rest_file_target_write(struct request *r, enum file_kind kind, struct file_target *ret)
{
	struct file_target t = { .has_snapshot = false };
	TRY(rest_file_snapshot_refuse(r));
	TRY(target_common(r, kind, &t));
	*ret = t;
	return ERR_OK;
}

enum err rest_file_refuse_body(struct request *r)
{
	if (r->head->chunked || (r->head->has_content_length && r->head->content_length))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "Content-Length", request_header(r, "Content-Length"));
	return ERR_OK;
}

/* ---- content headers and size ---- */

static struct slice either(struct request *r, const char *own, const char *standard)
{
	struct slice v = request_header(r, own);
	if (!slice_is_set(v) && standard)
		v = request_header(r, standard);
	return v.len ? v : SLICE_NONE;
}

enum err rest_file_http_parse(struct request *r, bool standard_too, struct file_http *ret)
{
	struct file_http h = { .has_md5 = false };
	h.content_type = either(r, "x-ms-content-type", standard_too ? "Content-Type" : NULL);
	h.content_encoding = either(r, "x-ms-content-encoding", standard_too ? "Content-Encoding" : NULL);
	h.content_language = either(r, "x-ms-content-language", standard_too ? "Content-Language" : NULL);
	h.cache_control = either(r, "x-ms-cache-control", standard_too ? "Cache-Control" : NULL);
	h.content_disposition = either(r, "x-ms-content-disposition", NULL);
	struct slice md5 = request_header(r, "x-ms-content-md5");
	if (slice_is_set(md5)) {
		if (!base64_decode_exact(md5, h.md5, sizeof h.md5))
			return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-content-md5", md5);
		h.has_md5 = true;
	}
	*ret = h;
	return ERR_OK;
}

enum err rest_file_size_parse(struct request *r, bool *ret_has, uint64_t *ret)
{
	struct slice text = request_header(r, "x-ms-content-length");
	int64_t n;
	*ret_has = slice_is_set(text);
	if (!*ret_has)
		return ERR_OK;
	if (!slice_to_i64(text, &n))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-content-length", text);
	if (n < 0 || (uint64_t)n > FILE_SIZE_MAX_BYTES) {
		r->fault.message = SLICE("The file size exceeds the maximum permissible limit.");
		return ERR_OUT_OF_RANGE_INPUT;
	}
	*ret = (uint64_t)n;
	return ERR_OK;
}

/* ---- answers ---- */

void rest_file_put_etag(struct request *r, uint64_t etag_ticks)
{
	struct buf *b = &r->response.headers;
	BUF_PUT(b, "ETag: ");
	etag_put(b, etag_ticks);
	BUF_PUT(b, "\r\nLast-Modified: ");
	date_put_rfc1123(b, etag_ticks);
	BUF_PUT(b, "\r\n");
}

static void put_iso(struct request *r, const char *name, uint64_t ticks)
{
	char text[DATE_ISO_BYTES];
	date_format_iso(ticks, text);
	response_header(r, name, slice_make(text, sizeof text));
}

void rest_file_put_properties(struct request *r, const struct inode *i, bool written)
{
	char text[FILE_ATTRIBUTES_TEXT_BYTES];
	rest_file_put_etag(r, i->etag);
	response_header(r, written ? "x-ms-request-server-encrypted" : "x-ms-server-encrypted", SLICE("true"));
	if (!file_since(r, FILE_V_SMB_PROPERTIES))
		return;
	response_header(r, "x-ms-file-attributes", slice_make(text, rest_file_attributes_format(i->attributes, text)));
	put_iso(r, "x-ms-file-creation-time", i->created_ticks);
	put_iso(r, "x-ms-file-last-write-time", i->written_ticks);
	put_iso(r, "x-ms-file-change-time", i->changed_ticks);
	if (i->permission) {
		char key[FILE_PERMISSION_KEY_BYTES];
		response_header(r, "x-ms-file-permission-key",
				slice_make(key, rest_file_permission_key_format(r, i->permission, key)));
	}
	response_header_u64(r, "x-ms-file-id", i->id);
	response_header_u64(r, "x-ms-file-parent-id", i->parent_id);
}

static void put_http(struct request *r, const struct file_http *h, bool whole)
{
	const struct auth_identity *o = &r->identity;
	response_header_or(r, "Content-Type", o->override_content_type, h->content_type);
	response_header_or(r, "Content-Encoding", o->override_content_encoding, h->content_encoding);
	response_header_or(r, "Content-Language", o->override_content_language, h->content_language);
	response_header_or(r, "Cache-Control", o->override_cache_control, h->cache_control);
	response_header_or(r, "Content-Disposition", o->override_content_disposition, h->content_disposition);
	if (h->has_md5) {
		char text[BASE64_BYTES(16)];
		base64_encode_to(text, slice_make(h->md5, sizeof h->md5));
		response_header(r, whole ? "Content-MD5" : "x-ms-content-md5", slice_make(text, sizeof text));
	}
}

static void put_copy(struct request *r, const struct file_copy *c)
{
	static const char *const words[] = { [FILE_COPY_NONE] = "",
					     [FILE_COPY_PENDING] = "pending",
					     [FILE_COPY_SUCCESS] = "success",
					     [FILE_COPY_ABORTED] = "aborted",
					     [FILE_COPY_FAILED] = "failed" };
	char id[UUID_TEXT_BYTES];
	if (c->status == FILE_COPY_NONE)
		return;
	uuid_format(&c->id, id);
	response_header(r, "x-ms-copy-id", slice_make(id, sizeof id));
	response_header(r, "x-ms-copy-source", c->source);
	response_header(r, "x-ms-copy-status", slice_str(words[c->status]));
	if (slice_is_set(c->description) && c->description.len)
		response_header(r, "x-ms-copy-status-description", c->description);
	buf_printf(&r->response.headers, "x-ms-copy-progress: %llu/%llu\r\n", (unsigned long long)c->copied_bytes,
		   (unsigned long long)c->total_bytes);
	if (c->completed_ticks)
		response_header_time(r, "x-ms-copy-completion-time", c->completed_ticks);
}

void rest_file_put_content_properties(struct request *r, const struct inode *i, uint64_t now_ticks, bool whole,
				      bool live)
{
	put_http(r, &i->http, whole);
	response_header(r, "x-ms-type", SLICE("File"));
	if (live && file_since(r, FILE_V_SMB_PROPERTIES))
		rest_lease_put_headers(r, &i->lease, now_ticks);
	metadata_put_headers(r, &i->metadata);
	put_copy(r, &i->copy);
}

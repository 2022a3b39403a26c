/* SPDX-License-Identifier: Apache-2.0
 * Copy File, Abort Copy File.
 *
 * The source runs as a part, with its own credentials or, within the account, with those of the request. Then one of
 * three ways (svc/file/file.h): within the share the contents are shared in one commit; few bytes are brought before
 * the commit; more of them are brought after it, while the destination shows the copy as pending. In all three the
 * answer comes when the copy is complete, so that it says "success"; meanwhile others see the progress and may abort
 * it. */
#include <stdlib.h>

#include "rest/common/metadata.h"
#include "rest/core/conn/driver.h"
#include "rest/core/server.h"
#include "rest/file/copy/source.h"
#include "rest/file/get.h"
#include "rest/file/properties.h"

enum { COPY_AT_ONCE_BYTES = 4 * 1024 * 1024, COPY_PIECE_BYTES = 4 * 1024 * 1024 };

struct copy_call {
	struct file_copy_call copy; /* first: the apply gets this */
	struct file_source source;
	struct slice partition;
	bool override_permission;
	bool aborted; /* somebody ended it on its way */
	struct file_get_call after;
};

/* ---- what the destination takes from the source ---- */

/* As the answer of the part shows them: blobs and files have the same headers. */
static void take_headers(const struct request *part, struct file_http *h)
{
	h->content_type = request_child_header(part, "Content-Type");
	h->content_encoding = request_child_header(part, "Content-Encoding");
	h->content_language = request_child_header(part, "Content-Language");
	h->content_disposition = request_child_header(part, "Content-Disposition");
	h->cache_control = request_child_header(part, "Cache-Control");
}

/* The descriptor of a file of another share, as text: keys belong to their share. */
static enum err take_permission(struct request *r, const struct file_source *s, const struct inode *i,
				struct file_permission *p)
{
	struct resource share;
	struct file_permission_call call = { .key = i->permission };
	if (!i->permission)
		return ERR_OK;
	enum err e =
		resource_find(r->server->store, s->part->account, RESOURCE_SHARE, s->part->container, r->arena, &share);
	TRY(e == ERR_NOT_FOUND ? ERR_SHARE_NOT_FOUND : e);
	struct slice partition =
		resource_generation_partition(r->arena, s->part->account, RESOURCE_SHARE, share.generation);
	if (!slice_is_set(partition))
		return ERR_NO_MEMORY;
	TRY(store_read_points(r->server->store, partition, file_apply_get_permission, &call, r->arena));
	p->how = FILE_PERMISSION_TEXT;
	p->text = call.text;
	return ERR_OK;
}

static enum err take_from_source(struct request *r, struct copy_call *c)
{
	struct file_create_call *to = &c->copy.create;
	const struct request *part = c->source.part;
	to->size_bytes = c->copy.copy.total_bytes = request_child_length(part);
	take_headers(part, &to->http);
	if (!c->copy.has_metadata)
		TRY(metadata_from_answer(r->arena, part, &to->metadata));
	if (!c->override_permission)
		to->settings.permission.how = FILE_PERMISSION_INHERIT;
	if (c->source.service != SERVICE_FILE) {
		c->copy.source_inode.created_ticks = c->copy.source_inode.written_ticks =
			c->copy.source_inode.changed_ticks = r->arrival_ticks;
		return ERR_OK;
	}
	const struct inode *from = &rest_file_get_result(part)->inode;
	c->copy.source_inode = *from;
	to->http.has_md5 = from->http.has_md5;
	memcpy(to->http.md5, from->http.md5, sizeof to->http.md5);
	if (!to->settings.set_attributes) {
		to->settings.set_attributes = true;
		to->settings.attributes = from->attributes;
	}
	return c->override_permission ? ERR_OK : take_permission(r, &c->source, from, &to->settings.permission);
}

/* ---- the ways a copy goes ---- */

static enum err read_after(struct request *r)
{
	struct copy_call *c = r->call;
	struct file_get_call *g = &c->after;
	*g = (struct file_get_call){ .target = { .place = { .by_id = true, .id = c->copy.create.inode.id },
						 .kind = FILE_KIND_FILE,
						 .through_open = true } };
	enum err e = store_read(r->server->store, c->partition, file_apply_get, g, r->arena);
	/* Deleted since: what was copied is what is told. */
	if (e != ERR_OK)
		g->inode = c->copy.create.inode;
	return ERR_OK;
}

static enum err fetch(struct request *r)
{
	struct copy_call *c = r->call;
	TRY(rest_file_source_fetch(r, &c->source));
	c->copy.create.payload = &r->payload;
	return ERR_OK;
}

static enum err write_step(struct request *r, struct copy_call *c, struct file_copy_step_call *step)
{
	struct arena arena;
	arena_init(&arena, 4 * MIB);
	enum err e = store_write_wait(r->server->store, c->partition, file_apply_copy_step, step, &arena);
	arena_fini(&arena);
	return e;
}

/* One piece: into a payload, then into the file by a commit of its own. */
static enum err bring_piece(struct request *r, struct copy_call *c, struct slice bytes, uint64_t offset)
{
	struct payload payload;
	struct payload_writer *w = NULL;
	TRY(payload_writer_new(r->server->store, bytes.len, &w));
	enum err e = payload_append(w, bytes);
	if (e != ERR_OK) {
		payload_writer_free(w);
		return e;
	}
	TRY(payload_finish(w, &payload));
	struct file_copy_step_call step = { .inode_id = c->copy.create.inode.id,
					    .id = c->copy.copy.id,
					    .offset = offset,
					    .payload = &payload,
					    .copied_bytes = offset + bytes.len,
					    .status = FILE_COPY_PENDING };
	e = write_step(r, c, &step);
	/* After an unknown outcome the extents may be named: a restart tells. */
	if (step.gone || (e != ERR_OK && e != ERR_UNKNOWN && e != ERR_IO && e != ERR_STOPPED))
		payload_abandon(r->server->store, &payload);
	payload_fini(&payload);
	c->aborted = step.gone;
	return e;
}

static enum err bring_all(struct request *r, struct copy_call *c, char *buffer)
{
	struct child_reader reader = { .child = c->source.part };
	uint64_t offset = 0;
	while (!c->aborted) {
		size_t n;
		TRY(request_child_read(&reader, buffer, COPY_PIECE_BYTES, &n));
		if (n == 0)
			break;
		TRY(bring_piece(r, c, slice_make(buffer, n), offset));
		offset += n;
	}
	return ERR_OK;
}

/* On a worker. What goes wrong here is told by the state of the copy, not by the answer. */
static enum err bring(struct request *r)
{
	struct copy_call *c = r->call;
	char *buffer = malloc(COPY_PIECE_BYTES);
	enum err e = buffer ? bring_all(r, c, buffer) : ERR_NO_MEMORY;
	free(buffer);
	if (c->aborted)
		return ERR_OK;
	struct file_copy_step_call step = { .inode_id = c->copy.create.inode.id,
					    .id = c->copy.copy.id,
					    .copied_bytes = e == ERR_OK ? c->copy.copy.total_bytes : 0,
					    .status = e == ERR_OK ? FILE_COPY_SUCCESS : FILE_COPY_FAILED,
					    .description = e == ERR_OK ? SLICE_NONE : slice_str(err_name(e)) };
	return write_step(r, c, &step);
}

static enum err step_long_way(struct request *r)
{
	struct copy_call *c = r->call;
	c->copy.share = false;
	TRY(take_from_source(r, c));
	if (c->copy.copy.total_bytes <= COPY_AT_ONCE_BYTES) {
		request_step_work(r, fetch);
		rest_file_step_write_in(r, c->partition, file_apply_copy, &c->copy.create.events);
	} else {
		rest_file_step_write_in(r, c->partition, file_apply_copy, &c->copy.create.events);
		request_step_work(r, bring);
	}
	request_step_call(r, read_after);
	return ERR_OK;
}

/* More runs than a commit holds: nothing was done. */
static enum err after_share(struct request *r)
{
	struct copy_call *c = r->call;
	return c->copy.too_many ? step_long_way(r) : read_after(r);
}

static enum err choose_way(struct request *r)
{
	struct copy_call *c = r->call;
	TRY(rest_file_source_result(r, &c->source));
	if (!rest_file_source_is_in_share(r, &c->source))
		return step_long_way(r);
	c->copy.share = c->copy.source_settings = true;
	c->copy.copy.total_bytes = request_child_length(c->source.part);
	c->copy.source = rest_file_get_result(c->source.part)->target;
	c->copy.source.breaks = c->copy.create.target.breaks;
	rest_file_step_write_in(r, c->partition, file_apply_copy, &c->copy.create.events);
	request_step_call(r, after_share);
	return ERR_OK;
}

/* ---- parse ---- */

static enum err parse_permission_mode(struct request *r, struct copy_call *c)
{
	struct slice mode = request_header(r, "x-ms-file-permission-copy-mode");
	bool has = slice_is_set(request_header(r, "x-ms-file-permission")) ||
		   slice_is_set(request_header(r, "x-ms-file-permission-key"));
	c->override_permission = slice_eq_nocase(mode, SLICE("override"));
	if (slice_is_set(mode) && !c->override_permission && !slice_eq_nocase(mode, SLICE("source")))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-file-permission-copy-mode", mode);
	if (c->override_permission && !has)
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, "x-ms-file-permission", SLICE_NONE);
	return ERR_OK;
}

/* As a new file is, a copy is to be archived, whatever attributes it has from its source or from the request; unless
 * the request says that it is not. */
static enum err parse_archive(struct request *r, bool *ret)
{
	static const char name[] = "x-ms-file-copy-set-archive";
	TRY(rest_file_flag_parse(r, name, ret));
	*ret |= !slice_is_set(request_header(r, name));
	return ERR_OK;
}

static enum err start(struct request *r)
{
	return rest_file_source_start(r, &((struct copy_call *)r->call)->source);
}

static enum err parse_copy(struct request *r)
{
	struct copy_call *c = ARENA_NEW(r->arena, struct copy_call);
	if (!c)
		return ERR_NO_MEMORY;
	struct file_create_call *to = &c->copy.create;
	r->call = c;
	TRY(rest_file_refuse_body(r));
	TRY(rest_file_target_write(r, FILE_KIND_FILE, &to->target));
	if (to->target.place.path.count == 0)
		return ERR_INVALID_RESOURCE_NAME;
	TRY(rest_file_source_parse(r, &c->source));
	c->source.owner_reads = true;
	TRY(rest_file_settings_parse(r, SETTINGS_COPY, false, &to->settings));
	TRY(parse_permission_mode(r, c));
	TRY(metadata_parse(r, &to->metadata));
	c->copy.has_metadata = to->metadata.count > 0;
	TRY(rest_file_flag_parse(r, "x-ms-file-copy-ignore-readonly", &c->copy.ignore_readonly));
	TRY(parse_archive(r, &c->copy.set_archive));
	c->copy.copy.id = rng_uuid(r->rng);
	c->copy.copy.source = c->source.url;
	TRY(rest_file_find(r, &c->partition));
	TRY(rest_file_settings_check_key(r, c->partition, &to->settings));
	request_step_call(r, start);
	request_step_call(r, choose_way);
	return ERR_OK;
}

static enum err format_copy(struct request *r)
{
	struct copy_call *c = r->call;
	const struct inode *i = &c->after.inode;
	char id[UUID_TEXT_BYTES];
	uuid_format(&c->copy.copy.id, id);
	r->response.status = 202;
	rest_file_put_etag(r, i->etag);
	response_header(r, "x-ms-copy-id", slice_make(id, sizeof id));
	response_header(r, "x-ms-copy-status",
			c->aborted || i->copy.status == FILE_COPY_ABORTED ? SLICE("aborted")
			: i->copy.status == FILE_COPY_FAILED		  ? SLICE("failed")
									  : SLICE("success"));
	return ERR_OK;
}

/* ---- abort ---- */

static enum err parse_abort(struct request *r)
{
	struct slice action = request_header(r, "x-ms-copy-action"), id = request_param(r, "copyid");
	struct file_abort_copy_call *c = ARENA_NEW(r->arena, struct file_abort_copy_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	if (!slice_is_set(action))
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, "x-ms-copy-action", SLICE_NONE);
	if (!slice_eq_nocase(action, SLICE("abort")))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-copy-action", action);
	if (!slice_is_set(id) || !uuid_parse(id, &c->id))
		return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "copyid", slice_is_set(id) ? id : SLICE(""),
				   "copyid needs to be valid Guid.");
	TRY(rest_file_target_write(r, FILE_KIND_FILE, &c->target));
	return rest_file_step_write(r, file_apply_abort_copy, NULL);
}

static enum err format_abort(struct request *r)
{
	r->response.status = 204;
	return ERR_OK;
}

const struct handler handler_file_copy = { .parse = parse_copy, .format = format_copy, .refused = rest_file_refused };
const struct handler handler_file_abort_copy = { .parse = parse_abort,
						 .format = format_abort,
						 .refused = rest_file_refused };

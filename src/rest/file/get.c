/* SPDX-License-Identifier: Apache-2.0
 * Get File: the bytes of a file or of a range of it.
 *
 * Record and bytes are read on one snapshot, and the pin taken before it keeps the extents until the answer is out. Of
 * a file in very many pieces only the first are read before the answer begins, the others as it goes out, as long as
 * the file is still the same: if it is not, the connection ends, for a mixture of two states is none. */
#include "rest/file/get.h"

#include "rest/common/ranged.h"
#include "rest/core/body_checks.h"
#include "rest/core/server.h"

enum {
	GET_PIECES_FIRST = 4096,
	GET_PIECES_MORE = 64,	      /* at a time, by the loop: 2 MiB at most, which no budget counts */
	GET_PIECES_HASHED = 64 * 1024 /* of a range that is hashed, all at once */
};

struct get_call {
	struct file_get_call get; /* first: the apply gets this */
	struct slice partition;
	struct ranged ranged;
	uint64_t at;			/* where the pieces go on that were not read yet */
	struct arena_position position; /* behind all that lives until the answer is out */
	bool marked;
};

/* Through the cache of hot records where that does, else on one snapshot. */
static enum err read_file(struct request *r)
{
	struct get_call *c = r->call;
	struct store *store = r->server->store;
	uint64_t deadline_ns = request_read_deadline_ns(r);
	c->get.by_points = !c->get.target.has_snapshot;
	enum err e = ERR_CONFLICT;
	if (c->get.by_points)
		e = store_read_points_until(store, c->partition, file_apply_get, &c->get, r->arena, deadline_ns);
	if (e == ERR_CONFLICT) {
		c->get.by_points = false;
		e = store_read_until(store, c->partition, file_apply_get, &c->get, r->arena, deadline_ns);
	}
	return e;
}

static enum err parse(struct request *r)
{
	struct get_call *c = ARENA_NEW(r->arena, struct get_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(rest_file_target_read(r, FILE_KIND_FILE, &c->get.target));
	TRY(body_structured_answer_parse(r));
	c->get.want_bytes = true;
	TRY(ranged_parse(r, false, &c->ranged));
	c->get.has_range = c->ranged.has_range;
	c->get.range_first = c->ranged.first;
	c->get.range_last = c->ranged.last;
	c->get.piece_limit = ranged_hashes(&c->ranged) ? GET_PIECES_HASHED : GET_PIECES_FIRST;
	TRY(rest_file_find(r, &c->partition));
	request_pin(r);
	request_step_call(r, read_file);
	ranged_step_hash(r, &c->ranged);
	return ERR_OK;
}

/* ---- the answer ---- */

static enum err set_runs(struct request *r, const struct file_pieces *found)
{
	struct response *p = &r->response;
	struct body_span *spans = ARENA_NEW_ARRAY(r->arena, struct body_span, found->count);
	if (!spans)
		return ERR_NO_MEMORY;
	p->spans = spans;
	p->span_count = 0;
	for (size_t i = 0; i < found->count; i++)
		p->spans[p->span_count++] = (struct body_span){ .bytes = found->piece[i].bytes,
								.extent = found->piece[i].extent,
								.offset = found->piece[i].offset,
								.length = found->piece[i].length_bytes };
	return ERR_OK;
}

/* Opens and leases were judged when the answer began; what counts now is that the file is what it was then. */
static enum err more_runs(struct request *r)
{
	struct get_call *c = r->call;
	uint64_t end = c->get.offset + c->get.length;
	struct file_get_call next = { .target = c->get.target,
				      .want_bytes = true,
				      .has_range = true,
				      .range_first = c->at,
				      .range_last = end - 1,
				      .piece_limit = GET_PIECES_MORE,
				      .expect_etag = c->get.target.has_snapshot ? 0 : c->get.inode.etag };
	next.target.through_open = true;
	next.target.place = (struct file_place){ .by_id = true, .id = c->get.inode.id };
	if (c->marked)
		arena_rewind(r->arena, c->position); /* the spans before are out */
	c->position = arena_position(r->arena);
	c->marked = true;
	TRY(store_read(r->server->store, c->partition, file_apply_get, &next, r->arena));
	if (!next.pieces.length_bytes || next.pieces.length_bytes > r->response.more_bytes)
		return ERR_CORRUPT;
	c->at += next.pieces.length_bytes;
	r->response.more_bytes -= next.pieces.length_bytes;
	return set_runs(r, &next.pieces);
}

static enum err put_runs(struct request *r, struct get_call *c)
{
	struct response *p = &r->response;
	const struct file_get_call *g = &c->get;
	if (g->pieces.count == 1 && slice_is_set(g->pieces.piece[0].bytes) && g->pieces.length_bytes == g->length) {
		p->body_slice = g->pieces.piece[0].bytes;
		return ERR_OK;
	}
	p->content_length = g->length;
	p->set_length = true;
	if (!g->pieces.count)
		return ERR_OK;
	c->at = g->offset + g->pieces.length_bytes;
	p->more = more_runs;
	p->more_bytes = g->length - g->pieces.length_bytes;
	return set_runs(r, &g->pieces);
}

/* The bytes of a short range in one piece of memory, for hashing. */
static enum err gather(struct request *r, const struct file_get_call *g, struct slice *ret)
{
	char *all = arena_alloc(r->arena, g->length ? g->length : 1);
	size_t at = 0;
	if (!all)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < g->pieces.count; i++) {
		const struct file_piece *p = &g->pieces.piece[i];
		if (slice_is_set(p->bytes))
			memcpy(all + at, p->bytes.ptr, p->length_bytes);
		else if (p->extent.length_bytes)
			TRY(extent_read(r->server->store, &p->extent, p->offset, (uint32_t)p->length_bytes, all + at));
		else
			memset(all + at, 0, p->length_bytes);
		at += p->length_bytes;
	}
	*ret = slice_make(all, at);
	return ERR_OK;
}

static enum err put_hashed(struct request *r, const struct get_call *c)
{
	struct slice bytes;
	TRY(ranged_check_hash(r, &c->ranged, c->get.length));
	TRY(gather(r, &c->get, &bytes));
	ranged_put_hashed(r, &c->ranged, bytes);
	return ERR_OK;
}

static enum err format(struct request *r)
{
	struct get_call *c = r->call;
	const struct file_get_call *g = &c->get;
	if (ranged_hashes(&c->ranged) && g->pieces.length_bytes < g->length) {
		r->fault.message =
			SLICE("The range lies in more pieces than are hashed at once. Ask for a part of it.");
		return ERR_BUSY;
	}
	r->response.status = g->has_range ? 206 : 200;
	rest_file_put_properties(r, &g->inode, false);
	rest_file_put_content_properties(r, &g->inode, g->now_ticks, !g->has_range, !g->target.has_snapshot);
	response_header(r, "Accept-Ranges", SLICE("bytes"));
	if (g->has_range)
		ranged_put_content_range(r, g->offset, g->length, g->inode.size_bytes);
	return ranged_hashes(&c->ranged) ? put_hashed(r, c) : put_runs(r, c);
}

/* Who asks for the first megabytes of an empty file learns from the error that it is empty. */
static enum err refused(struct request *r, enum err e)
{
	struct get_call *c = r->call;
	r->fault.has_length = e == ERR_INVALID_RANGE;
	r->fault.length_bytes = c->get.inode.size_bytes;
	return rest_file_refused(r, e);
}

const struct file_get_call *rest_file_get_result(const struct request *part)
{
	return &((const struct get_call *)part->call)->get;
}

const struct handler handler_file_get = { .parse = parse, .format = format, .refused = refused };

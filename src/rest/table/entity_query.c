/* SPDX-License-Identifier: Apache-2.0
 * Query Entities. The filter becomes a plan of key ranges (svc/table/filter.h); entities are written to the body as
 * they match.
 *
 * A page shows one snapshot, so a search cannot be cut into steps with a snapshot each. It first runs here, on the
 * loop, for as long as a loop may be kept; most queries end within that. One that does not is run again from its
 * beginning on a worker, up to LIMIT_TABLE_QUERY_MS, and what it found by then is the page. */
#include "rest/core/op.h"
#include "rest/core/server.h"
#include "rest/table/entity_atom.h"
#include "rest/table/entity_ops.h"
#include "svc/table/query.h"

enum { RESERVE_AFTER = 64 }; /* entities */

struct query_call {
	struct table_query query;
	struct plan plan;
	struct filter *filter;
	struct entity_writer writer;
	struct slice partition;
	struct buf *body;
	const struct request *req;
	uint64_t deadline_ns;
	bool cut; /* the deadline ended it */
};

/* When some have shown how long they are, the page gets its room at once: growing to it copies it again and again. */
static void reserve_page(struct query_call *c)
{
	struct buf *b = c->body;
	size_t want = b->len / RESERVE_AFTER * (c->query.limit - RESERVE_AFTER);
	if (want < LIMIT_TABLE_PAGE_BYTES && want < b->limit_bytes - b->len)
		buf_reserve(b, want);
}

static enum err emit(void *arg, const struct entity *e, bool *ret_full)
{
	struct query_call *c = arg;
	if (c->query.matched == RESERVE_AFTER && c->query.limit > RESERVE_AFTER)
		reserve_page(c);
	if (c->body->ptr[c->body->len - 1] == '}')
		buf_put_byte(c->body, ',');
	rest_entity_write(c->body, &c->writer, e, false);
	*ret_full = c->body->len >= LIMIT_TABLE_PAGE_BYTES;
	return buf_ok(c->body) ? ERR_OK : ERR_NO_MEMORY;
}

static bool expired(void *arg)
{
	struct query_call *c = arg;
	c->cut = base_monotonic_ns() >= c->deadline_ns || request_is_abandoned(c->req);
	return c->cut;
}

static void open_list(struct buf *b, const struct entity_writer *w)
{
	if (w->level == ODATA_ATOM) {
		atom_feed_open(b, w, w->table);
		return;
	}
	buf_put_byte(b, '{');
	if (w->level != ODATA_NONE)
		rest_entity_metadata_write(b, w, false);
	BUF_PUT(b, "\"value\":[");
}

static void close_list(struct buf *b, const struct entity_writer *w)
{
	if (w->level == ODATA_ATOM)
		atom_feed_close(b);
	else
		BUF_PUT(b, "]}");
}

static enum err run(struct request *req, uint64_t budget_ms)
{
	struct query_call *c = req->call;
	struct buf *b = &req->response.body;
	c->body = b;
	c->cut = false;
	c->deadline_ns = base_monotonic_ns() + budget_ms * 1000000;
	buf_clear(b);
	open_list(b, &c->writer);
	if (!buf_ok(b))
		return ERR_NO_MEMORY;
	/* One entity is one get, and the cache of hot records may have it. If it is of several rows that changed
	 * between their gets (they do not fit together then), a snapshot tells. */
	enum err e = ERR_CORRUPT;
	size_t head = b->len;
	if (c->plan.count == 1 && c->plan.range[0].point && !slice_is_set(c->query.from))
		e = store_read_points(req->server->store, c->partition, table_query_apply, &c->query, req->arena);
	if (e == ERR_CORRUPT) {
		b->len = head;
		e = store_read(req->server->store, c->partition, table_query_apply, &c->query, req->arena);
	}
	if (e)
		return e;
	close_list(b, &c->writer);
	return buf_ok(b) ? ERR_OK : ERR_NO_MEMORY;
}

static enum err run_on_worker(struct request *req)
{
	return run(req, LIMIT_TABLE_QUERY_MS);
}

static enum err run_on_loop(struct request *req)
{
	struct query_call *c = req->call;
	struct arena_position position = arena_position(req->arena);
	TRY(run(req, LIMIT_TABLE_LOOP_MS));
	if (c->cut) {
		arena_rewind(req->arena, position);
		request_step_work(req, run_on_worker);
	}
	return ERR_OK;
}

/* NextPartitionKey and NextRowKey: where to go on. */
static enum err parse_next(struct request *req, struct query_call *c)
{
	struct slice pk_token = request_param(req, "NextPartitionKey"), rk_token = request_param(req, "NextRowKey");
	struct slice pk, rk = SLICE("");
	struct key k;
	if (!slice_is_set(pk_token))
		return ERR_OK;
	if (!rest_table_token_read(req->arena, pk_token, &pk))
		return ERR_INVALID_INPUT;
	if (slice_is_set(rk_token) && rk_token.len && !rest_table_token_read(req->arena, rk_token, &rk))
		return ERR_INVALID_INPUT;
	entity_key(&k, pk, rk);
	if (k.overflow)
		return ERR_INVALID_INPUT;
	c->query.from = arena_dup(req->arena, key_slice(&k));
	return slice_is_set(c->query.from) ? ERR_OK : ERR_NO_MEMORY;
}

/* A SAS with a key range cuts what a query can see. */
static enum err clip_to_sas(struct request *req, struct plan *plan)
{
	struct entity_bounds bounds = rest_table_sas_bounds(req);
	enum err e = plan_clip_to_bounds(plan, &bounds, req->arena);
	return e == ERR_LIMIT ? auth_refusal(&req->identity, ERR_AUTHORIZATION_FAILURE) : e;
}

static enum err query_parse(struct request *req)
{
	struct query_call *c = arena_alloc(req->arena, sizeof *c);
	if (!c)
		return ERR_NO_MEMORY;
	/* Not all of it: the buffer for the next key and the plan's ranges are large and filled when needed. */
	memset(&c->query, 0, offsetof(struct table_query, next_bytes));
	c->req = req;
	req->call = c;
	TRY(rest_table_writer_init_level(req, &c->writer));
	enum http_method method;
	TRY(rest_table_method(req->head, &method));
	TRY(rest_table_options_check(req));
	TRY(rest_entity_select_parse(req, &c->writer));
	TRY(rest_table_top(req, &c->query.limit));
	TRY(rest_table_filter(req, &c->filter));
	TRY(parse_next(req, c));
	TRY(rest_table_find(req, req->container, ERR_TABLE_NOT_FOUND, &c->partition));
	TRY(plan_make(c->filter, req->arena, &c->plan));
	TRY(clip_to_sas(req, &c->plan));
	c->query.filter = c->filter;
	c->query.plan = &c->plan;
	c->query.emit = emit;
	c->query.expired = expired;
	c->query.arg = c;
	request_step_call(req, run_on_loop);
	return ERR_OK;
}

static enum err query_format(struct request *req)
{
	struct query_call *c = req->call;
	req->response.status = 200;
	req->log_note = arena_printf(req->arena, "plan=%s ranges=%zu scanned=%llu matched=%zu", c->plan.name,
				     c->plan.count, (unsigned long long)c->query.scanned, c->query.matched);
	rest_table_headers(req, c->writer.level, true);
	if (c->query.more) {
		struct slice pk = rest_table_token_make(req->arena, c->query.next_partition_key);
		struct slice rk = rest_table_token_make(req->arena, c->query.next_row_key);
		if (!slice_is_set(pk) || !slice_is_set(rk))
			return ERR_NO_MEMORY;
		response_header(req, "x-ms-continuation-NextPartitionKey", pk);
		response_header(req, "x-ms-continuation-NextRowKey", rk);
	}
	return ERR_OK;
}

const struct handler handler_entity_query = { .parse = query_parse, .format = query_format };

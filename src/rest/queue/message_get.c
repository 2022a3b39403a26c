/* SPDX-License-Identifier: Apache-2.0
 * Get Messages and Peek Messages.
 *
 * Only who has seen all there is may answer that there is nothing. Both look in rounds of bounded work: a get commits
 * what each round removed, a peek leaves the loop for a worker after its first. */
#include "base/limits.h"
#include "rest/queue/common.h"
#include "rest/queue/message_list.h"

struct get_call {
	struct queue_get get; /* first: what apply sees */
	struct slice partition;
	struct arena_position position; /* what a round leaves behind goes before the next */
};

static enum err parse_count(struct request *r, struct get_call **ret)
{
	struct get_call *c = arena_alloc(r->arena, sizeof *c);
	int64_t want;
	if (!c)
		return ERR_NO_MEMORY;
	TRY(rest_queue_param(r, "numofmessages", 1, QUEUE_BATCH_MAX, 1, &want));
	/* The messages are for apply to fill: clearing 32 of them for each request would be waste. */
	c->get.want = (unsigned)want;
	c->get.timeout_s = 0;
	c->get.from = (struct queue_position){ 0 };
	c->get.found = 0;
	r->call = c;
	*ret = c;
	return ERR_OK;
}

static enum err find_queue(struct request *r, struct get_call *c)
{
	TRY(rest_queue_find_partition(r, &c->partition));
	c->position = arena_position(r->arena);
	return ERR_OK;
}

/* Before another round. */
static enum err forget_round(struct request *r, const struct get_call *c)
{
	if (base_monotonic_ns() - r->arrival_ns > LIMIT_QUEUE_SEARCH_MS * UINT64_C(1000000))
		return ERR_OPERATION_TIMED_OUT;
	arena_rewind(r->arena, c->position);
	return ERR_OK;
}

static enum err get_again(struct request *r)
{
	struct get_call *c = r->call;
	if (!c->get.again)
		return ERR_OK;
	TRY(forget_round(r, c));
	request_steps_restart(r);
	request_step_write(r, c->partition, queue_apply_get);
	request_step_call(r, get_again);
	return ERR_OK;
}

static enum err parse_get(struct request *r)
{
	struct get_call *c;
	struct slice peek_only = request_param(r, "peekonly");
	int64_t timeout;
	/* "true" is a peek. Who wrote it otherwise did not ask for messages to be hidden. */
	if (slice_is_set(peek_only) && !slice_eq_nocase(peek_only, SLICE("false")))
		return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "peekonly", peek_only,
				   "Failed to parse the value as a Boolean.");
	TRY(parse_count(r, &c));
	TRY(rest_queue_param(r, "visibilitytimeout", 1, QUEUE_SECONDS_MAX, QUEUE_HIDE_DEFAULT_S, &timeout));
	c->get.timeout_s = (uint32_t)timeout;
	TRY(find_queue(r, c));
	request_step_write(r, c->partition, queue_apply_get);
	request_step_call(r, get_again);
	return ERR_OK;
}

static enum err format_get(struct request *r)
{
	struct get_call *c = r->call;
	r->response.status = 200;
	rest_message_list_format(r, c->get.message, c->get.found, MESSAGE_SHOW_GET);
	return ERR_OK;
}

static enum err peek_on_worker(struct request *r)
{
	struct get_call *c = r->call;
	while (c->get.again) {
		TRY(forget_round(r, c));
		c->get.from = c->get.next;
		TRY(store_read(r->server->store, c->partition, queue_apply_peek, &c->get, r->arena));
	}
	return ERR_OK;
}

static enum err peek_again(struct request *r)
{
	struct get_call *c = r->call;
	if (c->get.again)
		request_step_work(r, peek_on_worker);
	return ERR_OK;
}

static enum err parse_peek(struct request *r)
{
	struct get_call *c;
	TRY(parse_count(r, &c));
	TRY(find_queue(r, c));
	request_step_read(r, c->partition, queue_apply_peek);
	request_step_call(r, peek_again);
	return ERR_OK;
}

static enum err format_peek(struct request *r)
{
	struct get_call *c = r->call;
	r->response.status = 200;
	rest_message_list_format(r, c->get.message, c->get.found, MESSAGE_SHOW_PEEK);
	return ERR_OK;
}

const struct handler handler_message_get = { .parse = parse_get, .format = format_get };
const struct handler handler_message_peek = { .parse = parse_peek, .format = format_peek };

/* SPDX-License-Identifier: Apache-2.0
 * Put Message: its delay and time to live, its text, and what the put answers. */
#include "rest/queue/common.h"
#include "rest/queue/message_list.h"
#include "rest/queue/message_text.h"

static enum err parse(struct request *r)
{
	struct queue_put *c = ARENA_NEW(r->arena, struct queue_put);
	int64_t delay, ttl;
	if (!c)
		return ERR_NO_MEMORY;
	TRY(rest_queue_param(r, "visibilitytimeout", 0, QUEUE_SECONDS_MAX, 0, &delay));
	int64_t ttl_max = r->version < VERSION(2017, 7, 29) ? QUEUE_SECONDS_MAX : INT64_MAX;
	bool never = ttl_max == INT64_MAX && slice_eq(request_param(r, "messagettl"), SLICE("-1"));
	if (never)
		ttl = INT64_MAX;
	else
		TRY(rest_queue_param(r, "messagettl", 1, ttl_max, QUEUE_SECONDS_MAX, &ttl));
	/* It would expire before anybody could see it. */
	if (delay >= ttl)
		return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "visibilitytimeout",
				   request_param(r, "visibilitytimeout"),
				   "messagettl must be greater than visibilitytimeout.");
	c->delay_s = (uint32_t)delay;
	c->ttl_s = never ? QUEUE_TTL_NEVER : (uint64_t)ttl;
	c->salt = rng_u64(r->rng);
	r->call = c;
	rest_message_text_expect(r);
	return rest_queue_name_check(r);
}

/* The queue is looked for last: a message that cannot be read is told before a queue that is not there. */
static enum err parse_body(struct request *r)
{
	struct queue_put *c = r->call;
	struct slice partition;
	TRY(rest_message_text_parse(r, &c->text));
	TRY(rest_queue_find_partition(r, &partition));
	request_step_write(r, partition, queue_apply_put);
	return ERR_OK;
}

static enum err format(struct request *r)
{
	struct queue_put *c = r->call;
	r->response.status = 201;
	/* Before, a put had no receipt to give. */
	if (r->version >= VERSION(2016, 5, 31))
		rest_message_list_format(r, &c->message, 1, MESSAGE_SHOW_PUT);
	return ERR_OK;
}

const struct handler handler_message_put = { .parse = parse, .parse_body = parse_body, .format = format };

/* SPDX-License-Identifier: Apache-2.0
 * Get Messages and Peek Messages. */
#include "rest/message_list.h"
#include "rest/queue_common.h"

static enum err parse_count(struct request *r, struct queue_get **ret)
{
	struct queue_get *c = arena_alloc(r->arena, sizeof *c);
	int64_t want;
	if (!c)
		return ERR_NO_MEMORY;
	TRY(queue_param(r, "numofmessages", 1, QUEUE_BATCH_MAX, 1, &want));
	/* The messages are for apply to fill: clearing 32 of them for each request would be waste. */
	c->want = (unsigned)want;
	c->timeout_s = 0;
	c->found = 0;
	r->call = c;
	*ret = c;
	return ERR_OK;
}

static enum err parse_get(struct request *r)
{
	struct queue_get *c;
	struct slice partition;
	int64_t timeout;
	TRY(parse_count(r, &c));
	TRY(queue_param(r, "visibilitytimeout", 1, QUEUE_SECONDS_MAX, QUEUE_HIDE_DEFAULT_S, &timeout));
	c->timeout_s = (uint32_t)timeout;
	TRY(queue_find_partition(r, &partition));
	request_step_write(r, partition, queue_apply_get);
	return ERR_OK;
}

static enum err format_get(struct request *r)
{
	struct queue_get *c = r->call;
	r->response.status = 200;
	message_list_format(r, c->message, c->found, MESSAGE_SHOW_GET);
	return ERR_OK;
}

static enum err parse_peek(struct request *r)
{
	struct queue_get *c;
	struct slice partition;
	TRY(parse_count(r, &c));
	TRY(queue_find_partition(r, &partition));
	request_step_read(r, partition, queue_apply_peek);
	return ERR_OK;
}

static enum err format_peek(struct request *r)
{
	struct queue_get *c = r->call;
	r->response.status = 200;
	message_list_format(r, c->message, c->found, MESSAGE_SHOW_PEEK);
	return ERR_OK;
}

const struct handler handler_message_get = { parse_get, NULL, format_get };
const struct handler handler_message_peek = { parse_peek, NULL, format_peek };

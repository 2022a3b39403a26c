/* SPDX-License-Identifier: Apache-2.0
 * Update Message, Delete Message and Clear Messages.
 *
 * An id that names nothing, or is no id at all, is 404 MessageNotFound. A receipt that cannot be one (no Base64, too
 * short) is 400; one that could, but is not of ours or does not stand for the message any more, is 404 too. */
#include "rest/queue/common.h"
#include "rest/queue/message_list.h"
#include "rest/queue/message_text.h"
#include "wire/base64.h"

/* The shortest receipt the service is known to give has 20 bytes. */
enum { RECEIPT_BYTES_LEAST = 16 };

static enum err parse_receipt(struct request *r, struct queue_change *c)
{
	struct slice text = request_param(r, "popreceipt"), bytes;
	if (!slice_is_set(text)) {
		fault_query(r, ERR_OK, "popreceipt", SLICE_NONE, NULL);
		return ERR_MISSING_REQUIRED_QUERY_PARAMETER;
	}
	/* What is no id names no message, whatever the receipt looks like. */
	c->foreign = !uuid_parse(r->object, &c->id);
	if (c->foreign)
		return ERR_OK;
	enum err e = base64_decode(text, r->arena, &bytes);
	if (e == ERR_SYNTAX || (e == ERR_OK && bytes.len < RECEIPT_BYTES_LEAST))
		return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "popreceipt", text,
				   "Invalid pop receipt format");
	if (e != ERR_OK)
		return e;
	c->foreign = !queue_receipt_decode(bytes, &c->receipt);
	return ERR_OK;
}

static enum err parse_change(struct request *r, struct queue_change **ret)
{
	struct queue_change *c = ARENA_NEW(r->arena, struct queue_change);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	*ret = c;
	return parse_receipt(r, c);
}

static enum err add_step(struct request *r, apply_fn *apply)
{
	struct slice partition;
	TRY(rest_queue_find_partition(r, &partition));
	request_step_write(r, partition, apply);
	return ERR_OK;
}

static enum err parse_delete(struct request *r)
{
	struct queue_change *c;
	TRY(parse_change(r, &c));
	return add_step(r, queue_apply_delete);
}

/* Hidden until after its end: how long it may be hidden is part of the answer. */
static enum err refused_update(struct request *r, enum err e)
{
	const struct queue_change *c = r->call;
	if (e != ERR_OUT_OF_RANGE_QUERY_PARAMETER_VALUE || !c->past_expiry)
		return e;
	return rest_queue_param_out_of_range(r, "visibilitytimeout", request_param(r, "visibilitytimeout"), 0,
					     (int64_t)c->left_s);
}

static enum err format_no_content(struct request *r)
{
	r->response.status = 204;
	return ERR_OK;
}

static enum err parse_update(struct request *r)
{
	struct queue_change *c;
	int64_t timeout;
	if (!slice_is_set(request_param(r, "visibilitytimeout"))) {
		fault_query(r, ERR_OK, "visibilitytimeout", SLICE_NONE, NULL);
		return ERR_MISSING_REQUIRED_QUERY_PARAMETER;
	}
	TRY(rest_queue_param(r, "visibilitytimeout", 0, QUEUE_SECONDS_MAX, 0, &timeout));
	TRY(parse_change(r, &c));
	c->timeout_s = (uint32_t)timeout;
	rest_message_text_expect(r);
	return ERR_OK;
}

static enum err parse_update_body(struct request *r)
{
	struct queue_change *c = r->call;
	c->has_text = r->body.len > 0;
	if (c->has_text)
		TRY(rest_message_text_parse(r, &c->text));
	return add_step(r, queue_apply_update);
}

static enum err format_update(struct request *r)
{
	struct queue_change *c = r->call;
	char receipt[MESSAGE_RECEIPT_CHARS];
	rest_message_receipt_format(&c->message.receipt, receipt);
	r->response.status = 204;
	response_header(r, "x-ms-popreceipt", slice_make(receipt, sizeof receipt));
	response_header_time(r, "x-ms-time-next-visible", c->message.visible_ticks);
	return ERR_OK;
}

static enum err parse_clear(struct request *r)
{
	struct slice partition, receipt = request_param(r, "popreceipt");
	/* A receipt is for one message, whose id got lost on the way here: not for all of them. */
	if (slice_is_set(receipt))
		return fault_query(r, ERR_UNSUPPORTED_QUERY_PARAMETER, "popreceipt", receipt, NULL);
	TRY(rest_queue_find_partition(r, &partition));
	request_step_write(r, partition, queue_apply_clear);
	return ERR_OK;
}

const struct handler handler_message_update = {
	.parse = parse_update, .parse_body = parse_update_body, .format = format_update, .refused = refused_update
};
const struct handler handler_message_delete = { .parse = parse_delete, .format = format_no_content };
const struct handler handler_message_clear = { .parse = parse_clear, .format = format_no_content };

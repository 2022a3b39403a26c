/* SPDX-License-Identifier: Apache-2.0
 * All messages of a queue, page by page, those that are hidden too. A read: no count and no receipt changes by it. The
 * receipts shown are those of the present state, so that a message can be updated or deleted by the operations that
 * every client uses. */
#include "rest/admin/explorer/api.h"
#include "rest/core/server.h"
#include "svc/account/resource.h"
#include "svc/queue/queue.h"
#include "wire/base64.h"

struct messages_call {
	struct api_call api;
	struct slice partition;
	struct queue_get get;
};

static enum err list(struct txn *txn, void *call)
{
	return queue_apply_list(txn, &((struct messages_call *)call)->get);
}

static enum err number_param(struct request *r, const char *name, uint64_t *ret)
{
	struct slice text = request_param(r, name);
	*ret = 0;
	if (slice_is_set(text) && !slice_to_u64(text, ret))
		return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, name, text, "");
	return ERR_OK;
}

enum err explorer_messages_parse(struct request *r, struct slice scope)
{
	const struct auth_account *a;
	struct resource queue;
	struct messages_call *c = ARENA_NEW(r->arena, struct messages_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(explorer_api_account(r, scope, &a));
	TRY(number_param(r, "sequence", &c->get.from.sequence));
	TRY(number_param(r, "visible", &c->get.from.visible_ticks));
	TRY(number_param(r, "visibleSequence", &c->get.from.visible_sequence));
	struct slice name = request_param(r, "queue");
	enum err e = slice_is_set(name)
			     ? resource_find(r->server->store, a->name, RESOURCE_QUEUE, name, r->arena, &queue)
			     : ERR_NOT_FOUND;
	if (e == ERR_NOT_FOUND)
		return ERR_QUEUE_NOT_FOUND;
	TRY(e);
	c->partition = resource_generation_partition(r->arena, a->name, RESOURCE_QUEUE, queue.generation);
	if (!slice_is_set(c->partition))
		return ERR_NO_MEMORY;
	c->get.want = QUEUE_BATCH_MAX;
	request_step_read(r, c->partition, list);
	return ERR_OK;
}

static void put_message(struct buf *b, const struct queue_message *m)
{
	char id[UUID_TEXT_BYTES];
	unsigned char receipt[QUEUE_RECEIPT_BYTES];
	uuid_format(&m->id, id);
	queue_receipt_encode(&m->receipt, receipt);
	BUF_PUT(b, "{");
	explorer_put_text(b, "id", slice_make(id, sizeof id));
	explorer_put_time(b, "inserted", m->inserted_ticks);
	explorer_put_time(b, "expires", m->expires_ticks);
	explorer_put_time(b, "nextVisible", m->visible_ticks);
	if (m->received_ticks) {
		explorer_put_time(b, "wasVisible", m->was_visible_ticks);
		explorer_put_time(b, "received", m->received_ticks);
	}
	explorer_put_number(b, "dequeueCount", m->dequeue_count);
	BUF_PUT(b, ",\"popReceipt\":\"");
	base64_encode(b, slice_make(receipt, sizeof receipt));
	BUF_PUT(b, "\"");
	explorer_put_text(b, "text", m->text);
	BUF_PUT(b, "}");
}

enum err explorer_messages_format(struct request *r)
{
	const struct messages_call *c = r->call;
	struct buf *b = &r->response.body;
	BUF_PUT(b, "{");
	explorer_put_time(b, "now", r->arrival_ticks);
	BUF_PUT(b, ",\"messages\":[");
	for (unsigned i = 0; i < c->get.found; i++) {
		buf_put(b, i ? SLICE(",\n") : SLICE("\n"));
		put_message(b, &c->get.message[i]);
	}
	BUF_PUT(b, "]");
	if (c->get.again) {
		/* As texts: a page's numbers are not exact past 2^53. */
		buf_printf(b, ",\"next\":{\"sequence\":\"%llu\",\"visible\":\"%llu\",\"visibleSequence\":\"%llu\"}",
			   (unsigned long long)c->get.next.sequence, (unsigned long long)c->get.next.visible_ticks,
			   (unsigned long long)c->get.next.visible_sequence);
	}
	BUF_PUT(b, "}\n");
	return ERR_OK;
}

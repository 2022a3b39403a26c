/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/message_list.h"

#include "wire/base64.h"
#include "wire/xml.h"

void message_receipt_format(const struct queue_receipt *receipt, char dst[MESSAGE_RECEIPT_CHARS])
{
	unsigned char bytes[QUEUE_RECEIPT_BYTES];
	queue_receipt_encode(receipt, bytes);
	base64_encode_to(dst, slice_make(bytes, sizeof bytes));
}

static void put_message(struct buf *b, const struct queue_message *m, enum message_show show)
{
	char id[UUID_TEXT_BYTES], receipt[MESSAGE_RECEIPT_CHARS];
	uuid_format(&m->id, id);
	xml_open(b, "QueueMessage");
	xml_put(b, "MessageId", slice_make(id, sizeof id));
	xml_put_rfc1123(b, "InsertionTime", m->inserted_ticks);
	xml_put_rfc1123(b, "ExpirationTime", m->expires_ticks);
	if (show != MESSAGE_SHOW_PEEK) {
		message_receipt_format(&m->receipt, receipt);
		xml_put(b, "PopReceipt", slice_make(receipt, sizeof receipt));
		xml_put_rfc1123(b, "TimeNextVisible", m->visible_ticks);
	}
	if (show != MESSAGE_SHOW_PUT) {
		xml_put_u64(b, "DequeueCount", m->dequeue_count);
		xml_put(b, "MessageText", m->text);
	}
	xml_close(b, "QueueMessage");
}

void message_list_format(struct request *r, const struct queue_message *m, size_t count, enum message_show show)
{
	struct buf *b = &r->response.body;
	response_header(r, "Content-Type", SLICE("application/xml"));
	if (show != MESSAGE_SHOW_PUT)
		response_header(r, "Cache-Control", SLICE("no-cache"));
	xml_begin(b);
	if (count == 0) {
		BUF_PUT(b, "<QueueMessagesList />");
		return;
	}
	xml_open(b, "QueueMessagesList");
	for (size_t i = 0; i < count; i++)
		put_message(b, &m[i], show);
	xml_close(b, "QueueMessagesList");
}

/* SPDX-License-Identifier: Apache-2.0
 * Messages as the XML list that put, get and peek answer with. See message_list.h. */
#include "rest/queue/message_list.h"

#include "wire/base64.h"
#include "wire/pen.h"
#include "wire/xml.h"

enum { MESSAGE_BYTES = 512 }; /* all but its text */

void rest_message_receipt_format(const struct queue_receipt *receipt, char dst[MESSAGE_RECEIPT_CHARS])
{
	unsigned char bytes[QUEUE_RECEIPT_BYTES];
	queue_receipt_encode(receipt, bytes);
	base64_encode_to(dst, slice_make(bytes, sizeof bytes));
}

static void put_message(struct pen *p, const struct queue_message *m, enum message_show show)
{
	if (!pen_take(p, MESSAGE_BYTES))
		return;
	PEN(p, "<QueueMessage><MessageId>");
	uuid_format(&m->id, p->at);
	p->at += UUID_TEXT_BYTES;
	PEN(p, "</MessageId>");
	PEN_DATE(p, "InsertionTime", m->inserted_ticks);
	PEN_DATE(p, "ExpirationTime", m->expires_ticks);
	if (show != MESSAGE_SHOW_PEEK) {
		PEN(p, "<PopReceipt>");
		rest_message_receipt_format(&m->receipt, p->at);
		p->at += MESSAGE_RECEIPT_CHARS;
		PEN(p, "</PopReceipt>");
		PEN_DATE(p, "TimeNextVisible", m->visible_ticks);
	}
	if (show != MESSAGE_SHOW_PUT) {
		PEN_U64(p, "DequeueCount", m->dequeue_count);
		pen_leave(p);
		xml_put(p->out, "MessageText", m->text);
		if (!pen_take(p, MESSAGE_BYTES))
			return;
	}
	PEN(p, "</QueueMessage>");
	pen_leave(p);
}

void rest_message_list_format(struct request *r, const struct queue_message *m, size_t count, enum message_show show)
{
	struct buf *b = &r->response.body;
	struct pen pen = pen_of(b);
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
		put_message(&pen, &m[i], show);
	xml_close(b, "QueueMessagesList");
}

/* SPDX-License-Identifier: Apache-2.0
 * Lists of messages, byte for byte, as put, get and peek answer them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "rest/queue/message_list.h"

#define TICKS UINT64_C(638000000000000000) /* 2022-09-28T22:13:20Z */
#define FRONT "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?><QueueMessagesList>"
#define BACK  "</QueueMessagesList>"
#define TIMES                                                                                                          \
	"<MessageId>00010203-0405-0607-0809-0a0b0c0d0e0f</MessageId>"                                                  \
	"<InsertionTime>Wed, 28 Sep 2022 22:13:20 GMT</InsertionTime>"                                                 \
	"<ExpirationTime>Fri, 31 Dec 9999 23:59:59 GMT</ExpirationTime>"
#define NEXT "<TimeNextVisible>Wed, 28 Sep 2022 22:13:21 GMT</TimeNextVisible>"

static struct queue_message message_of(struct slice text, uint32_t count)
{
	struct queue_message m = { .inserted_ticks = TICKS,
				   .expires_ticks = UINT64_MAX,
				   .visible_ticks = TICKS + 10000000,
				   .dequeue_count = count,
				   .text = text };
	for (unsigned char i = 0; i < sizeof m.id.bytes; i++)
		m.id.bytes[i] = i;
	return m;
}

static struct buf format(const struct queue_message *m, size_t count, enum message_show show, size_t limit)
{
	struct request r = { 0 };
	buf_init(&r.response.headers, 1024);
	buf_init(&r.response.body, limit);
	rest_message_list_format(&r, m, count, show);
	buf_fini(&r.response.headers);
	return r.response.body;
}

static void check(const struct queue_message *m, size_t count, enum message_show show, const char *want)
{
	struct buf b = format(m, count, show, 1 << 20);
	assert_true(buf_ok(&b));
	if (!slice_eq(buf_slice(&b), slice_str(want)))
		fail_msg("%.*s\nand not\n%s", SLICE_FMT(buf_slice(&b)), want);
	buf_fini(&b);
}

static void forms(void **state)
{
	struct queue_message m[2] = { message_of(SLICE("a<b>&\xc3\xa4"), UINT32_MAX), message_of(SLICE(""), 0) };
	char receipt[MESSAGE_RECEIPT_CHARS], want[2048];
	rest_message_receipt_format(&m[0].receipt, receipt);
	check(NULL, 0, MESSAGE_SHOW_GET, "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?><QueueMessagesList />");
	snprintf(want, sizeof want,
		 FRONT "<QueueMessage>" TIMES "<PopReceipt>%.*s</PopReceipt>" NEXT "</QueueMessage>" BACK,
		 MESSAGE_RECEIPT_CHARS, receipt);
	check(m, 1, MESSAGE_SHOW_PUT, want);
	snprintf(want, sizeof want,
		 FRONT "<QueueMessage>" TIMES "<PopReceipt>%.*s</PopReceipt>" NEXT
		       "<DequeueCount>4294967295</DequeueCount>"
		       "<MessageText>a&lt;b&gt;&amp;\xc3\xa4</MessageText></QueueMessage>" BACK,
		 MESSAGE_RECEIPT_CHARS, receipt);
	check(m, 1, MESSAGE_SHOW_GET, want);
	check(m, 2, MESSAGE_SHOW_PEEK,
	      FRONT "<QueueMessage>" TIMES "<DequeueCount>4294967295</DequeueCount>"
		    "<MessageText>a&lt;b&gt;&amp;\xc3\xa4</MessageText></QueueMessage>"
		    "<QueueMessage>" TIMES "<DequeueCount>0</DequeueCount><MessageText /></QueueMessage>" BACK);
}

/* However little room there is: it fits, or the buf says that it does not. */
static void room(void **state)
{
	struct queue_message m[2] = { message_of(SLICE("text"), 1), message_of(SLICE("text"), 1) };
	struct buf whole = format(m, 2, MESSAGE_SHOW_GET, 1 << 20);
	for (size_t limit = 0; limit < 4096; limit += 7) {
		struct buf b = format(m, 2, MESSAGE_SHOW_GET, limit);
		assert_true(b.len <= limit);
		assert_true(!buf_ok(&b) || slice_eq(buf_slice(&b), buf_slice(&whole)));
		buf_fini(&b);
	}
	buf_fini(&whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(forms), cmocka_unit_test(room) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}

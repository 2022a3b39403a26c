/* SPDX-License-Identifier: Apache-2.0
 * The short way through a message's body says what the XML reader says, for every body it takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/sys/rng.h"
#include "rest/queue/message_text.h"
#include "svc/queue/queue.h"
#include "wire/xml.h"

struct answer {
	enum err err;
	struct slice text;
};

static struct answer by_handler(struct arena *arena, struct slice body)
{
	struct request r = { .arena = arena, .body = body };
	struct answer a = { .text = SLICE_NONE };
	a.err = rest_message_text_parse(&r, &a.text);
	return a;
}

/* The same rule through the XML reader alone. */
static struct answer by_reader(struct arena *arena, struct slice body)
{
	struct xml_node *root;
	struct xml_error error;
	if (xml_parse(body, arena, &root, &error) != ERR_OK)
		return (struct answer){ ERR_INVALID_XML_DOCUMENT, SLICE_NONE };
	struct slice text;
	if (xml_child_text(root, "MessageText", &text) != ERR_OK)
		return (struct answer){ ERR_INVALID_XML_DOCUMENT, SLICE_NONE };
	if (!xml_is(root, "QueueMessage") || !slice_is_set(text))
		return (struct answer){ ERR_MISSING_REQUIRED_XML_NODE, SLICE_NONE };
	return (struct answer){ text.len > QUEUE_TEXT_BYTES_MAX ? ERR_REQUEST_BODY_TOO_LARGE : ERR_OK, text };
}

static void same(struct arena *arena, struct slice body)
{
	struct answer a = by_handler(arena, body), b = by_reader(arena, body);
	if (a.err != b.err || (a.err == ERR_OK && !slice_eq(a.text, b.text)))
		fail_msg("%s and %s for %.*s", err_name(a.err), err_name(b.err), SLICE_FMT(body));
	arena_reset(arena);
}

static void test_forms(void **state)
{
	static const char *forms[] = {
		"<QueueMessage><MessageText>abc</MessageText></QueueMessage>",
		"<QueueMessage><MessageText></MessageText></QueueMessage>",
		"<QueueMessage><MessageText/></QueueMessage>",
		"<QueueMessage><MessageText> a\n\tb </MessageText></QueueMessage>",
		"<QueueMessage>\r\n\t<MessageText>abc</MessageText>\r\n</QueueMessage>\r\n",
		"<?xml version=\"1.0\" encoding=\"utf-8\"?><QueueMessage><MessageText>abc</MessageText></QueueMessage>",
		("<?xml version=\"1.0\" encoding=\"UTF-8\" "
		 "standalone=\"yes\"?><QueueMessage><MessageText>a</MessageText></QueueMessage>"),
		"<?xml version=\"1.0\" encoding=\"utf-16\"?><QueueMessage><MessageText>a</MessageText></QueueMessage>",
		"<?xml version=\"1.0\" encoding=\"utf-8\" ?><QueueMessage><MessageText>a</MessageText></QueueMessage>",
		"\xef\xbb\xbf<QueueMessage><MessageText>abc</MessageText></QueueMessage>",
		"<QueueMessage><MessageText>a&amp;b</MessageText></QueueMessage>",
		"<QueueMessage><MessageText>a]]>b</MessageText></QueueMessage>",
		"<QueueMessage><MessageText>a\r\nb</MessageText></QueueMessage>",
		"<QueueMessage><MessageText>\x01</MessageText></QueueMessage>",
		"<QueueMessage><MessageText>\xc3\xa9</MessageText></QueueMessage>",
		"<QueueMessage><MessageText>\xc3</MessageText></QueueMessage>",
		"<QueueMessage><MessageText>a</MessageText></QueueMessage>x",
		"<QueueMessage><MessageText>a</MessageText></QueueMessage><a/>",
		"<QueueMessage><MessageText>a</MessageText><Other/></QueueMessage>",
		"<QueueMessage><MessageText>a</MessageText><MessageText>b</MessageText></QueueMessage>",
		"<QueueMessage><MessageText><order id=\"1\"/></MessageText></QueueMessage>",
		"<QueueMessage><MessageText>\n<b>c</b>\n</MessageText></QueueMessage>",
		"<QueueMessage><MessageText>a</MessageText>",
		"<QueueMessage><MessageText>a",
		" <QueueMessage><MessageText>a</MessageText></QueueMessage>",
		" <?xml version=\"1.0\" encoding=\"utf-8\"?><QueueMessage><MessageText>a</MessageText></QueueMessage>",
		"<QueueMessage><MessageText>a</Messagetext></QueueMessage>",
		"",
	};
	struct arena arena;
	arena_init(&arena, 8 * 1024 * 1024);
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		same(&arena, slice_str(forms[i]));
	arena_fini(&arena);
}

/* Every body one change away from a good one: a byte dropped, doubled, or replaced. */
static void test_mutations(void **state)
{
	static const char good[] = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<QueueMessage> <MessageText>ab "
				   "c</MessageText></QueueMessage>\n";
	static const char replacements[] = "<>&]\r\n\t \x01\x7f\xc3/?\"aA";
	struct arena arena;
	char body[sizeof good + 1];
	size_t len = sizeof good - 1;
	arena_init(&arena, 8 * 1024 * 1024);
	for (size_t i = 0; i < len; i++) {
		memcpy(body, good, i);
		memcpy(body + i, good + i + 1, len - i - 1);
		same(&arena, slice_make(body, len - 1));
		memcpy(body, good, i + 1);
		memcpy(body + i + 1, good + i, len - i);
		same(&arena, slice_make(body, len + 1));
		for (size_t k = 0; k < sizeof replacements - 1; k++) {
			memcpy(body, good, len);
			body[i] = replacements[k];
			same(&arena, slice_make(body, len));
		}
	}
	arena_fini(&arena);
}

static const char front[] = "<QueueMessage><MessageText>", back[] = "</MessageText></QueueMessage>";

/* Every byte, at every place of texts as long as some vectors. */
static void test_bytes(void **state)
{
	char body[128];
	size_t at = sizeof front - 1;
	struct arena arena;
	arena_init(&arena, 8 * 1024 * 1024);
	memcpy(body, front, at);
	for (size_t n = 1; n <= 40; n += n < 14 ? 13 : 1)
		for (size_t i = 0; i < n; i++)
			for (unsigned c = 0; c < 256; c++) {
				memset(body + at, 'x', n);
				body[at + i] = (char)c;
				memcpy(body + at + n, back, sizeof back - 1);
				same(&arena, slice_make(body, at + n + sizeof back - 1));
			}
	arena_fini(&arena);
}

static void test_size(void **state)
{
	static char body[80 * 1024];
	struct arena arena;
	arena_init(&arena, 8 * 1024 * 1024);
	for (size_t n = QUEUE_TEXT_BYTES_MAX - 1; n <= QUEUE_TEXT_BYTES_MAX + 1; n++) {
		size_t at = sizeof front - 1;
		memcpy(body, front, at);
		memset(body + at, 'x', n);
		memcpy(body + at + n, back, sizeof back - 1);
		struct answer a = by_handler(&arena, slice_make(body, at + n + sizeof back - 1));
		assert_int_equal(a.err, n <= QUEUE_TEXT_BYTES_MAX ? ERR_OK : ERR_REQUEST_BODY_TOO_LARGE);
		same(&arena, slice_make(body, at + n + sizeof back - 1));
	}
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_mutations),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_size),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

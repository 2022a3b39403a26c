/* SPDX-License-Identifier: Apache-2.0
 * The body of Put Message: the short way and the XML reader agree on every input. */
#include "rest/queue/message_text.h"

#include "base/limits.h"
#include "fuzz.h"
#include "svc/queue/queue.h"
#include "wire/xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice body = fuzz_copy(slice_make(data, size)), text = SLICE_NONE, again = SLICE_NONE;
	struct arena arena;
	struct xml_node *root;
	struct xml_error error;
	arena_init(&arena, LIMIT_REQUEST_ARENA_BYTES);
	struct request r = { .arena = &arena, .body = body };
	enum err e = rest_message_text_parse(&r, &text);
	enum err by_reader = xml_parse(body, &arena, &root, &error);
	if (e == ERR_OK) {
		CHECK(by_reader == ERR_OK && xml_is(root, "QueueMessage"));
		CHECK(xml_child_text(root, "MessageText", &again) == ERR_OK && slice_eq(again, text));
		CHECK(text.len <= QUEUE_TEXT_BYTES_MAX);
	} else if (e == ERR_INVALID_XML_DOCUMENT) {
		CHECK(by_reader == ERR_SYNTAX || xml_child_text(root, "MessageText", &again) == ERR_SYNTAX);
	}
	arena_fini(&arena);
	fuzz_free(body);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 * Nearly every message comes as one line of two elements around plain characters (Base64, JSON without markup). That
 * form is recognised by hand, a tenth of the cost of a parser; whatever deviates goes to the XML reader, which has the
 * last word. */
#include "rest/queue/message_text.h"

#include "base/wide.h"
#include "rest/common/fault_xml.h"
#include "svc/queue/queue.h"
#include "wire/xml.h"

/* 64 KiB of text may be longer on the wire (the text is what the service counts): the worst escape in use takes six
 * bytes, and the elements around come on top. */
enum { BODY_BYTES_MAX = 6 * QUEUE_TEXT_BYTES_MAX + 1024 };

void rest_message_text_expect(struct request *r)
{
	r->body_limit_bytes = BODY_BYTES_MAX;
	r->body_limit_shown = QUEUE_TEXT_BYTES_MAX;
}

static void skip_blanks(struct slice *s)
{
	while (s->len && (*s->ptr == ' ' || *s->ptr == '\t' || *s->ptr == '\r' || *s->ptr == '\n'))
		*s = slice_from(*s, 1);
}

static bool take(struct slice *s, struct slice literal)
{
	if (!slice_has_prefix(*s, literal))
		return false;
	*s = slice_from(*s, literal.len);
	return true;
}

/* All but what means itself in XML text, whatever the parser: printable ASCII without markup, and line feeds. */
static wide_t not_plain(wide_t c)
{
	return ((c < 0x20) & (c != '\n') & (c != '\t')) | (c == 0x7f) | (c == '<') | (c == '&') | (c == '>');
}

static bool take_plain_message(struct slice body, struct slice *ret)
{
	take(&body, SLICE("\xef\xbb\xbf"));
	if (take(&body, SLICE("<?xml version=\"1.0\" encoding=\"")) &&
	    !(slice_has_prefix_nocase(body, SLICE("utf-8\"")) && (body = slice_from(body, 6), true) &&
	      (take(&body, SLICE("?>")) || take(&body, SLICE(" standalone=\"yes\"?>")))))
		return false;
	skip_blanks(&body);
	if (!take(&body, SLICE("<QueueMessage>")))
		return false;
	skip_blanks(&body);
	if (!take(&body, SLICE("<MessageText>")))
		return false;
	*ret = slice_first(body, wide_find(body, not_plain));
	body = slice_from(body, ret->len);
	if (!take(&body, SLICE("</MessageText>")))
		return false;
	skip_blanks(&body);
	if (!take(&body, SLICE("</QueueMessage>")))
		return false;
	skip_blanks(&body);
	return body.len == 0;
}

enum err rest_message_text_parse(struct request *r, struct slice *ret)
{
	struct slice text;
	if (!take_plain_message(r->body, &text)) {
		struct xml_node *root;
		TRY(rest_fault_xml_parse(r, &root));
		TRY(rest_fault_xml_child_text(r, root, "MessageText", &text));
		if (!xml_is(root, "QueueMessage") || !slice_is_set(text)) {
			fault_add(r, "XmlNodeName",
				  xml_is(root, "QueueMessage") ? SLICE("MessageText") : SLICE("QueueMessage"));
			return ERR_MISSING_REQUIRED_XML_NODE;
		}
	}
	if (text.len > QUEUE_TEXT_BYTES_MAX) {
		fault_add(r, "MaxLimit", arena_printf(r->arena, "%d", QUEUE_TEXT_BYTES_MAX));
		return ERR_REQUEST_BODY_TOO_LARGE;
	}
	*ret = text;
	return ERR_OK;
}

/* SPDX-License-Identifier: Apache-2.0
 * libxml2's SAX2 events build the tree. The parser stops at the first error; what it had built stays in the arena
 * unused. Text arrives in pieces and is gathered in one buffer for the element being read; only leaves have text, so
 * one is enough.
 *
 * Within a tag libxml2 compares each attribute with all before it, and tells only at the tag's end: a document of
 * nothing else would keep its thread for minutes. So it asks for the document piece by piece and gets no more of it
 * once it has read too far without an event, whatever the encoding. */
#include <libxml/SAX2.h>
#include <libxml/parser.h>
#include <libxml/parserInternals.h>

#include "base/limits.h"
#include "wire/xml.h"

enum {
	SILENT_BYTES_MAX = 16 * 1024, /* of markup: the service's tags are far shorter */
	ATTRS_MAX = 16,		      /* of one element, and namespaces; the service has one of each */
};

struct reader {
	xmlParserCtxt *parser;
	struct slice unread;
	size_t silent_bytes; /* of markup since the last event */
	struct arena *arena;
	struct buf text;
	struct xml_node *root;
	struct xml_node *stack[LIMIT_XML_DEPTH];
	size_t depth;
	const xmlChar *last_name; /* names are interned: the same pointer is the same name */
	struct slice last_name_copy;
	enum err err;
	struct xml_error error;
};

void xml_init(void)
{
	xmlInitParser();
}

static void refuse(struct reader *r, enum err err, const char *reason)
{
	if (r->err != ERR_OK)
		return;
	r->err = err;
	r->error.reason = slice_str(reason);
	r->error.line = (unsigned)xmlSAX2GetLineNumber(r->parser);
	r->error.column = (unsigned)xmlSAX2GetColumnNumber(r->parser);
}

static void stop(struct reader *r, enum err err, const char *reason)
{
	refuse(r, err, reason);
	xmlStopParser(r->parser);
}

/* The parser is in the middle of something: it is stopped by the document's end. */
static int on_read(void *arg, char *dst, int room)
{
	struct reader *r = arg;
	struct slice piece = slice_first(r->unread, (size_t)room);
	xmlParserInputState state = r->parser->instate;
	/* These are told in one piece, but cost no more than their length. */
	if (state == XML_PARSER_CDATA_SECTION || state == XML_PARSER_COMMENT)
		r->silent_bytes = 0;
	if (r->silent_bytes > SILENT_BYTES_MAX)
		refuse(r, ERR_SYNTAX, "A tag is too long.");
	if (r->err != ERR_OK || piece.len == 0)
		return 0;
	memcpy(dst, piece.ptr, piece.len);
	r->unread = slice_from(r->unread, piece.len);
	r->silent_bytes += piece.len;
	return (int)piece.len;
}

static bool blank(struct slice s)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] != ' ' && s.ptr[i] != '\n' && s.ptr[i] != '\r' && s.ptr[i] != '\t')
			return false;
	return true;
}

static struct slice dup_name(struct reader *r, const xmlChar *name)
{
	if (name != r->last_name) {
		r->last_name_copy = arena_dup(r->arena, slice_str((const char *)name));
		r->last_name = slice_is_set(r->last_name_copy) ? name : NULL;
	}
	return r->last_name_copy;
}

/* `attributes` are five pointers each: name, prefix, URI, value, end of value. */
static bool add_attrs(struct reader *r, struct xml_node *node, int count, const xmlChar **attributes)
{
	struct xml_attr **tail = &node->attrs;
	for (int i = 0; i < count; i++, attributes += 5) {
		struct xml_attr *a = ARENA_NEW(r->arena, struct xml_attr);
		if (!a)
			return false;
		a->name = dup_name(r, attributes[0]);
		a->value = arena_dup(r->arena, slice_make(attributes[3], (size_t)(attributes[4] - attributes[3])));
		if (!slice_is_set(a->name) || !slice_is_set(a->value))
			return false;
		*tail = a;
		tail = &a->next;
	}
	return true;
}

static void on_start(void *arg, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri, int namespace_count,
		     const xmlChar **namespaces, int attr_count, int default_count, const xmlChar **attributes)
{
	struct reader *r = arg;
	r->silent_bytes = 0;
	if (r->err != ERR_OK)
		return;
	if (r->depth == LIMIT_XML_DEPTH) {
		stop(r, ERR_SYNTAX, "The document is nested too deeply.");
		return;
	}
	if (attr_count > ATTRS_MAX || namespace_count > ATTRS_MAX) {
		stop(r, ERR_SYNTAX, "An element has too many attributes.");
		return;
	}
	if (!blank(buf_slice(&r->text))) {
		stop(r, ERR_SYNTAX, "Text and elements are mixed.");
		return;
	}
	buf_clear(&r->text);
	struct xml_node *node = ARENA_NEW(r->arena, struct xml_node);
	if (!node || !slice_is_set(node->name = dup_name(r, name)) || !add_attrs(r, node, attr_count, attributes)) {
		stop(r, ERR_NO_MEMORY, "The document is too large.");
		return;
	}
	node->text = SLICE("");
	if (r->depth == 0) {
		r->root = node;
	} else {
		struct xml_node *parent = r->stack[r->depth - 1];
		if (parent->last_child)
			parent->last_child->next = node;
		else
			parent->child = node;
		parent->last_child = node;
	}
	r->stack[r->depth++] = node;
}

static void on_end(void *arg, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri)
{
	struct reader *r = arg;
	if (r->err != ERR_OK || r->depth == 0)
		return;
	struct xml_node *node = r->stack[--r->depth];
	struct slice text = buf_slice(&r->text);
	if (node->child) {
		if (!blank(text))
			stop(r, ERR_SYNTAX, "Text and elements are mixed.");
	} else if (text.len) {
		node->text = arena_dup(r->arena, text);
		if (!slice_is_set(node->text))
			stop(r, ERR_NO_MEMORY, "The document is too large.");
	}
	buf_clear(&r->text);
}

static void on_text(void *arg, const xmlChar *text, int len)
{
	struct reader *r = arg;
	r->silent_bytes = 0;
	if (r->err != ERR_OK || r->depth == 0)
		return;
	buf_put(&r->text, slice_make(text, (size_t)len));
	if (!buf_ok(&r->text))
		stop(r, ERR_NO_MEMORY, "The document is too large.");
}

static void on_doctype(void *arg, const xmlChar *name, const xmlChar *external_id, const xmlChar *system_id)
{
	stop(arg, ERR_SYNTAX, "A document type declaration is not allowed.");
}

/* Only reached for entities that are not predefined; there are none. */
static void on_reference(void *arg, const xmlChar *name)
{
	stop(arg, ERR_SYNTAX, "Entities are not allowed.");
}

static void on_error(void *arg, xmlError *e)
{
	struct reader *r = arg;
	bool bad_name = e->code == XML_NS_ERR_QNAME || e->code == XML_NS_ERR_COLON;
	if (r->err != ERR_OK || (e->level < XML_ERR_ERROR && !bad_name))
		return;
	/* A prefix that nobody declared is none of the service's concern. */
	if (e->domain == XML_FROM_NAMESPACE && !bad_name)
		return;
	r->err = e->code == XML_ERR_NO_MEMORY ? ERR_NO_MEMORY : ERR_SYNTAX;
	r->error.line = e->line > 0 ? (unsigned)e->line : 0;
	r->error.column = e->int2 > 0 ? (unsigned)e->int2 : 0;
	struct slice message = slice_str(e->message ? e->message : "");
	while (message.len && (message.ptr[message.len - 1] == '\n' || message.ptr[message.len - 1] == ' '))
		message.len--;
	r->error.reason = arena_dup(r->arena, message);
	if (!slice_is_set(r->error.reason) || message.len == 0)
		r->error.reason = SLICE("The document is not well-formed.");
	xmlStopParser(r->parser);
}

/* Some errors of encodings go past the parser's own handler, and libxml2 would print them. */
static void say_nothing(void *arg, const char *format, ...)
{
}

static void run_parser(struct reader *r)
{
	xmlSAXHandler *stock = r->parser->sax;
	xmlSAXHandler events = {
		.initialized = XML_SAX2_MAGIC,
		.startElementNs = on_start,
		.endElementNs = on_end,
		.characters = on_text,
		.ignorableWhitespace = on_text,
		.cdataBlock = on_text,
		.internalSubset = on_doctype,
		.reference = on_reference,
		.serror = on_error,
	};
	/* NOENT: also & and < in attributes come decoded; without a DOCTYPE no other entity exists. */
	xmlCtxtUseOptions(r->parser, XML_PARSE_NONET | XML_PARSE_NOENT | XML_PARSE_COMPACT);
	r->parser->sax = &events;
	r->parser->userData = r;
	xmlParseDocument(r->parser);
	r->parser->sax = stock;
	if (r->err == ERR_OK && (!r->parser->wellFormed || !r->root || r->depth != 0))
		stop(r, ERR_SYNTAX, "The document is not well-formed.");
}

enum err xml_parse(struct slice document, struct arena *arena, struct xml_node **ret_root, struct xml_error *ret_error)
{
	struct reader r = { .arena = arena, .unread = document };
	if (document.len == 0 || document.len > LIMIT_SMALL_BODY_BYTES) {
		*ret_error = (struct xml_error){ 1, 1,
						 document.len ? SLICE("The document is too large.")
							      : SLICE("The document is empty.") };
		return ERR_SYNTAX;
	}
	xmlSetGenericErrorFunc(NULL, say_nothing); /* per thread */
	r.parser = xmlCreateIOParserCtxt(NULL, NULL, on_read, NULL, &r, XML_CHAR_ENCODING_NONE);
	if (!r.parser)
		return ERR_NO_MEMORY;
	/* Other encodings grow when they become UTF-8, by three at most. */
	buf_init(&r.text, 3 * LIMIT_SMALL_BODY_BYTES);
	run_parser(&r);
	if (r.parser->myDoc)
		xmlFreeDoc(r.parser->myDoc);
	xmlFreeParserCtxt(r.parser);
	buf_fini(&r.text);
	if (r.err != ERR_OK) {
		*ret_error = r.error;
		return r.err;
	}
	*ret_root = r.root;
	return ERR_OK;
}

bool xml_is(const struct xml_node *node, const char *name)
{
	return node && slice_eq(node->name, slice_str(name));
}

struct xml_node *xml_child(const struct xml_node *node, const char *name)
{
	struct xml_node *c = node ? node->child : NULL;
	while (c && !xml_is(c, name))
		c = c->next;
	return c;
}

struct xml_node *xml_next_same(const struct xml_node *node)
{
	struct xml_node *n = node->next;
	while (n && !slice_eq(n->name, node->name))
		n = n->next;
	return n;
}

bool xml_has_text(const struct xml_node *node)
{
	return node && !blank(node->text);
}

struct slice xml_text(const struct xml_node *node)
{
	return node ? node->text : SLICE_NONE;
}

enum err xml_child_text(const struct xml_node *node, const char *name, struct slice *ret)
{
	const struct xml_node *c = xml_child(node, name);
	if (c && (c->child || xml_next_same(c)))
		return ERR_SYNTAX;
	*ret = xml_text(c);
	return ERR_OK;
}

struct slice xml_attr(const struct xml_node *node, const char *name)
{
	struct slice wanted = slice_str(name);
	for (struct xml_attr *a = node ? node->attrs : NULL; a; a = a->next)
		if (slice_eq(a->name, wanted))
			return a->value;
	return SLICE_NONE;
}

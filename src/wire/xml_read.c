/* SPDX-License-Identifier: Apache-2.0
 * Expat's events build the tree. The parser stops at the first error; what it had built stays in the arena unused. Text
 * arrives in pieces and is gathered in one buffer for the element being read; only leaves have text, so one is enough.
 *
 * Expat gathers all attributes of a tag before it tells of them, which takes half a second for a tag of 8 MiB. So it
 * gets the document piece by piece, and no more of it once a tag is too long. What is long and not a tag (a comment)
 * it reads again from its beginning with every piece: pieces double then, so that the time stays in proportion to the
 * length. */
#include <expat.h>

#include "base/limits.h"
#include "wire/xml.h"

enum {
	PIECE_BYTES = 16 * 1024,   /* of the document for expat at a time */
	TAG_BYTES_MAX = 16 * 1024, /* the service's tags are far shorter */
	ATTRS_MAX = 16,		   /* of one element, and namespaces; the service has one of each */
};

struct reader {
	XML_Parser parser;
	struct arena *arena;
	struct buf text;
	struct xml_node *root;
	struct xml_node *stack[LIMIT_XML_DEPTH];
	size_t depth;
	struct slice last_name; /* lists repeat one name a thousand times: it is copied once */
	enum err err;
	struct xml_error error;
};

static void refuse(struct reader *r, enum err err, const char *reason)
{
	if (r->err != ERR_OK)
		return;
	r->err = err;
	r->error.reason = slice_str(reason);
	r->error.line = (unsigned)XML_GetCurrentLineNumber(r->parser);
	r->error.column = (unsigned)XML_GetCurrentColumnNumber(r->parser) + 1;
}

static void stop(struct reader *r, enum err err, const char *reason)
{
	refuse(r, err, reason);
	(void)XML_StopParser(r->parser, XML_FALSE);
}

static bool blank(struct slice s)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] != ' ' && s.ptr[i] != '\n' && s.ptr[i] != '\r' && s.ptr[i] != '\t')
			return false;
	return true;
}

/* The name behind its namespace prefix, whoever declared that; absent if it has more than one colon, or none of the two
 * parts. */
static struct slice local_name(struct slice name)
{
	size_t colon = slice_find_byte(name, ':');
	if (colon == name.len)
		return name;
	struct slice local = slice_from(name, colon + 1);
	bool bad = colon == 0 || local.len == 0 || slice_find_byte(local, ':') != local.len;
	return bad ? SLICE_NONE : local;
}

static struct slice dup_name(struct reader *r, struct slice name)
{
	if (!slice_eq(name, r->last_name))
		r->last_name = arena_dup(r->arena, name);
	return r->last_name;
}

static bool is_namespace(const char *name)
{
	return strncmp(name, "xmlns", 5) == 0 && (name[5] == '\0' || name[5] == ':');
}

/* `attributes` are pairs of name and value up to a NULL. False if the element was refused. */
static bool add_attrs(struct reader *r, struct xml_node *node, const char **attributes)
{
	struct xml_attr **last = &node->attrs;
	size_t count = 0, namespaces = 0;
	for (; attributes[0]; attributes += 2) {
		size_t *seen = is_namespace(attributes[0]) ? &namespaces : &count;
		struct slice name = local_name(slice_str(attributes[0]));
		if (++*seen > ATTRS_MAX || !slice_is_set(name)) {
			stop(r, ERR_SYNTAX,
			     slice_is_set(name) ? "An element has too many attributes."
						: "The name of an attribute is malformed.");
			return false;
		}
		if (seen == &namespaces)
			continue;
		struct xml_attr *a = ARENA_NEW(r->arena, struct xml_attr);
		if (!a || !slice_is_set(a->name = arena_dup(r->arena, name)) ||
		    !slice_is_set(a->value = arena_dup(r->arena, slice_str(attributes[1])))) {
			stop(r, ERR_NO_MEMORY, "The document is too large.");
			return false;
		}
		*last = a;
		last = &a->next;
	}
	return true;
}

static void add_child(struct reader *r, struct xml_node *node)
{
	if (r->depth == 0) {
		r->root = node;
		return;
	}
	struct xml_node *parent = r->stack[r->depth - 1];
	if (parent->last_child)
		parent->last_child->next = node;
	else
		parent->child = node;
	parent->last_child = node;
}

/* What is wrong with a tag before its attributes are looked at; NULL if nothing is. */
static const char *tag_fault(const struct reader *r, struct slice name)
{
	if (r->depth == LIMIT_XML_DEPTH)
		return "The document is nested too deeply.";
	if (XML_GetCurrentByteCount(r->parser) > TAG_BYTES_MAX)
		return "A tag is too long.";
	if (!blank(buf_slice(&r->text)))
		return "Text and elements are mixed.";
	return slice_is_set(name) ? NULL : "The name of an element is malformed.";
}

static void on_start(void *arg, const char *full_name, const char **attributes)
{
	struct reader *r = arg;
	if (r->err != ERR_OK)
		return;
	struct slice name = local_name(slice_str(full_name));
	const char *fault = tag_fault(r, name);
	if (fault) {
		stop(r, ERR_SYNTAX, fault);
		return;
	}
	buf_clear(&r->text);
	struct xml_node *node = ARENA_NEW(r->arena, struct xml_node);
	if (!node || !slice_is_set(node->name = dup_name(r, name))) {
		stop(r, ERR_NO_MEMORY, "The document is too large.");
		return;
	}
	node->text = SLICE("");
	if (!add_attrs(r, node, attributes))
		return;
	add_child(r, node);
	r->stack[r->depth++] = node;
}

static void on_end(void *arg, const char *name)
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

static void on_text(void *arg, const char *text, int len)
{
	struct reader *r = arg;
	if (r->err != ERR_OK || r->depth == 0)
		return;
	buf_put(&r->text, slice_make(text, (size_t)len));
	if (!buf_ok(&r->text))
		stop(r, ERR_NO_MEMORY, "The document is too large.");
}

/* Without a document type there are no entities but the predefined ones, and nothing to fetch. */
static void on_doctype(void *arg, const char *name, const char *system_id, const char *public_id, int has_subset)
{
	stop(arg, ERR_SYNTAX, "A document type declaration is not allowed.");
}

/* A tag, not a comment, CDATA section or instruction, begins there. The zeros are of UTF-16. */
static bool is_tag(struct slice text)
{
	size_t i = 0;
	while (i < text.len && text.ptr[i] == 0)
		i++;
	if (i == text.len || text.ptr[i++] != '<')
		return false;
	while (i < text.len && text.ptr[i] == 0)
		i++;
	return i < text.len && text.ptr[i] != '!' && text.ptr[i] != '?';
}

static enum XML_Status feed(struct reader *r, struct slice document)
{
	size_t fed = 0, piece = PIECE_BYTES;
	for (;;) {
		struct slice next = slice_first(slice_from(document, fed), piece);
		fed += next.len;
		bool last = fed == document.len;
		enum XML_Status status = XML_Parse(r->parser, next.ptr, (int)next.len, last);
		if (status != XML_STATUS_OK || last)
			return status;
		/* What was not told of yet begins at the current event. */
		XML_Index told = XML_GetCurrentByteIndex(r->parser);
		size_t pending = told >= 0 && (size_t)told < fed ? fed - (size_t)told : 0;
		if (pending > TAG_BYTES_MAX && is_tag(slice_from(document, fed - pending))) {
			refuse(r, ERR_SYNTAX, "A tag is too long.");
			return XML_STATUS_ERROR;
		}
		piece = pending > PIECE_BYTES ? pending : PIECE_BYTES;
	}
}

static void run_parser(struct reader *r, struct slice document)
{
	XML_SetUserData(r->parser, r);
	XML_SetElementHandler(r->parser, on_start, on_end);
	XML_SetCharacterDataHandler(r->parser, on_text);
	XML_SetStartDoctypeDeclHandler(r->parser, on_doctype);
	enum XML_Status status = feed(r, document);
	if (status == XML_STATUS_OK && r->root && r->depth == 0)
		return;
	enum XML_Error code = XML_GetErrorCode(r->parser);
	const char *reason = status == XML_STATUS_OK ? NULL : XML_ErrorString(code);
	refuse(r, code == XML_ERROR_NO_MEMORY ? ERR_NO_MEMORY : ERR_SYNTAX,
	       reason ? reason : "The document is not well-formed.");
}

/* UTF-16 is read where a byte order mark says so. Expat would also guess it from where the zero bytes are. */
static bool guesses_utf16(struct slice document)
{
	return document.len >= 2 && (document.ptr[0] == 0 || document.ptr[1] == 0);
}

enum err xml_parse(struct slice document, struct arena *arena, struct xml_node **ret_root, struct xml_error *ret_error)
{
	struct reader r = { .arena = arena };
	if (document.len == 0 || document.len > LIMIT_SMALL_BODY_BYTES || guesses_utf16(document)) {
		struct slice reason = SLICE("The document is too large.");
		if (document.len == 0)
			reason = SLICE("The document is empty.");
		else if (guesses_utf16(document))
			reason = SLICE("The encoding of the document is not known.");
		*ret_error = (struct xml_error){ 1, 1, reason };
		return ERR_SYNTAX;
	}
	r.parser = XML_ParserCreate(NULL);
	if (!r.parser)
		return ERR_NO_MEMORY;
	/* Other encodings grow when they become UTF-8, by three at most. */
	buf_init(&r.text, 3 * LIMIT_SMALL_BODY_BYTES);
	run_parser(&r, document);
	XML_ParserFree(r.parser);
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

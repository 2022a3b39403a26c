/* SPDX-License-Identifier: Apache-2.0
 * XML as the service speaks it: elements, text, few attributes.
 *
 * The writer appends to a buf. Element names are the caller's literals and are not checked. Text and attribute values
 * are escaped; bytes that XML 1.0 cannot hold (control characters, U+FFFE, U+FFFF, malformed UTF-8) become U+FFFD,
 * except through xml_put_name, which then percent-encodes the whole text and says so (Encoded="true").
 *
 * The reader builds a small tree in the arena. Refused: any DOCTYPE, undeclared entities, more than LIMIT_XML_DEPTH
 * levels, more than LIMIT_SMALL_BODY_BYTES, tags of very many attributes, text next to child elements (blanks are
 * dropped there). Namespaces are taken off. */
#ifndef WIRE_XML_H
#define WIRE_XML_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

/* Writer */
void xml_begin(struct buf *);	    /* byte order mark and <?xml version="1.0" encoding="utf-8"?> */
void xml_begin_plain(struct buf *); /* without the mark */
static inline void xml_open(struct buf *, const char *name);				  /* <Name> */
void xml_open_attr(struct buf *, const char *name, const char *attr, struct slice value); /* <Name attr="value"> */
static inline void xml_close(struct buf *, const char *name);				  /* </Name> */
void xml_put_text(struct buf *, struct slice text);
/* <Name>text</Name>, <Name /> if it is empty or absent */
static inline void xml_put(struct buf *, const char *name, struct slice text);
void xml_put_u64(struct buf *, const char *name, uint64_t v);
void xml_put_bool(struct buf *, const char *name, bool v);
void xml_put_rfc1123(struct buf *, const char *name, uint64_t ticks);
void xml_put_iso(struct buf *, const char *name, uint64_t ticks); /* seven digits */
/* As xml_put for names of blobs, files and prefixes: <Name Encoded="true">percent-encoded</Name> if it must be. */
void xml_put_name(struct buf *, const char *name, struct slice text);
/* As xml_put_text, into memory that has room for XML_TEXT_BYTES of it: where the next byte goes. */
#define XML_TEXT_BYTES(len) (5 * (len))
char *xml_copy_text(char *dst, struct slice text);
/* All of it may stand in an XML document (escaped). */
bool xml_is_legal(struct slice text);

/* A listing has a hundred thousand elements: the length of a literal name is known when this is compiled. */
void xml_open_slice(struct buf *, struct slice name);
void xml_close_slice(struct buf *, struct slice name);
void xml_put_slice(struct buf *, struct slice name, struct slice text);
static inline void xml_open(struct buf *out, const char *name)
{
	xml_open_slice(out, slice_str(name));
}
static inline void xml_close(struct buf *out, const char *name)
{
	xml_close_slice(out, slice_str(name));
}
static inline void xml_put(struct buf *out, const char *name, struct slice text)
{
	xml_put_slice(out, slice_str(name), text);
}

/* Reader */
struct xml_attr {
	struct slice name, value;
	struct xml_attr *next;
};
struct xml_node {
	struct slice name;
	struct slice text; /* of a leaf; empty, never absent */
	struct xml_node *child, *last_child, *next;
	struct xml_attr *attrs;
};
struct xml_error {
	unsigned line, column; /* from 1; 0 if not known */
	struct slice reason;   /* in the arena or a literal */
};

/* ERR_SYNTAX with *ret_error filled, or ERR_NO_MEMORY. */
enum err xml_parse(struct slice document, struct arena *, struct xml_node **ret_root,
		   struct xml_error *ret_error) MUST_CHECK;
/* The first child of that name; NULL if there is none or node is NULL. */
struct xml_node *xml_child(const struct xml_node *, const char *name);
/* The next sibling of the same name. */
struct xml_node *xml_next_same(const struct xml_node *);
bool xml_is(const struct xml_node *, const char *name);
/* Text that is more than blanks: where elements are expected and none came, something was meant. */
bool xml_has_text(const struct xml_node *);
/* Absent if node is NULL. */
struct slice xml_text(const struct xml_node *);
/* The text of the one child of that name; absent if there is none. ERR_SYNTAX: it stands there twice or has elements
 * inside, so that no text is what the sender meant. */
enum err xml_child_text(const struct xml_node *, const char *name, struct slice *ret) MUST_CHECK;
struct slice xml_attr(const struct xml_node *, const char *name);

#endif

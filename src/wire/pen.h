/* SPDX-License-Identifier: Apache-2.0
 * Entries of XML lists and heads of answers. A page has thousands of entries, each some twenty elements around few
 * bytes that differ. So an entry is written with a pen: room for all of it is reserved at once, constant text between
 * the values is one copy of known length, and nothing is checked per piece. What has no bound (metadata, tags, the
 * text of a message) is put aside of the pen, between pen_leave and the next pen_take. */
#ifndef WIRE_PEN_H
#define WIRE_PEN_H

#include "base/buf.h"
#include "wire/date.h"
#include "wire/xml.h"

struct pen {
	struct buf *out;
	char *at;
	/* The last date that was written: entries of one second come in a row. */
	uint64_t date_second;
	char date[DATE_RFC1123_BYTES];
};

static inline struct pen pen_of(struct buf *out)
{
	return (struct pen){ .out = out, .date_second = UINT64_MAX };
}

/* Room for so many bytes; false: there is none, and the buf is marked failed. */
static inline bool pen_take(struct pen *p, size_t bytes)
{
	p->at = buf_reserve(p->out, bytes);
	return p->at != NULL;
}

static inline void pen_leave(struct pen *p)
{
	p->out->len = (size_t)(p->at - p->out->ptr);
}

static inline void pen_bytes(struct pen *p, const char *bytes, size_t len)
{
	memcpy(p->at, bytes, len);
	p->at += len;
}
#define PEN(p, literal) pen_bytes((p), literal, sizeof(literal) - 1)

static inline void pen_slice(struct pen *p, struct slice s)
{
	if (s.len)
		pen_bytes(p, s.ptr, s.len);
}
void pen_word(struct pen *, const char *word);
void pen_u64(struct pen *, uint64_t v);
void pen_date(struct pen *, uint64_t ticks); /* RFC 1123 */

#define PEN_ELEMENT(p, name, inside)                                                                                   \
	do {                                                                                                           \
		PEN(p, "<" name ">");                                                                                  \
		inside;                                                                                                \
		PEN(p, "</" name ">");                                                                                 \
	} while (0)
#define PEN_DATE(p, name, ticks) PEN_ELEMENT(p, name, pen_date(p, ticks))
#define PEN_U64(p, name, v)	 PEN_ELEMENT(p, name, pen_u64(p, v))
#define PEN_WORD(p, name, word)	 PEN_ELEMENT(p, name, pen_word(p, word))
/* <Name>text</Name>, <Name /> if it is empty or absent. Takes XML_TEXT_BYTES of room. */
#define PEN_TEXT(p, name, text)                                                                                        \
	do {                                                                                                           \
		if ((text).len) {                                                                                      \
			PEN(p, "<" name ">");                                                                          \
			(p)->at = xml_copy_text((p)->at, text);                                                        \
			PEN(p, "</" name ">");                                                                         \
		} else {                                                                                               \
			PEN(p, "<" name " />");                                                                        \
		}                                                                                                      \
	} while (0)

#endif

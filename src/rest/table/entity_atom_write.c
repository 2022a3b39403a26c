/* SPDX-License-Identifier: Apache-2.0
 * Stored entities to Atom. Element names are identifiers that were checked when the property was written. */
#include "rest/table/entity_atom.h"

#include "base/sys/rng.h"
#include "wire/base64.h"
#include "wire/json.h"
#include "wire/xml.h"

#include <math.h>

#define NAMESPACES                                                                                                     \
	" xmlns:d=\"http://schemas.microsoft.com/ado/2007/08/dataservices\""                                           \
	" xmlns:m=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\""                                  \
	" xmlns=\"http://www.w3.org/2005/Atom\""
#define SCHEME "http://schemas.microsoft.com/ado/2007/08/dataservices/scheme"

/* The value of an attribute, between double quotes. */
static void put_attribute(struct buf *b, struct slice value)
{
	while (slice_is_set(value)) {
		xml_put_text(b, slice_cut(&value, '"'));
		if (slice_is_set(value))
			BUF_PUT(b, "&quot;");
	}
}

/* <name xml:base=".." xmlns..; the tag stays open for more attributes. */
static void open_document(struct buf *b, const char *name, struct slice root)
{
	BUF_PUT(b, "<?xml version=\"1.0\" encoding=\"utf-8\"?><");
	buf_put(b, slice_str(name));
	BUF_PUT(b, " xml:base=\"");
	put_attribute(b, root);
	BUF_PUT(b, "\"" NAMESPACES);
}

/* What every entry has between its id and its properties. `link` is relative to the root. */
static void put_entry_head(struct buf *b, const struct entity_writer *w, struct slice link, struct slice title)
{
	BUF_PUT(b, "<id>");
	xml_put_text(b, w->root);
	xml_put_text(b, link);
	BUF_PUT(b, "</id><category term=\"");
	xml_put_text(b, w->account);
	buf_put_byte(b, '.');
	xml_put_text(b, title);
	BUF_PUT(b, "\" scheme=\"" SCHEME "\" /><link rel=\"edit\" title=\"");
	xml_put_text(b, title);
	BUF_PUT(b, "\" href=\"");
	put_attribute(b, link);
	BUF_PUT(b, "\" /><title /><updated>");
	buf_put(b, w->updated);
	BUF_PUT(b, "</updated><author><name /></author><content type=\"application/xml\"><m:properties>");
}

static void put_entry_end(struct buf *b)
{
	BUF_PUT(b, "</m:properties></content></entry>");
}

static void put_double(struct buf *b, double v)
{
	if (isfinite(v))
		json_put_double(b, v);
	else
		buf_put(b, isnan(v) ? SLICE("NaN") : v > 0 ? SLICE("INF") : SLICE("-INF"));
}

static void put_datetime(struct buf *b, uint64_t ticks)
{
	char text[EDM_DATETIME_TEXT_MAX];
	buf_put(b, slice_make(text, edm_datetime_format(ticks, text)));
}

static void put_guid(struct buf *b, struct slice bytes)
{
	char text[UUID_TEXT_BYTES];
	uuid_format((const struct uuid *)bytes.ptr, text);
	buf_put(b, slice_make(text, sizeof text));
}

static void put_binary(struct buf *b, struct slice bytes)
{
	char *p = buf_reserve(b, BASE64_BYTES(bytes.len));
	if (!p)
		return;
	base64_encode_to(p, bytes);
	b->len += BASE64_BYTES(bytes.len);
}

static void put_value(struct buf *b, const struct edm_value *v)
{
	switch (v->type) {
	case EDM_STRING:
		xml_put_text(b, v->bytes);
		break;
	case EDM_INT32:
	case EDM_INT64:
		buf_printf(b, "%lld", (long long)v->integer);
		break;
	case EDM_BOOLEAN:
		buf_put(b, v->boolean ? SLICE("true") : SLICE("false"));
		break;
	case EDM_DOUBLE:
		put_double(b, v->number);
		break;
	case EDM_DATETIME:
		put_datetime(b, v->ticks);
		break;
	case EDM_GUID:
		put_guid(b, v->bytes);
		break;
	case EDM_BINARY:
		put_binary(b, v->bytes);
		break;
	case EDM_NONE:
	case EDM_TYPE_COUNT:
		break;
	}
}

static void put_property(struct buf *b, struct slice name, const struct edm_value *v)
{
	BUF_PUT(b, "<d:");
	buf_put(b, name);
	if (v->type == EDM_NONE) {
		BUF_PUT(b, " m:null=\"true\" />");
		return;
	}
	if (v->type != EDM_STRING) {
		BUF_PUT(b, " m:type=\"");
		buf_put(b, edm_type_name(v->type));
		buf_put_byte(b, '"');
	}
	buf_put_byte(b, '>');
	put_value(b, v);
	BUF_PUT(b, "</d:");
	buf_put(b, name);
	buf_put_byte(b, '>');
}

static struct edm_value text_value(struct slice text)
{
	return (struct edm_value){ .type = EDM_STRING, .bytes = text };
}

static void put_all(struct buf *b, const struct entity *e)
{
	struct edm_value pk = text_value(e->partition_key), rk = text_value(e->row_key);
	struct edm_value stamp = { .type = EDM_DATETIME, .ticks = e->ticks };
	put_property(b, SLICE("PartitionKey"), &pk);
	put_property(b, SLICE("RowKey"), &rk);
	put_property(b, SLICE("Timestamp"), &stamp);
	struct property_cursor c = property_cursor_make(e->properties);
	struct property p;
	while (property_next(&c, &p))
		put_property(b, p.name, &p.value);
}

/* The value of a selected property; EDM_NONE if the entity lacks it. */
static struct edm_value find_value(const struct entity *e, struct slice name)
{
	if (slice_eq(name, SLICE("PartitionKey")))
		return text_value(e->partition_key);
	if (slice_eq(name, SLICE("RowKey")))
		return text_value(e->row_key);
	if (slice_eq(name, SLICE("Timestamp")))
		return (struct edm_value){ .type = EDM_DATETIME, .ticks = e->ticks };
	struct property_cursor c = property_cursor_make(e->properties);
	struct property p;
	while (property_next(&c, &p))
		if (slice_eq(p.name, name))
			return p.value;
	return (struct edm_value){ .type = EDM_NONE };
}

static void put_selected(struct buf *b, const struct entity_writer *w, const struct entity *e)
{
	for (size_t i = 0; i < w->select_count; i++) {
		struct edm_value v = find_value(e, w->select[i]);
		put_property(b, w->select[i], &v);
	}
}

void rest_entity_atom_write(struct buf *b, struct entity_writer *w, const struct entity *e, bool document)
{
	char etag[ENTITY_ETAG_MAX];
	if (document)
		open_document(b, "entry", w->root);
	else
		BUF_PUT(b, "<entry");
	BUF_PUT(b, " m:etag=\"");
	put_attribute(b, slice_make(etag, rest_entity_etag_format(e->ticks, etag)));
	BUF_PUT(b, "\">");
	struct buf link;
	buf_init(&link, b->limit_bytes);
	rest_entity_link_write(&link, w, e->partition_key, e->row_key);
	if (buf_ok(&link))
		put_entry_head(b, w, buf_slice(&link), w->table);
	else
		b->failed = true;
	buf_fini(&link);
	if (w->select_all)
		put_all(b, e);
	else
		put_selected(b, w, e);
	put_entry_end(b);
}

void rest_table_atom_write(struct buf *b, const struct entity_writer *w, struct slice name, bool document)
{
	struct edm_value v = text_value(name);
	char link[TABLE_NAME_MAX + 16];
	int len = snprintf(link, sizeof link, "Tables('%.*s')", SLICE_FMT(name));
	if (document)
		open_document(b, "entry", w->root);
	else
		BUF_PUT(b, "<entry");
	buf_put_byte(b, '>');
	put_entry_head(b, w, slice_make(link, (size_t)len), SLICE("Tables"));
	put_property(b, SLICE("TableName"), &v);
	put_entry_end(b);
}

void atom_feed_open(struct buf *b, const struct entity_writer *w, struct slice title)
{
	open_document(b, "feed", w->root);
	BUF_PUT(b, "><id>");
	xml_put_text(b, w->root);
	xml_put_text(b, title);
	BUF_PUT(b, "</id><title type=\"text\">");
	xml_put_text(b, title);
	BUF_PUT(b, "</title><updated>");
	buf_put(b, w->updated);
	BUF_PUT(b, "</updated><link rel=\"self\" title=\"");
	xml_put_text(b, title);
	BUF_PUT(b, "\" href=\"");
	xml_put_text(b, title);
	BUF_PUT(b, "\" />");
}

void atom_feed_close(struct buf *b)
{
	BUF_PUT(b, "</feed>");
}

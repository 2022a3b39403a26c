/* SPDX-License-Identifier: Apache-2.0
 * Structured messages in and out. The decoder is a machine over fields: it gathers a head or a checksum until it is
 * whole, then looks at it; data is handed on where it lies. */
#include "wire/http/structured.h"

#include <assert.h>

#include "wire/hash.h"

enum { MESSAGE_VERSION = 1, FLAG_CRC64 = 1 };
enum state { AT_HEAD, AT_SEGMENT_HEAD, AT_DATA, AT_SEGMENT_CRC, AT_CRC, AT_END, AT_ERROR };

bool structured_header_ok(struct slice value)
{
	struct slice properties = value, name = slice_trim(slice_cut(&properties, ';'));
	return slice_eq_nocase(name, SLICE("XSM/1.0")) && slice_is_set(properties) &&
	       slice_eq_nocase(slice_trim(properties), SLICE("properties=crc64"));
}

static uint64_t get(const unsigned char *p, size_t bytes)
{
	uint64_t v = 0;
	for (size_t i = bytes; i-- > 0;)
		v = v << 8 | p[i];
	return v;
}

static unsigned char *put(unsigned char *p, uint64_t v, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		*p++ = (unsigned char)(v >> (8 * i));
	return p;
}

void structured_decoder_init(struct structured_decoder *d)
{
	*d = (struct structured_decoder){ .state = AT_HEAD, .left_bytes = STRUCTURED_HEAD_BYTES };
}

/* Gathers a field; false: more input is needed. */
static bool field_ready(struct structured_decoder *d, struct slice *input, size_t bytes)
{
	size_t n = bytes - d->field_bytes;
	if (n > input->len)
		n = input->len;
	if (n)
		memcpy(d->field + d->field_bytes, input->ptr, n);
	d->field_bytes += n;
	*input = slice_from(*input, n);
	if (d->field_bytes < bytes)
		return false;
	d->field_bytes = 0;
	return true;
}

/* What follows a segment, or the head of a message without any. */
static void next_part(struct structured_decoder *d)
{
	if (d->segment < d->segments)
		d->state = AT_SEGMENT_HEAD;
	else
		d->state = d->checksums ? AT_CRC : AT_END;
}

/* Takes so many bytes off what the head announced; false: there are not so many. */
static bool take_length(struct structured_decoder *d, uint64_t bytes)
{
	if (bytes > d->left_bytes)
		return false;
	d->left_bytes -= bytes;
	return true;
}

static bool head_read(struct structured_decoder *d)
{
	uint64_t length = get(d->field + 1, 8), flags = get(d->field + 9, 2);
	d->segments = (unsigned)get(d->field + 11, 2);
	d->checksums = flags & FLAG_CRC64;
	d->left_bytes = length;
	if (d->field[0] != MESSAGE_VERSION || flags > FLAG_CRC64 || !take_length(d, STRUCTURED_HEAD_BYTES))
		return false;
	next_part(d);
	return true;
}

static bool segment_head_read(struct structured_decoder *d)
{
	uint64_t number = get(d->field, 2), length = get(d->field + 2, 8);
	if (number != d->segment + 1 || !take_length(d, STRUCTURED_SEGMENT_HEAD_BYTES) || !take_length(d, length))
		return false;
	d->segment++;
	d->segment_left = length;
	d->segment_crc = 0;
	d->state = AT_DATA;
	return true;
}

static void data_take(struct structured_decoder *d, struct slice *input, struct slice *ret_data)
{
	struct slice data = slice_first(*input, d->segment_left < input->len ? (size_t)d->segment_left : input->len);
	*input = slice_from(*input, data.len);
	d->segment_left -= data.len;
	d->data_bytes += data.len;
	if (d->checksums) {
		d->segment_crc = hash_crc64(d->segment_crc, data);
		d->crc = hash_crc64(d->crc, data);
	}
	*ret_data = data;
}

/* One head or checksum that is whole. */
static enum structured_result field_read(struct structured_decoder *d)
{
	switch (d->state) {
	case AT_HEAD:
		return head_read(d) ? STRUCTURED_MORE : STRUCTURED_BAD;
	case AT_SEGMENT_HEAD:
		return segment_head_read(d) ? STRUCTURED_MORE : STRUCTURED_BAD;
	case AT_SEGMENT_CRC:
		if (!take_length(d, STRUCTURED_CRC_BYTES))
			return STRUCTURED_BAD;
		next_part(d);
		return get(d->field, 8) == d->segment_crc ? STRUCTURED_MORE : STRUCTURED_CRC;
	default:
		assert(d->state == AT_CRC);
		if (!take_length(d, STRUCTURED_CRC_BYTES))
			return STRUCTURED_BAD;
		d->state = AT_END;
		return get(d->field, 8) == d->crc ? STRUCTURED_MORE : STRUCTURED_CRC;
	}
}

enum structured_result structured_decode(struct structured_decoder *d, struct slice *input, struct slice *ret_data)
{
	static const size_t field_bytes[] = { [AT_HEAD] = STRUCTURED_HEAD_BYTES,
					      [AT_SEGMENT_HEAD] = STRUCTURED_SEGMENT_HEAD_BYTES,
					      [AT_SEGMENT_CRC] = STRUCTURED_CRC_BYTES,
					      [AT_CRC] = STRUCTURED_CRC_BYTES };
	*ret_data = SLICE("");
	for (;;) {
		if (d->state == AT_ERROR)
			return STRUCTURED_BAD;
		if (d->state == AT_END)
			return d->left_bytes == 0 ? STRUCTURED_DONE : STRUCTURED_BAD;
		if (d->state == AT_DATA) {
			if (d->segment_left == 0) {
				d->state = AT_SEGMENT_CRC;
				if (!d->checksums)
					next_part(d);
				continue;
			}
			if (input->len == 0)
				return STRUCTURED_MORE;
			data_take(d, input, ret_data);
			return STRUCTURED_DATA;
		}
		if (!field_ready(d, input, field_bytes[d->state]))
			return STRUCTURED_MORE;
		enum structured_result r = field_read(d);
		if (r != STRUCTURED_MORE) {
			d->state = AT_ERROR;
			return r;
		}
	}
}

/* ---- out ---- */

static uint64_t segment_count(uint64_t data_bytes)
{
	return (data_bytes + STRUCTURED_SEGMENT_BYTES - 1) / STRUCTURED_SEGMENT_BYTES;
}

uint64_t structured_framed_bytes(uint64_t data_bytes)
{
	return STRUCTURED_HEAD_BYTES + data_bytes + STRUCTURED_CRC_BYTES +
	       segment_count(data_bytes) * (STRUCTURED_SEGMENT_HEAD_BYTES + STRUCTURED_CRC_BYTES);
}

void structured_encoder_init(struct structured_encoder *e, uint64_t data_bytes)
{
	*e = (struct structured_encoder){ .data_bytes = data_bytes };
}

size_t structured_before(const struct structured_encoder *e, unsigned char dst[STRUCTURED_BEFORE_MAX],
			 uint64_t *ret_data_bytes)
{
	unsigned char *p = dst;
	uint64_t left = e->data_bytes - e->done_bytes, in_segment = e->done_bytes % STRUCTURED_SEGMENT_BYTES;
	uint64_t room = STRUCTURED_SEGMENT_BYTES - in_segment;
	assert(left > 0 || e->data_bytes == 0);
	if (e->done_bytes == 0) {
		*p++ = MESSAGE_VERSION;
		p = put(p, structured_framed_bytes(e->data_bytes), 8);
		p = put(p, FLAG_CRC64, 2);
		p = put(p, segment_count(e->data_bytes), 2);
	}
	if (left > 0 && in_segment == 0) {
		p = put(p, e->done_bytes / STRUCTURED_SEGMENT_BYTES + 1, 2);
		p = put(p, left < STRUCTURED_SEGMENT_BYTES ? left : STRUCTURED_SEGMENT_BYTES, 8);
	}
	*ret_data_bytes = left < room ? left : room;
	return (size_t)(p - dst);
}

size_t structured_after(struct structured_encoder *e, struct slice data, unsigned char dst[STRUCTURED_AFTER_MAX])
{
	unsigned char *p = dst;
	assert(data.len <= e->data_bytes - e->done_bytes);
	e->done_bytes += data.len;
	e->segment_crc = hash_crc64(e->segment_crc, data);
	e->crc = hash_crc64(e->crc, data);
	bool over = e->done_bytes == e->data_bytes;
	if (data.len && (over || e->done_bytes % STRUCTURED_SEGMENT_BYTES == 0)) {
		p = put(p, e->segment_crc, 8);
		e->segment_crc = 0;
	}
	if (over)
		p = put(p, e->crc, 8);
	return (size_t)(p - dst);
}

void structured_encode(struct buf *b, struct slice data)
{
	struct structured_encoder e;
	unsigned char edge[STRUCTURED_BEFORE_MAX];
	structured_encoder_init(&e, data.len);
	do {
		uint64_t bytes;
		size_t n = structured_before(&e, edge, &bytes);
		buf_put(b, slice_make(edge, n));
		struct slice now = slice_first(data, (size_t)bytes);
		buf_put(b, now);
		data = slice_from(data, now.len);
		n = structured_after(&e, now, edge);
		buf_put(b, slice_make(edge, n));
	} while (data.len);
}

/* SPDX-License-Identifier: Apache-2.0
 * Structured messages: a message written out by hand, every cut of the input, every damaged byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "wire/hash.h"
#include "wire/http/structured.h"

/* "123456789" in segments of 4, 4 and 1; CRC-64/NVME of the whole is 0xAE8B14860A799888. */
static size_t by_hand(unsigned char *p)
{
	static const char digits[] = "123456789";
	size_t at = 0, lengths[] = { 4, 4, 1 }, from = 0;
	uint64_t total = 13 + 3 * 18 + 9 + 8;
#define LE(v, n)                                                                                                       \
	for (size_t i_ = 0; i_ < (n); i_++)                                                                            \
	p[at++] = (unsigned char)((uint64_t)(v) >> (8 * i_))
	LE(1, 1);
	LE(total, 8);
	LE(1, 2);
	LE(3, 2);
	for (size_t s = 0; s < 3; s++) {
		LE(s + 1, 2);
		LE(lengths[s], 8);
		memcpy(p + at, digits + from, lengths[s]);
		at += lengths[s];
		LE(hash_crc64(0, slice_make(digits + from, lengths[s])), 8);
		from += lengths[s];
	}
	LE(UINT64_C(0xAE8B14860A799888), 8);
#undef LE
	assert_int_equal(at, total);
	return at;
}

/* In pieces of this size. */
static enum structured_result decode(const unsigned char *p, size_t len, size_t piece, struct buf *out,
				     size_t *ret_left)
{
	struct structured_decoder d;
	enum structured_result r = STRUCTURED_MORE;
	size_t at = 0;
	buf_clear(out);
	structured_decoder_init(&d);
	while (at < len && r == STRUCTURED_MORE) {
		struct slice input = slice_make(p + at, len - at < piece ? len - at : piece), data;
		size_t had = input.len;
		while ((r = structured_decode(&d, &input, &data)) == STRUCTURED_DATA)
			buf_put(out, data);
		at += had - input.len;
	}
	assert_int_equal(d.data_bytes, out->len);
	*ret_left = len - at;
	return r;
}

static void a_message_by_hand_in_every_cut(void **state)
{
	unsigned char p[256];
	struct buf out;
	size_t left, len = by_hand(p);
	buf_init(&out, 4096);
	for (size_t piece = 1; piece <= len; piece++) {
		assert_int_equal(decode(p, len, piece, &out, &left), STRUCTURED_DONE);
		assert_true(slice_eq(buf_slice(&out), SLICE("123456789")));
	}
	/* What follows is left alone. */
	p[len] = 'x';
	assert_int_equal(decode(p, len + 1, 256, &out, &left), STRUCTURED_DONE);
	assert_int_equal(left, 1);
	for (size_t cut = 0; cut < len; cut++)
		assert_int_equal(decode(p, cut, 7, &out, &left), STRUCTURED_MORE);
	buf_fini(&out);
}

static void every_damaged_byte_shows(void **state)
{
	unsigned char p[256];
	struct buf out;
	size_t left, len = by_hand(p);
	buf_init(&out, 4096);
	for (size_t i = 0; i < len; i++)
		for (unsigned bit = 0; bit < 8; bit++) {
			p[i] ^= (unsigned char)(1u << bit);
			enum structured_result r = decode(p, len, 1000, &out, &left);
			assert_true(r == STRUCTURED_BAD || r == STRUCTURED_CRC || r == STRUCTURED_MORE);
			p[i] ^= (unsigned char)(1u << bit);
		}
	buf_fini(&out);
}

static void what_is_written_reads_the_same(void **state)
{
	static const size_t sizes[] = { 0,
					1,
					100,
					STRUCTURED_SEGMENT_BYTES - 1,
					STRUCTURED_SEGMENT_BYTES,
					STRUCTURED_SEGMENT_BYTES + 1,
					2 * STRUCTURED_SEGMENT_BYTES + 5 };
	char *data = malloc(2 * STRUCTURED_SEGMENT_BYTES + 5);
	struct buf framed, out;
	size_t left;
	for (size_t i = 0; i < 2 * STRUCTURED_SEGMENT_BYTES + 5; i++)
		data[i] = (char)(i * 7 + i / 251);
	buf_init(&framed, 64 << 20);
	buf_init(&out, 64 << 20);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		buf_clear(&framed);
		structured_encode(&framed, slice_make(data, sizes[i]));
		assert_int_equal(framed.len, structured_framed_bytes(sizes[i]));
		assert_int_equal(decode((const unsigned char *)framed.ptr, framed.len, 70001, &out, &left),
				 STRUCTURED_DONE);
		assert_true(slice_eq(buf_slice(&out), slice_make(data, sizes[i])));
	}
	buf_fini(&framed);
	buf_fini(&out);
	free(data);
}

static void header_values(void **state)
{
	assert_true(structured_header_ok(SLICE("XSM/1.0; properties=crc64")));
	assert_true(structured_header_ok(SLICE("xsm/1.0;properties=CRC64 ")));
	assert_false(structured_header_ok(SLICE("XSM/1.0")));
	assert_false(structured_header_ok(SLICE("XSM/1.0; properties=md5")));
	assert_false(structured_header_ok(SLICE("XSM/2.0; properties=crc64")));
	assert_false(structured_header_ok(SLICE("")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_by_hand_in_every_cut),
		cmocka_unit_test(every_damaged_byte_shows),
		cmocka_unit_test(what_is_written_reads_the_same),
		cmocka_unit_test(header_values),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

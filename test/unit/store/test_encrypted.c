/* SPDX-License-Identifier: Apache-2.0
 * Encrypted extents: every length and range comes back, the data is not what is stored, and nothing that was cut,
 * exchanged or put elsewhere opens. The cipher is a weak one of the test's own, which the store cannot know. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/sys/rng.h"
#include "engine/mem/mem.h"
#include "store/encrypted.h"

enum { FRAME = EXTENT_FRAME_BYTES, MIB_BYTES = 1024 * 1024 };

static uint64_t mix(const unsigned char *nonce, struct slice bound, struct slice data)
{
	uint64_t h = UINT64_C(14695981039346656037);
	for (size_t i = 0; i < EXTENT_NONCE_BYTES; i++)
		h = (h ^ nonce[i]) * UINT64_C(1099511628211);
	for (size_t i = 0; i < bound.len; i++)
		h = (h ^ (unsigned char)bound.ptr[i]) * UINT64_C(1099511628211);
	for (size_t i = 0; i < data.len; i++)
		h = (h ^ (unsigned char)data.ptr[i]) * UINT64_C(1099511628211);
	return h;
}

static void blur(const unsigned char *nonce, const char *in, size_t len, unsigned char *out)
{
	uint64_t s = mix(nonce, SLICE(""), SLICE(""));
	for (size_t i = 0; i < len; i++) {
		s = s * UINT64_C(6364136223846793005) + 1;
		out[i] = (unsigned char)in[i] ^ (unsigned char)(s >> 56);
	}
}

static enum err seal(const struct extent_cipher *c, const unsigned char *nonce, struct slice bound, struct slice in,
		     unsigned char *out)
{
	(void)c;
	blur(nonce, in.ptr, in.len, out);
	memset(out + in.len, 0, EXTENT_TAG_BYTES);
	bytes_store(out + in.len, mix(nonce, bound, in), 8);
	return ERR_OK;
}

static enum err open_frame(const struct extent_cipher *c, const unsigned char *nonce, struct slice bound,
			   struct slice in, unsigned char *out)
{
	unsigned char tag[8];
	size_t len = in.len - EXTENT_TAG_BYTES;
	(void)c;
	blur(nonce, in.ptr, len, out);
	bytes_store(tag, mix(nonce, bound, slice_make(out, len)), 8);
	return memcmp(tag, in.ptr + len, sizeof tag) == 0 ? ERR_OK : ERR_CORRUPT;
}

static const struct extent_cipher cipher = { .seal = seal, .open = open_frame, .identity = "mine" };

struct bench {
	struct clock clock;
	struct engine *engine;
	struct store *store;
	struct rng rng;
	unsigned char *bytes;
};
enum { BYTES_MAX = 9 * MIB_BYTES };

static void bench_open(struct bench *b)
{
	clock_init_fake(&b->clock, 1);
	struct store_options options = { .clock = &b->clock };
	assert_int_equal(engine_mem_open(NULL, &b->engine), ERR_OK);
	assert_int_equal(store_open(b->engine, &options, &b->store), ERR_OK);
	rng_init_seed(&b->rng, 5);
	b->bytes = malloc(BYTES_MAX);
	assert_non_null(b->bytes);
	rng_bytes(&b->rng, b->bytes, BYTES_MAX);
}

static void bench_close(struct bench *b)
{
	store_close(b->store);
	free(b->bytes);
}

/* In pieces of up to `step`. */
static void write_payload(struct bench *b, size_t len, uint64_t hint, size_t step, struct payload *ret)
{
	struct payload_writer *w;
	assert_int_equal(payload_writer_new(b->store, hint, &w), ERR_OK);
	payload_writer_encrypt(w, &cipher);
	for (size_t at = 0; at < len;) {
		size_t n = 1 + (size_t)rng_below(&b->rng, step);
		n = n < len - at ? n : len - at;
		assert_false(payload_writer_stays_in_memory(w, n));
		assert_int_equal(payload_append(w, slice_make(b->bytes + at, n)), ERR_OK);
		at += n;
	}
	assert_int_equal(payload_finish(w, ret), ERR_OK);
	assert_true(ret->encrypted);
	assert_int_equal(ret->length_bytes, len);
}

static void drop(struct bench *b, struct payload *p)
{
	payload_abandon(b->store, p);
	payload_fini(p);
}

static void check_whole(struct bench *b, const struct payload *p)
{
	unsigned char *back = malloc(LIMIT_EXTENT_BYTES);
	uint64_t at = 0;
	assert_non_null(back);
	for (size_t i = 0; i < p->extent_count; i++) {
		uint32_t data = extent_ref_data_bytes(&p->extents[i], true);
		assert_true(data > 0 && data < p->extents[i].length_bytes);
		/* Pages are cut out of extents: only the last may have a part of a frame. */
		assert_true(i + 1 == p->extent_count || data % FRAME == 0);
		assert_int_equal(extent_read_encrypted(b->store, &cipher, &p->extents[i], 0, data, back), ERR_OK);
		assert_memory_equal(back, b->bytes + at, data);
		assert_int_equal(extent_read(b->store, &p->extents[i], 0, data, back), ERR_OK);
		assert_true(data < 16 || memcmp(back + EXTENT_HEAD_BYTES, b->bytes + at, 16) != 0);
		at += data;
	}
	assert_int_equal(at, p->length_bytes);
	free(back);
}

static void test_lengths(void **state)
{
	static const size_t lengths[] = { 1,
					  2,
					  FRAME - 1,
					  FRAME,
					  FRAME + 1,
					  2 * FRAME,
					  EXTENT_FRAMES_MAX * FRAME,
					  EXTENT_FRAMES_MAX * FRAME + 1,
					  4 * MIB_BYTES,
					  4 * MIB_BYTES + 1,
					  BYTES_MAX };
	struct bench b;
	(void)state;
	bench_open(&b);
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
		for (int known = 0; known < 2; known++) {
			struct payload p;
			write_payload(&b, lengths[i], known ? lengths[i] : 0, 200 * 1024, &p);
			check_whole(&b, &p);
			drop(&b, &p);
		}
	struct payload none;
	write_payload(&b, 0, 0, 1, &none);
	assert_int_equal(none.extent_count, 0);
	drop(&b, &none);
	bench_close(&b);
}

static void test_ranges(void **state)
{
	struct bench b;
	struct payload p;
	unsigned char *back = malloc(LIMIT_EXTENT_BYTES);
	(void)state;
	bench_open(&b);
	write_payload(&b, 2 * MIB_BYTES + 5, 2 * MIB_BYTES + 5, 64 * 1024, &p);
	const struct extent_ref *e = &p.extents[0];
	uint32_t data = extent_data_bytes(e->length_bytes);
	for (int i = 0; i < 300; i++) {
		uint32_t at = (uint32_t)rng_below(&b.rng, data), n = 1 + (uint32_t)rng_below(&b.rng, data - at);
		if (i % 2)
			n = n % (3 * FRAME) + 1 > data - at ? 1 : n % (3 * FRAME) + 1;
		assert_int_equal(extent_read_encrypted(b.store, &cipher, e, at, n, back), ERR_OK);
		assert_memory_equal(back, b.bytes + at, n);
	}
	assert_int_equal(extent_read_encrypted(b.store, &cipher, e, data, 1, back), ERR_CORRUPT);
	assert_int_equal(extent_read_encrypted(b.store, &cipher, e, 0, data + 1, back), ERR_CORRUPT);
	drop(&b, &p);
	free(back);
	bench_close(&b);
}

/* The stored bytes of one extent, perhaps changed, as another extent. */
static struct extent_ref forge(struct bench *b, const struct extent_ref *from, uint32_t length, uint32_t flip)
{
	struct engine *e = b->engine;
	struct extent_writer *w;
	struct extent_ref ref;
	unsigned char *bytes = malloc(from->length_bytes);
	assert_non_null(bytes);
	assert_int_equal(extent_read(b->store, from, 0, from->length_bytes, bytes), ERR_OK);
	if (flip < length)
		bytes[flip] ^= 1;
	assert_int_equal(e->ops->extent_begin(e, length, &w), ERR_OK);
	assert_int_equal(e->ops->extent_append(w, slice_make(bytes, length)), ERR_OK);
	assert_int_equal(e->ops->extent_seal(w, &ref), ERR_OK);
	free(bytes);
	return ref;
}

static enum err read_first(struct bench *b, const struct extent_cipher *c, const struct extent_ref *e)
{
	unsigned char byte;
	return extent_read_encrypted(b->store, c, e, 0, 1, &byte);
}

static void test_tampering(void **state)
{
	struct bench b;
	struct payload p;
	struct extent_cipher other = cipher;
	(void)state;
	bench_open(&b);
	write_payload(&b, 2 * FRAME, 0, FRAME, &p);
	struct extent_ref *e = &p.extents[0], forged;
	assert_int_equal(read_first(&b, &cipher, e), ERR_OK);
	/* An exact copy elsewhere has another id. */
	forged = forge(&b, e, e->length_bytes, UINT32_MAX);
	assert_int_equal(read_first(&b, &cipher, &forged), ERR_CORRUPT);
	/* Under its own id, as a disk could do it: whose it is, how long it is, and every part of it count. */
	other.identity[0] ^= 1;
	assert_int_equal(read_first(&b, &other, e), ERR_CORRUPT);
	static const uint32_t flips[] = { 0, 4, 23, 24, 24 + FRAME, 24 + FRAME + 15 };
	for (size_t i = 0; i < sizeof flips / sizeof *flips; i++) {
		forged = forge(&b, e, e->length_bytes, flips[i]);
		forged.id = e->id; /* what the cipher is told; the engine is asked by its own */
		assert_int_not_equal(read_first(&b, &cipher, &forged), ERR_OK);
	}
	/* Cut behind the first frame: it does not say that it is the last. */
	forged = forge(&b, e, EXTENT_HEAD_BYTES + FRAME + EXTENT_TAG_BYTES, UINT32_MAX);
	assert_int_equal(read_first(&b, &cipher, &forged), ERR_CORRUPT);
	drop(&b, &p);
	bench_close(&b);
}

static void test_no_length_without_data(void **state)
{
	(void)state;
	for (uint32_t n = 0; n <= EXTENT_HEAD_BYTES + EXTENT_TAG_BYTES; n++)
		assert_int_equal(extent_data_bytes(n), 0);
	assert_int_equal(extent_data_bytes(EXTENT_HEAD_BYTES + EXTENT_TAG_BYTES + 1), 1);
	uint32_t full = EXTENT_HEAD_BYTES + FRAME + EXTENT_TAG_BYTES;
	assert_int_equal(extent_data_bytes(full), FRAME);
	for (uint32_t n = 1; n <= EXTENT_TAG_BYTES; n++)
		assert_int_equal(extent_data_bytes(full + n), 0);
	assert_int_equal(extent_data_bytes(full + EXTENT_TAG_BYTES + 1), FRAME + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_tampering),
		cmocka_unit_test(test_no_length_without_data),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

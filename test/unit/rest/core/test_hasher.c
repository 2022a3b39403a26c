/* SPDX-License-Identifier: Apache-2.0
 * The hasher: many bodies at once, each in windows one after another, on one and on several threads. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/sys/rng.h"
#include "rest/core/hasher.h"

enum { BODIES = 70, BODY_BYTES_MAX = 600000 };

struct body {
	struct hash_job job;
	struct hash_md5 md5;
	struct slice rest;
	size_t window_bytes;
	unsigned char expected[HASH_MD5_BYTES];
};

static struct hasher *hasher;
static struct io_loop *loop;
static size_t left;

/* The next window, or the end. */
static void body_step(struct body *b)
{
	if (b->rest.len == 0) {
		if (--left == 0)
			io_loop_stop(loop);
		return;
	}
	b->job.bytes = slice_first(b->rest, b->window_bytes);
	b->rest = slice_from(b->rest, b->window_bytes);
	hasher_submit(hasher, &b->job);
}

static void window_done(struct io_task *t)
{
	body_step(io_container_of(t, struct body, job.done));
}

static void run(unsigned threads, size_t count)
{
	static unsigned char bytes[BODY_BYTES_MAX];
	static struct body body[BODIES];
	struct rng rng;
	rng_init_seed(&rng, threads * 1000 + count);
	rng_bytes(&rng, bytes, sizeof bytes);
	assert_int_equal(io_loop_new(&loop), ERR_OK);
	assert_int_equal(hasher_new(threads, &hasher), ERR_OK);
	left = count;
	for (size_t i = 0; i < count; i++) {
		size_t length = 1 + (size_t)rng_below(&rng, BODY_BYTES_MAX), from = BODY_BYTES_MAX - length;
		body[i] = (struct body){ .rest = slice_make(bytes + from, length),
					 .window_bytes = 1 + (size_t)rng_below(&rng, 200000) };
		body[i].job.home = loop;
		body[i].job.done.run = window_done;
		body[i].job.state = &body[i].md5;
		hash_md5_init(&body[i].md5);
		hash_md5(body[i].rest, body[i].expected);
	}
	for (size_t i = 0; i < count; i++)
		body_step(&body[i]);
	io_loop_run(loop, NULL, NULL);
	for (size_t i = 0; i < count; i++) {
		unsigned char digest[HASH_MD5_BYTES];
		hash_md5_final(&body[i].md5, digest);
		assert_memory_equal(digest, body[i].expected, sizeof digest);
	}
	hasher_free(hasher);
	io_loop_free(loop);
}

static void every_body_gets_its_own_hash(void **state)
{
	static const size_t counts[] = { 1, 2, 3, 4, 7, 16, 17, BODIES };
	for (unsigned threads = 1; threads <= 3; threads++)
		for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
			run(threads, counts[i]);
}

static void an_idle_hasher_ends(void **state)
{
	assert_int_equal(hasher_new(4, &hasher), ERR_OK);
	hasher_free(hasher);
	hasher_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_body_gets_its_own_hash),
		cmocka_unit_test(an_idle_hasher_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 * Ranges of a page blob that has very many chunks: a list ends, with where to go on, before it outgrows a request. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "container.h"
#include "svc/blob/content/page.h"
#include "svc/blob/state.h"

enum { CHUNKS = 70000, PAGES_MAX = 100, RANGES_MAX = 10000 };

struct bench {
	struct container in;
};

static struct blob_target target(void)
{
	return (struct blob_target){ .name = SLICE("disk") };
}

static void write_page(struct bench *b, uint64_t offset)
{
	static const char zeros[PAGE_BYTES];
	struct extent_writer *w;
	struct extent_ref ref;
	assert_int_equal(b->in.engine->ops->extent_begin(b->in.engine, PAGE_BYTES, &w), ERR_OK);
	assert_int_equal(b->in.engine->ops->extent_append(w, slice_make(zeros, sizeof zeros)), ERR_OK);
	assert_int_equal(b->in.engine->ops->extent_seal(w, &ref), ERR_OK);
	struct payload p = { .extents = &ref, .extent_count = 1, .length_bytes = PAGE_BYTES };
	struct blob_put_page_call c = { .target = target(), .offset = offset, .length = PAGE_BYTES, .payload = &p };
	container_run(&b->in, blob_apply_put_page, &c);
}

static void bench_open(struct bench *b)
{
	struct blob_put_call put = { .target = target(),
				     .type = BLOB_PAGE,
				     .content_id = 1,
				     .page_length_bytes = (uint64_t)CHUNKS * PAGE_CHUNK_BYTES };
	container_open(&b->in);
	container_run(&b->in, blob_apply_put, &put);
	for (uint64_t i = 0; i < CHUNKS; i++)
		write_page(b, i * PAGE_CHUNK_BYTES);
}

static void bench_close(struct bench *b)
{
	store_close(b->in.store);
	arena_fini(&b->in.arena);
}

/* All ranges, by as many calls as it takes: their count, and the offset of the last. */
static size_t list(struct bench *b, uint64_t previous_ticks, uint64_t *ret_last)
{
	size_t count = 0;
	uint64_t from = 0;
	bool more = true;
	for (size_t i = 0; more; i++) {
		struct blob_page_ranges_call c = { .target = target(),
						   .from = from,
						   .limit = RANGES_MAX,
						   .diff = previous_ticks != 0,
						   .previous_ticks = previous_ticks };
		assert_int_equal(store_read(b->in.store, b->in.partition, blob_apply_page_ranges, &c, &b->in.arena),
				 ERR_OK);
		count += c.count;
		*ret_last = c.count ? c.range[c.count - 1].first : *ret_last;
		more = c.more;
		assert_true(!more || c.next > from);
		assert_true(i < PAGES_MAX);
		from = c.next;
		arena_reset(&b->in.arena);
	}
	return count;
}

static void test_differences_of_a_large_disk(void **state)
{
	static struct bench b;
	struct blob_snapshot_call snapshot = { .target = target() };
	uint64_t last = 0;
	bench_open(&b);
	assert_int_equal(list(&b, 0, &last), CHUNKS);
	container_run(&b.in, blob_apply_snapshot, &snapshot);
	uint64_t ticks = snapshot.snapshot.history_ticks;
	assert_int_equal(list(&b, ticks, &last), 0);
	uint64_t at = (uint64_t)(CHUNKS - 1) * PAGE_CHUNK_BYTES + PAGE_BYTES;
	write_page(&b, at);
	assert_int_equal(list(&b, ticks, &last), 1);
	assert_int_equal(last, at);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_differences_of_a_large_disk),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

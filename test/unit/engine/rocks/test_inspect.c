/* SPDX-License-Identifier: Apache-2.0
 * What a scrub is told about space: published or not, and what waits to be reclaimed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"

#include "folder.h"

static struct engine *engine;

static int setup(void **state)
{
	if (folder_make("inspect"))
		return -1;
	engine = folder_open();
	return 0;
}

static int teardown(void **state)
{
	engine->ops->close(engine);
	return folder_remove();
}

static struct extent_ref seal(size_t bytes)
{
	static char zeros[100000];
	struct extent_writer *w;
	struct extent_ref ref;
	assert_int_equal(engine->ops->extent_begin(engine, (uint32_t)bytes, &w), ERR_OK);
	assert_int_equal(engine->ops->extent_append(w, slice_make(zeros, bytes)), ERR_OK);
	assert_int_equal(engine->ops->extent_seal(w, &ref), ERR_OK);
	return ref;
}

static void commit(enum write_kind kind, struct extent_ref ref)
{
	folder_change_extent(engine, kind, ref);
}

struct seen {
	size_t count;
	uint64_t id;
};

static void see(void *arg, const struct extent_ref *ref)
{
	struct seen *s = arg;
	s->count++;
	s->id = ref->id;
}

static void space_is_published_while_a_commit_says_so(void **state)
{
	struct seen seen = { .count = 0 };
	bool more;
	struct extent_ref a = seal(50000), b = seal(70000);
	assert_false(engine_rocks_extent_published(engine, &a));
	commit(WRITE_PUBLISH, a);
	commit(WRITE_PUBLISH, b);
	assert_true(engine_rocks_extent_published(engine, &a));
	assert_true(engine_rocks_extent_published(engine, &b));
	assert_int_equal(engine_rocks_extent_space(&a), 13);
	/* One that would reach into space that is free, one where no file is, one of no bytes. */
	struct extent_ref longer = b, far = a, empty = a;
	longer.length_bytes = 4 * 1024 * 1024;
	far.place = UINT64_C(500) << 32;
	empty.length_bytes = 0;
	assert_false(engine_rocks_extent_published(engine, &longer));
	assert_false(engine_rocks_extent_published(engine, &far));
	assert_false(engine_rocks_extent_published(engine, &empty));

	assert_int_equal(engine_rocks_retired_each(engine, see, &seen), ERR_OK);
	assert_int_equal(seen.count, 0);
	uint64_t pin = engine->ops->pin(engine);
	commit(WRITE_RETIRE, a);
	assert_int_equal(engine_rocks_retired_each(engine, see, &seen), ERR_OK);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.id, a.id);
	assert_true(engine_rocks_extent_published(engine, &a)); /* until it is reclaimed */
	engine->ops->unpin(engine, pin);
	assert_int_equal(engine->ops->reclaim(engine, &more), ERR_OK);
	assert_false(engine_rocks_extent_published(engine, &a));
	assert_true(engine_rocks_extent_published(engine, &b));
	seen.count = 0;
	assert_int_equal(engine_rocks_retired_each(engine, see, &seen), ERR_OK);
	assert_int_equal(seen.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(space_is_published_while_a_commit_says_so, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

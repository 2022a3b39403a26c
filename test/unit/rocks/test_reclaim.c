/* SPDX-License-Identifier: Apache-2.0
 * Short of space, deleted rows are compacted away at once; but the end of the store does not wait for that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/rocks/rocks_int.h"
#include "folder.h"

enum { TABLES = 4 }; /* fewer than RocksDB compacts by itself */

static struct engine *engine;

static int setup(void **state)
{
	if (folder_make("reclaim") != 0)
		return -1;
	engine = folder_open();
	return 0;
}

static int teardown(void **state)
{
	engine->ops->close(engine);
	return folder_remove();
}

/* One table more each time, and each reaches over the others. */
static void put_and_flush(void)
{
	struct engine_group *g;
	const char *keys[] = { "a", "z" };
	assert_int_equal(engine->ops->group_begin(engine, &g), ERR_OK);
	for (int i = 0; i < 2; i++) {
		struct write w = { .kind = WRITE_PUT, .key = slice_str(keys[i]), .value = SLICE("value") };
		assert_int_equal(engine->ops->group_accept(g, SLICE("p"), &w, 1), ERR_OK);
	}
	assert_int_equal(engine->ops->group_commit(g), OUTCOME_DONE);
	assert_int_equal(rocks_flush(rocks_of(engine)), ERR_OK);
}

static int tables_not_compacted(void)
{
	struct rocks *r = rocks_of(engine);
	char *text = rocksdb_property_value_cf(r->db, r->family[FAMILY_ROWS], "rocksdb.num-files-at-level0");
	assert_non_null(text);
	uint64_t count;
	assert_true(slice_to_u64(slice_str(text), &count));
	rocksdb_free(text);
	return (int)count;
}

static void reclaim_short_of_space(void)
{
	bool more;
	struct rocks *r = rocks_of(engine);
	for (int i = 0; i < TABLES; i++)
		put_and_flush();
	assert_int_equal(tables_not_compacted(), TABLES);
	atomic_store(&r->short_of_space, true);
	atomic_store(&r->deletes_when_short, 1);
	assert_int_equal(engine->ops->reclaim(engine, &more), ERR_OK);
	atomic_store(&r->short_of_space, false);
}

static void test_deleted_rows_are_compacted(void **state)
{
	reclaim_short_of_space();
	assert_int_equal(tables_not_compacted(), 0);
}

static void test_not_when_the_end_is_near(void **state)
{
	engine->ops->reclaim_hurry(engine);
	reclaim_short_of_space();
	assert_int_equal(tables_not_compacted(), TABLES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_deleted_rows_are_compacted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_when_the_end_is_near, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

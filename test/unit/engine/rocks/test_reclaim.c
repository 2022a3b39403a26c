/* SPDX-License-Identifier: Apache-2.0
 * Short of space, deleted rows are compacted away at once; but the end of the store does not wait for that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/rocks/rocks_int.h"
#include "folder.h"

enum { ROWS = 2000, TABLES = 4 }; /* fewer than RocksDB compacts by itself */

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

static bool reclaim(void)
{
	bool more;
	assert_int_equal(engine->ops->reclaim(engine, &more), ERR_OK);
	return more;
}

static void be_short_of_space(void)
{
	atomic_store(&rocks_of(engine)->short_of_space, true);
	atomic_store(&rocks_of(engine)->deletes_when_short, 1);
}

static bool engine_hurries(void)
{
	return atomic_load(&rocks_of(engine)->hurries);
}

static void reclaim_short_of_space(void)
{
	for (int i = 0; i < TABLES; i++)
		put_and_flush();
	assert_int_equal(tables_not_compacted(), TABLES);
	be_short_of_space();
	while (reclaim())
		;
	assert_int_equal(rocks_of(engine)->deletes_when_short, engine_hurries() ? 1 : 0);
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

/* ---- a piece at a time ---- */

/* Many small tables below level 0. */
static void fill_tables(void)
{
	struct rocks *r = rocks_of(engine);
	const char *name = "target_file_size_base", *bytes = "16384";
	static char value[1000];
	char *error = NULL, key[16];
	rocksdb_set_options_cf(r->db, r->family[FAMILY_ROWS], 1, &name, &bytes, &error);
	assert_null(error);
	memset(value, 'v', sizeof value);
	for (int i = 0; i < ROWS; i++) {
		struct engine_group *g;
		if (i == ROWS / 2) /* one table alone would be moved as it is */
			assert_int_equal(rocks_flush(r), ERR_OK);
		snprintf(key, sizeof key, "k%05d", i * 7 % ROWS);
		struct write w = { .kind = WRITE_PUT, .key = slice_str(key), .value = slice_make(value, sizeof value) };
		assert_int_equal(engine->ops->group_begin(engine, &g), ERR_OK);
		assert_int_equal(engine->ops->group_accept(g, SLICE("p"), &w, 1), ERR_OK);
		assert_int_equal(engine->ops->group_commit(g), OUTCOME_DONE);
	}
	assert_int_equal(rocks_flush(r), ERR_OK);
	rocksdb_compact_range_cf(r->db, r->family[FAMILY_ROWS], NULL, 0, NULL, 0);
}

static struct extent_ref publish(void)
{
	static char bytes[100000];
	struct extent_writer *w;
	struct extent_ref extent;
	assert_int_equal(engine->ops->extent_begin(engine, sizeof bytes, &w), ERR_OK);
	assert_int_equal(engine->ops->extent_append(w, slice_make(bytes, sizeof bytes)), ERR_OK);
	assert_int_equal(engine->ops->extent_seal(w, &extent), ERR_OK);
	folder_change_extent(engine, WRITE_PUBLISH, extent);
	return extent;
}

/* What is deleted while a large store is compacted does not wait for the end of that. */
static void test_extents_are_reclaimed_between_pieces(void **state)
{
	struct engine_stats stats;
	int pieces = 1;
	fill_tables();
	struct extent_ref extent = publish();
	put_and_flush();
	be_short_of_space();
	assert_true(reclaim());
	folder_change_extent(engine, WRITE_RETIRE, extent);
	engine->ops->stats(engine, &stats);
	assert_int_equal(stats.retired_waiting, 1);
	assert_true(reclaim());
	engine->ops->stats(engine, &stats);
	assert_int_equal(stats.retired_waiting, 0);
	while (reclaim())
		pieces++;
	assert_true(pieces > 3);
	assert_int_equal(tables_not_compacted(), 0);
	assert_int_equal(rocks_of(engine)->deletes_when_short, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_deleted_rows_are_compacted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_extents_are_reclaimed_between_pieces, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_when_the_end_is_near, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

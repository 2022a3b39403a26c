/* SPDX-License-Identifier: Apache-2.0
 * A store of data format 2, where the books lay among the other rows: it opens, everything is there, and it is of
 * format 3 from then on, also if the first attempt ends half way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "folder.h"

#include <fcntl.h>
#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BOOKS = 600 }; /* rows more than fit into one step */
#define STORE SLICE("\x01store")

static struct engine *engine;

static int setup(void **state)
{
	return folder_make("upgrade");
}

static int teardown(void **state)
{
	return folder_remove();
}

static void open_it(void)
{
	engine = folder_open();
}

static void close_it(void)
{
	engine->ops->close(engine);
}

static void commit(struct slice partition, const struct write *w)
{
	struct engine_group *g;
	assert_int_equal(engine->ops->group_begin(engine, &g), ERR_OK);
	assert_int_equal(engine->ops->group_accept(g, partition, w, 1), ERR_OK);
	assert_int_equal(engine->ops->group_commit(g), OUTCOME_DONE);
}

static void put(struct slice partition, const char *key, const char *value)
{
	commit(partition, &(struct write){ .kind = WRITE_PUT, .key = slice_str(key), .value = slice_str(value) });
}

static void expect(struct slice partition, const char *key, const char *value)
{
	struct arena a;
	struct slice got;
	arena_init(&a, MIB);
	assert_int_equal(engine->ops->get(engine, NULL, partition, slice_str(key), &a, &got), ERR_OK);
	assert_true(slice_eq(got, slice_str(value)));
	arena_fini(&a);
}

static struct extent_ref publish(char fill)
{
	static char bytes[100000];
	struct extent_writer *w;
	struct extent_ref ref;
	memset(bytes, fill, sizeof bytes);
	assert_int_equal(engine->ops->extent_begin(engine, sizeof bytes, &w), ERR_OK);
	assert_int_equal(engine->ops->extent_append(w, slice_make(bytes, sizeof bytes)), ERR_OK);
	assert_int_equal(engine->ops->extent_seal(w, &ref), ERR_OK);
	commit(SLICE("p"), &(struct write){ .kind = WRITE_PUBLISH, .extent = ref });
	return ref;
}

static void write_format(const char *text)
{
	char path[128];
	snprintf(path, sizeof path, "%s/FORMAT", dir);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void expect_format(const char *text)
{
	char path[128], got[32] = "";
	snprintf(path, sizeof path, "%s/FORMAT", dir);
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(got, sizeof got, f));
	fclose(f);
	assert_string_equal(got, text);
}

static void no_error(char *error)
{
	if (error)
		fail_msg("%s", error);
}

/* The store as format 2 had it: the rows of the third family among those of the first. `keep`: so many of them stay
 * where they are as well, as after an upgrade that ended half way. */
static void make_old(size_t keep)
{
	const char *names[] = { "default", "contents", "books" };
	char path[128], *error = NULL;
	snprintf(path, sizeof path, "%s/db", dir);
	rocksdb_options_t *o = rocksdb_options_create();
	const rocksdb_options_t *options[] = { o, o, o };
	rocksdb_column_family_handle_t *family[3];
	rocksdb_t *db = rocksdb_open_column_families(o, path, 3, names, options, family, &error);
	no_error(error);
	rocksdb_readoptions_t *read = rocksdb_readoptions_create();
	rocksdb_writeoptions_t *write = rocksdb_writeoptions_create();
	rocksdb_iterator_t *it = rocksdb_create_iterator_cf(db, read, family[2]);
	size_t count = 0;
	for (rocksdb_iter_seek_to_first(it); rocksdb_iter_valid(it); rocksdb_iter_next(it), count++) {
		size_t key_len, value_len;
		const char *key = rocksdb_iter_key(it, &key_len), *value = rocksdb_iter_value(it, &value_len);
		rocksdb_put_cf(db, write, family[0], key, key_len, value, value_len, &error);
		no_error(error);
		if (count >= keep)
			rocksdb_delete_cf(db, write, family[2], key, key_len, &error);
		no_error(error);
	}
	assert_true(count > BOOKS);
	rocksdb_iter_destroy(it);
	if (!keep)
		rocksdb_drop_column_family(db, family[2], &error);
	no_error(error);
	for (int i = 0; i < 3; i++)
		rocksdb_column_family_handle_destroy(family[i]);
	rocksdb_readoptions_destroy(read);
	rocksdb_writeoptions_destroy(write);
	rocksdb_close(db);
	rocksdb_options_destroy(o);
	write_format("zaffre 2\n");
}

static void upgraded(size_t keep)
{
	char key[32];
	struct engine_stats before, after;
	open_it();
	put(SLICE("account"), "k", "v");
	put(STORE, "clock", "late");
	for (int i = 0; i < BOOKS; i++) {
		snprintf(key, sizeof key, "book %d", i);
		put(STORE, key, key);
	}
	struct extent_ref live = publish('l'), dead = publish('d');
	uint64_t pin = engine->ops->pin(engine);
	commit(SLICE("p"), &(struct write){ .kind = WRITE_RETIRE, .extent = dead });
	engine->ops->stats(engine, &before);
	assert_int_equal(before.retired_waiting, 1);
	engine->ops->unpin(engine, pin);
	close_it();
	make_old(keep);
	for (int start = 0; start < 2; start++) {
		open_it();
		expect_format("zaffre 3\n");
		expect(SLICE("account"), "k", "v");
		expect(STORE, "clock", "late");
		for (int i = 0; i < BOOKS; i++) {
			snprintf(key, sizeof key, "book %d", i);
			expect(STORE, key, key);
		}
		assert_true(engine_rocks_extent_published(engine, &live));
		engine->ops->stats(engine, &after);
		assert_int_equal(after.retired_waiting, 1);
		char byte;
		assert_int_equal(engine->ops->extent_read(engine, &live, 77, 1, &byte), ERR_OK);
		assert_int_equal(byte, 'l');
		close_it();
	}
}

static void from_format_2(void **state)
{
	upgraded(0);
}

static void from_half_way(void **state)
{
	upgraded(300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(from_format_2, setup, teardown),
		cmocka_unit_test_setup_teardown(from_half_way, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

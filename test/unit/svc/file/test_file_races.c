/* SPDX-License-Identifier: Apache-2.0
 * Clients that really race, in threads, on an engine whose commits conflict: one winner where there can be only one, no
 * directory below itself, nothing in a directory that is gone, never more than the quota, whole writes only. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "bench.h"
#include "svc/file/rows.h"

enum { RACERS = 6, ROUNDS = 60, BLOCK_BYTES = 3000 };

struct race;
struct racer {
	struct race *race;
	unsigned number;
	pthread_t thread;
	struct arena arena;
	struct file_breaks breaks;
	enum err result;
};
typedef enum err racer_fn(struct racer *);

struct race {
	struct bench b;
	pthread_barrier_t start;
	racer_fn *fn;
	struct racer racer[RACERS];
};

static struct file_target racer_target(struct racer *r, const char *path, enum file_kind kind)
{
	struct file_target t = { .kind = kind, .breaks = &r->breaks };
	if (file_path_split(&r->arena, slice_str(path), (struct file_path_rules){ false, false }, &t.place.path) !=
	    ERR_OK)
		abort();
	return t;
}

static enum err racer_run(struct racer *r, apply_fn *apply, void *call)
{
	enum err e;
	do /* as a front end does when an optimistic engine gave up */
		e = store_write_wait(r->race->b.store, r->race->b.partition, apply, call, &r->arena);
	while (e == ERR_BUSY || e == ERR_CONFLICT);
	return e;
}

static void *racer_main(void *arg)
{
	struct racer *r = arg;
	pthread_barrier_wait(&r->race->start);
	r->result = r->race->fn(r);
	return NULL;
}

/* How many of them answered ERR_OK. */
static unsigned race_run(struct race *race, racer_fn *fn)
{
	unsigned won = 0;
	race->fn = fn;
	for (unsigned i = 0; i < RACERS; i++) {
		struct racer *r = &race->racer[i];
		r->race = race;
		r->number = i;
		arena_reset(&r->arena);
		assert_int_equal(pthread_create(&r->thread, NULL, racer_main, r), 0);
	}
	for (unsigned i = 0; i < RACERS; i++) {
		assert_int_equal(pthread_join(race->racer[i].thread, NULL), 0);
		won += race->racer[i].result == ERR_OK;
	}
	arena_reset(&race->b.arena);
	return won;
}

static struct race *race_open(uint64_t seed)
{
	struct mem_options options = { .seed = seed, .conflict_permille = 50 };
	struct race *race = calloc(1, sizeof *race);
	assert_non_null(race);
	bench_open(&race->b, seed, &options);
	assert_int_equal(pthread_barrier_init(&race->start, NULL, RACERS), 0);
	for (unsigned i = 0; i < RACERS; i++)
		arena_init(&race->racer[i].arena, LIMIT_REQUEST_ARENA_BYTES);
	return race;
}

/* The books agree: use is the sum of sizes, every inode is where its id says and hangs below the root. */
struct books {
	uint64_t used, inodes;
};
static enum err apply_books(struct txn *txn, void *call)
{
	static const struct file_view live = { 0 };
	struct books *b = call;
	struct share_state state;
	struct rows rows;
	struct scan_spec spec = { .from = SLICE("n"), .until = SLICE("o") };
	*b = (struct books){ 0, 0 };
	TRY(share_state_get(txn, &state));
	TRY(txn_scan(txn, &spec, &rows));
	for (size_t i = 0; i < rows.count; i++) {
		struct inode n, by_id;
		struct slice path;
		TRY(inode_decode(rows.row[i].value, txn_arena(txn), &n));
		TRY(inode_get(txn, &live, n.id, &by_id));
		TRY(inode_path(txn, &live, n.id, &path));
		b->used += n.size_bytes;
		b->inodes++;
	}
	return b->used == state.used_bytes ? ERR_OK : ERR_CORRUPT;
}

static uint64_t inodes(struct race *race)
{
	struct books b;
	enum err e = look(&race->b, apply_books, &b);
	if (e != ERR_OK)
		fail_msg("the books: %s", err_name(e));
	arena_reset(&race->b.arena);
	return b.inodes;
}

static void race_close(struct race *race)
{
	inodes(race);
	bench_close(&race->b);
	pthread_barrier_destroy(&race->start);
	for (unsigned i = 0; i < RACERS; i++)
		arena_fini(&race->racer[i].arena);
	free(race);
}

static enum err create_one(struct racer *r)
{
	struct file_create_call c = { .target = racer_target(r, r->number % 2 ? "one" : "ONE", FILE_KIND_FILE),
				      .size_bytes = 10,
				      .never_replace = true };
	return racer_run(r, file_apply_create, &c);
}

static enum err delete_one(struct racer *r)
{
	struct file_delete_call c = { .target = racer_target(r, "one", FILE_KIND_FILE) };
	return racer_run(r, file_apply_delete, &c);
}

static enum err rename_one(struct racer *r)
{
	char to[16];
	snprintf(to, sizeof to, "to%u", r->number);
	struct file_rename_call c = { .source = racer_target(r, "one", FILE_KIND_FILE),
				      .target = racer_target(r, to, FILE_KIND_FILE) };
	return racer_run(r, file_apply_rename, &c);
}

static void test_one_winner(void **state)
{
	(void)state;
	struct race *race = race_open(1);
	for (int i = 0; i < ROUNDS; i++) {
		assert_int_equal(race_run(race, create_one), 1);
		assert_int_equal(inodes(race), 2);
		if (i % 2) {
			assert_int_equal(race_run(race, delete_one), 1);
			assert_int_equal(inodes(race), 1);
			continue;
		}
		assert_int_equal(race_run(race, rename_one), 1);
		assert_int_equal(inodes(race), 2);
		for (unsigned k = 0; k < RACERS; k++) {
			char name[16];
			snprintf(name, sizeof name, "to%u", k);
			struct file_delete_call c = { .target = target_of(&race->b, name, FILE_KIND_FILE) };
			enum err e = run(&race->b, file_apply_delete, &c);
			assert_int_equal(e, race->racer[k].result == ERR_OK ? ERR_OK : ERR_RESOURCE_NOT_FOUND);
		}
	}
	race_close(race);
}

/* Each moves its directory below its neighbour's: together that would be a circle. */
static enum err move_below(struct racer *r)
{
	char from[8], to[24];
	snprintf(from, sizeof from, "d%u", r->number);
	snprintf(to, sizeof to, "d%u/x", (r->number + 1) % RACERS);
	struct file_rename_call c = { .source = racer_target(r, from, FILE_KIND_DIRECTORY),
				      .target = racer_target(r, to, FILE_KIND_DIRECTORY) };
	return racer_run(r, file_apply_rename, &c);
}

static void test_no_circle(void **state)
{
	(void)state;
	for (int round = 0; round < 15; round++) {
		struct race *race = race_open(100 + (uint64_t)round);
		for (unsigned i = 0; i < RACERS; i++) {
			char name[8];
			snprintf(name, sizeof name, "d%u", i);
			assert_int_equal(bench_create(&race->b, name, FILE_KIND_DIRECTORY, 0), ERR_OK);
		}
		assert_in_range(race_run(race, move_below), 1, RACERS - 1);
		assert_int_equal(inodes(race), RACERS + 1); /* and each hangs below the root */
		race_close(race);
	}
}

/* Half of them create inside, the others delete the directory. */
static enum err fill_or_delete(struct racer *r)
{
	if (r->number % 2) {
		struct file_delete_call c = { .target = racer_target(r, "dir", FILE_KIND_DIRECTORY) };
		return racer_run(r, file_apply_delete, &c);
	}
	char name[16];
	snprintf(name, sizeof name, "dir/f%u", r->number);
	struct file_create_call c = { .target = racer_target(r, name, FILE_KIND_FILE) };
	return racer_run(r, file_apply_create, &c);
}

static void test_no_orphans(void **state)
{
	(void)state;
	unsigned emptied = 0, filled = 0;
	for (int round = 0; round < ROUNDS; round++) {
		struct race *race = race_open(200 + (uint64_t)round);
		assert_int_equal(bench_create(&race->b, "dir", FILE_KIND_DIRECTORY, 0), ERR_OK);
		race_run(race, fill_or_delete);
		unsigned created = 0, deleted = 0;
		for (unsigned i = 0; i < RACERS; i++) {
			created += i % 2 == 0 && race->racer[i].result == ERR_OK;
			deleted += i % 2 == 1 && race->racer[i].result == ERR_OK;
		}
		assert_true(deleted == 0 || (deleted == 1 && created == 0));
		assert_int_equal(inodes(race), deleted ? 1 : 2 + created);
		emptied += deleted;
		filled += !deleted;
		race_close(race);
	}
	assert_true(emptied + filled == ROUNDS);
}

/* Each grows a file of its own by a third of what is free: two fit once, and never more. */
static enum err grow(struct racer *r)
{
	char name[8];
	snprintf(name, sizeof name, "f%u", r->number);
	struct file_create_call c = { .target = racer_target(r, name, FILE_KIND_FILE), .size_bytes = GIB / 3 };
	return racer_run(r, file_apply_create, &c);
}

static void test_quota(void **state)
{
	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct race *race = race_open(300 + (uint64_t)round);
		struct share_call quota = { .set_quota = true, .change = { .quota_gib = 1 } };
		expect(&race->b, share_apply_set_quota, &quota, ERR_OK);
		assert_int_equal(race_run(race, grow), 3);
		race_close(race);
	}
}

static enum err take_lease(struct racer *r)
{
	struct file_modify_call c = { .target = racer_target(r, "one", FILE_KIND_FILE) };
	c.lease = (struct lease_request){ .action = LEASE_ACTION_ACQUIRE, .duration_s = LEASE_INFINITE };
	memset(c.lease.minted.bytes, (int)r->number + 1, sizeof c.lease.minted.bytes);
	return racer_run(r, file_apply_lease, &c);
}

static void test_lease(void **state)
{
	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct race *race = race_open(400 + (uint64_t)round);
		assert_int_equal(bench_create(&race->b, "one", FILE_KIND_FILE, 1), ERR_OK);
		assert_int_equal(race_run(race, take_lease), 1);
		race_close(race);
	}
}

/* Writers write all of a range; readers see it of one writer. */
static enum err write_all(struct racer *r)
{
	char bytes[BLOCK_BYTES];
	memset(bytes, 'a' + (int)r->number, sizeof bytes);
	for (int i = 0; i < 20; i++) {
		arena_reset(&r->arena);
		struct payload p = { .length_bytes = sizeof bytes,
				     .inline_bytes = slice_make(bytes, sizeof bytes),
				     .borrowed = true };
		struct file_write_call c = { .target = racer_target(r, "one", FILE_KIND_FILE),
					     .offset = 100,
					     .length = sizeof bytes,
					     .payload = &p };
		TRY(racer_run(r, file_apply_write, &c));
	}
	return ERR_OK;
}

static enum err read_all(struct racer *r)
{
	static const unsigned char zeros[BLOCK_BYTES];
	unsigned char bytes[BLOCK_BYTES];
	for (int i = 0; i < 60; i++) {
		arena_reset(&r->arena);
		struct file_get_call c = { .target = racer_target(r, "one", FILE_KIND_FILE),
					   .want_bytes = true,
					   .has_range = true,
					   .range_first = 100,
					   .range_last = 100 + BLOCK_BYTES - 1 };
		TRY(store_read(r->race->b.store, r->race->b.partition, file_apply_get, &c, &r->arena));
		read_pieces(&r->race->b, &c.pieces, bytes);
		for (size_t k = 1; k < sizeof bytes; k++)
			if (bytes[k] != bytes[0] || (bytes[0] == 0 && memcmp(bytes, zeros, sizeof zeros) != 0))
				return ERR_CORRUPT;
	}
	return ERR_OK;
}

static enum err write_or_read(struct racer *r)
{
	return r->number < RACERS / 2 ? write_all(r) : read_all(r);
}

static void test_whole_writes(void **state)
{
	(void)state;
	struct race *race = race_open(7);
	assert_int_equal(bench_create(&race->b, "one", FILE_KIND_FILE, 8000), ERR_OK);
	for (int round = 0; round < 5; round++)
		assert_int_equal(race_run(race, write_or_read), RACERS);
	race_close(race);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_winner), cmocka_unit_test(test_no_circle),
		cmocka_unit_test(test_no_orphans), cmocka_unit_test(test_quota),
		cmocka_unit_test(test_lease),	   cmocka_unit_test(test_whole_writes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

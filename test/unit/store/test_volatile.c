/* SPDX-License-Identifier: Apache-2.0
 * Volatile rows: part of transactions like other rows, in whatever way the commits go, and gone after a restart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/sys/rng.h"
#include "engine/mem/mem.h"
#include "store/key.h"
#include "store/store.h"
#include "store/volatile.h"

#include <pthread.h>
#include <stdatomic.h>

#define START_TICKS (TICKS_UNIX_EPOCH + 1000 * TICKS_PER_SECOND)
#define P	    SLICE("p")

struct job {
	struct store_job job;
	struct arena arena;
	unsigned number;
	uint64_t durable, fleeting; /* what it found */
	bool refuse, answered;
	enum err result;
};

static void done(struct store_job *j, enum err result)
{
	struct job *job = j->owner;
	assert_false(job->answered);
	job->answered = true;
	job->result = result;
}

static struct job *job_new(apply_fn *apply, unsigned number)
{
	struct job *j = calloc(1, sizeof *j);
	arena_init(&j->arena, 16 * MIB);
	j->number = number;
	j->job = (struct store_job){
		.partition = P, .apply = apply, .call = j, .arena = &j->arena, .done = done, .owner = j
	};
	return j;
}

static enum err job_end(struct job *j)
{
	enum err result = j->result;
	assert_true(j->answered);
	arena_fini(&j->arena);
	free(j);
	return result;
}

static struct store *store_on(struct engine *e, struct clock *clock)
{
	struct store *s;
	clock_init_fake(clock, START_TICKS);
	assert_int_equal(store_open(e, &(struct store_options){ .clock = clock, .manual = true }, &s), ERR_OK);
	return s;
}

static enum err run(struct store *s, struct job *j)
{
	store_write(s, &j->job);
	for (int i = 0; i < 1000 && !j->answered; i++)
		store_step(s);
	return job_end(j);
}

static enum err read_number(struct txn *t, struct slice key, uint64_t *ret)
{
	struct slice value;
	enum err err = txn_get(t, key, &value);
	*ret = 0;
	if (err == ERR_NOT_FOUND)
		return ERR_OK;
	TRY(err);
	return slice_to_u64(value, ret) ? ERR_OK : ERR_CORRUPT;
}

static struct slice number_text(struct txn *t, uint64_t n)
{
	return arena_printf(txn_arena(t), "%llu", (unsigned long long)n);
}

#define DURABLE	 SLICE("counter")
#define FLEETING SLICE("~counter-in-memory")

/* One more in both. */
static enum err apply_both(struct txn *t, void *call)
{
	struct job *j = call;
	TRY(read_number(t, DURABLE, &j->durable));
	TRY(read_number(t, FLEETING, &j->fleeting));
	TRY(txn_put(t, DURABLE, number_text(t, j->durable + 1)));
	TRY(txn_put_volatile(t, FLEETING, number_text(t, j->fleeting + 1)));
	return j->refuse ? ERR_CONDITION_NOT_MET : ERR_OK;
}

static enum err apply_fleeting(struct txn *t, void *call)
{
	struct job *j = call;
	TRY(read_number(t, FLEETING, &j->fleeting));
	return txn_put_volatile(t, FLEETING, number_text(t, j->fleeting + 1));
}

static enum err apply_look(struct txn *t, void *call)
{
	struct job *j = call;
	TRY(read_number(t, DURABLE, &j->durable));
	return read_number(t, FLEETING, &j->fleeting);
}

static void look(struct store *s, uint64_t *ret_durable, uint64_t *ret_fleeting)
{
	struct job *j = job_new(apply_look, 0);
	assert_int_equal(store_read(s, P, apply_look, j, &j->arena), ERR_OK);
	*ret_durable = j->durable;
	*ret_fleeting = j->fleeting;
	j->answered = true;
	job_end(j);
}

/* Whatever commits do, both counters count the same additions, and a refused transaction leaves neither. */
static void both_kinds_of_rows_happen_or_neither(void **state)
{
	uint64_t conflicts = 0;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct clock clock;
		struct engine *e;
		assert_int_equal(engine_mem_open(&(struct mem_options){ .seed = seed }, &e), ERR_OK);
		struct store *s = store_on(e, &clock);
		struct rng rng;
		struct job *jobs[100];
		uint64_t acknowledged = 0, durable, fleeting;
		engine_mem_set_faults(e, &(struct mem_options){ .conflict_permille = 200,
								.unknown_happened_permille = 100,
								.unknown_lost_permille = 100,
								.no_space_permille = 20 });
		rng_init_seed(&rng, seed);
		for (int i = 0; i < 100; i++) {
			jobs[i] = job_new(apply_both, 0);
			jobs[i]->refuse = rng_below(&rng, 5) == 0;
			store_write(s, &jobs[i]->job);
			if (rng_below(&rng, 3) == 0)
				store_step(s);
		}
		for (int i = 0; i < 5000; i++)
			store_step(s);
		engine_mem_set_faults(e, &(struct mem_options){ 0 });
		for (int i = 0; i < 100; i++) {
			if (jobs[i]->result == ERR_OK) /* each saw both at the same count */
				assert_int_equal(jobs[i]->durable, jobs[i]->fleeting);
			acknowledged += job_end(jobs[i]) == ERR_OK;
		}
		look(s, &durable, &fleeting);
		assert_int_equal(durable, fleeting);
		assert_int_equal(durable, acknowledged);
		struct store_stats stats;
		store_stats(s, &stats);
		conflicts += stats.conflicts;
		store_close(s);
	}
	assert_true(conflicts > 100);
}

struct watch {
	struct store *store;
	struct job *waiting;
	unsigned commits;
	uint64_t durable, fleeting; /* what a reader finds before the commit */
};

static void before_commit(void *arg, enum mem_point point)
{
	struct watch *w = arg;
	if (point != MEM_BEFORE_COMMIT)
		return;
	w->commits++;
	assert_false(w->waiting->answered);
	look(w->store, &w->durable, &w->fleeting);
}

/* A change of volatile rows alone rests on what it saw in the group: it is answered with the group, and readers do not
 * see it before. */
static void volatile_rows_wait_for_what_they_saw(void **state)
{
	struct clock clock;
	struct engine *e;
	assert_int_equal(engine_mem_open(NULL, &e), ERR_OK);
	struct store *s = store_on(e, &clock);
	assert_int_equal(run(s, job_new(apply_both, 0)), ERR_OK);
	struct job *first = job_new(apply_both, 0), *second = job_new(apply_fleeting, 0);
	struct watch w = { .store = s, .waiting = second };
	engine_mem_interfere(e, before_commit, &w);
	store_write(s, &first->job);
	store_write(s, &second->job);
	while (!second->answered)
		store_step(s);
	assert_int_equal(w.commits, 1);
	assert_int_equal(w.durable, 1);
	assert_int_equal(w.fleeting, 1);
	assert_int_equal(second->fleeting, 2); /* it saw the first's */
	uint64_t durable, fleeting;
	look(s, &durable, &fleeting);
	assert_int_equal(durable, 2);
	assert_int_equal(fleeting, 3);
	assert_int_equal(job_end(first), ERR_OK);
	assert_int_equal(job_end(second), ERR_OK);
	store_close(s);
}

static void a_restart_leaves_none(void **state)
{
	struct clock clock;
	struct engine *e, *again;
	uint64_t durable, fleeting;
	assert_int_equal(engine_mem_open(NULL, &e), ERR_OK);
	struct store *s = store_on(e, &clock);
	assert_int_equal(run(s, job_new(apply_both, 0)), ERR_OK);
	again = engine_mem_crash(e);
	store_close(s);
	s = store_on(again, &clock);
	look(s, &durable, &fleeting);
	assert_int_equal(durable, 1);
	assert_int_equal(fleeting, 0);
	store_close(s);
}

/* ---- scans ---- */

static struct slice row_key(struct key *k, uint64_t group, uint64_t n)
{
	key_init(k);
	key_tag(k, KEY_TAG_VOLATILE);
	key_tag(k, 'o');
	key_u64(k, group);
	key_u64(k, n);
	return key_slice(k);
}

static enum err apply_rows(struct txn *t, void *call)
{
	struct job *j = call;
	struct key k;
	for (unsigned i = 0; i < j->number; i++)
		TRY(txn_put_volatile(t, row_key(&k, 1 + i % 3, i), SLICE("x")));
	return ERR_OK;
}

/* In the transaction: one of the group's rows deleted, one added; the scan shows it so, in pages of any size. */
static enum err apply_scan(struct txn *t, void *call)
{
	struct job *j = call;
	struct key from, until, k;
	TRY(txn_del_volatile(t, row_key(&k, 2, 4)));
	TRY(txn_put_volatile(t, row_key(&k, 2, 5), SLICE("y")));
	key_init(&from);
	key_tag(&from, KEY_TAG_VOLATILE);
	key_tag(&from, 'o');
	key_u64(&from, 2);
	until = from;
	key_prefix_end(&until);
	struct scan_spec spec = { .from = key_slice(&from), .until = key_slice(&until), .limit_rows = j->number };
	uint64_t found[64], n = 0;
	for (;;) {
		struct rows rows;
		TRY(txn_scan(t, &spec, &rows));
		for (size_t i = 0; i < rows.count; i++) {
			struct slice rest = slice_from(rows.row[i].key, 2 + KEY_U64_BYTES);
			assert_true(n < 64 && key_take_u64(&rest, &found[n]));
			assert_true(n == 0 || found[n] > found[n - 1]);
			n++;
		}
		if (!rows.more)
			break;
		key_after(&from, rows.row[rows.count - 1].key);
		spec.from = key_slice(&from);
	}
	/* 1, 7, 10 ... 28 and 5 instead of 4: rows i with i % 3 == 1 below 30. */
	assert_int_equal(n, 10);
	assert_int_equal(found[0], 1);
	assert_int_equal(found[1], 5);
	assert_int_equal(found[2], 7);
	return ERR_OK;
}

static void scans_merge_own_writes(void **state)
{
	struct clock clock;
	struct engine *e;
	assert_int_equal(engine_mem_open(NULL, &e), ERR_OK);
	struct store *s = store_on(e, &clock);
	assert_int_equal(run(s, job_new(apply_rows, 30)), ERR_OK);
	for (unsigned page = 0; page < 12; page++) {
		struct job *j = job_new(apply_scan, page);
		assert_int_equal(store_read(s, P, apply_scan, j, &j->arena), ERR_OK); /* thrown away */
		j->answered = true;
		job_end(j);
	}
	assert_int_equal(run(s, job_new(apply_scan, 4)), ERR_OK);
	store_close(s);
}

/* ---- one moment ---- */

struct moment {
	struct store *store;
	unsigned runs;
	bool meddled;
};

/* Reads a durable row, then (the first time) somebody changes both, then it looks at the volatile one. */
static enum err apply_moment(struct txn *t, void *call)
{
	struct moment *m = call;
	uint64_t durable, fleeting;
	m->runs++;
	TRY(read_number(t, DURABLE, &durable));
	if (!m->meddled) {
		m->meddled = true;
		assert_int_equal(run(m->store, job_new(apply_both, 0)), ERR_OK);
	}
	TRY(read_number(t, FLEETING, &fleeting));
	assert_int_equal(durable, fleeting);
	return ERR_OK;
}

static enum err apply_drop(struct txn *t, void *call)
{
	return txn_del_volatile(t, FLEETING);
}

/* A row that came and went between the snapshot and the look: not as if there had been none. */
static enum err apply_came_and_went(struct txn *t, void *call)
{
	struct moment *m = call;
	uint64_t durable;
	m->runs++;
	TRY(read_number(t, DURABLE, &durable));
	if (!m->meddled) {
		m->meddled = true;
		assert_true(txn_volatile_is_empty(t));
		assert_int_equal(run(m->store, job_new(apply_fleeting, 0)), ERR_OK);
		assert_false(txn_volatile_is_empty(t));
		assert_int_equal(run(m->store, job_new(apply_drop, 0)), ERR_OK);
		assert_false(txn_volatile_is_empty(t));
	}
	uint64_t fleeting;
	return read_number(t, FLEETING, &fleeting);
}

static void what_came_and_went_is_noticed(void **state)
{
	struct clock clock;
	struct engine *e;
	struct arena arena;
	assert_int_equal(engine_mem_open(NULL, &e), ERR_OK);
	struct store *s = store_on(e, &clock);
	struct moment m = { .store = s };
	arena_init(&arena, MIB);
	assert_int_equal(store_read(s, P, apply_came_and_went, &m, &arena), ERR_OK);
	assert_int_equal(m.runs, 2);
	arena_fini(&arena);
	store_close(s);
}

static void a_read_belongs_to_one_moment(void **state)
{
	struct clock clock;
	struct engine *e;
	struct arena arena;
	assert_int_equal(engine_mem_open(NULL, &e), ERR_OK);
	struct store *s = store_on(e, &clock);
	assert_int_equal(run(s, job_new(apply_both, 0)), ERR_OK);
	struct moment m = { .store = s };
	arena_init(&arena, MIB);
	assert_int_equal(store_read(s, P, apply_moment, &m, &arena), ERR_OK);
	assert_int_equal(m.runs, 2);
	arena_fini(&arena);
	store_close(s);
}

/* ---- memory ---- */

enum { FILL_ROWS = 64, FILL_BYTES = 64 * 1024 };

/* The rows of one number get values of this length; none: they are deleted. */
static enum err apply_fill(struct txn *t, void *call)
{
	const struct job *j = call;
	struct key k;
	size_t length = j->durable;
	char *bytes = arena_alloc(txn_arena(t), FILL_BYTES);
	assert_non_null(bytes);
	memset(bytes, 'x', FILL_BYTES);
	for (unsigned i = 0; i < FILL_ROWS; i++) {
		struct slice key = row_key(&k, 1, (uint64_t)j->number * FILL_ROWS + i);
		TRY(length ? txn_put_volatile(t, key, slice_make(bytes, length)) : txn_del_volatile(t, key));
	}
	return ERR_OK;
}

static enum err fill(struct store *s, const char *partition, unsigned number, size_t length)
{
	struct job *j = job_new(apply_fill, number);
	j->job.partition = slice_str(partition);
	j->durable = length;
	return run(s, j);
}

/* So many sets of rows until one is refused. */
static unsigned fill_up(struct store *s, const char *partition, unsigned from)
{
	for (unsigned i = from;; i++) {
		enum err err = fill(s, partition, i, FILL_BYTES);
		if (err != ERR_OK) {
			assert_int_equal(err, ERR_HANDLE_LIMIT_EXCEEDED);
			return i - from;
		}
		assert_true(i - from < 1000);
	}
}

/* One account gets half of the memory, the next half of what is left, and what one gives back is there again. An
 * account that may add no row can still change and delete those that it has. */
static void an_account_leaves_room_for_others(void **state)
{
	struct clock clock;
	struct engine *e;
	assert_int_equal(engine_mem_open(NULL, &e), ERR_OK);
	struct store *s = store_on(e, &clock);
	const unsigned all = LIMIT_VOLATILE_BYTES / (FILL_ROWS * FILL_BYTES);
	unsigned first = fill_up(s, "one\x01s7", 0);
	assert_in_range(first, all / 2 - 1, all / 2);
	assert_int_equal(fill_up(s, "one\x01s8", 0), 0); /* another share of it */
	unsigned second = fill_up(s, "two\x01s7", 0);
	assert_in_range(second, all / 4 - 1, all / 4);
	assert_int_equal(fill(s, "one\x01s7", 0, FILL_BYTES), ERR_OK);
	assert_int_equal(fill(s, "one\x01s7", 0, FILL_BYTES - 1), ERR_OK);
	assert_int_equal(fill(s, "one\x01s7", 0, FILL_BYTES), ERR_HANDLE_LIMIT_EXCEEDED);
	for (unsigned i = 0; i < second; i++)
		assert_int_equal(fill(s, "two\x01s7", i, 0), ERR_OK);
	assert_int_equal(fill_up(s, "two\x01s7", 0), second);
	for (unsigned i = 0; i < second; i++)
		assert_int_equal(fill(s, "two\x01s7", i, 0), ERR_OK);
	for (unsigned i = 0; i < first; i++)
		assert_int_equal(fill(s, "one\x01s7", i, 0), ERR_OK);
	assert_int_equal(fill_up(s, "two\x01s7", 0), first);
	store_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_kinds_of_rows_happen_or_neither),
		cmocka_unit_test(volatile_rows_wait_for_what_they_saw),
		cmocka_unit_test(a_restart_leaves_none),
		cmocka_unit_test(scans_merge_own_writes),
		cmocka_unit_test(a_read_belongs_to_one_moment),
		cmocka_unit_test(what_came_and_went_is_noticed),
		cmocka_unit_test(an_account_leaves_room_for_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 * The committer on an engine whose commits lose, stay unknown, run full and fail: what is acknowledged happened exactly
 * once, what is refused did not happen, and no answer goes out before what it rests on is durable. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/sys/rng.h"
#include "engine/mem/mem.h"
#include "store/key.h"
#include "store/mutant.h"
#include "store/record.h"
#include "store/store.h"

#include <pthread.h>
#include <stdatomic.h>

#define START_TICKS (TICKS_UNIX_EPOCH + 1000 * TICKS_PER_SECOND)

struct job {
	struct store_job job;
	struct arena arena;
	const char *key;
	const char *value;
	unsigned runs, number;
	bool answered;
	enum err result;
	uint64_t now, seen;
	unsigned order; /* in which dones came */
};

static unsigned answers; /* in the order of dones */

static void done(struct store_job *j, enum err result)
{
	struct job *job = j->owner;
	assert_false(job->answered);
	job->answered = true;
	job->result = result;
	job->order = ++answers;
}

static struct job *job_new(struct slice partition, apply_fn *apply, const char *key, const char *value)
{
	struct job *j = calloc(1, sizeof *j);
	arena_init(&j->arena, 64 * MIB);
	j->key = key;
	j->value = value;
	j->job = (struct store_job){
		.partition = partition, .apply = apply, .call = j, .arena = &j->arena, .done = done, .owner = j
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

static struct store *open_on(struct engine *e, struct clock *clock)
{
	struct store *s;
	assert_int_equal(store_open(e, &(struct store_options){ .clock = clock, .manual = true }, &s), ERR_OK);
	return s;
}

static struct store *open_new(struct clock *clock, struct engine **ret_engine)
{
	assert_int_equal(engine_mem_open(NULL, ret_engine), ERR_OK);
	clock_init_fake(clock, START_TICKS);
	return open_on(*ret_engine, clock);
}

static void step_all(struct store *s)
{
	for (int i = 0; i < 10000 && answers != UINT32_MAX; i++)
		if (!store_step(s)) {
			/* A step may answer nothing and still leave work (its group runs again); twice nothing is the
			 * end. */
			if (!store_step(s) && !store_step(s))
				return;
		}
}

static enum err run_one(struct store *s, struct job *j)
{
	store_write(s, &j->job);
	assert_false(j->answered); /* never inside store_write */
	for (int i = 0; i < 1000 && !j->answered; i++)
		store_step(s);
	return job_end(j);
}

/* ---- applies ---- */

static enum err read_number(struct txn *t, const char *key, uint64_t *ret)
{
	struct slice value;
	enum err err = txn_get(t, slice_str(key), &value);
	*ret = 0;
	if (err == ERR_NOT_FOUND)
		return ERR_OK;
	TRY(err);
	return slice_to_u64(value, ret) ? ERR_OK : ERR_CORRUPT;
}

static enum err apply_add_one(struct txn *t, void *call)
{
	struct job *j = call;
	char text[24];
	uint64_t n;
	j->runs++;
	j->now = txn_now(t);
	TRY(read_number(t, j->key, &n));
	j->seen = n;
	return txn_put(t, slice_str(j->key),
		       slice_make(text, (size_t)snprintf(text, sizeof text, "%llu", (unsigned long long)n + 1)));
}

static enum err apply_create(struct txn *t, void *call)
{
	struct job *j = call;
	struct slice value;
	j->runs++;
	j->now = txn_now(t);
	enum err err = txn_get(t, slice_str(j->key), &value);
	if (err == ERR_OK)
		return ERR_BLOB_ALREADY_EXISTS;
	return err == ERR_NOT_FOUND ? txn_put(t, slice_str(j->key), slice_str(j->value)) : err;
}

static enum err apply_delete(struct txn *t, void *call)
{
	struct job *j = call;
	j->runs++;
	return txn_del(t, slice_str(j->key));
}

static enum err apply_put(struct txn *t, void *call)
{
	struct job *j = call;
	j->runs++;
	return txn_put(t, slice_str(j->key), slice_str(j->value));
}

static enum err apply_read(struct txn *t, void *call)
{
	struct job *j = call;
	return read_number(t, j->key, &j->seen);
}

static uint64_t number_at(struct store *s, struct slice partition, const char *key)
{
	struct job *j = job_new(partition, apply_read, key, NULL);
	assert_int_equal(store_read(s, partition, apply_read, j, &j->arena), ERR_OK);
	uint64_t n = j->seen;
	j->answered = true;
	job_end(j);
	return n;
}

/* ---- tests ---- */

/* Counters in two partitions, every kind of trouble: each acknowledged addition counts once, each refused one never. */
static void every_acknowledged_write_counts_once(void **state)
{
	uint64_t conflicts = 0, unknowns = 0;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct clock clock;
		struct engine *e;
		struct store *s = open_new(&clock, &e);
		struct slice partition[2] = { SLICE("one"), SLICE("two") };
		uint64_t done_count[2] = { 0 }, open_count[2] = { 0 };
		struct job *jobs[120];
		struct store_stats stats;
		engine_mem_set_faults(e, &(struct mem_options){ .conflict_permille = 150,
								.unknown_happened_permille = 100,
								.unknown_lost_permille = 100,
								.unknown_late_permille = 100,
								.no_space_permille = 20 });
		answers = 0;
		struct rng rng;
		rng_init_seed(&rng, seed);
		for (int i = 0; i < 120; i++) {
			jobs[i] = job_new(partition[rng_below(&rng, 2)], apply_add_one, "counter", NULL);
			store_write(s, &jobs[i]->job);
			if (rng_below(&rng, 4) == 0)
				store_step(s);
		}
		for (int i = 0; i < 5000 && answers < 120; i++)
			store_step(s);
		engine_mem_set_faults(e, &(struct mem_options){ 0 });
		for (int i = 0; i < 120; i++) {
			int p = slice_eq(jobs[i]->job.partition, partition[1]);
			enum err err = job_end(jobs[i]);
			done_count[p] += err == ERR_OK;
			open_count[p] += err == ERR_UNKNOWN;
			assert_true(err == ERR_OK || err == ERR_UNKNOWN || err == ERR_BUSY || err == ERR_NO_SPACE);
		}
		for (int p = 0; p < 2; p++) {
			uint64_t n = number_at(s, partition[p], "counter");
			assert_true(n >= done_count[p] && n <= done_count[p] + open_count[p]);
			assert_true(done_count[p] > 20);
		}
		store_stats(s, &stats);
		conflicts += stats.conflicts;
		unknowns += stats.unknowns;
		store_close(s);
	}
	assert_true(conflicts > 100 && unknowns > 100);
}

/* Jobs of one group in the order they came; each sees what those before it wrote. */
static void a_group_is_a_sequence(void **state)
{
	struct clock clock;
	struct engine *e;
	struct store *s = open_new(&clock, &e);
	struct job *jobs[100];
	struct store_stats before, after;
	answers = 0;
	for (int i = 0; i < 100; i++) {
		jobs[i] = job_new(SLICE("p"), apply_add_one, "counter", NULL);
		store_write(s, &jobs[i]->job);
	}
	store_stats(s, &before);
	step_all(s);
	store_stats(s, &after);
	assert_int_equal(after.groups - before.groups, 1); /* one sync for a hundred */
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(jobs[i]->order, i + 1);
		assert_int_equal(jobs[i]->seen, i);
		assert_int_equal(jobs[i]->runs, 1);
		assert_true(i == 0 || jobs[i]->now > jobs[i - 1]->now);
	}
	for (int i = 0; i < 100; i++)
		assert_int_equal(job_end(jobs[i]), ERR_OK);
	assert_int_equal(number_at(s, SLICE("p"), "counter"), 100);
	store_close(s);
}

struct watch {
	struct engine *other;
	struct job *a, *b;
	unsigned commits;
	void (*meddle)(struct watch *);
};

static void foreign_delete(struct watch *w)
{
	struct engine_group *g;
	struct write del = { .kind = WRITE_DEL, .key = SLICE("k") };
	assert_int_equal(w->other->ops->group_begin(w->other, &g), ERR_OK);
	assert_int_equal(w->other->ops->group_accept(g, SLICE("p"), &del, 1), ERR_OK);
	assert_int_equal(w->other->ops->group_commit(g), OUTCOME_DONE);
}

static void on_commit(void *arg, enum mem_point point)
{
	struct watch *w = arg;
	if (point != MEM_BEFORE_COMMIT)
		return;
	assert_false(w->a->answered || w->b->answered); /* neither success nor refusal may go out yet */
	if (w->commits++ == 0 && w->meddle)
		w->meddle(w);
}

/* The refusal "exists already" rests on the create before it, which is not durable yet. */
static void refusals_wait_for_the_commit(void **state)
{
	struct clock clock;
	struct engine *e;
	struct store *s = open_new(&clock, &e);
	struct watch w = { .a = job_new(SLICE("p"), apply_create, "k", "a"),
			   .b = job_new(SLICE("p"), apply_create, "k", "b") };
	engine_mem_interfere(e, on_commit, &w);
	store_write(s, &w.a->job);
	store_write(s, &w.b->job);
	step_all(s);
	assert_int_equal(w.commits, 1);
	assert_int_equal(job_end(w.a), ERR_OK);
	assert_int_equal(job_end(w.b), ERR_BLOB_ALREADY_EXISTS);
	store_close(s);
}

/* A refusal whose reason went away meanwhile is judged again, not answered; a conflict is never shown as one. */
static void refusals_are_judged_again(void **state)
{
	struct clock clock;
	struct engine *e;
	struct store *s = open_new(&clock, &e);
	assert_int_equal(run_one(s, job_new(SLICE("p"), apply_create, "k", "first")), ERR_OK);
	struct watch w = { .meddle = foreign_delete, .b = job_new(SLICE("p"), apply_create, "k", "second") };
	w.a = w.b;
	assert_int_equal(engine_mem_attach(e, &w.other), ERR_OK);
	engine_mem_interfere(e, on_commit, &w);
	store_write(s, &w.b->job);
	step_all(s);
	assert_int_equal(w.b->runs, 2);
	assert_int_equal(job_end(w.b), ERR_OK);
	w.other->ops->close(w.other);
	store_close(s);
}

static void endless_conflicts_end_busy(void **state)
{
	struct clock clock;
	struct engine *e;
	struct store *s = open_new(&clock, &e);
	struct job *a = job_new(SLICE("p"), apply_add_one, "k", NULL),
		   *b = job_new(SLICE("p"), apply_add_one, "k", NULL);
	engine_mem_set_faults(e, &(struct mem_options){ .conflict_permille = 1000 });
	store_write(s, &a->job);
	store_write(s, &b->job);
	for (int i = 0; i < 1000 && !(a->answered && b->answered); i++) {
		store_step(s);
		if (a->runs > LIMIT_APPLY_RETRIES) /* a refused job needs a commit too: its group holds nothing else */
			engine_mem_set_faults(e, &(struct mem_options){ 0 });
	}
	assert_true(a->runs >= LIMIT_APPLY_RETRIES && a->runs <= LIMIT_APPLY_RETRIES + 1);
	assert_int_equal(job_end(a), ERR_BUSY);
	job_end(b);
	store_close(s);
}

static void a_full_disk_refuses_and_recovers(void **state)
{
	struct clock clock;
	struct engine *e;
	struct store *s = open_new(&clock, &e);
	assert_int_equal(run_one(s, job_new(SLICE("p"), apply_add_one, "k", NULL)), ERR_OK);
	engine_mem_set_faults(e, &(struct mem_options){ .no_space_permille = 1000 });
	struct job *a = job_new(SLICE("p"), apply_add_one, "k", NULL),
		   *b = job_new(SLICE("p"), apply_add_one, "k", NULL);
	store_write(s, &a->job);
	store_write(s, &b->job);
	step_all(s);
	assert_int_equal(job_end(a), ERR_NO_SPACE);
	assert_int_equal(job_end(b), ERR_NO_SPACE);
	assert_int_equal(number_at(s, SLICE("p"), "k"), 1);
	engine_mem_set_faults(e, &(struct mem_options){ 0 });
	assert_int_equal(run_one(s, job_new(SLICE("p"), apply_add_one, "k", NULL)), ERR_OK);
	assert_int_equal(number_at(s, SLICE("p"), "k"), 2);
	store_close(s);
}

static void on_failure(void *arg)
{
	++*(int *)arg;
}

static void a_failed_sync_stops_everything(void **state)
{
	struct clock clock;
	struct engine *e, *disk;
	struct store *s = open_new(&clock, &e);
	int failures = 0;
	assert_int_equal(engine_mem_attach(e, &disk), ERR_OK);
	store_on_failure(s, on_failure, &failures);
	for (int i = 0; i < 3; i++)
		assert_int_equal(run_one(s, job_new(SLICE("p"), apply_add_one, "k", NULL)), ERR_OK);
	engine_mem_set_faults(e, &(struct mem_options){ .fail_after_commits = 1 });
	struct job *a = job_new(SLICE("p"), apply_add_one, "k", NULL), *b = job_new(SLICE("p"), apply_put, "l", "v");
	store_write(s, &a->job);
	store_write(s, &b->job);
	step_all(s);
	assert_int_equal(job_end(a), ERR_STOPPED);
	assert_int_equal(job_end(b), ERR_STOPPED);
	engine_mem_set_faults(e, &(struct mem_options){ 0 });
	assert_int_equal(run_one(s, job_new(SLICE("p"), apply_put, "m", "v")), ERR_STOPPED); /* never retried */
	assert_int_equal(failures, 1);
	struct engine *after = engine_mem_crash(disk);
	store_close(s);
	disk->ops->close(disk);
	s = open_on(after, &clock);
	uint64_t n = number_at(s, SLICE("p"), "k");
	assert_true(n == 3 || n == 4);
	assert_int_equal(number_at(s, SLICE("p"), "m"), 0);
	store_close(s);
}

static void what_cannot_be_resolved_is_said(void **state)
{
	struct clock clock;
	struct engine *e;
	struct store *s = open_new(&clock, &e);
	engine_mem_set_faults(e, &(struct mem_options){ .unknown_lost_permille = 1000 });
	assert_int_equal(run_one(s, job_new(SLICE("p"), apply_add_one, "k", NULL)), ERR_UNKNOWN);
	engine_mem_set_faults(e, &(struct mem_options){ .unknown_happened_permille = 1000 });
	assert_int_equal(run_one(s, job_new(SLICE("p"), apply_add_one, "k", NULL)), ERR_OK);
	engine_mem_set_faults(e, &(struct mem_options){ 0 });
	assert_int_equal(number_at(s, SLICE("p"), "k"), 1);
	store_close(s);
}

/* Time moves on with every run, over a restart with a clock that went back, and on another front end. */
static void time_never_runs_back(void **state)
{
	struct clock clock;
	struct engine *e, *other;
	struct store *s = open_new(&clock, &e);
	uint64_t last = 0;
	assert_int_equal(engine_mem_attach(e, &other), ERR_OK);
	for (int i = 0; i < 30; i++) {
		struct job *j = job_new(SLICE("p"), apply_add_one, "k", NULL);
		store_write(s, &j->job);
		step_all(s);
		assert_true(j->now > last);
		last = j->now;
		assert_int_equal(job_end(j), ERR_OK);
		if (i == 10) {
			clock_init_fake(&clock, START_TICKS - 500 * TICKS_PER_SECOND);
			store_close(s);
			assert_int_equal(engine_mem_attach(other, &e), ERR_OK);
			s = open_on(e, &clock);
		} else if (i == 20) {
			struct engine *after = engine_mem_crash(other);
			store_close(s);
			other->ops->close(other);
			s = open_on(after, &clock);
			assert_int_equal(engine_mem_attach(after, &other), ERR_OK);
		}
	}
	other->ops->close(other);
	store_close(s);
}

struct many {
	size_t puts, dels, value_bytes;
};

static enum err apply_many(struct txn *t, void *call)
{
	struct job *j = call;
	const struct many *m = (const void *)j->value;
	char key[32];
	char *value = arena_zalloc(txn_arena(t), m->value_bytes);
	if (!value)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < m->puts + m->dels; i++) {
		struct slice k = slice_make(key, (size_t)snprintf(key, sizeof key, "%zu", i));
		TRY(i < m->puts ? txn_put(t, k, slice_make(value, m->value_bytes)) : txn_del(t, k));
	}
	return ERR_OK;
}

/* The engine asserts its bounds; the store must have refused before. */
static void the_largest_transactions(void **state)
{
	struct clock clock;
	struct engine *e;
	struct store *s = open_new(&clock, &e);
	const struct {
		struct many many;
		enum err want;
	} cases[] = {
		{ { LIMIT_COMMIT_WRITES, 0, 100 }, ERR_OK },
		{ { LIMIT_COMMIT_WRITES - 1, 1, 100 }, ERR_OK },
		{ { LIMIT_COMMIT_WRITES, 1, 100 }, ERR_LIMIT },
		{ { LIMIT_COMMIT_WRITES + 1, 0, 100 }, ERR_LIMIT },
		{ { 1, 0, RECORD_PAYLOAD_MAX_BYTES }, ERR_OK },
		{ { 1, 0, RECORD_PAYLOAD_MAX_BYTES + 1 }, ERR_LIMIT },
		{ { LIMIT_COMMIT_BYTES / LIMIT_VALUE_BYTES - 1, 0, RECORD_PAYLOAD_MAX_BYTES }, ERR_OK },
		{ { LIMIT_COMMIT_BYTES / LIMIT_VALUE_BYTES + 1, 0, RECORD_PAYLOAD_MAX_BYTES }, ERR_LIMIT },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		assert_int_equal(run_one(s, job_new(SLICE("p"), apply_many, NULL, (const void *)&cases[i].many)),
				 cases[i].want);
	/* Walk over the edge of the bytes in small steps: either answer is right, the engine's assertion decides. */
	for (size_t bytes = 1000; bytes < 1200; bytes++) {
		struct many m = { LIMIT_COMMIT_BYTES / 1100, 0, bytes };
		if (m.puts > LIMIT_COMMIT_WRITES)
			m.puts = LIMIT_COMMIT_WRITES;
		enum err err = run_one(s, job_new(SLICE("p"), apply_many, NULL, (const void *)&m));
		assert_true(err == ERR_OK || err == ERR_LIMIT);
	}
	store_close(s);
}

/* The bytes of a commit, one by one over the edge. */
static enum err apply_edge(struct txn *t, void *call)
{
	struct job *j = call;
	size_t left = LIMIT_COMMIT_BYTES - j->number;
	char key[8];
	for (int i = 0; left; i++) {
		size_t n = left < RECORD_PAYLOAD_MAX_BYTES ? left : RECORD_PAYLOAD_MAX_BYTES;
		char *value = arena_zalloc(txn_arena(t), n);
		if (!value)
			return ERR_NO_MEMORY;
		TRY(txn_put(t, slice_make(key, (size_t)snprintf(key, sizeof key, "%03d", i)), slice_make(value, n)));
		left -= n;
	}
	return ERR_OK;
}

static void the_edge_of_the_bytes(void **state)
{
	struct clock clock;
	struct engine *e;
	struct store *s = open_new(&clock, &e);
	int fit = 0, refused = 0;
	for (unsigned spare = 300; spare < 480;
	     spare++) /* the refusals end near 48 records of 8 bytes of their own */ {
		struct job *j = job_new(SLICE("p"), apply_edge, NULL, NULL);
		j->number = spare;
		enum err err = run_one(s, j);
		assert_true(err == ERR_OK || err == ERR_LIMIT);
		fit += err == ERR_OK;
		refused += err == ERR_LIMIT;
	}
	assert_true(fit && refused);
	store_close(s);
}

static enum err apply_scan_text(struct txn *t, void *call)
{
	struct job *j = call;
	struct rows rows;
	char text[256];
	size_t used = 0;
	struct scan_spec spec = { .from = SLICE_NONE };
	j->runs++;
	TRY(txn_put(t, SLICE("own"), SLICE("o")));
	TRY(txn_del(t, SLICE("b")));
	TRY(txn_scan(t, &spec, &rows));
	for (size_t i = 0; i < rows.count; i++)
		used += (size_t)snprintf(text + used, sizeof text - used, "%.*s=%.*s ", SLICE_FMT(rows.row[i].key),
					 SLICE_FMT(rows.row[i].value));
	return txn_put(t, SLICE("text"), slice_make(text, used));
}

static enum err apply_expect_text(struct txn *t, void *call)
{
	struct job *j = call;
	struct slice text;
	struct rows rows;
	struct scan_spec spec = { .limit_rows = 1 };
	size_t count = 0;
	TRY(txn_get(t, SLICE("text"), &text));
	assert_true(slice_eq(text, slice_str(j->value)));
	for (bool more = true; more; count++) { /* page by page: the stamp takes no place in any */
		struct key after;
		TRY(txn_scan(t, &spec, &rows));
		if (rows.count == 0)
			break;
		key_after(&after, rows.row[0].key);
		spec.from = arena_dup(txn_arena(t), key_slice(&after));
		more = rows.more;
	}
	j->seen = count;
	return ERR_OK;
}

/* The store's own rows are invisible; a scan in a group shows earlier jobs' writes and the transaction's own. */
static void scans_show_what_they_should(void **state)
{
	struct clock clock;
	struct engine *e;
	struct store *s = open_new(&clock, &e);
	struct job *a = job_new(SLICE("p"), apply_put, "a", "1"), *b = job_new(SLICE("p"), apply_put, "b", "2");
	struct job *c = job_new(SLICE("p"), apply_scan_text, NULL, NULL);
	store_write(s, &a->job);
	store_write(s, &b->job);
	store_write(s, &c->job);
	step_all(s);
	assert_int_equal(job_end(a), ERR_OK);
	assert_int_equal(job_end(b), ERR_OK);
	assert_int_equal(job_end(c), ERR_OK);
	struct job *r = job_new(SLICE("p"), apply_expect_text, NULL, "a=1 own=o ");
	assert_int_equal(store_read(s, SLICE("p"), apply_expect_text, r, &r->arena), ERR_OK);
	assert_int_equal(r->seen, 3); /* a, own, text */
	r->answered = true;
	job_end(r);
	store_close(s);
}

/* A record that lies under another key, or was changed, is damage and not a value. */
static void records_know_their_place(void **state)
{
	struct clock clock;
	struct engine *e;
	struct store *s = open_new(&clock, &e);
	struct arena arena;
	struct slice record, value;
	struct engine_group *g;
	arena_init(&arena, MIB);
	assert_int_equal(run_one(s, job_new(SLICE("p"), apply_put, "a", "value")), ERR_OK);
	assert_int_equal(e->ops->get(e, NULL, SLICE("p"), SLICE("a"), &arena, &record), ERR_OK);
	char *flipped = arena_alloc(&arena, record.len);
	memcpy(flipped, record.ptr, record.len);
	flipped[3] ^= 1;
	struct write w[] = { { .kind = WRITE_PUT, .key = SLICE("b"), .value = record },
			     { .kind = WRITE_PUT, .key = SLICE("c"), .value = slice_make(flipped, record.len) },
			     { .kind = WRITE_PUT, .key = SLICE("d"), .value = SLICE("x") } };
	assert_int_equal(e->ops->group_begin(e, &g), ERR_OK);
	assert_int_equal(e->ops->group_accept(g, SLICE("p"), w, 3), ERR_OK);
	assert_int_equal(e->ops->group_commit(g), OUTCOME_DONE);
	assert_int_equal(store_get(s, SLICE("p"), SLICE("a"), &arena, &value), ERR_OK);
	assert_true(slice_eq(value, SLICE("value")));
	for (const char *key = "bcd"; *key; key++)
		assert_int_equal(store_get(s, SLICE("p"), slice_make(key, 1), &arena, &value), ERR_CORRUPT);
	arena_fini(&arena);
	store_close(s);
}

static void deletes_and_creates_in_one_group(void **state)
{
	struct clock clock;
	struct engine *e;
	struct store *s = open_new(&clock, &e);
	struct job *j[5];
	j[0] = job_new(SLICE("p"), apply_create, "k", "1");
	j[1] = job_new(SLICE("p"), apply_create, "k", "2");
	j[2] = job_new(SLICE("p"), apply_delete, "k", NULL);
	j[3] = job_new(SLICE("p"), apply_create, "k", "3");
	j[4] = job_new(SLICE("q"), apply_create, "k", "4");
	const enum err want[] = { ERR_OK, ERR_BLOB_ALREADY_EXISTS, ERR_OK, ERR_OK, ERR_OK };
	for (int i = 0; i < 5; i++)
		store_write(s, &j[i]->job);
	step_all(s);
	for (int i = 0; i < 5; i++)
		assert_int_equal(job_end(j[i]), want[i]);
	assert_int_equal(number_at(s, SLICE("p"), "k"), 3);
	assert_int_equal(number_at(s, SLICE("q"), "k"), 4);
	store_close(s);
}

/* ---- with threads ---- */

struct worker {
	struct store *store;
	pthread_t thread;
	uint64_t acknowledged, unknown, wrong;
};

struct waiting {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool answered;
	enum err result;
};

static void done_wake(struct store_job *j, enum err result)
{
	struct waiting *w = j->owner;
	pthread_mutex_lock(&w->lock);
	w->answered = true;
	w->result = result;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct waiting wait;
	pthread_mutex_init(&wait.lock, NULL);
	pthread_cond_init(&wait.wake, NULL);
	for (int i = 0; i < 300; i++) {
		struct job j = { .key = "counter" };
		arena_init(&j.arena, MIB);
		wait.answered = false;
		j.job = (struct store_job){ .partition = SLICE("p"),
					    .apply = apply_add_one,
					    .call = &j,
					    .arena = &j.arena,
					    .done = done_wake,
					    .owner = &wait };
		store_write(w->store, &j.job);
		pthread_mutex_lock(&wait.lock);
		while (!wait.answered)
			pthread_cond_wait(&wait.wake, &wait.lock);
		enum err err = wait.result;
		pthread_mutex_unlock(&wait.lock);
		w->acknowledged += err == ERR_OK;
		w->unknown += err == ERR_UNKNOWN;
		w->wrong += err != ERR_OK && err != ERR_UNKNOWN && err != ERR_BUSY;
		if (err == ERR_OK) { /* what was acknowledged is seen by a read that begins now */
			struct job r = { .key = "counter" };
			arena_reset(&j.arena);
			if (store_read(w->store, SLICE("p"), apply_read, &r, &j.arena) != ERR_OK || r.seen < j.seen + 1)
				w->wrong++;
		}
		arena_fini(&j.arena);
	}
	pthread_mutex_destroy(&wait.lock);
	pthread_cond_destroy(&wait.wake);
	return NULL;
}

static void threads_count_together(void **state)
{
	struct clock clock;
	struct engine *e, *disk;
	struct store *s;
	struct worker worker[8];
	uint64_t acknowledged = 0, unknown = 0;
	assert_int_equal(engine_mem_open(&(struct mem_options){ .seed = 5 }, &e), ERR_OK);
	assert_int_equal(engine_mem_attach(e, &disk), ERR_OK);
	clock_init_wall(&clock, NULL);
	assert_int_equal(store_open(e, &(struct store_options){ .clock = &clock }, &s), ERR_OK);
	engine_mem_set_faults(e, &(struct mem_options){ .conflict_permille = 50,
							.unknown_happened_permille = 50,
							.unknown_lost_permille = 50,
							.unknown_late_permille = 50 });
	for (int i = 0; i < 8; i++) {
		worker[i] = (struct worker){ .store = s };
		assert_int_equal(pthread_create(&worker[i].thread, NULL, worker_main, &worker[i]), 0);
	}
	for (int i = 0; i < 8; i++) {
		pthread_join(worker[i].thread, NULL);
		acknowledged += worker[i].acknowledged;
		unknown += worker[i].unknown;
		assert_int_equal(worker[i].wrong, 0);
	}
	store_close(s);
	engine_mem_set_faults(disk, &(struct mem_options){ 0 });
	struct engine *after = engine_mem_crash(disk);
	disk->ops->close(disk);
	s = open_on(after, &clock);
	uint64_t n = number_at(s, SLICE("p"), "counter");
	assert_true(n >= acknowledged && n <= acknowledged + unknown);
	assert_true(acknowledged > 2000);
	store_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_acknowledged_write_counts_once),
		cmocka_unit_test(a_group_is_a_sequence),
		cmocka_unit_test(refusals_wait_for_the_commit),
		cmocka_unit_test(refusals_are_judged_again),
		cmocka_unit_test(endless_conflicts_end_busy),
		cmocka_unit_test(a_full_disk_refuses_and_recovers),
		cmocka_unit_test(a_failed_sync_stops_everything),
		cmocka_unit_test(what_cannot_be_resolved_is_said),
		cmocka_unit_test(time_never_runs_back),
		cmocka_unit_test(the_largest_transactions),
		cmocka_unit_test(the_edge_of_the_bytes),
		cmocka_unit_test(scans_show_what_they_should),
		cmocka_unit_test(records_know_their_place),
		cmocka_unit_test(deletes_and_creates_in_one_group),
		cmocka_unit_test(threads_count_together),
	};
	return cmocka_run_group_tests_name("store on mem", tests, NULL, NULL);
}

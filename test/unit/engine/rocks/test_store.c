/* SPDX-License-Identifier: Apache-2.0
 * The store on the rocks engine: payloads of every shape, the cache under racing readers, time over restarts, extents
 * given back. Each promise that has a mutant is also seen to fail with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "base/sys/rng.h"
#include "engine/rocks/rocks.h"
#include "store/extent.h"
#include "store/key.h"
#include "store/mutant.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define P                                                                                                              \
	SLICE("account\x01"                                                                                            \
	      "a")

static char dir[64];
static struct clock fake;

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	return remove(path);
}

static struct store *open_with(unsigned mutant, uint64_t reserve_bytes)
{
	struct engine *e;
	struct store *s;
	struct buf message;
	buf_init(&message, 4096);
	assert_int_equal(
		engine_rocks_open(&(struct rocks_options){ .dir = dir, .create = true, .reserve_bytes = reserve_bytes },
				  &e, &message),
		ERR_OK);
	buf_fini(&message);
	assert_int_equal(store_open(e, &(struct store_options){ .clock = &fake, .mutant = mutant }, &s), ERR_OK);
	return s;
}

static struct store *open_store(unsigned mutant)
{
	return open_with(mutant, 0);
}

static int setup(void **state)
{
	snprintf(dir, sizeof dir, "/tmp/zaffre-store-XXXXXX");
	clock_init_fake(&fake, TICKS_UNIX_EPOCH * 2);
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	return nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- a write that waits ---- */

struct call {
	struct store_job job;
	struct arena arena;
	struct slice key, value;
	const struct payload *payload;
	struct extent_ref retire;
	uint64_t now_ticks;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool ready;
	enum err result;
	apply_fn *apply; /* NULL: apply_put */
};

static enum err apply_put(struct txn *t, void *arg)
{
	struct call *c = arg;
	c->now_ticks = txn_now(t);
	for (size_t i = 0; c->payload && i < c->payload->extent_count; i++)
		TRY(txn_publish(t, &c->payload->extents[i]));
	if (c->retire.id)
		TRY(txn_retire(t, &c->retire));
	return slice_is_set(c->value) ? txn_put(t, c->key, c->value) : txn_del(t, c->key);
}

static void done(struct store_job *job, enum err result)
{
	struct call *c = job->owner;
	pthread_mutex_lock(&c->lock);
	c->result = result;
	c->ready = true;
	pthread_cond_signal(&c->wake);
	pthread_mutex_unlock(&c->lock);
}

static enum err write_wait(struct store *s, struct call *c)
{
	arena_init(&c->arena, 8 * MIB);
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->wake, NULL);
	c->job = (struct store_job){ .partition = P,
				     .apply = c->apply ? c->apply : apply_put,
				     .call = c,
				     .arena = &c->arena,
				     .done = done,
				     .owner = c };
	c->ready = false;
	store_write(s, &c->job);
	pthread_mutex_lock(&c->lock);
	while (!c->ready)
		pthread_cond_wait(&c->wake, &c->lock);
	pthread_mutex_unlock(&c->lock);
	pthread_cond_destroy(&c->wake);
	pthread_mutex_destroy(&c->lock);
	arena_fini(&c->arena);
	return c->result;
}

static uint64_t put(struct store *s, struct slice key, struct slice value)
{
	struct call c = { .key = key, .value = value };
	assert_int_equal(write_wait(s, &c), ERR_OK);
	return c.now_ticks;
}

/* ---- groups that overlap ---- */

enum { COUNTERS = 3, COUNTING_THREADS = 16, COUNTS_EACH = 400 };

struct counting {
	struct store *store;
	unsigned seed;
	atomic_uint *done, *refused;
};

/* Each a read, a change and a write of what the one before wrote. */
static enum err apply_count(struct txn *t, void *arg)
{
	struct call *c = arg;
	struct slice old;
	char text[16];
	enum err err = txn_get(t, c->key, &old);
	unsigned n = 0;
	if (err == ERR_OK)
		n = (unsigned)strtoul(old.ptr, NULL, 10);
	else if (err != ERR_NOT_FOUND)
		return err;
	int len = snprintf(text, sizeof text, "%u", n + 1);
	return txn_put(t, c->key, slice_make(text, (size_t)len + 1));
}

static void *counting_main(void *arg)
{
	struct counting *w = arg;
	for (int i = 0; i < COUNTS_EACH; i++) {
		char key[2] = { 'k', (char)('0' + rand_r(&w->seed) % COUNTERS) };
		struct call c = { .key = slice_make(key, 2), .apply = apply_count };
		enum err err = write_wait(w->store, &c);
		assert_true(err == ERR_OK || err == ERR_NO_SPACE);
		atomic_fetch_add(err == ERR_OK ? w->done : w->refused, 1);
	}
	return NULL;
}

static const struct engine_ops *real_ops;
static atomic_uint flaky_commits;

/* Some groups do not happen: those of several jobs run again one by one, and so does what was built on them. */
static enum outcome flaky_commit(struct engine_group *g)
{
	if (atomic_fetch_add(&flaky_commits, 1) % 5 != 3)
		return real_ops->group_commit(g);
	real_ops->group_abort(g);
	return OUTCOME_NO_SPACE;
}

static void count_together(struct store *s, unsigned *ret_done, unsigned *ret_refused)
{
	pthread_t thread[COUNTING_THREADS];
	struct counting w[COUNTING_THREADS];
	atomic_uint done_count = 0, refused_count = 0;
	for (unsigned i = 0; i < COUNTING_THREADS; i++) {
		w[i] = (struct counting){ s, i + 1, &done_count, &refused_count };
		assert_int_equal(pthread_create(&thread[i], NULL, counting_main, &w[i]), 0);
	}
	for (int i = 0; i < COUNTING_THREADS; i++)
		pthread_join(thread[i], NULL);
	*ret_done = done_count;
	*ret_refused = refused_count;
}

static unsigned counted(struct store *s)
{
	unsigned sum = 0;
	for (int i = 0; i < COUNTERS; i++) {
		char key[2] = { 'k', (char)('0' + i) };
		struct arena a;
		struct slice v;
		arena_init(&a, MIB);
		assert_int_equal(store_get(s, P, slice_make(key, 2), &a, &v), ERR_OK);
		sum += (unsigned)strtoul(v.ptr, NULL, 10);
		arena_fini(&a);
	}
	return sum;
}

static void no_count_is_lost(void **state)
{
	unsigned done_count, refused_count;
	struct store *s = open_store(0);
	count_together(s, &done_count, &refused_count);
	assert_int_equal(refused_count, 0);
	assert_int_equal(counted(s), COUNTING_THREADS * COUNTS_EACH);
	store_close(s);
	s = open_store(0);
	assert_int_equal(counted(s), COUNTING_THREADS * COUNTS_EACH);
	store_close(s);
}

static void what_was_built_on_a_lost_group_runs_again(void **state)
{
	unsigned done_count, refused_count;
	struct engine *e;
	struct store *s;
	struct buf message;
	buf_init(&message, 4096);
	assert_int_equal(engine_rocks_open(&(struct rocks_options){ .dir = dir, .create = true }, &e, &message),
			 ERR_OK);
	buf_fini(&message);
	real_ops = e->ops;
	struct engine_ops flaky = *real_ops;
	flaky.group_commit = flaky_commit;
	e->ops = &flaky;
	assert_int_equal(store_open(e, &(struct store_options){ .clock = &fake }, &s), ERR_OK);
	count_together(s, &done_count, &refused_count);
	assert_int_equal(done_count + refused_count, COUNTING_THREADS * COUNTS_EACH);
	assert_true(refused_count > 0);
	assert_int_equal(counted(s), done_count);
	store_close(s);
}

/* ---- time ---- */

static void time_is_its_own_and_never_back(void **state)
{
	struct store *s = open_store(0);
	uint64_t a = put(s, SLICE("k"), SLICE("1"));
	uint64_t b = put(s, SLICE("k"), SLICE("2")); /* the clock stands still */
	assert_true(b > a);
	clock_fake_advance(&fake, 10 * TICKS_PER_SECOND);
	uint64_t c = put(s, SLICE("k"), SLICE("3"));
	assert_int_equal(c, clock_now(&fake));
	store_close(s);
	clock_init_fake(&fake, TICKS_UNIX_EPOCH); /* far back */
	s = open_store(0);
	assert_true(put(s, SLICE("k"), SLICE("4")) > c);
	store_close(s);
}

/* ---- payloads ---- */

static char *pattern(size_t len, uint64_t seed)
{
	struct rng r;
	char *p = malloc(len ? len : 1);
	rng_init_seed(&r, seed);
	rng_bytes(&r, p, len);
	return p;
}

static void expect_payload(struct store *s, const struct payload *p, const char *want, size_t len)
{
	assert_int_equal(p->length_bytes, len);
	if (!p->extent_count) {
		assert_int_equal(p->inline_bytes.len, len);
		assert_memory_equal(p->inline_bytes.ptr, want, len);
		return;
	}
	size_t at = 0;
	for (size_t i = 0; i < p->extent_count; i++) {
		uint32_t n = p->extents[i].length_bytes;
		char *got = malloc(n);
		assert_true(at + n <= len);
		assert_int_equal(extent_read(s, &p->extents[i], 0, n, got), ERR_OK);
		assert_memory_equal(got, want + at, n);
		free(got);
		at += n;
	}
	assert_int_equal(at, len);
}

static void payloads_of_every_shape(void **state)
{
	static const size_t sizes[] = { 0,
					1,
					4095,
					PAYLOAD_INLINE_BYTES - 1,
					PAYLOAD_INLINE_BYTES,
					PAYLOAD_INLINE_BYTES + 1,
					65536,
					65537,
					1048576,
					1048577,
					4194303,
					4194304,
					4194305,
					9000000 };
	struct store *s = open_store(0);
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		char *bytes = pattern(sizes[i], i);
		uint64_t hints[] = { 0, sizes[i], sizes[i] / 2, sizes[i] * 2, 40000 };
		for (size_t h = 0; h < sizeof hints / sizeof hints[0]; h++) {
			static const size_t steps[] = { 1 << 30, 100000, 4097 };
			size_t step = steps[(i + h) % 3];
			struct payload_writer *w;
			struct payload p;
			assert_int_equal(payload_writer_new(s, hints[h], &w), ERR_OK);
			for (size_t at = 0; at < sizes[i]; at += step)
				assert_int_equal(
					payload_append(
						w, slice_make(bytes + at, sizes[i] - at < step ? sizes[i] - at : step)),
					ERR_OK);
			assert_int_equal(payload_finish(w, &p), ERR_OK);
			expect_payload(s, &p, bytes, sizes[i]);
			payload_abandon(s, &p);
			payload_fini(&p);
		}
		free(bytes);
	}
	struct store_stats stats;
	store_stats(s, &stats);
	assert_int_equal(stats.engine.extent_bytes_live, 0); /* all given up */
	assert_true(stats.engine.extent_bytes_free <= 64 * MIB);
	store_close(s);
}

static void parts_of_an_extent(void **state)
{
	enum { LEN = 300000 };
	struct store *s = open_store(0);
	char *bytes = pattern(LEN, 3), *got = malloc(LEN);
	struct payload_writer *w;
	struct payload p;
	struct rng r;
	rng_init_seed(&r, 9);
	assert_int_equal(payload_writer_new(s, LEN, &w), ERR_OK);
	assert_int_equal(payload_append(w, slice_make(bytes, LEN)), ERR_OK);
	assert_int_equal(payload_finish(w, &p), ERR_OK);
	for (int i = 0; i < 3000; i++) {
		static const uint32_t edges[] = { 0, 1, 65535, 65536, 65537, 131072, 262144, LEN - 1, LEN };
		uint32_t from = i % 3 ? (uint32_t)rng_below(&r, LEN) : edges[rng_below(&r, 9)];
		uint32_t to = i % 2 ? (uint32_t)rng_below(&r, LEN + 1) : edges[rng_below(&r, 9)];
		if (to < from) {
			uint32_t swap = to;
			to = from;
			from = swap;
		}
		memset(got, 0, to - from);
		assert_int_equal(extent_read(s, &p.extents[0], from, to - from, got), ERR_OK);
		assert_memory_equal(got, bytes + from, to - from);
	}
	assert_int_not_equal(extent_read(s, &p.extents[0], LEN, 1, got), ERR_OK);
	payload_abandon(s, &p);
	payload_fini(&p);
	free(bytes);
	free(got);
	store_close(s);
}

/* ---- a file system that cannot take space beforehand ---- */

static bool no_fallocate;

int fallocate(int fd, int mode, off_t at, off_t bytes)
{
	if (!no_fallocate)
		return (int)syscall(SYS_fallocate, fd, mode, at, bytes);
	errno = EOPNOTSUPP;
	return -1;
}

static void without_fallocate(void **state)
{
	enum { LEN = 9000000 };
	no_fallocate = true;
	struct store *s = open_store(0);
	char *bytes = pattern(LEN, 5);
	struct payload_writer *w;
	struct payload p;
	for (int round = 0; round < 3; round++) {
		assert_int_equal(payload_writer_new(s, LEN, &w), ERR_OK);
		assert_int_equal(payload_append(w, slice_make(bytes, LEN)), ERR_OK);
		assert_int_equal(payload_finish(w, &p), ERR_OK);
		struct call c = { .key = SLICE("k"), .value = SLICE("v"), .payload = &p };
		assert_int_equal(write_wait(s, &c), ERR_OK);
		store_close(s);
		s = open_store(0);
		expect_payload(s, &p, bytes, LEN);
		payload_fini(&p);
	}
	free(bytes);
	store_close(s);
	no_fallocate = false;
}

static void wait_until_free(struct store *s, uint64_t live)
{
	struct store_stats stats = { .engine.retired_waiting = 1 };
	for (int i = 0; i < 5000 && (stats.engine.retired_waiting || stats.engine.extent_bytes_live != live); i++) {
		store_stats(s, &stats);
		usleep(1000);
	}
	assert_int_equal(stats.engine.retired_waiting, 0);
	assert_int_equal(stats.engine.extent_bytes_live, live);
}

static void retired_space_comes_back(void **state)
{
	struct store *s = open_store(0);
	char *bytes = pattern(100000, 1);
	struct extent_ref old = { 0 };
	for (int round = 0; round < 50; round++) {
		struct payload_writer *w;
		struct payload p;
		assert_int_equal(payload_writer_new(s, 100000, &w), ERR_OK);
		assert_int_equal(payload_append(w, slice_make(bytes, 100000)), ERR_OK);
		assert_int_equal(payload_finish(w, &p), ERR_OK);
		struct call c = { .key = SLICE("k"), .value = SLICE("v"), .payload = &p, .retire = old };
		assert_int_equal(write_wait(s, &c), ERR_OK);
		old = p.extents[0];
		payload_fini(&p);
		if (round == 25) {
			store_close(s);
			s = open_store(0);
		}
	}
	wait_until_free(s, 25 * 4096); /* 100,000 bytes and their checksums: the last one alone */
	uint64_t pin = extent_pin(s);
	struct call c = { .key = SLICE("k"), .retire = old };
	assert_int_equal(write_wait(s, &c), ERR_OK);
	bool more;
	assert_int_equal(store_engine(s)->ops->reclaim(store_engine(s), &more), ERR_OK);
	char got[10];
	assert_int_equal(extent_read(s, &old, 5, 10, got), ERR_OK); /* pinned */
	assert_memory_equal(got, bytes + 5, 10);
	extent_unpin(s, pin);
	wait_until_free(s, 0);
	free(bytes);
	store_close(s);
}

/* ---- a full disk ---- */

static uint64_t disk_free(void)
{
	struct statvfs v;
	assert_int_equal(statvfs(dir, &v), 0);
	return (uint64_t)v.f_bavail * v.f_frsize;
}

/* A reserve larger than what is free: the disk counts as full. */
static void a_full_disk_takes_deletes(void **state)
{
	struct store *s = open_store(0);
	put(s, SLICE("a"), SLICE("1"));
	put(s, SLICE("b"), SLICE("1"));
	store_close(s);
	s = open_with(0, disk_free() + GIB);
	struct call c = { .key = SLICE("a"), .value = SLICE("2") };
	assert_int_equal(write_wait(s, &c), ERR_NO_SPACE);
	struct payload_writer *w;
	assert_int_equal(payload_writer_new(s, 100000, &w), ERR_OK);
	static char bytes[100000];
	assert_int_equal(payload_append(w, slice_make(bytes, sizeof bytes)), ERR_NO_SPACE);
	payload_writer_free(w);
	struct arena a;
	struct slice v;
	arena_init(&a, MIB);
	assert_int_equal(store_get(s, P, SLICE("a"), &a, &v), ERR_OK);
	assert_true(slice_eq(v, SLICE("1"))); /* nothing of it happened, and reads go on */
	struct call d = { .key = SLICE("b") };
	assert_int_equal(write_wait(s, &d), ERR_OK);
	assert_int_equal(store_get(s, P, SLICE("b"), &a, &v), ERR_NOT_FOUND);
	arena_fini(&a);
	store_close(s);
	s = open_store(0);
	put(s, SLICE("a"), SLICE("3"));
	store_close(s);
}

/* ---- the cache ---- */

struct race {
	struct store *store;
	_Atomic uint64_t acknowledged; /* every read that begins now shows at least this */
	_Atomic uint64_t shown;	       /* and at least what a finished read has shown */
	atomic_bool stop;
	_Atomic uint64_t stale, reads;
};

static void raise_to(_Atomic uint64_t *v, uint64_t to)
{
	uint64_t now = atomic_load(v);
	while (now < to && !atomic_compare_exchange_weak(v, &now, to))
		;
}

static enum err apply_get(struct txn *t, void *arg)
{
	return txn_get(t, SLICE("counter"), arg);
}

static void *reader_main(void *arg)
{
	struct race *r = arg;
	struct arena a;
	unsigned n = 0;
	arena_init(&a, MIB);
	while (!atomic_load(&r->stop)) {
		uint64_t least = atomic_load(&r->acknowledged), shown = atomic_load(&r->shown), got;
		struct slice v;
		enum err err;
		arena_reset(&a);
		switch (n++ % 3) {
		case 0:
			err = store_get(r->store, P, SLICE("counter"), &a, &v);
			break;
		case 1:
			err = store_read_points(r->store, P, apply_get, &v, &a);
			break;
		default:
			err = store_read(r->store, P, apply_get, &v, &a);
			break;
		}
		if (err != ERR_OK || !slice_to_u64(v, &got))
			abort();
		if (got < least || got < shown)
			atomic_fetch_add(&r->stale, 1);
		raise_to(&r->shown, got);
		atomic_fetch_add(&r->reads, 1);
	}
	arena_fini(&a);
	return NULL;
}

static uint64_t run_race(unsigned mutant, unsigned writes)
{
	struct race r = { .store = open_store(mutant) };
	pthread_t reader[3];
	put(r.store, SLICE("counter"), SLICE("0"));
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&reader[i], NULL, reader_main, &r), 0);
	for (unsigned n = 1; n <= writes; n++) {
		char text[32];
		struct slice v = slice_make(text, (size_t)snprintf(text, sizeof text, "%u", n));
		uint64_t reads = atomic_load(&r.reads);
		put(r.store, SLICE("counter"), v);
		atomic_store(&r.acknowledged, n);
		while (atomic_load(&r.reads) < reads + 4) /* let them in between */
			sched_yield();
	}
	atomic_store(&r.stop, true);
	for (int i = 0; i < 3; i++)
		pthread_join(reader[i], NULL);
	struct store_stats stats;
	store_stats(r.store, &stats);
	assert_true(stats.cache_hits > 0);
	store_close(r.store);
	return r.stale;
}

static void reads_never_go_back(void **state)
{
	assert_int_equal(run_race(0, 400), 0);
}

static void a_stale_cache_is_seen(void **state)
{
	assert_true(run_race(MUTANT_STALE_CACHE, 20) > 0);
}

/* ---- what a group writes ---- */

static void a_row_written_often_is_stored_once(void **state)
{
	enum { TIMES = 50, BYTES = 10000 };
	struct engine *e;
	struct engine_group *g;
	struct engine_stats before, after;
	struct arena arena;
	struct slice got;
	static char value[BYTES];
	struct buf message;
	buf_init(&message, 4096);
	arena_init(&arena, MIB);
	assert_int_equal(engine_rocks_open(&(struct rocks_options){ .dir = dir, .create = true }, &e, &message),
			 ERR_OK);
	e->ops->stats(e, &before);
	assert_int_equal(e->ops->group_begin(e, &g), ERR_OK);
	for (int i = 0; i < TIMES; i++) {
		memset(value, i, sizeof value);
		struct write w[] = {
			{ .kind = WRITE_PUT, .key = SLICE("often"), .value = slice_make(value, sizeof value) },
			{ .kind = i % 2 ? WRITE_DEL : WRITE_PUT, .key = SLICE("gone"), .value = SLICE("there") },
		};
		assert_int_equal(e->ops->group_accept(g, P, w, 2), ERR_OK);
	}
	assert_int_equal(e->ops->group_commit(g), OUTCOME_DONE);
	e->ops->stats(e, &after);
	assert_in_range(after.bytes_written - before.bytes_written, BYTES, 2 * BYTES);
	assert_int_equal(e->ops->get(e, NULL, P, SLICE("often"), &arena, &got), ERR_OK);
	assert_int_equal(got.len, BYTES);
	assert_memory_equal(got.ptr, value, BYTES);
	assert_int_equal(e->ops->get(e, NULL, P, SLICE("gone"), &arena, &got), ERR_NOT_FOUND);
	e->ops->close(e);
	arena_fini(&arena);
	buf_fini(&message);
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(no_count_is_lost),
		T(what_was_built_on_a_lost_group_runs_again),
		T(time_is_its_own_and_never_back),
		T(payloads_of_every_shape),
		T(parts_of_an_extent),
		T(without_fallocate),
		T(retired_space_comes_back),
		T(a_full_disk_takes_deletes),
		T(reads_never_go_back),
		T(a_stale_cache_is_seen),
		T(a_row_written_often_is_stored_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

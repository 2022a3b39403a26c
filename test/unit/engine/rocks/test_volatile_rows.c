/* SPDX-License-Identifier: Apache-2.0
 * Volatile rows while groups overlap: clients really race for a lock that is a volatile row, beside durable writes, and
 * readers never see the durable half of a transaction without what it put in their way. What is decided at once, in the
 * thread that asks, rests on nothing that is under way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "store/key.h"
#include "store/mutant.h"
#include "store/store.h"

#include "folder.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

enum { CLIENTS = 6, READERS = 2, TURNS = 150 };

#define P	 SLICE("p")
#define TAKEN	 SLICE("taken")
#define RELEASED SLICE("released")

struct race {
	struct store *store;
	atomic_int inside;
	atomic_bool over;
	atomic_uint looks;
};

struct client {
	struct race *race;
	pthread_t thread;
	struct store_job job;
	struct arena arena;
	sem_t done;
	enum err result;
	uint64_t turn; /* of the lock it holds */
	unsigned here, changed;
};

static enum err number_get(struct txn *t, struct slice key, uint64_t *ret)
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

/* Each turn has a row of its own, as each open of a file has. */
static struct slice lock_key(struct key *k, uint64_t turn)
{
	key_init(k);
	key_tag(k, KEY_TAG_VOLATILE);
	key_tag(k, 'o');
	key_u64(k, 1);
	if (turn)
		key_u64(k, turn);
	return key_slice(k);
}

static enum err is_locked(struct txn *t, bool *ret)
{
	struct key from, until;
	struct rows rows;
	lock_key(&from, 0);
	until = from;
	key_prefix_end(&until);
	TRY(txn_scan(t, &(struct scan_spec){ .from = key_slice(&from), .until = key_slice(&until) }, &rows));
	*ret = rows.count > 0;
	return rows.count > 1 ? ERR_CORRUPT : ERR_OK;
}

/* A turn of the lock: counted durably, held by a volatile row. */
static enum err apply_take(struct txn *t, void *call)
{
	struct client *c = call;
	uint64_t taken;
	bool held;
	struct key k;
	TRY(is_locked(t, &held));
	if (held)
		return ERR_CONDITION_NOT_MET;
	TRY(number_get(t, TAKEN, &taken));
	c->turn = taken + 1;
	TRY(txn_put(t, TAKEN, number_text(t, c->turn)));
	return txn_put_volatile(t, lock_key(&k, c->turn), SLICE("held"));
}

static enum err apply_release(struct txn *t, void *call)
{
	struct client *c = call;
	struct slice held;
	struct key k;
	TRY(txn_get(t, lock_key(&k, c->turn), &held));
	TRY(txn_put(t, RELEASED, number_text(t, c->turn)));
	return txn_del_volatile(t, lock_key(&k, c->turn));
}

static enum err apply_look(struct txn *t, void *call)
{
	uint64_t taken, released;
	struct slice held;
	struct key k;
	TRY(number_get(t, TAKEN, &taken));
	TRY(number_get(t, RELEASED, &released));
	if (taken == released)
		return ERR_OK;
	/* Taken and not released: the lock is there. */
	enum err err = txn_get(t, lock_key(&k, taken), &held);
	return err == ERR_NOT_FOUND ? ERR_CORRUPT : err;
}

static void answered(struct store_job *job, enum err result)
{
	struct client *c = job->owner;
	c->result = result;
	sem_post(&c->done);
}

static enum err commit(struct client *c, apply_fn *apply)
{
	arena_reset(&c->arena);
	c->job = (struct store_job){
		.partition = P, .apply = apply, .call = c, .arena = &c->arena, .done = answered, .owner = c
	};
	store_write(c->race->store, &c->job);
	while (sem_wait(&c->done) != 0)
		;
	return c->result;
}

static void *client_main(void *arg)
{
	struct client *c = arg;
	for (unsigned turns = 0; turns < TURNS;) {
		enum err err = commit(c, apply_take);
		if (err == ERR_CONDITION_NOT_MET)
			continue;
		assert_int_equal(err, ERR_OK);
		assert_int_equal(atomic_fetch_add(&c->race->inside, 1), 0);
		atomic_fetch_sub(&c->race->inside, 1);
		assert_int_equal(commit(c, apply_release), ERR_OK);
		turns++;
	}
	return NULL;
}

static void *reader_main(void *arg)
{
	struct client *c = arg;
	while (!atomic_load(&c->race->over)) {
		arena_reset(&c->arena);
		enum err err = store_read(c->race->store, P, apply_look, NULL, &c->arena);
		/* Changed all the time: it may not find a quiet moment. It never finds a wrong one. */
		assert_true(err == ERR_OK || err == ERR_BUSY);
		atomic_fetch_add(&c->race->looks, err == ERR_OK);
	}
	return NULL;
}

static void start(struct client *c, struct race *race, void *(*run)(void *))
{
	*c = (struct client){ .race = race };
	arena_init(&c->arena, 16 * MIB);
	sem_init(&c->done, 0, 0);
	assert_int_equal(pthread_create(&c->thread, NULL, run, c), 0);
}

static void end(struct client *c)
{
	pthread_join(c->thread, NULL);
	sem_destroy(&c->done);
	arena_fini(&c->arena);
}

static void a_volatile_lock_excludes(void **state)
{
	struct clock clock;
	struct race race = { 0 };
	struct client client[CLIENTS], reader[READERS];
	clock_init_fake(&clock, TICKS_UNIX_EPOCH * 2);
	assert_int_equal(folder_make("volatile"), 0);
	assert_int_equal(store_open(folder_open(), &(struct store_options){ .clock = &clock }, &race.store), ERR_OK);
	for (int i = 0; i < READERS; i++)
		start(&reader[i], &race, reader_main);
	for (int i = 0; i < CLIENTS; i++)
		start(&client[i], &race, client_main);
	for (int i = 0; i < CLIENTS; i++)
		end(&client[i]);
	atomic_store(&race.over, true);
	for (int i = 0; i < READERS; i++)
		end(&reader[i]);
	assert_true(atomic_load(&race.looks) > 0);
	store_close(race.store);
	assert_int_equal(folder_remove(), 0);
}

/* ---- decided here and now ---- */

/* As a lock of bytes: it looks at locks alone, and not at the content that it protects. */
static enum err apply_lock(struct txn *t, void *call)
{
	struct client *c = call;
	bool held;
	struct key k;
	TRY(is_locked(t, &held));
	if (held)
		return ERR_CONDITION_NOT_MET;
	return txn_put_volatile(t, lock_key(&k, c->turn), SLICE("held"));
}

static enum err apply_unlock(struct txn *t, void *call)
{
	struct client *c = call;
	struct key k;
	return txn_del_volatile(t, lock_key(&k, c->turn));
}

/* As a write: judged by the locks. */
static enum err apply_write(struct txn *t, void *call)
{
	uint64_t taken;
	bool held;
	TRY(is_locked(t, &held));
	if (held)
		return ERR_CONDITION_NOT_MET;
	TRY(number_get(t, TAKEN, &taken));
	return txn_put(t, TAKEN, number_text(t, taken + 1));
}

static enum err decide(struct client *c, apply_fn *apply)
{
	arena_reset(&c->arena);
	c->job = (struct store_job){
		.partition = P, .apply = apply, .call = c, .arena = &c->arena, .done = answered, .owner = c
	};
	if (store_write_here(c->race->store, &c->job, &c->result)) {
		c->here++;
		return c->result;
	}
	while (sem_wait(&c->done) != 0)
		;
	return c->result;
}

static enum err apply_content(struct txn *t, void *call)
{
	return number_get(t, TAKEN, call);
}

static uint64_t content(struct client *c)
{
	uint64_t n = 0;
	arena_reset(&c->arena);
	assert_int_equal(store_read(c->race->store, P, apply_content, &n, &c->arena), ERR_OK);
	return n;
}

/* Whoever has the lock looks until a write that was under way has ended. */
static void *locker_main(void *arg)
{
	struct client *c = arg;
	for (c->turn = 1; c->turn <= TURNS && !c->changed; c->turn++) {
		enum err err;
		while ((err = decide(c, apply_lock)) == ERR_CONDITION_NOT_MET)
			;
		assert_int_equal(err, ERR_OK);
		uint64_t before = content(c);
		struct timespec pause = { .tv_nsec = 500 * 1000 };
		nanosleep(&pause, NULL);
		c->changed += content(c) != before;
		assert_int_equal(decide(c, apply_unlock), ERR_OK);
		nanosleep(&pause, NULL); /* the writers' turn */
	}
	return NULL;
}

static void *writer_main(void *arg)
{
	struct client *c = arg;
	while (!atomic_load(&c->race->over)) {
		enum err err = commit(c, apply_write);
		assert_true(err == ERR_OK || err == ERR_CONDITION_NOT_MET);
	}
	return NULL;
}

static void lock_beside_writers(unsigned mutant, unsigned *ret_here, unsigned *ret_changed)
{
	struct clock clock;
	struct race race = { 0 };
	struct client locker, writer[READERS];
	clock_init_fake(&clock, TICKS_UNIX_EPOCH * 2);
	assert_int_equal(folder_make("volatile"), 0);
	struct store_options options = { .clock = &clock, .mutant = mutant };
	assert_int_equal(store_open(folder_open(), &options, &race.store), ERR_OK);
	for (int i = 0; i < READERS; i++)
		start(&writer[i], &race, writer_main);
	start(&locker, &race, locker_main);
	end(&locker);
	atomic_store(&race.over, true);
	for (int i = 0; i < READERS; i++)
		end(&writer[i]);
	store_close(race.store);
	assert_int_equal(folder_remove(), 0);
	*ret_here = locker.here;
	*ret_changed = locker.changed;
}

static void a_lock_decided_at_once_protects(void **state)
{
	unsigned here, changed;
	lock_beside_writers(MUTANT_NONE, &here, &changed);
	assert_int_equal(changed, 0);
	assert_true(here > 0);
	/* The test would notice: without the look at what is under way, a write judged before it shows up later. */
	lock_beside_writers(MUTANT_ANSWER_EARLY, &here, &changed);
	assert_int_equal(changed, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(a_volatile_lock_excludes),
					    cmocka_unit_test(a_lock_decided_at_once_protects) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}

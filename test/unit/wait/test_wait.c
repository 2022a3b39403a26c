/* SPDX-License-Identifier: Apache-2.0
 * Waiters, holders and watchers on real loops and threads: each wait ends exactly once whatever races, notices reach
 * the loop that holds the open, watchers get changes in order or are told that they lost some. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/sys/rng.h"
#include "wait/holder.h"
#include "wait/wait.h"
#include "wait/watch.h"

#include <pthread.h>
#include <stdlib.h>

enum { LOOPS = 2, REQUESTS = 4000, FILES = 7 };

struct loop {
	struct io_loop *io;
	pthread_t thread;
};

static void *loop_main(void *arg)
{
	struct loop *l = arg;
	io_loop_run(l->io, NULL, NULL);
	return NULL;
}

static void loop_start(struct loop *l)
{
	assert_int_equal(io_loop_new(&l->io), ERR_OK);
	assert_int_equal(pthread_create(&l->thread, NULL, loop_main, l), 0);
}

static void loop_end(struct loop *l)
{
	io_loop_stop(l->io);
	pthread_join(l->thread, NULL);
	io_loop_free(l->io);
}

/* Runs a function on a loop and waits for it. */
struct call {
	struct io_task task;
	void (*fn)(void *);
	void *arg;
	atomic_bool done;
};

static void call_run(struct io_task *t)
{
	struct call *c = io_container_of(t, struct call, task);
	c->fn(c->arg);
	atomic_store(&c->done, true);
}

static void on_loop(struct loop *l, void (*fn)(void *), void *arg)
{
	struct call c = { .task.run = call_run, .fn = fn, .arg = arg };
	io_loop_post(l->io, &c.task);
	while (!atomic_load(&c.done))
		sched_yield();
}

/* ---- waiting ---- */

struct request {
	struct wait_list *list;
	struct loop *loop;
	struct waiter *waiter;
	struct wait_key key;
	unsigned account;
	uint64_t timeout_ms;
	atomic_uint ends;
	enum wait_end how;
	bool dropped;
};

static void ended(void *owner, enum wait_end how)
{
	struct request *r = owner;
	assert_true(io_loop_is_current(r->loop->io));
	assert_false(r->dropped);
	r->how = how;
	r->waiter = NULL;
	atomic_fetch_add(&r->ends, 1);
}

static void begin(void *arg)
{
	struct request *r = arg;
	uint64_t deadline = r->timeout_ms ? io_loop_now_ms(r->loop->io) + r->timeout_ms : 0;
	assert_int_equal(wait_begin(r->list, &r->key, r->account, r->loop->io, deadline, ended, r, &r->waiter), ERR_OK);
}

static void cancel(void *arg)
{
	struct request *r = arg;
	if (r->waiter)
		wait_cancel(r->waiter);
}

static void drop(void *arg)
{
	struct request *r = arg;
	if (!r->waiter)
		return;
	r->dropped = true;
	wait_drop(r->waiter);
	r->waiter = NULL;
}

static void await_end(struct request *r)
{
	while (!atomic_load(&r->ends))
		sched_yield();
}

static void a_waiter_is_woken_by_its_file_only(void **state)
{
	struct wait_list *list;
	struct loop loop;
	assert_int_equal(wait_list_new(&list), ERR_OK);
	loop_start(&loop);
	struct request a = { .list = list, .loop = &loop, .key = { 1, 5 } };
	struct request b = { .list = list, .loop = &loop, .key = { 2, 5 } };
	on_loop(&loop, begin, &a);
	on_loop(&loop, begin, &b);
	wait_wake(list, &(struct wait_key){ 1, 6 });
	wait_wake(list, &(struct wait_key){ 1, 5 });
	await_end(&a);
	assert_int_equal(a.how, WAIT_WOKEN);
	assert_int_equal(atomic_load(&b.ends), 0);
	on_loop(&loop, cancel, &b);
	await_end(&b);
	assert_int_equal(b.how, WAIT_CANCELLED);
	assert_int_equal(wait_count(list), 0);
	loop_end(&loop);
	wait_list_free(list);
}

static void a_deadline_ends_a_wait(void **state)
{
	struct wait_list *list;
	struct loop loop;
	assert_int_equal(wait_list_new(&list), ERR_OK);
	loop_start(&loop);
	struct request a = { .list = list, .loop = &loop, .key = { 1, 5 }, .timeout_ms = 30 };
	on_loop(&loop, begin, &a);
	await_end(&a);
	assert_int_equal(a.how, WAIT_TIMED_OUT);
	loop_end(&loop);
	wait_list_free(list);
}

struct waker {
	struct wait_list *list;
	atomic_bool stop;
	pthread_t thread;
};

static void *waker_main(void *arg)
{
	struct waker *w = arg;
	for (uint64_t i = 0; !atomic_load(&w->stop); i++)
		wait_wake(w->list, &(struct wait_key){ 9, i % FILES });
	return NULL;
}

/* Wakes, deadlines, cancels and drops race: each request ends once, or not at all if it was dropped first. */
static void each_wait_ends_once(void **state)
{
	struct loop loop[LOOPS];
	struct waker waker = { 0 };
	struct rng rng;
	unsigned how[3] = { 0 }, dropped = 0;
	assert_int_equal(wait_list_new(&waker.list), ERR_OK);
	rng_init_seed(&rng, 7);
	for (int i = 0; i < LOOPS; i++)
		loop_start(&loop[i]);
	pthread_create(&waker.thread, NULL, waker_main, &waker);
	struct request *r = calloc(REQUESTS, sizeof *r);
	for (unsigned i = 0; i < REQUESTS; i++) {
		/* Some wait for a file that nobody wakes. */
		r[i] = (struct request){ .list = waker.list,
					 .loop = &loop[rng_below(&rng, LOOPS)],
					 .key = { 9, rng_below(&rng, FILES + 2) },
					 .timeout_ms = 1 + rng_below(&rng, 20) };
		on_loop(r[i].loop, begin, &r[i]);
		uint64_t act = rng_below(&rng, 4);
		if (act == 0)
			on_loop(r[i].loop, cancel, &r[i]);
		if (act == 1)
			on_loop(r[i].loop, drop, &r[i]);
	}
	for (unsigned i = 0; i < REQUESTS; i++)
		if (!r[i].dropped)
			await_end(&r[i]);
	atomic_store(&waker.stop, true);
	pthread_join(waker.thread, NULL);
	while (wait_count(waker.list)) /* dropped ones whose task was under way */
		sched_yield();
	for (int i = 0; i < LOOPS; i++)
		loop_end(&loop[i]);
	for (unsigned i = 0; i < REQUESTS; i++) {
		assert_int_equal(atomic_load(&r[i].ends), r[i].dropped ? 0 : 1);
		dropped += r[i].dropped;
		how[r[i].how] += !r[i].dropped;
	}
	assert_true(how[WAIT_WOKEN] > 100 && how[WAIT_TIMED_OUT] > 10 && how[WAIT_CANCELLED] > 10 && dropped > 10);
	free(r);
	wait_list_free(waker.list);
}

/* ---- holders ---- */

struct connection {
	struct holder_list *list;
	struct loop *loop;
	uint64_t open_id;
	atomic_uint notices;
};

static void noticed(void *owner, const struct holder_notice *n)
{
	struct connection *c = owner;
	assert_true(io_loop_is_current(c->loop->io));
	assert_int_equal(n->open_id, c->open_id);
	assert_int_equal(n->to, 1);
	atomic_fetch_add(&c->notices, 1);
}

static void hold(void *arg)
{
	struct connection *c = arg;
	assert_int_equal(holder_add(c->list, c->open_id, c->loop->io, noticed, c), ERR_OK);
}

static void let_go(void *arg)
{
	struct connection *c = arg;
	holder_remove(c->list, c->open_id);
}

static void post_here(void *arg)
{
	struct connection *c = arg;
	struct holder_notice n = { .open_id = c->open_id, .what = NOTICE_BREAK, .from = 7, .to = 1 };
	unsigned before = atomic_load(&c->notices);
	assert_true(holder_post(c->list, &n));
	assert_int_equal(atomic_load(&c->notices), before + 1); /* at once, on its own loop */
}

static void nothing(void *arg)
{
}

static void notices_reach_who_holds_the_open(void **state)
{
	struct loop loop[2];
	struct holder_list *list;
	struct holder_notice n = { .open_id = 77, .what = NOTICE_BREAK, .from = 7, .to = 1 };
	assert_int_equal(holder_list_new(&list), ERR_OK);
	loop_start(&loop[0]);
	loop_start(&loop[1]);
	struct connection a = { .list = list, .loop = &loop[0], .open_id = 77 };
	struct connection b = { .list = list, .loop = &loop[1], .open_id = 77 };
	assert_false(holder_post(list, &n));
	on_loop(&loop[0], hold, &a);
	for (int i = 0; i < 100; i++)
		assert_true(holder_post(list, &n));
	while (atomic_load(&a.notices) < 100)
		sched_yield();
	/* A reconnect on another loop takes it over. */
	on_loop(&loop[1], hold, &b);
	assert_true(holder_post(list, &n));
	while (!atomic_load(&b.notices))
		sched_yield();
	on_loop(&loop[1], post_here, &b);
	on_loop(&loop[1], let_go, &b);
	assert_false(holder_post(list, &n));
	on_loop(&loop[0], nothing, NULL);
	on_loop(&loop[1], nothing, NULL);
	assert_int_equal(atomic_load(&a.notices), 100);
	assert_int_equal(atomic_load(&b.notices), 2);
	loop_end(&loop[0]);
	loop_end(&loop[1]);
	holder_list_free(list);
}

/* ---- watchers ---- */

struct folder {
	struct watch_list *list;
	struct loop *loop;
	struct watcher *watcher;
	uint64_t dir;
	unsigned account;
	bool tree;
	size_t limit;
	atomic_uint readies;
	char got[512];
	bool lost, gone;
};

static void changed(void *arg, const struct watch_change *c)
{
	struct folder *f = arg;
	size_t len = strlen(f->got);
	snprintf(f->got + len, sizeof f->got - len, "%d:%.*s ", (int)c->action, SLICE_FMT(c->name));
}

static void ready(void *owner)
{
	struct folder *f = owner;
	watch_take(f->watcher, changed, f, &f->lost);
	f->gone = watch_is_gone(f->watcher);
	atomic_fetch_add(&f->readies, 1);
}

static void add_watch(void *arg)
{
	struct folder *f = arg;
	assert_int_equal(watch_add(f->list, f->account, 3, f->dir, f->tree, f->loop->io, ready, f, &f->watcher),
			 ERR_OK);
}

static void arm(void *arg)
{
	struct folder *f = arg;
	if (watch_arm(f->watcher, WATCH_FILE_NAME | WATCH_SIZE, f->limit))
		ready(f);
}

static void remove_watch(void *arg)
{
	struct folder *f = arg;
	watch_remove(f->watcher);
}

static void await_ready(struct folder *f, unsigned count)
{
	while (atomic_load(&f->readies) < count)
		sched_yield();
}

static void watchers_get_what_is_theirs(void **state)
{
	struct loop loop;
	struct watch_list *list;
	uint64_t chain[] = { 20, 10, 0 }; /* the entry lies in 20, which lies in 10, which lies in the root */
	struct watch_event e = { .share = 3,
				 .action = WATCH_ADDED,
				 .filter = WATCH_FILE_NAME,
				 .dir = chain,
				 .depth = 3,
				 .path = SLICE("ten/twenty/new") };
	assert_int_equal(watch_list_new(&list), ERR_OK);
	loop_start(&loop);
	struct folder near = { .list = list, .loop = &loop, .dir = 20, .limit = 200 };
	struct folder far = { .list = list, .loop = &loop, .dir = 0, .limit = 200 };
	struct folder tree = { .list = list, .loop = &loop, .dir = 0, .tree = true, .limit = 200 };
	struct folder *all[] = { &near, &far, &tree };
	for (int i = 0; i < 3; i++)
		on_loop(&loop, add_watch, all[i]);
	watch_publish(list, &e); /* nobody asked yet: not collected */
	for (int i = 0; i < 3; i++)
		on_loop(&loop, arm, all[i]);
	watch_publish(list, &e);
	await_ready(&near, 1);
	await_ready(&tree, 1);
	assert_string_equal(near.got, "1:new ");
	assert_string_equal(tree.got, "1:ten/twenty/new ");
	/* Between requests it is collected, what the filter wants; in order. */
	e.action = WATCH_OLD_NAME;
	watch_publish(list, &e);
	e.action = WATCH_NEW_NAME;
	watch_publish(list, &e);
	e.filter = WATCH_ATTRIBUTES;
	watch_publish(list, &e);
	e.filter = WATCH_SIZE;
	e.unless = WATCH_FILE_NAME; /* for others only */
	watch_publish(list, &e);
	e.unless = 0;
	on_loop(&loop, arm, &near);
	await_ready(&near, 2);
	assert_string_equal(near.got, "1:new 4:new 5:new ");
	assert_false(near.lost);
	/* Too many: enumerate again. */
	e.filter = WATCH_SIZE;
	for (int i = 0; i < 100; i++)
		watch_publish(list, &e);
	on_loop(&loop, arm, &near);
	await_ready(&near, 3);
	assert_true(near.lost);
	assert_string_equal(near.got, "1:new 4:new 5:new ");
	on_loop(&loop, arm, &near);
	watch_gone(list, 3, 20);
	await_ready(&near, 4);
	assert_true(near.gone);
	on_loop(&loop, arm, &near); /* and every request from now on */
	await_ready(&near, 5);
	watch_back(list, 3, 20);
	on_loop(&loop, arm, &near);
	assert_int_equal(atomic_load(&near.readies), 5);
	assert_int_equal(atomic_load(&far.readies), 0);
	for (int i = 0; i < 3; i++)
		on_loop(&loop, remove_watch, all[i]);
	loop_end(&loop);
	watch_list_free(list);
}

/* ---- places ---- */

struct crowd {
	struct loop *loop;
	struct wait_list *waits;
	struct watch_list *watches;
	unsigned account;
	struct waiter *waiter[LIMIT_WAITERS];
	struct watcher *watcher[LIMIT_WATCHERS];
	size_t waiters, watchers;
};
static struct crowd crowd;

static void never_ended(void *owner, enum wait_end how)
{
	fail();
}

static void never_ready(void *owner)
{
	fail();
}

/* As many as it gets. */
static void crowd_in(void *arg)
{
	struct crowd *c = arg;
	struct wait_key key = { 1, c->account };
	enum err e = ERR_OK;
	while (e == ERR_OK) {
		e = wait_begin(c->waits, &key, c->account, c->loop->io, 0, never_ended, c, &c->waiter[c->waiters]);
		c->waiters += e == ERR_OK;
	}
	assert_int_equal(e, ERR_BUSY);
	for (e = ERR_OK; e == ERR_OK; c->watchers += e == ERR_OK)
		e = watch_add(c->watches, c->account, 1, 2, false, c->loop->io, never_ready, c,
			      &c->watcher[c->watchers]);
	assert_int_equal(e, ERR_BUSY);
}

static void crowd_out(void *arg)
{
	struct crowd *c = arg;
	while (c->waiters)
		wait_drop(c->waiter[--c->waiters]);
	while (c->watchers)
		watch_remove(c->watcher[--c->watchers]);
}

/* One account gets half of the places, the next half of what is left, and all come back. */
static void an_account_leaves_places_for_others(void **state)
{
	struct loop loop;
	loop_start(&loop);
	crowd.loop = &loop;
	assert_int_equal(wait_list_new(&crowd.waits), ERR_OK);
	assert_int_equal(watch_list_new(&crowd.watches), ERR_OK);
	for (int round = 0; round < 2; round++) {
		crowd.account = 1;
		on_loop(&loop, crowd_in, &crowd);
		assert_int_equal(crowd.waiters, LIMIT_WAITERS / 2);
		assert_int_equal(crowd.watchers, LIMIT_WATCHERS / 2);
		crowd.account = 2;
		on_loop(&loop, crowd_in, &crowd);
		assert_int_equal(crowd.waiters, LIMIT_WAITERS / 4 * 3);
		assert_int_equal(crowd.watchers, LIMIT_WATCHERS / 4 * 3);
		on_loop(&loop, crowd_out, &crowd);
	}
	loop_end(&loop);
	wait_list_free(crowd.waits);
	watch_list_free(crowd.watches);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_waiter_is_woken_by_its_file_only),
		cmocka_unit_test(a_deadline_ends_a_wait),
		cmocka_unit_test(each_wait_ends_once),
		cmocka_unit_test(notices_reach_who_holds_the_open),
		cmocka_unit_test(watchers_get_what_is_theirs),
		cmocka_unit_test(an_account_leaves_places_for_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

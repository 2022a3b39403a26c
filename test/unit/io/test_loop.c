/* SPDX-License-Identifier: Apache-2.0
 * Timers, posting between threads, deferring, the worker pool. */
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/sys/clock.h"
#include "base/sys/rng.h"
#include "io/loop.h"
#include "io/pool.h"
#include "io/wheel.h"

struct probe {
	struct io_timer timer;
	uint64_t fired_at;
	unsigned fired;
};
static uint64_t now_ms;

static void probe_fired(struct io_timer *t)
{
	struct probe *p = io_container_of(t, struct probe, timer);
	p->fired++;
	p->fired_at = now_ms;
}

static void timer_is_never_early_and_at_most_one_tick_late(void **state)
{
	static const uint64_t delays[] = { 0, 1, 63, 64, 65, 1000, 15000, 131071, 131072, 131073, 400000 };
	for (size_t i = 0; i < sizeof delays / sizeof *delays; i++) {
		static struct wheel w;
		struct probe p = { 0 };
		now_ms = 12345;
		wheel_init(&w, now_ms);
		io_timer_init(&p.timer, probe_fired);
		uint64_t deadline = now_ms + delays[i];
		wheel_set(&w, &p.timer, deadline);
		while (!p.fired) {
			int wait = wheel_wait_ms(&w, now_ms);
			assert_true(wait >= 0);
			now_ms += wait > 0 ? (uint64_t)wait : 1;
			wheel_advance(&w, now_ms);
			assert_true(now_ms < deadline + 2 * WHEEL_TICK_MS);
		}
		assert_true(p.fired_at >= deadline);
		assert_int_equal(wheel_wait_ms(&w, now_ms), -1);
	}
}

static void deadline_moved_later_fires_once_at_the_later_time(void **state)
{
	static struct wheel w;
	struct probe p = { 0 };
	now_ms = 1000;
	wheel_init(&w, now_ms);
	io_timer_init(&p.timer, probe_fired);
	wheel_set(&w, &p.timer, 2000);
	wheel_set(&w, &p.timer, 9000);
	for (; now_ms < 9000; now_ms += 10)
		wheel_advance(&w, now_ms);
	assert_int_equal(p.fired, 0);
	wheel_advance(&w, now_ms += 100);
	assert_int_equal(p.fired, 1);
}

static void deadline_moved_earlier_fires_at_the_earlier_time(void **state)
{
	static struct wheel w;
	struct probe p = { 0 };
	now_ms = 1000;
	wheel_init(&w, now_ms);
	io_timer_init(&p.timer, probe_fired);
	wheel_set(&w, &p.timer, 90000);
	wheel_set(&w, &p.timer, 2000);
	wheel_advance(&w, now_ms = 2100);
	assert_int_equal(p.fired, 1);
	wheel_advance(&w, now_ms = 100000);
	assert_int_equal(p.fired, 1);
}

static void random_timers_match_a_plain_list(void **state)
{
	enum { TIMERS = 500 };
	static struct wheel w;
	static struct probe probes[TIMERS];
	static uint64_t expect[TIMERS]; /* 0 = not armed */
	struct rng rng;
	rng_init_seed(&rng, 7);
	now_ms = 5000;
	wheel_init(&w, now_ms);
	for (size_t i = 0; i < TIMERS; i++)
		io_timer_init(&probes[i].timer, probe_fired);
	for (unsigned round = 0; round < 20000; round++) {
		size_t i = rng_below(&rng, TIMERS);
		if (rng_below(&rng, 4) == 0) {
			wheel_clear(&w, &probes[i].timer);
			expect[i] = 0;
		} else {
			expect[i] = now_ms + rng_below(&rng, 200000);
			wheel_set(&w, &probes[i].timer, expect[i]);
		}
		now_ms += rng_below(&rng, 300);
		wheel_advance(&w, now_ms);
		for (size_t j = 0; j < TIMERS; j++) {
			if (probes[j].fired) {
				assert_true(expect[j] != 0 && expect[j] <= now_ms);
				expect[j] = 0;
				probes[j].fired = 0;
			}
			assert_true(expect[j] == 0 || expect[j] + WHEEL_TICK_MS > now_ms);
		}
	}
}

enum { POSTERS = 4, POSTS = 20000 };
struct post {
	struct io_task task;
	unsigned poster, number;
};
static struct post posts[POSTERS][POSTS];
static struct io_loop *loop;
static unsigned next_number[POSTERS], received;

static void post_run(struct io_task *t)
{
	struct post *p = io_container_of(t, struct post, task);
	assert_true(io_loop_is_current(loop));
	assert_int_equal(p->number, next_number[p->poster]);
	next_number[p->poster]++;
	if (++received == POSTERS * POSTS)
		io_loop_stop(loop);
}

static void *poster_main(void *arg)
{
	unsigned poster = (unsigned)(uintptr_t)arg;
	for (unsigned i = 0; i < POSTS; i++) {
		posts[poster][i] = (struct post){ .task.run = post_run, .poster = poster, .number = i };
		io_loop_post(loop, &posts[poster][i].task);
	}
	return NULL;
}

static void posts_of_many_threads_all_arrive_in_order(void **state)
{
	pthread_t threads[POSTERS];
	received = 0;
	memset(next_number, 0, sizeof next_number);
	assert_int_equal(io_loop_new(&loop), ERR_OK);
	for (uintptr_t i = 0; i < POSTERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, poster_main, (void *)i), 0);
	io_loop_run(loop, NULL, NULL);
	for (size_t i = 0; i < POSTERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(received, POSTERS * POSTS);
	io_loop_free(loop);
}

/* One post at a time from a sleeping start: a lost wake-up hangs here (ctest's time limit tells). */
struct ping {
	struct io_task task;
	struct io_work work;
	struct io_pool *pool;
	unsigned left;
};
static void ping_run(struct io_work *w)
{
}
static void ping_done(struct io_work *w)
{
	struct ping *p = io_container_of(w, struct ping, work);
	if (--p->left == 0)
		io_loop_stop(loop);
	else
		assert_int_equal(io_pool_submit(p->pool, w), ERR_OK);
}
static void ping_start(struct io_task *t)
{
	struct ping *p = io_container_of(t, struct ping, task);
	assert_int_equal(io_pool_submit(p->pool, &p->work), ERR_OK);
}

static void work_goes_to_a_worker_and_comes_back_every_time(void **state)
{
	struct ping p = { .task.run = ping_start, .work = { .run = ping_run, .done = ping_done }, .left = 20000 };
	assert_int_equal(io_loop_new(&loop), ERR_OK);
	assert_int_equal(io_pool_new(2, &p.pool), ERR_OK);
	p.work.home = loop;
	io_loop_post(loop, &p.task);
	io_loop_run(loop, NULL, NULL);
	assert_int_equal(p.left, 0);
	io_pool_free(p.pool);
	io_loop_free(loop);
}

/* Three long ones and behind them a short one, for one thread each. Long ones last until the short one has run. */
static atomic_bool short_ran;
static atomic_uint long_at_once, long_most, work_ended;
static void long_run(struct io_work *w)
{
	unsigned now = atomic_fetch_add(&long_at_once, 1) + 1;
	if (now > atomic_load(&long_most))
		atomic_store(&long_most, now);
	for (int ms = 0; ms < 5000 && !atomic_load(&short_ran); ms++)
		usleep(1000);
	atomic_fetch_sub(&long_at_once, 1);
}
static void short_run(struct io_work *w)
{
	/* It came behind three that have not ended. */
	atomic_store(&short_ran, atomic_load(&work_ended) == 0 && atomic_load(&long_at_once) == 1);
}
static void mixed_done(struct io_work *w)
{
	if (atomic_fetch_add(&work_ended, 1) + 1 == 4)
		io_loop_stop(loop);
}

static void short_work_does_not_wait_for_the_end_of_long_work(void **state)
{
	struct io_pool *pool;
	struct io_work work[4];
	assert_int_equal(io_loop_new(&loop), ERR_OK);
	assert_int_equal(io_pool_new(1, &pool), ERR_OK);
	for (int i = 0; i < 4; i++) {
		work[i] = (struct io_work){
			.home = loop, .run = i < 3 ? long_run : short_run, .done = mixed_done, .is_long = i < 3
		};
		if (i == 3)
			while (atomic_load(&long_at_once) == 0)
				usleep(1000);
		assert_int_equal(io_pool_submit(pool, &work[i]), ERR_OK);
	}
	io_loop_run(loop, NULL, NULL);
	assert_true(short_ran);
	assert_int_equal(long_most, 1);
	io_pool_free(pool);
	io_loop_free(loop);
}

static void counted_run(struct io_work *w)
{
	atomic_fetch_add(&work_ended, 1);
	usleep(5000);
}
static void nothing_done(struct io_work *w)
{
}

static void a_pool_ends_when_all_work_is_done(void **state)
{
	struct io_pool *pool;
	struct io_work work[8];
	assert_int_equal(io_loop_new(&loop), ERR_OK);
	assert_int_equal(io_pool_new(2, &pool), ERR_OK);
	work_ended = 0;
	for (int i = 0; i < 8; i++) {
		work[i] = (struct io_work){ .home = loop, .run = counted_run, .done = nothing_done, .is_long = i != 1 };
		assert_int_equal(io_pool_submit(pool, &work[i]), ERR_OK);
	}
	io_pool_free(pool);
	assert_int_equal(work_ended, 8);
	io_loop_free(loop);
}

/* One thread, many pieces of owner 1 and behind them some of owners 2 and 3: they take turns. */
static sem_t turns_begin;
static unsigned turns[64], turn_count;
static atomic_bool turn_began;
static void turn_run(struct io_work *w)
{
	if (turn_count == 0) {
		atomic_store(&turn_began, true);
		sem_wait(&turns_begin); /* until all are queued */
	}
	turns[turn_count++] = w->owner;
}

static void owners_take_turns(void **state)
{
	static const unsigned wanted[] = { 1, 1, 2, 3, 1, 2, 3, 1, 2, 1, 1 };
	struct io_pool *pool;
	struct io_work work[40];
	assert_int_equal(io_loop_new(&loop), ERR_OK);
	assert_int_equal(io_pool_new(1, &pool), ERR_OK);
	sem_init(&turns_begin, 0, 0);
	for (unsigned i = 0; i < 35; i++) {
		unsigned owner = i < 30 ? 1 : i < 33 ? 2 : 3;
		work[i] = (struct io_work){
			.home = loop, .run = turn_run, .done = nothing_done, .is_long = true, .owner = owner
		};
		assert_int_equal(io_pool_submit(pool, &work[i]), ERR_OK);
		while (!atomic_load(&turn_began))
			usleep(1000);
	}
	sem_post(&turns_begin);
	io_pool_free(pool);
	assert_int_equal(turn_count, 35);
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		assert_int_equal(turns[i], wanted[i]);
	sem_destroy(&turns_begin);
	io_loop_free(loop);
}

static void gate_run(struct io_work *w)
{
	sem_wait(&turns_begin);
}
static void counted_quick(struct io_work *w)
{
	atomic_fetch_add(&work_ended, 1);
}

static void one_owner_does_not_fill_the_queue(void **state)
{
	struct io_pool *pool;
	struct io_work *work = calloc(LIMIT_WORK_QUEUE_OWNER + 3, sizeof *work);
	size_t taken = 0;
	assert_int_equal(io_loop_new(&loop), ERR_OK);
	assert_int_equal(io_pool_new(1, &pool), ERR_OK);
	sem_init(&turns_begin, 0, 0);
	turn_count = 0;
	work[0] = (struct io_work){ .home = loop, .run = gate_run, .done = nothing_done, .is_long = true, .owner = 1 };
	assert_int_equal(io_pool_submit(pool, &work[0]), ERR_OK);
	for (size_t i = 1; i < LIMIT_WORK_QUEUE_OWNER + 2; i++) {
		work[i] = (struct io_work){
			.home = loop, .run = counted_quick, .done = nothing_done, .is_long = true, .owner = 1
		};
		taken += io_pool_submit(pool, &work[i]) == ERR_OK;
	}
	assert_true(taken <= LIMIT_WORK_QUEUE_OWNER && taken >= LIMIT_WORK_QUEUE_OWNER - 1);
	struct io_work *other = &work[LIMIT_WORK_QUEUE_OWNER + 2];
	*other = (struct io_work){
		.home = loop, .run = counted_quick, .done = nothing_done, .is_long = true, .owner = 2
	};
	assert_int_equal(io_pool_submit(pool, other), ERR_OK);
	sem_post(&turns_begin);
	io_pool_free(pool);
	sem_destroy(&turns_begin);
	io_loop_free(loop);
	free(work);
}

static void late_fired(struct io_timer *t)
{
	io_loop_stop(loop);
}

static void loop_sleeps_until_its_timer(void **state)
{
	struct io_timer t;
	assert_int_equal(io_loop_new(&loop), ERR_OK);
	io_timer_init(&t, late_fired);
	uint64_t start_ns = base_monotonic_ns();
	io_timer_set(loop, &t, io_loop_now_ms(loop) + 150);
	io_loop_run(loop, NULL, NULL);
	assert_true(base_monotonic_ns() - start_ns >= 149 * UINT64_C(1000000));
	io_loop_free(loop);
}

/* ---- lingering ---- */

enum { PINGS = 300, PATIENCE_S = 60 };

struct pinged {
	struct io_source source;
	struct io_task posted;
	int fd;
	sem_t heard;
	unsigned bytes, posts;
};
static struct pinged pinged;

static void bytes_came(struct io_source *s, uint32_t events)
{
	char b[16];
	ssize_t n;
	io_loop_linger(loop, 200 * 1000);
	while ((n = read(pinged.fd, b, sizeof b)) > 0)
		for (pinged.bytes += (unsigned)n; n > 0; n--)
			sem_post(&pinged.heard);
}

static void post_came(struct io_task *t)
{
	io_loop_linger(loop, 200 * 1000);
	pinged.posts++;
	sem_post(&pinged.heard);
}

static void *loop_thread(void *arg)
{
	io_loop_run(loop, NULL, NULL);
	return NULL;
}

/* Each ping is answered before the next; some come while the loop looks, some when it sleeps. */
static void nothing_is_missed_while_a_loop_lingers(void **state)
{
	pthread_t thread;
	int pair[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	pinged = (struct pinged){ .source.ready = bytes_came, .posted.run = post_came, .fd = pair[0] };
	sem_init(&pinged.heard, 0, 0);
	assert_int_equal(io_loop_new(&loop), ERR_OK);
	assert_int_equal(io_loop_add(loop, pair[0], &pinged.source), ERR_OK);
	assert_int_equal(pthread_create(&thread, NULL, loop_thread, NULL), 0);
	for (unsigned i = 0; i < PINGS; i++) {
		struct timespec until, pause = { .tv_nsec = i % 3 * 250 * 1000 };
		nanosleep(&pause, NULL);
		if (i % 2)
			io_loop_post(loop, &pinged.posted);
		else
			assert_int_equal(write(pair[1], "x", 1), 1);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += PATIENCE_S;
		if (sem_timedwait(&pinged.heard, &until) != 0)
			fail_msg("ping %u was not heard", i);
	}
	io_loop_stop(loop);
	pthread_join(thread, NULL);
	assert_int_equal(pinged.bytes, PINGS / 2);
	assert_int_equal(pinged.posts, PINGS / 2);
	io_loop_free(loop);
	close(pair[0]);
	close(pair[1]);
}

/* ---- many tasks at once ---- */

enum { CROWD = 200 };

struct crowd {
	struct io_source source;
	struct io_task task[CROWD], deferred;
	int pair[2];
	unsigned ran, ran_before_event, ran_before_deferred;
};
static struct crowd crowd;

/* Each takes a millisecond, and they run in the order in which they were posted. */
static void crowd_run(struct io_task *t)
{
	uint64_t until_ns = base_monotonic_ns() + 1000 * 1000;
	assert_ptr_equal(t, &crowd.task[crowd.ran]);
	if (crowd.ran++ == 0) {
		assert_int_equal(write(crowd.pair[1], "x", 1), 1);
		io_loop_defer(loop, &crowd.deferred);
	}
	while (base_monotonic_ns() < until_ns)
		continue;
	if (crowd.ran == CROWD)
		io_loop_stop(loop);
}

static void crowd_event(struct io_source *s, uint32_t events)
{
	crowd.ran_before_event = crowd.ran;
}

static void crowd_deferred(struct io_task *t)
{
	crowd.ran_before_deferred = crowd.ran;
}

/* Whoever has hundreds of tasks posted at once does not keep the loop's connections waiting until the last. */
static void events_are_served_between_posted_tasks(void **state)
{
	crowd = (struct crowd){ .source.ready = crowd_event, .deferred.run = crowd_deferred };
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, crowd.pair), 0);
	assert_int_equal(io_loop_new(&loop), ERR_OK);
	assert_int_equal(io_loop_add(loop, crowd.pair[0], &crowd.source), ERR_OK);
	for (unsigned i = 0; i < CROWD; i++) {
		crowd.task[i].run = crowd_run;
		io_loop_post(loop, &crowd.task[i]);
	}
	io_loop_run(loop, NULL, NULL);
	assert_int_equal(crowd.ran, CROWD);
	assert_in_range(crowd.ran_before_event, 1, CROWD / 4);
	assert_in_range(crowd.ran_before_deferred, 1, CROWD / 4);
	io_loop_free(loop);
	close(crowd.pair[0]);
	close(crowd.pair[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_served_between_posted_tasks),
		cmocka_unit_test(timer_is_never_early_and_at_most_one_tick_late),
		cmocka_unit_test(deadline_moved_later_fires_once_at_the_later_time),
		cmocka_unit_test(deadline_moved_earlier_fires_at_the_earlier_time),
		cmocka_unit_test(random_timers_match_a_plain_list),
		cmocka_unit_test(posts_of_many_threads_all_arrive_in_order),
		cmocka_unit_test(work_goes_to_a_worker_and_comes_back_every_time),
		cmocka_unit_test(short_work_does_not_wait_for_the_end_of_long_work),
		cmocka_unit_test(a_pool_ends_when_all_work_is_done),
		cmocka_unit_test(owners_take_turns),
		cmocka_unit_test(one_owner_does_not_fill_the_queue),
		cmocka_unit_test(loop_sleeps_until_its_timer),
		cmocka_unit_test(nothing_is_missed_while_a_loop_lingers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 * Decisions over many opens. Over random sets of opens they are what the rules say when each question ("has anybody of
 * this lease a client? is anybody of it in the way?") goes through all opens again; and they cost in proportion to the
 * number of opens, not to its square. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/sys/rng.h"
#include "lock/opens.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX = 12, SETS = 200000 };

struct set {
	struct lock_opens f;
	struct lock_demands d;
};

static void set_new(struct set *s, size_t opens)
{
	s->f = (struct lock_opens){ .open = calloc(opens, sizeof(struct lock_open)),
				    .oplock = calloc(opens, sizeof(struct oplock)) };
	s->d = (struct lock_demands){ .item = calloc(opens, sizeof(struct lock_demand)),
				      .holder = calloc(opens, sizeof(struct lock_holder)) };
	assert_true(s->f.open && s->f.oplock && s->d.item && s->d.holder);
}

static void set_free(struct set *s)
{
	free(s->f.open);
	free(s->f.oplock);
	free(s->d.item);
	free(s->d.holder);
}

/* ---- the rules, asked one oplock at a time ---- */

static bool has_client(const struct lock_opens *f, int oplock)
{
	for (size_t i = 0; i < f->open_count; i++)
		if (f->open[i].oplock == oplock && f->open[i].connected)
			return true;
	return false;
}

static const struct lock_open *find_abandoned(const struct lock_opens *f, int oplock)
{
	for (size_t i = 0; i < f->open_count; i++)
		if (!has_client(f, oplock) && f->open[i].oplock == oplock && f->open[i].life != OPEN_PERSISTENT)
			return &f->open[i];
	return NULL;
}

static bool conflicts(const struct lock_open *o, const struct lock_open_request *r)
{
	return lock_share_conflicts(o->access, o->share, r->access, r->share);
}

static bool in_the_way(const struct lock_opens *f, int oplock, const struct lock_open_request *r)
{
	for (size_t i = 0; i < f->open_count; i++)
		if (f->open[i].oplock == oplock && conflicts(&f->open[i], r))
			return true;
	return false;
}

static bool is_own(const struct lock_opens *f, int oplock, const struct lock_open_request *r)
{
	return oplock != LOCK_NO_OPLOCK && r->oplock.kind == OPLOCK_LEASE &&
	       oplock_is_lease_of(&f->oplock[oplock], &r->oplock.client, &r->oplock.key);
}

/* What an open that is no mere look must do first, of all that lock_may_open says. */
static enum lock_answer expect_breaks(const struct lock_opens *f, const struct lock_open_request *r, bool violation,
				      struct lock_demands *d, uint64_t *ret_open)
{
	uint8_t wait_for = violation ? CACHE_HANDLE : CACHE_WRITE | (r->deletes ? CACHE_HANDLE : 0);
	for (int i = 0; i < (int)f->oplock_count; i++) {
		const struct oplock *o = &f->oplock[i];
		bool looks = o->kind == OPLOCK_LEASE && lock_share_is_lease_stat_open(r->access) && !r->overwrite;
		if (is_own(f, i, r) || looks || (violation && !in_the_way(f, i, r)))
			continue;
		uint8_t keep = r->overwrite && !violation ? 0 : (uint8_t)(o->state & ~wait_for);
		if (!(o->state & ~keep)) {
			d->wait |= o->breaking;
			continue;
		}
		if (find_abandoned(f, i)) {
			*ret_open = find_abandoned(f, i)->id;
			return LOCK_CLOSE_DISCONNECTED;
		}
		d->item[d->count++] = (struct lock_demand){ .oplock = i, .keep = keep };
		d->wait |= ((o->state & wait_for) || (o->breaking && r->again)) && has_client(f, i);
	}
	return d->wait ? LOCK_BREAK : LOCK_YES;
}

static enum lock_answer expect_rename(const struct lock_opens *f, uint64_t own, struct lock_demands *d,
				      uint64_t *ret_open)
{
	for (int i = 0; i < (int)f->oplock_count; i++) {
		bool mine = false;
		for (size_t k = 0; k < f->open_count; k++)
			mine |= f->open[k].id == own && f->open[k].oplock == i;
		if (mine || !(f->oplock[i].state & CACHE_HANDLE))
			continue;
		if (find_abandoned(f, i)) {
			*ret_open = find_abandoned(f, i)->id;
			return LOCK_CLOSE_DISCONNECTED;
		}
		d->item[d->count++] =
			(struct lock_demand){ .oplock = i, .keep = f->oplock[i].state & (uint8_t)~CACHE_HANDLE };
		d->wait |= has_client(f, i);
	}
	return d->wait ? LOCK_BREAK : LOCK_YES;
}

/* ---- random sets ---- */

static const uint32_t accesses[] = { ACCESS_READ_ATTRIBUTES,
				     ACCESS_READ_CONTROL,
				     ACCESS_READ_DATA,
				     ACCESS_READ_DATA,
				     ACCESS_READ_DATA | ACCESS_WRITE_DATA,
				     ACCESS_DELETE };

static uint32_t pick_access(struct rng *rng)
{
	return accesses[rng_below(rng, sizeof accesses / sizeof *accesses)];
}

/* Mostly everything, so that there are sets without a conflict. */
static uint32_t pick_share(struct rng *rng)
{
	return rng_below(rng, 4) ? SHARE_ALL : (uint32_t)rng_below(rng, 8);
}

static void pick_set(struct rng *rng, struct set *s)
{
	static const struct byte_range range = { .length = 1 };
	struct lock_opens *f = &s->f;
	f->open_count = 1 + rng_below(rng, MAX);
	f->oplock_count = rng_below(rng, f->open_count + 1);
	for (size_t i = 0; i < f->oplock_count; i++) {
		f->oplock[i] = (struct oplock){ .kind = rng_below(rng, 3) ? OPLOCK_LEASE : OPLOCK_PLAIN,
						.state = (uint8_t)rng_below(rng, 8),
						.breaking = rng_below(rng, 8) == 0 };
		f->oplock[i].key.bytes[0] = (uint8_t)i;
	}
	for (size_t i = 0; i < f->open_count; i++)
		f->open[i] = (struct lock_open){
			.id = i + 1,
			.access = pick_access(rng),
			.share = pick_share(rng),
			.life = (enum open_life)rng_below(rng, 3),
			.connected = rng_below(rng, 4) != 0,
			.oplock = (int)rng_below(rng, f->oplock_count + 1) - 1,
			.range = &range,
			.range_count = rng_below(rng, 8) == 0,
		};
}

static struct lock_open_request pick_request(struct rng *rng, const struct set *s)
{
	struct lock_open_request r = { .access = pick_access(rng),
				       .share = pick_share(rng),
				       .overwrite = rng_below(rng, 4) == 0,
				       .deletes = rng_below(rng, 4) == 0,
				       .again = rng_below(rng, 2) };
	r.oplock.kind = (enum oplock_kind)rng_below(rng, 3);
	r.oplock.state = (uint8_t)rng_below(rng, 8);
	r.oplock.key.bytes[0] = (uint8_t)rng_below(rng, s->f.oplock_count + 2);
	return r;
}

static void expect_same(const struct lock_demands *got, const struct lock_demands *wanted)
{
	assert_int_equal(got->count, wanted->count);
	assert_int_equal(got->wait, wanted->wait);
	for (size_t i = 0; i < got->count; i++) {
		assert_int_equal(got->item[i].oplock, wanted->item[i].oplock);
		assert_int_equal(got->item[i].keep, wanted->item[i].keep);
	}
}

/* An open that is refused or let in for its shares alone (rules that this file does not repeat) is not compared. */
static bool compare_open(const struct set *s, struct lock_demands *d, const struct lock_open_request *r)
{
	struct lock_demand item[MAX];
	struct lock_demands wanted = { .item = item };
	uint64_t got_open = 0, wanted_open = 0;
	uint8_t granted;
	enum lock_answer got = lock_may_open(&s->f, r, d, &got_open, &granted);
	bool violation = false, away = false;
	for (size_t i = 0; i < s->f.open_count; i++) {
		const struct lock_open *o = &s->f.open[i];
		violation |= conflicts(o, r);
		away |= conflicts(o, r) && !o->connected && o->life != OPEN_PERSISTENT;
	}
	if (got == LOCK_NOT_AVAILABLE || away || (lock_share_is_stat_open(r->access) && !r->overwrite))
		return false;
	enum lock_answer expected = expect_breaks(&s->f, r, violation, &wanted, &wanted_open);
	if (expected == LOCK_YES && violation)
		expected = LOCK_SHARING_VIOLATION;
	assert_int_equal(got, expected);
	assert_int_equal(got_open, wanted_open);
	expect_same(d, &wanted);
	return true;
}

static void decisions_are_as_if_each_oplock_were_asked_alone(void **state)
{
	struct rng rng;
	struct set s;
	size_t compared = 0, answers[8] = { 0 };
	rng_init_seed(&rng, 16);
	set_new(&s, MAX);
	for (int i = 0; i < SETS; i++) {
		struct lock_demand item[MAX];
		struct lock_demands wanted = { .item = item };
		uint64_t got_open = 0, wanted_open = 0, own;
		pick_set(&rng, &s);
		struct lock_open_request r = pick_request(&rng, &s);
		compared += compare_open(&s, &s.d, &r);
		own = 1 + rng_below(&rng, s.f.open_count + 1);
		enum lock_answer got = lock_may_rename(&s.f, own, &s.d, &got_open);
		assert_int_equal(got, expect_rename(&s.f, own, &wanted, &wanted_open));
		assert_int_equal(got_open, wanted_open);
		expect_same(&s.d, &wanted);
		answers[got]++;
	}
	set_free(&s);
	assert_true(compared > SETS / 10);
	assert_true(answers[LOCK_YES] > SETS / 10 && answers[LOCK_BREAK] > SETS / 10);
	assert_true(answers[LOCK_CLOSE_DISCONNECTED] > SETS / 100);
}

/* ---- cost ---- */

static uint64_t cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* So many opens, each with a lease of its own that stands in the way: the least of some runs of all decisions. */
static uint64_t cost_of(size_t opens)
{
	struct lock_open_request r = { .access = ACCESS_WRITE_DATA, .share = 0 };
	struct set s;
	uint64_t id, best = UINT64_MAX;
	uint8_t granted;
	set_new(&s, opens);
	s.f.open_count = s.f.oplock_count = opens;
	for (size_t i = 0; i < opens; i++) {
		s.f.open[i] = (struct lock_open){ .id = i + 1,
						  .access = ACCESS_READ_DATA,
						  .share = SHARE_READ,
						  .connected = true,
						  .oplock = (int)i };
		s.f.oplock[i] = (struct oplock){ .kind = OPLOCK_LEASE, .state = CACHE_RH };
		memcpy(s.f.oplock[i].key.bytes, &i, sizeof i);
	}
	for (int run = 0; run < 7; run++) {
		uint64_t began = cpu_ns(), took;
		assert_int_equal(lock_may_open(&s.f, &r, &s.d, &id, &granted), LOCK_BREAK);
		assert_int_equal(s.d.count, opens);
		assert_int_equal(lock_rest_access(&s.f, FILE_REST_REPLACE, &s.d, &id), LOCK_BREAK);
		assert_int_equal(lock_may_rename(&s.f, 1, &s.d, &id), LOCK_BREAK);
		took = cpu_ns() - began;
		best = took < best ? took : best;
	}
	set_free(&s);
	return best;
}

/* Ten times the opens cost ten times as much; a pass over all opens for each of them would cost a hundred times. */
static void decisions_cost_as_the_number_of_opens(void **state)
{
	uint64_t few = cost_of(1000), many = cost_of(10000);
	assert_true(many < few * 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decisions_are_as_if_each_oplock_were_asked_alone),
		cmocka_unit_test(decisions_cost_as_the_number_of_opens),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

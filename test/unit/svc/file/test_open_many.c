/* SPDX-License-Identifier: Apache-2.0
 * Many opens of one file: each keeps its own lease or oplock whatever is closed around it, there are never more than
 * the documented number, and what reading them costs grows with their number and not with its square. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench.h"

#include "svc/file/open/open_int.h"

#include <time.h>

static struct file_open_call open_of(struct bench *b, uint64_t id)
{
	struct file_open_call c = { .target = target_of(b, "f", FILE_KIND_ANY),
				    .open_id = id,
				    .access = ACCESS_READ_DATA,
				    .share = SHARE_ALL,
				    .disposition = FILE_OPEN_IF,
				    .want_file = true };
	c.opener.user = SLICE("acc");
	c.opener.client_ip = SLICE("127.0.0.1:5");
	c.opener.client.bytes[0] = (uint8_t)id;
	return c;
}

static void ask_lease(struct file_open_call *c, uint64_t number)
{
	c->oplock = (struct oplock_request){ .kind = OPLOCK_LEASE, .state = CACHE_RH, .version = 2 };
	c->oplock.client.bytes[0] = (uint8_t)(number * 7); /* not in the order of the opens */
	c->oplock.key.bytes[15] = (uint8_t)(number >> 8);
	c->oplock.key.bytes[14] = (uint8_t)number;
}

static enum err apply_opens(struct txn *txn, void *call)
{
	struct opens *f = call;
	return opens_load(txn, f->inode_id, f);
}

/* What the rules see is what each open asked for. */
static void check_all(struct bench *b, uint64_t inode_id, const struct file_open *was, const bool *is_open,
		      size_t count)
{
	struct opens f = { .inode_id = inode_id };
	size_t there = 0;
	assert_int_equal(look(b, apply_opens, &f), ERR_OK);
	for (size_t i = 0; i < count; i++) {
		const struct file_open *o = opens_find(&f, was[i].open_id);
		assert_int_equal(o != NULL, is_open[i]);
		if (!o)
			continue;
		const struct lock_open *rule = &f.rules.open[o - f.open];
		there++;
		assert_int_equal(rule->id, was[i].open_id);
		assert_int_equal(rule->oplock != LOCK_NO_OPLOCK, was[i].oplock.kind != OPLOCK_NONE);
		if (rule->oplock == LOCK_NO_OPLOCK)
			continue;
		const struct oplock *k = &f.rules.oplock[rule->oplock];
		assert_int_equal(k->kind, was[i].oplock.kind);
		if (k->kind == OPLOCK_LEASE)
			assert_true(oplock_is_lease_of(k, &was[i].oplock.client, &was[i].oplock.key));
		else
			assert_int_equal(f.oplock[rule->oplock].open_index, (size_t)(o - f.open));
	}
	assert_int_equal(f.count, there);
	arena_reset(&b->arena);
}

/* Leases of one open and of several, level II oplocks, nothing; closed in any order. */
static void each_keeps_its_own(void **state)
{
	enum { OPENS = 120 };
	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct bench b;
		struct file_open was[OPENS];
		bool is_open[OPENS];
		bench_open(&b, seed, NULL);
		for (size_t i = 0; i < OPENS; i++) {
			struct file_open_call c = open_of(&b, 1000 - i * 7 % OPENS);
			uint64_t kind = pick(&b, 4);
			if (kind < 2)
				ask_lease(&c, kind ? pick(&b, 5) : 1000 + i);
			else if (kind == 2)
				c.oplock = (struct oplock_request){ .kind = OPLOCK_PLAIN, .state = CACHE_READ };
			expect(&b, file_apply_open, &c, ERR_OK);
			was[i] = c.open;
			is_open[i] = true;
			arena_reset(&b.arena);
		}
		check_all(&b, was[0].inode_id, was, is_open, OPENS);
		for (size_t left = OPENS; left > 0;) {
			size_t i = pick(&b, OPENS);
			struct file_close_call c = { .handle = { was[i].inode_id, was[i].open_id } };
			if (!is_open[i])
				continue;
			expect(&b, file_apply_close, &c, ERR_OK);
			is_open[i] = false;
			left--;
			check_all(&b, was[i].inode_id, was, is_open, OPENS);
		}
		assert_int_equal(rows_of(&b, '~'), 0);
		bench_close(&b);
	}
}

static uint64_t cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t cost_of_reading(struct bench *b, uint64_t inode_id)
{
	uint64_t best = UINT64_MAX;
	for (int i = 0; i < 9; i++) {
		struct opens f = { .inode_id = inode_id };
		uint64_t began = cpu_ns();
		assert_int_equal(look(b, apply_opens, &f), ERR_OK);
		uint64_t took = cpu_ns() - began;
		best = took < best ? took : best;
		arena_reset(&b->arena);
	}
	return best;
}

/* Up to as many as are documented; then one is refused until another is closed. Each has a lease of its own. */
static void as_many_as_documented_and_no_more(void **state)
{
	enum { FEW = 200 };
	struct bench b;
	uint64_t inode_id = 0, few = 0;
	bench_open(&b, 1, NULL);
	for (uint64_t i = 1; i <= OPENS_MAX_PER_FILE; i++) {
		struct file_open_call c = open_of(&b, i);
		ask_lease(&c, i);
		expect(&b, file_apply_open, &c, ERR_OK);
		inode_id = c.inode.id;
		arena_reset(&b.arena);
		if (i == FEW)
			few = cost_of_reading(&b, inode_id);
	}
	struct file_open_call one_more = open_of(&b, 5000);
	expect(&b, file_apply_open, &one_more, ERR_HANDLE_LIMIT_EXCEEDED);
	/* Ten times the opens: a search among all leases for each open would cost a hundred times as much. */
	assert_true(cost_of_reading(&b, inode_id) < few * 35);
	struct file_close_call first = { .handle = { inode_id, 1 } };
	expect(&b, file_apply_close, &first, ERR_OK);
	expect(&b, file_apply_open, &one_more, ERR_OK);
	bench_close(&b);
}

static enum err apply_put_range(struct txn *txn, void *call)
{
	struct file_breaks *breaks = call;
	return file_opens_rest_access(txn, breaks->inode_id, FILE_REST_PUT_RANGE, breaks);
}

/* Nobody waits for those who only read ahead, but none of them may go on with what they have. */
static void every_reader_is_told_of_a_write(void **state)
{
	enum { READERS = 3 * FILE_BREAKS_MAX + 5 };
	struct bench b;
	struct file_breaks breaks = { 0 };
	bool told[READERS + 1] = { false };
	bench_open(&b, 1, NULL);
	for (uint64_t i = 1; i <= READERS; i++) {
		struct file_open_call c = open_of(&b, i);
		ask_lease(&c, i);
		expect(&b, file_apply_open, &c, ERR_OK);
		breaks.inode_id = c.inode.id;
		arena_reset(&b.arena);
	}
	expect(&b, apply_put_range, &breaks, ERR_OK);
	assert_int_equal(breaks.count, READERS);
	for (size_t i = 0; i < breaks.count; i++) {
		const struct file_break *k = file_breaks_at(&breaks, i);
		assert_true(k->has_notice && k->notice.to == 0);
		assert_true(k->open_id >= 1 && k->open_id <= READERS && !told[k->open_id]);
		told[k->open_id] = true;
	}
	struct opens f = { .inode_id = breaks.inode_id };
	assert_int_equal(look(&b, apply_opens, &f), ERR_OK);
	for (size_t i = 0; i < f.rules.oplock_count; i++)
		assert_true(f.rules.oplock[i].breaking || f.rules.oplock[i].state == 0);
	bench_close(&b);
}

/* An open has its bound of locks, and a file one for all its opens together. */
static void locks_of_a_file_are_bounded(void **state)
{
	static struct file_lock_element element[BYTE_RANGE_MAX_PER_OPEN + 1];
	struct bench b;
	uint64_t inode_id = 0, id = 1;
	bench_open(&b, 1, NULL);
	for (size_t held = 0; held < BYTE_RANGE_MAX_PER_FILE; held += BYTE_RANGE_MAX_PER_OPEN, id++) {
		struct file_open_call c = open_of(&b, id);
		expect(&b, file_apply_open, &c, ERR_OK);
		inode_id = c.inode.id;
		for (size_t i = 0; i <= BYTE_RANGE_MAX_PER_OPEN; i++)
			element[i] = (struct file_lock_element){ .offset = held + i, .length = 1, .exclusive = true };
		struct file_lock_call l = { .handle = { inode_id, id },
					    .element = element,
					    .count = BYTE_RANGE_MAX_PER_OPEN + 1 };
		expect(&b, file_apply_lock, &l, ERR_BUSY);
		l.count = BYTE_RANGE_MAX_PER_OPEN;
		expect(&b, file_apply_lock, &l, ERR_OK);
		arena_reset(&b.arena);
	}
	struct file_open_call c = open_of(&b, id);
	expect(&b, file_apply_open, &c, ERR_OK);
	element[0].offset = UINT32_MAX;
	struct file_lock_call l = { .handle = { inode_id, id }, .element = element, .count = 1 };
	expect(&b, file_apply_lock, &l, ERR_BUSY);
	struct file_close_call first = { .handle = { inode_id, 1 } };
	expect(&b, file_apply_close, &first, ERR_OK);
	expect(&b, file_apply_lock, &l, ERR_OK);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_keeps_its_own),
		cmocka_unit_test(as_many_as_documented_and_no_more),
		cmocka_unit_test(every_reader_is_told_of_a_write),
		cmocka_unit_test(locks_of_a_file_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

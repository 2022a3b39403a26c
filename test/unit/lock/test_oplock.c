/* SPDX-License-Identifier: Apache-2.0
 * One oplock or lease: breaks in steps, acknowledgements, deadlines, growing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lock/oplock.h"

enum { NOW = 1000, DEADLINE = 2000 };

static struct oplock lease(uint8_t state)
{
	return (struct oplock){ .kind = OPLOCK_LEASE, .version = 2, .epoch = 1, .state = state };
}

/* RWH to RH, then more is wanted: nothing is sent before the answer, then RH to R, then R to none without an answer. */
static void a_break_goes_down_in_steps(void **state)
{
	struct oplock o = lease(CACHE_RWH);
	struct oplock_notice n;
	bool again;
	assert_true(oplock_break(&o, CACHE_RH, DEADLINE, &n));
	assert_int_equal(n.from, CACHE_RWH);
	assert_int_equal(n.to, CACHE_RH);
	assert_true(n.ack_required);
	assert_int_equal(n.epoch, 2);
	assert_int_equal(o.state, CACHE_RWH); /* stands until it is acknowledged */
	assert_false(oplock_break(&o, 0, DEADLINE, &n));
	assert_int_equal(oplock_acknowledge(&o, CACHE_RH, DEADLINE, &again, &n), ERR_OK);
	assert_true(again);
	assert_int_equal(n.from, CACHE_RH);
	assert_int_equal(n.to, CACHE_READ);
	assert_true(n.ack_required);
	assert_int_equal(oplock_acknowledge(&o, CACHE_READ, DEADLINE, &again, &n), ERR_OK);
	assert_true(again);
	assert_int_equal(n.from, CACHE_READ);
	assert_int_equal(n.to, 0);
	assert_false(n.ack_required);
	assert_int_equal(n.epoch, 2);
	assert_int_equal(o.state, 0);
	assert_false(o.breaking);
	assert_int_equal(oplock_acknowledge(&o, 0, DEADLINE, &again, &n), ERR_SMB_UNSUCCESSFUL);
}

/* Leases of the first version have no epoch. */
static void old_leases_have_no_epoch(void **state)
{
	struct oplock o = lease(CACHE_RWH);
	struct oplock_notice n;
	bool again;
	o.version = 1;
	o.epoch = 0;
	assert_true(oplock_break(&o, CACHE_RH, DEADLINE, &n));
	assert_int_equal(n.epoch, 0);
	assert_false(oplock_break(&o, 0, DEADLINE, &n));
	assert_int_equal(oplock_acknowledge(&o, CACHE_RH, DEADLINE, &again, &n), ERR_OK);
	assert_true(again);
	assert_int_equal(n.epoch, 0);
}

/* Clear only when the lease was exactly R. */
static void the_acknowledge_bit(void **state)
{
	static const uint8_t states[] = { CACHE_READ, CACHE_RH, CACHE_RW, CACHE_RWH };
	for (int i = 0; i < 4; i++) {
		struct oplock o = lease(states[i]);
		struct oplock_notice n;
		assert_true(oplock_break(&o, 0, DEADLINE, &n));
		assert_int_equal(n.ack_required, states[i] != CACHE_READ);
		assert_int_equal(o.breaking, states[i] != CACHE_READ);
	}
}

static void an_acknowledgement_may_take_less_and_not_more(void **state)
{
	struct oplock o = lease(CACHE_RWH);
	struct oplock_notice n;
	bool again;
	assert_true(oplock_break(&o, CACHE_RH, DEADLINE, &n));
	assert_int_equal(oplock_acknowledge(&o, CACHE_RWH, DEADLINE, &again, &n), ERR_SMB_REQUEST_NOT_ACCEPTED);
	assert_int_equal(oplock_acknowledge(&o, CACHE_RW, DEADLINE, &again, &n), ERR_SMB_REQUEST_NOT_ACCEPTED);
	assert_true(o.breaking);
	assert_int_equal(oplock_acknowledge(&o, 0, DEADLINE, &again, &n), ERR_OK);
	assert_false(again);
	assert_int_equal(o.state, 0);
}

static void plain_oplocks_know_two_levels(void **state)
{
	struct oplock o = { .kind = OPLOCK_PLAIN, .state = CACHE_RWH };
	struct oplock_notice n;
	bool again;
	assert_int_equal(oplock_acknowledge(&o, 0, DEADLINE, &again, &n), ERR_SMB_INVALID_OPLOCK_PROTOCOL);
	assert_true(oplock_break(&o, CACHE_RW, DEADLINE, &n));
	assert_int_equal(n.to, CACHE_READ);
	assert_int_equal(oplock_acknowledge(&o, CACHE_RW, DEADLINE, &again, &n), ERR_SMB_INVALID_OPLOCK_PROTOCOL);
	assert_int_equal(oplock_acknowledge(&o, CACHE_READ, DEADLINE, &again, &n), ERR_OK);
	assert_int_equal(o.state, CACHE_READ);
	static const uint8_t levels[] = { 0, 1, 8, 9 };
	for (int i = 0; i < 4; i++)
		assert_int_equal(oplock_state_level(oplock_level_state(levels[i])), levels[i]);
	assert_int_equal(oplock_level_state(0xFF), 0);
	assert_int_equal(oplock_state_level(CACHE_RH), 1);
}

static void silence_loses_everything(void **state)
{
	struct oplock o = lease(CACHE_RWH), at;
	struct oplock_notice n;
	bool again;
	assert_true(oplock_break(&o, CACHE_RH, DEADLINE, &n));
	at = oplock_at(&o, DEADLINE - 1);
	assert_int_equal(at.state, CACHE_RWH);
	at = oplock_at(&o, DEADLINE);
	assert_int_equal(at.state, 0);
	assert_false(at.breaking);
	assert_int_equal(oplock_acknowledge(&at, CACHE_RH, DEADLINE, &again, &n), ERR_SMB_UNSUCCESSFUL);
}

static struct oplock join(uint8_t held, bool breaking, uint8_t asked, uint8_t room)
{
	struct oplock o = lease(held);
	struct oplock_request r = { .kind = OPLOCK_LEASE, .version = 2, .state = asked };
	o.breaking = breaking;
	return oplock_grant(&o, &r, room);
}

static void a_lease_grows_only_as_a_whole(void **state)
{
	assert_int_equal(join(CACHE_READ, false, CACHE_RWH, CACHE_RWH).state, CACHE_RWH);
	assert_int_equal(join(CACHE_READ, false, CACHE_RWH, CACHE_RWH).epoch, 2);
	assert_int_equal(join(CACHE_READ, false, CACHE_RWH, CACHE_RH).state, CACHE_READ); /* not all of it */
	assert_int_equal(join(CACHE_RH, false, CACHE_RW, CACHE_RW).state, CACHE_RH);	  /* not a superset */
	assert_int_equal(join(CACHE_RWH, false, CACHE_READ, CACHE_READ).state, CACHE_RWH);
	assert_int_equal(join(CACHE_READ, true, CACHE_RWH, CACHE_RWH).state, CACHE_READ); /* not while it is broken */
	struct oplock none = { .kind = OPLOCK_NONE };
	struct oplock_request r = { .kind = OPLOCK_LEASE, .version = 2, .epoch = 7, .state = CACHE_RWH };
	struct oplock o = oplock_grant(&none, &r, CACHE_RH);
	assert_int_equal(o.state, CACHE_RH);
	assert_int_equal(o.epoch, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_break_goes_down_in_steps),
		cmocka_unit_test(old_leases_have_no_epoch),
		cmocka_unit_test(the_acknowledge_bit),
		cmocka_unit_test(an_acknowledgement_may_take_less_and_not_more),
		cmocka_unit_test(plain_oplocks_know_two_levels),
		cmocka_unit_test(silence_loses_everything),
		cmocka_unit_test(a_lease_grows_only_as_a_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

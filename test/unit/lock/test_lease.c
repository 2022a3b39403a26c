/* SPDX-License-Identifier: Apache-2.0
 * The lease machine by its tables: every lease operation in every state, every use in every state, one row one case;
 * then the invariants over long random runs with a plain model of the five states. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/sys/clock.h"
#include "lock/lease.h"

#define NOW (UINT64_C(639000000000000000))
#define S   TICKS_PER_SECOND
enum { STATES = 5 };

static const struct uuid A = { "aaaaaaaaaaaaaaa" }, B = { "bbbbbbbbbbbbbbb" }, C = { "ccccccccccccccc" },
			 X = { "xxxxxxxxxxxxxxx" };
static const struct lease_errors *const both[] = { &lease_errors_blob, &lease_errors_container };

/* Leased by A for 30 s and 10 s of it gone, and what can become of that. All are judged at NOW. */
static struct lease in_state(enum lease_state state, const struct lease_errors *e)
{
	struct lease l = { .held = false };
	uint32_t left;
	if (state == LEASE_AVAILABLE)
		return l;
	uint64_t begin = state == LEASE_EXPIRED ? NOW - 30 * S : NOW - 10 * S;
	assert_int_equal(lease_acquire(&l, e, begin, &A, &X, 30), ERR_OK);
	if (state == LEASE_BREAKING)
		assert_int_equal(lease_break(&l, e, begin, 20, &left), ERR_OK); /* 10 s left */
	if (state == LEASE_BROKEN)
		assert_int_equal(lease_break(&l, e, begin, 0, &left), ERR_OK);
	assert_int_equal(lease_state(&l, NOW), state);
	return l;
}

/* What a cell says: an error, or the state and the holder after it. */
enum cell_error { OK, PRESENT, BREAKING_ACQUIRE, OP_MISMATCH, BROKEN_RENEW, OP_ABSENT, BREAKING_CHANGE };

struct cell {
	enum cell_error error;
	enum lease_state state;
	const struct uuid *holder; /* NULL: the one before */
};

static enum err error_of(enum cell_error c, const struct lease_errors *e)
{
	switch (c) {
	case OK:
		return ERR_OK;
	case PRESENT:
		return ERR_LEASE_ALREADY_PRESENT;
	case BREAKING_ACQUIRE:
		return ERR_LEASE_IS_BREAKING_AND_CANNOT_BE_ACQUIRED;
	case OP_MISMATCH:
		return e->op_mismatch;
	case BROKEN_RENEW:
		return ERR_LEASE_IS_BROKEN_AND_CANNOT_BE_RENEWED;
	case OP_ABSENT:
		return e->op_not_present;
	case BREAKING_CHANGE:
		return ERR_LEASE_IS_BREAKING_AND_CANNOT_BE_CHANGED;
	}
	return ERR_INTERNAL_ERROR;
}

struct row {
	const char *name;
	enum lease_action action;
	const struct uuid *id, *proposed;
	int32_t period;
	struct cell cell[STATES]; /* available, leased, breaking, broken, expired */
};

#define LEASED(h)                                                                                                      \
	{                                                                                                              \
		OK, LEASE_LEASED, h                                                                                    \
	}
#define FREE                                                                                                           \
	{                                                                                                              \
		OK, LEASE_AVAILABLE, NULL                                                                              \
	}
#define BROKEN                                                                                                         \
	{                                                                                                              \
		OK, LEASE_BROKEN, NULL                                                                                 \
	}
#define BREAKS                                                                                                         \
	{                                                                                                              \
		OK, LEASE_BREAKING, NULL                                                                               \
	}
#define NO(e)                                                                                                          \
	{                                                                                                              \
		e, 0, NULL                                                                                             \
	}

static const struct row rows[] = {
	{ "acquire, no id",
	  LEASE_ACTION_ACQUIRE,
	  NULL,
	  NULL,
	  0,
	  { LEASED(&X), NO(PRESENT), NO(PRESENT), LEASED(&X), LEASED(&X) } },
	{ "acquire A",
	  LEASE_ACTION_ACQUIRE,
	  NULL,
	  &A,
	  0,
	  { LEASED(&A), LEASED(&A), NO(BREAKING_ACQUIRE), LEASED(&A), LEASED(&A) } },
	{ "acquire B",
	  LEASE_ACTION_ACQUIRE,
	  NULL,
	  &B,
	  0,
	  { LEASED(&B), NO(PRESENT), NO(PRESENT), LEASED(&B), LEASED(&B) } },
	{ "renew A",
	  LEASE_ACTION_RENEW,
	  &A,
	  NULL,
	  0,
	  { NO(OP_MISMATCH), LEASED(&A), NO(BROKEN_RENEW), NO(BROKEN_RENEW), LEASED(&A) } },
	{ "renew B",
	  LEASE_ACTION_RENEW,
	  &B,
	  NULL,
	  0,
	  { NO(OP_MISMATCH), NO(OP_MISMATCH), NO(OP_MISMATCH), NO(OP_MISMATCH), NO(OP_MISMATCH) } },
	{ "change A to B",
	  LEASE_ACTION_CHANGE,
	  &A,
	  &B,
	  0,
	  { NO(OP_ABSENT), LEASED(&B), NO(BREAKING_CHANGE), NO(OP_ABSENT), NO(OP_ABSENT) } },
	{ "change B to A",
	  LEASE_ACTION_CHANGE,
	  &B,
	  &A,
	  0,
	  { NO(OP_ABSENT), LEASED(&A), NO(OP_MISMATCH), NO(OP_ABSENT), NO(OP_ABSENT) } },
	{ "change B to C",
	  LEASE_ACTION_CHANGE,
	  &B,
	  &C,
	  0,
	  { NO(OP_ABSENT), NO(OP_MISMATCH), NO(OP_MISMATCH), NO(OP_ABSENT), NO(OP_ABSENT) } },
	{ "release A", LEASE_ACTION_RELEASE, &A, NULL, 0, { NO(OP_MISMATCH), FREE, FREE, FREE, FREE } },
	{ "release B",
	  LEASE_ACTION_RELEASE,
	  &B,
	  NULL,
	  0,
	  { NO(OP_MISMATCH), NO(OP_MISMATCH), NO(OP_MISMATCH), NO(OP_MISMATCH), NO(OP_MISMATCH) } },
	{ "break 0", LEASE_ACTION_BREAK, NULL, NULL, 0, { NO(OP_ABSENT), BROKEN, BROKEN, BROKEN, BROKEN } },
	{ "break 5", LEASE_ACTION_BREAK, NULL, NULL, 5, { NO(OP_ABSENT), BREAKS, BREAKS, BROKEN, BROKEN } },
	{ "break",
	  LEASE_ACTION_BREAK,
	  NULL,
	  NULL,
	  LEASE_BREAK_DEFAULT,
	  { NO(OP_ABSENT), BREAKS, BREAKS, BROKEN, BROKEN } },
};

static struct lease_request request_of(const struct row *row)
{
	struct lease_request r = {
		.action = row->action, .minted = X, .duration_s = 15, .break_period_s = row->period
	};
	if (row->id) {
		r.has_id = true;
		r.id = *row->id;
	}
	if (row->proposed) {
		r.has_proposed = true;
		r.proposed = *row->proposed;
	}
	return r;
}

static void check_cell(const struct row *row, enum lease_state from, const struct lease_errors *e)
{
	const struct cell *want = &row->cell[from];
	struct lease l = in_state(from, e), before = l;
	struct lease_request r = request_of(row);
	enum err got = lease_request_run(&l, e, NOW, &r);
	if (got != error_of(want->error, e))
		fail_msg("%s when %s: %s", row->name, lease_state_word(from), err_name(got));
	if (got != ERR_OK) {
		assert_memory_equal(&l, &before, sizeof l);
		return;
	}
	if (lease_state(&l, NOW) != want->state)
		fail_msg("%s when %s: becomes %s", row->name, lease_state_word(from),
			 lease_state_word(lease_state(&l, NOW)));
	if (want->state != LEASE_AVAILABLE)
		assert_true(uuid_eq(&l.id, want->holder ? want->holder : &before.id));
}

static void test_operations(void **state)
{
	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
			for (int from = 0; from < STATES; from++)
				check_cell(&rows[i], (enum lease_state)from, both[k]);
}

/* ---- uses ---- */

enum use_error { USE_OK, MISSING, LOST, MISMATCH, ABSENT };

static enum err use_error_of(enum use_error u, const struct lease_errors *e)
{
	const enum err of[] = { ERR_OK, e->id_missing, e->lost, e->mismatch, e->not_present };
	return of[u];
}

static void test_uses(void **state)
{
	static const struct {
		bool write;
		const struct uuid *id;
		enum use_error cell[STATES];
	} uses[] = {
		{ true, &A, { ABSENT, USE_OK, USE_OK, LOST, LOST } },
		{ true, &B, { ABSENT, MISMATCH, MISMATCH, LOST, LOST } },
		{ true, NULL, { USE_OK, MISSING, MISSING, USE_OK, USE_OK } },
		{ false, &A, { ABSENT, USE_OK, USE_OK, LOST, LOST } },
		{ false, &B, { ABSENT, MISMATCH, MISMATCH, LOST, LOST } },
		{ false, NULL, { USE_OK, USE_OK, USE_OK, USE_OK, USE_OK } },
	};
	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
			for (int from = 0; from < STATES; from++) {
				const struct lease_errors *e = both[k];
				struct lease l = in_state((enum lease_state)from, e);
				enum err got = uses[i].write ? lease_check_write(&l, e, NOW, uses[i].id)
							     : lease_check_read(&l, e, NOW, uses[i].id);
				if (got != use_error_of(uses[i].cell[from], e))
					fail_msg("%s with %s when %s: %s", uses[i].write ? "write" : "read",
						 !uses[i].id	    ? "no id"
						 : uses[i].id == &A ? "A"
								    : "B",
						 lease_state_word((enum lease_state)from), err_name(got));
			}
}

/* A write forgets what is over, and only that. */
static void test_note_write(void **state)
{
	for (int from = 0; from < STATES; from++) {
		struct lease l = in_state((enum lease_state)from, &lease_errors_blob);
		bool over = from == LEASE_BROKEN || from == LEASE_EXPIRED;
		lease_note_write(&l, NOW);
		assert_int_equal(lease_state(&l, NOW), over ? LEASE_AVAILABLE : (enum lease_state)from);
		assert_int_equal(lease_renew(&l, &lease_errors_blob, NOW, &A),
				 from == LEASE_LEASED	  ? ERR_OK
				 : from == LEASE_BREAKING ? ERR_LEASE_IS_BROKEN_AND_CANNOT_BE_RENEWED
							  : ERR_BLOB_LEASE_OP_MISMATCH);
	}
}

/* ---- times ---- */

static void test_break_times(void **state)
{
	static const struct {
		int32_t duration, period;
		uint32_t left;
	} cases[] = {
		{ 30, LEASE_BREAK_DEFAULT, 20 },
		{ 30, 5, 5 },
		{ 30, 60, 20 },
		{ 30, 0, 0 },
		{ LEASE_INFINITE, LEASE_BREAK_DEFAULT, 0 },
		{ LEASE_INFINITE, 40, 40 },
		{ LEASE_INFINITE, 0, 0 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct lease l = { .held = false };
		uint32_t left;
		assert_int_equal(lease_acquire(&l, &lease_errors_blob, NOW - 10 * S, &A, &X, cases[i].duration),
				 ERR_OK);
		assert_int_equal(lease_break(&l, &lease_errors_blob, NOW, cases[i].period, &left), ERR_OK);
		assert_int_equal(left, cases[i].left);
		assert_int_equal(lease_state(&l, NOW + left * S), LEASE_BROKEN);
		if (left)
			assert_int_equal(lease_state(&l, NOW + left * S - 1), LEASE_BREAKING);
	}
	/* A second break shortens and never prolongs. */
	struct lease l = in_state(LEASE_BREAKING, &lease_errors_blob);
	uint32_t left;
	assert_int_equal(lease_break(&l, &lease_errors_blob, NOW, 60, &left), ERR_OK);
	assert_int_equal(left, 10);
	assert_int_equal(lease_break(&l, &lease_errors_blob, NOW, LEASE_BREAK_DEFAULT, &left), ERR_OK);
	assert_int_equal(left, 10);
	assert_int_equal(lease_break(&l, &lease_errors_blob, NOW, 3, &left), ERR_OK);
	assert_int_equal(left, 3);
	/* A part of a second counts as one. */
	assert_int_equal(lease_break(&l, &lease_errors_blob, NOW + S / 2, LEASE_BREAK_DEFAULT, &left), ERR_OK);
	assert_int_equal(left, 3);
}

static void test_durations(void **state)
{
	struct lease l = { .held = false };
	assert_int_equal(lease_acquire(&l, &lease_errors_blob, NOW, &A, &X, 15), ERR_OK);
	assert_int_equal(lease_state(&l, NOW + 15 * S - 1), LEASE_LEASED);
	assert_int_equal(lease_state(&l, NOW + 15 * S), LEASE_EXPIRED);
	/* Renewed late, it runs its old duration from then on. */
	assert_int_equal(lease_renew(&l, &lease_errors_blob, NOW + 100 * S, &A), ERR_OK);
	assert_int_equal(lease_state(&l, NOW + 115 * S - 1), LEASE_LEASED);
	assert_int_equal(lease_state(&l, NOW + 115 * S), LEASE_EXPIRED);
	/* A change keeps the end. */
	assert_int_equal(lease_renew(&l, &lease_errors_blob, NOW + 200 * S, &A), ERR_OK);
	assert_int_equal(lease_change(&l, &lease_errors_blob, NOW + 210 * S, &A, &B), ERR_OK);
	assert_int_equal(lease_state(&l, NOW + 215 * S), LEASE_EXPIRED);
	/* The holder acquires anew with another duration. */
	assert_int_equal(lease_renew(&l, &lease_errors_blob, NOW + 300 * S, &B), ERR_OK);
	assert_int_equal(lease_acquire(&l, &lease_errors_blob, NOW + 301 * S, &B, &X, LEASE_INFINITE), ERR_OK);
	assert_int_equal(lease_state(&l, NOW + 1000000 * S), LEASE_LEASED);
}

static void test_words(void **state)
{
	static const char *const words[] = { "available", "leased", "breaking", "broken", "expired" };
	static const char *const status[] = { "unlocked", "locked", "locked", "unlocked", "unlocked" };
	for (int from = 0; from < STATES; from++) {
		struct lease l = in_state((enum lease_state)from, &lease_errors_blob);
		assert_string_equal(lease_state_word((enum lease_state)from), words[from]);
		assert_string_equal(lease_status_word((enum lease_state)from), status[from]);
		const char *duration = lease_duration_word(&l, NOW);
		if (from == LEASE_LEASED)
			assert_string_equal(duration, "fixed");
		else
			assert_null(duration);
	}
}

static void test_record(void **state)
{
	for (int from = 0; from < STATES; from++) {
		struct lease l = in_state((enum lease_state)from, &lease_errors_blob);
		char bytes[64];
		struct buf b = { .ptr = bytes, .cap = sizeof bytes, .limit_bytes = sizeof bytes };
		lease_encode(&b, &l);
		struct cursor c = cursor_make(buf_slice(&b));
		struct lease back = lease_decode(&c);
		assert_true(cursor_done(&c));
		assert_int_equal(lease_state(&back, NOW), from);
		assert_int_equal(back.end_ticks, l.end_ticks);
		assert_int_equal(back.duration_s, l.duration_s);
		assert_true(!l.held || uuid_eq(&back.id, &l.id));
		/* Cut short it is no lease, and the cursor says so. */
		for (size_t cut = 0; l.held && cut < buf_slice(&b).len; cut++) {
			struct cursor half = cursor_make(slice_first(buf_slice(&b), cut));
			assert_false(lease_decode(&half).held);
			assert_true(half.failed);
		}
	}
}

/* ---- random runs: at no time do two ids both pass a write ---- */

static void test_exclusive(void **state)
{
	struct rng rng;
	rng_init_seed(&rng, 7);
	const struct uuid *ids[] = { &A, &B, &C };
	struct lease l = { .held = false };
	uint64_t now = NOW;
	unsigned leased = 0;
	for (int i = 0; i < 200000; i++) {
		struct lease_request r = { .action = (enum lease_action)rng_below(&rng, 5),
					   .has_id = true,
					   .has_proposed = true,
					   .id = *ids[rng_below(&rng, 3)],
					   .proposed = *ids[rng_below(&rng, 3)],
					   .duration_s = rng_below(&rng, 4) ? (int32_t)(15 + rng_below(&rng, 46))
									    : LEASE_INFINITE,
					   .break_period_s = (int32_t)rng_below(&rng, 62) - 1 };
		struct lease before = l;
		enum lease_state was = lease_state(&l, now);
		enum err e = lease_request_run(&l, &lease_errors_blob, now, &r);
		if (e != ERR_OK)
			assert_memory_equal(&l, &before, sizeof l);
		else if (was == LEASE_LEASED && lease_state(&l, now) == LEASE_LEASED && !uuid_eq(&l.id, &before.id))
			assert_true(r.action == LEASE_ACTION_CHANGE &&
				    uuid_eq(&r.id, &before.id)); /* only its holder hands it on */
		unsigned pass = 0;
		for (size_t k = 0; k < 3; k++)
			pass += lease_check_write(&l, &lease_errors_blob, now, ids[k]) == ERR_OK;
		bool locked = lease_state(&l, now) == LEASE_LEASED || lease_state(&l, now) == LEASE_BREAKING;
		assert_int_equal(pass, locked ? 1 : 0);
		assert_int_equal(lease_check_write(&l, &lease_errors_blob, now, NULL),
				 locked ? ERR_BLOB_LEASE_ID_MISSING : ERR_OK);
		leased += locked;
		if (!rng_below(&rng, 5))
			lease_note_write(&l, now);
		now += rng_below(&rng, 12 * S);
	}
	assert_true(leased > 20000 && leased < 180000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_operations),  cmocka_unit_test(test_uses),      cmocka_unit_test(test_note_write),
		cmocka_unit_test(test_break_times), cmocka_unit_test(test_durations), cmocka_unit_test(test_words),
		cmocka_unit_test(test_record),	    cmocka_unit_test(test_exclusive),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 * Decisions over the opens of a file, cell by cell: the documented tables stand here as they are printed, the code has
 * its own (lock/rest_table.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/sys/rng.h"
#include "lock/opens.h"

#include <stdlib.h>
#include <string.h>

enum { MAX = 8 };

struct set {
	struct lock_opens f;
	struct lock_open open[MAX];
	struct oplock oplock[MAX];
	struct lock_demand item[MAX];
	struct lock_holder holder[MAX];
	struct lock_demands d;
};

static void set_init(struct set *s)
{
	memset(s, 0, sizeof *s);
	s->f.open = s->open;
	s->f.oplock = s->oplock;
	s->d.item = s->item;
	s->d.holder = s->holder;
}

static struct lock_open *set_open(struct set *s, uint32_t access, uint32_t share)
{
	struct lock_open *o = &s->open[s->f.open_count];
	*o = (struct lock_open){
		.id = ++s->f.open_count, .access = access, .share = share, .connected = true, .oplock = LOCK_NO_OPLOCK
	};
	return o;
}

static void set_oplock(struct set *s, struct lock_open *o, enum oplock_kind kind, uint8_t state)
{
	int i = (int)s->f.oplock_count++;
	s->oplock[i] = (struct oplock){ .kind = kind, .state = state };
	s->oplock[i].key.bytes[0] = (uint8_t)(i + 1);
	o->oplock = i;
}

static uint32_t access_of(const char *word)
{
	uint32_t a = 0;
	a |= strchr(word, 'R') ? ACCESS_READ_DATA : 0;
	a |= strchr(word, 'W') ? ACCESS_WRITE_DATA : 0;
	a |= strchr(word, 'D') ? ACCESS_DELETE : 0;
	return a ? a : ACCESS_READ_ATTRIBUTES;
}

static uint32_t share_of(const char *word)
{
	uint32_t s = 0;
	s |= strchr(word, 'R') ? SHARE_READ : 0;
	s |= strchr(word, 'W') ? SHARE_WRITE : 0;
	s |= strchr(word, 'D') ? SHARE_DELETE : 0;
	return s;
}

static uint8_t state_of(const char *word)
{
	uint8_t s = 0;
	s |= strchr(word, 'R') ? CACHE_READ : 0;
	s |= strchr(word, 'W') ? CACHE_WRITE : 0;
	s |= strchr(word, 'H') ? CACHE_HANDLE : 0;
	return s;
}

static enum lock_answer ask_open(struct set *s, uint32_t access, uint32_t share)
{
	uint64_t id;
	uint8_t state;
	struct lock_open_request r = { .access = access, .share = share };
	return lock_may_open(&s->f, &r, &s->d, &id, &state);
}

static enum lock_answer ask_rest(struct set *s, enum file_rest_op op)
{
	uint64_t id;
	return lock_rest_access(&s->f, op, &s->d, &id);
}

static const char *const words[8] = { "", "R", "W", "RW", "D", "RD", "WD", "RWD" };

/* ---- opens against opens ---- */

/* 8 accesses x 8 share modes, against 8 x 8 again: allowed exactly if each one's access is among what the other shares,
 * and always if one of them only looks at attributes. */
static void every_share_mode_against_every_access(void **state)
{
	unsigned allowed = 0;
	for (unsigned a = 0; a < 8; a++)
		for (unsigned s = 0; s < 8; s++)
			for (unsigned b = 0; b < 8; b++)
				for (unsigned t = 0; t < 8; t++) {
					struct set set;
					set_init(&set);
					set_open(&set, access_of(words[a]), share_of(words[s]));
					bool expect = !a || !b || (!(a & ~t) && !(b & ~s));
					bool got = ask_open(&set, access_of(words[b]), share_of(words[t])) == LOCK_YES;
					assert_int_equal(got, expect);
					allowed += got;
				}
	/* 15 of 64 pairs of accesses have one without any (64 share pairs each); the others by what is shared. */
	assert_int_equal(allowed, 15 * 64 + 19 * 19);
}

/* EXECUTE reads, APPEND writes. */
static void other_bits_count_as_their_kin(void **state)
{
	struct set s;
	set_init(&s);
	set_open(&s, ACCESS_READ_DATA, SHARE_WRITE);
	assert_int_equal(ask_open(&s, ACCESS_EXECUTE, SHARE_ALL), LOCK_SHARING_VIOLATION);
	set_init(&s);
	set_open(&s, ACCESS_READ_DATA, SHARE_READ);
	assert_int_equal(ask_open(&s, ACCESS_APPEND_DATA, SHARE_ALL), LOCK_SHARING_VIOLATION);
	assert_int_equal(ask_open(&s, ACCESS_READ_CONTROL | ACCESS_WRITE_DAC, 0), LOCK_YES);
}

/* ---- REST against share modes ---- */

/* As documented: the open's share mode, then X or - for Create File, Get File, Set File Properties, Set File Metadata,
 * Delete File, Put Range, List Ranges, Lease File (acquire). */
static const struct {
	const char *share, *cells;
} share_table[8] = {
	{ "", "XXXXXXXX" },   { "R", "X-XXXX-X" },  { "W", "XX--X-XX" },  { "D", "XXXXXXXX" },
	{ "RW", "X---X--X" }, { "RD", "X-XXXX-X" }, { "WD", "-X--X-XX" }, { "RWD", "----X---" },
};
static const enum file_rest_op share_columns[8] = { FILE_REST_CREATE,	    FILE_REST_GET,    FILE_REST_SET_PROPERTIES,
						    FILE_REST_SET_METADATA, FILE_REST_DELETE, FILE_REST_PUT_RANGE,
						    FILE_REST_LIST_RANGES,  FILE_REST_LEASE };

static void rest_meets_share_modes_as_documented(void **state)
{
	for (unsigned row = 0; row < 8; row++)
		for (unsigned col = 0; col < 8; col++) {
			struct set s;
			set_init(&s);
			/* An open that reads: the lease column would also look at its access otherwise. */
			set_open(&s, ACCESS_READ_DATA, share_of(share_table[row].share));
			enum lock_answer expect =
				share_table[row].cells[col] == 'X' ? LOCK_SHARING_VIOLATION : LOCK_YES;
			assert_int_equal(ask_rest(&s, share_columns[col]), expect);
		}
}

/* Lease acquire against the open's access: none or R passes, any with W or D does not. */
static void a_rest_lease_looks_at_the_access(void **state)
{
	for (unsigned a = 0; a < 8; a++) {
		struct set s;
		set_init(&s);
		set_open(&s, access_of(words[a]), SHARE_ALL);
		bool passes = !strcmp(words[a], "") || !strcmp(words[a], "R");
		assert_int_equal(ask_rest(&s, FILE_REST_LEASE), passes ? LOCK_YES : LOCK_SHARING_VIOLATION);
	}
}

/* Properties, metadata and lists are read whatever is open; any open at all, one of attributes too, stops a delete. */
static void attributes_are_always_read_and_opens_stop_deletes(void **state)
{
	struct set s;
	set_init(&s);
	set_open(&s, access_of("RWD"), 0);
	assert_int_equal(ask_rest(&s, FILE_REST_GET_PROPERTIES), LOCK_YES);
	assert_int_equal(ask_rest(&s, FILE_REST_GET_METADATA), LOCK_YES);
	assert_int_equal(ask_rest(&s, FILE_REST_LIST), LOCK_YES);
	set_init(&s);
	assert_int_equal(ask_rest(&s, FILE_REST_DELETE), LOCK_YES);
	set_open(&s, ACCESS_READ_ATTRIBUTES, SHARE_ALL);
	assert_int_equal(ask_rest(&s, FILE_REST_PUT_RANGE), LOCK_YES);
	assert_int_equal(ask_rest(&s, FILE_REST_DELETE), LOCK_SHARING_VIOLATION);
	assert_int_equal(ask_rest(&s, FILE_REST_REPLACE), LOCK_SHARING_VIOLATION);
}

static void a_pending_delete_stops_everything(void **state)
{
	struct set s;
	set_init(&s);
	s.f.delete_pending = true;
	for (int op = 0; op < FILE_REST_OPS; op++)
		assert_int_equal(ask_rest(&s, op), LOCK_DELETE_PENDING);
	assert_int_equal(ask_open(&s, ACCESS_READ_ATTRIBUTES, SHARE_ALL), LOCK_DELETE_PENDING);
}

/* ---- REST against oplocks ---- */

/* As documented: B waits, N only tells, - does nothing; and what the holder keeps. Columns RWH, RH, RW. */
static const struct {
	enum file_rest_op op;
	const char *cells[3][2];
} oplock_table[] = {
	{ FILE_REST_GET, { { "B", "RH" }, { "-", "RH" }, { "B", "R" } } },
	{ FILE_REST_GET_PROPERTIES, { { "B", "RH" }, { "-", "RH" }, { "B", "R" } } },
	{ FILE_REST_LIST_RANGES, { { "B", "RH" }, { "-", "RH" }, { "B", "R" } } },
	{ FILE_REST_GET_METADATA, { { "B", "RH" }, { "-", "RH" }, { "B", "R" } } },
	{ FILE_REST_LIST, { { "-", "RWH" }, { "-", "RH" }, { "-", "RW" } } },
	{ FILE_REST_PUT_RANGE, { { "B", "" }, { "N", "" }, { "B", "" } } },
	{ FILE_REST_SET_PROPERTIES, { { "B", "" }, { "N", "" }, { "B", "" } } },
	{ FILE_REST_SET_METADATA, { { "B", "" }, { "N", "" }, { "B", "" } } },
	{ FILE_REST_DELETE, { { "B", "RW" }, { "B", "R" }, { "-", "RW" } } },
};

static void rest_breaks_oplocks_as_documented(void **state)
{
	static const char *const held[3] = { "RWH", "RH", "RW" };
	for (size_t row = 0; row < sizeof oplock_table / sizeof *oplock_table; row++)
		for (int col = 0; col < 3; col++) {
			struct set s;
			const char *how = oplock_table[row].cells[col][0];
			uint8_t kept = state_of(oplock_table[row].cells[col][1]);
			set_init(&s);
			set_oplock(&s, set_open(&s, ACCESS_READ_DATA, SHARE_ALL), OPLOCK_LEASE, state_of(held[col]));
			enum lock_answer answer = ask_rest(&s, oplock_table[row].op);
			enum lock_answer unhindered =
				oplock_table[row].op == FILE_REST_DELETE ? LOCK_SHARING_VIOLATION : LOCK_YES;
			assert_int_equal(answer, *how == 'B' ? LOCK_BREAK : unhindered);
			assert_int_equal(s.d.count, *how == '-' ? 0 : 1);
			if (s.d.count)
				assert_int_equal(s.d.item[0].keep & state_of(held[col]), kept);
		}
}

/* On a conflict H is broken first, and only then it is a sharing violation. */
static void a_conflict_asks_the_handle_first(void **state)
{
	struct set s;
	set_init(&s);
	struct lock_open *o = set_open(&s, ACCESS_READ_DATA, 0);
	set_oplock(&s, o, OPLOCK_LEASE, CACHE_RWH);
	assert_int_equal(ask_rest(&s, FILE_REST_GET), LOCK_BREAK);
	assert_int_equal(s.d.item[0].keep, CACHE_RW);
	s.oplock[0].state = CACHE_RW; /* acknowledged, and still open */
	assert_int_equal(ask_rest(&s, FILE_REST_GET), LOCK_SHARING_VIOLATION);
	/* Somebody else's handle lease is not asked when it does not stand in the way. */
	set_init(&s);
	set_open(&s, ACCESS_READ_DATA, 0);
	set_oplock(&s, set_open(&s, ACCESS_READ_ATTRIBUTES, SHARE_ALL), OPLOCK_LEASE, CACHE_RH);
	assert_int_equal(ask_rest(&s, FILE_REST_GET), LOCK_SHARING_VIOLATION);
}

/* A disconnected durable open gives way; a persistent one does not. */
static void disconnected_opens(void **state)
{
	struct set s;
	uint64_t id = 0;
	set_init(&s);
	struct lock_open *o = set_open(&s, ACCESS_READ_DATA, 0);
	o->connected = false;
	o->life = OPEN_DURABLE;
	assert_int_equal(lock_rest_access(&s.f, FILE_REST_GET, &s.d, &id), LOCK_CLOSE_DISCONNECTED);
	assert_int_equal(id, o->id);
	assert_int_equal(ask_open(&s, ACCESS_READ_DATA, SHARE_ALL), LOCK_CLOSE_DISCONNECTED);
	o->life = OPEN_PERSISTENT;
	assert_int_equal(ask_rest(&s, FILE_REST_GET), LOCK_SHARING_VIOLATION);
	assert_int_equal(ask_open(&s, ACCESS_READ_DATA, SHARE_ALL), LOCK_NOT_AVAILABLE);
	assert_int_equal(ask_open(&s, ACCESS_READ_ATTRIBUTES, SHARE_ALL), LOCK_YES);
	/* With a handle lease it can be judged: nobody is asked, it is lowered where it stands. */
	set_oplock(&s, o, OPLOCK_LEASE, CACHE_RH);
	assert_int_equal(ask_open(&s, ACCESS_READ_DATA, SHARE_ALL), LOCK_SHARING_VIOLATION);
	o->share = SHARE_ALL;
	assert_int_equal(ask_open(&s, ACCESS_READ_DATA, SHARE_ALL), LOCK_YES);
}

/* ---- what an open is granted ---- */

static uint8_t granted(struct set *s, enum oplock_kind kind, const char *asked, uint8_t key, uint32_t access)
{
	uint64_t id;
	uint8_t state = 0xFF;
	struct lock_open_request r = { .access = access, .share = SHARE_ALL };
	r.oplock = (struct oplock_request){ .kind = kind, .state = state_of(asked) };
	r.oplock.key.bytes[0] = key;
	assert_int_equal(lock_may_open(&s->f, &r, &s->d, &id, &state), LOCK_YES);
	return state;
}

static void oplocks_are_granted_beside_others(void **state)
{
	struct set s;
	set_init(&s);
	/* Alone: what was asked, if it is one of the valid states. */
	static const char *const asked[] = { "", "R", "H", "W", "RH", "RW", "HW", "RWH" };
	static const char *const given[] = { "", "R", "", "", "RH", "RW", "", "RWH" };
	for (int i = 0; i < 8; i++)
		assert_int_equal(granted(&s, OPLOCK_LEASE, asked[i], 9, ACCESS_READ_DATA), state_of(given[i]));
	assert_int_equal(granted(&s, OPLOCK_PLAIN, "RWH", 0, ACCESS_READ_DATA), CACHE_RWH);
	/* Beside a plain open without oplock: no W. */
	set_open(&s, ACCESS_READ_DATA, SHARE_ALL);
	assert_int_equal(granted(&s, OPLOCK_LEASE, "RWH", 9, ACCESS_READ_DATA), CACHE_RH);
	assert_int_equal(granted(&s, OPLOCK_PLAIN, "RWH", 0, ACCESS_READ_DATA), CACHE_READ);
	/* Beside one that only looks: everything. */
	set_init(&s);
	set_open(&s, ACCESS_READ_ATTRIBUTES, SHARE_ALL);
	assert_int_equal(granted(&s, OPLOCK_LEASE, "RWH", 9, ACCESS_READ_DATA), CACHE_RWH);
	/* A lease beside level II: at most R. An oplock beside RH: none; beside R: level II. */
	set_init(&s);
	set_oplock(&s, set_open(&s, ACCESS_READ_DATA, SHARE_ALL), OPLOCK_PLAIN, CACHE_READ);
	assert_int_equal(granted(&s, OPLOCK_LEASE, "RWH", 9, ACCESS_READ_DATA), CACHE_READ);
	set_init(&s);
	set_oplock(&s, set_open(&s, ACCESS_READ_DATA, SHARE_ALL), OPLOCK_LEASE, CACHE_RH);
	assert_int_equal(granted(&s, OPLOCK_PLAIN, "RWH", 0, ACCESS_READ_DATA), 0);
	s.oplock[0].state = CACHE_READ;
	assert_int_equal(granted(&s, OPLOCK_PLAIN, "RWH", 0, ACCESS_READ_DATA), CACHE_READ);
	/* Beside byte-range locks: nothing. */
	set_init(&s);
	struct byte_range range = { .offset = 0, .length = 1 };
	struct lock_open *o = set_open(&s, ACCESS_READ_DATA, SHARE_ALL);
	o->range = &range;
	o->range_count = 1;
	assert_int_equal(granted(&s, OPLOCK_LEASE, "RWH", 9, ACCESS_READ_DATA), 0);
}

static enum lock_answer ask_over(struct set *s, uint32_t access, uint32_t share, bool overwrite, uint8_t key)
{
	uint64_t id;
	uint8_t state;
	struct lock_open_request r = { .access = access, .share = share, .overwrite = overwrite };
	r.oplock = (struct oplock_request){ .kind = OPLOCK_LEASE, .state = CACHE_READ };
	r.oplock.key.bytes[0] = key;
	return lock_may_open(&s->f, &r, &s->d, &id, &state);
}

static void opens_break_oplocks(void **state)
{
	struct set s;
	set_init(&s);
	struct lock_open *o = set_open(&s, ACCESS_READ_DATA, SHARE_READ);
	set_oplock(&s, o, OPLOCK_LEASE, CACHE_RWH);
	/* A second reader: W goes, and is waited for. */
	assert_int_equal(ask_over(&s, ACCESS_READ_DATA, SHARE_ALL, false, 9), LOCK_BREAK);
	assert_int_equal(s.d.item[0].keep, CACHE_RH);
	/* The same key breaks nothing. */
	assert_int_equal(ask_over(&s, ACCESS_READ_DATA, SHARE_ALL, false, 1), LOCK_YES);
	assert_int_equal(s.d.count, 0);
	/* Looking at attributes breaks nothing. */
	assert_int_equal(ask_over(&s, ACCESS_READ_ATTRIBUTES, SHARE_ALL, false, 9), LOCK_YES);
	/* A conflict: H only. */
	assert_int_equal(ask_over(&s, ACCESS_WRITE_DATA, SHARE_ALL, false, 9), LOCK_BREAK);
	assert_int_equal(s.d.item[0].keep, CACHE_RW);
	/* Overwriting: everything; of RH nobody waits for it. */
	o->share = SHARE_ALL;
	assert_int_equal(ask_over(&s, ACCESS_WRITE_DATA, SHARE_ALL, true, 9), LOCK_BREAK);
	assert_int_equal(s.d.item[0].keep, 0);
	s.oplock[0].state = CACHE_RH;
	assert_int_equal(ask_over(&s, ACCESS_WRITE_DATA, SHARE_ALL, true, 9), LOCK_YES);
	assert_int_equal(s.d.count, 1);
	/* While a break is under way others wait for its end. */
	s.oplock[0].breaking = true;
	assert_int_equal(ask_over(&s, ACCESS_READ_DATA, SHARE_ALL, false, 9), LOCK_BREAK);
	assert_int_equal(s.d.count, 0);
}

/* Only looking at attributes, but overwriting: that is a writer. And one that only looks gets no oplock beside a writer
 * whom it did not break. */
static void looking_and_overwriting(void **state)
{
	struct set s;
	uint64_t id;
	uint8_t got;
	set_init(&s);
	set_oplock(&s, set_open(&s, ACCESS_READ_DATA, SHARE_ALL), OPLOCK_PLAIN, CACHE_RW);
	struct lock_open_request r = { .access = ACCESS_READ_ATTRIBUTES, .share = SHARE_ALL };
	r.oplock = (struct oplock_request){ .kind = OPLOCK_PLAIN, .state = CACHE_RW };
	assert_int_equal(lock_may_open(&s.f, &r, &s.d, &id, &got), LOCK_YES);
	assert_int_equal(got, 0);
	assert_int_equal(s.d.count, 0);
	r.overwrite = true;
	assert_int_equal(lock_may_open(&s.f, &r, &s.d, &id, &got), LOCK_BREAK);
	s.oplock[0].state = 0;
	assert_int_equal(lock_may_open(&s.f, &r, &s.d, &id, &got), LOCK_YES);
	assert_int_equal(got, CACHE_READ);
}

/* Who overwrites need not wait for a break of RH that others began, unless it already waited for that lease. */
static void who_waited_waits_to_the_end(void **state)
{
	struct set s;
	uint64_t id;
	uint8_t got;
	set_init(&s);
	set_oplock(&s, set_open(&s, ACCESS_READ_DATA, SHARE_ALL), OPLOCK_LEASE, CACHE_RH);
	s.oplock[0].breaking = true;
	struct lock_open_request r = { .access = ACCESS_WRITE_DATA, .share = SHARE_ALL, .overwrite = true };
	assert_int_equal(lock_may_open(&s.f, &r, &s.d, &id, &got), LOCK_YES);
	r.again = true;
	assert_int_equal(lock_may_open(&s.f, &r, &s.d, &id, &got), LOCK_BREAK);
}

/* Who opens to delete asks those who only cache their handle to let it go. */
static void deleting_asks_handles(void **state)
{
	struct set s;
	uint64_t id;
	uint8_t got;
	set_init(&s);
	set_oplock(&s, set_open(&s, ACCESS_READ_DATA, SHARE_ALL), OPLOCK_LEASE, CACHE_RH);
	struct lock_open_request r = { .access = ACCESS_DELETE, .share = SHARE_ALL, .deletes = true };
	assert_int_equal(lock_may_open(&s.f, &r, &s.d, &id, &got), LOCK_BREAK);
	assert_int_equal(s.d.item[0].keep, CACHE_READ);
	r.deletes = false;
	assert_int_equal(lock_may_open(&s.f, &r, &s.d, &id, &got), LOCK_YES);
}

/* ---- writing, renaming, closing ---- */

static void writes_take_what_others_cached(void **state)
{
	struct set s;
	set_init(&s);
	set_oplock(&s, set_open(&s, ACCESS_WRITE_DATA, SHARE_ALL), OPLOCK_LEASE, CACHE_RH);
	set_oplock(&s, set_open(&s, ACCESS_READ_DATA, SHARE_ALL), OPLOCK_LEASE, CACHE_READ);
	set_oplock(&s, set_open(&s, ACCESS_WRITE_DATA, SHARE_ALL), OPLOCK_PLAIN, CACHE_READ);
	lock_write_breaks(&s.f, 1, &s.d); /* its own lease stays */
	assert_int_equal(s.d.count, 2);
	lock_write_breaks(&s.f, 3, &s.d); /* its own level II goes too */
	assert_int_equal(s.d.count, 3);
	lock_write_breaks(&s.f, 0, &s.d); /* REST */
	assert_int_equal(s.d.count, 3);
	assert_false(s.d.wait);
}

static void renames_ask_handles(void **state)
{
	struct set s;
	uint64_t id;
	set_init(&s);
	set_oplock(&s, set_open(&s, ACCESS_DELETE, SHARE_ALL), OPLOCK_LEASE, CACHE_RH);
	assert_int_equal(lock_may_rename(&s.f, 1, &s.d, &id), LOCK_YES);
	set_oplock(&s, set_open(&s, ACCESS_READ_DATA, SHARE_ALL), OPLOCK_LEASE, CACHE_RWH);
	assert_int_equal(lock_may_rename(&s.f, 1, &s.d, &id), LOCK_BREAK);
	assert_int_equal(s.d.count, 1);
	assert_int_equal(s.d.item[0].keep, CACHE_RW);
}

static void the_last_close_deletes(void **state)
{
	struct set s;
	set_init(&s);
	set_open(&s, ACCESS_DELETE, SHARE_ALL)->delete_on_close = true;
	set_open(&s, ACCESS_READ_DATA, SHARE_ALL);
	struct lock_close_effects e = lock_close(&s.f, 1);
	assert_true(e.sets_pending);
	assert_false(e.deletes); /* another one has it open */
	e = lock_close(&s.f, 2);
	assert_false(e.sets_pending || e.deletes); /* the first one is still open: nothing is pending yet */
	s.f.delete_pending = true;
	s.f.open[0] = s.f.open[1];
	s.f.open_count = 1;
	assert_true(lock_close(&s.f, 2).deletes);
	s.f.delete_pending = false;
	assert_false(lock_close(&s.f, 2).deletes);
}

/* ---- random sets of opens keep what they promise ---- */

/* Whatever order opens come and go in: no two that are open at once deny each other, and W is held by nobody who is not
 * alone. */
static void no_two_opens_that_deny_each_other(void **state)
{
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct set s;
		struct rng rng;
		set_init(&s);
		rng_init_seed(&rng, seed);
		for (int step = 0; step < 200; step++) {
			if (s.f.open_count == MAX || (s.f.open_count && rng_below(&rng, 3) == 0)) {
				size_t at = rng_below(&rng, s.f.open_count);
				s.open[at] = s.open[--s.f.open_count];
				continue;
			}
			uint32_t access = access_of(words[rng_below(&rng, 8)]), share = (uint32_t)rng_below(&rng, 8);
			if (ask_open(&s, access, share) != LOCK_YES)
				continue;
			struct lock_open *o = set_open(&s, access, share);
			for (size_t i = 0; i < s.f.open_count; i++) {
				bool clash = lock_share_conflicts(s.open[i].access, s.open[i].share, access, share);
				assert_true(&s.open[i] == o || !clash);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_share_mode_against_every_access),
		cmocka_unit_test(other_bits_count_as_their_kin),
		cmocka_unit_test(rest_meets_share_modes_as_documented),
		cmocka_unit_test(a_rest_lease_looks_at_the_access),
		cmocka_unit_test(attributes_are_always_read_and_opens_stop_deletes),
		cmocka_unit_test(a_pending_delete_stops_everything),
		cmocka_unit_test(rest_breaks_oplocks_as_documented),
		cmocka_unit_test(a_conflict_asks_the_handle_first),
		cmocka_unit_test(disconnected_opens),
		cmocka_unit_test(oplocks_are_granted_beside_others),
		cmocka_unit_test(opens_break_oplocks),
		cmocka_unit_test(looking_and_overwriting),
		cmocka_unit_test(who_waited_waits_to_the_end),
		cmocka_unit_test(deleting_asks_handles),
		cmocka_unit_test(writes_take_what_others_cached),
		cmocka_unit_test(renames_ask_handles),
		cmocka_unit_test(the_last_close_deletes),
		cmocka_unit_test(no_two_opens_that_deny_each_other),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 * Entities on the in-memory engine, with conflicts and unknown outcomes injected: bytes of records, every operation by
 * itself, then random operations and batches against a plain model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/sys/rng.h"
#include "engine/mem/mem.h"
#include "svc/common/generation.h"
#include "svc/table/entity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct bench {
	struct clock clock;
	struct engine *engine;
	struct store *store;
	struct arena arena;
	struct slice partition;
	struct key partition_key;
};

static enum err open_generation(struct txn *txn, void *call)
{
	return generation_open(txn);
}
static enum err close_generation(struct txn *txn, void *call)
{
	return generation_close(txn);
}

static int setup(void **state)
{
	static struct bench bench;
	static const struct mem_options faults = {
		.seed = 5, .conflict_permille = 100, .unknown_happened_permille = 20, .unknown_lost_permille = 20
	};
	struct bench *b = &bench;
	memset(b, 0, sizeof *b);
	clock_init_fake(&b->clock, UINT64_C(639000000000000000));
	arena_init(&b->arena, 256 * MIB);
	assert_int_equal(engine_mem_open(&faults, &b->engine), ERR_OK);
	struct store_options so = { .clock = &b->clock };
	assert_int_equal(store_open(b->engine, &so, &b->store), ERR_OK);
	key_partition(&b->partition_key, SLICE("acc"), 't', 7);
	b->partition = key_slice(&b->partition_key);
	assert_int_equal(store_write_wait(b->store, b->partition, open_generation, NULL, &b->arena), ERR_OK);
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;
	store_close(b->store);
	arena_fini(&b->arena);
	return 0;
}

/* A run of one string and one Int32. */
static struct slice run_of(struct bench *b, const char *name, const char *text, int number)
{
	struct buf out;
	struct edm_value s = { .type = EDM_STRING, .bytes = slice_str(text) };
	struct edm_value i = { .type = EDM_INT32, .integer = number };
	buf_init(&out, 4 * MIB);
	property_encode(&out, slice_str(name), &s);
	property_encode(&out, SLICE("n"), &i);
	struct slice run = arena_dup(&b->arena, buf_slice(&out));
	buf_fini(&out);
	return run;
}

static struct entity_write change(struct bench *b, enum entity_action action, const char *pk, const char *rk,
				  struct slice run)
{
	struct key k;
	entity_key(&k, slice_str(pk), slice_str(rk));
	return (struct entity_write){ .action = action,
				      .key = arena_dup(&b->arena, key_slice(&k)),
				      .partition_key = slice_str(pk),
				      .row_key = slice_str(rk),
				      .properties = run };
}

static enum err apply_one(struct bench *b, struct entity_write *w)
{
	struct entity_batch batch = { .write = w, .count = 1 };
	return store_write_wait(b->store, b->partition, entity_write_apply, &batch, &b->arena);
}

static bool find(struct bench *b, const char *pk, const char *rk, struct entity_get *g)
{
	struct key k;
	entity_key(&k, slice_str(pk), slice_str(rk));
	*g = (struct entity_get){ .key = arena_dup(&b->arena, key_slice(&k)) };
	assert_int_equal(store_read(b->store, b->partition, entity_get_whole, g, &b->arena), ERR_OK);
	return g->found;
}

/* ---- Bytes ---- */

static void test_golden(void **state)
{
	static const char golden[] = "\x01\x01"
				     "s\x02hi" /* String */
				     "\x02\x01"
				     "i\x03" /* Int32 -2 */
				     "\x03\x01"
				     "l\x80\x01" /* Int64 64 */
				     "\x04\x01"
				     "d\0\0\0\0\0\0\xf8\x3f" /* Double 1.5 */
				     "\x05\x01"
				     "b\x01" /* Boolean true */
				     "\x06\x01"
				     "t\x08\x07\x06\x05\x04\x03\x02\x01"
				     "\x07\x01"
				     "g0123456789abcdef"
				     "\x08\x03"
				     "bin\x01\xff";
	struct buf b;
	struct edm_value v;
	buf_init(&b, 4096);
	v = (struct edm_value){ .type = EDM_STRING, .bytes = SLICE("hi") };
	property_encode(&b, SLICE("s"), &v);
	v = (struct edm_value){ .type = EDM_INT32, .integer = -2 };
	property_encode(&b, SLICE("i"), &v);
	v = (struct edm_value){ .type = EDM_INT64, .integer = 64 };
	property_encode(&b, SLICE("l"), &v);
	v = (struct edm_value){ .type = EDM_DOUBLE, .number = 1.5 };
	property_encode(&b, SLICE("d"), &v);
	v = (struct edm_value){ .type = EDM_BOOLEAN, .boolean = true };
	property_encode(&b, SLICE("b"), &v);
	v = (struct edm_value){ .type = EDM_DATETIME, .ticks = UINT64_C(0x0102030405060708) };
	property_encode(&b, SLICE("t"), &v);
	v = (struct edm_value){ .type = EDM_GUID, .bytes = SLICE("0123456789abcdef") };
	property_encode(&b, SLICE("g"), &v);
	v = (struct edm_value){ .type = EDM_BINARY, .bytes = SLICE("\xff") };
	property_encode(&b, SLICE("bin"), &v);
	assert_int_equal(b.len, sizeof golden - 1);
	assert_memory_equal(b.ptr, golden, b.len);

	/* Cut anywhere but between two properties it is damage, not a shorter entity. */
	size_t whole = 0;
	for (size_t cut = 0; cut <= b.len; cut++) {
		char *exact = malloc(cut + 1);
		memcpy(exact + 1, b.ptr, cut);
		struct property_cursor c = property_cursor_make(slice_make(exact + 1, cut));
		struct property p;
		size_t used = 0;
		while (property_next(&c, &p))
			used += p.encoded.len;
		assert_true(c.failed == (used != cut));
		assert_false(property_next(&c, &p));
		whole += !c.failed;
		free(exact);
	}
	assert_int_equal(whole, 9);
	buf_fini(&b);
}

static void test_round_trip(void **state)
{
	static const int64_t integers[] = { 0, 1, -1, 63, 64, -64, -65, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN };
	struct buf b;
	struct property p;
	buf_init(&b, 1 << 20);
	for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
		struct edm_value v = { .type = EDM_INT64, .integer = integers[i] };
		buf_clear(&b);
		property_encode(&b, SLICE("x"), &v);
		struct property_cursor c = property_cursor_make(buf_slice(&b));
		assert_true(property_next(&c, &p));
		assert_true(p.value.integer == integers[i]);
		assert_false(property_next(&c, &p));
	}
	/* Lengths around those that take one more byte, of the name and of the value. */
	static const size_t lengths[] = { 1, 127, 128, 16383, 16384, 65536 };
	static char text[65536];
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		struct slice s = slice_make(text, lengths[i]);
		struct edm_value v = { .type = EDM_STRING, .bytes = s };
		buf_clear(&b);
		property_encode(&b, s, &v);
		struct property_cursor c = property_cursor_make(buf_slice(&b));
		assert_true(property_next(&c, &p));
		assert_true(p.name.len == s.len && p.value.bytes.len == s.len && p.encoded.len == b.len);
		assert_false(property_next(&c, &p) || c.failed);
	}
	struct rng r;
	rng_init_seed(&r, 1);
	for (int i = 0; i < 100000; i++) {
		/* Any bytes: decoded or refused, never read past the end (the sanitizers watch). */
		unsigned char junk[40];
		size_t len = rng_below(&r, sizeof junk);
		rng_bytes(&r, junk, len);
		if (len)
			junk[0] %= 10;
		struct property_cursor c = property_cursor_make(slice_make(junk, len));
		while (property_next(&c, &p))
			assert_true((const unsigned char *)p.encoded.ptr + p.encoded.len <= junk + len);
	}
	buf_fini(&b);
}

static void test_datetime(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{ "0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z" },
		{ "1601-01-01T00:00:00Z", "1601-01-01T00:00:00Z" },
		{ "1970-01-01T00:00:00.0000001Z", "1970-01-01T00:00:00.0000001Z" },
		{ "2000-02-29T23:59:59.12Z", "2000-02-29T23:59:59.12Z" },
		{ "2021-03-04T05:06Z", "2021-03-04T05:06:00Z" },
		{ "2021-03-04T05:06:07", "2021-03-04T05:06:07Z" },
		{ "2021-03-04T00:30:00+01:00", "2021-03-03T23:30:00Z" },
		{ "2021-12-31T23:30:00-01:00", "2022-01-01T00:30:00Z" },
		{ "9999-12-31T23:59:59.9999999Z", "9999-12-31T23:59:59.9999999Z" },
		{ "2021-03-04T05:06:07.12345678Z", "2021-03-04T05:06:07.1234567Z" },
		{ "2021-03-04T05:06:07.123456789+01:00", "2021-03-04T04:06:07.1234567Z" },
	};
	static const char *const bad[] = { "",
					   "2021",
					   "2021-02-29T00:00:00Z",
					   "2021-13-01T00:00:00Z",
					   "2021-00-01T00:00:00Z",
					   "2021-01-00T00:00:00Z",
					   "2021-01-01T24:00:00Z",
					   "2021-01-01T00:60:00Z",
					   "2021-01-01T00:00:60Z",
					   "2021-01-01T00:00:00.Z",
					   "2021-01-01T00:00:00.1234567890Z",
					   "2021-01-01T00:00:00X",
					   "2021-01-01 00:00:00Z",
					   "0000-01-01T00:00:00Z",
					   "0001-01-01T00:00:00+01:00",
					   "9999-12-31T23:59:59-01:00",
					   "2021-01-01T00:00:00+15:00" };
	char text[EDM_DATETIME_TEXT_MAX];
	uint64_t ticks;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_true(edm_datetime_parse(slice_str(cases[i].in), &ticks));
		size_t len = edm_datetime_format(ticks, text);
		assert_int_equal(len, strlen(cases[i].out));
		assert_memory_equal(text, cases[i].out, len);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(edm_datetime_parse(slice_str(bad[i]), &ticks));
	assert_true(edm_datetime_parse(SLICE("1601-01-01T00:00:00Z"), &ticks) && ticks == EDM_DATETIME_MIN);
	assert_true(edm_datetime_parse(SLICE("1970-01-01T00:00:00Z"), &ticks) && ticks == TICKS_UNIX_EPOCH);
	struct rng r;
	rng_init_seed(&r, 2);
	for (int i = 0; i < 100000; i++) {
		uint64_t t = rng_below(&r, EDM_DATETIME_MAX + 1), again;
		size_t len = edm_datetime_format(t, text);
		assert_true(edm_datetime_parse(slice_make(text, len), &again));
		assert_true(again == t);
	}
}

/* Times in a row, mostly within a second of each other, come out as each by itself. */
static void test_datetime_near(void **state)
{
	struct edm_second last = { 0 };
	char text[EDM_DATETIME_TEXT_MAX], want[EDM_DATETIME_TEXT_MAX];
	struct rng r;
	uint64_t ticks = 0; /* the first second there is */
	rng_init_seed(&r, 3);
	for (int i = 0; i < 100000; i++) {
		size_t len = edm_datetime_format(ticks, want);
		assert_int_equal(edm_datetime_format_near(&last, ticks, text), len);
		assert_memory_equal(text, want, len);
		if (i % 16 == 15)
			ticks = i % 256 == 255 ? UINT64_MAX - TICKS_PER_SECOND : rng_below(&r, EDM_DATETIME_MAX + 1);
		else
			ticks += rng_below(&r, i % 2 ? TICKS_PER_SECOND : 10);
	}
}

/* Every day there is, counted on from the first. */
static void test_calendar(void **state)
{
	static const unsigned lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	char text[EDM_DATETIME_TEXT_MAX], want[64];
	uint64_t ticks = 0;
	for (unsigned year = 1; year <= 9999; year++)
		for (unsigned month = 1; month <= 12; month++) {
			bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
			unsigned length = lengths[month - 1] + (month == 2 && leap);
			snprintf(want, sizeof want, "%04u-%02u-00T00:00:00Z", year, month);
			for (unsigned day = 1; day <= length; day++, ticks += 86400 * TICKS_PER_SECOND) {
				want[8] = (char)('0' + day / 10);
				want[9] = (char)('0' + day % 10);
				assert_int_equal(edm_datetime_format(ticks, text), 20);
				assert_memory_equal(text, want, 20);
			}
		}
	assert_true(ticks == EDM_DATETIME_MAX + 1);
}

/* ---- Operations ---- */

static void test_operations(void **state)
{
	struct bench *b = *state;
	struct entity_get g, before;
	struct slice one = run_of(b, "a", "one", 1), two = run_of(b, "b", "two", 2);

	struct entity_write w = change(b, ENTITY_INSERT, "p", "r", one);
	assert_int_equal(apply_one(b, &w), ERR_OK);
	assert_true(find(b, "p", "r", &before));
	assert_true(before.ticks == w.ticks && slice_eq(before.properties, one));
	assert_int_equal(apply_one(b, &w), ERR_ENTITY_ALREADY_EXISTS);

	/* Stale: refused and unchanged. */
	for (int a = 0; a < 3; a++) {
		static const enum entity_action actions[] = { ENTITY_REPLACE, ENTITY_MERGE, ENTITY_DELETE };
		w = change(b, actions[a], "p", "r", two);
		w.match_ticks = before.ticks - 1;
		assert_int_equal(apply_one(b, &w), ERR_UPDATE_CONDITION_NOT_SATISFIED);
		w.match_ticks = 0;
		assert_int_equal(apply_one(b, &w), ERR_UPDATE_CONDITION_NOT_SATISFIED);
		assert_true(find(b, "p", "r", &g) && g.ticks == before.ticks && slice_eq(g.properties, one));
		w = change(b, actions[a], "p", "missing", two);
		w.match_any = true;
		assert_int_equal(apply_one(b, &w), ERR_RESOURCE_NOT_FOUND);
	}

	w = change(b, ENTITY_MERGE, "p", "r", two);
	w.match_ticks = before.ticks;
	assert_int_equal(apply_one(b, &w), ERR_OK);
	assert_true(w.ticks > before.ticks);
	assert_true(find(b, "p", "r", &g) && g.ticks == w.ticks);
	/* a stays, n is replaced where it stood, b comes behind. */
	struct property_cursor c = property_cursor_make(g.properties);
	struct property p;
	assert_true(property_next(&c, &p) && slice_eq(p.name, SLICE("a")));
	assert_true(property_next(&c, &p) && slice_eq(p.name, SLICE("n")) && p.value.integer == 2);
	assert_true(property_next(&c, &p) && slice_eq(p.name, SLICE("b")));
	assert_false(property_next(&c, &p));

	w = change(b, ENTITY_INSERT_OR_REPLACE, "p", "r", two);
	assert_int_equal(apply_one(b, &w), ERR_OK);
	assert_true(find(b, "p", "r", &g) && slice_eq(g.properties, two));
	w = change(b, ENTITY_INSERT_OR_MERGE, "p", "new", one);
	assert_int_equal(apply_one(b, &w), ERR_OK);
	assert_true(find(b, "p", "new", &g) && slice_eq(g.properties, one));

	w = change(b, ENTITY_DELETE, "p", "r", SLICE(""));
	w.match_any = true;
	assert_int_equal(apply_one(b, &w), ERR_OK);
	assert_false(find(b, "p", "r", &g));

	assert_int_equal(store_write_wait(b->store, b->partition, close_generation, NULL, &b->arena), ERR_OK);
	w = change(b, ENTITY_INSERT, "p", "late", one);
	assert_int_equal(apply_one(b, &w), ERR_TABLE_NOT_FOUND);
	w = change(b, ENTITY_DELETE, "p", "new", one);
	w.match_any = true;
	assert_int_equal(apply_one(b, &w), ERR_RESOURCE_NOT_FOUND);
}

static void test_etag_never_repeats(void **state)
{
	struct bench *b = *state;
	uint64_t last = 0;
	/* The clock stands still the whole time; the entity comes and goes. */
	for (int i = 0; i < 50; i++) {
		struct entity_write w =
			change(b, i % 3 ? ENTITY_INSERT_OR_REPLACE : ENTITY_INSERT, "p", "r", run_of(b, "a", "x", i));
		assert_int_equal(apply_one(b, &w), ERR_OK);
		assert_true(w.ticks > last);
		last = w.ticks;
		if (i % 3 == 2) {
			w = change(b, ENTITY_DELETE, "p", "r", SLICE(""));
			w.match_any = true;
			assert_int_equal(apply_one(b, &w), ERR_OK);
		}
	}
}

static size_t row_count(struct bench *b);
struct counting {
	size_t count;
};
static enum err count_rows(struct txn *t, void *call)
{
	struct counting *c = call;
	struct rows rows;
	struct scan_spec spec = { .from = SLICE("e"), .until = SLICE("f"), .keys_only = true };
	TRY(txn_scan(t, &spec, &rows));
	c->count = rows.count;
	return ERR_OK;
}
static size_t row_count(struct bench *b)
{
	struct counting c;
	assert_int_equal(store_read(b->store, b->partition, count_rows, &c, &b->arena), ERR_OK);
	return c.count;
}

static void test_large(void **state)
{
	struct bench *b = *state;
	struct entity_get g;
	static const size_t sizes[] = {
		ENTITY_PART_BYTES - 40, ENTITY_PART_BYTES, 3 * ENTITY_PART_BYTES + 5, 900000, 10, 300000
	};
	char *text = arena_alloc(&b->arena, MIB);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		memset(text, 'a' + (int)i, sizes[i]);
		text[sizes[i]] = 0;
		struct slice run = run_of(b, "big", text, (int)i);
		struct entity_write w = change(b, ENTITY_INSERT_OR_REPLACE, "p", "r", run);
		assert_int_equal(apply_one(b, &w), ERR_OK);
		assert_true(find(b, "p", "r", &g) && slice_eq(g.properties, run) && g.ticks == w.ticks);
		size_t parts = (run.len + ENTITY_PART_BYTES - 1) / ENTITY_PART_BYTES;
		assert_int_equal(row_count(b), parts);
		/* Point reads say that there is more. */
		assert_int_equal(store_read_points(b->store, b->partition, entity_get_point, &g, &b->arena), ERR_OK);
		assert_true(g.found && g.in_parts == (parts > 1));
	}
	struct entity_write w = change(b, ENTITY_DELETE, "p", "r", SLICE(""));
	w.match_any = true;
	assert_int_equal(apply_one(b, &w), ERR_OK);
	assert_int_equal(row_count(b), 0);
}

static void test_sizes(void **state)
{
	struct buf b;
	buf_init(&b, 4 * MIB);
	static char text[64 * 1024];
	memset(text, 'x', sizeof text);
	struct edm_value v = { .type = EDM_STRING, .bytes = slice_make(text, 32 * 1024) };
	char name[16];
	/* 4 for the entity, 16 properties of 8 + 2 * 3 + 4 + 64 KiB - ..: fifteen whole ones, the last cut to fit
	 * exactly. */
	for (int i = 0; i < 16; i++) {
		snprintf(name, sizeof name, "p%02d", i);
		if (i == 15)
			v.bytes.len = (1024 * 1024 - 4 - 15 * (8 + 6 + 4 + 64 * 1024) - (8 + 6 + 4)) / 2;
		property_encode(&b, slice_str(name), &v);
	}
	assert_int_equal(entity_size_check(SLICE(""), SLICE(""), buf_slice(&b)), ERR_OK);
	assert_int_equal(entity_size_check(SLICE("k"), SLICE(""), buf_slice(&b)), ERR_ENTITY_TOO_LARGE);
	buf_clear(&b);
	v = (struct edm_value){ .type = EDM_BOOLEAN };
	for (int i = 0; i <= ENTITY_PROPERTIES_MAX; i++) {
		assert_int_equal(entity_size_check(SLICE(""), SLICE(""), buf_slice(&b)), ERR_OK);
		snprintf(name, sizeof name, "p%d", i);
		property_encode(&b, slice_str(name), &v);
	}
	assert_int_equal(entity_size_check(SLICE(""), SLICE(""), buf_slice(&b)), ERR_TOO_MANY_PROPERTIES);
	buf_fini(&b);
	assert_int_equal(edm_utf16_units(SLICE("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x91")), 5);
	assert_int_equal(entity_key_check(SLICE("a/b")), ERR_OUT_OF_RANGE_INPUT);
	assert_int_equal(entity_key_check(SLICE("\xc2\x80")), ERR_OUT_OF_RANGE_INPUT);
	assert_int_equal(entity_key_check(SLICE("\xc2\xa0")), ERR_OK);
	assert_int_equal(entity_key_check(slice_make(text, 512)), ERR_OK);
	assert_int_equal(entity_key_check(slice_make(text, 513)), ERR_PROPERTY_VALUE_TOO_LARGE);
	assert_int_equal(entity_name_check(slice_make(text, 255)), ERR_OK);
	assert_int_equal(entity_name_check(slice_make(text, 256)), ERR_PROPERTY_NAME_TOO_LONG);
}

/* ---- Batches ---- */

static void test_batch_refused_changes_nothing(void **state)
{
	struct bench *b = *state;
	struct entity_get g;
	struct entity_write w[4];
	w[0] = change(b, ENTITY_INSERT, "p", "there", run_of(b, "a", "old", 1));
	assert_int_equal(apply_one(b, &w[0]), ERR_OK);
	w[0] = change(b, ENTITY_INSERT, "p", "1", run_of(b, "a", "x", 1));
	w[1] = change(b, ENTITY_INSERT_OR_REPLACE, "p", "there", run_of(b, "a", "new", 2));
	w[2] = change(b, ENTITY_DELETE, "p", "nowhere", SLICE(""));
	w[2].match_any = true;
	w[3] = change(b, ENTITY_INSERT, "p", "there", SLICE(""));
	struct entity_batch batch = { .write = w, .count = 4 };
	assert_int_equal(store_write_wait(b->store, b->partition, entity_batch_apply, &batch, &b->arena), ERR_OK);
	assert_int_equal(batch.refused, ERR_RESOURCE_NOT_FOUND);
	assert_int_equal(batch.failed, 2);
	assert_false(find(b, "p", "1", &g));
	assert_true(find(b, "p", "there", &g));
	assert_true(slice_eq(g.properties, run_of(b, "a", "old", 1)));
	batch.count = 2;
	assert_int_equal(store_write_wait(b->store, b->partition, entity_batch_apply, &batch, &b->arena), ERR_OK);
	assert_int_equal(batch.refused, ERR_OK);
	assert_true(find(b, "p", "1", &g));
	assert_true(find(b, "p", "there", &g) && slice_eq(g.properties, w[1].properties));
}

static void test_batch_of_the_largest(void **state)
{
	struct bench *b = *state;
	static struct entity_write w[BATCH_OPS_MAX];
	static char rk[BATCH_OPS_MAX][16];
	struct entity_get g;
	char *text = arena_alloc(&b->arena, 64 * 1024);
	memset(text, 'z', 64 * 1024);
	text[40 * 1024] = 0;
	struct slice run = run_of(b, "t", text, 1);
	for (int i = 0; i < BATCH_OPS_MAX; i++) {
		snprintf(rk[i], sizeof rk[i], "%03d", i);
		w[i] = change(b, ENTITY_INSERT, "p", rk[i], run);
	}
	struct entity_batch batch = { .write = w, .count = BATCH_OPS_MAX };
	assert_int_equal(store_write_wait(b->store, b->partition, entity_batch_apply, &batch, &b->arena), ERR_OK);
	assert_int_equal(batch.refused, ERR_OK);
	for (int i = 0; i < BATCH_OPS_MAX; i++)
		assert_true(find(b, "p", rk[i], &g) && slice_eq(g.properties, run) && g.ticks == w[i].ticks);
}

static void test_batch_past_a_commit(void **state)
{
	enum { COUNT = LIMIT_COMMIT_BYTES / (100 * 1024) + 1 };
	_Static_assert((int)COUNT <= (int)BATCH_OPS_MAX, "a batch can ask for more than a commit holds");
	struct bench *b = *state;
	static struct entity_write w[COUNT];
	static char rk[COUNT][16];
	struct entity_get g;
	char *text = arena_alloc(&b->arena, 128 * 1024);
	memset(text, 'z', 100 * 1024);
	text[100 * 1024] = 0;
	struct slice large = run_of(b, "t", text, 1), small = run_of(b, "s", "x", 2);
	for (int i = 0; i < COUNT; i++) {
		snprintf(rk[i], sizeof rk[i], "%03d", i);
		w[i] = change(b, ENTITY_INSERT, "p", rk[i], large);
		assert_int_equal(apply_one(b, &w[i]), ERR_OK);
		w[i] = change(b, ENTITY_INSERT_OR_MERGE, "p", rk[i], small);
	}
	struct entity_batch batch = { .write = w, .count = COUNT };
	assert_int_equal(store_write_wait(b->store, b->partition, entity_batch_apply, &batch, &b->arena),
			 ERR_REQUEST_BODY_TOO_LARGE);
	for (int i = 0; i < COUNT; i++)
		assert_true(find(b, "p", rk[i], &g) && slice_eq(g.properties, large));
	batch.count = 30;
	assert_int_equal(store_write_wait(b->store, b->partition, entity_batch_apply, &batch, &b->arena), ERR_OK);
	assert_true(find(b, "p", rk[29], &g) && g.properties.len > large.len);
}

/* What a batch of all operations of one kind answers with the memory of a request. */
static enum err judge_in_request(struct bench *b, struct entity_write *w, enum entity_action action, struct slice run)
{
	struct entity_batch batch = { .write = w, .count = BATCH_OPS_MAX };
	struct arena arena;
	for (size_t i = 0; i < BATCH_OPS_MAX; i++) {
		w[i].action = action;
		w[i].properties = run;
		w[i].match_any = true;
	}
	arena_init(&arena, LIMIT_REQUEST_ARENA_BYTES);
	enum err e = store_read(b->store, b->partition, entity_batch_apply, &batch, &arena);
	assert_int_equal(batch.refused, ERR_OK);
	arena_fini(&arena);
	return e;
}

/* The entities of a batch together are larger than a request's memory: only what is to be written counts. */
static void test_batch_of_large_entities(void **state)
{
	enum { TEXT_BYTES = 480 * 1024 };
	_Static_assert((uint64_t)BATCH_OPS_MAX * TEXT_BYTES > LIMIT_REQUEST_ARENA_BYTES, "they do not fit");
	struct bench *b = *state;
	static struct entity_write w[BATCH_OPS_MAX];
	static char rk[BATCH_OPS_MAX][16];
	char *text = arena_alloc(&b->arena, TEXT_BYTES + 1);
	memset(text, 'z', TEXT_BYTES);
	text[TEXT_BYTES] = 0;
	struct slice large = run_of(b, "t", text, 1), add = run_of(b, "s", "x", 2), shrink = run_of(b, "t", "x", 2);
	for (int i = 0; i < BATCH_OPS_MAX; i++) {
		snprintf(rk[i], sizeof rk[i], "%03d", i);
		w[i] = change(b, ENTITY_INSERT, "p", rk[i], large);
		struct arena_position position = arena_position(&b->arena);
		assert_int_equal(apply_one(b, &w[i]), ERR_OK);
		arena_rewind(&b->arena, position);
	}
	assert_int_equal(judge_in_request(b, w, ENTITY_MERGE, add), ERR_REQUEST_BODY_TOO_LARGE);
	assert_int_equal(judge_in_request(b, w, ENTITY_INSERT_OR_MERGE, shrink), ERR_OK);
	assert_int_equal(judge_in_request(b, w, ENTITY_REPLACE, add), ERR_OK);
	assert_int_equal(judge_in_request(b, w, ENTITY_DELETE, SLICE("")), ERR_OK);
}

/* Random operations, alone and in batches, against an array. */
struct model_row {
	bool exists;
	uint64_t ticks;
	int number;
	size_t padding;
};

static enum err model_judge(const struct model_row *m, const struct entity_write *w)
{
	bool conditional = w->action == ENTITY_REPLACE || w->action == ENTITY_MERGE || w->action == ENTITY_DELETE;
	if (w->action == ENTITY_INSERT && m->exists)
		return ERR_ENTITY_ALREADY_EXISTS;
	if (conditional && !m->exists)
		return ERR_RESOURCE_NOT_FOUND;
	if (conditional && !w->match_any && w->match_ticks != m->ticks)
		return ERR_UPDATE_CONDITION_NOT_SATISFIED;
	return ERR_OK;
}

static void test_random(void **state)
{
	enum { ROWS = 8 };
	struct bench *b = *state;
	struct model_row model[ROWS] = { 0 };
	static const char *const names[ROWS] = { "0", "1", "2", "3", "4", "5", "6", "7" };
	struct rng r;
	struct entity_get g;
	size_t refused = 0, done = 0;
	static char padding[200 * 1024 + 1];
	rng_init_seed(&r, 3);
	for (int round = 0; round < 1500; round++) {
		struct arena_position position = arena_position(&b->arena);
		struct entity_write w[ROWS];
		size_t pad[ROWS], rows[ROWS], count = 1 + rng_below(&r, 4), first = rng_below(&r, ROWS);
		for (size_t i = 0; i < count; i++) {
			rows[i] = (first + i) % ROWS;
			pad[i] = rng_below(&r, 20) ? rng_below(&r, 20) : rng_below(&r, sizeof padding - 1);
			memset(padding, 'p', pad[i]);
			padding[pad[i]] = 0;
			w[i] = change(b, (enum entity_action)rng_below(&r, 6), "p", names[rows[i]],
				      run_of(b, "s", padding, round));
			w[i].match_any = rng_below(&r, 2);
			w[i].match_ticks = model[rows[i]].ticks - rng_below(&r, 2);
		}
		struct entity_batch batch = { .write = w, .count = count };
		size_t failed = 0;
		enum err want = ERR_OK;
		for (; failed < count && !want; failed++)
			want = model_judge(&model[rows[failed]], &w[failed]);
		assert_int_equal(store_write_wait(b->store, b->partition, entity_batch_apply, &batch, &b->arena),
				 ERR_OK);
		assert_int_equal(batch.refused, want);
		if (want) {
			assert_int_equal(batch.failed, failed - 1);
			refused++;
		}
		for (size_t i = 0; i < count && !want; i++) {
			struct model_row *m = &model[rows[i]];
			m->exists = w[i].action != ENTITY_DELETE;
			m->number = round;
			m->padding = pad[i];
			assert_true(w[i].ticks > m->ticks);
			m->ticks = w[i].ticks;
			done++;
		}
		size_t expected_rows = 0;
		for (size_t i = 0; i < ROWS; i++) {
			assert_int_equal(find(b, "p", names[i], &g), model[i].exists);
			if (!model[i].exists)
				continue;
			struct property_cursor c = property_cursor_make(g.properties);
			struct property p;
			assert_true(property_next(&c, &p) && p.value.bytes.len == model[i].padding);
			assert_true(property_next(&c, &p) && p.value.integer == model[i].number);
			assert_true(g.ticks == model[i].ticks);
			expected_rows += (g.properties.len + ENTITY_PART_BYTES - 1) / ENTITY_PART_BYTES;
		}
		assert_int_equal(row_count(b), expected_rows);
		arena_rewind(&b->arena, position);
	}
	assert_true(refused > 300 && done > 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_datetime),
		cmocka_unit_test(test_datetime_near),
		cmocka_unit_test(test_calendar),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test_setup_teardown(test_operations, setup, teardown),
		cmocka_unit_test_setup_teardown(test_etag_never_repeats, setup, teardown),
		cmocka_unit_test_setup_teardown(test_large, setup, teardown),
		cmocka_unit_test_setup_teardown(test_batch_refused_changes_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_batch_of_the_largest, setup, teardown),
		cmocka_unit_test_setup_teardown(test_batch_past_a_commit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_batch_of_large_entities, setup, teardown),
		cmocka_unit_test_setup_teardown(test_random, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

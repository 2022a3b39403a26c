/* SPDX-License-Identifier: Apache-2.0
 * Golden bytes of records that are on disks: blobs with and without a customer's key or a scope, open stagings in all
 * their versions, scopes of containers. What they decode to is encoded to the same bytes again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "svc/blob/content/block_list.h"
#include "svc/blob/scope.h"

enum { RECORD_MAX = 512, KEY_FIRST_BYTE = 0xa0 };

static struct slice unhex(const char *hex, char *bytes)
{
	size_t len = strlen(hex) / 2;
	assert_true(len <= RECORD_MAX);
	for (size_t i = 0; i < len; i++) {
		char pair[3] = { hex[2 * i], hex[2 * i + 1], 0 };
		bytes[i] = (char)strtoul(pair, NULL, 16);
	}
	return slice_make(bytes, len);
}

static void assert_same(const struct buf *b, struct slice golden)
{
	assert_true(buf_ok(b));
	assert_int_equal(b->len, golden.len);
	assert_memory_equal(b->ptr, golden.ptr, golden.len);
}

/* Neither a byte less nor one more is a record. */
#define REFUSES_OTHER_LENGTHS(golden, decode_expression)                                                               \
	do {                                                                                                           \
		struct slice whole_ = (golden);                                                                        \
		for (size_t len_ = 0; len_ < whole_.len; len_++) {                                                     \
			struct slice cut = slice_first(whole_, len_);                                                  \
			assert_int_not_equal(decode_expression, ERR_OK);                                               \
		}                                                                                                      \
	} while (0)

/* ---- blobs ---- */

static const char plain_blob[] =
	"010000000000030000000000000002000000000000000100000000000000050000000000000003000000612f62010500"
	"000068656c6c6f";
static const char keyed_blob[] =
	"010000008000030000000000000002000000000000000100000000000000050000000000000003000000612f62a0a1a2"
	"a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf010500000068656c6c6f";
static const char scoped_blob[] =
	"010000000001030000000000000002000000000000000100000000000000050000000000000003000000612f62050000"
	"00686f757365010500000068656c6c6f";

static void check_blob(const char *hex, bool has_key, const char *scope)
{
	char bytes[RECORD_MAX], out[RECORD_MAX];
	struct buf b = { .ptr = out, .cap = sizeof out, .limit_bytes = sizeof out };
	struct slice golden = unhex(hex, bytes);
	struct arena arena;
	struct blob v;
	arena_init(&arena, 64 * 1024);
	assert_int_equal(blob_decode(golden, &arena, &v), ERR_OK);
	assert_int_equal(v.length_bytes, 5);
	assert_true(slice_eq(v.content.inline_bytes, SLICE("hello")));
	assert_int_equal(v.encryption.has_key, has_key);
	for (size_t i = 0; has_key && i < sizeof v.encryption.key_sha256; i++)
		assert_int_equal(v.encryption.key_sha256[i], KEY_FIRST_BYTE + i);
	assert_int_equal(slice_is_set(v.encryption.scope), scope != NULL);
	if (scope)
		assert_true(slice_eq(v.encryption.scope, slice_str(scope)));
	assert_false(v.tells_legal_hold);
	blob_encode(&b, &v);
	assert_same(&b, golden);
	v.tells_legal_hold = true;
	buf_clear(&b);
	blob_encode(&b, &v);
	assert_int_equal(b.ptr[5] & 2, 2); /* bit 25 of the flags, and nothing else */
	assert_int_equal(b.len, golden.len);
	assert_int_equal(blob_decode(buf_slice(&b), &arena, &v), ERR_OK);
	assert_true(v.tells_legal_hold && !v.legal_hold);
	REFUSES_OTHER_LENGTHS(golden, blob_decode(cut, &arena, &v));
	arena_fini(&arena);
}

static void test_blobs(void **state)
{
	(void)state;
	check_blob(plain_blob, false, NULL);
	check_blob(keyed_blob, true, NULL);
	check_blob(scoped_blob, false, "house");
}

/* ---- stagings ---- */

static const char *const stage_golden[] = {
	/* 1 */ "01887766554433221105000000030000000180794b1d2fde080080794b1d2fde08",
	/* 2: a lease */
	"02887766554433221105000000030000000180794b1d2fde080080794b1d2fde08"
	"01000102030405060708090a0b0c0d0e0fffffffff4d00000000000000",
	/* 3: a key, no lease */
	"03887766554433221105000000030000000180794b1d2fde080080794b1d2fde08"
	"00a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf",
	/* 3: a key and a lease */
	"03887766554433221105000000030000000180794b1d2fde080080794b1d2fde08"
	"01000102030405060708090a0b0c0d0e0fffffffff4d00000000000000"
	"a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf",
	/* 4: bytes, no lease, no key */
	"04887766554433221105000000030000000180794b1d2fde080080794b1d2fde08"
	"00000400000000000000",
	/* 4: bytes, a lease and a key */
	"04887766554433221105000000030000000180794b1d2fde080080794b1d2fde08"
	"01000102030405060708090a0b0c0d0e0fffffffff4d00000000000000"
	"000400000000000001"
	"a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf",
};
/* Which of them have what. */
static const bool stage_leased[] = { false, true, false, true, false, true };
static const bool stage_keyed[] = { false, false, true, true, false, true };

static void test_stagings(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof stage_golden / sizeof *stage_golden; i++) {
		char bytes[RECORD_MAX], out[RECORD_MAX];
		struct buf b = { .ptr = out, .cap = sizeof out, .limit_bytes = sizeof out };
		struct slice golden = unhex(stage_golden[i], bytes);
		struct stage s, unused;
		assert_int_equal(blob_stage_decode(golden, &s), ERR_OK);
		assert_int_equal(s.id, 0x1122334455667788);
		assert_int_equal(s.block_id_bytes, 5);
		assert_int_equal(s.block_count, 3);
		assert_int_equal(s.last_ticks, 639000000000000001);
		assert_int_equal(s.created_ticks, 639000000000000000);
		assert_int_equal(s.lease.held, stage_leased[i]);
		assert_true(!s.lease.held || (s.lease.duration_s == LEASE_INFINITE && s.lease.end_ticks == 77));
		assert_int_equal(s.encryption.has_key, stage_keyed[i]);
		assert_int_equal(s.encryption.key_sha256[0], stage_keyed[i] ? KEY_FIRST_BYTE : 0);
		assert_int_equal(s.staged_bytes, i >= 4 ? 1024 : 0);
		blob_stage_encode(&b, &s);
		assert_same(&b, golden);
		REFUSES_OTHER_LENGTHS(golden, blob_stage_decode(cut, &unused));
	}
	char odd[RECORD_MAX];
	struct slice newer = unhex(stage_golden[0], odd);
	struct stage unused;
	odd[0] = 5;
	assert_int_equal(blob_stage_decode(newer, &unused), ERR_CORRUPT);
}

/* ---- scopes of containers ---- */

static void test_scopes(void **state)
{
	char bytes[RECORD_MAX], out[RECORD_MAX];
	struct buf b = { .ptr = out, .cap = sizeof out, .limit_bytes = sizeof out };
	struct container_scope s;
	struct slice golden = unhex("010105000000686f757365", bytes);
	(void)state;
	assert_int_equal(blob_scope_decode(golden, &s), ERR_OK);
	assert_true(slice_eq(s.name, SLICE("house")) && s.deny_override);
	blob_scope_encode(&b, &s);
	assert_same(&b, golden);
	for (size_t len = 1; len < golden.len; len++)
		assert_int_equal(blob_scope_decode(slice_first(golden, len), &s), ERR_CORRUPT);
	assert_int_equal(blob_scope_decode(SLICE_NONE, &s), ERR_OK);
	assert_true(!slice_is_set(s.name) && !s.deny_override);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blobs),
		cmocka_unit_test(test_stagings),
		cmocka_unit_test(test_scopes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

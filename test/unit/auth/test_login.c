/* SPDX-License-Identifier: Apache-2.0
 * NTLMv2 with the worked example of the protocol's specification ([MS-NLMP] 4.2.4), and what must be refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "auth/smb/login.h"
#include "auth/smb/spnego.h"
#include "base/bytes.h"
#include "wire/base64.h"

static const unsigned char challenge[8] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef };
static const unsigned char proof[16] = { 0x68, 0xcd, 0x0a, 0xb8, 0x51, 0xe5, 0x1c, 0x96,
					 0xaa, 0xbc, 0x92, 0x7b, 0xeb, 0xef, 0x6a, 0x1c };
static const unsigned char base_key[16] = { 0x8d, 0xe4, 0x0c, 0xca, 0xdb, 0xc1, 0x4a, 0x82,
					    0xf1, 0x5c, 0xb0, 0xad, 0x0d, 0xe9, 0x5c, 0xa3 };
enum { FLAGS = 0x80000 | 0x1 }; /* extended, Unicode */

struct fixture {
	struct arena arena;
	struct auth_account account;
	struct buf negotiate, blob, message;
	struct ntlm ntlm;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	arena_init(&f->arena, 1 << 20);
	f->account.name = SLICE("user");
	/* The password of the example is the Base64 text of some key. */
	assert_int_equal(base64_decode(SLICE("Password"), &f->arena, &f->account.key[1]), ERR_OK);
	buf_init(&f->negotiate, 1024);
	buf_init(&f->blob, 1024);
	buf_init(&f->message, 1024);
	buf_put(&f->negotiate, slice_make("NTLMSSP\0\1\0\0\0\1\2\x08\0", 16));
	ntlm_init(&f->ntlm);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	buf_fini(&f->negotiate);
	buf_fini(&f->blob);
	buf_fini(&f->message);
	ntlm_fini(&f->ntlm);
	arena_fini(&f->arena);
	free(f);
	return 0;
}

static void blob_make(struct fixture *f)
{
	buf_put(&f->blob, slice_make(proof, 16));
	buf_put(&f->blob, slice_make("\1\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16));
	buf_put(&f->blob, SLICE("\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa"));
	bytes_put_u32(&f->blob, 0);
	buf_put(&f->blob, slice_make("\2\0\x0c\0D\0o\0m\0a\0i\0n\0\1\0\x0c\0S\0e\0r\0v\0e\0r\0", 32));
	bytes_put_u64(&f->blob, 0);
}

static void message_make(struct fixture *f, struct slice response, struct slice user)
{
	struct slice domain = slice_make("D\0o\0m\0a\0i\0n\0", 12), none = SLICE("");
	struct slice fields[] = { none, response, domain, user, none, none };
	uint32_t at = 64;
	buf_clear(&f->message);
	buf_put(&f->message, slice_make("NTLMSSP\0\3\0\0\0", 12));
	for (size_t i = 0; i < 6; i++) {
		bytes_put_u16(&f->message, (uint16_t)fields[i].len);
		bytes_put_u16(&f->message, (uint16_t)fields[i].len);
		bytes_put_u32(&f->message, at);
		at += (uint32_t)fields[i].len;
	}
	bytes_put_u32(&f->message, FLAGS);
	for (size_t i = 0; i < 6; i++)
		buf_put(&f->message, fields[i]);
}

static const struct slice USER = { "U\0s\0e\0r\0", 8 };

static enum err authenticate(struct fixture *f, struct slice message)
{
	const struct auth_account *who = NULL;
	char *copy = malloc(message.len ? message.len : 1);
	memcpy(copy, message.ptr, message.len);
	enum err e = ntlm_authenticate(&f->ntlm, slice_make(copy, message.len), &f->account, 1, &who);
	assert_true(e != ERR_OK || who == &f->account);
	free(copy);
	return e;
}

static void begin(struct fixture *f)
{
	struct buf out;
	buf_init(&out, 4096);
	assert_int_equal(ntlm_challenge(&f->ntlm, buf_slice(&f->negotiate), challenge, 0, &out), ERR_OK);
	buf_fini(&out);
}

static void worked_example(void **state)
{
	struct fixture *f = *state;
	begin(f);
	blob_make(f);
	message_make(f, buf_slice(&f->blob), USER);
	assert_int_equal(authenticate(f, buf_slice(&f->message)), ERR_OK);
	assert_memory_equal(f->ntlm.key, base_key, 16);
	unsigned char mic[16];
	assert_true(ntlm_sign(&f->ntlm, true, SLICE("list"), mic));
	assert_memory_equal(mic, "\1\0\0\0", 4);
}

static void refusals(void **state)
{
	struct fixture *f = *state;
	begin(f);
	blob_make(f);
	message_make(f, slice_first(buf_slice(&f->blob), 24), USER); /* NTLMv1 */
	assert_int_equal(authenticate(f, buf_slice(&f->message)), ERR_AUTHENTICATION_FAILED);
	message_make(f, SLICE(""), SLICE("")); /* anonymous */
	assert_int_equal(authenticate(f, buf_slice(&f->message)), ERR_AUTHENTICATION_FAILED);
	message_make(f, buf_slice(&f->blob), slice_make("U\0s\0e\0r\0X\0", 10));
	assert_int_equal(authenticate(f, buf_slice(&f->message)), ERR_AUTHENTICATION_FAILED);
	for (size_t i = 0; i < f->blob.len; i++) { /* every byte of the proof and of what it covers */
		f->blob.ptr[i] ^= 1;
		message_make(f, buf_slice(&f->blob), USER);
		assert_int_not_equal(authenticate(f, buf_slice(&f->message)), ERR_OK);
		f->blob.ptr[i] ^= 1;
	}
	message_make(f, buf_slice(&f->blob), USER);
	for (size_t len = 0; len < f->message.len; len++)
		assert_int_equal(authenticate(f, slice_first(buf_slice(&f->message), len)), ERR_AUTHENTICATION_FAILED);
	message_make(f, slice_first(buf_slice(&f->blob), f->blob.len - 9), USER); /* pairs without an end */
	assert_int_equal(authenticate(f, buf_slice(&f->message)), ERR_SYNTAX);
}

static void no_challenge(void **state)
{
	struct fixture *f = *state;
	blob_make(f);
	message_make(f, buf_slice(&f->blob), USER);
	assert_int_equal(authenticate(f, buf_slice(&f->message)), ERR_AUTHENTICATION_FAILED);
}

static void spnego_round_trip(void **state)
{
	struct buf b;
	struct spnego_token t;
	buf_init(&b, 4096);
	spnego_offer_put(&b);
	assert_int_equal(spnego_parse(buf_slice(&b), &t), ERR_OK);
	assert_true(t.first && t.ntlm_offered && t.ntlm_preferred && !slice_is_set(t.token));
	buf_clear(&b);
	char token[300] = { 7 };
	spnego_answer_put(&b, SPNEGO_INCOMPLETE, true, slice_make(token, sizeof token), SLICE("0123456789abcdef"));
	assert_int_equal(spnego_parse(buf_slice(&b), &t), ERR_OK);
	assert_int_equal(t.token.len, sizeof token);
	assert_int_equal(t.signature.len, 16);
	for (size_t len = 0; len < b.len; len++) {
		char *copy = malloc(len ? len : 1);
		memcpy(copy, b.ptr, len);
		assert_int_equal(spnego_parse(slice_make(copy, len), &t), ERR_SYNTAX);
		free(copy);
	}
	assert_int_equal(spnego_parse(SLICE("\x60\x80\x00\x00"), &t), ERR_SYNTAX); /* indefinite */
	assert_int_equal(spnego_parse(SLICE("\x60\x85\x01\x01\x01\x01\x01"), &t), ERR_SYNTAX);
	buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(worked_example, setup, teardown),
		cmocka_unit_test_setup_teardown(refusals, setup, teardown),
		cmocka_unit_test_setup_teardown(no_challenge, setup, teardown),
		cmocka_unit_test(spnego_round_trip),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

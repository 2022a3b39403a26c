/* SPDX-License-Identifier: Apache-2.0
 * Signing and encryption of messages: our own GCM and OpenSSL's give the same bytes, whichever the processor has. */
#include "smb/protect.h"

#include "base/sys/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MESSAGE_MAX = 70000 };

static void both_new(struct rng *rng, enum smb2_cipher cipher, struct protect *ret[2])
{
	unsigned char key[PROTECT_KEY_BYTES], hash[PROTECT_HASH_BYTES];
	rng_bytes(rng, key, sizeof key);
	rng_bytes(rng, hash, sizeof hash);
	for (int i = 0; i < 2; i++) {
		struct protect_spec s = { .dialect = SMB2_DIALECT_311,
					  .signing = SMB2_SIGN_AES_GMAC,
					  .cipher = cipher,
					  .session_key = key,
					  .hash = hash,
					  .nonce_salt = 77,
					  .only_openssl = i == 1 };
		assert_int_equal(protect_new(&s, &ret[i]), ERR_OK);
	}
}

static void compare(struct rng *rng, enum smb2_cipher cipher, size_t len)
{
	static char a[SMB2_TRANSFORM_BYTES + MESSAGE_MAX + 16], b[sizeof a];
	struct protect *p[2];
	both_new(rng, cipher, p);
	rng_bytes(rng, a, sizeof a);
	memcpy(b, a, sizeof a);
	protect_sign(p[0], a + SMB2_TRANSFORM_BYTES, len);
	protect_sign(p[1], b + SMB2_TRANSFORM_BYTES, len);
	assert_memory_equal(a, b, sizeof a);
	/* A client's signature has another nonce than the server's. */
	assert_false(protect_verify(p[0], slice_make(a + SMB2_TRANSFORM_BYTES, len)));
	assert_false(protect_verify(p[1], slice_make(a + SMB2_TRANSFORM_BYTES, len)));
	for (int turn = 0; turn < 2; turn++) { /* the second has another nonce, and the first's bytes to encrypt */
		assert_true(protect_encrypt(p[0], 5, a, a + SMB2_TRANSFORM_BYTES, len));
		assert_true(protect_encrypt(p[1], 5, b, b + SMB2_TRANSFORM_BYTES, len));
		assert_memory_equal(a, b, SMB2_TRANSFORM_BYTES + len);
	}
	/* The server's own message is none of a client's. */
	struct smb2_transform t;
	assert_int_equal(smb2_transform_parse(slice_make(a, SMB2_TRANSFORM_BYTES + len), &t), ERR_OK);
	assert_false(protect_decrypt(p[0], &t, a));
	assert_false(protect_decrypt(p[1], &t, b));
	protect_free(p[0]);
	protect_free(p[1]);
}

static void test_same_bytes(void **state)
{
	static const size_t lengths[] = { 68, 69, 80, 120, 127, 575, 576, 577, 4096 + 80, 65536 + 112, MESSAGE_MAX };
	struct rng rng;
	rng_init_seed(&rng, 9);
	for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
		compare(&rng, SMB2_CIPHER_AES128_GCM, lengths[i]);
		compare(&rng, SMB2_CIPHER_AES256_GCM, lengths[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_same_bytes) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}

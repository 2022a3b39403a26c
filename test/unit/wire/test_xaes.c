/* SPDX-License-Identifier: Apache-2.0
 * XAES-256-GCM: the known answers of its specification, and that nothing changed opens. */
#include "wire/aead/xaes.h"

#include "wire_test.h"

static void assert_hex(const void *bytes, size_t len, const char *hex)
{
	struct buf b;
	buf_init(&b, 256);
	for (size_t i = 0; i < len; i++)
		buf_printf(&b, "%02x", ((const unsigned char *)bytes)[i]);
	assert_slice(buf_slice(&b), hex);
	buf_fini(&b);
}

static const unsigned char nonce[] = "ABCDEFGHIJKLMNOPQRSTUVWX";
#define text SLICE("XAES-256-GCM")
enum { SEALED_BYTES = 12 + XAES_TAG_BYTES };

static void test_known_answers(void **state)
{
	unsigned char key[XAES_KEY_BYTES], out[SEALED_BYTES], back[12];
	memset(key, 1, sizeof key);
	assert_int_equal(xaes_seal(key, nonce, SLICE(""), text, out), ERR_OK);
	assert_hex(out, sizeof out, "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271");
	assert_int_equal(xaes_open(key, nonce, SLICE(""), slice_make(out, sizeof out), back), ERR_OK);
	assert_memory_equal(back, text.ptr, text.len);

	memset(key, 3, sizeof key); /* its subkey is doubled with a carry */
	assert_int_equal(xaes_seal(key, nonce, SLICE("c2sp.org/XAES-256-GCM"), text, out), ERR_OK);
	assert_hex(out, sizeof out, "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d");
}

/* Every bit of key, nonce, what is bound, bytes and tag counts. */
static void test_changed(void **state)
{
	unsigned char key[XAES_KEY_BYTES] = { 7 }, n[XAES_NONCE_BYTES], bound[] = "whose", out[SEALED_BYTES], back[12];
	struct {
		unsigned char *at;
		size_t len;
	} parts[] = { { key, sizeof key }, { n, sizeof n }, { bound, sizeof bound }, { out, sizeof out } };
	memcpy(n, nonce, sizeof n);
	assert_int_equal(xaes_seal(key, n, slice_make(bound, sizeof bound), text, out), ERR_OK);
	for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
		for (size_t i = 0; i < parts[p].len; i++) {
			static const unsigned char zeros[sizeof back];
			parts[p].at[i] ^= 0x10;
			memset(back, 'x', sizeof back);
			assert_int_equal(
				xaes_open(key, n, slice_make(bound, sizeof bound), slice_make(out, sizeof out), back),
				ERR_CORRUPT);
			assert_memory_equal(back, zeros, sizeof back);
			parts[p].at[i] ^= 0x10;
		}
	assert_int_equal(xaes_open(key, n, slice_make(bound, sizeof bound), slice_make(out, sizeof out), back), ERR_OK);
	assert_int_equal(xaes_open(key, n, SLICE(""), slice_make(out, XAES_TAG_BYTES - 1), back), ERR_CORRUPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_answers),
		cmocka_unit_test(test_changed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

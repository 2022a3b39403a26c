/* SPDX-License-Identifier: Apache-2.0
 * A stranger's bearer token, and a key set: nothing passes that no key of the set has signed, and what passes by its
 * claims alone has an audience and an end. */
#include "auth/bearer.h"
#include "base/limits.h"
#include "fuzz.h"

/* The private half of this key is gone. */
static const char public_key[] = "-----BEGIN PUBLIC KEY-----\n"
				 "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA0ge5T8tE5JnbfD1ds2KP\n"
				 "cAJ9HSeRFj01mWGMXuwPRzDX0eeuQC5S3IAu0sf4K6T92rsbGqNkl4RGyFXJ3/32\n"
				 "RPJZvT/VN2t+J8Sa/wvw6Zx3oLi822uNDbphYc6DdKvFqq8wAgseZn4aKnsk0TFw\n"
				 "5ASN7TW1rftOVSRLN+yp3UiqRROfh30dLXRXL3AKt0Ls75EzKlkhc+3ghcIPtXb0\n"
				 "H5cbqEaEJyp/4YBckKfX/0NDG4FYgDlucujas7TLbPrqzUSnb13J3In7e7pt5lpl\n"
				 "Zd192rI+G+aGuIkTqftO95vEqXT4gVQtyPYFKmiGaJFxexbP2C7GsLa20wTP9SyQ\n"
				 "DwIDAQAB\n"
				 "-----END PUBLIC KEY-----\n";

static struct auth_bearer_config *config_new(const struct bearer_options *o)
{
	struct auth_bearer_config *c = NULL;
	struct buf message;
	buf_init(&message, 4096);
	if (bearer_config_new(o, &c, &message) != ERR_OK)
		CHECK(c == NULL && message.len > 0);
	buf_fini(&message);
	return c;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct auth_bearer_config *full, *basic;
	if (!full) {
		full = config_new(&(struct bearer_options){
			.mode = BEARER_FULL,
			.issuer = SLICE("https://sts.windows.net/99999999-8888-7777-6666-555555555555/"),
			.public_key = slice_str(public_key) });
		basic = config_new(&(struct bearer_options){ .mode = BEARER_BASIC });
		CHECK(full && basic);
	}
	struct slice input = fuzz_copy(slice_make(data, size));
	struct auth_account account = { .name = SLICE("goldacct") };
	struct auth_request r = {
		.account = &account,
		.version = 20260406,
		.secure = true,
		.now_ticks = UINT64_C(639159552000000000), /* 2026-06-01T12:00:00Z */
		.bearer = full,
	};
	struct auth_identity id;
	struct auth_failure failure = { .detail = SLICE_NONE, .string_to_sign = SLICE_NONE };
	struct arena arena;
	arena_init(&arena, 1 << 20);
	CHECK(bearer_verify(&r, input, &arena, &id, &failure) == ERR_INVALID_BEARER_TOKEN);
	r.bearer = basic;
	if (bearer_verify(&r, input, &arena, &id, &failure) == ERR_OK) {
		CHECK(id.kind == AUTH_BEARER);
		r.now_ticks = UINT64_MAX; /* every token ends */
		CHECK(bearer_verify(&r, input, &arena, &id, &failure) == ERR_INVALID_BEARER_TOKEN);
	}
	arena_fini(&arena);
	bearer_config_free(
		config_new(&(struct bearer_options){ .mode = BEARER_FULL, .issuer = SLICE("i"), .jwks = input }));
	bearer_config_free(
		config_new(&(struct bearer_options){ .mode = BEARER_FULL, .issuer = SLICE("i"), .public_key = input }));
	fuzz_free(input);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 * A login step by step with tokens that are anything: never done, never a read past the end. The input is a list of
 * tokens, each behind its length in two bytes. */
#include "auth/smb/login.h"

#include "base/bytes.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice rest = slice_make(data, size);
	struct auth_account account = { .name = SLICE("user"), .key = { SLICE("0123456789"), SLICE_NONE } };
	struct login_accounts accounts = { PTHREAD_RWLOCK_INITIALIZER, &account, 1 };
	struct login l;
	login_init(&l);
	while (rest.len >= 2) {
		size_t len = (size_t)bytes_load(rest.ptr, 2);
		struct buf out;
		rest = slice_from(rest, 2);
		struct slice token = fuzz_copy(slice_first(rest, len));
		struct login_input in = { .token = token, .accounts = &accounts };
		buf_init(&out, 1 << 20);
		CHECK(login_step(&l, &in, &out) != LOGIN_DONE);
		buf_fini(&out);
		fuzz_free(token);
		rest = slice_from(rest, len);
	}
	login_fini(&l);
	return 0;
}

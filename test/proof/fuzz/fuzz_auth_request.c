/* SPDX-License-Identifier: Apache-2.0
 * A stranger's request: the first byte chooses the service and the addressing, the rest is the head. Nobody without the
 * key is anybody; and what is signed with the key is what is verified. */
#include "auth/auth.h"
#include "auth/sas.h"
#include "auth/sharedkey.h"
#include "base/limits.h"
#include "base/sys/clock.h"
#include "fuzz.h"

static enum err some_policy(void *arg, struct slice id, struct auth_policy *ret)
{
	/* One policy that has everything, so that the merge is walked. */
	*ret = (struct auth_policy){ id, SLICE_NONE, SLICE("2030-01-01T00:00:00Z"), SLICE("r") };
	return id.len % 2 ? ERR_OK : ERR_NOT_FOUND;
}

static void split_path(struct auth_request *r, struct arena *arena)
{
	struct slice rest = slice_from(r->head->path, 1);
	if (r->path_style) {
		r->account_in_path = slice_cut(&rest, '/');
		rest = slice_is_set(rest) ? rest : SLICE("");
	}
	struct slice container = slice_cut(&rest, '/');
	if (uri_decode(container, arena, &r->container) != ERR_OK)
		r->container = SLICE("c");
	if (!slice_is_set(rest) || uri_decode(rest, arena, &r->object) != ERR_OK)
		r->object = SLICE("");
}

/* Signs the token of the request itself and asks again with that signature in its place. */
static void check_signed_token(struct auth_request *r, struct arena *arena)
{
	struct sas_token token;
	struct auth_identity id;
	struct auth_failure failure = { .detail = SLICE_NONE, .string_to_sign = SLICE_NONE };
	struct slice signature;
	enum sas_kind kind = sas_token_read(r->query, &token);
	if (kind == SAS_NONE || sas_sign(r, kind, &token, 0, arena, &signature) != ERR_OK)
		return;
	token.field[SAS_SIG] = signature;
	if (sas_verify(r, kind, &token, NULL, arena, &id, &failure) != ERR_OK) {
		/* Whatever it is refused for, it is not its signature. */
		CHECK(!slice_is_set(failure.string_to_sign));
		return;
	}
	CHECK(!token.repeated && !token.control_bytes && id.permissions.len > 0 && id.sas_version >= 20120212);
	if (kind == SAS_ACCOUNT)
		return;
	struct auth_demand demand = { .sas = "*", .account_sas = "*", .resource_type = 'o' };
	CHECK(r->service == SERVICE_TABLE || slice_eq(id.scope_container, r->container));
	CHECK(auth_authorize(r, &id, &demand) == ERR_OK);
	struct auth_request elsewhere = *r;
	elsewhere.container = SLICE("surely/not the container");
	CHECK(auth_authorize(&elsewhere, &id, &demand) != ERR_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct http_head head;
	static struct auth_account account;
	size_t scanned = 0;
	if (size < 2)
		return 0;
	struct slice input = fuzz_copy(slice_make(data + 1, size - 1));
	if (!account.name.ptr) {
		account.name = SLICE("goldacct");
		account.key[0] = SLICE("a key that signed none of the seeds");
		auth_account_prepare(&account);
	}
	struct arena arena;
	struct query query;
	arena_init(&arena, 1 << 20);
	if (http_parse_head(input, &scanned, &arena, &head) == HTTP_PARSE_DONE &&
	    uri_parse_query(slice_is_set(head.query) ? head.query : SLICE(""), &arena, &query) == ERR_OK) {
		struct auth_request r = {
			.head = &head,
			.query = &query,
			.service = (enum service)(data[0] & 3),
			.account = &account,
			.path_style = data[0] & 4,
			.version = data[0] & 8 ? 20260406 : 20140214,
			.secure = data[0] & 16,
			.client_ip = SLICE("10.0.0.5"),
			.now_ticks = UINT64_C(639159552000000000), /* 2026-06-01T12:00:00Z */
			.find_policy = some_policy,
		};
		struct auth_identity id = { .kind = AUTH_BEARER };
		struct auth_failure failure;
		unsigned key = 0;
		split_path(&r, &arena);
		enum err e = auth_authenticate(&r, &arena, &id, &failure);
		CHECK(e != ERR_OK || id.kind == AUTH_ANONYMOUS);
		check_signed_token(&r, &arena);
		for (unsigned scheme = SHAREDKEY_FULL; scheme <= SHAREDKEY_LITE; scheme++) {
			struct slice value;
			if (sharedkey_sign(&r, (enum sharedkey_scheme)scheme, &arena, &value) != ERR_OK)
				continue;
			slice_cut(&value, ' ');
			failure = (struct auth_failure){ .detail = SLICE_NONE, .string_to_sign = SLICE_NONE };
			if (sharedkey_verify(&r, (enum sharedkey_scheme)scheme, value, &arena, &failure, &key) !=
			    ERR_OK)
				CHECK(!slice_is_set(failure.string_to_sign));
		}
	}
	arena_fini(&arena);
	fuzz_free(input);
	return 0;
}

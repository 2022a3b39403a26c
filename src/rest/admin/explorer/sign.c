/* SPDX-License-Identifier: Apache-2.0
 * A signature by the first key of an account, for a string to sign that the page made: how it builds a SAS without
 * having the key. Who has a session for the account could do everything that the SAS allows anyhow; in a read-only
 * explorer nothing is signed, since a SAS may allow writes. */
#include "rest/admin/explorer/api.h"
#include "rest/admin/explorer/explorer.h"
#include "rest/core/server.h"
#include "wire/base64.h"
#include "wire/hash.h"

struct sign_call {
	struct api_call api;
	const struct auth_account *account;
};

enum err explorer_sign_parse(struct request *r, struct slice scope)
{
	struct sign_call *c = ARENA_NEW(r->arena, struct sign_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(explorer_api_account(r, scope, &c->account));
	if (explorer_is_read_only(r)) {
		r->fault.message = SLICE("The explorer is read-only: it signs nothing.");
		return ERR_AUTHORIZATION_FAILURE;
	}
	return ERR_OK;
}

enum err explorer_sign_format(struct request *r)
{
	const struct sign_call *c = r->call;
	struct buf *b = &r->response.body;
	struct hash_hmac_key key;
	unsigned char mac[HASH_SHA256_BYTES];
	hash_hmac_key_init(&key, c->account->key[0]);
	hash_hmac(&key, slice_is_set(r->body) ? r->body : SLICE(""), mac);
	hash_wipe(&key, sizeof key);
	BUF_PUT(b, "{\"signature\":\"");
	base64_encode(b, slice_make(mac, sizeof mac));
	BUF_PUT(b, "\"}\n");
	return ERR_OK;
}

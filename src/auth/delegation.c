/* SPDX-License-Identifier: Apache-2.0
 * User delegation keys. The value of a key is
 *
 *   HMAC-SHA256(account key, "user delegation key 1" LF account LF object id LF tenant id LF start LF expiry LF
 *               service LF version LF delegated tenant)
 *
 * with ids in lower case and times in whole seconds since 0001-01-01. The first line keeps it apart from every string
 * that clients sign with the same account key: those begin with an HTTP verb, a date, permission letters or the
 * account's name. */
#include "auth/sas.h"
#include "auth/smb/mac.h"
#include "base/sys/clock.h"
#include "wire/date.h"

enum { FIELD_MAX_BYTES = 256, TEXT_MAX_BYTES = 2048 }; /* ids are GUIDs; longer ones are nobody's */

struct fixed_text {
	char bytes[TEXT_MAX_BYTES];
	size_t len;
	bool failed;
};

static void put_line(struct fixed_text *t, struct slice s, bool lower)
{
	if (s.len > FIELD_MAX_BYTES || s.len + 1 > sizeof t->bytes - t->len || slice_find_byte(s, '\n') < s.len) {
		t->failed = true;
		return;
	}
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];
		t->bytes[t->len++] = lower && c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
	}
	t->bytes[t->len++] = '\n';
}

static void put_seconds(struct fixed_text *t, uint64_t ticks)
{
	char digits[24];
	int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)(ticks / TICKS_PER_SECOND));
	put_line(t, slice_make(digits, (size_t)len), false);
}

static bool derive(const struct auth_account *a, unsigned key_index, const struct auth_delegation *d,
		   unsigned char ret_key[AUTH_DELEGATION_KEY_BYTES])
{
	struct fixed_text t = { .len = 0 };
	put_line(&t, SLICE("user delegation key 1"), false);
	put_line(&t, a->name, false);
	put_line(&t, d->object_id, true);
	put_line(&t, d->tenant_id, true);
	put_seconds(&t, d->start_ticks);
	put_seconds(&t, d->expiry_ticks);
	put_line(&t, d->service, false);
	put_line(&t, d->version, false);
	put_line(&t, d->delegated_tenant, true);
	return !t.failed && auth_account_mac_sign(a, key_index, slice_make(t.bytes, t.len - 1), ret_key);
}

enum err auth_delegation_key(const struct auth_account *a, const struct auth_delegation *d,
			     unsigned char ret_key[AUTH_DELEGATION_KEY_BYTES])
{
	for (unsigned i = 0; i < 2; i++)
		if (derive(a, i, d, ret_key))
			return ERR_OK;
	return ERR_NOT_FOUND;
}

bool sas_delegation_key(const struct auth_request *r, const struct sas_token *k, unsigned key_index,
			unsigned char ret_key[AUTH_DELEGATION_KEY_BYTES])
{
	struct auth_delegation d = {
		.object_id = k->field[SAS_SKOID],
		.tenant_id = k->field[SAS_SKTID],
		.service = k->field[SAS_SKS],
		.version = k->field[SAS_SKV],
		.delegated_tenant = k->field[SAS_SKDUTID],
	};
	if (!date_parse_iso(k->field[SAS_SKT], &d.start_ticks) || !date_parse_iso(k->field[SAS_SKE], &d.expiry_ticks))
		return false;
	return derive(r->account_for_delegation ? r->account_for_delegation : r->account, key_index, &d, ret_key);
}

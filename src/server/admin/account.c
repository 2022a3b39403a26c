/* SPDX-License-Identifier: Apache-2.0
 * Accounts of a running server: added, given new keys, listed, removed. The accounts file changes first, whole and
 * synced; then the server reads it again as SIGHUP does. */
#include "server/admin/admin.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "server/access/reload.h"
#include "server/admin/account_file.h"
#include "server/house.h"
#include "wire/base64.h"
#include "wire/hash.h"

enum { FINGERPRINT_BYTES = 6 };

static int refuse(struct buf *out, int status, const char *what)
{
	buf_printf(out, "%s\n", what);
	return status;
}

/* Enough to tell keys apart, nothing to guess one from. */
static void put_fingerprint(struct buf *out, struct slice key)
{
	unsigned char hash[HASH_SHA256_BYTES];
	hash_sha256(key, hash);
	for (int i = 0; i < FINGERPRINT_BYTES; i++)
		buf_printf(out, "%02x", hash[i]);
}

static void put_account(struct buf *out, const struct auth_account *a)
{
	buf_printf(out, "%.*s", SLICE_FMT(a->name));
	for (int k = 0; k < 2; k++) {
		if (!slice_is_set(a->key[k]))
			continue;
		buf_printf(out, "  key%d ", k + 1);
		put_fingerprint(out, a->key[k]);
	}
	BUF_PUT(out, "\n");
}

static const struct auth_account *find(const struct accounts *a, struct slice name)
{
	for (size_t i = 0; i < a->count; i++)
		if (slice_eq(a->account[i].name, name))
			return &a->account[i];
	return NULL;
}

/* What the files say now: a copy of its own, so nothing has to be held. */
static bool load(struct house *h, struct accounts *ret, struct buf *out)
{
	struct config now;
	*ret = (struct accounts){ .count = 0 };
	bool ok = reload_config(h, &now, out) && accounts_load(ret, &now, h->data.path, out);
	config_fini(&now);
	if (!ok) {
		BUF_PUT(out, "\n");
		accounts_fini(ret);
	}
	return ok;
}

int admin_account_list(struct house *h, const struct query *q, struct buf *out)
{
	struct accounts a;
	if (!load(h, &a, out))
		return 500;
	for (size_t i = 0; i < a.count; i++)
		put_account(out, &a.account[i]);
	accounts_fini(&a);
	return 200;
}

int admin_account_show(struct house *h, const struct query *q, struct buf *out)
{
	struct accounts a;
	if (!load(h, &a, out))
		return 500;
	const struct auth_account *found = find(&a, query_get(q, SLICE("name")));
	if (found) {
		put_account(out, found);
		for (size_t i = 0; i < h->listener_count; i++) {
			if ((int)h->listeners[i].service >= CONFIG_SERVICES)
				continue;
			house_put_endpoint(out, h, i);
			buf_printf(out, "/%.*s\n", SLICE_FMT(found->name));
		}
	}
	accounts_fini(&a);
	return found ? 200 : refuse(out, 404, "there is no such account");
}

/* ---- changes ---- */

/* The row of an account, with keys in Base64. */
static void put_row(struct buf *out, struct slice name, const struct slice key[2])
{
	buf_put(out, name);
	for (int k = 0; k < 2; k++) {
		if (!slice_is_set(key[k]))
			continue;
		BUF_PUT(out, ":");
		base64_encode(out, key[k]);
	}
}

static void put_key(struct buf *out, int number, struct slice key)
{
	buf_printf(out, "key%d: ", number);
	base64_encode(out, key);
	BUF_PUT(out, "\n");
}

/* Replaces the file by `text` and lets the server read it; if that fails the old text comes back. */
static int change(struct house *h, const struct accounts *a, struct slice old, struct slice text, struct buf *out)
{
	struct buf error;
	int status = 200;
	buf_init(&error, 64 * KIB);
	if (!accounts_file_replace(h->data.path, text, &error)) {
		status = 500;
	} else if (!reload_admission(h, &error)) {
		status = 409;
		if (!accounts_file_replace(h->data.path, old, &error))
			status = 500;
	}
	if (status != 200)
		buf_printf(out, "%.*s; accounts stay as they were\n", SLICE_FMT(buf_slice(&error)));
	buf_fini(&error);
	return status;
}

/* May that account be changed by us at all? NULL: yes. */
static const char *unchangeable(const struct house *h, const struct accounts *a, struct slice name)
{
	if (h->config->inMemoryPersistence)
		return "this server keeps nothing on disk: give it accounts by ZAFFRE_ACCOUNTS";
	if (h->config->accounts[0])
		return "accounts stand in the environment or in the configuration file: change them there, then SIGHUP";
	if (!h->config->production && slice_eq(name, SLICE(ACCOUNT_WELL_KNOWN)))
		return "the well-known account of development mode cannot be changed";
	return NULL;
}

/* One change of the row of `name`; key[] both absent: it goes. */
static int edit(struct house *h, const struct accounts *a, struct slice name, const struct slice key[2],
		struct buf *out)
{
	struct buf old, row, text;
	bool found;
	buf_init(&old, MIB);
	buf_init(&row, 16 * KIB);
	buf_init(&text, MIB);
	int status = 500;
	bool goes = !slice_is_set(key[0]);
	if (!goes)
		put_row(&row, name, key);
	if (accounts_file_read(h->data.path, &old, out)) {
		accounts_file_edit(buf_slice(&old), name, goes ? SLICE_NONE : buf_slice(&row), &found, &text);
		status = buf_ok(&text) && buf_ok(&row) ? change(h, a, buf_slice(&old), buf_slice(&text), out)
						       : refuse(out, 500, "no memory");
	}
	struct buf *all[] = { &old, &row, &text };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		if (all[i]->ptr)
			explicit_bzero(all[i]->ptr, all[i]->cap);
		buf_fini(all[i]);
	}
	return status;
}

int admin_account_add(struct house *h, const struct query *q, struct buf *out)
{
	struct slice name = query_get(q, SLICE("name"));
	struct accounts a;
	unsigned char made[2][ACCOUNT_KEY_BYTES];
	int status;
	pthread_mutex_lock(&h->account_lock);
	if (!load(h, &a, out)) {
		pthread_mutex_unlock(&h->account_lock);
		return 500;
	}
	const char *no = unchangeable(h, &a, name);
	if (no)
		status = refuse(out, 409, no);
	else if (!accounts_name_valid(name))
		status = refuse(out, 400, "an account name has 3 to 24 lower-case letters and digits");
	else if (find(&a, name))
		status = refuse(out, 409, "there is such an account already");
	else {
		accounts_make_key(made[0]);
		accounts_make_key(made[1]);
		struct slice key[2] = { slice_make(made[0], sizeof made[0]), slice_make(made[1], sizeof made[1]) };
		status = edit(h, &a, name, key, out);
		if (status == 200) {
			buf_printf(out, "account: %.*s\n", SLICE_FMT(name));
			put_key(out, 1, key[0]);
			put_key(out, 2, key[1]);
		}
		explicit_bzero(made, sizeof made);
	}
	accounts_fini(&a);
	pthread_mutex_unlock(&h->account_lock);
	return status;
}

int admin_account_rotate(struct house *h, const struct query *q, struct buf *out)
{
	struct slice name = query_get(q, SLICE("name")), which = query_get(q, SLICE("key"));
	struct accounts a;
	unsigned char made[ACCOUNT_KEY_BYTES];
	int status, number = slice_eq(which, SLICE("key1")) ? 0 : slice_eq(which, SLICE("key2")) ? 1 : -1;
	pthread_mutex_lock(&h->account_lock);
	if (!load(h, &a, out)) {
		pthread_mutex_unlock(&h->account_lock);
		return 500;
	}
	const struct auth_account *found = find(&a, name);
	const char *no = unchangeable(h, &a, name);
	if (number < 0)
		status = refuse(out, 400, "say which: key1 or key2");
	else if (!found)
		status = refuse(out, 404, "there is no such account");
	else if (no)
		status = refuse(out, 409, no);
	else {
		accounts_make_key(made);
		struct slice key[2] = { found->key[0], found->key[1] };
		key[number] = slice_make(made, sizeof made);
		status = edit(h, &a, name, key, out);
		if (status == 200) {
			buf_printf(out, "account: %.*s\n", SLICE_FMT(name));
			put_key(out, number + 1, key[number]);
		}
		explicit_bzero(made, sizeof made);
	}
	accounts_fini(&a);
	pthread_mutex_unlock(&h->account_lock);
	return status;
}

int admin_account_remove(struct house *h, const struct query *q, struct buf *out)
{
	struct slice name = query_get(q, SLICE("name"));
	struct accounts a;
	int status;
	pthread_mutex_lock(&h->account_lock);
	if (!load(h, &a, out)) {
		pthread_mutex_unlock(&h->account_lock);
		return 500;
	}
	const char *no = unchangeable(h, &a, name);
	if (!find(&a, name))
		status = refuse(out, 404, "there is no such account");
	else if (no)
		status = refuse(out, 409, no);
	else if (a.count == 1)
		status = refuse(out, 409, "this is the last account: a server has at least one");
	else {
		static const struct slice none[2];
		status = edit(h, &a, name, none, out);
		if (status == 200)
			buf_printf(out,
				   "account %.*s is gone; its data stays until an account of that name comes back\n",
				   SLICE_FMT(name));
	}
	accounts_fini(&a);
	pthread_mutex_unlock(&h->account_lock);
	return status;
}

/* SPDX-License-Identifier: Apache-2.0
 * Reading who may come in. See admission.h. */
#include "server/access/admission.h"
#include "server/access/any.h"

#include "auth/bearer.h"
#include "auth/limits.h"
#include "auth/roles.h"
#include "base/limits.h"
#include "base/sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* Reads the whole file that a setting names, and closes it; *out is the caller's to free. */
static bool fd_read(int fd, const char *setting, const char *path, struct buf *out, struct buf *error)
{
	ssize_t n = fd < 0 ? -1 : 1;
	while (n > 0) {
		char *room = buf_reserve(out, 4096);
		if (!room) {
			errno = EFBIG;
			n = -1;
			break;
		}
		n = read(fd, room, 4096);
		out->len += n > 0 ? (size_t)n : 0;
	}
	if (n < 0)
		buf_printf(error, "%s %s: %s", setting, path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return n == 0;
}

static bool file_read(const char *setting, const char *path, struct buf *out, struct buf *error)
{
	return fd_read(base_file_open_setting(path), setting, path, out, error);
}

static bool own_limits_text(const char *data_dir, struct buf *out, struct buf *error)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof path, "%s/" LIMITS_FILE, data_dir);
	int fd = n > 0 && n < PATH_MAX ? base_file_open_at(AT_FDCWD, path, O_RDONLY, 0) : -1;
	if (fd < 0 && errno == ENOENT)
		return true;
	return fd_read(fd, "limits", path, out, error);
}

bool admission_limits_text(const struct config *c, const char *data_dir, struct buf *out, struct buf *error)
{
	if (c->accountLimits[0])
		return file_read("--accountLimits", c->accountLimits, out, error);
	return c->inMemoryPersistence || own_limits_text(data_dir, out, error);
}

static bool limits_open(const struct config *c, const char *data_dir, struct accounts *a, struct buf *error)
{
	struct buf text, reason;
	buf_init(&text, MIB);
	buf_init(&reason, 4 * KIB);
	bool read = admission_limits_text(c, data_dir, &text, error), any = read && text.len > 0;
	bool ok = read && (!any || limits_apply(buf_slice(&text), a->account, a->count, &a->arena, &reason) == ERR_OK);
	if (read && !ok)
		buf_printf(error, "%s %s: %.*s",
			   c->accountLimits[0] ? "--accountLimits" : "the file " LIMITS_FILE " in",
			   c->accountLimits[0] ? c->accountLimits : data_dir, SLICE_FMT(buf_slice(&reason)));
	buf_fini(&text);
	buf_fini(&reason);
	return ok;
}

static bool roles_open(const char *path, struct auth_roles **ret, struct buf *error)
{
	struct buf text, reason;
	buf_init(&text, MIB);
	buf_init(&reason, 4 * KIB);
	bool read = file_read("--oauthRoles", path, &text, error);
	bool ok = read && roles_new(buf_slice(&text), ret, &reason) == ERR_OK;
	if (read && !ok)
		buf_printf(error, "--oauthRoles %s: %.*s", path, SLICE_FMT(buf_slice(&reason)));
	buf_fini(&text);
	buf_fini(&reason);
	return ok;
}

static bool bearer_open(const struct config *c, struct auth_bearer_config **ret, struct buf *error)
{
	struct bearer_options options = { .mode = BEARER_BASIC };
	struct buf keys;
	if (c->oauthRoles[0] && !roles_open(c->oauthRoles, &options.roles, error))
		return false;
	buf_init(&keys, 256 * KIB);
	bool ok = true;
	if (strcmp(c->oauth, "full") == 0) {
		ok = file_read("--oauthKeys", c->oauthKeys, &keys, error);
		options.mode = BEARER_FULL;
		options.issuer = slice_str(c->oauthIssuer);
		struct slice audience = slice_str(c->oauthAudience);
		options.storage_audience = slice_eq(audience, SLICE("https://storage.azure.com")) ||
					   slice_eq(audience, SLICE("https://storage.azure.com/"));
		if (audience.len && !options.storage_audience)
			options.audience = audience;
		bool pem = slice_has_prefix(buf_slice(&keys), SLICE("-----BEGIN"));
		*(pem ? &options.public_key : &options.jwks) = buf_slice(&keys);
	}
	if (ok)
		ok = bearer_config_new(&options, ret, error) == ERR_OK;
	else
		roles_free(options.roles);
	buf_fini(&keys);
	return ok;
}

/* ---- slots ---- */

void accounts_slots_init(struct account_slots *s)
{
	*s = (struct account_slots){ .count = 0 };
	arena_init(&s->arena, MIB);
	pthread_rwlock_init(&s->smb.lock, NULL);
	s->smb.account = s->smb_account;
}

static void keys_free(struct auth_account *a)
{
	for (int k = 0; k < 2; k++) {
		char *bytes = (char *)(uintptr_t)a->key[k].ptr;
		if (bytes)
			explicit_bzero(bytes, a->key[k].len);
		free(bytes);
		a->key[k] = SLICE_NONE;
	}
}

void accounts_slots_fini(struct account_slots *s)
{
	for (size_t i = 0; i < s->count; i++)
		keys_free(&s->smb_account[i]);
	pthread_rwlock_destroy(&s->smb.lock);
	arena_fini(&s->arena);
}

/* The slot of that name, a new one if it had none. */
static bool slot_of(struct account_slots *s, struct slice name, unsigned *ret)
{
	for (size_t i = 0; i < s->count; i++)
		if (slice_eq(s->name[i], name)) {
			*ret = (unsigned)i;
			return true;
		}
	struct slice copy = s->count < ACCOUNT_SLOTS_MAX ? arena_dup(&s->arena, name) : SLICE_NONE;
	if (!slice_is_set(copy))
		return false;
	s->name[s->count] = s->smb_account[s->count].name = copy;
	*ret = (unsigned)s->count++;
	return true;
}

static bool slots_assign(struct account_slots *s, struct accounts *a, struct buf *error)
{
	for (size_t i = 0; i < a->count; i++) {
		struct auth_account *account = &a->account[i];
		if (!slot_of(s, account->name, &account->slot)) {
			buf_printf(error,
				   "%d different accounts were here since the start: start again before adding more",
				   ACCOUNT_SLOTS_MAX);
			return false;
		}
		account->name = s->name[account->slot];
	}
	return true;
}

/* ---- all of it ---- */

static void released(struct rest_access *rest)
{
	admission_free((struct admission *)rest); /* its first member */
}

bool admission_load(const struct config *c, const char *data_dir, struct account_slots *slots, struct admission **ret,
		    struct buf *error)
{
	struct admission *a = calloc(1, sizeof *a);
	if (!a)
		return false;
	if (!accounts_load(&a->accounts, c, data_dir, error) || !limits_open(c, data_dir, &a->accounts, error) ||
	    (c->oauth[0] && !bearer_open(c, &a->bearer, error)) || !slots_assign(slots, &a->accounts, error)) {
		admission_free(a);
		return false;
	}
	a->rest.accounts = a->accounts.account;
	a->rest.account_count = a->accounts.count;
	a->rest.bearer = a->bearer;
	a->rest.release = released;
	if (c->anyAccount && slots->any)
		any_give(slots->any, &a->rest);
	*ret = a;
	return true;
}

void admission_free(struct admission *a)
{
	if (!a)
		return;
	bearer_config_free(a->bearer);
	accounts_fini(&a->accounts);
	free(a);
}

/* Copies of the keys by slot; what is left unset never matches. */
static bool keys_copy(const struct admission *a, struct auth_account *dst)
{
	for (size_t i = 0; i < a->accounts.count; i++) {
		const struct auth_account *from = &a->accounts.account[i];
		if (from->limits && (from->limits->no_shared_key || from->limits->range_count > 0))
			continue;
		for (int k = 0; k < 2; k++) {
			struct slice key = from->key[k];
			char *bytes = key.len ? malloc(key.len) : NULL;
			if (key.len && !bytes)
				return false;
			if (bytes)
				dst[from->slot].key[k] = slice_make(memcpy(bytes, key.ptr, key.len), key.len);
		}
	}
	return true;
}

bool admission_give_smb(const struct admission *a, struct account_slots *s)
{
	struct auth_account *fresh = calloc(ACCOUNT_SLOTS_MAX, sizeof *fresh);
	bool ok = fresh && keys_copy(a, fresh);
	if (ok) {
		pthread_rwlock_wrlock(&s->smb.lock);
		for (size_t i = 0; i < s->count; i++) {
			struct auth_account old = s->smb_account[i];
			for (int k = 0; k < 2; k++) {
				s->smb_account[i].key[k] = fresh[i].key[k];
				fresh[i].key[k] = old.key[k];
			}
		}
		s->smb.count = s->count;
		pthread_rwlock_unlock(&s->smb.lock);
	}
	for (size_t i = 0; fresh && i < ACCOUNT_SLOTS_MAX; i++)
		keys_free(&fresh[i]);
	free(fresh);
	return ok;
}

/* SPDX-License-Identifier: Apache-2.0
 * What SIGHUP does. Settings are parsed again from the same command line, environment and file, because a file that
 * names others may have changed too; of them only what is about accounts, tokens and certificates takes effect. */
#include "server/access/reload.h"
#include "server/access/audit.h"
#include "server/access/usage.h"

#include "auth/auth.h"
#include "base/limits.h"
#include "base/sys/log.h"
#include "io/tls.h"
#include "jobs/background.h"
#include "server/house.h"

extern char **environ;

static size_t names_of(const struct admission *a, struct slice *ret)
{
	for (size_t i = 0; i < a->accounts.count; i++)
		ret[i] = a->accounts.account[i].name;
	return a->accounts.count;
}

static const char *accounts_where(const struct config *c, const struct accounts *a)
{
	return a->file ? a->file : c->accounts_source && c->accounts[0] ? c->accounts_source : "the settings";
}

/* Under the lock. */
static bool admission_switch(struct house *h, const struct config *c, struct buf *error)
{
	struct admission *fresh;
	struct slice names[ACCOUNTS_MAX];
	size_t known = h->slots.count;
	if (!admission_load(c, h->data.path, &h->slots, &fresh, error))
		return false;
	/* Shares of an account that was not served before: their persistent handles come first, as at a start. */
	enum err e = background_load_opens(h->store, h->slots.name + known, h->slots.count - known);
	if (e != ERR_OK) {
		admission_free(fresh);
		h->slots.count = known;
		buf_printf(error, "cannot read the persistent handles of a new account's shares (%s)", err_name(e));
		return false;
	}
	if (!usage_prepare(h->store, fresh->rest.accounts, fresh->rest.account_count, error)) {
		admission_free(fresh);
		return false;
	}
	size_t count = names_of(fresh, names);
	if (!admission_give_smb(fresh, &h->slots) || house_tend(h, names, count) != ERR_OK) {
		admission_free(fresh);
		BUF_PUT(error, "no memory");
		return false;
	}
	if (rest_server_set_access(h->server, &fresh->rest) != ERR_OK) {
		BUF_PUT(error, "no memory");
		return false;
	}
	/* It lives at least until the next one, and we hold the lock. */
	log_info("accounts were read again from %s: %zu", accounts_where(c, &fresh->accounts), count);
	if (c->accountLimits[0])
		log_info("limits of accounts were read again from %s", c->accountLimits);
	if (c->oauthRoles[0])
		log_info("roles were read again from %s", c->oauthRoles);
	return true;
}

bool reload_config(const struct house *h, struct config *ret, struct buf *error)
{
	bool ok = config_parse(ret, h->config->argc, h->config->argv, environ, error);
	if (ok && ret->production != h->config->production) {
		BUF_PUT(error, "the mode cannot change while the server runs");
		ok = false;
	}
	return ok;
}

bool reload_admission(struct house *h, struct buf *error)
{
	struct config again;
	pthread_mutex_lock(&h->reload_lock);
	bool ok = !h->ending;
	if (!ok)
		BUF_PUT(error, "the server is ending");
	else {
		ok = reload_config(h, &again, error) && admission_switch(h, &again, error);
		config_fini(&again);
	}
	pthread_mutex_unlock(&h->reload_lock);
	return ok;
}

/* A renewed certificate, without an end to anybody's connection. */
static void certificate_reload(struct house *h)
{
	struct buf reason;
	struct io_tls_options tls = house_tls_options(h->config);
	if (!h->tls)
		return;
	buf_init(&reason, 64 * KIB);
	if (io_tls_reload(h->tls, &tls, &reason) == ERR_OK)
		log_info("the certificate was read again from %s", h->config->cert);
	else
		log_error("%.*s; the certificate that was in use stays", SLICE_FMT(buf_slice(&reason)));
	buf_fini(&reason);
}

static void audit_log_reopen(struct house *h)
{
	struct buf reason;
	if (!h->audit)
		return;
	buf_init(&reason, 64 * KIB);
	if (house_audit_reopen(h, &reason))
		log_info("the audit log was opened again: %s", h->config->auditLog);
	else
		log_error("%.*s; the file that was in use stays", SLICE_FMT(buf_slice(&reason)));
	buf_fini(&reason);
}

static void logs_reopen(struct house *h)
{
	struct buf reason;
	buf_init(&reason, 64 * KIB);
	if (h->config->silent || strcmp(h->config->accessLog, "-") == 0)
		;
	else if (rest_server_reopen_log(h->server, &reason) == ERR_OK)
		log_info("the access log was opened again: %s", h->config->accessLog);
	else
		log_error("%.*s; the file that was in use stays", SLICE_FMT(buf_slice(&reason)));
	buf_fini(&reason);
	house_open_debug_log(h->config->debug);
	audit_log_reopen(h);
}

void reload_everything(struct house *h)
{
	struct buf error;
	buf_init(&error, 64 * KIB);
	bool ok = reload_admission(h, &error);
	if (!ok)
		log_error("%.*s; accounts, limits and roles stay as they were", SLICE_FMT(buf_slice(&error)));
	buf_put_byte(&error, 0);
	house_audit_event(h, "Reload", ok ? NULL : error.ptr);
	certificate_reload(h);
	logs_reopen(h);
	buf_fini(&error);
}

void reload_end(struct house *h)
{
	pthread_mutex_lock(&h->reload_lock);
	h->ending = true;
	pthread_mutex_unlock(&h->reload_lock);
}

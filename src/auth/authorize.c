/* SPDX-License-Identifier: Apache-2.0
 * May this identity do one operation? The table of operations says what is demanded; which error answers depends on the
 * kind of credentials. */
#include "auth/auth.h"
#include "auth/roles.h"

#include <assert.h>

enum { VERSION_TELLS_REFUSALS = 20150405 }; /* service tokens of before hide what they do not allow */

static bool roles_allow(const struct auth_identity *id, struct slice container, char letter)
{
	return !id->by_roles || roles_allow_letter(id, id->role_service, id->role_account, container, letter);
}

bool auth_allows_in(const struct auth_identity *id, struct slice container, char letter)
{
	bool in_token = slice_find_byte(id->permissions, letter) < id->permissions.len;
	switch (id->kind) {
	case AUTH_SHARED_KEY:
		return true;
	case AUTH_BEARER:
		return roles_allow(id, container, letter);
	case AUTH_ACCOUNT_SAS:
	case AUTH_SERVICE_SAS:
		return in_token;
	case AUTH_DELEGATION_SAS: /* never more than the one whose key signed it */
		return in_token && roles_allow(id, container, letter);
	case AUTH_ANONYMOUS:
		break;
	}
	return false;
}

bool auth_allows(const struct auth_identity *id, char letter)
{
	return auth_allows_in(id, id->role_container, letter);
}

/* "ab": one of them. "a&b": all of them. "*": any at all. */
static bool demand_met(const struct auth_identity *id, const char *letters)
{
	if (letters[0] == '*')
		return id->permissions.len > 0;
	bool all = strchr(letters, '&') != NULL;
	for (const char *c = letters; *c; c++) {
		if (*c == '&')
			continue;
		if (auth_allows(id, *c) != all)
			return !all;
	}
	return all;
}

enum err auth_refusal(const struct auth_identity *id, enum err e)
{
	assert(e != ERR_OK);
	bool service_token = id->kind == AUTH_SERVICE_SAS || id->kind == AUTH_DELEGATION_SAS;
	return service_token && id->sas_version < VERSION_TELLS_REFUSALS ? ERR_RESOURCE_NOT_FOUND : e;
}

static enum err authorize_account_sas(const struct auth_request *r, const struct auth_identity *id,
				      const struct auth_demand *d)
{
	if (slice_find_byte(id->services, service_facts(r->service)->letter) == id->services.len)
		return ERR_AUTHORIZATION_SERVICE_MISMATCH;
	if (d->account_sas[0] == 0)
		return ERR_AUTHORIZATION_FAILURE;
	if (slice_find_byte(id->resource_types, d->resource_type) == id->resource_types.len)
		return ERR_AUTHORIZATION_RESOURCE_TYPE_MISMATCH;
	return demand_met(id, d->account_sas) ? ERR_OK : ERR_AUTHORIZATION_PERMISSION_MISMATCH;
}

static bool scope_reaches(const struct auth_request *r, const struct auth_identity *id, const struct auth_demand *d)
{
	bool one_object = id->scope_object.len > 0;
	if (r->service == SERVICE_TABLE) {
		/* A group transaction addresses no table itself; each of its parts does and is asked again. */
		return r->container.len == 0 || slice_eq_nocase(r->container, id->scope_container);
	}
	if (!slice_eq(r->container, id->scope_container))
		return false;
	return !one_object || (!d->at_container && slice_eq(r->object, id->scope_object));
}

static enum err authorize_service_sas(const struct auth_request *r, const struct auth_identity *id,
				      const struct auth_demand *d)
{
	if (d->sas[0] == 0 || !scope_reaches(r, id, d))
		return auth_refusal(id, ERR_AUTHORIZATION_FAILURE);
	if (!demand_met(id, d->sas))
		return auth_refusal(id, ERR_AUTHORIZATION_PERMISSION_MISMATCH);
	return ERR_OK;
}

static enum err refuse_by_roles(const struct auth_request *r, const struct auth_identity *id,
				const struct auth_demand *d)
{
	return !id->by_roles || roles_allow_demand(r, id, d) ? ERR_OK : ERR_AUTHORIZATION_PERMISSION_MISMATCH;
}

enum err auth_authorize(const struct auth_request *r, const struct auth_identity *id, const struct auth_demand *d)
{
	if (d->bearer_only && id->kind != AUTH_BEARER && id->kind != AUTH_ANONYMOUS)
		return ERR_AUTHENTICATION_FAILED;
	switch (id->kind) {
	case AUTH_ANONYMOUS:
		return ERR_NO_AUTHENTICATION_INFORMATION;
	case AUTH_SHARED_KEY:
		return ERR_OK;
	case AUTH_BEARER:
		if (d->no_bearer)
			return ERR_AUTHORIZATION_FAILURE;
		return refuse_by_roles(r, id, d);
	case AUTH_ACCOUNT_SAS:
		return authorize_account_sas(r, id, d);
	case AUTH_DELEGATION_SAS:
		TRY(refuse_by_roles(r, id, d));
		return authorize_service_sas(r, id, d);
	case AUTH_SERVICE_SAS:
		return authorize_service_sas(r, id, d);
	}
	return ERR_AUTHORIZATION_FAILURE;
}

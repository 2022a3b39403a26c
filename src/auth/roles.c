/* SPDX-License-Identifier: Apache-2.0
 * Rules of roles: reading them, finding those of a token, and asking them. See roles.h.
 *
 * A role is the letters (as of a SAS) that it allows on the service, on containers and on objects. */
#include "auth/roles.h"

#include <assert.h>
#include <stdlib.h>

struct role {
	const char *name;
	enum service service;		    /* SERVICE_COUNT: every one */
	const char *at_service, *container; /* letters, by what the operation addresses */
	const char *object;
	bool delegates; /* may ask for a user delegation key */
};

static const struct role roles[] = {
	{ "Storage Blob Data Reader", SERVICE_BLOB, "l", "rl", "r", true },
	{ "Storage Blob Data Contributor", SERVICE_BLOB, "l", "rwdcl", "rwdcalm", true },
	{ "Storage Blob Data Owner", SERVICE_BLOB, "lf", "rwdclf", "rwdxyclatfimeop", true },
	{ "Storage Blob Delegator", SERVICE_BLOB, "", "", "", true },
	{ "Storage Queue Data Reader", SERVICE_QUEUE, "l", "r", "r", false },
	{ "Storage Queue Data Contributor", SERVICE_QUEUE, "l", "rwdc", "raupd", true },
	{ "Storage Queue Data Message Processor", SERVICE_QUEUE, "", "", "rp", false },
	{ "Storage Queue Data Message Sender", SERVICE_QUEUE, "", "", "a", false },
	{ "Storage Table Data Reader", SERVICE_TABLE, "", "l", "r", false },
	{ "Storage Table Data Contributor", SERVICE_TABLE, "", "lcwd", "raud", true },
	{ "Storage File Data Privileged Reader", SERVICE_FILE, "", "l", "rl", false },
	{ "Storage File Data Privileged Contributor", SERVICE_FILE, "", "l", "rwdcl", true },
	/* Properties and statistics of the services; no data. */
	{ "Storage Account Contributor", SERVICE_COUNT, "rwl", "", "", false },
};

enum condition_kind { WHO_OID, WHO_GROUP, WHO_APP_ROLE, WHO_ISSUER };
enum { CONDITIONS_MAX = 4 };

struct condition {
	enum condition_kind kind;
	struct slice value;
};

struct rule {
	struct condition condition[CONDITIONS_MAX];
	size_t condition_count;
	struct slice account, container; /* absent: every one */
	const struct role *role;
};

struct auth_grant {
	const struct rule *rule;
};

struct auth_roles {
	char *text; /* what the rules' slices point into */
	size_t count;
	struct rule rule[];
};

/* ---- Reading ---- */

static bool parse_condition(struct slice text, struct condition *ret)
{
	static const char *const kinds[] = {
		[WHO_OID] = "oid", [WHO_GROUP] = "group", [WHO_APP_ROLE] = "app-role", [WHO_ISSUER] = "issuer"
	};
	struct slice value = text, kind = slice_cut(&value, ':');
	if (value.len == 0)
		return false;
	for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (slice_eq(kind, slice_str(kinds[i]))) {
			*ret = (struct condition){ (enum condition_kind)i, value };
			return true;
		}
	return false;
}

static const char *parse_who(struct slice text, struct rule *ret)
{
	while (slice_is_set(text)) {
		struct slice one = slice_cut(&text, ',');
		if (ret->condition_count == CONDITIONS_MAX)
			return "too many conditions";
		if (!parse_condition(one, &ret->condition[ret->condition_count++]))
			return "who is oid:ID, group:ID, app-role:NAME or issuer:URL, several joined by ','";
	}
	return NULL;
}

static const char *parse_where(struct slice text, struct rule *ret)
{
	struct slice container = text, account = slice_cut(&container, '/');
	if (account.len == 0 || (slice_is_set(container) && container.len == 0))
		return "where is an account, account/container or *";
	if (slice_eq(account, SLICE("*"))) {
		if (slice_is_set(container))
			return "where is an account, account/container or *";
		return NULL;
	}
	ret->account = account;
	ret->container = container;
	return NULL;
}

static const struct role *role_find(struct slice name)
{
	for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
		if (slice_eq_nocase(name, slice_str(roles[i].name)))
			return &roles[i];
	return NULL;
}

static struct slice take_word(struct slice *line)
{
	size_t n = 0;
	*line = slice_trim(*line);
	while (n < line->len && line->ptr[n] != ' ' && line->ptr[n] != '\t')
		n++;
	struct slice word = slice_first(*line, n);
	*line = slice_trim(slice_from(*line, n));
	return word;
}

/* NULL: fine. */
static const char *parse_rule(struct slice line, struct rule *ret)
{
	*ret = (struct rule){ .condition_count = 0 };
	struct slice who = take_word(&line), where = take_word(&line);
	if (line.len == 0)
		return "a rule has three parts: who, where, role";
	const char *problem = parse_who(who, ret);
	if (!problem)
		problem = parse_where(where, ret);
	if (problem)
		return problem;
	ret->role = role_find(line);
	return ret->role ? NULL : "this is none of the roles that are known, such as Storage Blob Data Reader";
}

enum err roles_new(struct slice text, struct auth_roles **ret, struct buf *message)
{
	struct auth_roles *r = calloc(1, sizeof *r + ROLES_RULES_MAX * sizeof *r->rule);
	char *copy = malloc(text.len + 1);
	const char *problem = NULL;
	unsigned number = 0;
	if (!r || !copy) {
		free(r);
		free(copy);
		return ERR_NO_MEMORY;
	}
	if (text.len)
		memcpy(copy, text.ptr, text.len);
	r->text = copy;
	for (struct slice rest = slice_make(copy, text.len); slice_is_set(rest) && !problem;) {
		struct slice line = slice_trim(slice_cut(&rest, '\n'));
		number++;
		if (line.len == 0 || line.ptr[0] == '#')
			continue;
		if (r->count == ROLES_RULES_MAX)
			problem = "there are too many rules";
		else
			problem = parse_rule(line, &r->rule[r->count]);
		r->count += !problem;
	}
	if (problem) {
		buf_printf(message, "line %u: %s", number, problem);
		roles_free(r);
		return ERR_SYNTAX;
	}
	*ret = r;
	return ERR_OK;
}

void roles_free(struct auth_roles *r)
{
	if (!r)
		return;
	free(r->text);
	free(r);
}

/* ---- Whose ---- */

static bool is_among(struct slice value, const struct slice *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (slice_eq_nocase(value, list[i]))
			return true;
	return false;
}

static bool condition_holds(const struct condition *c, const struct role_claims *claims)
{
	switch (c->kind) {
	case WHO_OID:
		return claims->object_id.len > 0 && slice_eq_nocase(c->value, claims->object_id);
	case WHO_GROUP:
		return is_among(c->value, claims->group, claims->group_count);
	case WHO_APP_ROLE:
		return is_among(c->value, claims->app_role, claims->app_role_count);
	case WHO_ISSUER:
		return slice_eq(c->value, claims->issuer);
	}
	return false;
}

static bool rule_holds(const struct rule *r, const struct role_claims *claims)
{
	assert(r->condition_count > 0); /* a rule for everybody cannot be written */
	for (size_t i = 0; i < r->condition_count; i++)
		if (!condition_holds(&r->condition[i], claims))
			return false;
	return true;
}

enum err roles_find(const struct auth_roles *r, const struct role_claims *claims, struct arena *arena,
		    struct auth_identity *ret)
{
	struct auth_grant *grant = arena_alloc(arena, (r->count + 1) * sizeof *grant);
	size_t count = 0;
	if (!grant)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < r->count; i++)
		if (rule_holds(&r->rule[i], claims))
			grant[count++].rule = &r->rule[i];
	ret->by_roles = true;
	ret->grant = grant;
	ret->grant_count = count;
	return ERR_OK;
}

/* ---- What ---- */

static bool rule_reaches(const struct rule *r, enum service service, struct slice account, struct slice container)
{
	if (r->role->service != service && r->role->service != SERVICE_COUNT)
		return false;
	if (!slice_is_set(r->account))
		return true;
	if (!slice_eq(r->account, account))
		return false;
	if (!slice_is_set(r->container))
		return true;
	/* Names of tables have no case; those of the others are written small. */
	return service == SERVICE_TABLE ? slice_eq_nocase(r->container, container) : slice_eq(r->container, container);
}

/* Some grant, among those that reach there, has the letter. Rights of several rules add up. */
static bool has_letter(const struct auth_request *r, const struct auth_identity *id, char resource_type, char letter)
{
	for (size_t i = 0; i < id->grant_count; i++) {
		const struct rule *rule = id->grant[i].rule;
		const char *letters = resource_type == 's'   ? rule->role->at_service
				      : resource_type == 'c' ? rule->role->container
							     : rule->role->object;
		if (strchr(letters, letter) && rule_reaches(rule, r->service, r->account->name, r->container))
			return true;
	}
	return false;
}

static bool may_delegate(const struct auth_request *r, const struct auth_identity *id)
{
	for (size_t i = 0; i < id->grant_count; i++) {
		const struct rule *rule = id->grant[i].rule;
		/* The key is the account's; what is signed with it is held to the rule's container all the same. */
		bool here = !slice_is_set(rule->account) || slice_eq(rule->account, r->account->name);
		if (here && rule->role->delegates && rule->role->service == r->service)
			return true;
	}
	return false;
}

/* A group of requests: each of them is asked again. */
static bool has_any(const struct auth_request *r, const struct auth_identity *id)
{
	for (size_t i = 0; i < id->grant_count; i++) {
		const struct rule *rule = id->grant[i].rule;
		bool here = !slice_is_set(rule->account) || slice_eq(rule->account, r->account->name);
		if (here && rule->role->service == r->service)
			return true;
	}
	return false;
}

bool roles_allow_demand(const struct auth_request *r, const struct auth_identity *id, const struct auth_demand *d)
{
	const char *letters = d->account_sas;
	assert(id->by_roles);
	if (d->bearer_only)
		return may_delegate(r, id);
	if (letters[0] == '*')
		return has_any(r, id);
	if (letters[0] == 0) /* policies: who may change the container may change who reaches it */
		return has_letter(r, id, 'c', 'w');
	bool all = strchr(letters, '&') != NULL;
	for (const char *c = letters; *c; c++)
		if (*c != '&' && has_letter(r, id, d->resource_type, *c) != all)
			return !all;
	return all;
}

bool roles_allow_letter(const struct auth_identity *id, enum service service, struct slice account,
			struct slice container, char letter)
{
	for (size_t i = 0; i < id->grant_count; i++) {
		const struct rule *rule = id->grant[i].rule;
		if (strchr(rule->role->object, letter) && rule_reaches(rule, service, account, container))
			return true;
	}
	return false;
}

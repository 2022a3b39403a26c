/* SPDX-License-Identifier: Apache-2.0
 * Reading the limits of accounts. See limits.h. */
#include "auth/limits.h"

#include "base/sys/clock.h"

enum { SAS_HOURS_MAX = 24 * 366 * 100 };
#define SIZE_LIMIT_MAX (UINT64_C(1) << 50)

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

static const char *parse_switch(struct slice value, bool *ret_off)
{
	*ret_off = slice_eq(value, SLICE("off"));
	return *ret_off || slice_eq(value, SLICE("on")) ? NULL : "the value is on or off";
}

static const char *parse_addresses(struct slice list, struct auth_limits *l)
{
	l->range_count = 0;
	while (slice_is_set(list)) {
		struct slice one = slice_trim(slice_cut(&list, ','));
		if (l->range_count == LIMITS_RANGES_MAX)
			return "there are too many addresses";
		if (!auth_address_range_parse(one, &l->range[l->range_count++]))
			return "addresses are like 10.0.0.5, 10.0.0.5-10.0.0.9 or 10.0.0.0/8, joined by ','";
	}
	return NULL;
}

static const char *parse_hours(struct slice value, uint64_t *ret_ticks)
{
	uint64_t hours;
	if (!slice_to_u64(value, &hours) || hours == 0 || hours > SAS_HOURS_MAX)
		return "the value is a number of hours, at least 1";
	*ret_ticks = hours * 3600 * TICKS_PER_SECOND;
	return NULL;
}

/* "500" or "10MiB". */
static const char *parse_size(struct slice value, uint64_t *ret)
{
	static const struct {
		const char *unit;
		unsigned shift;
	} units[] = { { "KiB", 10 }, { "MiB", 20 }, { "GiB", 30 } };
	unsigned shift = 0;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (value.len > 3 && slice_eq(slice_from(value, value.len - 3), slice_str(units[i].unit))) {
			shift = units[i].shift;
			value = slice_trim(slice_first(value, value.len - 3));
		}
	uint64_t n;
	if (!slice_to_u64(value, &n) || n == 0 || n > SIZE_LIMIT_MAX >> shift)
		return "the value is a number, at least 1, bytes also as 10KiB, 10MiB, 1GiB";
	*ret = n << shift;
	return NULL;
}

static uint64_t *size_of(struct auth_quota *q, struct slice name)
{
	if (slice_eq(name, SLICE("requests-per-second")))
		return &q->requests.per_s;
	if (slice_eq(name, SLICE("ingress-per-second")))
		return &q->ingress.per_s;
	if (slice_eq(name, SLICE("egress-per-second")))
		return &q->egress.per_s;
	return slice_eq(name, SLICE("stored-bytes")) ? &q->stored_bytes : NULL;
}

static bool is_size(struct slice name)
{
	struct auth_quota probe;
	return size_of(&probe, name) != NULL;
}

/* The quota of the account, or of one container of it; made if there is none yet. */
static struct auth_quota *quota_find(struct auth_limits *l, struct slice container, struct arena *arena)
{
	if (!slice_is_set(container)) {
		if (!l->quota)
			l->quota = ARENA_NEW(arena, struct auth_quota);
		return l->quota;
	}
	struct auth_quota *found = limits_container_quota(l, container);
	if (found)
		return found;
	if (!l->container)
		l->container = ARENA_NEW_ARRAY(arena, struct container_quota, LIMITS_CONTAINERS_MAX);
	if (!l->container || l->container_count == LIMITS_CONTAINERS_MAX)
		return NULL;
	struct container_quota *c = &l->container[l->container_count];
	*c = (struct container_quota){ arena_dup(arena, container), ARENA_NEW(arena, struct auth_quota) };
	if (c->quota)
		l->container_count++;
	return c->quota;
}

struct auth_quota *limits_container_quota(const struct auth_limits *l, struct slice container)
{
	for (size_t i = 0; i < l->container_count; i++)
		if (slice_eq(l->container[i].name, container))
			return l->container[i].quota;
	return NULL;
}

/* NULL: fine. */
static const char *set_limit(struct auth_limits *l, struct slice name, struct slice value)
{
	if (slice_eq(name, SLICE("shared-key")))
		return parse_switch(value, &l->no_shared_key);
	if (slice_eq(name, SLICE("public-access")))
		return parse_switch(value, &l->no_public_access);
	if (slice_eq(name, SLICE("addresses")))
		return parse_addresses(value, l);
	if (slice_eq(name, SLICE("sas-max-hours")))
		return parse_hours(value, &l->sas_max_ticks);
	return "a limit is shared-key, public-access, addresses, sas-max-hours, requests-per-second, "
	       "ingress-per-second, egress-per-second or stored-bytes";
}

struct limits_target {
	struct auth_limits *limits; /* one for each account */
	const struct auth_account *account;
	size_t count;
	struct arena *arena;
};

static const char *set_any(const struct limits_target *t, struct auth_limits *l, struct slice container,
			   struct slice name, struct slice value)
{
	if (!is_size(name))
		return slice_is_set(container) ? "only rates and stored-bytes can be about a container"
					       : set_limit(l, name, value);
	struct auth_quota *quota = quota_find(l, container, t->arena);
	l->stores_limited |= slice_eq(name, SLICE("stored-bytes"));
	return quota ? parse_size(value, size_of(quota, name)) : "there are too many containers with limits";
}

/* One line; `common`: those about every account, else those about one. */
static const char *apply_line(const struct limits_target *t, struct slice line, bool common)
{
	struct slice container = take_word(&line), name = take_word(&line), account = slice_cut(&container, '/');
	bool all = slice_eq(account, SLICE("*")), found = all;
	const char *problem = line.len ? NULL : "a line has three parts: account, limit, value";
	for (size_t i = 0; i < t->count && !problem; i++) {
		if (!all && !slice_eq(account, t->account[i].name))
			continue;
		found = true;
		if (all == common)
			problem = set_any(t, &t->limits[i], container, name, line);
	}
	return problem || found ? problem : "there is no such account";
}

static const char *apply_lines(const struct limits_target *t, struct slice text, bool common, unsigned *ret_line)
{
	*ret_line = 0;
	while (slice_is_set(text)) {
		struct slice line = slice_trim(slice_cut(&text, '\n'));
		++*ret_line;
		const char *problem = line.len == 0 || line.ptr[0] == '#' ? NULL : apply_line(t, line, common);
		if (problem)
			return problem;
	}
	return NULL;
}

enum err limits_apply(struct slice text, struct auth_account *account, size_t count, struct arena *arena,
		      struct buf *message)
{
	struct limits_target t = { ARENA_NEW_ARRAY(arena, struct auth_limits, count), account, count, arena };
	unsigned line = 0;
	if (!t.limits)
		return ERR_NO_MEMORY;
	const char *problem = apply_lines(&t, text, true, &line);
	if (!problem)
		problem = apply_lines(&t, text, false, &line);
	if (problem) {
		buf_printf(message, "line %u: %s", line, problem);
		return ERR_SYNTAX;
	}
	for (size_t i = 0; i < count; i++)
		account[i].limits = &t.limits[i];
	return ERR_OK;
}

enum err limits_check_address(const struct auth_account *a, struct slice client_ip)
{
	const struct auth_limits *l = a->limits;
	unsigned char address[ADDRESS_BYTES];
	if (!l || l->range_count == 0)
		return ERR_OK;
	if (!auth_address_parse(client_ip, address))
		return ERR_AUTHORIZATION_FAILURE;
	for (size_t i = 0; i < l->range_count; i++)
		if (auth_address_range_holds(&l->range[i], address))
			return ERR_OK;
	return ERR_AUTHORIZATION_FAILURE;
}

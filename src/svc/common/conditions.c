/* SPDX-License-Identifier: Apache-2.0
 * Conditional headers, judged against a state. */
#include "svc/common/conditions.h"

#include "base/sys/clock.h"

static bool set_holds(const struct etag_set *s, uint64_t etag)
{
	if (s->any)
		return true;
	for (size_t i = 0; i < s->count; i++)
		if (s->etag[i] != ETAG_FOREIGN && s->etag[i] == etag)
			return true;
	return false;
}

/* Times compare at one-second resolution, as Last-Modified is shown. */
static uint64_t whole_second(uint64_t ticks)
{
	return ticks - ticks % TICKS_PER_SECOND;
}

static bool modified_after(const struct condition_target *t, uint64_t since)
{
	return whole_second(t->modified_ticks) > since;
}

enum err conditions_check_read(const struct conditions *c, const struct condition_target *t)
{
	if (c->match.present && !set_holds(&c->match, t->etag))
		return ERR_CONDITION_NOT_MET;
	if (c->has_unmodified_since && modified_after(t, c->unmodified_since))
		return ERR_CONDITION_NOT_MET;
	bool none_fails = c->none_match.present && set_holds(&c->none_match, t->etag);
	bool since_fails = c->has_modified_since && !modified_after(t, c->modified_since);
	if (c->none_match.present && c->has_modified_since)
		return none_fails && since_fails ? ERR_NOT_MODIFIED : ERR_OK;
	return none_fails || since_fails ? ERR_NOT_MODIFIED : ERR_OK;
}

enum err conditions_check_write(const struct conditions *c, const struct condition_target *t, enum err exists_error,
				enum err unmet_error)
{
	/* Of the two allowed pairs only the ETag header counts. */
	if (c->match.present)
		return t->exists && set_holds(&c->match, t->etag) ? ERR_OK : unmet_error;
	if (c->none_match.present) {
		if (!t->exists || !set_holds(&c->none_match, t->etag))
			return ERR_OK;
		return c->none_match.any ? exists_error : unmet_error;
	}
	if (!t->exists)
		return ERR_OK;
	if (c->has_modified_since && !modified_after(t, c->modified_since))
		return unmet_error;
	if (c->has_unmodified_since && modified_after(t, c->unmodified_since))
		return unmet_error;
	return ERR_OK;
}

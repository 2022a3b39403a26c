/* SPDX-License-Identifier: Apache-2.0
 * The test kit (development mode only):
 *   POST   /test/clock?advance=SECONDS | ?set=TIME   moves the server's clock forward
 *   POST   /test/reset[?account=NAME]                empties every account, or one
 *   POST   /test/save?name=NAME, /test/restore?name=NAME
 *   POST   /test/faults?action=...&operation=...     adds a rule (rest/core/kit/inject.h)
 *   DELETE /test/faults                              removes all of them
 * Each answers as GET /test does: the clock, the rules and the names of saved states, as JSON. A page of another site
 * that a browser shows may not change anything here: browsers say where a request comes from. */
#include "rest/admin/admin.h"

#include "base/limits.h"
#include "rest/common/cors.h"
#include "rest/core/kit/inject.h"
#include "rest/core/server.h"
#include "svc/account/resource.h"
#include "wire/date.h"
#include "wire/json.h"

enum { STATE_NAME_MAX = 64 };
/* A hundred years: what is added to it stays within what dates can say. */
#define ADVANCE_MAX_SECONDS (100.0 * 366 * 86400)

struct kit_command {
	const char *path;
	unsigned method;
	enum err (*parse)(struct request *);
	enum err (*work)(struct request *); /* blocks; NULL: parse did it all */
};

struct kit_call {
	const struct kit_command *command;
	struct slice name; /* of a state or an account; absent if not given */
};

static enum err bad_param(struct request *r, const char *name, struct slice value, const char *reason)
{
	return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, name, slice_is_set(value) ? value : SLICE(""), reason);
}

/* ---- the clock ---- */

static enum err clock_parse(struct request *r)
{
	struct clock *clock = r->server->clock;
	struct slice advance = request_param(r, "advance"), set = request_param(r, "set");
	double seconds;
	uint64_t ticks, now = clock_now(clock);
	if (slice_is_set(set)) {
		if (!date_parse_iso(set, &ticks))
			return bad_param(r, "set", set, "A time such as 2030-01-31T12:00:00Z.");
		if (ticks < now || ticks - now > (uint64_t)ADVANCE_MAX_SECONDS * TICKS_PER_SECOND)
			return bad_param(r, "set", set, "Time runs forward only, at most a hundred years at once.");
		clock_move(clock, ticks - now);
		return ERR_OK;
	}
	if (!slice_is_set(advance) || !json_number_to_double(advance, &seconds) || !(seconds >= 0) ||
	    seconds > ADVANCE_MAX_SECONDS)
		return bad_param(r, "advance", advance, "Seconds, 0 or more. Time runs forward only.");
	clock_move(clock, (uint64_t)(seconds * (double)TICKS_PER_SECOND));
	return ERR_OK;
}

/* ---- data ---- */

static enum err reset_parse(struct request *r)
{
	struct kit_call *c = r->call;
	c->name = request_param(r, "account");
	if (slice_is_set(c->name) && !rest_access_account(r->access, c->name))
		return bad_param(r, "account", c->name, "There is no such account.");
	return ERR_OK;
}

static enum err reset_work(struct request *r)
{
	const struct kit_call *c = r->call;
	struct rest_server *s = r->server;
	for (size_t i = 0; i < rest_access_count(r->access); i++) {
		struct slice account = rest_access_at(r->access, i)->name;
		if (!slice_is_set(c->name) || slice_eq(c->name, account))
			TRY(resource_reset(s->store, account));
	}
	cors_forget_all(s);
	return ERR_OK;
}

static enum err state_parse(struct request *r)
{
	struct kit_call *c = r->call;
	c->name = request_param(r, "name");
	if (!r->server->config.kit->save)
		return bad_param(r, "name", c->name,
				 "States can be saved by a server that was started with --inMemoryPersistence.");
	if (!slice_is_set(c->name) || c->name.len == 0 || c->name.len > STATE_NAME_MAX)
		return bad_param(r, "name", c->name, "A name of 1 to 64 characters.");
	return ERR_OK;
}

static enum err save_work(struct request *r)
{
	const struct kit_call *c = r->call;
	const struct rest_kit *kit = r->server->config.kit;
	enum err e = kit->save(kit->arg, c->name);
	return e == ERR_LIMIT ? bad_param(r, "name", c->name, "There are too many states: use a name again.") : e;
}

static enum err restore_work(struct request *r)
{
	const struct kit_call *c = r->call;
	const struct rest_kit *kit = r->server->config.kit;
	enum err e = kit->restore(kit->arg, c->name);
	cors_forget_all(r->server);
	return e == ERR_NOT_FOUND ? bad_param(r, "name", c->name, "No state of that name was saved.") : e;
}

/* ---- faults ---- */

static bool number_param(const struct request *r, const char *name, uint64_t most, uint64_t *ret)
{
	struct slice text = request_param(r, name);
	uint64_t value;
	if (!slice_is_set(text))
		return true;
	if (!slice_to_u64(text, &value) || value > most)
		return false;
	*ret = value;
	return true;
}

/* A word, or the status it gives. */
static bool action_param(struct slice text, enum inject_action *ret)
{
	if (slice_eq(text, SLICE("503")))
		*ret = INJECT_BUSY;
	else if (slice_eq(text, SLICE("500")))
		*ret = INJECT_ERROR;
	else
		return inject_action_parse(text, ret);
	return true;
}

static enum err faults_parse(struct request *r)
{
	struct inject_rule rule = { .rate = 1, .left = UINT64_MAX };
	struct slice action = request_param(r, "action"), operation = request_param(r, "operation"),
		     rate = request_param(r, "rate");
	uint64_t delay_ms = 0, retry_after_s = 0;
	if (!slice_is_set(action) || !action_param(action, &rule.action))
		return bad_param(r, "action", action, "One of busy, error, delay, reset, truncate.");
	if (slice_is_set(operation) && operation.len >= sizeof rule.operation)
		return bad_param(r, "operation", operation, "The name of an operation as in the access log.");
	if (slice_is_set(rate) && (!json_number_to_double(rate, &rule.rate) || !(rule.rate >= 0 && rule.rate <= 1)))
		return bad_param(r, "rate", rate, "A number from 0 to 1.");
	if (!number_param(r, "count", UINT32_MAX, &rule.left))
		return bad_param(r, "count", request_param(r, "count"), "How many times.");
	if (!number_param(r, "delayMs", INJECT_DELAY_MAX_MS, &delay_ms))
		return bad_param(r, "delayMs", request_param(r, "delayMs"), "At most ten minutes.");
	if (!number_param(r, "retryAfter", 3600, &retry_after_s))
		return bad_param(r, "retryAfter", request_param(r, "retryAfter"), "Seconds, at most an hour.");
	if (rule.left == 0)
		return ERR_OK; /* never acts */
	if (slice_is_set(operation))
		memcpy(rule.operation, operation.ptr, operation.len);
	rule.delay_ms = (uint32_t)delay_ms;
	rule.retry_after_s = (uint32_t)retry_after_s;
	enum err e = inject_add(r->server->inject, &rule);
	return e == ERR_LIMIT ? bad_param(r, "action", action, "There are too many rules: DELETE /test/faults.") : e;
}

static enum err faults_clear(struct request *r)
{
	inject_clear(r->server->inject);
	return ERR_OK;
}

/* ---- the commands ---- */

static const struct kit_command commands[] = {
	{ "/test/clock", M_POST, clock_parse, NULL },	  { "/test/reset", M_POST, reset_parse, reset_work },
	{ "/test/save", M_POST, state_parse, save_work }, { "/test/restore", M_POST, state_parse, restore_work },
	{ "/test/faults", M_POST, faults_parse, NULL },	  { "/test/faults", M_DELETE, faults_clear, NULL },
};

bool kit_is_path(struct slice path)
{
	return slice_has_prefix(path, SLICE("/test"));
}

enum err kit_parse(struct request *r)
{
	struct kit_call *c = ARENA_NEW(r->arena, struct kit_call);
	unsigned method = 1u << r->head->method;
	if (!r->server->config.kit)
		return ERR_RESOURCE_NOT_FOUND;
	if (!c)
		return ERR_NO_MEMORY;
	c->name = SLICE_NONE;
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		const struct kit_command *k = &commands[i];
		if (!slice_eq(r->object, slice_str(k->path)) || !(k->method & method))
			continue;
		c->command = k;
		r->call = c;
		if (k->work)
			request_step_work(r, k->work);
		return k->parse(r);
	}
	return ERR_RESOURCE_NOT_FOUND;
}

int kit_put(const struct rest_server *s, struct buf *out)
{
	char now[DATE_ISO_BYTES];
	const struct rest_kit *kit = s->config.kit;
	if (!kit) {
		BUF_PUT(out, "{\"error\":\"the test kit is there in development mode only\"}\n");
		return 404;
	}
	date_format_iso(clock_now(s->clock), now);
	buf_printf(out, "{\"now\":\"%.*s\",\"advancedSeconds\":", (int)sizeof now, now);
	json_put_double(out, (double)clock_moved(s->clock) / (double)TICKS_PER_SECOND);
	BUF_PUT(out, ",\"faults\":");
	inject_put_json(s->inject, out);
	BUF_PUT(out, ",\"states\":");
	if (kit->put_names)
		kit->put_names(kit->arg, out);
	else
		BUF_PUT(out, "null");
	BUF_PUT(out, "}\n");
	return 200;
}

/* SPDX-License-Identifier: Apache-2.0
 * The rules and who they meet. A rule that has acted as often as it may stays in the list, with its count, so that a
 * test can ask how often it did. */
#include "rest/core/kit/inject.h"

#include <pthread.h>
#include <stdatomic.h>
#include <strings.h>

#include "rest/core/conn/exchange_int.h"
#include "wire/json.h"

struct inject {
	pthread_mutex_t lock;
	atomic_size_t active; /* rules that may still act: read without the lock */
	size_t count;
	struct inject_rule rule[INJECT_RULES_MAX];
};

static const char *const words[INJECT_ACTIONS] = {
	[INJECT_BUSY] = "busy",	  [INJECT_ERROR] = "error",	  [INJECT_DELAY] = "delay",
	[INJECT_RESET] = "reset", [INJECT_TRUNCATE] = "truncate",
};

const char *inject_action_word(enum inject_action a)
{
	return words[a];
}

bool inject_action_parse(struct slice word, enum inject_action *ret)
{
	for (int i = 0; i < INJECT_ACTIONS; i++)
		if (slice_eq_nocase(word, slice_str(words[i]))) {
			*ret = (enum inject_action)i;
			return true;
		}
	return false;
}

struct inject *inject_new(void)
{
	struct inject *in = calloc(1, sizeof *in);
	if (in)
		pthread_mutex_init(&in->lock, NULL);
	return in;
}

void inject_free(struct inject *in)
{
	if (!in)
		return;
	pthread_mutex_destroy(&in->lock);
	free(in);
}

enum err inject_add(struct inject *in, const struct inject_rule *rule)
{
	pthread_mutex_lock(&in->lock);
	bool room = in->count < INJECT_RULES_MAX;
	if (room) {
		in->rule[in->count++] = *rule;
		atomic_fetch_add(&in->active, 1);
	}
	pthread_mutex_unlock(&in->lock);
	return room ? ERR_OK : ERR_LIMIT;
}

void inject_clear(struct inject *in)
{
	pthread_mutex_lock(&in->lock);
	in->count = 0;
	atomic_store(&in->active, 0);
	pthread_mutex_unlock(&in->lock);
}

void inject_put_json(struct inject *in, struct buf *out)
{
	pthread_mutex_lock(&in->lock);
	BUF_PUT(out, "[");
	for (size_t i = 0; i < in->count; i++) {
		const struct inject_rule *r = &in->rule[i];
		buf_printf(out, "%s{\"action\":\"%s\",\"operation\":\"", i ? "," : "", words[r->action]);
		json_put_text(out, slice_str(r->operation));
		BUF_PUT(out, "\",\"rate\":");
		json_put_double(out, r->rate);
		if (r->left != UINT64_MAX)
			buf_printf(out, ",\"left\":%llu", (unsigned long long)r->left);
		buf_printf(out, ",\"delayMs\":%u,\"retryAfter\":%u,\"hits\":%llu}", r->delay_ms, r->retry_after_s,
			   (unsigned long long)r->hits);
	}
	BUF_PUT(out, "]");
	pthread_mutex_unlock(&in->lock);
}

static bool operation_fits(const char *pattern, const char *name)
{
	size_t len = strlen(pattern);
	if (len > 0 && pattern[len - 1] == '*')
		return strncasecmp(pattern, name, len - 1) == 0;
	return len == 0 || strcasecmp(pattern, name) == 0;
}

static bool rate_draws(double rate, struct rng *rng)
{
	enum { STEPS = 1000000 };
	return rate >= 1 || (double)rng_below(rng, STEPS) < rate * STEPS;
}

/* The rule that this request meets, as it is now. */
static bool inject_pick(struct inject *in, const char *operation, struct rng *rng, struct inject_rule *ret)
{
	bool found = false;
	if (atomic_load_explicit(&in->active, memory_order_relaxed) == 0)
		return false;
	pthread_mutex_lock(&in->lock);
	for (size_t i = 0; i < in->count && !found; i++) {
		struct inject_rule *r = &in->rule[i];
		if (r->left == 0 || !operation_fits(r->operation, operation) || !rate_draws(r->rate, rng))
			continue;
		r->hits++;
		if (r->left != UINT64_MAX && --r->left == 0)
			atomic_fetch_sub(&in->active, 1);
		*ret = *r;
		found = true;
	}
	pthread_mutex_unlock(&in->lock);
	return found;
}

enum err inject_apply(struct exchange *ex)
{
	struct request *r = &ex->req;
	struct inject *in = r->server->inject;
	struct inject_rule rule;
	/* A part of a batch is not a request of its own, and the kit's own endpoints always work. */
	if (!in || r->parent || r->service == SERVICE_ADMIN || !inject_pick(in, r->op->name, r->rng, &rule))
		return ERR_OK;
	ex->answer_delay_ms = rule.delay_ms;
	ex->inject_reset = rule.action == INJECT_RESET;
	ex->inject_truncate = rule.action == INJECT_TRUNCATE;
	r->log_note = SLICE("test kit");
	if (rule.action == INJECT_BUSY) {
		r->fault.retry_after_s = rule.retry_after_s;
		return ERR_BUSY;
	}
	return rule.action == INJECT_ERROR ? ERR_INTERNAL_ERROR : ERR_OK;
}

/* SPDX-License-Identifier: Apache-2.0
 * Rules of the test kit: which requests fail, wait or lose their answer, how often, and how many times. Any thread. */
#ifndef REST_KIT_INJECT_H
#define REST_KIT_INJECT_H

#include "base/buf.h"
#include "base/err.h"
#include "rest/core/op.h"

struct inject;
struct exchange;

enum inject_action {
	INJECT_BUSY,	 /* 503 with Retry-After; nothing was done */
	INJECT_ERROR,	 /* 500; nothing was done */
	INJECT_DELAY,	 /* the answer waits */
	INJECT_RESET,	 /* all was done, the connection is reset instead of an answer */
	INJECT_TRUNCATE, /* all was done, the answer ends in its middle */
	INJECT_ACTIONS
};
enum { INJECT_RULES_MAX = 64, INJECT_OPERATION_MAX = 48, INJECT_DELAY_MAX_MS = 600 * 1000 };

struct inject_rule {
	enum inject_action action;
	char operation[INJECT_OPERATION_MAX]; /* of ops.def, without case; may end with '*'; "" = every one */
	double rate;			      /* of the requests that fit: 0 to 1 */
	uint64_t left;			      /* times it still acts; UINT64_MAX = for ever */
	uint32_t delay_ms;		      /* before the answer, whatever the action is */
	uint32_t retry_after_s;		      /* INJECT_BUSY; 0 = the server's own */
	uint64_t hits;
};

const char *inject_action_word(enum inject_action);
bool inject_action_parse(struct slice word, enum inject_action *ret);

struct inject *inject_new(void);   /* NULL: no memory */
void inject_free(struct inject *); /* accepts NULL */
/* Rules are tried in the order in which they were added; the first that fits and draws decides. ERR_LIMIT: there are
 * INJECT_RULES_MAX. */
enum err inject_add(struct inject *, const struct inject_rule *) MUST_CHECK;
void inject_clear(struct inject *);
/* As a JSON array. */
void inject_put_json(struct inject *, struct buf *out);

/* For the driver, once a request's operation and its right to it are known: notes in the exchange what happens to its
 * answer; or the error to answer now. */
enum err inject_apply(struct exchange *) MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0
 * One thing that the page can ask: a row of the table in api.c. Parse gets the scope of the session; format writes JSON
 * into the body, behind it. */
#ifndef REST_ADMIN_API_H
#define REST_ADMIN_API_H

#include "rest/core/request.h"

struct api_row {
	const char *path; /* behind /api/ */
	bool post;
	bool open; /* without a session: parse asks for itself */
	enum err (*parse)(struct request *, struct slice scope);
	enum err (*body)(struct request *); /* when r->body is there; may be NULL */
	enum err (*format)(struct request *);
};

/* Every parse sets r->call to a struct that begins with this one. */
struct api_call {
	const struct api_row *row;
};

/* The account that the parameter `account` names, if the session reaches it. */
enum err explorer_api_account(struct request *, struct slice scope, const struct auth_account **ret) MUST_CHECK;
/* ,"name":"value" (without the comma at the beginning of an object). */
void explorer_put_text(struct buf *, const char *name, struct slice value);
void explorer_put_number(struct buf *, const char *name, uint64_t value);
/* ISO 8601 of ticks. */
void explorer_put_time(struct buf *, const char *name, uint64_t ticks);

/* messages.c: all messages of a queue, the hidden ones too. */
enum err explorer_messages_parse(struct request *, struct slice scope) MUST_CHECK;
enum err explorer_messages_format(struct request *) MUST_CHECK;
/* live.c: the newest requests; only for who sees every account. */
enum err explorer_requests_parse(struct request *, struct slice scope) MUST_CHECK;
enum err explorer_requests_format(struct request *) MUST_CHECK;
/* And samples of the last quarter of an hour. */
enum err explorer_history_parse(struct request *, struct slice scope) MUST_CHECK;
enum err explorer_history_format(struct request *) MUST_CHECK;
/* leases.c: who holds which lease until when. */
enum err explorer_leases_parse(struct request *, struct slice scope) MUST_CHECK;
enum err explorer_leases_format(struct request *) MUST_CHECK;
/* why.c: what a request would be told, and why. */
enum err explorer_why_parse(struct request *, struct slice scope) MUST_CHECK;
enum err explorer_why_body(struct request *) MUST_CHECK;
enum err explorer_why_format(struct request *) MUST_CHECK;
/* command.c: a command for the running server. */
enum err explorer_command_parse(struct request *, struct slice scope) MUST_CHECK;
enum err explorer_command_body(struct request *) MUST_CHECK;
enum err explorer_command_format(struct request *) MUST_CHECK;
/* sign.c: a signature of the account's key for the body, a string to sign. */
enum err explorer_sign_parse(struct request *, struct slice scope) MUST_CHECK;
enum err explorer_sign_format(struct request *) MUST_CHECK;

#endif

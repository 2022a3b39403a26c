/* SPDX-License-Identifier: Apache-2.0
 * The audit log's lines about requests: who did or was refused what, by which key or token. The answer goes out when
 * the line is written (io/audit.h). Told are requests that change something or would have, those that were refused, and
 * commands of the admin listener; reads that were allowed only if the setting says so.
 *
 * Never a key, a signature or a token: of those its fingerprint, the first bytes of its SHA-256, by which two requests
 * are seen to come with the same one. */
#include "io/audit.h"
#include "auth/redact.h"
#include "rest/core/conn/exchange_int.h"
#include "rest/core/op.h"
#include "wire/date.h"
#include "wire/hash.h"
#include "wire/json.h"

enum { AUDIT_LINE_BYTES = 64 * 1024, AGENT_MOST_BYTES = 512, FINGERPRINT_BYTES = 8 };

static void put_text(struct buf *b, const char *name, struct slice value)
{
	if (!slice_is_set(value) || value.len == 0)
		return;
	buf_printf(b, ",\"%s\":\"", name);
	json_put_text(b, value);
	BUF_PUT(b, "\"");
}

static void put_fingerprint(struct buf *b, const char *name, struct slice secret)
{
	unsigned char hash[HASH_SHA256_BYTES];
	if (!slice_is_set(secret) || secret.len == 0)
		return;
	hash_sha256(secret, hash);
	buf_printf(b, ",\"%s\":\"", name);
	for (size_t i = 0; i < FINGERPRINT_BYTES; i++)
		buf_printf(b, "%02x", hash[i]);
	BUF_PUT(b, "\"");
}

/* What it came with, also if that proved nothing. */
static void put_credentials(struct buf *b, const struct request *r)
{
	struct slice token = request_header(r, "authorization"), scheme = SLICE_NONE;
	if (slice_is_set(token))
		scheme = slice_cut(&token, ' ');
	if (slice_is_set(scheme) && slice_eq_nocase(scheme, SLICE("Bearer")))
		put_fingerprint(b, "token", slice_trim(token));
	put_fingerprint(b, "sas", request_param(r, "sig"));
}

static void put_who(struct buf *b, const struct request *r)
{
	const struct auth_identity *id = &r->identity;
	put_text(b, "auth", slice_str(r->local ? "socket" : rest_auth_name(r)));
	put_text(b, "account", r->account);
	if (id->key)
		buf_printf(b, ",\"key\":\"key%u\"", id->key);
	put_text(b, "subject", id->subject);
	put_text(b, "tenant", id->tenant);
	put_text(b, "app", id->app);
	put_credentials(b, r);
}

static void put_where_from(struct buf *b, const struct exchange *ex)
{
	const struct request *r = &ex->req;
	char id[UUID_TEXT_BYTES];
	uuid_format(&r->request_id, id);
	put_text(b, "ip", r->client_ip);
	put_text(b, "tls", ex->tls_version ? slice_str(ex->tls_version) : SLICE("none"));
	put_text(b, "agent", slice_first(request_header(r, "user-agent"), AGENT_MOST_BYTES));
	put_text(b, "id", slice_make(id, sizeof id));
	put_text(b, "client_id", r->client_request_id);
}

static void put_object(struct buf *b, const struct request *r)
{
	if (!slice_is_set(r->container) && !slice_is_set(r->object))
		return;
	BUF_PUT(b, ",\"object\":\"");
	struct slice parts[] = { r->container, r->object };
	for (size_t i = 0; i < 2; i++) {
		struct slice rest = slice_is_set(parts[i]) ? parts[i] : SLICE("");
		if (i && rest.len && slice_is_set(parts[0]) && parts[0].len)
			BUF_PUT(b, "/");
		while (rest.len > 0) { /* a name may hold a whole URL */
			bool hidden;
			json_put_text(b, redact_next(&rest, &hidden));
			if (hidden)
				BUF_PUT(b, "REDACTED");
		}
	}
	BUF_PUT(b, "\"");
}

static const char *outcome_of(const struct exchange *ex, bool aborted)
{
	if (ex->req.denied)
		return "refused";
	if (aborted && ex->state != REQUEST_DONE)
		return "aborted";
	return ex->error == ERR_OK && ex->req.response.status < 400 ? "done" : "failed";
}

static void put_line(struct buf *b, const struct exchange *ex, bool aborted)
{
	const struct request *r = &ex->req;
	char time[DATE_ISO_BYTES];
	date_format_iso(r->arrival_ticks, time);
	buf_printf(b, "{\"time\":\"%.*s\",\"door\":\"%s\"", (int)sizeof time, time,
		   r->service == SERVICE_ADMIN ? "admin" : "rest");
	put_text(b, "operation", slice_str(r->op ? r->op->name : "-"));
	put_object(b, r);
	put_text(b, "outcome", slice_str(outcome_of(ex, aborted)));
	buf_printf(b, ",\"status\":%d", r->response.status);
	if (ex->error != ERR_OK)
		put_text(b, "error", slice_str(err_info(ex->error)->code));
	put_text(b, "reason", r->deny_reason);
	put_who(b, r);
	put_where_from(b, ex);
	BUF_PUT(b, "}\n");
}

static bool is_wanted(const struct exchange *ex)
{
	const struct request *r = &ex->req;
	if (!r->op && !r->denied)
		return false; /* nobody decided anything */
	if (r->denied || ex->write_done || ex->write_uncertain)
		return true;
	if (r->head->method == HTTP_GET || r->head->method == HTTP_HEAD)
		return r->server->config.audit_reads && r->service != SERVICE_ADMIN;
	return r->head->method != HTTP_OPTIONS;
}

static bool line_hand_over(struct exchange *ex, bool aborted, struct audit_waiter *w)
{
	struct buf b;
	ex->audited = true;
	if (!is_wanted(ex))
		return false;
	buf_init(&b, AUDIT_LINE_BYTES);
	put_line(&b, ex, aborted);
	if (!buf_ok(&b)) { /* names of a length that no service takes */
		buf_clear(&b);
		BUF_PUT(&b, "{\"outcome\":\"refused\",\"reason\":\"too long to be told\"}\n");
	}
	io_audit_put(ex->rl->server->config.audit, buf_slice(&b), w);
	buf_fini(&b);
	return true;
}

static void written(struct io_task *t)
{
	struct audit_waiter *w = io_container_of(t, struct audit_waiter, task);
	struct exchange *ex = io_container_of(w, struct exchange, audit);
	MAGIC_CHECK(ex, EXCHANGE_MAGIC);
	ex->pending--;
	/* Done or not, nobody is told before the line is written: as for every 503, ask again. */
	if (w->result != ERR_OK) {
		ex->error = ERR_BUSY;
		error_format(ex);
	}
	ex->advanced(ex, DRIVER_DONE);
}

bool audit_hold(struct exchange *ex)
{
	if (ex->audited || !ex->rl->server->config.audit)
		return false;
	ex->audit = (struct audit_waiter){ .loop = ex->rl->loop, .task.run = written };
	ex->pending++; /* the writer may be done before this returns, but not this loop */
	if (line_hand_over(ex, false, &ex->audit))
		return true;
	ex->pending--;
	return false;
}

void audit_note(struct exchange *ex, bool aborted)
{
	if (ex->rl->server->config.audit && !ex->audited && ex->state != REQUEST_NONE)
		(void)line_hand_over(ex, aborted, NULL);
}

enum err audit_check(struct exchange *ex)
{
	const struct request *r = &ex->req;
	struct audit_log *a = r->server->config.audit;
	bool looks_only = r->service == SERVICE_ADMIN && r->head->method == HTTP_GET;
	if (!a || r->parent || looks_only || io_audit_works(a))
		return ERR_OK;
	ex->audited = true; /* there is no room for a line about it; how many they are is counted */
	return ERR_BUSY;
}

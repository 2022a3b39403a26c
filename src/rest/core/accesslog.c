/* SPDX-License-Identifier: Apache-2.0
 * One JSON line per request, gathered per loop and handed to the writer once per turn. Never a signature: the query is
 * written again from its parameters, without the value of what is a signature however it is spelled (auth/redact.h); a
 * query that did not parse is not written at all. */
#include "auth/redact.h"
#include "io/log_writer.h"
#include "rest/core/conn/exchange_int.h"
#include "rest/core/lease_notes.h"
#include "rest/core/op.h"
#include "wire/date.h"

enum { LOG_FLUSH_BYTES = 64 * 1024 };

/* Plain runs are copied whole; what JSON or a terminal could trip over is escaped. */
static void put_text(struct buf *b, struct slice s)
{
	size_t start = 0;
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];
		if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\')
			continue;
		buf_put(b, slice_make(s.ptr + start, i - start));
		buf_printf(b, "\\u%04x", c);
		start = i + 1;
	}
	buf_put(b, slice_from(s, start));
}

static void put_field(struct buf *b, const char *prefix, struct slice value)
{
	buf_put(b, slice_str(prefix));
	put_text(b, value);
}

static void put_number(struct buf *b, const char *prefix, uint64_t value)
{
	buf_put(b, slice_str(prefix));
	buf_put_u64_dec(b, value);
}

static void put_redacted(struct buf *b, struct slice text)
{
	while (text.len > 0) {
		bool hidden;
		put_text(b, redact_next(&text, &hidden));
		if (hidden)
			BUF_PUT(b, "REDACTED");
	}
}

static void put_path(struct buf *b, const struct request *r)
{
	BUF_PUT(b, "\",\"path\":\"");
	put_redacted(b, r->head->path);
	for (size_t i = 0; i < r->query.count; i++) {
		const struct param *p = &r->query.params[i];
		buf_put_byte(b, i ? '&' : '?');
		put_redacted(b, p->name);
		buf_put_byte(b, '=');
		if (redact_is_secret_name(p->name))
			BUF_PUT(b, "REDACTED");
		else
			put_redacted(b, p->raw_value);
	}
}

const char *rest_auth_name(const struct request *r)
{
	static const char *const names[] = {
		[AUTH_ANONYMOUS] = "anonymous",	      [AUTH_SHARED_KEY] = "key",
		[AUTH_ACCOUNT_SAS] = "account-sas",   [AUTH_SERVICE_SAS] = "service-sas",
		[AUTH_DELEGATION_SAS] = "delegation", [AUTH_BEARER] = "bearer",
	};
	return slice_is_set(r->vouched_account) ? "explorer" : names[r->identity.kind];
}

/* For a person at a terminal: time, status, milliseconds, operation, what it was about, and why it was refused. */
static void put_line_for_people(struct buf *b, const struct exchange *ex, bool aborted)
{
	const struct request *r = &ex->req;
	int status = r->response.status;
	const char *colour = aborted || status >= 500 ? "31" : status >= 400 ? "33" : status >= 300 ? "36" : "32";
	char time[DATE_ISO_BYTES];
	date_format_iso(r->arrival_ticks, time);
	uint64_t us = (base_monotonic_ns() - r->arrival_ns) / 1000;
	buf_printf(b, "%.12s  \x1b[%sm%3d\x1b[0m %5llu.%llu ms  %-22s ", time + 11, colour, status,
		   (unsigned long long)(us / 1000), (unsigned long long)(us / 100 % 10), r->op ? r->op->name : "-");
	put_text(b, slice_first(r->head->method_text, 8));
	BUF_PUT(b, " ");
	put_redacted(b, r->head->path);
	if (ex->error != ERR_OK)
		buf_printf(b, "  \x1b[%sm%s\x1b[0m", colour, err_info(ex->error)->code);
	if (slice_is_set(r->reason)) {
		BUF_PUT(b, "\n              ");
		put_text(b, r->reason);
	}
	buf_put(b, aborted ? SLICE("  (the client left)\n") : SLICE("\n"));
}

void accesslog_write(struct exchange *ex, bool aborted)
{
	struct rest_loop *rl = ex->rl;
	const struct request *r = &ex->req;
	struct buf *b = &rl->log;
	metrics_count(ex, aborted);
	notes_take(ex);
	access_charge_quota(ex);
	audit_note(ex, aborted);
	bool watched = live_is_watched(&rl->server->live);
	if (!rl->server->access_log && !watched)
		return;
	size_t start = b->len;
	if (rl->server->log_for_people) {
		put_line_for_people(b, ex, aborted);
		return;
	}
	char id[UUID_TEXT_BYTES], time[DATE_ISO_BYTES];
	date_format_iso(r->arrival_ticks, time);
	uuid_format(&r->request_id, id);
	put_field(b, "{\"time\":\"", slice_make(time, sizeof time));
	put_field(b, "\",\"id\":\"", slice_make(id, sizeof id));
	if (slice_is_set(r->client_request_id))
		put_field(b, "\",\"client_id\":\"", r->client_request_id);
	put_field(b, "\",\"ip\":\"", r->client_ip);
	put_field(b, "\",\"method\":\"", r->head->method_text);
	put_path(b, r);
	put_field(b, "\",\"account\":\"", r->account);
	put_field(b, "\",\"op\":\"", r->op ? slice_str(r->op->name) : SLICE("-"));
	put_field(b, "\",\"auth\":\"", slice_str(rest_auth_name(r)));
	if (ex->error != ERR_OK)
		put_field(b, "\",\"error\":\"", slice_str(err_info(ex->error)->code));
	if (slice_is_set(r->reason))
		put_field(b, "\",\"reason\":\"", r->reason);
	if (slice_is_set(r->log_note))
		put_field(b, "\",\"note\":\"", r->log_note);
	put_number(b, "\",\"status\":", (uint64_t)r->response.status);
	put_number(b, ",\"in\":", ex->bytes_in);
	put_number(b, ",\"out\":", ex->bytes_out);
	put_number(b, ",\"us\":", (base_monotonic_ns() - r->arrival_ns) / 1000);
	if (aborted)
		BUF_PUT(b, ",\"aborted\":true");
	BUF_PUT(b, "}\n");
	if (watched)
		live_put(&rl->server->live, slice_from(buf_slice(b), start),
			 slice_from(service_facts(r->service)->sas_prefix, 1), r->head);
	if (!rl->server->access_log)
		b->len = start;
	if (b->len >= LOG_FLUSH_BYTES)
		accesslog_flush(rl);
}

void accesslog_flush(struct rest_loop *rl)
{
	io_log_writer_put(rl->server->access_log, buf_slice(&rl->log));
	buf_clear(&rl->log);
}

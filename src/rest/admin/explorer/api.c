/* SPDX-License-Identifier: Apache-2.0
 * What the page asks besides the operations of the services: sessions, an overview of the server, and what no operation
 * of a service shows. Answers are JSON. */
#include "rest/admin/explorer/api.h"

#include <inttypes.h>
#include <sys/statvfs.h>

#include "auth/limits.h"
#include "io/tls.h"
#include "rest/admin/explorer/assets.h"
#include "rest/admin/explorer/explorer.h"
#include "wire/base64.h"
#include "wire/date.h"
#include "wire/json.h"

/* Past this the overview says that the disk is nearly full: writes that grow are refused soon. */
enum { DISK_LOW_PERCENT = 5, CERTIFICATE_SOON_DAYS = 14 };

void explorer_put_text(struct buf *b, const char *name, struct slice value)
{
	if (b->len && b->ptr[b->len - 1] != '{')
		buf_put_byte(b, ',');
	buf_printf(b, "\"%s\":\"", name);
	json_put_text(b, slice_is_set(value) ? value : SLICE(""));
	buf_put_byte(b, '"');
}

void explorer_put_number(struct buf *b, const char *name, uint64_t value)
{
	if (b->len && b->ptr[b->len - 1] != '{')
		buf_put_byte(b, ',');
	buf_printf(b, "\"%s\":%" PRIu64, name, value);
}

void explorer_put_time(struct buf *b, const char *name, uint64_t ticks)
{
	char text[DATE_ISO_BYTES];
	date_format_iso(ticks, text);
	explorer_put_text(b, name, slice_make(text, sizeof text));
}

enum err explorer_api_account(struct request *r, struct slice scope, const struct auth_account **ret)
{
	struct slice name = request_param(r, "account");
	const struct auth_account *a = slice_is_set(name) ? rest_access_account(r->access, name) : NULL;
	if (!a || !explorer_scope_has(scope, a->name))
		return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "account", name,
				   "No account of that name, or not within reach of the session.");
	*ret = a;
	return ERR_OK;
}

/* Of those that need no more than the scope. */
struct scope_call {
	struct api_call api;
	struct slice scope;
};

static enum err call_new(struct request *r, struct slice scope)
{
	struct scope_call *c = ARENA_NEW(r->arena, struct scope_call);
	if (!c)
		return ERR_NO_MEMORY;
	c->scope = scope;
	r->call = c;
	return ERR_OK;
}

static struct scope_call *call_of(struct request *r)
{
	return r->call;
}

/* ---- sessions ---- */

static enum err session_take(struct request *r, struct slice scope)
{
	r->fault.message = SLICE("Sign in with an account and its key, or with the admin token.");
	if (!explorer_is_at_home(r))
		return ERR_NO_AUTHENTICATION_INFORMATION;
	r->fault.message = SLICE_NONE;
	return call_new(r, SLICE("*"));
}

static bool key_fits(struct request *r, const struct auth_account *a, struct slice text)
{
	struct slice key;
	if (!a || (a->limits && a->limits->no_shared_key) || base64_decode(text, r->arena, &key) != ERR_OK || !key.len)
		return false;
	bool first = slice_is_set(a->key[0]) && explorer_secret_eq(a->key[0], key);
	bool second = slice_is_set(a->key[1]) && explorer_secret_eq(a->key[1], key);
	return first || second;
}

static enum err session_login_body(struct request *r)
{
	struct json_node *root;
	if (json_parse(r->body, r->arena, 2, &root) != ERR_OK)
		return ERR_INVALID_INPUT;
	struct slice token = json_member_string(root, "token"), name = json_member_string(root, "account");
	struct slice key = json_member_string(root, "key");
	const char *wanted = r->server->config.admin.token;
	if (slice_is_set(token) && wanted && wanted[0] && explorer_secret_eq(token, slice_str(wanted))) {
		call_of(r)->scope = SLICE("*");
		return ERR_OK;
	}
	const struct auth_account *a = slice_is_set(name) ? rest_access_account(r->access, name) : NULL;
	if (slice_is_set(key) && key_fits(r, a, key)) {
		call_of(r)->scope = a->name;
		return ERR_OK;
	}
	r->fault.message = SLICE("No account has that key, or the token is another.");
	r->login_failed = true;
	r->account = a ? a->name : SLICE("");
	return ERR_AUTHENTICATION_FAILED;
}

static enum err session_login(struct request *r, struct slice scope)
{
	return call_new(r, SLICE_NONE);
}

static enum err session_format(struct request *r)
{
	struct buf *b = &r->response.body;
	struct slice scope = call_of(r)->scope, session = explorer_session_make(r, scope);
	if (!slice_is_set(session))
		return ERR_NO_MEMORY;
	BUF_PUT(b, "{");
	explorer_put_text(b, "session", session);
	explorer_put_text(b, "scope", scope);
	BUF_PUT(b, "}\n");
	return ERR_OK;
}

/* ---- overview ---- */

static enum err overview_parse(struct request *r, struct slice scope)
{
	return call_new(r, scope);
}

static void put_endpoints(struct buf *b, const struct rest_server *s)
{
	BUF_PUT(b, ",\"endpoints\":[");
	for (size_t i = 0; i < s->config.listener_count; i++) {
		const struct rest_listener *l = &s->config.listeners[i];
		if (l->path)
			continue; /* the unix socket is not for browsers */
		buf_put(b, i ? SLICE(",{") : SLICE("{"));
		explorer_put_text(b, "service", slice_from(service_facts(l->service)->sas_prefix, 1));
		explorer_put_text(b, "host", slice_str(l->host ? l->host : "127.0.0.1"));
		explorer_put_number(b, "port", rest_server_port(s, i));
		buf_printf(b, ",\"secure\":%s}", l->tls ? "true" : "false");
	}
	const struct rest_admin_config *admin = &s->config.admin;
	if (admin->smb_port && atomic_load(admin->smb_port)) {
		BUF_PUT(b, ",{"); /* the admin listener stands before it */
		explorer_put_text(b, "service", SLICE("smb"));
		explorer_put_text(b, "host", slice_str(admin->smb_host));
		explorer_put_number(b, "port", atomic_load(admin->smb_port));
		BUF_PUT(b, ",\"secure\":false}");
	}
	BUF_PUT(b, "]");
}

/* What the operator forbids on an account (--accountLimits), as far as there is something. */
static void put_limits(struct buf *b, const struct auth_limits *l)
{
	if (!l)
		return;
	BUF_PUT(b, ",\"limits\":{");
	buf_printf(b, "\"sharedKey\":%s,\"publicAccess\":%s", l->no_shared_key ? "false" : "true",
		   l->no_public_access ? "false" : "true");
	if (l->range_count)
		explorer_put_number(b, "addressRanges", l->range_count);
	if (l->sas_max_ticks)
		explorer_put_number(b, "sasMaxHours", l->sas_max_ticks / TICKS_PER_SECOND / 3600);
	if (l->quota) {
		explorer_put_number(b, "requestsPerSecond", l->quota->requests.per_s);
		explorer_put_number(b, "ingressPerSecond", l->quota->ingress.per_s);
		explorer_put_number(b, "egressPerSecond", l->quota->egress.per_s);
	}
	if (l->container_count)
		explorer_put_number(b, "containersWithQuota", l->container_count);
	BUF_PUT(b, "}");
}

/* Keys are shown in development mode alone, where they are no secret. */
static void put_accounts(struct buf *b, const struct request *r, struct slice scope)
{
	bool first = true;
	BUF_PUT(b, ",\"accounts\":[");
	for (size_t i = 0; i < r->access->account_count; i++) {
		const struct auth_account *a = &r->access->accounts[i];
		if (!explorer_scope_has(scope, a->name))
			continue;
		buf_put(b, first ? SLICE("{") : SLICE(",{"));
		first = false;
		explorer_put_text(b, "name", a->name);
		if (r->server->config.admin.development) {
			BUF_PUT(b, ",\"key\":\"");
			base64_encode(b, a->key[0]);
			BUF_PUT(b, "\"");
		}
		put_limits(b, a->limits);
		BUF_PUT(b, "}");
	}
	BUF_PUT(b, "]");
}

static void put_disk(struct buf *b, const struct rest_server *s, bool *ret_low)
{
	struct statvfs fs;
	*ret_low = false;
	if (!s->config.admin.data_dir || statvfs(s->config.admin.data_dir, &fs) != 0)
		return;
	uint64_t free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize, all_bytes = (uint64_t)fs.f_blocks * fs.f_frsize;
	*ret_low = free_bytes < all_bytes / 100 * DISK_LOW_PERCENT;
	explorer_put_number(b, "diskFree", free_bytes);
	explorer_put_number(b, "diskTotal", all_bytes);
}

/* The end of the certificate that the services show, as a time; absent over plain HTTP. */
static void put_certificate(struct buf *b, const struct rest_server *s, uint64_t now_ticks, bool *ret_ends_soon)
{
	int64_t unix_s;
	*ret_ends_soon = false;
	for (size_t i = 0; i < s->config.listener_count; i++) {
		struct io_tls *tls = s->config.listeners[i].tls;
		if (!tls || !io_tls_expiry(tls, &unix_s) || unix_s < 0)
			continue;
		uint64_t ends_ticks = (uint64_t)unix_s * TICKS_PER_SECOND + TICKS_UNIX_EPOCH;
		explorer_put_time(b, "certificateEnds", ends_ticks);
		*ret_ends_soon = ends_ticks < now_ticks + CERTIFICATE_SOON_DAYS * UINT64_C(86400) * TICKS_PER_SECOND;
		return;
	}
}

static void put_warning(struct buf *b, bool holds, const char *text)
{
	if (holds)
		buf_printf(b, "%s\"%s\"", b->ptr[b->len - 1] == '[' ? "" : ",", text);
}

static enum err overview_format(struct request *r)
{
	struct buf *b = &r->response.body;
	const struct rest_server *s = r->server;
	const struct explorer *e = s->service_state[SERVICE_ADMIN];
	struct store_stats store;
	bool disk_low, ends_soon;
	store_stats(s->store, &store);
	BUF_PUT(b, "{");
	explorer_put_text(b, "version", slice_str(s->config.version ? s->config.version : ""));
	explorer_put_text(b, "mode", s->config.admin.development ? SLICE("development") : SLICE("production"));
	explorer_put_text(b, "scope", call_of(r)->scope);
	explorer_put_text(b, "directory", slice_str(s->config.admin.data_dir ? s->config.admin.data_dir : ""));
	explorer_put_time(b, "now", r->arrival_ticks);
	explorer_put_number(b, "upSeconds", (base_monotonic_ns() - e->started_ns) / 1000000000);
	explorer_put_number(b, "liveBytes", store.engine.extent_bytes_live);
	buf_printf(b, ",\"readOnly\":%s,\"versioning\":%s", s->config.admin.read_only ? "true" : "false",
		   s->config.versioning ? "true" : "false");
	put_disk(b, s, &disk_low);
	put_endpoints(b, s);
	put_accounts(b, r, call_of(r)->scope);
	put_certificate(b, s, r->arrival_ticks, &ends_soon);
	BUF_PUT(b, ",\"warnings\":[");
	put_warning(b, disk_low, "The disk is nearly full: writes that grow are refused with 507 when it is.");
	put_warning(b, ends_soon, "The certificate ends within two weeks, or has: replace it, then SIGHUP.");
	put_warning(b, rest_server_is_ending(s), "The server is ending.");
	BUF_PUT(b, "]}\n");
	return ERR_OK;
}

/* ---- the table ---- */

static const struct api_row rows[] = {
	{ "session", false, true, session_take, NULL, session_format },
	{ "session", true, true, session_login, session_login_body, session_format },
	{ "overview", false, false, overview_parse, NULL, overview_format },
	{ "messages", false, false, explorer_messages_parse, NULL, explorer_messages_format },
	{ "requests", false, false, explorer_requests_parse, NULL, explorer_requests_format },
	{ "history", false, false, explorer_history_parse, NULL, explorer_history_format },
	{ "leases", false, false, explorer_leases_parse, NULL, explorer_leases_format },
	{ "sign", true, false, explorer_sign_parse, NULL, explorer_sign_format },
	{ "command", true, false, explorer_command_parse, explorer_command_body, explorer_command_format },
	{ "why", true, false, explorer_why_parse, explorer_why_body, explorer_why_format },
};

bool explorer_has_api(struct slice path)
{
	return slice_has_prefix(path, SLICE("/api/"));
}

static enum err api_parse(struct request *r)
{
	struct slice name = slice_from(r->head->path, sizeof "/api/" - 1), scope = SLICE("");
	bool post = r->head->method == HTTP_POST;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct api_row *row = &rows[i];
		if (!slice_eq(name, slice_str(row->path)) || row->post != post)
			continue;
		if (!row->open)
			TRY(explorer_session_check(r, &scope));
		TRY(row->parse(r, scope));
		((struct api_call *)r->call)->row = row;
		return ERR_OK;
	}
	return ERR_RESOURCE_NOT_FOUND;
}

static enum err api_parse_body(struct request *r)
{
	const struct api_row *row = ((struct api_call *)r->call)->row;
	return row->body ? row->body(r) : ERR_OK;
}

static enum err api_format(struct request *r)
{
	const struct api_row *row = ((struct api_call *)r->call)->row;
	r->response.status = 200;
	response_header(r, "Content-Type", SLICE("application/json"));
	response_header(r, "Cache-Control", SLICE("no-store"));
	response_header(r, "X-Content-Type-Options", SLICE("nosniff"));
	TRY(row->format(r));
	return buf_ok(&r->response.body) ? ERR_OK : ERR_NO_MEMORY;
}

const struct handler handler_explorer_api = { .parse = api_parse, .parse_body = api_parse_body, .format = api_format };

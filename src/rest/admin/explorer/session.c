/* SPDX-License-Identifier: Apache-2.0
 * Sessions of the explorer, and which requests a browser sent for somebody else's page. See explorer.h.
 *
 *   session = scope "." expiry in ticks "." base64(HMAC-SHA256(secret of the process, scope, expiry, its keys))
 *
 * Refused is what a browser sends for another origin (Origin or Sec-Fetch-Site say so), unless it is a link to
 * something to read that somebody followed; a session without login is given only to who used a name of this machine: a
 * foreign name that resolves to 127.0.0.1 gets none. What needs no session, but tells names of objects or changes
 * something, is refused to such a name too. */
#include "rest/admin/explorer/explorer.h"

#include "wire/base64.h"

enum { SESSION_SECONDS = 12 * 3600, SESSION_BYTES_MAX = 256 };

bool explorer_secret_eq(struct slice a, struct slice b)
{
	unsigned char x[HASH_SHA256_BYTES], y[HASH_SHA256_BYTES], differs = 0;
	hash_sha256(a, x);
	hash_sha256(b, y);
	for (size_t i = 0; i < sizeof x; i++)
		differs |= x[i] ^ y[i];
	return differs == 0;
}

static const struct explorer *state_of(const struct request *r)
{
	return r->server->service_state[SERVICE_ADMIN];
}

/* The keys are part of it, so that a session ends with them. */
static enum err session_mac(struct request *r, struct slice scope, uint64_t expiry_ticks,
			    char ret[BASE64_BYTES(HASH_SHA256_BYTES)])
{
	unsigned char mac[HASH_SHA256_BYTES];
	const struct auth_account *a = rest_access_account(r->access, scope);
	struct slice key1 =
		a ? a->key[0] : slice_str(r->server->config.admin.token ? r->server->config.admin.token : "");
	struct slice key2 = a && slice_is_set(a->key[1]) ? a->key[1] : SLICE("");
	struct slice text = arena_printf(r->arena, "%.*s\n%llu\n%zu\n", SLICE_FMT(scope),
					 (unsigned long long)expiry_ticks, key1.len);
	char *all = slice_is_set(text) ? arena_alloc(r->arena, text.len + key1.len + key2.len) : NULL;
	if (!all)
		return ERR_NO_MEMORY;
	size_t len = text.len + key1.len + key2.len;
	memcpy(all, text.ptr, text.len);
	if (key1.len)
		memcpy(all + text.len, key1.ptr, key1.len);
	if (key2.len)
		memcpy(all + text.len + key1.len, key2.ptr, key2.len);
	hash_hmac(&state_of(r)->secret, slice_make(all, len), mac);
	hash_wipe(all, len);
	base64_encode_to(ret, slice_make(mac, sizeof mac));
	return ERR_OK;
}

struct slice explorer_session_make(struct request *r, struct slice scope)
{
	char mac[BASE64_BYTES(HASH_SHA256_BYTES)];
	uint64_t expiry_ticks = r->arrival_ticks + SESSION_SECONDS * TICKS_PER_SECOND;
	if (session_mac(r, scope, expiry_ticks, mac) != ERR_OK)
		return SLICE_NONE;
	return arena_printf(r->arena, "%.*s.%llu.%.*s", SLICE_FMT(scope), (unsigned long long)expiry_ticks,
			    (int)sizeof mac, mac);
}

enum err explorer_session_check(struct request *r, struct slice *ret_scope)
{
	char mac[BASE64_BYTES(HASH_SHA256_BYTES)];
	struct slice rest = request_header(r, "x-zaffre-session");
	r->fault.message = SLICE("This needs a session of the explorer: sign in again.");
	if (!slice_is_set(rest) || rest.len > SESSION_BYTES_MAX)
		return ERR_NO_AUTHENTICATION_INFORMATION;
	struct slice scope = slice_cut(&rest, '.'), expiry = slice_cut(&rest, '.');
	uint64_t expiry_ticks;
	bool known = slice_eq(scope, SLICE("*")) || rest_access_account(r->access, scope);
	if (!known || !slice_to_u64(expiry, &expiry_ticks) || expiry_ticks < r->arrival_ticks)
		return ERR_NO_AUTHENTICATION_INFORMATION;
	TRY(session_mac(r, scope, expiry_ticks, mac));
	if (!slice_is_set(rest) || !explorer_secret_eq(rest, slice_make(mac, sizeof mac)))
		return ERR_NO_AUTHENTICATION_INFORMATION;
	r->fault.message = SLICE_NONE;
	*ret_scope = scope;
	return ERR_OK;
}

bool explorer_scope_has(struct slice scope, struct slice account)
{
	return slice_eq(scope, SLICE("*")) || slice_eq(scope, account);
}

/* The host without its port. */
static struct slice host_name(const struct request *r)
{
	struct slice host = r->head->host;
	if (host.len && host.ptr[0] == '[')
		return slice_first(host, slice_find_byte(host, ']'));
	return slice_first(host, slice_find_byte(host, ':'));
}

static bool is_local_peer(const struct request *r)
{
	struct slice ip = r->client_ip;
	return slice_has_prefix(ip, SLICE("127.")) || slice_eq(ip, SLICE("::1")) ||
	       slice_has_prefix(ip, SLICE("::ffff:127."));
}

static bool is_ipv4(struct slice name)
{
	for (size_t i = 0; i < name.len; i++)
		if (name.ptr[i] != '.' && (name.ptr[i] < '0' || name.ptr[i] > '9'))
			return false;
	return name.len > 0;
}

bool explorer_is_at_home(const struct request *r)
{
	struct slice name = host_name(r);
	bool local_name = slice_eq_nocase(name, SLICE("localhost")) || slice_eq(name, SLICE("[::1")) ||
			  (slice_has_prefix(name, SLICE("127.")) && is_ipv4(name));
	return r->server->config.admin.development && local_name && is_local_peer(r);
}

/* A program of this machine that used a name which is not this machine's: most likely a browser, whose page let its own
 * name resolve to a loopback address. Such a page is of this origin, for all that the browser knows. */
static bool is_misled(const struct request *r)
{
	struct slice name = host_name(r);
	size_t dot = name.len;
	while (dot > 0 && name.ptr[dot - 1] != '.')
		dot--;
	bool ours = name.len == 0 || name.ptr[0] == '[' || is_ipv4(name) ||
		    slice_eq_nocase(slice_from(name, dot), SLICE("localhost"));
	return is_local_peer(r) && !ours;
}

/* Counters and states, without a name of anything stored: whatever name a collector uses. */
static bool is_harmless(struct slice path)
{
	return slice_eq(path, SLICE("/metrics")) || slice_eq(path, SLICE("/healthz")) ||
	       slice_eq(path, SLICE("/readyz"));
}

/* A browser sends this for a page of another origin. Who is no browser says neither. */
static bool is_foreign(const struct request *r)
{
	struct slice site = request_header(r, "sec-fetch-site"), origin = request_header(r, "origin");
	if (slice_is_set(site) && !slice_eq(site, SLICE("same-origin")) && !slice_eq(site, SLICE("none")))
		return true;
	if (!slice_is_set(origin))
		return false;
	struct slice host = slice_has_prefix(origin, SLICE("http://"))	  ? slice_from(origin, 7)
			    : slice_has_prefix(origin, SLICE("https://")) ? slice_from(origin, 8)
									  : SLICE("");
	return !slice_eq_nocase(host, r->head->host);
}

static bool find_service(struct slice name, enum service *ret)
{
	for (enum service s = 0; s < SERVICE_WEB; s++)
		if (slice_eq(name, slice_from(service_facts(s)->sas_prefix, 1))) {
			*ret = s;
			return true;
		}
	return false;
}

bool explorer_is_read_only(const struct request *r)
{
	return r->server->config.admin.read_only || slice_is_set(request_header(r, "x-zaffre-read-only"));
}

/* What changes something and is no question of the page, the test kit for instance. A browser says for which origin it
 * asks; a foreign name that resolves to 127.0.0.1 is its own origin, so the session has to show that it is the page. */
static enum err check_change(struct request *r)
{
	struct slice scope;
	if (r->local)
		return ERR_OK;
	if (explorer_is_read_only(r)) {
		r->fault.message = SLICE("The admin listener is read-only.");
		return ERR_AUTHORIZATION_FAILURE;
	}
	return slice_is_set(request_header(r, "origin")) ? explorer_session_check(r, &scope) : ERR_OK;
}

enum err explorer_redirect(struct request *r)
{
	struct slice path = r->head->path, scope;
	enum service service;
	bool api = explorer_has_api(path), reads = r->head->method == HTTP_GET || r->head->method == HTTP_HEAD;
	bool open_to_all = reads && (is_harmless(path) || explorer_has_page(path));
	bool followed = reads && !api && slice_eq(request_header(r, "sec-fetch-dest"), SLICE("document"));
	if (!open_to_all && !followed && is_foreign(r)) {
		r->fault.message = SLICE("A page of another origin may not ask here.");
		return ERR_AUTHORIZATION_FAILURE;
	}
	/* Who has a session signed in, or used a name of this machine: a proxy here may pass on another one. */
	if (!api && !r->local && !open_to_all && is_misled(r) && explorer_session_check(r, &scope) != ERR_OK) {
		r->fault.message = SLICE("Ask by the address of this machine, or by localhost.");
		return ERR_AUTHORIZATION_FAILURE;
	}
	if (!reads && !api)
		TRY(check_change(r));
	struct slice rest = api ? slice_from(path, sizeof "/api/" - 1) : SLICE("");
	struct slice name = slice_first(rest, slice_find_byte(rest, '/'));
	if (!find_service(name, &service) || name.len == rest.len)
		return ERR_OK;
	TRY(explorer_session_check(r, &scope));
	rest = slice_from(rest, name.len);
	struct slice account = slice_from(rest, 1);
	account = slice_first(account, slice_find_byte(account, '/'));
	const struct auth_account *a = rest_access_account(r->access, account);
	if (!a || !explorer_scope_has(scope, a->name)) {
		r->fault.message = SLICE("This session does not reach that account.");
		return ERR_AUTHORIZATION_FAILURE;
	}
	r->read_only = explorer_is_read_only(r);
	request_hand_over(r, service, a->name, rest);
	return ERR_OK;
}

enum err explorer_start(struct rest_server *s, void **ret_state)
{
	struct explorer *e = calloc(1, sizeof *e);
	struct rng rng;
	unsigned char secret[HASH_SHA256_BYTES];
	if (!e)
		return ERR_NO_MEMORY;
	rng_init_system(&rng);
	rng_bytes(&rng, secret, sizeof secret);
	hash_hmac_key_init(&e->secret, slice_make(secret, sizeof secret));
	hash_wipe(secret, sizeof secret);
	e->started_ns = base_monotonic_ns();
	*ret_state = e;
	return ERR_OK;
}

void explorer_stop(void *state)
{
	struct explorer *e = state;
	if (!e)
		return;
	hash_wipe(e, sizeof *e);
	free(e);
}

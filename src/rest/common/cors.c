/* SPDX-License-Identifier: Apache-2.0
 * What is remembered. Each account and service has a word in the server: an edition (upper bits) and whether that
 * edition has rules (two lowest bits). A set of the properties begins a new edition behind its commit; a reader notes
 * what it read only if the edition is still the one it saw before reading. So "no rules" is never remembered past the
 * set that brought some. */
#include "rest/common/cors.h"

#include <assert.h>

#include "rest/core/server.h"

enum { CORS_UNKNOWN = 0, CORS_NONE = 1, CORS_SOME = 2, CORS_STATE_MASK = 3, CORS_EDITION = 4 };

static atomic_uint_least64_t *cors_word(struct request *r)
{
	const struct rest_server *s = r->server;
	size_t service = service_facts(r->service)->properties;
	if (store_is_shared(s->store))
		return NULL; /* another front end may set rules: nothing is remembered */
	const struct auth_account *a = rest_access_account(r->access, r->account);
	if (!a || a->slot >= REST_CORS_ACCOUNTS)
		return NULL; /* more accounts than words: always look */
	return &r->server->cors_state[a->slot * SERVICE_COUNT + service];
}

static void word_forget(atomic_uint_least64_t *word)
{
	uint64_t seen = atomic_load(word);
	while (!atomic_compare_exchange_weak(word, &seen, (seen & ~(uint64_t)CORS_STATE_MASK) + CORS_EDITION))
		;
}

void cors_forget(struct request *r)
{
	atomic_uint_least64_t *word = cors_word(r);
	if (word)
		word_forget(word);
}

void cors_forget_all(struct rest_server *s)
{
	for (size_t i = 0; i < sizeof s->cors_state / sizeof *s->cors_state; i++)
		word_forget(&s->cors_state[i]);
}

/* False: there are no rules. Errors count as none: the answer itself must not fail for its decoration. */
static bool cors_load(struct request *r, struct service_properties *ret)
{
	atomic_uint_least64_t *word = cors_word(r);
	uint64_t seen = word ? atomic_load_explicit(word, memory_order_acquire) : 0;
	if ((seen & CORS_STATE_MASK) == CORS_NONE)
		return false;
	if (service_properties_load(r, ret) != ERR_OK)
		return false;
	if (word && (seen & CORS_STATE_MASK) == CORS_UNKNOWN)
		atomic_compare_exchange_strong(word, &seen, seen | (ret->cors_count ? CORS_SOME : CORS_NONE));
	return ret->cors_count > 0;
}

/* ---- matching ---- */

/* An asterisk in an origin stands for one or more labels of a subdomain. */
static bool origin_fits_pattern(struct slice pattern, struct slice origin)
{
	size_t star = slice_find_byte(pattern, '*');
	if (star == pattern.len)
		return slice_eq(pattern, origin);
	struct slice front = slice_first(pattern, star), back = slice_from(pattern, star + 1);
	return origin.len > front.len + back.len && slice_has_prefix(origin, front) &&
	       slice_eq(slice_from(origin, origin.len - back.len), back);
}

enum cors_origin cors_match_origin(struct slice list, struct slice origin)
{
	bool fits = false;
	while (slice_is_set(list)) {
		struct slice entry = slice_trim(slice_cut(&list, ','));
		if (slice_eq(entry, SLICE("*")))
			return CORS_ORIGIN_ANY;
		fits = fits || origin_fits_pattern(entry, origin);
	}
	return fits ? CORS_ORIGIN_EXACT : CORS_ORIGIN_NO;
}

bool cors_match_method(struct slice list, struct slice method)
{
	while (slice_is_set(list))
		if (slice_eq(slice_trim(slice_cut(&list, ',')), method))
			return true;
	return false;
}

static bool header_listed(struct slice list, struct slice name)
{
	while (slice_is_set(list)) {
		struct slice entry = slice_trim(slice_cut(&list, ','));
		if (entry.len && entry.ptr[entry.len - 1] == '*') {
			if (slice_has_prefix_nocase(name, slice_first(entry, entry.len - 1)))
				return true;
		} else if (entry.len && slice_eq_nocase(entry, name)) {
			return true;
		}
	}
	return false;
}

bool cors_match_headers(struct slice allowed, struct slice requested)
{
	while (slice_is_set(requested)) {
		struct slice name = slice_trim(slice_cut(&requested, ','));
		if (name.len && !header_listed(allowed, name))
			return false;
	}
	return true;
}

const struct cors_rule *cors_find_rule(const struct service_properties *p, struct slice origin, struct slice method,
				       enum cors_origin *ret_match)
{
	for (size_t i = 0; i < p->cors_count; i++) {
		enum cors_origin match = cors_match_origin(p->cors[i].origins, origin);
		if (match != CORS_ORIGIN_NO && cors_match_method(p->cors[i].methods, method)) {
			*ret_match = match;
			return &p->cors[i];
		}
	}
	return NULL;
}

/* ---- preflight ---- */

struct preflight {
	struct slice origin, method, headers;
	struct service_properties properties;
	const struct cors_rule *rule;
	enum cors_origin match;
};

static enum err parse_preflight(struct request *r)
{
	struct preflight *c = ARENA_NEW(r->arena, struct preflight);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	c->origin = request_header(r, "origin");
	c->method = request_header(r, "access-control-request-method");
	c->headers = request_header(r, "access-control-request-headers");
	if (!slice_is_set(c->origin) || c->origin.len == 0)
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "Origin", SLICE(""));
	if (!slice_is_set(c->method) || c->method.len == 0)
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "Access-Control-Request-Method", SLICE(""));
	TRY(service_properties_load(r, &c->properties));
	c->rule = cors_find_rule(&c->properties, c->origin, c->method, &c->match);
	/* The first rule that fits decides; later ones are not tried for the headers. */
	if (!c->rule || !cors_match_headers(c->rule->allowed_headers, c->headers))
		return ERR_CORS_PREFLIGHT_FAILURE;
	return ERR_OK;
}

static enum err format_preflight(struct request *r)
{
	struct preflight *c = r->call;
	r->response.status = 200;
	response_header(r, "Access-Control-Allow-Origin", c->match == CORS_ORIGIN_ANY ? SLICE("*") : c->origin);
	response_header(r, "Access-Control-Allow-Methods", c->method);
	if (slice_is_set(c->headers) && c->headers.len)
		response_header(r, "Access-Control-Allow-Headers", c->headers);
	response_header_u64(r, "Access-Control-Max-Age", c->rule->max_age_s);
	if (c->match == CORS_ORIGIN_EXACT)
		response_header(r, "Access-Control-Allow-Credentials", SLICE("true"));
	return ERR_OK;
}

const struct handler handler_preflight = { .parse = parse_preflight, .format = format_preflight };

/* ---- actual requests ---- */

static void expose_one(struct buf *b, const struct cors_rule *rule, struct slice name)
{
	if (!header_listed(rule->exposed_headers, name))
		return;
	if (b->len)
		buf_put_byte(b, ',');
	buf_put(b, name);
}

/* Names of the headers the answer really has and the rule exposes; those the driver adds behind us are known. */
static struct slice exposed_headers(struct request *r, const struct cors_rule *rule)
{
	size_t room = r->response.headers.len + 256;
	char *mem = arena_alloc(r->arena, room);
	if (!mem || !rule->exposed_headers.len)
		return SLICE_NONE;
	struct buf b = { .ptr = mem, .cap = room, .limit_bytes = room };
	expose_one(&b, rule, SLICE("x-ms-request-id"));
	if (slice_is_set(r->client_request_id) && r->version >= VERSION(2019, 2, 2))
		expose_one(&b, rule, SLICE("x-ms-client-request-id"));
	expose_one(&b, rule, SLICE("Server"));
	expose_one(&b, rule, SLICE("x-ms-version"));
	for (struct slice rest = buf_slice(&r->response.headers); slice_is_set(rest) && rest.len;) {
		struct slice line = slice_cut(&rest, '\n');
		expose_one(&b, rule, slice_first(line, slice_find_byte(line, ':')));
	}
	expose_one(&b, rule, SLICE("Content-Length"));
	expose_one(&b, rule, SLICE("Date"));
	expose_one(&b, rule,
		   SLICE("Transfer-Encoding")); /* whether the answer has it or not, as the service lists it */
	return buf_ok(&b) && b.len ? buf_slice(&b) : SLICE_NONE;
}

void cors_decorate(struct request *r)
{
	struct service_properties p;
	enum cors_origin match = CORS_ORIGIN_NO;
	const struct http_head *head = r->head;
	if (head->method == HTTP_OPTIONS || !cors_load(r, &p))
		return;
	bool reads = head->method == HTTP_GET || head->method == HTTP_HEAD;
	struct slice origin = request_header(r, "origin");
	/* Caches in between may give a reader's answer to others: without an origin only a rule for all can fit. */
	const struct cors_rule *rule = NULL;
	if (slice_is_set(origin) || reads)
		rule = cors_find_rule(&p, slice_is_set(origin) ? origin : SLICE(""), head->method_text, &match);
	if (rule && !slice_is_set(origin) && match != CORS_ORIGIN_ANY)
		rule = NULL;
	if (rule) {
		struct slice exposed = exposed_headers(r, rule);
		response_header(r, "Access-Control-Allow-Origin", match == CORS_ORIGIN_ANY ? SLICE("*") : origin);
		if (slice_is_set(exposed))
			response_header(r, "Access-Control-Expose-Headers", exposed);
		if (match == CORS_ORIGIN_EXACT)
			response_header(r, "Access-Control-Allow-Credentials", SLICE("true"));
	}
	if (reads && (!rule || match == CORS_ORIGIN_EXACT))
		response_header(r, "Vary", SLICE("Origin"));
}

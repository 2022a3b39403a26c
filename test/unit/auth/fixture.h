/* SPDX-License-Identifier: Apache-2.0
 * A request for the auth tests, made from the text of a head as it comes over the wire. */
#ifndef TEST_AUTH_FIXTURE_H
#define TEST_AUTH_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "auth/auth.h"
#include "auth/sas.h"
#include "base/limits.h"
#include "base/sys/clock.h"
#include "golden.h"
#include "wire/base64.h"
#include "wire/date.h"

struct fixture {
	struct arena arena;
	struct http_head head;
	struct query query;
	struct auth_account account;
	struct auth_request request;
	struct auth_identity identity;
	struct auth_failure failure;
	const struct auth_policy *policies;
	size_t policy_count;
};

static inline uint64_t fixture_ticks(const char *iso)
{
	uint64_t ticks = 0;
	assert_true(date_parse_iso(slice_str(iso), &ticks));
	return ticks;
}

static inline enum err fixture_find_policy(void *arg, struct slice id, struct auth_policy *ret)
{
	struct fixture *f = arg;
	for (size_t i = 0; i < f->policy_count; i++) {
		if (slice_eq(f->policies[i].id, id)) {
			*ret = f->policies[i];
			return ERR_OK;
		}
	}
	return ERR_NOT_FOUND;
}

static inline void fixture_init(struct fixture *f, const char *account, const char *key)
{
	memset(f, 0, sizeof *f);
	arena_init(&f->arena, LIMIT_REQUEST_ARENA_BYTES);
	f->account.name = slice_str(account);
	static char decoded[2][64];
	char *to = decoded[strcmp(account, GOLDEN_ACCOUNT) == 0];
	assert_true(base64_decode_exact(slice_str(key), to, 64));
	f->account.key[0] = slice_make(to, 64);
	auth_account_prepare(&f->account);
	f->request = (struct auth_request){
		.account = &f->account,
		.version = 20260406,
		.secure = true,
		.client_ip = SLICE("10.0.0.5"),
		.now_ticks = fixture_ticks("2026-06-01T12:00:00Z"),
		.find_policy = fixture_find_policy,
		.find_policy_arg = f,
	};
}

static inline void fixture_fini(struct fixture *f)
{
	auth_account_release(&f->account);
	arena_fini(&f->arena);
}

/* Parses the head; false if HTTP or the query refuse it before auth is asked. */
static inline bool fixture_load(struct fixture *f, struct slice head)
{
	size_t scanned = 0;
	if (http_parse_head(head, &scanned, &f->arena, &f->head) != HTTP_PARSE_DONE)
		return false;
	if (uri_parse_query(slice_is_set(f->head.query) ? f->head.query : SLICE(""), &f->arena, &f->query) != ERR_OK)
		return false;
	f->request.head = &f->head;
	f->request.query = &f->query;
	struct slice version = http_header(&f->head, SLICE("x-ms-version"));
	if (version.len)
		f->request.version = sas_version_parse(version);
	return true;
}

/* The account as the path names it, as the router finds it. */
static inline void fixture_path_style(struct fixture *f)
{
	struct slice path = slice_from(f->head.path, 1);
	f->request.path_style = true;
	f->request.account_in_path = slice_first(path, slice_find_byte(path, '/'));
}

static inline enum err fixture_authenticate(struct fixture *f)
{
	return auth_authenticate(&f->request, &f->arena, &f->identity, &f->failure);
}

/* "GET /<anything>?<query>" with header lines. */
static inline bool fixture_get(struct fixture *f, const char *query, const char *headers)
{
	struct slice head = arena_printf(&f->arena, "GET /c/o?%s HTTP/1.1\r\nHost: h\r\n%s\r\n", query, headers);
	assert_true(slice_is_set(head));
	return fixture_load(f, head);
}

#endif

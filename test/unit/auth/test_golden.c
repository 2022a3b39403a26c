/* SPDX-License-Identifier: Apache-2.0
 * What official clients signed is accepted, and nothing of it may be changed. */
#include "fixture.h"

static void request_fixture(struct fixture *f, const struct golden_request *g)
{
	bool dev = strcmp(g->account, GOLDEN_DEV_ACCOUNT) == 0;
	fixture_init(f, g->account, dev ? GOLDEN_DEV_KEY : GOLDEN_KEY);
	f->request.service = g->service;
	f->request.container = slice_str(g->container);
	f->request.object = slice_str(g->object);
}

static enum err request_try(const struct golden_request *g, struct slice head)
{
	struct fixture f;
	request_fixture(&f, g);
	enum err e = ERR_SYNTAX;
	if (fixture_load(&f, head)) {
		if (g->path_style)
			fixture_path_style(&f);
		e = fixture_authenticate(&f);
		if (e == ERR_OK && f.identity.kind != AUTH_SHARED_KEY)
			e = ERR_NOT_FOUND; /* anonymous is not what was sent */
	}
	fixture_fini(&f);
	return e;
}

static void requests_are_accepted(void **state)
{
	for (size_t i = 0; i < sizeof golden_requests / sizeof golden_requests[0]; i++) {
		enum err e = request_try(&golden_requests[i], slice_str(golden_requests[i].head));
		if (e != ERR_OK)
			fail_msg("%s: %s", golden_requests[i].name, err_name(e));
	}
}

static bool line_is_signed(const struct golden_request *g, struct slice line)
{
	static const char *standard[] = {
		"content-encoding:",  "content-language:", "content-length:", "content-md5:",	      "content-type:",
		"if-modified-since:", "if-match:",	   "if-none-match:",  "if-unmodified-since:", "range:"
	};
	if (slice_has_prefix_nocase(line, SLICE("authorization:")))
		return true;
	/* A length of zero is signed as nothing, so its line may go. */
	if (slice_has_prefix_nocase(line, SLICE("content-length: 0")))
		return false;
	if (g->service == SERVICE_TABLE) /* these clients sign the date and the path only */
		return slice_has_prefix_nocase(line, SLICE("x-ms-date:"));
	if (slice_has_prefix_nocase(line, SLICE("x-ms-")))
		return true;
	for (size_t i = 0; i < sizeof standard / sizeof standard[0]; i++)
		if (slice_has_prefix_nocase(line, slice_str(standard[i])))
			return true;
	return false;
}

/* Every byte of the request line's target and of signed header lines, changed one at a time. */
static void changed_requests_are_refused(void **state)
{
	size_t cells = 0;
	for (size_t i = 0; i < sizeof golden_requests / sizeof golden_requests[0]; i++) {
		const struct golden_request *g = &golden_requests[i];
		char text[4096];
		size_t len = strlen(g->head);
		assert_true(len < sizeof text);
		struct slice rest = slice_str(g->head);
		bool first = true;
		while (rest.len > 0) {
			struct slice line = slice_cut(&rest, '\n');
			bool check = first || line_is_signed(g, line);
			size_t from = (size_t)(line.ptr - g->head), until = from + line.len;
			if (first)
				until -= strlen(" HTTP/1.1\r");
			first = false;
			for (size_t k = from; check && k < until; k++) {
				char c = g->head[k];
				/* Case does not count in names, nor does the query of a table request. */
				if (c == '\r' || c == '\n' || c == ' ' || c == ':')
					continue;
				if (g->service == SERVICE_TABLE && from == 0 && memchr(g->head, '?', k + 1))
					continue;
				if (g->service == SERVICE_TABLE && k < 6)
					continue;
				memcpy(text, g->head, len);
				text[k] = c == 'x' ? 'y' : c >= '0' && c <= '8' ? (char)(c + 1) : 'x';
				enum err e = request_try(g, slice_make(text, len));
				if (e == ERR_OK)
					fail_msg("%s: byte %zu ('%c') may change: %.*s", g->name, k, c,
						 SLICE_FMT(line));
				cells++;
			}
		}
	}
	assert_true(cells > 5000);
}

/* A header line added or removed. */
static void moved_lines_are_refused(void **state)
{
	for (size_t i = 0; i < sizeof golden_requests / sizeof golden_requests[0]; i++) {
		const struct golden_request *g = &golden_requests[i];
		static const char *added[] = { "x-ms-meta-zz: 1\r\n", "Content-MD5: 1B2M2Y8AsgTpgAmY7PhCfg==\r\n",
					       "Range: bytes=0-1\r\n", "If-Match: *\r\n", "x-ms-meta-empty:\r\n" };
		char text[4096];
		const char *body = strstr(g->head, "\r\n") + 2;
		for (size_t k = 0; g->service != SERVICE_TABLE && k < sizeof added / sizeof added[0]; k++) {
			int len =
				snprintf(text, sizeof text, "%.*s%s%s", (int)(body - g->head), g->head, added[k], body);
			enum err e = request_try(g, slice_make(text, (size_t)len));
			/* Content-MD5 or a condition may be there already: then it is a repeated header. */
			assert_true(e == ERR_AUTHENTICATION_FAILED || e == ERR_INVALID_HEADER_VALUE);
		}
		struct slice rest = slice_str(body);
		while (rest.len > 2) {
			struct slice line = slice_cut(&rest, '\n');
			size_t at = (size_t)(line.ptr - g->head);
			if (!line_is_signed(g, line))
				continue;
			int len = snprintf(text, sizeof text, "%.*s%s", (int)at, g->head, g->head + at + line.len + 1);
			enum err e = request_try(g, slice_make(text, (size_t)len));
			if (e == ERR_OK)
				fail_msg("%s: may lose %.*s", g->name, SLICE_FMT(line));
		}
	}
}

static const struct auth_policy policy_1 = {
	.id = { "policy-1", 8 },
	.start = { NULL, 0 },
	.expiry = { "2026-06-01T13:00:00Z", 20 },
	.permission = { "rw", 2 },
};

static enum err token_try(const struct golden_token *g, struct fixture *f, const char *query, const char *headers)
{
	fixture_init(f, GOLDEN_ACCOUNT, GOLDEN_KEY);
	f->policies = &policy_1;
	f->policy_count = 1;
	f->request.service = g->service;
	f->request.container = slice_str(g->container);
	f->request.object = slice_str(g->object);
	if (!fixture_get(f, query, headers))
		return ERR_SYNTAX;
	enum err e = fixture_authenticate(f);
	return e == ERR_OK && f->identity.kind == AUTH_ANONYMOUS ? ERR_NOT_FOUND : e;
}

static void tokens_are_accepted(void **state)
{
	for (size_t i = 0; i < sizeof golden_tokens / sizeof golden_tokens[0]; i++) {
		const struct golden_token *g = &golden_tokens[i];
		struct fixture f;
		char query[2048];
		snprintf(query, sizeof query, "%s%s", g->extra, g->token);
		enum err e = token_try(g, &f, query, g->headers);
		if (e != ERR_OK)
			fail_msg("%s: %s: %.*s", g->name, err_name(e), SLICE_FMT(f.failure.detail));
		assert_int_equal(f.identity.kind, g->kind);
		assert_int_equal(f.identity.resource, g->resource);
		assert_true(f.identity.permissions.len > 0);
		if (strstr(g->name, "range")) {
			assert_true(f.identity.has_table_range);
			assert_true(slice_eq(f.identity.start_pk, SLICE("a b")));
			assert_true(slice_eq(f.identity.end_pk, SLICE("m\303\274")));
		}
		fixture_fini(&f);
	}
}

/* Parameters that this token's layout does not sign, and why a change is harmless. */
static bool unsigned_but_harmless(const struct golden_token *g, struct slice name)
{
	/* The table's name is in the resource without case. */
	if (slice_eq(name, SLICE("tn")))
		return false;
	/* Queues and shares have one kind of resource for each path; sr of a file decides whether its path is signed.
	 */
	return slice_eq(name, SLICE("sr")) && g->service == SERVICE_QUEUE;
}

/* Each parameter: changed, removed, emptied, doubled. */
static void changed_tokens_are_refused(void **state)
{
	size_t cells = 0;
	for (size_t i = 0; i < sizeof golden_tokens / sizeof golden_tokens[0]; i++) {
		const struct golden_token *g = &golden_tokens[i];
		char whole[2048];
		snprintf(whole, sizeof whole, "%s%s", g->extra, g->token);
		struct slice rest = slice_str(whole);
		while (slice_is_set(rest)) {
			struct slice param = slice_cut(&rest, '&');
			struct slice value = param, name = slice_cut(&value, '=');
			if (unsigned_but_harmless(g, name))
				continue;
			size_t at = (size_t)(param.ptr - whole), end = at + param.len;
			size_t value_at = (size_t)(value.ptr - whole);
			for (size_t k = 0; k < value.len + 3; k++) {
				char query[4096];
				struct fixture f;
				snprintf(query, sizeof query, "%s", whole);
				if (k < value.len) {
					char c = query[value_at + k];
					query[value_at + k] = c == 'a' || c == 'A'   ? 'b'
							      : c >= '0' && c <= '8' ? (char)(c + 1)
										     : 'a';
				} else if (k == value.len) { /* removed */
					snprintf(query, sizeof query, "%.*sq=1%s", (int)at, whole, whole + end);
				} else if (k == value.len + 1) { /* emptied */
					snprintf(query, sizeof query, "%.*s%s", (int)value_at, whole, whole + end);
				} else { /* doubled */
					snprintf(query, sizeof query, "%s&%.*s", whole, (int)param.len, param.ptr);
				}
				enum err e = token_try(g, &f, query, g->headers);
				if (e == ERR_OK)
					fail_msg("%s: %.*s may change: %s", g->name, SLICE_FMT(param), query);
				fixture_fini(&f);
				cells++;
			}
		}
	}
	assert_true(cells > 10000);
}

/* The resource around the token: another account, container, object or service, each once. */
static void tokens_elsewhere_are_refused(void **state)
{
	for (size_t i = 0; i < sizeof golden_tokens / sizeof golden_tokens[0]; i++) {
		const struct golden_token *g = &golden_tokens[i];
		for (unsigned where = 0; where < 3; where++) {
			struct golden_token moved = *g;
			struct fixture f;
			char query[2048];
			snprintf(query, sizeof query, "%s%s", g->extra, g->token);
			fixture_init(&f, GOLDEN_ACCOUNT, GOLDEN_KEY);
			f.policies = &policy_1;
			f.policy_count = 1;
			if (where == 0) {
				f.account.name = SLICE("goldacct2");
			} else if (g->kind == AUTH_ACCOUNT_SAS) {
				fixture_fini(&f);
				continue; /* reaches the whole account */
			} else if (where == 1) {
				moved.container = "other";
			} else if (strchr("bsvf", g->resource) && !(g->service == SERVICE_FILE && g->resource == 's')) {
				moved.object = "other";
			} else {
				moved.container = "contx";
			}
			f.request.service = moved.service;
			f.request.container = slice_str(moved.container);
			f.request.object = slice_str(moved.object);
			assert_true(fixture_get(&f, query, g->headers));
			if (fixture_authenticate(&f) == ERR_OK)
				fail_msg("%s: may be used elsewhere (%u)", g->name, where);
			fixture_fini(&f);
		}
	}
}

static void signed_headers_and_parameters_count(void **state)
{
	size_t found = 0;
	for (size_t i = 0; i < sizeof golden_tokens / sizeof golden_tokens[0]; i++) {
		const struct golden_token *g = &golden_tokens[i];
		if (!strstr(g->name, "signed request"))
			continue;
		static const char *headers[] = { "", "x-client-tag: blue\r\n", "x-client-tag: red\r\nx-other: a b\r\n",
						 "x-client-tag: blue\r\nx-other: a  b\r\n",
						 "x-client-tag: blue\r\nx-client-tag: blue\r\nx-other: a b\r\n" };
		static const char *extra[] = { "", "foo=2&", "foo=1%2B1&foo=1%2B1&", "foo=1%2B1%0A&" };
		struct fixture f;
		char query[2048];
		for (size_t k = 0; k < sizeof headers / sizeof headers[0]; k++) {
			snprintf(query, sizeof query, "%s%s", g->extra, g->token);
			assert_int_equal(token_try(g, &f, query, headers[k]), ERR_AUTHENTICATION_FAILED);
			fixture_fini(&f);
		}
		for (size_t k = 0; k < sizeof extra / sizeof extra[0]; k++) {
			snprintf(query, sizeof query, "%s%s", extra[k], g->token);
			assert_int_equal(token_try(g, &f, query, g->headers), ERR_AUTHENTICATION_FAILED);
			fixture_fini(&f);
		}
		found++;
	}
	assert_true(found >= 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_accepted),
		cmocka_unit_test(changed_requests_are_refused),
		cmocka_unit_test(moved_lines_are_refused),
		cmocka_unit_test(tokens_are_accepted),
		cmocka_unit_test(changed_tokens_are_refused),
		cmocka_unit_test(tokens_elsewhere_are_refused),
		cmocka_unit_test(signed_headers_and_parameters_count),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

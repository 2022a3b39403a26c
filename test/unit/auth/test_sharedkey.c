/* SPDX-License-Identifier: Apache-2.0
 * Strings to sign, sort orders, dates and malformed headers of Shared Key. */
#include "auth/sharedkey.h"
#include "fixture.h"

static struct slice string_of(struct fixture *f, enum sharedkey_scheme scheme, unsigned variant)
{
	struct slice text = SLICE_NONE;
	assert_int_equal(sharedkey_string(&f->request, scheme, variant, &f->arena, &text), ERR_OK);
	return text;
}

static void assert_text(struct slice got, const char *want)
{
	if (!slice_eq(got, slice_str(want)))
		fail_msg("got\n%.*s\nwant\n%s", SLICE_FMT(got), want);
}

/* The order that a client library of the service produced for these names. */
static void culture_order(void **state)
{
	static const char *sorted[] = {
		"-",   "--",	    "a",	  "a!b",	 "a#b",		  "a$b",	  "a%b",  "a&b",
		"a*b", "a.b",	    "a^b",	  "a_b",	 "a`b",		  "a|b",	  "a~b",  "a+b",
		"a1",  "aa",	    "a-a",	  "aab",	 "aa-b",	  "a-ab",	  "ab",	  "ab-",
		"a'b", "a''b",	    "a'-b",	  "a-b",	 "a-b-",	  "a-'b",	  "a--b", "-ab",
		"b",   "x-ms-date", "x-ms-metaa", "x-ms-meta-a", "x-ms-meta-a-b", "x-ms-version", "z",	  "z_",
		"z9",  "z-9",	    "za",
	};
	size_t count = sizeof sorted / sizeof sorted[0];
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < count; k++) {
			int got = sharedkey_culture_cmp(slice_str(sorted[i]), slice_str(sorted[k]));
			int want = i < k ? -1 : i > k ? 1 : 0;
			if (got != want)
				fail_msg("%s against %s: %d", sorted[i], sorted[k], got);
		}
	}
}

/* Many headers, sent in the worst order: each string has them in its own. */
static void many_headers(void **state)
{
	enum { PAIRS = 400 };
	struct fixture f;
	struct buf b;
	buf_init(&b, LIMIT_HEAD_BYTES);
	BUF_PUT(&b, "GET / HTTP/1.1\r\nHost: h\r\n");
	for (int i = PAIRS; i > 0; i--)
		buf_printf(&b, "x-ms-meta-a%d: 1\r\nx-ms-metaa%d: 1\r\n", i * 7 % PAIRS, i * 7 % PAIRS);
	BUF_PUT(&b, "\r\n");
	fixture_init(&f, GOLDEN_ACCOUNT, GOLDEN_KEY);
	assert_true(fixture_load(&f, buf_slice(&b)));
	static const unsigned variants[] = { 0, SHAREDKEY_CULTURE_ORDER };
	for (size_t v = 0; v < 2; v++) {
		struct slice rest, line, last = SLICE("");
		size_t count = 0;
		assert_int_equal(sharedkey_string(&f.request, SHAREDKEY_LITE, variants[v], &f.arena, &rest), ERR_OK);
		while (slice_is_set(rest)) {
			line = slice_cut(&rest, '\n');
			line.len = slice_find_byte(line, ':');
			if (!slice_has_prefix(line, SLICE("x-ms-")))
				continue;
			assert_true((v ? sharedkey_culture_cmp(last, line) : slice_cmp(last, line)) < 0);
			last = line;
			count++;
		}
		assert_int_equal(count, 2 * PAIRS);
	}
	fixture_fini(&f);
	buf_fini(&b);
}

static void string_full(void **state)
{
	struct fixture f;
	fixture_init(&f, GOLDEN_ACCOUNT, GOLDEN_KEY);
	assert_true(fixture_load(&f, SLICE("PUT /c/o%20x?Comp=block&b=2&blockid=QQ%3D%3D&B=1 HTTP/1.1\r\n"
					   "Host: h\r\n"
					   "Content-Encoding: gzip\r\n"
					   "Content-Language: de\r\n"
					   "Content-Length: 11\r\n"
					   "Content-MD5: md5\r\n"
					   "Content-Type: text/plain\r\n"
					   "Date: Mon, 01 Jun 2026 11:59:00 GMT\r\n"
					   "If-Modified-Since: ims\r\n"
					   "If-Match: im\r\n"
					   "If-None-Match: inm\r\n"
					   "If-Unmodified-Since: ius\r\n"
					   "Range: bytes=0-\r\n"
					   "X-MS-Meta-B: two  \"in  quotes\"  blanks\r\n"
					   "x-ms-version: 2021-12-02\r\n"
					   "x-ms-empty:\r\n"
					   "x-ms-meta-a-b: 1\r\n"
					   "x-ms-meta-aa: 2\r\n"
					   "\r\n")));
	assert_text(string_of(&f, SHAREDKEY_FULL, 0),
		    "PUT\ngzip\nde\n11\nmd5\ntext/plain\nMon, 01 Jun 2026 11:59:00 GMT\nims\nim\ninm\nius\nbytes=0-\n"
		    "x-ms-empty:\nx-ms-meta-a-b:1\nx-ms-meta-aa:2\nx-ms-meta-b:two \"in  quotes\" blanks\n"
		    "x-ms-version:2021-12-02\n"
		    "/goldacct/c/o%20x\nb:1,2\nblockid:QQ==\ncomp:block");
	assert_text(string_of(&f, SHAREDKEY_FULL, SHAREDKEY_CULTURE_ORDER | SHAREDKEY_UNFOLDED),
		    "PUT\ngzip\nde\n11\nmd5\ntext/plain\nMon, 01 Jun 2026 11:59:00 GMT\nims\nim\ninm\nius\nbytes=0-\n"
		    "x-ms-empty:\nx-ms-meta-aa:2\nx-ms-meta-a-b:1\nx-ms-meta-b:two  \"in  quotes\"  blanks\n"
		    "x-ms-version:2021-12-02\n"
		    "/goldacct/c/o%20x\nb:1,2\nblockid:QQ==\ncomp:block");
	assert_text(string_of(&f, SHAREDKEY_LITE, 0),
		    "PUT\nmd5\ntext/plain\nMon, 01 Jun 2026 11:59:00 GMT\n"
		    "x-ms-empty:\nx-ms-meta-a-b:1\nx-ms-meta-aa:2\nx-ms-meta-b:two \"in  quotes\" blanks\n"
		    "x-ms-version:2021-12-02\n"
		    "/goldacct/c/o%20x?comp=block");
	f.request.service = SERVICE_TABLE;
	assert_text(string_of(&f, SHAREDKEY_FULL, 0),
		    "PUT\nmd5\ntext/plain\nMon, 01 Jun 2026 11:59:00 GMT\n/goldacct/c/o%20x?comp=block");
	assert_text(string_of(&f, SHAREDKEY_LITE, 0), "Mon, 01 Jun 2026 11:59:00 GMT\n/goldacct/c/o%20x?comp=block");
	fixture_fini(&f);
}

static void version_switches(void **state)
{
	static const struct {
		const char *version;
		const char *want;
	} rows[] = {
		{ "2014-02-14", "PUT\n\n\n0\n\n\n\n\n\n\n\n\nx-ms-date:d\nx-ms-version:2014-02-14\n/goldacct/" },
		{ "2015-02-21", "PUT\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:d\nx-ms-version:2015-02-21\n/goldacct/" },
		{ "2015-12-11", "PUT\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:d\nx-ms-version:2015-12-11\n/goldacct/" },
		{ "2016-05-31",
		  "PUT\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:d\nx-ms-meta-e:\nx-ms-version:2016-05-31\n/goldacct/" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct fixture f;
		fixture_init(&f, GOLDEN_ACCOUNT, GOLDEN_KEY);
		struct slice head = arena_printf(&f.arena,
						 "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nDate: ignored\r\n"
						 "x-ms-date: d\r\nx-ms-meta-e:\r\nx-ms-version: %s\r\n\r\n",
						 rows[i].version);
		assert_true(fixture_load(&f, head));
		assert_text(string_of(&f, SHAREDKEY_FULL, 0), rows[i].want);
		fixture_fini(&f);
	}
}

/* A request with these header lines, signed by this room's own signer, as Authorization says or with `authorization`.
 */
static enum err try_signed(enum service service, enum sharedkey_scheme scheme, const char *lines, unsigned key)
{
	struct fixture f;
	struct slice head, value = SLICE_NONE;
	fixture_init(&f, GOLDEN_ACCOUNT, GOLDEN_KEY);
	f.request.service = service;
	head = arena_printf(&f.arena, "GET /c?comp=list HTTP/1.1\r\nHost: h\r\n%s\r\n", lines);
	assert_true(fixture_load(&f, head));
	enum err e = sharedkey_sign(&f.request, scheme, &f.arena, &value);
	if (e == ERR_OK) {
		head = arena_printf(&f.arena, "GET /c?comp=list HTTP/1.1\r\nHost: h\r\n%sAuthorization: %.*s\r\n\r\n",
				    lines, SLICE_FMT(value));
		assert_true(fixture_load(&f, head));
		if (key == 1) { /* rotated: the key that signed is now the second one */
			auth_account_release(&f.account);
			f.account.key[1] = f.account.key[0];
			f.account.key[0] = SLICE("another key");
			auth_account_prepare(&f.account);
		} else if (key == 2) { /* and gone */
			auth_account_release(&f.account);
			f.account.key[0] = SLICE("another key");
			f.account.key[1] = SLICE_NONE;
		}
		e = fixture_authenticate(&f);
	}
	fixture_fini(&f);
	return e;
}

/* Signs one target and sends another with the same signature. */
static enum err try_replayed(const char *signed_target, const char *sent_target)
{
	static const char date[] = "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n";
	struct fixture f;
	struct slice value, head;
	fixture_init(&f, GOLDEN_ACCOUNT, GOLDEN_KEY);
	f.request.service = SERVICE_BLOB;
	head = arena_printf(&f.arena, "DELETE %s HTTP/1.1\r\nHost: h\r\n%s\r\n", signed_target, date);
	assert_true(fixture_load(&f, head));
	assert_int_equal(sharedkey_sign(&f.request, SHAREDKEY_FULL, &f.arena, &value), ERR_OK);
	head = arena_printf(&f.arena, "DELETE %s HTTP/1.1\r\nHost: h\r\n%sAuthorization: %.*s\r\n\r\n", sent_target,
			    date, SLICE_FMT(value));
	assert_true(fixture_load(&f, head));
	enum err e = fixture_authenticate(&f);
	fixture_fini(&f);
	return e;
}

/* A signature for deleting an old version must not delete the current blob. */
static void parameters_stay_what_they_were(void **state)
{
	(void)state;
	assert_int_equal(try_replayed("/c/b?versionid=x", "/c/b?versionid=x"), ERR_OK);
	assert_int_equal(try_replayed("/c/b?versionid=x:y", "/c/b?versionid%3Ax=y"), ERR_AUTHENTICATION_FAILED);
	assert_int_equal(try_replayed("/c/b?a=1&versionid=x", "/c/b?a=1%0Aversionid:x"), ERR_AUTHENTICATION_FAILED);
	assert_int_equal(try_replayed("/c/b?a=1&versionid=x", "/c/b?a%3A1%0Aversionid=x"), ERR_AUTHENTICATION_FAILED);
	assert_int_equal(try_replayed("/c/b?a=", "/c/b?a%0A="), ERR_AUTHENTICATION_FAILED);
	/* A line feed alone is part of a name that is looked for. */
	assert_int_equal(try_replayed("/c?prefix=a%0Ab", "/c?prefix=a%0Ab"), ERR_OK);
}

static void dates(void **state)
{
	static const struct {
		const char *lines;
		enum err want;
	} rows[] = {
		{ "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n", ERR_OK },
		{ "x-ms-date: Mon, 01 Jun 2026 11:45:00 GMT\r\n", ERR_OK },
		{ "x-ms-date: Mon, 01 Jun 2026 11:44:59 GMT\r\n", ERR_AUTHENTICATION_FAILED },
		{ "x-ms-date: Mon, 01 Jun 2026 12:15:00 GMT\r\n", ERR_OK },
		{ "x-ms-date: Mon, 01 Jun 2026 12:15:01 GMT\r\n", ERR_AUTHENTICATION_FAILED },
		{ "Date: Mon, 01 Jun 2026 11:50:00 GMT\r\n", ERR_OK },
		{ "Date: Mon, 01 Jun 2026 11:40:00 GMT\r\n", ERR_AUTHENTICATION_FAILED },
		{ "Date: Mon, 01 Jun 2026 11:40:00 GMT\r\nx-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n", ERR_OK },
		{ "Date: Mon, 01 Jun 2026 12:00:00 GMT\r\nx-ms-date: Mon, 01 Jun 2026 11:40:00 GMT\r\n",
		  ERR_AUTHENTICATION_FAILED },
		{ "Date: Mon, 01 Jun 2026 12:00:00 GMT\r\nx-ms-date:\r\n", ERR_AUTHENTICATION_FAILED },
		{ "x-ms-date: 2026-06-01T12:00:00Z\r\n", ERR_AUTHENTICATION_FAILED },
		{ "x-ms-date: yesterday\r\n", ERR_AUTHENTICATION_FAILED },
		{ "", ERR_AUTHENTICATION_FAILED },
		{ "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\nx-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n",
		  ERR_INVALID_HEADER_VALUE },
		{ "Date: Mon, 01 Jun 2026 12:00:00 GMT\r\nRange: bytes=0-1\r\nrange: bytes=0-1\r\n",
		  ERR_INVALID_HEADER_VALUE },
		{ "Date: Mon, 01 Jun 2026 12:00:00 GMT\r\nx-ms-meta-A: 1\r\nx-ms-meta-a: 1\r\n",
		  ERR_INVALID_HEADER_VALUE },
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		for (unsigned service = SERVICE_BLOB; service <= SERVICE_FILE; service++) {
			for (unsigned scheme = SHAREDKEY_FULL; scheme <= SHAREDKEY_LITE; scheme++) {
				enum err e = try_signed((enum service)service, (enum sharedkey_scheme)scheme,
							rows[i].lines, 0);
				if (e != rows[i].want)
					fail_msg("row %zu, service %u: %s", i, service, err_name(e));
			}
		}
	}
}

/* Both schemes of every service: each byte of the head that the string to sign holds, changed after signing. A byte
 * that it does not hold must leave the string as it was, else the request is refused. */
static void changed_after_signing(void **state)
{
	static const char lines[] =
		"Content-Encoding: e\r\nContent-Language: l\r\nContent-Length: 12\r\nContent-MD5: m\r\n"
		"Content-Type: t/u\r\nDate: Mon, 01 Jun 2026 12:00:00 GMT\r\nIf-Match: i\r\n"
		"If-None-Match: j\r\nRange: bytes=1-2\r\nx-ms-meta-a: v\r\nx-ms-version: 2021-12-02\r\n";
	size_t refused = 0;
	for (unsigned n = 0; n < 8; n++) {
		struct fixture f;
		struct slice value, before, after;
		enum sharedkey_scheme scheme = n & 1 ? SHAREDKEY_LITE : SHAREDKEY_FULL;
		fixture_init(&f, GOLDEN_ACCOUNT, GOLDEN_KEY);
		f.request.service = (enum service)(n / 2);
		assert_true(fixture_load(
			&f, arena_printf(&f.arena, "PUT /c/o?comp=x&y=z HTTP/1.1\r\nHost: h\r\n%s\r\n", lines)));
		assert_int_equal(sharedkey_sign(&f.request, scheme, &f.arena, &value), ERR_OK);
		before = string_of(&f, scheme, 0);
		struct slice head = arena_printf(
			&f.arena, "PUT /c/o?comp=x&y=z HTTP/1.1\r\nHost: h\r\n%sAuthorization: %.*s\r\n\r\n", lines,
			SLICE_FMT(value));
		assert_true(fixture_load(&f, head));
		assert_int_equal(fixture_authenticate(&f), ERR_OK);
		for (size_t k = 0; k < head.len; k++) {
			char copy[2048];
			memcpy(copy, head.ptr, head.len);
			copy[k] = copy[k] == 'a' ? 'b' : copy[k] >= '0' && copy[k] <= '8' ? (char)(copy[k] + 1) : 'a';
			if (!fixture_load(&f, slice_make(copy, head.len)))
				continue;
			enum err e = fixture_authenticate(&f);
			if (e != ERR_OK || f.identity.kind == AUTH_ANONYMOUS) {
				refused++;
				continue;
			}
			assert_int_equal(sharedkey_string(&f.request, scheme, 0, &f.arena, &after), ERR_OK);
			if (!slice_eq(before, after))
				fail_msg("service %u, scheme %u: byte %zu may change", n / 2, n & 1, k);
		}
		fixture_fini(&f);
	}
	assert_true(refused > 8 * 100);
}

static void keys_rotate(void **state)
{
	static const char date[] = "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n";
	assert_int_equal(try_signed(SERVICE_BLOB, SHAREDKEY_FULL, date, 0), ERR_OK);
	assert_int_equal(try_signed(SERVICE_BLOB, SHAREDKEY_FULL, date, 1), ERR_OK);
	assert_int_equal(try_signed(SERVICE_BLOB, SHAREDKEY_FULL, date, 2), ERR_AUTHENTICATION_FAILED);
}

static void malformed_headers(void **state)
{
	static const struct {
		const char *authorization;
		enum err want;
	} rows[] = {
		{ "SharedKey", ERR_INVALID_AUTHENTICATION_INFO },
		{ "SharedKey ", ERR_INVALID_AUTHENTICATION_INFO },
		{ "", ERR_INVALID_AUTHENTICATION_INFO },
		{ "SharedKey goldacct", ERR_INVALID_AUTHENTICATION_INFO },
		{ "SharedKey goldacct:", ERR_INVALID_AUTHENTICATION_INFO },
		{ "SharedKey :c2ln", ERR_INVALID_AUTHENTICATION_INFO },
		{ "Basic Z29sZDphY2N0", ERR_INVALID_AUTHENTICATION_INFO },
		{ "SharedKeyX goldacct:c2ln", ERR_INVALID_AUTHENTICATION_INFO },
		{ "SharedKey goldacct:c2ln", ERR_AUTHENTICATION_FAILED },
		{ "SharedKey goldacct:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", ERR_AUTHENTICATION_FAILED },
		{ "SharedKey goldacct2:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", ERR_AUTHENTICATION_FAILED },
		{ "SharedKeyLite goldacct:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", ERR_AUTHENTICATION_FAILED },
		{ "Bearer abc", ERR_INVALID_BEARER_TOKEN },
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct fixture f;
		fixture_init(&f, GOLDEN_ACCOUNT, GOLDEN_KEY);
		assert_true(fixture_load(
			&f, arena_printf(&f.arena,
					 "GET / HTTP/1.1\r\nHost: h\r\nx-ms-date: Mon, 01 Jun 2026 12:00:00 "
					 "GMT\r\nAuthorization: %s\r\n\r\n",
					 rows[i].authorization)));
		enum err e = fixture_authenticate(&f);
		if (e != rows[i].want)
			fail_msg("%s: %s", rows[i].authorization, err_name(e));
		fixture_fini(&f);
	}
}

/* Details the client is shown, and no account key that is empty ever matches. */
static void details(void **state)
{
	struct fixture f;
	fixture_init(&f, GOLDEN_ACCOUNT, GOLDEN_KEY);
	assert_true(fixture_load(&f, SLICE("GET / HTTP/1.1\r\nHost: h\r\nx-ms-date: Mon, 01 Jun 2026 11:00:00 GMT\r\n"
					   "Authorization: SharedKey goldacct:c2ln\r\n\r\n")));
	assert_int_equal(fixture_authenticate(&f), ERR_AUTHENTICATION_FAILED);
	assert_text(f.failure.detail, "Request date header too old: 'Mon, 01 Jun 2026 11:00:00 GMT'");
	assert_true(fixture_load(&f, SLICE("GET / HTTP/1.1\r\nHost: h\r\nx-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
					   "Authorization: SharedKeyLite goldacct:c2ln\r\n\r\n")));
	assert_int_equal(fixture_authenticate(&f), ERR_AUTHENTICATION_FAILED);
	assert_text(f.failure.string_to_sign, "GET\n\n\n\nx-ms-date:Mon, 01 Jun 2026 12:00:00 GMT\n/goldacct/");
	assert_text(f.failure.detail,
		    "The MAC signature found in the HTTP request 'c2ln' is not the same as any computed signature. "
		    "Server used "
		    "following string to sign: 'GET\n\n\n\nx-ms-date:Mon, 01 Jun 2026 12:00:00 GMT\n/goldacct/'.");
	fixture_fini(&f);
}

/* Strings far longer than usual, and every size of memory that is not enough for them. */
static void long_and_out_of_memory(void **state)
{
	struct fixture f;
	struct slice value, before;
	fixture_init(&f, GOLDEN_ACCOUNT, GOLDEN_KEY);
	char lines[16384];
	size_t len = 0;
	for (unsigned i = 0; i < 60; i++)
		len += (size_t)snprintf(lines + len, sizeof lines - len, "X-Ms-Meta-%02u-%u: %0200u\r\n", 59 - i, i, i);
	snprintf(lines + len, sizeof lines - len, "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n");
	assert_true(fixture_load(&f, arena_printf(&f.arena, "PUT /c?b=1&a=2 HTTP/1.1\r\nHost: h\r\n%s\r\n", lines)));
	assert_int_equal(sharedkey_sign(&f.request, SHAREDKEY_FULL, &f.arena, &value), ERR_OK);
	before = string_of(&f, SHAREDKEY_FULL, 0);
	assert_true(before.len > 60 * 200);
	assert_true(fixture_load(&f, arena_printf(&f.arena,
						  "PUT /c?b=1&a=2 HTTP/1.1\r\nHost: h\r\n%sAuthorization: %.*s\r\n\r\n",
						  lines, SLICE_FMT(value))));
	size_t short_of = 0;
	for (size_t limit = 16; limit < 256 * 1024; limit += limit < 8192 ? 16 : 4096) {
		struct arena small;
		arena_init(&small, limit);
		enum err e = auth_authenticate(&f.request, &small, &f.identity, &f.failure);
		assert_true(e == ERR_OK || e == ERR_NO_MEMORY);
		short_of += e == ERR_NO_MEMORY;
		arena_fini(&small);
	}
	assert_true(short_of > 100);
	assert_int_equal(fixture_authenticate(&f), ERR_OK);
	fixture_fini(&f);
}

static void two_authorizations(void **state)
{
	struct fixture f;
	fixture_init(&f, GOLDEN_ACCOUNT, GOLDEN_KEY);
	assert_true(fixture_load(&f, SLICE("GET / HTTP/1.1\r\nHost: h\r\nx-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
					   "Authorization: SharedKey goldacct:c2ln\r\n"
					   "authorization: SharedKey goldacct:c2ln\r\n\r\n")));
	assert_int_equal(fixture_authenticate(&f), ERR_INVALID_AUTHENTICATION_INFO);
	fixture_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(culture_order),
		cmocka_unit_test(many_headers),
		cmocka_unit_test(string_full),
		cmocka_unit_test(version_switches),
		cmocka_unit_test(dates),
		cmocka_unit_test(parameters_stay_what_they_were),
		cmocka_unit_test(keys_rotate),
		cmocka_unit_test(malformed_headers),
		cmocka_unit_test(details),
		cmocka_unit_test(long_and_out_of_memory),
		cmocka_unit_test(two_authorizations),
		cmocka_unit_test(changed_after_signing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 * Layouts that no current client writes any more, and every check behind the signature: all tokens here are well
 * signed. */
#include "base/buf.h"
#include "fixture.h"

struct request_case {
	enum service service;
	const char *container, *object;
	const char *params; /* without sig */
	const char *headers;
	bool plain_http;
	const char *client_ip;
	const char *now;
	unsigned key_index; /* which account key signs */
	bool second_key;    /* the account has two */
};

/* Signs `params` and asks; the caller ends the fixture. */
static enum err ask(struct fixture *f, const struct request_case *c)
{
	struct sas_token token;
	struct slice signature;
	struct buf encoded;
	fixture_init(f, GOLDEN_ACCOUNT, GOLDEN_KEY);
	if (c->second_key)
		f->account.key[1] = SLICE("the second key of this account");
	f->request.service = c->service;
	f->request.container = slice_str(c->container);
	f->request.object = slice_str(c->object ? c->object : "");
	f->request.secure = !c->plain_http;
	if (c->client_ip)
		f->request.client_ip = slice_str(c->client_ip);
	if (c->now)
		f->request.now_ticks = fixture_ticks(c->now);
	static const struct auth_policy policies[] = {
		{ { "all", 3 }, { "2026-06-01T11:00:00Z", 20 }, { "2026-06-01T13:00:00Z", 20 }, { "rwd", 3 } },
		{ { "times", 5 }, { "2026-06-01T11:00:00Z", 20 }, { "2026-06-01T13:00:00Z", 20 }, { NULL, 0 } },
		{ { "letters", 7 }, { NULL, 0 }, { NULL, 0 }, { "r", 1 } },
		{ { "ended", 5 }, { NULL, 0 }, { "2026-06-01T11:59:59Z", 20 }, { "r", 1 } },
		{ { "nothing", 7 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 } },
	};
	f->policies = policies;
	f->policy_count = sizeof policies / sizeof policies[0];
	struct slice unsigned_query = arena_printf(&f->arena, "%s&sig=x%c", c->params, 0);
	assert_true(fixture_get(f, unsigned_query.ptr, c->headers ? c->headers : ""));
	enum sas_kind kind = sas_token_read(&f->query, &token);
	assert_int_not_equal(kind, SAS_NONE);
	enum err e = sas_sign(&f->request, kind, &token, c->key_index, &f->arena, &signature);
	if (e != ERR_OK)
		return e;
	buf_init(&encoded, 4096);
	uri_encode(&encoded, signature, "");
	struct slice query = arena_printf(&f->arena, "%s&sig=%.*s%c", c->params, SLICE_FMT(buf_slice(&encoded)), 0);
	buf_fini(&encoded);
	assert_true(fixture_get(f, query.ptr, c->headers ? c->headers : ""));
	return fixture_authenticate(f);
}

struct row {
	const char *params;
	enum err want;
	const char *detail; /* part of it */
};

static void run_rows(enum service service, const char *container, const char *object, const struct row *rows,
		     size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct fixture f;
		struct request_case c = {
			.service = service, .container = container, .object = object, .params = rows[i].params
		};
		enum err e = ask(&f, &c);
		if (e != rows[i].want)
			fail_msg("%s: %s (%.*s)", rows[i].params, err_name(e), SLICE_FMT(f.failure.detail));
		if (rows[i].detail) {
			assert_true(slice_is_set(f.failure.detail));
			assert_non_null(memmem(f.failure.detail.ptr, f.failure.detail.len, rows[i].detail,
					       strlen(rows[i].detail)));
		}
		fixture_fini(&f);
	}
}
#define RUN_ROWS(service, container, object, rows)                                                                     \
	run_rows(service, container, object, rows, sizeof rows / sizeof rows[0])

#define GOOD_TIMES "se=2026-06-01T13:00:00Z"

static void old_layouts(void **state)
{
	static const struct {
		enum service service;
		const char *params, *want;
	} rows[] = {
		{ SERVICE_BLOB, "sv=2012-02-12&sp=r&st=A&se=B&sr=b&si=I",
		  "r\nA\nB\n/goldacct/Cont/o/b\nI\n2012-02-12" },
		{ SERVICE_BLOB, "sv=2012-02-12&sp=r&st=A&se=B&sr=c&si=I", "r\nA\nB\n/goldacct/Cont\nI\n2012-02-12" },
		{ SERVICE_QUEUE, "sv=2012-02-12&sp=r&st=A&se=B&si=I", "r\nA\nB\n/goldacct/Cont\nI\n2012-02-12" },
		{ SERVICE_TABLE, "sv=2012-02-12&sp=r&tn=Cont&spk=1&srk=2&epk=3&erk=4",
		  "r\n\n\n/goldacct/cont\n\n2012-02-12\n1\n2\n3\n4" },
		{ SERVICE_BLOB, "sv=2013-08-15&sp=r&se=B&sr=b&rscc=1&rscd=2&rsce=3&rscl=4&rsct=5",
		  "r\n\nB\n/goldacct/Cont/o/b\n\n2013-08-15\n1\n2\n3\n4\n5" },
		{ SERVICE_BLOB, "sv=2015-02-21&sp=r&se=B&sr=b&rsct=5&sip=x",
		  "r\n\nB\n/blob/goldacct/Cont/o/b\n\n2015-02-21\n\n\n\n\n5" },
		{ SERVICE_FILE, "sv=2015-02-21&sp=r&se=B&sr=f",
		  "r\n\nB\n/file/goldacct/Cont/o/b\n\n2015-02-21\n\n\n\n\n" },
		{ SERVICE_QUEUE, "sv=2015-02-21&sp=r&se=B", "r\n\nB\n/queue/goldacct/Cont\n\n2015-02-21" },
		{ SERVICE_TABLE, "sv=2014-02-14&sp=r&tn=Cont", "r\n\n\n/goldacct/cont\n\n2014-02-14\n\n\n\n" },
		{ SERVICE_TABLE, "sv=2015-02-21&sp=r&tn=Cont", "r\n\n\n/table/goldacct/cont\n\n2015-02-21\n\n\n\n" },
		{ SERVICE_BLOB, "sv=2015-04-05&sp=r&se=B&sr=b&sip=P&spr=S",
		  "r\n\nB\n/blob/goldacct/Cont/o/b\n\nP\nS\n2015-04-05\n\n\n\n\n" },
		{ SERVICE_BLOB, "sv=2018-11-09&sp=r&se=B&sr=bs&snapshot=N",
		  "r\n\nB\n/blob/goldacct/Cont/o/b\n\n\n\n2018-11-09\nbs\nN\n\n\n\n\n" },
		{ SERVICE_BLOB, "sv=2020-12-06&sp=r&se=B&sr=bv&versionid=N&ses=E",
		  "r\n\nB\n/blob/goldacct/Cont/o/b\n\n\n\n2020-12-06\nbv\nN\nE\n\n\n\n\n" },
		{ SERVICE_BLOB, "sv=2099-01-01&sp=r&se=B&sr=c&snapshot=N",
		  "r\n\nB\n/blob/goldacct/Cont\n\n\n\n2099-01-01\nc\n\n\n\n\n\n\n" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct fixture f;
		struct sas_token token;
		struct slice text;
		fixture_init(&f, GOLDEN_ACCOUNT, GOLDEN_KEY);
		f.request.service = rows[i].service;
		f.request.container = SLICE("Cont");
		f.request.object = SLICE("o/b");
		assert_true(fixture_get(&f, rows[i].params, ""));
		sas_token_read(&f.query, &token);
		assert_int_equal(sas_service_string(&f.request, &token, &f.arena, &text), ERR_OK);
		if (!slice_eq(text, slice_str(rows[i].want)))
			fail_msg("%s gives\n%.*s", rows[i].params, SLICE_FMT(text));
		fixture_fini(&f);
	}
}

static void blob_rows(void **state)
{
	static const struct row rows[] = {
		{ "sv=2012-02-12&sp=r&sr=b&" GOOD_TIMES, ERR_OK, NULL },
		{ "sv=2014-02-14&sp=r&sr=b&" GOOD_TIMES, ERR_OK, NULL },
		{ "sv=2021-12-02&sp=r&sr=b&" GOOD_TIMES, ERR_OK, NULL },
		{ "sv=2021-12-02&sp=r&sr=b&se=2026-06-02", ERR_OK, NULL },
		{ "sv=2021-12-02&sp=r&sr=b&se=2026-06-01T12:00:00Z", ERR_OK, NULL },
		{ "sv=2021-12-02&sp=r&sr=b&se=2026-06-01T11:59:59Z", ERR_AUTHENTICATION_FAILED,
		  "Expiry [Mon, 01 Jun 2026 11:59:59 GMT] - Current [Mon, 01 Jun 2026 12:00:00 GMT]" },
		{ "sv=2021-12-02&sp=r&sr=b&st=2026-06-01T12:00:00Z&" GOOD_TIMES, ERR_OK, NULL },
		{ "sv=2021-12-02&sp=r&sr=b&st=2026-06-01T12:00:01Z&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED,
		  "Signature not valid in the specified time frame: Start [Mon, 01 Jun 2026 12:00:01 GMT]" },
		{ "sv=2021-12-02&sp=r&sr=b", ERR_AUTHENTICATION_FAILED, "se is mandatory" },
		{ "sv=2021-12-02&sr=b&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, "sp is mandatory" },
		{ "sv=2021-12-02&sp=r&sr=b&se=tomorrow", ERR_AUTHENTICATION_FAILED, "not well formed" },
		{ "sv=2021-12-02&sp=r&sr=b&st=x&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, "not well formed" },
		{ "sv=2021-12-02&sp=r&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, "sr is mandatory. Cannot be empty" },
		{ "sv=2021-12-02&sp=r&sr=x&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, "not well formed" },
		{ "sv=2021-12-02&sp=r&sr=f&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, "not well formed" },
		{ "sv=2021-12-02&sp=r&sr=bs&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, "not well formed" },
		{ "sv=2021-12-02&sp=r&sr=bs&snapshot=2026-01-01T00:00:00.0000000Z&" GOOD_TIMES, ERR_OK, NULL },
		{ "sv=2018-03-28&sp=r&sr=bs&snapshot=2026-01-01T00:00:00.0000000Z&" GOOD_TIMES,
		  ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2021-12-02&sp=r&sr=bv&snapshot=2026-01-01T00:00:00.0000000Z&" GOOD_TIMES,
		  ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2021-12-02&sp=r&sr=d&" GOOD_TIMES, ERR_QUERY_PARAMETER_SAS_MANDATORY, NULL },
		{ "sv=2021-12-02&sp=r&sr=d&sdd=-1&" GOOD_TIMES, ERR_QUERY_PARAMETER_SDD_INVALID, NULL },
		{ "sv=2021-12-02&sp=r&sr=d&sdd=1&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, "hierarchical" },
		{ "sv=2019-12-12&sp=r&sr=d&sdd=1&" GOOD_TIMES, ERR_DIRECTORY_SAS_NOT_SUPPORTED_VERSION, NULL },
		{ "sp=r&sr=b&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, "sv is mandatory" },
		{ "sv=2021-1-2&sp=r&sr=b&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, "sv is mandatory" },
		{ "sv=2011-08-18&sp=r&sr=b&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2021-12-02&sp=racwdxltmeop&sr=c&" GOOD_TIMES, ERR_OK, NULL },
		{ "sv=2021-12-02&sp=racwdxyltfmeopi&sr=c&" GOOD_TIMES, ERR_OK, NULL },
		{ "sv=2021-12-02&sp=racwdxltmeiyf&sr=c&" GOOD_TIMES, ERR_OK, NULL },
		{ "sv=2021-12-02&sp=wr&sr=b&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2021-12-02&sp=rr&sr=b&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2021-12-02&sp=rii&sr=b&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2021-12-02&sp=rq&sr=b&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2021-12-02&sp=R&sr=b&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2021-12-02&sp=r&sr=b&spr=http&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2021-12-02&sp=r&sr=b&spr=https,http&" GOOD_TIMES, ERR_OK, NULL },
		{ "sv=2020-12-06&sp=r&sr=b&ses=s&" GOOD_TIMES, ERR_OK, NULL },
		{ "sv=2020-10-02&sp=r&sr=b&ses=s&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2021-12-02&sp=r&sr=b&rscd=a%0d%0ab&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, "not well formed" },
		{ "sv=2021-12-02&sp=r&sp=rw&sr=b&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, "not well formed" },
		{ "sv=2021-12-02&sp=r&SP=rw&sr=b&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, "not well formed" },
		/* stored policies */
		{ "sv=2021-12-02&sr=b&si=all", ERR_OK, NULL },
		{ "sv=2021-12-02&sr=b&si=all&sp=r", ERR_AUTHENTICATION_FAILED, "but not both" },
		{ "sv=2021-12-02&sr=b&si=all&st=2026-06-01T11:00:00Z", ERR_AUTHENTICATION_FAILED, "but not both" },
		{ "sv=2021-12-02&sr=b&si=all&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, "but not both" },
		{ "sv=2021-12-02&sr=b&si=times&sp=r", ERR_OK, NULL },
		{ "sv=2021-12-02&sr=b&si=times", ERR_AUTHENTICATION_FAILED, "sp is mandatory" },
		{ "sv=2021-12-02&sr=b&si=letters&" GOOD_TIMES, ERR_OK, NULL },
		{ "sv=2021-12-02&sr=b&si=letters", ERR_AUTHENTICATION_FAILED, "se is mandatory" },
		{ "sv=2021-12-02&sr=b&si=ended", ERR_AUTHENTICATION_FAILED, "time frame" },
		{ "sv=2021-12-02&sr=b&si=nothing&sp=r&" GOOD_TIMES, ERR_OK, NULL },
		{ "sv=2021-12-02&sr=b&si=revoked&sp=r&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED,
		  "identifier cannot be found" },
	};
	RUN_ROWS(SERVICE_BLOB, "cont", "blob", rows);
}

static void account_rows(void **state)
{
	static const struct row rows[] = {
		{ "sv=2021-12-02&sp=rl&ss=b&srt=so&" GOOD_TIMES, ERR_OK, NULL },
		{ "sv=2021-12-02&sp=lr&ss=qb&srt=os&" GOOD_TIMES, ERR_OK, NULL },
		{ "sv=2015-02-21&sp=rl&ss=b&srt=so&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2021-12-02&sp=rl&ss=bx&srt=so&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2021-12-02&sp=rl&ss=bb&srt=so&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2021-12-02&sp=rl&ss=b&srt=x&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2021-12-02&sp=rl&ss=b&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2021-12-02&sp=rl&srt=s&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2021-12-02&sp=rrl&ss=b&srt=s&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2021-12-02&sp=r!&ss=b&srt=s&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2021-12-02&ss=b&srt=s&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2021-12-02&sp=r&ss=b&srt=s", ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2021-12-02&sp=r&ss=b&srt=s&se=2026-05-31", ERR_AUTHENTICATION_FAILED, "time frame" },
		{ "sv=2019-12-12&sp=r&ss=b&srt=s&ses=x&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, NULL },
	};
	RUN_ROWS(SERVICE_BLOB, "cont", "blob", rows);
}

static void table_and_queue_rows(void **state)
{
	static const struct row table[] = {
		{ "sv=2019-02-02&sp=raud&tn=people&" GOOD_TIMES, ERR_OK, NULL },
		{ "sv=2012-02-12&sp=raud&tn=PEOPLE&" GOOD_TIMES, ERR_OK, NULL },
		{ "sv=2019-02-02&sp=raud&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, "tn is mandatory" },
		{ "sv=2019-02-02&sp=raud&tn=other&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, "not the table" },
		{ "sv=2019-02-02&sp=rdau&tn=people&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2019-02-02&sp=raup&tn=people&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2019-02-02&sp=r&tn=people&spk=a&epk=b&" GOOD_TIMES, ERR_OK, NULL },
		{ "sv=2019-02-02&sp=r&tn=people&srk=a&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2019-02-02&sp=r&tn=people&spk=a&erk=b&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2019-02-02&si=all&tn=people", ERR_OK, NULL },
	};
	static const struct row queue[] = {
		{ "sv=2019-02-02&sp=raup&" GOOD_TIMES, ERR_OK, NULL },
		{ "sv=2019-02-02&sp=raud&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2019-02-02&sp=rpu&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2012-02-12&sp=rp&" GOOD_TIMES, ERR_OK, NULL },
	};
	static const struct row share[] = {
		{ "sv=2019-02-02&sr=s&sp=rcwdl&" GOOD_TIMES, ERR_OK, NULL },
		{ "sv=2019-02-02&sr=f&sp=rcwdl&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2019-02-02&sr=c&sp=r&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2019-02-02&sp=r&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, "sr is mandatory" },
	};
	RUN_ROWS(SERVICE_TABLE, "People", "", table);
	RUN_ROWS(SERVICE_TABLE, "", "",
		 ((const struct row[]){ { "sv=2019-02-02&sp=ra&tn=people&" GOOD_TIMES, ERR_OK, NULL } }));
	RUN_ROWS(SERVICE_QUEUE, "q", "", queue);
	RUN_ROWS(SERVICE_FILE, "sh", "d/f", share);
}

static void addresses_and_protocols(void **state)
{
	static const struct {
		const char *sip, *client;
		enum err want;
	} rows[] = {
		{ "10.0.0.5", "10.0.0.5", ERR_OK },
		{ "10.0.0.5", "10.0.0.6", ERR_AUTHORIZATION_SOURCE_IP_MISMATCH },
		{ "10.0.0.5-10.0.0.9", "10.0.0.5", ERR_OK },
		{ "10.0.0.5-10.0.0.9", "10.0.0.9", ERR_OK },
		{ "10.0.0.5-10.0.0.9", "10.0.0.10", ERR_AUTHORIZATION_SOURCE_IP_MISMATCH },
		{ "10.0.0.5-10.0.0.9", "10.0.0.4", ERR_AUTHORIZATION_SOURCE_IP_MISMATCH },
		{ "10.0.0.9-10.0.0.5", "10.0.0.7", ERR_AUTHORIZATION_SOURCE_IP_MISMATCH },
		{ "10.0.0.5", "::ffff:10.0.0.5", ERR_OK },
		{ "10.0.0.5", "::1", ERR_AUTHORIZATION_SOURCE_IP_MISMATCH },
		{ "::1", "::1", ERR_OK },
		{ "fe80::1-fe80::ff", "fe80::80", ERR_OK },
		{ "10.0.0.5", "", ERR_AUTHORIZATION_SOURCE_IP_MISMATCH },
		{ "10.0.0", "10.0.0.5", ERR_AUTHENTICATION_FAILED },
		{ "10.0.0.5-", "10.0.0.5", ERR_AUTHENTICATION_FAILED },
		{ "10.0.0.1-10.0.0.9-10.0.0.9", "10.0.0.5", ERR_AUTHENTICATION_FAILED },
		{ "999.0.0.1", "10.0.0.5", ERR_AUTHENTICATION_FAILED },
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct fixture f;
		char params[256];
		snprintf(params, sizeof params, "sv=2021-12-02&sp=r&sr=b&" GOOD_TIMES "&sip=%s", rows[i].sip);
		struct request_case c = { .service = SERVICE_BLOB,
					  .container = "c",
					  .object = "b",
					  .params = params,
					  .client_ip = rows[i].client };
		enum err e = ask(&f, &c);
		if (e != rows[i].want)
			fail_msg("%s from %s: %s", rows[i].sip, rows[i].client, err_name(e));
		fixture_fini(&f);
	}
	struct fixture f;
	struct request_case c = { .service = SERVICE_BLOB,
				  .container = "c",
				  .object = "b",
				  .params = "sv=2021-12-02&sp=r&sr=b&spr=https&" GOOD_TIMES };
	assert_int_equal(ask(&f, &c), ERR_OK);
	fixture_fini(&f);
	c.plain_http = true;
	assert_int_equal(ask(&f, &c), ERR_AUTHORIZATION_PROTOCOL_MISMATCH);
	fixture_fini(&f);
	c.params = "sv=2021-12-02&sp=r&sr=b&spr=https,http&" GOOD_TIMES;
	assert_int_equal(ask(&f, &c), ERR_OK);
	fixture_fini(&f);
}

static void overrides_only_where_signed(void **state)
{
	static const struct {
		enum service service;
		const char *params;
		bool want;
	} rows[] = {
		{ SERVICE_BLOB, "sv=2021-12-02&sp=r&sr=b&rsct=text/x&rscc=no-store&" GOOD_TIMES, true },
		{ SERVICE_BLOB, "sv=2013-08-15&sp=r&sr=b&rsct=text/x&rscc=no-store&" GOOD_TIMES, true },
		{ SERVICE_BLOB, "sv=2012-02-12&sp=r&sr=b&rsct=text/x&rscc=no-store&" GOOD_TIMES, false },
		{ SERVICE_BLOB, "sv=2021-12-02&sp=r&ss=b&srt=o&rsct=text/x&rscc=no-store&" GOOD_TIMES, false },
		{ SERVICE_QUEUE, "sv=2021-12-02&sp=r&rsct=text/x&rscc=no-store&" GOOD_TIMES, false },
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct fixture f;
		struct request_case c = {
			.service = rows[i].service, .container = "c", .object = "b", .params = rows[i].params
		};
		assert_int_equal(ask(&f, &c), ERR_OK);
		assert_int_equal(slice_eq(f.identity.override_content_type, SLICE("text/x")), rows[i].want);
		assert_int_equal(slice_eq(f.identity.override_cache_control, SLICE("no-store")), rows[i].want);
		assert_false(slice_is_set(f.identity.override_content_language));
		fixture_fini(&f);
	}
}

static void missing_signature(void **state)
{
	static const char *queries[] = {
		"sv=2021-12-02&sp=r&sr=b&" GOOD_TIMES,
		"sv=2021-12-02&sp=r&sr=b&sig=&" GOOD_TIMES,
		"sv=2021-12-02&ss=b&srt=o&sp=r&" GOOD_TIMES,
		"sig=",
		"sig=AAAA",
		"sv=2021-12-02&skoid=1",
		"sv=2021-12-02&si=all",
		"sig=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA%3D&sv=2021-12-02&sp=r&sr=b&" GOOD_TIMES
	};
	for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++) {
		struct fixture f;
		fixture_init(&f, GOLDEN_ACCOUNT, GOLDEN_KEY);
		f.request.container = SLICE("c");
		f.request.object = SLICE("o");
		assert_true(fixture_get(&f, queries[i], ""));
		assert_int_equal(fixture_authenticate(&f), ERR_AUTHENTICATION_FAILED);
		fixture_fini(&f);
	}
	struct fixture f;
	fixture_init(&f, GOLDEN_ACCOUNT, GOLDEN_KEY);
	assert_true(fixture_get(&f, "restype=container&comp=list&snapshot=x", ""));
	assert_int_equal(fixture_authenticate(&f), ERR_OK);
	assert_int_equal(f.identity.kind, AUTH_ANONYMOUS);
	fixture_fini(&f);
}

static void keys(void **state)
{
	struct fixture f;
	struct request_case c = { .service = SERVICE_BLOB,
				  .container = "c",
				  .object = "b",
				  .params = "sv=2021-12-02&sp=r&sr=b&" GOOD_TIMES,
				  .second_key = true,
				  .key_index = 1 };
	assert_int_equal(ask(&f, &c), ERR_OK); /* the second key, not prepared */
	auth_account_prepare(&f.account);
	assert_int_equal(fixture_authenticate(&f), ERR_OK);
	auth_account_release(&f.account);
	f.account.key[1] = SLICE_NONE; /* rotated away */
	assert_int_equal(fixture_authenticate(&f), ERR_AUTHENTICATION_FAILED);
	f.account.key[0] = SLICE(""); /* no key at all: nothing matches, not even the MAC of an empty key */
	assert_int_equal(fixture_authenticate(&f), ERR_AUTHENTICATION_FAILED);
	fixture_fini(&f);
}

#define UDK_OF(letter)                                                                                                 \
	"&skoid=o&sktid=t&skt=2026-05-31T12:00:00Z&ske=2026-06-03T12:00:00Z&sks=" letter "&skv=2026-02-06"

/* Layouts without known answers: each byte of each signed parameter, changed after signing. */
static void changed_after_signing(void **state)
{
	static const struct {
		enum service service;
		const char *params;
	} rows[] = {
		{ SERVICE_BLOB, "sv=2012-02-12&sp=rw&st=2026-06-01T11:00:00Z&sr=b&" GOOD_TIMES },
		{ SERVICE_BLOB, "sv=2012-02-12&sr=c&si=all" },
		{ SERVICE_BLOB,
		  "sv=2013-08-15&sp=rw&st=2026-06-01T11:00:00Z&sr=b&rscc=a&rscd=b&rsce=c&rscl=d&rsct=e&" GOOD_TIMES },
		{ SERVICE_BLOB, "sv=2014-02-14&sp=rw&sr=c&rsct=e&" GOOD_TIMES },
		{ SERVICE_BLOB, "sv=2015-02-21&sp=rw&sr=c&rsct=e&" GOOD_TIMES },
		{ SERVICE_QUEUE, "sv=2012-02-12&sp=rp&st=2026-06-01T11:00:00Z&" GOOD_TIMES },
		{ SERVICE_QUEUE, "sv=2014-02-14&si=all" },
		{ SERVICE_QUEUE, "sv=2015-02-21&sp=rp&" GOOD_TIMES },
		{ SERVICE_TABLE,
		  "sv=2012-02-12&sp=ra&st=2026-06-01T11:00:00Z&tn=c&spk=a&srk=b&epk=c&erk=d&" GOOD_TIMES },
		{ SERVICE_TABLE, "sv=2015-02-21&sp=ra&tn=c&spk=a&" GOOD_TIMES },
		{ SERVICE_TABLE, "sv=2099-12-31&sp=ra&tn=c&sip=10.0.0.5&spr=https&spk=a&" GOOD_TIMES },
		{ SERVICE_FILE, "sv=2015-02-21&sp=r&sr=f&rsct=e&" GOOD_TIMES },
		{ SERVICE_FILE, "sv=2015-04-05&sp=r&sr=s&rsct=e&sip=10.0.0.5&" GOOD_TIMES },
		{ SERVICE_BLOB, "sv=2099-12-31&sp=r&sr=bs&snapshot=2026-01-01T00:00:00Z&ses=e&rsct=e&sip=10.0.0.5&spr="
				"https&" GOOD_TIMES },
		{ SERVICE_BLOB,
		  "sv=2099-12-31&sp=r&ss=bq&srt=so&ses=e&sip=10.0.0.5&spr=https&st=2026-06-01T11:00:00Z&" GOOD_TIMES },
		{ SERVICE_BLOB,
		  "sv=2099-12-31&sp=r&sr=bv&versionid=v&saoid=a&scid=s&srh=host&srq=versionid&rscd=r&" GOOD_TIMES
			  UDK_OF("b") },
		{ SERVICE_QUEUE, "sv=2026-02-06&sp=r&sip=10.0.0.5&spr=https&" GOOD_TIMES UDK_OF("q") },
		{ SERVICE_TABLE, "sv=2026-02-06&sp=r&tn=c&spk=a&" GOOD_TIMES UDK_OF("t") },
		{ SERVICE_FILE, "sv=2026-02-06&sp=r&sr=f&rscl=l&" GOOD_TIMES UDK_OF("f") },
	};
	size_t cells = 0;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct fixture f;
		struct request_case c = {
			.service = rows[i].service, .container = "c", .object = "b", .params = rows[i].params
		};
		enum err e = ask(&f, &c);
		if (e != ERR_OK)
			fail_msg("%s: %s (%.*s)", rows[i].params, err_name(e), SLICE_FMT(f.failure.detail));
		struct slice whole = arena_dup(&f.arena, f.head.query);
		for (size_t k = 1; k < whole.len; k++) {
			char query[2048];
			snprintf(query, sizeof query, "%.*s", SLICE_FMT(whole));
			if (query[k] == '&' || query[k] == '=')
				continue;
			query[k] = query[k] == 'a' || query[k] == 'A'	? 'b'
				   : query[k] >= '0' && query[k] <= '8' ? (char)(query[k] + 1)
									: 'a';
			if (!fixture_get(&f, query, ""))
				continue;
			if (fixture_authenticate(&f) == ERR_OK && f.identity.kind != AUTH_ANONYMOUS)
				fail_msg("%.*s\nmay become\n%s", SLICE_FMT(whole), query);
			cells++;
		}
		fixture_fini(&f);
	}
	assert_true(cells > 2000);
}

#define UDK                                                                                                            \
	"&skoid=11111111-2222-3333-4444-555555555555&sktid=t&skt=2026-05-31T12:00:00Z&ske=2026-06-03T12:00:00Z&sks=b"  \
	"&skv=2021-12-02"

#define HOST4  "host,host,host,host"
#define HOST16 HOST4 "," HOST4 "," HOST4 "," HOST4
#define HOST64 HOST16 "," HOST16 "," HOST16 "," HOST16

static void delegation_rows(void **state)
{
	static const struct row rows[] = {
		{ "sv=2021-12-02&sp=r&sr=b&" GOOD_TIMES UDK, ERR_OK, NULL },
		{ "sv=2018-11-09&sp=r&sr=b&" GOOD_TIMES UDK, ERR_OK, NULL },
		{ "sv=2018-03-28&sp=r&sr=b&" GOOD_TIMES UDK, ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2021-12-02&sp=r&sr=b&se=2026-06-03T12:00:01Z" UDK, ERR_OK, NULL }, /* behind ske */
		{ "sv=2021-12-02&sp=r&sr=b&se=2026-06-03T12:00:00Z" UDK, ERR_OK, NULL },
		{ "sv=2021-12-02&sp=r&sr=b&st=2026-05-31T11:59:59Z&" GOOD_TIMES UDK, ERR_OK, NULL }, /* before skt */
		{ "sv=2021-12-02&sp=r&sr=b&st=2026-05-31T12:00:00Z&" GOOD_TIMES UDK, ERR_OK, NULL },
		{ "sv=2021-12-02&sp=r&sr=b&si=all&" GOOD_TIMES UDK, ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2021-12-02&sr=b&" GOOD_TIMES UDK, ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2021-12-02&sp=r&sr=b" UDK, ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2021-12-02&sp=wr&sr=b&" GOOD_TIMES UDK, ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2021-12-02&sp=r&sr=b&saoid=a&" GOOD_TIMES UDK, ERR_OK, NULL },
		{ "sv=2019-12-12&sp=r&sr=b&saoid=a&" GOOD_TIMES UDK, ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2021-12-02&sp=r&sr=b&suoid=a&" GOOD_TIMES UDK, ERR_AUTHENTICATION_FAILED, "hierarchical" },
		{ "sv=2025-05-05&sp=r&sr=b&sduoid=a&" GOOD_TIMES UDK, ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2025-07-05&sp=r&sr=b&sduoid=a&" GOOD_TIMES UDK, ERR_AUTHENTICATION_FAILED, "another user" },
		{ "sv=2025-07-05&sp=r&sr=b&srh=host&" GOOD_TIMES UDK, ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2026-04-06&sp=r&sr=b&srh=host&" GOOD_TIMES UDK, ERR_OK, NULL },
		{ "sv=2026-04-06&sp=r&sr=b&srh=host,&" GOOD_TIMES UDK, ERR_OK, NULL },
		{ "sv=2026-04-06&sp=r&sr=b&srh=" HOST64 "&" GOOD_TIMES UDK, ERR_OK, NULL },
		{ "sv=2026-04-06&sp=r&sr=b&srh=" HOST64 ",host&" GOOD_TIMES UDK, ERR_AUTHENTICATION_FAILED,
		  "srh or srq" },
		{ "sv=2026-04-06&sp=r&sr=b&srh=host,,x&" GOOD_TIMES UDK, ERR_AUTHENTICATION_FAILED, "srh or srq" },
		{ "sv=2026-04-06&sp=r&sr=b&srh=missing&" GOOD_TIMES UDK, ERR_AUTHENTICATION_FAILED, "srh or srq" },
		{ "sv=2026-04-06&sp=r&sr=b&srq=a:b&a=c&" GOOD_TIMES UDK, ERR_AUTHENTICATION_FAILED, "srh or srq" },
		{ "sv=2026-04-06&sp=r&sr=b&srq=a&a=c%0ab&" GOOD_TIMES UDK, ERR_AUTHENTICATION_FAILED, "srh or srq" },
		{ "sv=2026-04-06&sp=r&sr=b&srq=a&a=c&" GOOD_TIMES UDK, ERR_OK, NULL },
		{ "sv=2021-12-02&sp=r&sr=b&" GOOD_TIMES
		  "&skoid=1&sktid=t&skt=2026-05-31T12:00:00Z&ske=2026-06-01T11:59:59Z&sks=b&skv=2021-12-02",
		  ERR_AUTHENTICATION_FAILED, "time frame" },
		{ "sv=2021-12-02&sp=r&sr=b&" GOOD_TIMES
		  "&skoid=1&sktid=t&skt=2026-06-01T12:00:01Z&ske=2026-06-03T12:00:00Z&sks=b&skv=2021-12-02",
		  ERR_AUTHENTICATION_FAILED, "time frame" },
		{ "sv=2021-12-02&sp=r&sr=b&" GOOD_TIMES
		  "&skoid=1&sktid=t&skt=2026-05-31T12:00:00Z&ske=2026-06-03T12:00:00Z&sks=q&skv=2021-12-02",
		  ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2021-12-02&sp=r&sr=b&" GOOD_TIMES
		  "&skoid=1&sktid=t&skt=2026-05-31T12:00:00Z&ske=2026-06-03T12:00:00Z&sks=b&skv=new",
		  ERR_AUTHENTICATION_FAILED, NULL },
		{ "sv=2021-12-02&sp=r&sr=b&" GOOD_TIMES
		  "&skoid=1&skt=2026-05-31T12:00:00Z&ske=2026-06-03T12:00:00Z&sks=b&skv=2021-12-02",
		  ERR_AUTHENTICATION_FAILED, NULL },
	};
	RUN_ROWS(SERVICE_BLOB, "cont", "blob", rows);
	/* For one object, used where none is addressed: it must not reach the container. */
	static const struct row no_object[] = {
		{ "sv=2021-12-02&sp=r&sr=b&" GOOD_TIMES UDK, ERR_AUTHENTICATION_FAILED, "well formed" },
		{ "sv=2021-12-02&sp=r&sr=b&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, "well formed" },
		{ "sv=2021-12-02&sp=r&sr=bs&snapshot=s&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, "well formed" },
		{ "sv=2021-12-02&sp=r&sr=bv&versionid=v&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, "well formed" },
		{ "sv=2021-12-02&sp=r&sr=c&" GOOD_TIMES, ERR_OK, NULL },
	};
	RUN_ROWS(SERVICE_BLOB, "cont", "", no_object);
	static const struct row no_file[] = {
		{ "sv=2021-12-02&sp=r&sr=f&" GOOD_TIMES, ERR_AUTHENTICATION_FAILED, "well formed" },
		{ "sv=2021-12-02&sp=r&sr=s&" GOOD_TIMES, ERR_OK, NULL },
	};
	RUN_ROWS(SERVICE_FILE, "share", "", no_file);
	static const struct row queue[] = {
		{ "sv=2026-02-06&sp=r&" GOOD_TIMES UDK_OF("q"), ERR_OK, NULL },
		{ "sv=2025-11-05&sp=r&" GOOD_TIMES UDK_OF("q"), ERR_AUTHENTICATION_FAILED, "well formed" },
		{ "sv=2018-11-09&sp=r&" GOOD_TIMES UDK_OF("q"), ERR_AUTHENTICATION_FAILED, "well formed" },
		{ "sv=2026-02-06&sp=r&saoid=a&" GOOD_TIMES UDK_OF("q"), ERR_AUTHENTICATION_FAILED, "well formed" },
	};
	RUN_ROWS(SERVICE_QUEUE, "q", "", queue);
	struct fixture f;
	struct request_case c = { .service = SERVICE_BLOB,
				  .container = "c",
				  .object = "b",
				  .params = "sv=2021-12-02&sp=r&sr=b&" GOOD_TIMES UDK };
	assert_int_equal(ask(&f, &c), ERR_OK);
	assert_int_equal(f.identity.kind, AUTH_DELEGATION_SAS);
	assert_true(slice_eq(f.identity.subject, SLICE("11111111-2222-3333-4444-555555555555")));
	auth_account_release(&f.account);
	f.account.key[0] = SLICE("rotated"); /* takes every delegation key back */
	assert_int_equal(fixture_authenticate(&f), ERR_AUTHENTICATION_FAILED);
	fixture_fini(&f);
}

/* Every field of a delegation key counts. */
static void delegation_keys_differ(void **state)
{
	struct fixture f;
	unsigned char first[AUTH_DELEGATION_KEY_BYTES], other[AUTH_DELEGATION_KEY_BYTES];
	fixture_init(&f, GOLDEN_ACCOUNT, GOLDEN_KEY);
	const struct auth_delegation base = {
		SLICE("oid"),	     SLICE("tid"), 10 * TICKS_PER_SECOND, 20 * TICKS_PER_SECOND, SLICE("b"),
		SLICE("2021-12-02"), SLICE_NONE
	};
	assert_int_equal(auth_delegation_key(&f.account, &base, first), ERR_OK);
	for (unsigned i = 0; i < 9; i++) {
		struct auth_delegation d = base;
		struct auth_account a = f.account;
		bool same = i >= 7;
		switch (i) {
		case 0:
			d.object_id = SLICE("oie");
			break;
		case 1:
			d.tenant_id = SLICE("tie");
			break;
		case 2:
			d.start_ticks += TICKS_PER_SECOND;
			break;
		case 3:
			d.expiry_ticks += TICKS_PER_SECOND;
			break;
		case 4:
			d.service = SLICE("q");
			break;
		case 5:
			d.delegated_tenant = SLICE("x");
			break;
		case 6:
			a.name = SLICE("goldacct2");
			break;
		case 7:
			d.start_ticks += TICKS_PER_SECOND / 2; /* clients cut fractions off */
			break;
		case 8:
			d.object_id = SLICE("OID");
			break;
		}
		assert_int_equal(auth_delegation_key(&a, &d, other), ERR_OK);
		assert_int_equal(memcmp(first, other, sizeof first) == 0, same);
	}
	struct auth_delegation tricky = base;
	tricky.object_id = SLICE("oid\ntid");
	assert_int_equal(auth_delegation_key(&f.account, &tricky, other), ERR_NOT_FOUND);
	fixture_fini(&f);
}

/* No memory is an error, at whichever allocation it happens. */
static void arena_runs_out(void **state)
{
	struct fixture f;
	struct request_case c = { .service = SERVICE_BLOB,
				  .container = "c",
				  .object = "b",
				  .params = "sv=2021-12-02&sp=r&sr=b&" GOOD_TIMES };
	assert_int_equal(ask(&f, &c), ERR_OK);
	struct arena small;
	arena_init(&small, 64);
	assert_int_equal(auth_authenticate(&f.request, &small, &f.identity, &f.failure), ERR_NO_MEMORY);
	arena_fini(&small);
	fixture_fini(&f);
}

/* Each byte alone as what an account SAS grants, reaches, or is for. */
static void account_letters(void **state)
{
	static const struct {
		const char *format, *letters;
	} rows[] = {
		{ "sv=2021-12-02&sp=%%%02X&ss=b&srt=o&" GOOD_TIMES, "rwdxylacuptfimeo" },
		{ "sv=2021-12-02&sp=r&ss=%%%02X&srt=o&" GOOD_TIMES, "bqtf" },
		{ "sv=2021-12-02&sp=r&ss=b&srt=%%%02X&" GOOD_TIMES, "sco" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		for (unsigned c = 1; c < 128; c++) {
			char params[128];
			snprintf(params, sizeof params, rows[i].format, c);
			struct row row = { params, strchr(rows[i].letters, (int)c) ? ERR_OK : ERR_AUTHENTICATION_FAILED,
					   NULL };
			run_rows(SERVICE_BLOB, "c", "o", &row, 1);
		}
}

static struct sas_token token_of(struct slice name, struct slice value)
{
	struct param p = { .name = name, .value = value };
	struct query q = { .params = &p, .count = 1 };
	struct sas_token token;
	sas_token_read(&q, &token);
	return token;
}

/* Each field by its name, whatever the case, and by nothing near to it. */
static void field_names(void **state)
{
	static const char *const names[SAS_FIELDS] = {
#define X(id, text) [SAS_##id] = text,
		SAS_FIELD_LIST(X)
#undef X
	};
	for (unsigned field = 0; field < SAS_FIELDS; field++) {
		char name[16];
		size_t len = strlen(names[field]);
		for (size_t at = 0; at < len; at++)
			for (int c = 0; c < 256; c++) {
				memcpy(name, names[field], len);
				name[at] = (char)c;
				struct sas_token token = token_of(slice_make(name, len), SLICE("v"));
				for (unsigned other = 0; other < SAS_FIELDS; other++) {
					bool same = slice_eq_nocase(slice_make(name, len), slice_str(names[other]));
					assert_int_equal(slice_is_set(token.field[other]), same);
				}
			}
		memcpy(name, names[field], len);
		name[len] = names[field][len - 1];
		assert_false(slice_is_set(token_of(slice_make(name, len + 1), SLICE("v")).field[field]));
		assert_false(slice_is_set(token_of(slice_make(name, len - 1), SLICE("v")).field[field]));
	}
	assert_int_equal(token_of(SLICE(""), SLICE("v")).repeated, false);
}

static void control_bytes(void **state)
{
	for (size_t len = 1; len < 36; len++)
		for (size_t at = 0; at < len; at++)
			for (int c = 0; c < 256; c++) {
				char value[36];
				memset(value, 'v', len);
				value[at] = (char)c;
				assert_int_equal(token_of(SLICE("se"), slice_make(value, len)).control_bytes,
						 c < 0x20 || c == 0x7f);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(field_names),
		cmocka_unit_test(control_bytes),
		cmocka_unit_test(account_letters),
		cmocka_unit_test(old_layouts),
		cmocka_unit_test(blob_rows),
		cmocka_unit_test(account_rows),
		cmocka_unit_test(table_and_queue_rows),
		cmocka_unit_test(addresses_and_protocols),
		cmocka_unit_test(overrides_only_where_signed),
		cmocka_unit_test(missing_signature),
		cmocka_unit_test(keys),
		cmocka_unit_test(changed_after_signing),
		cmocka_unit_test(delegation_rows),
		cmocka_unit_test(delegation_keys_differ),
		cmocka_unit_test(arena_runs_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

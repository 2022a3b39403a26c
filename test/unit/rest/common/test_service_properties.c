/* SPDX-License-Identifier: Apache-2.0
 * The record of service properties, and how CORS rules match. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "rest/common/cors.h"
#include "rest/common/service_properties.h"

static void assert_slice(struct slice a, struct slice b)
{
	assert_int_equal(slice_is_set(a), slice_is_set(b));
	assert_int_equal(a.len, b.len);
	if (a.len)
		assert_memory_equal(a.ptr, b.ptr, a.len);
}

static struct service_properties sample(void)
{
	struct service_properties p = account_service_properties_default();
	p.logging.read = true;
	p.logging.retention = (struct retention_policy){ .enabled = true, .days = 7 };
	p.hour.enabled = p.hour.include_apis = true;
	p.minute.retention.days = 365;
	p.cors_count = 2;
	p.cors[0] = (struct cors_rule){ SLICE("http://a.com"), SLICE("GET,PUT"), SLICE("x-ms-*"), SLICE(""), 60 };
	p.cors[1] = (struct cors_rule){ SLICE("*"), SLICE("GET"), SLICE("*"), SLICE("*"), 1 };
	p.default_version = SLICE("2021-02-12");
	p.delete_retention = (struct retention_policy){ .enabled = true, .days = 3, .allow_permanent_delete = true };
	p.website = (struct static_website){ .enabled = true,
					     .index_document = SLICE("index.html"),
					     .error_document = SLICE("404.html") };
	return p;
}

static void test_record(void **state)
{
	struct service_properties p = sample(), q;
	struct buf b, again;
	buf_init(&b, 65536);
	buf_init(&again, 65536);
	account_service_properties_encode(&b, &p);
	assert_true(buf_ok(&b));
	memset(&q, 0xff, sizeof q);
	assert_int_equal(account_service_properties_decode(buf_slice(&b), &q), ERR_OK);
	assert_true(q.logging.read && !q.logging.write && !q.logging.del && q.logging.retention.days == 7);
	assert_true(q.hour.enabled && q.hour.include_apis && !q.minute.enabled && q.minute.retention.days == 365);
	assert_int_equal(q.cors_count, 2);
	assert_slice(q.cors[0].methods, SLICE("GET,PUT"));
	assert_slice(q.cors[0].exposed_headers, SLICE(""));
	assert_int_equal(q.cors[1].max_age_s, 1);
	assert_slice(q.default_version, SLICE("2021-02-12"));
	assert_true(q.delete_retention.allow_permanent_delete);
	assert_slice(q.website.default_index_path, SLICE_NONE);
	assert_slice(q.website.error_document, SLICE("404.html"));
	account_service_properties_encode(&again, &q);
	assert_slice(buf_slice(&again), buf_slice(&b));
	/* Cut anywhere, or of another version, it is damage. */
	for (size_t i = 0; i < b.len; i++)
		assert_int_equal(account_service_properties_decode(slice_first(buf_slice(&b), i), &q), ERR_CORRUPT);
	b.ptr[0]++;
	assert_int_equal(account_service_properties_decode(buf_slice(&b), &q), ERR_CORRUPT);
	buf_fini(&b);
	buf_fini(&again);
}

static void test_golden(void **state)
{
	/* The first format: what is on disk today must be read for ever. */
	static const unsigned char golden[] = {
		1,   3,	  0,   0,    0,	   '1',	 '.',  '0',  0,	   0,	 0,    0,    0,	   0,	 3,    0,   0,	 0,
		'1', '.', '0', 0,    0,	   0,	 0,    0,    0,	   3,	 0,    0,    0,	   '1',	 '.',  '0', 0,	 0,
		0,   0,	  0,   0,    1,	   1,	 0,    0,    0,	   '*',	 3,    0,    0,	   0,	 'G',  'E', 'T', 0,
		0,   0,	  0,   0,    0,	   0,	 0,    9,    0,	   0,	 0,    0xff, 0xff, 0xff, 0xff, 0,   0,	 0,
		0,   0,	  0,   0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	};
	struct service_properties p = account_service_properties_default();
	struct buf b;
	p.cors_count = 1;
	p.cors[0] = (struct cors_rule){ SLICE("*"), SLICE("GET"), SLICE(""), SLICE(""), 9 };
	buf_init(&b, 65536);
	account_service_properties_encode(&b, &p);
	assert_slice(buf_slice(&b), slice_make(golden, sizeof golden));
	/* The second one has the protocol settings behind it. */
	struct buf with;
	buf_init(&with, 65536);
	p.protocol.nfs_encryption = true;
	account_service_properties_encode(&with, &p);
	assert_int_equal(with.ptr[0], 2);
	assert_int_equal(with.len, b.len + 1);
	assert_memory_equal(with.ptr + 1, b.ptr + 1, b.len - 1);
	assert_int_equal(with.ptr[b.len], 2);
	memset(&p, 0, sizeof p);
	assert_int_equal(account_service_properties_decode(buf_slice(&with), &p), ERR_OK);
	assert_true(p.protocol.nfs_encryption && !p.protocol.smb_encryption);
	assert_int_equal(account_service_properties_decode(slice_first(buf_slice(&with), b.len), &p), ERR_CORRUPT);
	buf_fini(&with);
	buf_fini(&b);
}

static void test_origins(void **state)
{
	struct slice list = SLICE("http://a.com, https://b.org:8080,http://*.sub.net");
	assert_int_equal(cors_match_origin(list, SLICE("http://a.com")), CORS_ORIGIN_EXACT);
	assert_int_equal(cors_match_origin(list, SLICE("http://A.com")), CORS_ORIGIN_NO);
	assert_int_equal(cors_match_origin(list, SLICE("https://b.org")), CORS_ORIGIN_NO);
	assert_int_equal(cors_match_origin(list, SLICE("https://b.org:8080")), CORS_ORIGIN_EXACT);
	assert_int_equal(cors_match_origin(list, SLICE("http://x.sub.net")), CORS_ORIGIN_EXACT);
	assert_int_equal(cors_match_origin(list, SLICE("http://x.y.sub.net")), CORS_ORIGIN_EXACT);
	assert_int_equal(cors_match_origin(list, SLICE("http://.sub.net")), CORS_ORIGIN_NO);
	assert_int_equal(cors_match_origin(list, SLICE("http://sub.net")), CORS_ORIGIN_NO);
	assert_int_equal(cors_match_origin(list, SLICE("")), CORS_ORIGIN_NO);
	assert_int_equal(cors_match_origin(SLICE("http://a.com,*"), SLICE("http://a.com")), CORS_ORIGIN_ANY);
	assert_int_equal(cors_match_origin(SLICE("*"), SLICE("")), CORS_ORIGIN_ANY);
}

static void test_headers(void **state)
{
	struct slice allowed = SLICE("x-ms-meta-*, Content-Type");
	assert_true(cors_match_headers(allowed, SLICE_NONE));
	assert_true(cors_match_headers(allowed, SLICE("")));
	assert_true(cors_match_headers(allowed, SLICE("content-type, X-MS-META-a")));
	assert_false(cors_match_headers(allowed, SLICE("content-type,x-ms-version")));
	assert_false(cors_match_headers(SLICE(""), SLICE("a")));
	assert_true(cors_match_headers(SLICE("*"), SLICE("a,b , c")));
	assert_true(cors_match_method(SLICE("GET, PUT"), SLICE("PUT")));
	assert_false(cors_match_method(SLICE("GET, PUT"), SLICE("put")));
	assert_false(cors_match_method(SLICE("GET,PUT"), SLICE("GE")));
}

static void test_first_rule(void **state)
{
	struct service_properties p = sample();
	enum cors_origin match;
	assert_ptr_equal(cors_find_rule(&p, SLICE("http://a.com"), SLICE("GET"), &match), &p.cors[0]);
	assert_int_equal(match, CORS_ORIGIN_EXACT);
	assert_ptr_equal(cors_find_rule(&p, SLICE("http://z.com"), SLICE("GET"), &match), &p.cors[1]);
	assert_int_equal(match, CORS_ORIGIN_ANY);
	assert_null(cors_find_rule(&p, SLICE("http://z.com"), SLICE("PUT"), &match));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_record),	cmocka_unit_test(test_golden),	   cmocka_unit_test(test_origins),
		cmocka_unit_test(test_headers), cmocka_unit_test(test_first_rule),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

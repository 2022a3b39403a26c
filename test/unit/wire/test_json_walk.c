/* SPDX-License-Identifier: Apache-2.0
 * Walking over JSON without a tree: what is found, and what is found out. */
#include "wire/json.h"

#include "wire_test.h"

static void members_and_elements(void **state)
{
	struct json_walk w;
	assert_true(
		json_walk_begin(&w, SLICE(" { \"a\" : 1 , \"b\\\"}\":[ \"]\" , {} ],\"c\":\"x\\\\\" , \"d\":null}")));
	static const char *const want[][2] = {
		{ "a", "1" }, { "b\\\"}", "[ \"]\" , {} ]" }, { "c", "\"x\\\\\"" }, { "d", "null" }
	};
	for (size_t i = 0; i < 4; i++) {
		assert_true(json_walk_next(&w));
		assert_true(slice_eq(w.name, slice_str(want[i][0])));
		assert_true(slice_eq(w.value, slice_str(want[i][1])));
	}
	assert_false(json_walk_next(&w));
	assert_int_equal(w.state, JSON_WALK_DONE);
	assert_false(json_walk_next(&w));
	assert_true(slice_eq(json_walk_find(SLICE("{\"x\":{\"a\":2},\"a\":[3]}"), "a"), SLICE("[3]")));
	assert_false(slice_is_set(json_walk_find(SLICE("[1]"), "a")));
	assert_false(slice_is_set(json_walk_find(SLICE("{}"), "a")));
	assert_true(json_walk_begin(&w, SLICE("[]")));
	assert_false(json_walk_next(&w));
	assert_int_equal(w.state, JSON_WALK_DONE);
	assert_false(json_walk_begin(&w, SLICE("7")));
	assert_false(json_walk_begin(&w, SLICE("")));
}

/* Every beginning of a document is found to be cut short. */
static void cut_short(void **state)
{
	struct slice whole = SLICE("{\"a\":[1,{\"b\":\"c\\\"\"}],\"d\":{\"e\":[]},\"f\":\"g\",\"h\":12}");
	for (size_t len = 1; len < whole.len; len++) {
		struct json_walk w;
		assert_true(json_walk_begin(&w, slice_first(whole, len)));
		while (json_walk_next(&w))
			;
		if (w.state != JSON_WALK_BROKEN)
			fail_msg("%zu bytes look whole", len);
	}
}

static void no_json(void **state)
{
	static const char *const docs[] = { "{\"a\" 1}", "{\"a\":}",   "{a:1}", "[1 2]",
					    "[,1]",	 "{\"a\":1,}", "[1}",	"{\"a\":1]" };
	for (size_t i = 0; i < sizeof docs / sizeof *docs; i++) {
		struct json_walk w;
		assert_true(json_walk_begin(&w, slice_str(docs[i])));
		while (json_walk_next(&w))
			;
		if (w.state != JSON_WALK_BROKEN)
			fail_msg("%s looks whole", docs[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_and_elements),
		cmocka_unit_test(cut_short),
		cmocka_unit_test(no_json),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

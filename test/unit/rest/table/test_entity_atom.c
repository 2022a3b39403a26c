/* SPDX-License-Identifier: Apache-2.0
 * Entities in Atom: what is written reads back as the same record, and what is no entity is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "rest/table/entity_atom.h"

#include <math.h>

static struct entity_writer writer(void)
{
	return (struct entity_writer){ .level = ODATA_ATOM,
				       .root = SLICE("http://h\"&<x>/"),
				       .account = SLICE("acc"),
				       .table = SLICE("t"),
				       .updated = SLICE("2013-01-01T00:00:00Z"),
				       .select_all = true };
}

static void check_round_trip(struct slice pk, struct slice rk, struct slice run)
{
	struct entity e = { pk, rk, UINT64_C(638000000000000001), run };
	struct entity_writer w = writer();
	struct entity_body body;
	struct arena arena;
	struct buf b;
	arena_init(&arena, 8 << 20);
	buf_init(&b, 1 << 20);
	rest_entity_atom_write(&b, &w, &e, true);
	assert_true(buf_ok(&b));
	enum err err = rest_entity_atom_parse(buf_slice(&b), &arena, &body);
	if (err)
		print_message("%.*s\n", (int)b.len, b.ptr);
	assert_int_equal(err, ERR_OK);
	assert_true(slice_eq(body.partition_key, pk) && slice_eq(body.row_key, rk) && !body.key_typed);
	assert_true(slice_eq(body.properties, run));
	buf_fini(&b);
	arena_fini(&arena);
}

static void test_every_type(void **state)
{
	static const struct edm_value values[] = {
		{ .type = EDM_STRING, .bytes = { "", 0 } },
		{ .type = EDM_STRING, .bytes = { "  ", 2 } },
		{ .type = EDM_STRING, .bytes = { " a<b>&\"'\r\n\t\xc3\xa9 ]]> ", 18 } },
		{ .type = EDM_INT32, .integer = INT32_MIN },
		{ .type = EDM_INT64, .integer = INT64_MIN },
		{ .type = EDM_INT64, .integer = INT64_MAX },
		{ .type = EDM_DOUBLE, .number = -0.25 },
		{ .type = EDM_DOUBLE, .number = 1e300 },
		{ .type = EDM_DOUBLE, .number = (double)INFINITY },
		{ .type = EDM_DOUBLE, .number = -(double)INFINITY },
		{ .type = EDM_BOOLEAN, .boolean = true },
		{ .type = EDM_BOOLEAN, .boolean = false },
		{ .type = EDM_DATETIME, .ticks = EDM_DATETIME_MIN },
		{ .type = EDM_DATETIME, .ticks = EDM_DATETIME_MAX },
		{ .type = EDM_GUID, .bytes = { "0123456789abcdef", 16 } },
		{ .type = EDM_BINARY, .bytes = { "\0\xff", 2 } },
		{ .type = EDM_BINARY, .bytes = { "", 0 } },
	};
	struct buf all;
	(void)state;
	buf_init(&all, 1 << 16);
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		char name[16];
		int len = snprintf(name, sizeof name, "p%zu", i);
		struct buf run;
		buf_init(&run, 1 << 16);
		property_encode(&run, slice_make(name, (size_t)len), &values[i]);
		property_encode(&all, slice_make(name, (size_t)len), &values[i]);
		check_round_trip(SLICE("p"), SLICE("r"), buf_slice(&run));
		buf_fini(&run);
	}
	check_round_trip(SLICE(""), SLICE("it's <&> \xc3\xa9"), buf_slice(&all));
	buf_fini(&all);
}

#define ENTRY(properties)                                                                                              \
	"<entry xmlns:d='d' xmlns:m='m' xmlns='a'><content><m:properties>" properties                                  \
	"</m:properties></content></entry>"

static void test_refused(void **state)
{
	static const struct {
		const char *text;
		enum err want;
	} cases[] = {
		{ "", ERR_INVALID_INPUT },
		{ "x", ERR_INVALID_INPUT },
		{ "<entry/>", ERR_INVALID_INPUT },
		{ "<entry><content/></entry>", ERR_INVALID_INPUT },
		{ "<feed><content><properties/></content></feed>", ERR_INVALID_INPUT },
		{ ENTRY(""), ERR_OK },
		{ ENTRY("<d:a>1</d:a><d:a>1</d:a>"), ERR_DUPLICATE_PROPERTIES_SPECIFIED },
		{ ENTRY("<d:PartitionKey>1</d:PartitionKey><d:PartitionKey>2</d:PartitionKey>"),
		  ERR_DUPLICATE_PROPERTIES_SPECIFIED },
		{ ENTRY("<d:a-b>1</d:a-b>"), ERR_PROPERTY_NAME_INVALID },
		{ ENTRY("<d:a m:type='Edm.None'>1</d:a>"), ERR_INVALID_INPUT },
		{ ENTRY("<d:a><d:b/></d:a>"), ERR_INVALID_INPUT },
		{ ENTRY("<d:RowKey><d:b/></d:RowKey>"), ERR_INVALID_INPUT },
		{ ENTRY("<d:a m:type='Edm.Int32'>2147483648</d:a>"), ERR_UNREADABLE_INPUT },
		{ ENTRY("<d:a m:type='Edm.Int32'> 5 </d:a>"), ERR_OK },
		{ ENTRY("<d:a m:type='Edm.Boolean'>yes</d:a>"), ERR_INVALID_VALUE_TYPE },
		{ ENTRY("<d:a m:type='Edm.Int32' m:null='true'/>"), ERR_OK },
	};
	struct arena arena;
	(void)state;
	arena_init(&arena, 8 << 20);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct entity_body body;
		enum err e = rest_entity_atom_parse(slice_str(cases[i].text), &arena, &body);
		if (e != cases[i].want)
			fail_msg("%s: %s, not %s", cases[i].text, err_name(e), err_name(cases[i].want));
	}
	arena_fini(&arena);
}

static void test_table_names(void **state)
{
	struct arena arena;
	struct entity_writer w = writer();
	struct slice name;
	struct buf b;
	(void)state;
	arena_init(&arena, 1 << 20);
	buf_init(&b, 1 << 16);
	rest_table_atom_write(&b, &w, SLICE("mytable"), true);
	assert_int_equal(rest_table_atom_parse(buf_slice(&b), &arena, &name), ERR_OK);
	assert_true(slice_eq(name, SLICE("mytable")));
	assert_int_equal(rest_table_atom_parse(SLICE(ENTRY("")), &arena, &name), ERR_OK);
	assert_false(slice_is_set(name));
	assert_int_equal(rest_table_atom_parse(SLICE("<x/>"), &arena, &name), ERR_INVALID_INPUT);
	buf_fini(&b);
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_type),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_table_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

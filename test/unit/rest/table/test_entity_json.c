/* SPDX-License-Identifier: Apache-2.0
 * Entities in JSON: text that must come out exactly, numbers and strings that must read back as they were. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/sys/rng.h"
#include "rest/table/entity_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static struct slice selected[1];
static struct name_index selected_index;

/* {"v":...} of one value. */
static void write_one(struct buf *b, const struct edm_value *v)
{
	static char memory[1 << 17];
	struct buf run = { .ptr = memory, .cap = sizeof memory, .limit_bytes = sizeof memory };
	selected[0] = SLICE("v");
	selected_index = (struct name_index){ 0 };
	entity_name_index_add(&selected_index, selected, 0);
	struct entity_writer w = {
		.level = ODATA_NONE, .select = selected, .select_count = 1, .select_index = &selected_index
	};
	property_encode(&run, SLICE("v"), v);
	struct entity e = { SLICE("p"), SLICE("r"), 1, buf_slice(&run) };
	buf_clear(b);
	rest_entity_json_write(b, &w, &e, false);
	buf_put_byte(b, 0);
}

static void test_values(void **state)
{
	static const struct {
		struct edm_value value;
		const char *json;
	} cases[] = {
		{ { .type = EDM_INT32, .integer = INT32_MIN }, "{\"v\":-2147483648}" },
		{ { .type = EDM_INT64, .integer = INT64_MIN }, "{\"v\":\"-9223372036854775808\"}" },
		{ { .type = EDM_DOUBLE, .number = 0 }, "{\"v\":0.0}" },
		{ { .type = EDM_DOUBLE, .number = -0.0 }, "{\"v\":-0.0}" },
		{ { .type = EDM_DOUBLE, .number = 5 }, "{\"v\":5.0}" },
		{ { .type = EDM_DOUBLE, .number = -0.25 }, "{\"v\":-0.25}" },
		{ { .type = EDM_DOUBLE, .number = 0.1 }, "{\"v\":0.1}" },
		{ { .type = EDM_DOUBLE, .number = 0.000001 }, "{\"v\":0.000001}" },
		{ { .type = EDM_DOUBLE, .number = 1e300 }, "{\"v\":1e+300}" },
		{ { .type = EDM_DOUBLE, .number = 123456.789 }, "{\"v\":123456.789}" },
		{ { .type = EDM_DOUBLE, .number = (double)NAN }, "{\"v\":\"NaN\"}" },
		{ { .type = EDM_DOUBLE, .number = -(double)INFINITY }, "{\"v\":\"-Infinity\"}" },
		{ { .type = EDM_BOOLEAN, .boolean = true }, "{\"v\":true}" },
		{ { .type = EDM_DATETIME, .ticks = EDM_DATETIME_MIN }, "{\"v\":\"1601-01-01T00:00:00Z\"}" },
		{ { .type = EDM_BINARY, .bytes = { "\xff", 1 } }, "{\"v\":\"/w==\"}" },
		{ { .type = EDM_STRING, .bytes = { "a\"b\\c\n\x01\x1f/\xc3\xa9", 11 } },
		  "{\"v\":\"a\\\"b\\\\c\\n\\u0001\\u001f/\xc3\xa9\"}" },
		{ { .type = EDM_STRING, .bytes = { "0123456\"89abcdef\\", 17 } },
		  "{\"v\":\"0123456\\\"89abcdef\\\\\"}" },
	};
	struct buf b;
	buf_init(&b, 1 << 20);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		write_one(&b, &cases[i].value);
		assert_string_equal(b.ptr, cases[i].json);
	}
	buf_fini(&b);
}

/* The shortest decimal of at most 17 digits that reads back as v has this many. */
static int shortest_digits(double v)
{
	char text[40];
	int digits = 0;
	do
		snprintf(text, sizeof text, "%.*e", digits++, v);
	while (strtod(text, NULL) != v);
	return digits;
}

static int digits_of(const char *text)
{
	int digits = 0, trailing = 0;
	for (; *text && *text != 'e' && *text != '}'; text++) {
		if (*text < '0' || *text > '9' || (*text == '0' && !digits))
			continue;
		digits++;
		trailing = *text == '0' ? trailing + 1 : 0;
	}
	return digits - trailing ? digits - trailing : 1;
}

static void test_doubles_read_back(void **state)
{
	struct rng r;
	struct buf b;
	rng_init_seed(&r, 9);
	buf_init(&b, 1 << 16);
	for (int i = 0; i < 300000; i++) {
		uint64_t u = rng_u64(&r);
		struct edm_value v = { .type = EDM_DOUBLE };
		switch (i % 6) {
		case 0:
			memcpy(&v.number, &u, sizeof u);
			break;
		case 1:
			v.number = (double)(u % 2000000) / 1000.0 - 1000;
			break;
		case 2:
			v.number = (double)(u % 1000000007) / 1e6;
			break;
		case 3:
			v.number = (double)(u >> 12) / 1e6;
			break;
		case 4:
			v.number = (double)(int64_t)u / 1e3;
			break;
		default:
			v.number = (double)(int)(u % 2001) - 1000;
		}
		if (!isfinite(v.number))
			continue;
		write_one(&b, &v);
		char *end, *text = b.ptr + 5;
		assert_true(strtod(text, &end) == v.number && *end == '}');
		assert_non_null(strpbrk(text, ".e"));
		if (v.number != 0 && shortest_digits(v.number) <= 15)
			assert_int_equal(digits_of(text), shortest_digits(v.number));
	}
	buf_fini(&b);
}

static void test_strings_read_back(void **state)
{
	static const char *const pieces[] = { "a",	     "\"",   "\\",	 "\n",
					      "\x01",	     "\x7f", "\xc3\xa9", "\xf0\x9f\x94\x91",
					      "plain text ", "/" };
	struct rng r;
	struct buf b, text;
	struct arena arena;
	rng_init_seed(&r, 10);
	buf_init(&b, 1 << 20);
	buf_init(&text, 1 << 16);
	arena_init(&arena, 1 << 22);
	for (int i = 0; i < 20000; i++) {
		buf_clear(&text);
		for (uint64_t n = rng_below(&r, 30); n; n--)
			buf_put(&text, slice_str(pieces[rng_below(&r, sizeof pieces / sizeof *pieces)]));
		struct edm_value v = { .type = EDM_STRING, .bytes = buf_slice(&text) };
		write_one(&b, &v);
		struct entity_body body;
		struct property p;
		assert_int_equal(rest_entity_body_parse(slice_make(b.ptr, b.len - 1), &arena, &body), ERR_OK);
		struct property_cursor c = property_cursor_make(body.properties);
		assert_true(property_next(&c, &p) && slice_eq(p.value.bytes, v.bytes));
		arena_reset(&arena);
	}
	arena_fini(&arena);
	buf_fini(&text);
	buf_fini(&b);
}

/* How c stands in a JSON string, told plainly. */
static void naive_put(struct buf *b, char c)
{
	static const char letters[] = "\"\"\\\\\nn\rr\tt";
	const char *letter = letters;
	while (*letter && *letter != c)
		letter += 2;
	if (*letter)
		buf_printf(b, "\\%c", letter[1]);
	else if ((unsigned char)c < 0x20)
		buf_printf(b, "\\u%04x", (unsigned char)c);
	else
		buf_put_byte(b, (unsigned char)c);
}

/* Writes text that ends where its memory ends into room that is exactly enough while nothing is escaped: a sanitizer
 * sees a step beyond either. */
static void check_text(const char *text, size_t len)
{
	struct buf want;
	struct buf b = { .ptr = malloc(len + 2), .cap = len + 2, .limit_bytes = 6 * len + 16 };
	char *exact = malloc(len + 1);
	memcpy(exact + 1, text, len);
	buf_init(&want, 1 << 16);
	buf_put_byte(&want, '"');
	for (size_t i = 0; i < len; i++)
		naive_put(&want, text[i]);
	buf_put_byte(&want, '"');
	rest_table_json_text_write(&b, slice_make(exact + 1, len));
	assert_true(buf_ok(&b) && slice_eq(buf_slice(&b), buf_slice(&want)));
	free(exact);
	buf_fini(&want);
	buf_fini(&b);
}

/* Lengths around the blocks that are copied at once, with what is special or next to it at every place. */
static void test_escapes_everywhere(void **state)
{
	static const char odd[] = "\x01\b\t\n\v\f\r\x1f !\"#[\\]\x7f\x80\x9f\xa2\xdc\xff";
	char text[70];
	for (size_t len = 0; len <= sizeof text; len++) {
		memset(text, 'x', sizeof text);
		check_text(text, len);
		for (size_t at = 0; at < len; at++) {
			for (size_t i = 0; i < sizeof odd; i++) {
				text[at] = odd[i];
				check_text(text, len);
			}
			text[at] = 'x';
		}
		memset(text, '"', sizeof text);
		check_text(text, len);
	}
}

static void add(struct buf *run, const char *name, struct edm_value v)
{
	property_encode(run, slice_str(name), &v);
}

/* All types in one entity, as each level of metadata shows them. */
static void test_levels(void **state)
{
	static const char names[] = "\"odata.metadata\":\"http://h/a/$metadata#t/@Element\",";
	static const char type[] =
		"\"odata.type\":\"a.t\",\"odata.id\":\"http://h/a/t(PartitionKey='p%22',RowKey='')\",";
	static const char etag[] = "\"odata.etag\":\"W/\\\"datetime'2022-05-06T00%3A44%3A28.9094416Z'\\\"\",";
	static const char link[] = "\"odata.editLink\":\"t(PartitionKey='p%22',RowKey='')\",";
	static const char keys[] = "\"PartitionKey\":\"p\\\"\",\"RowKey\":\"\",";
	static const char stamp_type[] = "\"Timestamp@odata.type\":\"Edm.DateTime\",";
	static const char stamp[] = "\"Timestamp\":\"2022-05-06T00:44:28.9094416Z\",";
	static const char plain[] =
		"\"String\":\"text\",\"I\":-1,\"Int64\":\"64\",\"Double\":1.5,\"Infinity\":\"Infinity\","
		"\"b\":false,\"Date\":\"0001-01-01T00:00:00Z\","
		"\"AGuidOfALongName\":\"30313233-3435-3637-3839-616263646566\",\"NameOfSeventeen17\":\"AQ==\"}";
	static const char typed[] =
		"\"String\":\"text\",\"I\":-1,\"Int64@odata.type\":\"Edm.Int64\",\"Int64\":\"64\",\"Double\":1.5,"
		"\"Infinity@odata.type\":\"Edm.Double\",\"Infinity\":\"Infinity\",\"b\":false,"
		"\"Date@odata.type\":\"Edm.DateTime\",\"Date\":\"0001-01-01T00:00:00Z\","
		"\"AGuidOfALongName@odata.type\":\"Edm.Guid\","
		"\"AGuidOfALongName\":\"30313233-3435-3637-3839-616263646566\","
		"\"NameOfSeventeen17@odata.type\":\"Edm.Binary\",\"NameOfSeventeen17\":\"AQ==\"}";
	struct buf run, want[ODATA_FULL + 1];
	buf_init(&run, 4096);
	add(&run, "String", (struct edm_value){ .type = EDM_STRING, .bytes = SLICE("text") });
	add(&run, "I", (struct edm_value){ .type = EDM_INT32, .integer = -1 });
	add(&run, "Int64", (struct edm_value){ .type = EDM_INT64, .integer = 64 });
	add(&run, "Double", (struct edm_value){ .type = EDM_DOUBLE, .number = 1.5 });
	add(&run, "Infinity", (struct edm_value){ .type = EDM_DOUBLE, .number = (double)INFINITY });
	add(&run, "b", (struct edm_value){ .type = EDM_BOOLEAN });
	add(&run, "Date", (struct edm_value){ .type = EDM_DATETIME });
	add(&run, "AGuidOfALongName", (struct edm_value){ .type = EDM_GUID, .bytes = SLICE("0123456789abcdef") });
	add(&run, "NameOfSeventeen17", (struct edm_value){ .type = EDM_BINARY, .bytes = SLICE("\x01") });
	for (int level = ODATA_NONE; level <= ODATA_FULL; level++)
		buf_init(&want[level], 4096);
	buf_printf(&want[ODATA_NONE], "{%s%s%s", keys, stamp, plain);
	buf_printf(&want[ODATA_MINIMAL], "{%s%s%s%s%s", names, etag, keys, stamp, typed);
	buf_printf(&want[ODATA_FULL], "{%s%s%s%s%s%s%s%s", names, type, etag, link, keys, stamp_type, stamp, typed);

	struct entity e = { SLICE("p\""), SLICE(""), UINT64_C(637873946689094416), buf_slice(&run) };
	struct entity_writer w = {
		.root = SLICE("http://h/a/"), .account = SLICE("a"), .table = SLICE("t"), .select_all = true
	};
	for (int level = ODATA_NONE; level <= ODATA_FULL; level++) {
		w.level = (enum odata_level)level;
		/* The room ends at every place once; what is one byte short of it must not be taken. */
		for (size_t cap = 1; cap <= 2 * want[level].len; cap++) {
			struct buf b = { .ptr = malloc(cap), .cap = cap, .limit_bytes = 1 << 16 };
			rest_entity_json_write(&b, &w, &e, true);
			assert_true(buf_ok(&b) && slice_eq(buf_slice(&b), buf_slice(&want[level])));
			buf_fini(&b);
			struct buf full = { .ptr = malloc(cap), .cap = cap, .limit_bytes = cap };
			rest_entity_json_write(&full, &w, &e, true);
			assert_true(full.len <= cap &&
				    (!buf_ok(&full) || slice_eq(buf_slice(&full), buf_slice(&want[level]))));
			buf_fini(&full);
		}
		buf_fini(&want[level]);
	}
	buf_fini(&run);
}

/* Keys whose escapes need far more than was reserved for them at first: what follows them has its room all the same,
 * wherever the room ends. */
static void test_keys_of_escapes(void **state)
{
	enum { KEY_BYTES = 160 };
	char keys[KEY_BYTES];
	struct buf quoted, want;
	buf_init(&quoted, 1 << 16);
	buf_init(&want, 1 << 16);
	memset(keys, 1, sizeof keys);
	for (size_t i = 0; i < sizeof keys; i++)
		naive_put(&quoted, keys[i]);
	buf_printf(&want, "{\"PartitionKey\":\"%.*s\",\"RowKey\":\"%.*s\",\"Timestamp\":\"%s\"}",
		   SLICE_FMT(buf_slice(&quoted)), SLICE_FMT(buf_slice(&quoted)), "2022-05-06T00:44:28.9094416Z");
	struct slice key = slice_make(keys, sizeof keys);
	struct entity e = { key, key, UINT64_C(637873946689094416), SLICE("") };
	struct entity_writer w = { .level = ODATA_NONE, .select_all = true };
	for (size_t cap = 1; cap <= 2 * want.len; cap++) {
		/* No more than is asked for, so that a sanitizer sees what was not. */
		struct buf b = { .ptr = malloc(cap), .cap = cap, .limit_bytes = cap };
		rest_entity_json_write(&b, &w, &e, false);
		assert_true(b.len <= cap && (!buf_ok(&b) || slice_eq(buf_slice(&b), buf_slice(&want))));
		assert_true(buf_ok(&b) || cap < want.len + 1024);
		buf_fini(&b);
	}
	buf_fini(&want);
	buf_fini(&quoted);
}

static void test_selected(void **state)
{
	struct slice select[] = { SLICE("RowKey"), SLICE("Timestamp"), SLICE("Missing"), SLICE("n"),
				  SLICE("PartitionKey") };
	static const char want[] =
		"{\"odata.etag\":\"W/\\\"datetime'2022-05-06T00%3A44%3A28Z'\\\"\",\"RowKey\":\"r\","
		"\"Timestamp\":\"2022-05-06T00:44:28Z\",\"Missing\":null,\"n\":7,\"PartitionKey\":\"p\"}";
	struct name_index index = { 0 }, nothing = { 0 };
	struct buf run, b;
	buf_init(&run, 4096);
	buf_init(&b, 4096);
	add(&run, "other", (struct edm_value){ .type = EDM_INT32, .integer = 8 });
	add(&run, "n", (struct edm_value){ .type = EDM_INT32, .integer = 7 });
	for (size_t i = 0; i < sizeof select / sizeof *select; i++)
		entity_name_index_add(&index, select, i);
	struct entity e = { SLICE("p"), SLICE("r"), UINT64_C(637873946680000000), buf_slice(&run) };
	struct entity_writer w = {
		.level = ODATA_MINIMAL, .select = select, .select_count = 5, .select_index = &index
	};
	rest_entity_json_write(&b, &w, &e, false);
	assert_true(slice_eq(buf_slice(&b), slice_str(want)));
	buf_clear(&b);
	w = (struct entity_writer){ .level = ODATA_NONE, .select_index = &nothing };
	rest_entity_json_write(&b, &w, &e, false);
	assert_true(slice_eq(buf_slice(&b), SLICE("{}")));
	buf_fini(&b);
	buf_fini(&run);
}

static void test_etags(void **state)
{
	char etag[ENTITY_ETAG_MAX];
	size_t len = rest_entity_etag_format(UINT64_C(637873946689094416), etag);
	assert_true(slice_eq(slice_make(etag, len), SLICE("W/\"datetime'2022-05-06T00%3A44%3A28.9094416Z'\"")));
	assert_true(rest_entity_etag_parse(slice_make(etag, len)) == UINT64_C(637873946689094416));
	/* The whole text counts, not the time it stands for. */
	static const char *const others[] = { "",
					      "*",
					      "W/\"datetime'2022-05-06T00:44:28.9094416Z'\"",
					      "W/\"datetime'2022-05-06T00%3A44%3A28.90944160Z'\"",
					      "\"datetime'2022-05-06T00%3A44%3A28.9094416Z'\"",
					      "W/\"datetime'2022-05-06T00%3a44%3a28.9094416Z'\"",
					      "W/\"datetime'2022-05-06T00%3A44%3A28.9094416Z'\" ",
					      "W/\"datetime'" };
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		assert_true(rest_entity_etag_parse(slice_str(others[i])) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_doubles_read_back),
		cmocka_unit_test(test_strings_read_back),
		cmocka_unit_test(test_escapes_everywhere),
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_keys_of_escapes),
		cmocka_unit_test(test_selected),
		cmocka_unit_test(test_etags),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

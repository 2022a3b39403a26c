/* SPDX-License-Identifier: Apache-2.0
 * XML reader and writer: round trips, limits, refusals of DTDs and entities. */
#include "wire/xml.h"

#include "base/limits.h"
#include "base/sys/clock.h"
#include "base/sys/rng.h"
#include "wire_test.h"

#include <time.h>

static struct arena arena;
static struct xml_node *root;
static struct xml_error error;

static enum err parse(struct slice s)
{
	struct slice copy = exact(s.ptr, s.len);
	enum err e = xml_parse(copy, &arena, &root, &error);
	exact_free(copy); /* nothing in the tree points into the document */
	return e;
}

static struct slice child_text(const char *name)
{
	struct slice text;
	assert_int_equal(xml_child_text(root, name, &text), ERR_OK);
	return text;
}

static void test_writer(void **state)
{
	struct buf b;
	buf_init(&b, 4096);
	xml_begin(&b);
	xml_open_attr(&b, "List", "Prefix", SLICE("a\"<&'\n\t>"));
	xml_put(&b, "Name", SLICE("a<b>&c\"d'\r\n\t\xc3\xa4"));
	xml_put(&b, "Marker", SLICE(""));
	xml_put(&b, "Absent", SLICE_NONE);
	xml_put_u64(&b, "N", UINT64_MAX);
	xml_put_bool(&b, "B", true);
	xml_put_rfc1123(&b, "L", TICKS_UNIX_EPOCH);
	xml_put_iso(&b, "I", TICKS_UNIX_EPOCH + 1);
	xml_close(&b, "List");
	assert_slice(buf_slice(&b), "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?>"
				    "<List Prefix=\"a&quot;&lt;&amp;'&#xA;&#x9;&gt;\">"
				    "<Name>a&lt;b&gt;&amp;c\"d'&#xD;\n\t\xc3\xa4</Name><Marker /><Absent />"
				    "<N>18446744073709551615</N><B>true</B><L>Thu, 01 Jan 1970 00:00:00 GMT</L>"
				    "<I>1970-01-01T00:00:00.0000001Z</I></List>");
	buf_clear(&b);
	/* What XML cannot hold. */
	xml_put(&b, "T", SLICE("a\x01\xff\xef\xbf\xbf\xc3z\x7f"));
	assert_slice(buf_slice(&b), "<T>a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\x7f</T>");
	buf_clear(&b);
	xml_put_name(&b, "Name", SLICE("a/b\xef\xbf\xbf c"));
	xml_put_name(&b, "Name", SLICE("a/b\n\xc3\xa4"));
	assert_slice(buf_slice(&b), "<Name Encoded=\"true\">a/b%EF%BF%BF%20c</Name><Name>a/b\n\xc3\xa4</Name>");
	assert_true(xml_is_legal(SLICE("a\t\r\n\xf0\x9f\x98\x80<&")));
	assert_false(xml_is_legal(SLICE("a\x1f")));
	assert_false(xml_is_legal(SLICE("\xef\xbf\xbe")));
	assert_false(xml_is_legal(SLICE("\xed\xa0\x80")));
	buf_fini(&b);
}

/* The copy into memory is the writer's text, within the bound it promises. */
static void test_copy_text(void **state)
{
	static const char pieces[][8] = { "a",	"<",  ">",    "&",    "\"",	  "'", "\r",
					  "\n", "\t", "\x01", "\xff", "\xc3\xa4", "zz" };
	struct rng rng;
	struct buf text, expected;
	rng_init_seed(&rng, 9);
	buf_init(&text, 4096);
	buf_init(&expected, 4096);
	for (int round = 0; round < 2000; round++) {
		buf_clear(&text);
		buf_clear(&expected);
		for (size_t i = rng_below(&rng, 12); i > 0; i--)
			buf_put(&text, slice_str(pieces[rng_below(&rng, sizeof pieces / sizeof *pieces)]));
		xml_put_text(&expected, buf_slice(&text));
		size_t room = XML_TEXT_BYTES(text.len);
		char *copy = malloc(room + 1), *end = xml_copy_text(copy, buf_slice(&text));
		assert_true((size_t)(end - copy) <= room);
		assert_int_equal(end - copy, expected.len);
		assert_memory_equal(copy, buf_slice(&expected).ptr, expected.len);
		free(copy);
	}
	buf_fini(&text);
	buf_fini(&expected);
}

static void test_reader(void **state)
{
	arena_init(&arena, 1 << 20);
	assert_int_equal(
		parse(SLICE("\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<BlockList x='1' y=\"a&amp;b\">\n"
			    "  <Latest>QQ==</Latest>\n  <Committed> a &lt;&#65;&#x42; <![CDATA[<c>]]> </Committed>\n"
			    "  <Empty/><Latest>Qg==</Latest><!-- no --><?pi x?>\n</BlockList>\n")),
		ERR_OK);
	assert_true(xml_is(root, "BlockList") && !xml_is(root, "Block") && !xml_is(NULL, "x"));
	assert_slice(root->text, "");
	struct xml_node *n = root->child;
	assert_slice(n->name, "Latest");
	assert_slice(n->text, "QQ==");
	assert_slice(child_text("Committed"), " a <AB <c> ");
	assert_slice(child_text("Empty"), "");
	assert_false(slice_is_set(child_text("Missing")));
	assert_false(slice_is_set(xml_text(NULL)));
	n = xml_next_same(n);
	assert_slice(n->text, "Qg==");
	assert_null(xml_next_same(n));
	assert_slice(xml_attr(root, "y"), "a&b");
	struct slice text = SLICE("untouched");
	assert_int_equal(xml_child_text(root, "Latest", &text), ERR_SYNTAX);
	assert_int_equal(parse(SLICE("<r><t><u/></t></r>")), ERR_OK);
	assert_int_equal(xml_child_text(root, "t", &text), ERR_SYNTAX);
	assert_slice(text, "untouched");
	assert_false(slice_is_set(xml_attr(root, "z")));

	/* Blanks of a leaf count. */
	assert_int_equal(parse(SLICE("<QueueMessage><MessageText> \n </MessageText></QueueMessage>")), ERR_OK);
	assert_slice(child_text("MessageText"), " \n ");
	assert_int_equal(parse(SLICE("<x xmlns='urn:a' xmlns:p='urn:b'><p:y p:a='1'>v</p:y></x>")), ERR_OK);
	assert_slice(child_text("y"), "v");
	assert_slice(xml_attr(root->child, "a"), "1");
	assert_int_equal(parse(SLICE("<p:x><p:y q:a='1'>v</p:y></p:x>")), ERR_OK);
	assert_slice(child_text("y"), "v");
	assert_int_equal(parse(SLICE("<\0x\0>\0\xe4\0<\0/\0x\0>\0")), ERR_SYNTAX);
	assert_int_equal(parse(SLICE("\xff\xfe<\0x\0>\0\xe4\0<\0/\0x\0>\0")), ERR_OK);
	assert_slice(root->text, "\xc3\xa4");
	arena_fini(&arena);
}

static void test_refused(void **state)
{
	static const char *const rows[] = {
		"",
		" ",
		"x",
		"<x>",
		"<x></y>",
		"<x/><y/>",
		"<x/>text",
		"<x>&nope;</x>",
		"<x>&lt</x>",
		"<x>\x01</x>",
		"<x>&#0;</x>",
		"<x>&#xFFFF;</x>",
		"<x>\xff</x>",
		"<x a=1/>",
		"<x a='1' a='2'/>",
		"<x a:b:c='1'/>",
		"<a:b:c/>",
		"<:a/>",
		"<x>text<y/></x>",
		"<x><y/>text</x>",
		"<!DOCTYPE x><x/>",
		"<!DOCTYPE x []><x/>",
		"<!DOCTYPE x [<!ENTITY a 'b'>]><x>&a;</x>",
		"<!DOCTYPE x [<!ENTITY a '0123456789'><!ENTITY b '&a;&a;&a;&a;'><!ENTITY c '&b;&b;&b;'>]><x>&c;</x>",
		"<!DOCTYPE x SYSTEM 'file:///etc/passwd'><x/>",
		"<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><x>&a;</x>",
		"<!DOCTYPE x [<!ENTITY % a SYSTEM 'http://127.0.0.1:1/'> %a;]><x/>",
		"<?xml version='1.0'?><!DOCTYPE x PUBLIC 'a' 'http://127.0.0.1:1/'><x/>",
		"<?xml version='1.0' encoding='no-such-thing'?><x/>",
	};
	arena_init(&arena, 1 << 20);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		error = (struct xml_error){ 0 };
		if (parse(slice_str(rows[i])) != ERR_SYNTAX || error.reason.len == 0)
			fail_msg("not refused: %s", rows[i]);
	}
	assert_int_equal(parse(SLICE("<x>\n<y>\n</z>\n</x>")), ERR_SYNTAX);
	assert_int_equal(error.line, 3);
	assert_true(error.column > 0);
	assert_int_equal(parse(SLICE("<x>\n <!DOCTYPE y></x>")), ERR_SYNTAX);
	assert_int_equal(parse(SLICE("\n<!DOCTYPE y><x/>")), ERR_SYNTAX);
	assert_int_equal(error.line, 2);
	assert_slice(error.reason, "A document type declaration is not allowed.");
	arena_fini(&arena);
}

static void test_depth(void **state)
{
	struct buf b;
	buf_init(&b, 4096);
	arena_init(&arena, 1 << 20);
	for (int depth = LIMIT_XML_DEPTH; depth <= LIMIT_XML_DEPTH + 1; depth++) {
		buf_clear(&b);
		for (int i = 0; i < depth; i++)
			xml_open(&b, "d");
		for (int i = 0; i < depth; i++)
			xml_close(&b, "d");
		assert_int_equal(parse(buf_slice(&b)), depth > LIMIT_XML_DEPTH ? ERR_SYNTAX : ERR_OK);
	}
	arena_fini(&arena);
	buf_fini(&b);
}

/* The largest block list fits the limits of a request; a smaller arena is an error, not a crash, wherever it ends. */
static void test_large(void **state)
{
	struct buf b;
	buf_init(&b, LIMIT_SMALL_BODY_BYTES);
	xml_begin_plain(&b);
	xml_open(&b, "BlockList");
	for (int i = 0; i < 50000; i++) {
		char id[89];
		snprintf(id, sizeof id, "%088d", i);
		xml_put(&b, i % 3 ? "Latest" : "Uncommitted", slice_str(id));
	}
	xml_close(&b, "BlockList");
	assert_true(buf_ok(&b));
	arena_init(&arena, LIMIT_REQUEST_ARENA_BYTES);
	assert_int_equal(parse(buf_slice(&b)), ERR_OK);
	int count = 0;
	for (struct xml_node *n = root->child; n; n = n->next, count++) {
		uint64_t id;
		assert_true(slice_to_u64(slice_from(n->text, 70), &id) && id == (uint64_t)count);
		assert_true(xml_is(n, count % 3 ? "Latest" : "Uncommitted"));
	}
	assert_int_equal(count, 50000);
	arena_fini(&arena);

	int refused = 0, read = 0;
	for (size_t limit = 0; limit < 3000; limit += 16) {
		arena_init(&arena, limit);
		enum err e =
			parse(SLICE("<a b='c'><d>eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee</d>"
				    "<f/><f/><f/><f/><f/><f/><f/><f/><f/><f/><f/><f/><f/><f/></a>"));
		arena_fini(&arena);
		refused += e == ERR_NO_MEMORY;
		read += e == ERR_OK;
		if (read)
			assert_int_equal(e, ERR_OK);
		else
			assert_int_equal(e, ERR_NO_MEMORY);
	}
	assert_true(refused > 10 && read > 10);
	buf_fini(&b);
}

static void put_bytes(struct buf *b, char c, size_t count)
{
	char *p = buf_reserve(b, count);
	assert_non_null(p);
	memset(p, c, count);
	b->len += count;
}

/* Attributes cost the square of their number: they are few, or time would have no bound. What is long and costs no more
 * than its length is taken. */
static void test_long_markup(void **state)
{
	struct buf b;
	buf_init(&b, LIMIT_SMALL_BODY_BYTES);
	for (int namespaces = 0; namespaces < 2; namespaces++) {
		BUF_PUT(&b, "<x");
		while (b.len < LIMIT_SMALL_BODY_BYTES - 64)
			buf_printf(&b, namespaces ? " xmlns:a%zx='u'" : " a%zx=''", b.len);
		BUF_PUT(&b, "/>");
		arena_init(&arena, LIMIT_REQUEST_ARENA_BYTES);
		clock_t begin = clock(); /* of the CPU: others may have the machine */
		assert_int_equal(parse(buf_slice(&b)), ERR_SYNTAX);
		assert_slice(error.reason, "A tag is too long.");
		assert_true((clock() - begin) / CLOCKS_PER_SEC < 5); /* else some minutes */
		arena_fini(&arena);
		buf_clear(&b);
	}
	for (int count = 16; count <= 17; count++) {
		BUF_PUT(&b, "<x");
		for (int i = 0; i < count; i++)
			buf_printf(&b, " a%d=''", i);
		BUF_PUT(&b, "/>");
		arena_init(&arena, LIMIT_REQUEST_ARENA_BYTES);
		assert_int_equal(parse(buf_slice(&b)), count == 16 ? ERR_OK : ERR_SYNTAX);
		arena_fini(&arena);
		buf_clear(&b);
	}
	static const char *const around[][2] = { { "<t>", "</t>" },
						 { "<t><![CDATA[", "]]></t>" },
						 { "<!--", "--><t>z</t>" } };
	for (size_t i = 0; i < sizeof around / sizeof *around; i++) {
		BUF_PUT(&b, "<x>");
		buf_put(&b, slice_str(around[i][0]));
		put_bytes(&b, 'z', MIB);
		buf_put(&b, slice_str(around[i][1]));
		BUF_PUT(&b, "</x>");
		arena_init(&arena, LIMIT_REQUEST_ARENA_BYTES);
		assert_int_equal(parse(buf_slice(&b)), ERR_OK);
		assert_int_equal(child_text("t").len, i < 2 ? MIB : 1);
		arena_fini(&arena);
		buf_clear(&b);
	}
	buf_fini(&b);
}

/* What the writer wrote the reader reads. */
static void test_round_trip(void **state)
{
	struct buf b;
	char all[0x800 * 2 + 0x80];
	size_t len = 0;
	buf_init(&b, 1 << 20);
	arena_init(&arena, 1 << 20);
	for (int c = 1; c < 0x800; c++) {
		if (c < 0x20 && c != '\t' && c != '\n' && c != '\r')
			continue;
		if (c >= 0x80)
			all[len++] = (char)(0xc0 | c >> 6);
		all[len++] = (char)(c >= 0x80 ? 0x80 | (c & 0x3f) : c);
	}
	xml_begin(&b);
	xml_open_attr(&b, "r", "a", slice_make(all, len));
	xml_put(&b, "t", slice_make(all, len));
	xml_close(&b, "r");
	assert_int_equal(parse(buf_slice(&b)), ERR_OK);
	assert_true(slice_eq(xml_attr(root, "a"), slice_make(all, len)));
	assert_true(slice_eq(child_text("t"), slice_make(all, len)));
	arena_fini(&arena);
	buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_writer),	    cmocka_unit_test(test_copy_text),  cmocka_unit_test(test_reader),
		cmocka_unit_test(test_refused),	    cmocka_unit_test(test_depth),      cmocka_unit_test(test_large),
		cmocka_unit_test(test_long_markup), cmocka_unit_test(test_round_trip),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

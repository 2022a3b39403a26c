/* SPDX-License-Identifier: Apache-2.0
 * SDDL to binary and back: known descriptors, golden bytes, what is refused. */
#include "wire/sddl/sddl.h"

#include "wire_test.h"

/* Reads the text, writes it again. */
static enum err again(const char *text, struct buf *out)
{
	struct buf binary;
	buf_init(&binary, 1 << 20);
	struct slice in = exact(text, strlen(text));
	enum err e = sddl_parse(in, &binary);
	exact_free(in);
	if (e == ERR_OK) {
		struct slice b = exact(binary.ptr, binary.len);
		e = sddl_format(b, out);
		exact_free(b);
	}
	buf_fini(&binary);
	return e;
}

static void test_canonical(void **state)
{
	static const struct {
		const char *in, *out; /* out NULL: the same */
	} rows[] = {
		{ "O:SYG:SYD:(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)(A;;0x1200a9;;;BU)(A;OICIIO;GXGR;;;BU)(A;OICI;0x1301bf;;;"
		  "AU)(A;;FA;;;SY)(A;OICIIO;GA;;;CO)",
		  NULL },
		{ "O:BAG:SYD:(A;;0x1f01ff;;;S-1-5-32-544)", "O:BAG:SYD:(A;;FA;;;BA)" },
		{ "O:S-1-5-21-2127521184-1604012920-1887927527-21560751G:S-1-5-21-2127521184-1604012920-1887927527-"
		  "513D:AI(A;;FA;;;SY)(A;;FA;;;BA)(A;;0x1200a9;;;S-1-5-21-397955417-626881126-188441444-3053964)",
		  NULL },
		{ "D:P(A;CIOI;GRGX;;;BU)", "D:P(A;OICI;GXGR;;;BU)" },
		{ "D:PARAI(A;;CCDC;;;WD)S:P(AU;SAFA;FA;;;WD)", NULL },
		{ "D:NO_ACCESS_CONTROL", NULL },
		{ "O:SYG:SYD:S:NO_ACCESS_CONTROL", NULL },
		{ "G:SYO:BAS:(ML;;NW;;;LW)D:(D;;GA;;;AN)", "O:BAG:SYD:(D;;GA;;;AN)S:(ML;;NW;;;LW)" },
		{ "D:(OA;;RP;00299570-246d-11d0-a768-00aa006e0529;;WD)", NULL },
		{ "D:(OD;;WP;;bf967a86-0de6-11d0-a285-00aa003049e2;WD)", NULL },
		{ "D:(A;;;;;WD)", "D:(A;;0x0;;;WD)" },
		{ "O:S-1-0x123456789abc-7", NULL },
		{ "o:syg:sy", "O:SYG:SY" },
	};
	struct buf out;
	(void)state;
	buf_init(&out, 1 << 20);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		buf_clear(&out);
		if (again(rows[i].in, &out) != ERR_OK)
			fail_msg("refused: %s", rows[i].in);
		assert_slice(buf_slice(&out), rows[i].out ? rows[i].out : rows[i].in);
	}
	buf_fini(&out);
}

static void test_refused(void **state)
{
	static const char *const rows[] = {
		"",
		"invalidPermission",
		"O:",
		"O:XX",
		"O:DAG:DU",
		"O:SYO:SY",
		"O:S-1-5",
		"O:S-1-",
		"O:S-1-5-4294967296",
		"O:S-1-281474976710656-1",
		"O:S-1-5-1-2-3-4-5-6-7-8-9-10-11-12-13-14-15-16",
		"D:(A;;FA;;;BA",
		"D:(A;;FA;;;BA))",
		"D:(A;;FA;;BA)",
		"D:(A;;FA;;;;BA)",
		"D:(Z;;FA;;;BA)",
		"D:(A;ZZ;FA;;;BA)",
		"D:(A;;ZZ;;;BA)",
		"D:(A;;0x;;;BA)",
		"D:(A;;0x1ffffffff;;;BA)",
		"D:(A;;FA;;;BAX)",
		"D:(A;;FA;x;;BA)",
		"D:(OA;;RP;00299570-246d-11d0-a768-00aa006e052;;WD)",
		"D:(XA;;FX;;;WD;(@User.Title==\"PM\"))",
		"D:NO_ACCESS_CONTROL(A;;FA;;;BA)",
	};
	struct buf out;
	(void)state;
	buf_init(&out, 1 << 20);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (again(rows[i], &out) != ERR_SYNTAX)
			fail_msg("not refused: %s", rows[i]);
	buf_fini(&out);
}

/* Laid out by hand from the published structure of a self-relative descriptor. */
static void test_golden(void **state)
{
	static const unsigned char golden[] = {
		1, 0, 0x04, 0x80, 48,	0,    0,    0, 60, 0, 0, 0, 0,	  0,	0, 0, 20, 0, 0, 0, /* header */
		2, 0, 28,   0,	  1,	0,    0,    0,						   /* ACL */
		0, 3, 20,   0,	  0xff, 0x01, 0x1f, 0, 1,  1, 0, 0, 0,	  0,	0, 5, 18, 0, 0, 0, /* ACE: FA to SY */
		1, 1, 0,    0,	  0,	0,    0,    5, 18, 0, 0, 0,				   /* owner SY */
		1, 2, 0,    0,	  0,	0,    0,    5, 32, 0, 0, 0, 0x20, 0x02, 0, 0,		   /* group BA */
	};
	struct buf out;
	(void)state;
	buf_init(&out, 1 << 20);
	assert_int_equal(sddl_parse(SLICE("O:SYG:BAD:(A;OICI;FA;;;SY)"), &out), ERR_OK);
	assert_int_equal(out.len, sizeof golden);
	assert_memory_equal(out.ptr, golden, sizeof golden);
	assert_int_equal(sddl_parts(buf_slice(&out)), SDDL_OWNER | SDDL_GROUP | SDDL_DACL);
	buf_fini(&out);
}

/* Every cut and every changed byte of a good descriptor is either read or refused, and never read beyond its end. */
static void test_damage(void **state)
{
	struct buf good, out;
	(void)state;
	buf_init(&good, 1 << 20);
	buf_init(&out, 1 << 20);
	assert_int_equal(sddl_parse(SLICE("O:SYG:BAD:P(A;OICI;FA;;;SY)(OA;;RP;00299570-246d-11d0-a768-00aa006e0529;;WD)"
					  "S:(AU;SA;GA;;;WD)"),
				    &good),
			 ERR_OK);
	for (size_t n = 0; n < good.len; n++) {
		struct slice cut = exact(good.ptr, n);
		buf_clear(&out);
		assert_int_equal(sddl_format(cut, &out), ERR_SYNTAX);
		exact_free(cut);
	}
	for (size_t at = 0; at < good.len; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			struct slice changed = exact(good.ptr, good.len);
			((char *)(uintptr_t)changed.ptr)[at] ^= (char)(1 << bit);
			buf_clear(&out);
			enum err e = sddl_format(changed, &out);
			assert_true(e == ERR_OK || e == ERR_SYNTAX);
			exact_free(changed);
		}
	buf_fini(&good);
	buf_fini(&out);
}

static void test_inherit(void **state)
{
	static const char directory[] =
		"O:SYG:SYD:(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)(A;;0x1200a9;;;BU)(A;OICIIO;GXGR;;;BU)"
		"(A;OICI;0x1301bf;;;AU)(A;;FA;;;SY)(A;OICIIO;GA;;;CO)";
	static const struct {
		const char *parent, *as_directory, *as_file;
	} rows[] = {
		{ NULL, directory,
		  "O:SYG:SYD:(A;;FA;;;BA)(A;;FA;;;SY)(A;;0x1200a9;;;BU)(A;;0x1301bf;;;AU)(A;;FA;;;SY)" },
		/* The same by computing: the text differs by an empty SACL that is not inherited. */
		{ "O:SYG:SYD:(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)(A;;0x1200a9;;;BU)(A;OICIIO;GXGR;;;BU)"
		  "(A;OICI;0x1301bf;;;AU)(A;;FA;;;SY)(A;OICIIO;GA;;;CO)S:",
		  directory, "O:SYG:SYD:(A;;FA;;;BA)(A;;FA;;;SY)(A;;0x1200a9;;;BU)(A;;0x1301bf;;;AU)(A;;FA;;;SY)" },
		{ "O:BAG:BAD:(A;;FA;;;WD)", "O:SYG:SYD:", "O:SYG:SYD:" },
		{ "O:BAG:BAD:(A;OI;FA;;;WD)(A;CI;FR;;;BU)", "O:SYG:SYD:(A;OIIO;FA;;;WD)(A;CI;FR;;;BU)",
		  "O:SYG:SYD:(A;;FA;;;WD)" },
		{ "D:(A;OICINP;GA;;;WD)", "O:SYG:SYD:(A;;FA;;;WD)", "O:SYG:SYD:(A;;FA;;;WD)" },
		{ "D:NO_ACCESS_CONTROL", "O:SYG:SYD:", "O:SYG:SYD:" },
		/* What inherits by itself says so in the child; a mark of the parent's own is not passed on. */
		{ "D:AI(A;OICI;FA;;;WD)(A;;FR;;;BU)", "O:SYG:SYD:AI(A;OICIID;FA;;;WD)", "O:SYG:SYD:AI(A;ID;FA;;;WD)" },
		{ "D:P(A;OICIID;FA;;;WD)", "O:SYG:SYD:(A;OICI;FA;;;WD)", "O:SYG:SYD:(A;;FA;;;WD)" },
	};
	struct arena arena;
	(void)state;
	arena_init(&arena, 1 << 20);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_slice(sddl_inherit(&arena, slice_str(rows[i].parent), true), rows[i].as_directory);
		assert_slice(sddl_inherit(&arena, slice_str(rows[i].parent), false), rows[i].as_file);
	}
	assert_false(slice_is_set(sddl_inherit(&arena, SLICE("no sddl"), true)));
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_canonical), cmocka_unit_test(test_refused), cmocka_unit_test(test_golden),
		cmocka_unit_test(test_damage),	  cmocka_unit_test(test_inherit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

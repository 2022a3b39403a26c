/* SPDX-License-Identifier: Apache-2.0
 * SMB2 codecs: golden bytes, and every offset and length at end-1, end and end+1. */
#include "wire_test.h"

#include "wire/smb2/create.h"
#include "wire/smb2/file.h"
#include "wire/smb2/setup.h"
#include "wire/utf16.h"

enum { PART_MAX = 512 };

/* A part under construction: header, then a body whose fields are set by offset. */
struct part {
	unsigned char bytes[PART_MAX];
	size_t len;
};

static void part_init(struct part *p, uint16_t structure_size, size_t body_bytes)
{
	memset(p, 0, sizeof *p);
	memcpy(p->bytes, "\xFESMB\x40", 5);
	bytes_store(p->bytes + 64, structure_size, 2);
	p->len = 64 + body_bytes;
}

static void set(struct part *p, size_t at, uint64_t value, size_t bytes)
{
	bytes_store(p->bytes + 64 + at, value, bytes);
}

static void header_round_trip(void **state)
{
	struct smb2_header h = { .credit_charge = 3,
				 .status = 0xC0000022,
				 .command = 9,
				 .credits = 5,
				 .flags = 0x11,
				 .next = 72,
				 .message_id = 77,
				 .reserved = 0xFEFF,
				 .tree_id = 4,
				 .session_id = UINT64_C(0x1122334455667788) };
	struct smb2_header again;
	struct buf b;
	buf_init(&b, 1024);
	smb2_header_put(&b, &h);
	assert_int_equal(b.len, SMB2_HEADER_BYTES);
	static const unsigned char golden[24] = { 0xFE, 'S', 'M', 'B', 64,   0, 3, 0, 0x22, 0, 0, 0xC0,
						  9,	0,   5,	  0,   0x11, 0, 0, 0, 72,   0, 0, 0 };
	assert_memory_equal(b.ptr, golden, sizeof golden);
	bytes_put_u16(&b, 4); /* the least a body has */
	assert_int_equal(smb2_header_parse(buf_slice(&b), &again), ERR_OK);
	assert_int_equal(again.message_id, 77);
	assert_int_equal(again.session_id, h.session_id);
	assert_int_equal(smb2_header_async_id(&again), UINT64_C(0x40000FEFF));
	assert_int_equal(smb2_header_parse(slice_first(buf_slice(&b), 65), &again), ERR_SYNTAX);
	buf_fini(&b);
}

static void transform_size(void **state)
{
	char m[SMB2_TRANSFORM_BYTES + 66] = { 0 };
	struct smb2_transform t = { .size = 66, .session_id = 9 }, again;
	smb2_transform_write(m, &t);
	assert_int_equal(smb2_transform_parse(slice_make(m, sizeof m), &again), ERR_OK);
	assert_int_equal(again.session_id, 9);
	for (uint32_t size = 65; size <= 67; size += 2) {
		bytes_store(m + 36, size, 4);
		assert_int_equal(smb2_transform_parse(slice_make(m, sizeof m), &again), ERR_SYNTAX);
	}
	bytes_store(m + 36, 66, 4);
	bytes_store(m + 42, 2, 2);
	assert_int_equal(smb2_transform_parse(slice_make(m, sizeof m), &again), ERR_SYNTAX);
	assert_int_equal(smb2_transform_parse(slice_make(m, SMB2_TRANSFORM_BYTES - 1), &again), ERR_SYNTAX);
}

/* A field of every request at end-1, end and end+1 of its part. */
static void field_ends(void **state)
{
	static const struct {
		uint16_t structure;
		size_t fixed, offset_at, offset_bytes, length_at, length_bytes;
	} fields[] = {
		{ 25, 24, 12, 2, 14, 2 }, { 9, 8, 4, 2, 6, 2 },	    { 57, 56, 44, 2, 46, 2 }, { 49, 48, 2, 2, 4, 4 },
		{ 57, 56, 24, 4, 28, 4 }, { 33, 32, 24, 2, 26, 2 }, { 41, 40, 8, 2, 12, 4 },  { 33, 32, 8, 2, 4, 4 },
	};
	for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
		for (int over = -2; over <= 2; over += 2) {
			struct part p;
			part_init(&p, fields[i].structure, fields[i].fixed + 16);
			set(&p, fields[i].offset_at, 64 + fields[i].fixed + 8, fields[i].offset_bytes);
			set(&p, fields[i].length_at, (uint64_t)(8 + over), fields[i].length_bytes);
			struct slice s = exact(p.bytes, p.len);
			enum err e = ERR_OK;
			union {
				struct smb2_session_setup a;
				struct slice b;
				struct smb2_create c;
				struct smb2_write d;
				struct smb2_ioctl e;
				struct smb2_query_directory f;
				struct smb2_query_info g;
				struct smb2_set_info h;
			} u;
			switch (i) {
			case 0:
				e = smb2_session_setup_parse(s, &u.a);
				break;
			case 1:
				e = smb2_tree_connect_parse(s, &u.b);
				break;
			case 2:
				e = smb2_create_parse(s, &u.c);
				break;
			case 3:
				e = smb2_write_parse(s, &u.d);
				break;
			case 4:
				e = smb2_ioctl_parse(s, &u.e);
				break;
			case 5:
				e = smb2_query_directory_parse(s, &u.f);
				break;
			case 6:
				e = smb2_query_info_parse(s, &u.g);
				break;
			case 7:
				e = smb2_set_info_parse(s, &u.h);
				break;
			}
			assert_int_equal(e, over <= 0 ? ERR_OK : ERR_SYNTAX);
			exact_free(s);
		}
}

/* An entry of a list of interfaces, byte for byte: IPv4 and IPv6. */
static void interfaces(void **state)
{
	struct buf b;
	struct smb2_interface v4 = { 7, 1000000000, slice_make("\x0a\x00\x00\x05", 4) };
	struct smb2_interface v6 = { 8, 1, slice_make("\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x09", 16) };
	static const char v4_head[] =
		"\x98\0\0\0\x07\0\0\0\0\0\0\0\0\0\0\0\x00\xca\x9a\x3b\0\0\0\0\x02\0\0\0\x0a\0\0\x05";
	buf_init(&b, 1024);
	smb2_interface_put(&b, &v4, false);
	assert_int_equal(b.len, SMB2_INTERFACE_BYTES);
	assert_memory_equal(b.ptr, v4_head, sizeof v4_head - 1);
	smb2_interface_put(&b, &v6, true);
	assert_int_equal(b.len, 2 * SMB2_INTERFACE_BYTES);
	struct slice second = slice_from(buf_slice(&b), SMB2_INTERFACE_BYTES);
	assert_int_equal(smb2_u32(second, 0), 0);
	assert_int_equal(smb2_u32(second, 4), 8);
	assert_int_equal(smb2_u16(second, 24), 0x17);
	assert_memory_equal(second.ptr + 32, v6.address.ptr, 16);
	for (size_t at = 48; at < SMB2_INTERFACE_BYTES; at++)
		assert_int_equal(second.ptr[at], 0);
	buf_fini(&b);
}

static void structure_sizes(void **state)
{
	struct part p;
	struct smb2_close close;
	part_init(&p, 24, 24);
	struct slice s = exact(p.bytes, p.len);
	assert_int_equal(smb2_close_parse(s, &close), ERR_OK);
	assert_int_equal(smb2_close_parse(slice_first(s, s.len - 1), &close), ERR_SYNTAX);
	exact_free(s);
	part_init(&p, 23, 24);
	assert_int_equal(smb2_close_parse(slice_make(p.bytes, p.len), &close), ERR_SYNTAX);
}

static size_t negotiate_make(struct part *p, unsigned preauths)
{
	part_init(p, 36, 36 + 2 + 2);
	set(p, 2, 1, 2);
	set(p, 36, SMB2_DIALECT_311, 2);
	size_t at = 40; /* of the body: 104 of the part, a multiple of 8 */
	set(p, 28, 64 + at, 4);
	set(p, 32, preauths + 1, 2);
	for (unsigned i = 0; i < preauths; i++) {
		set(p, at, 1, 2);
		set(p, at + 2, 6, 2);
		set(p, at + 8, 1, 2);
		set(p, at + 12, SMB2_HASH_SHA512, 2);
		at += 16;
	}
	set(p, at, 2, 2);
	set(p, at + 2, 4, 2);
	set(p, at + 8, 1, 2);
	set(p, at + 10, SMB2_CIPHER_AES128_GCM, 2);
	p->len = 64 + at + 12;
	return at;
}

static void negotiate_contexts(void **state)
{
	struct part p;
	struct smb2_negotiate n;
	size_t at = negotiate_make(&p, 1);
	assert_int_equal(smb2_negotiate_parse(slice_make(p.bytes, p.len), &n), ERR_OK);
	assert_true(n.has_sha512 && n.ciphers.present && n.ciphers.id[0] == SMB2_CIPHER_AES128_GCM);
	struct slice cut = exact(p.bytes, p.len - 1);
	assert_int_equal(smb2_negotiate_parse(cut, &n), ERR_SYNTAX);
	exact_free(cut);
	set(&p, at + 8, 2, 2); /* more ciphers than there are bytes */
	assert_int_equal(smb2_negotiate_parse(slice_make(p.bytes, p.len), &n), ERR_SYNTAX);
	negotiate_make(&p, 2);
	assert_int_equal(smb2_negotiate_parse(slice_make(p.bytes, p.len), &n), ERR_SYNTAX);
	negotiate_make(&p, 0);
	assert_int_equal(smb2_negotiate_parse(slice_make(p.bytes, p.len), &n), ERR_SYNTAX);
	negotiate_make(&p, 1);
	set(&p, 28, 64 + 41, 4);
	assert_int_equal(smb2_negotiate_parse(slice_make(p.bytes, p.len), &n), ERR_SYNTAX);
	part_init(&p, 36, 36);
	assert_int_equal(smb2_negotiate_parse(slice_make(p.bytes, p.len), &n), ERR_SYNTAX);
}

/* One context of `data` bytes behind the fixed part. */
static void create_make(struct part *p, const char *name, size_t data)
{
	part_init(p, 57, 56);
	set(p, 48, 64 + 56, 4);
	set(p, 52, 24 + data, 4);
	set(p, 56 + 4, 16, 2);
	set(p, 56 + 6, 4, 2);
	set(p, 56 + 10, 24, 2);
	set(p, 56 + 12, data, 4);
	memcpy(p->bytes + 64 + 56 + 16, name, 4);
	p->len += 24 + data;
}

static void create_contexts(void **state)
{
	static const struct {
		const char *name;
		size_t good;
	} known[] = { { "RqLs", 32 }, { "RqLs", 52 }, { "DHnQ", 16 }, { "DHnC", 16 }, { "DH2Q", 32 },
		      { "DH2C", 36 }, { "MxAc", 8 },  { "QFid", 0 },  { "AlSi", 8 },  { "TWrp", 8 } };
	struct part p;
	struct smb2_create c;
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		for (size_t data = 0; data <= 60; data++) {
			create_make(&p, known[i].name, data);
			bool good =
				data == known[i].good || (i < 2 && (data == 32 || data == 52)) || (i == 6 && data == 0);
			struct slice s = exact(p.bytes, p.len);
			assert_int_equal(smb2_create_parse(s, &c), good ? ERR_OK : ERR_SYNTAX);
			exact_free(s);
		}
	create_make(&p, "Abcd", 33); /* unknown: skipped whatever its length */
	assert_int_equal(smb2_create_parse(slice_make(p.bytes, p.len), &c), ERR_OK);
	create_make(&p, "AlSi", 8);
	set(&p, 56 + 12, 9, 4); /* one byte past the list */
	assert_int_equal(smb2_create_parse(slice_make(p.bytes, p.len), &c), ERR_SYNTAX);
	create_make(&p, "AlSi", 8);
	set(&p, 56, 8, 4); /* a chain that leads into itself */
	assert_int_equal(smb2_create_parse(slice_make(p.bytes, p.len), &c), ERR_SYNTAX);
}

static void create_answer(void **state)
{
	struct smb2_create_answer a = { .oplock = 0xFF,
					.action = 1,
					.id = { 1, 2 },
					.durable_v2 = true,
					.lease = { .present = true, .v2 = true, .state = 7 } };
	struct buf b;
	buf_init(&b, 4096);
	smb2_create_put(&b, &a);
	struct slice s = buf_slice(&b);
	size_t at = smb2_u32(s, 80), len = smb2_u32(s, 84);
	assert_int_equal(at, SMB2_HEADER_BYTES + 88);
	assert_int_equal(at - SMB2_HEADER_BYTES + len, s.len);
	assert_memory_equal(s.ptr + 88 + 16, "RqLs", 4);
	size_t next = smb2_u32(s, 88);
	assert_int_equal(next % 8, 0);
	assert_memory_equal(s.ptr + 88 + next + 16, "DH2Q", 4);
	assert_int_equal(smb2_u32(s, 88 + next), 0);
	buf_fini(&b);
}

static void lock_elements(void **state)
{
	struct part p;
	struct smb2_lock l;
	part_init(&p, 48, 24 + 48);
	set(&p, 2, 2, 2);
	set(&p, 4, 0x35, 4);
	set(&p, 24 + 24, 77, 8);
	struct slice s = exact(p.bytes, p.len);
	assert_int_equal(smb2_lock_parse(s, &l), ERR_OK);
	assert_int_equal(l.sequence_number, 5);
	assert_int_equal(l.sequence_index, 3);
	assert_int_equal(smb2_lock_element(&l, 1).offset, 77);
	exact_free(s);
	set(&p, 2, 3, 2);
	assert_int_equal(smb2_lock_parse(slice_make(p.bytes, p.len), &l), ERR_SYNTAX);
}

static void smb1_offer(void **state)
{
	char m[64] = "\xFFSMBr";
	bytes_store(m + 33, 11, 2);
	memcpy(m + 35, "\x02SMB 2.???", 11);
	assert_true(smb2_smb1_offers_smb2(slice_make(m, 46)));
	assert_false(smb2_smb1_offers_smb2(slice_make(m, 45)));
	memcpy(m + 35, "\x02SMB 2.002", 11);
	assert_false(smb2_smb1_offers_smb2(slice_make(m, 46)));
}

static void utf16_text(void **state)
{
	struct arena a;
	struct slice s, again;
	arena_init(&a, 1 << 20);
	static const char text[] = "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80";
	assert_int_equal(utf16_from_utf8(slice_str(text), &a, &s), ERR_OK);
	assert_int_equal(s.len, 10);
	assert_memory_equal(s.ptr, "a\0\xE4\0\xAC\x20\x3D\xD8\x00\xDE", 10);
	assert_int_equal(utf16_to_utf8(s, &a, &again), ERR_OK);
	assert_slice(again, text);
	assert_int_equal(utf16_to_utf8(slice_first(s, 8), &a, &again), ERR_SYNTAX);
	assert_int_equal(utf16_to_utf8(slice_first(s, 3), &a, &again), ERR_SYNTAX);
	assert_int_equal(utf16_to_utf8(slice_from(s, 8), &a, &again), ERR_SYNTAX);
	assert_int_equal(utf16_from_utf8(SLICE("\xC0\x80"), &a, &s), ERR_SYNTAX);
	assert_int_equal(utf16_from_utf8(SLICE("\xED\xA0\x80"), &a, &s), ERR_SYNTAX);
	assert_int_equal(utf16_from_utf8(SLICE("\xE2\x82"), &a, &s), ERR_SYNTAX);
	arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(header_round_trip), cmocka_unit_test(transform_size),
		cmocka_unit_test(field_ends),	     cmocka_unit_test(interfaces),
		cmocka_unit_test(structure_sizes),   cmocka_unit_test(negotiate_contexts),
		cmocka_unit_test(create_contexts),   cmocka_unit_test(create_answer),
		cmocka_unit_test(lock_elements),     cmocka_unit_test(smb1_offer),
		cmocka_unit_test(utf16_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 * Messages of real clients and of Samba's server, captured (golden.txt, README.md). What is read of a request is what
 * Wireshark's decoder says of it, field by field; written again it has the bytes that the client sent. What Samba
 * answered, read and written by the server's own code, has Samba's bytes. */
#include "lib/smb2/pdu.h"
#include "wire_test.h"

#include <ctype.h>

#include "wire/utf16.h"

enum { LINE_MAX_BYTES = 1 << 12, MESSAGE_MAX_BYTES = 1 << 12, FIELDS_MAX = 32, FIELD_TEXT_BYTES = 256 };

struct message {
	char client[32], server[32], name[32];
	unsigned char bytes[MESSAGE_MAX_BYTES];
	size_t len;
	struct {
		char name[64], value[FIELD_TEXT_BYTES];
	} field[FIELDS_MAX];
	size_t field_count;
};

enum { PAST_END = -1, ALL = INT32_MAX };
/* Bytes that need not come back as they were, because nothing reads them or because the two servers differ. */
static const struct {
	const char *name;
	int info_class;	 /* the first byte; -1: any */
	int from, until; /* PAST_END: behind what was written */
	const char *why;
} free_bytes[] = {
	{ "header", -1, 64, ALL, "the body" },
	{ "transform", -1, 52, ALL, "what is encrypted" },
	{ "smb1_negotiate", -1, 5, ALL, "that it offers SMB2 is all that is read" },
	{ "negotiate", -1, 92, 98, "where the contexts are, which are messages of their own here" },
	{ "session_setup", -1, 68, 76, "capabilities and channel" },
	{ "create", -1, 112, 120, "where the contexts are" },
	{ "read", -1, 66, 68, "where the answer's data should begin; flags" },
	{ "read", -1, 112, 113, "the byte that the structure counts" },
	{ "ioctl", -1, 88, 92, "the offset of an input that is none" },
	{ "ioctl", -1, 100, 104, "the offset of an output, which requests have none of" },
	{ "query_info", -1, 72, 74, "the offset of an input that is none" },
	{ "context_preauth", -1, 2, 4, "the length of the salt" },
	{ "context_preauth", -1, 6, ALL, "the salt" },
	{ "context_MxAc", -1, 0, ALL, "a time that is not looked at" },
	{ "context_ExtA", -1, 0, ALL, "extended attributes are refused" },
	{ "fs_info", SMB2_FS_SIZE, 17, 21, "the size of Samba's units" },
	{ "fs_info", SMB2_FS_FULL_SIZE, 25, 29, "the size of Samba's units" },
	{ "fs_info", SMB2_FS_ATTRIBUTE, 1, 5, "what Samba's file system can do" },
	{ "fs_info", SMB2_FS_CONTROL, 25, 41, "no limits are all ones here, zero there" },
	{ "set_rename", -1, PAST_END, ALL, "what fills up the message" },
	{ "changes", -1, PAST_END, ALL, "Samba fills up the last one, too" },
};

static void hex_read(struct message *m, const char *text)
{
	for (; isxdigit((unsigned char)text[0]); text += 2) {
		unsigned byte;
		assert_int_equal(sscanf(text, "%2x", &byte), 1);
		assert_true(m->len < sizeof m->bytes);
		m->bytes[m->len++] = (unsigned char)byte;
	}
}

/* The next message; false at the end. A line that belongs to it was read with the one before. */
static bool message_read(FILE *f, char line[LINE_MAX_BYTES], struct message *m)
{
	memset(m, 0, sizeof *m);
	while (strncmp(line, "message ", 8) != 0)
		if (!fgets(line, LINE_MAX_BYTES, f))
			return false;
	assert_int_equal(sscanf(line, "message %31s %31s %31s", m->client, m->server, m->name), 3);
	for (line[0] = 0; fgets(line, LINE_MAX_BYTES, f) && strncmp(line, "message ", 8) != 0;) {
		if (strncmp(line, "bytes ", 6) == 0) {
			hex_read(m, line + 6);
		} else {
			assert_true(m->field_count < FIELDS_MAX);
			size_t i = m->field_count++;
			assert_int_equal(sscanf(line, "field %63s %255[^\n]", m->field[i].name, m->field[i].value), 2);
		}
	}
	return true;
}

static void guid_show(const unsigned char *g, char ret[FIELD_TEXT_BYTES])
{
	snprintf(ret, FIELD_TEXT_BYTES, "%08x-%04x-%04x-%02x%02x-%02x%02x%02x%02x%02x%02x", (unsigned)bytes_load(g, 4),
		 (unsigned)bytes_load(g + 4, 2), (unsigned)bytes_load(g + 6, 2), g[8], g[9], g[10], g[11], g[12], g[13],
		 g[14], g[15]);
}

/* As Wireshark shows it; a number as a number, however it was written. */
static void field_show(const struct pdu_field *f, struct pdu_value *v, const char *expected, char ret[FIELD_TEXT_BYTES])
{
	const char *at = (const char *)v + f->at;
	if (f->bytes == 0) {
		struct slice text;
		assert_int_equal(utf16_to_utf8(*(const struct slice *)(const void *)at, v->arena, &text), ERR_OK);
		snprintf(ret, FIELD_TEXT_BYTES, "%.*s", (int)text.len, text.ptr);
	} else if (f->bytes == 16) {
		guid_show((const unsigned char *)at, ret);
	} else {
		uint64_t value = bytes_load(at, f->bytes);
		if (strtoull(expected, NULL, 0) == value)
			snprintf(ret, FIELD_TEXT_BYTES, "%s", expected);
		else
			snprintf(ret, FIELD_TEXT_BYTES, "%#llx", (unsigned long long)value);
	}
}

static const struct pdu_field *field_find(const struct pdu *p, const char *name)
{
	for (size_t i = 0; i < p->field_count; i++)
		if (strcmp(p->fields[i].name, name) == 0)
			return &p->fields[i];
	return NULL;
}

/* Which fields were compared at least once. */
static bool told[FIELDS_MAX][FIELDS_MAX];

static size_t fields_check(const struct pdu *p, const struct message *m, struct pdu_value *v, size_t number)
{
	size_t wrong = 0;
	for (size_t i = 0; i < m->field_count; i++) {
		char shown[FIELD_TEXT_BYTES];
		const struct pdu_field *f = field_find(p, m->field[i].name);
		assert_non_null(f);
		told[p - pdu_requests][f - p->fields] = true; /* only requests have fields */
		field_show(f, v, m->field[i].value, shown);
		if (strcmp(shown, m->field[i].value) == 0)
			continue;
		wrong++;
		print_error("message %zu (%s, %s): %s is '%s', not '%s'\n", number, m->client, m->name, f->name, shown,
			    m->field[i].value);
	}
	return wrong;
}

static bool is_free(const struct message *m, int at, size_t written)
{
	for (size_t i = 0; i < sizeof free_bytes / sizeof free_bytes[0]; i++) {
		int from = free_bytes[i].from == PAST_END ? (int)written : free_bytes[i].from;
		if (strcmp(free_bytes[i].name, m->name) == 0 &&
		    (free_bytes[i].info_class < 0 || free_bytes[i].info_class == m->bytes[0]) && at >= from &&
		    at < free_bytes[i].until)
			return true;
	}
	return false;
}

/* Contexts may come in any order: those of requests are messages of their own, and where Samba answers with several,
 * the tests of what is written say more than its order. */
static size_t compared_bytes(const struct message *m)
{
	struct slice s = slice_make(m->bytes, m->len);
	if (strcmp(m->name, "create") == 0)
		return smb2_u16(s, 108) + (size_t)smb2_u16(s, 110);
	if (strcmp(m->name, "negotiate") == 0)
		return SMB2_HEADER_BYTES + 36 + 2 * (size_t)smb2_u16(s, 66);
	if (strcmp(m->name, "create_answer") == 0 && m->len > 156 && smb2_u32(s, 152) != 0)
		return 144;
	return SIZE_MAX;
}

static size_t bytes_check(const struct pdu *p, const struct message *m, const struct pdu_value *v, size_t number)
{
	enum { MISSING = 0x100 };
	struct buf b;
	size_t wrong = 0;
	buf_init(&b, 1 << 20);
	p->put(&b, v);
	assert_true(buf_ok(&b));
	size_t longer = b.len > m->len ? b.len : m->len, compared = compared_bytes(m);
	if (longer > compared)
		longer = compared;
	/* The header of what is written is empty: header is a message of its own here. */
	for (size_t at = p->has_header && strcmp(m->name, "header") != 0 ? SMB2_HEADER_BYTES : 0; at < longer; at++) {
		int got = at < b.len ? (unsigned char)b.ptr[at] : MISSING;
		int want = at < m->len ? m->bytes[at] : MISSING;
		if (got == want || is_free(m, (int)at, b.len))
			continue;
		wrong++;
		print_error("message %zu (%s, %s, %s, first byte %u): byte %zu is %02x, not %02x\n", number, m->client,
			    m->server, m->name, m->bytes[0], at, (unsigned)got, (unsigned)want);
	}
	buf_fini(&b);
	return wrong;
}

static size_t untold(void)
{
	size_t missing = 0;
	assert_true(pdu_request_count <= FIELDS_MAX);
	for (size_t p = 0; p < pdu_request_count; p++)
		for (size_t f = 0; f < pdu_requests[p].field_count; f++) {
			if (told[p][f])
				continue;
			missing++;
			print_error("no message tells %s of %s\n", pdu_requests[p].fields[f].name,
				    pdu_requests[p].name);
		}
	return missing;
}

static void golden(void **state)
{
	static struct message m;
	static struct pdu_value v;
	char line[LINE_MAX_BYTES] = "";
	size_t count = 0, wrong = 0;
	struct arena arena;
	FILE *f = fopen(GOLDEN, "r");
	assert_non_null(f);
	arena_init(&arena, 64 << 20);
	for (; message_read(f, line, &m); count++) {
		const struct pdu *p = pdu_find(slice_str(m.name));
		assert_non_null(p);
		struct slice bytes = exact(m.bytes, m.len);
		v.arena = &arena;
		if (pdu_parse(p, bytes, &v) == ERR_OK) {
			wrong += fields_check(p, &m, &v, count) + bytes_check(p, &m, &v, count);
		} else {
			wrong++;
			print_error("message %zu (%s, %s, %s, first byte %u) was refused\n", count, m.client, m.server,
				    m.name, m.bytes[0]);
		}
		exact_free(bytes);
	}
	fclose(f);
	arena_fini(&arena);
	print_message("%zu messages\n", count);
	assert_int_equal(wrong + untold(), 0);
	assert_true(count > 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(golden) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}

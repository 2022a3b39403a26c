/* SPDX-License-Identifier: Apache-2.0
 * Attributes, times and permissions of directories and files as headers. */
#include "rest/file/properties.h"

#include "base/digits.h"
#include "rest/core/server.h"
#include "wire/base64.h"
#include "wire/date.h"
#include "wire/hash.h"
#include "wire/sddl/sddl.h"

/* ---- attributes ---- */

/* In the order of answers. */
static const struct {
	const char *name;
	uint32_t bit;
} attribute_names[] = {
	{ "ReadOnly", FILE_ATTR_READONLY },
	{ "Hidden", FILE_ATTR_HIDDEN },
	{ "System", FILE_ATTR_SYSTEM },
	{ "Directory", FILE_ATTR_DIRECTORY },
	{ "Archive", FILE_ATTR_ARCHIVE },
	{ "Temporary", FILE_ATTR_TEMPORARY },
	{ "Offline", FILE_ATTR_OFFLINE },
	{ "NotContentIndexed", FILE_ATTR_NOT_CONTENT_INDEXED },
	{ "NoScrubData", FILE_ATTR_NO_SCRUB_DATA },
};
enum { ATTRIBUTE_COUNT = sizeof attribute_names / sizeof *attribute_names };

size_t rest_file_attributes_format(uint32_t attributes, char dst[FILE_ATTRIBUTES_TEXT_BYTES])
{
	static const char between[] = { ' ', '|', ' ' }, none[] = { 'N', 'o', 'n', 'e' };
	size_t at = 0;
	for (size_t i = 0; i < ATTRIBUTE_COUNT; i++) {
		size_t n = strlen(attribute_names[i].name);
		if (!(attributes & attribute_names[i].bit))
			continue;
		if (at) {
			memcpy(dst + at, between, sizeof between);
			at += sizeof between;
		}
		memcpy(dst + at, attribute_names[i].name, n);
		at += n;
	}
	if (at)
		return at;
	memcpy(dst, none, sizeof none);
	return sizeof none;
}

bool rest_file_attributes_parse(struct slice text, uint32_t *ret)
{
	uint32_t bits = 0;
	size_t names = 0;
	bool none = false;
	for (struct slice rest = text; slice_is_set(rest); names++) {
		struct slice name = slice_trim(slice_cut(&rest, '|'));
		size_t i = 0;
		if (slice_eq_nocase(name, SLICE("None"))) {
			none = true;
			continue;
		}
		while (i < ATTRIBUTE_COUNT && !slice_eq_nocase(name, slice_str(attribute_names[i].name)))
			i++;
		if (i == ATTRIBUTE_COUNT)
			return false;
		bits |= attribute_names[i].bit;
	}
	if (none && names > 1)
		return false;
	*ret = bits;
	return names > 0;
}

/* ---- permission keys ---- */

/* The second number is the same for a whole account and differs between accounts. Every entry of a list has it, so that
 * of the account that was asked for last is remembered. */
static uint64_t account_number(const struct request *r)
{
	static _Thread_local struct {
		char name[64];
		size_t len;
		uint64_t number;
	} last;
	unsigned char digest[32];
	uint64_t n = 0;
	if (last.len && slice_eq(slice_make(last.name, last.len), r->account))
		return last.number;
	hash_sha256(r->account, digest);
	for (size_t i = 0; i < 8; i++)
		n = n << 8 | digest[i];
	if (r->account.len <= sizeof last.name) {
		memcpy(last.name, r->account.ptr, r->account.len);
		last.len = r->account.len;
		last.number = n;
	}
	return n;
}

size_t rest_file_permission_key_format(const struct request *r, uint64_t key, char dst[FILE_PERMISSION_KEY_BYTES])
{
	char *p = digits_put_u64(dst, key);
	*p++ = '*';
	return (size_t)(digits_put_u64(p, account_number(r)) - dst);
}

bool rest_file_permission_key_parse(const struct request *r, struct slice text, uint64_t *ret)
{
	uint64_t account;
	struct slice first = slice_cut(&text, '*');
	return slice_is_set(text) && slice_to_u64(first, ret) && slice_to_u64(text, &account) &&
	       account == account_number(r);
}

/* ---- permissions ---- */

/* The service adds it where there is no SACL, and clients hand back what they read: it is the same descriptor. */
static struct slice without_no_sacl(struct slice text)
{
	const size_t added = sizeof PERMISSION_NO_SACL - 1;
	bool has = text.len > added && slice_eq(slice_from(text, text.len - added), SLICE(PERMISSION_NO_SACL));
	return has ? slice_first(text, text.len - added) : text;
}

enum err rest_file_permission_canonical(struct request *r, struct slice given, bool binary, struct slice *ret)
{
	enum { WHOLE = SDDL_OWNER | SDDL_GROUP | SDDL_DACL };
	struct buf b, text;
	struct slice decoded;
	buf_init(&b, 4 * SDDL_BINARY_MAX_BYTES);
	buf_init(&text, 16 * SDDL_BINARY_MAX_BYTES);
	enum err e = ERR_OK;
	if (!binary)
		e = sddl_parse(given, &b);
	else if ((e = base64_decode(given, r->arena, &decoded)) == ERR_OK)
		buf_put(&b, decoded);
	if (e == ERR_OK)
		e = sddl_format(buf_slice(&b), &text);
	if (e == ERR_OK && (sddl_parts(buf_slice(&b)) & WHOLE) != WHOLE)
		e = ERR_SYNTAX;
	if (e == ERR_OK) {
		*ret = arena_dup(r->arena, without_no_sacl(buf_slice(&text)));
		e = slice_is_set(*ret) ? ERR_OK : ERR_NO_MEMORY;
	}
	buf_fini(&b);
	buf_fini(&text);
	return e == ERR_SYNTAX ? ERR_FILE_INVALID_PERMISSION : e;
}

enum err rest_file_permission_format_parse(struct request *r, bool *ret_binary)
{
	struct slice v = request_header(r, "x-ms-file-permission-format");
	*ret_binary = false;
	if (!slice_is_set(v) || !file_since(r, FILE_V_PERMISSION_FORMAT))
		return ERR_OK;
	*ret_binary = slice_eq_nocase(v, SLICE("binary"));
	return *ret_binary || slice_eq_nocase(v, SLICE("sddl"))
		       ? ERR_OK
		       : fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-file-permission-format", v);
}

static enum err parse_permission_text(struct request *r, struct slice text, enum settings_use use,
				      struct file_permission *ret)
{
	bool binary;
	if (slice_eq_nocase(text, SLICE("inherit"))) {
		ret->how = FILE_PERMISSION_INHERIT;
		return ERR_OK;
	}
	if (slice_eq_nocase(text, SLICE("preserve")) && use != SETTINGS_CREATE) {
		ret->how = FILE_PERMISSION_KEEP;
		return ERR_OK;
	}
	if (text.len > FILE_SDDL_HEADER_MAX_BYTES)
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-file-permission", SLICE_NONE);
	TRY(rest_file_permission_format_parse(r, &binary));
	ret->how = FILE_PERMISSION_TEXT;
	return rest_file_permission_canonical(r, text, binary, &ret->text);
}

static enum err parse_permission(struct request *r, enum settings_use use, struct file_permission *ret)
{
	struct slice text = request_header(r, "x-ms-file-permission"),
		     key = request_header(r, "x-ms-file-permission-key");
	struct file_permission p = { .how = use == SETTINGS_CREATE ? FILE_PERMISSION_INHERIT : FILE_PERMISSION_KEEP,
				     .inherit = sddl_inherit };
	/* az sends an empty one of the two beside the other. */
	bool has_text = slice_is_set(text) && text.len, has_key = slice_is_set(key) && key.len;
	if (has_text && has_key)
		return ERR_BOTH_PERMISSION_AND_PERMISSION_KEY_HEADER_PRESENT;
	if (has_text)
		TRY(parse_permission_text(r, text, use, &p));
	if (has_key) {
		if (slice_eq_nocase(key, SLICE("preserve")) || slice_eq_nocase(key, SLICE("inherit"))) {
			TRY(parse_permission_text(r, key, use, &p));
		} else if (!rest_file_permission_key_parse(r, key, &p.key)) {
			return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-file-permission-key", key);
		} else {
			p.how = FILE_PERMISSION_KEY;
		}
	}
	*ret = p;
	return ERR_OK;
}

enum err rest_file_settings_check_key(struct request *r, struct slice partition, const struct file_settings *s)
{
	if (s->permission.how != FILE_PERMISSION_KEY)
		return ERR_OK;
	struct file_permission_call call = { .key = s->permission.key };
	enum err e = store_read_points(r->server->store, partition, file_apply_get_permission, &call, r->arena);
	return e == ERR_FILE_INVALID_PERMISSION_KEY
		       ? fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-file-permission-key",
				      request_header(r, "x-ms-file-permission-key"))
		       : e;
}

/* ---- all of them ---- */

static enum err parse_time(struct request *r, const char *header, enum settings_use use, struct file_time *ret)
{
	struct slice text = request_header(r, header);
	if (!slice_is_set(text) || !text.len)
		return ERR_OK;
	if (slice_eq_nocase(text, SLICE("now"))) {
		ret->how = FILE_TIME_NOW;
	} else if (slice_eq_nocase(text, SLICE("preserve")) && use != SETTINGS_CREATE) {
		ret->how = FILE_TIME_KEEP;
	} else if (slice_eq_nocase(text, SLICE("source")) && use == SETTINGS_COPY) {
		ret->how = FILE_TIME_SOURCE;
	} else {
		ret->how = FILE_TIME_SET;
		if (!date_parse_iso(text, &ret->ticks))
			return fault_header(r, ERR_INVALID_HEADER_VALUE, header, text);
	}
	return ERR_OK;
}

static enum err parse_attributes(struct request *r, enum settings_use use, bool directory, struct file_settings *s)
{
	struct slice text = request_header(r, "x-ms-file-attributes");
	bool given = slice_is_set(text) && text.len;
	bool keep =
		slice_eq_nocase(text, SLICE("preserve")) ? use != SETTINGS_CREATE : !given && use != SETTINGS_CREATE;
	if (keep || (use == SETTINGS_COPY && slice_eq_nocase(text, SLICE("source"))))
		return ERR_OK;
	s->set_attributes = true;
	if (given && !rest_file_attributes_parse(text, &s->attributes))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-file-attributes", text);
	if (directory)
		s->attributes |= FILE_ATTR_DIRECTORY;
	else if (s->attributes & FILE_ATTR_DIRECTORY)
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-file-attributes", text);
	return ERR_OK;
}

/* Versions between the two must say all of it. */
static enum err check_required(struct request *r, enum settings_use use)
{
	static const char *const names[] = { "x-ms-file-attributes", "x-ms-file-creation-time",
					     "x-ms-file-last-write-time" };
	if (file_since(r, FILE_V_PROPERTIES_OPTIONAL) || (use != SETTINGS_CREATE && use != SETTINGS_SET))
		return ERR_OK;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!slice_is_set(request_header(r, names[i])))
			return fault_header(r, ERR_MISSING_REQUIRED_HEADER, names[i], SLICE_NONE);
	if (!slice_is_set(request_header(r, "x-ms-file-permission")) &&
	    !slice_is_set(request_header(r, "x-ms-file-permission-key")))
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, "x-ms-file-permission", SLICE_NONE);
	return ERR_OK;
}

#define PROPERTY_SEMANTICS_SINCE VERSION(2026, 6, 6)

/* Restore stores the attributes of a new file as they are given; else it is to be archived. */
static enum err add_archive(struct request *r, struct file_settings *s)
{
	struct slice v = file_since(r, PROPERTY_SEMANTICS_SINCE) ? request_header(r, "x-ms-file-property-semantics")
								 : SLICE_NONE;
	bool restore = slice_eq_nocase(v, SLICE("Restore"));
	if (slice_is_set(v) && v.len && !restore && !slice_eq_nocase(v, SLICE("New")))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-file-property-semantics", v);
	if (!restore)
		s->attributes |= FILE_ATTR_ARCHIVE;
	return ERR_OK;
}

enum err rest_file_settings_parse(struct request *r, enum settings_use use, bool directory, struct file_settings *ret)
{
	bool create = use == SETTINGS_CREATE || use == SETTINGS_COPY;
	struct file_settings s = { .created.how = create ? FILE_TIME_NOW : FILE_TIME_KEEP,
				   .written.how = create ? FILE_TIME_NOW : FILE_TIME_KEEP,
				   .changed.how = FILE_TIME_NOW };
	if (!file_since(r, FILE_V_SMB_PROPERTIES)) {
		s.set_attributes = use == SETTINGS_CREATE;
		s.attributes = directory ? FILE_ATTR_DIRECTORY : FILE_ATTR_ARCHIVE;
		s.permission.how = use == SETTINGS_CREATE ? FILE_PERMISSION_INHERIT : FILE_PERMISSION_KEEP;
		s.permission.inherit = sddl_inherit;
		*ret = s;
		return ERR_OK;
	}
	TRY(check_required(r, use));
	TRY(parse_attributes(r, use, directory, &s));
	if (use == SETTINGS_CREATE && !directory)
		TRY(add_archive(r, &s));
	TRY(parse_time(r, "x-ms-file-creation-time", use, &s.created));
	TRY(parse_time(r, "x-ms-file-last-write-time", use, &s.written));
	if (file_since(r, FILE_V_PROPERTIES_OPTIONAL))
		TRY(parse_time(r, "x-ms-file-change-time", use, &s.changed));
	TRY(parse_permission(r, use, &s.permission));
	*ret = s;
	return ERR_OK;
}

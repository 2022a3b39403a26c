/* SPDX-License-Identifier: Apache-2.0
 * QUERY_DIRECTORY, QUERY_INFO and SET_INFO: requests read, and every level of information written. */
#include "wire/smb2/info.h"

#include <assert.h>

#include "wire/utf16.h"

enum { UNIT_SECTORS = 8, SECTOR_BYTES = 512, NAME_CHARS_MAX = 255 };

static void times_put(struct buf *b, const struct smb2_file_times *t)
{
	bytes_put_u64(b, t->creation);
	bytes_put_u64(b, t->access);
	bytes_put_u64(b, t->write);
	bytes_put_u64(b, t->change);
}

static void basic_put(struct buf *b, const struct smb2_file_info *i)
{
	times_put(b, &i->times);
	bytes_put_u32(b, i->attributes);
	bytes_put_u32(b, 0);
}

static void standard_put(struct buf *b, const struct smb2_file_info *i)
{
	bytes_put_u64(b, i->allocation);
	bytes_put_u64(b, i->size);
	bytes_put_u32(b, !i->delete_pending);
	bytes_put_u8(b, i->delete_pending);
	bytes_put_u8(b, i->directory);
	bytes_put_u16(b, 0);
}

/* A length in bytes, then the name with backslashes. */
static void path_put(struct buf *b, struct slice path, bool leading)
{
	size_t at = b->len;
	bytes_put_u32(b, 0);
	if (leading)
		bytes_put_u16(b, '\\');
	size_t from = b->len;
	utf16_put(b, path);
	if (!buf_ok(b))
		return;
	for (size_t i = from; i < b->len; i += 2)
		if (b->ptr[i] == '/' && b->ptr[i + 1] == 0)
			b->ptr[i] = '\\';
	bytes_store(b->ptr + at, b->len - at - 4, 4);
}

static void all_put(struct buf *b, const struct smb2_file_info *i)
{
	basic_put(b, i);
	standard_put(b, i);
	bytes_put_u64(b, i->disk_id);
	bytes_put_u32(b, 0); /* size of extended attributes */
	bytes_put_u32(b, i->access);
	bytes_put_u64(b, i->position);
	bytes_put_u32(b, i->mode);
	bytes_put_u32(b, 0); /* alignment: bytes */
	path_put(b, i->path, true);
}

static void stream_put(struct buf *b, const struct smb2_file_info *i)
{
	if (i->directory)
		return;
	bytes_put_u32(b, 0);
	bytes_put_u32(b, 14);
	bytes_put_u64(b, i->size);
	bytes_put_u64(b, i->allocation);
	utf16_put(b, SLICE("::$DATA"));
}

static void network_open_put(struct buf *b, const struct smb2_file_info *i)
{
	times_put(b, &i->times);
	bytes_put_u64(b, i->allocation);
	bytes_put_u64(b, i->size);
	bytes_put_u32(b, i->attributes);
	bytes_put_u32(b, 0);
}

/* Classes of a few numbers. */
static bool small_put(struct buf *b, uint8_t info_class, const struct smb2_file_info *i)
{
	switch (info_class) {
	case SMB2_FILE_INTERNAL:
		bytes_put_u64(b, i->disk_id);
		return true;
	case SMB2_FILE_EA:
	case SMB2_FILE_ALIGNMENT:
		bytes_put_u32(b, 0);
		return true;
	case SMB2_FILE_ACCESS:
		bytes_put_u32(b, i->access);
		return true;
	case SMB2_FILE_POSITION:
		bytes_put_u64(b, i->position);
		return true;
	case SMB2_FILE_MODE:
		bytes_put_u32(b, i->mode);
		return true;
	case SMB2_FILE_COMPRESSION:
		bytes_put_u64(b, i->size);
		bytes_put_u64(b, 0);
		return true;
	case SMB2_FILE_ATTRIBUTE_TAG:
		bytes_put_u32(b, i->attributes);
		bytes_put_u32(b, 0);
		return true;
	case SMB2_FILE_ID:
		bytes_put_u64(b, i->volume_id);
		bytes_put_u64(b, i->disk_id);
		bytes_put_u64(b, 0);
		return true;
	default:
		return false;
	}
}

bool smb2_file_info_put(struct buf *b, uint8_t info_class, const struct smb2_file_info *i, size_t *ret_fixed)
{
	size_t from = b->len, fixed = 0;
	switch (info_class) {
	case SMB2_FILE_BASIC:
		basic_put(b, i);
		break;
	case SMB2_FILE_STANDARD:
		standard_put(b, i);
		break;
	case SMB2_FILE_NETWORK_OPEN:
		network_open_put(b, i);
		break;
	case SMB2_FILE_ALL:
		all_put(b, i);
		fixed = 104;
		break;
	case SMB2_FILE_NAME:
		path_put(b, i->path, true);
		fixed = 8;
		break;
	case SMB2_FILE_ALTERNATE_NAME:
		path_put(b, i->short_name, false);
		fixed = 8;
		break;
	case SMB2_FILE_NORMALIZED_NAME:
		path_put(b, i->path, false);
		fixed = 8;
		break;
	case SMB2_FILE_STREAM:
		stream_put(b, i);
		fixed = i->directory ? 0 : 32;
		break;
	default:
		if (!small_put(b, info_class, i))
			return false;
	}
	*ret_fixed = fixed ? fixed : b->len - from;
	return true;
}

/* ---- file systems ---- */

static void volume_put(struct buf *b, const struct smb2_fs_info *i)
{
	bytes_put_u64(b, i->created_time);
	bytes_put_u32(b, i->serial);
	size_t at = b->len;
	bytes_put_u32(b, 0);
	bytes_put_u16(b, 0);
	size_t name = b->len;
	utf16_put(b, i->label);
	if (buf_ok(b))
		bytes_store(b->ptr + at, b->len - name, 4);
}

static void attribute_put(struct buf *b)
{
	enum { CASE_SEARCH = 1, CASE_PRESERVED = 2, UNICODE_NAMES = 4, ACLS = 8 };
	bytes_put_u32(b, CASE_SEARCH | CASE_PRESERVED | UNICODE_NAMES | ACLS);
	bytes_put_u32(b, NAME_CHARS_MAX);
	bytes_put_u32(b, 8);
	utf16_put(b, SLICE("NTFS"));
}

static void sizes_put(struct buf *b, const struct smb2_fs_info *i, bool full)
{
	bytes_put_u64(b, i->total_units);
	bytes_put_u64(b, i->free_units);
	if (full)
		bytes_put_u64(b, i->free_units);
	bytes_put_u32(b, UNIT_SECTORS);
	bytes_put_u32(b, SECTOR_BYTES);
}

/* What NTFS says of quotas for each user: there are none. The quota of the share is in the sizes. */
static void control_put(struct buf *b)
{
	smb2_zeros_put(b, 24);	      /* filtering of free space */
	bytes_put_u64(b, UINT64_MAX); /* threshold of a user: none */
	bytes_put_u64(b, UINT64_MAX); /* limit: none */
	bytes_put_u64(b, 0);	      /* nothing tracked, nothing enforced */
}

bool smb2_fs_info_put(struct buf *b, uint8_t info_class, const struct smb2_fs_info *i, size_t *ret_fixed)
{
	size_t from = b->len, fixed = 0;
	switch (info_class) {
	case SMB2_FS_VOLUME:
		volume_put(b, i);
		fixed = 24;
		break;
	case SMB2_FS_SIZE:
		sizes_put(b, i, false);
		break;
	case SMB2_FS_DEVICE:
		bytes_put_u32(b, 7);	/* disk */
		bytes_put_u32(b, 0x20); /* mounted */
		break;
	case SMB2_FS_ATTRIBUTE:
		attribute_put(b);
		fixed = 16;
		break;
	case SMB2_FS_CONTROL:
		control_put(b);
		break;
	case SMB2_FS_FULL_SIZE:
		sizes_put(b, i, true);
		break;
	case SMB2_FS_OBJECT_ID:
		buf_put(b, slice_make(i->object_id, sizeof i->object_id));
		smb2_zeros_put(b, 48);
		break;
	case SMB2_FS_SECTOR_SIZE:
		for (unsigned k = 0; k < 4; k++)
			bytes_put_u32(b, SECTOR_BYTES);
		bytes_put_u32(b, 3);
		bytes_put_u64(b, 0);
		break;
	default:
		return false;
	}
	*ret_fixed = fixed ? fixed : b->len - from;
	return true;
}

/* ---- directory entries ---- */

bool smb2_entry_known(uint8_t c)
{
	return c == SMB2_FILE_DIRECTORY || c == SMB2_FILE_FULL_DIRECTORY || c == SMB2_FILE_BOTH_DIRECTORY ||
	       c == SMB2_FILE_NAMES || c == SMB2_FILE_ID_BOTH_DIRECTORY || c == SMB2_FILE_ID_FULL_DIRECTORY;
}

static void short_name_put(struct buf *b, struct slice name)
{
	enum { ROOM_BYTES = 24 };
	assert(2 * name.len <= ROOM_BYTES);
	bytes_put_u8(b, (uint8_t)(2 * name.len));
	bytes_put_u8(b, 0);
	utf16_put(b, name);
	smb2_zeros_put(b, ROOM_BYTES - 2 * name.len);
}

/* Links the entry that begins here to the one before. */
static void list_link(struct buf *b, size_t *last, size_t unit)
{
	if (*last) {
		smb2_pad(b, *last, unit);
		if (buf_ok(b))
			bytes_store(b->ptr + *last, b->len - *last, 4);
	}
	*last = b->len;
	bytes_put_u32(b, 0);
}

static void entry_tail_put(struct buf *b, uint8_t info_class, const struct smb2_file_info *i)
{
	if (info_class == SMB2_FILE_DIRECTORY)
		return;
	bytes_put_u32(b, 0); /* extended attributes */
	switch (info_class) {
	case SMB2_FILE_BOTH_DIRECTORY:
		short_name_put(b, i->short_name);
		break;
	case SMB2_FILE_ID_BOTH_DIRECTORY:
		short_name_put(b, i->short_name);
		bytes_put_u16(b, 0);
		bytes_put_u64(b, i->disk_id);
		break;
	case SMB2_FILE_ID_FULL_DIRECTORY:
		bytes_put_u32(b, 0);
		bytes_put_u64(b, i->disk_id);
		break;
	default:
		break;
	}
}

void smb2_entry_put(struct buf *b, uint8_t info_class, const struct smb2_file_info *i, struct slice name, size_t *last)
{
	list_link(b, last, 8);
	bytes_put_u32(b, 0); /* index */
	if (info_class != SMB2_FILE_NAMES) {
		times_put(b, &i->times);
		bytes_put_u64(b, i->size);
		bytes_put_u64(b, i->allocation);
		bytes_put_u32(b, i->attributes);
	}
	size_t length_at = b->len;
	bytes_put_u32(b, 0);
	if (info_class != SMB2_FILE_NAMES)
		entry_tail_put(b, info_class, i);
	size_t name_at = b->len;
	utf16_put(b, name);
	if (buf_ok(b))
		bytes_store(b->ptr + length_at, b->len - name_at, 4);
}

void smb2_change_put(struct buf *b, uint32_t action, struct slice name, size_t *last)
{
	list_link(b, last, 4);
	bytes_put_u32(b, action);
	path_put(b, name, false);
}

/* ---- SET_INFO ---- */

enum err smb2_set_basic_parse(struct slice in, struct smb2_set_basic *ret)
{
	if (in.len < 40)
		return ERR_SYNTAX;
	*ret = (struct smb2_set_basic){
		.times = { smb2_u64(in, 0), smb2_u64(in, 8), smb2_u64(in, 16), smb2_u64(in, 24) },
		.attributes = smb2_u32(in, 32),
	};
	return ERR_OK;
}

enum err smb2_set_rename_parse(struct slice in, struct smb2_set_rename *ret)
{
	enum { FIXED = 20 };
	if (in.len < FIXED)
		return ERR_SYNTAX;
	uint32_t length = smb2_u32(in, 16);
	if (length == 0 || length % 2 || length > in.len - FIXED)
		return ERR_SYNTAX;
	*ret = (struct smb2_set_rename){
		.replace = in.ptr[0] != 0,
		.root = smb2_u64(in, 8),
		.name = slice_make(in.ptr + FIXED, length),
	};
	return ERR_OK;
}

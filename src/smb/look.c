/* SPDX-License-Identifier: Apache-2.0
 * How files look to SMB: times, attributes, ids, names. */
#include "smb/opens.h"

#include "wire/utf16.h"

enum { ALLOCATION_UNIT = 4096, ATTRIBUTE_NORMAL = 0x80 };
#define ROOT_DISK_ID (UINT64_C(1) << 62) /* clients take 0 for "no id" */

struct smb2_file_times smb_times(const struct inode *i)
{
	return (struct smb2_file_times){
		.creation = SMB_FILETIME_OF_TICKS(i->created_ticks),
		.access = SMB_FILETIME_OF_TICKS(i->accessed_ticks),
		.write = SMB_FILETIME_OF_TICKS(i->written_ticks),
		.change = SMB_FILETIME_OF_TICKS(i->changed_ticks),
	};
}

uint32_t smb_attributes(const struct inode *i)
{
	return i->attributes ? i->attributes : ATTRIBUTE_NORMAL;
}

uint64_t smb_disk_id(const struct inode *i)
{
	return i->id == FILE_ROOT_ID ? ROOT_DISK_ID : i->id;
}

uint64_t smb_allocation(const struct inode *i)
{
	if (i->kind == FILE_KIND_DIRECTORY)
		return 0;
	return (i->size_bytes + ALLOCATION_UNIT - 1) / ALLOCATION_UNIT * ALLOCATION_UNIT;
}

static bool has_any(struct slice s, const char *set)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] == 0 || strchr(set, s.ptr[i]))
			return true;
	return false;
}

/* A part that is "..": never resolved. */
static bool has_dots(struct slice path)
{
	while (slice_is_set(path))
		if (slice_eq(slice_cut(&path, '\\'), SLICE("..")))
			return true;
	return false;
}

uint32_t smb_path_parse(struct smb_request *r, struct slice utf16, struct file_path *ret)
{
	struct slice text;
	static const struct slice stream = { "::$DATA", 7 };
	enum err e = utf16_to_utf8(utf16, &r->arena, &text);
	if (e != ERR_OK)
		return e == ERR_NO_MEMORY ? STATUS_INSUFFICIENT_RESOURCES : STATUS_OBJECT_NAME_INVALID;
	if (text.len && text.ptr[0] == '\\')
		return STATUS_INVALID_PARAMETER;
	/* The one stream that a file has is the file. */
	if (text.len > stream.len && slice_eq_nocase(slice_from(text, text.len - stream.len), stream))
		text.len -= stream.len;
	if (has_any(text, "/:*?\"<>|"))
		return STATUS_OBJECT_NAME_INVALID;
	*ret = (struct file_path){ 0 };
	if (text.len == 0)
		return STATUS_OK;
	if (has_dots(text))
		return STATUS_OBJECT_PATH_SYNTAX_BAD;
	e = file_path_split(&r->arena, text, (struct file_path_rules){ .keep_dots = true, .backslash = true }, ret);
	if (e == ERR_OK)
		return STATUS_OK;
	return e == ERR_NO_MEMORY ? STATUS_INSUFFICIENT_RESOURCES : STATUS_OBJECT_NAME_INVALID;
}

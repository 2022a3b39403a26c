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

struct slice smb_short_name(const struct smb_request *r, const struct inode *i, char room[FILE_SHORT_NAME_BYTES])
{
	if (!r->conn->sl->server->config.short_names || file_name_is_short(i->name))
		return SLICE_NONE;
	return file_short_name(i->id, room);
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

/* Both slashes divide parts: some clients send the other one. */
static struct slice slashes_turn(struct arena *arena, struct slice path)
{
	if (!memchr(path.ptr, '/', path.len))
		return path;
	struct slice copy = arena_dup(arena, path);
	for (char *at = (char *)(uintptr_t)copy.ptr; slice_is_set(copy) && at < copy.ptr + copy.len; at++)
		if (*at == '/')
			*at = '\\';
	return copy;
}

static bool has_dots(struct slice path)
{
	while (slice_is_set(path))
		if (slice_eq(slice_cut(&path, '\\'), SLICE("..")))
			return true;
	return false;
}

/* "a\\b\\..\\c" is "a\\c", as text alone: nothing is looked up. Above the root there is nothing. */
static uint32_t dots_fold(struct arena *arena, struct slice path, struct slice *ret)
{
	char *to = arena_alloc(arena, path.len + 1);
	size_t len = 0;
	if (!to)
		return STATUS_INSUFFICIENT_RESOURCES;
	while (slice_is_set(path)) {
		struct slice part = slice_cut(&path, '\\');
		if (!slice_eq(part, SLICE(".."))) {
			if (len)
				to[len++] = '\\';
			memcpy(to + len, part.ptr, part.len);
			len += part.len;
			continue;
		}
		if (len == 0)
			return STATUS_OBJECT_PATH_SYNTAX_BAD;
		while (len > 0 && to[len - 1] != '\\')
			len--;
		if (len > 0)
			len--; /* the backslash before it */
	}
	*ret = slice_make(to, len);
	return STATUS_OK;
}

uint32_t smb_path_parse(struct smb_request *r, struct slice utf16, struct file_path *ret)
{
	struct slice text;
	enum err e = utf16_to_utf8(utf16, &r->arena, &text);
	if (e != ERR_OK)
		return e == ERR_NO_MEMORY ? STATUS_INSUFFICIENT_RESOURCES : STATUS_OBJECT_NAME_INVALID;
	if (text.len && (text.ptr[0] == '\\' || text.ptr[0] == '/'))
		return STATUS_INVALID_PARAMETER;
	if (has_any(text, ":*?\"<>|")) /* no streams, not even by the name of the one that is the file */
		return STATUS_OBJECT_NAME_INVALID;
	text = slashes_turn(&r->arena, text);
	if (!slice_is_set(text))
		return STATUS_INSUFFICIENT_RESOURCES;
	*ret = (struct file_path){ 0 };
	if (text.len == 0)
		return STATUS_OK;
	if (has_dots(text)) {
		uint32_t status = dots_fold(&r->arena, text, &text);
		if (status != STATUS_OK || text.len == 0)
			return status;
	}
	e = file_path_split(&r->arena, text, (struct file_path_rules){ .keep_dots = true, .backslash = true }, ret);
	if (e == ERR_OK)
		return STATUS_OK;
	return e == ERR_NO_MEMORY ? STATUS_INSUFFICIENT_RESOURCES : STATUS_OBJECT_NAME_INVALID;
}

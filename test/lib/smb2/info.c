/* SPDX-License-Identifier: Apache-2.0
 * What QUERY_INFO, QUERY_DIRECTORY and CHANGE_NOTIFY answer with, as clients read it: a byte with the class, then the
 * bytes. Every class that the server writes, and no other. */
#include "lib/smb2/pdu.h"

static struct smb2_file_times times(struct cursor *c)
{
	struct smb2_file_times t = { .creation = cursor_u64(c) };
	t.access = cursor_u64(c);
	t.write = cursor_u64(c);
	t.change = cursor_u64(c);
	return t;
}

/* A length in bytes, then text. */
static enum err counted_path(struct cursor *c, struct arena *arena, bool leading, struct slice *ret)
{
	uint32_t bytes = cursor_u32(c);
	if (leading && (bytes < 2 || cursor_u16(c) != '\\'))
		return ERR_SYNTAX;
	return pdu_path(c, leading ? bytes - 2 : bytes, arena, ret);
}

/* ---- files ---- */

static void basic(struct cursor *c, struct smb2_file_info *i)
{
	i->times = times(c);
	i->attributes = cursor_u32(c);
	cursor_u32(c);
}

static void standard(struct cursor *c, struct smb2_file_info *i)
{
	i->allocation = cursor_u64(c);
	i->size = cursor_u64(c);
	uint32_t links = cursor_u32(c);
	i->delete_pending = cursor_u8(c);
	i->directory = cursor_u8(c);
	cursor_u16(c);
	c->failed |= links != !i->delete_pending;
}

static enum err all(struct cursor *c, struct arena *arena, struct smb2_file_info *i)
{
	basic(c, i);
	standard(c, i);
	i->disk_id = cursor_u64(c);
	cursor_u32(c); /* size of extended attributes */
	i->access = cursor_u32(c);
	i->position = cursor_u64(c);
	i->mode = cursor_u32(c);
	cursor_u32(c); /* alignment */
	return counted_path(c, arena, true, &i->path);
}

static void stream(struct cursor *c, struct smb2_file_info *i)
{
	if (cursor_left(c) == 0) {
		i->directory = true;
		return;
	}
	uint32_t next = cursor_u32(c), name_bytes = cursor_u32(c);
	c->failed |= next != 0 || name_bytes != 14;
	i->size = cursor_u64(c);
	i->allocation = cursor_u64(c);
	c->failed |= !slice_eq(cursor_raw(c, 14), slice_make(":\0:\0$\0D\0A\0T\0A\0", 14));
}

static void network_open(struct cursor *c, struct smb2_file_info *i)
{
	i->times = times(c);
	i->allocation = cursor_u64(c);
	i->size = cursor_u64(c);
	i->attributes = cursor_u32(c);
	cursor_u32(c);
}

static void small(struct cursor *c, uint8_t info_class, struct smb2_file_info *i)
{
	switch (info_class) {
	case SMB2_FILE_INTERNAL:
		i->disk_id = cursor_u64(c);
		break;
	case SMB2_FILE_EA:
	case SMB2_FILE_ALIGNMENT:
		cursor_u32(c);
		break;
	case SMB2_FILE_ACCESS:
		i->access = cursor_u32(c);
		break;
	case SMB2_FILE_POSITION:
		i->position = cursor_u64(c);
		break;
	case SMB2_FILE_MODE:
		i->mode = cursor_u32(c);
		break;
	case SMB2_FILE_COMPRESSION:
		i->size = cursor_u64(c);
		cursor_u64(c); /* format, units, nothing */
		break;
	case SMB2_FILE_ATTRIBUTE_TAG:
		i->attributes = cursor_u32(c);
		cursor_u32(c);
		break;
	case SMB2_FILE_ID:
		i->volume_id = cursor_u64(c);
		i->disk_id = cursor_u64(c);
		cursor_u64(c);
		break;
	default:
		c->failed = true;
	}
}

static enum err file_info_parse(struct slice in, struct pdu_value *v)
{
	struct cursor c = cursor_make(in);
	struct smb2_file_info *i = &v->file_info.info;
	enum err e = ERR_OK;
	v->file_info = (struct pdu_file_info){ .info_class = cursor_u8(&c) };
	switch (v->file_info.info_class) {
	case SMB2_FILE_BASIC:
		basic(&c, i);
		break;
	case SMB2_FILE_STANDARD:
		standard(&c, i);
		break;
	case SMB2_FILE_ALL:
		e = all(&c, v->arena, i);
		break;
	case SMB2_FILE_NETWORK_OPEN:
		network_open(&c, i);
		break;
	case SMB2_FILE_STREAM:
		stream(&c, i);
		break;
	case SMB2_FILE_NAME:
		e = counted_path(&c, v->arena, true, &i->path);
		break;
	case SMB2_FILE_NORMALIZED_NAME:
		e = counted_path(&c, v->arena, false, &i->path);
		break;
	case SMB2_FILE_ALTERNATE_NAME:
		e = counted_path(&c, v->arena, false, &i->short_name);
		break;
	default:
		small(&c, v->file_info.info_class, i);
	}
	return e == ERR_OK && c.failed ? ERR_SYNTAX : e;
}

static void file_info_put(struct buf *b, const struct pdu_value *v)
{
	size_t fixed;
	bytes_put_u8(b, v->file_info.info_class);
	b->failed |= !smb2_file_info_put(b, v->file_info.info_class, &v->file_info.info, &fixed);
}

/* ---- file systems ---- */

static enum err volume(struct cursor *c, struct arena *arena, struct smb2_fs_info *i)
{
	i->created_time = cursor_u64(c);
	i->serial = cursor_u32(c);
	uint32_t bytes = cursor_u32(c);
	cursor_u16(c);
	return pdu_path(c, bytes, arena, &i->label);
}

static void sizes(struct cursor *c, bool full, struct smb2_fs_info *i)
{
	i->total_units = cursor_u64(c);
	i->free_units = cursor_u64(c);
	if (full)
		c->failed |= cursor_u64(c) != i->free_units;
	cursor_u64(c); /* sectors a unit, bytes a sector */
}

static enum err fs_info_parse(struct slice in, struct pdu_value *v)
{
	struct cursor c = cursor_make(in);
	struct smb2_fs_info *i = &v->fs_info.info;
	enum err e = ERR_OK;
	v->fs_info = (struct pdu_fs_info){ .info_class = cursor_u8(&c) };
	switch (v->fs_info.info_class) {
	case SMB2_FS_VOLUME:
		e = volume(&c, v->arena, i);
		break;
	case SMB2_FS_SIZE:
	case SMB2_FS_FULL_SIZE:
		sizes(&c, v->fs_info.info_class == SMB2_FS_FULL_SIZE, i);
		break;
	case SMB2_FS_OBJECT_ID: {
		struct slice id = cursor_raw(&c, sizeof i->object_id);
		if (!c.failed)
			memcpy(i->object_id, id.ptr, sizeof i->object_id);
		cursor_raw(&c, 48);
		break;
	}
	case SMB2_FS_DEVICE:
		cursor_raw(&c, 8);
		break;
	case SMB2_FS_ATTRIBUTE:
		cursor_u64(&c);
		cursor_raw(&c, cursor_u32(&c));
		break;
	case SMB2_FS_CONTROL:
		cursor_raw(&c, 48);
		break;
	case SMB2_FS_SECTOR_SIZE:
		cursor_raw(&c, 28);
		break;
	default:
		c.failed = true;
	}
	return e == ERR_OK && c.failed ? ERR_SYNTAX : e;
}

static void fs_info_put(struct buf *b, const struct pdu_value *v)
{
	size_t fixed;
	bytes_put_u8(b, v->fs_info.info_class);
	b->failed |= !smb2_fs_info_put(b, v->fs_info.info_class, &v->fs_info.info, &fixed);
}

/* ---- lists ---- */

/* 8.3, in a field of 24 bytes. */
static enum err short_name(struct cursor *c, struct arena *arena, struct slice *ret)
{
	enum { ROOM_BYTES = 24 };
	uint8_t bytes = cursor_u8(c);
	cursor_u8(c);
	struct cursor room = cursor_make(cursor_raw(c, ROOM_BYTES));
	if (c->failed || bytes > ROOM_BYTES)
		return ERR_SYNTAX;
	TRY(pdu_path(&room, bytes, arena, ret));
	/* The server is given ASCII alone. */
	return 2 * ret->len == bytes ? ERR_OK : ERR_SYNTAX;
}

static enum err entry(struct cursor *c, uint8_t info_class, struct arena *arena, struct smb2_file_info *i,
		      struct slice *ret_name)
{
	bool id_both = info_class == SMB2_FILE_ID_BOTH_DIRECTORY, id_full = info_class == SMB2_FILE_ID_FULL_DIRECTORY;
	cursor_u32(c); /* index */
	if (info_class != SMB2_FILE_NAMES) {
		i->times = times(c);
		i->size = cursor_u64(c);
		i->allocation = cursor_u64(c);
		i->attributes = cursor_u32(c);
	}
	uint32_t name_bytes = cursor_u32(c);
	if (info_class != SMB2_FILE_NAMES && info_class != SMB2_FILE_DIRECTORY)
		cursor_u32(c); /* extended attributes */
	if (id_both || info_class == SMB2_FILE_BOTH_DIRECTORY)
		TRY(short_name(c, arena, &i->short_name));
	if (id_both)
		cursor_u16(c);
	if (id_full)
		cursor_u32(c);
	if (id_both || id_full)
		i->disk_id = cursor_u64(c);
	return pdu_path(c, name_bytes, arena, ret_name);
}

static enum err change(struct cursor *c, struct arena *arena, uint32_t *ret_action, struct slice *ret_name)
{
	*ret_action = cursor_u32(c);
	return counted_path(c, arena, false, ret_name);
}

/* Each begins with where the next one does, 0 in the last. */
static enum err list_parse(struct slice in, struct pdu_value *v, bool entries)
{
	struct pdu_list *l = &v->list;
	memset(l, 0, sizeof *l);
	if (entries) {
		if (!in.len || !smb2_entry_known((uint8_t)in.ptr[0]))
			return ERR_SYNTAX;
		l->info_class = (uint8_t)in.ptr[0];
		in = slice_from(in, 1);
	}
	while (l->count < PDU_LIST_MAX) {
		struct cursor c = cursor_make(in);
		uint32_t next = cursor_u32(&c);
		size_t i = l->count++;
		TRY(entries ? entry(&c, l->info_class, v->arena, &l->item[i].info, &l->item[i].name)
			    : change(&c, v->arena, &l->item[i].action, &l->item[i].name));
		if (c.failed || next > in.len)
			return ERR_SYNTAX;
		if (!next)
			return ERR_OK;
		in = slice_from(in, next);
	}
	return ERR_SYNTAX;
}

static enum err entries_parse(struct slice in, struct pdu_value *v)
{
	return list_parse(in, v, true);
}

static enum err changes_parse(struct slice in, struct pdu_value *v)
{
	return list_parse(in, v, false);
}

/* The place 0 means "none before", so the list begins behind something. */
enum { BEFORE_BYTES = 8 };

static void entries_put(struct buf *b, const struct pdu_value *v)
{
	size_t last = 0;
	struct buf list;
	buf_init(&list, b->limit_bytes);
	smb2_zeros_put(&list, BEFORE_BYTES);
	for (size_t i = 0; i < v->list.count; i++)
		smb2_entry_put(&list, v->list.info_class, &v->list.item[i].info, v->list.item[i].name, &last);
	bytes_put_u8(b, v->list.info_class);
	buf_put(b, slice_from(buf_slice(&list), BEFORE_BYTES));
	buf_fini(&list);
}

static void changes_put(struct buf *b, const struct pdu_value *v)
{
	size_t last = 0;
	struct buf list;
	buf_init(&list, b->limit_bytes);
	smb2_zeros_put(&list, BEFORE_BYTES);
	for (size_t i = 0; i < v->list.count; i++)
		smb2_change_put(&list, v->list.item[i].action, v->list.item[i].name, &last);
	buf_put(b, slice_from(buf_slice(&list), BEFORE_BYTES));
	buf_fini(&list);
}

const struct pdu pdu_infos[] = {
	{ "file_info", false, file_info_parse, file_info_put, NULL, 0 },
	{ "fs_info", false, fs_info_parse, fs_info_put, NULL, 0 },
	{ "entries", false, entries_parse, entries_put, NULL, 0 },
	{ "changes", false, changes_parse, changes_put, NULL, 0 },
};
const size_t pdu_info_count = PDU_COUNT(pdu_infos);

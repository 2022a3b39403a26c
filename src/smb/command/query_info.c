/* SPDX-License-Identifier: Apache-2.0
 * QUERY_INFO: files, file systems, security. */
#include "smb/opens.h"

#include "smb/security.h"
#include "svc/file/share.h"
#include "svc/file/target.h"
#include "wire/sddl/sddl.h"
#include "wire/smb2/info.h"

enum { UNIT_BYTES = 4096, OPTIONS_MODE = 0x103E /* the options that Mode shows */ };

struct info_query {
	struct smb2_query_info in;
	struct file_open_note_call note;
	struct file_get_call get; /* of a previous version */
	struct slice path, sddl;
	struct share_stats_call stats;
};

static enum err permission_look(struct txn *t, struct info_query *q)
{
	q->sddl = SLICE_NONE;
	if (q->note.inode.permission == 0)
		return ERR_OK;
	enum err e = file_permission_get(t, q->note.inode.permission, &q->sddl);
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

/* By store_read_points: the inode is one row, the path is of one instant by itself, and a permission never changes. */
static enum err apply_query(struct txn *t, void *call)
{
	struct info_query *q = call;
	TRY(file_apply_open_note(t, &q->note));
	if (q->in.type == SMB2_INFO_FILE)
		return file_path_of(t, &q->note.inode, &q->path);
	return permission_look(t, q);
}

static enum err apply_query_version(struct txn *t, void *call)
{
	struct info_query *q = call;
	struct file_view view;
	TRY(file_apply_get(t, &q->get));
	TRY(target_view(t, &q->get.target, &view));
	q->note.inode = q->get.inode;
	q->note.allocation = smb_allocation(&q->get.inode);
	TRY(inode_path(t, &view, q->note.inode.id, &q->path));
	return permission_look(t, q);
}

static enum err query_look(struct smb_request *r, struct info_query *q)
{
	const struct smb_open *o = r->open;
	if (!o->snapshot) {
		q->note.handle = o->handle;
		return store_read_points(r->conn->sl->server->config.store, r->tree->partition, apply_query, q,
					 &r->arena);
	}
	q->get.target = (struct file_target){ .has_snapshot = true,
					      .snapshot_ticks = o->snapshot_ticks,
					      .place = { .by_id = true, .id = o->handle.inode_id },
					      .through_open = true };
	return smb_look(r, apply_query_version, q);
}

/* What fits, by the rules of the fixed part. */
static void output_answer(struct smb_request *r, struct buf *b, size_t fixed, uint32_t room)
{
	if (!buf_ok(b)) {
		smb_fail(r, STATUS_INSUFFICIENT_RESOURCES);
	} else if (room < fixed) {
		smb_fail(r, STATUS_INFO_LENGTH_MISMATCH);
	} else {
		bool cut = b->len > room;
		smb2_output_put(r->out, slice_first(buf_slice(b), room));
		smb_reply(r, cut ? STATUS_BUFFER_OVERFLOW : STATUS_OK);
	}
	buf_fini(b);
}

static uint32_t class_check(const struct smb_request *r, uint8_t info_class)
{
	switch (info_class) {
	case SMB2_FILE_BASIC:
	case SMB2_FILE_ALL:
	case SMB2_FILE_NETWORK_OPEN:
	case SMB2_FILE_ATTRIBUTE_TAG:
		return r->open->access & SMB2_READ_ATTRIBUTES ? STATUS_OK : STATUS_ACCESS_DENIED;
	case SMB2_FILE_ALTERNATE_NAME:
		return r->conn->sl->server->config.short_names ? STATUS_OK : STATUS_NOT_SUPPORTED;
	case SMB2_FILE_FULL_EA:
		return STATUS_NO_EAS_ON_FILE;
	case SMB2_FILE_NORMALIZED_NAME:
		return r->conn->dialect == SMB2_DIALECT_311 ? STATUS_OK : STATUS_NOT_SUPPORTED;
	default:
		return STATUS_OK;
	}
}

static void query_file(struct smb_request *r, struct info_query *q)
{
	struct smb_open *o = r->open;
	struct buf b;
	size_t fixed;
	char short_name[FILE_SHORT_NAME_BYTES];
	uint32_t status = class_check(r, q->in.info_class);
	enum err e = status == STATUS_OK ? query_look(r, q) : ERR_OK;
	if (status != STATUS_OK || e != ERR_OK) {
		smb_fail(r, status != STATUS_OK ? status : smb_status_of(e));
		return;
	}
	const struct inode *i = &q->note.inode;
	struct smb2_file_info info = {
		.times = smb_times(i),
		.allocation = q->note.allocation,
		.size = i->kind == FILE_KIND_DIRECTORY ? 0 : i->size_bytes,
		.disk_id = smb_disk_id(i),
		.volume_id = r->tree->generation,
		.position = o->position,
		.attributes = smb_attributes(i),
		.access = o->access,
		.mode = o->options & OPTIONS_MODE,
		.delete_pending = q->note.delete_pending,
		.directory = i->kind == FILE_KIND_DIRECTORY,
		.path = q->path,
		.short_name = smb_short_name(r, i, short_name),
	};
	if (!slice_is_set(info.short_name))
		info.short_name = i->name; /* it is short */
	buf_init(&b, SMB_TRANSFER_MAX);
	if (smb2_file_info_put(&b, q->in.info_class, &info, &fixed)) {
		output_answer(r, &b, fixed, q->in.output_length);
	} else {
		buf_fini(&b);
		smb_fail(r, STATUS_INVALID_INFO_CLASS);
	}
}

static void query_fs(struct smb_request *r, struct info_query *q)
{
	struct buf b;
	size_t fixed;
	enum err e = smb_look(r, share_apply_stats, &q->stats);
	if (e != ERR_OK) {
		smb_fail_err(r, e);
		return;
	}
	uint64_t total = q->stats.quota_bytes / UNIT_BYTES, used = q->stats.used_bytes / UNIT_BYTES;
	struct smb2_fs_info info = {
		.created_time = SMB_FILETIME_OF_TICKS(r->tree->created_ticks),
		.serial = (uint32_t)(r->tree->generation ^ r->tree->generation >> 32),
		.total_units = total,
		.free_units = total > used ? total - used : 0,
		.label = r->tree->name,
	};
	bytes_store(info.object_id, r->tree->generation, 8);
	buf_init(&b, SMB_TRANSFER_MAX);
	if (smb2_fs_info_put(&b, q->in.info_class, &info, &fixed)) {
		output_answer(r, &b, fixed, q->in.output_length);
	} else {
		buf_fini(&b);
		smb_fail(r, STATUS_INVALID_INFO_CLASS);
	}
}

static void query_security(struct smb_request *r, struct info_query *q)
{
	struct slice binary;
	if (q->in.additional & SDDL_SACL) {
		smb_fail(r, STATUS_ACCESS_DENIED);
		return;
	}
	if (q->in.additional && !smb_open_may(r, r->open, SMB2_READ_CONTROL))
		return;
	enum err e = query_look(r, q);
	if (e == ERR_OK)
		e = smb_security_show(&r->arena, q->sddl, q->in.additional & (SDDL_OWNER | SDDL_GROUP | SDDL_DACL),
				      &binary);
	if (e != ERR_OK) {
		smb_fail_err(r, e);
	} else if (binary.len > q->in.output_length) {
		char size[4];
		bytes_store(size, binary.len, 4);
		smb_fail_data(r, STATUS_BUFFER_TOO_SMALL, slice_make(size, sizeof size));
	} else {
		smb2_output_put(r->out, binary);
		smb_reply(r, STATUS_OK);
	}
}

void smb_do_query_info(struct smb_request *r)
{
	struct info_query *q = ARENA_NEW(&r->arena, struct info_query);
	if (!q || smb2_query_info_parse(r->part, &q->in) != ERR_OK || q->in.output_length > SMB_TRANSFER_MAX ||
	    !smb_charge_ok(r, q->in.output_length > q->in.input.len ? q->in.output_length : q->in.input.len)) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	if (!smb_open_of(r, q->in.id, false))
		return;
	switch (q->in.type) {
	case SMB2_INFO_FILE:
		query_file(r, q);
		break;
	case SMB2_INFO_FS:
		query_fs(r, q);
		break;
	case SMB2_INFO_SECURITY:
		query_security(r, q);
		break;
	case SMB2_INFO_QUOTA:
		smb_fail(r, STATUS_NOT_SUPPORTED);
		break;
	default:
		smb_fail(r, STATUS_INVALID_PARAMETER);
	}
}

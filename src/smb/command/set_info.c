/* SPDX-License-Identifier: Apache-2.0
 * SET_INFO: times and attributes, sizes, names, deletion, security. */
#include "smb/opens.h"

#include "smb/security.h"
#include "wire/sddl/sddl.h"
#include "wire/smb2/info.h"

enum {
	ATTRIBUTES_SETTABLE = 0x231A7 & ~0x80,
	ATTRIBUTE_NORMAL = 0x80,
	MODE_BITS = 0x2 | 0x4 | 0x8 | 0x10 | 0x20 | 0x1000,
	FREEZE = 1,
	THAW = 2,
};

struct set {
	struct smb2_set_info in;
	struct file_open_set_call call;
	struct file_disposition_call disposition;
	struct file_open_rename_call rename;
	struct file_open_note_call note;
	uint64_t allocation;
	struct slice security; /* binary, to be merged in the commit */
	unsigned parts;
};

static void done(struct smb_request *r)
{
	smb2_set_info_put(r->out);
	smb_reply(r, STATUS_OK);
}

static uint32_t set_status(enum err e)
{
	return e == ERR_SHARE_SIZE_LIMIT_REACHED ? STATUS_DISK_FULL : smb_status_of(e);
}

static void set_then(struct smb_request *r, enum err e)
{
	struct set *s = r->call;
	if (e != ERR_OK) {
		smb_fail(r, set_status(e));
		return;
	}
	smb_tell(r, &s->call.breaks);
	smb_publish(r, &s->call.modify.events);
	done(r);
}

static void set_fill(struct smb_request *r, struct set *s, uint32_t access)
{
	s->call.handle = r->open->handle;
	s->call.access = access;
	s->call.modify.keep_copy = true;
	s->call.modify.target.through_open = true;
	s->call.modify.target.place = (struct file_place){ .by_id = true, .id = r->open->handle.inode_id };
}

static void set_commit(struct smb_request *r, struct set *s, uint32_t access)
{
	set_fill(r, s, access);
	smb_commit(r, r->tree->partition, file_apply_open_set, &s->call, set_then);
}

/* ---- basic ---- */

/* 0 keeps, -1 stops following what happens, -2 follows again, else it is a time. False: not a time. */
static bool time_parse(uint64_t wire, struct file_time *ret, uint8_t *ret_freeze)
{
	if (wire == 0)
		return true;
	if (wire == UINT64_MAX || wire == UINT64_MAX - 1) {
		*ret_freeze = wire == UINT64_MAX ? FREEZE : THAW;
		return true;
	}
	if (wire > INT64_MAX)
		return false;
	*ret = (struct file_time){ FILE_TIME_SET, SMB_TICKS_OF_FILETIME(wire) };
	return true;
}

static void set_basic(struct smb_request *r, struct set *s)
{
	struct smb2_set_basic b;
	struct file_settings *to = &s->call.modify.settings;
	if (smb2_set_basic_parse(s->in.input, &b) != ERR_OK) {
		smb_fail(r, STATUS_INFO_LENGTH_MISMATCH);
		return;
	}
	bool directory = r->open->directory;
	if (!time_parse(b.times.creation, &to->created, &s->call.freeze_created) ||
	    !time_parse(b.times.access, &to->accessed, &s->call.freeze_accessed) ||
	    !time_parse(b.times.write, &to->written, &s->call.freeze_written) ||
	    !time_parse(b.times.change, &to->changed, &s->call.freeze_changed) ||
	    (!directory && (b.attributes & FILE_ATTR_DIRECTORY)) ||
	    (directory && (b.attributes & FILE_ATTR_TEMPORARY))) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	if (b.attributes) {
		to->set_attributes = true;
		to->attributes = b.attributes & ATTRIBUTES_SETTABLE;
		if (directory)
			to->attributes |= FILE_ATTR_DIRECTORY;
	}
	if (smb_open_may(r, r->open, SMB2_WRITE_ATTRIBUTES))
		set_commit(r, s, SMB2_WRITE_ATTRIBUTES);
}

/* ---- sizes ---- */

static void set_size(struct smb_request *r, struct set *s, uint64_t size)
{
	if (r->open->directory) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	if (!smb_open_may(r, r->open, SMB2_WRITE_DATA))
		return;
	if (size > FILE_SIZE_MAX_BYTES) {
		smb_fail(r, size > INT64_MAX ? STATUS_INVALID_PARAMETER : STATUS_DISK_FULL);
		return;
	}
	s->call.modify.resize = true;
	s->call.modify.size_bytes = size;
	s->call.modify.settings.written.how = FILE_TIME_NOW;
	set_commit(r, s, SMB2_WRITE_DATA);
}

/* An allocation below the file's size cuts it. One above changes no byte, but what others cached is broken too. */
static enum err apply_allocation(struct txn *t, void *call)
{
	struct set *s = call;
	struct file_view live = { 0 };
	struct inode inode;
	struct file_modify_call *m = &s->call.modify;
	TRY(inode_get(t, &live, s->call.handle.inode_id, &inode));
	bool cut = s->allocation < inode.size_bytes;
	m->resize = true;
	m->size_bytes = cut ? s->allocation : inode.size_bytes;
	m->settings.written.how = cut ? FILE_TIME_NOW : FILE_TIME_KEEP;
	return file_apply_open_set(t, &s->call);
}

static void set_allocation(struct smb_request *r, struct set *s, uint64_t size)
{
	if (r->open->directory || size > INT64_MAX) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	if (!smb_open_may(r, r->open, SMB2_WRITE_DATA))
		return;
	s->allocation = size;
	set_fill(r, s, SMB2_WRITE_DATA);
	smb_commit(r, r->tree->partition, apply_allocation, s, set_then);
}

/* ---- deletion and names ---- */

static void disposition_then(struct smb_request *r, enum err e)
{
	const struct set *s = r->call;
	struct watch_list *watches = r->conn->sl->server->config.watches;
	if (e != ERR_OK) {
		smb_fail(r, r->cancelled ? STATUS_CANCELLED : set_status(e));
		return;
	}
	/* Who watches a directory learns at once that it is going. */
	if (r->open->directory && s->disposition.delete_it)
		watch_gone(watches, r->tree->share, r->open->handle.inode_id);
	else if (r->open->directory)
		watch_back(watches, r->tree->share, r->open->handle.inode_id);
	done(r);
}

static void set_disposition(struct smb_request *r, struct set *s)
{
	if (!smb_open_may(r, r->open, SMB2_DELETE))
		return;
	s->disposition = (struct file_disposition_call){ .handle = r->open->handle, .delete_it = s->in.input.ptr[0] };
	smb_commit_breaking(r, file_apply_disposition, &s->disposition, &s->disposition.breaks, disposition_then);
}

static void rename_then(struct smb_request *r, enum err e)
{
	struct set *s = r->call;
	if (e != ERR_OK) {
		uint32_t status = e == ERR_PARENT_NOT_FOUND	     ? STATUS_OBJECT_PATH_NOT_FOUND
				  : e == ERR_RESOURCE_ALREADY_EXISTS ? STATUS_OBJECT_NAME_COLLISION
								     : set_status(e);
		smb_fail(r, r->cancelled ? STATUS_CANCELLED : status);
		return;
	}
	smb_tell(r, &s->rename.breaks);
	if (s->rename.wake)
		smb_wake(r, r->open->handle.inode_id);
	smb_publish(r, &s->rename.rename.events);
	done(r);
}

static void set_rename(struct smb_request *r, struct set *s)
{
	struct smb2_set_rename in;
	struct file_rename_call *to = &s->rename.rename;
	if (smb2_set_rename_parse(s->in.input, &in) != ERR_OK || in.root != 0) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	if (!smb_open_may(r, r->open, SMB2_DELETE))
		return;
	struct slice name = in.name;
	if (name.len >= 2 && name.ptr[0] == '\\' && name.ptr[1] == 0)
		name = slice_from(name, 2);
	uint32_t status = smb_path_parse(r, name, &to->target.place.path);
	if (status != STATUS_OK || to->target.place.path.count == 0) {
		smb_fail(r, status != STATUS_OK ? status : STATUS_OBJECT_NAME_INVALID);
		return;
	}
	s->rename.handle = r->open->handle;
	to->replace = in.replace;
	to->source.through_open = true; /* what is replaced was not judged yet */
	smb_commit_breaking(r, file_apply_open_rename, &s->rename, &s->rename.breaks, rename_then);
}

/* ---- security ---- */

/* The parts not named stay, so the old text is read in the same commit. */
static enum err apply_security(struct txn *t, void *call)
{
	struct set *s = call;
	struct file_view live = { 0 };
	struct inode inode;
	struct slice sddl = SLICE_NONE, merged;
	TRY(inode_get(t, &live, s->call.handle.inode_id, &inode));
	if (inode.permission) {
		enum err e = file_permission_get(t, inode.permission, &sddl);
		if (e != ERR_OK && e != ERR_NOT_FOUND)
			return e;
	}
	TRY(smb_security_merge(txn_arena(t), sddl, s->security, s->parts, &merged));
	s->call.modify.settings.permission = (struct file_permission){ .how = FILE_PERMISSION_TEXT, .text = merged };
	return file_apply_open_set(t, &s->call);
}

static void set_security(struct smb_request *r, struct set *s)
{
	unsigned parts = s->in.additional & (SDDL_OWNER | SDDL_GROUP | SDDL_DACL | SDDL_SACL);
	if (parts & SDDL_SACL) {
		smb_fail(r, STATUS_ACCESS_DENIED);
		return;
	}
	if ((parts & SDDL_DACL) && !smb_open_may(r, r->open, SMB2_WRITE_DAC))
		return;
	if ((parts & (SDDL_OWNER | SDDL_GROUP)) && !smb_open_may(r, r->open, SMB2_WRITE_OWNER))
		return;
	struct slice ignored;
	if (smb_security_merge(&r->arena, SLICE_NONE, s->in.input, parts, &ignored) != ERR_OK) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	s->parts = parts;
	s->security = s->in.input;
	set_fill(r, s, SMB2_WRITE_DAC | SMB2_WRITE_OWNER);
	smb_commit(r, r->tree->partition, apply_security, s, set_then);
}

/* ---- what only the open has ---- */

static void note_then(struct smb_request *r, enum err e)
{
	if (e != ERR_OK)
		smb_fail_err(r, e);
	else
		done(r);
}

static void set_position(struct smb_request *r, struct set *s)
{
	uint64_t position = smb2_u64(s->in.input, 0);
	if (position > INT64_MAX) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	r->open->position = position;
	s->note = (struct file_open_note_call){ .handle = r->open->handle, .set_position = true, .position = position };
	smb_decide(r, file_apply_open_note, &s->note, note_then);
}

static void set_mode(struct smb_request *r, struct set *s)
{
	uint32_t mode = smb2_u32(s->in.input, 0);
	if (mode & ~(uint32_t)MODE_BITS)
		smb_fail(r, STATUS_INVALID_PARAMETER);
	else {
		r->open->options = (r->open->options & ~(uint32_t)0x3E) | (mode & 0x3E);
		done(r);
	}
}

static void set_file(struct smb_request *r, struct set *s)
{
	static const struct {
		uint8_t info_class;
		size_t least;
	} sizes[] = { { SMB2_FILE_DISPOSITION, 1 },
		      { SMB2_FILE_POSITION, 8 },
		      { SMB2_FILE_MODE, 4 },
		      { SMB2_FILE_ALLOCATION, 8 },
		      { SMB2_FILE_END_OF_FILE, 8 } };
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
		if (s->in.info_class == sizes[i].info_class && s->in.input.len < sizes[i].least) {
			smb_fail(r, STATUS_INFO_LENGTH_MISMATCH);
			return;
		}
	switch (s->in.info_class) {
	case SMB2_FILE_BASIC:
		set_basic(r, s);
		break;
	case SMB2_FILE_RENAME:
		set_rename(r, s);
		break;
	case SMB2_FILE_LINK:
		smb_fail(r, STATUS_NOT_SUPPORTED);
		break;
	case SMB2_FILE_DISPOSITION:
		set_disposition(r, s);
		break;
	case SMB2_FILE_POSITION:
		set_position(r, s);
		break;
	case SMB2_FILE_FULL_EA:
		smb_fail(r, STATUS_EAS_NOT_SUPPORTED);
		break;
	case SMB2_FILE_MODE:
		set_mode(r, s);
		break;
	case SMB2_FILE_ALLOCATION:
		set_allocation(r, s, smb2_u64(s->in.input, 0));
		break;
	case SMB2_FILE_END_OF_FILE:
		set_size(r, s, smb2_u64(s->in.input, 0));
		break;
	default:
		smb_fail(r, STATUS_INVALID_INFO_CLASS);
	}
}

void smb_do_set_info(struct smb_request *r)
{
	struct set *s = ARENA_NEW(&r->arena, struct set);
	if (!s || smb2_set_info_parse(r->part, &s->in) != ERR_OK || s->in.input.len > SMB_TRANSFER_MAX ||
	    !smb_charge_ok(r, s->in.input.len)) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	r->call = s;
	struct smb_open *o = smb_open_of(r, s->in.id, true);
	if (!o || smb_after_writes(r, smb_do_set_info))
		return;
	if (o->snapshot)
		smb_fail(r, STATUS_MEDIA_WRITE_PROTECTED);
	else if (s->in.type == SMB2_INFO_FILE)
		set_file(r, s);
	else if (s->in.type == SMB2_INFO_SECURITY)
		set_security(r, s);
	else
		smb_fail(r, s->in.type == SMB2_INFO_FS || s->in.type == SMB2_INFO_QUOTA ? STATUS_NOT_SUPPORTED
											: STATUS_INVALID_PARAMETER);
}

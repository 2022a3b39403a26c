/* SPDX-License-Identifier: Apache-2.0
 * QUERY_DIRECTORY: the entries that match a pattern, as many as fit. The position between calls is the last name given,
 * so deleting what was listed skips nothing. "." and ".." come first.
 *
 * A pattern that few names match goes through all of a directory, however large: what takes longer than a turn of the
 * loop goes on with a worker, in slices, so that others get their turns there too. Meanwhile what else is asked on the
 * open waits, as behind a write. Only the names that begin as the pattern does are looked at. */
#include "smb/opens.h"

#include "base/sys/clock.h"
#include "smb/pattern.h"
#include "wire/smb2/info.h"
#include "wire/utf16.h"

enum { PREFIX_BYTES_MAX = 512 }; /* well within a key; the pattern itself is matched as well */
enum { PAGE_ENTRIES = 256, NAME_ROOM = 1024, ENTRIES_PER_LOOK = 4 /* at the time */ };
enum { SLICE_NS = 20 * 1000 * 1000 }; /* with a worker, until others have their turn */

struct find {
	struct smb2_query_directory in;
	struct file_list_call list;
	struct slice pattern; /* folded */
	struct buf entries;
	size_t last;
	bool full;
	bool more;	   /* entries may follow */
	uint64_t until_ns; /* then others have their turn */
	unsigned dots;	   /* as of the open */
	bool found;
	struct arena_position page; /* what a page takes of the arena is given back before the next */
	struct slice last_name;	    /* given last, in the room */
	char room[NAME_ROOM];
};

static struct slice heap_dup(struct slice s)
{
	char *copy = malloc(s.len ? s.len : 1);
	if (copy && s.len)
		memcpy(copy, s.ptr, s.len);
	return copy ? slice_make(copy, s.len) : SLICE_NONE;
}

static void slice_replace(struct slice *owned, struct slice s)
{
	free((void *)(uintptr_t)owned->ptr);
	*owned = s;
}

static struct smb2_file_info entry_info(const struct inode *i)
{
	return (struct smb2_file_info){
		.times = smb_times(i),
		.allocation = smb_allocation(i),
		.size = i->kind == FILE_KIND_DIRECTORY ? 0 : i->size_bytes,
		.disk_id = smb_disk_id(i),
		.attributes = smb_attributes(i),
	};
}

/* False: no room for it (or one was enough); it comes first next time. */
static bool entry_give(struct smb_request *r, struct find *f, const struct inode *i, struct slice name)
{
	size_t before = f->entries.len, last = f->last;
	struct smb2_file_info info = entry_info(i);
	char room[FILE_SHORT_NAME_BYTES];
	if (name.ptr == i->name.ptr) /* not "." */
		info.short_name = smb_short_name(r, i, room);
	if ((f->in.flags & SMB2_FIND_SINGLE) && last) {
		f->full = true;
		return false;
	}
	smb2_entry_put(&f->entries, f->in.info_class, &info, name, &f->last);
	if (buf_ok(&f->entries) && f->entries.len - SMB_OUT_HEAD_BYTES <= f->in.output_length)
		return true;
	f->entries.len = before;
	f->entries.failed = false;
	f->last = last;
	if (last) /* the link to it is taken back */
		bytes_store(f->entries.ptr + last, 0, 4);
	f->full = true;
	return false;
}

static bool name_matches(struct smb_request *r, const struct find *f, struct slice name)
{
	if (slice_eq(f->pattern, SLICE("*")))
		return true;
	struct slice folded = file_name_fold(&r->arena, name);
	return slice_is_set(folded) && pattern_matches(f->pattern, folded);
}

/* By its name or its short one. */
static bool inode_matches(struct smb_request *r, const struct find *f, const struct inode *i)
{
	char room[FILE_SHORT_NAME_BYTES];
	struct slice other = smb_short_name(r, i, room);
	return name_matches(r, f, i->name) || (slice_is_set(other) && name_matches(r, f, other));
}

/* "." and "..", which look like the directory itself. */
static void dots_give(struct smb_request *r, struct find *f, const struct inode *directory)
{
	while (f->dots < 2 && !f->full) {
		struct slice name = f->dots ? SLICE("..") : SLICE(".");
		if (name_matches(r, f, name)) {
			if (!entry_give(r, f, directory, name))
				return;
			f->found = true;
		}
		f->dots++;
	}
}

static enum err last_name_set(struct find *f, struct slice name)
{
	if (name.len > sizeof f->room)
		return ERR_LIMIT;
	memcpy(f->room, name.ptr, name.len);
	f->last_name = slice_make(f->room, name.len);
	return ERR_OK;
}

/* Names may be matched by their short form, which begins otherwise. */
static struct slice names_prefix(const struct smb_request *r, const struct find *f)
{
	struct slice prefix = pattern_prefix(f->pattern);
	bool any = r->conn->sl->server->config.short_names || prefix.len == 0 || prefix.len > PREFIX_BYTES_MAX;
	return any ? SLICE_NONE : prefix;
}

static enum err page_give(struct smb_request *r, struct find *f)
{
	const struct smb_open *o = r->open;
	struct slice last = SLICE_NONE;
	arena_rewind(&r->arena, f->page);
	f->list = (struct file_list_call){
		.target = { .has_snapshot = o->snapshot,
			    .snapshot_ticks = o->snapshot_ticks,
			    .place = { .by_id = true, .id = o->handle.inode_id },
			    .kind = FILE_KIND_DIRECTORY,
			    .through_open = true },
		.prefix = names_prefix(r, f),
		.from = slice_is_set(f->last_name) ? f->last_name : o->after,
		.after = true,
		.limit = PAGE_ENTRIES,
	};
	f->list.after = slice_is_set(f->list.from);
	TRY(smb_look(r, file_apply_list, &f->list));
	dots_give(r, f, &f->list.directory);
	size_t i;
	for (i = 0; i < f->list.count && !f->full; i++) {
		if (i && i % ENTRIES_PER_LOOK == 0 && base_monotonic_ns() > f->until_ns)
			break;
		const struct inode *e = &f->list.entry[i];
		if (inode_matches(r, f, e)) {
			if (!entry_give(r, f, e, e->name))
				break;
			f->found = true;
		}
		last = e->name;
	}
	f->more = (f->list.more || i < f->list.count) && !f->full;
	return slice_is_set(last) ? last_name_set(f, last) : ERR_OK;
}

/* Page after page, until the answer is full, the directory ends, or the time is over. */
static enum err pages_give(struct smb_request *r, uint64_t time_ns)
{
	struct find *f = r->call;
	f->until_ns = base_monotonic_ns() + time_ns;
	do
		TRY(page_give(r, f));
	while (f->more && base_monotonic_ns() < f->until_ns);
	return ERR_OK;
}

/* Begins a list, anew if asked. */
static uint32_t list_begin(struct smb_request *r, struct find *f)
{
	struct smb_open *o = r->open;
	bool again = f->in.flags & (SMB2_FIND_RESTART | SMB2_FIND_REOPEN);
	if (!o->list_begun || (f->in.flags & SMB2_FIND_REOPEN) || (again && f->in.pattern.len)) {
		struct slice text;
		if (f->in.pattern.len == 0 || utf16_to_utf8(f->in.pattern, &r->arena, &text) != ERR_OK ||
		    text.len > PATTERN_MAX)
			return STATUS_OBJECT_NAME_INVALID;
		if (slice_eq(text, SLICE("*.*")))
			text = SLICE("*");
		struct slice folded = file_name_fold(&r->arena, text);
		struct slice kept = slice_is_set(folded) ? heap_dup(folded) : SLICE_NONE;
		if (!slice_is_set(kept))
			return STATUS_INSUFFICIENT_RESOURCES;
		slice_replace(&o->pattern, kept);
	}
	if (!o->list_begun || again) {
		slice_replace(&o->after, SLICE_NONE);
		o->dots = 0;
		o->list_found = false;
	}
	o->list_begun = true;
	f->pattern = o->pattern;
	f->dots = o->dots;
	f->found = o->list_found;
	f->page = arena_position(&r->arena);
	return STATUS_OK;
}

static void find_answer(struct smb_request *r, enum err e)
{
	struct find *f = r->call;
	struct smb_open *o = r->open;
	o->dots = f->dots;
	o->list_found = f->found;
	bool any = f->entries.len > SMB_OUT_HEAD_BYTES;
	if (e == ERR_OK && slice_is_set(f->last_name)) {
		struct slice kept = heap_dup(f->last_name);
		e = slice_is_set(kept) ? ERR_OK : ERR_NO_MEMORY;
		if (e == ERR_OK)
			slice_replace(&o->after, kept);
	}
	bool full = f->full, found = f->found;
	if (e == ERR_OK && any)
		smb2_output_put(r->out, slice_from(buf_slice(&f->entries), SMB_OUT_HEAD_BYTES));
	buf_fini(&f->entries); /* with the answer the request may be gone */
	if (e != ERR_OK)
		smb_fail_err(r, e);
	else if (any)
		smb_reply(r, STATUS_OK);
	else if (full)
		smb_fail(r, STATUS_INFO_LENGTH_MISMATCH);
	else
		smb_fail(r, found ? STATUS_NO_MORE_FILES : STATUS_NO_SUCH_FILE);
}

static enum err find_run(struct smb_request *r)
{
	return pages_give(r, SLICE_NS);
}

static void find_away_end(struct smb_request *r, enum err e)
{
	struct find *f = r->call;
	struct smb_open *o = r->open;
	bool unfinished = e == ERR_OK && f->more, dropped = r->conn->closed || r->cancel_wanted;
	if (unfinished && !dropped) {
		smb_work_long(r, find_run, find_away_end);
		return;
	}
	smb_open_ref(o);
	if (unfinished) {
		buf_fini(&f->entries);
		smb_fail(r, STATUS_CANCELLED);
	} else {
		find_answer(r, e);
	}
	smb_write_queued(o);
	smb_open_unref(o);
}

static void find_begin(struct smb_request *r)
{
	struct find *f = r->call;
	buf_init(&f->entries, SMB_MESSAGE_MAX);
	/* A list begins at 0 for its links; 0 stands for "none" there. */
	smb2_zeros_put(&f->entries, SMB_OUT_HEAD_BYTES);
	enum err e = pages_give(r, LIMIT_TURN_NS);
	if (e == ERR_OK && f->more) {
		smb_write_begin(r);
		smb_work_long(r, find_run, find_away_end);
	} else {
		find_answer(r, e);
	}
}

void smb_do_query_directory(struct smb_request *r)
{
	struct find *f = ARENA_NEW(&r->arena, struct find);
	if (!f || smb2_query_directory_parse(r->part, &f->in) != ERR_OK || f->in.output_length > SMB_TRANSFER_MAX ||
	    !smb_charge_ok(r, f->in.output_length)) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	r->call = f;
	struct smb_open *o = smb_open_of(r, f->in.id, false);
	if (!o || smb_after_writes(r, smb_do_query_directory))
		return;
	if (!o->directory) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	if (!smb_open_may(r, o, SMB2_READ_DATA))
		return;
	if (!smb2_entry_known(f->in.info_class)) {
		smb_fail(r, STATUS_INVALID_INFO_CLASS);
		return;
	}
	uint32_t status = list_begin(r, f);
	if (status != STATUS_OK) {
		smb_fail(r, status);
		return;
	}
	find_begin(r);
}

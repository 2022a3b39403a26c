/* SPDX-License-Identifier: Apache-2.0
 * What every apply begins with, inside the room: finding the object of a call and judging whether the call may touch
 * it, and the settings that several calls have in common. */
#ifndef SVC_FILE_TARGET_H
#define SVC_FILE_TARGET_H

#include "svc/file/file.h"
#include "svc/file/open.h"
#include "svc/file/rows.h"

/* Share live, snapshot there. */
enum err target_view(struct txn *, const struct file_target *, struct file_view *ret) MUST_CHECK;
/* The object, of the right kind. A change of a snapshot is ERR_INVALID_QUERY_PARAMETER_VALUE. */
enum err target_read(struct txn *, const struct file_target *, struct file_view *ret_view,
		     struct inode *ret) MUST_CHECK;
enum err target_change(struct txn *, const struct file_target *, struct inode *ret) MUST_CHECK;
/* May the operation happen: delete pending, lease, opens; of a change the read-only attribute too. */
enum err target_check_read(struct txn *, const struct file_target *, const struct inode *,
			   enum file_rest_op) MUST_CHECK;
enum target_readonly { READONLY_REFUSES, READONLY_IGNORED };
enum err target_check_change(struct txn *, const struct file_target *, const struct inode *, enum file_rest_op,
			     enum target_readonly) MUST_CHECK;
/* ERR_SMB_DELETE_PENDING: an SMB client has it open to be deleted, and may still take that back. For what lies at a
 * name that is asked for, and for a directory that something is to be made in. */
enum err target_check_pending(struct txn *, const struct file_target *, uint64_t inode_id) MUST_CHECK;
/* A copy that has not ended keeps its destination to itself. */
enum err target_check_copy(const struct inode *) MUST_CHECK;

/* New ETag: now, but later than it was. */
void inode_touch(struct txn *, struct inode *);
/* Attributes, times and permission as the call says. `fresh`: the inode is new, so KEEP means the default. `source`
 * (may be NULL) is what FILE_TIME_SOURCE means. */
enum err settings_apply(struct txn *, const struct file_settings *, const struct inode *parent,
			const struct inode *source, bool fresh, struct inode *) MUST_CHECK;

/* Create, also as the first half of a copy (`source`, else NULL). */
enum err file_create_here(struct txn *, struct file_create_call *, enum target_readonly,
			  const struct inode *source) MUST_CHECK;

void event_add(struct file_events *, enum file_event_action, uint32_t changed, const struct inode *);
static inline uint32_t event_name_bit(const struct inode *n)
{
	return n->kind == FILE_KIND_DIRECTORY ? FILE_CHANGED_DIR_NAME : FILE_CHANGED_FILE_NAME;
}

#endif

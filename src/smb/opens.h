/* SPDX-License-Identifier: Apache-2.0
 * The opens of a session as the front end knows them: what the client's file id stands for. The rights, locks and
 * oplocks of an open are its row in the share (svc/file/open.h); here is only what belongs to the connection. */
#ifndef SMB_OPENS_H
#define SMB_OPENS_H

#include "base/fair.h"
#include "smb/smb_int.h"
#include "svc/file/open.h"
#include "wait/holder.h"
#include "wait/wait.h"
#include "wait/watch.h"

struct smb_opens;

struct smb_open {
	struct smb_open *next; /* in its slot */
	int refs;	       /* the session's, and one of each request that uses it */
	bool closed;	       /* no longer the session's */
	struct smb_session *session;
	struct smb_tree *tree;
	struct smb2_file_id id; /* persistent: the open's id in the share */
	struct file_handle handle;
	bool directory;
	uint32_t access, options;
	uint32_t action; /* what CREATE answered */
	bool durable_v2; /* CREATE named it by this guid, and may be sent again until the open is used */
	unsigned char create_guid[SMB2_GUID_BYTES];
	bool used;
	bool write_through; /* its writes are durable when they are answered, whatever the server is set to */
	/* Writes that may have been answered before they were durable, and how many of them a FLUSH has covered. */
	uint64_t late_writes, flushed_writes;
	bool snapshot; /* a previous version: no row, read only */
	uint64_t snapshot_ticks;
	uint16_t channel_sequence;
	unsigned reads_away;		  /* so many next reads go to a worker */
	unsigned writes_away;		  /* writes that are with a worker */
	struct smb_request *after_writes; /* who waits for them, in order */
	uint64_t position; /* after the last read or write; what SET_INFO stored is in the row too, for reconnects */
	/* the list that QUERY_DIRECTORY goes through */
	struct slice pattern, after; /* owned; absent: none yet */
	bool list_begun, list_found;
	unsigned dots; /* of "." and "..": how many were given */
	struct watcher *watcher;
	uint32_t watch_filter;		  /* of the first request, as is whether the whole tree is watched */
	size_t watch_limit;		  /* bytes, of the first request */
	struct smb_request *notify_first; /* requests that wait for a change, in their order */
};

struct smb_opens *smb_opens_new(void); /* NULL: out of memory */
void smb_opens_free(struct smb_opens *);
/* Do those of a tree (NULL: all) have writes that may not be durable yet? */
bool smb_opens_are_unsynced(const struct smb_session *, const struct smb_tree *);
/* Answers that they are closed, after a sync if the request wants one. */
void smb_reply_synced(struct smb_request *);
/* Closes those of a tree (NULL: all). Disconnected: durable ones stay for a reconnect. */
void smb_opens_end(struct smb_session *, struct smb_tree *, bool disconnected);

/* A new open in the request's session, with a reference for the caller. NULL: too many, or no memory. */
struct smb_open *smb_open_new(struct smb_request *, struct file_handle, uint64_t persistent_id);
void smb_open_ref(struct smb_open *);
void smb_open_unref(struct smb_open *);
/* Out of the session: its id means nothing any more. What waits on it is ended by the caller. */
void smb_open_forget(struct smb_open *);
struct smb_open *smb_open_find(struct smb_session *, struct smb2_file_id);
struct smb_open *smb_open_by_persistent(struct smb_session *, uint64_t persistent_id);
/* Every open made with this guid was used since: its client had the answer, and a CREATE with it is a new one. */
bool smb_guid_is_used(const struct smb_session *, const unsigned char guid[SMB2_GUID_BYTES]);

/* The open that a request names; all ones stands for that of the part before. It is the request's until it is answered.
 * NULL: the request was failed. `changes`: requests from before a reconnect are refused. */
struct smb_open *smb_open_of(struct smb_request *, struct smb2_file_id, bool changes);
static inline bool smb_open_is_unsynced(const struct smb_open *o)
{
	return o->late_writes != o->flushed_writes;
}
/* Fails the request unless the open has one of these rights. */
bool smb_open_may(struct smb_request *, const struct smb_open *, uint32_t access);

/* Closes a row that no open of a session stands for (any more), and with `sync` makes its writes durable. Goes on by
 * itself. */
void smb_close_row(struct smb_loop *, const struct smb_tree *, struct file_handle, enum file_close_how, bool sync);

/* ---- commits that may have to wait for breaks, and what follows a commit ---- */

/* As smb_commit; if oplocks must be broken first (ERR_BREAK_FIRST and *breaks), they are, the request waits, and apply
 * runs again. */
void smb_commit_breaking(struct smb_request *, apply_fn *, void *call, struct file_breaks *breaks, smb_then_fn *then);
/* Tells the holder if it is an open of this connection. */
bool smb_conn_tell(struct smb_conn *, const struct holder_notice *);
void smb_tell(const struct smb_request *, const struct file_breaks *); /* those who are to be told */
void smb_wake(const struct smb_request *, uint64_t inode_id);	       /* those who wait for the file */
void smb_publish(struct smb_request *, const struct file_events *);
void smb_publish_events(struct smb_loop *, struct slice partition, uint64_t share, const struct file_events *,
			struct arena *);
/* A read on a snapshot, here and now. */
enum err smb_look(struct smb_request *, apply_fn *, void *call) MUST_CHECK;

/* ---- notify.c ---- */
void smb_notify_end(struct smb_open *, uint32_t status); /* its handle is closed */

/* ---- how files look to SMB ---- */
struct smb2_file_times smb_times(const struct inode *);
uint32_t smb_attributes(const struct inode *);
/* Absent: there are no short names, or its name is one. */
struct slice smb_short_name(const struct smb_request *, const struct inode *, char room[FILE_SHORT_NAME_BYTES]);
uint64_t smb_disk_id(const struct inode *); /* never 0 */
uint64_t smb_allocation(const struct inode *);
/* From the client's UTF-16LE name to a path. Statuses as CREATE answers them. */
uint32_t smb_path_parse(struct smb_request *, struct slice utf16, struct file_path *ret);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * The opens of SMB clients as rows of the share's partition, and every operation on them: a call struct filled by a
 * front end and an apply function, as in file.h. The rules are in src/lock; here they meet the rows.
 *
 * Rows are volatile (store.h): gone after a restart. A persistent open is a durable row as well, and file_opens_load
 * brings it back before the first client is served.
 *
 * Breaks. An apply never waits. ERR_BREAK_FIRST says: nothing was done, the oplocks in the call's `breaks` must come
 * down first. The front end then
 *   1. begins to wait for the file (wait_begin, keyed by share and inode),
 *   2. runs file_apply_break with them: it marks the breaks in the rows and says whom to tell,
 *   3. tells them (holder_post for each of `breaks` with `notice`), and
 *   4. runs its own apply again when it is woken, or at once if file_apply_break says that there is nothing to wait
 * for. On ERR_OK `breaks` holds those who are only to be told, after the commit. Whoever commits a close, an unlock
 * or an acknowledgement wakes the file's waiters (wait_wake) when the call says `wake`.
 *
 * Deadlines: a holder that does not answer within FILE_BREAK_SECONDS has lost what was asked of it, by the clock alone.
 * An SMB request therefore waits until breaks.deadline_ticks and asks again; a REST request gives up after its own time
 * (ERR_CLIENT_CACHE_FLUSH_DELAY). */
#ifndef SVC_FILE_OPEN_H
#define SVC_FILE_OPEN_H

#include "lock/opens.h"
#include "svc/file/file.h"

enum {
	FILE_BREAK_SECONDS = 35,
	FILE_BREAKS_MAX =
		64, /* oplocks of one file asked in one go, and waited for; more are asked in the next round */
	FILE_DURABLE_V1_SECONDS = 16 * 60,
	FILE_DURABLE_DEFAULT_SECONDS = 60,
	FILE_DURABLE_MAX_SECONDS = 300,
	FILE_LOCK_SEQUENCES = 64,
};

/* One oplock or lease that must come down, and after marking the notice for its holder. */
struct file_break {
	uint64_t open_id; /* an open of it whose client is connected, if there is one */
	bool is_lease;
	struct oplock_guid client, lease_key;
	uint8_t keep;	 /* demand: what may stay */
	bool has_notice; /* tell the holder */
	struct oplock_notice notice;
};
/* All zero before the first run of an apply; kept as it is from run to run of one request. */
struct file_breaks {
	uint64_t inode_id; /* whose opens: the file itself, or one below a directory that is to be renamed */
	size_t count;
	struct file_break item[FILE_BREAKS_MAX];
	struct file_break *more; /* those beyond, where nobody waits for them: in the memory of the transaction */
	bool asked; /* ERR_BREAK_FIRST was answered: the next run waits for breaks under way to their end */
	/* In, for the applies of open, disposition and rename: mark the breaks in the same commit. They then answer
	 * ERR_OK with `wait` instead of ERR_BREAK_FIRST: nothing was done but the marks, the notices are here. So the
	 * holder is told before anything that was asked later is answered. */
	bool mark_at_once;
	bool wait;
	uint64_t close_open_id;	 /* not 0: a disconnected open that stands in the way and is to be closed */
	uint64_t deadline_ticks; /* out of file_apply_break: when the last of them ends by itself */
};

static inline const struct file_break *file_breaks_at(const struct file_breaks *b, size_t i)
{
	return i < FILE_BREAKS_MAX ? &b->item[i] : &b->more[i - FILE_BREAKS_MAX];
}

/* ---- REST: asked by the applies of file.h, inside their transaction ----
 * ERR_OK, ERR_SHARING_VIOLATION, ERR_SMB_DELETE_PENDING, ERR_BREAK_FIRST. With ERR_OK *ret_breaks has those to tell
 * (their rows were changed in this transaction). Without SMB clients it is one look at an empty range. */
enum err file_opens_rest_access(struct txn *, uint64_t inode_id, enum file_rest_op,
				struct file_breaks *ret_breaks) MUST_CHECK;
/* ERR_FILE_LOCK_CONFLICT if a byte-range lock stops it. After file_opens_rest_access. A read is stopped by a lock of
 * its bytes; what changes bytes needs the whole file, so a lock anywhere in it stops that. */
enum err file_opens_rest_read(struct txn *, uint64_t inode_id, uint64_t offset, uint64_t length) MUST_CHECK;
enum err file_opens_rest_write(struct txn *, uint64_t inode_id) MUST_CHECK;
/* For lists: a file that is to be deleted is not shown to REST. */
enum err file_opens_is_delete_pending(struct txn *, uint64_t inode_id, bool *ret) MUST_CHECK;
/* Has the share any open at all? If not, a list need not ask for each file. */
enum err file_opens_any(struct txn *, bool *ret) MUST_CHECK;
/* Renaming or deleting a directory: opens below it. ERR_OK if there are none, ERR_BREAK_FIRST, or
 * ERR_SHARING_VIOLATION. */
enum err file_opens_below(struct txn *, uint64_t directory_id, struct file_breaks *ret_breaks) MUST_CHECK;

/* ---- marking breaks ---- */
struct file_break_call {
	struct file_breaks breaks; /* in: as ERR_BREAK_FIRST gave them; out: notices and deadline */
	/* out */
	bool wait; /* false: run again at once */
	bool wake; /* a disconnected open was closed */
};
enum err file_apply_break(struct txn *, void *call);

/* ---- CREATE ---- */
enum file_disposition { FILE_SUPERSEDE, FILE_OPEN, FILE_CREATE, FILE_OPEN_IF, FILE_OVERWRITE, FILE_OVERWRITE_IF };
enum file_open_action { FILE_WAS_SUPERSEDED, FILE_WAS_OPENED, FILE_WAS_CREATED, FILE_WAS_OVERWRITTEN };

/* Who opens: kept with the open, for reconnects and List Handles. */
struct file_opener {
	struct oplock_guid client; /* ClientGuid of the connection */
	uint64_t session_id;
	struct slice user;	/* account name: a reconnect must come from the same */
	struct slice client_ip; /* "address:port" */
};

/* What an open has, as others see it. Slices point into the row. */
struct file_open {
	uint64_t inode_id, open_id;
	uint32_t access, share, options;
	bool is_directory, delete_on_close;
	bool has_snapshot; /* of a previous version: reads only, and stands in nobody's way */
	uint64_t snapshot_ticks;
	enum open_life life;
	bool durable_v2;
	uint32_t timeout_ms;
	struct oplock_guid create_guid; /* v2 */
	bool connected;
	uint64_t end_ticks; /* not connected: when it ends */
	struct file_opener opener;
	uint64_t opened_ticks, reconnected_ticks; /* 0 = never */
	uint8_t action;				  /* enum file_open_action of its CREATE */
	struct oplock oplock;			  /* kind OPLOCK_NONE: none */
	const struct byte_range *range;
	size_t range_count;
	uint64_t position;
	bool keep_written, keep_changed, keep_accessed, keep_created; /* times this handle froze or set itself */
	uint16_t channel_sequence;
	uint8_t lock_sequence[FILE_LOCK_SEQUENCES]; /* number + 1 of the last in each bucket; 0 = none */
};

struct file_open_call {
	struct file_target target; /* place by path; kind: what the options demand; breaks must be set */
	uint64_t open_id;	   /* minted by the front end: random, not 0; the persistent half of the file id */
	uint32_t access, share;	   /* generic bits and MAXIMUM_ALLOWED already resolved */
	enum file_disposition disposition;
	uint32_t options; /* kept; only these count here: */
	bool want_directory, want_file;
	bool delete_on_close;
	uint32_t attributes; /* of a new or overwritten file */
	struct file_permission permission;
	uint64_t allocation_bytes; /* AlSi; 0 = none */
	struct file_opener opener;
	struct oplock_request oplock;
	enum open_life life; /* asked for */
	bool durable_v2;
	struct oplock_guid create_guid;
	uint32_t timeout_ms; /* 0 = default */
	bool replay;	     /* the client sends this CREATE again */
	bool guid_is_used;   /* the open made with this guid was used since: a CREATE with it makes another one */
	bool read_only;	     /* the tree may not be written: ERR_SMB_ACCESS_DENIED where it would be */
	/* out */
	struct inode inode;
	enum file_open_action action;
	struct file_open open; /* granted: access, oplock, life, timeout */
	bool oplock_breaking;  /* the lease it joined is being broken */
	bool replayed;	       /* the open was there already: this is its answer once more */
	uint64_t allocation;   /* AllocationSize to answer */
	bool wake;	       /* a disconnected open was closed on the way */
	struct file_events events;
};
enum err file_apply_open(struct txn *, void *call);

/* ---- an open that exists ---- */
struct file_handle {
	uint64_t inode_id, open_id;
};
/* The row, or ERR_SMB_FILE_CLOSED. Slices live in the transaction's arena. */
enum err file_open_get(struct txn *, const struct file_handle *, struct file_open *ret) MUST_CHECK;
/* As above, and it must have one bit of `access`: else ERR_SMB_ACCESS_DENIED. */
enum err file_open_require(struct txn *, const struct file_handle *, uint32_t access, struct file_open *ret) MUST_CHECK;
/* Reading or writing these bytes through it: ERR_FILE_LOCK_CONFLICT. A write tells those who cached (*ret_breaks). */
enum err file_open_io(struct txn *, const struct file_handle *, bool write, uint64_t offset, uint64_t length,
		      struct file_breaks *ret_breaks) MUST_CHECK;

struct file_open_read_call {
	struct file_handle handle;
	struct file_get_call get; /* place and range are set from the handle and by the caller */
};
enum err file_apply_open_read(struct txn *, void *call);

struct file_open_write_call {
	struct file_handle handle;
	struct file_write_call write;
	struct file_breaks breaks; /* out: to tell */
};
enum err file_apply_open_write(struct txn *, void *call);

/* SET_INFO basic, end of file, allocation, security: needs one bit of `access`. A resize tells those who cached. */
struct file_open_set_call {
	struct file_handle handle;
	uint32_t access;
	struct file_modify_call modify;
	/* Less than the file's size cuts it; more means nothing, but those who cached are told all the same. */
	bool set_allocation;
	uint64_t allocation_bytes;
	/* Times: 1 = this handle stops following writes, 2 = follows again, 0 = as it is; set a time also stops. */
	uint8_t freeze_written, freeze_changed, freeze_accessed, freeze_created;
	struct file_breaks breaks; /* out: to tell */
};
enum err file_apply_open_set(struct txn *, void *call);

/* What only the open has. */
struct file_open_note_call {
	struct file_handle handle;
	bool set_position, set_channel_sequence;
	uint64_t position;
	uint16_t channel_sequence;
	/* out */
	struct file_open open;
	bool delete_pending;
	uint64_t allocation;
	struct inode inode;
};
enum err file_apply_open_note(struct txn *, void *call);
/* Its path from the root, as of one instant, also by store_read_points. */
enum err file_path_of(struct txn *, const struct inode *, struct slice *ret) MUST_CHECK;

/* ---- CLOSE ---- */
enum file_close_how {
	FILE_CLOSE_CLIENT,     /* CLOSE, LOGOFF, TREE_DISCONNECT, force close: the open ends */
	FILE_CLOSE_DISCONNECT, /* the connection broke: durable and persistent opens stay, without a client */
};
struct file_close_call {
	struct file_handle handle;
	enum file_close_how how;
	/* out */
	struct file_open open;
	struct inode inode; /* as it is after; as it was if deleted */
	uint64_t allocation;
	bool kept;    /* disconnected, may be reclaimed */
	bool deleted; /* it was the last, and the file was to be deleted */
	bool pending; /* it is to be deleted, once the others are closed */
	bool wake;
	struct file_events events;
};
enum err file_apply_close(struct txn *, void *call); /* ERR_SMB_FILE_CLOSED */

/* ---- LOCK ---- */
struct file_lock_element {
	uint64_t offset, length;
	bool exclusive, unlock;
};
struct file_lock_call {
	struct file_handle handle;
	const struct file_lock_element *element;
	size_t count;
	uint32_t sequence_bucket; /* 1..64: replay is noticed; 0 = none */
	uint8_t sequence_number;
	/* out */
	bool wake;
	bool replayed;
	struct file_breaks breaks; /* to tell */
};
/* All elements are unlocks or all are locks. Locks: all or none, ERR_SMB_LOCK_NOT_GRANTED (a blocking one then waits
 * for the file and runs again). Unlocks: those before the first that is not there stay done: with ERR_OK and
 * failed_at. */
enum err file_apply_lock(struct txn *, void *call);
struct file_unlock_call {
	struct file_lock_call lock;
	size_t failed_at; /* out: count = all done, else this one was not locked: answer RANGE_NOT_LOCKED */
};
enum err file_apply_unlock(struct txn *, void *call);

/* ---- acknowledgement of a break ---- */
struct file_ack_call {
	struct file_handle handle; /* an oplock's; for a lease inode_id and open_id are found by the key */
	bool is_lease;
	struct oplock_guid client, lease_key;
	uint8_t state;
	/* out */
	uint64_t inode_id;
	uint8_t granted;
	struct file_breaks breaks; /* the next step, to tell */
	bool wake;
};
enum err file_apply_acknowledge(struct txn *, void *call);

/* ---- DISPOSITION, RENAME ---- */
struct file_disposition_call {
	struct file_handle handle;
	bool delete_it;
	/* out */
	struct inode inode;
	struct file_breaks breaks; /* with ERR_BREAK_FIRST: others' H */
};
enum err file_apply_disposition(struct txn *, void *call);

struct file_open_rename_call {
	struct file_handle handle;
	struct file_rename_call rename; /* target, replace; source is set here */
	struct file_breaks breaks;
	bool wake;
};
enum err file_apply_open_rename(struct txn *, void *call);

/* ---- reconnect of durable and persistent opens ---- */
struct file_reconnect_call {
	uint64_t open_id; /* 0: by create_guid */
	bool v2, persistent;
	struct oplock_guid create_guid;
	struct oplock_request oplock; /* the lease context of the request, if any */
	struct file_path path;	      /* v2 and leases: must be the file's */
	bool check_path;
	struct file_opener opener;
	/* out */
	struct file_open open;
	struct inode inode;
	uint64_t allocation;
	bool oplock_breaking;
	struct file_breaks breaks; /* a break that waited for the client: to tell now */
};
enum err file_apply_reconnect(struct txn *, void *call);

/* ---- List Handles, Force Close ---- */
struct file_handle_info {
	struct file_open open;
	uint64_t parent_id;
	struct slice path;   /* of its file, from the root, '/' between the parts */
	bool delete_pending; /* its file goes with the last open, whoever asked for it */
};
struct file_handles_call {
	struct file_target target; /* a file or directory; snapshots have no opens */
	bool recursive;
	uint64_t after; /* marker: (inode, open) of the last one given; 0, 0 = beginning */
	uint64_t after_open;
	size_t limit;
	bool close;	    /* force close: all that are found, or */
	uint64_t close_one; /* not 0: only this handle */
	/* out */
	struct inode inode;
	struct file_handle_info *handle; /* list: in the arena */
	size_t count;			 /* of handles listed or closed */
	bool more;
	uint64_t next, next_open;
	bool wake_all; /* force close: wake the waiters of each closed handle's file and post NOTICE_CLOSED to it */
	struct file_handle *closed;
	struct file_events *events; /* of each of them: a file may go with its last handle */
	size_t closed_count;
};
enum err file_apply_list_handles(struct txn *, void *call);
enum err file_apply_force_close(struct txn *, void *call);

/* A durable row of an open, of a lease or of a file's state: does it read as what its key says? For scrub. */
enum err file_open_row_check(struct slice key, struct slice record, struct arena *) MUST_CHECK;

/* ---- life of the server ---- */
/* Persistent opens of a share become rows of this run, without a client; their time begins to run now. Before the first
 * client is served. Blocks. */
enum err file_opens_load(struct store *, struct slice partition) MUST_CHECK;
/* One bounded round: disconnected opens whose time is over are closed (their files deleted where that was pending).
 * Blocks. */
enum err file_opens_round(struct store *, struct slice partition, bool *ret_more) MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0
 * The rows of opens, and all of one file's as the rules of src/lock want them. For the files of this folder only.
 *
 *   '~' 'o' u64(inode) 'f'                     state of the file: delete pending, allocation
 *   '~' 'o' u64(inode) 'k' string(client key)  a lease
 *   '~' 'o' u64(inode) 'o' u64(open)           an open, with its plain oplock and its byte-range locks
 *   '~' 'h' u64(open)                          the inode of an open
 *   '~' 'g' string(client guid)                v2: the open that was made with this create guid
 *   '~' 'l' string(client key)                 the inode of a lease
 *
 * Those below 'o' also as durable rows, without the '~', while they concern a persistent open. The volatile row is the
 * one that is read; the durable one is for the next start. */
#ifndef SVC_FILE_OPEN_INT_H
#define SVC_FILE_OPEN_INT_H

#include "store/key.h"
#include "svc/file/open.h"

struct open_state {
	bool delete_pending;
	bool durable; /* there is a durable row */
	uint64_t allocation_bytes;
};

/* One oplock or lease of a file. */
struct open_oplock {
	struct oplock oplock;
	bool durable;	   /* lease: there is a durable row */
	size_t open_index; /* plain: whose */
};

/* All opens of a file. The arrays are in the arena; changes go into the rows by the functions below. */
struct opens {
	uint64_t inode_id, now_ticks;
	struct open_state state;
	struct file_open *open;
	size_t count;
	struct open_oplock *oplock; /* leases by client and key, then plain ones by their open */
	size_t oplock_count, lease_count;
	struct lock_opens rules; /* the same, as src/lock sees it; made by opens_load and opens_refresh */
};

/* rows.c */
enum { OPEN_ROW_VERSION = 1 };
void open_row_encode(struct buf *, const struct file_open *);
enum err open_row_decode(struct slice record, struct arena *, struct file_open *ret) MUST_CHECK;
void open_lease_encode(struct buf *, const struct oplock *, bool durable);
enum err open_lease_decode(struct slice record, struct open_oplock *ret) MUST_CHECK;
void open_state_encode(struct buf *, const struct open_state *);
enum err open_state_decode(struct slice record, struct open_state *ret) MUST_CHECK;

void opens_file_key(struct key *, uint64_t inode_id); /* prefix of all rows of a file */
void open_key(struct key *, uint64_t inode_id, uint64_t open_id);
/* Takes (inode, open) out of the key of an open; false: another kind of row. */
bool open_key_take(struct slice key, uint64_t *ret_inode, uint64_t *ret_open);

/* file.c */
enum err opens_load(struct txn *, uint64_t inode_id, struct opens *ret) MUST_CHECK;
/* Makes `rules` again after open, oplock or state were changed. */
enum err opens_refresh(struct txn *, struct opens *) MUST_CHECK;
/* NULL: none. */
struct file_open *opens_find(struct opens *, uint64_t open_id);
struct open_oplock *opens_find_lease(struct opens *, const struct oplock_guid *client, const struct oplock_guid *key);
/* The oplock or lease of an open; NULL: none. */
struct open_oplock *opens_oplock_of(struct opens *, const struct file_open *);

enum err open_put(struct txn *, const struct file_open *) MUST_CHECK;
enum err open_lease_put(struct txn *, uint64_t inode_id, const struct oplock *, bool durable) MUST_CHECK;
enum err open_oplock_put(struct txn *, struct opens *, const struct open_oplock *) MUST_CHECK;
enum err open_state_put(struct txn *, struct opens *) MUST_CHECK;
/* is_open: somebody has the file open, so that its state is kept; persistent: so that it outlives the server. */
enum err open_state_write(struct txn *, uint64_t inode_id, struct open_state *, bool is_open,
			  bool persistent) MUST_CHECK;
/* Everything of an open but the file: its row, its lease if it was the last, the ways to it. It is out of `opens`
 * afterwards. */
enum err open_remove(struct txn *, struct opens *, uint64_t open_id) MUST_CHECK;
/* The ways to it: by its id, by its create guid, by its lease. */
enum err open_index_put(struct txn *, const struct file_open *) MUST_CHECK;
/* ERR_NOT_FOUND is a value. */
enum err open_find_by_id(struct txn *, uint64_t open_id, uint64_t *ret_inode) MUST_CHECK;
enum err open_find_by_guid(struct txn *, const struct oplock_guid *client, const struct oplock_guid *guid,
			   struct file_handle *ret) MUST_CHECK;
enum err open_find_by_lease(struct txn *, const struct oplock_guid *client, const struct oplock_guid *key,
			    uint64_t *ret_inode) MUST_CHECK;

/* break.c */
/* Room for the demands of these opens. */
enum err demands_new(struct txn *, const struct opens *, struct lock_demands *ret) MUST_CHECK;
/* The demands as the front end gets them, to have them marked later. */
void breaks_ask(const struct opens *, const struct lock_demands *, struct file_breaks *ret);
/* Marks the demands in the rows now; the notices are in *ret. */
enum err breaks_mark(struct txn *, struct opens *, const struct lock_demands *, struct file_breaks *ret) MUST_CHECK;
/* Turns a decision into an error; fills *breaks where it is ERR_BREAK_FIRST. */
enum err answer_err(const struct opens *, enum lock_answer, const struct lock_demands *, uint64_t close_open_id,
		    struct file_breaks *breaks) MUST_CHECK;
/* As above, but marks at once if breaks->mark_at_once: then ERR_OK, and breaks->wait says that it was not LOCK_YES. */
enum err answer_or_mark(struct txn *, struct opens *, enum lock_answer, const struct lock_demands *,
			uint64_t close_open_id, struct file_breaks *breaks) MUST_CHECK;

/* close.c: ends an open and does what follows from it. */
struct close_result {
	bool deleted;
	struct inode inode;
	struct file_events events;
};
enum err open_end(struct txn *, struct opens *, uint64_t open_id, struct close_result *ret) MUST_CHECK;

static inline uint64_t open_allocation(const struct open_state *s, const struct inode *n)
{
	uint64_t most = n->size_bytes > s->allocation_bytes ? n->size_bytes : s->allocation_bytes;
	if (n->kind == FILE_KIND_DIRECTORY)
		return 0;
	return (most + 4095) / 4096 * 4096;
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * The opens of one file, whoever made them, and what follows from them: may another one be, whom must it break first,
 * what does closing do, what may a REST operation do. Plain data that svc/file reads from the share's rows; pure
 * functions, which may run again.
 *
 * A decision never waits. LOCK_BREAK says: nothing was decided, the oplocks in the demand must be broken first; then
 * ask again, because the world may have changed. */
#ifndef LOCK_OPENS_H
#define LOCK_OPENS_H

#include "lock/byte_range.h"
#include "lock/oplock.h"
#include "lock/rest_table.h"
#include "lock/share_mode.h"

enum { LOCK_NO_OPLOCK = -1, OPENS_MAX_PER_FILE = 2000 /* as documented for the service */ };

enum open_life {
	OPEN_PLAIN,	 /* ends with its connection */
	OPEN_DURABLE,	 /* outlives its connection for a time, unless somebody needs what it blocks */
	OPEN_PERSISTENT, /* outlives connection and server, and blocks meanwhile */
};

struct lock_open {
	uint64_t id;
	uint32_t access, share;
	bool delete_on_close;
	enum open_life life;
	bool connected;
	uint64_t end_ticks; /* not connected: gone after this */
	int oplock;	    /* index into lock_opens.oplock, or LOCK_NO_OPLOCK */
	const struct byte_range *range;
	size_t range_count;
};

struct lock_opens {
	bool delete_pending;
	struct oplock *oplock;
	size_t oplock_count;
	struct lock_open *open; /* by id */
	size_t open_count;
};

/* Which oplocks have to come down to what before the answer can be given. */
struct lock_demand {
	int oplock; /* index into lock_opens.oplock */
	uint8_t keep;
};
/* Notes of one decision about an oplock, so that it goes through the opens once and not once an oplock. */
struct lock_holder {
	const struct lock_open *abandoned; /* see find_holders */
	bool has_client;
	bool in_the_way;
};
struct lock_demands {
	struct lock_demand *item;   /* room for lock_opens.oplock_count */
	struct lock_holder *holder; /* the same */
	size_t count;
	bool wait; /* else they are only told, and the caller goes on */
};

enum lock_answer {
	LOCK_YES,
	LOCK_BREAK, /* the demands first, and wait */
	LOCK_SHARING_VIOLATION,
	LOCK_DELETE_PENDING,
	LOCK_NOT_AVAILABLE,	 /* a persistent open whose client is away stands in the way */
	LOCK_CLOSE_DISCONNECTED, /* close the disconnected open *ret_open first, then ask again */
};

struct lock_open_request {
	uint32_t access, share;
	bool overwrite; /* supersede or overwrite: cached bytes are worthless */
	bool deletes;	/* delete on close: those who only cache their handle may let it go */
	bool again;	/* it waited already: breaks under way are waited for to their end */
	bool is_directory;
	struct oplock_request oplock;
};

/* May a new open be? On LOCK_YES *ret_state is the oplock or lease state to grant, and the demands are notices. */
enum lock_answer lock_may_open(const struct lock_opens *, const struct lock_open_request *, struct lock_demands *,
			       uint64_t *ret_open, uint8_t *ret_state);
/* May a REST operation be? On LOCK_YES the demands are notices. */
enum lock_answer lock_rest_access(const struct lock_opens *, enum file_rest_op, struct lock_demands *,
				  uint64_t *ret_open);
/* May bytes be read or written? own: the open that does it, 0 for REST. */
bool lock_may_io(const struct lock_opens *, uint64_t own, bool write, uint64_t offset, uint64_t length);
/* May an open have this lock? */
bool lock_may_lock(const struct lock_opens *, uint64_t own, const struct byte_range *);
/* Somebody writes (or locks, or cuts): what others cached is worthless. Notices only. own: 0 for REST. */
void lock_write_breaks(const struct lock_opens *, uint64_t own, struct lock_demands *);
/* Rename or delete through an open: the handles of others must be really open. */
enum lock_answer lock_may_rename(const struct lock_opens *, uint64_t own, struct lock_demands *, uint64_t *ret_open);

struct lock_close_effects {
	bool sets_pending; /* the file is to be deleted once nobody has it open */
	bool deletes;	   /* nobody has it open, and it is */
	bool ends_oplock;  /* the last open of its oplock or lease */
};
struct lock_close_effects lock_close(const struct lock_opens *, uint64_t open);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * The one path of everything that creates a blob or replaces the one of that name: Put Blob, Put Block List, Copy.
 *
 *   blob_replace_begin    reads the old state, makes every check in the service's order, begins the new state
 *   (the caller)          makes the content of the new state; nothing of the old one is given back yet, because the
 *                         new content may take bytes from it (a block list) or share them (a copy of a blob over
 * itself)
 *   blob_replace_finish   keeps or releases the old state, carries the lease over, sets the times, follows the tag
 *                         index, ends the staging, writes the record
 *
 * All three run in one transaction: the record, its history and its content change together or not at all. */
#ifndef SVC_BLOB_REPLACE_H
#define SVC_BLOB_REPLACE_H

#include "svc/blob/content/block_list.h"

struct blob_replace {
	/* in */
	struct blob_put_call *put; /* target, type and properties of the new state, which is put->blob */
	enum err unmet_error;	   /* conditions other than If-None-Match: * that do not hold */
	bool infinite_lease_only;  /* a leased destination must be leased for good */
	bool lease_wins; /* a valid lease id lets If-None-Match: * pass, as the service does for plain writes */
	struct slice incremental_url; /* an incremental copy: the snapshot it is of. Absent: any other write */
	/* out, of begin */
	bool exists;
	struct blob old;
	bool is_staged; /* there are uncommitted blocks */
	struct stage stage;
	/* in, of finish */
	bool takes_over;    /* the new content took blocks of the old one, which nobody else holds, over */
	bool took_staged;   /* the new content took blocks out of the staging */
	struct blob *fresh; /* put->blob */
};

enum err blob_replace_begin(struct txn *, struct blob_replace *) MUST_CHECK;
enum err blob_replace_finish(struct txn *, struct blob_replace *) MUST_CHECK;

#endif

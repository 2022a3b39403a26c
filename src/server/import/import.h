/* SPDX-License-Identifier: Apache-2.0
 * `zaffre import-azurite DIR [CONNECTION_STRING]`: takes what a workspace of Azurite holds of one account over into a
 * running server, through the services' own operations.
 *
 * What is there already is left alone and counted, so that an import that stopped can be run again. What takes several
 * requests (an append blob, a blob with snapshots, a queue with its messages) is named in a blob of the container
 * zaffre-import while it is under way: the next run finds the name there, removes what it stands for and begins it
 * anew. The container goes at the end. */
#ifndef SERVER_IMPORT_IMPORT_H
#define SERVER_IMPORT_IMPORT_H

#include "server/import/target.h"
#include "server/import/workspace.h"

enum import_count {
	IMPORT_COUNT_CONTAINERS,
	IMPORT_COUNT_BLOBS,
	IMPORT_COUNT_SNAPSHOTS,
	IMPORT_COUNT_BLOCKS, /* uncommitted ones */
	IMPORT_COUNT_QUEUES,
	IMPORT_COUNT_MESSAGES,
	IMPORT_COUNT_TABLES,
	IMPORT_COUNT_ENTITIES,
	IMPORT_COUNTS,
};

struct import_job {
	struct import_workspace ws;
	struct import_target target;
	struct slice account;
	struct arena kept; /* as long as the job: lists of snapshots, blocks and messages */
	struct arena row;  /* of the row at hand */
	struct buf text;   /* a body, a message, an error */
	uint64_t taken[IMPORT_COUNTS], already[IMPORT_COUNTS];
	uint64_t bytes, expired, leases, failed;
	bool marked;  /* the container zaffre-import is there */
	bool stopped; /* the server went away: nothing more is tried */
	/* Progress */
	bool terminal;
	uint64_t rows_total, rows_done, shown_ns;
};

/* The three services; each goes on after what is refused and stops when the server is gone. */
void import_blobs(struct import_job *);
void import_queues(struct import_job *);
void import_tables(struct import_job *);

/* The row belongs to the account that is imported: `member` names it in the rows of this collection. */
bool import_row_ours(struct import_job *, struct slice row, const char *member);
/* Sends, and takes the request down. 0: stopped. Statuses of 400 and above are the caller's. */
int import_do(struct import_job *, struct import_request *);
/* As import_do; false and a line for people if it was refused. `what` and the names say what was tried. */
bool import_must(struct import_job *, struct import_request *, const char *what, struct slice container,
		 struct slice object);
/* Something of the workspace cannot be taken over: a line for people, and the exit status. */
void import_say_failed(struct import_job *, const char *what, struct slice container, struct slice object,
		       struct slice why);
/* One row is done: now and then shown. */
void import_row_done(struct import_job *);

/* Metadata of a row ({"name":"value"}) as headers. */
void import_put_metadata(struct import_request *, const struct json_node *metadata);
/* <root> with what is known of a row's object or array, as the service's XML names it. */
void import_put_xml(struct buf *, const char *root, const char *element, const struct json_node *);
/* Stored access policies of a container, queue or table, if there are any. */
void import_policies(struct import_job *, enum service, struct slice name, const struct json_node *acl,
		     struct slice public_access);
/* Service properties of the account: last, because a retention policy keeps what an import replaces. */
void import_properties(struct import_job *, enum service, enum import_file);

/* What is under way, for a run after this one: "blob", container and name, or "queue" and its name. */
bool import_begin_several(struct import_job *, const char *what, struct slice container, struct slice object);
bool import_end_several(struct import_job *);
/* At the start: finds what an import that stopped was doing and removes it. At the end: the container goes. */
bool import_recover(struct import_job *);
void import_finish(struct import_job *);

int import_main(int argc, char **argv); /* arguments behind the word */

#endif

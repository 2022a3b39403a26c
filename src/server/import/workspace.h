/* SPDX-License-Identifier: Apache-2.0
 * A workspace of Azurite, read only: five files of JSON that its database (LokiJS) writes whole, and folders with the
 * bytes of blobs and messages in files called extents.
 *
 *   __azurite_db_blob__.json  {"collections":[{"name":"$BLOBS_COLLECTION$","data":[ROW,ROW...]},...]}
 *   __azurite_db_queue__.json, __azurite_db_table__.json   likewise
 *   __azurite_db_blob_extent__.json, __azurite_db_queue_extent__.json   which extent is which file
 *   __blobstorage__/, __queuestorage__/   those files
 *
 * The files are mapped and rows are walked over where they lie, so memory does not grow with them. */
#ifndef SERVER_IMPORT_WORKSPACE_H
#define SERVER_IMPORT_WORKSPACE_H

#include "base/arena.h"
#include "base/buf.h"
#include "wire/json.h"

enum import_file {
	IMPORT_BLOBS,
	IMPORT_BLOB_EXTENTS,
	IMPORT_QUEUES,
	IMPORT_QUEUE_EXTENTS,
	IMPORT_TABLES,
	IMPORT_FILES,
};

struct import_workspace {
	const char *dir;
	struct slice file[IMPORT_FILES]; /* mapped; absent: not there */
	/* The extent that was opened last. */
	int extent_fd;
	char extent_name[256];
};

/* False: it is no workspace, or a file of it is damaged; *error says which and how. Everything is walked over once, so
 * that a file that was cut short is found before anything is taken out of it. */
bool import_workspace_open(struct import_workspace *, const char *dir, struct buf *error);
void import_workspace_close(struct import_workspace *);

/* The rows of a collection, for json_walk_next. False: the file or the collection is not there. */
bool import_rows(const struct import_workspace *, enum import_file, struct slice collection, struct json_walk *ret);

/* Members of a row, decoded. Absent or NULL: not there, null, or of another kind. */
struct slice import_row_text(struct slice row, const char *name, struct arena *);
struct json_node *import_row_node(struct slice row, const char *name, struct arena *);
bool import_row_is(struct slice row, const char *name, struct slice text, struct arena *);

/* Bytes of a blob or a message: a part of an extent's file. */
struct import_chunk {
	int fd; /* belongs to the workspace; -1: zeros */
	uint64_t offset, count;
};
/* Of {"id":..,"offset":..,"count":..}, in the extents of that file; an absent one has no bytes. False: the extent is
 * not there or too short; *error says so. */
bool import_chunk_find(struct import_workspace *, enum import_file extents, struct slice persistency, struct arena *,
		       struct import_chunk *ret, struct buf *error);
/* All of a chunk into *out, which must be empty. */
bool import_chunk_read(const struct import_chunk *, struct buf *out);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Between open.c (the sequence of a start) and database.c (RocksDB). */
#ifndef ENGINE_ROCKS_OPEN_INT_H
#define ENGINE_ROCKS_OPEN_INT_H

#include "engine/rocks/rocks_int.h"

struct opening {
	const struct rocks_options *options;
	struct rocks *r;
	struct buf *message;
	const char *name; /* of the directory, for the message */
	bool fresh, upgrade, older_rows;
	uint64_t in_tables; /* as the database says: every commit up to this one is in its tables; 0: nothing is said */
	uint64_t journal_file_bytes;
};

/* open.c: the message, and the error to return. */
enum err opening_refuse_errno(struct opening *, const char *what);
enum err opening_refuse_err(struct opening *, const char *what, enum err);

/* database.c */
int database_open_tables(void);		 /* how many tables RocksDB may keep open */
void database_prepare(struct opening *); /* options; freed by rocks_close */
enum err database_look(struct opening *) MUST_CHECK;
enum err database_open(struct opening *) MUST_CHECK;
enum err database_open_to_read(struct opening *) MUST_CHECK;
void database_close(struct rocks *);

#endif

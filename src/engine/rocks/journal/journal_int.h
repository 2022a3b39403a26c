/* SPDX-License-Identifier: Apache-2.0
 * Between journal.c (appending, recycling) and journal_read.c (what a start finds). */
#ifndef ENGINE_ROCKS_JOURNAL_INT_H
#define ENGINE_ROCKS_JOURNAL_INT_H

#include "engine/rocks/journal/journal.h"

#include <pthread.h>

enum {
	JOURNAL_BLOCK_BYTES = 4096,
	JOURNAL_FILES_MAX = 4,
	JOURNAL_FILES_FIRST = 2,
	JOURNAL_RECORD_HEAD_BYTES = 24,
	JOURNAL_SYNCED_BYTES = 8, /* behind the head of a record that says how far the journal was synced */
	JOURNAL_HEADER_BYTES = 44,
	JOURNAL_NAME_BYTES = 16,
};
#define JOURNAL_MAGIC	    SLICE("zaffjrnl")
#define JOURNAL_SAYS_SYNCED (UINT32_C(1) << 31) /* in the length of a record */

enum journal_state { JOURNAL_FREE, JOURNAL_USED, JOURNAL_FULL };

struct journal_file {
	enum journal_state state;
	int fd;
	uint64_t epoch;
	uint64_t first, last; /* numbers; last < first: no record yet */
	uint64_t end_bytes;   /* where the next record goes; at a start: where the records end */
};

#define JOURNAL_ALIVE UINT32_C(0x6a6c4c56)

struct journal {
	uint32_t magic; /* JOURNAL_ALIVE from open to free */
	struct journal_options options;
	int dir_fd;
	pthread_mutex_t lock; /* states, flushed, stop, failed */
	pthread_cond_t wake;
	struct journal_file file[JOURNAL_FILES_MAX];
	size_t file_count;
	struct journal_file *current; /* the appender's */
	uint64_t last;		      /* the number of the newest record */
	uint64_t synced;	      /* every record up to this one is durable; the appender's */
	uint64_t flushed;	      /* every record up to this one is in tables */
	uint64_t header_flushed;      /* as the headers said at the start */
	uint64_t said_synced;	      /* as the records behind the end said at the start */
	uint64_t epoch;
	char *buffer; /* aligned; the appender's */
	size_t buffer_bytes;
	pthread_t thread;
	bool runs, stop, failed;
};

struct journal_header {
	bool free;
	uint64_t epoch, first, flushed;
};

/* A record that does not say how far the journal was synced says: up to the one before. */
static inline size_t journal_record_head_bytes(uint64_t number, uint64_t synced)
{
	return JOURNAL_RECORD_HEAD_BYTES + (synced + 1 == number ? 0 : JOURNAL_SYNCED_BYTES);
}

static inline size_t journal_record_bytes(size_t head_bytes, size_t batch_bytes)
{
	return (head_bytes + batch_bytes + JOURNAL_BLOCK_BYTES - 1) / JOURNAL_BLOCK_BYTES * JOURNAL_BLOCK_BYTES;
}

void journal_file_name(char name[JOURNAL_NAME_BYTES], size_t i);

/* journal_read.c */
void journal_header_encode(char block[JOURNAL_BLOCK_BYTES], const struct journal_header *);
/* The head, of journal_record_head_bytes; the batch lies behind it. `synced`: every record up to it is durable. */
void journal_record_encode(char *head, uint64_t number, uint64_t epoch, uint64_t synced, struct slice batch);

#endif

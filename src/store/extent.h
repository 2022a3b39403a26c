/* SPDX-License-Identifier: Apache-2.0
 * Payload bytes outside records. A payload of up to PAYLOAD_INLINE_BYTES stays in memory and goes into the record; a
 * longer one becomes a list of extents, written as the bytes arrive. payload_writer hides which. Hashing is the
 * caller's. Threads: a writer is used by one thread at a time. append may block on the disk once the payload left
 * memory. */
#ifndef STORE_EXTENT_H
#define STORE_EXTENT_H

#include "base/buf.h"
#include "store/store.h"

enum { EXTENT_REF_BYTES = 20 };
void extent_ref_encode(struct buf *, const struct extent_ref *);
struct cursor;
struct extent_ref extent_ref_decode(struct cursor *);

struct payload {
	uint64_t length_bytes;
	struct slice inline_bytes;  /* set if it fits a record; owned by the payload unless borrowed */
	struct extent_ref *extents; /* else these, in order; owned by the payload */
	size_t extent_count;
	bool borrowed;	/* inline_bytes are somebody else's, who keeps them as long as this lives */
	bool encrypted; /* the extents are (store/encrypted.h); length_bytes counts data */
};

struct payload_writer;
enum err payload_writer_new(struct store *, uint64_t length_hint, struct payload_writer **ret) MUST_CHECK;
/* Even a short payload goes into an extent (blocks, pages: many of them make one content). Before the first append. */
void payload_writer_only_extents(struct payload_writer *);
/* True if the next append of `bytes` bytes stays in memory (cannot block). */
bool payload_writer_stays_in_memory(const struct payload_writer *, size_t bytes);
enum err payload_append(struct payload_writer *, struct slice bytes) MUST_CHECK;
/* A payload that is at hand as a whole, and too long for a record. From memory that begins with a page its extents are
 * written without a copy. */
enum err payload_write(struct store *, struct slice bytes, struct payload *ret) MUST_CHECK;
/* Ends the writer (also on error). The payload's inline bytes and extent list live until payload_fini. */
enum err payload_finish(struct payload_writer *, struct payload *ret) MUST_CHECK;
void payload_writer_free(struct payload_writer *); /* gives up; accepts NULL */
/* Gives the extents back: no commit published them, or ever will. Not after a write that was answered ERR_UNKNOWN: it
 * may have happened. (After ERR_STOPPED the engine itself keeps them until a restart has told.) */
void payload_abandon(struct store *, struct payload *);
/* Frees memory. Call payload_abandon first if no commit published the extents. Accepts a zeroed payload. */
void payload_fini(struct payload *);

/* Reads [offset, offset+length) of one extent, verified. */
enum err extent_read(struct store *, const struct extent_ref *, uint32_t offset, uint32_t length, void *dst) MUST_CHECK;
uint64_t extent_pin(struct store *);
void extent_unpin(struct store *, uint64_t pin);

#endif

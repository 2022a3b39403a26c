/* SPDX-License-Identifier: Apache-2.0
 * Large buffers that come and go with every message, in huge pages. Fresh memory would be cleared and mapped for each,
 * and in pages of 4 KiB a MiB costs the processor and the disk's driver 256 translations. A chosen byte of a buffer
 * lies at a page's beginning, so that what begins there can go to the disk without a copy.
 *
 * What is free is kept for the next buffer up to SLABS_KEPT_BYTES, and until slabs_trim finds that nobody used it. */
#ifndef BASE_SLABS_H
#define BASE_SLABS_H

#include <stddef.h>

enum {
	SLABS_CLASSES = 4,
	SLABS_LEAST_BYTES = 128 * 1024, /* smaller buffers are malloc's */
	SLABS_MOST_BYTES = 9 * 1024 * 1024,
	SLABS_AHEAD_MOST_BYTES = 1024, /* before the byte that is aligned */
	SLABS_KEPT_BYTES = 16 * 1024 * 1024,
};

struct slab;
struct slabs { /* all zero: empty; one thread's */
	struct slab *slab[SLABS_CLASSES];
	size_t bytes, free_bytes; /* mapped; of them in slabs without any buffer in use */
};

/* `len` bytes of which the one at `ahead` begins a page if len is at least SLABS_LEAST_BYTES. NULL: no memory. */
void *slabs_take(struct slabs *, size_t len, size_t ahead);
void slabs_give(struct slabs *, void *, size_t len); /* with the length it was taken with; accepts NULL */
/* Gives back what has not been used since the last call. */
void slabs_trim(struct slabs *);
void slabs_fini(struct slabs *); /* every buffer was given back */

#endif

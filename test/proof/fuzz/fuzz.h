/* SPDX-License-Identifier: Apache-2.0
 * What every target shares. A target reads its input, and where it was accepted writes it again and reads that: CHECK
 * ends the program if the two differ. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/slice.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                      \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

/* The same bytes in a block of their own, so that a read past their end is seen. */
static inline struct slice fuzz_copy(struct slice s)
{
	char *p = malloc(s.len ? s.len : 1);
	CHECK(p);
	if (s.len)
		memcpy(p, s.ptr, s.len);
	return slice_make(p, s.len);
}
static inline void fuzz_free(struct slice s)
{
	free((void *)(uintptr_t)s.ptr);
}

#endif

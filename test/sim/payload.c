/* SPDX-License-Identifier: Apache-2.0
 * Extents of the simulator: the value's number again and again, of a length that follows from it. */
#include "sim.h"

enum { WORDS_MAX = 64 };

static uint32_t words_of(uint32_t value)
{
	return 1 + value % WORDS_MAX;
}

bool sim_extent_make(struct engine *e, uint32_t value, struct extent_ref *ret)
{
	struct extent_writer *w;
	uint32_t words[WORDS_MAX];
	for (uint32_t i = 0; i < WORDS_MAX; i++)
		words[i] = value;
	if (e->ops->extent_begin(e, 4 * words_of(value), &w) != ERR_OK)
		return false;
	if (e->ops->extent_append(w, slice_make(words, 4 * words_of(value))) != ERR_OK) {
		e->ops->extent_writer_free(w);
		return false;
	}
	return e->ops->extent_seal(w, ret) == ERR_OK;
}

enum err sim_extent_check(struct engine *e, uint32_t value, const struct extent_ref *ref)
{
	uint32_t words[WORDS_MAX];
	if (ref->length_bytes != 4 * words_of(value))
		return ERR_CORRUPT;
	TRY(e->ops->extent_read(e, ref, 0, ref->length_bytes, words));
	for (uint32_t i = 0; i < words_of(value); i++)
		if (words[i] != value)
			return ERR_CORRUPT;
	return ERR_OK;
}

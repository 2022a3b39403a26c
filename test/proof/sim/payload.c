/* SPDX-License-Identifier: Apache-2.0
 * Extents of the simulator: the value's number again and again, of a length that follows from it if not told. */
#include "sim.h"

enum { WORDS_MAX = 128 };

static uint32_t words_of(uint32_t value)
{
	return 1 + value % 64;
}

bool sim_extent_make_bytes(struct engine *e, uint32_t value, size_t bytes, struct extent_ref *ret)
{
	struct extent_writer *w;
	uint32_t words[WORDS_MAX];
	if (bytes > sizeof words)
		abort();
	for (size_t i = 0; i < WORDS_MAX; i++)
		words[i] = value;
	if (e->ops->extent_begin(e, (uint32_t)bytes, &w) != ERR_OK)
		return false;
	if (e->ops->extent_append(w, slice_make(words, bytes)) != ERR_OK) {
		e->ops->extent_writer_free(w);
		return false;
	}
	return e->ops->extent_seal(w, ret) == ERR_OK;
}

bool sim_extent_make(struct engine *e, uint32_t value, struct extent_ref *ret)
{
	return sim_extent_make_bytes(e, value, 4 * words_of(value), ret);
}

static enum err check(struct engine *e, const struct extent_ref *ref, uint32_t *ret_value)
{
	uint32_t words[WORDS_MAX];
	if (ref->length_bytes < 4 || ref->length_bytes > sizeof words)
		return ERR_CORRUPT;
	TRY(e->ops->extent_read(e, ref, 0, ref->length_bytes, words));
	for (size_t i = 1; i < ref->length_bytes / 4; i++)
		if (words[i] != words[0])
			return ERR_CORRUPT;
	*ret_value = words[0];
	return ERR_OK;
}

enum err sim_extent_check_any(struct engine *e, const struct extent_ref *ref)
{
	uint32_t value;
	return check(e, ref, &value);
}

enum err sim_extent_check(struct engine *e, uint32_t value, const struct extent_ref *ref)
{
	uint32_t got;
	TRY(check(e, ref, &got));
	return got == value && ref->length_bytes == 4 * words_of(value) ? ERR_OK : ERR_CORRUPT;
}

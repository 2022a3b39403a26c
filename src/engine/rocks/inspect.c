/* SPDX-License-Identifier: Apache-2.0
 * What a scrub asks besides reading: is the space of an extent marked as used, which extents wait to be reclaimed, how
 * much is there to do. Only while nobody writes. */
#include "engine/rocks/rocks_int.h"
#include "engine/rocks/segment/segment_int.h"

#include "base/bytes.h"

bool engine_rocks_extent_published(struct engine *e, const struct extent_ref *extent)
{
	struct segments *s = rocks_of(e)->segments;
	if (!segment_ref_valid(s, extent))
		return false;
	const uint64_t *map = s->region[segment_region(extent)]->published;
	size_t at = (uint32_t)extent->place, count = segment_blocks(extent->length_bytes);
	for (size_t i = at; i < at + count; i++)
		if (!(map[i / 64] >> (i % 64) & 1))
			return false;
	return true;
}

uint64_t engine_rocks_extent_space(const struct extent_ref *extent)
{
	return segment_blocks(extent->length_bytes);
}

enum err engine_rocks_retired_each(struct engine *e, void (*each)(void *arg, const struct extent_ref *), void *arg)
{
	static const char from[] = { 0, 'd' }, end[] = { 0, 'e' };
	struct rocks *r = rocks_of(e);
	rocksdb_readoptions_t *read = rocksdb_readoptions_create();
	rocksdb_readoptions_set_iterate_upper_bound(read, end, sizeof end);
	rocksdb_iterator_t *it = rocksdb_create_iterator_cf(r->db, read, r->family[FAMILY_BOOKS]);
	enum err err = ERR_OK;
	for (rocksdb_iter_seek(it, from, sizeof from); rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
		size_t len;
		const char *value = rocksdb_iter_value(it, &len);
		struct cursor c = cursor_make(slice_make(value, len));
		struct extent_ref extent = { .id = cursor_u64(&c), .place = cursor_u64(&c) };
		extent.length_bytes = cursor_u32(&c);
		if (cursor_done(&c) && segment_ref_valid(r->segments, &extent))
			each(arg, &extent);
		else
			err = ERR_CORRUPT;
	}
	char *error = NULL;
	rocksdb_iter_get_error(it, &error);
	rocksdb_iter_destroy(it);
	rocksdb_readoptions_destroy(read);
	return error ? rocks_error(error) : err;
}

uint64_t engine_rocks_estimate_rows(struct engine *e)
{
	return rocks_property(rocks_of(e), "rocksdb.estimate-num-keys");
}

/* SPDX-License-Identifier: Apache-2.0
 * What a scrub asks besides reading: is the space of an extent marked as used, which extents wait to be reclaimed, how
 * much is there to do. On an engine that nobody writes to, or on a moment of one that others do. */
#include "engine/rocks/rocks_int.h"
#include "engine/rocks/segment/segment.h"

bool engine_rocks_extent_published(struct engine *e, const struct extent_ref *extent)
{
	struct rocks *r = rocks_of(e), *writer = r->moment_of ? r->moment_of : r;
	pthread_mutex_lock(&writer->publish_lock);
	bool published = segment_is_published(r->segments, extent);
	pthread_mutex_unlock(&writer->publish_lock);
	return published;
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
	rocksdb_iterator_t *it = rocksdb_create_iterator_cf(r->db, read, r->family[FAMILY_METADATA]);
	enum err err = ERR_OK;
	for (rocksdb_iter_seek(it, from, sizeof from); rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
		size_t key_len, value_len;
		const char *key = rocksdb_iter_key(it, &key_len), *value = rocksdb_iter_value(it, &value_len);
		struct extent_ref extent;
		uint64_t sequence;
		if (layout_retired_decode(slice_make(key, key_len), slice_make(value, value_len), &sequence, &extent) ==
			    ERR_OK &&
		    segment_ref_valid(r->segments, &extent))
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

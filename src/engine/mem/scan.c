/* SPDX-License-Identifier: Apache-2.0
 * One page of a scan: committed rows as of a commit number, merged with the overlay of a group. Called with the lock
 * held. The page is picked first (pointers into the maps), then copied, so a page that does not fit the arena leaves no
 * trace. */
#include "engine/mem/mem_int.h"

struct pick {
	struct slice key; /* without the partition */
	struct slice value;
};

struct merge {
	const struct row_node *row, *over;
	uint64_t commit;
	struct slice end; /* map key, exclusive */
};

/* The next row that is there, in key order; an overlay row hides the committed one. False at the end. */
static bool merge_next(struct merge *m, struct slice *ret_key, struct slice *ret_value)
{
	for (;;) {
		if (m->row && slice_cmp(map_node_key(m->row), m->end) >= 0)
			m->row = NULL;
		if (m->over && slice_cmp(map_node_key(m->over), m->end) >= 0)
			m->over = NULL;
		if (!m->row && !m->over)
			return false;
		int c = !m->over ? -1 : !m->row ? 1 : slice_cmp(map_node_key(m->row), map_node_key(m->over));
		const struct row_node *n = c < 0 ? m->row : m->over;
		const struct version *v = mem_version_at(n, c < 0 ? m->commit : UINT64_MAX);
		if (c <= 0)
			m->row = m->row->next[0];
		if (c >= 0)
			m->over = m->over->next[0];
		if (v) {
			*ret_key = map_node_key(n);
			*ret_value = slice_make(v->bytes, v->len);
			return true;
		}
	}
}

static enum err scan_copy(const struct pick *pick, size_t count, bool keys_only, bool more, struct arena *arena,
			  struct rows *ret)
{
	struct row *row = ARENA_NEW_ARRAY(arena, struct row, count);
	if (!row)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < count; i++) {
		row[i].key = arena_dup(arena, pick[i].key);
		row[i].value = keys_only ? SLICE_NONE : arena_dup(arena, pick[i].value);
		if (!row[i].key.ptr || (!keys_only && !row[i].value.ptr))
			return ERR_NO_MEMORY;
	}
	*ret = (struct rows){ .row = row, .count = count, .more = more };
	return ERR_OK;
}

enum err mem_scan(struct mem *mem, const struct map *overlay, uint64_t commit, struct slice partition,
		  const struct scan_spec *spec, struct arena *arena, struct rows *ret_rows, struct map_key *ret_hi,
		  bool *ret_hi_inclusive)
{
	struct pick pick[LIMIT_SCAN_ROWS];
	struct map_key lo;
	struct slice from = mem_key(&lo, partition, spec->from);
	struct merge m = { .row = map_seek(&mem->rows, from),
			   .over = overlay ? map_seek(overlay, from) : NULL,
			   .commit = commit };
	size_t limit = spec->limit_rows && spec->limit_rows < LIMIT_SCAN_ROWS ? spec->limit_rows : LIMIT_SCAN_ROWS;
	size_t count = 0, bytes = 0;
	bool more = false;
	struct slice key, value;

	m.end = slice_is_set(spec->until) ? mem_key(ret_hi, partition, spec->until)
					  : mem_key_partition_end(ret_hi, partition);
	*ret_hi_inclusive = false;
	while (merge_next(&m, &key, &value)) {
		size_t row_bytes = key.len - partition.len - 1 + (spec->keys_only ? 0 : value.len);
		if (count == limit || (count && bytes + row_bytes > LIMIT_SCAN_BYTES)) {
			more = true;
			memcpy(ret_hi->bytes, key.ptr, key.len);
			ret_hi->len = key.len;
			*ret_hi_inclusive = true;
			break;
		}
		pick[count++] = (struct pick){ slice_from(key, partition.len + 1), value };
		bytes += row_bytes;
	}
	return scan_copy(pick, count, spec->keys_only, more, arena, ret_rows);
}

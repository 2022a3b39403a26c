/* SPDX-License-Identifier: Apache-2.0
 * Rows of entities and the applies on single entities and batches. See entity.h for the layout.
 *
 * A batch is judged first, all of it against the state it found, and put afterwards: operations of one batch never name
 * the same entity, so the order between judging and putting cannot be seen, and a refusal leaves nothing to undo. */
#include "svc/table/entity.h"

#include "base/bytes.h"
#include "svc/common/conditions.h"
#include "svc/common/generation.h"

#include <assert.h>

enum { RECORD_VERSION = 1, ENTITY_HEAD_BYTES = 10, PART_HEAD_BYTES = 9 };

void entity_key(struct key *k, struct slice partition_key, struct slice row_key)
{
	key_init(k);
	key_tag(k, 'e');
	key_str(k, partition_key);
	key_str(k, row_key);
}

bool entity_key_split(struct slice key, struct slice *ret_partition_key, struct slice *ret_row_key, uint64_t *ret_part)
{
	if (!key_take_tag(&key, 'e'))
		return false;
	size_t n = slice_find_byte(key, 1);
	if (n == key.len)
		return false;
	*ret_partition_key = slice_first(key, n);
	key = slice_from(key, n + 1);
	n = slice_find_byte(key, 1);
	if (n == key.len)
		return false;
	*ret_row_key = slice_first(key, n);
	key = slice_from(key, n + 1);
	*ret_part = 0;
	return key.len == 0 || key_take_u64(&key, ret_part);
}

enum err entity_key_check(struct slice key)
{
	for (size_t i = 0; i < key.len; i++) {
		unsigned char c = (unsigned char)key.ptr[i];
		bool bad = c < 0x20 || c == 0x7f || c == '/' || c == '\\' || c == '#' || c == '?';
		/* U+0080..U+009F */
		bad |= c == 0xc2 && i + 1 < key.len && (unsigned char)key.ptr[i + 1] < 0xa0;
		if (bad)
			return ERR_OUT_OF_RANGE_INPUT;
	}
	return edm_utf16_units(key) > ENTITY_KEY_UNITS_MAX ? ERR_PROPERTY_VALUE_TOO_LARGE : ERR_OK;
}

/* Beyond ASCII: what XML lets names be made of, and a first character of. An answer in Atom has names as elements. */
struct name_range {
	uint32_t first, last;
	bool begins;
};
static const struct name_range name_ranges[] = {
	{ 0xb7, 0xb7, false },	   { 0xc0, 0xd6, true },     { 0xd8, 0xf6, true },	 { 0xf8, 0x2ff, true },
	{ 0x300, 0x36f, false },   { 0x370, 0x37d, true },   { 0x37f, 0x1fff, true },	 { 0x200c, 0x200d, true },
	{ 0x203f, 0x2040, false }, { 0x2070, 0x218f, true }, { 0x2c00, 0x2fef, true },	 { 0x3001, 0xd7ff, true },
	{ 0xf900, 0xfdcf, true },  { 0xfdf0, 0xfffd, true }, { 0x10000, 0xeffff, true },
};

static bool name_may_hold(uint32_t c, bool begins)
{
	bool digit = c >= '0' && c <= '9';
	if (c < 0x80)
		return (c | 0x20) - 'a' < 26 || c == '_' || (digit && !begins);
	for (size_t i = 0; i < sizeof name_ranges / sizeof *name_ranges; i++)
		if (c >= name_ranges[i].first && c <= name_ranges[i].last)
			return name_ranges[i].begins || !begins;
	return false;
}

/* One character of UTF-8, which was checked when it was read; *at moves behind it. */
static uint32_t next_character(struct slice s, size_t *at)
{
	unsigned char lead = (unsigned char)s.ptr[(*at)++];
	size_t more = lead < 0xc0 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
	uint32_t c = more ? lead & (0x3fu >> more) : lead;
	while (more-- && *at < s.len)
		c = c << 6 | ((unsigned char)s.ptr[(*at)++] & 0x3f);
	return c;
}

enum err entity_name_check(struct slice name)
{
	if (!name.len)
		return ERR_PROPERTY_NAME_INVALID;
	for (size_t at = 0; at < name.len;) {
		bool begins = at == 0;
		if (!name_may_hold(next_character(name, &at), begins))
			return ERR_PROPERTY_NAME_INVALID;
	}
	return edm_utf16_units(name) > ENTITY_NAME_MAX ? ERR_PROPERTY_NAME_TOO_LONG : ERR_OK;
}

enum err entity_size_check(struct slice partition_key, struct slice row_key, struct slice properties)
{
	enum { ENTITY_OVERHEAD = 4, PROPERTY_OVERHEAD = 8, TEXT_OVERHEAD = 4 };
	size_t count = 0, size = ENTITY_OVERHEAD + 2 * (edm_utf16_units(partition_key) + edm_utf16_units(row_key));
	/* UTF-16 at most doubles the bytes: most entities are far from any limit and need no exact sum. */
	bool small = properties.len < ENTITY_BYTES_MAX / 4;
	struct property_cursor c = property_cursor_make(properties);
	struct property p;
	while (property_next(&c, &p)) {
		count++;
		if (small)
			continue;
		size += PROPERTY_OVERHEAD + 2 * edm_utf16_units(p.name) + edm_value_size(&p.value);
		if (p.value.type == EDM_STRING || p.value.type == EDM_BINARY)
			size += TEXT_OVERHEAD;
	}
	if (c.failed)
		return ERR_CORRUPT;
	if (count > ENTITY_PROPERTIES_MAX)
		return ERR_TOO_MANY_PROPERTIES;
	return size > ENTITY_BYTES_MAX ? ERR_ENTITY_TOO_LARGE : ERR_OK;
}

static int compare_pair(struct slice partition_key, struct slice row_key, struct slice bound_partition_key,
			struct slice bound_row_key)
{
	int order = slice_cmp(partition_key, bound_partition_key);
	return order || !slice_is_set(bound_row_key) ? order : slice_cmp(row_key, bound_row_key);
}

bool entity_bounds_hold(const struct entity_bounds *b, struct slice pk, struct slice rk)
{
	if (slice_is_set(b->start_partition_key) && compare_pair(pk, rk, b->start_partition_key, b->start_row_key) < 0)
		return false;
	return !slice_is_set(b->end_partition_key) || compare_pair(pk, rk, b->end_partition_key, b->end_row_key) <= 0;
}

/* The first row's fixed fields; *ret_piece is what of the properties it holds. */
static enum err entity_head_decode(struct slice record, unsigned *ret_parts, uint64_t *ret_ticks,
				   struct slice *ret_piece)
{
	if (record.len < ENTITY_HEAD_BYTES || record.ptr[0] != RECORD_VERSION ||
	    (unsigned char)record.ptr[1] > ENTITY_PARTS_MAX)
		return ERR_CORRUPT;
	*ret_parts = (unsigned char)record.ptr[1];
	*ret_ticks = bytes_load(record.ptr + 2, 8);
	*ret_piece = slice_from(record, ENTITY_HEAD_BYTES);
	return ERR_OK;
}

static void part_key(struct key *k, struct slice entity_key_bytes, unsigned part)
{
	assert(part > 0 && part <= ENTITY_PARTS_MAX);
	key_init(k);
	memcpy(k->bytes, entity_key_bytes.ptr, entity_key_bytes.len);
	k->len = entity_key_bytes.len;
	key_u64(k, part);
}

static size_t joined_max(unsigned parts)
{
	return (parts + 1) * (size_t)ENTITY_PART_BYTES;
}

/* Joins the pieces of an entity in `all`, which has room for joined_max(parts). */
static enum err join_parts(struct txn *t, struct slice key, unsigned parts, uint64_t ticks, struct slice piece,
			   char *all, struct slice *ret)
{
	if (piece.len > ENTITY_PART_BYTES)
		return ERR_CORRUPT;
	size_t len = piece.len;
	memcpy(all, piece.ptr, piece.len);
	struct key k;
	for (unsigned i = 1; i <= parts; i++) {
		struct arena_position position = arena_position(txn_arena(t));
		struct slice part;
		part_key(&k, key, i);
		enum err e = txn_get(t, key_slice(&k), &part);
		if (e)
			return e == ERR_NOT_FOUND ? ERR_CORRUPT : e;
		if (part.len < PART_HEAD_BYTES || part.len > PART_HEAD_BYTES + ENTITY_PART_BYTES ||
		    part.ptr[0] != RECORD_VERSION || bytes_load(part.ptr + 1, 8) != ticks)
			return ERR_CORRUPT;
		memcpy(all + len, part.ptr + PART_HEAD_BYTES, part.len - PART_HEAD_BYTES);
		len += part.len - PART_HEAD_BYTES;
		arena_rewind(txn_arena(t), position);
	}
	*ret = slice_make(all, len);
	return ERR_OK;
}

enum err entity_read_properties(struct txn *t, struct slice key, struct slice record, uint64_t *ret_ticks,
				struct slice *ret)
{
	unsigned parts;
	struct slice piece;
	TRY(entity_head_decode(record, &parts, ret_ticks, &piece));
	if (!parts) {
		*ret = piece;
		return ERR_OK;
	}
	char *all = arena_alloc(txn_arena(t), joined_max(parts));
	return all ? join_parts(t, key, parts, *ret_ticks, piece, all, ret) : ERR_NO_MEMORY;
}

enum err entity_get_point(struct txn *t, void *call)
{
	struct entity_get *g = call;
	struct slice record;
	unsigned parts;
	g->found = g->in_parts = false;
	enum err e = txn_get(t, g->key, &record);
	if (e)
		return e == ERR_NOT_FOUND ? ERR_OK : e;
	TRY(entity_head_decode(record, &parts, &g->ticks, &g->properties));
	g->found = true;
	g->in_parts = parts != 0;
	return ERR_OK;
}

enum err entity_get_whole(struct txn *t, void *call)
{
	struct entity_get *g = call;
	struct slice record;
	g->found = g->in_parts = false;
	enum err e = txn_get(t, g->key, &record);
	if (e)
		return e == ERR_NOT_FOUND ? ERR_OK : e;
	TRY(entity_read_properties(t, g->key, record, &g->ticks, &g->properties));
	g->found = true;
	return ERR_OK;
}

/* ---- Changes ---- */

/* What stands in `change` replaces what `old` has of that name; the rest of both stays. */
static enum err merge(struct txn *t, struct slice old, struct slice change, struct slice *ret)
{
	struct name_index index = { 0 };
	struct slice names[ENTITY_PROPERTIES_MAX], encoded[ENTITY_PROPERTIES_MAX];
	size_t count = 0, len = 0;
	struct property p;
	struct property_cursor c = property_cursor_make(change);
	while (property_next(&c, &p)) {
		if (count == ENTITY_PROPERTIES_MAX)
			return ERR_TOO_MANY_PROPERTIES;
		names[count] = p.name;
		encoded[count] = p.encoded;
		entity_name_index_add(&index, names, count++);
	}
	/* Exactly what it takes: a hundred of these lie in the arena at once. */
	size_t room = change.len;
	c = property_cursor_make(old);
	while (property_next(&c, &p))
		if (entity_name_index_find(&index, names, p.name) < 0)
			room += p.encoded.len;
	if (c.failed)
		return ERR_CORRUPT;
	char *all = arena_alloc(txn_arena(t), room);
	if (!all)
		return ERR_NO_MEMORY;
	c = property_cursor_make(old);
	while (property_next(&c, &p)) {
		int at = entity_name_index_find(&index, names, p.name);
		struct slice s = at < 0 ? p.encoded : encoded[at];
		memcpy(all + len, s.ptr, s.len);
		len += s.len;
		if (at >= 0)
			encoded[at].len = 0; /* it has its place */
	}
	for (size_t i = 0; i < count; i++) {
		memcpy(all + len, encoded[i].ptr, encoded[i].len);
		len += encoded[i].len;
	}
	*ret = slice_make(all, len);
	return ERR_OK;
}

static bool needs_match(enum entity_action a)
{
	return a == ENTITY_REPLACE || a == ENTITY_MERGE || a == ENTITY_DELETE;
}

static bool is_merge(enum entity_action a)
{
	return a == ENTITY_MERGE || a == ENTITY_INSERT_OR_MERGE;
}

/* Merges into the entity whose first row was read. In a batch the old properties lie in memory that the next merge
 * takes over, and what reading took since `before` is given back: results alone can be all that a commit holds. */
static enum err merge_into(struct txn *t, struct entity_batch *b, struct entity_write *w, struct slice record,
			   struct arena_position before)
{
	unsigned parts;
	uint64_t ticks;
	struct slice old;
	if (b->old) {
		TRY(entity_head_decode(record, &parts, &ticks, &old));
		TRY(join_parts(t, w->key, parts, ticks, old, b->old, &old));
		arena_rewind(txn_arena(t), before);
	} else {
		TRY(entity_read_properties(t, w->key, record, &ticks, &old));
	}
	TRY(merge(t, old, w->properties, &w->result));
	return entity_size_check(w->partition_key, w->row_key, w->result);
}

/* Asks every question of one operation and prepares its result; puts nothing. */
static enum err judge(struct txn *t, struct entity_batch *b, struct entity_write *w)
{
	struct arena_position before = arena_position(txn_arena(t));
	struct slice record;
	uint64_t old_ticks = 0;
	w->result = w->properties;
	w->old_parts = 0;
	w->ticks = 0;
	enum err e = txn_get(t, w->key, &record);
	if (e && e != ERR_NOT_FOUND)
		return e;
	bool exists = e == ERR_OK;
	if (w->action == ENTITY_INSERT && exists)
		return ERR_ENTITY_ALREADY_EXISTS;
	if (needs_match(w->action) && !exists)
		return ERR_RESOURCE_NOT_FOUND;
	if (exists) {
		struct slice piece;
		TRY(entity_head_decode(record, &w->old_parts, &old_ticks, &piece));
		if (needs_match(w->action) && !w->match_any && w->match_ticks != old_ticks)
			return ERR_UPDATE_CONDITION_NOT_SATISFIED;
		if (is_merge(w->action))
			TRY(merge_into(t, b, w, record, before));
		else
			arena_rewind(txn_arena(t), before);
	}
	w->ticks = etag_next(txn_now(t), old_ticks);
	assert(w->ticks > old_ticks); /* an ETag is never given twice */
	return ERR_OK;
}

/* In order, up to the first refusal, whose position is in b->failed. Small merges into many large entities write all of
 * those again; ERR_LIMIT as soon as that is more than a commit holds. */
static enum err judge_all(struct txn *t, struct entity_batch *b)
{
	size_t bytes = 0;
	b->old = NULL;
	for (size_t i = 0; i < b->count; i++) {
		b->failed = i;
		if (!b->old && b->count > 1 && is_merge(b->write[i].action)) {
			b->old = arena_alloc(txn_arena(t), joined_max(ENTITY_PARTS_MAX));
			if (!b->old)
				return ERR_NO_MEMORY;
		}
		TRY(judge(t, b, &b->write[i]));
		bytes += b->write[i].result.len;
		if (bytes > LIMIT_COMMIT_BYTES)
			return ERR_LIMIT;
	}
	return ERR_OK;
}

static size_t piece_bytes(struct slice rest)
{
	return rest.len < ENTITY_PART_BYTES ? rest.len : ENTITY_PART_BYTES;
}

/* `row` has room for the head and the longest piece; txn_put copies it, so it serves for one row after the other. */
static enum err put_rows(struct txn *t, const struct entity_write *w, char *row, unsigned *ret_parts)
{
	struct slice rest = w->result;
	size_t extra = rest.len > ENTITY_PART_BYTES ? rest.len - ENTITY_PART_BYTES : 0;
	unsigned parts = (unsigned)((extra + ENTITY_PART_BYTES - 1) / ENTITY_PART_BYTES);
	assert(parts <= ENTITY_PARTS_MAX);
	size_t piece = piece_bytes(rest);
	row[0] = RECORD_VERSION;
	row[1] = (char)parts;
	bytes_store(row + 2, w->ticks, 8);
	memcpy(row + ENTITY_HEAD_BYTES, rest.ptr, piece);
	TRY(txn_put(t, w->key, slice_make(row, ENTITY_HEAD_BYTES + piece)));
	rest = slice_from(rest, piece);
	struct key k;
	for (unsigned i = 1; i <= parts; i++) {
		piece = piece_bytes(rest);
		bytes_store(row + 1, w->ticks, 8);
		memcpy(row + PART_HEAD_BYTES, rest.ptr, piece);
		part_key(&k, w->key, i);
		TRY(txn_put(t, key_slice(&k), slice_make(row, PART_HEAD_BYTES + piece)));
		rest = slice_from(rest, piece);
	}
	*ret_parts = parts;
	return ERR_OK;
}

static enum err put_all(struct txn *t, const struct entity_write *w, char *row)
{
	unsigned parts = 0;
	if (w->action == ENTITY_DELETE)
		TRY(txn_del(t, w->key));
	else
		TRY(put_rows(t, w, row, &parts));
	struct key k;
	for (unsigned i = parts + 1; i <= w->old_parts; i++) {
		part_key(&k, w->key, i);
		TRY(txn_del(t, key_slice(&k)));
	}
	return ERR_OK;
}

static enum err carry_out(struct txn *t, const struct entity_batch *b)
{
	size_t longest = 0;
	for (size_t i = 0; i < b->count; i++)
		if (piece_bytes(b->write[i].result) > longest)
			longest = piece_bytes(b->write[i].result);
	char *row = arena_alloc(txn_arena(t), ENTITY_HEAD_BYTES + longest);
	if (!row)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < b->count; i++)
		TRY(put_all(t, &b->write[i], row));
	return ERR_OK;
}

/* More than a commit holds: what was sent is not too large then, but what it asks for is. */
static enum err limit_error(enum err e)
{
	return e == ERR_LIMIT ? ERR_REQUEST_BODY_TOO_LARGE : e;
}

/* What a table that is gone answers, by operation. */
static enum err gone_error(const struct entity_write *w)
{
	return needs_match(w->action) ? ERR_RESOURCE_NOT_FOUND : ERR_TABLE_NOT_FOUND;
}

/* Is this an answer to one operation of a batch? All other errors are the machine's (a failing store, no memory,
 * damage) and end the whole. */
static bool is_refusal(enum err e)
{
	switch (e) {
	case ERR_TABLE_NOT_FOUND:
	case ERR_RESOURCE_NOT_FOUND:
	case ERR_ENTITY_ALREADY_EXISTS:
	case ERR_UPDATE_CONDITION_NOT_SATISFIED:
	case ERR_ENTITY_TOO_LARGE:
	case ERR_TOO_MANY_PROPERTIES:
		return true;
	default:
		return false;
	}
}

enum err entity_write_apply(struct txn *t, void *call)
{
	struct entity_batch *b = call;
	assert(b->count > 0 && b->count <= BATCH_OPS_MAX);
	b->failed = 0;
	b->refused = ERR_OK;
	TRY(generation_require(t, gone_error(&b->write[0])));
	enum err e = judge_all(t, b);
	assert(e || b->failed == b->count - 1); /* every operation was judged before the first is carried out */
	return limit_error(e ? e : carry_out(t, b));
}

enum err entity_batch_judge(struct txn *t, void *call)
{
	struct entity_batch *b = call;
	assert(b->count > 0 && b->count <= BATCH_OPS_MAX);
	b->failed = 0;
	b->refused = ERR_OK;
	enum err e = generation_require(t, ERR_TABLE_NOT_FOUND);
	if (!e)
		e = judge_all(t, b);
	if (!is_refusal(e))
		return limit_error(e);
	b->refused = e;
	return ERR_OK;
}

enum err entity_batch_apply(struct txn *t, void *call)
{
	struct entity_batch *b = call;
	TRY(entity_batch_judge(t, call));
	return b->refused ? ERR_OK : limit_error(carry_out(t, b));
}

enum err entity_row_weigh(struct slice key, struct slice value, struct arena *arena, uint64_t *ret_bytes)
{
	*ret_bytes = key.len && key.ptr[0] == 'e' ? key.len + value.len : 0;
	return ERR_OK;
}

static bool row_is_entity(struct slice key, struct slice value, struct arena *arena)
{
	struct slice partition_key, row_key;
	uint64_t part;
	return entity_key_split(key, &partition_key, &row_key, &part) && part == 0;
}

const struct count_rule entity_count_rule = { "e", entity_row_weigh, row_is_entity };

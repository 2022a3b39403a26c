/* SPDX-License-Identifier: Apache-2.0
 * The walk of a scrub: reads every row and every extent that a row names, so that every checksum is verified, and
 * names what is damaged: account, container, blob. Nobody changes the store meanwhile: it is stopped, or a moment of
 * one that runs. */
#include "server/scrub/scrub.h"

#include "store/encrypted.h"
#include "svc/blob/blob.h"
#include "svc/blob/content/manifest.h"
#include "svc/blob/retire.h"

#include <stdlib.h>

enum { PARTITION_PAGE = 256, KEY_PAGE = 512 };

struct keys_call {
	struct slice from;
	size_t limit;
	struct rows rows;
};

static enum err keys_apply(struct txn *txn, void *call)
{
	struct keys_call *k = call;
	struct scan_spec spec = { .from = k->from, .limit_rows = k->limit, .keys_only = true };
	return txn_scan(txn, &spec, &k->rows);
}

struct get_call {
	struct slice key, value;
};

static enum err get_apply(struct txn *txn, void *call)
{
	struct get_call *g = call;
	return txn_get(txn, g->key, &g->value);
}

/* How many bytes they have together. `content` (0: none) is reported under the names of its holders instead of the
 * row's. */
static uint64_t extents_check(struct scrub *s, struct slice key, uint64_t content, const struct extent_ref *refs,
			      size_t count)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < count && s->pause != SCRUB_STOP; i++) {
		const char *what = "its bytes";
		enum err err = ERR_OK;
		bytes += refs[i].length_bytes;
		if (s->hunting) {
			if (!scrub_extent_is_guilty(s, refs[i].id))
				continue;
			what = "its bytes lie where others do, or wait to be reclaimed";
			err = ERR_CORRUPT;
		} else if (!engine_rocks_extent_published(store_engine(s->store), &refs[i])) {
			what = "its bytes lie where space is free";
			err = ERR_CORRUPT;
		} else {
			err = extent_read(s->store, &refs[i], 0, refs[i].length_bytes, s->extent);
			scrub_extent_note(s, &refs[i], false);
			s->extents++;
			s->extent_bytes += refs[i].length_bytes;
		}
		if (err != ERR_OK && content)
			scrub_content_say(s, content, what, err);
		else if (err != ERR_OK)
			scrub_damage_say(s, key, what, err);
		scrub_progress(s, false);
	}
	return bytes;
}

/* Are all bytes of a blob there? Which of the rows below it are damaged is reported where they are walked. */
struct whole_call {
	struct blob blob;
	uint64_t bytes; /* out */
};

static enum err whole_apply(struct txn *txn, void *call)
{
	struct whole_call *w = call;
	struct content *content = &w->blob.content;
	struct arena_position memory = arena_position(txn_arena(txn));
	struct blob_get_call get = { .blob = w->blob, .length = w->blob.length_bytes };
	w->bytes = 0;
	switch (content->kind) {
	case CONTENT_ROW:
		TRY(blob_content_load(txn, content));
		w->bytes = content->inline_bytes.len;
		return ERR_OK;
	case CONTENT_MANIFEST:
		for (uint32_t part = 0; part < content->part_count; part++) {
			struct manifest manifest;
			TRY(blob_manifest_get_part(txn, content->id, part, &manifest));
			for (size_t i = 0; i < manifest.count; i++)
				w->bytes += manifest.block[i].length_bytes;
			arena_rewind(txn_arena(txn), memory);
		}
		return ERR_OK;
	case CONTENT_ROWS:
		w->bytes = w->blob.length_bytes;
		return w->blob.type == BLOB_APPEND && get.length ? blob_append_pieces(txn, &get) : ERR_OK;
	case CONTENT_EMPTY:
		w->bytes = w->blob.type == BLOB_PAGE ? w->blob.length_bytes : 0;
		return ERR_OK;
	case CONTENT_INLINE:
		w->bytes = content->inline_bytes.len;
		return ERR_OK;
	case CONTENT_EXTENTS:
		for (uint32_t i = 0; i < content->extent_count; i++)
			w->bytes += extent_ref_data_bytes(&content->extents[i], w->blob.encryption.has_key);
		return ERR_OK;
	}
	return ERR_CORRUPT;
}

static enum err blob_row_check(struct scrub *s, struct slice key, struct slice value, struct arena *arena)
{
	struct whole_call whole;
	TRY(blob_decode(value, arena, &whole.blob));
	if (whole.blob.content.kind == CONTENT_EXTENTS)
		extents_check(s, key, 0, whole.blob.content.extents, whole.blob.content.extent_count);
	if (s->hunting)
		return ERR_OK;
	enum err err = store_read(s->store, s->partition, whole_apply, &whole, arena);
	if (err != ERR_OK || whole.bytes != whole.blob.length_bytes)
		scrub_damage_say(s, key, "its bytes", err == ERR_OK || err == ERR_CONFLICT ? ERR_CORRUPT : err);
	return ERR_OK;
}

struct part_call {
	struct slice key;
	uint64_t content;
	struct manifest manifest;
	bool leaving; /* being given back */
};

static enum err part_apply(struct txn *txn, void *call)
{
	struct part_call *p = call;
	struct slice rest = slice_from(p->key, 1);
	uint64_t part;
	if (!key_take_u64(&rest, &p->content) || !key_take_u64(&rest, &part))
		return ERR_CORRUPT;
	TRY(blob_manifest_get_part(txn, p->content, (uint32_t)part, &p->manifest));
	return blob_retire_is_queued(txn, p->content, &p->leaving);
}

/* Rows of a container that name bytes elsewhere. */
static enum err container_row_check(struct scrub *s, struct slice key, struct slice value, struct arena *arena)
{
	struct cursor cursor = cursor_make(value);
	struct slice rest = slice_from(key, 1);
	struct block block;
	struct part_call part = { .key = key };
	struct extent_ref *refs;
	uint64_t content = 0;
	uint16_t count;
	switch (key.ptr[0]) {
	case 'b':
	case 'h':
		return blob_row_check(s, key, value, arena);
	case 'p':
		TRY(blob_row_extents_decode(&cursor, arena, &refs, &count));
		if (!key_take_u64(&rest, &content))
			return ERR_CORRUPT;
		extents_check(s, key, content, refs, count);
		return ERR_OK;
	case 'u':
		TRY(blob_block_decode(&cursor, arena, &block));
		extents_check(s, key, 0, block.extents, block.extent_count);
		return ERR_OK;
	case 'f':
		TRY(store_read(s->store, s->partition, part_apply, &part, arena));
		for (size_t i = 0; i < part.manifest.count; i++)
			if (part.manifest.block[i].owned || !part.leaving)
				extents_check(s, key, part.content, part.manifest.block[i].extents,
					      part.manifest.block[i].extent_count);
		return ERR_OK;
	default:
		return ERR_OK;
	}
}

/* A damaged row of a content is its holders' loss. */
static void row_damage_say(struct scrub *s, struct slice key, enum err err)
{
	uint64_t content;
	struct slice rest = key.len ? slice_from(key, 1) : key;
	if (s->kind == 'c' && key.len && strchr("dfp", key.ptr[0]) && key_take_u64(&rest, &content))
		scrub_content_say(s, content, "its bytes", err);
	else
		scrub_damage_say(s, key, "its record", err);
}

static void row_check(struct scrub *s, struct slice key)
{
	struct arena arena;
	struct get_call get = { .key = key };
	arena_init(&arena, LIMIT_REQUEST_ARENA_BYTES);
	enum err err = store_read(s->store, s->partition, get_apply, &get, &arena);
	s->rows += !s->hunting;
	s->row_bytes += key.len + (err == ERR_OK ? get.value.len : 0);
	if (err == ERR_OK && s->kind == 'c' && key.len)
		err = container_row_check(s, key, get.value, &arena);
	else if (err == ERR_OK && s->kind == 's' && key.len)
		err = scrub_share_row(s, key, get.value, &arena);
	if (err != ERR_OK && s->kind == 's')
		scrub_share_damage_say(s, key, err);
	else if (err != ERR_OK)
		row_damage_say(s, key, err);
	arena_fini(&arena);
	scrub_progress(s, false);
}

/* One page of keys from `next` on. */
static enum err keys_read(struct scrub *s, const struct key *next, size_t limit, struct arena *arena,
			  struct keys_call *ret)
{
	*ret = (struct keys_call){ .from = key_slice(next), .limit = limit };
	return store_read(s->store, s->partition, keys_apply, ret, arena);
}

static bool keys_readable_from(struct scrub *s, const struct key *from)
{
	struct arena arena;
	struct keys_call keys;
	arena_init(&arena, LIMIT_REQUEST_ARENA_BYTES);
	enum err err = keys_read(s, from, 1, &arena, &keys);
	arena_fini(&arena);
	return err == ERR_OK;
}

/* The index cannot be read at `next`: a block of it is damaged. Looks for a later key from which it can, jumping over
 * ever more of the order: first the keys that share all but the last byte, then all but the last two... */
static bool gap_skip(struct scrub *s, struct key *next)
{
	struct key probe;
	size_t len = next->len;
	for (size_t l = len; l > 0; l--) {
		key_init(&probe);
		memcpy(probe.bytes, next->bytes, l);
		probe.len = l;
		for (unsigned v = (unsigned char)next->bytes[l - 1] + 1u;
		     v <= (l == 1 ? 255u : (unsigned char)next->bytes[l - 1] + 1u) && v <= 255u; v++) {
			probe.bytes[l - 1] = (char)v;
			if (keys_readable_from(s, &probe)) {
				*next = probe;
				return true;
			}
		}
	}
	return false;
}

/* Checks a page of keys and moves `next` behind it, or behind the last key that was looked at. */
static void page_check(struct scrub *s, const struct rows *rows, struct key *next)
{
	for (size_t i = 0; i < rows->count && s->pause == SCRUB_GO; i++) {
		row_check(s, rows->row[i].key);
		key_after(next, rows->row[i].key);
	}
}

/* From the key on; that is where it ended if it comes back with a pause. */
static void partition_check(struct scrub *s, struct key *next)
{
	struct keys_call keys;
	size_t limit = KEY_PAGE;
	bool more = true;
	while (more && s->pause == SCRUB_GO) {
		struct arena arena;
		arena_init(&arena, LIMIT_REQUEST_ARENA_BYTES);
		enum err err = keys_read(s, next, limit, &arena, &keys);
		if (err != ERR_OK && limit > 1) {
			limit = 1; /* as near to the damage as possible */
		} else if (err != ERR_OK) {
			scrub_damage_say(s, key_slice(next), "the index behind this", err);
			more = gap_skip(s, next);
			limit = KEY_PAGE;
		} else {
			page_check(s, &keys.rows, next);
			more = keys.rows.more;
		}
		arena_fini(&arena);
	}
}

struct partition_list {
	struct arena arena;
	struct slice *id;
	size_t count;
};

static enum err partitions_page(struct scrub *s, struct partition_list *l, const struct key *from, size_t limit,
				size_t *ret_count)
{
	struct slice *page;
	TRY(store_list_partitions(s->store, key_slice(from), limit, &l->arena, &page, ret_count));
	struct slice *more = realloc(l->id, (l->count + *ret_count + 1) * sizeof *more);
	if (!more)
		return ERR_NO_MEMORY;
	l->id = more;
	memcpy(l->id + l->count, page, *ret_count * sizeof *page);
	l->count += *ret_count;
	return ERR_OK;
}

/* As gap_skip, between partitions. */
static bool partitions_gap_skip(struct scrub *s, struct partition_list *l, struct key *next)
{
	for (size_t len = next->len; len > 0; len--) {
		struct key probe = *next;
		struct slice *page;
		size_t count;
		probe.len = len;
		for (unsigned v = (unsigned char)next->bytes[len - 1] + 1u; v <= 255; v++) {
			probe.bytes[len - 1] = (char)v;
			if (store_list_partitions(s->store, key_slice(&probe), 1, &l->arena, &page, &count) == ERR_OK) {
				*next = probe;
				return true;
			}
		}
	}
	return false;
}

/* All partition ids at once, from where the last walk ended: they are short, and the work behind each is what takes the
 * time. */
static enum err partitions_list(struct scrub *s, struct partition_list *l)
{
	struct key next = s->at_partition;
	size_t count = 0, limit = PARTITION_PAGE;
	if (!next.len) {
		key_init(&next);
		key_tag(&next, 1);
	}
	do {
		enum err err = partitions_page(s, l, &next, limit, &count);
		if (err == ERR_NO_MEMORY)
			return err;
		if (err != ERR_OK && limit > 1) {
			limit = 1; /* as near to the damage as possible */
			count = limit;
		} else if (err != ERR_OK) {
			scrub_line_say(s, "the list of containers, queues and tables: a part of it cannot be read");
			if (!partitions_gap_skip(s, l, &next))
				return ERR_OK;
			count = limit;
		} else if (count) {
			key_after(&next, l->id[l->count - 1]);
		}
	} while (count == limit);
	return ERR_OK;
}

static void partitions_check(struct scrub *s, const struct partition_list *l)
{
	struct key first, next;
	key_init(&first);
	key_tag(&first, 1);
	for (size_t i = 0; i < l->count && s->pause == SCRUB_GO; i++) {
		next = first;
		scrub_partition_begin(s, l->id[i]);
		if (slice_eq(l->id[i], key_slice(&s->at_partition))) {
			next = s->at_key;
			s->in_part = true;
		} else if (!s->hunting) {
			s->partitions++;
		}
		partition_check(s, &next);
		if (s->pause == SCRUB_LATER) {
			s->at_partition.len = l->id[i].len;
			memcpy(s->at_partition.bytes, l->id[i].ptr, l->id[i].len);
			s->at_key = next;
		}
	}
}

static enum err list_and_check(struct scrub *s)
{
	struct partition_list list = { .id = NULL };
	arena_init(&list.arena, 4 * GIB);
	enum err err = partitions_list(s, &list);
	if (err == ERR_OK)
		partitions_check(s, &list);
	free(list.id);
	arena_fini(&list.arena);
	return err;
}

enum err scrub_walk(struct scrub *s)
{
	s->pause = SCRUB_GO;
	return list_and_check(s);
}

enum err scrub_walk_space(struct scrub *s)
{
	s->at_partition.len = 0;
	s->hunting = scrub_space_check(s);
	return s->hunting ? list_and_check(s) : ERR_OK;
}

void scrub_fini(struct scrub *s)
{
	free(s->extent);
	free(s->named);
	free(s->guilty);
	free(s->said);
}

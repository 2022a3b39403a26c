/* SPDX-License-Identifier: Apache-2.0
 * `zaffre scrub`: reads every row and every extent that a row names, so that every checksum is verified, and names what
 * is damaged: account, container, blob. Writes nothing but what opening the store writes. Exit status 0: clean. */
#include "server/accounts.h"
#include "server/datadir.h"
#include "server/serve.h"

#include "base/bytes.h"
#include "base/limits.h"
#include "engine/rocks/rocks.h"
#include "store/extent.h"
#include "store/key.h"
#include "svc/account/resource.h"
#include "svc/blob/manifest.h"
#include "svc/blob/record.h"

#include <unistd.h>

enum { PARTITION_PAGE = 256, KEY_PAGE = 512, NAME_PAGE = 500 };

struct scrub {
	struct store *store;
	unsigned char *extent; /* LIMIT_EXTENT_BYTES */
	uint64_t rows, extents, extent_bytes, damaged, partitions;
	bool terminal;
	/* the partition at hand */
	struct slice partition;
	char kind;
	uint64_t generation;
	char account[64];
	struct slice account_name;
	char place[256]; /* account/container */
};

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

/* What the row is to a user: a blob's name where the key has one, else its kind and bytes. */
static void row_describe(struct slice key, struct buf *out)
{
	char name[LIMIT_KEY_BYTES];
	struct slice rest = slice_from(key, 1), found;
	if (key.len && strchr("bhUu", key.ptr[0]) && key_take_str(&rest, name, sizeof name, &found)) {
		buf_printf(out, "%.*s%s", SLICE_FMT(found),
			   key.ptr[0] == 'h'   ? " (snapshot or version)"
			   : key.ptr[0] == 'b' ? ""
					       : " (uncommitted block)");
		return;
	}
	BUF_PUT(out, "row ");
	for (size_t i = 0; i < key.len && i < 64; i++)
		buf_printf(out, key.ptr[i] >= 0x21 && key.ptr[i] < 0x7f ? "%c" : "\\x%02x", (unsigned char)key.ptr[i]);
}

static void damage_say(struct scrub *s, struct slice key, const char *what, enum err err)
{
	struct buf line;
	buf_init(&line, 16 * KIB);
	row_describe(key, &line);
	if (s->terminal)
		fprintf(stderr, "\r\033[K");
	printf("damaged: %s/%.*s: %s (%s)\n", s->place, SLICE_FMT(buf_slice(&line)), what, err_name(err));
	buf_fini(&line);
	s->damaged++;
}

static void extents_check(struct scrub *s, struct slice key, const struct extent_ref *refs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		enum err err = refs[i].length_bytes > LIMIT_EXTENT_BYTES
				       ? ERR_CORRUPT
				       : extent_read(s->store, &refs[i], 0, refs[i].length_bytes, s->extent);
		s->extents++;
		s->extent_bytes += refs[i].length_bytes;
		if (err != ERR_OK)
			damage_say(s, key, "its bytes", err);
	}
}

struct part_call {
	struct slice key;
	struct manifest manifest;
};

static enum err part_apply(struct txn *txn, void *call)
{
	struct part_call *p = call;
	struct slice rest = p->key;
	uint64_t content, part;
	if (!key_take_tag(&rest, 'f') || !key_take_u64(&rest, &content) || !key_take_u64(&rest, &part))
		return ERR_CORRUPT;
	return manifest_get_part(txn, content, (uint32_t)part, &p->manifest);
}

static enum err content_apply(struct txn *txn, void *call)
{
	return content_load(txn, call);
}

/* Rows of a container that name bytes elsewhere. */
static enum err row_extents_check(struct scrub *s, struct slice key, struct slice value, struct arena *arena)
{
	struct cursor cursor = cursor_make(value);
	struct blob blob;
	struct block block;
	struct part_call part = { .key = key };
	struct extent_ref *refs;
	uint16_t count;
	switch (key.ptr[0]) {
	case 'b':
	case 'h':
		TRY(blob_decode(value, arena, &blob));
		if (blob.content.kind == CONTENT_ROW &&
		    store_read(s->store, s->partition, content_apply, &blob.content, arena) != ERR_OK)
			damage_say(s, key, "its bytes", ERR_CORRUPT);
		if (blob.content.kind == CONTENT_EXTENTS)
			extents_check(s, key, blob.content.extents, blob.content.extent_count);
		return ERR_OK;
	case 'p':
		TRY(row_extents_decode(&cursor, arena, &refs, &count));
		extents_check(s, key, refs, count);
		return ERR_OK;
	case 'u':
		TRY(block_decode(&cursor, arena, &block));
		extents_check(s, key, block.extents, block.extent_count);
		return ERR_OK;
	case 'f':
		TRY(store_read(s->store, s->partition, part_apply, &part, arena));
		for (size_t i = 0; i < part.manifest.count; i++)
			extents_check(s, key, part.manifest.block[i].extents, part.manifest.block[i].extent_count);
		return ERR_OK;
	default:
		return ERR_OK;
	}
}

static void row_check(struct scrub *s, struct slice key)
{
	struct arena arena;
	struct get_call get = { .key = key };
	arena_init(&arena, LIMIT_REQUEST_ARENA_BYTES);
	enum err err = store_read(s->store, s->partition, get_apply, &get, &arena);
	s->rows++;
	if (err == ERR_OK && s->kind == 'c' && key.len)
		err = row_extents_check(s, key, get.value, &arena);
	if (err != ERR_OK)
		damage_say(s, key, "its record", err);
	arena_fini(&arena);
}

static void progress_show(struct scrub *s, size_t done, size_t total)
{
	static const char bar[] = "########################################";
	if (!s->terminal)
		return;
	int filled = total ? (int)(done * (sizeof bar - 1) / total) : 0;
	fprintf(stderr, "\r[%-40.*s] %zu of %zu partitions, %llu rows, %.1f MiB in extents, %llu damaged\033[K", filled,
		bar, done, total, (unsigned long long)s->rows, (double)s->extent_bytes / (1024.0 * 1024.0),
		(unsigned long long)s->damaged);
}

struct name_call {
	char kind;
	uint64_t generation;
	struct slice name;
};

static enum err name_apply(struct txn *txn, void *call)
{
	struct name_call *n = call;
	struct slice from = SLICE_NONE;
	n->name = SLICE_NONE;
	do {
		struct resource_page page;
		TRY(resource_list(txn, n->kind, SLICE(""), from, NAME_PAGE, &page));
		for (size_t i = 0; i < page.count; i++)
			if (page.resource[i].generation == n->generation)
				n->name = page.resource[i].name;
		from = page.next_name;
	} while (slice_is_set(from) && !slice_is_set(n->name));
	return ERR_OK;
}

/* The words for the partition. A generation without a name is one that was deleted and is not emptied yet. */
static void place_find(struct scrub *s)
{
	struct arena arena;
	struct slice rest = s->partition;
	s->kind = 0;
	s->generation = 0;
	if (s->partition.len > sizeof s->account ||
	    !key_take_str(&rest, s->account, sizeof s->account, &s->account_name) || rest.len == 0) {
		snprintf(s->place, sizeof s->place, "(an unknown partition)");
		return;
	}
	s->kind = rest.ptr[0];
	rest = slice_from(rest, 1);
	if (s->kind == 'a' || !key_take_u64(&rest, &s->generation)) {
		snprintf(s->place, sizeof s->place, "%.*s", SLICE_FMT(s->account_name));
		return;
	}
	arena_init(&arena, LIMIT_REQUEST_ARENA_BYTES);
	struct name_call call = { .kind = s->kind, .generation = s->generation };
	struct slice partition = resource_account_partition(&arena, s->account_name);
	if (store_read(s->store, partition, name_apply, &call, &arena) == ERR_OK && slice_is_set(call.name))
		snprintf(s->place, sizeof s->place, "%.*s/%.*s", SLICE_FMT(s->account_name), SLICE_FMT(call.name));
	else
		snprintf(s->place, sizeof s->place, "%.*s/(deleted %c%llx)", SLICE_FMT(s->account_name), s->kind,
			 (unsigned long long)s->generation);
	arena_fini(&arena);
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

static void partition_check(struct scrub *s, size_t done, size_t total)
{
	struct key next;
	struct keys_call keys;
	size_t limit = KEY_PAGE;
	bool more = true;
	key_init(&next);
	key_tag(&next, 1);
	place_find(s);
	while (more) {
		struct arena arena;
		arena_init(&arena, LIMIT_REQUEST_ARENA_BYTES);
		enum err err = keys_read(s, &next, limit, &arena, &keys);
		if (err != ERR_OK && limit > 1) {
			limit = 1; /* as near to the damage as possible */
		} else if (err != ERR_OK) {
			damage_say(s, key_slice(&next), "the index behind this", err);
			more = gap_skip(s, &next);
			limit = KEY_PAGE;
		} else {
			for (size_t i = 0; i < keys.rows.count; i++)
				row_check(s, keys.rows.row[i].key);
			more = keys.rows.more;
			if (more)
				key_after(&next, keys.rows.row[keys.rows.count - 1].key);
		}
		progress_show(s, done, total);
		arena_fini(&arena);
	}
}

/* All partition ids at once: they are short, and the work behind each is what takes the time. */
static enum err partitions_check(struct scrub *s)
{
	struct arena arena;
	struct engine *engine = store_engine(s->store);
	struct key next;
	struct slice *page, *all = NULL;
	size_t count, total = 0;
	enum err err;
	arena_init(&arena, 4 * GIB);
	key_init(&next);
	do {
		err = engine->ops->list_partitions(engine, key_slice(&next), PARTITION_PAGE, &arena, &page, &count);
		if (err != ERR_OK || count == 0)
			break;
		struct slice *more = realloc(all, (total + count) * sizeof *all);
		if (!more) {
			err = ERR_NO_MEMORY;
			break;
		}
		all = more;
		memcpy(all + total, page, count * sizeof *all);
		total += count;
		key_after(&next, page[count - 1]);
	} while (count == PARTITION_PAGE);
	for (size_t i = 0; i < total; i++) {
		s->partition = all[i];
		partition_check(s, i, total);
	}
	s->partitions = total;
	progress_show(s, total, total);
	free(all);
	arena_fini(&arena);
	return err;
}

int scrub_main(const struct config *config)
{
	struct datadir data;
	struct buf error;
	struct engine *engine;
	struct clock clock;
	struct scrub s = { .terminal = isatty(STDERR_FILENO) };
	int status = 1;
	buf_init(&error, 64 * KIB);
	clock_init_wall(&clock, NULL);
	if (!datadir_open(&data, config->location, false, &error)) /* zeroes `data` first */
		goto out;
	struct rocks_options rocks = { .dir = data.path };
	if (engine_rocks_open(&rocks, &engine, &error) != ERR_OK)
		goto out;
	struct store_options options = { .clock = &clock, .cache_off = true };
	enum err err = store_open(engine, &options, &s.store);
	if (err != ERR_OK) {
		buf_printf(&error, "cannot open the store in %s: %s", data.path, err_name(err));
		engine->ops->close(engine);
		goto out;
	}
	s.extent = malloc(LIMIT_EXTENT_BYTES);
	err = s.extent ? partitions_check(&s) : ERR_NO_MEMORY;
	if (s.terminal)
		fprintf(stderr, "\n");
	if (err != ERR_OK)
		buf_printf(&error, "the list of partitions cannot be read: %s", err_name(err));
	printf("%llu partitions, %llu rows, %llu extents with %llu bytes: %llu damaged\n",
	       (unsigned long long)s.partitions, (unsigned long long)s.rows, (unsigned long long)s.extents,
	       (unsigned long long)s.extent_bytes, (unsigned long long)s.damaged);
	status = s.damaged || err != ERR_OK ? EXIT_DAMAGE : 0;
out:
	if (error.len)
		say_error(buf_slice(&error));
	free(s.extent);
	store_close(s.store);
	datadir_close(&data);
	buf_fini(&error);
	return status;
}

/* SPDX-License-Identifier: Apache-2.0
 * For tests of shares: a store on the mem engine and one share in it. Behind cmocka.h. */
#ifndef TEST_UNIT_SVC_FILE_BENCH_H
#define TEST_UNIT_SVC_FILE_BENCH_H

#include "base/limits.h"
#include "engine/mem/mem.h"
#include "store/extent.h"
#include "svc/file/file.h"
#include "svc/file/open.h"
#include "svc/file/share.h"

#define BENCH_NOON (UINT64_C(639000000000000000))

struct bench {
	struct clock clock;
	struct engine *engine;
	struct store *store;
	struct arena arena;
	struct rng rng;
	char partition_bytes[64];
	struct slice partition;
	struct file_breaks breaks;
};

static inline uint64_t pick(struct bench *b, uint64_t bound)
{
	return rng_below(&b->rng, bound);
}

static inline enum err run(struct bench *b, apply_fn *apply, void *call)
{
	clock_fake_advance(&b->clock, 10);
	return store_write_wait(b->store, b->partition, apply, call, &b->arena);
}

static inline enum err look(struct bench *b, apply_fn *apply, void *call)
{
	return store_read(b->store, b->partition, apply, call, &b->arena);
}

static inline void expect(struct bench *b, apply_fn *apply, void *call, enum err wanted)
{
	enum err e = run(b, apply, call);
	if (e != wanted)
		fail_msg("%s wanted, got %s", err_name(wanted), err_name(e));
}

static inline void bench_open(struct bench *b, uint64_t seed, const struct mem_options *options)
{
	struct store_options so = { .clock = &b->clock };
	struct share_create create;
	struct key k;
	memset(b, 0, sizeof *b);
	clock_init_fake(&b->clock, BENCH_NOON);
	rng_init_seed(&b->rng, seed);
	arena_init(&b->arena, LIMIT_REQUEST_ARENA_BYTES);
	assert_int_equal(engine_mem_open(options, &b->engine), ERR_OK);
	assert_int_equal(store_open(b->engine, &so, &b->store), ERR_OK);
	key_partition(&k, SLICE("acc"), RESOURCE_SHARE, 7);
	assert_true(k.len <= sizeof b->partition_bytes);
	memcpy(b->partition_bytes, k.bytes, k.len);
	b->partition = slice_make(b->partition_bytes, k.len);
	share_create_init(&create, SLICE("share"), 7);
	create.base.reserved = true;
	expect(b, share_create_open, &create, ERR_OK);
	arena_reset(&b->arena);
}

static inline void bench_close(struct bench *b)
{
	store_close(b->store);
	arena_fini(&b->arena);
}

/* A path by its text, as a target of a kind. Lives until the arena is reset. */
static inline struct file_target target_of(struct bench *b, const char *path, enum file_kind kind)
{
	struct file_target t = { .kind = kind, .breaks = &b->breaks };
	assert_int_equal(
		file_path_split(&b->arena, slice_str(path), (struct file_path_rules){ false, false }, &t.place.path),
		ERR_OK);
	return t;
}

static inline struct payload payload_of(struct bench *b, const void *bytes, size_t length, bool only_extents)
{
	struct payload_writer *w;
	struct payload p;
	assert_int_equal(payload_writer_new(b->store, length, &w), ERR_OK);
	if (only_extents)
		payload_writer_only_extents(w);
	assert_int_equal(payload_append(w, slice_make(bytes, length)), ERR_OK);
	assert_int_equal(payload_finish(w, &p), ERR_OK);
	return p;
}

static inline enum err bench_create(struct bench *b, const char *path, enum file_kind kind, uint64_t size)
{
	struct file_create_call c = { .target = target_of(b, path, kind), .size_bytes = size };
	return run(b, file_apply_create, &c);
}

static inline enum err bench_write(struct bench *b, const char *path, uint64_t offset, const void *bytes, size_t length)
{
	struct payload p = payload_of(b, bytes, length, false);
	struct file_write_call c = {
		.target = target_of(b, path, FILE_KIND_FILE), .offset = offset, .length = length, .payload = &p
	};
	enum err e = run(b, file_apply_write, &c);
	if (e != ERR_OK)
		payload_abandon(b->store, &p);
	payload_fini(&p);
	return e;
}

static inline void read_pieces(struct bench *b, const struct file_pieces *pieces, unsigned char *dst)
{
	for (size_t i = 0; i < pieces->count; i++) {
		const struct file_piece *p = &pieces->piece[i];
		if (p->extent.length_bytes)
			assert_int_equal(extent_read(b->store, &p->extent, p->offset, (uint32_t)p->length_bytes, dst),
					 ERR_OK);
		else if (slice_is_set(p->bytes))
			memcpy(dst, p->bytes.ptr, p->length_bytes);
		else
			memset(dst, 0, p->length_bytes);
		dst += p->length_bytes;
	}
}

/* Everything the background has to do. */
static inline void bench_settle(struct bench *b)
{
	bool more = true;
	for (int i = 0; more; i++) {
		assert_true(i < 100000);
		assert_int_equal(file_round(b->store, b->partition, &more), ERR_OK);
	}
}

/* The rows of a kind that there are. */
struct row_count {
	char tag;
	size_t count;
};
static inline enum err apply_count(struct txn *txn, void *call)
{
	struct row_count *c = call;
	struct key from, until;
	struct rows rows = { .more = true };
	key_init(&from);
	key_tag(&from, c->tag);
	until = from;
	key_prefix_end(&until);
	c->count = 0;
	while (rows.more) {
		struct scan_spec spec = { .from = key_slice(&from), .until = key_slice(&until), .keys_only = true };
		struct arena_position position = arena_position(txn_arena(txn));
		enum err e = txn_scan(txn, &spec, &rows);
		if (e != ERR_OK)
			return e;
		c->count += rows.count;
		if (rows.count)
			key_after(&from, rows.row[rows.count - 1].key);
		arena_rewind(txn_arena(txn), position);
	}
	return ERR_OK;
}
static inline size_t rows_of(struct bench *b, char tag)
{
	struct row_count c = { .tag = tag };
	assert_int_equal(look(b, apply_count, &c), ERR_OK);
	return c.count;
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * For tests of what happens in a container: a store on the mem engine, and a generation in it. Behind cmocka.h. */
#ifndef TEST_UNIT_SVC_CONTAINER_H
#define TEST_UNIT_SVC_CONTAINER_H

#include "engine/mem/mem.h"
#include "store/key.h"
#include "svc/common/generation.h"

enum { CONTAINER_PARTITION_BYTES = 64 };

static inline void mem_store_open(const struct mem_options *options, struct clock *clock, struct engine **ret_engine,
				  struct store **ret_store)
{
	struct store_options so = { .clock = clock };
	assert_int_equal(engine_mem_open(options, ret_engine), ERR_OK);
	assert_int_equal(store_open(*ret_engine, &so, ret_store), ERR_OK);
}

static inline struct slice container_partition(char bytes[CONTAINER_PARTITION_BYTES])
{
	struct key k;
	key_partition(&k, SLICE("acc"), 'c', 7);
	assert_true(k.len <= CONTAINER_PARTITION_BYTES);
	memcpy(bytes, k.bytes, k.len);
	return slice_make(bytes, k.len);
}

static inline enum err open_generation(struct txn *txn, void *call)
{
	(void)call;
	return generation_open(txn);
}

/* All of it, for tests that need one container and write to it as the background does. */
struct container {
	struct clock clock;
	struct engine *engine;
	struct store *store;
	struct arena arena; /* of the call under way */
	char partition_bytes[CONTAINER_PARTITION_BYTES];
	struct slice partition;
};

static inline void container_run(struct container *c, apply_fn *apply, void *call)
{
	assert_int_equal(store_write_wait(c->store, c->partition, apply, call, &c->arena), ERR_OK);
	arena_reset(&c->arena);
}

static inline void container_open(struct container *c)
{
	struct mem_options options = { .seed = 1 };
	clock_init_fake(&c->clock, UINT64_C(639000000000000000));
	arena_init(&c->arena, LIMIT_REQUEST_ARENA_BYTES);
	mem_store_open(&options, &c->clock, &c->engine, &c->store);
	c->partition = container_partition(c->partition_bytes);
	container_run(c, open_generation, NULL);
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * The destination of a copy, as long as it is pending and after: what it refuses, and what an abort leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "container.h"
#include "engine/mem/mem.h"
#include "store/key.h"
#include "svc/blob/content/append.h"
#include "svc/blob/content/block_list.h"
#include "svc/blob/content/page.h"
#include "svc/blob/copy.h"
#include "svc/blob/state.h"
#include "svc/blob/tags_ops.h"
#include "svc/common/generation.h"

#define NOON (UINT64_C(639000000000000000))

enum { LENGTH = 4 * PAGE_BYTES };

struct bench {
	struct clock clock;
	struct engine *engine;
	struct store *store;
	struct arena arena;
	struct key partition;
	struct blob_target target;
	struct blob_copy_call copy;
};

static enum err run(struct bench *b, apply_fn *apply, void *call)
{
	return store_write_wait(b->store, key_slice(&b->partition), apply, call, &b->arena);
}

/* A container with a blob that a copy of this type is under way to. */
static void bench_open(struct bench *b, enum blob_type type)
{
	struct mem_options options = { .seed = 1 };
	*b = (struct bench){ .target = { .name = SLICE("copy") } };
	clock_init_fake(&b->clock, NOON);
	arena_init(&b->arena, 64 * MIB);
	mem_store_open(&options, &b->clock, &b->engine, &b->store);
	key_partition(&b->partition, SLICE("acc"), 'c', 7);
	assert_int_equal(run(b, open_generation, NULL), ERR_OK);
	b->copy = (struct blob_copy_call){ .put = { .target = b->target,
						    .type = type,
						    .content_id = 1,
						    .page_length_bytes = LENGTH,
						    .may_overwrite = true },
					   .copy = { .status = COPY_PENDING,
						     .id = { .bytes = { 1 } },
						     .source = SLICE("http://source"),
						     .total_bytes = LENGTH },
					   .unmet_error = ERR_CONDITION_NOT_MET };
	assert_int_equal(run(b, blob_apply_copy, &b->copy), ERR_OK);
}

static void bench_close(struct bench *b)
{
	store_close(b->store);
	arena_fini(&b->arena);
}

static struct blob look(struct bench *b)
{
	struct blob_get_call g = { .target = b->target };
	assert_int_equal(store_read(b->store, key_slice(&b->partition), blob_apply_get, &g, &b->arena), ERR_OK);
	return g.blob;
}

/* Every operation that changes a blob of this type, or keeps it. */
static void all_refuse(struct bench *b, enum blob_type type, enum err with)
{
	struct blob_put_call put = { .target = b->target, .type = type, .content_id = 2, .may_overwrite = true };
	struct blob_modify_call modify = { .target = b->target, .resize = type == BLOB_PAGE };
	struct blob_state_call state = { .target = b->target, .tier = TIER_COOL, .mode = IMMUTABLE_UNLOCKED };
	struct blob_snapshot_call snapshot = { .target = b->target };
	struct blob_tags_call tags = { .target = b->target };
	struct blob_put_block_call block = { .target = b->target, .block_id = SLICE("id"), .stage_id = 3 };
	struct blob_put_block_list_call list = { .put = put };
	struct blob_append_call append = { .target = b->target };
	struct blob_put_page_call clear = { .target = b->target, .clear = true, .length = PAGE_BYTES };
	uint64_t etag = look(b).etag;
	assert_int_equal(run(b, blob_apply_put, &put), with);
	assert_int_equal(run(b, blob_apply_put_block, &block), with);
	assert_int_equal(run(b, blob_apply_set_properties, &modify), with);
	assert_int_equal(run(b, blob_apply_set_metadata, &modify), with);
	for (int action = LEASE_ACTION_ACQUIRE; action <= LEASE_ACTION_BREAK; action++) {
		modify.lease = (struct lease_request){ .action = (enum lease_action)action, .duration_s = 15 };
		if (with == ERR_PENDING_COPY_OPERATION) /* what an incremental copy made may be leased and tagged */
			assert_int_equal(run(b, blob_apply_lease, &modify), with);
	}
	assert_int_equal(run(b, blob_apply_set_tier, &state), with);
	assert_int_equal(run(b, blob_apply_set_immutability, &state), with);
	assert_int_equal(run(b, blob_apply_delete_immutability, &state), with);
	assert_int_equal(run(b, blob_apply_set_legal_hold, &state), with);
	assert_int_equal(run(b, blob_apply_snapshot, &snapshot), with);
	if (with == ERR_PENDING_COPY_OPERATION)
		assert_int_equal(run(b, blob_apply_set_tags, &tags), with);
	if (type == BLOB_BLOCK)
		assert_int_equal(run(b, blob_apply_put_block_list, &list), with);
	if (type == BLOB_PAGE)
		assert_int_equal(run(b, blob_apply_put_page, &clear), with);
	if (type == BLOB_APPEND) {
		assert_int_equal(run(b, blob_apply_append, &append), with);
		assert_int_equal(run(b, blob_apply_seal, &append), with);
	}
	assert_int_equal(look(b).etag, etag);
}

static void test_pending(void **state)
{
	for (int type = BLOB_BLOCK; type <= BLOB_APPEND; type++) {
		struct bench b;
		bench_open(&b, (enum blob_type)type);
		all_refuse(&b, (enum blob_type)type, ERR_PENDING_COPY_OPERATION);
		assert_int_equal(run(&b, blob_apply_copy, &b.copy), ERR_PENDING_COPY_OPERATION);
		/* A worker that is silent for long is gone, and the blob is free. */
		clock_fake_advance(&b.clock, 2 * BLOB_COPY_SILENCE_SECONDS * TICKS_PER_SECOND);
		struct blob_modify_call modify = { .target = b.target };
		assert_int_equal(run(&b, blob_apply_set_metadata, &modify), ERR_OK);
		bench_close(&b);
	}
}

/* A blob of no length, that can be written again. */
static void test_aborted(void **state)
{
	for (int type = BLOB_BLOCK; type <= BLOB_APPEND; type++) {
		struct bench b;
		bench_open(&b, (enum blob_type)type);
		assert_int_equal(look(&b).length_bytes, type == BLOB_PAGE ? LENGTH : 0);
		struct blob_abort_copy_call abort = { .target = b.target, .id = b.copy.copy.id, .content_id = 5 };
		assert_int_equal(run(&b, blob_apply_abort_copy, &abort), ERR_OK);
		struct blob left = look(&b);
		assert_int_equal(left.copy.status, COPY_ABORTED);
		assert_int_equal(left.type, type);
		assert_int_equal(left.length_bytes, 0);
		struct blob_modify_call modify = { .target = b.target,
						   .resize = type == BLOB_PAGE,
						   .length_bytes = LENGTH };
		assert_int_equal(run(&b, blob_apply_set_properties, &modify), ERR_OK);
		bench_close(&b);
	}
}

static void test_incremental(void **state)
{
	struct bench b;
	bench_open(&b, BLOB_PAGE);
	struct blob_delete_call gone = { .target = b.target, .snapshots = DELETE_SNAPSHOTS_INCLUDE };
	assert_int_equal(run(&b, blob_apply_delete, &gone), ERR_OK);
	b.copy.incremental = b.copy.copy.incremental = true;
	b.copy.put.content_id = 9;
	assert_int_equal(run(&b, blob_apply_copy, &b.copy), ERR_OK);
	struct blob_copy_step_call end = { .name = b.target.name, .id = b.copy.copy.id, .status = COPY_SUCCESS };
	assert_int_equal(run(&b, blob_apply_copy_step, &end), ERR_OK);
	all_refuse(&b, BLOB_PAGE, ERR_OPERATION_NOT_ALLOWED_ON_INCREMENTAL_COPY_BLOB);
	/* Its bytes are those of its snapshots. */
	struct slice partition = key_slice(&b.partition);
	struct blob_get_call get = { .target = b.target, .want_bytes = true, .on_snapshot = true };
	struct blob_page_ranges_call ranges = { .target = b.target, .limit = 1 };
	assert_int_equal(store_read(b.store, partition, blob_apply_get, &get, &b.arena),
			 ERR_OPERATION_NOT_ALLOWED_ON_INCREMENTAL_COPY_BLOB);
	assert_int_equal(store_read(b.store, partition, blob_apply_page_ranges, &ranges, &b.arena),
			 ERR_OPERATION_NOT_ALLOWED_ON_INCREMENTAL_COPY_BLOB);
	get.target.snapshot_ticks = ranges.target.snapshot_ticks = look(&b).copy.incremental_snapshot;
	assert_int_equal(store_read(b.store, partition, blob_apply_get, &get, &b.arena), ERR_OK);
	assert_int_equal(store_read(b.store, partition, blob_apply_page_ranges, &ranges, &b.arena), ERR_OK);
	assert_int_equal(run(&b, blob_apply_delete, &gone), ERR_OK);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pending),
		cmocka_unit_test(test_aborted),
		cmocka_unit_test(test_incremental),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

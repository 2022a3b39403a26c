/* SPDX-License-Identifier: Apache-2.0
 * What the background gives back of a share: alone it goes on at once, beside others who write it rests after each
 * piece, and its thread finds what was deleted, in the accounts it began with and in those it is told of later. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <unistd.h>

#include "../svc/file/bench.h"
#include "jobs/background.h"
#include "svc/account/resource.h"

enum {
	PIECES = 1000, /* more than go with the file, and several rounds of the background */
	PIECE_BYTES = 64,
	TOOK_NS = 1000,
	POLL_US = 5000,
	POLLS_MAX = 12000 /* a minute: the thread looks once a second when nothing happens */
};

static const struct slice first = { "acc", 3 }, later = { "later", 5 };

/* A file of pieces that do not touch each other is deleted: its runs are left to the background. */
static void leave_pieces(struct bench *b)
{
	char bytes[PIECE_BYTES];
	struct file_delete_call gone;
	memset(bytes, 'x', sizeof bytes);
	assert_int_equal(bench_create(b, "pieces", FILE_KIND_FILE, 2 * PIECES * PIECE_BYTES), ERR_OK);
	for (uint64_t i = 0; i < PIECES; i++) {
		assert_int_equal(bench_write(b, "pieces", 2 * i * PIECE_BYTES, bytes, sizeof bytes), ERR_OK);
		arena_reset(&b->arena);
	}
	gone = (struct file_delete_call){ .target = target_of(b, "pieces", FILE_KIND_FILE) };
	expect(b, file_apply_delete, &gone, ERR_OK);
	arena_reset(&b->arena);
	assert_int_equal(rows_of(b, 'r'), PIECES);
}

static enum err apply_put_resource(struct txn *txn, void *call)
{
	return resource_put(txn, call);
}

/* The share has a record in its account, so that the thread finds it. */
static void publish(struct bench *b, struct slice account)
{
	struct resource r = { .kind = RESOURCE_SHARE, .name = SLICE("share"), .generation = 7 };
	struct slice partition = resource_account_partition(&b->arena, account);
	assert_int_equal(store_write_wait(b->store, partition, apply_put_resource, &r, &b->arena), ERR_OK);
	arena_reset(&b->arena);
}

/* The tools of the bench go to the share of this account from now on. */
static void use_share_of(struct bench *b, struct slice account)
{
	struct key k;
	key_partition(&k, account, RESOURCE_SHARE, 7);
	assert_true(k.len <= sizeof b->partition_bytes);
	memcpy(b->partition_bytes, k.bytes, k.len);
	b->partition = slice_make(b->partition_bytes, k.len);
}

static void make_share_of(struct bench *b, struct slice account)
{
	struct share_create create;
	use_share_of(b, account);
	share_create_init(&create, SLICE("share"), 7);
	create.base.reserved = true;
	expect(b, share_create_open, &create, ERR_OK);
	arena_reset(&b->arena);
}

static void others_write(struct bench *b, unsigned round)
{
	for (unsigned i = 0; i < 3; i++) {
		char name[32];
		snprintf(name, sizeof name, "other-%u-%u", round, i);
		assert_int_equal(bench_create(b, name, FILE_KIND_FILE, 0), ERR_OK);
	}
	arena_reset(&b->arena);
}

/* Rounds until nothing is left; in each the rest that the background would make. */
static void give_back(bool beside)
{
	struct mem_options options = { .seed = 1 };
	struct bench b;
	bool more = true;
	unsigned rounds = 0;
	bench_open(&b, 1, &options);
	leave_pieces(&b);
	while (more) {
		uint64_t before = store_txns(b.store);
		if (beside)
			others_write(&b, rounds);
		assert_int_equal(file_round(b.store, b.partition, &more), ERR_OK);
		uint64_t rest_ns = background_rest_ns(TOOK_NS, store_txns(b.store) - before, more);
		assert_int_equal(rest_ns, beside && more ? 3 * TOOK_NS : 0);
		assert_true(++rounds < PIECES);
	}
	assert_true(rounds > 4);
	assert_int_equal(rows_of(&b, 'r'), 0);
	bench_close(&b);
}

static void alone_it_goes_on_at_once(void **state)
{
	give_back(false);
}

static void beside_others_it_rests(void **state)
{
	give_back(true);
}

static void wait_until_given_back(struct bench *b)
{
	size_t left = 1;
	for (int i = 0; i < POLLS_MAX && left; i++) {
		usleep(POLL_US);
		left = rows_of(b, 'r');
		arena_reset(&b->arena);
	}
	assert_int_equal(left, 0);
}

static void its_thread_tends_the_accounts_it_is_told_of(void **state)
{
	struct mem_options options = { .seed = 1 };
	struct bench b;
	bench_open(&b, 1, &options);
	publish(&b, first);
	leave_pieces(&b);
	make_share_of(&b, later);
	publish(&b, later);
	leave_pieces(&b);
	struct background *thread = background_start(b.store, &first, 1);
	assert_non_null(thread);
	use_share_of(&b, first);
	wait_until_given_back(&b);
	use_share_of(&b, later);
	assert_int_equal(rows_of(&b, 'r'), PIECES); /* nobody told it of this one */
	assert_int_equal(background_set_accounts(thread, &later, 1), ERR_OK);
	wait_until_given_back(&b);
	background_stop(thread);
	bench_close(&b);
}

static void without_a_thread_nothing_fails(void **state)
{
	background_stop(NULL);
	assert_int_equal(background_set_accounts(NULL, &first, 1), ERR_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(alone_it_goes_on_at_once),
					    cmocka_unit_test(beside_others_it_rests),
					    cmocka_unit_test(its_thread_tends_the_accounts_it_is_told_of),
					    cmocka_unit_test(without_a_thread_nothing_fails) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 * tamper DIR HOW A B: makes a store name extents as no honest writer would, through the engine's own doors, so that
 * every checksum of every row is right. A and B are blobs of one container with an extent each; the server is stopped.
 *   overlap   B's extent is said to begin one block after A's
 *   twice     B's extent is said to lie where A's does
 *   dead      A's extent waits to be reclaimed, and A still names it
 *   free      A's extent was reclaimed, and A still names it
 *   wide      A's extent is said to be longer than it is, so that it reaches into what lies behind it */
#include "base/sys/clock.h"
#include "engine/rocks/rocks.h"
#include "store/store.h"
#include "svc/blob/blob.h"

#include <stdio.h>
#include <stdlib.h>

struct tampering {
	const char *how;
	struct slice a, b;
	bool done;
	enum err result;
};

static bool is(const struct tampering *t, const char *how)
{
	return strcmp(t->how, how) == 0;
}

static enum err apply(struct txn *txn, void *call)
{
	struct tampering *t = call;
	struct blob a, b;
	TRY(blob_get(txn, t->a, &a));
	TRY(blob_get(txn, t->b, &b));
	a.name = t->a;
	b.name = t->b;
	if (a.content.kind != CONTENT_EXTENTS || b.content.kind != CONTENT_EXTENTS)
		return ERR_SYNTAX;
	if (is(t, "dead") || is(t, "free"))
		return txn_retire(txn, &a.content.extents[0]);
	if (is(t, "wide")) {
		a.content.extents[0].length_bytes += 64 * 1024;
		a.length_bytes += 64 * 1024;
		return blob_put(txn, &a);
	}
	b.content.extents[0].place = a.content.extents[0].place + is(t, "overlap");
	return blob_put(txn, &b);
}

static void done(struct store_job *job, enum err err)
{
	struct tampering *t = job->owner;
	t->done = true;
	t->result = err;
}

static enum err in_partition(struct store *store, struct slice partition, struct tampering *t)
{
	struct arena arena;
	arena_init(&arena, 16 * MIB);
	struct store_job job = {
		.partition = partition, .apply = apply, .call = t, .arena = &arena, .done = done, .owner = t
	};
	t->done = false;
	store_write(store, &job);
	while (!t->done)
		store_step(store);
	arena_fini(&arena);
	return t->result;
}

int main(int argc, char **argv)
{
	struct engine *engine;
	struct store *store;
	struct clock clock;
	struct arena arena;
	struct buf message;
	struct slice *partition;
	size_t count;
	if (argc != 5)
		return 2;
	struct tampering t = { .how = argv[2], .a = slice_str(argv[3]), .b = slice_str(argv[4]) };
	buf_init(&message, 4096);
	arena_init(&arena, 16 * MIB);
	clock_init_wall(&clock, NULL);
	/* No threads: nothing is reclaimed but by us. */
	struct store_options options = { .clock = &clock, .manual = true };
	if (engine_rocks_open(&(struct rocks_options){ .dir = argv[1] }, &engine, &message) != ERR_OK ||
	    store_open(engine, &options, &store) != ERR_OK) {
		fprintf(stderr, "cannot open %s: %.*s\n", argv[1], SLICE_FMT(buf_slice(&message)));
		return 2;
	}
	enum err err = engine->ops->list_partitions(engine, SLICE("\x01"), 100, &arena, &partition, &count);
	bool found = false;
	for (size_t i = 0; err == ERR_OK && i < count && !found; i++)
		found = in_partition(store, partition[i], &t) == ERR_OK;
	for (bool more = found && is(&t, "free"); more;)
		if (engine->ops->reclaim(engine, &more) != ERR_OK)
			found = more = false;
	store_close(store);
	buf_fini(&message);
	arena_fini(&arena);
	return found ? 0 : 1;
}

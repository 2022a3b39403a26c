/* SPDX-License-Identifier: Apache-2.0
 * The overlay of a group: our skip list and a plain write batch, against RocksDB's write batch with index. The work is
 * what the committer does for one transaction (CPU time): read a record that is not in the group, one that is, and put
 * one of 300 bytes. overlay_bench DIR */
#include "base/sys/rng.h"
#include "engine/rocks/overlay.h"

#include <rocksdb/c.h>

enum { KEYS = 10000, GROUP = 64, GROUPS = 3000, VALUE_BYTES = 300, PARTITION_BYTES = 12 };

static char value[VALUE_BYTES];

/* Of this thread: the machine may be shared. */
static uint64_t cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static size_t make_key(char *dst, uint64_t n)
{
	size_t len = (size_t)snprintf(dst, 64, "account-name-container-0001/blob-%010llu", (unsigned long long)n);
	dst[PARTITION_BYTES] = 0; /* as the engine writes it: partition, NUL, key */
	return len;
}

static void own(rocksdb_t *db, rocksdb_readoptions_t *read, struct overlay *o, rocksdb_writebatch_t *b, struct rng *r)
{
	char key[64], *error = NULL;
	size_t last = 0;
	for (int i = 0; i < GROUP; i++) {
		for (int k = 0; k < 2; k++) {
			uint64_t n = k && i ? last : rng_below(r, KEYS);
			size_t len = make_key(key, n);
			struct slice full = slice_make(key, len);
			const struct overlay_node *node = overlay_seek(o, full);
			if (node && slice_eq(node->key, full))
				continue;
			rocksdb_pinnableslice_t *p = rocksdb_get_pinned(db, read, key, len, &error);
			if (p)
				rocksdb_pinnableslice_destroy(p);
		}
		last = rng_below(r, KEYS);
		size_t len = make_key(key, last);
		struct overlay_node *n =
			overlay_node_new(o, slice_make(key, PARTITION_BYTES),
					 slice_make(key + PARTITION_BYTES + 1, len - PARTITION_BYTES - 1),
					 slice_make(value, VALUE_BYTES));
		overlay_insert(o, n);
		rocksdb_writebatch_put(b, key, len, value, VALUE_BYTES);
	}
	rocksdb_writebatch_clear(b);
	overlay_clear(o);
}

static void indexed(rocksdb_t *db, rocksdb_readoptions_t *read, rocksdb_writebatch_wi_t *b, struct rng *r)
{
	char key[64], *error = NULL;
	size_t last = 0, size;
	for (int i = 0; i < GROUP; i++) {
		for (int k = 0; k < 2; k++) {
			uint64_t n = k && i ? last : rng_below(r, KEYS);
			size_t len = make_key(key, n);
			char *v = rocksdb_writebatch_wi_get_from_batch_and_db(b, db, read, key, len, &size, &error);
			if (v)
				rocksdb_free(v);
		}
		last = rng_below(r, KEYS);
		size_t len = make_key(key, last);
		rocksdb_writebatch_wi_put(b, key, len, value, VALUE_BYTES);
	}
	rocksdb_writebatch_wi_clear(b);
}

int main(int argc, char **argv)
{
	char *error = NULL, key[64];
	if (argc < 2)
		return 2;
	rocksdb_options_t *options = rocksdb_options_create();
	rocksdb_options_set_create_if_missing(options, 1);
	rocksdb_t *db = rocksdb_open(options, argv[1], &error);
	if (error) {
		fprintf(stderr, "%s\n", error);
		return 1;
	}
	rocksdb_writeoptions_t *write = rocksdb_writeoptions_create();
	for (int i = 0; i < KEYS; i++)
		rocksdb_put(db, write, key, make_key(key, (uint64_t)i), value, VALUE_BYTES, &error);
	rocksdb_readoptions_t *read = rocksdb_readoptions_create();
	rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
	rocksdb_writebatch_wi_t *wi = rocksdb_writebatch_wi_create(0, 1);
	struct overlay o;
	overlay_init(&o, 64 * 1024 * 1024);
	for (int round = 0; round < 5; round++) {
		struct rng r;
		rng_init_seed(&r, 1);
		uint64_t a = cpu_ns();
		for (int i = 0; i < GROUPS; i++)
			own(db, read, &o, batch, &r);
		uint64_t b = cpu_ns();
		rng_init_seed(&r, 1);
		for (int i = 0; i < GROUPS; i++)
			indexed(db, read, wi, &r);
		uint64_t c = cpu_ns();
		printf("a transaction: own overlay %.2f us, write batch with index %.2f us\n",
		       (double)(b - a) / GROUPS / GROUP / 1e3, (double)(c - b) / GROUPS / GROUP / 1e3);
	}
	rocksdb_close(db);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 * Keys: order-preserving encodings without NUL bytes, built into a fixed buffer.
 *
 *   string   bytes as they are, but 00 -> 02 03, 01 -> 02 04, 02 -> 02 05; ends with 01 (so "a" sorts before "ab")
 *   u64      10 bytes, 7 bits each with the high bit set, most significant first
 *   tag      one ASCII letter, the kind of row
 *
 * Partition ids: string(account) then a letter: 'a' the account itself; 'c' container, 'q' queue, 't' table, 's' share
 * followed by u64(generation). KEY_META is the first key of every partition. */
#ifndef STORE_KEY_H
#define STORE_KEY_H

#include "base/err.h"
#include "base/limits.h"
#include "base/slice.h"

#define KEY_META SLICE("\x01m")
/* Right after it: the id of the last commit that touched the partition, on engines that may answer UNKNOWN. The store's
 * own; transactions neither see nor write it. */
#define KEY_STAMP SLICE("\x01n")
/* How many bytes the partition holds, where that is counted (store/meter.h). The store's own, too. */
#define KEY_USAGE SLICE("\x01u")
/* The store's own partition (no account has an empty name): clock mark, count of opens. */
#define KEY_PARTITION_STORE SLICE("\x01store")
/* Keys that begin with this letter, in every partition, hold contents: rows written once, read by their whole key,
 * larger than others and far more bytes. An engine may keep them apart. */
#define KEY_TAG_CONTENT 'd'
/* Keys that begin with this letter are volatile rows: in memory only, gone after a restart. A scan sees them if it
 * begins with the letter, and then nothing else. */
#define KEY_TAG_VOLATILE '~'
enum { KEY_U64_BYTES = 10 };

struct key {
	size_t len;
	bool overflow; /* longer than LIMIT_KEY_BYTES */
	char bytes[LIMIT_KEY_BYTES];
};

void key_init(struct key *);
void key_tag(struct key *, char tag);
void key_str(struct key *, struct slice s);
/* As key_str without the end mark: a prefix of all strings that begin with s. */
void key_str_open(struct key *, struct slice s);
void key_u64(struct key *, uint64_t v);
/* Big numbers first. */
void key_u64_desc(struct key *, uint64_t v);
struct slice key_slice(const struct key *);
/* The smallest key greater than every key with the prefix k holds now (k itself becomes it). */
void key_prefix_end(struct key *);
/* The smallest key after `key` (key + 01). */
void key_after(struct key *, struct slice key);

/* Readers: take one part off the front of *rest. False if it is not there. */
bool key_take_tag(struct slice *rest, char tag);
/* Decodes into dst (at least rest->len bytes are enough). */
bool key_take_str(struct slice *rest, char *dst, size_t dst_size, struct slice *ret);
bool key_take_u64(struct slice *rest, uint64_t *ret);
bool key_take_u64_desc(struct slice *rest, uint64_t *ret);

/* Partition ids into k. */
void key_partition_account(struct key *k, struct slice account);
void key_partition(struct key *k, struct slice account, char kind, uint64_t generation);

#endif

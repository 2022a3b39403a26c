/* SPDX-License-Identifier: Apache-2.0
 * Reads RocksDB's table files by itself: footer, index, blocks, checksums. Whatever is not exactly as expected is
 * refused, and RocksDB is asked instead. */
#include "engine/rocks/locator/sst.h"

#include "base/bytes.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum {
	FOOTER_BYTES = 53, /* u8 checksum, two places of blocks in 40 bytes, u32 format, u64 magic */
	FOOTER_PLACES_BYTES = 40,
	FORMAT = 5,
	CHECKSUM_XXH3 = 4,
	ENTRY_DELETION = 0,
	ENTRY_VALUE = 1,
	ENTRY_RANGE_DELETION = 15,
	OTHER_BLOCK_MAX_BYTES = 16 * 1024 * 1024,
};
#define FOOTER_MAGIC		   UINT64_C(0x88e241b785f4cff7)
#define HASH_FOLLOWS		   0x80000000u /* in the number of places */
#define NAME_PROPERTIES		   SLICE("rocksdb.properties")
#define NAME_RANGES		   SLICE("rocksdb.range_del")
#define PROPERTY_ROWS		   SLICE("rocksdb.num.entries")
#define PROPERTY_INDEX_DIFFERENCES SLICE("rocksdb.index.value.is.delta.encoded")

struct place {
	uint64_t at, bytes; /* without what is behind it */
};

static bool take_varint(const unsigned char **at, const unsigned char *end, uint64_t *ret)
{
	uint64_t v = 0;
	for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
		unsigned char byte = *(*at)++;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret = v;
			return true;
		}
	}
	return false;
}

static bool take_place(const unsigned char **at, const unsigned char *end, struct place *ret)
{
	return take_varint(at, end, &ret->at) && take_varint(at, end, &ret->bytes);
}

static bool place_of(struct slice value, struct place *ret)
{
	const unsigned char *at = (const unsigned char *)value.ptr;
	return take_place(&at, at + value.len, ret);
}

/* ERR_IO may pass; a file that ends before is ERR_CORRUPT. */
static enum err read_all(int fd, uint64_t at, char *dst, size_t bytes)
{
	while (bytes) {
		ssize_t n = pread(fd, dst, bytes, (off_t)at);
		if (n <= 0)
			return n < 0 ? ERR_IO : ERR_CORRUPT;
		dst += n;
		at += (uint64_t)n;
		bytes -= (size_t)n;
	}
	return ERR_OK;
}

/* `bytes` with what is behind the block. RocksDB mixes the kind of compression into the checksum in a way that leaves
 * it as it is for kind 0. */
static bool verified(const char *block, size_t bytes)
{
	const char *behind = block + bytes - SST_TRAILER_BYTES;
	return behind[0] == 0 &&
	       (uint32_t)XXH3_64bits(block, bytes - SST_TRAILER_BYTES) == (uint32_t)bytes_load(behind + 1, 4);
}

enum err sst_block_read(int fd, const struct sst_map *m, uint32_t block, char *dst)
{
	uint32_t bytes = sst_block_bytes(m, block);
	TRY(read_all(fd, m->block_at[block], dst, bytes));
	return verified(dst, bytes) ? ERR_OK : ERR_CORRUPT;
}

/* Where the entries of a block end; 0: damaged. */
static size_t entries_end(struct slice block)
{
	if (block.len < 4)
		return 0;
	uint32_t places = (uint32_t)bytes_load(block.ptr + block.len - 4, 4);
	size_t behind = 4;
	if (places & HASH_FOLLOWS) {
		if (block.len < 6)
			return 0;
		behind += 2 + (size_t)bytes_load(block.ptr + block.len - 6, 2);
		places &= ~HASH_FOLLOWS;
	}
	behind += (size_t)places * 4;
	return behind < block.len ? block.len - behind : 0;
}

bool sst_block_begin(struct sst_cursor *c, struct slice block)
{
	size_t end = entries_end(block);
	c->at = (const unsigned char *)block.ptr;
	c->end = c->at + end;
	c->key_len = 0;
	return end > 0;
}

/* The lengths before an entry. Both parts of the key and the value lie inside the block. */
struct entry {
	uint64_t shared, more, value;
};

static inline bool take_entry(const unsigned char **at, const unsigned char *end, size_t key_len, struct entry *ret)
{
	const unsigned char *p = *at;
	if (end - p >= 3 && (p[0] | p[1] | p[2]) < 0x80) {
		*ret = (struct entry){ p[0], p[1], p[2] };
		*at = p + 3;
	} else if (!take_varint(at, end, &ret->shared) || !take_varint(at, end, &ret->more) ||
		   !take_varint(at, end, &ret->value)) {
		return false;
	}
	uint64_t left = (uint64_t)(end - *at);
	return ret->shared <= key_len && ret->more <= left && ret->value <= left - ret->more;
}

static bool next_entry(struct sst_cursor *c)
{
	struct entry e;
	if (!take_entry(&c->at, c->end, c->key_len, &e) || e.more > sizeof c->key - e.shared)
		return false;
	memcpy(c->key + e.shared, c->at, e.more);
	c->key_len = e.shared + e.more;
	c->value = slice_make(c->at + e.more, e.value);
	c->at += e.more + e.value;
	return true;
}

static bool row_make(struct slice key, uint64_t tail, struct slice value, struct sst_row *ret)
{
	unsigned kind = tail & 0xff;
	*ret = (struct sst_row){ key, value, tail >> 8, kind != ENTRY_VALUE };
	return kind == ENTRY_VALUE || kind == ENTRY_DELETION || kind == ENTRY_RANGE_DELETION;
}

bool sst_block_next(struct sst_cursor *c, struct sst_row *ret)
{
	if (!next_entry(c) || c->key_len < SST_ENTRY_TAIL_BYTES)
		return false;
	size_t len = c->key_len - SST_ENTRY_TAIL_BYTES;
	return row_make(slice_make(c->key, len), bytes_load(c->key + len, SST_ENTRY_TAIL_BYTES), c->value, ret);
}

static size_t common_bytes(const unsigned char *a, const unsigned char *b, size_t most)
{
	size_t n = 0;
	for (; most - n >= 8; n += 8) {
		uint64_t differ = bytes_load(a + n, 8) ^ bytes_load(b + n, 8);
		if (differ)
			return n + ((size_t)__builtin_ctzll(differ) >> 3);
	}
	while (n < most && a[n] == b[n])
		n++;
	return n;
}

/* No key is put together: how much of the one before was as in `key` tells it for what is shared. */
enum err sst_block_find(struct slice block, struct slice key, struct sst_row *ret)
{
	const unsigned char *at = (const unsigned char *)block.ptr, *end = at + entries_end(block),
			    *wanted = (const unsigned char *)key.ptr;
	size_t key_len = 0, as_wanted = 0;
	struct entry e;
	for (; at < end; at += e.more + e.value) {
		if (!take_entry(&at, end, key_len, &e))
			return ERR_CORRUPT;
		key_len = e.shared + e.more;
		if (e.shared <= as_wanted) {
			size_t left = key.len - e.shared;
			as_wanted = e.shared + common_bytes(at, wanted + e.shared, e.more < left ? e.more : left);
		}
		if (as_wanted != key.len || key_len != key.len + SST_ENTRY_TAIL_BYTES)
			continue;
		/* Of one key the newest comes first. Its tail is all here, unless the key before goes on like it. */
		if (e.more < SST_ENTRY_TAIL_BYTES)
			return ERR_LIMIT;
		const unsigned char *tail = at + e.more - SST_ENTRY_TAIL_BYTES;
		return row_make(key, bytes_load(tail, SST_ENTRY_TAIL_BYTES), slice_make(at + e.more, e.value), ret)
			       ? ERR_OK
			       : ERR_CORRUPT;
	}
	return entries_end(block) ? ERR_NOT_FOUND : ERR_CORRUPT;
}

/* ---- the map ---- */

/* A block that is none of rows; the caller frees it. */
static enum err read_other(int fd, struct place p, struct slice *ret)
{
	if (p.bytes > OTHER_BLOCK_MAX_BYTES)
		return ERR_CORRUPT;
	size_t bytes = p.bytes + SST_TRAILER_BYTES;
	char *block = malloc(bytes);
	if (!block)
		return ERR_NO_MEMORY;
	enum err err = read_all(fd, p.at, block, bytes);
	if (err == ERR_OK && !verified(block, bytes))
		err = ERR_CORRUPT;
	if (err != ERR_OK) {
		free(block);
		return err;
	}
	*ret = slice_make(block, p.bytes);
	return ERR_OK;
}

/* The value of a name in a block of names; absent if it is not there. */
static struct slice named(struct slice block, struct slice name)
{
	struct sst_cursor c;
	if (sst_block_begin(&c, block))
		while (next_entry(&c))
			if (slice_eq(slice_make(c.key, c.key_len), name))
				return c.value;
	return SLICE_NONE;
}

static uint64_t number_named(struct slice block, struct slice name)
{
	uint64_t v = 0;
	struct slice value = named(block, name);
	const unsigned char *at = (const unsigned char *)value.ptr;
	return slice_is_set(value) && take_varint(&at, at + value.len, &v) ? v : 0;
}

static enum err map_properties(int fd, struct place p, struct sst_map *m)
{
	struct slice block;
	TRY(read_other(fd, p, &block));
	m->row_count = number_named(block, PROPERTY_ROWS);
	bool differences = number_named(block, PROPERTY_INDEX_DIFFERENCES) == 1;
	free((char *)block.ptr);
	return differences ? ERR_OK : ERR_CORRUPT;
}

static enum err add_range(struct sst_map *m, struct slice from, struct slice until)
{
	if (m->range_count == SST_RANGES_MAX)
		return ERR_LIMIT;
	char *copy = malloc(from.len + until.len + 1);
	if (!copy)
		return ERR_NO_MEMORY;
	memcpy(copy, from.ptr, from.len);
	memcpy(copy + from.len, until.ptr, until.len);
	m->range[m->range_count++] =
		(struct sst_range){ slice_make(copy, from.len), slice_make(copy + from.len, until.len) };
	return ERR_OK;
}

static enum err map_ranges(int fd, struct place p, struct sst_map *m)
{
	struct slice block;
	struct sst_cursor c;
	struct sst_row row;
	TRY(read_other(fd, p, &block));
	enum err err = sst_block_begin(&c, block) ? ERR_OK : ERR_CORRUPT;
	while (err == ERR_OK && c.at < c.end)
		err = sst_block_next(&c, &row) ? add_range(m, row.key, row.value) : ERR_CORRUPT;
	free((char *)block.ptr);
	return err;
}

/* An entry of the index: key, then the place of a block, or only how much longer it is than the one before, behind
 * which it stands. The keys are of no use here. */
static bool index_entry(const unsigned char **at, const unsigned char *end, struct place *p)
{
	uint64_t shared, more, change;
	if (!take_varint(at, end, &shared) || !take_varint(at, end, &more) || more > (uint64_t)(end - *at))
		return false;
	*at += more;
	if (!shared)
		return take_place(at, end, p);
	if (!take_varint(at, end, &change))
		return false;
	p->at += p->bytes + SST_TRAILER_BYTES;
	p->bytes += (change >> 1) ^ (0 - (change & 1)); /* the lowest bit is the sign */
	return true;
}

/* The blocks must follow one another from the beginning of the file: then where they begin says all. */
static enum err map_blocks(struct slice index, uint64_t file_bytes, struct sst_map *m)
{
	const unsigned char *at = (const unsigned char *)index.ptr, *end = at + entries_end(index);
	struct place p = { 0, 0 };
	uint32_t cap = (uint32_t)(index.len / 3) + 2; /* no entry is shorter */
	uint64_t next = 0;
	m->block_at = malloc(cap * sizeof *m->block_at);
	if (!m->block_at)
		return ERR_NO_MEMORY;
	while (at < end) {
		if (!index_entry(&at, end, &p) || p.at != next || p.bytes > file_bytes || m->block_count + 1 >= cap)
			return ERR_CORRUPT;
		next = p.at + p.bytes + SST_TRAILER_BYTES;
		if (next > file_bytes)
			return ERR_CORRUPT;
		m->block_at[m->block_count++] = (uint32_t)p.at;
	}
	m->block_at[m->block_count] = (uint32_t)next;
	uint32_t *fit = realloc(m->block_at, (m->block_count + 1) * sizeof *fit);
	m->block_at = fit ? fit : m->block_at;
	return ERR_OK;
}

static enum err map_names(int fd, struct place p, struct sst_map *m)
{
	struct slice names;
	struct place properties = { 0, 0 }, ranges = { 0, 0 };
	TRY(read_other(fd, p, &names));
	struct slice for_properties = named(names, NAME_PROPERTIES), for_ranges = named(names, NAME_RANGES);
	bool has_ranges = slice_is_set(for_ranges);
	bool good = slice_is_set(for_properties) && place_of(for_properties, &properties) &&
		    (!has_ranges || place_of(for_ranges, &ranges));
	free((char *)names.ptr);
	if (!good)
		return ERR_CORRUPT;
	TRY(map_properties(fd, properties, m));
	return has_ranges ? map_ranges(fd, ranges, m) : ERR_OK;
}

static enum err map_all(int fd, struct sst_map *m)
{
	struct stat st;
	char footer[FOOTER_BYTES];
	struct place names, index;
	struct slice block;
	if (fstat(fd, &st) != 0)
		return ERR_IO;
	if (st.st_size < FOOTER_BYTES || st.st_size > UINT32_MAX)
		return ERR_CORRUPT;
	TRY(read_all(fd, (uint64_t)st.st_size - FOOTER_BYTES, footer, sizeof footer));
	const unsigned char *at = (const unsigned char *)footer + 1, *end = at + FOOTER_PLACES_BYTES;
	if (bytes_load(footer + FOOTER_BYTES - 8, 8) != FOOTER_MAGIC ||
	    bytes_load(footer + FOOTER_BYTES - 12, 4) != FORMAT || footer[0] != CHECKSUM_XXH3 ||
	    !take_place(&at, end, &names) || !take_place(&at, end, &index))
		return ERR_CORRUPT;
	TRY(map_names(fd, names, m));
	TRY(read_other(fd, index, &block));
	enum err err = map_blocks(block, (uint64_t)st.st_size, m);
	free((char *)block.ptr);
	return err;
}

enum err sst_map_read(int fd, struct sst_map *ret)
{
	*ret = (struct sst_map){ 0 };
	enum err err = map_all(fd, ret);
	if (err != ERR_OK)
		sst_map_free(ret);
	return err;
}

void sst_map_free(struct sst_map *m)
{
	for (size_t i = 0; i < m->range_count; i++)
		free((char *)m->range[i].from.ptr);
	free(m->block_at);
	*m = (struct sst_map){ 0 };
}

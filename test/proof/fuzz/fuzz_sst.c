/* SPDX-License-Identifier: Apache-2.0
 * A table file of RocksDB's in which everything may be wrong but the checksums: the input is cut into a block of rows,
 * an index, properties and deleted ranges, and a file is made of them as RocksDB would. Or, if it begins with 'f', it
 * is the file. Whatever it is, it is refused or read within its bounds, and finding a key says the same as walking to
 * it. */
#include "engine/rocks/locator/sst.h"

#include "base/bytes.h"

#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include "fuzz.h"

/* Finding walks: looked for are the first rows of a block and a few behind, or thousands of short ones would take as
 * many walks. */
enum { FILE_MAX = 256 * 1024, FOOTER_BYTES = 53, FINDS_FIRST = 8, FINDS_EVERY = 37 };

struct file {
	size_t len;
	char bytes[FILE_MAX];
};

static void put(struct file *f, const void *bytes, size_t len)
{
	CHECK(f->len + len <= FILE_MAX);
	if (len)
		memcpy(f->bytes + f->len, bytes, len);
	f->len += len;
}

static size_t put_varint(char *dst, uint64_t v)
{
	size_t n = 0;
	for (; v >= 0x80; v >>= 7)
		dst[n++] = (char)(v | 0x80);
	dst[n++] = (char)v;
	return n;
}

struct place {
	size_t at, len;
};

static struct place put_block(struct file *f, const void *bytes, size_t len)
{
	struct place p = { f->len, len };
	char trailer[SST_TRAILER_BYTES] = { 0 };
	put(f, bytes, len);
	bytes_store(trailer + 1, (uint32_t)XXH3_64bits(f->bytes + p.at, len), 4);
	put(f, trailer, sizeof trailer);
	return p;
}

static size_t put_place(char *dst, struct place p)
{
	size_t n = put_varint(dst, p.at);
	return n + put_varint(dst + n, p.len);
}

/* An entry of a block of names: nothing shared. */
static size_t put_entry(char *dst, const char *name, struct place p)
{
	char value[20];
	size_t name_len = strlen(name), value_len = put_place(value, p), n = 0;
	dst[n++] = 0;
	dst[n++] = (char)name_len;
	dst[n++] = (char)value_len;
	memcpy(dst + n, name, name_len);
	memcpy(dst + n + name_len, value, value_len);
	return n + name_len + value_len;
}

static void make(struct file *f, const uint8_t *in, size_t size)
{
	struct place part[4]; /* rows, index, properties, ranges */
	char names[256], footer[FOOTER_BYTES] = { 4 };
	size_t n = 0;
	f->len = 0;
	for (int i = 0; i < 4; i++) {
		size_t len = size >= 2 ? (size_t)(in[0] | in[1] << 8) : 0;
		in += size >= 2 ? 2 : size;
		size -= size >= 2 ? 2 : size;
		len = i == 3 || len > size ? size : len;
		part[i] = put_block(f, in, len);
		in += len;
		size -= len;
	}
	n += put_entry(names + n, "rocksdb.properties", part[2]);
	if (part[3].len)
		n += put_entry(names + n, "rocksdb.range_del", part[3]);
	bytes_store(names + n, 0, 4); /* one place where a key stands in full, the first */
	bytes_store(names + n + 4, 1, 4);
	struct place meta = put_block(f, names, n + 8);
	n = put_place(footer + 1, meta);
	put_place(footer + 1 + n, part[1]);
	bytes_store(footer + 41, 5, 4);
	bytes_store(footer + 45, UINT64_C(0x88e241b785f4cff7), 8);
	put(f, footer, sizeof footer);
}

/* The first row of each key is the one that find must give. */
static void check_block(struct slice block)
{
	static struct sst_cursor c;
	struct sst_row row, found;
	static char last[sizeof c.key];
	size_t last_len = SIZE_MAX, rows = 0;
	if (!sst_block_begin(&c, block))
		return;
	while (sst_block_next(&c, &row)) {
		bool again = row.key.len == last_len && memcmp(last, row.key.ptr, last_len) == 0;
		memcpy(last, row.key.ptr, row.key.len);
		last_len = row.key.len;
		if (rows++ >= FINDS_FIRST && rows % FINDS_EVERY)
			continue;
		enum err err = sst_block_find(block, slice_make(last, last_len), &found);
		if (err != ERR_OK || again)
			continue;
		CHECK(slice_eq(found.key, row.key));
	}
	(void)!sst_block_find(block, SLICE("no such key"), &found);
}

static void check_file(int fd)
{
	static char block[FILE_MAX];
	struct sst_map map;
	if (sst_map_read(fd, &map) != ERR_OK)
		return;
	for (uint32_t i = 0; i < map.block_count; i++) {
		uint32_t bytes = sst_block_bytes(&map, i);
		CHECK(bytes <= sizeof block);
		if (sst_block_read(fd, &map, i, block) == ERR_OK)
			check_block(slice_make(block, bytes - SST_TRAILER_BYTES));
	}
	sst_map_free(&map);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct file file;
	if (size == 0 || size > FILE_MAX / 4)
		return 0;
	if (data[0] == 'f') {
		file.len = 0;
		put(&file, data + 1, size - 1);
	} else {
		make(&file, data + 1, size - 1);
	}
	static int fd = -1; /* one for all runs: making it costs more than reading it */
	static size_t was;
	if (fd < 0)
		fd = memfd_create("table", MFD_CLOEXEC);
	CHECK(fd >= 0 && pwrite(fd, file.bytes, file.len, 0) == (ssize_t)file.len);
	CHECK(file.len >= was || ftruncate(fd, (off_t)file.len) == 0);
	was = file.len;
	check_file(fd);
	return 0;
}

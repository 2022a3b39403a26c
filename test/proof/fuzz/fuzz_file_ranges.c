/* SPDX-License-Identifier: Apache-2.0
 * One file under any sequence of writes, clears, resizes and a snapshot; five bytes of the input are a step. In the
 * end: the bytes are those of a plain array; List Ranges leaves out zeros only, in any page size the same; the
 * differences from the snapshot turn its bytes into the file's. */
#include "fuzz.h"

#define assert_int_equal(a, b) CHECK((a) == (b))
#define assert_true(a)	       CHECK(a)
#define fail_msg(...)	       CHECK(!"as expected")
#include "unit/svc/file/bench.h"

enum { BYTES_MAX = 64 * 1024, STEP_BYTES = 5, STEPS_MAX = 64, PAGE_BYTES = 512 };

struct model {
	unsigned char now[BYTES_MAX], then[BYTES_MAX];
	size_t size, then_size;
	uint64_t snapshot; /* ticks; 0 = none */
};

static void step_write(struct bench *b, struct model *m, size_t offset, size_t length, unsigned char fill)
{
	static unsigned char bytes[BYTES_MAX];
	if (offset + length > m->size)
		length = offset < m->size ? m->size - offset : 0;
	if (!length)
		return;
	for (size_t i = 0; i < length; i++)
		bytes[i] = (unsigned char)(fill + i % 97) | 1;
	CHECK(bench_write(b, "f", offset, bytes, length) == ERR_OK);
	memcpy(m->now + offset, bytes, length);
}

static void step_clear(struct bench *b, struct model *m, size_t offset, size_t length)
{
	if (offset + length > m->size)
		length = offset < m->size ? m->size - offset : 0;
	if (!length)
		return;
	struct file_write_call c = {
		.target = target_of(b, "f", FILE_KIND_FILE), .offset = offset, .length = length, .clear = true
	};
	expect(b, file_apply_write, &c, ERR_OK);
	memset(m->now + offset, 0, length);
}

static void step_resize(struct bench *b, struct model *m, size_t size)
{
	struct file_modify_call c = { .target = target_of(b, "f", FILE_KIND_FILE), .resize = true, .size_bytes = size };
	expect(b, file_apply_set_properties, &c, ERR_OK);
	if (size < m->size)
		memset(m->now + size, 0, m->size - size);
	m->size = size;
}

static void step_snapshot(struct bench *b, struct model *m)
{
	struct share_snapshot_call c = { .has_metadata = false };
	if (m->snapshot)
		return;
	expect(b, share_apply_snapshot, &c, ERR_OK);
	m->snapshot = c.snapshot.ticks;
	memcpy(m->then, m->now, sizeof m->then);
	m->then_size = m->size;
}

static void step(struct bench *b, struct model *m, const uint8_t *d)
{
	size_t offset = (size_t)d[1] << 8 | d[2], length = (size_t)d[3] << 8 | d[4];
	switch (d[0] % 8) {
	case 0:
		step_clear(b, m, offset, length);
		break;
	case 1:
		step_resize(b, m, offset);
		break;
	case 2:
		step_snapshot(b, m);
		break;
	case 3:
		bench_settle(b);
		break;
	default:
		step_write(b, m, offset, length, d[0]);
	}
	arena_reset(&b->arena);
}

static void check_bytes(struct bench *b, const unsigned char *wanted, size_t size, uint64_t snapshot)
{
	static unsigned char got[BYTES_MAX];
	for (size_t at = 0; at < size;) {
		struct file_get_call c = { .target = target_of(b, "f", FILE_KIND_FILE),
					   .want_bytes = true,
					   .has_range = true,
					   .range_first = at,
					   .range_last = size - 1 };
		c.target.has_snapshot = snapshot != 0;
		c.target.snapshot_ticks = snapshot;
		uint64_t pin = extent_pin(b->store);
		CHECK(look(b, file_apply_get, &c) == ERR_OK);
		CHECK(c.inode.size_bytes == size && c.pieces.length_bytes > 0);
		read_pieces(b, &c.pieces, got + at);
		extent_unpin(b->store, pin);
		at += c.pieces.length_bytes;
	}
	CHECK(memcmp(got, wanted, size) == 0);
	arena_reset(&b->arena);
}

/* Marks each page of the file: 0 not listed, 1 a range, 2 cleared. The ranges are in order and apart. */
static void mark_pages(struct bench *b, const struct model *m, bool diff, size_t limit,
		       unsigned char page[BYTES_MAX / PAGE_BYTES + 1])
{
	struct file_ranges_call c = { .target = target_of(b, "f", FILE_KIND_FILE), .limit = limit };
	uint64_t last_end = 0;
	c.diff = diff;
	c.previous_ticks = m->snapshot;
	memset(page, 0, BYTES_MAX / PAGE_BYTES + 1);
	do {
		CHECK(look(b, file_apply_ranges, &c) == ERR_OK);
		CHECK(c.count <= limit && (c.count || !c.more));
		for (size_t i = 0; i < c.count; i++) {
			const struct file_range *r = &c.range[i];
			CHECK(r->first >= last_end && r->first <= r->last && r->last < BYTES_MAX);
			for (uint64_t at = r->first; at <= r->last; at++)
				page[at / PAGE_BYTES] = r->clear ? 2 : 1;
			last_end = r->last + 1;
		}
		CHECK(!c.more || c.next > c.from);
		c.from = c.next;
	} while (c.more);
}

static void check_ranges(struct bench *b, const struct model *m, size_t limit)
{
	unsigned char page[BYTES_MAX / PAGE_BYTES + 1], small[BYTES_MAX / PAGE_BYTES + 1];
	mark_pages(b, m, false, 10000, page);
	mark_pages(b, m, false, limit, small);
	CHECK(memcmp(page, small, sizeof page) == 0);
	for (size_t i = 0; i < m->size; i++)
		CHECK(page[i / PAGE_BYTES] || m->now[i] == 0);
	if (!m->snapshot)
		return;
	mark_pages(b, m, true, 10000, page);
	mark_pages(b, m, true, limit, small);
	CHECK(memcmp(page, small, sizeof page) == 0);
	for (size_t i = 0; i < m->size; i++) {
		unsigned char before = i < m->then_size ? m->then[i] : 0;
		if (page[i / PAGE_BYTES] == 0)
			CHECK(m->now[i] == before);
		else if (page[i / PAGE_BYTES] == 2)
			CHECK(m->now[i] == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct model m;
	struct bench b;
	if (size < STEP_BYTES)
		return 0;
	memset(&m, 0, sizeof m);
	bench_open(&b, 1, NULL);
	m.size = BYTES_MAX;
	CHECK(bench_create(&b, "f", FILE_KIND_FILE, m.size) == ERR_OK);
	for (size_t i = 0; i + STEP_BYTES <= size && i < STEP_BYTES * STEPS_MAX; i += STEP_BYTES)
		step(&b, &m, data + i);
	for (int settled = 0; settled < 2; settled++) {
		check_bytes(&b, m.now, m.size, 0);
		if (m.snapshot)
			check_bytes(&b, m.then, m.then_size, m.snapshot);
		check_ranges(&b, &m, 1 + data[0] % 5);
		bench_settle(&b);
		arena_reset(&b.arena);
	}
	bench_close(&b);
	return 0;
}

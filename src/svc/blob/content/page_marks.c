/* SPDX-License-Identifier: Apache-2.0
 * Which pages of a chunk were written and then cleared, and when. In a chunk's row they stand among the spans, with
 * an extent number that no segment has and the epoch in place of the offset. Before the first snapshot nobody asks for
 * them, and none are kept. */
#include "svc/blob/content/page_int.h"

static void mark(struct page_marks *m, uint32_t first, uint32_t count, uint64_t epoch)
{
	for (uint32_t i = 0; i < count; i++)
		m->epoch[first + i] = epoch < UINT32_MAX ? (uint32_t)epoch : UINT32_MAX;
}

void blob_page_marks_of(const struct page_chunk *c, struct page_marks *ret)
{
	memset(ret, 0, sizeof *ret);
	for (size_t i = 0; i < c->cleared_count; i++)
		mark(ret, c->cleared[i].first, c->cleared[i].count, c->cleared[i].epoch);
	for (size_t i = 0; i < c->count && c->hidden_epoch; i++)
		mark(ret, c->span[i].first, c->span[i].count, c->hidden_epoch);
}

static size_t run_of(const struct page_marks *m, size_t first)
{
	size_t end = first + 1;
	while (end < PAGE_CHUNK_PAGES && m->epoch[end] == m->epoch[first])
		end++;
	return end;
}

enum err blob_page_marks_keep(struct arena *arena, const struct page_marks *m, struct page_chunk *c)
{
	size_t count = 0;
	for (size_t i = 0; i < PAGE_CHUNK_PAGES; i = run_of(m, i))
		count += m->epoch[i] > 1;
	c->cleared = ARENA_NEW_ARRAY(arena, struct cleared, count ? count : 1);
	c->cleared_count = 0;
	if (!c->cleared)
		return ERR_NO_MEMORY;
	for (size_t i = 0, end; i < PAGE_CHUNK_PAGES; i = end) {
		end = run_of(m, i);
		if (m->epoch[i] > 1)
			c->cleared[c->cleared_count++] =
				(struct cleared){ (uint16_t)i, (uint16_t)(end - i), m->epoch[i] };
	}
	return ERR_OK;
}

void blob_page_marks_encode(struct buf *b, const struct page_chunk *c)
{
	for (size_t i = 0; i < c->cleared_count; i++) {
		bytes_put_u16(b, c->cleared[i].first);
		bytes_put_u16(b, c->cleared[i].count);
		bytes_put_u16(b, PAGE_CLEARED_REF);
		bytes_put_u32(b, c->cleared[i].epoch);
	}
}

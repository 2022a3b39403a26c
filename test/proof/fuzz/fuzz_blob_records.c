/* SPDX-License-Identifier: Apache-2.0
 * What containers and accounts keep on disk: blobs, blocks, rows of extents, page chunks, containers. A record that is
 * read is written again, and read again as the same. The first byte of the input chooses the kind. */
#include "base/bytes.h"
#include "svc/account/resource.h"
#include "svc/blob/content/manifest.h"
#include "svc/blob/content/page_int.h"
#include "svc/blob/record.h"

#include "fuzz.h"

static void check_blob(struct slice value, struct arena *arena)
{
	struct blob blob, again;
	struct buf first, second;
	if (blob_decode(value, arena, &blob) != ERR_OK)
		return;
	buf_init(&first, 1 << 20);
	buf_init(&second, 1 << 20);
	blob_encode(&first, &blob);
	CHECK(buf_ok(&first));
	CHECK(blob_decode(buf_slice(&first), arena, &again) == ERR_OK);
	blob_encode(&second, &again);
	CHECK(slice_eq(buf_slice(&first), buf_slice(&second)));
	buf_fini(&first);
	buf_fini(&second);
}

static void check_block(struct slice value, struct arena *arena)
{
	struct cursor c = cursor_make(value);
	struct block block, again;
	struct buf b;
	if (blob_block_decode(&c, arena, &block) != ERR_OK)
		return;
	buf_init(&b, 1 << 20);
	blob_block_encode(&b, &block);
	CHECK(buf_ok(&b));
	c = cursor_make(buf_slice(&b));
	CHECK(blob_block_decode(&c, arena, &again) == ERR_OK);
	CHECK(slice_eq(block.id, again.id) && block.length_bytes == again.length_bytes &&
	      block.extent_count == again.extent_count && block.owned == again.owned);
	buf_fini(&b);
}

static void check_row(struct slice value, struct arena *arena)
{
	struct cursor c = cursor_make(value);
	struct extent_ref *refs;
	uint16_t count;
	struct page_chunk chunk;
	if (blob_row_extents_decode(&c, arena, &refs, &count) == ERR_OK) {
		struct buf b;
		buf_init(&b, 1 << 20);
		blob_row_extents_encode(&b, refs, count);
		CHECK(slice_eq(buf_slice(&b), slice_first(value, b.len)));
		buf_fini(&b);
	}
	if (blob_page_chunk_decode(value, arena, &chunk) == ERR_OK)
		for (size_t i = 0; i < chunk.count; i++)
			CHECK(chunk.span[i].first + chunk.span[i].count <= PAGE_CHUNK_PAGES);
}

static void check_resource(struct slice value, struct arena *arena)
{
	struct resource resource, again;
	struct buf b;
	if (resource_decode(value, arena, &resource) != ERR_OK)
		return;
	buf_init(&b, 1 << 20);
	resource_encode(&b, &resource);
	CHECK(buf_ok(&b));
	CHECK(resource_decode(buf_slice(&b), arena, &again) == ERR_OK);
	CHECK(slice_eq(resource.name, again.name) && resource.generation == again.generation &&
	      resource.policy_count == again.policy_count);
	buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena;
	if (size < 1)
		return 0;
	struct slice value = fuzz_copy(slice_make(data + 1, size - 1));
	arena_init(&arena, 16 << 20);
	switch (data[0] % 4) {
	case 0:
		check_blob(value, &arena);
		break;
	case 1:
		check_block(value, &arena);
		break;
	case 2:
		check_row(value, &arena);
		break;
	default:
		check_resource(value, &arena);
	}
	arena_fini(&arena);
	fuzz_free(value);
	return 0;
}

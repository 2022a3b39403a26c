/* SPDX-License-Identifier: Apache-2.0
 * One message of SMB2, whatever the bytes: fields lie inside what was read (the address sanitizer looks), and what was
 * read, written and read again says the same. Built once for each message of test/lib/smb2; SMB2_PDU is its name. */
#include "lib/smb2/pdu.h"

#include "fuzz.h"

enum { ARENA_MAX_BYTES = 4 << 20, WRITTEN_MAX_BYTES = 4 << 20 };

/* False: refused. */
static bool read_and_write(const struct pdu *p, struct slice bytes, struct arena *arena, struct buf *b)
{
	struct pdu_value v = { .arena = arena };
	if (pdu_parse(p, bytes, &v) != ERR_OK)
		return false;
	p->put(b, &v);
	CHECK(buf_ok(b));
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct pdu *p = pdu_find(SLICE(SMB2_PDU));
	CHECK(p);
	struct slice in = fuzz_copy(slice_make(data, size));
	struct arena arena;
	struct buf once, twice;
	arena_init(&arena, ARENA_MAX_BYTES);
	buf_init(&once, WRITTEN_MAX_BYTES);
	buf_init(&twice, WRITTEN_MAX_BYTES);
	if (read_and_write(p, in, &arena, &once)) {
		struct slice written = fuzz_copy(buf_slice(&once));
		CHECK(read_and_write(p, written, &arena, &twice));
		CHECK(slice_eq(buf_slice(&twice), written));
		fuzz_free(written);
	}
	buf_fini(&once);
	buf_fini(&twice);
	arena_fini(&arena);
	fuzz_free(in);
	return 0;
}

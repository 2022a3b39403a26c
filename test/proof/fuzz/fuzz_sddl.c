/* SPDX-License-Identifier: Apache-2.0
 * Security descriptors: what is read as text is written as text that reads the same; what is read as binary
 * likewise. */
#include "wire/sddl/sddl.h"

#include "fuzz.h"

static void check_stable(struct slice binary)
{
	struct buf text, again, twice;
	buf_init(&text, 8 << 20);
	buf_init(&again, 8 << 20);
	buf_init(&twice, 8 << 20);
	if (sddl_format(binary, &text) == ERR_OK && sddl_parse(buf_slice(&text), &again) == ERR_OK) {
		CHECK(sddl_format(buf_slice(&again), &twice) == ERR_OK);
		CHECK(slice_eq(buf_slice(&text), buf_slice(&twice)));
	}
	buf_fini(&text);
	buf_fini(&again);
	buf_fini(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice s = slice_make(data, size);
	struct buf binary, text;
	buf_init(&binary, 8 << 20);
	buf_init(&text, 8 << 20);
	if (sddl_parse(s, &binary) == ERR_OK) {
		CHECK(sddl_format(buf_slice(&binary), &text) == ERR_OK);
		check_stable(buf_slice(&binary));
	}
	check_stable(s);
	buf_fini(&binary);
	buf_fini(&text);
	return 0;
}

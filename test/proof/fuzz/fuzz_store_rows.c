/* SPDX-License-Identifier: Apache-2.0
 * Keys and records of the store. Any bytes read as a key are written again as the same; a record that was wrapped is
 * read under its own partition and key only, and not with any byte of it changed. The first byte of the input chooses,
 * the second says how long the first part is. */
#include "store/key.h"
#include "store/record.h"

#include "fuzz.h"

static void check_key(struct slice bytes)
{
	struct slice rest = bytes, text;
	struct key again;
	char *room = malloc(bytes.len + 1);
	uint64_t number;
	CHECK(room);
	if (key_take_str(&rest, room, bytes.len + 1, &text)) {
		key_init(&again);
		key_str(&again, text);
		CHECK(again.overflow || slice_eq(key_slice(&again), slice_first(bytes, bytes.len - rest.len)));
	}
	rest = bytes;
	if (key_take_u64(&rest, &number)) {
		key_init(&again);
		key_u64(&again, number);
		CHECK(slice_eq(key_slice(&again), slice_first(bytes, bytes.len - rest.len)));
	}
	rest = bytes;
	if (key_take_u64_desc(&rest, &number)) {
		key_init(&again);
		key_u64_desc(&again, number);
		CHECK(slice_eq(key_slice(&again), slice_first(bytes, bytes.len - rest.len)));
	}
	free(room);
}

/* Any text comes back from its key, and keys sort as their texts do. */
static void check_order(struct slice a, struct slice b)
{
	struct key x, y;
	key_init(&x);
	key_init(&y);
	key_str(&x, a);
	key_str(&y, b);
	if (x.overflow || y.overflow)
		return;
	char *room = malloc(x.len + 1);
	struct slice rest = key_slice(&x), text;
	CHECK(room && key_take_str(&rest, room, x.len + 1, &text) && rest.len == 0 && slice_eq(text, a));
	int texts = slice_cmp(a, b), keys = slice_cmp(key_slice(&x), key_slice(&y));
	CHECK((texts < 0) == (keys < 0) && (texts > 0) == (keys > 0));
	free(room);
}

static void check_record(struct slice key, struct slice payload)
{
	struct slice partition = slice_first(payload, key.len), got;
	struct slice record = { .len = payload.len + RECORD_OVERHEAD_BYTES };
	char *bytes = malloc(record.len);
	CHECK(bytes);
	record.ptr = bytes;
	record_wrap(partition, key, payload, bytes);
	CHECK(record_unwrap(partition, key, record, &got) == ERR_OK && slice_eq(got, payload));
	for (size_t i = 0; i < record.len; i++) {
		bytes[i] = (char)(bytes[i] ^ (1 << (i % 8)));
		CHECK(record_unwrap(partition, key, record, &got) != ERR_OK);
		bytes[i] = (char)(bytes[i] ^ (1 << (i % 8)));
	}
	CHECK(record_unwrap(partition, slice_make("another", 7), record, &got) != ERR_OK ||
	      slice_eq(key, slice_make("another", 7)));
	free(bytes);
	if (record_unwrap(partition, key, payload, &got) == ERR_OK)
		CHECK(got.len + RECORD_OVERHEAD_BYTES == payload.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	struct slice rest = slice_make(data + 2, size - 2);
	struct slice first = fuzz_copy(slice_first(rest, data[1])), second = fuzz_copy(slice_from(rest, data[1]));
	switch (data[0] % 3) {
	case 0:
		check_key(second);
		break;
	case 1:
		check_order(first, second);
		break;
	default:
		check_record(first, slice_first(second, 256));
	}
	fuzz_free(first);
	fuzz_free(second);
	return 0;
}

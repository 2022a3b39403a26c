/* SPDX-License-Identifier: Apache-2.0
 * Rows and receipts of a queue: what is read is written again as the same bytes. The first byte of the input chooses
 * the kind, the next give the length of the key. */
#include "svc/queue/rows.h"

#include "fuzz.h"

static void check_message(struct slice key, struct slice value)
{
	struct row row = { .key = key, .value = value };
	struct message m = { .sequence = 0 };
	struct row_key again;
	struct buf b;
	if (message_decode(&row, &m) != ERR_OK)
		return;
	buf_init(&b, 1 << 20);
	message_encode(&b, &m);
	CHECK(buf_ok(&b) && slice_eq(buf_slice(&b), value));
	/* The key holds an epoch that the message does not repeat: the rest must come back. */
	queue_row_key_message(&again, 1, &m);
	CHECK(again.len == key.len);
	size_t behind = 1 + KEY_U64_BYTES;
	CHECK(slice_eq(slice_from(row_key_slice(&again), behind), slice_from(key, behind)));
	struct uuid id = message_id(&m);
	CHECK(message_id_matches(&m, &id));
	struct queue_message shown;
	message_show(&m, 1, &shown);
	CHECK(shown.expires_ticks <= QUEUE_TIME_LAST);
	buf_fini(&b);
}

static void check_receipt(struct slice bytes)
{
	struct queue_receipt r;
	unsigned char again[QUEUE_RECEIPT_BYTES];
	if (!queue_receipt_decode(bytes, &r))
		return;
	queue_receipt_encode(&r, again);
	CHECK(slice_eq(slice_make(again, sizeof again), bytes));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	struct slice rest = slice_make(data + 2, size - 2);
	struct slice key = fuzz_copy(slice_first(rest, data[1])), value = fuzz_copy(slice_from(rest, data[1]));
	struct row row = { .key = key, .value = value };
	struct expiry_row x;
	switch (data[0] % 3) {
	case 0:
		check_message(key, value);
		break;
	case 1:
		check_receipt(value);
		break;
	default:
		if (expiry_decode(&row, &x) == ERR_OK)
			CHECK(value.len == 10);
	}
	fuzz_free(key);
	fuzz_free(value);
	return 0;
}

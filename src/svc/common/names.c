/* SPDX-License-Identifier: Apache-2.0
 * Counting how many rows name one stored thing; one name has no row. */
#include "svc/common/names.h"

enum { NAMES_VERSION = 1 };

void names_encode(struct buf *b, enum names_form form, uint32_t count)
{
	if (form == NAMES_IN_SHARE)
		bytes_put_u8(b, NAMES_VERSION);
	bytes_put_u32(b, count);
}

enum err names_decode(struct slice record, enum names_form form, uint32_t *ret)
{
	struct cursor c = cursor_make(record);
	uint8_t version = form == NAMES_IN_SHARE ? cursor_u8(&c) : NAMES_VERSION;
	uint32_t count = cursor_u32(&c);
	if (!cursor_done(&c) || version != NAMES_VERSION || count < 2)
		return ERR_CORRUPT;
	*ret = count;
	return ERR_OK;
}

static enum err count_get(struct txn *txn, struct slice key, enum names_form form, uint32_t *ret)
{
	struct slice value;
	enum err e = txn_get(txn, key, &value);
	if (e == ERR_NOT_FOUND) {
		*ret = 1;
		return ERR_OK;
	}
	TRY(e);
	return names_decode(value, form, ret);
}

static enum err count_put(struct txn *txn, struct slice key, enum names_form form, uint32_t count)
{
	char bytes[8];
	struct buf b = { .ptr = bytes, .cap = sizeof bytes, .limit_bytes = sizeof bytes };
	if (count < 2)
		return txn_del(txn, key);
	names_encode(&b, form, count);
	return txn_put(txn, key, buf_slice(&b));
}

enum err names_add(struct txn *txn, struct slice key, enum names_form form, uint32_t more)
{
	uint32_t count;
	if (!more)
		return ERR_OK;
	TRY(count_get(txn, key, form, &count));
	if (count > UINT32_MAX - more)
		return ERR_LIMIT;
	return count_put(txn, key, form, count + more);
}

enum err names_drop(struct txn *txn, struct slice key, enum names_form form, bool *ret_last)
{
	uint32_t count;
	TRY(count_get(txn, key, form, &count));
	*ret_last = count == 1;
	return *ret_last ? ERR_OK : count_put(txn, key, form, count - 1);
}

enum err names_any(struct txn *txn, struct slice from, struct slice until, bool *ret)
{
	struct rows rows;
	struct scan_spec spec = { .from = from, .until = until, .limit_rows = 1, .keys_only = true };
	TRY(txn_scan(txn, &spec, &rows));
	*ret = rows.count != 0;
	return ERR_OK;
}

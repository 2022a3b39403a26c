/* SPDX-License-Identifier: Apache-2.0
 * The row that says whether a generation is live. */
#include "svc/common/generation.h"

#include "store/key.h"

enum { META_RECORD_VERSION = 1 };

enum err generation_open(struct txn *txn)
{
	static const char live[] = { META_RECORD_VERSION, 'L' };
	return txn_put(txn, KEY_META, slice_make(live, sizeof live));
}

enum err generation_close(struct txn *txn)
{
	/* A write to a partition that was dropped already would leave a row behind, where the store keeps one of its
	 * own. */
	struct slice meta;
	enum err e = txn_get(txn, KEY_META, &meta);
	return e == ERR_NOT_FOUND ? ERR_OK : e != ERR_OK ? e : txn_del(txn, KEY_META);
}

enum err generation_require(struct txn *txn, enum err gone)
{
	struct slice meta;
	enum err e = txn_get(txn, KEY_META, &meta);
	if (e == ERR_NOT_FOUND)
		return gone;
	if (e == ERR_OK && (meta.len < 2 || meta.ptr[0] != META_RECORD_VERSION))
		return ERR_CORRUPT;
	return e;
}

/* SPDX-License-Identifier: Apache-2.0
 * How many rows of a partition name one thing that is stored once: an extent, or the bytes of a small write. A count is
 * a row of its own from two names on; without that row there is one name. Whoever drops the last one gives the thing
 * back. */
#ifndef SVC_COMMON_NAMES_H
#define SVC_COMMON_NAMES_H

#include "base/bytes.h"
#include "store/store.h"

/* How a count lies in its row: both kinds of partition had it before they shared the code. */
enum names_form {
	NAMES_IN_CONTAINER, /* u32 */
	NAMES_IN_SHARE	    /* u8 version, u32 */
};

enum err names_add(struct txn *, struct slice key, enum names_form, uint32_t more) MUST_CHECK;
/* *ret_last: nobody names it any more. */
enum err names_drop(struct txn *, struct slice key, enum names_form, bool *ret_last) MUST_CHECK;
/* Is there a count at all in [from, until)? For many drops at once: if not, each of them is the last of its thing. */
enum err names_any(struct txn *, struct slice from, struct slice until, bool *ret) MUST_CHECK;

void names_encode(struct buf *, enum names_form, uint32_t count);
enum err names_decode(struct slice record, enum names_form, uint32_t *ret) MUST_CHECK;

#endif

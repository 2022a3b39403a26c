/* SPDX-License-Identifier: Apache-2.0
 * No opens at all, until the room's own functions are linked. */
#ifndef TEST_UNIT_SVC_FILE_OPENS_NONE_H
#define TEST_UNIT_SVC_FILE_OPENS_NONE_H
#include "svc/file/open.h"
__attribute__((weak)) enum err file_opens_rest_access(struct txn *t, uint64_t i, enum file_rest_op o,
						      struct file_breaks *b)
{
	(void)t;
	(void)i;
	(void)o;
	(void)b;
	return ERR_OK;
}
__attribute__((weak)) enum err file_opens_rest_range(struct txn *t, uint64_t i, bool w, uint64_t o, uint64_t l)
{
	(void)t;
	(void)i;
	(void)w;
	(void)o;
	(void)l;
	return ERR_OK;
}
__attribute__((weak)) enum err file_opens_is_delete_pending(struct txn *t, uint64_t i, bool *ret)
{
	(void)t;
	(void)i;
	*ret = false;
	return ERR_OK;
}
__attribute__((weak)) enum err file_opens_below(struct txn *t, uint64_t i, struct file_breaks *b)
{
	(void)t;
	(void)i;
	(void)b;
	return ERR_OK;
}
#endif

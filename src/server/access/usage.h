/* SPDX-License-Identifier: Apache-2.0
 * Quotas of stored bytes for what is there already: containers made later are counted from their creation on. */
#ifndef SERVER_USAGE_H
#define SERVER_USAGE_H

#include "auth/auth.h"
#include "base/buf.h"
#include "store/store.h"

/* Counts every container, queue, table and share of accounts that have such a quota, and sets their bounds. Blocks: a
 * million rows take about a second. Before limits take effect. */
bool usage_prepare(struct store *, const struct auth_account *, size_t count, struct buf *error);

#endif

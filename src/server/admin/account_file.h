/* SPDX-License-Identifier: Apache-2.0
 * Changing the text of an accounts file: one account is added, replaced or left out; everything else, comments too,
 * stays as it was. Pure. */
#ifndef SERVER_ACCOUNT_FILE_H
#define SERVER_ACCOUNT_FILE_H

#include "base/buf.h"

/* `row` ("name:key1:key2") takes the place of the row of `name`; absent: the row goes. *ret_found: there was one.
 * A row that was not there is appended on a line of its own, if `row` is given. */
void accounts_file_edit(struct slice text, struct slice name, struct slice row, bool *ret_found, struct buf *out);

#endif

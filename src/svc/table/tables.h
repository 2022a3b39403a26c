/* SPDX-License-Identifier: Apache-2.0
 * The tables of an account: one page of their list. A table is a resource (svc/account/resource.h); its
 * entities live in the partition of its generation. */
#ifndef SVC_TABLE_TABLES_H
#define SVC_TABLE_TABLES_H

#include "svc/account/names.h"
#include "svc/table/filter.h"

enum { TABLES_PAGE_MAX = 1000 };

/* One page of names, in order, on the account's partition. */
struct tables_list {
	const struct filter *filter; /* on TableName, from filter_parse_lower; NULL: all */
	struct slice from_name;	     /* absent: from the beginning */
	size_t limit;		     /* at most TABLES_PAGE_MAX; 0: an empty page */
	/* out, in the transaction's arena */
	struct slice *name;
	size_t count;
	struct slice next_name; /* absent at the end */
};
enum err tables_list_apply(struct txn *, void *tables_list);

#endif

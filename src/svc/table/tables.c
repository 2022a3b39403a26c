/* SPDX-License-Identifier: Apache-2.0
 * The page of the list of tables. See tables.h. */
#include "svc/table/tables.h"

#include "svc/account/resource.h"

#include <assert.h>

enum { SCAN_PAGE = 200 }; /* records held at once: a filter may reject any number of them */

/* Names of tables have no case: both sides are compared in lower case. */
static bool name_matches(const struct filter *f, struct slice name)
{
	struct edm_value values[FILTER_COMPARISONS_MAX];
	char lower[TABLE_NAME_MAX];
	assert(name.len <= sizeof lower);
	for (size_t i = 0; i < name.len; i++)
		lower[i] = name.ptr[i] >= 'A' && name.ptr[i] <= 'Z' ? (char)(name.ptr[i] + 32) : name.ptr[i];
	for (size_t i = 0; i < f->property_count; i++) {
		bool is_name = slice_eq(f->property[i], SLICE("TableName"));
		values[i] = (struct edm_value){ .type = is_name ? EDM_STRING : EDM_NONE,
						.bytes = slice_make(lower, name.len) };
	}
	return filter_eval(f, values);
}

/* Copies the name into the `index`th place of `bytes`, where it outlives the page it was read from. */
static struct slice keep_name(char *bytes, size_t index, struct slice name)
{
	char *place = bytes + index * TABLE_NAME_MAX;
	assert(name.len <= TABLE_NAME_MAX);
	memcpy(place, name.ptr, name.len);
	return slice_make(place, name.len);
}

enum err tables_list_apply(struct txn *t, void *call)
{
	struct tables_list *l = call;
	assert(l->limit <= TABLES_PAGE_MAX);
	l->count = 0;
	l->next_name = SLICE_NONE;
	if (l->limit == 0) /* a page of none is no reason to come again */
		return ERR_OK;
	/* The names of the page, the one behind it, and where the next records begin. */
	l->name = arena_alloc(txn_arena(t), (l->limit + 1) * sizeof *l->name);
	char *bytes = arena_alloc(txn_arena(t), (l->limit + 2) * TABLE_NAME_MAX);
	if (!l->name || !bytes)
		return ERR_NO_MEMORY;
	struct slice from = l->from_name;
	do {
		struct arena_position position = arena_position(txn_arena(t));
		struct resource_page page;
		TRY(resource_list(t, RESOURCE_TABLE, SLICE(""), from, SCAN_PAGE, &page));
		for (size_t i = 0; i < page.count && !slice_is_set(l->next_name); i++) {
			struct slice name = page.resource[i].name;
			if (l->filter && !name_matches(l->filter, name))
				continue;
			struct slice kept = keep_name(bytes, l->count, name);
			if (l->count == l->limit)
				l->next_name = kept;
			else
				l->name[l->count++] = kept;
		}
		from = slice_is_set(page.next_name) ? keep_name(bytes, l->limit + 1, page.next_name) : SLICE_NONE;
		arena_rewind(txn_arena(t), position);
	} while (slice_is_set(from) && !slice_is_set(l->next_name));
	return ERR_OK;
}

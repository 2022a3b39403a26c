/* SPDX-License-Identifier: Apache-2.0
 * Does an entity match? One walk over its properties collects those the filter names, then the tree is asked. */
#include "svc/table/filter.h"

static bool compare_holds(const struct filter_node *n, const struct edm_value *stored)
{
	int order;
	if (!edm_compare(stored, &n->value, &order))
		return false;
	switch (n->op) {
	case FILTER_EQ:
		return order == 0;
	case FILTER_NE:
		return order != 0;
	case FILTER_GT:
		return order > 0;
	case FILTER_GE:
		return order >= 0;
	case FILTER_LT:
		return order < 0;
	case FILTER_LE:
		return order <= 0;
	}
	return false;
}

/* Left sides are chains as long as there are comparisons, nesting is bounded by the parser: the recursion is too. */
static bool eval(const struct filter_node *n, const struct edm_value *values)
{
	switch (n->kind) {
	case FILTER_AND:
		return eval(n->left, values) && eval(n->right, values);
	case FILTER_OR:
		return eval(n->left, values) || eval(n->right, values);
	case FILTER_NOT:
		return !eval(n->left, values);
	case FILTER_COMPARE:
		return compare_holds(n, &values[n->property]);
	case FILTER_CONSTANT:
		return n->value.boolean;
	case FILTER_TRUTH:
		return values[n->property].type == EDM_BOOLEAN && values[n->property].boolean;
	}
	return false;
}

bool filter_eval(const struct filter *f, const struct edm_value *values)
{
	return eval(f->root, values);
}

enum err filter_match(const struct filter *f, const struct entity *e, bool *ret)
{
	struct edm_value values[FILTER_COMPARISONS_MAX];
	size_t missing = 0;
	for (size_t i = 0; i < f->property_count; i++) {
		struct slice name = f->property[i];
		if (slice_eq(name, SLICE("PartitionKey"))) {
			values[i] = (struct edm_value){ .type = EDM_STRING, .bytes = e->partition_key };
		} else if (slice_eq(name, SLICE("RowKey"))) {
			values[i] = (struct edm_value){ .type = EDM_STRING, .bytes = e->row_key };
		} else if (slice_eq(name, SLICE("Timestamp"))) {
			values[i] = (struct edm_value){ .type = EDM_DATETIME, .ticks = e->ticks };
		} else {
			values[i].type = EDM_NONE;
			missing++;
		}
	}
	struct property_cursor c = property_cursor_make(e->properties);
	struct property p;
	while (missing && property_next(&c, &p))
		for (size_t i = 0; i < f->property_count; i++)
			if (slice_eq(f->property[i], p.name)) {
				values[i] = p.value;
				missing--;
				break;
			}
	if (c.failed)
		return ERR_CORRUPT;
	*ret = eval(f->root, values);
	return ERR_OK;
}

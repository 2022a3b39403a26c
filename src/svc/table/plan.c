/* SPDX-License-Identifier: Apache-2.0
 * From a filter to ranges of keys. Each subtree is approximated from above by a short list of boxes, an interval of
 * PartitionKeys times one of RowKeys: `and` intersects, `or` joins, `not` goes down to the comparisons (both keys are
 * always there and always strings, so the negation of a comparison of keys is the opposite comparison). What is about
 * other properties says nothing about keys: everything. Too many boxes also become everything, so the plan is never
 * wrong, only wide. */
#include "svc/table/filter.h"

struct bound {
	bool set;
	bool inclusive;
	struct slice value;
};

struct interval {
	struct bound lo, hi;
};

struct box {
	struct interval pk, rk;
};

struct boxes {
	size_t count;
	struct box box[PLAN_RANGES_MAX];
};

static void boxes_all(struct boxes *b)
{
	b->count = 1;
	b->box[0] = (struct box){ 0 };
}

static bool interval_is_all(const struct interval *i)
{
	return !i->lo.set && !i->hi.set;
}

static bool interval_is_point(const struct interval *i)
{
	return i->lo.set && i->hi.set && i->lo.inclusive && i->hi.inclusive && slice_eq(i->lo.value, i->hi.value);
}

static bool interval_is_empty(const struct interval *i)
{
	if (!i->lo.set || !i->hi.set)
		return false;
	int order = slice_cmp(i->lo.value, i->hi.value);
	return order > 0 || (order == 0 && !(i->lo.inclusive && i->hi.inclusive));
}

/* The stricter of two bounds; `direction` is 1 for lower bounds, -1 for upper ones. */
static struct bound bound_stricter(struct bound a, struct bound b, int direction)
{
	if (!a.set || !b.set)
		return a.set ? a : b;
	int order = slice_cmp(a.value, b.value) * direction;
	if (order == 0)
		return a.inclusive ? b : a;
	return order > 0 ? a : b;
}

static struct interval interval_meet(const struct interval *a, const struct interval *b)
{
	return (struct interval){ bound_stricter(a->lo, b->lo, 1), bound_stricter(a->hi, b->hi, -1) };
}

static bool boxes_is_all(const struct boxes *b)
{
	return b->count == 1 && interval_is_all(&b->box[0].pk) && interval_is_all(&b->box[0].rk);
}

static void boxes_and(const struct boxes *a, const struct boxes *b, struct boxes *ret)
{
	ret->count = 0;
	for (size_t i = 0; i < a->count; i++)
		for (size_t j = 0; j < b->count; j++) {
			struct box m = { interval_meet(&a->box[i].pk, &b->box[j].pk),
					 interval_meet(&a->box[i].rk, &b->box[j].rk) };
			if (interval_is_empty(&m.pk) || interval_is_empty(&m.rk))
				continue;
			if (ret->count == PLAN_RANGES_MAX) {
				/* Either side alone is a right answer too. */
				*ret = boxes_is_all(a) ? *b : *a;
				return;
			}
			ret->box[ret->count++] = m;
		}
}

static void boxes_or(const struct boxes *a, const struct boxes *b, struct boxes *ret)
{
	if (a->count + b->count > PLAN_RANGES_MAX) {
		boxes_all(ret);
		return;
	}
	*ret = *a;
	memcpy(ret->box + ret->count, b->box, b->count * sizeof b->box[0]);
	ret->count += b->count;
}

static void boxes_compare(const struct filter *f, const struct filter_node *n, bool negated, struct boxes *ret)
{
	static const enum filter_op opposite[] = { FILTER_NE, FILTER_EQ, FILTER_LE, FILTER_LT, FILTER_GE, FILTER_GT };
	bool is_pk = slice_eq(f->property[n->property], SLICE("PartitionKey"));
	boxes_all(ret);
	if (!is_pk && !slice_eq(f->property[n->property], SLICE("RowKey")))
		return;
	if (n->value.type != EDM_STRING) {
		/* Never true of a key. */
		ret->count = negated;
		return;
	}
	enum filter_op op = negated ? opposite[n->op] : n->op;
	struct interval *i = is_pk ? &ret->box[0].pk : &ret->box[0].rk;
	struct bound b = { true, op != FILTER_GT && op != FILTER_LT, n->value.bytes };
	if (op == FILTER_EQ || op == FILTER_GT || op == FILTER_GE)
		i->lo = b;
	if (op == FILTER_EQ || op == FILTER_LT || op == FILTER_LE)
		i->hi = b;
}

static void boxes_of(const struct filter *f, const struct filter_node *n, bool negated, struct boxes *ret)
{
	struct boxes left, right;
	/* Not by recursion: only as many lists as there are comparisons stand on the stack. */
	for (; n->kind == FILTER_NOT; n = n->left)
		negated = !negated;
	switch (n->kind) {
	case FILTER_AND:
	case FILTER_OR:
		boxes_of(f, n->left, negated, &left);
		boxes_of(f, n->right, negated, &right);
		if ((n->kind == FILTER_AND) != negated)
			boxes_and(&left, &right, ret);
		else
			boxes_or(&left, &right, ret);
		break;
	case FILTER_COMPARE:
		boxes_compare(f, n, negated, ret);
		break;
	case FILTER_CONSTANT:
		boxes_all(ret);
		ret->count = n->value.boolean != negated;
		break;
	case FILTER_NOT:
	case FILTER_TRUTH:
		boxes_all(ret);
		break;
	}
}

/* ---- Boxes to keys ---- */

/* The first key of an interval of strings behind `prefix`. */
static void key_low(struct key *k, const struct bound *lo)
{
	if (!lo->set)
		return;
	key_str(k, lo->value);
	if (!lo->inclusive)
		key_prefix_end(k);
}

/* The first key behind the interval. */
static void key_high(struct key *k, const struct bound *hi)
{
	if (hi->set)
		key_str(k, hi->value);
	if (!hi->set || hi->inclusive)
		key_prefix_end(k);
}

static enum err range_make(const struct box *b, struct arena *arena, struct plan_range *ret)
{
	struct key from, until;
	bool one_pk = interval_is_point(&b->pk);
	key_init(&from);
	key_init(&until);
	key_tag(&from, 'e');
	key_tag(&until, 'e');
	if (one_pk) {
		key_str(&from, b->pk.lo.value);
		key_str(&until, b->pk.lo.value);
	}
	key_low(&from, one_pk ? &b->rk.lo : &b->pk.lo);
	key_high(&until, one_pk ? &b->rk.hi : &b->pk.hi);
	ret->point = one_pk && interval_is_point(&b->rk);
	if (from.overflow || until.overflow) {
		/* No stored key is that long; a wide plan finds nothing as well. */
		key_init(&from);
		key_init(&until);
		key_tag(&from, 'e');
		key_tag(&until, 'f');
		ret->point = false;
	}
	ret->from = arena_dup(arena, key_slice(&from));
	ret->until = arena_dup(arena, key_slice(&until));
	return slice_is_set(ret->from) && slice_is_set(ret->until) ? ERR_OK : ERR_NO_MEMORY;
}

/* In order, overlapping ones made one. */
static void plan_settle(struct plan *p)
{
	for (size_t i = 1; i < p->count; i++) {
		struct plan_range r = p->range[i];
		size_t j = i;
		for (; j > 0 && slice_cmp(p->range[j - 1].from, r.from) > 0; j--)
			p->range[j] = p->range[j - 1];
		p->range[j] = r;
	}
	size_t n = 0;
	for (size_t i = 0; i < p->count; i++) {
		struct plan_range *last = n ? &p->range[n - 1] : NULL;
		if (last && slice_cmp(p->range[i].from, last->until) < 0) {
			last->point = last->point && p->range[i].point;
			if (slice_cmp(p->range[i].until, last->until) > 0)
				last->until = p->range[i].until;
		} else {
			p->range[n++] = p->range[i];
		}
	}
	p->count = n;
}

static const char *plan_name(const struct boxes *b, const struct plan *p)
{
	bool points = true, one_pk = true, bounded = true;
	for (size_t i = 0; i < p->count; i++)
		points = points && p->range[i].point;
	for (size_t i = 0; i < b->count; i++) {
		one_pk = one_pk && interval_is_point(&b->box[i].pk);
		bounded = bounded && !interval_is_all(&b->box[i].pk);
	}
	if (!p->count)
		return "none";
	if (points)
		return p->count == 1 ? "point" : "points";
	return one_pk ? "range pk" : bounded ? "range" : "scan";
}

enum err plan_make(const struct filter *f, struct arena *arena, struct plan *ret)
{
	struct boxes b;
	if (f)
		boxes_of(f, f->root, false, &b);
	else
		boxes_all(&b);
	ret->count = 0;
	for (size_t i = 0; i < b.count; i++)
		if (!interval_is_empty(&b.box[i].pk) && !interval_is_empty(&b.box[i].rk))
			TRY(range_make(&b.box[i], arena, &ret->range[ret->count++]));
	plan_settle(ret);
	ret->name = plan_name(&b, ret);
	return ERR_OK;
}

void plan_clip(struct plan *p, struct slice from, struct slice until)
{
	size_t n = 0;
	for (size_t i = 0; i < p->count; i++) {
		struct plan_range r = p->range[i];
		if (slice_is_set(from) && slice_cmp(r.from, from) < 0) {
			r.from = from;
			r.point = false;
		}
		if (slice_is_set(until) && slice_cmp(until, r.until) < 0) {
			r.until = until;
			r.point = false;
		}
		if (slice_cmp(r.from, r.until) < 0)
			p->range[n++] = r;
	}
	p->count = n;
}

/* The first key within the bound, or (`behind`) the first one behind it. A bound without a RowKey is one of the whole
 * PartitionKey. */
static enum err bound_key(struct slice partition_key, struct slice row_key, bool behind, struct arena *arena,
			  struct slice *ret)
{
	struct key k;
	if (!slice_is_set(partition_key))
		return ERR_OK;
	key_init(&k);
	key_tag(&k, 'e');
	key_str(&k, partition_key);
	if (slice_is_set(row_key))
		key_str(&k, row_key);
	if (behind)
		key_prefix_end(&k);
	if (k.overflow)
		return ERR_LIMIT;
	*ret = arena_dup(arena, key_slice(&k));
	return slice_is_set(*ret) ? ERR_OK : ERR_NO_MEMORY;
}

enum err plan_clip_to_bounds(struct plan *p, const struct entity_bounds *b, struct arena *arena)
{
	struct slice from = SLICE_NONE, until = SLICE_NONE;
	TRY(bound_key(b->start_partition_key, b->start_row_key, false, arena, &from));
	TRY(bound_key(b->end_partition_key, b->end_row_key, true, arena, &until));
	plan_clip(p, from, until);
	return ERR_OK;
}

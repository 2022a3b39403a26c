/* SPDX-License-Identifier: Apache-2.0
 * Walking over a large document without a tree: only brackets and quotes are looked at. What a value holds is judged
 * when it is parsed. */
#include "wire/json.h"

static const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
		p++;
	return p;
}

/* Behind the quote that closes the string at p; NULL: it is not closed. */
static const char *skip_string(const char *p, const char *end)
{
	for (p++; p < end; p++) {
		if (*p == '"')
			return p + 1;
		if (*p == '\\')
			p++;
	}
	return NULL;
}

static const char *skip_nested(const char *p, const char *end)
{
	size_t depth = 0;
	while (p && p < end) {
		if (*p == '"') {
			p = skip_string(p, end);
			continue;
		}
		depth += *p == '{' || *p == '[';
		depth -= *p == '}' || *p == ']';
		p++;
		if (depth == 0)
			return p;
	}
	return NULL;
}

/* Behind the value at p; NULL: there is none, or it is cut short. */
static const char *skip_value(const char *p, const char *end)
{
	if (p < end && *p == '"')
		return skip_string(p, end);
	if (p < end && (*p == '{' || *p == '['))
		return skip_nested(p, end);
	const char *from = p;
	while (p < end && !strchr(",:{}[]\" \t\r\n", *p))
		p++;
	return p > from ? p : NULL;
}

bool json_walk_begin(struct json_walk *w, struct slice value)
{
	const char *end = value.ptr + value.len, *p = skip_blanks(value.ptr, end);
	*w = (struct json_walk){ .state = JSON_WALK_BROKEN };
	if (p == end || (*p != '{' && *p != '['))
		return false;
	*w = (struct json_walk){ .at = p + 1, .end = end, .object = *p == '{', .state = JSON_WALK_FIRST };
	return true;
}

/* A name and its colon: where the value begins, or NULL. */
static const char *take_name(struct json_walk *w, const char *p)
{
	const char *behind = p < w->end && *p == '"' ? skip_string(p, w->end) : NULL;
	if (!behind)
		return NULL;
	w->name = slice_make(p + 1, (size_t)(behind - p) - 2);
	p = skip_blanks(behind, w->end);
	return p < w->end && *p == ':' ? skip_blanks(p + 1, w->end) : NULL;
}

static bool walk_stop(struct json_walk *w, enum json_walk_state state)
{
	w->state = state;
	return false;
}

bool json_walk_next(struct json_walk *w)
{
	if (w->state != JSON_WALK_FIRST && w->state != JSON_WALK_MORE)
		return false;
	const char *p = skip_blanks(w->at, w->end);
	if (p < w->end && *p == (w->object ? '}' : ']'))
		return walk_stop(w, JSON_WALK_DONE);
	if (w->state == JSON_WALK_MORE) {
		if (p == w->end || *p != ',')
			return walk_stop(w, JSON_WALK_BROKEN);
		p = skip_blanks(p + 1, w->end);
	}
	if (w->object)
		p = take_name(w, p);
	const char *behind = p ? skip_value(p, w->end) : NULL;
	if (!behind)
		return walk_stop(w, JSON_WALK_BROKEN);
	w->value = slice_make(p, (size_t)(behind - p));
	w->at = behind;
	w->state = JSON_WALK_MORE;
	return true;
}

struct slice json_walk_find(struct slice object, const char *name)
{
	struct json_walk w;
	struct slice wanted = slice_str(name);
	if (!json_walk_begin(&w, object) || !w.object)
		return SLICE_NONE;
	while (json_walk_next(&w))
		if (slice_eq(w.name, wanted))
			return w.value;
	return SLICE_NONE;
}

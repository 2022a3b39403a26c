/* SPDX-License-Identifier: Apache-2.0
 * Text to values of properties. See entity_value.h. */
#include "rest/table/entity_value.h"

#include "base/sys/rng.h"
#include "wire/base64.h"
#include "wire/json.h"

#include <math.h>

static bool parse_double(struct slice text, double *ret)
{
	if (slice_eq(text, SLICE("NaN")))
		*ret = (double)NAN;
	else if (slice_eq(text, SLICE("Infinity")) || slice_eq(text, SLICE("INF")))
		*ret = (double)INFINITY;
	else if (slice_eq(text, SLICE("-Infinity")) || slice_eq(text, SLICE("-INF")))
		*ret = -(double)INFINITY;
	else
		return text.len && (text.ptr[0] == '-' || (unsigned char)(text.ptr[0] - '0') < 10) &&
		       json_number_to_double(text, ret);
	return true;
}

static bool parse_integer(struct slice text, int64_t low, int64_t high, int64_t *ret)
{
	return slice_to_i64(text, ret) && *ret >= low && *ret <= high;
}

static bool parse_boolean(struct slice text, bool *ret)
{
	*ret = slice_eq_nocase(text, SLICE("true"));
	return *ret || slice_eq_nocase(text, SLICE("false"));
}

static enum err parse_binary(struct slice text, struct arena *arena, struct slice *ret)
{
	enum err e = base64_decode(text, arena, ret);
	if (e)
		return e == ERR_SYNTAX ? ERR_INVALID_VALUE_TYPE : e;
	return ret->len > ENTITY_VALUE_BYTES_MAX ? ERR_ENTITY_TOO_LARGE : ERR_OK;
}

static enum err parse_guid(struct slice text, struct arena *arena, struct slice *ret)
{
	struct uuid *u = ARENA_NEW(arena, struct uuid);
	if (!u)
		return ERR_NO_MEMORY;
	*ret = slice_make(u->bytes, sizeof u->bytes);
	return uuid_parse(text, u) ? ERR_OK : ERR_INVALID_VALUE_TYPE;
}

static bool string_too_long(const struct edm_value *v)
{
	/* UTF-16 at most doubles the bytes. */
	return v->bytes.len > ENTITY_VALUE_BYTES_MAX / 2 && edm_value_size(v) > ENTITY_VALUE_BYTES_MAX;
}

enum err rest_entity_value_parse(struct slice text, enum edm_type type, struct arena *arena, struct edm_value *v)
{
	bool ok = false;
	v->type = type;
	switch (type) {
	case EDM_STRING:
		v->bytes = text;
		return string_too_long(v) ? ERR_ENTITY_TOO_LARGE : ERR_OK;
	case EDM_BINARY:
		return parse_binary(text, arena, &v->bytes);
	case EDM_GUID:
		return parse_guid(text, arena, &v->bytes);
	case EDM_BOOLEAN:
		ok = parse_boolean(text, &v->boolean);
		break;
	case EDM_INT32:
		ok = parse_integer(text, INT32_MIN, INT32_MAX, &v->integer);
		break;
	case EDM_INT64:
		ok = parse_integer(text, INT64_MIN, INT64_MAX, &v->integer);
		break;
	case EDM_DOUBLE:
		ok = parse_double(text, &v->number);
		break;
	case EDM_DATETIME:
		ok = edm_datetime_parse(text, &v->ticks) && v->ticks >= EDM_DATETIME_MIN;
		break;
	case EDM_NONE:
	case EDM_TYPE_COUNT:
		return ERR_INVALID_INPUT;
	}
	return ok ? ERR_OK : ERR_INVALID_VALUE_TYPE;
}

enum err rest_entity_value_parse_typed(struct slice text, enum edm_type type, struct arena *arena,
				       struct edm_value *ret)
{
	enum err e = rest_entity_value_parse(text, type, arena, ret);
	bool number = type == EDM_INT32 || type == EDM_INT64;
	return e == ERR_INVALID_VALUE_TYPE && number ? ERR_UNREADABLE_INPUT : e;
}

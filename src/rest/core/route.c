/* SPDX-License-Identifier: Apache-2.0
 * The search in a service's table of operations. */
#include <string.h>

#include "rest/core/conn/exchange_int.h"
#include "rest/core/service.h"

const struct rest_service *rest_service_of(const struct request *r)
{
	return r->server->config.services[r->service];
}

static enum err not_built(struct request *r)
{
	const struct op *op = r->op;
	enum err e = op_not_built_error(rest_service_of(r), op);
	struct slice names = slice_str(op->selector + (*op->selector ? 2 : 0));
	if (e == ERR_UNSUPPORTED_HEADER)
		fault_add(r, "HeaderName", slice_cut(&names, ','));
	if (e == ERR_UNSUPPORTED_QUERY_PARAMETER)
		return fault_query(r, e, "comp", slice_str(op->comp), NULL);
	return e;
}

const struct handler handler_NOT_BUILT = { .parse = not_built };

/* "" = absent or empty, NULL = whatever it is. */
static bool param_fits(const char *wanted, struct slice value)
{
	if (!wanted)
		return true;
	return value.len ? slice_eq_nocase(slice_str(wanted), value) : !*wanted;
}

static bool selector_fits(const char *selector, const struct request *r)
{
	if (!*selector)
		return true;
	struct slice rest = slice_str(selector + 2);
	if (*selector == 'h') {
		while (slice_is_set(rest))
			if (!slice_is_set(http_header(r->head, slice_cut(&rest, ','))))
				return false;
		return true;
	}
	struct slice name = slice_cut(&rest, '=');
	struct slice value = query_get(&r->query, name);
	return slice_is_set(value) && (!slice_is_set(rest) || slice_eq_nocase(rest, value));
}

static bool level_fits(const struct op *op, const struct request *r)
{
	return op->level == LEVEL_ANY || op->level == r->level;
}

const struct op *op_find(const struct request *r)
{
	unsigned method = 1u << r->head->method;
	struct slice restype = query_get(&r->query, SLICE("restype")), comp = query_get(&r->query, SLICE("comp"));
	const struct rest_service *s = rest_service_of(r);
	for (const struct op *op = s->ops; op < s->ops + s->op_count; op++)
		if ((op->methods & method) && level_fits(op, r) && param_fits(op->comp, comp) &&
		    param_fits(op->restype, restype) && selector_fits(op->selector, r))
			return op;
	return NULL;
}

enum err op_not_built_error(const struct rest_service *s, const struct op *op)
{
	if (s->not_built_error != ERR_OK)
		return s->not_built_error;
	if (op->selector[0] == 'h')
		return ERR_UNSUPPORTED_HEADER;
	return op->comp && *op->comp ? ERR_UNSUPPORTED_QUERY_PARAMETER : ERR_UNSUPPORTED_HTTP_VERB;
}

static enum err verb_error(const struct request *r, struct slice comp)
{
	if (r->head->method == HTTP_OTHER)
		return ERR_INVALID_HTTP_VERB;
	enum err own = rest_service_of(r)->wrong_verb_error;
	return own != ERR_OK && !comp.len ? own : ERR_UNSUPPORTED_HTTP_VERB;
}

/* No row fits: the verb, if another one would; else the parameter that names no operation. */
enum err route_error(struct request *r)
{
	struct slice restype = query_get(&r->query, SLICE("restype")), comp = query_get(&r->query, SLICE("comp"));
	bool restype_known = !slice_is_set(restype);
	const struct rest_service *s = rest_service_of(r);
	for (const struct op *op = s->ops; op < s->ops + s->op_count; op++) {
		if (!level_fits(op, r) || op->methods == M_OPTIONS)
			continue;
		if (param_fits(op->restype, restype))
			restype_known = true;
		if (param_fits(op->comp, comp) && param_fits(op->restype, restype))
			return verb_error(r, comp);
	}
	if (!restype_known)
		return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "restype", restype, "");
	if (r->level == LEVEL_ANY)
		return ERR_INVALID_URI;
	return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "comp", slice_is_set(comp) ? comp : SLICE(""), "");
}

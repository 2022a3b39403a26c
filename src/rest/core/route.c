/* SPDX-License-Identifier: Apache-2.0
 * The table of operations and the search in it. Handlers are weak: a row whose handler is not linked is "not built". */
#include "rest/core/op.h"

#include <string.h>

#include "rest/core/exchange_int.h"

#define OP(id, service, methods, level, restype, comp, selector, sas, account_sas, srt, anon, body, name_, title)      \
	extern const struct handler handler_##name_ __attribute__((weak));
#include "rest/ops.def"
#undef OP

enum op_row {
#define OP(id, service, methods, level, restype, comp, selector, sas, account_sas, srt, anon, body, name_, title)      \
	ROW_##id,
#include "rest/ops.def"
#undef OP
};
/* The rows of a service stand together. */
static const enum op_row first_row[] = { [SERVICE_BLOB] = ROW_BLOB_LIST_CONTAINERS,
					 [SERVICE_QUEUE] = ROW_QUEUE_LIST,
					 [SERVICE_TABLE] = ROW_TABLE_SET_SERVICE,
					 [SERVICE_WEB] = ROW_WEB_GET };

static const struct op ops[] = {
#define OP(id_, service_, methods_, level_, restype_, comp_, selector_, sas_, account_sas_, srt_, anon_, body_, name_, \
	   title_)                                                                                                     \
	{ .id = #id_,                                                                                                  \
	  .service = SERVICE_##service_,                                                                               \
	  .methods = methods_,                                                                                         \
	  .level = LEVEL_##level_,                                                                                     \
	  .restype = restype_,                                                                                         \
	  .comp = comp_,                                                                                               \
	  .selector = selector_,                                                                                       \
	  .sas = sas_,                                                                                                 \
	  .account_sas = account_sas_,                                                                                 \
	  .resource_type = srt_,                                                                                       \
	  .anon = ANON_##anon_,                                                                                        \
	  .body = BODY_##body_,                                                                                        \
	  .handler = &handler_##name_,                                                                                 \
	  .title = title_ },
#include "rest/ops.def"
#undef OP
};

size_t op_count(void)
{
	return sizeof ops / sizeof *ops;
}

const struct op *op_at(size_t i)
{
	return &ops[i];
}

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

const struct op *op_next(enum service service, const struct op *before)
{
	const struct op *op = before ? before + 1 : &ops[first_row[service]];
	return op < ops + op_count() && op->service == service ? op : NULL;
}

const struct op *op_find(const struct request *r)
{
	unsigned method = 1u << r->head->method;
	struct slice restype = query_get(&r->query, SLICE("restype")), comp = query_get(&r->query, SLICE("comp"));
	for (const struct op *op = op_next(r->service, NULL); op; op = op_next(r->service, op))
		if ((op->methods & method) && level_fits(op, r) && param_fits(op->comp, comp) &&
		    param_fits(op->restype, restype) && selector_fits(op->selector, r))
			return op;
	return NULL;
}

enum err op_not_built_error(const struct op *op)
{
	if (op->service == SERVICE_TABLE)
		return ERR_NOT_IMPLEMENTED;
	if (op->selector[0] == 'h')
		return ERR_UNSUPPORTED_HEADER;
	return op->comp && *op->comp ? ERR_UNSUPPORTED_QUERY_PARAMETER : ERR_UNSUPPORTED_HTTP_VERB;
}

/* Tables and entities have a word of their own for it; what of Table is XML has the common one. */
static enum err verb_error(const struct request *r, struct slice comp)
{
	if (r->head->method == HTTP_OTHER)
		return ERR_INVALID_HTTP_VERB;
	return r->service == SERVICE_TABLE && !comp.len ? ERR_METHOD_NOT_ALLOWED : ERR_UNSUPPORTED_HTTP_VERB;
}

/* The verb alone makes some operations of the dfs endpoint look like others on blobs: DELETE ?recursive would remove one
 * blob where a directory was meant, HEAD ?resource=filesystem would look for a blob in $root. */
static const struct {
	unsigned methods;
	const char *name, *values;
} dfs_marks[] = {
	{ M_READ | M_PUT | M_DELETE, "resource", "filesystem,file,directory" },
	{ M_READ, "action", "getAccessControl,getStatus,checkAccess" },
	{ M_DELETE, "recursive", "true,false" },
};

enum err op_refuse_dfs(struct request *r)
{
	if (r->query.count == 0)
		return ERR_OK;
	for (size_t i = 0; i < sizeof dfs_marks / sizeof *dfs_marks; i++) {
		struct slice value = query_get(&r->query, slice_str(dfs_marks[i].name));
		if (!slice_is_set(value) || !(dfs_marks[i].methods & 1u << r->head->method))
			continue;
		/* Others mean nothing to us, and unknown parameters are no reason to refuse a read. */
		for (struct slice rest = slice_str(dfs_marks[i].values); slice_is_set(rest);)
			if (slice_eq_nocase(slice_cut(&rest, ','), value))
				return fault_query(r, ERR_UNSUPPORTED_QUERY_PARAMETER, dfs_marks[i].name, value, NULL);
	}
	return ERR_OK;
}

/* No row fits: the verb, if another one would; else the parameter that names no operation. */
enum err route_error(struct request *r)
{
	struct slice restype = query_get(&r->query, SLICE("restype")), comp = query_get(&r->query, SLICE("comp"));
	bool restype_known = !slice_is_set(restype);
	for (const struct op *op = op_next(r->service, NULL); op; op = op_next(r->service, op)) {
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

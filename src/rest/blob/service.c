/* SPDX-License-Identifier: Apache-2.0
 * Blob as a service: its table of operations, and how it reads a path. */
#include "rest/core/service.h"
#include "jobs/copy.h"
#include "rest/blob/ops.h"
#include "rest/common/cors.h"
#include "rest/common/policy.h"
#include "rest/common/service_handlers.h"
#include "rest/common/service_properties.h"
#include "rest/core/server.h"
#include "svc/blob/record.h"

#define OP OP_HANDLER
#include "rest/blob/ops.def"
#undef OP

static const struct op ops[] = {
#define OP OP_ROW
#include "rest/blob/ops.def"
#undef OP
};

/* Windows clients write paths with backslashes: to the service they are slashes. */
static enum err decode_blob_name(struct request *r, struct slice text)
{
	TRY(address_decode(r, text, &r->object));
	if (slice_find_byte(r->object, '\\') == r->object.len)
		return ERR_OK;
	char *name = arena_alloc(r->arena, r->object.len);
	if (!name)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < r->object.len; i++)
		name[i] = r->object.ptr[i] == '\\' ? '/' : r->object.ptr[i];
	r->object = slice_make(name, r->object.len);
	return ERR_OK;
}

/* /container[/blob...]; a lone segment is a container only if restype says so, else a blob of $root. */
static enum err split_path(struct request *r, struct slice path)
{
	struct slice rest = path;
	struct slice first = slice_cut(&rest, '/');
	if (slice_is_set(rest) && rest.len > 0) {
		r->level = LEVEL_OBJECT;
		TRY(address_decode(r, first, &r->container));
		return decode_blob_name(r, rest);
	}
	struct slice restype = request_param(r, "restype");
	if (!slice_is_set(rest) && (!slice_is_set(restype) || restype.len == 0)) {
		r->level = LEVEL_OBJECT;
		r->container = SLICE("$root");
		return decode_blob_name(r, first);
	}
	r->level = LEVEL_CONTAINER;
	return address_decode(r, first, &r->container);
}

/* The verb alone makes some operations of the dfs endpoint look like others on blobs: DELETE ?recursive would remove
 * one blob where a directory was meant, HEAD ?resource=filesystem would look for a blob in $root. */
static const struct {
	unsigned methods;
	const char *name, *values;
} dfs_marks[] = {
	{ M_READ | M_PUT | M_DELETE, "resource", "filesystem,file,directory" },
	{ M_READ, "action", "getAccessControl,getStatus,checkAccess" },
	{ M_DELETE, "recursive", "true,false" },
};

static enum err refuse_dfs(struct request *r)
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

static enum err find_default_version(struct request *r)
{
	struct service_properties p;
	uint32_t version;
	TRY(service_properties_load(r, &p));
	if (slice_is_set(p.default_version) && request_version_parse(p.default_version, &version))
		address_set_version(r, version, p.default_version);
	return ERR_OK;
}

static enum err start(struct rest_server *s, void **ret_state)
{
	struct copy_jobs *jobs;
	TRY(copy_jobs_new(s->store, &jobs));
	*ret_state = jobs;
	return ERR_OK;
}

static void stop(void *state)
{
	copy_jobs_free(state);
}

SERVICE_PROPERTIES_HANDLERS(blob);
SERVICE_STATS_HANDLER(blob);

const struct rest_service rest_service_blob = {
	.ops = ops,
	.op_count = sizeof ops / sizeof *ops,
	.properties = PROPERTY_LOGGING | PROPERTY_DEFAULT_VERSION | PROPERTY_DELETE_RETENTION | PROPERTY_WEBSITE,
	.weigh = blob_row_weigh,
	.split_path = split_path,
	.find_default_version = find_default_version,
	.find_policy = policy_find,
	.find_public_access = policy_find_public_access,
	.check_request = refuse_dfs,
	.decorate = cors_decorate,
	.start = start,
	.stop = stop,
};

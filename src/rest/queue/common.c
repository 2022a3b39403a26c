/* SPDX-License-Identifier: Apache-2.0
 * Finding the request's queue, and its integer parameters with the service's answers to bad ones. */
#include "rest/queue/common.h"

#include "svc/account/names.h"

enum err rest_queue_name_check(struct request *r)
{
	return name_check_container(r->container, false);
}

enum err rest_queue_find(struct request *r, struct resource *ret)
{
	TRY(rest_queue_name_check(r));
	enum err e = resource_find(r->server->store, r->account, RESOURCE_QUEUE, r->container, r->arena, ret);
	return e == ERR_NOT_FOUND ? ERR_QUEUE_NOT_FOUND : e;
}

enum err rest_queue_find_partition(struct request *r, struct slice *ret)
{
	struct resource q;
	TRY(rest_queue_find(r, &q));
	*ret = resource_generation_partition(r->arena, r->account, RESOURCE_QUEUE, q.generation);
	return slice_is_set(*ret) ? ERR_OK : ERR_NO_MEMORY;
}

enum err rest_queue_param_out_of_range(struct request *r, const char *name, struct slice value, int64_t min,
				       int64_t max)
{
	fault_query(r, ERR_OK, name, value, NULL);
	fault_add(r, "MinimumAllowed", arena_printf(r->arena, "%lld", (long long)min));
	fault_add(r, "MaximumAllowed", arena_printf(r->arena, "%lld", (long long)max));
	return ERR_OUT_OF_RANGE_QUERY_PARAMETER_VALUE;
}

enum err rest_queue_param(struct request *r, const char *name, int64_t min, int64_t max, int64_t fallback, int64_t *ret)
{
	struct slice text = request_param(r, name);
	int64_t v = fallback;
	if (slice_is_set(text)) {
		if (!slice_to_i64(text, &v))
			return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, name, text,
					   "Failed to parse the value as an integer.");
		if (v < min || v > max)
			return rest_queue_param_out_of_range(r, name, text, min, max);
	}
	*ret = v;
	return ERR_OK;
}

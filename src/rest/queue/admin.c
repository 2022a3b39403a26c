/* SPDX-License-Identifier: Apache-2.0
 * Create, delete and list queues; their metadata. */
#include "svc/queue/admin.h"
#include "rest/common/metadata.h"
#include "rest/queue/common.h"
#include "wire/xml.h"

enum { LIST_PAGE_MAX = 5000 };

/* ---- create ---- */

static enum err parse_create(struct request *r)
{
	struct resource_create *c = ARENA_NEW(r->arena, struct resource_create);
	if (!c)
		return ERR_NO_MEMORY;
	TRY(rest_queue_name_check(r));
	c->resource.kind = RESOURCE_QUEUE;
	c->resource.name = r->container;
	c->resource.generation = rng_u64(r->rng);
	c->exists_error = ERR_QUEUE_ALREADY_EXISTS;
	c->on_exists = queue_create_on_exists;
	TRY(metadata_parse(r, &c->resource.metadata));
	r->call = c;
	struct slice account = resource_account_partition(r->arena, r->account);
	struct slice below =
		resource_generation_partition(r->arena, r->account, RESOURCE_QUEUE, c->resource.generation);
	if (!slice_is_set(account) || !slice_is_set(below))
		return ERR_NO_MEMORY;
	request_step_write(r, account, resource_create_reserve);
	request_step_write(r, below, resource_create_open);
	request_step_write(r, account, resource_create_publish);
	return ERR_OK;
}

static enum err format_create(struct request *r)
{
	struct resource_create *c = r->call;
	TRY(c->refused);
	r->response.status = c->existed ? 204 : 201;
	return ERR_OK;
}

/* ---- delete ---- */

static enum err parse_delete(struct request *r)
{
	struct resource_delete *c = ARENA_NEW(r->arena, struct resource_delete);
	struct resource q;
	if (!c)
		return ERR_NO_MEMORY;
	TRY(rest_queue_find(r, &q));
	*c = (struct resource_delete){ .kind = RESOURCE_QUEUE,
				       .name = r->container,
				       .generation = q.generation,
				       .missing_error = ERR_QUEUE_NOT_FOUND };
	r->call = c;
	struct slice account = resource_account_partition(r->arena, r->account);
	struct slice below = resource_generation_partition(r->arena, r->account, RESOURCE_QUEUE, q.generation);
	if (!slice_is_set(account) || !slice_is_set(below))
		return ERR_NO_MEMORY;
	request_step_write(r, account, resource_delete_remove);
	request_step_write(r, below, resource_delete_close);
	return ERR_OK;
}

static enum err format_no_content(struct request *r)
{
	r->response.status = 204;
	return ERR_OK;
}

/* ---- metadata ---- */

struct get_metadata_call {
	struct queue_count count; /* first: queue_apply_count runs on it */
	struct resource queue;
};

static enum err parse_get_metadata(struct request *r)
{
	struct get_metadata_call *c = ARENA_NEW(r->arena, struct get_metadata_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(rest_queue_find(r, &c->queue));
	struct slice below = resource_generation_partition(r->arena, r->account, RESOURCE_QUEUE, c->queue.generation);
	if (!slice_is_set(below))
		return ERR_NO_MEMORY;
	request_step_read_points(r, below, queue_apply_count);
	return ERR_OK;
}

static enum err format_get_metadata(struct request *r)
{
	struct get_metadata_call *c = r->call;
	r->response.status = 200;
	response_header(r, "Cache-Control", SLICE("no-cache"));
	response_header_u64(r, "x-ms-approximate-messages-count", c->count.count);
	metadata_put_headers(r, &c->queue.metadata);
	return ERR_OK;
}

static enum err parse_set_metadata(struct request *r)
{
	struct queue_set_metadata *c = ARENA_NEW(r->arena, struct queue_set_metadata);
	if (!c)
		return ERR_NO_MEMORY;
	TRY(rest_queue_name_check(r));
	TRY(metadata_parse(r, &c->metadata));
	c->name = r->container;
	r->call = c;
	struct slice account = resource_account_partition(r->arena, r->account);
	if (!slice_is_set(account))
		return ERR_NO_MEMORY;
	request_step_write(r, account, queue_set_metadata_apply);
	return ERR_OK;
}

/* ---- list ---- */

struct list_call {
	struct queue_list list; /* first: what apply sees */
	struct slice marker;
	bool has_limit, metadata;
};

/* Markers are "/account/queue", as the service's; a plain name is taken too. */
static struct slice marker_name(const struct request *r, struct slice marker)
{
	if (marker.len == 0)
		return SLICE_NONE;
	if (marker.ptr[0] != '/' || !slice_has_prefix(slice_from(marker, 1), r->account))
		return marker;
	struct slice rest = slice_from(marker, 1 + r->account.len);
	return rest.len && rest.ptr[0] == '/' ? slice_from(rest, 1) : marker;
}

static enum err parse_list(struct request *r)
{
	struct list_call *c = ARENA_NEW(r->arena, struct list_call);
	int64_t limit;
	if (!c)
		return ERR_NO_MEMORY;
	struct slice prefix = request_param(r, "prefix"), include = request_param(r, "include");
	c->list.prefix = slice_is_set(prefix) ? prefix : SLICE("");
	c->marker = request_param(r, "marker");
	c->list.from_name = marker_name(r, c->marker);
	c->has_limit = slice_is_set(request_param(r, "maxresults"));
	TRY(rest_queue_param(r, "maxresults", 1, INT32_MAX, LIST_PAGE_MAX, &limit));
	c->list.limit = limit < LIST_PAGE_MAX ? (size_t)limit : LIST_PAGE_MAX;
	if (slice_is_set(include) && include.len) {
		c->metadata = slice_eq_nocase(include, SLICE("metadata"));
		if (!c->metadata)
			return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "include", include,
					   "Invalid query parameter value.");
	}
	r->call = c;
	struct slice account = resource_account_partition(r->arena, r->account);
	if (!slice_is_set(account))
		return ERR_NO_MEMORY;
	request_step_read(r, account, queue_list_apply);
	return ERR_OK;
}

static void put_queue(struct buf *b, const struct resource *q, bool metadata)
{
	xml_open(b, "Queue");
	xml_put(b, "Name", q->name);
	if (metadata)
		metadata_put_xml(b, &q->metadata);
	xml_close(b, "Queue");
}

static struct slice service_endpoint(struct request *r)
{
	const char *scheme = r->secure ? "https" : "http";
	if (r->path_style)
		return arena_printf(r->arena, "%s://%.*s/%.*s", scheme, SLICE_FMT(r->head->host),
				    SLICE_FMT(r->account));
	return arena_printf(r->arena, "%s://%.*s/", scheme, SLICE_FMT(r->head->host));
}

static enum err format_list(struct request *r)
{
	struct list_call *c = r->call;
	struct buf *b = &r->response.body;
	r->response.status = 200;
	response_header(r, "Cache-Control", SLICE("no-cache"));
	response_header(r, "Content-Type", SLICE("application/xml"));
	xml_begin(b);
	xml_open_attr(b, "EnumerationResults", "ServiceEndpoint", service_endpoint(r));
	if (c->list.prefix.len)
		xml_put(b, "Prefix", c->list.prefix);
	if (slice_is_set(c->marker) && c->marker.len)
		xml_put(b, "Marker", c->marker);
	if (c->has_limit)
		xml_put_u64(b, "MaxResults", c->list.limit);
	xml_open(b, "Queues");
	for (size_t i = 0; i < c->list.page.count; i++)
		put_queue(b, &c->list.page.resource[i], c->metadata);
	xml_close(b, "Queues");
	struct slice next = SLICE_NONE;
	if (slice_is_set(c->list.page.next_name))
		next = arena_printf(r->arena, "/%.*s/%.*s", SLICE_FMT(r->account), SLICE_FMT(c->list.page.next_name));
	xml_put(b, "NextMarker", next);
	xml_close(b, "EnumerationResults");
	return ERR_OK;
}

const struct handler handler_queue_create = { .parse = parse_create, .format = format_create };
const struct handler handler_queue_delete = { .parse = parse_delete, .format = format_no_content };
const struct handler handler_queue_get_metadata = { .parse = parse_get_metadata, .format = format_get_metadata };
const struct handler handler_queue_set_metadata = { .parse = parse_set_metadata, .format = format_no_content };
const struct handler handler_queue_list = { .parse = parse_list, .format = format_list };

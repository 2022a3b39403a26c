/* SPDX-License-Identifier: Apache-2.0
 * Find Blobs by Tags: in one container, or in all of an account, container by container in name order. */
#include "rest/blob_common.h"
#include "rest/blob_tags.h"
#include "rest/paging.h"
#include "rest/server.h"
#include "svc/blob/tags.h"
#include "wire/xml.h"

enum { FIND_CONTAINERS_PER_PAGE = 1000 };

struct find_item {
	struct slice container;
	struct tag_find_item item;
};

struct find_call {
	struct paging paging;
	struct slice where;
	struct tag_filter filter;
	struct slice from_container, from_name; /* marker */
	struct resource_page containers;
	struct find_item *item;
	size_t count;
	struct slice next_container, next_name; /* absent at the end */
};

static enum err parse_where(struct request *r, struct find_call *c)
{
	size_t position;
	const char *reason;
	c->where = request_param(r, "where");
	if (!slice_is_set(c->where) || c->where.len == 0)
		return fault_query(r, ERR_MISSING_REQUIRED_QUERY_PARAMETER, "where", SLICE_NONE, NULL);
	if (tag_filter_parse(c->where, TAG_FIND, r->arena, &c->filter, &position, &reason) == ERR_OK)
		return ERR_OK;
	r->fault.message =
		arena_printf(r->arena, "Error parsing query at or near character position %zu: %s", position, reason);
	return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "where", c->where, NULL);
}

static enum err find_in(struct request *r, struct find_call *c, const struct resource *container)
{
	struct tag_find_call find = { .filter = &c->filter, .limit = c->paging.limit - c->count };
	struct slice partition =
		resource_generation_partition(r->arena, r->account, RESOURCE_CONTAINER, container->generation);
	if (!slice_is_set(partition))
		return ERR_NO_MEMORY;
	if (slice_is_set(c->from_container) && slice_eq(c->from_container, container->name))
		find.from = c->from_name;
	enum err e = store_read(r->server->store, partition, tags_apply_find, &find, r->arena);
	if (e == ERR_CONTAINER_NOT_FOUND)
		return ERR_OK; /* deleted meanwhile */
	TRY(e);
	for (size_t i = 0; i < find.count; i++)
		c->item[c->count++] = (struct find_item){ container->name, find.item[i] };
	if (find.more) {
		c->next_container = container->name;
		c->next_name = find.next;
	}
	return ERR_OK;
}

static enum err apply_containers(struct txn *txn, void *call)
{
	struct find_call *c = call;
	return resource_list(txn, RESOURCE_CONTAINER, SLICE(""), c->from_container, FIND_CONTAINERS_PER_PAGE,
			     &c->containers);
}

static enum err find_all(struct request *r)
{
	struct find_call *c = r->call;
	for (size_t i = 0; i < c->containers.count && !slice_is_set(c->next_container); i++) {
		const struct resource *container = &c->containers.resource[i];
		if (!tag_filter_wants_container(&c->filter, container->name))
			continue;
		if (c->count == c->paging.limit) {
			c->next_container = container->name;
			c->next_name = SLICE("");
			break;
		}
		TRY(find_in(r, c, container));
	}
	if (!slice_is_set(c->next_container) && slice_is_set(c->containers.next_name)) {
		c->next_container = c->containers.next_name;
		c->next_name = SLICE("");
	}
	return ERR_OK;
}

static enum err begin(struct request *r, struct find_call **ret)
{
	struct find_call *c = ARENA_NEW(r->arena, struct find_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(paging_parse(r, &c->paging));
	TRY(parse_where(r, c));
	if (slice_is_set(c->paging.marker)) {
		struct slice text;
		uint64_t unused;
		TRY(marker_decode(r, c->paging.marker, &text, &unused));
		c->from_container = slice_cut(&text, '/');
		c->from_name = slice_is_set(text) ? text : SLICE("");
	}
	c->item = ARENA_NEW_ARRAY(r->arena, struct find_item, c->paging.limit);
	*ret = c;
	return c->item ? ERR_OK : ERR_NO_MEMORY;
}

static enum err parse_account(struct request *r)
{
	struct find_call *c;
	TRY(begin(r, &c));
	struct slice account = resource_account_partition(r->arena, r->account);
	if (!slice_is_set(account))
		return ERR_NO_MEMORY;
	request_step_read(r, account, apply_containers);
	request_step_call(r, find_all);
	return ERR_OK;
}

static enum err parse_container(struct request *r)
{
	struct find_call *c;
	struct slice partition;
	TRY(begin(r, &c));
	c->containers.resource = ARENA_NEW(r->arena, struct resource);
	if (!c->containers.resource)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < c->filter.count; i++)
		if (!slice_is_set(c->filter.term[i].key))
			return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "where", c->where,
					   "@container is not allowed here.");
	TRY(blob_find_container(r, c->containers.resource, &partition));
	c->containers.count = 1;
	request_step_call(r, find_all);
	return ERR_OK;
}

static enum err format(struct request *r)
{
	struct find_call *c = r->call;
	struct buf *b = &r->response.body;
	struct paging shown = { .prefix = SLICE("") };
	r->response.status = 200;
	response_header(r, "Content-Type", SLICE("application/xml"));
	paging_open_xml(r, b, &shown, SLICE_NONE);
	xml_put(b, "Where", c->where);
	xml_open(b, "Blobs");
	for (size_t i = 0; i < c->count; i++) {
		const struct find_item *f = &c->item[i];
		xml_open(b, "Blob");
		xml_put_name(b, "Name", f->item.name);
		xml_put(b, "ContainerName", f->container);
		blob_tags_put_xml(b, &f->item.tags);
		xml_close(b, "Blob");
	}
	xml_close(b, "Blobs");
	if (slice_is_set(c->next_container)) {
		struct slice text =
			arena_printf(r->arena, "%.*s/%.*s", SLICE_FMT(c->next_container), SLICE_FMT(c->next_name));
		if (!slice_is_set(text))
			return ERR_NO_MEMORY;
		BUF_PUT(b, "<NextMarker>");
		marker_encode(b, text, 0);
		BUF_PUT(b, "</NextMarker>");
	} else {
		BUF_PUT(b, "<NextMarker />");
	}
	xml_close(b, "EnumerationResults");
	return ERR_OK;
}

const struct handler handler_blob_find_by_tags = { .parse = parse_account, .format = format };
const struct handler handler_container_find_by_tags = { .parse = parse_container, .format = format };

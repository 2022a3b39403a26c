/* SPDX-License-Identifier: Apache-2.0
 * Find Blobs by Tags: in one container, or in all of an account, container by container in name order. */
#include "rest/blob/common.h"
#include "rest/blob/tags.h"
#include "rest/common/paging.h"
#include "rest/core/server.h"
#include "svc/blob/tags.h"
#include "wire/xml.h"

/* A page ends when it is full, or when so much was looked at or is held in memory: then it has a marker, and maybe no
 * blob at all. */
enum { FIND_CONTAINERS_PER_PAGE = 1000, FIND_ROWS_PER_PAGE = 20000, FIND_PAGE_BYTES = 16 * 1024 * 1024 };

struct find_item {
	struct slice container;
	struct tag_find_item item;
};

struct find_call {
	struct paging paging;
	struct slice where;
	struct tag_filter filter;
	struct slice from_container; /* marker */
	struct tag_place from;
	struct resource_page containers;
	struct tag_find_room room;
	struct find_item *item;
	size_t count;
	struct slice next_container; /* absent at the end */
	struct tag_place next;
};

static enum err parse_where(struct request *r, struct find_call *c)
{
	size_t position;
	const char *reason;
	c->where = request_param(r, "where");
	if (!slice_is_set(c->where) || c->where.len == 0)
		return fault_query(r, ERR_MISSING_REQUIRED_QUERY_PARAMETER, "where", SLICE_NONE, NULL);
	if (blob_tag_filter_parse(c->where, TAG_FIND, r->arena, &c->filter, &position, &reason) == ERR_OK)
		return ERR_OK;
	r->fault.message =
		arena_printf(r->arena, "Error parsing query at or near character position %zu: %s", position, reason);
	return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "where", c->where, NULL);
}

/* The index knows the tags of current blobs: a page that leaves out the versions that were asked for would say that
 * there are none. */
static enum err parse_include(struct request *r)
{
	struct slice include = request_param(r, "include"), rest = include, item;
	while (include_next(&rest, &item)) {
		if (slice_eq_nocase(item, SLICE("versions")))
			return fault_query(r, ERR_UNSUPPORTED_QUERY_PARAMETER, "include", include, NULL);
		if (item.len && !slice_eq_nocase(item, SLICE("none")))
			return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "include", include,
					   "Invalid query parameter value.");
	}
	return ERR_OK;
}

static enum err find_in(struct request *r, struct find_call *c, const struct resource *container)
{
	struct tag_find_call find = { .filter = &c->filter, .limit = c->paging.limit - c->count, .room = c->room };
	struct slice partition =
		resource_generation_partition(r->arena, r->account, RESOURCE_CONTAINER, container->generation);
	if (!slice_is_set(partition))
		return ERR_NO_MEMORY;
	if (slice_is_set(c->from_container) && slice_eq(c->from_container, container->name))
		find.from = c->from;
	enum err e = store_read(r->server->store, partition, blob_apply_find_tags, &find, r->arena);
	if (e == ERR_CONTAINER_NOT_FOUND)
		return ERR_OK; /* deleted meanwhile */
	TRY(e);
	c->room = find.left;
	for (size_t i = 0; i < find.count; i++)
		c->item[c->count++] = (struct find_item){ container->name, find.item[i] };
	if (find.more) {
		c->next_container = container->name;
		c->next = find.next;
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
		if (!blob_tag_filter_wants_container(&c->filter, container->name))
			continue;
		if (c->count == c->paging.limit || !c->room.rows || !c->room.bytes) {
			c->next_container = container->name;
			break;
		}
		TRY(find_in(r, c, container));
	}
	if (!slice_is_set(c->next_container))
		c->next_container = c->containers.next_name;
	return ERR_OK;
}

/* The container's name, a slash, the value and the name of a place in its index; the number says how long the value is.
 * At the beginning of a container there is no place. */
static enum err parse_marker(struct request *r, struct find_call *c)
{
	struct slice text;
	uint64_t value_len;
	TRY(marker_decode(r, c->paging.marker, &text, &value_len));
	c->from_container = slice_cut(&text, '/');
	if (!slice_is_set(text) || text.len == 0)
		return ERR_OK;
	if (value_len > TAG_VALUE_MAX || value_len > text.len || text.len > LIMIT_KEY_BYTES)
		return ERR_OUT_OF_RANGE_INPUT;
	c->from = (struct tag_place){ slice_first(text, (size_t)value_len), slice_from(text, (size_t)value_len) };
	return ERR_OK;
}

static enum err put_marker(struct request *r, struct buf *b, const struct find_call *c)
{
	struct slice text = arena_printf(r->arena, "%.*s/%.*s%.*s", SLICE_FMT(c->next_container),
					 SLICE_FMT(c->next.value), SLICE_FMT(c->next.name));
	if (!slice_is_set(text))
		return ERR_NO_MEMORY;
	BUF_PUT(b, "<NextMarker>");
	marker_encode(b, text, c->next.value.len);
	BUF_PUT(b, "</NextMarker>");
	return ERR_OK;
}

static enum err begin(struct request *r, struct find_call **ret)
{
	struct find_call *c = ARENA_NEW(r->arena, struct find_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(paging_parse(r, &c->paging));
	TRY(parse_include(r));
	TRY(parse_where(r, c));
	if (slice_is_set(c->paging.marker))
		TRY(parse_marker(r, c));
	c->room = (struct tag_find_room){ FIND_ROWS_PER_PAGE, FIND_PAGE_BYTES };
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
	request_step_work(r, find_all);
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
	request_step_work(r, find_all);
	return ERR_OK;
}

static enum err format(struct request *r)
{
	struct find_call *c = r->call;
	struct buf *b = &r->response.body;
	struct paging shown = c->paging;
	r->response.status = 200;
	response_header(r, "Content-Type", SLICE("application/xml"));
	shown.prefix = SLICE("");
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
	if (slice_is_set(c->next_container))
		TRY(put_marker(r, b, c));
	else
		BUF_PUT(b, "<NextMarker />");
	xml_close(b, "EnumerationResults");
	return ERR_OK;
}

const struct handler handler_blob_find_by_tags = { .parse = parse_account, .format = format };
const struct handler handler_container_find_by_tags = { .parse = parse_container, .format = format };

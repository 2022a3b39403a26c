/* SPDX-License-Identifier: Apache-2.0
 * Tags: the headers, and Get/Set Blob Tags. */
#include "rest/blob/tags.h"

#include "rest/blob/common.h"
#include "rest/common/conditional.h"
#include "rest/common/fault_xml.h"
#include "svc/blob/tags_ops.h"
#include "wire/http/uri.h"
#include "wire/xml.h"

enum { TAGS_HEADER_MAX = 2 * 1024 };

enum err rest_blob_tags_permission(const struct request *r)
{
	return auth_allows(&r->identity, 't') ? ERR_OK : ERR_AUTHORIZATION_PERMISSION_MISMATCH;
}

enum err rest_blob_if_tags_parse(struct request *r, const struct tag_filter **ret)
{
	if (request_header(r, "x-ms-if-tags").len)
		TRY(rest_blob_tags_permission(r));
	return rest_blob_parse_if_tags(r, "x-ms-if-tags", ret);
}

static enum err check_tags(struct request *r, const struct pairs *p)
{
	if (p->count > TAGS_MAX)
		return ERR_TAGS_TOO_LARGE;
	for (size_t i = 0; i < p->count; i++) {
		if (p->pair[i].name.len == 0)
			return ERR_EMPTY_TAG_NAME;
		if (!blob_tag_is_valid(p->pair[i].name, p->pair[i].value))
			return rest_fault_xml_node(r, "Key", p->pair[i].name);
		for (size_t k = 0; k < i; k++)
			if (slice_eq(p->pair[k].name, p->pair[i].name))
				return ERR_DUPLICATE_TAG_NAMES;
	}
	return ERR_OK;
}

/* Query-string encoding, where '+' is a blank. */
static enum err decode_part(struct request *r, struct slice text, struct slice *ret)
{
	char *copy = arena_alloc(r->arena, text.len + 1);
	if (!copy)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < text.len; i++)
		copy[i] = text.ptr[i] == '+' ? ' ' : text.ptr[i];
	return uri_decode(slice_make(copy, text.len), r->arena, ret);
}

enum err rest_blob_tags_header_parse(struct request *r, struct pairs *ret)
{
	struct slice rest = request_header(r, "x-ms-tags"), all = rest;
	struct pairs p = { NULL, 0 };
	*ret = p;
	if (!slice_is_set(rest) || rest.len == 0)
		return ERR_OK;
	TRY(rest_blob_tags_permission(r));
	if (rest.len > TAGS_HEADER_MAX)
		return ERR_TAGS_TOO_LARGE;
	p.pair = ARENA_NEW_ARRAY(r->arena, struct pair, TAGS_MAX + 1);
	if (!p.pair)
		return ERR_NO_MEMORY;
	while (slice_is_set(rest) && p.count <= TAGS_MAX) {
		struct slice value = slice_cut(&rest, '&'), name = slice_cut(&value, '=');
		struct pair *t = &p.pair[p.count++];
		if (!slice_is_set(value))
			value = SLICE("");
		if (decode_part(r, name, &t->name) != ERR_OK || decode_part(r, value, &t->value) != ERR_OK)
			return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-tags", all);
	}
	enum err e = check_tags(r, &p);
	if (e == ERR_INVALID_XML_NODE_VALUE) {
		r->fault.count = 0;
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-tags", all);
	}
	*ret = p;
	return e;
}

/* ---- Set Blob Tags ---- */

struct set_call {
	struct blob_tags_call tags; /* first: the apply gets this */
	struct body_checks checks;
};

static enum err parse_target(struct request *r, struct blob_target *t)
{
	TRY(rest_blob_target_plain_any(r, t));
	return conditional_parse_tags(r, &t->conditions);
}

static enum err parse_set(struct request *r)
{
	struct slice partition;
	struct set_call *c = ARENA_NEW(r->arena, struct set_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(parse_target(r, &c->tags.target));
	if (c->tags.target.snapshot_ticks)
		return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "snapshot", request_param(r, "snapshot"),
				   "Tags of a snapshot cannot be changed.");
	TRY(body_checks_parse(r, &c->checks));
	TRY(rest_blob_find(r, &partition));
	request_step_write(r, partition, blob_apply_set_tags);
	return ERR_OK;
}

static enum err parse_set_body(struct request *r)
{
	struct set_call *c = r->call;
	struct xml_node *root;
	size_t count = 0;
	TRY(body_checks_compare_memory(r, &c->checks));
	TRY(rest_fault_xml_parse(r, &root));
	struct xml_node *set = xml_child(root, "TagSet");
	if (!xml_is(root, "Tags") || !set)
		return rest_fault_xml_reason(r, "Tags must hold a TagSet.");
	for (struct xml_node *n = set->child; n; n = n->next)
		count++;
	if (count > TAGS_MAX)
		return ERR_TAGS_TOO_LARGE;
	struct pairs *p = &c->tags.tags;
	p->pair = ARENA_NEW_ARRAY(r->arena, struct pair, count ? count : 1);
	if (!p->pair)
		return ERR_NO_MEMORY;
	for (struct xml_node *n = set->child; n; n = n->next) {
		struct slice key, value;
		TRY(rest_fault_xml_child_text(r, n, "Key", &key));
		TRY(rest_fault_xml_child_text(r, n, "Value", &value));
		if (!xml_is(n, "Tag") || !slice_is_set(key))
			return rest_fault_xml_reason(r, "A TagSet holds Tag elements with Key and Value.");
		p->pair[p->count++] = (struct pair){ key, slice_is_set(value) ? value : SLICE("") };
	}
	return check_tags(r, p);
}

static enum err format_set(struct request *r)
{
	r->response.status = 204;
	return ERR_OK;
}

/* ---- Get Blob Tags ---- */

static enum err parse_get(struct request *r)
{
	struct slice partition;
	struct blob_get_call *c = ARENA_NEW(r->arena, struct blob_get_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(parse_target(r, &c->target));
	TRY(rest_blob_find(r, &partition));
	request_step_read_points(r, partition, blob_apply_get);
	return ERR_OK;
}

void rest_blob_tags_put_xml(struct buf *b, const struct pairs *tags)
{
	xml_open(b, "Tags");
	xml_open(b, "TagSet");
	for (size_t i = 0; i < tags->count; i++) {
		xml_open(b, "Tag");
		xml_put(b, "Key", tags->pair[i].name);
		xml_put(b, "Value", tags->pair[i].value);
		xml_close(b, "Tag");
	}
	xml_close(b, "TagSet");
	xml_close(b, "Tags");
}

static enum err format_get(struct request *r)
{
	struct blob_get_call *c = r->call;
	r->response.status = 200;
	response_header(r, "Content-Type", SLICE("application/xml"));
	xml_begin(&r->response.body);
	rest_blob_tags_put_xml(&r->response.body, &c->blob.tags);
	return ERR_OK;
}

const struct handler handler_blob_set_tags = { .parse = parse_set, .parse_body = parse_set_body, .format = format_set };
const struct handler handler_blob_get_tags = { .parse = parse_get, .format = format_get };

enum err rest_blob_parse_if_tags(struct request *r, const char *header, const struct tag_filter **ret)
{
	struct slice text;
	size_t position;
	const char *reason;
	*ret = NULL;
	TRY(conditional_header(r, header, &text));
	if (!slice_is_set(text) || text.len == 0)
		return ERR_OK;
	struct tag_filter *f = ARENA_NEW(r->arena, struct tag_filter);
	if (!f)
		return ERR_NO_MEMORY;
	if (blob_tag_filter_parse(text, TAG_CONDITION, r->arena, f, &position, &reason) != ERR_OK)
		return fault_header(r, ERR_INVALID_HEADER_VALUE, header, text);
	*ret = f;
	return ERR_OK;
}

/* SPDX-License-Identifier: Apache-2.0
 * Put Block, Put Block List, Get Block List. */
#include "rest/blob/encryption.h"
#include "rest/common/fault_xml.h"
#include "rest/core/server.h"
#include "svc/blob/content/block_list.h"
#include "svc/blob/state.h"
#include "wire/base64.h"
#include "wire/xml.h"

/* ---- Put Block ---- */

struct block_call {
	struct blob_put_block_call put; /* first: the apply gets this */
	struct body_checks checks;
};

static uint64_t block_limit(uint32_t version)
{
	if (version >= VERSION(2019, 12, 12))
		return 4000 * MIB;
	return version >= VERSION(2016, 5, 31) ? 100 * MIB : 4 * MIB;
}

enum err rest_blob_block_id_parse(struct request *r, struct slice *ret)
{
	struct slice text = request_param(r, "blockid");
	if (!slice_is_set(text))
		return fault_query(r, ERR_MISSING_REQUIRED_QUERY_PARAMETER, "blockid", SLICE_NONE, NULL);
	if (text.len == 0 || base64_decode(text, r->arena, ret) != ERR_OK || ret->len == 0)
		return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "blockid", text, "Not a valid base64 string.");
	if (ret->len > BLOCK_ID_MAX_BYTES)
		return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "blockid", text,
				   "The block ID is longer than 64 bytes.");
	return ERR_OK;
}

static enum err parse_block(struct request *r)
{
	struct slice partition;
	struct block_call *c = ARENA_NEW(r->arena, struct block_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(rest_blob_block_id_parse(r, &c->put.block_id));
	TRY(rest_blob_target_plain(r, &c->put.target));
	TRY(rest_blob_encryption_parse(r, ENCRYPTION_CREATE, &c->put.target));
	TRY(body_checks_parse(r, &c->checks));
	TRY(rest_blob_encryption_find(r, ENCRYPTION_CREATE, &c->put.target, &partition));
	c->put.stage_id = rng_u64(r->rng);
	r->body_limit_bytes = block_limit(r->version);
	r->want_md5 = blob_answers_md5(r, &c->checks);
	r->want_crc64 = true;
	r->precheck = true;
	r->payload_in_extents = true;
	request_step_write(r, partition, blob_apply_put_block);
	return ERR_OK;
}

static enum err check_block(struct request *r)
{
	struct block_call *c = r->call;
	if (r->payload.length_bytes == 0)
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "Content-Length", SLICE("0"));
	TRY(body_checks_compare(r, &c->checks));
	c->put.payload = &r->payload;
	return ERR_OK;
}

static enum err format_block(struct request *r)
{
	struct block_call *c = r->call;
	r->response.status = 201;
	bool md5 = blob_answers_md5(r, &c->checks);
	body_checks_put_headers(r, md5, !md5);
	rest_blob_put_encrypted(r, &c->put.target.encryption);
	return ERR_OK;
}

/* ---- Put Block List ---- */

/* A plan is out of date when blocks of the same blob were put or committed meanwhile. Who does that all the time is
 * told to come again. */
enum { LIST_PLANS_MAX = 5 };

struct list_call {
	struct blob_put_block_list_call list; /* first: the apply gets this */
	struct body_checks checks;
	struct slice partition;
	struct arena_position parsed; /* behind it are plans */
	unsigned plans;
};

static enum err parse_list(struct request *r)
{
	struct list_call *c = ARENA_NEW(r->arena, struct list_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(body_checks_parse(r, &c->checks));
	TRY(rest_blob_http_parse(r, false, &c->list.put.http));
	TRY(rest_blob_put_headers_parse(r, &c->list.put));
	TRY(rest_blob_encryption_parse(r, ENCRYPTION_CREATE, &c->list.put.target));
	TRY(blob_check_tier(BLOB_BLOCK, c->list.put.tier));
	TRY(rest_blob_encryption_find(r, ENCRYPTION_CREATE, &c->list.put.target, &c->partition));
	c->list.plans_ahead = true;
	request_step_write(r, c->partition, blob_apply_put_block_list);
	return ERR_OK;
}

static enum err plan_list(struct request *r)
{
	struct list_call *c = r->call;
	return store_read(r->server->store, c->partition, blob_apply_plan_block_list, c, r->arena);
}

/* On a worker, and then to the committer. */
static void plan_steps(struct request *r)
{
	struct list_call *c = r->call;
	c->plans++;
	request_steps_clear(r);
	request_step_work(r, plan_list);
	request_step_write(r, c->partition, blob_apply_put_block_list);
}

static enum err refused_list(struct request *r, enum err e)
{
	struct list_call *c = r->call;
	if (e != ERR_BUDGET || c->plans >= LIST_PLANS_MAX)
		return e;
	c->list.plan = NULL;
	arena_rewind(r->arena, c->parsed);
	plan_steps(r);
	return ERR_OK;
}

static enum err parse_choice(struct request *r, const struct xml_node *node, struct block_choice *ret)
{
	if (xml_is(node, "Latest"))
		ret->source = BLOCK_LATEST;
	else if (xml_is(node, "Committed"))
		ret->source = BLOCK_COMMITTED;
	else if (xml_is(node, "Uncommitted"))
		ret->source = BLOCK_UNCOMMITTED;
	else
		return rest_fault_xml_reason(r, "Unknown element in the block list.");
	struct slice text = slice_trim(xml_text(node));
	if (base64_decode(text, r->arena, &ret->id) != ERR_OK || ret->id.len == 0 || ret->id.len > BLOCK_ID_MAX_BYTES)
		return ERR_INVALID_BLOCK_ID;
	return ERR_OK;
}

static enum err parse_list_body(struct request *r)
{
	struct list_call *c = r->call;
	struct xml_node *root;
	size_t count = 0;
	TRY(body_checks_compare_memory(r, &c->checks));
	TRY(rest_fault_xml_parse(r, &root));
	if (!xml_is(root, "BlockList"))
		return rest_fault_xml_reason(r, "The root element must be BlockList.");
	if (xml_has_text(root)) /* taken for an empty list it would make an empty blob */
		return rest_fault_xml_reason(r, "BlockList holds elements, not text.");
	for (struct xml_node *n = root->child; n; n = n->next)
		count++;
	if (count > BLOCKS_COMMITTED_MAX)
		return ERR_BLOCK_LIST_TOO_LONG;
	struct block_choice *choice = ARENA_NEW_ARRAY(r->arena, struct block_choice, count ? count : 1);
	if (!choice)
		return ERR_NO_MEMORY;
	size_t i = 0;
	for (struct xml_node *n = root->child; n; n = n->next)
		TRY(parse_choice(r, n, &choice[i++]));
	c->list.choice = choice;
	c->list.choice_count = count;
	c->parsed = arena_position(r->arena);
	if (count > BLOCK_LIST_LONG)
		plan_steps(r);
	return ERR_OK;
}

static enum err format_list(struct request *r)
{
	struct list_call *c = r->call;
	r->response.status = 201;
	rest_blob_put_etag(r, c->list.put.blob.etag, c->list.put.blob.modified_ticks);
	rest_blob_put_version(r, &c->list.put.blob);
	bool md5 = blob_answers_md5(r, &c->checks);
	body_checks_put_headers(r, md5, !md5);
	rest_blob_put_encrypted(r, &c->list.put.blob.encryption);
	return ERR_OK;
}

/* ---- Get Block List ---- */

enum { LIST_LOOP_BLOCKS = 10000 }; /* of an answer that the loop makes */

static enum err choose_formatter(struct request *r)
{
	const struct blob_get_block_list_call *c = r->call;
	if (c->committed_blocks.count + c->uncommitted_blocks.count > LIST_LOOP_BLOCKS)
		request_step_format(r);
	return ERR_OK;
}

static enum err parse_get_list(struct request *r)
{
	struct slice partition, type = request_param(r, "blocklisttype");
	struct blob_get_block_list_call *c = ARENA_NEW(r->arena, struct blob_get_block_list_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(rest_blob_target_plain_any(r, &c->target));
	bool all = slice_eq_nocase(type, SLICE("all"));
	c->uncommitted = all || slice_eq_nocase(type, SLICE("uncommitted"));
	c->committed = all || !c->uncommitted;
	if (slice_is_set(type) && type.len && !all && !c->uncommitted && !slice_eq_nocase(type, SLICE("committed")))
		return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "blocklisttype", type, NULL);
	/* What is not committed is nobody's to see without a key. */
	if (r->identity.kind == AUTH_ANONYMOUS && c->uncommitted)
		return ERR_NO_AUTHENTICATION_INFORMATION;
	TRY(rest_blob_find(r, &partition));
	request_step_read(r, partition, blob_apply_get_block_list);
	request_step_call(r, choose_formatter);
	return ERR_OK;
}

static void put_blocks(struct buf *b, const char *name, const struct manifest *m)
{
	xml_open(b, name);
	for (size_t i = 0; i < m->count; i++) {
		BUF_PUT(b, "<Block><Name>");
		base64_encode(b, m->block[i].id);
		BUF_PUT(b, "</Name>");
		xml_put_u64(b, "Size", m->block[i].length_bytes);
		BUF_PUT(b, "</Block>");
	}
	xml_close(b, name);
}

static enum err format_get_list(struct request *r)
{
	struct blob_get_block_list_call *c = r->call;
	struct buf *b = &r->response.body;
	r->response.status = 200;
	response_header(r, "Content-Type", SLICE("application/xml"));
	if (c->exists)
		rest_blob_put_etag(r, c->blob.etag, c->blob.modified_ticks);
	response_header_u64(r, "x-ms-blob-content-length", c->exists ? c->blob.length_bytes : 0);
	xml_begin(b);
	xml_open(b, "BlockList");
	if (c->committed)
		put_blocks(b, "CommittedBlocks", &c->committed_blocks);
	if (c->uncommitted)
		put_blocks(b, "UncommittedBlocks", &c->uncommitted_blocks);
	xml_close(b, "BlockList");
	return ERR_OK;
}

const struct handler handler_blob_put_block = { .parse = parse_block,
						.parse_body = check_block,
						.format = format_block };
const struct handler handler_blob_put_block_list = {
	.parse = parse_list, .parse_body = parse_list_body, .format = format_list, .refused = refused_list
};
const struct handler handler_blob_get_block_list = { .parse = parse_get_list, .format = format_get_list };

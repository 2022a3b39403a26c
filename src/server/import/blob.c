/* SPDX-License-Identifier: Apache-2.0
 * Containers and blobs. A blob with snapshots is written once for each of them, oldest first, and a snapshot taken of
 * it; then as it is now; then its uncommitted blocks. */
#include <stdlib.h>

#include "base/limits.h"
#include "server/import/import.h"
#include "server/import/parts.h"
#include "wire/base64.h"
#include "wire/xml.h"

enum { PAGES_BYTES_MAX = 4 * 1024 * 1024 };

/* What is known of the blob at hand. */
struct one {
	struct slice container, name;
	const struct import_part *snapshot, *block;
	size_t snapshots, blocks;
};

/* Snapshots of the blobs' collection, or the blocks' collection. */
static bool parts_gather(struct import_job *job, bool snapshots, struct import_parts *l)
{
	struct json_walk w;
	struct slice collection = snapshots ? SLICE("$BLOBS_COLLECTION$") : SLICE("$BLOCKS_COLLECTION$");
	if (!import_rows(&job->ws, IMPORT_BLOBS, collection, &w))
		return true;
	for (; json_walk_next(&w); arena_reset(&job->row)) {
		struct import_part p = { .row = w.value };
		p.order = snapshots ? import_row_text(w.value, "snapshot", &job->row) : SLICE("");
		if ((snapshots && p.order.len == 0) || !import_row_ours(job, w.value, "accountName"))
			continue;
		p.container = import_row_text(w.value, "containerName", &job->row);
		p.name = import_row_text(w.value, snapshots ? "name" : "blobName", &job->row);
		if (!slice_is_set(p.container) || !slice_is_set(p.name) || !import_part_add(l, p, &job->kept))
			return false;
	}
	import_parts_sort(l);
	return true;
}

/* ---- headers ---- */

static void put_text(struct import_request *r, struct slice name, struct slice value)
{
	if (value.len)
		import_request_header(r, name, value);
}

/* {"0":93,"1":65,...}: the bytes of an MD5, as text. */
static struct slice md5_text(const struct json_node *md5, struct arena *arena)
{
	unsigned char raw[16];
	char encoded[BASE64_BYTES(sizeof raw)];
	size_t n = 0;
	for (const struct json_node *b = md5 ? md5->child : NULL; b; b = b->next) {
		uint64_t v;
		if (n == sizeof raw || !slice_to_u64(b->text, &v) || v > 255)
			return SLICE_NONE;
		raw[n++] = (unsigned char)v;
	}
	if (n != sizeof raw)
		return SLICE_NONE;
	base64_encode_to(encoded, slice_make(raw, sizeof raw));
	return arena_dup(arena, slice_make(encoded, sizeof encoded));
}

static void put_tags(struct import_request *r, const struct json_node *tags)
{
	struct buf text;
	const struct json_node *set = json_member(tags, "blobTagSet");
	buf_init(&text, 64 * KIB);
	for (const struct json_node *t = set ? set->child : NULL; t; t = t->next) {
		if (text.len)
			BUF_PUT(&text, "&");
		uri_encode(&text, json_member_string(t, "key"), "");
		BUF_PUT(&text, "=");
		uri_encode(&text, json_member_string(t, "value"), "");
	}
	if (text.len)
		import_request_header(r, SLICE("x-ms-tags"), arena_dup(r->arena, buf_slice(&text)));
	buf_fini(&text);
}

/* Everything that is set together with the content. The server computes the MD5 of what comes in one piece. */
static void put_properties(struct import_request *r, struct slice row, bool with_md5, bool with_tier)
{
	const struct json_node *p = import_row_node(row, "properties", r->arena);
	const struct json_node *inferred = json_member(p, "accessTierInferred");
	put_text(r, SLICE("x-ms-blob-content-type"), json_member_string(p, "contentType"));
	put_text(r, SLICE("x-ms-blob-content-encoding"), json_member_string(p, "contentEncoding"));
	put_text(r, SLICE("x-ms-blob-content-language"), json_member_string(p, "contentLanguage"));
	put_text(r, SLICE("x-ms-blob-content-disposition"), json_member_string(p, "contentDisposition"));
	put_text(r, SLICE("x-ms-blob-cache-control"), json_member_string(p, "cacheControl"));
	if (with_md5)
		put_text(r, SLICE("x-ms-blob-content-md5"), md5_text(json_member(p, "contentMD5"), r->arena));
	if (with_tier && !(inferred && slice_eq(inferred->text, SLICE("true"))))
		put_text(r, SLICE("x-ms-access-tier"), json_member_string(p, "accessTier"));
	import_put_metadata(r, import_row_node(row, "metadata", r->arena));
	put_tags(r, import_row_node(row, "blobTags", r->arena));
}

static void blob_request(struct import_job *job, struct import_request *r, const char *method, const struct one *o)
{
	import_request_init(r, SERVICE_BLOB, method, &job->row);
	import_request_path(r, o->container, o->name);
}

/* The bytes that a row or an element of a list names. */
static bool chunk_of(struct import_job *job, const struct one *o, struct slice holder, struct import_chunk *ret)
{
	buf_clear(&job->text);
	if (import_chunk_find(&job->ws, IMPORT_BLOB_EXTENTS, json_walk_find(holder, "persistency"), &job->row, ret,
			      &job->text))
		return true;
	import_say_failed(job, "blob", o->container, o->name, buf_slice(&job->text));
	return false;
}

/* ---- content ---- */

/* Put Block of one element of a list. */
static bool put_block(struct import_job *job, const struct one *o, struct slice block, struct slice id)
{
	struct import_request r;
	struct import_chunk chunk;
	struct arena_position before = arena_position(&job->row);
	if (!chunk_of(job, o, block, &chunk))
		return false;
	blob_request(job, &r, "PUT", o);
	BUF_PUT(&r.query, "comp=block&blockid=");
	uri_encode(&r.query, id, "");
	r.chunk = chunk;
	bool ok = import_must(job, &r, "block of the blob", o->container, o->name);
	job->bytes += ok ? chunk.count : 0;
	arena_rewind(&job->row, before);
	return ok;
}

static int slice_ptr_cmp(const void *a, const void *b)
{
	return slice_cmp(*(const struct slice *)a, *(const struct slice *)b);
}

/* May the blocks keep their ids? Not if one stands there twice: both would be what is sent last. */
static bool ids_differ(struct slice blocks, size_t *ret_count)
{
	struct json_walk w;
	size_t count = 0, i = 0;
	for (bool ok = json_walk_begin(&w, blocks); ok && json_walk_next(&w);)
		count++;
	*ret_count = count;
	struct slice *id = calloc(count + 1, sizeof *id);
	bool differ = id != NULL;
	for (bool ok = id && json_walk_begin(&w, blocks); ok && json_walk_next(&w);) {
		id[i] = json_walk_find(w.value, "name");
		differ = differ && id[i].len > 2; /* not empty between its quotes */
		i++;
	}
	if (differ)
		qsort(id, count, sizeof *id, slice_ptr_cmp);
	for (i = 1; differ && i < count; i++)
		differ = !slice_eq(id[i - 1], id[i]);
	free(id);
	return differ;
}

static struct slice block_id(struct import_job *job, struct slice block, bool own, size_t i)
{
	char text[16], encoded[BASE64_BYTES(8)];
	if (own)
		return import_row_text(block, "name", &job->row);
	(void)snprintf(text, sizeof text, "%08zu", i);
	base64_encode_to(encoded, slice_make(text, 8));
	return arena_dup(&job->row, slice_make(encoded, sizeof encoded));
}

static bool put_block_blob_in_blocks(struct import_job *job, const struct one *o, struct slice row, struct slice blocks,
				     bool with_tier)
{
	struct import_request r;
	struct json_walk w;
	struct buf list;
	size_t count, i = 0;
	bool own = ids_differ(blocks, &count), ok = json_walk_begin(&w, blocks);
	buf_init(&list, LIMIT_SMALL_BODY_BYTES);
	BUF_PUT(&list, "<BlockList>");
	while (ok && json_walk_next(&w)) {
		struct arena_position before = arena_position(&job->row);
		struct slice id = block_id(job, w.value, own, i++);
		xml_put(&list, "Latest", id);
		ok = put_block(job, o, w.value, id);
		arena_rewind(&job->row, before);
	}
	BUF_PUT(&list, "</BlockList>");
	if (ok) {
		blob_request(job, &r, "PUT", o);
		BUF_PUT(&r.query, "comp=blocklist");
		put_properties(&r, row, true, with_tier);
		r.body = buf_slice(&list);
		ok = buf_ok(&list) && import_must(job, &r, "blob", o->container, o->name);
	}
	buf_fini(&list);
	return ok;
}

/* Append blobs: block by block. */
static bool put_appended(struct import_job *job, const struct one *o, struct slice blocks)
{
	struct json_walk w;
	bool ok = true;
	for (bool more = json_walk_begin(&w, blocks); ok && more && json_walk_next(&w);) {
		struct import_request r;
		struct import_chunk chunk;
		struct arena_position before = arena_position(&job->row);
		ok = chunk_of(job, o, w.value, &chunk);
		if (ok && chunk.count) {
			blob_request(job, &r, "PUT", o);
			BUF_PUT(&r.query, "comp=appendblock");
			r.chunk = chunk;
			ok = import_must(job, &r, "append blob", o->container, o->name);
			job->bytes += ok ? chunk.count : 0;
		}
		arena_rewind(&job->row, before);
	}
	return ok;
}

static bool put_page_range(struct import_job *job, const struct one *o, uint64_t start, struct import_chunk chunk)
{
	for (uint64_t at = 0; at < chunk.count; at += PAGES_BYTES_MAX) {
		struct import_request r;
		uint64_t n = chunk.count - at < PAGES_BYTES_MAX ? chunk.count - at : PAGES_BYTES_MAX;
		uint64_t first = start + at, last = first + n - 1;
		blob_request(job, &r, "PUT", o);
		BUF_PUT(&r.query, "comp=page");
		import_request_header(&r, SLICE("x-ms-page-write"), SLICE("update"));
		import_request_header(&r, SLICE("x-ms-range"),
				      arena_printf(&job->row, "bytes=%llu-%llu", (unsigned long long)first,
						   (unsigned long long)last));
		r.chunk = (struct import_chunk){ chunk.fd, chunk.offset + at, n };
		if (!import_must(job, &r, "page blob", o->container, o->name))
			return false;
		job->bytes += n;
	}
	return true;
}

static bool put_pages(struct import_job *job, const struct one *o, struct slice ranges)
{
	struct json_walk w;
	bool ok = true;
	for (bool more = json_walk_begin(&w, ranges); ok && more && json_walk_next(&w);) {
		struct import_chunk chunk;
		struct arena_position before = arena_position(&job->row);
		uint64_t start = 0;
		ok = slice_to_u64(json_walk_find(w.value, "start"), &start) && chunk_of(job, o, w.value, &chunk) &&
		     put_page_range(job, o, start, chunk);
		arena_rewind(&job->row, before);
	}
	return ok;
}

/* Put Blob: a block blob whole, others without content. `only_new`: what is there is left alone. The status. */
static int put_blob(struct import_job *job, const struct one *o, struct slice row, bool only_new, bool with_tier)
{
	struct import_request r;
	struct import_chunk chunk = { .fd = -1 };
	const struct json_node *p = import_row_node(row, "properties", &job->row);
	struct slice type = json_member_string(p, "blobType");
	bool block = slice_eq(type, SLICE("BlockBlob")), page = slice_eq(type, SLICE("PageBlob"));
	if (block && !chunk_of(job, o, row, &chunk))
		return -1;
	blob_request(job, &r, "PUT", o);
	import_request_header(&r, SLICE("x-ms-blob-type"), type);
	if (only_new)
		import_request_header(&r, SLICE("If-None-Match"), SLICE("*"));
	if (page) {
		const struct json_node *length = json_member(p, "contentLength"),
				       *number = json_member(p, "blobSequenceNumber");
		import_request_header(&r, SLICE("x-ms-blob-content-length"), length ? length->text : SLICE("0"));
		if (number)
			put_text(&r, SLICE("x-ms-blob-sequence-number"), number->text);
	}
	put_properties(&r, row, !block, with_tier);
	r.chunk = chunk;
	int status = import_do(job, &r);
	job->bytes += status == 201 ? chunk.count : 0;
	return status;
}

/* One state of a blob, in place of the one before. */
static bool put_state(struct import_job *job, const struct one *o, struct slice row, bool with_tier)
{
	struct slice blocks = json_walk_find(row, "committedBlocksInOrder"),
		     ranges = json_walk_find(row, "pageRangesInOrder");
	const struct json_node *p = import_row_node(row, "properties", &job->row);
	struct slice type = json_member_string(p, "blobType");
	struct json_walk w;
	bool has_blocks = slice_is_set(blocks) && json_walk_begin(&w, blocks) && json_walk_next(&w);
	if (slice_eq(type, SLICE("BlockBlob")) && has_blocks)
		return put_block_blob_in_blocks(job, o, row, blocks, with_tier);
	int status = put_blob(job, o, row, false, with_tier);
	if (status != 201) {
		if (status > 0)
			import_say_failed(job, "blob", o->container, o->name, slice_str(job->target.why));
		return false;
	}
	if (slice_eq(type, SLICE("AppendBlob")))
		return !has_blocks || put_appended(job, o, blocks);
	return !slice_eq(type, SLICE("PageBlob")) || !slice_is_set(ranges) || put_pages(job, o, ranges);
}

/* ---- a whole blob ---- */

static bool put_snapshots(struct import_job *job, const struct one *o)
{
	for (size_t i = 0; i < o->snapshots; i++) {
		struct import_request r;
		struct arena_position before = arena_position(&job->row);
		if (!put_state(job, o, o->snapshot[i].row, false))
			return false;
		blob_request(job, &r, "PUT", o);
		BUF_PUT(&r.query, "comp=snapshot");
		if (!import_must(job, &r, "snapshot of the blob", o->container, o->name))
			return false;
		job->taken[IMPORT_COUNT_SNAPSHOTS]++;
		arena_rewind(&job->row, before);
	}
	return true;
}

static bool put_uncommitted(struct import_job *job, const struct one *o)
{
	for (size_t i = 0; i < o->blocks; i++) {
		if (!put_block(job, o, o->block[i].row, import_row_text(o->block[i].row, "name", &job->row)))
			return false;
		job->taken[IMPORT_COUNT_BLOCKS]++;
	}
	return true;
}

/* 1: there is one, 0: none; -1: that could not be found out, and it was said. */
static int blob_is_there(struct import_job *job, const struct one *o)
{
	struct import_request r;
	blob_request(job, &r, "HEAD", o);
	int status = import_do(job, &r);
	if (status == 200 || status == 404)
		return status == 200;
	if (status)
		import_say_failed(job, "blob", o->container, o->name, slice_str(job->target.why));
	return -1;
}

static bool put_in_steps(struct import_job *job, const struct one *o, struct slice row, bool committed)
{
	int there = blob_is_there(job, o);
	if (there > 0)
		job->already[IMPORT_COUNT_BLOBS]++;
	if (there != 0 || !import_begin_several(job, "blob", o->container, o->name))
		return false;
	bool ok = put_snapshots(job, o) && (!committed || put_state(job, o, row, true)) && put_uncommitted(job, o);
	if (ok)
		return import_end_several(job) && committed;
	/* What is half there must not look whole: the next run removes it by that name. This one goes on without it. */
	if (!job->stopped)
		(void)import_recover(job);
	return false;
}

static void blob_import(struct import_job *job, const struct one *o, struct slice row)
{
	const struct json_node *p = import_row_node(row, "properties", &job->row),
			       *c = import_row_node(row, "isCommitted", &job->row);
	struct slice blocks = json_walk_find(row, "committedBlocksInOrder");
	bool committed = !(c && slice_eq(c->text, SLICE("false"))), ok;
	bool whole = slice_eq(json_member_string(p, "blobType"), SLICE("BlockBlob")) && !o->snapshots && !o->blocks &&
		     committed && blocks.len <= 2;
	if (slice_eq(json_member_string(p, "leaseState"), SLICE("leased")))
		job->leases++;
	if (whole) {
		int status = put_blob(job, o, row, true, true);
		bool exists = status == 409 && slice_eq(job->target.error_code, SLICE("BlobAlreadyExists"));
		ok = status == 201;
		job->already[IMPORT_COUNT_BLOBS] += exists;
		if (!ok && !exists && status > 0)
			import_say_failed(job, "blob", o->container, o->name, slice_str(job->target.why));
	} else {
		ok = put_in_steps(job, o, row, committed);
	}
	job->taken[IMPORT_COUNT_BLOBS] += ok;
}

static void blobs_import(struct import_job *job, const struct import_parts *snapshots,
			 const struct import_parts *blocks)
{
	struct json_walk w;
	if (!import_rows(&job->ws, IMPORT_BLOBS, SLICE("$BLOBS_COLLECTION$"), &w))
		return;
	for (; !job->stopped && json_walk_next(&w); arena_reset(&job->row)) {
		struct one o = { 0 };
		struct slice snapshot = import_row_text(w.value, "snapshot", &job->row);
		if (import_row_ours(job, w.value, "accountName") && snapshot.len == 0) {
			o.container = import_row_text(w.value, "containerName", &job->row);
			o.name = import_row_text(w.value, "name", &job->row);
			o.snapshot = import_parts_find(snapshots, o.container, o.name, &o.snapshots);
			o.block = import_parts_find(blocks, o.container, o.name, &o.blocks);
			blob_import(job, &o, w.value);
		}
		import_row_done(job);
	}
}

static void containers_import(struct import_job *job)
{
	struct json_walk w;
	if (!import_rows(&job->ws, IMPORT_BLOBS, SLICE("$CONTAINERS_COLLECTION$"), &w))
		return;
	for (; !job->stopped && json_walk_next(&w); arena_reset(&job->row), import_row_done(job)) {
		struct import_request r;
		struct slice name = import_row_text(w.value, "name", &job->row);
		if (!import_row_ours(job, w.value, "accountName"))
			continue;
		const struct json_node *p = import_row_node(w.value, "properties", &job->row);
		struct slice access = json_member_string(p, "publicAccess");
		import_request_init(&r, SERVICE_BLOB, "PUT", &job->row);
		import_request_path(&r, name, SLICE_NONE);
		BUF_PUT(&r.query, "restype=container");
		import_put_metadata(&r, import_row_node(w.value, "metadata", &job->row));
		put_text(&r, SLICE("x-ms-blob-public-access"), access);
		int status = import_do(job, &r);
		job->taken[IMPORT_COUNT_CONTAINERS] += status == 201;
		job->already[IMPORT_COUNT_CONTAINERS] += status == 409;
		if (status == 201)
			import_policies(job, SERVICE_BLOB, name, import_row_node(w.value, "containerAcl", &job->row),
					access);
		else if (status && status != 409)
			import_say_failed(job, "container", name, SLICE_NONE, slice_str(job->target.why));
	}
}

void import_blobs(struct import_job *job)
{
	struct import_parts snapshots = { 0 }, blocks = { 0 };
	if (parts_gather(job, true, &snapshots) && parts_gather(job, false, &blocks)) {
		containers_import(job);
		blobs_import(job, &snapshots, &blocks);
		import_properties(job, SERVICE_BLOB, IMPORT_BLOBS);
	} else {
		import_say_failed(job, "snapshots and uncommitted blocks", SLICE_NONE, SLICE_NONE,
				  SLICE("a row without a name, or no memory for so many"));
	}
	import_parts_free(&snapshots);
	import_parts_free(&blocks);
}

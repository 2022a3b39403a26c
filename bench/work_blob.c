/* SPDX-License-Identifier: Apache-2.0
 * Blob works. Names are a prefix and eight digits. Against nginx the same names are files below /CONTAINER/. */
#include "load.h"

#include "wire/base64.h"

#define ACCOUNT_PATH "/devstoreaccount1/"
enum { SIGNED_MAX = 100000, LIST_PAGE = 5000 };

static struct template get, put, page_create, page_write;
static char *signed_heads[SIGNED_MAX];

static const char *blob_path(void)
{
	static char path[256];
	bool plain = strcmp(opt.target, "nginx") == 0;
	snprintf(path, sizeof path, "%s%s/%s#", plain ? "/" : ACCOUNT_PATH, opt.container, opt.prefix);
	return path;
}

static struct slice payload(struct conn *c)
{
	/* Another stretch of noise each time, so that no two payloads are alike. */
	return slice_make(noise + rng_below(&c->rng, NOISE_BYTES - opt.bytes), opt.bytes);
}

/* Signed once per key: the server checks each signature, the generator does not pay for making it. */
static void get_signed(struct conn *c, uint64_t k)
{
	if (k >= SIGNED_MAX)
		die("--auth key: at most %d keys", SIGNED_MAX);
	if (!signed_heads[k]) {
		struct buf head;
		char path[256];
		buf_init(&head, 4096);
		snprintf(path, sizeof path, ACCOUNT_PATH "%s/%s%08llu", opt.container, opt.prefix,
			 (unsigned long long)k);
		buf_printf(&head,
			   "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nx-ms-date: %s\r\nx-ms-version: "
			   "2021-06-08\r\nAuthorization: ",
			   path, opt.port, sign_date());
		sign_get(path, sign_date(), &head);
		buf_printf(&head, "\r\n\r\n");
		buf_put_byte(&head, 0);
		signed_heads[k] = head.ptr;
	}
	buf_put(&c->head, slice_str(signed_heads[k]));
}

static void get_request(struct conn *c)
{
	c->key = rng_below(&c->rng, opt.keys);
	if (strcmp(opt.auth, "key") == 0 && strcmp(opt.target, "nginx") != 0) {
		get_signed(c, c->key);
		return;
	}
	template_init(&get, "GET", blob_path(), "", "");
	template_use(c, &get, c->key);
}

static enum answer get_answer(struct conn *c, const struct reply *r)
{
	return r->status == 200 && r->body_bytes == opt.bytes ? ANSWER_DONE : ANSWER_BAD;
}

static void get_large_request(struct conn *c)
{
	template_init(&get, "GET", blob_path(), "", "");
	template_use(c, &get, c->index % opt.keys);
}

static void put_key(struct conn *c, uint64_t k)
{
	char headers[256];
	if (!put.text.len) {
		snprintf(headers, sizeof headers,
			 "x-ms-blob-type: BlockBlob\r\nContent-Type: application/octet-stream\r\nContent-Length: "
			 "%llu\r\n",
			 (unsigned long long)opt.bytes);
		template_init(&put, "PUT", blob_path(), "", headers);
	}
	template_use(c, &put, k);
	c->body = payload(c);
}

static void put_request(struct conn *c)
{
	put_key(c, next_key());
}

/* Few names, written again and again: what the disk has to take is the same as for new ones, what it has to keep is
 * not. */
static void put_large_request(struct conn *c)
{
	put_key(c, opt.base + next_key() % opt.keys);
}

static enum answer put_answer(struct conn *c, const struct reply *r)
{
	return r->status == 201 ? ANSWER_DONE : ANSWER_BAD;
}

/* A blob of `depth` blocks, then the list. One operation is the whole blob. */
static void block_id(char dst[12], unsigned block)
{
	char raw[KEY_DIGITS];
	key_digits(raw, block);
	base64_encode_to(dst, slice_make(raw, KEY_DIGITS));
}

static void blocks_request(struct conn *c)
{
	char path[256], query[64], id[12];
	if (c->step == 0)
		c->key = opt.base + next_key() % opt.keys;
	snprintf(path, sizeof path, ACCOUNT_PATH "%s/%s%08llu", opt.container, opt.prefix, (unsigned long long)c->key);
	if (c->step < opt.depth) {
		block_id(id, c->step);
		snprintf(query, sizeof query, "comp=block&blockid=%.11s%%3D", id);
		http_request(c, "PUT", slice_str(path), query, "", payload(c));
		return;
	}
	buf_clear(&c->note);
	BUF_PUT(&c->note, "<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>");
	for (unsigned i = 0; i < opt.depth; i++) {
		block_id(id, i);
		buf_printf(&c->note, "<Latest>%.12s</Latest>", id);
	}
	BUF_PUT(&c->note, "</BlockList>");
	http_request(c, "PUT", slice_str(path), "comp=blocklist", "Content-Type: application/xml\r\n",
		     buf_slice(&c->note));
}

static enum answer blocks_answer(struct conn *c, const struct reply *r)
{
	if (r->status != 201)
		return ANSWER_BAD;
	return c->step < opt.depth ? ANSWER_MORE : ANSWER_DONE;
}

/* Blobs in directories of --depth blobs each. */
static void put_dirs_request(struct conn *c)
{
	char path[256];
	uint64_t k = next_key();
	snprintf(path, sizeof path, ACCOUNT_PATH "%s/%s%08llu/%04llu", opt.container, opt.prefix,
		 (unsigned long long)(k / opt.depth), (unsigned long long)(k % opt.depth));
	http_request(c, "PUT", slice_str(path), "", "x-ms-blob-type: BlockBlob\r\n", payload(c));
}

/* One page blob (made by "plarge") of --keys times --bytes, and a piece of it written somewhere. */
static const char *page_blob_path(void)
{
	static char path[256];
	snprintf(path, sizeof path, ACCOUNT_PATH "%s/%slarge", opt.container, opt.prefix);
	return path;
}

static void page_blob_request(struct conn *c)
{
	char headers[128];
	snprintf(headers, sizeof headers, "x-ms-blob-type: PageBlob\r\nx-ms-blob-content-length: %llu\r\n",
		 (unsigned long long)(opt.keys * opt.bytes));
	http_request(c, "PUT", slice_str(page_blob_path()), "", headers, slice_make("", 0));
}

static void put_page_request(struct conn *c)
{
	char headers[128];
	uint64_t at = rng_below(&c->rng, opt.keys) * opt.bytes;
	snprintf(headers, sizeof headers, "x-ms-page-write: update\r\nx-ms-range: bytes=%llu-%llu\r\n",
		 (unsigned long long)at, (unsigned long long)(at + opt.bytes - 1));
	http_request(c, "PUT", slice_str(page_blob_path()), "comp=page", headers, payload(c));
}

/* Put Blob of a page blob, then Put Page of all its bytes: two requests, each durable. One operation is both. */
static void page_put_request(struct conn *c)
{
	char headers[256];
	if (c->step == 0) {
		c->key = next_key();
		snprintf(headers, sizeof headers,
			 "x-ms-blob-type: PageBlob\r\nx-ms-blob-content-length: %llu\r\nContent-Length: 0\r\n",
			 (unsigned long long)opt.bytes);
		template_init(&page_create, "PUT", blob_path(), "", headers);
		template_use(c, &page_create, c->key);
		return;
	}
	snprintf(headers, sizeof headers,
		 "x-ms-page-write: update\r\nx-ms-range: bytes=0-%llu\r\nContent-Length: %llu\r\n",
		 (unsigned long long)opt.bytes - 1, (unsigned long long)opt.bytes);
	template_init(&page_write, "PUT", blob_path(), "comp=page", headers);
	template_use(c, &page_write, c->key);
	c->body = payload(c);
}

static enum answer page_put_answer(struct conn *c, const struct reply *r)
{
	if (r->status != 201)
		return ANSWER_BAD;
	return c->step == 0 ? ANSWER_MORE : ANSWER_DONE;
}

/* All pages of a listing. One operation is the whole list; --keys says how many blobs it must show. */
static void list_pages(struct conn *c, const char *more)
{
	char path[256];
	struct buf query;
	buf_init(&query, 8192);
	snprintf(path, sizeof path, ACCOUNT_PATH "%s", opt.container);
	buf_printf(&query, "restype=container&comp=list&maxresults=%d%s", LIST_PAGE, more);
	if (c->step == 0) {
		c->key = 0;
	} else {
		BUF_PUT(&query, "&marker=");
		for (size_t i = 0; i < c->note.len; i++)
			buf_printf(&query, "%%%02X", (unsigned char)c->note.ptr[i]);
	}
	buf_put_byte(&query, 0);
	http_request(c, "GET", slice_str(path), query.ptr, "", SLICE_NONE);
	buf_fini(&query);
}

static void list_request(struct conn *c)
{
	list_pages(c, "");
}

static void list_dirs_request(struct conn *c)
{
	list_pages(c, "&delimiter=%2F");
}

static enum answer list_answer(struct conn *c, const struct reply *r)
{
	if (r->status != 200)
		return ANSWER_BAD;
	for (struct slice rest = r->body;;) {
		const char *at = rest.len ? memmem(rest.ptr, rest.len, "<Name>", 6) : NULL;
		if (!at)
			break;
		c->key++;
		rest = slice_from(rest, (size_t)(at - rest.ptr) + 6);
	}
	struct slice marker = text_between(r->body, SLICE("<NextMarker>"), SLICE("</NextMarker>"));
	if (marker.len == 0)
		return c->key == opt.keys ? ANSWER_DONE : ANSWER_BAD;
	buf_clear(&c->note);
	buf_put(&c->note, marker);
	return ANSWER_MORE;
}

static void container_request(struct conn *c)
{
	char path[256];
	snprintf(path, sizeof path, ACCOUNT_PATH "%s", opt.container);
	http_request(c, "PUT", slice_str(path), "restype=container", "", slice_make("", 0));
}

static enum answer container_answer(struct conn *c, const struct reply *r)
{
	return r->status == 201 || r->status == 409 ? ANSWER_DONE : ANSWER_BAD;
}

static void health_request(struct conn *c)
{
	char head[128];
	snprintf(head, sizeof head, "GET /health HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", opt.port);
	buf_put(&c->head, slice_str(head));
}

static enum answer health_answer(struct conn *c, const struct reply *r)
{
	return r->status == 200 ? ANSWER_DONE : ANSWER_BAD;
}

const struct work works_blob[] = {
	{ "container", "make the container (--count 1 --connections 1)", &protocol_http, 0, 0, 1, false,
	  container_request, container_answer },
	{ "get", "GET random blobs of --bytes among --keys", &protocol_http, 4096, 0, 10000, false, get_request,
	  get_answer },
	{ "getlarge", "GET blobs of --bytes, each connection its own", &protocol_http, 64 << 20, 0, 4, true,
	  get_large_request, get_answer },
	{ "put", "PUT new blobs from --base on", &protocol_http, 4096, 0, 1, false, put_request, put_answer },
	{ "putlarge", "PUT blobs, --keys names again and again", &protocol_http, 64 << 20, 0, 8, false,
	  put_large_request, put_answer },
	{ "blocks", "blobs of --depth blocks of --bytes and a list", &protocol_http, 4 << 20, 16, 8, false,
	  blocks_request, blocks_answer },
	{ "list", "whole lists of --keys blobs in pages of 5,000", &protocol_http, 0, 0, 50000, false, list_request,
	  list_answer },
	{ "putdirs", "PUT new blobs, --depth in each directory", &protocol_http, 512, 10, 1, false, put_dirs_request,
	  put_answer },
	{ "listdirs", "lists of --keys directories, by a delimiter", &protocol_http, 0, 0, 5000, false,
	  list_dirs_request, list_answer },
	{ "plarge", "make one page blob of --keys times --bytes (--count 1 --connections 1)", &protocol_http, 4096, 0,
	  1 << 18, false, page_blob_request, put_answer },
	{ "pmake", "Put Blob of a page blob and Put Page of --bytes, from --base on", &protocol_http, 4096, 0, 1, false,
	  page_put_request, page_put_answer },
	{ "pput", "Put Page of --bytes somewhere in that blob", &protocol_http, 4096, 0, 1 << 18, false,
	  put_page_request, put_answer },
	{ "health", "GET /health", &protocol_http, 0, 0, 1, false, health_request, health_answer },
	{ 0 },
};

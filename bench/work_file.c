/* SPDX-License-Identifier: Apache-2.0
 * File works. Names are a prefix and eight digits in the root of the share --container. */
#include "load.h"

#define ACCOUNT_PATH "/devstoreaccount1/"
enum { LIST_PAGE = 5000 };

static struct template get, create, create_data, write_range;

static const char *file_path(void)
{
	static char path[256];
	snprintf(path, sizeof path, ACCOUNT_PATH "%s/%s#", opt.container, opt.prefix);
	return path;
}

static struct slice payload(struct conn *c)
{
	return slice_make(noise + rng_below(&c->rng, NOISE_BYTES - opt.bytes), opt.bytes);
}

static void share_request(struct conn *c)
{
	char path[256];
	snprintf(path, sizeof path, ACCOUNT_PATH "%s", opt.container);
	http_request(c, "PUT", slice_str(path), "restype=share", "", slice_make("", 0));
}

static enum answer share_answer(struct conn *c, const struct reply *r)
{
	return r->status == 201 || r->status == 409 ? ANSWER_DONE : ANSWER_BAD;
}

static void create_key(struct conn *c, uint64_t key, uint64_t bytes)
{
	char headers[256];
	if (!create.text.len) {
		snprintf(headers, sizeof headers,
			 "x-ms-type: file\r\nx-ms-content-length: %llu\r\nContent-Length: 0\r\n",
			 (unsigned long long)bytes);
		template_init(&create, "PUT", file_path(), "", headers);
	}
	template_use(c, &create, key);
}

/* Create File, then Put Range of all its bytes: two requests, each durable. One operation is both. */
static void put_request(struct conn *c)
{
	char headers[256];
	if (c->step == 0) {
		c->key = next_key();
		create_key(c, c->key, opt.bytes);
		return;
	}
	if (!write_range.text.len) {
		snprintf(headers, sizeof headers,
			 "x-ms-write: update\r\nx-ms-range: bytes=0-%llu\r\nContent-Length: %llu\r\n",
			 (unsigned long long)opt.bytes - 1, (unsigned long long)opt.bytes);
		template_init(&write_range, "PUT", file_path(), "comp=range", headers);
	}
	template_use(c, &write_range, c->key);
	c->body = payload(c);
}

static enum answer put_answer(struct conn *c, const struct reply *r)
{
	if (r->status != 201)
		return ANSWER_BAD;
	return c->step == 0 ? ANSWER_MORE : ANSWER_DONE;
}

static void create_request(struct conn *c)
{
	create_key(c, next_key(), opt.bytes);
}

/* The same file in one request, as the versions have it that let Create File carry bytes. */
static void data_request(struct conn *c)
{
	char headers[256];
	if (!create_data.text.len) {
		snprintf(headers, sizeof headers,
			 "x-ms-version: 2026-02-06\r\nx-ms-type: file\r\nx-ms-content-length: %llu\r\n"
			 "Content-Length: %llu\r\n",
			 (unsigned long long)opt.bytes, (unsigned long long)opt.bytes);
		template_init(&create_data, "PUT", file_path(), "", headers);
	}
	template_use(c, &create_data, next_key());
	c->body = payload(c);
}

static enum answer create_answer(struct conn *c, const struct reply *r)
{
	return r->status == 201 ? ANSWER_DONE : ANSWER_BAD;
}

static void get_request(struct conn *c)
{
	template_init(&get, "GET", file_path(), "", "");
	template_use(c, &get, rng_below(&c->rng, opt.keys));
}

static enum answer get_answer(struct conn *c, const struct reply *r)
{
	return r->status == 200 && r->body_bytes == opt.bytes ? ANSWER_DONE : ANSWER_BAD;
}

/* One large file (made by "flarge"), a piece of --bytes somewhere among --keys of them. */
static const char *large_path(void)
{
	static char path[256];
	snprintf(path, sizeof path, ACCOUNT_PATH "%s/%slarge", opt.container, opt.prefix);
	return path;
}

static void large_request(struct conn *c)
{
	char headers[128];
	snprintf(headers, sizeof headers, "x-ms-type: file\r\nx-ms-content-length: %llu\r\n",
		 (unsigned long long)(opt.keys * opt.bytes));
	http_request(c, "PUT", slice_str(large_path()), "", headers, slice_make("", 0));
}

static void overwrite_request(struct conn *c)
{
	char headers[128];
	uint64_t at = rng_below(&c->rng, opt.keys) * opt.bytes;
	snprintf(headers, sizeof headers, "x-ms-write: update\r\nx-ms-range: bytes=%llu-%llu\r\n",
		 (unsigned long long)at, (unsigned long long)(at + opt.bytes - 1));
	http_request(c, "PUT", slice_str(large_path()), "comp=range", headers, payload(c));
}

/* Pieces of --bytes in that file that do not touch each other, from --base on: nothing of it can be joined. */
static void pieces_request(struct conn *c)
{
	char headers[128];
	uint64_t at = next_key() * 2 * opt.bytes;
	snprintf(headers, sizeof headers, "x-ms-write: update\r\nx-ms-range: bytes=%llu-%llu\r\n",
		 (unsigned long long)at, (unsigned long long)(at + opt.bytes - 1));
	http_request(c, "PUT", slice_str(large_path()), "comp=range", headers, payload(c));
}

static void delete_request(struct conn *c)
{
	http_request(c, "DELETE", slice_str(large_path()), "", "", SLICE_NONE);
}

static enum answer delete_answer(struct conn *c, const struct reply *r)
{
	return r->status == 202 ? ANSWER_DONE : ANSWER_BAD;
}

/* All pages of a listing. One operation is the whole list; --keys says how many files it must show. */
static void list_request(struct conn *c)
{
	char path[256];
	struct buf query;
	buf_init(&query, 8192);
	snprintf(path, sizeof path, ACCOUNT_PATH "%s", opt.container);
	buf_printf(&query, "restype=directory&comp=list&maxresults=%d", LIST_PAGE);
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

static void snapshot_request(struct conn *c)
{
	char path[256];
	snprintf(path, sizeof path, ACCOUNT_PATH "%s", opt.container);
	http_request(c, "PUT", slice_str(path), "restype=share&comp=snapshot", "", slice_make("", 0));
}

const struct work works_file[] = {
	{ "share", "make the share (--count 1 --connections 1)", &protocol_http, 0, 0, 1, false, share_request,
	  share_answer },
	{ "fput", "Create File and Put Range of --bytes, from --base on", &protocol_http, 4096, 0, 1, false,
	  put_request, put_answer },
	{ "fcreate", "Create File of --bytes, without data, from --base on", &protocol_http, 0, 0, 1, false,
	  create_request, create_answer },
	{ "fputdata", "Create File with --bytes of data, from --base on", &protocol_http, 4096, 0, 1, false,
	  data_request, create_answer },
	{ "fget", "GET random files of --bytes among --keys", &protocol_http, 4096, 0, 10000, false, get_request,
	  get_answer },
	{ "flarge", "make one file of --keys times --bytes (--count 1 --connections 1)", &protocol_http, 4096, 0,
	  1 << 18, false, large_request, create_answer },
	{ "foverwrite", "Put Range of --bytes somewhere in that file", &protocol_http, 4096, 0, 1 << 18, false,
	  overwrite_request, create_answer },
	{ "fpieces", "Put Range of --bytes into every other place of that file, from --base on", &protocol_http, 64, 0,
	  1, false, pieces_request, create_answer },
	{ "fdelete", "delete that file (--count 1 --connections 1)", &protocol_http, 0, 0, 1, false, delete_request,
	  delete_answer },
	{ "flist", "whole lists of --keys files in pages of 5,000", &protocol_http, 0, 0, 50000, false, list_request,
	  list_answer },
	{ "fsnapshot", "take share snapshots (--count up to 200)", &protocol_http, 0, 0, 1, false, snapshot_request,
	  create_answer },
	{ 0 },
};

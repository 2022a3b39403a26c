/* SPDX-License-Identifier: Apache-2.0
 * Table works. An entity has two keys and five properties, some 300 bytes. Keys are spread over sixteen partitions. */
#include "load.h"

#define ACCOUNT_PATH "/devstoreaccount1/"
#define JSON_HEADERS                                                                                                   \
	"Content-Type: application/json\r\nAccept: application/json;odata=nometadata\r\nPrefer: "                      \
	"return-no-content\r\nDataServiceVersion: 3.0\r\n"
enum { PARTITIONS = 16, OWN_ENTITIES = 64 };

static void entity_put(struct buf *out, struct conn *c, uint64_t key, const char *partition)
{
	char text[129];
	uint64_t at = rng_below(&c->rng, 65536);
	for (int i = 0; i < 128; i++)
		text[i] = (char)('a' + (unsigned char)noise[at + (unsigned)i] % 26);
	text[128] = 0;
	buf_printf(out,
		   "{\"PartitionKey\":\"%s\",\"RowKey\":\"%08llu\",\"Name\":\"%s\",\"Count\":%llu,\"Ratio\":%.6f,"
		   "\"Done\":%s,"
		   "\"Due\":\"2024-05-06T07:08:09.1234567Z\",\"Due@odata.type\":\"Edm.DateTime\"}",
		   partition, (unsigned long long)key, text, (unsigned long long)key % 100000,
		   (double)(key % 1000) / 7.0 + 0.25, key % 2 ? "true" : "false");
}

static const char *partition_of(uint64_t key)
{
	static char text[16];
	snprintf(text, sizeof text, "p%02u", (unsigned)(key % PARTITIONS));
	return text;
}

static void entity_path(char *dst, size_t size, const char *partition, uint64_t key)
{
	snprintf(dst, size, ACCOUNT_PATH "%s(PartitionKey='%s',RowKey='%08llu')", opt.container, partition,
		 (unsigned long long)key);
}

static void table_request(struct conn *c)
{
	buf_clear(&c->note);
	buf_printf(&c->note, "{\"TableName\":\"%s\"}", opt.container);
	http_request(c, "POST", SLICE(ACCOUNT_PATH "Tables"), "", JSON_HEADERS, buf_slice(&c->note));
}

static enum answer table_answer(struct conn *c, const struct reply *r)
{
	return r->status == 204 || r->status == 201 || r->status == 409 ? ANSWER_DONE : ANSWER_BAD;
}

static void insert_request(struct conn *c)
{
	char path[256];
	uint64_t key = next_key();
	snprintf(path, sizeof path, ACCOUNT_PATH "%s", opt.container);
	buf_clear(&c->note);
	entity_put(&c->note, c, key, partition_of(key));
	http_request(c, "POST", slice_str(path), "", JSON_HEADERS, buf_slice(&c->note));
}

static enum answer insert_answer(struct conn *c, const struct reply *r)
{
	return r->status == 204 || r->status == 201 ? ANSWER_DONE : ANSWER_BAD;
}

static void point_request(struct conn *c)
{
	char path[256];
	uint64_t key = rng_below(&c->rng, opt.keys);
	entity_path(path, sizeof path, partition_of(key), key);
	http_request(c, "GET", slice_str(path), "",
		     "Accept: application/json;odata=nometadata\r\nDataServiceVersion: 3.0\r\n", SLICE_NONE);
}

static enum answer point_answer(struct conn *c, const struct reply *r)
{
	return r->status == 200 && r->body_bytes > 200 ? ANSWER_DONE : ANSWER_BAD;
}

/* Each connection updates entities of its own with the ETag its last update returned: every If-Match holds. */
static void update_request(struct conn *c)
{
	char path[256], headers[512];
	if (!c->etags && !(c->etags = calloc(OWN_ENTITIES, sizeof *c->etags)))
		die("out of memory");
	c->key = (c->key + 1) % OWN_ENTITIES;
	uint64_t key = opt.base + c->index * OWN_ENTITIES + c->key;
	entity_path(path, sizeof path, partition_of(key), key);
	buf_clear(&c->note);
	entity_put(&c->note, c, key, partition_of(key));
	char *etag = c->etags[c->key];
	snprintf(headers, sizeof headers, "%s%s%s%s", JSON_HEADERS, etag ? "If-Match: " : "", etag ? etag : "",
		 etag ? "\r\n" : "");
	http_request(c, "PUT", slice_str(path), "", headers, buf_slice(&c->note));
}

static enum answer update_answer(struct conn *c, const struct reply *r)
{
	struct slice etag = http_reply_header(r, SLICE("etag"));
	if (r->status != 204 || etag.len == 0)
		return ANSWER_BAD;
	bool first = !c->etags[c->key];
	free(c->etags[c->key]);
	c->etags[c->key] = strndup(etag.ptr, etag.len);
	return first ? ANSWER_UNCOUNTED : ANSWER_DONE;
}

/* An entity group transaction of --depth inserts; they share a partition of their own. */
static void batch_request(struct conn *c)
{
	struct buf entity;
	char partition[32];
	buf_init(&entity, 65536);
	buf_clear(&c->note);
	uint64_t batch = next_key();
	snprintf(partition, sizeof partition, "%s", partition_of(batch));
	BUF_PUT(&c->note, "--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_1\r\n\r\n");
	for (unsigned i = 0; i < opt.depth; i++) {
		buf_clear(&entity);
		entity_put(&entity, c, (batch / PARTITIONS * opt.depth + i) * PARTITIONS + batch % PARTITIONS,
			   partition);
		buf_printf(
			&c->note,
			"--changeset_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
			"POST http://127.0.0.1:%d" ACCOUNT_PATH "%s HTTP/1.1\r\n" JSON_HEADERS
			"Content-Length: %zu\r\n\r\n%.*s\r\n",
			opt.port, opt.container, entity.len, SLICE_FMT(buf_slice(&entity)));
	}
	BUF_PUT(&c->note, "--changeset_1--\r\n--batch_1--\r\n");
	buf_fini(&entity);
	http_request(c, "POST", SLICE(ACCOUNT_PATH "$batch"), "",
		     "Content-Type: multipart/mixed; boundary=batch_1\r\nAccept: "
		     "application/json;odata=nometadata\r\nDataServiceVersion: 3.0\r\n",
		     buf_slice(&c->note));
}

static enum answer batch_answer(struct conn *c, const struct reply *r)
{
	return r->status == 202 && memmem(r->body.ptr, r->body.len, "204 No Content", 14) ? ANSWER_DONE : ANSWER_BAD;
}

static void page_request(struct conn *c)
{
	char path[256], query[64];
	snprintf(path, sizeof path, ACCOUNT_PATH "%s()", opt.container);
	snprintf(query, sizeof query, "$top=%llu", (unsigned long long)opt.depth);
	http_request(c, "GET", slice_str(path), query,
		     "Accept: application/json;odata=nometadata\r\nDataServiceVersion: 3.0\r\n", SLICE_NONE);
}

static enum answer page_answer(struct conn *c, const struct reply *r)
{
	return r->status == 200 && r->body_bytes > 200 * opt.depth ? ANSWER_DONE : ANSWER_BAD;
}

const struct work works_table[] = {
	{ "table", "make the table (--count 1 --connections 1)", &protocol_http, 0, 0, 1, false, table_request,
	  table_answer },
	{ "tinsert", "insert entities from --base on", &protocol_http, 0, 0, 1, false, insert_request, insert_answer },
	{ "tget", "point queries among --keys", &protocol_http, 0, 0, 10000, false, point_request, point_answer },
	{ "tupdate", "replace with If-Match", &protocol_http, 0, 0, 1, false, update_request, update_answer },
	{ "tbatch", "transactions of --depth inserts", &protocol_http, 0, 100, 1, false, batch_request, batch_answer },
	{ "tpage", "pages of --depth entities", &protocol_http, 0, 1000, 1, false, page_request, page_answer },
	{ 0 },
};

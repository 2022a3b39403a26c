/* SPDX-License-Identifier: Apache-2.0
 * wire_bench: microseconds per call of the codecs on hot paths, the best of many short runs on one thread,
 * so that a busy machine disturbs them little. */
#include <stdio.h>

#include "base/sys/clock.h"
#include "wire/date.h"
#include "wire/hash.h"
#include "wire/http/http1.h"
#include "wire/http/uri.h"
#include "wire/json.h"
#include "wire/xml.h"

enum { RUNS = 60, XML_BLOCKS = 50000, LISTED = 5000 };

static struct http_head head;
static struct arena arena;
static struct buf input, output;
static char payload[1 << 20];
static struct hash_hmac_key key;
static volatile uint64_t sink;

static const char request[] =
	"GET /devstoreaccount1/container/folder/blob-000123.bin HTTP/1.1\r\n"
	"Host: 127.0.0.1:10000\r\n"
	"x-ms-version: 2021-12-02\r\n"
	"x-ms-date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
	"Authorization: SharedKey devstoreaccount1:abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH=\r\n"
	"User-Agent: client-storage-blob/12.19.0 Python/3.11.2 (Linux-6.1.0)\r\n"
	"Accept: application/xml\r\n"
	"Accept-Encoding: gzip, deflate\r\n"
	"x-ms-client-request-id: 01234567-89ab-cdef-0123-456789abcdef\r\n"
	"x-ms-range: bytes=0-33554431\r\n"
	"Connection: keep-alive\r\n"
	"If-Match: \"0x8D4BCC2E4835CD0\"\r\n\r\nbody";

static struct arena unused; /* for heads with very many headers */

static void parse_alone(void)
{
	size_t scanned = 0;
	sink += http_parse_head(slice_make(request, sizeof request - 5), &scanned, &unused, &head);
}

static void parse_with_body(void)
{
	size_t scanned = 0;
	sink += http_parse_head(slice_make(request, sizeof request - 1), &scanned, &unused, &head);
}

static void look_up(void)
{
	for (int i = 0; i < 20; i++)
		sink += http_header(&head, i & 1 ? SLICE("if-modified-since") : SLICE("x-ms-range")).len;
}

static void query(void)
{
	struct query q;
	arena_reset(&arena);
	sink += uri_parse_query(SLICE("restype=container&comp=list&prefix=a%2Fb&maxresults=5000&timeout=30"), &arena,
				&q);
}

static void hmac(void)
{
	unsigned char mac[HASH_SHA256_BYTES];
	hash_hmac(&key, slice_make(payload, 600), mac);
	sink += mac[0];
}

static void md5(void)
{
	unsigned char digest[HASH_MD5_BYTES];
	hash_md5(slice_make(payload, 4096), digest);
	sink += digest[0];
}

/* Bodies of 4 KiB, the first `count` of sixteen, side by side. */
static void md5_many(size_t count)
{
	struct hash_md5 state[16];
	struct hash_md5_piece piece[16];
	unsigned char digest[HASH_MD5_BYTES];
	for (size_t i = 0; i < count; i++) {
		hash_md5_init(&state[i]);
		piece[i] = (struct hash_md5_piece){ &state[i], slice_make(payload + i * 4096, 4096) };
	}
	hash_md5_update_many(piece, count);
	for (size_t i = 0; i < count; i++) {
		hash_md5_final(&state[i], digest);
		sink += digest[0];
	}
}

static void md5_of_4(void)
{
	md5_many(4);
}

static void md5_of_16(void)
{
	md5_many(16);
}

static void crc64(void)
{
	sink += hash_crc64(0, slice_make(payload, sizeof payload));
}

static void crc64_portable(void)
{
	sink += hash_crc64_portable(0, slice_make(payload, sizeof payload));
}

static void date(void)
{
	char text[DATE_RFC1123_BYTES];
	uint64_t ticks;
	date_format_rfc1123(TICKS_UNIX_EPOCH + sink, text);
	sink += date_parse_rfc1123(slice_make(text, sizeof text), &ticks);
}

static void read_blocks(void)
{
	struct xml_node *root;
	struct xml_error error;
	arena_reset(&arena);
	sink += xml_parse(buf_slice(&input), &arena, &root, &error);
}

static void write_listing(void)
{
	buf_clear(&output);
	xml_begin(&output);
	for (int i = 0; i < LISTED; i++) {
		char name[64];
		int n = snprintf(name, sizeof name, "folder/blob-%06d.bin", i);
		xml_open(&output, "Blob");
		xml_put_name(&output, "Name", slice_make(name, (size_t)n));
		xml_open(&output, "Properties");
		xml_put_rfc1123(&output, "Creation-Time", TICKS_UNIX_EPOCH);
		xml_put_rfc1123(&output, "Last-Modified", TICKS_UNIX_EPOCH);
		xml_put(&output, "Etag", SLICE("0x8D4BCC2E4835CD0"));
		xml_put_u64(&output, "Content-Length", 4096);
		xml_put(&output, "Content-Type", SLICE("application/octet-stream"));
		xml_put(&output, "Content-Encoding", SLICE(""));
		xml_put(&output, "Content-MD5", SLICE("1B2M2Y8AsgTpgAmY7PhCfg=="));
		xml_put(&output, "BlobType", SLICE("BlockBlob"));
		xml_put(&output, "AccessTier", SLICE("Hot"));
		xml_put(&output, "LeaseStatus", SLICE("unlocked"));
		xml_put_bool(&output, "ServerEncrypted", true);
		xml_close(&output, "Properties");
		xml_close(&output, "Blob");
	}
}

static void read_entity(void)
{
	struct json_member *members;
	size_t count;
	arena_reset(&arena);
	sink += json_parse_flat(buf_slice(&input), &arena, &members, &count);
}

static void run(const char *name, int calls, void (*call)(void))
{
	uint64_t best = UINT64_MAX;
	for (int r = 0; r < RUNS; r++) {
		uint64_t start = base_monotonic_ns();
		for (int i = 0; i < calls; i++)
			call();
		uint64_t took = base_monotonic_ns() - start;
		best = took < best ? took : best;
	}
	printf("%-34s %10.3f us\n", name, (double)best / calls / 1000);
}

int main(void)
{
	arena_init(&arena, 64 << 20);
	buf_init(&input, 64 << 20);
	buf_init(&output, 64 << 20);
	hash_hmac_key_init(&key, SLICE("0123456789012345678901234567890123456789012345678901234567890123"));
	run("head, 11 headers, alone", 4000, parse_alone);
	run("head, 11 headers, body behind it", 4000, parse_with_body);
	run("20 header lookups", 4000, look_up);
	run("query of 5 parameters", 4000, query);
	run("HMAC of 600 bytes", 4000, hmac);
	run("MD5 of 4 KiB", 300, md5);
	run("MD5 of 4 KiB, 4 of them", 100, md5_of_4);
	run("MD5 of 4 KiB, 16 of them", 100, md5_of_16);
	run("CRC-64 of 1 MiB", 20, crc64);
	run("CRC-64 of 1 MiB, portable", 4, crc64_portable);
	run("date, format and parse", 4000, date);

	xml_open(&input, "BlockList");
	for (int i = 0; i < XML_BLOCKS; i++) {
		char id[89];
		snprintf(id, sizeof id, "%088d", i);
		xml_put(&input, "Latest", slice_str(id));
	}
	xml_close(&input, "BlockList");
	run("XML in, 50,000 blocks", 1, read_blocks);
	run("XML out, listing of 5,000", 1, write_listing);

	buf_clear(&input);
	for (int i = 0; i < 20; i++) {
		buf_printf(&input, "%s\"Property%02d\":", i ? "," : "{", i);
		if (i % 3)
			BUF_PUT(&input, "\"some value of forty-three bytes, or about so\"");
		else
			json_put_double(&input, i * 1.1);
	}
	BUF_PUT(&input, "}");
	run("JSON in, entity of 1 KiB", 1000, read_entity);
	buf_fini(&output);
	buf_fini(&input);
	arena_fini(&arena);
	return sink == 0;
}

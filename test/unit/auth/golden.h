/* SPDX-License-Identifier: Apache-2.0
 * Known answers: requests and tokens that official clients signed for fixed inputs (2026-06-01T12:00:00Z). Values
 * only. */
/* clang-format off */
#ifndef TEST_AUTH_GOLDEN_H
#define TEST_AUTH_GOLDEN_H

#include "auth/auth.h"

#define GOLDEN_ACCOUNT "goldacct"
#define GOLDEN_KEY "AwoRGB8mLTQ7QklQV15lbHN6gYiPlp2kq7K5wMfO1dzj6vH4/wYNFBsiKTA3PkVMU1phaG92fYSLkpmgp661vA=="
#define GOLDEN_DEV_ACCOUNT "devstoreaccount1"
#define GOLDEN_DEV_KEY "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

struct golden_request {
	const char *name;
	enum service service;
	bool path_style;
	const char *account, *container, *object;
	const char *head;
};
struct golden_token {
	const char *name;
	enum auth_kind kind;
	enum service service;
	const char *container, *object;
	char resource;
	const char *extra;   /* parameters before the token, with a trailing & */
	const char *headers; /* header lines that the token signs */
	const char *token;
};

static const struct golden_request golden_requests[] = {
	{ "blob list containers host", SERVICE_BLOB, false, "goldacct", "", "",
	  "GET /\?comp=list&prefix=a%26b%3Dc&include=metadata HTTP/1.1\r\n"
	  "Host: goldacct.blob.core.windows.net\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-client-request-id: e5ccc697-4513-43d1-8136-d26065026206\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey goldacct:YYDJnJd85f9MIdSzeg+dCIK1rY5ZQdpkh53sKTd43Hs=\r\n"
	  "\r\n" },
	{ "blob account info host", SERVICE_BLOB, false, "goldacct", "", "",
	  "GET /\?comp=properties&restype=account HTTP/1.1\r\n"
	  "Host: goldacct.blob.core.windows.net\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-client-request-id: bfe64a8c-1a08-4998-b381-ee887f6b89b0\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey goldacct:kHisXlT2QyMlNz42E+LT0gQ+3AXq9LwtOggBMnLbc70=\r\n"
	  "\r\n" },
	{ "container create host", SERVICE_BLOB, false, "goldacct", "cont", "",
	  "PUT /cont\?restype=container HTTP/1.1\r\n"
	  "Host: goldacct.blob.core.windows.net\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-meta-one: 1\r\n"
	  "x-ms-meta-Two: zwei\r\n"
	  "x-ms-meta-a_b: x\r\n"
	  "x-ms-meta-ab: y\r\n"
	  "x-ms-meta-a1: z\r\n"
	  "x-ms-client-request-id: 19129f66-a35a-4154-a0a6-a08af16d3b4b\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey goldacct:DFEzORY8QiBSUGOT4iKMXQZeuL5Ea/56JNjw9KIF1hA=\r\n"
	  "\r\n" },
	{ "list blobs hierarchy host", SERVICE_BLOB, false, "goldacct", "cont", "",
	  "GET /cont\?comp=list&prefix=p%2F%C3%BC&restype=container&include=metadata,snapshots&delimiter=%2F HTTP/1.1\r\n"
	  "Host: goldacct.blob.core.windows.net\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-client-request-id: 8f22df39-1119-445f-8ee5-f4b54e134d77\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey goldacct:Muui39S03PA8xvx84BMg0VGy3TstN77STZzlUbqTK+c=\r\n"
	  "\r\n" },
	{ "blob put host", SERVICE_BLOB, false, "goldacct", "cont", "dir/a b+\303\244%.txt",
	  "PUT /cont/dir/a%20b%2B%C3%A4%25.txt HTTP/1.1\r\n"
	  "Host: goldacct.blob.core.windows.net\r\n"
	  "Content-Type: application/octet-stream\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Content-Length: 5\r\n"
	  "x-ms-meta-a-b: 1\r\n"
	  "x-ms-meta-aa: 2\r\n"
	  "x-ms-meta-a-c: 3\r\n"
	  "x-ms-meta-ab: 4\r\n"
	  "x-ms-meta-a_a: 5\r\n"
	  "x-ms-meta-x: v  two  blanks\r\n"
	  "If-None-Match: *\r\n"
	  "x-ms-blob-content-type: text/plain\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-blob-type: BlockBlob\r\n"
	  "x-ms-client-request-id: 1f2dc4e4-c0e7-4b01-a3af-e1bf43acbfac\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey goldacct:uBEj1uWdUEepBIWyElbyasca+VrVwAfQGQP4mP6Yv94=\r\n"
	  "\r\n" },
	{ "blob put empty host", SERVICE_BLOB, false, "goldacct", "cont", "e",
	  "PUT /cont/e HTTP/1.1\r\n"
	  "Host: goldacct.blob.core.windows.net\r\n"
	  "Content-Type: application/octet-stream\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Content-Length: 0\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-blob-type: BlockBlob\r\n"
	  "x-ms-client-request-id: c4c99ae1-93d7-43a6-9689-5fc56852cb56\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey goldacct:97n0S+1zbKsV/ymjdKuAdfd1SMZW2qAEZQV5baIbXq8=\r\n"
	  "\r\n" },
	{ "blob get range host", SERVICE_BLOB, false, "goldacct", "cont", "dir/a b+\303\244%.txt",
	  "GET /cont/dir/a%20b%2B%C3%A4%25.txt HTTP/1.1\r\n"
	  "Host: goldacct.blob.core.windows.net\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Accept: application/xml\r\n"
	  "If-Modified-Since: Mon, 01 Jun 2026 11:59:59 GMT\r\n"
	  "If-Unmodified-Since: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "x-ms-range: bytes=3-9\r\n"
	  "If-Match: \"0x8DABCDEF\"\r\n"
	  "x-ms-client-request-id: 13718e1f-8e0a-4b30-a697-5436d1a9a3eb\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey goldacct:3YtvLQ21AdFb5wZUyayGmc3wd5532OuptcjVXh7ybWc=\r\n"
	  "\r\n" },
	{ "blob snapshot get host", SERVICE_BLOB, false, "goldacct", "cont", "e",
	  "HEAD /cont/e\?snapshot=2026-05-01T00%3A00%3A00.1234567Z HTTP/1.1\r\n"
	  "Host: goldacct.blob.core.windows.net\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-client-request-id: b2b528f0-b273-4483-b1c6-0c5228ce678f\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey goldacct:f76ZCIz6ir+i1XIIaAfIND5MgOkSJzmMdRJezGv6ZUY=\r\n"
	  "\r\n" },
	{ "blob block host", SERVICE_BLOB, false, "goldacct", "cont", "e",
	  "PUT /cont/e\?comp=block&blockid=QUJD%2B%2F8%3D HTTP/1.1\r\n"
	  "Host: goldacct.blob.core.windows.net\r\n"
	  "Content-Type: application/octet-stream\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Content-Length: 3\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-client-request-id: f349decb-1a82-43ca-ab4b-9b58670671ca\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey goldacct:0JueypjObUex5mXmHdzM2+AhCl+Et/vYIrvYBxU3rNA=\r\n"
	  "\r\n" },
	{ "blob blocklist host", SERVICE_BLOB, false, "goldacct", "cont", "e",
	  "PUT /cont/e\?comp=blocklist HTTP/1.1\r\n"
	  "Host: goldacct.blob.core.windows.net\r\n"
	  "Content-Type: application/xml\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "x-ms-client-request-id: 8eede743-1948-4677-a3fb-9da13e12fdd8\r\n"
	  "Content-Length: 99\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey goldacct:TSJzRiwXQ7kIrhGABbCKJoUzF9i5riJ0jq0xc+T3h2w=\r\n"
	  "\r\n" },
	{ "blob delete host", SERVICE_BLOB, false, "goldacct", "cont", "e",
	  "DELETE /cont/e HTTP/1.1\r\n"
	  "Host: goldacct.blob.core.windows.net\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-delete-snapshots: include\r\n"
	  "x-ms-client-request-id: 3bb3ddbf-4b2a-40fb-b6ee-56512e8b584f\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey goldacct:XmJBsIzjDfVW38QSRwuglEZhIOyfgjdlC5SeD3RD0Ho=\r\n"
	  "\r\n" },
	{ "blob tags host", SERVICE_BLOB, false, "goldacct", "cont", "e",
	  "PUT /cont/e\?comp=tags HTTP/1.1\r\n"
	  "Host: goldacct.blob.core.windows.net\r\n"
	  "Content-Type: application/xml\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "x-ms-client-request-id: dfc237ac-e86a-4551-b20c-5c0b897dd73d\r\n"
	  "Content-Length: 124\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey goldacct:tNLvwkE77Op1m5ZvmS7GpgKJj2B6407eFYQDQVV8TU8=\r\n"
	  "\r\n" },
	{ "blob lease host", SERVICE_BLOB, false, "goldacct", "cont", "e",
	  "PUT /cont/e\?comp=lease HTTP/1.1\r\n"
	  "Host: goldacct.blob.core.windows.net\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-lease-action: acquire\r\n"
	  "x-ms-lease-duration: 15\r\n"
	  "x-ms-proposed-lease-id: b1d4f0a0-0000-4000-8000-000000000001\r\n"
	  "x-ms-client-request-id: 6c0b5a39-e86b-4cc3-a945-0563ea623745\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey goldacct:D/8M47Uu6S1EZZXCfemDSmF6wXDMTgbYK3l90zwXLXc=\r\n"
	  "\r\n" },
	{ "blob copy host", SERVICE_BLOB, false, "goldacct", "cont", "e",
	  "PUT /cont/e HTTP/1.1\r\n"
	  "Host: goldacct.blob.core.windows.net\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-copy-source: https://x.blob.core.windows.net/c/b\?sig=a%2Bb\r\n"
	  "x-ms-requires-sync: true\r\n"
	  "x-ms-client-request-id: 51860c24-6913-4158-b0f8-07a5f9a6e088\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey goldacct:zgRO/B9qOoN73CWXvJqbqFrTqexicCAzkrfLij9mf4Q=\r\n"
	  "\r\n" },
	{ "blob list containers path", SERVICE_BLOB, true, "devstoreaccount1", "", "",
	  "GET /devstoreaccount1/\?comp=list&prefix=a%26b%3Dc&include=metadata HTTP/1.1\r\n"
	  "Host: 127.0.0.1:10000\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-client-request-id: 46a51861-daf6-45a6-aebb-3048af81d0f2\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey devstoreaccount1:QFM+GknbzCzXgWtuvGWn0vw2raZ8vN/ottZpwriKx2M=\r\n"
	  "\r\n" },
	{ "blob account info path", SERVICE_BLOB, true, "devstoreaccount1", "", "",
	  "GET /devstoreaccount1/\?comp=properties&restype=account HTTP/1.1\r\n"
	  "Host: 127.0.0.1:10000\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-client-request-id: 4659336e-9bee-4eaf-867b-bc7c6507b81c\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey devstoreaccount1:92aS0WahONVnQaLywlLXry08npWejlq3RXTOtYkiFek=\r\n"
	  "\r\n" },
	{ "container create path", SERVICE_BLOB, true, "devstoreaccount1", "cont", "",
	  "PUT /devstoreaccount1/cont\?restype=container HTTP/1.1\r\n"
	  "Host: 127.0.0.1:10000\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-meta-one: 1\r\n"
	  "x-ms-meta-Two: zwei\r\n"
	  "x-ms-meta-a_b: x\r\n"
	  "x-ms-meta-ab: y\r\n"
	  "x-ms-meta-a1: z\r\n"
	  "x-ms-client-request-id: d78e40c1-a08c-4298-95e6-2a40f1e677e9\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey devstoreaccount1:229NcL1FY9+Cok83rf0/zCJUnjfbTOwbQMz0y09SoeQ=\r\n"
	  "\r\n" },
	{ "list blobs hierarchy path", SERVICE_BLOB, true, "devstoreaccount1", "cont", "",
	  "GET /devstoreaccount1/cont\?comp=list&prefix=p%2F%C3%BC&restype=container&include=metadata,snapshots&delimiter=%2F HTTP/1.1\r\n"
	  "Host: 127.0.0.1:10000\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-client-request-id: ec791e37-aeb1-41a1-bedc-b78b727c3a78\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey devstoreaccount1:REUO07fr2MX/3+rz/lsuMHJEHtnO6l5NhdOQ7L05fNs=\r\n"
	  "\r\n" },
	{ "blob put path", SERVICE_BLOB, true, "devstoreaccount1", "cont", "dir/a b+\303\244%.txt",
	  "PUT /devstoreaccount1/cont/dir/a%20b%2B%C3%A4%25.txt HTTP/1.1\r\n"
	  "Host: 127.0.0.1:10000\r\n"
	  "Content-Type: application/octet-stream\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Content-Length: 5\r\n"
	  "x-ms-meta-a-b: 1\r\n"
	  "x-ms-meta-aa: 2\r\n"
	  "x-ms-meta-a-c: 3\r\n"
	  "x-ms-meta-ab: 4\r\n"
	  "x-ms-meta-a_a: 5\r\n"
	  "x-ms-meta-x: v  two  blanks\r\n"
	  "If-None-Match: *\r\n"
	  "x-ms-blob-content-type: text/plain\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-blob-type: BlockBlob\r\n"
	  "x-ms-client-request-id: 64625422-59e1-4a0c-b891-0cb4b8b30afc\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey devstoreaccount1:MXIZi2vtSV/lwFdfP04YdJomIpj48vfYLdgpi1zUzno=\r\n"
	  "\r\n" },
	{ "blob put empty path", SERVICE_BLOB, true, "devstoreaccount1", "cont", "e",
	  "PUT /devstoreaccount1/cont/e HTTP/1.1\r\n"
	  "Host: 127.0.0.1:10000\r\n"
	  "Content-Type: application/octet-stream\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Content-Length: 0\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-blob-type: BlockBlob\r\n"
	  "x-ms-client-request-id: add76bc2-2552-422e-9f9f-0b837096315a\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey devstoreaccount1:zfNXiTyF7B4p3kO0qJntOAltVvVw8ljXxwPW3eBOhYE=\r\n"
	  "\r\n" },
	{ "blob get range path", SERVICE_BLOB, true, "devstoreaccount1", "cont", "dir/a b+\303\244%.txt",
	  "GET /devstoreaccount1/cont/dir/a%20b%2B%C3%A4%25.txt HTTP/1.1\r\n"
	  "Host: 127.0.0.1:10000\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Accept: application/xml\r\n"
	  "If-Modified-Since: Mon, 01 Jun 2026 11:59:59 GMT\r\n"
	  "If-Unmodified-Since: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "x-ms-range: bytes=3-9\r\n"
	  "If-Match: \"0x8DABCDEF\"\r\n"
	  "x-ms-client-request-id: 5924d864-47cc-42ef-b6a7-9e43ace72942\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey devstoreaccount1:9USbSoM0SUpCjh5GaUR5ahaH4jjNhKK4v3FR47ZmgNU=\r\n"
	  "\r\n" },
	{ "blob snapshot get path", SERVICE_BLOB, true, "devstoreaccount1", "cont", "e",
	  "HEAD /devstoreaccount1/cont/e\?snapshot=2026-05-01T00%3A00%3A00.1234567Z HTTP/1.1\r\n"
	  "Host: 127.0.0.1:10000\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-client-request-id: 71fea829-885f-42d1-b682-41b2e22b72ff\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey devstoreaccount1:ws9AsznpdJlUwG/6dQzOeluy1AoPZggLB4iDGTLy+O4=\r\n"
	  "\r\n" },
	{ "blob block path", SERVICE_BLOB, true, "devstoreaccount1", "cont", "e",
	  "PUT /devstoreaccount1/cont/e\?comp=block&blockid=QUJD%2B%2F8%3D HTTP/1.1\r\n"
	  "Host: 127.0.0.1:10000\r\n"
	  "Content-Type: application/octet-stream\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Content-Length: 3\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-client-request-id: 8e73047d-e9a9-4ddf-833f-2cdca4260e8b\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey devstoreaccount1:CB662xVYLxigrquIuZhMaoLZPrlhXa6Tm4B2xXNIZeQ=\r\n"
	  "\r\n" },
	{ "blob blocklist path", SERVICE_BLOB, true, "devstoreaccount1", "cont", "e",
	  "PUT /devstoreaccount1/cont/e\?comp=blocklist HTTP/1.1\r\n"
	  "Host: 127.0.0.1:10000\r\n"
	  "Content-Type: application/xml\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "x-ms-client-request-id: 0547cf05-2e37-48bc-9c47-4582023e74d0\r\n"
	  "Content-Length: 99\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey devstoreaccount1:F8SbyJ3SMkI4X8OCyrrHnqJ84ELzP+lvQ357VICwU70=\r\n"
	  "\r\n" },
	{ "blob delete path", SERVICE_BLOB, true, "devstoreaccount1", "cont", "e",
	  "DELETE /devstoreaccount1/cont/e HTTP/1.1\r\n"
	  "Host: 127.0.0.1:10000\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-delete-snapshots: include\r\n"
	  "x-ms-client-request-id: df7d9576-444a-4b3f-a045-0412b5acfc3f\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey devstoreaccount1:LfvAYh3zBtpnmuDX3e2dEWeGLYe569fdgOyxHAv+vEA=\r\n"
	  "\r\n" },
	{ "blob tags path", SERVICE_BLOB, true, "devstoreaccount1", "cont", "e",
	  "PUT /devstoreaccount1/cont/e\?comp=tags HTTP/1.1\r\n"
	  "Host: 127.0.0.1:10000\r\n"
	  "Content-Type: application/xml\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "x-ms-client-request-id: ac56f5d9-90af-4a8d-b3d1-d4c98f71851b\r\n"
	  "Content-Length: 124\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey devstoreaccount1:sXlzbwnyRFMzjhuNuPpH6GpH1l2XtGJ5TSnEovTHxMo=\r\n"
	  "\r\n" },
	{ "blob lease path", SERVICE_BLOB, true, "devstoreaccount1", "cont", "e",
	  "PUT /devstoreaccount1/cont/e\?comp=lease HTTP/1.1\r\n"
	  "Host: 127.0.0.1:10000\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-lease-action: acquire\r\n"
	  "x-ms-lease-duration: 15\r\n"
	  "x-ms-proposed-lease-id: b1d4f0a0-0000-4000-8000-000000000001\r\n"
	  "x-ms-client-request-id: f3f40b85-67a5-4c0f-80d4-7bf8ce1d310a\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey devstoreaccount1:u7vnzSOu5v9nu9z/nIrxNohAn1wlKhoJFluHEFnsesc=\r\n"
	  "\r\n" },
	{ "blob copy path", SERVICE_BLOB, true, "devstoreaccount1", "cont", "e",
	  "PUT /devstoreaccount1/cont/e HTTP/1.1\r\n"
	  "Host: 127.0.0.1:10000\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-copy-source: https://x.blob.core.windows.net/c/b\?sig=a%2Bb\r\n"
	  "x-ms-requires-sync: true\r\n"
	  "x-ms-client-request-id: 1352bc48-dde2-4be0-a1a9-cf37b5b85bb2\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey devstoreaccount1:Adn6W18T0Febw3PTvCYas19EPPlqIvV/74HFVJw/8OI=\r\n"
	  "\r\n" },
	{ "secondary get stats", SERVICE_BLOB, true, "devstoreaccount1", "", "",
	  "GET /devstoreaccount1-secondary/\?restype=service&comp=stats HTTP/1.1\r\n"
	  "Host: 127.0.0.1:10000\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-client-request-id: 3d7d5522-b7b2-4955-a1f7-bcc731411d9a\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey devstoreaccount1:dMPFgYNiHIYeVnxAASTb3lZudCX264ex6LTLV+JEgkA=\r\n"
	  "\r\n" },
	{ "secondary blob", SERVICE_BLOB, true, "devstoreaccount1", "cont", "e",
	  "HEAD /devstoreaccount1-secondary/cont/e HTTP/1.1\r\n"
	  "Host: 127.0.0.1:10000\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-client-request-id: dbcea0d2-4b4b-4308-b5e6-844789fa3a51\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey devstoreaccount1:etRH82b/zHt91eVL4Zht9DMCordid7V8XgLsw4Wub0M=\r\n"
	  "\r\n" },
	{ "queue create host", SERVICE_QUEUE, false, "goldacct", "q", "",
	  "PUT /q\?timeout=30 HTTP/1.1\r\n"
	  "Host: goldacct.queue.core.windows.net\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-meta-a: b\r\n"
	  "x-ms-client-request-id: e27ff034-b0c1-45ed-b06e-aa4edafe8f7c\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey goldacct:RNUjW/5IbChUmxgP3rD6idMVCq8IGw+8/69P+nAT0CU=\r\n"
	  "\r\n" },
	{ "queue put host", SERVICE_QUEUE, false, "goldacct", "q", "",
	  "POST /q/messages\?visibilitytimeout=1&messagettl=60&timeout=30 HTTP/1.1\r\n"
	  "Host: goldacct.queue.core.windows.net\r\n"
	  "Content-Type: application/xml\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "x-ms-client-request-id: 51cbbedd-1ce9-42d6-8451-1df1231df7f5\r\n"
	  "Content-Length: 113\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey goldacct:WzKj3jsP26c0LUg1S5poR0qQS1s6EDeyVYFUvfyj0Xg=\r\n"
	  "\r\n" },
	{ "queue delete message host", SERVICE_QUEUE, false, "goldacct", "q", "id",
	  "DELETE /q/messages/id\?popreceipt=pop%2Brec%2Fei%3Dpt&timeout=30 HTTP/1.1\r\n"
	  "Host: goldacct.queue.core.windows.net\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-client-request-id: af6dca60-a999-4ff3-8fa3-9a232e9f963a\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey goldacct:RTyyEmLO1D/SKgjvCFboRs0e9kNAcVIDGWMN5wOQXqo=\r\n"
	  "\r\n" },
	{ "queue list host", SERVICE_QUEUE, false, "goldacct", "", "",
	  "GET /\?comp=list&include=metadata&timeout=30 HTTP/1.1\r\n"
	  "Host: goldacct.queue.core.windows.net\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-client-request-id: 456a76c2-5b58-4960-8780-ab9f28a6bc38\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey goldacct:T7RlwaQj6WZCc6Uz8BOYH0Eqe2zUtrnDrkY3tYVzuD4=\r\n"
	  "\r\n" },
	{ "queue create path", SERVICE_QUEUE, true, "devstoreaccount1", "q", "",
	  "PUT /devstoreaccount1/q\?timeout=30 HTTP/1.1\r\n"
	  "Host: 127.0.0.1:10001\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-meta-a: b\r\n"
	  "x-ms-client-request-id: 8b817089-765e-4119-9d89-0d86dc957038\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey devstoreaccount1:MNkmhXzQxoPvo2prBYSeM8epQEGLKUdXf2dJwCGKOoU=\r\n"
	  "\r\n" },
	{ "queue put path", SERVICE_QUEUE, true, "devstoreaccount1", "q", "",
	  "POST /devstoreaccount1/q/messages\?visibilitytimeout=1&messagettl=60&timeout=30 HTTP/1.1\r\n"
	  "Host: 127.0.0.1:10001\r\n"
	  "Content-Type: application/xml\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "x-ms-client-request-id: fb69eb23-849f-4499-a495-83ac0cc4454b\r\n"
	  "Content-Length: 113\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey devstoreaccount1:GHsWetwL+I6QRgS6wmJ53AA/x0KWjorlup/7TlNgaHw=\r\n"
	  "\r\n" },
	{ "queue delete message path", SERVICE_QUEUE, true, "devstoreaccount1", "q", "id",
	  "DELETE /devstoreaccount1/q/messages/id\?popreceipt=pop%2Brec%2Fei%3Dpt&timeout=30 HTTP/1.1\r\n"
	  "Host: 127.0.0.1:10001\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-client-request-id: 5a8c7633-48c8-405e-b60a-9bfe96aeb9b8\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey devstoreaccount1:tV2vQDqwFh1qyfv82NxCknDLgbFcjLjg1CPv60nfFpo=\r\n"
	  "\r\n" },
	{ "queue list path", SERVICE_QUEUE, true, "devstoreaccount1", "", "",
	  "GET /devstoreaccount1/\?comp=list&include=metadata&timeout=30 HTTP/1.1\r\n"
	  "Host: 127.0.0.1:10001\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-client-request-id: 46e41a74-19d3-4d95-8c98-4ceef8c90b9f\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey devstoreaccount1:XNyfAvqO3HXHfZmPF8mvIx3gX3naLOIQoya56QYVDiQ=\r\n"
	  "\r\n" },
	{ "share create", SERVICE_FILE, false, "goldacct", "sh", "",
	  "PUT /sh\?restype=share&timeout=30 HTTP/1.1\r\n"
	  "Host: goldacct.file.core.windows.net\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-share-quota: 5\r\n"
	  "x-ms-client-request-id: 47d16aeb-6746-4be6-9672-5ae07e177d41\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey goldacct:Ohgfo9PiK9JVJVxo7v+jPpA63yCp4Ij9BFl86Ic6prQ=\r\n"
	  "\r\n" },
	{ "file props", SERVICE_FILE, false, "goldacct", "sh", "d/f.txt",
	  "HEAD /sh/d/f.txt\?timeout=30 HTTP/1.1\r\n"
	  "Host: goldacct.file.core.windows.net\r\n"
	  "x-ms-version: 2026-04-06\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-client-request-id: 80a01137-a5b0-4d4c-978a-6f9e59a0c731\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "Authorization: SharedKey goldacct:RRgX8H0GO2jgLaPWGv+MvQ4HJS7dgcgT+l4rw61eJu8=\r\n"
	  "\r\n" },
	{ "table create host", SERVICE_TABLE, false, "goldacct", "", "",
	  "POST /Tables HTTP/1.1\r\n"
	  "Host: goldacct.table.core.windows.net\r\n"
	  "Content-Type: application/json;odata=nometadata\r\n"
	  "Accept: application/json;odata=minimalmetadata\r\n"
	  "x-ms-version: 2019-02-02\r\n"
	  "DataServiceVersion: 3.0\r\n"
	  "x-ms-client-request-id: 08568b8a-19f1-4722-903b-e8027efcac49\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "content-length: 23\r\n"
	  "authorization: SharedKeyLite goldacct:d6JsCVXUCefYGqPVS/fIr6lFbp+QcFtg4G5Me8HBjfA=\r\n"
	  "\r\n" },
	{ "table insert host", SERVICE_TABLE, false, "goldacct", "MyTable", "",
	  "POST /MyTable HTTP/1.1\r\n"
	  "Host: goldacct.table.core.windows.net\r\n"
	  "Content-Type: application/json;odata=nometadata\r\n"
	  "Accept: application/json;odata=minimalmetadata\r\n"
	  "x-ms-version: 2019-02-02\r\n"
	  "DataServiceVersion: 3.0\r\n"
	  "Prefer: return-no-content\r\n"
	  "x-ms-client-request-id: 6d81a5e0-3ac1-4035-b5b7-167c30f4bbba\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "content-length: 39\r\n"
	  "authorization: SharedKeyLite goldacct:OpuF2VMBpNEde3IFF2VE0R+N0v77r2ef+L7LT7LxpcY=\r\n"
	  "\r\n" },
	{ "table get host", SERVICE_TABLE, false, "goldacct", "MyTable", "",
	  "GET /MyTable(PartitionKey='p''1',RowKey='r%20%C3%A4') HTTP/1.1\r\n"
	  "Host: goldacct.table.core.windows.net\r\n"
	  "Accept: application/json;odata=minimalmetadata\r\n"
	  "x-ms-version: 2019-02-02\r\n"
	  "DataServiceVersion: 3.0\r\n"
	  "x-ms-client-request-id: 397b780f-e8ea-4d6c-b903-89bf5d78630e\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "authorization: SharedKeyLite goldacct:RgCtnIY1E+G2x01ZjEpzotsxwccG2gDorMNzgtb97Ik=\r\n"
	  "\r\n" },
	{ "table query host", SERVICE_TABLE, false, "goldacct", "MyTable", "",
	  "GET /MyTable()\?$filter=PartitionKey%20eq%20%27a%20b%27 HTTP/1.1\r\n"
	  "Host: goldacct.table.core.windows.net\r\n"
	  "Accept: application/json;odata=minimalmetadata\r\n"
	  "x-ms-version: 2019-02-02\r\n"
	  "DataServiceVersion: 3.0\r\n"
	  "x-ms-client-request-id: 479d3a46-c9bd-4187-b705-187670923e38\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "authorization: SharedKeyLite goldacct:HT1nDTbw388q4EcoUL4GT5GMgfZguvqSNAnkZFpNnko=\r\n"
	  "\r\n" },
	{ "table merge host", SERVICE_TABLE, false, "goldacct", "MyTable", "",
	  "PATCH /MyTable(PartitionKey='p',RowKey='r') HTTP/1.1\r\n"
	  "Host: goldacct.table.core.windows.net\r\n"
	  "Content-Type: application/json\r\n"
	  "x-ms-version: 2019-02-02\r\n"
	  "DataServiceVersion: 3.0\r\n"
	  "Accept: application/json\r\n"
	  "If-Match: *\r\n"
	  "x-ms-client-request-id: a49a0ea9-125d-4506-89b7-ff384b8e9511\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "content-length: 33\r\n"
	  "authorization: SharedKeyLite goldacct:ovSxxf7z8rKM/2ix2HFrhRaFTtoK2SAMDU8X828uVug=\r\n"
	  "\r\n" },
	{ "table acl host", SERVICE_TABLE, false, "goldacct", "MyTable", "",
	  "GET /MyTable\?comp=acl HTTP/1.1\r\n"
	  "Host: goldacct.table.core.windows.net\r\n"
	  "x-ms-version: 2019-02-02\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-client-request-id: 4283c08f-5a66-4153-a8a6-2a69a9253a12\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "authorization: SharedKeyLite goldacct:NGMP4ivRrdKup3hKBmAnblwHn3arnDt95Fh6CjfRtm0=\r\n"
	  "\r\n" },
	{ "table props host", SERVICE_TABLE, false, "goldacct", "", "",
	  "GET /\?restype=service&comp=properties HTTP/1.1\r\n"
	  "Host: goldacct.table.core.windows.net\r\n"
	  "x-ms-version: 2019-02-02\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-client-request-id: 872c9a0f-6b17-4b87-8e49-d282737b0fa0\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "authorization: SharedKeyLite goldacct:xO9nBg4XLx9k3fsJ/3dn3lUuFGOXOtLAqrNYHfzjxGA=\r\n"
	  "\r\n" },
	{ "table create path", SERVICE_TABLE, true, "devstoreaccount1", "", "",
	  "POST /devstoreaccount1/Tables HTTP/1.1\r\n"
	  "Host: 127.0.0.1:10002\r\n"
	  "Content-Type: application/json;odata=nometadata\r\n"
	  "Accept: application/json;odata=minimalmetadata\r\n"
	  "x-ms-version: 2019-02-02\r\n"
	  "DataServiceVersion: 3.0\r\n"
	  "x-ms-client-request-id: e1d5090e-4f5b-4487-a3cc-dcce5b7abe3f\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "content-length: 23\r\n"
	  "authorization: SharedKeyLite devstoreaccount1:G8ttp6YGmfz7BbbAl8Kl6zWzgkM7mN3IpgnQMOuSvB8=\r\n"
	  "\r\n" },
	{ "table insert path", SERVICE_TABLE, true, "devstoreaccount1", "MyTable", "",
	  "POST /devstoreaccount1/MyTable HTTP/1.1\r\n"
	  "Host: 127.0.0.1:10002\r\n"
	  "Content-Type: application/json;odata=nometadata\r\n"
	  "Accept: application/json;odata=minimalmetadata\r\n"
	  "x-ms-version: 2019-02-02\r\n"
	  "DataServiceVersion: 3.0\r\n"
	  "Prefer: return-no-content\r\n"
	  "x-ms-client-request-id: 4dcb3f2c-5929-4568-937f-fa0e8989c962\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "content-length: 39\r\n"
	  "authorization: SharedKeyLite devstoreaccount1:f3LNVEsAYKO3vvh8SXQiQCOYW+lPQ4NPJRmK6IKT0Pc=\r\n"
	  "\r\n" },
	{ "table get path", SERVICE_TABLE, true, "devstoreaccount1", "MyTable", "",
	  "GET /devstoreaccount1/MyTable(PartitionKey='p''1',RowKey='r%20%C3%A4') HTTP/1.1\r\n"
	  "Host: 127.0.0.1:10002\r\n"
	  "Accept: application/json;odata=minimalmetadata\r\n"
	  "x-ms-version: 2019-02-02\r\n"
	  "DataServiceVersion: 3.0\r\n"
	  "x-ms-client-request-id: 120d9aef-af97-421e-93e9-b4d85e3f7319\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "authorization: SharedKeyLite devstoreaccount1:8jtUkj8B1Y8/frx3KFBuN6GVZIHuQsTKk627nKsflgU=\r\n"
	  "\r\n" },
	{ "table query path", SERVICE_TABLE, true, "devstoreaccount1", "MyTable", "",
	  "GET /devstoreaccount1/MyTable()\?$filter=PartitionKey%20eq%20%27a%20b%27 HTTP/1.1\r\n"
	  "Host: 127.0.0.1:10002\r\n"
	  "Accept: application/json;odata=minimalmetadata\r\n"
	  "x-ms-version: 2019-02-02\r\n"
	  "DataServiceVersion: 3.0\r\n"
	  "x-ms-client-request-id: 178344ee-0bf3-45dc-af78-c19c2ef44e5a\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "authorization: SharedKeyLite devstoreaccount1:5Hn7LeAMYKQyDnJ7+gLrobVFZd5kLJG/oNMcEvfbBfc=\r\n"
	  "\r\n" },
	{ "table merge path", SERVICE_TABLE, true, "devstoreaccount1", "MyTable", "",
	  "PATCH /devstoreaccount1/MyTable(PartitionKey='p',RowKey='r') HTTP/1.1\r\n"
	  "Host: 127.0.0.1:10002\r\n"
	  "Content-Type: application/json\r\n"
	  "x-ms-version: 2019-02-02\r\n"
	  "DataServiceVersion: 3.0\r\n"
	  "Accept: application/json\r\n"
	  "If-Match: *\r\n"
	  "x-ms-client-request-id: 4e32a5b6-21d0-4865-bc85-9f04c4d8a0dd\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "content-length: 33\r\n"
	  "authorization: SharedKeyLite devstoreaccount1:9SgnNk+hVOYsD8zg8uFly2q8t8p0FCeMu6OblHkkePw=\r\n"
	  "\r\n" },
	{ "table acl path", SERVICE_TABLE, true, "devstoreaccount1", "MyTable", "",
	  "GET /devstoreaccount1/MyTable\?comp=acl HTTP/1.1\r\n"
	  "Host: 127.0.0.1:10002\r\n"
	  "x-ms-version: 2019-02-02\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-client-request-id: 025acfe3-dc8a-43ee-ace3-0d20a581d191\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "authorization: SharedKeyLite devstoreaccount1:pVgguTVy7DlGD5AYo6Lj3yLlaxgmyx5dLMB5nHuHMcs=\r\n"
	  "\r\n" },
	{ "table props path", SERVICE_TABLE, true, "devstoreaccount1", "", "",
	  "GET /devstoreaccount1/\?restype=service&comp=properties HTTP/1.1\r\n"
	  "Host: 127.0.0.1:10002\r\n"
	  "x-ms-version: 2019-02-02\r\n"
	  "Accept: application/xml\r\n"
	  "x-ms-client-request-id: 602224ec-d718-41f9-8ced-8c6b2026506d\r\n"
	  "x-ms-date: Mon, 01 Jun 2026 12:00:00 GMT\r\n"
	  "authorization: SharedKeyLite devstoreaccount1:dNBoz0/ShcAvMWWsmmFXpfc756NTWaDSy1dyQkc/hLU=\r\n"
	  "\r\n" },
};

static const struct golden_token golden_tokens[] = {
	{ "container sas 2015-04-05", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "any/blob", 'c', "", "",
	  "sv=2015-04-05&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sr=c&sp=racwdl&sig=sMLILNiZ9A4YSqcYZY62zCYXeh9yNrkg7Xnni34%2FoCc%3D" },
	{ "blob sas 2015-04-05", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "dir/a b+\303\244%.txt", 'b', "", "",
	  "sv=2015-04-05&spr=https&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.1-10.0.0.9&sr=b&sp=racwd&rscc=no-cache&rscd=attachment%3B%20filename%3D%22x%20y.txt%22&rsce=gzip&rscl=de&rsct=text%2Fplain%3B%20charset%3Dutf-8&sig=C6YFp3l7%2BP0%2Bf32p%2F%2FG1Gq7OIoDVEwrSXHvyp4kMfJk%3D" },
	{ "blob sas policy 2015-04-05", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 'b', "", "",
	  "sv=2015-04-05&si=policy-1&sr=b&sig=VN3I9DUGg0UTPc2lTGEm7AyhmfPdbo4%2Bk1OUxFjYlRg%3D" },
	{ "account sas 2015-04-05", AUTH_ACCOUNT_SAS, SERVICE_BLOB, "cont", "b", 0, "", "",
	  "sv=2015-04-05&ss=btqf&srt=sco&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.5&sp=rwdlacup&sig=aUXQ8GKLup%2F2LFMAINm9qWPIx4BY0zy%2B1wTzQfMZcOA%3D" },
	{ "queue sas 2015-04-05", AUTH_SERVICE_SAS, SERVICE_QUEUE, "q", "", 'q', "", "",
	  "sv=2015-04-05&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.1-10.0.0.9&sp=raup&sig=WZyaxf7lH3du7g42Prv5%2BT0sqH7%2FGXWfETaxqEjjpkk%3D" },
	{ "container sas 2016-05-31", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "any/blob", 'c', "", "",
	  "sv=2016-05-31&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sr=c&sp=racwdl&sig=pcn0gAqsaRpRdRlDMSpz5f%2F31Q7s36dkFHNboDC1ADg%3D" },
	{ "blob sas 2016-05-31", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "dir/a b+\303\244%.txt", 'b', "", "",
	  "sv=2016-05-31&spr=https&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.1-10.0.0.9&sr=b&sp=racwd&rscc=no-cache&rscd=attachment%3B%20filename%3D%22x%20y.txt%22&rsce=gzip&rscl=de&rsct=text%2Fplain%3B%20charset%3Dutf-8&sig=9WSB0d6PiZMzMnL5lhovNoDfFLSDQB9p7E0gYhG3Fqk%3D" },
	{ "blob sas policy 2016-05-31", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 'b', "", "",
	  "sv=2016-05-31&si=policy-1&sr=b&sig=JgV0r3irsxy1ss1HYebcThhw7FN4nbz8lMjjc4K2MGY%3D" },
	{ "account sas 2016-05-31", AUTH_ACCOUNT_SAS, SERVICE_BLOB, "cont", "b", 0, "", "",
	  "sv=2016-05-31&ss=btqf&srt=sco&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.5&sp=rwdlacup&sig=CjLv7uCjVOuUufqsM%2FO%2FDmWYEhd%2BCixsVRWiqapeQGg%3D" },
	{ "queue sas 2016-05-31", AUTH_SERVICE_SAS, SERVICE_QUEUE, "q", "", 'q', "", "",
	  "sv=2016-05-31&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.1-10.0.0.9&sp=raup&sig=oiF0rGkg%2B8W9vtFrCHSIQoNfpn9fEU3dRpwEJErjMxU%3D" },
	{ "container sas 2018-03-28", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "any/blob", 'c', "", "",
	  "sv=2018-03-28&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sr=c&sp=racwdl&sig=46nOx%2BS1iojtmCRQekScfTrkG7JAkTRXCRDbGZRe7Po%3D" },
	{ "blob sas 2018-03-28", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "dir/a b+\303\244%.txt", 'b', "", "",
	  "sv=2018-03-28&spr=https&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.1-10.0.0.9&sr=b&sp=racwd&rscc=no-cache&rscd=attachment%3B%20filename%3D%22x%20y.txt%22&rsce=gzip&rscl=de&rsct=text%2Fplain%3B%20charset%3Dutf-8&sig=cum4sLGwkV%2BTkSQxUb%2BooDVWEMuGSsL6LAXt6IHxqHk%3D" },
	{ "blob sas policy 2018-03-28", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 'b', "", "",
	  "sv=2018-03-28&si=policy-1&sr=b&sig=tSSASyvlcob3KsSEIqzYknY0JeJQuaHsPn3k9NAUyYg%3D" },
	{ "account sas 2018-03-28", AUTH_ACCOUNT_SAS, SERVICE_BLOB, "cont", "b", 0, "", "",
	  "sv=2018-03-28&ss=btqf&srt=sco&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.5&sp=rwdlacup&sig=WJo2NX5Cl1WJdRFOztFZRQqaJhVJWnq9ZwgGbA7ffHQ%3D" },
	{ "queue sas 2018-03-28", AUTH_SERVICE_SAS, SERVICE_QUEUE, "q", "", 'q', "", "",
	  "sv=2018-03-28&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.1-10.0.0.9&sp=raup&sig=bT%2Bzauj1MVIyiEqtzUeQXcfMOhenzBiS%2BllS7b6PcYc%3D" },
	{ "file sas 2018-03-28", AUTH_SERVICE_SAS, SERVICE_FILE, "sh", "d/f.txt", 'f', "", "",
	  "sv=2018-03-28&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sr=f&sp=rcwd&sig=aCGpPETUIw0CT4Kwt3mnxdGVCKjfJxoveaJIZeAmDp8%3D&rsct=text%2Fplain" },
	{ "share sas 2018-03-28", AUTH_SERVICE_SAS, SERVICE_FILE, "sh", "d/f.txt", 's', "", "",
	  "sv=2018-03-28&se=2026-06-01T13%3A00%3A00Z&sr=s&sp=rcwdl&sig=Y%2FzpNcOBKP3hVDITDzcRlU%2FgI%2F6CjC9ZdHqYOnibwsE%3D" },
	{ "container sas 2018-11-09", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "any/blob", 'c', "", "",
	  "sv=2018-11-09&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sr=c&sp=racwdl&sig=4BVNhH5AC0mmzGqMzlqW3gmFixOl7pHv9Xn8JIy0y14%3D" },
	{ "blob sas 2018-11-09", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "dir/a b+\303\244%.txt", 'b', "", "",
	  "sv=2018-11-09&spr=https&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.1-10.0.0.9&sr=b&sp=racwd&rscc=no-cache&rscd=attachment%3B%20filename%3D%22x%20y.txt%22&rsce=gzip&rscl=de&rsct=text%2Fplain%3B%20charset%3Dutf-8&sig=W5W2GIAqnpxDeswKuKHbDZEzAaFv72%2Bqb8osKTHP5e0%3D" },
	{ "blob sas policy 2018-11-09", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 'b', "", "",
	  "sv=2018-11-09&si=policy-1&sr=b&sig=KNbTtKfnFPPBpMOLacG9u8XU8VahfhQhrP1SZOBZBTk%3D" },
	{ "snapshot sas 2018-11-09", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 's', "snapshot=2026-05-01T00%3A00%3A00.1234567Z&", "",
	  "sv=2018-11-09&se=2026-06-01T13%3A00%3A00Z&sr=bs&sp=r&sig=sEzvP%2Fea4cgEAnY7zKiglfe6hdYQAVwD%2BYu%2Flj72UGg%3D" },
	{ "account sas 2018-11-09", AUTH_ACCOUNT_SAS, SERVICE_BLOB, "cont", "b", 0, "", "",
	  "sv=2018-11-09&ss=btqf&srt=sco&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.5&sp=rwdlacup&sig=8y3a03G6qBvTlPMF9ejszibns9gk%2Fz4RVSsvqWXv3zs%3D" },
	{ "queue sas 2018-11-09", AUTH_SERVICE_SAS, SERVICE_QUEUE, "q", "", 'q', "", "",
	  "sv=2018-11-09&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.1-10.0.0.9&sp=raup&sig=Ll7CMMiAURoVXciclxPDqcsqetV6LbYo3GkKBN4km3c%3D" },
	{ "file sas 2018-11-09", AUTH_SERVICE_SAS, SERVICE_FILE, "sh", "d/f.txt", 'f', "", "",
	  "sv=2018-11-09&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sr=f&sp=rcwd&sig=Rm5xv83EHrd2%2FfOUbkcoDCg75NgmiRPNXGCpJcBuFAY%3D&rsct=text%2Fplain" },
	{ "share sas 2018-11-09", AUTH_SERVICE_SAS, SERVICE_FILE, "sh", "d/f.txt", 's', "", "",
	  "sv=2018-11-09&se=2026-06-01T13%3A00%3A00Z&sr=s&sp=rcwdl&sig=aQZLqOVRnCTCT9nun1n2IZl9s%2Boc0gKtYPAI5eKAcmM%3D" },
	{ "container sas 2019-12-12", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "any/blob", 'c', "", "",
	  "sv=2019-12-12&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sr=c&sp=racwdl&sig=11lCFUadZ5lfw0%2FTflILc%2BNqKpsiKKIu%2Fdmdj71NCDE%3D" },
	{ "blob sas 2019-12-12", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "dir/a b+\303\244%.txt", 'b', "", "",
	  "sv=2019-12-12&spr=https&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.1-10.0.0.9&sr=b&sp=racwd&rscc=no-cache&rscd=attachment%3B%20filename%3D%22x%20y.txt%22&rsce=gzip&rscl=de&rsct=text%2Fplain%3B%20charset%3Dutf-8&sig=jSnzxgOIbJpx9cZkIlICdkhmrbQuHBZoEPsa35qHp0I%3D" },
	{ "blob sas policy 2019-12-12", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 'b', "", "",
	  "sv=2019-12-12&si=policy-1&sr=b&sig=wu9iHa2XB5J49DPe2NsUU6vmRd8GXRYlA%2Bor7m6spuo%3D" },
	{ "snapshot sas 2019-12-12", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 's', "snapshot=2026-05-01T00%3A00%3A00.1234567Z&", "",
	  "sv=2019-12-12&se=2026-06-01T13%3A00%3A00Z&sr=bs&sp=r&sig=nyuCb8aXEm3vqcitOvs5f1xAvbmYY43ZaqccUW9b%2FXQ%3D" },
	{ "version sas 2019-12-12", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 'v', "versionid=2026-05-01T00%3A00%3A00.1234567Z&", "",
	  "sv=2019-12-12&se=2026-06-01T13%3A00%3A00Z&sr=bv&sp=rdx&sig=GrW6QBpW6dcacgKdfAcVu%2BvYk2z55NPXmrvxXDuT3X0%3D" },
	{ "account sas 2019-12-12", AUTH_ACCOUNT_SAS, SERVICE_BLOB, "cont", "b", 0, "", "",
	  "sv=2019-12-12&ss=btqf&srt=sco&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.5&sp=rwdlacup&sig=dXceUTIA0vwDJiCi4M3Oim8CDUUnrFvvoE7ypVgHDwQ%3D" },
	{ "queue sas 2019-12-12", AUTH_SERVICE_SAS, SERVICE_QUEUE, "q", "", 'q', "", "",
	  "sv=2019-12-12&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.1-10.0.0.9&sp=raup&sig=KD129WjZQjS9rgvVjas%2FN2dPlqcBqZbTCPGhzO5vp%2Bc%3D" },
	{ "file sas 2019-12-12", AUTH_SERVICE_SAS, SERVICE_FILE, "sh", "d/f.txt", 'f', "", "",
	  "sv=2019-12-12&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sr=f&sp=rcwd&sig=RjJA%2Bp7tcjk%2BeclNck61D%2Ft3k9cWj32blzBO3lvaJZg%3D&rsct=text%2Fplain" },
	{ "share sas 2019-12-12", AUTH_SERVICE_SAS, SERVICE_FILE, "sh", "d/f.txt", 's', "", "",
	  "sv=2019-12-12&se=2026-06-01T13%3A00%3A00Z&sr=s&sp=rcwdl&sig=lleHZu5%2BU%2BqFFgmdP6Cyvi3pdxaREhQl54q40KPH2Yc%3D" },
	{ "container sas 2020-10-02", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "any/blob", 'c', "", "",
	  "sv=2020-10-02&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sr=c&sp=racwdl&sig=8nC0%2Fu8XnUV%2B165TRwcnaEL9VleQmmnhk8enWVZ02bU%3D" },
	{ "blob sas 2020-10-02", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "dir/a b+\303\244%.txt", 'b', "", "",
	  "sv=2020-10-02&spr=https&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.1-10.0.0.9&sr=b&sp=racwd&rscc=no-cache&rscd=attachment%3B%20filename%3D%22x%20y.txt%22&rsce=gzip&rscl=de&rsct=text%2Fplain%3B%20charset%3Dutf-8&sig=kD%2BFkPA%2BhXtRhVVALM7Fu4uWnXlkxi%2FptpTfDxgyJXI%3D" },
	{ "blob sas policy 2020-10-02", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 'b', "", "",
	  "sv=2020-10-02&si=policy-1&sr=b&sig=wuS19UubE7pef0xDzawun2JPuFANtfe%2B7DJiSVYvhLw%3D" },
	{ "snapshot sas 2020-10-02", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 's', "snapshot=2026-05-01T00%3A00%3A00.1234567Z&", "",
	  "sv=2020-10-02&se=2026-06-01T13%3A00%3A00Z&sr=bs&sp=r&sig=fdqYJoHCZ6v%2BDlpsZ01uWFZq734N3%2BipIfmIqoAImco%3D" },
	{ "version sas 2020-10-02", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 'v', "versionid=2026-05-01T00%3A00%3A00.1234567Z&", "",
	  "sv=2020-10-02&se=2026-06-01T13%3A00%3A00Z&sr=bv&sp=rdx&sig=c570anOQ8011NyzKUOtiT7IFktbx2ayEl%2Fooz%2FSUbMo%3D" },
	{ "account sas 2020-10-02", AUTH_ACCOUNT_SAS, SERVICE_BLOB, "cont", "b", 0, "", "",
	  "sv=2020-10-02&ss=btqf&srt=sco&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.5&sp=rwdlacup&sig=bz3Wk6yWiE4lWj4PF7q6Jn1JFy5glE1PuyPA94ICdrQ%3D" },
	{ "queue sas 2020-10-02", AUTH_SERVICE_SAS, SERVICE_QUEUE, "q", "", 'q', "", "",
	  "sv=2020-10-02&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.1-10.0.0.9&sp=raup&sig=3lxW2AaDRyWv1zuf0MEe1nSDGQu0EGtc0ImS7EH3XmQ%3D" },
	{ "file sas 2020-10-02", AUTH_SERVICE_SAS, SERVICE_FILE, "sh", "d/f.txt", 'f', "", "",
	  "sv=2020-10-02&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sr=f&sp=rcwd&sig=3WkLh6LhcJhVZAHCyTpCz9BI3Lue4DrNJnwSEjfZfc0%3D&rsct=text%2Fplain" },
	{ "share sas 2020-10-02", AUTH_SERVICE_SAS, SERVICE_FILE, "sh", "d/f.txt", 's', "", "",
	  "sv=2020-10-02&se=2026-06-01T13%3A00%3A00Z&sr=s&sp=rcwdl&sig=SfG%2BrrtWU2e6N0LDWaIO3pYE1kW2%2BrLRnb57R2Ns7cE%3D" },
	{ "container sas 2020-12-06", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "any/blob", 'c', "", "",
	  "sv=2020-12-06&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sr=c&sp=racwdl&sig=q86cw4RnpXjYhspcjb9%2FhamtjdPtm%2FKw7g9rXjfUpOg%3D" },
	{ "blob sas 2020-12-06", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "dir/a b+\303\244%.txt", 'b', "", "",
	  "sv=2020-12-06&spr=https&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.1-10.0.0.9&sr=b&sp=racwd&rscc=no-cache&rscd=attachment%3B%20filename%3D%22x%20y.txt%22&rsce=gzip&rscl=de&rsct=text%2Fplain%3B%20charset%3Dutf-8&sig=cPK111knwz18gmPEMGZti9qoiiFML5N4DXr6QWhj%2Fek%3D" },
	{ "blob sas policy 2020-12-06", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 'b', "", "",
	  "sv=2020-12-06&si=policy-1&sr=b&sig=qBgdBhsIsCPpt9V8tqtmmPCF13GzFuYiQevworYPbWA%3D" },
	{ "snapshot sas 2020-12-06", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 's', "snapshot=2026-05-01T00%3A00%3A00.1234567Z&", "",
	  "sv=2020-12-06&se=2026-06-01T13%3A00%3A00Z&sr=bs&sp=r&sig=wvONjk9Uzf3i9nNF3E8v52xYah048ChwHCOWSIL7h9s%3D" },
	{ "version sas 2020-12-06", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 'v', "versionid=2026-05-01T00%3A00%3A00.1234567Z&", "",
	  "sv=2020-12-06&se=2026-06-01T13%3A00%3A00Z&sr=bv&sp=rdx&sig=4ebBSGJgUGsrGPLfiAW0aqHp%2FrFfgDHETySWHbFUugI%3D" },
	{ "account sas 2020-12-06", AUTH_ACCOUNT_SAS, SERVICE_BLOB, "cont", "b", 0, "", "",
	  "sv=2020-12-06&ss=btqf&srt=sco&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.5&sp=rwdlacup&sig=QRHOKB7v76o1dZwkrBXBn4lNIh4G3myejZgzujIlzGo%3D" },
	{ "account sas scope 2020-12-06", AUTH_ACCOUNT_SAS, SERVICE_BLOB, "cont", "b", 0, "", "",
	  "sv=2020-12-06&ss=b&srt=o&se=2026-06-01T13%3A00%3A00Z&ses=scope1&sp=r&sig=XbfqREP%2BuXAXYVEXWWqlwaeo24BNs8YCzq22kCkJb8o%3D" },
	{ "queue sas 2020-12-06", AUTH_SERVICE_SAS, SERVICE_QUEUE, "q", "", 'q', "", "",
	  "sv=2020-12-06&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.1-10.0.0.9&sp=raup&sig=yBuPq7as8v2e9tIybaRbtPWvurW22Ygqi7s0T1W8iY4%3D" },
	{ "file sas 2020-12-06", AUTH_SERVICE_SAS, SERVICE_FILE, "sh", "d/f.txt", 'f', "", "",
	  "sv=2020-12-06&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sr=f&sp=rcwd&sig=wYvCSb0WBKr1Zcp77ddLpDVojabqQcQTqw1ZuudLeWA%3D&rsct=text%2Fplain" },
	{ "share sas 2020-12-06", AUTH_SERVICE_SAS, SERVICE_FILE, "sh", "d/f.txt", 's', "", "",
	  "sv=2020-12-06&se=2026-06-01T13%3A00%3A00Z&sr=s&sp=rcwdl&sig=CDRwzeYv1PgA%2FEeJwitaYTomnwEehL8mirJfLV5X%2FCw%3D" },
	{ "container sas 2021-12-02", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "any/blob", 'c', "", "",
	  "sv=2021-12-02&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sr=c&sp=racwdl&sig=clACdLQFLGh6Ni2ukzbJH5gDa%2FYeRq%2FS166B0fS8AG0%3D" },
	{ "blob sas 2021-12-02", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "dir/a b+\303\244%.txt", 'b', "", "",
	  "sv=2021-12-02&spr=https&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.1-10.0.0.9&sr=b&sp=racwd&rscc=no-cache&rscd=attachment%3B%20filename%3D%22x%20y.txt%22&rsce=gzip&rscl=de&rsct=text%2Fplain%3B%20charset%3Dutf-8&sig=WKTFArI%2F%2BVxmkMd4DxJC9SGQs8IIE8tyibudRf8sgb8%3D" },
	{ "blob sas policy 2021-12-02", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 'b', "", "",
	  "sv=2021-12-02&si=policy-1&sr=b&sig=MCm2Ty4ojsEhnEXItQv%2BMAN4dxLMHl%2FKoHit%2BBewHQE%3D" },
	{ "snapshot sas 2021-12-02", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 's', "snapshot=2026-05-01T00%3A00%3A00.1234567Z&", "",
	  "sv=2021-12-02&se=2026-06-01T13%3A00%3A00Z&sr=bs&sp=r&sig=9LzSyZu2pe3JdLgR9pJLOWPbrFCk0NGUtWrUl%2BMWaws%3D" },
	{ "version sas 2021-12-02", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 'v', "versionid=2026-05-01T00%3A00%3A00.1234567Z&", "",
	  "sv=2021-12-02&se=2026-06-01T13%3A00%3A00Z&sr=bv&sp=rdx&sig=tjNWyM14z%2BS8BYnWaLRcapew09ED%2BtmRiFBoqEq0nGk%3D" },
	{ "scope all letters sas 2021-12-02", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 'c', "", "",
	  "sv=2021-12-02&se=2026-06-01T13%3A00%3A00Z&ses=scope1&sr=c&sp=racwdxltmeiyf&sig=MyCkROlRe1IaEvr%2FWA7r8hUNIs%2FgJNrYRFya4%2FPo3bo%3D" },
	{ "account sas 2021-12-02", AUTH_ACCOUNT_SAS, SERVICE_BLOB, "cont", "b", 0, "", "",
	  "sv=2021-12-02&ss=btqf&srt=sco&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.5&sp=rwdxftlacupiy&sig=qIGIB5W2YdBJbhOU4HElP9OhQ9zQtFZvLfgJZf83j3U%3D" },
	{ "account sas scope 2021-12-02", AUTH_ACCOUNT_SAS, SERVICE_BLOB, "cont", "b", 0, "", "",
	  "sv=2021-12-02&ss=b&srt=o&se=2026-06-01T13%3A00%3A00Z&ses=scope1&sp=r&sig=Np8PzsTi%2Fo1HhpQZ61Q%2FIyML4nIrU2X3Y1MSrcDvB30%3D" },
	{ "queue sas 2021-12-02", AUTH_SERVICE_SAS, SERVICE_QUEUE, "q", "", 'q', "", "",
	  "sv=2021-12-02&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.1-10.0.0.9&sp=raup&sig=BGAPqMCFveTL5Fee0hx9FLTSZAPI8kInFZYWlML6WuU%3D" },
	{ "file sas 2021-12-02", AUTH_SERVICE_SAS, SERVICE_FILE, "sh", "d/f.txt", 'f', "", "",
	  "sv=2021-12-02&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sr=f&sp=rcwd&sig=FCA%2BE1pfT7zdenTD4K%2F8FgjDzW6JMQ718VuJAZEDCE8%3D&rsct=text%2Fplain" },
	{ "share sas 2021-12-02", AUTH_SERVICE_SAS, SERVICE_FILE, "sh", "d/f.txt", 's', "", "",
	  "sv=2021-12-02&se=2026-06-01T13%3A00%3A00Z&sr=s&sp=rcwdl&sig=5PcVqPwRFWMAYZiwZQcib0bhReux3kLj96ihAwnwEHc%3D" },
	{ "container sas 2025-07-05", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "any/blob", 'c', "", "",
	  "sv=2025-07-05&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sr=c&sp=racwdl&sig=V4nG7uPyq1ycrh4%2B0%2B6%2BThAvNoE9a8myZjLuy9HLImw%3D" },
	{ "blob sas 2025-07-05", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "dir/a b+\303\244%.txt", 'b', "", "",
	  "sv=2025-07-05&spr=https&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.1-10.0.0.9&sr=b&sp=racwd&rscc=no-cache&rscd=attachment%3B%20filename%3D%22x%20y.txt%22&rsce=gzip&rscl=de&rsct=text%2Fplain%3B%20charset%3Dutf-8&sig=%2BKQNK05ZE2DTOrQ5fLDq0uGxuQPqjSX4mY8oRl9r8eM%3D" },
	{ "blob sas policy 2025-07-05", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 'b', "", "",
	  "sv=2025-07-05&si=policy-1&sr=b&sig=tR0L6COZXh4%2B46uDmcKV9FwMPv7EXtzFrSY21Bk6K64%3D" },
	{ "snapshot sas 2025-07-05", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 's', "snapshot=2026-05-01T00%3A00%3A00.1234567Z&", "",
	  "sv=2025-07-05&se=2026-06-01T13%3A00%3A00Z&sr=bs&sp=r&sig=8jbcdn%2FLw5oC7br6D%2FP1Uwu7%2FMhF4qeOF%2FagjY%2FvPWw%3D" },
	{ "version sas 2025-07-05", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 'v', "versionid=2026-05-01T00%3A00%3A00.1234567Z&", "",
	  "sv=2025-07-05&se=2026-06-01T13%3A00%3A00Z&sr=bv&sp=rdx&sig=ToU7wFyRwaywNwmRYNZ3icPA73afmFXZEHHa%2BEzSwTg%3D" },
	{ "scope all letters sas 2025-07-05", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 'c', "", "",
	  "sv=2025-07-05&se=2026-06-01T13%3A00%3A00Z&ses=scope1&sr=c&sp=racwdxltmeiyf&sig=C%2FYsVi6ee%2FHXl5YUhN8XCvZX4QWGKvt0%2FyQA5scRYsk%3D" },
	{ "account sas 2025-07-05", AUTH_ACCOUNT_SAS, SERVICE_BLOB, "cont", "b", 0, "", "",
	  "sv=2025-07-05&ss=btqf&srt=sco&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.5&sp=rwdxftlacupiy&sig=QPD70MJurIzGZztUxYUSzM0DYIeF520YUwvwbjzckcs%3D" },
	{ "account sas scope 2025-07-05", AUTH_ACCOUNT_SAS, SERVICE_BLOB, "cont", "b", 0, "", "",
	  "sv=2025-07-05&ss=b&srt=o&se=2026-06-01T13%3A00%3A00Z&ses=scope1&sp=r&sig=fWPcXI2rIgu%2FnJ1gvdO15WqR4%2BV6UibcvLrQZmyCQkk%3D" },
	{ "queue sas 2025-07-05", AUTH_SERVICE_SAS, SERVICE_QUEUE, "q", "", 'q', "", "",
	  "sv=2025-07-05&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.1-10.0.0.9&sp=raup&sig=BhtP3Ds9P8sP4FVUH0V3vNXpJ92%2FymDcoLezJaARcng%3D" },
	{ "file sas 2025-07-05", AUTH_SERVICE_SAS, SERVICE_FILE, "sh", "d/f.txt", 'f', "", "",
	  "sv=2025-07-05&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sr=f&sp=rcwd&sig=eB3sO9SVauVRn%2FgOBHKVKAW1eOdw7BwDq7UF3nXU1%2BA%3D&rsct=text%2Fplain" },
	{ "share sas 2025-07-05", AUTH_SERVICE_SAS, SERVICE_FILE, "sh", "d/f.txt", 's', "", "",
	  "sv=2025-07-05&se=2026-06-01T13%3A00%3A00Z&sr=s&sp=rcwdl&sig=lVjMLSGwIlMU2Cql1qdSBQKAjJahtqMKQEuPtsvB7tE%3D" },
	{ "container sas 2026-02-06", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "any/blob", 'c', "", "",
	  "sv=2026-02-06&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sr=c&sp=racwdl&sig=VG%2Fcy5tA47YWmL7tnEzITM2k5OQ43S6fj7%2Fkpa0F668%3D" },
	{ "blob sas 2026-02-06", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "dir/a b+\303\244%.txt", 'b', "", "",
	  "sv=2026-02-06&spr=https&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.1-10.0.0.9&sr=b&sp=racwd&rscc=no-cache&rscd=attachment%3B%20filename%3D%22x%20y.txt%22&rsce=gzip&rscl=de&rsct=text%2Fplain%3B%20charset%3Dutf-8&sig=ul9ogFkeUmfX1xEk0xoKENd%2FfEg82or72%2B%2FOPoOXPmU%3D" },
	{ "blob sas policy 2026-02-06", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 'b', "", "",
	  "sv=2026-02-06&si=policy-1&sr=b&sig=qdaADUqGYBTlXutAfZQecsn5x1RO6%2BCkEb1CXI3nUMM%3D" },
	{ "snapshot sas 2026-02-06", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 's', "snapshot=2026-05-01T00%3A00%3A00.1234567Z&", "",
	  "sv=2026-02-06&se=2026-06-01T13%3A00%3A00Z&sr=bs&sp=r&sig=7JilXNkWn%2FcX%2BOQO23ZrLIhid9PpxKCZ4BwhsRGyH5Q%3D" },
	{ "version sas 2026-02-06", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 'v', "versionid=2026-05-01T00%3A00%3A00.1234567Z&", "",
	  "sv=2026-02-06&se=2026-06-01T13%3A00%3A00Z&sr=bv&sp=rdx&sig=Z%2B%2Ft%2BHZKBQUh0dByUl7F%2Fu%2FQPoNBm%2Ff%2BhnwxRh0OGXQ%3D" },
	{ "scope all letters sas 2026-02-06", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 'c', "", "",
	  "sv=2026-02-06&se=2026-06-01T13%3A00%3A00Z&ses=scope1&sr=c&sp=racwdxltmeiyf&sig=%2BTz%2B5QUWf0SfeUeB0cYU716X%2F%2FSiix90CeFHIVuuNk0%3D" },
	{ "account sas 2026-02-06", AUTH_ACCOUNT_SAS, SERVICE_BLOB, "cont", "b", 0, "", "",
	  "sv=2026-02-06&ss=btqf&srt=sco&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.5&sp=rwdxftlacupiy&sig=xBtzhJEuujLjp5knWh%2F86CWIWSVcujAVrAcyb5T5%2Bs0%3D" },
	{ "account sas scope 2026-02-06", AUTH_ACCOUNT_SAS, SERVICE_BLOB, "cont", "b", 0, "", "",
	  "sv=2026-02-06&ss=b&srt=o&se=2026-06-01T13%3A00%3A00Z&ses=scope1&sp=r&sig=Xmbof1qIRLA4Yx82mNjTmCAfsrCwVnJdp8XRJymVNHg%3D" },
	{ "queue sas 2026-02-06", AUTH_SERVICE_SAS, SERVICE_QUEUE, "q", "", 'q', "", "",
	  "sv=2026-02-06&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.1-10.0.0.9&sp=raup&sig=SjL9mb%2FP7z%2F%2FVONM%2BLFR8aphKjMBm9iCL4xBh8Vt5E8%3D" },
	{ "file sas 2026-02-06", AUTH_SERVICE_SAS, SERVICE_FILE, "sh", "d/f.txt", 'f', "", "",
	  "sv=2026-02-06&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sr=f&sp=rcwd&sig=c6mvaoSOegzJtP6s0Bm6tpxpxh300z8h%2FXCW6hZ22L4%3D&rsct=text%2Fplain" },
	{ "share sas 2026-02-06", AUTH_SERVICE_SAS, SERVICE_FILE, "sh", "d/f.txt", 's', "", "",
	  "sv=2026-02-06&se=2026-06-01T13%3A00%3A00Z&sr=s&sp=rcwdl&sig=Fe%2Ft1MCLrySnxx5TBl0gUFOz9CS7Z%2BddfKcNRIbjiaA%3D" },
	{ "container sas 2026-04-06", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "any/blob", 'c', "", "",
	  "sv=2026-04-06&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sr=c&sp=racwdl&sig=P%2FyMc0E3QmE69FAo4yKjCtZOmhqKCIK7lKYqSeaS62Y%3D" },
	{ "blob sas 2026-04-06", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "dir/a b+\303\244%.txt", 'b', "", "",
	  "sv=2026-04-06&spr=https&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.1-10.0.0.9&sr=b&sp=racwd&rscc=no-cache&rscd=attachment%3B%20filename%3D%22x%20y.txt%22&rsce=gzip&rscl=de&rsct=text%2Fplain%3B%20charset%3Dutf-8&sig=l1QfD%2FVWGcEy%2FgOFfZlCv2SOYn1OFrYpCXxEFGr4gdE%3D" },
	{ "blob sas policy 2026-04-06", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 'b', "", "",
	  "sv=2026-04-06&si=policy-1&sr=b&sig=RHQwzjgqBfy%2BF%2FA8s87L99raiR5iNGgguyLJAyeHGYk%3D" },
	{ "snapshot sas 2026-04-06", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 's', "snapshot=2026-05-01T00%3A00%3A00.1234567Z&", "",
	  "sv=2026-04-06&se=2026-06-01T13%3A00%3A00Z&sr=bs&sp=r&sig=tIjmJGGyi3hd7P9mUde02hwVpG6BWtk6RfldG2GYaVU%3D" },
	{ "version sas 2026-04-06", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 'v', "versionid=2026-05-01T00%3A00%3A00.1234567Z&", "",
	  "sv=2026-04-06&se=2026-06-01T13%3A00%3A00Z&sr=bv&sp=rdx&sig=hdT3lS7cGKFPHnnglVaOrZbBjwretTAnBdmwCgKrwio%3D" },
	{ "scope all letters sas 2026-04-06", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 'c', "", "",
	  "sv=2026-04-06&se=2026-06-01T13%3A00%3A00Z&ses=scope1&sr=c&sp=racwdxltmeiyf&sig=fViKeKLaPplv%2BOJ2RAUlFXxykwDUrzeTmOzJESiXdrc%3D" },
	{ "account sas 2026-04-06", AUTH_ACCOUNT_SAS, SERVICE_BLOB, "cont", "b", 0, "", "",
	  "sv=2026-04-06&ss=btqf&srt=sco&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.5&sp=rwdxftlacupiy&sig=OqWRh%2B7t1cSziLu1qgeLD94fkTCUwIQq%2FjcIA33lWis%3D" },
	{ "account sas scope 2026-04-06", AUTH_ACCOUNT_SAS, SERVICE_BLOB, "cont", "b", 0, "", "",
	  "sv=2026-04-06&ss=b&srt=o&se=2026-06-01T13%3A00%3A00Z&ses=scope1&sp=r&sig=PeoPKYc%2FJR%2BIY7PP84h26tUbT2vMmzkjedn4jJq0d1c%3D" },
	{ "queue sas 2026-04-06", AUTH_SERVICE_SAS, SERVICE_QUEUE, "q", "", 'q', "", "",
	  "sv=2026-04-06&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.1-10.0.0.9&sp=raup&sig=OCfpckii1WlvgnOIezvmuX6pfIW47KgJtyogpgs6sBU%3D" },
	{ "file sas 2026-04-06", AUTH_SERVICE_SAS, SERVICE_FILE, "sh", "d/f.txt", 'f', "", "",
	  "sv=2026-04-06&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sr=f&sp=rcwd&sig=U6ELU4eMsZ%2FwHkhNAWjYUF83iixF08Vl%2Fs99J63Pruk%3D&rsct=text%2Fplain" },
	{ "share sas 2026-04-06", AUTH_SERVICE_SAS, SERVICE_FILE, "sh", "d/f.txt", 's', "", "",
	  "sv=2026-04-06&se=2026-06-01T13%3A00%3A00Z&sr=s&sp=rcwdl&sig=J1O1kNgfJ40g323iPGHTwEKg5oFSDUqEIZGcytgqtsc%3D" },
	{ "container sas newest", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "any/blob", 'c', "", "",
	  "sv=2026-04-06&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sr=c&sp=racwdl&sig=P%2FyMc0E3QmE69FAo4yKjCtZOmhqKCIK7lKYqSeaS62Y%3D" },
	{ "blob sas newest", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "dir/a b+\303\244%.txt", 'b', "", "",
	  "sv=2026-04-06&spr=https&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.1-10.0.0.9&sr=b&sp=racwd&rscc=no-cache&rscd=attachment%3B%20filename%3D%22x%20y.txt%22&rsce=gzip&rscl=de&rsct=text%2Fplain%3B%20charset%3Dutf-8&sig=l1QfD%2FVWGcEy%2FgOFfZlCv2SOYn1OFrYpCXxEFGr4gdE%3D" },
	{ "blob sas policy newest", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 'b', "", "",
	  "sv=2026-04-06&si=policy-1&sr=b&sig=RHQwzjgqBfy%2BF%2FA8s87L99raiR5iNGgguyLJAyeHGYk%3D" },
	{ "snapshot sas newest", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 's', "snapshot=2026-05-01T00%3A00%3A00.1234567Z&", "",
	  "sv=2026-04-06&se=2026-06-01T13%3A00%3A00Z&sr=bs&sp=r&sig=tIjmJGGyi3hd7P9mUde02hwVpG6BWtk6RfldG2GYaVU%3D" },
	{ "version sas newest", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 'v', "versionid=2026-05-01T00%3A00%3A00.1234567Z&", "",
	  "sv=2026-04-06&se=2026-06-01T13%3A00%3A00Z&sr=bv&sp=rdx&sig=hdT3lS7cGKFPHnnglVaOrZbBjwretTAnBdmwCgKrwio%3D" },
	{ "scope all letters sas newest", AUTH_SERVICE_SAS, SERVICE_BLOB, "cont", "b", 'c', "", "",
	  "sv=2026-04-06&se=2026-06-01T13%3A00%3A00Z&ses=scope1&sr=c&sp=racwdxltmeiyf&sig=fViKeKLaPplv%2BOJ2RAUlFXxykwDUrzeTmOzJESiXdrc%3D" },
	{ "account sas newest", AUTH_ACCOUNT_SAS, SERVICE_BLOB, "cont", "b", 0, "", "",
	  "sv=2026-04-06&ss=btqf&srt=sco&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.5&sp=rwdxftlacupiy&sig=OqWRh%2B7t1cSziLu1qgeLD94fkTCUwIQq%2FjcIA33lWis%3D" },
	{ "account sas scope newest", AUTH_ACCOUNT_SAS, SERVICE_BLOB, "cont", "b", 0, "", "",
	  "sv=2026-04-06&ss=b&srt=o&se=2026-06-01T13%3A00%3A00Z&ses=scope1&sp=r&sig=PeoPKYc%2FJR%2BIY7PP84h26tUbT2vMmzkjedn4jJq0d1c%3D" },
	{ "queue sas newest", AUTH_SERVICE_SAS, SERVICE_QUEUE, "q", "", 'q', "", "",
	  "sv=2026-04-06&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.1-10.0.0.9&sp=raup&sig=OCfpckii1WlvgnOIezvmuX6pfIW47KgJtyogpgs6sBU%3D" },
	{ "file sas newest", AUTH_SERVICE_SAS, SERVICE_FILE, "sh", "d/f.txt", 'f', "", "",
	  "sv=2026-04-06&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sr=f&sp=rcwd&sig=U6ELU4eMsZ%2FwHkhNAWjYUF83iixF08Vl%2Fs99J63Pruk%3D&rsct=text%2Fplain" },
	{ "share sas newest", AUTH_SERVICE_SAS, SERVICE_FILE, "sh", "d/f.txt", 's', "", "",
	  "sv=2026-04-06&se=2026-06-01T13%3A00%3A00Z&sr=s&sp=rcwdl&sig=J1O1kNgfJ40g323iPGHTwEKg5oFSDUqEIZGcytgqtsc%3D" },
	{ "table sas 2015-04-05", AUTH_SERVICE_SAS, SERVICE_TABLE, "MyTable", "", 't', "", "",
	  "sv=2015-04-05&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sp=raud&sig=ofRTnixGgrJs3qacTmRV7Zl3y3kgDKH9ARxQG0slpAY%3D&tn=MyTable" },
	{ "table sas range 2015-04-05", AUTH_SERVICE_SAS, SERVICE_TABLE, "MyTable", "", 't', "", "",
	  "sv=2015-04-05&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.5&sp=r&sig=ejhyzvWClDB%2B8Ri05plKFxydk4%2B6a%2BQuOXWl8Lk1E2s%3D&tn=MyTable&srk=1&spk=a%20b&epk=m%C3%BC&erk=9" },
	{ "table account sas 2015-04-05", AUTH_ACCOUNT_SAS, SERVICE_TABLE, "MyTable", "", 0, "", "",
	  "sv=2015-04-05&ss=t&srt=co&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sp=rla&sig=3T1gfU%2BsA%2F9C2zyYJbnwl0l0jt%2BpWPe%2FPMNlh%2FvYWEM%3D" },
	{ "table sas 2018-11-09", AUTH_SERVICE_SAS, SERVICE_TABLE, "MyTable", "", 't', "", "",
	  "sv=2018-11-09&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sp=raud&sig=LGg%2F%2FJGNrxn7GQ%2BSyl%2BEpanZsbwC97g9xUVGo9Gqrts%3D&tn=MyTable" },
	{ "table sas range 2018-11-09", AUTH_SERVICE_SAS, SERVICE_TABLE, "MyTable", "", 't', "", "",
	  "sv=2018-11-09&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.5&sp=r&sig=WS8vRvg1enYzcN6llkaDq3qzCUFwSx0s0rJweuXNXP0%3D&tn=MyTable&srk=1&spk=a%20b&epk=m%C3%BC&erk=9" },
	{ "table account sas 2018-11-09", AUTH_ACCOUNT_SAS, SERVICE_TABLE, "MyTable", "", 0, "", "",
	  "sv=2018-11-09&ss=t&srt=co&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sp=rla&sig=U91HnI2Kp3pudt4iouVv6EFq4GvfnzRC3QRFmkTOkzo%3D" },
	{ "table sas 2019-02-02", AUTH_SERVICE_SAS, SERVICE_TABLE, "MyTable", "", 't', "", "",
	  "sv=2019-02-02&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sp=raud&sig=LiYGqoOeyytbQ2RDSmSYTRgp%2BQ5Wmw3S%2FL8Efjlii9U%3D&tn=MyTable" },
	{ "table sas range 2019-02-02", AUTH_SERVICE_SAS, SERVICE_TABLE, "MyTable", "", 't', "", "",
	  "sv=2019-02-02&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.5&sp=r&sig=fvHgW978HlqvhBO4Vjn3JnyR2EK7sBxcBsuttxmg2XA%3D&tn=MyTable&srk=1&spk=a%20b&epk=m%C3%BC&erk=9" },
	{ "table account sas 2019-02-02", AUTH_ACCOUNT_SAS, SERVICE_TABLE, "MyTable", "", 0, "", "",
	  "sv=2019-02-02&ss=t&srt=co&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sp=rla&sig=TNJO1yddlgwZQYb01761Q%2FbePRnPqshPlhBXjRD7RQg%3D" },
	{ "table sas newest", AUTH_SERVICE_SAS, SERVICE_TABLE, "MyTable", "", 't', "", "",
	  "sv=2019-02-02&spr=https%2Chttp&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sp=raud&sig=LiYGqoOeyytbQ2RDSmSYTRgp%2BQ5Wmw3S%2FL8Efjlii9U%3D&tn=MyTable" },
	{ "table sas range newest", AUTH_SERVICE_SAS, SERVICE_TABLE, "MyTable", "", 't', "", "",
	  "sv=2019-02-02&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.5&sp=r&sig=fvHgW978HlqvhBO4Vjn3JnyR2EK7sBxcBsuttxmg2XA%3D&tn=MyTable&srk=1&spk=a%20b&epk=m%C3%BC&erk=9" },
	{ "table account sas newest", AUTH_ACCOUNT_SAS, SERVICE_TABLE, "MyTable", "", 0, "", "",
	  "sv=2019-02-02&ss=t&srt=co&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sp=rla&sig=TNJO1yddlgwZQYb01761Q%2FbePRnPqshPlhBXjRD7RQg%3D" },
	{ "delegation container 2018-11-09", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "x", 'c', "", "",
	  "sv=2018-11-09&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2018-11-09&sr=c&sp=rl&sig=AS6IyPaBHZCywPfMzVDuOeuQUgJ6d3OCIuYrjthEiiU%3D" },
	{ "delegation blob 2018-11-09", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "b \303\244", 'b', "", "",
	  "sv=2018-11-09&spr=https&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.5&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2018-11-09&sr=b&sp=rw&rsct=a%2Fb&sig=Xe33FYx%2FaxmPHD%2FWYYg87bnabqeHxeRXp94%2FYeoDac0%3D" },
	{ "delegation snapshot 2018-11-09", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "b", 's', "snapshot=2026-05-01T00%3A00%3A00.1234567Z&", "",
	  "sv=2018-11-09&se=2026-06-01T13%3A00%3A00Z&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2018-11-09&sr=bs&sp=r&sig=X6H6v6RsVV1s%2B1qxUUFHvJvUPN26lwyda3jQR%2Btvaqw%3D" },
	{ "delegation container 2019-12-12", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "x", 'c', "", "",
	  "sv=2019-12-12&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2019-12-12&sr=c&sp=rl&sig=SV4u%2FgQk2cRgJqqchFSxf%2BFt3%2FEHV11gcBv0KOF5oPI%3D" },
	{ "delegation blob 2019-12-12", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "b \303\244", 'b', "", "",
	  "sv=2019-12-12&spr=https&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.5&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2019-12-12&sr=b&sp=rw&rsct=a%2Fb&sig=fF7haLWv7bVYTroKToE6W%2FhxY7fbTqADAQXEgsltXRE%3D" },
	{ "delegation snapshot 2019-12-12", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "b", 's', "snapshot=2026-05-01T00%3A00%3A00.1234567Z&", "",
	  "sv=2019-12-12&se=2026-06-01T13%3A00%3A00Z&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2019-12-12&sr=bs&sp=r&sig=NlaWNbvK82eYrOkfFI8ADhd27Y7DuLXQamSxRcjkkoY%3D" },
	{ "delegation container 2020-02-10", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "x", 'c', "", "",
	  "sv=2020-02-10&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2020-02-10&sr=c&sp=rl&sig=iE5aELh39LcILnxSN8V2MK1euHPEZjLNb6h2KyGdFsg%3D" },
	{ "delegation blob 2020-02-10", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "b \303\244", 'b', "", "",
	  "sv=2020-02-10&spr=https&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.5&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2020-02-10&sr=b&sp=rw&rsct=a%2Fb&sig=6ftqIzYHCPz4dkjECRUtQLVtKNExXHT3EFMCNJC6oDM%3D" },
	{ "delegation snapshot 2020-02-10", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "b", 's', "snapshot=2026-05-01T00%3A00%3A00.1234567Z&", "",
	  "sv=2020-02-10&se=2026-06-01T13%3A00%3A00Z&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2020-02-10&sr=bs&sp=r&sig=WZBMDkWAbGVsRbW2skG3LX5gBr%2Brw%2FXdKXmsAv6o7h4%3D" },
	{ "delegation agent 2020-02-10", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "b", 'b', "", "",
	  "sv=2020-02-10&se=2026-06-01T13%3A00%3A00Z&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2020-02-10&sr=b&sp=r&saoid=aaaa-bb&scid=corr-1&sig=DVmZ67M0kuNUTu7xNwMP%2FiclMCVuYkRSEOaikrSmVp8%3D" },
	{ "delegation container 2020-10-02", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "x", 'c', "", "",
	  "sv=2020-10-02&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2020-10-02&sr=c&sp=rl&sig=RUFgOxKaJX7XdQR5J5bm6ZRHyt9D2l1SowJtkXihtss%3D" },
	{ "delegation blob 2020-10-02", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "b \303\244", 'b', "", "",
	  "sv=2020-10-02&spr=https&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.5&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2020-10-02&sr=b&sp=rw&rsct=a%2Fb&sig=sVl8%2FDoueoGEA7te7mFVETdjmXLeGzEl5GGgBT32OQ4%3D" },
	{ "delegation snapshot 2020-10-02", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "b", 's', "snapshot=2026-05-01T00%3A00%3A00.1234567Z&", "",
	  "sv=2020-10-02&se=2026-06-01T13%3A00%3A00Z&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2020-10-02&sr=bs&sp=r&sig=cpHxsQd7p2ih2uwafTM7UCuSLj03LdOeat3o7b6QW7w%3D" },
	{ "delegation agent 2020-10-02", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "b", 'b', "", "",
	  "sv=2020-10-02&se=2026-06-01T13%3A00%3A00Z&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2020-10-02&sr=b&sp=r&saoid=aaaa-bb&scid=corr-1&sig=CPKxsV5mlvlOBnAyAivi10Om0sXdVYfOcFGE1rQO01I%3D" },
	{ "delegation container 2020-12-06", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "x", 'c', "", "",
	  "sv=2020-12-06&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2020-12-06&sr=c&sp=rl&sig=nsSrJ%2B9Npde3tVmxhHMGevbCDgkyL0Gn4wnSSAGbW6o%3D" },
	{ "delegation blob 2020-12-06", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "b \303\244", 'b', "", "",
	  "sv=2020-12-06&spr=https&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.5&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2020-12-06&sr=b&sp=rw&rsct=a%2Fb&sig=uf8TlF5FGTlLNhSRk3caQqQy%2FAXI6VBm297j%2Botwv54%3D" },
	{ "delegation snapshot 2020-12-06", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "b", 's', "snapshot=2026-05-01T00%3A00%3A00.1234567Z&", "",
	  "sv=2020-12-06&se=2026-06-01T13%3A00%3A00Z&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2020-12-06&sr=bs&sp=r&sig=bjD1DHpuN1Qo%2BdhLqjHd2v3zJVMI6xRDgG%2F8Sc6aacg%3D" },
	{ "delegation agent 2020-12-06", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "b", 'b', "", "",
	  "sv=2020-12-06&se=2026-06-01T13%3A00%3A00Z&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2020-12-06&sr=b&sp=r&saoid=aaaa-bb&scid=corr-1&sig=l5aCTzaS1Ni%2BnV0rOuIl3e9bSQApVQCIQTm85xT5Vc0%3D" },
	{ "delegation container 2025-05-05", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "x", 'c', "", "",
	  "sv=2025-05-05&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2025-05-05&sr=c&sp=rl&sig=iMJt3Z5h1T0N21QP2eBiUte8puWtaur9nyt%2BhbK8CYM%3D" },
	{ "delegation blob 2025-05-05", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "b \303\244", 'b', "", "",
	  "sv=2025-05-05&spr=https&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.5&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2025-05-05&sr=b&sp=rw&rsct=a%2Fb&sig=4kewfE%2FXg70nTSwCQoBTvLrIUQjRtnlmUglofmH%2Bx9Y%3D" },
	{ "delegation snapshot 2025-05-05", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "b", 's', "snapshot=2026-05-01T00%3A00%3A00.1234567Z&", "",
	  "sv=2025-05-05&se=2026-06-01T13%3A00%3A00Z&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2025-05-05&sr=bs&sp=r&sig=81plTzTOqsFZMZO3%2FArUEoTPs%2FzB2nUYmGo8J3VUSTg%3D" },
	{ "delegation agent 2025-05-05", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "b", 'b', "", "",
	  "sv=2025-05-05&se=2026-06-01T13%3A00%3A00Z&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2025-05-05&sr=b&sp=r&saoid=aaaa-bb&scid=corr-1&sig=tkikT%2FK4nfhO2D6X4yuW26WWK2iXDt2D4CmUBiMPTns%3D" },
	{ "delegation container 2025-07-05", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "x", 'c', "", "",
	  "sv=2025-07-05&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2025-07-05&sr=c&sp=rl&sig=ZqZJzfy5v5XwviQH0iiPdtEl3HgTkmVNfOI%2F6DG9Imo%3D" },
	{ "delegation blob 2025-07-05", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "b \303\244", 'b', "", "",
	  "sv=2025-07-05&spr=https&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.5&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2025-07-05&sr=b&sp=rw&rsct=a%2Fb&sig=HaJy%2FdSSjYG0rcoxNILIkHbE0YtUjh6Ox07MgIltLHs%3D" },
	{ "delegation snapshot 2025-07-05", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "b", 's', "snapshot=2026-05-01T00%3A00%3A00.1234567Z&", "",
	  "sv=2025-07-05&se=2026-06-01T13%3A00%3A00Z&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2025-07-05&sr=bs&sp=r&sig=CUyFI0NUIO%2BZbpmcbvicorLl4hLEBZXoatCr8cnH1Ks%3D" },
	{ "delegation agent 2025-07-05", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "b", 'b', "", "",
	  "sv=2025-07-05&se=2026-06-01T13%3A00%3A00Z&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2025-07-05&sr=b&sp=r&saoid=aaaa-bb&scid=corr-1&sig=%2BBFcvJRUcFAO7zjetiyWO8rzz6TVzn6H6S7%2BClOfFyA%3D" },
	{ "delegation container 2026-02-06", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "x", 'c', "", "",
	  "sv=2026-02-06&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2026-02-06&sr=c&sp=rl&sig=mBxOG2IvrJLJeX4RQXfIbQaZTM8Gw2Gl5fVBN7aEEiE%3D" },
	{ "delegation blob 2026-02-06", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "b \303\244", 'b', "", "",
	  "sv=2026-02-06&spr=https&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.5&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2026-02-06&sr=b&sp=rw&rsct=a%2Fb&sig=duitYwwkfDtXtKqvfeb55rTxXPrSB%2BNb%2FY3%2BrjohQd4%3D" },
	{ "delegation snapshot 2026-02-06", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "b", 's', "snapshot=2026-05-01T00%3A00%3A00.1234567Z&", "",
	  "sv=2026-02-06&se=2026-06-01T13%3A00%3A00Z&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2026-02-06&sr=bs&sp=r&sig=hH0I1WGyAH7%2B93djfkFWzepl2Vur26nU3KFmj0SUOVU%3D" },
	{ "delegation agent 2026-02-06", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "b", 'b', "", "",
	  "sv=2026-02-06&se=2026-06-01T13%3A00%3A00Z&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2026-02-06&sr=b&sp=r&saoid=aaaa-bb&scid=corr-1&sig=8DOHXOjq1lV%2BisKtzjmZhFIJuhYgijENVywT3Cii1DY%3D" },
	{ "delegation container 2026-04-06", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "x", 'c', "", "",
	  "sv=2026-04-06&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2026-04-06&sr=c&sp=rl&sig=o%2B0Wyy6Pk5kRJRj1tNcOUCXnVfgdGvOPQoXe8A7x9Yo%3D" },
	{ "delegation blob 2026-04-06", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "b \303\244", 'b', "", "",
	  "sv=2026-04-06&spr=https&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.5&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2026-04-06&sr=b&sp=rw&rsct=a%2Fb&sig=vqFU%2FnnhmV802C8uuE48lu1ZT31vpzxrskR40suzEc8%3D" },
	{ "delegation snapshot 2026-04-06", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "b", 's', "snapshot=2026-05-01T00%3A00%3A00.1234567Z&", "",
	  "sv=2026-04-06&se=2026-06-01T13%3A00%3A00Z&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2026-04-06&sr=bs&sp=r&sig=J2BQPT22sQ7igrsl8oRqHixIqGX9gQDYU2wuHyyrKN8%3D" },
	{ "delegation agent 2026-04-06", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "b", 'b', "", "",
	  "sv=2026-04-06&se=2026-06-01T13%3A00%3A00Z&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2026-04-06&sr=b&sp=r&saoid=aaaa-bb&scid=corr-1&sig=hEakE3UDg1gn9aAn0Iv2e4A7prJKmRk9fRbnTIQGl4o%3D" },
	{ "delegation signed request 2026-04-06", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "b", 'b', "foo=1%2B1&", "x-client-tag: blue\r\nx-other: a b\r\n",
	  "sv=2026-04-06&se=2026-06-01T13%3A00%3A00Z&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2026-04-06&sr=b&sp=r&srh=x-client-tag%2Cx-other&srq=foo&sig=DcAh9l39%2BsL7P0YwIEajpC0xOScd81g%2FCLxx%2FiQUTVU%3D" },
	{ "delegation container newest", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "x", 'c', "", "",
	  "sv=2026-04-06&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2026-06-06&sr=c&sp=rl&sig=%2FtWvKzfthlBdi4aUN8U1maVpuyXpTzJ0z2GNOIbrNW4%3D" },
	{ "delegation blob newest", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "b \303\244", 'b', "", "",
	  "sv=2026-04-06&spr=https&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sip=10.0.0.5&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2026-06-06&sr=b&sp=rw&rsct=a%2Fb&sig=MMhUWk7pQ20Is55TMqqResZmfiR9eJiksKrfp63ipuk%3D" },
	{ "delegation snapshot newest", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "b", 's', "snapshot=2026-05-01T00%3A00%3A00.1234567Z&", "",
	  "sv=2026-04-06&se=2026-06-01T13%3A00%3A00Z&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2026-06-06&sr=bs&sp=r&sig=kFirSVo6%2BAUrRsVmfFh6KW6XJrW9IEywi1RaUy2ewOM%3D" },
	{ "delegation agent newest", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "b", 'b', "", "",
	  "sv=2026-04-06&se=2026-06-01T13%3A00%3A00Z&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2026-06-06&sr=b&sp=r&saoid=aaaa-bb&scid=corr-1&sig=XmqL82iLL8AfkjYHGJ3SHagNrSIOETEpSGKNElpf8EA%3D" },
	{ "delegation signed request newest", AUTH_DELEGATION_SAS, SERVICE_BLOB, "cont", "b", 'b', "foo=1%2B1&", "x-client-tag: blue\r\nx-other: a b\r\n",
	  "sv=2026-04-06&se=2026-06-01T13%3A00%3A00Z&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=b&skv=2026-06-06&sr=b&sp=r&srh=x-client-tag%2Cx-other&srq=foo&sig=U6Sg1EZtlnpOusS4AZwB0H%2FgWN0DctDy0Q4U4CF6mvM%3D" },
	{ "delegation queue 2026-02-06", AUTH_DELEGATION_SAS, SERVICE_QUEUE, "q", "", 'q', "", "",
	  "sv=2026-02-06&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sr=q&sp=rp&sig=yHsySY5QuTz1Gnm8qNcAZhJMSv2iWptPtdYIh1Miq4A%3D&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=q&skv=2026-02-06" },
	{ "delegation file 2026-02-06", AUTH_DELEGATION_SAS, SERVICE_FILE, "sh", "f", 'f', "", "",
	  "sv=2026-02-06&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sr=f&sp=r&sig=9jtKUAvIisRCHYVqOF7oPCwnBRnwS5sknQbIUXQ4nkc%3D&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=f&skv=2026-02-06" },
	{ "delegation queue 2026-06-06", AUTH_DELEGATION_SAS, SERVICE_QUEUE, "q", "", 'q', "", "",
	  "sv=2026-06-06&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sr=q&sp=rp&sig=uiLon6U2yv%2BqACjJ76YL0dN%2FvGa3hpCrNpxjHOHo9RQ%3D&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=q&skv=2026-06-06" },
	{ "delegation file 2026-06-06", AUTH_DELEGATION_SAS, SERVICE_FILE, "sh", "f", 'f', "", "",
	  "sv=2026-06-06&st=2026-06-01T11%3A00%3A00Z&se=2026-06-01T13%3A00%3A00Z&sr=f&sp=r&sig=G3p2wdup11G3htHP0JAyEtMtOVk8WuKey4ScLS9EP%2Bo%3D&skoid=11111111-2222-3333-4444-55555555abcd&sktid=99999999-8888-7777-6666-55555555EF01&skt=2026-05-31T12%3A00%3A00Z&ske=2026-06-02T12%3A00%3A00Z&sks=f&skv=2026-06-06" },
};

#endif

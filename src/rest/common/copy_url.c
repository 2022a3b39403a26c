/* SPDX-License-Identifier: Apache-2.0
 * Whose URL is it? The service of the request, if the host is the one the client uses, but for the account; else by its
 * port, if the host is a loopback name, the name the client uses for this server, or an account's own host; or by the
 * label behind the account (acct.blob.example beside acct.file.example). */
#include "rest/common/copy_url.h"

#include <stdlib.h>

#include "rest/core/op.h"
#include "rest/core/server.h"
#include "wire/hash.h"

enum { SOURCE_BUFFER_BYTES = 1024 * 1024 };

struct slice rest_source_url_authority(struct slice url)
{
	if (slice_has_prefix_nocase(url, SLICE("http://")))
		url = slice_from(url, 7);
	else if (slice_has_prefix_nocase(url, SLICE("https://")))
		url = slice_from(url, 8);
	else
		return SLICE_NONE;
	size_t end = slice_find_byte(url, '/'), question = slice_find_byte(url, '?');
	return slice_first(url, end < question ? end : question);
}

bool rest_source_url_has_signature(struct slice url)
{
	struct slice query = slice_from(url, slice_find_byte(url, '?') + 1);
	while (query.len)
		if (slice_has_prefix_nocase(slice_cut(&query, '&'), SLICE("sig=")))
			return true;
	return false;
}

enum err rest_source_url_target(struct request *r, struct slice url, struct slice *ret)
{
	size_t path_end = slice_find_byte(url, '?'), len = 0;
	char *out = arena_alloc(r->arena, url.len);
	if (!out)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < url.len; i++) {
		bool slash = i + 3 <= path_end && slice_eq_nocase(slice_make(url.ptr + i, 3), SLICE("%2F"));
		out[len++] = slash ? '/' : url.ptr[i];
		i += slash ? 2 : 0;
	}
	*ret = slice_make(out, len);
	return ERR_OK;
}

static struct slice split_port(struct slice authority, struct slice *ret_host)
{
	size_t at = authority.len;
	while (at && authority.ptr[at - 1] != ':' && authority.ptr[at - 1] != ']')
		at--;
	bool has = at && authority.ptr[at - 1] == ':';
	*ret_host = has ? slice_first(authority, at - 1) : authority;
	return has ? slice_from(authority, at) : SLICE("80");
}

static bool service_of_port(const struct request *r, struct slice port, enum service *ret)
{
	uint64_t number;
	if (!slice_to_u64(port, &number))
		return false;
	for (size_t i = 0; i < r->server->listener_count; i++)
		if (!r->server->config.listeners[i].path && rest_server_port(r->server, i) == number) {
			*ret = r->server->config.listeners[i].service;
			return true;
		}
	return false;
}

static bool is_account(const struct request *r, struct slice label)
{
	for (size_t i = 0; i < r->access->account_count; i++)
		if (slice_eq_nocase(r->access->accounts[i].name, label))
			return true;
	return false;
}

/* The first label is an account's, and the next one a service's. */
static bool service_of_label(const struct request *r, struct slice host, enum service *ret)
{
	size_t dot = slice_find_byte(host, '.');
	if (dot == host.len || !is_account(r, slice_first(host, dot)))
		return false;
	for (unsigned s = 0; s < SERVICE_COUNT; s++) {
		const char *part = service_facts((enum service)s)->host_part;
		if (slice_has_prefix_nocase(slice_from(host, dot), slice_str(part))) {
			*ret = (enum service)s;
			return true;
		}
	}
	return false;
}

/* What follows the labels of account and service, with the port if there is one. */
static struct slice behind_labels(struct slice authority)
{
	for (int i = 0; i < 2; i++)
		authority = slice_from(authority, slice_find_byte(authority, '.') + 1);
	return authority;
}

/* Behind those labels both hosts go on alike. */
static bool is_beside(const struct request *r, struct slice authority)
{
	struct slice mine = behind_labels(r->head->host);
	return !r->path_style && mine.len && slice_eq_nocase(mine, behind_labels(authority));
}

/* The host of the request itself, or that of another account there, whatever port a proxy in front of us has. */
static bool is_own_host(const struct request *r, struct slice authority)
{
	struct slice own = r->head->host;
	size_t dot = slice_find_byte(authority, '.');
	if (slice_eq_nocase(authority, own))
		return true;
	return !r->path_style && dot < authority.len && is_account(r, slice_first(authority, dot)) &&
	       slice_eq_nocase(slice_from(own, slice_find_byte(own, '.')), slice_from(authority, dot));
}

bool rest_source_url_service(const struct request *r, struct slice url, enum service *ret)
{
	struct slice authority = rest_source_url_authority(url), host, mine;
	if (!slice_is_set(authority) || !authority.len)
		return false;
	if (is_own_host(r, authority)) {
		*ret = r->service;
		return true;
	}
	struct slice port = split_port(authority, &host);
	split_port(r->head->host, &mine);
	bool ours = slice_eq_nocase(host, SLICE("127.0.0.1")) || slice_eq_nocase(host, SLICE("localhost")) ||
		    slice_eq_nocase(host, SLICE("[::1]")) || slice_eq_nocase(host, mine) ||
		    is_account(r, slice_first(host, slice_find_byte(host, '.')));
	if (ours && service_of_port(r, port, ret))
		return true;
	/* az writes it so, whatever endpoint it was given. Azure has no such account. */
	bool by_az = slice_has_prefix_nocase(host, SLICE("devstoreaccount1.")) &&
		     slice_eq_nocase(behind_labels(authority), SLICE("core.windows.net"));
	return (by_az || is_beside(r, authority)) && service_of_label(r, host, ret);
}

bool rest_source_is_get(const struct op *op)
{
	return op->level == LEVEL_OBJECT && (op->methods & M_GET) && op->comp && !*op->comp &&
	       (!op->restype || !*op->restype);
}

void rest_source_tell_answer(struct request *r, enum err e)
{
	if (r->version < VERSION(2025, 11, 5))
		return;
	fault_add_header(r, "x-ms-copy-source-status-code", arena_printf(r->arena, "%d", err_info(e)->http_status));
	fault_add_header(r, "x-ms-copy-source-error-code", slice_str(err_info(e)->code));
}

static enum err fetch_into(struct request *r, struct payload_writer *w, source_read_fn *read, void *reader,
			   char *buffer)
{
	struct hash_md5 md5;
	uint64_t crc = 0;
	hash_md5_init(&md5);
	for (;;) {
		size_t n;
		TRY(read(reader, buffer, SOURCE_BUFFER_BYTES, &n));
		if (n == 0)
			break;
		hash_md5_update(&md5, slice_make(buffer, n));
		crc = hash_crc64(crc, slice_make(buffer, n));
		TRY(payload_append(w, slice_make(buffer, n)));
	}
	hash_md5_final(&md5, r->body_md5);
	r->body_crc64 = crc;
	return ERR_OK;
}

enum err rest_source_fetch(struct request *r, struct payload_writer *w, source_read_fn *read, void *reader)
{
	char *buffer = malloc(SOURCE_BUFFER_BYTES);
	enum err e = buffer ? fetch_into(r, w, read, reader, buffer) : ERR_NO_MEMORY;
	free(buffer);
	if (e != ERR_OK) {
		payload_writer_free(w);
		return e;
	}
	TRY(payload_finish(w, &r->payload));
	request_own_payload(r);
	return ERR_OK;
}

/* SPDX-License-Identifier: Apache-2.0
 * Where a request points: account (host or path), resource, protocol version, ids. Names are decoded here once; whether
 * they are good names is for the service to say. */
#include <ctype.h>

#include "rest/core/conn/exchange_int.h"
#include "rest/core/service.h"

/* Protocol versions before this one are not served. */
#define VERSION_OLDEST VERSION(2009, 9, 19)

bool request_version_parse(struct slice s, uint32_t *ret)
{
	if (s.len != 10 || s.ptr[4] != '-' || s.ptr[7] != '-')
		return false;
	uint64_t year, month, day;
	if (!slice_to_u64(slice_first(s, 4), &year) || !slice_to_u64(slice_make(s.ptr + 5, 2), &month) ||
	    !slice_to_u64(slice_make(s.ptr + 8, 2), &day) || month < 1 || month > 12 || day < 1 || day > 31)
		return false;
	*ret = VERSION(year, month, day);
	return true;
}

void address_set_version(struct request *r, uint32_t version, struct slice text)
{
	r->version = version;
	r->version_text = text;
}

/* With a SAS: api-version, else the header, else sv. Without: the header. Without any: what the anonymous get. */
static enum err find_version(struct request *r)
{
	struct slice header = request_header(r, "x-ms-version");
	bool sas = slice_is_set(request_param(r, "sig"));
	uint32_t version;
	if (sas) {
		struct slice api = request_param(r, "api-version");
		if (slice_is_set(api)) {
			if (!request_version_parse(api, &version) || version < VERSION_OLDEST)
				return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "api-version", api, "");
			address_set_version(r, version, api);
			return ERR_OK;
		}
	}
	if (slice_is_set(header)) {
		if (!request_version_parse(header, &version) || version < VERSION_OLDEST)
			return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-version", header);
		address_set_version(r, version, header);
		return ERR_OK;
	}
	if (sas && request_version_parse(request_param(r, "sv"), &version)) {
		address_set_version(r, version, request_param(r, "sv"));
		return ERR_OK;
	}
	if (r->parent) { /* a part of a batch speaks the version of the batch */
		address_set_version(r, r->parent->version, r->parent->version_text);
		return ERR_OK;
	}
	if (!slice_is_set(request_header(r, "authorization"))) {
		address_set_version(r, VERSION(2009, 9, 19), SLICE("2009-09-19"));
		return ERR_OK;
	}
	if (service_facts(r->service)->default_version == 0)
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, "x-ms-version", SLICE_NONE);
	address_set_version(r, VERSION(2012, 2, 12), SLICE("2012-02-12"));
	return ERR_OK;
}

/* Without a version at all: the account's default, if the service has such a thing and it was set. */
static enum err find_default_version(struct request *r)
{
	const struct rest_service *s = rest_service_of(r);
	if (!s->find_default_version || r->parent || slice_is_set(request_header(r, "x-ms-version")) ||
	    slice_is_set(request_param(r, "sig")))
		return ERR_OK;
	return s->find_default_version(r);
}

static void find_client_request_id(struct request *r)
{
	struct slice id = request_header(r, "x-ms-client-request-id");
	if (!slice_is_set(id) || id.len == 0 || id.len > 1024)
		return;
	for (size_t i = 0; i < id.len; i++)
		if (id.ptr[i] < 0x21 || id.ptr[i] > 0x7e)
			return;
	r->client_request_id = id;
}

/* The name without "-secondary", if an account has that. */
const struct auth_account *address_account(const struct request *r, struct slice name, bool *ret_secondary)
{
	static const char suffix[] = "-secondary";
	size_t suffix_len = sizeof suffix - 1;
	const struct auth_account *a = rest_access_account(r->access, name);
	if (a || name.len <= suffix_len || memcmp(name.ptr + name.len - suffix_len, suffix, suffix_len) != 0)
		return a;
	a = rest_access_account(r->access, slice_first(name, name.len - suffix_len));
	if (a)
		*ret_secondary = true;
	return a;
}

static bool host_is_address(struct slice host)
{
	if (host.len && host.ptr[0] == '[')
		return true;
	for (size_t i = 0; i < host.len && host.ptr[i] != ':'; i++)
		if (!isdigit((unsigned char)host.ptr[i]) && host.ptr[i] != '.')
			return false;
	return true;
}

/* By the first label. Names of hosts have no case, those of accounts are written small. */
const struct auth_account *address_account_of_host(struct request *r)
{
	struct slice label = slice_first(r->head->host, slice_find_byte(r->head->host, '.'));
	char *lower = host_is_address(r->head->host) ? NULL : arena_alloc(r->arena, label.len);
	if (!lower)
		return NULL;
	for (size_t i = 0; i < label.len; i++)
		lower[i] = (char)tolower((unsigned char)label.ptr[i]);
	return address_account(r, slice_make(lower, label.len), &r->secondary);
}

/* Sets account, path_style and raw_resource_path. */
static enum err find_resource_path(struct request *r)
{
	struct slice path = r->head->path;
	struct slice host = r->head->host;
	const struct auth_account *a;
	bool by_host = !r->server->config.path_style_only && slice_find_byte(host, '.') < host.len;
	if (by_host && (a = address_account_of_host(r))) {
		r->account = a->name;
		r->raw_resource_path = path;
		return ERR_OK;
	}
	struct slice rest = slice_from(path, 1);
	struct slice first = slice_first(rest, slice_find_byte(rest, '/'));
	a = address_account(r, first, &r->secondary);
	if (!a && r->access->any_make && r->service != SERVICE_WEB)
		a = r->access->any_make(r->access->any_arg, first);
	if (!a && r->account_implied) {
		r->account = r->parent->account;
		r->raw_resource_path = path;
		return ERR_OK;
	}
	const struct rest_service *s = rest_service_of(r);
	if (!a && s->find_account && (a = s->find_account(r))) {
		r->account = a->name;
		r->raw_resource_path = path;
		return ERR_OK;
	}
	if (!a)
		return ERR_RESOURCE_NOT_FOUND;
	r->account = a->name;
	r->path_style = true;
	r->raw_resource_path = slice_from(rest, first.len);
	return ERR_OK;
}

enum err address_decode(struct request *r, struct slice text, struct slice *ret)
{
	enum err e = uri_decode(text, r->arena, ret);
	return e == ERR_SYNTAX ? ERR_INVALID_URI : e;
}

static enum err split_resource(struct request *r)
{
	struct slice path = slice_from(r->raw_resource_path, 1);
	r->container = r->object = SLICE("");
	if (path.len == 0) {
		r->level = LEVEL_SERVICE;
		return ERR_OK;
	}
	return rest_service_of(r)->split_path(r, path);
}

void request_hand_over(struct request *r, enum service service, struct slice account, struct slice path)
{
	struct exchange *ex = exchange_of(r);
	ex->head.path = path;
	r->service = service;
	r->vouched_account = account;
}

enum err address_find(struct request *r)
{
	find_client_request_id(r);
	if (rest_service_of(r)->find_address)
		return rest_service_of(r)->find_address(r);
	enum err e = slice_is_set(r->head->query) ? uri_parse_query(r->head->query, r->arena, &r->query) : ERR_OK;
	if (e != ERR_OK)
		return e == ERR_SYNTAX ? ERR_INVALID_URI : e;
	TRY(find_version(r));
	struct slice timeout = request_param(r, "timeout");
	uint64_t seconds;
	if (slice_is_set(timeout) && timeout.len && !slice_to_u64(timeout, &seconds))
		return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "timeout", timeout, "");
	TRY(find_resource_path(r));
	TRY(find_default_version(r));
	return split_resource(r);
}

/* SPDX-License-Identifier: Apache-2.0
 * Whose URL is it? By its port, if the host is a loopback name, the name the client uses for this server, or an
 * account's own host; or by the label behind the account (acct.blob.example beside acct.file.example). */
#include "rest/common/copy_url.h"

#include "rest/core/server.h"

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

/* Behind the labels of account and service both hosts go on alike. */
static bool is_beside(const struct request *r, struct slice host)
{
	struct slice mine, other = host;
	split_port(r->head->host, &mine);
	for (int i = 0; i < 2; i++) {
		mine = slice_from(mine, slice_find_byte(mine, '.') + 1);
		other = slice_from(other, slice_find_byte(other, '.') + 1);
	}
	return !r->path_style && mine.len && slice_eq_nocase(mine, other);
}

bool rest_source_url_service(const struct request *r, struct slice url, enum service *ret)
{
	struct slice authority = rest_source_url_authority(url), host, mine;
	if (!slice_is_set(authority) || !authority.len)
		return false;
	struct slice port = split_port(authority, &host);
	split_port(r->head->host, &mine);
	bool ours = slice_eq_nocase(host, SLICE("127.0.0.1")) || slice_eq_nocase(host, SLICE("localhost")) ||
		    slice_eq_nocase(host, SLICE("[::1]")) || slice_eq_nocase(host, mine) ||
		    is_account(r, slice_first(host, slice_find_byte(host, '.')));
	if (ours && service_of_port(r, port, ret))
		return true;
	/* az writes it so, whatever endpoint it was given. Azure has no such account. */
	if (slice_has_prefix_nocase(host, SLICE("devstoreaccount1.")) &&
	    memmem(host.ptr, host.len, ".core.windows.net", 17))
		return service_of_label(r, host, ret);
	return is_beside(r, host) && service_of_label(r, host, ret);
}

/* SPDX-License-Identifier: Apache-2.0
 * Proxies in front of us: those at addresses that the operator names may say whose request they bring and whether it
 * came over TLS, in a PROXY header or in the customary header fields. From anybody else such words mean nothing. */
#include "auth/address.h"
#include "io/proxy.h"
#include "rest/core/conn/conn_int.h"

bool forwarded_is_trusted(const struct rest_server *s, struct slice address)
{
	unsigned char bytes[ADDRESS_BYTES];
	if (!auth_address_parse(address, bytes))
		return false;
	for (size_t i = 0; i < s->config.trusted_count; i++)
		if (auth_address_range_holds(&s->config.trusted[i], bytes))
			return true;
	return false;
}

ssize_t forwarded_read(struct conn *c)
{
	struct proxy_header header;
	switch (io_proxy_read(c->stream.fd, &header)) {
	case PROXY_MORE:
		return STREAM_AGAIN;
	case PROXY_BAD:
		return STREAM_BROKEN;
	case PROXY_DONE:
		break;
	}
	c->proxy_pending = c->trusted = false; /* its word was taken: header fields are the client's own */
	c->secure_before = header.secure;
	if (header.has_address) {
		c->address_len = (uint8_t)strlen(header.address);
		memcpy(c->address, header.address, c->address_len);
	}
	return 1;
}

/* Of several fields of a name the last: a proxy adds behind what the client wrote. */
static struct slice last_field(const struct http_head *head, const char *name)
{
	struct slice found = SLICE_NONE;
	for (size_t i = 0; i < head->header_count; i++)
		if (slice_eq_nocase(head->headers[i].name, slice_str(name)))
			found = head->headers[i].value;
	return found;
}

/* The last of a list; *list keeps what is before it. */
static struct slice take_last(struct slice *list)
{
	size_t at = list->len;
	while (at > 0 && list->ptr[at - 1] != ',')
		at--;
	struct slice last = slice_trim(slice_from(*list, at));
	*list = at ? slice_first(*list, at - 1) : SLICE_NONE;
	return last;
}

/* "192.0.2.1", "192.0.2.1:5000", "2001:db8::1" or "[2001:db8::1]:5000". */
static struct slice without_port(struct slice s)
{
	size_t colon = slice_find_byte(s, ':');
	if (s.len && s.ptr[0] == '[')
		return slice_first(slice_from(s, 1), slice_find_byte(slice_from(s, 1), ']'));
	if (colon < s.len && slice_find_byte(slice_from(s, colon + 1), ':') == s.len - colon - 1)
		return slice_first(s, colon);
	return s;
}

/* The nearest one that is not a proxy of ours: what stands before it anybody may have written. */
void forwarded_apply(struct exchange *ex)
{
	struct request *r = &ex->req;
	struct slice list = last_field(r->head, "x-forwarded-for"), proto = last_field(r->head, "x-forwarded-proto");
	unsigned char bytes[ADDRESS_BYTES];
	while (slice_is_set(list)) {
		struct slice one = without_port(take_last(&list));
		if (!auth_address_parse(one, bytes) || one.len > sizeof ex->address)
			break;
		memcpy(ex->address, one.ptr, one.len);
		r->client_ip = slice_make(ex->address, one.len);
		if (!forwarded_is_trusted(r->server, one))
			break;
	}
	if (slice_is_set(proto) && slice_eq_nocase(take_last(&proto), SLICE("https")))
		r->secure = true;
}

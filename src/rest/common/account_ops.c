/* SPDX-License-Identifier: Apache-2.0
 * Get Account Information, and Get User Delegation Key of Blob and Queue. */
#include "rest/common/fault_xml.h"
#include "rest/core/op.h"
#include "rest/core/server.h"
#include "wire/base64.h"
#include "wire/date.h"

#define DELEGATION_MAX_TICKS (UINT64_C(7) * 86400 * TICKS_PER_SECOND)
enum { TENANT_ID_MAX = 64 }; /* it is a GUID, in whatever form */

/* ---- Get Account Information ---- */

static enum err parse_info(struct request *r)
{
	return ERR_OK; /* the resource in the URL need not exist */
}

static enum err format_info(struct request *r)
{
	r->response.status = 200;
	response_header(r, "x-ms-sku-name", SLICE("Standard_LRS"));
	response_header(r, "x-ms-account-kind", SLICE("StorageV2"));
	if (r->version >= VERSION(2019, 7, 7))
		response_header(r, "x-ms-is-hns-enabled", SLICE("false"));
	return ERR_OK;
}

/* ---- Get User Delegation Key ---- */

struct key_call {
	struct auth_delegation delegation;
};

static enum err parse_key(struct request *r)
{
	/* Others than Blob came late: versions before know no such operation. */
	if (r->version < service_facts(r->service)->delegation_since)
		return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "comp", request_param(r, "comp"), "");
	struct key_call *c = ARENA_NEW(r->arena, struct key_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	return ERR_OK;
}

static uint64_t whole_second(uint64_t ticks)
{
	return ticks - ticks % TICKS_PER_SECOND;
}

/* Whose user the tokens of this key may be bound to. What is not in the key cannot be asked for by a token of it, so
 * nothing that was asked for may get lost here. */
static enum err parse_delegated_tenant(struct request *r, const struct xml_node *root, struct slice *ret)
{
	struct slice s;
	TRY(rest_fault_xml_child_text(r, root, "DelegatedUserTid", &s));
	s = slice_trim(s);
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] < 0x21 || s.ptr[i] > 0x7e || s.len > TENANT_ID_MAX)
			return rest_fault_xml_node(r, "DelegatedUserTid", s);
	*ret = s.len ? s : SLICE_NONE;
	return ERR_OK;
}

static enum err parse_key_body(struct request *r)
{
	struct key_call *c = r->call;
	struct xml_node *root;
	TRY(rest_fault_xml_parse(r, &root));
	if (!xml_is(root, "KeyInfo"))
		return rest_fault_xml_reason(r, "The root element must be KeyInfo.");
	struct slice start, expiry;
	TRY(rest_fault_xml_child_text(r, root, "Start", &start));
	TRY(rest_fault_xml_child_text(r, root, "Expiry", &expiry));
	struct auth_delegation *d = &c->delegation;
	if (!slice_is_set(expiry))
		return ERR_MISSING_REQUIRED_XML_NODE;
	if (!date_parse_iso(expiry, &d->expiry_ticks))
		return rest_fault_xml_node(r, "Expiry", expiry);
	d->start_ticks = r->arrival_ticks;
	if (slice_is_set(start) && start.len && !date_parse_iso(start, &d->start_ticks))
		return rest_fault_xml_node(r, "Start", start);
	d->start_ticks = whole_second(d->start_ticks);
	d->expiry_ticks = whole_second(d->expiry_ticks);
	if (d->expiry_ticks <= d->start_ticks || d->expiry_ticks > r->arrival_ticks + DELEGATION_MAX_TICKS)
		return rest_fault_xml_node(r, "Expiry", expiry);
	d->object_id = r->identity.subject;
	d->tenant_id = r->identity.tenant;
	TRY(parse_delegated_tenant(r, root, &d->delegated_tenant));
	d->service = slice_make(&service_facts(r->service)->letter, 1);
	d->version = r->version_text;
	return ERR_OK;
}

static enum err format_key(struct request *r)
{
	struct key_call *c = r->call;
	const struct auth_delegation *d = &c->delegation;
	unsigned char key[AUTH_DELEGATION_KEY_BYTES];
	char text[BASE64_BYTES(AUTH_DELEGATION_KEY_BYTES)], start[DATE_ISO_BYTES], expiry[DATE_ISO_BYTES];
	struct buf *b = &r->response.body;
	TRY(auth_delegation_key(rest_access_account(r->access, r->account), d, key));
	base64_encode_to(text, slice_make(key, sizeof key));
	size_t start_len = date_format_iso_short(d->start_ticks, start),
	       expiry_len = date_format_iso_short(d->expiry_ticks, expiry);
	r->response.status = 200;
	response_header(r, "Content-Type", SLICE("application/xml"));
	xml_begin(b);
	xml_open(b, "UserDelegationKey");
	xml_put(b, "SignedOid", d->object_id);
	xml_put(b, "SignedTid", d->tenant_id);
	xml_put(b, "SignedStart", slice_make(start, start_len));
	xml_put(b, "SignedExpiry", slice_make(expiry, expiry_len));
	xml_put(b, "SignedService", d->service);
	xml_put(b, "SignedVersion", d->version);
	if (slice_is_set(d->delegated_tenant))
		xml_put(b, "SignedDelegatedUserTid", d->delegated_tenant);
	xml_put(b, "Value", slice_make(text, sizeof text));
	xml_close(b, "UserDelegationKey");
	return ERR_OK;
}

const struct handler handler_blob_account_info = { .parse = parse_info, .format = format_info };
const struct handler handler_blob_delegation_key = { .parse = parse_key,
						     .parse_body = parse_key_body,
						     .format = format_key };
const struct handler handler_queue_delegation_key = { .parse = parse_key,
						      .parse_body = parse_key_body,
						      .format = format_key };
const struct handler handler_file_delegation_key = { .parse = parse_key,
						     .parse_body = parse_key_body,
						     .format = format_key };

/* SPDX-License-Identifier: Apache-2.0
 * Stored access policies as XML, in and out. */
#include "rest/common/acl.h"

#include "rest/common/fault_xml.h"
#include "svc/account/names.h"
#include "wire/date.h"
#include "wire/xml.h"

/* An empty element says as little as none. */
static enum err text_or_none(struct request *r, const struct xml_node *n, const char *child, struct slice *ret)
{
	struct slice s;
	TRY(fault_xml_child_text(r, n, child, &s));
	s = slice_trim(s);
	*ret = s.len ? s : SLICE_NONE;
	return ERR_OK;
}

static enum err check_time(struct request *r, const char *node, struct slice text)
{
	uint64_t ticks;
	return !slice_is_set(text) || date_parse_iso(text, &ticks) ? ERR_OK : fault_xml_node(r, node, text);
}

/* Letters in any order. More of them than there are say nothing more, and the record has no room for any number. */
static enum err check_permission(struct request *r, struct slice text, const char *letters)
{
	if (text.len > strlen(letters))
		return fault_xml_node(r, "Permission", text);
	for (size_t i = 0; i < text.len; i++)
		if (!strchr(letters, text.ptr[i]))
			return fault_xml_node(r, "Permission", text);
	return ERR_OK;
}

static enum err parse_policy(struct request *r, const struct xml_node *n, const char *letters, struct policy *ret)
{
	const struct xml_node *access = xml_child(n, "AccessPolicy");
	TRY(fault_xml_child_text(r, n, "Id", &ret->id));
	if (ret->id.len == 0 || name_characters(ret->id) > POLICY_ID_MAX)
		return fault_xml_reason(r, "Signed identifier ID cannot be empty or over 64 characters in length");
	TRY(text_or_none(r, access, "Start", &ret->start));
	TRY(text_or_none(r, access, "Expiry", &ret->expiry));
	TRY(text_or_none(r, access, "Permission", &ret->permission));
	TRY(check_time(r, "Start", ret->start));
	TRY(check_time(r, "Expiry", ret->expiry));
	return check_permission(r, ret->permission, letters);
}

enum err acl_parse(struct request *r, const char *letters, struct policy policy[POLICIES_MAX], size_t *ret_count)
{
	struct xml_node *root;
	size_t count = 0;
	*ret_count = 0;
	if (r->body.len == 0)
		return ERR_OK;
	TRY(fault_xml_parse(r, &root));
	if (!xml_is(root, "SignedIdentifiers"))
		return fault_xml_reason(r, "Unexpected root element");
	for (const struct xml_node *n = root->child; n; n = n->next) {
		if (!xml_is(n, "SignedIdentifier"))
			return fault_xml_reason(r, "Unexpected element in SignedIdentifiers");
		if (count == POLICIES_MAX)
			return fault_xml_reason(r, "Number of signed identifiers exceeds the limit of 5");
		TRY(parse_policy(r, n, letters, &policy[count]));
		for (size_t i = 0; i < count; i++)
			if (slice_eq(policy[i].id, policy[count].id))
				return fault_xml_reason(r, "Signed identifier IDs must be unique");
		count++;
	}
	*ret_count = count;
	return ERR_OK;
}

/* Times come back in the service's one form, whatever form they came in. */
static void put_time(struct buf *b, const char *name, struct slice text)
{
	uint64_t ticks;
	if (!slice_is_set(text))
		return;
	if (date_parse_iso(text, &ticks))
		xml_put_iso(b, name, ticks);
	else
		xml_put(b, name, text);
}

/* One that says nothing is left out. */
static void put_access_policy(struct buf *b, const struct policy *p)
{
	if (!slice_is_set(p->start) && !slice_is_set(p->expiry) && !slice_is_set(p->permission))
		return;
	xml_open(b, "AccessPolicy");
	put_time(b, "Start", p->start);
	put_time(b, "Expiry", p->expiry);
	if (slice_is_set(p->permission))
		xml_put(b, "Permission", p->permission);
	xml_close(b, "AccessPolicy");
}

void acl_format(struct request *r, const struct policy *p, size_t count)
{
	struct buf *b = &r->response.body;
	response_header(r, "Content-Type", SLICE("application/xml"));
	xml_begin(b);
	if (count == 0) {
		BUF_PUT(b, "<SignedIdentifiers />");
		return;
	}
	xml_open(b, "SignedIdentifiers");
	for (size_t i = 0; i < count; i++) {
		xml_open(b, "SignedIdentifier");
		xml_put(b, "Id", p[i].id);
		put_access_policy(b, &p[i]);
		xml_close(b, "SignedIdentifier");
	}
	xml_close(b, "SignedIdentifiers");
}

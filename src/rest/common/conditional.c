/* SPDX-License-Identifier: Apache-2.0
 * Conditional headers and lease headers: syntax, and which of them a version and a verb allow. */
#include "rest/common/conditional.h"

#include "wire/date.h"
#include "wire/etag.h"
#include "wire/xml.h"

struct condition_names {
	const char *match, *none_match, *modified_since, *unmodified_since;
};

static const struct condition_names standard = { "If-Match", "If-None-Match", "If-Modified-Since",
						 "If-Unmodified-Since" };
static const struct condition_names source = { "x-ms-source-if-match", "x-ms-source-if-none-match",
					       "x-ms-source-if-modified-since", "x-ms-source-if-unmodified-since" };

enum err conditional_header(struct request *r, const char *name, struct slice *ret)
{
	*ret = request_header(r, name);
	if (slice_is_set(*ret) && http_header_count(r->head, slice_str(name)) > 1)
		return fault_header(r, ERR_INVALID_HEADER_VALUE, name, *ret);
	return ERR_OK;
}

static enum err parse_etags(struct request *r, const char *name, struct etag_set *ret)
{
	struct slice value;
	struct etag_list list;
	*ret = (struct etag_set){ .present = false };
	TRY(conditional_header(r, name, &value));
	if (value.len == 0) /* one without a value counts as absent, as the service has it */
		return ERR_OK;
	enum err e = etag_parse_list(value, r->arena, &list);
	/* Of a list that cannot be read one could match. A value that is no list is one foreign ETag: it matches
	 * nothing. */
	if (e == ERR_LIMIT || (e == ERR_SYNTAX && slice_find_byte(value, ',') < value.len))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, name, value);
	if (e == ERR_SYNTAX)
		list = (struct etag_list){ .foreign_count = 1 };
	else
		TRY(e);
	ret->present = true;
	ret->any = list.any;
	for (size_t i = 0; i < list.count; i++)
		ret->etag[ret->count++] = list.etags[i];
	for (size_t i = 0; i < list.foreign_count; i++)
		ret->etag[ret->count++] = ETAG_FOREIGN;
	return ERR_OK;
}

static enum err parse_time(struct request *r, const char *name, bool *ret_has, uint64_t *ret)
{
	struct slice value;
	TRY(conditional_header(r, name, &value));
	*ret_has = value.len != 0;
	if (*ret_has && !date_parse_rfc1123(value, ret))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, name, value);
	return ERR_OK;
}

static enum err parse_all(struct request *r, const struct condition_names *n, struct conditions *c)
{
	TRY(parse_etags(r, n->match, &c->match));
	TRY(parse_etags(r, n->none_match, &c->none_match));
	TRY(parse_time(r, n->modified_since, &c->has_modified_since, &c->modified_since));
	return parse_time(r, n->unmodified_since, &c->has_unmodified_since, &c->unmodified_since);
}

/* Writes: one header, or If-None-Match + If-Modified-Since, or If-Match + If-Unmodified-Since; one ETag each. */
static enum err check_single(struct request *r, const struct conditions *c)
{
	int count = c->match.present + c->none_match.present + c->has_modified_since + c->has_unmodified_since;
	bool pair = count == 2 &&
		    ((c->none_match.present && c->has_modified_since) || (c->match.present && c->has_unmodified_since));
	if (count > 1 && !pair)
		return ERR_MULTIPLE_CONDITION_HEADERS_NOT_SUPPORTED;
	if (c->match.count <= 1 && c->none_match.count <= 1)
		return ERR_OK;
	const char *name = c->match.count > 1 ? standard.match : standard.none_match;
	return fault_header(r, ERR_INVALID_HEADER_VALUE, name, request_header(r, name));
}

enum err conditional_parse_read(struct request *r, struct conditions *ret)
{
	struct conditions c = { .has_modified_since = false };
	TRY(parse_all(r, &standard, &c));
	if (r->version < VERSION(2013, 8, 15))
		TRY(check_single(r, &c));
	if (c.none_match.any) {
		if (r->version >= VERSION(2016, 5, 31))
			return ERR_UNSATISFIABLE_CONDITION;
		c.none_match = (struct etag_set){ .present = false };
	}
	*ret = c;
	return ERR_OK;
}

enum err conditional_parse_write(struct request *r, struct conditions *ret)
{
	struct conditions c = { .has_modified_since = false };
	TRY(parse_all(r, &standard, &c));
	TRY(check_single(r, &c));
	*ret = c;
	return ERR_OK;
}

enum err conditional_parse_source(struct request *r, struct conditions *ret)
{
	struct conditions c = { .has_modified_since = false };
	TRY(parse_all(r, &source, &c));
	*ret = c;
	return ERR_OK;
}

enum err conditional_parse_tags(struct request *r, struct conditions *ret)
{
	static const struct condition_names names = { "x-ms-blob-if-match", "x-ms-blob-if-none-match",
						      "x-ms-blob-if-modified-since", "x-ms-blob-if-unmodified-since" };
	struct conditions plain = { .has_modified_since = false }, c = plain;
	TRY(parse_all(r, &standard, &plain));
	if (plain.match.present || plain.none_match.present || plain.has_modified_since || plain.has_unmodified_since)
		return ERR_CONDITION_HEADERS_NOT_SUPPORTED;
	TRY(parse_all(r, &names, &c));
	*ret = c;
	return ERR_OK;
}

enum err conditional_parse_tier(struct request *r, struct conditions *ret)
{
	struct conditions c = { .has_modified_since = false };
	TRY(parse_time(r, "x-ms-access-tier-if-modified-since", &c.has_modified_since, &c.modified_since));
	TRY(parse_time(r, "x-ms-access-tier-if-unmodified-since", &c.has_unmodified_since, &c.unmodified_since));
	*ret = c;
	return ERR_OK;
}

bool conditional_match_is_foreign(const struct request *r, const char *header)
{
	struct slice v = request_header(r, header);
	return slice_is_set(v) && !memmem(v.ptr, v.len, "0x", 2) && !slice_eq(v, SLICE("*"));
}

enum err conditional_parse_container(struct request *r, struct conditions *ret)
{
	struct conditions c = { .has_modified_since = false };
	TRY(parse_all(r, &standard, &c));
	TRY(check_single(r, &c));
	*ret = c;
	return ERR_OK;
}

/* ---- leases ---- */

enum err lease_id_parse(struct request *r, const char *header, bool *ret_has, struct uuid *ret)
{
	struct slice value;
	TRY(conditional_header(r, header, &value));
	*ret_has = slice_is_set(value);
	if (*ret_has && !uuid_parse(value, ret))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, header, value);
	return ERR_OK;
}

static enum err required(struct request *r, const char *header, bool has)
{
	return has ? ERR_OK : fault_header(r, ERR_MISSING_REQUIRED_HEADER, header, SLICE_NONE);
}

static enum err parse_seconds(struct request *r, const char *header, int64_t min, int64_t max, bool minus_one,
			      bool *ret_has, int32_t *ret)
{
	struct slice value = request_header(r, header);
	int64_t v;
	*ret_has = slice_is_set(value);
	if (!*ret_has)
		return ERR_OK;
	if (!slice_to_i64(value, &v) || !((v >= min && v <= max) || (minus_one && v == -1)))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, header, value);
	*ret = (int32_t)v;
	return ERR_OK;
}

enum err lease_request_parse(struct request *r, struct lease_request *ret)
{
	struct slice action = request_header(r, "x-ms-lease-action");
	struct lease_request l = { .break_period_s = LEASE_BREAK_DEFAULT };
	bool has;
	TRY(required(r, "x-ms-lease-action", slice_is_set(action)));
	TRY(lease_id_parse(r, "x-ms-lease-id", &l.has_id, &l.id));
	TRY(lease_id_parse(r, "x-ms-proposed-lease-id", &l.has_proposed, &l.proposed));
	if (slice_eq_nocase(action, SLICE("acquire"))) {
		l.action = LEASE_ACTION_ACQUIRE;
		l.minted = rng_uuid(r->rng);
		TRY(parse_seconds(r, "x-ms-lease-duration", LEASE_MIN_SECONDS, LEASE_MAX_SECONDS, true, &has,
				  &l.duration_s));
		TRY(required(r, "x-ms-lease-duration", has));
	} else if (slice_eq_nocase(action, SLICE("break"))) {
		l.action = LEASE_ACTION_BREAK;
		TRY(parse_seconds(r, "x-ms-lease-break-period", 0, LEASE_BREAK_MAX_SECONDS, false, &has,
				  &l.break_period_s));
	} else {
		if (slice_eq_nocase(action, SLICE("renew")))
			l.action = LEASE_ACTION_RENEW;
		else if (slice_eq_nocase(action, SLICE("release")))
			l.action = LEASE_ACTION_RELEASE;
		else if (slice_eq_nocase(action, SLICE("change")))
			l.action = LEASE_ACTION_CHANGE;
		else
			return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-lease-action", action);
		TRY(required(r, "x-ms-lease-id", l.has_id));
		if (l.action == LEASE_ACTION_CHANGE)
			TRY(required(r, "x-ms-proposed-lease-id", l.has_proposed));
	}
	*ret = l;
	return ERR_OK;
}

void lease_request_format(struct request *r, const struct lease_request *l)
{
	char id[UUID_TEXT_BYTES];
	switch (l->action) {
	case LEASE_ACTION_ACQUIRE:
		r->response.status = 201;
		break;
	case LEASE_ACTION_BREAK:
		r->response.status = 202;
		response_header_u64(r, "x-ms-lease-time", l->break_seconds_left);
		return;
	case LEASE_ACTION_RELEASE:
		r->response.status = 200;
		return;
	case LEASE_ACTION_RENEW:
	case LEASE_ACTION_CHANGE:
		r->response.status = 200;
		break;
	}
	uuid_format(&l->result_id, id);
	response_header(r, "x-ms-lease-id", slice_make(id, sizeof id));
}

void lease_put_headers(struct request *r, const struct lease *l, uint64_t now)
{
	enum lease_state state = lease_state(l, now);
	const char *duration = lease_duration_word(l, now);
	response_header(r, "x-ms-lease-status", slice_str(lease_status_word(state)));
	if (r->version < VERSION(2012, 2, 12))
		return;
	response_header(r, "x-ms-lease-state", slice_str(lease_state_word(state)));
	if (duration)
		response_header(r, "x-ms-lease-duration", slice_str(duration));
}

void lease_put_xml(struct buf *b, const struct lease *l, uint64_t now)
{
	enum lease_state state = lease_state(l, now);
	const char *duration = lease_duration_word(l, now);
	xml_put(b, "LeaseStatus", slice_str(lease_status_word(state)));
	xml_put(b, "LeaseState", slice_str(lease_state_word(state)));
	if (duration)
		xml_put(b, "LeaseDuration", slice_str(duration));
}

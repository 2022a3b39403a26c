/* SPDX-License-Identifier: Apache-2.0
 * Reading the token out of the query, and the string to sign of every kind and version. Each `if (version >= ...)` is a
 * row of the layout table in the protocol notes; versions not known yet use the newest layout. */
#include "auth/sas.h"
#include "auth/text.h"
#include "base/wide.h"

uint32_t sas_version_parse(struct slice s)
{
	if (s.len != 10 || s.ptr[4] != '-' || s.ptr[7] != '-')
		return 0;
	uint32_t v = 0;
	for (size_t i = 0; i < 10; i++) {
		if (i == 4 || i == 7)
			continue;
		if (s.ptr[i] < '0' || s.ptr[i] > '9')
			return 0;
		v = v * 10 + (uint32_t)(s.ptr[i] - '0');
	}
	return v;
}

static enum sas_field field_find(struct slice name)
{
	static const struct slice names[SAS_FIELDS] = {
#define X(id, text) { text, sizeof(text) - 1 },
		SAS_FIELD_LIST(X)
#undef X
	};
	/* Every name but two begins with s, r, e or t; most other parameters leave here. */
	char first = name.len ? text_lower_byte(name.ptr[0]) : 0;
	if (first != 's' && first != 'r' && first != 'e' && first != 't' && first != 'v')
		return SAS_FIELDS;
	char last = text_lower_byte(name.ptr[name.len - 1]); /* where those of one length differ most */
	for (unsigned i = 0; i < SAS_FIELDS; i++)
		if (names[i].len == name.len && names[i].ptr[name.len - 1] == last && slice_eq_nocase(names[i], name))
			return (enum sas_field)i;
	return SAS_FIELDS;
}

static bool has_control_bytes(struct slice s)
{
	return wide_find(s, wide_is_control) < s.len;
}

enum sas_kind sas_token_read(const struct query *q, struct sas_token *ret)
{
	bool seen[SAS_FIELDS] = { false };
	memset(ret, 0, sizeof *ret);
	for (size_t i = 0; i < q->count; i++) {
		enum sas_field f = field_find(q->params[i].name);
		if (f == SAS_FIELDS)
			continue;
		ret->repeated |= seen[f];
		seen[f] = true;
		ret->control_bytes |= has_control_bytes(q->params[i].value);
		if (q->params[i].value.len > 0 && !slice_is_set(ret->field[f]))
			ret->field[f] = q->params[i].value;
	}
	ret->version = sas_version_parse(ret->field[SAS_SV]);
	bool token = seen[SAS_SIG] || (seen[SAS_SV] && (seen[SAS_SE] || seen[SAS_SP] || seen[SAS_SR] || seen[SAS_SI] ||
							seen[SAS_SS] || seen[SAS_SRT] || seen[SAS_SKOID]));
	if (!token)
		return SAS_NONE;
	if (seen[SAS_SS] || seen[SAS_SRT])
		return SAS_ACCOUNT;
	return seen[SAS_SKOID] ? SAS_DELEGATION : SAS_SERVICE;
}

static void put_fields(struct text *t, const struct sas_token *k, const enum sas_field *fields, size_t count)
{
	for (size_t i = 0; i < count; i++)
		text_line(t, k->field[fields[i]]);
}
#define PUT_FIELDS(t, k, ...)                                                                                          \
	do {                                                                                                           \
		static const enum sas_field list_[] = { __VA_ARGS__ };                                                 \
		put_fields((t), (k), list_, sizeof list_ / sizeof list_[0]);                                           \
	} while (0)

/* Lines are joined, not ended: the last line feed goes. */
static enum err take_joined(struct text *t, struct slice *ret)
{
	if (!t->failed)
		t->len--;
	return text_take(t, ret);
}

bool sas_names_object(const struct auth_request *r, const struct sas_token *k)
{
	struct slice sr = k->field[SAS_SR];
	if (r->service == SERVICE_BLOB)
		return slice_eq(sr, SLICE("b")) || slice_eq(sr, SLICE("bs")) || slice_eq(sr, SLICE("bv"));
	return r->service == SERVICE_FILE && slice_eq(sr, SLICE("f"));
}

static void put_resource(struct text *t, const struct auth_request *r, const struct sas_token *k)
{
	if (k->version >= SAS_V_SERVICE_IN_RESOURCE)
		text_put(t, service_facts(r->service)->sas_prefix);
	text_byte(t, '/');
	text_put(t, r->account->name);
	text_byte(t, '/');
	if (r->service == SERVICE_TABLE)
		text_put_lower(t, k->field[SAS_TN]);
	else
		text_put(t, r->container);
	if (sas_names_object(r, k)) {
		text_byte(t, '/');
		text_put(t, r->object);
	}
	text_byte(t, '\n');
}

/* The snapshot of sr=bs, the version of sr=bv, else nothing. */
static struct slice moment(const struct sas_token *k)
{
	if (slice_eq(k->field[SAS_SR], SLICE("bs")))
		return k->field[SAS_SNAPSHOT];
	if (slice_eq(k->field[SAS_SR], SLICE("bv")))
		return k->field[SAS_VERSIONID];
	return SLICE_NONE;
}

enum err sas_account_string(const struct auth_request *r, const struct sas_token *k, struct arena *arena,
			    struct slice *ret)
{
	struct text t;
	text_init(&t, arena);
	text_line(&t, r->account->name);
	PUT_FIELDS(&t, k, SAS_SP, SAS_SS, SAS_SRT, SAS_ST, SAS_SE, SAS_SIP, SAS_SPR, SAS_SV);
	if (k->version >= SAS_V_ENCRYPTION_SCOPE)
		text_line(&t, k->field[SAS_SES]);
	return text_take(&t, ret); /* this one keeps its last line feed */
}

enum err sas_service_string(const struct auth_request *r, const struct sas_token *k, struct arena *arena,
			    struct slice *ret)
{
	struct text t;
	text_init(&t, arena);
	PUT_FIELDS(&t, k, SAS_SP, SAS_ST, SAS_SE);
	put_resource(&t, r, k);
	text_line(&t, k->field[SAS_SI]);
	if (k->version >= SAS_V_IP_AND_PROTOCOL)
		PUT_FIELDS(&t, k, SAS_SIP, SAS_SPR);
	text_line(&t, k->field[SAS_SV]);
	if (r->service == SERVICE_BLOB && k->version >= SAS_V_RESOURCE_SIGNED) {
		text_line(&t, k->field[SAS_SR]);
		text_line(&t, moment(k));
		if (k->version >= SAS_V_ENCRYPTION_SCOPE)
			text_line(&t, k->field[SAS_SES]);
	}
	if ((r->service == SERVICE_BLOB || r->service == SERVICE_FILE) && k->version >= SAS_V_OVERRIDES)
		PUT_FIELDS(&t, k, SAS_RSCC, SAS_RSCD, SAS_RSCE, SAS_RSCL, SAS_RSCT);
	if (r->service == SERVICE_TABLE)
		PUT_FIELDS(&t, k, SAS_SPK, SAS_SRK, SAS_EPK, SAS_ERK);
	return take_joined(&t, ret);
}

/* "name:value\n" for each header named in srh, in its order. */
static void put_signed_headers(struct text *t, const struct auth_request *r, struct slice names)
{
	while (names.len > 0) {
		struct slice name = slice_cut(&names, ',');
		text_put(t, name);
		text_byte(t, ':');
		text_put(t, http_header(r->head, name));
		text_byte(t, '\n');
	}
	text_byte(t, '\n');
}

/* "\nname:value" for each parameter named in srq, in its order. */
static void put_signed_query(struct text *t, const struct auth_request *r, struct slice names)
{
	while (names.len > 0) {
		struct slice name = slice_cut(&names, ',');
		text_byte(t, '\n');
		text_put(t, name);
		text_byte(t, ':');
		text_put(t, query_get(r->query, name));
	}
	text_byte(t, '\n');
}

enum err sas_delegation_string(const struct auth_request *r, const struct sas_token *k, struct arena *arena,
			       struct slice *ret)
{
	struct text t;
	text_init(&t, arena);
	PUT_FIELDS(&t, k, SAS_SP, SAS_ST, SAS_SE);
	put_resource(&t, r, k);
	PUT_FIELDS(&t, k, SAS_SKOID, SAS_SKTID, SAS_SKT, SAS_SKE, SAS_SKS, SAS_SKV);
	if (r->service == SERVICE_BLOB && k->version >= SAS_V_AGENTS)
		PUT_FIELDS(&t, k, SAS_SAOID, SAS_SUOID, SAS_SCID);
	if (r->service != SERVICE_BLOB || k->version >= SAS_V_DELEGATED_USER)
		PUT_FIELDS(&t, k, SAS_SKDUTID, SAS_SDUOID);
	PUT_FIELDS(&t, k, SAS_SIP, SAS_SPR, SAS_SV);
	if (r->service == SERVICE_BLOB) {
		text_line(&t, k->field[SAS_SR]);
		text_line(&t, moment(k));
		if (k->version >= SAS_V_ENCRYPTION_SCOPE)
			text_line(&t, k->field[SAS_SES]);
		if (k->version >= SAS_V_SIGNED_REQUEST) {
			put_signed_headers(&t, r, k->field[SAS_SRH]);
			put_signed_query(&t, r, k->field[SAS_SRQ]);
		}
	}
	if (r->service == SERVICE_BLOB || r->service == SERVICE_FILE)
		PUT_FIELDS(&t, k, SAS_RSCC, SAS_RSCD, SAS_RSCE, SAS_RSCL, SAS_RSCT);
	if (r->service == SERVICE_TABLE)
		PUT_FIELDS(&t, k, SAS_SPK, SAS_SRK, SAS_EPK, SAS_ERK);
	return take_joined(&t, ret);
}

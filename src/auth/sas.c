/* SPDX-License-Identifier: Apache-2.0
 * The checks of a token, in this order: its form, its signature, then what it says (policy, times, address, protocol).
 * Nobody without a valid signature learns whether a policy exists or what it holds. */
#include "auth/sas.h"

#include <assert.h>

#include "auth/bearer.h"
#include "auth/limits.h"
#include "auth/smb/mac.h"
#include "base/sys/clock.h"
#include "wire/date.h"

static enum err refuse(struct auth_failure *failure, const char *detail)
{
	failure->detail = slice_str(detail);
	return ERR_AUTHENTICATION_FAILED;
}

/* What an account SAS may say: sets of letters, a bit each. */
#define LETTER(c) (1u << ((c) - 'a'))
enum {
	SS_LETTERS = LETTER('b') | LETTER('q') | LETTER('t') | LETTER('f'),
	SRT_LETTERS = LETTER('s') | LETTER('c') | LETTER('o'),
	SP_LETTERS = LETTER('r') | LETTER('w') | LETTER('d') | LETTER('x') | LETTER('y') | LETTER('l') | LETTER('a') |
		     LETTER('c') | LETTER('u') | LETTER('p') | LETTER('t') | LETTER('f') | LETTER('i') | LETTER('m') |
		     LETTER('e') | LETTER('o'),
};

/* Letters in the service's order, none twice. y, f and i came late and clients put them in different places. */
static bool permissions_ok(struct slice sp, const char *order, const char *anywhere)
{
	const char *from = order;
	unsigned seen = 0;
	for (size_t i = 0; i < sp.len; i++) {
		char c = sp.ptr[i];
		if (c < 'a' || c > 'z' || (seen & LETTER(c)))
			return false;
		seen |= LETTER(c);
		if (strchr(anywhere, c))
			continue;
		const char *at = strchr(from, c);
		if (!at)
			return false;
		from = at + 1;
	}
	return true;
}

static bool service_permissions_ok(const struct auth_request *r, const struct sas_token *k)
{
	struct slice sp = k->field[SAS_SP];
	const struct service_facts *facts = service_facts(r->service);
	/* A single file cannot be listed. */
	if (r->service == SERVICE_FILE && !slice_eq(k->field[SAS_SR], SLICE("s")) && slice_find_byte(sp, 'l') < sp.len)
		return false;
	return permissions_ok(sp, facts->permissions, facts->permissions_late);
}

/* Letters of a set, none twice, in any order. */
static bool letters_ok(struct slice s, unsigned set)
{
	for (size_t i = 0; i < s.len; i++) {
		unsigned letter = s.ptr[i] >= 'a' && s.ptr[i] <= 'z' ? LETTER(s.ptr[i]) : 0;
		if (!(set & letter))
			return false;
		set &= ~letter;
	}
	return s.len > 0;
}

/* sr, and what it asks of the rest of the request. */
static enum err resource_check(const struct auth_request *r, const struct sas_token *k, char *ret_resource,
			       struct auth_failure *failure)
{
	struct slice sr = k->field[SAS_SR];
	if (r->service == SERVICE_QUEUE || r->service == SERVICE_TABLE) {
		*ret_resource = r->service == SERVICE_QUEUE ? 'q' : 't';
		return ERR_OK;
	}
	if (sr.len == 0)
		return refuse(failure, "sr is mandatory. Cannot be empty");
	/* A token for one object, used where no object is addressed, would have an empty scope_object: the scope of a
	 * whole container. */
	if (sas_names_object(r, k) && r->object.len == 0)
		return refuse(failure, "Signature fields not well formed.");
	if (r->service == SERVICE_FILE) {
		if (!slice_eq(sr, SLICE("f")) && !slice_eq(sr, SLICE("s")))
			return refuse(failure, "Signature fields not well formed.");
		*ret_resource = sr.ptr[0];
		return ERR_OK;
	}
	if (slice_eq(sr, SLICE("b")) || slice_eq(sr, SLICE("c"))) {
		*ret_resource = sr.ptr[0];
		return ERR_OK;
	}
	if ((slice_eq(sr, SLICE("bs")) || slice_eq(sr, SLICE("bv"))) && k->version >= SAS_V_SNAPSHOT_SAS) {
		/* Without the snapshot or version in the request it would reach the base blob. */
		*ret_resource = sr.ptr[1];
		if (slice_is_set(k->field[sr.ptr[1] == 's' ? SAS_SNAPSHOT : SAS_VERSIONID]))
			return ERR_OK;
		return refuse(failure, "Signature fields not well formed.");
	}
	if (slice_eq(sr, SLICE("d"))) {
		uint64_t depth;
		if (k->version < SAS_V_DIRECTORY_SAS)
			return ERR_DIRECTORY_SAS_NOT_SUPPORTED_VERSION;
		if (k->field[SAS_SDD].len == 0)
			return ERR_QUERY_PARAMETER_SAS_MANDATORY;
		if (!slice_to_u64(k->field[SAS_SDD], &depth))
			return ERR_QUERY_PARAMETER_SDD_INVALID;
		return refuse(failure, "A directory SAS needs an account with a hierarchical namespace.");
	}
	return refuse(failure, "Signature fields not well formed.");
}

static enum err form_check(const struct auth_request *r, enum sas_kind kind, const struct sas_token *k,
			   char *ret_resource, struct auth_failure *failure)
{
	static const char not_well_formed[] = "Signature fields not well formed.";
	const struct slice *f = k->field;
	if (k->repeated || k->control_bytes || f[SAS_SIG].len == 0)
		return refuse(failure, not_well_formed);
	if (k->version < SAS_V_FIRST)
		return refuse(failure, "sv is mandatory. Cannot be empty");
	if (slice_is_set(f[SAS_SES]) && k->version < SAS_V_ENCRYPTION_SCOPE)
		return refuse(failure, not_well_formed);
	if (kind == SAS_ACCOUNT) {
		if (k->version < SAS_V_ACCOUNT_SAS || !letters_ok(f[SAS_SS], SS_LETTERS) ||
		    !letters_ok(f[SAS_SRT], SRT_LETTERS) || !letters_ok(f[SAS_SP], SP_LETTERS) || f[SAS_SE].len == 0)
			return refuse(failure, not_well_formed);
		return ERR_OK;
	}
	TRY(resource_check(r, k, ret_resource, failure));
	if (!service_permissions_ok(r, k))
		return refuse(failure, not_well_formed);
	if (r->service == SERVICE_TABLE) {
		if (f[SAS_TN].len == 0)
			return refuse(failure, "tn is mandatory. Cannot be empty");
		if (r->container.len > 0 && !slice_eq_nocase(r->container, f[SAS_TN]))
			return refuse(failure, "The table name of the signature is not the table of the request.");
		if ((slice_is_set(f[SAS_SRK]) && !slice_is_set(f[SAS_SPK])) ||
		    (slice_is_set(f[SAS_ERK]) && !slice_is_set(f[SAS_EPK])))
			return refuse(failure, not_well_formed);
	}
	return ERR_OK;
}

static enum err string_build(const struct auth_request *r, enum sas_kind kind, const struct sas_token *k,
			     struct arena *arena, struct slice *ret)
{
	return kind == SAS_ACCOUNT	? sas_account_string(r, k, arena, ret)
	       : kind == SAS_DELEGATION ? sas_delegation_string(r, k, arena, ret)
					: sas_service_string(r, k, arena, ret);
}

/* Which of the account's keys the delegation key was made with: 1, 2; 0: neither. */
static unsigned delegation_matches(const struct auth_request *r, const struct sas_token *k, struct slice text)
{
	for (unsigned i = 0; i < 2; i++) {
		unsigned char secret[AUTH_DELEGATION_KEY_BYTES];
		struct hash_hmac_key key;
		if (!sas_delegation_key(r, k, i, secret))
			continue;
		hash_hmac_key_init(&key, slice_make(secret, sizeof secret));
		bool same = mac_matches(&key, text, k->field[SAS_SIG]);
		hash_wipe(&key, sizeof key);
		hash_wipe(secret, sizeof secret);
		if (same)
			return i + 1;
	}
	return 0;
}

static enum err signature_check(const struct auth_request *r, enum sas_kind kind, const struct sas_token *k,
				struct arena *arena, struct auth_failure *failure, unsigned *ret_key)
{
	struct slice text;
	TRY(string_build(r, kind, k, arena, &text));
	*ret_key = kind == SAS_DELEGATION ? delegation_matches(r, k, text)
					  : auth_account_mac_matches(r->account, text, k->field[SAS_SIG]);
	if (*ret_key)
		return ERR_OK;
	failure->wrong_proof = true;
	failure->string_to_sign = text;
	failure->detail = arena_printf(arena, "Signature did not match. String to sign used was %.*s", SLICE_FMT(text));
	return ERR_AUTHENTICATION_FAILED;
}

/* What the token and its stored policy say together. */
struct grant {
	struct slice start, expiry, permission;
};

static enum err policy_merge(const struct auth_request *r, const struct sas_token *k, struct grant *g,
			     struct auth_failure *failure)
{
	struct auth_policy p = { .id = SLICE_NONE };
	*g = (struct grant){ k->field[SAS_ST], k->field[SAS_SE], k->field[SAS_SP] };
	if (!slice_is_set(k->field[SAS_SI]))
		return ERR_OK;
	enum err found = r->find_policy ? r->find_policy(r->find_policy_arg, k->field[SAS_SI], &p) : ERR_NOT_FOUND;
	if (found == ERR_NOT_FOUND)
		return refuse(failure, "SAS identifier cannot be found for specified signed identifier");
	TRY(found);
	if ((g->start.len && p.start.len) || (g->expiry.len && p.expiry.len) || (g->permission.len && p.permission.len))
		return refuse(failure,
			      "Access policy fields can be associated with signature or SAS identifier but not both");
	if (p.start.len)
		g->start = p.start;
	if (p.expiry.len)
		g->expiry = p.expiry;
	if (p.permission.len)
		g->permission = p.permission;
	return ERR_OK;
}

static enum err outside_times(uint64_t start, uint64_t expiry, uint64_t now, struct arena *arena,
			      struct auth_failure *failure)
{
	char text[3][DATE_RFC1123_BYTES];
	date_format_rfc1123(start, text[0]);
	date_format_rfc1123(expiry, text[1]);
	date_format_rfc1123(now, text[2]);
	failure->detail =
		arena_printf(arena,
			     "Signature not valid in the specified time frame: Start [%.*s] - Expiry [%.*s] - "
			     "Current [%.*s]",
			     DATE_RFC1123_BYTES, text[0], DATE_RFC1123_BYTES, text[1], DATE_RFC1123_BYTES, text[2]);
	return ERR_AUTHENTICATION_FAILED;
}

static enum err times_check(const struct auth_request *r, const struct grant *g, struct arena *arena,
			    struct auth_failure *failure)
{
	uint64_t start = 0, expiry;
	if (g->expiry.len == 0)
		return refuse(failure, "se is mandatory. Cannot be empty");
	if (g->permission.len == 0)
		return refuse(failure, "sp is mandatory. Cannot be empty");
	if (!date_parse_iso(g->expiry, &expiry) || (g->start.len && !date_parse_iso(g->start, &start)))
		return refuse(failure, "Signature fields not well formed.");
	if (r->now_ticks < start || r->now_ticks > expiry)
		return outside_times(start, expiry, r->now_ticks, arena, failure);
	/* Counted from now, one without a start would be too long when it is made and fine later. */
	uint64_t most = r->account->limits ? r->account->limits->sas_max_ticks : 0;
	if (most && expiry - (start ? start : r->now_ticks) > most)
		return refuse(failure, "The signature is valid for longer than this account allows.");
	return ERR_OK;
}

static enum err address_check(const struct auth_request *r, const struct sas_token *k, struct auth_failure *failure)
{
	struct slice sip = k->field[SAS_SIP];
	unsigned char client[ADDRESS_BYTES];
	struct address_range range;
	if (!slice_is_set(sip))
		return ERR_OK;
	if (slice_find_byte(sip, '/') < sip.len || !auth_address_range_parse(sip, &range))
		return refuse(failure, "Signature fields not well formed.");
	if (!auth_address_parse(r->client_ip, client) || !auth_address_range_holds(&range, client))
		return ERR_AUTHORIZATION_SOURCE_IP_MISMATCH;
	return ERR_OK;
}

static enum err protocol_check(const struct auth_request *r, const struct sas_token *k, struct auth_failure *failure)
{
	struct slice spr = k->field[SAS_SPR];
	if (!slice_is_set(spr) || slice_eq(spr, SLICE("https,http")) || slice_eq(spr, SLICE("http,https")))
		return ERR_OK;
	if (!slice_eq(spr, SLICE("https")))
		return refuse(failure, "Signature fields not well formed.");
	return r->secure ? ERR_OK : ERR_AUTHORIZATION_PROTOCOL_MISMATCH;
}

/* The names in srh or srq stand once in the request, and neither name nor value can move a line of the string to sign.
 */
static bool signed_names_ok(const struct auth_request *r, struct slice names, bool headers)
{
	for (size_t i = 0; names.len > 0; i++) {
		struct slice name = slice_cut(&names, ',');
		if (i == LIMIT_SIGNED_NAMES)
			return false;
		size_t count = headers ? http_header_count(r->head, name) : query_count(r->query, name);
		if (name.len == 0 || count != 1 || slice_find_byte(name, ':') < name.len)
			return false;
		struct slice value = headers ? http_header(r->head, name) : query_get(r->query, name);
		if (slice_find_byte(value, '\n') < value.len)
			return false;
	}
	return true;
}

static enum err delegation_form_check(const struct auth_request *r, const struct sas_token *k,
				      struct auth_failure *failure)
{
	static const enum sas_field required[] = { SAS_SP,  SAS_SE,  SAS_SKOID, SAS_SKTID,
						   SAS_SKT, SAS_SKE, SAS_SKS,	SAS_SKV };
	const struct slice *f = k->field;
	for (size_t i = 0; i < sizeof required / sizeof required[0]; i++)
		if (f[required[i]].len == 0)
			return refuse(failure, "Signature fields not well formed.");
	/* Fields that this version does not sign must not be there, nor may a stored policy. */
	bool blob = r->service == SERVICE_BLOB;
	bool late =
		(k->version < SAS_V_DELEGATED_USER && (slice_is_set(f[SAS_SKDUTID]) || slice_is_set(f[SAS_SDUOID]))) ||
		((k->version < SAS_V_AGENTS || !blob) && (slice_is_set(f[SAS_SAOID]) || slice_is_set(f[SAS_SUOID]))) ||
		((k->version < SAS_V_SIGNED_REQUEST || !blob) &&
		 (slice_is_set(f[SAS_SRH]) || slice_is_set(f[SAS_SRQ])));
	uint32_t first = blob ? SAS_V_DELEGATION : SAS_V_DELEGATION_BEYOND_BLOB;
	if (k->version < first || late || slice_is_set(f[SAS_SI]) || f[SAS_SKS].len != 1 ||
	    f[SAS_SKS].ptr[0] != service_facts(r->service)->letter || sas_version_parse(f[SAS_SKV]) == 0)
		return refuse(failure, "Signature fields not well formed.");
	if (slice_is_set(f[SAS_SUOID])) /* asks for an ACL check that only a hierarchical namespace can make */
		return refuse(failure, "suoid needs an account with a hierarchical namespace.");
	if (!signed_names_ok(r, f[SAS_SRH], true) || !signed_names_ok(r, f[SAS_SRQ], false))
		return refuse(failure, "A header or parameter named in srh or srq is missing or repeated.");
	return ERR_OK;
}

/* The times of the token and those of its key each have to hold now (times_check has asked the token's). They need not
 * lie within each other: a key that was asked for without a start begins at the moment of asking, and tokens made with
 * it commonly begin a little earlier. */
static enum err delegation_check(const struct auth_request *r, const struct sas_token *k,
				 const struct auth_identity *user, struct arena *arena, struct auth_failure *failure)
{
	uint64_t key_start, key_expiry;
	if (!date_parse_iso(k->field[SAS_SKT], &key_start) || !date_parse_iso(k->field[SAS_SKE], &key_expiry))
		return refuse(failure, "Signature fields not well formed.");
	if (r->now_ticks < key_start || r->now_ticks > key_expiry)
		return outside_times(key_start, key_expiry, r->now_ticks, arena, failure);
	/* The times of the signature itself (times_check) need not lie within those of the key: both hold now, that is
	 * what the service asks. */
	if (slice_is_set(k->field[SAS_SDUOID]) || slice_is_set(k->field[SAS_SKDUTID])) {
		bool same =
			user && slice_eq_nocase(user->subject, k->field[SAS_SDUOID]) &&
			(!slice_is_set(k->field[SAS_SKDUTID]) || slice_eq_nocase(user->tenant, k->field[SAS_SKDUTID]));
		if (!same)
			return refuse(failure, "The signature is bound to another user.");
	}
	return ERR_OK;
}

static void identity_fill(const struct auth_request *r, enum sas_kind kind, const struct sas_token *k,
			  const struct grant *g, char resource, struct auth_identity *ret)
{
	const struct slice *f = k->field;
	*ret = (struct auth_identity){
		.kind = kind == SAS_ACCOUNT   ? AUTH_ACCOUNT_SAS
			: kind == SAS_SERVICE ? AUTH_SERVICE_SAS
					      : AUTH_DELEGATION_SAS,
		.permissions = g->permission,
		.sas_version = k->version,
		.encryption_scope = f[SAS_SES],
	};
	if (kind == SAS_ACCOUNT) {
		ret->services = f[SAS_SS];
		ret->resource_types = f[SAS_SRT];
		return;
	}
	assert(!sas_names_object(r, k) ||
	       r->object.len > 0); /* resource_check: else it would reach all of the container */
	ret->resource = resource;
	ret->scope_container = r->service == SERVICE_TABLE ? f[SAS_TN] : r->container;
	ret->scope_object =
		strchr("bsvf", resource) && (r->service == SERVICE_BLOB || resource == 'f') ? r->object : SLICE("");
	if ((r->service == SERVICE_BLOB || r->service == SERVICE_FILE) && k->version >= SAS_V_OVERRIDES) {
		ret->override_cache_control = f[SAS_RSCC];
		ret->override_content_disposition = f[SAS_RSCD];
		ret->override_content_encoding = f[SAS_RSCE];
		ret->override_content_language = f[SAS_RSCL];
		ret->override_content_type = f[SAS_RSCT];
	}
	if (r->service == SERVICE_TABLE) {
		ret->start_pk = f[SAS_SPK];
		ret->start_rk = f[SAS_SRK];
		ret->end_pk = f[SAS_EPK];
		ret->end_rk = f[SAS_ERK];
		ret->has_table_range = slice_is_set(f[SAS_SPK]) || slice_is_set(f[SAS_EPK]);
	}
	if (kind == SAS_DELEGATION) {
		ret->subject = slice_is_set(f[SAS_SAOID]) ? f[SAS_SAOID] : f[SAS_SKOID];
		ret->tenant = f[SAS_SKTID];
	}
}

enum err sas_verify(const struct auth_request *r, enum sas_kind kind, const struct sas_token *k,
		    const struct auth_identity *user, struct arena *arena, struct auth_identity *ret,
		    struct auth_failure *failure)
{
	struct grant g = { SLICE_NONE, SLICE_NONE, SLICE_NONE };
	char resource = 0;
	TRY(form_check(r, kind, k, &resource, failure));
	if (kind != SAS_DELEGATION && r->account->limits && r->account->limits->no_shared_key)
		return ERR_KEY_BASED_AUTHENTICATION_NOT_PERMITTED; /* an account key signed it */
	if (kind == SAS_DELEGATION)
		TRY(delegation_form_check(r, k, failure));
	unsigned key = 0;
	TRY(signature_check(r, kind, k, arena, failure, &key));
	if (kind == SAS_SERVICE)
		TRY(policy_merge(r, k, &g, failure));
	else
		g = (struct grant){ k->field[SAS_ST], k->field[SAS_SE], k->field[SAS_SP] };
	TRY(times_check(r, &g, arena, failure));
	if (kind == SAS_DELEGATION)
		TRY(delegation_check(r, k, user, arena, failure));
	TRY(address_check(r, k, failure));
	TRY(protocol_check(r, k, failure));
	identity_fill(r, kind, k, &g, resource, ret);
	ret->key = key;
	return kind == SAS_DELEGATION ? bearer_find_delegated(r, k->field[SAS_SKOID], arena, ret) : ERR_OK;
}

enum err sas_sign(const struct auth_request *r, enum sas_kind kind, const struct sas_token *k, unsigned key_index,
		  struct arena *arena, struct slice *ret_signature)
{
	struct slice text;
	unsigned char mac[MAC_BYTES];
	TRY(string_build(r, kind, k, arena, &text));
	if (kind == SAS_DELEGATION) {
		unsigned char secret[AUTH_DELEGATION_KEY_BYTES];
		struct hash_hmac_key key;
		if (!sas_delegation_key(r, k, key_index, secret))
			return ERR_NOT_FOUND;
		hash_hmac_key_init(&key, slice_make(secret, sizeof secret));
		hash_hmac(&key, text, mac);
		hash_wipe(&key, sizeof key);
		hash_wipe(secret, sizeof secret);
	} else if (!auth_account_mac_sign(r->account, key_index, text, mac)) {
		return ERR_NOT_FOUND;
	}
	char *encoded = arena_alloc(arena, MAC_TEXT_BYTES);
	if (!encoded)
		return ERR_NO_MEMORY;
	mac_encode(mac, encoded);
	*ret_signature = slice_make(encoded, MAC_TEXT_BYTES);
	return ERR_OK;
}

/* SPDX-License-Identifier: Apache-2.0
 * Shares: create, properties, metadata, ACL, stats, lease. */
#include "rest/file/share.h"

#include "rest/common/acl.h"
#include "rest/common/conditional.h"
#include "rest/common/metadata.h"
#include "rest/core/server.h"
#include "svc/account/names.h"
#include "wire/date.h"
#include "wire/xml.h"

#define ACL_LETTERS_SHARE "rcwdl"

/* ---- headers ---- */

static const char *const tier_words[] = { [SHARE_TIER_TRANSACTION_OPTIMIZED] = "TransactionOptimized",
					  [SHARE_TIER_HOT] = "Hot",
					  [SHARE_TIER_COOL] = "Cool",
					  [SHARE_TIER_PREMIUM] = "Premium" };

const char *rest_share_tier_word(enum share_tier t)
{
	return tier_words[t];
}

/* Premium needs an account of another kind. */
static enum err parse_tier(struct request *r, struct share_call *c)
{
	struct slice v = request_header(r, "x-ms-access-tier");
	if (!slice_is_set(v) || !file_since(r, FILE_V_SHARE_TIERS))
		return ERR_OK;
	c->set_tier = true;
	for (unsigned i = 0; i < SHARE_TIER_PREMIUM; i++)
		if (slice_eq_nocase(v, slice_str(tier_words[i]))) {
			c->change.tier = (enum share_tier)i;
			return ERR_OK;
		}
	return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-access-tier", v);
}

static enum err parse_quota(struct request *r, struct share_call *c)
{
	struct slice v = request_header(r, "x-ms-share-quota");
	uint64_t gib;
	if (!slice_is_set(v))
		return ERR_OK;
	if (!slice_to_u64(v, &gib) || gib < 1 || gib > SHARE_QUOTA_MAX_GIB)
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-share-quota", v);
	c->set_quota = true;
	c->change.quota_gib = (uint32_t)gib;
	return ERR_OK;
}

/* NFS and what belongs to it need a premium account. */
static enum err refuse_nfs(struct request *r)
{
	struct slice protocols = request_header(r, "x-ms-enabled-protocols"),
		     squash = request_header(r, "x-ms-root-squash");
	if (slice_is_set(protocols) && !slice_eq_nocase(protocols, SLICE("SMB")))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-enabled-protocols", protocols);
	if (slice_is_set(squash))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-root-squash", squash);
	return ERR_OK;
}

static enum err parse_number(struct request *r, const char *header, bool *set, uint64_t *ret)
{
	struct slice v = request_header(r, header);
	if (!slice_is_set(v))
		return ERR_OK;
	if (!slice_to_u64(v, ret) || *ret > INT64_MAX)
		return fault_header(r, ERR_INVALID_HEADER_VALUE, header, v);
	*set = true;
	return ERR_OK;
}

static enum err parse_switch(struct request *r, const char *header, bool *set, bool *ret)
{
	*set = *set || slice_is_set(request_header(r, header));
	return rest_file_flag_parse(r, header, ret);
}

enum err rest_share_settings_parse(struct request *r, struct share_call *c)
{
	struct share_settings *s = &c->change;
	TRY(parse_quota(r, c));
	TRY(parse_tier(r, c));
	TRY(refuse_nfs(r));
	TRY(parse_number(r, "x-ms-share-provisioned-iops", &c->set_provisioned, &s->provisioned_iops));
	TRY(parse_number(r, "x-ms-share-provisioned-bandwidth-mibps", &c->set_provisioned,
			 &s->provisioned_bandwidth_mibps));
	TRY(parse_switch(r, "x-ms-share-paid-bursting-enabled", &c->set_paid_bursting, &s->paid_bursting));
	TRY(parse_number(r, "x-ms-share-paid-bursting-max-iops", &c->set_paid_bursting, &s->paid_bursting_iops));
	TRY(parse_number(r, "x-ms-share-paid-bursting-max-bandwidth-mibps", &c->set_paid_bursting,
			 &s->paid_bursting_bandwidth_mibps));
	TRY(parse_switch(r, "x-ms-enable-snapshot-virtual-directory-access", &c->set_snapshot_directory,
			 &s->snapshot_directory));
	return parse_switch(r, "x-ms-enable-smb-directory-lease", &c->set_directory_lease, &s->directory_lease);
}

static void put_settings(struct request *r, const struct share_settings *s)
{
	response_header_u64(r, "x-ms-share-quota", s->quota_gib);
	if (file_since(r, FILE_V_SHARE_TIERS)) {
		response_header(r, "x-ms-access-tier", slice_str(rest_share_tier_word(s->tier)));
		if (s->tier_changed_ticks)
			response_header_time(r, "x-ms-access-tier-change-time", s->tier_changed_ticks);
	}
	if (s->provisioned_iops)
		response_header_u64(r, "x-ms-share-provisioned-iops", s->provisioned_iops);
	if (s->provisioned_bandwidth_mibps)
		response_header_u64(r, "x-ms-share-provisioned-bandwidth-mibps", s->provisioned_bandwidth_mibps);
	if (s->paid_bursting) {
		response_header(r, "x-ms-share-paid-bursting-enabled", SLICE("true"));
		response_header_u64(r, "x-ms-share-paid-bursting-max-iops", s->paid_bursting_iops);
		response_header_u64(r, "x-ms-share-paid-bursting-max-bandwidth-mibps",
				    s->paid_bursting_bandwidth_mibps);
	}
	if (s->snapshot_directory)
		response_header(r, "x-ms-enable-snapshot-virtual-directory-access", SLICE("true"));
	if (s->directory_lease)
		response_header(r, "x-ms-enable-smb-directory-lease", SLICE("true"));
}

/* ---- create ---- */

static enum err parse_create(struct request *r)
{
	struct share_create *c = ARENA_NEW(r->arena, struct share_create);
	struct share_call *given = ARENA_NEW(r->arena, struct share_call);
	if (!c || !given)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(name_check_container(r->container, false));
	TRY(rest_file_snapshot_refuse(r));
	given->change.quota_gib = SHARE_QUOTA_DEFAULT_GIB;
	TRY(rest_share_settings_parse(r, given));
	share_create_init(c, r->container, rng_u64(r->rng));
	c->settings = given->change;
	TRY(metadata_parse(r, &c->base.resource.metadata));
	struct slice account = resource_account_partition(r->arena, r->account);
	struct slice inside =
		resource_generation_partition(r->arena, r->account, RESOURCE_SHARE, c->base.resource.generation);
	if (!slice_is_set(account) || !slice_is_set(inside))
		return ERR_NO_MEMORY;
	request_step_write(r, account, share_create_reserve);
	request_step_write(r, inside, share_create_open);
	request_step_write(r, account, share_create_publish);
	return ERR_OK;
}

static enum err format_create(struct request *r)
{
	struct share_create *c = r->call;
	TRY(c->base.refused);
	r->response.status = 201;
	rest_file_put_etag(r, c->base.resource.etag);
	return ERR_OK;
}

/* ---- an existing one ---- */

static enum err begin(struct request *r, struct share_call **ret)
{
	struct share_call *c = ARENA_NEW(r->arena, struct share_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(name_check_container(r->container, false));
	c->name = r->container;
	TRY(rest_lease_id_parse(r, "x-ms-lease-id", &c->has_lease_id, &c->lease_id));
	*ret = c;
	return ERR_OK;
}

static enum err begin_live(struct request *r, struct share_call **ret)
{
	TRY(rest_file_snapshot_refuse(r));
	return begin(r, ret);
}

static enum err step_account(struct request *r, apply_fn *apply, bool write)
{
	struct slice account = resource_account_partition(r->arena, r->account);
	if (!slice_is_set(account))
		return ERR_NO_MEMORY;
	if (write)
		request_step_write(r, account, apply);
	else
		request_step_read_points(r, account, apply);
	return ERR_OK;
}

static enum err format_changed(struct request *r)
{
	struct share_call *c = r->call;
	r->response.status = 200;
	rest_file_put_etag(r, c->resource.etag);
	return ERR_OK;
}

/* ---- get, of the share or of a snapshot ---- */

struct get_call {
	bool of_snapshot;
	struct share_call share;
	struct share_snapshot_call snapshot;
};

static enum err read_share(struct request *r)
{
	struct get_call *c = r->call;
	struct resource share;
	struct slice partition, account = resource_account_partition(r->arena, r->account);
	if (!slice_is_set(account))
		return ERR_NO_MEMORY;
	if (!c->of_snapshot)
		return store_read_points(r->server->store, account, share_apply_get, &c->share, r->arena);
	TRY(rest_file_find_share(r, &share, &partition));
	return store_read_points(r->server->store, partition, share_apply_get_snapshot, &c->snapshot, r->arena);
}

static enum err parse_get(struct request *r)
{
	struct get_call *c = ARENA_NEW(r->arena, struct get_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(name_check_container(r->container, false));
	c->share.name = r->container;
	TRY(rest_lease_id_parse(r, "x-ms-lease-id", &c->share.has_lease_id, &c->share.lease_id));
	TRY(rest_file_snapshot_parse(r, "sharesnapshot", &c->of_snapshot, &c->snapshot.ticks));
	c->snapshot.has_lease_id = c->share.has_lease_id;
	c->snapshot.lease_id = c->share.lease_id;
	request_step_call(r, read_share);
	return ERR_OK;
}

static enum err format_get_metadata(struct request *r)
{
	struct get_call *c = r->call;
	r->response.status = 200;
	rest_file_put_etag(r, c->of_snapshot ? c->snapshot.snapshot.etag : c->share.resource.etag);
	metadata_put_headers(r, c->of_snapshot ? &c->snapshot.snapshot.metadata : &c->share.resource.metadata);
	return ERR_OK;
}

static enum err format_get(struct request *r)
{
	struct get_call *c = r->call;
	TRY(format_get_metadata(r));
	if (c->of_snapshot)
		response_header_u64(r, "x-ms-share-quota", c->snapshot.snapshot.quota_gib);
	else
		put_settings(r, &c->share.settings);
	response_header(r, "x-ms-has-immutability-policy", SLICE("false"));
	response_header(r, "x-ms-has-legal-hold", SLICE("false"));
	if (file_since(r, FILE_V_SHARE_LEASES))
		rest_lease_put_headers(r, c->of_snapshot ? &c->snapshot.snapshot.lease : &c->share.resource.lease,
				       c->of_snapshot ? c->snapshot.now_ticks : c->share.now_ticks);
	return ERR_OK;
}

/* ---- set properties, metadata ---- */

static enum err parse_set_properties(struct request *r)
{
	struct share_call *c;
	struct slice partition;
	struct resource share;
	TRY(begin_live(r, &c));
	TRY(rest_share_settings_parse(r, c));
	TRY(rest_file_find_share(r, &share, &partition));
	c->generation = share.generation;
	TRY(step_account(r, share_apply_set_properties, true));
	if (c->set_quota)
		request_step_write(r, partition, share_apply_set_quota);
	return ERR_OK;
}

static enum err parse_set_metadata(struct request *r)
{
	struct share_call *c;
	TRY(begin_live(r, &c));
	TRY(metadata_parse(r, &c->metadata));
	return step_account(r, share_apply_set_metadata, true);
}

/* ---- ACL ---- */

static enum err parse_get_acl(struct request *r)
{
	struct share_call *c;
	TRY(begin_live(r, &c));
	return step_account(r, share_apply_get, false);
}

static enum err format_get_acl(struct request *r)
{
	struct share_call *c = r->call;
	r->response.status = 200;
	rest_file_put_etag(r, c->resource.etag);
	acl_format(r, c->resource.policy, c->resource.policy_count);
	return ERR_OK;
}

static enum err parse_set_acl(struct request *r)
{
	struct share_call *c;
	TRY(begin_live(r, &c));
	return step_account(r, share_apply_set_acl, true);
}

static enum err parse_set_acl_body(struct request *r)
{
	struct share_call *c = r->call;
	return acl_parse(r, ACL_LETTERS_SHARE, c->policy, &c->policy_count);
}

/* ---- stats ---- */

struct stats_call {
	struct share_call share; /* first: the apply that checks the lease id gets this */
	struct share_stats_call stats;
};

static enum err read_stats(struct request *r)
{
	struct stats_call *c = r->call;
	struct slice partition =
		resource_generation_partition(r->arena, r->account, RESOURCE_SHARE, c->share.resource.generation);
	if (!slice_is_set(partition))
		return ERR_NO_MEMORY;
	return store_read(r->server->store, partition, share_apply_stats, &c->stats, r->arena);
}

static enum err parse_stats(struct request *r)
{
	struct stats_call *c = ARENA_NEW(r->arena, struct stats_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(name_check_container(r->container, false));
	TRY(rest_file_snapshot_refuse(r));
	c->share.name = r->container;
	TRY(rest_lease_id_parse(r, "x-ms-lease-id", &c->share.has_lease_id, &c->share.lease_id));
	TRY(step_account(r, share_apply_get, false));
	request_step_call(r, read_stats);
	return ERR_OK;
}

static enum err format_stats(struct request *r)
{
	struct stats_call *c = r->call;
	struct buf *b = &r->response.body;
	r->response.status = 200;
	response_header(r, "Content-Type", SLICE("application/xml"));
	xml_begin(b);
	xml_open(b, "ShareStats");
	if (r->version < VERSION(2018, 11, 9))
		xml_put_u64(b, "ShareUsage", (c->stats.used_bytes + GIB - 1) / GIB);
	else
		xml_put_u64(b, "ShareUsageBytes", c->stats.used_bytes);
	xml_close(b, "ShareStats");
	return ERR_OK;
}

/* ---- lease, of the share or of a snapshot ---- */

static enum err parse_lease(struct request *r)
{
	struct get_call *c = ARENA_NEW(r->arena, struct get_call);
	struct lease_request lease;
	if (!c)
		return ERR_NO_MEMORY;
	TRY(name_check_container(r->container, false));
	TRY(rest_file_snapshot_parse(r, "sharesnapshot", &c->of_snapshot, &c->snapshot.ticks));
	TRY(rest_lease_request_parse(r, &lease));
	c->share.name = r->container;
	c->share.lease = c->snapshot.lease = lease;
	if (c->of_snapshot) {
		r->call = &c->snapshot;
		return rest_file_step_write(r, share_apply_lease_snapshot, NULL);
	}
	r->call = &c->share;
	return step_account(r, share_apply_lease, true);
}

static enum err format_lease(struct request *r)
{
	bool of_snapshot = slice_is_set(request_param(r, "sharesnapshot")) && request_param(r, "sharesnapshot").len;
	const struct share_call *share = r->call;
	const struct share_snapshot_call *snapshot = r->call;
	const struct lease_request *lease = of_snapshot ? &snapshot->lease : &share->lease;
	rest_lease_request_format(r, lease);
	if (lease->action == LEASE_ACTION_RELEASE)
		response_header(r, "x-ms-lease-time", SLICE("0"));
	rest_file_put_etag(r, of_snapshot ? snapshot->snapshot.etag : share->resource.etag);
	return ERR_OK;
}

const struct handler handler_share_create = { .parse = parse_create, .format = format_create };
const struct handler handler_share_get = { .parse = parse_get, .format = format_get };
const struct handler handler_share_get_metadata = { .parse = parse_get, .format = format_get_metadata };
const struct handler handler_share_set_properties = { .parse = parse_set_properties, .format = format_changed };
const struct handler handler_share_set_metadata = { .parse = parse_set_metadata, .format = format_changed };
const struct handler handler_share_get_acl = { .parse = parse_get_acl, .format = format_get_acl };
const struct handler handler_share_set_acl = { .parse = parse_set_acl,
					       .parse_body = parse_set_acl_body,
					       .format = format_changed };
const struct handler handler_share_stats = { .parse = parse_stats, .format = format_stats };
const struct handler handler_share_lease = { .parse = parse_lease, .format = format_lease };

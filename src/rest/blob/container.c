/* SPDX-License-Identifier: Apache-2.0
 * Containers: create, properties, metadata, ACL, lease, delete. */
#include "svc/account/container.h"

#include "rest/blob/encryption.h"
#include "rest/common/acl.h"
#include "rest/common/conditional.h"
#include "rest/common/metadata.h"
#include "rest/common/paging.h"
#include "rest/core/server.h"
#include "svc/account/names.h"
#include "svc/blob/scope.h"

#define CONTAINER_POLICY_LETTERS "racwdxyltfmeopi"

static enum err parse_public_access(struct request *r, enum public_access *ret)
{
	struct slice v = request_header(r, "x-ms-blob-public-access");
	*ret = PUBLIC_NONE;
	if (!slice_is_set(v))
		return ERR_OK;
	if (slice_eq_nocase(v, SLICE("container")))
		*ret = PUBLIC_CONTAINER;
	else if (slice_eq_nocase(v, SLICE("blob")))
		*ret = PUBLIC_BLOB;
	else
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-blob-public-access", v);
	return ERR_OK;
}

static void put_public_access(struct request *r, enum public_access access)
{
	if (access != PUBLIC_NONE)
		response_header(r, "x-ms-blob-public-access",
				access == PUBLIC_BLOB ? SLICE("blob") : SLICE("container"));
}

/* ---- create ---- */

/* Both headers or none, as the service has it. */
static enum err parse_scope(struct request *r, struct slice *ret_extra)
{
	static const char scope_header[] = "x-ms-default-encryption-scope",
			  deny_header[] = "x-ms-deny-encryption-scope-override";
	struct slice name = request_header(r, scope_header), deny = request_header(r, deny_header);
	struct container_scope s = { .name = SLICE_NONE };
	struct buf b;
	TRY(rest_blob_flag_parse(r, deny_header, false, &s.deny_override));
	if (!slice_is_set(name) && !slice_is_set(deny))
		return ERR_OK;
	if (!slice_is_set(name) || !slice_is_set(deny))
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, slice_is_set(name) ? deny_header : scope_header,
				    SLICE_NONE);
	if (!slice_eq(name, SLICE(REST_BLOB_ACCOUNT_SCOPE)) && !blob_scope_name_is_valid(name))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, scope_header, name);
	if (!slice_eq(name, SLICE(REST_BLOB_ACCOUNT_SCOPE)))
		s.name = name;
	buf_init(&b, KIB);
	blob_scope_encode(&b, &s);
	*ret_extra = buf_ok(&b) ? arena_dup(r->arena, buf_slice(&b)) : SLICE_NONE;
	buf_fini(&b);
	return slice_is_set(*ret_extra) ? ERR_OK : ERR_NO_MEMORY;
}

static enum err parse_create(struct request *r)
{
	struct resource_create *c = ARENA_NEW(r->arena, struct resource_create);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(name_check_container(r->container, true));
	TRY(parse_scope(r, &c->resource.extra));
	c->exists_error = ERR_CONTAINER_ALREADY_EXISTS;
	c->resource.kind = RESOURCE_CONTAINER;
	c->resource.name = r->container;
	c->resource.generation = rng_u64(r->rng);
	TRY(metadata_parse(r, &c->resource.metadata));
	TRY(parse_public_access(r, &c->resource.public_access));
	struct slice account = resource_account_partition(r->arena, r->account);
	struct slice inside =
		resource_generation_partition(r->arena, r->account, RESOURCE_CONTAINER, c->resource.generation);
	if (!slice_is_set(account) || !slice_is_set(inside))
		return ERR_NO_MEMORY;
	request_step_write(r, account, resource_create_reserve);
	request_step_write(r, inside, resource_create_open);
	request_step_write(r, account, resource_create_publish);
	return ERR_OK;
}

static enum err format_create(struct request *r)
{
	struct resource_create *c = r->call;
	TRY(c->refused);
	r->response.status = 201;
	rest_blob_put_etag(r, c->resource.etag, c->resource.modified_ticks);
	return ERR_OK;
}

/* ---- what works on an existing one ---- */

static enum err begin(struct request *r, struct container_call **ret, struct slice *ret_account)
{
	struct container_call *c = ARENA_NEW(r->arena, struct container_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(name_check_container(r->container, true));
	c->name = r->container;
	c->missing_error = ERR_CONTAINER_NOT_FOUND;
	TRY(rest_lease_id_parse(r, "x-ms-lease-id", &c->has_lease_id, &c->lease_id));
	*ret_account = resource_account_partition(r->arena, r->account);
	*ret = c;
	return slice_is_set(*ret_account) ? ERR_OK : ERR_NO_MEMORY;
}

static enum err parse_get(struct request *r)
{
	struct container_call *c;
	struct slice account;
	TRY(begin(r, &c, &account));
	request_step_read_points(r, account, container_apply_get);
	return ERR_OK;
}

static enum err format_get(struct request *r)
{
	struct container_call *c = r->call;
	const struct resource *v = &c->resource;
	r->response.status = 200;
	rest_blob_put_etag(r, v->etag, v->modified_ticks);
	metadata_put_headers(r, &v->metadata);
	rest_lease_put_headers(r, &v->lease, c->now_ticks);
	put_public_access(r, v->public_access);
	response_header(r, "x-ms-has-immutability-policy", SLICE("false"));
	response_header(r, "x-ms-has-legal-hold", SLICE("false"));
	if (r->version >= VERSION(2020, 10, 2))
		response_header(r, "x-ms-immutable-storage-with-versioning-enabled",
				v->immutable_versions ? SLICE("true") : SLICE("false"));
	if (r->version >= VERSION(2019, 2, 2)) {
		struct container_scope s;
		TRY(blob_scope_decode(v->extra, &s));
		response_header(r, "x-ms-default-encryption-scope",
				slice_is_set(s.name) ? s.name : SLICE(REST_BLOB_ACCOUNT_SCOPE));
		response_header(r, "x-ms-deny-encryption-scope-override",
				s.deny_override ? SLICE("true") : SLICE("false"));
	}
	return ERR_OK;
}

static enum err format_get_metadata(struct request *r)
{
	struct container_call *c = r->call;
	r->response.status = 200;
	rest_blob_put_etag(r, c->resource.etag, c->resource.modified_ticks);
	metadata_put_headers(r, &c->resource.metadata);
	return ERR_OK;
}

static enum err parse_set_metadata(struct request *r)
{
	struct container_call *c;
	struct slice account;
	TRY(begin(r, &c, &account));
	TRY(conditional_parse_container(r, &c->conditions));
	TRY(metadata_parse(r, &c->metadata));
	request_step_write(r, account, container_apply_set_metadata);
	return ERR_OK;
}

static enum err format_changed(struct request *r)
{
	struct container_call *c = r->call;
	r->response.status = 200;
	rest_blob_put_etag(r, c->resource.etag, c->resource.modified_ticks);
	return ERR_OK;
}

/* Letters that versions before do not know: who would write back what they read would take rights away. */
static bool has_new_letters(const struct resource *c)
{
	for (size_t i = 0; i < c->policy_count; i++) {
		struct slice p = c->policy[i].permission;
		if (slice_find_byte(p, 'a') < p.len || slice_find_byte(p, 'c') < p.len)
			return true;
	}
	return false;
}

static enum err format_get_acl(struct request *r)
{
	struct container_call *c = r->call;
	if (r->version < VERSION(2015, 4, 5) && has_new_letters(&c->resource))
		return ERR_FEATURE_VERSION_MISMATCH;
	r->response.status = 200;
	rest_blob_put_etag(r, c->resource.etag, c->resource.modified_ticks);
	put_public_access(r, c->resource.public_access);
	acl_format(r, c->resource.policy, c->resource.policy_count);
	return ERR_OK;
}

static enum err parse_set_acl(struct request *r)
{
	struct container_call *c;
	struct slice account;
	TRY(begin(r, &c, &account));
	TRY(conditional_parse_container(r, &c->conditions));
	TRY(parse_public_access(r, &c->public_access));
	request_step_write(r, account, container_apply_set_acl);
	return ERR_OK;
}

static enum err parse_set_acl_body(struct request *r)
{
	struct container_call *c = r->call;
	return acl_parse(r, CONTAINER_POLICY_LETTERS, c->policy, &c->policy_count);
}

static enum err parse_lease(struct request *r)
{
	struct container_call *c;
	struct slice account;
	TRY(begin(r, &c, &account));
	c->has_lease_id = false; /* it belongs to the action here */
	c->lease_is_change = r->version < VERSION(2013, 8, 15);
	TRY(conditional_parse_container(r, &c->conditions));
	TRY(rest_lease_request_parse(r, &c->lease));
	request_step_write(r, account, container_apply_lease);
	return ERR_OK;
}

static enum err format_lease(struct request *r)
{
	struct container_call *c = r->call;
	rest_lease_request_format(r, &c->lease);
	rest_blob_put_etag(r, c->resource.etag, c->resource.modified_ticks);
	return ERR_OK;
}

/* ---- delete ---- */

static enum err parse_delete(struct request *r)
{
	struct resource container;
	struct slice inside, account;
	struct container_delete *d = ARENA_NEW(r->arena, struct container_delete);
	if (!d)
		return ERR_NO_MEMORY;
	r->call = d;
	TRY(rest_blob_find_container(r, &container, &inside));
	container_delete_init(d, r->container, container.generation);
	d->base.retention_days = r->server->config.container_retention_days;
	TRY(rest_lease_id_parse(r, "x-ms-lease-id", &d->has_lease_id, &d->lease_id));
	TRY(conditional_parse_container(r, &d->conditions));
	account = resource_account_partition(r->arena, r->account);
	if (!slice_is_set(account))
		return ERR_NO_MEMORY;
	request_step_write(r, account, resource_delete_remove);
	request_step_write(r, inside, resource_delete_close);
	return ERR_OK;
}

static enum err format_delete(struct request *r)
{
	r->response.status = 202;
	return ERR_OK;
}

/* ---- restore ---- */

static enum err parse_restore(struct request *r)
{
	struct resource deleted;
	struct slice name = request_header(r, "x-ms-deleted-container-name"),
		     version = request_header(r, "x-ms-deleted-container-version");
	struct resource_restore *c = ARENA_NEW(r->arena, struct resource_restore);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(name_check_container(r->container, true));
	if (!slice_is_set(name))
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, "x-ms-deleted-container-name", SLICE_NONE);
	if (!slice_is_set(version))
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, "x-ms-deleted-container-version", SLICE_NONE);
	if (!slice_eq(name, r->container)) {
		r->fault.message =
			SLICE("The value of deleted-container-name header must match the destination container name.");
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-deleted-container-name", name);
	}
	if (!paging_version_parse(version, &c->deleted_ticks))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-deleted-container-version", version);
	c->kind = RESOURCE_CONTAINER;
	c->name = r->container;
	c->exists_error = ERR_CONTAINER_ALREADY_EXISTS;
	c->missing_error = ERR_CONTAINER_NOT_FOUND;
	enum err e = resource_find(r->server->store, r->account, RESOURCE_CONTAINER, name, r->arena, &deleted);
	if (e != ERR_NOT_FOUND)
		return e == ERR_OK ? ERR_CONTAINER_ALREADY_EXISTS : e;
	e = resource_find_deleted(r->server->store, r->account, RESOURCE_CONTAINER, name, c->deleted_ticks, r->arena,
				  &deleted);
	TRY(e == ERR_NOT_FOUND ? ERR_CONTAINER_NOT_FOUND : e);
	struct slice account = resource_account_partition(r->arena, r->account);
	struct slice inside =
		resource_generation_partition(r->arena, r->account, RESOURCE_CONTAINER, deleted.generation);
	if (!slice_is_set(account) || !slice_is_set(inside))
		return ERR_NO_MEMORY;
	request_step_write(r, inside, resource_restore_open);
	request_step_write(r, account, resource_restore_publish);
	return ERR_OK;
}

static enum err format_restore(struct request *r)
{
	r->response.status = 201;
	return ERR_OK;
}

const struct handler handler_container_restore = { .parse = parse_restore, .format = format_restore };
const struct handler handler_container_create = { .parse = parse_create, .format = format_create };
const struct handler handler_container_get = { .parse = parse_get, .format = format_get };
const struct handler handler_container_get_metadata = { .parse = parse_get, .format = format_get_metadata };
const struct handler handler_container_set_metadata = { .parse = parse_set_metadata, .format = format_changed };
const struct handler handler_container_get_acl = { .parse = parse_get, .format = format_get_acl };
const struct handler handler_container_set_acl = { .parse = parse_set_acl,
						   .parse_body = parse_set_acl_body,
						   .format = format_changed };
const struct handler handler_container_lease = { .parse = parse_lease, .format = format_lease };
const struct handler handler_container_delete = { .parse = parse_delete, .format = format_delete };

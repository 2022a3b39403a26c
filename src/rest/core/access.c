/* SPDX-License-Identifier: Apache-2.0
 * May this request be made? Credentials are proved by src/auth; the container's stored policies and public level come
 * from the service, only when they are asked for. */
#include "auth/limits.h"
#include "auth/redact.h"
#include "base/sys/log.h"
#include "rest/core/conn/exchange_int.h"
#include "rest/core/service.h"

static enum err find_policy(void *arg, struct slice id, struct auth_policy *ret)
{
	struct request *r = arg;
	return rest_service_of(r)->find_policy(r, id, ret);
}

/* Nobody is told that a private container exists; who speaks a version that knows the challenge gets it. */
static enum err refuse_anonymous(const struct request *r)
{
	const struct rest_service *s = rest_service_of(r);
	if (s->anonymous_error != ERR_OK)
		return s->anonymous_error;
	return r->version >= service_facts(r->service)->challenge_since ? ERR_NO_AUTHENTICATION_INFORMATION
									: ERR_RESOURCE_NOT_FOUND;
}

static enum err check_anonymous(struct request *r)
{
	const struct op *op = r->op;
	if (op->anon == ANON_ALWAYS)
		return ERR_OK;
	bool reads = r->head->method == HTTP_GET || r->head->method == HTTP_HEAD;
	if (op->anon == ANON_NEVER || !reads)
		return refuse_anonymous(r);
	const struct auth_account *account = rest_access_account(r->access, r->account);
	if (account->limits && account->limits->no_public_access)
		return ERR_PUBLIC_ACCESS_NOT_PERMITTED;
	const struct rest_service *s = rest_service_of(r);
	enum anon allowed = ANON_NEVER;
	enum err e = s->find_public_access ? s->find_public_access(r, &allowed) : ERR_NOT_FOUND;
	if (e != ERR_OK && e != ERR_NOT_FOUND)
		return e;
	/* Who may list a container may read what is in it. */
	return e == ERR_OK && allowed >= op->anon ? ERR_OK : refuse_anonymous(r);
}

static struct slice account_in_path(const struct request *r)
{
	if (!r->path_style)
		return SLICE("");
	struct slice rest = slice_from(r->head->path, 1);
	return slice_first(rest, slice_find_byte(rest, '/'));
}

/* A line of the string to sign; the URL of a source in it may have a signature of its own. */
static void put_line(struct buf *b, struct slice line)
{
	struct slice value = line, name = slice_cut(&value, ':');
	if (slice_is_set(value) && redact_is_secret_name(name)) {
		buf_put(b, name);
		BUF_PUT(b, ":REDACTED");
		return;
	}
	while (line.len > 0) {
		bool hidden;
		buf_put(b, redact_next(&line, &hidden));
		if (hidden)
			BUF_PUT(b, "REDACTED");
	}
}

/* One line of the log: who compares it with a text of their own looks for its line ends. */
static void tell_refused(enum err e, struct slice string_to_sign)
{
	struct buf b;
	buf_init(&b, 4096);
	while (slice_is_set(string_to_sign) && buf_ok(&b)) {
		put_line(&b, slice_cut(&string_to_sign, '\n'));
		if (slice_is_set(string_to_sign))
			BUF_PUT(&b, "\\n");
	}
	log_info("refused %s: string to sign was \"%.*s\"", err_name(e), SLICE_FMT(buf_slice(&b)));
	buf_fini(&b);
}

static enum err quota_check_one(struct request *r, struct auth_quota *q)
{
	const char *why;
	if (!q || quota_take(q, r->arrival_ns, &r->fault.retry_after_s, &why) == ERR_OK)
		return ERR_OK;
	r->fault.message = slice_str(why);
	return ERR_SERVER_BUSY;
}

enum err access_check_quota(struct request *r)
{
	const struct auth_limits *l = r->limits;
	if (!l || r->parent)
		return ERR_OK;
	if (l->container_count)
		TRY(quota_check_one(r, limits_container_quota(l, r->container)));
	return quota_check_one(r, l->quota);
}

void access_charge_quota(struct exchange *ex)
{
	struct request *r = &ex->req;
	const struct auth_limits *l = r->limits;
	if (!l || (!l->quota && !l->container_count))
		return;
	uint64_t now_ns = base_monotonic_ns();
	struct auth_quota *own = limits_container_quota(l, r->container);
	if (own)
		quota_charge(own, now_ns, ex->bytes_in, ex->bytes_out);
	if (l->quota)
		quota_charge(l->quota, now_ns, ex->bytes_in, ex->bytes_out);
}

enum err access_check(struct request *r)
{
	const struct op *op = r->op;
	struct auth_failure failure = { SLICE_NONE, SLICE_NONE };
	const struct auth_account *account = rest_access_account(r->access, r->account);
	r->account_index = account ? account->slot : 0;
	r->limits = account ? account->limits : NULL;
	struct auth_request a = {
		.head = r->head,
		.query = &r->query,
		.service = r->service,
		.account = account,
		.path_style = r->path_style,
		.account_in_path = account_in_path(r),
		.container = r->container,
		.object = r->object,
		.version = r->version,
		.secure = r->secure,
		.client_ip = r->client_ip,
		.now_ticks = r->arrival_ticks,
		.client_ticks = clock_moved(r->server->clock) ? clock_unmoved(r->server->clock) : r->arrival_ticks,
		.find_policy = find_policy,
		.find_policy_arg = r,
		.bearer = r->access->bearer,
		.account_for_delegation = account,
	};
	TRY(limits_check_address(account, r->client_ip));
	if (op->anon == ANON_ALWAYS)
		return ERR_OK; /* a preflight is never authenticated */
	enum err e = ERR_OK;
	/* Who it is was proved, to this account only: addresses have more forms than one, so what was found decides.
	 * What it may do is still asked. */
	if (r->trusted && slice_eq(r->account, r->parent->account))
		r->identity = *r->trusted;
	else if (slice_is_set(r->vouched_account) && slice_eq(r->account, r->vouched_account))
		r->identity = (struct auth_identity){ .kind = AUTH_SHARED_KEY };
	else
		e = auth_authenticate(&a, r->arena, &r->identity, &failure);
	if (e != ERR_OK) {
		r->string_to_sign = failure.string_to_sign;
		if (e == ERR_AUTHORIZATION_SOURCE_IP_MISMATCH)
			r->fault.message = arena_printf(r->arena,
							"This request is not authorized to perform this operation "
							"using this source IP %.*s.",
							SLICE_FMT(r->client_ip));
		if (slice_is_set(failure.detail))
			fault_add(r, "AuthenticationErrorDetail", failure.detail);
		if (r->server->config.debug_signatures && slice_is_set(failure.string_to_sign))
			tell_refused(e, failure.string_to_sign);
		return e;
	}
	if (r->identity.kind == AUTH_ANONYMOUS)
		return check_anonymous(r);
	struct auth_demand demand = {
		.sas = op->sas,
		.account_sas = op->account_sas,
		.resource_type = op->resource_type,
		.at_container = r->level != LEVEL_OBJECT && r->level != LEVEL_MESSAGES && r->level != LEVEL_MESSAGE,
		.no_bearer = op->bearer != BEARER_ONLY && r->version < op->bearer,
		.bearer_only = op->bearer == BEARER_ONLY,
	};
	e = auth_authorize(&a, &r->identity, &demand);
	if (e == ERR_AUTHENTICATION_FAILED && demand.bearer_only)
		fault_add(r, "AuthenticationErrorDetail", SLICE("Only authentication scheme Bearer is supported"));
	return e;
}

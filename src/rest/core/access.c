/* SPDX-License-Identifier: Apache-2.0
 * May this request be made? Credentials are proved by src/auth; the container's stored policies and public level come
 * from the service, only when they are asked for. */
#include "auth/guard/failures.h"
#include "auth/limits.h"
#include "auth/redact.h"
#include "base/sys/log.h"
#include "rest/core/conn/exchange_int.h"
#include "rest/core/service.h"
#include "store/key.h"
#include "store/meter.h"

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

void access_meter(struct request *r, struct slice partition)
{
	const struct auth_limits *l = r->limits;
	struct store *store = r->server->store;
	meter_weigh_fn *weigh = rest_service_of(r)->weigh;
	if (!l || !l->stores_limited || !weigh || r->container.len == 0)
		return;
	size_t kind_at = slice_find_byte(partition, 1) + 1; /* behind the account's name, see store/key.h */
	if (kind_at >= partition.len || partition.ptr[kind_at] == 'a' || store_is_metered(store, partition))
		return;
	const struct auth_quota *own = limits_container_quota(l, r->container);
	if (store_meter(store, partition, weigh, own ? own->stored_bytes : 0) != ERR_OK)
		log_error("no room to count the bytes of %.*s/%.*s: its quota does not hold", SLICE_FMT(r->account),
			  SLICE_FMT(r->container));
}

/* All that the account stores, as it was some time ago. */
static uint64_t account_usage(struct request *r, struct auth_quota *q)
{
	enum { LOOK_EVERY_MS = 100 };
	struct key prefix;
	uint64_t looked = atomic_load_explicit(&q->looked_ns, memory_order_relaxed);
	if (looked && r->arrival_ns < looked + LOOK_EVERY_MS * UINT64_C(1000000))
		return atomic_load_explicit(&q->looked_bytes, memory_order_relaxed);
	key_init(&prefix);
	key_str(&prefix, r->account);
	uint64_t bytes = store_usage(r->server->store, key_slice(&prefix));
	atomic_store_explicit(&q->looked_bytes, bytes, memory_order_relaxed);
	atomic_store_explicit(&q->looked_ns, r->arrival_ns, memory_order_relaxed);
	return bytes;
}

/* Deletes always pass. What brings bytes, or copies them, does not where there are too many already; of a batch its
 * parts are asked. A container's own quota is the commit's to judge. */
static enum err check_stored(struct request *r, struct auth_quota *q)
{
	bool brings =
		r->head->content_length > 0 || r->head->chunked || slice_is_set(request_header(r, "x-ms-copy-source"));
	enum http_method m = r->head->method;
	if (!q || !q->stored_bytes || !brings || m == HTTP_GET || m == HTTP_HEAD || m == HTTP_DELETE ||
	    slice_has_prefix_nocase(request_header(r, "content-type"), SLICE("multipart/mixed")))
		return ERR_OK;
	return account_usage(r, q) >= q->stored_bytes ? ERR_QUOTA_REACHED : ERR_OK;
}

enum err access_check_quota(struct request *r)
{
	const struct auth_limits *l = r->limits;
	if (l && l->stores_limited)
		TRY(check_stored(r, l->quota));
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

uint32_t access_slow_down(struct request *r)
{
	struct failures *f = r->server->config.failures;
	if (!f || !r->login_failed || r->client_ip.len == 0)
		return 0;
	struct failures_verdict v = failures_add(f, FAILURES_REST, r->client_ip, r->account, r->arrival_ns / 1000000);
	if (failures_worth_telling(&v))
		log_warn("rest: logins to %.*s from %.*s fail (%u of that address of late, %u of that account)",
			 SLICE_FMT(r->account), SLICE_FMT(r->client_ip), v.of_address, v.of_account);
	return v.wait_ms;
}

static struct auth_request auth_request_of(struct request *r)
{
	const struct auth_account *account = rest_access_account(r->access, r->account);
	return (struct auth_request){
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
}

static struct auth_demand demand_of(const struct request *r)
{
	const struct op *op = r->op;
	return (struct auth_demand){
		.sas = op->sas,
		.account_sas = op->account_sas,
		.resource_type = op->resource_type,
		.at_container = r->level != LEVEL_OBJECT && r->level != LEVEL_MESSAGES && r->level != LEVEL_MESSAGE,
		.no_bearer = op->bearer != BEARER_ONLY && r->version < op->bearer,
		.bearer_only = op->bearer == BEARER_ONLY,
	};
}

enum err request_check_source(struct request *r, struct slice object, struct slice token)
{
	const struct auth_identity *id = &r->identity;
	bool one_object = (id->kind == AUTH_SERVICE_SAS || id->kind == AUTH_DELEGATION_SAS) && id->scope_object.len > 0;
	if (!one_object || slice_eq(object, id->scope_object))
		return ERR_OK;
	struct auth_request a = auth_request_of(r);
	struct auth_failure failure = { .detail = SLICE_NONE, .string_to_sign = SLICE_NONE };
	struct auth_identity source;
	struct auth_demand demand = demand_of(r);
	struct query query;
	TRY(uri_parse_query(slice_is_set(token) ? token : SLICE(""), r->arena, &query));
	a.object = object;
	a.query = &query;
	enum err e = auth_authenticate(&a, r->arena, &source, &failure);
	r->login_failed = e != ERR_OK && failure.wrong_proof;
	TRY(e);
	if (source.kind == AUTH_ANONYMOUS)
		return auth_refusal(id, ERR_AUTHORIZATION_FAILURE);
	return auth_authorize(&a, &source, &demand);
}

enum err access_check(struct request *r)
{
	const struct op *op = r->op;
	struct auth_failure failure = { .detail = SLICE_NONE, .string_to_sign = SLICE_NONE };
	const struct auth_account *account = rest_access_account(r->access, r->account);
	r->account_index = account ? account->slot : 0;
	r->account_known = account;
	r->limits = account ? account->limits : NULL;
	struct auth_request a = auth_request_of(r);
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
		r->login_failed = failure.wrong_proof;
		r->deny_reason = failure.wrong_proof ? SLICE("the proof is wrong") : failure.detail;
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
	struct auth_demand demand = demand_of(r);
	e = auth_authorize(&a, &r->identity, &demand);
	if (e == ERR_AUTHENTICATION_FAILED && demand.bearer_only)
		fault_add(r, "AuthenticationErrorDetail", SLICE("Only authentication scheme Bearer is supported"));
	return e;
}

/* SPDX-License-Identifier: Apache-2.0
 * May this request be made? Credentials are proved by src/auth; the container's stored policies and public level come
 * from the service, only when they are asked for. */
#include "base/log.h"
#include "rest/core/exchange_int.h"
#include "rest/core/service.h"

static enum err find_policy(void *arg, struct slice id, struct auth_policy *ret)
{
	struct request *r = arg;
	return rest_service_of(r)->find_policy(r, id, ret);
}

/* Nobody is told that a private container exists; who speaks a version that knows the challenge gets it. */
static enum err refuse_anonymous(const struct request *r)
{
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

/* What lets others in, though it was signed too: not even a log that tells what was signed has it. */
static bool is_secret(struct slice name)
{
	static const char *const names[] = { "x-ms-copy-source-authorization", "x-ms-encryption-key",
					     "x-ms-source-encryption-key", "sig" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (slice_eq_nocase(name, slice_str(names[i])))
			return true;
	return false;
}

/* A line of the string to sign; the URL of a source in it may have a signature of its own. */
static void put_line(struct buf *b, struct slice line)
{
	struct slice value = line, name = slice_cut(&value, ':');
	if (slice_is_set(value) && is_secret(name)) {
		buf_put(b, name);
		BUF_PUT(b, ":REDACTED");
		return;
	}
	for (size_t i = 0; i < line.len; i++) {
		struct slice rest = slice_from(line, i);
		buf_put_byte(b, line.ptr[i]);
		if ((line.ptr[i] == '?' || line.ptr[i] == '&') &&
		    slice_has_prefix_nocase(slice_from(rest, 1), SLICE("sig="))) {
			BUF_PUT(b, "sig=REDACTED");
			i += slice_find_byte(slice_from(rest, 1), '&');
		}
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

enum err access_check(struct request *r)
{
	const struct op *op = r->op;
	struct auth_failure failure = { SLICE_NONE, SLICE_NONE };
	const struct auth_account *account = rest_server_account(r->server, r->account);
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
		.find_policy = find_policy,
		.find_policy_arg = r,
		.bearer = r->server->config.bearer,
		.account_for_delegation = account,
	};
	if (op->anon == ANON_ALWAYS)
		return ERR_OK; /* a preflight is never authenticated */
	enum err e = ERR_OK;
	/* Who it is was proved, to this account only: addresses have more forms than one, so what was found decides. What it
	 * may do is still asked. */
	if (r->trusted && slice_eq(r->account, r->parent->account))
		r->identity = *r->trusted;
	else
		e = auth_authenticate(&a, r->arena, &r->identity, &failure);
	if (e != ERR_OK) {
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
	if (e != ERR_OK && demand.bearer_only && r->identity.kind != AUTH_BEARER)
		fault_add(r, "AuthenticationErrorDetail", SLICE("Only authentication scheme Bearer is supported"));
	return e;
}

/* SPDX-License-Identifier: Apache-2.0
 * SESSION_SETUP and LOGOFF. The user is an account's name, the password one of its keys.
 *
 * A session is in its connection's list from its first SESSION_SETUP on, and in the server's table once it is valid, so
 * that a client that comes back on another connection can end its former self (PreviousSessionId): that is done on the
 * former connection's loop, and the login is answered when everything of it is closed. */
#include "smb/smb_int.h"

#include <assert.h>

#include "base/service.h"
#include "base/sys/log.h"
#include "smb/opens.h"
#include "svc/account/service_properties.h"
#include "wire/date.h"
#include "wire/json.h"

/* ---- the server's table ---- */

static struct smb_session_row **row_slot(struct smb_server *s, uint64_t id)
{
	struct smb_session_row **at = &s->sessions[id % SMB_SESSION_SLOTS];
	while (*at && (*at)->id != id)
		at = &(*at)->next;
	return at;
}

static void row_free(struct smb_session_row *row)
{
	if (row)
		explicit_bzero(&row->keys, sizeof row->keys);
	free(row);
}

static bool row_add(struct smb_session *s)
{
	struct smb_server *server = s->conn->sl->server;
	struct smb_session_row *row = calloc(1, sizeof *row);
	if (!row)
		return false;
	*row = (struct smb_session_row){ .id = s->id, .sl = s->conn->sl, .account = s->account };
	row->keys = (struct smb_session_keys){ .dialect = s->conn->dialect,
					       .signing = s->conn->signing,
					       .cipher = s->conn->cipher };
	memcpy(row->keys.key, s->login->ntlm.key, sizeof row->keys.key);
	memcpy(row->keys.hash, s->hash, sizeof row->keys.hash);
	pthread_mutex_lock(&server->lock);
	struct smb_session_row **at = row_slot(server, s->id);
	bool fresh = !*at; /* else another connection's session was given the same id */
	if (fresh)
		*at = row;
	pthread_mutex_unlock(&server->lock);
	if (!fresh)
		row_free(row);
	return fresh;
}

static void row_remove(const struct smb_session *s)
{
	struct smb_server *server = s->conn->sl->server;
	pthread_mutex_lock(&server->lock);
	struct smb_session_row **at = row_slot(server, s->id), *row = *at;
	if (row)
		*at = row->next;
	pthread_mutex_unlock(&server->lock);
	row_free(row);
}

static bool row_keys(struct smb_server *server, uint64_t id, struct smb_session_keys *ret)
{
	pthread_mutex_lock(&server->lock);
	const struct smb_session_row *row = *row_slot(server, id);
	if (row)
		*ret = row->keys;
	pthread_mutex_unlock(&server->lock);
	return row != NULL;
}

/* ---- sessions of a connection ---- */

struct smb_session *smb_session_find(struct smb_conn *c, uint64_t id)
{
	for (struct smb_session *s = c->sessions; s; s = s->next)
		if (s->id == id)
			return s;
	return NULL;
}

static struct smb_session *session_new(struct smb_conn *c)
{
	struct smb_session *s = c->session_count < SMB_SESSIONS_MAX ? calloc(1, sizeof *s) : NULL;
	if (!s)
		return NULL;
	s->conn = c;
	s->refs = 1;
	s->next_tree_id = 1;
	/* 31 bits: some clients keep no more. The id is no secret, keys prove who sends under it. */
	do
		s->id = rng_u64(&c->sl->rng) & INT32_MAX;
	while (s->id == 0 || smb_session_find(c, s->id));
	memcpy(s->hash, c->hash, sizeof s->hash);
	s->next = c->sessions;
	c->sessions = s;
	c->session_count++;
	return s;
}

void smb_session_ref(struct smb_session *s)
{
	s->refs++;
}

static void login_drop(struct smb_session *s)
{
	if (s->login)
		login_fini(s->login);
	free(s->login);
	s->login = NULL;
}

void smb_session_unref(struct smb_session *s)
{
	assert(s->refs > 0);
	if (--s->refs > 0)
		return;
	assert(s->ended);
	login_drop(s);
	protect_free(s->protect);
	smb_opens_free(s->opens);
	free(s);
}

void smb_session_end(struct smb_session *s, bool disconnected)
{
	struct smb_conn *c = s->conn;
	struct smb_session **at = &c->sessions;
	assert(!s->ended);
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	c->session_count--;
	s->ended = true;
	if (s->valid)
		row_remove(s);
	s->valid = false;
	smb_cancel_all(c, s, NULL, STATUS_FILE_CLOSED);
	smb_opens_end(s, NULL, disconnected);
	while (s->trees)
		smb_tree_end(s, s->trees);
	smb_session_unref(s);
}

void smb_do_logoff(struct smb_request *r)
{
	if (smb2_empty_parse(r->part) != ERR_OK) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	r->sync = smb_opens_are_unsynced(r->session, NULL);
	smb_session_end(r->session, true); /* durable opens can be taken over by the next session */
	smb_reply_synced(r);
}

/* ---- the former session of a client that comes back ---- */

struct session_eviction {
	struct io_task task;
	struct smb_loop *target, *home;
	uint64_t id;
	struct smb_request *request;
};

static void setup_finish(struct smb_request *);

static void evicted(struct io_task *t)
{
	struct session_eviction *e = io_container_of(t, struct session_eviction, task);
	struct smb_request *r = e->request;
	struct smb_loop *home = e->home;
	home->work_count--;
	free(e);
	setup_finish(r);
	smb_loop_check_drained(home);
}

/* Everything of the former session is on its way to the committer, whose queue keeps the order: what the new session
 * does comes after it. */
static void evict(struct io_task *t)
{
	struct session_eviction *e = io_container_of(t, struct session_eviction, task);
	for (struct smb_conn *c = e->target->conns; c; c = c->next) {
		struct smb_session *s = c->closed ? NULL : smb_session_find(c, e->id);
		if (!s)
			continue;
		smb_session_end(s, true);
		break;
	}
	e->task.run = evicted;
	io_loop_post(e->home->loop, &e->task);
}

/* True: setup_finish comes later. */
static bool evict_previous(struct smb_request *r, uint64_t id)
{
	struct smb_session *s = r->session;
	struct smb_server *server = r->conn->sl->server;
	struct smb_loop *target = NULL;
	if (id == 0 || id == s->id)
		return false;
	pthread_mutex_lock(&server->lock);
	const struct smb_session_row *row = *row_slot(server, id);
	if (row && row->account == s->account) /* only of the same user */
		target = row->sl;
	pthread_mutex_unlock(&server->lock);
	struct session_eviction *e = target ? calloc(1, sizeof *e) : NULL;
	if (!e)
		return false;
	*e = (struct session_eviction){
		.task.run = evict, .target = target, .home = r->conn->sl, .id = id, .request = r
	};
	e->home->work_count++;
	io_loop_post(target->loop, &e->task);
	return true;
}

/* ---- SESSION_SETUP ---- */

#define NTLM_AUTHENTICATE "NTLMSSP\0\3"

struct setup_call {
	struct smb2_session_setup in;
	bool proves;	  /* it answers a challenge */
	struct buf token; /* freed when the request is answered */
	uint32_t wait_ms; /* of a refusal */
	/* the audit log */
	struct audit_waiter audit;
	struct smb_request *request;
	void (*told)(struct smb_request *);
	const struct auth_account *tried;
	unsigned key_number;
};

static void setup_refused(struct io_timer *t)
{
	struct smb_request *r = io_container_of(t, struct smb_request, timer);
	smb_fail(r, r->status);
}

static bool has_valid_session(const struct smb_conn *c)
{
	for (const struct smb_session *s = c->sessions; s; s = s->next)
		if (s->valid)
			return true;
	return false;
}

/* ---- the audit log: a login is answered when its line is written ---- */

static void setup_put_line(struct buf *b, const struct smb_request *r, const char *outcome, const char *reason)
{
	static const char *const dialects[] = { "2.1", "3.0", "3.0.2", "3.1.1" };
	const struct setup_call *call = r->call;
	const struct smb_conn *c = r->conn;
	char time[DATE_ISO_BYTES];
	date_format_iso(clock_now(c->sl->server->config.clock), time);
	buf_printf(b, "{\"time\":\"%.*s\",\"door\":\"smb\",\"operation\":\"Login\",\"outcome\":\"%s\"",
		   (int)sizeof time, time, outcome);
	if (reason)
		buf_printf(b, ",\"reason\":\"%s\"", reason);
	BUF_PUT(b, ",\"auth\":\"ntlm\"");
	if (call->tried) {
		BUF_PUT(b, ",\"account\":\"");
		json_put_text(b, call->tried->name);
		BUF_PUT(b, "\"");
	}
	if (call->key_number)
		buf_printf(b, ",\"key\":\"key%u\"", call->key_number);
	unsigned dialect = c->dialect == SMB2_DIALECT_210   ? 0
			   : c->dialect == SMB2_DIALECT_300 ? 1
			   : c->dialect == SMB2_DIALECT_302 ? 2
							    : 3;
	buf_printf(b, ",\"ip\":\"%s\",\"dialect\":\"%s\",\"encrypted\":%s}\n", c->address, dialects[dialect],
		   c->cipher == SMB2_CIPHER_NONE ? "false" : "true");
}

static void setup_told(struct io_task *t)
{
	struct audit_waiter *w = io_container_of(t, struct audit_waiter, task);
	struct setup_call *call = io_container_of(w, struct setup_call, audit);
	struct smb_request *r = call->request;
	if (w->result == ERR_OK) {
		call->told(r);
		return;
	}
	buf_fini(&call->token);
	if (!r->session->ended)
		smb_session_end(r->session, false);
	smb_fail(r, STATUS_INSUFFICIENT_RESOURCES);
}

static void setup_tell(struct smb_request *r, const char *outcome, const char *reason,
		       void (*told)(struct smb_request *))
{
	struct setup_call *call = r->call;
	struct audit_log *audit = r->conn->sl->server->config.audit;
	struct buf line;
	if (!audit) {
		told(r);
		return;
	}
	call->request = r;
	call->told = told;
	call->audit = (struct audit_waiter){ .loop = r->conn->sl->loop, .task.run = setup_told };
	buf_init(&line, 4096);
	setup_put_line(&line, r, outcome, reason);
	io_audit_put(audit, buf_slice(&line), &call->audit);
	buf_fini(&line);
}

/* ---- a wrong key ---- */

static void setup_answer_refusal(struct smb_request *r)
{
	struct smb_conn *c = r->conn;
	const struct setup_call *call = r->call;
	if (c->login_failures >= SMB_LOGIN_FAILURES_MAX && !has_valid_session(c)) {
		smb_conn_close(c);
		smb_fail(r, r->status);
	} else if (call->wait_ms) {
		io_timer_init(&r->timer, setup_refused);
		io_timer_set(c->sl->loop, &r->timer, io_loop_now_ms(c->sl->loop) + call->wait_ms);
	} else {
		smb_fail(r, r->status);
	}
}

/* From the third of an address on the answer waits, whichever connection it came on; at the tenth of a connection that
 * ends, unless somebody is logged in on it. */
static void setup_refuse(struct smb_request *r)
{
	struct smb_conn *c = r->conn;
	struct smb_session *s = r->session;
	struct setup_call *call = r->call;
	struct failures_verdict v = { 0 };
	const struct auth_account *tried = s->login ? s->login->ntlm.tried : NULL;
	buf_fini(&call->token);
	r->status = s->login && s->login->malformed ? STATUS_INVALID_PARAMETER : STATUS_LOGON_FAILURE;
	c->login_failures++;
	/* Only who answered a challenge has tried a key. */
	if (call->proves)
		v = failures_add(c->sl->server->config.failures, FAILURES_SMB, slice_str(c->address),
				 tried ? tried->name : SLICE(""), io_loop_now_ms(c->sl->loop));
	call->wait_ms = v.wait_ms;
	call->tried = tried;
	log_warn("smb: login from %s refused (%u of late)", c->address, v.of_address);
	if (!s->ended)
		smb_session_end(s, false);
	setup_tell(r, "refused", call->proves ? "the proof is wrong" : "no proof", setup_answer_refusal);
}

static enum err keys_make(struct smb_session *s)
{
	struct smb_conn *c = s->conn;
	struct protect_spec spec = {
		.dialect = c->dialect,
		.signing = c->signing,
		.cipher = c->cipher,
		.session_key = s->login->ntlm.key,
		.hash = s->hash,
		.nonce_salt = (uint32_t)rng_u64(&c->sl->rng),
	};
	return protect_new(&spec, &s->protect);
}

/* The first login of this session is proven: its keys, and what it must do from now on. */
static bool session_open(struct smb_session *s, uint8_t client_mode, bool encrypts)
{
	const struct smb_config *config = &s->conn->sl->server->config;
	if (keys_make(s) != ERR_OK)
		return false;
	s->signs = !config->signing_optional || (client_mode & SMB2_MODE_SIGNING_REQUIRED) ||
		   (s->conn->client_mode & SMB2_MODE_SIGNING_REQUIRED);
	s->encrypts = encrypts;
	s->opens = smb_opens_new();
	if (!s->opens || !row_add(s))
		return false;
	s->valid = true;
	return true;
}

static void setup_accepted(struct smb_request *r)
{
	const struct setup_call *call = r->call;
	if (!evict_previous(r, call->in.previous_session_id))
		setup_finish(r);
}

/* Whether this server, or the account by the properties of its File service, demands encryption. */
static bool encryption_wanted(struct smb_request *r, const struct auth_account *account, bool *ret)
{
	const struct smb_config *config = &r->conn->sl->server->config;
	struct service_properties p;
	if (account_service_properties_find(config->store, account->name, service_facts(SERVICE_FILE)->letter,
					    &r->arena, &p) != ERR_OK)
		return false;
	*ret = config->encryption_required || p.protocol.smb_encryption;
	return true;
}

static void setup_end(struct smb_request *r, uint32_t status)
{
	struct setup_call *call = r->call;
	buf_fini(&call->token);
	smb_session_end(r->session, false);
	smb_fail(r, status);
}

static void setup_done(struct smb_request *r)
{
	struct smb_session *s = r->session;
	struct setup_call *call = r->call;
	const struct auth_account *account = s->login->account;
	if (s->valid && account != s->account) { /* somebody else's password on a live session */
		setup_refuse(r);
		return;
	}
	bool encrypts = false;
	if (!encryption_wanted(r, account, &encrypts)) {
		setup_end(r, STATUS_INSUFFICIENT_RESOURCES);
		return;
	}
	if (encrypts && s->conn->cipher == SMB2_CIPHER_NONE) {
		setup_end(r, STATUS_ACCESS_DENIED);
		return;
	}
	s->account = account;
	if (!s->valid && !session_open(s, call->in.security_mode, encrypts)) {
		setup_end(r, STATUS_INSUFFICIENT_RESOURCES);
		return;
	}
	s->conn->login_failures = 0;
	call->tried = account;
	call->key_number = s->login->ntlm.key_number;
	login_drop(s);
	setup_tell(r, "done", NULL, setup_accepted);
}

static void setup_finish(struct smb_request *r)
{
	struct smb_session *s = r->session;
	struct setup_call *call = r->call;
	smb2_session_setup_put(r->out, s->encrypts ? SMB2_SESSION_ENCRYPT : 0, buf_slice(&call->token));
	buf_fini(&call->token);
	r->is_signed = true;
	smb_reply(r, STATUS_OK);
}

static void setup_step(struct smb_request *r)
{
	struct smb_session *s = r->session;
	struct smb_conn *c = r->conn;
	struct setup_call *call = r->call;
	struct login_input in = {
		.token = call->in.token,
		.file_time = SMB_FILETIME_OF_TICKS(clock_now(c->sl->server->config.clock)),
		.accounts = c->sl->server->config.accounts,
	};
	rng_bytes(&c->sl->rng, in.challenge, sizeof in.challenge);
	if (!s->protect && c->dialect == SMB2_DIALECT_311)
		protect_hash(s->hash, r->part);
	call->proves = s->login->stage == LOGIN_WAITS_AUTHENTICATE &&
		       memmem(call->in.token.ptr, call->in.token.len, NTLM_AUTHENTICATE, sizeof NTLM_AUTHENTICATE - 1);
	switch (login_step(s->login, &in, &call->token)) {
	case LOGIN_MORE:
		smb2_session_setup_put(r->out, 0, buf_slice(&call->token));
		buf_fini(&call->token);
		if (!s->protect && c->dialect == SMB2_DIALECT_311)
			r->hash_into = s->hash;
		smb_reply(r, STATUS_MORE_PROCESSING_REQUIRED);
		break;
	case LOGIN_DONE:
		setup_done(r);
		break;
	case LOGIN_REFUSED:
		setup_refuse(r);
		break;
	}
}

/* ---- a session of another connection ---- */

/* Several channels of a session are not offered. A client that tries is told what stands in its way first, in the order
 * of the specification. */
static uint32_t bind_refusal(const struct smb_request *r, const struct smb_session_keys *k)
{
	const struct smb_conn *c = r->conn;
	if (k->signing == SMB2_SIGN_AES_GMAC && c->signing != SMB2_SIGN_AES_GMAC)
		return STATUS_REQUEST_OUT_OF_SEQUENCE;
	if (c->signing == SMB2_SIGN_AES_GMAC && k->signing != SMB2_SIGN_AES_GMAC)
		return STATUS_NOT_SUPPORTED;
	if (!smb_is_3x(c))
		return STATUS_REQUEST_NOT_ACCEPTED;
	if (!r->is_signed || k->dialect != c->dialect || k->cipher != c->cipher)
		return STATUS_INVALID_PARAMETER;
	return STATUS_REQUEST_NOT_ACCEPTED;
}

/* The refusal is signed with that session's key, else its client would not believe it: the request holds a session of
 * its own, which has nothing but the keys. False: the client does not have them. */
static bool keys_lend(struct smb_request *r, const struct smb_session_keys *k)
{
	struct smb_session *s = calloc(1, sizeof *s);
	struct protect_spec spec = { .dialect = k->dialect,
				     .signing = k->signing,
				     .cipher = SMB2_CIPHER_NONE, /* it never encrypts: a nonce must not come twice */
				     .session_key = k->key,
				     .hash = k->hash };
	if (!s || protect_new(&spec, &s->protect) != ERR_OK || !protect_verify(s->protect, r->part)) {
		protect_free(s ? s->protect : NULL);
		free(s);
		return false;
	}
	s->conn = r->conn;
	s->refs = 1;
	s->ended = true;
	r->session = s;
	r->is_signed = true;
	return true;
}

static void setup_elsewhere(struct smb_request *r, bool binds)
{
	struct smb_session_keys k;
	uint32_t status = STATUS_USER_SESSION_DELETED;
	if (row_keys(r->conn->sl->server, r->h.session_id, &k)) {
		if ((r->h.flags & SMB2_FLAG_SIGNED) && !keys_lend(r, &k))
			status = STATUS_ACCESS_DENIED;
		else if (binds)
			status = bind_refusal(r, &k);
		explicit_bzero(&k, sizeof k);
	}
	smb_fail(r, status);
}

void smb_do_session_setup(struct smb_request *r)
{
	struct smb_conn *c = r->conn;
	struct setup_call *call = ARENA_NEW(&r->arena, struct setup_call);
	if (!call) {
		smb_fail(r, STATUS_INSUFFICIENT_RESOURCES);
		return;
	}
	r->call = call;
	if (smb2_session_setup_parse(r->part, &call->in) != ERR_OK || call->in.token.len == 0) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	struct audit_log *audit = c->sl->server->config.audit;
	if (audit && !io_audit_works(audit)) {
		smb_fail(r, STATUS_INSUFFICIENT_RESOURCES);
		return;
	}
	bool binds = call->in.flags & SMB2_SESSION_BINDING;
	if (!r->session && r->h.session_id != 0) {
		setup_elsewhere(r, binds);
		return;
	}
	if (binds) {
		smb_fail(r, r->session ? STATUS_REQUEST_NOT_ACCEPTED : STATUS_INVALID_PARAMETER);
		return;
	}
	if (!r->session) {
		r->session = session_new(c);
		if (!r->session) {
			smb_fail(r, STATUS_INSUFFICIENT_RESOURCES);
			return;
		}
		smb_session_ref(r->session);
		r->h.session_id = r->session->id;
	}
	struct smb_session *s = r->session;
	if (!s->login) {
		s->login = calloc(1, sizeof *s->login);
		if (!s->login) {
			smb_fail(r, STATUS_INSUFFICIENT_RESOURCES);
			return;
		}
		login_init(s->login);
	}
	buf_init(&call->token, NTLM_MESSAGE_BYTES_MAX + 1024);
	setup_step(r);
}

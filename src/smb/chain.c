/* SPDX-License-Identifier: Apache-2.0
 * A message from the client, part by part: checks that every command shares, the handler, the answer. See smb_int.h for
 * the life of a request.
 *
 * Order of the checks: header, ids and credits (these close the connection), protection, session, tree; then the
 * handler looks at the body. The answers of a chain go out as one message, but what was answered before a part that
 * waits goes out at once. */
#include "smb/opens.h"

#include "base/sys/clock.h"

#include <assert.h>
#include <sched.h>

enum { NEEDS_NOTHING = 0, NEEDS_SESSION = 1, NEEDS_TREE = 3, PARTS_MAX = 256, NEXT_LEAST = SMB2_HEADER_BYTES + 8 };
enum {
	ALONE_LEAST = 32,		 /* requests one after the other, then a loop is taken for one client's */
	ALONE_LINGER_NS = 80 * 1000,	 /* its next request is looked for so long before the loop sleeps */
	ALONE_LONG_NS = 2 * 1000 * 1000, /* a commit that took so long is not waited for again soon */
	TOGETHER_NS = 50 * 1000,	 /* the first of several writes waits so long for the others */
};
enum { DECISIONS_MAX = 8 }; /* of one request in this thread, one within the other: a bound for the stack */

static const struct command {
	smb_handler *run;
	unsigned needs;
} commands[SMB2_COMMANDS] = {
	[SMB2_NEGOTIATE] = { smb_do_negotiate, NEEDS_NOTHING },
	[SMB2_SESSION_SETUP] = { smb_do_session_setup, NEEDS_NOTHING },
	[SMB2_LOGOFF] = { smb_do_logoff, NEEDS_SESSION },
	[SMB2_TREE_CONNECT] = { smb_do_tree_connect, NEEDS_SESSION },
	[SMB2_TREE_DISCONNECT] = { smb_do_tree_disconnect, NEEDS_TREE },
	[SMB2_CREATE] = { smb_do_create, NEEDS_TREE },
	[SMB2_CLOSE] = { smb_do_close, NEEDS_TREE },
	[SMB2_FLUSH] = { smb_do_flush, NEEDS_TREE },
	[SMB2_READ] = { smb_do_read, NEEDS_TREE },
	[SMB2_WRITE] = { smb_do_write, NEEDS_TREE },
	[SMB2_LOCK] = { smb_do_lock, NEEDS_TREE },
	[SMB2_IOCTL] = { smb_do_ioctl, NEEDS_TREE },
	[SMB2_CANCEL] = { smb_do_cancel, NEEDS_NOTHING },
	[SMB2_ECHO] = { smb_do_echo, NEEDS_NOTHING },
	[SMB2_QUERY_DIRECTORY] = { smb_do_query_directory, NEEDS_TREE },
	[SMB2_CHANGE_NOTIFY] = { smb_do_notify, NEEDS_TREE },
	[SMB2_QUERY_INFO] = { smb_do_query_info, NEEDS_TREE },
	[SMB2_SET_INFO] = { smb_do_set_info, NEEDS_TREE },
	[SMB2_OPLOCK_BREAK] = { smb_do_oplock_break, NEEDS_TREE },
};

bool smb_is_3x(const struct smb_conn *c)
{
	return c->dialect >= SMB2_DIALECT_300;
}

/* ---- answers ---- */

/* The part answered last is complete. `next_at`: where the one that follows begins, 0 = none does. */
static void last_seal(struct smb_chain *ch, size_t next_at)
{
	if (!ch->last_head)
		return;
	size_t len = (next_at ? next_at : ch->out.len) - ch->last_head;
	if (buf_ok(&ch->out) && next_at)
		bytes_store(ch->out.ptr + ch->last_head + SMB2_NEXT_AT, len, 4);
	if (buf_ok(&ch->out) && ch->last_session)
		protect_sign(ch->last_session->protect, ch->out.ptr + ch->last_head, len);
	if (ch->last_session)
		smb_session_unref(ch->last_session);
	ch->last_session = NULL;
	ch->last_head = 0;
}

/* Takes back what the part at hand has put, its header's place and the padding before it. */
static void part_drop(struct smb_request *r)
{
	struct smb_chain *ch = r->chain;
	if (buf_ok(&ch->out))
		ch->out.len = ch->last_head ? ch->last_end : r->head_at;
}

/* Room for the header of the part that begins. */
static void part_head_begin(struct smb_request *r)
{
	struct smb_chain *ch = r->chain;
	ch->last_end = ch->out.len;
	smb2_pad(&ch->out, SMB_OUT_HEAD_BYTES, 8);
	r->head_at = ch->out.len;
	smb2_zeros_put(&ch->out, SMB2_HEADER_BYTES);
}

static void out_begin(struct smb_chain *ch)
{
	buf_init(&ch->out, SMB_ANSWER_MAX);
	smb2_zeros_put(&ch->out, SMB_OUT_HEAD_BYTES);
}

static void out_send(struct smb_chain *ch)
{
	last_seal(ch, 0);
	if (!buf_ok(&ch->out) || ch->out.len > SMB_OUT_HEAD_BYTES)
		smb_conn_send(ch->conn, &ch->out, SMB_OUT_HEAD_BYTES, ch->encrypted);
	else
		buf_fini(&ch->out);
}

static struct smb2_header answer_header(const struct smb_request *r)
{
	struct smb2_header h = {
		.credit_charge = r->h.credit_charge,
		.status = r->status,
		.command = r->h.command,
		.credits = r->credits,
		.flags =
			SMB2_FLAG_RESPONSE | (r->h.flags & (SMB2_FLAG_RELATED | SMB2_FLAG_PRIORITY | SMB2_FLAG_REPLAY)),
		.message_id = r->h.message_id,
		.reserved = r->h.reserved,
		.tree_id = r->h.tree_id,
		.session_id = r->h.session_id,
	};
	/* What was refused before its signature could be judged gets it back: clients that require signing take such an
	 * error for one then. */
	if ((r->h.flags & SMB2_FLAG_SIGNED) && !r->is_signed) {
		h.flags |= SMB2_FLAG_SIGNED;
		memcpy(h.signature, r->h.signature, sizeof h.signature);
	}
	if (r->sent_interim) {
		h.flags |= SMB2_FLAG_ASYNC;
		h.reserved = (uint32_t)r->async_id;
		h.tree_id = (uint32_t)(r->async_id >> 32);
	}
	return h;
}

static void credits_give(struct smb_request *r)
{
	struct credits *c = &r->conn->credits;
	uint16_t charge = r->h.credit_charge ? r->h.credit_charge : 1, asked = r->h.credits ? r->h.credits : 1;
	bool one = r->h.command == SMB2_NEGOTIATE || (r->h.command == SMB2_SESSION_SETUP && r->status != STATUS_OK);
	uint32_t grant = one ? 1 : (uint32_t)charge + asked - 1;
	r->credits = credits_grant(c, grant > UINT16_MAX ? UINT16_MAX : (uint16_t)grant);
}

/* Puts the header in front of the body and remembers the part as the last one. */
static void part_finish(struct smb_request *r)
{
	struct smb_chain *ch = r->chain;
	if (r->silent) {
		part_drop(r);
		return;
	}
	last_seal(ch, r->head_at);
	if (r->sent_interim)
		r->credits = 0;
	else
		credits_give(r);
	struct smb2_header h = answer_header(r);
	struct buf head;
	buf_init(&head, SMB2_HEADER_BYTES);
	smb2_header_put(&head, &h);
	if (buf_ok(&ch->out) && buf_ok(&head))
		memcpy(ch->out.ptr + r->head_at, head.ptr, SMB2_HEADER_BYTES);
	else
		ch->out.failed = true;
	buf_fini(&head);
	ch->last_head = r->head_at;
	if (buf_ok(&ch->out) && r->hash_into)
		protect_hash(r->hash_into, slice_from(buf_slice(&ch->out), r->head_at));
	if (r->is_signed && !ch->encrypted && r->session && r->session->protect) {
		smb_session_ref(r->session);
		ch->last_session = r->session;
	}
}

static void chain_run(struct smb_chain *);

static void request_answered(struct smb_request *r, uint32_t status)
{
	assert(!r->answered && !r->cancel);
	r->answered = true;
	r->status = status;
	if (!r->chain->running)
		chain_run(r->chain);
}

void smb_reply(struct smb_request *r, uint32_t status)
{
	request_answered(r, status);
}

void smb_fail_data(struct smb_request *r, uint32_t status, struct slice data)
{
	if (buf_ok(r->out))
		r->out->len = r->head_at + SMB2_HEADER_BYTES;
	smb2_error_put(r->out, data);
	request_answered(r, status);
}

void smb_fail(struct smb_request *r, uint32_t status)
{
	smb_fail_data(r, status, SLICE(""));
}

void smb_fail_err(struct smb_request *r, enum err e)
{
	smb_fail(r, smb_status_of(e));
}

/* ---- going on later ---- */

static void commit_woken(struct io_task *t)
{
	struct smb_request *r = io_container_of(t, struct smb_request, wake);
	r->conn->sl->work_count--;
	r->committing = false;
	struct smb_loop *sl = r->conn->sl;
	r->then(r, r->result);
	smb_loop_check_drained(sl);
}

/* On the committer's thread. */
static void commit_done(struct store_job *job, enum err result)
{
	struct smb_request *r = job->owner;
	r->result = result;
	io_loop_post(r->conn->sl->loop, &r->wake);
}

static void job_fill(struct smb_request *r, struct slice partition, apply_fn *apply, void *call, smb_then_fn *then)
{
	r->then = then;
	r->wake.run = commit_woken;
	r->job = (struct store_job){
		.partition = partition,
		.apply = apply,
		.call = call,
		.arena = &r->arena,
		.done = commit_done,
		.owner = r,
		.sync_later = r->sync_later,
		.sync = r->sync,
	};
	r->conn->sl->work_count++;
	r->committing = true;
}

/* A loop with one busy client has nothing else to do while a commit is written: it waits for the disk itself, and the
 * commit changes no thread. As soon as somebody else asks it is as ever. */
static void alone_note(struct smb_loop *sl, const struct smb_conn *c)
{
	bool only = sl->alone == c, alone = only && sl->work_count == 0;
	sl->alone = c;
	sl->only_count = only ? sl->only_count + 1 : 0;
	sl->alone_count = alone ? sl->alone_count + 1 : 0;
	io_loop_linger(sl->loop, sl->alone_count >= ALONE_LEAST ? ALONE_LINGER_NS : 0);
}

static bool is_alone(const struct smb_loop *sl)
{
	return sl->alone_count >= ALONE_LEAST && sl->work_count == 1; /* the one at hand */
}

/* It may have waited for the disk: then the client's core sleeps as well, and its next request takes longer. */
static void alone_waited(struct smb_loop *sl, uint64_t began_ns)
{
	uint64_t ns = base_monotonic_ns() - began_ns;
	if (ns > ALONE_LINGER_NS)
		io_loop_linger(sl->loop, 0);
	if (ns > ALONE_LONG_NS)
		sl->alone_count = sl->only_count = 0;
}

/* The client has several writes under way: they are committed together when all of them are here. How many that are is
 * known from the last time: those that were committed, and those that had come until then. */
static void together_run(struct io_task *t)
{
	struct smb_loop *sl = io_container_of(t, struct smb_loop, together);
	uint64_t now_ns = base_monotonic_ns();
	if (sl->together_done) { /* and answered: their successors are on their way */
		sl->together_done = false;
		sl->together_expected = sl->together_last + sl->together_count;
		sl->together_until_ns = now_ns + TOGETHER_NS;
		io_loop_linger(sl->loop, ALONE_LINGER_NS);
	}
	sl->together_queued = sl->together_count > 0;
	if (!sl->together_queued)
		return;
	io_loop_defer(sl->loop, t);
	if (sl->together_count < sl->together_expected && now_ns < sl->together_until_ns) {
		sched_yield();
		return;
	}
	sl->together_last = sl->together_count;
	sl->together_count = 0;
	sl->together_done = true;
	store_write_together(sl->server->config.store);
	alone_waited(sl, now_ns);
}

static void together_add(struct smb_loop *sl, struct store_job *job)
{
	sl->together_count++;
	store_write_held(sl->server->config.store, job);
	if (sl->together_queued)
		return;
	sl->together_queued = true;
	sl->together_until_ns = base_monotonic_ns() + TOGETHER_NS;
	sl->together.run = together_run;
	io_loop_defer(sl->loop, &sl->together);
}

/* All that is under way on the loop are such writes, of a client that was the only one for a while. */
static bool is_together(const struct smb_loop *sl)
{
	return sl->only_count >= ALONE_LEAST && sl->work_count == sl->together_count + 1;
}

void smb_commit(struct smb_request *r, struct slice partition, apply_fn *apply, void *call, smb_then_fn *then)
{
	struct smb_loop *sl = r->conn->sl;
	struct store *store = sl->server->config.store;
	job_fill(r, partition, apply, call, then);
	if (!is_alone(sl)) {
		if (is_together(sl))
			together_add(sl, &r->job);
		else
			store_write(store, &r->job);
		return;
	}
	uint64_t began_ns = base_monotonic_ns();
	store_write_alone(store, &r->job);
	alone_waited(sl, began_ns);
}

void smb_decide(struct smb_request *r, apply_fn *apply, void *call, smb_then_fn *then)
{
	enum err result;
	if (r->decisions++ >= DECISIONS_MAX) {
		smb_commit(r, r->tree->partition, apply, call, then);
		return;
	}
	struct smb_loop *sl = r->conn->sl;
	job_fill(r, r->tree->partition, apply, call, then);
	r->job.may_wait = is_alone(sl);
	uint64_t began_ns = base_monotonic_ns();
	bool done = store_write_here(sl->server->config.store, &r->job, &result);
	alone_waited(sl, began_ns);
	if (!done)
		return;
	sl->work_count--;
	r->committing = false;
	then(r, result);
	smb_loop_check_drained(sl);
}

static void interim_send(struct smb_request *r)
{
	struct smb_chain *ch = r->chain;
	struct buf b;
	if (ch->last_head) { /* what was answered before goes first */
		part_drop(r);
		out_send(ch);
		out_begin(ch);
		part_head_begin(r);
	}
	r->sent_interim = true;
	r->async_id = r->conn->next_async_id++;
	r->status = STATUS_PENDING;
	credits_give(r);
	struct smb2_header h = answer_header(r);
	buf_init(&b, SMB_OUT_HEAD_BYTES + SMB2_HEADER_BYTES + 64);
	smb2_zeros_put(&b, SMB_OUT_HEAD_BYTES);
	smb2_header_put(&b, &h);
	smb2_error_put(&b, SLICE(""));
	smb_conn_send(r->conn, &b, SMB_OUT_HEAD_BYTES, ch->encrypted);
}

static void request_cancel(struct smb_request *r, uint32_t status)
{
	void (*cancel)(struct smb_request *, uint32_t) = r->cancel;
	r->cancelled = true;
	smb_wait_end(r);
	cancel(r, status);
}

bool smb_wait_begin(struct smb_request *r, void (*cancel)(struct smb_request *, uint32_t status))
{
	struct smb_conn *c = r->conn;
	assert(!r->cancel && !r->committing);
	c->waiting_count++;
	r->cancel = cancel;
	if (c->closed || r->session->ended || r->tree->ended || r->cancel_wanted) {
		request_cancel(r, r->cancel_wanted ? r->cancel_wanted : STATUS_FILE_CLOSED);
		return false;
	}
	if (c->waiting_count > SMB_WAITING_MAX) {
		request_cancel(r, STATUS_INSUFFICIENT_RESOURCES);
		return false;
	}
	if (r->h.next == 0 && !r->sent_interim)
		interim_send(r);
	if (!c->closed)
		return true;
	return false; /* the interim answer could not be sent: closing has cancelled it */
}

void smb_wait_end(struct smb_request *r)
{
	if (!r->cancel)
		return;
	r->cancel = NULL;
	r->conn->waiting_count--;
}

/* Now, or when its commit is done and it would wait again. */
static bool cancel_or_remember(struct smb_request *r, uint32_t status)
{
	if (r->cancel) {
		request_cancel(r, status);
		return true;
	}
	if (r->committing)
		r->cancel_wanted = status;
	return false;
}

void smb_cancel_all(struct smb_conn *c, const struct smb_session *s, const struct smb_tree *t, uint32_t status)
{
	/* A cancelled chain may end and leave the list: begin again after each. */
	for (struct smb_chain *ch = c->chains; ch;) {
		struct smb_request *r = &ch->request;
		bool hit = ch->begun && !r->answered && (!s || r->session == s) && (!t || r->tree == t);
		ch = hit && cancel_or_remember(r, status) ? c->chains : ch->next;
	}
}

void smb_cancel_open(struct smb_conn *c, const struct smb_open *o, uint32_t status)
{
	for (struct smb_chain *ch = c->chains; ch;) {
		struct smb_request *r = &ch->request;
		bool hit = ch->begun && !r->answered && r->open == o;
		ch = hit && cancel_or_remember(r, status) ? c->chains : ch->next;
	}
}

void smb_do_cancel(struct smb_request *r)
{
	bool async = r->h.flags & SMB2_FLAG_ASYNC;
	struct smb_conn *c = r->conn;
	r->silent = true;
	for (struct smb_chain *ch = c->chains; ch; ch = ch->next) {
		struct smb_request *v = &ch->request;
		if (!ch->begun || v == r || v->answered || v->session != r->session)
			continue;
		if (async ? v->sent_interim && v->async_id == smb2_header_async_id(&r->h)
			  : v->h.message_id == r->h.message_id) {
			(void)cancel_or_remember(v, STATUS_CANCELLED);
			break;
		}
	}
	smb_reply(r, STATUS_OK);
}

void smb_do_echo(struct smb_request *r)
{
	if (smb2_empty_parse(r->part) != ERR_OK) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	smb2_empty_put(r->out);
	smb_reply(r, STATUS_OK);
}

/* ---- a part begins ---- */

bool smb_charge_ok(const struct smb_request *r, uint64_t bytes)
{
	if (!(r->conn->capabilities & SMB2_CAP_LARGE_MTU))
		return bytes <= 65536;
	uint16_t charge = r->h.credit_charge ? r->h.credit_charge : 1;
	return credits_for(bytes) <= charge;
}

/* False: the connection must be closed. */
static bool header_check(struct smb_chain *ch, struct smb_request *r)
{
	struct smb_conn *c = ch->conn;
	struct slice rest = slice_from(ch->message, ch->at);
	if (smb2_header_parse(rest, &r->h) != ERR_OK || (r->h.flags & SMB2_FLAG_RESPONSE) || ch->parts++ >= PARTS_MAX)
		return false;
	if (r->h.next && (r->h.next % 8 || r->h.next < NEXT_LEAST || r->h.next >= rest.len))
		return false;
	r->part = r->h.next ? slice_first(rest, r->h.next) : rest;
	if (r->h.command == SMB2_CANCEL)
		return c->negotiated;
	uint16_t charge = c->capabilities & SMB2_CAP_LARGE_MTU ? r->h.credit_charge : 1;
	if (!credits_use(&c->credits, r->h.message_id, charge))
		return false;
	return c->negotiated != (r->h.command == SMB2_NEGOTIATE);
}

/* What a related part takes from the one before. */
static uint32_t related_check(struct smb_chain *ch, struct smb_request *r)
{
	if (r->h.flags & SMB2_FLAG_RELATED) {
		if (ch->parts == 1 || ch->related_broken)
			return STATUS_INVALID_PARAMETER;
		r->h.session_id = ch->session_id;
		r->h.tree_id = ch->tree_id;
	} else {
		ch->file_id = SMB2_FILE_ID_NONE;
		ch->related_status = STATUS_OK;
	}
	if ((r->h.flags & SMB2_FLAG_ASYNC) && r->h.command != SMB2_CANCEL)
		return STATUS_INVALID_PARAMETER;
	ch->session_id = r->h.session_id;
	ch->tree_id = r->h.tree_id;
	return STATUS_OK;
}

static bool may_be_bare(uint16_t command)
{
	return command == SMB2_NEGOTIATE || command == SMB2_SESSION_SETUP || command == SMB2_ECHO;
}

static uint32_t protection_check(struct smb_chain *ch, struct smb_request *r)
{
	struct smb_session *s = r->session;
	if (ch->encrypted)
		return STATUS_OK;
	if (r->h.flags & SMB2_FLAG_SIGNED) {
		if (!s || !s->protect)
			return r->h.command == SMB2_SESSION_SETUP ? STATUS_OK : STATUS_USER_SESSION_DELETED;
		if (!protect_verify(s->protect, r->part))
			return STATUS_ACCESS_DENIED;
		r->is_signed = true;
	}
	if (!s || !s->valid || may_be_bare(r->h.command))
		return STATUS_OK;
	ch->stripped = s->encrypts || (s->signs && !r->is_signed);
	return ch->stripped ? STATUS_ACCESS_DENIED : STATUS_OK;
}

static uint32_t session_check(struct smb_chain *ch, struct smb_request *r)
{
	if (r->h.command >= SMB2_COMMANDS)
		return STATUS_INVALID_PARAMETER;
	unsigned needs = commands[r->h.command].needs;
	struct smb_session *s = smb_session_find(ch->conn, r->h.session_id);
	if (s) {
		smb_session_ref(s);
		r->session = s;
	}
	uint32_t status = protection_check(ch, r);
	if (status != STATUS_OK)
		return status;
	if (!(needs & NEEDS_SESSION))
		return STATUS_OK;
	if (!s || !s->valid)
		return STATUS_USER_SESSION_DELETED;
	if (needs != NEEDS_TREE)
		return STATUS_OK;
	r->tree = smb_tree_find(s, r->h.tree_id);
	if (!r->tree)
		return STATUS_NETWORK_NAME_DELETED;
	smb_tree_ref(r->tree);
	return STATUS_OK;
}

static void part_begin(struct smb_chain *ch)
{
	struct smb_request *r = &ch->request;
	*r = (struct smb_request){ .chain = ch, .conn = ch->conn, .out = &ch->out };
	arena_init(&r->arena, SMB_ARENA_BYTES);
	if (!header_check(ch, r)) {
		arena_fini(&r->arena);
		smb_conn_close(ch->conn);
		return;
	}
	ch->begun = true;
	part_head_begin(r);
	uint32_t status = related_check(ch, r);
	/* Under a session's keys nothing is asked in another's name. */
	if (status == STATUS_OK && ch->encrypted && r->h.session_id != ch->encrypted->id)
		status = STATUS_USER_SESSION_DELETED;
	if (status == STATUS_OK)
		status = session_check(ch, r);
	ch->related_broken = status != STATUS_OK;
	if (r->h.command == SMB2_CANCEL && status != STATUS_OK) {
		r->silent = true;
		smb_reply(r, status);
	} else if (status != STATUS_OK) {
		smb_fail(r, status);
	} else {
		commands[r->h.command].run(r);
	}
}

static void part_end(struct smb_chain *ch)
{
	struct smb_request *r = &ch->request;
	if (!ch->conn->closed)
		part_finish(r);
	if (r->h.command == SMB2_CREATE)
		ch->related_status = STATUS_IS_ERROR(r->status) ? r->status : STATUS_OK;
	if (r->open)
		smb_open_unref(r->open);
	if (r->tree)
		smb_tree_unref(r->tree);
	if (r->session)
		smb_session_unref(r->session);
	arena_fini(&r->arena);
	ch->begun = false;
	ch->at = r->h.next ? ch->at + r->h.next : ch->message.len;
}

/* ---- chains ---- */

static void chain_free(struct smb_chain *ch)
{
	struct smb_conn *c = ch->conn;
	if (ch->prev)
		ch->prev->next = ch->next;
	else
		c->chains = ch->next;
	if (ch->next)
		ch->next->prev = ch->prev;
	c->chain_count--;
	c->under_way_bytes -= ch->weight_bytes;
	if (ch->last_session)
		smb_session_unref(ch->last_session);
	if (ch->encrypted)
		smb_session_unref(ch->encrypted);
	buf_fini(&ch->out);
	slabs_give(&c->sl->slabs, ch->memory, ch->memory_bytes);
	free(ch);
	smb_conn_check_reap(c);
}

static void chain_run(struct smb_chain *ch)
{
	struct smb_conn *c = ch->conn;
	ch->running = true;
	for (;;) {
		if (ch->begun && !ch->request.answered) {
			ch->running = false;
			return; /* it goes on later */
		}
		if (ch->begun)
			part_end(ch);
		if (c->closed || ch->stripped || ch->at >= ch->message.len)
			break;
		part_begin(ch);
	}
	if (!c->closed)
		out_send(ch);
	if (ch->stripped) /* somebody is between us, or the client is at fault: it is told, and nothing more is heard */
		smb_conn_close(c);
	chain_free(ch);
	smb_conn_count(c);
	smb_conn_resume(c);
}

static void chain_start(struct smb_conn *c, char *memory, size_t memory_bytes, struct slice message,
			struct smb_session *encrypted)
{
	struct smb_chain *ch = calloc(1, sizeof *ch);
	if (!ch) {
		slabs_give(&c->sl->slabs, memory, memory_bytes);
		smb_conn_close(c);
		return;
	}
	ch->conn = c;
	ch->memory = memory;
	ch->memory_bytes = memory_bytes;
	ch->message = message;
	ch->encrypted = encrypted;
	ch->file_id = SMB2_FILE_ID_NONE;
	if (encrypted)
		smb_session_ref(encrypted);
	out_begin(ch);
	ch->next = c->chains;
	if (c->chains)
		c->chains->prev = ch;
	c->chains = ch;
	c->chain_count++;
	ch->weight_bytes = message.len;
	c->under_way_bytes += message.len;
	alone_note(c->sl, c);
	chain_run(ch);
}

static void receive_encrypted(struct smb_conn *c, char *memory, size_t len)
{
	struct smb2_transform t;
	struct smb_session *s = NULL;
	if (smb2_transform_parse(slice_make(memory, len), &t) == ERR_OK)
		s = smb_session_find(c, t.session_id);
	if (!s || !protect_can_encrypt(s->protect) || !protect_decrypt(s->protect, &t, memory)) {
		slabs_give(&c->sl->slabs, memory, len);
		smb_conn_close(c);
		return;
	}
	chain_start(c, memory, len, slice_make(memory + SMB2_TRANSFORM_BYTES, t.size), s);
}

void smb_chain_receive(struct smb_conn *c, char *memory, size_t len)
{
	struct slice message = slice_make(memory, len);
	switch (smb2_message_kind(message)) {
	case SMB2_MESSAGE_PLAIN:
		chain_start(c, memory, len, message, NULL);
		return;
	case SMB2_MESSAGE_TRANSFORM:
		receive_encrypted(c, memory, len);
		return;
	case SMB2_MESSAGE_SMB1:
		if (!c->negotiated && !c->smb1_seen && smb2_smb1_offers_smb2(message))
			smb_negotiate_smb1(c);
		else
			smb_conn_close(c);
		break;
	default:
		smb_conn_close(c);
	}
	slabs_give(&c->sl->slabs, memory, len);
}

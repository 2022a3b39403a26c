/* SPDX-License-Identifier: Apache-2.0
 * The life of a request as request.h tells it, without a socket: a connection (conn.c) or a batch gives it a head and a
 * body and gets an answer. Whatever waits (a commit, a worker, parts of a batch) parks the exchange and comes back to
 * its loop. */
#include "rest/core/conn/driver.h"

#include <assert.h>

#include "rest/core/body_checks.h"
#include "rest/core/conn/exchange_int.h"
#include "rest/core/kit/inject.h"
#include "rest/core/service.h"

static void step_add(struct request *r, struct step step)
{
	assert(r->step_count < REQUEST_STEPS_MAX);
	r->steps[r->step_count++] = step;
}

void request_step_read(struct request *r, struct slice partition, apply_fn *apply)
{
	step_add(r, (struct step){ .kind = STEP_READ, .partition = partition, .apply = apply });
}

void request_step_read_points(struct request *r, struct slice partition, apply_fn *apply)
{
	step_add(r, (struct step){ .kind = STEP_READ_POINTS, .partition = partition, .apply = apply });
}

void request_step_write(struct request *r, struct slice partition, apply_fn *apply)
{
	step_add(r, (struct step){ .kind = STEP_WRITE, .partition = partition, .apply = apply });
}

void request_step_call(struct request *r, enum err (*call)(struct request *))
{
	step_add(r, (struct step){ .kind = STEP_CALL, .call = call });
}

void request_steps_restart(struct request *r)
{
	assert(r->step_next == r->step_count);
	r->step_next = r->step_count = 0;
}

void request_steps_clear(struct request *r)
{
	r->step_next = r->step_count = 0;
}

void request_suspend(struct request *r)
{
	assert(!r->suspended);
	r->suspended = true;
}

struct io_loop *request_loop(struct request *r)
{
	return exchange_of(r)->rl->loop;
}

void request_step_work(struct request *r, enum err (*call)(struct request *))
{
	step_add(r, (struct step){ .kind = STEP_WORK, .call = call });
}

/* Nothing left to do but the answer: that of the worker that comes by. */
static enum err nothing(struct request *r)
{
	(void)r;
	return ERR_OK;
}

void request_step_format(struct request *r)
{
	request_step_work(r, nothing);
}

uint64_t request_read_deadline_ns(const struct request *r)
{
	return ((const struct exchange *)r)->long_work ? 0 : base_monotonic_ns() + LIMIT_LOOP_READ_NS;
}

void request_pin(struct request *r)
{
	assert(r->response.pin == 0);
	r->response.pin = extent_pin(r->server->store);
}

/* After these a commit did certainly not happen; after others it may have, and what it would name must stay. */
static bool surely_not_committed(enum err e)
{
	return e != ERR_OK && e != ERR_UNKNOWN && e != ERR_IO && e != ERR_STOPPED;
}

/* An answer in the origin of the admin page: what is stored here is never a document of that origin, and how a query
 * was planned is told. */
static void decorate_vouched(struct request *r)
{
	response_header(r, "X-Content-Type-Options", SLICE("nosniff"));
	response_header(r, "Content-Security-Policy", SLICE("sandbox; default-src 'none'"));
	if (slice_is_set(r->log_note))
		response_header(r, "x-zaffre-note", r->log_note);
}

static enum driver_state driver_finish(struct exchange *ex, enum err e)
{
	struct request *r = &ex->req;
	exchange_enter(ex, REQUEST_DONE);
	if (e == ERR_OK && r->op && !ex->formatted)
		e = r->handler->format(r);
	if (e == ERR_OK && r->structured_answer)
		e = response_structure(ex);
	if (e == ERR_OK && (!buf_ok(&r->response.headers) || !buf_ok(&r->response.body)))
		e = ERR_NO_MEMORY;
	if (r->login_failed && !r->denied) { /* a login in the body, of the admin page */
		r->denied = true;
		ex->answer_delay_ms = access_slow_down(r);
	}
	ex->error = e;
	if (e != ERR_OK)
		error_format(ex);
	const struct rest_service *s = rest_service_of(r);
	if (slice_is_set(r->account) && s->decorate)
		s->decorate(r);
	if (slice_is_set(r->vouched_account))
		decorate_vouched(r);
	return DRIVER_DONE;
}

enum driver_state driver_fail(struct exchange *ex, enum err e)
{
	assert(ex->pending == 0 && e != ERR_OK);
	return driver_finish(ex, e);
}

static enum driver_state driver_steps(struct exchange *ex);

/* A step failed: the handler may know what to do about it. */
static enum driver_state driver_refused(struct exchange *ex, enum err e)
{
	struct request *r = &ex->req;
	if (r->handler->refused)
		e = r->handler->refused(r, e);
	return e == ERR_OK ? driver_steps(ex) : driver_finish(ex, e);
}

/* On with the steps, or with this error of one; a failed assert on the way tells which request it was. */
static enum driver_state driver_go(struct exchange *ex, enum err e)
{
	struct panic_subject before = panic_subject_set(exchange_describe, ex);
	enum driver_state state = e == ERR_OK ? driver_steps(ex) : driver_refused(ex, e);
	panic_subject_restore(before);
	return state;
}

void request_resume(struct request *r, enum err e)
{
	struct exchange *ex = exchange_of(r);
	assert(r->suspended && ex->pending > 0);
	r->suspended = false;
	ex->pending--;
	ex->advanced(ex, driver_go(ex, e));
}

static void driver_woken(struct io_task *t)
{
	struct exchange *ex = io_container_of(t, struct exchange, wake);
	enum err e = ex->async_error;
	MAGIC_CHECK(ex, EXCHANGE_MAGIC);
	assert(ex->state == REQUEST_PARKED && ex->pending > 0);
	ex->pending--;
	if (e == ERR_OK)
		ex->write_done = true;
	else if (!surely_not_committed(e))
		ex->write_uncertain = true;
	ex->advanced(ex, driver_go(ex, e));
}

/* On the committer's thread. */
static void job_done(struct store_job *job, enum err result)
{
	struct exchange *ex = job->owner;
	ex->async_error = result;
	io_loop_post(ex->rl->loop, &ex->wake);
}

static void step_write(struct exchange *ex, const struct step *s)
{
	ex->job = (struct store_job){
		.partition = s->partition,
		.apply = s->apply,
		.call = ex->req.call,
		.arena = ex->req.arena,
		.done = job_done,
		.owner = ex,
	};
	access_meter(&ex->req, s->partition);
	ex->wake.run = driver_woken;
	ex->pending++;
	/* The committer may be done before this returns: the exchange is not ours any more. */
	store_write(ex->req.server->store, &ex->job);
}

/* ---- on a worker ---- */

static const struct exchange *exchange_root(const struct exchange *ex)
{
	while (ex->req.parent)
		ex = (const struct exchange *)ex->req.parent;
	return ex;
}

bool request_is_abandoned(const struct request *r)
{
	return atomic_load_explicit(&exchange_root((const struct exchange *)r)->abandoned, memory_order_relaxed);
}

/* Dropped before it began: nobody reads the answer, it waited too long, or those before it in the queue took the memory
 * that there was when it was let in. What a request has written it finishes. */
static enum err work_refuse(const struct exchange *ex)
{
	if (ex->write_done)
		return ERR_OK;
	if (request_is_abandoned(&ex->req))
		return ERR_STOPPED;
	if (memory_is_short(ex->req.server))
		return ERR_BUSY;
	bool late = base_monotonic_ns() - ex->work_submitted_ns > LIMIT_WORK_WAIT_MS * UINT64_C(1000000);
	return late ? ERR_BUSY : ERR_OK;
}

static enum err work_step(struct request *r, const struct step *s)
{
	struct store *store = r->server->store;
	if (s->call)
		return s->call(r);
	return s->kind == STEP_READ ? store_read(store, s->partition, s->apply, r->call, r->arena)
				    : store_read_points(store, s->partition, s->apply, r->call, r->arena);
}

/* The step it came for, the reads behind it, and the answer if that was all. Calls and writes are the loop's. */
static void step_work_run(struct io_work *w)
{
	struct exchange *ex = io_container_of(w, struct exchange, work);
	struct request *r = &ex->req;
	struct panic_subject before = panic_subject_set(exchange_describe, ex);
	MAGIC_CHECK(ex, EXCHANGE_MAGIC);
	assert(ex->state == REQUEST_PARKED && r->step_next > 0);
	enum err e = work_refuse(ex);
	if (e == ERR_OK)
		e = work_step(r, &r->steps[r->step_next - 1]);
	while (e == ERR_OK && r->step_next < r->step_count && r->steps[r->step_next].kind <= STEP_READ_POINTS)
		e = work_step(r, &r->steps[r->step_next++]);
	if (e == ERR_OK && r->step_next == r->step_count) {
		e = r->handler->format(r);
		ex->formatted = e == ERR_OK;
	}
	memory_count_on_worker(ex);
	ex->async_error = e;
	panic_subject_restore(before);
}

static enum err driver_take_body(struct request *r);

static void body_work_run(struct io_work *w)
{
	struct exchange *ex = io_container_of(w, struct exchange, work);
	struct panic_subject before = panic_subject_set(exchange_describe, ex);
	enum err e = work_refuse(ex);
	ex->async_error = e == ERR_OK ? driver_take_body(&ex->req) : e;
	memory_count_on_worker(ex);
	panic_subject_restore(before);
}

static void work_done(struct io_work *w)
{
	struct exchange *ex = io_container_of(w, struct exchange, work);
	ex->pending--;
	ex->long_work = false;
	ex->req.rng = &ex->rl->rng;
	ex->advanced(ex, driver_go(ex, ex->async_error));
}

bool exchange_waits_in_vain(const struct exchange *ex)
{
	return ex->long_work && !ex->write_done;
}

static enum err work_submit(struct exchange *ex, void (*run)(struct io_work *))
{
	struct request *r = &ex->req;
	if (exchange_root(ex)->peer_ended && !ex->write_done)
		return ERR_BUSY; /* most likely nobody is there to read it */
	struct rng *own = ARENA_NEW(r->arena, struct rng);
	if (!own)
		return ERR_NO_MEMORY;
	rng_init_system(own);
	ex->work = (struct io_work){
		.home = ex->rl->loop, .run = run, .done = work_done, .is_long = true, .owner = r->account_index
	};
	ex->work_submitted_ns = base_monotonic_ns();
	exchange_enter(ex, REQUEST_PARKED);
	r->rng = own; /* the loop's is in use while the worker runs */
	ex->long_work = true;
	enum err e = io_pool_submit(r->server->workers, &ex->work);
	if (e == ERR_OK) {
		ex->pending++;
		return ERR_OK;
	}
	r->rng = &ex->rl->rng;
	ex->long_work = false;
	return e;
}

/* ---- steps ---- */

/* On the loop for a while; ERR_BUDGET: it is to begin again on a worker. */
static enum err step_on_loop(struct exchange *ex, const struct step *s)
{
	struct request *r = &ex->req;
	struct arena_position position = arena_position(r->arena);
	enum err e = s->kind == STEP_CALL ? s->call(r)
					  : store_read_until(r->server->store, s->partition, s->apply, r->call,
							     r->arena, request_read_deadline_ns(r));
	if (e == ERR_BUDGET)
		arena_rewind(r->arena, position);
	return e;
}

static enum driver_state driver_steps(struct exchange *ex)
{
	struct request *r = &ex->req;
	struct store *store = r->server->store;
	exchange_enter(ex, REQUEST_STEPS);
	while (r->step_next < r->step_count) {
		const struct step *s = &r->steps[r->step_next++];
		enum err e = ERR_OK;
		switch (s->kind) {
		case STEP_READ:
			e = step_on_loop(ex, s);
			break;
		case STEP_READ_POINTS:
			e = store_read_points(store, s->partition, s->apply, r->call, r->arena);
			break;
		case STEP_WRITE:
			exchange_enter(ex, REQUEST_PARKED);
			step_write(ex, s);
			return DRIVER_PARKED;
		case STEP_CALL:
			e = step_on_loop(ex, s);
			if (r->children_pending) { /* also those that began before it failed */
				ex->async_error = e;
				exchange_enter(ex, REQUEST_PARKED);
				return DRIVER_PARKED;
			}
			if (r->suspended) {
				assert(e == ERR_OK);
				ex->pending++;
				exchange_enter(ex, REQUEST_PARKED);
				return DRIVER_PARKED;
			}
			break;
		case STEP_WORK:
			e = ERR_BUDGET;
			break;
		}
		if (e == ERR_BUDGET) {
			e = work_submit(ex, step_work_run);
			if (e == ERR_OK)
				return DRIVER_PARKED;
		}
		if (e != ERR_OK)
			return driver_refused(ex, e);
	}
	return driver_finish(ex, ERR_OK);
}

enum driver_state driver_continue(struct exchange *ex)
{
	return driver_go(ex, ex->async_error);
}

enum err body_too_large(struct request *r)
{
	if (r->body_limit_error == ERR_REQUEST_BODY_TOO_LARGE) {
		r->fault.count = 0;
		uint64_t shown = r->body_limit_shown ? r->body_limit_shown : r->body_limit_bytes;
		fault_add(r, "MaxLimit", arena_printf(r->arena, "%llu", (unsigned long long)shown));
	}
	return r->body_limit_error;
}

static enum err check_length(struct request *r)
{
	if (!r->head->chunked && !r->head->has_content_length)
		return ERR_MISSING_CONTENT_LENGTH_HEADER;
	if (r->structured ? r->structured_bytes > r->body_limit_bytes : r->head->content_length > r->body_limit_bytes)
		return body_too_large(r);
	return ERR_OK;
}

/* Getting a message is a write, whatever its method. */
static enum err check_secondary(struct request *r)
{
	if (!r->secondary && !r->read_only)
		return ERR_OK;
	bool writes = r->head->method != HTTP_GET && r->head->method != HTTP_HEAD && r->head->method != HTTP_OPTIONS &&
		      !r->may_be_read;
	for (unsigned i = 0; i < r->step_count; i++)
		writes |= r->steps[i].kind == STEP_WRITE;
	if (!writes)
		return ERR_OK;
	r->fault.message = SLICE("Write operations are not allowed.");
	return ERR_INSUFFICIENT_ACCOUNT_PERMISSIONS;
}

/* What must be waited for is waited for when the body is there. */
static enum err precheck_result(struct request *r, enum err e)
{
	if (e == ERR_OK || e == ERR_BREAK_FIRST)
		return ERR_OK;
	return r->handler->refused ? r->handler->refused(r, e) : e;
}

/* Worth a look before the body comes: what would be in memory anyhow is judged once, by the commit. */
static enum err precheck(struct request *r)
{
	bool large = r->head->chunked || r->head->content_length > store_inline_bytes(r->server->store);
	if (!r->precheck || (!large && !r->head->expect_continue))
		return ERR_OK;
	for (unsigned i = r->step_next; i < r->step_count; i++) {
		const struct step *s = &r->steps[i];
		if (s->kind == STEP_READ || s->kind == STEP_READ_POINTS || s->kind == STEP_WRITE)
			return precheck_result(r,
					       store_read(r->server->store, s->partition, s->apply, r->call, r->arena));
	}
	return ERR_OK;
}

static bool is_health(const struct request *r)
{
	return (r->head->method == HTTP_GET || r->head->method == HTTP_HEAD) &&
	       slice_eq(r->head->path, SLICE("/health"));
}

static enum driver_state answer_health(struct exchange *ex)
{
	struct response *p = &ex->req.response;
	p->status = 200;
	BUF_PUT(&p->body, "{\"status\":\"ok\"}\n");
	response_header(&ex->req, "Content-Type", SLICE("application/json"));
	return driver_finish(ex, ERR_OK);
}

/* Steps 1 to 4 of the life of a request. */
static enum err driver_prepare(struct exchange *ex)
{
	struct request *r = &ex->req;
	if (rest_service_of(r)->redirect)
		TRY(rest_service_of(r)->redirect(r));
	TRY(address_find(r));
	/* Whoever looks after a server that is short of memory must be able to see it. */
	if (!r->parent && memory_is_short(r->server) && r->service != SERVICE_ADMIN)
		return ERR_BUSY;
	TRY(audit_check(ex));
	r->op = op_find(r);
	if (!r->op)
		return route_error(r);
	if (ex->child_allowed && !ex->child_allowed(r->op))
		return ex->child_refused ? ex->child_refused : ERR_INVALID_INPUT;
	if (!r->handler)
		r->handler = r->op->handler;
	enum err e = access_check(r);
	if (e != ERR_OK) {
		r->denied = true;
		ex->answer_delay_ms = access_slow_down(r);
		return e;
	}
	TRY(access_check_quota(r));
	TRY(inject_apply(ex));
	if (!op_is_built(r->op))
		return r->op->handler->parse(r);
	if (rest_service_of(r)->check_request)
		TRY(rest_service_of(r)->check_request(r));
	r->body_limit_bytes = r->op->body_limit_bytes;
	r->body_limit_error = ERR_REQUEST_BODY_TOO_LARGE;
	TRY(check_secondary(r)); /* by its method, before anything is looked up */
	ex->parsed = arena_position(r->arena);
	TRY(r->handler->parse(r));
	TRY(check_secondary(r)); /* by its steps */
	if (r->op->body == BODY_NONE)
		return ERR_OK;
	TRY(check_length(r));
	return precheck(r);
}

static void driver_identify(struct exchange *ex)
{
	struct request *r = &ex->req;
	struct rest_loop *rl = ex->rl;
	exchange_enter(ex, REQUEST_PREPARE);
	MAGIC_CHECK(rl->server, REST_SERVER_MAGIC);
	r->server = rl->server;
	access_take(ex);
	r->arena = &ex->arena;
	r->rng = &rl->rng;
	r->head = &ex->head;
	r->request_id = rng_uuid(&rl->id_rng);
	r->arrival_ticks = clock_now(rl->server->clock);
	r->arrival_ns = base_monotonic_ns();
}

void driver_refuse(struct exchange *ex, enum err e)
{
	driver_identify(ex);
	ex->broken_framing = true;
	driver_finish(ex, e);
}

static enum driver_state driver_start(struct exchange *ex)
{
	struct request *r = &ex->req;
	driver_identify(ex);
	enum err e = driver_prepare(ex);
	/* An account may have a blob or a page of that name: the server's own is what no account's address has. */
	if (e == ERR_RESOURCE_NOT_FOUND && !slice_is_set(r->account) && !r->parent && is_health(r))
		return answer_health(ex);
	if (e != ERR_OK)
		return driver_finish(ex, e);
	if (r->op->body == BODY_NONE)
		return driver_steps(ex);
	exchange_enter(ex, REQUEST_BODY);
	return DRIVER_BODY;
}

enum driver_state driver_begin(struct exchange *ex)
{
	struct panic_subject before = panic_subject_set(exchange_describe, ex);
	enum driver_state state = driver_start(ex);
	panic_subject_restore(before);
	return state;
}

static enum err driver_take_body(struct request *r)
{
	if (r->op->body == BODY_MEMORY)
		TRY(body_check_memory(r));
	return r->handler->parse_body ? r->handler->parse_body(r) : ERR_OK;
}

enum driver_state driver_body_end(struct exchange *ex, enum err e)
{
	struct panic_subject before = panic_subject_set(exchange_describe, ex);
	assert(ex->state == REQUEST_BODY);
	bool is_long = e == ERR_OK && ex->req.handler->parse_body && ex->req.body.len > LIMIT_LOOP_PARSE_BYTES;
	enum driver_state state = DRIVER_PARKED;
	if (is_long)
		e = work_submit(ex, body_work_run);
	else if (e == ERR_OK)
		e = driver_take_body(&ex->req);
	if (e != ERR_OK)
		state = driver_finish(ex, e);
	else if (!is_long)
		state = driver_go(ex, ERR_OK);
	panic_subject_restore(before);
	return state;
}

/* SPDX-License-Identifier: Apache-2.0
 * Starting and stopping: listeners, loop threads, workers. Connections are accepted on loop 0 and handed to the loop
 * that has the fewest.
 *
 * Stopping goes in three steps, so that no connection is handed to a loop that is gone: loop 0 closes the listeners;
 * then every loop drains (idle connections at once, others as their answers go out, by force after drain_ms); a loop
 * ends when it has neither connections nor exchanges left, so a commit that is under way always finds its loop. */
#include "rest/core/server.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include "auth/guard/failures.h"
#include "base/sys/log.h"
#include "base/sys/memory.h"
#include "io/log_writer.h"
#include "rest/core/conn/conn_int.h"
#include "rest/core/kit/inject.h"
#include "rest/core/lease_notes.h"
#include "rest/core/service.h"
#include "wire/xml.h"

enum { LOG_BUF_LIMIT = 1024 * 1024 };

struct stop_listening {
	struct io_task task;
	struct rest_server *server;
	sem_t done;
};

static void listeners_stop(struct io_task *t)
{
	struct stop_listening *stop = io_container_of(t, struct stop_listening, task);
	struct rest_server *s = stop->server;
	for (size_t i = 0; i < s->listener_count; i++)
		io_acceptor_stop(&s->listeners[i].acceptor);
	sem_post(&stop->done);
}

/* ---- loops ---- */

static void loop_before_wait(void *arg)
{
	struct rest_loop *rl = arg;
	if (rl->log.len > 0)
		accesslog_flush(rl);
}

static void *loop_main(void *arg)
{
	struct rest_loop *rl = arg;
	char name[16];
	snprintf(name, sizeof name, "loop-%u", rl->index);
	pthread_setname_np(pthread_self(), name);
	io_loop_run(rl->loop, loop_before_wait, rl);
	return NULL;
}

void rest_loop_check_drained(struct rest_loop *rl)
{
	if (!rl->conns && rl->live_exchanges == 0)
		io_loop_stop(rl->loop);
}

static void drain_timed_out(struct io_timer *t)
{
	struct rest_loop *rl = io_container_of(t, struct rest_loop, drain_timer);
	conn_drain_all(rl, true);
}

static void drain_begin(struct io_task *t)
{
	struct rest_loop *rl = io_container_of(t, struct rest_loop, drain_task);
	uint64_t drain_ms =
		rl->server->config.timeouts.drain_ms ? rl->server->config.timeouts.drain_ms : LIMIT_DRAIN_MS;
	rl->draining = true;
	io_timer_init(&rl->drain_timer, drain_timed_out);
	io_timer_set(rl->loop, &rl->drain_timer, io_loop_now_ms(rl->loop) + drain_ms);
	conn_drain_all(rl, false);
	rest_loop_check_drained(rl);
}

static void loop_free(struct rest_loop *rl)
{
	if (!rl)
		return;
	exchange_pool_fini(rl);
	access_use_free(rl->access_use);
	buf_fini(&rl->log);
	io_loop_free(rl->loop);
	metrics_loop_fini(&rl->metrics);
	rl->magic = 0;
	free(rl);
}

static enum err loop_new(struct rest_server *s, unsigned index, struct rest_loop **ret)
{
	struct rest_loop *rl = calloc(1, sizeof *rl);
	if (!rl)
		return ERR_NO_MEMORY;
	enum err e = metrics_loop_init(&rl->metrics, s);
	if (e == ERR_OK)
		e = io_loop_new(&rl->loop);
	if (e != ERR_OK) {
		metrics_loop_fini(&rl->metrics);
		free(rl);
		return e;
	}
	rl->magic = REST_LOOP_MAGIC;
	rl->server = s;
	rl->index = index;
	rng_init_system(&rl->rng);
	rng_init_seed(&rl->id_rng, rng_u64(&rl->rng));
	buf_init(&rl->log, LOG_BUF_LIMIT);
	e = access_use_new(&s->first_access, &rl->access_use);
	if (e != ERR_OK) {
		loop_free(rl);
		return e;
	}
	rl->drain_task.run = drain_begin;
	rl->evict_task.run = conn_evict_task;
	rl->shed_task.run = conn_shed_task;
	*ret = rl;
	return ERR_OK;
}

/* ---- start and stop ---- */

static int open_log_file(const char *path)
{
	return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
}

static enum err open_log(struct rest_server *s, struct buf *message)
{
	const char *target = s->config.access_log;
	if (!target || !*target)
		return ERR_OK;
	int fd = strcmp(target, "-") == 0 ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3) : open_log_file(target);
	s->log_for_people = fd >= 0 && isatty(fd);
	enum err e = fd >= 0 ? io_log_writer_new(fd, &s->access_log) : ERR_IO;
	if (e != ERR_OK)
		buf_printf(message, "cannot open the access log %s: %s", target, strerror(errno));
	return e;
}

static enum err open_listeners(struct rest_server *s, struct buf *message)
{
	s->listeners = calloc(s->config.listener_count ? s->config.listener_count : 1, sizeof *s->listeners);
	if (!s->listeners)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < s->config.listener_count; i++) {
		const struct rest_listener *c = &s->config.listeners[i];
		struct rest_listener_state *l = &s->listeners[i];
		int fd;
		listener_init(l, s, c);
		if (c->path) {
			/* Who starts us has a way without it: no reason not to serve. */
			if (io_listen_path(c->path, &fd, message) != ERR_OK) {
				log_warn("%.*s: commands for the running server do not work",
					 SLICE_FMT(buf_slice(message)));
				buf_clear(message);
				continue;
			}
			io_acceptor_open(&l->acceptor, fd);
			s->listener_count++;
			continue;
		}
		s->listener_count++;
		size_t said = message->len;
		enum err e = io_listen(c->host ? c->host : "127.0.0.1", c->port, &fd, &l->port, message);
		if (e != ERR_OK && c->optional) {
			message->len = said;
			l->port = 0;
			continue;
		}
		TRY(e);
		io_acceptor_open(&l->acceptor, fd);
	}
	return ERR_OK;
}

static enum err services_start(struct rest_server *s)
{
	for (size_t i = 0; i < SERVICE_COUNT; i++)
		if (s->config.services[i]->start)
			TRY(s->config.services[i]->start(s, &s->service_state[i]));
	return ERR_OK;
}

static void services_stop(struct rest_server *s)
{
	for (size_t i = 0; i < SERVICE_COUNT; i++)
		if (s->config.services[i]->stop)
			s->config.services[i]->stop(s->service_state[i]);
}

/* Somebody can ask for samples: by the explorer, not through the unix socket. */
static bool has_admin_listener(const struct rest_server *s)
{
	for (size_t i = 0; i < s->config.listener_count; i++)
		if (s->config.listeners[i].service == SERVICE_ADMIN && !s->config.listeners[i].path)
			return true;
	return false;
}

static enum err start_threads(struct rest_server *s)
{
	unsigned cores = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
	unsigned loops = s->config.loops ? s->config.loops : cores,
		 workers = s->config.workers ? s->config.workers : cores;
	if (loops > LIMIT_LOOPS)
		loops = LIMIT_LOOPS;
	assert(loops > 0);
	if (workers < 2)
		workers = 2;
	TRY(io_pool_new(workers, &s->workers));
	TRY(hasher_new((cores + 1) / 2, &s->hasher));
	TRY(services_start(s));
	s->loops = calloc(loops, sizeof(struct rest_loop *));
	if (!s->loops)
		return ERR_NO_MEMORY;
	for (unsigned i = 0; i < loops; i++) {
		TRY(loop_new(s, i, &s->loops[i]));
		s->loop_count++;
	}
	if (has_admin_listener(s))
		TRY(samples_start(&s->samples, s));
	for (size_t i = 0; i < s->listener_count; i++)
		TRY(io_acceptor_start(&s->listeners[i].acceptor, s->loops[0]->loop));
	for (size_t i = 0; i < loops; i++) {
		if (pthread_create(&s->loops[i]->thread, NULL, loop_main, s->loops[i]) != 0)
			return ERR_NO_MEMORY;
		s->loops[i]->started = true;
	}
	return ERR_OK;
}

static void server_free(struct rest_server *s)
{
	services_stop(s);
	io_pool_free(s->workers);
	hasher_free(s->hasher);
	for (size_t i = 0; i < s->loop_count; i++)
		loop_free(s->loops[i]);
	free(s->loops);
	for (size_t i = 0; i < s->listener_count; i++)
		io_acceptor_fini(&s->listeners[i].acceptor);
	free(s->listeners);
	live_fini(&s->live);
	samples_fini(&s->samples);
	inject_free(s->inject);
	notes_free(s->lease_notes);
	io_log_writer_free(s->access_log);
	access_release(&s->first_access);
	s->magic = 0;
	free(s);
}

enum err rest_server_start(const struct rest_config *config, struct rest_server **ret, struct buf *ret_message)
{
	struct rest_server *s = calloc(1, sizeof *s);
	if (s)
		s->magic = REST_SERVER_MAGIC;
	if (!s)
		return ERR_NO_MEMORY;
	s->config = *config;
	s->store = config->store;
	s->clock = config->clock ? config->clock : store_clock(config->store);
	s->start_ticks = clock_unmoved(s->clock);
	if (config->any) {
		s->first_access.any_find = config->any->any_find;
		s->first_access.any_make = config->any->any_make;
		s->first_access.any_count = config->any->any_count;
		s->first_access.any_at = config->any->any_at;
		s->first_access.any_arg = config->any->any_arg;
	}
	s->first_access.accounts = config->accounts;
	s->first_access.account_count = config->account_count;
	s->first_access.bearer = config->bearer;
	access_init(&s->first_access);
	struct rng rng;
	rng_init_system(&rng);
	s->addresses.seed = rng_u64(&rng);
	memory_init(s);
	live_init(&s->live);
	samples_init(&s->samples);
	signal(SIGPIPE, SIG_IGN); /* TLS writes through OpenSSL, which cannot ask for MSG_NOSIGNAL */
	io_raise_fd_limit();
	s->inject = config->kit ? inject_new() : NULL;
	s->lease_notes = notes_new(); /* without it nobody is told who holds a lease */
	enum err e = config->kit && !s->inject ? ERR_NO_MEMORY : open_log(s, ret_message);
	if (e == ERR_OK)
		e = open_listeners(s, ret_message);
	if (e == ERR_OK) {
		e = start_threads(s);
		if (e != ERR_OK)
			buf_printf(ret_message,
				   "cannot start the server's threads: out of memory, threads or descriptors");
	}
	if (e == ERR_OK) {
		*ret = s;
		return ERR_OK;
	}
	for (size_t i = 0; i < s->loop_count; i++)
		if (s->loops[i] && s->loops[i]->started) {
			io_loop_stop(s->loops[i]->loop);
			pthread_join(s->loops[i]->thread, NULL);
		}
	server_free(s);
	return e;
}

void rest_server_stop(struct rest_server *s)
{
	if (!s)
		return;
	MAGIC_CHECK(s, REST_SERVER_MAGIC);
	atomic_store(&s->ending, true);
	struct stop_listening stop = { .task.run = listeners_stop, .server = s };
	sem_init(&stop.done, 0, 0);
	io_loop_post(s->loops[0]->loop, &stop.task);
	while (sem_wait(&stop.done) != 0 && errno == EINTR)
		;
	sem_destroy(&stop.done);
	for (size_t i = 0; i < s->loop_count; i++)
		io_loop_post(s->loops[i]->loop, &s->loops[i]->drain_task);
	for (size_t i = 0; i < s->loop_count; i++)
		pthread_join(s->loops[i]->thread, NULL);
	server_free(s);
}

bool rest_server_is_ending(const struct rest_server *s)
{
	return atomic_load(&s->ending);
}

size_t rest_server_loops(const struct rest_server *s, struct io_loop **ret, size_t most)
{
	MAGIC_CHECK(s, REST_SERVER_MAGIC);
	size_t count = s->loop_count < most ? s->loop_count : most;
	for (size_t i = 0; i < count; i++)
		ret[i] = s->loops[i]->loop;
	return count;
}

uint16_t rest_server_port(const struct rest_server *s, size_t i)
{
	return s->listeners[i].port;
}

enum err rest_server_reopen_log(struct rest_server *s, struct buf *ret_message)
{
	const char *target = s->config.access_log;
	if (!s->access_log || strcmp(target, "-") == 0)
		return ERR_OK;
	int fd = open_log_file(target);
	if (fd < 0) {
		buf_printf(ret_message, "cannot open the access log %s: %s", target, strerror(errno));
		return ERR_IO;
	}
	io_log_writer_reopen(s->access_log, fd);
	return ERR_OK;
}

void rest_server_stats(const struct rest_server *s, struct rest_stats *ret)
{
	MAGIC_CHECK(s, REST_SERVER_MAGIC);
	int64_t held = atomic_load_explicit(&s->memory.held_bytes, memory_order_relaxed);
	struct rest_stats t = { .connections = rest_server_connections(s),
				.memory_bytes = held > 0 ? (uint64_t)held : 0,
				.memory_limit = (uint64_t)s->memory.limit_bytes,
				.work_waiting = io_pool_waiting(s->workers),
				.start_s = (s->start_ticks - TICKS_UNIX_EPOCH) / TICKS_PER_SECOND,
				.resident_bytes = base_resident_bytes() };
	const struct failures *f = s->config.failures;
	for (size_t i = 0; f && i < FAILURES_DOORS; i++) {
		t.failed_logins += atomic_load_explicit(&f->total[i], memory_order_relaxed);
		t.failed_logins_slowed += atomic_load_explicit(&f->slowed[i], memory_order_relaxed);
	}
	if (s->config.audit)
		io_audit_stats(s->config.audit, &t.audit_lines, &t.audit_refused);
	for (size_t i = 0; i < s->loop_count; i++) {
		struct rest_loop *rl = s->loops[i];
		t.requests += atomic_load_explicit(&rl->requests, memory_order_relaxed);
		t.aborted += atomic_load_explicit(&rl->metrics.aborted, memory_order_relaxed);
	}
	*ret = t;
}

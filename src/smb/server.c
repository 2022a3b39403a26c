/* SPDX-License-Identifier: Apache-2.0
 * Starting and stopping: the listener and the loops, which are the front end's own. Connections are accepted on loop 0
 * and handed to the loop that has the fewest. A stop closes the listener, then every connection; the loops end when
 * none of them has connections or work under way, so a commit always finds its loop. */
#include "smb/smb_int.h"

#include <assert.h>
#include <errno.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/sys/log.h"

struct stop_listening {
	struct io_task task;
	struct smb_server *server;
	sem_t done;
};

static struct smb_loop *least_busy(struct smb_server *s)
{
	struct smb_loop *best = s->loops[0];
	for (size_t i = 1; i < s->loop_count; i++)
		if (atomic_load_explicit(&s->loops[i]->conn_count, memory_order_relaxed) <
		    atomic_load_explicit(&best->conn_count, memory_order_relaxed))
			best = s->loops[i];
	return best;
}

static void adopt_task(struct io_task *t)
{
	smb_conn_adopt(io_container_of(t, struct smb_conn, task));
}

static size_t connections_max(const struct smb_server *s)
{
	return s->config.connections_max ? s->config.connections_max : LIMIT_CONNECTIONS;
}

static void hand_over(struct smb_server *s, int fd, const char *address)
{
	size_t most = s->config.connections_per_address ? s->config.connections_per_address : connections_max(s) / 2;
	unsigned slot;
	int one = 1;
	if (!io_addresses_take(&s->addresses, address, most, &slot)) {
		close(fd);
		return;
	}
	struct smb_conn *c = calloc(1, sizeof *c);
	/* A client that vanished must not keep its locks: the kernel asks whether it is still there. */
	(void)!setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
	if (!c)
		close(fd);
	if (!c || io_stream_init(&c->stream, fd, NULL) != ERR_OK) {
		free(c);
		io_addresses_give(&s->addresses, slot);
		return;
	}
	c->address_slot = slot;
	c->sl = least_busy(s);
	snprintf(c->address, sizeof c->address, "%s", address);
	snprintf(c->address_and_port, sizeof c->address_and_port, strchr(address, ':') ? "[%s]:%u" : "%s:%u", address,
		 io_peer_port(fd));
	atomic_fetch_add_explicit(&c->sl->conn_count, 1, memory_order_relaxed);
	if (io_loop_is_current(c->sl->loop)) {
		smb_conn_adopt(c);
	} else {
		c->task.run = adopt_task;
		io_loop_post(c->sl->loop, &c->task);
	}
}

static bool has_room(struct io_acceptor *a, size_t *ret_connections)
{
	const struct smb_server *s = io_container_of(a, struct smb_server, acceptor);
	size_t n = 0;
	for (size_t i = 0; i < s->loop_count; i++)
		n += atomic_load_explicit(&s->loops[i]->conn_count, memory_order_relaxed);
	*ret_connections = n;
	return n < connections_max(s);
}

static void evict_task(struct io_task *t)
{
	struct smb_loop *sl = io_container_of(t, struct smb_loop, evict_task);
	atomic_store(&sl->evicting, false);
	smb_conn_evict(sl);
}

static void ran_out(struct io_acceptor *a)
{
	struct smb_server *s = io_container_of(a, struct smb_server, acceptor);
	for (size_t i = 0; i < s->loop_count; i++)
		if (!atomic_exchange(&s->loops[i]->evicting, true))
			io_loop_post(s->loops[i]->loop, &s->loops[i]->evict_task);
}

static void take(struct io_acceptor *a, int fd, const char *address)
{
	hand_over(io_container_of(a, struct smb_server, acceptor), fd, address);
}

static void listener_stop(struct io_task *t)
{
	struct stop_listening *stop = io_container_of(t, struct stop_listening, task);
	io_acceptor_stop(&stop->server->acceptor);
	sem_post(&stop->done);
}

/* Loops send each other tasks, so they end together: when the last one has nothing left. */
void smb_loop_check_drained(struct smb_loop *sl)
{
	struct smb_server *s = sl->server;
	if (!sl->draining || sl->drained || sl->conns || sl->work_count > 0)
		return;
	sl->drained = true;
	if (atomic_fetch_sub(&s->busy_loops, 1) == 1)
		for (size_t i = 0; i < s->loop_count; i++)
			io_loop_stop(s->loops[i]->loop);
}

static void drain_begin(struct io_task *t)
{
	struct smb_loop *sl = io_container_of(t, struct smb_loop, drain_task);
	sl->draining = true;
	for (struct smb_conn *c = sl->conns; c; c = c->next)
		smb_conn_close(c);
	smb_loop_check_drained(sl);
}

static void *loop_main(void *arg)
{
	struct smb_loop *sl = arg;
	pthread_setname_np(pthread_self(), "smb");
	io_loop_run(sl->loop, NULL, NULL);
	return NULL;
}

static enum err loop_new(struct smb_server *s, struct smb_loop **ret)
{
	struct smb_loop *sl = calloc(1, sizeof *sl);
	if (!sl)
		return ERR_NO_MEMORY;
	enum err e = io_loop_new(&sl->loop);
	if (e != ERR_OK) {
		free(sl);
		return e;
	}
	sl->server = s;
	rng_init_system(&sl->rng);
	sl->drain_task.run = drain_begin;
	sl->evict_task.run = evict_task;
	*ret = sl;
	return ERR_OK;
}

static enum err start_threads(struct smb_server *s)
{
	unsigned loops = s->config.loops ? s->config.loops : (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
	if (loops > LIMIT_LOOPS)
		loops = LIMIT_LOOPS;
	assert(loops > 0);
	s->loops = calloc(loops, sizeof(struct smb_loop *));
	if (!s->loops)
		return ERR_NO_MEMORY;
	for (unsigned i = 0; i < loops; i++) {
		TRY(loop_new(s, &s->loops[i]));
		s->loop_count++;
	}
	TRY(io_pool_new(loops > 1 ? loops : 2, &s->workers));
	atomic_init(&s->busy_loops, loops);
	rng_bytes(&s->loops[0]->rng, s->guid, sizeof s->guid);
	s->addresses.seed = rng_u64(&s->loops[0]->rng);
	uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	s->memory_limit = (size_t)(s->config.memory_bytes ? s->config.memory_bytes : machine / 4);
	TRY(io_acceptor_start(&s->acceptor, s->loops[0]->loop));
	for (unsigned i = 0; i < loops; i++) {
		if (pthread_create(&s->loops[i]->thread, NULL, loop_main, s->loops[i]) != 0)
			return ERR_NO_MEMORY;
		s->loops[i]->started = true;
	}
	return ERR_OK;
}

static void server_free(struct smb_server *s)
{
	io_pool_free(s->workers); /* the loops have ended, so nothing is queued */
	for (size_t i = 0; s->loops && i < s->loop_count; i++) {
		assert(s->loops[i]);
		io_loop_free(s->loops[i]->loop);
		slabs_fini(&s->loops[i]->slabs);
		free(s->loops[i]);
	}
	free(s->loops);
	io_acceptor_fini(&s->acceptor);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

enum err smb_server_start(const struct smb_config *config, struct smb_server **ret, struct buf *ret_message)
{
	static const struct io_acceptor_ops ops = { has_room, take, ran_out };
	struct smb_server *s = calloc(1, sizeof *s);
	int fd;
	if (!s)
		return ERR_NO_MEMORY;
	s->config = *config;
	io_acceptor_init(&s->acceptor, &ops);
	pthread_mutex_init(&s->lock, NULL);
	enum err e = io_listen(config->host, config->port, &fd, &s->port, ret_message);
	if (e == ERR_OK) {
		io_acceptor_open(&s->acceptor, fd);
		e = start_threads(s);
		if (e != ERR_OK)
			buf_printf(ret_message, "cannot start the SMB threads: out of memory, threads or descriptors");
	}
	if (e == ERR_OK) {
		*ret = s;
		return ERR_OK;
	}
	assert(s->loops || !s->loop_count);
	for (size_t i = 0; i < s->loop_count; i++)
		if (s->loops[i] && s->loops[i]->started) {
			io_loop_stop(s->loops[i]->loop);
			pthread_join(s->loops[i]->thread, NULL);
		}
	server_free(s);
	return e;
}

void smb_server_stop(struct smb_server *s)
{
	if (!s)
		return;
	struct stop_listening stop = { .task.run = listener_stop, .server = s };
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

size_t smb_server_loops(const struct smb_server *s, struct io_loop **ret, size_t most)
{
	size_t count = s->loop_count < most ? s->loop_count : most;
	for (size_t i = 0; i < count; i++)
		ret[i] = s->loops[i]->loop;
	return count;
}

uint16_t smb_server_port(const struct smb_server *s)
{
	return s->port;
}

/* SPDX-License-Identifier: Apache-2.0
 * Listeners: accepting on loop 0, handing each connection to the loop that has the fewest. Slots are bounded, as a
 * whole and for an address; when they run out, the connections that were idle for longest make room. */
#include <unistd.h>

#include "rest/core/conn/conn_int.h"

/* ---- who gets a slot ---- */

static size_t connections_max(const struct rest_server *s)
{
	return s->config.connections_max ? s->config.connections_max : LIMIT_CONNECTIONS;
}

static bool address_take(struct rest_server *s, const char *address, unsigned *ret_slot)
{
	size_t most = s->config.connections_per_address ? s->config.connections_per_address : connections_max(s) / 2;
	return io_addresses_take(&s->addresses, address, most, ret_slot);
}

/* Slots ran out: every loop closes those of its connections that were idle for longest. */
static void evict_idle(struct rest_server *s)
{
	for (size_t i = 0; i < s->loop_count; i++)
		if (!atomic_exchange(&s->loops[i]->evicting, true))
			io_loop_post(s->loops[i]->loop, &s->loops[i]->evict_task);
}

/* ---- accepting, on loop 0 ---- */

static struct rest_loop *least_busy(struct rest_server *s)
{
	struct rest_loop *best = s->loops[0];
	for (size_t i = 1; i < s->loop_count; i++)
		if (atomic_load_explicit(&s->loops[i]->conn_count, memory_order_relaxed) <
		    atomic_load_explicit(&best->conn_count, memory_order_relaxed))
			best = s->loops[i];
	return best;
}

static void adopt_task(struct io_task *t)
{
	struct conn *c = io_container_of(t, struct conn, task);
	conn_adopt(c->rl, c);
}

static void hand_over(struct rest_listener_state *l, int fd, const char *address)
{
	struct rest_loop *rl = least_busy(l->server);
	unsigned slot;
	if (!address_take(l->server, address, &slot)) {
		close(fd);
		return;
	}
	struct conn *c = calloc(1, sizeof *c);
	if (!c)
		close(fd);
	if (!c || io_stream_init(&c->stream, fd, l->tls) != ERR_OK) {
		free(c);
		io_addresses_give(&l->server->addresses, slot);
		return;
	}
	c->rl = rl;
	c->service = l->service;
	c->local = l->local;
	if (l->server->config.trusted_count && !l->local) {
		c->trusted = forwarded_is_trusted(l->server, slice_str(address));
		c->proxy_pending = c->trusted && l->server->config.proxy_protocol;
	}
	c->address_slot = (uint16_t)slot;
	c->address_len = (uint8_t)strlen(address);
	memcpy(c->address, address, c->address_len);
	atomic_fetch_add_explicit(&rl->conn_count, 1, memory_order_relaxed);
	if (io_loop_is_current(rl->loop)) {
		conn_adopt(rl, c);
	} else {
		c->task.run = adopt_task;
		io_loop_post(rl->loop, &c->task);
	}
}

size_t rest_server_connections(const struct rest_server *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->loop_count; i++)
		n += atomic_load_explicit(&s->loops[i]->conn_count, memory_order_relaxed);
	return n;
}

static bool has_room(struct io_acceptor *a, size_t *ret_connections)
{
	struct rest_server *s = io_container_of(a, struct rest_listener_state, acceptor)->server;
	*ret_connections = rest_server_connections(s);
	return *ret_connections < connections_max(s);
}

static void take(struct io_acceptor *a, int fd, const char *address)
{
	hand_over(io_container_of(a, struct rest_listener_state, acceptor), fd, address);
}

static void ran_out(struct io_acceptor *a)
{
	evict_idle(io_container_of(a, struct rest_listener_state, acceptor)->server);
}

void listener_init(struct rest_listener_state *l, struct rest_server *s, const struct rest_listener *config)
{
	static const struct io_acceptor_ops ops = { has_room, take, ran_out };
	l->server = s;
	l->service = config->service;
	l->local = config->path != NULL;
	l->tls = config->tls;
	io_acceptor_init(&l->acceptor, &ops);
}

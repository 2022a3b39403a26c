/* SPDX-License-Identifier: Apache-2.0
 * A ring under one lock: lease operations are rare beside what leases protect. */
#include "rest/core/lease_notes.h"

#include <pthread.h>

#include "rest/core/conn/exchange_int.h"
#include "rest/core/op.h"

struct lease_notes {
	pthread_mutex_t lock;
	uint64_t count;
	struct lease_note ring[LEASE_NOTES];
};

struct lease_notes *notes_new(void)
{
	struct lease_notes *n = calloc(1, sizeof *n);
	if (n)
		pthread_mutex_init(&n->lock, NULL);
	return n;
}

void notes_free(struct lease_notes *n)
{
	if (!n)
		return;
	pthread_mutex_destroy(&n->lock);
	free(n);
}

static void keep(char *dst, size_t room, struct slice text)
{
	size_t n = text.len < room - 1 ? text.len : room - 1;
	if (n)
		memcpy(dst, text.ptr, n);
	dst[n] = 0;
}

static struct lease_note *find(struct lease_notes *n, struct slice id)
{
	for (size_t i = 0; i < LEASE_NOTES; i++)
		if (slice_eq(id, slice_str(n->ring[i].id)))
			return &n->ring[i];
	return NULL;
}

/* The value of the header that the answer has. */
static struct slice answered_id(const struct response *p)
{
	static const char name[] = "x-ms-lease-id: ";
	const char *at = p->headers.len ? memmem(p->headers.ptr, p->headers.len, name, sizeof name - 1) : NULL;
	if (!at)
		return SLICE_NONE;
	struct slice rest =
		slice_make(at + sizeof name - 1, (size_t)(p->headers.ptr + p->headers.len - at) - sizeof name + 1);
	return slice_first(rest, slice_find_byte(rest, '\r'));
}

void notes_take(struct exchange *ex)
{
	const struct request *r = &ex->req;
	struct lease_notes *n = r->server->lease_notes;
	struct slice id;
	if (ex->error != ERR_OK || !r->op || !r->op->comp || strcmp(r->op->comp, "lease") != 0 || !n)
		return;
	struct slice action = request_header(r, "x-ms-lease-action");
	/* A lease that goes has no holder; breaking one makes nobody its holder. */
	if (slice_eq_nocase(action, SLICE("release")) || slice_eq_nocase(action, SLICE("break")) ||
	    !slice_is_set(id = answered_id(&r->response)) || id.len != UUID_TEXT_BYTES)
		return;
	pthread_mutex_lock(&n->lock);
	struct lease_note *note = find(n, id);
	if (!note)
		note = &n->ring[n->count++ % LEASE_NOTES];
	keep(note->id, sizeof note->id, id);
	keep(note->action, sizeof note->action, action);
	keep(note->ip, sizeof note->ip, r->client_ip);
	keep(note->client, sizeof note->client, r->client_request_id);
	keep(note->agent, sizeof note->agent, request_header(r, "user-agent"));
	note->ticks = r->arrival_ticks;
	pthread_mutex_unlock(&n->lock);
}

bool notes_find(const struct rest_server *s, struct slice id, struct lease_note *ret)
{
	struct lease_notes *n = s->lease_notes;
	if (!n)
		return false;
	pthread_mutex_lock(&n->lock);
	const struct lease_note *note = find(n, id);
	if (note)
		*ret = *note;
	pthread_mutex_unlock(&n->lock);
	return note != NULL;
}

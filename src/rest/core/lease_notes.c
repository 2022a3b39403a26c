/* SPDX-License-Identifier: Apache-2.0
 * A ring and a table under one lock: lease operations are rare beside what leases protect. */
#include "rest/core/lease_notes.h"

#include <pthread.h>

#include "rest/core/conn/exchange_int.h"
#include "rest/core/op.h"

const char *const lease_kind_word[LEASE_KINDS] = { "container", "blob", "share", "file" };

enum { TABLE_FIRST = 256, LONGEST_S = 60 };

/* A lease that is held, by a hash of what it is on. */
struct held_lease {
	uint64_t object; /* 0: none */
	uint64_t end_ticks;
	uint8_t kind;
	int16_t duration_s; /* -1: infinite */
};

struct lease_notes {
	pthread_mutex_t lock;
	uint64_t count;
	struct lease_note ring[LEASE_NOTES];
	/* Open addressing; a power of two, at most half of it used. */
	struct held_lease *held;
	size_t held_cap, held_count;
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
	free(n->held);
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

/* The value of a header that the answer has; `name` ends with ": ". */
static struct slice answered(const struct response *p, const char *name)
{
	size_t len = strlen(name);
	const char *at = p->headers.len ? memmem(p->headers.ptr, p->headers.len, name, len) : NULL;
	if (!at)
		return SLICE_NONE;
	struct slice rest = slice_make(at + len, (size_t)(p->headers.ptr + p->headers.len - at) - len);
	return slice_first(rest, slice_find_byte(rest, '\r'));
}

/* ---- how many are held ---- */

static uint64_t hash_on(uint64_t hash, struct slice s)
{
	for (size_t i = 0; i < s.len; i++)
		hash = (hash ^ (unsigned char)s.ptr[i]) * UINT64_C(0x100000001b3);
	return (hash ^ 0x100) * UINT64_C(0x100000001b3);
}

static uint64_t object_of(const struct request *r)
{
	uint64_t hash = hash_on(UINT64_C(0xcbf29ce484222325) + (uint64_t)r->service, r->account);
	return hash_on(hash_on(hash, r->container), r->level == LEVEL_OBJECT ? r->object : SLICE("")) | 1;
}

/* Its place, or the empty one where it would be. */
static struct held_lease *held_place(struct held_lease *table, size_t cap, uint64_t object)
{
	size_t at = (object >> 1) & (cap - 1);
	while (table[at].object && table[at].object != object)
		at = (at + 1) & (cap - 1);
	return &table[at];
}

/* The table again without those whose time is over, larger if it would be more than a quarter full. False: no room. */
static bool held_rebuild(struct lease_notes *n, uint64_t now)
{
	size_t alive = 0;
	for (size_t i = 0; i < n->held_cap; i++)
		alive += n->held[i].end_ticks > now;
	size_t cap = n->held_cap ? n->held_cap : TABLE_FIRST;
	while (cap / 4 < alive + 1 && cap < 2 * LEASES_COUNTED)
		cap *= 2;
	struct held_lease *table = alive < cap / 2 ? calloc(cap, sizeof *table) : NULL;
	if (!table)
		return false;
	for (size_t i = 0; i < n->held_cap; i++)
		if (n->held[i].end_ticks > now)
			*held_place(table, cap, n->held[i].object) = n->held[i];
	free(n->held);
	n->held = table;
	n->held_cap = cap;
	n->held_count = alive;
	return true;
}

/* It stays in the table, over. */
static void held_end(struct lease_notes *n, const struct request *r, uint64_t left_s)
{
	if (!n->held_cap)
		return;
	struct held_lease *h = held_place(n->held, n->held_cap, object_of(r));
	uint64_t end_ticks = r->arrival_ticks + left_s * TICKS_PER_SECOND;
	if (h->end_ticks > end_ticks)
		h->end_ticks = end_ticks;
}

/* Acquired, renewed or changed; of the last two the duration is that of before, the longest if that is not known. */
static void held_put(struct lease_notes *n, const struct request *r, bool changed)
{
	int64_t duration = LONGEST_S;
	if (n->held_count >= n->held_cap / 2 && !held_rebuild(n, r->arrival_ticks))
		return;
	struct held_lease *h = held_place(n->held, n->held_cap, object_of(r));
	if (h->object && changed && h->end_ticks > r->arrival_ticks)
		return; /* a change gives no more time */
	if (h->object)
		duration = h->duration_s;
	(void)slice_to_i64(request_header(r, "x-ms-lease-duration"), &duration);
	n->held_count += !h->object;
	h->object = object_of(r);
	h->duration_s = duration < 0 ? -1 : duration > LONGEST_S ? LONGEST_S : (int16_t)duration;
	h->end_ticks = duration < 0 ? TICKS_FOREVER : r->arrival_ticks + (uint64_t)h->duration_s * TICKS_PER_SECOND;
	bool object = r->level == LEVEL_OBJECT;
	h->kind = r->service == SERVICE_FILE ? (object ? LEASE_OF_FILE : LEASE_OF_SHARE)
					     : (object ? LEASE_OF_BLOB : LEASE_OF_CONTAINER);
}

void notes_count(const struct rest_server *s, uint64_t ret[LEASE_KINDS])
{
	struct lease_notes *n = s->lease_notes;
	memset(ret, 0, LEASE_KINDS * sizeof *ret);
	if (!n)
		return;
	uint64_t now = clock_now(s->clock);
	pthread_mutex_lock(&n->lock);
	for (size_t i = 0; i < n->held_cap; i++)
		if (n->held[i].end_ticks > now)
			ret[n->held[i].kind]++;
	pthread_mutex_unlock(&n->lock);
}

/* ---- what requests tell ---- */

/* Released, or broken: then its holder may have some time left. */
static void take_end(struct lease_notes *n, const struct request *r)
{
	uint64_t left_s = 0;
	if (!slice_to_u64(answered(&r->response, "x-ms-lease-time: "), &left_s))
		left_s = 0;
	pthread_mutex_lock(&n->lock);
	held_end(n, r, left_s);
	pthread_mutex_unlock(&n->lock);
}

/* What is deleted is leased by nobody; snapshots never are. */
static void take_delete(struct lease_notes *n, const struct request *r)
{
	if (slice_is_set(request_param(r, "snapshot")) || slice_is_set(request_param(r, "versionid")) ||
	    slice_eq_nocase(request_header(r, "x-ms-delete-snapshots"), SLICE("only")))
		return;
	pthread_mutex_lock(&n->lock);
	if (n->held_count)
		held_end(n, r, 0);
	pthread_mutex_unlock(&n->lock);
}

void notes_take(struct exchange *ex)
{
	const struct request *r = &ex->req;
	struct lease_notes *n = r->server->lease_notes;
	struct slice id;
	if (ex->error != ERR_OK || !r->op || !n)
		return;
	if (r->head->method == HTTP_DELETE && (r->level == LEVEL_OBJECT || r->level == LEVEL_CONTAINER)) {
		take_delete(n, r);
		return;
	}
	if (!r->op->comp || strcmp(r->op->comp, "lease") != 0)
		return;
	struct slice action = request_header(r, "x-ms-lease-action");
	/* A lease that goes has no holder; breaking one makes nobody its holder. */
	if (slice_eq_nocase(action, SLICE("release")) || slice_eq_nocase(action, SLICE("break"))) {
		take_end(n, r);
		return;
	}
	if (!slice_is_set(id = answered(&r->response, "x-ms-lease-id: ")) || id.len != UUID_TEXT_BYTES)
		return;
	pthread_mutex_lock(&n->lock);
	held_put(n, r, slice_eq_nocase(action, SLICE("change")));
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

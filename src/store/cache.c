/* SPDX-License-Identifier: Apache-2.0
 * Shards by hash; in each a chained table and one ring of entries for second-chance eviction. A shard's lock is held
 * for a lookup and a copy, never over an engine call. Invariant: a key in the shard's flux list has no entry. */
#include "store/cache.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum {
	CACHE_SHARDS = 16,
	CACHE_BUCKETS = 16384, /* per shard: 40 MiB of 300-byte records are 9,000 a shard; one that is not there costs
				  no walk */
	CACHE_FLUX_MAX = 64,   /* more keys of one group in one shard: the whole shard counts as in flux */
	CACHE_ENTRY_SHARE = 8, /* an entry is at most this part of its shard */
	CACHE_ASKED = 8192,    /* per shard: what was asked for lately and is not here */
};

struct entry {
	struct entry *next;	     /* in the bucket */
	struct entry *newer, *older; /* in the ring */
	uint64_t hash;
	uint32_t partition_len, key_len, value_len;
	bool exists;
	bool touched;
	char bytes[]; /* partition, key, value */
};

struct shard {
	_Alignas(64) pthread_mutex_t lock;
	struct entry *bucket[CACHE_BUCKETS];
	struct entry *hand; /* the oldest; the ring goes on through newer */
	size_t bytes, limit_bytes;
	uint64_t ends;			/* flux ends seen: the ticket */
	size_t flux_count, flux_listed; /* begun and not ended; of these in the list */
	bool flux_overflow;		/* more than the list holds: every key counts as in flux */
	struct {
		uint64_t hash;
		bool was_hot;
	} flux[CACHE_FLUX_MAX];
	uint64_t hits, misses;
	uint16_t asked[CACHE_ASKED]; /* part of a hash each */
};

struct cache {
	struct shard shard[CACHE_SHARDS];
};

struct cache *cache_new(size_t limit_bytes)
{
	struct cache *c = aligned_alloc(64, sizeof *c);
	if (!c)
		return NULL;
	memset(c, 0, sizeof *c);
	for (int i = 0; i < CACHE_SHARDS; i++) {
		pthread_mutex_init(&c->shard[i].lock, NULL);
		c->shard[i].limit_bytes = limit_bytes / CACHE_SHARDS;
	}
	return c;
}

static void entry_remove(struct shard *s, struct entry *e)
{
	struct entry **p = &s->bucket[(e->hash >> 8) % CACHE_BUCKETS];
	while (*p != e)
		p = &(*p)->next;
	*p = e->next;
	if (e->newer == e) {
		s->hand = NULL;
	} else {
		e->newer->older = e->older;
		e->older->newer = e->newer;
		if (s->hand == e)
			s->hand = e->newer;
	}
	s->bytes -= sizeof *e + e->partition_len + e->key_len + e->value_len;
	free(e);
}

void cache_free(struct cache *c)
{
	if (!c)
		return;
	for (int i = 0; i < CACHE_SHARDS; i++) {
		struct shard *s = &c->shard[i];
		while (s->hand)
			entry_remove(s, s->hand);
		pthread_mutex_destroy(&s->lock);
	}
	free(c);
}

static struct shard *shard_of(struct cache *c, uint64_t hash)
{
	return &c->shard[hash % CACHE_SHARDS];
}

static struct entry *entry_find(struct shard *s, uint64_t hash, struct slice partition, struct slice key)
{
	for (struct entry *e = s->bucket[(hash >> 8) % CACHE_BUCKETS]; e; e = e->next)
		if (e->hash == hash && slice_eq(slice_make(e->bytes, e->partition_len), partition) &&
		    slice_eq(slice_make(e->bytes + e->partition_len, e->key_len), key))
			return e;
	return NULL;
}

static void make_room(struct shard *s, size_t bytes)
{
	while (s->hand && s->bytes + bytes > s->limit_bytes) {
		struct entry *e = s->hand;
		if (e->touched) {
			e->touched = false;
			s->hand = e->newer;
		} else {
			entry_remove(s, e);
		}
	}
}

static void entry_insert(struct shard *s, uint64_t hash, struct slice partition, struct slice key, struct slice value)
{
	size_t bytes = sizeof(struct entry) + partition.len + key.len + value.len;
	if (bytes > s->limit_bytes / CACHE_ENTRY_SHARE)
		return;
	make_room(s, bytes);
	struct entry *e = malloc(bytes);
	if (!e)
		return;
	*e = (struct entry){ .hash = hash,
			     .partition_len = (uint32_t)partition.len,
			     .key_len = (uint32_t)key.len,
			     .value_len = (uint32_t)value.len,
			     .exists = slice_is_set(value) };
	memcpy(e->bytes, partition.ptr, partition.len);
	memcpy(e->bytes + partition.len, key.ptr, key.len);
	if (value.len)
		memcpy(e->bytes + partition.len + key.len, value.ptr, value.len);
	struct entry **b = &s->bucket[(hash >> 8) % CACHE_BUCKETS];
	e->next = *b;
	*b = e;
	if (s->hand) { /* behind the hand: the last to be looked at */
		e->newer = s->hand;
		e->older = s->hand->older;
		e->older->newer = e;
		e->newer->older = e;
	} else {
		e->newer = e->older = s->hand = e;
	}
	s->bytes += bytes;
}

bool cache_find(struct cache *c, uint64_t hash, struct slice partition, struct slice key, struct arena *arena,
		struct slice *ret, enum err *ret_err, uint64_t *ret_ticket)
{
	struct shard *s = shard_of(c, hash);
	pthread_mutex_lock(&s->lock);
	struct entry *e = entry_find(s, hash, partition, key);
	if (!e) {
		s->misses++;
		*ret_ticket = s->ends;
		pthread_mutex_unlock(&s->lock);
		return false;
	}
	s->hits++;
	e->touched = true;
	enum err err = ERR_NOT_FOUND;
	if (e->exists) {
		struct slice v = arena_dup(arena, slice_make(e->bytes + e->partition_len + e->key_len, e->value_len));
		err = slice_is_set(v) ? ERR_OK : ERR_NO_MEMORY;
		if (err == ERR_OK)
			*ret = v;
	}
	pthread_mutex_unlock(&s->lock);
	*ret_err = err;
	return true;
}

static size_t flux_find(const struct shard *s, uint64_t hash)
{
	size_t i = 0;
	while (i < s->flux_listed && s->flux[i].hash != hash)
		i++;
	return i;
}

static bool in_flux(const struct shard *s, uint64_t hash)
{
	return s->flux_overflow || flux_find(s, hash) < s->flux_listed;
}

/* A full cache takes in what is asked for a second time: what is read once would only push out what is read often, and
 * cost more than the read it might save. */
static bool worth_a_place(struct shard *s, uint64_t hash, size_t bytes)
{
	uint16_t *asked = &s->asked[(hash >> 8) % CACHE_ASKED], fingerprint = (uint16_t)(hash >> 48);
	if (s->bytes + bytes <= s->limit_bytes || *asked == fingerprint)
		return true;
	*asked = fingerprint;
	return false;
}

void cache_fill(struct cache *c, uint64_t hash, struct slice partition, struct slice key, struct slice value,
		uint64_t ticket)
{
	struct shard *s = shard_of(c, hash);
	pthread_mutex_lock(&s->lock);
	if (s->ends == ticket && !in_flux(s, hash) && !entry_find(s, hash, partition, key) &&
	    worth_a_place(s, hash, sizeof(struct entry) + partition.len + key.len + value.len))
		entry_insert(s, hash, partition, key, value);
	pthread_mutex_unlock(&s->lock);
}

void cache_flux_begin(struct cache *c, uint64_t hash, struct slice partition, struct slice key)
{
	struct shard *s = shard_of(c, hash);
	pthread_mutex_lock(&s->lock);
	struct entry *e = entry_find(s, hash, partition, key);
	s->flux_count++;
	if (s->flux_listed < CACHE_FLUX_MAX) {
		s->flux[s->flux_listed].hash = hash;
		s->flux[s->flux_listed++].was_hot = e != NULL;
	} else {
		s->flux_overflow = true;
	}
	if (e)
		entry_remove(s, e);
	pthread_mutex_unlock(&s->lock);
}

void cache_flux_end(struct cache *c, uint64_t hash, struct slice partition, struct slice key, struct slice value,
		    bool keep)
{
	struct shard *s = shard_of(c, hash);
	bool hot = false;
	pthread_mutex_lock(&s->lock);
	assert(s->flux_count > 0);
	size_t i = flux_find(s, hash);
	if (i < s->flux_listed) {
		hot = s->flux[i].was_hot;
		s->flux[i] = s->flux[--s->flux_listed];
		i = flux_find(s, hash); /* written twice in the group: the later end decides */
		if (i < s->flux_listed)
			s->flux[i].was_hot |= hot;
	}
	if (--s->flux_count == 0)
		s->flux_overflow = false;
	s->ends++;
	if (hot && keep && !in_flux(s, hash) && !entry_find(s, hash, partition, key))
		entry_insert(s, hash, partition, key, value);
	pthread_mutex_unlock(&s->lock);
}

void cache_stats(struct cache *c, uint64_t *ret_hits, uint64_t *ret_misses, size_t *ret_bytes)
{
	uint64_t hits = 0, misses = 0;
	size_t bytes = 0;
	for (int i = 0; i < CACHE_SHARDS; i++) {
		struct shard *s = &c->shard[i];
		pthread_mutex_lock(&s->lock);
		hits += s->hits;
		misses += s->misses;
		bytes += s->bytes;
		pthread_mutex_unlock(&s->lock);
	}
	*ret_hits = hits;
	*ret_misses = misses;
	*ret_bytes = bytes;
}

/* SPDX-License-Identifier: Apache-2.0
 * Named states of a server in memory. A name that is saved again forgets what it had. */
#include "server/states.h"

#include "engine/mem/mem.h"
#include "wire/json.h"

#include <pthread.h>

enum { STATES_MAX = 64, STATES_NAME_MAX = 64 };

struct states {
	struct rest_kit rest;
	struct store *store;
	pthread_mutex_t lock; /* of what follows; held while one is restored, so that it stays */
	size_t count;
	struct {
		char name[STATES_NAME_MAX + 1];
		struct mem_state *state;
	} states[STATES_MAX];
};

static size_t state_find(const struct states *k, struct slice name)
{
	size_t i = 0;
	while (i < k->count && !slice_eq(name, slice_str(k->states[i].name)))
		i++;
	return i;
}

static enum err states_save(void *arg, struct slice name)
{
	struct states *k = arg;
	enum err e = ERR_OK;
	if (name.len > STATES_NAME_MAX)
		return ERR_LIMIT;
	pthread_mutex_lock(&k->lock);
	size_t i = state_find(k, name);
	if (i == STATES_MAX) {
		e = ERR_LIMIT;
	} else {
		if (i == k->count) {
			memcpy(k->states[i].name, name.ptr, name.len);
			k->states[i].name[name.len] = 0;
			k->states[i].state = NULL;
			k->count++;
		}
		engine_mem_state_free(k->states[i].state);
		k->states[i].state = engine_mem_save(store_engine(k->store));
	}
	pthread_mutex_unlock(&k->lock);
	return e;
}

static enum err states_restore(void *arg, struct slice name)
{
	struct states *k = arg;
	pthread_mutex_lock(&k->lock);
	size_t i = state_find(k, name);
	enum err e = i < k->count ? engine_mem_restore(store_engine(k->store), k->states[i].state) : ERR_NOT_FOUND;
	pthread_mutex_unlock(&k->lock);
	return e;
}

static void states_put_names(void *arg, struct buf *out)
{
	struct states *k = arg;
	pthread_mutex_lock(&k->lock);
	BUF_PUT(out, "[");
	for (size_t i = 0; i < k->count; i++) {
		buf_put(out, i ? SLICE(",\"") : SLICE("\""));
		json_put_text(out, slice_str(k->states[i].name));
		BUF_PUT(out, "\"");
	}
	BUF_PUT(out, "]");
	pthread_mutex_unlock(&k->lock);
}

struct states *states_new(struct store *store, bool in_memory)
{
	struct states *k = calloc(1, sizeof *k);
	if (!k)
		return NULL;
	k->store = store;
	k->rest.arg = k;
	pthread_mutex_init(&k->lock, NULL);
	if (in_memory) {
		k->rest.save = states_save;
		k->rest.restore = states_restore;
		k->rest.put_names = states_put_names;
	}
	return k;
}

void states_free(struct states *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < k->count; i++)
		engine_mem_state_free(k->states[i].state);
	pthread_mutex_destroy(&k->lock);
	free(k);
}

const struct rest_kit *states_rest(struct states *k)
{
	return k ? &k->rest : NULL;
}

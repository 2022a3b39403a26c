/* SPDX-License-Identifier: Apache-2.0
 * Each round looks at the intents of every account and at the next few containers and queues of one, by their records,
 * so that a round stays short however many there are; one container that has much to give back is tended for a while.
 * Nothing found in a whole pass: a second of rest; in these few: a rest in proportion, so that going through very many
 * never takes more than a small part of a core. Dead extents are not its business: the store has a thread of its own
 * for them, and the engine allows one alone. */
#include "jobs/background.h"

#include "base/limits.h"
#include "base/sys/log.h"
#include "base/sys/thread.h"
#include "store/key.h"
#include "svc/account/resource.h"
#include "svc/blob/retire.h"
#include "svc/blob/state.h"
#include "svc/file/file.h"
#include "svc/file/open.h"
#include "svc/queue/queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum {
	IDLE_MS = 1000,
	BUSY_MS = 5,
	REST_PER_LOOK = 20, /* a round that found nothing rests so many times as long as it took */
	PLACES_A_ROUND = 128,
	CONTAINER_MS = 50, /* for one that has much to give back, before others have their turn */
	ROUND_TXNS = 2,	   /* of a share's round; more during it: others write */
	REST_BESIDE = 3,   /* times as long as a round took, while others write */
	EXPIRE_EVERY_SECONDS = 3600
};

struct background {
	struct store *store;
	struct slice *accounts;
	size_t account_count;
	struct slice *next_accounts; /* under the mutex: to be used from the next round on; NULL: none */
	size_t next_account_count;
	size_t account_at; /* where the next round goes on, */
	struct key from;   /* among the records of that account */
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	bool stop;
	uint64_t rest_ns; /* before the next round */
	bool complained;
	bool expire_now;	    /* this pass over accounts and store also looks for what the clock ended */
	uint64_t expire_last_ticks; /* when the last such pass began */
};

/* Rows go with their partition; only containers and shares name extents that must be retired first. */
static enum err generation_empty(struct store *store, struct slice partition, char kind, bool *ret_more)
{
	*ret_more = false;
	if (kind == RESOURCE_CONTAINER)
		return blob_retire_container(store, partition, ret_more);
	return kind == RESOURCE_SHARE ? file_empty(store, partition, ret_more) : ERR_OK;
}

void background_at_start(struct store *store, const struct slice *accounts, size_t account_count)
{
	for (size_t i = 0; i < account_count; i++) {
		enum err err = resource_settle(store, accounts[i]);
		if (err != ERR_OK)
			log_warn("account %.*s: finishing what a crash left failed (%s); the next start tries again",
				 SLICE_FMT(accounts[i]), err_name(err));
	}
}

static enum err account_load_opens(struct store *store, struct slice account)
{
	struct resource_place place[PLACES_A_ROUND];
	struct key from;
	size_t count;
	bool more = true;
	key_init(&from);
	while (more) {
		TRY(resource_places(store, account, &from, PLACES_A_ROUND, place, &count, &more));
		for (size_t i = 0; i < count; i++) {
			struct arena arena;
			if (place[i].kind != RESOURCE_SHARE)
				continue;
			arena_init(&arena, MIB);
			struct slice partition =
				resource_generation_partition(&arena, account, place[i].kind, place[i].generation);
			enum err err = slice_is_set(partition) ? file_opens_load(store, partition) : ERR_NO_MEMORY;
			arena_fini(&arena);
			TRY(err);
		}
	}
	return ERR_OK;
}

enum err background_load_opens(struct store *store, const struct slice *accounts, size_t account_count)
{
	for (size_t i = 0; i < account_count; i++)
		TRY(account_load_opens(store, accounts[i]));
	return ERR_OK;
}

/* Logs the first of a series of errors; the work is tried again anyway. */
static void result_note(struct background *b, const char *what, enum err err, bool *failed)
{
	if (err == ERR_OK || err == ERR_STOPPED)
		return;
	*failed = true;
	if (!b->complained)
		log_warn("%s failed (%s); it is tried again every second", what, err_name(err));
	b->complained = true;
}

static bool stopping(struct background *b)
{
	pthread_mutex_lock(&b->mutex);
	bool stop = b->stop;
	pthread_mutex_unlock(&b->mutex);
	return stop;
}

/* What the clock ends in a container: soft-deleted blobs and uncommitted blocks. Looked for once an hour. */
static enum err container_expire(struct background *b, struct slice partition)
{
	struct buf from;
	bool more = b->expire_now;
	enum err err = ERR_OK;
	buf_init(&from, LIMIT_KEY_BYTES);
	while (err == ERR_OK && more && !stopping(b))
		err = blob_expire_round(b->store, partition, &from, &more);
	buf_fini(&from);
	return err;
}

static enum err container_retire(struct background *b, struct slice partition, bool *ret_more)
{
	uint64_t until_ns = base_monotonic_ns() + CONTAINER_MS * UINT64_C(1000000);
	do
		TRY(blob_retire_round(b->store, partition, ret_more));
	while (*ret_more && base_monotonic_ns() < until_ns && !stopping(b));
	return ERR_OK;
}

/* A rest that ends early if the server stops. */
static void rest(struct background *b, uint64_t ns)
{
	uint64_t until_ns = base_monotonic_ns() + ns;
	struct timespec until = { (time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000) };
	pthread_mutex_lock(&b->mutex);
	while (!b->stop && pthread_cond_timedwait(&b->wake, &b->mutex, &until) != ETIMEDOUT)
		;
	pthread_mutex_unlock(&b->mutex);
}

uint64_t background_rest_ns(uint64_t took_ns, uint64_t txns, bool more)
{
	return more && txns > ROUND_TXNS ? REST_BESIDE * took_ns : 0;
}

/* One bounded piece. Its commit holds up whoever writes at the same time, so then the next one does not follow at
 * once. */
static enum err share_round(struct background *b, struct slice partition, bool *ret_more)
{
	uint64_t began_ns = base_monotonic_ns(), txns = store_txns(b->store);
	TRY(file_round(b->store, partition, ret_more));
	uint64_t rest_ns = background_rest_ns(base_monotonic_ns() - began_ns, store_txns(b->store) - txns, *ret_more);
	if (rest_ns)
		rest(b, rest_ns);
	return ERR_OK;
}

static enum err share_tend(struct background *b, struct slice partition, bool *ret_more)
{
	uint64_t until_ns = base_monotonic_ns() + CONTAINER_MS * UINT64_C(1000000);
	bool opens_more = true;
	while (opens_more && !stopping(b))
		TRY(file_opens_round(b->store, partition, &opens_more));
	do
		TRY(share_round(b, partition, ret_more));
	while (*ret_more && base_monotonic_ns() < until_ns && !stopping(b));
	return ERR_OK;
}

static enum err place_tend(struct background *b, struct slice account, const struct resource_place *place,
			   bool *ret_more)
{
	struct arena arena;
	enum err err = ERR_OK;
	arena_init(&arena, 16 * MIB);
	struct slice partition = resource_generation_partition(&arena, account, place->kind, place->generation);
	if (!slice_is_set(partition)) {
		err = ERR_NO_MEMORY;
	} else if (place->kind == RESOURCE_CONTAINER) {
		err = container_expire(b, partition);
		if (err == ERR_OK)
			err = container_retire(b, partition, ret_more);
	} else if (place->kind == RESOURCE_SHARE) {
		err = share_tend(b, partition, ret_more);
	} else if (place->kind == RESOURCE_QUEUE) {
		err = queue_sweep(b->store, partition, &arena, ret_more);
	}
	arena_fini(&arena);
	return err;
}

/* The next page of an account's containers and queues; then the next account. True if one of them has more to give
 * back. */
static bool places_tend(struct background *b, bool *failed)
{
	struct resource_place place[PLACES_A_ROUND];
	size_t count = 0;
	bool more = false, account_has_more = false;
	if (!b->account_count)
		return false;
	struct slice account = b->accounts[b->account_at];
	enum err err = resource_places(b->store, account, &b->from, PLACES_A_ROUND, place, &count, &account_has_more);
	result_note(b, "looking through the store", err, failed);
	for (size_t i = 0; i < count; i++) {
		bool again = false;
		result_note(b, "tending a container or queue", place_tend(b, account, &place[i], &again), failed);
		more = more || again;
	}
	if (!account_has_more) {
		key_init(&b->from);
		b->account_at = (b->account_at + 1) % b->account_count;
	}
	return more;
}

static bool pass_is_over(const struct background *b)
{
	return b->account_at == 0 && b->from.len == 0;
}

static void pass_begin(struct background *b, bool *failed)
{
	uint64_t now = clock_now(store_clock(b->store));
	b->expire_now = now >= b->expire_last_ticks + EXPIRE_EVERY_SECONDS * TICKS_PER_SECOND;
	if (!b->expire_now)
		return;
	b->expire_last_ticks = now;
	for (size_t i = 0; i < b->account_count; i++) {
		result_note(b, "looking for deleted resources whose days are over",
			    resource_expire(b->store, b->accounts[i]), failed);
		result_note(b, "giving up creations that did not end", resource_settle(b->store, b->accounts[i]),
			    failed);
	}
}

static uint64_t rest_after(const struct background *b, bool more, uint64_t took_ns)
{
	uint64_t idle_ns = IDLE_MS * UINT64_C(1000000), busy_ns = BUSY_MS * UINT64_C(1000000),
		 look_ns = took_ns * REST_PER_LOOK;
	if (more)
		return busy_ns;
	if (pass_is_over(b))
		return idle_ns;
	return look_ns < busy_ns ? busy_ns : look_ns < idle_ns ? look_ns : idle_ns;
}

static void round_run(struct background *b)
{
	bool more = false, failed = false;
	uint64_t began_ns = base_monotonic_ns();
	if (pass_is_over(b))
		pass_begin(b, &failed);
	for (size_t i = 0; i < b->account_count; i++) {
		bool again = false;
		result_note(b, "emptying deleted resources",
			    resource_reap(b->store, b->accounts[i], generation_empty, &again), &failed);
		more = more || again;
	}
	more = places_tend(b, &failed) || more;
	if (!failed)
		b->complained = false;
	b->rest_ns = failed ? IDLE_MS * UINT64_C(1000000) : rest_after(b, more, base_monotonic_ns() - began_ns);
}

/* Under the mutex, between two rounds: the pass begins anew. */
static void accounts_switch(struct background *b)
{
	if (!b->next_accounts)
		return;
	free(b->accounts);
	b->accounts = b->next_accounts;
	b->account_count = b->next_account_count;
	b->next_accounts = NULL;
	b->account_at = 0;
	key_init(&b->from);
}

enum err background_set_accounts(struct background *b, const struct slice *accounts, size_t account_count)
{
	struct slice *copy = b ? malloc((account_count + 1) * sizeof *copy) : NULL;
	if (!copy)
		return b ? ERR_NO_MEMORY : ERR_OK;
	memcpy(copy, accounts, account_count * sizeof *copy);
	pthread_mutex_lock(&b->mutex);
	free(b->next_accounts);
	b->next_accounts = copy;
	b->next_account_count = account_count;
	pthread_mutex_unlock(&b->mutex);
	return ERR_OK;
}

static void *background_run(void *arg)
{
	struct background *b = arg;
	pthread_setname_np(pthread_self(), "background");
	thread_lower_priority(THREAD_BACKGROUND);
	b->rest_ns = IDLE_MS * UINT64_C(1000000);
	pthread_mutex_lock(&b->mutex);
	while (!b->stop) {
		uint64_t ns = base_monotonic_ns() + b->rest_ns;
		struct timespec until = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
		if (pthread_cond_timedwait(&b->wake, &b->mutex, &until) != ETIMEDOUT)
			continue;
		accounts_switch(b);
		pthread_mutex_unlock(&b->mutex);
		round_run(b);
		pthread_mutex_lock(&b->mutex);
	}
	pthread_mutex_unlock(&b->mutex);
	return NULL;
}

struct background *background_start(struct store *store, const struct slice *accounts, size_t account_count)
{
	struct background *b = calloc(1, sizeof *b);
	if (!b)
		return NULL;
	b->store = store;
	key_init(&b->from);
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_mutex_init(&b->mutex, NULL);
	pthread_cond_init(&b->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	int failed = background_set_accounts(b, accounts, account_count) == ERR_OK
			     ? pthread_create(&b->thread, NULL, background_run, b)
			     : ENOMEM;
	if (failed) {
		log_warn("no thread for background work (%s): space is not reclaimed", strerror(failed));
		free(b->next_accounts);
		pthread_cond_destroy(&b->wake);
		pthread_mutex_destroy(&b->mutex);
		free(b);
		return NULL;
	}
	return b;
}

void background_stop(struct background *b)
{
	if (!b)
		return;
	pthread_mutex_lock(&b->mutex);
	b->stop = true;
	pthread_cond_signal(&b->wake);
	pthread_mutex_unlock(&b->mutex);
	pthread_join(b->thread, NULL);
	pthread_cond_destroy(&b->wake);
	pthread_mutex_destroy(&b->mutex);
	free(b->accounts);
	free(b->next_accounts);
	free(b);
}

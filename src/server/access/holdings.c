/* SPDX-License-Identifier: Apache-2.0
 * What every account holds. See holdings.h. */
#include "server/access/holdings.h"

#include "base/sys/log.h"
#include "base/sys/thread.h"
#include "server/access/any.h"
#include "server/house.h"
#include "svc/account/resource.h"
#include "svc/blob/record.h"
#include "svc/file/share.h"
#include "svc/queue/queue.h"
#include "svc/table/entity.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#define SECOND_NS UINT64_C(1000000000)
enum {
	FIRST_AFTER_S = 1,
	AGAIN_AFTER_S = 60,
	AGAIN_TIMES = 100, /* as long as the last one took, at least */
	REST_TIMES = 4,	   /* as long as a page took, after each one, unless somebody waits */
};

static const struct {
	char kind;
	enum service service;
	const struct count_rule *rule;
} kinds[] = { { RESOURCE_CONTAINER, SERVICE_BLOB, &blob_count_rule },
	      { RESOURCE_QUEUE, SERVICE_QUEUE, &queue_count_rule },
	      { RESOURCE_TABLE, SERVICE_TABLE, &entity_count_rule },
	      { RESOURCE_SHARE, SERVICE_FILE, &share_count_rule } };

struct holdings {
	struct house *house;
	pthread_t thread;
	pthread_mutex_t lock; /* a leaf; guards what follows */
	pthread_cond_t wake;
	bool stop;
	uint64_t asked, begun, done; /* counts by number: wanted by somebody, begun, ended */
	struct rest_holding *table;  /* of the newest whole one, by slot; NULL: none yet */
	size_t table_count;
	enum err failed;	   /* why the newest was not whole */
	uint64_t objects;	   /* found so far by the one that runs, */
	struct slice account;	   /* which is at this account, */
	uint64_t begun_ns, end_ns; /* since then; the last one ended then */
	/* the thread's own */
	uint64_t page_ns; /* when the page at hand began */
	uint64_t before;  /* objects in what was counted before this partition */
};

/* ---- the walk ---- */

/* A rest that ends early if somebody waits for the count, or the server ends. Under the lock. */
static void rest(struct holdings *h, uint64_t until_ns)
{
	struct timespec until = { (time_t)(until_ns / SECOND_NS), (long)(until_ns % SECOND_NS) };
	while (!h->stop && h->asked < h->begun && pthread_cond_timedwait(&h->wake, &h->lock, &until) != ETIMEDOUT)
		;
}

static bool page_done(void *arg, const struct count *sum)
{
	struct holdings *h = arg;
	uint64_t now_ns = base_monotonic_ns();
	pthread_mutex_lock(&h->lock);
	h->objects = h->before + sum->objects;
	rest(h, now_ns + REST_TIMES * (now_ns - h->page_ns));
	bool go_on = !h->stop;
	pthread_mutex_unlock(&h->lock);
	h->page_ns = base_monotonic_ns();
	return go_on;
}

struct visiting {
	struct holdings *holdings;
	struct slice account;
	const struct count_rule *rule;
	struct rest_holding_part *part;
};

static enum err count_resource(void *arg, const struct resource *r, struct arena *arena, bool *stop)
{
	struct visiting *v = arg;
	struct count sum = { 0 };
	struct slice partition = resource_generation_partition(arena, v->account, r->kind, r->generation);
	if (!slice_is_set(partition))
		return ERR_NO_MEMORY;
	TRY(count_partition(v->holdings->house->store, partition, v->rule, page_done, v->holdings, &sum));
	v->holdings->before += sum.objects;
	v->part->containers++;
	v->part->objects += sum.objects;
	v->part->bytes += sum.bytes;
	return ERR_OK;
}

static enum err count_account(struct holdings *h, struct slice account, struct rest_holding *ret)
{
	pthread_mutex_lock(&h->lock);
	h->account = account;
	pthread_mutex_unlock(&h->lock);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		struct visiting v = { h, account, kinds[i].rule, &ret->part[kinds[i].service] };
		TRY(resource_walk(h->house->store, account, kinds[i].kind, SLICE(""), count_resource, &v));
	}
	ret->counted_ticks = clock_unmoved(store_clock(h->house->store));
	return ERR_OK;
}

/* Names by slot; those of --anyAccount behind the others. They live as long as the house. */
static size_t names_take(struct house *house, struct slice *ret)
{
	pthread_mutex_lock(&house->reload_lock);
	size_t count = house->slots.count;
	memcpy(ret, house->slots.name, count * sizeof *ret);
	pthread_mutex_unlock(&house->reload_lock);
	size_t any = any_names(house->slots.any, ret + ACCOUNT_SLOTS_MAX, ANY_ACCOUNTS_MAX);
	return any ? ACCOUNT_SLOTS_MAX + any : count;
}

static enum err count_all(struct holdings *h, struct rest_holding **ret_table, size_t *ret_count)
{
	struct slice *names = calloc(ACCOUNT_SLOTS_MAX + ANY_ACCOUNTS_MAX, sizeof *names);
	size_t count = names ? names_take(h->house, names) : 0;
	struct rest_holding *table = names ? calloc(count + 1, sizeof *table) : NULL;
	enum err e = table ? ERR_OK : ERR_NO_MEMORY;
	h->before = 0;
	h->page_ns = base_monotonic_ns();
	for (size_t i = 0; i < count && e == ERR_OK; i++)
		if (names[i].len)
			e = count_account(h, names[i], &table[i]);
	free(names);
	if (e != ERR_OK) {
		free(table);
		return e;
	}
	*ret_table = table;
	*ret_count = count;
	return ERR_OK;
}

/* ---- the thread ---- */

/* Under the lock: waits until a count is wanted. False: the server ends. */
static bool wait_for_work(struct holdings *h, uint64_t due_ns, uint64_t txns)
{
	while (!h->stop && h->asked <= h->begun) {
		uint64_t now_ns = base_monotonic_ns();
		if (now_ns >= due_ns && store_txns(h->house->store) != txns)
			break;
		/* Nothing changed: look again in a while. */
		uint64_t until_ns = now_ns < due_ns ? due_ns : now_ns + AGAIN_AFTER_S * SECOND_NS;
		struct timespec until = { (time_t)(until_ns / SECOND_NS), (long)(until_ns % SECOND_NS) };
		pthread_cond_timedwait(&h->wake, &h->lock, &until);
	}
	return !h->stop;
}

/* Under the lock. */
static void count_end(struct holdings *h, enum err e, struct rest_holding *table, size_t count)
{
	if (e == ERR_OK) {
		free(h->table);
		h->table = table;
		h->table_count = count;
	}
	if (e != ERR_OK && e != ERR_STOPPED && e != h->failed)
		log_warn("counting what accounts hold failed (%s); `zaffre scrub` finds what is damaged", err_name(e));
	h->failed = e;
	h->done = h->begun;
	h->end_ns = base_monotonic_ns();
}

static void *holdings_main(void *arg)
{
	struct holdings *h = arg;
	uint64_t due_ns = base_monotonic_ns() + FIRST_AFTER_S * SECOND_NS, txns = UINT64_MAX;
	pthread_setname_np(pthread_self(), "count");
	thread_lower_priority(THREAD_TIDIES);
	pthread_mutex_lock(&h->lock);
	while (wait_for_work(h, due_ns, txns)) {
		struct rest_holding *table = NULL;
		size_t count = 0;
		txns = store_txns(h->house->store);
		h->begun++;
		h->objects = 0;
		h->begun_ns = base_monotonic_ns();
		pthread_mutex_unlock(&h->lock);
		enum err e = count_all(h, &table, &count);
		pthread_mutex_lock(&h->lock);
		count_end(h, e, table, count);
		uint64_t rest_ns = AGAIN_TIMES * (h->end_ns - h->begun_ns);
		due_ns = h->end_ns + (rest_ns > AGAIN_AFTER_S * SECOND_NS ? rest_ns : AGAIN_AFTER_S * SECOND_NS);
	}
	pthread_mutex_unlock(&h->lock);
	return NULL;
}

/* ---- what others ask ---- */

bool holdings_get(struct holdings *h, unsigned slot, struct rest_holding *ret)
{
	if (!h)
		return false;
	pthread_mutex_lock(&h->lock);
	bool known = slot < h->table_count && h->table[slot].counted_ticks;
	if (known)
		*ret = h->table[slot];
	pthread_mutex_unlock(&h->lock);
	return known;
}

/* Under the lock. */
static void put_progress(const struct holdings *h, uint64_t run, struct buf *out)
{
	uint64_t until_ns = h->done == h->begun ? h->end_ns : base_monotonic_ns();
	buf_printf(out, "{\"run\":%llu,\"done\":%llu,\"objects\":%llu,\"account\":\"%.*s\"", (unsigned long long)run,
		   (unsigned long long)h->done, (unsigned long long)h->objects, SLICE_FMT(h->account));
	buf_printf(out, ",\"seconds\":%.3f,\"reason\":\"%s\"}\n",
		   h->begun ? (double)(until_ns - h->begun_ns) / 1e9 : 0.0,
		   h->failed == ERR_OK ? "" : err_name(h->failed));
}

int holdings_command_start(struct house *house, const struct query *q, struct buf *out)
{
	struct holdings *h = house->holdings;
	pthread_mutex_lock(&h->lock);
	h->asked = h->begun + 1; /* the one that runs may have gone past what was written since */
	pthread_cond_signal(&h->wake);
	put_progress(h, h->asked, out);
	pthread_mutex_unlock(&h->lock);
	return 200;
}

int holdings_command_progress(struct house *house, const struct query *q, struct buf *out)
{
	struct holdings *h = house->holdings;
	pthread_mutex_lock(&h->lock);
	put_progress(h, h->begun, out);
	pthread_mutex_unlock(&h->lock);
	return 200;
}

/* ---- life ---- */

struct holdings *holdings_start(struct house *house)
{
	struct holdings *h = calloc(1, sizeof *h);
	pthread_condattr_t attributes;
	if (!h)
		return NULL;
	h->house = house;
	h->account = SLICE("");
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	if (pthread_create(&h->thread, NULL, holdings_main, h) == 0)
		return h;
	h->stop = true;
	holdings_free(h);
	return NULL;
}

void holdings_end(struct holdings *h)
{
	if (!h)
		return;
	pthread_mutex_lock(&h->lock);
	bool ended = h->stop;
	h->stop = true;
	pthread_cond_signal(&h->wake);
	pthread_mutex_unlock(&h->lock);
	if (!ended)
		pthread_join(h->thread, NULL);
}

void holdings_free(struct holdings *h)
{
	if (!h)
		return;
	free(h->table);
	pthread_cond_destroy(&h->wake);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

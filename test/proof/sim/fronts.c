/* SPDX-License-Identifier: Apache-2.0
 * Several front ends on one store, simulated: clients create, delete and write to containers; front ends start and die
 * midway, in half of the runs one with a clock that is an hour ahead. Who does what next is drawn from the seed.
 *
 *   sim_fronts --seeds N [--first S]   runs seeds S..S+N-1; stops at the first violation and prints its seed
 *   sim_fronts --mutants               every deliberate fault of several front ends (store/mutant.h) must be caught
 *
 * Held to be true:
 *   a container whose creation was acknowledged is found and takes writes until somebody begins to delete it
 *   times in a partition grow, and none lies ahead of every clock that ever wrote to that partition
 *   a creation is not given up while its session is alive, unless a clock is wrong; then it is refused, not half done
 *   no number of txn_unique is given twice in a partition
 *   jobs of a group that was refused are not committed one by one, but from the third time on
 *   after all creations are over and the reaper came by, nothing is left that no record leads to */
#include "base/limits.h"
#include "base/sys/rng.h"
#include "engine/mem/mem.h"
#include "store/key.h"
#include "store/mutant.h"
#include "svc/account/resource.h"

#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#define NOON	(UINT64_C(639000000000000000))
#define MINUTE	(UINT64_C(60) * TICKS_PER_SECOND)
#define ACCOUNT SLICE("acc")

enum {
	FRONTS = 4,
	CLIENTS = 6,
	NAMES = 4,
	GENERATIONS = 400,
	STEPS = 260,
	BURST = 8,
	BURST_TRIES = 3,
	DRAIN_STEPS = 100,
	SEEDS_FOR_A_MUTANT = 2000,
};

enum action { CREATE, DELETE, WRITE };

struct front {
	struct store *store;
	struct clock clock;
	bool dead;
};

/* What the checker knows of a generation; its number is the place here. */
struct generation {
	bool acknowledged, delete_begun;
	unsigned wrote; /* bits of the fronts that ever asked to write to its partition */
};

struct client {
	struct sim *sim;
	enum action action;
	unsigned step, front, name;
	bool busy;
	struct arena arena;
	struct store_job job;
	struct slice account, inner;
	struct resource_create create;
	struct resource_delete delete;
	uint64_t generation, now_ticks; /* now: of the last run of its write */
};

struct sim {
	struct rng rng;
	unsigned mutant;
	bool wrong_clock; /* the third front end's is an hour ahead */
	struct front front[FRONTS];
	unsigned fronts;
	struct client client[CLIENTS];
	struct generation generation[GENERATIONS];
	uint64_t generations;
	struct engine *engine;		 /* of the first front; others are attached to its data */
	uint64_t died[CLIENTS * FRONTS]; /* generations whose creators died at it */
	unsigned died_count;
	bool violated;
	char why[256];
	uint64_t created, lost, written, bursts;
};

static unsigned pick(struct sim *s, unsigned bound)
{
	return (unsigned)rng_below(&s->rng, bound);
}

static void violation(struct sim *s, const char *why)
{
	if (!s->violated)
		snprintf(s->why, sizeof s->why, "%s", why);
	s->violated = true;
}

/* ---- front ends ---- */

static void front_open(struct sim *s)
{
	struct front *f = &s->front[s->fronts];
	struct engine *engine = s->engine;
	bool wrong = s->wrong_clock && s->fronts == 2;
	clock_init_fake(&f->clock, NOON + (wrong ? 60 * MINUTE : s->fronts * 100));
	if (s->fronts > 0 && engine_mem_attach(s->engine, &engine) != ERR_OK)
		abort();
	struct store_options options = { .clock = &f->clock, .manual = true, .mutant = s->mutant };
	if (store_open(engine, &options, &f->store) != ERR_OK) {
		violation(s, "a front end could not open");
		f->dead = true;
	}
	s->fronts++;
	if (!f->dead && resource_settle(f->store, ACCOUNT) == ERR_CORRUPT)
		violation(s, "settling found damage");
}

static void front_die(struct sim *s, unsigned front)
{
	for (unsigned i = 0; i < CLIENTS && !s->front[front].dead; i++)
		if (s->client[i].busy && s->client[i].front == front && s->client[i].action == CREATE)
			s->died[s->died_count++] = s->client[i].generation;
	s->front[front].dead = true;
}

static enum err nothing_to_empty(struct store *store, struct slice partition, char kind, bool *ret_more)
{
	*ret_more = false;
	return ERR_OK;
}

static void front_reap(struct front *f)
{
	bool more;
	if (!f->dead)
		(void)!resource_reap(f->store, ACCOUNT, nothing_to_empty, &more);
}

/* ---- what clients do ---- */

/* A row of the last time, and one of the number. */
static enum err apply_write(struct txn *txn, void *call)
{
	struct client *c = call;
	struct key k;
	struct slice old;
	char now[8];
	if (c->sim->front[c->front].dead)
		return ERR_STOPPED;
	TRY(generation_require(txn, ERR_CONTAINER_NOT_FOUND));
	c->now_ticks = txn_now(txn);
	enum err e = txn_get(txn, SLICE("t"), &old);
	if (e == ERR_OK) {
		uint64_t last;
		memcpy(&last, old.ptr, sizeof last);
		if (last >= c->now_ticks)
			violation(c->sim, "the time of a partition did not grow");
	}
	memcpy(now, &c->now_ticks, sizeof now);
	TRY(txn_put(txn, SLICE("t"), slice_make(now, sizeof now)));
	key_init(&k);
	key_tag(&k, 'u');
	key_u64(&k, txn_unique(txn));
	e = txn_get(txn, key_slice(&k), &old);
	if (e == ERR_OK)
		violation(c->sim, "a number was given twice");
	return txn_put(txn, key_slice(&k), SLICE("1"));
}

static enum err dead_or(struct txn *txn, void *call)
{
	struct client *c = call;
	if (c->sim->front[c->front].dead)
		return ERR_STOPPED;
	if (c->action == CREATE)
		return c->step == 0   ? resource_create_reserve(txn, &c->create)
		       : c->step == 1 ? resource_create_open(txn, &c->create)
				      : resource_create_publish(txn, &c->create);
	return c->step == 0 ? resource_delete_remove(txn, &c->delete) : resource_delete_close(txn, &c->delete);
}

static void name_of(unsigned name, char text[16])
{
	snprintf(text, 16, "container%u", name);
}

/* No clock of a front end that ever wrote here was as far: the time came from elsewhere. */
static void check_time(struct sim *s, const struct client *c)
{
	uint64_t most = 0;
	for (unsigned i = 0; i < s->fronts; i++)
		if (s->generation[c->generation].wrote >> i & 1 && clock_now(&s->front[i].clock) > most)
			most = clock_now(&s->front[i].clock);
	if (c->now_ticks > most + MINUTE)
		violation(s, "a partition's time is ahead of every clock that wrote to it");
}

static void write_ended(struct sim *s, struct client *c, enum err err)
{
	struct generation *g = &s->generation[c->generation];
	if (err == ERR_CONTAINER_NOT_FOUND && !g->delete_begun)
		violation(s, "a container that was found and not deleted takes no writes");
	if (err == ERR_OK) {
		s->written++;
		check_time(s, c);
	}
}

static void client_next(struct sim *s, struct client *c);

static void client_done(struct store_job *job, enum err err)
{
	struct client *c = job->owner;
	struct sim *s = c->sim;
	c->busy = false;
	if (c->action == WRITE) {
		write_ended(s, c, err);
		return;
	}
	unsigned steps = c->action == CREATE ? 3 : 2;
	bool goes_on = err == ERR_OK && (c->action == DELETE || c->create.reserved) && ++c->step < steps;
	if (goes_on) {
		c->busy = true; /* the next step is asked for some time later */
		c->job.done = NULL;
		return;
	}
	if (c->action == CREATE && err == ERR_OK && c->create.reserved && c->create.refused == ERR_OK &&
	    !c->create.existed) {
		s->created++;
		s->generation[c->create.resource.generation].acknowledged = true;
	}
	if (c->action != CREATE || c->create.refused != ERR_SERVER_BUSY)
		return;
	s->lost++;
	if (!s->wrong_clock)
		violation(s, "a creation was given up while its session was alive");
}

static void ask(struct sim *s, struct client *c, struct slice partition, apply_fn *apply)
{
	c->busy = true;
	c->job = (struct store_job){
		.partition = partition, .apply = apply, .call = c, .arena = &c->arena, .done = client_done, .owner = c
	};
	store_write(s->front[c->front].store, &c->job);
}

static void client_next(struct sim *s, struct client *c)
{
	bool inner = c->step == 1;
	if (inner)
		s->generation[c->generation].wrote |= 1u << c->front;
	ask(s, c, inner ? c->inner : c->account, dead_or);
}

/* A name as it is found; absent: a create instead. */
static void client_begin(struct sim *s, struct client *c)
{
	char text[16];
	struct resource found;
	arena_reset(&c->arena);
	c->step = 0;
	c->front = pick(s, s->fronts);
	c->name = pick(s, NAMES);
	c->action = (enum action)pick(s, 3);
	struct store *store = s->front[c->front].store;
	if (s->front[c->front].dead)
		return;
	name_of(c->name, text);
	struct slice name = arena_dup(&c->arena, slice_str(text));
	c->account = resource_account_partition(&c->arena, ACCOUNT);
	enum err e = resource_find(store, ACCOUNT, RESOURCE_CONTAINER, name, &c->arena, &found);
	if (e != ERR_OK && e != ERR_NOT_FOUND) {
		violation(s, "a lookup failed");
		return;
	}
	if (e == ERR_NOT_FOUND)
		c->action = CREATE;
	if (c->action == CREATE && s->generations + 1 == GENERATIONS)
		return;
	c->generation = c->action == CREATE ? ++s->generations : found.generation;
	c->inner = resource_generation_partition(&c->arena, ACCOUNT, RESOURCE_CONTAINER, c->generation);
	if (c->action == CREATE) {
		c->create = (struct resource_create){ .exists_error = ERR_CONTAINER_ALREADY_EXISTS };
		c->create.resource.kind = RESOURCE_CONTAINER;
		c->create.resource.name = name;
		c->create.resource.generation = c->generation;
		client_next(s, c);
	} else if (c->action == DELETE) {
		s->generation[c->generation].delete_begun = true;
		c->delete = (struct resource_delete){ .kind = RESOURCE_CONTAINER,
						      .name = name,
						      .generation = c->generation,
						      .missing_error = ERR_CONTAINER_NOT_FOUND };
		client_next(s, c);
	} else {
		s->generation[c->generation].wrote |= 1u << c->front;
		ask(s, c, c->inner, apply_write);
	}
}

static void client_act(struct sim *s, struct client *c)
{
	if (!c->busy)
		client_begin(s, c);
	else if (!c->job.done) /* between two steps */
		client_next(s, c);
}

/* A step may answer nobody: a refused group runs again. */
static void drain(struct front *f)
{
	for (int i = 0; i < DRAIN_STEPS; i++)
		store_step(f->store);
}

/* ---- a burst: jobs of one partition that wait together ---- */

struct burst_job {
	struct store_job job;
	struct arena arena;
	bool done;
};

static enum err apply_burst(struct txn *txn, void *call)
{
	struct slice old;
	enum err e = txn_get(txn, SLICE("n"), &old);
	if (e != ERR_OK && e != ERR_NOT_FOUND)
		return e;
	return txn_put(txn, SLICE("n"), SLICE("1"));
}

static void burst_done(struct store_job *job, enum err err)
{
	*(bool *)job->owner = true;
}

static void burst(struct sim *s)
{
	struct front *f = &s->front[pick(s, s->fronts)];
	struct burst_job b[BURST];
	struct mem_counts before, after;
	struct store_stats began, ended;
	if (f->dead)
		return;
	drain(f); /* what waits is not of the burst */
	engine_mem_counts(s->engine, &before);
	store_stats(f->store, &began);
	for (int i = 0; i < BURST; i++) {
		b[i].done = false;
		arena_init(&b[i].arena, MIB);
		b[i].job = (struct store_job){ .partition = SLICE("burst"),
					       .apply = apply_burst,
					       .arena = &b[i].arena,
					       .done = burst_done,
					       .owner = &b[i].done };
		store_write(f->store, &b[i].job);
	}
	for (int i = 0; i < BURST; i++)
		while (!b[i].done)
			store_step(f->store);
	engine_mem_counts(s->engine, &after);
	store_stats(f->store, &ended);
	uint64_t groups = ended.groups - began.groups, unknown = ended.unknowns - began.unknowns,
		 conflicts = after.conflicts_injected + after.conflicts - before.conflicts_injected - before.conflicts;
	if (!unknown && conflicts < BURST_TRIES && groups > conflicts + 1)
		violation(s, "a refused group was not run again as a group");
	for (int i = 0; i < BURST; i++)
		arena_fini(&b[i].arena);
	s->bursts++;
}

/* ---- a run ---- */

static void step_front(struct sim *s)
{
	struct front *f = &s->front[pick(s, s->fronts)];
	store_step(f->store);
}

static void tick(struct sim *s)
{
	for (unsigned i = 0; i < s->fronts; i++)
		clock_fake_advance(&s->front[i].clock, 1000 + pick(s, 1000));
}

static void act(struct sim *s, unsigned at)
{
	unsigned what = pick(s, 100);
	tick(s);
	if (at > STEPS / 8 && what < 3 && s->fronts < FRONTS)
		front_open(s);
	else if (what < 4 && s->fronts > 1)
		front_die(s, 1 + pick(s, s->fronts - 1));
	else if (what < 8)
		front_reap(&s->front[pick(s, s->fronts)]);
	else if (what < 10)
		burst(s);
	else if (what < 60)
		client_act(s, &s->client[pick(s, CLIENTS)]);
	else
		step_front(s);
}

/* Everything that is under way ends or was of a front end that died. */
static void finish(struct sim *s)
{
	for (unsigned round = 0; round < 20; round++) {
		for (unsigned i = 0; i < s->fronts; i++)
			drain(&s->front[i]);
		for (unsigned i = 0; i < CLIENTS; i++)
			if (s->client[i].busy && !s->client[i].job.done)
				client_next(s, &s->client[i]);
	}
	engine_mem_set_faults(s->engine, &(struct mem_options){ 0 });
	for (unsigned i = 0; i < s->fronts; i++)
		clock_fake_advance(&s->front[i].clock, 90 * MINUTE); /* beyond the one that is ahead, too */
	bool more = true;
	if (resource_settle(s->front[0].store, ACCOUNT) != ERR_OK)
		violation(s, "settling failed");
	while (more)
		if (resource_reap(s->front[0].store, ACCOUNT, nothing_to_empty, &more) != ERR_OK) {
			violation(s, "reaping failed");
			more = false;
		}
}

static enum err apply_live(struct txn *txn, void *call)
{
	return generation_require(txn, ERR_CONTAINER_NOT_FOUND);
}

static size_t check_names(struct sim *s, struct arena *arena)
{
	size_t live = 0;
	for (unsigned i = 0; i < NAMES; i++) {
		char text[16];
		struct resource r;
		name_of(i, text);
		if (resource_find(s->front[0].store, ACCOUNT, RESOURCE_CONTAINER, slice_str(text), arena, &r) != ERR_OK)
			continue;
		live++;
		struct slice inner = resource_generation_partition(arena, ACCOUNT, RESOURCE_CONTAINER, r.generation);
		if (store_read(s->front[0].store, inner, apply_live, NULL, arena) != ERR_OK &&
		    !s->generation[r.generation].delete_begun)
			violation(s, "a record leads to a generation that is gone");
		s->generation[r.generation].acknowledged = false; /* found */
	}
	for (uint64_t g = 1; g <= s->generations; g++)
		if (s->generation[g].acknowledged && !s->generation[g].delete_begun)
			violation(s, "a container that was created and not deleted is not there");
	return live;
}

/* A creation that was given up (by the one with the wrong clock), emptied, went on and died before its last step leaves
 * its meta: nothing leads there, and nobody is left to say so. */
static bool died_creating(const struct sim *s, struct slice partition, struct arena *arena)
{
	for (unsigned i = 0; i < s->died_count; i++)
		if (slice_eq(resource_generation_partition(arena, ACCOUNT, RESOURCE_CONTAINER, s->died[i]), partition))
			return s->wrong_clock;
	return false;
}

/* The account, the bursts' partition, the store's own, and one for each name. */
static void check_leaks(struct sim *s, size_t live, struct arena *arena)
{
	struct slice *found;
	size_t count, inner = 0;
	if (store_list_partitions(s->front[0].store, SLICE(""), GENERATIONS + 10, arena, &found, &count) != ERR_OK)
		abort();
	struct slice account = resource_account_partition(arena, ACCOUNT);
	struct slice prefix = slice_first(account, account.len - 1);
	for (size_t i = 0; i < count; i++)
		inner += slice_has_prefix(found[i], prefix) && !slice_eq(found[i], account) &&
			 !died_creating(s, found[i], arena);
	if (inner > live)
		violation(s, "a partition is left that no record leads to");
}

static bool run(uint64_t seed, unsigned mutant, struct sim *totals)
{
	struct sim *s = calloc(1, sizeof *s);
	struct arena arena;
	assert(s);
	s->mutant = mutant;
	rng_init_seed(&s->rng, seed);
	s->wrong_clock = pick(s, 2);
	struct mem_options options = { .seed = seed,
				       .conflict_permille = 60,
				       .unknown_happened_permille = 10,
				       .unknown_lost_permille = 10,
				       .unknown_late_permille = 10 };
	if (engine_mem_open(&options, &s->engine) != ERR_OK)
		abort();
	for (unsigned i = 0; i < CLIENTS; i++) {
		s->client[i].sim = s;
		arena_init(&s->client[i].arena, 4 * MIB);
	}
	front_open(s);
	for (unsigned i = 0; i < STEPS && !s->violated; i++)
		act(s, i);
	arena_init(&arena, 16 * MIB);
	if (!s->violated) {
		finish(s);
		size_t live = check_names(s, &arena);
		check_leaks(s, live, &arena);
	}
	bool violated = s->violated;
	totals->created += s->created;
	totals->lost += s->lost;
	totals->written += s->written;
	totals->bursts += s->bursts;
	memcpy(totals->why, s->why, sizeof s->why);
	for (unsigned i = 0; i < s->fronts; i++)
		store_close(s->front[i].store);
	for (unsigned i = 0; i < CLIENTS; i++)
		arena_fini(&s->client[i].arena);
	arena_fini(&arena);
	free(s);
	return !violated;
}

static int run_mutants(uint64_t first)
{
	bool all = true;
	for (unsigned mutant = MUTANT_SHARED_TIME; mutant <= MUTANT_PUBLISH_BLIND; mutant++) {
		struct sim totals = { .created = 0 };
		uint64_t seed = first;
		while (seed < first + SEEDS_FOR_A_MUTANT && run(seed, mutant, &totals))
			seed++;
		bool caught = seed < first + SEEDS_FOR_A_MUTANT;
		printf("mutant %u: %s after %llu runs%s%s\n", mutant, caught ? "caught" : "NOT CAUGHT",
		       (unsigned long long)(seed - first), caught ? ": " : "", totals.why);
		all = all && caught;
	}
	return all ? 0 : 1;
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "seeds", required_argument, NULL, 'n' },
						 { "first", required_argument, NULL, 'f' },
						 { "mutants", no_argument, NULL, 'M' },
						 { NULL, 0, NULL, 0 } };
	uint64_t count = 1000, first = 1;
	bool mutants = false;
	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		if (c == 'n')
			count = strtoull(optarg, NULL, 10);
		else if (c == 'f')
			first = strtoull(optarg, NULL, 10);
		else if (c == 'M')
			mutants = true;
		else
			return 2;
	}
	if (mutants)
		return run_mutants(first);
	struct sim totals = { .created = 0 };
	for (uint64_t seed = first; seed < first + count; seed++)
		if (!run(seed, 0, &totals)) {
			printf("VIOLATION at seed %llu: %s\n", (unsigned long long)seed, totals.why);
			return 1;
		}
	printf("%llu runs: %llu containers created, %llu creations given up, %llu writes, %llu bursts\n",
	       (unsigned long long)count, (unsigned long long)totals.created, (unsigned long long)totals.lost,
	       (unsigned long long)totals.written, (unsigned long long)totals.bursts);
	/* Runs in which nothing happens prove nothing. */
	return totals.created && totals.written && totals.bursts ? 0 : 1;
}

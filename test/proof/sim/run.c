/* SPDX-License-Identifier: Apache-2.0
 * The scheduler of a simulated run: who does what next is drawn from the seed, and so is all trouble. */
#include "sim.h"

#include <assert.h>
#include <stdarg.h>

static const struct mem_options no_faults = { 0 };

static unsigned pick(struct sim *s, unsigned bound)
{
	return (unsigned)rng_below(&s->rng, bound);
}

static bool chance(struct sim *s, unsigned permille)
{
	return permille && pick(s, 1000) < permille;
}

void sim_wrong(struct sim *s, const char *format, ...)
{
	char text[256];
	va_list ap;
	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	buf_printf(s->why, "%s\n", text);
	s->violated = true;
}

/* ---- clients ---- */

/* A key with too many open outcomes is given up: the search for an order would not end. */
static void count_open(struct sim *s, const struct client *c)
{
	struct key_slot *k = &s->key[c->slot];
	s->totals->open++;
	if (k->generation == c->generation && ++k->open > SIM_OPEN_MAX) {
		k->generation++;
		k->open = 0;
	}
}

void sim_history_add(struct sim *s, struct client *c, const char *op, const char *key, const char *args,
		     const char *result, bool open)
{
	enum err added = linear_history_add(s->history, c->number, slice_str(op), slice_str(key), slice_str(args),
					    c->call_time, open ? LINEAR_NEVER : ++s->now, slice_str(result));
	if (added != ERR_OK)
		sim_wrong(s, "not for the history: %s %s %s: %s", op, key, args, result);
}

static void record(struct sim *s, struct client *c, enum err err, bool open)
{
	if (open && c->reads)
		return; /* what nobody saw and nothing changed */
	if (open)
		count_open(s, c);
	else
		++*(err == ERR_OK ? &s->totals->acknowledged : &s->totals->refused);
	s->service->record(s, c, err, open);
}

static void client_done(struct store_job *job, enum err err)
{
	struct client *c = job->owner;
	struct sim *s = c->sim;
	bool open = s->crashed || err == ERR_UNKNOWN || err == ERR_STOPPED;
	assert(c->state == CLIENT_WRITES);
	c->state = CLIENT_IDLE;
	if (!open && err != ERR_OK)
		s->service->give_up(s, c);
	if (!open && (err == ERR_BUSY || err == ERR_NO_SPACE))
		return; /* promised not to have happened: left out, so that any trace of it is one too many */
	if (!open && err != ERR_OK && err_info(err)->http_status >= 500)
		sim_wrong(s, "client %u was answered %s", c->number, err_name(err));
	else
		record(s, c, err, open);
}

static void read_end(struct sim *s, struct client *c)
{
	struct engine *e = s->front[c->front].engine;
	enum err err = s->service->check_bytes(s, c);
	e->ops->unpin(e, c->pin);
	c->state = CLIENT_IDLE;
	if (err != ERR_OK)
		sim_wrong(s, "client %u: the bytes of key %u.%u: %s", c->number, c->slot, c->generation, err_name(err));
	else
		record(s, c, ERR_OK, false);
}

static void read_begin(struct sim *s, struct client *c)
{
	struct front *f = &s->front[c->front];
	struct slice partition = s->key[c->slot].partition;
	c->state = CLIENT_INSIDE;
	c->pin = f->engine->ops->pin(f->engine);
	enum err err = s->cached && c->points ? store_read_points(f->store, partition, c->apply, c->call, &c->arena)
					      : store_read(f->store, partition, c->apply, c->call, &c->arena);
	if (err == ERR_OK && s->service->has_bytes(c)) {
		c->state = CLIENT_READS; /* the bytes are read some time later, under the pin */
		return;
	}
	c->state = CLIENT_IDLE;
	f->engine->ops->unpin(f->engine, c->pin);
	if (s->crashed)
		return;
	if (err != ERR_OK && err_info(err)->http_status >= 500)
		sim_wrong(s, "client %u: a read was answered %s", c->number, err_name(err));
	else
		record(s, c, err, false);
}

static void client_begin(struct sim *s, struct client *c, unsigned slot)
{
	arena_reset(&c->arena);
	memset(c->call, 0, s->service->call_bytes);
	c->slot = slot;
	c->generation = s->key[slot].generation;
	c->front = pick(s, s->fronts);
	c->call_time = ++s->now;
}

static void client_act(struct sim *s, struct client *c)
{
	if (c->state != CLIENT_IDLE)
		return;
	client_begin(s, c, pick(s, s->service->slots));
	s->service->choose(s, c);
	s->totals->ops++;
	if (c->reads) {
		read_begin(s, c);
		return;
	}
	if (!s->service->prepare(s, c))
		return; /* no space, or the engine just failed: it was never asked */
	c->state = CLIENT_WRITES;
	c->job = (struct store_job){ .partition = s->key[c->slot].partition,
				     .apply = c->apply,
				     .call = c->call,
				     .arena = &c->arena,
				     .done = client_done,
				     .owner = c };
	store_write(s->front[c->front].store, &c->job);
}

static void some_read_ends(struct sim *s)
{
	struct client *c = &s->client[pick(s, SIM_CLIENTS)];
	if (c->state == CLIENT_READS && !s->crashed)
		read_end(s, c);
}

/* ---- trouble ---- */

static void crash(struct sim *s)
{
	if (s->crashed)
		return;
	struct engine *after = engine_mem_crash(s->disk);
	s->disk->ops->close(s->disk);
	s->disk = after;
	s->crashed = true;
	s->totals->crashes++;
}

static void failed(void *arg)
{
	crash(arg); /* the process says why and exits; what follows is its restart */
}

static void reclaim(struct sim *s)
{
	bool more;
	struct engine *e = s->front[pick(s, s->fronts)].engine;
	enum err err = e->ops->reclaim(e, &more);
	if (err != ERR_OK && !s->crashed)
		sim_wrong(s, "reclaim: %s", err_name(err));
}

/* A committer does not run inside itself. */
static void step(struct front *f)
{
	if (f->steps)
		return;
	f->steps = true;
	store_step(f->store);
	f->steps = false;
}

static void meddle(void *arg, enum mem_point point)
{
	struct front *f = arg;
	struct sim *s = f->sim;
	if (s->in_hook || s->crashed || !chance(s, s->meddle_permille))
		return;
	s->in_hook = true;
	switch (pick(s, 8)) {
	case 0:
		if (chance(s, 10 * s->crash_permille))
			crash(s);
		break;
	case 1:
	case 2:
	case 3:
		/* The other front end comes between, or the own one between a read and its use. */
		step(point == MEM_AFTER_GET ? f : &s->front[(f->number + 1) % s->fronts]);
		break;
	case 4:
	case 5:
		client_act(s, &s->client[pick(s, SIM_CLIENTS)]);
		break;
	case 6:
		some_read_ends(s);
		break;
	default:
		reclaim(s);
	}
	s->in_hook = false;
}

static void clock_jump(struct sim *s, struct clock *clock)
{
	uint64_t now = clock_now(clock), by = pick(s, 100) * TICKS_PER_SECOND;
	clock_init_fake(clock, pick(s, 2) ? now + by : now - by);
}

static void fronts_open(struct sim *s)
{
	engine_mem_set_faults(s->disk, &no_faults);
	for (unsigned i = 0; i < s->fronts; i++) {
		struct front *f = &s->front[i];
		f->sim = s;
		f->number = i;
		if (chance(s, 10 * s->jump_permille))
			clock_jump(s, &f->clock);
		struct store_options options = { .clock = &f->clock,
						 .manual = true,
						 .mutant = s->config->mutant,
						 .cache_off = !s->cached,
						 .cache_bytes = s->cached ? 1 << 20 : 0 };
		if (engine_mem_attach(s->disk, &f->engine) != ERR_OK ||
		    store_open(f->engine, &options, &f->store) != ERR_OK)
			abort();
		store_on_failure(f->store, failed, s);
		engine_mem_interfere(f->engine, meddle, f);
	}
	engine_mem_set_faults(s->disk, &s->faults);
}

static void restart(struct sim *s)
{
	for (unsigned i = 0; i < s->fronts; i++) {
		store_close(s->front[i].store);
		s->front[i].store = NULL;
	}
	for (unsigned i = 0; i < SIM_CLIENTS; i++) {
		struct client *c = &s->client[i];
		if (c->state == CLIENT_WRITES)
			record(s, c, ERR_OK, true);
		c->state = CLIENT_IDLE;
	}
	s->crashed = false;
	fronts_open(s);
}

/* ---- a run ---- */

struct now {
	bool answered;
	enum err result;
};

static void now_done(struct store_job *job, enum err err)
{
	struct now *n = job->owner;
	n->answered = true;
	n->result = err;
}

enum err sim_write_now(struct sim *s, struct slice partition, apply_fn *apply, void *call, struct arena *arena)
{
	struct arena own;
	struct now n = { 0 };
	struct store_job job = { .partition = partition,
				 .apply = apply,
				 .call = call,
				 .arena = arena ? arena : &own,
				 .done = now_done,
				 .owner = &n };
	arena_init(&own, MIB);
	engine_mem_set_faults(s->disk, &no_faults);
	engine_mem_interfere(s->front[0].engine, NULL, NULL);
	store_write(s->front[0].store, &job);
	while (!n.answered)
		store_step(s->front[0].store);
	engine_mem_interfere(s->front[0].engine, meddle, &s->front[0]);
	engine_mem_set_faults(s->disk, &s->faults);
	arena_fini(&own);
	return n.result;
}

static unsigned swarm(struct sim *s, unsigned most)
{
	return pick(s, 2) ? 0 : 1 + pick(s, most);
}

static void setup(struct sim *s)
{
	rng_init_seed(&s->rng, s->config->seed);
	s->faults = (struct mem_options){ .conflict_permille = swarm(s, 300),
					  .unknown_happened_permille = swarm(s, 200),
					  .unknown_lost_permille = swarm(s, 200),
					  .unknown_late_permille = swarm(s, 200),
					  .no_space_permille = swarm(s, 50),
					  .commits_volatile = s->config->volatile_commits };
	s->crash_permille = swarm(s, 10);
	s->jump_permille = swarm(s, 300);
	s->meddle_permille = swarm(s, 300);
	s->fail_permille = swarm(s, 5);
	s->extent_permille =
		s->config->mutant ? 0 : swarm(s, 500); /* a mutant trips over the engine's asserts otherwise */
	s->fronts = 1 + pick(s, 2);
	s->cached = s->fronts == 1 && pick(s, 2); /* a cache is for one front end alone */
	if (s->config->mutant == MUTANT_STALE_CACHE) {
		s->fronts = 1;
		s->cached = true;
	}
	for (unsigned i = 0; i < s->service->slots; i++)
		s->key[i].partition = s->service->partition(i);
	for (unsigned i = 0; i < SIM_CLIENTS; i++) {
		s->client[i].sim = s;
		s->client[i].number = i;
		s->client[i].call = calloc(1, s->service->call_bytes);
		s->client[i].memory = calloc(1, s->service->memory_bytes + 1);
		arena_init(&s->client[i].arena, 8 * MIB);
	}
	for (unsigned i = 0; i < SIM_FRONTS; i++)
		clock_init_fake(&s->front[i].clock, TICKS_UNIX_EPOCH + (1000 + pick(s, 50)) * TICKS_PER_SECOND);
	struct mem_options seeded = { .seed = s->config->seed };
	if (engine_mem_open(&seeded, &s->disk) != ERR_OK)
		abort();
	fronts_open(s);
	if (s->service->setup)
		s->service->setup(s);
}

static void one_event(struct sim *s)
{
	unsigned dice = pick(s, 100);
	if (dice < 45) {
		client_act(s, &s->client[pick(s, SIM_CLIENTS)]);
	} else if (dice < 75) {
		step(&s->front[pick(s, s->fronts)]);
	} else if (dice < 85) {
		some_read_ends(s);
	} else if (dice < 90) {
		reclaim(s);
	} else if (dice < 95) {
		clock_fake_advance(&s->front[pick(s, s->fronts)].clock, pick(s, 1000));
	} else {
		if (s->service->background && pick(s, 3) == 0)
			s->service->background(s);
		if (chance(s, s->jump_permille))
			clock_jump(s, &s->front[pick(s, s->fronts)].clock);
		if (chance(s, 10 * s->crash_permille))
			crash(s);
		if (chance(s, 10 * s->fail_permille)) {
			struct mem_options failing = s->faults;
			failing.fail_after_commits = 1;
			engine_mem_set_faults(s->disk, &failing);
		}
	}
}

void sim_housekeep(struct sim *s, void (*work)(struct sim *, struct store *, bool all), bool all)
{
	struct engine *e;
	struct store *store;
	struct store_options options = { .clock = &s->front[0].clock, .cache_off = true };
	engine_mem_set_faults(s->disk, &no_faults);
	if (engine_mem_attach(s->disk, &e) != ERR_OK || store_open(e, &options, &store) != ERR_OK)
		abort();
	engine_mem_set_faults(s->disk, &s->faults);
	work(s, store, all);
	store_close(store);
}

static bool busy(const struct sim *s)
{
	for (unsigned i = 0; i < SIM_CLIENTS; i++)
		if (s->client[i].state != CLIENT_IDLE)
			return true;
	return false;
}

static void drain(struct sim *s)
{
	engine_mem_set_faults(s->disk, &no_faults);
	for (unsigned round = 0; busy(s) && !s->violated; round++) {
		if (round > 10000) {
			sim_wrong(s, "operations never end");
			break;
		}
		if (s->crashed)
			restart(s);
		for (unsigned i = 0; i < s->fronts && !s->crashed; i++)
			step(&s->front[i]);
		if (!s->crashed)
			some_read_ends(s);
	}
}

/* ---- the last look ---- */

/* Every extent that a record names is whole, and there are no others. */
static void audit_extents(struct sim *s)
{
	struct sim_audit a = { .sim = s };
	struct engine *e = s->front[0].engine;
	struct arena arena;
	struct mem_counts counts;
	bool more = true;
	arena_init(&arena, 64 * MIB);
	for (unsigned i = 0; i < s->service->slots; i++) {
		bool again = false;
		for (unsigned k = 0; k < i; k++)
			again |= slice_eq(s->key[k].partition, s->key[i].partition);
		enum err err =
			again ? ERR_OK
			      : store_read(s->front[0].store, s->key[i].partition, s->service->audit, &a, &arena);
		if (err != ERR_OK)
			sim_wrong(s, "the records and their extents: %s", err_name(err));
	}
	while (more)
		if (e->ops->reclaim(e, &more) != ERR_OK)
			break;
	engine_mem_counts(e, &counts);
	if (counts.extents != a.extents)
		sim_wrong(s, "%llu extents, but records name %llu", (unsigned long long)counts.extents,
			  (unsigned long long)a.extents);
	arena_fini(&arena);
}

/* After a last power cut, without trouble: what is there now must explain all that was seen. */
static void last_reads(struct sim *s)
{
	struct client *c = &s->client[0];
	s->faults = no_faults;
	s->meddle_permille = s->jump_permille = 0;
	crash(s);
	restart(s);
	for (unsigned slot = 0; slot < s->service->slots; slot++)
		for (unsigned g = 0; g <= s->key[slot].generation && !s->violated; g++) {
			client_begin(s, c, slot);
			c->generation = g;
			s->service->choose_last(s, c);
			read_begin(s, c);
			if (c->state == CLIENT_READS)
				read_end(s, c);
		}
	if (!s->violated && s->service->finish)
		s->service->finish(s, c);
	if (!s->violated && s->service->audit)
		audit_extents(s);
}

static void teardown(struct sim *s)
{
	struct mem_counts counts;
	engine_mem_counts(s->disk, &counts);
	s->totals->conflicts += counts.conflicts + counts.conflicts_injected;
	s->totals->unknowns += counts.unknown_happened + counts.unknown_lost + counts.unknown_late;
	s->crashed = true; /* late answers are nobody's */
	for (unsigned i = 0; i < s->fronts; i++) {
		engine_mem_interfere(s->front[i].engine, NULL, NULL);
		store_close(s->front[i].store);
	}
	s->disk->ops->close(s->disk);
	for (unsigned i = 0; i < SIM_CLIENTS; i++) {
		arena_fini(&s->client[i].arena);
		free(s->client[i].call);
		free(s->client[i].memory);
	}
	linear_history_free(s->history);
	free(s);
}

enum linear_answer sim_run(const struct sim_config *config, struct sim_totals *totals, struct buf *why,
			   struct buf *history)
{
	struct sim *s = calloc(1, sizeof *s);
	s->config = config;
	s->totals = totals;
	s->why = why;
	s->service = config->service;
	s->history = linear_history_new();
	mutant_leases_endless_set(config->mutant == MUTANT_ENDLESS_LEASES);
	setup(s);
	uint64_t until = totals->ops + config->ops;
	for (uint64_t events = 0; totals->ops < until && events < 100 * (uint64_t)config->ops && !s->violated;
	     events++) {
		if (s->crashed)
			restart(s);
		one_event(s);
	}
	if (!s->violated)
		drain(s);
	if (!s->violated)
		last_reads(s);
	enum linear_answer answer = s->violated ? LINEAR_VIOLATION : linear_history_check(s->history, why);
	totals->runs++;
	totals->gave_up += answer == LINEAR_GAVE_UP;
	if (history)
		linear_history_print(s->history, history);
	teardown(s);
	return answer;
}

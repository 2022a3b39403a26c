/* SPDX-License-Identifier: Apache-2.0
 * The scheduler of a simulated run: who does what next is drawn from the seed, and so is all trouble. */
#include "sim.h"

#include <assert.h>

static const struct mem_options no_faults = { 0 };

static unsigned pick(struct sim *s, unsigned bound)
{
	return (unsigned)rng_below(&s->rng, bound);
}

static bool chance(struct sim *s, unsigned permille)
{
	return permille && pick(s, 1000) < permille;
}

/* ---- payloads in extents ---- */

enum { EXTENT_WORDS_MAX = 64 };

static uint32_t extent_words(uint32_t value)
{
	return 1 + value % EXTENT_WORDS_MAX;
}

static bool extent_make(struct front *f, uint32_t value, struct extent_ref *ret)
{
	struct engine *e = f->engine;
	struct extent_writer *w;
	uint32_t words[EXTENT_WORDS_MAX];
	for (uint32_t i = 0; i < EXTENT_WORDS_MAX; i++)
		words[i] = value;
	if (e->ops->extent_begin(e, 4 * extent_words(value), &w) != ERR_OK)
		return false;
	if (e->ops->extent_append(w, slice_make(words, 4 * extent_words(value))) != ERR_OK) {
		e->ops->extent_writer_free(w);
		return false;
	}
	return e->ops->extent_seal(w, ret) == ERR_OK;
}

static enum err extent_check(struct engine *e, const struct record *r)
{
	uint32_t words[EXTENT_WORDS_MAX];
	if (r->extent.length_bytes != 4 * extent_words(r->value))
		return ERR_CORRUPT;
	TRY(e->ops->extent_read(e, &r->extent, 0, r->extent.length_bytes, words));
	for (uint32_t i = 0; i < extent_words(r->value); i++)
		if (words[i] != r->value)
			return ERR_CORRUPT;
	return ERR_OK;
}

/* ---- clients ---- */

static void client_done(struct store_job *job, enum err err)
{
	struct client *c = job->owner;
	struct sim *s = c->sim;
	bool open = s->crashed || err == ERR_UNKNOWN || err == ERR_STOPPED;
	assert(c->state == CLIENT_WRITES);
	c->state = CLIENT_IDLE;
	if (!open && err != ERR_OK && c->call.extent.id) {
		struct engine *e = s->front[c->front].engine;
		e->ops->extent_abandon(e, &c->call.extent);
	}
	if (!open && (err == ERR_BUSY || err == ERR_NO_SPACE))
		return; /* promised not to have happened: left out, so that any trace of it is one too many */
	if (!open && err != ERR_OK && err_info(err)->http_status >= 500)
		sim_wrong(s, "client %u was answered %s", c->number, err_name(err));
	else
		sim_record(s, c, err, open);
}

static void read_end(struct sim *s, struct client *c)
{
	struct engine *e = s->front[c->front].engine;
	enum err err = extent_check(e, &c->call.record);
	e->ops->unpin(e, c->pin);
	c->state = CLIENT_IDLE;
	if (err != ERR_OK)
		sim_wrong(s, "client %u: the extent of value %u of key %u.%u: %s", c->number, c->call.record.value, c->slot,
			  c->generation, err_name(err));
	else
		sim_record(s, c, ERR_OK, false);
}

static void read_begin(struct sim *s, struct client *c)
{
	struct front *f = &s->front[c->front];
	c->state = CLIENT_INSIDE;
	c->pin = f->engine->ops->pin(f->engine);
	enum err err = s->cached && c->call.kind == OP_GET
			       ? store_read_points(f->store, s->key[c->slot].partition, sim_apply, &c->call, &c->arena)
			       : store_read(f->store, s->key[c->slot].partition, sim_apply, &c->call, &c->arena);
	if (err == ERR_OK && c->call.kind == OP_GET && c->call.record.extent.id) {
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
		sim_record(s, c, err, false);
}

static void client_act(struct sim *s, struct client *c)
{
	if (c->state != CLIENT_IDLE)
		return;
	arena_reset(&c->arena);
	sim_choose(s, c);
	s->totals->ops++;
	c->call_time = ++s->now;
	struct front *f = &s->front[c->front];
	if (c->call.kind == OP_GET || c->call.kind == OP_READ) {
		read_begin(s, c);
		return;
	}
	if (c->call.kind == OP_PUT && chance(s, s->extent_permille) && !extent_make(f, c->call.value, &c->call.extent))
		return; /* no space, or the engine just failed: it was never asked */
	c->state = CLIENT_WRITES;
	c->job = (struct store_job){ .partition = s->key[c->slot].partition, .apply = sim_apply, .call = &c->call,
				     .arena = &c->arena, .done = client_done, .owner = c };
	store_write(f->store, &c->job);
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
		struct store_options options = { .clock = &f->clock, .manual = true, .mutant = s->config->mutant,
						 .cache_off = !s->cached, .cache_bytes = s->cached ? 1 << 20 : 0 };
		if (engine_mem_attach(s->disk, &f->engine) != ERR_OK || store_open(f->engine, &options, &f->store) != ERR_OK)
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
			sim_record(s, c, ERR_OK, true);
		c->state = CLIENT_IDLE;
	}
	s->crashed = false;
	fronts_open(s);
}

/* ---- a run ---- */

static unsigned swarm(struct sim *s, unsigned most)
{
	return pick(s, 2) ? 0 : 1 + pick(s, most);
}

static void setup(struct sim *s)
{
	static const char *const partition[] = { "box", "crate" };
	rng_init_seed(&s->rng, s->config->seed);
	s->faults = (struct mem_options){ .conflict_permille = swarm(s, 300),
					  .unknown_happened_permille = swarm(s, 200),
					  .unknown_lost_permille = swarm(s, 200),
					  .unknown_late_permille = swarm(s, 200),
					  .no_space_permille = swarm(s, 50),
					  .commits_volatile = s->config->volatile_commits };
	s->crash_permille = swarm(s, 10);
	s->jump_permille = swarm(s, 30);
	s->meddle_permille = swarm(s, 300);
	s->fail_permille = swarm(s, 5);
	s->extent_permille = s->config->mutant ? 0 : swarm(s, 500); /* a mutant trips over the engine's asserts otherwise */
	s->fronts = 1 + pick(s, 2);
	s->cached = s->fronts == 1 && pick(s, 2); /* a cache is for one front end alone */
	if (s->config->mutant == MUTANT_STALE_CACHE) {
		s->fronts = 1;
		s->cached = true;
	}
	for (unsigned i = 0; i < SIM_KEYS; i++)
		s->key[i].partition = slice_str(partition[i % 2]);
	for (unsigned i = 0; i < SIM_CLIENTS; i++) {
		s->client[i].sim = s;
		s->client[i].number = i;
		arena_init(&s->client[i].arena, MIB);
	}
	for (unsigned i = 0; i < SIM_FRONTS; i++)
		clock_init_fake(&s->front[i].clock, TICKS_UNIX_EPOCH + (1000 + pick(s, 50)) * TICKS_PER_SECOND);
	struct mem_options seeded = { .seed = s->config->seed };
	if (engine_mem_open(&seeded, &s->disk) != ERR_OK)
		abort();
	fronts_open(s);
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

struct audit {
	struct engine *engine;
	uint64_t extents;
	enum err wrong;
	char *text;
};

static enum err apply_audit(struct txn *t, void *call)
{
	struct audit *a = call;
	struct rows rows;
	struct scan_spec spec = { .from = SLICE("b"), .until = SLICE("c") };
	TRY(txn_scan(t, &spec, &rows));
	for (size_t i = 0; i < rows.count; i++) {
		struct record r;
		if (rows.row[i].value.len != sizeof r)
			return ERR_CORRUPT;
		memcpy(&r, rows.row[i].value.ptr, sizeof r);
		if (!r.extent.id)
			continue;
		a->extents++;
		if (!a->wrong)
			a->wrong = extent_check(a->engine, &r);
	}
	return rows.more ? ERR_LIMIT : ERR_OK;
}

/* Every extent that a record names is whole, and there are no others. */
static void audit_extents(struct sim *s)
{
	struct audit a = { .engine = s->front[0].engine };
	struct arena arena;
	struct mem_counts counts;
	bool more = true;
	arena_init(&arena, 16 * MIB);
	for (unsigned p = 0; p < 2; p++)
		if (store_read(s->front[0].store, s->key[p].partition, apply_audit, &a, &arena) != ERR_OK)
			sim_wrong(s, "the records cannot be read");
	while (more)
		if (a.engine->ops->reclaim(a.engine, &more) != ERR_OK)
			break;
	engine_mem_counts(a.engine, &counts);
	if (a.wrong)
		sim_wrong(s, "an extent that a record names: %s", err_name(a.wrong));
	if (counts.extents != a.extents)
		sim_wrong(s, "%llu extents, but records name %llu", (unsigned long long)counts.extents,
			  (unsigned long long)a.extents);
	s->totals->conflicts += counts.conflicts + counts.conflicts_injected;
	s->totals->unknowns += counts.unknown_happened + counts.unknown_lost + counts.unknown_late;
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
	for (unsigned slot = 0; slot < SIM_KEYS && !s->violated; slot++)
		for (unsigned g = 0; g <= s->key[slot].generation; g++) {
			arena_reset(&c->arena);
			c->call = (struct call){ .kind = slot < SIM_BLOBS ? OP_GET : OP_READ };
			c->slot = slot;
			c->generation = g;
			c->front = 0;
			c->call_time = ++s->now;
			for (int i = 0; i < 2; i++)
				if (slot < SIM_BLOBS)
					snprintf(c->call.key[i], sizeof c->call.key[i], "b%u.%u", slot, g);
				else
					snprintf(c->call.key[i], sizeof c->call.key[i], "p%u.%u%c", slot, g, 'a' + i);
			read_begin(s, c);
			if (c->state == CLIENT_READS)
				read_end(s, c);
		}
	if (!s->violated)
		audit_extents(s);
}

static void teardown(struct sim *s)
{
	s->crashed = true; /* late answers are nobody's */
	for (unsigned i = 0; i < s->fronts; i++) {
		engine_mem_interfere(s->front[i].engine, NULL, NULL);
		store_close(s->front[i].store);
	}
	s->disk->ops->close(s->disk);
	for (unsigned i = 0; i < SIM_CLIENTS; i++)
		arena_fini(&s->client[i].arena);
	linear_history_free(s->history);
	free(s);
}

enum linear_answer sim_run(const struct sim_config *config, struct sim_totals *totals, struct buf *why, struct buf *history)
{
	struct sim *s = calloc(1, sizeof *s);
	s->config = config;
	s->totals = totals;
	s->why = why;
	s->history = linear_history_new();
	setup(s);
	uint64_t until = totals->ops + config->ops;
	for (uint64_t events = 0; totals->ops < until && events < 100 * (uint64_t)config->ops && !s->violated; events++) {
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

/* SPDX-License-Identifier: Apache-2.0
 * sim: simulated runs of the store on the mem engine.
 *
 *   sim --seeds N [--first S]  runs seeds S..S+N-1; stops at the first violation and prints its seed
 *   sim --seconds N            as many seeds as fit
 *   sim --seed S               one seed, with its history
 *   sim --mutants              every deliberate fault of the store (and of the engine) must be caught
 *   with --services the real services' operations, not the plain ones
 *   with --contents block lists, pages, appends, snapshots: nothing damaged, nothing leaked
 *   with --files files and snapshots of a share: nothing damaged, nothing leaked, the books agree
 *   with --ops N operations in a run, --mutant M one deliberate fault (store/mutant.h; 100: commits before the sync) */
#include "sim.h"

#include <getopt.h>

enum { MUTANT_VOLATILE_ENGINE = 100, MUTANT_SEEDS_MAX = 2000 };

static const struct sim_service *service = &sim_plain;

static struct sim_config config_of(uint64_t seed, unsigned mutant, unsigned ops)
{
	return (struct sim_config){ .service = service,
				    .seed = seed,
				    .mutant = mutant == MUTANT_VOLATILE_ENGINE ? 0 : mutant,
				    .volatile_commits = mutant == MUTANT_VOLATILE_ENGINE,
				    .ops = ops };
}

static int run_one(uint64_t seed, unsigned mutant, unsigned ops)
{
	struct sim_totals totals = { 0 };
	struct sim_config config = config_of(seed, mutant, ops);
	struct buf why, history;
	buf_init(&why, 16 * MIB);
	buf_init(&history, 64 * MIB);
	enum linear_answer answer = sim_run(&config, &totals, &why, &history);
	printf("%.*s", SLICE_FMT(buf_slice(&history)));
	printf("# seed %llu: %s\n%.*s", (unsigned long long)seed,
	       answer == LINEAR_OK	    ? "fine"
	       : answer == LINEAR_VIOLATION ? "VIOLATION"
					    : "gave up",
	       SLICE_FMT(buf_slice(&why)));
	buf_fini(&why);
	buf_fini(&history);
	return answer == LINEAR_VIOLATION;
}

static int run_many(uint64_t first, uint64_t count, uint64_t seconds, unsigned mutant, unsigned ops)
{
	struct sim_totals t = { 0 };
	uint64_t start = base_monotonic_ns(), ran = 0;
	enum linear_answer answer = LINEAR_OK;
	struct buf why;
	buf_init(&why, 16 * MIB);
	for (; answer != LINEAR_VIOLATION &&
	       (seconds ? base_monotonic_ns() - start < seconds * 1000000000u : ran < count);
	     ran++) {
		struct sim_config config = config_of(first + ran, mutant, ops);
		answer = sim_run(&config, &t, &why, NULL);
	}
	double took = (double)(base_monotonic_ns() - start) / 1e9;
	if (answer == LINEAR_VIOLATION)
		printf("VIOLATION at seed %llu (sim --seed %llu%s):\n%.*s", (unsigned long long)(first + ran - 1),
		       (unsigned long long)(first + ran - 1), mutant ? " --mutant ..." : "",
		       SLICE_FMT(buf_slice(&why)));
	printf("%llu runs in %.1f s (%.0f a minute), %llu operations: %llu acknowledged, %llu refused, %llu open; %llu "
	       "crashes, "
	       "%llu conflicts, %llu unknown outcomes; %llu runs too open to tell\n",
	       (unsigned long long)ran, took, 60 * (double)ran / took, (unsigned long long)t.ops,
	       (unsigned long long)t.acknowledged, (unsigned long long)t.refused, (unsigned long long)t.open,
	       (unsigned long long)t.crashes, (unsigned long long)t.conflicts, (unsigned long long)t.unknowns,
	       (unsigned long long)t.gave_up);
	buf_fini(&why);
	/* A proof that says nothing is a failure too: nearly all runs must end with a verdict. */
	return answer == LINEAR_VIOLATION || t.gave_up * 100 > ran;
}

static bool mutant_caught(unsigned mutant, uint64_t first, unsigned ops)
{
	struct sim_totals totals = { 0 };
	bool caught = false;
	for (uint64_t seed = first; seed < first + MUTANT_SEEDS_MAX && !caught; seed++) {
		struct sim_config config = config_of(seed, mutant, ops);
		struct buf why;
		buf_init(&why, 16 * MIB);
		caught = sim_run(&config, &totals, &why, NULL) == LINEAR_VIOLATION;
		if (caught) {
			struct slice text = buf_slice(&why);
			printf("mutant %u: caught after %llu runs: %.*s\n", mutant, (unsigned long long)totals.runs,
			       SLICE_FMT(slice_first(text, slice_find_byte(text, '\n'))));
		}
		buf_fini(&why);
	}
	if (!caught)
		printf("mutant %u: NOT CAUGHT in %d runs\n", mutant, MUTANT_SEEDS_MAX);
	return caught;
}

static int run_mutants(uint64_t first, unsigned ops)
{
	bool all = true;
	/* Those behind are of several front ends (fronts.c). */
	for (unsigned mutant = 1; mutant <= MUTANT_ENDLESS_LEASES; mutant++)
		/* Leases that end are the services' alone. */
		all &= (mutant == MUTANT_ENDLESS_LEASES && service != &sim_services) ||
		       mutant_caught(mutant, first, ops);
	all &= mutant_caught(MUTANT_ANSWER_EARLY, first, ops);
	all &= mutant_caught(MUTANT_VOLATILE_ENGINE, first, ops);
	return all ? 0 : 1;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seeds", required_argument, NULL, 'n' },
		{ "first", required_argument, NULL, 'f' },
		{ "seconds", required_argument, NULL, 't' },
		{ "seed", required_argument, NULL, 's' },
		{ "ops", required_argument, NULL, 'o' },
		{ "mutant", required_argument, NULL, 'm' },
		{ "mutants", no_argument, NULL, 'M' },
		{ "services", no_argument, NULL, 'S' },
		{ "contents", no_argument, NULL, 'C' },
		{ "files", no_argument, NULL, 'F' },
		{ NULL, 0, NULL, 0 },
	};
	uint64_t count = 1000, first = 1, seconds = 0, seed = 0;
	unsigned mutant = 0, ops = 150;
	bool one = false, mutants = false;
	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		uint64_t n = optarg ? strtoull(optarg, NULL, 10) : 0;
		switch (c) {
		case 'n':
			count = n;
			break;
		case 'f':
			first = n;
			break;
		case 't':
			seconds = n;
			break;
		case 's':
			seed = n;
			one = true;
			break;
		case 'o':
			ops = (unsigned)n;
			break;
		case 'm':
			mutant = (unsigned)n;
			break;
		case 'C':
			service = &sim_contents;
			break;
		case 'S':
			service = &sim_services;
			break;
		case 'F':
			service = &sim_files;
			break;
		case 'M':
			mutants = true;
			break;
		default:
			return 2;
		}
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (one)
		return run_one(seed, mutant, ops);
	return mutants ? run_mutants(first, ops) : run_many(first, count, seconds, mutant, ops);
}

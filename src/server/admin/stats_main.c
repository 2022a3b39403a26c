/* SPDX-License-Identifier: Apache-2.0
 * `zaffre stats`: what /stats of a running server says, as a table for people or as it is. */
#include "server/admin/admin.h"

#include "base/limits.h"
#include "base/sys/clock.h"
#include "server/serve.h"
#include "wire/json.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

enum { WATCH_S = 2, WATCH_MAX_S = 86400 };
#define COUNT_LOOK_NS UINT64_C(50000000)

static double number(const struct json_node *object, const char *name)
{
	const struct json_node *n = json_member(object, name);
	double value = 0;
	return n && json_number_to_double(n->text, &value) ? value : 0;
}

static const struct json_node *list(const struct json_node *object, const char *name)
{
	const struct json_node *n = json_member(object, name);
	return n ? n->child : NULL;
}

/* 1.5 GiB, and the like. */
static const char *bytes(double value, char text[32])
{
	static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	size_t u = 0;
	for (; value >= 1024 && u + 1 < sizeof unit / sizeof *unit; u++)
		value /= 1024;
	snprintf(text, 32, u ? "%.1f %s" : "%.0f %s", value, unit[u]);
	return text;
}

static void put_row(struct buf *out, const char *left, struct slice name, const struct json_node *n)
{
	char in[32], back[32];
	buf_printf(out, "%s%-*.*s %12.0f %9.0f %9.0f %9.2f %9.2f %11s %11s\n", left, 30 - (int)strlen(left),
		   SLICE_FMT(name), number(n, "requests"), number(n, "refused"), number(n, "failed"),
		   number(n, "p50Ms"), number(n, "p99Ms"), bytes(number(n, "bytesIn"), in),
		   bytes(number(n, "bytesOut"), back));
}

static void put_services(struct buf *out, const struct json_node *doc)
{
	buf_printf(out, "\n%-30s %12s %9s %9s %9s %9s %11s %11s\n", "SERVICE", "REQUESTS", "4XX", "5XX", "P50 MS",
		   "P99 MS", "IN", "OUT");
	for (const struct json_node *s = list(doc, "services"); s; s = s->next) {
		put_row(out, "", json_member_string(s, "service"), s);
		for (const struct json_node *o = list(s, "operations"); o; o = o->next)
			put_row(out, "  ", json_member_string(o, "operation"), o);
	}
}

/* Exact where a quota asks for it, else as the last walk found it. */
static void put_account(struct buf *out, const struct json_node *a)
{
	const struct json_node *holds = json_member(a, "holds");
	char objects[32] = "-", stored[32] = "-", when[64] = "not counted yet";
	if (holds) {
		snprintf(objects, sizeof objects, "%.0f", number(holds, "objects"));
		snprintf(when, sizeof when, "counted %.0f s ago", number(holds, "countedSecondsAgo"));
		bytes(number(holds, "bytes"), stored);
	}
	if (json_member(a, "storedBytes"))
		bytes(number(a, "storedBytes"), stored);
	buf_printf(out, "%-30.*s %12.0f %9.0f %12s %11s  %s\n", SLICE_FMT(json_member_string(a, "account")),
		   number(a, "requests"), number(a, "refused"), objects, stored, when);
}

static void put_accounts(struct buf *out, const struct json_node *doc)
{
	buf_printf(out, "\n%-30s %12s %9s %12s %11s\n", "ACCOUNT", "REQUESTS", "REFUSED", "OBJECTS", "STORED");
	for (const struct json_node *a = list(doc, "accounts"); a; a = a->next)
		put_account(out, a);
}

static void put_table(struct buf *out, const struct json_node *doc)
{
	const struct json_node *commits = json_member(doc, "commits"), *cache = json_member(doc, "cache"),
			       *disk = json_member(doc, "disk"), *memory = json_member(doc, "memory"),
			       *leases = json_member(doc, "leases"), *conflicts = json_member(doc, "conflicts");
	char a[32], b[32], c[32];
	unsigned long up = (unsigned long)number(doc, "uptimeSeconds");
	buf_printf(out, "zaffre %.*s, up %lu d %02lu:%02lu:%02lu, %.0f connections, %.0f requests (%.0f aborted)\n",
		   SLICE_FMT(json_member_string(doc, "version")), up / 86400, up / 3600 % 24, up / 60 % 60, up % 60,
		   number(doc, "connections"), number(doc, "requests"), number(doc, "aborted"));
	buf_printf(out, "commits    %.0f transactions in %.0f groups (%.2f each), sync %.2f ms, %.0f wait\n",
		   number(commits, "transactions"), number(commits, "groups"), number(commits, "groupSize"),
		   number(commits, "syncMs"), number(commits, "queue"));
	buf_printf(out, "cache      %.1f %% of %.0f reads; row index %.1f %% of what is left; %.0f wait for a worker\n",
		   number(cache, "hitRate") * 100, number(cache, "hits") + number(cache, "misses"),
		   number(cache, "indexRate") * 100, number(doc, "workQueue"));
	buf_printf(out, "memory     %s resident; requests hold %s of %s\n", bytes(number(memory, "residentBytes"), a),
		   bytes(number(memory, "requestBytes"), b), bytes(number(memory, "requestLimitBytes"), c));
	const struct json_node *is_short = json_member(disk, "short");
	buf_printf(out, "disk       %s free%s; extents %s, and %.0f deleted ones wait to be reclaimed\n",
		   bytes(number(disk, "freeBytes"), a),
		   is_short && slice_eq(is_short->text, SLICE("true")) ? " (NEARLY FULL: writes are refused)" : "",
		   bytes(number(disk, "extentLiveBytes"), b), number(disk, "reclaimWaiting"));
	buf_printf(out, "leases     %.0f blob, %.0f container, %.0f file, %.0f share\n", number(leases, "blob"),
		   number(leases, "container"), number(leases, "file"), number(leases, "share"));
	buf_printf(out, "conflicts  %.0f condition, %.0f lease, %.0f exists, %.0f open, %.0f state\n",
		   number(conflicts, "condition"), number(conflicts, "lease"), number(conflicts, "exists"),
		   number(conflicts, "open"), number(conflicts, "state"));
	put_services(out, doc);
	put_accounts(out, doc);
}

/* ---- a count of what accounts hold ---- */

struct counting {
	double run, done, objects, seconds;
	char account[64], reason[64];
};

static bool counting_ask(const struct config *config, struct slice target, struct counting *ret)
{
	struct buf answer;
	struct arena arena;
	struct json_node *doc;
	buf_init(&answer, MIB);
	arena_init(&arena, 16 * MIB);
	bool ok = admin_ask(config, "POST", target, &answer) == 200 &&
		  json_parse(buf_slice(&answer), &arena, 4, &doc) == ERR_OK;
	if (ok) {
		*ret = (struct counting){ .run = number(doc, "run"),
					  .done = number(doc, "done"),
					  .objects = number(doc, "objects"),
					  .seconds = number(doc, "seconds") };
		struct slice account = json_member_string(doc, "account"), reason = json_member_string(doc, "reason");
		snprintf(ret->account, sizeof ret->account, "%.*s", SLICE_FMT(account));
		snprintf(ret->reason, sizeof ret->reason, "%.*s", SLICE_FMT(reason));
	}
	arena_fini(&arena);
	buf_fini(&answer);
	return ok;
}

/* Lets the server count now and waits for the end, with a line on a terminal that says how far it is. */
static bool count_now(const struct config *config)
{
	struct counting c;
	bool line = isatty(STDERR_FILENO);
	if (!counting_ask(config, SLICE("/count/start"), &c))
		return false;
	double run = c.run;
	while (c.done < run) {
		base_sleep_ns(COUNT_LOOK_NS);
		if (!counting_ask(config, SLICE("/count/progress"), &c))
			return false;
		if (line)
			fprintf(stderr, "\r\033[Kcounting: %.0f objects, at account %s, %.0f s", c.objects, c.account,
				c.seconds);
	}
	if (line)
		fprintf(stderr, "\r\033[K");
	if (c.reason[0])
		fprintf(stderr, "zaffre: the count failed (%s); `zaffre scrub` finds what is damaged\n", c.reason);
	return !c.reason[0];
}

/* Once. False: the server did not answer, and that was said. */
static bool show(const struct config *config, bool json, bool clear)
{
	struct buf answer, table;
	struct arena arena;
	struct json_node *doc;
	buf_init(&answer, 16 * MIB);
	buf_init(&table, 16 * MIB);
	arena_init(&arena, 64 * MIB);
	bool ok = admin_ask(config, "GET", SLICE("/stats"), &answer) == 200;
	if (ok && !json && (ok = json_parse(buf_slice(&answer), &arena, 8, &doc) == ERR_OK))
		put_table(&table, doc);
	struct slice text = json ? buf_slice(&answer) : buf_slice(&table);
	if (ok) {
		printf("%s%.*s", clear ? "\033[H\033[2J" : "", SLICE_FMT(text));
		ok = fflush(stdout) == 0;
	}
	arena_fini(&arena);
	buf_fini(&table);
	buf_fini(&answer);
	return ok;
}

struct stats_words {
	bool json, count;
	uint64_t watch_s; /* 0: once */
	int argc;
	char **argv; /* what is left for the settings */
};

static bool words_take(struct stats_words *w, int argc, char **argv)
{
	w->argv = argv;
	for (int i = 0; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0) {
			w->json = true;
		} else if (strcmp(argv[i], "--count") == 0) {
			w->count = true;
		} else if (strcmp(argv[i], "--watch") == 0) {
			w->watch_s = WATCH_S;
			if (i + 1 < argc && argv[i + 1][0] != '-' &&
			    (!slice_to_u64(slice_str(argv[++i]), &w->watch_s) || !w->watch_s ||
			     w->watch_s > WATCH_MAX_S))
				return false;
		} else {
			w->argv[w->argc++] = argv[i];
		}
	}
	return true;
}

int admin_stats_main(int argc, char **argv)
{
	struct config config;
	struct buf error;
	struct stats_words w = { 0 };
	if (!words_take(&w, argc, argv)) {
		say_error(SLICE("zaffre stats [--count] [--json] [--watch [SECONDS]] [OPTIONS]: 1 to 86400 seconds"));
		return EXIT_USAGE;
	}
	int status = EXIT_USAGE;
	buf_init(&error, 64 * KIB);
	if (!config_parse(&config, w.argc, w.argv, environ, &error)) {
		say_error(buf_slice(&error));
	} else {
		bool clear = w.watch_s && !w.json && isatty(STDOUT_FILENO);
		bool ok = (!w.count || count_now(&config)) && show(&config, w.json, clear);
		while (ok && w.watch_s) {
			base_sleep_ns(w.watch_s * UINT64_C(1000000000));
			ok = show(&config, w.json, clear);
		}
		status = ok ? 0 : 1;
	}
	config_fini(&config);
	buf_fini(&error);
	return status;
}

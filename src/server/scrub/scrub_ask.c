/* SPDX-License-Identifier: Apache-2.0
 * Asking a running server to scrub itself. See scrub_ask.h. */
#include "server/scrub/scrub_ask.h"

#include "base/sys/clock.h"
#include "server/admin/admin.h"
#include "server/scrub/scrub.h"
#include "server/serve.h"
#include "wire/json.h"

#include <signal.h>
#include <unistd.h>

#define LOOK_EVERY_NS UINT64_C(100000000)

static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
	interrupted = 1;
}

/* The first one cancels; the next one ends this program, and the server goes on to the end of the cancelling. */
static void signals_take(void)
{
	struct sigaction action = { .sa_handler = interrupt, .sa_flags = SA_RESETHAND };
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

struct asking {
	const struct config *config;
	struct scrub_bar bar;
	struct scrub_figures figures;
	uint64_t found; /* printed so far */
	bool running, done, space_checked;
	char reason[512];
};

static double number_of(const struct json_node *object, const char *name)
{
	const struct json_node *n = json_member(object, name);
	double value = 0;
	return n && json_number_to_double(n->text, &value) ? value : 0;
}

static void take_findings(struct asking *a, const struct json_node *object)
{
	const struct json_node *list = json_member(object, "findings");
	for (const struct json_node *n = list ? list->child : NULL; n; n = n->next, a->found++)
		scrub_bar_damage(&a->bar, n->text);
}

static bool take_progress(struct asking *a, struct slice text)
{
	struct arena arena;
	struct json_node *object;
	arena_init(&arena, 64 * MIB);
	bool ok = json_parse(text, &arena, 4, &object) == ERR_OK;
	if (ok) {
		struct slice state = json_member_string(object, "state");
		const struct json_node *space = json_member(object, "spaceChecked");
		a->running = slice_eq(state, SLICE("running"));
		a->done = slice_eq(state, SLICE("done"));
		a->space_checked = space && slice_eq(space->text, SLICE("true"));
		snprintf(a->reason, sizeof a->reason, "%.*s", SLICE_FMT(json_member_string(object, "reason")));
		a->figures = (struct scrub_figures){ .partitions = (uint64_t)number_of(object, "partitions"),
						     .rows = (uint64_t)number_of(object, "rows"),
						     .extents = (uint64_t)number_of(object, "extents"),
						     .extent_bytes = (uint64_t)number_of(object, "bytes"),
						     .damaged = (uint64_t)number_of(object, "damaged"),
						     .percent = (int)number_of(object, "percent"),
						     .seconds = number_of(object, "seconds"),
						     .seconds_left = number_of(object, "secondsLeft") };
		take_findings(a, object);
	}
	arena_fini(&arena);
	return ok;
}

/* False: the server said no, or is gone; that was printed. */
static bool ask(struct asking *a, const char *target)
{
	struct buf out;
	buf_init(&out, 16 * MIB);
	int status = admin_ask(a->config, "POST", slice_str(target), &out);
	bool ok = status == 200 && take_progress(a, buf_slice(&out));
	if (status && !ok)
		fprintf(stderr, "zaffre: %.*s", SLICE_FMT(buf_slice(&out)));
	buf_fini(&out);
	return ok;
}

static bool follow(struct asking *a)
{
	bool cancelled = false;
	char target[64];
	while (a->running) {
		base_sleep_ns(LOOK_EVERY_NS);
		if (interrupted && !cancelled) {
			struct buf out;
			buf_init(&out, 16 * MIB);
			admin_ask(a->config, "POST", SLICE("/scrub/cancel"), &out);
			buf_fini(&out);
			cancelled = true;
		}
		snprintf(target, sizeof target, "/scrub/progress?from=%llu", (unsigned long long)a->found);
		if (!ask(a, target))
			return false;
		if (a->running)
			scrub_bar_show(&a->bar, &a->figures, false);
	}
	return true;
}

static int outcome(struct asking *a)
{
	scrub_bar_show(&a->bar, &a->figures, true);
	scrub_summary_print(&a->figures);
	if (a->figures.damaged > a->found)
		printf("(the first %llu of them are listed, the server's log has all)\n", (unsigned long long)a->found);
	if (a->done && !a->space_checked)
		puts("(whether extents share space was not compared: it took longer than one moment may be held, or "
		     "they are too many)");
	if (!a->done) {
		struct buf line;
		buf_init(&line, 4096);
		buf_printf(&line, "not everything was looked at: %s", a->reason[0] ? a->reason : "cancelled");
		say_error(buf_slice(&line));
		buf_fini(&line);
	}
	return a->figures.damaged ? SCRUB_DAMAGED : a->done ? SCRUB_CLEAN : SCRUB_CANNOT_RUN;
}

int scrub_ask(const struct config *config, bool rate_given, uint64_t rate_mb)
{
	struct asking a = { .config = config, .bar.terminal = isatty(STDERR_FILENO) };
	char target[64];
	signals_take();
	if (rate_given)
		snprintf(target, sizeof target, "/scrub/start?rate=%llu", (unsigned long long)rate_mb);
	else
		snprintf(target, sizeof target, "/scrub/start");
	if (!ask(&a, target) || !follow(&a))
		return a.figures.damaged ? SCRUB_DAMAGED : SCRUB_CANNOT_RUN;
	return outcome(&a);
}

int scrub_ask_cancel(const struct config *config)
{
	struct buf out;
	buf_init(&out, 16 * MIB);
	int status = admin_ask(config, "POST", SLICE("/scrub/cancel"), &out);
	if (status && status != 200)
		fprintf(stderr, "zaffre: %.*s", SLICE_FMT(buf_slice(&out)));
	buf_fini(&out);
	return status == 200 ? 0 : 1;
}

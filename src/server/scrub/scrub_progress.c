/* SPDX-License-Identifier: Apache-2.0
 * How far a scrub is, how fast it may be, and how that is shown. */
#include "server/scrub/scrub.h"

#include "base/sys/clock.h"

/* Of the work a row counts one, and so do 16 KiB of an extent. */
enum { WORK_BYTES = 16 * 1024 };
#define SHOW_NS	 UINT64_C(200000000)
#define LINES_NS UINT64_C(5000000000)
/* With a rate: how far ahead it may be before it waits, for how long at once, and how much of the time in which it was
 * slower it may make up for. */
#define AHEAD_NS UINT64_C(2000000)
#define NAP_NS	 UINT64_C(20000000)
#define BURST_NS UINT64_C(100000000)

void scrub_begin(struct scrub *s)
{
	struct engine_stats stats;
	struct engine *engine = store_engine(s->store);
	engine->ops->stats(engine, &stats);
	s->work_total = engine_rocks_estimate_rows(engine) + stats.extent_bytes_live / WORK_BYTES + 1;
	s->begun_ns = base_monotonic_ns();
}

/* Waits until what was read is paid for. */
static void rate_wait(struct scrub *s)
{
	uint64_t now = base_monotonic_ns(), bytes = s->row_bytes + s->extent_bytes;
	if (s->paid_ns + BURST_NS < now)
		s->paid_ns = now - BURST_NS;
	s->paid_ns += (uint64_t)((double)(bytes - s->paid_for) * 1e9 / (double)s->rate_bytes);
	s->paid_for = bytes;
	while (s->pause != SCRUB_STOP && s->paid_ns > now + AHEAD_NS) {
		base_sleep_ns(s->paid_ns - now < NAP_NS ? s->paid_ns - now : NAP_NS);
		s->sink.progress(s->sink.arg, s, false);
		now = base_monotonic_ns();
	}
}

void scrub_progress(struct scrub *s, bool end)
{
	s->sink.progress(s->sink.arg, s, end);
	if (s->rate_bytes && !end)
		rate_wait(s);
}

struct scrub_figures scrub_figures(const struct scrub *s, bool end)
{
	uint64_t work = s->rows + s->extent_bytes / WORK_BYTES;
	struct scrub_figures f = { .partitions = s->partitions,
				   .rows = s->rows,
				   .extents = s->extents,
				   .extent_bytes = s->extent_bytes,
				   .damaged = s->damaged,
				   .seconds = (double)(base_monotonic_ns() - s->begun_ns) / 1e9 };
	/* The total is an estimate: 100 % is shown at the end only. */
	f.percent = end ? 100 : work >= s->work_total ? 99 : (int)(work * 100 / s->work_total);
	f.seconds_left = end || work == 0	 ? 0
			 : work >= s->work_total ? 1
						 : f.seconds * (double)(s->work_total - work) / (double)work;
	return f;
}

void scrub_bar_show(struct scrub_bar *b, const struct scrub_figures *f, bool end)
{
	static const char bar[] = "########################################";
	uint64_t now = base_monotonic_ns();
	if (!b->shown_ns)
		b->shown_ns = now;
	if (!end && now - b->shown_ns < (b->terminal ? SHOW_NS : LINES_NS))
		return;
	b->shown_ns = now;
	double mib = (double)f->extent_bytes / (double)MIB;
	if (b->terminal)
		fprintf(stderr, "\r[%-40.*s] %3d%%, %.0f s left, %llu rows, %.1f MiB in extents, %llu damaged\033[K%s",
			f->percent * 2 / 5, bar, f->percent, f->seconds_left, (unsigned long long)f->rows, mib,
			(unsigned long long)f->damaged, end ? "\n" : "");
	else
		fprintf(stderr, "%d%%, %.0f s left, %llu rows, %.1f MiB in extents, %llu damaged\n", f->percent,
			f->seconds_left, (unsigned long long)f->rows, mib, (unsigned long long)f->damaged);
}

void scrub_bar_damage(const struct scrub_bar *b, struct slice line)
{
	if (b->terminal)
		fprintf(stderr, "\r\033[K");
	printf("damaged: %.*s\n", SLICE_FMT(line));
	fflush(stdout);
}

void scrub_summary_print(const struct scrub_figures *f)
{
	printf("%llu partitions, %llu rows, %llu extents with %llu bytes: %llu damaged\n",
	       (unsigned long long)f->partitions, (unsigned long long)f->rows, (unsigned long long)f->extents,
	       (unsigned long long)f->extent_bytes, (unsigned long long)f->damaged);
}

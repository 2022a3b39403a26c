/* SPDX-License-Identifier: Apache-2.0
 * The scrub of a running server. See scrub_job.h. */
#include "server/scrub/scrub_job.h"

#include "base/sys/log.h"
#include "base/sys/thread.h"
#include "server/checkpoint/clone.h"
#include "server/house.h"
#include "server/scrub/scrub.h"
#include "server/scrub/scrub_ask.h"
#include "wire/date.h"
#include "wire/json.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

enum {
	RATE_MB = 64, /* a core verifies twenty times as much */
	HOLD_S = 600,
	HOLD_MAX_S = 7 * 86400,
	FINDINGS_MAX = 1000,   /* kept for the asker; the log has all */
	EXTENTS_MAX = 2000000, /* whose space is compared: 64 MB */
	FINDINGS_BYTES = 4 * 1024 * 1024,
};

enum job_state { JOB_NONE, JOB_RUNNING, JOB_DONE, JOB_CANCELLED, JOB_FAILED };
static const char *const state_word[] = { "none", "running", "done", "cancelled", "failed" };

struct scrub_job {
	struct store *store;
	char path[PATH_MAX]; /* of the folder of its moments; empty: cannot */
	pthread_mutex_t lock;
	pthread_t thread;
	bool thread_is_there; /* to be joined */
	bool closed;	      /* none begins any more */
	bool cancel;
	enum job_state state;
	uint64_t rate_mb, hold_s;
	uint64_t started_ticks, ended_ticks;
	struct scrub_figures figures;
	bool space_checked;
	char reason[512];      /* why it failed */
	struct buf findings;   /* lines */
	size_t finding_count;  /* of them */
	struct rest_jobs done; /* by those that ended */
	/* the thread's own */
	struct scrub scrub;
	uint64_t moment_ns; /* when the moment at hand began */
};

static void job_lock(struct scrub_job *j)
{
	pthread_mutex_lock(&j->lock);
}

static void job_unlock(struct scrub_job *j)
{
	pthread_mutex_unlock(&j->lock);
}

/* ---- what the walk tells ---- */

static void take_damage(void *arg, const char *line)
{
	struct scrub_job *j = arg;
	log_error("scrub: damaged: %s", line);
	job_lock(j);
	if (j->finding_count < FINDINGS_MAX) {
		buf_put(&j->findings, slice_str(line));
		BUF_PUT(&j->findings, "\n");
		j->finding_count++;
	}
	job_unlock(j);
}

static void take_progress(void *arg, struct scrub *s, bool end)
{
	struct scrub_job *j = arg;
	struct scrub_figures figures = scrub_figures(s, end);
	job_lock(j);
	j->figures = figures;
	if (j->cancel)
		s->pause = SCRUB_STOP;
	else if (s->pause == SCRUB_GO && !s->hunting &&
		 base_monotonic_ns() - j->moment_ns > j->hold_s * UINT64_C(1000000000))
		s->pause = SCRUB_LATER;
	job_unlock(j);
}

/* ---- the thread ---- */

/* A walk over one moment, which is held. *ret_whole: it saw everything. */
static enum err moment_walk(struct scrub_job *j, bool first, bool *ret_whole, struct buf *error)
{
	struct scrub *s = &j->scrub;
	struct engine *engine;
	struct store_options options = { .clock = store_clock(j->store), .cache_off = true, .manual = true };
	TRY(engine_rocks_moment_open(store_engine(j->store), j->path, &engine, error));
	TRY(store_open(engine, &options, &s->store));
	if (first)
		scrub_begin(s);
	enum err err = scrub_walk(s);
	*ret_whole = err == ERR_OK && s->pause == SCRUB_GO;
	if (*ret_whole && first && !s->named_lost) {
		err = scrub_walk_space(s);
		job_lock(j);
		j->space_checked = err == ERR_OK && s->pause == SCRUB_GO;
		job_unlock(j);
	}
	store_close(s->store);
	s->store = NULL;
	return err;
}

static enum err walk_on(struct scrub_job *j, bool first, bool *ret_whole, struct buf *error)
{
	struct engine *engine = store_engine(j->store);
	struct rocks_moment moment;
	char db[PATH_MAX + 8];
	snprintf(db, sizeof db, "%s/db", j->path);
	clone_remove_tree(j->path);
	if (mkdir(j->path, 0700) != 0) {
		buf_printf(error, "cannot make %s: %m", j->path);
		return ERR_IO;
	}
	enum err err = engine_rocks_moment_begin(engine, db, &moment, error);
	if (err == ERR_OK) {
		j->moment_ns = base_monotonic_ns();
		err = moment_walk(j, first, ret_whole, error);
		engine_rocks_moment_end(engine, &moment);
	}
	clone_remove_tree(j->path);
	return err;
}

static void job_settle(struct scrub_job *j, enum err err, bool whole, struct buf *error)
{
	struct scrub *s = &j->scrub;
	if (err == ERR_CORRUPT) {
		buf_put_byte(error, 0);
		scrub_line_say(s, buf_ok(error) ? error->ptr : err_name(err));
	}
	job_lock(j);
	j->figures = scrub_figures(s, whole);
	j->state = err != ERR_OK ? JOB_FAILED : whole ? JOB_DONE : JOB_CANCELLED;
	j->ended_ticks = clock_now(store_clock(j->store));
	if (err != ERR_OK)
		snprintf(j->reason, sizeof j->reason, "%.*s", (int)error->len, error->len ? error->ptr : "");
	if (err != ERR_OK && !j->reason[0])
		snprintf(j->reason, sizeof j->reason, "%s", err_name(err));
	j->done.scrubs_done += j->state == JOB_DONE;
	j->done.scrub_rows += s->rows;
	j->done.scrub_bytes += s->extent_bytes;
	j->done.scrub_damaged += s->damaged;
	if (j->state == JOB_DONE)
		j->done.scrub_end_s = (j->ended_ticks - TICKS_UNIX_EPOCH) / TICKS_PER_SECOND;
	const struct scrub_figures f = j->figures;
	const char *word = state_word[j->state];
	job_unlock(j);
	log_info("scrub %s: %llu rows, %llu extents with %llu bytes, %llu damaged, %.1f s%s%s", word,
		 (unsigned long long)f.rows, (unsigned long long)f.extents, (unsigned long long)f.extent_bytes,
		 (unsigned long long)f.damaged, f.seconds, err != ERR_OK ? ": " : "", err != ERR_OK ? j->reason : "");
}

static void *job_main(void *arg)
{
	struct scrub_job *j = arg;
	struct scrub *s = &j->scrub;
	struct buf error;
	bool whole = false;
	enum err err = ERR_OK;
	buf_init(&error, 64 * KIB);
	pthread_setname_np(pthread_self(), "scrub");
	thread_lower_priority(THREAD_TIDIES);
	s->extent = malloc(LIMIT_EXTENT_BYTES);
	if (!s->extent)
		err = ERR_NO_MEMORY;
	for (bool first = true; err == ERR_OK && !whole && s->pause != SCRUB_STOP; first = false)
		err = walk_on(j, first, &whole, &error);
	job_settle(j, err, whole && s->pause == SCRUB_GO, &error);
	scrub_fini(s);
	buf_fini(&error);
	return NULL;
}

/* ---- commands ---- */

static void put_findings(const struct scrub_job *j, uint64_t from, struct buf *out)
{
	struct slice rest = buf_slice(&j->findings);
	uint64_t at = 0;
	bool any = false;
	BUF_PUT(out, ",\n\"findings\":[");
	while (rest.len) {
		struct slice line = slice_cut(&rest, '\n');
		if (at++ < from)
			continue;
		buf_put(out, any ? SLICE(",\n\"") : SLICE("\n\""));
		json_put_text(out, line);
		BUF_PUT(out, "\"");
		any = true;
	}
	BUF_PUT(out, "]");
}

static void put_time(struct buf *out, const char *name, uint64_t ticks)
{
	char text[DATE_ISO_BYTES];
	if (!ticks) {
		buf_printf(out, ",\"%s\":null", name);
		return;
	}
	date_format_iso(ticks, text);
	buf_printf(out, ",\"%s\":\"%.*s\"", name, (int)sizeof text, text);
}

/* Under the lock. */
static void put_progress(const struct scrub_job *j, uint64_t from, struct buf *out)
{
	const struct scrub_figures *f = &j->figures;
	buf_printf(out, "{\"state\":\"%s\",\"percent\":%d", state_word[j->state], f->percent);
	buf_printf(out, ",\"seconds\":%.3f,\"secondsLeft\":%.1f", f->seconds, f->seconds_left);
	buf_printf(out, ",\"partitions\":%llu,\"rows\":%llu,\"extents\":%llu,\"bytes\":%llu,\"damaged\":%llu",
		   (unsigned long long)f->partitions, (unsigned long long)f->rows, (unsigned long long)f->extents,
		   (unsigned long long)f->extent_bytes, (unsigned long long)f->damaged);
	buf_printf(out, ",\"rateMB\":%llu,\"spaceChecked\":%s", (unsigned long long)j->rate_mb,
		   j->space_checked ? "true" : "false");
	put_time(out, "started", j->started_ticks);
	put_time(out, "ended", j->ended_ticks);
	BUF_PUT(out, ",\"reason\":\"");
	json_put_text(out, slice_str(j->reason));
	BUF_PUT(out, "\"");
	put_findings(j, from, out);
	BUF_PUT(out, "}\n");
}

static bool take_number(const struct query *q, struct slice name, uint64_t most, uint64_t *value)
{
	struct slice text = query_get(q, name);
	return !slice_is_set(text) || (slice_to_u64(text, value) && *value <= most);
}

/* Under the lock. */
static bool begin(struct scrub_job *j, uint64_t rate_mb, uint64_t hold_s)
{
	if (j->thread_is_there)
		pthread_join(j->thread, NULL); /* it has nothing left to do */
	j->thread_is_there = false;
	memset(&j->scrub, 0, sizeof j->scrub);
	j->scrub.sink = (struct scrub_sink){ j, take_damage, take_progress };
	j->scrub.rate_bytes = rate_mb * 1000000;
	j->scrub.named_max = EXTENTS_MAX;
	j->scrub.begun_ns = base_monotonic_ns();
	j->rate_mb = rate_mb;
	j->hold_s = hold_s;
	j->figures = (struct scrub_figures){ 0 };
	j->cancel = j->space_checked = false;
	j->reason[0] = 0;
	j->started_ticks = clock_now(store_clock(j->store));
	j->ended_ticks = 0;
	buf_clear(&j->findings);
	j->finding_count = 0;
	j->thread_is_there = pthread_create(&j->thread, NULL, job_main, j) == 0;
	if (j->thread_is_there)
		j->state = JOB_RUNNING;
	return j->thread_is_there;
}

static int start_locked(struct scrub_job *j, uint64_t rate_mb, uint64_t hold_s, struct buf *out)
{
	int status = 409;
	if (!j->path[0])
		BUF_PUT(out, "this server keeps its data in memory: there is nothing to scrub\n");
	else if (j->state == JOB_RUNNING)
		buf_printf(out,
			   "a scrub of this server is running, it is at %d %%: wait for it, or end it with `zaffre "
			   "scrub --cancel`\n",
			   j->figures.percent);
	else if (j->closed)
		BUF_PUT(out, "the server is ending\n");
	else if (!begin(j, rate_mb, hold_s)) {
		BUF_PUT(out, "no thread for a scrub\n");
		status = 500;
	} else {
		put_progress(j, 0, out);
		status = 200;
	}
	return status;
}

int scrub_job_start(struct house *h, const struct query *q, struct buf *out)
{
	struct scrub_job *j = h->scrub;
	uint64_t rate_mb = RATE_MB, hold_s = HOLD_S;
	if (!take_number(q, SLICE("rate"), SCRUB_RATE_MAX_MB, &rate_mb) ||
	    !take_number(q, SLICE("hold"), HOLD_MAX_S, &hold_s)) {
		BUF_PUT(out, "rate is a number of MB a second, hold one of seconds\n");
		return 400;
	}
	job_lock(j);
	int status = start_locked(j, rate_mb, hold_s, out);
	job_unlock(j);
	if (status == 200)
		log_info("a scrub begins, %llu MB/s at most", (unsigned long long)rate_mb);
	return status;
}

int scrub_job_progress(struct house *h, const struct query *q, struct buf *out)
{
	struct scrub_job *j = h->scrub;
	uint64_t from = 0;
	if (!take_number(q, SLICE("from"), UINT64_MAX, &from)) {
		BUF_PUT(out, "from is a number of findings\n");
		return 400;
	}
	job_lock(j);
	put_progress(j, from, out);
	job_unlock(j);
	return 200;
}

int scrub_job_cancel(struct house *h, const struct query *q, struct buf *out)
{
	struct scrub_job *j = h->scrub;
	job_lock(j);
	bool running = j->state == JOB_RUNNING;
	j->cancel = running;
	if (running)
		put_progress(j, 0, out);
	else
		BUF_PUT(out, "no scrub of this server is running\n");
	job_unlock(j);
	return running ? 200 : 409;
}

/* ---- life ---- */

struct scrub_job *scrub_job_new(struct store *store, const char *data_dir)
{
	struct scrub_job *j = calloc(1, sizeof *j);
	if (!j)
		return NULL;
	j->store = store;
	pthread_mutex_init(&j->lock, NULL);
	buf_init(&j->findings, FINDINGS_BYTES);
	if (data_dir && snprintf(j->path, sizeof j->path, "%s/" SCRUB_STAGING, data_dir) >= PATH_MAX - 16)
		j->path[0] = 0;
	if (j->path[0])
		clone_remove_tree(j->path);
	return j;
}

void scrub_job_end(struct scrub_job *j)
{
	if (!j)
		return;
	job_lock(j);
	j->closed = j->cancel = true;
	bool join = j->thread_is_there;
	j->thread_is_there = false;
	job_unlock(j);
	if (join)
		pthread_join(j->thread, NULL);
}

void scrub_job_free(struct scrub_job *j)
{
	if (!j)
		return;
	buf_fini(&j->findings);
	pthread_mutex_destroy(&j->lock);
	free(j);
}

void scrub_job_count(struct scrub_job *j, struct rest_jobs *ret)
{
	job_lock(j);
	*ret = j->done;
	ret->scrub_running = j->state == JOB_RUNNING;
	if (ret->scrub_running) {
		ret->scrub_rows += j->figures.rows;
		ret->scrub_bytes += j->figures.extent_bytes;
		ret->scrub_damaged += j->figures.damaged;
	}
	job_unlock(j);
}

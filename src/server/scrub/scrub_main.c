/* SPDX-License-Identifier: Apache-2.0
 * `zaffre scrub`: of a data directory that nobody uses it reads everything itself, and writes nothing but what opening
 * the store writes; of a running server it asks the server (scrub_ask.c).
 * Exit status 0: clean, 1: damage was found, 2: it could not look at everything. */
#include "server/scrub/scrub_ask.h"

#include "server/admin/admin.h"
#include "server/datadir.h"
#include "server/scrub/scrub.h"
#include "server/serve.h"

#include <stdlib.h>
#include <unistd.h>

extern char **environ;

static void show_damage(void *arg, const char *line)
{
	scrub_bar_damage(arg, slice_str(line));
}

static void show_progress(void *arg, struct scrub *s, bool end)
{
	struct scrub_figures figures = scrub_figures(s, end);
	scrub_bar_show(arg, &figures, end);
}

static enum err store_check(struct scrub *s)
{
	s->extent = malloc(LIMIT_EXTENT_BYTES);
	if (!s->extent)
		return ERR_NO_MEMORY;
	scrub_begin(s);
	TRY(scrub_walk(s));
	TRY(scrub_walk_space(s));
	scrub_progress(s, true);
	return ERR_OK;
}

static int scrub_run(struct scrub *s, const char *path, struct buf *error)
{
	struct engine *engine;
	struct clock clock;
	struct rocks_options rocks = { .dir = ".", .name = path };
	clock_init_wall(&clock, NULL);
	enum err err = engine_rocks_open(&rocks, &engine, error);
	if (err == ERR_OK) {
		/* Manual: nothing is reclaimed while it is looked at. */
		struct store_options options = { .clock = &clock, .cache_off = true, .manual = true };
		err = store_open(engine, &options, &s->store);
		if (err != ERR_OK)
			buf_printf(error, "cannot open the store in %s: %s", path, err_name(err));
	}
	if (err != ERR_OK)
		return err == ERR_CORRUPT ? SCRUB_DAMAGED : SCRUB_CANNOT_RUN;
	err = store_check(s);
	struct scrub_figures figures = scrub_figures(s, true);
	if (err == ERR_OK)
		scrub_summary_print(&figures);
	else
		buf_printf(error, "%s: not everything could be looked at: %s", path, err_name(err));
	store_close(s->store);
	return err != ERR_OK ? SCRUB_CANNOT_RUN : s->damaged ? SCRUB_DAMAGED : SCRUB_CLEAN;
}

static int scrub_stopped(const struct config *config, uint64_t rate_mb)
{
	struct datadir data;
	struct buf error;
	struct scrub_bar bar = { .terminal = isatty(STDERR_FILENO) };
	struct scrub s = { .sink = { &bar, show_damage, show_progress }, .rate_bytes = rate_mb * 1000000 };
	int status = SCRUB_CANNOT_RUN;
	buf_init(&error, 64 * KIB);
	if (datadir_open(&data, config->location, false, &error) && /* zeroes `data` first */
	    datadir_become_owner(&data, &error)) {
		if (datadir_mode_is_damaged(&data)) {
			puts("damaged: the file MODE");
			s.damaged++;
		}
		status = scrub_run(&s, data.path, &error);
	}
	if (error.len)
		say_error(buf_slice(&error));
	scrub_fini(&s);
	datadir_close(&data);
	buf_fini(&error);
	return status;
}

/* ---- the command line ---- */

struct scrub_words {
	bool rate_given, cancel;
	uint64_t rate_mb;
	int argc; /* what is left for the settings */
	char **argv;
};

/* Takes the flags that are scrub's own out of the arguments. */
static bool words_take(struct scrub_words *w, int argc, char **argv)
{
	w->argv = argv;
	for (int i = 0; i < argc; i++) {
		struct slice word = slice_str(argv[i]);
		if (slice_eq(word, SLICE("--cancel"))) {
			w->cancel = true;
			continue;
		}
		if (!slice_eq(word, SLICE("--rate")) && !slice_has_prefix(word, SLICE("--rate="))) {
			w->argv[w->argc++] = argv[i];
			continue;
		}
		struct slice number = word.len > 6 ? slice_from(word, 7) : ++i < argc ? slice_str(argv[i]) : SLICE("");
		w->rate_given = true;
		if (!slice_to_u64(number, &w->rate_mb) || w->rate_mb > SCRUB_RATE_MAX_MB)
			return false;
	}
	return true;
}

int scrub_main(int argc, char **argv)
{
	struct config config;
	struct buf error;
	struct scrub_words w = { 0 };
	if (!words_take(&w, argc, argv)) {
		say_error(SLICE("--rate is a number of MB a second (0: as fast as it can)"));
		return EXIT_USAGE;
	}
	int status = EXIT_USAGE;
	buf_init(&error, 64 * KIB);
	if (!config_parse(&config, w.argc, w.argv, environ, &error))
		say_error(buf_slice(&error));
	else if (w.cancel)
		status = scrub_ask_cancel(&config);
	else if (admin_answers(&config))
		status = scrub_ask(&config, w.rate_given, w.rate_mb);
	else
		status = scrub_stopped(&config, w.rate_mb);
	config_fini(&config);
	buf_fini(&error);
	return status;
}

/* SPDX-License-Identifier: Apache-2.0
 * One moment of a store that goes on being written to: everything that is committed goes into tables, and RocksDB makes
 * a second name for each of them. From then on the database under the new names never changes; the bytes of extents
 * stay where they are because of a pin that is older than the moment: what was alive then is not reclaimed while it is
 * held. Such a moment can also be opened to be read.
 *
 *   1 flush            most of it, while commits go on
 *   2 between two      what RocksDB has in memory is set aside, one family after the other; only here commits wait, for
 *     commits          some ten microseconds
 *   3 tables, names    of what was set aside, while commits go on
 * From 2 to the end of 3 nothing else is flushed (flush_lock, compact_lock): tables of one family would be newer than
 * those of another. The row "flushed through" stays as 1 wrote it: the moment has more than it says, which is no harm,
 * because a journal does not go with it. */
#include "engine/rocks/locator/locator.h"
#include "engine/rocks/open_int.h"

#include "base/sys/clock.h"

#include <time.h>

enum {
	TRIES_MAX = 10, /* for a time when nobody flushes; then commits wait for one */
	LOOK_EVERY_NS = 500000,
};

/* Between two commits, and with flush_lock, which is never waited for while commits wait: a flush takes as long as the
 * disk does. */
static void lock_between_commits(struct rocks *r)
{
	for (unsigned i = 0; i < TRIES_MAX; i++) {
		pthread_mutex_lock(&r->write_lock);
		if (pthread_mutex_trylock(&r->flush_lock) == 0)
			return;
		pthread_mutex_unlock(&r->write_lock);
		pthread_mutex_lock(&r->flush_lock); /* until that flush is over */
		pthread_mutex_unlock(&r->flush_lock);
	}
	pthread_mutex_lock(&r->write_lock);
	pthread_mutex_lock(&r->flush_lock);
}

/* Begins to write what is in memory, and does not wait for it. */
static char *set_aside(struct rocks *r)
{
	char *error = NULL;
	rocksdb_flushoptions_t *o = rocksdb_flushoptions_create();
	rocksdb_flushoptions_set_wait(o, 0);
	for (int i = 0; i < FAMILIES && !error; i++)
		rocksdb_flush_cf(r->db, o, r->family[i], &error);
	rocksdb_flushoptions_destroy(o);
	return error;
}

static uint64_t background_errors(struct rocks *r)
{
	return rocks_property(r, "rocksdb.background-errors");
}

/* What was set aside is in tables. RocksDB has no call that waits for that and does not flush what came since. */
static enum err wait_for_tables(struct rocks *r, uint64_t errors_before)
{
	const struct timespec pause = { .tv_nsec = LOOK_EVERY_NS };
	while (rocks_property(r, "rocksdb.num-immutable-mem-table")) {
		if (atomic_load(&r->failed) || background_errors(r) != errors_before)
			return ERR_IO;
		nanosleep(&pause, NULL);
	}
	return ERR_OK;
}

static enum err name_tables(struct rocks *r, const char *db_path)
{
	char *error = NULL;
	rocksdb_checkpoint_t *checkpoint = rocksdb_checkpoint_object_create(r->db, &error);
	if (!error)
		rocksdb_checkpoint_create(checkpoint, db_path, UINT64_MAX /* without a flush */, &error);
	if (checkpoint)
		rocksdb_checkpoint_object_destroy(checkpoint);
	return rocks_error(error);
}

/* Steps 2 and 3. */
static enum err take_tables(struct rocks *r, const char *db_path, struct rocks_moment *m)
{
	enum err err = ERR_STOPPED;
	uint64_t errors = background_errors(r);
	lock_between_commits(r);
	uint64_t begun_ns = base_monotonic_ns(), page = 0;
	if (rocks_sync_locked(r) == ERR_OK) {
		page = r->locator ? locator_flush_begin(r->locator) : 0;
		m->commit = atomic_load(&r->last_number);
		err = rocks_error(set_aside(r));
	}
	m->waited_ns = base_monotonic_ns() - begun_ns;
	pthread_mutex_unlock(&r->write_lock);
	if (err == ERR_OK)
		err = wait_for_tables(r, errors);
	if (err == ERR_OK && r->locator)
		locator_flushed(r->locator, page);
	if (err == ERR_OK)
		err = name_tables(r, db_path);
	pthread_mutex_unlock(&r->flush_lock);
	return err;
}

enum err engine_rocks_moment_begin(struct engine *e, const char *db_path, struct rocks_moment *ret,
				   struct buf *ret_message)
{
	struct rocks *r = rocks_of(e);
	uint64_t free_bytes, begun_ns = base_monotonic_ns();
	if (!rocks_has_space(r, 0, &free_bytes)) {
		/* A flush that fails stops all writing. */
		BUF_PUT(ret_message, "the disk is nearly full: free some space first");
		return ERR_NO_SPACE;
	}
	struct rocks_moment moment = { .pin = e->ops->pin(e) };
	pthread_mutex_lock(&r->compact_lock);
	enum err err = rocks_flush(r);
	if (err == ERR_OK)
		err = take_tables(r, db_path, &moment);
	pthread_mutex_unlock(&r->compact_lock);
	moment.took_ns = base_monotonic_ns() - begun_ns;
	if (err != ERR_OK) {
		buf_printf(ret_message, "cannot take a checkpoint of the database: %s",
			   rocks_last_error()[0] ? rocks_last_error() : err_name(err));
		e->ops->unpin(e, moment.pin);
		return err;
	}
	*ret = moment;
	return ERR_OK;
}

void engine_rocks_moment_end(struct engine *e, const struct rocks_moment *moment)
{
	e->ops->unpin(e, moment->pin);
}

enum err engine_rocks_moment_open(struct engine *e, const char *dir, struct engine **ret, struct buf *ret_message)
{
	struct rocks *r = rocks_new();
	if (!r)
		return ERR_NO_MEMORY;
	r->moment_of = rocks_of(e);
	r->segments = r->moment_of->segments;
	struct rocks_options options = { .dir = dir };
	struct opening o = { .options = &options, .r = r, .message = ret_message, .name = dir };
	o.journal_file_bytes = MIB; /* nothing is written: its buffers stay empty */
	database_prepare(&o);
	enum err err = database_open_to_read(&o);
	if (err != ERR_OK) {
		rocks_close(&r->engine);
		return err;
	}
	*ret = &r->engine;
	return ERR_OK;
}

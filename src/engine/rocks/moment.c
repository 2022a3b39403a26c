/* SPDX-License-Identifier: Apache-2.0
 * One moment of a store that goes on being written to: everything that is committed goes into tables, and RocksDB makes
 * a second name for each of them. Commits wait only for what came in during the first flush. From then on the database
 * under the new names never changes; the bytes of extents stay where they are because of a pin that is older than the
 * moment: what was alive then is not reclaimed while it is held. Such a moment can also be opened to be read. */
#include "engine/rocks/open_int.h"

#include "base/sys/clock.h"

static enum err take_tables(struct rocks *r, const char *db_path, uint64_t *ret_commit)
{
	char *error = NULL;
	enum err err = rocks_flush(r);
	if (err != ERR_OK)
		return err;
	*ret_commit = atomic_load(&r->last_number);
	rocksdb_checkpoint_t *checkpoint = rocksdb_checkpoint_object_create(r->db, &error);
	if (!error)
		rocksdb_checkpoint_create(checkpoint, db_path, 0, &error);
	if (checkpoint)
		rocksdb_checkpoint_object_destroy(checkpoint);
	return rocks_error(error);
}

enum err engine_rocks_moment_begin(struct engine *e, const char *db_path, struct rocks_moment *ret,
				   struct buf *ret_message)
{
	struct rocks *r = rocks_of(e);
	uint64_t free_bytes;
	if (!rocks_has_space(r, 0, &free_bytes)) {
		/* A flush that fails stops all writing. */
		BUF_PUT(ret_message, "the disk is nearly full: free some space first");
		return ERR_NO_SPACE;
	}
	struct rocks_moment moment = { .pin = e->ops->pin(e) };
	enum err err = rocks_flush(r); /* most of it, while commits go on */
	if (err == ERR_OK) {
		pthread_mutex_lock(&r->write_lock);
		uint64_t begun_ns = base_monotonic_ns();
		err = atomic_load(&r->failed) ? ERR_STOPPED : take_tables(r, db_path, &moment.commit);
		moment.waited_ns = base_monotonic_ns() - begun_ns;
		pthread_mutex_unlock(&r->write_lock);
	}
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

/* SPDX-License-Identifier: Apache-2.0
 * One moment of a store that goes on being written to: everything that is committed goes into tables, and RocksDB makes
 * a second name for each of them. Commits wait only for what came in during the first flush. From then on the database
 * under the new names never changes; the bytes of extents stay where they are because of a pin that is older than the
 * moment: what was alive then is not reclaimed while it is held. */
#include "engine/rocks/rocks_int.h"

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
	struct rocks_moment moment = { .pin = e->ops->pin(e) };
	enum err err = rocks_flush(r); /* most of it, while commits go on */
	if (err == ERR_OK) {
		pthread_mutex_lock(&r->write_lock);
		err = atomic_load(&r->failed) ? ERR_STOPPED : take_tables(r, db_path, &moment.commit);
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

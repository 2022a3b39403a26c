/* SPDX-License-Identifier: Apache-2.0
 * How a batch gets into the store: into the journal, then into RocksDB's memory. */
#include "engine/rocks/batch.h"
#include "engine/rocks/locator/locator.h"
#include "engine/rocks/rocks_int.h"

#include "base/sys/clock.h"
#include "base/sys/log.h"

static enum err give_up(struct rocks *r, const char *what, char *error)
{
	if (!atomic_exchange(&r->failed, true))
		log_error("%s failed: %s. Nothing more is acknowledged; check the disk and start again.", what,
			  error ? error : "the operating system reported an error");
	if (error)
		rocksdb_free(error);
	return ERR_STOPPED;
}

static void note(struct locator *l, struct rocks_changed changed)
{
	if (changed.rows)
		for (const struct overlay_node *n = changed.rows->head[0]; n; n = n->next[0])
			locator_note(l, n->key);
	if (slice_is_set(changed.partition))
		locator_note_partition(l, changed.partition);
}

static char *write_memory(struct rocks *r, rocksdb_writebatch_t *batch, struct rocks_changed changed)
{
	char *error = NULL;
	rocks_count_nothing();
	if (r->locator) {
		locator_write_begin(r->locator);
		note(r->locator, changed);
	}
	rocksdb_write(r->db, r->write_memory, batch, &error);
	if (r->locator)
		locator_write_end(r->locator);
	return error;
}

static enum err write_locked(struct rocks *r, rocksdb_writebatch_t *batch, struct rocks_changed changed)
{
	size_t len;
	uint64_t number;
	const char *bytes = rocksdb_writebatch_data(batch, &len);
	if (atomic_load(&r->failed))
		return ERR_STOPPED;
	uint64_t began_ns = base_monotonic_ns();
	enum err err = journal_append(r->journal, slice_make(bytes, len), &number);
	atomic_fetch_add_explicit(&r->sync_ns, base_monotonic_ns() - began_ns, memory_order_relaxed);
	if (err == ERR_NO_SPACE)
		return err;
	if (err != ERR_OK)
		return give_up(r, "a write to the journal, or making room in it,", NULL);
	char *error = write_memory(r, batch, changed);
	if (error)
		return give_up(r, "a write to the database", error);
	atomic_store(&r->last_number, number);
	tail_remember(&r->tail, number);
	atomic_fetch_add_explicit(&r->syncs, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&r->bytes_written, len, memory_order_relaxed);
	return ERR_OK;
}

enum err rocks_write(struct rocks *r, rocksdb_writebatch_t *batch, struct rocks_changed changed)
{
	pthread_mutex_lock(&r->write_lock);
	enum err err = write_locked(r, batch, changed);
	pthread_mutex_unlock(&r->write_lock);
	return err;
}

static enum err apply_again(void *arg, struct slice bytes)
{
	struct rocks *r = arg;
	char *error = NULL;
	if (!batch_is_ours(bytes))
		return ERR_CORRUPT;
	rocksdb_writebatch_t *batch = rocksdb_writebatch_create_from(bytes.ptr, bytes.len);
	rocksdb_write(r->db, r->write_memory, batch, &error);
	rocksdb_writebatch_destroy(batch);
	return rocks_error(error);
}

enum err rocks_journal_replay(struct rocks *r)
{
	uint64_t count;
	TRY(journal_replay(r->journal, apply_again, r, &count));
	return count ? rocks_flush(r) : ERR_OK;
}

bool rocks_journal_flush(void *rocks)
{
	if (rocks_flush(rocks) == ERR_OK)
		return true;
	log_error("bringing the journal into the database failed: %s", rocks_last_error());
	return false;
}

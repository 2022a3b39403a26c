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

static enum err append(struct rocks *r, struct slice batch, bool sync_later, uint64_t *ret_number)
{
	if (sync_later && !atomic_load(&r->tables_under_way))
		return journal_append_later(r->journal, batch, ret_number);
	return journal_append(r->journal, batch, ret_number);
}

/* TAIL is never ahead of what is durable. */
static void note_synced(struct rocks *r)
{
	tail_remember(&r->tail, journal_synced(r->journal));
	atomic_fetch_add_explicit(&r->syncs, 1, memory_order_relaxed);
}

static enum err write_locked(struct rocks *r, rocksdb_writebatch_t *batch, struct rocks_changed changed,
			     bool sync_later)
{
	size_t len;
	uint64_t number;
	const char *bytes = rocksdb_writebatch_data(batch, &len);
	if (atomic_load(&r->failed))
		return ERR_STOPPED;
	uint64_t began_ns = base_monotonic_ns();
	enum err err = append(r, slice_make(bytes, len), sync_later, &number);
	atomic_fetch_add_explicit(&r->sync_ns, base_monotonic_ns() - began_ns, memory_order_relaxed);
	if (err == ERR_NO_SPACE)
		return err;
	if (err != ERR_OK)
		return give_up(r, "a write to the journal, or making room in it,", NULL);
	char *error = write_memory(r, batch, changed);
	if (error)
		return give_up(r, "a write to the database", error);
	atomic_store(&r->last_number, number);
	if (journal_synced(r->journal) == number)
		note_synced(r);
	atomic_fetch_add_explicit(&r->bytes_written, len, memory_order_relaxed);
	return ERR_OK;
}

enum err rocks_write(struct rocks *r, rocksdb_writebatch_t *batch, struct rocks_changed changed, bool sync_later)
{
	pthread_mutex_lock(&r->write_lock);
	enum err err = write_locked(r, batch, changed, sync_later);
	pthread_mutex_unlock(&r->write_lock);
	return err;
}

/* ---- what was not synced ---- */

enum err rocks_sync_locked(struct rocks *r)
{
	if (atomic_load(&r->failed))
		return ERR_STOPPED;
	if (journal_synced(r->journal) == atomic_load(&r->last_number))
		return ERR_OK;
	uint64_t began_ns = base_monotonic_ns();
	enum err err = journal_sync(r->journal);
	atomic_fetch_add_explicit(&r->sync_ns, base_monotonic_ns() - began_ns, memory_order_relaxed);
	if (err != ERR_OK)
		return give_up(r, "a sync of the journal", NULL);
	note_synced(r);
	return ERR_OK;
}

enum err rocks_sync(struct engine *e)
{
	struct rocks *r = rocks_of(e);
	pthread_mutex_lock(&r->write_lock);
	enum err err = rocks_sync_locked(r);
	pthread_mutex_unlock(&r->write_lock);
	return err;
}

enum err rocks_tables_begin(struct rocks *r)
{
	atomic_fetch_add(&r->tables_under_way, 1);
	return r->may_sync_later ? rocks_sync(&r->engine) : ERR_OK;
}

void rocks_tables_end(struct rocks *r)
{
	atomic_fetch_sub(&r->tables_under_way, 1);
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
	if (rocks_flush_synced(rocks) == ERR_OK)
		return true;
	log_error("bringing the journal into the database failed: %s", rocks_last_error());
	return false;
}

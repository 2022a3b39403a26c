/* SPDX-License-Identifier: Apache-2.0
 * What a committer needs before its first group: the time of the last one, or, where outcomes can be unknown, a number
 * of its own. */
#include "base/bytes.h"
#include "base/sys/log.h"
#include "store/store_int.h"

#define CLOCK_AHEAD_TICKS (60 * TICKS_PER_SECOND)

static enum err read_u64(struct store *s, struct slice key, struct arena *arena, uint64_t *ret)
{
	struct slice record, payload;
	enum err err = s->engine->ops->get(s->engine, NULL, KEY_PARTITION_STORE, key, arena, &record);
	if (err == ERR_NOT_FOUND) {
		*ret = 0;
		return ERR_OK;
	}
	TRY(err);
	TRY(record_unwrap(KEY_PARTITION_STORE, key, record, &payload));
	struct cursor c = cursor_make(payload);
	uint64_t v = cursor_u64(&c);
	if (!cursor_done(&c))
		return ERR_CORRUPT;
	*ret = v;
	return ERR_OK;
}

/* One try to take the next number for this store. */
static enum err take_instance(struct store *s, struct arena *arena, enum outcome *ret)
{
	const struct engine_ops *ops = s->engine->ops;
	struct engine_group *g;
	struct slice record, payload;
	uint64_t opens = 0;
	TRY(ops->group_begin(s->engine, &g));
	enum err err = ops->group_get(g, KEY_PARTITION_STORE, STORE_OPENS_KEY, arena, &record);
	if (err == ERR_OK) {
		err = record_unwrap(KEY_PARTITION_STORE, STORE_OPENS_KEY, record, &payload);
		if (err == ERR_OK) {
			struct cursor c = cursor_make(payload);
			opens = cursor_u64(&c);
		}
	} else if (err == ERR_NOT_FOUND) {
		err = ERR_OK;
	}
	char bytes[8 + RECORD_OVERHEAD_BYTES], number[8];
	opens++;
	bytes_store(number, opens, 8);
	record_wrap(KEY_PARTITION_STORE, STORE_OPENS_KEY, slice_make(number, sizeof number), bytes);
	struct write w = { .kind = WRITE_PUT, .key = STORE_OPENS_KEY, .value = slice_make(bytes, sizeof bytes) };
	if (err == ERR_OK)
		err = ops->group_accept(g, KEY_PARTITION_STORE, &w, 1);
	if (err != ERR_OK) {
		ops->group_abort(g);
		return err;
	}
	*ret = ops->group_commit(g);
	if (*ret == OUTCOME_DONE)
		s->instance = opens;
	return ERR_OK;
}

/* The time of a commit never runs backwards, so one that was made while the clock was wrong holds all later ones. */
static void warn_of_time(struct store *s, uint64_t stored)
{
	uint64_t now = clock_now(s->clock);
	if (stored > now + CLOCK_AHEAD_TICKS)
		log_warn("the last commit was made %llu s ahead of the clock: leases, hidden messages and all that "
			 "expires stand still until the clock has caught up; if the clock is wrong now, set it right",
			 (unsigned long long)((stored - now) / TICKS_PER_SECOND));
}

enum err committer_prepare(struct store *s)
{
	struct arena scratch;
	enum err err = ERR_OK;
	arena_init(&scratch, STORE_SCRATCH_BYTES);
	if (!s->engine->ops->may_be_unknown) {
		uint64_t ticks = 0;
		err = read_u64(s, STORE_CLOCK_KEY, &scratch, &ticks);
		atomic_store(&s->last_ticks, ticks);
		if (err == ERR_OK)
			warn_of_time(s, ticks);
	} else {
		/* A try whose outcome is unknown burns a number; only one that is known to be ours is used. */
		enum outcome o = OUTCOME_CONFLICT;
		for (unsigned i = 0; i < LIMIT_APPLY_RETRIES && err == ERR_OK && o != OUTCOME_DONE; i++) {
			arena_reset(&scratch);
			err = take_instance(s, &scratch, &o);
		}
		if (err == ERR_OK && o != OUTCOME_DONE)
			err = o == OUTCOME_NO_SPACE ? ERR_NO_SPACE : ERR_BUSY;
	}
	arena_fini(&scratch);
	return err;
}

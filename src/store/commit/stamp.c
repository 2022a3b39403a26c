/* SPDX-License-Identifier: Apache-2.0
 * The stamp of a partition: for each of the last STAMP_INSTANCES stores that committed to it, the counter of its last
 * commit, and the time of the newest one. Each commit reads the stamp (so two commits to one partition conflict) and
 * rewrites it. After UNKNOWN the store reads it: its own counter there means the commit happened; if not, a commit that
 * only rewrites the stamp makes sure that the lost one cannot happen any more.
 *
 *   u64 now, u8 count, count times (u64 instance, u64 counter), wrapped as a record */
#include "base/bytes.h"
#include "store/store_int.h"

enum { STAMP_MAX_BYTES = 9 + 16 * STAMP_INSTANCES };

enum err stamp_decode(struct slice partition, struct slice record, struct stamp *ret)
{
	struct slice payload;
	TRY(record_unwrap(partition, KEY_STAMP, record, &payload));
	struct stamp s = { 0 };
	struct cursor c = cursor_make(payload);
	s.now_ticks = cursor_u64(&c);
	s.count = cursor_u8(&c);
	if (s.count > STAMP_INSTANCES)
		return ERR_CORRUPT;
	for (size_t i = 0; i < s.count; i++) {
		s.entry[i].instance = cursor_u64(&c);
		s.entry[i].counter = cursor_u64(&c);
	}
	if (!cursor_done(&c))
		return ERR_CORRUPT;
	*ret = s;
	return ERR_OK;
}

enum err stamp_read(struct engine_group *g, const struct engine_ops *ops, struct slice partition, struct arena *arena,
		    struct stamp *ret)
{
	struct slice record;
	enum err err = ops->group_get(g, partition, KEY_STAMP, arena, &record);
	if (err == ERR_NOT_FOUND) {
		*ret = (struct stamp){ 0 };
		return ERR_OK;
	}
	TRY(err);
	return stamp_decode(partition, record, ret);
}

void stamp_set(struct stamp *s, uint64_t instance, uint64_t counter, uint64_t now_ticks)
{
	size_t at = 0;
	while (at < s->count && s->entry[at].instance != instance)
		at++;
	if (at == s->count) {
		if (s->count < STAMP_INSTANCES)
			s->count++;
		else
			at--;
	}
	memmove(&s->entry[1], &s->entry[0], at * sizeof s->entry[0]);
	s->entry[0].instance = instance;
	s->entry[0].counter = counter;
	if (s->now_ticks < now_ticks)
		s->now_ticks = now_ticks;
}

enum stamp_answer stamp_ask(const struct stamp *s, uint64_t instance, uint64_t counter)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->entry[i].instance == instance)
			return s->entry[i].counter >= counter ? STAMP_SAW : STAMP_SAW_NOT;
	return s->count < STAMP_INSTANCES ? STAMP_SAW_NOT : STAMP_CANNOT_SAY;
}

enum err stamp_write(const struct stamp *s, struct slice partition, struct arena *arena, struct write *ret)
{
	struct buf b;
	buf_init(&b, STAMP_MAX_BYTES);
	bytes_put_u64(&b, s->now_ticks);
	bytes_put_u8(&b, (uint8_t)s->count);
	for (size_t i = 0; i < s->count; i++) {
		bytes_put_u64(&b, s->entry[i].instance);
		bytes_put_u64(&b, s->entry[i].counter);
	}
	char *record = buf_ok(&b) ? arena_alloc(arena, b.len + RECORD_OVERHEAD_BYTES) : NULL;
	if (record) {
		record_wrap(partition, KEY_STAMP, buf_slice(&b), record);
		*ret = (struct write){ .kind = WRITE_PUT,
				       .key = KEY_STAMP,
				       .value = slice_make(record, b.len + RECORD_OVERHEAD_BYTES) };
	}
	buf_fini(&b);
	return record ? ERR_OK : ERR_NO_MEMORY;
}

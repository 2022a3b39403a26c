/* SPDX-License-Identifier: Apache-2.0
 * Queues and their messages. A message keeps its text, what is left of its life and of the time it is hidden; it gets a
 * new id and is counted from zero. */
#include "base/limits.h"
#include "base/sys/clock.h"
#include "server/import/import.h"
#include "server/import/parts.h"
#include "wire/date.h"
#include "wire/xml.h"

enum { HIDDEN_MAX_S = 7 * 24 * 3600 };
#define LIFE_MAX_S (UINT64_C(100) * 365 * 24 * 3600) /* what lives longer than that never ends */

/* A time of a row: milliseconds since 1970 or ISO 8601. */
static bool row_time(struct slice row, const char *name, struct arena *arena, uint64_t *ret)
{
	const struct json_node *n = import_row_node(row, name, arena);
	uint64_t ms;
	if (n && n->kind == JSON_NUMBER && slice_to_u64(n->text, &ms) && ms < DATE_TICKS_MAX / 10000) {
		*ret = TICKS_UNIX_EPOCH + ms * (TICKS_PER_SECOND / 1000);
		return true;
	}
	return n && n->kind == JSON_STRING && date_parse_iso(n->text, ret);
}

/* XML readers turn a carriage return into a line feed, unless it is written by its number. */
static void put_message_text(struct buf *out, struct slice text)
{
	while (slice_is_set(text)) {
		xml_put_text(out, slice_cut(&text, '\r'));
		if (slice_is_set(text))
			BUF_PUT(out, "&#13;");
	}
}

/* The text of a message, as a body. */
static bool put_body(struct import_job *job, struct slice queue, struct slice row, struct buf *body)
{
	struct import_chunk chunk;
	buf_clear(&job->text);
	if (!import_chunk_find(&job->ws, IMPORT_QUEUE_EXTENTS, json_walk_find(row, "persistency"), &job->row, &chunk,
			       &job->text)) {
		import_say_failed(job, "message of the queue", queue, SLICE_NONE, buf_slice(&job->text));
		return false;
	}
	if ((chunk.count && !import_chunk_read(&chunk, &job->text)) || !xml_is_legal(buf_slice(&job->text))) {
		import_say_failed(job, "message of the queue", queue, SLICE_NONE,
				  SLICE("its text cannot be read, or no XML can hold it"));
		return false;
	}
	BUF_PUT(body, "<QueueMessage><MessageText>");
	put_message_text(body, buf_slice(&job->text));
	BUF_PUT(body, "</MessageText></QueueMessage>");
	job->bytes += chunk.count;
	return buf_ok(body);
}

static void message_import(struct import_job *job, struct slice queue, struct slice row)
{
	struct import_request r;
	struct clock clock;
	struct buf body;
	uint64_t expires = DATE_TICKS_MAX, visible = 0, hidden_s = 0;
	clock_init_wall(&clock, NULL);
	uint64_t now = clock_now(&clock);
	(void)row_time(row, "expirationTime", &job->row, &expires);
	(void)row_time(row, "timeNextVisible", &job->row, &visible);
	uint64_t life_s = expires > now ? (expires - now) / TICKS_PER_SECOND : 0;
	if (life_s == 0) {
		job->expired++;
		return;
	}
	if (visible > now)
		hidden_s = (visible - now + TICKS_PER_SECOND - 1) / TICKS_PER_SECOND;
	if (hidden_s > HIDDEN_MAX_S)
		hidden_s = HIDDEN_MAX_S;
	if (hidden_s >= life_s)
		hidden_s = life_s - 1;
	buf_init(&body, MIB);
	if (put_body(job, queue, row, &body)) {
		import_request_init(&r, SERVICE_QUEUE, "POST", &job->row);
		import_request_path(&r, queue, SLICE("messages"));
		buf_printf(&r.query, "messagettl=%lld&visibilitytimeout=%llu",
			   life_s > LIFE_MAX_S ? -1LL : (long long)life_s, (unsigned long long)hidden_s);
		r.body = buf_slice(&body);
		job->taken[IMPORT_COUNT_MESSAGES] += import_must(job, &r, "message of the queue", queue, SLICE_NONE);
	}
	buf_fini(&body);
}

/* 1: it is there, 0: it is not; -1: that could not be found out, and it was said. */
static int queue_is_there(struct import_job *job, struct slice name)
{
	struct import_request r;
	import_request_init(&r, SERVICE_QUEUE, "HEAD", &job->row);
	import_request_path(&r, name, SLICE_NONE);
	BUF_PUT(&r.query, "comp=metadata");
	int status = import_do(job, &r);
	if (status == 200 || status == 404)
		return status == 200;
	if (status)
		import_say_failed(job, "queue", name, SLICE_NONE, slice_str(job->target.why));
	return -1;
}

static void queue_import(struct import_job *job, struct slice row, const struct import_parts *messages)
{
	struct import_request r;
	size_t count;
	struct slice name = import_row_text(row, "name", &job->row);
	const struct import_part *message = import_parts_find(messages, name, SLICE(""), &count);
	int there = queue_is_there(job, name);
	if (there > 0) {
		job->already[IMPORT_COUNT_QUEUES]++;
		job->already[IMPORT_COUNT_MESSAGES] += count;
	}
	if (there != 0 || !import_begin_several(job, "queue", name, SLICE("")))
		return;
	import_request_init(&r, SERVICE_QUEUE, "PUT", &job->row);
	import_request_path(&r, name, SLICE_NONE);
	import_put_metadata(&r, import_row_node(row, "metadata", &job->row));
	if (import_must(job, &r, "queue", name, SLICE_NONE)) {
		import_policies(job, SERVICE_QUEUE, name, import_row_node(row, "queueAcl", &job->row), SLICE_NONE);
		for (size_t i = 0; i < count && !job->stopped; i++) {
			struct arena_position before = arena_position(&job->row);
			message_import(job, name, message[i].row);
			import_row_done(job);
			arena_rewind(&job->row, before);
		}
		job->taken[IMPORT_COUNT_QUEUES]++;
	}
	if (!job->stopped)
		(void)import_end_several(job);
}

static bool messages_gather(struct import_job *job, struct import_parts *l)
{
	struct json_walk w;
	if (!import_rows(&job->ws, IMPORT_QUEUES, SLICE("$MESSAGES_COLLECTION$"), &w))
		return true;
	for (; json_walk_next(&w); arena_reset(&job->row)) {
		struct import_part p = { .name = SLICE(""), .row = w.value };
		if (!import_row_ours(job, w.value, "accountName"))
			continue;
		p.container = import_row_text(w.value, "queueName", &job->row);
		p.order = import_row_text(w.value, "insertionTime", &job->row);
		if (!slice_is_set(p.order))
			p.order = SLICE("");
		if (!slice_is_set(p.container) || !import_part_add(l, p, &job->kept))
			return false;
	}
	import_parts_sort(l);
	return true;
}

void import_queues(struct import_job *job)
{
	struct import_parts messages = { 0 };
	struct json_walk w;
	if (!messages_gather(job, &messages)) {
		import_say_failed(job, "messages", SLICE_NONE, SLICE_NONE,
				  SLICE("one names no queue, or no memory for so many"));
	} else if (import_rows(&job->ws, IMPORT_QUEUES, SLICE("$QUEUES_COLLECTION$"), &w)) {
		for (; !job->stopped && json_walk_next(&w); arena_reset(&job->row), import_row_done(job))
			if (import_row_ours(job, w.value, "accountName"))
				queue_import(job, w.value, &messages);
	}
	import_properties(job, SERVICE_QUEUE, IMPORT_QUEUES);
	import_parts_free(&messages);
}

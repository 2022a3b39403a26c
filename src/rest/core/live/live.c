/* SPDX-License-Identifier: Apache-2.0
 * The ring of the newest requests. See live.h. The lock is held for a copy of one line, or of all when somebody reads;
 * nobody but loops that log while somebody looks takes it. */
#include "rest/core/live/live.h"

#include <inttypes.h>
#include <stdlib.h>

#include "auth/redact.h"
#include "base/sys/clock.h"
#include "wire/json.h"

/* Headers whose value lets others in or opens what is encrypted. What a client invents is not known here, so words in
 * names count, too. */
static bool header_is_secret(struct slice name)
{
	static const char *const words[] = { "authorization", "cookie", "encryption-key", "session",
					     "token",	      "secret", "password",	  "api-key" };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		for (size_t at = 0; at < name.len; at++)
			if (slice_has_prefix_nocase(slice_from(name, at), slice_str(words[i])))
				return true;
	return false;
}

void live_init(struct live *l)
{
	atomic_init(&l->watched_until_ns, 0);
	pthread_mutex_init(&l->lock, NULL);
}

void live_fini(struct live *l)
{
	pthread_mutex_destroy(&l->lock);
	free(l->line);
}

bool live_is_watched(struct live *l)
{
	uint64_t until_ns = atomic_load_explicit(&l->watched_until_ns, memory_order_relaxed);
	if (until_ns == 0)
		return false;
	if (base_monotonic_ns() < until_ns)
		return true;
	atomic_store_explicit(&l->watched_until_ns, 0, memory_order_relaxed);
	return false;
}

/* "name":"value", a signature inside of it taken out. */
static void put_header(struct buf *b, const struct http_header *h)
{
	struct slice value = h->value;
	BUF_PUT(b, "\"");
	json_put_text(b, h->name);
	BUF_PUT(b, "\":\"");
	while (value.len > 0) {
		bool hidden;
		json_put_text(b, redact_next(&value, &hidden));
		if (hidden)
			BUF_PUT(b, "REDACTED");
	}
	BUF_PUT(b, "\"");
}

/* As many as there is room for, in the order in which they came. Room for the ends of both objects stays. */
static void put_headers(struct buf *b, const struct http_head *head)
{
	size_t limit = b->limit_bytes;
	BUF_PUT(b, ",\"headers\":{");
	b->cap = b->limit_bytes = limit - 2;
	for (size_t i = 0; buf_ok(b) && i < head->header_count; i++) {
		size_t before = b->len;
		if (header_is_secret(head->headers[i].name))
			continue;
		if (b->ptr[before - 1] != '{')
			BUF_PUT(b, ",");
		put_header(b, &head->headers[i]);
		if (!buf_ok(b)) {
			b->failed = false;
			b->len = before;
		}
	}
	b->cap = b->limit_bytes = limit;
	BUF_PUT(b, "}");
}

void live_put(struct live *l, struct slice line, struct slice service, const struct http_head *head)
{
	char bytes[LIVE_LINE_BYTES];
	struct buf b = { .ptr = bytes, .cap = sizeof bytes, .limit_bytes = sizeof bytes };
	while (line.len && (line.ptr[line.len - 1] == '\n' || line.ptr[line.len - 1] == '}'))
		line.len--;
	buf_put(&b, line);
	BUF_PUT(&b, ",\"service\":\"");
	buf_put(&b, service);
	BUF_PUT(&b, "\"");
	put_headers(&b, head);
	BUF_PUT(&b, "}");
	if (!buf_ok(&b))
		return;
	pthread_mutex_lock(&l->lock);
	if (l->line) {
		struct live_line *to = &l->line[l->next++ % LIVE_LINES];
		to->len = (uint16_t)b.len;
		memcpy(to->text, b.ptr, b.len);
	}
	pthread_mutex_unlock(&l->lock);
}

void live_read(struct live *l, uint64_t since, struct buf *out)
{
	pthread_mutex_lock(&l->lock);
	if (!l->line)
		l->line = calloc(LIVE_LINES, sizeof *l->line);
	uint64_t oldest = l->next > LIVE_LINES ? l->next - LIVE_LINES : 0;
	if (since < oldest || since > l->next)
		since = oldest;
	buf_printf(out, "{\"next\":%" PRIu64 ",\"requests\":[", l->next);
	for (uint64_t i = since; l->line && i < l->next; i++) {
		buf_put(out, i > since ? SLICE(",\n") : SLICE("\n"));
		buf_put(out, slice_make(l->line[i % LIVE_LINES].text, l->line[i % LIVE_LINES].len));
	}
	pthread_mutex_unlock(&l->lock);
	BUF_PUT(out, "]}\n");
	atomic_store_explicit(&l->watched_until_ns, base_monotonic_ns() + LIVE_WATCH_SECONDS * UINT64_C(1000000000),
			      memory_order_relaxed);
}

/* SPDX-License-Identifier: Apache-2.0
 * The ring of the newest requests. See live.h. The lock is held for a copy of one line, or of all when somebody reads;
 * nobody but loops that log while somebody looks takes it. */
#include "rest/core/live/live.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/sys/clock.h"
#include "wire/json.h"

/* What tells one request from another to who debugs: conditions, leases, ranges, types. Never credentials. */
static const char *const shown[] = {
	"User-Agent",	       "Content-Type",	 "Content-Length", "If-Match",	   "If-None-Match", "If-Modified-Since",
	"If-Unmodified-Since", "Range",		 "x-ms-range",	   "x-ms-version", "x-ms-lease-id", "x-ms-lease-action",
	"x-ms-lease-duration", "x-ms-blob-type", "Prefer",
};

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

static void put_headers(struct buf *b, const struct http_head *head)
{
	bool first = true;
	BUF_PUT(b, ",\"headers\":{");
	for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
		struct slice value = http_header(head, slice_str(shown[i]));
		if (!slice_is_set(value))
			continue;
		buf_printf(b, "%s\"%s\":\"", first ? "" : ",", shown[i]);
		json_put_text(b, value);
		BUF_PUT(b, "\"");
		first = false;
	}
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
	size_t without_headers = b.len;
	put_headers(&b, head);
	BUF_PUT(&b, "}");
	if (!buf_ok(&b)) {
		b.failed = false;
		b.len = without_headers;
		BUF_PUT(&b, "}");
	}
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

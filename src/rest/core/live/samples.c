/* SPDX-License-Identifier: Apache-2.0
 * Samples of the last quarter of an hour. See samples.h. */
#include "rest/core/live/samples.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/sys/clock.h"
#include "rest/core/conn/exchange_int.h"
#include "rest/core/server.h"

static uint64_t now_ms(void)
{
	return base_monotonic_ns() / 1000000;
}

static uint32_t since_last(uint64_t now, uint64_t last)
{
	uint64_t n = now > last ? now - last : 0; /* counters are read without a lock: one may seem to step back */
	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static void take_sample(struct samples *h)
{
	struct metrics_sum now, *last = &h->last;
	metrics_sum(h->server, &now);
	now.at_ms = now_ms();
	struct sample s = {
		.at_ms = now.at_ms,
		.span_ms = since_last(now.at_ms, last->at_ms),
		.requests = since_last(now.requests, last->requests),
		.errors = since_last(now.errors, last->errors),
		.conflicts = since_last(now.conflicts, last->conflicts),
		.groups = since_last(now.groups, last->groups),
		.transactions = since_last(now.transactions, last->transactions),
		.sync_us = since_last(now.sync_us, last->sync_us),
		.written_kib = since_last(now.written_bytes / 1024, last->written_bytes / 1024),
		.connections = since_last(now.connections, 0),
	};
	for (size_t i = 0; i <= METRICS_BUCKETS; i++)
		s.bucket[i] = since_last(now.bucket[i], last->bucket[i]);
	h->last = now;
	pthread_mutex_lock(&h->lock);
	h->sample[h->next++ % SAMPLES_KEPT] = s;
	pthread_mutex_unlock(&h->lock);
}

static void timer_fired(struct io_timer *t)
{
	struct samples *h = io_container_of(t, struct samples, timer);
	struct io_loop *loop = h->server->loops[0]->loop;
	take_sample(h);
	io_timer_set(loop, t, io_loop_now_ms(loop) + SAMPLE_EVERY_MS);
}

void samples_init(struct samples *h)
{
	pthread_mutex_init(&h->lock, NULL);
}

enum err samples_start(struct samples *h, struct rest_server *s)
{
	struct io_loop *loop = s->loops[0]->loop;
	h->sample = calloc(SAMPLES_KEPT, sizeof *h->sample);
	if (!h->sample)
		return ERR_NO_MEMORY;
	h->server = s;
	metrics_sum(s, &h->last);
	h->last.at_ms = now_ms();
	io_timer_init(&h->timer, timer_fired);
	io_timer_set(loop, &h->timer, io_loop_now_ms(loop) + SAMPLE_EVERY_MS);
	return ERR_OK;
}

void samples_fini(struct samples *h)
{
	pthread_mutex_destroy(&h->lock);
	free(h->sample);
}

static void put_sample(struct buf *out, const struct sample *s)
{
	buf_printf(out, "[%" PRIu64 ",%u,%u,%u,%u,%u,%u,%u,%u,%u", s->at_ms, s->span_ms, s->requests, s->errors,
		   s->conflicts, s->groups, s->transactions, s->sync_us, s->written_kib, s->connections);
	for (size_t i = 0; i <= METRICS_BUCKETS; i++)
		buf_printf(out, ",%u", s->bucket[i]);
	BUF_PUT(out, "]");
}

void samples_read(struct samples *h, uint64_t since, struct buf *out)
{
	buf_printf(out, "{\"now\":%" PRIu64 ",\"bounds\":[", now_ms());
	for (size_t i = 0; i < METRICS_BUCKETS; i++)
		buf_printf(out, "%s%u", i ? "," : "", metrics_bucket_us[i]);
	pthread_mutex_lock(&h->lock);
	uint64_t oldest = h->next > SAMPLES_KEPT ? h->next - SAMPLES_KEPT : 0;
	if (since < oldest || since > h->next)
		since = oldest;
	buf_printf(out, "],\"next\":%" PRIu64 ",\"samples\":[", h->next);
	for (uint64_t i = since; h->sample && i < h->next; i++) {
		buf_put(out, i > since ? SLICE(",\n") : SLICE("\n"));
		put_sample(out, &h->sample[i % SAMPLES_KEPT]);
	}
	pthread_mutex_unlock(&h->lock);
	BUF_PUT(out, "]}\n");
}

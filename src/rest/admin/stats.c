/* SPDX-License-Identifier: Apache-2.0
 * /stats: what goes on, as one JSON document: requests and times by service, by operation and by account, commits,
 * caches, memory, disk, leases, conflicts. All of it is counted anyway: nothing is walked for it. What accounts hold is
 * what the last walk found, with its time. */
#include <inttypes.h>

#include "auth/limits.h"
#include "rest/admin/admin.h"
#include "rest/core/lease_notes.h"
#include "rest/core/metrics.h"
#include "rest/core/op.h"
#include "rest/core/server.h"
#include "rest/core/service.h"
#include "store/key.h"
#include "store/meter.h"
#include "wire/date.h"

static void add(struct metrics_figures *to, const struct metrics_figures *m)
{
	to->requests += m->requests;
	for (size_t i = 0; i < METRICS_STATUS_CLASSES; i++)
		to->status[i] += m->status[i];
	for (size_t i = 0; i <= METRICS_BUCKETS; i++)
		to->bucket[i] += m->bucket[i];
	to->total_us += m->total_us;
	to->bytes_in += m->bytes_in;
	to->bytes_out += m->bytes_out;
}

static void put_sum(struct buf *out, const struct metrics_figures *m)
{
	buf_printf(out, "\"requests\":%" PRIu64 ",\"refused\":%" PRIu64 ",\"failed\":%" PRIu64, m->requests,
		   m->status[3], m->status[4]);
	buf_printf(out, ",\"p50Ms\":%.3f,\"p99Ms\":%.3f,\"meanMs\":%.3f", metrics_quantile(m, 0.5) * 1e3,
		   metrics_quantile(m, 0.99) * 1e3,
		   m->requests ? (double)m->total_us / 1e3 / (double)m->requests : 0.0);
	buf_printf(out, ",\"bytesIn\":%" PRIu64 ",\"bytesOut\":%" PRIu64, m->bytes_in, m->bytes_out);
}

/* Operations that nobody asked for are left out. */
static void put_service(const struct rest_server *s, size_t service, struct buf *out, bool *any)
{
	const struct rest_service *ops = s->config.services[service];
	struct metrics_figures total = { 0 };
	for (size_t op = 0; op < ops->op_count; op++)
		metrics_add_op(s, service, op, &total);
	if (total.requests == 0)
		return;
	buf_printf(out, "%s{\"service\":\"%s\",", *any ? ",\n" : "\n", service_facts((enum service)service)->title);
	*any = true;
	put_sum(out, &total);
	BUF_PUT(out, ",\"operations\":[");
	bool first = true;
	for (size_t op = 0; op < ops->op_count; op++) {
		struct metrics_figures one = { 0 };
		metrics_add_op(s, service, op, &one);
		if (one.requests == 0)
			continue;
		buf_printf(out, "%s{\"operation\":\"%s\",", first ? "\n" : ",\n", ops->ops[op].name);
		put_sum(out, &one);
		BUF_PUT(out, "}");
		first = false;
	}
	BUF_PUT(out, "]}");
}

static void put_services(const struct rest_server *s, struct buf *out)
{
	bool any = false;
	struct metrics_figures all = { 0 };
	BUF_PUT(out, ",\n\"services\":[");
	for (size_t service = 0; service < SERVICE_COUNT; service++) {
		const struct rest_service *ops = s->config.services[service];
		if (!ops)
			continue;
		put_service(s, service, out, &any);
		for (size_t op = 0; op < ops->op_count; op++) {
			struct metrics_figures one = { 0 };
			metrics_add_op(s, service, op, &one);
			add(&all, &one);
		}
	}
	BUF_PUT(out, "],\n\"all\":{");
	put_sum(out, &all);
	BUF_PUT(out, "}");
}

/* What an account has of each service. */
static const struct {
	enum service service;
	const char *containers, *objects, *bytes;
} holding_word[] = { { SERVICE_BLOB, "containers", "blobs", "blobBytes" },
		     { SERVICE_QUEUE, "queues", "messages", "messageBytes" },
		     { SERVICE_TABLE, "tables", "entities", "entityBytes" },
		     { SERVICE_FILE, "shares", "files", "fileBytes" } };

static void put_holding(const struct rest_server *s, unsigned slot, struct buf *out)
{
	struct rest_holding h;
	uint64_t objects = 0, bytes = 0;
	char time[DATE_ISO_BYTES];
	if (!s->config.holding || !s->config.holding(s->config.command_arg, slot, &h))
		return;
	date_format_iso(h.counted_ticks, time);
	buf_printf(out, ",\"holds\":{\"counted\":\"%.*s\",\"countedSecondsAgo\":%" PRIu64, (int)sizeof time, time,
		   (clock_unmoved(s->clock) - h.counted_ticks) / TICKS_PER_SECOND);
	for (size_t i = 0; i < sizeof holding_word / sizeof *holding_word; i++) {
		const struct rest_holding_part *part = &h.part[holding_word[i].service];
		buf_printf(out, ",\"%s\":%" PRIu64 ",\"%s\":%" PRIu64, holding_word[i].containers, part->containers,
			   holding_word[i].objects, part->objects);
		buf_printf(out, ",\"%s\":%" PRIu64, holding_word[i].bytes, part->bytes);
		objects += part->objects;
		bytes += part->bytes;
	}
	buf_printf(out, ",\"objects\":%" PRIu64 ",\"bytes\":%" PRIu64 "}", objects, bytes);
}

static void put_accounts(const struct request *r, struct buf *out)
{
	bool any = false;
	BUF_PUT(out, ",\n\"accounts\":[");
	for (size_t i = 0; i < rest_access_count(r->access); i++) {
		const struct auth_account *a = rest_access_at(r->access, i);
		uint64_t answered = 0, refused = 0;
		metrics_add_account(r->server, a->slot, &answered, &refused);
		buf_printf(out, "%s{\"account\":\"%.*s\",\"requests\":%" PRIu64 ",\"refused\":%" PRIu64,
			   any ? ",\n" : "\n", SLICE_FMT(a->name), answered + refused, refused);
		put_holding(r->server, a->slot, out);
		/* Where a quota asks for it, bytes are counted at every commit. */
		if (a->limits && a->limits->stores_limited) {
			struct key prefix;
			key_init(&prefix);
			key_str(&prefix, a->name);
			buf_printf(out, ",\"storedBytes\":%" PRIu64, store_usage(r->server->store, key_slice(&prefix)));
		}
		BUF_PUT(out, "}");
		any = true;
	}
	BUF_PUT(out, "]");
}

static void put_store(const struct store_stats *t, struct buf *out)
{
	const struct engine_stats *e = &t->engine;
	double groups = t->groups ? (double)t->groups : 1;
	uint64_t looks = t->cache_hits + t->cache_misses, index = e->index_rows + e->index_absent + e->index_unknown;
	buf_printf(out, ",\n\"commits\":{\"groups\":%" PRIu64 ",\"transactions\":%" PRIu64 ",\"groupSize\":%.2f",
		   t->groups, t->txns, (double)t->txns / groups);
	buf_printf(out, ",\"syncMs\":%.3f,\"queue\":%" PRIu64 ",\"conflicts\":%" PRIu64 "}",
		   (double)e->sync_ns / 1e6 / groups, t->queued, t->conflicts);
	buf_printf(out, ",\n\"cache\":{\"hits\":%" PRIu64 ",\"misses\":%" PRIu64 ",\"hitRate\":%.4f", t->cache_hits,
		   t->cache_misses, looks ? (double)t->cache_hits / (double)looks : 0.0);
	buf_printf(out, ",\"indexAnswered\":%" PRIu64 ",\"indexUnknown\":%" PRIu64 ",\"indexRate\":%.4f}",
		   e->index_rows + e->index_absent, e->index_unknown,
		   index ? (double)(e->index_rows + e->index_absent) / (double)index : 0.0);
	buf_printf(out, ",\n\"disk\":{\"freeBytes\":%" PRIu64 ",\"short\":%s", e->disk_free_bytes,
		   e->disk_is_short ? "true" : "false");
	buf_printf(out, ",\"extentLiveBytes\":%" PRIu64 ",\"extentFreeBytes\":%" PRIu64 ",\"reclaimWaiting\":%" PRIu64,
		   e->extent_bytes_live, e->extent_bytes_free, e->retired_waiting);
	buf_printf(out, ",\"syncs\":%" PRIu64 ",\"writtenBytes\":%" PRIu64 "}", e->syncs, e->bytes_written);
}

static void put_kinds(const struct rest_server *s, struct buf *out)
{
	uint64_t leases[LEASE_KINDS], conflicts[CONFLICT_KINDS];
	notes_count(s, leases);
	metrics_conflicts(s, conflicts);
	BUF_PUT(out, ",\n\"leases\":{");
	for (size_t i = 0; i < LEASE_KINDS; i++)
		buf_printf(out, "%s\"%s\":%" PRIu64, i ? "," : "", lease_kind_word[i], leases[i]);
	BUF_PUT(out, "},\n\"conflicts\":{");
	for (size_t i = 0; i < CONFLICT_KINDS; i++)
		buf_printf(out, "%s\"%s\":%" PRIu64, i ? "," : "", metrics_conflict_word[i], conflicts[i]);
	BUF_PUT(out, "}");
}

int stats_put(const struct request *r, struct buf *out)
{
	const struct rest_server *s = r->server;
	struct store_stats store;
	struct rest_stats rest;
	store_stats(s->store, &store);
	rest_server_stats(s, &rest);
	buf_printf(out, "{\"version\":\"%s\"", s->config.version ? s->config.version : "");
	buf_printf(out, ",\"startSeconds\":%" PRIu64 ",\"uptimeSeconds\":%" PRIu64, rest.start_s,
		   (clock_unmoved(s->clock) - s->start_ticks) / TICKS_PER_SECOND);
	buf_printf(out, ",\"connections\":%" PRIu64 ",\"requests\":%" PRIu64 ",\"aborted\":%" PRIu64, rest.connections,
		   rest.requests, rest.aborted);
	/* Names of an earlier day, for who reads them. */
	buf_printf(out, ",\"commit_groups\":%" PRIu64 ",\"transactions\":%" PRIu64, store.groups, store.txns);
	buf_printf(out, ",\"cache_hits\":%" PRIu64 ",\"cache_misses\":%" PRIu64, store.cache_hits, store.cache_misses);
	buf_printf(out, ",\"extent_live_bytes\":%" PRIu64 ",\"extent_free_bytes\":%" PRIu64,
		   store.engine.extent_bytes_live, store.engine.extent_bytes_free);
	buf_printf(out, ",\"workQueue\":%" PRIu64, rest.work_waiting);
	buf_printf(out,
		   ",\n\"memory\":{\"residentBytes\":%" PRIu64 ",\"requestBytes\":%" PRIu64
		   ",\"requestLimitBytes\":%" PRIu64 "}",
		   rest.resident_bytes, rest.memory_bytes, rest.memory_limit);
	put_store(&store, out);
	put_kinds(s, out);
	put_accounts(r, out);
	put_services(s, out);
	BUF_PUT(out, "}\n");
	return 200;
}

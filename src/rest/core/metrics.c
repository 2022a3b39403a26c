/* SPDX-License-Identifier: Apache-2.0
 * Counting requests per loop, and writing the sum of all loops as text. A counter is written by one thread only, so an
 * addition is a load and a store; a reader may see a request in one counter and not yet in another. */
#include "rest/core/metrics.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/sys/clock.h"
#include "rest/core/conn/conn_int.h"
#include "rest/core/conn/exchange_int.h"
#include "rest/core/lease_notes.h"
#include "rest/core/op.h"
#include "rest/core/service.h"
#include "wire/date.h"
#include "wire/json.h"

const uint32_t metrics_bucket_us[METRICS_BUCKETS] = { 50,    100,   200,    500,    1000,   2000,    5000,   10000,
						      20000, 50000, 100000, 200000, 500000, 1000000, 5000000 };

enum metrics_family {
#define FAMILY(id, ...) FAMILY_##id,
#define VALUE(...)
#include "rest/core/metrics.def"
#undef FAMILY
#undef VALUE
	FAMILY_COUNT
};

static const struct {
	const char *type, *name, *help;
} families[FAMILY_COUNT] = {
#define FAMILY(id, type_, name_, help_) [FAMILY_##id] = { type_, name_, help_ },
#define VALUE(...)
#include "rest/core/metrics.def"
#undef FAMILY
#undef VALUE
};

enum err metrics_loop_init(struct metrics_loop *m, const struct rest_server *s)
{
	pthread_mutex_init(&m->conflict_lock, NULL);
	for (size_t i = 0; i < SERVICE_COUNT; i++) {
		const struct rest_service *service = s->config.services[i];
		if (!service)
			continue;
		m->ops[i] = calloc(service->op_count, sizeof *m->ops[i]);
		if (!m->ops[i])
			return ERR_NO_MEMORY;
	}
	return ERR_OK;
}

void metrics_loop_fini(struct metrics_loop *m)
{
	for (size_t i = 0; i < SERVICE_COUNT; i++)
		free(m->ops[i]);
	pthread_mutex_destroy(&m->conflict_lock);
}

static uint8_t cut_text(char *dst, size_t room, struct slice s)
{
	size_t n = s.len < room ? s.len : room;
	if (n)
		memcpy(dst, s.ptr, n);
	return (uint8_t)n;
}

/* The path behind the account, without the query: a signature could stand there. */
static void note_conflict(struct metrics_loop *m, const struct exchange *ex)
{
	const struct request *r = &ex->req;
	pthread_mutex_lock(&m->conflict_lock);
	struct metrics_conflict *c = &m->conflict[m->conflict_count++ % METRICS_CONFLICTS];
	*c = (struct metrics_conflict){ .ticks = r->arrival_ticks, .error = ex->error };
	c->op = r->op ? r->op->name : "";
	c->account_len = cut_text(c->account, sizeof c->account, r->account);
	c->object_len = cut_text(c->object, sizeof c->object, r->raw_resource_path);
	c->client_len = cut_text(c->client, sizeof c->client, r->client_request_id);
	pthread_mutex_unlock(&m->conflict_lock);
}

static size_t bucket_of(uint64_t us)
{
	size_t i = 0;
	while (i < METRICS_BUCKETS && us > metrics_bucket_us[i])
		i++;
	return i;
}

void metrics_count(struct exchange *ex, bool aborted)
{
	struct metrics_loop *m = &ex->rl->metrics;
	const struct request *r = &ex->req;
	struct metrics_op *op = &m->unknown;
	if (aborted) {
		stat_add(&m->aborted, 1);
		return;
	}
	if (r->op)
		op = &m->ops[r->service][r->op - r->server->config.services[r->service]->ops];
	int class = r->response.status / 100 - 1;
	if (class >= 0 && class < METRICS_STATUS_CLASSES)
		stat_add(&op->status[class], 1);
	uint64_t us = (base_monotonic_ns() - r->arrival_ns) / 1000;
	stat_add(&op->bucket[bucket_of(us)], 1);
	stat_add(&op->total_us, us);
	stat_add(&op->bytes_in, ex->bytes_in);
	stat_add(&op->bytes_out, ex->bytes_out);
	if (r->account_index < METRICS_ACCOUNTS && r->account_known) {
		struct metrics_account *account = &m->accounts[r->account_index];
		stat_add(ex->error == ERR_OK ? &account->answered : &account->refused, 1);
	}
	if (ex->error == ERR_OK)
		return;
	stat_add(&m->errors[ex->error], 1);
	if (r->response.status == 409 || r->response.status == 412)
		note_conflict(m, ex);
}

/* ---- text ---- */

static uint64_t value_of(const atomic_uint_least64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static void put_family(struct buf *out, enum metrics_family f)
{
	buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", families[f].name, families[f].help, families[f].name,
		   families[f].type);
}

void metrics_add_op(const struct rest_server *s, size_t service, size_t op, struct metrics_figures *sum)
{
	for (size_t l = 0; l < s->loop_count; l++) {
		const struct metrics_op *one = &s->loops[l]->metrics.ops[service][op];
		for (size_t i = 0; i < METRICS_STATUS_CLASSES; i++)
			sum->status[i] += value_of(&one->status[i]);
		for (size_t i = 0; i <= METRICS_BUCKETS; i++) {
			uint64_t n = value_of(&one->bucket[i]);
			sum->bucket[i] += n;
			sum->requests += n;
		}
		sum->total_us += value_of(&one->total_us);
		sum->bytes_in += value_of(&one->bytes_in);
		sum->bytes_out += value_of(&one->bytes_out);
	}
}

void metrics_add_account(const struct rest_server *s, unsigned slot, uint64_t *answered, uint64_t *refused)
{
	for (size_t l = 0; l < s->loop_count && slot < METRICS_ACCOUNTS; l++) {
		*answered += value_of(&s->loops[l]->metrics.accounts[slot].answered);
		*refused += value_of(&s->loops[l]->metrics.accounts[slot].refused);
	}
}

static void sum_service(const struct rest_server *s, size_t service, struct metrics_sum *ret)
{
	const struct rest_service *ops = s->config.services[service];
	for (size_t op = 0; ops && op < ops->op_count; op++) {
		struct metrics_figures one = { 0 };
		metrics_add_op(s, service, op, &one);
		ret->errors += one.status[3] + one.status[4];
		for (size_t i = 0; i <= METRICS_BUCKETS; i++)
			ret->bucket[i] += one.bucket[i];
	}
}

void metrics_sum(const struct rest_server *s, struct metrics_sum *ret)
{
	struct store_stats store;
	struct metrics_sum sum = { .connections = rest_server_connections(s) };
	store_stats(s->store, &store);
	for (size_t service = 0; service < SERVICE_COUNT; service++)
		if (service != SERVICE_ADMIN)
			sum_service(s, service, &sum);
	for (size_t i = 0; i <= METRICS_BUCKETS; i++)
		sum.requests += sum.bucket[i];
	uint64_t conflicts[CONFLICT_KINDS];
	metrics_conflicts(s, conflicts);
	for (size_t i = 0; i < CONFLICT_KINDS; i++)
		sum.conflicts += conflicts[i];
	sum.groups = store.groups;
	sum.transactions = store.txns;
	sum.sync_us = store.engine.sync_ns / 1000;
	sum.written_bytes = store.engine.bytes_written;
	*ret = sum;
}

double metrics_quantile(const struct metrics_figures *m, double part)
{
	double want = part * (double)m->requests, so_far = 0;
	for (size_t i = 0; i < METRICS_BUCKETS; i++) {
		double low = i ? metrics_bucket_us[i - 1] : 0, high = metrics_bucket_us[i], n = (double)m->bucket[i];
		if (n > 0 && so_far + n >= want)
			return (low + (high - low) * (want - so_far) / n) / 1e6;
		so_far += n;
	}
	return m->requests ? metrics_bucket_us[METRICS_BUCKETS - 1] / 1e6 : 0;
}

typedef void put_op_fn(struct buf *, const char *labels, const struct metrics_figures *);

static void put_requests(struct buf *out, const char *labels, const struct metrics_figures *m)
{
	for (size_t i = 0; i < METRICS_STATUS_CLASSES; i++)
		if (m->status[i])
			buf_printf(out, "%s{%s,status=\"%zuxx\"} %" PRIu64 "\n", families[FAMILY_REQUESTS].name, labels,
				   i + 1, (uint64_t)m->status[i]);
}

static void put_latency(struct buf *out, const char *labels, const struct metrics_figures *m)
{
	const char *name = families[FAMILY_LATENCY].name;
	uint64_t so_far = 0;
	for (size_t i = 0; i < METRICS_BUCKETS; i++) {
		so_far += m->bucket[i];
		buf_printf(out, "%s_bucket{%s,le=\"%g\"} %" PRIu64 "\n", name, labels,
			   (double)metrics_bucket_us[i] / 1e6, so_far);
	}
	so_far += m->bucket[METRICS_BUCKETS];
	buf_printf(out, "%s_bucket{%s,le=\"+Inf\"} %" PRIu64 "\n", name, labels, so_far);
	buf_printf(out, "%s_sum{%s} %.6f\n%s_count{%s} %" PRIu64 "\n", name, labels, (double)m->total_us / 1e6, name,
		   labels, so_far);
}

static void put_bytes_in(struct buf *out, const char *labels, const struct metrics_figures *m)
{
	if (m->bytes_in)
		buf_printf(out, "%s{%s} %" PRIu64 "\n", families[FAMILY_BYTES_IN].name, labels, (uint64_t)m->bytes_in);
}

static void put_bytes_out(struct buf *out, const char *labels, const struct metrics_figures *m)
{
	if (m->bytes_out)
		buf_printf(out, "%s{%s} %" PRIu64 "\n", families[FAMILY_BYTES_OUT].name, labels,
			   (uint64_t)m->bytes_out);
}

/* Operations that nobody asked for are left out: there are hundreds. */
static void put_ops(const struct rest_server *s, struct buf *out, enum metrics_family family, put_op_fn *put)
{
	put_family(out, family);
	for (size_t service = 0; service < SERVICE_COUNT; service++) {
		const struct rest_service *ops = s->config.services[service];
		for (size_t op = 0; ops && op < ops->op_count; op++) {
			struct metrics_figures sum = { 0 };
			char labels[160];
			metrics_add_op(s, service, op, &sum);
			if (sum.requests == 0)
				continue;
			(void)snprintf(labels, sizeof labels, "service=\"%s\",operation=\"%s\"",
				       service_facts((enum service)service)->title, ops->ops[op].name);
			put(out, labels, &sum);
		}
	}
}

static uint64_t count_of_error(const struct rest_server *s, int error)
{
	uint64_t n = 0;
	for (size_t l = 0; l < s->loop_count; l++)
		n += value_of(&s->loops[l]->metrics.errors[error]);
	return n;
}

/* ---- conflicts by kind ---- */

const char *const metrics_conflict_word[CONFLICT_KINDS] = { "condition", "lease", "exists", "open", "state" };

/* By the words of the code: what a client of the service reads. */
static enum metrics_conflict_kind conflict_kind(const struct err_info *info)
{
	if (strstr(info->code, "Lease"))
		return CONFLICT_LEASE;
	if (info->http_status == 412)
		return CONFLICT_CONDITION;
	if (strstr(info->code, "AlreadyExists"))
		return CONFLICT_EXISTS;
	if (strstr(info->code, "Sharing") || strstr(info->code, "Lock") || strstr(info->code, "DeletePending"))
		return CONFLICT_OPEN;
	return CONFLICT_STATE;
}

void metrics_conflicts(const struct rest_server *s, uint64_t ret[CONFLICT_KINDS])
{
	memset(ret, 0, CONFLICT_KINDS * sizeof *ret);
	for (int e = ERR_OK + 1; e < ERR_COUNT; e++) {
		const struct err_info *info = err_info((enum err)e);
		if (info->http_status == 409 || info->http_status == 412)
			ret[conflict_kind(info)] += count_of_error(s, e);
	}
}

static void put_conflicts(const struct rest_server *s, struct buf *out)
{
	uint64_t count[CONFLICT_KINDS];
	metrics_conflicts(s, count);
	put_family(out, FAMILY_CONFLICTS);
	for (size_t i = 0; i < CONFLICT_KINDS; i++)
		buf_printf(out, "%s{kind=\"%s\"} %" PRIu64 "\n", families[FAMILY_CONFLICTS].name,
			   metrics_conflict_word[i], count[i]);
}

static void put_leases(const struct rest_server *s, struct buf *out)
{
	uint64_t count[LEASE_KINDS];
	notes_count(s, count);
	put_family(out, FAMILY_LEASES);
	for (size_t i = 0; i < LEASE_KINDS; i++)
		buf_printf(out, "%s{kind=\"%s\"} %" PRIu64 "\n", families[FAMILY_LEASES].name, lease_kind_word[i],
			   count[i]);
}

static void put_accounts(const struct rest_server *s, const struct rest_access *access, struct buf *out)
{
	put_family(out, FAMILY_ACCOUNTS);
	for (size_t i = 0; i < rest_access_count(access); i++) {
		const struct auth_account *a = rest_access_at(access, i);
		uint64_t answered = 0, refused = 0;
		metrics_add_account(s, a->slot, &answered, &refused);
		if (answered + refused == 0)
			continue;
		buf_printf(out, "%s{account=\"%.*s\",outcome=\"answered\"} %" PRIu64 "\n",
			   families[FAMILY_ACCOUNTS].name, SLICE_FMT(a->name), answered);
		buf_printf(out, "%s{account=\"%.*s\",outcome=\"refused\"} %" PRIu64 "\n",
			   families[FAMILY_ACCOUNTS].name, SLICE_FMT(a->name), refused);
	}
}

/* Whether the account at i was counted. */
static bool holding_at(const struct rest_server *s, const struct rest_access *access, size_t i,
		       struct rest_holding *ret)
{
	return s->config.holding(s->config.command_arg, rest_access_at(access, i)->slot, ret);
}

static void put_holding_parts(const struct rest_server *s, const struct rest_access *access, int family,
			      struct buf *out)
{
	put_family(out, family);
	for (size_t i = 0; i < rest_access_count(access); i++) {
		struct rest_holding h;
		if (!holding_at(s, access, i, &h))
			continue;
		for (enum service v = SERVICE_BLOB; v <= SERVICE_FILE; v++)
			buf_printf(out, "%s{account=\"%.*s\",service=\"%s\"} %" PRIu64 "\n", families[family].name,
				   SLICE_FMT(rest_access_at(access, i)->name), service_facts(v)->title,
				   family == FAMILY_OBJECTS ? h.part[v].objects : h.part[v].bytes);
	}
}

static void put_holdings(const struct rest_server *s, const struct rest_access *access, struct buf *out)
{
	if (!s->config.holding)
		return;
	put_holding_parts(s, access, FAMILY_OBJECTS, out);
	put_holding_parts(s, access, FAMILY_STORED, out);
	put_family(out, FAMILY_COUNTED);
	for (size_t i = 0; i < rest_access_count(access); i++) {
		struct rest_holding h;
		if (holding_at(s, access, i, &h))
			buf_printf(out, "%s{account=\"%.*s\"} %" PRIu64 "\n", families[FAMILY_COUNTED].name,
				   SLICE_FMT(rest_access_at(access, i)->name),
				   (h.counted_ticks - TICKS_UNIX_EPOCH) / TICKS_PER_SECOND);
	}
}

static void put_errors(const struct rest_server *s, struct buf *out)
{
	put_family(out, FAMILY_ERRORS);
	for (int e = ERR_OK + 1; e < ERR_COUNT; e++) {
		uint64_t n = count_of_error(s, e);
		if (n)
			buf_printf(out, "%s{error=\"%s\",code=\"%s\",status=\"%d\"} %" PRIu64 "\n",
				   families[FAMILY_ERRORS].name, err_name((enum err)e), err_info((enum err)e)->code,
				   err_info((enum err)e)->http_status, n);
	}
}

static void put_value(struct buf *out, const char *type, const char *name, const char *help, uint64_t value)
{
	buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n%s %" PRIu64 "\n", name, help, name, type, name, value);
}

void metrics_put_text(const struct rest_server *s, const struct rest_access *access, struct buf *out)
{
	struct store_stats store;
	struct rest_stats rest;
	struct rest_jobs jobs = { 0 };
	store_stats(s->store, &store);
	rest_server_stats(s, &rest);
	if (s->config.jobs)
		s->config.jobs(s->config.command_arg, &jobs);
	put_family(out, FAMILY_BUILD);
	buf_printf(out, "%s{version=\"%s\"} 1\n", families[FAMILY_BUILD].name,
		   s->config.version ? s->config.version : "");
	put_ops(s, out, FAMILY_REQUESTS, put_requests);
	put_ops(s, out, FAMILY_LATENCY, put_latency);
	put_ops(s, out, FAMILY_BYTES_IN, put_bytes_in);
	put_ops(s, out, FAMILY_BYTES_OUT, put_bytes_out);
	put_errors(s, out);
	put_conflicts(s, out);
	put_leases(s, out);
	put_accounts(s, access, out);
	put_holdings(s, access, out);
#define FAMILY(...)
#define VALUE(type, name, help, value) put_value(out, type, name, help, value);
#include "rest/core/metrics.def"
#undef FAMILY
#undef VALUE
}

/* ---- conflicts ---- */

static int newer_first(const void *a, const void *b)
{
	const struct metrics_conflict *x = a, *y = b;
	return x->ticks < y->ticks ? 1 : x->ticks > y->ticks ? -1 : 0;
}

static void put_json_field(struct buf *out, const char *prefix, struct slice value)
{
	buf_put(out, slice_str(prefix));
	json_put_text(out, value);
	BUF_PUT(out, "\"");
}

static void put_conflict(struct buf *out, const struct metrics_conflict *c)
{
	char time[DATE_ISO_BYTES];
	date_format_iso(c->ticks, time);
	put_json_field(out, "{\"time\":\"", slice_make(time, sizeof time));
	buf_printf(out, ",\"status\":%d", err_info(c->error)->http_status);
	put_json_field(out, ",\"error\":\"", slice_str(err_info(c->error)->code));
	put_json_field(out, ",\"operation\":\"", slice_str(c->op));
	put_json_field(out, ",\"account\":\"", slice_make(c->account, c->account_len));
	put_json_field(out, ",\"object\":\"", slice_make(c->object, c->object_len));
	put_json_field(out, ",\"client_request_id\":\"", slice_make(c->client, c->client_len));
	BUF_PUT(out, "}");
}

void metrics_put_conflicts(const struct rest_server *s, struct buf *out)
{
	struct metrics_conflict *all = calloc(s->loop_count * METRICS_CONFLICTS, sizeof *all);
	size_t count = 0;
	if (!all) {
		out->failed = true;
		return;
	}
	for (size_t l = 0; l < s->loop_count; l++) {
		struct metrics_loop *m = &s->loops[l]->metrics;
		pthread_mutex_lock(&m->conflict_lock);
		for (uint64_t i = 0; i < m->conflict_count && i < METRICS_CONFLICTS; i++)
			all[count++] = m->conflict[i];
		pthread_mutex_unlock(&m->conflict_lock);
	}
	qsort(all, count, sizeof *all, newer_first);
	BUF_PUT(out, "[");
	for (size_t i = 0; i < count; i++) {
		buf_put(out, i ? SLICE(",\n") : SLICE("\n"));
		put_conflict(out, &all[i]);
	}
	BUF_PUT(out, "\n]\n");
	free(all);
}

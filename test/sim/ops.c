/* SPDX-License-Identifier: Apache-2.0
 * The service of the simulator: blob-like registers with conditions and leases, and pairs of counters, written as applies in
 * the way services write theirs. And how its operations read in the history. */
#include "sim.h"

#include <assert.h>
#include <stdarg.h>

void sim_wrong(struct sim *s, const char *format, ...)
{
	char text[256];
	va_list ap;
	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	buf_printf(s->why, "%s\n", text);
	s->violated = true;
}

/* ---- applies ---- */

static enum err read_record(struct txn *t, const char *key, struct record *ret)
{
	struct slice value;
	memset(ret, 0, sizeof *ret);
	enum err err = txn_get(t, slice_str(key), &value);
	if (err == ERR_NOT_FOUND)
		return ERR_OK; /* etag 0: not there */
	TRY(err);
	if (value.len != sizeof *ret)
		return ERR_CORRUPT;
	memcpy(ret, value.ptr, sizeof *ret);
	return ERR_OK;
}

static enum err check_write(const struct call *c, const struct record *r)
{
	if (c->none && r->etag)
		return ERR_BLOB_ALREADY_EXISTS;
	if (c->kind == OP_DEL && !r->etag)
		return ERR_BLOB_NOT_FOUND;
	if (c->if_etag && c->if_etag != r->etag)
		return ERR_CONDITION_NOT_MET;
	return c->lease == r->lease ? ERR_OK : ERR_CONDITION_NOT_MET;
}

static enum err apply_put(struct txn *t, struct call *c)
{
	struct record r;
	TRY(read_record(t, c->key[0], &r));
	TRY(check_write(c, &r));
	if (r.extent.id)
		TRY(txn_retire(t, &r.extent));
	if (c->kind == OP_DEL)
		return txn_del(t, slice_str(c->key[0]));
	if (c->extent.id)
		TRY(txn_publish(t, &c->extent));
	r.etag = txn_now(t);
	r.value = c->value;
	r.extent = c->extent;
	c->record = r;
	return txn_put(t, slice_str(c->key[0]), slice_make(&r, sizeof r));
}

static enum err apply_lease(struct txn *t, struct call *c)
{
	struct record r;
	TRY(read_record(t, c->key[0], &r));
	if (!r.etag)
		return ERR_BLOB_NOT_FOUND;
	if (c->kind == OP_ACQUIRE ? r.lease && r.lease != c->lease : r.lease != c->lease)
		return ERR_LEASE_ALREADY_PRESENT;
	r.lease = c->kind == OP_ACQUIRE ? c->lease : 0;
	return txn_put(t, slice_str(c->key[0]), slice_make(&r, sizeof r));
}

static enum err read_number(struct txn *t, const char *key, int64_t *ret)
{
	struct slice value;
	enum err err = txn_get(t, slice_str(key), &value);
	*ret = 1000;
	if (err == ERR_NOT_FOUND)
		return ERR_OK;
	TRY(err);
	return slice_to_i64(value, ret) ? ERR_OK : ERR_CORRUPT;
}

static enum err put_number(struct txn *t, const char *key, int64_t n)
{
	char text[24];
	return txn_put(t, slice_str(key), slice_make(text, (size_t)snprintf(text, sizeof text, "%lld", (long long)n)));
}

static enum err scan_pair(struct txn *t, struct call *c)
{
	struct rows rows;
	char until[32];
	snprintf(until, sizeof until, "%s\xff", c->key[1]);
	struct scan_spec spec = { .from = slice_str(c->key[0]), .until = slice_str(until) };
	c->a = c->b = 1000;
	TRY(txn_scan(t, &spec, &rows));
	for (size_t i = 0; i < rows.count; i++) {
		int64_t n;
		if (!slice_to_i64(rows.row[i].value, &n))
			return ERR_CORRUPT;
		if (slice_eq(rows.row[i].key, slice_str(c->key[0])))
			c->a = n;
		else if (slice_eq(rows.row[i].key, slice_str(c->key[1])))
			c->b = n;
	}
	return ERR_OK;
}

static enum err read_pair(struct txn *t, struct call *c)
{
	if (c->by_scan)
		return scan_pair(t, c);
	TRY(read_number(t, c->key[0], &c->a));
	return read_number(t, c->key[1], &c->b);
}

/* Takes from one before it asks the other, and reads its own write: an error after a put must leave nothing of it. */
static enum err apply_move(struct txn *t, struct call *c)
{
	TRY(read_pair(t, c));
	int64_t want = c->a - c->amount;
	TRY(put_number(t, c->key[0], want));
	TRY(read_pair(t, c));
	if (c->a != want)
		return ERR_CORRUPT;
	if (c->a < 0 || c->b + c->amount < 0)
		return ERR_RESOURCE_ALREADY_EXISTS; /* any refusal with 409 */
	c->b += c->amount;
	return put_number(t, c->key[1], c->b);
}

enum err sim_apply(struct txn *t, void *call)
{
	struct call *c = call;
	switch (c->kind) {
	case OP_PUT:
	case OP_DEL:
		return apply_put(t, c);
	case OP_ACQUIRE:
	case OP_RELEASE:
		return apply_lease(t, c);
	case OP_GET:
		TRY(read_record(t, c->key[0], &c->record));
		return c->record.etag ? ERR_OK : ERR_BLOB_NOT_FOUND;
	case OP_MOVE:
		return apply_move(t, c);
	case OP_READ:
		return read_pair(t, c);
	}
	return ERR_OK;
}

/* ---- choosing ---- */

void sim_key_text(const struct sim *s, unsigned slot, unsigned generation, char *dst, size_t size)
{
	snprintf(dst, size, "%s:%u.%u", slot < SIM_BLOBS ? "blob" : "pair", slot, generation);
}

static void choose_blob(struct sim *s, struct client *c)
{
	struct call *call = &c->call;
	uint64_t dice = rng_below(&s->rng, 100);
	bool knows = c->knows_generation[c->slot] == c->generation;
	call->kind = dice < 45 ? OP_PUT : dice < 50 ? OP_DEL : dice < 80 ? OP_GET : dice < 91 ? OP_ACQUIRE : OP_RELEASE;
	snprintf(call->key[0], sizeof call->key[0], "b%u.%u", c->slot, c->generation);
	call->value = (uint32_t)++s->value_next;
	if (call->kind == OP_ACQUIRE || call->kind == OP_RELEASE)
		call->lease = c->number + 1;
	if (call->kind != OP_PUT && call->kind != OP_DEL)
		return;
	if (rng_below(&s->rng, 3) == 0)
		call->lease = c->number + 1;
	if (rng_below(&s->rng, 2) && knows && c->knows_etag[c->slot])
		call->if_etag = c->knows_etag[c->slot];
	else if (call->kind == OP_PUT && rng_below(&s->rng, 5) == 0)
		call->none = true;
}

static void choose_pair(struct sim *s, struct client *c)
{
	struct call *call = &c->call;
	call->kind = rng_below(&s->rng, 3) ? OP_MOVE : OP_READ;
	call->by_scan = rng_below(&s->rng, 2);
	call->amount = (int64_t)rng_below(&s->rng, 801) - 400;
	for (int i = 0; i < 2; i++)
		snprintf(call->key[i], sizeof call->key[i], "p%u.%u%c", c->slot, c->generation, 'a' + i);
}

void sim_choose(struct sim *s, struct client *c)
{
	c->call = (struct call){ 0 };
	c->slot = (unsigned)rng_below(&s->rng, SIM_KEYS);
	c->generation = s->key[c->slot].generation;
	c->front = (unsigned)rng_below(&s->rng, s->fronts);
	if (c->slot < SIM_BLOBS)
		choose_blob(s, c);
	else
		choose_pair(s, c);
}

/* ---- history ---- */

static void args_text(const struct call *c, char *dst, size_t size)
{
	size_t used = 0;
	dst[0] = 0;
	if (c->kind == OP_MOVE)
		used += (size_t)snprintf(dst, size, ",d=%lld", (long long)c->amount);
	if (c->kind == OP_ACQUIRE || c->kind == OP_RELEASE)
		used += (size_t)snprintf(dst, size, ",id=L%u", c->lease);
	if (c->kind == OP_PUT)
		used += (size_t)snprintf(dst, size, ",v=v%u%s", c->value, c->none ? ",none=*" : "");
	if ((c->kind == OP_PUT || c->kind == OP_DEL) && c->lease)
		used += (size_t)snprintf(dst + used, size - used, ",lease=L%u", c->lease);
	if (c->if_etag)
		used += (size_t)snprintf(dst + used, size - used, ",if=e%llu", (unsigned long long)c->if_etag);
	if (!used)
		snprintf(dst, size, ",-");
}

static void result_text(const struct call *c, enum err err, char *dst, size_t size)
{
	if (err != ERR_OK)
		snprintf(dst, size, "%d", err_info(err)->http_status);
	else if (c->kind == OP_PUT)
		snprintf(dst, size, "ok,e%llu", (unsigned long long)c->record.etag);
	else if (c->kind == OP_GET)
		snprintf(dst, size, "ok,v%u,e%llu", c->record.value, (unsigned long long)c->record.etag);
	else if (c->kind == OP_MOVE || c->kind == OP_READ)
		snprintf(dst, size, "ok,%lld,%lld", (long long)c->a, (long long)c->b);
	else
		snprintf(dst, size, "ok");
}

static void learn(struct client *c)
{
	if (c->slot >= SIM_BLOBS || (c->call.kind != OP_PUT && c->call.kind != OP_GET))
		return;
	c->knows_etag[c->slot] = c->call.record.etag;
	c->knows_generation[c->slot] = c->generation;
}

void sim_record(struct sim *s, struct client *c, enum err err, bool open)
{
	static const char *const names[] = { "put", "del", "get", "acquire", "release", "move", "read" };
	char key[32], args[128], result[96];
	const struct call *call = &c->call;
	bool reads = call->kind == OP_GET || call->kind == OP_READ;
	sim_key_text(s, c->slot, c->generation, key, sizeof key);
	args_text(call, args, sizeof args);
	result_text(call, err, result, sizeof result);
	if (open && reads)
		return; /* what nobody saw and nothing changed */
	if (open && ++s->key[c->slot].open > SIM_OPEN_MAX && s->key[c->slot].generation == c->generation) {
		s->key[c->slot].generation++;
		s->key[c->slot].open = 0;
	}
	s->totals->open += open;
	s->totals->acknowledged += !open && err == ERR_OK;
	s->totals->refused += !open && err != ERR_OK;
	if (!open && err == ERR_OK)
		learn(c);
	enum err added = linear_history_add(s->history, c->number, slice_str(names[call->kind]), slice_str(key),
					    slice_str(args + 1), c->call_time, open ? LINEAR_NEVER : ++s->now,
					    slice_str(result));
	if (added != ERR_OK)
		sim_wrong(s, "not for the history: %s %s %s: %s (%s)", names[call->kind], key, args + 1, result, err_name(err));
}

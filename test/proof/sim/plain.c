/* SPDX-License-Identifier: Apache-2.0
 * The service of the simulator: blob-like registers with conditions and leases, and pairs of counters, written as
 * applies in the way services write theirs. And how its operations read in the history. */
#include "sim.h"

enum { BLOBS = 3, PAIRS = 2 };

enum op_kind { OP_PUT, OP_DEL, OP_GET, OP_ACQUIRE, OP_RELEASE, OP_MOVE, OP_READ };

/* A blob's record. */
struct record {
	uint64_t etag;
	uint32_t value;
	uint32_t lease;		  /* client + 1; 0 none */
	struct extent_ref extent; /* id 0: the value is here; else the extent repeats it */
};

/* What an operation needs and finds; apply sees nothing else. */
struct call {
	enum op_kind kind;
	char key[2][24]; /* rows: a blob has one, a pair two */
	uint32_t value, lease;
	bool none;
	bool by_scan; /* a pair is read by one scan, not by two gets */
	uint64_t if_etag;
	int64_t amount;
	struct extent_ref extent; /* sealed, to be published */
	/* found, set anew by every run */
	struct record record;
	int64_t a, b;
};

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

static enum err plain_apply(struct txn *t, void *call)
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

static struct slice plain_partition(unsigned slot)
{
	return slot % 2 ? SLICE("crate") : SLICE("box");
}

static void name_rows(struct client *c)
{
	struct call *call = c->call;
	for (int i = 0; i < 2; i++)
		if (c->slot < BLOBS)
			snprintf(call->key[i], sizeof call->key[i], "b%u.%u", c->slot, c->generation);
		else
			snprintf(call->key[i], sizeof call->key[i], "p%u.%u%c", c->slot, c->generation, 'a' + i);
}

static void choose_blob(struct sim *s, struct client *c)
{
	struct call *call = c->call;
	uint64_t dice = rng_below(&s->rng, 100);
	bool knows = c->knows_generation[c->slot] == c->generation;
	call->kind = dice < 45 ? OP_PUT : dice < 50 ? OP_DEL : dice < 80 ? OP_GET : dice < 91 ? OP_ACQUIRE : OP_RELEASE;
	name_rows(c);
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
	struct call *call = c->call;
	call->kind = rng_below(&s->rng, 3) ? OP_MOVE : OP_READ;
	call->by_scan = rng_below(&s->rng, 2);
	call->amount = (int64_t)rng_below(&s->rng, 801) - 400;
	name_rows(c);
}

static void plain_choose(struct sim *s, struct client *c)
{
	struct call *call = c->call;
	if (c->slot < BLOBS)
		choose_blob(s, c);
	else
		choose_pair(s, c);
	c->apply = plain_apply;
	c->reads = call->kind == OP_GET || call->kind == OP_READ;
	c->points = call->kind == OP_GET;
}

static void plain_choose_last(struct sim *s, struct client *c)
{
	struct call *call = c->call;
	call->kind = c->slot < BLOBS ? OP_GET : OP_READ;
	call->by_scan = true;
	name_rows(c);
	c->apply = plain_apply;
	c->reads = true;
	c->points = false;
}

/* ---- extents ---- */

static bool plain_prepare(struct sim *s, struct client *c)
{
	struct call *call = c->call;
	if (call->kind != OP_PUT || rng_below(&s->rng, 1000) >= s->extent_permille)
		return true;
	return sim_extent_make(s->front[c->front].engine, call->value, &call->extent);
}

static void plain_give_up(struct sim *s, struct client *c)
{
	struct call *call = c->call;
	struct engine *e = s->front[c->front].engine;
	if (call->extent.id)
		e->ops->extent_abandon(e, &call->extent);
}

static bool plain_has_bytes(const struct client *c)
{
	const struct call *call = c->call;
	return call->kind == OP_GET && call->record.extent.id;
}

static enum err plain_check_bytes(struct sim *s, struct client *c)
{
	const struct call *call = c->call;
	return sim_extent_check(s->front[c->front].engine, call->record.value, &call->record.extent);
}

static enum err plain_audit(struct txn *t, void *arg)
{
	struct sim_audit *a = arg;
	struct rows rows;
	struct scan_spec spec = { .from = SLICE("b"), .until = SLICE("c") };
	TRY(txn_scan(t, &spec, &rows));
	for (size_t i = 0; i < rows.count; i++) {
		struct record r;
		if (rows.row[i].value.len != sizeof r)
			return ERR_CORRUPT;
		memcpy(&r, rows.row[i].value.ptr, sizeof r);
		if (!r.extent.id)
			continue;
		a->extents++;
		TRY(sim_extent_check(a->sim->front[0].engine, r.value, &r.extent));
	}
	return rows.more ? ERR_LIMIT : ERR_OK;
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
	const struct call *call = c->call;
	if (c->slot >= BLOBS || (call->kind != OP_PUT && call->kind != OP_GET))
		return;
	c->knows_etag[c->slot] = call->record.etag;
	c->knows_generation[c->slot] = c->generation;
}

static void plain_record(struct sim *s, struct client *c, enum err err, bool open)
{
	static const char *const names[] = { "put", "del", "get", "acquire", "release", "move", "read" };
	char key[32], args[128], result[96];
	const struct call *call = c->call;
	snprintf(key, sizeof key, "%s:%u.%u", c->slot < BLOBS ? "blob" : "pair", c->slot, c->generation);
	args_text(call, args, sizeof args);
	result_text(call, err, result, sizeof result);
	if (!open && err == ERR_OK)
		learn(c);
	sim_history_add(s, c, names[call->kind], key, args + 1, result, open);
}

const struct sim_service sim_plain = {
	.name = "plain",
	.slots = BLOBS + PAIRS,
	.call_bytes = sizeof(struct call),
	.partition = plain_partition,
	.choose = plain_choose,
	.choose_last = plain_choose_last,
	.prepare = plain_prepare,
	.give_up = plain_give_up,
	.has_bytes = plain_has_bytes,
	.check_bytes = plain_check_bytes,
	.record = plain_record,
	.audit = plain_audit,
};

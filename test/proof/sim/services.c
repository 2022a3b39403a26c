/* SPDX-License-Identifier: Apache-2.0
 * The real services under the simulator: Put, Get, Delete Blob with conditions and leases, entities with ETags, an
 * entity group transaction over two rows, queue messages; their own applies, called as the front end calls them. The
 * value of a blob is in its content type and in every word of its bytes (in the record, in a row, or in two extents).
 */
#include "sim.h"

#include "store/extent.h"
#include "store/key.h"
#include "svc/blob/blob.h"
#include "svc/common/generation.h"
#include "svc/queue/queue.h"
#include "svc/table/entity.h"

enum {
	BLOB_FIRST = 0,
	ENTITY_FIRST = 2,
	PAIR_SLOT = 4,
	QUEUE_SLOT = 5,
	LEASE_SLOT = 6, /* a blob whose leases end */
	SLOTS = 7,
	WORDS_MAX = 400,
	TIMEOUT_S = 7 * 24 * 3600,
	MESSAGES_MAX = 50
};

enum op {
	OP_BLOB_PUT,
	OP_BLOB_GET,
	OP_BLOB_DEL,
	OP_ACQUIRE,
	OP_RELEASE,
	OP_INSERT,
	OP_UPSERT,
	OP_UPDATE,
	OP_ENTITY_DEL,
	OP_ENTITY_GET,
	OP_PAIR_CAS,
	OP_PAIR_READ,
	OP_QUEUE_PUT,
	OP_QUEUE_GET,
	OP_QUEUE_DEL,
	OP_QUEUE_PEEK,
	OP_LEASE, /* any action, on LEASE_SLOT */
};
static const char *const op_name[] = { "put", "get", "del", "acquire", "release", "insert", "put", "update",
				       "del", "get", "cas", "read",    "put",	  "get",    "del", "peek" };

struct entity_row {
	char key[64];
	size_t key_len;
	char row_key[16];
	char run[48]; /* properties */
	size_t run_len;
};

struct call {
	enum op op;
	uint32_t value;
	uint64_t at_ticks;	    /* when the apply ran last; 0 never */
	unsigned holder, to_holder; /* LEASE_SLOT: whose ids; 0 none */
	char name[32], type[16];
	uint32_t words[WORDS_MAX];
	struct payload payload;
	struct extent_ref extent[2];
	int64_t a, b, amount; /* pair */
	struct entity_row row[2];
	struct entity_write write[2];
	struct entity_get found[2];
	char message[16];
	union {
		struct blob_put_call put;
		struct blob_get_call get;
		struct blob_delete_call del;
		struct blob_modify_call modify;
		struct entity_batch batch;
		struct queue_put queue_put;
		struct queue_get queue_get;
		struct queue_change queue_del;
	};
};

/* What a client remembers for its next try. */
struct memory {
	int64_t a, b;
	uint64_t ticks[2];
	unsigned generation;
	bool read;
	bool has_message;
	char message[16];
	struct uuid id;
	struct queue_receipt receipt;
};

static struct slice partition_of(unsigned slot)
{
	return slot < ENTITY_FIRST || slot == LEASE_SLOT ? SLICE("acc\x01"
								 "c1")
	       : slot < QUEUE_SLOT			 ? SLICE("acc\x01"
										       "t1")
							 : SLICE("acc\x01"
										       "q1");
}

static enum err apply_open(struct txn *t, void *call)
{
	return generation_open(t);
}

static void setup(struct sim *s)
{
	for (unsigned slot = 0; slot < SLOTS; slot++)
		if (sim_write_now(s, partition_of(slot), apply_open, NULL, NULL) != ERR_OK)
			sim_wrong(s, "a generation cannot be opened");
}

/* ---- applies ---- */

static enum err apply_pair_read(struct txn *t, struct call *c)
{
	for (int i = 0; i < 2; i++) {
		c->found[i] = (struct entity_get){ .key = slice_make(c->row[i].key, c->row[i].key_len) };
		TRY(entity_get_whole(t, &c->found[i]));
	}
	return ERR_OK;
}

static enum err apply(struct txn *t, void *arg)
{
	struct call *c = arg;
	c->at_ticks = txn_now(t);
	switch (c->op) {
	case OP_BLOB_PUT:
		return blob_apply_put(t, &c->put);
	case OP_BLOB_GET:
		return blob_apply_get(t, &c->get);
	case OP_BLOB_DEL:
		return blob_apply_delete(t, &c->del);
	case OP_ACQUIRE:
	case OP_RELEASE:
	case OP_LEASE:
		return blob_apply_lease(t, &c->modify);
	case OP_INSERT:
	case OP_UPSERT:
	case OP_UPDATE:
	case OP_ENTITY_DEL:
		return entity_write_apply(t, &c->batch);
	case OP_PAIR_CAS:
		return entity_batch_apply(t, &c->batch);
	case OP_ENTITY_GET:
		c->found[0] = (struct entity_get){ .key = slice_make(c->row[0].key, c->row[0].key_len) };
		return entity_get_point(t, &c->found[0]);
	case OP_PAIR_READ:
		return apply_pair_read(t, c);
	case OP_QUEUE_PUT:
		return queue_apply_put(t, &c->queue_put);
	case OP_QUEUE_GET:
		return queue_apply_get(t, &c->queue_get);
	case OP_QUEUE_DEL:
		return queue_apply_delete(t, &c->queue_del);
	case OP_QUEUE_PEEK:
		return queue_apply_peek(t, &c->queue_get);
	}
	return ERR_OK;
}

/* ---- blobs ---- */

static struct uuid lease_of(const struct client *c)
{
	struct uuid id;
	memset(id.bytes, (int)c->number + 1, sizeof id.bytes);
	return id;
}

static struct blob_target target_of(struct sim *s, struct client *c, bool lease, bool match, bool none)
{
	struct call *call = c->call;
	struct blob_target t = { .name = slice_str(call->name), .has_lease_id = lease, .lease_id = lease_of(c) };
	if (match) {
		t.conditions.match.present = true;
		t.conditions.match.count = 1;
		t.conditions.match.etag[0] = c->knows_etag[c->slot];
	}
	if (none)
		t.conditions.none_match.present = t.conditions.none_match.any = true;
	return t;
}

static void choose_blob(struct sim *s, struct client *c)
{
	struct call *call = c->call;
	uint64_t dice = rng_below(&s->rng, 100);
	bool knows = c->knows_generation[c->slot] == c->generation && c->knows_etag[c->slot];
	bool lease = rng_below(&s->rng, 3) == 0, match = knows && rng_below(&s->rng, 2);
	bool none = !lease && !match && rng_below(&s->rng, 4) == 0;
	call->op = dice < 45   ? OP_BLOB_PUT
		   : dice < 50 ? OP_BLOB_DEL
		   : dice < 80 ? OP_BLOB_GET
		   : dice < 91 ? OP_ACQUIRE
			       : OP_RELEASE;
	snprintf(call->type, sizeof call->type, "v%u", call->value);
	if (call->op == OP_BLOB_PUT) {
		call->put = (struct blob_put_call){ .target = target_of(s, c, lease, match, none),
						    .type = BLOB_BLOCK,
						    .payload = &call->payload,
						    .content_id = 1000 + call->value,
						    .may_overwrite = true };
		call->put.http.content_type = slice_str(call->type);
	} else if (call->op == OP_BLOB_DEL) {
		call->del = (struct blob_delete_call){ .target = target_of(s, c, lease, match, false) };
	} else if (call->op == OP_BLOB_GET) {
		call->get = (struct blob_get_call){ .target = target_of(s, c, false, false, false),
						    .want_bytes = rng_below(&s->rng, 2),
						    .on_snapshot = true };
	} else {
		bool acquire = call->op == OP_ACQUIRE;
		call->modify = (struct blob_modify_call){ .target = target_of(s, c, false, false, false) };
		call->modify.lease =
			(struct lease_request){ .action = acquire ? LEASE_ACTION_ACQUIRE : LEASE_ACTION_RELEASE,
						.has_id = !acquire,
						.has_proposed = acquire,
						.id = lease_of(c),
						.proposed = lease_of(c),
						.duration_s = LEASE_INFINITE };
	}
}

/* ---- leases that end: clients know each other's ids, and the clocks jump ---- */

static struct uuid holder_id(unsigned holder)
{
	struct uuid id;
	memset(id.bytes, (int)holder, sizeof id.bytes);
	return id;
}

static void choose_lease_action(struct sim *s, struct call *call, struct blob_target target, uint64_t dice)
{
	call->op = OP_LEASE;
	call->modify = (struct blob_modify_call){ .target = target };
	call->modify.target.has_lease_id = false;
	call->to_holder = 1 + (unsigned)rng_below(&s->rng, 2 * SIM_CLIENTS);
	call->modify.lease = (struct lease_request){
		.action = dice < 30   ? LEASE_ACTION_ACQUIRE
			  : dice < 45 ? LEASE_ACTION_RENEW
			  : dice < 55 ? LEASE_ACTION_CHANGE
			  : dice < 60 ? LEASE_ACTION_RELEASE
				      : LEASE_ACTION_BREAK,
		.id = holder_id(call->holder),
		.proposed = holder_id(call->to_holder),
		.duration_s = rng_below(&s->rng, 8) ? 15 + (int)rng_below(&s->rng, 46) : LEASE_INFINITE,
		.break_period_s = rng_below(&s->rng, 3) ? (int)rng_below(&s->rng, 61) : LEASE_BREAK_DEFAULT
	};
	struct lease_request *l = &call->modify.lease;
	l->has_id = l->action != LEASE_ACTION_ACQUIRE && l->action != LEASE_ACTION_BREAK;
	l->has_proposed = l->action == LEASE_ACTION_ACQUIRE || l->action == LEASE_ACTION_CHANGE;
	if (l->action == LEASE_ACTION_ACQUIRE)
		l->proposed = l->id;
}

static void choose_lease(struct sim *s, struct client *c)
{
	struct call *call = c->call;
	uint64_t dice = rng_below(&s->rng, 100);
	struct blob_target target = { .name = slice_str(call->name), .has_lease_id = rng_below(&s->rng, 2) };
	call->holder = 1 + (unsigned)rng_below(&s->rng, 2 * SIM_CLIENTS);
	target.lease_id = holder_id(call->holder);
	snprintf(call->type, sizeof call->type, "v%u", call->value);
	if (dice >= 40) {
		choose_lease_action(s, call, target, dice - 40);
	} else if (dice >= 20) {
		call->op = OP_BLOB_GET;
		target.has_lease_id = false;
		call->get = (struct blob_get_call){ .target = target,
						    .want_bytes = rng_below(&s->rng, 2),
						    .on_snapshot = true };
	} else if (dice == 19) {
		call->op = OP_BLOB_DEL;
		call->del = (struct blob_delete_call){ .target = target };
	} else {
		call->op = OP_BLOB_PUT;
		call->put = (struct blob_put_call){ .target = target,
						    .type = BLOB_BLOCK,
						    .payload = &call->payload,
						    .content_id = 1000 + call->value,
						    .may_overwrite = true };
		call->put.http.content_type = slice_str(call->type);
	}
}

static void record_lease(struct sim *s, struct client *c, enum err err, bool open)
{
	static const char *const action[] = { "acquire", "renew", "change", "release", "break" };
	const struct call *call = c->call;
	const struct lease_request *l = &call->modify.lease;
	const char *op = call->op == OP_LEASE ? action[l->action] : op_name[call->op];
	const struct blob_target *t = call->op == OP_BLOB_PUT ? &call->put.target : &call->del.target;
	unsigned long long ms = call->at_ticks / (TICKS_PER_SECOND / 1000);
	char key[32], args[160], result[96];
	if (open && !call->at_ticks)
		return; /* never applied */
	snprintf(key, sizeof key, "lease:%u.%u", c->slot, c->generation);
	size_t used = (size_t)snprintf(args, sizeof args, "at=%llu..%llu", ms, ms + 1);
#define ARG(...) used += (size_t)snprintf(args + used, sizeof args - used, __VA_ARGS__)
	if (call->op == OP_BLOB_PUT)
		ARG(",v=v%u", call->value);
	if ((call->op == OP_BLOB_PUT || call->op == OP_BLOB_DEL) && t->has_lease_id)
		ARG(",lease=L%u", call->holder);
	if (call->op == OP_LEASE && l->action != LEASE_ACTION_BREAK)
		ARG(",id=L%u", call->holder);
	if (call->op == OP_LEASE && l->action == LEASE_ACTION_ACQUIRE)
		ARG(",d=#%d", l->duration_s);
	if (call->op == OP_LEASE && l->action == LEASE_ACTION_CHANGE)
		ARG(",to=L%u", call->to_holder);
	if (call->op == OP_LEASE && l->action == LEASE_ACTION_BREAK && l->break_period_s != LEASE_BREAK_DEFAULT)
		ARG(",p=#%d", l->break_period_s);
#undef ARG
	if (err != ERR_OK)
		snprintf(result, sizeof result, "%d", err_info(err)->http_status);
	else if (call->op == OP_BLOB_GET)
		snprintf(result, sizeof result, "ok,%.*s,#%d", SLICE_FMT(call->get.blob.http.content_type),
			 (int)lease_state(&call->get.blob.lease, call->at_ticks));
	else if (call->op == OP_LEASE && l->action == LEASE_ACTION_BREAK)
		snprintf(result, sizeof result, "ok,#%u", l->break_seconds_left);
	else
		snprintf(result, sizeof result, "ok");
	sim_history_add(s, c, op, key, args, open ? "unknown" : result, open);
}

static bool prepare(struct sim *s, struct client *c)
{
	struct call *call = c->call;
	struct engine *e = s->front[c->front].engine;
	if (call->op != OP_BLOB_PUT)
		return true;
	if (rng_below(&s->rng, 1000) >= s->extent_permille) {
		size_t words = 1 + call->value % WORDS_MAX; /* in the record up to 128 of them, then in a row */
		for (size_t i = 0; i < words; i++)
			call->words[i] = call->value;
		call->payload.length_bytes = 4 * words;
		call->payload.inline_bytes = slice_make(call->words, 4 * words);
		return true;
	}
	if (!sim_extent_make(e, call->value, &call->extent[0]))
		return false;
	if (!sim_extent_make(e, call->value, &call->extent[1])) {
		e->ops->extent_abandon(e, &call->extent[0]);
		return false;
	}
	call->payload = (struct payload){ .length_bytes = 2 * (uint64_t)call->extent[0].length_bytes,
					  .extents = call->extent,
					  .extent_count = 2 };
	return true;
}

static void give_up(struct sim *s, struct client *c)
{
	struct call *call = c->call;
	struct engine *e = s->front[c->front].engine;
	for (int i = 0; i < 2; i++)
		if (call->op == OP_BLOB_PUT && call->extent[i].id)
			e->ops->extent_abandon(e, &call->extent[i]);
}

static bool has_bytes(const struct client *c)
{
	const struct call *call = c->call;
	return call->op == OP_BLOB_GET && call->get.want_bytes;
}

static uint32_t value_of_type(struct slice type)
{
	uint64_t n = 0;
	return type.len > 1 && slice_to_u64(slice_from(type, 1), &n) ? (uint32_t)n : 0;
}

static enum err check_bytes(struct sim *s, struct client *c)
{
	const struct call *call = c->call;
	uint32_t value = value_of_type(call->get.blob.http.content_type);
	uint64_t bytes = 0;
	for (size_t i = 0; i < call->get.piece_count; i++) {
		const struct blob_piece *p = &call->get.piece[i];
		bytes += p->length_bytes;
		if (p->extent.id)
			TRY(sim_extent_check(s->front[c->front].engine, value, &p->extent));
		for (size_t at = 0; at + 4 <= p->bytes.len; at += 4)
			if (memcmp(p->bytes.ptr + at, &value, 4) != 0)
				return ERR_CORRUPT;
	}
	return bytes == call->get.blob.length_bytes ? ERR_OK : ERR_CORRUPT;
}

/* ---- entities ---- */

static void row_init(struct entity_row *r, const char *row_key, int64_t value)
{
	struct key k;
	struct buf run;
	struct edm_value v = { .type = EDM_INT64, .integer = value };
	snprintf(r->row_key, sizeof r->row_key, "%s", row_key);
	entity_key(&k, SLICE("pk"), slice_str(r->row_key));
	r->key_len = k.len;
	memcpy(r->key, k.bytes, k.len);
	buf_init(&run, sizeof r->run);
	property_encode(&run, SLICE("Value"), &v);
	r->run_len = run.len;
	memcpy(r->run, run.ptr, run.len);
	buf_fini(&run);
}

static struct entity_write write_of(const struct entity_row *r, enum entity_action action, uint64_t match)
{
	return (struct entity_write){ .action = action,
				      .key = slice_make(r->key, r->key_len),
				      .partition_key = SLICE("pk"),
				      .row_key = slice_str(r->row_key),
				      .match_ticks = match,
				      .properties =
					      action == ENTITY_DELETE ? SLICE_NONE : slice_make(r->run, r->run_len) };
}

static int64_t found_value(const struct entity_get *g, int64_t absent)
{
	struct property_cursor c = property_cursor_make(g->properties);
	struct property p;
	return g->found && property_next(&c, &p) ? p.value.integer : absent;
}

static void choose_entity(struct sim *s, struct client *c)
{
	struct call *call = c->call;
	uint64_t dice = rng_below(&s->rng, 100);
	bool knows = c->knows_generation[c->slot] == c->generation && c->knows_etag[c->slot];
	call->op = dice < 15   ? OP_INSERT
		   : dice < 30 ? OP_UPSERT
		   : dice < 60 ? OP_UPDATE
		   : dice < 67 ? OP_ENTITY_DEL
			       : OP_ENTITY_GET;
	row_init(&call->row[0], call->name, call->value);
	enum entity_action action = call->op == OP_INSERT   ? ENTITY_INSERT
				    : call->op == OP_UPSERT ? ENTITY_INSERT_OR_REPLACE
				    : call->op == OP_UPDATE ? ENTITY_REPLACE
							    : ENTITY_DELETE;
	call->write[0] = write_of(&call->row[0], action, 0);
	if (call->op == OP_UPDATE || call->op == OP_ENTITY_DEL) {
		call->write[0].match_any = !knows || rng_below(&s->rng, 4) == 0;
		call->write[0].match_ticks = call->write[0].match_any ? 0 : c->knows_etag[c->slot];
	}
	call->batch = (struct entity_batch){ .write = call->write, .count = 1 };
}

static void pair_rows(struct client *c, int64_t a, int64_t b)
{
	struct call *call = c->call;
	char name[16];
	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof name, "p%u%c", c->generation, 'a' + i);
		row_init(&call->row[i], name, i ? b : a);
	}
}

/* A move from what was read before: both rows must still be as they were. */
static void choose_pair(struct sim *s, struct client *c)
{
	struct call *call = c->call;
	const struct memory *m = c->memory;
	bool knows = m->read && m->generation == c->generation;
	call->op = knows && rng_below(&s->rng, 3) ? OP_PAIR_CAS : OP_PAIR_READ;
	call->a = knows ? m->a : 1000;
	call->b = knows ? m->b : 1000;
	call->amount = (int64_t)rng_below(&s->rng, 100) + 1;
	pair_rows(c, call->a - call->amount, call->b + call->amount);
	for (int i = 0; i < 2; i++)
		call->write[i] = write_of(&call->row[i], m->ticks[i] ? ENTITY_REPLACE : ENTITY_INSERT, m->ticks[i]);
	call->batch = (struct entity_batch){ .write = call->write, .count = 2 };
}

/* ---- queue ---- */

static void choose_queue(struct sim *s, struct client *c)
{
	struct call *call = c->call;
	const struct memory *m = c->memory;
	uint64_t dice = rng_below(&s->rng, 100);
	bool full = s->key[QUEUE_SLOT].uses >= MESSAGES_MAX;
	call->op = dice < 40 && !full		 ? OP_QUEUE_PUT
		   : dice < 70			 ? OP_QUEUE_GET
		   : dice < 90 && m->has_message ? OP_QUEUE_DEL
						 : OP_QUEUE_PEEK;
	if (call->op == OP_QUEUE_PUT) {
		s->key[QUEUE_SLOT].uses++;
		snprintf(call->message, sizeof call->message, "m%u", call->value);
		call->queue_put = (struct queue_put){ .text = slice_str(call->message),
						      .salt = call->value,
						      .ttl_s = QUEUE_TTL_NEVER };
	} else if (call->op == OP_QUEUE_DEL) {
		snprintf(call->message, sizeof call->message, "%s", m->message);
		call->queue_del = (struct queue_change){ .id = m->id, .receipt = m->receipt };
	} else {
		call->queue_get = (struct queue_get){ .want = 1, .timeout_s = TIMEOUT_S };
	}
}

/* ---- all of them ---- */

static void begin(struct sim *s, struct client *c)
{
	struct call *call = c->call;
	call->value = (uint32_t)++s->value_next;
	snprintf(call->name, sizeof call->name, "n%u.%u", c->slot, c->generation);
	c->apply = apply;
}

static void choose(struct sim *s, struct client *c)
{
	struct call *call = c->call;
	if (c->slot == QUEUE_SLOT && c->generation > 0) { /* too many open outcomes, and there is only one queue */
		c->slot = BLOB_FIRST;
		c->generation = s->key[BLOB_FIRST].generation;
	}
	begin(s, c);
	if (c->slot < ENTITY_FIRST)
		choose_blob(s, c);
	else if (c->slot < PAIR_SLOT)
		choose_entity(s, c);
	else if (c->slot == PAIR_SLOT)
		choose_pair(s, c);
	else if (c->slot == LEASE_SLOT)
		choose_lease(s, c);
	else
		choose_queue(s, c);
	c->reads = call->op == OP_BLOB_GET || call->op == OP_ENTITY_GET || call->op == OP_PAIR_READ ||
		   call->op == OP_QUEUE_PEEK;
	c->points = call->op == OP_ENTITY_GET || (call->op == OP_BLOB_GET && !call->get.want_bytes);
}

static void choose_last(struct sim *s, struct client *c)
{
	struct call *call = c->call;
	begin(s, c);
	c->reads = true;
	c->points = false;
	if (c->slot < ENTITY_FIRST || c->slot == LEASE_SLOT) {
		call->op = OP_BLOB_GET;
		call->get = (struct blob_get_call){ .target = target_of(s, c, false, false, false),
						    .want_bytes = true,
						    .on_snapshot = true };
	} else if (c->slot < PAIR_SLOT) {
		call->op = OP_ENTITY_GET;
		row_init(&call->row[0], call->name, 0);
	} else if (c->slot == PAIR_SLOT) {
		call->op = OP_PAIR_READ;
		pair_rows(c, 0, 0);
	} else {
		call->op = OP_QUEUE_PEEK;
		call->queue_get = (struct queue_get){ .want = 1 };
		c->generation = 0; /* there is only one */
	}
}

static void remember(struct client *c)
{
	const struct call *call = c->call;
	struct memory *m = c->memory;
	uint64_t etag = call->op == OP_BLOB_PUT	    ? call->put.blob.etag
			: call->op == OP_BLOB_GET   ? call->get.blob.etag
			: call->op == OP_ENTITY_GET ? call->found[0].ticks
						    : call->write[0].ticks;
	if (c->slot < PAIR_SLOT && call->op != OP_BLOB_DEL && call->op != OP_ACQUIRE && call->op != OP_RELEASE &&
	    call->op != OP_ENTITY_DEL) {
		c->knows_etag[c->slot] = etag;
		c->knows_generation[c->slot] = c->generation;
	}
	if (call->op == OP_PAIR_READ) {
		m->a = found_value(&call->found[0], 1000);
		m->b = found_value(&call->found[1], 1000);
		m->generation = c->generation;
		m->read = true;
		for (int i = 0; i < 2; i++)
			m->ticks[i] = call->found[i].found ? call->found[i].ticks : 0;
	}
	if (call->op == OP_QUEUE_GET && call->queue_get.found) {
		const struct queue_message *got = &call->queue_get.message[0];
		m->has_message = true;
		snprintf(m->message, sizeof m->message, "%.*s", SLICE_FMT(got->text));
		m->id = got->id;
		m->receipt = got->receipt;
	}
}

/* What the operation asked, from its own call. */
static void args_text(const struct client *c, char *dst, size_t size)
{
	const struct call *call = c->call;
	size_t used = 0;
	const struct blob_target *t = call->op == OP_BLOB_PUT	? &call->put.target
				      : call->op == OP_BLOB_DEL ? &call->del.target
								: NULL;
	const struct entity_write *w = &call->write[0];
	dst[0] = 0;
	if (call->op == OP_BLOB_PUT || call->op == OP_INSERT || call->op == OP_UPSERT || call->op == OP_UPDATE)
		used += (size_t)snprintf(dst, size, ",v=v%u", call->value);
	if (call->op == OP_ACQUIRE || call->op == OP_RELEASE)
		used += (size_t)snprintf(dst, size, ",id=L%u", c->number + 1);
	if (call->op == OP_QUEUE_PUT || call->op == OP_QUEUE_DEL)
		used += (size_t)snprintf(dst, size, ",m=%s", call->message);
	if (call->op == OP_PAIR_CAS)
		used += (size_t)snprintf(dst, size, ",a=%lld,b=%lld,d=%lld", (long long)call->a, (long long)call->b,
					 (long long)call->amount);
	if (t && t->has_lease_id)
		used += (size_t)snprintf(dst + used, size - used, ",lease=L%u", c->number + 1);
	if (t && t->conditions.match.present)
		used += (size_t)snprintf(dst + used, size - used, ",if=e%llu",
					 (unsigned long long)t->conditions.match.etag[0]);
	if (t && t->conditions.none_match.any)
		used += (size_t)snprintf(dst + used, size - used, ",none=*");
	if ((call->op == OP_UPDATE || call->op == OP_ENTITY_DEL) && w->match_any)
		used += (size_t)snprintf(dst + used, size - used, ",any=*");
	else if (call->op == OP_UPDATE || call->op == OP_ENTITY_DEL)
		used += (size_t)snprintf(dst + used, size - used, ",if=e%llu", (unsigned long long)w->match_ticks);
	if (!used)
		snprintf(dst, size, ",-");
}

static void result_text(const struct call *c, enum err err, char *dst, size_t size)
{
	if (c->op == OP_PAIR_CAS && err == ERR_OK && c->batch.refused != ERR_OK)
		snprintf(dst, size, "412"); /* one of the rows was not as read: 404, 409 or 412 of that row */
	else if (c->op == OP_ENTITY_GET && err == ERR_OK && !c->found[0].found)
		snprintf(dst, size, "404");
	else if (err != ERR_OK)
		snprintf(dst, size, "%d", err_info(err)->http_status);
	else if (c->op == OP_BLOB_PUT)
		snprintf(dst, size, "ok,e%llu", (unsigned long long)c->put.blob.etag);
	else if (c->op == OP_BLOB_GET)
		snprintf(dst, size, "ok,%.*s,e%llu", SLICE_FMT(c->get.blob.http.content_type),
			 (unsigned long long)c->get.blob.etag);
	else if (c->op == OP_INSERT || c->op == OP_UPSERT || c->op == OP_UPDATE)
		snprintf(dst, size, "ok,e%llu", (unsigned long long)c->write[0].ticks);
	else if (c->op == OP_ENTITY_GET)
		snprintf(dst, size, "ok,v%lld,e%llu", (long long)found_value(&c->found[0], 0),
			 (unsigned long long)c->found[0].ticks);
	else if (c->op == OP_PAIR_READ)
		snprintf(dst, size, "ok,%lld,%lld", (long long)found_value(&c->found[0], 1000),
			 (long long)found_value(&c->found[1], 1000));
	else if ((c->op == OP_QUEUE_GET || c->op == OP_QUEUE_PEEK) && c->queue_get.found)
		snprintf(dst, size, "ok,%.*s", SLICE_FMT(c->queue_get.message[0].text));
	else
		snprintf(dst, size, "ok");
}

static void record(struct sim *s, struct client *c, enum err err, bool open)
{
	static const char *const model[SLOTS] = { "blob", "blob", "entity", "entity", "pair", "queue" };
	char key[32], args[128], result[96];
	const struct call *call = c->call;
	if (c->slot == LEASE_SLOT) {
		record_lease(s, c, err, open);
		return;
	}
	snprintf(key, sizeof key, "%s:%u.%u", model[c->slot], c->slot, c->generation);
	args_text(c, args, sizeof args);
	snprintf(result, sizeof result, "unknown");
	if (!open)
		result_text(call, err, result, sizeof result);
	bool refused = call->op == OP_PAIR_CAS && call->batch.refused != ERR_OK;
	if (!open && err == ERR_OK && !refused && (call->op != OP_ENTITY_GET || call->found[0].found))
		remember(c);
	sim_history_add(s, c, op_name[call->op], key, args + 1, result, open);
}

/* Takes every message that is left: what was acknowledged and not taken must come. */
static void finish(struct sim *s, struct client *c)
{
	for (int i = 0; i <= MESSAGES_MAX + 1 && !s->violated; i++) {
		struct call *call = c->call;
		memset(call, 0, sizeof *call);
		c->slot = QUEUE_SLOT;
		c->generation = 0;
		c->call_time = ++s->now;
		call->op = OP_QUEUE_GET;
		call->queue_get = (struct queue_get){ .want = 1, .timeout_s = TIMEOUT_S };
		arena_reset(&c->arena);
		if (sim_write_now(s, partition_of(QUEUE_SLOT), apply, call, &c->arena) != ERR_OK)
			sim_wrong(s, "the last gets are refused");
		record(s, c, ERR_OK, false);
		if (!call->queue_get.found)
			return;
	}
}

/* The queue's sweep must leave every message alone that somebody can still ask for. */
static void sweep(struct sim *s, struct store *store, bool all)
{
	struct arena arena;
	bool more = true;
	arena_init(&arena, 16 * MIB);
	for (int round = 0; more && round < 3; round++)
		if (queue_sweep(store, partition_of(QUEUE_SLOT), &arena, &more) != ERR_OK)
			break; /* refused by trouble: another round comes */
	arena_fini(&arena);
}

static void background(struct sim *s)
{
	sim_housekeep(s, sweep, false);
}

static enum err audit(struct txn *t, void *arg)
{
	struct sim_audit *a = arg;
	struct scan_spec spec = { .from = SLICE("b"), .until = SLICE("c") };
	struct rows rows;
	TRY(txn_scan(t, &spec, &rows));
	for (size_t i = 0; i < rows.count; i++) {
		struct blob b;
		TRY(blob_decode(rows.row[i].value, txn_arena(t), &b));
		for (uint32_t k = 0; k < b.content.extent_count; k++) {
			a->extents++;
			TRY(sim_extent_check(a->sim->front[0].engine, value_of_type(b.http.content_type),
					     &b.content.extents[k]));
		}
	}
	return rows.more ? ERR_LIMIT : ERR_OK;
}

const struct sim_service sim_services = {
	.name = "services",
	.slots = SLOTS,
	.call_bytes = sizeof(struct call),
	.memory_bytes = sizeof(struct memory),
	.partition = partition_of,
	.setup = setup,
	.choose = choose,
	.choose_last = choose_last,
	.finish = finish,
	.prepare = prepare,
	.give_up = give_up,
	.has_bytes = has_bytes,
	.check_bytes = check_bytes,
	.record = record,
	.audit = audit,
	.background = background,
};

/* SPDX-License-Identifier: Apache-2.0
 * The models: what each operation may answer in each state. See linear.h for their words. */
#include "linear_int.h"

/* ---- blob ---- */

enum { BLOB_PUT, BLOB_GET, BLOB_DEL, BLOB_ACQUIRE, BLOB_RELEASE };
enum { ARG_IF, ARG_LEASE, ARG_VALUE, ARG_NONE }; /* put; del has the first two; acquire and release only an id, at 0 */

struct blob {
	uint32_t there, value, etag, lease; /* etag 0 while there: nobody saw it yet */
};

static void blob_init(struct linear_state *s)
{
	memset(s, 0, sizeof *s);
}

/* Is `status` one the operation may answer, given what does not hold? Open: only without any. */
static bool allowed(const struct linear_op *op, bool no404, bool no409, bool no412)
{
	switch (op->status) {
	case STATUS_OK:
	case STATUS_UNKNOWN:
		return !no404 && !no409 && !no412;
	case STATUS_404:
		return no404;
	case STATUS_409:
		return no409;
	case STATUS_412:
		return no412;
	}
	return false;
}

static bool happens(const struct linear_op *op)
{
	return op->status == STATUS_OK || op->status == STATUS_UNKNOWN;
}

/* An ETag nobody saw may be the one asked for, or not: 1 equal, 0 different, -1 either. */
static int etag_is(const struct blob *b, uint64_t etag)
{
	return !b->there ? 0 : b->etag == 0 ? -1 : b->etag == etag;
}

static bool blob_write(struct blob *b, const struct linear_op *op)
{
	bool fails = op->status != STATUS_OK && op->status != STATUS_UNKNOWN;
	int same = op->arg[ARG_IF] ? etag_is(b, op->arg[ARG_IF]) : 1;
	if (same < 0) /* decided by the answer */
		same = !(fails && op->status == STATUS_412);
	/* A lease that is held must be named, and a lease that is named must be held. */
	bool lease_ok = b->there ? b->lease == op->arg[ARG_LEASE] : !op->arg[ARG_LEASE];
	bool absent = op->kind == BLOB_DEL && !b->there;
	if (!allowed(op, absent, op->arg[ARG_NONE] && b->there, !same || !lease_ok))
		return false;
	if (!happens(op))
		return true;
	if (op->kind == BLOB_DEL)
		*b = (struct blob){ 0 };
	else
		*b = (struct blob){ 1, (uint32_t)op->arg[ARG_VALUE], (uint32_t)op->got[0], b->lease };
	return true;
}

static bool blob_lease(struct blob *b, const struct linear_op *op)
{
	uint32_t id = (uint32_t)op->arg[0];
	bool other = b->there && (op->kind == BLOB_ACQUIRE ? b->lease && b->lease != id : b->lease != id);
	if (!allowed(op, !b->there, other, false))
		return false;
	if (happens(op))
		b->lease = op->kind == BLOB_ACQUIRE ? id : 0;
	return true;
}

static bool blob_get(struct blob *b, const struct linear_op *op)
{
	if (op->status != STATUS_OK)
		return op->status == STATUS_404 && !b->there;
	if (!b->there || b->value != op->got[0] || (b->etag && b->etag != op->got[1]))
		return false;
	b->etag = (uint32_t)op->got[1];
	return true;
}

static bool blob_step(const struct linear_state *s, const struct linear_op *op, struct linear_state *next)
{
	struct blob b;
	memcpy(&b, s->bytes, sizeof b);
	bool legal = op->kind == BLOB_GET				    ? blob_get(&b, op)
		     : op->kind == BLOB_ACQUIRE || op->kind == BLOB_RELEASE ? blob_lease(&b, op)
									    : blob_write(&b, op);
	memcpy(next->bytes, &b, sizeof b);
	return legal;
}

struct chain {
	uint64_t value;	  /* what this ETag was seen with; 0: not seen */
	bool written;	  /* by an acknowledged put */
	uint64_t gone_at; /* a write conditional on it returned: whoever asks later does not see it */
};

/* ETags are given once, stand for one value, are followed by one conditional write, and are not seen after that. `puts`
 * has a bit for each kind that writes. */
static const char *chain_scan(const struct linear_op *const *ops, size_t count, size_t names, unsigned puts)
{
	struct chain *chain = calloc(names + 1, sizeof *chain);
	const char *wrong = NULL;
	for (size_t i = 0; i < count && !wrong; i++) {
		const struct linear_op *op = ops[i];
		bool put = puts >> op->kind & 1;
		if (op->status != STATUS_OK || (!put && op->kind != BLOB_GET && op->kind != BLOB_DEL))
			continue;
		uint64_t etag = put ? op->got[0] : op->kind == BLOB_GET ? op->got[1] : 0;
		uint64_t value = put ? op->arg[ARG_VALUE] : op->got[0];
		struct chain *c = &chain[etag];
		if (etag && c->value && c->value != value)
			wrong = "one ETag stands for two values";
		else if (put && c->written)
			wrong = "one ETag was given to two writes";
		if (etag)
			c->value = value;
		c->written |= put;
		struct chain *before = &chain[op->kind == BLOB_GET ? 0 : op->arg[ARG_IF]];
		if (before != chain && before->gone_at)
			wrong = "two writes conditional on one ETag succeeded";
		before->gone_at = op->ret;
	}
	for (size_t i = 0; i < count && !wrong; i++) {
		uint64_t gone = ops[i]->kind == BLOB_GET && ops[i]->status == STATUS_OK && ops[i]->got[1]
					? chain[ops[i]->got[1]].gone_at
					: 0;
		if (gone && gone < ops[i]->call)
			wrong = "a read shows an ETag that was overwritten before it began";
	}
	free(chain);
	return wrong;
}

static const char *blob_scan(const struct linear_op *const *ops, size_t count, size_t names)
{
	return chain_scan(ops, count, names, 1u << BLOB_PUT);
}

const struct linear_model linear_blob = {
	.name = "blob",
	.ops = { [BLOB_PUT] = { "put", { "if", "lease", "v", "none" }, false },
		 [BLOB_GET] = { "get", { NULL }, false },
		 [BLOB_DEL] = { "del", { "if", "lease" }, false },
		 [BLOB_ACQUIRE] = { "acquire", { "id" }, false },
		 [BLOB_RELEASE] = { "release", { "id" }, false } },
	.init = blob_init,
	.step = blob_step,
	.scan = blob_scan,
};

/* ---- entity: a blob without leases, other words and refusals ---- */

enum { ENTITY_PUT = BLOB_PUT, ENTITY_GET = BLOB_GET, ENTITY_DEL = BLOB_DEL, ENTITY_INSERT, ENTITY_UPDATE };

static bool entity_step(const struct linear_state *s, const struct linear_op *op, struct linear_state *next)
{
	struct blob b;
	memcpy(&b, s->bytes, sizeof b);
	bool legal, asks = op->kind == ENTITY_UPDATE || op->kind == ENTITY_DEL;
	if (op->kind == ENTITY_GET) {
		legal = blob_get(&b, op);
	} else {
		int same = b.there && op->arg[ARG_IF] ? etag_is(&b, op->arg[ARG_IF]) : 1;
		if (same < 0)
			same = op->status != STATUS_412;
		legal = allowed(op, asks && !b.there, op->kind == ENTITY_INSERT && b.there, asks && !same);
		if (legal && happens(op))
			b = op->kind == ENTITY_DEL
				    ? (struct blob){ 0 }
				    : (struct blob){ 1, (uint32_t)op->arg[ARG_VALUE], (uint32_t)op->got[0], 0 };
	}
	memcpy(next->bytes, &b, sizeof b);
	return legal;
}

static const char *entity_scan(const struct linear_op *const *ops, size_t count, size_t names)
{
	return chain_scan(ops, count, names, 1u << ENTITY_PUT | 1u << ENTITY_INSERT | 1u << ENTITY_UPDATE);
}

const struct linear_model linear_entity = {
	.name = "entity",
	.ops = { [ENTITY_PUT] = { "put", { "if", "any", "v" }, false },
		 [ENTITY_GET] = { "get", { NULL }, false },
		 [ENTITY_DEL] = { "del", { "if", "any" }, false },
		 [ENTITY_INSERT] = { "insert", { "if", "any", "v" }, false },
		 [ENTITY_UPDATE] = { "update", { "if", "any", "v" }, false } },
	.init = blob_init,
	.step = entity_step,
	.scan = entity_scan,
};

/* ---- pair ---- */

enum { PAIR_MOVE, PAIR_READ, PAIR_CAS };

struct pair {
	int64_t a, b;
};

static void pair_init(struct linear_state *s)
{
	struct pair p = { 1000, 1000 };
	memset(s, 0, sizeof *s);
	memcpy(s->bytes, &p, sizeof p);
}

static bool pair_step(const struct linear_state *s, const struct linear_op *op, struct linear_state *next)
{
	struct pair p;
	int64_t d = (int64_t)op->arg[0];
	memcpy(&p, s->bytes, sizeof p);
	if (op->kind == PAIR_CAS) {
		/* Refused: somebody wrote in between, perhaps the same numbers again. */
		if (happens(op) && (p.a != (int64_t)op->arg[1] || p.b != (int64_t)op->arg[2]))
			return false;
		p = happens(op) ? (struct pair){ p.a - d, p.b + d } : p;
		memcpy(next->bytes, &p, sizeof p);
		return true;
	}
	bool short_of = op->kind == PAIR_MOVE && (p.a - d < 0 || p.b + d < 0);
	if (!allowed(op, false, short_of, false))
		return false;
	if (op->kind == PAIR_MOVE && happens(op))
		p = (struct pair){ p.a - d, p.b + d };
	if (op->status == STATUS_OK && (p.a != (int64_t)op->got[0] || p.b != (int64_t)op->got[1]))
		return false;
	memcpy(next->bytes, &p, sizeof p);
	return true;
}

const struct linear_model linear_pair = {
	.name = "pair",
	.ops = { [PAIR_MOVE] = { "move", { "d" }, true },
		 [PAIR_READ] = { "read", { NULL }, true },
		 [PAIR_CAS] = { "cas", { "d", "a", "b" }, true } },
	.init = pair_init,
	.step = pair_step,
};

/* ---- queue ---- */

enum { QUEUE_PUT, QUEUE_GET, QUEUE_DEL, QUEUE_PEEK };

struct queue {
	uint64_t visible, hidden;
	uint64_t takes; /* gets with an open outcome: each may have hidden one of the visible */
};

static bool queue_step(const struct linear_state *s, const struct linear_op *op, struct linear_state *next)
{
	struct queue q;
	bool legal = false;
	memcpy(&q, s->bytes, sizeof q);
	uint64_t bit = UINT64_C(1) << (op->arg[0] % 64), got = UINT64_C(1) << (op->got[0] % 64);
	switch (op->kind) {
	case QUEUE_PUT:
		legal = happens(op) && !((q.visible | q.hidden) & bit);
		q.visible |= bit;
		break;
	case QUEUE_GET:
	case QUEUE_PEEK:
		legal = op->got[0] ? (q.visible & got) != 0 : (uint64_t)__builtin_popcountll(q.visible) <= q.takes;
		if (op->status == STATUS_UNKNOWN) {
			legal = true;
			q.takes++;
		} else if (op->got[0] && op->kind == QUEUE_GET) {
			q.visible &= ~got;
			q.hidden |= got;
		}
		break;
	case QUEUE_DEL:
		legal = allowed(op, !((q.visible | q.hidden) & bit), false, false);
		q.visible &= ~bit;
		q.hidden &= ~bit;
		break;
	}
	memcpy(next->bytes, &q, sizeof q);
	return legal;
}

const struct linear_model linear_queue = {
	.name = "queue",
	.ops = { [QUEUE_PUT] = { "put", { "m" }, false },
		 [QUEUE_GET] = { "get", { NULL }, false },
		 [QUEUE_DEL] = { "del", { "m" }, false },
		 [QUEUE_PEEK] = { "peek", { NULL }, false } },
	.init = blob_init,
	.step = queue_step,
};

/* SPDX-License-Identifier: Apache-2.0
 * The bytes of blobs under the simulator: block lists, appends, pages, snapshots, versions, deletes and the background
 * work that gives space back, mixed without plan over three names. What is proven here is not an order but ownership:
 * whatever is read is whole, and when everything was deleted (name by name, or as a dropped container) no extent is
 * left. An extent retired twice, or published twice, is an assertion of the engine. */
#include "sim.h"

#include "store/extent.h"
#include "svc/blob/blob.h"
#include "svc/blob/content/append.h"
#include "svc/blob/content/block_list.h"
#include "svc/blob/content/page.h"
#include "svc/blob/copy.h"
#include "svc/blob/retire.h"
#include "svc/blob/state.h"
#include "svc/common/generation.h"

enum {
	NAMES = 3,
	BLOCKS = 4,
	CHOICES_MAX = 6,
	EXTENTS_MAX = 3,
	PAGES_BYTES = 3 * PAGE_CHUNK_BYTES,
	SNAPSHOTS_KNOWN = 4
};

enum op {
	OP_PUT,
	OP_PUT_BLOCK,
	OP_BLOCK_LIST,
	OP_APPEND,
	OP_PAGE,
	OP_SNAPSHOT,
	OP_DELETE,
	OP_UNDELETE,
	OP_RESIZE,
	OP_COPY,
	OP_GET
};

struct call {
	enum op op;
	uint32_t value;
	char name[16], source[16], block_id[4];
	struct payload payload;
	struct extent_ref extent[EXTENTS_MAX];
	size_t extent_bytes; /* of each extent, 0: none wanted */
	uint32_t words[200];
	char choice_id[CHOICES_MAX][4];
	struct block_choice choice[CHOICES_MAX];
	union {
		struct blob_put_call put;
		struct blob_put_block_call block;
		struct blob_put_block_list_call list;
		struct blob_append_call append;
		struct blob_put_page_call page;
		struct blob_snapshot_call snapshot;
		struct blob_delete_call del;
		struct blob_undelete_call undelete;
		struct blob_modify_call modify;
		struct blob_copy_call copy;
		struct blob_get_call get;
	};
};

struct memory {
	uint64_t snapshot[NAMES][SNAPSHOTS_KNOWN]; /* ticks */
	uint64_t version[NAMES][SNAPSHOTS_KNOWN];
	/* A block blob or a snapshot of one, as last read: what a copy may begin with. */
	unsigned source_slot;
	uint64_t source_snapshot, source_etag;
};

static struct slice partition_of(unsigned slot)
{
	return SLICE("acc\x01"
		     "c7");
}

static enum err apply_open(struct txn *t, void *call)
{
	return generation_open(t);
}

static enum err apply_close(struct txn *t, void *call)
{
	return generation_close(t);
}

static void setup(struct sim *s)
{
	if (sim_write_now(s, partition_of(0), apply_open, NULL, NULL) != ERR_OK)
		sim_wrong(s, "the container cannot be opened");
}

static enum err apply(struct txn *t, void *arg)
{
	struct call *c = arg;
	switch (c->op) {
	case OP_PUT:
		return blob_apply_put(t, &c->put);
	case OP_PUT_BLOCK:
		return blob_apply_put_block(t, &c->block);
	case OP_BLOCK_LIST:
		return blob_apply_put_block_list(t, &c->list);
	case OP_APPEND:
		return blob_apply_append(t, &c->append);
	case OP_PAGE:
		return blob_apply_put_page(t, &c->page);
	case OP_SNAPSHOT:
		return blob_apply_snapshot(t, &c->snapshot);
	case OP_DELETE:
		return blob_apply_delete(t, &c->del);
	case OP_UNDELETE:
		return blob_apply_undelete(t, &c->undelete);
	case OP_RESIZE:
		return blob_apply_set_properties(t, &c->modify);
	case OP_COPY: {
		enum err err = blob_apply_copy(t, &c->copy);
		return err == ERR_CONFLICT ? ERR_CONDITION_NOT_MET
					   : err; /* the source moved on; a front end reads again */
	}
	case OP_GET:
		return blob_apply_get(t, &c->get);
	}
	return ERR_OK;
}

/* ---- choosing ---- */

static uint64_t pick(struct sim *s, uint64_t bound)
{
	return rng_below(&s->rng, bound);
}

/* Versions in a third of the runs, soft delete in half. */
static struct blob_target target_of(struct sim *s, struct call *call)
{
	return (struct blob_target){ .name = slice_str(call->name),
				     .rules = { .versioning = s->config->seed % 3 == 0,
						.soft_delete = s->config->seed % 2 == 0,
						.retention_days = 1,
						/* in some, whatever touches more than a row or two is swept */
						.rows_at_once =
							s->config->seed % 5 < 2 ? 1 + s->config->seed % 5 : 0 } };
}

static void choose_put(struct sim *s, struct call *call, unsigned slot)
{
	uint64_t dice = pick(s, 8) ? (slot == 1 ? 0 : slot == 2 ? 1 : 2 + pick(s, 4)) : pick(s, 6);
	call->put = (struct blob_put_call){ .target = target_of(s, call),
					    .type = BLOB_BLOCK,
					    .payload = &call->payload,
					    .content_id = 100000 + call->value,
					    .may_overwrite = true };
	if (dice == 0) {
		call->put.type = BLOB_APPEND;
	} else if (dice == 1) {
		call->put.type = BLOB_PAGE;
		call->put.page_length_bytes = PAGES_BYTES;
	} else if (dice < 4) {
		size_t words = 1 + pick(s, 200);
		for (size_t i = 0; i < words; i++)
			call->words[i] = call->value;
		call->payload = (struct payload){ .length_bytes = 4 * words,
						  .inline_bytes = slice_make(call->words, 4 * words) };
	} else {
		call->extent_bytes = 40;
	}
}

static void choose_list(struct sim *s, struct call *call)
{
	size_t count = pick(s, 3) ? pick(s, 3) : pick(s, CHOICES_MAX + 1);
	for (size_t i = 0; i < count; i++) {
		snprintf(call->choice_id[i], sizeof call->choice_id[i], "b%u", (unsigned)pick(s, BLOCKS));
		call->choice[i] = (struct block_choice){ pick(s, 3) ? BLOCK_LATEST : (enum block_source)pick(s, 3),
							 slice_str(call->choice_id[i]) };
	}
	call->list = (struct blob_put_block_list_call){ .choice = call->choice, .choice_count = count };
	call->list.put = (struct blob_put_call){ .target = target_of(s, call),
						 .type = BLOB_BLOCK,
						 .content_id = 100000 + call->value,
						 .may_overwrite = true };
}

static void choose_page(struct sim *s, struct call *call)
{
	bool clear = pick(s, 3) == 0;
	uint64_t pages = clear ? 1 + pick(s, 3000) : 1 + pick(s, 3), near = pick(s, 2) ? PAGE_CHUNK_BYTES : 0;
	call->page = (struct blob_put_page_call){ .target = target_of(s, call),
						  .clear = clear,
						  .offset = near + PAGE_BYTES * pick(s, 8),
						  .length = pages * PAGE_BYTES,
						  .payload = clear ? NULL : &call->payload };
	if (near) /* over the edge of a chunk */
		call->page.offset -= 4 * PAGE_BYTES;
	call->extent_bytes = clear ? 0 : PAGE_BYTES;
	if (!clear)
		call->payload.extent_count = pages;
}

static void choose_reads(struct sim *s, struct client *c)
{
	struct call *call = c->call;
	const struct memory *m = c->memory;
	call->get = (struct blob_get_call){ .target = target_of(s, call), .want_bytes = true, .on_snapshot = true };
	if (pick(s, 2))
		call->get.target.snapshot_ticks = m->snapshot[c->slot][pick(s, SNAPSHOTS_KNOWN)];
}

static void choose(struct sim *s, struct client *c)
{
	/* Each name mostly has one type; other types are tried too, and then replace it or are refused. */
	static const enum op ops[NAMES][10] = {
		{ OP_PUT, OP_PUT_BLOCK, OP_PUT_BLOCK, OP_PUT_BLOCK, OP_PUT_BLOCK, OP_BLOCK_LIST, OP_BLOCK_LIST,
		  OP_BLOCK_LIST, OP_BLOCK_LIST, OP_APPEND },
		{ OP_PUT, OP_APPEND, OP_APPEND, OP_APPEND, OP_APPEND, OP_APPEND, OP_APPEND, OP_PUT_BLOCK, OP_PAGE,
		  OP_APPEND },
		{ OP_PUT, OP_PAGE, OP_PAGE, OP_PAGE, OP_PAGE, OP_PAGE, OP_PAGE, OP_RESIZE, OP_RESIZE, OP_BLOCK_LIST },
	};
	static const enum op any[] = { OP_SNAPSHOT, OP_SNAPSHOT, OP_DELETE, OP_COPY, OP_COPY,
				       OP_UNDELETE, OP_GET,	 OP_GET,    OP_GET };
	struct call *call = c->call;
	const struct memory *m = c->memory;
	call->op = pick(s, 3) ? ops[c->slot][pick(s, 10)] : any[pick(s, sizeof any / sizeof any[0])];
	call->value = (uint32_t)++s->value_next;
	snprintf(call->name, sizeof call->name, "n%u", c->slot);
	c->apply = apply;
	c->reads = call->op == OP_GET;
	c->points = false;
	if (call->op == OP_PUT) {
		choose_put(s, call, c->slot);
	} else if (call->op == OP_PUT_BLOCK) {
		snprintf(call->block_id, sizeof call->block_id, "b%u", (unsigned)pick(s, BLOCKS));
		call->block = (struct blob_put_block_call){ .target = target_of(s, call),
							    .block_id = slice_str(call->block_id),
							    .payload = &call->payload,
							    .stage_id = 500000 + call->value };
		call->extent_bytes = 24;
	} else if (call->op == OP_BLOCK_LIST) {
		choose_list(s, call);
	} else if (call->op == OP_APPEND) {
		call->append = (struct blob_append_call){ .target = target_of(s, call), .payload = &call->payload };
		call->extent_bytes = 32;
	} else if (call->op == OP_PAGE) {
		choose_page(s, call);
	} else if (call->op == OP_SNAPSHOT) {
		call->snapshot = (struct blob_snapshot_call){ .target = target_of(s, call) };
	} else if (call->op == OP_DELETE) {
		call->del = (struct blob_delete_call){ .target = target_of(s, call),
						       .snapshots = (enum delete_snapshots)pick(s, 3) };
		if (pick(s, 3) == 0) {
			uint64_t which = pick(s, SNAPSHOTS_KNOWN);
			bool version = pick(s, 2);
			call->del.target.snapshot_ticks = version ? 0 : m->snapshot[c->slot][which];
			call->del.target.version_ticks = version ? m->version[c->slot][which] : 0;
			call->del.snapshots = DELETE_SNAPSHOTS_NONE;
		}
	} else if (call->op == OP_UNDELETE) {
		call->undelete = (struct blob_undelete_call){ .name = slice_str(call->name),
							      .rows_at_once = target_of(s, call).rules.rows_at_once };
	} else if (call->op == OP_COPY) {
		snprintf(call->source, sizeof call->source, "n%u", m->source_slot);
		call->copy = (struct blob_copy_call){ .copy = { .status = COPY_SUCCESS, .source = SLICE("here") },
						      .unmet_error = ERR_CONDITION_NOT_MET,
						      .source = { .name = slice_str(call->source),
								  .snapshot_ticks = m->source_snapshot },
						      .source_etag = m->source_etag };
		call->copy.put = (struct blob_put_call){ .target = target_of(s, call),
							 .type = BLOB_BLOCK,
							 .may_overwrite = true };
	} else if (call->op == OP_RESIZE) {
		call->modify = (struct blob_modify_call){ .target = target_of(s, call),
							  .resize = true,
							  .length_bytes = PAGE_BYTES * pick(s, 5000) };
	} else {
		choose_reads(s, c);
	}
}

static void choose_last(struct sim *s, struct client *c)
{
	struct call *call = c->call;
	call->op = OP_GET;
	snprintf(call->name, sizeof call->name, "n%u", c->slot);
	call->get = (struct blob_get_call){ .target = target_of(s, call), .want_bytes = true, .on_snapshot = true };
	c->apply = apply;
	c->reads = true;
	c->points = false;
}

/* ---- bytes ---- */

static void give_up(struct sim *s, struct client *c)
{
	struct call *call = c->call;
	struct engine *e = s->front[c->front].engine;
	for (size_t i = 0; i < EXTENTS_MAX; i++)
		if (call->extent[i].id)
			e->ops->extent_abandon(e, &call->extent[i]);
}

static bool prepare(struct sim *s, struct client *c)
{
	struct call *call = c->call;
	if (!call->extent_bytes)
		return true;
	size_t count = call->op == OP_PAGE ? call->payload.extent_count : 1 + pick(s, EXTENTS_MAX);
	call->payload = (struct payload){ .extents = call->extent,
					  .extent_count = count,
					  .length_bytes = count * call->extent_bytes };
	for (size_t i = 0; i < count; i++)
		if (!sim_extent_make_bytes(s->front[c->front].engine, call->value, call->extent_bytes,
					   &call->extent[i])) {
			give_up(s, c);
			return false;
		}
	return true;
}

static bool has_bytes(const struct client *c)
{
	return true;
}

static enum err check_bytes(struct sim *s, struct client *c)
{
	const struct call *call = c->call;
	uint64_t bytes = 0;
	for (size_t i = 0; i < call->get.piece_count; i++) {
		const struct blob_piece *p = &call->get.piece[i];
		bytes += p->length_bytes;
		if (p->extent.length_bytes)
			TRY(sim_extent_check_any(s->front[c->front].engine, &p->extent));
		for (size_t at = 4; at + 4 <= p->bytes.len; at += 4)
			if (memcmp(p->bytes.ptr + at, p->bytes.ptr, 4) != 0)
				return ERR_CORRUPT;
	}
	return bytes == call->get.length ? ERR_OK : ERR_CORRUPT;
}

static void record(struct sim *s, struct client *c, enum err err, bool open)
{
	const struct call *call = c->call;
	struct memory *m = c->memory;
	uint64_t at = pick(s, SNAPSHOTS_KNOWN);
	if (!open && err == ERR_OK && call->op == OP_SNAPSHOT)
		m->snapshot[c->slot][at] = call->snapshot.snapshot.history_ticks;
	const struct blob *seen = open || err != ERR_OK	      ? NULL
				  : call->op == OP_GET	      ? &call->get.blob
				  : call->op == OP_SNAPSHOT   ? &call->snapshot.snapshot
				  : call->op == OP_PUT	      ? &call->put.blob
				  : call->op == OP_BLOCK_LIST ? &call->list.put.blob
							      : NULL;
	if (seen && seen->type == BLOB_BLOCK) {
		m->source_slot = c->slot;
		m->source_snapshot = call->op == OP_GET ? call->get.target.snapshot_ticks : seen->history_ticks;
		m->source_etag = seen->etag;
	}
	if (!open && err == ERR_OK && call->op == OP_PUT)
		m->version[c->slot][at] = call->put.blob.version_ticks;
}

/* ---- the end ---- */

static void housekeep(struct sim *s, struct store *store, bool all)
{
	bool more = true;
	struct buf from;
	buf_init(&from, 2 * LIMIT_KEY_BYTES);
	for (int round = 0; more && round < (all ? 10000 : 1); round++)
		if (blob_expire_round(store, partition_of(0), &from, &more) != ERR_OK && all)
			sim_wrong(s, "background expiry is refused");
	buf_fini(&from);
	more = true;
	for (int round = 0; more && round < (all ? 10000 : 2); round++)
		if (blob_retire_round(store, partition_of(0), &more) != ERR_OK && all)
			sim_wrong(s, "background retirement is refused");
}

static void drop(struct sim *s, struct store *store, bool all)
{
	bool more = true;
	for (int round = 0; more && round < 10000 && !s->violated; round++)
		if (blob_retire_container(store, partition_of(0), &more) != ERR_OK)
			sim_wrong(s, "the dropped container cannot be emptied");
}

static void write_last(struct sim *s, struct client *c)
{
	enum err err = sim_write_now(s, partition_of(0), apply, c->call, &c->arena);
	if (err != ERR_OK && err != ERR_BLOB_NOT_FOUND && err_info(err)->http_status >= 500)
		sim_wrong(s, "a last write was answered %s", err_name(err));
}

/* Name by name: an empty blob over what is there ends a staging too, then it goes with its snapshots. */
static void delete_all(struct sim *s, struct client *c)
{
	for (c->slot = 0; c->slot < NAMES; c->slot++) {
		struct call *call = c->call;
		memset(call, 0, sizeof *call);
		arena_reset(&c->arena);
		snprintf(call->name, sizeof call->name, "n%u", c->slot);
		call->op = OP_PUT;
		call->put = (struct blob_put_call){ .target = target_of(s, call),
						    .type = BLOB_BLOCK,
						    .payload = &call->payload,
						    .may_overwrite = true };
		write_last(s, c);
		call->op = OP_DELETE;
		call->del = (struct blob_delete_call){ .target = target_of(s, call),
						       .snapshots = DELETE_SNAPSHOTS_INCLUDE };
		do
			write_last(s, c);
		while (call->del.again && !s->violated);
	}
}

static void finish(struct sim *s, struct client *c)
{
	struct engine *e = s->front[0].engine;
	struct mem_counts counts;
	bool more = true;
	if (s->config->seed % 3 == 1) { /* with versions only the drop takes everything */
		delete_all(s, c);
		clock_fake_advance(&s->front[0].clock,
				   30 * UINT64_C(86400) * TICKS_PER_SECOND); /* past every retention */
		sim_housekeep(s, housekeep, true); /* sweeps what a mark deleted, then what is past its days */
		sim_housekeep(s, housekeep, true);
	} else {
		if (sim_write_now(s, partition_of(0), apply_close, NULL, NULL) != ERR_OK)
			sim_wrong(s, "the container cannot be closed");
		sim_housekeep(s, drop, true);
	}
	while (more && e->ops->reclaim(e, &more) == ERR_OK)
		;
	engine_mem_counts(e, &counts);
	if (counts.extents)
		sim_wrong(s, "everything is deleted (%s), and %llu extents are left",
			  s->config->seed % 3 == 1 ? "name by name" : "dropped", (unsigned long long)counts.extents);
}

static void housekeep_sometimes(struct sim *s)
{
	sim_housekeep(s, housekeep, false);
}

const struct sim_service sim_contents = {
	.name = "contents",
	.slots = NAMES,
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
	.background = housekeep_sometimes,
};

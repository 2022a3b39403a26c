/* SPDX-License-Identifier: Apache-2.0
 * A share under the simulator: files created, written, cleared, resized, copied, renamed over each other and deleted,
 * snapshots taken and dropped, and the background work, from two front ends, through conflicts, unknown outcomes and
 * power cuts. Proven are ownership and the books: whatever is read is whole; at every moment the share's use is the sum
 * of its files' sizes, and every inode is where its id says; when everything was deleted (file by file, or as a dropped
 * share) no extent and no row of contents is left.
 *
 * Two more files are registers: their bytes are one value, put by Create with data, by a range write over all of it or by a
 * rename of another file onto the name. What clients saw of them is judged as a history of blobs (linear.h). */
#include "sim.h"

#include "store/extent.h"
#include "svc/common/generation.h"
#include "svc/file/file.h"
#include "svc/file/open.h"
#include "svc/file/rows.h"

enum {
	NAMES = 4,
	EXTENTS_MAX = 2,
	EXTENT_BYTES = 512,
	WORDS_MAX = 200,
	FILE_BYTES = 16 * 1024,
	SNAPSHOTS_KNOWN = 4,
	REGISTERS = 2 /* slots behind the names */,
	REGISTER_WORDS = 30
};

enum op {
	OP_CREATE,
	OP_WRITE,
	OP_CLEAR,
	OP_RESIZE,
	OP_SNAPSHOT,
	OP_DROP,
	OP_RENAME,
	OP_COPY,
	OP_DELETE,
	OP_GET,
	OP_BOOKS,
	OP_PUT_ONTO /* a register: another file, made in the same commit, is renamed onto it */
};

struct books {
	uint64_t used, files, inodes;
};

struct call {
	enum op op;
	uint32_t value;
	struct slice name[2], to[2]; /* paths */
	char text[2][32];
	struct payload payload;
	struct extent_ref extent[EXTENTS_MAX];
	size_t extent_count; /* wanted */
	uint32_t words[WORDS_MAX];
	struct file_breaks breaks;
	union {
		struct file_create_call create;
		struct file_write_call write;
		struct file_modify_call modify;
		struct share_snapshot_call snapshot;
		struct file_rename_call rename;
		struct file_copy_call copy;
		struct file_delete_call del;
		struct file_get_call get;
		struct books books;
		struct {
			struct file_create_call create;
			struct file_rename_call rename;
		} onto;
	};
};

struct memory {
	uint64_t snapshot[SNAPSHOTS_KNOWN]; /* ticks */
};

static struct slice partition_of(unsigned slot)
{
	return SLICE("acc\x01"
		     "s7");
}

/* ---- applies ---- */

static enum err apply_open(struct txn *t, void *call)
{
	struct share_create c;
	struct file_create_call d = { .target = { .kind = FILE_KIND_DIRECTORY, .through_open = true } };
	struct slice name = SLICE("Dir");
	share_create_init(&c, SLICE("s"), 7);
	c.base.reserved = true;
	TRY(share_create_open(t, &c));
	d.target.place.path = (struct file_path){ &name, 1 };
	return file_apply_create(t, &d);
}

static enum err apply_close(struct txn *t, void *call)
{
	return generation_close(t);
}

static enum err count_rows(struct txn *t, char tag, struct books *b)
{
	struct key from, until;
	struct rows rows = { .more = true };
	key_init(&from);
	key_tag(&from, tag);
	until = from;
	key_prefix_end(&until);
	while (rows.more) {
		struct scan_spec spec = { .from = key_slice(&from), .until = key_slice(&until) };
		TRY(txn_scan(t, &spec, &rows));
		for (size_t i = 0; i < rows.count; i++) {
			static const struct file_view live = { 0 };
			struct inode n, by_id;
			if (tag != 'n') {
				b->inodes++;
				continue;
			}
			TRY(inode_decode(rows.row[i].value, txn_arena(t), &n));
			TRY(inode_get(t, &live, n.id, &by_id));
			if (by_id.parent_id != n.parent_id || !slice_eq(by_id.name, n.name))
				return ERR_CORRUPT;
			b->used += n.size_bytes;
			b->files += n.id != FILE_ROOT_ID;
		}
		if (rows.count)
			key_after(&from, rows.row[rows.count - 1].key);
	}
	return ERR_OK;
}

/* The sum of all sizes, and each inode by its name and by its id. */
static enum err apply_books(struct txn *t, struct call *c)
{
	struct share_state state;
	c->books = (struct books){ .used = 0 };
	enum err e = share_state_get(t, &state);
	TRY(e);
	TRY(count_rows(t, 'n', &c->books));
	TRY(count_rows(t, 'i', &c->books));
	return state.used_bytes == c->books.used && c->books.files == c->books.inodes ? ERR_OK : ERR_CORRUPT;
}

static enum err apply(struct txn *t, void *arg)
{
	struct call *c = arg;
	switch (c->op) {
	case OP_CREATE:
		return file_apply_create(t, &c->create);
	case OP_WRITE:
	case OP_CLEAR:
		return file_apply_write(t, &c->write);
	case OP_RESIZE:
		return file_apply_set_properties(t, &c->modify);
	case OP_SNAPSHOT:
		return share_apply_snapshot(t, &c->snapshot);
	case OP_DROP:
		return share_apply_delete_snapshot(t, &c->snapshot);
	case OP_RENAME:
		return file_apply_rename(t, &c->rename);
	case OP_COPY:
		return file_apply_copy(t, &c->copy);
	case OP_DELETE:
		return file_apply_delete(t, &c->del);
	case OP_GET:
		return file_apply_get(t, &c->get);
	case OP_BOOKS:
		return apply_books(t, c);
	case OP_PUT_ONTO:
		TRY(file_apply_create(t, &c->onto.create));
		return file_apply_rename(t, &c->onto.rename);
	}
	return ERR_OK;
}

static void setup(struct sim *s)
{
	struct arena arena;
	arena_init(&arena, 1 << 20);
	if (sim_write_now(s, partition_of(0), apply_open, NULL, &arena) != ERR_OK)
		sim_wrong(s, "the share cannot be opened");
	arena_fini(&arena);
}

/* ---- choosing ---- */

static uint64_t pick(struct sim *s, uint64_t bound)
{
	return rng_below(&s->rng, bound);
}

static struct file_path path_of(unsigned slot, struct slice part[2])
{
	static const char *const names[NAMES] = { "alpha", "Beta", "gamma", "delta" };
	bool below = slot >= 2;
	part[0] = below ? SLICE("DIR") : slice_str(names[slot]);
	part[1] = slice_str(names[slot]);
	return (struct file_path){ part, below ? 2 : 1 };
}

static struct file_target target_of(struct call *call, unsigned slot, struct slice part[2])
{
	return (struct file_target){ .kind = FILE_KIND_FILE,
				     .breaks = &call->breaks,
				     .place = { .path = path_of(slot, part) } };
}

static void choose_write(struct sim *s, struct call *call, unsigned slot)
{
	call->write = (struct file_write_call){ .target = target_of(call, slot, call->name),
						.offset = 4 * pick(s, FILE_BYTES / 4),
						.payload = &call->payload };
	if (pick(s, 2)) {
		call->extent_count = 1 + pick(s, EXTENTS_MAX);
		call->write.length = call->extent_count * EXTENT_BYTES;
	} else {
		size_t words = 1 + pick(s, WORDS_MAX);
		for (size_t i = 0; i < words; i++)
			call->words[i] = call->value;
		call->payload = (struct payload){ .length_bytes = 4 * words,
						  .inline_bytes = slice_make(call->words, 4 * words) };
		call->write.length = 4 * words;
	}
	call->write.may_extend = pick(s, 2);
}

static void choose_snapshot(struct sim *s, struct client *c, struct call *call)
{
	const struct memory *m = c->memory;
	call->snapshot = (struct share_snapshot_call){ .has_metadata = false };
	call->snapshot.ticks = m->snapshot[pick(s, SNAPSHOTS_KNOWN)];
}

static void choose_get(struct sim *s, struct client *c, struct call *call)
{
	const struct memory *m = c->memory;
	call->get = (struct file_get_call){ .target = target_of(call, c->slot, call->name), .want_bytes = true };
	uint64_t ticks = m->snapshot[pick(s, SNAPSHOTS_KNOWN)];
	if (ticks && pick(s, 2)) {
		call->get.target.has_snapshot = true;
		call->get.target.snapshot_ticks = ticks;
	}
}

static void choose_two(struct sim *s, struct client *c, struct call *call)
{
	unsigned other = (unsigned)pick(s, NAMES);
	struct file_target from = target_of(call, c->slot, call->name), to = target_of(call, other, call->to);
	if (call->op == OP_RENAME)
		call->rename = (struct file_rename_call){ .source = from, .target = to, .replace = pick(s, 2) };
	else
		call->copy = (struct file_copy_call){
			.create = { .target = to }, .copy = { .source = SLICE("here") }, .share = true, .source = from
		};
}

/* ---- registers ---- */

static bool is_register(const struct client *c)
{
	return c->slot >= NAMES;
}

static struct file_target register_target(struct call *call, char text[32], struct slice *part)
{
	*part = slice_str(text);
	return (struct file_target){ .kind = FILE_KIND_FILE,
				     .breaks = &call->breaks,
				     .place = { .path = { part, 1 } } };
}

static void choose_register(struct sim *s, struct client *c, struct call *call, enum op op)
{
	call->op = op;
	snprintf(call->text[0], sizeof call->text[0], "register%u.%u", c->slot, c->generation);
	snprintf(call->text[1], sizeof call->text[1], "made%u", call->value);
	struct file_target target = register_target(call, call->text[0], &call->name[0]);
	struct file_target made = register_target(call, call->text[1], &call->to[0]);
	for (size_t i = 0; i < REGISTER_WORDS; i++)
		call->words[i] = call->value;
	call->payload = (struct payload){ .length_bytes = 4 * REGISTER_WORDS,
					  .inline_bytes = slice_make(call->words, 4 * REGISTER_WORDS) };
	struct file_create_call create = { .target = target,
					   .size_bytes = 4 * REGISTER_WORDS,
					   .payload = &call->payload };
	if (op == OP_CREATE) {
		call->create = create;
	} else if (op == OP_WRITE) {
		call->write = (struct file_write_call){ .target = target,
							.length = 4 * REGISTER_WORDS,
							.payload = &call->payload };
	} else if (op == OP_PUT_ONTO) {
		call->onto.create = create;
		call->onto.create.target = made;
		call->onto.rename = (struct file_rename_call){ .source = made, .target = target, .replace = true };
	} else if (op == OP_DELETE) {
		call->del = (struct file_delete_call){ .target = target };
	} else {
		call->get = (struct file_get_call){ .target = target, .want_bytes = true };
	}
}

static uint64_t register_etag(const struct call *call)
{
	return call->op == OP_CREATE	 ? call->create.inode.etag
	       : call->op == OP_WRITE	 ? call->write.inode.etag
	       : call->op == OP_PUT_ONTO ? call->onto.rename.inode.etag
					 : call->get.inode.etag;
}

/* A write to a file that is not there has no place in the model, and did nothing. */
static void register_record(struct sim *s, struct client *c, enum err err, bool open)
{
	const struct call *call = c->call;
	char key[32], args[32] = "-", result[64];
	uint32_t value = 0;
	bool put = call->op == OP_CREATE || call->op == OP_WRITE || call->op == OP_PUT_ONTO;
	if (!open && put && err == ERR_RESOURCE_NOT_FOUND)
		return;
	snprintf(key, sizeof key, "blob:%u.%u", c->slot, c->generation);
	if (put)
		snprintf(args, sizeof args, "v=v%u", call->value);
	if (call->op == OP_GET && err == ERR_OK && call->get.pieces.count && call->get.pieces.piece[0].bytes.len >= 4)
		memcpy(&value, call->get.pieces.piece[0].bytes.ptr, 4);
	if (open)
		snprintf(result, sizeof result, "unknown");
	else if (err != ERR_OK)
		snprintf(result, sizeof result, "%d", err_info(err)->http_status);
	else if (put)
		snprintf(result, sizeof result, "ok,E%llu", (unsigned long long)register_etag(call));
	else if (call->op == OP_GET)
		snprintf(result, sizeof result, "ok,v%u,E%llu", value, (unsigned long long)register_etag(call));
	else
		snprintf(result, sizeof result, "ok");
	sim_history_add(s, c, put ? "put" : call->op == OP_GET ? "get" : "del", key, args, result, open);
}

static void choose(struct sim *s, struct client *c)
{
	static const enum op register_ops[] = { OP_CREATE,   OP_CREATE, OP_WRITE, OP_WRITE, OP_WRITE, OP_PUT_ONTO,
						OP_PUT_ONTO, OP_DELETE, OP_GET,	  OP_GET,   OP_GET,   OP_GET };
	static const enum op ops[] = { OP_CREATE, OP_CREATE, OP_WRITE,	OP_WRITE,    OP_WRITE, OP_WRITE,
				       OP_WRITE,  OP_CLEAR,  OP_RESIZE, OP_SNAPSHOT, OP_DROP,  OP_RENAME,
				       OP_RENAME, OP_COPY,   OP_DELETE, OP_GET,	     OP_GET,   OP_BOOKS };
	struct call *call = c->call;
	call->value = (uint32_t)++s->value_next;
	c->apply = apply;
	c->points = false;
	if (is_register(c)) {
		choose_register(s, c, call, register_ops[pick(s, sizeof register_ops / sizeof register_ops[0])]);
		c->reads = call->op == OP_GET;
		return;
	}
	call->op = ops[pick(s, sizeof ops / sizeof ops[0])];
	c->reads = call->op == OP_GET || call->op == OP_BOOKS;
	c->points = false;
	switch (call->op) {
	case OP_CREATE:
		call->create = (struct file_create_call){ .target = target_of(call, c->slot, call->name),
							  .size_bytes = 4 * pick(s, FILE_BYTES / 4) };
		break;
	case OP_WRITE:
		choose_write(s, call, c->slot);
		break;
	case OP_CLEAR:
		call->write = (struct file_write_call){ .target = target_of(call, c->slot, call->name),
							.clear = true,
							.offset = 4 * pick(s, FILE_BYTES / 8),
							.length = 4 * (1 + pick(s, FILE_BYTES / 8)) };
		break;
	case OP_RESIZE:
		call->modify = (struct file_modify_call){ .target = target_of(call, c->slot, call->name),
							  .resize = true,
							  .size_bytes = pick(s, 3) ? 4 * pick(s, FILE_BYTES / 4) : 0 };
		break;
	case OP_SNAPSHOT:
	case OP_DROP:
		choose_snapshot(s, c, call);
		break;
	case OP_RENAME:
	case OP_COPY:
		choose_two(s, c, call);
		break;
	case OP_DELETE:
		call->del = (struct file_delete_call){ .target = target_of(call, c->slot, call->name) };
		break;
	case OP_GET:
		choose_get(s, c, call);
		break;
	case OP_BOOKS:
	case OP_PUT_ONTO:
		break;
	}
}

static void choose_last(struct sim *s, struct client *c)
{
	struct call *call = c->call;
	c->apply = apply;
	c->reads = true;
	c->points = false;
	if (is_register(c)) {
		choose_register(s, c, call, OP_GET);
		return;
	}
	call->op = c->slot ? OP_GET : OP_BOOKS;
	if (c->slot)
		call->get =
			(struct file_get_call){ .target = target_of(call, c->slot, call->name), .want_bytes = true };
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
	if (!call->extent_count)
		return true;
	call->payload = (struct payload){ .extents = call->extent,
					  .extent_count = call->extent_count,
					  .length_bytes = call->extent_count * EXTENT_BYTES };
	for (size_t i = 0; i < call->extent_count; i++)
		if (!sim_extent_make_bytes(s->front[c->front].engine, call->value, EXTENT_BYTES, &call->extent[i])) {
			give_up(s, c);
			return false;
		}
	return true;
}

static bool has_bytes(const struct client *c)
{
	const struct call *call = c->call;
	return call->op == OP_GET;
}

static enum err check_bytes(struct sim *s, struct client *c)
{
	const struct call *call = c->call;
	uint64_t bytes = 0;
	for (size_t i = 0; i < call->get.pieces.count; i++) {
		const struct file_piece *p = &call->get.pieces.piece[i];
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
	if (!open && err == ERR_OK && call->op == OP_SNAPSHOT)
		m->snapshot[pick(s, SNAPSHOTS_KNOWN)] = call->snapshot.snapshot.ticks;
	if (!open && err == ERR_CORRUPT)
		sim_wrong(s, "operation %d found damage", (int)call->op);
	if (is_register(c))
		register_record(s, c, err, open);
}

/* ---- the end ---- */

static void housekeep(struct sim *s, struct store *store, bool all)
{
	bool more = true;
	for (int round = 0; more && round < (all ? 10000 : 2); round++)
		if (file_round(store, partition_of(0), &more) != ERR_OK && all)
			sim_wrong(s, "background work is refused");
}

static void drop(struct sim *s, struct store *store, bool all)
{
	bool more = true;
	for (int round = 0; more && round < 10000 && !s->violated; round++)
		if (file_empty(store, partition_of(0), &more) != ERR_OK)
			sim_wrong(s, "the dropped share cannot be emptied");
}

static enum err write_last(struct sim *s, struct client *c)
{
	enum err err = sim_write_now(s, partition_of(0), apply, c->call, &c->arena);
	if (err != ERR_OK && err_info(err)->http_status >= 500)
		sim_wrong(s, "a last write was answered %s", err_name(err));
	return err;
}

/* What there is to delete: the files of a directory, and the snapshots. */
struct left {
	struct file_list_call list;
	struct share_snapshots_call snapshots;
};

static enum err apply_list(struct txn *t, void *call)
{
	struct left *l = call;
	TRY(share_apply_list_snapshots(t, &l->snapshots));
	return file_apply_list(t, &l->list);
}

static void delete_below(struct sim *s, struct client *c, struct file_path directory)
{
	struct call *call = c->call;
	struct left left = { .list = { .target = { .kind = FILE_KIND_DIRECTORY, .place = { .path = directory } },
				       .limit = 1000 } };
	arena_reset(&c->arena);
	if (sim_write_now(s, partition_of(0), apply_list, &left, &c->arena) != ERR_OK)
		sim_wrong(s, "a directory cannot be listed");
	for (size_t i = 0; i < left.list.count && !s->violated; i++) {
		if (left.list.entry[i].kind != FILE_KIND_FILE)
			continue;
		memset(call, 0, sizeof *call);
		call->op = OP_DELETE;
		call->del.target = (struct file_target){ .kind = FILE_KIND_FILE,
							 .breaks = &call->breaks,
							 .place = { .by_id = true, .id = left.list.entry[i].id } };
		(void)!write_last(s, c);
	}
	for (size_t i = 0; i < left.snapshots.count && !s->violated; i++) {
		memset(call, 0, sizeof *call);
		call->op = OP_DROP;
		call->snapshot.ticks = left.snapshots.snapshot[i].ticks;
		(void)!write_last(s, c);
	}
}

static void delete_all(struct sim *s, struct client *c)
{
	struct slice name = SLICE("dir");
	delete_below(s, c, (struct file_path){ NULL, 0 });
	delete_below(s, c, (struct file_path){ &name, 1 });
}

static enum err apply_left(struct txn *t, void *call)
{
	static const char tags[] = "rdxychwmS";
	for (const char *tag = tags; *tag; tag++) {
		struct rows rows;
		char from[1] = { *tag }, until[1] = { (char)(*tag + 1) };
		struct scan_spec spec = { .from = slice_make(from, 1), .until = slice_make(until, 1), .limit_rows = 1 };
		TRY(txn_scan(t, &spec, &rows));
		if (rows.count)
			return ERR_CORRUPT;
	}
	return ERR_OK;
}

static void finish(struct sim *s, struct client *c)
{
	struct engine *e = s->front[0].engine;
	struct mem_counts counts;
	bool more = true, one_by_one = s->config->seed % 2;
	if (one_by_one) {
		delete_all(s, c);
		sim_housekeep(s, housekeep, true);
		arena_reset(&c->arena);
		if (sim_write_now(s, partition_of(0), apply_left, NULL, &c->arena) != ERR_OK)
			sim_wrong(s, "everything is deleted, and rows of contents are left");
	} else {
		if (sim_write_now(s, partition_of(0), apply_close, NULL, NULL) != ERR_OK)
			sim_wrong(s, "the share cannot be closed");
		sim_housekeep(s, drop, true);
	}
	while (more && e->ops->reclaim(e, &more) == ERR_OK)
		;
	engine_mem_counts(e, &counts);
	if (counts.extents)
		sim_wrong(s, "everything is deleted (%s), and %llu extents are left",
			  one_by_one ? "file by file" : "dropped", (unsigned long long)counts.extents);
}

static void housekeep_sometimes(struct sim *s)
{
	sim_housekeep(s, housekeep, false);
}

const struct sim_service sim_files = {
	.name = "files",
	.slots = NAMES + REGISTERS,
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

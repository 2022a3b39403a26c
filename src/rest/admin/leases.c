/* SPDX-License-Identifier: Apache-2.0
 * /leases: who holds which lease until when. Leases are looked up where they are, in the records of containers, shares,
 * blobs and files, page by page and each page on a snapshot of its own; who acquired one is what the front end noted
 * (rest/core/lease_notes.h), as long as it remembers. Runs on a worker. What is looked at is bounded: past it
 * "truncated" is true. */
#include "rest/admin/admin.h"

#include "base/limits.h"
#include "rest/core/lease_notes.h"
#include "rest/core/server.h"
#include "svc/account/resource.h"
#include "svc/blob/blob.h"
#include "svc/file/file.h"
#include "wire/date.h"
#include "wire/json.h"

enum { LEASES_MAX = 10000, OBJECTS_MAX = 1000000, PAGE = 500, DEPTH_MAX = 32, ARENA_BYTES = 32 * 1024 * 1024 };

struct walk_leases {
	struct rest_server *server;
	struct buf *out;
	struct slice account, container;
	uint64_t now;
	size_t found, looked;
	bool truncated;
};

static bool walk_is_full(struct walk_leases *w)
{
	w->truncated = w->truncated || w->found >= LEASES_MAX || w->looked >= OBJECTS_MAX || !buf_ok(w->out);
	return w->truncated;
}

static void put_text(struct buf *out, const char *name, struct slice text)
{
	buf_printf(out, ",\"%s\":\"", name);
	json_put_text(out, text);
	BUF_PUT(out, "\"");
}

static void put_holder(struct walk_leases *w, struct slice id)
{
	struct lease_note note;
	if (!notes_find(w->server, id, &note))
		return;
	char time[DATE_ISO_BYTES];
	date_format_iso(note.ticks, time);
	put_text(w->out, "action", slice_str(note.action));
	put_text(w->out, "at", slice_make(time, sizeof time));
	put_text(w->out, "ip", slice_str(note.ip));
	put_text(w->out, "client_request_id", slice_str(note.client));
	put_text(w->out, "user_agent", slice_str(note.agent));
}

static void put_lease(struct walk_leases *w, const char *kind, struct slice object, const struct lease *lease)
{
	enum lease_state state = lease_state(lease, w->now);
	char id[UUID_TEXT_BYTES];
	w->looked++;
	if ((state != LEASE_LEASED && state != LEASE_BREAKING) || walk_is_full(w))
		return;
	uuid_format(&lease->id, id);
	buf_printf(w->out, "%s{\"kind\":\"%s\"", w->found++ ? ",\n" : "\n", kind);
	put_text(w->out, "account", w->account);
	put_text(w->out, "container", w->container);
	if (object.len)
		put_text(w->out, "name", object);
	put_text(w->out, "state", slice_str(lease_state_word(state)));
	put_text(w->out, "lease_id", slice_make(id, sizeof id));
	if (lease->end_ticks == TICKS_FOREVER) {
		BUF_PUT(w->out, ",\"until\":null");
	} else {
		char time[DATE_ISO_BYTES];
		date_format_iso(lease->end_ticks, time);
		put_text(w->out, "until", slice_make(time, sizeof time));
	}
	put_holder(w, slice_make(id, sizeof id));
	BUF_PUT(w->out, "}");
}

static enum err walk_blobs(struct walk_leases *w, struct slice partition)
{
	struct arena arena;
	struct buf from;
	enum err e = ERR_OK;
	struct blob_list_call c = { .more = true };
	buf_init(&from, LIMIT_KEY_BYTES);
	arena_init(&arena, ARENA_BYTES);
	while (e == ERR_OK && c.more && !walk_is_full(w)) {
		arena_reset(&arena);
		c = (struct blob_list_call){ .from = from.len ? buf_slice(&from) : SLICE_NONE,
					     .limit = PAGE,
					     .base_too = true,
					     .prefix = SLICE("") };
		e = store_read(w->server->store, partition, blob_apply_list, &c, &arena);
		for (size_t i = 0; e == ERR_OK && i < c.count; i++)
			put_lease(w, "blob", c.item[i].blob.name, &c.item[i].blob.lease);
		if (e == ERR_OK && c.more) {
			buf_clear(&from);
			buf_put(&from, c.next);
		}
	}
	arena_fini(&arena);
	buf_fini(&from);
	return e;
}

/* One directory and, one level deeper each, those in it. `path` ends with the directory's name. */
static enum err walk_files(struct walk_leases *w, struct slice partition, uint64_t directory, struct buf *path,
			   unsigned depth)
{
	struct arena arena;
	struct buf from;
	enum err e = ERR_OK;
	struct file_list_call c = { .more = true };
	size_t base = path->len;
	buf_init(&from, LIMIT_KEY_BYTES);
	arena_init(&arena, ARENA_BYTES);
	while (e == ERR_OK && c.more && !walk_is_full(w)) {
		arena_reset(&arena);
		c = (struct file_list_call){ .from = from.len ? buf_slice(&from) : SLICE_NONE, .limit = PAGE };
		c.target = (struct file_target){ .kind = FILE_KIND_DIRECTORY, .through_open = true };
		c.target.place = (struct file_place){ .by_id = true, .id = directory };
		e = store_read(w->server->store, partition, file_apply_list, &c, &arena);
		for (size_t i = 0; e == ERR_OK && i < c.count; i++) {
			path->len = base;
			buf_put(path, base ? SLICE("/") : SLICE(""));
			buf_put(path, c.entry[i].name);
			if (c.entry[i].kind != FILE_KIND_DIRECTORY)
				put_lease(w, "file", buf_slice(path), &c.entry[i].lease);
			else if (depth < DEPTH_MAX)
				e = walk_files(w, partition, c.entry[i].id, path, depth + 1);
			else
				w->truncated = true;
		}
		if (e == ERR_OK && c.more) {
			buf_clear(&from);
			buf_put(&from, c.next);
		}
	}
	path->len = base;
	arena_fini(&arena);
	buf_fini(&from);
	return e;
}

struct resources_call {
	char kind;
	struct slice from;
	struct resource_page page;
};

static enum err apply_resources(struct txn *txn, void *call)
{
	struct resources_call *c = call;
	return resource_list(txn, c->kind, SLICE(""), c->from, PAGE, &c->page);
}

/* The containers or shares of the account, and what is in them. */
static enum err walk_resources(struct walk_leases *w, char kind)
{
	struct arena arena;
	struct buf from;
	struct resources_call c = { .kind = kind, .from = SLICE_NONE, .page.next_name = SLICE("") };
	bool share = kind == RESOURCE_SHARE;
	enum err e = ERR_OK;
	buf_init(&from, LIMIT_KEY_BYTES);
	arena_init(&arena, ARENA_BYTES);
	while (e == ERR_OK && slice_is_set(c.page.next_name) && !walk_is_full(w)) {
		arena_reset(&arena);
		c.from = from.len ? buf_slice(&from) : SLICE_NONE;
		struct slice account = resource_account_partition(&arena, w->account);
		e = slice_is_set(account) ? store_read(w->server->store, account, apply_resources, &c, &arena)
					  : ERR_NO_MEMORY;
		for (size_t i = 0; e == ERR_OK && i < c.page.count; i++) {
			const struct resource *r = &c.page.resource[i];
			struct slice partition = resource_generation_partition(&arena, w->account, kind, r->generation);
			struct buf path;
			w->container = r->name;
			put_lease(w, share ? "share" : "container", SLICE(""), &r->lease);
			buf_init(&path, 64 * KIB);
			e = !slice_is_set(partition) ? ERR_NO_MEMORY
			    : share		     ? walk_files(w, partition, FILE_ROOT_ID, &path, 0)
						     : walk_blobs(w, partition);
			buf_fini(&path);
			if (e == ERR_CONTAINER_NOT_FOUND || e == ERR_SHARE_NOT_FOUND || e == ERR_RESOURCE_NOT_FOUND)
				e = ERR_OK; /* it was deleted meanwhile */
		}
		if (e == ERR_OK && slice_is_set(c.page.next_name)) {
			buf_clear(&from);
			buf_put(&from, c.page.next_name);
		}
	}
	arena_fini(&arena);
	buf_fini(&from);
	return e;
}

enum err leases_put(struct request *r, struct buf *out)
{
	struct walk_leases w = { .server = r->server, .out = out, .now = clock_now(r->server->clock) };
	BUF_PUT(out, "{\"leases\":[");
	for (size_t i = 0; i < rest_access_count(r->access); i++) {
		w.account = rest_access_at(r->access, i)->name;
		TRY(walk_resources(&w, RESOURCE_CONTAINER));
		TRY(walk_resources(&w, RESOURCE_SHARE));
	}
	buf_printf(out, "\n],\"truncated\":%s}\n", w.truncated ? "true" : "false");
	return ERR_OK;
}

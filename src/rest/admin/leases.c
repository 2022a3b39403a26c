/* SPDX-License-Identifier: Apache-2.0
 * Who holds which lease until when. Leases are looked up where they are, in the records of containers, shares, blobs
 * and files, page by page and each page on a snapshot of its own; who acquired one is what the front end noted
 * (rest/core/lease_notes.h), as long as it remembers. There is no index of leases, so this walks; what it looks at is
 * bounded, and it can go on where it stopped. */
#include "rest/admin/leases.h"
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

/* Whether to stop here, before an object is looked at. One at least is looked at, so that going on gets further. */
static bool walk_is_over(struct lease_walk *w)
{
	bool late = w->deadline_ns && base_monotonic_ns() > w->deadline_ns;
	return w->looked && (late || w->found >= w->found_max || w->looked >= w->looked_max || !buf_ok(w->out));
}

static enum err walk_stop(struct lease_walk *w, struct slice name)
{
	w->stopped = true;
	buf_clear(&w->at_container);
	buf_clear(&w->at_name);
	buf_put(&w->at_container, w->container);
	buf_put(&w->at_name, name);
	return buf_ok(&w->at_container) && buf_ok(&w->at_name) ? ERR_OK : ERR_NO_MEMORY;
}

static void put_text(struct buf *out, const char *name, struct slice text)
{
	buf_printf(out, ",\"%s\":\"", name);
	json_put_text(out, text);
	BUF_PUT(out, "\"");
}

static void put_holder(struct lease_walk *w, struct slice id)
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

static void put_lease(struct lease_walk *w, const char *kind, struct slice object, const struct lease *lease)
{
	enum lease_state state = lease_state(lease, w->now);
	char id[UUID_TEXT_BYTES];
	w->looked++;
	if (state != LEASE_LEASED && state != LEASE_BREAKING)
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

static enum err walk_blobs(struct lease_walk *w, struct slice partition, struct slice start)
{
	struct arena arena;
	struct buf from;
	enum err e = ERR_OK;
	struct blob_list_call c = { .more = true };
	buf_init(&from, LIMIT_KEY_BYTES);
	buf_put(&from, start);
	arena_init(&arena, ARENA_BYTES);
	while (e == ERR_OK && c.more && !w->stopped) {
		arena_reset(&arena);
		c = (struct blob_list_call){ .from = from.len ? buf_slice(&from) : SLICE_NONE,
					     .limit = PAGE,
					     .base_too = true,
					     .prefix = SLICE("") };
		e = store_read(w->server->store, partition, blob_apply_list, &c, &arena);
		for (size_t i = 0; e == ERR_OK && i < c.count && !w->stopped; i++) {
			const struct blob *b = &c.item[i].blob;
			if (walk_is_over(w))
				e = walk_stop(w, b->name);
			else
				put_lease(w, "blob", b->name, &b->lease);
		}
		if (e == ERR_OK && c.more) {
			buf_clear(&from);
			buf_put(&from, c.next);
		}
	}
	arena_fini(&arena);
	buf_fini(&from);
	return e;
}

static enum err walk_files(struct lease_walk *, struct slice partition, uint64_t directory, struct buf *path,
			   struct slice start, unsigned depth);

/* One entry of a directory; `path` ends with its name. `start`: where to begin inside it, if it is a directory. */
static enum err walk_entry(struct lease_walk *w, struct slice partition, const struct inode *entry, struct buf *path,
			   struct slice start, unsigned depth)
{
	if (walk_is_over(w))
		return walk_stop(w, buf_slice(path));
	if (entry->kind != FILE_KIND_DIRECTORY)
		put_lease(w, "file", buf_slice(path), &entry->lease);
	else if (depth < DEPTH_MAX)
		return walk_files(w, partition, entry->id, path, start, depth + 1);
	else
		w->too_deep = true;
	return ERR_OK;
}

/* One directory and, one level deeper each, those in it. `path` ends with the directory's name. `start`: a path from
 * here on, to begin at. */
static enum err walk_files(struct lease_walk *w, struct slice partition, uint64_t directory, struct buf *path,
			   struct slice start, unsigned depth)
{
	struct arena arena;
	struct buf from;
	enum err e = ERR_OK;
	struct file_list_call c = { .more = true };
	size_t base = path->len;
	struct slice first = slice_is_set(start) ? slice_cut(&start, '/') : SLICE("");
	buf_init(&from, LIMIT_KEY_BYTES);
	buf_put(&from, first);
	arena_init(&arena, ARENA_BYTES);
	while (e == ERR_OK && c.more && !w->stopped) {
		arena_reset(&arena);
		c = (struct file_list_call){ .from = from.len ? buf_slice(&from) : SLICE_NONE, .limit = PAGE };
		c.target = (struct file_target){ .kind = FILE_KIND_DIRECTORY, .through_open = true };
		c.target.place = (struct file_place){ .by_id = true, .id = directory };
		e = store_read(w->server->store, partition, file_apply_list, &c, &arena);
		for (size_t i = 0; e == ERR_OK && i < c.count && !w->stopped; i++) {
			bool begins = first.len && slice_eq(c.entry[i].name, first);
			path->len = base;
			buf_put(path, base ? SLICE("/") : SLICE(""));
			buf_put(path, c.entry[i].name);
			e = walk_entry(w, partition, &c.entry[i], path, begins ? start : SLICE_NONE, depth);
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

/* A container or share and what is in it. */
static enum err walk_resource(struct lease_walk *w, char kind, const struct resource *r, struct arena *arena,
			      struct slice start)
{
	struct slice partition = resource_generation_partition(arena, w->account, kind, r->generation);
	bool share = kind == RESOURCE_SHARE;
	struct buf path;
	w->container = r->name;
	if (!slice_is_set(partition))
		return ERR_NO_MEMORY;
	if (!slice_is_set(start)) {
		if (walk_is_over(w))
			return walk_stop(w, SLICE(""));
		put_lease(w, share ? "share" : "container", SLICE(""), &r->lease);
	}
	buf_init(&path, 64 * KIB);
	enum err e = share ? walk_files(w, partition, FILE_ROOT_ID, &path, start, 0) : walk_blobs(w, partition, start);
	buf_fini(&path);
	bool gone = e == ERR_CONTAINER_NOT_FOUND || e == ERR_SHARE_NOT_FOUND || e == ERR_RESOURCE_NOT_FOUND;
	return gone ? ERR_OK : e; /* it was deleted meanwhile */
}

struct resources_walk {
	struct lease_walk *walk;
	struct slice container, name; /* where to begin: in this one, at that name; empty: at its beginning */
};

static enum err visit_resource(void *arg, const struct resource *r, struct arena *arena, bool *stop)
{
	struct resources_walk *at = arg;
	bool begins = at->name.len && slice_eq(r->name, at->container);
	enum err e = walk_resource(at->walk, r->kind, r, arena, begins ? at->name : SLICE_NONE);
	*stop = at->walk->stopped;
	return e;
}

/* The containers or shares of the account from that name on, and what is in them. */
static enum err walk_resources(struct lease_walk *w, char kind, struct slice container, struct slice name)
{
	struct resources_walk at = { w, container, name };
	return resource_walk(w->server->store, w->account, kind, container, visit_resource, &at);
}

void leases_walk_init(struct lease_walk *w, struct rest_server *s, struct buf *out)
{
	*w = (struct lease_walk){ .server = s, .out = out, .now = clock_now(s->clock) };
	w->found_max = LEASES_MAX;
	w->looked_max = OBJECTS_MAX;
	buf_init(&w->at_container, LIMIT_KEY_BYTES);
	buf_init(&w->at_name, 64 * KIB);
}

void leases_walk_fini(struct lease_walk *w)
{
	buf_fini(&w->at_container);
	buf_fini(&w->at_name);
}

enum err leases_walk(struct lease_walk *w, struct slice account, const struct lease_start *start)
{
	struct slice container = start ? start->container : SLICE(""), name = start ? start->name : SLICE("");
	bool shares = start && start->shares;
	w->account = account;
	w->stopped = w->in_shares = false;
	if (!shares)
		TRY(walk_resources(w, RESOURCE_CONTAINER, container, name));
	if (w->stopped)
		return ERR_OK;
	w->in_shares = true;
	return walk_resources(w, RESOURCE_SHARE, shares ? container : SLICE(""), shares ? name : SLICE(""));
}

enum err leases_put(struct request *r, struct buf *out)
{
	struct lease_walk w;
	enum err e = ERR_OK;
	leases_walk_init(&w, r->server, out);
	BUF_PUT(out, "{\"leases\":[");
	for (size_t i = 0; i < rest_access_count(r->access) && e == ERR_OK && !w.stopped; i++)
		e = leases_walk(&w, rest_access_at(r->access, i)->name, NULL);
	buf_printf(out, "\n],\"truncated\":%s}\n", w.stopped || w.too_deep ? "true" : "false");
	leases_walk_fini(&w);
	return e;
}

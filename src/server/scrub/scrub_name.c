/* SPDX-License-Identifier: Apache-2.0
 * What scrub says: the words for a partition and a row, the lines about damage. */
#include "server/scrub/scrub.h"

#include "base/bytes.h"
#include "svc/account/resource.h"

#include <stdlib.h>

enum { NAME_BYTES = 128, HOLDER_PAGE = 200, HOLDERS_NAMED = 8 };

struct name_call {
	uint64_t generation;
	char name[NAME_BYTES]; /* out; empty: none */
};

static enum err name_visit(void *arg, const struct resource *r, struct arena *arena, bool *stop)
{
	struct name_call *n = arg;
	*stop = r->generation == n->generation;
	if (*stop)
		snprintf(n->name, sizeof n->name, "%.*s", SLICE_FMT(r->name));
	return ERR_OK;
}

void scrub_partition_begin(struct scrub *s, struct slice partition)
{
	struct slice rest = partition;
	s->partition = partition;
	s->kind = 0;
	s->generation = 0;
	s->place[0] = 0;
	s->file_bytes = 0;
	s->in_part = false;
	s->damaged_before = s->damaged;
	if (partition.len > sizeof s->account ||
	    !key_take_str(&rest, s->account, sizeof s->account, &s->account_name) || rest.len == 0)
		return;
	s->kind = rest.ptr[0];
	rest = slice_from(rest, 1);
	if (s->kind != 'a' && !key_take_u64(&rest, &s->generation))
		s->kind = 'a';
}

/* The words for the partition, looked for when something is to be said of it: that goes through all names of the
 * account. A generation without a name is one that was deleted and is not emptied yet. */
const char *scrub_place(struct scrub *s)
{
	if (s->place[0])
		return s->place;
	if (!s->kind) {
		snprintf(s->place, sizeof s->place, "(an unknown partition)");
		return s->place;
	}
	if (s->kind == 'a') {
		snprintf(s->place, sizeof s->place, "%.*s", SLICE_FMT(s->account_name));
		return s->place;
	}
	struct name_call call = { .generation = s->generation };
	if (resource_walk(s->store, s->account_name, s->kind, SLICE(""), name_visit, &call) == ERR_OK && call.name[0])
		snprintf(s->place, sizeof s->place, "%.*s/%s", SLICE_FMT(s->account_name), call.name);
	else
		snprintf(s->place, sizeof s->place, "%.*s/(deleted %c%llx)", SLICE_FMT(s->account_name), s->kind,
			 (unsigned long long)s->generation);
	return s->place;
}

/* ---- rows ---- */

void scrub_text_put(struct buf *out, struct slice text)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];
		if (c < 0x20 || c == 0x7f) /* nothing that steers a terminal */
			buf_printf(out, "\\x%02x", c);
		else
			buf_printf(out, "%c", c);
	}
}

static bool container_row_describe(struct slice key, char *name, struct buf *out)
{
	struct slice rest = slice_from(key, 1), found;
	if (!strchr("bhUu", key.ptr[0]) || !key_take_str(&rest, name, LIMIT_KEY_BYTES, &found))
		return false;
	scrub_text_put(out, found);
	buf_printf(out, "%s",
		   key.ptr[0] == 'h'   ? " (snapshot or version)"
		   : key.ptr[0] == 'b' ? ""
				       : " (uncommitted block)");
	return true;
}

static bool table_row_describe(struct slice key, char *name, struct buf *out)
{
	struct slice rest = slice_from(key, 1), found;
	if (key.ptr[0] != 'e' || !key_take_str(&rest, name, LIMIT_KEY_BYTES, &found))
		return false;
	BUF_PUT(out, "entity PartitionKey='");
	scrub_text_put(out, found);
	if (!key_take_str(&rest, name, LIMIT_KEY_BYTES, &found))
		found = SLICE("?");
	BUF_PUT(out, "' RowKey='");
	scrub_text_put(out, found);
	BUF_PUT(out, "'");
	return true;
}

static bool queue_row_describe(struct slice key, struct buf *out)
{
	struct slice rest = slice_from(key, 1);
	uint64_t epoch, sequence;
	if (!strchr("rvt", key.ptr[0]) || !key_take_u64(&rest, &epoch) || !key_take_u64(&rest, &sequence))
		return false;
	if (key.ptr[0] == 'v' && !key_take_u64(&rest, &sequence))
		return false;
	buf_printf(out, "message %llu", (unsigned long long)sequence);
	return true;
}

static bool account_row_describe(struct slice key, char *name, struct buf *out)
{
	struct slice rest = slice_from(key, 1), found;
	const char *kind = key.ptr[0] == 'c'   ? "container"
			   : key.ptr[0] == 'q' ? "queue"
			   : key.ptr[0] == 't' ? "table"
			   : key.ptr[0] == 's' ? "share"
					       : NULL;
	if (!kind || !key_take_str(&rest, name, LIMIT_KEY_BYTES, &found))
		return false;
	buf_printf(out, "%s ", kind);
	scrub_text_put(out, found);
	return true;
}

/* What the row is to a user, else its bytes. */
static void row_describe(const struct scrub *s, struct slice key, struct buf *out)
{
	char name[LIMIT_KEY_BYTES];
	bool known = false;
	if (key.len && s->kind == 'c')
		known = container_row_describe(key, name, out);
	else if (key.len && s->kind == 't')
		known = table_row_describe(key, name, out);
	else if (key.len && s->kind == 'q')
		known = queue_row_describe(key, out);
	else if (key.len && s->kind == 'a')
		known = account_row_describe(key, name, out);
	if (known)
		return;
	BUF_PUT(out, "row ");
	for (size_t i = 0; i < key.len && i < 64; i++)
		buf_printf(out, key.ptr[i] >= 0x21 && key.ptr[i] < 0x7f ? "%c" : "\\x%02x", (unsigned char)key.ptr[i]);
}

/* ---- lines ---- */

static bool said_before(struct scrub *s, const char *line)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	for (const char *p = line; *p; p++)
		hash = (hash ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
	for (size_t i = 0; i < s->said_count; i++)
		if (s->said[i] == hash)
			return true;
	if (s->said_count == s->said_cap) {
		size_t cap = s->said_cap ? s->said_cap * 2 : 64;
		uint64_t *more = realloc(s->said, cap * sizeof *more);
		if (!more)
			return false;
		s->said = more;
		s->said_cap = cap;
	}
	s->said[s->said_count++] = hash;
	return false;
}

void scrub_line_say(struct scrub *s, const char *line)
{
	if (said_before(s, line))
		return;
	s->damaged++;
	s->sink.damage(s->sink.arg, line);
}

void scrub_damage_say(struct scrub *s, struct slice key, const char *what, enum err err)
{
	struct buf line;
	buf_init(&line, 64 * KIB);
	buf_printf(&line, "%s/", scrub_place(s));
	row_describe(s, key, &line);
	buf_printf(&line, ": %s (%s)", what, err_name(err));
	buf_put(&line, slice_make("", 1));
	scrub_line_say(s, buf_ok(&line) ? line.ptr : "(no memory to name it)");
	buf_fini(&line);
}

struct holders_call {
	char tag;
	struct slice from;
	struct rows rows;
};

static enum err holders_apply(struct txn *txn, void *call)
{
	struct holders_call *h = call;
	struct key until;
	key_init(&until);
	key_tag(&until, h->tag);
	key_prefix_end(&until);
	struct scan_spec spec = { .from = h->from, .until = key_slice(&until), .limit_rows = HOLDER_PAGE };
	return txn_scan(txn, &spec, &h->rows);
}

static bool holds(const struct blob *b, uint64_t content)
{
	if (b->content.kind <= CONTENT_INLINE)
		return false;
	return b->content.id == content || (b->content.kind == CONTENT_MANIFEST && b->content.epoch == content);
}

/* A page of rows that cannot be read ends the search: its own damage is reported by the walk. */
static size_t holders_say(struct scrub *s, uint64_t content, char tag, const char *what, enum err err)
{
	size_t named = 0;
	struct key next;
	bool more = true;
	key_init(&next);
	key_tag(&next, tag);
	while (more && named < HOLDERS_NAMED) {
		struct arena arena;
		struct holders_call call = { .tag = tag, .from = key_slice(&next) };
		arena_init(&arena, LIMIT_REQUEST_ARENA_BYTES);
		more = store_read(s->store, s->partition, holders_apply, &call, &arena) == ERR_OK;
		for (size_t i = 0; more && i < call.rows.count; i++) {
			struct blob blob;
			if (blob_decode(call.rows.row[i].value, &arena, &blob) == ERR_OK && holds(&blob, content)) {
				scrub_damage_say(s, call.rows.row[i].key, what, err);
				named++;
			}
		}
		if (more && call.rows.count)
			key_after(&next, call.rows.row[call.rows.count - 1].key);
		more = more && call.rows.more;
		arena_fini(&arena);
	}
	return named;
}

void scrub_content_say(struct scrub *s, uint64_t content, const char *what, enum err err)
{
	if (holders_say(s, content, 'b', what, err) + holders_say(s, content, 'h', what, err))
		return;
	struct buf line;
	buf_init(&line, 64 * KIB);
	buf_printf(&line, "%s/(content %llx, which no readable blob names): %s (%s)", scrub_place(s),
		   (unsigned long long)content, what, err_name(err));
	buf_put(&line, slice_make("", 1));
	scrub_line_say(s, buf_ok(&line) ? line.ptr : "(no memory to name it)");
	buf_fini(&line);
}

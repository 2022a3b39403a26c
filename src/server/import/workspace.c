/* SPDX-License-Identifier: Apache-2.0
 * Opening a workspace of Azurite, and finding rows and bytes in it. Whoever may write there may have put a link or pipe
 * in the place of a file: neither is followed or waited for, or the bytes of any file that root may read would become a
 * blob. */
#include "server/import/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/sys/file.h"

static const struct {
	const char *name;
	const char *folder; /* of a list of extents */
} files[IMPORT_FILES] = {
	[IMPORT_BLOBS] = { "__azurite_db_blob__.json", NULL },
	[IMPORT_BLOB_EXTENTS] = { "__azurite_db_blob_extent__.json", "__blobstorage__" },
	[IMPORT_QUEUES] = { "__azurite_db_queue__.json", NULL },
	[IMPORT_QUEUE_EXTENTS] = { "__azurite_db_queue_extent__.json", "__queuestorage__" },
	[IMPORT_TABLES] = { "__azurite_db_table__.json", NULL },
};

enum { ROW_DEPTH = 8 };

/* A file that is not there is an absent slice. */
static bool map_file(const char *dir, const char *name, struct slice *ret, struct buf *error)
{
	struct buf path;
	struct stat st;
	bool ok = false;
	buf_init(&path, 64 * KIB);
	buf_printf(&path, "%s/%s%c", dir, name, '\0');
	int fd = buf_ok(&path) ? base_file_open_at(AT_FDCWD, path.ptr, O_RDONLY, 0) : -1;
	if (fd < 0) {
		ok = buf_ok(&path) && errno == ENOENT;
		*ret = SLICE_NONE;
	} else if (fstat(fd, &st) == 0) {
		void *at = st.st_size ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
		ok = at != MAP_FAILED || st.st_size == 0;
		*ret = at != MAP_FAILED ? slice_make(at, (size_t)st.st_size) : SLICE("");
	}
	if (!ok)
		buf_printf(error, "cannot read %s/%s: %s", dir, name,
			   errno == FILE_WRONG_KIND ? "it is no plain file" : strerror(errno));
	if (fd >= 0)
		close(fd);
	buf_fini(&path);
	return ok;
}

static bool walk_all(struct slice value, struct json_walk *w)
{
	if (!json_walk_begin(w, value))
		return false;
	while (json_walk_next(w))
		;
	return w->state == JSON_WALK_DONE;
}

/* Each collection with a name, and rows that are objects. */
static bool collections_whole(struct slice collections)
{
	struct json_walk c, w;
	if (!json_walk_begin(&c, collections) || c.object)
		return false;
	while (json_walk_next(&c)) {
		struct slice data = json_walk_find(c.value, "data");
		if (!slice_is_set(json_walk_find(c.value, "name")) || !walk_all(c.value, &w) || !walk_all(data, &w) ||
		    w.object)
			return false;
	}
	return c.state == JSON_WALK_DONE;
}

static bool file_whole(const struct import_workspace *ws, enum import_file f, struct buf *error)
{
	struct json_walk w;
	struct slice doc = ws->file[f];
	if (!slice_is_set(doc))
		return true;
	if (walk_all(doc, &w) && w.object && collections_whole(json_walk_find(doc, "collections")))
		return true;
	buf_printf(
		error,
		"%s/%s is damaged or was cut short (%zu bytes): stop Azurite so that it writes the file whole, or take "
		"a copy of it. Nothing was imported",
		ws->dir, files[f].name, doc.len);
	return false;
}

bool import_workspace_open(struct import_workspace *ws, const char *dir, struct buf *error)
{
	*ws = (struct import_workspace){ .dir = dir, .extent_fd = -1 };
	for (int f = 0; f < IMPORT_FILES; f++)
		if (!map_file(dir, files[f].name, &ws->file[f], error))
			return false;
	if (!slice_is_set(ws->file[IMPORT_BLOBS]) && !slice_is_set(ws->file[IMPORT_QUEUES]) &&
	    !slice_is_set(ws->file[IMPORT_TABLES])) {
		buf_printf(error,
			   "%s is no workspace of Azurite: it has no __azurite_db_blob__.json, "
			   "__azurite_db_queue__.json or __azurite_db_table__.json (a workspace in an SQL database "
			   "cannot be read)",
			   dir);
		return false;
	}
	for (int f = 0; f < IMPORT_FILES; f++)
		if (!file_whole(ws, (enum import_file)f, error))
			return false;
	return true;
}

void import_workspace_close(struct import_workspace *ws)
{
	for (int f = 0; f < IMPORT_FILES; f++)
		if (ws->file[f].len)
			munmap((void *)ws->file[f].ptr, ws->file[f].len);
	if (ws->extent_fd >= 0)
		close(ws->extent_fd);
	ws->extent_fd = -1;
}

bool import_rows(const struct import_workspace *ws, enum import_file f, struct slice collection, struct json_walk *ret)
{
	struct json_walk c;
	if (!slice_is_set(ws->file[f]) || !json_walk_begin(&c, json_walk_find(ws->file[f], "collections")))
		return false;
	while (json_walk_next(&c)) {
		struct slice name = json_walk_find(c.value, "name"); /* with its quotes; these names have no escapes */
		if (name.len == collection.len + 2 && memcmp(name.ptr + 1, collection.ptr, collection.len) == 0)
			return json_walk_begin(ret, json_walk_find(c.value, "data"));
	}
	return false;
}

struct json_node *import_row_node(struct slice row, const char *name, struct arena *arena)
{
	struct json_node *node;
	struct slice value = json_walk_find(row, name);
	if (!slice_is_set(value) || json_parse(value, arena, ROW_DEPTH, &node) != ERR_OK || node->kind == JSON_NULL)
		return NULL;
	return node;
}

struct slice import_row_text(struct slice row, const char *name, struct arena *arena)
{
	struct json_node *node = import_row_node(row, name, arena);
	return node && node->kind == JSON_STRING ? node->text : SLICE_NONE;
}

bool import_row_is(struct slice row, const char *name, struct slice text, struct arena *arena)
{
	struct slice found = import_row_text(row, name, arena);
	return slice_is_set(found) && slice_eq(found, text);
}

/* ---- extents ---- */

/* The file of an extent, by default named as the extent is; never a path out of the folder. */
static struct slice extent_file(const struct import_workspace *ws, enum import_file extents, struct slice id,
				struct arena *arena)
{
	struct json_walk w;
	struct slice name = id;
	bool listed = import_rows(ws, extents, SLICE("$EXTENTS_COLLECTION$"), &w);
	while (listed && json_walk_next(&w)) {
		if (!import_row_is(w.value, "id", id, arena))
			continue;
		struct slice path = import_row_text(w.value, "path", arena);
		if (slice_is_set(path))
			name = path;
		break;
	}
	while (slice_find_byte(name, '/') != name.len)
		name = slice_from(name, slice_find_byte(name, '/') + 1);
	return name;
}

/* In a folder of the workspace. */
static int folder_file_open(const struct import_workspace *ws, const char *folder, struct slice name)
{
	char path[4096], file[256];
	int n = snprintf(path, sizeof path, "%s/%s", ws->dir, folder);
	int m = snprintf(file, sizeof file, "%.*s", SLICE_FMT(name));
	if (n < 0 || (size_t)n >= sizeof path || m < 0 || (size_t)m >= sizeof file)
		return -1;
	int dir_fd = base_file_open_dir_at(AT_FDCWD, path);
	int fd = dir_fd >= 0 ? base_file_open_at(dir_fd, file, O_RDONLY, 0) : -1;
	if (dir_fd >= 0)
		close(dir_fd);
	return fd;
}

static bool extent_open(struct import_workspace *ws, enum import_file extents, struct slice id, struct arena *arena)
{
	char key[sizeof ws->extent_name];
	int n = snprintf(key, sizeof key, "%d %.*s", (int)extents, SLICE_FMT(id));
	if (n < 0 || (size_t)n >= sizeof key)
		return false;
	if (ws->extent_fd >= 0 && strcmp(key, ws->extent_name) == 0)
		return true;
	if (ws->extent_fd >= 0)
		close(ws->extent_fd);
	struct slice name = extent_file(ws, extents, id, arena);
	ws->extent_fd = folder_file_open(ws, files[extents].folder, name);
	memcpy(ws->extent_name, key, sizeof key);
	return ws->extent_fd >= 0;
}

static bool chunk_number(const struct json_node *chunk, const char *name, uint64_t *ret)
{
	const struct json_node *n = json_member(chunk, name);
	return n && n->kind == JSON_NUMBER && slice_to_u64(n->text, ret);
}

bool import_chunk_find(struct import_workspace *ws, enum import_file extents, struct slice persistency,
		       struct arena *arena, struct import_chunk *ret, struct buf *error)
{
	struct json_node *chunk = NULL;
	struct stat st;
	*ret = (struct import_chunk){ .fd = -1 };
	if (!slice_is_set(persistency) || slice_eq(persistency, SLICE("null")))
		return true;
	struct slice id = SLICE_NONE;
	if (json_parse(persistency, arena, ROW_DEPTH, &chunk) == ERR_OK)
		id = json_member_string(chunk, "id");
	if (!slice_is_set(id) || !chunk_number(chunk, "offset", &ret->offset) ||
	    !chunk_number(chunk, "count", &ret->count)) {
		BUF_PUT(error, "where its bytes are is not said in a way that is known");
		return false;
	}
	if (ret->count == 0 || slice_eq(id, SLICE("*ZERO*")))
		return true;
	if (!extent_open(ws, extents, id, arena)) {
		buf_printf(error, "the file of its bytes, %s/%.*s, cannot be opened", files[extents].folder,
			   SLICE_FMT(id));
		return false;
	}
	if (fstat(ws->extent_fd, &st) != 0 || ret->offset > (uint64_t)st.st_size ||
	    (uint64_t)st.st_size - ret->offset < ret->count) {
		buf_printf(error, "the file of its bytes, %s/%.*s, is too short", files[extents].folder, SLICE_FMT(id));
		return false;
	}
	ret->fd = ws->extent_fd;
	return true;
}

bool import_chunk_read(const struct import_chunk *chunk, struct buf *out)
{
	char *at = buf_reserve(out, chunk->count);
	uint64_t done = 0;
	if (!at)
		return false;
	while (done < chunk->count) {
		ssize_t n = chunk->fd < 0
				    ? 0
				    : pread(chunk->fd, at + done, chunk->count - done, (off_t)(chunk->offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (uint64_t)n;
	}
	out->len += chunk->count;
	return true;
}

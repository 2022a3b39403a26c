/* SPDX-License-Identifier: Apache-2.0
 * Copying the moment that a server holds into a checkpoint: by the program that was asked for it, or by a thread of the
 * server. See copy.h. */
#include "server/checkpoint/copy.h"

#include "base/limits.h"
#include "base/sys/file.h"
#include "server/checkpoint/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* A file whose last change is nearer than this to the moment may have been changed again within one tick of the file
 * system's clock: it counts as changed next time. */
enum { UNCHANGED_LEAST_S = 2 };

struct copying {
	int data, to;		       /* directories: of the store, and ours */
	int from_db, to_db, before_db; /* before: of the previous checkpoint, -1 if none */
	int from_seg, to_seg, before_seg;
	struct slice before_list; /* its CHECKPOINT file */
	time_t moment;		  /* when the moment began, by the file system's clock */
	struct buf list;	  /* our CHECKPOINT file */
	struct clone_progress *progress;
	struct buf *error;
	bool measuring; /* first round: how much is there */
};

/* The first reason is the one. */
static bool fail(struct copying *c, const char *what, const char *path)
{
	if (!c->error->len)
		buf_printf(c->error, "cannot %s %s: %s", what, path, strerror(errno));
	return false;
}

/* A file of the same number, length and time of making is the same table. */
static bool same_as_before(int before, int from, const char *name)
{
	struct stat a, b;
	return before >= 0 && fstatat(before, name, &a, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstatat(from, name, &b, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(a.st_mode) && a.st_size == b.st_size &&
	       a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

static bool table_copy(void *arg, const char *name)
{
	struct copying *c = arg;
	bool table = strlen(name) > 4 && strcmp(name + strlen(name) - 4, ".sst") == 0;
	struct stat st;
	if (c->measuring) {
		if (fstatat(c->from_db, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			c->progress->total_bytes += (uint64_t)st.st_size;
		return true;
	}
	if (table && clone_link(c->from_db, c->to_db, name, c->progress))
		return true;
	if (table && same_as_before(c->before_db, c->from_db, name) &&
	    clone_link(c->before_db, c->to_db, name, c->progress))
		return true;
	return clone_file(c->from_db, c->to_db, name, c->progress) || fail(c, "copy", name);
}

/* One line a segment file: name, length, time of its last change (0: not to be relied on), inode. */
static void segment_line(struct buf *out, const char *name, const struct stat *st, time_t moment)
{
	bool settled = st->st_mtim.tv_sec + UNCHANGED_LEAST_S < moment;
	buf_printf(out, "segment %s %llu %llu.%09lu %llu\n", name, (unsigned long long)st->st_size,
		   settled ? (unsigned long long)st->st_mtim.tv_sec : 0ULL,
		   settled ? (unsigned long)st->st_mtim.tv_nsec : 0UL, (unsigned long long)st->st_ino);
}

static bool listed_before(const struct copying *c, struct slice line)
{
	struct slice rest = c->before_list;
	while (slice_is_set(rest))
		if (slice_eq(slice_cut(&rest, '\n'), line))
			return true;
	return false;
}

static bool segment_copy(void *arg, const char *name)
{
	struct copying *c = arg;
	struct stat st;
	size_t at = c->list.len;
	if (fstatat(c->from_seg, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return fail(c, "look at", name);
	if (c->measuring) {
		c->progress->total_bytes += (uint64_t)st.st_blocks * 512;
		return true;
	}
	segment_line(&c->list, name, &st, c->moment);
	if (!buf_ok(&c->list))
		return fail(c, "list", name);
	/* A line that says 0 is in no list twice by chance: it is never looked for. */
	struct slice line = slice_make(c->list.ptr + at, c->list.len - at - 1);
	bool settled = st.st_mtim.tv_sec + UNCHANGED_LEAST_S < c->moment;
	if (settled && c->before_seg >= 0 && listed_before(c, line) &&
	    clone_link(c->before_seg, c->to_seg, name, c->progress))
		return true;
	return clone_file(c->from_seg, c->to_seg, name, c->progress) || fail(c, "copy", name);
}

static bool read_list(int dir, struct buf *out)
{
	int fd = base_file_open_at(dir, CHECKPOINT_FILE, O_RDONLY, 0);
	ssize_t n = fd >= 0 ? 1 : -1;
	while (n > 0) {
		char *room = buf_reserve(out, 4096);
		n = room ? read(fd, room, 4096) : -1;
		out->len += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		close(fd);
	return n == 0 && slice_has_prefix(buf_slice(out), SLICE(CHECKPOINT_HEAD "\n"));
}

static bool before_open(struct copying *c, const char *path, struct buf *list)
{
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool ok = dir >= 0 && read_list(dir, list);
	if (ok) {
		c->before_list = buf_slice(list);
		c->before_db = base_file_open_dir_at(dir, "db");
		c->before_seg = base_file_open_dir_at(dir, "segments");
	} else {
		buf_printf(c->error, "%s is no checkpoint that was finished: leave it out, then everything is copied",
			   path);
	}
	if (dir >= 0)
		close(dir);
	return ok;
}

static bool folders_open(struct copying *c)
{
	int staging = base_file_open_dir_at(c->data, CHECKPOINT_STAGING);
	c->from_db = staging >= 0 ? base_file_open_dir_at(staging, "db") : -1;
	c->from_seg = base_file_open_dir_at(c->data, "segments");
	c->to_db = clone_make_dir(c->to, "db");
	c->to_seg = clone_make_dir(c->to, "segments");
	if (staging >= 0)
		close(staging);
	return c->from_db >= 0 && c->from_seg >= 0 && c->to_db >= 0 && c->to_seg >= 0;
}

static bool copy_all(struct copying *c, uint64_t commit)
{
	buf_printf(&c->list, CHECKPOINT_HEAD "\ncommit %llu\n", (unsigned long long)commit);
	c->measuring = true;
	if (!clone_each_name(c->from_db, table_copy, c) || !clone_each_name(c->from_seg, segment_copy, c))
		return fail(c, "read", "the data directory");
	c->measuring = false;
	if (!clone_each_name(c->from_db, table_copy, c) || !clone_each_name(c->from_seg, segment_copy, c))
		return fail(c, "copy", "the data directory");
	static const char *const beside[] = { "accounts", "limits", "MODE" };
	for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
		if (faccessat(c->data, beside[i], F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
		    !clone_file(c->data, c->to, beside[i], c->progress))
			return fail(c, "copy", beside[i]);
	(void)clone_show(c->progress, true);
	if (fsync(c->to_db) != 0 || fsync(c->to_seg) != 0)
		return fail(c, "sync", "the checkpoint");
	return true;
}

/* Locks the file that holds the moment; its time is the moment's, by the clock of the file system. */
static int hold(struct copying *c, const char *data_dir)
{
	struct stat st;
	c->data = open(data_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int staging = c->data >= 0 ? base_file_open_dir_at(c->data, CHECKPOINT_STAGING) : -1;
	int fd = staging >= 0 ? base_file_open_at(staging, CHECKPOINT_HOLD, O_RDONLY, 0) : -1;
	if (staging >= 0)
		close(staging);
	if (fd >= 0 && (fstat(fd, &st) != 0 || flock(fd, LOCK_SH) != 0)) {
		close(fd);
		fd = -1;
	}
	if (fd >= 0)
		c->moment = st.st_mtim.tv_sec;
	return fd;
}

/* A server that ends, or takes us for gone, lets the moment go: what was copied after that may be of any time. It takes
 * the name of the file away before. */
static bool is_held(int held)
{
	struct stat st;
	return fstat(held, &st) == 0 && st.st_nlink > 0;
}

/* With DIR made. */
static bool take(struct copying *c, const char *dir, uint64_t commit, int held)
{
	if (!folders_open(c))
		return fail(c, "make folders in", dir);
	bool copied = copy_all(c, commit);
	if (!is_held(held)) {
		buf_clear(c->error);
		BUF_PUT(c->error, "the server ended, or let the moment go, before all of it was copied: try again");
		return false;
	}
	if (!copied)
		return false;
	/* Its name appears last: a checkpoint without it is none. */
	return clone_text(c->to, CHECKPOINT_FILE, buf_slice(&c->list)) || fail(c, "finish", dir);
}

/* Makes the moment, copies it, gives it back. */
static bool moment_copy(struct copying *c, struct checkpoint_copy *copy)
{
	struct buf answer, data;
	bool ok = false;
	buf_init(&answer, 64 * KIB);
	buf_init(&data, 64 * KIB);
	if (copy->ask(copy->arg, "/checkpoint/begin", &answer) == 200) {
		struct slice rest = buf_slice(&answer), path = slice_cut(&rest, '\n');
		buf_printf(&data, "%.*s", SLICE_FMT(path));
		buf_put_byte(&data, 0);
		bool told = buf_ok(&data) && slice_to_u64(slice_cut(&rest, '\n'), &copy->commit);
		int held = told ? hold(c, data.ptr) : -1;
		if (held >= 0) {
			ok = take(c, copy->dir, copy->commit, held);
			close(held);
		} else {
			fail(c, "read", "the data directory");
		}
		buf_clear(&answer);
		(void)copy->ask(copy->arg, "/checkpoint/end", &answer);
	} else {
		buf_printf(c->error, "%.*s", SLICE_FMT(slice_trim(buf_slice(&answer))));
	}
	buf_fini(&data);
	buf_fini(&answer);
	return ok;
}

bool checkpoint_copy_run(struct checkpoint_copy *copy)
{
	struct copying c = { .data = -1,
			     .to = -1,
			     .from_db = -1,
			     .to_db = -1,
			     .before_db = -1,
			     .from_seg = -1,
			     .to_seg = -1,
			     .before_seg = -1,
			     .progress = &copy->progress,
			     .error = &copy->error };
	struct buf list;
	bool ok = false;
	buf_init(&list, 16 * MIB);
	buf_init(&c.list, 16 * MIB);
	if (!copy->before || before_open(&c, copy->before, &list)) {
		c.to = clone_make_dir(AT_FDCWD, copy->dir);
		ok = c.to >= 0 ? moment_copy(&c, copy) : fail(&c, "make", copy->dir);
	}
	if (!ok && c.to >= 0)
		rmdir(copy->dir); /* if nothing is in it yet */
	int fds[] = { c.data, c.to, c.from_db, c.to_db, c.before_db, c.from_seg, c.to_seg, c.before_seg };
	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	buf_fini(&c.list);
	buf_fini(&list);
	return ok;
}

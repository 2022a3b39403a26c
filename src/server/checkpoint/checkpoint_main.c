/* SPDX-License-Identifier: Apache-2.0
 * `zaffre checkpoint DIR [PREVIOUS]`: asks the server for a moment and copies it. */
#include "server/checkpoint/checkpoint.h"

#include "base/limits.h"
#include "base/sys/file.h"
#include "server/admin/admin.h"
#include "server/checkpoint/clone.h"
#include "server/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

extern char **environ;

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
	struct clone_progress progress;
	bool measuring; /* first round: how much is there */
};

static bool fail(const char *what, const char *path)
{
	struct buf line;
	buf_init(&line, 16 * KIB);
	buf_printf(&line, "cannot %s %s: %s", what, path, strerror(errno));
	say_error(buf_slice(&line));
	buf_fini(&line);
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
			c->progress.total_bytes += (uint64_t)st.st_size;
		return true;
	}
	if (table && clone_link(c->from_db, c->to_db, name, &c->progress))
		return true;
	if (table && same_as_before(c->before_db, c->from_db, name) &&
	    clone_link(c->before_db, c->to_db, name, &c->progress))
		return true;
	return clone_file(c->from_db, c->to_db, name, &c->progress) || fail("copy", name);
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
		return fail("look at", name);
	if (c->measuring) {
		c->progress.total_bytes += (uint64_t)st.st_blocks * 512;
		return true;
	}
	segment_line(&c->list, name, &st, c->moment);
	if (!buf_ok(&c->list))
		return fail("list", name);
	/* A line that says 0 is in no list twice by chance: it is never looked for. */
	struct slice line = slice_make(c->list.ptr + at, c->list.len - at - 1);
	bool settled = st.st_mtim.tv_sec + UNCHANGED_LEAST_S < c->moment;
	if (settled && c->before_seg >= 0 && listed_before(c, line) &&
	    clone_link(c->before_seg, c->to_seg, name, &c->progress))
		return true;
	return clone_file(c->from_seg, c->to_seg, name, &c->progress) || fail("copy", name);
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
		struct buf line;
		buf_init(&line, 16 * KIB);
		buf_printf(&line, "%s is no checkpoint that was finished: leave it out, then everything is copied",
			   path);
		say_error(buf_slice(&line));
		buf_fini(&line);
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
		return fail("read", "the data directory");
	c->measuring = false;
	if (!clone_each_name(c->from_db, table_copy, c) || !clone_each_name(c->from_seg, segment_copy, c))
		return false;
	if (faccessat(c->data, "accounts", F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
	    !clone_file(c->data, c->to, "accounts", &c->progress))
		return fail("copy", "accounts");
	clone_show(&c->progress, true);
	if (fsync(c->to_db) != 0 || fsync(c->to_seg) != 0)
		return fail("sync", "the checkpoint");
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

/* With the moment held and DIR made. */
static bool take(struct copying *c, const char *dir, uint64_t commit)
{
	if (!folders_open(c))
		return fail("make folders in", dir);
	if (!copy_all(c, commit))
		return false;
	/* Its name appears last: a checkpoint without it is none. */
	return clone_text(c->to, CHECKPOINT_FILE, buf_slice(&c->list)) || fail("finish", dir);
}

static int run(const struct config *config, const char *dir, const char *before)
{
	struct copying c = { .data = -1,
			     .to = -1,
			     .from_db = -1,
			     .to_db = -1,
			     .before_db = -1,
			     .from_seg = -1,
			     .to_seg = -1,
			     .before_seg = -1,
			     .progress.terminal = isatty(STDERR_FILENO) };
	struct buf answer, list;
	uint64_t commit = 0;
	bool ok = false;
	buf_init(&answer, 64 * KIB);
	buf_init(&list, 16 * MIB);
	buf_init(&c.list, 16 * MIB);
	if (before && !before_open(&c, before, &list))
		goto out;
	c.to = clone_make_dir(AT_FDCWD, dir);
	if (c.to < 0) {
		fail("make", dir);
		goto out;
	}
	int status = admin_ask(config, "POST", SLICE("/checkpoint/begin"), &answer);
	if (status != 200) {
		if (status)
			fprintf(stderr, "zaffre: %.*s", SLICE_FMT(buf_slice(&answer)));
		goto out;
	}
	struct slice rest = buf_slice(&answer), path = slice_cut(&rest, '\n');
	struct buf data;
	buf_init(&data, 64 * KIB);
	buf_printf(&data, "%.*s", SLICE_FMT(path));
	buf_put_byte(&data, 0);
	int held = buf_ok(&data) && slice_to_u64(slice_cut(&rest, '\n'), &commit) ? hold(&c, data.ptr) : -1;
	if (held >= 0) {
		ok = take(&c, dir, commit);
		close(held);
		(void)admin_ask(config, "POST", SLICE("/checkpoint/end"), &answer);
	} else {
		fail("read", "the data directory");
	}
	buf_fini(&data);
	if (ok)
		printf("checkpoint of commit %llu in %s: %llu bytes copied, %llu shared\n", (unsigned long long)commit,
		       dir, (unsigned long long)c.progress.copied_bytes, (unsigned long long)c.progress.linked_bytes);
out:
	if (!ok && c.to >= 0)
		rmdir(dir); /* if nothing is in it yet */
	int fds[] = { c.data, c.to, c.from_db, c.to_db, c.before_db, c.from_seg, c.to_seg, c.before_seg };
	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	buf_fini(&c.list);
	buf_fini(&list);
	buf_fini(&answer);
	return ok ? 0 : 1;
}

int checkpoint_main(int argc, char **argv)
{
	struct config config;
	struct buf error;
	int words = 0, status = EXIT_USAGE;
	while (words < argc && words < 2 && argv[words][0] != '-')
		words++;
	if (words == 0) {
		fprintf(stderr,
			"zaffre checkpoint DIR [PREVIOUS] [OPTIONS]: one moment of a running server's data in the "
			"new directory DIR; what did not change since PREVIOUS is shared with it\n");
		return status;
	}
	buf_init(&error, 64 * KIB);
	if (config_parse(&config, argc - words, argv + words, environ, &error))
		status = run(&config, argv[0], words > 1 ? argv[1] : NULL);
	else
		say_error(buf_slice(&error));
	config_fini(&config);
	buf_fini(&error);
	return status;
}

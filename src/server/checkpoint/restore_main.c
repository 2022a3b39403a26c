/* SPDX-License-Identifier: Apache-2.0
 * `zaffre restore CHECKPOINT`: a data directory out of a checkpoint, for a server that was not started yet. Everything
 * is copied: the checkpoint stays as it is. */
#include "server/checkpoint/checkpoint.h"

#include "base/limits.h"
#include "base/sys/file.h"
#include "server/checkpoint/clone.h"
#include "server/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* What makes it a store (engine/rocks/rocks.h); the journal is empty, all of it is in tables. */
#define FORMAT_TEXT "zaffre 5\n"

struct restoring {
	int from, to;
	struct clone_progress progress;
};

static bool fail(const char *what, const char *path)
{
	fprintf(stderr, "zaffre: cannot %s %s: %s\n", what, path, strerror(errno));
	return false;
}

static bool copy_one(void *arg, const char *name)
{
	struct restoring *r = arg;
	return clone_file(r->from, r->to, name, &r->progress) || fail("copy", name);
}

static bool copy_folder(int from, int to, const char *name, struct clone_progress *p)
{
	struct restoring r = { base_file_open_dir_at(from, name), clone_make_dir(to, name), *p };
	bool ok = r.from >= 0 && r.to >= 0;
	if (!ok)
		fail("open", name);
	ok = ok && clone_each_name(r.from, copy_one, &r) && fsync(r.to) == 0;
	*p = r.progress;
	if (r.from >= 0)
		close(r.from);
	if (r.to >= 0)
		close(r.to);
	return ok;
}

static bool no_name(void *arg, const char *name)
{
	(void)arg;
	return strcmp(name, "lost+found") == 0;
}

/* A directory that is there has to be empty: that of a package or of a fresh file system. */
static int target_open(const char *path)
{
	int fd = clone_make_dir(AT_FDCWD, path);
	if (fd >= 0 || errno != EEXIST)
		return fd;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && !clone_each_name(fd, no_name, NULL)) {
		close(fd);
		fd = -1;
		errno = ENOTEMPTY;
	}
	return fd;
}

static bool is_finished(int from)
{
	char head[sizeof CHECKPOINT_HEAD] = "";
	int fd = base_file_open_at(from, CHECKPOINT_FILE, O_RDONLY, 0);
	bool ok = fd >= 0 && read(fd, head, sizeof head - 1) == (ssize_t)(sizeof head - 1) &&
		  strcmp(head, CHECKPOINT_HEAD) == 0;
	if (fd >= 0)
		close(fd);
	return ok;
}

static int run(const char *checkpoint, const char *location)
{
	struct clone_progress p = { .terminal = isatty(STDERR_FILENO) };
	int from = open(checkpoint, O_RDONLY | O_DIRECTORY | O_CLOEXEC), to = -1;
	bool ok = false;
	if (from < 0 || !is_finished(from)) {
		if (from < 0)
			fprintf(stderr, "zaffre: cannot open the checkpoint %s: %s\n", checkpoint, strerror(errno));
		else
			fprintf(stderr, "zaffre: %s is no checkpoint that was finished (it has no file CHECKPOINT)\n",
				checkpoint);
	} else if ((to = target_open(location)) < 0) {
		fail("restore into", location);
	} else {
		ok = copy_folder(from, to, "db", &p) && copy_folder(from, to, "segments", &p);
		static const char *const beside[] = { "accounts", "limits", "MODE" };
		for (size_t i = 0; ok && i < sizeof beside / sizeof *beside; i++)
			if (faccessat(from, beside[i], F_OK, AT_SYMLINK_NOFOLLOW) == 0)
				ok = clone_file(from, to, beside[i], &p) || fail("copy", beside[i]);
		/* Last: without it the directory is no store. */
		ok = ok && (clone_text(to, "FORMAT", SLICE(FORMAT_TEXT)) || fail("write", "FORMAT"));
	}
	if (ok)
		printf("restored into %s: %llu bytes. Start a server on it, or look at it first: zaffre scrub "
		       "--location %s\n",
		       location, (unsigned long long)(p.copied_bytes + p.linked_bytes), location);
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	return ok ? 0 : 1;
}

int checkpoint_restore_main(int argc, char **argv)
{
	struct config config;
	struct buf error;
	int status = EXIT_USAGE;
	if (argc < 1 || argv[0][0] == '-') {
		fprintf(stderr,
			"zaffre restore CHECKPOINT --location DIR: the checkpoint becomes the data directory DIR, "
			"which is new or empty\n");
		return status;
	}
	buf_init(&error, 64 * KIB);
	if (config_parse(&config, argc - 1, argv + 1, environ, &error))
		status = run(argv[0], config.location);
	else
		say_error(buf_slice(&error));
	config_fini(&config);
	buf_fini(&error);
	return status;
}

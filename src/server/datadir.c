/* SPDX-License-Identifier: Apache-2.0
 * The data directory: made, recognised, and whose it is. */
#include "server/datadir.h"

#include "base/sys/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/securebits.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* The folder that holds this entry. */
static void path_above(const char *path, char above[PATH_MAX])
{
	const char *name = strrchr(path, '/');
	size_t len = name == path ? 1 : name ? (size_t)(name - path) : 0;
	memcpy(above, path, len);
	above[len] = 0;
	if (!name)
		memcpy(above, ".", 2);
}

/* A directory that was just made stays: everything acknowledged in it would go with it. Who may not read the one above
 * leaves that to the file system. */
static bool entry_sync(const char *path)
{
	char above[PATH_MAX];
	path_above(path, above);
	int fd = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return true;
	bool synced = fsync(fd) == 0 || errno == EINVAL; /* some file systems have nothing to sync there */
	int error = errno;
	close(fd);
	if (!synced)
		rmdir(path); /* the next start makes it again */
	errno = error;
	return synced;
}

/* Why it failed and what to do: most often another user made it, on a volume of a container for instance. */
static void refusal_explain(const char *path, int reason, struct buf *error)
{
	struct stat st;
	buf_printf(error, "%s. Give another --location or make it writable by this user", strerror(reason));
	if (reason == EACCES && stat(path, &st) == 0 && st.st_uid != geteuid())
		buf_printf(error,
			   ": %s belongs to user %u, this is user %u; or run as that one (in a container: --user "
			   "%u:%u)",
			   path, (unsigned)st.st_uid, (unsigned)geteuid(), (unsigned)st.st_uid, (unsigned)st.st_gid);
}

static bool directory_make(const char *path, struct buf *error)
{
	char part[PATH_MAX];
	size_t len = strlen(path);
	if (len == 0 || len >= sizeof part) {
		buf_printf(error, "--location: \"%s\" is no usable path", path);
		return false;
	}
	memcpy(part, path, len + 1);
	for (size_t i = 1; i <= len; i++) {
		if (part[i] != '/' && part[i] != 0)
			continue;
		char keep = part[i];
		part[i] = 0;
		bool made = mkdir(part, 0700) == 0;
		bool there = made ? entry_sync(part) : errno == EEXIST || (keep != 0 && access(part, F_OK) == 0);
		if (!there) {
			int reason = errno;
			char above[PATH_MAX];
			path_above(part, above);
			buf_printf(error, "cannot make the data directory %s: ", part);
			refusal_explain(above, reason, error);
			return false;
		}
		part[i] = keep;
	}
	return true;
}

/* Ours is one that is empty, or where an engine has been: a mistyped --location must not be filled with our files.
 * Where there is nothing but ours and FORMAT is gone, the engine knows better what to say. */
static bool directory_is_ours(const char *path, bool *ret_ours)
{
	static const char *const known[] = {
		".",	"..",	    "LOCK",	      "FORMAT",	   "FORMAT.new",   "TAIL",
		"db",	"segments", "journal",	      "accounts",  "accounts.new", "admin.sock",
		"MODE", "MODE.new", "checkpoint.new", "lost+found"
	};
	DIR *dir = opendir(path);
	bool stranger = false, format = false;
	if (!dir)
		return false;
	errno = 0;
	for (struct dirent *e; (e = readdir(dir));) {
		bool found = false;
		for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
			found = found || strcmp(e->d_name, known[i]) == 0;
		stranger = stranger || !found;
		format = format || strcmp(e->d_name, "FORMAT") == 0;
	}
	int error = errno;
	closedir(dir);
	errno = error;
	if (!error)
		*ret_ours = format || !stranger;
	return !error;
}

static bool directory_is_azurites(const char *path)
{
	static const char *const names[] = { "__azurite_db_blob__.json", "__azurite_db_queue__.json",
					     "__azurite_db_table__.json", "__blobstorage__", "__queuestorage__" };
	char file[PATH_MAX];
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		int n = snprintf(file, sizeof file, "%s/%s", path, names[i]);
		if (n > 0 && (size_t)n < sizeof file && access(file, F_OK) == 0)
			return true;
	}
	return false;
}

/* A server that root runs in somebody's directory: what is made there belongs to the owner, who could not open it
 * otherwise. Root keeps its rights (its ports, its key files). This thread, and those it will start. */
static void files_belong_to(const struct stat *owner)
{
	if (geteuid() != 0 || owner->st_uid == 0 || prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP) != 0)
		return;
	setfsgid(owner->st_gid);
	setfsuid(owner->st_uid);
}

/* When the process began, as LOCK says it (engine/rocks/open.c); false if there is no such process. */
static bool process_began(long pid, char *ret, size_t room)
{
	char path[32], text[1024];
	snprintf(path, sizeof path, "/proc/%ld/stat", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	char *at = strrchr(text, ')');
	for (int i = 0; at && i < 20; i++)
		at = strchr(at + 1, ' ');
	if (at)
		snprintf(ret, room, "%.*s", (int)strcspn(at + 1, " "), at + 1);
	return at != NULL;
}

/* Nobody holds the lock of this directory, and yet the server that is named in it runs: on another one, of which this
 * is a copy that was made meanwhile. 0: it is none, else the server's process. */
static long directory_is_copy(const char *path)
{
	char name[PATH_MAX], owner[64] = "", began[32];
	int n = snprintf(name, sizeof name, "%s/LOCK", path);
	int fd = n > 0 && (size_t)n < sizeof name ? base_file_open_at(AT_FDCWD, name, O_RDONLY, 0) : -1;
	ssize_t got = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0 ? read(fd, owner, sizeof owner - 1) : -1;
	char *end;
	if (fd >= 0)
		close(fd);
	owner[got > 0 ? got : 0] = 0;
	long pid = strtol(owner, &end, 10);
	if (end == owner || *end != ' ' || pid == (long)getpid() || !process_began(pid, began, sizeof began))
		return 0;
	return strcmp(end + 1, began) == 0 ? pid : 0;
}

bool datadir_open(struct datadir *d, const char *path, bool create, struct buf *error)
{
	struct stat st;
	bool ours;
	*d = (struct datadir){ 0 };
	if (create && !directory_make(path, error))
		return false;
	if (stat(path, &st) != 0) {
		buf_printf(error, "no data directory %s: %s", path, strerror(errno));
		return false;
	}
	if (!S_ISDIR(st.st_mode)) {
		buf_printf(error, "--location %s is not a directory", path);
		return false;
	}
	if (access(path, R_OK | W_OK | X_OK) != 0) {
		buf_printf(error, "cannot write to the data directory %s: ", path);
		refusal_explain(path, errno, error);
		return false;
	}
	if (!directory_is_ours(path, &ours)) {
		buf_printf(error, "cannot read the data directory %s: %s. Check its permissions and the disk", path,
			   strerror(errno));
		return false;
	}
	if (!ours && directory_is_azurites(path)) {
		buf_printf(error,
			   "%s is a workspace of Azurite, whose files are not read in place: give another --location, "
			   "and see docs/azurite.md for taking the data over (zaffre import-azurite %s)",
			   path, path);
		return false;
	}
	char checkpoint[PATH_MAX];
	int n = snprintf(checkpoint, sizeof checkpoint, "%s/CHECKPOINT", path);
	if (!ours && n > 0 && (size_t)n < sizeof checkpoint && access(checkpoint, F_OK) == 0) {
		buf_printf(error,
			   "%s is a checkpoint, which may share files with others: make a data directory of it with "
			   "zaffre restore %s --location DIR",
			   path, path);
		return false;
	}
	if (!ours) {
		buf_printf(error, "%s is not empty and is no data directory of zaffre: give an empty or a new one",
			   path);
		return false;
	}
	long user = directory_is_copy(path);
	if (user) {
		buf_printf(
			error,
			"%s is a copy of a data directory that a server (process %ld) is using, and may hold half of "
			"what it wrote: make a copy with zaffre checkpoint, or remove the file LOCK there if you know "
			"better",
			path, user);
		return false;
	}
	d->path = realpath(path, NULL);
	if (!d->path)
		buf_printf(error, "no data directory %s: %s", path, strerror(errno));
	else if (create)
		files_belong_to(&st);
	return d->path != NULL;
}

static const char *mode_name(bool production)
{
	return production ? "production" : "development";
}

/* The word in the file MODE; empty if there is none. */
static void mode_read(const char *dir, char *ret, size_t room)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof path, "%s/MODE", dir);
	int fd = n > 0 && (size_t)n < sizeof path ? base_file_open_at(AT_FDCWD, path, O_RDONLY, 0) : -1;
	ssize_t got = fd >= 0 ? read(fd, ret, room - 1) : -1;
	if (fd >= 0)
		close(fd);
	ret[got > 0 ? got : 0] = 0;
	ret[strcspn(ret, "\n")] = 0;
}

bool datadir_mode_is_damaged(const struct datadir *d)
{
	char word[32];
	mode_read(d->path, word, sizeof word);
	return word[0] && strcmp(word, mode_name(false)) != 0 && strcmp(word, mode_name(true)) != 0;
}

bool datadir_check_mode(const struct datadir *d, bool production, bool change, struct buf *error)
{
	char word[32];
	mode_read(d->path, word, sizeof word);
	if (change || !word[0] || strcmp(word, mode_name(production)) == 0)
		return true;
	if (datadir_mode_is_damaged(d)) {
		buf_printf(error,
			   "the file MODE in %s is damaged: it says neither development nor production. If this is a "
			   "directory of %s mode, give --changeMode once; `zaffre scrub` tells whether other files are "
			   "damaged, too",
			   d->path, mode_name(production));
		return false;
	}
	buf_printf(
		error,
		"%s is a data directory of %s mode and this is a server of %s mode: give --mode %s, or --changeMode if "
		"it is to change",
		d->path, word, mode_name(production), word);
	return false;
}

bool datadir_keep_mode(const struct datadir *d, bool production, struct buf *error)
{
	char word[32], path[PATH_MAX], temporary[PATH_MAX];
	mode_read(d->path, word, sizeof word);
	if (strcmp(word, mode_name(production)) == 0)
		return true;
	int n = snprintf(path, sizeof path, "%s/MODE", d->path);
	int m = snprintf(temporary, sizeof temporary, "%s/MODE.new", d->path);
	bool ok = n > 0 && (size_t)n < sizeof path && m > 0 && (size_t)m < sizeof temporary;
	int fd = ok ? base_file_open_at(AT_FDCWD, temporary, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
	ok = fd >= 0 && dprintf(fd, "%s\n", mode_name(production)) > 0 && fsync(fd) == 0;
	if (fd >= 0)
		close(fd);
	if (!ok || rename(temporary, path) != 0) {
		buf_printf(error, "cannot write %s: %s", path, strerror(errno));
		return false;
	}
	return true;
}

static bool become(const struct stat *owner)
{
	if (geteuid() != 0 || owner->st_uid == 0)
		return true;
	return setgroups(0, NULL) == 0 && setresgid(owner->st_gid, owner->st_gid, owner->st_gid) == 0 &&
	       setresuid(owner->st_uid, owner->st_uid, owner->st_uid) == 0 && setresuid(0, 0, 0) != 0;
}

bool datadir_become_owner(const struct datadir *d, struct buf *error)
{
	struct stat st;
	int fd = open(d->path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	bool there = fd >= 0 && fstat(fd, &st) == 0 && fchdir(fd) == 0;
	if (!there)
		buf_printf(error, "cannot enter the data directory %s: %s", d->path, strerror(errno));
	else if (!become(&st))
		buf_printf(error, "cannot become the owner of %s (user %u): %s. Run this as that user", d->path,
			   (unsigned)st.st_uid, strerror(errno));
	if (fd >= 0)
		close(fd);
	return there && !error->len;
}

void datadir_close(struct datadir *d)
{
	free(d->path);
	d->path = NULL;
}

static bool file_write_all(int fd, struct slice s)
{
	while (s.len) {
		ssize_t n = write(fd, s.ptr, s.len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		s = slice_from(s, (size_t)n);
	}
	return true;
}

static bool directory_sync(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool ok = fd >= 0 && fsync(fd) == 0;
	if (fd >= 0)
		close(fd);
	return ok;
}

bool datadir_replace_file(const char *data_dir, const char *name, struct slice text, struct buf *error)
{
	char temporary[PATH_MAX], path[PATH_MAX];
	int n = snprintf(temporary, sizeof temporary, "%s/%s.new", data_dir, name);
	if (n < 0 || n >= PATH_MAX) {
		buf_printf(error, "the name of %s is too long", data_dir);
		return false;
	}
	snprintf(path, sizeof path, "%s/%s", data_dir, name);
	unlink(temporary);
	int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	bool ok = fd >= 0 && file_write_all(fd, text) && fsync(fd) == 0;
	if (!ok)
		buf_printf(error, "cannot write %s: %s", temporary, strerror(errno));
	if (fd >= 0)
		close(fd);
	if (ok && (rename(temporary, path) != 0 || !directory_sync(data_dir))) {
		buf_printf(error, "cannot make %s: %s", path, strerror(errno));
		ok = false;
	}
	return ok;
}

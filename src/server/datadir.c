/* SPDX-License-Identifier: Apache-2.0
 * The order matters: take the lock first, look at the format second, write last. A directory that is refused is unchanged
 * but for its LOCK file. */
#include "server/datadir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

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
		if (mkdir(part, 0700) != 0 && errno != EEXIST && (keep == 0 || access(part, F_OK) != 0)) {
			buf_printf(error, "cannot make the data directory %s: %s. Give another --location or make it writable", part,
				   strerror(errno));
			return false;
		}
		part[i] = keep;
	}
	struct stat st;
	if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) {
		buf_printf(error, "--location %s is not a directory", path);
		return false;
	}
	return true;
}

static bool lock_take(struct datadir *d, struct buf *error)
{
	char path[PATH_MAX], text[32] = "";
	snprintf(path, sizeof path, "%s/LOCK", d->path);
	d->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (d->lock_fd < 0) {
		buf_printf(error, "cannot write to the data directory %s: %s. Give another --location or make it writable by this user",
			   d->path, strerror(errno));
		return false;
	}
	if (flock(d->lock_fd, LOCK_EX | LOCK_NB) != 0) {
		ssize_t n = errno == EWOULDBLOCK ? pread(d->lock_fd, text, sizeof text - 1, 0) : 0;
		while (n > 0 && text[n - 1] == '\n')
			text[--n] = 0;
		buf_printf(error, "another zaffre%s%s uses %s: stop it first, or give another --location", n > 0 ? ", process " : "", text,
			   d->path);
		return false;
	}
	int n = snprintf(text, sizeof text, "%d\n", (int)getpid());
	/* The number only helps the message above; a full disk must not keep a server from starting to delete things. */
	if (ftruncate(d->lock_fd, 0) == 0 && pwrite(d->lock_fd, text, (size_t)n, 0) < 0)
		return true;
	return true;
}

/* True if nothing but LOCK is in the directory. */
static bool directory_is_fresh(const char *path)
{
	DIR *dir = opendir(path);
	bool fresh = dir != NULL;
	for (struct dirent *e; dir && (e = readdir(dir));)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && strcmp(e->d_name, "LOCK") != 0 &&
		    strcmp(e->d_name, "FORMAT.new") != 0 && strcmp(e->d_name, "lost+found") != 0)
			fresh = false;
	if (dir)
		closedir(dir);
	return fresh;
}

static bool format_write(struct datadir *d, const char *path, struct buf *error)
{
	char temporary[PATH_MAX], text[16];
	snprintf(temporary, sizeof temporary, "%s/FORMAT.new", d->path);
	int n = snprintf(text, sizeof text, "%d\n", DATADIR_FORMAT);
	int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bool ok = fd >= 0 && write(fd, text, (size_t)n) == n && fsync(fd) == 0;
	if (fd >= 0)
		close(fd);
	ok = ok && rename(temporary, path) == 0;
	int dir = ok ? open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	ok = ok && dir >= 0 && fsync(dir) == 0;
	if (!ok)
		buf_printf(error, "cannot write to the data directory %s: %s%s", d->path, strerror(errno),
			   errno == ENOSPC ? ". Make room on that disk" : "");
	if (dir >= 0)
		close(dir);
	return ok;
}

static bool format_check(struct datadir *d, struct buf *error)
{
	char path[PATH_MAX], text[32] = "";
	uint64_t format = 0;
	snprintf(path, sizeof path, "%s/FORMAT", d->path);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		if (!directory_is_fresh(d->path)) {
			buf_printf(error, "%s is not empty and is no data directory of zaffre: give an empty or a new one", d->path);
			return false;
		}
		return format_write(d, path, error);
	}
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	if (n < 0) {
		buf_printf(error, "cannot read %s: %s", path, strerror(errno));
		return false;
	}
	while (n > 0 && text[n - 1] == '\n')
		n--;
	if (!slice_to_u64(slice_make(text, (size_t)n), &format) || format == 0) {
		buf_printf(error, "%s is damaged: it should hold the number of the format. Nothing was changed; if you know it was "
				  "made by this version, write %d into it",
			   path, DATADIR_FORMAT);
		return false;
	}
	if (format > DATADIR_FORMAT) {
		buf_printf(error, "%s has format %llu, made by a newer zaffre; this one knows formats up to %d. Nothing was changed: use the newer "
				  "program",
			   d->path, (unsigned long long)format, DATADIR_FORMAT);
		return false;
	}
	return true;
}

bool datadir_open(struct datadir *d, const char *path, bool create, struct buf *error)
{
	*d = (struct datadir){ .lock_fd = -1 };
	if (create && !directory_make(path, error))
		return false;
	d->path = realpath(path, NULL);
	if (!d->path) {
		buf_printf(error, "no data directory %s: %s", path, strerror(errno));
		return false;
	}
	return lock_take(d, error) && format_check(d, error);
}

bool datadir_open_temporary(struct datadir *d, struct buf *error)
{
	char path[PATH_MAX];
	const char *base = getenv("TMPDIR");
	snprintf(path, sizeof path, "%s/zaffre-XXXXXX", base && base[0] ? base : "/tmp");
	if (!mkdtemp(path)) {
		buf_printf(error, "cannot make a directory like %s: %s", path, strerror(errno));
		*d = (struct datadir){ .lock_fd = -1 };
		return false;
	}
	bool ok = datadir_open(d, path, false, error);
	d->temporary = true;
	return ok;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

void datadir_close(struct datadir *d)
{
	if (d->temporary && d->path)
		nftw(d->path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	if (d->lock_fd >= 0)
		close(d->lock_fd);
	d->lock_fd = -1;
	free(d->path);
	d->path = NULL;
}

/* SPDX-License-Identifier: Apache-2.0
 * Which paths these settings need. A file that may be replaced while the server runs (a renewed certificate, a log that
 * was moved away) is another file then: its directory is named, and with it the files beside it. */
#include "server/guard/confine.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/slice.h"
#include "base/sys/log.h"
#include "sandbox/sandbox.h"

enum { PATHS_MAX = 192, PATH_BYTES = 4096 };

struct paths {
	struct sandbox_path path[PATHS_MAX];
	size_t count;
	char text[PATHS_MAX][PATH_BYTES];
};

/* What libraries read of the system, now or later: nothing of it is secret. */
static const struct sandbox_path of_the_system[] = {
	{ "/lib", SANDBOX_READ },
	{ "/lib64", SANDBOX_READ },
	{ "/usr/lib", SANDBOX_READ },
	{ "/usr/share/zoneinfo", SANDBOX_READ },
	{ "/etc/localtime", SANDBOX_READ },
	{ "/etc/ld.so.cache", SANDBOX_READ },
	{ "/etc/ssl/openssl.cnf", SANDBOX_READ },
	{ "/etc/nsswitch.conf", SANDBOX_READ },
	{ "/etc/host.conf", SANDBOX_READ },
	{ "/etc/hosts", SANDBOX_READ },
	{ "/etc/resolv.conf", SANDBOX_READ },
	{ "/etc/gai.conf", SANDBOX_READ },
	{ "/etc/services", SANDBOX_READ },
	{ "/proc/self", SANDBOX_READ },
	{ "/proc/meminfo", SANDBOX_READ },
	{ "/proc/cpuinfo", SANDBOX_READ },
	{ "/proc/sys/vm", SANDBOX_READ },
	{ "/proc/sys/kernel/random", SANDBOX_READ }, /* RocksDB makes an id of it */
	{ "/proc/mounts", SANDBOX_READ },
	{ "/sys/devices", SANDBOX_READ }, /* processors; the block size of the disk */
	{ "/sys/dev/block", SANDBOX_READ },
	{ "/sys/block", SANDBOX_READ },
	{ "/sys/fs/cgroup", SANDBOX_READ },
	{ "/dev/urandom", SANDBOX_READ },
	{ "/dev/null", SANDBOX_WRITE },
};

static void path_add(struct paths *p, const char *path, enum sandbox_use use)
{
	if (p->count < PATHS_MAX)
		p->path[p->count++] = (struct sandbox_path){ path, use };
	else
		log_warn("the sandbox has no room for %s: it cannot be used", path);
}

/* The directory of a file, or the file itself where the directory is everybody's. */
static void file_add(struct paths *p, const char *file, enum sandbox_use use)
{
	if (!file[0] || strcmp(file, "-") == 0 || p->count >= PATHS_MAX)
		return;
	size_t len = strlen(file);
	const char *slash = memrchr(file, '/', len);
	char *dir = p->text[p->count];
	size_t dir_len = slash ? (size_t)(slash - file) : 0;
	if (len >= PATH_BYTES)
		return;
	memcpy(dir, file, len + 1);
	if (!slash)
		memcpy(dir, ".", 2);
	else if (dir_len && strncmp(file, "/dev/", 5) != 0 && strncmp(file, "/proc/", 6) != 0)
		dir[dir_len] = 0;
	path_add(p, dir, use);
}

/* Every setting whose argument is a file, so that a new one is not forgotten. */
static void files_to_read(const struct config *c, struct paths *ret)
{
#define READ_STR(field, argument)                                                                                      \
	if (strcmp(argument, "FILE") == 0)                                                                             \
		file_add(ret, c->field, SANDBOX_READ);
#define READ_HIDDEN(field, argument) READ_STR(field, argument)
#define READ_PORT(field, argument)
#define READ_LOOPS(field, argument)
#define READ_INT(field, argument)
#define READ_LARGE(field, argument)
#define READ_BOOL(field, argument)
#define READ_OPTIONAL(field, argument)
#define READ_SECRET(field, argument)
#define READ_HIDDEN_INT(field, argument)
#define READ_HEADING(field, argument)
#define READ_IGNORED(field, argument)
#define READ_IGNORED_VALUE(field, argument)
#define CONF(kind, field, flag, letter, environment, default_text, argument, help) READ_##kind(field, argument)
#include "server/config.def"
#undef CONF
}

/* CERT:KEY,CERT:KEY: read again when certificates are renewed. */
static void more_certificates(const struct config *c, struct paths *ret)
{
	struct slice more = slice_str(c->moreCerts);
	while (more.len && slice_is_set(more)) {
		struct slice key = slice_cut(&more, ','), cert = slice_trim(slice_cut(&key, ':'));
		char name[PATH_BYTES];
		if (snprintf(name, sizeof name, "%.*s", SLICE_FMT(cert)) < PATH_BYTES)
			file_add(ret, name, SANDBOX_READ);
		if (slice_is_set(key) && snprintf(name, sizeof name, "%.*s", SLICE_FMT(slice_trim(key))) < PATH_BYTES)
			file_add(ret, name, SANDBOX_READ);
	}
}

static void paths_of(const struct config *c, const char *data_path, struct paths *ret)
{
	for (size_t i = 0; i < sizeof of_the_system / sizeof *of_the_system; i++)
		path_add(ret, of_the_system[i].path, of_the_system[i].use);
	if (data_path)
		path_add(ret, data_path, SANDBOX_OWN);
	if (strcmp(c->adminSocket, "off") != 0)
		file_add(ret, c->adminSocket, SANDBOX_OWN);
	files_to_read(c, ret);
	more_certificates(c, ret);
	const char *written[] = { c->accessLog, c->auditLog, c->debug, c->readyFile };
	for (size_t i = 0; i < sizeof written / sizeof *written; i++)
		file_add(ret, written[i], SANDBOX_WRITE);
}

static bool is_wanted(const struct config *c)
{
	return strcmp(c->sandbox, "off") != 0;
}

/* Who develops on an old kernel need not be told at every start. */
static void tell(const struct config *c, enum sandbox_result result, const char *what)
{
	if (result == SANDBOX_MISSING && c->production)
		log_info("this kernel or build has no %s: the server goes on without", what);
	else if (result == SANDBOX_FAILED)
		log_warn("%s could not be set up (%s): the server goes on without", what, strerror(errno));
}

void confine_memory(const struct config *c)
{
	if (c->production)
		sandbox_hide_memory();
}

void confine_files(const struct config *c, const char *data_path)
{
	static struct paths paths; /* large */
	if (!is_wanted(c))
		return;
	paths_of(c, data_path, &paths);
	tell(c, sandbox_files(paths.path, paths.count), "restriction of files (Landlock)");
}

void confine_calls(const struct config *c)
{
	if (is_wanted(c))
		tell(c, sandbox_calls(), "restriction of system calls (seccomp)");
}

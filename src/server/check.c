/* SPDX-License-Identifier: Apache-2.0
 * `--check`: what a start with these settings would complain about, all of it, without starting: files that cannot be
 * read or do not parse, ports that are taken, a directory that is another's. Writes nothing. */
#include "server/check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/sys/file.h"
#include "io/listen.h"
#include "server/house.h"
#include "server/serve.h"

struct check {
	const struct config *config;
	struct buf error;
	unsigned complaints;
};

/* One more, if there is something in `error`. */
static void tell(struct check *c)
{
	if (c->error.len == 0)
		return;
	say_error(buf_slice(&c->error));
	buf_clear(&c->error);
	c->complaints++;
}

static void check_port(struct check *c, const char *host, int64_t port)
{
	int fd;
	uint16_t real;
	if (port && io_listen(host, (uint16_t)port, &fd, &real, &c->error) == ERR_OK)
		close(fd);
	tell(c);
}

static void check_ports(struct check *c)
{
	const struct config *config = c->config;
	int64_t port;
	for (int i = 0; i < CONFIG_SERVICES; i++)
		check_port(c, config_host(config, i), config_port(config, i));
	if (slice_to_i64(slice_str(config->webPort), &port))
		check_port(c, config_host(config, 0), port);
	if (slice_to_i64(slice_str(config->adminPort), &port))
		check_port(c, config->adminHost, port);
	if (slice_to_i64(slice_str(config->smbPort), &port))
		check_port(c, config->smbHost, port);
}

static void check_lock(struct check *c, const char *dir)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof path, "%s/LOCK", dir);
	int fd = n > 0 && (size_t)n < sizeof path ? base_file_open_at(AT_FDCWD, path, O_RDONLY, 0) : -1;
	if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0)
		buf_printf(&c->error, "'%s' is in use by another server; stop it or choose another directory", dir);
	if (fd >= 0)
		close(fd);
	tell(c);
}

/* Accounts, limits and roles. Keys that a first start would make are not made here. */
static void check_admission(struct check *c, const char *dir)
{
	static struct account_slots slots; /* large */
	struct admission *admission;
	char path[PATH_MAX];
	int n = snprintf(path, sizeof path, "%s/accounts", dir);
	bool there = n > 0 && (size_t)n < sizeof path && access(path, F_OK) == 0;
	if (c->config->production && !c->config->accounts[0] && !there)
		return;
	accounts_slots_init(&slots);
	if (admission_load(c->config, dir, &slots, &admission, &c->error))
		admission_free(admission);
	else if (!c->error.len)
		BUF_PUT(&c->error, "out of memory");
	accounts_slots_fini(&slots);
	tell(c);
}

static void check_directory(struct check *c)
{
	struct datadir data = { 0 };
	const char *location = c->config->location;
	bool absent = c->config->inMemoryPersistence || (access(location, F_OK) != 0 && errno == ENOENT);
	if (!absent && datadir_open(&data, location, false, &c->error) &&
	    datadir_check_mode(&data, c->config->production, c->config->changeMode, &c->error))
		check_lock(c, data.path);
	tell(c);
	check_admission(c, data.path ? data.path : location);
	datadir_close(&data);
}

static void check_tls(struct check *c)
{
	struct io_tls *tls;
	struct io_tls_options options = house_tls_options(c->config);
	if (c->config->secure && io_tls_new(&options, &tls, &c->error) == ERR_OK)
		io_tls_free(tls);
	tell(c);
}

int check_main(const struct config *config)
{
	struct check c = { .config = config };
	buf_init(&c.error, 64 * KIB);
	check_directory(&c);
	check_tls(&c);
	check_ports(&c);
	buf_fini(&c.error);
	if (c.complaints == 0)
		puts("nothing to complain about");
	return c.complaints ? 1 : 0;
}

/* SPDX-License-Identifier: Apache-2.0
 * `zaffre serve`: builds the house from the cellar up (directory, accounts, engine, store, front end), waits for a
 * signal, takes it down in the opposite order. Signals are blocked in every thread and taken here, so no code runs in a
 * signal handler.
 *
 * What is printed on standard output once every port accepts is an interface: tools wait for the "listening at" lines
 * and take the connection string from the last one. */
#include "server/serve.h"
#include "jobs/background.h"
#include "server/house.h"
#include "server/kit.h"
#include "server/notify.h"
#include "server/seed.h"
#include "server/smb_settings.h"

#include "auth/bearer.h"
#include "auth/limits.h"
#include "auth/roles.h"
#include "base/limits.h"
#include "base/mutant.h"
#include "base/sys/log.h"
#include "engine/mem/mem.h"
#include "engine/rocks/rocks.h"
#include "io/loop.h"
#include "io/tls.h"
#include "rest/core/server.h"
#include "rest/services/services.h"
#include "store/mutant.h"
#include "wait/holder.h"
#include "wait/wait.h"
#include "wait/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void files_raise_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
			log_warn("cannot raise the limit of open files: %s", strerror(errno));
	}
}

static bool clock_open(struct house *h, struct buf *error)
{
	const char *path = h->config->clockShiftFile;
	if (!path[0]) {
		clock_init_wall(&h->clock, NULL);
		return true;
	}
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool ok = fd >= 0 && fstat(fd, &st) == 0;
	if (ok && st.st_size < (off_t)sizeof(int64_t)) {
		ok = false;
		errno = EINVAL;
	}
	/* Shared, so that who writes the file moves our clock. Never unmapped: the clock lives as long as the process.
	 */
	void *shift = ok ? mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
	if (shift == MAP_FAILED)
		buf_printf(error, "--clockShiftFile %s (eight bytes): %s", path, strerror(errno));
	else
		clock_init_wall(&h->clock, shift);
	if (fd >= 0)
		close(fd);
	return shift != MAP_FAILED;
}

/* A sync failed: what is on the disk is no longer known. Nothing may be answered any more, so nothing is drained
 * either. */
static void store_failed(void *arg)
{
	log_error("the disk under %s refused a sync: nothing more is acknowledged. Check the disk and the kernel log, "
		  "then start again",
		  (const char *)arg);
	_exit(EXIT_DISK);
}

/* Reads the whole file that a setting names; *out is the caller's to free. */
static bool file_read(const char *setting, const char *path, struct buf *out, struct buf *error)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : 1;
	while (n > 0) {
		char *room = buf_reserve(out, 4096);
		if (!room) {
			errno = EFBIG;
			n = -1;
			break;
		}
		n = read(fd, room, 4096);
		out->len += n > 0 ? (size_t)n : 0;
	}
	if (n < 0)
		buf_printf(error, "--%s %s: %s", setting, path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return n == 0;
}

static bool limits_open(struct house *h, struct buf *error)
{
	const char *path = h->config->accountLimits;
	struct buf text, reason;
	if (!path[0])
		return true;
	buf_init(&text, MIB);
	buf_init(&reason, 4 * KIB);
	bool read = file_read("accountLimits", path, &text, error);
	bool ok = read && limits_apply(buf_slice(&text), h->accounts.account, h->accounts.count, &h->accounts.arena,
				       &reason) == ERR_OK;
	if (read && !ok)
		buf_printf(error, "--accountLimits %s: %.*s", path, SLICE_FMT(buf_slice(&reason)));
	buf_fini(&text);
	buf_fini(&reason);
	return ok;
}

static bool roles_open(const char *path, struct auth_roles **ret, struct buf *error)
{
	struct buf text, reason;
	buf_init(&text, MIB);
	buf_init(&reason, 4 * KIB);
	bool read = file_read("oauthRoles", path, &text, error);
	bool ok = read && roles_new(buf_slice(&text), ret, &reason) == ERR_OK;
	if (read && !ok)
		buf_printf(error, "--oauthRoles %s: %.*s", path, SLICE_FMT(buf_slice(&reason)));
	buf_fini(&text);
	buf_fini(&reason);
	return ok;
}

static bool bearer_open(struct house *h, struct buf *error)
{
	const struct config *c = h->config;
	struct bearer_options options = { .mode = BEARER_BASIC };
	struct buf keys;
	if (c->oauthRoles[0] && !roles_open(c->oauthRoles, &options.roles, error))
		return false;
	buf_init(&keys, 256 * KIB);
	bool ok = true;
	if (strcmp(c->oauth, "full") == 0) {
		ok = file_read("oauthKeys", c->oauthKeys, &keys, error);
		options.mode = BEARER_FULL;
		options.issuer = slice_str(c->oauthIssuer);
		struct slice audience = slice_str(c->oauthAudience);
		options.storage_audience = slice_eq(audience, SLICE("https://storage.azure.com")) ||
					   slice_eq(audience, SLICE("https://storage.azure.com/"));
		if (audience.len && !options.storage_audience)
			options.audience = audience;
		bool pem = slice_has_prefix(buf_slice(&keys), SLICE("-----BEGIN"));
		*(pem ? &options.public_key : &options.jwks) = buf_slice(&keys);
	}
	if (ok)
		ok = bearer_config_new(&options, &h->bearer, error) == ERR_OK;
	else
		roles_free(options.roles);
	buf_fini(&keys);
	return ok;
}

/* A login over SMB is by an account key, from any address: an account that forbids either is not offered there. */
static size_t smb_accounts_pick(struct house *h)
{
	size_t count = 0;
	for (size_t i = 0; i < h->accounts.count; i++) {
		const struct auth_limits *l = h->accounts.account[i].limits;
		if (!l || (!l->no_shared_key && l->range_count == 0))
			h->smb_accounts[count++] = h->accounts.account[i];
	}
	return count;
}

static bool smb_open(struct house *h, struct buf *error)
{
	struct smb_config smb;
	bool on;
	if (!server_smb_settings(h->config, &smb, &on, error))
		return false;
	smb.store = h->store;
	smb.clock = &h->clock;
	smb.waits = h->waits;
	smb.holders = h->holders;
	smb.watches = h->watches;
	smb.accounts = h->smb_accounts;
	smb.account_count = smb_accounts_pick(h);
	return !on || smb_server_start(&smb, &h->smb, error) == ERR_OK;
}

static void listener_add(struct house *h, enum service service, const char *host, int64_t port, struct io_tls *tls)
{
	h->listeners[h->listener_count++] =
		(struct rest_listener){ .host = host, .port = (uint16_t)port, .service = service, .tls = tls };
}

/* The ports were looked at by config_check. */
static void listeners_choose(struct house *h)
{
	const struct config *c = h->config;
	int64_t port;
	for (int i = 0; i < CONFIG_SERVICES; i++)
		listener_add(h, (enum service)i, config_host(c, i), config_port(c, i), h->tls);
	if (slice_to_i64(slice_str(c->webPort), &port))
		listener_add(h, SERVICE_WEB, config_host(c, 0), port, h->tls);
	if (slice_to_i64(slice_str(c->adminPort), &port))
		listener_add(h, SERVICE_ADMIN, c->adminHost, port, NULL);
}

/* On disk the engine comes first: it holds the lock that makes the directory ours. */
static bool engine_open(struct house *h, struct engine **ret, struct buf *error)
{
	const struct config *c = h->config;
	if (c->inMemoryPersistence) {
		h->data.path = strdup("memory");
		return h->data.path && engine_mem_open(NULL, ret) == ERR_OK;
	}
	if (!datadir_open(&h->data, c->location, true, error))
		return false;
	struct rocks_options rocks = { .dir = h->data.path,
				       .create = true,
				       .locator_off = strcmp(c->rowIndex, "off") == 0 };
	return engine_rocks_open(&rocks, ret, error) == ERR_OK;
}

static bool house_build(struct house *h, struct buf *error)
{
	const struct config *c = h->config;
	struct engine *engine;
	if (!clock_open(h, error) || !engine_open(h, &engine, error))
		return false;
	struct store_options options = { .clock = &h->clock, .mutant = (unsigned)c->mutant };
	mutant_leases_endless_set(c->mutant == MUTANT_ENDLESS_LEASES);
	enum err err = store_open(engine, &options, &h->store);
	if (err != ERR_OK) {
		buf_printf(error, "cannot open the store in %s: %s", h->data.path,
			   err == ERR_NO_MEMORY
				   ? "no memory or thread; raise the limits of this process (ulimit -v, -u)"
				   : err_name(err));
		return false;
	}
	store_on_failure(h->store, store_failed, h->data.path);
	store_on_answers(h->store, io_posts_hold, io_posts_release);
	if (!accounts_load(&h->accounts, c, h->data.path, error) || !limits_open(h, error))
		return false;
	if (c->secure && io_tls_new(c->cert, c->key, &h->tls, error) != ERR_OK)
		return false;
	if (c->oauth[0] && !bearer_open(h, error))
		return false;
	for (size_t i = 0; i < h->accounts.count; i++)
		h->account_names[i] = h->accounts.account[i].name;
	background_at_start(h->store, h->account_names, h->accounts.count);
	err = background_load_opens(h->store);
	if (err != ERR_OK) {
		buf_printf(
			error,
			"cannot read the persistent handles of shares in %s (%s); run `zaffre scrub` on it, it names "
			"what is damaged",
			h->data.path, err_name(err));
		return false;
	}
	if (!seed_create(h->store, h->accounts.account[0].name, slice_str(c->create), error))
		return false;
	listeners_choose(h);
	if (!c->production && !(h->kit = kit_new(h->store, c->inMemoryPersistence))) {
		BUF_PUT(error, "no memory");
		return false;
	}
	if (wait_list_new(&h->waits) != ERR_OK || holder_list_new(&h->holders) != ERR_OK ||
	    watch_list_new(&h->watches) != ERR_OK) {
		BUF_PUT(error, "no memory");
		return false;
	}
	struct rest_config rest = {
		.store = h->store,
		.services = rest_services,
		.clock = &h->clock,
		.listeners = h->listeners,
		.listener_count = h->listener_count,
		.version = ZAFFRE_VERSION,
		.versioning = c->blobVersioning,
		.container_retention_days = (uint32_t)c->containerRetentionDays,
		.share_retention_days = (uint32_t)c->shareDeleteRetentionDays,
		.delete_pending_short = strcmp(c->deletePendingCode, "DeletePending") == 0,
		.waits = h->waits,
		.holders = h->holders,
		.accounts = h->accounts.account,
		.account_count = h->accounts.count,
		.bearer = h->bearer,
		.connections_max = (size_t)c->maxConnections,
		.connections_per_address = (size_t)c->maxConnectionsPerAddress,
		.memory_bytes = (uint64_t)c->requestMemory * MIB,
		.loops = (unsigned)c->threads,
		.access_log = c->silent ? NULL : c->accessLog,
		.debug_signatures = c->debug[0],
		.kit = kit_rest(h->kit),
	};
	if (rest_server_start(&rest, &h->server, error) != ERR_OK)
		return false;
	if (!smb_open(h, error))
		return false;
	h->background = background_start(h->store, h->account_names, h->accounts.count);
	return true;
}

static void house_take_down(struct house *h)
{
	smb_server_stop(h->smb);
	rest_server_stop(h->server);
	background_stop(h->background);
	holder_list_free(h->holders);
	watch_list_free(h->watches);
	wait_list_free(h->waits);
	kit_free(h->kit);
	store_close(h->store);
	io_tls_free(h->tls);
	bearer_config_free(h->bearer);
	accounts_fini(&h->accounts);
	datadir_close(&h->data);
}

/* --debug FILE takes effect once nothing prevents the start any more, so that what does is seen on the terminal; and
 * before we say that we are ready, because the first request may follow at once and is to be found there. */
static void debug_open(const char *path)
{
	if (!path[0])
		return;
	log_set_level(LOG_DEBUG);
	if (strcmp(path, "-") == 0)
		return;
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0 || dup2(fd, STDERR_FILENO) < 0)
		log_warn("cannot write debug messages to %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
}

static void signals_block(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, set, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* A renewed certificate, without an end to anybody's connection. */
static void certificate_reload(struct house *h)
{
	struct buf reason;
	if (!h->tls)
		return;
	buf_init(&reason, 64 * KIB);
	if (io_tls_reload(h->tls, h->config->cert, h->config->key, &reason) == ERR_OK)
		log_info("the certificate was read again from %s", h->config->cert);
	else
		log_error("%.*s; the certificate that was in use stays", SLICE_FMT(buf_slice(&reason)));
	buf_fini(&reason);
}

int serve_main(const struct config *config)
{
	struct house house = { .config = config };
	struct buf error;
	sigset_t signals;
	int status = 1;
	buf_init(&error, 64 * KIB);
	signals_block(&signals);
	files_raise_limit();
	umask(077);
	if (!house_build(&house, &error)) {
		say_error(error.len ? buf_slice(&error) : SLICE("out of memory"));
		goto out;
	}
	debug_open(config->debug);
	if (!house_write_ready_file(&house, &error)) {
		say_error(buf_slice(&error));
		goto out;
	}
	house_print_ready(&house);
	notify_manager("READY=1");
	int signal_number;
	while (sigwait(&signals, &signal_number) == 0 && signal_number == SIGHUP)
		certificate_reload(&house);
	notify_manager("STOPPING=1");
	/* A second signal ends a drain that takes too long for somebody's patience. */
	signal(SIGINT, SIG_DFL);
	sigdelset(&signals, SIGTERM);
	pthread_sigmask(SIG_SETMASK, &signals, NULL);
	sigset_t only_int;
	sigemptyset(&only_int);
	sigaddset(&only_int, SIGINT);
	pthread_sigmask(SIG_UNBLOCK, &only_int, NULL);
	status = 0;
out:
	house_take_down(&house);
	buf_fini(&error);
	return status;
}

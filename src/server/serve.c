/* SPDX-License-Identifier: Apache-2.0
 * `zaffre serve`: builds the house from the cellar up (directory, accounts, engine, store, front end), waits for a
 * signal, takes it down in the opposite order. Signals are blocked in every thread and taken here, so no code runs in a
 * signal handler.
 *
 * What is printed on standard output once every port accepts is an interface: tools wait for the "listening at" lines
 * and take the connection string from the last one. */
#include "server/serve.h"
#include "jobs/background.h"
#include "server/accounts.h"
#include "server/datadir.h"
#include "server/notify.h"
#include "server/seed.h"
#include "server/smb_settings.h"

#include "auth/bearer.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mutant.h"
#include "engine/rocks/rocks.h"
#include "io/loop.h"
#include "io/tls.h"
#include "rest/core/server.h"
#include "rest/services/services.h"
#include "store/mutant.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

struct house {
	const struct config *config;
	struct datadir data;
	struct accounts accounts;
	struct slice account_names[ACCOUNTS_MAX];
	struct clock clock;
	struct io_tls *tls;
	struct auth_bearer_config *bearer;
	struct store *store;
	struct background *background;
	struct rest_listener listeners[CONFIG_SERVICES + 1]; /* and the website */
	struct rest_server *server;
	struct smb_server *smb; /* NULL: not served */
};

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

/* Reads the whole key file; *out is the caller's to free. */
static bool keys_read(const char *path, struct buf *out, struct buf *error)
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
		buf_printf(error, "--oauthKeys %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return n == 0;
}

static bool bearer_open(struct house *h, struct buf *error)
{
	const struct config *c = h->config;
	struct bearer_options options = { .mode = BEARER_BASIC };
	struct buf keys;
	buf_init(&keys, 256 * KIB);
	bool ok = true;
	if (strcmp(c->oauth, "full") == 0) {
		ok = keys_read(c->oauthKeys, &keys, error);
		options.mode = BEARER_FULL;
		options.issuer = slice_str(c->oauthIssuer);
		if (c->oauthAudience[0])
			options.audience = slice_str(c->oauthAudience);
		bool pem = slice_has_prefix(buf_slice(&keys), SLICE("-----BEGIN"));
		*(pem ? &options.public_key : &options.jwks) = buf_slice(&keys);
	}
	ok = ok && bearer_config_new(&options, &h->bearer, error) == ERR_OK;
	buf_fini(&keys);
	return ok;
}

static bool smb_open(struct house *h, struct buf *error)
{
	struct smb_config smb;
	bool on;
	if (!smb_settings(h->config, &smb, &on, error))
		return false;
	smb.store = h->store;
	smb.clock = &h->clock;
	smb.accounts = h->accounts.account;
	smb.account_count = h->accounts.count;
	return !on || smb_server_start(&smb, &h->smb, error) == ERR_OK;
}

static bool house_build(struct house *h, struct buf *error)
{
	const struct config *c = h->config;
	if (!(c->inMemoryPersistence ? datadir_open_temporary(&h->data, error)
				     : datadir_open(&h->data, c->location, true, error)))
		return false;
	struct rocks_options rocks = { .dir = h->data.path, .create = true };
	struct engine *engine;
	/* The engine first: it holds the lock that makes the directory ours. */
	if (!clock_open(h, error) || engine_rocks_open(&rocks, &engine, error) != ERR_OK)
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
	if (!accounts_load(&h->accounts, c, h->data.path, error))
		return false;
	if (c->secure && io_tls_new(c->cert, c->key, &h->tls, error) != ERR_OK)
		return false;
	if (c->oauth[0] && !bearer_open(h, error))
		return false;
	for (size_t i = 0; i < h->accounts.count; i++)
		h->account_names[i] = h->accounts.account[i].name;
	background_at_start(h->store, h->account_names, h->accounts.count);
	if (!seed_create(h->store, h->accounts.account[0].name, slice_str(c->create), error))
		return false;
	for (int i = 0; i < CONFIG_SERVICES; i++)
		h->listeners[i] = (struct rest_listener){ .host = config_host(c, i),
							  .port = (uint16_t)config_port(c, i),
							  .service = (enum service)i,
							  .tls = h->tls };
	uint64_t web_port;
	bool web = slice_to_u64(slice_str(c->webPort), &web_port); /* config_check has looked at it */
	if (web)
		h->listeners[CONFIG_SERVICES] = (struct rest_listener){
			.host = config_host(c, 0), .port = (uint16_t)web_port, .service = SERVICE_WEB, .tls = h->tls
		};
	struct rest_config rest = {
		.store = h->store,
		.services = rest_services,
		.clock = &h->clock,
		.listeners = h->listeners,
		.listener_count = CONFIG_SERVICES + web,
		.versioning = c->blobVersioning,
		.container_retention_days = (uint32_t)c->containerRetentionDays,
		.accounts = h->accounts.account,
		.account_count = h->accounts.count,
		.bearer = h->bearer,
		.loops = (unsigned)c->threads,
		.access_log = c->silent ? NULL : c->accessLog,
		.debug_signatures = c->debug[0],
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
	store_close(h->store);
	io_tls_free(h->tls);
	bearer_config_free(h->bearer);
	accounts_fini(&h->accounts);
	datadir_close(&h->data);
}

/* The address a client on this machine uses. */
static void endpoint_put(struct buf *out, const struct house *h, int i)
{
	const char *host = config_host(h->config, i == CONFIG_SERVICES ? 0 : i); /* the website is Blob's */
	if (strcmp(host, "0.0.0.0") == 0)
		host = "127.0.0.1";
	else if (strcmp(host, "::") == 0)
		host = "::1";
	bool v6 = strchr(host, ':') != NULL;
	buf_printf(out, "%s://%s%s%s:%u", h->config->secure ? "https" : "http", v6 ? "[" : "", host, v6 ? "]" : "",
		   rest_server_port(h->server, (size_t)i));
}

static void ready_print(const struct house *h)
{
	static const char *const names[] = { "Blob", "Queue", "Table" };
	/* No allocation: whoever started us waits for these lines. */
	static char bytes[32 * KIB];
	struct buf out = { .ptr = bytes, .cap = sizeof bytes, .limit_bytes = sizeof bytes };
	buf_printf(&out, "Zaffre %s, %s mode\n", ZAFFRE_VERSION, h->config->mode);
	for (int i = 0; i < CONFIG_SERVICES; i++) {
		buf_printf(&out, "Zaffre %s service is successfully listening at ", names[i]);
		endpoint_put(&out, h, i);
		BUF_PUT(&out, "\n");
	}
	if (h->config->webPort[0]) {
		BUF_PUT(&out, "Static website at ");
		endpoint_put(&out, h, CONFIG_SERVICES);
		BUF_PUT(&out, "\n");
	}
	if (h->smb)
		buf_printf(&out, "Zaffre File service over SMB is successfully listening at %s port %u\n",
			   h->config->smbHost, smb_server_port(h->smb));
	buf_printf(&out, "Data directory: %s%s\n", h->data.path, h->data.temporary ? " (removed at exit)" : "");
	struct slice account = h->accounts.account[0].name;
	if (h->accounts.file)
		buf_printf(&out, "Keys: %s\n", h->accounts.file);
	/* Production keys do not go where logs are kept. */
	buf_printf(&out, "AZURE_STORAGE_CONNECTION_STRING='DefaultEndpointsProtocol=%s;AccountName=%.*s;AccountKey=%s;",
		   h->config->secure ? "https" : "http", SLICE_FMT(account),
		   h->config->production ? "<your key>" : h->accounts.key_text[0]);
	for (int i = 0; i < CONFIG_SERVICES; i++) {
		buf_printf(&out, "%sEndpoint=", names[i]);
		endpoint_put(&out, h, i);
		buf_printf(&out, "/%.*s;", SLICE_FMT(account));
	}
	BUF_PUT(&out, "'\n");
	/* Whoever started us may have closed the pipe; that is no reason not to serve. */
	if (fwrite(out.ptr, 1, out.len, stdout) != out.len || fflush(stdout) != 0)
		log_warn("cannot print the endpoints: %s", strerror(errno));
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
	ready_print(&house);
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

/* SPDX-License-Identifier: Apache-2.0
 * `zaffre serve`: opens everything bottom up (directory, accounts, engine, store, front end), waits for a
 * signal, takes it down in the opposite order. Signals are blocked in every thread and taken here, so no code runs in a
 * signal handler.
 *
 * What is printed on standard output once every port accepts is an interface: tools wait for the "listening at" lines
 * and take the connection string from the last one. */
#include "server/serve.h"
#include "jobs/background.h"
#include "server/access/any.h"
#include "server/access/audit.h"
#include "server/access/holdings.h"
#include "server/access/reload.h"
#include "server/access/usage.h"
#include "server/admin/admin.h"
#include "server/check.h"
#include "server/checkpoint/checkpoint.h"
#include "server/checkpoint/job.h"
#include "server/guard/confine.h"
#include "server/guard/watchdog.h"
#include "server/house.h"
#include "server/notify.h"
#include "server/scrub/scrub_job.h"
#include "server/seed.h"
#include "server/smb_settings.h"
#include "server/states.h"

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

#include <assert.h>
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
	smb.accounts = &h->slots.smb;
	smb.failures = &h->failures;
	smb.audit = h->audit;
	if (!admission_give_smb(h->admission, &h->slots))
		return false;
	if (!on)
		return true;
	if (smb_server_start(&smb, &h->smb, error) == ERR_OK) {
		atomic_store(&h->smb_port, smb_server_port(h->smb));
		return true;
	}
	if (h->config->smbPort[0])
		return false;
	/* Nobody asked for that port: another server has it, or this user may not have it. */
	log_warn("%.*s: SMB is not served; choose a port with --smbPort, or off", SLICE_FMT(buf_slice(error)));
	error->len = 0;
	return true;
}

enum { ADMIN_PORT_DEVELOPMENT = 10004 };

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
		if (config_serves(c, i))
			listener_add(h, (enum service)i, config_host(c, i), config_port(c, i), h->tls);
	if (slice_to_i64(slice_str(c->webPort), &port))
		listener_add(h, SERVICE_WEB, config_host(c, 0), port, h->tls);
	if (slice_to_i64(slice_str(c->adminPort), &port))
		listener_add(h, SERVICE_ADMIN, c->adminHost, port, NULL);
	else if (!c->adminPort[0] && !c->production && c->persona == PERSONA_ZAFFRE) {
		/* Nobody asked for it: somebody else's port is no reason not to serve. */
		listener_add(h, SERVICE_ADMIN, c->adminHost, ADMIN_PORT_DEVELOPMENT, NULL);
		h->listeners[h->listener_count - 1].optional = true;
	}
	/* What is in memory alone has no directory for one. */
	if ((!c->inMemoryPersistence || c->adminSocket[0]) &&
	    admin_socket_path(c, h->data.path, h->admin_socket, sizeof h->admin_socket)) {
		listener_add(h, SERVICE_ADMIN, NULL, 0, NULL);
		h->listeners[h->listener_count - 1].path = h->admin_socket;
	}
}

static struct rest_admin_config admin_settings(const struct house *h)
{
	return (struct rest_admin_config){
		.development = !h->config->production,
		.read_only = h->config->adminReadOnly,
		.smb_host = h->config->smbHost,
		.smb_port = &h->smb_port,
		.token = h->config->adminToken,
		.data_dir = h->data.path,
	};
}

static bool lists_open(struct house *h, struct buf *error)
{
	if (!h->config->production)
		h->states = states_new(h->store, h->config->inMemoryPersistence);
	if ((!h->states && !h->config->production) || wait_list_new(&h->waits) != ERR_OK ||
	    holder_list_new(&h->holders) != ERR_OK || watch_list_new(&h->watches) != ERR_OK) {
		BUF_PUT(error, "no memory");
		return false;
	}
	return true;
}

/* Commits may be synced later than they are answered. */
static bool syncs_later(const struct config *c)
{
	return strcmp(c->smbWriteBack, "on") == 0;
}

/* On disk the engine comes first: it holds the lock that makes the directory ours. */
static bool engine_open(struct house *h, struct engine **ret, struct buf *error)
{
	const struct config *c = h->config;
	if (c->inMemoryPersistence) {
		confine_files(c, NULL);
		h->data.path = strdup("memory");
		return h->data.path && engine_mem_open(NULL, ret) == ERR_OK;
	}
	if (!datadir_open(&h->data, c->location, true, error))
		return false;
	if (!datadir_check_mode(&h->data, c->production, c->changeMode, error))
		return false;
	confine_files(c, h->data.path); /* here, because every thread comes after it */
	struct rocks_options rocks = { .dir = h->data.path,
				       .create = true,
				       .locator_off = strcmp(c->rowIndex, "off") == 0,
				       .sync_later = syncs_later(c) };
	return engine_rocks_open(&rocks, ret, error) == ERR_OK && datadir_keep_mode(&h->data, c->production, error);
}

struct io_tls_options house_tls_options(const struct config *c)
{
	return (struct io_tls_options){ .cert_file = c->cert,
					.key_file = c->key,
					.more = c->moreCerts,
					.ciphers = c->tlsCiphers,
					.only_13 = strcmp(c->tlsMinVersion, "1.3") == 0,
					.client_ca = c->clientCa };
}

static bool trusted_parse(struct house *h, struct buf *error)
{
	struct slice list = slice_str(h->config->trustedProxies);
	while (list.len && slice_is_set(list)) {
		struct slice one = slice_trim(slice_cut(&list, ','));
		if (h->trusted_count == REST_TRUSTED_MAX ||
		    !auth_address_range_parse(one, &h->trusted[h->trusted_count++])) {
			buf_printf(error,
				   "--trustedProxies: addresses are like 10.0.0.5, 10.0.0.5-10.0.0.9 or 10.0.0.0/8, "
				   "joined by "
				   "',', at most %d, not \"%.*s\"",
				   REST_TRUSTED_MAX, SLICE_FMT(one));
			return false;
		}
	}
	return true;
}

enum err house_tend(struct house *h, const struct slice *names, size_t count)
{
	struct slice *all = malloc((ACCOUNTS_MAX + ANY_ACCOUNTS_MAX) * sizeof *all);
	if (!all)
		return ERR_NO_MEMORY;
	assert(count <= ACCOUNTS_MAX);
	pthread_mutex_lock(&h->tended_lock);
	if (!names) {
		names = h->tended_names;
		count = h->tended_count;
	}
	if (count)
		memcpy(all, names, count * sizeof *all);
	size_t any = any_names(h->slots.any, all + count, ANY_ACCOUNTS_MAX);
	enum err e = background_set_accounts(h->background, all, count + any);
	if (e == ERR_OK) {
		memcpy(h->tended_names, all, count * sizeof *all);
		h->tended_count = count;
	}
	pthread_mutex_unlock(&h->tended_lock);
	free(all);
	return e;
}

/* An account of --anyAccount is new: its data is tended beside that of the others. */
static void any_made(void *arg)
{
	if (house_tend(arg, NULL, 0) != ERR_OK)
		log_warn("no memory: space of new accounts is not reclaimed until the next one comes");
}

/* In development mode the key is public, and suites of refusals are to be quick. */
static uint32_t login_delay_ms(const struct config *c)
{
	uint64_t ms = c->production ? FAILURES_DELAY_MS : 0;
	(void)(c->loginDelay[0] && slice_to_u64(slice_str(c->loginDelay), &ms)); /* looked at by config_check */
	return (uint32_t)ms;
}

/* Who may come in, and how. */
static bool entrance_open(struct house *h, struct buf *error)
{
	const struct config *c = h->config;
	struct io_tls_options tls = house_tls_options(c);
	if (c->anyAccount && !(h->slots.any = any_new(any_made, h)))
		return false;
	if (!admission_load(c, h->data.path, &h->slots, &h->admission, error) || !trusted_parse(h, error))
		return false;
	return !c->secure || io_tls_new(&tls, &h->tls, error) == ERR_OK;
}

/* What is done beside requests; what a killed server left of it goes. */
static bool jobs_open(struct house *h)
{
	checkpoint_clean(h->data.path);
	h->scrub = scrub_job_new(h->store, h->config->inMemoryPersistence ? NULL : h->data.path);
	h->checkpoint = checkpoint_job_new(h);
	return h->scrub && h->checkpoint;
}

static void house_jobs(void *arg, struct rest_jobs *ret)
{
	const struct house *h = arg;
	scrub_job_count(h->scrub, ret);
}

static bool house_holding(void *arg, unsigned slot, struct rest_holding *ret)
{
	const struct house *h = arg;
	return holdings_get(h->holdings, slot, ret);
}

static bool holdings_open(struct house *h, struct buf *error)
{
	h->holdings = holdings_start(h);
	if (!h->holdings)
		BUF_PUT(error, "no memory or thread to count with; raise the limits of this process (ulimit -v, -u)");
	return h->holdings;
}

static bool opens_load(struct house *h, const struct slice *names, size_t count, struct buf *error)
{
	enum err err = background_load_opens(h->store, names, count);
	if (err != ERR_OK)
		buf_printf(
			error,
			"cannot read the persistent handles of shares in %s (%s); run `zaffre scrub` on it, it names "
			"what is damaged",
			h->data.path, err_name(err));
	return err == ERR_OK;
}

static struct store_options store_options_of(struct house *h)
{
	return (struct store_options){ .clock = &h->clock,
				       .mutant = (unsigned)h->config->mutant,
				       .sync_later = syncs_later(h->config) };
}

static bool house_build(struct house *h, struct buf *error)
{
	const struct config *c = h->config;
	struct engine *engine;
	if (!clock_open(h, error) || !engine_open(h, &engine, error))
		return false;
	const struct store_options options = store_options_of(h);
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
	if (!jobs_open(h) || !entrance_open(h, error))
		return false;
	const struct accounts *accounts = &h->admission->accounts;
	struct slice *names = h->tended_names;
	assert(accounts->count > 0); /* admission_load refuses none */
	for (size_t i = 0; i < accounts->count; i++)
		names[i] = accounts->account[i].name;
	h->tended_count = accounts->count;
	background_at_start(h->store, names, accounts->count);
	if (!opens_load(h, names, accounts->count, error) ||
	    !seed_create(h->store, names[0], slice_str(c->create), error))
		return false;
	if (!usage_prepare(h->store, h->admission->rest.accounts, h->admission->rest.account_count, error))
		return false;
	listeners_choose(h);
	if (!lists_open(h, error) || !house_audit_open(h, error))
		return false;
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
		.watches = h->watches,
		.accounts = h->admission->rest.accounts,
		.account_count = h->admission->rest.account_count,
		.bearer = h->admission->bearer,
		.connections_max = (size_t)c->maxConnections,
		.connections_per_address = (size_t)c->maxConnectionsPerAddress,
		.memory_bytes = (uint64_t)c->requestMemory * MIB,
		.loops = (unsigned)c->threads,
		.access_log = c->silent ? NULL : c->accessLog,
		.debug_signatures = c->debug[0],
		.path_style_only = c->disableProductStyleUrl,
		.kit = states_rest(h->states),
		.any = &h->admission->rest,
		.admin = admin_settings(h),
		.trusted = h->trusted,
		.trusted_count = h->trusted_count,
		.proxy_protocol = c->proxyProtocol,
		.command = admin_command,
		.command_arg = h,
		.jobs = house_jobs,
		.holding = house_holding,
		.audit = h->audit,
		.audit_reads = c->auditReads,
		.failures = &h->failures,
	};
	/* Requests come as soon as a loop runs: one that makes an account tells the background, and one that changes
	 * accounts waits until both servers are there. */
	h->background = background_start(h->store, names, accounts->count);
	if (!holdings_open(h, error))
		return false;
	pthread_mutex_lock(&h->reload_lock);
	bool ok = rest_server_start(&rest, &h->server, error) == ERR_OK && smb_open(h, error);
	pthread_mutex_unlock(&h->reload_lock);
	return ok;
}

static void beat(void *arg)
{
	(void)arg;
	notify_manager("WATCHDOG=1");
}

/* The service manager may want to hear that we still move. */
static void watchdog_begin(struct house *h)
{
	struct io_loop *loops[2 * LIMIT_LOOPS];
	uint64_t period_ms = watchdog_period_ms(getenv("WATCHDOG_USEC"), getenv("WATCHDOG_PID"));
	if (!period_ms)
		return;
	size_t count = rest_server_loops(h->server, loops, LIMIT_LOOPS);
	if (h->smb)
		count += smb_server_loops(h->smb, loops + count, LIMIT_LOOPS);
	struct watchdog_options options = {
		.loops = loops, .loop_count = count, .store = h->store, .period_ms = period_ms, .beat = beat
	};
	h->watchdog = watchdog_start(&options);
	if (!h->watchdog)
		log_warn("no memory or thread for the watchdog: the service manager will hear nothing");
}

static void house_take_down(struct house *h)
{
	reload_end(h);
	checkpoint_job_end(h->checkpoint);
	checkpoint_end(h);
	scrub_job_end(h->scrub);
	holdings_end(h->holdings);
	watchdog_stop(h->watchdog);
	smb_server_stop(h->smb);
	if (h->admin_socket[0] && h->server)
		unlink(h->admin_socket);
	rest_server_stop(h->server);
	house_audit_close(h);
	background_stop(h->background);
	holder_list_free(h->holders);
	watch_list_free(h->watches);
	wait_list_free(h->waits);
	states_free(h->states);
	scrub_job_free(h->scrub);
	holdings_free(h->holdings);
	checkpoint_job_free(h->checkpoint);
	store_close(h->store);
	io_tls_free(h->tls);
	admission_free(h->admission);
	any_free(h->slots.any);
	accounts_slots_fini(&h->slots);
	datadir_close(&h->data);
}

/* --debug FILE takes effect once nothing prevents the start any more, so that what does is seen on the terminal; and
 * before we say that we are ready, because the first request may follow at once and is to be found there. */
void house_open_debug_log(const char *path)
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

int serve_main(const struct config *config)
{
	if (config->check)
		return check_main(config);
	static struct house house; /* large */
	house.config = config;
	failures_init(&house.failures, login_delay_ms(config));
	accounts_slots_init(&house.slots);
	pthread_mutex_init(&house.reload_lock, NULL);
	pthread_mutex_init(&house.account_lock, NULL);
	pthread_mutex_init(&house.checkpoint_lock, NULL);
	pthread_mutex_init(&house.tended_lock, NULL);
	struct buf error;
	sigset_t signals;
	int status = 1;
	buf_init(&error, 64 * KIB);
	signals_block(&signals);
	files_raise_limit();
	umask(077);
	confine_memory(config);
	if (!house_build(&house, &error)) {
		say_error(error.len ? buf_slice(&error) : SLICE("out of memory"));
		goto out;
	}
	house_open_debug_log(config->debug);
	if (!house_write_ready_file(&house, &error)) {
		say_error(buf_slice(&error));
		goto out;
	}
	watchdog_begin(&house);
	confine_calls(config);
	house_print_ready(&house);
	notify_manager("READY=1");
	int signal_number;
	while (sigwait(&signals, &signal_number) == 0 && signal_number == SIGHUP)
		reload_everything(&house);
	notify_manager("STOPPING=1");
	house_print_ending(&house, false);
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
	if (status == 0)
		house_print_ending(&house, true);
	buf_fini(&error);
	return status;
}

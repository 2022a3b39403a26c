/* SPDX-License-Identifier: Apache-2.0
 * Everything a running server is made of, in the order in which it is built (serve.c), and how it says that it is ready
 * (ready.c). */
#ifndef SERVER_HOUSE_H
#define SERVER_HOUSE_H

#include <limits.h>

#include "auth/address.h"
#include "auth/guard/failures.h"
#include "base/sys/clock.h"
#include "io/tls.h"
#include "rest/core/server.h"
#include "server/access/admission.h"
#include "server/config.h"
#include "server/datadir.h"

struct background;
struct holder_list;
struct states;
struct wait_list;
struct watch_list;
struct smb_server;
struct holdings;
struct moment_holder;
struct checkpoint_job;
struct scrub_job;
struct watchdog;

struct house {
	const struct config *config;
	struct datadir data;
	struct account_slots slots;
	struct admission *admission;	 /* of the start; later ones belong to the REST front end */
	pthread_mutex_t checkpoint_lock; /* guards the next two */
	struct moment_holder *moment;	 /* a checkpoint is being copied; NULL: none */
	bool no_moments;		 /* none any more: the server ends */
	pthread_mutex_t account_lock;	 /* one change of the accounts file at a time; taken before reload_lock */
	pthread_mutex_t reload_lock;	 /* one reload at a time */
	bool ending;			 /* under it: none any more */
	struct clock clock;
	struct io_tls *tls;
	struct address_range trusted[REST_TRUSTED_MAX]; /* --trustedProxies */
	size_t trusted_count;
	struct store *store;
	struct background *background;
	pthread_mutex_t tended_lock; /* guards the next two, and that the background hears of them in order */
	struct slice tended_names[ACCOUNTS_MAX]; /* accounts whose data it tends, beside those of --anyAccount */
	size_t tended_count;
	struct states *states;				     /* NULL in production mode */
	struct rest_listener listeners[CONFIG_SERVICES + 3]; /* website, admin listener, admin socket */
	char admin_socket[PATH_MAX];			     /* empty: none */
	size_t listener_count;
	struct wait_list *waits; /* requests of both doors of File that wait for SMB clients */
	struct holder_list *holders;
	struct watch_list *watches; /* directories that SMB clients watch */
	struct rest_server *server;
	struct smb_server *smb;	   /* NULL: not served */
	atomic_uint smb_port;	   /* for the explorer; 0: not served, or not yet */
	struct watchdog *watchdog; /* NULL: nobody asks for it */
	struct scrub_job *scrub;
	struct checkpoint_job *checkpoint;
	struct holdings *holdings; /* NULL: not yet */
	struct audit_log *audit;   /* NULL: none */
	struct failures failures;  /* logins that failed, of both front ends */
};

/* The background tends the data of these accounts from now on (NULL: of those it was told of before), and of all of
 * --anyAccount. Any thread; the names outlive the house. */
enum err house_tend(struct house *, const struct slice *names, size_t count) MUST_CHECK;

/* Endpoints, data directory and connection string on standard output: whoever started us waits for them. */
void house_print_ready(const struct house *);
/* Azurite's words before and after the end, in its place. */
void house_print_ending(const struct house *, bool ended);
/* The same as JSON in --readyFile, if there is one. */
bool house_write_ready_file(const struct house *, struct buf *error);

/* The address of listener i, as a client on this machine writes it. */
void house_put_endpoint(struct buf *, const struct house *, size_t i);
/* What the settings say about TLS. */
struct io_tls_options house_tls_options(const struct config *);
/* --debug FILE: messages go there from now on; again after it was moved away. */
void house_open_debug_log(const char *path);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * The REST front end as a whole: its configuration, and the server that runs on it.
 *
 * Whoever starts it (src/server) owns what the configuration points at and keeps it until rest_server_stop returned.
 * Loops and workers are threads of the server; handlers reach the shared parts through req->server.
 * Everything in struct rest_server is set before the first connection and not changed afterwards. */
#ifndef REST_SERVER_H
#define REST_SERVER_H

#include <stdatomic.h>

#include "auth/auth.h"
#include "base/buf.h"
#include "base/sys/clock.h"
#include "io/addresses.h"
#include "io/pool.h"
#include "rest/core/live/live.h"
#include "rest/core/live/samples.h"
#include "rest/core/request.h"
#include "store/store.h"

struct io_tls; /* io/tls.h: io_tls_new(certificate file, key file) */
struct wait_list;
struct holder_list;
struct hasher;	     /* rest/core/hasher.h */
struct rest_service; /* rest/core/service.h */
struct lease_notes;  /* rest/core/lease_notes.h */
struct inject;	     /* rest/core/kit/inject.h */
struct rest_loop;
struct rest_access;
struct address_range; /* auth/address.h */
struct rest_listener_state;
struct audit_log;
struct failures;

struct rest_listener {
	const char *path; /* of a unix socket; NULL: host and port */
	const char *host; /* numeric address or name; NULL = 127.0.0.1 */
	uint16_t port;	  /* 0 = the system picks one: rest_server_port tells which */
	enum service service;
	struct io_tls *tls; /* NULL = plain HTTP */
	bool optional;	    /* a port that is taken is no reason not to start: rest_server_port is 0 then */
};

/* What the admin listener is told of the server that it belongs to (rest/admin). */
struct rest_admin_config {
	bool development;  /* who comes from this machine needs no login, and keys may be shown */
	bool read_only;	   /* nothing is changed through the page */
	const char *token; /* whoever has it may see every account; "" = nobody */
	const char *data_dir;
	const char *smb_host;	     /* where File is served over SMB; NULL: nowhere */
	const atomic_uint *smb_port; /* 0: not, or not yet */
};

/* 0 = the value of base/limits.h. Tests shorten them; nothing else should. */
struct rest_timeouts {
	uint64_t head_ms;	/* a request's head must be complete */
	uint64_t body_idle_ms;	/* also the window of the least body rate */
	uint64_t idle_ms;	/* keep-alive without a request */
	uint64_t write_idle_ms; /* a peer that does not read */
	uint64_t drain_ms;	/* rest_server_stop: in-flight requests may end within this */
};

/* Development mode: what tests may ask for over the admin listener. Named states are kept by whoever knows the engine;
 * all three block. NULL: this engine cannot. */
struct rest_kit {
	void *arg;
	/* ERR_LIMIT: too many of them. */
	enum err (*save)(void *arg, struct slice name);
	enum err (*restore)(void *arg, struct slice name); /* ERR_NOT_FOUND: none of that name */
	void (*put_names)(void *arg, struct buf *out);	   /* as a JSON array */
};

struct rest_access;

/* For /metrics: scrubs of the running server. */
struct rest_jobs {
	uint64_t scrub_running;		  /* 0 or 1 */
	uint64_t scrubs_done;		  /* that looked at everything */
	uint64_t scrub_rows, scrub_bytes; /* all in all */
	uint64_t scrub_damaged;		  /* found by all of them */
	uint64_t scrub_end_s;		  /* when the last one was done, seconds since 1970; 0: none was */
};

/* What an account holds, by service, as it was counted at that time. */
struct rest_holding {
	uint64_t counted_ticks;
	struct rest_holding_part {
		uint64_t containers, objects, bytes; /* containers: queues, tables, shares as well */
	} part[SERVICE_COUNT];
};

struct rest_config {
	struct store *store;
	const char *version;			    /* of the program, for those who ask; may be NULL */
	struct clock *clock;			    /* NULL = the store's */
	const struct rest_service *const *services; /* by enum service (rest/services/services.h) */
	const struct rest_listener *listeners;
	size_t listener_count;
	struct auth_account *accounts; /* prepared by rest_server_start, released by rest_server_stop */
	size_t account_count;
	const struct auth_bearer_config *bearer; /* NULL = bearer tokens refused */
	const struct rest_access *any;		 /* its any_ fields hold for these accounts too; NULL: none */
	uint64_t memory_bytes;			 /* of requests and answers at once; 0 = a quarter of the machine */
	size_t connections_max;			 /* at once; 0 = LIMIT_CONNECTIONS */
	size_t connections_per_address;		 /* 0 = half of them */
	unsigned loops;				 /* 0 = one per core */
	unsigned workers;			 /* 0 = as many as cores, at least 2 */
	const char *access_log;			 /* NULL = none, "-" = stdout, else a file that is appended to */
	bool versioning;			 /* blob versioning, for every account */
	uint32_t container_retention_days;	 /* deleted containers can be restored for so long; 0 = not at all */
	uint32_t share_retention_days;		 /* the same for shares */
	bool delete_pending_short; /* a file that SMB is about to delete answers DeletePending, not SMBDeletePending */
	struct wait_list *waits;   /* requests of both doors that wait for SMB clients (src/wait) */
	struct holder_list *holders; /* connections of SMB clients, to tell them what to give up */
	struct watch_list *watches;  /* directories that SMB clients watch */
	const struct rest_kit *kit;  /* the test kit; NULL: there is none */
	bool path_style_only;	     /* the name of the host never names an account */
	bool debug_signatures;	     /* log strings to sign of refused requests (never keys or signatures) */
	struct rest_admin_config admin;
	const struct address_range *trusted; /* proxies whose word about a client's address is taken */
	size_t trusted_count;
	bool proxy_protocol; /* they give it as a PROXY header, else in X-Forwarded-For and -Proto */
	/* What the operator asks through the unix socket of the admin service: writes the answer, returns its status.
	 * On a worker; may block. NULL: nothing can be asked. */
	int (*command)(void *arg, struct slice path, const struct query *, struct buf *out);
	void *command_arg;
	/* Counters of what the server does beside requests, with command_arg; NULL: none. Any thread. */
	void (*jobs)(void *arg, struct rest_jobs *ret);
	/* What the account of this slot holds, with command_arg; false: it was not counted yet. NULL: nobody counts. */
	bool (*holding)(void *arg, unsigned slot, struct rest_holding *ret);
	struct audit_log *audit;   /* io/audit.h; NULL: none */
	bool audit_reads;	   /* also what was read */
	struct failures *failures; /* auth/guard: logins that failed, of both front ends; NULL: nobody counts */
	struct rest_timeouts timeouts;
};

/* Who may come in: accounts with keys and limits, and the rules of bearer tokens. Read-only once the server has it. A
 * request keeps the one it began with; names of accounts and what their slots mean outlive all of them. */
struct rest_access {
	/* Development mode: accounts that are there as soon as they are asked for, until the end; NULL: none are. */
	const struct auth_account *(*any_find)(void *arg, struct slice name);
	const struct auth_account *(*any_make)(void *arg, struct slice name); /* NULL: no good name, or too many */
	size_t (*any_count)(void *arg);
	const struct auth_account *(*any_at)(void *arg, size_t i);
	void *any_arg;
	struct auth_account *accounts; /* at least one; prepared and released by the server */
	size_t account_count;
	const struct auth_bearer_config *bearer; /* NULL = bearer tokens refused */
	void (*release)(struct rest_access *);	 /* after its last request, on any thread; NULL: nothing to do */
	atomic_size_t users;			 /* rest/core/access_set.c */
};

enum { REST_TRUSTED_MAX = 64 };
enum { REST_CORS_ACCOUNTS = 64, REST_UPLOAD_ACCOUNTS = 1024 };

/* rest/core/memory.c: bytes held by requests and answers. Loops count for themselves and tell now and then. */
struct memory_budget {
	int64_t limit_bytes;
	atomic_int_least64_t held_bytes;
	atomic_int_least64_t peak_bytes; /* since freed memory last went back to the system */
	atomic_bool trimming;
	struct io_work trim;
};

enum { REST_SERVER_MAGIC = 0x72657374 };

struct rest_server {
	uint32_t magic;
	struct rest_config config;
	struct store *store;
	struct clock *clock;
	uint64_t start_ticks;		 /* when it started, by its clock */
	struct rest_access first_access; /* of the configuration */
	struct io_pool *workers;
	struct hasher *hasher;
	struct lease_notes *lease_notes;
	bool log_for_people;		    /* the access log is a terminal: columns and colours instead of JSON */
	struct inject *inject;		    /* NULL: no test kit */
	void *service_state[SERVICE_COUNT]; /* what struct rest_service.start made */
	/* private to rest/core/server.c and rest/core/conn.c */
	struct rest_loop **loops;
	size_t loop_count;
	struct rest_listener_state *listeners;
	size_t listener_count;
	struct log_writer *access_log;		   /* NULL: none */
	atomic_uint uploads[REST_UPLOAD_ACCOUNTS]; /* streamed bodies under way, by account_index */
	struct memory_budget memory;
	struct io_addresses addresses;
	struct live live;	/* the newest requests, while somebody looks */
	struct samples samples; /* samples of the last quarter of an hour */
	atomic_bool ending;
	atomic_uint_least64_t
		cors_state[REST_CORS_ACCOUNTS *
			   SERVICE_COUNT]; /* rest/common/cors.c: what is remembered per account and service */
};

/* Listens and serves; returns when every port accepts. On failure *ret_message says what to do (port busy, bad
 * address). */
enum err rest_server_start(const struct rest_config *, struct rest_server **ret, struct buf *ret_message) MUST_CHECK;
/* Stops accepting, lets requests end within drain_ms, then closes what is left; returns when all threads ended. The
 * store must still be open. Accepts NULL. */
void rest_server_stop(struct rest_server *);
/* The port listener i (order of the configuration) really has. */
uint16_t rest_server_port(const struct rest_server *, size_t i);
/* Its event loops, for who asks them whether they still turn; returns how many. They live until rest_server_stop. */
size_t rest_server_loops(const struct rest_server *, struct io_loop **ret, size_t most);
/* rest_server_stop was called: what is under way may end, nothing new is taken. Any thread. */
bool rest_server_is_ending(const struct rest_server *);
/* The account of that name ("-secondary" is not looked at here); NULL if there is none. */
const struct auth_account *rest_access_account(const struct rest_access *, struct slice name);
/* All of its accounts, those that were asked for included: accounts 0 to rest_access_count - 1. */
size_t rest_access_count(const struct rest_access *);
const struct auth_account *rest_access_at(const struct rest_access *, size_t i);
/* Requests that begin after this returned are judged by `access`, which is taken over; those under way by what they
 * began with. On failure nothing changed, and `access` is released. Not beside rest_server_stop; one thread at a time.
 */
enum err rest_server_set_access(struct rest_server *, struct rest_access *access) MUST_CHECK;
/* Opens the access log again by its name, for who moved the file away. On failure the old one stays. */
enum err rest_server_reopen_log(struct rest_server *, struct buf *ret_message) MUST_CHECK;

struct rest_stats {
	uint64_t connections; /* open now */
	uint64_t requests;
	uint64_t aborted;      /* the client left before the answer was out */
	uint64_t memory_bytes; /* held by requests and answers; to within a quarter of a MiB a loop */
	uint64_t memory_limit;
	uint64_t work_waiting;			      /* for a worker */
	uint64_t start_s;			      /* when it started, seconds since 1970 */
	uint64_t resident_bytes;		      /* of the process; 0: cannot tell */
	uint64_t failed_logins, failed_logins_slowed; /* of both front ends */
	uint64_t audit_lines, audit_refused;
};
void rest_server_stats(const struct rest_server *, struct rest_stats *ret);

#endif

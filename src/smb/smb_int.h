/* SPDX-License-Identifier: Apache-2.0
 * The inside of the SMB front end, for the files of this room only.
 *
 * Threads. A connection belongs to one loop, and so do its sessions, trees, opens and requests: none of them is touched
 * elsewhere. What other threads need (a session by its id) is in the server's table under its lock, and they reach the
 * rest by posting to the loop.
 *
 * Life of a request. A message of one or more parts (a compound) is a chain; its parts are handled one after another.
 * A handler looks at its part and either answers at once (smb_reply, smb_fail) or goes on later: after a commit
 * (smb_commit), or when something it waits for has happened. Meanwhile other chains of the connection go on. A chain
 * lives until its last part is answered, also when its connection ended before: then the answer is dropped, and a
 * handler that opened something closes it again (conn->closed tells). */
#ifndef SMB_SMB_INT_H
#define SMB_SMB_INT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "auth/guard/failures.h"
#include "auth/smb/login.h"
#include "base/arena.h"
#include "base/limits.h"
#include "base/sys/rng.h"
#include "base/sys/slabs.h"
#include "io/acceptor.h"
#include "io/addresses.h"
#include "io/audit.h"
#include "io/loop.h"
#include "io/pool.h"
#include "io/stream.h"
#include "smb/credits.h"
#include "smb/protect.h"
#include "smb/server.h"
#include "wire/smb2/file.h"
#include "wire/smb2/setup.h"
#include "wire/smb2/status.h"

enum {
	SMB_TRANSFER_MAX = 8 * 1024 * 1024, /* of one READ, WRITE or other payload; as much as other servers offer */
	SMB_MESSAGE_MAX = SMB_TRANSFER_MAX + 64 * 1024, /* and the heads around it */
	SMB_ANSWER_MAX = 2 * SMB_MESSAGE_MAX,		/* all answers of one chain */
	SMB_READ_BYTES = 64 * 1024,			/* of a socket at once, for messages that are small */
	SMB_CHAINS_MAX = 1024,				/* messages of a connection under way; then it is not read on */
	SMB_WAITING_MAX = 512,				/* requests of a connection that wait for others */
	SMB_SESSIONS_MAX = 64,				/* of a connection */
	SMB_TREES_MAX = 1024,				/* of a session */
	SMB_OPENS_MAX = 65536,				/* of a session */
	SMB_OUT_BYTES_MAX = 32 * 1024 * 1024,	    /* answers that the client does not take; then it is not read on */
	SMB_UNDER_WAY_BYTES_MAX = 32 * 1024 * 1024, /* messages and answers in the making; then it is not read on */
	SMB_TELL_BYTES = 64 * 1024,		    /* smaller changes the budget of all connections need not know */
	SMB_SETUP_MESSAGE_MAX = 128 * 1024,	    /* before a login: the longest token is 64 KiB */
	SMB_NEGOTIATE_MS = 15000,		    /* from connecting to the first message */
	SMB_SETUP_MS = 45000,			    /* and to the end of the first login */
	SMB_MESSAGE_MS = 30000,			    /* from a message's first byte to its last */
	SMB_WRITE_IDLE_MS = 30000,		    /* a peer that does not read */
	SMB_LOGIN_FAILURES_MAX = 10,		    /* of a connection; then it is closed */
	SMB_ARENA_BYTES = 8 * 1024 * 1024,	    /* of one request */
	SMB_OUT_HEAD_BYTES = SMB2_TCP_PREFIX_BYTES + SMB2_TRANSFORM_BYTES, /* room before a message's first part */
};

#define SMB_FILETIME_OF_TICKS(ticks) ((ticks)-UINT64_C(504911232000000000)) /* from the year 1 to 1601 */
#define SMB_TICKS_OF_FILETIME(time)  ((time) + UINT64_C(504911232000000000))

struct smb_conn;
struct smb_chain;
struct smb_request;
struct smb_open;
struct breaking;

/* ---- what is connected ---- */

struct smb_tree {
	struct smb_tree *next;
	int refs;   /* the session's, one of each request, one of each open */
	bool ended; /* disconnected */
	uint32_t id;
	bool pipe;		/* IPC$ */
	bool continuous;	/* continuously available: opens may be persistent */
	bool read_only;		/* nothing is changed through it */
	struct slice name;	/* owned */
	struct slice partition; /* owned; of the share's generation */
	uint64_t share;		/* hash of it, for waits and watches */
	uint64_t generation;
	uint64_t created_ticks;
};

struct smb_session {
	struct smb_session *next;
	uint64_t id;
	struct smb_conn *conn;
	int refs;	     /* the connection's, and one of each request */
	bool valid;	     /* logged in */
	bool ended;	     /* logged off: requests that still hold it find it gone */
	bool encrypts;	     /* requests must be encrypted, and so are answers */
	bool signs;	     /* requests must be signed */
	struct login *login; /* under way */
	const struct auth_account *account;
	struct protect *protect; /* NULL until the first login is done */
	unsigned char hash[PROTECT_HASH_BYTES];
	struct smb_tree *trees;
	size_t tree_count;
	uint32_t next_tree_id;
	struct smb_opens *opens;
};

struct smb_out { /* a message on its way to the client */
	struct smb_out *next;
	char *memory;
	size_t at, end; /* of what is still to be sent */
};

struct smb_conn {
	struct smb_conn *next, *prev;
	struct smb_loop *sl;
	struct io_source source;
	struct io_stream stream;
	struct io_task task; /* adopting, then freeing */
	struct io_timer timer;
	char address[IO_ADDRESS_TEXT_BYTES];
	char address_and_port[IO_ADDRESS_TEXT_BYTES + 8]; /* as List Handles shows it */
	bool closed;					  /* no byte moves any more */
	bool in_read;					  /* the reader is on the stack */
	bool read_paused, readable;
	bool read_queued; /* reading goes on when others had their turn: read_task */
	bool reap_queued;
	unsigned address_slot; /* where it is counted (io/addresses.h) */
	struct io_task read_task;
	uint64_t message_ms, write_ms; /* deadlines; 0 = none */
	uint64_t setup_ms, connected_ms;
	unsigned login_failures;
	/* input */
	unsigned char prefix[SMB2_TCP_PREFIX_BYTES];
	size_t prefix_len;
	char *message; /* of the loop's slabs */
	size_t message_len, message_have;
	bool large_last, sealed_last; /* the last message was: the next one probably is */
	/* output */
	struct smb_out *out_first, **out_last;
	size_t out_bytes;
	/* negotiated */
	bool negotiated, smb1_seen;
	uint16_t dialect;
	uint16_t client_mode;
	uint32_t client_capabilities, capabilities;
	uint16_t server_mode;
	unsigned char client_guid[SMB2_GUID_BYTES];
	enum smb2_cipher cipher;
	enum smb2_signing signing;
	unsigned char hash[PROTECT_HASH_BYTES];
	struct credits credits;
	struct smb_session *sessions;
	size_t session_count;
	struct smb_chain *chains;
	size_t chain_count, waiting_count;
	size_t under_way_bytes; /* of the chains: their messages and what they will answer */
	size_t held_told;	/* of all its memory: so much the server's budget knows of */
	uint64_t next_async_id;
};

/* ---- requests ---- */

typedef void smb_then_fn(struct smb_request *, enum err);
typedef enum err smb_run_fn(struct smb_request *);
typedef void smb_handler(struct smb_request *);

struct smb_request {
	struct smb_chain *chain;
	struct smb_conn *conn;
	struct smb2_header h;
	struct slice part;
	struct smb_session *session;
	struct smb_tree *tree;
	struct smb_open *open; /* smb/opens.h; the request's until it is answered */
	struct arena arena;
	struct buf *out; /* the answer's body goes here */
	size_t head_at;	 /* where in it the part's header is */
	uint32_t status;
	bool answered;	/* smb_reply or smb_fail was called */
	bool silent;	/* no answer at all (CANCEL) */
	bool is_signed; /* the request was; so is the answer */
	bool sent_interim;
	unsigned char *hash_into; /* the pre-authentication hash that the answer goes into; NULL: none */
	uint64_t async_id;
	uint16_t credits; /* granted with the next answer */
	/* a commit or a worker's work under way */
	struct store_job job;
	struct io_task wake;
	struct io_work work;
	smb_run_fn *run;
	smb_then_fn *then;
	enum err result;
	bool committing;
	bool sync_later, sync; /* of its commit, if that is smb_commit's: see store_job */
	unsigned decisions;    /* of smb_decide */
	/* waits for writes of its open that are with a worker: smb/work.c */
	struct smb_request *next_after;
	smb_handler *again;
	struct breaking *breaking; /* smb/commit.c */
	/* Waiting: set while it may be cancelled; called once at most, then it is NULL. A cancel that comes during a
	 * commit is remembered, and takes effect when the request would wait (again). */
	void (*cancel)(struct smb_request *, uint32_t status);
	bool cancelled;
	uint32_t cancel_wanted; /* status; 0 = none */
	void *call;		/* the handler's */
	struct io_timer timer;
};

struct smb_chain {
	struct smb_chain *next, *prev;
	struct smb_conn *conn;
	char *memory; /* of the message; of the loop's slabs */
	size_t memory_bytes;
	struct slice message;	       /* plain */
	size_t at;		       /* of the part being handled */
	bool begun;		       /* request holds that part */
	bool running;		       /* chain_run is on the stack */
	bool stripped;		       /* a part lacked the protection that its session demands: the connection ends */
	struct smb_session *encrypted; /* the session whose keys the message came under; NULL: plain */
	struct buf out;
	size_t last_head; /* of the part answered last, 0 = none: its `next` is set when another is answered too */
	size_t last_end;  /* where that part ends, before any padding */
	struct smb_session *last_session; /* whose key signs that part; NULL: none */
	/* what a related part takes over */
	uint64_t session_id;
	uint32_t tree_id;
	struct smb2_file_id file_id;
	bool related_broken;	 /* the part before had no session or tree to take over */
	uint32_t related_status; /* of the part that made or should have made file_id */
	unsigned parts;
	size_t weight_bytes; /* counted in the connection's under_way_bytes */
	struct smb_request request;
};

/* ---- the server ---- */

struct smb_loop {
	struct smb_server *server;
	struct io_loop *loop;
	pthread_t thread;
	bool started, draining, drained;
	struct smb_conn *conns;
	atomic_size_t conn_count;
	size_t work_count;	      /* chains and closes under way, also of connections that are gone */
	const struct smb_conn *alone; /* whose requests were the last ones here */
	unsigned only_count;	      /* how many those are, and how many of them came one after the other */
	unsigned alone_count;
	/* writes of that client that are committed together: see smb_commit */
	struct io_task together;
	bool together_queued, together_done;
	size_t together_count, together_last, together_expected;
	uint64_t together_until_ns;
	struct rng rng;
	struct io_task drain_task, evict_task;
	atomic_bool evicting; /* evict_task is posted */
	struct slabs slabs;   /* messages */
	uint64_t trim_ms;     /* when what of them is not used goes back */
	char read_buffer[SMB_READ_BYTES];
};

/* What a session's keys are made of. */
struct smb_session_keys {
	uint16_t dialect;
	enum smb2_signing signing;
	enum smb2_cipher cipher;
	unsigned char key[PROTECT_KEY_BYTES];
	unsigned char hash[PROTECT_HASH_BYTES];
};

struct smb_session_row {
	struct smb_session_row *next;
	uint64_t id;
	struct smb_loop *sl;
	const struct auth_account *account;
	struct smb_session_keys keys; /* for whoever asks for the session on another connection, and is refused */
};
enum { SMB_SESSION_SLOTS = 1024 };

struct smb_server {
	struct smb_config config;
	unsigned char guid[SMB2_GUID_BYTES];
	struct smb_loop **loops;
	size_t loop_count;
	atomic_uint busy_loops;	     /* stopping: that still have something to do */
	struct io_acceptor acceptor; /* on loop 0 */
	struct io_addresses addresses;
	size_t memory_limit;
	atomic_size_t memory_held; /* by connections: messages and answers, in steps of SMB_TELL_BYTES */
	uint16_t port;
	struct io_pool *workers;
	atomic_size_t watchers; /* without any, changes need not be described */
	pthread_mutex_t lock;
	struct smb_session_row *sessions[SMB_SESSION_SLOTS];
};

/* conn.c */
void smb_conn_adopt(struct smb_conn *);
void smb_conn_close(struct smb_conn *); /* everything of it ends; it is freed when nothing refers to it */
void smb_conn_check_reap(struct smb_conn *);
void smb_conn_evict(struct smb_loop *);	 /* slots ran out: who has not logged in for longest makes room */
void smb_conn_count(struct smb_conn *);	 /* what it holds may have changed */
void smb_conn_resume(struct smb_conn *); /* reading goes on if it was paused */
/* Takes the buf's memory. `from` is the message's first byte; there are SMB_OUT_HEAD_BYTES before it. */
void smb_conn_send(struct smb_conn *, struct buf *, size_t from, struct smb_session *encrypted);

/* chain.c */
void smb_chain_receive(struct smb_conn *, char *memory, size_t len); /* takes the slabs' memory */
void smb_reply(struct smb_request *, uint32_t status);		     /* the body is in req->out */
void smb_fail(struct smb_request *, uint32_t status);		     /* an error's body; what was put is dropped */
void smb_fail_data(struct smb_request *, uint32_t status, struct slice data);
void smb_fail_err(struct smb_request *, enum err);
/* Runs apply in a commit and calls `then` on the connection's loop. */
void smb_commit(struct smb_request *, struct slice partition, apply_fn *, void *call, smb_then_fn *then);
/* As smb_commit on the request's share, for what mostly changes opens and no durable row: it is decided in this thread
 * if that can be (store_write_here), and then `then` is called before this returns. So nothing may follow the call. */
void smb_decide(struct smb_request *, apply_fn *, void *call, smb_then_fn *then);
/* From here on the request may be cancelled; the client is told that it waits, if it is the chain's last. False: it is
 * over: too many wait already, or it was cancelled before (then `cancel` was called). */
bool smb_wait_begin(struct smb_request *, void (*cancel)(struct smb_request *, uint32_t status));
void smb_wait_end(struct smb_request *);
/* Ends what waits, of a session, of a tree, or of the connection (both NULL); of one open. STATUS_CANCELLED: somebody
 * asked for it; STATUS_FILE_CLOSED: what it works on is gone. */
void smb_cancel_all(struct smb_conn *, const struct smb_session *, const struct smb_tree *, uint32_t status);
void smb_cancel_open(struct smb_conn *, const struct smb_open *, uint32_t status);
/* The largest of what was sent and what may be answered must be paid for. */
bool smb_charge_ok(const struct smb_request *, uint64_t bytes);
uint32_t smb_status_of(enum err);
bool smb_is_3x(const struct smb_conn *);

/* work.c */
/* Runs `run` on a worker, then `then` on the connection's loop. `run` may use the request's arena, answer and call, and
 * what of its open and tree never changes. */
void smb_work(struct smb_request *, smb_run_fn *run, smb_then_fn *then);
/* The same for what may take seconds: behind other such work, accounts in turns. `then` gets ERR_BUSY if much waits. */
void smb_work_long(struct smb_request *, smb_run_fn *run, smb_then_fn *then);
/* Memory that the request will take beside its message: a client with much of it under way is not read on. */
void smb_work_weigh(struct smb_request *, size_t bytes);
/* The request's open has a write with a worker, until its commit is queued (or it failed). */
void smb_write_begin(struct smb_request *);
void smb_write_queued(struct smb_open *);
/* True: such writes are under way; `again` will be called with the request when their commits are queued. The request's
 * open was let go. */
bool smb_after_writes(struct smb_request *, smb_handler *again);

/* session.c */
struct smb_session *smb_session_find(struct smb_conn *, uint64_t id);
void smb_session_ref(struct smb_session *);
void smb_session_unref(struct smb_session *);
/* Logged off, replaced, or its connection broke: trees and opens end. */
void smb_session_end(struct smb_session *, bool disconnected);
void smb_tree_end(struct smb_session *, struct smb_tree *);
struct smb_tree *smb_tree_find(struct smb_session *, uint32_t id);
void smb_tree_ref(struct smb_tree *);
void smb_tree_unref(struct smb_tree *);
/* What an open through it may be granted. */
uint32_t smb_tree_access(const struct smb_tree *);
/* Answers FSCTL_VALIDATE_NEGOTIATE_INFO; false: it does not match, close. */
bool smb_validate_negotiate(struct smb_request *, const struct smb2_ioctl *);

/* server.c */
void smb_loop_check_drained(struct smb_loop *);

/* Handlers, one file per command. */
smb_handler smb_do_negotiate, smb_do_session_setup, smb_do_logoff, smb_do_tree_connect, smb_do_tree_disconnect,
	smb_do_echo, smb_do_cancel, smb_do_ioctl, smb_do_create, smb_do_close, smb_do_flush, smb_do_read, smb_do_write,
	smb_do_lock, smb_do_query_directory, smb_do_notify, smb_do_query_info, smb_do_set_info, smb_do_oplock_break;
/* The SMB1 form of NEGOTIATE, before anything else. */
void smb_negotiate_smb1(struct smb_conn *);

#endif

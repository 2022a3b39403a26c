/* SPDX-License-Identifier: Apache-2.0
 * The SMB front end as a whole: SMB 2.1 to 3.1.1 over TCP, on the shares that REST serves too. Whoever starts it owns
 * what the configuration points at and keeps it until smb_server_stop returned. */
#ifndef SMB_SERVER_H
#define SMB_SERVER_H

#include "auth/auth.h"
#include "base/buf.h"
#include "base/sys/clock.h"
#include "store/store.h"
#include "wire/smb2/setup.h"

struct smb_server;
struct io_loop;
struct wait_list;   /* wait/wait.h */
struct holder_list; /* wait/holder.h */
struct watch_list;  /* wait/watch.h */
struct login_accounts;
struct failures;
struct audit_log;

struct smb_config {
	struct store *store;
	struct clock *clock;
	struct wait_list *waits; /* shared with the other front end */
	struct holder_list *holders;
	struct watch_list *watches;
	const char *host;
	uint16_t port;			 /* 0 = the system picks one: smb_server_port tells which */
	struct login_accounts *accounts; /* auth/smb/login.h: who may log in, which may change */
	struct failures *failures;	 /* auth/guard: logins that failed, of both front ends */
	struct audit_log *audit;	 /* io/audit.h; NULL: none */
	unsigned loops;			 /* 0 = one per core */
	uint64_t memory_bytes;		 /* of messages and answers under way; 0 = a quarter of the machine */
	size_t connections_max;		 /* at once; 0 = LIMIT_CONNECTIONS */
	size_t connections_per_address;	 /* 0 = half of them */
	bool encryption_required;	 /* a client that cannot encrypt is refused at login, as the service does */
	bool signing_optional;		 /* else every request must be signed or encrypted */
	bool short_names;		 /* long names have short (8.3) ones beside them */
	bool write_back;		 /* small writes may be answered before they are durable */
	bool persistent_handles;	 /* shares are continuously available: an open may outlive the server */
	uint16_t dialect_least, dialect_most; /* enum smb2_dialect */
	uint8_t ciphers[SMB2_CIPHERS];	      /* allowed ones, best first; 0 ends the list */
};

/* Listens and serves. On failure *ret_message says what to do (port busy, bad address). */
enum err smb_server_start(const struct smb_config *, struct smb_server **ret, struct buf *ret_message) MUST_CHECK;
/* Closes every connection (opens that are not durable end) and returns when all threads ended. The store must still be
 * open. Accepts NULL. */
void smb_server_stop(struct smb_server *);
uint16_t smb_server_port(const struct smb_server *);
/* Its event loops; returns how many. They live until smb_server_stop. */
size_t smb_server_loops(const struct smb_server *, struct io_loop **ret, size_t most);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * One login over SMB: SPNEGO around NTLMSSP, step by step. The caller hands in what is random and the time, sends what
 * each step writes, and takes account and key at the end. One thread. */
#ifndef AUTH_LOGIN_H
#define AUTH_LOGIN_H

#include <pthread.h>

#include "auth/smb/ntlm.h"

enum login_result { LOGIN_MORE, LOGIN_DONE, LOGIN_REFUSED };

enum login_stage { LOGIN_BEGINS, LOGIN_WAITS_NEGOTIATE, LOGIN_WAITS_AUTHENTICATE, LOGIN_ENDED };

struct login {
	enum login_stage stage;
	bool raw;
	bool signature_needed; /* the client preferred another mechanism: it must prove that nobody changed its list */
	bool malformed;	       /* refused because the proof was not even well-formed */
	struct buf mechanisms;
	struct ntlm ntlm;
	const struct auth_account *account; /* set when done */
};

struct login_input {
	struct slice token;
	unsigned char challenge[NTLM_CHALLENGE_BYTES]; /* random, used once */
	uint64_t file_time;
	struct login_accounts *accounts;
};

/* Who may log in. Entries are never moved or taken out: a session points at its account as long as it lives. What
 * changes, under the lock, are the keys (one without keys refuses everybody) and the count. */
struct login_accounts {
	pthread_rwlock_t lock;
	struct auth_account *account;
	size_t count;
};

void login_init(struct login *);
void login_fini(struct login *); /* accepts a zeroed one */
/* Appends the token to send to *out. */
enum login_result login_step(struct login *, const struct login_input *, struct buf *out);

#endif

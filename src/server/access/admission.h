/* SPDX-License-Identifier: Apache-2.0
 * Who may come in: accounts with keys and limits, and the rules of bearer tokens, as one thing that is read from files
 * and exchanged as a whole. REST takes it over (rest_server_set_access); SMB has a table of its own, because its
 * sessions point at their accounts. */
#ifndef SERVER_ADMISSION_H
#define SERVER_ADMISSION_H

#include "auth/smb/login.h"
#include "rest/core/server.h"
#include "server/accounts.h"
#include "server/config.h"

/* Names that can have been accounts in the life of one process; ACCOUNTS_MAX at once. */
enum { ACCOUNT_SLOTS_MAX = 1024 };

struct any_accounts; /* server/access/any.h */

struct account_slots {
	struct any_accounts *any; /* NULL without --anyAccount */
	struct slice name[ACCOUNT_SLOTS_MAX];
	size_t count;
	struct arena arena; /* of the names: they stay */
	struct login_accounts smb;
	struct auth_account smb_account[ACCOUNT_SLOTS_MAX];
};

struct admission {
	struct rest_access rest; /* points into the rest of this */
	struct accounts accounts;
	struct auth_bearer_config *bearer;
};

void accounts_slots_init(struct account_slots *);
void accounts_slots_fini(struct account_slots *); /* after REST and SMB ended */

/* The file of limits in the data directory, for who gave no --accountLimits. */
#define LIMITS_FILE "limits"
/* What --accountLimits names, or LIMITS_FILE, as text; empty if there is none. */
bool admission_limits_text(const struct config *, const char *data_dir, struct buf *out, struct buf *error);
/* Reads everything. On failure *error says which file and why. */
bool admission_load(const struct config *, const char *data_dir, struct account_slots *, struct admission **ret,
		    struct buf *error);
void admission_free(struct admission *); /* accepts NULL; one that REST has frees itself */
/* From now on SMB lets in whom this one does. A login over SMB is by an account key, from any address: an account that
 * forbids either is not offered there. False: no memory, and nothing changed. */
bool admission_give_smb(const struct admission *, struct account_slots *);

#endif

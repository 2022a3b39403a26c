/* SPDX-License-Identifier: Apache-2.0
 * The accounts the server has: given by the operator (environment, configuration file); else those of <data>/accounts
 * (0600), which production mode makes at its first start, and in development mode the well-known one before them. Keys
 * are never printed in production mode.
 */
#ifndef SERVER_ACCOUNTS_H
#define SERVER_ACCOUNTS_H

#include "auth/auth.h"
#include "server/config.h"

#define ACCOUNT_WELL_KNOWN "devstoreaccount1"
#define ACCOUNT_WELL_KNOWN_KEY                                                                                         \
	"Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

enum { ACCOUNTS_MAX = 256, ACCOUNT_KEY_BYTES = 64 };

struct accounts {
	struct auth_account account[ACCOUNTS_MAX]; /* memory from the arena */
	const char *key_text[ACCOUNTS_MAX];	   /* first key in Base64 */
	size_t count;
	const char *file; /* where keys are kept, if such a file was read; else NULL */
	bool lenient;	  /* keys are decoded as Node.js decodes Base64: for lists that were made for Azurite */
	struct arena arena;
};

/* Parses "account1:key1[:key2];account2:key1" (new lines separate too, # begins a comment line). `source` for messages.
 */
bool accounts_parse(struct accounts *, struct slice list, const char *source, struct buf *error);
/* All of it: settings, environment, data directory. */
bool accounts_load(struct accounts *, const struct config *, const char *data_dir, struct buf *error);
bool accounts_name_valid(struct slice name);
void accounts_make_key(unsigned char ret[ACCOUNT_KEY_BYTES]); /* random */
/* DIR/accounts as text; if there is none, what a new one begins with. */
bool accounts_file_read(const char *data_dir, struct buf *out, struct buf *error);
/* Synced: after a crash the file is the old or the new one. */
bool accounts_file_replace(const char *data_dir, struct slice text, struct buf *error);
void accounts_fini(struct accounts *); /* accepts a zeroed struct */

#endif

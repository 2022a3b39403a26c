/* SPDX-License-Identifier: Apache-2.0
 * Commands for a running server, from both sides of its admin socket. */
#ifndef SERVER_ADMIN_H
#define SERVER_ADMIN_H

#include "base/buf.h"
#include "server/config.h"
#include "wire/http/uri.h"

struct house;

/* Where the socket is; false if there is none by the settings. */
bool admin_socket_path(const struct config *, const char *data_dir, char *ret, size_t room);

/* The server's side: one command, `arg` is the house. Writes what the asker shall read, returns the HTTP status. */
int admin_command(void *arg, struct slice path, const struct query *, struct buf *out);
/* The commands about accounts. */
int admin_account_add(struct house *, const struct query *, struct buf *out);
int admin_account_rotate(struct house *, const struct query *, struct buf *out);
int admin_account_remove(struct house *, const struct query *, struct buf *out);
int admin_account_show(struct house *, const struct query *, struct buf *out);
int admin_account_list(struct house *, const struct query *, struct buf *out);
/* What accounts forbid. */
int admin_limits_show(struct house *, const struct query *, struct buf *out);
int admin_limits_set(struct house *, const struct query *, struct buf *out);

/* The asker's side: `zaffre account ...`, arguments behind the word. Exit status. */
int admin_account_main(int argc, char **argv);
/* `zaffre stats [--count] [--json] [--watch [SECONDS]]`. */
int admin_stats_main(int argc, char **argv);
/* Asks the server that these settings name. *out gets the body; the status, or 0 after a message on standard error. */
int admin_ask(const struct config *, const char *method, struct slice target, struct buf *out);
/* Does a server with these settings answer at its socket? Says nothing. */
bool admin_answers(const struct config *);

#endif

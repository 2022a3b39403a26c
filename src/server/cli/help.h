/* SPDX-License-Identifier: Apache-2.0
 * Help, manual page and completion, from config.def and the table of commands. */
#ifndef SERVER_CLI_HELP_H
#define SERVER_CLI_HELP_H

#include "base/buf.h"

/* Of one command, or of all if it is NULL. False: there is no such command, and *out has what was most likely meant. */
bool help_put(struct buf *out, const char *command);
void help_put_manual(struct buf *out); /* for man(1) */
/* For bash, zsh or fish; false: another one. */
bool help_put_completion(struct buf *out, const char *shell);
/* "unknown command x; did you mean y?" */
void help_put_unknown(struct buf *out, const char *command);

#endif

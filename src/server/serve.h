/* SPDX-License-Identifier: Apache-2.0
 * The subcommands that open a store. Each returns the exit status. */
#ifndef SERVER_SERVE_H
#define SERVER_SERVE_H

#include "server/config.h"

enum { EXIT_USAGE = 2, EXIT_DISK = 4 };

/* One line on standard error, beginning with the program's name. */
void say_error(struct slice line);

int serve_main(const struct config *);
int scrub_main(int argc, char **argv); /* arguments behind the word */

#endif

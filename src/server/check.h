/* SPDX-License-Identifier: Apache-2.0
 * `zaffre --check`: what a start would complain about. */
#ifndef SERVER_CHECK_H
#define SERVER_CHECK_H

#include "server/config.h"

/* Exit status: 0 if nothing, 1 after a line for each complaint. */
int check_main(const struct config *);

#endif

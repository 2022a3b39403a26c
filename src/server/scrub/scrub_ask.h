/* SPDX-License-Identifier: Apache-2.0
 * `zaffre scrub` of a running server: asks it through its admin socket, shows how far it is, prints what it found. */
#ifndef SERVER_SCRUB_ASK_H
#define SERVER_SCRUB_ASK_H

#include "server/config.h"

#define SCRUB_RATE_MAX_MB 1000000

/* Exit status, as that of a scrub of a stopped store. SIGINT and SIGTERM cancel it. */
int scrub_ask(const struct config *, bool rate_given, uint64_t rate_mb);
int scrub_ask_cancel(const struct config *);

#endif

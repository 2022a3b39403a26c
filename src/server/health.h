/* SPDX-License-Identifier: Apache-2.0
 * The subcommand `health`. */
#ifndef SERVER_HEALTH_H
#define SERVER_HEALTH_H

#include "server/config.h"

int health_main(const struct config *);

#endif

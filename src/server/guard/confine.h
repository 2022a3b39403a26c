/* SPDX-License-Identifier: Apache-2.0
 * Puts the process into its sandbox (--sandbox), in two steps: files before the first thread, system calls once
 * everything is open. What the kernel cannot do is said once and done without. */
#ifndef SERVER_GUARD_CONFINE_H
#define SERVER_GUARD_CONFINE_H

#include "server/config.h"

/* Memory is hidden from debuggers in production mode, whatever the switch says of the rest. */
void confine_memory(const struct config *);
/* The data directory is there (NULL: everything is in memory); no thread is. */
void confine_files(const struct config *, const char *data_path);
/* Every port accepts. */
void confine_calls(const struct config *);

#endif

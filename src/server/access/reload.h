/* SPDX-License-Identifier: Apache-2.0
 * Reading again, while requests run, what an operator changes: accounts, limits, roles, certificates, log files. Each
 * part leaves one line in the log; one that cannot be read stays as it was. */
#ifndef SERVER_RELOAD_H
#define SERVER_RELOAD_H

#include "base/buf.h"

struct house;
struct config;

/* The settings as they would be parsed now; config_fini in any case. */
bool reload_config(const struct house *, struct config *ret, struct buf *error);
/* All of it, for SIGHUP. */
void reload_everything(struct house *);
/* Accounts, limits and roles. Requests that begin after this returned are judged by the new ones. False: nothing
 * changed, and *error says why. Any thread; refused after reload_end. */
bool reload_admission(struct house *, struct buf *error);
/* Nothing is reloaded any more, and none is under way: the front end may be taken down. */
void reload_end(struct house *);

#endif

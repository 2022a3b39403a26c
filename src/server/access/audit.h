/* SPDX-License-Identifier: Apache-2.0
 * The audit log of a running server: its file, and the lines that are about the server itself. Those about requests and
 * logins are written by the front ends. */
#ifndef SERVER_AUDIT_H
#define SERVER_AUDIT_H

#include "base/buf.h"

struct house;

/* Opens what --auditLog names; no setting, no log. */
bool house_audit_open(struct house *, struct buf *error);
/* After everybody who writes into it ended; accepts one that was not opened. */
void house_audit_close(struct house *);
/* Opens it again by its name, for who moved the file away. On failure the old one stays. */
bool house_audit_reopen(struct house *, struct buf *error);
/* Something about the server itself: "Start", "Reload". Waits until it is written; `reason` NULL: it was done. */
void house_audit_event(struct house *, const char *operation, const char *reason);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * What every account holds: containers, blobs, messages and so on, and their bytes. Counted by a thread that goes
 * through the rows (svc/common/count.h) when somebody asks, and by itself after changes: a minute after the last count
 * at the earliest, and so seldom that it takes a hundredth of its time. Requests pay nothing for it. The figures are as
 * old as they say they are. */
#ifndef SERVER_HOLDINGS_H
#define SERVER_HOLDINGS_H

#include "base/buf.h"
#include "rest/core/server.h"
#include "wire/http/uri.h"

struct holdings;
struct house;

/* Once the store and the accounts are there. NULL: no memory or thread. */
struct holdings *holdings_start(struct house *);
void holdings_end(struct holdings *);  /* nothing is counted when this returns; accepts NULL */
void holdings_free(struct holdings *); /* after its end; accepts NULL */
/* What the newest whole count found for the account of this slot; false: it was not counted yet. Any thread. */
bool holdings_get(struct holdings *, unsigned slot, struct rest_holding *ret);

/* Commands of the admin socket: begin a count, or say how far it is. JSON: `run`, the number of the count that began
 * after a start, `done`, that of the newest that ended, `objects` so far, `account` at hand, `seconds`, `reason`. */
int holdings_command_start(struct house *, const struct query *, struct buf *out);
int holdings_command_progress(struct house *, const struct query *, struct buf *out);

#endif

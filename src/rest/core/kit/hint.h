/* SPDX-License-Identifier: Apache-2.0
 * Errors that teach, in development mode: what the answer itself may not say, because it must be the service's, goes
 * into the header x-zaffre-hint and into the access log. Production mode says nothing of it: a hint tells what there
 * is. */
#ifndef REST_KIT_HINT_H
#define REST_KIT_HINT_H

struct exchange;

/* Adds the header to the answer of ex->error and notes the text for the log. */
void hint_put(struct exchange *);

#endif

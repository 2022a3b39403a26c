/* SPDX-License-Identifier: Apache-2.0
 * The window of message ids that a client may use. A request uses up as many consecutive ids as it is charged credits;
 * an id outside the window or used before ends the connection. Pure. */
#ifndef SMB_CREDITS_H
#define SMB_CREDITS_H

#include <stdbool.h>
#include <stdint.h>

enum { CREDITS_MAX = 8192 }; /* width of the window, and the most a client can have in flight */

struct credits {
	uint64_t low;  /* every id below is used */
	uint64_t high; /* ids from here on are not granted yet */
	uint64_t used[CREDITS_MAX / 64];
};

void credits_init(struct credits *); /* grants id 0 */
/* False: one of the ids is not granted or used already; nothing changed. */
bool credits_use(struct credits *, uint64_t message_id, uint16_t charge);
/* Grants up to `asked` more ids, fewer if the window is full; but one if the client would have none left. */
uint16_t credits_grant(struct credits *, uint16_t asked);
/* What a transfer of so many bytes is charged. */
static inline uint32_t credits_for(uint64_t bytes)
{
	return bytes ? (uint32_t)(1 + (bytes - 1) / 65536) : 1;
}

#endif

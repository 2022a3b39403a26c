/* SPDX-License-Identifier: Apache-2.0
 * Rows of deleted resources and intents, inside the room. */
#ifndef SVC_ACCOUNT_RESOURCE_INT_H
#define SVC_ACCOUNT_RESOURCE_INT_H

#include "svc/account/resource.h"

/* The first byte of their keys. */
static inline char deleted_tag(char kind)
{
	return kind == RESOURCE_SHARE ? 'R' : 'r';
}
enum err deleted_decode(struct slice value, struct arena *, struct deleted_resource *ret) MUST_CHECK;
/* Gone for everybody, even if the reaper did not come by yet. */
bool deleted_is_over(const struct deleted_resource *, uint64_t now_ticks);

/* A row 'i' u64(generation): u8 what, u8 kind, u8 version, u64 session, u64 time. Those of two bytes are of before
 * sessions were noted: of a session that is over, made at no time. */
enum intent_what { INTENT_CREATE = 'C', INTENT_DROP = 'D' };
struct intent {
	char what, kind;
	uint64_t generation;
	uint64_t session; /* that created it */
	uint64_t ticks;	  /* when */
};
enum err intent_decode(const struct row *, struct intent *ret) MUST_CHECK;
/* By this session, now. */
enum err intent_put(struct txn *, enum intent_what, char kind, uint64_t generation) MUST_CHECK;
/* May the creation be given up? Not while its request may still run: whoever asks is not the only one, or the request
 * is this session's. But no request lives for longer than this. */
enum { INTENT_LIFE_SECONDS = 15 * 60 };
bool intent_is_over(const struct intent *, const struct txn *, bool shared);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Who acquired, renewed or changed which lease: the newest LEASE_NOTES of them, in memory, for whoever asks what holds
 * what. Correctness rests on the leases' records alone. Any thread. */
#ifndef REST_LEASE_NOTES_H
#define REST_LEASE_NOTES_H

#include "base/slice.h"
#include "base/sys/rng.h"

struct rest_server;
struct exchange;
struct lease_notes;

enum { LEASE_NOTES = 1024 };

struct lease_note {
	char id[UUID_TEXT_BYTES + 1]; /* of the lease; empty: none */
	uint64_t ticks;		      /* when it was acquired, or last renewed or changed */
	char action[8];
	char ip[48], client[64], agent[96]; /* cut to fit */
};

struct lease_notes *notes_new(void); /* NULL: no memory */
void notes_free(struct lease_notes *);
/* A request was answered: notes it if it gave a lease to somebody. */
void notes_take(struct exchange *);
bool notes_find(const struct rest_server *, struct slice id, struct lease_note *ret);

#endif

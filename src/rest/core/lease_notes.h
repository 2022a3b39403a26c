/* SPDX-License-Identifier: Apache-2.0
 * Who acquired, renewed or changed which lease: the newest LEASE_NOTES of them, in memory, for whoever asks what holds
 * what; and how many leases are held. Correctness rests on the leases' records alone. Any thread. */
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
/* How many leases are held, by kind: those that this process gave or renewed, until their time is over, they are
 * released or broken, or what they are on is deleted. One that was given before the start is not known until it is
 * renewed; one whose container was deleted is counted until its time is over. At most LEASES_COUNTED. */
enum lease_kind { LEASE_OF_CONTAINER, LEASE_OF_BLOB, LEASE_OF_SHARE, LEASE_OF_FILE, LEASE_KINDS };
enum { LEASES_COUNTED = 65536 };
extern const char *const lease_kind_word[LEASE_KINDS];
void notes_count(const struct rest_server *, uint64_t ret[LEASE_KINDS]);
bool notes_find(const struct rest_server *, struct slice id, struct lease_note *ret);

#endif

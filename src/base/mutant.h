/* SPDX-License-Identifier: Apache-2.0
 * Promises broken on purpose by rules that are pure functions and have no store to ask (lock/): the proofs must notice
 * (store/mutant.h has the others). Set once before threads begin. Without ZAFFRE_MUTANTS it is a constant and the
 * branches vanish. */
#ifndef BASE_MUTANT_H
#define BASE_MUTANT_H

#include <stdbool.h>

#ifdef ZAFFRE_NO_MUTANTS
static inline bool mutant_leases_endless(void)
{
	return false;
}
static inline void mutant_leases_endless_set(bool on)
{
	(void)on;
}
#else
bool mutant_leases_endless(void); /* no lease and no break period ever ends */
void mutant_leases_endless_set(bool on);
#endif

#endif

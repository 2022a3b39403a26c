/* SPDX-License-Identifier: Apache-2.0
 * Faults that proofs switch on to show that they would be noticed. Not in release builds. */
#include "base/mutant.h"

#ifndef ZAFFRE_NO_MUTANTS
static bool leases_endless;

bool mutant_leases_endless(void)
{
	return leases_endless;
}

void mutant_leases_endless_set(bool on)
{
	leases_endless = on;
}
#endif

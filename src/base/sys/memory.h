/* SPDX-License-Identifier: Apache-2.0
 * What the process takes of the machine's memory. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stdint.h>

/* Resident now; 0 if the system does not tell. */
uint64_t base_resident_bytes(void);

#endif

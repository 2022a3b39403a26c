/* SPDX-License-Identifier: Apache-2.0
 * The process's memory. See memory.h. */
#include "base/sys/memory.h"

#include <stdio.h>
#include <unistd.h>

uint64_t base_resident_bytes(void)
{
	unsigned long long size, resident = 0;
	FILE *f = fopen("/proc/self/statm", "re");
	if (!f)
		return 0;
	if (fscanf(f, "%llu %llu", &size, &resident) != 2)
		resident = 0;
	fclose(f);
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

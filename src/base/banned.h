/* SPDX-License-Identifier: Apache-2.0
 * Included before everything else by the build: calls that cannot be used safely do not compile. */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H
#ifndef __cplusplus
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#undef sprintf /* a macro in some fortified headers */
#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf gets atoi atol atoll atof strtok localtime gmtime    \
	ctime asctime
#endif
#endif

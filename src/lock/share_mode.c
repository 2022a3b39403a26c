/* SPDX-License-Identifier: Apache-2.0
 * The share check of two opens, in both directions. */
#include "lock/share_mode.h"

/* Does `access` need something that `share` does not give? */
static bool is_denied(uint32_t access, uint32_t share)
{
	return ((access & ACCESS_ANY_READ) && !(share & SHARE_READ)) ||
	       ((access & ACCESS_ANY_WRITE) && !(share & SHARE_WRITE)) ||
	       ((access & ACCESS_DELETE) && !(share & SHARE_DELETE));
}

bool lock_share_conflicts(uint32_t access_a, uint32_t share_a, uint32_t access_b, uint32_t share_b)
{
	if (!(access_a & ACCESS_SHARED) || !(access_b & ACCESS_SHARED))
		return false;
	return is_denied(access_a, share_b) || is_denied(access_b, share_a);
}

bool lock_share_is_stat_open(uint32_t access)
{
	return !(access & ~(uint32_t)(ACCESS_READ_ATTRIBUTES | ACCESS_WRITE_ATTRIBUTES | ACCESS_SYNCHRONIZE));
}

bool lock_share_is_lease_stat_open(uint32_t access)
{
	return lock_share_is_stat_open(access & ~(uint32_t)ACCESS_READ_CONTROL);
}

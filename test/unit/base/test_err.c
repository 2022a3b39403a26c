/* SPDX-License-Identifier: Apache-2.0
 * Every error, internal ones included, has a row with all a front end needs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"

static void every_error_has_a_row(void **state)
{
	for (int e = ERR_OK; e < ERR_COUNT; e++) {
		const struct err_info *info = err_info((enum err)e);
		if (!info->name || !info->code || !info->text || info->http_status < 200 || info->http_status > 599)
			fail_msg("error %d has no row", e);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_error_has_a_row) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}

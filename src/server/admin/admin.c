/* SPDX-License-Identifier: Apache-2.0
 * The table of commands that a running server takes through its admin socket. */
#include "server/admin/admin.h"

#include <stdio.h>
#include <string.h>

#include "server/access/holdings.h"
#include "server/checkpoint/checkpoint.h"
#include "server/checkpoint/job.h"
#include "server/house.h"
#include "server/scrub/scrub_job.h"

static const struct {
	const char *path;
	int (*run)(struct house *, const struct query *, struct buf *out);
} commands[] = {
	{ "/account/add", admin_account_add },
	{ "/account/rotate", admin_account_rotate },
	{ "/account/remove", admin_account_remove },
	{ "/account/show", admin_account_show },
	{ "/account/list", admin_account_list },
	{ "/checkpoint/begin", checkpoint_begin },
	{ "/checkpoint/end", checkpoint_finish },
	{ "/scrub/start", scrub_job_start },
	{ "/checkpoint/start", checkpoint_job_start },
	{ "/checkpoint/progress", checkpoint_job_progress },
	{ "/checkpoint/cancel", checkpoint_job_cancel },
	{ "/checkpoint/list", checkpoint_job_list },
	{ "/limits/show", admin_limits_show },
	{ "/limits/set", admin_limits_set },
	{ "/checkpoint/remove", checkpoint_job_remove },
	{ "/scrub/progress", scrub_job_progress },
	{ "/scrub/cancel", scrub_job_cancel },
	{ "/count/start", holdings_command_start },
	{ "/count/progress", holdings_command_progress },
};

bool admin_socket_path(const struct config *c, const char *data_dir, char *ret, size_t room)
{
	ret[0] = 0;
	if (strcmp(c->adminSocket, "off") == 0)
		return false;
	int n = c->adminSocket[0] ? snprintf(ret, room, "%s", c->adminSocket)
				  : snprintf(ret, room, "%s/admin.sock", data_dir);
	if (n < 0 || (size_t)n >= room)
		ret[0] = 0;
	return ret[0] != 0;
}

int admin_command(void *arg, struct slice path, const struct query *q, struct buf *out)
{
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (slice_eq(path, slice_str(commands[i].path)))
			return commands[i].run(arg, q, out);
	buf_printf(out, "this server does not know %.*s: is it older than the program that asks?\n", SLICE_FMT(path));
	return 404;
}

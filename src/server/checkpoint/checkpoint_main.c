/* SPDX-License-Identifier: Apache-2.0
 * `zaffre checkpoint DIR [PREVIOUS]`: asks the server for a moment and copies it. */
#include "server/checkpoint/checkpoint.h"

#include "base/limits.h"
#include "server/admin/admin.h"
#include "server/checkpoint/copy.h"
#include "server/serve.h"

#include <stdio.h>
#include <unistd.h>

extern char **environ;

static int ask(void *arg, const char *target, struct buf *out)
{
	return admin_ask(arg, "POST", slice_str(target), out);
}

static int run(struct config *config, const char *dir, const char *before)
{
	struct checkpoint_copy copy = { .dir = dir, .before = before, .ask = ask, .arg = config };
	copy.progress.terminal = isatty(STDERR_FILENO);
	buf_init(&copy.error, 64 * KIB);
	bool ok = checkpoint_copy_run(&copy);
	if (copy.error.len)
		say_error(buf_slice(&copy.error));
	buf_fini(&copy.error);
	if (ok)
		printf("checkpoint of commit %llu in %s: %llu bytes copied, %llu shared\n",
		       (unsigned long long)copy.commit, dir, (unsigned long long)copy.progress.copied_bytes,
		       (unsigned long long)copy.progress.linked_bytes);
	return ok ? 0 : 1;
}

int checkpoint_main(int argc, char **argv)
{
	struct config config;
	struct buf error;
	int words = 0, status = EXIT_USAGE;
	while (words < argc && words < 2 && argv[words][0] != '-')
		words++;
	if (words == 0) {
		fprintf(stderr,
			"zaffre checkpoint DIR [PREVIOUS] [OPTIONS]: one moment of a running server's data in the "
			"new directory DIR; what did not change since PREVIOUS is shared with it\n");
		return status;
	}
	buf_init(&error, 64 * KIB);
	if (config_parse(&config, argc - words, argv + words, environ, &error))
		status = run(&config, argv[0], words > 1 ? argv[1] : NULL);
	else
		say_error(buf_slice(&error));
	config_fini(&config);
	buf_fini(&error);
	return status;
}

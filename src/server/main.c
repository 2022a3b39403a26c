/* SPDX-License-Identifier: Apache-2.0
 * The program: picks the subcommand. `serve` is the default, so that Azurite's command lines work as they are. */
#include "server/admin/admin.h"
#include "server/checkpoint/checkpoint.h"
#include "server/cli/help.h"
#include "server/compat.h"
#include "server/health.h"
#include "server/import/import.h"
#include "server/serve.h"

#include "base/limits.h"
#include "base/panic.h"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#define AZURITE_VERSION "3.37.0" /* whose command line is understood */

extern char **environ;

void say_error(struct slice line)
{
	if (line.len == 0) /* there was not even memory for the reason */
		line = SLICE("out of memory");
	fprintf(stderr, "zaffre: %.*s\n", SLICE_FMT(line));
}

static int print_and_free(struct buf *out)
{
	bool ok = buf_ok(out) && fwrite(out->ptr, 1, out->len, stdout) == out->len && fflush(stdout) == 0;
	buf_fini(out);
	return ok ? 0 : 1;
}

static int help_main(const char *command)
{
	struct buf out;
	buf_init(&out, MIB);
	bool known = help_put(&out, command);
	if (known)
		return print_and_free(&out);
	say_error(buf_slice(&out));
	buf_fini(&out);
	return EXIT_USAGE;
}

static int manual_main(void)
{
	struct buf out;
	buf_init(&out, MIB);
	help_put_manual(&out);
	return print_and_free(&out);
}

static int completion_main(const char *shell)
{
	struct buf out;
	buf_init(&out, MIB);
	if (shell && help_put_completion(&out, shell))
		return print_and_free(&out);
	buf_fini(&out);
	say_error(SLICE("completion is for bash, zsh or fish: zaffre completion bash"));
	return EXIT_USAGE;
}

/* What the admin listener of a running server says, as it says it. */
static int ask_main(const struct config *c, const char *path)
{
	struct buf out;
	buf_init(&out, 64 * MIB);
	int status = admin_ask(c, "GET", slice_str(path), &out);
	int printed = print_and_free(&out);
	return status == 200 ? printed : 1;
}

static int leases_main(const struct config *c)
{
	return ask_main(c, "/leases");
}

static int conflicts_main(const struct config *c)
{
	return ask_main(c, "/conflicts");
}

static int compat_main(void)
{
	struct buf out;
	buf_init(&out, MIB);
	compat_print(&out);
	return print_and_free(&out);
}

static int store_command(int (*command)(const struct config *), int argc, char **argv)
{
	struct config config;
	struct buf error;
	buf_init(&error, 64 * KIB);
	int status = EXIT_USAGE;
	if (config_parse(&config, argc, argv, environ, &error))
		status = command(&config);
	else
		say_error(buf_slice(&error));
	config_fini(&config);
	buf_fini(&error);
	return status;
}

/* A file that is opened while a standard stream is closed gets its number, and what is printed would go into the store.
 */
static void standard_streams_open(void)
{
	int fd;
	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/* Scripts that ask Azurite for its version compare a bare number; who reads it is told the truth beside it. */
static int version_main(bool as_azurite)
{
	if (!as_azurite)
		return printf("zaffre %s\n", ZAFFRE_VERSION) < 0;
	fprintf(stderr, "zaffre %s in the place of Azurite %s\n", ZAFFRE_VERSION, AZURITE_VERSION);
	return printf("%s\n", AZURITE_VERSION) < 0;
}

/* What is asked about the program, in whatever place: help, version. -1: nothing is. */
static int questions_main(int argc, char **argv, const char *program)
{
	enum persona persona;
	bool named = config_persona_find(program, &persona), as_azurite = named;
	if (argc > 1 && config_persona_find(argv[1], &persona))
		as_azurite = true;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--version") == 0 || strcmp(argv[i], "-v") == 0)
			return version_main(as_azurite);
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return help_main(as_azurite ? "azurite" : argv[1][0] != '-' ? argv[1] : NULL);
	}
	int first = as_azurite && !named ? 2 : 1; /* where a command's name stands */
	if (first < argc && strcmp(argv[first], "version") == 0)
		return version_main(as_azurite);
	return as_azurite && first < argc && strcmp(argv[first], "help") == 0 ? help_main("azurite") : -1;
}

int main(int argc, char **argv)
{
	standard_streams_open();
	panic_install();
	/* Few threads allocate much; many arenas would only keep freed memory apart. */
	mallopt(M_ARENA_MAX, 2);
	/* Bodies and arenas come and go with every page of a list or a query: some hundred KiB, ten MiB for a page of
	 * 5,000 blobs. Given back and mapped afresh each time, their page faults cost more than their contents (a page
	 * of 1,000 entities: 600 us of CPU against 430; of 5,000 blobs: 1,400 faults, a quarter of its CPU). So each of
	 * the two arenas may keep as much as such a page needs. */
	mallopt(M_TRIM_THRESHOLD, 12 * 1024 * 1024);
	mallopt(M_MMAP_THRESHOLD, 8 * 1024 * 1024);
	enum persona persona;
	argv[0] = basename(argv[0]);
	int answered = questions_main(argc, argv, argv[0]);
	if (answered >= 0)
		return answered;
	if (config_persona_find(argv[0], &persona))
		return store_command(serve_main, argc, argv);
	if (argc > 1 && config_persona_find(argv[1], &persona))
		return store_command(serve_main, argc - 1, argv + 1);
	const char *command = argc > 1 && argv[1][0] != '-' ? argv[1] : NULL;
	int skip = command ? 2 : 1;
	if (!command || strcmp(command, "serve") == 0)
		return store_command(serve_main, argc - skip, argv + skip);
	if (strcmp(command, "scrub") == 0)
		return scrub_main(argc - skip, argv + skip);
	if (strcmp(command, "health") == 0)
		return store_command(health_main, argc - skip, argv + skip);
	if (strcmp(command, "account") == 0)
		return admin_account_main(argc - skip, argv + skip);
	if (strcmp(command, "checkpoint") == 0)
		return checkpoint_main(argc - skip, argv + skip);
	if (strcmp(command, "restore") == 0)
		return checkpoint_restore_main(argc - skip, argv + skip);
	if (strcmp(command, "compat") == 0)
		return compat_main();
	if (strcmp(command, "stats") == 0)
		return admin_stats_main(argc - skip, argv + skip);
	if (strcmp(command, "leases") == 0)
		return store_command(leases_main, argc - skip, argv + skip);
	if (strcmp(command, "conflicts") == 0)
		return store_command(conflicts_main, argc - skip, argv + skip);
	if (strcmp(command, "help") == 0)
		return help_main(argc > 2 ? argv[2] : NULL);
	if (strcmp(command, "man") == 0)
		return manual_main();
	if (strcmp(command, "completion") == 0)
		return completion_main(argc > 2 ? argv[2] : NULL);
	if (strcmp(command, "import-azurite") == 0)
		return import_main(argc - skip, argv + skip);
	struct buf unknown;
	buf_init(&unknown, 4096);
	help_put_unknown(&unknown, command);
	say_error(buf_slice(&unknown));
	buf_fini(&unknown);
	return EXIT_USAGE;
}

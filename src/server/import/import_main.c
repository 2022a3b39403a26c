/* SPDX-License-Identifier: Apache-2.0
 * The command: its words, what goes first and last, and the summary. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "server/accounts.h"
#include "server/import/import.h"
#include "server/serve.h"

enum { OTHER_ACCOUNTS_MAX = 16 };

/* The development server with its ports. */
#define DEVELOPMENT                                                                                                    \
	"AccountName=" ACCOUNT_WELL_KNOWN ";AccountKey=" ACCOUNT_WELL_KNOWN_KEY                                        \
	";BlobEndpoint=http://127.0.0.1:10000/" ACCOUNT_WELL_KNOWN                                                     \
	";QueueEndpoint=http://127.0.0.1:10001/" ACCOUNT_WELL_KNOWN                                                    \
	";TableEndpoint=http://127.0.0.1:10002/" ACCOUNT_WELL_KNOWN

static const struct {
	const char *one, *many;
} nouns[IMPORT_COUNTS] = {
	[IMPORT_COUNT_CONTAINERS] = { "container", "containers" },
	[IMPORT_COUNT_BLOBS] = { "blob", "blobs" },
	[IMPORT_COUNT_SNAPSHOTS] = { "snapshot", "snapshots" },
	[IMPORT_COUNT_BLOCKS] = { "uncommitted block", "uncommitted blocks" },
	[IMPORT_COUNT_QUEUES] = { "queue", "queues" },
	[IMPORT_COUNT_MESSAGES] = { "message", "messages" },
	[IMPORT_COUNT_TABLES] = { "table", "tables" },
	[IMPORT_COUNT_ENTITIES] = { "entity", "entities" },
};

/* Where accounts stand: a collection of a file, and which member of its rows names them. */
static const struct {
	enum import_file file;
	const char *collection, *member;
} owners[] = {
	{ IMPORT_BLOBS, "$CONTAINERS_COLLECTION$", "accountName" },
	{ IMPORT_QUEUES, "$QUEUES_COLLECTION$", "accountName" },
	{ IMPORT_TABLES, "$TABLES_COLLECTION$", "account" },
};

static void print_counts(const char *what, const uint64_t count[IMPORT_COUNTS], bool always)
{
	bool any = false;
	for (int i = 0; i < IMPORT_COUNTS; i++) {
		if (count[i])
			printf("%s%llu %s", any ? ", " : what, (unsigned long long)count[i],
			       count[i] == 1 ? nouns[i].one : nouns[i].many);
		any = any || count[i];
	}
	if (any)
		puts("");
	else if (always)
		printf("%snothing\n", what);
}

/* Accounts of the workspace that this import does not take; and a total of rows for the progress. */
static void others_print(struct import_job *job)
{
	struct slice seen[OTHER_ACCOUNTS_MAX];
	size_t count = 0;
	for (size_t o = 0; o < sizeof owners / sizeof *owners; o++) {
		struct json_walk w;
		if (!import_rows(&job->ws, owners[o].file, slice_str(owners[o].collection), &w))
			continue;
		for (; json_walk_next(&w); arena_reset(&job->row)) {
			struct slice name = import_row_text(w.value, owners[o].member, &job->row);
			size_t i = 0;
			while (i < count && !slice_eq(seen[i], name))
				i++;
			if (i < count || count == OTHER_ACCOUNTS_MAX || name.len == 0 || slice_eq(name, job->account))
				continue;
			seen[count++] = arena_dup(&job->kept, name);
		}
	}
	for (size_t i = 0; i < count; i++)
		printf("not taken: account %.*s of the workspace; run this again with its connection string\n",
		       SLICE_FMT(seen[i]));
}

/* Of all collections and accounts: for the progress it is enough that it grows towards its end. */
static uint64_t rows_count(struct import_job *job)
{
	uint64_t n = 0;
	static const enum import_file with_rows[] = { IMPORT_BLOBS, IMPORT_QUEUES, IMPORT_TABLES };
	for (size_t f = 0; f < sizeof with_rows / sizeof *with_rows; f++) {
		struct json_walk c, w;
		struct slice file = job->ws.file[with_rows[f]];
		if (!slice_is_set(file) || !json_walk_begin(&c, json_walk_find(file, "collections")))
			continue;
		while (json_walk_next(&c))
			for (bool ok = json_walk_begin(&w, json_walk_find(c.value, "data")); ok && json_walk_next(&w);)
				n++;
	}
	return n;
}

static void print_summary(struct import_job *job)
{
	if (job->terminal)
		fprintf(stderr, "\r\033[K");
	print_counts("taken over: ", job->taken, true);
	print_counts("already there and left alone: ", job->already, false);
	if (job->expired)
		printf("left out: %llu expired messages\n", (unsigned long long)job->expired);
	if (job->leases)
		printf("left out: the leases of %llu blobs\n", (unsigned long long)job->leases);
	others_print(job);
	fflush(stdout);
	if (job->failed)
		fprintf(stderr, "zaffre: %llu failures; what they are about was not taken over\n",
			(unsigned long long)job->failed);
	if (job->stopped)
		fprintf(stderr,
			"zaffre: stopped: %s. Run the same command again: it goes on where this one ended, and what "
			"was "
			"half done is done anew\n",
			job->target.why);
}

static int job_run(struct import_job *job)
{
	job->terminal = isatty(STDERR_FILENO);
	job->rows_total = rows_count(job);
	if (import_recover(job)) {
		arena_reset(&job->row);
		import_blobs(job);
		if (!job->stopped)
			import_queues(job);
		if (!job->stopped)
			import_tables(job);
		import_finish(job);
	}
	print_summary(job);
	return job->stopped || job->failed ? 1 : 0;
}

static int usage(void)
{
	say_error(SLICE("zaffre import-azurite DIR [CONNECTION_STRING]: DIR is the workspace, the -l of Azurite"));
	return EXIT_USAGE;
}

int import_main(int argc, char **argv)
{
	struct import_job job = { 0 };
	struct buf error;
	int status = 1;
	const char *into = getenv("AZURE_STORAGE_CONNECTION_STRING");
	if (argc < 1 || argc > 2 || argv[0][0] == '-')
		return usage();
	if (argc == 2)
		into = argv[1];
	if (!into || !into[0] || strcmp(into, "UseDevelopmentStorage=true") == 0)
		into = DEVELOPMENT;
	(void)signal(SIGPIPE, SIG_IGN); /* sendfile has no MSG_NOSIGNAL */
	buf_init(&error, 64 * KIB);
	buf_init(&job.text, MIB);
	arena_init(&job.kept, GIB);
	arena_init(&job.row, 64 * MIB);
	if (!import_workspace_open(&job.ws, argv[0], &error)) {
		say_error(buf_slice(&error));
	} else if (!import_target_init(&job.target, slice_str(into), &error)) {
		say_error(buf_slice(&error));
		status = EXIT_USAGE;
	} else {
		job.account = job.target.account.name;
		status = job_run(&job);
	}
	import_target_fini(&job.target);
	import_workspace_close(&job.ws);
	arena_fini(&job.row);
	arena_fini(&job.kept);
	buf_fini(&job.text);
	buf_fini(&error);
	return status;
}

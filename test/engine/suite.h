/* SPDX-License-Identifier: Apache-2.0
 * The conformance suite: every engine passes the same tests, which know nothing but store/engine.h. An engine is
 * plugged in by a `kind` (suite.c): how to open it, and how to do to it what the contract speaks of but has no call
 * for: a power cut and damage to stored bytes. */
#ifndef TEST_ENGINE_SUITE_H
#define TEST_ENGINE_SUITE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/sys/rng.h"
#include "store/engine.h"
#include "store/key.h"

enum { SHARED_BYTES = 1024 * 1024 };

struct fixture {
	const struct kind *kind;
	struct engine *engine; /* open during a test */
	struct arena arena;    /* reset by the helpers that say so, never by others */
	char dir[64];
	void *shared; /* SHARED_BYTES that work before a crash and the test after it both see; cleared at setup */
	int shared_fd;
};

struct kind {
	const char *name;
	struct engine *(*open)(struct fixture *);
	/* Runs the work named on the engine and cuts the power when it returns; opens again. */
	void (*crash_after)(struct fixture *, const char *work);
	/* Clean close and open. */
	void (*reopen)(struct fixture *);
	/* Changes a stored byte: the one at `offset` of an extent that holds `bytes` (unlike any other) at its start.
	 */
	void (*corrupt)(struct fixture *, const struct extent_ref *, struct slice bytes, uint32_t offset);
	bool other_process; /* crash_after runs the work in another process, which can be killed at any instant */
};

/* Work for crash_after, by name, since it may run in another process. */
struct work {
	const char *name;
	void (*run)(struct engine *, void *shared);
};
extern const struct work crash_work[];
extern const size_t crash_work_count;
/* As crash_after, but the process is killed delay_us after *progress (shared) moved, whatever it does then; only where
 * kind->other_process. */
void suite_kill_during(struct fixture *, const char *work, const _Atomic uint64_t *progress, unsigned delay_us);

int suite_setup(void **state);
int suite_teardown(void **state);
#define SUITE_TEST(fn) cmocka_unit_test_setup_teardown(fn, suite_setup, suite_teardown)

extern const struct CMUnitTest rows_tests[], group_tests[], extent_tests[], crash_tests[], thread_tests[],
	model_tests[];
extern const size_t rows_test_count, group_test_count, extent_test_count, crash_test_count, thread_test_count,
	model_test_count;

/* Helpers; they fail the test on any error they do not return. Short-lived memory is their own. */
struct engine_group *group_open(struct engine *);
void group_put(struct engine_group *, const char *partition, struct slice key, struct slice value);
void group_del(struct engine_group *, const char *partition, struct slice key);
void group_done(struct engine_group *);
void commit_put(struct engine *, const char *partition, struct slice key, struct slice value);
void commit_del(struct engine *, const char *partition, struct slice key);
void commit_extent(struct engine *, enum write_kind, const struct extent_ref *);
/* value absent: expects ERR_NOT_FOUND. */
void expect_row(struct engine *, struct engine_snapshot *, const char *partition, struct slice key, struct slice value);
void expect_group_row(struct engine_group *, const char *partition, struct slice key, struct slice value);
/* All pages of [from, until) as "k=v k=v " text (values cut at 8 bytes) must equal `want`. */
void expect_text(struct fixture *, struct engine_snapshot *, struct engine_group *, const char *partition,
		 struct slice from, struct slice until, size_t limit, const char *want);
struct engine_snapshot *snapshot_open(struct engine *);
struct extent_ref extent_write(struct engine *, struct slice bytes);
void extent_expect(struct engine *, const struct extent_ref *, struct slice bytes);
/* Bytes that differ everywhere by seed; free() them. */
char *pattern_new(uint64_t seed, size_t len);
void reclaim_all(struct engine *);
struct engine_stats stats_of(struct engine *);

#endif

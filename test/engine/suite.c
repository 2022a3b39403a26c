/* SPDX-License-Identifier: Apache-2.0
 * The engines under test, the power cut, and the helpers. `conformance NAME` runs the suite on one engine;
 * `conformance --work NAME DIR WORK FD` is the process that a power cut of an engine on disk kills. */
#include "suite.h"

#include "base/buf.h"
#include "engine/mem/mem.h"
#include "engine/rocks/rocks.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* A group has no way back to its engine; the suite opens one engine at a time. */
static const struct engine_ops *group_ops;

static const struct work *work_find(const char *name)
{
	for (size_t i = 0; i < crash_work_count; i++)
		if (strcmp(crash_work[i].name, name) == 0)
			return &crash_work[i];
	fail_msg("no such work: %s", name);
	return NULL;
}

/* mem */

static struct engine *mem_open(struct fixture *f)
{
	struct engine *e;
	assert_int_equal(engine_mem_open(NULL, &e), ERR_OK);
	return e;
}

static void mem_crash_after(struct fixture *f, const char *work)
{
	work_find(work)->run(f->engine, f->shared);
	struct engine *after = engine_mem_crash(f->engine);
	f->engine->ops->close(f->engine);
	f->engine = after;
}

static void mem_reopen(struct fixture *f)
{
	struct engine *again;
	assert_int_equal(engine_mem_attach(f->engine, &again), ERR_OK);
	f->engine->ops->close(f->engine);
	f->engine = again;
}

static void mem_corrupt(struct fixture *f, const struct extent_ref *ref, struct slice bytes, uint32_t offset)
{
	assert_true(engine_mem_corrupt_extent(f->engine, ref, offset));
}

static struct engine *rocks_open_dir(const char *dir)
{
	struct engine *e = NULL;
	struct buf message;
	struct rocks_options options = { .dir = dir, .create = true, .sync_later = true };
	buf_init(&message, 64 * 1024);
	enum err err = engine_rocks_open(&options, &e, &message);
	if (err)
		fail_msg("rocks: %s: %.*s", err_name(err), SLICE_FMT(buf_slice(&message)));
	buf_fini(&message);
	return e;
}

static struct engine *rocks_open(struct fixture *f)
{
	return rocks_open_dir(f->dir);
}

static void rocks_reopen(struct fixture *f)
{
	f->engine->ops->close(f->engine);
	f->engine = rocks_open(f);
}

static pid_t work_spawn(struct fixture *f, const char *work)
{
	char fd[16];
	pid_t pid;
	snprintf(fd, sizeof fd, "%d", f->shared_fd);
	char *argv[] = { (char *)"conformance", (char *)"--work", f->dir, (char *)(uintptr_t)work, fd, NULL };
	assert_int_equal(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ), 0);
	return pid;
}

static void work_expect_killed(pid_t pid)
{
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
}

/* In a process of its own, which ends itself by SIGKILL when the work is done: the library's threads die in mid-step.
 */
static void rocks_crash_after(struct fixture *f, const char *work)
{
	f->engine->ops->close(f->engine);
	f->engine = NULL;
	work_expect_killed(work_spawn(f, work));
	f->engine = rocks_open(f);
}

static int work_main(char **argv)
{
	const struct work *work = work_find(argv[3]);
	void *shared = mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, (int)strtol(argv[4], NULL, 10), 0);
	if (shared == MAP_FAILED)
		return 2;
	struct engine *e = rocks_open_dir(argv[2]);
	group_ops = e->ops;
	work->run(e, shared);
	kill(getpid(), SIGKILL);
	return 3;
}

static bool flip_in_file(const char *path, struct slice bytes, uint32_t offset)
{
	bool found = false;
	struct stat st;
	int fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	size_t len = bytes.len < 64 ? bytes.len : 64;
	char *map = st.st_size ? mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
	if (map != MAP_FAILED) {
		char *at = memmem(map, (size_t)st.st_size, bytes.ptr, len);
		found = at != NULL;
		if (found) {
			at[offset] ^= 0x10;
			assert_int_equal(msync(map, (size_t)st.st_size, MS_SYNC), 0);
		}
		munmap(map, (size_t)st.st_size);
	}
	close(fd);
	return found;
}

static void rocks_corrupt(struct fixture *f, const struct extent_ref *ref, struct slice bytes, uint32_t offset)
{
	char path[512];
	bool found = false;
	struct dirent *entry;
	snprintf(path, sizeof path, "%s/segments", f->dir);
	DIR *d = opendir(path);
	assert_non_null(d);
	f->engine->ops->close(f->engine);
	while (!found && (entry = readdir(d)))
		if (entry->d_name[0] != '.') {
			snprintf(path, sizeof path, "%s/segments/%s", f->dir, entry->d_name);
			found = flip_in_file(path, bytes, offset);
		}
	closedir(d);
	assert_true(found);
	f->engine = rocks_open(f);
}

void suite_kill_during(struct fixture *f, const char *work, const _Atomic uint64_t *progress, unsigned delay_us)
{
	f->engine->ops->close(f->engine);
	f->engine = NULL;
	uint64_t before = atomic_load(progress);
	pid_t pid = work_spawn(f, work);
	for (int ms = 0; atomic_load(progress) == before && ms < 60000; ms++)
		usleep(1000);
	assert_true(atomic_load(progress) != before); /* it works at all */
	usleep(delay_us);
	kill(pid, SIGKILL);
	work_expect_killed(pid);
	f->engine = rocks_open(f);
}

static const struct kind kinds[] = {
	{ "mem", mem_open, mem_crash_after, mem_reopen, mem_corrupt, false },
	{ "rocks", rocks_open, rocks_crash_after, rocks_reopen, rocks_corrupt, true },
};
static const struct kind *kind;

int suite_setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	f->kind = kind;
	snprintf(f->dir, sizeof f->dir, "/tmp/zaffre-engine-XXXXXX");
	f->shared_fd = memfd_create("shared", 0); /* inherited by the work's process */
	if (!mkdtemp(f->dir) || f->shared_fd < 0 || ftruncate(f->shared_fd, SHARED_BYTES) != 0)
		return -1;
	f->shared = mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, f->shared_fd, 0);
	if (f->shared == MAP_FAILED)
		return -1;
	arena_init(&f->arena, 256 * MIB);
	f->engine = kind->open(f);
	*state = f;
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

int suite_teardown(void **state)
{
	struct fixture *f = *state;
	if (f->engine)
		f->engine->ops->close(f->engine);
	arena_fini(&f->arena);
	munmap(f->shared, SHARED_BYTES);
	close(f->shared_fd);
	nftw(f->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(f);
	return 0;
}

struct engine_group *group_open(struct engine *e)
{
	struct engine_group *g = NULL;
	assert_int_equal(e->ops->group_begin(e, &g), ERR_OK);
	return g;
}

static void accept_one(struct engine_group *g, const char *partition, struct write w)
{
	assert_int_equal(group_ops->group_accept(g, slice_str(partition), &w, 1), ERR_OK);
}

void group_put(struct engine_group *g, const char *partition, struct slice key, struct slice value)
{
	accept_one(g, partition, (struct write){ .kind = WRITE_PUT, .key = key, .value = value });
}

void group_del(struct engine_group *g, const char *partition, struct slice key)
{
	accept_one(g, partition, (struct write){ .kind = WRITE_DEL, .key = key });
}

void group_done(struct engine_group *g)
{
	assert_int_equal(group_ops->group_commit(g), OUTCOME_DONE);
}

void commit_put(struct engine *e, const char *partition, struct slice key, struct slice value)
{
	struct engine_group *g = group_open(e);
	group_put(g, partition, key, value);
	group_done(g);
}

void commit_del(struct engine *e, const char *partition, struct slice key)
{
	struct engine_group *g = group_open(e);
	group_del(g, partition, key);
	group_done(g);
}

void commit_extent(struct engine *e, enum write_kind write_kind, const struct extent_ref *ref)
{
	struct engine_group *g = group_open(e);
	accept_one(g, "extents", (struct write){ .kind = write_kind, .extent = *ref });
	group_done(g);
}

static void expect_slice(enum err err, struct slice got, struct slice want)
{
	assert_int_equal(err, want.ptr ? ERR_OK : ERR_NOT_FOUND);
	if (want.ptr) {
		assert_int_equal(got.len, want.len);
		assert_memory_equal(got.ptr, want.ptr, want.len);
	} else {
		assert_null(got.ptr); /* outputs are untouched on failure */
	}
}

void expect_row(struct engine *e, struct engine_snapshot *s, const char *partition, struct slice key, struct slice want)
{
	struct arena arena;
	struct slice got = SLICE_NONE;
	arena_init(&arena, MIB);
	enum err err = e->ops->get(e, s, slice_str(partition), key, &arena, &got);
	expect_slice(err, got, want);
	arena_fini(&arena);
}

void expect_group_row(struct engine_group *g, const char *partition, struct slice key, struct slice want)
{
	struct arena arena;
	struct slice got = SLICE_NONE;
	arena_init(&arena, MIB);
	enum err err = group_ops->group_get(g, slice_str(partition), key, &arena, &got);
	expect_slice(err, got, want);
	arena_fini(&arena);
}

void expect_text(struct fixture *f, struct engine_snapshot *s, struct engine_group *g, const char *partition,
		 struct slice from, struct slice until, size_t limit, const char *want)
{
	static struct key next; /* too large for some stacks; the suite's main thread only */
	char text[4096];
	size_t used = 0;
	text[0] = 0;
	for (bool more = true; more;) {
		struct rows rows = { 0 };
		struct scan_spec spec = { .from = from, .until = until, .limit_rows = limit };
		arena_reset(&f->arena);
		enum err err = g ? group_ops->group_scan(g, slice_str(partition), &spec, &f->arena, &rows)
				 : f->engine->ops->scan(f->engine, s, slice_str(partition), &spec, &f->arena, &rows);
		assert_int_equal(err, ERR_OK);
		if (limit)
			assert_true(rows.count <= limit);
		assert_true(rows.count || !rows.more);
		for (size_t i = 0; i < rows.count; i++)
			used += (size_t)snprintf(text + used, sizeof text - used, "%.*s=%.*s ",
						 SLICE_FMT(rows.row[i].key),
						 SLICE_FMT(slice_first(rows.row[i].value, 8)));
		more = rows.more;
		if (more) {
			key_after(&next, rows.row[rows.count - 1].key);
			from = key_slice(&next);
		}
	}
	assert_string_equal(text, want);
}

struct engine_snapshot *snapshot_open(struct engine *e)
{
	struct engine_snapshot *s = NULL;
	assert_int_equal(e->ops->snapshot_take(e, &s), ERR_OK);
	return s;
}

struct extent_ref extent_write(struct engine *e, struct slice bytes)
{
	struct extent_writer *w = NULL;
	struct extent_ref ref = { 0 };
	assert_int_equal(e->ops->extent_begin(e, (uint32_t)bytes.len, &w), ERR_OK);
	assert_int_equal(e->ops->extent_append(w, bytes), ERR_OK);
	assert_int_equal(e->ops->extent_seal(w, &ref), ERR_OK);
	assert_int_equal(ref.length_bytes, bytes.len);
	assert_true(ref.id != 0);
	return ref;
}

void extent_expect(struct engine *e, const struct extent_ref *ref, struct slice bytes)
{
	char *got = malloc(bytes.len);
	assert_int_equal(e->ops->extent_read(e, ref, 0, (uint32_t)bytes.len, got), ERR_OK);
	assert_memory_equal(got, bytes.ptr, bytes.len);
	free(got);
}

char *pattern_new(uint64_t seed, size_t len)
{
	struct rng rng;
	char *bytes = malloc(len);
	rng_init_seed(&rng, seed);
	rng_bytes(&rng, bytes, len);
	return bytes;
}

void reclaim_all(struct engine *e)
{
	bool more = true;
	for (int round = 0; more; round++) {
		assert_true(round < 10000);
		assert_int_equal(e->ops->reclaim(e, &more), ERR_OK);
	}
}

struct engine_stats stats_of(struct engine *e)
{
	struct engine_stats s;
	e->ops->stats(e, &s);
	return s;
}

static int group_setup(void **state)
{
	struct fixture *f = NULL;
	if (suite_setup((void **)&f) != 0)
		return -1;
	group_ops = f->engine->ops;
	return suite_teardown((void **)&f);
}

static int run(const char *name, const struct CMUnitTest *tests, size_t count)
{
	char title[64];
	snprintf(title, sizeof title, "engine %s: %s", kind->name, name);
	return _cmocka_run_group_tests(title, tests, count, group_setup, NULL);
}

int main(int argc, char **argv)
{
	if (argc == 5 && strcmp(argv[1], "--work") == 0) {
		argv[0] = argv[1];
		return work_main(argv);
	}
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (argc >= 2 && strcmp(kinds[i].name, argv[1]) == 0)
			kind = &kinds[i];
	if (!kind) {
		fprintf(stderr, "usage: conformance ENGINE [TEST-PATTERN]\n");
		return 2;
	}
	if (argc >= 3)
		cmocka_set_test_filter(argv[2]);
	return run("rows", rows_tests, rows_test_count) + run("groups", group_tests, group_test_count) +
	       run("extents", extent_tests, extent_test_count) + run("crash", crash_tests, crash_test_count) +
	       run("threads", thread_tests, thread_test_count) + run("model", model_tests, model_test_count);
}

/* SPDX-License-Identifier: Apache-2.0
 * Checkpoints that the server makes itself. See job.h. */
#include "server/checkpoint/job.h"

#include "base/limits.h"
#include "base/sys/log.h"
#include "base/sys/thread.h"
#include "server/checkpoint/checkpoint.h"
#include "server/checkpoint/copy.h"
#include "server/house.h"
#include "wire/json.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define FOLDER "checkpoints"
enum { NAME_MAX_BYTES = 64, FREE_LEAST_PERCENT = 5, LOOK_EVERY_BYTES = 64 * 1024 * 1024 };

enum job_state { JOB_NONE, JOB_RUNNING, JOB_DONE, JOB_CANCELLED, JOB_FAILED };
static const char *const state_word[] = { "none", "running", "done", "cancelled", "failed" };

struct checkpoint_job {
	struct house *house;
	pthread_mutex_t lock;
	pthread_t thread;
	bool thread_is_there; /* to be joined */
	bool closed, cancel;
	enum job_state state;
	uint64_t begun_ns, ended_ns, commit;
	struct clone_progress progress;
	char name[NAME_MAX_BYTES + 1];
	char path[PATH_MAX], before[PATH_MAX]; /* before empty: none */
	char reason[512];
	/* the thread's own */
	uint64_t look_bytes; /* when to look at the disk again */
	bool disk_low;
};

/* Writes that grow are refused when the disk is nearly full: a checkpoint must not make it so. */
static bool disk_is_low(const struct checkpoint_job *j)
{
	struct statvfs fs;
	return statvfs(j->house->data.path, &fs) == 0 && fs.f_bavail < fs.f_blocks / 100 * FREE_LEAST_PERCENT;
}

static bool take_progress(void *arg, const struct clone_progress *p)
{
	struct checkpoint_job *j = arg;
	if (p->copied_bytes >= j->look_bytes) {
		j->look_bytes = p->copied_bytes + LOOK_EVERY_BYTES;
		j->disk_low = disk_is_low(j);
	}
	pthread_mutex_lock(&j->lock);
	j->progress = *p;
	bool go = !j->cancel && !j->disk_low;
	pthread_mutex_unlock(&j->lock);
	return go;
}

static int ask(void *arg, const char *target, struct buf *out)
{
	static const struct query none;
	struct checkpoint_job *j = arg;
	return strcmp(target, "/checkpoint/begin") == 0 ? checkpoint_begin(j->house, &none, out)
							: checkpoint_finish(j->house, &none, out);
}

static void *job_main(void *arg)
{
	struct checkpoint_job *j = arg;
	struct checkpoint_copy copy = {
		.dir = j->path, .before = j->before[0] ? j->before : NULL, .ask = ask, .arg = j
	};
	copy.progress.note = take_progress;
	copy.progress.note_arg = j;
	buf_init(&copy.error, 64 * KIB);
	pthread_setname_np(pthread_self(), "checkpoint copy");
	thread_lower_priority(THREAD_TIDIES);
	bool ok = checkpoint_copy_run(&copy);
	if (!ok)
		clone_remove_tree(j->path);
	pthread_mutex_lock(&j->lock);
	j->progress = copy.progress;
	j->commit = copy.commit;
	j->ended_ns = base_monotonic_ns();
	j->state = ok ? JOB_DONE : j->cancel ? JOB_CANCELLED : JOB_FAILED;
	if (j->disk_low)
		snprintf(j->reason, sizeof j->reason, "less than %d %% of the disk is free", FREE_LEAST_PERCENT);
	else
		snprintf(j->reason, sizeof j->reason, "%.*s", SLICE_FMT(buf_slice(&copy.error)));
	const char *word = state_word[j->state];
	pthread_mutex_unlock(&j->lock);
	log_info("checkpoint %s %s: %llu bytes copied, %llu shared%s%s", j->name, word,
		 (unsigned long long)copy.progress.copied_bytes, (unsigned long long)copy.progress.linked_bytes,
		 copy.error.len ? ": " : "", j->reason);
	buf_fini(&copy.error);
	return NULL;
}

/* ---- commands ---- */

/* Under the lock. */
static void put_progress(const struct checkpoint_job *j, struct buf *out)
{
	const struct clone_progress *p = &j->progress;
	uint64_t done = p->copied_bytes + p->linked_bytes, end_ns = j->ended_ns ? j->ended_ns : base_monotonic_ns();
	unsigned percent = j->state == JOB_DONE		       ? 100
			   : !p->total_bytes		       ? 0
			   : done * 100 / p->total_bytes >= 99 ? 99
							       : (unsigned)(done * 100 / p->total_bytes);
	buf_printf(out, "{\"state\":\"%s\",\"percent\":%u,\"name\":\"%s\",\"path\":\"", state_word[j->state], percent,
		   j->name);
	json_put_text(out, slice_str(j->path));
	buf_printf(out, "\",\"copiedBytes\":%llu,\"sharedBytes\":%llu,\"totalBytes\":%llu,\"commit\":%llu",
		   (unsigned long long)p->copied_bytes, (unsigned long long)p->linked_bytes,
		   (unsigned long long)p->total_bytes, (unsigned long long)j->commit);
	buf_printf(out, ",\"seconds\":%.3f,\"reason\":\"", j->begun_ns ? (double)(end_ns - j->begun_ns) / 1e9 : 0.0);
	json_put_text(out, slice_str(j->reason));
	BUF_PUT(out, "\"}\n");
}

static bool name_is_valid(struct slice name)
{
	if (!slice_is_set(name) || !name.len || name.len > NAME_MAX_BYTES || name.ptr[0] == '.')
		return false;
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];
		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '.' &&
		    c != '-' && c != '_')
			return false;
	}
	return true;
}

static bool path_of(const struct checkpoint_job *j, struct slice name, char ret[PATH_MAX])
{
	int n = snprintf(ret, PATH_MAX, "%s/" FOLDER "/%.*s", j->house->data.path, SLICE_FMT(name));
	return n > 0 && n < PATH_MAX;
}

/* Under the lock. */
static bool begin(struct checkpoint_job *j, struct slice name, struct slice previous)
{
	char folder[PATH_MAX];
	if (j->thread_is_there)
		pthread_join(j->thread, NULL); /* it has nothing left to do */
	j->thread_is_there = j->cancel = j->disk_low = false;
	j->look_bytes = 0;
	j->before[0] = j->reason[0] = 0;
	j->begun_ns = base_monotonic_ns();
	j->ended_ns = j->commit = 0;
	j->progress = (struct clone_progress){ 0 };
	snprintf(j->name, sizeof j->name, "%.*s", SLICE_FMT(name));
	if (!path_of(j, name, j->path) || (slice_is_set(previous) && !path_of(j, previous, j->before)) ||
	    !path_of(j, SLICE(""), folder) || (mkdir(folder, 0700) != 0 && errno != EEXIST))
		return false;
	j->thread_is_there = pthread_create(&j->thread, NULL, job_main, j) == 0;
	if (j->thread_is_there)
		j->state = JOB_RUNNING;
	return j->thread_is_there;
}

int checkpoint_job_start(struct house *h, const struct query *q, struct buf *out)
{
	struct checkpoint_job *j = h->checkpoint;
	struct slice name = query_get(q, SLICE("name")), previous = query_get(q, SLICE("previous"));
	struct stat st;
	char path[PATH_MAX];
	int status = 409;
	if (!name_is_valid(name) || (slice_is_set(previous) && !name_is_valid(previous)) || !path_of(j, name, path)) {
		BUF_PUT(out, "a name has 1 to 64 letters, digits, '-', '_' and '.'\n");
		return 400;
	}
	pthread_mutex_lock(&j->lock);
	if (h->config->inMemoryPersistence)
		BUF_PUT(out, "this server keeps its data in memory: there is nothing to copy\n");
	else if (j->state == JOB_RUNNING || j->closed)
		BUF_PUT(out, "another checkpoint is being made, or the server is ending\n");
	else if (lstat(path, &st) == 0)
		buf_printf(out, "there is a checkpoint %.*s already\n", SLICE_FMT(name));
	else if (!begin(j, name, previous)) {
		buf_printf(out, "cannot begin: %s\n", strerror(errno));
		status = 500;
	} else {
		put_progress(j, out);
		status = 200;
	}
	pthread_mutex_unlock(&j->lock);
	return status;
}

int checkpoint_job_progress(struct house *h, const struct query *q, struct buf *out)
{
	struct checkpoint_job *j = h->checkpoint;
	pthread_mutex_lock(&j->lock);
	put_progress(j, out);
	pthread_mutex_unlock(&j->lock);
	return 200;
}

int checkpoint_job_cancel(struct house *h, const struct query *q, struct buf *out)
{
	struct checkpoint_job *j = h->checkpoint;
	pthread_mutex_lock(&j->lock);
	bool running = j->state == JOB_RUNNING;
	j->cancel = running;
	if (running)
		put_progress(j, out);
	else
		BUF_PUT(out, "no checkpoint is being made\n");
	pthread_mutex_unlock(&j->lock);
	return running ? 200 : 409;
}

struct listing {
	int folder;
	struct buf *out;
	bool any;
};

static bool list_one(void *arg, const char *name)
{
	struct listing *l = arg;
	struct stat st;
	char file[NAME_MAX_BYTES + sizeof "/" CHECKPOINT_FILE];
	if (!name_is_valid(slice_str(name)))
		return true;
	snprintf(file, sizeof file, "%s/" CHECKPOINT_FILE, name);
	if (fstatat(l->folder, file, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return true; /* not finished */
	buf_printf(l->out, "%s{\"name\":\"%s\",\"seconds\":%lld}", l->any ? "," : "", name,
		   (long long)st.st_mtim.tv_sec);
	l->any = true;
	return true;
}

int checkpoint_job_list(struct house *h, const struct query *q, struct buf *out)
{
	char path[PATH_MAX];
	struct listing l = { .folder = -1, .out = out };
	if (path_of(h->checkpoint, SLICE(""), path))
		l.folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	BUF_PUT(out, "{\"checkpoints\":[");
	if (l.folder >= 0) {
		(void)clone_each_name(l.folder, list_one, &l);
		close(l.folder);
	}
	BUF_PUT(out, "]}\n");
	return 200;
}

int checkpoint_job_remove(struct house *h, const struct query *q, struct buf *out)
{
	struct checkpoint_job *j = h->checkpoint;
	struct slice name = query_get(q, SLICE("name"));
	struct stat st;
	char path[PATH_MAX];
	int status = 409;
	if (!name_is_valid(name) || !path_of(j, name, path)) {
		BUF_PUT(out, "a name has 1 to 64 letters, digits, '-', '_' and '.'\n");
		return 400;
	}
	pthread_mutex_lock(&j->lock);
	if (j->state == JOB_RUNNING) {
		BUF_PUT(out, "a checkpoint is being made, which may share with that one: wait for it\n");
	} else if (lstat(path, &st) != 0) {
		buf_printf(out, "there is no checkpoint %.*s\n", SLICE_FMT(name));
		status = 404;
	} else {
		clone_remove_tree(path);
		status = 200;
	}
	pthread_mutex_unlock(&j->lock);
	return status == 200 ? checkpoint_job_list(h, q, out) : status;
}

/* ---- life ---- */

static bool remove_unfinished(void *arg, const char *name)
{
	struct stat st;
	char path[PATH_MAX], file[PATH_MAX + sizeof "/" CHECKPOINT_FILE];
	if (!path_of(arg, slice_str(name), path))
		return true;
	snprintf(file, sizeof file, "%s/" CHECKPOINT_FILE, path);
	if (lstat(file, &st) != 0 && errno == ENOENT)
		clone_remove_tree(path);
	return true;
}

/* What a killed server left. */
static void folder_clean(struct checkpoint_job *j)
{
	char path[PATH_MAX];
	int folder = j->house->config->inMemoryPersistence || !path_of(j, SLICE(""), path)
			     ? -1
			     : open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return;
	(void)clone_each_name(folder, remove_unfinished, j);
	close(folder);
}

struct checkpoint_job *checkpoint_job_new(struct house *h)
{
	struct checkpoint_job *j = calloc(1, sizeof *j);
	if (!j)
		return NULL;
	j->house = h;
	pthread_mutex_init(&j->lock, NULL);
	folder_clean(j);
	return j;
}

void checkpoint_job_end(struct checkpoint_job *j)
{
	if (!j)
		return;
	pthread_mutex_lock(&j->lock);
	j->closed = j->cancel = true;
	bool join = j->thread_is_there;
	j->thread_is_there = false;
	pthread_mutex_unlock(&j->lock);
	if (join)
		pthread_join(j->thread, NULL);
}

void checkpoint_job_free(struct checkpoint_job *j)
{
	if (!j)
		return;
	pthread_mutex_destroy(&j->lock);
	free(j);
}

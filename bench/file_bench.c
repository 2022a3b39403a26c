/* SPDX-License-Identifier: Apache-2.0
 * Figures of svc/file on the rocks engine, without network or front end. Each row tells operations a second and the
 * processor time of one, which a busy machine does not distort.
 *   file_bench DIR create COUNT OUTSTANDING      files of 4 KiB, created with their bytes
 *   file_bench DIR blob COUNT OUTSTANDING        the same as blobs, to compare
 *   file_bench DIR overwrite MIB COUNT OUTSTANDING   random 4 KiB in one file, with the background; a row for each
 * tenth
 *   file_bench DIR pieces COUNT BYTES APART [alone]   one file written in COUNT pieces of BYTES, each APART from the
 *     next, in scattered order, beside the background; then listed, read, merged and deleted, each with its time and
 *     memory. "alone": in order, and the background begins only behind the writers
 *   file_bench DIR snapshot                      taking snapshots
 *   file_bench DIR list                          the root directory, pages of 5,000 */
#include "base/limits.h"
#include "base/sys/rng.h"
#include "engine/rocks/rocks.h"
#include "store/extent.h"
#include "store/key.h"
#include "svc/blob/blob.h"
#include "svc/common/generation.h"
#include "svc/file/file.h"
#include "svc/file/open.h"
#include "svc/file/share.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { PIECE_BYTES = 4096, PIECES_A_COMMIT = 32, PIECES_MAX_BYTES = 512, OUTSTANDING_MAX = 256, NAME_BYTES = 32 };

static struct store *store;
static struct clock wall;
static char noise[4 * 1024 * 1024], scratch[1024 * 1024];
static char partition_bytes[2][64];
static struct slice share, container;

static void die(const char *what, enum err err)
{
	fprintf(stderr, "%s: %s\n", what, err_name(err));
	exit(1);
}

static enum err apply_share(struct txn *txn, void *call)
{
	struct share_create c;
	enum err e = generation_require(txn, ERR_SHARE_NOT_FOUND);
	if (e != ERR_SHARE_NOT_FOUND)
		return e;
	share_create_init(&c, SLICE("s"), 1);
	c.base.reserved = true;
	return share_create_open(txn, &c);
}

static enum err apply_container(struct txn *txn, void *call)
{
	return generation_open(txn);
}

static struct slice partition(char kind, char *dst)
{
	struct key k;
	key_partition(&k, SLICE("bench"), kind, 1);
	memcpy(dst, k.bytes, k.len);
	return slice_make(dst, k.len);
}

static void write_now(struct slice where, apply_fn *apply, void *call)
{
	struct arena arena;
	arena_init(&arena, 64 * MIB);
	enum err e = store_write_wait(store, where, apply, call, &arena);
	if (e != ERR_OK)
		die("write", e);
	arena_fini(&arena);
}

static void open_all(const char *dir)
{
	struct engine *e;
	struct buf message;
	struct rng rng;
	struct rocks_options o = { .dir = dir, .create = true };
	buf_init(&message, 4096);
	if (engine_rocks_open(&o, &e, &message) != ERR_OK) {
		fprintf(stderr, "%.*s\n", SLICE_FMT(buf_slice(&message)));
		exit(1);
	}
	buf_fini(&message);
	clock_init_wall(&wall, NULL);
	enum err err = store_open(e, &(struct store_options){ .clock = &wall }, &store);
	if (err != ERR_OK)
		die("store_open", err);
	rng_init_seed(&rng, 1);
	rng_bytes(&rng, noise, sizeof noise);
	share = partition(RESOURCE_SHARE, partition_bytes[0]);
	container = partition(RESOURCE_CONTAINER, partition_bytes[1]);
	write_now(share, apply_share, NULL);
	write_now(container, apply_container, NULL);
}

/* ---- rows of figures ---- */

struct figures {
	uint64_t ns, cpu_ns;
};

static struct figures figures_now(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	uint64_t us = (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000u +
		      (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
	return (struct figures){ base_monotonic_ns(), us * 1000 };
}

static void figures_say(const char *what, uint64_t count, struct figures since)
{
	struct figures now = figures_now();
	printf("%-24s %9llu in %7.2f s: %9.0f a second, %7.1f us of processor each\n", what, (unsigned long long)count,
	       (double)(now.ns - since.ns) / 1e9, (double)count * 1e9 / (double)(now.ns - since.ns),
	       (double)(now.cpu_ns - since.cpu_ns) / 1e3 / (double)count);
}

/* ---- many writes in flight ---- */

struct job {
	struct store_job job;
	struct arena arena;
	struct slice name;
	char name_bytes[NAME_BYTES];
	struct payload payload;
	struct file_breaks breaks;
	struct file_create_call create;
	struct file_write_call write;
	struct blob_put_call put;
	uint64_t number;
};

static struct job jobs[OUTSTANDING_MAX];
static _Atomic uint64_t next_number, finished;
static uint64_t total, file_pages, first_number;
static sem_t all_done;
static enum { KIND_CREATE, KIND_BLOB, KIND_OVERWRITE, KIND_PIECES } kind;
static struct rng place_rng;
static pthread_mutex_t place_lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t random_page(void)
{
	pthread_mutex_lock(&place_lock);
	uint64_t page = rng_below(&place_rng, file_pages);
	pthread_mutex_unlock(&place_lock);
	return page;
}

/* ---- a file in very many pieces ---- */

static uint64_t piece_bytes = PIECE_BYTES, piece_apart, piece_count;
static bool piece_in_order;

/* Each exactly once, scattered: the step has no divisor in common with any count below it. */
static uint64_t piece_offset(uint64_t n)
{
	static const uint64_t step = UINT64_C(2654435761); /* a prime */
	return (piece_in_order ? n : n * step % piece_count) * piece_apart;
}

/* Several pieces in a commit, as a client that pipelines has them: what is measured is what comes after. */
static enum err apply_pieces(struct txn *txn, void *call)
{
	static const struct file_view live = { 0 };
	const struct job *j = call;
	struct inode n;
	enum err e = inode_find(txn, &live, &j->write.target.place, NULL, &n);
	for (uint64_t i = 0; e == ERR_OK && i < PIECES_A_COMMIT && j->number + i < piece_count; i++)
		e = inode_write(txn, &n, piece_offset(j->number + i), &j->payload);
	n.etag++;
	return e == ERR_OK ? inode_put(txn, &n) : e;
}

static void job_start(struct job *j);

static void job_done(struct store_job *sj, enum err result)
{
	struct job *j = sj->owner;
	if (result != ERR_OK)
		die("write", result);
	arena_reset(&j->arena);
	job_start(j); /* before it counts: the last one to finish starts nothing */
	if (atomic_fetch_add(&finished, 1) + 1 == total)
		sem_post(&all_done);
}

static void job_start(struct job *j)
{
	uint64_t n = atomic_fetch_add(&next_number, 1);
	if (n >= total)
		return;
	struct file_target target = { .kind = FILE_KIND_FILE, .breaks = &j->breaks, .place.path = { &j->name, 1 } };
	j->payload = (struct payload){ .length_bytes = PIECE_BYTES,
				       .inline_bytes =
					       slice_make(noise + n * 512 % (sizeof noise - PIECE_BYTES), PIECE_BYTES),
				       .borrowed = true };
	j->name = slice_make(j->name_bytes, (size_t)snprintf(j->name_bytes, sizeof j->name_bytes, "file-%010llu",
							     (unsigned long long)(first_number + n)));
	j->job = (struct store_job){ .partition = share, .arena = &j->arena, .done = job_done, .owner = j };
	if (kind == KIND_CREATE) {
		j->create = (struct file_create_call){ .target = target,
						       .size_bytes = PIECE_BYTES,
						       .payload = &j->payload };
		j->job.apply = file_apply_create;
		j->job.call = &j->create;
	} else if (kind == KIND_BLOB) {
		j->put = (struct blob_put_call){ .target = { .name = j->name },
						 .type = BLOB_BLOCK,
						 .payload = &j->payload,
						 .content_id = 1 + first_number + n,
						 .may_overwrite = true };
		j->job.partition = container;
		j->job.apply = blob_apply_put;
		j->job.call = &j->put;
	} else if (kind == KIND_PIECES) {
		j->name = SLICE("large");
		j->payload.inline_bytes.len = j->payload.length_bytes = piece_bytes;
		j->write.target = target;
		j->number = n * PIECES_A_COMMIT;
		j->job.apply = apply_pieces;
		j->job.call = j;
	} else {
		j->name = SLICE("large");
		j->write = (struct file_write_call){ .target = target,
						     .offset = random_page() * PIECE_BYTES,
						     .length = PIECE_BYTES,
						     .payload = &j->payload };
		j->job.apply = file_apply_write;
		j->job.call = &j->write;
	}
	store_write(store, &j->job);
}

static void run_jobs(uint64_t count, unsigned outstanding)
{
	total = count;
	atomic_store(&next_number, 0);
	atomic_store(&finished, 0);
	sem_init(&all_done, 0, 0);
	for (unsigned i = 0; i < outstanding && i < OUTSTANDING_MAX; i++) {
		if (!jobs[i].arena.limit_bytes)
			arena_init(&jobs[i].arena, 8 * MIB);
		job_start(&jobs[i]);
	}
	sem_wait(&all_done);
}

/* ---- the modes ---- */

static void mode_many(const char *what, uint64_t count, unsigned outstanding)
{
	first_number = (uint64_t)clock_now(&wall) % 1000000 * 10000;
	struct figures since = figures_now();
	run_jobs(count, outstanding);
	figures_say(what, count, since);
}

static void make_large(uint64_t mib)
{
	struct slice name = SLICE("large");
	struct file_breaks breaks;
	struct file_target target = { .kind = FILE_KIND_FILE, .breaks = &breaks, .place.path = { &name, 1 } };
	struct file_create_call c = { .target = target, .size_bytes = mib * MIB };
	write_now(share, file_apply_create, &c);
	for (uint64_t at = 0; at < mib * MIB; at += sizeof noise) {
		struct payload_writer *w;
		struct payload p;
		enum err e = payload_writer_new(store, sizeof noise, &w);
		if (e == ERR_OK)
			e = payload_append(w, slice_make(noise, sizeof noise));
		if (e == ERR_OK)
			e = payload_finish(w, &p);
		if (e != ERR_OK)
			die("payload", e);
		struct file_write_call write = {
			.target = target, .offset = at, .length = sizeof noise, .payload = &p
		};
		write_now(share, file_apply_write, &write);
		payload_fini(&p);
	}
}

static atomic_bool stopping;

static void *background(void *arg)
{
	bool more = false;
	uint64_t *rounds = arg;
	while (!atomic_load(&stopping)) {
		enum err e = file_round(store, share, &more);
		if (e != ERR_OK)
			die("file_round", e);
		*rounds += more;
		if (!more)
			nanosleep(&(struct timespec){ .tv_nsec = 50 * 1000 * 1000 }, NULL);
	}
	return NULL;
}

static void make_sparse(uint64_t bytes)
{
	struct slice name = SLICE("large");
	struct file_breaks breaks;
	struct file_target target = { .kind = FILE_KIND_FILE, .breaks = &breaks, .place.path = { &name, 1 } };
	struct file_create_call c = { .target = target, .size_bytes = bytes };
	write_now(share, file_apply_create, &c);
}

/* What the process has in memory now, and had at most. */
static void memory_say(const char *what)
{
	char line[256];
	FILE *f = fopen("/proc/self/status", "r");
	long now = 0, most = 0;
	while (f && fgets(line, sizeof line, f)) {
		sscanf(line, "VmRSS: %ld", &now);
		sscanf(line, "VmHWM: %ld", &most);
	}
	if (f)
		fclose(f);
	printf("%-24s %ld MiB resident, at most %ld\n", what, now / 1024, most / 1024);
	fflush(stdout);
}

static uint64_t read_large(uint64_t bytes)
{
	struct slice name = SLICE("large");
	struct file_breaks breaks;
	struct arena arena;
	uint64_t pieces = 0;
	arena_init(&arena, 64 * MIB);
	for (uint64_t at = 0; at < bytes;) {
		struct file_get_call c = {
			.target = { .kind = FILE_KIND_FILE, .breaks = &breaks, .place.path = { &name, 1 } },
			.want_bytes = true,
			.has_range = true,
			.range_first = at,
			.range_last = bytes - 1,
			.piece_limit = 1000
		};
		uint64_t pin = extent_pin(store);
		arena_reset(&arena);
		enum err e = store_read(store, share, file_apply_get, &c, &arena);
		for (size_t i = 0; e == ERR_OK && i < c.pieces.count; i++) {
			const struct file_piece *p = &c.pieces.piece[i];
			pieces += slice_is_set(p->bytes) || p->extent.length_bytes;
			for (uint64_t done = 0; e == ERR_OK && p->extent.length_bytes && done < p->length_bytes;) {
				uint64_t rest = p->length_bytes - done;
				uint32_t part = (uint32_t)(rest < sizeof scratch ? rest : sizeof scratch);
				e = extent_read(store, &p->extent, p->offset + (uint32_t)done, part, scratch);
				done += part;
			}
		}
		extent_unpin(store, pin);
		if (e != ERR_OK)
			die("read", e);
		at += c.pieces.length_bytes;
	}
	arena_fini(&arena);
	return pieces;
}

static uint64_t list_large(void)
{
	struct slice name = SLICE("large");
	struct file_breaks breaks;
	struct arena arena;
	uint64_t ranges = 0;
	struct file_ranges_call c = {
		.target = { .kind = FILE_KIND_FILE, .breaks = &breaks, .place.path = { &name, 1 } }, .limit = 10000
	};
	arena_init(&arena, 64 * MIB);
	do {
		arena_reset(&arena);
		enum err e = store_read(store, share, file_apply_ranges, &c, &arena);
		if (e != ERR_OK)
			die("list ranges", e);
		ranges += c.count;
		c.from = c.next;
	} while (c.more);
	arena_fini(&arena);
	return ranges;
}

static enum err apply_waits(struct txn *txn, void *call)
{
	struct rows rows;
	struct scan_spec spec = { .from = SLICE("m"), .until = SLICE("n"), .limit_rows = 1, .keys_only = true };
	enum err e = txn_scan(txn, &spec, &rows);
	*(bool *)call = e == ERR_OK && rows.count;
	return e;
}

/* A file that was written while it was merged is merged again after a while. */
static bool merge_waits(void)
{
	struct arena arena;
	bool waits = false;
	arena_init(&arena, 1 * MIB);
	enum err e = store_read(store, share, apply_waits, &waits, &arena);
	if (e != ERR_OK)
		die("look for merges", e);
	arena_fini(&arena);
	return waits;
}

/* Rounds of the background until it has nothing to do; the longest of them is what another commit may wait for. */
static void settle(const char *what, uint64_t pieces)
{
	struct figures since = figures_now();
	uint64_t rounds = 0, longest_ns = 0;
	for (bool more = true; more; rounds++) {
		uint64_t begin_ns = base_monotonic_ns();
		enum err e = file_round(store, share, &more);
		if (e != ERR_OK)
			die("file_round", e);
		uint64_t ns = base_monotonic_ns() - begin_ns;
		longest_ns = ns > longest_ns ? ns : longest_ns;
		if (!more && merge_waits()) {
			more = true;
			nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
		}
	}
	figures_say(what, pieces, since);
	printf("%-24s %llu rounds, the longest %.1f ms\n", what, (unsigned long long)rounds, (double)longest_ns / 1e6);
	memory_say(what);
}

static void read_and_list(uint64_t bytes, const char *read, const char *list)
{
	struct figures since = figures_now();
	uint64_t count = read_large(bytes);
	figures_say(read, count, since);
	memory_say(read);
	since = figures_now();
	count = list_large();
	figures_say(list, count, since);
	memory_say(list);
}

static void mode_pieces(uint64_t count, uint64_t bytes, uint64_t apart, bool alone)
{
	pthread_t thread;
	uint64_t rounds = 0;
	struct slice name = SLICE("large");
	struct file_breaks breaks;
	if (bytes > PIECES_MAX_BYTES || apart < bytes) /* more would be no part of the rows */
		die("pieces", ERR_INVALID_INPUT);
	piece_count = count;
	piece_bytes = bytes;
	piece_apart = apart;
	piece_in_order = alone;
	make_sparse(count * apart);
	kind = KIND_PIECES;
	memory_say("begin");
	struct figures since = figures_now();
	if (!alone)
		pthread_create(&thread, NULL, background, &rounds);
	run_jobs((count + PIECES_A_COMMIT - 1) / PIECES_A_COMMIT, 64);
	if (!alone) {
		atomic_store(&stopping, true);
		pthread_join(thread, NULL);
	}
	figures_say("write", count, since);
	memory_say("write");
	read_and_list(count * apart, "read", "list ranges");
	settle("merge", count);
	read_and_list(count * apart, "read, merged", "list ranges, merged");
	struct file_delete_call d = { .target = {
					      .kind = FILE_KIND_FILE, .breaks = &breaks, .place.path = { &name, 1 } } };
	since = figures_now();
	write_now(share, file_apply_delete, &d);
	figures_say("delete", 1, since);
	settle("after the delete", count);
}

static void mode_overwrite(uint64_t mib, uint64_t count, unsigned outstanding)
{
	pthread_t thread;
	uint64_t rounds = 0;
	char what[32];
	make_large(mib);
	file_pages = mib * MIB / PIECE_BYTES;
	rng_init_seed(&place_rng, 2);
	kind = KIND_OVERWRITE;
	pthread_create(&thread, NULL, background, &rounds);
	for (int tenth = 1; tenth <= 10; tenth++) {
		struct figures since = figures_now();
		run_jobs(count / 10, outstanding);
		snprintf(what, sizeof what, "overwrite, tenth %d", tenth);
		figures_say(what, count / 10, since);
	}
	atomic_store(&stopping, true);
	pthread_join(thread, NULL);
	printf("%llu rounds of the background\n", (unsigned long long)rounds);
}

static void mode_snapshot(void)
{
	struct figures since = figures_now();
	enum { TIMES = 20 };
	for (int i = 0; i < TIMES; i++) {
		struct share_snapshot_call c = { .has_metadata = false };
		write_now(share, share_apply_snapshot, &c);
		struct share_snapshot_call d = { .ticks = c.snapshot.ticks };
		write_now(share, share_apply_delete_snapshot, &d);
	}
	figures_say("snapshot and drop", TIMES, since);
}

static void mode_list(void)
{
	struct arena arena;
	struct file_list_call c = { .target = { .kind = FILE_KIND_DIRECTORY }, .limit = 5000 };
	char next[NAME_BYTES * 40];
	uint64_t count = 0;
	arena_init(&arena, 64 * MIB);
	struct figures since = figures_now();
	do {
		arena_reset(&arena);
		enum err e = store_read(store, share, file_apply_list, &c, &arena);
		if (e != ERR_OK)
			die("list", e);
		count += c.count;
		if (c.more)
			memcpy(next, c.next.ptr, c.next.len);
		c.from = slice_make(next, c.next.len);
	} while (c.more);
	figures_say("list", count, since);
	arena_fini(&arena);
	struct blob_list_call b = { .limit = 5000, .base_too = true };
	arena_init(&arena, 64 * MIB);
	count = 0;
	since = figures_now();
	do {
		arena_reset(&arena);
		enum err e = store_read(store, container, blob_apply_list, &b, &arena);
		if (e != ERR_OK)
			die("list blobs", e);
		count += b.count;
		if (b.more)
			memcpy(next, b.next.ptr, b.next.len);
		b.from = slice_make(next, b.next.len);
	} while (b.more);
	if (count)
		figures_say("list blobs", count, since);
	arena_fini(&arena);
}

static uint64_t number(int argc, char **argv, int at, uint64_t otherwise)
{
	return at < argc ? strtoull(argv[at], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "file_bench DIR create|blob|overwrite|pieces|snapshot|list ...\n");
		return 2;
	}
	open_all(argv[1]);
	struct slice mode = slice_str(argv[2]);
	if (slice_eq(mode, SLICE("create"))) {
		kind = KIND_CREATE;
		mode_many("create 4 KiB", number(argc, argv, 3, 100000), (unsigned)number(argc, argv, 4, 64));
	} else if (slice_eq(mode, SLICE("blob"))) {
		kind = KIND_BLOB;
		mode_many("put blob 4 KiB", number(argc, argv, 3, 100000), (unsigned)number(argc, argv, 4, 64));
	} else if (slice_eq(mode, SLICE("overwrite"))) {
		mode_overwrite(number(argc, argv, 3, 1024), number(argc, argv, 4, 100000),
			       (unsigned)number(argc, argv, 5, 64));
	} else if (slice_eq(mode, SLICE("pieces"))) {
		mode_pieces(number(argc, argv, 3, 1000000), number(argc, argv, 4, 256), number(argc, argv, 5, 256),
			    argc > 6);
	} else if (slice_eq(mode, SLICE("snapshot"))) {
		mode_snapshot();
	} else if (slice_eq(mode, SLICE("list"))) {
		mode_list();
	}
	store_close(store);
	return 0;
}

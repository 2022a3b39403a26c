/* SPDX-License-Identifier: Apache-2.0
 * Figures of the store on the rocks engine, without network or service:
 *   store_bench DIR fill COUNT BYTES           COUNT records, keys in order
 *   store_bench DIR put BYTES OUTSTANDING SECONDS KEYS
 *   store_bench DIR update BYTES OUTSTANDING SECONDS KEYS    read, then put
 *   store_bench DIR payload BYTES OUTSTANDING SECONDS record|extent|extent-buffered
 *   store_bench DIR get KEYS HOT THREADS SECONDS cache|points|snapshot
 *   store_bench DIR open                       time to open, resident memory
 * Each job is queued again from its own done, so the committer is never short of work. */
#include "base/bytes.h"
#include "base/limits.h"
#include "base/sys/rng.h"
#include "engine/rocks/rocks.h"
#include "store/extent.h"
#include "store/key.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#define PARTITION                                                                                                      \
	SLICE("bench\x01"                                                                                              \
	      "c\x80\x80\x80\x80\x80\x80\x80\x80\x80\x81")
enum { JOBS_MAX = 4096, LATENCY_SLOTS = 100000 };

static struct store *store;
static struct clock wall;
static atomic_bool stopping;
static atomic_size_t running;
static char noise[8 * 1024 * 1024];
static uint64_t key_count = 1000000;
static size_t value_bytes = 300;
static bool reads_first;
static unsigned latency[LATENCY_SLOTS]; /* by 10 us */

struct job {
	struct store_job job;
	struct arena arena;
	struct rng rng;
	struct payload payload;
	uint64_t key, started_ns, count;
	enum { JOB_PUT, JOB_PAYLOAD, JOB_FILL } kind;
};
static struct job jobs[JOBS_MAX];

static void die(const char *what, enum err err)
{
	fprintf(stderr, "%s: %s\n", what, err_name(err));
	exit(1);
}

static struct store *open_store(const char *dir, bool buffered)
{
	struct engine *e;
	struct store *s;
	struct buf message;
	buf_init(&message, 4096);
	struct rocks_options o = { .dir = dir, .create = true, .buffered = buffered };
	enum err err = engine_rocks_open(&o, &e, &message);
	if (err != ERR_OK) {
		fprintf(stderr, "%.*s\n", SLICE_FMT(buf_slice(&message)));
		exit(1);
	}
	buf_fini(&message);
	clock_init_wall(&wall, NULL);
	err = store_open(e, &(struct store_options){ .clock = &wall }, &s);
	if (err != ERR_OK)
		die("store_open", err);
	return s;
}

static void make_key(struct key *k, uint64_t n)
{
	char name[32];
	key_init(k);
	key_tag(k, 'b');
	key_str(k, slice_make(name, (size_t)snprintf(name, sizeof name, "blob-%010llu", (unsigned long long)n)));
}

static enum err apply(struct txn *t, void *call)
{
	struct job *j = call;
	struct key k;
	make_key(&k, j->key);
	if (reads_first) {
		struct slice old;
		enum err err = txn_get(t, key_slice(&k), &old);
		if (err != ERR_OK && err != ERR_NOT_FOUND)
			return err;
	}
	if (j->kind == JOB_PAYLOAD && j->payload.extent_count) {
		struct slice old;
		struct buf b;
		enum err err = txn_get(t, key_slice(&k), &old);
		if (err == ERR_OK && old.len == EXTENT_REF_BYTES) {
			struct cursor c = cursor_make(old);
			struct extent_ref ref = extent_ref_decode(&c);
			TRY(txn_retire(t, &ref));
		}
		buf_init(&b, 4096);
		extent_ref_encode(&b, &j->payload.extents[0]);
		err = txn_publish(t, &j->payload.extents[0]);
		if (err == ERR_OK)
			err = txn_put(t, key_slice(&k), buf_slice(&b));
		buf_fini(&b);
		return err;
	}
	return txn_put(t, key_slice(&k), slice_make(noise + j->key % 4096, value_bytes));
}

static void submit(struct job *j);

static void done(struct store_job *sj, enum err result)
{
	struct job *j = sj->owner;
	if (result != ERR_OK)
		die("write", result);
	uint64_t us = (base_monotonic_ns() - j->started_ns) / 1000;
	latency[us / 10 < LATENCY_SLOTS ? us / 10 : LATENCY_SLOTS - 1]++;
	payload_fini(&j->payload);
	arena_reset(&j->arena);
	j->count++;
	if (atomic_load(&stopping)) {
		atomic_fetch_sub(&running, 1);
		return;
	}
	submit(j);
}

static _Atomic uint64_t fill_next;

static void submit(struct job *j)
{
	if (j->kind == JOB_FILL) {
		j->key = atomic_fetch_add(&fill_next, 1);
		if (j->key >= key_count) {
			atomic_fetch_sub(&running, 1);
			return;
		}
	} else {
		j->key = rng_below(&j->rng, key_count);
	}
	j->started_ns = base_monotonic_ns();
	store_write(store, &j->job);
}

static void start_jobs(size_t outstanding, int kind)
{
	running = outstanding;
	for (size_t i = 0; i < outstanding; i++) {
		struct job *j = &jobs[i];
		arena_init(&j->arena, 64 * MIB);
		rng_init_seed(&j->rng, i + 1);
		j->kind = (__typeof__(j->kind))kind;
		j->job = (struct store_job){
			.partition = PARTITION, .apply = apply, .call = j, .arena = &j->arena, .done = done, .owner = j
		};
	}
	for (size_t i = 0; i < outstanding; i++)
		submit(&jobs[i]);
}

static long resident_kib(void)
{
	char line[256];
	long kib = 0;
	FILE *f = fopen("/proc/self/status", "r");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "VmRSS: %ld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

static double cpu_seconds(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
	       ((double)u.ru_utime.tv_usec + (double)u.ru_stime.tv_usec) / 1e6;
}

static unsigned percentile(uint64_t total, double share)
{
	uint64_t want = (uint64_t)((double)total * share), seen = 0;
	for (unsigned i = 0; i < LATENCY_SLOTS; i++)
		if ((seen += latency[i]) > want)
			return i * 10;
	return LATENCY_SLOTS * 10;
}

static void report(const char *what, size_t outstanding, double seconds, double cpu, struct store_stats *before)
{
	struct store_stats s;
	uint64_t total = 0;
	for (size_t i = 0; i < outstanding; i++)
		total += jobs[i].count;
	store_stats(store, &s);
	printf("%s outstanding %zu: %.0f/s, %.1f a group, p50 %u us, p99 %u us, cpu %.1f us each, %.2f bytes written "
	       "per byte\n",
	       what, outstanding, (double)total / seconds, (double)total / (double)(s.groups - before->groups),
	       percentile(total, 0.5), percentile(total, 0.99), cpu * 1e6 / (double)total,
	       (double)(s.engine.bytes_written - before->engine.bytes_written) / (double)(total * value_bytes));
}

static void run_puts(const char *what, size_t outstanding, unsigned seconds)
{
	struct store_stats before;
	store_stats(store, &before);
	double cpu = cpu_seconds();
	uint64_t start = base_monotonic_ns();
	start_jobs(outstanding, JOB_PUT);
	sleep(seconds);
	atomic_store(&stopping, true);
	while (atomic_load(&running))
		usleep(1000);
	report(what, outstanding, (double)(base_monotonic_ns() - start) / 1e9, cpu_seconds() - cpu, &before);
}

/* One thread for each outstanding payload: writes it, then commits, as a worker does. */
static bool payload_in_record;

struct waiter {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool ready;
};

static void payload_done(struct store_job *sj, enum err result)
{
	if (result != ERR_OK)
		die("write", result);
	struct waiter *w = sj->owner;
	pthread_mutex_lock(&w->lock);
	w->ready = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
}

static void *payload_main(void *arg)
{
	struct job *j = arg;
	struct waiter w = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false };
	j->job.owner = &w;
	j->job.done = payload_done;
	while (!atomic_load(&stopping)) {
		j->started_ns = base_monotonic_ns();
		j->key = rng_below(&j->rng, key_count);
		if (!payload_in_record) {
			struct engine *e = store_engine(store);
			struct extent_writer *x;
			struct extent_ref *ref = malloc(sizeof *ref);
			enum err err = e->ops->extent_begin(e, (uint32_t)value_bytes, &x);
			if (err == ERR_OK)
				err = e->ops->extent_append(x, slice_make(noise + j->key % 4096, value_bytes));
			if (err == ERR_OK)
				err = e->ops->extent_seal(x, ref);
			if (err != ERR_OK)
				die("extent", err);
			j->payload = (struct payload){ .length_bytes = value_bytes, .extents = ref, .extent_count = 1 };
		}
		store_write(store, &j->job);
		pthread_mutex_lock(&w.lock);
		while (!w.ready)
			pthread_cond_wait(&w.wake, &w.lock);
		w.ready = false;
		pthread_mutex_unlock(&w.lock);
		uint64_t us = (base_monotonic_ns() - j->started_ns) / 1000;
		__atomic_fetch_add(&latency[us / 10 < LATENCY_SLOTS ? us / 10 : LATENCY_SLOTS - 1], 1,
				   __ATOMIC_RELAXED);
		payload_fini(&j->payload);
		arena_reset(&j->arena);
		j->count++;
	}
	return NULL;
}

static void run_payloads(const char *what, size_t outstanding, unsigned seconds)
{
	pthread_t thread[256];
	struct store_stats before;
	store_stats(store, &before);
	double cpu = cpu_seconds();
	uint64_t start = base_monotonic_ns();
	for (size_t i = 0; i < outstanding && i < 256; i++) {
		struct job *j = &jobs[i];
		arena_init(&j->arena, 64 * MIB);
		rng_init_seed(&j->rng, i + 1);
		j->kind = JOB_PAYLOAD;
		j->job = (struct store_job){ .partition = PARTITION, .apply = apply, .call = j, .arena = &j->arena };
		pthread_create(&thread[i], NULL, payload_main, j);
	}
	sleep(seconds);
	atomic_store(&stopping, true);
	for (size_t i = 0; i < outstanding && i < 256; i++)
		pthread_join(thread[i], NULL);
	report(what, outstanding, (double)(base_monotonic_ns() - start) / 1e9, cpu_seconds() - cpu, &before);
}

static uint64_t hot_count;
static int get_mode;

static enum err get_apply(struct txn *t, void *call)
{
	struct key *k = call;
	struct slice v;
	return txn_get(t, key_slice(k), &v);
}

static void *get_main(void *arg)
{
	struct job *j = arg;
	while (!atomic_load_explicit(&stopping, memory_order_relaxed)) {
		struct key k;
		struct slice v;
		make_key(&k, rng_below(&j->rng, hot_count) * (key_count / hot_count));
		arena_reset(&j->arena);
		enum err err = get_mode == 0   ? store_get(store, PARTITION, key_slice(&k), &j->arena, &v)
			       : get_mode == 1 ? store_read_points(store, PARTITION, get_apply, &k, &j->arena)
					       : store_read(store, PARTITION, get_apply, &k, &j->arena);
		if (err != ERR_OK)
			die("get", err);
		j->count++;
	}
	return NULL;
}

static void run_gets(const char *mode, size_t threads, unsigned seconds)
{
	pthread_t thread[64];
	uint64_t total = 0;
	get_mode = strcmp(mode, "cache") == 0 ? 0 : strcmp(mode, "points") == 0 ? 1 : 2;
	double cpu = cpu_seconds();
	uint64_t start = base_monotonic_ns();
	for (size_t i = 0; i < threads && i < 64; i++) {
		arena_init(&jobs[i].arena, MIB);
		rng_init_seed(&jobs[i].rng, i + 1);
		pthread_create(&thread[i], NULL, get_main, &jobs[i]);
	}
	sleep(seconds);
	atomic_store(&stopping, true);
	for (size_t i = 0; i < threads && i < 64; i++) {
		pthread_join(thread[i], NULL);
		total += jobs[i].count;
	}
	double took = (double)(base_monotonic_ns() - start) / 1e9;
	struct store_stats s;
	store_stats(store, &s);
	printf("get %s, %llu hot of %llu, threads %zu: %.0f/s, cpu %.2f us each, cache hits %.1f%%, resident %.1f "
	       "MiB\n",
	       mode, (unsigned long long)hot_count, (unsigned long long)key_count, threads, (double)total / took,
	       (cpu_seconds() - cpu) * 1e6 / (double)total,
	       s.cache_hits + s.cache_misses ? 100.0 * (double)s.cache_hits / (double)(s.cache_hits + s.cache_misses)
					     : 0.0,
	       (double)resident_kib() / 1024);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "see the head of this file\n");
		return 2;
	}
	const char *mode = argv[2];
	struct rng rng;
	rng_init_seed(&rng, 1);
	rng_bytes(&rng, noise, strcmp(mode, "open") == 0 ? 1 : sizeof noise);
	uint64_t start = base_monotonic_ns();
	bool buffered = argc > 6 && strcmp(argv[6], "extent-buffered") == 0;
	store = open_store(argv[1], buffered);
	double open_ms = (double)(base_monotonic_ns() - start) / 1e6;
	unsigned long a[5] = { 0 };
	for (int i = 3; i < argc && i < 8; i++)
		a[i - 3] = strtoul(argv[i], NULL, 10);
	if (strcmp(mode, "open") == 0) {
		printf("open %.1f ms, resident %.1f MiB\n", open_ms, (double)resident_kib() / 1024);
	} else if (strcmp(mode, "fill") == 0) {
		key_count = a[0];
		value_bytes = a[1];
		start_jobs(256, JOB_FILL);
		while (atomic_load(&running))
			usleep(1000);
		printf("filled %lu in %.1f s, resident %.1f MiB\n", a[0], (double)(base_monotonic_ns() - start) / 1e9,
		       (double)resident_kib() / 1024);
	} else if (strcmp(mode, "put") == 0 || strcmp(mode, "update") == 0) {
		char what[64];
		value_bytes = a[0];
		key_count = a[3];
		reads_first = mode[0] == 'u';
		snprintf(what, sizeof what, "%s %lu bytes,", mode, a[0]);
		run_puts(what, a[1], (unsigned)a[2]);
	} else if (strcmp(mode, "payload") == 0) {
		char what[64];
		value_bytes = a[0];
		key_count = 200000000 / (a[0] + 4096) / 2 + 64;
		payload_in_record = argc > 6 && strcmp(argv[6], "record") == 0;
		snprintf(what, sizeof what, "payload %lu bytes in %s,", a[0], argc > 6 ? argv[6] : "extent");
		run_payloads(what, a[1], (unsigned)a[2]);
	} else if (strcmp(mode, "get") == 0) {
		key_count = a[0];
		hot_count = a[1];
		run_gets(argc > 7 ? argv[7] : "cache", a[2], (unsigned)a[3]);
	}
	start = base_monotonic_ns();
	store_close(store);
	if (strcmp(mode, "open") == 0)
		printf("close %.1f ms\n", (double)(base_monotonic_ns() - start) / 1e6);
	return 0;
}

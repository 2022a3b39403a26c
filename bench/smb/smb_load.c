/* SPDX-License-Identifier: Apache-2.0
 * smb_load WORK --port N [--clients N] [--depth N] [--encrypt] ...: drives one SMB server and prints one line of JSON.
 * Each client is a connection; read, write and write4k keep `depth` requests under way, the others do one thing after
 * another as applications do. One thread has all clients of small requests, as bench/load has, so that the generator
 * costs little beside the server; where bytes are moved each client is a thread. CPU time of the server (all processes
 * below --pid) is taken over the same window as the rate. */
#include "client.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <openssl/rand.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
	MIB = 1024 * 1024,
	FILE_BYTES = 64 * MIB,
	SMALL_BYTES = 4096,
	SMALL_FILE_BYTES = 4 * MIB,
	LIST_FILES = 1000,
	CLIENTS_MAX = 4096,
	DEPTH_MAX = 64,
	PATTERN_BYTES = MIB,
	ACCESS_READ = 0x120089,
	ACCESS_ALL = 0x1F01FF,
	ACCESS_STAT = 0x80,
	ACCESS_DELETE = 0x10000,
	SHARE_ALL = 7,
	OPTION_DIRECTORY = 1,
	OPTION_DELETE_ON_CLOSE = 0x1000,
	STATUS_NO_MORE = (int)0x80000006,
	STATUS_COLLISION = (int)0xC0000035,
};

struct worker {
	unsigned index;
	struct client *client;
	struct smb2_file_id file;
	uint64_t step;
	unsigned part; /* of an operation of several requests: the one under way */
	size_t seen;   /* of a list */
	bool seen_all;
	unsigned under_way;
	_Atomic uint64_t done;
};

struct work {
	const char *name;
	void (*prepare)(struct worker *);
	void (*start)(struct worker *); /* sends the first request of an operation */
	/* An answer has come. True: the operation is done. False: the next request was sent. */
	bool (*next)(struct worker *, const struct client_answer *);
	size_t bytes;  /* of one */
	bool deep;     /* --depth of them at a time */
	bool may_fail; /* `next` looks at the status itself */
};

/* Some of the clients, and the thread that has them. */
struct driver {
	pthread_t thread;
	struct worker *first;
	unsigned count;
};

static struct {
	struct client_options client;
	int pid;
	unsigned clients, depth;
	double seconds, warmup_seconds;
	const char *prefix;
} opt = { .client = { .user = "devstoreaccount1", .share = "bench" },
	  .clients = 1,
	  .depth = 4,
	  .seconds = 2,
	  .warmup_seconds = 0.3,
	  .prefix = "b" };
static char pattern[PATTERN_BYTES];
static const struct work *work;
static atomic_bool stopping;

/* ---- steps ---- */

static struct client_answer answer_expect(struct client *c, const char *what)
{
	struct client_answer a = client_receive(c);
	if (a.status != 0)
		client_die("%s: status %08x", what, a.status);
	return a;
}

static struct smb2_file_id file_open(struct client *c, const struct client_create *k)
{
	client_begin(c);
	client_put_create(client_part(c, SMB2_CREATE, 1, NULL), k);
	client_send(c);
	struct client_answer a = answer_expect(c, k->name);
	return client_created_id(&a);
}

static void file_close(struct client *c, struct smb2_file_id id)
{
	client_begin(c);
	client_put_close(client_part(c, SMB2_CLOSE, 1, NULL), id);
	client_send(c);
	(void)answer_expect(c, "close");
}

static const char *name_of(const struct worker *w, const char *kind, uint64_t n)
{
	static _Thread_local char text[128];
	snprintf(text, sizeof text, "%s-%s-%u-%llu", opt.prefix, kind, w->index, (unsigned long long)n);
	return text;
}

static void write_start(struct worker *w, uint64_t offset, size_t len)
{
	client_begin(w->client);
	struct buf *b = client_part(w->client, SMB2_WRITE, (unsigned)((len + 65535) / 65536), NULL);
	client_put_write(b, w->file, offset, slice_make(pattern + offset % (PATTERN_BYTES - len + 1), len));
	client_send(w->client);
}

static void file_prepare(struct worker *w)
{
	struct client_create k = { .name = name_of(w, "file", 0),
				   .access = ACCESS_ALL,
				   .disposition = SMB2_OVERWRITE_IF,
				   .share = SHARE_ALL };
	w->file = file_open(w->client, &k);
	for (uint64_t at = 0; at < FILE_BYTES; at += MIB) {
		write_start(w, at, MIB);
		(void)answer_expect(w->client, "write");
	}
}

static void small_prepare(struct worker *w)
{
	struct client_create k = { .name = name_of(w, "small", 0),
				   .access = ACCESS_ALL,
				   .disposition = SMB2_OVERWRITE_IF,
				   .share = SHARE_ALL };
	w->file = file_open(w->client, &k);
	for (uint64_t at = 0; at < SMALL_FILE_BYTES; at += MIB) {
		write_start(w, at, MIB);
		(void)answer_expect(w->client, "write");
	}
}

/* ---- works ---- */

static void read_start(struct worker *w)
{
	uint64_t at = w->step++ * MIB % FILE_BYTES;
	client_begin(w->client);
	client_put_read(client_part(w->client, SMB2_READ, 16, NULL), w->file, at, MIB);
	client_send(w->client);
}

static void large_write_start(struct worker *w)
{
	write_start(w, w->step++ * MIB % FILE_BYTES, MIB);
}

static void small_write_start(struct worker *w)
{
	/* In an order that no neighbour shares. */
	uint64_t slot = w->step++ * 379 % (SMALL_FILE_BYTES / SMALL_BYTES);
	write_start(w, slot * SMALL_BYTES, SMALL_BYTES);
}

static void open_prepare(struct worker *w)
{
	struct client_create k = {
		.name = name_of(w, "open", 0), .access = ACCESS_ALL, .disposition = SMB2_OPEN_IF, .share = SHARE_ALL
	};
	file_close(w->client, file_open(w->client, &k));
}

static void open_send(struct worker *w, const struct client_create *k)
{
	client_begin(w->client);
	client_put_create(client_part(w->client, SMB2_CREATE, 1, NULL), k);
	client_send(w->client);
}

static void close_send(struct worker *w, struct smb2_file_id id)
{
	client_begin(w->client);
	client_put_close(client_part(w->client, SMB2_CLOSE, 1, NULL), id);
	client_send(w->client);
}

static void open_start(struct worker *w)
{
	struct client_create k = {
		.name = name_of(w, "open", 0), .access = ACCESS_READ, .disposition = SMB2_OPEN, .share = SHARE_ALL
	};
	open_send(w, &k);
}

/* Open, then close. */
static bool open_next(struct worker *w, const struct client_answer *a)
{
	if (a->command == SMB2_CLOSE)
		return true;
	close_send(w, client_created_id(a));
	return false;
}

static void create_start(struct worker *w)
{
	struct client_create k = { .name = name_of(w, "new", w->step),
				   .access = ACCESS_ALL,
				   .disposition = SMB2_CREATE_NEW,
				   .share = SHARE_ALL };
	w->part = 0;
	open_send(w, &k);
}

/* Create, close, open to delete, close. */
static bool create_next(struct worker *w, const struct client_answer *a)
{
	struct client_create k = { .name = name_of(w, "new", w->step),
				   .access = ACCESS_DELETE,
				   .disposition = SMB2_OPEN,
				   .options = OPTION_DELETE_ON_CLOSE,
				   .share = SHARE_ALL };
	if (a->command == SMB2_CREATE) {
		close_send(w, client_created_id(a));
		return false;
	}
	if (w->part++) {
		w->step++;
		return true;
	}
	open_send(w, &k);
	return false;
}

static void parts_expect(const struct client_answer *a, unsigned count)
{
	size_t at = 0;
	for (unsigned i = 0; i < count; i++) {
		struct slice part = slice_from(a->message, at);
		if (part.len < SMB2_HEADER_BYTES || smb2_u32(part, 8) != 0)
			client_die("compound: part %u failed", i);
		if (i + 1 < count && smb2_u32(part, SMB2_NEXT_AT) == 0)
			client_die("compound: answered in pieces");
		at += smb2_u32(part, SMB2_NEXT_AT);
	}
}

static void stat_start(struct worker *w)
{
	struct client_create k = {
		.name = name_of(w, "open", 0), .access = ACCESS_STAT, .disposition = SMB2_OPEN, .share = SHARE_ALL
	};
	client_begin(w->client);
	client_put_create(client_part(w->client, SMB2_CREATE, 1, NULL), &k);
	client_put_query_all(client_part(w->client, SMB2_QUERY_INFO, 1, NULL), SMB2_FILE_ID_NONE);
	client_put_close(client_part(w->client, SMB2_CLOSE, 1, NULL), SMB2_FILE_ID_NONE);
	client_send(w->client);
}

static bool stat_next(struct worker *w, const struct client_answer *a)
{
	(void)w;
	parts_expect(a, 3);
	return true;
}

static void list_prepare(struct worker *w)
{
	char name[160];
	struct client_create k = { .name = name_of(w, "dir", 0),
				   .access = ACCESS_ALL,
				   .disposition = SMB2_OPEN_IF,
				   .options = OPTION_DIRECTORY,
				   .share = SHARE_ALL };
	file_close(w->client, file_open(w->client, &k));
	for (unsigned i = 0; i < LIST_FILES; i++) {
		snprintf(name, sizeof name, "%s\\file-%06u.txt", name_of(w, "dir", 0), i);
		struct client_create f = {
			.name = name, .access = ACCESS_ALL, .disposition = SMB2_OPEN_IF, .share = SHARE_ALL
		};
		file_close(w->client, file_open(w->client, &f));
	}
}

static size_t entries_count(const struct client_answer *a)
{
	size_t at = SMB2_HEADER_BYTES + 8, n = 0;
	if (!a->whole)
		return 0;
	for (uint32_t next = 1; next && at + 4 <= a->message.len; at += next, n++)
		next = smb2_u32(a->message, at);
	return n;
}

static void list_start(struct worker *w)
{
	struct client_create k = { .name = name_of(w, "dir", 0),
				   .access = ACCESS_READ,
				   .disposition = SMB2_OPEN,
				   .options = OPTION_DIRECTORY,
				   .share = SHARE_ALL };
	w->seen = 0;
	w->seen_all = true;
	open_send(w, &k);
}

/* Open, pages until there are no more, close. */
static bool list_next(struct worker *w, const struct client_answer *a)
{
	if (a->command == SMB2_CLOSE)
		return true;
	if (a->status == (uint32_t)STATUS_NO_MORE) {
		if (w->seen_all && w->seen != LIST_FILES + 2)
			client_die("list: %zu entries", w->seen);
		close_send(w, w->file);
		return false;
	}
	if (a->status != 0)
		client_die("list: status %08x", a->status);
	if (a->command == SMB2_CREATE) {
		w->file = client_created_id(a);
	} else {
		w->seen_all &= a->whole;
		w->seen += entries_count(a);
	}
	client_begin(w->client);
	client_put_query_directory(client_part(w->client, SMB2_QUERY_DIRECTORY, 1, NULL), w->file, 65536);
	client_send(w->client);
	return false;
}

/* Every MiB was written from the pattern's beginning. */
static bool read_next(struct worker *w, const struct client_answer *a)
{
	(void)w;
	if (a->length < SMB2_HEADER_BYTES + SMB2_READ_ANSWER_BYTES + MIB)
		client_die("read: %zu bytes", a->length);
	if (a->whole && memcmp(a->message.ptr + SMB2_HEADER_BYTES + SMB2_READ_ANSWER_BYTES, pattern, MIB) != 0)
		client_die("read: other bytes than were written");
	return true;
}

static bool write_next(struct worker *w, const struct client_answer *a)
{
	(void)w;
	(void)a;
	return true;
}

static const struct work works[] = {
	{ "read", file_prepare, read_start, read_next, MIB, true, false },
	{ "write", file_prepare, large_write_start, write_next, MIB, true, false },
	{ "write4k", small_prepare, small_write_start, write_next, SMALL_BYTES, true, false },
	{ "open", open_prepare, open_start, open_next, 0, false, false },
	{ "create", NULL, create_start, create_next, 0, false, false },
	{ "stat", open_prepare, stat_start, stat_next, 0, false, false },
	{ "list", list_prepare, list_start, list_next, 0, false, true },
	{ "idle", NULL, NULL, NULL, 0, false, false },
};

/* ---- running ---- */

static bool is_stopping(void)
{
	return atomic_load_explicit(&stopping, memory_order_relaxed);
}

static void more_start(struct worker *w)
{
	unsigned depth = work->deep ? opt.depth : 1;
	for (; w->under_way < depth && !is_stopping(); w->under_way++)
		work->start(w);
}

/* One answer, and all that were read with it. */
static void answers_take(struct worker *w)
{
	do {
		struct client_answer a = client_receive(w->client);
		if (a.status != 0 && !work->may_fail)
			client_die("%s: status %08x", work->name, a.status);
		if (!work->next(w, &a))
			continue;
		w->under_way--;
		atomic_fetch_add_explicit(&w->done, 1, memory_order_relaxed);
		more_start(w);
	} while (client_has_more(w->client));
}

static void drive_one(struct worker *w)
{
	more_start(w);
	while (w->under_way)
		answers_take(w);
}

static void drive_many(const struct driver *d)
{
	struct pollfd *p = calloc(d->count, sizeof *p);
	unsigned under_way = 0;
	if (!p)
		client_die("out of memory");
	for (unsigned i = 0; i < d->count; i++) {
		p[i] = (struct pollfd){ .fd = client_socket(d->first[i].client), .events = POLLIN };
		more_start(&d->first[i]);
		under_way += d->first[i].under_way;
	}
	while (under_way) {
		if (poll(p, d->count, -1) < 0 && errno != EINTR)
			client_die("poll failed");
		under_way = 0;
		for (unsigned i = 0; i < d->count; i++) {
			if (p[i].revents)
				answers_take(&d->first[i]);
			under_way += d->first[i].under_way;
		}
	}
	free(p);
}

static void *driver_main(void *arg)
{
	struct driver *d = arg;
	if (d->count == 1)
		drive_one(d->first);
	else
		drive_many(d);
	return NULL;
}

static double now_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void pause_seconds(double seconds)
{
	struct timespec t = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };
	while (nanosleep(&t, &t) != 0 && errno == EINTR)
		;
}

/* Ticks of one process, and its parent. */
static bool process_read(int pid, int *ret_parent, uint64_t *ret_ticks)
{
	char path[64], text[1024];
	unsigned long user, system;
	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	if (got <= 0)
		return false;
	text[got] = 0;
	const char *rest = strrchr(text, ')');
	if (!rest ||
	    sscanf(rest + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", ret_parent, &user, &system) != 3)
		return false;
	*ret_ticks = user + system;
	return true;
}

/* CPU seconds of a process and what it forked; one level below is enough for smbd. */
static double server_cpu(void)
{
	uint64_t sum = 0;
	DIR *d = opendir("/proc");
	struct dirent *e;
	while (d && (e = readdir(d)) != NULL) {
		int pid = (int)strtol(e->d_name, NULL, 10), parent;
		uint64_t ticks;
		if (pid > 0 && process_read(pid, &parent, &ticks) && (pid == opt.pid || parent == opt.pid))
			sum += ticks;
	}
	if (d)
		closedir(d);
	return (double)sum / (double)sysconf(_SC_CLK_TCK);
}

static double own_cpu(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

static uint64_t done_sum(struct worker *w)
{
	uint64_t n = 0;
	for (unsigned i = 0; i < opt.clients; i++)
		n += atomic_load_explicit(&w[i].done, memory_order_relaxed);
	return n;
}

static void measure(struct worker *w)
{
	unsigned threads = work->bytes >= MIB ? opt.clients : 1;
	struct driver *d = calloc(threads, sizeof *d);
	if (!d)
		client_die("out of memory");
	for (unsigned i = 0; i < threads; i++) {
		d[i] = (struct driver){ .first = w + i, .count = opt.clients / threads };
		if (pthread_create(&d[i].thread, NULL, driver_main, &d[i]) != 0)
			client_die("no thread");
	}
	pause_seconds(opt.warmup_seconds);
	double from = now_seconds(), cpu = server_cpu(), own = own_cpu();
	uint64_t before = done_sum(w);
	pause_seconds(opt.seconds);
	uint64_t ops = done_sum(w) - before;
	double seconds = now_seconds() - from;
	cpu = server_cpu() - cpu;
	own = own_cpu() - own;
	atomic_store(&stopping, true);
	for (unsigned i = 0; i < threads; i++)
		pthread_join(d[i].thread, NULL);
	free(d);
	double gb = (double)ops * (double)work->bytes / 1e9, count = ops ? (double)ops : 1;
	printf("{\"work\":\"%s\",\"clients\":%u,\"rate\":%.1f,\"mb_per_s\":%.1f,\"server_cpu_us\":%.2f,"
	       "\"server_cpu_s_per_gb\":%.3f,\"server_cores\":%.2f,\"client_cores\":%.2f,\"bad\":0}\n",
	       work->name, opt.clients, (double)ops / seconds, gb * 1000 / seconds, cpu * 1e6 / count,
	       gb > 0 ? cpu / gb : 0, cpu / seconds, own / seconds);
}

static void options_parse(int argc, char **argv)
{
	static const struct option known[] = { { "port", 1, NULL, 'p' },
					       { "pid", 1, NULL, 'i' },
					       { "user", 1, NULL, 'u' },
					       { "password", 1, NULL, 'w' },
					       { "share", 1, NULL, 's' },
					       { "clients", 1, NULL, 'c' },
					       { "depth", 1, NULL, 'd' },
					       { "seconds", 1, NULL, 't' },
					       { "encrypt", 0, NULL, 'e' },
					       { "prefix", 1, NULL, 'x' },
					       { 0 } };
	for (int o; (o = getopt_long(argc, argv, "", known, NULL)) != -1;) {
		switch (o) {
		case 'p':
			opt.client.port = (int)strtol(optarg, NULL, 10);
			break;
		case 'i':
			opt.pid = (int)strtol(optarg, NULL, 10);
			break;
		case 'u':
			opt.client.user = optarg;
			break;
		case 'w':
			opt.client.password = optarg;
			break;
		case 's':
			opt.client.share = optarg;
			break;
		case 'c':
			opt.clients = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'd':
			opt.depth = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 't':
			opt.seconds = strtod(optarg, NULL);
			break;
		case 'e':
			opt.client.encrypted = true;
			break;
		case 'x':
			opt.prefix = optarg;
			break;
		default:
			exit(2);
		}
	}
	for (size_t i = 0; optind < argc && i < sizeof works / sizeof works[0]; i++)
		if (strcmp(works[i].name, argv[optind]) == 0)
			work = &works[i];
	if (!work || !opt.client.port || !opt.client.password || opt.clients == 0 || opt.clients > CLIENTS_MAX ||
	    opt.depth == 0 || opt.depth > DEPTH_MAX)
		client_die("usage: smb_load WORK --port N --password P ...");
}

int main(int argc, char **argv)
{
	options_parse(argc, argv);
	struct worker *w = calloc(opt.clients, sizeof *w);
	if (!w || RAND_bytes((unsigned char *)pattern, sizeof pattern) != 1)
		client_die("out of memory");
	for (unsigned i = 0; i < opt.clients; i++) {
		w[i].index = i;
		w[i].client = client_open(&opt.client);
		if (work->prepare)
			work->prepare(&w[i]);
	}
	if (work->start) {
		measure(w);
	} else { /* sessions that do nothing, until the input ends */
		printf("{\"work\":\"idle\",\"clients\":%u}\n", opt.clients);
		fflush(stdout);
		(void)getchar();
	}
	for (unsigned i = 0; i < opt.clients; i++)
		client_close(w[i].client);
	free(w);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 * load WORK [--port N] [--connections N] [--seconds S | --count N] ...: drives one server and prints one line of JSON.
 * Each connection has one request under way; the next is sent as soon as the answer is whole. CPU time of the server
 * (all processes below --pid) and of this program are taken over the same window as the rate. */
#include "load.h"

#include "base/sys/clock.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

struct options opt = { .target = "zaffre",
		       .auth = "sas",
		       .container = "bench",
		       .prefix = "b",
		       .connections = 32,
		       .seconds = 2,
		       .warmup_seconds = 0.3 };
char *noise;
const struct work *work;

static const struct work *const all_works[] = {
	works_blob, works_queue, works_table, works_file, works_redis, works_pg
};
static struct conn *conns;
static int epoll_fd;
static uint64_t given_keys, started_ops;
static uint32_t *samples; /* tenths of a microsecond */
static size_t sample_count, sample_cap;
static uint64_t bad_count, body_bytes_total;
static bool measuring, stopping;
static unsigned idle_count;

void die(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fprintf(stderr, "load: ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t next_key(void)
{
	return opt.base + given_keys++;
}

uint64_t keys_given(void)
{
	return given_keys;
}

int socket_open(int port)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons((uint16_t)port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
		die("port %d: %s", port, strerror(errno));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

void conn_watch(struct conn *c)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = c };
	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, c->fd, &e) != 0)
		die("epoll: %s", strerror(errno));
}

/* CPU time and bytes written of everything below the given processes. */
struct usage {
	double cpu_seconds;
	uint64_t written_bytes;
};

struct process {
	int pid, parent;
	uint64_t ticks;
	bool counted;
};

static bool process_read(int pid, struct process *ret)
{
	char path[64], text[1024];
	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	if (got <= 0)
		return false;
	text[got] = 0;
	const char *rest = strrchr(text, ')');
	unsigned long user, system;
	int parent;
	if (!rest ||
	    sscanf(rest + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &parent, &user, &system) != 3)
		return false;
	*ret = (struct process){ .pid = pid, .parent = parent, .ticks = user + system };
	return true;
}

static uint64_t written_of(int pid)
{
	char path[64], line[128];
	unsigned long long v = 0;
	snprintf(path, sizeof path, "/proc/%d/io", pid);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "write_bytes: %llu", &v) == 1)
			break;
	if (f)
		fclose(f);
	return v;
}

static struct usage usage_read(void)
{
	static struct process table[8192];
	size_t count = 0;
	struct usage u = { 0 };
	DIR *d = opendir("/proc");
	struct dirent *e;
	while (d && (e = readdir(d)) != NULL && count < sizeof table / sizeof table[0]) {
		int pid = (int)strtol(e->d_name, NULL, 10);
		if (pid > 0 && process_read(pid, &table[count])) {
			for (unsigned i = 0; i < opt.root_count; i++)
				if (pid == opt.root_pids[i])
					table[count].counted = true;
			count++;
		}
	}
	if (d)
		closedir(d);
	for (bool more = opt.root_count > 0; more;) {
		more = false;
		for (size_t i = 0; i < count; i++)
			for (size_t j = 0; !table[i].counted && j < count; j++)
				if (table[j].counted && table[i].parent == table[j].pid)
					table[i].counted = more = true;
	}
	for (size_t i = 0; i < count; i++)
		if (table[i].counted) {
			u.cpu_seconds += (double)table[i].ticks / (double)sysconf(_SC_CLK_TCK);
			u.written_bytes += written_of(table[i].pid);
		}
	return u;
}

static double own_cpu(void)
{
	struct rusage r;
	getrusage(RUSAGE_SELF, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
	       (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1e-6;
}

static void sample_add(uint64_t ns)
{
	if (sample_count == sample_cap) {
		sample_cap = sample_cap ? sample_cap * 2 : 1 << 20;
		samples = realloc(samples, sample_cap * sizeof *samples);
		if (!samples)
			die("out of memory");
	}
	samples[sample_count++] = ns / 100 > UINT32_MAX ? UINT32_MAX : (uint32_t)(ns / 100);
}

static void conn_next(struct conn *c, bool new_op)
{
	if (new_op) {
		if (stopping || (opt.count > 0 && started_ops >= opt.count)) {
			c->idle = true;
			idle_count++;
			return;
		}
		started_ops++;
		c->step = 0;
		c->started_ns = now_ns();
	}
	buf_clear(&c->head);
	c->body = SLICE_NONE;
	c->sent_bytes = 0;
	work->request(c);
	work->protocol->submit(c);
}

/* One reply at most: the next one comes with its own edge. */
static void conn_ready(struct conn *c)
{
	struct reply reply;
	if (c->idle || !work->protocol->ready(c, &reply))
		return; /* an idle one may be closed by its server */
	enum answer answer = work->answer(c, &reply);
	if (answer == ANSWER_MORE) {
		c->step++;
		conn_next(c, false);
		return;
	}
	if (answer == ANSWER_UNCOUNTED) {
		started_ops--;
	} else if (answer == ANSWER_BAD) {
		if (bad_count++ < 1)
			fprintf(stderr, "load: %s: unexpected answer %d: %.*s\n", opt.work, reply.status,
				(int)(reply.body.len < 300 ? reply.body.len : 300),
				reply.body.ptr ? reply.body.ptr : "");
		if (bad_count > 100)
			die("%s: too many unexpected answers", opt.work);
	} else if (measuring) {
		sample_add(now_ns() - c->started_ns);
		body_bytes_total += reply.body_bytes;
	}
	conn_next(c, true);
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

static double quantile_us(double q)
{
	return sample_count == 0 ? 0 : samples[(size_t)(q * (double)(sample_count - 1))] / 10.0;
}

static void report(double seconds, struct usage before, struct usage after, double own_before, double own_after)
{
	qsort(samples, sample_count, sizeof *samples, by_value);
	double ops = (double)sample_count, per_op = ops > 0 ? 1e6 / ops : 0;
	printf("{\"work\":\"%s\",\"target\":\"%s\",\"connections\":%u,\"bytes\":%llu,\"ops\":%zu,\"seconds\":%.3f,"
	       "\"rate\":%.4f,\"median_us\":%.1f,"
	       "\"p99_us\":%.1f,\"p999_us\":%.1f,\"max_us\":%.1f,\"bad\":%llu,\"reply_bytes\":%llu,\"server_cpu_us\":%."
	       "2f,\"server_cores\":%.2f,"
	       "\"client_cpu_us\":%.2f,\"client_cores\":%.2f,\"server_written_bytes\":%llu,\"last_key\":%llu}\n",
	       opt.work, opt.target, opt.connections, (unsigned long long)opt.bytes, sample_count, seconds,
	       ops / seconds, quantile_us(0.5), quantile_us(0.99), quantile_us(0.999), quantile_us(1),
	       (unsigned long long)bad_count, (unsigned long long)body_bytes_total,
	       (after.cpu_seconds - before.cpu_seconds) * per_op, (after.cpu_seconds - before.cpu_seconds) / seconds,
	       (own_after - own_before) * per_op, (own_after - own_before) / seconds,
	       (unsigned long long)(after.written_bytes - before.written_bytes),
	       (unsigned long long)(opt.base + given_keys));
}

static void run(void)
{
	struct epoll_event events[256];
	struct usage before = { 0 };
	double own_before = 0;
	uint64_t begin = now_ns(), from = 0;
	uint64_t warm_ns = opt.count > 0 ? 0 : (uint64_t)(opt.warmup_seconds * 1e9),
		 run_ns = (uint64_t)(opt.seconds * 1e9);
	for (unsigned i = 0; i < opt.connections; i++)
		conn_next(&conns[i], true);
	for (;;) {
		uint64_t now = now_ns();
		if (!measuring && now - begin >= warm_ns) {
			measuring = true;
			before = usage_read();
			own_before = own_cpu();
			from = now = now_ns();
		}
		if (measuring && ((opt.count == 0 && now - from >= run_ns) || idle_count == opt.connections))
			break;
		int count = epoll_wait(epoll_fd, events, 256, 100);
		for (int i = 0; i < count; i++)
			conn_ready(events[i].data.ptr);
	}
	double seconds = (double)(now_ns() - from) * 1e-9, own_after = own_cpu();
	struct usage after = usage_read();
	measuring = false;
	size_t counted = sample_count;
	/* What is under way is answered before the connections close, so that the next run starts with an idle server.
	 */
	stopping = true;
	uint64_t patience = now_ns() + 5000000000u;
	while (idle_count < opt.connections && now_ns() < patience) {
		int count = epoll_wait(epoll_fd, events, 256, 100);
		for (int i = 0; i < count; i++)
			conn_ready(events[i].data.ptr);
	}
	sample_count = counted;
	report(seconds, before, after, own_before, own_after);
}

static void usage_print(void)
{
	fprintf(stderr, "usage: load WORK [--port N] [--target zaffre|azurite|nginx] [--auth sas|key] [--container "
			"NAME] [--prefix TEXT]\n"
			"  [--connections N] [--seconds S] [--warmup S] [--count N] [--keys N] [--base N] [--bytes N] "
			"[--depth N] [--pid P[,P]]\n");
	for (size_t i = 0; i < sizeof all_works / sizeof all_works[0]; i++)
		for (const struct work *w = all_works[i]; w->name; w++)
			fprintf(stderr, "  %-12s %s\n", w->name, w->help);
	exit(2);
}

static void pids_read(char *text)
{
	for (char *at = text; *at && opt.root_count < 16;) {
		opt.root_pids[opt.root_count++] = (int)strtol(at, &at, 10);
		at += *at == ',';
	}
}

static void options_read(int argc, char **argv)
{
	if (argc < 2)
		usage_print();
	opt.work = argv[1];
	for (size_t i = 0; i < sizeof all_works / sizeof all_works[0]; i++)
		for (const struct work *w = all_works[i]; w->name; w++)
			if (strcmp(w->name, opt.work) == 0)
				work = w;
	if (!work)
		usage_print();
	opt.bytes = work->bytes;
	opt.depth = work->depth;
	opt.keys = work->keys;
	for (int i = 2; i + 1 < argc; i += 2) {
		char *name = argv[i], *value = argv[i + 1];
		struct {
			const char *name;
			uint64_t *number;
			const char **text;
			double *seconds;
		} table[] = {
			{ "--target", NULL, &opt.target, NULL },       { "--auth", NULL, &opt.auth, NULL },
			{ "--container", NULL, &opt.container, NULL }, { "--prefix", NULL, &opt.prefix, NULL },
			{ "--seconds", NULL, NULL, &opt.seconds },     { "--warmup", NULL, NULL, &opt.warmup_seconds },
			{ "--count", &opt.count, NULL, NULL },	       { "--keys", &opt.keys, NULL, NULL },
			{ "--base", &opt.base, NULL, NULL },	       { "--bytes", &opt.bytes, NULL, NULL },
			{ "--depth", &opt.depth, NULL, NULL },
		};
		bool found = false;
		for (size_t k = 0; k < sizeof table / sizeof table[0]; k++) {
			if (strcmp(table[k].name, name) != 0)
				continue;
			found = true;
			if (table[k].number)
				*table[k].number = strtoull(value, NULL, 10);
			else if (table[k].text)
				*table[k].text = value;
			else
				*table[k].seconds = strtod(value, NULL);
		}
		if (strcmp(name, "--port") == 0)
			opt.port = (int)strtol(value, NULL, 10);
		else if (strcmp(name, "--connections") == 0)
			opt.connections = (unsigned)strtoul(value, NULL, 10);
		else if (strcmp(name, "--pid") == 0)
			pids_read(value);
		else if (!found)
			usage_print();
	}
	if (opt.connections == 0 || opt.keys == 0 || opt.bytes + 4096 > NOISE_BYTES)
		usage_print();
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	options_read(argc, argv);
	sign_init();
	noise = malloc(NOISE_BYTES);
	conns = calloc(opt.connections, sizeof *conns);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (!noise || !conns || epoll_fd < 0)
		die("out of memory");
	struct rng rng;
	rng_init_seed(&rng, 7);
	for (size_t i = 0; i < NOISE_BYTES; i += 8) {
		uint64_t v = rng_u64(&rng);
		memcpy(noise + i, &v, 8);
	}
	for (unsigned i = 0; i < opt.connections; i++) {
		struct conn *c = &conns[i];
		c->index = i;
		/* Another sequence each time: what an earlier run left in a cache must not help. */
		rng_init_seed(&c->rng, 1000 + i + opt.base + ((uint64_t)getpid() << 20));
		buf_init(&c->head, 1 << 24);
		buf_init(&c->in, (size_t)1 << 30);
		buf_init(&c->note, 1 << 24);
		work->protocol->open(c);
		conn_watch(c);
	}
	run();
	return bad_count > 0;
}

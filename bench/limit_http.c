/* SPDX-License-Identifier: Apache-2.0
 * limit_http DIR THREADS: the bare loop, and the bare log behind it. Requests are framed by the server's own parser on
 * an epoll loop like the server's; there is no service, no authorisation, no engine. GET answers 4 KiB from memory. PUT
 * hands its body to one log thread, which appends all that wait to a file written before, syncs once, and gives them
 * back to their loops. So a PUT here costs what any durable server of this shape must at least pay. Prints its port. */
#include "base/limits.h"
#include "wire/http/http1.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { IN_BYTES = 64 * KIB, LOG_FILE_BYTES = 256 * MIB, RECORD_HEAD_BYTES = 256, THREADS_MAX = 16 };

struct loop;
struct conn {
	struct conn *next;
	struct loop *loop;
	int fd;
	size_t len;
	struct slice body;
	size_t request_bytes;
	char in[IN_BYTES];
};

struct loop {
	pthread_t thread;
	int epoll_fd, event_fd;
	pthread_mutex_t lock;
	struct conn *done;
};

static struct loop loops[THREADS_MAX];
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t log_wake = PTHREAD_COND_INITIALIZER;
static struct conn *log_waiting;
static int log_fd;
static char get_reply[8192];
static size_t get_reply_bytes;

static void die(const char *what)
{
	fprintf(stderr, "limit_http: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void conn_send(struct conn *c, const char *text, size_t len)
{
	ssize_t n = send(c->fd, text, len, MSG_NOSIGNAL);
	(void)n; /* A client that went away is noticed by its read. */
	memmove(c->in, c->in + c->request_bytes, c->len - c->request_bytes);
	c->len -= c->request_bytes;
}

/* True if there was a whole request. */
static bool conn_serve(struct conn *c)
{
	struct http_head head;
	struct arena unused; /* for heads with very many headers */
	size_t scanned = 0;
	arena_init(&unused, 0);
	if (http_parse_head(slice_make(c->in, c->len), &scanned, &unused, &head) != HTTP_PARSE_DONE ||
	    c->len < head.head_bytes + head.content_length)
		return false;
	c->request_bytes = head.head_bytes + (size_t)head.content_length;
	if (head.method == HTTP_GET) {
		conn_send(c, get_reply, get_reply_bytes);
		return true;
	}
	c->body = slice_make(c->in + head.head_bytes, (size_t)head.content_length);
	pthread_mutex_lock(&log_lock);
	bool first = log_waiting == NULL;
	c->next = log_waiting;
	log_waiting = c;
	if (first)
		pthread_cond_signal(&log_wake);
	pthread_mutex_unlock(&log_lock);
	return true;
}

static void *log_run(void *arg)
{
	char *group = malloc(16 * MIB);
	size_t at = 0;
	if (!group)
		die("memory");
	for (;;) {
		pthread_mutex_lock(&log_lock);
		while (!log_waiting)
			pthread_cond_wait(&log_wake, &log_lock);
		struct conn *taken = log_waiting;
		log_waiting = NULL;
		pthread_mutex_unlock(&log_lock);
		size_t bytes = 0;
		for (struct conn *c = taken; c; c = c->next) {
			memset(group + bytes, 'h', RECORD_HEAD_BYTES);
			memcpy(group + bytes + RECORD_HEAD_BYTES, c->body.ptr, c->body.len);
			bytes += RECORD_HEAD_BYTES + c->body.len;
		}
		if (at + bytes > LOG_FILE_BYTES)
			at = 0;
		if (pwrite(log_fd, group, bytes, (off_t)at) != (ssize_t)bytes || fdatasync(log_fd) != 0)
			die("log");
		at += bytes;
		while (taken) {
			struct conn *c = taken;
			struct loop *l = c->loop;
			taken = c->next;
			pthread_mutex_lock(&l->lock);
			bool first = l->done == NULL;
			c->next = l->done;
			l->done = c;
			pthread_mutex_unlock(&l->lock);
			uint64_t one = 1;
			if (first && write(l->event_fd, &one, sizeof one) < 0)
				die("eventfd");
		}
	}
	return arg;
}

static void loop_answer(struct loop *l)
{
	static const char put_reply[] = "HTTP/1.1 201 Created\r\nContent-Length: 0\r\nETag: \"0x8DC6D7C4F4E7A00\"\r\n"
					"Last-Modified: Mon, 06 May 2024 07:08:09 GMT\r\nx-ms-version: "
					"2021-06-08\r\nDate: Mon, 06 May 2024 07:08:09 GMT\r\n\r\n";
	uint64_t count;
	if (read(l->event_fd, &count, sizeof count) < 0 && errno != EAGAIN)
		die("eventfd");
	pthread_mutex_lock(&l->lock);
	struct conn *c = l->done;
	l->done = NULL;
	pthread_mutex_unlock(&l->lock);
	while (c) {
		struct conn *next = c->next;
		conn_send(c, put_reply, sizeof put_reply - 1);
		c = next;
	}
}

static void conn_ready(struct conn *c)
{
	for (;;) {
		ssize_t n = recv(c->fd, c->in + c->len, IN_BYTES - c->len, MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			close(c->fd);
			free(c);
			return;
		}
		c->len += (size_t)n;
		if (conn_serve(c))
			return;
	}
}

static void *loop_run(void *arg)
{
	struct loop *l = arg;
	struct epoll_event events[128];
	for (;;) {
		int count = epoll_wait(l->epoll_fd, events, 128, -1);
		for (int i = 0; i < count; i++)
			if (events[i].data.ptr)
				conn_ready(events[i].data.ptr);
			else
				loop_answer(l);
	}
	return NULL;
}

static void log_prepare(const char *dir)
{
	static char piece[MIB];
	char path[512];
	snprintf(path, sizeof path, "%s/limit-log", dir);
	log_fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (log_fd < 0)
		die(path);
	memset(piece, 'x', sizeof piece);
	for (size_t at = 0; at < LOG_FILE_BYTES; at += sizeof piece)
		if (pwrite(log_fd, piece, sizeof piece, (off_t)at) != (ssize_t)sizeof piece)
			die("log");
	if (fsync(log_fd) != 0)
		die("fsync");
	unlink(path);
}

static void loop_start(struct loop *l)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLET, .data.ptr = NULL };
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	l->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	pthread_mutex_init(&l->lock, NULL);
	if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, l->event_fd, &e) != 0 ||
	    pthread_create(&l->thread, NULL, loop_run, l) != 0)
		die("loop");
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	unsigned threads = (unsigned)strtoul(argv[2], NULL, 10);
	log_prepare(argv[1]);
	get_reply_bytes =
		(size_t)snprintf(get_reply, sizeof get_reply,
				 "HTTP/1.1 200 OK\r\nContent-Length: 4096\r\nContent-Type: application/octet-stream\r\n"
				 "ETag: \"0x8DC6D7C4F4E7A00\"\r\nLast-Modified: Mon, 06 May 2024 07:08:09 GMT\r\n\r\n");
	memset(get_reply + get_reply_bytes, 'g', 4096);
	get_reply_bytes += 4096;
	for (unsigned i = 0; i < threads && i < THREADS_MAX; i++)
		loop_start(&loops[i]);
	pthread_t log_thread;
	if (pthread_create(&log_thread, NULL, log_run, NULL) != 0)
		die("thread");
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof address;
	int listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	if (bind(listen_fd, (struct sockaddr *)&address, size) != 0 || listen(listen_fd, 512) != 0 ||
	    getsockname(listen_fd, (struct sockaddr *)&address, &size) != 0)
		die("listen");
	printf("listening at %d\n", ntohs(address.sin_port));
	fflush(stdout);
	for (unsigned i = 0;; i = (i + 1) % threads) {
		int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
		struct conn *c = fd < 0 ? NULL : calloc(1, sizeof *c);
		if (!c)
			die("accept");
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		c->fd = fd;
		c->loop = &loops[i];
		struct epoll_event e = { .events = EPOLLIN | EPOLLET, .data.ptr = c };
		if (epoll_ctl(loops[i].epoll_fd, EPOLL_CTL_ADD, fd, &e) != 0)
			die("epoll");
	}
}

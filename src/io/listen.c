/* SPDX-License-Identifier: Apache-2.0
 * Listening sockets: opening them with messages an operator understands, and accepting within the descriptors there
 * are. */
#include "io/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { LISTEN_BACKLOG = 4096, FILES_LEAST = 128, FILES_PART = 8, CONNECTIONS_PART = 4 };

static void listen_explain(struct buf *message, const char *host, uint16_t port, int error)
{
	switch (error) {
	case EADDRINUSE:
		buf_printf(message, "port %u on %s is in use: stop the program that has it, or choose another port",
			   port, host);
		break;
	case EACCES:
		buf_printf(message, "no permission to listen on %s port %u: choose a port above 1023", host, port);
		break;
	case EADDRNOTAVAIL:
		buf_printf(message,
			   "%s is not an address of this machine: choose one that is (127.0.0.1, 0.0.0.0, ...)", host);
		break;
	default:
		buf_printf(message, "cannot listen on %s port %u: %s", host, port, strerror(error));
	}
}

/* A name may stand for addresses of both kinds. Who connects by that name tries them all, who writes 127.0.0.1 only
 * one: so that one it is. */
static const struct addrinfo *address_choose(const struct addrinfo *list)
{
	for (const struct addrinfo *a = list; a; a = a->ai_next)
		if (a->ai_family == AF_INET)
			return a;
	return list;
}

enum err io_listen(const char *host, uint16_t port, int *ret_fd, uint16_t *ret_port, struct buf *ret_message)
{
	char service[8];
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE },
			*list = NULL;
	snprintf(service, sizeof service, "%u", port);
	int rc = getaddrinfo(host, service, &hints, &list);
	if (rc != 0) {
		buf_printf(ret_message, "cannot find the address %s: %s", host, gai_strerror(rc));
		return ERR_IO;
	}
	const struct addrinfo *address = address_choose(list);
	int one = 1, error = 0;
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct sockaddr_in6 bound = { 0 }; /* its port stands where an IPv4 address has it */
	socklen_t bound_len = sizeof bound;
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
	    bind(fd, address->ai_addr, address->ai_addrlen) != 0 || listen(fd, LISTEN_BACKLOG) != 0 ||
	    getsockname(fd, (struct sockaddr *)&bound, &bound_len) != 0)
		error = errno;
	freeaddrinfo(list);
	if (error) {
		listen_explain(ret_message, host, port, error);
		if (fd >= 0)
			close(fd);
		return ERR_IO;
	}
	*ret_fd = fd;
	*ret_port = ntohs(bound.sin6_port);
	return ERR_OK;
}

/* Paths can be longer than an address may be: then the directory is opened and named by its descriptor. */
static int path_address(const char *path, struct sockaddr_un *ret)
{
	const char *name = strrchr(path, '/');
	int dir = -1, n;
	char above[PATH_MAX] = ".";
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	n = snprintf(ret->sun_path, sizeof ret->sun_path, "%s", path);
	if (n < (int)sizeof ret->sun_path)
		return AT_FDCWD;
	if (name && (size_t)(name - path) < sizeof above)
		memcpy(above, path, (size_t)(name - path) + 1);
	dir = open(above, O_PATH | O_DIRECTORY | O_CLOEXEC);
	n = snprintf(ret->sun_path, sizeof ret->sun_path, "/proc/self/fd/%d/%s", dir, name ? name + 1 : path);
	if (dir >= 0 && n >= (int)sizeof ret->sun_path) {
		close(dir);
		dir = -1;
		errno = ENAMETOOLONG;
	}
	return dir;
}

enum err io_listen_path(const char *path, int *ret_fd, struct buf *ret_message)
{
	struct sockaddr_un address;
	struct stat st;
	int dir = path_address(path, &address);
	int fd = dir == -1 ? -1 : socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd >= 0 && lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
		unlink(path);
	bool ok = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
		  listen(fd, LISTEN_BACKLOG) == 0;
	if (!ok)
		buf_printf(ret_message, "cannot listen at %s: %s", path, strerror(errno));
	if (dir >= 0)
		close(dir);
	if (!ok && fd >= 0)
		close(fd);
	if (ok)
		*ret_fd = fd;
	return ok ? ERR_OK : ERR_IO;
}

int io_connect_path(const char *path)
{
	struct sockaddr_un address;
	int dir = path_address(path, &address);
	int fd = dir == -1 ? -1 : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
		int error = errno;
		close(fd);
		errno = error;
		fd = -1;
	}
	if (dir >= 0)
		close(dir);
	return fd;
}

static void address_text(const struct sockaddr_storage *a, char text[IO_ADDRESS_TEXT_BYTES])
{
	if (a->ss_family == AF_UNIX) {
		memcpy(text, IO_ADDRESS_LOCAL, sizeof IO_ADDRESS_LOCAL);
	} else if (a->ss_family == AF_INET6) {
		const struct in6_addr *v6 = &((const struct sockaddr_in6 *)a)->sin6_addr;
		if (IN6_IS_ADDR_V4MAPPED(v6))
			inet_ntop(AF_INET, &v6->s6_addr[12], text, IO_ADDRESS_TEXT_BYTES);
		else
			inet_ntop(AF_INET6, v6, text, IO_ADDRESS_TEXT_BYTES);
	} else {
		inet_ntop(AF_INET, &((const struct sockaddr_in *)a)->sin_addr, text, IO_ADDRESS_TEXT_BYTES);
	}
}

/* Files come before connections: an engine that cannot open its next file has to stop, a client that is not taken now
 * comes again. A quarter of all descriptors is for connections in any case; beyond that they leave some free.
 * Descriptors are given out from the lowest, so a number this high says how many are taken. */
static bool is_for_files(int fd, size_t connections)
{
	struct rlimit r;
	if (getrlimit(RLIMIT_NOFILE, &r) != 0 || r.rlim_cur == RLIM_INFINITY ||
	    connections < r.rlim_cur / CONNECTIONS_PART)
		return false;
	rlim_t files = r.rlim_cur / FILES_PART + FILES_LEAST;
	if (files > r.rlim_cur / 2)
		files = r.rlim_cur / 2;
	return (rlim_t)fd >= r.rlim_cur - files;
}

enum io_accept io_accept(int listen_fd, size_t connections, int *reserve_fd, int *ret_fd,
			 char ret_address[IO_ADDRESS_TEXT_BYTES])
{
	struct sockaddr_storage peer = { .ss_family = AF_INET };
	socklen_t peer_len = sizeof peer;
	int fd = accept4(listen_fd, (struct sockaddr *)&peer, &peer_len, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0) {
		switch (errno) {
		case EMFILE:
		case ENFILE:
		case ENOBUFS:
		case ENOMEM:
			if (*reserve_fd >= 0) {
				close(*reserve_fd);
				fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
				if (fd >= 0)
					close(fd);
				*reserve_fd = io_reserve_fd();
			}
			return IO_ACCEPT_EXHAUSTED;
		default:
			return IO_ACCEPT_NONE;
		}
	}
	if (is_for_files(fd, connections)) {
		close(fd);
		return IO_ACCEPT_EXHAUSTED;
	}
	int one = 1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	address_text(&peer, ret_address);
	*ret_fd = fd;
	return IO_ACCEPTED;
}

uint16_t io_peer_port(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} a = { .v6 = { 0 } };
	socklen_t len = sizeof a;
	if (getpeername(fd, &a.any, &len) != 0)
		return 0;
	if (a.any.sa_family == AF_INET)
		return ntohs(a.v4.sin_port);
	return a.any.sa_family == AF_INET6 ? ntohs(a.v6.sin6_port) : 0;
}

bool io_address_own(int fd, struct io_address *ret)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} a = { .v6 = { 0 } };
	socklen_t len = sizeof a;
	if (getsockname(fd, &a.any, &len) != 0 || (a.any.sa_family != AF_INET && a.any.sa_family != AF_INET6))
		return false;
	const unsigned char *bytes =
		a.any.sa_family == AF_INET ? (const unsigned char *)&a.v4.sin_addr : a.v6.sin6_addr.s6_addr;
	bool is_v4 = a.any.sa_family == AF_INET || IN6_IS_ADDR_V4MAPPED(&a.v6.sin6_addr);
	ret->len = is_v4 ? 4 : 16;
	memcpy(ret->bytes, bytes + (is_v4 && a.any.sa_family == AF_INET6 ? 12 : 0), ret->len);
	return true;
}

int io_reserve_fd(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

void io_raise_fd_limit(void)
{
	struct rlimit r;
	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
}

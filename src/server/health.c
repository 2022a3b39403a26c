/* SPDX-License-Identifier: Apache-2.0
 * `zaffre health`: asks a running server whether it takes requests, for container health checks and scripts: exit
 * status 0 if it does, 1 if not. With an admin port /readyz is asked, else whether the Blob port answers HTTP at all.
 * */
#include "server/health.h"
#include "server/serve.h"

#include "base/limits.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { HEALTH_TIMEOUT_S = 5 };

static int dial(const char *host, int64_t port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found = NULL;
	char service[8];
	int fd = -1;
	/* Who listens everywhere also listens here. */
	if (strcmp(host, "0.0.0.0") == 0)
		host = "127.0.0.1";
	else if (strcmp(host, "::") == 0)
		host = "::1";
	(void)snprintf(service, sizeof service, "%u", (unsigned)port & UINT16_MAX);
	if (getaddrinfo(host, service, &hints, &found) != 0)
		return -1;
	for (struct addrinfo *a = found; a && fd < 0; a = a->ai_next) {
		struct timeval limit = { .tv_sec = HEALTH_TIMEOUT_S };
		fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
		if (fd < 0)
			continue;
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
		if (connect(fd, a->ai_addr, a->ai_addrlen) != 0) {
			close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(found);
	return fd;
}

/* The first line of the answer, as much of it as came; empty if nothing did. */
static struct slice ask(int fd, const char *request, char *dst, size_t room)
{
	size_t len = strlen(request), have = 0;
	if (write(fd, request, len) != (ssize_t)len)
		return SLICE("");
	while (have < room) {
		ssize_t n = read(fd, dst + have, room - have);
		if (n <= 0)
			break;
		have += (size_t)n;
		if (memchr(dst, '\n', have))
			break;
	}
	return slice_make(dst, have);
}

int health_main(const struct config *c)
{
	int64_t port = c->blobPort;
	const char *host = c->blobHost;
	bool admin = c->adminPort[0] && slice_to_i64(slice_str(c->adminPort), &port);
	char bytes[512];
	if (admin)
		host = c->adminHost;
	int fd = dial(host, port);
	if (fd < 0) {
		fprintf(stderr, "zaffre: nothing listens on %s port %lld: %s\n", host, (long long)port,
			strerror(errno));
		return 1;
	}
	/* A port that speaks TLS is told by its accepting the connection: certificates are the clients' concern. */
	bool well = c->secure && !admin;
	if (!well) {
		struct slice line = ask(fd, "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
					bytes, sizeof bytes);
		well = slice_has_prefix(line, admin ? SLICE("HTTP/1.1 200") : SLICE("HTTP/1.1 "));
	}
	close(fd);
	puts(well ? "ready" : "not ready");
	return well ? 0 : 1;
}

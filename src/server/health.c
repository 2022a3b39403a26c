/* SPDX-License-Identifier: Apache-2.0
 * `zaffre health`: asks a running server whether it takes requests, for container health checks and scripts: exit
 * status 0 if it does, 1 if not. /readyz is asked, at the admin port if one is given, else through the socket of a
 * --location that is; without either, whether the first served port answers at all. */
#include "server/health.h"
#include "server/admin/admin.h"
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
	if (send(fd, request, len, MSG_NOSIGNAL) != (ssize_t)len)
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

static int say(bool well, const char *why)
{
	if (well)
		puts("ready");
	else
		fprintf(stderr, "zaffre: not ready: %s\n", why);
	return well ? 0 : 1;
}

/* By its directory, as the other commands find it; -1: nobody is there who may be asked. */
static int by_location(const struct config *c)
{
	if (!c->location_given || !admin_answers(c))
		return -1;
	struct buf answer;
	buf_init(&answer, 64 * KIB);
	int status = admin_ask(c, "GET", SLICE("/readyz"), &answer);
	char why[256];
	snprintf(why, sizeof why, "%.*s", SLICE_FMT(slice_trim(buf_slice(&answer))));
	buf_fini(&answer);
	return say(status == 200, why);
}

static int by_port(const struct config *c, const char *host, int64_t port, bool admin)
{
	char bytes[512], why[128];
	int fd = dial(host, port);
	if (fd < 0) {
		fprintf(stderr, "zaffre: nothing listens on %s port %lld: %s\n", host, (long long)port,
			strerror(errno));
		return 1;
	}
	struct slice line = SLICE("");
	/* A port that speaks TLS is told by its accepting the connection: certificates are the clients' concern. */
	bool tls = c->secure && !admin;
	if (!tls)
		line = ask(fd, "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", bytes,
			   sizeof bytes);
	close(fd);
	if (slice_has_prefix(line, SLICE("HTTP/1.1 "))) {
		struct slice first = slice_trim(slice_cut(&line, '\n'));
		snprintf(why, sizeof why, "it answers %.*s", (int)(first.len < 80 ? first.len : 80), first.ptr);
		return say(!admin || slice_has_prefix(first, SLICE("HTTP/1.1 200")), why);
	}
	snprintf(why, sizeof why, "what listens on port %lld does not answer HTTP%s", (long long)port,
		 admin ? "" : " (if it serves HTTPS, give its --cert and --key, or its --location)");
	return say(tls, why);
}

int health_main(const struct config *c)
{
	int64_t port;
	if (c->adminPort[0] && slice_to_i64(slice_str(c->adminPort), &port))
		return by_port(c, c->adminHost, port, true);
	int status = by_location(c), first = 0;
	while (first < CONFIG_SERVICES - 1 && !config_serves(c, first))
		first++;
	return status >= 0 ? status : by_port(c, config_host(c, first), config_port(c, first), false);
}

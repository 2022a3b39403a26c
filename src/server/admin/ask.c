/* SPDX-License-Identifier: Apache-2.0
 * Asking a running server through its admin socket. */
#include "server/admin/admin.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/listen.h"
#include "server/serve.h"

static int refuse(struct buf *message)
{
	say_error(buf_slice(message));
	buf_fini(message);
	return 0;
}

static bool send_all(int fd, struct slice bytes)
{
	while (bytes.len) {
		ssize_t n = send(fd, bytes.ptr, bytes.len, MSG_NOSIGNAL); /* it may end meanwhile */
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		bytes = slice_from(bytes, (size_t)n);
	}
	return true;
}

static bool receive_all(int fd, struct buf *out)
{
	for (;;) {
		char *room = buf_reserve(out, 4096);
		ssize_t n = room ? read(fd, room, 4096) : -1;
		if (n < 0 && room && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0;
		out->len += (size_t)n;
	}
}

/* "HTTP/1.1 200 ..." and what follows the blank line. */
static int answer_read(struct slice answer, struct buf *out)
{
	uint64_t status;
	struct slice word = slice_from(slice_first(answer, 12), 9);
	if (!slice_has_prefix(answer, SLICE("HTTP/1.1 ")) || !slice_to_u64(word, &status))
		return 0;
	for (size_t i = 0; i + 4 <= answer.len; i++)
		if (memcmp(answer.ptr + i, "\r\n\r\n", 4) == 0) {
			buf_put(out, slice_from(answer, i + 4));
			return (int)status;
		}
	return 0;
}

static bool socket_find(const struct config *c, char path[PATH_MAX])
{
	char *dir = realpath(c->location, NULL);
	bool named = admin_socket_path(c, dir ? dir : c->location, path, PATH_MAX);
	free(dir);
	return named;
}

bool admin_answers(const struct config *c)
{
	char path[PATH_MAX];
	int fd = socket_find(c, path) ? io_connect_path(path) : -1;
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int admin_ask(const struct config *c, const char *method, struct slice target, struct buf *out)
{
	char path[PATH_MAX];
	struct buf text;
	buf_init(&text, 16 * MIB);
	if (!socket_find(c, path)) {
		BUF_PUT(&text, "--adminSocket off: a server without one cannot be asked");
		return refuse(&text);
	}
	int fd = io_connect_path(path);
	if (fd < 0) {
		bool absent = errno == ENOENT || errno == ECONNREFUSED || errno == ENOTDIR;
		if (absent)
			buf_printf(&text,
				   "no server runs on %s (nothing answers at %s): start it first, or give its "
				   "--location",
				   c->location, path);
		else
			buf_printf(&text, "cannot reach the server at %s: %s. Run this as its user or as root", path,
				   strerror(errno));
		return refuse(&text);
	}
	buf_printf(&text, "%s %.*s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
		   method, SLICE_FMT(target));
	bool ok = buf_ok(&text) && send_all(fd, buf_slice(&text));
	buf_clear(&text);
	ok = ok && receive_all(fd, &text);
	close(fd);
	int status = ok ? answer_read(buf_slice(&text), out) : 0;
	if (status == 0) {
		buf_clear(&text);
		buf_printf(&text, "the server at %s ended before it answered", path);
		return refuse(&text);
	}
	buf_fini(&text);
	return status;
}

/* SPDX-License-Identifier: Apache-2.0
 * Streams over sockets, and the choice between plain and TLS. */
#include "io/stream.h"

#include <assert.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/tls_int.h"

#include <openssl/ssl.h>

enum { TLS_GATHER_BYTES = 16 * 1024 }; /* one record */

enum err io_stream_init(struct io_stream *s, int fd, struct io_tls *tls)
{
	*s = (struct io_stream){ .fd = fd };
	if (!tls)
		return ERR_OK;
	s->ssl = tls_stream_new(tls, fd);
	if (s->ssl)
		return ERR_OK;
	io_stream_close(s);
	return ERR_NO_MEMORY;
}

void io_stream_close(struct io_stream *s)
{
	if (s->ssl)
		tls_stream_free(s->ssl);
	s->ssl = NULL;
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

void io_stream_reset(struct io_stream *s)
{
	struct linger now = { .l_onoff = 1, .l_linger = 0 };
	(void)setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

static ssize_t stream_result(ssize_t n)
{
	if (n >= 0)
		return n;
	return errno == EAGAIN || errno == EWOULDBLOCK ? STREAM_AGAIN : STREAM_BROKEN;
}

ssize_t io_stream_read(struct io_stream *s, void *dst, size_t size)
{
	assert(size > 0);
	if (s->ssl)
		return tls_stream_read(s->ssl, dst, size);
	ssize_t n;
	do
		n = recv(s->fd, dst, size, 0);
	while (n < 0 && errno == EINTR);
	return stream_result(n);
}

static ssize_t stream_write_tls(struct io_stream *s, const struct iovec *iov, int count)
{
	/* Head and small body share one record; what is larger goes as it is. */
	char gather[TLS_GATHER_BYTES];
	size_t used = 0;
	int i = 0;
	while (i < count && iov[i].iov_len <= sizeof gather - used) {
		memcpy(gather + used, iov[i].iov_base, iov[i].iov_len);
		used += iov[i].iov_len;
		i++;
	}
	if (i < count && used < sizeof gather && used > 0) {
		memcpy(gather + used, iov[i].iov_base, sizeof gather - used);
		used = sizeof gather;
	}
	if (used == 0)
		return tls_stream_write(s->ssl, iov[0].iov_base, iov[0].iov_len);
	return tls_stream_write(s->ssl, gather, used);
}

ssize_t io_stream_writev(struct io_stream *s, const struct iovec *iov, int count)
{
	while (count > 0 && iov->iov_len == 0) {
		iov++;
		count--;
	}
	assert(count > 0);
	if (s->ssl)
		return stream_write_tls(s, iov, count);
	struct msghdr m = { .msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = (size_t)count };
	ssize_t n;
	do
		n = count == 1 ? send(s->fd, iov->iov_base, iov->iov_len, MSG_NOSIGNAL)
			       : sendmsg(s->fd, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	/* A send of more than nothing never returns nothing. */
	return stream_result(n);
}

void io_stream_shutdown_write(struct io_stream *s)
{
	if (s->ssl)
		tls_stream_shutdown(s->ssl);
	shutdown(s->fd, SHUT_WR);
}

const char *io_stream_tls_version(const struct io_stream *s)
{
	return s->ssl ? SSL_get_version(s->ssl) : NULL;
}

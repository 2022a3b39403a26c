/* SPDX-License-Identifier: Apache-2.0
 * A connected, non-blocking byte stream: a socket, with or without TLS on it. One thread at a time.
 * Results: > 0 bytes moved; STREAM_END the peer ended its side; STREAM_AGAIN nothing now, wait for the next edge;
 * STREAM_YIELD nothing yet, but the socket may have more: try again when others had their turn (no edge will follow);
 * STREAM_BROKEN the connection is lost. */
#ifndef IO_STREAM_H
#define IO_STREAM_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/err.h"
#include "io/tls.h"

enum { STREAM_END = 0, STREAM_AGAIN = -1, STREAM_BROKEN = -2, STREAM_YIELD = -3 };

struct io_stream {
	int fd;
	void *ssl; /* SSL *, NULL on a plain socket */
};

/* Takes the descriptor over, also on failure. */
enum err io_stream_init(struct io_stream *, int fd, struct io_tls *) MUST_CHECK;
void io_stream_close(struct io_stream *); /* accepts a closed one */
ssize_t io_stream_read(struct io_stream *, void *dst, size_t size);
ssize_t io_stream_writev(struct io_stream *, const struct iovec *, int count);
/* "TLSv1.3" and the like; NULL on a plain socket. */
const char *io_stream_tls_version(const struct io_stream *);
/* No more will be sent; the peer may still send. */
void io_stream_shutdown_write(struct io_stream *);
/* What is not sent yet is thrown away when it is closed, and the peer told so by a reset. */
void io_stream_reset(struct io_stream *);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Between stream.c and tls.c. `ssl` is an SSL *; results are those of io/stream.h. */
#ifndef IO_TLS_INT_H
#define IO_TLS_INT_H

#include <stddef.h>
#include <sys/types.h>

struct io_tls;

void *tls_stream_new(struct io_tls *, int fd);
void tls_stream_free(void *ssl);
ssize_t tls_stream_read(void *ssl, void *dst, size_t size);
ssize_t tls_stream_write(void *ssl, const void *src, size_t size);
void tls_stream_shutdown(void *ssl);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * A TLS server context: certificate chain and key from PEM files, TLS 1.2 and later. Shared by all threads. */
#ifndef IO_TLS_H
#define IO_TLS_H

#include "base/buf.h"
#include "base/err.h"

struct io_tls;

/* On failure *ret_message says which file and why. */
enum err io_tls_new(const char *cert_file, const char *key_file, struct io_tls **ret,
		    struct buf *ret_message) MUST_CHECK;
/* Reads the files again, for the streams to come; those that are there keep what they have. On failure nothing
 * changes. */
enum err io_tls_reload(struct io_tls *, const char *cert_file, const char *key_file,
		       struct buf *ret_message) MUST_CHECK;
/* When its certificate ends, in seconds since 1970; false if that cannot be told. Any thread. */
bool io_tls_expiry(struct io_tls *, int64_t *ret_unix_s);
void io_tls_free(struct io_tls *); /* accepts NULL; after the last stream that used it */

#endif

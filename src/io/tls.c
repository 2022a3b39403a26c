/* SPDX-License-Identifier: Apache-2.0
 * TLS streams and their context. OpenSSL reads and writes the socket itself (SSL_set_fd): no copy through memory BIOs.
 */
#include "io/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/stream.h"
#include "io/tls_int.h"

struct io_tls {
	pthread_mutex_t lock;
	SSL_CTX *ctx; /* under lock; a stream holds a reference to the one it began with */
};

static void tls_explain(struct buf *message, const char *what, const char *file)
{
	char text[256];
	unsigned long code = ERR_get_error();
	if (code)
		ERR_error_string_n(code, text, sizeof text);
	else
		snprintf(text, sizeof text, "unknown error");
	buf_printf(message, "%s %s: %s", what, file, text);
	ERR_clear_error();
}

static SSL_CTX *context_new(const char *cert_file, const char *key_file, struct buf *ret_message)
{
	ERR_clear_error();
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	if (!ctx) {
		tls_explain(ret_message, "cannot prepare TLS for", cert_file);
		return NULL;
	}
	SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_COMPRESSION |
					 SSL_OP_IGNORE_UNEXPECTED_EOF);
	/* Idle connections give their buffers back; a write may be retried from another place and end early. */
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
				      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	if (SSL_CTX_use_certificate_chain_file(ctx, cert_file) != 1)
		tls_explain(ret_message, "cannot use the certificate", cert_file);
	else if (SSL_CTX_use_PrivateKey_file(ctx, key_file, SSL_FILETYPE_PEM) != 1)
		tls_explain(ret_message, "cannot use the key", key_file);
	else if (SSL_CTX_check_private_key(ctx) != 1)
		tls_explain(ret_message, "the certificate does not belong to the key", key_file);
	else
		return ctx;
	SSL_CTX_free(ctx);
	return NULL;
}

enum err io_tls_new(const char *cert_file, const char *key_file, struct io_tls **ret, struct buf *ret_message)
{
	struct io_tls *t = calloc(1, sizeof *t);
	if (!t)
		return ERR_NO_MEMORY;
	pthread_mutex_init(&t->lock, NULL);
	t->ctx = context_new(cert_file, key_file, ret_message);
	if (!t->ctx) {
		io_tls_free(t);
		return ERR_IO;
	}
	*ret = t;
	return ERR_OK;
}

enum err io_tls_reload(struct io_tls *t, const char *cert_file, const char *key_file, struct buf *ret_message)
{
	SSL_CTX *fresh = context_new(cert_file, key_file, ret_message);
	if (!fresh)
		return ERR_IO;
	pthread_mutex_lock(&t->lock);
	SSL_CTX *old = t->ctx;
	t->ctx = fresh;
	pthread_mutex_unlock(&t->lock);
	SSL_CTX_free(old);
	return ERR_OK;
}

void io_tls_free(struct io_tls *t)
{
	if (!t)
		return;
	SSL_CTX_free(t->ctx);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

void *tls_stream_new(struct io_tls *t, int fd)
{
	pthread_mutex_lock(&t->lock);
	SSL *ssl = SSL_new(t->ctx);
	pthread_mutex_unlock(&t->lock);
	if (!ssl)
		return NULL;
	if (SSL_set_fd(ssl, fd) != 1) {
		SSL_free(ssl);
		return NULL;
	}
	SSL_set_accept_state(ssl);
	return ssl;
}

void tls_stream_free(void *ssl)
{
	SSL_free(ssl);
}

static ssize_t tls_result(SSL *ssl, int n)
{
	switch (SSL_get_error(ssl, n)) {
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE:
		/* Both edges are registered, whichever comes tries again. */
		return STREAM_AGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return STREAM_END;
	default:
		/* After these OpenSSL forbids SSL_shutdown on the stream. */
		SSL_set_quiet_shutdown(ssl, 1);
		ERR_clear_error();
		return STREAM_BROKEN;
	}
}

ssize_t tls_stream_read(void *ssl, void *dst, size_t size)
{
	ERR_clear_error();
	int n = SSL_read(ssl, dst, size > INT32_MAX ? INT32_MAX : (int)size);
	return n > 0 ? n : tls_result(ssl, n);
}

ssize_t tls_stream_write(void *ssl, const void *src, size_t size)
{
	ERR_clear_error();
	int n = SSL_write(ssl, src, size > INT32_MAX ? INT32_MAX : (int)size);
	return n > 0 ? n : tls_result(ssl, n);
}

void tls_stream_shutdown(void *ssl)
{
	ERR_clear_error();
	if (SSL_is_init_finished(ssl))
		(void)SSL_shutdown(ssl);
	ERR_clear_error();
}

/* SPDX-License-Identifier: Apache-2.0
 * TLS streams and their context. OpenSSL reads and writes the socket itself (SSL_set_fd): no copy through memory BIOs.
 */
#include "io/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/stream.h"
#include "io/tls_int.h"

struct io_tls {
	SSL_CTX *ctx;
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

enum err io_tls_new(const char *cert_file, const char *key_file, struct io_tls **ret, struct buf *ret_message)
{
	struct io_tls *t = calloc(1, sizeof *t);
	if (!t)
		return ERR_NO_MEMORY;
	ERR_clear_error();
	t->ctx = SSL_CTX_new(TLS_server_method());
	if (!t->ctx) {
		tls_explain(ret_message, "cannot prepare TLS for", cert_file);
		goto fail;
	}
	SSL_CTX_set_min_proto_version(t->ctx, TLS1_2_VERSION);
	SSL_CTX_set_options(t->ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_COMPRESSION |
					    SSL_OP_IGNORE_UNEXPECTED_EOF);
	/* Idle connections give their buffers back; a write may be retried from another place and end early. */
	SSL_CTX_set_mode(t->ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
					 SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	if (SSL_CTX_use_certificate_chain_file(t->ctx, cert_file) != 1) {
		tls_explain(ret_message, "cannot use the certificate", cert_file);
		goto fail;
	}
	if (SSL_CTX_use_PrivateKey_file(t->ctx, key_file, SSL_FILETYPE_PEM) != 1) {
		tls_explain(ret_message, "cannot use the key", key_file);
		goto fail;
	}
	if (SSL_CTX_check_private_key(t->ctx) != 1) {
		tls_explain(ret_message, "the certificate does not belong to the key", key_file);
		goto fail;
	}
	*ret = t;
	return ERR_OK;
fail:
	io_tls_free(t);
	return ERR_IO;
}

void io_tls_free(struct io_tls *t)
{
	if (!t)
		return;
	SSL_CTX_free(t->ctx);
	free(t);
}

void *tls_stream_new(struct io_tls *t, int fd)
{
	SSL *ssl = SSL_new(t->ctx);
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

/* SPDX-License-Identifier: Apache-2.0
 * TLS streams and their context. OpenSSL reads and writes the socket itself, through a BIO of our own that is a
 * socket's but for its bounds: SSL_read goes on reading while records bring no data (key updates, refused
 * renegotiations), so one call may read the socket only so often, and a stream that sends too many such messages is
 * broken. */
#include "io/tls.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/stream.h"
#include "io/tls_int.h"

enum {
	/* recv calls of one SSL_read: a record takes two. Beyond, the stream's turn is over. */
	READS_PER_CALL = 64,
	/* Key updates and refused renegotiations in the life of a stream. Who updates keys as TLS demands does so once
	 * in some hundred GiB. */
	CONTROL_MESSAGES_MAX = 64,
	WARNING_NO_RENEGOTIATION = 100,
};

struct io_tls {
	pthread_mutex_t lock;
	SSL_CTX *ctx; /* under lock; a stream holds a reference to the one it began with */
};

/* What the BIO of a stream knows. */
struct tls_stream {
	int fd;
	unsigned reads_left;
	unsigned control_messages;
	bool yielded; /* reads_left ran out while the socket may have more */
};

static struct tls_stream *stream_of(SSL *ssl)
{
	return BIO_get_data(SSL_get_rbio(ssl));
}

static int bio_read(BIO *bio, char *dst, int size)
{
	struct tls_stream *s = BIO_get_data(bio);
	ssize_t n;
	BIO_clear_retry_flags(bio);
	if (s->control_messages > CONTROL_MESSAGES_MAX)
		return -1;
	if (s->reads_left == 0) {
		s->yielded = true;
		BIO_set_retry_read(bio);
		return -1;
	}
	s->reads_left--;
	do
		n = recv(s->fd, dst, (size_t)size, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		BIO_set_retry_read(bio);
	return (int)n;
}

static int bio_write(BIO *bio, const char *src, int size)
{
	struct tls_stream *s = BIO_get_data(bio);
	ssize_t n;
	BIO_clear_retry_flags(bio);
	do
		n = send(s->fd, src, (size_t)size, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		BIO_set_retry_write(bio);
	return (int)n;
}

static long bio_ctrl(BIO *bio, int command, long number, void *pointer)
{
	(void)bio, (void)number, (void)pointer;
	return command == BIO_CTRL_FLUSH;
}

static int bio_destroy(BIO *bio)
{
	free(BIO_get_data(bio));
	return 1;
}

static BIO_METHOD *bio_method;

static void bio_method_make(void)
{
	BIO_METHOD *m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "bounded socket");
	if (m && BIO_meth_set_read(m, bio_read) && BIO_meth_set_write(m, bio_write) && BIO_meth_set_ctrl(m, bio_ctrl) &&
	    BIO_meth_set_destroy(m, bio_destroy))
		bio_method = m;
}

/* Sees every message: counts those that cost us work and bring no data. */
static void message_seen(int sent, int version, int type, const void *bytes, size_t len, SSL *ssl, void *arg)
{
	const unsigned char *b = bytes;
	bool key_update = !sent && type == SSL3_RT_HANDSHAKE && len > 0 && b[0] == SSL3_MT_KEY_UPDATE;
	bool renegotiation = sent && type == SSL3_RT_ALERT && len > 1 && b[1] == WARNING_NO_RENEGOTIATION;
	(void)version, (void)arg;
	if (key_update || renegotiation)
		stream_of(ssl)->control_messages++;
}

static void tls_explain(struct buf *message, const char *what, const char *file)
{
	char text[256];
	unsigned long code = ERR_get_error();
	if (code && ERR_SYSTEM_ERROR(code))
		snprintf(text, sizeof text, "%s", strerror(ERR_GET_REASON(code)));
	else if (code)
		ERR_error_string_n(code, text, sizeof text);
	else
		snprintf(text, sizeof text, "unknown error");
	buf_printf(message, "%s %s: %s", what, file, text);
	ERR_clear_error();
}

/* Names of TLS 1.3 and those of 1.2 are set apart from each other; who names only one kind gets only that. */
static bool ciphers_set(SSL_CTX *ctx, struct slice list)
{
	struct buf new_ones, old_ones;
	bool ok = true;
	buf_init(&new_ones, 4096);
	buf_init(&old_ones, 4096);
	while (slice_is_set(list)) {
		struct slice name = slice_trim(slice_cut(&list, ':'));
		struct buf *to = slice_has_prefix(name, SLICE("TLS_")) ? &new_ones : &old_ones;
		if (to->len)
			BUF_PUT(to, ":");
		buf_put(to, name);
	}
	buf_put_byte(&new_ones, 0);
	buf_put_byte(&old_ones, 0);
	ok = buf_ok(&new_ones) && buf_ok(&old_ones);
	if (ok && new_ones.len > 1)
		ok = SSL_CTX_set_ciphersuites(ctx, new_ones.ptr) == 1;
	else if (ok)
		ok = SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION) == 1;
	if (ok && old_ones.len > 1)
		ok = SSL_CTX_set_cipher_list(ctx, old_ones.ptr) == 1;
	else if (ok)
		ok = SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) == 1;
	buf_fini(&new_ones);
	buf_fini(&old_ones);
	return ok;
}

static bool client_ca_set(SSL_CTX *ctx, const char *file)
{
	static const unsigned char id[] = "zaffre";
	STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(file);
	if (!names || SSL_CTX_load_verify_locations(ctx, file, NULL) != 1)
		return false;
	SSL_CTX_set_client_CA_list(ctx, names); /* taken over */
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	/* A session that is taken up again was one of ours. */
	return SSL_CTX_set_session_id_context(ctx, id, sizeof id - 1) == 1;
}

static SSL_CTX *context_new(const struct io_tls_options *o, const char *cert_file, const char *key_file,
			    struct buf *ret_message)
{
	ERR_clear_error();
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	if (!ctx) {
		tls_explain(ret_message, "cannot prepare TLS for", cert_file);
		return NULL;
	}
	SSL_CTX_set_min_proto_version(ctx, o->only_13 ? TLS1_3_VERSION : TLS1_2_VERSION);
	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_COMPRESSION |
					 SSL_OP_IGNORE_UNEXPECTED_EOF);
	SSL_CTX_set_msg_callback(ctx, message_seen);
	/* Idle connections give their buffers back; a write may be retried from another place and end early. */
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
				      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	if (o->ciphers && o->ciphers[0] && !ciphers_set(ctx, slice_str(o->ciphers)))
		tls_explain(ret_message, "no cipher that is known in", o->ciphers);
	else if (o->client_ca && o->client_ca[0] && !client_ca_set(ctx, o->client_ca))
		tls_explain(ret_message, "cannot use the certificates of clients' authorities", o->client_ca);
	else if (SSL_CTX_use_certificate_chain_file(ctx, cert_file) != 1)
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

/* ---- several certificates ---- */

enum { CERTIFICATES_MAX = 64 };

/* Beside the first, whose context owns this. */
struct other_certificates {
	SSL_CTX *ctx[CERTIFICATES_MAX];
	size_t count;
};

static void others_free(void *parent, void *ptr, CRYPTO_EX_DATA *ad, int index, long argl, void *argp)
{
	struct other_certificates *o = ptr;
	(void)parent, (void)ad, (void)index, (void)argl, (void)argp;
	for (size_t i = 0; o && i < o->count; i++)
		SSL_CTX_free(o->ctx[i]);
	free(o);
}

static int others_index = -1;

static void others_index_make(void)
{
	others_index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, others_free);
}

/* A client said which name it wants: the first certificate that is for it, else the one that is always there. */
static int name_asked(SSL *ssl, int *alert, void *arg)
{
	const struct other_certificates *o = arg;
	const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
	(void)alert;
	for (size_t i = 0; name && i < o->count; i++)
		if (X509_check_host(SSL_CTX_get0_certificate(o->ctx[i]), name, 0, 0, NULL) == 1) {
			SSL_set_SSL_CTX(ssl, o->ctx[i]);
			break;
		}
	return SSL_TLSEXT_ERR_OK;
}

static bool others_add(struct other_certificates *o, const struct io_tls_options *options, struct slice pair,
		       struct buf *ret_message)
{
	char cert[PATH_MAX], key[PATH_MAX];
	struct slice rest = pair, first = slice_trim(slice_cut(&rest, ':'));
	int n = snprintf(cert, sizeof cert, "%.*s", SLICE_FMT(first));
	int m = slice_is_set(rest) ? snprintf(key, sizeof key, "%.*s", SLICE_FMT(slice_trim(rest))) : 0;
	if (n <= 0 || m <= 0 || (size_t)n >= sizeof cert || (size_t)m >= sizeof key || o->count == CERTIFICATES_MAX) {
		buf_printf(ret_message, "more certificates are CERT:KEY,CERT:KEY, at most %d of them",
			   CERTIFICATES_MAX);
		return false;
	}
	o->ctx[o->count] = context_new(options, cert, key, ret_message);
	return o->ctx[o->count] && ++o->count;
}

static SSL_CTX *contexts_new(const struct io_tls_options *options, struct buf *ret_message)
{
	SSL_CTX *ctx = context_new(options, options->cert_file, options->key_file, ret_message);
	if (!ctx || !options->more || !options->more[0])
		return ctx;
	struct other_certificates *o = calloc(1, sizeof *o);
	bool ok = o && others_index >= 0 && SSL_CTX_set_ex_data(ctx, others_index, o) == 1;
	if (!ok)
		free(o);
	struct slice list = slice_str(options->more);
	while (ok && slice_is_set(list))
		ok = others_add(o, options, slice_cut(&list, ','), ret_message);
	if (!ok) {
		SSL_CTX_free(ctx);
		return NULL;
	}
	SSL_CTX_set_tlsext_servername_callback(ctx, name_asked);
	SSL_CTX_set_tlsext_servername_arg(ctx, o);
	return ctx;
}

enum err io_tls_new(const struct io_tls_options *options, struct io_tls **ret, struct buf *ret_message)
{
	struct io_tls *t = calloc(1, sizeof *t);
	if (!t)
		return ERR_NO_MEMORY;
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	static pthread_once_t others_once = PTHREAD_ONCE_INIT;
	pthread_once(&once, bio_method_make);
	pthread_once(&others_once, others_index_make);
	pthread_mutex_init(&t->lock, NULL);
	t->ctx = contexts_new(options, ret_message);
	if (!t->ctx) {
		io_tls_free(t);
		return ERR_IO;
	}
	*ret = t;
	return ERR_OK;
}

enum err io_tls_reload(struct io_tls *t, const struct io_tls_options *options, struct buf *ret_message)
{
	SSL_CTX *fresh = contexts_new(options, ret_message);
	if (!fresh)
		return ERR_IO;
	pthread_mutex_lock(&t->lock);
	SSL_CTX *old = t->ctx;
	t->ctx = fresh;
	pthread_mutex_unlock(&t->lock);
	SSL_CTX_free(old);
	return ERR_OK;
}

bool io_tls_expiry(struct io_tls *t, int64_t *ret_unix_s)
{
	struct tm tm;
	pthread_mutex_lock(&t->lock);
	const X509 *certificate = SSL_CTX_get0_certificate(t->ctx);
	bool known = certificate && ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &tm) == 1;
	pthread_mutex_unlock(&t->lock);
	if (known)
		*ret_unix_s = (int64_t)timegm(&tm);
	return known;
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
	BIO *bio = bio_method ? BIO_new(bio_method) : NULL;
	struct tls_stream *s = calloc(1, sizeof *s);
	if (!bio || !s) {
		BIO_free(bio);
		free(s);
		SSL_free(ssl);
		return NULL;
	}
	s->fd = fd;
	BIO_set_data(bio, s);
	BIO_set_init(bio, 1);
	SSL_set_bio(ssl, bio, bio);
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
	struct tls_stream *s = stream_of(ssl);
	ERR_clear_error();
	s->reads_left = READS_PER_CALL;
	s->yielded = false;
	int n = SSL_read(ssl, dst, size > INT32_MAX ? INT32_MAX : (int)size);
	if (n > 0)
		return n;
	ssize_t result = tls_result(ssl, n);
	return result == STREAM_AGAIN && s->yielded ? STREAM_YIELD : result;
}

ssize_t tls_stream_write(void *ssl, const void *src, size_t size)
{
	ERR_clear_error();
	stream_of(ssl)->reads_left = READS_PER_CALL; /* a handshake that is not over reads, too */
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

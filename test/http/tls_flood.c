/* SPDX-License-Identifier: Apache-2.0
 * A TLS client that sends control messages without end: tls_flood PORT KIND SECONDS.
 *   keys    TLS 1.3 key updates        renegotiate    TLS 1.2 renegotiations        bytes    records of one byte
 * Prints how many it sent before it was cut off, or before its time was over. No credentials are needed.
 *   ask     one TLS 1.2 renegotiation as OpenSSL does it: prints `renegotiated`, or why not
 * OpenSSL's client gives up at the first refusal. The flood of renegotiations therefore seals its records itself, with
 * the keys of the session, and goes on whatever it is told. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const char head[] = "PUT /devstoreaccount1/c/b HTTP/1.1\r\nHost: h\r\nX: ";

enum { RANDOM_BYTES = 32, KEY_BYTES = 16, SALT_BYTES = 4, NONCE_BYTES = 8, TAG_BYTES = 16, HELLO_BYTES = 4 };

/* What the client's records are sealed with: TLS 1.2, AES-128-GCM, SHA-256. */
struct seal {
	unsigned char key[KEY_BYTES], salt[SALT_BYTES];
	uint64_t next; /* number of the next record */
};

/* The key block (RFC 5246, 6.3) without MAC keys: client's key, server's key, client's salt, server's salt. */
static int seal_make(SSL *ssl, struct seal *s)
{
	unsigned char master[48], seed[2 * RANDOM_BYTES], block[2 * KEY_BYTES + 2 * SALT_BYTES];
	SSL_SESSION_get_master_key(SSL_get_session(ssl), master, sizeof master);
	SSL_get_server_random(ssl, seed, RANDOM_BYTES);
	SSL_get_client_random(ssl, seed + RANDOM_BYTES, RANDOM_BYTES);
	EVP_KDF *kdf = EVP_KDF_fetch(NULL, "TLS1-PRF", NULL);
	EVP_KDF_CTX *ctx = EVP_KDF_CTX_new(kdf);
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, "SHA256", 0),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SECRET, master, sizeof master),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SEED, "key expansion", 13),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SEED, seed, sizeof seed),
		OSSL_PARAM_construct_end(),
	};
	int ok = EVP_KDF_derive(ctx, block, sizeof block, params) == 1;
	memcpy(s->key, block, KEY_BYTES);
	memcpy(s->salt, block + 2 * KEY_BYTES, SALT_BYTES);
	s->next = 1; /* the Finished was record 0 */
	EVP_KDF_CTX_free(ctx);
	EVP_KDF_free(kdf);
	return ok;
}

static void put_u64(unsigned char *to, uint64_t n)
{
	for (int i = 0; i < 8; i++)
		to[i] = (unsigned char)(n >> (56 - 8 * i));
}

/* A ClientHello, of which only the head is there: enough to be refused. */
static int send_hello(SSL *ssl, struct seal *s)
{
	static const unsigned char hello[HELLO_BYTES] = { SSL3_MT_CLIENT_HELLO, 0, 0, 0 };
	unsigned char record[5 + NONCE_BYTES + HELLO_BYTES + TAG_BYTES] = { SSL3_RT_HANDSHAKE, 3, 3, 0,
									    sizeof record - 5 };
	unsigned char about[13] = { [8] = SSL3_RT_HANDSHAKE, 3, 3, 0, HELLO_BYTES }, iv[SALT_BYTES + NONCE_BYTES],
		      told[4096];
	int n, fd = SSL_get_fd(ssl);
	put_u64(about, s->next);
	put_u64(record + 5, s->next++);
	memcpy(iv, s->salt, SALT_BYTES);
	memcpy(iv + SALT_BYTES, record + 5, NONCE_BYTES);
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	int ok = EVP_EncryptInit_ex(c, EVP_aes_128_gcm(), NULL, s->key, iv) == 1 &&
		 EVP_EncryptUpdate(c, NULL, &n, about, sizeof about) == 1 &&
		 EVP_EncryptUpdate(c, record + 5 + NONCE_BYTES, &n, hello, HELLO_BYTES) == 1 &&
		 EVP_EncryptFinal_ex(c, record, &n) == 1 &&
		 EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, TAG_BYTES, record + sizeof record - TAG_BYTES) == 1;
	EVP_CIPHER_CTX_free(c);
	/* What is refused is read and forgotten, so that the refusals do not fill the socket. */
	return ok && send(fd, record, sizeof record, 0) == (ssize_t)sizeof record &&
	       recv(fd, told, sizeof told, MSG_DONTWAIT) != 0;
}

static int send_one(SSL *ssl, const char *kind, long sent, struct seal *seal)
{
	if (strcmp(kind, "keys") == 0)
		return SSL_key_update(ssl, SSL_KEY_UPDATE_NOT_REQUESTED) == 1 && SSL_do_handshake(ssl) == 1;
	if (strcmp(kind, "renegotiate") == 0)
		return send_hello(ssl, seal);
	char c = (size_t)sent < sizeof head - 1 ? head[sent] : 'x';
	return SSL_write(ssl, &c, 1) == 1;
}

static void ask(SSL *ssl)
{
	ERR_clear_error();
	if (!SSL_get_secure_renegotiation_support(ssl))
		puts("the server knows no secure renegotiation");
	else if (SSL_renegotiate(ssl) != 1)
		puts("the client does not ask");
	else if (SSL_do_handshake(ssl) == 1)
		puts("renegotiated");
	else if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_NO_RENEGOTIATION)
		puts("no_renegotiation");
	else
		printf("error %d\n", ERR_GET_REASON(ERR_peek_error()));
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	int fd = socket(AF_INET, SOCK_STREAM, 0), is_old = argv[2][0] == 'r' || argv[2][0] == 'a';
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(argv[1])) };
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
		return 1;
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	if (is_old) {
		SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION);
		SSL_CTX_set_cipher_list(ctx, "ECDHE-ECDSA-AES128-GCM-SHA256");
	}
	SSL *ssl = SSL_new(ctx);
	struct seal seal = { 0 };
	SSL_set_fd(ssl, fd);
	if (SSL_connect(ssl) != 1 || (is_old && !seal_make(ssl, &seal)))
		return 1;
	if (strcmp(argv[2], "ask") == 0) {
		ask(ssl);
		return 0;
	}
	time_t until = time(NULL) + atoi(argv[3]);
	long sent = 0;
	while (time(NULL) < until && send_one(ssl, argv[2], sent, &seal))
		sent++;
	printf("%ld %s\n", sent, time(NULL) < until ? "cut" : "over");
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 * A TLS client that sends control messages without end: tls_flood PORT KIND SECONDS.
 *   keys    TLS 1.3 key updates        renegotiate    TLS 1.2 renegotiations        bytes    records of one byte
 * Prints how many it sent before it was cut off, or before its time was over. No credentials are needed. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const char head[] = "PUT /devstoreaccount1/c/b HTTP/1.1\r\nHost: h\r\nX: ";

static int send_one(SSL *ssl, const char *kind, long sent)
{
	if (strcmp(kind, "keys") == 0)
		return SSL_key_update(ssl, SSL_KEY_UPDATE_NOT_REQUESTED) == 1 && SSL_do_handshake(ssl) == 1;
	if (strcmp(kind, "renegotiate") == 0) {
		char c;
		if (SSL_renegotiate(ssl) != 1)
			return 0;
		(void)SSL_do_handshake(ssl);
		return SSL_peek(ssl, &c, 1) <= 0 && SSL_get_error(ssl, -1) == SSL_ERROR_WANT_READ;
	}
	char c = (size_t)sent < sizeof head - 1 ? head[sent] : 'x';
	return SSL_write(ssl, &c, 1) == 1;
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 0;
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(argv[1])) };
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	(void)one;
	if (connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
		return 1;
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	if (strcmp(argv[2], "renegotiate") == 0)
		SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION);
	SSL *ssl = SSL_new(ctx);
	SSL_set_fd(ssl, fd);
	if (SSL_connect(ssl) != 1)
		return 1;
	time_t until = time(NULL) + atoi(argv[3]);
	long sent = 0;
	while (time(NULL) < until && send_one(ssl, argv[2], sent))
		sent++;
	printf("%ld %s\n", sent, time(NULL) < until ? "cut" : "over");
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 * Listening sockets. One per address, accepted on one loop and handed out to the least busy: with SO_REUSEPORT the
 * kernel deals a few connections out unevenly, and a second server could take the port unnoticed. */
#ifndef IO_LISTEN_H
#define IO_LISTEN_H

#include "base/buf.h"
#include "base/err.h"

enum { IO_ADDRESS_TEXT_BYTES = 46 }; /* longest IPv6 text and NUL */

/* A non-blocking listening socket; *ret_port is the real port. On failure *ret_message says what to do. */
enum err io_listen(const char *host, uint16_t port, int *ret_fd, uint16_t *ret_port,
		   struct buf *ret_message) MUST_CHECK;

/* The same at a path of the file system, in place of what an ended server left there. What connects to it has the
 * address IO_ADDRESS_LOCAL; who may is for the path's permissions (umask). */
#define IO_ADDRESS_LOCAL "local"
enum err io_listen_path(const char *path, int *ret_fd, struct buf *ret_message) MUST_CHECK;
/* Connects to such a path and waits for it; -1 and errno. */
int io_connect_path(const char *path);

enum io_accept { IO_ACCEPTED, IO_ACCEPT_NONE, IO_ACCEPT_EXHAUSTED };
/* Takes one connection more than `connections`: non-blocking, TCP_NODELAY; `ret_address` gets the peer's numeric text.
 * EXHAUSTED: no descriptors or memory, or only those that are kept for files; one connection was taken and closed if
 * that was possible (reserve_fd), so that the backlog drains. */
enum io_accept io_accept(int listen_fd, size_t connections, int *reserve_fd, int *ret_fd,
			 char ret_address[IO_ADDRESS_TEXT_BYTES]);
/* This machine's address of a connection: 4 bytes of IPv4 (also if it came as IPv6) or 16. False: it has none. */
struct io_address {
	unsigned char bytes[16];
	size_t len;
};
bool io_address_own(int fd, struct io_address *ret);
/* The port at the other end; 0 if there is none. */
uint16_t io_peer_port(int fd);
/* A descriptor kept for the moment when there is none left; -1 if there is none already. */
int io_reserve_fd(void);
/* Lets the process open as many descriptors as the system allows it. */
void io_raise_fd_limit(void);

#endif

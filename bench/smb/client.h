/* SPDX-License-Identifier: Apache-2.0
 * An SMB 3.1.1 client for measuring, signed (AES-GMAC) or encrypted (AES-128-GCM): one blocking connection of one
 * thread. It costs as little as it can, so that the server decides: long answers are judged by their header alone and
 * their bytes left in the kernel, but for one in CLIENT_CHECK_EVERY, which is checked whole. Whatever goes wrong ends
 * the program. */
#ifndef BENCH_SMB_CLIENT_H
#define BENCH_SMB_CLIENT_H

#include "wire/smb2/file.h"
#include "wire/smb2/setup.h"

enum {
	CLIENT_CHECK_EVERY = 64,
	CLIENT_LONG_BYTES = 64 * 1024, /* longer answers are not read whole */
	CLIENT_BUFFER_BYTES = 2 * 1024 * 1024,
};

struct client;

struct client_options {
	int port;
	const char *user, *password, *share;
	bool encrypted;
};

struct client_answer {
	uint32_t status;
	uint16_t command;
	uint64_t message_id;
	struct slice message; /* from the header on; of a long one that is not checked only the beginning */
	size_t length;	      /* of the whole message */
	bool whole;
};

struct client *client_open(const struct client_options *);
void client_close(struct client *);

/* One message of one or more parts: begin, put each part's body behind what client_part returns, send. */
void client_begin(struct client *);
/* A part begins; body bytes are put into the buf. Related to the part before if there is one. Returns its id. */
struct buf *client_part(struct client *, enum smb2_command, unsigned charge, uint64_t *ret_message_id);
void client_send(struct client *);
/* The next answer; interim ones are passed over. */
struct client_answer client_receive(struct client *);
/* For a thread with several clients: what to poll, and whether (part of) an answer was read already. */
int client_socket(const struct client *);
bool client_has_more(const struct client *);

/* Bodies. */
struct client_create {
	const char *name;
	uint32_t access, disposition, options, share;
};
void client_put_create(struct buf *, const struct client_create *);
void client_put_close(struct buf *, struct smb2_file_id);
void client_put_read(struct buf *, struct smb2_file_id, uint64_t offset, uint32_t length);
void client_put_write(struct buf *, struct smb2_file_id, uint64_t offset, struct slice data);
void client_put_query_all(struct buf *, struct smb2_file_id);
void client_put_query_directory(struct buf *, struct smb2_file_id, uint32_t room);
struct smb2_file_id client_created_id(const struct client_answer *);

_Noreturn void client_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif

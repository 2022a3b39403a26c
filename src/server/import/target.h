/* SPDX-License-Identifier: Apache-2.0
 * The running server that an import goes to: requests over plain HTTP, signed with the account's key, one connection a
 * service and one request at a time. */
#ifndef SERVER_IMPORT_TARGET_H
#define SERVER_IMPORT_TARGET_H

#include "auth/auth.h"
#include "base/arena.h"
#include "base/buf.h"
#include "server/import/workspace.h"

enum { IMPORT_ENDPOINTS = 3, IMPORT_HEADERS_MAX = 64 };

struct import_endpoint {
	char host[256], port[8];
	char path[256]; /* what stands before every path: "/account", or nothing */
	int fd;
};

struct import_target {
	struct auth_account account;
	char account_name[64];
	unsigned char key[256];
	struct import_endpoint endpoint[IMPORT_ENDPOINTS]; /* by enum service */
	struct buf head, answer;			   /* of the request at hand */
	/* Of the last answer, until the next request: */
	struct slice error_code; /* x-ms-error-code, absent if there is none */
	struct slice body;
	char why[512]; /* of one that failed: for people */
};

/* A connection string. False: it lacks something; *error says what. */
bool import_target_init(struct import_target *, struct slice connection_string, struct buf *error);
void import_target_fini(struct import_target *);

/* A request. Headers are kept as they are; the path and the query are put together by the caller, percent-encoded. */
struct import_request {
	enum service service;
	const char *method;
	struct buf path;  /* begins with '/' */
	struct buf query; /* "a=b&c=d" */
	struct http_header header[IMPORT_HEADERS_MAX];
	size_t header_count;
	bool header_bad;	   /* one was left out: no header can hold it */
	struct slice body;	   /* either this ... */
	struct import_chunk chunk; /* ... or these bytes of a file */
	struct arena *arena;	   /* of header texts */
};
void import_request_init(struct import_request *, enum service, const char *method, struct arena *);
void import_request_fini(struct import_request *);
/* Names and values are copied if they do not live as long as the request. */
void import_request_header(struct import_request *, struct slice name, struct slice value);
/* "/container/name": each part encoded, a slash in a name stays one. */
void import_request_path(struct import_request *, struct slice container, struct slice object);

/* The status of the answer; 0: the server cannot be reached or went away, and `why` says so. A server that is busy
 * (503) is asked again some times. A POST whose answer was lost is not sent again: it could happen twice. */
int import_send(struct import_target *, struct import_request *);

#endif

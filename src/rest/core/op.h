/* SPDX-License-Identifier: Apache-2.0
 * The table of operations, from ops.def. One row per REST operation; routing, authorisation, body rules and
 * docs/compat.md derive from it. Rows are tried in order, the first that fits wins. */
#ifndef REST_OP_H
#define REST_OP_H

#include "rest/core/request.h"

enum {
	M_GET = 1 << HTTP_GET,
	M_HEAD = 1 << HTTP_HEAD,
	M_PUT = 1 << HTTP_PUT,
	M_POST = 1 << HTTP_POST,
	M_DELETE = 1 << HTTP_DELETE,
	M_OPTIONS = 1 << HTTP_OPTIONS,
	M_MERGE = 1 << HTTP_MERGE,
	M_PATCH = 1 << HTTP_PATCH,
	M_READ = M_GET | M_HEAD,
};

/* What the path names. Table: TABLES is /Tables, TABLE_NAME /Tables('t'), TABLE /t or /t(), ENTITY /t(PartitionKey=..),
 * BATCH /$batch. Queue: CONTAINER is the queue, MESSAGES /q/messages, MESSAGE /q/messages/id. */
enum level {
	LEVEL_ANY,
	LEVEL_SERVICE,
	LEVEL_CONTAINER,
	LEVEL_OBJECT,
	LEVEL_MESSAGES,
	LEVEL_MESSAGE,
	LEVEL_TABLES,
	LEVEL_TABLE_NAME,
	LEVEL_TABLE,
	LEVEL_ENTITY,
	LEVEL_BATCH
};

enum anon { ANON_NEVER, ANON_BLOB, ANON_CONTAINER, ANON_ALWAYS };
enum body_kind { BODY_NONE, BODY_MEMORY, BODY_STREAM };

struct op {
	const char *id;
	enum service service;
	unsigned methods;
	enum level level;
	const char *restype;	 /* "" = must be absent, NULL = not looked at */
	const char *comp;	 /* likewise */
	const char *selector;	 /* "h:header", "q:parameter", "q:parameter=value" that must be there; "" = none */
	const char *sas;	 /* service SAS: any of these letters; "x&y" = both; "" = not by service SAS */
	const char *account_sas; /* the same for an account SAS; "*" = any permission */
	char resource_type;	 /* account SAS srt: s, c or o */
	enum anon anon;
	enum body_kind body;
	const struct handler *handler; /* NULL: not built, answers op_not_built_error */
	const char *title;
};

const struct op *op_find(const struct request *);
/* The rows of one service in their order: the first behind NULL, NULL behind the last. */
const struct op *op_next(enum service, const struct op *before);
size_t op_count(void);
const struct op *op_at(size_t i);
/* What a row without a handler answers: the nearest error the service documents for what it does not support. */
enum err op_not_built_error(const struct op *);
/* A request of a Data Lake client that came to the Blob service. */
enum err op_refuse_dfs(struct request *) MUST_CHECK;

#endif

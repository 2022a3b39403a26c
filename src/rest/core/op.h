/* SPDX-License-Identifier: Apache-2.0
 * The tables of operations: each service has one, from its ops.def. One row per REST operation; routing, authorisation,
 * body rules and docs/compat.md derive from it. Rows are tried in order, the first that fits wins.
 *
 * OP(id, methods, level, restype, comp, selector, service SAS, account SAS, srt, anonymous, bearer, body, body limit,
 *    handler, title)
 * An operation whose handler is missing does not link. NOT_BUILT in its place answers op_not_built_error. */
#ifndef REST_OP_H
#define REST_OP_H

#include "base/limits.h"
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
 * BATCH /$batch. Queue: CONTAINER is the queue, MESSAGES /q/messages, MESSAGE /q/messages/id. File: CONTAINER is the
 * share, OBJECT a path in it. */
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

/* Who may do it without credentials: also what a container's public access level lets anybody do. */
enum anon { ANON_NEVER, ANON_BLOB, ANON_CONTAINER, ANON_ALWAYS };
/* With a bearer token: always, only so, never, or from a version on. */
enum { BEARER_ALWAYS = 0, BEARER_ONLY = 1, BEARER_SINCE_2025_07_05 = 20250705, BEARER_NEVER = 99991231 };
enum body_kind { BODY_NONE, BODY_MEMORY, BODY_STREAM };

struct op {
	unsigned id; /* OP_... of the service's ops.h: unique over all services */
	const char *name;
	unsigned methods;
	enum level level;
	const char *restype;	 /* "" = must be absent, NULL = not looked at */
	const char *comp;	 /* likewise */
	const char *selector;	 /* "h:header", "q:parameter", "q:parameter=value" that must be there; "" = none */
	const char *sas;	 /* service SAS: any of these letters; "x&y" = both; "" = not by service SAS */
	const char *account_sas; /* the same for an account SAS; "*" = any permission */
	char resource_type;	 /* account SAS srt: s, c or o */
	enum anon anon;
	uint32_t bearer; /* BEARER_ONLY, or the version from which a bearer token is taken */
	enum body_kind body;
	uint64_t body_limit_bytes; /* the longest body of any version; parse may lower it */
	const struct handler *handler;
	const char *title;
};

/* Ids of a service begin at its number plus one, times this: 0 is no operation. */
enum { OPS_PER_SERVICE = 256 };

/* For ops.h: `enum { OPS_FIRST(BLOB), #define OP OP_ENUM ... }`. */
#define OPS_FIRST(service) OPS_BEFORE_##service = (SERVICE_##service + 1) * OPS_PER_SERVICE - 1
#define OP_ENUM(id_, ...)  OP_##id_,
/* For the table: declarations of the handlers, then the rows. */
#define OP_HANDLER(id_, methods_, level_, restype_, comp_, selector_, sas_, account_sas_, srt_, anon_, bearer_, body_, \
		   limit_, name_, title_)                                                                              \
	extern const struct handler handler_##name_;
#define OP_ROW(id_, methods_, level_, restype_, comp_, selector_, sas_, account_sas_, srt_, anon_, bearer_, body_,     \
	       limit_, name_, title_)                                                                                  \
	{ .id = OP_##id_,                                                                                              \
	  .name = #id_,                                                                                                \
	  .methods = methods_,                                                                                         \
	  .level = LEVEL_##level_,                                                                                     \
	  .restype = restype_,                                                                                         \
	  .comp = comp_,                                                                                               \
	  .selector = selector_,                                                                                       \
	  .sas = sas_,                                                                                                 \
	  .account_sas = account_sas_,                                                                                 \
	  .resource_type = srt_,                                                                                       \
	  .anon = ANON_##anon_,                                                                                        \
	  .bearer = BEARER_##bearer_,                                                                                  \
	  .body = BODY_##body_,                                                                                        \
	  .body_limit_bytes = limit_,                                                                                  \
	  .handler = &handler_##name_,                                                                                 \
	  .title = title_ },

/* The handler of rows that say NOT_BUILT. */
extern const struct handler handler_NOT_BUILT;
static inline bool op_is_built(const struct op *op)
{
	return op->handler != &handler_NOT_BUILT;
}

const struct op *op_find(const struct request *);
struct rest_service;
/* What a row that is not built answers: the nearest error the service documents for what it does not support. */
enum err op_not_built_error(const struct rest_service *, const struct op *);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Properties of the Blob, Queue and Table service of an account: XML in and out, the stored record, typed access for
 * all. One record per service in the account partition; never set = the defaults. A set leaves out what it does not
 * change. */
#ifndef REST_SERVICE_PROPERTIES_H
#define REST_SERVICE_PROPERTIES_H

#include "rest/core/request.h"

enum { CORS_RULES_MAX = 5, CORS_RULES_BYTES_MAX = 2048 };

struct retention_policy {
	bool enabled;
	uint32_t days;		     /* 1..365 if enabled */
	bool allow_permanent_delete; /* blob soft delete only */
};

struct service_logging {
	struct slice version;
	bool del, read, write;
	struct retention_policy retention;
};

struct service_metrics {
	struct slice version;
	bool enabled, include_apis;
	struct retention_policy retention;
};

struct cors_rule { /* lists are comma-separated, as the client wrote them */
	struct slice origins, methods, allowed_headers, exposed_headers;
	uint32_t max_age_s;
};

struct static_website {
	bool enabled;
	struct slice index_document, default_index_path, error_document; /* absent if not set */
};

struct service_properties {
	struct service_logging logging;
	struct service_metrics hour, minute;
	size_t cors_count;
	struct cors_rule cors[CORS_RULES_MAX];
	struct slice default_version;		  /* absent if not set */
	struct retention_policy delete_retention; /* blob */
	struct static_website website;		  /* blob */
};

/* Those of the request's account and service, through the cache of hot records. Slices live in the arena. */
enum err service_properties_load(struct request *, struct service_properties *ret) MUST_CHECK;

/* What holds before anything was set. */
struct service_properties service_properties_default(void);

/* The record; decode leaves slices pointing into it. */
void service_properties_encode(struct buf *, const struct service_properties *);
enum err service_properties_decode(struct slice record, struct service_properties *ret) MUST_CHECK;

#endif

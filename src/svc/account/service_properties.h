/* SPDX-License-Identifier: Apache-2.0
 * Properties of a service of an account: one record per service in the account partition; never set = the defaults. A
 * set leaves out what it does not change. Services are named by their letter (base/services.def). */
#ifndef SVC_ACCOUNT_SERVICE_PROPERTIES_H
#define SVC_ACCOUNT_SERVICE_PROPERTIES_H

#include "base/buf.h"
#include "store/store.h"
#include "svc/account/resource.h"

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

/* File: whether a client must encrypt. */
struct protocol_settings {
	bool smb_encryption, nfs_encryption;
};

struct service_properties {
	struct service_logging logging;
	struct service_metrics hour, minute;
	size_t cors_count;
	struct cors_rule cors[CORS_RULES_MAX];
	struct slice default_version;		  /* absent if not set */
	struct retention_policy delete_retention; /* blob */
	struct static_website website;		  /* blob */
	struct protocol_settings protocol;	  /* file */
};

/* What holds before anything was set. */
struct service_properties account_service_properties_default(void);

/* Through the cache of hot records; the defaults if never set. Slices live in the arena. */
enum err account_service_properties_find(struct store *, struct slice account, char service, struct arena *,
					 struct service_properties *ret) MUST_CHECK;

struct service_properties_set {
	struct resource_create web; /* first: the container of a website that is switched on (resource_create_*) */
	char service;
	struct service_properties wanted;
	/* which of them are set */
	bool logging, hour, minute, cors, default_version, delete_retention, website, smb_encryption, nfs_encryption;
};
/* In the account partition. */
enum err account_service_properties_apply_set(struct txn *, void *service_properties_set) MUST_CHECK;

/* The record; decode leaves slices pointing into it. */
void account_service_properties_encode(struct buf *, const struct service_properties *);
enum err account_service_properties_decode(struct slice record, struct service_properties *ret) MUST_CHECK;

#endif

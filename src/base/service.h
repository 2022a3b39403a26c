/* SPDX-License-Identifier: Apache-2.0
 * What a service is, from services.def: the facts that signatures, records, addresses and answers share. How it answers
 * requests is struct rest_service (rest/core/service.h). */
#ifndef BASE_SERVICE_H
#define BASE_SERVICE_H

#include <stdint.h>

#include "base/slice.h"

enum service {
#define SERVICE(id, ...) SERVICE_##id,
#include "base/services.def"
#undef SERVICE
	SERVICE_COUNT
};

struct service_facts {
	const char *title;	      /* as documents and connection strings write it: "Blob" */
	char letter;		      /* in ss and sks of a SAS, and of its properties' record */
	struct slice sas_prefix;      /* "/blob": begins the signed resource of a service SAS */
	const char *host_part;	      /* ".blob.": behind the account in a host or an audience */
	const char *server;	      /* the Server header */
	char resource_kind;	      /* of its containers: svc/account/resource.h */
	enum service properties;      /* whose service properties (CORS, versions) hold for it */
	const char *permissions;      /* letters of a service SAS in the order they must have */
	const char *permissions_late; /* letters that came late, which clients put anywhere */
	uint32_t default_version;     /* of a signed request that names none; 0: it must name one */
	uint32_t challenge_since;     /* who asks anonymously is told how to sign in from this version on */
	uint32_t structured_since;    /* bodies may be structured messages from this version on */
	uint32_t delegation_since;    /* Get User Delegation Key exists from this version on */
};

const struct service_facts *service_facts(enum service);

#endif

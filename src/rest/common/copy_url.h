/* SPDX-License-Identifier: Apache-2.0
 * The URL of a copy source: whether it names this server, and which of its services. A fetch never leaves the
 * server. */
#ifndef REST_COPY_URL_H
#define REST_COPY_URL_H

#include "rest/core/request.h"

/* What stands between the scheme and the path; absent if it is no http or https URL. */
struct slice rest_source_url_authority(struct slice url);
/* False: the URL names no service of this server. */
bool rest_source_url_service(const struct request *, struct slice url, enum service *ret);
/* It proves itself by a SAS. */
bool rest_source_url_has_signature(struct slice url);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Set and Get Service Properties and Service Stats, the same for every service: each names them its own in its
 * service.c, and says in struct rest_service which parts its document has. */
#ifndef REST_SERVICE_HANDLERS_H
#define REST_SERVICE_HANDLERS_H

#include "rest/core/request.h"

enum err rest_service_parse_set(struct request *);
enum err rest_service_parse_set_body(struct request *);
enum err rest_service_format_set(struct request *);
enum err rest_service_parse_get(struct request *);
enum err rest_service_format_get(struct request *);
enum err rest_service_parse_stats(struct request *);
enum err rest_service_format_stats(struct request *);

#define SERVICE_PROPERTIES_HANDLERS(name_)                                                                             \
	const struct handler handler_##name_##_set_service = { .parse = rest_service_parse_set,                        \
							       .parse_body = rest_service_parse_set_body,              \
							       .format = rest_service_format_set };                    \
	const struct handler handler_##name_##_get_service = { .parse = rest_service_parse_get,                        \
							       .format = rest_service_format_get }
#define SERVICE_STATS_HANDLER(name_)                                                                                   \
	const struct handler handler_##name_##_stats = { .parse = rest_service_parse_stats,                            \
							 .format = rest_service_format_stats }

#endif

/* SPDX-License-Identifier: Apache-2.0
 * What the handlers of the Queue service share. Private to rest/queue. */
#ifndef REST_QUEUE_COMMON_H
#define REST_QUEUE_COMMON_H

#include "rest/core/request.h"
#include "rest/core/server.h"
#include "svc/account/resource.h"
#include "svc/queue/queue.h"

enum { QUEUE_SECONDS_MAX = 7 * 24 * 3600, QUEUE_HIDE_DEFAULT_S = 30 };

/* The name of the request's queue: 3..63 lower-case letters, digits and single hyphens between them. */
enum err rest_queue_name_check(struct request *) MUST_CHECK;
/* Name check and lookup; ERR_QUEUE_NOT_FOUND. */
enum err rest_queue_find(struct request *, struct resource *ret) MUST_CHECK;
/* The partition of the queue's messages. */
enum err rest_queue_find_partition(struct request *, struct slice *ret) MUST_CHECK;

/* An integer parameter within [min, max]; absent: `fallback`. Anything else is answered as the service does. */
enum err rest_queue_param(struct request *, const char *name, int64_t min, int64_t max, int64_t fallback,
			  int64_t *ret) MUST_CHECK;
enum err rest_queue_param_out_of_range(struct request *, const char *name, struct slice value, int64_t min,
				       int64_t max) MUST_CHECK;

#endif

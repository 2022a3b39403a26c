/* SPDX-License-Identifier: Apache-2.0
 * <QueueMessagesList> as put, get and peek answer it. Private to rest/queue. */
#ifndef REST_MESSAGE_LIST_H
#define REST_MESSAGE_LIST_H

#include "rest/core/request.h"
#include "svc/queue/queue.h"

enum message_show { MESSAGE_SHOW_PUT, MESSAGE_SHOW_GET, MESSAGE_SHOW_PEEK };
void rest_message_list_format(struct request *, const struct queue_message *, size_t count, enum message_show);
/* The receipt in the form clients see, BASE64_BYTES(QUEUE_RECEIPT_BYTES) characters. */
enum { MESSAGE_RECEIPT_CHARS = (QUEUE_RECEIPT_BYTES + 2) / 3 * 4 };
void rest_message_receipt_format(const struct queue_receipt *, char dst[MESSAGE_RECEIPT_CHARS]);

#endif

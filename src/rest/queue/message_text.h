/* SPDX-License-Identifier: Apache-2.0
 * The body of Put Message and Update Message: <QueueMessage><MessageText>text</MessageText></QueueMessage>. */
#ifndef REST_MESSAGE_TEXT_H
#define REST_MESSAGE_TEXT_H

#include "rest/core/request.h"

/* Before the body comes: how long it may be. */
void rest_message_text_expect(struct request *);
/* The text as the client meant it (escapes resolved), in the body or the arena. Errors: InvalidXmlDocument,
 * MissingRequiredXmlNode, RequestBodyTooLarge. */
enum err rest_message_text_parse(struct request *, struct slice *ret) MUST_CHECK;

#endif

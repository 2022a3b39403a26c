/* SPDX-License-Identifier: Apache-2.0
 * Tags in headers: x-ms-if-tags and x-ms-tags. */
#ifndef REST_BLOB_TAGS_H
#define REST_BLOB_TAGS_H

#include "rest/core/request.h"
#include "svc/blob/tags.h"

/* ERR_AUTHORIZATION_PERMISSION_MISMATCH for a SAS without the permission t, and for nobody in particular. */
enum err rest_blob_tags_permission(const struct request *) MUST_CHECK;
/* NULL if the header is absent. Needs the permission t under a SAS. */
enum err rest_blob_if_tags_parse(struct request *, const struct tag_filter **ret) MUST_CHECK;
/* x-ms-tags: k=v&k=v, percent-encoded. Needs the permission t under a SAS. */
enum err rest_blob_tags_header_parse(struct request *, struct pairs *ret) MUST_CHECK;

/* <Tags><TagSet>..</TagSet></Tags> */
void rest_blob_tags_put_xml(struct buf *, const struct pairs *);
/* x-ms-if-tags, or the same under another name; NULL if it is absent. */
enum err rest_blob_parse_if_tags(struct request *, const char *header, const struct tag_filter **ret) MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0
 * x-ms-meta-* headers, for every service. */
#ifndef REST_METADATA_H
#define REST_METADATA_H

#include "rest/core/request.h"
#include "svc/common/metadata.h"

/* ERR_INVALID_METADATA, ERR_EMPTY_METADATA_KEY, ERR_METADATA_TOO_LARGE. Slices point into the head. */
enum err metadata_parse(struct request *, struct pairs *ret) MUST_CHECK;
void metadata_put_headers(struct request *, const struct pairs *);
/* Those of a finished part's answer, whose memory they point into. */
enum err metadata_from_answer(struct arena *, const struct request *part, struct pairs *ret) MUST_CHECK;
/* <Metadata><name>value</name></Metadata> of lists. */
void metadata_put_xml(struct buf *, const struct pairs *);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * In which form a request is answered and its body is read: OData JSON with one of three amounts of metadata, or Atom.
 *
 *   version                  Atom           JSON
 *   before 2013-08-15        the only one   refused (JsonFormatNotSupported)
 *   before 2015-12-11        the default    if asked for
 *   from then on             refused        the only one
 */
#ifndef REST_TABLE_FORMAT_H
#define REST_TABLE_FORMAT_H

#include "rest/core/request.h"

enum odata_level { ODATA_NONE, ODATA_MINIMAL, ODATA_FULL, ODATA_ATOM };

/* $format, else Accept. ERR_ATOM_FORMAT_NOT_SUPPORTED, ERR_JSON_FORMAT_NOT_SUPPORTED, ERR_MEDIA_TYPE_NOT_SUPPORTED if
 * nothing that is accepted can be given. */
enum err rest_table_format_of(uint32_t version, const struct query *, const struct http_head *,
			      enum odata_level *ret) MUST_CHECK;
/* Is a body with this head Atom? By Content-Type; without one by its first byte. Errors as above. */
enum err rest_table_body_is_atom(uint32_t version, const struct http_head *, struct slice body, bool *ret) MUST_CHECK;
/* DataServiceVersion and MaxDataServiceVersion: 1.0 to 3.0, as far as the version had them. ERR_INVALID_INPUT. */
enum err rest_table_check_data_service_version(uint32_t version, const struct http_head *) MUST_CHECK;
/* Are errors of this request written in XML? */
bool rest_table_errors_are_xml(const struct request *);

/* Content-Type of an answer; `list`: of several entities or tables. */
struct slice rest_table_content_type(uint32_t version, enum odata_level, bool list);

#endif

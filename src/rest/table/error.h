/* SPDX-License-Identifier: Apache-2.0
 * How Table writes an error. */
#ifndef REST_TABLE_ERROR_H
#define REST_TABLE_ERROR_H

#include "rest/core/service.h"

const struct error_form *rest_table_error_form(const struct request *, enum err);

/* The bodies, also for parts of a batch. */
void rest_table_error_put_json(struct buf *, struct slice code, struct slice message);
void rest_table_error_put_xml(struct buf *, struct slice code, struct slice message);

#endif

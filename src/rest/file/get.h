/* SPDX-License-Identifier: Apache-2.0
 * What a finished Get File found, for copies that ran it as a part. */
#ifndef REST_FILE_GET_H
#define REST_FILE_GET_H

#include "rest/file/common.h"

const struct file_get_call *rest_file_get_result(const struct request *part);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * What Put Range and Put Range From URL have in common. */
#ifndef REST_FILE_RANGE_H
#define REST_FILE_RANGE_H

#include "rest/file/common.h"

/* x-ms-range or Range: both ends, inside the largest file, at most 4 MiB unless the call clears. */
enum err rest_file_write_range_parse(struct request *, struct file_write_call *) MUST_CHECK;
/* x-ms-file-last-write-time: now or preserve. */
enum err rest_file_write_time_parse(struct request *, struct file_write_call *) MUST_CHECK;
/* Status, ETag, Last-Modified and last write time of the answer. */
void rest_file_put_written(struct request *, const struct inode *);

#endif

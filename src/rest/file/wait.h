/* SPDX-License-Identifier: Apache-2.0
 * Requests that wait for SMB clients (wait.c). */
#ifndef REST_FILE_WAIT_H
#define REST_FILE_WAIT_H

#include "rest/file/common.h"

/* Where the applies of this request say whom they must wait for; one for all its targets. */
enum err rest_file_wait_prepare(struct request *, struct file_breaks **ret) MUST_CHECK;
/* In which share; called when it is found. */
void rest_file_wait_in(struct request *, struct slice partition);
/* Tells the holders of these what was taken from them. */
void rest_file_wait_tell(struct request *, const struct file_breaks *);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Page blobs: sparse arrays of 512-byte pages in 'p' rows. */
#ifndef SVC_BLOB_PAGE_H
#define SVC_BLOB_PAGE_H

#include "svc/blob/blob.h"

/* Gives back what lies at or behind the new length. The record is put by the caller. */
enum err page_truncate(struct txn *, struct blob *, uint64_t length_bytes) MUST_CHECK;

#endif

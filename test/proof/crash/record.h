/* SPDX-License-Identifier: Apache-2.0
 * The log between record.c and torn.c: records, each followed by its paths and bytes. Of one machine, for minutes. */
#ifndef TEST_CRASH_RECORD_H
#define TEST_CRASH_RECORD_H

#include <stdint.h>

enum record_kind {
	RECORD_CREATE = 1, /* a new file: inode, path */
	RECORD_WRITE,	   /* inode, offset, bytes */
	RECORD_TRUNCATE,   /* inode, offset = new size */
	RECORD_GROW,	   /* inode, offset = size it has at least */
	RECORD_SYNC,	   /* inode: everything before is durable */
	RECORD_SYNC_DIR,   /* path: the names in it are durable */
	RECORD_RENAME,	   /* path to path2 */
	RECORD_UNLINK,
	RECORD_MKDIR,
	RECORD_MARK, /* what the writer told: bytes */
};

struct record {
	uint32_t kind, path_length, path2_length, unused;
	uint64_t ino, offset, length;
};

#endif

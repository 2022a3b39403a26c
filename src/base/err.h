/* SPDX-License-Identifier: Apache-2.0
 * enum err: what can fail returns it and the caller must look. ERR_OK is zero. Internal errors come first and never
 * reach a client as they are (err.c has what they become); the rest is errors.def. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdint.h>

enum err {
	ERR_OK = 0,
	ERR_NOT_FOUND,	 /* a value: no such key */
	ERR_NO_MEMORY,	 /* an arena, buffer or the heap is at its limit */
	ERR_IO,		 /* the disk said no; see the log */
	ERR_NO_SPACE,	 /* the disk is full */
	ERR_CORRUPT,	 /* stored bytes do not match their checksum or format */
	ERR_CONFLICT,	 /* an optimistic commit lost; run apply again (never shown as 412) */
	ERR_UNKNOWN,	 /* the outcome of a commit is not known and could not be resolved */
	ERR_STOPPED,	 /* the store no longer accepts work (shutdown or a failed sync) */
	ERR_BUSY,	 /* a bounded queue is full */
	ERR_LIMIT,	 /* a commit is larger than the contract allows */
	ERR_BUDGET,	 /* a read took longer than its caller allows: again, where it may */
	ERR_SYNTAX,	 /* input of a codec does not parse */
	ERR_BREAK_FIRST, /* what SMB clients cache must be broken first: ask them, wait, run apply again */
#define X(name, status, code, ntstatus, text) ERR_##name,
#include "base/errors.def"
#undef X
	ERR_COUNT
};

struct err_info {
	const char *name; /* ERR_... without the prefix */
	int http_status;
	const char *code; /* Azure's error code */
	uint32_t ntstatus;
	const char *text;
};

/* Never NULL; internal errors get the row a client may see. */
const struct err_info *err_info(enum err);
/* The name for logs, also of internal errors. */
const char *err_name(enum err);

#define MUST_CHECK __attribute__((warn_unused_result))

/* Returns the error of an expression, if it is one. */
#define TRY(expr)                                                                                                      \
	do {                                                                                                           \
		enum err try_err_ = (expr);                                                                            \
		if (try_err_ != ERR_OK)                                                                                \
			return try_err_;                                                                               \
	} while (0)

#endif

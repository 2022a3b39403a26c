/* SPDX-License-Identifier: Apache-2.0
 * Running parts of a batch: requests without a connection of their own, through the same address, access, parse, steps
 * and format as any other. Called from a STEP_CALL of the parent, on its loop; the parent's next step waits until every
 * part is done (req->children_pending), so a step behind it finds all the answers. Parts run side by side, their writes
 * share a commit group; each has its own arena. They live until the parent ends. */
#ifndef REST_DRIVER_H
#define REST_DRIVER_H

#include "rest/core/op.h"
#include "rest/core/request.h"

struct child_part { /* slices outlive the parent's steps (the parent's body or arena) */
	struct slice method;
	struct slice target; /* "/container/blob?comp=tier", or absolute-form */
	const struct http_header *headers;
	size_t header_count;
	struct slice body; /* absent = none */
	const struct auth_identity
		*trusted;     /* in the same account the part is made as this identity; NULL: it proves itself */
	bool account_implied; /* a target without an account is in the parent's: some clients write it so */
	bool (*allowed)(const struct op *); /* operations a part may be; NULL = all */
	enum err refused;		    /* what the others answer; ERR_OK: InvalidInput */
	bool other_service;		    /* it is of `service`, not of the parent's */
	enum service service;
	/* Runs instead of the operation's own; the operation still decides who may. NULL = its own. */
	const struct handler *handler;
};

/* NULL if there is no memory for it; else the part, which may already be done. */
struct request *request_run_child(struct request *parent, const struct child_part *);
/* The whole answer of a finished part as an HTTP message: status line, headers, blank line, body. */
enum err request_child_error(const struct request *child); /* why it failed; ERR_OK if it did not */
void request_child_answer(struct request *child, struct buf *out);
/* A header of a finished part's answer, without case; absent if it is not there. */
struct slice request_child_header(const struct request *child, const char *name);
/* The body of its answer, if it lies in memory. */
struct slice request_child_bytes(const struct request *child);
/* How many bytes the body of its answer has. */
uint64_t request_child_length(const struct request *child);
/* Reads on in that body, from wherever its bytes lie; may block. *ret_bytes 0 at the end. Begin with {child}. */
struct child_reader {
	struct request *child;
	size_t span;
	uint64_t at;
};
enum err request_child_read(struct child_reader *, char *dst, size_t room, size_t *ret_bytes) MUST_CHECK;

#endif

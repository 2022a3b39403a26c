/* SPDX-License-Identifier: Apache-2.0
 * Two names of a share between which a file moves. The bytes are one value; a range write over all of them needs a file
 * that is there, Create makes or replaces one, a rename moves value and identity, and refuses a name that is taken
 * unless it may replace. */
#include "linear_int.h"

#include <string.h>

enum { FILE_PUT, FILE_OVER, FILE_GET, FILE_DEL, FILE_MOVE, FILE_LIST };
enum { ARG_NAME, ARG_VALUE, ARG_REPLACE = ARG_VALUE };
enum { NAMES = 2 };

struct file {
	uint32_t there, value, etag; /* etag 0 while there: nobody saw it yet */
};

static void file_init(struct linear_state *s)
{
	memset(s, 0, sizeof *s);
}

static bool happens(const struct linear_op *op)
{
	return op->status == STATUS_OK || op->status == STATUS_UNKNOWN;
}

static bool allowed(const struct linear_op *op, bool no404, bool no409)
{
	switch (op->status) {
	case STATUS_OK:
	case STATUS_UNKNOWN:
		return !no404 && !no409;
	case STATUS_404:
		return no404;
	case STATUS_409:
		return no409;
	case STATUS_412:
		return false;
	}
	return false;
}

static bool file_get(struct file *f, const struct linear_op *op)
{
	if (op->status != STATUS_OK)
		return op->status == STATUS_404 && !f->there;
	if (!f->there || f->value != op->got[0] || (f->etag && f->etag != op->got[1]))
		return false;
	f->etag = (uint32_t)op->got[1];
	return true;
}

static bool file_move(struct file *from, struct file *to, const struct linear_op *op)
{
	if (!allowed(op, !from->there, to->there && !op->arg[ARG_REPLACE]))
		return false;
	if (happens(op)) {
		*to = *from;
		to->etag = (uint32_t)op->got[0];
		*from = (struct file){ 0 };
	}
	return true;
}

/* A list of both names at one instant: a bit for each. */
static bool file_list(const struct file *f, const struct linear_op *op)
{
	uint64_t there = (uint64_t)(f[0].there | f[1].there << 1);
	return op->status == STATUS_OK && op->got[0] == there;
}

static bool file_step(const struct linear_state *s, const struct linear_op *op, struct linear_state *next)
{
	struct file f[NAMES];
	bool legal = false;
	memcpy(f, s->bytes, sizeof f);
	struct file *at = &f[op->arg[ARG_NAME] % NAMES], *other = &f[(op->arg[ARG_NAME] + 1) % NAMES];
	switch (op->kind) {
	case FILE_PUT:
	case FILE_OVER:
		legal = allowed(op, op->kind == FILE_OVER && !at->there, false);
		if (legal && happens(op))
			*at = (struct file){ 1, (uint32_t)op->arg[ARG_VALUE], (uint32_t)op->got[0] };
		break;
	case FILE_GET:
		legal = file_get(at, op);
		break;
	case FILE_DEL:
		legal = allowed(op, !at->there, false);
		if (legal && happens(op))
			*at = (struct file){ 0 };
		break;
	case FILE_MOVE:
		legal = file_move(at, other, op);
		break;
	case FILE_LIST:
		legal = file_list(f, op);
		break;
	}
	memcpy(next->bytes, f, sizeof f);
	return legal;
}

const struct linear_model linear_file = {
	.name = "file",
	.ops = { [FILE_PUT] = { "put", { "n", "v" }, false },
		 [FILE_OVER] = { "over", { "n", "v" }, false },
		 [FILE_GET] = { "get", { "n" }, false },
		 [FILE_DEL] = { "del", { "n" }, false },
		 [FILE_MOVE] = { "move", { "n", "r" }, false },
		 [FILE_LIST] = { "list", { NULL }, true } },
	.init = file_init,
	.step = file_step,
};

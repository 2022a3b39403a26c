/* SPDX-License-Identifier: Apache-2.0
 * Inside the checker: operations with their strings turned into numbers, and what a model is. */
#ifndef TEST_SIM_LINEAR_INT_H
#define TEST_SIM_LINEAR_INT_H

#include "linear.h"

enum { LINEAR_STATE_BYTES = 40, LINEAR_ARGS = 4, LINEAR_OPS = 8 };

enum linear_status { STATUS_OK, STATUS_404, STATUS_409, STATUS_412, STATUS_UNKNOWN };

struct linear_op {
	unsigned client;
	unsigned kind;		   /* the model's own */
	unsigned key;		   /* interned */
	uint64_t call, ret;	   /* ret == LINEAR_NEVER: outcome open */
	uint64_t arg[LINEAR_ARGS]; /* the model's own; strings are interned, 0 = not given */
	uint64_t got[2];	   /* details of "ok" */
	uint64_t at_lo, at_hi;	   /* between which times of the server's clock it ran; 0 .. UINT64_MAX if not given */
	enum linear_status status;
	unsigned given; /* a bit for each arg */
	char *text;	/* the line */
};

struct linear_state {
	_Alignas(8) unsigned char bytes[LINEAR_STATE_BYTES];
};

struct linear_model {
	const char *name;
	struct {
		const char *op;
		const char *arg[LINEAR_ARGS]; /* names, in the order of linear_op.arg */
		bool numbers;		      /* args and details are numbers, not names ("#5" always is one) */
	} ops[LINEAR_OPS];
	void (*init)(struct linear_state *);
	/* May the operation have had this result (any, if its outcome is open) in this state? *next is the state after
	 * it. An open operation that would change nothing may say no: leaving it out is the same. */
	bool (*step)(const struct linear_state *, const struct linear_op *, struct linear_state *next);
	/* A quick check over one key's operations in order of their calls; NULL or what is wrong. */
	const char *(*scan)(const struct linear_op *const *ops, size_t count, size_t names);
};

extern const struct linear_model linear_blob, linear_entity, linear_pair, linear_queue, linear_lease, linear_file;

/* wgl.c. *ret_stuck: an operation that no order could place. */
enum linear_answer linear_search(const struct linear_model *, const struct linear_op *const *ops, size_t count,
				 size_t *ret_stuck);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * When an assert fails or the process is about to die by a signal, what the thread was doing is printed to standard
 * error, then the process ends as it would have (core dump included). The journal makes that safe.
 *
 * A thread says what it works on with panic_subject_set and puts back what was there before when it is done: two
 * stores, so it may stand on any path. The describing function runs in a signal handler: it reads memory and calls
 * panic_put_* only, and it never prints a key, a signature, a name of a client's or a body. */
#ifndef BASE_PANIC_H
#define BASE_PANIC_H

#include <assert.h>
#include <stdint.h>

struct panic_out;
typedef void panic_describe_fn(struct panic_out *, const void *subject);

struct panic_subject {
	panic_describe_fn *describe;
	const void *subject;
};
extern _Thread_local struct panic_subject panic_subject;

static inline struct panic_subject panic_subject_set(panic_describe_fn *describe, const void *subject)
{
	struct panic_subject before = panic_subject;
	panic_subject = (struct panic_subject){ describe, subject };
	return before;
}
static inline void panic_subject_restore(struct panic_subject before)
{
	panic_subject = before;
}

/* For the whole process, once, before its threads. A handler that somebody else has (a sanitizer) stays. */
void panic_install(void);

void panic_put_text(struct panic_out *, const char *);
void panic_put_u64(struct panic_out *, uint64_t);

/* A long-lived struct has `uint32_t magic`, set when it is made and cleared when it is freed. Checked where a pointer
 * comes in from elsewhere (a timer, a task, another thread), it tells a stale or foreign pointer from a good one. */
#define MAGIC_CHECK(object, number) assert((object)->magic == (number))

/* A table of allowed transitions: allowed[from] has a bit for each `to`. Staying is always allowed. */
#define STATE_BIT(state)	       (1u << (state))
#define STATE_CHECK(allowed, from, to) assert((from) == (to) || ((allowed)[from] & STATE_BIT(to)))

#endif

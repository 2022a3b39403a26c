/* SPDX-License-Identifier: Apache-2.0
 * Did everything that clients saw happen in some order, each operation at one instant between its call and its return?
 * A history is gathered from a recorder (the simulator in this folder, or one that speaks to a server over sockets) and
 * checked key by key: first the chain of ETags in linear time, then a search after Wing, Gong and Lowe.
 *
 * The text form, one operation a line, blanks between fields, '#' begins a comment:
 *
 *     client op key args call_ns return_ns result
 *
 * The key begins with its model's name and a colon ("blob:box/a"). args are "name=value" joined by commas, "-" for
 * none. return_ns is "-" and result "unknown" if no answer came or it left the outcome open: it may have happened at
 * any time after the call, or never. Other results are "ok", "ok,detail,...", or the status of a refusal ("404", "409",
 * "412"). Operations that certainly did not happen for reasons of the server (503, 507) are left out by the recorder.
 *
 * Any operation may say at=LO..HI: between which times of the server's clock (milliseconds, of any beginning) it ran if
 * it ran. A word that begins with '#' is a number.
 *
 *   blob    put v=VALUE[,if=ETAG][,none=*][,lease=ID] -> ok,ETAG       get - -> ok,VALUE,ETAG
 *           del [if=ETAG][,lease=ID] -> ok    acquire id=ID -> ok    release id=ID -> ok
 *           leases without end; values unique per key. Refusals: 404 there is none (get, del, acquire, release), 409
 *           exists already or leased by another, 412 the condition or the lease does not hold
 *   lease   a blob whose leases end: put v=VALUE[,lease=ID] -> ok    get - -> ok,VALUE,#STATE (lock/lease.h's number)
 *           del [lease=ID] -> ok    acquire id=ID,d=#SECONDS -> ok (-1: no end)    renew id=ID -> ok
 *           change id=ID,to=ID -> ok    release id=ID -> ok    break [p=#SECONDS] -> ok,#SECONDS_LEFT
 *           Refusals: 404 there is none, 409 of a lease operation, 412 of a write. Time comes from at=
 *   entity  put v=VALUE -> ok,ETAG    insert v=VALUE -> ok,ETAG | 409    get - -> ok,VALUE,ETAG | 404
 *           update v=VALUE,if=ETAG or any=* -> ok,ETAG | 404 | 412    del if=ETAG or any=* -> ok | 404 | 412
 *   pair    move d=AMOUNT -> ok,A,B (d goes from A to B, both begin with 1000; 409 if A or B would fall below 0)
 *           read - -> ok,A,B    cas a=A,b=B,d=AMOUNT -> ok | 412 (a move from what was read; both rows or none)
 *   queue   put m=ID -> ok    get - -> ok,ID | ok (empty)    peek - -> as get    del m=ID -> ok | 404
 *           (at most 63 messages; what was got stays hidden)
 *   file    two names, #0 and #1, between which a file moves: put n=NAME,v=VALUE -> ok,ETAG
 *           get n=NAME -> ok,VALUE,ETAG    over n=NAME,v=VALUE -> ok,ETAG | 404 (all bytes of a file that is there)
 *           del n=NAME -> ok | 404
 *           move n=NAME[,r=#1] -> ok,ETAG | 404 | 409 (to the other name; r: which it may replace)
 *           list - -> ok,BITS (1: the first is there, 2: the second)
 *
 * Threads: none; a history belongs to one. */
#ifndef TEST_SIM_LINEAR_H
#define TEST_SIM_LINEAR_H

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

#define LINEAR_NEVER UINT64_MAX

enum linear_answer {
	LINEAR_OK,
	LINEAR_VIOLATION,
	LINEAR_GAVE_UP, /* too many open outcomes: the search outgrew its bound; nothing is proven for that key */
};

struct linear_history;

struct linear_history *linear_history_new(void);
void linear_history_free(struct linear_history *); /* accepts NULL */
/* return_ns LINEAR_NEVER: unknown, whatever `result` says. ERR_SYNTAX: not an operation of the key's model. */
enum err linear_history_add(struct linear_history *, unsigned client, struct slice op, struct slice key,
			    struct slice args, uint64_t call_ns, uint64_t return_ns, struct slice result) MUST_CHECK;
/* One line of the text form; blank lines and comments are fine. */
enum err linear_history_add_line(struct linear_history *, struct slice line) MUST_CHECK;
/* All of it in the text form. */
void linear_history_print(const struct linear_history *, struct buf *out);
size_t linear_history_count(const struct linear_history *);

/* ret_why (may be NULL) receives, for a violation, one line that says what is wrong and the operations of its key. */
enum linear_answer linear_history_check(const struct linear_history *, struct buf *ret_why);

#endif

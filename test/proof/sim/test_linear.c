/* SPDX-License-Identifier: Apache-2.0
 * The checker checked: histories that are fine, histories that are not, and random ones against a slow search of all
 * orders. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/sys/rng.h"
#include "linear_int.h"

static enum linear_answer check(const char *text)
{
	struct linear_history *h = linear_history_new();
	struct slice rest = slice_str(text);
	while (slice_is_set(rest)) {
		struct slice line = slice_cut(&rest, '\n');
		if (linear_history_add_line(h, line) != ERR_OK)
			fail_msg("not a line: %.*s", SLICE_FMT(line));
	}
	enum linear_answer answer = linear_history_check(h, NULL);
	linear_history_free(h);
	return answer;
}

#define GOOD(text) assert_int_equal(check(text), LINEAR_OK)
#define BAD(text)  assert_int_equal(check(text), LINEAR_VIOLATION)

static void blobs(void **state)
{
	GOOD("");
	GOOD("# nothing\n1 get blob:a - 1 2 404");
	GOOD("1 put blob:a v=x 1 2 ok,e1\n1 get blob:a - 3 4 ok,x,e1");
	BAD("1 put blob:a v=x 1 2 ok,e1\n1 get blob:a - 3 4 404");
	BAD("1 get blob:a - 1 2 ok,x,e1\n1 put blob:a v=x 3 4 ok,e1");
	GOOD("1 get blob:a - 1 4 ok,x,e1\n2 put blob:a v=x 2 3 ok,e1");
	/* stale read after a later write returned */
	BAD("1 put blob:a v=x 1 2 ok,e1\n1 put blob:a v=y 3 4 ok,e2\n2 get blob:a - 5 6 ok,x,e1");
	/* while it is under way, either */
	GOOD("1 put blob:a v=x 1 2 ok,e1\n1 put blob:a v=y 3 6 ok,e2\n2 get blob:a - 4 5 ok,x,e1");
	GOOD("1 put blob:a v=x 1 2 ok,e1\n1 put blob:a v=y 3 6 ok,e2\n2 get blob:a - 4 5 ok,y,e2");
	/* but not back again */
	BAD("1 put blob:a v=x 1 2 ok,e1\n1 put blob:a v=y 3 9 ok,e2\n2 get blob:a - 4 5 ok,y,e2\n3 get blob:a - 6 7 "
	    "ok,x,e1");
	/* the keys do not know each other */
	GOOD("1 put blob:a v=x 1 2 ok,e1\n1 get blob:b - 3 4 404");
	GOOD("1 put blob:a v=x 1 2 ok,e1\n1 del blob:a - 3 4 ok\n1 get blob:a - 5 6 404\n1 del blob:a - 7 8 404");
	BAD("1 put blob:a v=x 1 2 ok,e1\n1 del blob:a - 3 4 404");
}

static void conditions(void **state)
{
	const char *base = "1 put blob:a v=x 1 2 ok,e1\n";
	char text[1024];
#define WITH(lines) (snprintf(text, sizeof text, "%s%s", base, lines), text)
	/* both If-Match writers win: a fork */
	BAD(WITH("1 put blob:a v=y,if=e1 3 6 ok,e2\n2 put blob:a v=z,if=e1 4 5 ok,e3"));
	GOOD(WITH("1 put blob:a v=y,if=e1 3 6 ok,e2\n2 put blob:a v=z,if=e1 4 5 412"));
	/* neither: somebody must */
	BAD(WITH("1 put blob:a v=y,if=e1 3 6 412\n2 put blob:a v=z,if=e1 4 5 412"));
	GOOD(WITH("1 put blob:a v=y,none=* 3 4 409"));
	BAD(WITH("1 put blob:a v=y,none=* 3 4 ok,e2"));
	BAD(WITH("1 put blob:b v=y,none=* 3 4 409"));
	BAD(WITH("1 put blob:a v=y 3 4 ok,e1")); /* an ETag given twice */
	BAD(WITH("1 put blob:a v=y 3 4 412"));	 /* no condition, no refusal */
	GOOD(WITH("1 del blob:a if=e1 3 4 ok\n1 put blob:a v=y,if=e1 5 6 412"));
	/* an open put: seen later, or never, but not both */
	GOOD(WITH("2 put blob:a v=y,if=e1 3 - unknown\n1 get blob:a - 5 6 ok,x,e1\n1 get blob:a - 7 8 ok,y,e2"));
	GOOD(WITH("2 put blob:a v=y,if=e1 3 - unknown\n1 get blob:a - 5 6 ok,x,e1"));
	BAD(WITH("2 put blob:a v=y,if=e1 3 - unknown\n1 get blob:a - 5 6 ok,y,e2\n1 get blob:a - 7 8 ok,x,e1"));
	/* a refused one never */
	BAD(WITH("2 put blob:a v=y,none=* 3 4 409\n1 get blob:a - 5 6 ok,y,e2"));
	/* an open one cannot undo a conditional write that saw the state before it */
	GOOD(WITH("2 put blob:a v=y 3 - unknown\n1 put blob:a v=z,if=e1 5 6 ok,e3\n1 get blob:a - 7 8 ok,z,e3"));
	/* its ETag, never seen, may be the one a later condition names */
	GOOD(WITH("2 put blob:a v=y 3 - unknown\n1 put blob:a v=z,if=e2 5 6 ok,e3"));
	BAD(WITH("1 put blob:a v=z,if=e2 5 6 ok,e3"));
}

static void leases(void **state)
{
	const char *base = "1 put blob:a v=x 1 2 ok,e1\n1 acquire blob:a id=L 3 4 ok\n";
	char text[1024];
	GOOD(WITH("2 put blob:a v=y 5 6 412\n1 put blob:a v=z,lease=L 7 8 ok,e2"));
	BAD(WITH("2 put blob:a v=y 5 6 ok,e2"));
	BAD(WITH("2 acquire blob:a id=M 5 6 ok"));
	GOOD(WITH("2 acquire blob:a id=M 5 6 409\n1 release blob:a id=L 7 8 ok\n2 acquire blob:a id=M 9 10 ok"));
	GOOD(WITH("1 acquire blob:a id=L 5 6 ok\n2 release blob:a id=M 7 8 409\n2 del blob:a - 9 10 412"));
	GOOD(WITH("1 del blob:a lease=L 5 6 ok\n1 acquire blob:a id=L 7 8 404"));
	BAD(WITH("2 del blob:a lease=M 5 6 ok"));
	/* two hold it at once: only if the first released it in between */
	GOOD(WITH("1 release blob:a id=L 5 8 ok\n2 acquire blob:a id=M 6 7 ok"));
	BAD(WITH("2 acquire blob:a id=M 5 6 ok\n1 release blob:a id=L 7 8 ok"));
}

static void files(void **state)
{
	const char *base = "1 put file:a n=#0,v=x 1 2 ok,e1\n";
	char text[1024];
	GOOD(WITH("1 move file:a n=#0 3 4 ok,e2\n1 get file:a n=#0 5 6 404\n1 get file:a n=#1 7 8 ok,x,e2"));
	BAD(WITH("1 move file:a n=#0 3 4 ok,e2\n1 get file:a n=#0 5 6 ok,x,e1"));
	/* two renames of one source: one winner */
	GOOD(WITH("1 move file:a n=#0 3 6 ok,e2\n2 move file:a n=#0 4 5 404"));
	BAD(WITH("1 move file:a n=#0 3 6 ok,e2\n2 move file:a n=#0 4 5 ok,e3"));
	BAD(WITH("1 move file:a n=#0 3 6 404\n2 move file:a n=#0 4 5 404"));
	/* never both names, never none */
	GOOD(WITH("1 move file:a n=#0 3 6 ok,e2\n2 list file:a - 4 5 ok,1\n2 list file:a - 7 8 ok,2"));
	BAD(WITH("1 move file:a n=#0 3 6 ok,e2\n2 list file:a - 4 5 ok,3"));
	BAD(WITH("1 move file:a n=#0 3 6 ok,e2\n2 list file:a - 4 5 ok,0"));
	BAD(WITH("1 move file:a n=#0 3 6 ok,e2\n2 get file:a n=#1 4 5 ok,x,e2\n2 list file:a - 6 7 ok,1"));
	/* a name that is taken */
	GOOD(WITH("1 put file:a n=#1,v=y 3 4 ok,e2\n1 move file:a n=#0 5 6 409\n1 move file:a n=#0,r=#1 7 8 ok,e3"));
	BAD(WITH("1 put file:a n=#1,v=y 3 4 ok,e2\n1 move file:a n=#0 5 6 ok,e3"));
	BAD(WITH("1 put file:a n=#1,v=y 3 4 ok,e2\n1 move file:a n=#0,r=#1 5 6 409"));
	/* a write over a file goes with it, or finds none */
	GOOD(WITH("1 over file:a n=#0,v=y 3 6 ok,e2\n2 move file:a n=#0 4 5 ok,e3\n2 get file:a n=#1 7 8 ok,y,e3"));
	GOOD(WITH("1 over file:a n=#0,v=y 3 6 404\n2 move file:a n=#0 4 5 ok,e3\n2 get file:a n=#1 7 8 ok,x,e3"));
	BAD(WITH("1 over file:a n=#0,v=y 3 6 ok,e2\n2 move file:a n=#0 4 5 ok,e3\n2 get file:a n=#1 7 8 ok,x,e3"));
	BAD(WITH("1 over file:a n=#1,v=y 3 4 ok,e2"));
	/* open ones */
	GOOD(WITH("1 move file:a n=#0 3 - unknown\n2 list file:a - 4 5 ok,2\n2 del file:a n=#1 6 7 ok"));
	BAD(WITH("1 move file:a n=#0 3 - unknown\n2 list file:a - 4 5 ok,2\n2 get file:a n=#0 6 7 ok,x,e1"));
}

/* Times of the server's clock are milliseconds; the calls' own order stands beside them. */
static void leases_end(void **state)
{
	const char *base = "1 put lease:a v=x,at=0..1 1 2 ok\n1 acquire lease:a id=L,d=#15,at=1000..1010 3 4 ok\n";
	char text[1024];
	/* until 16,000 .. 16,010 it holds */
	GOOD(WITH("2 put lease:a v=y,at=15990..15999 5 6 412\n1 put lease:a v=z,lease=L,at=15999..15999 7 8 ok"));
	BAD(WITH("2 put lease:a v=y,at=15990..15999 5 6 ok"));
	GOOD(WITH("2 put lease:a v=y,at=16011..16020 5 6 ok\n1 renew lease:a id=L,at=16030..16030 7 8 409"));
	BAD(WITH("2 put lease:a v=y,at=16011..16020 5 6 412"));
	BAD(WITH("1 put lease:a v=y,lease=L,at=16011..16020 5 6 ok"));
	GOOD(WITH("1 put lease:a v=y,lease=L,at=16011..16020 5 6 412"));
	/* in between either, but then it stays so */
	GOOD(WITH("2 put lease:a v=y,at=16000..16008 5 6 412\n2 put lease:a v=w,at=16005..16009 7 8 ok"));
	GOOD(WITH("1 get lease:a at=16003..16003 5 6 ok,x,#4\n1 get lease:a at=16004..16004 7 8 ok,x,#4"));
	BAD(WITH("1 get lease:a at=16003..16003 5 6 ok,x,#4\n1 get lease:a at=16004..16004 7 8 ok,x,#1"));
	BAD(WITH("1 get lease:a at=15000..15003 5 6 ok,x,#0"));
	/* a lease that is over can be renewed until somebody writes or takes it */
	GOOD(WITH("1 renew lease:a id=L,at=20000..20001 5 6 ok\n2 put lease:a v=y,at=34000..34001 7 8 412"));
	BAD(WITH("1 renew lease:a id=L,at=20000..20001 5 6 ok\n2 put lease:a v=y,at=35002..35003 7 8 412"));
	GOOD(WITH("2 acquire lease:a id=M,d=#-1,at=17000..17001 5 6 ok\n1 renew lease:a id=L,at=17002..17003 7 8 "
		  "409\n2 put lease:a v=y,lease=M,at=99999999..99999999 9 10 ok"));
	BAD(WITH("2 acquire lease:a id=M,d=#15,at=2000..2001 5 6 ok"));
	BAD(WITH("1 release lease:a id=L,at=20000..20001 5 6 409"));
	/* change: only while it holds */
	GOOD(WITH("1 change lease:a id=L,to=M,at=2000..2001 5 6 ok\n1 renew lease:a id=L,at=2002..2003 7 8 409"));
	BAD(WITH("1 change lease:a id=L,to=M,at=20000..20001 5 6 ok"));
	GOOD(WITH("1 change lease:a id=L,to=M,at=20000..20001 5 6 409"));
	BAD(WITH("1 change lease:a id=L,to=M,at=2000..2001 5 6 409"));
	/* an open renewal may have happened */
	GOOD(WITH("1 renew lease:a id=L,at=9000..9001 5 - unknown\n2 put lease:a v=y,at=20000..20001 7 8 412"));
	GOOD(WITH("1 renew lease:a id=L,at=9000..9001 5 - unknown\n2 put lease:a v=y,at=20000..20001 7 8 ok"));
	BAD(WITH("1 renew lease:a id=L,at=9000..9001 5 - unknown\n2 put lease:a v=y,at=25000..25001 7 8 412"));
}

static void leases_break(void **state)
{
	const char *base = "1 put lease:a v=x,at=0..1 1 2 ok\n1 acquire lease:a id=L,d=#60,at=1000..1010 3 4 ok\n";
	char text[1024];
	GOOD(WITH("2 break lease:a p=#10,at=2000..2001 5 6 ok,#10\n2 put lease:a v=y,at=11999..11999 7 8 412\n2 put "
		  "lease:a v=z,at=12002..12003 9 10 ok"));
	BAD(WITH("2 break lease:a p=#10,at=2000..2001 5 6 ok,#12"));
	BAD(WITH("2 break lease:a p=#10,at=2000..2001 5 6 ok,#10\n2 put lease:a v=y,at=12002..12003 7 8 412"));
	BAD(WITH("2 break lease:a p=#10,at=2000..2001 5 6 ok,#10\n2 put lease:a v=y,at=11990..11991 7 8 ok"));
	GOOD(WITH("2 break lease:a p=#0,at=2000..2001 5 6 ok,#0\n2 put lease:a v=y,at=2001..2003 7 8 ok"));
	/* without a period the rest of it, and never longer than that */
	GOOD(WITH("2 break lease:a at=2000..2001 5 6 ok,#60\n1 renew lease:a id=L,at=2002..2003 7 8 409"));
	GOOD(WITH("2 break lease:a p=#60,at=31000..31001 5 6 ok,#31\n2 get lease:a at=62000..62001 7 8 ok,x,#3"));
	BAD(WITH("2 break lease:a p=#60,at=31000..31001 5 6 ok,#60"));
	GOOD(WITH("2 break lease:a p=#60,at=90000..90001 5 6 ok,#0\n2 get lease:a at=90000..90001 7 8 ok,x,#3"));
	BAD(WITH("2 break lease:a p=#60,at=90000..90001 5 6 ok,#60"));
	BAD(WITH("2 break lease:a p=#60,at=9000..9001 5 6 409"));
	/* an open break leaves both open */
	GOOD(WITH("2 break lease:a p=#5,at=2000..2001 5 - unknown\n2 put lease:a v=y,at=9000..9001 7 8 412"));
	GOOD(WITH("2 break lease:a p=#5,at=2000..2001 5 - unknown\n2 put lease:a v=y,at=9000..9001 7 8 ok"));
	BAD(WITH("2 break lease:a p=#5,at=2000..2001 5 - unknown\n2 put lease:a v=y,at=6000..6001 7 8 ok"));
}

static void pairs_and_queues(void **state)
{
	GOOD("1 read pair:p - 1 2 ok,1000,1000\n1 move pair:p d=300 3 4 ok,700,1300\n2 read pair:p - 5 6 ok,700,1300");
	BAD("1 move pair:p d=300 3 8 ok,700,1300\n2 read pair:p - 5 6 ok,700,1000");	 /* half a move */
	BAD("1 move pair:p d=300 1 2 ok,700,1300\n2 move pair:p d=300 3 4 ok,700,1300"); /* a lost one */
	GOOD("1 move pair:p d=1300 1 2 409\n1 move pair:p d=-200 3 4 ok,1200,800");
	BAD("1 move pair:p d=300 1 2 409");
	GOOD("1 move pair:p d=300 1 - unknown\n2 read pair:p - 5 6 ok,1000,1000\n2 read pair:p - 7 8 ok,700,1300");
	BAD("1 move pair:p d=300 1 - unknown\n2 read pair:p - 5 6 ok,400,1600"); /* twice */
	GOOD("1 put queue:q m=a 1 2 ok\n2 get queue:q - 3 4 ok,a\n2 get queue:q - 5 6 ok\n2 del queue:q m=a 7 8 ok");
	BAD("1 put queue:q m=a 1 2 ok\n2 get queue:q - 3 4 ok\n");			     /* lost */
	BAD("1 put queue:q m=a 1 2 ok\n2 get queue:q - 3 4 ok,a\n3 get queue:q - 5 6 ok,a"); /* twice */
	BAD("1 get queue:q - 3 4 ok,a");
	/* an open get may have taken one, but only one */
	GOOD("1 put queue:q m=a 1 2 ok\n2 get queue:q - 3 - unknown\n3 get queue:q - 5 6 ok\n1 del queue:q m=a 7 8 ok");
	GOOD("1 put queue:q m=a 1 2 ok\n2 get queue:q - 3 - unknown\n3 peek queue:q - 5 6 ok,a\n3 get queue:q - 7 8 "
	     "ok,a");
	BAD("1 put queue:q m=a 1 2 ok\n1 put queue:q m=b 3 4 ok\n2 get queue:q - 5 - unknown\n3 get queue:q - 7 8 ok");
	BAD("1 put queue:q m=a 1 2 ok\n2 del queue:q m=a 3 4 ok\n2 del queue:q m=a 5 6 ok");
}

static void entities(void **state)
{
	const char *base = "1 insert entity:e v=x 1 2 ok,e1\n";
	char text[1024];
	GOOD(WITH("2 insert entity:e v=y 3 4 409\n2 put entity:e v=z 5 6 ok,e2\n1 get entity:e - 7 8 ok,z,e2"));
	BAD(WITH("2 insert entity:e v=y 3 4 ok,e2"));
	BAD(WITH("1 update entity:e v=y,if=e1 3 6 ok,e2\n2 update entity:e v=z,if=e1 4 5 ok,e3"));
	GOOD(WITH("1 update entity:e v=y,if=e1 3 6 ok,e2\n2 update entity:e v=z,if=e1 4 5 412"));
	GOOD(WITH("1 del entity:e any=* 3 4 ok\n2 update entity:e v=z,if=e1 5 6 404\n2 del entity:e any=* 7 8 404"));
	BAD(WITH("2 update entity:e v=z,if=e1 5 6 404"));
	GOOD("1 cas pair:p a=1000,b=1000,d=5 1 2 ok\n2 cas pair:p a=1000,b=1000,d=7 1 3 412\n1 read pair:p - 4 5 "
	     "ok,995,1005");
	BAD("1 cas pair:p a=1000,b=1000,d=5 1 2 ok\n2 cas pair:p a=1000,b=1000,d=7 1 3 ok");
}

static void not_histories(void **state)
{
	const char *lines[] = { "1 get blob:a - 1 2",	       "x get blob:a - 1 2 404",
				"1 get nothing:a - 1 2 404",   "1 jump blob:a - 1 2 404",
				"1 get blob:a - 5 2 404",      "1 get blob:a - 1 2 500",
				"1 put blob:a w=1 1 2 ok,e",   "1 move pair:p d=x 1 2 409",
				"1 get blob:a - 1 2 ok,a,b,c", "1 get blob:a - 1 2 404 trail",
				"1 get blob - 1 2 404",	       "1 get blob:a at=5..4 1 2 404",
				"1 get blob:a at=5 1 2 404" };
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		struct linear_history *h = linear_history_new();
		assert_int_equal(linear_history_add_line(h, slice_str(lines[i])), ERR_SYNTAX);
		linear_history_free(h);
	}
}

/* Every order, one after another. */
static bool brute(const struct linear_op *ops, size_t count, unsigned placed, const struct linear_state *s)
{
	bool open_only = true;
	for (size_t i = 0; i < count; i++)
		open_only &= (placed >> i & 1) || ops[i].ret == LINEAR_NEVER;
	if (open_only)
		return true;
	for (size_t i = 0; i < count; i++) {
		struct linear_state next;
		bool first = !(placed >> i & 1);
		for (size_t k = 0; k < count; k++)
			first &= (placed >> k & 1) || k == i || ops[k].ret >= ops[i].call;
		memset(&next, 0, sizeof next);
		if (first && linear_pair.step(s, &ops[i], &next) && brute(ops, count, placed | 1u << i, &next))
			return true;
	}
	return false;
}

static void agrees_with_brute_force(void **state)
{
	struct rng rng;
	int good = 0, bad = 0;
	rng_init_seed(&rng, 42);
	for (int round = 0; round < 20000; round++) {
		struct linear_op ops[7] = { 0 };
		const struct linear_op *list[7];
		size_t count = 2 + rng_below(&rng, 6), stuck;
		int64_t a = 1000, b = 1000;
		for (size_t i = 0; i < count; i++) { /* a true run with overlapping times, then sometimes a lie */
			struct linear_op *o = &ops[i];
			int64_t d = (int64_t)rng_below(&rng, 3) * 100;
			o->kind = (unsigned)rng_below(&rng, 2); /* move or read */
			o->arg[0] = o->kind == 0 ? (uint64_t)d : 0;
			o->call = i * 10 + 10 - rng_below(&rng, 30) % (i * 10 + 10);
			o->ret = i * 10 + 10 + rng_below(&rng, 30);
			bool happened = o->kind == 1 || rng_below(&rng, 8) != 0;
			if (o->kind == 0 && happened) {
				a -= d;
				b += d;
			}
			o->got[0] = (uint64_t)a;
			o->got[1] = (uint64_t)b;
			if (o->kind == 0 && (!happened || rng_below(&rng, 8) == 0)) {
				o->status = STATUS_UNKNOWN;
				o->ret = LINEAR_NEVER;
			}
			if (rng_below(&rng, 12) == 0) {
				o->got[0] -= 100;
				o->got[1] += 100;
			}
		}
		for (size_t i = 0; i < count; i++)
			list[i] = &ops[i];
		struct linear_state s;
		linear_pair.init(&s);
		bool want = brute(ops, count, 0, &s);
		assert_int_equal(linear_search(&linear_pair, list, count, &stuck), want ? LINEAR_OK : LINEAR_VIOLATION);
		good += want;
		bad += !want;
	}
	assert_true(good > 2000 && bad > 2000);
}

static void text_goes_round(void **state)
{
	const char *text =
		"1 put blob:a v=x,if=e0,lease=L 1 2 412\n2 move pair:p d=-5 3 - unknown\n3 get queue:q - 4 5 ok\n";
	struct linear_history *h = linear_history_new();
	struct slice rest = slice_str(text);
	struct buf out;
	buf_init(&out, MIB);
	while (slice_is_set(rest))
		assert_int_equal(linear_history_add_line(h, slice_cut(&rest, '\n')), ERR_OK);
	assert_int_equal(linear_history_count(h), 3);
	linear_history_print(h, &out);
	assert_true(slice_eq(buf_slice(&out), slice_str(text)));
	buf_fini(&out);
	linear_history_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blobs),
		cmocka_unit_test(conditions),
		cmocka_unit_test(leases),
		cmocka_unit_test(files),
		cmocka_unit_test(leases_end),
		cmocka_unit_test(leases_break),
		cmocka_unit_test(pairs_and_queues),
		cmocka_unit_test(entities),
		cmocka_unit_test(not_histories),
		cmocka_unit_test(agrees_with_brute_force),
		cmocka_unit_test(text_goes_round),
	};
	return cmocka_run_group_tests_name("linear", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 * The opens of SMB clients as rows: opening, sharing, breaking, locking, deleting on close, coming back, and what REST
 * operations meet. Through the applies that both doors use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench.h"

#include "svc/file/open/open_int.h"

#include <pthread.h>
#include <stdatomic.h>

static uint64_t next_open = 100;

static struct file_open_call open_of(struct bench *b, const char *path, uint32_t access, uint32_t share)
{
	struct file_open_call c = { .target = target_of(b, path, FILE_KIND_ANY),
				    .open_id = next_open++,
				    .access = access,
				    .share = share,
				    .disposition = FILE_OPEN_IF,
				    .want_file = true };
	c.opener.user = SLICE("acc");
	c.opener.client_ip = SLICE("127.0.0.1:5");
	c.opener.client.bytes[0] = 1;
	return c;
}

static void ask_lease(struct file_open_call *c, uint8_t key, uint8_t state)
{
	c->oplock = (struct oplock_request){ .kind = OPLOCK_LEASE, .state = state, .version = 2 };
	c->oplock.client = c->opener.client;
	c->oplock.key.bytes[15] = key;
}

static struct file_handle handle_of(const struct file_open_call *c)
{
	return (struct file_handle){ c->open.inode_id, c->open.open_id };
}

static enum err close_it(struct bench *b, struct file_handle h, enum file_close_how how, struct file_close_call *ret)
{
	struct file_close_call c = { .handle = h, .how = how };
	enum err err = run(b, file_apply_close, &c);
	if (ret)
		*ret = c;
	return err;
}

static void expect_close(struct bench *b, struct file_handle h)
{
	assert_int_equal(close_it(b, h, FILE_CLOSE_CLIENT, NULL), ERR_OK);
}

static enum err rest_get(struct bench *b, const char *path)
{
	struct file_get_call c = { .target = target_of(b, path, FILE_KIND_FILE), .want_bytes = true };
	return look(b, file_apply_get, &c);
}

static enum err rest_delete(struct bench *b, const char *path)
{
	struct file_delete_call c = { .target = target_of(b, path, FILE_KIND_FILE) };
	return run(b, file_apply_delete, &c);
}

static struct file_break_call mark(struct bench *b)
{
	struct file_break_call c = { .breaks = b->breaks };
	expect(b, file_apply_break, &c, ERR_OK);
	return c;
}

static enum err acknowledge(struct bench *b, uint8_t key, uint8_t state, struct file_ack_call *ret)
{
	struct file_ack_call c = { .is_lease = true, .state = state };
	c.client.bytes[0] = 1;
	c.lease_key.bytes[15] = key;
	enum err err = run(b, file_apply_acknowledge, &c);
	if (ret)
		*ret = c;
	return err;
}

static bool listed(struct bench *b, const char *name)
{
	struct file_list_call c = { .target = target_of(b, "", FILE_KIND_DIRECTORY), .limit = 100 };
	bool found = false;
	assert_int_equal(look(b, file_apply_list, &c), ERR_OK);
	for (size_t i = 0; i < c.count; i++)
		found |= slice_eq(c.entry[i].name, slice_str(name));
	return found;
}

/* ---- tests ---- */

static void an_open_denies_until_it_is_closed(void **state)
{
	struct bench b;
	bench_open(&b, 1, NULL);
	struct file_open_call a = open_of(&b, "f", ACCESS_READ_DATA | ACCESS_WRITE_DATA, 0);
	expect(&b, file_apply_open, &a, ERR_OK);
	assert_int_equal(a.action, FILE_WAS_CREATED);
	struct file_open_call second = open_of(&b, "F", ACCESS_READ_DATA, SHARE_ALL);
	expect(&b, file_apply_open, &second, ERR_SHARING_VIOLATION);
	assert_int_equal(rest_get(&b, "f"), ERR_SHARING_VIOLATION);
	assert_int_equal(bench_write(&b, "f", 0, "x", 1), ERR_SHARING_VIOLATION);
	assert_int_equal(rest_delete(&b, "f"), ERR_SHARING_VIOLATION);
	expect_close(&b, handle_of(&a));
	assert_int_equal(close_it(&b, handle_of(&a), FILE_CLOSE_CLIENT, NULL), ERR_SMB_FILE_CLOSED);
	assert_int_equal(rest_get(&b, "f"), ERR_OK);
	expect(&b, file_apply_open, &second, ERR_OK);
	assert_int_equal(second.action, FILE_WAS_OPENED);
	expect_close(&b, handle_of(&second));
	assert_int_equal(rest_delete(&b, "f"), ERR_OK);
	bench_close(&b);
}

static void dispositions(void **state)
{
	struct bench b;
	bench_open(&b, 1, NULL);
	struct file_open_call c = open_of(&b, "f", ACCESS_READ_DATA, SHARE_ALL);
	c.disposition = FILE_OPEN;
	expect(&b, file_apply_open, &c, ERR_RESOURCE_NOT_FOUND);
	c.disposition = FILE_OVERWRITE;
	expect(&b, file_apply_open, &c, ERR_RESOURCE_NOT_FOUND);
	c.disposition = FILE_CREATE;
	expect(&b, file_apply_open, &c, ERR_OK);
	assert_int_equal(bench_write(&b, "f", 0, "abc", 3), ERR_INVALID_RANGE);
	expect_close(&b, handle_of(&c));
	expect(&b, file_apply_open, &c, ERR_RESOURCE_ALREADY_EXISTS);
	assert_int_equal(bench_create(&b, "g", FILE_KIND_FILE, 10), ERR_OK);
	struct file_open_call g = open_of(&b, "g", ACCESS_READ_DATA | ACCESS_WRITE_DATA, SHARE_ALL);
	g.disposition = FILE_OVERWRITE_IF;
	g.attributes = FILE_ATTR_HIDDEN;
	expect(&b, file_apply_open, &g, ERR_OK);
	assert_int_equal(g.action, FILE_WAS_OVERWRITTEN);
	assert_int_equal(g.inode.size_bytes, 0);
	expect_close(&b, handle_of(&g));
	g.attributes = 0; /* hidden, and the request does not repeat it */
	expect(&b, file_apply_open, &g, ERR_SMB_ACCESS_DENIED);
	struct file_open_call d = open_of(&b, "g", ACCESS_READ_DATA, SHARE_ALL);
	d.want_file = false;
	d.want_directory = true;
	expect(&b, file_apply_open, &d, ERR_SMB_NOT_A_DIRECTORY);
	struct file_open_call root = open_of(&b, "", ACCESS_READ_DATA, SHARE_ALL);
	expect(&b, file_apply_open, &root, ERR_SMB_FILE_IS_A_DIRECTORY);
	root.want_file = false;
	expect(&b, file_apply_open, &root, ERR_OK);
	expect_close(&b, handle_of(&root));
	struct file_open_call below = open_of(&b, "g/x", ACCESS_READ_DATA, SHARE_ALL);
	expect(&b, file_apply_open, &below, ERR_PARENT_NOT_FOUND);
	bench_close(&b);
}

/* Pending belongs to the file: set at the close of the open that asked, seen by all, undone by any open with DELETE. */
static void delete_on_close(void **state)
{
	struct bench b;
	struct file_close_call closed;
	bench_open(&b, 1, NULL);
	struct file_open_call a = open_of(&b, "f", ACCESS_DELETE, SHARE_ALL);
	struct file_open_call other = open_of(&b, "f", ACCESS_READ_DATA | ACCESS_DELETE, SHARE_ALL);
	a.delete_on_close = true;
	expect(&b, file_apply_open, &a, ERR_OK);
	expect(&b, file_apply_open, &other, ERR_OK);
	assert_int_equal(rest_get(&b, "f"), ERR_OK); /* not pending yet */
	assert_int_equal(close_it(&b, handle_of(&a), FILE_CLOSE_CLIENT, &closed), ERR_OK);
	assert_false(closed.deleted);
	assert_int_equal(rest_get(&b, "f"), ERR_SMB_DELETE_PENDING);
	assert_int_equal(bench_create(&b, "f", FILE_KIND_FILE, 1), ERR_SMB_DELETE_PENDING);
	assert_int_equal(rest_delete(&b, "f"), ERR_SMB_DELETE_PENDING);
	assert_false(listed(&b, "f"));
	struct file_open_call late = open_of(&b, "f", ACCESS_READ_DATA, SHARE_ALL);
	expect(&b, file_apply_open, &late, ERR_SMB_DELETE_PENDING);
	/* Undone: the file is there as before. */
	struct file_disposition_call undo = { .handle = handle_of(&other) };
	expect(&b, file_apply_disposition, &undo, ERR_OK);
	assert_true(listed(&b, "f"));
	assert_int_equal(rest_get(&b, "f"), ERR_OK);
	/* And once more, to the end. */
	undo.delete_it = true;
	expect(&b, file_apply_disposition, &undo, ERR_OK);
	assert_int_equal(rest_get(&b, "f"), ERR_SMB_DELETE_PENDING);
	assert_int_equal(close_it(&b, handle_of(&other), FILE_CLOSE_CLIENT, &closed), ERR_OK);
	assert_true(closed.deleted);
	assert_int_equal(closed.events.count, 1);
	assert_int_equal(rest_get(&b, "f"), ERR_RESOURCE_NOT_FOUND);
	bench_close(&b);
}

static void dispositions_are_refused(void **state)
{
	struct bench b;
	bench_open(&b, 1, NULL);
	struct file_open_call reader = open_of(&b, "f", ACCESS_READ_DATA, SHARE_ALL);
	expect(&b, file_apply_open, &reader, ERR_OK);
	struct file_disposition_call c = { .handle = handle_of(&reader), .delete_it = true };
	expect(&b, file_apply_disposition, &c, ERR_SMB_ACCESS_DENIED);
	struct file_open_call ro = open_of(&b, "ro", ACCESS_DELETE, SHARE_ALL);
	ro.attributes = FILE_ATTR_READONLY;
	expect(&b, file_apply_open, &ro, ERR_OK);
	c.handle = handle_of(&ro);
	expect(&b, file_apply_disposition, &c, ERR_SMB_CANNOT_DELETE);
	struct file_open_call w = open_of(&b, "ro", ACCESS_WRITE_DATA, SHARE_ALL);
	expect(&b, file_apply_open, &w, ERR_SMB_ACCESS_DENIED);
	assert_int_equal(bench_create(&b, "d", FILE_KIND_DIRECTORY, 0), ERR_OK);
	assert_int_equal(bench_create(&b, "d/x", FILE_KIND_FILE, 0), ERR_OK);
	struct file_open_call dir = open_of(&b, "d", ACCESS_DELETE, SHARE_ALL);
	dir.want_file = false;
	expect(&b, file_apply_open, &dir, ERR_OK);
	c.handle = handle_of(&dir);
	expect(&b, file_apply_disposition, &c, ERR_DIRECTORY_NOT_EMPTY);
	bench_close(&b);
}

/* ---- oplocks ---- */

static void rest_waits_for_an_acknowledgement(void **state)
{
	struct bench b;
	struct file_ack_call ack;
	bench_open(&b, 1, NULL);
	struct file_open_call a = open_of(&b, "f", ACCESS_READ_DATA | ACCESS_WRITE_DATA, SHARE_ALL);
	ask_lease(&a, 5, CACHE_RWH);
	expect(&b, file_apply_open, &a, ERR_OK);
	assert_int_equal(a.open.oplock.state, CACHE_RWH);
	assert_int_equal(rest_get(&b, "f"), ERR_BREAK_FIRST);
	struct file_break_call marked = mark(&b);
	assert_true(marked.wait);
	assert_int_equal(marked.breaks.count, 1);
	assert_true(marked.breaks.item[0].has_notice);
	assert_int_equal(marked.breaks.item[0].open_id, a.open.open_id);
	assert_int_equal(marked.breaks.item[0].notice.to, CACHE_RH);
	assert_true(marked.breaks.deadline_ticks > b.clock.fake_ticks);
	/* Another one that needs the same waits for the same break. */
	assert_int_equal(rest_get(&b, "f"), ERR_BREAK_FIRST);
	marked = mark(&b);
	assert_true(marked.wait);
	assert_false(marked.breaks.item[0].has_notice);
	assert_int_equal(acknowledge(&b, 5, CACHE_RH, &ack), ERR_OK);
	assert_true(ack.wake);
	assert_int_equal(rest_get(&b, "f"), ERR_OK);
	assert_int_equal(acknowledge(&b, 5, CACHE_RH, NULL), ERR_SMB_UNSUCCESSFUL);
	assert_int_equal(acknowledge(&b, 6, CACHE_RH, NULL), ERR_RESOURCE_NOT_FOUND);
	bench_close(&b);
}

/* Put Range on RH: the holder is told, with the bit that asks for an answer; nobody waits; the late answer is taken. */
static void rest_writes_tell_and_go_on(void **state)
{
	struct bench b;
	struct file_ack_call ack;
	bench_open(&b, 1, NULL);
	assert_int_equal(bench_create(&b, "f", FILE_KIND_FILE, 10), ERR_OK);
	struct file_open_call a = open_of(&b, "f", ACCESS_READ_DATA, SHARE_ALL);
	ask_lease(&a, 5, CACHE_RH);
	expect(&b, file_apply_open, &a, ERR_OK);
	assert_int_equal(bench_write(&b, "f", 0, "x", 1), ERR_OK);
	assert_int_equal(b.breaks.count, 1);
	assert_true(b.breaks.item[0].has_notice && b.breaks.item[0].notice.ack_required);
	assert_int_equal(b.breaks.item[0].notice.from, CACHE_RH);
	assert_int_equal(b.breaks.item[0].notice.to, 0);
	assert_int_equal(bench_write(&b, "f", 0, "y", 1), ERR_OK); /* still nobody waits, and nothing is told twice */
	assert_false(b.breaks.count && b.breaks.item[0].has_notice);
	assert_int_equal(acknowledge(&b, 5, 0, &ack), ERR_OK);
	bench_close(&b);
}

static void silence_ends_by_the_clock(void **state)
{
	struct bench b;
	bench_open(&b, 1, NULL);
	struct file_open_call a = open_of(&b, "f", ACCESS_READ_DATA | ACCESS_WRITE_DATA, SHARE_ALL);
	ask_lease(&a, 5, CACHE_RWH);
	expect(&b, file_apply_open, &a, ERR_OK);
	struct file_open_call second = open_of(&b, "f", ACCESS_READ_DATA, SHARE_ALL);
	expect(&b, file_apply_open, &second, ERR_BREAK_FIRST);
	struct file_break_call marked = mark(&b);
	clock_fake_advance(&b.clock, FILE_BREAK_SECONDS * TICKS_PER_SECOND);
	expect(&b, file_apply_open, &second, ERR_OK);
	assert_true(marked.breaks.deadline_ticks <= b.clock.fake_ticks);
	assert_int_equal(acknowledge(&b, 5, CACHE_RH, NULL), ERR_SMB_UNSUCCESSFUL);
	bench_close(&b);
}

/* Marked in the commit that asked: the holder can be told at once, and nothing else was done. */
static void breaks_are_marked_at_once(void **state)
{
	struct bench b;
	bench_open(&b, 1, NULL);
	struct file_open_call a = open_of(&b, "f", ACCESS_READ_DATA, SHARE_ALL);
	ask_lease(&a, 5, CACHE_RWH);
	expect(&b, file_apply_open, &a, ERR_OK);
	struct file_open_call second = open_of(&b, "f", ACCESS_READ_DATA, SHARE_ALL);
	b.breaks.mark_at_once = true;
	expect(&b, file_apply_open, &second, ERR_OK);
	assert_true(b.breaks.wait && b.breaks.item[0].has_notice);
	assert_true(b.breaks.deadline_ticks > b.clock.fake_ticks);
	assert_int_equal(close_it(&b, (struct file_handle){ a.open.inode_id, second.open_id }, FILE_CLOSE_CLIENT, NULL),
			 ERR_SMB_FILE_CLOSED);
	struct file_break_call marked = mark(&b);
	assert_true(marked.wait);
	assert_false(marked.breaks.item[0].has_notice); /* not told twice */
	assert_int_equal(acknowledge(&b, 5, CACHE_RH, NULL), ERR_OK);
	expect(&b, file_apply_open, &second, ERR_OK);
	assert_false(b.breaks.wait);
	expect_close(&b, handle_of(&second));
	bench_close(&b);
}

static void a_lease_is_shared_by_its_opens(void **state)
{
	struct bench b;
	bench_open(&b, 1, NULL);
	struct file_open_call a = open_of(&b, "f", ACCESS_READ_DATA, SHARE_ALL);
	struct file_open_call again = open_of(&b, "f", ACCESS_READ_DATA | ACCESS_WRITE_DATA, SHARE_ALL);
	struct file_open_call elsewhere = open_of(&b, "g", ACCESS_READ_DATA, SHARE_ALL);
	ask_lease(&a, 5, CACHE_READ);
	ask_lease(&again, 5, CACHE_RWH);
	ask_lease(&elsewhere, 5, CACHE_READ);
	expect(&b, file_apply_open, &a, ERR_OK);
	expect(&b, file_apply_open, &again, ERR_OK);
	assert_int_equal(again.open.oplock.state, CACHE_RWH); /* alone with itself */
	expect(&b, file_apply_open, &elsewhere, ERR_SMB_INVALID_PARAMETER);
	assert_int_equal(rest_get(&b, "g"), ERR_RESOURCE_NOT_FOUND); /* and nothing was made */
	/* The first one's close leaves the lease to the second. */
	expect_close(&b, handle_of(&a));
	assert_int_equal(rest_get(&b, "f"), ERR_BREAK_FIRST);
	expect_close(&b, handle_of(&again));
	assert_int_equal(rest_get(&b, "f"), ERR_OK);
	expect(&b, file_apply_open, &elsewhere, ERR_OK); /* the key is free */
	bench_close(&b);
}

static void a_rest_lease_stops_writers(void **state)
{
	struct bench b;
	bench_open(&b, 1, NULL);
	assert_int_equal(bench_create(&b, "f", FILE_KIND_FILE, 1), ERR_OK);
	struct file_open_call w = open_of(&b, "f", ACCESS_WRITE_DATA, SHARE_ALL);
	expect(&b, file_apply_open, &w, ERR_OK);
	struct file_modify_call lease = { .target = target_of(&b, "f", FILE_KIND_FILE) };
	lease.lease = (struct lease_request){ .action = LEASE_ACTION_ACQUIRE, .duration_s = LEASE_INFINITE };
	expect(&b, file_apply_lease, &lease, ERR_SHARING_VIOLATION);
	expect_close(&b, handle_of(&w));
	expect(&b, file_apply_lease, &lease, ERR_OK);
	for (unsigned a = 1; a < 8; a++) {
		uint32_t access =
			(a & 1 ? ACCESS_READ_DATA : 0) | (a & 2 ? ACCESS_WRITE_DATA : 0) | (a & 4 ? ACCESS_DELETE : 0);
		struct file_open_call c = open_of(&b, "f", access, SHARE_ALL);
		expect(&b, file_apply_open, &c, a == 1 ? ERR_OK : ERR_SHARING_VIOLATION);
	}
	bench_close(&b);
}

/* ---- byte ranges ---- */

static enum err lock(struct bench *b, struct file_handle h, uint64_t offset, uint64_t length, bool exclusive)
{
	struct file_lock_element e = { .offset = offset, .length = length, .exclusive = exclusive };
	struct file_lock_call c = { .handle = h, .element = &e, .count = 1 };
	return run(b, file_apply_lock, &c);
}

static size_t unlock(struct bench *b, struct file_handle h, uint64_t offset, uint64_t length, bool *ret_wake)
{
	struct file_lock_element e = { .offset = offset, .length = length, .unlock = true };
	struct file_unlock_call c = { .lock = { .handle = h, .element = &e, .count = 1 } };
	expect(b, file_apply_unlock, &c, ERR_OK);
	*ret_wake = c.lock.wake;
	return c.failed_at;
}

static void locked_bytes(void **state)
{
	struct bench b;
	bool wake;
	bench_open(&b, 1, NULL);
	assert_int_equal(bench_create(&b, "f", FILE_KIND_FILE, 100), ERR_OK);
	struct file_open_call one = open_of(&b, "f", ACCESS_READ_DATA | ACCESS_WRITE_DATA, SHARE_ALL);
	struct file_open_call two = open_of(&b, "f", ACCESS_READ_DATA | ACCESS_WRITE_DATA, SHARE_ALL);
	expect(&b, file_apply_open, &one, ERR_OK);
	expect(&b, file_apply_open, &two, ERR_OK);
	assert_int_equal(lock(&b, handle_of(&one), 10, 10, true), ERR_OK);
	assert_int_equal(lock(&b, handle_of(&two), 15, 10, false), ERR_SMB_LOCK_NOT_GRANTED);
	assert_int_equal(lock(&b, handle_of(&two), 20, 10, false), ERR_OK);
	assert_int_equal(lock(&b, handle_of(&two), UINT64_MAX, 2, true), ERR_SMB_INVALID_LOCK_RANGE);
	/* REST: no read below an exclusive lock; a write needs the whole file, so a lock anywhere stops it. */
	struct file_get_call get = { .target = target_of(&b, "f", FILE_KIND_FILE), .want_bytes = true };
	get.has_range = true;
	get.range_first = 19;
	get.range_last = 19;
	assert_int_equal(look(&b, file_apply_get, &get), ERR_FILE_LOCK_CONFLICT);
	get.range_first = get.range_last = 20;
	assert_int_equal(look(&b, file_apply_get, &get), ERR_OK);
	assert_int_equal(bench_write(&b, "f", 20, "x", 1), ERR_FILE_LOCK_CONFLICT);
	assert_int_equal(bench_write(&b, "f", 30, "x", 1), ERR_FILE_LOCK_CONFLICT);
	assert_int_equal(bench_write(&b, "f", 0, "0123456789", 10), ERR_FILE_LOCK_CONFLICT);
	/* The other handle. */
	struct file_open_read_call read = { .handle = handle_of(&two) };
	read.get.has_range = true;
	read.get.range_first = 5;
	read.get.range_last = 14;
	assert_int_equal(look(&b, file_apply_open_read, &read), ERR_FILE_LOCK_CONFLICT);
	read.handle = handle_of(&one);
	assert_int_equal(look(&b, file_apply_open_read, &read), ERR_OK);
	assert_int_equal(unlock(&b, handle_of(&one), 10, 9, &wake), 0);
	assert_false(wake);
	assert_int_equal(unlock(&b, handle_of(&one), 10, 10, &wake), 1);
	assert_true(wake);
	assert_int_equal(lock(&b, handle_of(&two), 15, 5, true), ERR_OK);
	/* Locks end with their open. */
	assert_int_equal(bench_write(&b, "f", 30, "x", 1), ERR_FILE_LOCK_CONFLICT);
	expect_close(&b, handle_of(&two));
	assert_int_equal(bench_write(&b, "f", 30, "x", 1), ERR_OK);
	assert_int_equal(lock(&b, handle_of(&one), 0, UINT64_MAX, true), ERR_OK);
	bench_close(&b);
}

static void several_locks_are_all_or_none(void **state)
{
	struct bench b;
	bench_open(&b, 1, NULL);
	struct file_open_call one = open_of(&b, "f", ACCESS_WRITE_DATA, SHARE_ALL);
	struct file_open_call two = open_of(&b, "f", ACCESS_WRITE_DATA, SHARE_ALL);
	expect(&b, file_apply_open, &one, ERR_OK);
	expect(&b, file_apply_open, &two, ERR_OK);
	assert_int_equal(lock(&b, handle_of(&two), 50, 1, true), ERR_OK);
	struct file_lock_element e[] = { { 0, 10, true, false }, { 45, 10, true, false } };
	struct file_lock_call c = { .handle = handle_of(&one), .element = e, .count = 2 };
	expect(&b, file_apply_lock, &c, ERR_SMB_LOCK_NOT_GRANTED);
	assert_int_equal(lock(&b, handle_of(&two), 0, 10, true), ERR_OK);
	struct file_lock_element own[] = { { 100, 10, true, false }, { 105, 1, true, false } };
	c.element = own;
	expect(&b, file_apply_lock, &c, ERR_SMB_LOCK_NOT_GRANTED);
	/* Unlocks before the one that fails stay done. */
	struct file_lock_element u[] = { { 0, 10, false, true }, { 1, 1, false, true }, { 50, 1, false, true } };
	struct file_unlock_call un = { .lock = { .handle = handle_of(&two), .element = u, .count = 3 } };
	expect(&b, file_apply_unlock, &un, ERR_OK);
	assert_int_equal(un.failed_at, 1);
	assert_int_equal(lock(&b, handle_of(&one), 0, 10, true), ERR_OK);
	assert_int_equal(lock(&b, handle_of(&one), 50, 1, true), ERR_SMB_LOCK_NOT_GRANTED);
	bench_close(&b);
}

/* ---- opens that outlive their connection ---- */

static struct file_open_call durable_of(struct bench *b, const char *path, enum open_life life, uint8_t key)
{
	struct file_open_call c = open_of(b, path, ACCESS_READ_DATA | ACCESS_WRITE_DATA | ACCESS_DELETE, SHARE_READ);
	ask_lease(&c, key, CACHE_RWH);
	c.life = life;
	c.durable_v2 = true;
	c.create_guid.bytes[3] = key;
	return c;
}

static struct file_reconnect_call reconnect_of(const struct file_open_call *c)
{
	struct file_reconnect_call r = { .open_id = c->open.open_id,
					 .v2 = true,
					 .persistent = c->open.life == OPEN_PERSISTENT,
					 .create_guid = c->create_guid,
					 .oplock = c->oplock,
					 .opener = c->opener };
	r.opener.session_id = 99;
	return r;
}

static void a_durable_open_comes_back(void **state)
{
	struct bench b;
	struct file_close_call closed;
	bench_open(&b, 1, NULL);
	struct file_open_call a = durable_of(&b, "f", OPEN_DURABLE, 5);
	expect(&b, file_apply_open, &a, ERR_OK);
	assert_int_equal(a.open.life, OPEN_DURABLE);
	assert_int_equal(a.open.timeout_ms, FILE_DURABLE_DEFAULT_SECONDS * 1000);
	assert_int_equal(lock(&b, handle_of(&a), 0, 5, true), ERR_OK);
	struct file_reconnect_call r = reconnect_of(&a);
	expect(&b, file_apply_reconnect, &r, ERR_RESOURCE_NOT_FOUND); /* it has its client */
	assert_int_equal(close_it(&b, handle_of(&a), FILE_CLOSE_DISCONNECT, &closed), ERR_OK);
	assert_true(closed.kept);
	r.opener.user = SLICE("other");
	expect(&b, file_apply_reconnect, &r, ERR_SMB_ACCESS_DENIED);
	r.opener.user = SLICE("acc");
	r.create_guid.bytes[0] = 77;
	expect(&b, file_apply_reconnect, &r, ERR_RESOURCE_NOT_FOUND);
	r.create_guid.bytes[0] = 0;
	expect(&b, file_apply_reconnect, &r, ERR_OK);
	assert_int_equal(r.open.oplock.state, CACHE_RWH);
	assert_int_equal(r.open.range_count, 1);
	assert_int_equal(r.open.opener.session_id, 99);
	assert_true(r.open.reconnected_ticks > 0);
	bench_close(&b);
}

/* Without its client it gives way to whoever needs what it blocks, and to the clock. */
static void a_disconnected_durable_open_gives_way(void **state)
{
	struct bench b;
	bench_open(&b, 1, NULL);
	for (int how = 0; how < 3; how++) {
		struct file_open_call a = durable_of(&b, "f", OPEN_DURABLE, 5);
		expect(&b, file_apply_open, &a, ERR_OK);
		assert_int_equal(close_it(&b, handle_of(&a), FILE_CLOSE_DISCONNECT, NULL), ERR_OK);
		struct file_open_call other = open_of(&b, "f", ACCESS_WRITE_DATA, SHARE_ALL);
		bool more;
		if (how == 0) {
			expect(&b, file_apply_open, &other, ERR_BREAK_FIRST);
			struct file_break_call marked = mark(&b);
			assert_true(marked.wake && !marked.wait);
			expect(&b, file_apply_open, &other, ERR_OK);
			expect_close(&b, handle_of(&other));
		} else if (how == 1) {
			assert_int_equal(rest_delete(&b, "f"), ERR_BREAK_FIRST);
			mark(&b);
			assert_int_equal(rest_delete(&b, "f"), ERR_OK);
		} else {
			clock_fake_advance(&b.clock, FILE_DURABLE_DEFAULT_SECONDS * TICKS_PER_SECOND);
			struct file_reconnect_call late = reconnect_of(&a);
			expect(&b, file_apply_reconnect, &late, ERR_RESOURCE_NOT_FOUND);
			assert_int_equal(file_opens_round(b.store, b.partition, &more), ERR_OK);
			assert_int_equal(rest_get(&b, "f"), ERR_OK);
		}
		struct file_reconnect_call r = reconnect_of(&a);
		expect(&b, file_apply_reconnect, &r, ERR_RESOURCE_NOT_FOUND);
	}
	bench_close(&b);
}

/* A persistent open denies across a restart, before anybody else is served, and comes back with its locks. */
static void a_persistent_open_survives_a_restart(void **state)
{
	struct bench b;
	bench_open(&b, 1, NULL);
	struct file_open_call a = durable_of(&b, "f", OPEN_PERSISTENT, 5);
	expect(&b, file_apply_open, &a, ERR_OK);
	assert_int_equal(a.open.life, OPEN_PERSISTENT);
	assert_int_equal(lock(&b, handle_of(&a), 3, 4, true), ERR_OK);
	struct file_disposition_call pending = { .handle = handle_of(&a), .delete_it = true };
	expect(&b, file_apply_disposition, &pending, ERR_OK);
	struct file_open_call plain = open_of(&b, "g", ACCESS_READ_DATA, 0);
	expect(&b, file_apply_open, &plain, ERR_OK);
	/* Persistent with an oplock instead of a lease. */
	struct file_open_call batch = durable_of(&b, "h", OPEN_PERSISTENT, 6);
	batch.oplock = (struct oplock_request){ .kind = OPLOCK_PLAIN, .state = CACHE_RWH };
	expect(&b, file_apply_open, &batch, ERR_OK);
	assert_int_equal(batch.open.life, OPEN_PERSISTENT);

	struct engine *again = engine_mem_crash(b.engine);
	store_close(b.store);
	struct store_options so = { .clock = &b.clock };
	assert_int_equal(store_open(again, &so, &b.store), ERR_OK);
	b.engine = again;
	assert_int_equal(file_opens_load(b.store, b.partition), ERR_OK);

	assert_int_equal(rest_get(&b, "g"), ERR_OK); /* that one ended with the server */
	assert_int_equal(rest_get(&b, "f"), ERR_SMB_DELETE_PENDING);
	struct file_reconnect_call r = reconnect_of(&a);
	expect(&b, file_apply_reconnect, &r, ERR_OK);
	assert_int_equal(r.open.oplock.state, CACHE_RWH);
	assert_int_equal(r.open.range_count, 1);
	assert_int_equal(r.open.range[0].offset, 3);
	pending.delete_it = false;
	expect(&b, file_apply_disposition, &pending, ERR_OK);
	struct file_open_call other = open_of(&b, "f", ACCESS_WRITE_DATA, SHARE_ALL);
	expect(&b, file_apply_open, &other, ERR_BREAK_FIRST);
	expect_close(&b, handle_of(&a));
	assert_int_equal(bench_create(&b, "h", FILE_KIND_FILE, 1), ERR_SHARING_VIOLATION);
	struct file_reconnect_call back = reconnect_of(&batch);
	back.oplock = (struct oplock_request){ 0 };
	expect(&b, file_apply_reconnect, &back, ERR_OK);
	assert_int_equal(back.open.oplock.state, CACHE_RWH);
	expect_close(&b, handle_of(&batch));
	assert_int_equal(rows_of(&b, 'o'), 0); /* nothing durable is left of it */
	expect(&b, file_apply_open, &other, ERR_OK);
	bench_close(&b);
}

static void a_repeated_create(void **state)
{
	struct bench b;
	bench_open(&b, 1, NULL);
	struct file_open_call a = durable_of(&b, "f", OPEN_DURABLE, 5);
	expect(&b, file_apply_open, &a, ERR_OK);
	struct file_open_call again = durable_of(&b, "f", OPEN_DURABLE, 5);
	expect(&b, file_apply_open, &again, ERR_SMB_DUPLICATE_OBJECT_ID);
	again.replay = true;
	expect(&b, file_apply_open, &again, ERR_OK);
	assert_true(again.replayed);
	assert_int_equal(again.action, FILE_WAS_CREATED); /* as the first answer said */
	assert_int_equal(again.open.open_id, a.open.open_id);
	/* Once the first one was used the same request makes another open, and the guid means that one. */
	struct file_open_call other = durable_of(&b, "f", OPEN_DURABLE, 5);
	other.share = a.share = SHARE_ALL;
	other.replay = other.guid_is_used = true;
	expect(&b, file_apply_open, &other, ERR_SHARING_VIOLATION); /* the first one shares reading only */
	other.access = ACCESS_READ_DATA;
	other.share = SHARE_ALL;
	expect(&b, file_apply_open, &other, ERR_OK);
	assert_false(other.replayed);
	expect_close(&b, handle_of(&a));
	other.guid_is_used = false;
	struct file_open_call late = other;
	expect(&b, file_apply_open, &late, ERR_OK);
	assert_true(late.replayed);
	assert_int_equal(late.open.open_id, other.open.open_id);
	bench_close(&b);
}

/* ---- handles ---- */

static void handles_are_listed_and_closed(void **state)
{
	struct bench b;
	bench_open(&b, 1, NULL);
	assert_int_equal(bench_create(&b, "d", FILE_KIND_DIRECTORY, 0), ERR_OK);
	for (int i = 0; i < 5; i++) {
		struct file_open_call c = open_of(&b, i % 2 ? "d/x" : "top", ACCESS_READ_DATA, SHARE_ALL);
		expect(&b, file_apply_open, &c, ERR_OK);
	}
	struct file_handles_call list = { .target = target_of(&b, "", FILE_KIND_ANY), .recursive = true, .limit = 2 };
	size_t seen = 0, pages = 0;
	do {
		assert_int_equal(look(&b, file_apply_list_handles, &list), ERR_OK);
		seen += list.count;
		pages++;
		for (size_t i = 0; i < list.count; i++)
			assert_true(slice_eq(list.handle[i].path, SLICE("top")) ||
				    slice_eq(list.handle[i].path, SLICE("d/x")));
		list.after = list.next;
		list.after_open = list.next_open;
	} while (list.more);
	assert_int_equal(seen, 5);
	assert_int_equal(pages, 3);
	struct file_handles_call one = { .target = target_of(&b, "d/x", FILE_KIND_ANY), .limit = 10 };
	assert_int_equal(look(&b, file_apply_list_handles, &one), ERR_OK);
	assert_int_equal(one.count, 2);
	struct file_handles_call close = { .target = target_of(&b, "d/x", FILE_KIND_ANY) };
	close.close_one = one.handle[0].open.open_id;
	expect(&b, file_apply_force_close, &close, ERR_OK);
	assert_int_equal(close.count, 1);
	assert_int_equal(close.closed[0].open_id, one.handle[0].open.open_id);
	close.close_one = 0;
	expect(&b, file_apply_force_close, &close, ERR_OK);
	assert_int_equal(close.count, 1);
	assert_int_equal(rest_delete(&b, "d/x"), ERR_OK);
	bench_close(&b);
}

/* A transaction that reads every open of a share would keep all others waiting. */
static void closing_reads_little_at_a_time(void **state)
{
	enum { OPENS = 5000, OPENS_PER_FILE = 50 };
	struct bench b;
	bench_open(&b, 1, NULL);
	assert_int_equal(bench_create(&b, "d", FILE_KIND_DIRECTORY, 0), ERR_OK);
	assert_int_equal(bench_create(&b, "none", FILE_KIND_DIRECTORY, 0), ERR_OK);
	struct file_open_call last = { 0 };
	for (int i = 0; i < OPENS; i++) {
		char name[32];
		arena_reset(&b.arena);
		snprintf(name, sizeof name, "d/x%03d", i / OPENS_PER_FILE);
		last = open_of(&b, name, ACCESS_READ_DATA, SHARE_ALL);
		expect(&b, file_apply_open, &last, ERR_OK);
	}
	struct file_handles_call close = { .target = target_of(&b, "none", FILE_KIND_ANY),
					   .recursive = true,
					   .close = true };
	size_t rounds = 0;
	do {
		expect(&b, file_apply_force_close, &close, ERR_OK);
		assert_int_equal(close.count, 0);
		close.after = close.next;
		close.after_open = close.next_open;
		rounds++;
	} while (close.more);
	assert_int_equal(rounds, 3);
	/* One by its number is found at once, whatever is before it. */
	struct file_handles_call one = { .target = target_of(&b, "d/x099", FILE_KIND_ANY),
					 .close_one = last.open.open_id };
	expect(&b, file_apply_force_close, &one, ERR_OK);
	assert_int_equal(one.count, 1);
	assert_false(one.more);
	expect(&b, file_apply_force_close, &one, ERR_OK);
	assert_int_equal(one.count, 0);
	assert_false(one.more);
	arena_reset(&b.arena);
	struct file_handles_call all = { .target = target_of(&b, "d", FILE_KIND_ANY),
					 .recursive = true,
					 .close = true };
	size_t closed = 0;
	do {
		expect(&b, file_apply_force_close, &all, ERR_OK);
		closed += all.count;
		arena_reset(&b.arena);
		all.target = target_of(&b, "d", FILE_KIND_ANY);
		all.after = all.next;
		all.after_open = all.next_open;
	} while (all.more);
	assert_int_equal(closed, OPENS - 1);
	bench_close(&b);
}

static void renames(void **state)
{
	struct bench b;
	bench_open(&b, 1, NULL);
	assert_int_equal(bench_create(&b, "d", FILE_KIND_DIRECTORY, 0), ERR_OK);
	struct file_open_call in = open_of(&b, "d/x", ACCESS_READ_DATA | ACCESS_DELETE, SHARE_ALL);
	expect(&b, file_apply_open, &in, ERR_OK);
	struct file_open_call dir = open_of(&b, "d", ACCESS_DELETE, SHARE_ALL);
	dir.want_file = false;
	expect(&b, file_apply_open, &dir, ERR_OK);
	struct file_open_rename_call r = { .handle = handle_of(&dir) };
	r.rename.target = target_of(&b, "e", FILE_KIND_ANY);
	expect(&b, file_apply_open_rename, &r, ERR_SMB_ACCESS_DENIED); /* something below it is open */
	/* The file itself may move; its handle follows it. */
	r.handle = handle_of(&in);
	r.rename.target = target_of(&b, "y", FILE_KIND_ANY);
	expect(&b, file_apply_open_rename, &r, ERR_OK);
	assert_int_equal(r.rename.inode.id, in.open.inode_id);
	struct file_open_read_call read = { .handle = handle_of(&in) };
	assert_int_equal(look(&b, file_apply_open_read, &read), ERR_OK);
	r.handle = handle_of(&dir);
	r.rename.target = target_of(&b, "e", FILE_KIND_ANY);
	expect(&b, file_apply_open_rename, &r, ERR_OK);
	/* Onto a file that somebody has open. */
	assert_int_equal(bench_create(&b, "z", FILE_KIND_FILE, 0), ERR_OK);
	struct file_open_call z = open_of(&b, "z", ACCESS_DELETE, SHARE_ALL);
	expect(&b, file_apply_open, &z, ERR_OK);
	r.handle = handle_of(&z);
	r.rename.target = target_of(&b, "y", FILE_KIND_ANY);
	expect(&b, file_apply_open_rename, &r, ERR_RESOURCE_ALREADY_EXISTS);
	r.rename.replace = true;
	expect(&b, file_apply_open_rename, &r, ERR_SMB_ACCESS_DENIED);
	bench_close(&b);
}

/* The directory that gets the new name must not be open so that it could vanish, or so that it must not. */
static void renames_look_at_the_new_directory(void **state)
{
	static const struct {
		uint32_t access, share;
		enum err wanted;
		const char *name;
	} parent[] = { { ACCESS_READ_DATA, SHARE_ALL, ERR_OK, "d/x" },
		       { ACCESS_READ_DATA | ACCESS_DELETE, SHARE_ALL, ERR_SHARING_VIOLATION, "d/y" },
		       { ACCESS_READ_DATA, SHARE_READ | SHARE_WRITE, ERR_OK, "d/z" },
		       { ACCESS_READ_DATA, SHARE_READ, ERR_SHARING_VIOLATION, "d/y" },
		       { ACCESS_READ_DATA, 0, ERR_SHARING_VIOLATION, "d/y" } };
	struct bench b;
	bench_open(&b, 1, NULL);
	assert_int_equal(bench_create(&b, "d", FILE_KIND_DIRECTORY, 0), ERR_OK);
	for (int i = 0; i < 5; i++) {
		struct file_open_call dir = open_of(&b, "d", parent[i].access, parent[i].share);
		dir.want_file = false;
		expect(&b, file_apply_open, &dir, ERR_OK);
		struct file_open_call f = open_of(&b, "f", ACCESS_DELETE, SHARE_ALL);
		expect(&b, file_apply_open, &f, ERR_OK);
		struct file_open_rename_call r = { .handle = handle_of(&f) };
		r.rename.target = target_of(&b, parent[i].name, FILE_KIND_ANY);
		expect(&b, file_apply_open_rename, &r, parent[i].wanted);
		expect_close(&b, handle_of(&f));
		expect_close(&b, handle_of(&dir));
	}
	bench_close(&b);
}

/* Growing the allocation changes no byte, but tells those who cached; shrinking it below the size cuts. */
static void allocation(void **state)
{
	struct bench b;
	bench_open(&b, 1, NULL);
	assert_int_equal(bench_create(&b, "f", FILE_KIND_FILE, 100), ERR_OK);
	struct file_open_call reader = open_of(&b, "f", ACCESS_READ_DATA, SHARE_ALL);
	ask_lease(&reader, 5, CACHE_READ);
	expect(&b, file_apply_open, &reader, ERR_OK);
	struct file_open_call writer = open_of(&b, "f", ACCESS_WRITE_DATA, SHARE_ALL);
	expect(&b, file_apply_open, &writer, ERR_OK);
	struct file_open_set_call set = { .handle = handle_of(&writer), .access = ACCESS_WRITE_DATA };
	set.set_allocation = true;
	set.allocation_bytes = 1 << 20;
	expect(&b, file_apply_open_set, &set, ERR_OK);
	assert_int_equal(set.modify.inode.size_bytes, 100);
	assert_int_equal(set.breaks.count, 1);
	set.allocation_bytes = 10;
	expect(&b, file_apply_open_set, &set, ERR_OK);
	assert_int_equal(set.modify.inode.size_bytes, 10);
	bench_close(&b);
}

/* ---- racing clients ---- */

enum { RACERS = 4, RACE_WINS = 60 };

struct racer {
	struct bench *b;
	pthread_t thread;
	struct rng rng;
	unsigned number, wins;
	atomic_int *inside;
};

/* Opens with share none: whoever is in is alone. */
static void *race(void *arg)
{
	struct racer *r = arg;
	struct arena arena;
	struct file_breaks breaks = { 0 };
	arena_init(&arena, LIMIT_REQUEST_ARENA_BYTES);
	for (unsigned i = 0; r->wins < RACE_WINS; i++) {
		arena_reset(&arena);
		struct slice name = SLICE("f");
		struct file_open_call c = { .target = { .breaks = &breaks, .place.path = { &name, 1 } },
					    .open_id = 1 + (uint64_t)r->number * 1000000 + i,
					    .access = ACCESS_READ_DATA,
					    .disposition = FILE_OPEN_IF,
					    .want_file = true };
		c.opener.user = c.opener.client_ip = SLICE("x");
		enum err err = store_write_wait(r->b->store, r->b->partition, file_apply_open, &c, &arena);
		if (err == ERR_SHARING_VIOLATION)
			continue;
		assert_int_equal(err, ERR_OK);
		assert_int_equal(atomic_fetch_add(r->inside, 1), 0);
		r->wins++;
		if (rng_below(&r->rng, 2))
			sched_yield();
		atomic_fetch_sub(r->inside, 1);
		struct file_close_call close = { .handle = handle_of(&c) };
		assert_int_equal(store_write_wait(r->b->store, r->b->partition, file_apply_close, &close, &arena),
				 ERR_OK);
	}
	arena_fini(&arena);
	return NULL;
}

static void exclusive_opens_exclude(void **state)
{
	struct bench b;
	struct racer racer[RACERS];
	atomic_int inside = 0;
	/* Commits that lose now and then: applies run again. */
	bench_open(&b, 1, &(struct mem_options){ .seed = 3, .conflict_permille = 50 });
	for (unsigned i = 0; i < RACERS; i++) {
		racer[i] = (struct racer){ .b = &b, .number = i, .inside = &inside };
		rng_init_seed(&racer[i].rng, i);
		pthread_create(&racer[i].thread, NULL, race, &racer[i]);
	}
	for (unsigned i = 0; i < RACERS; i++)
		pthread_join(racer[i].thread, NULL);
	bench_close(&b);
}

/* ---- bytes ---- */

static void rows_come_back_as_they_were(void **state)
{
	struct arena arena;
	struct buf buf;
	struct byte_range ranges[] = { { 1, 2, true }, { UINT64_MAX, 1, false } };
	struct file_open o = { .inode_id = 7,
			       .open_id = 9,
			       .access = 0x12019F,
			       .share = 5,
			       .options = 0x1000,
			       .delete_on_close = true,
			       .life = OPEN_PERSISTENT,
			       .durable_v2 = true,
			       .timeout_ms = 60000,
			       .connected = true,
			       .opener = { .session_id = 11, .user = SLICE("acc"), .client_ip = SLICE("1.2.3.4:5") },
			       .opened_ticks = 12,
			       .reconnected_ticks = 13,
			       .oplock = { .kind = OPLOCK_LEASE, .version = 2, .epoch = 3, .state = CACHE_RH },
			       .range = ranges,
			       .range_count = 2,
			       .position = 14,
			       .keep_changed = true };
	struct file_open back;
	arena_init(&arena, MIB);
	buf_init(&buf, 64 * KIB);
	open_row_encode(&buf, &o);
	/* The golden sample: bytes on disk do not change without a new version. */
	assert_int_equal(buf.len, 291);
	assert_int_equal(crc32c(0, buf_slice(&buf)), 0x5aecaeb2);
	assert_int_equal(open_row_decode(buf_slice(&buf), &arena, &back), ERR_OK);
	assert_int_equal(back.open_id, 9);
	assert_int_equal(back.access, o.access);
	assert_int_equal(back.life, OPEN_PERSISTENT);
	assert_true(back.delete_on_close && back.durable_v2 && back.connected && back.keep_changed);
	assert_false(back.keep_written || back.is_directory || back.has_snapshot);
	assert_true(slice_eq(back.opener.client_ip, o.opener.client_ip));
	assert_int_equal(back.oplock.state, CACHE_RH);
	assert_int_equal(back.range_count, 2);
	assert_int_equal(back.range[1].offset, UINT64_MAX);
	for (size_t len = 0; len < buf.len; len++)
		assert_int_equal(open_row_decode(slice_make(buf.ptr, len), &arena, &back), ERR_CORRUPT);
	buf_fini(&buf);
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_open_denies_until_it_is_closed),
		cmocka_unit_test(dispositions),
		cmocka_unit_test(delete_on_close),
		cmocka_unit_test(dispositions_are_refused),
		cmocka_unit_test(rest_waits_for_an_acknowledgement),
		cmocka_unit_test(rest_writes_tell_and_go_on),
		cmocka_unit_test(silence_ends_by_the_clock),
		cmocka_unit_test(breaks_are_marked_at_once),
		cmocka_unit_test(a_lease_is_shared_by_its_opens),
		cmocka_unit_test(a_rest_lease_stops_writers),
		cmocka_unit_test(locked_bytes),
		cmocka_unit_test(several_locks_are_all_or_none),
		cmocka_unit_test(a_durable_open_comes_back),
		cmocka_unit_test(a_disconnected_durable_open_gives_way),
		cmocka_unit_test(a_persistent_open_survives_a_restart),
		cmocka_unit_test(a_repeated_create),
		cmocka_unit_test(handles_are_listed_and_closed),
		cmocka_unit_test(closing_reads_little_at_a_time),
		cmocka_unit_test(renames),
		cmocka_unit_test(renames_look_at_the_new_directory),
		cmocka_unit_test(allocation),
		cmocka_unit_test(exclusive_opens_exclude),
		cmocka_unit_test(rows_come_back_as_they_were),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

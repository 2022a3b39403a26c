/* SPDX-License-Identifier: Apache-2.0
 * REST requests beside opens of SMB clients, through a real server on the in-memory engine: the opens are made by the
 * applies that the SMB door uses, the notices go to a loop of the test's own, the requests over sockets. Every code
 * that such a request may get, and a request that waits for a break: acknowledged, not acknowledged, closed
 * meanwhile. */
#include "harness.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/hash.h"
#include "io/loop.h"
#include "svc/account/resource.h"
#include "svc/file/open.h"
#include "wait/holder.h"
#include "wait/wait.h"

#define SHARE_READ   1u
#define SHARE_WRITE  2u
#define SHARE_DELETE 4u
#define SHARE_EVERY  7u

/* The SMB side: a thread with a loop, and what it does when it is told to give up what it caches. */
enum reaction { REACT_ACKNOWLEDGE, REACT_CLOSE, REACT_NOT };
static struct {
	struct io_loop *loop;
	pthread_t thread;
	struct wait_list *waits;
	struct holder_list *holders;
	struct slice partition;
	struct arena arena;
	enum reaction reaction;
	struct file_handle handle;
	atomic_int breaks, closed;
	atomic_uint to;
} S;

static void *smb_run(void *arg)
{
	(void)arg;
	io_loop_run(S.loop, NULL, NULL);
	return NULL;
}

static void wake(uint64_t inode)
{
	struct wait_key key = { base_hash_bytes(0, S.partition), inode };
	wait_wake(S.waits, &key);
}

/* On the SMB side's loop. */
static void told(void *owner, const struct holder_notice *n)
{
	struct arena arena;
	(void)owner;
	if (n->what == NOTICE_CLOSED) {
		atomic_fetch_add(&S.closed, 1);
		return;
	}
	atomic_store(&S.to, n->to);
	atomic_fetch_add(&S.breaks, 1);
	arena_init(&arena, 1 << 20);
	if (S.reaction == REACT_ACKNOWLEDGE && n->ack_required) {
		struct file_ack_call ack = { .handle = S.handle, .state = n->to };
		assert_int_equal(store_write_wait(H.store, S.partition, file_apply_acknowledge, &ack, &arena), ERR_OK);
		if (ack.wake)
			wake(S.handle.inode_id);
	} else if (S.reaction == REACT_CLOSE) {
		struct file_close_call close = { .handle = S.handle, .how = FILE_CLOSE_CLIENT };
		assert_int_equal(store_write_wait(H.store, S.partition, file_apply_close, &close, &arena), ERR_OK);
		if (close.wake)
			wake(S.handle.inode_id);
	}
	arena_fini(&arena);
}

static struct slice path_of(const char *name)
{
	return slice_str(name);
}

static struct file_open_call open_call(const char *name, uint32_t access, uint32_t share, uint8_t oplock)
{
	static uint64_t next = 1000;
	static struct file_breaks breaks;
	struct file_open_call c = {
		.open_id = next++, .access = access, .share = share, .disposition = FILE_OPEN, .want_file = true
	};
	struct file_path_rules rules = { .keep_dots = false };
	assert_int_equal(file_path_split(&S.arena, path_of(name), rules, &c.target.place.path), ERR_OK);
	c.target.breaks = &breaks;
	c.opener.user = SLICE(TEST_ACCOUNT);
	c.opener.client_ip = SLICE("127.0.0.1:5");
	c.opener.session_id = 77;
	if (oplock)
		c.oplock = (struct oplock_request){ .kind = OPLOCK_PLAIN, .state = oplock };
	return c;
}

static void smb_open(const char *name, uint32_t access, uint32_t share, uint8_t oplock)
{
	struct file_open_call c = open_call(name, access, share, oplock);
	enum err e = store_write_wait(H.store, S.partition, file_apply_open, &c, &S.arena);
	if (e != ERR_OK)
		fail_msg("open: %s", err_name(e));
	S.handle = (struct file_handle){ c.open.inode_id, c.open.open_id };
	atomic_store(&S.breaks, 0);
	atomic_store(&S.closed, 0);
	assert_int_equal(holder_add(S.holders, S.handle.open_id, S.loop, told, NULL), ERR_OK);
}

static void smb_close(void)
{
	struct file_close_call c = { .handle = S.handle, .how = FILE_CLOSE_CLIENT };
	enum err e = store_write_wait(H.store, S.partition, file_apply_close, &c, &S.arena);
	assert_true(e == ERR_OK || e == ERR_SMB_FILE_CLOSED);
	holder_remove(S.holders, S.handle.open_id);
}

/* ---- the server ---- */

static void file_sas(void)
{
	char text[256], sig[64];
	unsigned char mac[HASH_SHA256_BYTES];
	struct hash_hmac_key key;
	struct buf b;
	size_t len = 0;
	int n = snprintf(text, sizeof text,
			 TEST_ACCOUNT "\nrwdlac\nf\nsco\n\n2099-01-01T00:00:00Z\n\n\n2021-06-08\n\n");
	hash_hmac_key_init(&key, H.account.key[0]);
	hash_hmac(&key, slice_make(text, (size_t)n), mac);
	buf_init(&b, 128);
	base64_encode(&b, slice_make(mac, sizeof mac));
	for (size_t i = 0; i < b.len; i++)
		len += (size_t)snprintf(sig + len, sizeof sig - len, strchr("+/=", b.ptr[i]) ? "%%%02X" : "%c",
					b.ptr[i]);
	buf_fini(&b);
	snprintf(H.sas, sizeof H.sas, "sv=2021-06-08&ss=f&srt=sco&sp=rwdlac&se=2099-01-01T00:00:00Z&sig=%s", sig);
}

static int F = -1; /* the client's connection */

static int ask(const char *method, const char *path, const char *query, const char *headers, struct answer *a)
{
	client_sendf(F, "%s /" TEST_ACCOUNT "%s?%s%s%s HTTP/1.1\r\nHost: x\r\nx-ms-version: 2023-11-03\r\n%s\r\n",
		     method, path, query, *query ? "&" : "", H.sas, headers);
	client_receive(F, strcmp(method, "HEAD") == 0, a);
	return a->status;
}

static void expect(const char *method, const char *path, const char *query, const char *headers, int status,
		   const char *code)
{
	struct answer a = { 0 };
	ask(method, path, query, headers, &a);
	const char *got = answer_header(&a, "x-ms-error-code");
	if (a.status != status || (code && (!got || strcmp(got, code) != 0)))
		fail_msg("%s %s?%s: %d %s wanted, got %d %s", method, path, query, status, code ? code : "", a.status,
			 got ? got : "");
	free(a.body);
}

#define EMPTY  "Content-Length: 0\r\n"
#define CREATE "x-ms-type: file\r\nx-ms-content-length: 4\r\n" EMPTY
#define CLEAR  "x-ms-write: clear\r\nx-ms-range: bytes=0-3\r\n" EMPTY

static void start_with(bool short_code)
{
	struct store_options options = { .clock = &H.clock };
	struct buf message;
	struct resource share;
	clock_init_wall(&H.clock, NULL);
	buf_init(&message, 4096);
	arena_init(&S.arena, 1 << 20);
	assert_int_equal(engine_mem_open(NULL, &H.engine), ERR_OK);
	assert_int_equal(store_open(H.engine, &options, &H.store), ERR_OK);
	assert_int_equal(wait_list_new(&S.waits), ERR_OK);
	assert_int_equal(holder_list_new(&S.holders), ERR_OK);
	assert_int_equal(io_loop_new(&S.loop), ERR_OK);
	assert_int_equal(pthread_create(&S.thread, NULL, smb_run, NULL), 0);
	H.account = (struct auth_account){ .name = SLICE(TEST_ACCOUNT),
					   .key = { SLICE("0123456789abcdef0123456789abcdef"), SLICE_NONE } };
	struct rest_listener listener = { .service = SERVICE_FILE };
	struct rest_config config = { .store = H.store,
				      .services = rest_services,
				      .listeners = &listener,
				      .listener_count = 1,
				      .accounts = &H.account,
				      .account_count = 1,
				      .loops = 2,
				      .workers = 2,
				      .waits = S.waits,
				      .holders = S.holders,
				      .delete_pending_short = short_code };
	if (rest_server_start(&config, &H.server, &message) != ERR_OK)
		fail_msg("%.*s", (int)message.len, message.ptr);
	buf_fini(&message);
	file_sas();
	F = client_connect_to(rest_server_port(H.server, 0));
	expect("PUT", "/share", "restype=share", EMPTY, 201, NULL);
	expect("PUT", "/share/f", "", CREATE, 201, NULL);
	assert_int_equal(resource_find(H.store, H.account.name, RESOURCE_SHARE, SLICE("share"), &S.arena, &share),
			 ERR_OK);
	S.partition = resource_generation_partition(&S.arena, H.account.name, RESOURCE_SHARE, share.generation);
}

static int start(void **state)
{
	(void)state;
	start_with(false);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	close(F);
	rest_server_stop(H.server);
	io_loop_stop(S.loop);
	pthread_join(S.thread, NULL);
	io_loop_free(S.loop);
	holder_list_free(S.holders);
	wait_list_free(S.waits);
	store_close(H.store);
	arena_fini(&S.arena);
	return 0;
}

/* ---- tests ---- */

/* The document on managing file locks: which operations fail beside an open of each share mode. */
static void test_share_modes(void **state)
{
	static const struct {
		uint32_t share;
		const char *refused; /* of: g get, p put range, m metadata, r list ranges, d delete */
	} rows[] = {
		{ 0, "gpmrd" },
		{ SHARE_READ, "pmd" },
		{ SHARE_WRITE, "grd" },
		{ SHARE_DELETE, "gpmrd" },
		{ SHARE_READ | SHARE_WRITE, "d" },
		{ SHARE_READ | SHARE_DELETE, "pmd" },
		{ SHARE_WRITE | SHARE_DELETE, "grd" },
		{ SHARE_EVERY, "d" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		smb_open("f", ACCESS_READ_DATA, rows[i].share, 0);
#define CELL(letter, ok, ...)                                                                                          \
	expect(__VA_ARGS__, strchr(rows[i].refused, letter) ? 409 : ok,                                                \
	       strchr(rows[i].refused, letter) ? "SharingViolation" : NULL)
		CELL('g', 200, "GET", "/share/f", "", "");
		CELL('p', 201, "PUT", "/share/f", "comp=range", CLEAR);
		CELL('m', 200, "PUT", "/share/f", "comp=metadata", EMPTY);
		CELL('r', 200, "GET", "/share/f", "comp=rangelist", "");
		expect("HEAD", "/share/f", "", "", 200, NULL);
		struct answer a = { 0 };
		ask("DELETE", "/share/f", "", "", &a);
		assert_int_equal(a.status,
				 409); /* whatever is shared: SharingViolation or CannotDeleteFileOrDirectory */
		free(a.body);
		smb_close();
	}
	expect("GET", "/share/f", "", "", 200, NULL);
}

static void test_pending_delete(void **state)
{
	(void)state;
	smb_open("f", ACCESS_READ_DATA | ACCESS_DELETE, SHARE_EVERY, 0);
	struct file_disposition_call d = { .handle = S.handle, .delete_it = true };
	assert_int_equal(store_write_wait(H.store, S.partition, file_apply_disposition, &d, &S.arena), ERR_OK);
	expect("GET", "/share/f", "", "", 409, "SMBDeletePending");
	expect("PUT", "/share/f", "comp=range", CLEAR, 409, "SMBDeletePending");
	expect("DELETE", "/share/f", "", "", 409, "SMBDeletePending");
	struct answer a = { 0 };
	assert_int_equal(ask("GET", "/share", "restype=directory&comp=list", "", &a), 200);
	assert_null(strstr(a.body, "<Name>f</Name>"));
	free(a.body);
	/* The client changes its mind: it was never gone. */
	d = (struct file_disposition_call){ .handle = S.handle, .delete_it = false };
	assert_int_equal(store_write_wait(H.store, S.partition, file_apply_disposition, &d, &S.arena), ERR_OK);
	expect("GET", "/share/f", "", "", 200, NULL);
	d = (struct file_disposition_call){ .handle = S.handle, .delete_it = true };
	assert_int_equal(store_write_wait(H.store, S.partition, file_apply_disposition, &d, &S.arena), ERR_OK);
	smb_close();
	expect("GET", "/share/f", "", "", 404, "ResourceNotFound");
}

static int start_short(void **state)
{
	(void)state;
	start_with(true);
	return 0;
}

static void test_pending_delete_short(void **state)
{
	(void)state;
	smb_open("f", ACCESS_READ_DATA | ACCESS_DELETE, SHARE_EVERY, 0);
	struct file_disposition_call d = { .handle = S.handle, .delete_it = true };
	assert_int_equal(store_write_wait(H.store, S.partition, file_apply_disposition, &d, &S.arena), ERR_OK);
	expect("GET", "/share/f", "", "", 409, "DeletePending");
	smb_close();
}

static void test_byte_range(void **state)
{
	(void)state;
	smb_open("f", ACCESS_READ_DATA | ACCESS_WRITE_DATA, SHARE_EVERY, 0);
	struct file_lock_element one = { .offset = 1, .length = 2, .exclusive = true };
	struct file_lock_call lock = { .handle = S.handle, .element = &one, .count = 1 };
	assert_int_equal(store_write_wait(H.store, S.partition, file_apply_lock, &lock, &S.arena), ERR_OK);
	expect("PUT", "/share/f", "comp=range", CLEAR, 409, "FileLockConflict");
	expect("GET", "/share/f", "", "", 409, "FileLockConflict");
	smb_close();
	expect("PUT", "/share/f", "comp=range", CLEAR, 201, NULL);
}

/* A holder that caches writes: the request waits until it has given them up. */
static void test_break_acknowledged(void **state)
{
	(void)state;
	S.reaction = REACT_ACKNOWLEDGE;
	for (int i = 0; i < 20; i++) {
		smb_open("f", ACCESS_READ_DATA | ACCESS_WRITE_DATA, SHARE_EVERY, CACHE_RWH);
		expect("GET", "/share/f", "", "", 200, NULL);
		assert_int_equal(atomic_load(&S.breaks), 1);
		assert_int_equal(atomic_load(&S.to) & CACHE_WRITE, 0);
		expect("GET", "/share/f", "", "", 200, NULL);
		expect("PUT", "/share/f", "comp=range", CLEAR, 201, NULL);
		smb_close();
		smb_open("f", ACCESS_READ_DATA | ACCESS_WRITE_DATA, SHARE_EVERY, CACHE_RWH);
		expect("PUT", "/share/f", "comp=range", CLEAR, 201, NULL);
		assert_int_equal(atomic_load(&S.to), 0);
		smb_close();
	}
	assert_int_equal(wait_count(S.waits), 0);
}

static void test_break_closed(void **state)
{
	(void)state;
	S.reaction = REACT_CLOSE;
	for (int i = 0; i < 20; i++) {
		smb_open("f", ACCESS_READ_DATA | ACCESS_WRITE_DATA, 0, CACHE_RWH);
		/* Shares nothing, but gives up its handle when asked. */
		struct answer a = { 0 };
		ask("GET", "/share/f", "", "", &a);
		assert_true(a.status == 200 || a.status == 409);
		free(a.body);
		smb_close();
	}
	assert_int_equal(wait_count(S.waits), 0);
}

static void test_break_not_acknowledged(void **state)
{
	(void)state;
	S.reaction = REACT_NOT;
	smb_open("f", ACCESS_READ_DATA | ACCESS_WRITE_DATA, SHARE_EVERY, CACHE_RWH);
	uint64_t began = base_monotonic_ns();
	expect("GET", "/share/f", "timeout=1", "", 500, "ClientCacheFlushDelay");
	uint64_t took_ms = (base_monotonic_ns() - began) / 1000000;
	assert_true(took_ms >= 900 && took_ms < 15000);
	assert_int_equal(atomic_load(&S.breaks), 1);
	/* The connection and the server go on, and what needs no break is answered meanwhile. */
	expect("HEAD", "/share", "restype=share", "", 200, NULL);
	smb_close();
	expect("GET", "/share/f", "timeout=1", "", 200, NULL);
	assert_int_equal(wait_count(S.waits), 0);
}

/* Two requests wait for one holder; the peer of one is gone before it answers. */
static void test_waiter_leaves(void **state)
{
	(void)state;
	S.reaction = REACT_NOT;
	smb_open("f", ACCESS_READ_DATA | ACCESS_WRITE_DATA, SHARE_EVERY, CACHE_RWH);
	int other = client_connect_to(rest_server_port(H.server, 0));
	client_sendf(other,
		     "GET /" TEST_ACCOUNT
		     "/share/f?timeout=2&%s HTTP/1.1\r\nHost: x\r\nx-ms-version: 2023-11-03\r\n\r\n",
		     H.sas);
	for (int i = 0; i < 500 && wait_count(S.waits) == 0; i++)
		usleep(10000);
	assert_int_equal(wait_count(S.waits), 1);
	close(other);
	expect("GET", "/share/f", "timeout=1", "", 500, "ClientCacheFlushDelay");
	struct file_ack_call ack = { .handle = S.handle, .state = (uint8_t)atomic_load(&S.to) };
	assert_int_equal(store_write_wait(H.store, S.partition, file_apply_acknowledge, &ack, &S.arena), ERR_OK);
	wake(S.handle.inode_id);
	expect("GET", "/share/f", "timeout=5", "", 200, NULL);
	smb_close();
	for (int i = 0; i < 500 && wait_count(S.waits) != 0; i++)
		usleep(10000);
	assert_int_equal(wait_count(S.waits), 0);
}

static void test_handles(void **state)
{
	(void)state;
	S.reaction = REACT_NOT;
	smb_open("f", ACCESS_READ_DATA | ACCESS_WRITE_DATA, 0, 0);
	struct answer a = { 0 };
	assert_int_equal(ask("GET", "/share/f", "comp=listhandles", "", &a), 200);
	assert_non_null(strstr(a.body, "<Path>f</Path>"));
	assert_non_null(strstr(a.body, "<SessionId>77</SessionId>"));
	assert_non_null(strstr(a.body, "<AccessRight>Read</AccessRight><AccessRight>Write</AccessRight>"));
	assert_non_null(strstr(a.body, "<ClientIp>127.0.0.1:5</ClientIp>"));
	assert_int_equal(ask("GET", "/share", "comp=listhandles", "x-ms-recursive: true\r\n", &a), 200);
	assert_non_null(strstr(a.body, "<Path>f</Path>"));
	expect("GET", "/share/f", "", "", 409, "SharingViolation");
	assert_int_equal(ask("PUT", "/share/f", "comp=forceclosehandles", "x-ms-handle-id: *\r\n" EMPTY, &a), 200);
	assert_string_equal(answer_header(&a, "x-ms-number-of-handles-closed"), "1");
	expect("GET", "/share/f", "", "", 200, NULL);
	for (int i = 0; i < 500 && atomic_load(&S.closed) == 0; i++)
		usleep(10000);
	assert_int_equal(atomic_load(&S.closed), 1);
	smb_close();
	free(a.body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_share_modes, start, stop),
		cmocka_unit_test_setup_teardown(test_pending_delete, start, stop),
		cmocka_unit_test_setup_teardown(test_pending_delete_short, start_short, stop),
		cmocka_unit_test_setup_teardown(test_byte_range, start, stop),
		cmocka_unit_test_setup_teardown(test_break_acknowledged, start, stop),
		cmocka_unit_test_setup_teardown(test_break_closed, start, stop),
		cmocka_unit_test_setup_teardown(test_break_not_acknowledged, start, stop),
		cmocka_unit_test_setup_teardown(test_waiter_leaves, start, stop),
		cmocka_unit_test_setup_teardown(test_handles, start, stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

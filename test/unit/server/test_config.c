/* SPDX-License-Identifier: Apache-2.0
 * Settings: three sources and their precedence, what is refused and with which words, accounts, the data directory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/accounts.h"
#include "server/datadir.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ARGS_MAX = 16 };

struct attempt {
	struct config config;
	struct buf error;
	bool ok;
};

static void attempt_with(struct attempt *a, char **environment, const char *const *flags)
{
	char *argv[ARGS_MAX];
	int argc = 0;
	for (; flags[argc]; argc++)
		argv[argc] = (char *)(uintptr_t)flags[argc];
	buf_init(&a->error, 4096);
	a->ok = config_parse(&a->config, argc, argv, environment, &a->error);
}
#define TRY_FLAGS(a, ...) attempt_with(a, NULL, (const char *const[]){ __VA_ARGS__ __VA_OPT__(, ) NULL })

static void attempt_fini(struct attempt *a)
{
	config_fini(&a->config);
	buf_fini(&a->error);
}

static bool says(const struct attempt *a, const char *part)
{
	struct slice text = buf_slice(&a->error);
	return !a->ok && memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

static void test_defaults(void **state)
{
	struct attempt a;
	TRY_FLAGS(&a);
	assert_true(a.ok);
	assert_int_equal(a.config.blobPort, 10000);
	assert_int_equal(a.config.queuePort, 10001);
	assert_int_equal(a.config.tablePort, 10002);
	assert_int_equal(a.config.filePort, 10003);
	assert_string_equal(a.config.blobHost, "127.0.0.1");
	assert_string_equal(a.config.location, "./zaffre-data");
	assert_false(a.config.production);
	assert_false(a.config.secure);
	assert_false(a.config.beyond_loopback);
	attempt_fini(&a);
}

static void test_azurite_command_line(void **state)
{
	struct attempt a;
	TRY_FLAGS(&a, "-l", "/x", "--silent", "--skipApiVersionCheck", "--loose", "-d", "/tmp/debug.log",
		  "--blobPort=0", "--extentMemoryLimit", "10");
	assert_true(a.ok);
	assert_string_equal(a.config.location, "/x");
	assert_true(a.config.silent);
	assert_string_equal(a.config.debug, "/tmp/debug.log");
	assert_int_equal(a.config.blobPort, 0);
	attempt_fini(&a);

	TRY_FLAGS(&a, "--debug", "--silent");
	assert_true(a.ok);
	assert_string_equal(a.config.debug, "-");
	assert_true(a.config.silent);
	attempt_fini(&a);
}

static void test_precedence(void **state)
{
	char path[] = "/tmp/zaffre-config-XXXXXX";
	int fd = mkstemp(path);
	const char text[] =
		"# a comment\nblobPort = 1\r\nqueuePort=2\ntablePort = 3\nsilent = true\nlocation = \" a b \"\n";
	assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
	close(fd);
	char *environment[] = { (char[]){ "ZAFFRE_BLOB_PORT=11" }, (char[]){ "ZAFFRE_QUEUE_PORT=12" }, NULL };
	const char *flags[] = { "--blobPort", "21", "--config", path, NULL };
	struct attempt a;
	attempt_with(&a, environment, flags);
	assert_true(a.ok);
	assert_int_equal(a.config.blobPort, 21);
	assert_int_equal(a.config.queuePort, 12);
	assert_int_equal(a.config.tablePort, 3);
	assert_true(a.config.silent);
	assert_string_equal(a.config.location, " a b ");
	attempt_fini(&a);
	unlink(path);
}

static void test_refused(void **state)
{
	struct attempt a;
	static const struct {
		const char *flags[6];
		const char *says;
	} rows[] = {
		{ { "--blobPort", "70000" }, "blobPort must be a number" },
		{ { "--blobPort", "-1" }, "blobPort must be a number" },
		{ { "--blobPort", "1x" }, "blobPort must be a number" },
		{ { "--blobPort" }, "--blobPort needs a value" },
		{ { "--nonsense" }, "unknown option --nonsense" },
		{ { "stray" }, "unexpected word stray" },
		{ { "--accounts", "a:b" }, "not taken from the command line" },
		{ { "--mode", "test" }, "development or production" },
		{ { "--cert", "x" }, "--key is missing" },
		{ { "--key", "x" }, "--cert is missing" },
		{ { "--blobPort", "5", "--queuePort", "5" }, "two services want port 5" },
		{ { "--webPort", "10000" }, "--webPort and --blobPort are both 10000" },
		{ { "--webPort", "10001" }, "--webPort and --queuePort are both 10001" },
		{ { "--webPort", "5", "--tablePort", "5" }, "--webPort and --tablePort are both 5" },
		{ { "--mode", "production", "--blobHost", "0.0.0.0" }, "--allowPlainHttp" },
		{ { "--mode", "production", "--clockShiftFile", "x" }, "development mode only" },
		{ { "--mode", "production", "--inMemoryPersistence" }, "development mode only" },
		{ { "--oauth", "basic" }, "over HTTPS only" },
		{ { "--config", "/nonexistent" }, "cannot read the configuration file" },
		{ { "--silent=maybe" }, "true or false" },
		{ { "--allowPlainHttp=" }, "true or false" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		attempt_with(&a, NULL, rows[i].flags);
		if (!says(&a, rows[i].says))
			fail_msg("row %zu: expected \"%s\", got \"%.*s\"", i, rows[i].says,
				 SLICE_FMT(buf_slice(&a.error)));
		attempt_fini(&a);
	}
	TRY_FLAGS(&a, "--webPort", "5", "--queuePort", "5", "--queueHost", "127.0.0.2");
	assert_true(a.ok);
	attempt_fini(&a);
	TRY_FLAGS(&a, "--mode", "production", "--blobHost", "0.0.0.0", "--allowPlainHttp");
	assert_true(a.ok);
	attempt_fini(&a);
}

/* A list of accounts over several lines is a mistake that shows no key. */
static void test_keys_are_not_repeated(void **state)
{
	static const char *const lines[] = { "second:c2VjcmV0IGtleQ==", "second:c2VjcmV0IGtleQ" };
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		char path[] = "/tmp/zaffre-config-XXXXXX";
		int fd = mkstemp(path);
		dprintf(fd, "accounts = first:Zmlyc3Q=;\n%s\n", lines[i]);
		close(fd);
		struct attempt a;
		TRY_FLAGS(&a, "--config", path);
		assert_true(says(&a, "line 2: expected `name = value`"));
		assert_false(says(&a, "c2VjcmV0"));
		attempt_fini(&a);
		unlink(path);
	}
}

static void attempt_with_file(struct attempt *a, char **environment, const char *text)
{
	char path[] = "/tmp/zaffre-config-XXXXXX";
	int fd = mkstemp(path);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	attempt_with(a, environment, (const char *const[]){ "--config", path, NULL });
	unlink(path);
}

/* A line that somebody began and did not finish switches nothing on. */
static void test_empty_is_not_yes(void **state)
{
	static const char *const switches[] = { "allowPlainHttp =\n", "iKnowThisKeyIsPublic = \n",
						"inMemoryPersistence = \"\"\n", "silent=" };
	for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++) {
		struct attempt a;
		attempt_with_file(&a, NULL, switches[i]);
		assert_true(says(&a, "line 1: "));
		assert_true(says(&a, "is true or false, not \"\""));
		attempt_fini(&a);
	}
}

/* Who is told of a mistake in the accounts is told where they stand; and Azurite's variable is environment, too. */
static void test_accounts_source(void **state)
{
	static struct accounts accounts;
	char azurite[] = "AZURITE_ACCOUNTS=azurites", ours[] = "ZAFFRE_ACCOUNTS=ours", empty[] = "ZAFFRE_ACCOUNTS=";
	static const char file[] = "threads = 1\naccounts = filed\n";
	const struct {
		char *environment[3];
		const char *text, *name, *source;
	} rows[] = {
		{ { NULL }, file, "account filed", "line 2: " },
		{ { ours }, file, "account ours", "ZAFFRE_ACCOUNTS: " },
		{ { azurite }, file, "account azurites", "AZURITE_ACCOUNTS: " },
		{ { azurite, ours }, file, "account ours", "ZAFFRE_ACCOUNTS: " },
		{ { empty, azurite }, "", "account azurites", "AZURITE_ACCOUNTS: " },
		{ { empty }, file, "account filed", "line 2: " },
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct attempt a;
		attempt_with_file(&a, (char **)(uintptr_t)rows[i].environment, rows[i].text);
		assert_true(a.ok);
		assert_false(accounts_load(&accounts, &a.config, "/nonexistent", &a.error));
		a.ok = false;
		if (!says(&a, rows[i].name) || !says(&a, rows[i].source))
			fail_msg("row %zu: %.*s", i, SLICE_FMT(buf_slice(&a.error)));
		accounts_fini(&accounts);
		attempt_fini(&a);
	}
}

static void test_loopback(void **state)
{
	assert_true(config_host_is_loopback("127.0.0.1"));
	assert_true(config_host_is_loopback("127.3.2.1"));
	assert_true(config_host_is_loopback("::1"));
	assert_true(config_host_is_loopback("localhost"));
	assert_false(config_host_is_loopback("0.0.0.0"));
	assert_false(config_host_is_loopback("::"));
	assert_false(config_host_is_loopback("128.0.0.1"));
	assert_false(config_host_is_loopback("example.org"));
	assert_false(config_host_is_loopback(""));
}

static bool accounts_try(struct accounts *accounts, const char *list, struct buf *error)
{
	memset(accounts, 0, sizeof *accounts);
	arena_init(&accounts->arena, 1024 * 1024);
	buf_init(error, 4096);
	return accounts_parse(accounts, slice_str(list), "test", error);
}

static void test_accounts(void **state)
{
	static struct accounts accounts;
	struct buf error;
	assert_true(accounts_try(&accounts, "account1:a2V5MQ==:a2V5Mg==;account2:a2V5Mw==;", &error));
	assert_int_equal(accounts.count, 2);
	assert_true(slice_eq(accounts.account[0].name, SLICE("account1")));
	assert_true(slice_eq(accounts.account[0].key[0], SLICE("key1")));
	assert_true(slice_eq(accounts.account[0].key[1], SLICE("key2")));
	assert_true(slice_eq(accounts.account[1].key[0], SLICE("key3")));
	assert_false(slice_is_set(accounts.account[1].key[1]));
	assert_string_equal(accounts.key_text[0], "a2V5MQ==");
	accounts_fini(&accounts);
	buf_fini(&error);

	static const char *const bad[] = { "",
					   ";",
					   "account1",
					   "account1:",
					   "account1:a2V5MQ",
					   "account1:a2V5MQ=!",
					   "account1:a=V5",
					   "Account:a2V5MQ==",
					   "ab:a2V5MQ==",
					   "a:a2V5MQ==:a2V5MQ==:a2V5MQ==",
					   "acc:a2V5MQ==;acc:a2V5MQ==",
					   "abc:a2V5MQ==:a2V5MQ==:a2V5MQ==" };
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		if (accounts_try(&accounts, bad[i], &error))
			fail_msg("\"%s\" was accepted", bad[i]);
		assert_null(memmem(error.ptr, error.len, "a2V5", 4)); /* no message repeats a key */
		accounts_fini(&accounts);
		buf_fini(&error);
	}
}

/* What was told to be durable: a name is once its directory is. */
static unsigned directories_synced;

int fsync(int fd)
{
	struct stat st;
	directories_synced += fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
	return (int)syscall(SYS_fsync, fd);
}

static void test_production_keys(void **state)
{
	char dir[] = "/tmp/zaffre-accounts-XXXXXX", path[64];
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/accounts", dir);
	struct attempt a;
	static struct accounts first, second;
	TRY_FLAGS(&a, "--mode", "production");
	directories_synced = 0;
	assert_true(accounts_load(&first, &a.config, dir, &a.error));
	assert_int_equal(directories_synced, 1);
	assert_int_equal(first.count, 1);
	assert_int_equal(first.account[0].key[0].len, 64);
	assert_int_equal(first.account[0].key[1].len, 64);
	assert_false(slice_eq(first.account[0].key[0], first.account[0].key[1]));
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	/* The next start finds the same keys. */
	assert_true(accounts_load(&second, &a.config, dir, &a.error));
	assert_true(slice_eq(first.account[0].key[0], second.account[0].key[0]));
	accounts_fini(&second);
	/* Keys that others can read are refused. */
	assert_int_equal(chmod(path, 0644), 0);
	assert_false(accounts_load(&second, &a.config, dir, &a.error));
	assert_non_null(memmem(a.error.ptr, a.error.len, "chmod 600", 9));
	accounts_fini(&second);
	accounts_fini(&first);
	attempt_fini(&a);
	unlink(path);
	rmdir(dir);
}

static void test_well_known_key_stays_here(void **state)
{
	static struct accounts accounts;
	struct attempt a;
	TRY_FLAGS(&a, "--blobHost", "0.0.0.0");
	assert_true(a.ok);
	assert_false(accounts_load(&accounts, &a.config, "/nonexistent", &a.error));
	assert_non_null(memmem(a.error.ptr, a.error.len, "--iKnowThisKeyIsPublic", 22));
	accounts_fini(&accounts);
	attempt_fini(&a);
	TRY_FLAGS(&a, "--blobHost", "0.0.0.0", "--iKnowThisKeyIsPublic");
	assert_true(accounts_load(&accounts, &a.config, "/nonexistent", &a.error));
	accounts_fini(&accounts);
	attempt_fini(&a);
	char *lists[] = { (char[]){ "ZAFFRE_ACCOUNTS=mine:" ACCOUNT_WELL_KNOWN_KEY },
			  (char[]){ "ZAFFRE_ACCOUNTS=mine:a2V5MQ==:" ACCOUNT_WELL_KNOWN_KEY },
			  (char[]){ "ZAFFRE_ACCOUNTS=mine:a2V5MQ==;second:a2V5MQ==:" ACCOUNT_WELL_KNOWN_KEY } };
	for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
		char *environment[] = { lists[i], NULL };
		const char *flags[] = { "--mode", "production", NULL };
		attempt_with(&a, environment, flags);
		assert_false(accounts_load(&accounts, &a.config, "/nonexistent", &a.error));
		accounts_fini(&accounts);
		attempt_fini(&a);
	}
}

static void test_data_directory(void **state)
{
	char base[] = "/tmp/zaffre-dir-XXXXXX", path[64], file[96];
	struct datadir d;
	struct buf error;
	buf_init(&error, 4096);
	assert_non_null(mkdtemp(base));
	snprintf(path, sizeof path, "%s/a/b", base);
	assert_false(datadir_open(&d, path, false, &error));
	datadir_close(&d);
	assert_true(datadir_open(&d, path, true, &error));
	datadir_close(&d);
	/* A stranger's file, and no FORMAT beside it. */
	snprintf(file, sizeof file, "%s/somebodys.txt", path);
	close(open(file, O_WRONLY | O_CREAT, 0600));
	buf_clear(&error);
	assert_false(datadir_open(&d, path, true, &error));
	assert_non_null(memmem(error.ptr, error.len, "is no data directory", 20));
	datadir_close(&d);
	/* With FORMAT it is ours, and the stranger's file does not matter. */
	snprintf(file, sizeof file, "%s/FORMAT", path);
	close(open(file, O_WRONLY | O_CREAT, 0600));
	assert_true(datadir_open(&d, path, true, &error));
	datadir_close(&d);
	buf_clear(&error);
	assert_false(datadir_open(&d, file, false, &error));
	assert_non_null(memmem(error.ptr, error.len, "is not a directory", 18));
	datadir_close(&d);
	snprintf(file, sizeof file, "rm -r '%s'", base);
	assert_int_equal(system(file), 0);
	buf_fini(&error);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_azurite_command_line),
		cmocka_unit_test(test_precedence),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_keys_are_not_repeated),
		cmocka_unit_test(test_empty_is_not_yes),
		cmocka_unit_test(test_accounts_source),
		cmocka_unit_test(test_loopback),
		cmocka_unit_test(test_accounts),
		cmocka_unit_test(test_production_keys),
		cmocka_unit_test(test_well_known_key_stays_here),
		cmocka_unit_test(test_data_directory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 * Every small file of a data directory, cut off anywhere or with zeros from anywhere on, or gone: a start refuses or
 * serves every row that was acknowledged, nothing between, and a start that refuses removes no file. With a store that
 * was closed and with one that was killed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "again.h"
#include "base/limits.h"
#include "engine/rocks/rocks_int.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	ROUNDS = 4,
	ROWS_A_ROUND = 20,
	VALUE_BYTES = 300,
	NAMES_MAX = 256,
	NAME_BYTES = 64,
	SMALL_BYTES = 64 * 1024,
	PLACES_MAX = 512
};

static char top[64], origin[96], copy[96];
static struct buf message;

/* ---- making a store ---- */

static void key_of(char key[16], int round, int i)
{
	snprintf(key, 16, "k%d-%02d", round, i);
}

static void put_round(struct engine *e, int round)
{
	char key[16], value[VALUE_BYTES];
	memset(value, 'a' + round, sizeof value);
	for (int i = 0; i < ROWS_A_ROUND; i++) {
		struct engine_group *g;
		key_of(key, round, i);
		struct write w = { .kind = WRITE_PUT, .key = slice_str(key), .value = slice_make(value, sizeof value) };
		assert_int_equal(e->ops->group_begin(e, &g), ERR_OK);
		assert_int_equal(e->ops->group_accept(g, SLICE("p"), &w, 1), ERR_OK);
		assert_int_equal(e->ops->group_commit(g), OUTCOME_DONE);
	}
}

static enum err open_at(const char *dir, struct engine **ret)
{
	buf_clear(&message);
	return engine_rocks_open(&(struct rocks_options){ .dir = dir, .create = true }, ret, &message);
}

/* Some rows in tables by flushes of their own, the last ones in the journal alone. */
static int make_main(const char *dir, bool killed)
{
	struct engine *e;
	buf_init(&message, 4096);
	if (open_at(dir, &e) != ERR_OK)
		return 1;
	for (int round = 0; round < ROUNDS; round++) {
		put_round(e, round);
		if (round + 1 < ROUNDS && rocks_flush(rocks_of(e)) != ERR_OK)
			return 1;
	}
	if (killed)
		return raise(SIGKILL);
	e->ops->close(e);
	return 0;
}

static void make_store(bool killed)
{
	int status;
	pid_t pid;
	assert_int_equal(again_start((char *)(killed ? "--killed" : "--closed"), origin, &pid), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(killed ? WIFSIGNALED(status) : status == 0);
}

/* ---- copying it ---- */

struct names {
	char name[NAMES_MAX][NAME_BYTES];
	size_t count;
};

static void list_files(const char *dir, const char *below, struct names *ret)
{
	char path[192];
	snprintf(path, sizeof path, "%s/%s", dir, below);
	DIR *d = opendir(path);
	if (!d)
		return;
	for (struct dirent *e; (e = readdir(d));) {
		if (e->d_type != DT_REG)
			continue;
		assert_true(ret->count < NAMES_MAX);
		int n = snprintf(ret->name[ret->count++], NAME_BYTES, "%s%.40s", below, e->d_name);
		assert_true(n > 0 && n < NAME_BYTES);
	}
	closedir(d);
}

static void list_all(const char *dir, struct names *ret)
{
	ret->count = 0;
	list_files(dir, "", ret);
	list_files(dir, "db/", ret);
	list_files(dir, "journal/", ret);
	list_files(dir, "segments/", ret);
}

static void copy_file(const char *name)
{
	static char bytes[SMALL_BYTES];
	static const char zeros[SMALL_BYTES];
	char from[192], to[192];
	struct stat st;
	snprintf(from, sizeof from, "%s/%s", origin, name);
	snprintf(to, sizeof to, "%s/%s", copy, name);
	int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(in >= 0 && out >= 0 && fstat(in, &st) == 0);
	ssize_t n;
	for (off_t at = 0; (n = read(in, bytes, sizeof bytes)) > 0; at += n) /* zeros as holes */
		if (memcmp(bytes, zeros, (size_t)n) != 0)
			assert_int_equal(pwrite(out, bytes, (size_t)n, at), n);
	assert_int_equal(ftruncate(out, st.st_size), 0);
	close(in);
	close(out);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	return remove(path);
}

static void copy_remove(void)
{
	(void)nftw(copy, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void copy_make(const struct names *all)
{
	static const char *const below[] = { "", "/db", "/journal", "/segments" };
	char path[192];
	copy_remove();
	for (size_t i = 0; i < sizeof below / sizeof below[0]; i++) {
		snprintf(path, sizeof path, "%s%s", copy, below[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	for (size_t i = 0; i < all->count; i++)
		copy_file(all->name[i]);
}

/* ---- what a start makes of it ---- */

static bool all_rows_there(struct engine *e)
{
	struct arena a;
	char key[16];
	bool all = true;
	arena_init(&a, MIB);
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < ROWS_A_ROUND; i++) {
			struct slice v = SLICE_NONE;
			key_of(key, round, i);
			enum err err = e->ops->get(e, NULL, SLICE("p"), slice_str(key), &a, &v);
			all = all && err == ERR_OK && v.len == VALUE_BYTES && v.ptr[0] == 'a' + round;
		}
	arena_fini(&a);
	return all;
}

static bool has(const struct names *n, const char *name)
{
	for (size_t i = 0; i < n->count; i++)
		if (strcmp(n->name[i], name) == 0)
			return true;
	return false;
}

/* RocksDB turns its own log over even when it only reads. */
static bool may_go(const char *name)
{
	return strncmp(name, "db/LOG", 6) == 0 || strcmp(name, "FORMAT.new") == 0;
}

static size_t refused, served;

/* `damaged` may be gone itself. */
static void expect_all_or_nothing(const struct names *all, const char *damaged, const char *how, size_t at)
{
	static struct names after;
	struct engine *e;
	enum err err = open_at(copy, &e);
	if (err == ERR_OK) {
		bool there = all_rows_there(e);
		e->ops->close(e);
		served++;
		if (!there)
			fail_msg("%s %s at %zu: started without all rows", damaged, how, at);
		return;
	}
	refused++;
	buf_put_byte(&message, 0);
	if (err != ERR_CORRUPT)
		fail_msg("%s %s at %zu: refused, but not as damage: %s (%s)", damaged, how, at, err_name(err),
			 message.ptr);
	if (!strstr(message.ptr, copy))
		fail_msg("%s %s at %zu: '%s' does not name the directory", damaged, how, at, message.ptr);
	list_all(copy, &after);
	for (size_t i = 0; i < all->count; i++)
		if (!has(&after, all->name[i]) && !may_go(all->name[i]) && strcmp(all->name[i], damaged) != 0)
			fail_msg("%s %s at %zu: %s was removed", damaged, how, at, all->name[i]);
}

/* ---- every place of every small file ---- */

enum damage { CUT, ZEROS, GONE };
static const char *const how_name[] = { "cut", "with zeros", "gone" };

static void damage(const char *name, enum damage how, off_t at, off_t size)
{
	static const char zeros[SMALL_BYTES];
	char path[192];
	snprintf(path, sizeof path, "%s/%s", copy, name);
	if (how == GONE) {
		assert_int_equal(unlink(path), 0);
		return;
	}
	assert_int_equal(truncate(path, at), 0);
	if (how == CUT)
		return;
	int fd = open(path, O_WRONLY);
	size_t count = (size_t)(size - at);
	assert_true(fd >= 0 && count <= sizeof zeros);
	assert_int_equal(pwrite(fd, zeros, count, at), (ssize_t)count);
	close(fd);
}

/* Big ones: the head alone, with the rest as it was. */
static void damage_head(const char *name, off_t count)
{
	static const char zeros[SMALL_BYTES];
	char path[192];
	snprintf(path, sizeof path, "%s/%s", copy, name);
	int fd = open(path, O_WRONLY);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, zeros, (size_t)count, 0), (ssize_t)count);
	close(fd);
}

static bool is_small(const char *name)
{
	return strncmp(name, "db/MANIFEST", 11) == 0 || strcmp(name, "db/CURRENT") == 0 ||
	       strncmp(name, "db/OPTIONS", 10) == 0 || strcmp(name, "db/IDENTITY") == 0 || strcmp(name, "TAIL") == 0 ||
	       strcmp(name, "FORMAT") == 0 || strcmp(name, "LOCK") == 0;
}

/* The places to try: every record's end in RocksDB's list of changes (a header of 7 bytes each: u32 checksum, u16
 * length, u8 kind), where a cut leaves a list that looks whole, and places inside of records; every byte of what is
 * shorter. */
static size_t places(const char *name, off_t size, off_t at[PLACES_MAX])
{
	char path[192];
	unsigned char head[7];
	size_t count = 0;
	bool records = strncmp(name, "db/MANIFEST", 11) == 0,
	     decides = strstr(name, "CURRENT") || strstr(name, "FORMAT");
	off_t step = records ? 101 : decides ? 1 : size / 6 + 1;
	for (off_t i = 0; i < size && count < PLACES_MAX; i += step)
		at[count++] = i;
	if (!records)
		return count;
	snprintf(path, sizeof path, "%s/%s", origin, name);
	int fd = open(path, O_RDONLY);
	for (off_t i = 0; i < size && count < PLACES_MAX && pread(fd, head, sizeof head, i) == sizeof head;) {
		at[count++] = i;
		i += (off_t)sizeof head + head[4] + head[5] * 256;
	}
	close(fd);
	assert_true(count < PLACES_MAX);
	return count;
}

static void try_small(const struct names *all, const char *name)
{
	static off_t at[PLACES_MAX];
	char path[192];
	struct stat st;
	snprintf(path, sizeof path, "%s/%s", origin, name);
	assert_int_equal(stat(path, &st), 0);
	size_t count = places(name, st.st_size, at);
	for (enum damage how = CUT; how < GONE; how++)
		for (size_t i = 0; i < count; i++) {
			copy_make(all);
			damage(name, how, at[i], st.st_size);
			expect_all_or_nothing(all, name, how_name[how], (size_t)at[i]);
		}
	copy_make(all);
	damage(name, GONE, 0, 0);
	expect_all_or_nothing(all, name, how_name[GONE], 0);
}

static void try_journal_head(const struct names *all, const char *name)
{
	static const off_t counts[] = { 1, 8, 44, 512, 4096, 8192 };
	for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
		copy_make(all);
		damage_head(name, counts[i]);
		expect_all_or_nothing(all, name, "with a head of zeros", (size_t)counts[i]);
		copy_make(all);
		damage(name, CUT, counts[i], 0);
		expect_all_or_nothing(all, name, how_name[CUT], (size_t)counts[i]);
	}
	copy_make(all);
	damage(name, GONE, 0, 0);
	expect_all_or_nothing(all, name, how_name[GONE], 0);
}

static void try_all(void)
{
	static struct names all;
	refused = served = 0;
	list_all(origin, &all);
	copy_make(&all);
	expect_all_or_nothing(&all, "", "unharmed", 0);
	assert_int_equal(served, 1);
	for (size_t i = 0; i < all.count; i++) {
		if (is_small(all.name[i]))
			try_small(&all, all.name[i]);
		else if (strncmp(all.name[i], "journal/", 8) == 0)
			try_journal_head(&all, all.name[i]);
	}
	print_message("%zu starts served everything, %zu refused\n", served, refused);
	assert_true(refused > 0 && served > 0);
}

static void a_closed_store_is_whole_or_refused(void **state)
{
	make_store(false);
	try_all();
}

static void a_killed_store_is_whole_or_refused(void **state)
{
	make_store(true);
	try_all();
}

/* Everything is in tables: the journal holds nothing that is nowhere else. */
static void a_closed_store_needs_no_journal(void **state)
{
	static struct names all;
	struct engine *e;
	make_store(false);
	list_all(origin, &all);
	copy_make(&all);
	for (size_t i = 0; i < all.count; i++)
		if (strncmp(all.name[i], "journal/", 8) == 0)
			damage(all.name[i], GONE, 0, 0);
	for (int i = 0; i < 2; i++) { /* numbers go on behind those in tables: the second start still has all */
		assert_int_equal(open_at(copy, &e), ERR_OK);
		assert_true(all_rows_there(e));
		put_round(e, ROUNDS - 1);
		e->ops->close(e);
	}
}

/* ---- */

static int setup(void **state)
{
	snprintf(top, sizeof top, "/tmp/zaffre-damage-XXXXXX");
	if (!mkdtemp(top))
		return -1;
	snprintf(origin, sizeof origin, "%s/origin", top);
	snprintf(copy, sizeof copy, "%s/copy", top);
	buf_init(&message, 4096);
	return mkdir(origin, 0700);
}

static int teardown(void **state)
{
	buf_fini(&message);
	return nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int main(int argc, char **argv)
{
	if (argc == 3)
		return make_main(argv[2], strcmp(argv[1], "--killed") == 0);
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_closed_store_is_whole_or_refused),
		T(a_killed_store_is_whole_or_refused),
		T(a_closed_store_needs_no_journal),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

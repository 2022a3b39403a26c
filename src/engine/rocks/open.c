/* SPDX-License-Identifier: Apache-2.0
 * Opening a store: directory, lock, format, database, segments. Every refusal says what to do. */
#include "engine/rocks/locator/locator.h"
#include "engine/rocks/segment/segment.h"

#include "base/bytes.h"
#include "base/log.h"
#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { FORMAT_VERSION = 3, FORMAT_BOOKS_AMONG_ROWS = 2, EXTENT_ID_SHIFT = 40, PINS_FIRST = 64 };
#define FORMAT_FRESH "zaffre 3 new\n" /* until the database is there */
#define FORMAT_READY "zaffre 3\n"

/* What RocksDB has in memory goes into tables when a file of the journal is full; its own limit lies beyond what such a
 * file can become in memory, so that it never decides by itself. */
#define JOURNAL_FILE_BYTES     (16 * MIB)
#define JOURNAL_FILE_MIN_BYTES (2 * MIB)
#define BUFFER_PER_JOURNAL     4
#define WRITE_BUFFERS	       4
#define BUFFER_FILTER_PART     0.005 /* a read that is not in a buffer need not search its list */
#define LEVEL0_FILES	       6
#define BLOCK_CACHE_BYTES      (16 * MIB)
#define BLOCK_BYTES	       (1 * KIB) /* a read wants one row of it; scans would have it larger */
#define BLOCK_HASH_LOAD	       0.75	 /* in each block a hash beside the binary search */
#define INDEX_RESTART	       8	 /* keys share long prefixes: a third of the memory, the same speed */
#define TABLE_FILE_BYTES       (32 * MIB)
#define LEVEL_BASE_BYTES       (32 * MIB) /* what every compaction of level 0 may have to rewrite */
#define BLOOM_BITS_PER_KEY     10
#define TABLE_CHECKSUM_XXH3    4 /* RocksDB has CRC-32C as well, but without the processor's help in Debian's build */
/* How much of a table is written with one call, and after how much the disk is told to begin. A kernel that is not
 * preemptible lets nobody else on the core while it copies: 1 MiB, RocksDB's own choice, took 2.4 ms. */
#define TABLE_WRITE_BYTES   (64 * KIB)
#define TABLE_SYNC_BYTES    (256 * KIB)
#define OPEN_TABLES_MAX	    4096
#define OPEN_TABLES_MIN	    64
#define OPEN_TABLES_PART    8		/* of the descriptors the process may have: they belong to connections first */
#define LOCATED_TABLES_PART 2		/* of those: how many the locator may have open besides */
#define START_BYTES	    (128 * KIB) /* what RocksDB writes before anything else */
#define RESERVE_BYTES	    (64 * MIB)	/* all journal files in tables; a compaction comes on top (group.c) */
/* On a small disk journal and reserve are these parts of it. */
#define DISK_PER_JOURNAL 16
#define DISK_PER_RESERVE 8

struct opening {
	const struct rocks_options *options;
	struct rocks *r;
	struct buf *message;
	bool fresh, upgrade;
	uint64_t journal_file_bytes;
};

static enum err refuse_errno(struct opening *o, const char *what)
{
	int error = errno;
	buf_printf(o->message, "cannot %s in '%s': %s", what, o->options->dir, strerror(error));
	switch (error) {
	case EACCES:
	case EPERM:
		BUF_PUT(o->message, "; give this user write permission there or choose another directory");
		return ERR_IO;
	case EROFS:
		BUF_PUT(o->message, "; the file system is mounted read-only, choose another directory");
		return ERR_IO;
	case ENOSPC:
	case EDQUOT:
		BUF_PUT(o->message, "; free some space and start again");
		return ERR_NO_SPACE;
	case EMFILE:
	case ENFILE:
		BUF_PUT(o->message, "; raise the limit of open files (ulimit -n)");
		return ERR_IO;
	default:
		return ERR_IO;
	}
}

/* What RocksDB, a file or the process's limits refused. */
static enum err refuse_err(struct opening *o, const char *what, enum err err)
{
	const char *told = rocks_last_error();
	if (err == ERR_NO_MEMORY) {
		buf_printf(o->message,
			   "cannot %s in '%s': no memory or thread; raise the limits of this process (ulimit -v, -u)",
			   what, o->options->dir);
		return err;
	}
	if (!told[0]) {
		refuse_errno(o, what);
		return err;
	}
	buf_printf(o->message, "cannot %s in '%s': %s", what, o->options->dir, told);
	if (err == ERR_NO_SPACE)
		BUF_PUT(o->message, "; free some space and start again");
	else if (err == ERR_CORRUPT)
		BUF_PUT(o->message, "; files are damaged or missing, restore the directory from a backup");
	else if (strstr(told, "Too many open files"))
		BUF_PUT(o->message, "; raise the limit of open files (ulimit -n)");
	else
		BUF_PUT(o->message, "; check the permissions of the files there and the disk");
	return err;
}

static enum err open_dir(struct opening *o)
{
	const char *dir = o->options->dir;
	o->r->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (o->r->dir_fd < 0 && errno == ENOENT && o->options->create) {
		if (mkdir(dir, 0700) != 0 && errno != EEXIST)
			return refuse_errno(o, "create the data directory");
		o->r->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	if (o->r->dir_fd < 0)
		return refuse_errno(o, "open the data directory");
	return ERR_OK;
}

static enum err take_lock(struct opening *o)
{
	struct rocks *r = o->r;
	char owner[32] = "";
	r->lock_fd = openat(r->dir_fd, "LOCK", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (r->lock_fd < 0)
		return refuse_errno(o, "write the lock file");
	if (flock(r->lock_fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK)
			return refuse_errno(o, "lock the data directory");
		ssize_t n = pread(r->lock_fd, owner, sizeof owner - 1, 0);
		owner[n > 0 ? n : 0] = 0;
		buf_printf(o->message, "'%s' is in use by another server%s%s; stop it or choose another directory",
			   o->options->dir, owner[0] ? ", process " : "", owner);
		return ERR_BUSY;
	}
	int len = snprintf(owner, sizeof owner, "%d", (int)getpid());
	/* Only for the message above: a failure here harms nobody. */
	if (ftruncate(r->lock_fd, 0) == 0 && pwrite(r->lock_fd, owner, (size_t)len, 0) != len)
		errno = 0;
	return ERR_OK;
}

static enum err write_format(struct opening *o, const char *text)
{
	int dir = o->r->dir_fd;
	int fd = openat(dir, "FORMAT.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return refuse_errno(o, "write FORMAT");
	bool ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text) && fsync(fd) == 0;
	int error = errno;
	close(fd);
	errno = error;
	if (!ok || renameat(dir, "FORMAT.new", dir, "FORMAT") != 0 || fsync(dir) != 0)
		return refuse_errno(o, "write FORMAT");
	return ERR_OK;
}

/* FORMAT is written before any of them. */
static bool has_parts(int dir_fd)
{
	static const char *const parts[] = { "db", "journal", "segments" };
	struct stat st;
	bool found = false;
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		found = found || fstatat(dir_fd, parts[i], &st, 0) == 0;
	return found;
}

static enum err check_format(struct opening *o)
{
	char text[64];
	int fd = openat(o->r->dir_fd, "FORMAT", O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		if (has_parts(o->r->dir_fd)) {
			buf_printf(o->message,
				   "'%s' holds a store but its FORMAT file is missing; restore it from a backup",
				   o->options->dir);
			return ERR_CORRUPT;
		}
		if (!o->options->create) {
			buf_printf(o->message, "there is no store in '%s'", o->options->dir);
			return ERR_NOT_FOUND;
		}
		o->fresh = true;
		return write_format(o, FORMAT_FRESH);
	}
	if (fd < 0)
		return refuse_errno(o, "read FORMAT");
	ssize_t n = read(fd, text, sizeof text - 1);
	int error = errno;
	close(fd);
	errno = error;
	if (n < 0)
		return refuse_errno(o, "read FORMAT");
	struct slice rest =
		slice_trim(slice_make(text, n > 0 ? slice_find_byte(slice_make(text, (size_t)n), '\n') : 0));
	uint64_t version;
	if (!slice_eq(slice_cut(&rest, ' '), SLICE("zaffre")) || !slice_to_u64(slice_cut(&rest, ' '), &version)) {
		buf_printf(o->message, "the FORMAT file in '%s' is damaged; restore it from a backup", o->options->dir);
		return ERR_CORRUPT;
	}
	if (version > FORMAT_VERSION) {
		buf_printf(o->message,
			   "'%s' has data format %llu and this program knows formats up to %d; use a newer program",
			   o->options->dir, (unsigned long long)version, FORMAT_VERSION);
		return ERR_CORRUPT;
	}
	o->upgrade = version == FORMAT_BOOKS_AMONG_ROWS;
	if (version < FORMAT_VERSION && !o->upgrade) {
		buf_printf(
			o->message,
			"'%s' has data format %llu, which only the program that wrote it can read (this one has format "
			"%d); copy the data over with both running, or choose another directory",
			o->options->dir, (unsigned long long)version, FORMAT_VERSION);
		return ERR_CORRUPT;
	}
	o->fresh = slice_is_set(rest) && slice_eq(rest, SLICE("new"));
	return ERR_OK;
}

/* RocksDB begins with a log of its own, and where that finds no room Debian's build stops by an assertion. */
static enum err check_room(struct opening *o)
{
	int dir = o->r->dir_fd;
	int fd = openat(dir, "FORMAT.new", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return refuse_errno(o, "write");
	bool full = fallocate(fd, 0, 0, START_BYTES) != 0 && (errno == ENOSPC || errno == EDQUOT);
	int error = errno;
	close(fd);
	unlinkat(dir, "FORMAT.new", 0);
	errno = error;
	return full ? refuse_errno(o, "start the database") : ERR_OK;
}

static int open_tables(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return OPEN_TABLES_MIN;
	rlim_t part = limit.rlim_max / OPEN_TABLES_PART;
	return part < OPEN_TABLES_MIN ? OPEN_TABLES_MIN : part > OPEN_TABLES_MAX ? OPEN_TABLES_MAX : (int)part;
}

static rocksdb_block_based_table_options_t *table_options(struct rocks *r, enum family family)
{
	rocksdb_block_based_table_options_t *t = rocksdb_block_based_options_create();
	/* Contents are read by their key, one at a time: what is read again is in the store's cache of hot records. */
	if (family == FAMILY_CONTENTS)
		rocksdb_block_based_options_set_no_block_cache(t, 1);
	else
		rocksdb_block_based_options_set_block_cache(t, r->cache);
	rocksdb_block_based_options_set_filter_policy(t, rocksdb_filterpolicy_create_bloom_full(BLOOM_BITS_PER_KEY));
	rocksdb_block_based_options_set_whole_key_filtering(t, 1);
	rocksdb_block_based_options_set_format_version(t, 5);
	rocksdb_block_based_options_set_checksum(t, TABLE_CHECKSUM_XXH3); /* as table.c can verify it */
	rocksdb_block_based_options_set_block_size(t, BLOCK_BYTES);
	rocksdb_block_based_options_set_index_block_restart_interval(t, INDEX_RESTART);
	rocksdb_block_based_options_set_data_block_index_type(
		t, rocksdb_block_based_table_data_block_index_type_binary_search_and_hash);
	rocksdb_block_based_options_set_data_block_hash_ratio(t, BLOCK_HASH_LOAD);
	return t;
}

/* What holds for one family. */
static rocksdb_options_t *family_options(struct opening *o, enum family family)
{
	struct rocks *r = o->r;
	rocksdb_options_t *p = rocksdb_options_create();
	r->table[family] = table_options(r, family);
	rocksdb_options_set_block_based_table_factory(p, r->table[family]);
	rocksdb_options_set_compression(p, rocksdb_no_compression);
	rocksdb_options_set_write_buffer_size(p, o->journal_file_bytes * BUFFER_PER_JOURNAL);
	rocksdb_options_set_max_write_buffer_number(p, WRITE_BUFFERS);
	rocksdb_options_set_memtable_prefix_bloom_size_ratio(p, BUFFER_FILTER_PART);
	rocksdb_options_set_memtable_whole_key_filtering(p, 1);
	rocksdb_options_set_level0_file_num_compaction_trigger(p, LEVEL0_FILES);
	rocksdb_options_set_target_file_size_base(p, TABLE_FILE_BYTES);
	rocksdb_options_set_max_bytes_for_level_base(p, LEVEL_BASE_BYTES);
	rocksdb_options_set_level_compaction_dynamic_level_bytes(p, 1);
	return p;
}

/* What holds for the database; RocksDB takes it from the options of the first family. */
static void database_options(struct opening *o, rocksdb_options_t *p)
{
	rocksdb_options_set_create_if_missing(p, o->fresh);
	rocksdb_options_set_create_missing_column_families(p, o->fresh || o->upgrade);
	rocksdb_options_set_paranoid_checks(p, 1);
	rocksdb_options_set_max_background_jobs(p, 2);
	rocksdb_options_set_max_open_files(p, open_tables());
	rocksdb_options_set_writable_file_max_buffer_size(p, TABLE_WRITE_BYTES);
	rocksdb_options_set_bytes_per_sync(p, TABLE_SYNC_BYTES);
	rocksdb_options_set_avoid_unnecessary_blocking_io(p, 1);
	/* The program says what matters itself. This log holds the header of each start and nothing more: when a line
	 * cannot be written to it, Debian's build stops the process by an assertion, be it on a disk that others
	 * filled. */
	rocksdb_options_set_info_log_level(p, 4);
	rocksdb_options_set_max_log_file_size(p, 1 * MIB);
	rocksdb_options_set_keep_log_file_num(p, 2);
	rocksdb_options_set_stats_dump_period_sec(p, 0);
	rocksdb_options_set_stats_persist_period_sec(p, 0);
}

static void set_options(struct opening *o)
{
	struct rocks *r = o->r;
	r->cache = rocksdb_cache_create_lru(BLOCK_CACHE_BYTES);
	for (int i = 0; i < FAMILIES; i++)
		r->options[i] = family_options(o, i);
	database_options(o, r->options[FAMILY_ROWS]);

	r->read = rocksdb_readoptions_create();
	/* For one row at a time. Its block is not kept: the row itself is, in the store's cache, if it is read again.
	 */
	rocksdb_readoptions_set_fill_cache(r->read, 0);
	r->write_memory = rocksdb_writeoptions_create();
	rocksdb_writeoptions_disable_WAL(r->write_memory, 1);
}

struct database_opening {
	struct rocks *r;
	const char *path;
	char *error;
};

static void *database_open(void *arg)
{
	static const char *const names[FAMILIES] = { ROCKS_NAME_ROWS, ROCKS_NAME_CONTENTS, ROCKS_NAME_BOOKS };
	struct database_opening *d = arg;
	struct rocks *r = d->r;
	const rocksdb_options_t *options[FAMILIES] = { r->options[FAMILY_ROWS], r->options[FAMILY_CONTENTS],
						       r->options[FAMILY_BOOKS] };
	thread_step_back(THREAD_TIDIES);
	r->db = rocksdb_open_column_families(options[FAMILY_ROWS], d->path, FAMILIES, names, options, r->family,
					     &d->error);
	return NULL;
}

/* In a thread of its own, which RocksDB's flushes and compactions take after. */
static enum err open_db(struct opening *o)
{
	pthread_t thread;
	size_t len = strlen(o->options->dir) + sizeof "/db";
	char *path = malloc(len);
	if (!path)
		return ERR_NO_MEMORY;
	snprintf(path, len, "%s/db", o->options->dir);
	struct database_opening d = { .r = o->r, .path = path };
	if (pthread_create(&thread, NULL, database_open, &d) != 0) {
		free(path);
		return refuse_err(o, "open the database", ERR_NO_MEMORY);
	}
	pthread_join(thread, NULL);
	free(path);
	if (!d.error)
		return ERR_OK;
	/* A file that RocksDB's own lists name is missing, or those lists are damaged and name another. One that only
	 * cannot be looked at is corrupt to RocksDB, too; a backup need not be fetched for it. */
	bool missing = strstr(d.error, "No such file") || strstr(d.error, "does not exist"),
	     unreadable = strstr(d.error, "IO error");
	enum err err = rocks_error(d.error);
	if (missing)
		err = ERR_CORRUPT;
	else if (err == ERR_CORRUPT && unreadable)
		err = ERR_IO;
	return refuse_err(o, "open the database", err);
}

static void fit_disk(struct opening *o)
{
	struct statvfs v;
	struct rocks *r = o->r;
	r->reserve_bytes = RESERVE_BYTES;
	o->journal_file_bytes = JOURNAL_FILE_BYTES;
	if (fstatvfs(r->dir_fd, &v) == 0) {
		uint64_t disk = (uint64_t)v.f_blocks * v.f_frsize;
		if (disk / DISK_PER_RESERVE < r->reserve_bytes)
			r->reserve_bytes = disk / DISK_PER_RESERVE;
		if (disk / DISK_PER_JOURNAL < o->journal_file_bytes)
			o->journal_file_bytes = disk / DISK_PER_JOURNAL;
	}
	if (o->journal_file_bytes < JOURNAL_FILE_MIN_BYTES)
		o->journal_file_bytes = JOURNAL_FILE_MIN_BYTES;
	if (o->options->reserve_bytes)
		r->reserve_bytes = o->options->reserve_bytes;
}

/* Counts this opening, durably, so that extent ids of this run were never given before. */
static enum err count_opening(struct opening *o, uint64_t *ret)
{
	struct rocks *r = o->r;
	struct slice key = slice_make("\0o", 2), value = SLICE_NONE;
	struct arena arena;
	uint64_t opens = 0;
	arena_init(&arena, 64 * KIB);
	enum err err = rocks_get(r, FAMILY_BOOKS, r->read, key, &arena, &value);
	bool damaged = false;
	if (err == ERR_OK) {
		struct cursor c = cursor_make(value);
		opens = cursor_u64(&c);
		damaged = !cursor_done(&c);
	}
	arena_fini(&arena);
	if (damaged) {
		buf_printf(o->message, "the database in '%s' is damaged; restore it from a backup", o->options->dir);
		return ERR_CORRUPT;
	}
	if (err != ERR_OK && err != ERR_NOT_FOUND)
		return refuse_err(o, "read the database", err);
	char number[8];
	opens++;
	bytes_store(number, opens, 8);
	rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
	rocksdb_writebatch_put_cf(batch, r->family[FAMILY_BOOKS], key.ptr, key.len, number, sizeof number);
	err = rocks_write(r, batch, (struct rocks_changed){ 0 });
	rocksdb_writebatch_destroy(batch);
	if (err != ERR_OK) {
		atomic_store(&r->failed, true); /* see rocks_close */
		buf_printf(o->message, "cannot write to the journal in '%s'; %s", o->options->dir,
			   err == ERR_NO_SPACE ? "free some space and start again" : "check the disk");
		return err;
	}
	*ret = opens;
	return ERR_OK;
}

static bool may_grow(void *arg, uint64_t bytes)
{
	struct rocks *r = arg;
	uint64_t free_bytes;
	return rocks_has_space(r, bytes, &free_bytes);
}

/* Tells the segments what is published. */
static enum err restore_bitmaps(struct opening *o)
{
	struct rocks *r = o->r;
	char from[2] = { 0, 'b' }, until[2] = { 0, 'b' + 1 };
	enum err err = ERR_OK;
	rocksdb_readoptions_t *read = rocksdb_readoptions_create();
	rocksdb_readoptions_set_iterate_upper_bound(read, until, sizeof until);
	rocksdb_iterator_t *it = rocksdb_create_iterator_cf(r->db, read, r->family[FAMILY_BOOKS]);
	for (rocksdb_iter_seek(it, from, sizeof from); err == ERR_OK && rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
		size_t key_len, value_len;
		const unsigned char *k = (const unsigned char *)rocksdb_iter_key(it, &key_len);
		const char *v = rocksdb_iter_value(it, &value_len);
		if (key_len != 6 || value_len != SEGMENT_BITMAP_BYTES) {
			err = ERR_CORRUPT;
			break;
		}
		uint32_t region = (uint32_t)k[2] << 24 | (uint32_t)k[3] << 16 | (uint32_t)k[4] << 8 | k[5];
		err = segments_restore(r->segments, region, (const unsigned char *)v);
	}
	char *error = NULL;
	rocksdb_iter_get_error(it, &error);
	enum err unread = rocks_error(error);
	rocksdb_iter_destroy(it);
	rocksdb_readoptions_destroy(read);
	if (unread != ERR_OK)
		return refuse_err(o, "read the database", unread);
	if (err != ERR_OK)
		buf_printf(o->message,
			   "segment files in '%s' are missing or shorter than they were; restore the directory from a "
			   "backup",
			   o->options->dir);
	return err;
}

static enum err open_segments(struct opening *o)
{
	uint64_t opens = 0;
	TRY(count_opening(o, &opens));
	enum err err = segments_open(&(struct segments_options){ .dir_fd = o->r->dir_fd,
								 .buffered = o->options->buffered,
								 .first_id = opens << EXTENT_ID_SHIFT,
								 .may_grow = may_grow,
								 .arg = o->r },
				     &o->r->segments);
	if (err != ERR_OK) {
		if (!buf_slice(o->message).len)
			refuse_errno(o, "open the segment files");
		return err;
	}
	TRY(restore_bitmaps(o));
	segments_restored(o->r->segments);
	err = rocks_reclaim_open(o->r);
	return err == ERR_OK ? ERR_OK : refuse_err(o, "read the database", err);
}

/* See tail.c. Before anything is written. */
static enum err check_tail(struct opening *o, uint64_t last)
{
	uint64_t remembered;
	if (rocks_tail_open(o->r, &remembered) != ERR_OK)
		return refuse_errno(o, "write TAIL");
	if (last >= remembered)
		return ERR_OK;
	buf_printf(
		o->message,
		"the journal in '%s' is damaged: its last %llu commits were acknowledged and cannot be read; restore "
		"the directory from a backup, or remove the file TAIL there to go on without them",
		o->options->dir, (unsigned long long)(remembered - last));
	return ERR_CORRUPT;
}

static enum err open_journal(struct opening *o)
{
	struct rocks *r = o->r;
	uint64_t last;
	enum err err = journal_open(&(struct journal_options){ .dir_fd = r->dir_fd,
							       .file_bytes = o->journal_file_bytes,
							       .buffered = o->options->buffered,
							       .flush = rocks_journal_flush,
							       .may_grow = may_grow,
							       .arg = r },
				    &r->journal, &last);
	if (err == ERR_CORRUPT)
		buf_printf(o->message,
			   "the journal in '%s' is damaged: commits in the middle of it cannot be read; restore the "
			   "directory from a backup",
			   o->options->dir);
	else if (err != ERR_OK)
		return refuse_err(o, "read the journal", err);
	TRY(err);
	TRY(check_tail(o, last));
	err = rocks_journal_replay(r);
	if (err == ERR_OK)
		err = journal_start(r->journal);
	if (err == ERR_NO_SPACE)
		buf_printf(o->message, "no space in '%s' for the journal; free some space and start again",
			   o->options->dir);
	else if (err != ERR_OK)
		refuse_err(o, "bring the journal into the database", err);
	return err;
}

static enum err upgrade(struct opening *o)
{
	enum err err = rocks_upgrade_books(o->r);
	if (err != ERR_OK) {
		atomic_store(&o->r->failed, true); /* see rocks_close */
		buf_printf(o->message,
			   "cannot bring '%s' to data format %d; check the disk and its space and start again",
			   o->options->dir, FORMAT_VERSION);
		return err;
	}
	return write_format(o, FORMAT_READY);
}

static enum err open_locator(struct opening *o)
{
	struct rocks *r = o->r;
	r->locator =
		locator_new(&(struct locator_options){ .db = r->db,
						       .family = r->family,
						       .dir_fd = r->dir_fd,
						       .tables_max = (size_t)open_tables() / LOCATED_TABLES_PART });
	if (r->locator)
		return ERR_OK;
	buf_printf(o->message,
		   "no memory or thread for the store in '%s'; raise the limits of this process (ulimit -v, -u)",
		   o->options->dir);
	return ERR_NO_MEMORY;
}

static enum err open_all(struct opening *o)
{
	TRY(open_dir(o));
	TRY(take_lock(o));
	TRY(check_format(o));
	TRY(check_room(o));
	fit_disk(o);
	set_options(o);
	TRY(open_db(o));
	TRY(open_journal(o));
	if (o->upgrade)
		TRY(upgrade(o));
	TRY(open_segments(o));
	TRY(open_locator(o));
	return o->fresh ? write_format(o, FORMAT_READY) : ERR_OK;
}

enum err engine_rocks_open(const struct rocks_options *options, struct engine **ret, struct buf *ret_message)
{
	struct rocks *r = calloc(1, sizeof *r);
	if (!r)
		return ERR_NO_MEMORY;
	r->engine.ops = &rocks_ops;
	r->dir_fd = r->lock_fd = -1;
	pthread_mutex_init(&r->write_lock, NULL);
	pthread_mutex_init(&r->publish_lock, NULL);
	pthread_mutex_init(&r->pin_lock, NULL);
	for (int i = 0; i < 2; i++) {
		r->group[i].rocks = r;
		r->group[i].batch = rocksdb_writebatch_create();
		overlay_init(&r->group[i].overlay, 2 * LIMIT_GROUP_BYTES);
	}
	r->pins = malloc(PINS_FIRST * sizeof *r->pins);
	r->pin_cap = PINS_FIRST;
	struct opening o = { .options = options, .r = r, .message = ret_message };
	enum err err = r->pins ? open_all(&o) : ERR_NO_MEMORY;
	if (err != ERR_OK) {
		rocks_close(&r->engine);
		return err;
	}
	*ret = &r->engine;
	return ERR_OK;
}

static struct rocks *abandoned; /* after a failed sync; kept reachable, never used again */

void rocks_close(struct engine *e)
{
	struct rocks *r = rocks_of(e);
	if (r->journal)
		journal_stop(r->journal);
	locator_free(r->locator);
	r->locator = NULL;
	if (atomic_load(&r->failed)) {
		/* RocksDB may not be told to write, sync or close a file it could not sync: Debian's build stops by an
		 * assertion. The process is about to end; the lock goes with it. */
		r->next_abandoned = abandoned;
		abandoned = r;
		return;
	}
	/* Flushed, so that the next start has no journal to replay; if that fails, the journal is there. */
	if (r->db && r->segments) {
		if (rocks_flush(r) == ERR_OK)
			journal_clear(r->journal);
		else
			log_warn("bringing the journal into the database failed: %s. Nothing is lost, the next start "
				 "tries "
				 "again; check the disk.",
				 rocks_last_error());
	}
	journal_free(r->journal);
	for (int i = 0; i < FAMILIES; i++)
		if (r->family[i])
			rocksdb_column_family_handle_destroy(r->family[i]);
	if (r->db)
		rocksdb_close(r->db);
	segments_close(r->segments);
	rocks_tail_close(r);
	if (r->read)
		rocksdb_readoptions_destroy(r->read);
	if (r->write_memory)
		rocksdb_writeoptions_destroy(r->write_memory);
	for (int i = 0; i < FAMILIES; i++) {
		if (r->options[i])
			rocksdb_options_destroy(r->options[i]);
		if (r->table[i])
			rocksdb_block_based_options_destroy(r->table[i]);
	}
	if (r->cache)
		rocksdb_cache_destroy(r->cache);
	for (int i = 0; i < 2; i++) {
		rocksdb_writebatch_destroy(r->group[i].batch);
		overlay_fini(&r->group[i].overlay);
		free(r->group[i].changes);
	}
	free(r->pins);
	if (r->lock_fd >= 0)
		close(r->lock_fd);
	if (r->dir_fd >= 0)
		close(r->dir_fd);
	pthread_mutex_destroy(&r->pin_lock);
	pthread_mutex_destroy(&r->publish_lock);
	pthread_mutex_destroy(&r->write_lock);
	free(r);
}

/* SPDX-License-Identifier: Apache-2.0
 * Opening a store: directory, lock, format, database, journal, segments. Every refusal says what to do, and comes
 * before anything there is changed. */
#include "engine/rocks/open_int.h"

#include "engine/rocks/locator/locator.h"
#include "engine/rocks/segment/segment.h"

#include "base/sys/file.h"
#include "base/sys/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum {
	FORMAT_VERSION = 5,
	FORMAT_OLDER_ROWS = 4,	    /* as 5, but rows of directories and messages, and records, say less */
	FORMAT_WITHOUT_FLUSHED = 3, /* as 4, but the database does not say which commits are in its tables */
	EXTENT_ID_SHIFT = 40,
	PINS_FIRST = 64,
};
#define FORMAT_FRESH "zaffre 5 new\n" /* until the database is there */
#define FORMAT_READY "zaffre 5\n"

#define JOURNAL_FILE_BYTES     (16 * MIB)
#define JOURNAL_FILE_MIN_BYTES (2 * MIB)
#define LOCATED_TABLES_PART    2	   /* of the tables RocksDB may have open: how many the locator may, besides */
#define START_BYTES	       (128 * KIB) /* what RocksDB writes before anything else */
#define RESERVE_BYTES	       (64 * MIB)  /* all journal files in tables; a compaction comes on top (group.c) */
/* On a small disk journal and reserve are these parts of it. */
#define DISK_PER_JOURNAL 16
#define DISK_PER_RESERVE 8

enum err opening_refuse_errno(struct opening *o, const char *what)
{
	int error = errno;
	buf_printf(o->message, "cannot %s in '%s': %s", what, o->name, strerror(error));
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
	case FILE_WRONG_KIND:
		BUF_PUT(o->message, " (a link, a pipe or a device stands where a file or directory of the store "
				    "belongs); remove it or restore the directory from a backup");
		return ERR_CORRUPT;
	default:
		return ERR_IO;
	}
}

/* What RocksDB, a file or the process's limits refused. */
enum err opening_refuse_err(struct opening *o, const char *what, enum err err)
{
	const char *told = rocks_last_error();
	if (err == ERR_NO_MEMORY) {
		buf_printf(o->message,
			   "cannot %s in '%s': no memory or thread; raise the limits of this process (ulimit -v, -u)",
			   what, o->name);
		return err;
	}
	if (!told[0]) {
		opening_refuse_errno(o, what);
		return err;
	}
	buf_printf(o->message, "cannot %s in '%s': %s", what, o->name, told);
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
			return opening_refuse_errno(o, "create the data directory");
		o->r->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	if (o->r->dir_fd < 0)
		return opening_refuse_errno(o, "open the data directory");
	return ERR_OK;
}

/* This process by its number and the time it began, which no other has. */
static bool process_name(char *ret, size_t room)
{
	char text[1024];
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	/* Behind the program's name, which may hold anything, the time is the 20th word. */
	char *at = strrchr(text, ')');
	for (int i = 0; at && i < 20; i++)
		at = strchr(at + 1, ' ');
	if (!at)
		return false;
	at[1 + strcspn(at + 1, " ")] = 0;
	snprintf(ret, room, "%d %s", (int)getpid(), at + 1);
	return true;
}

static enum err take_lock(struct opening *o)
{
	struct rocks *r = o->r;
	char owner[64] = "";
	r->lock_fd = base_file_open_at(r->dir_fd, "LOCK", O_RDWR | O_CREAT, 0600);
	if (r->lock_fd < 0)
		return opening_refuse_errno(o, "write the lock file");
	if (flock(r->lock_fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK)
			return opening_refuse_errno(o, "lock the data directory");
		ssize_t n = pread(r->lock_fd, owner, sizeof owner - 1, 0);
		owner[n > 0 ? n : 0] = 0;
		owner[strcspn(owner, " ")] = 0;
		buf_printf(o->message, "'%s' is in use by another server%s%s; stop it or choose another directory",
			   o->name, owner[0] ? ", process " : "", owner);
		return ERR_BUSY;
	}
	if (!process_name(owner, sizeof owner))
		snprintf(owner, sizeof owner, "%d", (int)getpid());
	int len = (int)strlen(owner);
	/* Only for the messages above: a failure here harms nobody. */
	if (ftruncate(r->lock_fd, 0) == 0 && pwrite(r->lock_fd, owner, (size_t)len, 0) != len)
		errno = 0;
	return ERR_OK;
}

static enum err write_format(struct opening *o, const char *text)
{
	int dir = o->r->dir_fd;
	int fd = base_file_open_at(dir, "FORMAT.new", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0)
		return opening_refuse_errno(o, "write FORMAT");
	bool ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text) && fsync(fd) == 0;
	int error = errno;
	close(fd);
	errno = error;
	if (!ok || renameat(dir, "FORMAT.new", dir, "FORMAT") != 0 || fsync(dir) != 0)
		return opening_refuse_errno(o, "write FORMAT");
	return ERR_OK;
}

/* FORMAT is written before any of them. */
static bool has_parts(int dir_fd)
{
	static const char *const parts[] = { "db", "journal", "segments" };
	struct stat st;
	bool found = false;
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		found = found || fstatat(dir_fd, parts[i], &st, AT_SYMLINK_NOFOLLOW) == 0;
	return found;
}

static enum err check_format(struct opening *o)
{
	char text[64];
	int fd = base_file_open_at(o->r->dir_fd, "FORMAT", O_RDONLY, 0);
	if (fd < 0 && errno == ENOENT) {
		if (has_parts(o->r->dir_fd)) {
			buf_printf(o->message,
				   "'%s' holds a store but its FORMAT file is missing; restore it from a backup",
				   o->name);
			return ERR_CORRUPT;
		}
		if (!o->options->create) {
			buf_printf(o->message, "there is no store in '%s'", o->name);
			return ERR_NOT_FOUND;
		}
		o->fresh = true;
		return write_format(o, FORMAT_FRESH);
	}
	if (fd < 0)
		return opening_refuse_errno(o, "read FORMAT");
	ssize_t n = read(fd, text, sizeof text - 1);
	int error = errno;
	close(fd);
	errno = error;
	if (n < 0)
		return opening_refuse_errno(o, "read FORMAT");
	struct slice rest =
		slice_trim(slice_make(text, n > 0 ? slice_find_byte(slice_make(text, (size_t)n), '\n') : 0));
	uint64_t version;
	if (!slice_eq(slice_cut(&rest, ' '), SLICE("zaffre")) || !slice_to_u64(slice_cut(&rest, ' '), &version)) {
		buf_printf(o->message, "the FORMAT file in '%s' is damaged; restore it from a backup", o->name);
		return ERR_CORRUPT;
	}
	if (version > FORMAT_VERSION) {
		buf_printf(o->message,
			   "'%s' has data format %llu and this program knows formats up to %d; use a newer program",
			   o->name, (unsigned long long)version, FORMAT_VERSION);
		return ERR_CORRUPT;
	}
	o->older_rows = version == FORMAT_OLDER_ROWS;
	o->upgrade = version == FORMAT_WITHOUT_FLUSHED;
	if (version < FORMAT_VERSION && !o->older_rows && !o->upgrade) {
		buf_printf(
			o->message,
			"'%s' has data format %llu, which only the program that wrote it can read (this one has format "
			"%d); copy the data over with both running, or choose another directory",
			o->name, (unsigned long long)version, FORMAT_VERSION);
		return ERR_CORRUPT;
	}
	o->fresh = slice_is_set(rest) && slice_eq(rest, SLICE("new"));
	return ERR_OK;
}

/* RocksDB begins with a log of its own, and where that finds no room Debian's build stops by an assertion. */
static enum err check_room(struct opening *o)
{
	int dir = o->r->dir_fd;
	int fd = base_file_open_at(dir, "FORMAT.new", O_WRONLY | O_CREAT, 0600);
	if (fd < 0)
		return opening_refuse_errno(o, "write");
	bool full = fallocate(fd, 0, 0, START_BYTES) != 0 && (errno == ENOSPC || errno == EDQUOT);
	int error = errno;
	close(fd);
	unlinkat(dir, "FORMAT.new", 0);
	errno = error;
	return full ? opening_refuse_errno(o, "start the database") : ERR_OK;
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
	struct slice value = SLICE_NONE;
	struct arena arena;
	uint64_t opens = 0;
	arena_init(&arena, 64 * KIB);
	enum err err = rocks_get(r, FAMILY_METADATA, r->read, LAYOUT_OPENS_KEY, &arena, &value);
	bool damaged = err == ERR_OK && layout_number_decode(LAYOUT_OPENS_KEY, value, &opens) != ERR_OK;
	arena_fini(&arena);
	if (damaged) {
		buf_printf(o->message, "the database in '%s' is damaged; restore it from a backup", o->name);
		return ERR_CORRUPT;
	}
	if (err != ERR_OK && err != ERR_NOT_FOUND)
		return opening_refuse_err(o, "read the database", err);
	struct layout_row row;
	layout_number_encode(&row, LAYOUT_OPENS_KEY, ++opens);
	rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
	rocks_put_own(r, batch, &row);
	err = rocks_write(r, batch, (struct rocks_changed){ 0 }, false);
	rocksdb_writebatch_destroy(batch);
	if (err != ERR_OK) {
		atomic_store(&r->failed, true); /* see rocks_close */
		buf_printf(o->message, "cannot write to the journal in '%s'; %s", o->name,
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
	rocksdb_iterator_t *it = rocksdb_create_iterator_cf(r->db, read, r->family[FAMILY_METADATA]);
	for (rocksdb_iter_seek(it, from, sizeof from); err == ERR_OK && rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
		size_t key_len, value_len;
		const char *key = rocksdb_iter_key(it, &key_len), *value = rocksdb_iter_value(it, &value_len);
		uint32_t region;
		const unsigned char *bitmap;
		err = layout_bitmap_decode(slice_make(key, key_len), slice_make(value, value_len), &region, &bitmap);
		if (err == ERR_OK)
			err = segments_restore(r->segments, region, bitmap);
	}
	char *error = NULL;
	rocksdb_iter_get_error(it, &error);
	enum err unread = rocks_error(error);
	rocksdb_iter_destroy(it);
	rocksdb_readoptions_destroy(read);
	if (unread != ERR_OK)
		return opening_refuse_err(o, "read the database", unread);
	if (err != ERR_OK)
		buf_printf(o->message,
			   "segment files in '%s' are missing or shorter than they were; restore the directory from a "
			   "backup",
			   o->name);
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
			opening_refuse_errno(o, "open the segment files");
		return err;
	}
	TRY(restore_bitmaps(o));
	segments_restored(o->r->segments);
	err = rocks_reclaim_open(o->r);
	return err == ERR_OK ? ERR_OK : opening_refuse_err(o, "read the database", err);
}

/* See tail.h. Before anything is written. */
static enum err check_tail(struct opening *o, uint64_t last)
{
	uint64_t remembered;
	if (tail_open(&o->r->tail, o->r->dir_fd, &remembered) != ERR_OK)
		return opening_refuse_errno(o, "write TAIL");
	/* TAIL is not synced and may be behind; what the journal itself says does not count without it, so that there
	 * is a way to go on. */
	if (remembered && journal_said_synced(o->r->journal) > remembered)
		remembered = journal_said_synced(o->r->journal);
	if (last >= remembered)
		return ERR_OK;
	buf_printf(
		o->message,
		"the journal in '%s' is damaged: its last %llu commits were acknowledged and cannot be read; restore "
		"the directory from a backup, or remove the file TAIL there to go on without them",
		o->name, (unsigned long long)(remembered - last));
	return ERR_CORRUPT;
}

/* A file of RocksDB's own lists that lost its end names an earlier state, without the tables that were added since. */
static enum err check_database_age(struct opening *o)
{
	uint64_t flushed = journal_header_flushed(o->r->journal);
	if (o->fresh || o->upgrade || o->in_tables >= flushed)
		return ERR_OK;
	buf_printf(o->message,
		   "the database in '%s' is damaged: it has lost tables with the commits %llu to %llu, which the "
		   "journal says it had; restore the directory from a backup",
		   o->name, (unsigned long long)o->in_tables + 1, (unsigned long long)flushed);
	return ERR_CORRUPT;
}

static enum err open_journal(struct opening *o)
{
	struct rocks *r = o->r;
	uint64_t last;
	enum err err = journal_open(&(struct journal_options){ .dir_fd = r->dir_fd,
							       .file_bytes = o->journal_file_bytes,
							       .buffered = o->options->buffered,
							       .in_tables = o->in_tables,
							       .flush = rocks_journal_flush,
							       .may_grow = may_grow,
							       .arg = r },
				    &r->journal, &last);
	if (err == ERR_CORRUPT)
		buf_printf(o->message,
			   "the journal in '%s' is damaged: commits in the middle of it cannot be read; restore the "
			   "directory from a backup",
			   o->name);
	else if (err != ERR_OK)
		return opening_refuse_err(o, "read the journal", err);
	TRY(err);
	TRY(check_database_age(o));
	TRY(check_tail(o, last));
	atomic_store(&r->last_number, last);
	return ERR_OK;
}

static enum err replay_journal(struct opening *o)
{
	struct rocks *r = o->r;
	enum err err = rocks_journal_replay(r);
	if (err == ERR_OK)
		err = journal_start(r->journal);
	if (err == ERR_NO_SPACE)
		buf_printf(o->message, "no space in '%s' for the journal; free some space and start again", o->name);
	else if (err == ERR_CORRUPT)
		buf_printf(o->message,
			   "the journal in '%s' holds a record that no server wrote, or the database is damaged; "
			   "restore the directory from a backup",
			   o->name);
	else if (err != ERR_OK)
		opening_refuse_err(o, "bring the journal into the database", err);
	return err;
}

/* From data format 3: from now on the database says which commits are in its tables. */
static enum err upgrade(struct opening *o)
{
	enum err err = rocks_flush(o->r);
	return err == ERR_OK ? ERR_OK : opening_refuse_err(o, "bring the database to the present data format", err);
}

/* The directory is as the number says, or no more than that from now on. */
static enum err settle_format(struct opening *o)
{
	return o->fresh || o->upgrade || o->older_rows ? write_format(o, FORMAT_READY) : ERR_OK;
}

static enum err open_locator(struct opening *o)
{
	struct rocks *r = o->r;
	if (o->options->locator_off)
		return ERR_OK;
	r->locator = locator_new(
		&(struct locator_options){ .db = r->db,
					   .family = r->family,
					   .dir_fd = r->dir_fd,
					   .tables_max = (size_t)database_open_tables() / LOCATED_TABLES_PART });
	if (r->locator)
		return ERR_OK;
	buf_printf(o->message,
		   "no memory or thread for the store in '%s'; raise the limits of this process (ulimit -v, -u)",
		   o->name);
	return ERR_NO_MEMORY;
}

/* Files that RocksDB opens by itself. */
static enum err check_kinds(struct opening *o, const char *name)
{
	int fd = base_file_open_dir_at(o->r->dir_fd, name);
	if (fd < 0)
		return errno == ENOENT ? ERR_OK : opening_refuse_errno(o, name);
	DIR *dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return opening_refuse_errno(o, name);
	}
	bool wrong = false;
	for (struct dirent *e; !wrong && (e = readdir(dir));) {
		struct stat st;
		if (e->d_type == DT_REG || strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		wrong = fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode) &&
			!S_ISDIR(st.st_mode);
		if (wrong)
			buf_printf(o->message,
				   "'%s/%s/%s' is a link, a pipe or a device and no file of the store; remove it or "
				   "restore the directory from a backup",
				   o->name, name, e->d_name);
	}
	closedir(dir);
	return wrong ? ERR_CORRUPT : ERR_OK;
}

static enum err open_all(struct opening *o)
{
	TRY(open_dir(o));
	TRY(take_lock(o));
	TRY(check_format(o));
	TRY(check_kinds(o, "db"));
	TRY(check_room(o));
	fit_disk(o);
	database_prepare(o);
	TRY(database_look(o));
	TRY(open_journal(o));
	TRY(database_open(o));
	TRY(replay_journal(o));
	TRY(open_segments(o));
	TRY(open_locator(o));
	if (o->upgrade)
		TRY(upgrade(o));
	o->r->may_sync_later = o->options->sync_later;
	return settle_format(o);
}

struct rocks *rocks_new(void)
{
	struct rocks *r = calloc(1, sizeof *r);
	if (!r)
		return NULL;
	r->engine.ops = &rocks_ops;
	r->magic = ROCKS_ALIVE;
	r->dir_fd = r->lock_fd = -1;
	pthread_mutex_init(&r->write_lock, NULL);
	pthread_mutex_init(&r->flush_lock, NULL);
	pthread_mutex_init(&r->compact_lock, NULL);
	pthread_mutex_init(&r->publish_lock, NULL);
	pthread_mutex_init(&r->pin_lock, NULL);
	for (int i = 0; i < 2; i++) {
		r->group[i].rocks = r;
		r->group[i].batch = rocksdb_writebatch_create();
		r->group[i].iterator_read = rocksdb_readoptions_create();
		overlay_init(&r->group[i].overlay, 2 * LIMIT_GROUP_BYTES);
	}
	r->pins = malloc(PINS_FIRST * sizeof *r->pins);
	r->pin_cap = PINS_FIRST;
	if (!r->pins) {
		rocks_close(&r->engine);
		return NULL;
	}
	return r;
}

enum err engine_rocks_open(const struct rocks_options *options, struct engine **ret, struct buf *ret_message)
{
	struct rocks *r = rocks_new();
	if (!r)
		return ERR_NO_MEMORY;
	struct opening o = { .options = options, .r = r, .message = ret_message };
	o.name = options->name ? options->name : options->dir;
	enum err err = open_all(&o);
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
	if (r->db && r->segments && !r->moment_of) {
		if (rocks_flush(r) == ERR_OK)
			journal_clear(r->journal);
		else
			log_warn("bringing the journal into the database failed: %s. Nothing is lost, the next start "
				 "tries "
				 "again; check the disk.",
				 rocks_last_error());
	}
	journal_free(r->journal);
	for (int i = 0; i < 2; i++)
		rocks_group_drop_iterator(&r->group[i]);
	database_close(r);
	if (!r->moment_of)
		segments_close(r->segments);
	tail_close(&r->tail);
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
		rocksdb_readoptions_destroy(r->group[i].iterator_read);
		overlay_fini(&r->group[i].overlay);
		free(r->group[i].changes);
	}
	free(r->pins);
	if (r->lock_fd >= 0)
		close(r->lock_fd);
	if (r->dir_fd >= 0)
		close(r->dir_fd);
	r->magic = 0;
	pthread_mutex_destroy(&r->pin_lock);
	pthread_mutex_destroy(&r->publish_lock);
	pthread_mutex_destroy(&r->write_lock);
	pthread_mutex_destroy(&r->flush_lock);
	pthread_mutex_destroy(&r->compact_lock);
	free(r);
}

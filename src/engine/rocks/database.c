/* SPDX-License-Identifier: Apache-2.0
 * RocksDB: its options, and how it is opened. */
#include "engine/rocks/open_int.h"

#include "base/sys/thread.h"

#include <stdlib.h>
#include <sys/resource.h>

/* What RocksDB has in memory goes into tables when a file of the journal is full, and when a moment is made; its own
 * limit lies far beyond what all files of the journal can become in memory, so that it never decides by itself: a
 * moment would have newer rows of one family than of another. */
#define BUFFER_BYTES	    (1024 * MIB)
#define WRITE_BUFFERS	    4
#define BUFFER_FILTER_PART  0.02 /* of a file of the journal: a read that is not in a buffer need not search its list */
#define LEVEL0_FILES	    6
#define BLOCK_CACHE_BYTES   (16 * MIB)
#define BLOCK_BYTES	    (1 * KIB) /* a read wants one row of it; scans would have it larger */
#define BLOCK_HASH_LOAD	    0.75      /* in each block a hash beside the binary search */
#define INDEX_RESTART	    8	      /* keys share long prefixes: a third of the memory, the same speed */
#define TABLE_FILE_BYTES    (32 * MIB)
#define LEVEL_BASE_BYTES    (32 * MIB)	/* what every compaction of level 0 may have to rewrite */
#define CONTENTS_BASE_BYTES (128 * MIB) /* new ones are moved, but deletes among them have each level rewritten */
#define BLOOM_BITS_PER_KEY  10
#define TABLE_CHECKSUM_XXH3 4 /* RocksDB has CRC-32C as well, but without the processor's help in Debian's build */
/* How much of a table is written with one call, and after how much the disk is told to begin. A kernel that is not
 * preemptible lets nobody else on the core while it copies: 1 MiB, RocksDB's own choice, took 2.4 ms. */
#define TABLE_WRITE_BYTES (64 * KIB)
#define TABLE_SYNC_BYTES  (256 * KIB)
#define OPEN_TABLES_MAX	  4096
#define OPEN_TABLES_MIN	  64
#define OPEN_TABLES_PART  8 /* of the descriptors the process may have: they belong to connections first */

int database_open_tables(void)
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
	rocksdb_block_based_options_set_checksum(t, TABLE_CHECKSUM_XXH3); /* as sst.c can verify it */
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
	rocksdb_options_set_write_buffer_size(p, BUFFER_BYTES);
	rocksdb_options_set_max_write_buffer_number(p, WRITE_BUFFERS);
	rocksdb_options_set_memtable_prefix_bloom_size_ratio(p, BUFFER_FILTER_PART * (double)o->journal_file_bytes /
									(double)BUFFER_BYTES);
	rocksdb_options_set_memtable_whole_key_filtering(p, 1);
	rocksdb_options_set_level0_file_num_compaction_trigger(p, LEVEL0_FILES);
	rocksdb_options_set_target_file_size_base(p, TABLE_FILE_BYTES);
	rocksdb_options_set_max_bytes_for_level_base(p, family == FAMILY_CONTENTS ? CONTENTS_BASE_BYTES
										  : LEVEL_BASE_BYTES);
	rocksdb_options_set_level_compaction_dynamic_level_bytes(p, 1);
	return p;
}

/* What holds for the database; RocksDB takes it from the options of the first family. */
static void database_options(struct opening *o, rocksdb_options_t *p)
{
	rocksdb_options_set_create_if_missing(p, o->fresh);
	rocksdb_options_set_create_missing_column_families(p, o->fresh);
	rocksdb_options_set_paranoid_checks(p, 1);
	rocksdb_options_set_max_background_jobs(p, 2);
	rocksdb_options_set_max_open_files(p, database_open_tables());
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

void database_prepare(struct opening *o)
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
	bool read_only;
	char *error;
};

static void *database_main(void *arg)
{
	struct database_opening *d = arg;
	struct rocks *r = d->r;
	const rocksdb_options_t *options[FAMILIES] = { r->options[FAMILY_ROWS], r->options[FAMILY_CONTENTS],
						       r->options[FAMILY_METADATA] };
	thread_lower_priority(THREAD_TIDIES);
	if (d->read_only)
		r->db = rocksdb_open_for_read_only_column_families(
			options[FAMILY_ROWS], d->path, FAMILIES, layout_family_name, options, r->family, 0, &d->error);
	else
		r->db = rocksdb_open_column_families(options[FAMILY_ROWS], d->path, FAMILIES, layout_family_name,
						     options, r->family, &d->error);
	return NULL;
}

/* What RocksDB's refusal to open means. */
static enum err open_error(char *error)
{
	/* A file that RocksDB's own lists name is missing, or those lists are damaged: they name another file, or a
	 * column family less than there was. One that only cannot be looked at is corrupt to RocksDB, too; a backup
	 * need not be fetched for it. */
	bool missing = strstr(error, "No such file") || strstr(error, "does not exist"),
	     invalid = strncmp(error, "Invalid argument", 16) == 0, unreadable = strstr(error, "IO error");
	enum err err = rocks_error(error);
	if (missing || invalid)
		return ERR_CORRUPT;
	return err == ERR_CORRUPT && unreadable ? ERR_IO : err;
}

/* In a thread of its own, which RocksDB's flushes and compactions take after. */
static enum err open_in_thread(struct opening *o, bool read_only)
{
	pthread_t thread;
	size_t len = strlen(o->options->dir) + sizeof "/db";
	char *path = malloc(len);
	if (!path)
		return ERR_NO_MEMORY;
	snprintf(path, len, "%s/db", o->options->dir);
	struct database_opening d = { .r = o->r, .path = path, .read_only = read_only };
	if (pthread_create(&thread, NULL, database_main, &d) != 0) {
		free(path);
		return opening_refuse_err(o, "open the database", ERR_NO_MEMORY);
	}
	pthread_join(thread, NULL);
	free(path);
	return d.error ? opening_refuse_err(o, "open the database", open_error(d.error)) : ERR_OK;
}

enum err database_open(struct opening *o)
{
	return open_in_thread(o, false);
}

enum err database_open_to_read(struct opening *o)
{
	return open_in_thread(o, true);
}

void database_close(struct rocks *r)
{
	for (int i = 0; i < FAMILIES; i++) {
		if (r->family[i])
			rocksdb_column_family_handle_destroy(r->family[i]);
		r->family[i] = NULL;
	}
	if (r->db)
		rocksdb_close(r->db);
	r->db = NULL;
}

static enum err read_in_tables(struct opening *o)
{
	struct arena arena;
	struct slice value;
	arena_init(&arena, 64 * KIB);
	enum err err = rocks_get(o->r, FAMILY_METADATA, o->r->read, LAYOUT_FLUSHED_KEY, &arena, &value);
	if (err == ERR_OK)
		err = layout_number_decode(LAYOUT_FLUSHED_KEY, value, &o->in_tables);
	arena_fini(&arena);
	return err == ERR_NOT_FOUND ? ERR_OK : err;
}

/* A database that is opened for writing removes the files it does not know: one that has lost a part of its own lists
 * would remove what the lists have lost. So it is first opened to be read, and asked how far it has come. */
enum err database_look(struct opening *o)
{
	if (o->fresh)
		return ERR_OK;
	enum err err = database_open_to_read(o);
	if (err != ERR_OK)
		return err;
	err = read_in_tables(o);
	if (err != ERR_OK)
		err = opening_refuse_err(o, "read the database", err);
	database_close(o->r);
	return err;
}

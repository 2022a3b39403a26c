/* SPDX-License-Identifier: Apache-2.0
 * A hostile record of the journal whose checksum is right: any bytes where a write batch should be. Those that
 * batch_is_ours lets through are given to RocksDB: its parser goes through each, and one in WRITE_EVERY is written into
 * a database in memory, as a start would. It takes them or says no, and goes on. */
#include "engine/rocks/batch.h"
#include "engine/rocks/layout/layout.h"

#include <rocksdb/c.h>

#include "fuzz.h"

enum { WRITE_EVERY = 16 }; /* a write costs a hundred times what the parser does */

static rocksdb_t *db;
static rocksdb_writeoptions_t *write_options;

static void open_once(void)
{
	char *error = NULL;
	static rocksdb_options_t *o; /* all of it stays until the end */
	static rocksdb_column_family_handle_t *family[FAMILIES];
	static rocksdb_env_t *env;
	o = rocksdb_options_create();
	env = rocksdb_create_mem_env();
	rocksdb_options_set_env(o, env);
	rocksdb_options_set_create_if_missing(o, 1);
	rocksdb_options_set_create_missing_column_families(o, 1);
	rocksdb_options_set_write_buffer_size(o, 4 << 20);
	const rocksdb_options_t *each[FAMILIES] = { o, o, o };
	db = rocksdb_open_column_families(o, "/fuzz", FAMILIES, layout_family_name, each, family, &error);
	CHECK(!error);
	write_options = rocksdb_writeoptions_create();
	rocksdb_writeoptions_disable_WAL(write_options, 1);
}

/* Every byte is looked at: one that is not there would be seen. */
static unsigned char sum;
static void each_del(void *arg, const char *key, size_t len)
{
	(void)arg;
	for (size_t i = 0; i < len; i++)
		sum = (unsigned char)(sum + key[i]);
}
static void each_put(void *arg, const char *key, size_t len, const char *value, size_t value_len)
{
	each_del(arg, key, len);
	each_del(arg, value, value_len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice bytes = fuzz_copy(slice_make((const char *)data, size));
	if (!db)
		open_once();
	if (batch_is_ours(bytes)) {
		char *error = NULL;
		static unsigned ours;
		rocksdb_writebatch_t *batch = rocksdb_writebatch_create_from(bytes.ptr, bytes.len);
		rocksdb_writebatch_iterate(batch, NULL, each_put, each_del);
		if (ours++ % WRITE_EVERY == 0)
			rocksdb_write(db, write_options, batch, &error);
		rocksdb_writebatch_destroy(batch);
		rocksdb_free(error);
	}
	fuzz_free(bytes);
	return 0;
}

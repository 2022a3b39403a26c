/* SPDX-License-Identifier: Apache-2.0
 * From data format 2 to 3: what engine and store write for themselves gets a column family of its own. Nothing else is
 * written before it is done, so a crash in between leaves rows that are the same wherever they lie. */
#include "engine/rocks/rocks_int.h"

enum { UPGRADE_ROWS = 256 };

/* Moves up to UPGRADE_ROWS rows; *ret_count is how many there were. */
static enum err move_some(struct rocks *r, rocksdb_iterator_t *it, size_t *ret_count)
{
	rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
	size_t n = 0;
	for (; n < UPGRADE_ROWS && rocksdb_iter_valid(it); rocksdb_iter_next(it), n++) {
		size_t key_len, value_len;
		const char *key = rocksdb_iter_key(it, &key_len), *value = rocksdb_iter_value(it, &value_len);
		rocksdb_writebatch_put_cf(batch, r->family[FAMILY_BOOKS], key, key_len, value, value_len);
		rocksdb_writebatch_delete_cf(batch, r->family[FAMILY_ROWS], key, key_len);
	}
	char *error = NULL;
	rocksdb_iter_get_error(it, &error);
	enum err err = rocks_error(error);
	if (err == ERR_OK && n)
		err = rocks_write(r, batch, (struct rocks_changed){ 0 });
	rocksdb_writebatch_destroy(batch);
	*ret_count = n;
	return err;
}

enum err rocks_upgrade_books(struct rocks *r)
{
	static const char end[] = { 2 }; /* rocks_is_book */
	enum err err;
	size_t count;
	rocksdb_readoptions_t *read = rocksdb_readoptions_create();
	rocksdb_readoptions_set_iterate_upper_bound(read, end, sizeof end);
	rocksdb_iterator_t *it = rocksdb_create_iterator_cf(r->db, read, r->family[FAMILY_ROWS]);
	rocksdb_iter_seek_to_first(it);
	do
		err = move_some(r, it, &count);
	while (err == ERR_OK && count == UPGRADE_ROWS);
	rocksdb_iter_destroy(it);
	rocksdb_readoptions_destroy(read);
	return err == ERR_OK ? rocks_flush(r) : err;
}

/* SPDX-License-Identifier: Apache-2.0
 * What each REST operation is to the opens of a file: the documented table of lock compatibility, in one place for the
 * code and for the tests.
 *
 * X(name, access, share, needs no open, keeps of RWH, of RH, of RW, of R, waits if it takes away)
 *   access, share     of the momentary open it is; access 0 takes no part in the share check
 *   needs no open     any open of a client at all, attributes only or not, is a sharing violation
 *   keeps             what a holder of that state may keep
 *   waits             the operation waits for the acknowledgement if a bit of these is taken away; else it goes on at
 *                     once and the holder is only told
 * On a sharing violation H is taken from those who stand in the way, and waited for, before it is answered: their
 * handles may be open only because nobody asked. */
#ifndef LOCK_REST_TABLE_H
#define LOCK_REST_TABLE_H

#define REST_READ   ACCESS_READ_DATA
#define REST_WRITE  ACCESS_WRITE_DATA
#define REST_DELETE ACCESS_DELETE

#define REST_OPERATIONS(X)                                                                                             \
	X(GET, REST_READ, SHARE_ALL, false, CACHE_RH, CACHE_RH, CACHE_READ, CACHE_READ, CACHE_WRITE)                   \
	X(LIST_RANGES, REST_READ, SHARE_ALL, false, CACHE_RH, CACHE_RH, CACHE_READ, CACHE_READ, CACHE_WRITE)           \
	X(GET_PROPERTIES, 0, SHARE_ALL, false, CACHE_RH, CACHE_RH, CACHE_READ, CACHE_READ, CACHE_WRITE)                \
	X(GET_METADATA, 0, SHARE_ALL, false, CACHE_RH, CACHE_RH, CACHE_READ, CACHE_READ, CACHE_WRITE)                  \
	X(LIST, 0, SHARE_ALL, false, CACHE_RWH, CACHE_RH, CACHE_RW, CACHE_READ, 0)                                     \
	X(PUT_RANGE, REST_WRITE, SHARE_ALL, false, 0, 0, 0, 0, CACHE_WRITE)                                            \
	X(SET_PROPERTIES, REST_WRITE, SHARE_ALL, false, 0, 0, 0, 0, CACHE_WRITE)                                       \
	X(SET_METADATA, REST_WRITE, SHARE_ALL, false, 0, 0, 0, 0, CACHE_WRITE)                                         \
	X(CREATE, REST_WRITE | REST_DELETE, SHARE_ALL, false, 0, 0, 0, 0, CACHE_WRITE)                                 \
	X(DELETE, REST_DELETE, SHARE_ALL, true, CACHE_RW, CACHE_READ, CACHE_RW, CACHE_READ, CACHE_HANDLE)              \
	X(LEASE, REST_READ | REST_WRITE | REST_DELETE, SHARE_READ, false, CACHE_RH, CACHE_RH, CACHE_READ, CACHE_READ,  \
	  CACHE_WRITE)                                                                                                 \
	X(RENAME, REST_DELETE, SHARE_ALL, false, CACHE_RW, CACHE_READ, CACHE_RW, CACHE_READ, CACHE_HANDLE)             \
	X(REPLACE, REST_DELETE, SHARE_ALL, true, CACHE_RW, CACHE_READ, CACHE_RW, CACHE_READ, CACHE_HANDLE)

enum file_rest_op {
#define X(name, ...) FILE_REST_##name,
	REST_OPERATIONS(X)
#undef X
		FILE_REST_OPS
};

#endif

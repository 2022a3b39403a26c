/* SPDX-License-Identifier: Apache-2.0
 * What QUERY_INFO, SET_INFO, QUERY_DIRECTORY and CHANGE_NOTIFY carry: the information classes of files, file systems
 * and directory entries ([MS-FSCC]). Names are UTF-8 here and UTF-16LE on the wire. */
#ifndef WIRE_SMB2_INFO_H
#define WIRE_SMB2_INFO_H

#include "wire/smb2/create.h"

enum smb2_file_class {
	SMB2_FILE_DIRECTORY = 1,
	SMB2_FILE_FULL_DIRECTORY = 2,
	SMB2_FILE_BOTH_DIRECTORY = 3,
	SMB2_FILE_BASIC = 4,
	SMB2_FILE_STANDARD = 5,
	SMB2_FILE_INTERNAL = 6,
	SMB2_FILE_EA = 7,
	SMB2_FILE_ACCESS = 8,
	SMB2_FILE_NAME = 9,
	SMB2_FILE_RENAME = 10,
	SMB2_FILE_LINK = 11,
	SMB2_FILE_NAMES = 12,
	SMB2_FILE_DISPOSITION = 13,
	SMB2_FILE_POSITION = 14,
	SMB2_FILE_FULL_EA = 15,
	SMB2_FILE_MODE = 16,
	SMB2_FILE_ALIGNMENT = 17,
	SMB2_FILE_ALL = 18,
	SMB2_FILE_ALLOCATION = 19,
	SMB2_FILE_END_OF_FILE = 20,
	SMB2_FILE_ALTERNATE_NAME = 21,
	SMB2_FILE_STREAM = 22,
	SMB2_FILE_COMPRESSION = 28,
	SMB2_FILE_NETWORK_OPEN = 34,
	SMB2_FILE_ATTRIBUTE_TAG = 35,
	SMB2_FILE_ID_BOTH_DIRECTORY = 37,
	SMB2_FILE_ID_FULL_DIRECTORY = 38,
	SMB2_FILE_NORMALIZED_NAME = 48,
	SMB2_FILE_ID = 59,
};

enum smb2_fs_class {
	SMB2_FS_VOLUME = 1,
	SMB2_FS_SIZE = 3,
	SMB2_FS_DEVICE = 4,
	SMB2_FS_ATTRIBUTE = 5,
	SMB2_FS_CONTROL = 6,
	SMB2_FS_FULL_SIZE = 7,
	SMB2_FS_OBJECT_ID = 8,
	SMB2_FS_SECTOR_SIZE = 11,
};

struct smb2_file_info {
	struct smb2_file_times times;
	uint64_t allocation, size, disk_id, volume_id, position;
	uint32_t attributes, access, mode;
	bool delete_pending, directory;
	struct slice path;	 /* from the root, parts divided by '/' */
	struct slice short_name; /* ASCII, at most 12; absent: none */
};

/* Appends the class. *ret_fixed is the size without its name or list: less room than that is an error of its own.
 * False: the class is not known here. */
bool smb2_file_info_put(struct buf *, uint8_t info_class, const struct smb2_file_info *, size_t *ret_fixed);

struct smb2_fs_info {
	uint64_t created_time;
	uint32_t serial;
	uint64_t total_units, free_units;
	struct slice label;
	unsigned char object_id[16];
};
bool smb2_fs_info_put(struct buf *, uint8_t info_class, const struct smb2_fs_info *, size_t *ret_fixed);

/* Appends one entry of a directory. `last` is where the entry before begins (0: none), and is moved. False: unknown
 * class. */
bool smb2_entry_known(uint8_t info_class);
void smb2_entry_put(struct buf *, uint8_t info_class, const struct smb2_file_info *, struct slice name, size_t *last);
void smb2_change_put(struct buf *, uint32_t action, struct slice name, size_t *last);

/* SET_INFO */
struct smb2_set_basic {
	struct smb2_file_times times;
	uint32_t attributes;
};
enum err smb2_set_basic_parse(struct slice input, struct smb2_set_basic *ret) MUST_CHECK;
struct smb2_set_rename {
	bool replace;
	uint64_t root;
	struct slice name; /* UTF-16LE */
};
enum err smb2_set_rename_parse(struct slice input, struct smb2_set_rename *ret) MUST_CHECK;

#endif

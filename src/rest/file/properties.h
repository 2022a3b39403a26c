/* SPDX-License-Identifier: Apache-2.0
 * Attributes, times and permissions of directories and files as headers: reading them by the rules of each operation
 * and version, and writing them. */
#ifndef REST_FILE_PROPERTIES_H
#define REST_FILE_PROPERTIES_H

#include "rest/file/common.h"

enum { FILE_SDDL_HEADER_MAX_BYTES = 8 * 1024, FILE_ATTRIBUTES_TEXT_BYTES = 128, FILE_PERMISSION_KEY_BYTES = 44 };

enum settings_use { SETTINGS_CREATE, SETTINGS_SET, SETTINGS_RENAME, SETTINGS_COPY };

/* x-ms-file-attributes, the four times, permission and permission key. `partition`: where a permission key is looked
 * up; absent: it is not, and rest_file_settings_check_key must follow. */
enum err rest_file_settings_parse(struct request *, enum settings_use, bool directory,
				  struct file_settings *ret) MUST_CHECK;
/* ERR_INVALID_HEADER_VALUE if a permission key was given that the share does not have. */
enum err rest_file_settings_check_key(struct request *, struct slice partition,
				      const struct file_settings *) MUST_CHECK;

/* "Hidden | Archive"; how many bytes. Pure. */
size_t rest_file_attributes_format(uint32_t attributes, char dst[FILE_ATTRIBUTES_TEXT_BYTES]);
/* Names joined by '|'. False: unknown, or None beside others. Pure. */
bool rest_file_attributes_parse(struct slice text, uint32_t *ret);

/* "key*account": how many bytes. */
size_t rest_file_permission_key_format(const struct request *, uint64_t key, char dst[FILE_PERMISSION_KEY_BYTES]);
bool rest_file_permission_key_parse(const struct request *, struct slice text, uint64_t *ret);

#define PERMISSION_NO_SACL "S:NO_ACCESS_CONTROL"
/* A descriptor as sent into the canonical text that is stored. ERR_FILE_INVALID_PERMISSION. */
enum err rest_file_permission_canonical(struct request *, struct slice given, bool binary,
					struct slice *ret) MUST_CHECK;
/* x-ms-file-permission-format; *ret_binary false if it is absent or the version does not know it. */
enum err rest_file_permission_format_parse(struct request *, bool *ret_binary) MUST_CHECK;

#endif

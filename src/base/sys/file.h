/* SPDX-License-Identifier: Apache-2.0
 * Opening files of the data directory and those that settings name. Whoever may write there may have put a link, a pipe
 * or a device in the place of a file: a link could lead to a file of somebody else, a pipe would hold the caller until
 * another end comes. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <sys/types.h>

/* As openat, for a regular file only and without following a link in the last component. -1 and errno;
 * FILE_WRONG_KIND if something else is there. */
#define FILE_WRONG_KIND EMEDIUMTYPE
int base_file_open_at(int dir_fd, const char *name, int flags, mode_t mode);
/* A file that a setting names, to read: links are followed, as deployments use them, and what they lead to must be a
 * regular file. -1 and errno, as above. */
int base_file_open_setting(const char *path);
/* A directory below dir_fd, likewise. */
int base_file_open_dir_at(int dir_fd, const char *name);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * What the handlers of the File service share: finding the share, reading the headers that many operations take,
 * writing the headers that many answers carry.
 *
 * Order of errors: everything that is wrong with the request's own words is told before the share is looked up, so a
 * parse function reads all headers first and finds the share at its end. */
#ifndef REST_FILE_COMMON_H
#define REST_FILE_COMMON_H

#include "rest/core/op.h"
#include "svc/account/resource.h"
#include "svc/file/file.h"

/* The share of the URL: checks its name, finds its record (ERR_SHARE_NOT_FOUND) and its partition. */
enum err rest_file_find_share(struct request *, struct resource *ret, struct slice *ret_partition) MUST_CHECK;
/* Only the partition. */
enum err rest_file_find(struct request *, struct slice *ret_partition) MUST_CHECK;

/* The path, the snapshot and the lease id of the request. A write that names a snapshot is refused. */
enum err rest_file_target_read(struct request *, enum file_kind, struct file_target *ret) MUST_CHECK;
enum err rest_file_target_write(struct request *, enum file_kind, struct file_target *ret) MUST_CHECK;
/* x-ms-allow-trailing-dot or x-ms-source-allow-trailing-dot, where the version knows them. */
enum err rest_file_path_rules_parse(struct request *, const char *header, struct file_path_rules *ret) MUST_CHECK;
/* The sharesnapshot or prevsharesnapshot parameter; *ret_has false if it is absent. */
enum err rest_file_snapshot_parse(struct request *, const char *parameter, bool *ret_has,
				  uint64_t *ret_ticks) MUST_CHECK;
/* Such a parameter where it means nothing. */
enum err rest_file_snapshot_refuse(struct request *) MUST_CHECK;
/* A header that is true or false; false if absent. ERR_INVALID_HEADER_VALUE. */
enum err rest_file_flag_parse(struct request *, const char *header, bool *ret) MUST_CHECK;
/* The x-ms-content-* headers, and where they are absent the plain ones if standard_too. */
enum err rest_file_http_parse(struct request *, bool standard_too, struct file_http *ret) MUST_CHECK;
/* x-ms-content-length; *ret_has false if it is absent. ERR_FILE_SIZE_OUT_OF_RANGE. */
enum err rest_file_size_parse(struct request *, bool *ret_has, uint64_t *ret) MUST_CHECK;
/* A body where none may be. */
enum err rest_file_refuse_body(struct request *) MUST_CHECK;

/* The last step of a parse: the share is found, and the apply runs in its partition. */
/* events: of the call, told to SMB's watchers after the commit; may be NULL. */
enum err rest_file_step_write(struct request *, apply_fn *, const struct file_events *events) MUST_CHECK;
enum err rest_file_step_read(struct request *, apply_fn *) MUST_CHECK;
/* The same where the partition was found already. Holders of oplocks are told after the commit. */
void rest_file_step_write_in(struct request *, struct slice partition, apply_fn *, const struct file_events *events);
/* What a commit changed, to those who watch. */
void rest_file_publish(struct request *, struct slice partition, const struct file_events *);

/* The answer to an error of a write or read that must wait for SMB clients first (wait.c). For struct handler. */
enum err rest_file_refused(struct request *, enum err);

/* ETag and Last-Modified. */
void rest_file_put_etag(struct request *, uint64_t etag_ticks);
/* Those and what an answer says of a directory or file: attributes, times, permission key, ids. */
void rest_file_put_properties(struct request *, const struct inode *, bool written);
/* What is only read: content headers, metadata, lease, copy. `whole`: Content-MD5 fits the body. */
void rest_file_put_content_properties(struct request *, const struct inode *, uint64_t now_ticks, bool whole,
				      bool live);

/* How a version gates a feature. */
static inline bool file_since(const struct request *r, uint32_t version)
{
	return r->version >= version;
}
#define FILE_V_SMB_PROPERTIES	   VERSION(2019, 2, 2)
#define FILE_V_SHARE_TIERS	   VERSION(2019, 12, 12)
#define FILE_V_SHARE_LEASES	   VERSION(2020, 2, 10)
#define FILE_V_PROPERTIES_OPTIONAL VERSION(2021, 6, 8)
#define FILE_V_TRAILING_DOT	   VERSION(2022, 11, 2)
#define FILE_V_PERMISSION_FORMAT   VERSION(2024, 11, 4)

#endif

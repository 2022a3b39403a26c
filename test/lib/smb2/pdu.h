/* SPDX-License-Identifier: Apache-2.0
 * Every message of SMB2 in both directions. The server reads requests and writes answers; the other halves, which
 * tests alone need, are written here from the specification: requests are written, answers read. A message that is
 * read, written and read again must say the same, or one of the two halves is wrong. Golden captures
 * (test/unit/wire/smb2) and the fuzz targets (test/proof/fuzz) work with one table. */
#ifndef TEST_LIB_SMB2_PDU_H
#define TEST_LIB_SMB2_PDU_H

#include "base/arena.h"
#include "wire/smb2/create.h"
#include "wire/smb2/file.h"
#include "wire/smb2/info.h"
#include "wire/smb2/setup.h"

enum { PDU_LIST_MAX = 64 /* entries of a list that are looked at */ };

struct pdu_negotiate_answer {
	struct smb2_negotiate_answer fixed;
	unsigned salt_bytes;
};
struct pdu_tagged {
	uint16_t flags;
	struct slice bytes;
};
struct pdu_ioctl_answer {
	uint32_t code;
	struct smb2_file_id id;
	struct slice output;
};
struct pdu_file_info {
	uint8_t info_class;
	struct smb2_file_info info;
};
struct pdu_fs_info {
	uint8_t info_class;
	struct smb2_fs_info info;
};
/* Entries of a directory, or changes of one. */
struct pdu_list {
	uint8_t info_class;
	size_t count;
	struct {
		struct smb2_file_info info;
		uint32_t action;
		struct slice name;
	} item[PDU_LIST_MAX];
};
struct pdu_notice {
	uint8_t level;
	struct smb2_file_id id;
};

/* What one message says. */
struct pdu_value {
	struct arena *arena;
	union {
		struct smb2_header header;
		struct smb2_transform transform;
		struct smb2_negotiate negotiate;
		struct smb2_session_setup session_setup;
		struct slice bytes;
		struct smb2_create create;
		struct smb2_close close;
		struct smb2_file_id id;
		struct smb2_read read;
		struct smb2_write write;
		struct smb2_lock lock;
		struct smb2_ioctl ioctl;
		struct smb2_query_directory query_directory;
		struct smb2_change_notify change_notify;
		struct smb2_query_info query_info;
		struct smb2_set_info set_info;
		struct smb2_set_basic set_basic;
		struct smb2_set_rename set_rename;
		struct smb2_break brk;
		struct pdu_negotiate_answer negotiate_answer;
		struct pdu_tagged tagged;
		struct smb2_tree_answer tree_answer;
		struct smb2_create_answer create_answer;
		struct smb2_close_answer close_answer;
		uint32_t number;
		struct pdu_ioctl_answer ioctl_answer;
		struct smb2_interface interface;
		struct pdu_notice notice;
		struct smb2_lease_notice lease_notice;
		struct pdu_file_info file_info;
		struct pdu_fs_info fs_info;
		struct pdu_list list;
	};
};

/* Where a field of a message lies in pdu_value; its name is the one that Wireshark has for it. */
struct pdu_field {
	const char *name;
	size_t at;
	uint8_t bytes; /* of an integer; 16: a GUID or a file id; 0: a slice of UTF-16LE */
};

struct pdu {
	const char *name;
	bool has_header; /* the bytes begin with the SMB2 header */
	enum err (*parse)(struct slice, struct pdu_value *);
	void (*put)(struct buf *, const struct pdu_value *);
	const struct pdu_field *fields; /* those that Wireshark tells too; NULL: none */
	size_t field_count;
};
extern const struct pdu pdu_requests[], pdu_contexts[], pdu_answers[], pdu_infos[];
extern const size_t pdu_request_count, pdu_context_count, pdu_answer_count, pdu_info_count;

const struct pdu *pdu_find(struct slice name); /* NULL: unknown */
/* As pdu->parse, but a message without a header is ERR_SYNTAX. */
enum err pdu_parse(const struct pdu *, struct slice, struct pdu_value *ret);

#define PDU_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- for the files of this folder ---- */

/* The header of a message, all zero but its marks, and the size of its structure. */
void pdu_begin(struct buf *, uint16_t structure_size);
/* An offset that was left open is set to where the buf ends now. */
void pdu_offset_set(struct buf *, size_t at, size_t bytes);
void pdu_create_contexts_put(struct buf *, const struct smb2_create *);
void pdu_negotiate_contexts_put(struct buf *, const struct smb2_negotiate *, uint16_t *ret_count);
/* UTF-16LE, its backslashes turned. */
enum err pdu_path(struct cursor *, size_t bytes, struct arena *, struct slice *ret);

#endif

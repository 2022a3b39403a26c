/* SPDX-License-Identifier: Apache-2.0
 * Security descriptors: the text form (SDDL) that REST uses and the self-relative binary form that SMB uses.
 *
 * The descriptor has up to four parts: owner, group, DACL, SACL. Texts of one descriptor differ (aliases, order of
 * letters, numbers instead of letters); the binary form made here is the same for all of them, and the text made from
 * it is the canonical one.
 *
 * Read: owner and group as alias or S-1-...; ACLs with their flags (P, AR, AI, NO_ACCESS_CONTROL); ACEs that allow,
 * deny or audit, with or without object GUIDs, and mandatory labels. Refused: conditional and resource attribute ACEs,
 * and aliases that need a domain (DA, DU, ...), because no domain is known here. */
#ifndef WIRE_SDDL_H
#define WIRE_SDDL_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum {
	SDDL_BINARY_MAX_BYTES = 64 * 1024, /* a binary ACL states its size in 16 bits */
	SDDL_ACES_MAX = 1820,		   /* as many of the shortest as fit into one ACL of 64 KiB */
};

/* What a descriptor holds: bits of *ret_parts. */
enum { SDDL_OWNER = 1, SDDL_GROUP = 2, SDDL_DACL = 4, SDDL_SACL = 8 };

/* Appends the binary form. ERR_SYNTAX: not SDDL, or of a kind that is refused; then nothing of use was appended. */
enum err sddl_parse(struct slice text, struct buf *binary) MUST_CHECK;
/* Appends the text. ERR_SYNTAX: not a well-formed self-relative descriptor. */
enum err sddl_format(struct slice binary, struct buf *text) MUST_CHECK;
/* Which parts a well-formed binary descriptor has. */
unsigned sddl_parts(struct slice binary);
/* The descriptor of a new file or directory, as text in the arena, from its parent's (absent: the root, which has the
 * default). Absent: no memory, or the parent's is no SDDL. Pure. */
struct slice sddl_inherit(struct arena *, struct slice parent_text, bool directory);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * The tables that reading and writing SDDL share. */
#ifndef WIRE_SDDL_INT_H
#define WIRE_SDDL_INT_H

#include "base/buf.h"

enum {
	SD_HEADER_BYTES = 20,
	ACL_HEADER_BYTES = 8,
	ACE_HEADER_BYTES = 8, /* type, flags, size, mask */
	GUID_BYTES = 16,
	SID_SUBS_MAX = 15,
	SID_MAX_BYTES = 8 + 4 * SID_SUBS_MAX,
};

/* Control bits of a descriptor. */
enum {
	SD_DACL_PRESENT = 0x0004,
	SD_SACL_PRESENT = 0x0010,
	SD_DACL_AUTO_REQUEST = 0x0100,
	SD_SACL_AUTO_REQUEST = 0x0200,
	SD_DACL_AUTO = 0x0400,
	SD_SACL_AUTO = 0x0800,
	SD_DACL_PROTECTED = 0x1000,
	SD_SACL_PROTECTED = 0x2000,
	SD_SELF_RELATIVE = 0x8000,
};

struct sddl_word {
	const char *word;
	uint32_t bits;
};

extern const struct sddl_word sddl_ace_types[], sddl_ace_flags[], sddl_rights[], sddl_whole_rights[];
/* Types whose ACE has room for two GUIDs. */
bool sddl_type_has_guids(unsigned type);

/* Well-known SIDs: alias and binary form. NULL if there is none. */
const char *sddl_sid_alias(struct slice sid);
bool sddl_alias_sid(struct slice alias, struct buf *sid);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Security descriptors between the wire (self-relative binary) and the share (SDDL). They are kept and shown, not
 * enforced: the account key is an administrator. */
#ifndef SMB_SECURITY_H
#define SMB_SECURITY_H

#include "smb/opens.h"

/* What a new file shall have. */
uint32_t smb_security_parse(struct smb_request *, struct slice binary, struct file_permission *ret);
/* The parts asked for (SDDL_ bits) of a stored text; an absent text is the default. In the arena. */
enum err smb_security_show(struct arena *, struct slice sddl, unsigned parts, struct slice *ret) MUST_CHECK;
/* A stored text with some parts replaced by those of `binary`. */
enum err smb_security_merge(struct arena *, struct slice sddl, struct slice binary, unsigned parts,
			    struct slice *ret_sddl) MUST_CHECK;

#endif

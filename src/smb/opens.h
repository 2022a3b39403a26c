/* SPDX-License-Identifier: Apache-2.0
 * The opens of a session as the front end knows them: what the client's file id stands for. The rights, locks and
 * oplocks of an open are its row in the share (svc/file/open.h); here is only what belongs to the connection. */
#ifndef SMB_OPENS_H
#define SMB_OPENS_H

#include "smb/smb_int.h"

struct smb_opens;

struct smb_opens *smb_opens_new(void); /* NULL: out of memory */
void smb_opens_free(struct smb_opens *);
/* Closes those of a tree (NULL: all). Disconnected: durable ones stay for a reconnect. */
void smb_opens_end(struct smb_session *, struct smb_tree *, bool disconnected);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * The settings of the SMB front end, from text to what smb_server_start takes. */
#ifndef SERVER_SMB_SETTINGS_H
#define SERVER_SMB_SETTINGS_H

#include "server/config.h"
#include "smb/server.h"

/* False: *error has the line to print. *ret_on says whether SMB is served at all. Store, clock and accounts are the
 * caller's to set. */
bool server_smb_settings(const struct config *, struct smb_config *ret, bool *ret_on, struct buf *error);

#endif

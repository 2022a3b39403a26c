/* SPDX-License-Identifier: Apache-2.0
 * What the handlers of shares have in common: share.c, share_change.c, share_list.c. */
#ifndef REST_FILE_SHARE_H
#define REST_FILE_SHARE_H

#include "rest/file/common.h"
#include "svc/file/share.h"

#define SHARE_SCOPE "$account-encryption-key"

const char *rest_share_tier_word(enum share_tier);
/* The headers of Create Share and Set Share Properties: `ret->change` and which of it was given. */
enum err rest_share_settings_parse(struct request *, struct share_call *ret) MUST_CHECK;

#endif

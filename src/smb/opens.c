/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/opens.h"

struct smb_opens {
	size_t count;
};

struct smb_opens *smb_opens_new(void)
{
	return calloc(1, sizeof(struct smb_opens));
}

void smb_opens_free(struct smb_opens *o)
{
	free(o);
}

void smb_opens_end(struct smb_session *s, struct smb_tree *t, bool disconnected)
{
}
#define STUB(name)                                                                                                     \
	void name(struct smb_request *r)                                                                               \
	{                                                                                                              \
		smb_fail(r, STATUS_NOT_SUPPORTED);                                                                     \
	}
STUB(smb_do_create)
STUB(smb_do_close)
STUB(smb_do_flush)
STUB(smb_do_read)
STUB(smb_do_write)
STUB(smb_do_lock)
STUB(smb_do_query_directory)
STUB(smb_do_notify)
STUB(smb_do_query_info)
STUB(smb_do_set_info)
STUB(smb_do_oplock_break)

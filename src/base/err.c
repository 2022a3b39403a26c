/* SPDX-License-Identifier: Apache-2.0
 * What is known of each error: errors.def as a table, plus the internal values that no client sees. */
#include "base/err.h"

#include <assert.h>

static const struct err_info table[ERR_COUNT] = {
	[ERR_OK] = { "OK", 200, "", 0, "" },
	[ERR_NOT_FOUND] = { "NOT_FOUND", 404, "ResourceNotFound", 0xC0000034,
			    "The specified resource does not exist." },
	[ERR_NO_MEMORY] = { "NO_MEMORY", 503, "ServerBusy", 0xC000009A, "The server is busy." },
	[ERR_IO] = { "IO", 500, "InternalError", 0xC0000185,
		     "The server encountered an internal error. Please retry the request." },
	[ERR_NO_SPACE] = { "NO_SPACE", 507, "InsufficientStorage", 0xC000007F,
			   "The server's disk is full. Delete data or add space, then retry the request." },
	[ERR_CORRUPT] = { "CORRUPT", 500, "InternalError", 0xC0000102,
			  "The stored data is damaged; see the server's log." },
	[ERR_CONFLICT] = { "CONFLICT", 503, "ServerBusy", 0xC000009A, "The server is busy." },
	[ERR_UNKNOWN] = { "UNKNOWN", 500, "OperationTimedOut", 0xC00000B5,
			  "The operation could not be completed within the permitted time." },
	[ERR_STOPPED] = { "STOPPED", 503, "ServerBusy", 0xC00000DC, "The server is busy." },
	[ERR_BUSY] = { "BUSY", 503, "ServerBusy", 0xC000009A, "The server is busy." },
	[ERR_LIMIT] = { "LIMIT", 500, "InternalError", 0xC00000E5,
			"The server encountered an internal error. Please retry the request." },
	[ERR_BUDGET] = { "BUDGET", 503, "ServerBusy", 0xC000009A, "The server is busy." },
	[ERR_SYNTAX] = { "SYNTAX", 400, "InvalidInput", 0xC000000D, "One of the request inputs is not valid." },
	[ERR_BREAK_FIRST] = { "BREAK_FIRST", 408, "ClientCacheFlushDelay", 0xC0000043,
			      "The specified resource state could not be flushed from an SMB client in the specified "
			      "time." },
#define X(name, status, code, ntstatus, text) [ERR_##name] = { #name, status, code, ntstatus, text },
#include "base/errors.def"
#undef X
};

const struct err_info *err_info(enum err e)
{
	assert((unsigned)e < ERR_COUNT);
	return &table[e];
}

const char *err_name(enum err e)
{
	return err_info(e)->name;
}

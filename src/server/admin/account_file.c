/* SPDX-License-Identifier: Apache-2.0
 * Changing the text of an accounts file. See account_file.h. */
#include "server/admin/account_file.h"

static bool row_is_of(struct slice row, struct slice name)
{
	return slice_eq(slice_trim(slice_cut(&row, ':')), name);
}

/* A line of rows apart by ';'. False: nothing of it is left. */
static bool edit_line(struct slice line, struct slice name, struct slice row, bool *found, struct buf *out)
{
	bool any = false;
	while (slice_is_set(line)) {
		struct slice one = slice_cut(&line, ';');
		bool hit = row_is_of(one, name);
		*found |= hit;
		if (hit && !slice_is_set(row))
			continue;
		if (any)
			BUF_PUT(out, ";");
		buf_put(out, hit ? row : one);
		any = true;
	}
	return any;
}

void accounts_file_edit(struct slice text, struct slice name, struct slice row, bool *ret_found, struct buf *out)
{
	*ret_found = false;
	while (slice_is_set(text) && text.len) {
		struct slice line = slice_cut(&text, '\n');
		bool kept = true;
		if (slice_has_prefix(slice_trim(line), SLICE("#")) || slice_trim(line).len == 0)
			buf_put(out, line);
		else
			kept = edit_line(line, name, row, ret_found, out);
		if (kept)
			BUF_PUT(out, "\n");
	}
	if (!*ret_found && slice_is_set(row)) {
		buf_put(out, row);
		BUF_PUT(out, "\n");
	}
}

/* SPDX-License-Identifier: Apache-2.0
 * Every SMB2 parser over one part (its structure size chooses which goes on): whatever the bytes, fields lie inside the
 * part, and a header that was read is written as it was. */
#include "wire/smb2/create.h"
#include "wire/smb2/file.h"
#include "wire/smb2/info.h"
#include "wire/smb2/setup.h"

#include "fuzz.h"

static void inside(struct slice part, struct slice field)
{
	CHECK(field.len == 0 || (field.ptr >= part.ptr && field.ptr + field.len <= part.ptr + part.len));
}

static void known(enum err e)
{
	CHECK(e == ERR_OK || e == ERR_SYNTAX);
}

static void check_setup(struct slice p)
{
	struct smb2_negotiate n;
	struct smb2_session_setup s;
	struct slice path;
	if (smb2_negotiate_parse(p, &n) == ERR_OK)
		CHECK(n.dialect_count <= SMB2_DIALECTS_MAX && n.ciphers.count <= SMB2_ALGORITHMS_MAX);
	if (smb2_session_setup_parse(p, &s) == ERR_OK)
		inside(p, s.token);
	if (smb2_tree_connect_parse(p, &path) == ERR_OK)
		inside(p, path);
}

static void check_set(struct slice input)
{
	struct smb2_set_basic basic;
	struct smb2_set_rename rename;
	known(smb2_set_basic_parse(input, &basic));
	if (smb2_set_rename_parse(input, &rename) == ERR_OK)
		inside(input, rename.name);
}

static void check_header(struct slice p, const struct smb2_header *h)
{
	struct buf b;
	buf_init(&b, SMB2_HEADER_BYTES);
	smb2_header_put(&b, h);
	CHECK(buf_ok(&b) && slice_eq(buf_slice(&b), slice_first(p, SMB2_HEADER_BYTES)));
	buf_fini(&b);
}

static void check_file(struct slice p)
{
	struct smb2_write w;
	struct smb2_lock l;
	struct smb2_ioctl i;
	struct smb2_query_directory d;
	struct smb2_query_info q;
	struct smb2_set_info s;
	struct smb2_break b;
	struct smb2_close c;
	struct smb2_read r;
	struct smb2_change_notify n;
	struct smb2_file_id id;
	known(smb2_close_parse(p, &c));
	known(smb2_flush_parse(p, &id));
	known(smb2_read_parse(p, &r));
	known(smb2_change_notify_parse(p, &n));
	known(smb2_empty_parse(p));
	if (smb2_write_parse(p, &w) == ERR_OK)
		inside(p, w.data);
	if (smb2_lock_parse(p, &l) == ERR_OK)
		for (size_t k = 0; k < l.count; k++)
			(void)smb2_lock_element(&l, k);
	if (smb2_ioctl_parse(p, &i) == ERR_OK)
		inside(p, i.input);
	if (smb2_query_directory_parse(p, &d) == ERR_OK)
		inside(p, d.pattern);
	if (smb2_query_info_parse(p, &q) == ERR_OK)
		inside(p, q.input);
	if (smb2_set_info_parse(p, &s) == ERR_OK) {
		inside(p, s.input);
		check_set(s.input);
	}
	if (smb2_break_parse(p, &b) == ERR_OK)
		CHECK(b.lease || b.state == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice p = fuzz_copy(slice_make(data, size));
	struct smb2_header h;
	struct smb2_transform t;
	struct smb2_create c;
	if (smb2_transform_parse(p, &t) == ERR_OK)
		CHECK(t.size + SMB2_TRANSFORM_BYTES == size);
	(void)smb2_smb1_offers_smb2(p);
	if (smb2_header_parse(p, &h) == ERR_OK) {
		check_header(p, &h);
		check_setup(p);
		check_file(p);
		if (smb2_create_parse(p, &c) == ERR_OK) {
			inside(p, c.name);
			inside(p, c.security);
		}
	}
	fuzz_free(p);
	return 0;
}

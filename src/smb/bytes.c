/* SPDX-License-Identifier: Apache-2.0
 * READ and WRITE: bytes of a file between the wire and the share, on a worker where the disk may be waited for. */
#include "smb/bytes.h"

struct look {
	struct file_open_read_call call;
	struct file_get_call get; /* of a previous version */
};

static enum err pieces_copy(struct store *store, const struct file_pieces *p, char *dst)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct file_piece *piece = &p->piece[i];
		if (slice_is_set(piece->bytes))
			memcpy(dst, piece->bytes.ptr, piece->length_bytes);
		else if (piece->extent.length_bytes)
			TRY(extent_read(store, &piece->extent, piece->offset, (uint32_t)piece->length_bytes, dst));
		else
			memset(dst, 0, piece->length_bytes);
		dst += piece->length_bytes;
	}
	return ERR_OK;
}

static enum err look_at(struct smb_request *r, const struct smb_open *o, struct look *l, uint64_t first, uint64_t last)
{
	struct file_get_call *g = o->snapshot ? &l->get : &l->call.get;
	*g = (struct file_get_call){ .want_bytes = true, .has_range = true, .range_first = first, .range_last = last };
	g->target = (struct file_target){
		.has_snapshot = o->snapshot,
		.snapshot_ticks = o->snapshot_ticks,
		.place = { .by_id = true, .id = o->handle.inode_id },
		.kind = FILE_KIND_FILE,
		.through_open = true,
	};
	l->call.handle = o->handle;
	/* Of the open's own share: a copy may read from another one than it writes to. */
	return store_read(r->conn->sl->server->config.store, o->tree->partition,
			  o->snapshot ? file_apply_get : file_apply_open_read, o->snapshot ? (void *)g : &l->call,
			  &r->arena);
}

enum err smb_read_bytes(struct smb_request *r, const struct smb_open *o, uint64_t offset, uint32_t length, char *dst,
			uint64_t *ret_length)
{
	struct store *store = r->conn->sl->server->config.store;
	struct look *l = ARENA_NEW(&r->arena, struct look);
	struct file_get_call *g = l ? o->snapshot ? &l->get : &l->call.get : NULL;
	uint64_t end = offset + length, done = 0;
	enum err e = l ? ERR_OK : ERR_NO_MEMORY;
	uint64_t pin = extent_pin(store);
	/* Once, unless there are very many pieces. */
	while (e == ERR_OK && offset + done < end) {
		e = look_at(r, o, l, offset + done, end - 1);
		if (e == ERR_OK)
			e = pieces_copy(store, &g->pieces, dst + done);
		if (e != ERR_OK || g->pieces.length_bytes == 0)
			break;
		done += g->pieces.length_bytes;
		if (g->pieces.length_bytes == g->length)
			break;
	}
	extent_unpin(store, pin);
	if (e != ERR_OK && e != ERR_INVALID_RANGE) /* that: it begins behind the end */
		return e;
	*ret_length = done;
	return ERR_OK;
}

enum err smb_payload_make(struct smb_request *r, struct slice data, struct payload *ret)
{
	struct store *store = r->conn->sl->server->config.store;
	if (data.len > store_inline_bytes(store))
		return payload_write(store, data, ret);
	*ret = (struct payload){ .length_bytes = data.len, .inline_bytes = data, .borrowed = true };
	return ERR_OK;
}

void smb_payload_end(struct smb_request *r, struct payload *p, enum err result)
{
	/* After these the commit may have happened, and what it names must stay. */
	bool unknown = result == ERR_UNKNOWN || result == ERR_IO || result == ERR_STOPPED;
	if (result != ERR_OK && !unknown)
		payload_abandon(r->conn->sl->server->config.store, p);
	payload_fini(p);
}

void smb_write_fill(struct file_open_write_call *call, const struct smb_open *o, uint64_t offset, uint64_t length,
		    const struct payload *payload)
{
	call->handle = o->handle;
	call->write = (struct file_write_call){
		.target = { .place = { .by_id = true, .id = o->handle.inode_id },
			    .kind = FILE_KIND_FILE,
			    .through_open = true },
		.offset = offset,
		.length = length,
		.payload = payload,
		.may_extend = true,
	};
}

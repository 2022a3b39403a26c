/* SPDX-License-Identifier: Apache-2.0
 * One chunk after another: read on a snapshot through the source's open, written through the target's, each its own
 * commit, as the client's own reads and writes would be. */
#include "smb/command/copychunk.h"

#include "smb/bytes.h"

#include <assert.h>

enum {
	KEY_BYTES = 24,
	HEAD_BYTES = 32,
	CHUNK_BYTES = 24,
	CHUNKS_MAX = 256,
	CHUNK_MAX_BYTES = 1024 * 1024,
	TOTAL_MAX_BYTES = 16 * 1024 * 1024,
	ANSWER_BYTES = 12,
};

struct copy {
	struct smb2_ioctl io;
	struct smb_open *source;
	size_t count, done;
	uint64_t total;
	/* the chunk at hand */
	uint64_t from, to, got;
	uint32_t length;
	char *memory;
	struct payload payload;
	struct file_open_write_call write;
};

static void answer(struct smb_request *r, uint32_t status, uint32_t chunks, uint32_t bytes, uint32_t total)
{
	struct copy *c = r->call;
	char out[ANSWER_BYTES];
	bytes_store(out, chunks, 4);
	bytes_store(out + 4, bytes, 4);
	bytes_store(out + 8, total, 4);
	free(c->memory);
	c->memory = NULL;
	if (c->source)
		smb_open_unref(c->source);
	c->source = NULL;
	smb2_ioctl_put(r->out, c->io.code, r->open->id, slice_make(out, sizeof out));
	smb_reply(r, status);
}

/* What was done before stays done, and the answer tells how much that was. */
static void copy_stop(struct smb_request *r, uint32_t status)
{
	struct copy *c = r->call;
	answer(r, status, (uint32_t)c->done, 0, (uint32_t)c->total);
}

/* Nothing was begun. */
static void copy_fail(struct smb_request *r, uint32_t status)
{
	struct copy *c = r->call;
	smb_open_unref(c->source);
	c->source = NULL;
	smb_fail(r, status);
}

static void copy_next(struct smb_request *);

/* On a worker: one chunk from the source to a payload of its own. */
static enum err chunk_run(struct smb_request *r)
{
	struct copy *c = r->call;
	c->got = 0;
	TRY(smb_read_bytes(r, c->source, c->from, c->length, c->memory, &c->got));
	if (c->got < c->length)
		return ERR_OK;
	if (c->to > FILE_SIZE_MAX_BYTES - c->length)
		return ERR_NO_SPACE;
	return smb_payload_make(r, slice_make(c->memory, c->length), &c->payload);
}

static void copy_written(struct smb_request *r, enum err e)
{
	struct copy *c = r->call;
	smb_payload_end(r, &c->payload, e);
	if (e != ERR_OK) {
		copy_stop(r, e == ERR_SHARE_SIZE_LIMIT_REACHED ? STATUS_DISK_FULL : smb_status_of(e));
		return;
	}
	smb_tell(r, &c->write.breaks);
	smb_publish(r, &c->write.write.events);
	c->total += c->write.write.length;
	c->done++;
	copy_next(r);
}

static void chunk_read(struct smb_request *r, enum err e)
{
	struct copy *c = r->call;
	if (e != ERR_OK || c->got < c->length) {
		copy_stop(r, e != ERR_OK ? smb_status_of(e) : STATUS_INVALID_VIEW_SIZE);
		return;
	}
	smb_write_fill(&c->write, r->open, c->to, c->length, &c->payload);
	smb_commit(r, r->tree->partition, file_apply_open_write, &c->write, copy_written);
}

static void copy_next(struct smb_request *r)
{
	struct copy *c = r->call;
	if (c->done == c->count) {
		answer(r, STATUS_OK, (uint32_t)c->count, 0, (uint32_t)c->total);
		return;
	}
	struct slice chunk = slice_from(c->io.input, HEAD_BYTES + c->done * CHUNK_BYTES);
	assert(chunk.ptr && chunk.len >= CHUNK_BYTES); /* counted when the request was read */
	c->from = smb2_u64(chunk, 0);
	c->to = smb2_u64(chunk, 8);
	c->length = smb2_u32(chunk, 16);
	smb_work(r, chunk_run, chunk_read);
}

/* More than may be asked for at once: the answer tells the limits. */
static bool limits_ok(const struct copy *c)
{
	uint64_t total = 0;
	if (c->count > CHUNKS_MAX)
		return false;
	for (size_t i = 0; i < c->count; i++) {
		uint32_t length = smb2_u32(c->io.input, HEAD_BYTES + i * CHUNK_BYTES + 16);
		if (length == 0 || length > CHUNK_MAX_BYTES)
			return false;
		total += length;
	}
	return total <= TOTAL_MAX_BYTES;
}

static uint32_t rights_check(const struct smb_request *r, const struct copy *c, bool read_too)
{
	const struct smb_open *o = r->open;
	if (o->directory || c->source->directory)
		return STATUS_INVALID_DEVICE_REQUEST;
	if (!(o->access & (SMB2_WRITE_DATA | SMB2_APPEND_DATA)) ||
	    !(c->source->access & (SMB2_READ_DATA | SMB2_EXECUTE)))
		return STATUS_ACCESS_DENIED;
	if (read_too && !(o->access & SMB2_READ_DATA))
		return STATUS_ACCESS_DENIED;
	return STATUS_OK;
}

void smb_copychunk(struct smb_request *r, const struct smb2_ioctl *io, bool read_too)
{
	struct copy *c = ARENA_NEW(&r->arena, struct copy);
	if (!c || io->input.len < HEAD_BYTES || io->max_output < ANSWER_BYTES) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	r->call = c;
	c->io = *io;
	c->count = smb2_u32(io->input, KEY_BYTES);
	if (c->count > (io->input.len - HEAD_BYTES) / CHUNK_BYTES) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	c->source = smb_open_find(r->session, smb2_file_id_load(io->input, 0));
	if (!c->source) {
		smb_fail(r, STATUS_OBJECT_NAME_NOT_FOUND);
		return;
	}
	smb_open_ref(c->source);
	uint32_t status = rights_check(r, c, read_too);
	if (status != STATUS_OK) {
		copy_fail(r, status);
		return;
	}
	if (!limits_ok(c)) {
		answer(r, STATUS_INVALID_PARAMETER, CHUNKS_MAX, CHUNK_MAX_BYTES, TOTAL_MAX_BYTES);
		return;
	}
	c->memory = malloc(CHUNK_MAX_BYTES);
	if (!c->memory) {
		copy_fail(r, STATUS_INSUFFICIENT_RESOURCES);
		return;
	}
	copy_next(r);
}

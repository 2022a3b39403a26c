/* SPDX-License-Identifier: Apache-2.0
 * TREE_CONNECT and TREE_DISCONNECT. A tree is a share of the session's account, found by name; its generation stays the
 * one it was connected to, so that a share deleted and made again under the name is another one. */
#include "smb/smb_int.h"

#include <assert.h>

#include "base/hash.h"
#include "smb/opens.h"
#include "svc/account/resource.h"
#include "wire/utf16.h"

enum { NAME_BYTES_MAX = 256 };
/* Metadata of a share that are settings for SMB: "on" or "off". */
#define CONTINUOUS_KEY "smbContinuousAvailability"
#define READ_ONLY_KEY  "smbReadOnly"

struct smb_tree *smb_tree_find(struct smb_session *s, uint32_t id)
{
	for (struct smb_tree *t = s->trees; t; t = t->next)
		if (t->id == id)
			return t;
	return NULL;
}

void smb_tree_ref(struct smb_tree *t)
{
	t->refs++;
}

void smb_tree_unref(struct smb_tree *t)
{
	assert(t->refs > 0);
	if (--t->refs > 0)
		return;
	free((void *)(uintptr_t)t->name.ptr);
	free((void *)(uintptr_t)t->partition.ptr);
	free(t);
}

void smb_tree_end(struct smb_session *s, struct smb_tree *t)
{
	struct smb_tree **at = &s->trees;
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	s->tree_count--;
	t->ended = true;
	smb_cancel_all(s->conn, s, t, STATUS_FILE_CLOSED);
	smb_opens_end(s, t, false);
	smb_tree_unref(t);
}

/* The text behind the last backslash, lower-cased as shares are named. */
static enum err share_name(struct smb_request *r, struct slice path, struct slice *ret)
{
	struct slice text;
	TRY(utf16_to_utf8(path, &r->arena, &text));
	size_t begin = text.len;
	while (begin > 0 && text.ptr[begin - 1] != '\\')
		begin--;
	text = slice_from(text, begin);
	if (text.len == 0 || text.len > NAME_BYTES_MAX)
		return ERR_SHARE_NOT_FOUND;
	char *lower = arena_alloc(&r->arena, text.len);
	if (!lower)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < text.len; i++)
		lower[i] = text.ptr[i] >= 'A' && text.ptr[i] <= 'Z' ? (char)(text.ptr[i] + 32) : text.ptr[i];
	*ret = slice_make(lower, text.len);
	return ERR_OK;
}

static struct slice heap_dup(struct slice s)
{
	char *copy = malloc(s.len ? s.len : 1);
	if (copy && s.len)
		memcpy(copy, s.ptr, s.len);
	return copy ? slice_make(copy, s.len) : SLICE_NONE;
}

/* As the share's metadata say; anything else than "on" and "off" says nothing. */
static bool share_setting(const struct resource *share, struct slice key, bool otherwise)
{
	for (size_t i = 0; i < share->metadata.count; i++) {
		const struct pair *p = &share->metadata.pair[i];
		if (!slice_eq_nocase(p->name, key))
			continue;
		if (slice_eq_nocase(p->value, SLICE("on")))
			return true;
		if (slice_eq_nocase(p->value, SLICE("off")))
			return false;
	}
	return otherwise;
}

static bool share_is_continuous(const struct smb_request *r, const struct resource *share)
{
	bool by_default = r->conn->sl->server->config.persistent_handles;
	return smb_is_3x(r->conn) && share_setting(share, SLICE(CONTINUOUS_KEY), by_default);
}

uint32_t smb_tree_access(const struct smb_tree *t)
{
	return t->read_only ? SMB2_READ_AND_EXECUTE : SMB2_ALL_ACCESS;
}

static enum err tree_new(struct smb_request *r, struct slice name, struct smb_tree **ret)
{
	struct smb_session *s = r->session;
	struct resource found = { 0 };
	struct slice partition = SLICE("");
	bool pipe = slice_eq(name, SLICE("ipc$"));
	if (!pipe) {
		enum err e = resource_find(r->conn->sl->server->config.store, s->account->name, RESOURCE_SHARE, name,
					   &r->arena, &found);
		if (e != ERR_OK)
			return e == ERR_NOT_FOUND ? ERR_SHARE_NOT_FOUND : e;
		partition =
			resource_generation_partition(&r->arena, s->account->name, RESOURCE_SHARE, found.generation);
		if (!slice_is_set(partition))
			return ERR_NO_MEMORY;
	}
	struct smb_tree *t = s->tree_count < SMB_TREES_MAX ? calloc(1, sizeof *t) : NULL;
	if (!t)
		return ERR_NO_MEMORY;
	*t = (struct smb_tree){
		.refs = 1,
		.id = s->next_tree_id++,
		.pipe = pipe,
		.name = heap_dup(name),
		.partition = heap_dup(partition),
		.generation = found.generation,
		.created_ticks = found.created_ticks,
		.continuous = !pipe && share_is_continuous(r, &found),
		.read_only = !pipe && share_setting(&found, SLICE(READ_ONLY_KEY), false),
	};
	if (!slice_is_set(t->name) || !slice_is_set(t->partition)) {
		smb_tree_unref(t);
		return ERR_NO_MEMORY;
	}
	t->share = base_hash_bytes(0, t->partition);
	t->next = s->trees;
	s->trees = t;
	s->tree_count++;
	*ret = t;
	return ERR_OK;
}

void smb_do_tree_connect(struct smb_request *r)
{
	struct slice path, name;
	struct smb_tree *t;
	/* An unprotected TREE_CONNECT of 3.1.1 would leave the negotiation unproven. */
	if (r->conn->dialect == SMB2_DIALECT_311 && !r->is_signed && !r->chain->encrypted) {
		smb_conn_close(r->conn);
		smb_fail(r, STATUS_ACCESS_DENIED);
		return;
	}
	if (smb2_tree_connect_parse(r->part, &path) != ERR_OK || path.len % 2) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	enum err e = share_name(r, path, &name);
	if (e == ERR_OK)
		e = tree_new(r, name, &t);
	if (e != ERR_OK) {
		smb_fail(r, e == ERR_SYNTAX ? STATUS_BAD_NETWORK_NAME : smb_status_of(e));
		return;
	}
	struct smb2_tree_answer a = {
		.share_type = t->pipe ? SMB2_SHARE_PIPE : SMB2_SHARE_DISK,
		.share_flags = r->session->encrypts ? SMB2_SHAREFLAG_ENCRYPT : 0,
		.maximal_access = smb_tree_access(t),
	};
	if (t->continuous)
		a.capabilities |= SMB2_SHARE_CAP_CA;
	r->h.tree_id = r->chain->tree_id = t->id;
	smb2_tree_connect_put(r->out, &a);
	smb_reply(r, STATUS_OK);
}

void smb_do_tree_disconnect(struct smb_request *r)
{
	if (smb2_empty_parse(r->part) != ERR_OK) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	r->sync = smb_opens_are_unsynced(r->session, r->tree);
	smb_tree_end(r->session, r->tree);
	smb_reply_synced(r);
}

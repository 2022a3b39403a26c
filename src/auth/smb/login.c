/* SPDX-License-Identifier: Apache-2.0
 * One login over SMB: SPNEGO unwrapped, NTLM asked, SPNEGO wrapped, until there is a session key or a refusal. */
#include "auth/smb/login.h"

#include "auth/smb/spnego.h"

enum { MECHANISMS_BYTES_MAX = 4096 };

void login_init(struct login *l)
{
	*l = (struct login){ 0 };
	buf_init(&l->mechanisms, MECHANISMS_BYTES_MAX);
	ntlm_init(&l->ntlm);
}

void login_fini(struct login *l)
{
	buf_fini(&l->mechanisms);
	ntlm_fini(&l->ntlm);
}

static enum login_result refuse(struct login *l)
{
	l->stage = LOGIN_ENDED;
	return LOGIN_REFUSED;
}

static enum login_result challenge(struct login *l, const struct login_input *in, const struct spnego_token *t,
				   struct buf *out)
{
	struct buf message;
	buf_init(&message, NTLM_MESSAGE_BYTES_MAX);
	enum err e = ntlm_challenge(&l->ntlm, t->token, in->challenge, in->file_time, &message);
	if (e == ERR_OK && l->raw)
		buf_put(out, buf_slice(&message));
	else if (e == ERR_OK)
		spnego_answer_put(out, SPNEGO_INCOMPLETE, t->first, buf_slice(&message), SLICE_NONE);
	buf_fini(&message);
	l->stage = LOGIN_WAITS_AUTHENTICATE;
	return e == ERR_OK && buf_ok(out) ? LOGIN_MORE : refuse(l);
}

static enum login_result begin(struct login *l, const struct login_input *in, const struct spnego_token *t,
			       struct buf *out)
{
	if ((!t->first && !t->raw) || !t->ntlm_offered)
		return refuse(l);
	l->raw = t->raw;
	if (!t->raw)
		buf_put(&l->mechanisms, t->mechanisms);
	if (!buf_ok(&l->mechanisms))
		return refuse(l);
	l->signature_needed = !t->ntlm_preferred;
	if (t->ntlm_preferred && slice_is_set(t->token))
		return challenge(l, in, t, out);
	/* Its token, if any, is for a mechanism that we have not. */
	l->stage = LOGIN_WAITS_NEGOTIATE;
	spnego_answer_put(out, l->signature_needed ? SPNEGO_REQUEST_MIC : SPNEGO_INCOMPLETE, true, SLICE_NONE,
			  SLICE_NONE);
	return buf_ok(out) ? LOGIN_MORE : refuse(l);
}

static enum login_result authenticate(struct login *l, const struct login_input *in, const struct spnego_token *t,
				      struct buf *out)
{
	unsigned char mine[NTLM_MIC_BYTES], theirs[NTLM_MIC_BYTES];
	pthread_rwlock_rdlock(&in->accounts->lock);
	enum err e = ntlm_authenticate(&l->ntlm, t->token, in->accounts->account, in->accounts->count, &l->account);
	pthread_rwlock_unlock(&in->accounts->lock);
	l->malformed = e == ERR_SYNTAX;
	if (e != ERR_OK)
		return refuse(l);
	l->stage = LOGIN_ENDED;
	if (l->raw)
		return LOGIN_DONE;
	struct slice list = buf_slice(&l->mechanisms), signature = SLICE_NONE;
	if (slice_is_set(t->signature)) {
		if (!ntlm_sign(&l->ntlm, true, list, theirs) ||
		    !slice_eq_consttime(slice_make(theirs, sizeof theirs), t->signature))
			return refuse(l);
		if (ntlm_sign(&l->ntlm, false, list, mine))
			signature = slice_make(mine, sizeof mine);
	} else if (l->signature_needed) {
		return refuse(l);
	}
	spnego_answer_put(out, SPNEGO_COMPLETED, false, SLICE_NONE, signature);
	return buf_ok(out) ? LOGIN_DONE : refuse(l);
}

enum login_result login_step(struct login *l, const struct login_input *in, struct buf *out)
{
	struct spnego_token t;
	if (spnego_parse(in->token, &t) != ERR_OK)
		return refuse(l);
	switch (l->stage) {
	case LOGIN_BEGINS:
		return begin(l, in, &t, out);
	case LOGIN_WAITS_NEGOTIATE:
		return t.first || t.raw || !slice_is_set(t.token) ? refuse(l) : challenge(l, in, &t, out);
	case LOGIN_WAITS_AUTHENTICATE:
		return t.first || t.raw != l->raw || !slice_is_set(t.token) ? refuse(l) : authenticate(l, in, &t, out);
	default:
		return refuse(l);
	}
}

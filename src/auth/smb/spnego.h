/* SPDX-License-Identifier: Apache-2.0
 * SPNEGO tokens as a server that accepts NTLMSSP alone needs them: DER in, DER out. Definite lengths of at most four
 * bytes; anything else is ERR_SYNTAX. */
#ifndef AUTH_SPNEGO_H
#define AUTH_SPNEGO_H

#include "base/buf.h"
#include "base/err.h"

enum { SPNEGO_BYTES_MAX = 64 * 1024 };

struct spnego_token {
	bool raw;		 /* NTLMSSP without SPNEGO around it: answered in kind */
	bool first;		 /* a NegTokenInit */
	struct slice mechanisms; /* NegTokenInit: the list as sent, which both sides sign */
	bool ntlm_offered, ntlm_preferred;
	struct slice token;	/* absent if there is none */
	struct slice signature; /* of the mechanism list; absent if there is none */
};
enum err spnego_parse(struct slice bytes, struct spnego_token *ret) MUST_CHECK;

enum spnego_state { SPNEGO_COMPLETED, SPNEGO_INCOMPLETE, SPNEGO_REJECTED, SPNEGO_REQUEST_MIC };
/* What NEGOTIATE carries: a NegTokenInit that offers NTLMSSP. */
void spnego_offer_put(struct buf *);
/* A NegTokenResp; absent parts are left out. */
void spnego_answer_put(struct buf *, enum spnego_state, bool name_mechanism, struct slice token,
		       struct slice signature);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * The accepting side of NTLMSSP: NTLMv2 with the account's name and key and nothing weaker (no NTLMv1, no LM, no
 * anonymous or guest). The password is the account key as its owner writes it, in Base64; both keys count. The
 * challenge and the time are handed in. Used by one thread. */
#ifndef AUTH_NTLM_H
#define AUTH_NTLM_H

#include "auth/auth.h"
#include "base/buf.h"

enum { NTLM_KEY_BYTES = 16, NTLM_CHALLENGE_BYTES = 8, NTLM_MIC_BYTES = 16, NTLM_MESSAGE_BYTES_MAX = 16 * 1024 };

struct ntlm {
	unsigned char challenge[NTLM_CHALLENGE_BYTES];
	uint32_t flags;			   /* of the client's last message */
	struct buf first, second;	   /* NEGOTIATE and CHALLENGE, for the code over all three messages */
	unsigned char key[NTLM_KEY_BYTES]; /* the session key, once authenticated */
	bool has_code;			   /* the client's messages were protected by a code */
	const struct auth_account *tried;  /* whose key was to be proved; NULL: no such account */
	unsigned key_number;		   /* which of its keys was: 1, 2 */
};

void ntlm_init(struct ntlm *);
void ntlm_fini(struct ntlm *); /* wipes the key; accepts a zeroed one */
/* Reads NEGOTIATE and writes CHALLENGE. `file_time` is the time in 100 ns since 1601. */
enum err ntlm_challenge(struct ntlm *, struct slice negotiate, const unsigned char challenge[NTLM_CHALLENGE_BYTES],
			uint64_t file_time, struct buf *out) MUST_CHECK;
/* Reads AUTHENTICATE. ERR_AUTHENTICATION_FAILED for everything that is not a proof of one of the accounts' keys,
 * ERR_SYNTAX if it is an NTLMv2 response whose list of pairs is broken. */
enum err ntlm_authenticate(struct ntlm *, struct slice message, const struct auth_account *accounts, size_t count,
			   const struct auth_account **ret) MUST_CHECK;
/* The signature of the mechanism list, by the client or by the server; false if this login has no keys for it. */
bool ntlm_sign(const struct ntlm *, bool by_client, struct slice text, unsigned char ret[NTLM_MIC_BYTES]);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Shared access signatures: account SAS, service SAS and user delegation SAS.
 *
 * A token is the query's parameters, each at most once. In the string to sign a parameter that is missing and one that
 * is empty look the same, so they mean the same everywhere: an empty parameter is absent. What a layout does not sign
 * is never used to grant or change anything. */
#ifndef AUTH_SAS_H
#define AUTH_SAS_H

#include "auth/auth.h"

#define SAS_FIELD_LIST(X)                                                                                              \
	X(SIG, "sig")                                                                                                  \
	X(SV, "sv")                                                                                                    \
	X(SP, "sp")                                                                                                    \
	X(ST, "st")                                                                                                    \
	X(SE, "se")                                                                                                    \
	X(SR, "sr")                                                                                                    \
	X(SI, "si")                                                                                                    \
	X(SIP, "sip")                                                                                                  \
	X(SPR, "spr")                                                                                                  \
	X(SES, "ses")                                                                                                  \
	X(SDD, "sdd")                                                                                                  \
	X(SS, "ss")                                                                                                    \
	X(SRT, "srt")                                                                                                  \
	X(RSCC, "rscc")                                                                                                \
	X(RSCD, "rscd")                                                                                                \
	X(RSCE, "rsce")                                                                                                \
	X(RSCL, "rscl")                                                                                                \
	X(RSCT, "rsct")                                                                                                \
	X(TN, "tn")                                                                                                    \
	X(SPK, "spk")                                                                                                  \
	X(SRK, "srk")                                                                                                  \
	X(EPK, "epk")                                                                                                  \
	X(ERK, "erk")                                                                                                  \
	X(SKOID, "skoid")                                                                                              \
	X(SKTID, "sktid")                                                                                              \
	X(SKT, "skt")                                                                                                  \
	X(SKE, "ske")                                                                                                  \
	X(SKS, "sks")                                                                                                  \
	X(SKV, "skv")                                                                                                  \
	X(SAOID, "saoid")                                                                                              \
	X(SUOID, "suoid")                                                                                              \
	X(SCID, "scid")                                                                                                \
	X(SKDUTID, "skdutid")                                                                                          \
	X(SDUOID, "sduoid")                                                                                            \
	X(SRH, "srh")                                                                                                  \
	X(SRQ, "srq")                                                                                                  \
	X(SNAPSHOT, "snapshot")                                                                                        \
	X(VERSIONID, "versionid")

enum sas_field {
#define X(name, text) SAS_##name,
	SAS_FIELD_LIST(X)
#undef X
		SAS_FIELDS
};

/* Versions (sv) that brought something. */
enum {
	SAS_V_FIRST = 20120212,
	SAS_V_OVERRIDES = 20130815,	      /* response headers are signed */
	SAS_V_SERVICE_IN_RESOURCE = 20150221, /* "/blob/account/..." */
	SAS_V_ACCOUNT_SAS = 20150405,
	SAS_V_IP_AND_PROTOCOL = 20150405,
	SAS_V_DELEGATION = 20181109,
	SAS_V_SNAPSHOT_SAS = 20181109,
	SAS_V_RESOURCE_SIGNED = 20181109, /* sr and the snapshot or version */
	SAS_V_DIRECTORY_SAS = 20200210,
	SAS_V_AGENTS = 20200210, /* saoid, suoid, scid */
	SAS_V_ENCRYPTION_SCOPE = 20201206,
	SAS_V_DELEGATED_USER = 20250705, /* skdutid, sduoid */
	SAS_V_DELEGATION_BEYOND_BLOB = 20260206,
	SAS_V_SIGNED_REQUEST = 20260406, /* srh, srq */
};

struct sas_token {
	struct slice field[SAS_FIELDS]; /* decoded; absent or not empty */
	uint32_t version;		/* sv as yyyymmdd; 0 if missing or malformed */
	bool repeated;			/* a parameter stands twice */
	bool control_bytes;		/* a value could move the lines of the string to sign: refused */
};

enum sas_kind { SAS_NONE, SAS_ACCOUNT, SAS_SERVICE, SAS_DELEGATION };

/* Reads the parameters; SAS_NONE if they are not a token at all. A token without sig is still one (and refused). */
enum sas_kind sas_token_read(const struct query *, struct sas_token *ret);

/* Is the token for one blob, snapshot, version or file (by its sr), not for a whole container or share? */
bool sas_names_object(const struct auth_request *, const struct sas_token *);

/* The strings to sign. The resource (account, container, object) and, for srh and srq, header and parameter values come
 * from the request. */
enum err sas_account_string(const struct auth_request *, const struct sas_token *, struct arena *,
			    struct slice *ret) MUST_CHECK;
enum err sas_service_string(const struct auth_request *, const struct sas_token *, struct arena *,
			    struct slice *ret) MUST_CHECK;
enum err sas_delegation_string(const struct auth_request *, const struct sas_token *, struct arena *,
			       struct slice *ret) MUST_CHECK;

/* Signs a token whose fields are filled (all but sig) with account key `key_index`: for clients and tests.
 * Base64 into the arena. */
enum err sas_sign(const struct auth_request *, enum sas_kind, const struct sas_token *, unsigned key_index,
		  struct arena *, struct slice *ret_signature) MUST_CHECK;

/* Proves the token. `user` is the bearer identity that came with it, or NULL (only for tokens bound to one user). */
enum err sas_verify(const struct auth_request *, enum sas_kind, const struct sas_token *,
		    const struct auth_identity *user, struct arena *, struct auth_identity *ret,
		    struct auth_failure *ret_failure) MUST_CHECK;

/* "yyyy-mm-dd" as a number that compares; 0 if malformed. */
uint32_t sas_version_parse(struct slice text);

/* delegation.c: derives the key of a delegation token from account key `key_index`; false if that is not set or the
 * token's key fields do not parse. */
bool sas_delegation_key(const struct auth_request *, const struct sas_token *, unsigned key_index,
			unsigned char ret_key[AUTH_DELEGATION_KEY_BYTES]);

#endif

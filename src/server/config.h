/* SPDX-License-Identifier: Apache-2.0
 * Settings, from config.def: parsed from flags, environment and one file, then judged as a whole (safe defaults).
 * Strings live as long as the struct. Errors are written to a buf as one line that says what to do. */
#ifndef SERVER_CONFIG_H
#define SERVER_CONFIG_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum { CONFIG_SERVICES = 4 }; /* blob, queue, table, file: in the order of services.def */

/* Azurite's programs, by the name of the program or its first word: its banner, its default ports, nothing else. */
enum persona { PERSONA_ZAFFRE, PERSONA_AZURITE, PERSONA_AZURITE_BLOB, PERSONA_AZURITE_QUEUE, PERSONA_AZURITE_TABLE };

struct config {
	struct arena arena;
	enum persona persona;
	unsigned service_mask; /* bit i: service i is served */
	int argc;	       /* where it was parsed from, to parse it again */
	char **argv;
	int flags_argc; /* of these the flags */
	char **flags_argv;
	/* as given */
	const char *location, *mode, *config;
	int64_t threads, maxConnections, maxConnectionsPerAddress, requestMemory;
	bool changeMode, check;
	bool inMemoryPersistence, disableProductStyleUrl, anyAccount;
	const char *services, *publicHost, *pwd;
	const char *blobHost, *queueHost, *tableHost, *fileHost;
	int64_t blobPort, queuePort, tablePort, filePort;
	const char *cert, *key, *moreCerts, *tlsMinVersion, *tlsCiphers, *clientCa;
	const char *trustedProxies;
	bool proxyProtocol;
	const char *accounts, *accountName;
	const char *accounts_source; /* where they stood: a variable, or a line of the file */
	bool iKnowThisKeyIsPublic, allowPlainHttp, silent;
	const char *accountLimits;
	const char *oauthKeys, *oauthIssuer, *oauthAudience, *oauthRoles;
	bool oauthEveryTokenOwns;
	const char *oauth, *create, *accessLog, *debug, *deletePendingCode;
	const char *webPort, *adminHost, *adminPort, *adminSocket, *adminToken, *readyFile;
	bool adminReadOnly;
	const char *rowIndex, *sandbox;
	const char *auditLog, *auditSync, *loginDelay;
	bool auditReads;
	const char *smbHost, *smbPort, *smbEncryption, *smbSigning, *smbWriteBack, *smbDialects, *smbCiphers;
	bool smbPersistentHandles;
	bool smbShortNames;
	bool blobVersioning;
	int64_t containerRetentionDays, shareDeleteRetentionDays;
	const char *clockShiftFile;
	int64_t mutant;
	/* derived while parsing and by config_check */
	bool file_open_to_others; /* the configuration file: others may read it ... */
	bool file_has_accounts;	  /* ... and keys stand in it */
	bool production;
	bool secure;	      /* cert and key given */
	bool beyond_loopback; /* some service listens on another address */
	bool smb_beyond_loopback;
	bool location_given; /* by whatever source: it is not the default */
};

/* The persona of that name; false if it has none. */
bool config_persona_find(const char *name, enum persona *ret);
/* Is service i served? */
static inline bool config_serves(const struct config *c, int i)
{
	return c->service_mask >> i & 1;
}

/* A flag as help, manual and completion show it. */
struct config_flag {
	bool heading; /* help is its text, the rest is empty */
	bool secret;  /* of the environment only */
	const char *flag, *environment, *fallback, *argument, *help;
	char letter;
};
/* Flag i in the order of config.def, those that are for nobody left out; false past the last. */
bool config_flag_get(size_t i, struct config_flag *ret);
/* Flag i of those that are accepted without effect; NULL past the last. */
const char *config_ignored_flag(size_t i);
/* The flag that was most likely meant; NULL if none is near. Dashes in front are not looked at. */
const char *config_flag_near(const char *word);
/* The word of a list (NULL at its end) that was most likely meant. */
const char *config_word_near(const char *word, const char *const *list);

/* argv without the program's name and subcommand, but with the name of a persona if it has one. false: *error has the
 * line to print. */
bool config_parse(struct config *, int argc, char **argv, char **environment, struct buf *error);
void config_fini(struct config *);

/* Host and port of service i (0 blob, 1 queue, 2 table). */
const char *config_host(const struct config *, int i);
int64_t config_port(const struct config *, int i);
bool config_host_is_loopback(const char *host);

#endif

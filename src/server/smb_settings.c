/* SPDX-License-Identifier: Apache-2.0
 * The settings of the SMB front end, from words of the configuration to what src/smb takes. */
#include "server/smb_settings.h"

#include "base/limits.h"

enum { PORT_DEVELOPMENT = 10445, PORT_PRODUCTION = 445 /* the only one that Windows clients use */ };

static const struct {
	const char *name;
	uint16_t dialect;
} dialects[] = {
	{ "2.1", SMB2_DIALECT_210 },
	{ "3.0", SMB2_DIALECT_300 },
	{ "3.0.2", SMB2_DIALECT_302 },
	{ "3.1.1", SMB2_DIALECT_311 },
};

static const struct {
	const char *name;
	enum smb2_cipher cipher;
} ciphers[] = {
	{ "aes-128-ccm", SMB2_CIPHER_AES128_CCM },
	{ "aes-128-gcm", SMB2_CIPHER_AES128_GCM },
	{ "aes-256-ccm", SMB2_CIPHER_AES256_CCM },
	{ "aes-256-gcm", SMB2_CIPHER_AES256_GCM },
};

static bool dialect_parse(struct slice text, uint16_t *ret)
{
	for (size_t i = 0; i < sizeof dialects / sizeof dialects[0]; i++)
		if (slice_eq(text, slice_str(dialects[i].name))) {
			*ret = dialects[i].dialect;
			return true;
		}
	return false;
}

/* "3.0-3.1.1" or one of them. */
static bool dialects_parse(struct slice text, struct smb_config *ret)
{
	struct slice rest = text;
	struct slice least = slice_trim(slice_cut(&rest, '-'));
	struct slice most = slice_is_set(rest) ? slice_trim(rest) : least;
	return dialect_parse(least, &ret->dialect_least) && dialect_parse(most, &ret->dialect_most) &&
	       ret->dialect_least <= ret->dialect_most;
}

static bool ciphers_parse(struct slice text, struct smb_config *ret)
{
	size_t count = 0;
	while (slice_is_set(text)) {
		struct slice name = slice_trim(slice_cut(&text, ','));
		enum smb2_cipher found = SMB2_CIPHER_NONE;
		for (size_t i = 0; i < sizeof ciphers / sizeof ciphers[0]; i++)
			if (slice_eq_nocase(name, slice_str(ciphers[i].name)))
				found = ciphers[i].cipher;
		if (found == SMB2_CIPHER_NONE || count + 1 >= sizeof ret->ciphers)
			return false;
		ret->ciphers[count++] = (uint8_t)found;
	}
	return count > 0;
}

/* "required", "optional", or empty for what the mode has. */
static bool requirement_parse(const char *text, bool fallback, bool *ret)
{
	*ret = text[0] ? strcmp(text, "required") == 0 : fallback;
	return !text[0] || *ret || strcmp(text, "optional") == 0;
}

bool server_smb_settings(const struct config *c, struct smb_config *ret, bool *ret_on, struct buf *error)
{
	uint64_t port = 0;
	bool signing;
	*ret = (struct smb_config){ .host = c->smbHost,
				    .loops = (unsigned)c->threads,
				    .memory_bytes = (uint64_t)c->requestMemory * MIB,
				    .connections_max = (size_t)c->maxConnections,
				    .connections_per_address = (size_t)c->maxConnectionsPerAddress };
	/* Who leaves File out, as Azurite does, gets no SMB without asking for it. */
	*ret_on = c->smbPort[0] ? strcmp(c->smbPort, "off") != 0 : config_serves(c, SERVICE_FILE);
	if (!c->smbPort[0])
		port = c->production ? PORT_PRODUCTION : PORT_DEVELOPMENT;
	else if (*ret_on && (!slice_to_u64(slice_str(c->smbPort), &port) || port > UINT16_MAX)) {
		buf_printf(error, "--smbPort takes a port number or off, not \"%s\"", c->smbPort);
		return false;
	}
	ret->port = (uint16_t)port;
	if (!requirement_parse(c->smbEncryption, c->production, &ret->encryption_required)) {
		buf_printf(error, "--smbEncryption is required or optional, not \"%s\"", c->smbEncryption);
		return false;
	}
	if (!requirement_parse(c->smbSigning, true, &signing)) {
		buf_printf(error, "--smbSigning is required or optional, not \"%s\"", c->smbSigning);
		return false;
	}
	ret->signing_optional = !signing;
	ret->write_back = strcmp(c->smbWriteBack, "on") == 0;
	ret->persistent_handles = c->smbPersistentHandles;
	ret->short_names = c->smbShortNames;
	if (!dialects_parse(slice_str(c->smbDialects), ret)) {
		buf_printf(error,
			   "--smbDialects is one of 2.1, 3.0, 3.0.2 and 3.1.1 or a range like 3.0-3.1.1, not \"%s\"",
			   c->smbDialects);
		return false;
	}
	if (!ciphers_parse(slice_str(c->smbCiphers), ret)) {
		buf_printf(
			error,
			"--smbCiphers is a list of aes-256-gcm, aes-128-gcm, aes-256-ccm and aes-128-ccm, not \"%s\"",
			c->smbCiphers);
		return false;
	}
	return true;
}

/* SPDX-License-Identifier: Apache-2.0
 * One table (config.def) drives all three sources. A later source never overwrites an earlier one, and the sources are
 * read in order of precedence: flags, environment, file. Defaults are there before all of them. */
#include "server/config.h"

#include "base/limits.h"
#include "base/service.h"
#include "base/sys/file.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* A list of 5,000 blobs with metadata takes half of it. */
enum { REQUEST_MEMORY_LEAST_MIB = 64 };

enum kind { STR, PORT, LOOPS, INT, LARGE, BOOL, OPTIONAL, SECRET, HIDDEN, HIDDEN_INT, HEADING, IGNORED, IGNORED_VALUE };

struct setting {
	enum kind kind;
	const char *flag;
	char letter;
	const char *environment;
	const char *fallback;
	const char *argument;
	const char *help;
	ptrdiff_t at; /* in struct config; -1 if it keeps nothing */
};

#define CONF(kind, field, flag, letter, environment, fallback, argument, help)                                         \
	{ kind, flag, letter, environment, fallback, argument, help, PLACE_##kind(field) },
#define PLACE(field)		   offsetof(struct config, field)
#define PLACE_STR(field)	   PLACE(field)
#define PLACE_PORT(field)	   PLACE(field)
#define PLACE_LOOPS(field)	   PLACE(field)
#define PLACE_INT(field)	   PLACE(field)
#define PLACE_LARGE(field)	   PLACE(field)
#define PLACE_BOOL(field)	   PLACE(field)
#define PLACE_OPTIONAL(field)	   PLACE(field)
#define PLACE_SECRET(field)	   PLACE(field)
#define PLACE_HIDDEN(field)	   PLACE(field)
#define PLACE_HIDDEN_INT(field)	   PLACE(field)
#define PLACE_HEADING(field)	   -1
#define PLACE_IGNORED(field)	   -1
#define PLACE_IGNORED_VALUE(field) -1
static const struct setting settings[] = {
#include "server/config.def"
};
enum { SETTING_COUNT = sizeof settings / sizeof settings[0] };

static bool setting_takes_value(const struct setting *s)
{
	return s->kind != BOOL && s->kind != IGNORED && s->kind != OPTIONAL;
}

/* The accounts are also taken from Azurite's variable, and complaints about them say where they stood. */
static bool setting_is_accounts(const struct setting *s)
{
	return s->kind == SECRET && strcmp(s->flag, "accounts") == 0;
}

static const struct setting *setting_find(struct slice name)
{
	for (size_t i = 0; i < SETTING_COUNT; i++)
		if (settings[i].flag[0] && slice_eq(name, slice_str(settings[i].flag)))
			return &settings[i];
	return NULL;
}

static const char *text_keep(struct config *c, struct slice s)
{
	char *copy = arena_alloc(&c->arena, s.len + 1);
	if (!copy)
		return "";
	if (s.len)
		memcpy(copy, s.ptr, s.len);
	copy[s.len] = 0;
	return copy;
}

static bool bool_parse(struct slice text, bool *ret)
{
	static const char *const yes[] = { "1", "true", "yes", "on" }, *const no[] = { "0", "false", "no", "off" };
	for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
		if (slice_eq_nocase(text, slice_str(yes[i]))) {
			*ret = true;
			return true;
		}
	for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
		if (slice_eq_nocase(text, slice_str(no[i]))) {
			*ret = false;
			return true;
		}
	return false;
}

static int64_t number_most(enum kind kind)
{
	switch (kind) {
	case PORT:
		return 65535;
	case LOOPS:
		return LIMIT_LOOPS;
	case LARGE:
		return 1000000000;
	default:
		return 1024;
	}
}

/* `source` names where the value came from, for the message. */
static bool setting_store(struct config *c, const struct setting *s, struct slice value, const char *source,
			  struct buf *error)
{
	if (s->at < 0)
		return true;
	char *place = (char *)c + s->at;
	int64_t number = 0;
	bool yes = false;
	switch (s->kind) {
	case PORT:
	case HIDDEN_INT:
	case LOOPS:
	case LARGE:
	case INT: {
		int64_t most = number_most(s->kind);
		if (!slice_to_i64(value, &number) || number < 0 || number > most) {
			buf_printf(error, "%s: %s must be a number from 0 to %lld, not \"%.*s\"", source, s->flag,
				   (long long)most, SLICE_FMT(value));
			return false;
		}
		memcpy(place, &number, sizeof number);
		return true;
	}
	case BOOL:
		if (!bool_parse(value, &yes)) {
			buf_printf(error, "%s: %s is true or false, not \"%.*s\"", source, s->flag, SLICE_FMT(value));
			return false;
		}
		memcpy(place, &yes, sizeof yes);
		return true;
	case OPTIONAL: /* as a switch too */
		if (value.len && bool_parse(value, &yes))
			value = yes ? SLICE("-") : SLICE("");
		/* fall through */
	default: {
		const char *text = text_keep(c, value);
		if (setting_is_accounts(s)) /* for who finds fault with it later, and may not repeat it */
			c->accounts_source = text_keep(c, slice_str(source));
		memcpy(place, &text, sizeof text);
		return true;
	}
	}
}

static const struct setting *letter_find(char letter)
{
	for (size_t i = 0; i < SETTING_COUNT; i++)
		if (settings[i].letter && settings[i].letter == letter)
			return &settings[i];
	return NULL;
}

/* Finds the row of one argument; *ret_inline is the value behind '=', absent if there is none. */
static const struct setting *flag_find(const char *arg, struct slice *ret_inline)
{
	*ret_inline = SLICE_NONE;
	struct slice rest = slice_str(arg);
	if (slice_has_prefix(rest, SLICE("--"))) {
		rest = slice_from(rest, 2);
		struct slice name = slice_cut(&rest, '=');
		*ret_inline = rest;
		const struct setting *s = setting_find(name);
		return s && s->kind != SECRET ? s : NULL;
	}
	struct slice name = slice_cut(&rest, '=');
	if (name.len != 2 || name.ptr[0] != '-')
		return NULL;
	*ret_inline = rest;
	return letter_find(name.ptr[1]);
}

/* -sL is -s -L, as Azurite has it: switches, and at most the last of them with a value. */
static size_t letters_count(const char *arg)
{
	size_t len = strlen(arg);
	if (arg[0] != '-' || len < 3)
		return 0;
	for (size_t i = 1; i < len; i++) {
		const struct setting *s = letter_find(arg[i]);
		if (!s || (i + 1 < len && setting_takes_value(s)))
			return 0;
	}
	return len - 1;
}

/* A value is not repeated: it may be a secret. */
static void name_unknown(const char *what, const char *before, struct slice name, struct buf *error)
{
	char word[64];
	struct slice first = slice_cut(&name, '=');
	snprintf(word, sizeof word, "%.*s", SLICE_FMT(first));
	const char *near = config_flag_near(word);
	buf_printf(error, "unknown %s %s", what, word);
	if (near)
		buf_printf(error, "; did you mean %s%s?", before, near);
	BUF_PUT(error, " (zaffre --help lists them)");
}

static void argument_unknown(const char *arg, struct buf *error)
{
	if (slice_has_prefix(slice_str(arg), SLICE("--accounts")))
		BUF_PUT(error, "accounts hold keys and are not taken from the command line: use ZAFFRE_ACCOUNTS or the "
			       "configuration file");
	else if (arg[0] == '-')
		name_unknown("option", "--", slice_str(arg), error);
	else
		buf_printf(error,
			   "unexpected word %.40s: a command comes before all options, and options begin with -- "
			   "(zaffre --help lists both)",
			   arg);
}

/* The value of s out of argv[*at] (already cut off as `value`) or what is behind it. */
static bool flag_take(struct config *c, const struct setting *s, struct slice value, int *at, struct buf *error)
{
	const char *next = *at + 1 < c->flags_argc ? c->flags_argv[*at + 1] : NULL;
	if (!slice_is_set(value) && setting_takes_value(s)) {
		if (!next) {
			buf_printf(error, "--%s needs a value: --%s %s", s->flag, s->flag, s->argument);
			return false;
		}
		value = slice_str(next);
		++*at;
	} else if (!slice_is_set(value)) {
		/* --debug FILE and --debug are both customary. */
		value = s->kind == OPTIONAL ? SLICE("-") : SLICE("true");
		if (s->kind == OPTIONAL && next && next[0] != '-') {
			value = slice_str(next);
			++*at;
		}
	}
	return setting_store(c, s, value, "command line", error);
}

static bool flags_parse(struct config *c, bool *seen, struct buf *error)
{
	for (int i = 0; i < c->flags_argc; i++) {
		const char *arg = c->flags_argv[i];
		struct slice value;
		const struct setting *s = flag_find(arg, &value);
		size_t letters = s ? 1 : letters_count(arg);
		if (letters == 0) {
			argument_unknown(arg, error);
			return false;
		}
		for (size_t k = 1; k <= letters; k++) {
			const struct setting *one = s ? s : letter_find(arg[k]);
			if (!flag_take(c, one, value, &i, error))
				return false;
			seen[one - settings] = true;
		}
	}
	return true;
}

/* Absent and empty are the same here: that is how a variable is taken back. */
static struct slice environment_find(char **environment, const char *name)
{
	for (char **e = environment; e && *e; e++) {
		struct slice rest = slice_str(*e);
		if (slice_eq(slice_cut(&rest, '='), slice_str(name)) && rest.len)
			return rest;
	}
	return SLICE_NONE;
}

static bool environment_parse(struct config *c, bool *seen, char **environment, struct buf *error)
{
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		const struct setting *s = &settings[i];
		const char *name = s->environment;
		if (seen[i] || !name[0])
			continue;
		struct slice value = environment_find(environment, name);
		if (!slice_is_set(value) && setting_is_accounts(s)) {
			name = "AZURITE_ACCOUNTS";
			value = environment_find(environment, name);
		}
		if (!slice_is_set(value))
			continue;
		if (!setting_store(c, s, value, name, error))
			return false;
		seen[i] = true;
	}
	return true;
}

static bool is_word(struct slice s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!isalpha((unsigned char)s.ptr[i]))
			return false;
	return s.len > 0;
}

static bool file_line_parse(struct config *c, bool *seen, struct slice line, const char *source, struct buf *error)
{
	line = slice_trim(line);
	if (line.len == 0 || line.ptr[0] == '#')
		return true;
	struct slice value = line;
	struct slice name = slice_trim(slice_cut(&value, '='));
	/* No message repeats what may be a key: one on a line of its own ends with '='. */
	if (!slice_is_set(value) || !is_word(name)) {
		buf_printf(error, "%s: expected `name = value`", source);
		return false;
	}
	value = slice_trim(value);
	if (value.len >= 2 && (value.ptr[0] == '"' || value.ptr[0] == '\'') && value.ptr[value.len - 1] == value.ptr[0])
		value = slice_make(value.ptr + 1, value.len - 2);
	const struct setting *s = setting_find(name);
	if (!s || s->at == PLACE(config)) {
		buf_printf(error, "%s: ", source);
		name_unknown("setting", "", name, error);
		return false;
	}
	c->file_has_accounts |= s->kind == SECRET && value.len > 0;
	if (seen[s - settings])
		return true;
	return setting_store(c, s, value, source, error);
}

/* Others than the owner and the group: a group of those who may read secrets is customary. */
enum { MODE_OTHERS = 007 };

static bool mode_open_to_others(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 && (st.st_mode & MODE_OTHERS);
}

/* Production keeps its secrets to itself: one that everybody on the machine can read is none. */
static bool secrets_check(const struct config *c, struct buf *error)
{
	struct stat st;
	if (!c->production)
		return true;
	if (c->file_has_accounts && c->file_open_to_others) {
		buf_printf(error, "%s holds account keys and others can read it: chmod 640 %s", c->config, c->config);
		return false;
	}
	/* One that cannot be looked at cannot be opened either, which is told then. */
	if (c->key[0] && stat(c->key, &st) == 0 && (st.st_mode & MODE_OTHERS)) {
		buf_printf(error, "the private key %s can be read by others: chmod 640 %s", c->key, c->key);
		return false;
	}
	return true;
}

static bool file_parse(struct config *c, bool *seen, const char *path, struct buf *error)
{
	int fd = base_file_open_setting(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f) {
		if (fd >= 0)
			close(fd);
		buf_printf(error, "cannot read the configuration file %s: %s", path, strerror(errno));
		return false;
	}
	char *line = NULL;
	size_t cap = 0;
	bool ok = true;
	c->file_open_to_others = mode_open_to_others(fileno(f));
	/* The file may say a thing twice; the last line counts, so `seen` is not marked here. */
	for (int number = 1; ok; number++) {
		ssize_t n = getline(&line, &cap, f);
		if (n < 0)
			break;
		while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
			n--;
		char source[300];
		snprintf(source, sizeof source, "%s line %d", path, number);
		struct slice text = slice_make(line, (size_t)n);
		if (number == 1 && slice_has_prefix(text, SLICE("\xef\xbb\xbf"))) /* some editors begin UTF-8 so */
			text = slice_from(text, 3);
		ok = file_line_parse(c, seen, text, source, error);
	}
	if (ok && ferror(f)) { /* a directory, say */
		buf_printf(error, "cannot read the configuration file %s: %s", path, strerror(errno));
		ok = false;
	}
	free(line);
	fclose(f);
	return ok;
}

bool config_host_is_loopback(const char *host)
{
	struct in_addr v4;
	struct in6_addr v6;
	if (strcmp(host, "localhost") == 0)
		return true;
	if (inet_pton(AF_INET, host, &v4) == 1)
		return (ntohl(v4.s_addr) >> 24) == 127;
	return inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

const char *config_host(const struct config *c, int i)
{
	const char *const hosts[CONFIG_SERVICES] = { c->blobHost, c->queueHost, c->tableHost, c->fileHost };
	return hosts[i];
}

int64_t config_port(const struct config *c, int i)
{
	const int64_t ports[CONFIG_SERVICES] = { c->blobPort, c->queuePort, c->tablePort, c->filePort };
	return ports[i];
}

/* The port of a listener that may be left out; 0 if it is. */
static bool optional_port(const char *flag, const char *text, int64_t *ret, struct buf *error)
{
	*ret = 0;
	if (!text[0] || strcmp(text, "off") == 0 ||
	    (slice_to_i64(slice_str(text), ret) && *ret >= 0 && *ret <= UINT16_MAX))
		return true;
	buf_printf(error, "%s takes a port number, not %s", flag, text);
	return false;
}

/* The website listens beside Blob. */
static bool web_port_check(const struct config *c, struct buf *error)
{
	int64_t web, admin;
	if (!optional_port("--webPort", c->webPort, &web, error) ||
	    !optional_port("--adminPort", c->adminPort, &admin, error))
		return false;
	for (int i = 0; i < CONFIG_SERVICES; i++) {
		static const char *const flags[] = { "--blobPort", "--queuePort", "--tablePort", "--filePort" };
		if (!web || !config_serves(c, i) || web != config_port(c, i) ||
		    strcmp(config_host(c, i), config_host(c, 0)) != 0)
			continue;
		buf_printf(error, "--webPort and %s are both %lld: give each its own", flags[i], (long long)web);
		return false;
	}
	return true;
}

static bool limits_check(const struct config *c, struct buf *error)
{
	if (c->maxConnections < 1 || c->maxConnections > LIMIT_CONNECTIONS) {
		buf_printf(error, "--maxConnections is 1 to %d, not %lld", LIMIT_CONNECTIONS,
			   (long long)c->maxConnections);
		return false;
	}
	if (c->requestMemory && c->requestMemory < REQUEST_MEMORY_LEAST_MIB) {
		buf_printf(error, "--requestMemory is at least %d (MiB), not %lld", REQUEST_MEMORY_LEAST_MIB,
			   (long long)c->requestMemory);
		return false;
	}
	return true;
}

/* Which services are reached from where, and that no two of them want one port. */
static bool ports_check(struct config *c, struct buf *error)
{
	for (int i = 0; i < CONFIG_SERVICES; i++)
		if (config_serves(c, i) && !config_host_is_loopback(config_host(c, i)))
			c->beyond_loopback = true;
	bool smb = c->smbPort[0] ? strcmp(c->smbPort, "off") != 0 : config_serves(c, SERVICE_FILE);
	if (smb && !config_host_is_loopback(c->smbHost))
		c->smb_beyond_loopback = true;
	for (int i = 0; i < CONFIG_SERVICES; i++)
		for (int k = 0; k < i; k++)
			if (config_serves(c, i) && config_serves(c, k) && config_port(c, i) &&
			    config_port(c, i) == config_port(c, k) &&
			    strcmp(config_host(c, i), config_host(c, k)) == 0) {
				buf_printf(error,
					   "two services want port %lld on %s: give each its own (--blobPort, "
					   "--queuePort, --tablePort, --filePort)",
					   (long long)config_port(c, i), config_host(c, i));
				return false;
			}
	return web_port_check(c, error);
}

/* A setting that is one of two words. */
static bool word_check(const char *flag, const char *value, const char *one, const char *other, struct buf *error)
{
	if (strcmp(value, one) == 0 || strcmp(value, other) == 0)
		return true;
	buf_printf(error, "%s is %s or %s, not \"%s\"", flag, one, other, value);
	return false;
}

/* What breaks a promise on purpose, or keeps none. */
static bool test_settings_check(const struct config *c, struct buf *error)
{
	const char *reason = NULL;
#ifdef ZAFFRE_NO_MUTANTS
	if (c->mutant)
		reason = "--mutant: this program was built without them (ZAFFRE_MUTANTS)";
#endif
	if (c->production && c->clockShiftFile[0])
		reason = "--clockShiftFile is for tests and works in development mode only";
	else if (c->production && c->mutant && !reason)
		reason = "--mutant breaks promises on purpose and works in development mode only";
	else if (c->production && c->anyAccount && !reason)
		reason = "--anyAccount lets everybody in and works in development mode only";
	else if (c->production && c->inMemoryPersistence)
		reason = "--inMemoryPersistence keeps nothing and works in development mode only";
	if (reason)
		buf_put(error, slice_str(reason));
	return !reason;
}

static bool oauth_check(const struct config *c, struct buf *error)
{
	const char *reason = NULL;
	bool full = strcmp(c->oauth, "full") == 0;
	if (c->oauth[0] && !word_check("--oauth", c->oauth, "basic", "full", error))
		return false;
	if (full && (!c->secure || !c->oauthKeys[0] || !c->oauthIssuer[0]))
		reason = "--oauth full needs --oauthKeys FILE, --oauthIssuer URL and HTTPS (--cert, --key)";
	else if (full && !c->oauthRoles[0] && !c->oauthEveryTokenOwns)
		reason = "--oauth full needs --oauthRoles FILE, which says what whose tokens may do";
	else if (c->production && c->oauthEveryTokenOwns)
		reason = "--oauthEveryTokenOwns gives everything to everybody with a token and works in development "
			 "mode "
			 "only";
	else if (c->oauth[0] && !full && (c->production || !c->secure))
		reason = "--oauth basic trusts what tokens say: it works in development mode and over HTTPS only "
			 "(--cert, "
			 "--key)";
	if (reason)
		buf_put(error, slice_str(reason));
	return !reason;
}

bool config_persona_find(const char *name, enum persona *ret)
{
	static const char *const names[] = { "azurite", "azurite-blob", "azurite-queue", "azurite-table" };
	for (int i = 0; i < 4; i++)
		if (strcmp(name, names[i]) == 0) {
			*ret = (enum persona)(PERSONA_AZURITE + i);
			return true;
		}
	return false;
}

/* --services, or what the persona serves. */
static bool services_check(struct config *c, struct buf *error)
{
	static const char *const names[CONFIG_SERVICES + 1] = { "blob", "queue", "table", "file" };
	static const unsigned masks[] = { [PERSONA_AZURITE] = 7,
					  [PERSONA_AZURITE_BLOB] = 1,
					  [PERSONA_AZURITE_QUEUE] = 2,
					  [PERSONA_AZURITE_TABLE] = 4 };
	struct slice list = slice_str(c->services);
	if (c->persona != PERSONA_ZAFFRE)
		c->service_mask = masks[c->persona];
	while (c->persona == PERSONA_ZAFFRE && slice_is_set(list)) {
		struct slice name = slice_trim(slice_cut(&list, ','));
		int i = 0;
		while (i < CONFIG_SERVICES && !slice_eq_nocase(name, slice_str(names[i])))
			i++;
		if (i == CONFIG_SERVICES) {
			buf_printf(error, "--services is a list of blob, queue, table and file, not \"%.*s\"",
				   SLICE_FMT(name));
			return false;
		}
		c->service_mask |= 1u << i;
	}
	return true;
}

/* OpenSSL reads PFX files; we read PEM alone. */
static bool pfx_check(const struct config *c, struct buf *error)
{
	size_t len = strlen(c->cert);
	bool pfx =
		len > 4 && (strcasecmp(c->cert + len - 4, ".pfx") == 0 || strcasecmp(c->cert + len - 4, ".p12") == 0);
	if (!pfx && !c->pwd[0])
		return true;
	buf_printf(
		error,
		"PFX files are not read: convert it by `openssl pkcs12 -in %s -nodes -nokeys -out cert.pem && openssl "
		"pkcs12 -in %s -nodes -nocerts -out key.pem`, then give --cert cert.pem --key key.pem",
		pfx ? c->cert : "FILE.pfx", pfx ? c->cert : "FILE.pfx");
	return false;
}

static bool delay_check(const struct config *c, struct buf *error)
{
	enum { DELAY_MAX_MS = 10000 };
	uint64_t ms;
	if (!c->loginDelay[0] || (slice_to_u64(slice_str(c->loginDelay), &ms) && ms <= DELAY_MAX_MS))
		return true;
	buf_printf(error, "--loginDelay is a number of milliseconds up to %d, not \"%s\"", DELAY_MAX_MS, c->loginDelay);
	return false;
}

static bool config_check(struct config *c, struct buf *error)
{
	if (!services_check(c, error) || !pfx_check(c, error))
		return false;
	if (!word_check("mode", c->mode, "development", "production", error))
		return false;
	c->production = strcmp(c->mode, "production") == 0;
	if (!c->cert[0] != !c->key[0]) {
		buf_printf(error, "--cert and --key go together: %s is missing", c->cert[0] ? "--key" : "--cert");
		return false;
	}
	c->secure = c->cert[0];
	if (!c->secure && (c->moreCerts[0] || c->tlsCiphers[0] || c->clientCa[0])) {
		BUF_PUT(error, "--moreCerts, --tlsCiphers and --clientCa are about HTTPS: give --cert and --key too");
		return false;
	}
	if (c->proxyProtocol && !c->trustedProxies[0]) {
		BUF_PUT(error,
			"--proxyProtocol says nothing without --trustedProxies: whose headers are to be believed?");
		return false;
	}
	if (!ports_check(c, error) || !limits_check(c, error))
		return false;
	if (c->production && c->beyond_loopback && !c->secure && !c->allowPlainHttp) {
		buf_printf(error, "production mode does not serve plain HTTP beyond this machine: give --cert and "
				  "--key, or --allowPlainHttp "
				  "if a proxy in front does TLS");
		return false;
	}
	return secrets_check(c, error) && test_settings_check(c, error) &&
	       word_check("--deletePendingCode", c->deletePendingCode, "SMBDeletePending", "DeletePending", error) &&
	       word_check("--tlsMinVersion", c->tlsMinVersion, "1.2", "1.3", error) &&
	       word_check("--auditSync", c->auditSync, "second", "always", error) && delay_check(c, error) &&
	       word_check("--rowIndex", c->rowIndex, "on", "off", error) &&
	       word_check("--smbWriteBack", c->smbWriteBack, "on", "off", error) &&
	       word_check("--sandbox", c->sandbox, "on", "off", error) && oauth_check(c, error);
}

bool config_parse(struct config *c, int argc, char **argv, char **environment, struct buf *error)
{
	bool seen[SETTING_COUNT] = { false };
	memset(c, 0, sizeof *c);
	c->argc = argc;
	c->argv = argv;
	arena_init(&c->arena, MIB);
	int persona = argc > 0 && config_persona_find(argv[0], &c->persona);
	c->flags_argc = argc - persona;
	c->flags_argv = argv + persona;
	struct buf scratch;
	buf_init(&scratch, 4096);
	/* Defaults first: what stands in a later source simply replaces them. */
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		const struct setting *s = &settings[i];
		if (s->at >= 0 && s->kind != BOOL &&
		    !setting_store(c, s, slice_str(s->fallback), "default", &scratch)) {
			buf_put(error, buf_slice(&scratch));
			buf_fini(&scratch);
			return false;
		}
	}
	buf_fini(&scratch);
	if (!flags_parse(c, seen, error) || !environment_parse(c, seen, environment, error))
		return false;
	if (c->config[0] && !file_parse(c, seen, c->config, error))
		return false;
	c->location_given = seen[setting_find(SLICE("location")) - settings];
	return config_check(c, error);
}

void config_fini(struct config *c)
{
	arena_fini(&c->arena);
}

static bool setting_is_ignored(const struct setting *s)
{
	return s->kind == IGNORED || s->kind == IGNORED_VALUE;
}

static bool setting_is_unlisted(const struct setting *s)
{
	return s->kind == HIDDEN || s->kind == HIDDEN_INT || setting_is_ignored(s);
}

const char *config_ignored_flag(size_t i)
{
	for (size_t k = 0; k < SETTING_COUNT; k++)
		if (setting_is_ignored(&settings[k]) && i-- == 0)
			return settings[k].flag;
	return NULL;
}

bool config_flag_get(size_t i, struct config_flag *ret)
{
	for (size_t k = 0; k < SETTING_COUNT; k++) {
		const struct setting *s = &settings[k];
		if (setting_is_unlisted(s) || i-- > 0)
			continue;
		*ret = (struct config_flag){ s->kind == HEADING, s->kind == SECRET, s->flag, s->environment,
					     s->fallback,	 s->argument,	    s->help, s->letter };
		return true;
	}
	return false;
}

/* Edits that make one word of the other, letters without case; more than `most` are not counted. */
static size_t word_distance(const char *a, const char *b, size_t most)
{
	enum { WORD_MAX = 40 };
	size_t row[WORD_MAX + 1], la = strlen(a), lb = strlen(b);
	if (la > WORD_MAX || lb > WORD_MAX)
		return most + 1;
	for (size_t k = 0; k <= lb; k++)
		row[k] = k;
	for (size_t i = 1; i <= la; i++) {
		size_t above = row[0];
		row[0] = i;
		for (size_t k = 1; k <= lb; k++) {
			bool same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[k - 1]);
			size_t best = above + !same;
			above = row[k];
			best = above + 1 < best ? above + 1 : best;
			row[k] = row[k - 1] + 1 < best ? row[k - 1] + 1 : best;
		}
	}
	return row[lb];
}

enum { WORD_EDITS_MAX = 3 };

const char *config_word_near(const char *word, const char *const *list)
{
	const char *near = NULL;
	size_t best = WORD_EDITS_MAX + 1;
	for (; *list; list++) {
		size_t n = word_distance(word, *list, WORD_EDITS_MAX);
		/* Half of a short word is another word. */
		if (n < best && n * 2 < strlen(*list)) {
			best = n;
			near = *list;
		}
	}
	return near;
}

/* What other programs call it. */
static const struct {
	const char *word, *flag;
} synonyms[] = {
	{ "port", "blobPort" },
	{ "host", "blobHost" },
	{ "data", "location" },
	{ "dir", "location" },
	{ "workspace", "location" },
	{ "quiet", "silent" },
	{ "verbose", "debug" },
	{ "inMemory", "inMemoryPersistence" },
	{ "memory", "inMemoryPersistence" },
	{ "production", "mode" },
	{ "https", "cert" },
	{ "tls", "cert" },
};

const char *config_flag_near(const char *word)
{
	const char *list[SETTING_COUNT + 3];
	char name[64];
	size_t count = 0;
	while (*word == '-')
		word++;
	snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
	for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
		if (strcasecmp(name, synonyms[i].word) == 0)
			return synonyms[i].flag;
	for (size_t i = 0; i < SETTING_COUNT; i++)
		if (settings[i].flag[0] && settings[i].kind != HIDDEN && settings[i].kind != HIDDEN_INT &&
		    settings[i].kind != SECRET)
			list[count++] = settings[i].flag;
	list[count++] = "help";
	list[count++] = "version";
	list[count] = NULL;
	return config_word_near(name, list);
}

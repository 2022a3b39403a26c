/* SPDX-License-Identifier: Apache-2.0
 * Reading, making and judging accounts and their keys. See accounts.h. No message repeats a key. */
#include "server/accounts.h"

#include "base/limits.h"
#include "base/sys/file.h"
#include "base/sys/rng.h"
#include "server/datadir.h"
#include "wire/base64.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	KEY_BYTES = ACCOUNT_KEY_BYTES,
	KEY_BYTES_MAX = 1024,
	KEY_BYTES_MIN_PRODUCTION = 32,
	FILE_BYTES_MAX = 256 * 1024,
	KEY_TEXT_BYTES = BASE64_BYTES(KEY_BYTES) + 1
};

#define FILE_HEAD                                                                                                      \
	"# account:key1:key2, one a line. Replace key2, move clients over, then replace key1. Read at start and at "   \
	"SIGHUP.\n"

bool accounts_name_valid(struct slice name)
{
	if (name.len < 3 || name.len > 24)
		return false;
	for (size_t i = 0; i < name.len; i++)
		if (!((name.ptr[i] >= 'a' && name.ptr[i] <= 'z') || (name.ptr[i] >= '0' && name.ptr[i] <= '9')))
			return false;
	return true;
}

static int base64_digit(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	if (c == '-' || c == '_')
		c = c == '-' ? '+' : '/';
	const char *at = c ? strchr(digits, c) : NULL;
	return at ? (int)(at - digits) : -1;
}

/* What is no digit is skipped, '=' ends the text, and a last digit that makes no byte is dropped. */
static bool key_decode_lenient(struct arena *arena, struct slice text, struct slice *ret)
{
	unsigned char *bytes = arena_alloc(arena, text.len);
	unsigned bits = 0, held = 0;
	size_t len = 0;
	if (!bytes)
		return false;
	for (size_t i = 0; i < text.len && text.ptr[i] != '='; i++) {
		int digit = base64_digit(text.ptr[i]);
		if (digit < 0)
			continue;
		bits = bits << 6 | (unsigned)digit;
		held += 6;
		if (held >= 8) {
			held -= 8;
			bytes[len++] = (unsigned char)(bits >> held);
		}
	}
	*ret = slice_make(bytes, len);
	return len > 0 && len <= KEY_BYTES_MAX;
}

static bool key_decode(struct accounts *a, struct slice text, struct slice *ret)
{
	if (text.len == 0)
		return false;
	if (base64_decode(text, &a->arena, ret) == ERR_OK)
		return ret->len <= KEY_BYTES_MAX;
	return a->lenient && key_decode_lenient(&a->arena, text, ret);
}

static bool account_add(struct accounts *a, struct slice row, const char *source, struct buf *error)
{
	struct slice rest = row;
	struct slice name = slice_trim(slice_cut(&rest, ':'));
	/* No message repeats what may be a key. */
	if (!accounts_name_valid(name)) {
		buf_printf(error,
			   "%s: an account name has 3 to 24 lower-case letters and digits; the form is "
			   "account1:key1[:key2];account2:key1",
			   source);
		return false;
	}
	for (size_t i = 0; i < a->count; i++)
		if (slice_eq(a->account[i].name, name)) {
			buf_printf(error, "%s: account %.*s stands there twice", source, SLICE_FMT(name));
			return false;
		}
	if (a->count == ACCOUNTS_MAX) {
		buf_printf(error, "%s: more than %d accounts", source, ACCOUNTS_MAX);
		return false;
	}
	struct auth_account *account = &a->account[a->count];
	*account = (struct auth_account){ .name = arena_dup(&a->arena, name) };
	size_t keys = 0;
	while (slice_is_set(rest)) {
		struct slice text = slice_trim(slice_cut(&rest, ':'));
		if (keys == 2 || !key_decode(a, text, &account->key[keys])) {
			buf_printf(error, "%s: account %.*s needs one or two keys in Base64", source, SLICE_FMT(name));
			return false;
		}
		if (keys++ == 0) {
			struct slice copy = arena_printf(&a->arena, "%.*s", SLICE_FMT(text));
			a->key_text[a->count] = slice_is_set(copy) ? copy.ptr : "";
		}
	}
	if (keys == 0) {
		buf_printf(error, "%s: account %.*s has no key; the form is account1:key1[:key2];account2:key1", source,
			   SLICE_FMT(name));
		return false;
	}
	a->count++;
	return true;
}

bool accounts_parse(struct accounts *a, struct slice list, const char *source, struct buf *error)
{
	bool of_a_file = list.len && memchr(list.ptr, '\n', list.len); /* a variable is one line */
	for (int number = 1; slice_is_set(list); number++) {
		char where[PATH_MAX + 32];
		struct slice line = slice_cut(&list, '\n');
		if (slice_has_prefix(slice_trim(line), SLICE("#")))
			continue;
		snprintf(where, sizeof where, "%s", source);
		if (of_a_file)
			snprintf(where, sizeof where, "%s line %d", source, number);
		while (slice_is_set(line)) {
			struct slice row = slice_trim(slice_cut(&line, ';'));
			if (row.len && !account_add(a, row, where, error))
				return false;
		}
	}
	if (a->count == 0) {
		buf_printf(error, "%s names no account; the form is account1:key1[:key2];account2:key1", source);
		return false;
	}
	return true;
}

void accounts_make_key(unsigned char ret[ACCOUNT_KEY_BYTES])
{
	struct rng rng;
	rng_init_system(&rng);
	rng_bytes(&rng, ret, ACCOUNT_KEY_BYTES);
	explicit_bzero(&rng, sizeof rng);
}

static void key_make(char *text)
{
	unsigned char raw[KEY_BYTES];
	accounts_make_key(raw);
	base64_encode_to(text, slice_make(raw, sizeof raw));
	text[KEY_TEXT_BYTES - 1] = 0;
	explicit_bzero(raw, sizeof raw);
}

static bool file_path(const char *data_dir, char ret[PATH_MAX], struct buf *error)
{
	int n = snprintf(ret, PATH_MAX, "%s/accounts", data_dir);
	if (n > 0 && n < PATH_MAX)
		return true;
	buf_printf(error, "the name of %s is too long", data_dir);
	return false;
}

/* The file appears whole or not at all, and then it stays: half-written keys after a crash, or others than those that
 * were given to clients, would lock everybody out. */
bool accounts_file_replace(const char *data_dir, struct slice text, struct buf *error)
{
	return datadir_replace_file(data_dir, "accounts", text, error);
}

static bool file_create(const char *data_dir, const char *name, struct buf *error)
{
	char key[2][KEY_TEXT_BYTES], text[512];
	if (!accounts_name_valid(slice_str(name))) {
		buf_printf(error, "--accountName has 3 to 24 lower-case letters and digits, not \"%s\"", name);
		return false;
	}
	key_make(key[0]);
	key_make(key[1]);
	int n = snprintf(text, sizeof text, "%s%s:%s:%s\n", FILE_HEAD, name, key[0], key[1]);
	bool ok = accounts_file_replace(data_dir, slice_make(text, (size_t)n), error);
	explicit_bzero(key, sizeof key);
	explicit_bzero(text, sizeof text);
	return ok;
}

bool accounts_file_read(const char *data_dir, struct buf *out, struct buf *error)
{
	char path[PATH_MAX];
	struct stat st;
	if (!file_path(data_dir, path, error))
		return false;
	int fd = base_file_open_at(AT_FDCWD, path, O_RDONLY, 0);
	if (fd < 0 && errno == ENOENT) {
		buf_put(out, slice_str(FILE_HEAD));
		return buf_ok(out);
	}
	bool ok = fd >= 0 && fstat(fd, &st) == 0;
	char *room = ok ? buf_reserve(out, FILE_BYTES_MAX) : NULL;
	ssize_t n = room ? read(fd, room, FILE_BYTES_MAX) : -1;
	if (!ok || n < 0)
		buf_printf(error, "cannot read %s: %s", path, strerror(errno));
	else if (st.st_mode & 077)
		buf_printf(error, "%s holds keys and others can read it: chmod 600 %s", path, path);
	else if ((size_t)n == FILE_BYTES_MAX)
		buf_printf(error, "cannot read %s: it is too long", path);
	if (fd >= 0)
		close(fd);
	if (n > 0)
		out->len += (size_t)n;
	return n >= 0 && (size_t)n < FILE_BYTES_MAX && !(st.st_mode & 077);
}

static bool file_load(struct accounts *a, const char *data_dir, struct buf *error)
{
	struct buf text;
	buf_init(&text, MIB);
	bool ok = accounts_file_read(data_dir, &text, error) && accounts_parse(a, buf_slice(&text), a->file, error);
	if (text.ptr)
		explicit_bzero(text.ptr, text.cap);
	buf_fini(&text);
	return ok;
}

/* As either key of an account: both open it. */
static bool accounts_use_well_known_key(const struct accounts *a)
{
	char text[BASE64_BYTES(KEY_BYTES)];
	for (size_t i = 0; i < a->count; i++)
		for (int k = 0; k < 2; k++) {
			struct slice key = a->account[i].key[k];
			if (key.len != KEY_BYTES)
				continue;
			base64_encode_to(text, key);
			if (slice_eq(slice_make(text, sizeof text), SLICE(ACCOUNT_WELL_KNOWN_KEY)))
				return true;
		}
	return false;
}

/* A short key can be guessed from one signed request, without asking the server again. */
static bool accounts_keys_long_enough(const struct accounts *a, struct buf *error)
{
	for (size_t i = 0; i < a->count; i++)
		for (int k = 0; k < 2; k++)
			if (slice_is_set(a->account[i].key[k]) && a->account[i].key[k].len < KEY_BYTES_MIN_PRODUCTION) {
				buf_printf(error,
					   "account %.*s: production mode takes keys of at least %d bytes, key %d has "
					   "fewer: make one, e.g. openssl rand -base64 64",
					   SLICE_FMT(a->account[i].name), KEY_BYTES_MIN_PRODUCTION, k + 1);
				return false;
			}
	return true;
}

bool accounts_load(struct accounts *a, const struct config *c, const char *data_dir, struct buf *error)
{
	memset(a, 0, sizeof *a);
	arena_init(&a->arena, 4 * MIB);
	bool ok;
	a->lenient = !c->production && strcmp(c->accounts_source ? c->accounts_source : "", "AZURITE_ACCOUNTS") == 0;
	if (c->accounts[0]) {
		ok = accounts_parse(a, slice_str(c->accounts), c->accounts_source, error);
	} else {
		struct slice path = arena_printf(&a->arena, "%s/accounts", data_dir);
		if (!slice_is_set(path))
			return false;
		ok = c->production || accounts_parse(a, SLICE(ACCOUNT_WELL_KNOWN ":" ACCOUNT_WELL_KNOWN_KEY),
						     "well-known account", error);
		bool there = access(path.ptr, F_OK) == 0;
		if (ok && c->production && !there)
			ok = there = file_create(data_dir, c->accountName, error);
		if (ok && there) {
			a->file = path.ptr;
			ok = file_load(a, data_dir, error);
		}
	}
	if (!ok)
		return false;
	if (c->production && !accounts_keys_long_enough(a, error))
		return false;
	if (accounts_use_well_known_key(a) && c->production) {
		buf_printf(error, "the well-known development key is public and is not taken in production mode: make "
				  "keys of your own, e.g. "
				  "openssl rand -base64 64");
		return false;
	}
	if (accounts_use_well_known_key(a) && (c->beyond_loopback || c->smb_beyond_loopback) &&
	    !c->iKnowThisKeyIsPublic) {
		buf_printf(error,
			   "this would offer the data to everybody who can reach the address, because the well-known "
			   "key is public. Listen on "
			   "127.0.0.1, or set ZAFFRE_ACCOUNTS to keys of your own, or say --iKnowThisKeyIsPublic");
		return false;
	}
	return true;
}

void accounts_fini(struct accounts *a)
{
	for (size_t i = 0; i < a->count; i++)
		for (int k = 0; k < 2; k++)
			if (a->account[i].key[k].len)
				explicit_bzero((char *)(uintptr_t)a->account[i].key[k].ptr, a->account[i].key[k].len);
	a->count = 0;
	arena_fini(&a->arena);
}

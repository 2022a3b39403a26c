/* SPDX-License-Identifier: Apache-2.0
 * Every field of a message is looked at only after its offset and length were found inside the message; the fixed part
 * of a client's message may be shorter than the newest form, and what is not there is not read. */
#include "auth/smb/ntlm.h"

#include "auth/smb/mac.h"
#include "base/bytes.h"
#include "wire/base64.h"
#include "wire/hash.h"

#include <assert.h>
#include <nettle/arcfour.h>
#include <nettle/hmac.h>
#include <nettle/md4.h>
#include <nettle/md5.h>

enum {
	TYPE_NEGOTIATE = 1,
	TYPE_CHALLENGE = 2,
	TYPE_AUTHENTICATE = 3,
	NEGOTIATE_LEAST = 16,
	AUTHENTICATE_LEAST = 64,
	CODE_AT = 72, /* of AUTHENTICATE */
	CODE_END = 88,
	PROOF_BYTES = 16,
	BLOB_LEAST = 28,
	BLOB_PAIRS_AT = 28,
	USER_UNITS_MAX = 256,
	NAME_BYTES_MAX = 1024,
	PASSWORD_CHARS_MAX = 2048, /* an account key has at most 1024 bytes */
};
enum {
	FLAG_UNICODE = 0x1,
	FLAG_OEM = 0x2,
	FLAG_TARGET = 0x4,
	FLAG_SIGN = 0x10,
	FLAG_SEAL = 0x20,
	FLAG_NTLM = 0x200,
	FLAG_ALWAYS_SIGN = 0x8000,
	FLAG_SERVER = 0x20000,
	FLAG_EXTENDED = 0x80000,
	FLAG_TARGET_INFO = 0x800000,
	FLAG_VERSION = 0x2000000,
	FLAG_128 = 0x20000000,
	FLAG_KEY_EXCHANGE = 0x40000000,
};
#define FLAG_56 0x80000000u
enum { PAIR_END = 0, PAIR_COMPUTER = 1, PAIR_DOMAIN = 2, PAIR_FLAGS = 6, PAIR_TIME = 7, PAIR_FLAG_CODE = 2 };

static const char SERVER_NAME[] = "Z\0A\0F\0F\0R\0E"; /* UTF-16LE, its last byte is the literal's own NUL */

void ntlm_init(struct ntlm *n)
{
	*n = (struct ntlm){ 0 };
	buf_init(&n->first, NTLM_MESSAGE_BYTES_MAX);
	buf_init(&n->second, NTLM_MESSAGE_BYTES_MAX);
}

void ntlm_fini(struct ntlm *n)
{
	buf_fini(&n->first);
	buf_fini(&n->second);
	hash_wipe(n->key, sizeof n->key);
}

static uint32_t u32_at(struct slice m, size_t at)
{
	return (uint32_t)bytes_load(m.ptr + at, 4);
}

static bool message_is(struct slice m, uint32_t type, size_t least)
{
	return m.len >= least && m.len <= NTLM_MESSAGE_BYTES_MAX && memcmp(m.ptr, "NTLMSSP\0", 8) == 0 &&
	       u32_at(m, 8) == type;
}

static void pair_put(struct buf *b, uint16_t id, struct slice value)
{
	bytes_put_u16(b, id);
	bytes_put_u16(b, (uint16_t)value.len);
	buf_put(b, value);
}

static void fields_put(struct buf *b, size_t len, uint32_t at)
{
	bytes_put_u16(b, (uint16_t)len);
	bytes_put_u16(b, (uint16_t)len);
	bytes_put_u32(b, at);
}

enum err ntlm_challenge(struct ntlm *n, struct slice m, const unsigned char challenge[NTLM_CHALLENGE_BYTES],
			uint64_t file_time, struct buf *out)
{
	enum { PAYLOAD_AT = 56 };
	struct slice name = slice_make(SERVER_NAME, sizeof SERVER_NAME);
	if (!message_is(m, TYPE_NEGOTIATE, NEGOTIATE_LEAST))
		return ERR_AUTHENTICATION_FAILED;
	uint32_t asked = u32_at(m, 12);
	uint32_t flags = FLAG_TARGET | FLAG_NTLM | FLAG_SERVER | FLAG_TARGET_INFO | FLAG_VERSION | FLAG_EXTENDED;
	flags |= asked &
		 (FLAG_UNICODE | FLAG_SIGN | FLAG_SEAL | FLAG_ALWAYS_SIGN | FLAG_128 | FLAG_KEY_EXCHANGE | FLAG_56);
	if (!(asked & FLAG_UNICODE)) /* one of the two must be answered, or the client guesses */
		flags |= asked & FLAG_OEM;
	size_t info_bytes = 2 * (4 + name.len) + 4 + 8 + 4;
	char time[8];
	bytes_store(time, file_time, 8);
	memcpy(n->challenge, challenge, NTLM_CHALLENGE_BYTES);
	buf_clear(&n->first);
	buf_clear(&n->second);
	buf_put(&n->first, m);
	struct buf *b = &n->second;
	buf_put(b, slice_make("NTLMSSP\0", 8));
	bytes_put_u32(b, TYPE_CHALLENGE);
	fields_put(b, name.len, PAYLOAD_AT);
	bytes_put_u32(b, flags);
	buf_put(b, slice_make(n->challenge, NTLM_CHALLENGE_BYTES));
	bytes_put_u64(b, 0);
	fields_put(b, info_bytes, (uint32_t)(PAYLOAD_AT + name.len));
	buf_put(b, slice_make("\x0A\0\0\0\0\0\0\x0F", 8)); /* version 10.0, revision 15 */
	buf_put(b, name);
	pair_put(b, PAIR_DOMAIN, name);
	pair_put(b, PAIR_COMPUTER, name);
	pair_put(b, PAIR_TIME, slice_make(time, sizeof time));
	pair_put(b, PAIR_END, slice_make("", 0));
	buf_put(out, buf_slice(b));
	return buf_ok(&n->first) && buf_ok(b) && buf_ok(out) ? ERR_OK : ERR_NO_MEMORY;
}

/* ---- AUTHENTICATE ---- */

struct authenticate {
	struct slice message, response, domain, user, key; /* domain and user in UTF-16LE */
	uint32_t flags;
	char text[2 * NAME_BYTES_MAX]; /* of names that came in single bytes */
};

static bool field_at(struct slice m, size_t at, struct slice *ret)
{
	size_t len = (size_t)bytes_load(m.ptr + at, 2);
	uint64_t offset = u32_at(m, at + 4);
	if (len == 0) {
		*ret = slice_make("", 0);
		return true;
	}
	if (offset > m.len || len > m.len - offset)
		return false;
	*ret = slice_make(m.ptr + offset, len);
	return true;
}

/* Names of clients without Unicode: ASCII becomes UTF-16LE. */
static bool name_widen(char *room, struct slice *name)
{
	if (name->len > NAME_BYTES_MAX / 2)
		return false;
	for (size_t i = 0; i < name->len; i++) {
		room[2 * i] = name->ptr[i];
		room[2 * i + 1] = 0;
	}
	*name = slice_make(room, 2 * name->len);
	return true;
}

static bool authenticate_parse(struct slice m, struct authenticate *ret)
{
	*ret = (struct authenticate){ .message = m };
	if (!message_is(m, TYPE_AUTHENTICATE, AUTHENTICATE_LEAST))
		return false;
	ret->flags = u32_at(m, 60);
	if (!field_at(m, 20, &ret->response) || !field_at(m, 28, &ret->domain) || !field_at(m, 36, &ret->user) ||
	    !field_at(m, 52, &ret->key))
		return false;
	if (!(ret->flags & FLAG_UNICODE) &&
	    (!name_widen(ret->text, &ret->user) || !name_widen(ret->text + NAME_BYTES_MAX, &ret->domain)))
		return false;
	return ret->user.len > 0 && ret->user.len % 2 == 0 && ret->user.len <= 2 * USER_UNITS_MAX &&
	       ret->domain.len % 2 == 0 && ret->domain.len <= NAME_BYTES_MAX &&
	       /* 24 bytes would be NTLMv1 */
	       ret->response.len >= PROOF_BYTES + BLOB_LEAST;
}

/* The account whose name the user wrote, in any case and with or without "@domain". */
static const struct auth_account *account_find(struct slice user, const struct auth_account *accounts, size_t count)
{
	char name[64];
	size_t len = 0;
	for (size_t i = 0; i < user.len; i += 2) {
		unsigned c = (unsigned)bytes_load(user.ptr + i, 2);
		if (c == '@')
			break;
		if (c >= 0x80 || len == sizeof name)
			return NULL;
		name[len++] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
	}
	for (size_t i = 0; i < count; i++)
		if (slice_eq(accounts[i].name, slice_make(name, len)))
			return &accounts[i];
	return NULL;
}

static void hmac_md5(const unsigned char *key, size_t key_len, const struct slice *parts, size_t count,
		     unsigned char ret[16])
{
	struct hmac_md5_ctx ctx;
	hmac_md5_set_key(&ctx, key_len, key);
	for (size_t i = 0; i < count; i++)
		hmac_md5_update(&ctx, parts[i].len, (const uint8_t *)parts[i].ptr);
	hmac_md5_digest(&ctx, 16, ret);
	hash_wipe(&ctx, sizeof ctx);
}

/* MD4 of the key's Base64 text in UTF-16LE. */
static void password_hash(struct slice key, unsigned char ret[16])
{
	struct md4_ctx md4;
	char text[PASSWORD_CHARS_MAX];
	size_t len = BASE64_BYTES(key.len);
	assert(len <= sizeof text);
	base64_encode_to(text, key);
	md4_init(&md4);
	for (size_t i = 0; i < len; i++) {
		const uint8_t unit[2] = { (uint8_t)text[i], 0 };
		md4_update(&md4, 2, unit);
	}
	md4_digest(&md4, 16, ret);
	hash_wipe(text, len);
	hash_wipe(&md4, sizeof md4);
}

/* True if the response proves this key under this domain; then the base of the session key is set. */
static bool proof_matches(const struct ntlm *n, const struct authenticate *a, struct slice key, struct slice domain,
			  unsigned char ret_base[16])
{
	unsigned char hash[16], owner[16], proof[16];
	char upper[2 * USER_UNITS_MAX];
	memcpy(upper, a->user.ptr, a->user.len);
	for (size_t i = 0; i < a->user.len; i += 2)
		if (upper[i + 1] == 0 && upper[i] >= 'a' && upper[i] <= 'z')
			upper[i] = (char)(upper[i] - 32);
	password_hash(key, hash);
	struct slice name[] = { slice_make(upper, a->user.len), domain };
	hmac_md5(hash, 16, name, 2, owner);
	struct slice challenged[] = { slice_make(n->challenge, NTLM_CHALLENGE_BYTES),
				      slice_from(a->response, PROOF_BYTES) };
	hmac_md5(owner, 16, challenged, 2, proof);
	bool same = slice_eq_consttime(slice_make(proof, 16), slice_first(a->response, PROOF_BYTES));
	struct slice given = slice_make(proof, 16);
	if (same)
		hmac_md5(owner, 16, &given, 1, ret_base);
	hash_wipe(hash, sizeof hash);
	hash_wipe(owner, sizeof owner);
	return same;
}

static bool key_matches(const struct ntlm *n, const struct authenticate *a, struct slice key,
			unsigned char ret_base[16])
{
	if (key.len == 0)
		return false;
	return proof_matches(n, a, key, a->domain, ret_base) ||
	       (a->domain.len && proof_matches(n, a, key, slice_make("", 0), ret_base));
}

/* Whether the client says in its (authenticated) pairs that its message carries a code. */
static bool wants_code(struct slice response)
{
	struct slice pairs = slice_from(response, PROOF_BYTES + BLOB_PAIRS_AT);
	while (pairs.len >= 4) {
		unsigned id = (unsigned)bytes_load(pairs.ptr, 2);
		size_t len = (size_t)bytes_load(pairs.ptr + 2, 2);
		pairs = slice_from(pairs, 4);
		if (id == PAIR_END || len > pairs.len)
			return false;
		if (id == PAIR_FLAGS && len == 4)
			return u32_at(pairs, 0) & PAIR_FLAG_CODE;
		pairs = slice_from(pairs, len);
	}
	return false;
}

/* The list of pairs has an end inside the response. */
static bool pairs_end(struct slice response)
{
	struct slice pairs = slice_from(response, PROOF_BYTES + BLOB_PAIRS_AT);
	while (pairs.len >= 4) {
		unsigned id = (unsigned)bytes_load(pairs.ptr, 2);
		size_t len = (size_t)bytes_load(pairs.ptr + 2, 2);
		pairs = slice_from(pairs, 4);
		if (id == PAIR_END)
			return true;
		if (len > pairs.len)
			return false;
		pairs = slice_from(pairs, len);
	}
	return false;
}

static bool code_matches(const struct ntlm *n, struct slice m)
{
	static const char zeros[NTLM_MIC_BYTES];
	unsigned char code[16];
	if (m.len < CODE_END)
		return false;
	struct slice parts[] = { buf_slice(&n->first), buf_slice(&n->second), slice_first(m, CODE_AT),
				 slice_make(zeros, sizeof zeros), slice_from(m, CODE_END) };
	hmac_md5(n->key, NTLM_KEY_BYTES, parts, 5, code);
	return slice_eq_consttime(slice_make(code, 16), slice_make(m.ptr + CODE_AT, NTLM_MIC_BYTES));
}

enum err ntlm_authenticate(struct ntlm *n, struct slice m, const struct auth_account *accounts, size_t count,
			   const struct auth_account **ret)
{
	struct authenticate a;
	unsigned char base[16];
	if (n->second.len == 0 || !authenticate_parse(m, &a))
		return ERR_AUTHENTICATION_FAILED;
	if (!pairs_end(a.response))
		return ERR_SYNTAX;
	const struct auth_account *account = account_find(a.user, accounts, count);
	n->tried = account;
	n->key_number = !account				    ? 0
			: key_matches(n, &a, account->key[0], base) ? 1
			: key_matches(n, &a, account->key[1], base) ? 2
								    : 0;
	if (!n->key_number)
		return ERR_AUTHENTICATION_FAILED;
	n->flags = a.flags;
	memcpy(n->key, base, sizeof n->key);
	if (a.flags & FLAG_KEY_EXCHANGE) {
		struct arcfour_ctx rc4;
		if (a.key.len != NTLM_KEY_BYTES)
			return ERR_AUTHENTICATION_FAILED;
		arcfour_set_key(&rc4, sizeof base, base);
		arcfour_crypt(&rc4, NTLM_KEY_BYTES, n->key, (const uint8_t *)a.key.ptr);
		hash_wipe(&rc4, sizeof rc4);
	}
	hash_wipe(base, sizeof base);
	n->has_code = wants_code(a.response);
	if (n->has_code && !code_matches(n, m))
		return ERR_AUTHENTICATION_FAILED;
	*ret = account;
	return ERR_OK;
}

/* ---- the signature of the mechanism list ---- */

static void derive(const struct ntlm *n, size_t key_bytes, const char *constant, unsigned char ret[16])
{
	struct md5_ctx md5;
	md5_init(&md5);
	md5_update(&md5, key_bytes, n->key);
	md5_update(&md5, strlen(constant) + 1, (const uint8_t *)constant);
	md5_digest(&md5, 16, ret);
}

bool ntlm_sign(const struct ntlm *n, bool by_client, struct slice text, unsigned char ret[NTLM_MIC_BYTES])
{
	unsigned char sign[16], seal[16], digest[16];
	if (!(n->flags & FLAG_EXTENDED))
		return false;
	size_t seal_bytes = n->flags & FLAG_128 ? NTLM_KEY_BYTES : n->flags & FLAG_56 ? 7 : 5;
	derive(n, NTLM_KEY_BYTES,
	       by_client ? "session key to client-to-server signing key magic constant"
			 : "session key to server-to-client signing key magic constant",
	       sign);
	derive(n, seal_bytes,
	       by_client ? "session key to client-to-server sealing key magic constant"
			 : "session key to server-to-client sealing key magic constant",
	       seal);
	struct slice parts[] = { slice_make("\0\0\0\0", 4), text };
	hmac_md5(sign, sizeof sign, parts, 2, digest);
	bytes_store(ret, 1, 4);
	memcpy(ret + 4, digest, 8);
	bytes_store(ret + 12, 0, 4);
	if (n->flags & FLAG_KEY_EXCHANGE) {
		struct arcfour_ctx rc4;
		arcfour_set_key(&rc4, sizeof seal, seal);
		arcfour_crypt(&rc4, 8, ret + 4, digest);
	}
	hash_wipe(sign, sizeof sign);
	hash_wipe(seal, sizeof seal);
	return true;
}

/* SPDX-License-Identifier: Apache-2.0
 * The connection: framing, protection, and the way to a connected share. */
#include "client.h"

#include "wire/hash.h"

#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <nettle/hmac.h>
#include <nettle/md4.h>
#include <nettle/sha2.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	KEY_BYTES = 16,
	TAG_BYTES = 16,
	NONCE_BYTES = 12,
	HEAD_BYTES = SMB2_TCP_PREFIX_BYTES + SMB2_TRANSFORM_BYTES,
	PEEK_BYTES = 512, /* of a long answer */
	AHEAD_BYTES = 4096,
	STATUS_PENDING_ = 0x103,
	STATUS_MORE = (int)0xC0000016,
	NTLM_FLAGS = 0x20088215, /* 128 bits, extended security, always sign, NTLM, sign, target, unicode */
};

struct client {
	int fd;
	bool encrypted, protected;
	uint64_t message_id, session_id, nonce, received;
	uint32_t tree_id;
	unsigned char hash[SHA512_DIGEST_SIZE];
	unsigned char receive_key[KEY_BYTES];
	EVP_CIPHER_CTX *gmac, *seal, *unseal, *peek;
	struct buf out;
	size_t part_at;
	char *in;
	size_t ahead_at, ahead_end;
	char ahead[AHEAD_BYTES]; /* read, and not taken yet */
};

void client_die(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fprintf(stderr, "smb_load: ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	exit(1);
}

/* ---- protection ---- */

static void hash_add(struct client *c, const char *message, size_t len)
{
	struct sha512_ctx s;
	sha512_init(&s);
	sha512_update(&s, sizeof c->hash, c->hash);
	sha512_update(&s, len, (const uint8_t *)message);
	sha512_digest(&s, sizeof c->hash, c->hash);
}

static void derive(const struct client *c, const unsigned char session_key[KEY_BYTES], const char *label,
		   unsigned char ret[KEY_BYTES])
{
	struct hash_hmac_key key;
	unsigned char text[128] = { 0, 0, 0, 1 }, block[HASH_SHA256_BYTES];
	size_t len = 4, label_len = strlen(label) + 1;
	memcpy(text + len, label, label_len);
	len += label_len + 1;
	memcpy(text + len, c->hash, sizeof c->hash);
	len += sizeof c->hash;
	text[len + 3] = 128; /* bits of the key, big-endian */
	len += 4;
	hash_hmac_key_init(&key, slice_make(session_key, KEY_BYTES));
	hash_hmac(&key, slice_make(text, len), block);
	memcpy(ret, block, KEY_BYTES);
}

static EVP_CIPHER_CTX *cipher_new(const EVP_CIPHER *kind, const unsigned char *key, int encrypt)
{
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	if (!c || EVP_CipherInit_ex(c, kind, NULL, key, NULL, encrypt) != 1)
		client_die("no cipher");
	return c;
}

static void protect_begin(struct client *c, const unsigned char session_key[KEY_BYTES])
{
	unsigned char key[KEY_BYTES];
	derive(c, session_key, "SMBSigningKey", key);
	c->gmac = cipher_new(EVP_aes_128_gcm(), key, 1);
	derive(c, session_key, "SMBC2SCipherKey", key);
	c->seal = cipher_new(EVP_aes_128_gcm(), key, 1);
	derive(c, session_key, "SMBS2CCipherKey", c->receive_key);
	c->unseal = cipher_new(EVP_aes_128_gcm(), c->receive_key, 0);
	c->peek = cipher_new(EVP_aes_128_ctr(), c->receive_key, 0);
	c->protected = true;
}

static void signature_make(struct client *c, const char *part, size_t len, bool by_server, unsigned char ret[TAG_BYTES])
{
	static const unsigned char zeros[SMB2_SIGNATURE_BYTES];
	const unsigned char *p = (const unsigned char *)part;
	unsigned char nonce[NONCE_BYTES] = { 0 };
	int n;
	memcpy(nonce, part + 24, 8);
	nonce[8] = by_server;
	if (EVP_EncryptInit_ex(c->gmac, NULL, NULL, NULL, nonce) != 1 ||
	    EVP_EncryptUpdate(c->gmac, NULL, &n, p, SMB2_SIGNATURE_AT) != 1 ||
	    EVP_EncryptUpdate(c->gmac, NULL, &n, zeros, sizeof zeros) != 1 ||
	    EVP_EncryptUpdate(c->gmac, NULL, &n, p + SMB2_HEADER_BYTES, (int)(len - SMB2_HEADER_BYTES)) != 1 ||
	    EVP_EncryptFinal_ex(c->gmac, ret, &n) != 1 ||
	    EVP_CIPHER_CTX_ctrl(c->gmac, EVP_CTRL_AEAD_GET_TAG, TAG_BYTES, ret) != 1)
		client_die("signing failed");
}

static void encrypt(struct client *c, char *head, char *message, size_t len)
{
	struct smb2_transform t = { .size = (uint32_t)len, .session_id = c->session_id };
	int n;
	bytes_store(t.nonce, ++c->nonce, 8);
	smb2_transform_write(head, &t);
	unsigned char *data = (unsigned char *)message;
	const unsigned char *aad = (const unsigned char *)head + SMB2_TRANSFORM_AAD_AT;
	if (EVP_EncryptInit_ex(c->seal, NULL, NULL, NULL, t.nonce) != 1 ||
	    EVP_EncryptUpdate(c->seal, NULL, &n, aad, SMB2_TRANSFORM_BYTES - SMB2_TRANSFORM_AAD_AT) != 1 ||
	    EVP_EncryptUpdate(c->seal, data, &n, data, (int)len) != 1 ||
	    EVP_EncryptFinal_ex(c->seal, data + len, &n) != 1 ||
	    EVP_CIPHER_CTX_ctrl(c->seal, EVP_CTRL_AEAD_GET_TAG, TAG_BYTES, head + 4) != 1)
		client_die("encryption failed");
}

static void decrypt(struct client *c, const struct smb2_transform *t, char *m)
{
	unsigned char tag[TAG_BYTES], *data = (unsigned char *)m + SMB2_TRANSFORM_BYTES;
	int n;
	memcpy(tag, t->tag, sizeof tag);
	if (EVP_DecryptInit_ex(c->unseal, NULL, NULL, NULL, t->nonce) != 1 ||
	    EVP_CIPHER_CTX_ctrl(c->unseal, EVP_CTRL_AEAD_SET_TAG, TAG_BYTES, tag) != 1 ||
	    EVP_DecryptUpdate(c->unseal, NULL, &n, (unsigned char *)m + SMB2_TRANSFORM_AAD_AT,
			      SMB2_TRANSFORM_BYTES - SMB2_TRANSFORM_AAD_AT) != 1 ||
	    EVP_DecryptUpdate(c->unseal, data, &n, data, (int)t->size) != 1 ||
	    EVP_DecryptFinal_ex(c->unseal, data + t->size, &n) != 1)
		client_die("an answer does not decrypt");
}

/* The beginning alone, unjudged: GCM is counter mode, its first data block has number 2. */
static void decrypt_peek(struct client *c, const unsigned char nonce[NONCE_BYTES], char *data, size_t len)
{
	unsigned char iv[16] = { 0 };
	int n;
	memcpy(iv, nonce, NONCE_BYTES);
	iv[15] = 2;
	if (EVP_DecryptInit_ex(c->peek, NULL, NULL, NULL, iv) != 1 ||
	    EVP_DecryptUpdate(c->peek, (unsigned char *)data, &n, (unsigned char *)data, (int)len) != 1)
		client_die("an answer does not decrypt");
}

static void signatures_check(struct client *c, char *message, size_t len)
{
	for (size_t at = 0;;) {
		struct slice rest = slice_make(message + at, len - at);
		unsigned char made[TAG_BYTES];
		if (rest.len < SMB2_HEADER_BYTES)
			client_die("a short answer");
		uint32_t next = smb2_u32(rest, SMB2_NEXT_AT);
		if (next > rest.len)
			client_die("an answer's next part is outside");
		size_t part = next ? next : rest.len;
		signature_make(c, rest.ptr, part, true, made);
		if ((smb2_u32(rest, SMB2_FLAGS_AT) & SMB2_FLAG_SIGNED) && memcmp(made, rest.ptr + 48, TAG_BYTES) != 0)
			client_die("an answer's signature is wrong");
		if (!(smb2_u32(rest, SMB2_FLAGS_AT) & SMB2_FLAG_SIGNED) && smb2_u32(rest, 8) != STATUS_PENDING_)
			client_die("an answer is not signed");
		if (!next)
			return;
		at += next;
	}
}

/* ---- messages ---- */

void client_begin(struct client *c)
{
	c->out.len = 0;
	c->part_at = 0;
	smb2_zeros_put(&c->out, HEAD_BYTES);
}

static void part_end(struct client *c, bool last)
{
	if (!c->part_at)
		return;
	if (!last) {
		smb2_pad(&c->out, HEAD_BYTES, 8);
		bytes_store(c->out.ptr + c->part_at + SMB2_NEXT_AT, c->out.len - c->part_at, 4);
	}
	if (c->protected && !c->encrypted) {
		char *part = c->out.ptr + c->part_at;
		unsigned char tag[TAG_BYTES];
		part[SMB2_FLAGS_AT] |= SMB2_FLAG_SIGNED;
		signature_make(c, part, c->out.len - c->part_at, false, tag);
		memcpy(part + SMB2_SIGNATURE_AT, tag, sizeof tag);
	}
}

struct buf *client_part(struct client *c, enum smb2_command command, unsigned charge, uint64_t *ret_message_id)
{
	bool related = c->part_at;
	part_end(c, false);
	c->part_at = c->out.len;
	struct smb2_header h = {
		.credit_charge = (uint16_t)charge,
		.command = command,
		.credits = 256,
		.flags = related ? SMB2_FLAG_RELATED : 0,
		.message_id = c->message_id,
		.tree_id = c->tree_id,
		.session_id = c->session_id,
	};
	if (ret_message_id)
		*ret_message_id = c->message_id;
	c->message_id += charge;
	smb2_header_put(&c->out, &h);
	return &c->out;
}

static void send_all(int fd, const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			client_die("send: %s", strerror(errno));
		bytes += n;
		len -= (size_t)n;
	}
}

void client_send(struct client *c)
{
	part_end(c, true);
	if (!buf_ok(&c->out))
		client_die("out of memory");
	size_t from = HEAD_BYTES;
	if (c->protected && c->encrypted) {
		from -= SMB2_TRANSFORM_BYTES;
		encrypt(c, c->out.ptr + from, c->out.ptr + HEAD_BYTES, c->out.len - HEAD_BYTES);
	} else if (!c->protected) {
		hash_add(c, c->out.ptr + HEAD_BYTES, c->out.len - HEAD_BYTES);
	}
	size_t len = c->out.len - from;
	char *prefix = c->out.ptr + from - SMB2_TCP_PREFIX_BYTES;
	prefix[0] = 0;
	prefix[1] = (char)(len >> 16);
	prefix[2] = (char)(len >> 8);
	prefix[3] = (char)len;
	send_all(c->fd, prefix, len + SMB2_TCP_PREFIX_BYTES);
}

static size_t receive_some(struct client *c, char *dst, size_t len, int flags)
{
	for (;;) {
		ssize_t n = recv(c->fd, dst, len, flags);
		if (n > 0)
			return (size_t)n;
		if (n == 0 || errno != EINTR)
			client_die("the server closed the connection");
	}
}

/* Small answers are read with what is there after them, large ones to where they belong. `dst` NULL: the bytes are
 * thrown away where they are. */
static void receive_all(struct client *c, char *dst, size_t len)
{
	while (len > 0) {
		size_t part = c->ahead_end - c->ahead_at;
		if (part == 0 && len >= sizeof c->ahead) {
			part = receive_some(c, dst, len, dst ? MSG_WAITALL : MSG_TRUNC);
		} else if (part == 0) {
			c->ahead_at = 0;
			c->ahead_end = receive_some(c, c->ahead, sizeof c->ahead, 0);
			continue;
		} else {
			part = part < len ? part : len;
			if (dst)
				memcpy(dst, c->ahead + c->ahead_at, part);
			c->ahead_at += part;
		}
		dst = dst ? dst + part : NULL;
		len -= part;
	}
}

static size_t length_receive(struct client *c)
{
	unsigned char prefix[SMB2_TCP_PREFIX_BYTES];
	receive_all(c, (char *)prefix, sizeof prefix);
	size_t len = (size_t)prefix[1] << 16 | (size_t)prefix[2] << 8 | prefix[3];
	if (prefix[0] != 0 || len < SMB2_HEADER_BYTES || len > CLIENT_BUFFER_BYTES)
		client_die("an answer of %zu bytes", len);
	return len;
}

int client_socket(const struct client *c)
{
	return c->fd;
}

bool client_has_more(const struct client *c)
{
	return c->ahead_at < c->ahead_end;
}

struct client_answer client_receive(struct client *c)
{
	for (;;) {
		size_t len = length_receive(c);
		bool whole = len <= CLIENT_LONG_BYTES || c->received++ % CLIENT_CHECK_EVERY == 0;
		size_t have = whole ? len : PEEK_BYTES;
		char *m = c->in;
		assert(m);
		receive_all(c, m, have);
		if (!whole)
			receive_all(c, NULL, len - have);
		if (smb2_message_kind(slice_make(m, have)) == SMB2_MESSAGE_TRANSFORM) {
			struct smb2_transform t = { .size = (uint32_t)(len - SMB2_TRANSFORM_BYTES) };
			memcpy(t.tag, m + 4, sizeof t.tag);
			memcpy(t.nonce, m + SMB2_TRANSFORM_AAD_AT, sizeof t.nonce);
			if (whole)
				decrypt(c, &t, m);
			else
				decrypt_peek(c, t.nonce, m + SMB2_TRANSFORM_BYTES, have - SMB2_TRANSFORM_BYTES);
			m += SMB2_TRANSFORM_BYTES;
			have -= SMB2_TRANSFORM_BYTES;
			len -= SMB2_TRANSFORM_BYTES;
		} else if (c->protected && c->encrypted) {
			client_die("an answer is not encrypted");
		} else if (c->protected && whole) {
			signatures_check(c, m, len);
		}
		struct smb2_header h;
		if (smb2_header_parse(slice_make(m, have), &h) != ERR_OK)
			client_die("an answer without a header");
		if (h.status == STATUS_PENDING_ && (h.flags & SMB2_FLAG_ASYNC))
			continue;
		return (struct client_answer){ .status = h.status,
					       .command = h.command,
					       .message_id = h.message_id,
					       .message = slice_make(m, have),
					       .length = len,
					       .whole = whole };
	}
}

/* ---- the way in ---- */

static size_t utf16(char *dst, const char *text, bool upper)
{
	size_t n = 0;
	for (; *text; text++) {
		dst[n++] = (char)(upper ? toupper((unsigned char)*text) : *text);
		dst[n++] = 0;
	}
	return n;
}

static struct client_answer exchange(struct client *c, uint32_t expected, const char *what)
{
	client_send(c);
	struct client_answer a = client_receive(c);
	if (a.status != expected)
		client_die("%s: status %08x", what, a.status);
	return a;
}

static void negotiate(struct client *c)
{
	client_begin(c);
	struct buf *b = client_part(c, SMB2_NEGOTIATE, 1, NULL);
	unsigned char guid[16], salt[32];
	RAND_bytes(guid, sizeof guid);
	RAND_bytes(salt, sizeof salt);
	bytes_put_u16(b, 36);
	bytes_put_u16(b, 1);
	bytes_put_u16(b, SMB2_MODE_SIGNING_ENABLED | SMB2_MODE_SIGNING_REQUIRED);
	bytes_put_u16(b, 0);
	bytes_put_u32(b, 0x7f);
	buf_put(b, slice_make(guid, sizeof guid));
	bytes_put_u32(b, 64 + 40); /* contexts, after one dialect and its padding */
	bytes_put_u16(b, 3);
	bytes_put_u16(b, 0);
	bytes_put_u16(b, SMB2_DIALECT_311);
	bytes_put_u16(b, 0);
	const uint16_t preauth[] = { 1, 38, 0, 0, 1, 32, SMB2_HASH_SHA512 };
	for (size_t i = 0; i < sizeof preauth / 2; i++)
		bytes_put_u16(b, preauth[i]);
	buf_put(b, slice_make(salt, sizeof salt));
	smb2_pad(b, HEAD_BYTES, 8);
	const uint16_t rest[] = { 2, 4, 0, 0, 1, SMB2_CIPHER_AES128_GCM, 0, 0, 8, 4, 0, 0, 1, SMB2_SIGN_AES_GMAC };
	for (size_t i = 0; i < sizeof rest / 2; i++)
		bytes_put_u16(b, rest[i]);
	struct client_answer a = exchange(c, 0, "negotiate");
	hash_add(c, a.message.ptr, a.length);
}

static struct client_answer session_setup(struct client *c, struct slice token, uint32_t expected)
{
	client_begin(c);
	struct buf *b = client_part(c, SMB2_SESSION_SETUP, 1, NULL);
	bytes_put_u16(b, 25);
	bytes_put_u8(b, 0);
	bytes_put_u8(b, SMB2_MODE_SIGNING_ENABLED);
	smb2_zeros_put(b, 8);
	bytes_put_u16(b, 88);
	bytes_put_u16(b, (uint16_t)token.len);
	smb2_zeros_put(b, 8);
	buf_put(b, token);
	return exchange(c, expected, "login");
}

static void hmac_md5(const unsigned char key[16], struct slice a, struct slice b, unsigned char ret[16])
{
	struct hmac_md5_ctx h;
	hmac_md5_set_key(&h, 16, key);
	hmac_md5_update(&h, a.len, (const uint8_t *)a.ptr);
	hmac_md5_update(&h, b.len, (const uint8_t *)b.ptr);
	hmac_md5_digest(&h, 16, ret);
}

/* The NT response to a challenge, and the session key that both sides have then. */
static size_t ntlm_response(const struct client_options *o, struct slice challenge, char *ret,
			    unsigned char session_key[KEY_BYTES])
{
	char text[512];
	unsigned char nt[16], owner[16], proof[16];
	struct md4_ctx md4;
	md4_init(&md4);
	md4_update(&md4, utf16(text, o->password, false), (uint8_t *)text);
	md4_digest(&md4, sizeof nt, nt);
	size_t n = utf16(text, o->user, true);
	n += utf16(text + n, "BENCH", false);
	hmac_md5(nt, slice_make(text, n), SLICE(""), owner);
	size_t info_len = smb2_u16(challenge, 40), info_at = smb2_u32(challenge, 44);
	if (info_at + info_len > challenge.len || info_len > 512)
		client_die("a challenge that is none");
	char *blob = ret + 16;
	size_t len = 28 + info_len + 4;
	memset(blob, 0, len);
	blob[0] = blob[1] = 1;
	RAND_bytes((unsigned char *)blob + 16, 8);
	memcpy(blob + 28, challenge.ptr + info_at, info_len);
	hmac_md5(owner, slice_make(challenge.ptr + 24, 8), slice_make(blob, len), proof);
	memcpy(ret, proof, 16);
	hmac_md5(owner, slice_make(proof, 16), SLICE(""), session_key);
	return 16 + len;
}

static void login(struct client *c, const struct client_options *o)
{
	char first[32] = "NTLMSSP\0\x01", last[2048] = "NTLMSSP\0\x03", fields[3][1024];
	unsigned char session_key[KEY_BYTES];
	size_t lens[3], at = 64;
	bytes_store(first + 12, NTLM_FLAGS, 4);
	struct client_answer a = session_setup(c, slice_make(first, sizeof first), (uint32_t)STATUS_MORE);
	hash_add(c, a.message.ptr, a.length);
	c->session_id = smb2_u64(a.message, 40);
	size_t token_at = smb2_u16(a.message, 68), token_len = smb2_u16(a.message, 70);
	if (token_at + token_len > a.message.len || token_len < 56)
		client_die("a challenge that is none");
	lens[0] = ntlm_response(o, slice_make(a.message.ptr + token_at, token_len), fields[0], session_key);
	lens[1] = utf16(fields[1], "BENCH", false);
	lens[2] = utf16(fields[2], o->user, false);
	for (unsigned i = 0; i < 6; i++) { /* LM, NT, domain, user, workstation, key */
		bool has = i >= 1 && i <= 3;
		size_t len = has ? lens[i - 1] : 0;
		bytes_store(last + 12 + 8 * i, len, 2);
		bytes_store(last + 14 + 8 * i, len, 2);
		bytes_store(last + 16 + 8 * i, at, 4);
		if (has)
			memcpy(last + at, fields[i - 1], len);
		at += len;
	}
	bytes_store(last + 60, NTLM_FLAGS, 4);
	(void)session_setup(c, slice_make(last, at), 0);
	protect_begin(c, session_key);
}

static void tree_connect(struct client *c, const char *share)
{
	char path[256], wide[512];
	snprintf(path, sizeof path, "\\\\127.0.0.1\\%s", share);
	size_t len = utf16(wide, path, false);
	client_begin(c);
	struct buf *b = client_part(c, SMB2_TREE_CONNECT, 1, NULL);
	bytes_put_u16(b, 9);
	bytes_put_u16(b, 0);
	bytes_put_u16(b, 72);
	bytes_put_u16(b, (uint16_t)len);
	buf_put(b, slice_make(wide, len));
	struct client_answer a = exchange(c, 0, "tree connect");
	c->tree_id = smb2_u32(a.message, 36);
}

struct client *client_open(const struct client_options *o)
{
	struct client *c = calloc(1, sizeof *c);
	int one = 1;
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons((uint16_t)o->port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (!c || !(c->in = malloc(CLIENT_BUFFER_BYTES)))
		client_die("out of memory");
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&address, sizeof address) != 0)
		client_die("port %d: %s", o->port, strerror(errno));
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	buf_init(&c->out, CLIENT_BUFFER_BYTES);
	c->encrypted = o->encrypted;
	negotiate(c);
	login(c, o);
	tree_connect(c, o->share);
	return c;
}

void client_close(struct client *c)
{
	close(c->fd);
	EVP_CIPHER_CTX_free(c->gmac);
	EVP_CIPHER_CTX_free(c->seal);
	EVP_CIPHER_CTX_free(c->unseal);
	EVP_CIPHER_CTX_free(c->peek);
	buf_fini(&c->out);
	free(c->in);
	free(c);
}

/* ---- bodies ---- */

void client_put_create(struct buf *b, const struct client_create *k)
{
	char wide[512];
	size_t len = utf16(wide, k->name, false);
	bytes_put_u16(b, 57);
	bytes_put_u16(b, 0);
	bytes_put_u32(b, 2);
	smb2_zeros_put(b, 16);
	bytes_put_u32(b, k->access);
	bytes_put_u32(b, 0);
	bytes_put_u32(b, k->share);
	bytes_put_u32(b, k->disposition);
	bytes_put_u32(b, k->options);
	bytes_put_u16(b, 120);
	bytes_put_u16(b, (uint16_t)len);
	smb2_zeros_put(b, 8);
	buf_put(b, len ? slice_make(wide, len) : slice_make("\0", 1));
}

void client_put_close(struct buf *b, struct smb2_file_id id)
{
	bytes_put_u16(b, 24);
	smb2_zeros_put(b, 6);
	smb2_file_id_put(b, id);
}

void client_put_read(struct buf *b, struct smb2_file_id id, uint64_t offset, uint32_t length)
{
	bytes_put_u16(b, 49);
	bytes_put_u16(b, 0x50);
	bytes_put_u32(b, length);
	bytes_put_u64(b, offset);
	smb2_file_id_put(b, id);
	smb2_zeros_put(b, 17);
}

void client_put_write(struct buf *b, struct smb2_file_id id, uint64_t offset, struct slice data)
{
	bytes_put_u16(b, 49);
	bytes_put_u16(b, 0x70);
	bytes_put_u32(b, (uint32_t)data.len);
	bytes_put_u64(b, offset);
	smb2_file_id_put(b, id);
	smb2_zeros_put(b, 16);
	buf_put(b, data);
}

void client_put_query_all(struct buf *b, struct smb2_file_id id)
{
	bytes_put_u16(b, 41);
	bytes_put_u8(b, SMB2_INFO_FILE);
	bytes_put_u8(b, 18);
	bytes_put_u32(b, 4096);
	smb2_zeros_put(b, 16);
	smb2_file_id_put(b, id);
}

void client_put_query_directory(struct buf *b, struct smb2_file_id id, uint32_t room)
{
	bytes_put_u16(b, 33);
	bytes_put_u8(b, 37);
	bytes_put_u8(b, 0);
	bytes_put_u32(b, 0);
	smb2_file_id_put(b, id);
	bytes_put_u16(b, 96);
	bytes_put_u16(b, 2);
	bytes_put_u32(b, room);
	bytes_put_u16(b, '*');
}

struct smb2_file_id client_created_id(const struct client_answer *a)
{
	return smb2_file_id_load(a->message, SMB2_HEADER_BYTES + 64);
}

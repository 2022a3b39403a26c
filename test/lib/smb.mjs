// SPDX-License-Identifier: Apache-2.0
// A raw SMB2 client for tests: every field of every message is the test's to choose, also wrongly.
//
//   const c = await SmbClient.connect(port);            // TCP only
//   await c.negotiate(); await c.login(account, key);   // dialect 2.1 unless { dialects }; signed from then on
//   const tree = await c.treeConnect('share');           // all of it: const { c, tree } = await connected(port, 'share');
//   const { status, header, body } = await c.request(COMMAND.CREATE, body, { tree });
//   c.send(bytes)            raw message, framed      c.sendRaw(bytes)   bytes as they are
//   await c.nextBreak()      the next unasked message
//   await c.compound([[COMMAND.CREATE, body], ...], { tree })   related parts of one message: their answers
// Dialects 2.1 (HMAC-SHA256), 3.0, 3.0.2 (AES-CMAC) and 3.1.1 (also AES-GMAC); every cipher. Encrypted from the login on
// with login(..., { encrypt: true }). Not a client for anything but tests.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import net from 'node:net';

import { WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY } from './server.mjs';

export const COMMAND = { NEGOTIATE: 0, SESSION_SETUP: 1, LOGOFF: 2, TREE_CONNECT: 3, TREE_DISCONNECT: 4, CREATE: 5, CLOSE: 6, FLUSH: 7,
	READ: 8, WRITE: 9, LOCK: 10, IOCTL: 11, CANCEL: 12, ECHO: 13, QUERY_DIRECTORY: 14, CHANGE_NOTIFY: 15, QUERY_INFO: 16, SET_INFO: 17,
	OPLOCK_BREAK: 18 };
export const STATUS = { OK: 0, PENDING: 0x103, MORE: 0xc0000016, ACCESS_DENIED: 0xc0000022, INVALID_PARAMETER: 0xc000000d,
	SHARING_VIOLATION: 0xc0000043, DELETE_PENDING: 0xc0000056, NOT_FOUND: 0xc0000034, LOGON_FAILURE: 0xc000006d, FILE_CLOSED: 0xc0000128,
	LOCK_CONFLICT: 0xc0000054, LOCK_NOT_GRANTED: 0xc0000055, CANCELLED: 0xc0000120, SESSION_DELETED: 0xc0000203, NO_TREE: 0xc00000c9,
	DISK_FULL: 0xc000007f, QUOTA_EXCEEDED: 0xc0000044, NOTIFY_CLEANUP: 0x10b, NOTIFY_ENUM_DIR: 0x10c, BUFFER_OVERFLOW: 0x80000005, NO_MORE_FILES: 0x80000006,
	UNSUCCESSFUL: 0xc0000001, INVALID_INFO_CLASS: 0xc0000003, INFO_LENGTH_MISMATCH: 0xc0000004, NO_SUCH_FILE: 0xc000000f,
	INVALID_DEVICE_REQUEST: 0xc0000010, END_OF_FILE: 0xc0000011, INVALID_VIEW_SIZE: 0xc000001f, BUFFER_TOO_SMALL: 0xc0000023,
	NAME_INVALID: 0xc0000033, COLLISION: 0xc0000035, PATH_NOT_FOUND: 0xc000003a, EAS_NOT_SUPPORTED: 0xc000004f, NO_EAS: 0xc0000052,
	PRIVILEGE_NOT_HELD: 0xc0000061, RANGE_NOT_LOCKED: 0xc000007e, INSUFFICIENT_RESOURCES: 0xc000009a, MEDIA_WRITE_PROTECTED: 0xc00000a2,
	BAD_IMPERSONATION: 0xc00000a5, IS_A_DIRECTORY: 0xc00000ba, NOT_SUPPORTED: 0xc00000bb, BAD_NETWORK_NAME: 0xc00000cc,
	REQUEST_NOT_ACCEPTED: 0xc00000d0, DIRECTORY_NOT_EMPTY: 0xc0000101, NOT_A_DIRECTORY: 0xc0000103, CANNOT_DELETE: 0xc0000121,
	INVALID_DEVICE_STATE: 0xc0000184, FS_DRIVER_REQUIRED: 0xc000019c, INVALID_LOCK_RANGE: 0xc00001a1, FILE_NOT_AVAILABLE: 0xc0000467,
	NO_PREAUTH_HASH: 0xc05d0000 };
export const ACCESS = { READ: 0x120089, WRITE: 0x120116, DELETE: 0x10000, ALL: 0x1f01ff, READ_ATTRIBUTES: 0x80 };
export const SHARE = { NONE: 0, READ: 1, WRITE: 2, DELETE: 4, ALL: 7 };

const utf16 = (text) => Buffer.from(text, 'utf16le');
const hmacMd5 = (key, ...parts) => parts.reduce((h, part) => h.update(part), crypto.createHmac('md5', key)).digest();

// MD4 (RFC 1320): OpenSSL 3 has it only in its legacy provider.
export function md4(message) {
	const rotate = (x, n) => ((x << n) | (x >>> (32 - n))) >>> 0;
	const padded = Buffer.alloc(Math.ceil((message.length + 9) / 64) * 64);
	message.copy(padded);
	padded[message.length] = 0x80;
	padded.writeBigUInt64LE(BigInt(message.length) * 8n, padded.length - 8);
	let [a, b, c, d] = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476];
	const rounds = [
		{ f: (x, y, z) => (x & y) | (~x & z), add: 0, order: [...Array(16).keys()], shift: [3, 7, 11, 19] },
		{ f: (x, y, z) => (x & y) | (x & z) | (y & z), add: 0x5a827999, order: [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15], shift: [3, 5, 9, 13] },
		{ f: (x, y, z) => x ^ y ^ z, add: 0x6ed9eba1, order: [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15], shift: [3, 9, 11, 15] },
	];
	for (let at = 0; at < padded.length; at += 64) {
		const before = [a, b, c, d];
		for (const { f, add, order, shift } of rounds)
			order.forEach((word, i) => {
				const next = rotate((a + f(b, c, d) + padded.readUInt32LE(at + 4 * word) + add) >>> 0, shift[i % 4]);
				[a, b, c, d] = [d, next, b, c];
			});
		[a, b, c, d] = [a, b, c, d].map((x, i) => (x + before[i]) >>> 0);
	}
	const out = Buffer.alloc(16);
	[a, b, c, d].forEach((x, i) => out.writeUInt32LE(x, 4 * i));
	return out;
}

function cmac(key, message) {
	const aes = (block) => {
		const cipher = crypto.createCipheriv('aes-128-ecb', key, null).setAutoPadding(false);
		return Buffer.concat([cipher.update(block), cipher.final()]);
	};
	const double = (block) => {
		const out = Buffer.alloc(16);
		for (let i = 0; i < 16; i++) out[i] = ((block[i] << 1) | (i < 15 ? block[i + 1] >> 7 : 0)) & 0xff;
		if (block[0] & 0x80) out[15] ^= 0x87;
		return out;
	};
	const k1 = double(aes(Buffer.alloc(16)));
	const full = message.length > 0 && message.length % 16 === 0;
	const padded = Buffer.alloc(full ? message.length : Math.ceil((message.length + 1) / 16) * 16);
	message.copy(padded);
	if (!full) padded[message.length] = 0x80;
	const last = full ? k1 : double(k1);
	for (let i = 0; i < 16; i++) padded[padded.length - 16 + i] ^= last[i];
	const cipher = crypto.createCipheriv('aes-128-cbc', key, Buffer.alloc(16)).setAutoPadding(false);
	return Buffer.concat([cipher.update(padded), cipher.final()]).subarray(-16);
}

function derive(key, label, context, bytes = 16) {
	const about = Buffer.isBuffer(context) ? context : Buffer.from(`${context}\0`);
	const length = Buffer.alloc(4);
	length.writeUInt32BE(8 * bytes);
	const text = Buffer.concat([Buffer.from([0, 0, 0, 1]), Buffer.from(`${label}\0`), Buffer.from([0]), about, length]);
	return crypto.createHmac('sha256', key).update(text).digest().subarray(0, bytes);
}

export const SIGNING = { HMAC_SHA256: 0, AES_CMAC: 1, AES_GMAC: 2 };
export const CIPHER = { AES_128_CCM: 1, AES_128_GCM: 2, AES_256_CCM: 3, AES_256_GCM: 4 };
const CIPHERS = [null, ['aes-128-ccm', 16, 11], ['aes-128-gcm', 16, 12], ['aes-256-ccm', 32, 11], ['aes-256-gcm', 32, 12]]; // key, nonce bytes

function gmac(key, part, fromServer) {
	const nonce = Buffer.alloc(12);
	part.copy(nonce, 0, 24, 32);
	nonce.writeUInt32LE((fromServer ? 1 : 0) | (part.readUInt16LE(12) === COMMAND.CANCEL ? 2 : 0), 8);
	const cipher = crypto.createCipheriv('aes-128-gcm', key, nonce);
	cipher.setAAD(part);
	cipher.final();
	return cipher.getAuthTag();
}

// The contexts of a 3.1.1 NEGOTIATE: each at a multiple of 8, the last without padding.
function negotiateContexts(ciphers, signing) {
	const list = (numbers) => Buffer.from(Uint16Array.from([numbers.length, ...numbers]).buffer);
	const preauth = Buffer.concat([Buffer.from([1, 0, 32, 0, 1, 0]), crypto.randomBytes(32)]);
	return [[1, preauth], [2, list(ciphers)], ...(signing === undefined ? [] : [[8, list([signing])]])];
}

function contextsBytes(all) {
	return all.map(([type, data], i) => {
		const size = 8 + data.length;
		const c = Buffer.alloc(i + 1 < all.length ? Math.ceil(size / 8) * 8 : size);
		c.writeUInt16LE(type, 0);
		c.writeUInt16LE(data.length, 2);
		data.copy(c, 8);
		return c;
	});
}

export class SmbClient {
	static connect(port, host = '127.0.0.1') {
		return new Promise((resolve, reject) => {
			const socket = net.connect(port, host);
			socket.once('error', reject);
			socket.once('connect', () => {
				socket.off('error', reject);
				resolve(new SmbClient(socket));
			});
		});
	}

	constructor(socket) {
		this.socket = socket;
		this.messageId = 0n;
		this.sessionId = 0n;
		this.signKey = null;
		this.guid = crypto.randomBytes(16);
		this.hash = Buffer.alloc(64); // of what came before the keys, 3.1.1
		this.signing = SIGNING.AES_CMAC;
		this.cipher = 0;
		this.encrypts = false;
		this.nonce = 0n;
		this.waiting = new Map();
		this.interims = [];
		this.breaks = [];
		this.breakWaiters = [];
		this.closed = false;
		let input = Buffer.alloc(0);
		socket.on('data', (data) => {
			input = Buffer.concat([input, data]);
			while (input.length >= 4) {
				const length = input.readUInt32BE(0) & 0xffffff;
				if (input.length < 4 + length) break;
				this.#received(this.#opened(input.subarray(4, 4 + length)));
				input = input.subarray(4 + length);
			}
		});
		socket.on('error', () => {});
		this.ended = new Promise((resolve) => socket.once('close', () => {
			this.closed = true;
			for (const waiter of this.waiting.values()) waiter({ status: null, closed: true });
			this.waiting.clear();
			resolve();
		}));
	}

	#absorb(message) {
		this.hash = crypto.createHash('sha512').update(this.hash).update(message).digest();
	}

	// Without its transform, if it has one.
	#opened(message) {
		if (message[0] !== 0xfd) return message;
		const [name, , nonceBytes] = CIPHERS[this.cipher];
		const size = message.readUInt32LE(36);
		const decipher = crypto.createDecipheriv(name, this.openKey, message.subarray(20, 20 + nonceBytes), { authTagLength: 16 });
		decipher.setAuthTag(message.subarray(4, 20));
		decipher.setAAD(message.subarray(20, 52), { plaintextLength: size });
		const plain = decipher.update(message.subarray(52, 52 + size));
		decipher.final();
		this.decrypted = (this.decrypted ?? 0) + 1;
		return plain;
	}

	#sealed(message) {
		const [name, , nonceBytes] = CIPHERS[this.cipher];
		const head = Buffer.alloc(52);
		head.write('\xfdSMB', 0, 'latin1');
		head.writeBigUInt64LE(++this.nonce, 20);
		head.writeUInt32LE(message.length, 36);
		head.writeUInt16LE(1, 42);
		head.writeBigUInt64LE(this.sessionId, 44);
		const cipher = crypto.createCipheriv(name, this.sealKey, head.subarray(20, 20 + nonceBytes), { authTagLength: 16 });
		cipher.setAAD(head.subarray(20), { plaintextLength: message.length });
		const body = cipher.update(message);
		cipher.final();
		cipher.getAuthTag().copy(head, 4);
		return Buffer.concat([head, body]);
	}

	#received(message) {
		const command = message.readUInt16LE(12);
		if (command === COMMAND.NEGOTIATE || (command === COMMAND.SESSION_SETUP && message.readUInt32LE(8) === STATUS.MORE)) this.#absorb(message);
		for (let at = 0; ;) {
			const next = message.readUInt32LE(at + 20);
			const part = next ? message.subarray(at, at + next) : message.subarray(at);
			const header = { status: part.readUInt32LE(8), command: part.readUInt16LE(12), credits: part.readUInt16LE(14), flags: part.readUInt32LE(16),
				messageId: part.readBigUInt64LE(24), tree: part.readUInt32LE(36), asyncId: part.readBigUInt64LE(32), sessionId: part.readBigUInt64LE(40) };
			const answer = { status: header.status, header, part, body: part.subarray(64) };
			if (header.messageId === 0xffffffffffffffffn) {
				const waiter = this.breakWaiters.shift();
				if (waiter) waiter(answer);
				else this.breaks.push(answer);
			} else if (header.status === STATUS.PENDING) {
				this.interims.push(answer);
				this.onInterim?.(answer);
			} else {
				this.waiting.get(header.messageId)?.(answer);
				this.waiting.delete(header.messageId);
			}
			if (!next) return;
			at += next;
		}
	}

	nextBreak(ms = 10_000) {
		if (this.breaks.length) return Promise.resolve(this.breaks.shift());
		return new Promise((resolve, reject) => {
			const timer = setTimeout(() => reject(new Error('no break came')), ms);
			this.breakWaiters.push((answer) => {
				clearTimeout(timer);
				resolve(answer);
			});
		});
	}

	sendRaw(bytes) {
		if (!this.closed) this.socket.write(bytes);
	}

	send(message) {
		const prefix = Buffer.alloc(4);
		prefix.writeUInt32BE(message.length);
		this.sendRaw(Buffer.concat([prefix, message]));
	}

	header(command, { tree = 0, flags = 0, messageId, charge = 1, credits = 64, next = 0, sessionId = this.sessionId, channelSequence = 0 } = {}) {
		const h = Buffer.alloc(64);
		h.write('\xfeSMB', 0, 'latin1');
		h.writeUInt16LE(64, 4);
		h.writeUInt16LE(charge, 6);
		h.writeUInt32LE(channelSequence, 8);
		h.writeUInt16LE(command, 12);
		h.writeUInt16LE(credits, 14);
		h.writeUInt32LE(flags, 16);
		h.writeUInt32LE(next, 20);
		h.writeBigUInt64LE(messageId ?? this.messageId, 24);
		h.writeUInt32LE(tree, 36);
		h.writeBigUInt64LE(sessionId, 40);
		return h;
	}

	sign(part) {
		part.writeUInt32LE(part.readUInt32LE(16) | 8, 16);
		part.fill(0, 48, 64);
		const mac = this.signing === SIGNING.AES_GMAC ? gmac(this.signKey, part, false)
			: this.signing === SIGNING.AES_CMAC ? cmac(this.signKey, part) : crypto.createHmac('sha256', this.signKey).update(part).digest();
		mac.copy(part, 48, 0, 16);
		return part;
	}

	// Sends one part; the promise is its final answer ({ closed: true } if the connection ended instead).
	request(command, body, options = {}) {
		const charge = options.charge ?? 1;
		const messageId = options.messageId ?? this.messageId;
		const part = Buffer.concat([this.header(command, { ...options, messageId, charge }), body]);
		if (options.messageId === undefined) this.messageId += BigInt(Math.max(1, charge));
		const encrypt = this.encrypts && options.sign !== false;
		if (this.signKey && options.sign !== false && !encrypt) this.sign(part);
		if (command === COMMAND.NEGOTIATE || command === COMMAND.SESSION_SETUP) this.#absorb(part);
		const answer = this.expect(messageId);
		this.send(encrypt ? this.#sealed(part) : part);
		return answer;
	}

	compound(parts, { tree } = {}) {
		const answers = [];
		const built = parts.map(([command, body], i) => {
			const last = i === parts.length - 1;
			const size = 64 + body.length;
			const part = Buffer.alloc(last ? size : Math.ceil(size / 8) * 8);
			this.header(command, { tree, flags: i ? 4 : 0, next: last ? 0 : part.length }).copy(part);
			body.copy(part, 64);
			answers.push(this.expect(this.messageId++));
			return this.signKey && !this.encrypts ? this.sign(part) : part;
		});
		const message = Buffer.concat(built);
		this.send(this.encrypts ? this.#sealed(message) : message);
		return Promise.all(answers);
	}

	expect(messageId) {
		if (this.closed) return Promise.resolve({ status: null, closed: true });
		return new Promise((resolve) => this.waiting.set(messageId, resolve));
	}

	// `bend` gets the contexts [[type, data], ...] and gives those to be sent.
	async negotiate({ dialects = [0x210], mode = 1, ciphers = [2, 1], signing, bend = (all) => all } = {}) {
		const contexts = dialects.includes(0x311) ? contextsBytes(bend(negotiateContexts(ciphers, signing))) : [];
		const at = Math.ceil((36 + 2 * dialects.length) / 8) * 8;
		const body = Buffer.alloc(contexts.length ? at : 36 + 2 * dialects.length);
		body.writeUInt16LE(36, 0);
		body.writeUInt16LE(dialects.length, 2);
		body.writeUInt16LE(mode, 4);
		body.writeUInt32LE(0x7f, 8);
		this.guid.copy(body, 12);
		dialects.forEach((d, i) => body.writeUInt16LE(d, 36 + 2 * i));
		if (contexts.length) {
			body.writeUInt32LE(64 + at, 28);
			body.writeUInt16LE(contexts.length, 32);
		}
		const answer = await this.request(COMMAND.NEGOTIATE, Buffer.concat([body, ...contexts]), { charge: 0 });
		if (answer.status === 0) this.#negotiated(answer);
		return answer;
	}

	#negotiated({ part, body }) {
		this.dialect = body.readUInt16LE(4);
		this.signing = this.dialect >= 0x300 ? SIGNING.AES_CMAC : SIGNING.HMAC_SHA256;
		this.cipher = this.dialect >= 0x300 && body.readUInt32LE(24) & 0x40 ? CIPHER.AES_128_CCM : 0;
		let at = this.dialect === 0x311 ? body.readUInt32LE(60) : 0;
		for (let i = 0; at && i < body.readUInt16LE(6); i++) {
			const type = part.readUInt16LE(at);
			const length = part.readUInt16LE(at + 2);
			if (type === 2) this.cipher = part.readUInt16LE(at + 10);
			if (type === 8) this.signing = part.readUInt16LE(at + 10);
			at = Math.ceil((at + 8 + length) / 8) * 8;
		}
	}

	#keys(sessionKey) {
		const bytes = CIPHERS[this.cipher]?.[1] ?? 16;
		if (this.dialect === 0x311) {
			this.signKey = derive(sessionKey, 'SMBSigningKey', this.hash);
			this.sealKey = derive(sessionKey, 'SMBC2SCipherKey', this.hash, bytes);
			this.openKey = derive(sessionKey, 'SMBS2CCipherKey', this.hash, bytes);
		} else if (this.dialect >= 0x300) {
			this.signKey = derive(sessionKey, 'SMB2AESCMAC', 'SmbSign');
			this.sealKey = derive(sessionKey, 'SMB2AESCCM', 'ServerIn ');
			this.openKey = derive(sessionKey, 'SMB2AESCCM', 'ServerOut');
		} else {
			this.signKey = sessionKey;
		}
	}

	sessionSetup(token, { previous = 0n, sessionId = this.sessionId, flags = 0 } = {}) {
		const body = Buffer.alloc(24);
		body.writeUInt16LE(25, 0);
		body[2] = flags;
		body[3] = 1;
		body.writeUInt16LE(88, 12);
		body.writeUInt16LE(token.length, 14);
		body.writeBigUInt64LE(previous, 16);
		return this.request(COMMAND.SESSION_SETUP, Buffer.concat([body, token]), { sessionId, sign: false });
	}

	// Raw NTLMSSP, as Linux does it.
	async login(account, key, { domain = 'AZURE', previous = 0n, encrypt = false, proofBytes } = {}) {
		const flags = 0x20088205;
		const first = Buffer.alloc(32);
		first.write('NTLMSSP\0\x01', 0, 'latin1');
		first.writeUInt32LE(flags, 12);
		const challenge = await this.sessionSetup(first, { sessionId: 0n, previous });
		if (challenge.status !== STATUS.MORE) return challenge;
		const token = challenge.body.subarray(challenge.body.readUInt16LE(4) - 64);
		const info = token.subarray(token.readUInt32LE(44), token.readUInt32LE(44) + token.readUInt16LE(40));
		const owner = hmacMd5(md4(utf16(key)), utf16(account.toUpperCase() + domain));
		const blob = Buffer.concat([Buffer.from([1, 1, 0, 0, 0, 0, 0, 0]), Buffer.alloc(8), crypto.randomBytes(8), Buffer.alloc(4), info, Buffer.alloc(4)]);
		const proof = hmacMd5(owner, token.subarray(24, 32), blob);
		// proofBytes: cut to so many, as older protocols have it.
		const fields = [Buffer.alloc(0), Buffer.concat([proof, blob]).subarray(0, proofBytes), utf16(domain), utf16(account), Buffer.alloc(0), Buffer.alloc(0)];
		const last = Buffer.alloc(64);
		last.write('NTLMSSP\0\x03', 0, 'latin1');
		let at = 64;
		fields.forEach((field, i) => {
			last.writeUInt16LE(field.length, 12 + 8 * i);
			last.writeUInt16LE(field.length, 14 + 8 * i);
			last.writeUInt32LE(at, 16 + 8 * i);
			at += field.length;
		});
		last.writeUInt32LE(flags, 60);
		const sessionId = challenge.header.sessionId;
		const answer = await this.sessionSetup(Buffer.concat([last, ...fields]), { sessionId, previous });
		if (answer.status !== 0) return answer;
		this.sessionId = sessionId;
		this.#keys(hmacMd5(owner, proof));
		this.encrypts = encrypt;
		return answer;
	}

	async treeConnect(share) {
		const path = utf16(`\\\\127.0.0.1\\${share}`);
		const body = Buffer.alloc(8);
		body.writeUInt16LE(9, 0);
		body.writeUInt16LE(72, 4);
		body.writeUInt16LE(path.length, 6);
		const answer = await this.request(COMMAND.TREE_CONNECT, Buffer.concat([body, path]));
		if (answer.status !== 0) throw new Error(`tree connect: ${answer.status?.toString(16)}`);
		this.treeCapabilities = answer.body.readUInt32LE(8);
		this.maximalAccess = answer.body.readUInt32LE(12);
		return answer.header.tree;
	}

	static createBody(name, { access = ACCESS.ALL, share = SHARE.ALL, disposition = 3, options = 0, oplock = 0, attributes = 0, contexts = [] } = {}) {
		const text = utf16(name);
		const body = Buffer.alloc(56);
		body.writeUInt16LE(57, 0);
		body[3] = oplock;
		body.writeUInt32LE(2, 4);
		[access, attributes, share, disposition, options].forEach((v, i) => body.writeUInt32LE(v >>> 0, 24 + 4 * i));
		body.writeUInt16LE(120, 44);
		body.writeUInt16LE(text.length, 46);
		const parts = contexts.map(([tag, data], i) => {
			const size = 24 + data.length;
			const c = Buffer.alloc(i + 1 < contexts.length ? Math.ceil(size / 8) * 8 : size);
			c.writeUInt32LE(i + 1 < contexts.length ? c.length : 0, 0);
			c.writeUInt16LE(16, 4);
			c.writeUInt16LE(4, 6);
			c.writeUInt16LE(24, 10);
			c.writeUInt32LE(data.length, 12);
			c.write(tag, 16, 'latin1');
			data.copy(c, 24);
			return c;
		});
		const all = Buffer.concat(parts);
		const padded = Buffer.alloc(Math.max(8, Math.ceil(text.length / 8) * 8));
		text.copy(padded);
		if (all.length) {
			body.writeUInt32LE(120 + padded.length, 48);
			body.writeUInt32LE(all.length, 52);
		}
		return Buffer.concat([body, padded, all]);
	}

	async create(tree, name, options = {}) {
		const answer = await this.request(COMMAND.CREATE, SmbClient.createBody(name, options), { tree });
		if (answer.status === 0) Object.assign(answer, { id: Buffer.from(answer.body.subarray(64, 80)), oplock: answer.body[2] });
		return answer;
	}

	static fileBody(size, id, idAt = 8) {
		const body = Buffer.alloc(size);
		body.writeUInt16LE(size | (size === 48 ? 1 : 0), 0);
		id.copy(body, idAt);
		return body;
	}

	close(tree, id) {
		return this.request(COMMAND.CLOSE, SmbClient.fileBody(24, id), { tree });
	}

	static writeBody(id, offset, data) {
		const body = Buffer.alloc(48);
		body.writeUInt16LE(49, 0);
		body.writeUInt16LE(112, 2);
		body.writeUInt32LE(data.length, 4);
		body.writeBigUInt64LE(BigInt(offset), 8);
		id.copy(body, 16);
		return Buffer.concat([body, data]);
	}

	write(tree, id, offset, data) {
		return this.request(COMMAND.WRITE, SmbClient.writeBody(id, offset, data), { tree, charge: Math.max(1, Math.ceil(data.length / 65536)) });
	}

	async read(tree, id, offset, length) {
		const body = Buffer.alloc(49);
		body.writeUInt16LE(49, 0);
		body[2] = 0x50;
		body.writeUInt32LE(length, 4);
		body.writeBigUInt64LE(BigInt(offset), 8);
		id.copy(body, 16);
		const answer = await this.request(COMMAND.READ, body, { tree, charge: Math.max(1, Math.ceil(length / 65536)) });
		if (answer.status === 0) answer.data = answer.body.subarray(16, 16 + answer.body.readUInt32LE(4));
		return answer;
	}

	// flags: 1 shared, 2 exclusive, 4 unlock, 0x10 fail at once
	lock(tree, id, elements) {
		const body = Buffer.alloc(24 + 24 * elements.length);
		body.writeUInt16LE(48, 0);
		body.writeUInt16LE(elements.length, 2);
		id.copy(body, 8);
		elements.forEach(([offset, length, flags], i) => {
			body.writeBigUInt64LE(BigInt(offset), 24 + 24 * i);
			body.writeBigUInt64LE(BigInt(length), 32 + 24 * i);
			body.writeUInt32LE(flags, 40 + 24 * i);
		});
		return this.request(COMMAND.LOCK, body, { tree });
	}

	setInfo(tree, id, infoClass, data, type = 1) {
		const body = Buffer.alloc(32);
		body.writeUInt16LE(33, 0);
		body[2] = type;
		body[3] = infoClass;
		body.writeUInt32LE(data.length, 4);
		body.writeUInt16LE(96, 8);
		id.copy(body, 16);
		return this.request(COMMAND.SET_INFO, Buffer.concat([body, data]), { tree });
	}

	static queryInfoBody(id, type, infoClass, { room = 4096, additional = 0 } = {}) {
		const body = Buffer.alloc(40);
		body.writeUInt16LE(41, 0);
		body[2] = type;
		body[3] = infoClass;
		body.writeUInt32LE(room, 4);
		body.writeUInt32LE(additional, 16);
		id.copy(body, 24);
		return body;
	}

	// The answer's `data` is what was asked for.
	async queryInfo(tree, id, type, infoClass, options) {
		const answer = await this.request(COMMAND.QUERY_INFO, SmbClient.queryInfoBody(id, type, infoClass, options), { tree });
		return Object.assign(answer, { data: answer.closed ? null : answer.body.subarray(8, 8 + answer.body.readUInt32LE(4)) });
	}

	static queryDirectoryBody(id, infoClass, { pattern = '*', flags = 0, room = 65536 } = {}) {
		const text = utf16(pattern);
		const body = Buffer.alloc(32);
		body.writeUInt16LE(33, 0);
		body[2] = infoClass;
		body[3] = flags;
		id.copy(body, 8);
		body.writeUInt16LE(96, 24);
		body.writeUInt16LE(text.length, 26);
		body.writeUInt32LE(room, 28);
		return Buffer.concat([body, text]);
	}

	async queryDirectory(tree, id, infoClass, options = {}) {
		const charge = Math.max(1, Math.ceil((options.room ?? 65536) / 65536));
		const answer = await this.request(COMMAND.QUERY_DIRECTORY, SmbClient.queryDirectoryBody(id, infoClass, options), { tree, charge });
		return Object.assign(answer, { data: answer.closed ? null : answer.body.subarray(8, 8 + answer.body.readUInt32LE(4)) });
	}

	static ioctlBody(code, id, { input = Buffer.alloc(0), room = 4096, flags = 1 } = {}) {
		const body = Buffer.alloc(56);
		body.writeUInt16LE(57, 0);
		body.writeUInt32LE(code, 4);
		id.copy(body, 8);
		body.writeUInt32LE(120, 24);
		body.writeUInt32LE(input.length, 28);
		body.writeUInt32LE(room, 44);
		body.writeUInt32LE(flags, 48);
		return Buffer.concat([body, input.length ? input : Buffer.alloc(1)]);
	}

	async ioctl(tree, id, code, options) {
		const answer = await this.request(COMMAND.IOCTL, SmbClient.ioctlBody(code, id, options), { tree });
		const whole = !answer.closed && answer.body.readUInt16LE(0) === 49;
		return Object.assign(answer, { data: whole ? answer.body.subarray(48, 48 + answer.body.readUInt32LE(36)) : null });
	}

	static notifyBody(id, filter, { tree = false, room = 4096 } = {}) {
		const body = Buffer.alloc(32);
		body.writeUInt16LE(32, 0);
		body.writeUInt16LE(tree ? 1 : 0, 2);
		body.writeUInt32LE(room, 4);
		id.copy(body, 8);
		body.writeUInt32LE(filter, 24);
		return body;
	}

	// By the id of the message, or of its interim answer. There is no answer.
	cancel({ messageId = 0n, asyncId } = {}) {
		const part = Buffer.concat([this.header(COMMAND.CANCEL, { messageId, flags: asyncId === undefined ? 0 : 2 }), Buffer.from([4, 0, 0, 0])]);
		if (asyncId !== undefined) part.writeBigUInt64LE(asyncId, 32);
		this.send(this.encrypts ? this.#sealed(part) : this.sign(part));
	}

	rename(tree, id, name, { replace = false } = {}) {
		const text = utf16(name);
		const data = Buffer.alloc(20 + text.length);
		data[0] = replace ? 1 : 0;
		data.writeUInt32LE(text.length, 16);
		text.copy(data, 20);
		return this.setInfo(tree, id, 10, data);
	}

	setDisposition(tree, id, deleteIt) {
		return this.setInfo(tree, id, 13, Buffer.from([deleteIt ? 1 : 0]));
	}

	acknowledgeOplock(tree, id, level) {
		const body = SmbClient.fileBody(24, id);
		body[2] = level;
		return this.request(COMMAND.OPLOCK_BREAK, body, { tree });
	}

	acknowledgeLease(tree, key, state) {
		const body = Buffer.alloc(36);
		body.writeUInt16LE(36, 0);
		key.copy(body, 8);
		body.writeUInt32LE(state, 24);
		return this.request(COMMAND.OPLOCK_BREAK, body, { tree });
	}

	echo(options = {}) {
		return this.request(COMMAND.ECHO, Buffer.from([4, 0, 0, 0]), options);
	}

	end() {
		this.socket.destroy();
		return this.ended;
	}
}

// Logged in with the well-known key, and connected to the share. `how` is for negotiate and login; guid: the client's.
export async function connected(port, share, how = {}) {
	const c = await SmbClient.connect(port);
	if (how.guid) c.guid = how.guid;
	assert.equal((await c.negotiate(how)).status, 0);
	assert.equal((await c.login(WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY, how)).status, 0);
	return { c, tree: await c.treeConnect(share) };
}

export const u32 = (value) => {
	const b = Buffer.alloc(4);
	b.writeUInt32LE(value);
	return b;
};
// Below zero, too.
export const u64 = (value) => {
	const b = Buffer.alloc(8);
	b.writeBigInt64LE(BigInt.asIntN(64, BigInt(value)));
	return b;
};

const statusName = (status) => Object.keys(STATUS).find((name) => STATUS[name] === status) ?? `0x${status.toString(16)}`;

// Many small comparisons: every one that differs is told, not only the first. An answer stands for its status.
export class Checks {
	count = 0;
	wrong = [];

	is(what, got, want) {
		const shown = got?.header ? statusName(got.status) : got?.closed ? 'closed' : got;
		this.count++;
		if (shown !== want) this.wrong.push(`${what}: ${shown}, not ${want}`);
	}

	done() {
		assert.deepEqual(this.wrong, []);
	}
}

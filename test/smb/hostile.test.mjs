// SPDX-License-Identifier: Apache-2.0
// Hostile PDUs: every 16- and 32-bit place of every request is set to values around each end that matters, headers and
// transforms are forged, protection is stripped, chains are bent. Each case must be answered or end its connection, and
// the server must serve a fresh client afterwards.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { freePort, startServer, WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY } from '../lib/server.mjs';
import { COMMAND, connected, SmbClient, STATUS } from '../lib/smb.mjs';

let server;
let port;
let strict; // a server that demands encryption
let cases = 0;

before(async () => {
	port = await freePort();
	server = await startServer({ flags: ['--smbPort', String(port), '--create', 'share:hostile', '--loginDelay', '1000'] });
	const strictPort = await freePort();
	strict = await startServer({ flags: ['--smbPort', String(strictPort), '--smbEncryption', 'required', '--create', 'share:hostile'] });
	strict.smbPort = strictPort;
});
after(async () => {
	await strict.stop();
	await strict.remove();
	await server.stop();
	await server.remove();
});

const client = ({ dialects = [0x210], encrypt = false } = {}) => connected(encrypt ? strict.smbPort : port, 'hostile', { dialects, encrypt });

async function alive() {
	const { c } = await client();
	assert.equal((await c.echo()).status, 0);
	await c.end();
}

// An answer, an interim one, or the end of the connection; never silence.
async function settle(c, answer) {
	const interim = new Promise((resolve) => (c.onInterim = resolve));
	let timer;
	const silence = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error('no answer and still connected')), 20_000)));
	const result = await Promise.race([answer, interim, silence]);
	clearTimeout(timer);
	cases++;
	return result;
}

async function templates(c, tree) {
	const file = await c.create(tree, 'hostile.bin');
	const dir = await c.create(tree, 'hostile.dir', { options: 1 });
	const id = file.id ?? Buffer.alloc(16);
	const dirId = dir.id ?? Buffer.alloc(16);
	const withId = (size, structure, at, which = id) => {
		const body = Buffer.alloc(size);
		body.writeUInt16LE(structure, 0);
		which.copy(body, at);
		return body;
	};
	const ioctl = withId(56 + 32, 57, 8);
	ioctl.writeUInt32LE(0x001440f2, 4);
	ioctl.writeUInt32LE(120, 24);
	ioctl.writeUInt32LE(32, 28);
	ioctl.writeUInt32LE(64, 44);
	ioctl.writeUInt32LE(1, 48);
	const find = withId(34, 33, 8, dirId);
	find[2] = 37;
	find.writeUInt16LE(96, 24);
	find.writeUInt16LE(2, 26);
	find.writeUInt32LE(4096, 28);
	find.write('*', 32);
	const query = withId(40, 41, 24);
	query[2] = 1;
	query[3] = 18;
	query.writeUInt32LE(4096, 4);
	const rename = Buffer.concat([withId(32, 33, 16), Buffer.alloc(20), Buffer.from('r', 'utf16le')]);
	rename[2] = 1;
	rename[3] = 10;
	rename.writeUInt32LE(22, 4);
	rename.writeUInt16LE(96, 8);
	rename.writeUInt32LE(2, 32 + 16);
	const security = Buffer.concat([withId(32, 33, 16), Buffer.from([1, 0, 4, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0, 2, 0, 8, 0, 0, 0, 0, 0])]);
	security[2] = 3;
	security.writeUInt32LE(28, 4);
	security.writeUInt16LE(96, 8);
	security.writeUInt32LE(4, 12);
	const lock = withId(48, 48, 8);
	lock.writeUInt16LE(1, 2);
	lock.writeBigUInt64LE(10n, 32);
	lock.writeUInt32LE(0x12, 40);
	const read = withId(49, 49, 16);
	read.writeUInt32LE(16, 4);
	const tree0 = Buffer.concat([Buffer.from([9, 0, 0, 0, 72, 0, 8, 0]), Buffer.from('\\\\h\\', 'utf16le')]);
	const setup = Buffer.concat([withId(24, 25, 16, Buffer.alloc(0)), Buffer.from('NTLMSSP\0\x01\0\0\0\x05\x82\x08\x20', 'latin1'), Buffer.alloc(16)]);
	setup.writeUInt16LE(88, 12);
	setup.writeUInt16LE(32, 14);
	const contexts = [['RqLs', Buffer.alloc(52)], ['DH2Q', Buffer.alloc(32)], ['AlSi', Buffer.alloc(8)], ['MxAc', Buffer.alloc(0)], ['SecD', security.subarray(32)]];
	return [
		['SESSION_SETUP', COMMAND.SESSION_SETUP, setup],
		['TREE_CONNECT', COMMAND.TREE_CONNECT, tree0],
		['CREATE', COMMAND.CREATE, SmbClient.createBody('hostile.new', { oplock: 0xff, contexts })],
		['CLOSE', COMMAND.CLOSE, withId(24, 24, 8, Buffer.alloc(16, 7))],
		['FLUSH', COMMAND.FLUSH, withId(24, 24, 8)],
		['READ', COMMAND.READ, read],
		['WRITE', COMMAND.WRITE, SmbClient.writeBody(id, 0, Buffer.alloc(16))],
		['LOCK', COMMAND.LOCK, lock],
		['IOCTL', COMMAND.IOCTL, ioctl],
		['QUERY_DIRECTORY', COMMAND.QUERY_DIRECTORY, find],
		['QUERY_INFO', COMMAND.QUERY_INFO, query],
		['SET_INFO rename', COMMAND.SET_INFO, rename],
		['SET_INFO security', COMMAND.SET_INFO, security],
		['OPLOCK_BREAK', COMMAND.OPLOCK_BREAK, withId(24, 24, 8)],
		['OPLOCK_BREAK lease', COMMAND.OPLOCK_BREAK, withId(36, 36, 8)],
		['CHANGE_NOTIFY', COMMAND.CHANGE_NOTIFY, withId(32, 32, 8, dirId)],
		['LOGOFF', COMMAND.LOGOFF, Buffer.from([5, 0, 0, 0])],
	];
}

const ends = (length) => [0, 1, length - 1, length, length + 1, length + 63, length + 64, length + 65, 0x7fff, 0xffff];

test('every place of every request around every end', { timeout: 600_000 }, async () => {
	let { c, tree } = await client();
	const names = (await templates(c, tree)).map(([name]) => name);
	for (let which = 0; which < names.length; which++) {
		let [, command, body] = (await templates(c, tree))[which];
		for (let at = 0; at + 2 <= body.length; at += 2)
			for (const value of [...ends(body.length), 0xffffffff]) {
				const bent = Buffer.from(body);
				if (value === 0xffffffff) {
					if (at + 4 > body.length) continue;
					bent.writeUInt32LE(value, at);
				} else {
					bent.writeUInt16LE(value & 0xffff, at);
				}
				const { closed, status } = await settle(c, c.request(command, bent, { tree }));
				if (closed || c.closed || status === STATUS.SESSION_DELETED || status === STATUS.NO_TREE || status === 0) {
					await c.end();
					({ c, tree } = await client());
					[, command, body] = (await templates(c, tree))[which];
				}
			}
	}
	await c.end();
	await alive();
});

test('every request cut short', { timeout: 300_000 }, async () => {
	let { c, tree } = await client();
	const count = (await templates(c, tree)).length;
	for (let which = 0; which < count; which++) {
		const [, command, body] = (await templates(c, tree))[which];
		for (let length = 0; length < body.length; length += length < 8 ? 1 : 7) {
			const { closed, status } = await settle(c, c.request(command, body.subarray(0, length), { tree }));
			if (closed || status === STATUS.SESSION_DELETED) {
				await c.end();
				({ c, tree } = await client());
			}
		}
	}
	await c.end();
	await alive();
});

// [name, bend(header), what must happen: a status or 'closed']
const HEADERS = [
	['wrong protocol id', (h) => h.write('\xfeSMC', 0, 'latin1'), 'closed'],
	['wrong header size', (h) => h.writeUInt16LE(63, 4), 'closed'],
	['a response', (h) => h.writeUInt32LE(1, 16), 'closed'],
	['next not aligned', (h) => h.writeUInt32LE(68 + 1, 20), 'closed'],
	['next too near', (h) => h.writeUInt32LE(64, 20), 'closed'],
	['next past the end', (h) => h.writeUInt32LE(0x1000, 20), 'closed'],
	['used message id', (h) => h.writeBigUInt64LE(0n, 24), 'closed'],
	['message id far away', (h) => h.writeBigUInt64LE(1n << 40n, 24), 'closed'],
	['message id of breaks', (h) => h.writeBigUInt64LE((1n << 64n) - 1n, 24), 'closed'],
	['charge above the grant', (h) => h.writeUInt16LE(0xffff, 6), 'closed'],
	['compressed', (h) => h.write('\xfcSMB', 0, 'latin1'), 'closed'],
	['SMB1 after SMB2', (h) => h.write('\xffSMB', 0, 'latin1'), 'closed'],
	['unknown command', (h) => h.writeUInt16LE(19, 12), STATUS.INVALID_PARAMETER],
	['related without a part before', (h) => h.writeUInt32LE(4, 16), STATUS.INVALID_PARAMETER],
	['unknown session', (h) => h.writeBigUInt64LE(77n, 40), STATUS.SESSION_DELETED],
	['unknown tree', (h) => h.writeUInt32LE(0x7777, 36), STATUS.NO_TREE],
	['async flag', (h) => h.writeUInt32LE(2, 16), STATUS.INVALID_PARAMETER],
];

for (const [name, bend, expected] of HEADERS)
	test(`header: ${name}`, async () => {
		const { c, tree } = await client();
		const body = SmbClient.fileBody(24, Buffer.alloc(16, 1));
		const part = Buffer.concat([c.header(COMMAND.FLUSH, { tree }), body]);
		const id = c.messageId++;
		bend(part);
		if (part.readUInt32LE(0) === 0x424d53fe && part.readBigUInt64LE(40) === c.sessionId) c.sign(part);
		const answer = c.expect(id);
		c.send(part);
		const { closed, status } = await settle(c, Promise.race([answer, c.ended.then(() => ({ closed: true }))]));
		if (expected === 'closed') assert.ok(closed, `status ${status?.toString(16)}`);
		else assert.equal(status?.toString(16), expected.toString(16));
		await c.end();
	});

// Whoever leaves out the protection that the session demands is told so, and its connection is closed with what it held.
for (const [name, dialects, encrypt] of [['signature, 2.1', [0x210], false], ['signature, 3.1.1', [0x311], false],
	['encryption, 3.0', [0x300], true], ['encryption, 3.1.1', [0x311], true]])
	test(`protection stripped: ${name}`, async () => {
		for (const signed of encrypt ? [false, true] : [false]) {
			const { c, tree } = await client({ dialects, encrypt });
			const opened = await c.create(tree, `stripped-${name}`, { share: 0 });
			assert.equal(opened.status, 0);
			const flush = SmbClient.fileBody(24, opened.id);
			assert.equal((await c.request(COMMAND.FLUSH, flush, { tree })).status, 0);
			// The second part is not looked at any more.
			const parts = [Buffer.concat([c.header(COMMAND.FLUSH, { tree }), flush]), Buffer.concat([c.header(COMMAND.ECHO), Buffer.from([4, 0, 0, 0])])];
			parts[0].writeUInt32LE(parts[0].length, 20);
			if (signed) c.sign(parts[0]);
			const answer = c.expect(c.messageId);
			c.send(Buffer.concat(parts));
			assert.equal((await answer).status, STATUS.ACCESS_DENIED);
			await c.ended;
			const other = await client({ dialects, encrypt });
			assert.equal((await other.c.create(other.tree, `stripped-${name}`, { share: 0 })).status, 0, 'the handle was let go');
			await other.c.end();
			cases++;
		}
		await alive();
	});

test('a wrong signature is refused', async () => {
	const { c, tree } = await client();
	const part = c.sign(Buffer.concat([c.header(COMMAND.FLUSH, { tree }), SmbClient.fileBody(24, Buffer.alloc(16, 1))]));
	part[50] ^= 1;
	const answer = c.expect(c.messageId++);
	c.send(part);
	assert.equal((await answer).status, STATUS.ACCESS_DENIED);
	await c.end();
});

test('transforms that are none', async () => {
	for (const [name, size, flags, session] of [['unknown session', 68, 1, 9n], ['no body', 0, 1, 0n], ['flags', 68, 2, 0n], ['size', 69, 1, 0n]]) {
		const { c } = await client({ dialects: [0x302] });
		const m = Buffer.alloc(52 + 68);
		m.write('\xfdSMB', 0, 'latin1');
		m.writeUInt32LE(size, 36);
		m.writeUInt16LE(flags, 42);
		m.writeBigUInt64LE(session || c.sessionId, 44);
		c.send(name === 'no body' ? m.subarray(0, 52) : m);
		await c.ended;
		cases++;
	}
	for (const length of [4, 51, 52, 53]) {
		const c = await SmbClient.connect(port);
		c.send(Buffer.concat([Buffer.from('\xfdSMB', 'latin1'), Buffer.alloc(length - 4)]));
		await c.ended;
		cases++;
	}
	await alive();
});

test('before negotiation, and twice', async () => {
	for (const command of Object.values(COMMAND)) {
		if (command === COMMAND.NEGOTIATE) continue;
		const c = await SmbClient.connect(port);
		c.request(command, Buffer.alloc(64));
		await c.ended;
		cases++;
	}
	const c = await SmbClient.connect(port);
	assert.equal((await c.negotiate()).status, 0);
	assert.ok((await c.negotiate()).closed);
});

test('framing: lengths and types', async () => {
	for (const prefix of [[0, 0, 0, 0], [0, 0, 0, 3], [0, 0xff, 0xff, 0xff], [0x81, 0, 0, 4], [0x85, 0, 0, 0]]) {
		const c = await SmbClient.connect(port);
		c.sendRaw(Buffer.concat([Buffer.from(prefix), Buffer.alloc(8)]));
		await c.ended;
		cases++;
	}
	await alive();
});

test('logins that prove nothing', async () => {
	const c = await SmbClient.connect(port);
	await c.negotiate();
	assert.equal((await c.login(WELL_KNOWN_ACCOUNT, 'wrong')).status, STATUS.LOGON_FAILURE);
	assert.equal((await c.login('nobody', WELL_KNOWN_KEY)).status, STATUS.LOGON_FAILURE);
	assert.equal((await c.sessionSetup(Buffer.from('garbage'), { sessionId: 0n })).status, STATUS.LOGON_FAILURE);
	assert.equal((await c.sessionSetup(Buffer.alloc(0), { sessionId: 0n })).status, STATUS.INVALID_PARAMETER);
	assert.equal((await c.login(WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY)).status, 0);
	await c.end();
});

test('a key cannot be tried out quickly, not on fresh connections either', { timeout: 60_000 }, async () => {
	const attempt = async (key) => {
		const c = await SmbClient.connect(port);
		await c.negotiate();
		const began = Date.now();
		const { status } = await c.login(WELL_KNOWN_ACCOUNT, key);
		const took = Date.now() - began;
		await c.end();
		return { status, took };
	};
	for (let i = 0; i < 3; i++) assert.equal((await attempt(`wrong ${i}`)).status, STATUS.LOGON_FAILURE);
	const slowed = await Promise.all([...Array(8)].map((_, i) => attempt(`also wrong ${i}`)));
	for (const { status, took } of slowed) {
		assert.equal(status, STATUS.LOGON_FAILURE);
		assert.ok(took >= 950, `answered after ${took} ms`);
	}
	assert.match(server.stderr, /login from 127\.0\.0\.1 refused/);
	// The quickest of three: a busy machine may delay one of them, the server would delay all.
	const right = [];
	for (let i = 0; i < 3; i++) right.push(await attempt(WELL_KNOWN_KEY));
	assert.deepEqual(right.map(({ status }) => status), [0, 0, 0]);
	assert.ok(Math.min(...right.map(({ took }) => took)) < 900, `who has the key does not wait: ${JSON.stringify(right)}`);
});

test('a session that is not authenticated can do nothing', async () => {
	const c = await SmbClient.connect(port);
	await c.negotiate();
	const first = Buffer.alloc(32);
	first.write('NTLMSSP\0\x01', 0, 'latin1');
	first.writeUInt32LE(0x20088205, 12);
	const half = await c.sessionSetup(first, { sessionId: 0n });
	assert.equal(half.status, STATUS.MORE);
	for (const command of [COMMAND.LOGOFF, COMMAND.TREE_CONNECT, COMMAND.CREATE, COMMAND.READ, COMMAND.IOCTL]) {
		const answer = await c.request(command, Buffer.alloc(64, 4), { sessionId: half.header.sessionId });
		assert.equal(answer.status, STATUS.SESSION_DELETED);
		cases++;
	}
	await c.end();
});

test('cancel of nothing, twice, is silence', async () => {
	const { c } = await client();
	for (let i = 0; i < 3; i++) c.send(c.sign(Buffer.concat([c.header(COMMAND.CANCEL, { messageId: 5n }), Buffer.from([4, 0, 0, 0])])));
	assert.equal((await c.echo()).status, 0);
	await c.end();
});

test('at least 2,000 cases were tried', () => {
	assert.ok(cases >= 2000, `${cases}`);
	console.log(`${cases} hostile cases`);
});

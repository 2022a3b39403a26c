// SPDX-License-Identifier: Apache-2.0
// Field by field: the header, credits, NEGOTIATE, SESSION_SETUP, TREE_CONNECT. What clients never send, and every field of
// what is answered, at its offset.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { freePort, startServer, WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY } from '../lib/server.mjs';
import { Checks, COMMAND, connected, SmbClient, STATUS } from '../lib/smb.mjs';

const EMPTY = Buffer.from([4, 0, 0, 0]);
const FLAG = { RESPONSE: 1, ASYNC: 2, RELATED: 4, SIGNED: 8, PRIORITY: 0x70, REPLAY: 0x20000000 };
let server, port;

before(async () => {
	port = await freePort();
	server = await startServer({ flags: ['--smbPort', String(port), '--create', 'share:wire,share:other'] });
});
after(async () => {
	await server.stop();
	await server.remove();
});

const client = (how = { dialects: [0x311] }) => connected(port, 'wire', how);

async function negotiated(how) {
	const c = await SmbClient.connect(port);
	const answer = await c.negotiate(how);
	await c.end();
	return answer;
}

test('header: what is echoed, what is ignored, what may follow the body', { timeout: 60_000 }, async () => {
	const k = new Checks();
	const { c, tree } = await client();
	const part = Buffer.concat([c.header(COMMAND.ECHO), EMPTY]);
	part.writeUInt32LE(0xabcd, 32); // the process id of old clients
	part.writeUInt32LE(FLAG.PRIORITY, 16);
	const answer = c.expect(c.messageId++);
	c.send(c.sign(part));
	const { part: got, header } = await answer;
	k.is('protocol', got.toString('latin1', 0, 4), '\xfeSMB');
	k.is('header size', got.readUInt16LE(4), 64);
	k.is('charge is echoed', got.readUInt16LE(6), 1);
	k.is('reserved is echoed', got.readUInt32LE(32), 0xabcd);
	k.is('response and signed', header.flags & (FLAG.RESPONSE | FLAG.SIGNED), FLAG.RESPONSE | FLAG.SIGNED);
	k.is('not asynchronous', header.flags & FLAG.ASYNC, 0);
	k.is('session', header.sessionId, c.sessionId);
	k.is('next', got.readUInt32LE(20), 0);
	k.is('body size', got.length - 64, 4);
	k.is('4 KiB behind an ECHO', await c.request(COMMAND.ECHO, Buffer.concat([EMPTY, Buffer.alloc(4096, 0xee)])), 'OK');
	k.is('two bytes behind a FLUSH', await c.request(COMMAND.FLUSH, Buffer.concat([SmbClient.fileBody(24, Buffer.alloc(16, 1)), Buffer.alloc(2)]), { tree }), 'FILE_CLOSED');
	k.is('ECHO of another size', await c.request(COMMAND.ECHO, Buffer.from([6, 0, 0, 0])), 'INVALID_PARAMETER');
	k.is('an ECHO of no session', await c.request(COMMAND.ECHO, EMPTY, { sessionId: 0n, sign: false }), 'OK');
	k.is('LOGOFF of another size', await c.request(COMMAND.LOGOFF, Buffer.from([5, 0, 0, 0])), 'INVALID_PARAMETER');
	k.is('TREE_DISCONNECT of another size', await c.request(COMMAND.TREE_DISCONNECT, Buffer.from([9, 0, 0, 0]), { tree }), 'INVALID_PARAMETER');
	const sizes = [[COMMAND.CREATE, 57], [COMMAND.CLOSE, 24], [COMMAND.FLUSH, 24], [COMMAND.READ, 49], [COMMAND.WRITE, 49], [COMMAND.LOCK, 48],
		[COMMAND.IOCTL, 57], [COMMAND.QUERY_DIRECTORY, 33], [COMMAND.CHANGE_NOTIFY, 32], [COMMAND.QUERY_INFO, 41], [COMMAND.SET_INFO, 33], [COMMAND.OPLOCK_BREAK, 24]];
	for (const [command, size] of sizes)
		for (const other of [size - 1, size + 1]) {
			const body = Buffer.alloc(128, 0);
			body.writeUInt16LE(other, 0);
			k.is(`command ${command} of size ${other}`, await c.request(command, body, { tree }), 'INVALID_PARAMETER');
		}
	const error = await c.request(COMMAND.CLOSE, SmbClient.fileBody(24, Buffer.alloc(16, 7)), { tree });
	k.is('error body', error.body.toString('hex'), '090000000000000000');
	await c.end();
	k.done();
});

test('credits: what is granted and what must be paid', { timeout: 60_000 }, async () => {
	const k = new Checks();
	const c = await SmbClient.connect(port);
	const first = await c.negotiate({ dialects: [0x302] });
	k.is('NEGOTIATE grants one', first.header.credits, 1);
	const half = Buffer.alloc(32);
	half.write('NTLMSSP\0\x01', 0, 'latin1');
	half.writeUInt32LE(0x20088205, 12);
	k.is('an unfinished SESSION_SETUP grants one', (await c.sessionSetup(half, { sessionId: 0n })).header.credits, 1);
	k.is('a failed one too', (await c.login(WELL_KNOWN_ACCOUNT, 'wrong')).header.credits, 1);
	const done = await c.login(WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY);
	k.is('the last grants what was asked for', done.header.credits, 64);
	const tree = await c.treeConnect('wire');
	k.is('a request that asks for none gets one', (await c.echo({ credits: 0 })).header.credits, 1);
	k.is('charge and asked for, less one', (await c.echo({ credits: 10, charge: 3 })).header.credits, 12);
	const { id } = await c.create(tree, 'credits');
	const read = (length, charge) => {
		const body = Buffer.alloc(49);
		body.writeUInt16LE(49, 0);
		body.writeUInt32LE(length, 4);
		id.copy(body, 16);
		return c.request(COMMAND.READ, body, { tree, charge });
	};
	k.is('64 KiB for one credit', await read(65536, 1), 'END_OF_FILE');
	k.is('a byte more is not paid', await read(65537, 1), 'INVALID_PARAMETER');
	k.is('charge 0 is one', await read(65536, 0), 'END_OF_FILE');
	k.is('two pay it', await read(65537, 2), 'END_OF_FILE');
	for (const [what, command, body] of [
		['WRITE', COMMAND.WRITE, SmbClient.writeBody(id, 0, Buffer.alloc(65537))],
		['QUERY_INFO', COMMAND.QUERY_INFO, SmbClient.queryInfoBody(id, 1, 18, { room: 65537 })],
		['QUERY_DIRECTORY', COMMAND.QUERY_DIRECTORY, SmbClient.queryDirectoryBody(id, 37, { room: 65537 })],
		['IOCTL', COMMAND.IOCTL, SmbClient.ioctlBody(0x00140078, id, { room: 65537 })],
		['CHANGE_NOTIFY', COMMAND.CHANGE_NOTIFY, SmbClient.notifyBody(id, 1, { room: 65537 })],
		['SET_INFO', COMMAND.SET_INFO, Buffer.concat([(() => {
			const b = Buffer.alloc(32);
			b.writeUInt16LE(33, 0);
			b[2] = 1;
			b[3] = 4;
			b.writeUInt32LE(65537, 4);
			b.writeUInt16LE(96, 8);
			id.copy(b, 16);
			return b;
		})(), Buffer.alloc(65537)])]])
		k.is(`${what} of 64 KiB and a byte for one credit`, await c.request(command, body, { tree }), 'INVALID_PARAMETER');
	const big = 8 * 1024 * 1024 + 1;
	k.is('READ above the maximum', await read(big, 129), 'INVALID_PARAMETER');
	const window = await c.echo({ credits: 0xffff });
	k.is('the window is at most 8192 wide', window.header.credits <= 8192, true);
	const used = await c.echo({ messageId: c.messageId - 1n });
	k.is('an id used twice', used, 'closed');
	k.done();
});

test('NEGOTIATE: every field of the answer', { timeout: 60_000 }, async () => {
	const k = new Checks();
	for (const [dialect, capabilities] of [[0x210, 0x06], [0x300, 0x56], [0x302, 0x56], [0x311, 0x16]]) {
		const name = dialect.toString(16);
		const { body, part } = await negotiated({ dialects: [dialect], signing: 2 });
		k.is(`${name} structure`, body.readUInt16LE(0), 65);
		k.is(`${name} signing required`, body.readUInt16LE(2), 3);
		k.is(`${name} dialect`, body.readUInt16LE(4), dialect);
		k.is(`${name} capabilities`, body.readUInt32LE(24), capabilities);
		for (const [what, at] of [['transact', 28], ['read', 32], ['write', 36]]) k.is(`${name} maximum of ${what}`, body.readUInt32LE(at), 8 * 1024 * 1024);
		const now = (BigInt(Date.now()) + 11644473600000n) * 10000n;
		const off = now - body.readBigUInt64LE(40);
		k.is(`${name} system time`, off < 600_000_000n && off > -600_000_000n, true);
		k.is(`${name} start time`, body.readBigUInt64LE(48), 0n);
		k.is(`${name} token at`, body.readUInt16LE(56), 128);
		k.is(`${name} token is SPNEGO`, part[128], 0x60);
		const contexts = body.readUInt32LE(60);
		k.is(`${name} contexts`, dialect === 0x311 ? contexts % 8 : contexts, 0);
		if (dialect !== 0x311) continue;
		k.is('three contexts', body.readUInt16LE(6), 3);
		let at = contexts;
		for (const [type, length] of [[1, 38], [2, 4], [8, 4]]) {
			k.is(`context type ${type}`, part.readUInt16LE(at), type);
			k.is(`context ${type} length`, part.readUInt16LE(at + 2), length);
			if (type === 1) k.is('SHA-512 with a salt of 32', part.toString('hex', at + 8, at + 14), '010020000100');
			at = Math.ceil((at + 8 + length) / 8) * 8;
		}
	}
	const two = [(await negotiated({ dialects: [0x311] })), (await negotiated({ dialects: [0x311] }))];
	k.is('the salt is another each time', two[0].body.subarray(-60).equals(two[1].body.subarray(-60)), false);
	k.is('the guid of the server stays', two[0].body.subarray(8, 24).equals(two[1].body.subarray(8, 24)), true);
	k.is('signing is answered only if asked for', two[0].body.readUInt16LE(6), 2);
	k.is('the highest of all', (await negotiated({ dialects: [0x202, 0x210, 0x302, 0x300, 0x311] })).body.readUInt16LE(4), 0x311);
	k.is('the highest of those known', (await negotiated({ dialects: [0x202, 0x210, 0x999] })).body.readUInt16LE(4), 0x210);
	k.done();
});

test('NEGOTIATE: what is refused, and how', { timeout: 60_000 }, async () => {
	const k = new Checks();
	const list = (...numbers) => Buffer.from(Uint16Array.from([numbers.length, ...numbers]).buffer);
	const with311 = (bend) => negotiated({ dialects: [0x311], bend });
	k.is('no dialect', await negotiated({ dialects: [] }), 'INVALID_PARAMETER');
	k.is('2.0.2 alone', await negotiated({ dialects: [0x202] }), 'NOT_SUPPORTED');
	k.is('none that is known', await negotiated({ dialects: [0x999, 0x2ff] }), 'NOT_SUPPORTED');
	k.is('no pre-authentication', await with311(([, ...rest]) => rest), 'INVALID_PARAMETER');
	k.is('no context at all', await with311(() => []), 'INVALID_PARAMETER');
	k.is('no hash in it', await with311(([, ...rest]) => [[1, Buffer.from([0, 0, 0, 0])], ...rest]), 'INVALID_PARAMETER');
	k.is('another hash', await with311(([, ...rest]) => [[1, Buffer.from([1, 0, 0, 0, 2, 0])], ...rest]), 'NO_PREAUTH_HASH');
	k.is('SHA-512 as the second', await with311(([, ...rest]) => [[1, Buffer.from([2, 0, 0, 0, 2, 0, 1, 0])], ...rest]), 'OK');
	k.is('a salt behind the end', await with311(([, ...rest]) => [[1, Buffer.from([1, 0, 9, 0, 1, 0])], ...rest]), 'INVALID_PARAMETER');
	k.is('no cipher in the list', await with311(([first]) => [first, [2, Buffer.from([0, 0])]]), 'INVALID_PARAMETER');
	k.is('ciphers behind the end', await with311(([first]) => [first, [2, Buffer.from([2, 0, 1, 0])]]), 'INVALID_PARAMETER');
	k.is('no signing in the list', await with311((all) => [...all, [8, Buffer.from([0, 0])]]), 'INVALID_PARAMETER');
	k.is('contexts that nobody knows', await with311((all) => [...all, [3, Buffer.alloc(10)], [5, Buffer.from('h\0')], [6, Buffer.alloc(4)], [7, Buffer.alloc(8)], [0x100, Buffer.alloc(16)]]), 'OK');
	const context = ({ part, body }, type) => {
		let at = body.readUInt32LE(60);
		for (let i = 0; i < body.readUInt16LE(6); i++) {
			if (part.readUInt16LE(at) === type) return part.readUInt16LE(at + 10);
			at = Math.ceil((at + 8 + part.readUInt16LE(at + 2)) / 8) * 8;
		}
		return null;
	};
	k.is('no cipher in common is 0', context(await with311(([first]) => [first, [2, list(77)]]), 2), 0);
	k.is('the order of the client', context(await negotiated({ dialects: [0x311], ciphers: [3, 4, 1, 2] }), 2), 3);
	k.is('no context of ciphers, none answered', context(await with311(([first]) => [first]), 2), null);
	k.is('no signing in common is CMAC', context(await with311((all) => [...all, [8, list(77)]]), 8), 1);
	k.is('the order of the client for signing', context(await with311((all) => [...all, [8, list(2, 1, 0)]]), 8), 2);
	for (const [what, at, want] of [['misaligned', 101, 'INVALID_PARAMETER'], ['over the dialects', 96, 'INVALID_PARAMETER'], ['behind the end', 4096, 'INVALID_PARAMETER']]) {
		const c = await SmbClient.connect(port);
		const body = Buffer.alloc(40 + 46);
		body.writeUInt16LE(36, 0);
		body.writeUInt16LE(1, 2);
		body.writeUInt16LE(1, 4);
		body.writeUInt32LE(at, 28);
		body.writeUInt16LE(1, 32);
		body.writeUInt16LE(0x311, 36);
		Buffer.from([1, 0, 38, 0, 0, 0, 0, 0, 1, 0, 32, 0, 1, 0]).copy(body, 40);
		k.is(`contexts ${what}`, await c.request(COMMAND.NEGOTIATE, body, { charge: 0 }), want);
		await c.end();
	}
	k.done();
});

test('SMB1 asks for SMB2', { timeout: 60_000 }, async () => {
	const k = new Checks();
	const smb1 = (...names) => {
		const text = Buffer.concat(names.map((name) => Buffer.from(`\x02${name}\0`, 'latin1')));
		const m = Buffer.alloc(35 + text.length);
		m.write('\xffSMB\x72', 0, 'latin1');
		m.writeUInt16LE(text.length, 33);
		text.copy(m, 35);
		return m;
	};
	const c = await SmbClient.connect(port);
	const answer = c.expect(0n);
	c.send(smb1('NT LM 0.12', 'SMB 2.002', 'SMB 2.???'));
	const { body, header } = await answer;
	k.is('the dialect that is none yet', body.readUInt16LE(4), 0x2ff);
	k.is('one credit', header.credits, 1);
	c.messageId = 1n;
	c.hash = Buffer.alloc(64);
	k.is('the real one has id 1', await c.negotiate({ dialects: [0x311] }), 'OK');
	k.is('and a login works', await c.login(WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY), 'OK');
	k.is('as does a share', typeof await c.treeConnect('wire'), 'number');
	k.is('another NEGOTIATE', await c.negotiate({ dialects: [0x311] }), 'closed');
	for (const [what, message] of [['without SMB2', smb1('NT LM 0.12')], ['2.0.2 alone', smb1('SMB 2.002')], ['no names', smb1()]]) {
		const other = await SmbClient.connect(port);
		other.send(message);
		await other.ended;
		k.is(`SMB1 ${what}`, other.closed, true);
	}
	const twice = await SmbClient.connect(port);
	const one = twice.expect(0n);
	twice.send(smb1('SMB 2.???'));
	await one;
	twice.send(smb1('SMB 2.???'));
	await twice.ended;
	k.is('SMB1 twice', twice.closed, true);
	k.done();
});

test('SESSION_SETUP and LOGOFF', { timeout: 60_000 }, async () => {
	const k = new Checks();
	const c = await SmbClient.connect(port);
	await c.negotiate({ dialects: [0x302] });
	const token = Buffer.alloc(32);
	token.write('NTLMSSP\0\x01', 0, 'latin1');
	token.writeUInt32LE(0x20088205, 12);
	k.is('an unknown session', await c.sessionSetup(token, { sessionId: 0x1234n }), 'SESSION_DELETED');
	k.is('binding of no session', await c.sessionSetup(token, { sessionId: 0n, flags: 1 }), 'INVALID_PARAMETER');
	const half = await c.sessionSetup(token, { sessionId: 0n });
	k.is('half way', half, 'MORE'); // MORE_PROCESSING_REQUIRED
	k.is('token at', half.body.readUInt16LE(4), 72);
	k.is('not signed yet', half.header.flags & FLAG.SIGNED, 0);
	k.is('session id is given', half.header.sessionId !== 0n && half.header.sessionId !== (1n << 64n) - 1n, true);
	const challenge = half.body.subarray(8, 8 + half.body.readUInt16LE(6));
	k.is('CHALLENGE', challenge.toString('latin1', 0, 9), 'NTLMSSP\0\x02');
	k.is('target information, unicode, extended security', challenge.readUInt32LE(20) & 0x880001, 0x880001);
	const names = [];
	for (let at = challenge.readUInt32LE(44); ; at += 4 + challenge.readUInt16LE(at + 2)) {
		names.push(challenge.readUInt16LE(at));
		if (names.at(-1) === 0) break;
	}
	k.is('pairs of the target', names.join(), '2,1,7,0');
	const done = await c.login(WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY, { domain: 'localhost' });
	k.is('any domain', done, 'OK');
	k.is('session flags', done.body.readUInt16LE(2), 0);
	k.is('the last answer is signed', done.header.flags & FLAG.SIGNED, FLAG.SIGNED);
	const signature = Buffer.from(done.part.subarray(48, 64));
	const copy = Buffer.from(done.part);
	k.is('by the new key', c.sign(copy).subarray(48, 64).equals(signature), true);
	const tree = await c.treeConnect('wire');
	const opened = await c.create(tree, 'kept');
	// Once more on the same session: everything stays.
	const again = await c.request(COMMAND.SESSION_SETUP, Buffer.concat([(() => {
		const b = Buffer.alloc(24);
		b.writeUInt16LE(25, 0);
		b.writeUInt16LE(88, 12);
		b.writeUInt16LE(token.length, 14);
		return b;
	})(), token]));
	k.is('a second login begins', again, 'MORE');
	k.is('same session', again.header.sessionId, c.sessionId);
	k.is('the open stays', await c.read(tree, opened.id, 0, 0), 'OK');
	k.is('LOGOFF', await c.request(COMMAND.LOGOFF, EMPTY), 'OK');
	k.is('the session is gone', await c.request(COMMAND.FLUSH, SmbClient.fileBody(24, opened.id), { tree, sign: false }), 'SESSION_DELETED');
	await c.end();
	k.done();
});

test('a former session ends when its user comes back, and only then', { timeout: 60_000 }, async () => {
	const k = new Checks();
	const { c, tree } = await client();
	const { id } = await c.create(tree, 'former', { share: 0 });
	const wrong = await SmbClient.connect(port);
	await wrong.negotiate({ dialects: [0x311] });
	k.is('with a wrong key', await wrong.login(WELL_KNOWN_ACCOUNT, 'wrong', { previous: c.sessionId }), 'LOGON_FAILURE');
	k.is('the session lives', await c.read(tree, id, 0, 0), 'OK');
	await wrong.end();
	const back = await SmbClient.connect(port);
	await back.negotiate({ dialects: [0x311] });
	k.is('with the key', await back.login(WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY, { previous: c.sessionId }), 'OK');
	const other = await back.treeConnect('wire');
	k.is('its file is free', await back.create(other, 'former', { share: 0 }), 'OK');
	const gone = await c.request(COMMAND.ECHO, EMPTY, { sign: false, sessionId: 0n });
	k.is('the former connection goes on', gone, 'OK');
	const dead = await c.request(COMMAND.FLUSH, SmbClient.fileBody(24, id), { tree, sign: false });
	k.is('the former session does not', dead, 'SESSION_DELETED');
	await Promise.all([c.end(), back.end()]);
	k.done();
});

test('TREE_CONNECT: paths, flags, answers', { timeout: 60_000 }, async () => {
	const k = new Checks();
	const { c } = await client();
	const connect = (path, { flags = 0, prefix = Buffer.alloc(0), odd = false, offset } = {}) => {
		const text = Buffer.from(path, 'utf16le');
		const body = Buffer.alloc(8);
		body.writeUInt16LE(9, 0);
		body.writeUInt16LE(flags, 2);
		body.writeUInt16LE(offset ?? 72 + prefix.length, 4);
		body.writeUInt16LE(text.length - (odd ? 1 : 0), 6);
		return c.request(COMMAND.TREE_CONNECT, Buffer.concat([body, prefix, text, Buffer.alloc(2)]));
	};
	const disk = await connect('\\\\server\\wire');
	k.is('a share', disk, 'OK');
	k.is('structure', disk.body.readUInt16LE(0), 16);
	k.is('a disk', disk.body[2], 1);
	k.is('share flags', disk.body.readUInt32LE(4), 0);
	k.is('capabilities', disk.body.readUInt32LE(8), 0);
	k.is('maximal access', disk.body.readUInt32LE(12), 0x1f01ff);
	k.is('a tree id', disk.header.tree !== 0, true);
	k.is('any case', await connect('\\\\SERVER\\WIRE'), 'OK');
	k.is('any server', await connect('\\\\a.b.c:10445\\wire'), 'OK');
	k.is('no server', await connect('wire'), 'OK');
	const pipe = await connect('\\\\server\\IPC$');
	k.is('IPC$', pipe, 'OK');
	k.is('is a pipe', pipe.body[2], 2);
	k.is('without any pipes', await c.create(pipe.header.tree, 'srvsvc'), 'NOT_FOUND');
	k.is('an unknown share', await connect('\\\\server\\nothing'), 'BAD_NETWORK_NAME');
	k.is('an empty name', await connect('\\\\server\\'), 'BAD_NETWORK_NAME');
	k.is('no path', await connect(''), 'BAD_NETWORK_NAME');
	k.is('half a character', await connect('\\\\server\\wire', { odd: true }), 'INVALID_PARAMETER');
	k.is('a path behind the end', await connect('\\\\server\\wire', { offset: 200 }), 'INVALID_PARAMETER');
	k.is('a path over the header', await connect('\\\\server\\wire', { offset: 64 }), 'INVALID_PARAMETER');
	k.is('an extension', await connect('\\\\server\\wire', { flags: 4, prefix: Buffer.alloc(16), offset: 16 }), 'OK');
	k.is('a handle of one share', await (async () => {
		const { id } = await c.create(disk.header.tree, 'mine');
		const other = await c.treeConnect('other');
		return c.read(other, id, 0, 0);
	})(), 'FILE_CLOSED');
	k.is('disconnected', await c.request(COMMAND.TREE_DISCONNECT, EMPTY, { tree: disk.header.tree }), 'OK');
	k.is('and gone', await c.create(disk.header.tree, 'f'), 'NO_TREE');
	await c.end();
	const bare = await client();
	const text = Buffer.from('\\\\s\\wire', 'utf16le');
	const body = Buffer.alloc(8);
	body.writeUInt16LE(9, 0);
	body.writeUInt16LE(72, 4);
	body.writeUInt16LE(text.length, 6);
	const answer = await bare.c.request(COMMAND.TREE_CONNECT, Buffer.concat([body, text]), { sign: false });
	await bare.c.ended;
	k.is('of 3.1.1 neither signed nor encrypted', answer.closed || answer.status === STATUS.ACCESS_DENIED, true);
	k.done();
});

test('compounds: what a related part takes over, and what it does not', { timeout: 60_000 }, async () => {
	const k = new Checks();
	const LAST = Buffer.alloc(16, 0xff);
	const { c, tree } = await client();
	const close = [COMMAND.CLOSE, SmbClient.fileBody(24, LAST)];
	const info = [COMMAND.QUERY_INFO, SmbClient.queryInfoBody(LAST, 1, 5)];
	const statuses = async (parts) => (await c.compound(parts, { tree })).map(({ status }) => status.toString(16)).join();
	k.is('open, ask, close', await statuses([[COMMAND.CREATE, SmbClient.createBody('chain')], info, close]), '0,0,0');
	const missing = [COMMAND.CREATE, SmbClient.createBody('nowhere', { disposition: 1 })];
	k.is('a failed CREATE fails the rest alike', await statuses([missing, info, close]), 'c0000034,c0000034,c0000034');
	k.is('a failed question does not', await statuses([[COMMAND.CREATE, SmbClient.createBody('chain')], [COMMAND.QUERY_INFO, SmbClient.queryInfoBody(LAST, 1, 99)], close]), '0,c0000003,0');
	k.is('after the close the id is nobody\'s', await statuses([[COMMAND.CREATE, SmbClient.createBody('chain')], close, info]), '0,0,c0000128');
	k.is('the last of two opens', await statuses([[COMMAND.CREATE, SmbClient.createBody('one')], [COMMAND.CREATE, SmbClient.createBody('two')], close, close]), '0,0,0,c0000128');
	// Parts that are not related: each for itself, one failing does not harm the other.
	const { id } = await c.create(tree, 'chain');
	const part = (command, body, { flags = 0, last = false, sessionId, of = tree } = {}) => {
		const size = 64 + body.length;
		const p = Buffer.alloc(last ? size : Math.ceil(size / 8) * 8);
		c.header(command, { tree: of, flags, next: last ? 0 : p.length, sessionId }).copy(p);
		body.copy(p, 64);
		const answer = c.expect(c.messageId++);
		return { bytes: c.sign(p), answer };
	};
	const send = async (...parts) => {
		c.send(Buffer.concat(parts.map((p) => p.bytes)));
		return (await Promise.all(parts.map((p) => p.answer))).map(({ status }) => status.toString(16)).join();
	};
	k.is('unrelated: an error and a success', await send(part(COMMAND.CLOSE, SmbClient.fileBody(24, Buffer.alloc(16, 3))), part(COMMAND.QUERY_INFO, SmbClient.queryInfoBody(id, 1, 5), { last: true })), 'c0000128,0');
	k.is('related: tree of the part before, whatever it says', await send(part(COMMAND.CREATE, SmbClient.createBody('chain')), part(COMMAND.CLOSE, SmbClient.fileBody(24, LAST), { flags: 4, last: true, of: 0x7777 })), '0,0');
	k.is('an id of its own in a related part', await send(part(COMMAND.CREATE, SmbClient.createBody('chain')), part(COMMAND.QUERY_INFO, SmbClient.queryInfoBody(id, 1, 5), { flags: 4, last: true })), '0,0');
	k.is('all ones without a part before', await send(part(COMMAND.CLOSE, SmbClient.fileBody(24, LAST), { last: true })), 'c0000128');
	const [first, second] = await c.compound([[COMMAND.ECHO, EMPTY], [COMMAND.ECHO, EMPTY]], { tree });
	k.is('answers are padded to 8', first.part.length % 8, 0);
	k.is('and linked', first.part.readUInt32LE(20), first.part.length);
	k.is('the last one is not', second.part.readUInt32LE(20), 0);
	k.is('each is signed with its padding', first.header.flags & second.header.flags & FLAG.SIGNED, FLAG.SIGNED);
	await c.end();
	k.done();
});

test('VALIDATE_NEGOTIATE_INFO: one thing changed ends the connection', { timeout: 60_000 }, async () => {
	const k = new Checks();
	const ANY = Buffer.alloc(16, 0xff);
	const changes = { capabilities: (b) => (b[0] ^= 1), guid: (b) => (b[7] ^= 1), mode: (b) => (b[20] ^= 2), dialects: (b) => b.writeUInt16LE(0x210, 24) };
	const input = (c, dialect) => {
		const b = Buffer.alloc(26);
		b.writeUInt32LE(0x7f, 0);
		c.guid.copy(b, 4);
		b.writeUInt16LE(1, 20);
		b.writeUInt16LE(1, 22);
		b.writeUInt16LE(dialect, 24);
		return b;
	};
	for (const dialect of [0x210, 0x300, 0x302]) {
		const { c, tree } = await client({ dialects: [dialect] });
		const good = await c.ioctl(tree, ANY, 0x00140204, { input: input(c, dialect), room: 24 });
		k.is(`${dialect.toString(16)} as it was`, good, 'OK');
		k.is('dialect', good.data?.readUInt16LE(22), dialect);
		k.is('mode', good.data?.readUInt16LE(20), 3);
		k.is('length', good.data?.length, 24);
		await c.end();
	}
	for (const [what, change] of Object.entries(changes)) {
		const { c, tree } = await client({ dialects: [0x300] });
		const b = input(c, 0x300);
		change(b);
		k.is(what, await c.ioctl(tree, ANY, 0x00140204, { input: b, room: 24 }), 'closed');
	}
	k.done();
});

test('interim answers and CANCEL', { timeout: 60_000 }, async () => {
	const k = new Checks();
	const { c, tree } = await client();
	const { id } = await c.create(tree, 'watched', { options: 1, access: 0x100081 });
	const wait = async () => {
		const at = c.messageId;
		const interim = new Promise((resolve) => (c.onInterim = resolve));
		const answer = c.request(COMMAND.CHANGE_NOTIFY, SmbClient.notifyBody(id, 1), { tree });
		return { at, interim: await interim, answer };
	};
	const one = await wait();
	k.is('interim is asynchronous', one.interim.header.flags & (FLAG.RESPONSE | FLAG.ASYNC), FLAG.RESPONSE | FLAG.ASYNC);
	k.is('and not signed', one.interim.header.flags & FLAG.SIGNED, 0);
	k.is('has an id', one.interim.header.asyncId !== 0n, true);
	k.is('grants credits', one.interim.header.credits, 64);
	k.is('body', one.interim.body.toString('hex'), '090000000000000000');
	c.cancel({ asyncId: one.interim.header.asyncId });
	const ended = await one.answer;
	k.is('by the asynchronous id', ended, 'CANCELLED');
	k.is('final has it too', ended.header.asyncId, one.interim.header.asyncId);
	k.is('and the flag', ended.header.flags & FLAG.ASYNC, FLAG.ASYNC);
	k.is('and no credits', ended.header.credits, 0);
	k.is('and is signed', ended.header.flags & FLAG.SIGNED, FLAG.SIGNED);
	const two = await wait();
	c.cancel({ messageId: two.at });
	k.is('by the message id', await two.answer, 'CANCELLED');
	const three = await wait();
	c.cancel({ asyncId: 0x7777n });
	c.cancel({ messageId: 0x7777n });
	k.is('of nothing', await c.echo(), 'OK');
	k.is('CLOSE ends it', await c.close(tree, id), 'OK');
	k.is('as cleanup', await three.answer, 'NOTIFY_CLEANUP');
	await c.end();
	k.done();
});

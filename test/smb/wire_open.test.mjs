// SPDX-License-Identifier: Apache-2.0
// Field by field: CREATE with its options and contexts, CLOSE, FLUSH, READ, WRITE, LOCK and IOCTL. What clients never
// send, and every field of what is answered, at its offset.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { after, before, test } from 'node:test';

import { ShareServiceClient } from '@azure/storage-file-share';

import { freePort, startServer } from '../lib/server.mjs';
import { ACCESS, Checks, COMMAND, connected, SmbClient, u64 } from '../lib/smb.mjs';

const DIRECTORY = 1, FILE = 0x40, DELETE_ON_CLOSE = 0x1000;
const OPEN = 1, CREATE = 2, OVERWRITE = 4, OVERWRITE_IF = 5;
const NONE = Buffer.alloc(0);
let server, port, shares;

before(async () => {
	port = await freePort();
	server = await startServer({ flags: ['--smbPort', String(port), '--create', 'share:wire,share:other'] });
	shares = ShareServiceClient.fromConnectionString(server.connectionString, { retryOptions: { maxTries: 1 } });
});
after(async () => {
	await server.stop();
	await server.remove();
});

const client = (how = { dialects: [0x311] }) => connected(port, 'wire', how);

// { name: data } of an answer of CREATE.
function contexts({ part, body }) {
	const found = {};
	let at = body.readUInt32LE(80);
	while (at) {
		const name = part.toString('latin1', at + part.readUInt16LE(at + 4), at + part.readUInt16LE(at + 4) + part.readUInt16LE(at + 6));
		found[name] = part.subarray(at + part.readUInt16LE(at + 10), at + part.readUInt16LE(at + 10) + part.readUInt32LE(at + 12));
		const next = part.readUInt32LE(at);
		at = next ? at + next : 0;
	}
	return found;
}

test('CREATE: access, options, dispositions, attributes', { timeout: 60_000 }, async () => {
	const k = new Checks();
	const { c, tree } = await client();
	const create = (name, options) => c.create(tree, name, options);
	await create('f');
	await create('d', { options: DIRECTORY });
	for (const [what, bend, want] of [['impersonation 3', (b) => b.writeUInt32LE(3, 4), 'OK'], ['impersonation 4', (b) => b.writeUInt32LE(4, 4), 'BAD_IMPERSONATION'],
		['create flags', (b) => b.fill(0xff, 8, 24), 'OK'], ['an odd name', (b) => b.writeUInt16LE(1, 46), 'INVALID_PARAMETER']]) {
		const body = SmbClient.createBody('f');
		bend(body);
		k.is(what, await c.request(COMMAND.CREATE, body, { tree }), want);
	}
	k.is('disposition 6', await create('f', { disposition: 6 }), 'INVALID_PARAMETER');
	k.is('no access', await create('f', { access: 0 }), 'ACCESS_DENIED');
	for (let bit = 0; bit < 32; bit++) {
		const access = (1 << bit) >>> 0;
		const want = access & 0x0ce0fe00 ? 'ACCESS_DENIED' : access === 0x01000000 ? 'PRIVILEGE_NOT_HELD' : 'OK';
		k.is(`access bit ${bit}`, await create('f', { access, disposition: OPEN }), want);
	}
	for (let bit = 0; bit < 32; bit++) {
		const options = (1 << bit) >>> 0;
		const want = options >= 0x01000000 ? 'INVALID_PARAMETER' : options & 0x00102080 ? 'NOT_SUPPORTED' : options === DIRECTORY ? 'NOT_A_DIRECTORY' : 'OK';
		if (options !== DELETE_ON_CLOSE) k.is(`option bit ${bit}`, await create('f', { options, disposition: OPEN }), want);
	}
	for (let bit = 0; bit < 32; bit++) {
		const attributes = (1 << bit) >>> 0;
		// 0x20000 is known to the service by its name in REST.
		k.is(`attribute bit ${bit}`, await create('f', { attributes, disposition: OPEN }), (attributes & 0xfffd8048) >>> 0 ? 'INVALID_PARAMETER' : 'OK');
	}
	k.is('directory and file', await create('f', { options: DIRECTORY | FILE }), 'INVALID_PARAMETER');
	for (const disposition of [0, OVERWRITE, OVERWRITE_IF]) k.is(`a directory by disposition ${disposition}`, await create('d', { options: DIRECTORY, disposition }), 'INVALID_PARAMETER');
	k.is('a temporary directory', await create('t', { options: DIRECTORY, attributes: 0x100 }), 'INVALID_PARAMETER');
	k.is('delete on close without the right', await create('f', { options: DELETE_ON_CLOSE, access: ACCESS.READ }), 'INVALID_PARAMETER');
	k.is('made twice', await create('f', { disposition: CREATE }), 'COLLISION');
	k.is('a file as a directory', await create('f', { options: DIRECTORY }), 'NOT_A_DIRECTORY');
	k.is('a directory as a file', await create('d', { options: FILE }), 'IS_A_DIRECTORY');
	k.is('the last part is missing', await create('d\\none', { disposition: OPEN }), 'NOT_FOUND');
	k.is('a part before is missing', await create('none\\f', { disposition: OPEN }), 'PATH_NOT_FOUND');
	k.is('a part before is a file', await create('f\\f', { disposition: OPEN }), 'PATH_NOT_FOUND');
	k.is('overwriting what is not there', await create('none', { disposition: OVERWRITE }), 'NOT_FOUND');
	k.is('the root', await create('', { disposition: OPEN }), 'OK');
	k.is('the root as a file', await create('', { disposition: OPEN, options: FILE }), 'IS_A_DIRECTORY');
	k.is('the root made', await create('', { disposition: CREATE, options: DIRECTORY }), 'COLLISION');
	const readOnly = await create('ro', { disposition: CREATE, attributes: 1 });
	k.is('a new read-only file opens for writing', await c.write(tree, readOnly.id, 0, Buffer.from('x')), 'OK');
	await c.close(tree, readOnly.id);
	k.is('an old one does not', await create('ro', { access: ACCESS.WRITE, disposition: OPEN }), 'ACCESS_DENIED');
	k.is('nor is it overwritten', await create('ro', { disposition: OVERWRITE }), 'ACCESS_DENIED');
	k.is('nor deleted on close', await create('ro', { access: ACCESS.DELETE, options: DELETE_ON_CLOSE, disposition: OPEN }), 'CANNOT_DELETE');
	const hidden = await create('hidden', { disposition: CREATE, attributes: 2 });
	await c.close(tree, hidden.id);
	k.is('a hidden file overwritten without saying so', await create('hidden', { disposition: OVERWRITE }), 'ACCESS_DENIED');
	k.is('saying so', await create('hidden', { disposition: OVERWRITE, attributes: 2 }), 'OK');
	await c.end();
	k.done();
});

test('CREATE: names', { timeout: 60_000 }, async () => {
	const k = new Checks();
	const { c, tree } = await client();
	const create = (name, options) => c.create(tree, name, options);
	for (const sign of ['"', '*', '<', '>', '?', '|', ':', '\0', '\x01', '\x1f']) k.is(`a name with ${JSON.stringify(sign)}`, await create(`a${sign}b`), 'NAME_INVALID');
	for (const name of ['LPT1', 'com9', 'PRN', 'aux', 'NUL', 'con', 'CLOCK$']) k.is(`the device ${name}`, await create(name), 'NAME_INVALID');
	k.is('255 characters', await create('n'.repeat(255)), 'OK');
	k.is('256 characters', await create('n'.repeat(256)), 'NAME_INVALID');
	k.is('a leading backslash', await create('\\f'), 'INVALID_PARAMETER');
	await create('d', { options: DIRECTORY });
	k.is('a trailing one, of a directory', await create('d\\', { disposition: OPEN, options: DIRECTORY }), 'OK');
	await create('Case');
	k.is('any case', await create('cASE', { disposition: OPEN }), 'OK');
	await create('straße');
	k.is('no folding of more than single characters', await create('STRASSE', { disposition: OPEN }), 'NOT_FOUND');
	await create('ä');
	k.is('other letters', await create('Ä', { disposition: OPEN }), 'OK');
	k.is('characters beyond 16 bits', await create('\u{1F600}'), 'OK');
	await c.end();
	k.done();
});

test('CREATE: the answer, and CLOSE', { timeout: 60_000 }, async () => {
	const k = new Checks();
	const { c, tree } = await client();
	const before = (BigInt(Date.now()) + 11644473600000n - 2000n) * 10000n;
	const made = await c.create(tree, 'answer', { attributes: 0x22, contexts: [['AlSi', u64(10000)], ['MxAc', NONE], ['QFid', NONE]] });
	const { body } = made;
	k.is('structure', body.readUInt16LE(0), 89);
	k.is('no oplock', body[2], 0);
	k.is('flags', body[3], 0);
	k.is('created', body.readUInt32LE(4), 2);
	for (const [what, at] of [['creation', 8], ['access', 16], ['write', 24], ['change', 32]]) {
		const time = body.readBigUInt64LE(at);
		k.is(`time of ${what}`, time > before && time < before + 600_000_000n, true);
	}
	k.is('allocation as asked for', body.readBigUInt64LE(40), 12288n);
	k.is('size', body.readBigUInt64LE(48), 0n);
	k.is('hidden and archive', body.readUInt32LE(56), 0x22);
	k.is('reserved', body.readUInt32LE(60), 0);
	const both = contexts(made);
	k.is('maximal access', both.MxAc?.toString('hex'), '00000000ff011f00');
	k.is('file id', both.QFid?.length, 32);
	const internal = await c.queryInfo(tree, made.id, 1, 6);
	k.is('file id is that of class 6', both.QFid?.subarray(0, 8).equals(internal.data), true);
	k.is('and the rest zero', both.QFid?.toString('hex', 16), '00'.repeat(16));
	k.is('no context for an allocation', both.AlSi, undefined);
	const again = await c.create(tree, 'answer', { disposition: OPEN });
	k.is('opened', again.body.readUInt32LE(4), 1);
	k.is('no contexts', again.body.readUInt32LE(80) + again.body.readUInt32LE(84), 0);
	const halves = (id) => [id.readBigUInt64LE(0), id.readBigUInt64LE(8)];
	k.is('ids differ in both halves', halves(made.id).some((h, i) => h === halves(again.id)[i]), false);
	for (const half of [0, 8]) {
		const forged = Buffer.from(made.id);
		forged[half] ^= 1;
		k.is(`an id with another half at ${half}`, await c.read(tree, forged, 0, 0), 'FILE_CLOSED');
	}
	await c.close(tree, made.id);
	const closing = (id, flags) => {
		const b = SmbClient.fileBody(24, id);
		b.writeUInt16LE(flags, 2);
		return c.request(COMMAND.CLOSE, b, { tree });
	};
	const bare = await closing(again.id, 0);
	k.is('CLOSE structure', bare.body.readUInt16LE(0), 60);
	k.is('CLOSE says nothing unless asked', bare.body.toString('hex', 2), '00'.repeat(58));
	k.is('closed twice', await closing(again.id, 0), 'FILE_CLOSED');
	const last = await c.create(tree, 'answer', { disposition: OVERWRITE, attributes: 2 });
	k.is('overwritten', last.body.readUInt32LE(4), 3);
	await c.write(tree, last.id, 0, Buffer.alloc(5000));
	const told = await closing(last.id, 1);
	k.is('CLOSE flags', told.body.readUInt16LE(2), 1);
	k.is('CLOSE allocation', told.body.readBigUInt64LE(40), 8192n);
	k.is('CLOSE size', told.body.readBigUInt64LE(48), 5000n);
	k.is('CLOSE attributes', told.body.readUInt32LE(56), 0x22);
	const superseded = await c.create(tree, 'answer', { disposition: 0, attributes: 2 });
	k.is('superseded', superseded.body.readUInt32LE(4), 0);
	k.is('FLUSH without a right to write', await (async () => {
		const { id } = await c.create(tree, 'answer', { access: ACCESS.READ });
		return c.request(COMMAND.FLUSH, SmbClient.fileBody(24, id), { tree });
	})(), 'ACCESS_DENIED');
	k.is('FLUSH of a directory', await (async () => {
		const { id } = await c.create(tree, 'flushed', { access: ACCESS.READ, options: DIRECTORY });
		return c.request(COMMAND.FLUSH, SmbClient.fileBody(24, id), { tree });
	})(), 'OK');
	await c.end();
	k.done();
});

test('CREATE: contexts around their lengths, and together', { timeout: 60_000 }, async () => {
	const k = new Checks();
	const { c, tree } = await client();
	const create = (list, options) => c.create(tree, 'contexts', { contexts: list, ...options });
	for (const [name, sizes] of Object.entries({ MxAc: [0, 8], QFid: [0], AlSi: [8], TWrp: [], RqLs: [32, 52], DHnQ: [16], DH2Q: [32] }))
		for (let size = 0; size <= 60; size++) {
			const near = [0, 1, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 35, 36, 37, 51, 52, 53, 60].includes(size);
			if (name === 'TWrp' ? size === 8 || !near : !near) continue;
			k.is(`${name} of ${size}`, await create([[name, Buffer.alloc(size)]]), sizes.includes(size) ? 'OK' : 'INVALID_PARAMETER');
		}
	for (const size of [0, 15, 17]) k.is(`DHnC of ${size}`, await create([['DHnC', Buffer.alloc(size)]]), 'INVALID_PARAMETER');
	for (const size of [0, 35, 37]) k.is(`DH2C of ${size}`, await create([['DH2C', Buffer.alloc(size)]]), 'INVALID_PARAMETER');
	k.is('DHnC of nothing', await create([['DHnC', Buffer.alloc(16, 1)]]), 'NOT_FOUND');
	k.is('DH2C of nothing', await create([['DH2C', Buffer.alloc(36, 1)]]), 'NOT_FOUND');
	k.is('extended attributes', await create([['ExtA', Buffer.alloc(20)]]), 'EAS_NOT_SUPPORTED');
	k.is('what nobody knows', await create([['AAPL', Buffer.alloc(24)], ['Zzzz', Buffer.alloc(3)]]), 'OK');
	k.is('a snapshot of an unknown time', await create([['TWrp', u64(132000000000000000n)]], { access: ACCESS.READ, disposition: OPEN }), 'NOT_FOUND');
	for (const [what, list] of [['DHnQ and DH2Q', ['DHnQ', 'DH2Q']], ['DHnQ and DH2C', ['DHnQ', 'DH2C']], ['DHnC and DH2Q', ['DHnC', 'DH2Q']], ['DHnC and DH2C', ['DHnC', 'DH2C']], ['DH2Q and DH2C', ['DH2Q', 'DH2C']]])
		k.is(what, await create(list.map((name) => [name, Buffer.alloc({ DHnQ: 16, DHnC: 16, DH2Q: 32, DH2C: 36 }[name], 1)])), 'INVALID_PARAMETER');
	// Inside: links, places and lengths.
	for (const [what, at, value, want] of [['next misaligned', 0, 12, 'INVALID_PARAMETER'], ['next behind the end', 0, 4096, 'INVALID_PARAMETER'], ['next over itself', 0, 8, 'INVALID_PARAMETER']]) {
		const body = SmbClient.createBody('contexts', { contexts: [['MxAc', NONE], ['QFid', NONE]] });
		const from = body.readUInt32LE(48) - 64;
		body.writeUInt32LE(value, from + at);
		k.is(what, await c.request(COMMAND.CREATE, body, { tree }), want);
	}
	for (const [what, at, value] of [['name over the head', 4, 8], ['name misaligned', 4, 17], ['name too long', 6, 40], ['name too short', 6, 3], ['data misaligned', 10, 25], ['data over the name', 10, 16], ['data behind the end', 10, 64]]) {
		const body = SmbClient.createBody('contexts', { contexts: [['AlSi', u64(1)]] });
		body.writeUInt16LE(value, body.readUInt32LE(48) - 64 + at);
		k.is(what, await c.request(COMMAND.CREATE, body, { tree }), 'INVALID_PARAMETER');
	}
	await c.end();
	k.done();
});

test('READ and WRITE: fields, ends, rights', { timeout: 60_000 }, async () => {
	const k = new Checks();
	const { c, tree } = await client();
	const { id } = await c.create(tree, 'bytes');
	await c.write(tree, id, 0, Buffer.from('0123456789'));
	const read = (file, length, offset, { minimum = 0, padding = 0x50 } = {}) => {
		const b = Buffer.alloc(49);
		b.writeUInt16LE(49, 0);
		b[2] = padding;
		b.writeUInt32LE(length, 4);
		b.writeBigUInt64LE(BigInt(offset), 8);
		file.copy(b, 16);
		b.writeUInt32LE(minimum, 32);
		return c.request(COMMAND.READ, b, { tree });
	};
	const got = await read(id, 100, 4);
	k.is('structure', got.body.readUInt16LE(0), 17);
	k.is('data at', got.body[2], 0x50);
	k.is('length', got.body.readUInt32LE(4), 6);
	k.is('remaining', got.body.readUInt32LE(8), 0);
	k.is('data', got.body.toString('latin1', 16, 22), '456789');
	k.is('any padding', await read(id, 1, 0, { padding: 0 }), 'OK');
	k.is('the last byte', await read(id, 1, 9), 'OK');
	k.is('at the end', await read(id, 1, 10), 'END_OF_FILE');
	k.is('nothing, behind the end', await read(id, 0, 1000), 'OK');
	k.is('as much as is demanded', await read(id, 20, 0, { minimum: 10 }), 'OK');
	k.is('less than is demanded', await read(id, 20, 0, { minimum: 11 }), 'END_OF_FILE');
	k.is('to the end of numbers', await read(id, 1, (1n << 63n) - 2n), 'END_OF_FILE');
	k.is('over it', await read(id, 2, (1n << 63n) - 2n), 'INVALID_PARAMETER');
	k.is('a negative offset', await read(id, 1, 1n << 63n), 'INVALID_PARAMETER');
	const dir = await c.create(tree, 'bytes-dir', { options: DIRECTORY });
	k.is('of a directory', await read(dir.id, 1, 0), 'INVALID_DEVICE_REQUEST');
	const writer = await c.create(tree, 'bytes', { access: 2 });
	k.is('without the right', await read(writer.id, 1, 0), 'ACCESS_DENIED');
	const runner = await c.create(tree, 'bytes', { access: 0x20 });
	k.is('to execute', await read(runner.id, 1, 0), 'OK');
	const write = (file, offset, data, bend = () => {}) => {
		const b = SmbClient.writeBody(file, offset, data);
		bend(b);
		return c.request(COMMAND.WRITE, b, { tree });
	};
	const wrote = await write(id, 2, Buffer.from('ab'));
	k.is('WRITE structure', wrote.body.readUInt16LE(0), 17);
	k.is('count', wrote.body.readUInt32LE(4), 2);
	k.is('rest', wrote.body.toString('hex', 8, 16), '00'.repeat(8));
	k.is('nothing', await write(id, 0, NONE), 'OK');
	k.is('data before the body ends', await write(id, 0, Buffer.from('xy'), (b) => b.writeUInt16LE(0x6f, 2)), 'INVALID_PARAMETER');
	k.is('data behind the end', await write(id, 0, Buffer.from('xy'), (b) => b.writeUInt16LE(0x71, 2)), 'INVALID_PARAMETER');
	k.is('written through', await write(id, 0, Buffer.from('xy'), (b) => b.writeUInt32LE(1, 44)), 'OK');
	k.is('a negative offset', await write(id, 1n << 63n, Buffer.from('x')), 'INVALID_PARAMETER');
	k.is('past 4 TiB', await write(id, 1n << 42n, Buffer.from('x')), 'DISK_FULL');
	k.is('into a directory', await write(dir.id, 0, Buffer.from('x')), 'INVALID_DEVICE_REQUEST');
	const reader = await c.create(tree, 'bytes', { access: ACCESS.READ });
	k.is('without the right', await write(reader.id, 0, Buffer.from('x')), 'ACCESS_DENIED');
	const appender = await c.create(tree, 'bytes', { access: 4 });
	k.is('to append', await write(appender.id, 0, Buffer.from('z')), 'OK');
	k.is('goes where it says', (await c.read(tree, id, 0, 4)).data?.toString(), 'zyab');
	await c.end();
	k.done();
});

test('LOCK: flags, ranges, stacks', { timeout: 60_000 }, async () => {
	const k = new Checks();
	const { c, tree } = await client();
	const { id } = await c.create(tree, 'locks');
	const other = (await c.create(tree, 'locks')).id;
	await c.write(tree, id, 0, Buffer.alloc(100));
	const lock = (file, ...elements) => c.lock(tree, file, elements);
	const [SHARED, EXCLUSIVE, UNLOCK] = [0x11, 0x12, 4];
	for (let flags = 0; flags <= 0x20; flags++)
		if (![1, 2, 4, 0x11, 0x12].includes(flags)) k.is(`flags ${flags}`, await lock(id, [0, 1, flags]), 'INVALID_PARAMETER');
	k.is('none', await lock(id), 'INVALID_PARAMETER');
	const said = Buffer.alloc(48);
	said.writeUInt16LE(48, 0);
	said.writeUInt16LE(2, 2);
	id.copy(said, 8);
	k.is('more said than sent', await c.request(COMMAND.LOCK, said, { tree }), 'INVALID_PARAMETER');
	k.is('two that may wait', await lock(id, [0, 1, 1], [1, 1, 1]), 'INVALID_PARAMETER');
	k.is('a lock, then an unlock', await lock(id, [0, 1, SHARED], [0, 1, UNLOCK]), 'INVALID_PARAMETER');
	k.is('the last byte that has a number', await lock(id, [(1n << 64n) - 1n, 1, EXCLUSIVE]), 'OK');
	k.is('one more wraps', await lock(id, [(1n << 64n) - 1n, 2, EXCLUSIVE]), 'INVALID_LOCK_RANGE');
	k.is('unlocked', await lock(id, [(1n << 64n) - 1n, 1, UNLOCK]), 'OK');
	k.is('unlocked twice', await lock(id, [(1n << 64n) - 1n, 1, UNLOCK]), 'RANGE_NOT_LOCKED');
	k.is('exclusive', await lock(id, [10, 10, EXCLUSIVE]), 'OK');
	k.is('inside, by another open', await lock(other, [15, 1, SHARED]), 'LOCK_NOT_GRANTED');
	k.is('shared on it, by the same', await lock(id, [10, 10, SHARED]), 'OK');
	k.is('exclusive on it, by the same', await lock(id, [10, 10, EXCLUSIVE]), 'LOCK_NOT_GRANTED');
	k.is('another open reads', await c.read(tree, other, 12, 1), 'LOCK_CONFLICT');
	k.is('another open writes', await c.write(tree, other, 12, Buffer.from('x')), 'LOCK_CONFLICT');
	k.is('beside it', await c.read(tree, other, 9, 1), 'OK');
	k.is('behind it', await c.read(tree, other, 20, 1), 'OK');
	k.is('over its first byte', await c.read(tree, other, 9, 2), 'LOCK_CONFLICT');
	k.is('a part of it unlocked', await lock(id, [10, 5, UNLOCK]), 'RANGE_NOT_LOCKED');
	k.is('once', await lock(id, [10, 10, UNLOCK]), 'OK');
	k.is('and again', await lock(id, [10, 10, UNLOCK]), 'OK');
	k.is('shared', await lock(id, [30, 10, SHARED]), 'OK');
	k.is('shared by both', await lock(other, [30, 10, SHARED]), 'OK');
	k.is('exclusive on shared, by the same', await lock(id, [30, 10, EXCLUSIVE]), 'LOCK_NOT_GRANTED');
	k.is('everybody reads', await c.read(tree, other, 30, 1), 'OK');
	k.is('nobody writes, not its own open either', await c.write(tree, id, 30, Buffer.from('x')), 'LOCK_CONFLICT');
	k.is('the second fails: the first is released', await lock(other, [50, 1, EXCLUSIVE], [30, 1, EXCLUSIVE]), 'LOCK_NOT_GRANTED');
	k.is('so that it is free', await lock(id, [50, 1, EXCLUSIVE]), 'OK');
	k.is('unlocks stop at the first that is none', await lock(id, [50, 1, UNLOCK], [51, 1, UNLOCK], [30, 10, UNLOCK]), 'RANGE_NOT_LOCKED');
	k.is('those before are done', await lock(other, [50, 1, EXCLUSIVE]), 'OK');
	k.is('those behind are not', await lock(id, [30, 10, UNLOCK]), 'OK');
	k.is('length 0 at the beginning of a lock', await lock(id, [50, 0, EXCLUSIVE]), 'OK');
	k.is('a lock around it', await lock(other, [49, 5, EXCLUSIVE]), 'LOCK_NOT_GRANTED');
	const dir = await c.create(tree, 'locks-dir', { options: DIRECTORY });
	k.is('a directory', await lock(dir.id, [0, 1, SHARED]), 'INVALID_PARAMETER');
	await c.end();
	k.done();
});

test('LOCK sent again on a durable open is done once', { timeout: 60_000 }, async () => {
	const k = new Checks();
	const { c, tree } = await client();
	const guid = Buffer.alloc(32);
	crypto.randomBytes(16).copy(guid, 16);
	const { id } = await c.create(tree, 'sequence', { oplock: 9, contexts: [['DH2Q', guid]] });
	const lock = (file, sequence, flags) => {
		const b = Buffer.alloc(48);
		b.writeUInt16LE(48, 0);
		b.writeUInt16LE(1, 2);
		b.writeUInt32LE(sequence, 4);
		file.copy(b, 8);
		b.writeBigUInt64LE(1n, 32);
		b.writeUInt32LE(flags, 40);
		return c.request(COMMAND.LOCK, b, { tree });
	};
	const at = (bucket, number) => (bucket << 4) | number;
	k.is('an exclusive lock', await lock(id, at(1, 3), 0x12), 'OK');
	k.is('sent again', await lock(id, at(1, 3), 0x12), 'OK');
	k.is('with another number', await lock(id, at(1, 4), 0x12), 'LOCK_NOT_GRANTED');
	k.is('after a failure it is not remembered', await lock(id, at(1, 4), 0x12), 'LOCK_NOT_GRANTED');
	k.is('unlocked in the last bucket', await lock(id, at(64, 1), 4), 'OK');
	k.is('sent again', await lock(id, at(64, 1), 4), 'OK');
	k.is('a bucket that is none', await lock(id, at(65, 1), 0x12), 'OK');
	k.is('is not remembered', await lock(id, at(65, 1), 0x12), 'LOCK_NOT_GRANTED');
	const plain = await c.create(tree, 'sequence-plain');
	k.is('of an open that is not durable', await lock(plain.id, at(1, 3), 0x12), 'OK');
	k.is('it is done each time', await lock(plain.id, at(1, 3), 0x12), 'LOCK_NOT_GRANTED');
	await c.end();
	k.done();
});

test('IOCTL: codes, rooms, flags', { timeout: 60_000 }, async () => {
	const k = new Checks();
	const { c, tree } = await client();
	const { id } = await c.create(tree, 'controls');
	await c.write(tree, id, 0, Buffer.alloc(3000, 5));
	const ask = (code, options, file = id) => c.ioctl(tree, file, code, options);
	k.is('not an FSCTL', await ask(0x00140078, { flags: 0 }), 'NOT_SUPPORTED');
	const key = await ask(0x00140078, { room: 32 });
	k.is('resume key', key, 'OK');
	k.is('structure', key.body.readUInt16LE(0), 49);
	k.is('code', key.body.readUInt32LE(4), 0x00140078);
	k.is('file id', key.body.subarray(8, 24).equals(id), true);
	k.is('input at', key.body.readUInt32LE(24), 0x70);
	k.is('output at', key.body.readUInt32LE(32), 0x70);
	k.is('output', key.body.readUInt32LE(36), 32);
	k.is('key and nothing behind it', key.data?.toString('hex', 24), '00'.repeat(8));
	k.is('room for less', await ask(0x00140078, { room: 31 }), 'INVALID_PARAMETER');
	for (const [what, code] of [['resiliency', 0x001401d4], ['sparse', 0x000900c4], ['zero data', 0x000980c8], ['ranges', 0x000940cf], ['set reparse point', 0x000900a4], ['get reparse point', 0x000900a8],
		['trim', 0x00098208], ['offload', 0x00094264], ['duplicate extents', 0x00098344], ['pipe', 0x0011c017], ['unknown', 0x12345678]])
		k.is(what, await ask(code, { input: Buffer.alloc(16) }), 'INVALID_DEVICE_REQUEST');
	for (const code of [0x00060194, 0x000601b0]) k.is(`referrals ${code.toString(16)}`, await ask(code, { input: Buffer.alloc(20) }, Buffer.alloc(16, 0xff)), 'FS_DRIVER_REQUIRED');
	k.is('compression', (await ask(0x0009003c, { room: 2 })).data?.toString('hex'), '0000');
	k.is('no compression', await ask(0x0009c040, { input: Buffer.from([0, 0]) }), 'OK');
	k.is('some compression', await ask(0x0009c040, { input: Buffer.from([1, 0]) }), 'NOT_SUPPORTED');
	const faces = await ask(0x001401fc, {}, Buffer.alloc(16, 0xff));
	k.is('interfaces are padded to 16', faces.data?.length, 160);
	k.is('no next', faces.data?.readUInt32LE(0), 0);
	k.is('speed', faces.data?.readBigUInt64LE(16) > 0n, true);
	k.is('IPv4', faces.data?.readUInt16LE(24), 2);
	k.is('the address that was reached', faces.data?.subarray(28, 32).join('.'), '127.0.0.1');
	k.is('interfaces of a file', await ask(0x001401fc, {}), 'INVALID_PARAMETER');
	k.is('a closed file', await ask(0x00140078, {}, Buffer.alloc(16, 9)), 'FILE_CLOSED');
	await c.end();
	const old = await client({ dialects: [0x210] });
	k.is('interfaces in 2.1', await old.c.ioctl(old.tree, Buffer.alloc(16, 0xff), 0x001401fc), 'INVALID_DEVICE_REQUEST');
	await old.c.end();
	k.done();
});

test('copychunk: limits, errors, within a file, and from one share to another', { timeout: 60_000 }, async () => {
	const k = new Checks();
	const { c, tree } = await client();
	const other = await c.treeConnect('other');
	const { id } = await c.create(tree, 'source');
	const bytes = crypto.randomBytes(300_000);
	await c.write(tree, id, 0, bytes);
	const keyOf = async (of, file) => (await c.ioctl(of, file, 0x00140078, { room: 32 })).data.subarray(0, 24);
	const key = await keyOf(tree, id);
	const copy = (of, target, source, chunks, { code = 0x001440f2, room = 12 } = {}) => {
		const input = Buffer.alloc(32 + 24 * chunks.length);
		source.copy(input);
		input.writeUInt32LE(chunks.length, 24);
		chunks.forEach(([from, to, length], i) => {
			input.writeBigUInt64LE(BigInt(from), 32 + 24 * i);
			input.writeBigUInt64LE(BigInt(to), 40 + 24 * i);
			input.writeUInt32LE(length, 48 + 24 * i);
		});
		return c.ioctl(of, target, code, { input, room });
	};
	const counts = ({ data }) => [0, 4, 8].map((at) => data?.readUInt32LE(at)).join();
	const limits = '256,1048576,16777216';
	const target = (await c.create(tree, 'target')).id;
	const done = await copy(tree, target, key, [[0, 0, 100_000], [100_000, 100_000, 200_000]]);
	k.is('two chunks', done, 'OK');
	k.is('chunks, part, bytes', counts(done), '2,0,300000');
	for (const at of [0, 65536, 262144]) k.is(`bytes at ${at}`, (await c.read(tree, target, at, 37_000)).data?.equals(bytes.subarray(at, at + 37_000)), true);
	for (const [what, chunks] of [['257 chunks', Array(257).fill([0, 0, 1])], ['a chunk of a MiB and a byte', [[0, 0, (1 << 20) + 1]]], ['more than 16 MiB', Array(17).fill([0, 0, 1 << 20])], ['a chunk of nothing', [[0, 0, 0]]]]) {
		const refused = await copy(tree, target, key, chunks);
		k.is(what, refused, 'INVALID_PARAMETER');
		k.is(`${what}: the limits are told`, counts(refused), limits);
	}
	k.is('an unknown key', await copy(tree, target, Buffer.alloc(24, 1), [[0, 0, 1]]), 'NOT_FOUND');
	k.is('past the end of the source', await copy(tree, target, key, [[299_999, 0, 2]]), 'INVALID_VIEW_SIZE');
	k.is('within one file', await copy(tree, id, key, [[0, 300_000, 1000]]), 'OK');
	const writer = (await c.create(tree, 'target', { access: ACCESS.WRITE })).id;
	k.is('a target that may not be read', await copy(tree, writer, key, [[0, 0, 1]]), 'ACCESS_DENIED');
	k.is('that need not be', await copy(tree, writer, key, [[0, 0, 1]], { code: 0x001480f2 }), 'OK');
	await c.lock(tree, id, [[0, 10, 0x12]]);
	const blind = await c.create(tree, 'source');
	k.is('a lock of another open on the source', await copy(tree, target, await keyOf(tree, blind.id), [[5, 0, 1]]), 'LOCK_CONFLICT');
	await c.lock(tree, target, [[0, 10, 0x12]]);
	k.is('on the target', await copy(tree, writer, key, [[0, 5, 1]], { code: 0x001480f2 }), 'LOCK_CONFLICT');
	// The numbers of files begin anew in every share: this one has the number of the source there.
	const away = (await c.create(other, 'elsewhere')).id;
	await c.write(other, away, 0, Buffer.from('another'));
	const across = await copy(other, away, key, [[0, 0, 1000]]);
	k.is('from one share to another', across, 'OK');
	k.is('the right bytes', (await c.read(other, away, 0, 1000)).data?.equals(bytes.subarray(0, 1000)), true);
	// From a previous version.
	const { snapshot } = await shares.getShareClient('wire').createSnapshot();
	await c.write(tree, id, 20, Buffer.from('changed'));
	const time = u64((BigInt(Math.floor(Date.parse(snapshot) / 1000)) + 11644473600n) * 10000000n);
	const old = await c.create(tree, 'source', { access: ACCESS.READ, disposition: OPEN, contexts: [['TWrp', time]] });
	k.is('a previous version', old, 'OK');
	const oldKey = await keyOf(tree, old.id);
	k.is('copied within its share', await copy(tree, target, oldKey, [[20, 20, 100]]), 'OK');
	k.is('as it was', (await c.read(tree, target, 20, 100)).data?.equals(bytes.subarray(20, 120)), true);
	k.is('copied to another', await copy(other, away, oldKey, [[20, 0, 100]]), 'OK');
	k.is('as it was there, too', (await c.read(other, away, 0, 100)).data?.equals(bytes.subarray(20, 120)), true);
	await c.end();
	k.done();
});

test('snapshots: counts in 16 bytes, names newest first, each one can be opened', { timeout: 60_000 }, async () => {
	const k = new Checks();
	const share = shares.getShareClient('versions');
	await share.create();
	const { c } = await client();
	const tree = await c.treeConnect('versions');
	const root = (await c.create(tree, '', { access: ACCESS.READ, disposition: OPEN })).id;
	const list = (room) => c.ioctl(tree, root, 0x00144064, { room });
	k.is('less than 16 bytes', await list(15), 'INVALID_PARAMETER');
	const none = await list(16);
	k.is('none', [0, 4, 8].map((at) => none.data?.readUInt32LE(at)).join(), '0,0,2');
	const file = (await c.create(tree, 'f')).id;
	const written = [];
	for (let i = 0; i < 3; i++) {
		await c.write(tree, file, 0, Buffer.from(`version ${i}`));
		const { snapshot } = await share.createSnapshot();
		const seconds = Math.floor(Date.parse(snapshot) / 1000);
		written.push([seconds, i]);
		while (Math.floor(Date.now() / 1000) === seconds) await new Promise((resolve) => setTimeout(resolve, 50)); // the names have seconds
	}
	const counts = await list(16);
	k.is('three, none of them told', [0, 4].map((at) => counts.data?.readUInt32LE(at)).join(), '3,0');
	k.is('how much it takes', counts.data?.readUInt32LE(8), 3 * 50 + 2);
	k.is('16 bytes', counts.data?.length, 16);
	const whole = await list(4096);
	k.is('all three', [0, 4, 8].map((at) => whole.data?.readUInt32LE(at)).join(), '3,3,152');
	const names = whole.data?.toString('utf16le', 12).split('\0').filter(Boolean) ?? [];
	k.is('newest first', names.join(), [...names].sort().reverse().join());
	k.is('their form', names.every((name) => /^@GMT-\d{4}\.\d\d\.\d\d-\d\d\.\d\d\.\d\d$/.test(name)), true);
	for (const [seconds, i] of written) {
		const old = await c.create(tree, 'f', { access: ACCESS.READ, disposition: OPEN, contexts: [['TWrp', u64((BigInt(seconds) + 11644473600n) * 10000000n)]] });
		k.is(`version ${i}`, old.status === 0 ? (await c.read(tree, old.id, 0, 20)).data?.toString() : old.status, `version ${i}`);
	}
	await c.end();
	await share.delete({ deleteSnapshots: 'include' });
	k.done();
});

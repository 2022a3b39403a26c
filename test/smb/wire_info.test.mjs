// SPDX-License-Identifier: Apache-2.0
// Field by field: QUERY_DIRECTORY, QUERY_INFO and SET_INFO at every level, rename, CHANGE_NOTIFY. What clients never
// send, and every field of what is answered, at its offset.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ShareServiceClient } from '@azure/storage-file-share';

import { freePort, startServer } from '../lib/server.mjs';
import { ACCESS, Checks, COMMAND, connected, SmbClient, u32, u64 } from '../lib/smb.mjs';

const DIRECTORY = 1, OPEN = 1;
const RESTART = 1, SINGLE = 2, REOPEN = 0x10;
let server, port, shares;

before(async () => {
	port = await freePort();
	server = await startServer({ flags: ['--smbPort', String(port), '--create', 'share:wire'] });
	shares = ShareServiceClient.fromConnectionString(server.connectionString, { retryOptions: { maxTries: 1 } });
});
after(async () => {
	await server.stop();
	await server.remove();
});

const client = (how = { dialects: [0x311] }) => connected(port, how.share ?? 'wire', how);

// Where the name's length and the name stand, by class.
const ENTRY = { 1: [60, 64], 2: [60, 68], 3: [60, 94], 12: [8, 12], 37: [60, 104], 38: [60, 80] };
function entries(data, infoClass) {
	const [lengthAt, nameAt] = ENTRY[infoClass];
	const all = [];
	for (let at = 0; data.length; ) {
		const next = data.readUInt32LE(at);
		const end = next ? at + next : data.length;
		all.push({ name: data.toString('utf16le', at + nameAt, at + nameAt + data.readUInt32LE(at + lengthAt)), bytes: data.subarray(at, end) });
		if (!next) break;
		at += next;
	}
	return all;
}

async function listed(c, tree, id, options = {}) {
	const names = [];
	for (let flags = options.flags ?? RESTART; ; flags = (options.flags ?? 0) & ~(RESTART | REOPEN)) {
		const answer = await c.queryDirectory(tree, id, 37, { ...options, flags });
		if (answer.status !== 0) return { names, status: answer };
		names.push(...entries(answer.data, 37).map(({ name }) => name));
	}
}

test('QUERY_DIRECTORY: every class, every field', { timeout: 60_000 }, async () => {
	const k = new Checks();
	const { c, tree } = await client();
	const dir = (await c.create(tree, 'classes', { options: DIRECTORY })).id;
	const file = await c.create(tree, 'classes\\ä file', { attributes: 0x22 });
	await c.write(tree, file.id, 0, Buffer.alloc(5000));
	const basic = (await c.queryInfo(tree, file.id, 1, 4)).data;
	const id = (await c.queryInfo(tree, file.id, 1, 6)).data;
	for (const infoClass of [1, 2, 3, 12, 37, 38]) {
		const answer = await c.queryDirectory(tree, dir, infoClass, { flags: RESTART, pattern: '*' });
		k.is(`class ${infoClass}`, answer, 'OK');
		k.is(`${infoClass} structure`, answer.body.readUInt16LE(0), 9);
		k.is(`${infoClass} offset`, answer.body.readUInt16LE(2), 0x48);
		const all = entries(answer.data, infoClass);
		k.is(`${infoClass} names`, all.map(({ name }) => name).join('|'), '.|..|ä file');
		k.is(`${infoClass} aligned`, all.slice(0, -1).every(({ bytes }) => bytes.length % 8 === 0), true);
		const { bytes } = all[2];
		k.is(`${infoClass} last is not padded`, bytes.length, ENTRY[infoClass][1] + 12);
		k.is(`${infoClass} index`, bytes.readUInt32LE(4), 0);
		if (infoClass === 12) continue;
		k.is(`${infoClass} times`, bytes.subarray(8, 40).equals(basic.subarray(0, 32)), true);
		k.is(`${infoClass} size`, bytes.readBigUInt64LE(40), 5000n);
		k.is(`${infoClass} allocation`, bytes.readBigUInt64LE(48), 8192n);
		k.is(`${infoClass} attributes`, bytes.readUInt32LE(56), 0x22);
		k.is(`${infoClass} directory`, all[0].bytes.readUInt32LE(56), 0x10);
		if (infoClass !== 1) k.is(`${infoClass} extended attributes`, bytes.readUInt32LE(64), 0);
		if (infoClass === 3 || infoClass === 37) k.is(`${infoClass} short name`, bytes.toString('hex', 68, 94), '00'.repeat(26));
		if (infoClass === 37) k.is('id of 37', bytes.subarray(96, 104).equals(id), true);
		if (infoClass === 38) k.is('id of 38', bytes.subarray(72, 80).equals(id), true);
	}
	for (const infoClass of [0, 4, 36, 39, 50, 60, 255]) k.is(`class ${infoClass}`, await c.queryDirectory(tree, dir, infoClass, { flags: RESTART }), 'INVALID_INFO_CLASS');
	k.is('of a file', await c.queryDirectory(tree, file.id, 37), 'INVALID_PARAMETER');
	const blind = await c.create(tree, 'classes', { access: 0x80, disposition: OPEN });
	k.is('without the right', await c.queryDirectory(tree, blind.id, 37), 'ACCESS_DENIED');
	k.is('no pattern', await c.queryDirectory(tree, (await c.create(tree, 'classes', { access: ACCESS.READ })).id, 37, { pattern: '' }), 'NAME_INVALID');
	k.is('no room for the first', await c.queryDirectory(tree, dir, 37, { flags: RESTART, room: 100 }), 'INFO_LENGTH_MISMATCH');
	k.is('more room than is allowed', await c.queryDirectory(tree, dir, 37, { flags: RESTART, room: 8 * 1024 * 1024 + 1 }), 'INVALID_PARAMETER');
	await c.end();
	k.done();
});

test('QUERY_DIRECTORY: patterns, flags, places', { timeout: 60_000 }, async () => {
	const k = new Checks();
	const { c, tree } = await client();
	const dir = (await c.create(tree, 'patterns', { options: DIRECTORY })).id;
	for (const name of ['a', 'a.txt', 'B.TXT', 'b.c.txt', 'noext', 'Ärger']) await c.close(tree, (await c.create(tree, `patterns\\${name}`)).id);
	const found = async (pattern) => (await listed(c, tree, dir, { pattern, flags: REOPEN })).names.join('|');
	k.is('*', await found('*'), '.|..|a|a.txt|b.c.txt|B.TXT|noext|Ärger');
	k.is('*.*', await found('*.*'), '.|..|a|a.txt|b.c.txt|B.TXT|noext|Ärger');
	k.is('a name', await found('A.TXT'), 'a.txt');
	k.is('a name of others', await found('äRGER'), 'Ärger');
	k.is('*.txt', await found('*.txt'), 'a.txt|b.c.txt|B.TXT');
	k.is('b*', await found('b*'), 'b.c.txt|B.TXT');
	k.is('?', await found('?'), '.|a');
	k.is('<.txt', await found('<.txt'), 'a.txt|b.c.txt|B.TXT');
	k.is('a>', await found('a>'), 'a');
	k.is('a"txt', await found('a"txt'), 'a.txt');
	k.is('.', await found('.'), '.');
	const none = await c.queryDirectory(tree, dir, 37, { pattern: 'zzz', flags: REOPEN });
	k.is('nothing that matches', none, 'NO_SUCH_FILE');
	const one = await c.queryDirectory(tree, dir, 37, { flags: REOPEN | SINGLE });
	k.is('one at a time', entries(one.data, 37).length, 1);
	k.is('the next', entries((await c.queryDirectory(tree, dir, 37, { flags: SINGLE })).data, 37)[0].name, '..');
	k.is('from the beginning', entries((await c.queryDirectory(tree, dir, 37, { flags: RESTART | SINGLE })).data, 37)[0].name, '.');
	await listed(c, tree, dir, { flags: 0 });
	k.is('at the end', await c.queryDirectory(tree, dir, 37), 'NO_MORE_FILES');
	// Deleting what was listed skips nothing.
	const seen = [];
	for (let flags = REOPEN | SINGLE; ; flags = SINGLE) {
		const answer = await c.queryDirectory(tree, dir, 37, { flags });
		if (answer.status) break;
		const [{ name }] = entries(answer.data, 37);
		seen.push(name);
		if (name.startsWith('.')) continue;
		const gone = await c.create(tree, `patterns\\${name}`, { options: 0x1000, disposition: OPEN });
		await c.close(tree, gone.id);
	}
	k.is('each one, deleted behind', seen.join('|'), '.|..|a|a.txt|b.c.txt|B.TXT|noext|Ärger');
	const hard = '*a'.repeat(120) + 'b';
	const began = Date.now();
	await c.queryDirectory(tree, dir, 37, { pattern: hard, flags: REOPEN });
	k.is('a hard pattern at once', Date.now() - began < 5000, true);
	await c.end();
	k.done();
});

// More than the server goes through on a loop, and more than a request's memory holds.
test('QUERY_DIRECTORY: a directory of 12,000, and what matches few of them', { timeout: 180_000 }, async () => {
	const k = new Checks();
	const { c, tree } = await client();
	const dir = (await c.create(tree, 'many', { options: DIRECTORY })).id;
	const COUNT = 12_000;
	for (let at = 0; at < COUNT; at += 500)
		await Promise.all(Array.from({ length: 500 }, (_, i) => c.compound([[COMMAND.CREATE, SmbClient.createBody(`many\\file-${String(at + i).padStart(6, '0')}.dat`)],
			[COMMAND.CLOSE, SmbClient.fileBody(24, Buffer.alloc(16, 0xff))]], { tree })));
	await c.close(tree, (await c.create(tree, 'many\\z.txt')).id);
	k.is('the last by a pattern', (await listed(c, tree, dir, { pattern: '*.txt', flags: REOPEN })).names.join(), 'z.txt');
	k.is('nothing', await c.queryDirectory(tree, dir, 37, { pattern: '*.none', flags: REOPEN }), 'NO_SUCH_FILE');
	k.is('a name', (await listed(c, tree, dir, { pattern: 'file-011999.dat', flags: REOPEN })).names.join(), 'file-011999.dat');
	const all = await listed(c, tree, dir, { flags: REOPEN, room: 8 * 1024 * 1024 });
	k.is('all', all.names.length, COUNT + 3);
	k.is('none twice', new Set(all.names).size, COUNT + 3);
	// Two questions and a CLOSE at once on one handle: in their order.
	const both = [c.queryDirectory(tree, dir, 37, { pattern: '*.none', flags: REOPEN }), c.queryDirectory(tree, dir, 37, { pattern: 'z*', flags: REOPEN }), c.close(tree, dir)];
	const [first, second, third] = await Promise.all(both);
	k.is('the first of two', first, 'NO_SUCH_FILE');
	k.is('the second', second, 'OK');
	k.is('the close behind them', third, 'OK');
	await c.end();
	k.done();
});

test('QUERY_INFO: files, every class, every field', { timeout: 60_000 }, async () => {
	const k = new Checks();
	const { c, tree } = await client();
	await c.create(tree, 'info', { options: DIRECTORY });
	const made = await c.create(tree, 'info\\file', { options: 2 });
	const { id } = made;
	await c.write(tree, id, 0, Buffer.alloc(5000));
	const ask = (infoClass, options, file = id) => c.queryInfo(tree, file, 1, infoClass, options);
	const of = async (infoClass, file) => (await ask(infoClass, {}, file)).data;
	const basic = await of(4);
	k.is('4 length', basic.length, 40);
	k.is('4 attributes', basic.readUInt32LE(32), 0x20);
	k.is('4 rest', basic.readUInt32LE(36), 0);
	const standard = await of(5);
	k.is('5', standard.toString('hex'), `${u64(8192).toString('hex')}${u64(5000).toString('hex')}0100000000000000`);
	k.is('6 length', (await of(6)).length, 8);
	k.is('7', (await of(7)).toString('hex'), '00000000');
	k.is('8', (await of(8)).readUInt32LE(0), ACCESS.ALL);
	k.is('14 behind the write', (await of(14)).readBigUInt64LE(0), 5000n);
	k.is('16', (await of(16)).readUInt32LE(0), 2);
	k.is('17', (await of(17)).readUInt32LE(0), 0);
	const all = await of(18);
	const text = Buffer.from('\\info\\file', 'utf16le');
	k.is('18', all.toString('hex'), Buffer.concat([basic, standard, await of(6), u32(0), u32(ACCESS.ALL), u64(5000), u32(2), u32(0), u32(text.length), text]).toString('hex'));
	k.is('9', (await of(9)).toString('hex'), Buffer.concat([u32(text.length), text]).toString('hex'));
	k.is('48', (await of(48)).toString('hex'), Buffer.concat([u32(text.length - 2), text.subarray(2)]).toString('hex'));
	k.is('21', await ask(21), 'NOT_SUPPORTED');
	const stream = Buffer.from('::$DATA', 'utf16le');
	k.is('22', (await of(22)).toString('hex'), Buffer.concat([u32(0), u32(14), u64(5000), u64(8192), stream]).toString('hex'));
	k.is('28', (await of(28)).toString('hex'), `${u64(5000).toString('hex')}${'00'.repeat(8)}`);
	k.is('34', (await of(34)).toString('hex'), Buffer.concat([basic.subarray(0, 32), u64(8192), u64(5000), u32(0x20), u32(0)]).toString('hex'));
	k.is('35', (await of(35)).toString('hex'), Buffer.concat([u32(0x20), u32(0)]).toString('hex'));
	const both = await of(59);
	k.is('59 length', both.length, 24);
	k.is('59 id', both.subarray(8, 16).equals(await of(6)), true);
	k.is('15', await ask(15), 'NO_EAS');
	for (const infoClass of [0, 1, 10, 13, 20, 64, 65, 255]) k.is(`class ${infoClass}`, await ask(infoClass), 'INVALID_INFO_CLASS');
	// What does not fit.
	for (const [infoClass, size] of [[4, 40], [5, 24], [6, 8], [7, 4], [8, 4], [14, 8], [16, 4], [17, 4], [28, 16], [34, 56], [35, 8], [59, 24]]) {
		k.is(`${infoClass} with all the room it takes`, await ask(infoClass, { room: size }), 'OK');
		k.is(`${infoClass} with a byte less`, await ask(infoClass, { room: size - 1 }), 'INFO_LENGTH_MISMATCH');
	}
	for (const [infoClass, fixed, size] of [[18, 104, 120], [9, 8, 24], [48, 8, 22], [22, 32, 38]]) {
		k.is(`${infoClass} below its fixed part`, await ask(infoClass, { room: fixed - 1 }), 'INFO_LENGTH_MISMATCH');
		const cut = await ask(infoClass, { room: fixed });
		k.is(`${infoClass} with its fixed part`, cut, 'BUFFER_OVERFLOW');
		k.is(`${infoClass} as much as fits`, cut.data.length, fixed);
		k.is(`${infoClass} with a byte less`, await ask(infoClass, { room: size - 1 }), 'BUFFER_OVERFLOW');
		k.is(`${infoClass} with all the room it takes`, await ask(infoClass, { room: size }), 'OK');
	}
	const blind = await c.create(tree, 'info\\file', { access: 1 });
	for (const infoClass of [4, 18, 34, 35]) k.is(`${infoClass} without the right`, await ask(infoClass, {}, blind.id), 'ACCESS_DENIED');
	for (const infoClass of [5, 6, 7, 8, 14, 16, 17]) k.is(`${infoClass} needs none`, await ask(infoClass, {}, blind.id), 'OK');
	const root = await c.create(tree, '', { disposition: OPEN });
	k.is('9 of the root', (await of(9, root.id)).toString('hex'), '020000005c00');
	k.is('48 of the root', await ask(48, {}, root.id), 'OK');
	k.is('6 of the root is not 0', (await of(6, root.id)).readBigUInt64LE(0) !== 0n, true);
	const dir = await c.create(tree, 'info', { disposition: OPEN });
	k.is('22 of a directory', (await of(22, dir.id)).length, 0);
	k.is('5 of a directory', (await of(5, dir.id)).toString('hex'), '00'.repeat(16) + '0100000000010000');
	await c.setDisposition(tree, id, true);
	k.is('5 while it is to be deleted', (await of(5)).toString('hex', 16), '0000000001000000');
	k.is('an unknown type', await c.queryInfo(tree, id, 5, 4), 'INVALID_PARAMETER');
	k.is('quotas', await c.queryInfo(tree, id, 4, 0), 'NOT_SUPPORTED');
	await c.end();
	const old = await client({ dialects: [0x302] });
	const again = await old.c.create(old.tree, 'old');
	k.is('48 before 3.1.1', await old.c.queryInfo(old.tree, again.id, 1, 48), 'NOT_SUPPORTED');
	await old.c.end();
	k.done();
});

test('QUERY_INFO: the file system', { timeout: 60_000 }, async () => {
	const k = new Checks();
	const share = shares.getShareClient('sized');
	await share.create({ quota: 7 });
	const { c, tree } = await client({ dialects: [0x311], share: 'sized' });
	const root = (await c.create(tree, '', { disposition: OPEN })).id;
	const ask = (infoClass, options) => c.queryInfo(tree, root, 2, infoClass, options);
	const of = async (infoClass) => (await ask(infoClass)).data;
	const volume = await of(1);
	k.is('1 label', volume.toString('utf16le', 18), 'sized');
	k.is('1 length of it', volume.readUInt32LE(12), 10);
	k.is('1 serial stays', (await of(1)).readUInt32LE(8), volume.readUInt32LE(8));
	k.is('1 objects', volume.readUInt16LE(16), 0);
	const units = 7n * (1n << 30n) / 4096n;
	const size = await of(3);
	k.is('3', [size.readBigUInt64LE(0), size.readBigUInt64LE(8), size.readUInt32LE(16) * size.readUInt32LE(20)].join(), [units, units, 4096].join());
	k.is('4', (await of(4)).toString('hex'), '0700000020000000');
	const attribute = await of(5);
	k.is('5 flags', attribute.readUInt32LE(0), 0xf);
	k.is('5 longest name', attribute.readUInt32LE(4), 255);
	k.is('5 name', attribute.toString('utf16le', 12), 'NTFS');
	const file = await c.create(tree, 'f');
	await c.write(tree, file.id, 0, Buffer.alloc(40960));
	const full = await of(7);
	k.is('7', [full.readBigUInt64LE(0), full.readBigUInt64LE(8), full.readBigUInt64LE(16), full.readUInt32LE(24) * full.readUInt32LE(28)].join(), [units, units - 10n, units - 10n, 4096].join());
	k.is('8', (await of(8)).length, 64);
	k.is('8 rest', (await of(8)).toString('hex', 16), '00'.repeat(48));
	const sectors = await of(11);
	k.is('11 length', sectors.length, 28);
	k.is('11 flags', sectors.readUInt32LE(16), 3);
	for (const infoClass of [0, 2, 9, 99]) k.is(`class ${infoClass}`, await ask(infoClass), 'INVALID_INFO_CLASS');
	for (const [infoClass, fixed, whole] of [[1, 24, 28], [5, 16, 20]]) {
		k.is(`${infoClass} below its fixed part`, await ask(infoClass, { room: fixed - 1 }), 'INFO_LENGTH_MISMATCH');
		k.is(`${infoClass} with its fixed part`, await ask(infoClass, { room: fixed }), 'BUFFER_OVERFLOW');
		k.is(`${infoClass} with all the room it takes`, await ask(infoClass, { room: whole }), 'OK');
	}
	for (const [infoClass, whole] of [[3, 24], [4, 8], [7, 32], [8, 64], [11, 28]]) {
		k.is(`${infoClass} with a byte less`, await ask(infoClass, { room: whole - 1 }), 'INFO_LENGTH_MISMATCH');
		k.is(`${infoClass} with all the room it takes`, await ask(infoClass, { room: whole }), 'OK');
	}
	k.is('SET_INFO of it', await c.setInfo(tree, root, 2, Buffer.alloc(48), 2), 'NOT_SUPPORTED');
	await c.end();
	await share.delete();
	k.done();
});

test('security descriptors: parts, rights, rooms', { timeout: 60_000 }, async () => {
	const k = new Checks();
	const { c, tree } = await client();
	const { id } = await c.create(tree, 'secured');
	const ask = (additional, options, file = id) => c.queryInfo(tree, file, 3, 0, { additional, ...options });
	const whole = await ask(7);
	k.is('all three', whole, 'OK');
	k.is('revision', whole.data[0], 1);
	k.is('self-relative, with an ACL', whole.data.readUInt16LE(2) & 0x8004, 0x8004);
	const small = await ask(7, { room: whole.data.length - 1 });
	k.is('a byte less', small, 'BUFFER_TOO_SMALL');
	k.is('how much it takes', small.body.readUInt32LE(8), whole.data.length);
	k.is('all of it', await ask(7, { room: whole.data.length }), 'OK');
	const owner = (await ask(1)).data;
	k.is('the owner alone', [4, 8, 12, 16].map((at) => owner.readUInt32LE(at) !== 0).join(), 'true,false,false,false');
	const acl = (await ask(4)).data;
	k.is('the ACL alone', [4, 8, 12, 16].map((at) => acl.readUInt32LE(at) !== 0).join(), 'false,false,false,true');
	k.is('the SACL', await ask(8), 'ACCESS_DENIED');
	const blind = await c.create(tree, 'secured', { access: 1 });
	k.is('without the right to read it', await ask(7, {}, blind.id), 'ACCESS_DENIED');
	const set = (additional, data, file = id) => {
		const b = Buffer.alloc(32);
		b.writeUInt16LE(33, 0);
		b[2] = 3;
		b.writeUInt32LE(data.length, 4);
		b.writeUInt16LE(96, 8);
		b.writeUInt32LE(additional, 12);
		file.copy(b, 16);
		return c.request(COMMAND.SET_INFO, Buffer.concat([b, data]), { tree });
	};
	// An ACL that gives everybody everything: revision, 20 bytes of head, one entry.
	const sid = Buffer.from([1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]);
	const entry = Buffer.concat([Buffer.from([0, 0, 20, 0]), u32(0x1f01ff), sid]);
	const list = Buffer.concat([Buffer.from([2, 0, 28, 0, 1, 0, 0, 0]), entry]);
	const open = Buffer.concat([Buffer.from([1, 0, 4, 0x80]), Buffer.alloc(12), u32(20), list]);
	k.is('another ACL', await set(4, open), 'OK');
	const after = (await ask(7)).data;
	k.is('is there', after.includes(entry), true);
	k.is('the owner stayed', after.readUInt32LE(4) !== 0, true);
	for (const [access, additional, want] of [[0x40000, 4, 'OK'], [0x40000, 1, 'ACCESS_DENIED'], [0x80000, 4, 'ACCESS_DENIED'], [0x20000, 4, 'ACCESS_DENIED']]) {
		const file = await c.create(tree, 'secured', { access });
		k.is(`access ${access.toString(16)}, parts ${additional}`, await set(additional, open, file.id), want);
	}
	k.is('the SACL set', await set(8, open), 'ACCESS_DENIED');
	for (const [what, bend] of [['ACL behind the end', (b) => b.writeUInt32LE(500, 16)], ['ACL size past the end', (b) => b.writeUInt16LE(29, 22)], ['more entries than there are', (b) => b.writeUInt16LE(2, 24)], ['an entry longer than the list', (b) => b.writeUInt16LE(24, 30)], ['an entry of nothing', (b) => b.writeUInt16LE(0, 30)]]) {
		const bent = Buffer.from(open);
		bend(bent);
		const { status } = await set(4, bent);
		k.is(what, status === 0xc000000d || status === 0xc0000079, true);
	}
	const made = await c.create(tree, 'secured-new', { contexts: [['SecD', open]] });
	k.is('with CREATE', made, 'OK');
	k.is('it is there', (await ask(4, {}, made.id)).data.includes(entry), true);
	// A previous version has what it had.
	const { snapshot } = await shares.getShareClient('wire').createSnapshot();
	const time = u64((BigInt(Math.floor(Date.parse(snapshot) / 1000)) + 11644473600n) * 10000000n);
	const version = await c.create(tree, 'secured-new', { access: ACCESS.READ, disposition: OPEN, contexts: [['TWrp', time]] });
	k.is('of a previous version', (await ask(4, {}, version.id)).data.includes(entry), true);
	await c.create(tree, 'deep', { options: DIRECTORY });
	await c.create(tree, 'deep\\file');
	const { snapshot: second } = await shares.getShareClient('wire').createSnapshot();
	const later = u64((BigInt(Math.floor(Date.parse(second) / 1000)) + 11644473600n) * 10000000n);
	const deep = await c.create(tree, 'deep\\file', { access: ACCESS.READ, disposition: OPEN, contexts: [['TWrp', later]] });
	k.is('the path of a previous version', deep.status === 0 ? (await c.queryInfo(tree, deep.id, 1, 9)).data.toString('utf16le', 4) : deep.status, '\\deep\\file');
	await c.end();
	k.done();
});

test('SET_INFO: times and attributes', { timeout: 60_000 }, async () => {
	const k = new Checks();
	const { c, tree } = await client();
	const { id } = await c.create(tree, 'basics');
	const dir = (await c.create(tree, 'basics-dir', { options: DIRECTORY })).id;
	const basic = ({ creation = 0, access = 0, write = 0, change = 0, attributes = 0 } = {}) => Buffer.concat([u64(creation), u64(access), u64(write), u64(change), u32(attributes), u32(0)]);
	const set = (values, file = id) => c.setInfo(tree, file, 4, basic(values));
	const now = async (file = id) => (await c.queryInfo(tree, file, 1, 4)).data;
	const before = await now();
	k.is('all kept', await set({}), 'OK');
	k.is('they are', (await now()).subarray(0, 24).equals(before.subarray(0, 24)), true);
	k.is('39 bytes', await c.setInfo(tree, id, 4, basic().subarray(0, 39)), 'INFO_LENGTH_MISMATCH');
	for (const field of ['creation', 'access', 'write', 'change']) k.is(`${field} below -2`, await set({ [field]: -3 }), 'INVALID_PARAMETER');
	const time = 131000000000000001n;
	for (const [field, at] of [['creation', 0], ['access', 8], ['write', 16], ['change', 24]]) {
		k.is(`${field} set`, await set({ [field]: time }), 'OK');
		k.is(`${field} is it, to 100 ns`, (await now()).readBigUInt64LE(at), time);
	}
	// The time that was set sticks to this handle's writes, not to another's.
	await c.write(tree, id, 0, Buffer.from('x'));
	k.is('write time sticks', (await now()).readBigUInt64LE(16), time);
	const other = await c.create(tree, 'basics');
	await c.write(tree, other.id, 0, Buffer.from('y'));
	k.is('not for another handle', (await now()).readBigUInt64LE(16) > time, true);
	k.is('stop', await set({ write: -1 }, other.id), 'OK');
	const stopped = (await now()).readBigUInt64LE(16);
	await c.write(tree, other.id, 0, Buffer.from('z'));
	k.is('stopped', (await now()).readBigUInt64LE(16), stopped);
	k.is('go on', await set({ write: -2 }, other.id), 'OK');
	await c.write(tree, other.id, 0, Buffer.from('z'));
	k.is('goes on', (await now()).readBigUInt64LE(16) > stopped, true);
	k.is('stop the change time', await set({ change: -1 }, other.id), 'OK');
	const changed = (await now()).readBigUInt64LE(24);
	await c.write(tree, other.id, 0, Buffer.from('z'));
	k.is('it is stopped', (await now()).readBigUInt64LE(24), changed);
	k.is('attributes', await set({ attributes: 0x23 }), 'OK');
	k.is('are those', (await now()).readUInt32LE(32), 0x23);
	k.is('0 keeps them', await set({ attributes: 0 }), 'OK');
	k.is('kept', (await now()).readUInt32LE(32), 0x23);
	k.is('0x80 is none', await set({ attributes: 0x80 }), 'OK');
	k.is('shown as normal', (await now()).readUInt32LE(32), 0x80);
	await c.write(tree, id, 0, Buffer.from('w'));
	k.is('a write sets archive', (await now()).readUInt32LE(32), 0x20);
	await set({ attributes: 0x80 });
	await c.setInfo(tree, id, 20, u64(3));
	k.is('so does another size', (await now()).readUInt32LE(32), 0x20);
	k.is('a file as a directory', await set({ attributes: 0x10 }), 'INVALID_PARAMETER');
	k.is('a temporary directory', await set({ attributes: 0x100 }, dir), 'INVALID_PARAMETER');
	k.is('a directory hidden', await set({ attributes: 2 }, dir), 'OK');
	k.is('it stays one', (await now(dir)).readUInt32LE(32), 0x12);
	const reader = await c.create(tree, 'basics', { access: ACCESS.READ });
	k.is('without the right', await set({ attributes: 2 }, reader.id), 'ACCESS_DENIED');
	await c.end();
	k.done();
});

test('SET_INFO: sizes, deletion, mode, what is refused', { timeout: 60_000 }, async () => {
	const k = new Checks();
	const { c, tree } = await client();
	const { id } = await c.create(tree, 'sizes');
	await c.write(tree, id, 0, Buffer.alloc(1000, 1));
	const set = (infoClass, data, file = id) => c.setInfo(tree, file, infoClass, data);
	const size = async () => (await c.queryInfo(tree, id, 1, 5)).data.readBigUInt64LE(8);
	for (const [infoClass, least] of [[13, 1], [14, 8], [16, 4], [19, 8], [20, 8]]) k.is(`${infoClass} with a byte less`, await set(infoClass, Buffer.alloc(least - 1)), 'INFO_LENGTH_MISMATCH');
	k.is('longer', await set(20, u64(2000)), 'OK');
	k.is('is longer', await size(), 2000n);
	k.is('with zeros', (await c.read(tree, id, 1000, 1000)).data?.equals(Buffer.alloc(1000)), true);
	k.is('a negative size', await set(20, u64(-1)), 'INVALID_PARAMETER');
	k.is('more than 4 TiB', await set(20, u64((1n << 42n) + 1n)), 'DISK_FULL');
	k.is('more than the share may hold', await set(20, u64(1n << 43n)), 'DISK_FULL');
	k.is('allocation below the size cuts', await set(19, u64(500)), 'OK');
	k.is('is cut', await size(), 500n);
	k.is('allocation above does not', await set(19, u64(1 << 20)), 'OK');
	k.is('as it was', await size(), 500n);
	k.is('a negative allocation', await set(19, u64(-1)), 'INVALID_PARAMETER');
	const reader = await c.create(tree, 'sizes', { access: ACCESS.READ });
	k.is('size without the right', await set(20, u64(1), reader.id), 'ACCESS_DENIED');
	k.is('deletion without the right', await set(13, Buffer.from([1]), reader.id), 'ACCESS_DENIED');
	const dir = await c.create(tree, 'sizes-dir', { options: DIRECTORY });
	k.is('size of a directory', await set(20, u64(1), dir.id), 'INVALID_PARAMETER');
	const inside = await c.create(tree, 'sizes-dir\\f');
	k.is('a directory that is not empty', await set(13, Buffer.from([1]), dir.id), 'DIRECTORY_NOT_EMPTY');
	await c.close(tree, inside.id);
	const root = await c.create(tree, '', { disposition: OPEN });
	k.is('the root', await set(13, Buffer.from([1]), root.id), 'CANNOT_DELETE');
	k.is('position', await set(14, u64(77)), 'OK');
	k.is('is it', (await c.queryInfo(tree, id, 1, 14)).data.readBigUInt64LE(0), 77n);
	for (const [mode, want] of [[2, 'OK'], [0x1000, 'OK'], [0x3e, 'OK'], [1, 'INVALID_PARAMETER'], [0x40, 'INVALID_PARAMETER'], [0x80000000, 'INVALID_PARAMETER']]) k.is(`mode ${mode.toString(16)}`, await set(16, u32(mode)), want);
	k.is('a link', await set(11, Buffer.alloc(24)), 'NOT_SUPPORTED');
	k.is('extended attributes', await set(15, Buffer.alloc(16)), 'EAS_NOT_SUPPORTED');
	for (const infoClass of [0, 5, 18, 64, 65, 255]) k.is(`class ${infoClass}`, await set(infoClass, Buffer.alloc(64)), 'INVALID_INFO_CLASS');
	k.is('quotas', await c.setInfo(tree, id, 0, Buffer.alloc(8), 4), 'NOT_SUPPORTED');
	k.is('an unknown type', await c.setInfo(tree, id, 4, Buffer.alloc(40), 9), 'INVALID_PARAMETER');
	const answer = await set(14, u64(1));
	k.is('the answer', answer.body.toString('hex'), '0200');
	k.is('marked', await c.setDisposition(tree, id, true), 'OK');
	k.is('another open', await c.create(tree, 'sizes', { disposition: OPEN }), 'DELETE_PENDING');
	k.is('made again', await c.create(tree, 'sizes', { disposition: 2 }), 'DELETE_PENDING');
	k.is('taken back', await c.setDisposition(tree, id, false), 'OK');
	k.is('there again', await c.create(tree, 'sizes', { disposition: OPEN }), 'OK');
	await c.end();
	k.done();
});

test('rename: targets, rights, places', { timeout: 60_000 }, async () => {
	const k = new Checks();
	const { c, tree } = await client();
	const file = async (name, options) => (await c.create(tree, name, options)).id;
	const free = async (name) => c.close(tree, await file(name));
	const id = await file('from');
	await free('taken');
	await c.close(tree, await file('folder', { options: DIRECTORY }));
	k.is('to a name that is taken', await c.rename(tree, id, 'taken'), 'COLLISION');
	k.is('over it', await c.rename(tree, id, 'taken', { replace: true }), 'OK');
	k.is('the old name', await c.create(tree, 'from', { disposition: OPEN }), 'NOT_FOUND');
	k.is('the handle follows', (await c.queryInfo(tree, id, 1, 9)).data.toString('utf16le', 4), '\\taken');
	k.is('over a directory', await c.rename(tree, id, 'folder', { replace: true }), 'ACCESS_DENIED');
	const held = await file('held');
	k.is('over one that is open', await c.rename(tree, id, 'held', { replace: true }), 'ACCESS_DENIED');
	k.is('which is still there', await c.write(tree, held, 0, Buffer.from('x')), 'OK');
	await c.close(tree, held);
	await c.close(tree, await file('ro', { attributes: 1 }));
	k.is('a directory over a directory', await (async () => {
		const one = await file('one', { options: DIRECTORY });
		return c.rename(tree, one, 'folder', { replace: true });
	})(), 'ACCESS_DENIED');
	k.is('over a read-only one', await c.rename(tree, id, 'ro', { replace: true }), 'ACCESS_DENIED');
	k.is('case alone', await c.rename(tree, id, 'TAKEN'), 'OK');
	k.is('is it', (await c.queryInfo(tree, id, 1, 9)).data.toString('utf16le', 4), '\\TAKEN');
	k.is('into a directory', await c.rename(tree, id, 'folder\\inside'), 'OK');
	k.is('into one that is not there', await c.rename(tree, id, 'nowhere\\inside'), 'PATH_NOT_FOUND');
	k.is('a name that is none', await c.rename(tree, id, 'a*b'), 'NAME_INVALID');
	const dir = await file('tree', { options: DIRECTORY });
	await c.close(tree, await file('tree\\sub', { options: DIRECTORY }));
	k.is('into itself', await c.rename(tree, dir, 'tree\\sub\\tree'), 'INVALID_PARAMETER');
	const below = await file('tree\\below');
	k.is('with an open below', await c.rename(tree, dir, 'trees'), 'ACCESS_DENIED');
	await c.close(tree, below);
	k.is('without', await c.rename(tree, dir, 'trees'), 'OK');
	k.is('what was below', await c.create(tree, 'trees\\below', { disposition: OPEN }), 'OK');
	const root = await file('', { disposition: OPEN });
	k.is('the root', await c.rename(tree, root, 'r'), 'ACCESS_DENIED');
	const reader = await file('folder\\inside', { access: ACCESS.READ });
	k.is('without the right', await c.rename(tree, reader, 'x'), 'ACCESS_DENIED');
	const selfish = await file('selfish', { share: 3 });
	const mover = await c.create(tree, 'selfish', { access: ACCESS.DELETE });
	k.is('beside an open that does not share it, the open', mover, 'SHARING_VIOLATION');
	await c.close(tree, selfish);
	const text = Buffer.from('ok', 'utf16le');
	for (const [what, bend] of [['a root directory', (b) => b.writeUInt32LE(1, 8)], ['no name', (b) => b.writeUInt32LE(0, 16)], ['half a character', (b) => b.writeUInt32LE(3, 16)], ['a name behind the end', (b) => b.writeUInt32LE(6, 16)]]) {
		const data = Buffer.concat([Buffer.alloc(16), u32(4), text]);
		bend(data);
		k.is(what, await c.setInfo(tree, id, 10, data), 'INVALID_PARAMETER');
	}
	k.is('19 bytes', await c.setInfo(tree, id, 10, Buffer.alloc(19)), 'INVALID_PARAMETER');
	await c.end();
	k.done();
});

test('CHANGE_NOTIFY: filters, rooms, order', { timeout: 60_000 }, async () => {
	const k = new Checks();
	const { c, tree } = await client();
	await c.close(tree, (await c.create(tree, 'seen', { options: DIRECTORY })).id);
	const file = (await c.create(tree, 'seen\\f')).id;
	const basic = (attributes, creation = 0) => c.setInfo(tree, file, 4, Buffer.concat([u64(creation), Buffer.alloc(24), u32(attributes), u32(0)]));
	const acts = {
		'file name': [1, async () => c.close(tree, (await c.create(tree, 'seen\\new')).id), '1 new'],
		'directory name': [2, async () => c.close(tree, (await c.create(tree, 'seen\\dir', { options: DIRECTORY })).id), '1 dir'],
		attributes: [4, () => basic(2), '3 f'],
		size: [8, () => c.setInfo(tree, file, 20, u64(100)), '3 f'],
		'write time': [0x10, () => c.write(tree, file, 0, Buffer.from('x')), '3 f'],
		'creation time': [0x40, () => basic(0, 131000000000000000n), '3 f'],
		security: [0x100, () => c.request(COMMAND.SET_INFO, (() => {
			const data = Buffer.concat([Buffer.from([1, 0, 4, 0x80]), Buffer.alloc(12), u32(20), Buffer.from([2, 0, 8, 0, 0, 0, 0, 0])]);
			const b = Buffer.alloc(32);
			b.writeUInt16LE(33, 0);
			b[2] = 3;
			b.writeUInt32LE(data.length, 4);
			b.writeUInt16LE(96, 8);
			b.writeUInt32LE(4, 12);
			file.copy(b, 16);
			return Buffer.concat([b, data]);
		})(), { tree }), '3 f'],
	};
	const changes = ({ body }) => {
		const data = body.subarray(8, 8 + body.readUInt32LE(4));
		const list = [];
		for (let at = 0; data.length; at += data.readUInt32LE(at)) {
			list.push(`${data.readUInt32LE(at + 4)} ${data.toString('utf16le', at + 12, at + 12 + data.readUInt32LE(at + 8))}`);
			if (!data.readUInt32LE(at)) break;
		}
		return list.join('|');
	};
	const watch = async (filter, options) => {
		const dir = (await c.create(tree, 'seen', { access: ACCESS.READ, options: DIRECTORY })).id;
		const interim = new Promise((resolve) => (c.onInterim = resolve));
		const answer = c.request(COMMAND.CHANGE_NOTIFY, SmbClient.notifyBody(dir, filter, options), { tree });
		await Promise.race([interim, answer]);
		return { dir, answer };
	};
	for (const [what, [filter, act, want]] of Object.entries(acts)) {
		const one = await watch(filter);
		const rest = await watch(0x1ff & ~filter & ~(what === 'size' || what === 'write time' ? 0x3c : 0)); // a write is all of these
		k.is(`${what} done`, await act(), 'OK');
		const told = await one.answer;
		k.is(`${what} is told`, changes(told), want);
		k.is(`${what} at`, told.body.readUInt16LE(2), 0x48);
		await c.close(tree, one.dir);
		await c.close(tree, rest.dir);
		const other = await rest.answer;
		k.is(`${what} is told to nobody else`, other.status === 0 ? changes(other) : other, 'NOTIFY_CLEANUP');
	}
	const tiny = await watch(1, { room: 16 });
	await c.close(tree, (await c.create(tree, 'seen\\much-too-long-for-16-bytes')).id);
	const over = await tiny.answer;
	k.is('more than fits', over, 'NOTIFY_ENUM_DIR');
	k.is('and nothing else', over.body.readUInt32LE(4), 0);
	k.is('a file', await c.request(COMMAND.CHANGE_NOTIFY, SmbClient.notifyBody(file, 1), { tree }), 'INVALID_PARAMETER');
	const blind = (await c.create(tree, 'seen', { access: 0x80, options: DIRECTORY })).id;
	k.is('without the right', await c.request(COMMAND.CHANGE_NOTIFY, SmbClient.notifyBody(blind, 1), { tree }), 'ACCESS_DENIED');
	// Two requests on one handle: the first change is the first one's.
	const two = await watch(1);
	const second = c.request(COMMAND.CHANGE_NOTIFY, SmbClient.notifyBody(two.dir, 1), { tree });
	await c.close(tree, (await c.create(tree, 'seen\\one')).id);
	k.is('the first', changes(await two.answer), '1 one');
	await c.close(tree, (await c.create(tree, 'seen\\two')).id);
	k.is('the second', changes(await second), '1 two');
	// Between requests changes are collected; names below only if asked for.
	await c.close(tree, (await c.create(tree, 'seen\\three')).id);
	await c.close(tree, (await c.create(tree, 'seen\\dir\\four')).id);
	k.is('collected', changes(await c.request(COMMAND.CHANGE_NOTIFY, SmbClient.notifyBody(two.dir, 1), { tree })), '1 three');
	const deep = await watch(1, { tree: true });
	await c.close(tree, (await c.create(tree, 'seen\\dir\\five')).id);
	k.is('below', changes(await deep.answer), '1 dir\\five');
	await c.end();
	k.done();
});

// SPDX-License-Identifier: Apache-2.0
// What the clients of operating systems send when they mount a share and work on it, in their order: the Linux kernel's
// cifs, Windows with Explorer, macOS with Finder. They cannot run here; their requests can.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { after, before, test } from 'node:test';

import { freePort, startServer, WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY } from '../lib/server.mjs';
import { ACCESS, COMMAND, SHARE, SmbClient, STATUS } from '../lib/smb.mjs';

const LAST = Buffer.alloc(16, 0xff); // the open of the part before
const NO_MORE_FILES = 0x80000006;
const FS_DRIVER_REQUIRED = 0xc000019c;
const NOTIFY_CLEANUP = 0x10b;
const OPTION = { DIRECTORY: 1, FILE: 0x40, DELETE_ON_CLOSE: 0x1000 };
const ANY_ID = Buffer.alloc(16, 0xff);
let server;
let port;

before(async () => {
	port = await freePort();
	server = await startServer({ flags: ['--smbPort', String(port), '--create', 'share:mount'] });
});
after(async () => {
	await server.stop();
	await server.remove();
});

const hex = (status) => (status ?? 0).toString(16);
const good = (answer) => {
	assert.equal(hex(answer.status), '0');
	return answer;
};
const goodAll = (answers) => answers.map(good);

function queryInfo(id, type, infoClass, additional = 0) {
	const b = Buffer.alloc(40);
	b.writeUInt16LE(41, 0);
	b[2] = type;
	b[3] = infoClass;
	b.writeUInt32LE(4096, 4);
	b.writeUInt32LE(additional, 16);
	id.copy(b, 24);
	return b;
}

function queryDirectory(id, infoClass, pattern = '*', flags = 0) {
	const text = Buffer.from(pattern, 'utf16le');
	const b = Buffer.alloc(32);
	b.writeUInt16LE(33, 0);
	b[2] = infoClass;
	b[3] = flags;
	id.copy(b, 8);
	b.writeUInt16LE(96, 24);
	b.writeUInt16LE(text.length, 26);
	b.writeUInt32LE(65536, 28);
	return Buffer.concat([b, text]);
}

function setInfo(id, infoClass, data) {
	const b = Buffer.alloc(32);
	b.writeUInt16LE(33, 0);
	b[2] = 1;
	b[3] = infoClass;
	b.writeUInt32LE(data.length, 4);
	b.writeUInt16LE(96, 8);
	id.copy(b, 16);
	return Buffer.concat([b, data]);
}

function ioctl(code, id, input = Buffer.alloc(0), room = 4096) {
	const b = Buffer.alloc(56);
	b.writeUInt16LE(57, 0);
	b.writeUInt32LE(code, 4);
	id.copy(b, 8);
	b.writeUInt32LE(120, 24);
	b.writeUInt32LE(input.length, 28);
	b.writeUInt32LE(room, 44);
	b.writeUInt32LE(1, 48);
	return Buffer.concat([b, input.length ? input : Buffer.alloc(1)]);
}

const closeBody = (id) => SmbClient.fileBody(24, id);
const create = (name, options) => [COMMAND.CREATE, SmbClient.createBody(name, options)];
const close = () => [COMMAND.CLOSE, closeBody(LAST)];

function renameData(name) {
	const text = Buffer.from(name, 'utf16le');
	const b = Buffer.alloc(20);
	b.writeUInt32LE(text.length, 16);
	return Buffer.concat([b, text]);
}

function leaseContext(state) {
	const b = Buffer.alloc(52);
	crypto.randomBytes(16).copy(b, 0);
	b.writeUInt32LE(state, 16);
	return ['RqLs', b];
}

function durableContext() {
	const b = Buffer.alloc(32);
	crypto.randomBytes(16).copy(b, 16);
	return ['DH2Q', b];
}

// Names of an answer of QUERY_DIRECTORY; where the name and its length stand depends on the class.
const NAME_AT = { 37: 104, 38: 80 };
function names(answer, infoClass) {
	const data = answer.body.subarray(8);
	const all = [];
	for (let at = 0; ;) {
		const length = data.readUInt32LE(at + 60);
		all.push(data.toString('utf16le', at + NAME_AT[infoClass], at + NAME_AT[infoClass] + length));
		const next = data.readUInt32LE(at);
		if (!next) return all;
		at += next;
	}
}

// The requests of VALIDATE_NEGOTIATE_INFO must say what NEGOTIATE said.
function validateNegotiate(c, dialects) {
	const b = Buffer.alloc(24 + 2 * dialects.length);
	b.writeUInt32LE(0x7f, 0);
	c.guid.copy(b, 4);
	b.writeUInt16LE(1, 20);
	b.writeUInt16LE(dialects.length, 22);
	dialects.forEach((d, i) => b.writeUInt16LE(d, 24 + 2 * i));
	return ioctl(0x00140204, ANY_ID, b, 24);
}

async function treeDisconnect(c, tree) {
	good(await c.request(COMMAND.TREE_DISCONNECT, Buffer.from([4, 0, 0, 0]), { tree }));
}

for (const [name, dialects, encrypt] of [['vers=3.1.1', [0x311], false], ['vers=3.1.1,seal', [0x311], true], ['vers=3.0', [0x300], false], ['no vers', [0x210, 0x300, 0x302, 0x311], false]])
	test(`Linux cifs, ${name}`, async () => {
		const c = await SmbClient.connect(port);
		good(await c.negotiate({ dialects }));
		good(await c.login(WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY, { domain: '', encrypt }));
		const ipc = await c.treeConnect('IPC$');
		const tree = await c.treeConnect('mount');
		if (c.dialect < 0x311) {
			const answer = good(await c.request(COMMAND.IOCTL, validateNegotiate(c, dialects), { tree }));
			assert.equal(answer.body.readUInt16LE(48 + 22), c.dialect);
		}
		assert.equal(hex((await c.request(COMMAND.IOCTL, ioctl(0x00060194, ANY_ID, Buffer.from('\x04\0\\\0m\0\0\0', 'latin1')), { tree: ipc })).status), hex(FS_DRIVER_REQUIRED));
		// The root, what the share can do, and what kind of disk it is.
		const root = good(await c.create(tree, '', { access: ACCESS.READ_ATTRIBUTES, disposition: 1 }));
		// The address that was connected to: one entry of 152 bytes, padded to 160.
		const interfaces = good(await c.request(COMMAND.IOCTL, ioctl(0x001401fc, ANY_ID), { tree }));
		const entry = interfaces.body.subarray(48);
		assert.equal(interfaces.body.readUInt32LE(36), 160);
		assert.deepEqual([entry.readUInt32LE(0), entry.readUInt32LE(4), entry.readUInt32LE(8), entry.readUInt16LE(24)], [0, 1, 0, 2]);
		assert.deepEqual([...entry.subarray(28, 32)], [127, 0, 0, 1]);
		assert.equal(hex((await c.request(COMMAND.IOCTL, ioctl(0x001401fc, ANY_ID, undefined, 159), { tree })).status), hex(0xc0000023));
		assert.equal(hex((await c.request(COMMAND.IOCTL, ioctl(0x001401fc, root.id), { tree })).status), hex(0xc000000d));
		for (const fs of [5, 4, 1, 11]) good(await c.request(COMMAND.QUERY_INFO, queryInfo(root.id, 2, fs), { tree }));
		good(await c.close(tree, root.id));
		// stat of the root, and of a name that is not there: all parts fail alike.
		const stat = (path) => c.compound([create(path, { access: ACCESS.READ_ATTRIBUTES, disposition: 1 }), [COMMAND.QUERY_INFO, queryInfo(LAST, 1, 18)], close()], { tree });
		goodAll(await stat(''));
		const dir = `linux-${name}`.replace(/[^a-z0-9]/g, '-');
		for (const { status } of await stat(dir)) assert.equal(hex(status), hex(STATUS.NOT_FOUND));
		// mkdir, then a file with a lease; write, read, fsync, ftruncate.
		goodAll(await c.compound([create(dir, { access: 0x100, disposition: 2, options: OPTION.DIRECTORY }), close()], { tree }));
		const file = good(await c.create(tree, `${dir}\\file`, { access: 0xc0000000, disposition: 3, options: OPTION.FILE, oplock: 0xff, contexts: c.dialect >= 0x300 ? [leaseContext(7), durableContext()] : [leaseContext(7)] }));
		assert.equal(file.oplock, 0xff);
		assert.ok(file.body.indexOf('RqLs') > 0);
		const bytes = crypto.randomBytes(200_000);
		good(await c.write(tree, file.id, 0, bytes));
		good(await c.request(COMMAND.FLUSH, SmbClient.fileBody(24, file.id), { tree }));
		const size = Buffer.alloc(8);
		size.writeBigUInt64LE(150_000n);
		good(await c.setInfo(tree, file.id, 20, size));
		assert.ok(bytes.subarray(0, 150_000).equals(good(await c.read(tree, file.id, 0, 200_000)).data));
		good(await c.lock(tree, file.id, [[0, 100, 0x12]]));
		good(await c.lock(tree, file.id, [[0, 100, 4]]));
		good(await c.close(tree, file.id));
		// utimes: by path, in one message.
		const basic = Buffer.alloc(40);
		basic.writeBigUInt64LE(132000000000000000n, 16);
		goodAll(await c.compound([create(`${dir}\\file`, { access: 0x100, disposition: 1 }), [COMMAND.SET_INFO, setInfo(LAST, 4, basic)], close()], { tree }));
		const [, info] = goodAll(await stat(`${dir}\\file`));
		assert.equal(info.body.readBigUInt64LE(8 + 16), 132000000000000000n);
		assert.equal(info.body.readBigUInt64LE(8 + 48), 150_000n);
		// readdir, statfs.
		const [folder, page] = goodAll(await c.compound([create(dir, { access: 0x81, disposition: 1 }), [COMMAND.QUERY_DIRECTORY, queryDirectory(LAST, 38)]], { tree }));
		assert.deepEqual(names(page, 38), ['.', '..', 'file']);
		const id = Buffer.from(folder.body.subarray(64, 80));
		assert.equal(hex((await c.request(COMMAND.QUERY_DIRECTORY, queryDirectory(id, 38), { tree })).status), hex(NO_MORE_FILES));
		good(await c.close(tree, id));
		goodAll(await c.compound([create('', { access: ACCESS.READ_ATTRIBUTES, disposition: 1 }), [COMMAND.QUERY_INFO, queryInfo(LAST, 2, 7)], close()], { tree }));
		// rename, unlink, rmdir.
		goodAll(await c.compound([create(`${dir}\\file`, { access: ACCESS.DELETE, disposition: 1 }), [COMMAND.SET_INFO, setInfo(LAST, 10, renameData(`${dir}\\other`))], close()], { tree }));
		goodAll(await c.compound([create(`${dir}\\other`, { access: ACCESS.DELETE, disposition: 1, options: OPTION.DELETE_ON_CLOSE }), close()], { tree }));
		goodAll(await c.compound([create(dir, { access: ACCESS.DELETE, disposition: 1, options: OPTION.DIRECTORY | OPTION.DELETE_ON_CLOSE }), close()], { tree }));
		for (const { status } of await stat(dir)) assert.equal(hex(status), hex(STATUS.NOT_FOUND));
		good(await c.echo());
		await treeDisconnect(c, tree);
		await treeDisconnect(c, ipc);
		good(await c.request(COMMAND.LOGOFF, Buffer.from([4, 0, 0, 0])));
		await c.end();
	});

// The negotiation that Windows begins with while SMB1 is installed; the real one follows with message id 1.
async function negotiateFromSmb1(c) {
	const head = Buffer.alloc(35);
	head.write('\xffSMB\x72', 0, 'latin1');
	const dialects = Buffer.from('\x02NT LM 0.12\0\x02SMB 2.002\0\x02SMB 2.???\0', 'latin1');
	head.writeUInt16LE(dialects.length, 33);
	const answer = c.expect(0n);
	c.send(Buffer.concat([head, dialects]));
	assert.equal(good(await answer).body.readUInt16LE(4), 0x2ff);
	c.messageId = 1n;
}

for (const [name, dialects, encrypt] of [['3.1.1', [0x210, 0x300, 0x302, 0x311], false], ['3.1.1 encrypted', [0x210, 0x300, 0x302, 0x311], true], ['from SMB1 to 3.0.2', [0x210, 0x300, 0x302], false]])
	test(`Windows and Explorer, ${name}`, async () => {
		const c = await SmbClient.connect(port);
		if (name.startsWith('from SMB1')) await negotiateFromSmb1(c);
		good(await c.negotiate({ dialects }));
		good(await c.login(WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY, { domain: 'localhost', encrypt }));
		const ipc = await c.treeConnect('IPC$');
		const tree = await c.treeConnect('MOUNT'); // in any case
		const answersTo = [['MxAc', Buffer.alloc(0)], ['QFid', Buffer.alloc(0)]];
		const root = good(await c.create(tree, '', { access: 0x100081, disposition: 1, options: OPTION.DIRECTORY, contexts: answersTo }));
		assert.ok(root.body.indexOf('MxAc') > 0 && root.body.indexOf('QFid') > 0);
		for (const fs of [1, 5, 7]) good(await c.request(COMMAND.QUERY_INFO, queryInfo(root.id, 2, fs), { tree }));
		good(await c.request(COMMAND.QUERY_INFO, queryInfo(root.id, 1, 34), { tree }));
		if (c.dialect === 0x311) good(await c.request(COMMAND.QUERY_INFO, queryInfo(root.id, 1, 48), { tree }));
		// Explorer: what it looks for in every folder, and a watch on it.
		for (const probe of ['desktop.ini', 'AutoRun.inf', 'Thumbs.db']) assert.equal(hex((await c.create(tree, probe, { access: ACCESS.READ, disposition: 1 })).status), hex(STATUS.NOT_FOUND));
		const dir = `windows-${name}`.replace(/[^a-z0-9]/g, '-');
		const folder = good(await c.create(tree, dir, { access: 0x100081, disposition: 3, options: OPTION.DIRECTORY, contexts: answersTo }));
		const notify = Buffer.alloc(32);
		notify.writeUInt16LE(32, 0);
		notify.writeUInt32LE(4096, 4);
		folder.id.copy(notify, 8);
		notify.writeUInt32LE(0x17f, 24);
		const changed = c.request(COMMAND.CHANGE_NOTIFY, notify, { tree });
		// New > Text Document: a file with a lease and a durable handle.
		const file = good(await c.create(tree, `${dir}\\New.txt`, { access: 0x13019f, share: SHARE.READ, disposition: 2, oplock: 0xff, contexts: [durableContext(), ...answersTo, leaseContext(7)] }));
		assert.ok(file.body.indexOf('RqLs') > 0 && file.body.indexOf('DH2Q') > 0);
		const event = good(await changed);
		assert.match(event.body.toString('utf16le', 8), /New\.txt/);
		const unwatched = c.request(COMMAND.CHANGE_NOTIFY, notify, { tree });
		good(await c.write(tree, file.id, 0, Buffer.from('hello')));
		good(await c.request(COMMAND.QUERY_INFO, queryInfo(file.id, 1, 34), { tree }));
		// Properties: the security tab, previous versions, the id for link tracking, streams.
		const security = await c.request(COMMAND.QUERY_INFO, queryInfo(file.id, 3, 0, 7), { tree });
		assert.ok([0, 0xc0000023].includes(security.status), hex(security.status));
		good(await c.request(COMMAND.IOCTL, ioctl(0x00144064, file.id, undefined, 16), { tree }));
		await c.request(COMMAND.IOCTL, ioctl(0x000900c0, file.id), { tree });
		good(await c.request(COMMAND.QUERY_INFO, queryInfo(file.id, 1, 22), { tree }));
		good(await c.close(tree, file.id));
		// The folder's view: two pages asked for in one message.
		const view = good(await c.create(tree, dir, { access: 0x100081, disposition: 1, options: OPTION.DIRECTORY }));
		const [page, end] = await c.compound([[COMMAND.QUERY_DIRECTORY, queryDirectory(view.id, 37)], [COMMAND.QUERY_DIRECTORY, queryDirectory(LAST, 37)]], { tree });
		assert.deepEqual(names(good(page), 37), ['.', '..', 'New.txt']);
		assert.equal(hex(end.status), hex(NO_MORE_FILES));
		good(await c.close(tree, view.id));
		// Delete in Explorer: mark, close; then the folder, whose watch ends with its handle.
		const doomed = good(await c.create(tree, `${dir}\\New.txt`, { access: 0x10080, disposition: 1 }));
		good(await c.setDisposition(tree, doomed.id, true));
		good(await c.close(tree, doomed.id));
		await unwatched;
		const waiting = c.request(COMMAND.CHANGE_NOTIFY, notify, { tree });
		good(await c.close(tree, folder.id));
		assert.ok([NOTIFY_CLEANUP, 0].includes((await waiting).status));
		good(await c.close(tree, root.id));
		await treeDisconnect(c, tree);
		await treeDisconnect(c, ipc);
		good(await c.request(COMMAND.LOGOFF, Buffer.from([4, 0, 0, 0])));
		await c.end();
	});

for (const [name, dialects, encrypt] of [['3.0.2', [0x302], false], ['3.1.1 encrypted', [0x302, 0x311], true]])
	test(`macOS and Finder, ${name}`, async () => {
		const c = await SmbClient.connect(port);
		good(await c.negotiate({ dialects }));
		good(await c.login(WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY, { domain: '', encrypt }));
		const tree = await c.treeConnect('mount');
		if (c.dialect < 0x311) good(await c.request(COMMAND.IOCTL, validateNegotiate(c, dialects), { tree }));
		// AAPL asks for Apple's extensions; not to answer it says that there are none.
		const aapl = Buffer.alloc(24);
		aapl.writeUInt32LE(1, 0);
		aapl.writeBigUInt64LE(7n, 8);
		const root = good(await c.create(tree, '', { access: 0x120089, disposition: 1, contexts: [['AAPL', aapl]] }));
		assert.equal(root.body.indexOf('AAPL'), -1);
		for (const fs of [5, 7, 1]) good(await c.request(COMMAND.QUERY_INFO, queryInfo(root.id, 2, fs), { tree }));
		good(await c.close(tree, root.id));
		const stat = (path) => c.compound([create(path, { access: 0x100080, disposition: 1 }), [COMMAND.QUERY_INFO, queryInfo(LAST, 1, 18)], close()], { tree });
		goodAll(await stat(''));
		for (const probe of ['.DS_Store', '._.', '.metadata_never_index']) for (const { status } of await stat(probe)) assert.equal(hex(status), hex(STATUS.NOT_FOUND));
		// A file and its companion, for there are no named streams.
		const dir = `mac-${c.dialect}`;
		goodAll(await c.compound([create(dir, { access: 0x120089, disposition: 2, options: OPTION.DIRECTORY }), close()], { tree }));
		for (const file of ['Übersicht.txt', '._Übersicht.txt']) {
			const open = good(await c.create(tree, `${dir}\\${file}`, { access: 0x12019f, disposition: 5 }));
			good(await c.write(tree, open.id, 0, Buffer.from(file)));
			good(await c.close(tree, open.id));
		}
		const stream = await c.create(tree, `${dir}\\Übersicht.txt:AFP_AfpInfo`, { access: ACCESS.READ, disposition: 1 });
		assert.notEqual(stream.status, 0);
		const [folder, page] = goodAll(await c.compound([create(dir, { access: 0x120089, disposition: 1 }), [COMMAND.QUERY_DIRECTORY, queryDirectory(LAST, 37)]], { tree }));
		assert.deepEqual(names(page, 37).sort(), ['.', '..', '._Übersicht.txt', 'Übersicht.txt']);
		good(await c.close(tree, Buffer.from(folder.body.subarray(64, 80))));
		for (const file of ['Übersicht.txt', '._Übersicht.txt'])
			goodAll(await c.compound([create(`${dir}\\${file}`, { access: ACCESS.DELETE, disposition: 1, options: OPTION.DELETE_ON_CLOSE }), close()], { tree }));
		goodAll(await c.compound([create(dir, { access: ACCESS.DELETE, disposition: 1, options: OPTION.DELETE_ON_CLOSE }), close()], { tree }));
		await treeDisconnect(c, tree);
		good(await c.request(COMMAND.LOGOFF, Buffer.from([4, 0, 0, 0])));
		await c.end();
	});

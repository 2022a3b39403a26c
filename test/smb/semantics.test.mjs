// SPDX-License-Identifier: Apache-2.0
// What SMB clients rely on besides files: change notify and the end of a watched directory, CREATE sent again, sessions
// asked for on another connection, names that are spelled in other ways. Windows' answers, message by message.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { after, before, test } from 'node:test';

import { expectStatus } from '../lib/assert.mjs';
import { freePort, startServer } from '../lib/server.mjs';
import { Files, fileClient } from '../lib/file.mjs';
import { ACCESS, COMMAND, connected, SHARE, SIGNING, SmbClient, STATUS } from '../lib/smb.mjs';

const NAME_INVALID = 0xc0000033, PATH_SYNTAX_BAD = 0xc000003b, INTERNAL_ERROR = 0xc00000e5, FILE_NOT_AVAILABLE = 0xc0000467;
const DUPLICATE_OBJECTID = 0xc000022a, NOT_SUPPORTED = 0xc00000bb, REQUEST_NOT_ACCEPTED = 0xc00000d0, OUT_OF_SEQUENCE = 0xc000042a;
const FILTER = { FILE_NAME: 1, DIR_NAME: 2, ATTRIBUTES: 4, CREATION: 0x40 };
const DIRECTORY = 1;
const REPLAY = 0x20000000;
let server;
let port;

before(async () => {
	port = await freePort();
	server = await startServer({ flags: ['--smbPort', String(port), '--create', 'share:words'] });
});
after(async () => {
	await server.stop();
	await server.remove();
});

const client = (how = { dialects: [0x311] }) => connected(port, 'words', how);

const notify = (c, tree, id, filter, options) => c.request(COMMAND.CHANGE_NOTIFY, SmbClient.notifyBody(id, filter, options), { tree });

function changes({ body }) {
	const list = [];
	const data = body.subarray(8, 8 + body.readUInt32LE(4));
	for (let at = 0; data.length; ) {
		const next = data.readUInt32LE(at);
		list.push(`${data.readUInt32LE(at + 4)} ${data.subarray(at + 12, at + 12 + data.readUInt32LE(at + 8)).toString('utf16le')}`);
		if (!next) break;
		at += next;
	}
	return list;
}

async function made(c, tree, name, options = {}) {
	const open = await c.create(tree, name, { disposition: 3, ...options });
	assert.equal(open.status, 0);
	assert.equal((await c.close(tree, open.id)).status, 0);
}

function rename(c, tree, id, name) {
	const text = Buffer.from(name, 'utf16le');
	const data = Buffer.alloc(20 + text.length);
	data.writeUInt32LE(text.length, 16);
	text.copy(data, 20);
	return c.setInfo(tree, id, 10, data);
}

test('a directory marked for deletion: who watches it is told at once, and again until the mark is taken back', { timeout: 60_000 }, async () => {
	const { c, tree } = await client();
	const watched = await c.create(tree, 'doomed', { options: DIRECTORY });
	const waiting = notify(c, tree, watched.id, FILTER.FILE_NAME);
	const other = await c.create(tree, 'doomed', { options: DIRECTORY, disposition: 1 });
	assert.equal((await c.setDisposition(tree, other.id, true)).status, 0);
	assert.equal((await waiting).status, STATUS.DELETE_PENDING);
	assert.equal((await notify(c, tree, watched.id, FILTER.FILE_NAME)).status, STATUS.DELETE_PENDING);
	assert.equal((await c.setDisposition(tree, other.id, false)).status, 0);
	const again = notify(c, tree, watched.id, FILTER.FILE_NAME);
	await made(c, tree, 'doomed\\new');
	assert.deepEqual(changes(await again), ['1 new']);
	await c.end();
});

test('a directory that was marked before anybody asked: the first request is told at once', { timeout: 60_000 }, async () => {
	const { c, tree } = await client();
	const watched = await c.create(tree, 'marked', { options: DIRECTORY });
	const other = await c.create(tree, 'marked', { options: DIRECTORY, disposition: 1 });
	assert.equal((await c.setDisposition(tree, other.id, true)).status, 0);
	assert.equal((await notify(c, tree, watched.id, FILTER.FILE_NAME)).status, STATUS.DELETE_PENDING);
	await c.end();
});

test('what was collected is answered at once: a CANCEL behind the request comes too late', { timeout: 60_000 }, async () => {
	const { c, tree } = await client();
	const dir = await c.create(tree, 'collected', { options: DIRECTORY });
	const cancelled = notify(c, tree, dir.id, FILTER.FILE_NAME);
	const cancel = (messageId) => c.send(c.sign(Buffer.concat([c.header(COMMAND.CANCEL, { messageId }), Buffer.from([4, 0, 0, 0])])));
	cancel(c.messageId - 1n);
	assert.equal((await cancelled).status, STATUS.CANCELLED);
	await made(c, tree, 'collected\\a');
	await made(c, tree, 'collected\\b');
	const answered = notify(c, tree, dir.id, FILTER.FILE_NAME);
	cancel(c.messageId - 1n);
	assert.deepEqual(changes(await answered), ['1 a', '1 b']);
	await c.end();
});

test('filter and tree are those of the first request; a rename is names, or a change for those who watch no names', { timeout: 60_000 }, async () => {
	const { c, tree } = await client();
	const dir = await c.create(tree, 'renames', { options: DIRECTORY, access: ACCESS.READ });
	const names = await c.create(tree, 'renames', { options: DIRECTORY, disposition: 1, access: ACCESS.READ });
	await made(c, tree, 'renames\\below', { options: DIRECTORY });
	const first = notify(c, tree, dir.id, FILTER.ATTRIBUTES, { tree: true });
	const second = notify(c, tree, names.id, FILTER.FILE_NAME | FILTER.ATTRIBUTES | FILTER.CREATION, { tree: true });
	const file = await c.create(tree, 'renames\\below\\old');
	assert.equal((await rename(c, tree, file.id, 'renames\\new')).status, 0);
	assert.deepEqual(changes(await first), ['3 new']);
	assert.deepEqual(changes(await second), ['1 below\\old']);
	assert.deepEqual(changes(await notify(c, tree, names.id, FILTER.FILE_NAME)), ['2 below\\old', '1 new']);
	const later = notify(c, tree, dir.id, FILTER.FILE_NAME); // asked for names now: it is too late for that
	await made(c, tree, 'renames\\more');
	assert.equal((await rename(c, tree, file.id, 'renames\\last')).status, 0);
	assert.deepEqual(changes(await later), ['3 last']);
	await c.end();
});

test('a request that would wait in the middle of a chain is refused, and the chain goes on', { timeout: 60_000 }, async () => {
	const { c, tree } = await client();
	const same = Buffer.alloc(16, 0xff);
	const answers = await c.compound([[COMMAND.CREATE, SmbClient.createBody('chained', { options: DIRECTORY })],
		[COMMAND.CHANGE_NOTIFY, SmbClient.notifyBody(same, FILTER.FILE_NAME)], [COMMAND.CLOSE, SmbClient.fileBody(24, same)]], { tree });
	const statuses = answers.map((a) => a.status);
	assert.deepEqual(statuses, [0, INTERNAL_ERROR, 0]);
	await c.end();
});

function durable(guid) {
	const data = Buffer.alloc(32);
	guid.copy(data, 16);
	return { oplock: 9, contexts: [['DH2Q', data]] };
}

const createWith = (c, tree, name, options, flags) => c.request(COMMAND.CREATE, SmbClient.createBody(name, options), { tree, flags });

test('a CREATE sent again: the same open until it was used, a new one afterwards, refused while the first one waits', { timeout: 60_000 }, async () => {
	const { c, tree } = await client();
	const holder = await client();
	const guid = crypto.randomBytes(16);
	const idOf = (answer) => answer.body.subarray(64, 80).toString('hex');
	const first = await createWith(c, tree, 'again', durable(guid), 0);
	assert.equal(first.status, 0);
	const second = await createWith(c, tree, 'again', durable(guid), REPLAY);
	assert.equal(idOf(second), idOf(first));
	assert.equal((await createWith(c, tree, 'again', durable(guid), 0)).status, DUPLICATE_OBJECTID);
	assert.equal((await c.read(tree, Buffer.from(idOf(first), 'hex'), 0, 0)).status, 0);
	const third = createWith(c, tree, 'again', durable(guid), REPLAY);
	await c.nextBreak(); // of the first one's oplock
	await c.acknowledgeOplock(tree, Buffer.from(idOf(first), 'hex'), 1);
	assert.notEqual(idOf(await third), idOf(first));

	const held = await holder.c.create(holder.tree, 'held', { oplock: 9 });
	const waits = createWith(c, tree, 'held', durable(crypto.createHash('md5').update('held').digest()), 0);
	await holder.c.nextBreak();
	const same = durable(crypto.createHash('md5').update('held').digest());
	assert.equal((await createWith(c, tree, 'held', same, REPLAY)).status, FILE_NOT_AVAILABLE);
	assert.equal((await createWith(c, tree, 'held', same, 0)).status, DUPLICATE_OBJECTID);
	assert.equal((await holder.c.close(holder.tree, held.id)).status, 0);
	assert.equal((await waits).status, 0);
	await Promise.all([c.end(), holder.c.end()]);
});

// A SESSION_SETUP under the session of another connection, signed by that session's key or another one.
async function bind(from, how, { flags = 1, key = from.signKey } = {}) {
	const c = await SmbClient.connect(port);
	await c.negotiate(how);
	const body = Buffer.alloc(24 + 32);
	body.writeUInt16LE(25, 0);
	body[2] = flags;
	body[3] = 1;
	body.writeUInt16LE(88, 12);
	body.writeUInt16LE(32, 14);
	body.write('NTLMSSP\0\x01', 24, 'latin1');
	const part = Buffer.concat([c.header(COMMAND.SESSION_SETUP, { sessionId: from.sessionId }), body]);
	if (key) {
		[c.signKey, c.signing] = [key, from.signing];
		c.sign(part);
	}
	const answer = c.expect(c.messageId);
	c.send(part);
	const { status } = await answer;
	await c.end();
	return status;
}

test('a session asked for on another connection is refused, and lives on', { timeout: 60_000 }, async () => {
	const cmac = { dialects: [0x311], signing: SIGNING.AES_CMAC }, gmac = { dialects: [0x311], signing: SIGNING.AES_GMAC };
	const { c, tree } = await client(cmac);
	const other = await client(gmac);
	assert.equal(await bind(c, cmac), REQUEST_NOT_ACCEPTED);
	assert.equal(await bind(c, { dialects: [0x210] }), REQUEST_NOT_ACCEPTED);
	assert.equal(await bind(c, { dialects: [0x302] }), STATUS.INVALID_PARAMETER);
	assert.equal(await bind(c, { ...cmac, ciphers: [4] }), STATUS.INVALID_PARAMETER);
	assert.equal(await bind(c, gmac), NOT_SUPPORTED);
	assert.equal(await bind(other.c, cmac), OUT_OF_SEQUENCE);
	assert.equal(await bind(c, cmac, { key: null }), STATUS.INVALID_PARAMETER); // not signed at all
	assert.equal(await bind(c, cmac, { key: crypto.randomBytes(16) }), STATUS.ACCESS_DENIED); // signed by somebody else
	assert.equal(await bind(c, cmac, { flags: 0 }), STATUS.SESSION_DELETED);
	assert.equal(await bind({ sessionId: 12345n, signing: SIGNING.AES_CMAC, signKey: crypto.randomBytes(16) }, cmac), STATUS.SESSION_DELETED);
	for (const s of [{ c, tree }, other]) assert.equal((await s.c.create(s.tree, 'alive')).status, 0);
	await Promise.all([c.end(), other.c.end()]);
});

test('names: both slashes, dots that stay inside the share, no streams', { timeout: 60_000 }, async () => {
	const { c, tree } = await client();
	await made(c, tree, 'outer', { options: DIRECTORY });
	await made(c, tree, 'outer\\inner', { options: DIRECTORY });
	await made(c, tree, 'outer/inner/file');
	const opened = async (name) => {
		const open = await c.create(tree, name, { disposition: 1, access: ACCESS.READ_ATTRIBUTES, share: SHARE.ALL });
		if (open.status === 0) await c.close(tree, open.id);
		return open.status;
	};
	for (const name of ['outer\\inner\\file', 'outer\\inner\\..\\inner\\file', 'outer\\..\\outer/inner\\nothing\\..\\file', 'outer\\..']) assert.equal(await opened(name), 0, name);
	for (const name of ['..', 'outer\\..\\..', 'outer\\inner\\..\\..\\..\\outer']) assert.equal(await opened(name), PATH_SYNTAX_BAD, name);
	for (const name of ['outer:stream', 'outer\\inner\\file::$DATA', 'outer\\inner\\file:s:$DATA']) assert.equal(await opened(name), NAME_INVALID, name);
	for (const name of ['\\outer', '/outer']) assert.equal(await opened(name), STATUS.INVALID_PARAMETER, name);
	await c.end();
});

test('a rename that would bring something under more than 250 levels is refused, as over REST', { timeout: 60_000 }, async () => {
	const { c, tree } = await client(), chain = (name, count) => Array(count).fill(name).join('\\');
	for (let i = 1; i <= 150; i++) await made(c, tree, chain('a', i), { options: DIRECTORY });
	for (let i = 1; i <= 101; i++) await made(c, tree, chain('b', i), { options: DIRECTORY });
	const moved = await c.create(tree, 'b', { options: DIRECTORY, disposition: 1, access: ACCESS.DELETE });
	assert.equal(moved.status, 0);
	assert.equal((await rename(c, tree, moved.id, `${chain('a', 150)}\\b`)).status, NAME_INVALID);
	assert.equal((await rename(c, tree, moved.id, `${chain('a', 149)}\\c`)).status, 0);
	assert.equal((await c.close(tree, moved.id)).status, 0);
	const deepest = await c.create(tree, `${chain('a', 149)}\\c\\${chain('b', 100)}`, { options: DIRECTORY, disposition: 1 });
	assert.equal(deepest.status, 0);
	assert.equal((await c.close(tree, deepest.id)).status, 0);
});

test('handles closed by force over REST: whoever watches is told of every file that goes with them', { timeout: 60_000 }, async () => {
	const { c, tree } = await client(), COUNT = 12, DELETE_ON_CLOSE = 0x1000;
	await made(c, tree, 'forced', { options: DIRECTORY });
	await made(c, tree, 'forced\\below', { options: DIRECTORY });
	const watched = await c.create(tree, 'forced', { options: DIRECTORY, access: ACCESS.READ });
	const first = notify(c, tree, watched.id, FILTER.FILE_NAME, { tree: true });
	for (let i = 0; i < COUNT; i++) assert.equal((await c.create(tree, `forced\\below\\f${i}`, { disposition: 2, options: DELETE_ON_CLOSE, access: ACCESS.DELETE })).status, 0);
	const told = changes(await first);
	while (told.length < COUNT) told.push(...changes(await notify(c, tree, watched.id, FILTER.FILE_NAME)));
	assert.deepEqual(told.sort(), Array.from({ length: COUNT }, (_, i) => `1 below\\f${i}`).sort());
	const files = new Files(fileClient(server));
	const r = expectStatus(await files.dir('PUT', '/words/forced/below', 'forceclosehandles', { headers: { 'x-ms-handle-id': '*', 'x-ms-recursive': 'true' } }), 200);
	assert.equal(r.headers['x-ms-number-of-handles-closed'], String(COUNT));
	assert.deepEqual(await files.names('/words/forced/below'), []);
	const gone = [];
	while (gone.length < COUNT) gone.push(...changes(await notify(c, tree, watched.id, FILTER.FILE_NAME)));
	assert.deepEqual(gone.sort(), Array.from({ length: COUNT }, (_, i) => `2 below\\f${i}`).sort());
});

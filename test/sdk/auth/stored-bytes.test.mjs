// SPDX-License-Identifier: Apache-2.0
// Quotas of stored bytes: a container's is exact, also for writers that race for the last bytes and over restarts; an account's may lag.
// Deletes always work. What was there before the quota counts.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { expectError, expectStatus } from '../../lib/assert.mjs';
import { Client } from '../../lib/http.mjs';
import { freePort, removeDir, startServer, tempDir } from '../../lib/server.mjs';
import { SmbClient, STATUS } from '../../lib/smb.mjs';

const key = Buffer.alloc(64, 9).toString('base64');
const MIB = 1 << 20;
const blockBlob = { 'x-ms-blob-type': 'BlockBlob' };
let dir, server, smbPort;
const client = (account = 'one', service = 'blob') => new Client(server, { account, key, service });
const put = (c, name, bytes) => c.put(`/${name}`, { body: Buffer.alloc(bytes, 7), headers: blockBlob });

async function eventually(what, holds, seconds = 20) {
	for (const end = Date.now() + seconds * 1000; !(await holds()); await sleep(50)) assert.ok(Date.now() < end, `never came: ${what}`);
}

async function setLimits(text) {
	fs.writeFileSync(`${dir}/limits`, text);
	const said = server.stderr.length;
	process.kill(server.pid, 'SIGHUP');
	await eventually('limits are read', () => /limits of accounts were read again/.test(server.stderr.slice(said)));
}

before(async () => {
	dir = tempDir();
	fs.writeFileSync(`${dir}/limits`, 'one/small stored-bytes 1MiB\none/queue stored-bytes 10KiB\none/table stored-bytes 10KiB\none/share stored-bytes 1MiB\nall stored-bytes 2MiB\n');
	smbPort = await freePort();
	server = await startServer({ flags: ['--accountLimits', `${dir}/limits`, '--debug', '--smbPort', String(smbPort)], env: { ZAFFRE_ACCOUNTS: `one:${key};all:${key}` } });
	for (const name of ['small', 'free', 'later']) expectStatus(await client().put(`/${name}`, { query: { restype: 'container' } }), 201);
});
after(async () => {
	await server?.remove();
	removeDir(dir);
});

const listed = async (c, container) => [...(await c.get(`/${container}`, { query: { restype: 'container', comp: 'list' } })).text.matchAll(/<Content-Length>(\d+)</g)].reduce((sum, [, n]) => sum + Number(n), 0);

test('racing writers never pass the quota, and use it up', async () => {
	let done = 0;
	const results = await Promise.all(Array.from({ length: 64 }, async (_, i) => {
		const r = await put(client(), `small/b${i}`, 32 * 1024);
		if (r.status === 201) done++;
		else expectError(r, 507, 'InsufficientStorage');
		return r.status;
	}));
	const bytes = await listed(client(), 'small');
	assert.equal(bytes, done * 32 * 1024);
	assert.ok(bytes <= MIB && bytes > MIB - 3 * 32 * 1024, `${bytes} stored, ${results.filter((s) => s === 507).length} refused`);
	expectStatus(await put(client(), 'free/b', 2 * MIB), 201); // another container has no quota
});

test('over a restart it is the same; deletes work and make room, replacing counts the difference', async () => {
	expectError(await put(client(), 'small/more', 32 * 1024), 507, 'InsufficientStorage');
	await server.kill9();
	await server.start();
	expectError(await put(client(), 'small/more', 32 * 1024), 507, 'InsufficientStorage');
	const name = 'small/b' + /<Name>b(\d+)</.exec((await client().get('/small', { query: { restype: 'container', comp: 'list' } })).text)[1];
	expectStatus(await put(client(), name, 30 * 1024), 201); // smaller than what is there
	expectError(await put(client(), name, 200 * 1024), 507, 'InsufficientStorage');
	expectStatus(await client().request('DELETE', `/${name}`), 202);
	expectStatus(await put(client(), 'small/more', 30 * 1024), 201);
});

const id = (i) => Buffer.from(`block${i}`).toString('base64');
const putBlock = (name, i, bytes) => client().put(`/${name}`, { query: { comp: 'block', blockid: id(i) }, body: Buffer.alloc(bytes, i) });
const putList = (name, ids) => client().put(`/${name}`, { query: { comp: 'blocklist' }, body: `<BlockList>${ids.map((i) => `<Latest>${id(i)}</Latest>`).join('')}</BlockList>` });

test('blocks count when they are put, and not again when they are committed', async () => {
	expectStatus(await client().put('/small2', { query: { restype: 'container' } }), 201);
	await setLimits('one/small2 stored-bytes 1MiB\n');
	for (let i = 0; i < 3; i++) expectStatus(await putBlock('small2/b', i, 300 * 1024), 201);
	expectError(await putBlock('small2/b', 3, 300 * 1024), 507, 'InsufficientStorage');
	expectError(await putBlock('small2/other', 0, 300 * 1024), 507, 'InsufficientStorage');
	expectError(await put(client(), 'small2/c', 300 * 1024), 507, 'InsufficientStorage');
	expectStatus(await putBlock('small2/b', 1, 100 * 1024), 201); // in the place of a longer one
	expectStatus(await putBlock('small2/b', 1, 300 * 1024), 201);
	expectStatus(await putList('small2/b', [0, 1, 2]), 201); // at this moment there is no room for them twice
	assert.equal(await listed(client(), 'small2'), 900 * 1024);
	expectError(await putBlock('small2/b', 3, 300 * 1024), 507, 'InsufficientStorage');
	expectStatus(await putList('small2/b', [0]), 201); // the others go, and make room
	expectStatus(await putBlock('small2/b', 3, 600 * 1024), 201);
	expectError(await put(client(), 'small2/c', 300 * 1024), 507, 'InsufficientStorage');
});

test('uncommitted blocks count over a restart, and no more once they are thrown away', async () => {
	await server.kill9();
	await server.start();
	expectError(await put(client(), 'small2/c', 300 * 1024), 507, 'InsufficientStorage');
	expectStatus(await put(client(), 'small2/b', 10), 201); // a whole blob in the place of the list: its blocks go
	expectStatus(await put(client(), 'small2/c', 900 * 1024), 201);
	expectError(await putBlock('small2/d', 0, 200 * 1024), 507, 'InsufficientStorage');
	expectStatus(await client().request('DELETE', '/small2/c'), 202);
	expectStatus(await putBlock('small2/d', 0, 900 * 1024), 201);
	expectError(await put(client(), 'small2/c', 300 * 1024), 507, 'InsufficientStorage');
	expectStatus(await client().request('DELETE', '/small2/d'), 202); // nothing but uncommitted blocks
	expectStatus(await put(client(), 'small2/c', 900 * 1024), 201);
});

// Blocks of one blob by racing clients, into a quota for half of them.
test('racing blocks never pass the quota', async () => {
	expectStatus(await client().put('/small3', { query: { restype: 'container' } }), 201);
	await setLimits('one/small3 stored-bytes 1MiB\n');
	const statuses = await Promise.all(Array.from({ length: 64 }, (_, i) => putBlock('small3/b', 10 + i, 32 * 1024).then((r) => r.status)));
	const done = statuses.filter((status) => status === 201).length;
	assert.equal(done + statuses.filter((status) => status === 507).length, 64, statuses.join(' '));
	assert.ok(done === 31 || done === 32, `${done} of 32 KiB in 1 MiB`);
	const there = await client().get('/small3/b', { query: { comp: 'blocklist', blocklisttype: 'uncommitted' } });
	assert.equal(there.text.match(/<Block>/g).length, done);
});

test('what was there before the quota counts, and the quota can be lifted', async () => {
	for (let i = 0; i < 3; i++) expectStatus(await put(client(), `later/b${i}`, 100 * 1024), 201);
	await setLimits('one/later stored-bytes 320KiB\n');
	expectError(await put(client(), 'later/c', 100 * 1024), 507, 'InsufficientStorage');
	expectStatus(await put(client(), 'later/d', 1024), 201);
	await setLimits('one/later stored-bytes 1GiB\n');
	expectStatus(await put(client(), 'later/c', 100 * 1024), 201);
	await setLimits('one/later stored-bytes 100KiB\n'); // less than there is: only deletes pass
	expectError(await put(client(), 'later/e', 10), 507, 'InsufficientStorage');
	expectStatus(await client().request('DELETE', '/later/b0'), 202);
});

test('queues, tables and shares', async () => {
	await setLimits('one/queue stored-bytes 10KiB\none/table stored-bytes 10KiB\none/share stored-bytes 1MiB\n');
	const queue = client('one', 'queue');
	expectStatus(await queue.put('/queue'), 201);
	const statuses = [];
	for (let i = 0; i < 6; i++) statuses.push((await queue.post('/queue/messages', { body: `<QueueMessage><MessageText>${'x'.repeat(3000)}</MessageText></QueueMessage>` })).status);
	assert.deepEqual(statuses, [201, 201, 201, 507, 507, 507]);
	expectStatus(await queue.request('DELETE', '/queue/messages'), 204);
	const table = client('one', 'table');
	const json = { 'content-type': 'application/json', accept: 'application/json;odata=nometadata' };
	expectStatus(await table.post('/Tables', { body: JSON.stringify({ TableName: 'table' }), headers: json }), 201);
	const insert = (i) => table.post('/table', { body: JSON.stringify({ PartitionKey: 'p', RowKey: String(i), text: 'x'.repeat(4000) }), headers: json });
	assert.deepEqual([(await insert(0)).status, (await insert(1)).status, (await insert(2)).status], [201, 201, 507]);
	const file = client('one', 'file');
	expectStatus(await file.put('/share', { query: { restype: 'share' } }), 201);
	expectStatus(await file.put('/share/f', { headers: { 'x-ms-type': 'file', 'x-ms-content-length': MIB / 2 } }), 201);
	expectError(await file.put('/share/g', { headers: { 'x-ms-type': 'file', 'x-ms-content-length': MIB } }), 507, 'InsufficientStorage');
});

// A file weighs its length, as REST's do: writing in it is free, making it longer is not.
test('a share over SMB: up to the quota, then STATUS_DISK_FULL; deletes work and make room', async () => {
	await setLimits('one/disk stored-bytes 1MiB\n');
	expectStatus(await client('one', 'file').put('/disk', { query: { restype: 'share' } }), 201);
	const c = await SmbClient.connect(smbPort);
	await c.negotiate();
	assert.equal((await c.login('one', key)).status, STATUS.OK);
	const tree = await c.treeConnect('disk');
	const open = async (name) => {
		const r = await c.create(tree, name);
		assert.equal(r.status, STATUS.OK, r.status?.toString(16));
		return r.id;
	};
	const first = await open('first');
	const part = Buffer.alloc(64 * 1024, 7);
	const statuses = [];
	for (let i = 0; i < 24; i++) statuses.push((await c.write(tree, first, i * part.length, part)).status);
	const full = statuses.indexOf(STATUS.DISK_FULL);
	// Names and records weigh a little: the last of the 16 parts may not fit.
	assert.ok(full === 15 || full === 16, `full after ${full} parts: ${statuses.map((s) => s.toString(16))}`);
	assert.ok(statuses.slice(full).every((s) => s === STATUS.DISK_FULL), 'full stays full');
	assert.equal((await c.write(tree, first, 0, part)).status, STATUS.OK); // what is there may be written again
	assert.deepEqual((await c.read(tree, first, 0, part.length)).data, part);
	const longer = Buffer.alloc(8);
	longer.writeBigUInt64LE(BigInt(8 * MIB));
	assert.equal((await c.setInfo(tree, first, 20, longer)).status, STATUS.DISK_FULL); // FileEndOfFileInformation
	expectError(await client('one', 'file').put('/disk/rest', { headers: { 'x-ms-type': 'file', 'x-ms-content-length': MIB / 2 } }), 507, 'InsufficientStorage');
	assert.equal((await c.setDisposition(tree, first, true)).status, STATUS.OK);
	assert.equal((await c.close(tree, first)).status, STATUS.OK);
	const second = await open('second');
	assert.equal((await c.write(tree, second, 0, part)).status, STATUS.OK);
	c.socket.destroy();
});

test('an account as a whole', async () => {
	await setLimits('all stored-bytes 2MiB\n');
	const c = client('all');
	for (const name of ['aaa', 'bbb']) expectStatus(await c.put(`/${name}`, { query: { restype: 'container' } }), 201);
	for (const name of ['aaa', 'bbb']) expectStatus(await put(c, `${name}/x`, MIB), 201);
	await eventually('it is added up', async () => (await put(c, 'aaa/y', 1000)).status === 507);
	expectStatus(await c.get('/aaa/x'), 200);
	expectStatus(await c.request('DELETE', '/bbb/x'), 202);
	await eventually('there is room', async () => (await put(c, 'aaa/y', 1000)).status === 201);
});

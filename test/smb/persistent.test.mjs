// SPDX-License-Identifier: Apache-2.0
// Persistent handles: an SMB open that outlives a kill -9 of the server. It denies before the first new client is served,
// comes back with its locks, and ends by its time.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { after, before, test } from 'node:test';

import { ShareServiceClient } from '@azure/storage-file-share';

import { freePort, startServer, WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY } from '../lib/server.mjs';
import { connected, SHARE, SmbClient } from '../lib/smb.mjs';

const FILE_NOT_AVAILABLE = 0xc0000467;
const OBJECT_NAME_NOT_FOUND = 0xc0000034;
let server;
let port;

before(async () => {
	port = await freePort();
	server = await startServer({ flags: ['--smbPort', String(port), '--smbPersistentHandles', '--create', 'share:always'] });
});
after(async () => {
	await server.stop();
	await server.remove();
});

const client = () => connected(port, 'always', { dialects: [0x300] });

// A new client object each time: no connection of before the kill is left in it. It does not try again by itself.
function file(name) {
	const service = ShareServiceClient.fromConnectionString(server.connectionString, { retryOptions: { maxTries: 1 } });
	return service.getShareClient('always').rootDirectoryClient.getFileClient(name);
}

async function get(name) {
	try {
		return (await file(name).downloadToBuffer()).toString();
	} catch (error) {
		return `${error.statusCode} ${error.code ?? error.details?.errorCode}`;
	}
}

function persistentRequest(guid, timeoutMs) {
	const data = Buffer.alloc(32);
	data.writeUInt32LE(timeoutMs, 0);
	data.writeUInt32LE(2, 4);
	guid.copy(data, 16);
	return ['DH2Q', data];
}

function reconnectRequest(id, guid) {
	const flags = Buffer.alloc(4);
	flags.writeUInt32LE(2);
	return ['DH2C', Buffer.concat([id, guid, flags])];
}

async function openPersistent(c, tree, name, timeoutMs) {
	const guid = crypto.randomBytes(16);
	const open = await c.create(tree, name, { share: SHARE.NONE, contexts: [persistentRequest(guid, timeoutMs)] });
	assert.equal(open.status, 0);
	const granted = open.body.indexOf('DH2Q');
	assert.ok(granted > 0, 'the open is not durable');
	assert.equal(open.body.readUInt32LE(granted + 8 + 4) & 2, 2, 'the open is not persistent');
	return { id: open.id, guid };
}

test('a persistent handle survives kill -9, denies at once, and comes back with its lock', { timeout: 120_000 }, async () => {
	const { c, tree } = await client();
	const open = await openPersistent(c, tree, 'kept', 60_000);
	assert.equal((await c.write(tree, open.id, 0, Buffer.from('before'))).status, 0);
	assert.equal((await c.lock(tree, open.id, [[0, 4, 0x12]])).status, 0);
	const plain = await c.create(tree, 'plain', { share: SHARE.NONE });
	assert.equal((await c.write(tree, plain.id, 0, Buffer.from('plain'))).status, 0);
	await server.kill9();
	await c.end();
	await server.restart();
	assert.equal(await get('kept'), '409 SharingViolation');
	assert.equal(await get('plain'), 'plain'); // that one ended with the server
	const second = await client();
	assert.equal((await second.c.create(second.tree, 'kept', { share: SHARE.ALL })).status, FILE_NOT_AVAILABLE);
	// Not everybody can have it: the guid must be known.
	const wrong = await second.c.create(second.tree, 'kept', { contexts: [reconnectRequest(open.id, crypto.randomBytes(16))] });
	assert.equal(wrong.status, OBJECT_NAME_NOT_FOUND);
	const back = await second.c.create(second.tree, 'kept', { contexts: [reconnectRequest(open.id, open.guid)] });
	assert.equal(back.status, 0);
	assert.equal((await second.c.write(second.tree, back.id, 0, Buffer.from('after!'))).status, 0);
	assert.equal((await second.c.lock(second.tree, back.id, [[0, 4, 4]])).status, 0); // its lock was still there
	assert.equal(await get('kept'), '409 SharingViolation');
	assert.equal((await second.c.close(second.tree, back.id)).status, 0);
	assert.equal(await get('kept'), 'after!');
	await second.c.end();
});

test('a persistent handle whose client stays away ends by its time', { timeout: 120_000 }, async () => {
	const { c, tree } = await client();
	const open = await openPersistent(c, tree, 'timed', 5_000);
	assert.equal((await c.write(tree, open.id, 0, Buffer.from('timed'))).status, 0);
	await server.kill9();
	await c.end();
	await server.restart();
	assert.equal(await get('timed'), '409 SharingViolation');
	const began = Date.now();
	let got;
	do {
		await new Promise((resolve) => setTimeout(resolve, 200));
		got = await get('timed');
	} while (got !== 'timed' && Date.now() - began < 60_000);
	assert.equal(got, 'timed');
	const late = await client();
	const back = await late.c.create(late.tree, 'timed', { contexts: [reconnectRequest(open.id, open.guid)] });
	assert.equal(back.status, OBJECT_NAME_NOT_FOUND);
	await late.c.end();
});

// The server's setting is the rule, a share's metadata the exception; what was connected before keeps what it was told.
test('continuous availability is a setting of a share', { timeout: 120_000 }, async () => {
	const CONTINUOUS = 0x10;
	const shares = ShareServiceClient.fromConnectionString(server.connectionString);
	async function seen(dialect, name) {
		const c = await SmbClient.connect(port);
		await c.negotiate({ dialects: [dialect] });
		assert.equal((await c.login(WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY)).status, 0);
		const tree = await c.treeConnect(name);
		const continuous = Boolean(c.treeCapabilities & CONTINUOUS);
		const open = await c.create(tree, 'f', { contexts: [persistentRequest(crypto.randomBytes(16), 60_000)] });
		assert.equal(open.status, 0);
		const granted = open.body.indexOf('DH2Q');
		const persistent = granted > 0 && (open.body.readUInt32LE(granted + 8 + 4) & 2) === 2;
		assert.equal(persistent, continuous, 'what the tree promises, the open has');
		assert.equal((await c.close(tree, open.id)).status, 0);
		await c.end();
		return continuous;
	}
	await shares.getShareClient('some').create({ metadata: { smbcontinuousavailability: 'off' } });
	for (const dialect of [0x300, 0x302, 0x311]) {
		assert.equal(await seen(dialect, 'always'), true);
		assert.equal(await seen(dialect, 'some'), false);
	}
	assert.equal(await seen(0x210, 'always'), false); // 2.1 has none
	await server.stop();
	await server.restart({ flags: ['--smbPort', String(port)] });
	assert.equal(await seen(0x300, 'always'), false);
	const again = ShareServiceClient.fromConnectionString(server.connectionString);
	await again.getShareClient('some').setMetadata({ smbContinuousAvailability: 'on' });
	assert.equal(await seen(0x300, 'some'), true);
	assert.equal(await seen(0x311, 'some'), true);
});

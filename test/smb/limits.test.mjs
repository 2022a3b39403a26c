// SPDX-License-Identifier: Apache-2.0
// What one client may have at once, and how long it may be silent: sessions, shares, opens and locks of a file, requests
// that wait; a message that does not end, a login that does not come, answers that are not taken. Beyond each limit the
// client is refused or its connection closed, and others are served meanwhile.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { freePort, startServer } from '../lib/server.mjs';
import { COMMAND, connected, SmbClient, STATUS } from '../lib/smb.mjs';

const SESSIONS = 64, TREES = 1024, WAITING = 512, OPENS_OF_A_FILE = 2000, LOCKS_OF_A_FILE = 8192, LOCKS_OF_AN_OPEN = 1024;
const NEGOTIATE_MS = 15_000, SETUP_MS = 45_000, MESSAGE_MS = 30_000, WRITE_MS = 30_000, STEP_MS = 5_000; // a timer looks every so often
const SLACK_MS = 15_000;
let server, port;

before(async () => {
	port = await freePort();
	server = await startServer({ flags: ['--smbPort', String(port), '--create', 'share:limits'] });
});
after(async () => {
	await server.stop();
	await server.remove();
});

const client = () => connected(port, 'limits', { dialects: [0x302] });

async function others() {
	const { c, tree } = await client();
	const opened = await c.create(tree, 'others');
	assert.equal((await c.write(tree, opened.id, 0, Buffer.from('served'))).status, 0);
	await c.end();
}

test('sessions of a connection', { timeout: 60_000 }, async () => {
	const c = await SmbClient.connect(port);
	await c.negotiate({ dialects: [0x302] });
	const first = Buffer.alloc(32);
	first.write('NTLMSSP\0\x01', 0, 'latin1');
	first.writeUInt32LE(0x20088205, 12);
	for (let i = 0; i < SESSIONS; i++) assert.equal((await c.sessionSetup(first, { sessionId: 0n })).status, STATUS.MORE, `${i}`);
	assert.equal((await c.sessionSetup(first, { sessionId: 0n })).status, STATUS.INSUFFICIENT_RESOURCES);
	await c.end();
	await others();
});

test('shares of a session', { timeout: 60_000 }, async () => {
	const { c } = await client();
	for (let i = 1; i < TREES; i++) await c.treeConnect('limits');
	await assert.rejects(c.treeConnect('limits'), /c000009a/);
	assert.equal((await c.echo()).status, 0);
	await c.end();
	await others();
});

// The service's own number; what it says then is what its clients know as "not enough quota" (error 1816, EDQUOT).
test('opens of a file', { timeout: 120_000 }, async () => {
	const { c, tree } = await client();
	await c.echo({ credits: 512 });
	const lease = (i) => {
		const data = Buffer.alloc(32);
		data.writeUInt32LE(i + 1, 0);
		data.writeUInt32LE(3, 16); // read and handle
		return { oplock: 0xff, contexts: [['RqLs', data]] };
	};
	const ids = [];
	for (let i = 0; i < OPENS_OF_A_FILE; i += 50)
		for (const opened of await Promise.all(Array.from({ length: 50 }, (_, k) => c.create(tree, 'often', lease(i + k))))) {
			assert.equal(opened.status, 0);
			ids.push(opened.id);
		}
	assert.equal((await c.create(tree, 'often')).status, STATUS.QUOTA_EXCEEDED);
	await others();
	assert.equal((await c.close(tree, ids.pop())).status, 0);
	assert.equal((await c.create(tree, 'often')).status, 0);
	await c.end();
	await others();
});

test('locks of a file', { timeout: 60_000 }, async () => {
	const { c, tree } = await client();
	const opened = await Promise.all(Array.from({ length: LOCKS_OF_A_FILE / LOCKS_OF_AN_OPEN + 1 }, () => c.create(tree, 'locked')));
	const ranges = (from, count) => Array.from({ length: count }, (_, k) => [from + k, 1, 0x12]);
	const lock = async (i, from, count) => (await c.lock(tree, opened[i].id, ranges(from, count))).status;
	for (let i = 0; i < opened.length - 1; i++) {
		assert.equal(await lock(i, i * LOCKS_OF_AN_OPEN, LOCKS_OF_AN_OPEN), 0);
		assert.equal(await lock(i, 1e6, 1), STATUS.INSUFFICIENT_RESOURCES, 'more of an open');
	}
	assert.equal(await lock(opened.length - 1, 1e6, 1), STATUS.INSUFFICIENT_RESOURCES, 'more of the file');
	await others();
	assert.equal((await c.close(tree, opened[0].id)).status, 0);
	assert.equal(await lock(opened.length - 1, 1e6, 1), 0);
	await c.end();
	await others();
});

test('requests that wait', { timeout: 60_000 }, async () => {
	const { c, tree } = await client();
	const holder = await c.create(tree, 'waited for');
	const waiter = await c.create(tree, 'waited for');
	assert.equal((await c.lock(tree, holder.id, [[0, 1, 0x12]])).status, 0);
	await c.echo({ credits: 2000 });
	const waiting = Array.from({ length: WAITING }, () => c.lock(tree, waiter.id, [[0, 1, 1]]));
	assert.equal((await c.lock(tree, waiter.id, [[0, 1, 1]])).status, STATUS.INSUFFICIENT_RESOURCES);
	assert.equal(c.interims.length, WAITING);
	assert.equal((await c.lock(tree, holder.id, [[0, 1, 4]])).status, 0);
	for (const { status } of await Promise.all(waiting)) assert.equal(status, 0);
	await c.end();
	await others();
});

test('peers that are slow or silent are closed in time', { timeout: 120_000 }, async () => {
	const began = Date.now();
	const took = async (c) => {
		await c.ended;
		return Date.now() - began;
	};
	const silent = await SmbClient.connect(port);
	const half = await SmbClient.connect(port);
	await half.negotiate();
	const cut = await client();
	cut.c.sendRaw(Buffer.concat([Buffer.from([0, 0, 16, 0]), cut.c.header(COMMAND.ECHO)])); // 4,096 bytes said, 64 sent
	const deaf = await client();
	const file = await deaf.c.create(deaf.tree, 'large');
	await deaf.c.echo({ credits: 600 });
	for (let i = 0; i < 8; i++) await deaf.c.write(deaf.tree, file.id, i << 20, Buffer.alloc(1 << 20, i));
	await deaf.c.echo({ credits: 600 });
	deaf.c.socket.pause(); // answers pile up in the kernel, then at the server
	for (let i = 0; i < 24; i++) deaf.c.read(deaf.tree, file.id, 0, 1 << 20);
	const busy = await client();
	const [a, b, d, e] = await Promise.all([took(silent), took(half), took(cut.c), (async () => {
		// A socket that is paused hears of nothing: its opens tell.
		for (;;) {
			const { status } = await busy.c.create(busy.tree, 'large', { disposition: 1, share: 0 });
			if (status === 0) return Date.now() - began;
			assert.equal(status, STATUS.SHARING_VIOLATION);
			await new Promise((resolve) => setTimeout(resolve, 500));
		}
	})()]);
	for (const [what, ms, limit] of [['silent', a, NEGOTIATE_MS], ['half a login', b, SETUP_MS], ['half a message', d, MESSAGE_MS], ['does not take answers', e, WRITE_MS]])
		assert.ok(ms >= limit - 1000 && ms <= limit + STEP_MS + SLACK_MS, `${what}: closed after ${ms} ms`);
	assert.equal((await busy.c.echo()).status, 0, 'a client that works is not closed');
	await Promise.all([busy.c.end(), deaf.c.end()]);
});

// SPDX-License-Identifier: Apache-2.0
// --smbWriteBack: a small write is answered before it is synced, and seen by all at once; FLUSH, CLOSE, the end of the tree or of the
// session, a write that is to go through, and any strict commit make it durable, and kill -9 takes nothing. What is durable is read from
// the file TAIL, which has the number of the last synced commit: every write below is one commit. test/proof/crash has the power cuts.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

import { expectStatus } from '../lib/assert.mjs';
import { fileClient, Files } from '../lib/file.mjs';
import { freePort, runProgram, startServer, WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY } from '../lib/server.mjs';
import { COMMAND, SmbClient, STATUS } from '../lib/smb.mjs';

const WRITE_THROUGH = 2, NO_BUFFERING = 8; // options of CREATE
const FLAG_THROUGH = 1, FLAG_UNBUFFERED = 2; // of WRITE
const block = (n) => Buffer.alloc(4096, n);
let server, port, files;

before(async () => {
	port = await freePort();
	server = await startServer({ flags: ['--smbPort', String(port), '--create', 'share:back', '--smbWriteBack', 'on'] });
	files = new Files(fileClient(server));
});
after(async () => {
	await server.stop();
	await server.remove();
});

async function client() {
	const c = await SmbClient.connect(port);
	assert.equal((await c.negotiate({ dialects: [0x311] })).status, 0);
	assert.equal((await c.login(WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY)).status, 0);
	return { c, tree: await c.treeConnect('back') };
}

async function opened(c, tree, name, options = 0) {
	const answer = await c.create(tree, name, { disposition: 3, options });
	assert.equal(answer.status, 0);
	return answer.id;
}

function tail() {
	const bytes = fs.readFileSync(path.join(server.dataDir, 'TAIL'));
	assert.equal(bytes.readBigUInt64LE(0), ~bytes.readBigUInt64LE(8) & 0xffffffffffffffffn);
	return Number(bytes.readBigUInt64LE(0));
}

// A strict commit: all before it is durable too, so that TAIL counts from here.
let strict = 0;
async function settled() {
	expectStatus(await files.create(`/back/strict-${strict++}`, 10), 201);
	return tail();
}

function writeFlagged(c, tree, id, flags, data) {
	const body = SmbClient.writeBody(id, 0, data);
	body.writeUInt32LE(flags, 44);
	return c.request(COMMAND.WRITE, body, { tree });
}

const flush = (c, tree, id) => c.request(COMMAND.FLUSH, SmbClient.fileBody(24, id), { tree });

// The second after which everything is synced may end at any time: then it is tried again.
async function staysUnsynced(act) {
	for (let tries = 0; tries < 20; tries++) {
		const at = await settled();
		await act();
		if (tail() === at) return;
	}
	assert.fail('it is always synced');
}

// The second may also hide a sync that is missing, but not each time.
async function syncs(act) {
	for (let times = 0; times < 5; times++) {
		const at = await settled();
		await act();
		assert.ok(tail() > at, 'it was answered before its sync');
	}
}

describe('a write that is synced later', () => {
	test('is answered before its sync, and read by REST and SMB at once', async () => {
		const { c, tree } = await client();
		const id = await opened(c, tree, 'seen');
		let n = 0;
		await staysUnsynced(async () => {
			assert.equal((await c.write(tree, id, 0, block(++n))).status, 0);
			assert.ok((await c.read(tree, id, 0, 4096)).data.equals(block(n)));
			const r = await files.get('/back/seen');
			assert.equal(r.status, 200);
			assert.ok(r.body.equals(block(n)));
		});
		c.end();
	});
	test('is synced after a second without anybody asking', async () => {
		const { c, tree } = await client();
		const id = await opened(c, tree, 'left-alone');
		const at = await settled();
		assert.equal((await c.write(tree, id, 0, block(1))).status, 0);
		const until = Date.now() + 20_000;
		while (tail() === at && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 50));
		assert.ok(tail() > at);
		c.end();
	});
	test('is synced by FLUSH, through whatever handle, and by CLOSE', async () => {
		const { c, tree } = await client();
		const other = await opened(c, tree, 'other');
		await syncs(async () => {
			const id = await opened(c, tree, 'flushed');
			assert.equal((await c.write(tree, id, 0, block(1))).status, 0);
			assert.equal((await flush(c, tree, id)).status, 0);
		});
		await syncs(async () => {
			const id = await opened(c, tree, 'flushed');
			assert.equal((await c.write(tree, id, 0, block(2))).status, 0);
			assert.equal((await flush(c, tree, other)).status, 0);
		});
		const ids = [];
		for (let i = 0; i < 5; i++) ids.push(await opened(c, tree, `closed-${i}`));
		await syncs(async () => {
			const id = ids.pop();
			assert.equal((await c.write(tree, id, 0, block(3))).status, 0);
			assert.equal((await c.close(tree, id)).status, 0);
		});
		c.end();
	});
	test('is synced by FLUSH and CLOSE that were sent right behind it', async () => {
		const { c, tree } = await client();
		const ids = [];
		for (let i = 0; i < 5; i++) ids.push(await opened(c, tree, `behind-${i}`));
		await syncs(async () => {
			const id = ids.pop();
			const [written, flushed, closed] = await Promise.all([c.write(tree, id, 0, block(1)), flush(c, tree, id), c.close(tree, id)]);
			assert.deepEqual([written.status, flushed.status, closed.status], [0, 0, 0]);
		});
		c.end();
	});
	test('is synced before the end of its tree or session is answered, and of its connection', async () => {
		const id = async (c, tree) => assert.equal((await c.write(tree, await opened(c, tree, 'ends'), 0, block(1))).status, 0);
		for (const end of [COMMAND.TREE_DISCONNECT, COMMAND.LOGOFF])
			for (let times = 0; times < 5; times++) {
				const { c, tree } = await client();
				const at = await settled();
				await id(c, tree);
				assert.equal((await c.request(end, Buffer.from([4, 0, 0, 0]), { tree })).status, 0);
				assert.ok(tail() > at);
				c.end();
			}
		let soon = 0;
		for (let times = 0; times < 5; times++) {
			const { c, tree } = await client();
			const at = await settled();
			const began = Date.now();
			await id(c, tree);
			c.end();
			while (tail() === at) await new Promise((resolve) => setTimeout(resolve, 5));
			soon += Date.now() - began < 500;
		}
		assert.ok(soon > 0, 'a connection that ends leaves its writes to the second');
	});
	test('takes the writes before it along when REST writes', async () => {
		const { c, tree } = await client();
		const id = await opened(c, tree, 'along');
		for (let times = 0; times < 5; times++) {
			const at = await settled();
			for (let i = 0; i < 3; i++) assert.equal((await c.write(tree, id, 4096 * i, block(i))).status, 0);
			await settled();
			assert.ok(tail() >= at + 4);
		}
		c.end();
	});
});

describe('what is written through', () => {
	test('by a flag of WRITE', async () => {
		const { c, tree } = await client();
		const id = await opened(c, tree, 'flags');
		for (const flag of [FLAG_THROUGH, FLAG_UNBUFFERED, FLAG_THROUGH | FLAG_UNBUFFERED])
			await syncs(async () => assert.equal((await writeFlagged(c, tree, id, flag, block(1))).status, 0));
		c.end();
	});
	test('by an option of CREATE', async () => {
		const { c, tree } = await client();
		for (const option of [WRITE_THROUGH, NO_BUFFERING]) {
			const id = await opened(c, tree, 'options', option);
			await syncs(async () => assert.equal((await c.write(tree, id, 0, block(1))).status, 0));
		}
		c.end();
	});
	test('because it is large', async () => {
		const { c, tree } = await client();
		const id = await opened(c, tree, 'large');
		await syncs(async () => assert.equal((await c.write(tree, id, 0, Buffer.alloc(60_000, 1))).status, 0));
		c.end();
	});
});

test('kill -9 takes nothing that was answered', async () => {
	const { c, tree } = await client();
	const id = await opened(c, tree, 'killed');
	await settled();
	for (let i = 0; i < 50; i++) assert.equal((await c.write(tree, id, 4096 * i, block(i))).status, 0);
	await server.kill9();
	c.end();
	await server.start();
	files = new Files(fileClient(server));
	const r = await files.get('/back/killed');
	assert.equal(r.body.length, 50 * 4096);
	for (let i = 0; i < 50; i++) assert.ok(r.body.subarray(4096 * i, 4096 * (i + 1)).equals(block(i)), `block ${i}`);
});

test('a stop syncs all of it, and errors come at once', async () => {
	const { c, tree } = await client();
	const id = await opened(c, tree, 'stopped', 0);
	assert.equal((await c.write(tree, id, 0, block(7))).status, 0);
	const reader = await c.create(tree, 'stopped', { disposition: 1, access: 0x120089 });
	assert.equal(reader.status, 0);
	assert.equal((await c.write(tree, reader.id, 0, block(8))).status, STATUS.ACCESS_DENIED);
	assert.equal((await c.lock(tree, reader.id, [[0, 4096, 0x12]])).status, 0);
	assert.equal((await c.write(tree, id, 0, block(8))).status, 0xc0000054); // FILE_LOCK_CONFLICT
	await server.stop();
	const scrubbed = await runProgram(['scrub', '--location', server.dataDir]);
	assert.equal(scrubbed.code, 0, scrubbed.stdout);
	await server.start();
	files = new Files(fileClient(server));
	assert.ok((await files.get('/back/stopped')).body.equals(block(7)));
});

test('it is on or off', async () => {
	const r = await runProgram(['serve', '--location', server.dataDir, '--smbWriteBack', 'maybe']);
	assert.notEqual(r.code, 0);
	assert.match(r.stderr + r.stdout, /--smbWriteBack/);
});

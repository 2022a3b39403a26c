// SPDX-License-Identifier: Apache-2.0
// Many large requests under way at once: each is answered exactly once, what is sent after them on the same handle takes
// effect after them, and a client that leaves in the middle harms nobody.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { after, before, test } from 'node:test';

import { freePort, startServer } from '../lib/server.mjs';
import { COMMAND, connected } from '../lib/smb.mjs';

const MIB = 1024 * 1024;
const CHARGE = 16; // credits of one MiB
let server;
let port;

before(async () => {
	port = await freePort();
	server = await startServer({ flags: ['--smbPort', String(port), '--create', 'share:pipe'] });
});
after(async () => {
	await server.stop();
	await server.remove();
});

// With credits for `mibs` MiB at once.
async function client(mibs) {
	const { c, tree } = await connected(port, 'pipe');
	for (let have = 0; have < mibs * CHARGE; have += 500)
		assert.equal((await c.request(COMMAND.ECHO, Buffer.from([4, 0, 0, 0]), { credits: 512 })).status, 0);
	return { c, tree };
}

async function contents(c, tree, name, mibs) {
	const open = await c.create(tree, name, { disposition: 1 });
	assert.equal(open.status, 0);
	const reads = Array.from({ length: mibs }, (_, i) => c.read(tree, open.id, i * MIB, MIB));
	const parts = (await Promise.all(reads)).map(({ status, data }) => {
		assert.equal(status, 0);
		return data;
	});
	await c.close(tree, open.id);
	return Buffer.concat(parts);
}

test('CLOSE right behind large writes takes effect after them', async () => {
	const { c, tree } = await client(16);
	for (let round = 0; round < 5; round++) {
		const bytes = crypto.randomBytes(8 * MIB);
		const open = await c.create(tree, `close-${round}`, { disposition: 2 });
		const writes = Array.from({ length: 8 }, (_, i) => c.write(tree, open.id, i * MIB, bytes.subarray(i * MIB, (i + 1) * MIB)));
		const closed = c.close(tree, open.id);
		for (const answer of await Promise.all(writes)) assert.equal(answer.status, 0);
		assert.equal((await closed).status, 0);
		assert.ok(bytes.equals(await contents(c, tree, `close-${round}`, 8)));
	}
	await c.end();
});

test('a cut of the file right behind a large write takes effect after it', async () => {
	const { c, tree } = await client(16);
	const bytes = crypto.randomBytes(MIB);
	for (let round = 0; round < 10; round++) {
		const open = await c.create(tree, 'cut', { disposition: 5 });
		const written = c.write(tree, open.id, 0, bytes);
		const size = Buffer.alloc(8);
		size.writeBigUInt64LE(1000n);
		const cut = c.setInfo(tree, open.id, 20, size);
		assert.equal((await written).status, 0);
		assert.equal((await cut).status, 0);
		await c.close(tree, open.id);
		assert.ok(bytes.subarray(0, 1000).equals(await contents(c, tree, 'cut', 1)));
	}
	await c.end();
});

test('more under way than the server keeps in memory: every request is answered, once', { timeout: 120_000 }, async () => {
	const count = 100; // three times what a connection may have under way
	const { c, tree } = await client(count + 16);
	const bytes = crypto.randomBytes(MIB);
	const open = await c.create(tree, 'much', { disposition: 2 });
	const answers = await Promise.all(Array.from({ length: count }, (_, i) => c.write(tree, open.id, (i % 20) * MIB, bytes)));
	for (const { status } of answers) assert.equal(status, 0);
	assert.equal(new Set(answers.map((a) => a.header.messageId)).size, count);
	await c.close(tree, open.id);
	assert.ok(Buffer.concat(Array(20).fill(bytes)).equals(await contents(c, tree, 'much', 20)));
	await c.end();
});

test('a client that leaves in the middle of its writes', async () => {
	for (let round = 0; round < 10; round++) {
		const { c, tree } = await client(16);
		const open = await c.create(tree, `gone-${round}`, { disposition: 2, share: 0 });
		for (let i = 0; i < 8; i++) void c.write(tree, open.id, i * MIB, crypto.randomBytes(MIB));
		void c.close(tree, open.id);
		await new Promise((resolve) => setTimeout(resolve, round * 2));
		c.socket.destroy();
		await c.ended;
	}
	const { c, tree } = await client(1);
	for (let round = 0; round < 10; round++) {
		let status;
		for (let i = 0; i < 200; i++) { // its open ends with the connection, a moment later
			const open = await c.create(tree, `gone-${round}`, { disposition: 3 });
			status = open.status;
			if (status === 0) break;
			await new Promise((resolve) => setTimeout(resolve, 20));
		}
		assert.equal(status, 0);
	}
	await c.end();
});

test('the last request and the end of the connection, sent at once, are both seen', { timeout: 60_000 }, async () => {
	for (let round = 0; round < 30; round++) {
		const { c } = await client(1);
		c.socket.cork();
		const echo = c.request(COMMAND.ECHO, Buffer.from([4, 0, 0, 0]));
		c.socket.end();
		assert.equal((await echo).status, 0);
		await c.ended; // the server closes as well
	}
});

test('small writes of one client, several under way: what was acknowledged is there after kill -9', { timeout: 120_000 }, async () => {
	const bytes = 4096, depth = 4, enough = 600;
	const { c, tree } = await client(1);
	const open = await c.create(tree, 'small', { disposition: 2 });
	const written = crypto.randomBytes(2 * enough * bytes);
	const acknowledged = [];
	let next = 0, killed;
	const one = async () => {
		while (next < 2 * enough) {
			const at = next++ * bytes;
			const { status } = await c.write(tree, open.id, at, written.subarray(at, at + bytes));
			if (status === null) return; // killed
			assert.equal(status, 0);
			acknowledged.push(at);
			if (acknowledged.length === enough) killed = server.kill9();
		}
	};
	await Promise.all(Array.from({ length: depth }, one));
	assert.ok(acknowledged.length >= enough && acknowledged.length < 2 * enough);
	await killed;
	await server.restart();
	const mibs = Math.ceil((Math.max(...acknowledged) + bytes) / MIB);
	const again = await client(mibs);
	const kept = await contents(again.c, again.tree, 'small', mibs);
	for (const at of acknowledged) assert.ok(written.subarray(at, at + bytes).equals(kept.subarray(at, at + bytes)), `at ${at}`);
	await again.c.end();
});

// SPDX-License-Identifier: Apache-2.0
// `zaffre checkpoint` while 32 writers write: restored it is one moment of the store, whole and clean; the second one copies only what
// changed; a program that dies leaves nothing behind.
import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BlobServiceClient } from '@azure/storage-blob';
import { QueueServiceClient } from '@azure/storage-queue';
import { askAdmin } from '../../lib/admin.mjs';
import { bin, removeDir, runProgram, scaled, startServer, tempDir } from '../../lib/server.mjs';
import { Client } from '../../lib/http.mjs';
import { expectStatus } from '../../lib/assert.mjs';

const WRITERS = 32;

async function until(what, seconds, look, pauseMs = 20) {
	const end = Date.now() + seconds * 1000;
	while (Date.now() < end) {
		if (await look()) return;
		await sleep(pauseMs);
	}
	assert.fail(`${what}: not within ${seconds} s`);
}

describe('checkpoint', () => {
	let server, dir, client, one, two;
	const checkpoint = (...words) => runProgram(['checkpoint', ...words, '--location', server.dataDir]);
	const scrub = async (location) => {
		const r = await runProgram(['scrub', '--location', location]);
		assert.equal(r.code, 0, r.stdout + r.stderr);
	};
	const entries = (at) => fs.readdirSync(path.join(at, 'segments'));
	before(async () => {
		dir = tempDir('zaffre-checkpoint-');
		server = await startServer();
		client = new Client(server);
		expectStatus(await client.put('/ccc', { query: { restype: 'container' } }), 201);
		one = path.join(dir, 'one');
		two = path.join(dir, 'two');
		// Large ones lie in segment files.
		for (let i = 0; i < 24; i++) expectStatus(await client.put(`/ccc/large${i}`, { body: Buffer.alloc(1 << 20, i), headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
	});
	after(async () => {
		await server.remove();
		removeDir(dir);
	});

	test(`with ${WRITERS} writers: restored it is one moment, whole, and clean`, async (t) => {
		// Each writes its counter into a small blob and then into a large one: in every moment the large one has the same, or one less. Large
		// ones are filled with their counter, so that half an old one would show.
		let going = true;
		const acknowledged = Array(WRITERS).fill(0);
		const blobs = { 'x-ms-blob-type': 'BlockBlob' };
		const writers = acknowledged.map(async (_, w) => {
			for (let n = 1; going; n++) {
				expectStatus(await client.put(`/ccc/small${w}`, { body: String(n), headers: blobs }), 201);
				expectStatus(await client.put(`/ccc/body${w}`, { body: Buffer.alloc(100_000, n % 251), headers: { ...blobs, 'x-ms-meta-n': n } }), 201);
				acknowledged[w] = n;
			}
		});
		await sleep(500);
		const before = [...acknowledged];
		const r = await checkpoint(one);
		t.diagnostic(`commits waited ${/commits waited ([\d.]+ ms)/.exec(server.stderr)[1]}`);
		const behind = [...acknowledged];
		going = false;
		await Promise.all(writers);
		assert.equal(r.code, 0, JSON.stringify(r));
		assert.match(r.stdout, /checkpoint of commit \d+/);
		const location = path.join(dir, 'restored');
		const restored = await runProgram(['restore', one, '--location', location]);
		assert.equal(restored.code, 0, JSON.stringify(restored));
		await scrub(location);
		const copy = await startServer({ dataDir: location });
		try {
			const sdk = BlobServiceClient.fromConnectionString(copy.connectionString).getContainerClient('ccc');
			for (let w = 0; w < WRITERS; w++) {
				const small = Number((await sdk.getBlobClient(`small${w}`).downloadToBuffer()).toString());
				const body = await sdk.getBlobClient(`body${w}`).downloadToBuffer();
				const n = Number((await sdk.getBlobClient(`body${w}`).getProperties()).metadata.n);
				assert.ok(n === small || n === small - 1, `writer ${w}: ${n} beside ${small}`);
				assert.ok(n >= before[w], `writer ${w}: acknowledged ${before[w]} before, has ${n}`);
				assert.ok(n <= behind[w] + 1, `writer ${w}: has ${n}, and only ${behind[w]} were written when it ended`);
				assert.equal(body.length, 100_000);
				assert.ok(body.every((byte) => byte === n % 251), `writer ${w}: not its bytes`);
			}
			for (let i = 0; i < 24; i++) assert.ok((await sdk.getBlobClient(`large${i}`).downloadToBuffer()).equals(Buffer.alloc(1 << 20, i)));
			// It goes on from there.
			await QueueServiceClient.fromConnectionString(copy.connectionString).getQueueClient('qqq').create();
		} finally {
			await copy.remove();
		}
		await scrub(location);
		await until('nothing of it stays in the data directory', 5, () => !fs.existsSync(path.join(server.dataDir, 'checkpoint.new')));
	});

	test('the second one shares what did not change, and is as whole', async () => {
		// Segment files that were written a moment ago count as changed; so both are made in quiet.
		await sleep(3100);
		const quiet = path.join(dir, 'quiet');
		assert.equal((await checkpoint(quiet)).code, 0);
		for (let i = 0; i < 10; i++) expectStatus(await client.put(`/ccc/later${i}`, { body: `later ${i}`, headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
		const r = await checkpoint(two, quiet);
		assert.equal(r.code, 0, r.stderr);
		const [, copied, shared] = r.stdout.match(/(\d+) bytes copied, (\d+) shared/).map(Number);
		assert.ok(copied < 2 << 20, `${copied} bytes copied`);
		assert.ok(shared > 24 << 20, `${shared} bytes shared`);
		for (const name of entries(two)) assert.equal(fs.statSync(path.join(two, 'segments', name)).ino, fs.statSync(path.join(quiet, 'segments', name)).ino);
		// What changed since is copied, and the older one keeps what it had.
		expectStatus(await client.request('DELETE', '/ccc/large0'), 202);
		expectStatus(await client.put('/ccc/large1', { body: Buffer.alloc(1 << 20, 99), headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
		const three = path.join(dir, 'three');
		assert.equal((await checkpoint(three, two)).code, 0);
		for (const [from, expected] of [[two, 1], [three, 99], [quiet, 1]]) {
			const location = `${from}-restored`;
			assert.equal((await runProgram(['restore', from, '--location', location])).code, 0);
			await scrub(location);
			const copy = await startServer({ dataDir: location });
			try {
				const sdk = BlobServiceClient.fromConnectionString(copy.connectionString).getContainerClient('ccc');
				assert.ok((await sdk.getBlobClient('large1').downloadToBuffer()).equals(Buffer.alloc(1 << 20, expected)));
				assert.equal(await sdk.getBlobClient('large0').exists(), expected === 1);
				assert.equal(await sdk.getBlobClient('later9').exists(), from !== quiet);
			} finally {
				await copy.remove();
			}
		}
	});

	test('a program that is killed, or one that never copies, holds nothing for long', async () => {
		const child = spawn(bin, ['checkpoint', path.join(dir, 'killed'), '--location', server.dataDir], { stdio: 'ignore' });
		const ended = new Promise((resolve) => child.once('close', resolve));
		await until('it began', 5, () => fs.existsSync(path.join(server.dataDir, 'checkpoint.new')) || child.exitCode !== null);
		child.kill('SIGKILL');
		await ended;
		await until('the folder is gone', 10, () => !fs.existsSync(path.join(server.dataDir, 'checkpoint.new')));
		const r = await checkpoint(path.join(dir, 'after'));
		assert.equal(r.code, 0, r.stderr);
		if (!fs.existsSync(path.join(dir, 'killed', 'CHECKPOINT'))) {
			const refused = await runProgram(['restore', path.join(dir, 'killed'), '--location', path.join(dir, 'no')]);
			assert.equal(refused.code, 1);
			assert.match(refused.stderr, /no checkpoint that was finished/);
		}
	});

	test('a server that ends meanwhile: the program says that its copy is none', async () => {
		const other = await startServer();
		const to = path.join(dir, 'orphaned');
		try {
			const writer = new Client(other);
			expectStatus(await writer.put('/ccc', { query: { restype: 'container' } }), 201);
			for (let i = 0; i < 48; i++) expectStatus(await writer.put(`/ccc/large${i}`, { body: Buffer.alloc(4 << 20, i), headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
			const child = spawn(bin, ['checkpoint', to, '--location', other.dataDir], { stdio: ['ignore', 'ignore', 'pipe'] });
			let said = '';
			child.stderr.setEncoding('utf8').on('data', (text) => (said += text));
			const ended = new Promise((resolve) => child.once('close', (code) => resolve(code)));
			// Tables are copied by then; the extents are being copied.
			await until('it copies segment files', 20, () => fs.existsSync(path.join(to, 'segments', '000000.seg')) || child.exitCode !== null, 0);
			child.kill('SIGSTOP');
			assert.ok(!fs.existsSync(path.join(to, 'CHECKPOINT')), 'it was too quick for us');
			await other.stop();
			child.kill('SIGCONT');
			assert.equal(await ended, 1, said);
			assert.match(said, /before all of it was copied/);
			assert.ok(!fs.existsSync(path.join(to, 'CHECKPOINT')));
		} finally {
			await other.remove();
		}
	});

	test('two at once: both end, none is half', async () => {
		const results = await Promise.all([checkpoint(path.join(dir, 'left')), checkpoint(path.join(dir, 'right'))]);
		for (const r of results) if (r.code !== 0) assert.match(r.stderr, /another checkpoint/);
		assert.ok(results.some((r) => r.code === 0));
	});

	test('one that begins while another ends keeps its folder', async () => {
		const folder = path.join(server.dataDir, 'checkpoint.new');
		for (let round = 0; round < scaled(100, 30); round++) {
			assert.equal((await askAdmin(server, '/checkpoint/begin')).status, 200);
			const [ended, begun] = await Promise.all([askAdmin(server, '/checkpoint/end'), askAdmin(server, '/checkpoint/begin')]);
			assert.equal(ended.status, 200);
			// It came first, and the other one was still being held.
			if (begun.status === 409) continue;
			assert.equal(begun.status, 200, begun.text);
			assert.ok(fs.existsSync(path.join(folder, 'HOLD')) && fs.existsSync(path.join(folder, 'db', 'CURRENT')), `round ${round}: what was made is gone`);
			assert.equal((await askAdmin(server, '/checkpoint/end')).status, 200);
		}
		assert.ok(!fs.existsSync(folder));
	});

	test('the server makes one itself in its own directory, says how far it is, and can be told to stop', async () => {
		const ask = async (target) => {
			const r = await askAdmin(server, target);
			return { status: r.status, ...(r.text.startsWith('{') ? JSON.parse(r.text) : { text: r.text }) };
		};
		const ended = async () => {
			let now;
			await until('it ends', 60, async () => (now = await ask('/checkpoint/progress')).state !== 'running');
			return now;
		};
		for (const bad of ['', '?name=', '?name=..', '?name=a%2fb', `?name=${'x'.repeat(65)}`, '?name=a&previous=..%2fb']) assert.equal((await ask(`/checkpoint/start${bad}`)).status, 400, bad);
		assert.equal((await ask('/checkpoint/cancel')).status, 409);
		assert.deepEqual((await ask('/checkpoint/list')).checkpoints, []);
		const begun = await ask('/checkpoint/start?name=monday');
		assert.equal(begun.status, 200);
		assert.equal(begun.state, 'running');
		const first = await ended();
		assert.deepEqual([first.state, first.percent, first.reason], ['done', 100, '']);
		assert.ok(first.commit > 0 && first.copiedBytes + first.sharedBytes > 24 << 20, JSON.stringify(first));
		assert.equal((await ask('/checkpoint/start?name=monday')).status, 409);
		assert.equal((await ask('/checkpoint/start?name=tuesday&previous=monday')).status, 200);
		const second = await ended();
		assert.equal(second.state, 'done');
		assert.deepEqual((await ask('/checkpoint/list')).checkpoints.map((c) => c.name).sort(), ['monday', 'tuesday']);
		assert.equal((await ask('/checkpoint/start?name=broken&previous=absent')).status, 200);
		const broken = await ended();
		assert.equal(broken.state, 'failed');
		assert.match(broken.reason, /no checkpoint that was finished/);
		const location = path.join(dir, 'from-tuesday');
		const restored = await runProgram(['restore', second.path, '--location', location]);
		assert.equal(restored.code, 0, restored.stderr);
		await scrub(location);
		// Told to stop, it leaves nothing; it may be quicker than we are.
		assert.equal((await ask('/checkpoint/start?name=never')).status, 200);
		const told = await ask('/checkpoint/cancel');
		const last = await ended();
		if (told.status === 200 && last.state !== 'done') {
			assert.equal(last.state, 'cancelled');
			assert.ok(!fs.existsSync(last.path));
		}
	});

	test('a plain copy of the directory of a running server is found out', async () => {
		const copy = path.join(dir, 'plain');
		fs.cpSync(server.dataDir, copy, { recursive: true, filter: (name) => !name.endsWith('.sock') });
		for (const words of [['serve', '--blobPort', '0', '--queuePort', '0', '--tablePort', '0', '--filePort', '0'], ['scrub']]) {
			const r = await runProgram([...words, '--location', copy]);
			assert.notEqual(r.code, 0);
			assert.match(r.stderr, /is a copy of a data directory that a server \(process \d+\) is using.*zaffre checkpoint/);
		}
	});

	test('refusals: a server on a checkpoint, a place that is taken, no server, words that are missing', async () => {
		const on = await runProgram(['--location', one, '--blobPort', '0', '--queuePort', '0', '--tablePort', '0', '--filePort', '0']);
		assert.equal(on.code, 1);
		assert.match(on.stderr, /is a checkpoint.*zaffre restore/);
		assert.match((await checkpoint(one)).stderr, /cannot make .*exists/);
		const occupied = await runProgram(['restore', one, '--location', server.dataDir]);
		assert.match(occupied.stderr, /not empty/);
		const nobody = await runProgram(['checkpoint', path.join(dir, 'nobody'), '--location', path.join(dir, 'restored')]);
		assert.equal(nobody.code, 1);
		assert.match(nobody.stderr, /no server runs on/);
		assert.ok(!fs.existsSync(path.join(dir, 'nobody')));
		for (const words of [['checkpoint'], ['restore'], ['checkpoint', '--location']]) assert.equal((await runProgram(words)).code, 2);
		assert.match((await checkpoint(path.join(dir, 'x'), path.join(dir, 'absent'))).stderr, /no checkpoint that was finished/);
	});
});

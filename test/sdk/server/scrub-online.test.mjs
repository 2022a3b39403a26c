// SPDX-License-Identifier: Apache-2.0
// `zaffre scrub` of a running server: damage is found and named as a scrub of the stopped one names it; what is written and deleted
// meanwhile is no damage; others hardly wait; one at a time; a signal cancels it; a server that ends or dies leaves nothing behind.
import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { askAdmin } from '../../lib/admin.mjs';
import { bin, runProgram, scale, scaled, startServer } from '../../lib/server.mjs';
import { Client } from '../../lib/http.mjs';
import { expectStatus } from '../../lib/assert.mjs';

const block = { 'x-ms-blob-type': 'BlockBlob' };
const id = (n) => Buffer.from(String(n).padStart(6, '0')).toString('base64');
const scrub = (server, ...words) => runProgram(['scrub', '--location', server.dataDir, ...words]);
const progress = async (server) => JSON.parse((await askAdmin(server, '/scrub/progress')).text);
const staging = (server) => path.join(server.dataDir, 'scrub.new');

async function until(what, seconds, look) {
	const end = Date.now() + (seconds * 1000) / Math.min(scale, 1);
	while (Date.now() < end) {
		const found = await look();
		if (found) return found;
		await sleep(20);
	}
	assert.fail(`${what}: not within ${seconds} s`);
}

// To the end of one that was begun.
const ended = (server) =>
	until('the scrub ends', 60, async () => {
		const now = await progress(server);
		return now.state !== 'running' && now;
	});

async function fill(server, large = 24) {
	const client = new Client(server);
	expectStatus(await client.put('/ccc', { query: { restype: 'container' } }), 201);
	for (let i = 0; i < large; i++) expectStatus(await client.put(`/ccc/large${i}`, { body: crypto.randomBytes(1 << 20), headers: block }), 201);
	for (let i = 0; i < 50; i++) expectStatus(await client.put(`/ccc/small${i}`, { body: crypto.randomBytes(3000), headers: block }), 201);
	return client;
}

// Changes one byte of the file in which the bytes lie.
function damage(folder, bytes) {
	for (const name of fs.readdirSync(folder)) {
		const file = path.join(folder, name);
		const at = fs.statSync(file).isFile() ? fs.readFileSync(file).indexOf(bytes) : -1;
		if (at < 0) continue;
		const fd = fs.openSync(file, 'r+');
		fs.writeSync(fd, Buffer.from([bytes[0] ^ 1]), 0, 1, at);
		fs.closeSync(fd);
		return;
	}
	assert.fail(`the bytes are nowhere in ${folder}`);
}

describe('a running server is scrubbed', () => {
	let server, client;
	before(async () => {
		server = await startServer({ flags: ['--adminPort', '0'] });
		client = await fill(server);
	});
	after(() => server.remove());

	test('whole, clean, with lines of progress and a summary, and again', async () => {
		for (let round = 0; round < 2; round++) {
			const r = await scrub(server);
			assert.equal(r.code, 0, r.stdout + r.stderr);
			const [, rows, extents, bytes, damaged] = /^\d+ partitions, (\d+) rows, (\d+) extents with (\d+) bytes: (\d+) damaged\n$/.exec(r.stdout).map(Number);
			assert.ok(rows >= 74, r.stdout);
			assert.ok(extents >= 24 && bytes >= 24 << 20, r.stdout);
			assert.equal(damaged, 0);
			assert.match(r.stderr, /^100%, 0 s left, \d+ rows, [\d.]+ MiB in extents, 0 damaged$/m);
		}
		const now = await progress(server);
		assert.equal(now.state, 'done');
		assert.equal(now.percent, 100);
		assert.equal(now.spaceChecked, true);
		assert.deepEqual(now.findings, []);
		assert.ok(Date.parse(now.ended) >= Date.parse(now.started));
		assert.ok(!fs.existsSync(staging(server)));
		assert.match(server.stderr, /scrub done: \d+ rows, \d+ extents with \d+ bytes, 0 damaged/);
		const listener = /metrics and health at (\S+)/.exec(server.stdout)[1];
		const read = await fetch(`${listener}/scrub`);
		assert.equal(read.status, 200);
		assert.equal((await read.json()).rows, now.rows);
		assert.equal((await fetch(`${listener}/scrub/start`, { method: 'POST' })).status, 403);
	});

	test('no faster than it may be', async () => {
		const begin = Date.now();
		const r = await scrub(server, '--rate', '16');
		const seconds = (Date.now() - begin) / 1000;
		assert.equal(r.code, 0, r.stderr);
		const bytes = Number(/with (\d+) bytes/.exec(r.stdout)[1]);
		assert.ok(seconds >= (bytes / 16e6) * 0.85, `${bytes} bytes in ${seconds} s`);
	});

	test('one at a time; a second one is refused and says how far the first is', async () => {
		const begun = await askAdmin(server, '/scrub/start?rate=4');
		assert.equal(begun.status, 200, begun.text);
		assert.equal(JSON.parse(begun.text).state, 'running');
		const second = await scrub(server);
		assert.equal(second.code, 2);
		assert.match(second.stderr, /a scrub of this server is running, it is at \d+ %/);
		assert.equal((await scrub(server, '--cancel')).code, 0);
		assert.equal((await ended(server)).state, 'cancelled');
		assert.equal((await scrub(server, '--cancel')).code, 1);
		assert.equal((await askAdmin(server, '/scrub/start?rate=fast')).status, 400);
		assert.equal((await scrub(server, '--rate', 'fast')).code, 2);
	});

	test('SIGINT cancels it', async () => {
		const child = spawn(bin, ['scrub', '--location', server.dataDir, '--rate', '1'], { stdio: ['ignore', 'pipe', 'pipe'] });
		let stderr = '';
		child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text));
		const exit = new Promise((resolve) => child.once('close', (code, signal) => resolve({ code, signal })));
		await until('it runs', 20, async () => (await progress(server)).state === 'running');
		child.kill('SIGINT');
		assert.deepEqual(await exit, { code: 2, signal: null });
		assert.match(stderr, /not everything was looked at: cancelled/);
		assert.equal((await progress(server)).state, 'cancelled');
		assert.equal((await scrub(server, '--rate', '0')).code, 0);
	});

	test('writers, deletes and new containers meanwhile: no damage, over many moments', async (t) => {
		let going = true;
		let writes = 0;
		const slowest = { put: 0, get: 0 };
		const timed = async (kind, work) => {
			const begin = process.hrtime.bigint();
			await work();
			slowest[kind] = Math.max(slowest[kind], Number(process.hrtime.bigint() - begin) / 1e6);
		};
		const writer = async (w) => {
			for (let n = 0; going; n++, writes++) {
				const name = `/ccc/race${w}-${n % 3}`;
				await timed('put', async () => expectStatus(await client.put(name, { body: Buffer.alloc(n % 2 ? 150_000 : 2000, n), headers: block }), 201));
				for (let b = 0; b < 3; b++) expectStatus(await client.put(`/ccc/list${w}`, { query: { comp: 'block', blockid: id(b) }, body: Buffer.alloc(80_000, n) }), 201);
				expectStatus(await client.put(`/ccc/list${w}`, { query: { comp: 'blocklist' }, body: `<BlockList>${[0, 1, 2].map((b) => `<Latest>${id(b)}</Latest>`).join('')}</BlockList>` }), 201);
				if (n % 4 === 1) expectStatus(await client.put(`/ccc/list${w}`, { query: { comp: 'snapshot' } }), 201);
				if (n % 4 === 3) expectStatus(await client.delete(`/ccc/list${w}`, { headers: { 'x-ms-delete-snapshots': 'include' } }), 202);
				if (n % 3 === 2) expectStatus(await client.delete(name), 202);
				if (n % 10 === 9) {
					expectStatus(await client.put(`/gone${w}-${n}`, { query: { restype: 'container' } }), 201);
					expectStatus(await client.put(`/gone${w}-${n}/b`, { body: Buffer.alloc(100_000, n), headers: block }), 201);
					expectStatus(await client.delete(`/gone${w}-${n}`, { query: { restype: 'container' } }), 202);
				}
				await timed('get', async () => expectStatus(await client.get('/ccc/small1'), 200));
			}
		};
		const writers = [0, 1, 2, 3].map(writer);
		let rows = 0;
		// Fast ones, and slow ones whose moment is renewed every second.
		for (const how of ['rate=0', 'rate=0', 'rate=12&hold=1', 'rate=0']) {
			assert.equal((await askAdmin(server, `/scrub/start?${how}`)).status, 200);
			const r = await ended(server);
			assert.equal(r.state, 'done', r.reason);
			assert.deepEqual(r.findings, [], how);
			assert.equal(r.spaceChecked, !how.includes('hold'), how);
			rows += r.rows;
		}
		going = false;
		await Promise.all(writers);
		t.diagnostic(`${rows} rows looked at, ${writes} rounds of writing; slowest PUT ${slowest.put.toFixed(0)} ms, GET ${slowest.get.toFixed(0)} ms`);
		assert.ok(writes > scaled(20), `${writes} writes`);
		// Two cores with four writers: what nobody waits for is the scrub.
		assert.ok(slowest.put < 3000 / Math.min(scale, 1), `a PUT took ${slowest.put} ms`);
		assert.ok(slowest.get < 3000 / Math.min(scale, 1), `a GET took ${slowest.get} ms`);
		const stopped = await (async () => {
			await server.stop();
			const s = await scrub(server);
			await server.start();
			return s;
		})();
		assert.equal(stopped.code, 0, stopped.stdout);
	});

	test('a server that ends during a scrub ends at once, one that dies leaves a folder that the next start removes', async () => {
		const child = runProgram(['scrub', '--location', server.dataDir, '--rate', '1']);
		await until('it runs', 20, async () => (await progress(server)).state === 'running' && fs.existsSync(path.join(staging(server), 'db')));
		const begin = Date.now();
		await server.stop();
		assert.ok(Date.now() - begin < 10_000, 'the end waited for the scrub');
		assert.equal((await child).code, 2);
		assert.ok(!fs.existsSync(staging(server)));
		await server.start();
		assert.equal((await askAdmin(server, '/scrub/start?rate=1')).status, 200);
		await until('it has its moment', 20, () => fs.existsSync(path.join(staging(server), 'db')));
		await server.kill9();
		assert.ok(fs.existsSync(staging(server)));
		await server.start();
		assert.ok(!fs.existsSync(staging(server)));
		assert.equal((await scrub(server)).code, 0);
	});

	test('a server in memory has nothing to scrub', async () => {
		const memory = await startServer({ flags: ['--inMemoryPersistence', '--adminSocket', path.join(server.dataDir, '..', `scrub-${process.pid}.sock`)] });
		try {
			const r = await runProgram(['scrub', '--location', memory.dataDir, '--adminSocket', path.join(server.dataDir, '..', `scrub-${process.pid}.sock`)]);
			assert.equal(r.code, 2);
			assert.match(r.stderr, /keeps its data in memory/);
		} finally {
			await memory.remove();
		}
	});
});

test('damage in rows and in extents is found under load, and named as a scrub of the stopped server names it', async () => {
	const server = await startServer({ flags: ['--adminPort', '0'] });
	try {
		const client = await fill(server, 6);
		const body = crypto.randomBytes(500_000);
		const row = crypto.randomBytes(4000);
		expectStatus(await client.put('/ccc/victim', { body, headers: block }), 201);
		expectStatus(await client.put('/ccc/victim', { query: { comp: 'snapshot' } }), 201);
		expectStatus(await client.put('/ccc/rowvictim', { body: row, headers: block }), 201);
		await server.restart(); // what is in the journal alone is in tables afterwards
		expectStatus(await client.get('/ccc/rowvictim'), 200); // and now in caches, too
		assert.equal((await scrub(server, '--rate', '0')).code, 0);
		// A compaction that meets a damaged table ends the server: those that are due come first.
		const tables = () => fs.readdirSync(path.join(server.dataDir, 'db')).filter((name) => name.endsWith('.sst')).sort().join();
		for (let before = '', now = tables(); before !== now; now = tables()) {
			before = now;
			await sleep(1000);
		}
		damage(path.join(server.dataDir, 'segments'), body.subarray(300_000, 300_032));
		damage(path.join(server.dataDir, 'db'), row.subarray(1000, 1032));
		let going = true;
		const load = (async () => {
			for (let n = 0; going; n++) {
				expectStatus(await client.put(`/ccc/load${n % 5}`, { body: Buffer.alloc(70_000, n), headers: block }), 201);
				if (n % 5 === 4) expectStatus(await client.delete('/ccc/load4'), 202);
			}
		})();
		const online = await scrub(server, '--rate', '0');
		going = false;
		await load;
		assert.equal(online.code, 1, online.stdout + online.stderr);
		const lines = (text) => text.split('\n').filter((line) => line.startsWith('damaged: ')).sort();
		assert.ok(lines(online.stdout).some((line) => /^damaged: devstoreaccount1\/ccc\/victim: its bytes /.test(line)), online.stdout);
		assert.ok(lines(online.stdout).some((line) => /victim \(snapshot or version\): its bytes /.test(line)), online.stdout);
		assert.ok(lines(online.stdout).some((line) => /rowvictim: its bytes /.test(line)), online.stdout);
		for (const line of lines(online.stdout)) assert.ok(server.stderr.includes(`error: scrub: ${line}`), line);
		const metrics = (await askAdmin(server, '/metrics', 'GET')).text;
		assert.match(metrics, new RegExp(`^zaffre_scrub_damaged_total ${lines(online.stdout).length}$`, 'm'));
		assert.match(metrics, /^zaffre_scrub_runs_total 2$/m);
		assert.match(metrics, /^zaffre_scrub_running 0$/m);
		assert.match(metrics, /^zaffre_scrub_last_end_seconds 1?\d{9,}$/m);
		await server.stop();
		const offline = await scrub(server);
		assert.equal(offline.code, 1);
		assert.deepEqual(lines(online.stdout), lines(offline.stdout));
	} finally {
		await server.kill9();
		await server.remove();
	}
});

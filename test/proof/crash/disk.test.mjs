// SPDX-License-Identifier: Apache-2.0
// Disks that fail: full, damaged. A full disk answers 5xx, reads go on, deletes make room; damage is an error and a line, never wrong bytes.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { removeDir, runProgram, startServer, tempDir } from '../../lib/server.mjs';
import { Client } from '../../lib/http.mjs';
import { expectStatus, md5 } from '../../lib/assert.mjs';

const blob = { 'x-ms-blob-type': 'BlockBlob' };

function mountTmpfs(dir, size) {
	return process.getuid() === 0 && spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'zaffre-test', dir]).status === 0;
}

// A server whose data directory has 160 MiB, all of it.
async function onSmallDisk(t, work) {
	const base = tempDir('zaffre-full-');
	if (!mountTmpfs(base, '160m')) {
		removeDir(base);
		t.skip('mounting a tmpfs needs root and the right to mount');
		return;
	}
	let server;
	try {
		server = await startServer({ dataDir: path.join(base, 'data') });
		await work(server, base);
	} finally {
		await server?.kill9();
		spawnSync('umount', [base]);
		removeDir(base);
	}
}

test('a full disk: 5xx, reads go on, deletes make room', (t) =>
	onSmallDisk(t, async (server, base) => {
		const client = new Client(server);
		expectStatus(await client.put('/full', { query: { restype: 'container' } }), 201);
		const stored = new Map();
		let refused;
		for (let i = 0; i < 400 && !refused; i++) {
			const body = crypto.randomBytes(1_000_000);
			const r = await client.put(`/full/b${i}`, { body, headers: blob });
			if (r.status === 201) stored.set(`b${i}`, md5(body));
			else refused = r;
		}
		assert.ok(refused, 'the disk never became full');
		assert.ok(refused.status >= 500, `${refused.status} ${refused.code}`);
		assert.ok(stored.size > 20, `only ${stored.size} fitted`);
		// Everything acknowledged is there and whole.
		for (const [name, hash] of stored) assert.equal(md5(expectStatus(await client.get(`/full/${name}`), 200).body), hash, name);
		// Small writes may or may not fit; they must answer, and the answer must be true.
		const small = await client.put('/full/small', { body: 'x', headers: blob });
		assert.equal((await client.get('/full/small')).status, small.status === 201 ? 200 : 404);
		// Deletes work on a full disk and make room.
		const names = [...stored.keys()];
		for (const name of names.slice(0, names.length / 2)) {
			expectStatus(await client.delete(`/full/${name}`), 202);
			stored.delete(name);
		}
		const deadline = Date.now() + 60_000;
		let again;
		do {
			// Space comes back in the background, within seconds.
			await new Promise((resolve) => setTimeout(resolve, 200));
			again = await client.put('/full/again', { body: crypto.randomBytes(1_000_000), headers: blob });
		} while (again.status !== 201 && Date.now() < deadline);
		expectStatus(again, 201);
		await server.restart();
		for (const [name, hash] of stored) assert.equal(md5(expectStatus(await client.get(`/full/${name}`), 200).body), hash, name);
		await server.stop();
	}));

test('just under the reserve space comes back by what was deleted, blob by blob', (t) =>
	onSmallDisk(t, async (server, base) => {
		const client = new Client(server), free = () => fs.statfsSync(base).bavail * fs.statfsSync(base).bsize;
		expectStatus(await client.put('/full', { query: { restype: 'container' } }), 201);
		const put = (name, size = 1_000_000) => client.put(`/full/${name}`, { body: crypto.randomBytes(size), headers: blob });
		const stored = [];
		for (let i = 0; i < 400; i++) {
			const r = await put(`b${i}`);
			if (r.status !== 201) break;
			stored.push(`b${i}`);
		}
		assert.ok(stored.length > 20 && stored.length < 400, `${stored.length} fitted`);
		// Others write to the disk, too, until not even a small write has room. The server asks the disk every 10 ms: who fills it
		// faster than that gets far below the reserve, and three blobs do not bring it back.
		const ballast = fs.openSync(path.join(base, 'ballast'), 'w');
		for (let small = 201; small === 201; small = (await put('small', 1)).status) {
			fs.writeSync(ballast, Buffer.alloc(1 << 20, 1));
			await new Promise((resolve) => setTimeout(resolve, 25));
			assert.ok(free() > 1 << 20, 'small writes go on without room');
		}
		fs.closeSync(ballast);
		// Three blobs between others go: no region of 64 MiB is empty, and yet there is room for one.
		const gone = stored.filter((_, i) => i % 2);
		for (const name of gone.slice(0, 3)) expectStatus(await client.delete(`/full/${name}`), 202);
		for (const until = Date.now() + 60_000; (await put('first')).status !== 201; ) {
			assert.ok(Date.now() < until, `${free()} bytes are free, and there is no room`);
			await new Promise((resolve) => setTimeout(resolve, 50));
		}
		// Every other one goes, and so many fit again: into the holes, or what was not given back.
		for (const name of gone.slice(3)) expectStatus(await client.delete(`/full/${name}`), 202);
		let again = 0;
		for (const until = Date.now() + 60_000; again < gone.length - 8; ) {
			if ((await put(`again${again}`)).status === 201) again++;
			else await new Promise((resolve) => setTimeout(resolve, 50));
			assert.ok(Date.now() < until, `${again} of ${gone.length} fitted again`);
		}
		const kept = stored.filter((_, i) => i % 2 === 0);
		for (const name of [...kept, ...Array.from({ length: again }, (_, i) => `again${i}`)]) assert.equal(expectStatus(await client.get(`/full/${name}`), 200).body.length, 1_000_000);
		await server.restart();
		for (const name of kept) assert.equal(expectStatus(await client.get(`/full/${name}`), 200).body.length, 1_000_000);
		expectStatus(await client.delete(`/full/${kept[0]}`), 202);
		await server.stop();
	}));

test('with no byte free deletes still work, and make room', (t) =>
	onSmallDisk(t, async (server, base) => {
		const client = new Client(server), free = () => fs.statfsSync(base).bavail * fs.statfsSync(base).bsize;
		expectStatus(await client.put('/full', { query: { restype: 'container' } }), 201);
		const sizes = [2_000_000, 3_000_000, 100, 2_000_000, 60_000];
		for (const [i, size] of sizes.entries()) expectStatus(await client.put(`/full/b${i}`, { body: crypto.randomBytes(size), headers: blob }), 201);
		// Somebody else takes all there is.
		const ballast = fs.openSync(path.join(base, 'ballast'), 'w');
		for (const piece of [1 << 20, 4096])
			try {
				for (;;) fs.writeSync(ballast, Buffer.alloc(piece, 1));
			} catch (error) {
				assert.equal(error.code, 'ENOSPC');
			}
		fs.closeSync(ballast);
		assert.equal(free(), 0);
		expectStatus(await client.put('/full/new', { body: 'x', headers: blob }), 507);
		for (const [i] of sizes.entries()) expectStatus(await client.delete(`/full/b${i}`), 202);
		for (const [i] of sizes.entries()) expectStatus(await client.get(`/full/b${i}`), 404);
		for (const until = Date.now() + 20_000; free() < 6_000_000; ) {
			assert.ok(Date.now() < until, `${free()} bytes came back`);
			await new Promise((resolve) => setTimeout(resolve, 50));
		}
		fs.rmSync(path.join(base, 'ballast'));
		expectStatus(await client.put('/full/new', { body: 'x', headers: blob }), 201);
		await server.stop();
	}));

test('on a full disk everything that makes room works, and what expired goes', (t) =>
	onSmallDisk(t, async (server, base) => {
		const [blobs, queues, tables] = ['blob', 'queue', 'table'].map((service) => new Client(server, { service }));
		const json = { accept: 'application/json;odata=nometadata', 'content-type': 'application/json' };
		const message = (text) => ({ body: `<QueueMessage><MessageText>${text}</MessageText></QueueMessage>` });
		for (const name of ['full', 'gone']) expectStatus(await blobs.put(`/${name}`, { query: { restype: 'container' } }), 201);
		for (const [name, size] of [['small', 100], ['large', 300_000]]) expectStatus(await blobs.put(`/full/${name}`, { body: Buffer.alloc(size, 1), headers: blob }), 201);
		expectStatus(await blobs.put('/full/large', { query: { comp: 'snapshot' } }), 201);
		expectStatus(await blobs.put('/full/pages', { headers: { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': '1048576' } }), 201);
		expectStatus(await blobs.put('/full/pages', { query: { comp: 'page' }, headers: { 'x-ms-range': 'bytes=0-524287', 'x-ms-page-write': 'update' }, body: Buffer.alloc(524288, 1) }), 201);
		for (const name of ['ready', 'hidden', 'empty', 'mortal', 'gone']) expectStatus(await queues.put(`/${name}`), 201);
		for (let i = 0; i < 5; i++) {
			expectStatus(await queues.post('/ready/messages', message('m')), 201);
			expectStatus(await queues.post('/hidden/messages', { ...message('m'), query: { visibilitytimeout: '60' } }), 201);
			expectStatus(await queues.post('/mortal/messages', { ...message('m'), query: { messagettl: '30' } }), 201);
		}
		// The background would write these again, and more of them than a full disk takes.
		for (let i = 0; i < 60; i++) expectStatus(await queues.post('/mortal/messages', { ...message('x'.repeat(2000)), query: { visibilitytimeout: '1' } }), 201);
		expectStatus(await tables.post('/Tables', { headers: json, body: '{"TableName":"full"}' }), 201);
		expectStatus(await tables.post('/full', { headers: json, body: '{"PartitionKey":"p","RowKey":"r"}' }), 201);
		const { bavail, bsize } = fs.statfsSync(base);
		fs.writeFileSync(path.join(base, 'ballast'), Buffer.alloc(bavail * bsize - 8 * 1024 * 1024));
		expectStatus(await blobs.put('/full/new', { body: 'x', headers: blob }), 507);
		for (const name of ['ready', 'hidden', 'empty']) expectStatus(await queues.delete(`/${name}/messages`), 204);
		const count = async (name) => Number(expectStatus(await queues.get(`/${name}`, { query: { comp: 'metadata' } }), 200).headers['x-ms-approximate-messages-count']);
		assert.deepEqual([await count('ready'), await count('hidden')], [0, 0]);
		expectStatus(await queues.delete('/gone'), 204);
		expectStatus(await tables.delete("/full(PartitionKey='p',RowKey='r')", { headers: { ...json, 'if-match': '*' } }), 204);
		expectStatus(await tables.delete("/Tables('full')"), 204);
		expectStatus(await blobs.put('/full/pages', { query: { comp: 'page' }, headers: { 'x-ms-range': 'bytes=0-524287', 'x-ms-page-write': 'clear' } }), 201);
		expectStatus(await blobs.delete('/full/large', { headers: { 'x-ms-delete-snapshots': 'only' } }), 202);
		for (const name of ['small', 'large', 'pages']) expectStatus(await blobs.delete(`/full/${name}`), 202);
		expectStatus(await blobs.delete('/gone', { query: { restype: 'container' } }), 202);
		await server.advanceClock(60);
		for (const until = Date.now() + 20_000; (await count('mortal')) > 60; ) {
			assert.ok(Date.now() < until, 'what expired is still there');
			await new Promise((resolve) => setTimeout(resolve, 100));
		}
		await server.stop();
	}));

test('a start on a full disk says so', async (t) => {
	const base = tempDir('zaffre-full-');
	if (!mountTmpfs(base, '1m')) {
		removeDir(base);
		t.skip('mounting a tmpfs needs root and the right to mount');
		return;
	}
	try {
		try {
			fs.writeFileSync(path.join(base, 'ballast'), Buffer.alloc(2 * 1024 * 1024));
			assert.fail('the file system is larger than it was made');
		} catch (error) {
			assert.equal(error.code, 'ENOSPC');
		}
		const r = await runProgram(['serve', '--location', path.join(base, 'data'), '--blobPort', '0', '--queuePort', '0', '--tablePort', '0', '--filePort', '0']);
		assert.ok(r.code > 0, `exit code ${r.code} ${r.signal}: ${r.stdout}`);
		assert.match(r.stderr, /space|full/i);
	} finally {
		spawnSync('umount', [base]);
		removeDir(base);
	}
});

// RocksDB's own log comes first, and must not meet it: Debian's build ends with a signal then.
test('a start of a store whose disk others have filled says so, and works when there is room again', (t) =>
	onSmallDisk(t, async (server, base) => {
		const client = new Client(server);
		expectStatus(await client.put('/kept', { query: { restype: 'container' } }), 201);
		await server.kill9();
		const ballast = path.join(base, 'ballast');
		const full = () => {
			const fd = fs.openSync(ballast, 'a');
			try {
				for (;;) fs.writeSync(fd, Buffer.alloc(4096));
			} catch (error) {
				assert.equal(error.code, 'ENOSPC');
			}
			fs.closeSync(fd);
		};
		for (const free of [0, 4096, 12 * 4096]) {
			full();
			fs.truncateSync(ballast, fs.statSync(ballast).size - free);
			const r = await runProgram(['serve', '--location', server.dataDir, '--blobPort', '0', '--queuePort', '0', '--tablePort', '0', '--filePort', '0']);
			assert.equal(r.code, 1, `${r.signal}: ${r.stdout} ${r.stderr}`);
			assert.match(r.stderr, /No space left on device; free some space and start again/);
		}
		fs.rmSync(ballast);
		await server.restart();
		expectStatus(await client.get('/kept', { query: { restype: 'container' } }), 200);
	}));

function files(dir) {
	return fs.readdirSync(dir, { withFileTypes: true }).flatMap((e) => (e.isDirectory() ? files(path.join(dir, e.name)) : [path.join(dir, e.name)]));
}

describe('damage', () => {
	// Flips one bit at each place where the marked bytes lie. Returns how many places there were.
	function flip(dir, marker) {
		let hits = 0;
		for (const file of files(dir)) {
			const bytes = fs.readFileSync(file);
			const fd = fs.openSync(file, 'r+');
			for (let at = bytes.indexOf(marker); at >= 0; at = bytes.indexOf(marker, at + 1)) {
				const where = at + marker.length + 3;
				fs.writeSync(fd, Buffer.from([bytes[where] ^ 0x10]), 0, 1, where);
				hits++;
			}
			fs.closeSync(fd);
		}
		return hits;
	}
	for (const size of [300, 20_000, 200_000])
		test(`a flipped bit in a blob of ${size} bytes is an error, never wrong bytes; scrub names it`, async (t) => {
			const server = await startServer();
			const client = new Client(server);
			const marker = crypto.randomBytes(16);
			const bytes = Buffer.concat([crypto.randomBytes(64), marker, crypto.randomBytes(size - 80)]);
			expectStatus(await client.put('/rot', { query: { restype: 'container' } }), 201);
			expectStatus(await client.put('/rot/victim', { body: bytes, headers: blob }), 201);
			// Neighbours, so that the damage hits a block of its own: names on both sides, small contents and larger ones.
			for (let i = 0; i < 300; i++) expectStatus(await client.put(`/rot/${i % 2 ? 'a' : 'z'}${i}`, { body: Buffer.alloc(i % 3 ? 450 : 3000, i), headers: blob }), 201);
			expectStatus(await client.put('/rot/bystander', { body: 'whole', headers: blob }), 201);
			await server.stop();
			const clean = await runProgram(['scrub', '--location', server.dataDir]);
			assert.equal(clean.code, 0, clean.stdout + clean.stderr);
			assert.match(clean.stdout, /: 0 damaged/);
			const hits = flip(server.dataDir, marker);
			assert.ok(hits > 0, 'the bytes were not found on the disk');
			let opened = true;
			try {
				await server.start();
			} catch (error) {
				// Where the damage hits what is needed to open, it must say so and what to do.
				opened = false;
				t.diagnostic(`refused: ${error.stderr.trim()}`);
				assert.match(error.stderr, /corrupt|damage|checksum|restore the directory from a backup/i);
			}
			if (opened) {
				let answer;
				try {
					answer = await client.get('/rot/victim');
				} catch {
					answer = undefined; // the connection was cut in the middle of the body: no wrong bytes either
				}
				if (answer?.status === 200) assert.ok(answer.body.equals(bytes), 'wrong bytes were served');
				else if (answer) assert.equal(answer.status, 500);
				const other = await client.get('/rot/bystander');
				if (other.status === 200) assert.equal(other.text, 'whole');
				else assert.equal(other.status, 500);
				await server.stop();
				const found = await runProgram(['scrub', '--location', server.dataDir]);
				t.diagnostic(`opened; the victim answered ${answer?.status ?? 'with a cut connection'}; scrub: ${found.stdout.trim().split('\n').join(' | ')}`);
				if (answer?.status !== 200) {
					assert.equal(found.code, 1, found.stdout + found.stderr);
					assert.match(found.stdout, /damaged: devstoreaccount1\/rot\//);
					assert.ok(Number(/(\d+) rows/.exec(found.stdout)[1]) > 150, 'scrub stopped at the damage');
				}
			}
			await server.remove();
		});
});

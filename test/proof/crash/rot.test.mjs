// SPDX-License-Identifier: Apache-2.0
// Bit rot. A data directory with every kind of object is copied, one thing in the copy is damaged (a bit flipped, a sector zeroed, two
// blocks of a segment file swapped), and then: the server serves the right bytes or an error, never other bytes and never a silent 404;
// whatever it cannot serve, `zaffre scrub` finds and names; and a scrub that says "clean" means that everything is served.
// ZAFFRE_CRASH_ROUNDS makes it long; ZAFFRE_SEED repeats the damage.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { removeDir, runProgram, scaled, startServer, tempDir } from '../../lib/server.mjs';
import { Client } from '../../lib/http.mjs';
import { expectStatus } from '../../lib/assert.mjs';
import { Files, fileClient } from '../../lib/file.mjs';
import { random } from './random.mjs';

const ROUNDS = Number(process.env.ZAFFRE_CRASH_ROUNDS ?? scaled(24, 4));
const SEED = Number(process.env.ZAFFRE_SEED ?? crypto.randomInt(2 ** 31));
const base = tempDir('zaffre-rot-');
const block = { 'x-ms-blob-type': 'BlockBlob' };
const json = { accept: 'application/json;odata=nometadata', 'content-type': 'application/json' };
const noise = (n) => crypto.randomBytes(n);
const read = (service, where, query) => ({ service, where, query });
// name as scrub must say it -> how it is read
const objects = new Map();
const expected = new Map();

async function fill(server) {
	const blob = new Client(server);
	const queue = new Client(server, { service: 'queue' });
	const table = new Client(server, { service: 'table' });
	const put = async (name, body, headers = block) => {
		expectStatus(await blob.put(`/rot/${name}`, { body, headers }), 201);
		objects.set(`devstoreaccount1/rot/${name}`, read('blob', `/rot/${name}`));
	};
	expectStatus(await blob.put('/rot', { query: { restype: 'container' } }), 201);
	for (let i = 0; i < 40; i++) await put(`small${i}`, noise(200));
	for (let i = 0; i < 20; i++) await put(`row${i}`, noise(5_000));
	for (let i = 0; i < 8; i++) await put(`extent${i}`, noise(100_000));
	await put('large', noise(3_000_000));
	await put('replaced', noise(80_000));
	await put('replaced', noise(90_000));
	const id = (n) => Buffer.from(`block-${n}`).toString('base64');
	for (let i = 0; i < 3; i++) expectStatus(await blob.put('/rot/blocks', { query: { comp: 'block', blockid: id(i) }, body: noise(50_000) }), 201);
	const list = `<BlockList>${[0, 1, 2].map((n) => `<Latest>${id(n)}</Latest>`).join('')}</BlockList>`;
	expectStatus(await blob.put('/rot/blocks', { query: { comp: 'blocklist' }, body: list }), 201);
	objects.set('devstoreaccount1/rot/blocks', read('blob', '/rot/blocks'));
	expectStatus(await blob.put('/rot/staged', { query: { comp: 'block', blockid: id(9) }, body: noise(40_000) }), 201);
	await put('append', undefined, { 'x-ms-blob-type': 'AppendBlob' });
	for (let i = 0; i < 3; i++) expectStatus(await blob.put('/rot/append', { query: { comp: 'appendblock' }, body: noise(20_000) }), 201);
	await put('page', undefined, { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': 2_097_152 });
	for (const from of [0, 65_536, 1_048_576])
		expectStatus(
			await blob.put('/rot/page', {
				query: { comp: 'page' },
				body: noise(16_384),
				headers: { 'x-ms-page-write': 'update', range: `bytes=${from}-${from + 16_383}` },
			}),
			201,
		);
	const snapshot = expectStatus(await blob.put('/rot/extent0', { query: { comp: 'snapshot' } }), 201).headers['x-ms-snapshot'];
	objects.set('devstoreaccount1/rot/extent0 (snapshot or version)', read('blob', '/rot/extent0', { snapshot }));
	await put('extent0', noise(70_000));
	expectStatus(await queue.put('/rotq'), 201);
	for (let i = 0; i < 30; i++)
		expectStatus(await queue.post('/rotq/messages', { body: `<QueueMessage><MessageText>${noise(i % 2 ? 60 : 3000).toString('hex')}</MessageText></QueueMessage>` }), 201);
	objects.set('devstoreaccount1/rotq/message', read('queue', '/rotq/messages', { peekonly: 'true', numofmessages: '30' }));
	expectStatus(await table.post('/Tables', { headers: json, body: '{"TableName":"rott"}' }), 201);
	for (let i = 0; i < 40; i++) {
		expectStatus(await table.post('/rott', { headers: json, body: JSON.stringify({ PartitionKey: `p${i % 4}`, RowKey: `r${i}`, text: noise(300).toString('hex') }) }), 201);
		objects.set(`devstoreaccount1/rott/entity PartitionKey='p${i % 4}' RowKey='r${i}'`, read('table', `/rott(PartitionKey='p${i % 4}',RowKey='r${i}')`));
	}
}

// A share: files in rows, in extents and in pieces, a snapshot that shares bytes with the live state, permissions, a tree.
async function fillShare(server) {
	const files = new Files(fileClient(server));
	const file = async (path, name = path) => objects.set(`devstoreaccount1/rots/${name}`, read('file', `/rots/${path}`));
	expectStatus(await files.share('rots', { 'x-ms-share-quota': 5 }), 201);
	expectStatus(await files.mkdir('/rots/d', { 'x-ms-file-permission': 'O:SYG:SYD:(A;;FA;;;SY)' }), 201);
	for (let i = 0; i < 10; i++) {
		await files.put(`/rots/d/tiny${i}`, noise(300));
		await file(`d/tiny${i}`);
	}
	for (let i = 0; i < 10; i++) {
		await files.put(`/rots/row${i}`, noise(6_000));
		await file(`row${i}`);
	}
	for (let i = 0; i < 4; i++) {
		await files.put(`/rots/d/extent${i}`, noise(90_000));
		await file(`d/extent${i}`);
	}
	expectStatus(await files.create('/rots/pieces', 1_000_000), 201);
	for (let i = 0; i < 20; i++) expectStatus(await files.write('/rots/pieces', (i * 48_611) % 900_000, noise([100, 3_000, 40_000][i % 3])), 201);
	await file('pieces');
	const snapshot = await files.snapshot('/rots');
	objects.set('devstoreaccount1/rots/pieces (snapshot)', read('file', '/rots/pieces', { sharesnapshot: snapshot }));
	expectStatus(await files.write('/rots/pieces', 10_000, noise(200_000)), 201);
	expectStatus(await files.rename('/rots/row9', '/rots/d/moved'), 200);
	objects.delete('devstoreaccount1/rots/row9');
	await file('d/moved');
}

async function look(server, { service, where, query }) {
	const client = new Client(server, { service });
	try {
		const r = await client.get(where, { query, headers: service === 'table' ? json : {} });
		// What differs between two reads of the same state is left out.
		const body = service === 'queue' ? [...r.text.matchAll(/<MessageId>(.*?)<|<MessageText>(.*?)</g)].join() : r.body;
		return { status: r.status, hash: crypto.createHash('sha256').update(body).digest('hex') };
	} catch (error) {
		return { status: 'cut', error };
	}
}

async function listNames(server) {
	const names = [];
	for (const [service, where, query] of [
		['blob', '/rot', { restype: 'container', comp: 'list' }],
		['file', '/rots', { restype: 'directory', comp: 'list' }],
		['file', '/rots/d', { restype: 'directory', comp: 'list' }],
	]) {
		const r = await new Client(server, { service }).get(where, { query });
		if (r.status !== 200) return undefined;
		names.push(...[...r.text.matchAll(/<Name>([^<]*)</g)].map((m) => m[1]));
	}
	return names.join();
}

function copyOf(dir) {
	const to = fs.mkdtempSync(path.join(base, 'copy-'));
	const r = spawnSync('cp', ['-a', '--sparse=always', `${dir}/.`, to]);
	assert.equal(r.status, 0, String(r.stderr));
	return to;
}

function filesOf(dir) {
	return fs.readdirSync(dir, { withFileTypes: true }).flatMap((e) => (e.isDirectory() ? filesOf(path.join(dir, e.name)) : e.isFile() ? [path.join(dir, e.name)] : [])).sort(); // a killed server leaves its socket
}

// Blocks of 4 KiB that hold something, of the files that match.
function blocksOf(dir, match) {
	const found = [];
	for (const file of filesOf(dir)) {
		if (!match.test(path.relative(dir, file))) continue;
		const bytes = fs.readFileSync(file);
		for (let at = 0; at < bytes.length; at += 4096) if (bytes.subarray(at, at + 4096).some((b) => b)) found.push({ file, at, length: Math.min(4096, bytes.length - at) });
	}
	return found;
}

function patch(file, at, bytes) {
	const fd = fs.openSync(file, 'r+');
	fs.writeSync(fd, bytes, 0, bytes.length, at);
	fs.closeSync(fd);
}
function peek(file, at, length) {
	const fd = fs.openSync(file, 'r');
	const bytes = Buffer.alloc(length);
	fs.readSync(fd, bytes, 0, length, at);
	fs.closeSync(fd);
	return bytes;
}

// One file in two is a segment, else it may be any.
function somewhere(dir, next) {
	const names = filesOf(dir).map((file) => path.relative(dir, file)).filter((name) => !/LOCK|LOG|accounts/.test(name));
	const pick = names.filter((name) => /segments/.test(name) === Boolean(next(2)));
	const name = (pick.length ? pick : names)[next(pick.length || names.length)];
	const blocks = blocksOf(dir, new RegExp(`^${name}$`));
	return blocks.length ? blocks : blocksOf(dir, /segments/);
}

const kinds = {
	flip(dir, next) {
		const blocks = somewhere(dir, next);
		const b = blocks[next(blocks.length)];
		const at = b.at + next(b.length);
		patch(b.file, at, Buffer.from([peek(b.file, at, 1)[0] ^ (1 << next(8))]));
		return `a bit of ${path.relative(dir, b.file)} at ${at}`;
	},
	zero(dir, next) {
		const blocks = somewhere(dir, next);
		const b = blocks[next(blocks.length)];
		const at = b.at + 512 * next(Math.ceil(b.length / 512));
		patch(b.file, at, Buffer.alloc(Math.min(512, b.at + b.length - at)));
		return `sector at ${at} of ${path.relative(dir, b.file)} zeroed`;
	},
	swap(dir, next) {
		const blocks = blocksOf(dir, /segments/);
		const a = blocks[next(blocks.length)];
		const b = blocks[next(blocks.length)];
		const [x, y] = [peek(a.file, a.at, 4096), peek(b.file, b.at, 4096)];
		patch(a.file, a.at, y);
		patch(b.file, b.at, x);
		return `blocks at ${a.at} and ${b.at} of the segments swapped`;
	},
	// Whole extents of one length change places: every checksum within them is right, only the place is not.
	extents(dir) {
		const file = filesOf(dir).find((f) => /segments/.test(f));
		const blocks = 25; // 100,000 bytes and two checksums
		const bytes = fs.readFileSync(file);
		const starts = ['extent1', 'extent2'].map((name) => bytes.indexOf(contents.get(name).subarray(0, 64)));
		assert.ok(starts.every((at) => at >= 0 && at % 4096 === 0), `extents at ${starts}`);
		const [x, y] = starts.map((at) => peek(file, at, blocks * 4096));
		patch(file, starts[0], y);
		patch(file, starts[1], x);
		return 'two extents of one length swapped';
	},
};
const contents = new Map();

let closed, killed;
before(async () => {
	const server = await startServer();
	await fill(server);
	await fillShare(server);
	for (const [name, how] of objects) {
		expected.set(name, await look(server, how));
		assert.equal(expected.get(name).status, 200, name);
	}
	for (const name of ['extent1', 'extent2']) contents.set(name, (await new Client(server).get(`/rot/${name}`)).body);
	expected.set('list', await listNames(server));
	await server.kill9();
	killed = copyOf(server.dataDir);
	// Some starts and ends move the rows from the log into tables.
	await server.start();
	await server.stop();
	closed = copyOf(server.dataDir);
	await server.remove();
});
after(() => removeDir(base));

async function scrub(dir) {
	return runProgram(['scrub', '--location', dir]);
}

test('scrub: clean, in use, not there, refuses to guess', async () => {
	for (const dir of [closed, killed]) {
		const copy = copyOf(dir);
		const r = await scrub(copy);
		assert.equal(r.code, 0, r.stdout + r.stderr);
		assert.match(r.stdout, /\d+ partitions, \d+ rows, \d+ extents with \d+ bytes: 0 damaged/);
		assert.match(r.stderr, /100%, 0 s left/);
		removeDir(copy);
	}
	assert.equal((await scrub(path.join(base, 'nothing-here'))).code, 2);
	// A running server scrubs itself when it is asked; one that cannot be asked keeps others out.
	const asked = await startServer({ dataDir: copyOf(closed) });
	const online = await scrub(asked.dataDir);
	assert.equal(online.code, 0, online.stdout + online.stderr);
	assert.match(online.stdout, /: 0 damaged/);
	await asked.stop();
	removeDir(asked.dataDir);
	const server = await startServer({ dataDir: copyOf(closed), flags: ['--adminSocket', 'off'] });
	const busy = await scrub(server.dataDir);
	assert.equal(busy.code, 2, busy.stdout + busy.stderr);
	assert.match(busy.stderr, /LOCK|in use|another/i);
	await server.stop();
	removeDir(server.dataDir);
});

// One damaged directory, looked at by the server and by scrub.
async function judge(dir, what) {
	const wrong = [];
	const unserved = [];
	const mine = copyOf(dir);
	const server = startServer({ dataDir: mine });
	let running;
	try {
		running = await server;
	} catch (error) {
		assert.match(error.stderr, /corrupt|damage|checksum|backup|format/i, `${what}: refused without saying why: ${error.stderr}`);
	}
	if (running) {
		for (const [name, how] of objects) {
			const r = await look(running, how);
			if (r.status === 200 && r.hash === expected.get(name).hash) continue;
			if (r.status === 500 || r.status === 503 || r.status === 'cut') unserved.push(name);
			else wrong.push(`${name}: ${r.status}`);
		}
		const names = await listNames(running);
		if (names !== undefined && names !== expected.get('list')) wrong.push(`the list: ${names}`);
		if (names === undefined) unserved.push('the list');
		await running.kill9();
	}
	const found = await scrub(dir);
	const said = found.stdout.trim().split('\n');
	assert.deepEqual(wrong, [], `${what}: wrong answers; scrub: ${said.join(' | ')}`);
	assert.ok(found.code === 0 || found.code === 1, `${what}: scrub ended with ${found.code ?? found.signal}: ${found.stderr}`);
	assert.equal(found.code, running && !unserved.length && found.code === 0 ? 0 : 1, `${what}: scrub calls it clean, but ${running ? unserved.join(', ') : 'it does not start'}`);
	// Named one by one, unless the index itself has a hole.
	const hole = /the index behind|the list of containers|\/row |\/container |\/queue |\/table |\/share |cannot open|zaffre: /.test(found.stdout + found.stderr.replace(/^\d+%.*$/gm, ''));
	for (const name of unserved) if (!hole && name !== 'the list') assert.ok(found.stdout.includes(`damaged: ${name}`), `${what}: scrub does not name ${name}: ${said.join(' | ')}`);
	removeDir(mine);
	return { refused: !running, unserved: unserved.length, found: found.code === 1, said };
}

test('two extents swapped: every checksum of theirs is right, yet neither is served', async () => {
	const dir = copyOf(closed);
	const what = kinds.extents(dir);
	const r = await judge(dir, what);
	assert.equal(r.unserved, 2);
	removeDir(dir);
});

// What only the journal has yet: nothing of it may be left out in silence, be it the last record.
test(`the journal of a killed store damaged ${ROUNDS} times, seed ${SEED}`, async (t) => {
	const next = random(SEED);
	const count = { refused: 0, harmless: 0 };
	const records = blocksOf(killed, /^journal\//).filter((b) => b.at > 0);
	for (let round = 0; round < ROUNDS; round++) {
		const dir = copyOf(killed);
		// The first and the last block of records, then any, headers too.
		const all = blocksOf(dir, /^journal\//);
		const b = round < 2 ? { ...records.at(-round), file: path.join(dir, path.relative(killed, records.at(-round).file)) } : all[next(all.length)];
		const at = b.at + (b.at === 0 ? next(44) : next(200)); // where a block of a record surely holds something
		if (round % 2) patch(b.file, at, Buffer.from([peek(b.file, at, 1)[0] ^ (1 << next(8))]));
		else patch(b.file, b.at, Buffer.alloc(512));
		const r = await judge(dir, `seed ${SEED}, round ${round}: ${path.relative(dir, b.file)} at ${round % 2 ? at : b.at}`);
		if (r.refused) count.refused++;
		else count.harmless++;
		removeDir(dir);
	}
	t.diagnostic(`${count.refused} refused at start, ${count.harmless} harmless (padding, or in tables already); seed ${SEED}`);
	assert.ok(count.refused > 0);
});

test(`${ROUNDS} kinds of damage, seed ${SEED}`, async (t) => {
	const next = random(SEED);
	const count = { harmless: 0, found: 0, refused: 0, unserved: 0 };
	for (let round = 0; round < ROUNDS; round++) {
		const dir = copyOf(round % 3 ? closed : killed);
		const kind = ['flip', 'zero', 'swap', 'flip'][round % 4];
		const what = `seed ${SEED}, round ${round}: ${kinds[kind](dir, next)}`;
		const r = await judge(dir, what);
		count.refused += r.refused;
		count.found += r.found;
		count.harmless += !r.found;
		count.unserved += r.unserved;
		removeDir(dir);
		if (process.env.ZAFFRE_ROT_SAY) t.diagnostic(`${what}: ${r.refused ? 'refused' : `${r.unserved} unserved`}; ${r.said.join(' | ')}`);
	}
	t.diagnostic(`${ROUNDS} damages: ${count.found} found by scrub, ${count.harmless} harmless, ${count.refused} refused at start, ${count.unserved} objects answered with an error; seed ${SEED}`);
	assert.ok(count.found > 0);
});

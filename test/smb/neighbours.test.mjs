// SPDX-License-Identifier: Apache-2.0
// What the SMB clients of one account can do to another account on the same loop: locks that thousands wait for, locks
// that fill the memory for opens, leases that are never given back, watches that nobody reads. While it lasts the other
// account's opens, and its GET and PUT over REST, are answered.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, test } from 'node:test';
import { inParallel, patience, sleep } from '../lib/beside.mjs';
import { fileClient } from '../lib/file.mjs';
import { freePort, scaled, startServer, WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY } from '../lib/server.mjs';
import { COMMAND, SmbClient, STATUS } from '../lib/smb.mjs';

const OTHER = { account: 'neighbour', key: Buffer.alloc(32, 7).toString('base64') };
const SLOWEST_MS = 2000 * patience; // of one answer; a loop that is held takes as long as the attack
const figures = process.env.ZAFFRE_TEST_FIGURES ? (text) => console.error(text) : () => {};
let server, port, rest;

before(async () => {
	port = await freePort();
	server = await startServer({
		flags: ['--threads', '1', '--silent', '--smbPort', String(port), '--create', 'share:crowd'],
		env: { ZAFFRE_ACCOUNTS: `${WELL_KNOWN_ACCOUNT}:${WELL_KNOWN_KEY};${OTHER.account}:${OTHER.key}` },
	});
	rest = fileClient(server, OTHER);
	assert.equal((await rest.put('/quiet', { query: { restype: 'share' } })).status, 201);
	assert.equal((await rest.put('/quiet/f', { headers: { 'x-ms-type': 'file', 'x-ms-content-length': '4' } })).status, 201);
});
after(() => server?.remove());

async function connect(share, account = WELL_KNOWN_ACCOUNT, key = WELL_KNOWN_KEY) {
	const c = await SmbClient.connect(port);
	assert.equal((await c.negotiate()).status, 0);
	assert.equal((await c.login(account, key)).status, 0);
	const tree = await c.treeConnect(share);
	assert.equal((await c.echo({ credits: 1500 })).status, 0);
	return { c, tree };
}

const rssMib = () => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${server.pid}/status`, 'latin1'))[1]) / 1024;

// The neighbour's day, until the attack is over: how often, and the slowest of its answers.
async function besides(what, attack) {
	const { c, tree } = await connect('quiet', OTHER.account, OTHER.key);
	let over = false;
	let rounds = 0;
	let slowest = 0;
	const timed = async (asked) => {
		const began = performance.now();
		const answer = await asked;
		slowest = Math.max(slowest, performance.now() - began);
		return answer;
	};
	const attacked = attack().finally(() => (over = true));
	for (; !over || rounds < 3; rounds++) {
		const opened = await timed(c.create(tree, 'mine'));
		assert.equal(opened.status, 0);
		assert.equal((await timed(c.close(tree, opened.id))).status, 0);
		assert.equal((await timed(rest.put('/quiet/f', { query: { comp: 'range' }, headers: { 'x-ms-write': 'update', 'x-ms-range': 'bytes=0-3' }, body: 'abcd' }))).status, 201);
		assert.equal((await timed(rest.get('/quiet/f'))).text, 'abcd');
		await sleep(2);
	}
	const result = await attacked;
	figures(`${what}: ${rounds} rounds of the neighbour, its slowest answer ${slowest.toFixed(0)} ms`);
	assert.ok(slowest < SLOWEST_MS, `${what}: an answer of the neighbour took ${slowest.toFixed(0)} ms`);
	await c.end();
	return result;
}

// Each that waits looks again when the lock is released, and reads the file's opens to do so.
test('thousands wait for one lock', { timeout: 120_000 * patience }, async () => {
	const CONNECTIONS = 6, EACH = scaled(500, 100), OPENS = 100;
	const holder = await connect('crowd');
	const held = await holder.c.create(holder.tree, 'waited for');
	const exclusive = [[0, 1, 0x12]];
	assert.equal((await holder.c.lock(holder.tree, held.id, exclusive)).status, 0);
	const before = rssMib();
	const waiters = [];
	let granted = 0;
	await besides('waiters', async () => {
		for (let i = 0; i < CONNECTIONS; i++) {
			const w = await connect('crowd');
			const opens = await Promise.all(Array.from({ length: OPENS }, () => w.c.create(w.tree, 'waited for')));
			for (let k = 0; k < EACH; k++) w.c.lock(w.tree, opens[k % OPENS].id, [[0, 1, 2]]).then((a) => (granted += a.status === 0));
			assert.equal((await w.c.echo()).status, 0);
			waiters.push(w);
		}
		assert.equal((await holder.c.lock(holder.tree, held.id, [[0, 1, 4]])).status, 0);
		for (const end = Date.now() + 60_000; !granted && Date.now() < end;) await sleep(5);
		assert.equal((await holder.c.lock(holder.tree, held.id, exclusive)).status, STATUS.LOCK_NOT_GRANTED);
	});
	assert.equal(granted, 1);
	const grown = rssMib() - before;
	figures(`${CONNECTIONS * EACH} waiters: ${grown.toFixed(0)} MiB`);
	if (patience === 1) assert.ok(grown < 100, `${grown.toFixed(0)} MiB more`);
	await Promise.all([...waiters, holder].map(({ c }) => c.end()));
});

// Every kind of open and lock is a row in memory; one account gets half of it.
test('locks fill the memory for opens', { timeout: 240_000 * patience, skip: patience > 1 ? 'a sanitizer needs minutes to fill it' : false }, async () => {
	const LOCKS = 1024;
	const ranges = Array.from({ length: LOCKS }, (_, k) => [k, 1, 0x12]);
	const a = await connect('crowd');
	let rows = 0;
	let refused;
	const fill = async (file) => {
		const opened = await a.c.create(a.tree, `full\\${file}`);
		const status = opened.status || (await a.c.lock(a.tree, opened.id, ranges)).status;
		if (status === 0) rows++;
		else refused ??= status;
	};
	assert.equal((await a.c.create(a.tree, 'full', { options: 1 })).status, 0);
	await besides('a full memory', () => inParallel(20_000, 32, (file) => (refused ? undefined : fill(file))));
	assert.equal(refused, STATUS.QUOTA_EXCEEDED);
	figures(`refused after ${rows} opens with ${LOCKS} locks`);
	assert.ok(rows > 5000 && rows < 9000, `${rows} opens with ${LOCKS} locks`);
	// The neighbour has as much as it needs, the attacker can read, write and close what it has.
	await besides('memory that is full', () => sleep(500));
	await a.c.end();
	for (const end = Date.now() + 30_000; ;) {
		const again = await connect('crowd');
		const { status } = await again.c.create(again.tree, 'full\\again');
		await again.c.end();
		if (status === 0) break;
		assert.ok(Date.now() < end, 'what it had did not come back');
		await sleep(100);
	}
});

// Who opens them waits for the deadline of the break, and nobody else does.
test('leases that are never given back', { timeout: 120_000 * patience }, async () => {
	const FILES = scaled(400, 50);
	const lease = (i) => {
		const data = Buffer.alloc(32);
		data.writeUInt32LE(i + 1, 0);
		data.writeUInt32LE(7, 16); // read, handle and write
		return { oplock: 0xff, contexts: [['RqLs', data]] };
	};
	const silent = await connect('crowd');
	await inParallel(FILES, 32, async (i) => assert.equal((await silent.c.create(silent.tree, `leased ${i}`, lease(i))).status, 0));
	const asking = await Promise.all(Array.from({ length: 3 }, () => connect('crowd')));
	let answered = 0;
	await besides('breaks', async () => {
		for (const { c, tree } of asking) for (let i = 0; i < FILES; i++) c.create(tree, `leased ${i}`, { access: 2 }).then(() => answered++);
		await Promise.all(asking.map(({ c }) => c.echo()));
		await sleep(2000);
	});
	assert.equal(answered, 0, 'they wait for the holder');
	assert.equal(silent.c.breaks.length, FILES);
	await Promise.all([...asking, silent].map(({ c }) => c.end()));
	await besides('after them', () => sleep(200));
});

// One change is told to every watcher of every directory above it; none of them takes what it is told.
test('watches of a deep tree that nobody reads', { timeout: 120_000 * patience }, async () => {
	const DEPTH = 40, WATCHES_EACH = 12, CHANGES = scaled(400, 50);
	const a = await connect('crowd');
	const watchers = [await connect('crowd')];
	let deep = 'deep';
	for (let level = 0; level < DEPTH; level++, deep += '\\d') {
		const made = await a.c.create(a.tree, deep, { options: 1 });
		assert.equal(made.status, 0);
		for (let i = 0; i < WATCHES_EACH; i++) {
			const { c, tree } = watchers[0];
			const opened = await c.create(tree, deep, { options: 1, access: 1 });
			assert.equal(opened.status, 0);
			c.request(COMMAND.CHANGE_NOTIFY, SmbClient.notifyBody(opened.id, 0x17f, { tree: true, room: 65536 }), { tree });
		}
		await a.c.close(a.tree, made.id);
	}
	await watchers[0].c.echo();
	watchers[0].c.socket.pause();
	const before = rssMib();
	await besides('watches', () => inParallel(CHANGES, 8, async (i) => {
		const name = `deep${'\\d'.repeat(DEPTH - 1)}\\${'long'.repeat(40)}${i}`;
		const opened = await a.c.create(a.tree, name);
		assert.equal(opened.status, 0);
		assert.equal((await a.c.close(a.tree, opened.id)).status, 0);
	}));
	const grown = rssMib() - before;
	figures(`${DEPTH * WATCHES_EACH} watches, ${CHANGES} changes: ${grown.toFixed(0)} MiB`);
	if (patience === 1) assert.ok(grown < 64, `${grown.toFixed(0)} MiB more`);
	await Promise.all([...watchers, a].map(({ c }) => c.end()));
});

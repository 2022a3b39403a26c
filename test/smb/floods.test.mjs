// SPDX-License-Identifier: Apache-2.0
// What SMB clients can send or hold without end, and what others of the same loop notice of it: strangers that announce
// long messages, echoes without a pause, silent connections, patterns that match nothing in a large directory.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { inParallel, patience, sleep, threadSeconds } from '../lib/beside.mjs';
import { freePort, startServer, scaled, WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY } from '../lib/server.mjs';
import { COMMAND, SmbClient, STATUS } from '../lib/smb.mjs';

const ECHO_BYTES = 72; // a message and its answer, framed
const WINDOW = 4096; // echoes under way
const NO_SUCH_FILE = 0xc000000f;

async function negotiated(port) {
	const c = await SmbClient.connect(port);
	assert.equal((await c.negotiate()).status, 0);
	return c;
}

async function loggedIn(port) {
	const c = await negotiated(port);
	assert.equal((await c.login(WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY)).status, 0);
	return c;
}

// In a thread of its own: echoes of nobody in particular, so many under way at any time.
async function flood(port) {
	const c = await negotiated(port);
	assert.equal((await c.echo({ credits: WINDOW + 1 })).status, 0);
	c.socket.removeAllListeners('data');
	const one = Buffer.concat([Buffer.from([0, 0, 0, ECHO_BYTES - 4]), c.header(COMMAND.ECHO, { credits: 1 }), Buffer.from([4, 0, 0, 0])]);
	const batch = Buffer.concat(Array.from({ length: WINDOW / 8 }, () => one));
	let sent = 0;
	let answered = 0;
	let bytes = 0;
	let stopped = false;
	const fill = () => {
		while (!stopped && sent - answered <= WINDOW - WINDOW / 8) {
			for (let i = 0; i < WINDOW / 8; i++) batch.writeBigUInt64LE(c.messageId++, i * ECHO_BYTES + 4 + 24);
			c.socket.write(Buffer.from(batch));
			sent += WINDOW / 8;
		}
	};
	c.socket.on('data', (data) => {
		bytes += data.length;
		answered = Math.floor(bytes / ECHO_BYTES);
		fill();
	});
	fill();
	parentPort.once('message', () => {
		stopped = true;
		c.socket.destroy();
		parentPort.postMessage(answered);
	});
	parentPort.postMessage('ready');
}

function startFlood(port) {
	const worker = new Worker(new URL(import.meta.url), { workerData: { smbFlood: port } });
	const next = () => new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
	return { ready: next(), stop: () => (worker.postMessage('stop'), next()) };
}

if (!isMainThread && workerData?.smbFlood) await flood(workerData.smbFlood);
else all();

function all() {
	let server, port;
	before(async () => {
		port = await freePort();
		server = await startServer({ flags: ['--threads', '1', '--silent', '--smbPort', String(port), '--create', 'share:floods', '--maxConnections', '60', '--maxConnectionsPerAddress', '60'] });
	});
	after(() => server?.remove());

	const rssMib = (of = server) => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${of.pid}/status`, 'latin1'))[1]) / 1024;

	test('who has not logged in cannot announce long messages', async () => {
		const before = rssMib();
		const strangers = await Promise.all(Array.from({ length: 20 }, (_, i) => (i % 2 ? negotiated(port) : SmbClient.connect(port))));
		const piece = Buffer.alloc(4 * 1024 * 1024, 1);
		for (const c of strangers) {
			c.sendRaw(Buffer.from([0, 0x7f, 0xff, 0xff]));
			c.sendRaw(piece);
		}
		let timer;
		const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error('still connected')), 10_000 * patience)));
		await Promise.race([Promise.all(strangers.map((c) => c.ended)), late]).finally(() => clearTimeout(timer));
		if (patience === 1) assert.ok(rssMib() < before + 24, `${before.toFixed(0)} MiB before, ${rssMib().toFixed(0)} MiB after`);
	});

	// A loop that reads as long as something comes would answer nobody else.
	test('echoes without end do not keep others of the loop waiting', async () => {
		const other = await loggedIn(port);
		const floods = [startFlood(port), startFlood(port)];
		await Promise.all(floods.map((f) => f.ready));
		let slowest = 0;
		let answered = 0;
		for (const end = Date.now() + 3000; Date.now() < end; answered++) {
			const began = performance.now();
			assert.equal((await other.echo()).status, 0);
			slowest = Math.max(slowest, performance.now() - began);
			await sleep(5);
		}
		const echoes = (await Promise.all(floods.map((f) => f.stop()))).reduce((a, b) => a + b);
		await other.end();
		assert.ok(echoes > 1000, `only ${echoes} echoes: no flood`);
		if (process.env.ZAFFRE_TEST_FIGURES) console.error(`${echoes} echoes of others, ${answered} answers, the slowest ${slowest.toFixed(1)} ms`);
		assert.ok(slowest < 1000 * patience, `an echo took ${slowest.toFixed(0)} ms beside ${echoes} of others`);
	});

	test('silent connections make room for who logs in', async () => {
		const silent = await Promise.all(Array.from({ length: 60 }, () => SmbClient.connect(port)));
		await sleep(200); // older than who may have its first message under way
		const began = Date.now();
		const c = await loggedIn(port);
		assert.ok(Date.now() - began < 5000 * patience, `logged in after ${Date.now() - began} ms`);
		assert.ok(silent.some((s) => s.closed), 'nobody made room');
		await Promise.all([...silent, c].map((s) => s.end()));
	});

	// All of them are logged in: what they announce and send is bounded as a whole, and given back.
	test('long messages that never end stay within the budget', { skip: patience > 1 ? 'memory means nothing under a sanitizer' : false }, async () => {
		const LIMIT_MIB = 64;
		const ownPort = await freePort();
		const own = await startServer({ flags: ['--silent', '--smbPort', String(ownPort), '--create', 'share:floods', '--requestMemory', String(LIMIT_MIB)] });
		try {
			const rss = () => rssMib(own);
			const before = rss();
			const senders = await Promise.all(Array.from({ length: 40 }, () => loggedIn(ownPort)));
			let most = 0;
			for (const c of senders) {
				c.sendRaw(Buffer.from([0, 0x7f, 0xff, 0xff]));
				c.sendRaw(Buffer.alloc(7 << 20, 1));
			}
			for (const end = Date.now() + 4000; Date.now() < end; await sleep(20)) most = Math.max(most, rss());
			const open = senders.filter((c) => !c.closed).length;
			if (process.env.ZAFFRE_TEST_FIGURES) console.error(`${before.toFixed(0)} MiB before, ${most.toFixed(0)} at most, ${open} of ${senders.length} still sending`);
			assert.ok(most < before + LIMIT_MIB * 1.5, `${before.toFixed(0)} MiB before, ${most.toFixed(0)} at most`);
			assert.ok(open > 0 && open * 7 <= LIMIT_MIB + 8, `${open} are let in`);
			// Who has little to say is answered meanwhile, and later who has much.
			const other = await loggedIn(ownPort);
			assert.equal((await other.echo()).status, 0);
			await Promise.all(senders.map((c) => c.end()));
			await sleep(100);
			const tree = await other.treeConnect('floods');
			const file = await other.create(tree, 'large', { disposition: 2 });
			assert.equal((await other.write(tree, file.id, 0, Buffer.alloc(1 << 20, 7))).status, 0);
			await other.end();
		} finally {
			await own.remove();
		}
	});

	describe('a large directory', () => {
		const FILES = scaled(6000, 3000);
		const name = (i) => `${String(i).padStart(6, '0')}-${'long'.repeat(45)}`;
		let c, tree;
		before(async () => {
			c = await loggedIn(port);
			tree = await c.treeConnect('floods');
			const dir = await c.create(tree, 'many', { options: 1 });
			assert.equal(dir.status, 0);
			await c.close(tree, dir.id);
			await inParallel(FILES, 64, async (i) => {
				const file = await c.create(tree, `many\\${name(i)}`, { disposition: 2 });
				assert.equal(file.status, 0);
				assert.equal((await c.close(tree, file.id)).status, 0);
			});
		});
		after(() => c?.end());

		function find(client, to, id, pattern, flags = 1) {
			const text = Buffer.from(pattern, 'utf16le');
			const body = Buffer.alloc(32);
			body.writeUInt16LE(33, 0);
			body[2] = 37;
			body[3] = flags;
			id.copy(body, 8);
			body.writeUInt16LE(96, 24);
			body.writeUInt16LE(text.length, 26);
			body.writeUInt32LE(65536, 28);
			return client.request(COMMAND.QUERY_DIRECTORY, Buffer.concat([body, text]), { tree: to });
		}

		test('is searched to its end, and again', async () => {
			const dir = await c.create(tree, 'many', { options: 1 });
			for (let i = 0; i < 3; i++) {
				const last = await find(c, tree, dir.id, `${String(FILES - 1).padStart(6, '0')}*`);
				assert.equal(last.status, 0);
				assert.ok(last.body.includes(Buffer.from(name(FILES - 1), 'utf16le')));
				assert.equal((await find(c, tree, dir.id, '*none*')).status, NO_SUCH_FILE);
			}
			// What was asked first is answered first, and a CLOSE waits for it.
			const answers = await Promise.all([find(c, tree, dir.id, '*none*'), find(c, tree, dir.id, `${String(FILES - 1).padStart(6, '0')}*`), c.close(tree, dir.id)]);
			assert.deepEqual(answers.map((a) => a.status), [NO_SUCH_FILE, 0, 0]);
		});

		// The dearest pattern there is: every position of it is alive at every character.
		test('is searched by a worker, and others of the loop are answered', async () => {
			const other = await loggedIn(port);
			const dirs = await Promise.all(Array.from({ length: 8 }, () => c.create(tree, 'many', { options: 1 })));
			const dear = `${'*g'.repeat(120)}x`;
			const before = { loop: threadSeconds(server, 'smb'), workers: threadSeconds(server, 'worker-long') };
			let left = dirs.length;
			const found = Promise.all(dirs.map((d) => find(c, tree, d.id, dear).finally(() => left--)));
			const took = [];
			while (left > 0 || took.length < 20) {
				const began = performance.now();
				assert.equal((await other.echo()).status, 0);
				took.push(performance.now() - began);
				await sleep(2);
			}
			assert.deepEqual([...new Set((await found).map((a) => a.status))], [NO_SUCH_FILE]);
			const [loop, workers] = [threadSeconds(server, 'smb') - before.loop, threadSeconds(server, 'worker-long') - before.workers];
			took.sort((a, b) => a - b);
			if (process.env.ZAFFRE_TEST_FIGURES) console.error(`loop ${loop.toFixed(3)} s, workers ${workers.toFixed(3)} s, slowest ${took.at(-1).toFixed(1)} ms of ${took.length}`);
			assert.ok(workers > loop, `the loop worked ${loop.toFixed(3)} s, workers only ${workers.toFixed(3)} s`);
			assert.ok(took[Math.floor(took.length * 0.9)] < 150 * patience, `nine of ten within ${took[Math.floor(took.length * 0.9)].toFixed(0)} ms`);
			await other.end();
		});

		// Its connection ends: the search ends with the slice that runs.
		test('is not searched on for who is gone', async () => {
			const gone = await loggedIn(port);
			const there = await gone.treeConnect('floods');
			const dirs = await Promise.all(Array.from({ length: 30 }, () => gone.create(there, 'many', { options: 1 })));
			const one = async () => {
				const began = threadSeconds(server, 'worker-long');
				assert.equal((await find(c, tree, (await c.create(tree, 'many', { options: 1 })).id, `${'*g'.repeat(120)}x`)).status, NO_SUCH_FILE);
				return threadSeconds(server, 'worker-long') - began;
			};
			const cost = await one();
			const start = threadSeconds(server, 'worker-long');
			for (const d of dirs) find(gone, there, d.id, `${'*g'.repeat(120)}x`);
			await gone.echo();
			await gone.end();
			const last = await one();
			const burned = threadSeconds(server, 'worker-long') - start - last;
			assert.ok(burned < dirs.length * cost * 0.5, `one search costs ${cost.toFixed(3)} s, ${dirs.length} abandoned ones burned ${burned.toFixed(2)} s`);
		});
	});
}

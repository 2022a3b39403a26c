// SPDX-License-Identifier: Apache-2.0
// Faults. The n-th allocation, write, sync, open or read of the running server fails, once or from then on (faults.c). Whatever it is:
// no crash, no answer that is not true, and after a restart everything acknowledged is there. After a failed sync no write that began
// later is acknowledged, and the process says why and exits. After faults that pass, the server serves again without a restart.
// ZAFFRE_CRASH_ROUNDS makes it long; ZAFFRE_SEED repeats the choice of n.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { freePort, removeDir, startServer, tempDir, WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY } from '../../lib/server.mjs';
import { COMMAND, SmbClient } from '../../lib/smb.mjs';
import { Client, RawConnection } from '../../lib/http.mjs';
import { expectStatus } from '../../lib/assert.mjs';
import { buildPreload, canPreload } from '../../lib/native.mjs';
import { random } from './random.mjs';

// A round here is one of every kind of fault, each with its own starts: an eighth of what the other programs do.
const ROUNDS = Math.max(8, Math.ceil(Number(process.env.ZAFFRE_CRASH_ROUNDS ?? 0) / 8));
const SEED = Number(process.env.ZAFFRE_SEED ?? crypto.randomInt(2 ** 31));
const KIND = { allocC: 1, allocAll: 2, write: 3, sync: 4, open: 5, read: 6 };
const ERRNO = { EIO: 5, ENOMEM: 12, ENFILE: 23, EMFILE: 24, ENOSPC: 28 };
const json = { accept: 'application/json;odata=nometadata', 'content-type': 'application/json' };
const library = canPreload ? buildPreload('test/proof/crash/faults.c') : undefined;

class Faults {
	constructor() {
		this.dir = tempDir('zaffre-faults-');
		this.file = path.join(this.dir, 'control');
		fs.writeFileSync(this.file, Buffer.alloc(40));
		this.fd = fs.openSync(this.file, 'r+');
		this.env = { ZAFFRE_SANDBOX: 'off', LD_PRELOAD: library, ZAFFRE_FAULTS: this.file };
	}
	arm(kind, n, sticky, errno) {
		this.disarm();
		const bytes = Buffer.alloc(36);
		bytes.writeUInt32LE(sticky ? 1 : 0, 0);
		bytes.writeUInt32LE(errno, 4);
		bytes.writeBigInt64LE(BigInt(n), 12);
		fs.writeSync(this.fd, bytes, 0, 36, 4);
		const word = Buffer.alloc(4);
		word.writeUInt32LE(kind);
		fs.writeSync(this.fd, word, 0, 4, 0);
	}
	disarm() {
		fs.writeSync(this.fd, Buffer.alloc(4), 0, 4, 0);
	}
	get hits() {
		const bytes = Buffer.alloc(8);
		fs.readSync(this.fd, bytes, 0, 8, 24);
		return Number(bytes.readBigUInt64LE());
	}
	remove() {
		fs.closeSync(this.fd);
		removeDir(this.dir);
	}
}

// One client's work and what it knows. Every write has a key of its own, so what must be there is a plain set.
class Work {
	constructor(server, faults) {
		this.server = server;
		this.faults = faults;
		this.blobs = new Map();
		this.entities = new Set();
		this.messages = new Set();
		this.n = 0;
		this.answered = this.refused = this.cut = 0;
		this.connections = {};
	}

	// undefined: no answer.
	async ask(service, method, where, options) {
		try {
			this.connections[service] ??= await RawConnection.open(this.server.ports[service]);
			const client = new Client(this.server, { service });
			const late = this.faults.hits > 0;
			let timer;
			const patience = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error(`no answer and no end of the connection: ${method} ${where}`)), 30_000)));
			const answer = this.connections[service].exchange(client.bytes(method, where, options), method);
			patience.catch(() => {});
			const r = await Promise.race([answer, patience]).finally(() => clearTimeout(timer));
			if (r.headers.connection === 'close') {
				await this.connections[service].end();
				this.connections[service] = undefined;
			}
			if (r.status >= 500) this.refused++;
			else this.answered++;
			return { status: r.status, body: r.body, text: r.text, late };
		} catch (error) {
			assert.doesNotMatch(error.message, /^no answer and no end/);
			await this.connections[service]?.end();
			this.connections[service] = undefined;
			this.cut++;
			return undefined;
		}
	}

	wrote(r, ok, note) {
		if (!r || r.status >= 500) return false;
		assert.equal(r.status, ok, `${r.status} ${r.text}`);
		if (this.syncs && r.late) assert.fail('a write that began after a failed sync was acknowledged');
		note();
		return true;
	}

	async step() {
		const n = this.n++;
		const name = `b${n}`;
		const body = Buffer.alloc([30, 700, 6_000, 50_000, 300_000][n % 5], `${name};`);
		const block = { 'x-ms-blob-type': 'BlockBlob', 'if-none-match': '*' };
		this.wrote(await this.ask('blob', 'PUT', `/faults/${name}`, { body, headers: block }), 201, () => this.blobs.set(name, body));
		if (n % 4 === 0) {
			const id = Buffer.from('one').toString('base64');
			const staged = await this.ask('blob', 'PUT', `/faults/l${n}`, { body, query: { comp: 'block', blockid: id } });
			if (staged?.status === 201)
				this.wrote(await this.ask('blob', 'PUT', `/faults/l${n}`, { body: `<BlockList><Latest>${id}</Latest></BlockList>`, query: { comp: 'blocklist' } }), 201, () => this.blobs.set(`l${n}`, body));
		}
		this.wrote(await this.ask('table', 'POST', '/faults', { headers: json, body: JSON.stringify({ PartitionKey: 'p', RowKey: `r${n}`, v: 'x'.repeat(n % 3000) }) }), 201, () => this.entities.add(`r${n}`));
		this.wrote(await this.ask('queue', 'POST', '/faults/messages', { body: `<QueueMessage><MessageText>m${n}</MessageText></QueueMessage>` }), 201, () => this.messages.add(`m${n}`));
		const known = [...this.blobs.keys()][(n * 7) % (this.blobs.size || 1)];
		if (known) {
			const r = await this.ask('blob', 'GET', `/faults/${known}`);
			if (r && r.status < 500) {
				assert.equal(r.status, 200, `${known}: ${r.status}`);
				assert.ok(r.body.equals(this.blobs.get(known)), `${known}: wrong bytes`);
			}
			const again = await this.ask('blob', 'PUT', `/faults/${known}`, { body: 'other', headers: block });
			if (again && again.status < 500) assert.equal(again.status, 409, `${known}: overwritten`);
		}
		const list = await this.ask('blob', 'GET', '/faults', { query: { restype: 'container', comp: 'list' } });
		if (list && list.status < 500) assert.equal(list.status, 200, list.text);
		const query = await this.ask('table', 'GET', `/faults(PartitionKey='p',RowKey='${[...this.entities].at(-1) ?? 'none'}')`, { headers: json });
		if (query && query.status < 500) assert.equal(query.status, this.entities.size ? 200 : 404, query.text);
	}

	// Enough rows for the engine to need new files.
	async fill() {
		for (let i = 0; i < 700 && this.server.running; i++) { // more than a file of the journal holds
			const name = `f${this.n++}`;
			const body = Buffer.alloc(30_000, `${name};`);
			this.wrote(await this.ask('blob', 'PUT', `/faults/${name}`, { body, headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201, () => this.blobs.set(name, body));
		}
	}

	// On a server without faults.
	async verify() {
		const blob = new Client(this.server);
		for (const [name, body] of this.blobs) assert.ok(expectStatus(await blob.get(`/faults/${name}`), 200).body.equals(body), name);
		const table = new Client(this.server, { service: 'table' });
		for (const key of this.entities) expectStatus(await table.get(`/faults(PartitionKey='p',RowKey='${key}')`, { headers: json }), 200);
		const queue = new Client(this.server, { service: 'queue' });
		const there = new Set();
		for (let texts = ['']; texts.length; ) {
			const r = expectStatus(await queue.get('/faults/messages', { query: { numofmessages: '32', visibilitytimeout: '600' } }), 200);
			texts = [...r.text.matchAll(/<MessageText>([^<]*)</g)].map((m) => m[1]);
			for (const text of texts) there.add(text);
		}
		for (const text of this.messages) assert.ok(there.has(text), `message ${text} is lost`);
		return this.blobs.size + this.entities.size + this.messages.size;
	}

	async end() {
		for (const connection of Object.values(this.connections)) await connection?.end();
		this.connections = {};
	}
}

async function begin(faults) {
	const server = await startServer({ env: faults.env });
	expectStatus(await new Client(server).put('/faults', { query: { restype: 'container' } }), 201);
	expectStatus(await new Client(server, { service: 'queue' }).put('/faults'), 201);
	expectStatus(await new Client(server, { service: 'table' }).post('/Tables', { headers: json, body: '{"TableName":"faults"}' }), 201);
	return server;
}

// Runs until the fault has hit (and a while on) or the process ended.
async function provoke(work, steps) {
	for (let i = 0; i < steps && work.server.running; i++) await work.step();
}

const ALLOWED = { allocC: [undefined], allocAll: [undefined], write: [undefined, 4], sync: [undefined, 4], open: [undefined, 4], read: [undefined, 4] };

async function trial(t, kind, errno, sticky, rounds, most) {
	const next = random(SEED);
	const count = { hits: 0, exits: 0, checked: 0, answered: 0, refused: 0 };
	let server, work, faults;
	const close = async () => {
		await work.end();
		await server.kill9();
		await server.start({ env: {} });
		count.checked += await work.verify();
		count.answered += work.answered;
		count.refused += work.refused;
		await server.stop();
		await server.remove();
		faults.remove();
		server = undefined;
	};
	try {
		for (let round = 0; round < rounds; round++) {
			if (!server) {
				faults = new Faults();
				server = await begin(faults);
				work = new Work(server, faults);
				work.syncs = kind === 'sync';
				await provoke(work, 2);
			}
			const n = 1 + next(most);
			const what = `seed ${SEED}: ${kind} call ${n} ${sticky ? 'and all later' : ''} fails with errno ${errno}`;
			faults.arm(KIND[kind], n, sticky, errno);
			await provoke(work, 6);
			if (kind === 'open') await work.fill();
			count.hits += faults.hits > 0;
			faults.disarm();
			const told = server.stderr;
			// A process on its way out is given the time to get there.
			const ended = server.running && faults.hits ? await Promise.race([server.exited, new Promise((resolve) => setTimeout(resolve, kind === 'sync' ? 5000 : kind === 'allocAll' ? 500 : 50))]) : server.running ? undefined : await server.exited;
			if (ended?.signal === 'SIGABRT' && kind === 'allocAll' && /std::bad_alloc/.test(server.stderr)) {
				count.exits++; // RocksDB's own: its library throws, and C cannot catch. What was acknowledged must be there.
				await close();
			} else if (ended) {
				assert.equal(ended.signal, null, `${what}: ended by ${ended.signal}: ${told}`);
				assert.ok(ALLOWED[kind].includes(ended.code), `${what}: exit status ${ended.code}: ${server.stderr}`);
				assert.match(server.stderr, /nothing more is acknowledged/, what);
				count.exits++;
				await close();
			} else {
				if (kind === 'sync' && faults.hits) assert.fail(`${what}: a sync failed and the process goes on`);
				// The trouble is over: it serves again.
				const before = work.answered;
				await provoke(work, 1);
				// Unless it was on its way out, and took longer than that: the next round looks how it ended.
				if (work.answered === before) await Promise.race([server.exited, new Promise((resolve) => setTimeout(resolve, 10_000))]);
				if (server.running) assert.ok(work.answered > before, `${what}: it does not serve again`);
			}
		}
		if (server) await close();
	} catch (error) {
		error.message = `seed ${SEED}, ${kind}${sticky ? ' sticky' : ''}: ${error.message}`;
		throw error;
	} finally {
		await server?.kill9();
	}
	t.diagnostic(`${kind}${sticky ? ', sticky' : ', once'}: ${count.hits} of ${rounds} faults hit, ${count.answered} answers, ${count.refused} of 5xx, ${count.exits} exits that said why, ${count.checked} acknowledged writes checked; seed ${SEED}`);
	assert.ok(count.hits > 0, 'no fault was ever hit');
}

// Faults while it starts: it starts all the same, or says why not; and what was there stays there.
async function startTrial(t, kind, errno, sticky, rounds, most) {
	const next = random(SEED);
	const faults = new Faults();
	const count = { hits: 0, refused: 0, started: 0, asserted: 0 };
	const server = await begin(faults);
	try {
		const work = new Work(server, faults);
		await provoke(work, 8);
		await work.end();
		for (let round = 0; round < rounds; round++) {
			const n = 1 + next(most);
			const what = `seed ${SEED}: at start, ${kind} call ${n}${sticky ? ' and all later' : ''} fails with errno ${errno}`;
			if (round % 2) await server.kill9();
			else if (server.running) await server.stop();
			faults.arm(KIND[kind], n, sticky, errno);
			try {
				await server.start();
				count.started++;
			} catch (error) {
				// Debian's RocksDB is built with assertions, and one of them stops a failed open.
				if (kind === 'write' && /rocksdb::.*Assertion/.test(error.stderr)) {
					count.asserted++;
					count.hits++;
					faults.disarm();
					continue;
				}
				assert.ok(error.code > 0, `${what}: ${error.message}`);
				assert.match(error.stderr, /zaffre: ./, `${what}: it does not say why`);
				count.refused++;
			}
			count.hits += faults.hits > 0;
			faults.disarm();
		}
		await server.kill9();
		await server.start({ env: {} });
		await work.verify();
		await server.stop();
	} finally {
		await server.kill9();
		await server.remove();
		faults.remove();
	}
	t.diagnostic(`start, ${kind}${sticky ? ', sticky' : ', once'}: ${count.hits} of ${rounds} faults hit, ${count.refused} starts refused with a reason, ${count.started} went well, ${count.asserted} ended by an assertion of RocksDB; seed ${SEED}`);
	assert.ok(count.hits > 0, 'no fault was ever hit');
}

describe('faults', () => {
	const skip = library ? false : 'a sanitizer build takes no preloaded library';
	for (const sticky of [false, true]) {
		const how = sticky ? 'from then on' : 'once';
		test(`allocations of the program fail ${how}`, { skip }, (t) => trial(t, 'allocC', ERRNO.ENOMEM, sticky, ROUNDS * (sticky ? 1 : 3), 100));
		test(`writes fail ${how}`, { skip }, (t) => trial(t, 'write', ERRNO.EIO, sticky, Math.ceil(ROUNDS / 2), 14));
		test(`writes find no space ${how}`, { skip }, (t) => trial(t, 'write', ERRNO.ENOSPC, sticky, Math.ceil(ROUNDS / 2), 14));
		test(`syncs fail ${how}`, { skip }, (t) => trial(t, 'sync', ERRNO.EIO, sticky, Math.ceil(ROUNDS / 2), 14));
		test(`reads fail ${how}`, { skip }, (t) => trial(t, 'read', ERRNO.EIO, sticky, Math.ceil(ROUNDS / 3), 5));
		for (const errno of ['EMFILE', 'ENFILE', 'EIO']) test(`opens fail ${how} with ${errno}`, { skip }, (t) => trial(t, 'open', ERRNO[errno], sticky, Math.ceil(ROUNDS / 4), 2));
		for (const [kind, errno, most] of [['allocC', ERRNO.ENOMEM, 60], ['open', ERRNO.EMFILE, 40], ['open', ERRNO.EIO, 40], ['read', ERRNO.EIO, 26], ['write', ERRNO.EIO, 12], ['write', ERRNO.ENOSPC, 12], ['sync', ERRNO.EIO, 9]])
			test(`at start, ${kind} fails ${how} with errno ${errno}`, { skip }, (t) => startTrial(t, kind, errno, sticky, ROUNDS, most));
	}
	// Nobody commits: what fails is the store's own work.
	test('a sync fails while space is reclaimed: the process ends all the same', { skip }, async () => {
		const faults = new Faults();
		const server = await begin(faults);
		try {
			const client = new Client(server);
			const body = crypto.randomBytes(16_000_000);
			expectStatus(await client.put('/faults/read', { body, headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
			// Who reads it holds its space; as long as that, nothing is reclaimed.
			const reader = await RawConnection.open(server.ports.blob);
			reader.socket.pause();
			reader.write(client.bytes('GET', '/faults/read'));
			await new Promise((resolve) => setTimeout(resolve, 500));
			expectStatus(await client.delete('/faults/read'), 202);
			await new Promise((resolve) => setTimeout(resolve, 2500));
			faults.arm(KIND.sync, 1, true, ERRNO.EIO);
			await reader.end();
			const ended = await Promise.race([server.exited, new Promise((resolve) => setTimeout(resolve, 20_000))]);
			assert.ok(faults.hits > 0, 'nothing was reclaimed');
			assert.equal(ended?.code, 4, server.stderr);
			assert.match(server.stderr, /nothing more is acknowledged/);
		} finally {
			await server.kill9();
			await server.remove();
			faults.remove();
		}
	});
	// With --smbWriteBack the sync comes after the answer: by the client's FLUSH, or a second later.
	for (const flushes of [true, false])
		test(`a sync that was put off fails ${flushes ? 'at FLUSH, which is not answered' : 'a second later'}: the process ends`, { skip }, async () => {
			const faults = new Faults(), port = await freePort();
			const server = await startServer({ env: faults.env, flags: ['--smbPort', String(port), '--smbWriteBack', 'on', '--create', 'share:late'] });
			try {
				const c = await SmbClient.connect(port);
				assert.equal((await c.negotiate({ dialects: [0x311] })).status, 0);
				assert.equal((await c.login(WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY)).status, 0);
				const tree = await c.treeConnect('late');
				const { id } = await c.create(tree, 'file', { disposition: 3 });
				faults.arm(KIND.sync, 1, true, ERRNO.EIO);
				assert.equal((await c.write(tree, id, 0, Buffer.alloc(4096, 1))).status, 0);
				if (flushes) assert.ok((await c.request(COMMAND.FLUSH, SmbClient.fileBody(24, id), { tree })).closed);
				const ended = await Promise.race([server.exited, new Promise((resolve) => setTimeout(resolve, 20_000))]);
				assert.ok(faults.hits > 0);
				assert.equal(ended?.code, 4, server.stderr);
				assert.match(server.stderr, /nothing more is acknowledged/);
				c.end();
			} finally {
				await server.kill9();
				await server.remove();
				faults.remove();
			}
		});
	test('any allocation fails once, those of RocksDB too', { skip }, (t) => trial(t, 'allocAll', ERRNO.ENOMEM, false, ROUNDS, 400));
});

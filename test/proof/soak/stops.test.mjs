// SPDX-License-Identifier: Apache-2.0
// A stop in the middle of everything: both doors busy, SIGHUP again and again, accounts that come, checkpoints, scrubs and counts that begin
// and are cancelled. The server ends by itself and in time, a sanitizer has nothing to say, what is left is whole, and everything that was
// acknowledged is there after the next start.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { askAdmin } from '../../lib/admin.mjs';
import { patience, sleep } from '../../lib/beside.mjs';
import { Client } from '../../lib/http.mjs';
import { freePort, removeDir, runProgram, scaled, startServer, tempDir, WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY } from '../../lib/server.mjs';
import { COMMAND, SHARE, SmbClient, STATUS } from '../../lib/smb.mjs';
import { random } from '../crash/random.mjs';

const ROUNDS = process.env.ZAFFRE_SOAK_MINUTES ? Number(process.env.ZAFFRE_SOAK_MINUTES) * 20 : scaled(5, 3);
const SEED = Number(process.env.ZAFFRE_SEED ?? crypto.randomInt(2 ** 31));
const BUSY_MS = 1000 * Math.min(patience, 3);
const FILES = 4;
const BATCH_OPLOCK = 9;
const EVERY_CHANGE = 0xfff;
const SIZES = [10, 100_000, 3_000_000]; // in a row, in an extent, hashed apart from its loop
const bodyOf = (size, n) => Buffer.alloc(size, `${n};`);

class Busy {
	constructor(server, smbPort, config, next) {
		Object.assign(this, { server, smbPort, config, next, stopping: false, done: {} });
		this.blobs = new Client(server);
		this.files = new Client(server, { service: 'file' });
		this.queues = new Client(server, { service: 'queue' });
		this.kept = new Map(); // what was acknowledged, by name
	}

	// One step after the other until the server is gone. An error before it was told to end is a failure.
	async forever(what, step) {
		this.done[what] ??= 0;
		for (let n = 0; ; n++)
			try {
				await step(n);
				this.done[what]++;
			} catch (error) {
				if (this.stopping && error.code !== 'ERR_ASSERTION') return;
				throw new Error(`${what}: ${error.message}`, { cause: error });
			}
	}

	// A server that ends may refuse; before that only what is expected is right.
	check(r, ...expected) {
		if (expected.includes(r.status)) return r;
		if (this.stopping) throw new Error(`refused with ${r.status}`);
		assert.fail(`${r.status} instead of ${expected}: ${r.text}`);
	}

	writeBlobs(w) {
		const name = `b${w}`;
		return this.forever('blob', async (n) => {
			const size = SIZES[w % SIZES.length];
			this.check(await this.blobs.put(`/busy/${name}`, { body: bodyOf(size, n), headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
			this.kept.set(name, n);
			if (n % 8 === 7) this.check(await this.blobs.get('/busy', { query: { restype: 'container', comp: 'list' } }), 200);
		});
	}

	messages() {
		return this.forever('message', async (n) => {
			this.check(await this.queues.post('/busy/messages', { body: `<QueueMessage><MessageText>${n}</MessageText></QueueMessage>` }), 201);
			this.check(await this.queues.get('/busy/messages'), 200);
		});
	}

	// SMB clients hold the same files: 409 is what REST is told then.
	writeFiles(w) {
		return this.forever('file', async (n) => {
			const headers = { 'x-ms-write': 'update', 'x-ms-range': 'bytes=0-69999' };
			this.check(await this.files.put(`/busy/f${(w + n) % FILES}`, { query: { comp: 'range' }, body: bodyOf(70_000, n), headers }), 201, 409);
			this.check(await this.files.get(`/busy/f${n % FILES}`), 200, 409);
		});
	}

	async smb(until) {
		const c = await SmbClient.connect(this.smbPort);
		const good = (answer, ...also) => {
			if (answer.closed) throw new Error('the connection ended');
			if (!this.stopping) assert.ok([0, ...also].includes(answer.status), `status ${answer.status?.toString(16)}`);
			return answer;
		};
		try {
			good(await c.negotiate({ dialects: [0x302] }));
			good(await c.login(WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY));
			await until(c, await c.treeConnect('busy'), good);
		} finally {
			await c.end();
		}
	}

	// Opens that others wait for: breaks are acknowledged, or the connection just ends.
	holdFiles(w) {
		return this.forever('open', () => this.smb(async (c, tree, good) => {
			for (let i = 0; i < 5; i++) {
				const opened = good(await c.create(tree, `f${this.next(FILES)}`, { disposition: 1, share: SHARE.ALL, oplock: BATCH_OPLOCK }), STATUS.SHARING_VIOLATION);
				if (!opened.id) continue;
				void c.nextBreak().then(() => c.closed || c.acknowledgeOplock(tree, opened.id, 0), () => {});
				good(await c.write(tree, opened.id, 0, bodyOf(70_000, i)), STATUS.LOCK_CONFLICT);
				good(await c.lock(tree, opened.id, [[w, 2, 0x12]]), STATUS.LOCK_NOT_GRANTED);
				good(await c.read(tree, opened.id, 0, 70_000), STATUS.LOCK_CONFLICT, STATUS.END_OF_FILE);
				if (this.next(3) > 0) good(await c.close(tree, opened.id));
			}
		}));
	}

	watch() {
		return this.forever('watch', () => this.smb(async (c, tree, good) => {
			const root = good(await c.create(tree, '', { disposition: 1, share: SHARE.ALL, options: 1 }));
			for (let i = 0; i < 5; i++) {
				const told = c.request(COMMAND.CHANGE_NOTIFY, SmbClient.notifyBody(root.id, EVERY_CHANGE, { tree: true }), { tree });
				const made = good(await c.create(tree, `w${this.next(1000)}`, { disposition: 3, share: SHARE.ALL, options: 0x1000 })); // goes with its close
				good(await c.close(tree, made.id));
				good(await told, STATUS.NOTIFY_ENUM_DIR);
			}
		}));
	}

	reload() {
		return this.forever('reload', async (n) => {
			fs.writeFileSync(`${this.config}.part`, `accounts = ${WELL_KNOWN_ACCOUNT}:${WELL_KNOWN_KEY}${n % 2 ? `;extra:${WELL_KNOWN_KEY}` : ''}\n`, { mode: 0o600 });
			fs.renameSync(`${this.config}.part`, this.config);
			if (!this.server.running) throw new Error('it has ended');
			process.kill(this.server.pid, 'SIGHUP');
			await sleep(20 + this.next(60));
		});
	}

	accounts() {
		return this.forever('account', async (n) => {
			const client = new Client(this.server, { account: `any${n}`, key: WELL_KNOWN_KEY });
			this.check(await client.put('/mine', { query: { restype: 'container' } }), 201, 409);
			await sleep(10);
		});
	}

	commands() {
		const ask = (target, ...expected) => askAdmin(this.server, target).then((r) => this.check(r, ...expected));
		return [
			this.forever('checkpoint', async (n) => {
				await ask(`/checkpoint/start?name=c${n}`, 200, 409);
				await sleep(this.next(200));
				if (this.next(2)) await ask('/checkpoint/cancel', 200, 409);
				await ask(`/checkpoint/remove?name=c${n}`, 200, 404, 409);
			}),
			this.forever('moment', async () => {
				await ask('/checkpoint/begin', 200, 409);
				await sleep(this.next(20));
				await ask('/checkpoint/end', 200);
			}),
			this.forever('scrub', async () => {
				await ask(`/scrub/start?rate=${this.next(2) ? 0 : 1}`, 200, 409);
				await sleep(this.next(200));
				await ask('/scrub/cancel', 200, 409);
				const { findings } = JSON.parse((await ask('/scrub/progress', 200)).text);
				if (findings) assert.deepEqual(findings, []);
			}),
			this.forever('count', async () => {
				await ask('/count/start', 200);
				await ask('/count/progress', 200);
				this.check(await askAdmin(this.server, '/metrics', 'GET'), 200);
				await sleep(this.next(50));
			}),
		];
	}

	all() {
		const times = (count, begin) => Array.from({ length: count }, (_, i) => begin(i));
		return [...times(6, (i) => this.writeBlobs(i)), ...times(2, (i) => this.writeFiles(i)), ...times(3, (i) => this.holdFiles(i)),
			this.messages(), this.watch(), this.reload(), this.accounts(), ...this.commands()];
	}
}

test(`${ROUNDS} stops in the middle of everything, seed ${SEED}`, { timeout: ROUNDS * (BUSY_MS + 60_000) }, async (t) => {
	const next = random(SEED);
	const dir = tempDir('zaffre-stops-');
	const config = path.join(dir, 'zaffre.conf');
	const smbPort = await freePort();
	fs.writeFileSync(config, `accounts = ${WELL_KNOWN_ACCOUNT}:${WELL_KNOWN_KEY}\n`, { mode: 0o600 });
	const flags = ['--config', config, '--anyAccount', '--smbPort', String(smbPort), '--auditLog', path.join(dir, 'audit.log'), '--create', 'container:busy,queue:busy,share:busy'];
	const server = await startServer({ flags, accessLog: path.join(dir, 'access.log') });
	const done = {};
	try {
		const files = new Client(server, { service: 'file' });
		for (let i = 0; i < FILES; i++)
			assert.equal((await files.put(`/busy/f${i}`, { headers: { 'x-ms-type': 'file', 'x-ms-content-length': 70_000 } })).status, 201);
		for (let round = 0; round < ROUNDS; round++) {
			const busy = new Busy(server, smbPort, config, next);
			const all = busy.all();
			const failed = Promise.race(all.map((p) => p.then(() => new Promise(() => {})))); // the first that fails; else nothing
			await Promise.race([failed, sleep(BUSY_MS + next(BUSY_MS))]);
			busy.stopping = true;
			const stopped = server.stop();
			const ends = await Promise.allSettled([stopped, ...all]);
			for (const end of ends) if (end.status === 'rejected') throw end.reason;
			for (const [what, n] of Object.entries(busy.done)) done[what] = (done[what] ?? 0) + n;
			const r = await runProgram(['scrub', '--location', server.dataDir]);
			assert.equal(r.code, 0, r.stdout + r.stderr);
			await server.start();
			for (const [name, n] of busy.kept) {
				const { status, body } = await busy.blobs.get(`/busy/${name}`);
				assert.equal(status, 200);
				// The one after it may have been written and its answer lost.
				assert.ok([n, n + 1].some((now) => body.equals(bodyOf(body.length, now))), `${name}: ${n} was acknowledged, ${body.subarray(0, 10)} is there`);
			}
		}
	} finally {
		await server.remove();
		removeDir(dir);
	}
	t.diagnostic(Object.entries(done).map(([what, n]) => `${n} ${what}`).join(', '));
	for (const [what, n] of Object.entries(done)) assert.ok(n > 0, `no ${what} at all`);
});

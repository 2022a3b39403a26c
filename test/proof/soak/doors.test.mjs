// SPDX-License-Identifier: Apache-2.0
// Two doors to one share, with kill -9 every second or so. Registers are written and read by REST and by SMB in turn, and
// what all of them saw must be explained by one order (test/proof/sim's checker). A counter is incremented under a
// byte-range lock: no two clients get the same number, and REST sees none that is older. Of those who make one name at
// once, one does. A persistent handle denies before the first new client is served, and comes back with its lock. Each
// broken server (--mutant, store/mutant.h) must be caught by the same means.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import { describe, test } from 'node:test';
import { Client, RawConnection } from '../../lib/http.mjs';
import { freePort, mutantBin, scale, startServer, WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY } from '../../lib/server.mjs';
import { ACCESS, SHARE, SmbClient } from '../../lib/smb.mjs';
import { random } from '../crash/random.mjs';
import { judge } from './judge.mjs';

const SECONDS = process.env.ZAFFRE_SOAK_MINUTES ? Number(process.env.ZAFFRE_SOAK_MINUTES) * 60 : 8;
const SEED = Number(process.env.ZAFFRE_SEED ?? crypto.randomInt(2 ** 31));
const REGISTERS = 3;
const SIZES = [300, 70_000]; // in a row, and in an extent
const DIALECTS = [0x210, 0x300, 0x302];
const ROUNDS_AN_EPOCH = 2;
const FILE_NOT_AVAILABLE = 0xc0000467;
const NAME_COLLISION = 0xc0000035;
const LOOK_EVERY_MS = 3;
const now = () => process.hrtime.bigint();

class Doors {
	constructor(server, port, next) {
		Object.assign(this, { server, port, next, lines: [], operations: 0, unknown: 0, serial: 0, epoch: 0, ids: 0, counted: new Set(), highest: 0, refused: 0, made: 0 });
		this.rest = new Client(server, { service: 'file' });
	}

	name(register) {
		return `r${register}-${this.epoch}`;
	}

	size(register) {
		return SIZES[register % SIZES.length];
	}

	note(client, op, register, args, call, back, result) {
		this.operations++;
		if (result === undefined) this.unknown++;
		this.lines.push(`${client} ${op} blob:${this.name(register)} ${args} ${call} ${result === undefined ? '- unknown' : `${back} ${result}`}`);
	}

	// The bytes of a whole register are always one value's.
	valueOf(register, bytes) {
		const value = /^v\d+/.exec(bytes.toString('latin1', 0, 20))?.[0];
		assert.ok(value && bytes.equals(Buffer.alloc(this.size(register), `${value};`)), `${this.name(register)}: a mixture of values`);
		return value;
	}

	// put(bytes) is true when the write was acknowledged; get() gives the bytes. Both throw when the server goes away.
	async step(client, register, { put, get }) {
		const value = `v${this.serial++}`;
		const writes = this.next(2) === 0;
		const call = now();
		let result;
		try {
			if (writes) {
				await put(register, Buffer.alloc(this.size(register), `${value};`));
				result = `ok,e${value}`;
			} else {
				const seen = this.valueOf(register, await get(register));
				result = `ok,${seen},e${seen}`;
			}
		} catch (error) {
			if (error.code === 'ERR_ASSERTION') throw error;
		}
		const back = now();
		if (writes || result) this.note(client, writes ? 'put' : 'get', register, writes ? `v=${value}` : '-', call, back, result);
		return result !== undefined;
	}

	async exchange(connection, method, where, options) {
		const r = await connection.exchange(this.rest.bytes(method, where, options), method);
		if (r.status >= 500) throw new Error(`${r.status}`); // the outcome is open
		return r;
	}

	async epochBegin() {
		this.epoch++;
		const c = await RawConnection.open(this.server.ports.file);
		const create = async (name, size) => {
			const r = await this.exchange(c, 'PUT', `/doors/${name}`, { headers: { 'x-ms-type': 'file', 'x-ms-content-length': size } });
			assert.equal(r.status, 201, r.text);
		};
		for (let i = 0; i < REGISTERS; i++) {
			await create(this.name(i), this.size(i));
			const value = `v${this.serial++}`;
			const call = now();
			await this.restPut(c, i, Buffer.alloc(this.size(i), `${value};`));
			this.note(0, 'put', i, `v=${value}`, call, now(), `ok,e${value}`);
		}
		await create(`count-${this.epoch}`, 8);
		this.counted = new Set();
		this.highest = 0;
		await c.end();
	}

	async restPut(connection, register, body) {
		const headers = { 'x-ms-write': 'update', 'x-ms-range': `bytes=0-${body.length - 1}` };
		const r = await this.exchange(connection, 'PUT', `/doors/${this.name(register)}`, { query: { comp: 'range' }, body, headers });
		assert.equal(r.status, 201, r.text);
	}

	async restClient(until) {
		const id = ++this.ids;
		const c = await RawConnection.open(this.server.ports.file);
		const door = {
			put: (register, body) => this.restPut(c, register, body),
			get: async (register) => {
				const r = await this.exchange(c, 'GET', `/doors/${this.name(register)}`, {});
				assert.equal(r.status, 200, r.text);
				return r.body;
			},
		};
		while (Date.now() < until && (await this.step(id, this.next(REGISTERS), door)));
		await c.end();
	}

	// A logged-in connection with the share; closed answers become exceptions.
	async smb(dialect = DIALECTS[this.next(DIALECTS.length)]) {
		const c = await SmbClient.connect(this.port);
		const good = (answer) => {
			if (answer.closed) throw new Error('the connection ended');
			assert.equal(answer.status?.toString(16), '0');
			return answer;
		};
		const alive = async (promise) => {
			if ((await promise).closed) throw new Error('the connection ended');
		};
		await alive(c.negotiate({ dialects: [dialect] }));
		await alive(c.login(WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY));
		return { c, tree: await c.treeConnect('doors'), good };
	}

	async smbClient(until) {
		const id = ++this.ids;
		const { c, tree, good } = await this.smb();
		const open = [];
		for (let i = 0; i < REGISTERS; i++) open.push(good(await c.create(tree, this.name(i), { disposition: 1, share: SHARE.ALL })).id);
		const door = {
			put: async (register, body) => good(await c.write(tree, open[register], 0, body)),
			get: async (register) => good(await c.read(tree, open[register], 0, this.size(register))).data,
		};
		while (Date.now() < until && (await this.step(id, this.next(REGISTERS), door)));
		await c.end();
	}

	// Reads and writes the counter under an exclusive lock that it waits for.
	async counter(until) {
		const { c, tree, good } = await this.smb();
		const { id } = good(await c.create(tree, `count-${this.epoch}`, { disposition: 1, share: SHARE.ALL }));
		while (Date.now() < until) {
			good(await c.lock(tree, id, [[0, 8, 2]]));
			const least = this.highest;
			const number = Number(good(await c.read(tree, id, 0, 8)).data.readBigUInt64LE()) + 1;
			assert.ok(number > least, `under the lock: ${number} after ${least}`);
			const bytes = Buffer.alloc(8);
			bytes.writeBigUInt64LE(BigInt(number));
			good(await c.write(tree, id, 0, bytes));
			assert.ok(!this.counted.has(number), `two clients have written ${number} under the lock`);
			this.counted.add(number);
			this.highest = Math.max(this.highest, number);
			good(await c.lock(tree, id, [[0, 8, 4]]));
		}
		await c.end();
	}

	async restWatcher(until) {
		const c = await RawConnection.open(this.server.ports.file);
		while (Date.now() < until) {
			const least = this.highest;
			const r = await this.exchange(c, 'GET', `/doors/count-${this.epoch}`, {});
			if (r.status === 409) this.refused++;
			else
				assert.ok(r.status === 200 && Number(r.body.readBigUInt64LE()) >= least, `${r.status}: ${r.body.toString('hex')}, ${least} was acknowledged`);
			await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
		}
		await c.end();
	}

	// Three clients make the same name at once: one of them does, the others are told that it exists.
	async makers(until) {
		const all = [await this.smb(), await this.smb(), await this.smb()];
		for (let i = 0; Date.now() < until; i++) {
			const name = `new-${this.epoch}-${this.serial++}`;
			const answers = await Promise.all(all.map(({ c, tree }) => c.create(tree, name, { disposition: 2, share: SHARE.ALL })));
			if (answers.some((a) => a.closed)) return;
			const won = answers.filter((a) => a.status === 0).length;
			const late = answers.filter((a) => a.status === NAME_COLLISION).length;
			assert.ok(won === 1 && late === 2, `${won} clients have made ${name}`);
			this.made++;
		}
		await Promise.all(all.map(({ c }) => c.end()));
	}

	// Who was told that the server is gone ends; an assertion is a violation.
	run(until) {
		const registers = [this.restClient(until), this.restClient(until), this.smbClient(until), this.smbClient(until), this.smbClient(until)];
		const all = [...registers, this.counter(until), this.counter(until), this.restWatcher(until), this.makers(until)];
		return Promise.all(all.map((p) => p.catch((error) => {
			if (error.code === 'ERR_ASSERTION') throw error;
		})));
	}
}

// A handle that outlives the server: nobody else gets at its file, from the first request after a start on.
class Keeper {
	constructor(doors) {
		this.doors = doors;
		this.guid = crypto.randomBytes(16);
		this.values = [''];
	}

	async begin() {
		this.smb = await this.doors.smb(0x300);
		const { c, tree, good } = this.smb;
		const request = Buffer.alloc(32);
		request.writeUInt32LE(120_000, 0);
		request.writeUInt32LE(2, 4);
		this.guid.copy(request, 16);
		const open = good(await c.create(tree, 'kept', { share: SHARE.NONE, contexts: [['DH2Q', request]] }));
		assert.ok(open.body.indexOf('DH2Q') > 0, 'the open is not persistent');
		this.id = open.id;
		good(await c.lock(tree, this.id, [[0, 4, 0x12]]));
	}

	async work() {
		for (let i = 0; i < 20; i++) {
			const value = `k${crypto.randomInt(1e9)}`.padEnd(12, '.');
			this.values.push(value);
			const answer = await this.smb.c.write(this.smb.tree, this.id, 0, Buffer.from(value));
			if (answer.closed) return;
			this.smb.good(answer);
			this.values = [value];
		}
	}

	async afterStart() {
		const { doors } = this;
		const rest = await RawConnection.open(doors.server.ports.file);
		const denied = await doors.exchange(rest, 'GET', '/doors/kept', {});
		assert.equal(denied.status, 409, 'the first request after a start got what a persistent handle denies');
		await rest.end();
		const other = await doors.smb();
		assert.equal((await other.c.create(other.tree, 'kept', { access: ACCESS.READ, share: SHARE.ALL, disposition: 1 })).status, FILE_NOT_AVAILABLE);
		await other.c.end();
		this.smb = await doors.smb(0x300);
		const { c, tree, good } = this.smb;
		const flags = Buffer.alloc(4);
		flags.writeUInt32LE(2);
		this.id = good(await c.create(tree, 'kept', { contexts: [['DH2C', Buffer.concat([this.id, this.guid, flags])]] })).id;
		good(await c.lock(tree, this.id, [[0, 4, 4]])); // its lock has come back: else this would be refused
		good(await c.lock(tree, this.id, [[0, 4, 0x12]]));
		const seen = this.values.some((v) => v === '') ? '' : good(await c.read(tree, this.id, 0, 12)).data.toString();
		assert.ok(this.values.includes(seen), `"${seen}" is none of ${this.values}`);
	}
}

async function soak(seconds, { flags = [], program, kills = true, keeper: withKeeper = true } = {}) {
	const next = random(SEED);
	const port = await freePort();
	const server = await startServer({ flags: ['--smbPort', String(port), '--smbPersistentHandles', '--create', 'share:doors', ...flags], program });
	const doors = new Doors(server, port, next);
	const sum = { operations: 0, unknown: 0, kills: 0, undecided: 0, counted: 0, violation: undefined };
	const end = Date.now() + seconds * 1000;
	const settle = () => {
		const verdict = judge(doors.lines, `doors-${SEED}`);
		sum.undecided += !verdict.ok && !verdict.violation;
		if (verdict.violation) sum.violation = verdict;
		sum.counted += doors.counted.size;
		doors.lines = [];
	};
	try {
		const keeper = new Keeper(doors);
		if (withKeeper) await keeper.begin();
		while (Date.now() < end && !sum.violation) {
			await doors.epochBegin();
			for (let round = 0; round < ROUNDS_AN_EPOCH; round++) {
				const until = Date.now() + 300 + next(500);
				const running = Promise.all([doors.run(until), withKeeper ? keeper.work() : undefined]);
				running.catch(() => {}); // it is awaited below
				if (!kills) {
					await running;
					continue;
				}
				await new Promise((resolve) => setTimeout(resolve, 100 + next(400)));
				await server.kill9();
				sum.kills++;
				await running;
				await server.start();
				if (withKeeper) await keeper.afterStart();
			}
			await doors.run(Date.now() + 100); // a last look
			settle();
		}
	} catch (error) {
		// What a client sees at once is a violation, too.
		if (error.code !== 'ERR_ASSERTION') throw error;
		sum.violation = { text: error.message, file: '(seen by a client)' };
	} finally {
		await server.kill9();
		await server.remove();
	}
	return { ...sum, operations: doors.operations, unknown: doors.unknown, refused: doors.refused, made: doors.made };
}

describe('two doors, one order', () => {
	test(`${SECONDS} s with kill -9, seed ${SEED}`, { timeout: SECONDS * 1000 + 120_000 }, async (t) => {
		const sum = await soak(SECONDS);
		assert.equal(sum.violation, undefined, `seed ${SEED}, history in ${sum.violation?.file}: ${sum.violation?.text}`);
		t.diagnostic(`${sum.operations} operations checked, ${sum.unknown} with an unknown outcome, ${sum.kills} kills, ${sum.counted} numbers under the lock, REST met the lock ${sum.refused} times, ${sum.made} names raced for, ${sum.undecided} histories too open to tell`);
		assert.ok(sum.operations > 100 && sum.kills > 1 && sum.counted > 10 && sum.made > 10);
		assert.equal(sum.undecided, 0);
	});
	const mutants = { 1: 'answers before its sync', 2: 'applies out of order', 3: 'judges before the group', 4: 'has a stale overlay' };
	for (const [number, what] of Object.entries(mutants))
		test(`a server that ${what} is caught`, { timeout: 120_000, skip: scale === 1 ? false : 'timing: not under a sanitizer' }, async (t) => {
			const sum = await soak(60, { flags: ['--mutant', number], program: mutantBin, kills: number === '1', keeper: false });
			assert.notEqual(sum.violation, undefined, `${sum.operations} operations and no violation seen, seed ${SEED}`);
			if (fs.existsSync(sum.violation.file)) fs.rmSync(sum.violation.file);
			t.diagnostic(`caught after ${sum.operations} operations and ${sum.kills} kills: ${sum.violation.text.split('\n')[0].slice(0, 200)}`);
		});
});

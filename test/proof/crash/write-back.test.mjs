// SPDX-License-Identifier: Apache-2.0
// Power cuts under SMB clients with --smbWriteBack (power.test.mjs has those without). Each client writes blocks of a file of its own, one
// after the other, and flushes now and then; some close the file and open it again. After the cut a file is as it was after one of its
// writes: none before the last that was flushed or closed, none that was not asked for, and no block is half. What REST wrote meanwhile is
// all there. A server whose FLUSH and CLOSE forget the sync (--mutant 13) must be seen to lose what was flushed. Needs root and loop
// devices. ZAFFRE_CRASH_ROUNDS makes it long.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import path from 'node:path';
import { before, describe, test } from 'node:test';
import { expectStatus } from '../../lib/assert.mjs';
import { fileClient, Files } from '../../lib/file.mjs';
import { freePort, mutantBin, runProgram, scaled, startServer, WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY } from '../../lib/server.mjs';
import { COMMAND, SmbClient } from '../../lib/smb.mjs';
import { Disk } from './power.mjs';
import { random } from './random.mjs';

const ROUNDS = Number(process.env.ZAFFRE_CRASH_ROUNDS ?? scaled(10, 2));
const SEED = Number(process.env.ZAFFRE_SEED ?? crypto.randomInt(2 ** 31));
const CLIENTS = 4, BLOCKS = 8, BLOCK_BYTES = 4096;

let reason;
before(() => {
	reason = Disk.reason();
});

const bytesOf = (serial) => Buffer.alloc(BLOCK_BYTES, `write ${serial};`);

// `writes` are those asked for, in order; `safe`: so many of them were flushed or closed before anything was heard of the cut.
class Writer {
	constructor(id) {
		this.name = `f${id}`;
		this.writes = [];
		this.safe = this.answered = this.serial = 0;
	}
	async run(port, log, next) {
		const c = await SmbClient.connect(port);
		const ask = async (promise) => {
			const r = await promise;
			if (log.cut || r.closed || r.status !== 0) throw log;
			return r;
		};
		try {
			await ask(c.negotiate({ dialects: [0x311] }));
			await ask(c.login(WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY));
			const tree = await c.treeConnect('power');
			for (;;) {
				const { id } = await ask(c.create(tree, this.name, { disposition: 3 }));
				for (let flushes = next(4); flushes >= 0; flushes--) {
					for (let i = next(60); i >= 0; i--) {
						const block = next(BLOCKS);
						this.writes.push({ block, serial: ++this.serial });
						await ask(c.write(tree, id, block * BLOCK_BYTES, bytesOf(this.serial)));
						this.answered = this.writes.length;
					}
					if (flushes) await ask(c.request(COMMAND.FLUSH, SmbClient.fileBody(24, id), { tree }));
					else await ask(c.close(tree, id));
					this.safe = this.writes.length;
					log.heard();
				}
			}
		} catch (error) {
			if (error !== log && !log.cut) throw error;
		} finally {
			c.end();
		}
	}
	// What is wrong with the file now; else how many answered writes the cut took.
	judge(bytes) {
		const blocks = Array.from({ length: BLOCKS }, (_, i) => bytes.subarray(i * BLOCK_BYTES, (i + 1) * BLOCK_BYTES));
		const state = new Array(BLOCKS).fill(0);
		for (let n = 0; n <= this.writes.length; n++) {
			if (n) state[this.writes[n - 1].block] = this.writes[n - 1].serial;
			const is = state.every((serial, i) => (serial ? blocks[i].equals(bytesOf(serial)) : blocks[i].every((byte) => byte === 0)));
			if (n >= this.safe && is) {
				const took = Math.max(0, this.answered - n);
				this.writes.length = this.safe = this.answered = n;
				return { took };
			}
		}
		return { wrong: `${this.name}: as after none of its writes from ${this.safe} to ${this.writes.length}` };
	}
}

// A client that writes strictly meanwhile.
async function writeByRest(server, log) {
	const files = new Files(fileClient(server));
	try {
		while (!log.cut) {
			const name = `/power/rest-${log.sent++}`;
			const r = await files.create(name, 100);
			if (log.cut || r.status !== 201) return;
			log.rest.push(name);
			log.heard();
		}
	} catch (error) {
		if (!log.cut) throw error;
	}
}

async function cutRounds(kind, rounds, { flags = [], program } = {}) {
	const disk = new Disk(kind), next = random(SEED), port = await freePort();
	const log = { cut: false, heard() {}, rest: [], sent: 0 };
	const writers = Array.from({ length: CLIENTS }, (_, id) => new Writer(id));
	const server = await startServer({ dataDir: path.join(disk.dir, 'data'), flags: ['--smbPort', String(port), '--smbWriteBack', 'on', '--create', 'share:power', ...flags], program });
	let took = 0, flushed = 0;
	try {
		for (let cuts = 1; cuts <= rounds; cuts++) {
			const before = writers.reduce((sum, w) => sum + w.safe, 0);
			const running = writers.map((w) => w.run(port, log, next));
			if (cuts % 2) running.push(writeByRest(server, log));
			await new Promise((resolve) => setTimeout(resolve, 200 + next(400)));
			const cut = disk.cutter();
			// Right after a flush was heard, the worst moment for one that was said too early; or at any.
			const heard = cuts % 3 ? new Promise((resolve) => (log.heard = resolve)) : undefined;
			await Promise.race([heard, new Promise((resolve) => setTimeout(resolve, 3000))]);
			log.cut = true;
			await cut();
			log.heard = () => {};
			flushed += writers.reduce((sum, w) => sum + w.safe, 0) - before;
			await server.kill9();
			await Promise.all(running);
			log.cut = false;
			disk.unmount();
			disk.mount();
			try {
				await server.start();
			} catch (error) {
				return { wrong: [`cut ${cuts}: it does not start: ${error.message}`], took, flushed };
			}
			const files = new Files(fileClient(server)), wrong = [];
			for (const w of writers) {
				const r = await files.get(`/power/${w.name}`);
				const verdict = r.status === 200 ? w.judge(r.body) : w.safe ? { wrong: `${w.name}: ${r.status}` } : w.judge(Buffer.alloc(0));
				if (verdict.wrong) wrong.push(`cut ${cuts}: ${verdict.wrong}`);
				took += verdict.took ?? 0;
			}
			for (const name of log.rest.splice(0)) if ((await files.head(name)).status !== 200) wrong.push(`cut ${cuts}: ${name} is gone`);
			if (wrong.length) return { wrong, took, flushed };
		}
		await server.stop();
		const scrubbed = await runProgram(['scrub', '--location', server.dataDir]);
		return { wrong: scrubbed.code === 0 ? [] : [scrubbed.stdout], took, flushed };
	} finally {
		await server.kill9();
		disk.remove();
	}
}

describe('power cuts with --smbWriteBack', () => {
	for (const kind of ['ext4', 'xfs'])
		test(`${ROUNDS} on ${kind}, seed ${SEED}`, async (t) => {
			if (reason) return t.skip(reason);
			const r = await cutRounds(kind, ROUNDS);
			assert.deepEqual(r.wrong, [], `seed ${SEED}`);
			t.diagnostic(`${kind}: ${ROUNDS} cuts; of ${r.flushed} flushed writes none is lost, of the others ${r.took} that were answered`);
			assert.ok(r.flushed > ROUNDS * CLIENTS, 'too few writes to mean anything');
		});
	test('a FLUSH without a sync loses data, and it shows', async (t) => {
		if (reason) return t.skip(reason);
		const r = await cutRounds('ext4', 20, { flags: ['--mutant', '13'], program: mutantBin });
		assert.notEqual(r.wrong.length, 0, 'this test does not see losses');
		t.diagnostic(r.wrong[0]);
	});
});

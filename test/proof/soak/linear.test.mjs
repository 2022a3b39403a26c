// SPDX-License-Identifier: Apache-2.0
// Is everything that clients see over sockets explained by some order, each operation at one instant? Eight clients work on few keys,
// the server is killed (-9) every second or two, its clock jumps; the history is judged by test/proof/sim's checker. Then each broken server
// (--mutant, store/mutant.h) must be caught by the same means. Short in `make test`; ZAFFRE_SOAK_MINUTES (make soak) makes it long.
// A failure prints its seed and keeps the history.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import { describe, test } from 'node:test';
import { mutantBin, scale, startServer } from '../../lib/server.mjs';
import { random } from '../crash/random.mjs';
import { judge } from './judge.mjs';
import { Recorder } from './recorder.mjs';

const SECONDS = process.env.ZAFFRE_SOAK_MINUTES ? Number(process.env.ZAFFRE_SOAK_MINUTES) * 60 : 12;
const SEED = Number(process.env.ZAFFRE_SEED ?? crypto.randomInt(2 ** 31));
const CLIENTS = 8;
const EPOCH_KILLS = 2;
const JUMP_AHEAD_S = 60; // more often and on the whole further than back, so that leases do end
const JUMP_BACK_S = 40;
const JUMP_EVERY_MS = 50;

async function soak(seconds, { flags = [], program, kills = true, queues = true } = {}) {
	const next = random(SEED);
	const server = await startServer({ flags, program });
	const recorder = new Recorder(server, next, { queues });
	const end = Date.now() + seconds * 1000;
	const sum = { operations: 0, unknown: 0, listed: 0, kills: 0, jumps: 0, undecided: 0, violation: undefined };
	const settle = () => {
		const verdict = judge(recorder.lines, SEED);
		sum.operations += recorder.operations;
		sum.unknown += recorder.unknown;
		sum.undecided += !verdict.ok && !verdict.violation;
		if (verdict.violation) sum.violation ??= verdict;
		recorder.lines = [];
		recorder.operations = recorder.unknown = 0;
	};
	try {
		await recorder.prepare();
		let inEpoch = 0;
		while (Date.now() < end && !sum.violation) {
			const span = 500 + next(900);
			const running = recorder.run(CLIENTS, Date.now() + span);
			running.catch(() => {}); // it is awaited below, but may fail before
			for (const until = Date.now() + next(span); Date.now() < until; sum.jumps++) {
				await recorder.jump(next(4) ? next(JUMP_AHEAD_S) : -next(JUMP_BACK_S));
				await new Promise((resolve) => setTimeout(resolve, Math.min(next(2 * JUMP_EVERY_MS), until - Date.now())));
			}
			if (kills && next(4)) {
				await server.kill9();
				sum.kills++;
				await running;
				await server.start();
			} else {
				await running;
			}
			if (!server.running) {
				// It stopped by itself: judge what was seen, then say so.
				settle();
				sum.violation ??= { text: `the server ended: ${server.stderr}`, file: '(none)' };
				break;
			}
			if (++inEpoch === EPOCH_KILLS) {
				await recorder.run(2, Date.now() + 100); // a last look after the last kill
				settle();
				inEpoch = 0;
				await recorder.retire();
			}
		}
		if (recorder.lines.length) settle();
		sum.listed = recorder.listed;
		sum.leaseStates = recorder.leaseStates;
		sum.snapshots = recorder.snapshots;
		sum.moves = recorder.moves;
	} catch (error) {
		// What a client sees at once (half a batch, two values, not listed) is a violation, too.
		if (error.code !== 'ERR_ASSERTION') throw error;
		sum.violation = { text: error.message, file: '(seen by a client)' };
	} finally {
		await server.kill9();
		await server.remove();
	}
	return sum;
}

describe('linearizability over sockets', () => {
	test(`${SECONDS} s with kill -9 and clock jumps, seed ${SEED}`, async (t) => {
		const sum = await soak(SECONDS);
		assert.equal(sum.violation, undefined, `seed ${SEED}, history in ${sum.violation?.file}: ${sum.violation?.text}`);
		t.diagnostic(`${sum.operations} operations checked, ${sum.unknown} with an unknown outcome, ${sum.kills} kills, ${sum.jumps} clock jumps, leases seen: ${JSON.stringify(sum.leaseStates)}, ${sum.listed} lists after writes, ${sum.snapshots} reads of snapshots, ${sum.moves} renames, ${sum.undecided} histories too open to tell; seed ${SEED}`);
		assert.ok(sum.operations > 100 && sum.kills > 0);
		assert.equal(sum.undecided, 0);
		const states = sum.leaseStates;
		assert.ok(states.leased > 0 && states.expired + states.broken > 0, `no lease was seen to end: ${JSON.stringify(states)}`);
		if (SECONDS >= 60) for (const [state, seen] of Object.entries(states)) assert.ok(seen > 0, `no lease was ever ${state}: nothing is proven about that`);
	});
	const mutants = { 1: 'answers before its sync', 2: 'applies out of order', 3: 'judges before the group', 4: 'has a stale overlay', 5: 'has a stale cache', 6: 'lets leases never end' };
	for (const [number, what] of Object.entries(mutants))
		test(`a server that ${what} is caught`, { skip: scale === 1 ? false : 'timing: not under a sanitizer' }, async (t) => {
			// Without queues: their own assertions would stop a broken server before anybody sees a wrong answer.
			const sum = await soak(60, { flags: ['--mutant', number], program: mutantBin, kills: number === '1', queues: false });
			assert.notEqual(sum.violation, undefined, `${sum.operations} operations and no violation seen, seed ${SEED}`);
			if (fs.existsSync(sum.violation.file)) fs.rmSync(sum.violation.file);
			t.diagnostic(`caught after ${sum.operations} operations and ${sum.kills} kills: ${sum.violation.text.split('\n')[0].slice(0, 200)}`);
		});
});

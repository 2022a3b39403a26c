// SPDX-License-Identifier: Apache-2.0
// A fresh server for programs nobody here wrote. `end` says what was wrong on the server's side: an answer 5xx, a store that is not clean.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { removeDir, runProgram, startServer, tempDir } from './server.mjs';

// Why a test of this program is skipped, or false.
export const without = (command) => (spawnSync('sh', ['-c', `command -v ${command}`]).status === 0 ? false : `${command} is not installed (make clients)`);

export async function startForPrograms(options = {}) {
	const work = tempDir('zaffre-programs-');
	const log = path.join(work, 'access.log');
	const server = await startServer({ ...options, accessLog: log });
	return {
		server,
		work,
		// Runs a program to its end in the working folder; it must succeed.
		async run(program, args, { env = {}, ...rest } = {}) {
			const r = await runProgram(args, { program, env: { HOME: work, ...env }, cwd: work, timeoutMs: 120_000, ...rest });
			assert.equal(r.code, 0, `${program} ${args.join(' ')}\n${r.stdout}\n${r.stderr}`);
			return r.stdout;
		},
		async end() {
			await server.stop();
			const lines = fs.readFileSync(log, 'utf8').trim().split('\n').filter(Boolean).map((l) => JSON.parse(l));
			const scrub = await runProgram(['scrub', '--location', server.dataDir]);
			await server.remove();
			removeDir(work);
			assert.ok(lines.length > 0, 'somebody asked something');
			assert.deepEqual(lines.filter((l) => l.status >= 500), []);
			assert.equal(scrub.code, 0, scrub.stdout + scrub.stderr);
		},
	};
}

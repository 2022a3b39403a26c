// SPDX-License-Identifier: Apache-2.0
// The official SDKs of Python, Go and Java, each running the cases of cases.mjs on a fresh server: all pass, none is answered 5xx, the store
// is clean behind them. Their packages come from PyPI, the Go proxy and Maven Central: `make sdks`; what cannot be had is skipped and said so.
import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { removeDir, runProgram, startServer, tempDir } from '../lib/server.mjs';
import { languages, prepare, wanted } from '../lib/sdks.mjs';
import { CASES } from './cases.mjs';

const RUN_MS = 2 * 60_000;

describe('official SDKs', { skip: wanted ? false : 'their packages come from other registries: make sdks' }, () => {
	for (const language of Object.keys(languages))
		test(language, async (t) => {
			const { command, why } = prepare(language);
			if (why) {
				t.skip(why);
				return;
			}
			const folder = tempDir(), log = path.join(folder, 'access.log'), ready = path.join(folder, 'ready.json');
			const server = await startServer({ accessLog: log, flags: ['--adminPort', '0', '--readyFile', ready] });
			const admin = JSON.parse(fs.readFileSync(ready, 'utf8')).endpoints.admin;
			const began = Date.now();
			const [program, ...args] = command;
			const r = await runProgram(args, { program, timeoutMs: RUN_MS, env: { AZURE_STORAGE_CONNECTION_STRING: server.connectionString, ZAFFRE_ADMIN: admin } });
			const seconds = (Date.now() - began) / 1000;
			await server.stop();
			const scrub = await runProgram(['scrub', '--location', server.dataDir]);
			const lines = fs.readFileSync(log, 'utf8').trim().split('\n').map((line) => JSON.parse(line));
			await server.remove();
			removeDir(folder);
			const results = [...r.stdout.matchAll(/^(ok|not ok) ([^:\n]*)(?:: (.*))?$/gm)];
			for (const name of CASES)
				await t.test(name, () => {
					const found = results.find(([, , which]) => which === name);
					assert.ok(found, `it was not run: ${r.signal ?? r.code}\n${r.stderr.slice(-2000)}`);
					assert.equal(found[1], 'ok', found[3]);
				});
			assert.equal(r.code, 0, r.stderr.slice(-4000));
			assert.equal(results.length, CASES.length, 'cases that cases.mjs does not name');
			assert.deepEqual(lines.filter((line) => line.status >= 500), []);
			assert.equal(scrub.code, 0, scrub.stdout + scrub.stderr);
			t.diagnostic(`${language}: ${results.length} cases, ${lines.length} requests, ${seconds.toFixed(1)} s`);
		});
});

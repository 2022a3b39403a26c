// SPDX-License-Identifier: Apache-2.0
// The suites of smbtorture that end within seconds, several at once; `make smbtorture` runs all of them. What
// must-pass.txt names must pass.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { freePort, startServer } from '../lib/server.mjs';
import { mustPass, QUICK_SUITES, runSuites, shortNames } from './torture.mjs';

const SHARES = ['torture0', 'torture1', 'torture2', 'torture3'];
let server;
let running;
const must = mustPass();
const finished = new Map(QUICK_SUITES.map((suite) => {
	let resolve;
	const results = new Promise((r) => (resolve = r));
	return [suite, { results, resolve }];
}));

before(async () => {
	const port = await freePort();
	server = await startServer({ flags: ['--smbPort', String(port), '--create', SHARES.map((share) => `share:${share}`).join()] });
	running = runSuites(QUICK_SUITES, { server: { port }, shares: SHARES, timeoutS: 120, done: (suite, results) => finished.get(suite).resolve(results) });
});
after(async () => {
	await running;
	await server.stop();
	await server.remove();
});

for (const suite of QUICK_SUITES)
	test(`smbtorture smb2.${suite}`, { timeout: 300_000 }, async () => {
		const results = await Promise.race([finished.get(suite).results, running.then(() => finished.get(suite).results)]);
		const passed = new Set(results.filter((r) => r.result === 'pass').map((r) => r.name));
		const expected = [...must].filter((name) => name === `smb2.${suite}` || name.startsWith(`smb2.${suite}.`));
		const broken = expected.filter((name) => !passed.has(name));
		const why = results.filter((r) => broken.includes(r.name)).map((r) => `${r.name}: ${r.result} ${r.reason}`);
		assert.deepEqual(broken, [], why.join('\n'));
	});

test('smbtorture smb2.dir.one, with short names', { timeout: 120_000 }, async () => {
	for (const { name, result, reason } of await shortNames()) assert.equal(result, 'pass', `${name}: ${reason}`);
});

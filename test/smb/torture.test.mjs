// SPDX-License-Identifier: Apache-2.0
// The suites of smbtorture that end within seconds; `make smbtorture` runs all of them. What must-pass.txt names must
// pass.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { freePort, removeDir, startServer, tempDir } from '../lib/server.mjs';
import { mustPass, QUICK_SUITES, Torture } from './torture.mjs';

let server;
let torture;
let dir;
const must = mustPass();

before(async () => {
	dir = tempDir('zaffre-torture-');
	const port = await freePort();
	server = await startServer({ flags: ['--smbPort', String(port), '--create', 'share:torture'] });
	torture = new Torture({ port, share: 'torture', dir, timeoutS: 120 });
});
after(async () => {
	await server.stop();
	await server.remove();
	removeDir(dir);
});

for (const suite of QUICK_SUITES)
	test(`smbtorture smb2.${suite}`, { timeout: 300_000 }, async () => {
		const results = await torture.suite(suite);
		const passed = new Set(results.filter((r) => r.result === 'pass').map((r) => r.name));
		const expected = [...must].filter((name) => name === `smb2.${suite}` || name.startsWith(`smb2.${suite}.`));
		const broken = expected.filter((name) => !passed.has(name));
		const why = results.filter((r) => broken.includes(r.name)).map((r) => `${r.name}: ${r.result} ${r.reason}`);
		assert.deepEqual(broken, [], why.join('\n'));
	});

// SPDX-License-Identifier: Apache-2.0
// --check says what a start would complain about and changes nothing; a data directory keeps its mode; the dashboard shows metrics that are
// there.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { freePort, removeDir, root, runProgram, startServer, tempDir } from '../../lib/server.mjs';

const free = ['--blobPort', '0', '--queuePort', '0', '--tablePort', '0', '--filePort', '0'];

describe('--check', () => {
	let dir;
	before(() => (dir = tempDir()));
	after(() => removeDir(dir));
	const check = (...flags) => runProgram(['--check', ...free, ...flags]);

	test('nothing to complain about, and nothing is made', async () => {
		for (const mode of ['development', 'production']) {
			const r = await check('--location', path.join(dir, 'new'), '--mode', mode);
			assert.equal(r.code, 0, r.stderr);
			assert.ok(!fs.existsSync(path.join(dir, 'new')));
		}
	});
	test('every complaint, not only the first', async () => {
		const port = await freePort();
		const server = await startServer({ ports: { blob: port } });
		try {
			fs.writeFileSync(path.join(dir, 'limits'), 'nobody shared-key off\n');
			const before = fs.readdirSync(server.dataDir).sort();
			const r = await check('--location', server.dataDir, '--blobPort', String(port), '--accountLimits', path.join(dir, 'limits'), '--cert', path.join(dir, 'none.pem'), '--key', path.join(dir, 'none.key'));
			assert.equal(r.code, 1);
			for (const message of [/is in use by another server/, /port \d+ on 127\.0\.0\.1 is in use/, /accountLimits .*line 1/, /certificate .*none\.pem/]) assert.match(r.stderr, message);
			assert.deepEqual(fs.readdirSync(server.dataDir).sort(), before);
		} finally {
			await server.remove();
		}
		assert.equal((await check('--location', dir, '--mode', 'dance')).code, 2);
		assert.match((await check('--location', dir)).stderr, /not empty and is no data directory/);
	});
});

test('a data directory is of the mode of its first start, unless told', async () => {
	const location = path.join(tempDir(), 'data');
	const start = (...flags) => startServer({ dataDir: location, flags });
	await (await start('--mode', 'production', '--accountName', 'kept')).remove();
	const refused = await runProgram(['--location', location, ...free]);
	assert.equal(refused.code, 1);
	assert.match(refused.stderr, /of production mode.*--mode production.*--changeMode/);
	assert.match((await runProgram(['--check', '--location', location, ...free])).stderr, /of production mode/);
	const accounts = path.join(location, 'accounts'), good = fs.readFileSync(accounts, 'utf8');
	fs.appendFileSync(accounts, '\n# mine\nNot:AAAA\n');
	const line = fs.readFileSync(accounts, 'utf8').split('\n').indexOf('Not:AAAA') + 1;
	assert.match((await runProgram(['--check', '--location', location, '--mode', 'production', ...free])).stderr, new RegExp(`accounts line ${line}: an account name has 3 to 24`));
	fs.writeFileSync(accounts, good);
	await (await start('--changeMode')).remove();
	await (await start()).remove();
	assert.match((await runProgram(['--location', location, '--mode', 'production', ...free])).stderr, /of development mode/);
	removeDir(path.dirname(location));
});

test('the dashboard asks for metrics that the server has', async () => {
	const adminPort = await freePort();
	const server = await startServer({ flags: ['--adminPort', String(adminPort)] });
	try {
		const text = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
		const there = new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map((m) => m[1]));
		const dashboard = JSON.parse(fs.readFileSync(path.join(root, 'docs/grafana.json'), 'utf8'));
		const asked = new Set();
		for (const panel of dashboard.panels) for (const target of panel.targets) for (const [name] of target.expr.matchAll(/zaffre_\w+/g)) asked.add(name.replace(/_bucket$/, ''));
		assert.ok(asked.size > 15);
		assert.deepEqual([...asked].filter((name) => !there.has(name)), []);
		for (const name of ['zaffre_commit_queue', 'zaffre_request_memory_limit_bytes', 'zaffre_commit_sync_microseconds_total', 'zaffre_index_bytes', 'zaffre_work_queue']) assert.match(text, new RegExp(`^${name} \\d+$`, 'm'));
	} finally {
		await server.remove();
	}
});

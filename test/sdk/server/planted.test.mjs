// SPDX-License-Identifier: Apache-2.0
// What the owner of a data directory may have put there: links to files of somebody else, and pipes, which hold whoever opens them.
// A scrub by root follows no link, neither it nor a server hangs, and both say what stands there.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { removeDir, runProgram, startServer, tempDir } from '../../lib/server.mjs';
import { Client } from '../../lib/http.mjs';
import { expectStatus } from '../../lib/assert.mjs';

const NOBODY = 65534;
const isRoot = process.getuid() === 0;
const dirs = [];
const dir = () => dirs[dirs.push(tempDir()) - 1];
after(() => dirs.forEach(removeDir));
const anyPort = ['--blobPort', '0', '--queuePort', '0', '--tablePort', '0'];

// A store with a row and an extent, stopped; its files by kind, each with one that stands for all of them.
async function makeStore() {
	const server = await startServer();
	const client = new Client(server);
	expectStatus(await client.put('/planted', { query: { restype: 'container' } }), 201);
	expectStatus(await client.put('/planted/b', { body: Buffer.alloc(200000, 7), headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
	await server.stop();
	return server;
}
function files(d) {
	const db = fs.readdirSync(path.join(d, 'db'));
	const one = (pattern) => `db/${db.find((name) => pattern.test(name))}`;
	return ['LOCK', 'TAIL', 'FORMAT', 'FORMAT.new', 'journal/0', 'segments/000000.seg', 'db/LOCK', 'db/LOG', 'db/CURRENT', one(/^MANIFEST/), one(/\.log$/), one(/\.sst$/), one(/^OPTIONS/)];
}
// The file is moved aside while `plant` stands in its place.
async function inPlaceOf(d, name, plant, use) {
	const at = path.join(d, name), aside = path.join(dir(), 'aside');
	const was = fs.existsSync(at);
	if (was) fs.renameSync(at, aside);
	plant(at);
	try {
		await use();
	} finally {
		fs.rmSync(at, { force: true });
		if (was) fs.renameSync(aside, at);
	}
}
function give(d, uid) {
	for (const name of [d, ...fs.readdirSync(d, { recursive: true }).map((n) => path.join(d, n))]) fs.lchownSync(name, uid, uid);
}

describe('planted in the data directory', () => {
	test('scrub by root follows no link of the owner', { skip: !isRoot && 'needs root to become another user' }, async () => {
		const server = await makeStore();
		const treasury = dir(), victim = path.join(treasury, 'victim'), absent = path.join(treasury, 'absent');
		fs.chmodSync(treasury, 0o700);
		fs.writeFileSync(victim, 'of root alone', { mode: 0o600 });
		for (const name of files(server.dataDir))
			for (const target of [victim, absent])
				await inPlaceOf(server.dataDir, name, (at) => fs.symlinkSync(target, at), async () => {
					give(server.dataDir, NOBODY);
					const r = await runProgram(['scrub', '--location', server.dataDir], { timeoutMs: 20000 });
					assert.equal(r.signal, null, `${name}: hangs`);
					assert.ok(r.code > 0, `${name} as a link: exit status ${r.code}`);
					assert.match(r.stderr, /link, a pipe or a device/, name);
					assert.equal(fs.readFileSync(victim, 'utf8'), 'of root alone', name);
					assert.ok(!fs.existsSync(absent), `${name}: made a file elsewhere`);
				});
		const r = await runProgram(['scrub', '--location', server.dataDir], { timeoutMs: 20000 });
		assert.equal(r.code, 0, r.stderr);
		give(server.dataDir, 0);
		await server.start();
		await server.remove();
	});
	test('a pipe in the place of a file hangs neither scrub nor a server', async () => {
		const server = await makeStore();
		for (const name of files(server.dataDir))
			await inPlaceOf(server.dataDir, name, (at) => assert.equal(spawnSync('mkfifo', [at]).status, 0), async () => {
				for (const args of [['scrub', '--location', server.dataDir], ['serve', '--location', server.dataDir, ...anyPort]]) {
					const r = await runProgram(args, { timeoutMs: 20000 });
					assert.equal(r.signal, null, `${args[0]} with ${name} as a pipe hangs`);
					assert.ok(r.code > 0, `${args[0]} with ${name} as a pipe: exit status ${r.code}`);
					assert.match(r.stderr, /link, a pipe or a device/, name);
				}
			});
		await server.start();
		await server.remove();
	});
});

// SPDX-License-Identifier: Apache-2.0
// Extents that lie where they must not: over another, in space that is free, or waiting to be reclaimed. No checksum tells; the rows are
// written by tamper.c through the engine. scrub names every object concerned and exits with 1; the server never gives other bytes.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { bin, removeDir, runProgram, startServer } from '../../lib/server.mjs';
import { Client } from '../../lib/http.mjs';
import { expectStatus } from '../../lib/assert.mjs';

const tamper = [path.join(path.dirname(process.env.ZAFFRE_MUTANT_BIN ?? bin), 'test/proof/crash/tamper')].find((file) => fs.existsSync(file));
const names = ['front', 'middle', 'behind'];
const body = (name) => Buffer.alloc(100_000, `${name};`);

async function filled() {
	const server = await startServer();
	const client = new Client(server);
	expectStatus(await client.put('/space', { query: { restype: 'container' } }), 201);
	for (const name of names) expectStatus(await client.put(`/space/${name}`, { body: body(name), headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
	await server.stop();
	return server;
}

const scrub = (dir) => runProgram(['scrub', '--location', dir]);
// What is damaged, as scrub names it.
const named = (out) => new Set([...out.matchAll(/space\/(\w+)/g)].map((m) => m[1]));

describe('scrub of space', { skip: tamper ? false : 'no tamper beside the program' }, () => {
	const cases = [
		['overlap', 'front', 'middle', ['front', 'middle'], /lie where others do/],
		['twice', 'front', 'behind', ['front', 'behind'], /lie where others do/],
		['wide', 'front', 'middle', ['front', 'middle'], /lie where others do/],
		['dead', 'middle', 'front', ['middle'], /wait to be reclaimed/],
		['free', 'middle', 'front', ['middle'], /lie where space is free/],
	];
	for (const [how, a, b, guilty, says] of cases)
		test(`${how}: ${guilty.join(' and ')} named, nothing else`, async (t) => {
			const server = await filled();
			try {
				const clean = await scrub(server.dataDir);
				assert.equal(clean.code, 0, clean.stdout + clean.stderr);
				const r = await runProgram([server.dataDir, how, a, b], { program: tamper });
				assert.equal(r.code, 0, r.stderr);
				const found = await scrub(server.dataDir);
				assert.equal(found.code, 1, found.stdout + found.stderr);
				assert.deepEqual([...named(found.stdout)].sort(), [...guilty].sort(), found.stdout);
				assert.match(found.stdout, says);
				t.diagnostic(found.stdout.trim().split('\n').filter((line) => line.includes('space/')).join('; '));
				await server.start();
				for (const name of names) {
					// Bytes that turn out damaged after the head was sent end the connection.
					const got = await new Client(server).get(`/space/${name}`).catch(() => ({ status: 599 }));
					assert.ok(server.running, server.stderr);
					assert.ok(got.status >= 500 || (got.status === 200 && got.body.equals(body(name))), `${name}: ${got.status}, wrong bytes`);
					if (!guilty.includes(name)) assert.equal(got.status, 200, name);
				}
				await server.kill9();
			} finally {
				await server.kill9();
				await server.remove();
				removeDir(server.dataDir);
			}
		});
});

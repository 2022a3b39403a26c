// SPDX-License-Identifier: Apache-2.0
// The time of a scrub grows with the number of containers, not with its square; damage in one of many is said with its name.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { runProgram, startServer } from '../../lib/server.mjs';
import { Client } from '../../lib/http.mjs';
import { expectStatus } from '../../lib/assert.mjs';

const [FEW, MANY] = [700, 3500];

test(`${FEW} containers, then ${MANY}`, async () => {
	const server = await startServer();
	const client = new Client(server);
	let made = 0;
	async function make(until) {
		const one = async () => {
			while (made < until) expectStatus(await client.put(`/many-${String(made++).padStart(5, '0')}`, { query: { restype: 'container' } }), 201);
		};
		await Promise.all(Array.from({ length: 16 }, one));
	}
	// The fastest of three: others may be at work here.
	async function scrubMs() {
		const took = [];
		await server.stop();
		for (let i = 0; i < 3; i++) {
			const begin = Date.now();
			const r = await runProgram(['scrub', '--location', server.dataDir]);
			assert.equal(r.code, 0, r.stdout + r.stderr);
			took.push(Date.now() - begin);
		}
		return Math.min(...took);
	}
	await make(FEW);
	const fewMs = await scrubMs();
	await server.start();
	await make(MANY);
	const bytes = crypto.randomBytes(40_000);
	const victim = `many-${String(MANY - 1).padStart(5, '0')}`;
	expectStatus(await client.put(`/${victim}/one`, { body: bytes, headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
	const manyMs = await scrubMs();
	assert.ok(manyMs < (MANY / FEW) * fewMs, `${manyMs} ms after ${fewMs} ms`);
	const file = path.join(server.dataDir, 'segments', '000000.seg');
	const fd = fs.openSync(file, 'r+');
	const at = fs.readFileSync(file).indexOf(bytes);
	assert.ok(at >= 0, 'the bytes were not found on the disk');
	fs.writeSync(fd, Buffer.from([bytes[100] ^ 1]), 0, 1, at + 100);
	fs.closeSync(fd);
	const r = await runProgram(['scrub', '--location', server.dataDir]);
	assert.equal(r.code, 1, r.stdout + r.stderr);
	assert.match(r.stdout, new RegExp(`damaged: devstoreaccount1/${victim}/one: its bytes`));
	await server.remove();
});

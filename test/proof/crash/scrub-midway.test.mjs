// SPDX-License-Identifier: Apache-2.0
// scrub finds nothing wrong in a store that was killed while it gave space back: long block lists, appends and pages that are being retired
// are neither damage nor named twice.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runProgram, scaled, startServer } from '../../lib/server.mjs';
import { Client } from '../../lib/http.mjs';
import { expectStatus } from '../../lib/assert.mjs';

const BLOCKS = scaled(700, 60);

test(`killed while ${BLOCKS} blocks are given back: scrub is clean`, async (t) => {
	const server = await startServer();
	const client = new Client(server);
	expectStatus(await client.put('/midway', { query: { restype: 'container' } }), 201);
	const id = (n) => Buffer.from(String(n).padStart(6, '0')).toString('base64');
	const stage = async (name, from, count) => {
		for (let at = from; at < from + count; at += 50)
			await Promise.all(
				Array.from({ length: Math.min(50, from + count - at) }, async (_, i) => expectStatus(await client.put(`/midway/${name}`, { query: { comp: 'block', blockid: id(at + i) }, body: Buffer.alloc(600, at + i) }), 201)),
			);
	};
	const list = (from, count) => `<BlockList>${Array.from({ length: count }, (_, i) => `<Latest>${id(from + i)}</Latest>`).join('')}</BlockList>`;
	let rows = 0;
	for (const pause of [0, 5, 20]) {
		await stage('long', 0, BLOCKS);
		expectStatus(await client.put('/midway/long', { query: { comp: 'blocklist' }, body: list(0, BLOCKS) }), 201);
		expectStatus(await client.put('/midway/long', { query: { comp: 'snapshot' } }), 201);
		// Half of the blocks stay: the new list borrows them from the one the snapshot holds.
		expectStatus(await client.put('/midway/long', { query: { comp: 'blocklist' }, body: list(0, BLOCKS / 2) }), 201);
		await stage('other', 0, 20); // staged, and then forgotten by the put
		expectStatus(await client.put('/midway/other', { body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
		expectStatus(await client.delete('/midway/long', { headers: { 'x-ms-delete-snapshots': 'include' } }), 202);
		await new Promise((resolve) => setTimeout(resolve, pause));
		await server.kill9();
		const r = await runProgram(['scrub', '--location', server.dataDir]);
		assert.equal(r.code, 0, r.stdout + r.stderr);
		rows += Number(/(\d+) rows/.exec(r.stdout)[1]);
		await server.start();
	}
	t.diagnostic(`${rows} rows looked at`);
	await server.stop();
	await server.remove();
});

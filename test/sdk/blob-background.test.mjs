// SPDX-License-Identifier: Apache-2.0
// What the server clears up by itself: contents that nobody names any more. It keeps up with what comes in.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runProgram, scaled, startServer } from '../lib/server.mjs';
import { Client } from '../lib/http.mjs';
import { expectStatus } from '../lib/assert.mjs';
import { Blobs, random } from '../lib/blob.mjs';

const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const times = (count, make) => Promise.all(Array.from({ length: count }, (_, i) => make(i)));

// What the directory holds: asked while the server is down.
async function scrub(server) {
	await server.stop();
	const r = await runProgram(['scrub', '--location', server.dataDir]);
	assert.equal(r.code, 0, r.stdout + r.stderr);
	await server.restart();
	const [, partitions, , extents] = /(\d+) partitions, (\d+) rows, (\d+) extents/.exec(r.stdout).map(Number);
	return { partitions, extents };
}
// A few looks, some seconds apart: what takes longer does not keep up.
async function soon(server, what, count) {
	let now;
	for (let look = 0; look < 3; look++) {
		await later(2500);
		now = (await scrub(server))[what];
		if (now === count) return;
	}
	assert.equal(now, count, what);
}

test('what is deleted is given back as fast as it comes', async () => {
	const CLIENTS = 8, EACH = scaled(80, 60);
	const server = await startServer();
	const b = new Blobs(new Client(server));
	expectStatus(await b.container('many'), 201);
	await times(CLIENTS, async (i) => {
		for (let k = 0; k < EACH; k++) {
			const path = `/many/${i}-${k}`;
			expectStatus(await b.block(path, 'one', random(40_000)), 201);
			expectStatus(await b.block(path, 'two', random(40_000)), 201);
			expectStatus(await b.blockList(path, ['one']), 201);
			expectStatus(await b.delete(path), 202);
		}
	});
	await soon(server, 'extents', 0);
	await server.remove();
});

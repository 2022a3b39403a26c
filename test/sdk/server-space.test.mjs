// SPDX-License-Identifier: Apache-2.0
// What is deleted gives its space back to the file system, also across restarts, and what is written into that space again is whole.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { startServer } from '../lib/server.mjs';
import { Client } from '../lib/http.mjs';
import { expectStatus, md5 } from '../lib/assert.mjs';
import { Blobs, random } from '../lib/blob.mjs';

const MIB = 1024 * 1024;
const BLOBS = 5;
let server, b;
before(async () => {
	server = await startServer();
	b = new Blobs(new Client(server));
	expectStatus(await b.container('space'), 201);
});
after(() => server?.remove());

const segments = () => path.join(server.dataDir, 'segments');
const diskMib = () => fs.readdirSync(segments()).reduce((sum, name) => sum + fs.statSync(path.join(segments(), name)).blocks / 2048, 0);
const bytes = Array.from({ length: BLOBS }, () => random(48 * MIB));
async function fill() {
	for (const [i, body] of bytes.entries()) expectStatus(await b.put(`/space/b${i}`, body), 201);
}
async function whole() {
	for (const [i, body] of bytes.entries()) assert.equal(md5(expectStatus(await b.get(`/space/b${i}`), 200).body), md5(body));
}
async function empty() {
	for (let i = 0; i < BLOBS; i++) expectStatus(await b.delete(`/space/b${i}`), 202);
	// Readers and the background let go of it in their own time.
	for (const until = Date.now() + 30_000; diskMib() > 66; ) {
		assert.ok(Date.now() < until, `${diskMib()} MiB are still there`);
		await new Promise((resolve) => setTimeout(resolve, 50));
	}
}

test('deleted, written again, restarted', async () => {
	for (const restart of [false, true, false]) {
		await fill();
		assert.ok(diskMib() >= BLOBS * 48);
		if (restart) await server.restart();
		await whole();
		await empty();
		if (restart) await server.restart();
	}
	await fill();
	await server.kill9();
	await server.start();
	await whole();
});

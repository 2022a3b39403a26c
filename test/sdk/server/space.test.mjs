// SPDX-License-Identifier: Apache-2.0
// What is deleted gives its space back to the file system, also across restarts, and what is written into that space again is whole. So
// does an upload that did not come to its end.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { startServer } from '../../lib/server.mjs';
import { Client, RawConnection } from '../../lib/http.mjs';
import { expectStatus, md5 } from '../../lib/assert.mjs';
import { Blobs, random } from '../../lib/blob.mjs';

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
async function eventually(done, what) {
	for (const until = Date.now() + 30_000; !done(); ) {
		assert.ok(Date.now() < until, what());
		await new Promise((resolve) => setTimeout(resolve, 50));
	}
}
// Readers and the background let go of it in their own time. One region is kept.
const givenBack = () => eventually(() => diskMib() <= 66, () => `${diskMib()} MiB are still there`);
async function empty() {
	for (let i = 0; i < BLOBS; i++) expectStatus(await b.delete(`/space/b${i}`), 202);
	await givenBack();
}

test('an upload that is cut, and one under way at a crash', async () => {
	for (const crash of [false, true]) {
		const connection = await RawConnection.open(server.ports.blob);
		const headers = { 'x-ms-blob-type': 'BlockBlob', 'content-length': 4 * 48 * MIB + 1 };
		connection.write(new Client(server).bytes('PUT', '/space/cut', { headers }));
		for (const body of bytes.slice(0, 4)) connection.write(body);
		await eventually(() => diskMib() >= 4 * 48, () => `${diskMib()} MiB have arrived`);
		if (crash) await server.kill9();
		await connection.end();
		if (crash) await server.start();
		await givenBack();
	}
	assert.equal((await b.get('/space/cut')).status, 404);
});

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

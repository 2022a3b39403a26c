// SPDX-License-Identifier: Apache-2.0
// reset.mjs [OBJECTS] [ROUNDS]: how long POST /test/reset takes, in memory and on disk, as a client sees it: each round
// fills ten containers with OBJECTS blobs, asks GET /test once so that the connection is there, and empties the account.
// A line of JSON each, in milliseconds. ZAFFRE_BIN is the program.
import { Client } from '../test/lib/http.mjs';
import { freePort, startServer } from '../test/lib/server.mjs';
import { TestKit } from '../dist/npm/kit.js';

const objects = Number(process.argv[2] ?? 10_000);
const rounds = Number(process.argv[3] ?? 10);
const CONTAINERS = 10, WRITERS = 32;

async function put(client, path, options) {
	const r = await client.put(path, options);
	if (r.status !== 201) throw new Error(`${r.status} ${r.text}`);
}

async function fill(client) {
	for (let i = 0; i < CONTAINERS; i++) await put(client, `/full${i}`, { query: { restype: 'container' } });
	let next = 0;
	await Promise.all(Array.from({ length: WRITERS }, async () => {
		for (let i; (i = next++) < objects;) await put(client, `/full${i % CONTAINERS}/b${i}`, { body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob' } });
	}));
}

async function measure(where, flags) {
	const port = await freePort();
	const server = await startServer({ flags: ['--adminPort', String(port), ...flags] });
	const client = new Client(server), kit = new TestKit(`http://127.0.0.1:${port}`);
	const times = [];
	for (let round = 0; round < rounds; round++) {
		await fill(client);
		await kit.state();
		const began = performance.now();
		await kit.reset();
		times.push(performance.now() - began);
		if ((await client.get('/full0/b0')).status !== 404) throw new Error('something is left');
	}
	await server.remove();
	const sorted = times.toSorted((a, b) => a - b).map((ms) => Number(ms.toFixed(2)));
	console.log(JSON.stringify({ where, objects, best: sorted[0], median: sorted[sorted.length >> 1], worst: sorted.at(-1) }));
}

await measure('in memory', ['--inMemoryPersistence']);
await measure('on disk', []);
process.exit(0);

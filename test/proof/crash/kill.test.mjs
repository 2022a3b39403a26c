// SPDX-License-Identifier: Apache-2.0
// kill -9 in a loop while clients write blobs and files: nothing acknowledged is missing after the restart, nothing is half there, and the start needs
// no repair. Short in `make test`; ZAFFRE_CRASH_ROUNDS (make crash ROUNDS=...) makes it long. A failure prints its seed;
// ZAFFRE_SEED repeats the sizes, names and moments (the scheduler's part it cannot repeat).
//
// What a client knows of a key: the last acknowledged version, and the versions sent but not answered. After the restart the key must
// show the acknowledged version or one of the later unanswered ones, whole.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { after, before, test } from 'node:test';
import { scaled, startServer } from '../../lib/server.mjs';
import { Client, RawConnection } from '../../lib/http.mjs';
import { expectStatus, md5 } from '../../lib/assert.mjs';
import { lossesOfFiles, prepareFiles, writeFiles } from './files.mjs';
import { random } from './random.mjs';

const ROUNDS = Number(process.env.ZAFFRE_CRASH_ROUNDS ?? scaled(20, 3));
const SEED = Number(process.env.ZAFFRE_SEED ?? crypto.randomInt(2 ** 31));
const CLIENTS = 16;
const FILE_CLIENTS = 8;
const KEYS_PER_CLIENT = 8;

let server, client;
before(async () => {
	server = await startServer();
	client = new Client(server);
	expectStatus(await client.put('/crash', { query: { restype: 'container' } }), 201);
	await prepareFiles(server, 'crash');
});
after(() => server?.remove());

// The bytes of version n of a key: its own number at both ends, so that mixtures show.
function payload(key, n, size) {
	const bytes = Buffer.alloc(size, `${key}:${n};`);
	return bytes;
}
const SIZES = [40, 500, 4000, 32_768, 32_769, 100_000, 700_000];

// One client: overwrites its own keys one after another, deleting now and then, until its connection dies.
async function writer(id, state, next) {
	const connection = await RawConnection.open(server.ports.blob);
	try {
		for (;;) {
			const key = `c${id}-k${next(KEYS_PER_CLIENT)}`;
			const s = (state[key] ??= { n: 0, acked: null, maybe: [] });
			const n = ++s.n;
			const deletes = s.acked && next(8) === 0;
			const version = deletes ? { n, gone: true } : { n, size: SIZES[next(SIZES.length)] };
			s.maybe.push(version);
			const bytes = deletes
				? client.bytes('DELETE', `/crash/${key}`)
				: client.bytes('PUT', `/crash/${key}`, { body: payload(key, n, version.size), headers: { 'x-ms-blob-type': 'BlockBlob', 'x-ms-meta-n': n } });
			const r = await connection.exchange(bytes, 'PUT');
			// A delete may find nothing only if an unanswered one before it did happen: then it is settled, too.
			assert.ok(r.status === 201 || r.status === 202 || (deletes && r.status === 404), `${r.status} ${r.text}`);
			s.acked = version;
			s.maybe = [];
		}
	} catch (error) {
		if (error.code === 'ERR_ASSERTION') throw error;
	} finally {
		await connection.end();
	}
}

async function verify(state, round) {
	let checked = 0;
	for (const [key, s] of Object.entries(state)) {
		const r = await client.get(`/crash/${key}`);
		const candidates = [s.acked ?? { n: 0, gone: true }, ...s.maybe];
		let found;
		if (r.status === 404) {
			found = candidates.find((v) => v.gone);
			assert.ok(found, `round ${round}: ${key} is lost; acknowledged ${JSON.stringify(s.acked)}, unanswered ${JSON.stringify(s.maybe)}`);
		} else {
			expectStatus(r, 200);
			const n = Number(r.headers['x-ms-meta-n']);
			found = candidates.find((v) => v.n === n && !v.gone);
			assert.ok(found, `round ${round}: ${key} shows version ${n}; acknowledged ${JSON.stringify(s.acked)}, unanswered ${JSON.stringify(s.maybe)}`);
			assert.equal(r.body.length, found.size, `round ${round}: ${key} version ${n} has another length`);
			assert.ok(r.body.equals(payload(key, n, found.size)), `round ${round}: ${key} version ${n} is not whole`);
			assert.equal(r.headers['content-md5'], md5(r.body));
		}
		s.acked = found;
		s.maybe = [];
		checked++;
	}
	// The list agrees with the reads.
	const listed = new Set();
	let marker;
	do {
		const page = expectStatus(await client.get('/crash', { query: { restype: 'container', comp: 'list', marker } }), 200).text;
		for (const [, name] of page.matchAll(/<Blob><Name>([^<]*)<\/Name>/g)) listed.add(name);
		marker = /<NextMarker>([^<]+)<\/NextMarker>/.exec(page)?.[1];
	} while (marker);
	for (const [key, s] of Object.entries(state)) assert.equal(listed.has(key), Boolean(s.acked && !s.acked.gone), `round ${round}: the list disagrees about ${key}`);
	return checked;
}

test(`${ROUNDS} rounds of kill -9, seed ${SEED}`, async (t) => {
	const next = random(SEED);
	const state = {}, files = {};
	const sent = () => [...Object.values(state), ...Object.values(files)].reduce((n, s) => n + s.n, 0);
	let acknowledged = 0;
	let checked = 0;
	for (let round = 0; round < ROUNDS; round++) {
		const before = sent();
		const writers = Array.from({ length: CLIENTS }, (_, id) => writer(id, state, next));
		for (let id = 0; id < FILE_CLIENTS; id++) writers.push(writeFiles(server, 'crash', id, files, next));
		await new Promise((resolve) => setTimeout(resolve, 50 + next(300)));
		await server.kill9();
		await Promise.all(writers);
		await server.start();
		acknowledged += sent() - before;
		checked += await verify(state, round);
		assert.deepEqual(await lossesOfFiles(server, 'crash', files), [], `round ${round}, seed ${SEED}`);
		checked += Object.keys(files).length;
	}
	t.diagnostic(`${acknowledged} writes sent, ${checked} keys checked, seed ${SEED}`);
	assert.ok(Object.values(files).reduce((n, s) => n + s.n, 0) > ROUNDS * FILE_CLIENTS, 'too few writes of files to mean anything');
	assert.ok(acknowledged > ROUNDS * CLIENTS, 'too few writes to mean anything');
});

// SPDX-License-Identifier: Apache-2.0
// Races on real sockets: 64 keep-alive connections, one blob, exactly one winner a round. Each round's requests are written to all sockets
// before any answer is read. Readers during overwrites see one version, whole, headers and body together.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { scaled, startServer } from '../../lib/server.mjs';
import { Client, RawConnection } from '../../lib/http.mjs';
import { expectStatus, md5, uniqueName } from '../../lib/assert.mjs';
import { accountSas } from '../../lib/sign.mjs';

const CLIENTS = 64;
const ROUNDS = scaled(1200, 50);

let server, client, connections, query;
const container = uniqueName('race');
before(async () => {
	server = await startServer();
	client = new Client(server);
	expectStatus(await client.put(`/${container}`, { query: { restype: 'container' } }), 201);
	connections = await Promise.all(Array.from({ length: CLIENTS }, () => RawConnection.open(server.ports.blob)));
	// A SAS keeps the client's signing out of the race.
	query = accountSas(server.account, server.key, { now: Date.now() + 24 * 3600_000 }).toString();
});
after(async () => {
	await Promise.all((connections ?? []).map((c) => c.end()));
	await server?.remove();
});

const path = (blob) => `/${server.account}/${container}/${blob}`;
function request(method, target, headers, body = '') {
	const lines = [`${method} ${target}${target.includes('?') ? '&' : '?'}${query} HTTP/1.1`, 'Host: 127.0.0.1', 'x-ms-version: 2024-11-04', `Content-Length: ${body.length}`];
	for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
	return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`, 'latin1');
}
const everywhere = (make) => Promise.all(connections.map((c, i) => c.exchange(make(i), 'PUT')));
function oneWinner(answers, success, refusals) {
	const winners = [];
	answers.forEach((r, i) => {
		if (r.status === success) winners.push(i);
		else assert.ok(refusals.includes(`${r.status} ${r.headers['x-ms-error-code']}`), `unexpected ${r.status} ${r.code}: ${r.text}`);
	});
	assert.equal(winners.length, 1, `${winners.length} winners`);
	return winners[0];
}

describe(`${CLIENTS} clients, ${ROUNDS} rounds`, () => {
	test('If-Match: one writer wins', async () => {
		const target = path('if-match');
		let { etag } = (await connections[0].exchange(request('PUT', target, { 'x-ms-blob-type': 'BlockBlob' }, 'start'), 'PUT')).headers;
		for (let round = 0; round < ROUNDS; round++) {
			const answers = await everywhere((i) => request('PUT', target, { 'x-ms-blob-type': 'BlockBlob', 'If-Match': etag }, `${round}:${i}`));
			const winner = oneWinner(answers, 201, ['412 ConditionNotMet']);
			etag = answers[winner].headers.etag;
			const read = await connections[round % CLIENTS].exchange(request('GET', target, {}));
			assert.equal(read.text, `${round}:${winner}`);
			assert.equal(read.headers.etag, etag);
		}
	});

	test('If-None-Match: *: one creator wins', async () => {
		for (let round = 0; round < ROUNDS; round++) {
			const target = path(`create-${round}`);
			const answers = await everywhere((i) => request('PUT', target, { 'x-ms-blob-type': 'BlockBlob', 'If-None-Match': '*' }, `${i}`));
			const winner = oneWinner(answers, 201, ['409 BlobAlreadyExists']);
			if (round % 16) continue;
			const read = await connections[0].exchange(request('GET', target, {}));
			assert.equal(read.text, `${winner}`);
		}
	});

	test('acquire: one holder', async () => {
		const target = path('lease');
		await connections[0].exchange(request('PUT', target, { 'x-ms-blob-type': 'BlockBlob' }, 'x'), 'PUT');
		for (let round = 0; round < ROUNDS; round++) {
			const answers = await everywhere(() => request('PUT', `${target}?comp=lease`, { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '60' }));
			const winner = oneWinner(answers, 201, ['409 LeaseAlreadyPresent']);
			const id = answers[winner].headers['x-ms-lease-id'];
			const released = await connections[winner].exchange(request('PUT', `${target}?comp=lease`, { 'x-ms-lease-action': 'release', 'x-ms-lease-id': id }), 'PUT');
			assert.equal(released.status, 200);
		}
	});

	test('delete with If-Match: one deleter', async () => {
		const target = path('delete');
		for (let round = 0; round < ROUNDS / 4; round++) {
			const made = await connections[0].exchange(request('PUT', target, { 'x-ms-blob-type': 'BlockBlob' }, 'x'), 'PUT');
			assert.equal(made.status, 201);
			const answers = await everywhere(() => request('DELETE', target, { 'If-Match': made.headers.etag }));
			oneWinner(answers, 202, ['404 BlobNotFound', '412 ConditionNotMet']);
		}
	});

	test('create container: one creator', async () => {
		for (let round = 0; round < ROUNDS / 20; round++) {
			const answers = await everywhere(() => request('PUT', `/${server.account}/${container}-${round}?restype=container`, {}));
			oneWinner(answers, 201, ['409 ContainerAlreadyExists']);
		}
	});
});

// Sizes on both sides of where payloads leave the record.
for (const size of [2000, 32 * 1024 + 1, 300_000])
	test(`readers during overwrites of ${size} bytes see one whole version`, async () => {
		const target = path(`whole-${size}`);
		const version = (n) => {
			const bytes = Buffer.alloc(size, n % 251);
			bytes.writeUInt32LE(n, 0);
			bytes.writeUInt32LE(n, size - 4);
			return bytes;
		};
		const putVersion = (c, n) => {
			const bytes = version(n);
			const head = request('PUT', target, { 'x-ms-blob-type': 'BlockBlob', 'x-ms-meta-n': n }, '');
			return c.exchange(Buffer.concat([Buffer.from(head.toString('latin1').replace('Content-Length: 0', `Content-Length: ${size}`), 'latin1'), bytes]), 'PUT');
		};
		const seen = new Map();
		const first = await putVersion(connections[0], 1);
		assert.equal(first.status, 201);
		let next = 2;
		const until = Date.now() + scaled(4000, 1500);
		let reads = 0;
		const writer = async (c) => {
			while (Date.now() < until) {
				const n = next++;
				const r = await putVersion(c, n);
				assert.equal(r.status, 201);
				seen.set(r.headers.etag, n);
			}
		};
		seen.set(first.headers.etag, 1);
		const observed = [];
		const reader = async (c) => {
			while (Date.now() < until) {
				const r = await c.exchange(request('GET', target, {}));
				assert.equal(r.status, 200);
				assert.equal(r.body.length, size);
				const n = r.body.readUInt32LE(0);
				assert.equal(r.headers['x-ms-meta-n'], String(n), 'headers of one version, body of another');
				assert.ok(r.body.equals(version(n)), `version ${n} is not whole`);
				assert.equal(r.headers['content-md5'], md5(r.body));
				observed.push([r.headers.etag, n]);
				reads++;
			}
		};
		await Promise.all([...connections.slice(0, 4).map(writer), ...connections.slice(4, 20).map(reader)]);
		for (const [etag, n] of observed) assert.equal(seen.get(etag) ?? n, n, 'an ETag names one version');
		assert.ok(reads > 50, `only ${reads} reads`);
	});

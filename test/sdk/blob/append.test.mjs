// SPDX-License-Identifier: Apache-2.0
// Append blobs: offsets, conditions, the seal, and 64 appenders at once.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BlobServiceClient } from '@azure/storage-blob';
import { scaled, startServer } from '../../lib/server.mjs';
import { Client, RawConnection } from '../../lib/http.mjs';
import { expectError, expectStatus, md5, rejectsWith, uniqueName } from '../../lib/assert.mjs';
import { Blobs, crc64, random } from '../../lib/blob.mjs';

let server, client, b, container;
const home = uniqueName('append');
before(async () => {
	server = await startServer();
	client = new Client(server);
	b = new Blobs(client);
	container = BlobServiceClient.fromConnectionString(server.connectionString, { retryOptions: { maxTries: 1 } }).getContainerClient(home);
	await container.create();
});
after(() => server?.remove());
const fresh = () => `/${home}/${uniqueName('a')}`;
async function made(text = '', headers) {
	const path = fresh();
	expectStatus(await b.appendBlob(path, headers), 201);
	if (text) expectStatus(await b.append(path, text), 201);
	return path;
}

test('with the official SDK', async () => {
	const blob = container.getAppendBlobClient(uniqueName('sdk'));
	await blob.create({ metadata: { a: 'b' } });
	const first = await blob.appendBlock('hello ', 6);
	assert.equal(first.blobAppendOffset, '0');
	assert.equal(first.blobCommittedBlockCount, 1);
	const second = await blob.appendBlock('world', 5);
	assert.equal(second.blobAppendOffset, '6');
	assert.equal((await blob.downloadToBuffer()).toString(), 'hello world');
	const p = await blob.getProperties();
	assert.deepEqual([p.blobType, p.contentLength, p.blobCommittedBlockCount, p.etag], ['AppendBlob', 11, 2, second.etag]);
	await rejectsWith(blob.appendBlock('x', 1, { conditions: { appendPosition: 3 } }), 412, 'AppendPositionConditionNotMet');
	await rejectsWith(blob.appendBlock('x', 1, { conditions: { maxSize: 11 } }), 412, 'MaxBlobSizeConditionNotMet');
	await blob.seal();
	assert.equal((await blob.getProperties()).isSealed, true);
	await rejectsWith(blob.appendBlock('x', 1), 409, 'BlobIsSealed');
});

test('ranges over the edges of blocks', async () => {
	const parts = Array.from({ length: 40 }, (_, i) => random(1 + i * 97));
	const path = await made();
	for (const part of parts) expectStatus(await b.append(path, part), 201);
	const whole = Buffer.concat(parts);
	assert.ok((await b.get(path)).body.equals(whole));
	let at = 0;
	for (const part of parts) {
		for (const [first, last] of [[at, at], [Math.max(0, at - 1), at], [at, at + part.length - 1], [Math.max(0, at - 50), Math.min(whole.length - 1, at + part.length + 50)]]) {
			const r = expectStatus(await b.get(path, { 'x-ms-range': `bytes=${first}-${last}` }), 206);
			assert.ok(r.body.equals(whole.subarray(first, last + 1)), `${first}-${last}`);
		}
		at += part.length;
	}
});

describe('conditions', () => {
	test('position', async () => {
		const path = await made('12345');
		expectError(await b.append(path, 'x', { 'x-ms-blob-condition-appendpos': 4 }), 412, 'AppendPositionConditionNotMet');
		expectError(await b.append(path, 'x', { 'x-ms-blob-condition-appendpos': 6 }), 412, 'AppendPositionConditionNotMet');
		expectStatus(await b.append(path, 'x', { 'x-ms-blob-condition-appendpos': 5 }), 201);
		expectError(await b.append(path, 'x', { 'x-ms-blob-condition-appendpos': -1 }), 400, 'InvalidHeaderValue');
		expectError(await b.comp(path, 'seal', { 'x-ms-blob-condition-appendpos': 5 }), 412, 'AppendPositionConditionNotMet');
		expectStatus(await b.comp(path, 'seal', { 'x-ms-blob-condition-appendpos': 6 }), 200);
	});
	test('size', async () => {
		const path = await made('12345');
		expectError(await b.append(path, 'xy', { 'x-ms-blob-condition-maxsize': 6 }), 412, 'MaxBlobSizeConditionNotMet');
		expectStatus(await b.append(path, 'xy', { 'x-ms-blob-condition-maxsize': 7 }), 201);
		expectError(await b.append(path, 'z', { 'x-ms-blob-condition-maxsize': 3 }), 412, 'MaxBlobSizeConditionNotMet');
		expectError(await b.append(path, 'z', { 'x-ms-blob-condition-maxsize': 'much' }), 400, 'InvalidHeaderValue');
	});
});

describe('seal', () => {
	test('once, again, and what still goes', async () => {
		const path = await made('abc');
		const before = (await b.head(path)).etag;
		const r = expectStatus(await b.comp(path, 'seal'), 200);
		assert.equal(r.headers['x-ms-blob-sealed'], 'true');
		assert.notEqual(r.etag, before);
		assert.equal(expectStatus(await b.comp(path, 'seal'), 200).etag, r.etag, 'sealed already');
		expectError(await b.append(path, 'x'), 409, 'BlobIsSealed');
		expectStatus(await b.comp(path, 'metadata', { 'x-ms-meta-a': 'b' }), 200);
		assert.equal((await b.head(path)).headers['x-ms-blob-sealed'], 'true');
		assert.equal((await b.get(path)).text, 'abc');
		expectStatus(await b.appendBlob(path), 201);
		assert.equal((await b.head(path)).headers['x-ms-blob-sealed'], undefined, 'a new blob');
		expectStatus(await b.append(path, 'x'), 201);
	});
	test('refusals', async () => {
		const block = fresh();
		expectStatus(await b.put(block, 'x'), 201);
		expectError(await b.comp(block, 'seal'), 409, 'InvalidBlobType');
		expectError(await b.comp(fresh(), 'seal'), 404, 'BlobNotFound');
	});
});

test('what is refused', async () => {
	const path = await made();
	expectError(await b.append(path, ''), 400, 'InvalidHeaderValue');
	expectError(await b.append(path, '', { 'If-Match': '"0x8D0000000000000"' }), 400, 'InvalidHeaderValue');
	expectError(await b.append(fresh(), 'x'), 404, 'BlobNotFound');
	expectError(await b.append('/no-such-container/a', 'x'), 404, 'ContainerNotFound');
	const block = fresh();
	expectStatus(await b.put(block, 'x'), 201);
	expectError(await b.append(block, 'x'), 409, 'InvalidBlobType');
	expectStatus(await b.put(fresh(), 'body', { 'x-ms-blob-type': 'AppendBlob' }), 400);
	expectError(await b.append(path, 'x', { 'Content-MD5': md5('y') }), 400, 'Md5Mismatch');
	expectError(await b.append(path, 'x', { 'x-ms-content-crc64': crc64('y') }), 400, 'Crc64Mismatch');
	expectStatus(await b.append(path, 'x', { 'x-ms-content-crc64': crc64('x') }), 201);
	const r = expectStatus(await b.append(path, 'x', { 'Content-MD5': md5('x') }), 201);
	assert.equal(r.headers['content-md5'], md5('x'));
	expectError(await client.put(path, { query: { comp: 'appendblock' }, body: Buffer.alloc(4 * 1024 * 1024 + 1), version: '2021-12-02' }), 413, 'RequestBodyTooLarge');
	assert.equal((await b.get(path)).text, 'xx');
});

test('64 appenders at once lose nothing and tear nothing', async () => {
	const CLIENTS = 64, ROUNDS = scaled(20, 4);
	const path = await made();
	const connections = await Promise.all(Array.from({ length: CLIENTS }, () => RawConnection.open(server.ports.blob)));
	const offsets = new Map();
	await Promise.all(
		connections.map(async (connection, who) => {
			for (let i = 0; i < ROUNDS; i++) {
				const line = `${who}:${i}`.padEnd(20 + ((who * 7 + i) % 50), '.') + '\n';
				const r = await connection.exchange(client.bytes('PUT', path, { query: { comp: 'appendblock' }, body: line }), 'PUT');
				expectStatus(r, 201);
				offsets.set(line, Number(r.headers['x-ms-blob-append-offset']));
			}
		}),
	);
	const whole = (await b.get(path)).text;
	assert.equal(offsets.size, CLIENTS * ROUNDS);
	let bytes = 0;
	for (const [line, at] of offsets) {
		assert.equal(whole.slice(at, at + line.length), line, `what was acknowledged at ${at}`);
		bytes += line.length;
	}
	assert.equal(whole.length, bytes, 'nothing twice');
	assert.equal((await b.head(path)).headers['x-ms-blob-committed-block-count'], String(CLIENTS * ROUNDS));
	// With the position as the condition exactly one of each round wins.
	const counter = await made();
	for (let i = 0; i < scaled(10, 3); i++) {
		const answers = await Promise.all(
			connections.map((c) => c.exchange(client.bytes('PUT', counter, { query: { comp: 'appendblock' }, body: 'x', headers: { 'x-ms-blob-condition-appendpos': i } }), 'PUT')),
		);
		assert.equal(answers.filter((r) => r.status === 201).length, 1);
		for (const r of answers) if (r.status !== 201) expectError(r, 412, 'AppendPositionConditionNotMet');
	}
	await Promise.all(connections.map((c) => c.end()));
});

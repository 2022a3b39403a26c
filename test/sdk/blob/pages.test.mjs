// SPDX-License-Identifier: Apache-2.0
// Page blobs: bytes, ranges and differences against a plain array, sequence numbers, sizes, and every documented refusal.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BlobServiceClient } from '@azure/storage-blob';
import { scaled, startServer } from '../../lib/server.mjs';
import { Client, RawConnection } from '../../lib/http.mjs';
import { expectError, expectStatus, md5, rejectsWith, uniqueName } from '../../lib/assert.mjs';
import { Blobs, crc64, random, range } from '../../lib/blob.mjs';

const PAGE = 512;
const MIB = 1024 * 1024;
let server, client, b, container;
const home = uniqueName('pages');
before(async () => {
	server = await startServer();
	client = new Client(server);
	b = new Blobs(client);
	container = BlobServiceClient.fromConnectionString(server.connectionString, { retryOptions: { maxTries: 1 } }).getContainerClient(home);
	await container.create();
});
after(() => server?.remove());
const fresh = () => `/${home}/${uniqueName('p')}`;
async function made(length, headers) {
	const path = fresh();
	expectStatus(await b.pageBlob(path, length, headers), 201);
	return path;
}

// Adjacent written pages make one range.
function rangesOf(pages, from = 0, until = pages.length) {
	const out = [];
	for (let i = from; i < until; i++) {
		if (!pages[i]) continue;
		const last = out.at(-1);
		if (last && last[1] === i * PAGE - 1) last[1] += PAGE;
		else out.push([i * PAGE, (i + 1) * PAGE - 1]);
	}
	return out;
}

describe('bytes', () => {
	test('with the official SDK', async () => {
		const blob = container.getPageBlobClient(uniqueName('sdk'));
		await blob.create(4096, { blobSequenceNumber: 7, metadata: { a: 'b' } });
		const bytes = random(1024);
		const up = await blob.uploadPages(bytes, 1024, 1024);
		assert.equal(up.blobSequenceNumber, 7);
		const whole = await blob.downloadToBuffer();
		assert.ok(whole.equals(Buffer.concat([Buffer.alloc(1024), bytes, Buffer.alloc(2048)])));
		assert.deepEqual((await blob.getPageRanges(0, 4096)).pageRange, [{ offset: 1024, count: 1023 }]);
		await blob.clearPages(1024, 512);
		assert.deepEqual((await blob.getPageRanges(0, 4096)).pageRange, [{ offset: 1536, count: 511 }]);
		await blob.resize(8192);
		assert.equal((await blob.getProperties()).contentLength, 8192);
		await blob.updateSequenceNumber('max', 9);
		assert.equal((await blob.getProperties()).blobSequenceNumber, 9);
		await rejectsWith(blob.uploadPages(bytes, 8192, 1024), 416, 'InvalidPageRange');
	});
	test('random writes, clears, resizes and snapshots against an array', async () => {
		// Two chunks of the server's map and a bit, so that writes cross its edges.
		const pagesMax = (2 * MIB) / PAGE + 16;
		const path = await made(pagesMax * PAGE);
		let length = pagesMax;
		const bytes = Buffer.alloc(pagesMax * PAGE);
		const written = Array(pagesMax).fill(false);
		const snapshots = [];
		const pick = (n) => Math.floor(Math.random() * n);
		const near = () => Math.min(length - 1, [0, MIB / PAGE, (2 * MIB) / PAGE][pick(3)] + pick(12));
		const check = async () => {
			const r = expectStatus(await b.get(path), 200);
			assert.ok(r.body.equals(bytes.subarray(0, length * PAGE)), 'bytes');
			assert.deepEqual(await b.ranges(path), rangesOf(written, 0, length));
		};
		for (let i = 0; i < scaled(150, 40); i++) {
			const first = near(), count = Math.min(1 + pick(20), length - first);
			const dice = pick(10);
			if (dice < 5) {
				const body = random(count * PAGE);
				expectStatus(await b.pages(path, first * PAGE, body), 201);
				body.copy(bytes, first * PAGE);
				written.fill(true, first, first + count);
			} else if (dice < 8) {
				expectStatus(await b.clear(path, first * PAGE, count * PAGE), 201);
				bytes.fill(0, first * PAGE, (first + count) * PAGE);
				written.fill(false, first, first + count);
			} else if (dice === 8) {
				const now = Math.max(16, pagesMax - pick(2 * pagesMax > 0 ? pagesMax : 1));
				expectStatus(await b.comp(path, 'properties', { 'x-ms-blob-content-length': now * PAGE }), 200);
				if (now < length) {
					bytes.fill(0, now * PAGE);
					written.fill(false, now);
				}
				length = now;
			} else {
				snapshots.push({ snapshot: await b.snapshot(path), bytes: Buffer.from(bytes.subarray(0, length * PAGE)), written: [...written], length });
				if (snapshots.length > 4) expectStatus(await b.delete(path, {}, { snapshot: snapshots.shift().snapshot }), 202);
			}
			if (i % 10 === 9) await check();
		}
		await check();
		for (const s of snapshots) {
			const r = expectStatus(await b.get(path, {}, { snapshot: s.snapshot }), 200);
			assert.ok(r.body.equals(s.bytes), 'bytes of a snapshot');
			assert.deepEqual(await b.ranges(path, { snapshot: s.snapshot }), rangesOf(s.written, 0, s.length));
		}
	});
	test('ranges of a range, in pages', async () => {
		const path = await made(20 * PAGE);
		for (const i of [1, 3, 4, 9, 11]) expectStatus(await b.pages(path, i * PAGE, random(PAGE)), 201);
		assert.deepEqual(await b.ranges(path, {}, { 'x-ms-range': range(3 * PAGE, 7 * PAGE) }), [[3 * PAGE, 5 * PAGE - 1], [9 * PAGE, 10 * PAGE - 1]]);
		assert.deepEqual(await b.ranges(path, {}, { 'x-ms-range': range(12 * PAGE, PAGE) }), []);
		const seen = [];
		let marker;
		do {
			const r = expectStatus(await b.get(path, {}, { comp: 'pagelist', maxresults: 2, marker }), 200);
			seen.push(...[...r.text.matchAll(/<Start>(\d+)</g)].map((m) => Number(m[1]) / PAGE));
			marker = /<NextMarker>([^<]+)</.exec(r.text)?.[1];
		} while (marker);
		assert.deepEqual(seen, [1, 3, 9, 11]);
		// Before markers were known all ranges came at once: who ignores one must not miss any.
		const old = expectStatus(await client.get(path, { version: '2020-08-04', query: { comp: 'pagelist', maxresults: 2 } }), 200);
		assert.deepEqual([...old.text.matchAll(/<Start>(\d+)</g)].map((m) => Number(m[1]) / PAGE), seen);
		assert.ok(!old.text.includes('NextMarker'));
	});
	test('large writes, clears and resizes over very many small ones', async () => {
		const path = await made(24 * MIB);
		const connections = await Promise.all(Array.from({ length: 16 }, () => RawConnection.open(server.ports.blob)));
		let next = 0;
		// 512-byte writes over 2.5 MiB, then 4 KiB writes over the rest: more extents than one commit may give back.
		const writes = [];
		for (let at = 0; at < 2.5 * MIB; at += PAGE) writes.push([at, PAGE]);
		for (let at = 2.5 * MIB; at < 24 * MIB; at += 8 * PAGE) writes.push([at, 8 * PAGE]);
		await Promise.all(
			connections.flatMap((c) =>
				Array.from({ length: 8 }, async () => {
					while (next < writes.length) {
						const [at, count] = writes[next++];
						const r = await c.exchange(client.bytes('PUT', path, { query: { comp: 'page' }, headers: { 'x-ms-page-write': 'update', 'x-ms-range': range(at, count) }, body: Buffer.alloc(count, 1 + ((at / PAGE) % 200)) }), 'PUT');
						assert.equal(r.status, 201, r.text);
					}
				}),
			),
		);
		await Promise.all(connections.map((c) => c.end()));
		assert.deepEqual(await b.ranges(path), [[0, 24 * MIB - 1]]);
		// The first write after a snapshot counts every extent of its chunk, at both ends of it.
		const before = await b.snapshot(path);
		expectStatus(await b.pages(path, MIB - PAGE, random(2 * PAGE)), 201);
		expectStatus(await b.delete(path, {}, { snapshot: before }), 202);
		const whole = random(4 * MIB);
		expectStatus(await b.pages(path, 0, whole), 201);
		assert.ok((await b.get(path, { 'x-ms-range': range(0, 4 * MIB) })).body.equals(whole));
		const snapshot = await b.snapshot(path);
		expectStatus(await b.clear(path, 4 * MIB, 10 * MIB), 201);
		assert.deepEqual(await b.ranges(path), [[0, 4 * MIB - 1], [14 * MIB, 24 * MIB - 1]]);
		expectStatus(await b.comp(path, 'properties', { 'x-ms-blob-content-length': MIB }), 200);
		assert.ok((await b.get(path)).body.equals(whole.subarray(0, MIB)));
		const old = (await b.get(path, { 'x-ms-range': range(23 * MIB, PAGE) }, { snapshot })).body;
		assert.equal(old[0], 1 + (((23 * MIB) / PAGE) % 200));
		expectStatus(await b.delete(path, {}, { snapshot }), 202);
		expectStatus(await b.clear(path, 0, MIB), 201);
		assert.deepEqual(await b.ranges(path), []);
	});
	test('8 TiB that cost nothing', async () => {
		const TIB = 2 ** 40;
		const path = await made(8 * TIB);
		assert.equal((await b.head(path)).headers['content-length'], String(8 * TIB));
		const last = random(PAGE);
		expectStatus(await b.pages(path, 8 * TIB - PAGE, last), 201);
		expectStatus(await b.pages(path, 5 * TIB, last), 201);
		assert.deepEqual(await b.ranges(path), [[5 * TIB, 5 * TIB + PAGE - 1], [8 * TIB - PAGE, 8 * TIB - 1]]);
		const r = expectStatus(await b.get(path, { 'x-ms-range': range(8 * TIB - 2 * PAGE, 2 * PAGE) }), 206);
		assert.ok(r.body.equals(Buffer.concat([Buffer.alloc(PAGE), last])));
		expectStatus(await b.clear(path, 0, 8 * TIB), 201);
		assert.deepEqual(await b.ranges(path), []);
		expectError(await b.pageBlob(fresh(), 8 * TIB + PAGE), 400, 'InvalidHeaderValue');
		expectError(await b.comp(path, 'properties', { 'x-ms-blob-content-length': 8 * TIB + PAGE }), 400, 'InvalidHeaderValue');
	});
});

describe('differences', () => {
	test('what changed since a snapshot, and between two', async () => {
		const path = await made(20 * PAGE);
		for (const i of [0, 1, 2, 5]) expectStatus(await b.pages(path, i * PAGE, random(PAGE)), 201);
		const one = await b.snapshot(path);
		expectStatus(await b.pages(path, 2 * PAGE, random(2 * PAGE)), 201);
		expectStatus(await b.clear(path, 0, PAGE), 201);
		const two = await b.snapshot(path);
		expectStatus(await b.pages(path, 10 * PAGE, random(PAGE)), 201);
		const inOrder = (ranges) => ranges.sort((x, y) => x[0] - y[0]);
		assert.deepEqual(inOrder(await b.ranges(path, { prevsnapshot: one })), [[0, PAGE - 1, 'clear'], [2 * PAGE, 4 * PAGE - 1], [10 * PAGE, 11 * PAGE - 1]]);
		assert.deepEqual(inOrder(await b.ranges(path, { prevsnapshot: one, snapshot: two })), [[0, PAGE - 1, 'clear'], [2 * PAGE, 4 * PAGE - 1]]);
		assert.deepEqual(await b.ranges(path, { prevsnapshot: two }), [[10 * PAGE, 11 * PAGE - 1]]);
		assert.deepEqual(await b.ranges(path, { prevsnapshot: two, snapshot: two }), []);
		assert.deepEqual(await b.ranges(path, {}, { 'x-ms-previous-snapshot-url': b.url(path, { snapshot: two }) }), [[10 * PAGE, 11 * PAGE - 1]]);
		for (const foreign of [`${path}x`, '/other/blob']) expectError(await b.get(path, { 'x-ms-previous-snapshot-url': b.url(foreign, { snapshot: two }) }, { comp: 'pagelist' }), 400, 'InvalidHeaderValue');
		expectError(await b.get(path, {}, { comp: 'pagelist', prevsnapshot: two, snapshot: one }), 400, 'PreviousSnapshotCannotBeNewer');
		expectError(await b.get(path, {}, { comp: 'pagelist', prevsnapshot: '2020-01-01T00:00:00.0000000Z' }), 409, 'PreviousSnapshotNotFound');
		expectError(await b.get(path, {}, { comp: 'pagelist', prevsnapshot: 'yesterday' }), 400, 'InvalidQueryParameterValue');
	});
	test('a blob made anew has no difference to what it was', async () => {
		const path = await made(2 * PAGE);
		const one = await b.snapshot(path);
		expectStatus(await b.pageBlob(path, 2 * PAGE), 201);
		expectError(await b.get(path, {}, { comp: 'pagelist', prevsnapshot: one }), 409, 'BlobOverwritten');
	});
	test('through a resize', async () => {
		const path = await made(8 * PAGE);
		expectStatus(await b.pages(path, 0, random(8 * PAGE)), 201);
		const one = await b.snapshot(path);
		expectStatus(await b.comp(path, 'properties', { 'x-ms-blob-content-length': 4 * PAGE }), 200);
		expectStatus(await b.comp(path, 'properties', { 'x-ms-blob-content-length': 8 * PAGE }), 200);
		assert.deepEqual(await b.ranges(path, { prevsnapshot: one }), [[4 * PAGE, 8 * PAGE - 1, 'clear']]);
	});
});

describe('sequence numbers', () => {
	const set = (path, action, number) => b.comp(path, 'properties', { 'x-ms-sequence-number-action': action, 'x-ms-blob-sequence-number': number });
	test('max, update, increment', async () => {
		const path = await made(PAGE, { 'x-ms-blob-sequence-number': 5 });
		const now = async () => Number((await b.head(path)).headers['x-ms-blob-sequence-number']);
		assert.equal(await now(), 5);
		assert.equal(expectStatus(await set(path, 'max', 3), 200).headers['x-ms-blob-sequence-number'], '5');
		expectStatus(await set(path, 'max', 8), 200);
		assert.equal(await now(), 8);
		expectStatus(await set(path, 'update', 2), 200);
		assert.equal(await now(), 2);
		expectStatus(await set(path, 'increment'), 200);
		assert.equal(await now(), 3);
		expectStatus(await set(path, 'update', '9223372036854775807'), 200);
		expectError(await set(path, 'increment'), 409, 'SequenceNumberIncrementTooLarge');
		expectError(await set(path, 'update', '9223372036854775808'), 400, 'InvalidHeaderValue');
		expectError(await set(path, 'update', -1), 400, 'InvalidHeaderValue');
		expectError(await set(path, 'larger', 1), 400, 'InvalidHeaderValue');
		expectError(await set(path, 'increment', 1), 400, 'InvalidHeaderValue');
		expectError(await set(path, 'update'), 400, 'MissingRequiredHeader');
		const block = fresh();
		expectStatus(await b.put(block, 'x'), 201);
		expectError(await set(block, 'increment'), 409, 'InvalidBlobType');
	});
	test('conditions: every relation', async () => {
		const path = await made(PAGE, { 'x-ms-blob-sequence-number': 5 });
		for (const [name, holds] of [['le', (v) => 5 <= v], ['lt', (v) => 5 < v], ['eq', (v) => 5 === v]])
			for (const value of [4, 5, 6])
				for (const write of [(h) => b.pages(path, 0, Buffer.alloc(PAGE, 1), h), (h) => b.clear(path, 0, PAGE, h)]) {
					const r = await write({ [`x-ms-if-sequence-number-${name}`]: value });
					if (holds(value)) expectStatus(r, 201);
					else expectError(r, 412, 'SequenceNumberConditionNotMet');
				}
		expectError(await b.clear(path, 0, PAGE, { 'x-ms-if-sequence-number-le': -1 }), 400, 'InvalidHeaderValue');
		expectError(await b.clear(path, 0, PAGE, { 'x-ms-if-sequence-number-le': 'x' }), 400, 'InvalidHeaderValue');
		expectError(await b.clear(path, 0, PAGE, { 'x-ms-if-sequence-number-le': 9, 'x-ms-if-sequence-number-eq': 4 }), 412, 'SequenceNumberConditionNotMet');
	});
});

describe('what is refused', () => {
	test('create', async () => {
		expectError(await b.put(fresh(), '', { 'x-ms-blob-type': 'PageBlob' }), 400, 'MissingRequiredHeader');
		for (const length of [1, 511, 513, -512, 'x']) expectError(await b.pageBlob(fresh(), length), 400, 'InvalidHeaderValue');
		expectStatus(await b.put(fresh(), 'body', { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': 512 }), 400);
		expectError(await b.pageBlob(fresh(), 512, { 'x-ms-blob-sequence-number': -1 }), 400, 'InvalidHeaderValue');
		expectError(await b.pageBlob('/no-such-container/p', 512), 404, 'ContainerNotFound');
		expectStatus(await b.pageBlob(fresh(), 0), 201);
	});
	test('write', async () => {
		const path = await made(8 * PAGE);
		const body = random(PAGE);
		const write = (headers, bytes = body) => b.comp(path, 'page', { 'x-ms-page-write': 'update', ...headers }, bytes);
		expectError(await write({}), 400, 'MissingRequiredHeader');
		expectError(await b.comp(path, 'page', { 'x-ms-range': range(0, PAGE) }, body), 400, 'MissingRequiredHeader');
		expectError(await write({ 'x-ms-page-write': 'paint', 'x-ms-range': range(0, PAGE) }), 400, 'InvalidHeaderValue');
		for (const bad of ['bytes=1-512', 'bytes=0-510', 'bytes=0-512', 'bytes=256-767']) expectError(await write({ 'x-ms-range': bad }), 416, 'InvalidPageRange');
		for (const bad of ['bytes=0-', 'bytes=-512', 'pages=0-511', 'bytes=512-0']) expectStatus(await write({ 'x-ms-range': bad }), 400);
		expectError(await write({ 'x-ms-range': range(8 * PAGE, PAGE) }), 416, 'InvalidPageRange');
		expectError(await write({ 'x-ms-range': range(7 * PAGE, 2 * PAGE) }, random(2 * PAGE)), 416, 'InvalidPageRange');
		expectError(await write({ 'x-ms-range': range(0, 2 * PAGE) }), 400, 'InvalidHeaderValue');
		expectError(await b.comp(path, 'page', { 'x-ms-page-write': 'clear', 'x-ms-range': range(0, PAGE) }, body), 400, 'InvalidHeaderValue');
		expectError(await b.pages(fresh(), 0, body), 404, 'BlobNotFound');
		expectError(await b.pages('/no-such-container/p', 0, body), 404, 'ContainerNotFound');
		const block = fresh();
		expectStatus(await b.put(block, 'x'.repeat(PAGE)), 201);
		expectError(await b.pages(block, 0, body), 409, 'InvalidBlobType');
		expectError(await b.get(block, {}, { comp: 'pagelist' }), 409, 'InvalidBlobType');
		assert.deepEqual(await b.ranges(path), []);
	});
	test('4 MiB at a time', async () => {
		const path = await made(8 * MIB);
		const most = random(4 * MIB);
		expectStatus(await b.pages(path, PAGE, most), 201);
		assert.ok((await b.get(path, { 'x-ms-range': range(PAGE, most.length) })).body.equals(most));
		const r = await b.pages(path, 0, Buffer.alloc(4 * MIB + PAGE));
		expectError(r, 413, 'RequestBodyTooLarge');
		expectStatus(await b.clear(path, 0, 8 * MIB), 201);
	});
	test('sizes', async () => {
		const path = await made(PAGE);
		for (const length of [1, 100, 'x', -1]) expectError(await b.comp(path, 'properties', { 'x-ms-blob-content-length': length }), 400, 'InvalidHeaderValue');
		const block = fresh();
		expectStatus(await b.put(block, 'x'), 201);
		expectError(await b.comp(block, 'properties', { 'x-ms-blob-content-length': 512 }), 409, 'InvalidBlobType');
	});
	test('hashes', async () => {
		const path = await made(PAGE);
		const body = random(PAGE), other = random(PAGE);
		expectStatus(await b.pages(path, 0, body, { 'Content-MD5': md5(body) }), 201);
		expectStatus(await b.pages(path, 0, body, { 'x-ms-content-crc64': crc64(body) }), 201);
		expectError(await b.pages(path, 0, other, { 'Content-MD5': md5(body) }), 400, 'Md5Mismatch');
		expectError(await b.pages(path, 0, other, { 'x-ms-content-crc64': crc64(body) }), 400, 'Crc64Mismatch');
		assert.ok((await b.get(path)).body.equals(body));
	});
});

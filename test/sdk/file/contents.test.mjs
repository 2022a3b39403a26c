// SPDX-License-Identifier: Apache-2.0
// The bytes of files: reads with ranges and hashes, Put Range, clears, List Ranges and differences against snapshots.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import http from 'node:http';
import { after, before, describe, test } from 'node:test';
import { scaled, startServer } from '../../lib/server.mjs';
import { element, expectError, expectStatus, md5, rejectsWith, uniqueName } from '../../lib/assert.mjs';
import { crc64 } from '../../lib/blob.mjs';
import { Files, fileClient, fileSas, range, sdkOf } from '../../lib/file.mjs';

let server, client, files, sdk, home, share;
before(async () => {
	server = await startServer();
	client = fileClient(server);
	files = new Files(client);
	sdk = sdkOf(server);
	home = await files.newShare();
	share = sdk.getShareClient(home.slice(1));
});
after(() => server?.remove());
const fresh = () => `${home}/${uniqueName('f')}`;

describe('reads', () => {
	test('whole, ranges, beyond the end, empty', async () => {
		const path = fresh();
		await files.put(path, '0123456789');
		const whole = expectStatus(await files.get(path), 200);
		assert.deepEqual([whole.text, whole.headers['accept-ranges'], whole.headers['content-range']], ['0123456789', 'bytes', undefined]);
		for (const [asked, text, shown] of [['bytes=2-4', '234', '2-4'], ['bytes=7-', '789', '7-9'], ['bytes=8-99', '89', '8-9'], ['bytes=0-33554431', '0123456789', '0-9']]) {
			const r = expectStatus(await files.get(path, { 'x-ms-range': asked }), 206);
			assert.deepEqual([r.text, r.headers['content-range']], [text, `bytes ${shown}/10`]);
		}
		assert.equal(expectStatus(await files.get(path, { range: 'bytes=0-0', 'x-ms-range': 'bytes=1-1' }), 206).text, '1');
		const behind = expectError(await files.get(path, { 'x-ms-range': 'bytes=10-' }), 416, 'InvalidRange');
		assert.deepEqual([behind.headers['content-range'], behind.etag], ['bytes */10', undefined]);
		const empty = fresh();
		expectStatus(await files.create(empty, 0), 201);
		assert.equal(expectError(await files.get(empty, { 'x-ms-range': 'bytes=0-33554431' }), 416, 'InvalidRange').headers['content-range'], 'bytes */0');
		assert.equal(expectStatus(await files.get(empty), 200).body.length, 0);
	});
	test('MD5 of a range', async () => {
		const path = fresh(), asked = { 'x-ms-range': 'bytes=1-3', 'x-ms-range-get-content-md5': 'true' };
		await files.put(path, 'abcdef');
		assert.equal((await files.get(path, asked)).headers['content-md5'], md5(Buffer.from('bcd')));
		assert.equal((await files.get(path, { ...asked, 'x-ms-range-get-content-md5': 'false' })).headers['content-md5'], undefined);
		expectError(await files.get(path, { 'x-ms-range-get-content-md5': 'true' }), 400, 'MissingRequiredHeader');
		for (const value of ['', 'yes', '1']) { // neither true nor false
			const refused = expectError(await files.get(path, { ...asked, 'x-ms-range-get-content-md5': value }), 400, 'InvalidHeaderValue');
			assert.equal(element(refused.text, 'HeaderName'), 'x-ms-range-get-content-md5');
		}
		expectError(await files.get(path, { ...asked, 'x-ms-range': `bytes=0-${4 << 20}` }), 400, 'InvalidHeaderValue');
	});
	test('with the SDK: streams, parallel ranges, large data', async () => {
		const f = share.rootDirectoryClient.getFileClient(uniqueName('f')), bytes = crypto.randomBytes(11 << 20);
		await f.uploadData(bytes, { rangeSize: 3 << 20, concurrency: 4 });
		assert.ok((await f.downloadToBuffer(0, undefined, { rangeSize: 1 << 20, concurrency: 5 })).equals(bytes));
		const chunks = [];
		for await (const chunk of (await f.download(5 << 20, 1 << 20)).readableStreamBody) chunks.push(chunk);
		assert.ok(Buffer.concat(chunks).equals(bytes.subarray(5 << 20, 6 << 20)));
		assert.ok(expectStatus(await files.get(`${home}/${f.name}`), 200).body.equals(bytes));
	});
});

describe('Put Range', () => {
	test('answers', async () => {
		const path = fresh();
		const made = expectStatus(await files.create(path, 10), 201);
		const r = expectStatus(await files.write(path, 3, 'abc'), 201);
		assert.equal(r.headers['content-md5'], md5(Buffer.from('abc')));
		assert.equal(r.headers['x-ms-request-server-encrypted'], 'true');
		assert.notEqual(r.etag, made.etag);
		assert.equal(r.headers['x-ms-file-last-write-time'], (await files.head(path)).headers['x-ms-file-last-write-time']);
		assert.deepEqual((await files.get(path)).body, Buffer.from('\0\0\0abc\0\0\0\0'));
		const kept = expectStatus(await files.write(path, 0, 'x', { 'x-ms-file-last-write-time': 'preserve' }), 201);
		assert.equal(kept.headers['x-ms-file-last-write-time'], r.headers['x-ms-file-last-write-time']);
		const old = expectStatus(await files.write(path, 0, 'y', {}, { version: '2021-04-10' }), 201);
		assert.equal(old.headers['x-ms-file-last-write-time'], undefined);
		const clear = expectStatus(await files.clear(path, 0, 5), 201);
		assert.deepEqual([clear.headers['content-md5'], clear.headers['x-ms-request-server-encrypted']], [undefined, undefined]);
		assert.deepEqual((await files.get(path)).body, Buffer.from('\0\0\0\0\0c\0\0\0\0'));
	});
	test('refusals leave the file as it was', async () => {
		const path = fresh();
		await files.put(path, '0123456789');
		const { etag } = await files.head(path);
		for (const [first, body] of [[8, 'abc'], [10, 'a'], [1 << 30, 'a']]) expectError(await files.write(path, first, body), 416, 'InvalidRange');
		expectError(await files.clear(path, 5, 6), 416, 'InvalidRange');
		const wrong = expectError(await files.write(path, 0, 'abc', { 'content-md5': md5(Buffer.from('x')) }), 400, 'Md5Mismatch');
		assert.deepEqual([element(wrong.text, 'UserSpecifiedMd5'), element(wrong.text, 'ServerCalculatedMd5')], [md5(Buffer.from('x')), md5(Buffer.from('abc'))]);
		expectError(await files.write(path, 0, 'abc', { 'x-ms-range': 'bytes=0-3' }), 400, 'InvalidHeaderValue');
		expectError(await files.write(path, 0, 'abc', { 'x-ms-range': 'bytes=0-' }), 400, 'InvalidHeaderValue');
		expectError(await files.write(path, 0, 'abc', { 'x-ms-range': undefined }), 400, 'MissingRequiredHeader');
		expectError(await files.write(path, 0, 'abc', { 'x-ms-write': 'nonsense' }), 400, 'InvalidHeaderValue');
		expectError(await files.write(path, 0, 'abc', { 'x-ms-write': undefined }), 400, 'MissingRequiredHeader');
		expectError(await files.comp(path, 'range', { 'x-ms-write': 'clear', 'x-ms-range': 'bytes=0-1' }, 'ab'), 400, 'InvalidHeaderValue');
		expectError(await files.clear(path, 0, 1, { 'content-md5': md5(Buffer.from('')) }), 400, 'InvalidHeaderValue');
		expectError(await files.write(fresh(), 0, 'a'), 404, 'ResourceNotFound');
		expectError(await files.write(`${home}/nodir/f`, 0, 'a'), 404, 'ParentNotFound');
		assert.equal((await files.head(path)).etag, etag);
		const big = fresh();
		expectStatus(await files.create(big, 8 << 20), 201);
		expectError(await files.write(big, 0, Buffer.alloc((4 << 20) + 1)), 413, 'RequestBodyTooLarge');
		expectStatus(await files.write(big, 1, Buffer.alloc(4 << 20, 7)), 201);
	});
	test('random writes, clears and resizes against plain bytes', async () => {
		const path = fresh(), limit = 200_000;
		let plain = Buffer.alloc(limit / 2), size = plain.length;
		expectStatus(await files.create(path, size), 201);
		const int = (n) => Math.floor(Math.random() * n);
		for (let i = 0; i < scaled(300, 40); i++) {
			const kind = int(10);
			if (kind < 6 && size) {
				const first = int(size), bytes = crypto.randomBytes(1 + int(Math.min(size - first, kind < 3 ? 200 : 70_000)));
				expectStatus(await files.write(path, first, bytes), 201);
				bytes.copy(plain, first);
			} else if (kind < 9 && size) {
				const first = int(size), count = 1 + int(size - first);
				expectStatus(await files.clear(path, first, count), 201);
				plain.fill(0, first, first + count);
			} else {
				size = int(limit);
				expectStatus(await files.comp(path, 'properties', { 'x-ms-content-length': size }), 200);
				plain = Buffer.concat([plain.subarray(0, size), Buffer.alloc(Math.max(0, size - plain.length))]);
			}
			if (i % 20 === 0) assert.ok((await files.get(path)).body.equals(plain), `after ${i} changes`);
		}
		assert.ok((await files.get(path)).body.equals(plain));
	});
});

describe('List Ranges', () => {
	test('pages of 512, merged, cut to the size and to what was asked', async () => {
		const path = fresh();
		expectStatus(await files.create(path, 2049), 201);
		const r = expectStatus(await client.get(path, { query: { comp: 'rangelist' } }), 200);
		assert.equal(r.text, '\ufeff<?xml version="1.0" encoding="utf-8"?><Ranges />');
		assert.equal(r.headers['x-ms-content-length'], '2049');
		expectStatus(await files.write(path, 0, 'abc'), 201);
		expectStatus(await files.write(path, 600, 'abc'), 201);
		expectStatus(await files.write(path, 2048, 'a'), 201);
		assert.deepEqual(await files.ranges(path), [[0, 1023], [2048, 2048]]);
		assert.deepEqual(await files.ranges(path, {}, { 'x-ms-range': 'bytes=1000-1010' }), [[1000, 1010]]);
		assert.deepEqual(await files.ranges(path, {}, { 'x-ms-range': 'bytes=520-530' }), [[520, 530]], 'the bytes of the page lie behind');
		expectStatus(await files.clear(path, 0, 512), 201);
		assert.deepEqual(await files.ranges(path), [[512, 1023], [2048, 2048]]);
		const small = fresh();
		await files.put(small, '0123456789');
		expectStatus(await files.clear(small, 1, 8), 201);
		assert.deepEqual(await files.ranges(small), [[0, 9]], 'partial pages are zeroed and stay');
		const f = share.rootDirectoryClient.getFileClient(path.split('/').pop());
		assert.deepEqual((await f.getRangeList()).rangeList, [{ start: 512, end: 1023 }, { start: 2048, end: 2048 }]);
	});
	test('difference against a snapshot', async () => {
		const own = await files.newShare(), path = `${own}/f`;
		expectStatus(await files.create(path, 2049), 201);
		expectStatus(await files.write(path, 0, 'abcde'), 201);
		const prevsharesnapshot = await files.snapshot(own);
		expectStatus(await files.clear(path, 0, 1024), 201);
		expectStatus(await files.write(path, 1023, 'abcde'), 201);
		assert.deepEqual(await files.ranges(path, { prevsharesnapshot }), [[0, 511, 'clear'], [512, 1535]]);
		const sharesnapshot = await files.snapshot(own);
		expectStatus(await files.write(path, 2000, 'x'), 201);
		assert.deepEqual(await files.ranges(path, { prevsharesnapshot, sharesnapshot }), [[0, 511, 'clear'], [512, 1535]]);
		expectError(await client.get(path, { query: { comp: 'rangelist', prevsharesnapshot: '2001-01-01T00:00:00.0000000Z' } }), 404, 'ShareNotFound');
		expectStatus(await files.create(`${own}/later`, 1), 201);
		expectError(await client.get(`${own}/later`, { query: { comp: 'rangelist', prevsharesnapshot } }), 404, 'ResourceNotFound');
		expectStatus(await files.rename(path, `${own}/g`), 200);
		expectError(await client.get(`${own}/g`, { query: { comp: 'rangelist', prevsharesnapshot } }), 409, 'FileGenerationMismatch');
		assert.deepEqual(await files.ranges(`${own}/g`, { prevsharesnapshot }, { 'x-ms-file-support-rename': 'true' }), [[0, 511, 'clear'], [512, 2047]]);
		expectStatus(await files.create(`${own}/g`, 5), 201);
		expectError(await client.get(`${own}/g`, { query: { comp: 'rangelist', prevsharesnapshot }, headers: { 'x-ms-file-support-rename': 'true' } }), 409, 'FileGenerationMismatch');
	});
});

describe('Put Range From URL', () => {
	const sas = (path) => fileSas(server.account, server.key, home.slice(1), path.slice(home.length + 1));
	test('with the SDK, from a file and from a blob', async () => {
		const bytes = crypto.randomBytes(5000), source = fresh();
		await files.put(source, bytes);
		const f = share.rootDirectoryClient.getFileClient(uniqueName('f'));
		await f.create(2000);
		const r = await f.uploadRangeFromURL(files.url(source, {}, sas(source)), 1000, 500, 700);
		assert.ok(r.xMsContentCrc64 ?? r.contentCrc64);
		assert.ok((await f.downloadToBuffer()).subarray(500, 1200).equals(bytes.subarray(1000, 1700)));
	});
	test('hashes, conditions, refusals', async () => {
		const source = fresh(), to = fresh();
		await files.put(source, 'hello world');
		expectStatus(await files.create(to, 5), 201);
		const url = files.url(source, {}, sas(source));
		const from = (headers) => files.comp(to, 'range', { 'x-ms-write': 'update', 'x-ms-range': range(0, 5), 'x-ms-source-range': range(6, 5), 'x-ms-copy-source': url, ...headers });
		const r = expectStatus(await from({}), 201);
		assert.deepEqual([r.headers['x-ms-content-crc64'], r.headers['content-md5']], [crc64('world'), undefined]);
		assert.equal((await files.get(to)).text, 'world');
		expectStatus(await from({ 'x-ms-source-content-crc64': crc64('world') }), 201);
		expectError(await from({ 'x-ms-source-content-crc64': crc64('other') }), 400, 'Crc64Mismatch');
		const unmet = expectError(await from({ 'x-ms-source-if-match-crc64': crc64('other') }), 412, 'Crc64ConditionNotMet');
		assert.deepEqual([element(unmet.text, 'UserSpecifiedCrc'), element(unmet.text, 'ServerCalculatedCrc')], [crc64('other'), crc64('world')]);
		expectError(await from({ 'x-ms-source-if-none-match-crc64': crc64('world') }), 412, 'Crc64ConditionNotMet');
		expectError(await from({ 'x-ms-source-range': range(6, 4) }), 400, 'InvalidHeaderValue');
		expectError(await from({ 'x-ms-copy-source': files.url(source) }), 404, 'CannotVerifyCopySource');
		expectError(await from({ 'x-ms-copy-source': url.replace(/sig=[^&]*/, 'sig=AAAA') }), 403, 'CannotVerifyCopySource');
		expectError(await from({ 'x-ms-copy-source': files.url(`${home}/none`, {}, sas(`${home}/none`)) }), 404, 'CannotVerifyCopySource');
		expectError(await from({ 'x-ms-copy-source': 'http://example.com/a/b' }), 403, 'CannotVerifyCopySource');
		expectError(await from({ 'x-ms-source-range': range(100, 5) }), 416, 'InvalidRange');
	});
});

// More pieces, and more bytes in rows, than are read before an answer begins.
describe('a file in very many pieces', () => {
	const EACH = 3000, STRIDE = 8000, COUNT = scaled(5500, 4500), SIZE = COUNT * STRIDE;
	let path, wanted;
	before(async () => {
		path = fresh();
		wanted = Buffer.alloc(SIZE);
		expectStatus(await files.create(path, SIZE), 201);
		const writer = async (from) => {
			for (let i = from; i < COUNT; i += 16) {
				wanted.fill(`${i};`, i * STRIDE, i * STRIDE + EACH);
				expectStatus(await files.write(path, i * STRIDE, wanted.subarray(i * STRIDE, i * STRIDE + EACH)), 201);
			}
		};
		await Promise.all(Array.from({ length: 16 }, (_, i) => writer(i)));
	});
	test('is read whole, in ranges and from a snapshot', async () => {
		const r = expectStatus(await files.get(path), 200);
		assert.ok(r.body.equals(wanted));
		const part = expectStatus(await files.get(path, { 'x-ms-range': range(12_345, SIZE - 54_321) }), 206);
		assert.ok(part.body.equals(wanted.subarray(12_345, 12_345 + SIZE - 54_321)));
		const sharesnapshot = await files.snapshot(home);
		expectStatus(await files.write(path, 0, 'changed'), 201);
		assert.ok((await files.get(path, {}, { sharesnapshot })).body.equals(wanted));
		wanted.write('changed');
		assert.ok((await files.get(path)).body.equals(wanted));
	});
	test('is copied to another share', async () => {
		const to = `${await files.newShare()}/copy`;
		assert.equal(expectStatus(await files.copy(path, to), 202).headers['x-ms-copy-status'], 'success');
		assert.ok((await files.get(to)).body.equals(wanted));
	});
	test('changed while a slow client reads it: the answer ends early, and what came is the old state', async () => {
		const url = new URL(files.url(path, {}, fileSas(server.account, server.key, home.slice(1))));
		const answer = await new Promise((resolve, reject) => http.get(url, resolve).on('error', reject));
		assert.equal(answer.statusCode, 200);
		expectStatus(await files.write(path, SIZE - EACH, Buffer.alloc(EACH, 'X')), 201);
		const chunks = [];
		await assert.rejects(async () => {
			for await (const chunk of answer) chunks.push(chunk);
		}, /aborted|ECONNRESET/);
		const got = Buffer.concat(chunks);
		assert.ok(got.length > 0 && got.length < SIZE, `${got.length} of ${SIZE}`);
		assert.ok(got.equals(wanted.subarray(0, got.length)));
	});
});

// SPDX-License-Identifier: Apache-2.0
// Structured bodies (x-ms-structured-body: XSM/1.0; properties=crc64), written and read by code of the test's own: what
// was sent in segments is stored, what is damaged is refused, reads are framed.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { after, before, test } from 'node:test';
import { Client } from '../lib/http.mjs';
import { startServer } from '../lib/server.mjs';

const VALUE = 'XSM/1.0; properties=crc64';
const table = Array.from({ length: 256 }, (_, i) => {
	let c = BigInt(i);
	for (let k = 0; k < 8; k++) c = (c >> 1n) ^ (c & 1n ? 0x9a6c9329ac4bc9b5n : 0n);
	return c;
});
const MASK = 0xffffffffffffffffn;
function crc64(data) {
	let crc = MASK;
	for (const byte of data) crc = (crc >> 8n) ^ table[Number((crc ^ BigInt(byte)) & 0xffn)];
	return crc ^ MASK;
}
const le = (value, bytes) => {
	const b = Buffer.alloc(8);
	b.writeBigUInt64LE(BigInt(value));
	return b.subarray(0, bytes);
};
function frame(data, segmentBytes) {
	const segments = [];
	for (let at = 0; at < data.length; at += segmentBytes) segments.push(data.subarray(at, at + segmentBytes));
	const body = segments.map((s, i) => Buffer.concat([le(i + 1, 2), le(s.length, 8), s, le(crc64(s), 8)]));
	const length = 13 + body.reduce((n, b) => n + b.length, 0) + 8;
	return Buffer.concat([le(1, 1), le(length, 8), le(1, 2), le(segments.length, 2), ...body, le(crc64(data), 8)]);
}
function unframe(message) {
	assert.equal(message[0], 1);
	assert.equal(message.readBigUInt64LE(1), BigInt(message.length));
	assert.equal(message.readUInt16LE(9), 1);
	const count = message.readUInt16LE(11);
	const data = [];
	let at = 13;
	for (let i = 1; i <= count; i++) {
		assert.equal(message.readUInt16LE(at), i);
		const length = Number(message.readBigUInt64LE(at + 2));
		const segment = message.subarray(at + 10, at + 10 + length);
		assert.equal(message.readBigUInt64LE(at + 10 + length), crc64(segment));
		data.push(segment);
		at += 18 + length;
	}
	const all = Buffer.concat(data);
	assert.equal(message.readBigUInt64LE(at), crc64(all));
	assert.equal(at + 8, message.length);
	return all;
}

let server, client;
const version = '2025-01-05';
before(async () => {
	server = await startServer({ flags: ['--silent'] });
	client = new Client(server, { version });
	assert.equal((await client.put('/framed', { query: { restype: 'container' } })).status, 201);
});
after(() => server?.remove());

const structured = (data, extra = {}) => ({ 'x-ms-structured-body': VALUE, 'x-ms-structured-content-length': data.length, ...extra });
const put = (name, message, data, extra) => client.put(`/framed/${name}`, { body: message, headers: structured(data, { 'x-ms-blob-type': 'BlockBlob', ...extra }) });

test('bodies of many sizes and segments are stored as their data, and read framed and plain', async () => {
	for (const [size, segment] of [[0, 10], [1, 10], [4096, 1000], [33_000, 4 << 20], [300_000, 65_536], [5_000_000, 4 << 20], [9_000_000, 1_000_003]]) {
		const data = crypto.randomBytes(size);
		const r = await put(`b${size}`, frame(data, segment), data);
		assert.equal(r.status, 201, r.text);
		assert.equal(r.headers['x-ms-structured-body'], VALUE);
		assert.equal(r.headers['content-md5'], crypto.createHash('md5').update(data).digest('base64'));
		assert.equal(r.headers['x-ms-content-crc64'], le(crc64(data), 8).toString('base64'));
		const plain = await client.get(`/framed/b${size}`);
		assert.ok(plain.body.equals(data), `${size} bytes`);
		const framed = await client.get(`/framed/b${size}`, { headers: { 'x-ms-structured-body': VALUE } });
		assert.equal(framed.status, 200);
		assert.equal(framed.headers['x-ms-structured-body'], VALUE);
		assert.equal(framed.headers['x-ms-structured-content-length'], String(size));
		assert.equal(framed.headers['content-length'], String(framed.body.length));
		assert.ok(unframe(framed.body).equals(data), `${size} bytes framed`);
	}
});

test('a range is framed by itself', async () => {
	const data = crypto.randomBytes(9_000_000);
	assert.equal((await client.put('/framed/range', { body: data, headers: { 'x-ms-blob-type': 'BlockBlob' } })).status, 201);
	const r = await client.get('/framed/range', { headers: { 'x-ms-structured-body': VALUE, 'x-ms-range': 'bytes=100-8388999' } });
	assert.equal(r.status, 206);
	assert.equal(r.headers['content-range'], 'bytes 100-8388999/9000000');
	assert.ok(unframe(r.body).equals(data.subarray(100, 8_389_000)));
});

test('blocks, pages and appends take it', async () => {
	const data = crypto.randomBytes(2048);
	const message = frame(data, 700);
	const id = Buffer.from('one').toString('base64');
	assert.equal((await client.put('/framed/blocks', { query: { comp: 'block', blockid: id }, body: message, headers: structured(data) })).status, 201);
	assert.equal((await client.put('/framed/blocks', { query: { comp: 'blocklist' }, body: `<BlockList><Latest>${id}</Latest></BlockList>` })).status, 201);
	assert.ok((await client.get('/framed/blocks')).body.equals(data));
	await client.put('/framed/append', { headers: { 'x-ms-blob-type': 'AppendBlob' } });
	assert.equal((await client.put('/framed/append', { query: { comp: 'appendblock' }, body: message, headers: structured(data) })).status, 201);
	assert.ok((await client.get('/framed/append')).body.equals(data));
	await client.put('/framed/pages', { headers: { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': 2048 } });
	const page = await client.put('/framed/pages', { query: { comp: 'page' }, body: message, headers: structured(data, { 'x-ms-page-write': 'update', 'x-ms-range': 'bytes=0-2047' }) });
	assert.equal(page.status, 201, page.text);
	assert.ok((await client.get('/framed/pages')).body.equals(data));
});

test('what is damaged, cut or misdeclared is refused and stores nothing', async () => {
	const data = crypto.randomBytes(10_000);
	const good = frame(data, 3000);
	const flip = (at) => {
		const copy = Buffer.from(good);
		copy[at] ^= 0x10;
		return copy;
	};
	const wrong = await put('never', flip(13 + 10 + 5), data);
	assert.equal(wrong.status, 400);
	assert.equal(wrong.code, 'Crc64Mismatch');
	assert.equal((await put('never', flip(good.length - 1), data)).code, 'Crc64Mismatch');
	for (const message of [flip(0), flip(9), flip(11), flip(13), good.subarray(0, good.length - 8), Buffer.concat([good, Buffer.from('x')]), Buffer.alloc(0), Buffer.from('no frame at all')]) {
		const r = await put('never', message, data);
		assert.equal(r.status, 400, `${r.status} for ${message.length} bytes`);
	}
	assert.equal((await put('never', good, data.subarray(1))).status, 400);
	assert.equal((await client.put('/framed/never', { body: good, headers: { 'x-ms-blob-type': 'BlockBlob', 'x-ms-structured-body': VALUE } })).code, 'MissingRequiredHeader');
	assert.equal((await put('never', good, data, { 'x-ms-structured-body': 'XSM/2.0; properties=crc64' })).code, 'InvalidHeaderValue');
	assert.equal((await client.get('/framed/never')).status, 404);
});

test('versions that do not know it, and documents, refuse it', async () => {
	const data = Buffer.from('hello');
	const old = new Client(server, { version: '2024-11-04' });
	assert.equal((await old.put('/framed/old', { body: frame(data, 5), headers: structured(data, { 'x-ms-blob-type': 'BlockBlob' }) })).code, 'UnsupportedHeader');
	assert.equal((await old.get('/framed/old', { headers: { 'x-ms-structured-body': VALUE } })).status, 400);
	const list = Buffer.from('<BlockList></BlockList>');
	assert.equal((await client.put('/framed/doc', { query: { comp: 'blocklist' }, body: frame(list, 100), headers: structured(list) })).code, 'UnsupportedHeader');
});

test('File: ranges and files created with data take it, Get File answers so', async () => {
	const files = new Client(server, { service: 'file', version: '2026-04-06' }); // the first that knows it
	assert.equal((await files.put('/framed', { query: { restype: 'share' } })).status, 201);
	const create = (name, length, extra = {}, body = undefined) => files.put(`/framed/${name}`, { body, headers: { 'x-ms-type': 'file', 'x-ms-content-length': length, ...extra } });
	const write = (name, message, data, extra = {}) => files.put(`/framed/${name}`, { query: { comp: 'range' }, body: message, headers: structured(data, { 'x-ms-write': 'update', 'x-ms-range': `bytes=0-${data.length - 1}`, ...extra }) });
	for (const [size, segment] of [[1, 10], [512, 100], [70_000, 4096], [4 << 20, 1 << 20]]) {
		const data = crypto.randomBytes(size), name = `f${size}`;
		assert.equal((await create(name, size)).status, 201);
		const r = await write(name, frame(data, segment), data);
		assert.equal(r.status, 201, r.text);
		assert.equal(r.headers['x-ms-structured-body'], VALUE);
		assert.ok((await files.get(`/framed/${name}`)).body.equals(data), `${size} bytes`);
		const framed = await files.get(`/framed/${name}`, { headers: { 'x-ms-structured-body': VALUE } });
		assert.equal(framed.status, 200);
		assert.equal(framed.headers['x-ms-structured-body'], VALUE);
		assert.equal(framed.headers['x-ms-structured-content-length'], String(size));
		assert.equal(framed.headers['content-length'], String(framed.body.length));
		assert.ok(unframe(framed.body).equals(data), `${size} bytes framed`);
	}
	// Holes and several pieces; a range of them.
	const whole = Buffer.alloc(4_500_000), part = crypto.randomBytes(300_000);
	assert.equal((await create('holes', whole.length)).status, 201);
	for (const at of [1000, 2_000_000, 2_200_000, 4_100_000]) {
		part.copy(whole, at);
		assert.equal((await write('holes', frame(part, 65_536), part, { 'x-ms-range': `bytes=${at}-${at + part.length - 1}` })).status, 201);
	}
	assert.ok(unframe((await files.get('/framed/holes', { headers: { 'x-ms-structured-body': VALUE } })).body).equals(whole));
	const range = await files.get('/framed/holes', { headers: { 'x-ms-structured-body': VALUE, 'x-ms-range': 'bytes=500-4300000' } });
	assert.equal(range.status, 206);
	assert.equal(range.headers['content-range'], `bytes 500-4300000/${whole.length}`);
	assert.ok(unframe(range.body).equals(whole.subarray(500, 4_300_001)));
	assert.equal((await create('empty', 0)).status, 201);
	assert.equal(unframe((await files.get('/framed/empty', { headers: { 'x-ms-structured-body': VALUE } })).body).length, 0);
	// With its data at once, where the version knows that.
	const small = crypto.randomBytes(3000);
	const made = await files.put('/framed/made', { version: '2026-06-06', body: frame(small, 1000), headers: structured(small, { 'x-ms-type': 'file', 'x-ms-content-length': small.length }) });
	assert.equal(made.status, 201, made.text);
	assert.ok((await files.get('/framed/made')).body.equals(small));
	// What is damaged changes nothing.
	const good = frame(small, 1000), bad = Buffer.from(good);
	bad[13 + 10 + 5] ^= 1;
	assert.equal((await write('made', bad, small)).code, 'Crc64Mismatch');
	assert.equal((await write('made', good.subarray(0, good.length - 1), small)).status, 400);
	assert.equal((await write('made', good, small.subarray(1))).status, 400);
	assert.equal((await write('made', good, small, { 'x-ms-structured-body': 'XSM/2.0; properties=crc64' })).code, 'InvalidHeaderValue');
	assert.equal((await files.get('/framed/made', { headers: { 'x-ms-structured-body': 'XSM/1.0' } })).code, 'InvalidHeaderValue');
	assert.ok((await files.get('/framed/made')).body.equals(small));
	const old = new Client(server, { service: 'file', version: '2026-02-06' });
	assert.equal((await old.get('/framed/made', { headers: { 'x-ms-structured-body': VALUE } })).code, 'UnsupportedHeader');
});

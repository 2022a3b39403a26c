// SPDX-License-Identifier: Apache-2.0
// Keep-alive, pipelining, Expect, chunked uploads, half-close, resets, HEAD, bodies nobody wants.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { accountSas } from '../lib/sign.mjs';
import { Client } from '../lib/http.mjs';
import { startServer } from '../lib/server.mjs';
import { Wire, portOf } from './wire.mjs';

let server, port, sas, blob;
before(async () => {
	server = await startServer();
	port = portOf(server.endpoints.blob);
	sas = accountSas(server.account, server.key, {}).toString();
	blob = new Client(server);
	assert.equal((await blob.put('/conn', { query: { restype: 'container' } })).status, 201);
});
after(() => server?.remove());

const put = (name, ...lines) =>
	`PUT /devstoreaccount1/conn/${name}?${sas} HTTP/1.1\r\nHost: h\r\nx-ms-blob-type: BlockBlob\r\nx-ms-version: 2021-06-08\r\n${lines.map((l) => `${l}\r\n`).join('')}\r\n`;
const get = (name) => `GET /devstoreaccount1/conn/${name}?${sas} HTTP/1.1\r\nHost: h\r\nx-ms-version: 2021-06-08\r\n\r\n`;
const HEALTH = 'GET /health HTTP/1.1\r\nHost: h\r\n\r\n';

test('pipelined writes and reads are answered in order', async () => {
	const wire = await Wire.open(port);
	let bytes = '';
	for (let i = 0; i < 50; i++) bytes += put(`pipe${i}`, 'Content-Length: 5') + `v${String(i).padStart(4, '0')}` + get(`pipe${i}`);
	await wire.send(bytes);
	await wire.until((text) => text.includes('v0049'), 'the last value');
	assert.deepEqual(wire.statuses, Array.from({ length: 100 }, (_, i) => (i % 2 ? 200 : 201)));
	assert.deepEqual(
		[...wire.text.matchAll(/\r\n\r\nv(\d{4})/g)].map((m) => Number(m[1])),
		Array.from({ length: 50 }, (_, i) => i),
	);
	await wire.destroy();
});

test('a request split at every byte', async () => {
	const request = put('split', 'Content-Length: 5') + 'hello';
	const wire = await Wire.open(port);
	for (const byte of request) await wire.send(byte);
	await wire.until((text) => /HTTP\/1\.1 201 /.test(text), '201');
	await wire.destroy();
	assert.equal((await blob.get('/conn/split')).text, 'hello');
});

describe('Expect: 100-continue', () => {
	test('is answered, then the body is taken', async () => {
		const body = crypto.randomBytes(300_000);
		const wire = await Wire.open(port);
		await wire.send(put('expect', 'Expect: 100-continue', `Content-Length: ${body.length}`));
		await wire.until((text) => text === 'HTTP/1.1 100 Continue\r\n\r\n', '100');
		await wire.send(body);
		await wire.until((text) => /HTTP\/1\.1 201 /.test(text), '201');
		await wire.destroy();
		assert.deepEqual((await blob.get('/conn/expect')).body, body);
	});

	for (const [name, query, status] of [
		['a container that is not there', 'nowhere/b', 404],
		['a condition that cannot hold', 'conn/expect', 412],
	]) {
		test(`is refused for ${name}, without the body`, async () => {
			const wire = await Wire.open(port);
			await wire.send(
				`PUT /devstoreaccount1/${query}?${sas} HTTP/1.1\r\nHost: h\r\nx-ms-blob-type: BlockBlob\r\nx-ms-version: 2021-06-08\r\nIf-Match: "0x1"\r\nExpect: 100-continue\r\nContent-Length: 100000\r\n\r\n`,
			);
			await wire.peerEnds();
			assert.deepEqual(wire.statuses, [status]);
			await wire.destroy();
		});
	}

	test('is refused without credentials', async () => {
		const wire = await Wire.open(port);
		await wire.send('PUT /devstoreaccount1/conn/x HTTP/1.1\r\nHost: h\r\nx-ms-version: 2021-06-08\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n');
		await wire.peerEnds();
		assert.deepEqual(wire.statuses, [401]);
		await wire.destroy();
	});
});

test('an empty line before a request is ignored, also where clients put it: behind a body', async () => {
	const wire = await Wire.open(port);
	await wire.send('\r\n' + put('blank', 'Content-Length: 5') + 'hello\r\n' + get('blank'));
	await wire.until((text) => text.endsWith('hello'), 'the value');
	await wire.send('\r\n');
	await wire.send(HEALTH);
	await wire.until((text) => text.includes('{"status":"ok"}'), 'the next answer');
	assert.deepEqual(wire.statuses, [201, 200, 200]);
	await wire.send('\r\n\r\n' + HEALTH);
	await wire.peerEnds();
	assert.deepEqual(wire.statuses, [201, 200, 200, 400]);
	await wire.destroy();
});

test('blanks before an extension of a chunk', async () => {
	const wire = await Wire.open(port);
	await wire.send(put('extended', 'Transfer-Encoding: chunked') + '5 ;name=v\r\nhello\r\n1\t ; x\r\n!\r\n0 ;\r\n\r\n' + get('extended'));
	await wire.until((text) => text.endsWith('hello!'), 'the value');
	assert.deepEqual(wire.statuses, [201, 200]);
	await wire.destroy();
});

for (const size of [0, 1, 1000, 40_000, 200_000, 3_000_000]) {
	test(`a chunked upload of ${size} bytes`, async () => {
		const body = crypto.randomBytes(size);
		const wire = await Wire.open(port);
		await wire.send(put(`chunked${size}`, 'Transfer-Encoding: chunked'));
		for (let at = 0, n = 7; at < size; at += n) {
			n = Math.min(size - at, (n * 13) % 70_001 || 1);
			await wire.send(Buffer.concat([Buffer.from(`${n.toString(16)};name="v"\r\n`), body.subarray(at, at + n), Buffer.from('\r\n')]));
		}
		await wire.send(`0\r\nX-Trailer: t\r\n\r\n${HEALTH}`);
		await wire.until((text) => text.includes('{"status":"ok"}'), 'the next answer');
		assert.deepEqual(wire.statuses, [201, 200]);
		await wire.destroy();
		assert.deepEqual((await blob.get(`/conn/chunked${size}`)).body, body);
	});
}

test('a half-closed connection gets its answer', async () => {
	const wire = await Wire.open(port);
	wire.socket.end(put('half', 'Content-Length: 4') + 'half');
	await wire.peerEnds();
	assert.deepEqual(wire.statuses, [201]);
	assert.equal((await blob.get('/conn/half')).text, 'half');
});

test('a half-closed connection in the middle of a body leaves nothing', async () => {
	const wire = await Wire.open(port);
	wire.socket.end(put('halfbody', 'Content-Length: 400') + 'half');
	await wire.peerEnds();
	assert.deepEqual(wire.statuses, []);
	assert.equal((await blob.get('/conn/halfbody')).status, 404);
});

test('resets in every state leave nothing and harm nobody', async () => {
	const big = crypto.randomBytes(2_000_000);
	const request = Buffer.concat([Buffer.from(put('reset', `Content-Length: ${big.length}`)), big]);
	for (let i = 0; i < 40; i++) {
		const wire = await Wire.open(port);
		await wire.send(request.subarray(0, Math.floor((request.length * i) / 40)));
		wire.socket.resetAndDestroy();
		await wire.closed;
	}
	assert.equal((await blob.get('/conn/reset')).status, 404);
	/* while the answer streams */
	assert.equal((await blob.put('/conn/large', { headers: { 'x-ms-blob-type': 'BlockBlob' }, body: big })).status, 201);
	for (let i = 0; i < 20; i++) {
		const wire = await Wire.open(port);
		await wire.send(get('large'));
		await wire.until((text) => text.length > i * 1000, 'some bytes');
		wire.socket.resetAndDestroy();
		await wire.closed;
	}
	assert.deepEqual((await blob.get('/conn/large')).body, big);
});

test('HEAD has the length and no body; the connection goes on', async () => {
	const wire = await Wire.open(port);
	assert.equal((await blob.put('/conn/headed', { headers: { 'x-ms-blob-type': 'BlockBlob' }, body: 'x'.repeat(5000) })).status, 201);
	await wire.send(`HEAD /devstoreaccount1/conn/headed?${sas} HTTP/1.1\r\nHost: h\r\n\r\n${HEALTH}`);
	await wire.until((text) => text.includes('{"status":"ok"}'), 'the next answer');
	assert.match(wire.text, /^HTTP\/1\.1 200 OK\r\nContent-Length: 5000\r\n[^]*?\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
	await wire.send(`HEAD /devstoreaccount1/conn/missing?${sas} HTTP/1.1\r\nHost: h\r\n\r\n${HEALTH}`);
	await wire.until((text) => text.split('{"status":"ok"}').length === 3, 'the next answer');
	assert.match(wire.text, /\nHTTP\/1\.1 404 Not Found\r\n[^]*x-ms-error-code: BlobNotFound\r\n[^]*?\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
	await wire.destroy();
});

test('304 has no body and no length', async () => {
	const etag = (await blob.put('/conn/etag', { headers: { 'x-ms-blob-type': 'BlockBlob' }, body: 'x' })).headers.etag;
	const wire = await Wire.open(port);
	await wire.send(`GET /devstoreaccount1/conn/etag?${sas} HTTP/1.1\r\nHost: h\r\nx-ms-version: 2021-06-08\r\nIf-None-Match: ${etag}\r\n\r\n${HEALTH}`);
	await wire.until((text) => text.includes('{"status":"ok"}'), 'the next answer');
	assert.deepEqual(wire.statuses, [304, 200]);
	const first = wire.text.slice(0, wire.text.indexOf('\r\n\r\n') + 4);
	assert.doesNotMatch(first, /content-length/i);
	assert.match(first, /x-ms-error-code: ConditionNotMet/);
	assert.ok(wire.text.slice(first.length).startsWith('HTTP/1.1 200'));
	await wire.destroy();
});

test('a small body that nobody wants is read over, a large one ends the connection', async () => {
	const wire = await Wire.open(port);
	await wire.send(put('b', 'Content-Length: 60000', 'x-ms-version: nonsense').replace('x-ms-version: 2021-06-08\r\n', ''));
	await wire.until((text) => /HTTP\/1\.1 400 [^]*<\/Error>/.test(text), '400');
	assert.match(wire.text, /<HeaderName>x-ms-version<\/HeaderName>/);
	await wire.send('y'.repeat(60_000) + HEALTH);
	await wire.until((text) => text.includes('{"status":"ok"}'), 'the next answer');
	assert.deepEqual(wire.statuses, [400, 200]);
	await wire.send(put('b', 'Content-Length: 60000000', 'x-ms-version: nonsense').replace('x-ms-version: 2021-06-08\r\n', ''));
	await wire.peerEnds();
	assert.deepEqual(wire.statuses, [400, 200, 400]);
	await wire.destroy();
});

test('too large by its length is refused before a byte of the body', async () => {
	const wire = await Wire.open(port);
	await wire.send(put('huge', 'Content-Length: 5242880001'));
	await wire.peerEnds();
	assert.deepEqual(wire.statuses, [413]);
	assert.match(wire.text, /<Code>RequestBodyTooLarge<\/Code>[^]*<MaxLimit>5242880000<\/MaxLimit>/);
	await wire.destroy();
});

test('no length at all is 411', async () => {
	const wire = await Wire.open(port);
	await wire.send(put('nolength'));
	await wire.until((text) => text.includes('</Error>'), 'the answer');
	assert.deepEqual(wire.statuses, [411]);
	await wire.destroy();
});

test('unknown verbs, parameters and accounts', async () => {
	for (const [line, status, code] of [
		['PATCH /devstoreaccount1/conn/b', 405, 'UnsupportedHttpVerb'],
		['BREW /devstoreaccount1/conn/b', 400, 'InvalidHttpVerb'],
		['GET /devstoreaccount1/conn/b?comp=nonsense', 400, 'InvalidQueryParameterValue'],
		['GET /devstoreaccount1/conn?restype=nonsense', 400, 'InvalidQueryParameterValue'],
		['GET /nobody/conn/b', 404, 'ResourceNotFound'],
		['GET /devstoreaccount1/conn/b?timeout=soon', 400, 'InvalidQueryParameterValue'],
		['GET /devstoreaccount1/conn/%zz', 400, 'InvalidUri'],
	]) {
		const wire = await Wire.open(port);
		await wire.send(`${line} HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nx-ms-version: 2021-06-08\r\nx-ms-client-request-id: mine\r\n\r\n`);
		await wire.until((text) => text.includes('</Error>'), 'the answer');
		assert.deepEqual(wire.statuses, [status], line);
		assert.match(wire.text, new RegExp(`x-ms-error-code: ${code}\r\n`), line);
		assert.match(wire.text, /x-ms-client-request-id: mine\r\n/);
		await wire.destroy();
	}
});

test('SIGTERM answers what is under way, then ends', async () => {
	const own = await startServer();
	try {
		const client = new Client(own);
		assert.equal((await client.put('/term', { query: { restype: 'container' } })).status, 201);
		const ownSas = accountSas(own.account, own.key, {}).toString();
		const body = crypto.randomBytes(1_000_000);
		const wire = await Wire.open(portOf(own.endpoints.blob));
		const idle = await Wire.open(portOf(own.endpoints.blob));
		await wire.send(
			`PUT /devstoreaccount1/term/b?${ownSas} HTTP/1.1\r\nHost: h\r\nx-ms-blob-type: BlockBlob\r\nx-ms-version: 2021-06-08\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`,
		);
		await wire.until((text) => text.startsWith('HTTP/1.1 100'), '100');
		await wire.send(body.subarray(0, 500_000));
		const stopped = own.stop();
		await idle.peerEnds();
		await wire.send(body.subarray(500_000));
		await wire.peerEnds();
		assert.deepEqual(wire.statuses, [100, 201]);
		assert.match(wire.text, /\r\nConnection: close\r\n/);
		await wire.destroy();
		await idle.destroy();
		await stopped;
		await own.restart();
		assert.deepEqual((await client.get('/term/b')).body, body);
	} finally {
		await own.remove();
	}
});

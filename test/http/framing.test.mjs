// SPDX-License-Identifier: Apache-2.0
// What could be read in two ways is refused: 400 and close, and nothing behind it is taken for a request.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { accountSas } from '../lib/sign.mjs';
import { Client } from '../lib/http.mjs';
import { startServer } from '../lib/server.mjs';
import { Wire, portOf } from './wire.mjs';

let server, port, sas;
before(async () => {
	server = await startServer();
	port = portOf(server.endpoints.blob);
	sas = accountSas(server.account, server.key, {}).toString();
	const blob = new Client(server);
	assert.equal((await blob.put('/frames', { query: { restype: 'container' } })).status, 201);
});
after(() => server?.remove());

const SMUGGLED = 'GET /health HTTP/1.1\r\nHost: smuggled\r\n\r\n';
const head = (...lines) => `PUT /devstoreaccount1/frames/b?@ HTTP/1.1\r\n${lines.map((l) => `${l}\r\n`).join('')}\r\n`;
const ok = ['Host: h', 'x-ms-blob-type: BlockBlob', 'x-ms-version: 2021-06-08'];

const heads = {
	'Content-Length and Transfer-Encoding': head(...ok, 'Content-Length: 4', 'Transfer-Encoding: chunked') + '0\r\n\r\n',
	'Transfer-Encoding and Content-Length': head(...ok, 'Transfer-Encoding: chunked', 'Content-Length: 4') + '0\r\n\r\n',
	'two Content-Lengths, equal': head(...ok, 'Content-Length: 4', 'Content-Length: 4') + 'abcd',
	'two Content-Lengths, different': head(...ok, 'Content-Length: 4', 'Content-Length: 0') + 'abcd',
	'a list of Content-Lengths': head(...ok, 'Content-Length: 4, 4') + 'abcd',
	'Content-Length with a plus': head(...ok, 'Content-Length: +4') + 'abcd',
	'Content-Length with a minus': head(...ok, 'Content-Length: -4') + 'abcd',
	'Content-Length in hex': head(...ok, 'Content-Length: 0x4') + 'abcd',
	'Content-Length with a blank inside': head(...ok, 'Content-Length: 4 4') + 'abcd',
	'Content-Length empty': head(...ok, 'Content-Length: ') + 'abcd',
	'Content-Length beyond 64 bits': head(...ok, 'Content-Length: 18446744073709551620') + 'abcd',
	'Content-Length with a fraction': head(...ok, 'Content-Length: 4.0') + 'abcd',
	'Transfer-Encoding: chunked, chunked': head(...ok, 'Transfer-Encoding: chunked, chunked') + '0\r\n\r\n',
	'Transfer-Encoding twice': head(...ok, 'Transfer-Encoding: chunked', 'Transfer-Encoding: chunked') + '0\r\n\r\n',
	'Transfer-Encoding: gzip, chunked': head(...ok, 'Transfer-Encoding: gzip, chunked') + '0\r\n\r\n',
	'Transfer-Encoding: xchunked': head(...ok, 'Transfer-Encoding: xchunked') + '0\r\n\r\n',
	'Transfer-Encoding: identity': head(...ok, 'Transfer-Encoding: identity') + 'abcd',
	'Transfer-Encoding with a vertical tab': head(...ok, 'Transfer-Encoding: \x0bchunked') + '0\r\n\r\n',
	'a folded header': head(...ok, 'X-A: b', ' c', 'Content-Length: 4') + 'abcd',
	'a folded Transfer-Encoding': head(...ok, 'Transfer-Encoding:', ' chunked') + '0\r\n\r\n',
	'a blank before the colon': head(...ok, 'Content-Length : 4') + 'abcd',
	'a tab before the colon': head(...ok, 'Transfer-Encoding\t: chunked') + '0\r\n\r\n',
	'a header without a name': head(...ok, ': x', 'Content-Length: 4') + 'abcd',
	'a header without a colon': head(...ok, 'Content-Length 4') + 'abcd',
	'a NUL in a value': head(...ok, 'X-A: b\0c', 'Content-Length: 4') + 'abcd',
	'a NUL in a name': head(...ok, 'X\0A: b', 'Content-Length: 4') + 'abcd',
	'a control byte in a value': head(...ok, 'X-A: b\x01c', 'Content-Length: 4') + 'abcd',
	'a bare LF as line end': `PUT /devstoreaccount1/frames/b?@ HTTP/1.1\nHost: h\nContent-Length: 4\n\nabcd`,
	'a bare LF in the middle': head(...ok, 'X-A: b\nContent-Length: 0', 'Content-Length: 4') + 'abcd',
	'a bare CR in a value': head(...ok, 'X-A: b\rContent-Length: 0', 'Content-Length: 4') + 'abcd',
	'no Host': head('Content-Length: 4') + 'abcd',
	'two Hosts': head('Host: a', 'Host: b', 'Content-Length: 4') + 'abcd',
	'blank in front of the first header': `PUT /devstoreaccount1/frames/b?@ HTTP/1.1\r\n Host: h\r\n\r\n`,
	'no version': 'GET /health\r\nHost: h\r\n\r\n',
	'HTTP/2.0': 'GET /health HTTP/2.0\r\nHost: h\r\n\r\n',
	'HTTP/1.2': 'GET /health HTTP/1.2\r\nHost: h\r\n\r\n',
	'lower-case http/1.1': 'GET /health http/1.1\r\nHost: h\r\n\r\n',
	'two blanks in the request line': 'GET  /health HTTP/1.1\r\nHost: h\r\n\r\n',
	'a tab in the request line': 'GET\t/health HTTP/1.1\r\nHost: h\r\n\r\n',
	'a blank in the target': 'GET /hea lth HTTP/1.1\r\nHost: h\r\n\r\n',
	'a target without a slash': 'GET health HTTP/1.1\r\nHost: h\r\n\r\n',
	'a method with a bad byte': 'G@T /health HTTP/1.1\r\nHost: h\r\n\r\n',
	'chunked in HTTP/1.0': 'PUT /devstoreaccount1/frames/b?@ HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
	'a TLS hello': '\x16\x03\x01\x00\xf4\x01\x00\x00\xf0\x03\x03\r\n\r\n',
	'1,025 headers': head(...ok, ...Array.from({ length: 1024 - ok.length }, (_, i) => `X-${i}: v`), 'Content-Length: 4') + 'abcd',
	'a head of 70 KB': head(...ok, `X-A: ${'a'.repeat(70_000)}`, 'Content-Length: 4') + 'abcd',
	'a target of 40 KB': `GET /${'a'.repeat(40_000)} HTTP/1.1\r\nHost: h\r\n\r\n`,
};

describe('a head that cannot be framed', () => {
	for (const [name, bytes] of Object.entries(heads)) {
		test(name, async () => {
			const wire = await Wire.open(port);
			await wire.send(Buffer.from(bytes.replaceAll('@', sas) + SMUGGLED, 'latin1'));
			await wire.peerEnds();
			assert.deepEqual(wire.statuses, [400]);
			assert.match(wire.text, /\r\nConnection: close\r\n/);
			await wire.destroy();
		});
	}
});

const chunks = {
	'size is not hex': 'zz\r\nabcd\r\n0\r\n\r\n',
	'size is negative': '-4\r\nabcd\r\n0\r\n\r\n',
	'size has a plus': '+4\r\nabcd\r\n0\r\n\r\n',
	'size with 0x': '0x4\r\nabcd\r\n0\r\n\r\n',
	'size is empty': '\r\nabcd\r\n0\r\n\r\n',
	'size beyond 64 bits': '10000000000000004\r\nabcd\r\n0\r\n\r\n',
	'size followed by a blank and a number': '4 4\r\nabcd\r\n0\r\n\r\n',
	'size line ends with a bare LF': '4\nabcd\r\n0\r\n\r\n',
	'data longer than the size': '3\r\nabcd\r\n0\r\n\r\n',
	'data shorter than the size': '5\r\nabcd\r\n0\r\n\r\nxxxxxxxx',
	'data ends with a bare LF': '4\r\nabcd\n0\r\n\r\n',
	'a size line of 2 KB': `4;${'x'.repeat(2048)}\r\nabcd\r\n0\r\n\r\n`,
	'trailers of 2 KB': `4\r\nabcd\r\n0\r\nX: ${'x'.repeat(2048)}\r\n\r\n`,
	'a trailer that would change the framing': '4\r\nabcd\r\n0\r\nContent-Length: 50\r\n\r\n',
};

describe('a chunked body that cannot be framed', () => {
	for (const [name, bytes] of Object.entries(chunks)) {
		test(name, async () => {
			const wire = await Wire.open(port);
			await wire.send(Buffer.from(head(...ok, 'Transfer-Encoding: chunked').replace('@', sas) + bytes + SMUGGLED, 'latin1'));
			await wire.peerEnds();
			assert.deepEqual(wire.statuses, [400]);
			assert.match(wire.text, /\r\nConnection: close\r\n/);
			await wire.destroy();
		});
	}

	test('and none of them left a blob', async () => {
		const r = await new Client(server).get('/frames/b');
		assert.equal(r.status, 404);
	});
});

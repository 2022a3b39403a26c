// SPDX-License-Identifier: Apache-2.0
// Numbers at the edges of their types wherever a request may name one, and documents too deep, too long, too many. Each is answered with
// what it means or with 4xx, at once; none with 5xx, none with bytes that are not there; afterwards all is as it was.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fs from 'node:fs';
import { scale, startServer } from '../lib/server.mjs';
import { Client, RawConnection } from '../lib/http.mjs';
import { element, elements, expectError, expectStatus, md5 } from '../lib/assert.mjs';

const json = { accept: 'application/json;odata=nometadata', 'content-type': 'application/json' };
const EDGES = [0n, 1n, 511n, 512n, 2n ** 31n, 2n ** 32n, 2n ** 63n, 2n ** 64n]
	.flatMap((n) => [n - 1n, n, n + 1n])
	.map(String)
	.concat(['-9223372036854775808', '-9223372036854775809', '340282366920938463463374607431768211456', '00000000000000000000001', '+1', '1e3', '0x10', '1.0', '', ' ', '\u0661']);
const PAGES = 4096;
const bytes = Buffer.alloc(1000, 'edge;');

let server, blob, queue, table;
before(async () => {
	server = await startServer();
	[blob, queue, table] = ['blob', 'queue', 'table'].map((service) => new Client(server, { service }));
	expectStatus(await blob.put('/edges', { query: { restype: 'container' } }), 201);
	expectStatus(await blob.put('/edges/b', { body: bytes, headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
	expectStatus(await blob.put('/edges/p', { headers: { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': PAGES } }), 201);
	expectStatus(await blob.put('/edges/a', { headers: { 'x-ms-blob-type': 'AppendBlob' } }), 201);
	expectStatus(await queue.put('/edges'), 201);
	expectStatus(await table.post('/Tables', { headers: json, body: '{"TableName":"edges"}' }), 201);
});
after(() => server?.remove());

let cells = 0;
// Header values go over the wire without blanks around them and as Latin-1: what would change on the way is left out.
const fits = (text) => /^[\x21-\x7e]*$/.test(text);
async function ask(client, method, path, o) {
	cells++;
	const began = Date.now();
	const r = await client.request(method, path, o);
	const what = `${method} ${path} ${JSON.stringify(o.query ?? {})} ${JSON.stringify(o.headers ?? {})}`.slice(0, 300);
	assert.ok(r.status < 500, `${what}: ${r.status} ${r.text.slice(0, 200)}`);
	assert.ok(Date.now() - began < 5000 / Math.min(1, scale), `${what}: took ${Date.now() - began} ms`);
	return r;
}

describe('numbers at their edges', () => {
	test('ranges of a read show the bytes that are there', async () => {
		for (const first of EDGES.filter(fits))
			for (const last of ['', ...EDGES.filter(fits)])
				for (const header of ['range', 'x-ms-range']) {
					const r = await ask(blob, 'GET', '/edges/b', { headers: { [header]: `bytes=${first}-${last}` } });
					if (r.status === 200) assert.ok(r.body.equals(bytes), `bytes=${first}-${last}`);
					else if (r.status === 206) {
						const [, from, to] = /^bytes (\d+)-(\d+)\/1000$/.exec(r.headers['content-range']);
						assert.ok(Number(to) < 1000 && r.body.equals(bytes.subarray(Number(from), Number(to) + 1)), `bytes=${first}-${last}`);
					} else assert.ok([400, 416].includes(r.status), `bytes=${first}-${last}: ${r.status}`);
				}
	});
	test('ranges and lengths of pages', async () => {
		for (const n of EDGES.filter(fits)) {
			for (const range of [`bytes=${n}-511`, `bytes=0-${n}`, `bytes=${n}-${n}`])
				for (const headers of [{ 'x-ms-page-write': 'clear', 'x-ms-range': range }, { 'x-ms-page-write': 'update', 'x-ms-range': range }]) {
					const r = await ask(blob, 'PUT', '/edges/p', { query: { comp: 'page' }, headers, body: headers['x-ms-page-write'] === 'update' ? Buffer.alloc(512) : undefined });
					assert.ok(r.status !== 201 || /^bytes=0-(511|1023|2047|4095)$/.test(range), `${range}: ${r.status}`);
				}
			await ask(blob, 'GET', '/edges/p', { query: { comp: 'pagelist' }, headers: { 'x-ms-range': `bytes=${n}-` } });
			await ask(blob, 'PUT', '/edges/new', { headers: { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': n } });
			await ask(blob, 'PUT', '/edges/other', { headers: { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': '512', 'x-ms-blob-sequence-number': n } });
			await ask(blob, 'PUT', '/edges/p', { query: { comp: 'page' }, headers: { 'x-ms-page-write': 'clear', 'x-ms-range': 'bytes=0-511', 'x-ms-if-sequence-number-le': n } });
		}
	});
	test('appends, blocks, leases, tiers, counts', async () => {
		for (const n of EDGES.filter(fits)) {
			for (const header of ['x-ms-blob-condition-appendpos', 'x-ms-blob-condition-maxsize']) await ask(blob, 'PUT', '/edges/a', { query: { comp: 'appendblock' }, body: 'x', headers: { [header]: n } });
			for (const query of [{ maxresults: n }, { timeout: n }]) await ask(blob, 'GET', '/edges', { query: { restype: 'container', comp: 'list', ...query } });
			await ask(blob, 'PUT', '/edges/b', { query: { comp: 'lease' }, headers: { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': n } });
			await ask(blob, 'PUT', '/edges/b', { query: { comp: 'lease' }, headers: { 'x-ms-lease-action': 'break', 'x-ms-lease-break-period': '0' } });
			await ask(blob, 'PUT', '/edges/b', { query: { comp: 'lease' }, headers: { 'x-ms-lease-action': 'break', 'x-ms-lease-break-period': n } });
			await ask(blob, 'GET', '/edges/b', { headers: { 'x-ms-lease-id': n } });
			await ask(blob, 'GET', '/edges/b', { query: { snapshot: n } });
			await ask(blob, 'GET', '/edges/b', { query: { versionid: n } });
		}
	});
	test('queues and tables', async () => {
		for (const n of EDGES) {
			for (const query of [{ visibilitytimeout: n }, { messagettl: n }]) await ask(queue, 'POST', '/edges/messages', { query, body: '<QueueMessage><MessageText>m</MessageText></QueueMessage>' });
			for (const query of [{ numofmessages: n }, { visibilitytimeout: n }, { numofmessages: n, peekonly: 'true' }]) await ask(queue, 'GET', '/edges/messages', { query });
			await ask(queue, 'GET', '/', { query: { comp: 'list', maxresults: n } });
			for (const query of [{ $top: n }, { $filter: `v eq ${n || '0'}L` }, { $filter: `v gt ${n || '0'}` }]) await ask(table, 'GET', '/edges()', { headers: json, query });
		}
	});
});

describe('too deep, too long, too many', () => {
	const resident = () => Number(/VmRSS:\s+(\d+) kB/.exec(fs.readFileSync(`/proc/${server.pid}/status`, 'utf8'))[1]);
	const insert = (body) => ask(table, 'POST', '/edges', { headers: json, body });
	test('entities', async () => {
		const before = resident();
		for (const body of ['['.repeat(200_000), '{"a":'.repeat(100_000), `{"PartitionKey":"p","RowKey":"r","a":${'['.repeat(5000)}${']'.repeat(5000)}}`, `{"PartitionKey":"p","RowKey":"r",${Array.from({ length: 300 }, (_, i) => `"p${i}":1`).join()}}`, `{"PartitionKey":"p","RowKey":"r","s":"${'x'.repeat(40_000)}"}`, `{"PartitionKey":"${'p'.repeat(2000)}","RowKey":"r"}`, `{"PartitionKey":"p","RowKey":"r","n":${'9'.repeat(100_000)}}`])
			assert.ok((await insert(body)).status >= 400, body.slice(0, 60));
		if (scale === 1) assert.ok(resident() - before < 100 * 1024, `grew by ${resident() - before} KiB`);
	});
	test('filters', async () => {
		const deep = `${'('.repeat(2000)}a eq 1${')'.repeat(2000)}`;
		const wide = Array.from({ length: 1500 }, (_, i) => `a eq ${i}`).join(' or ');
		for (const $filter of [deep, wide, `${'not '.repeat(3000)}true`, `a eq '${'x'.repeat(12_000)}'`, 'a eq '.repeat(1000)]) await ask(table, 'GET', '/edges()', { headers: json, query: { $filter } });
		for (const where of [`"a"='${'x'.repeat(5000)}'`, Array.from({ length: 500 }, (_, i) => `"k${i}"='1'`).join(' AND ')]) await ask(blob, 'GET', '/', { query: { comp: 'blobs', where } });
	});
	test('XML', async () => {
		const refused = (r) => assert.ok(r.status === 400 || r.status === 413, `${r.status} ${r.text.slice(0, 200)}`);
		const put = (comp, body) => ask(blob, 'PUT', '/edges/b', { query: { comp }, body });
		refused(await put('blocklist', '<a>'.repeat(100_000)));
		refused(await put('blocklist', `<!DOCTYPE l [${'<!ENTITY e "x">'.repeat(1000)}]><BlockList/>`));
		refused(await put('blocklist', `<BlockList>${'<Latest>QQ==</Latest>'.repeat(50_001)}</BlockList>`));
		refused(await put('tags', `<Tags><TagSet>${'<Tag><Key>k</Key><Value>v</Value></Tag>'.repeat(5000)}</TagSet></Tags>`));
		refused(await ask(queue, 'POST', '/edges/messages', { body: `<QueueMessage><MessageText>${'x'.repeat(65_537)}</MessageText></QueueMessage>` }));
		assert.ok((await ask(blob, 'PUT', '/edges', { query: { restype: 'container', comp: 'acl' }, body: `<SignedIdentifiers>${'<SignedIdentifier><Id>i</Id></SignedIdentifier>'.repeat(5000)}</SignedIdentifiers>` })).status >= 400);
	});
	test('batches', async () => {
		const part = (i) => `--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nPUT ${server.endpoints.table}/edges(PartitionKey='p',RowKey='${i}') HTTP/1.1\r\nContent-Type: application/json\r\n\r\n{}\r\n`;
		const body = (parts) => `--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n${parts}--c--\r\n--b--\r\n`;
		for (const parts of [Array.from({ length: 101 }, (_, i) => part(i)).join(''), '--c\r\n'.repeat(20_000), `${part(0)}--c\r\nContent-Type: multipart/mixed; boundary=d\r\n\r\n--d--\r\n`]) {
			const r = await ask(table, 'POST', '/$batch', { headers: { 'content-type': 'multipart/mixed; boundary=b' }, body: body(parts) });
			assert.ok(r.status >= 400 || /HTTP\/1\.1 4/.test(r.text), `${r.status} ${r.text.slice(0, 200)}`);
		}
		expectStatus(await table.get("/edges(PartitionKey='p',RowKey='0')", { headers: json }), 404);
	});
	test('a thousand pairs of metadata', async () => {
		const names = Array.from({ length: 1000 }, (_, i) => `m${String(999 - i).padStart(3, '0')}`);
		const headers = Object.fromEntries(names.map((name, i) => [`x-ms-meta-${name}`, String(i)]));
		const text = (headers) => names.map((name) => headers[`x-ms-meta-${name}`]).join();
		const expected = text(headers);
		for (const [client, path, query] of [[blob, '/edgesmeta', { restype: 'container' }], [blob, '/edgesmeta/b', {}], [queue, '/edgesmeta', {}]]) {
			const wire = await RawConnection.open(new URL(client.endpoint).port);
			const blobType = path.endsWith('/b') ? { 'x-ms-blob-type': 'BlockBlob' } : {};
			const put = (more) => wire.exchange(client.bytes('PUT', path, { query, headers: { ...blobType, ...headers, ...more } }), 'PUT');
			expectStatus(await put(), 201);
			const got = expectStatus(await wire.exchange(client.bytes('GET', path, { query: client === queue ? { comp: 'metadata' } : query })), 200);
			assert.equal(text(got.headers), expected);
			expectError(await put({ 'x-ms-meta-long': 'x'.repeat(8192) }), 400, 'MetadataTooLarge');
			if (client === queue) expectStatus(await put(), 204);
			await wire.end();
		}
		const list = expectStatus(await blob.get('/edgesmeta', { query: { restype: 'container', comp: 'list', include: 'metadata' } }), 200);
		assert.match(list.text, /<Metadata><m999>0<\/m999><m998>1<\/m998>.*<m000>999<\/m000><\/Metadata>/);
		expectStatus(await blob.delete('/edgesmeta', { query: { restype: 'container' } }), 202);
		expectStatus(await queue.delete('/edgesmeta'), 204);
	});
	test('and afterwards all is as it was', async (t) => {
		assert.ok(expectStatus(await blob.get('/edges/b'), 200).body.equals(bytes));
		assert.ok(server.running);
		t.diagnostic(`${cells} requests, none answered with 5xx`);
	});
});

test('a document that is not what its Content-MD5 says is refused, whatever the service', async () => {
	const xml = (root) => `<?xml version="1.0" encoding="utf-8"?><${root}></${root}>`;
	const message = '<QueueMessage><MessageText>x</MessageText></QueueMessage>';
	const parts = '--b\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nGET /edges() HTTP/1.1\r\n\r\n\r\n--b--\r\n';
	expectStatus(await queue.put('/hashed'), 201);
	const cells = [
		[queue, 'POST', '/hashed/messages', {}, message, 201],
		[queue, 'PUT', '/edges', { comp: 'acl' }, xml('SignedIdentifiers'), 204],
		[queue, 'PUT', '/', { restype: 'service', comp: 'properties' }, '<StorageServiceProperties><Cors /></StorageServiceProperties>', 202],
		[table, 'POST', '/edges', {}, '{"PartitionKey":"md5","RowKey":"r"}', 201],
		[table, 'PUT', "/edges(PartitionKey='md5',RowKey='r')", {}, '{"A":1}', 204],
		[table, 'POST', '/$batch', {}, parts, 202, { 'content-type': 'multipart/mixed; boundary=b' }],
		[table, 'PUT', '/edges', { comp: 'acl' }, xml('SignedIdentifiers'), 204],
		[blob, 'PUT', '/edges', { restype: 'container', comp: 'acl' }, xml('SignedIdentifiers'), 200],
		[blob, 'PUT', '/edges/listed', { comp: 'blocklist' }, xml('BlockList'), 201],
	];
	for (const [client, method, path, query, body, status, more] of cells) {
		const say = (md5) => client.request(method, path, { query, body, headers: { ...(client === table ? json : {}), ...more, 'content-md5': md5 } });
		const calculated = md5(body), other = md5('another');
		const refused = expectError(await say(other), 400, 'Md5Mismatch');
		// An error of OData has a code and a message, and no room for more.
		if (/xml/.test(refused.headers['content-type']) && !refused.text.includes('<m:error')) {
			assert.equal(element(refused.text, 'UserSpecifiedMd5'), other);
			assert.equal(element(refused.text, 'ServerCalculatedMd5'), calculated);
		}
		expectError(await say('short'), 400, 'InvalidMd5');
		expectStatus(await say(calculated), status);
	}
	assert.equal(elements((await queue.get('/hashed/messages', { query: { numofmessages: 32 } })).text, 'MessageText').length, 1);
});

// SPDX-License-Identifier: Apache-2.0
// Lists: flat and by hierarchy, prefix, marker, maxresults, include; what was acknowledged is in the next list.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BlobServiceClient } from '@azure/storage-blob';
import { startServer } from '../../lib/server.mjs';
import { Client } from '../../lib/http.mjs';
import { element, elements, expectError, expectStatus, rejectsWith, uniqueName } from '../../lib/assert.mjs';

let server, client, service;
before(async () => {
	server = await startServer();
	client = new Client(server);
	service = BlobServiceClient.fromConnectionString(server.connectionString, { retryOptions: { maxTries: 1 } });
});
after(() => server?.remove());

async function containerWith(names) {
	const c = service.getContainerClient(uniqueName('list'));
	await c.create();
	for (let i = 0; i < names.length; i += 16) await Promise.all(names.slice(i, i + 16).map((n) => c.getBlockBlobClient(n).upload(n, Buffer.byteLength(n))));
	return c;
}
const list = (c, query) => client.get(`/${c.containerName}`, { query: { restype: 'container', comp: 'list', ...query } });
// Order of the service: by bytes.
const sorted = (names) => [...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));

describe('flat', () => {
	const names = ['Zeta', 'alpha', 'b', 'b/1', 'b/2', 'b0', 'ba', 'c d', 'ä', 'é', '日本', ...Array.from({ length: 40 }, (_, i) => `n${String(i).padStart(3, '0')}`)];
	let c;
	before(async () => {
		c = await containerWith(names);
	});

	test('all, in order', async () => {
		const found = [];
		for await (const item of c.listBlobsFlat()) found.push(item.name);
		assert.deepEqual(found, sorted(names));
	});
	for (const size of [1, 2, 7, 5000])
		test(`pages of ${size}`, async () => {
			const found = [];
			for await (const page of c.listBlobsFlat().byPage({ maxPageSize: size })) {
				assert.ok(page.segment.blobItems.length <= size);
				found.push(...page.segment.blobItems.map((item) => item.name));
			}
			assert.deepEqual(found, sorted(names));
		});
	for (const prefix of ['b', 'b/', 'n00', 'ä', 'none', 'Zeta'])
		test(`prefix ${prefix}`, async () => {
			const found = [];
			for await (const item of c.listBlobsFlat({ prefix })) found.push(item.name);
			assert.deepEqual(found, sorted(names.filter((n) => n.startsWith(prefix))));
		});
	test('an item carries what the blob has', async () => {
		await c.getBlockBlobClient('b').upload('hello', 5, { metadata: { k: 'v' }, blobHTTPHeaders: { blobContentType: 'text/x' } });
		const properties = await c.getBlockBlobClient('b').getProperties();
		for await (const item of c.listBlobsFlat({ prefix: 'b', includeMetadata: true })) {
			if (item.name !== 'b') continue;
			assert.equal(item.properties.etag, properties.etag.replaceAll('"', ''), 'without quotes in a list of blobs');
			assert.equal(item.properties.contentLength, 5);
			assert.equal(item.properties.contentType, 'text/x');
			assert.equal(item.properties.blobType, 'BlockBlob');
			assert.equal(item.properties.leaseState, 'available');
			assert.equal(item.properties.leaseStatus, 'unlocked');
			assert.deepEqual(item.properties.lastModified, properties.lastModified);
			assert.deepEqual(item.metadata, { k: 'v' });
			return;
		}
		assert.fail('b is not listed');
	});
	test('lease state in the list', async () => {
		await c.getBlockBlobClient('ba').getBlobLeaseClient().acquireLease(-1);
		for await (const item of c.listBlobsFlat({ prefix: 'ba' })) {
			assert.equal(item.properties.leaseState, 'leased');
			assert.equal(item.properties.leaseStatus, 'locked');
			assert.equal(item.properties.leaseDuration, 'infinite');
		}
	});
	test('the XML says what was asked', async () => {
		const r = expectStatus(await list(c, { prefix: 'n', maxresults: '3' }), 200);
		assert.equal(element(r.text, 'Prefix'), 'n');
		assert.equal(element(r.text, 'MaxResults'), '3');
		assert.ok(element(r.text, 'NextMarker').length > 0);
		assert.match(r.text, new RegExp(`<EnumerationResults ServiceEndpoint="${server.endpoints.blob}/?" ContainerName="${c.containerName}">`));
		assert.equal(r.headers['content-type'], 'application/xml');
		const last = expectStatus(await list(c, { prefix: 'n', marker: element(r.text, 'NextMarker') }), 200);
		assert.equal(elements(last.text, 'Name').length, 37);
		assert.match(last.text, /<NextMarker ?\/>|<NextMarker><\/NextMarker>/);
	});
	test('maxresults out of range', async () => {
		expectError(await list(c, { maxresults: '0' }), 400, 'OutOfRangeQueryParameterValue');
		expectError(await list(c, { maxresults: '-1' }), 400, 'OutOfRangeQueryParameterValue');
		expectError(await list(c, { maxresults: 'x' }), 400, 'InvalidQueryParameterValue');
		expectStatus(await list(c, { maxresults: '50000' }), 200);
	});
	test('a missing container', async () => rejectsWith(service.getContainerClient('nothing-here').listBlobsFlat().next(), 404, 'ContainerNotFound'));
});

describe('by hierarchy', () => {
	const names = ['a', 'a/', 'a/1', 'a/2', 'a/b/1', 'a/b/2', 'a0', 'b/1', 'c', 'd//x', 'd/y', 'e-1', 'e-2'];
	let c;
	before(async () => {
		c = await containerWith(names);
	});
	// What the service shows for a delimiter and a prefix, in order, from all the names.
	function model(delimiter, prefix) {
		const out = [];
		for (const name of sorted(names.filter((n) => n.startsWith(prefix)))) {
			const at = name.indexOf(delimiter, prefix.length);
			const shown = at < 0 ? `blob ${name}` : `prefix ${name.slice(0, at + delimiter.length)}`;
			if (out.at(-1) !== shown) out.push(shown);
		}
		return out;
	}
	for (const delimiter of ['/', '-', '//', 'b/'])
		for (const prefix of ['', 'a', 'a/', 'a/b', 'a/b/', 'd/', 'e', 'z'])
			for (const size of [undefined, 1, 2])
				test(`delimiter ${delimiter}, prefix "${prefix}", ${size ? `pages of ${size}` : 'one page'}`, async () => {
					const found = [];
					for await (const page of c.listBlobsByHierarchy(delimiter, { prefix }).byPage({ maxPageSize: size })) {
						const items = [...(page.segment.blobPrefixes ?? []).map((p) => `prefix ${p.name}`), ...page.segment.blobItems.map((b) => `blob ${b.name}`)];
						if (size) assert.ok(items.length <= size, 'a prefix counts as one');
						found.push(...items);
					}
					assert.deepEqual([...found].sort(), model(delimiter, prefix).sort());
					assert.equal(new Set(found).size, found.length, 'nothing twice');
				});
	test('prefixes and blobs stand interleaved in the XML', async () => {
		const r = expectStatus(await list(c, { delimiter: '/' }), 200);
		assert.deepEqual(elements(r.text, 'Name'), ['a', 'a/', 'a0', 'b/', 'c', 'd/', 'e-1', 'e-2']);
	});
	test('delimiter with snapshots is 400', async () => expectStatus(await list(c, { delimiter: '/', include: 'snapshots' }), 400));
});

describe('containers', () => {
	const stem = uniqueName('lc');
	const names = Array.from({ length: 12 }, (_, i) => `${stem}-${String(i).padStart(2, '0')}`);
	before(async () => {
		for (const n of names) await service.getContainerClient(n).create({ metadata: { name: n.replaceAll('-', '') } });
	});
	test('prefix, pages, metadata', async () => {
		for (const size of [1, 5, 5000]) {
			const found = [];
			for await (const page of service.listContainers({ prefix: stem, includeMetadata: true }).byPage({ maxPageSize: size })) {
				assert.ok(page.containerItems.length <= size);
				found.push(...page.containerItems);
			}
			assert.deepEqual(found.map((item) => item.name), names);
			assert.deepEqual(found[3].metadata, { name: names[3].replaceAll('-', '') });
			assert.match(found[0].properties.etag, /^"0x[0-9A-F]+"$/, 'with quotes in a list of containers');
			assert.equal(found[0].properties.leaseState, 'available');
		}
	});
	test('a prefix or a marker longer than any name', async () => {
		for (const query of [{ prefix: 'a'.repeat(5000) }, { marker: `/${server.account}/${'z'.repeat(5000)}` }, { prefix: 'a'.repeat(5000), include: 'deleted' }])
			assert.deepEqual(elements(expectStatus(await client.get('/', { query: { comp: 'list', ...query } }), 200).text, 'Name'), []);
	});
	test('a deleted one is gone from the next list', async () => {
		await service.getContainerClient(names[5]).delete();
		const found = [];
		for await (const item of service.listContainers({ prefix: stem })) found.push(item.name);
		assert.deepEqual(found, names.filter((_, i) => i !== 5));
	});
});

test('what was acknowledged is in every later list, what was deleted in none', async () => {
	const c = await containerWith([]);
	const alive = new Set();
	for (let i = 0; i < 60; i++) {
		const n = `k${i % 20}`;
		if (alive.has(n)) {
			await c.getBlockBlobClient(n).delete();
			alive.delete(n);
		} else {
			await c.getBlockBlobClient(n).upload('x', 1);
			alive.add(n);
		}
		const found = [];
		for await (const item of c.listBlobsFlat()) found.push(item.name);
		assert.deepEqual(found, sorted(alive));
	}
});

// SPDX-License-Identifier: Apache-2.0
// What a blob was: snapshots, versions, soft delete, and what may not change: immutability policies and legal holds.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BlobServiceClient } from '@azure/storage-blob';
import { scaled, startServer } from '../../lib/server.mjs';
import { Client } from '../../lib/http.mjs';
import { accountSas, blobSas } from '../../lib/sign.mjs';
import { elements, expectError, expectStatus, rejectsWith, uniqueName } from '../../lib/assert.mjs';
import { Blobs, uuid } from '../../lib/blob.mjs';

const home = uniqueName('history');
const fresh = () => `/${home}/${uniqueName('h')}`;
const DAY = 86400;
async function open(options) {
	const server = await startServer(options);
	const client = new Client(server);
	const b = new Blobs(client);
	expectStatus(await b.container(home), 201);
	const service = BlobServiceClient.fromConnectionString(server.connectionString, { retryOptions: { maxTries: 1 } });
	return { server, client, b, service, container: service.getContainerClient(home) };
}
const items = (xml) => [...xml.matchAll(/<Blob>(.*?)<\/Blob>/gs)].map((m) => m[1]);
async function listed(b, path, include) {
	const r = expectStatus(await b.list(home, { prefix: path.split('/')[2], include }), 200);
	return items(r.text);
}
async function countPrefixes(b, prefix, include, query = {}) {
	const r = expectStatus(await b.list(home, { prefix, delimiter: '/', include, ...query }), 200);
	return r.text.split('<BlobPrefix>').length - 1;
}
const retention = (days, permanent = '') =>
	`<?xml version="1.0" encoding="utf-8"?><StorageServiceProperties><DeleteRetentionPolicy><Enabled>${days > 0}</Enabled>${days > 0 ? `<Days>${days}</Days>` : ''}${permanent}</DeleteRetentionPolicy></StorageServiceProperties>`;
const setRetention = (client, days, permanent) => client.put('/', { query: { restype: 'service', comp: 'properties' }, body: retention(days, permanent) });

// Every write that changes a blob, for a state that may not change: which is a snapshot or a version of `path`.
async function unchangeable(b, path, which) {
	const from = fresh();
	expectStatus(await b.put(from, Buffer.alloc(512, 'u')), 201);
	const url = { 'x-ms-copy-source': b.readable(from) };
	const pages = { 'x-ms-page-write': 'update', 'x-ms-range': 'bytes=0-511' };
	const writes = {
		'Put Blob': () => b.client.put(path, { query: which, body: 'y', headers: { 'x-ms-blob-type': 'BlockBlob' } }),
		'Copy Blob': () => b.client.put(path, { query: which, headers: url }),
		'Append Block': () => b.comp(path, 'appendblock', {}, 'XXXXXX', which),
		'Append Block From URL': () => b.comp(path, 'appendblock', url, undefined, which),
		'Append Blob Seal': () => b.comp(path, 'seal', {}, undefined, which),
		'Put Page': () => b.comp(path, 'page', pages, Buffer.alloc(512, 'p'), which),
		'Put Page, clear': () => b.comp(path, 'page', { ...pages, 'x-ms-page-write': 'clear' }, undefined, which),
		'Put Page From URL': () => b.comp(path, 'page', { ...pages, ...url, 'x-ms-source-range': 'bytes=0-511' }, undefined, which),
		'Put Block': () => b.comp(path, 'block', {}, 'bytes', { blockid: 'AAAA', ...which }),
		'Put Block From URL': () => b.comp(path, 'block', url, undefined, { blockid: 'AAAA', ...which }),
		'Put Block List': () => b.comp(path, 'blocklist', {}, '<BlockList/>', which),
		'Set Blob Metadata': () => b.comp(path, 'metadata', {}, undefined, which),
		'Set Blob Properties': () => b.comp(path, 'properties', {}, undefined, which),
		'Lease Blob': () => b.lease(path, 'acquire', { 'x-ms-lease-duration': 15 }, which),
		'Snapshot Blob': () => b.comp(path, 'snapshot', {}, undefined, which),
		'Undelete Blob': () => b.comp(path, 'undelete', {}, undefined, which),
		'Abort Copy Blob': () => b.comp(path, 'copy', { 'x-ms-copy-action': 'abort' }, undefined, { copyid: uuid(), ...which }),
	};
	for (const [name, write] of Object.entries(writes)) {
		const r = await write();
		assert.deepEqual([r.status, r.code], [400, 'InvalidQueryParameterValue'], name);
	}
}

describe('snapshots', () => {
	let server, client, b, container;
	before(async () => ({ server, client, b, container } = await open()));
	after(() => server?.remove());

	test('with the official SDK: take, read, list, promote, delete', async () => {
		const blob = container.getBlockBlobClient(uniqueName('sdk'));
		await blob.upload('one', 3, { metadata: { v: '1' } });
		const base = await blob.getProperties();
		const { snapshot, etag } = await blob.createSnapshot();
		assert.match(snapshot, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z$/);
		assert.equal(etag, base.etag);
		await blob.upload('two', 3);
		const old = blob.withSnapshot(snapshot);
		assert.equal((await old.downloadToBuffer()).toString(), 'one');
		assert.deepEqual((await old.getProperties()).metadata, { v: '1' });
		const own = await blob.createSnapshot({ metadata: { own: 'yes' } });
		assert.deepEqual((await blob.withSnapshot(own.snapshot).getProperties()).metadata, { own: 'yes' });
		assert.notEqual(own.etag, (await blob.getProperties()).etag);
		const seen = [];
		for await (const item of container.listBlobsFlat({ prefix: blob.name, includeSnapshots: true })) seen.push(item.snapshot ?? 'base');
		assert.deepEqual(seen, [snapshot, own.snapshot, 'base']);
		const copy = await blob.beginCopyFromURL(old.url);
		await copy.pollUntilDone();
		assert.equal((await blob.downloadToBuffer()).toString(), 'one', 'promoted');
		await rejectsWith(blob.delete(), 409, 'SnapshotsPresent');
		await old.delete();
		await rejectsWith(old.getProperties(), 404);
		await blob.delete({ deleteSnapshots: 'only' });
		assert.equal((await blob.downloadToBuffer()).toString(), 'one');
		await blob.createSnapshot();
		await blob.delete({ deleteSnapshots: 'include' });
		assert.equal(await blob.exists(), false);
	});
	test('pages of one name, with the name as the prefix, come to an end', async () => {
		const path = fresh(), want = [];
		expectStatus(await b.put(path, 'x'), 201);
		for (let i = 0; i < 3; i++) want.push(expectStatus(await b.comp(path, 'snapshot'), 201).headers['x-ms-snapshot']);
		for (const maxresults of [1, 2, 3]) {
			const found = [];
			let marker;
			do {
				const { text } = expectStatus(await b.list(home, { prefix: path.split('/')[2], include: 'snapshots', maxresults, marker }), 200);
				for (const item of items(text)) found.push(elements(item, 'Snapshot')[0] ?? 'base');
				marker = elements(text, 'NextMarker')[0];
			} while (marker && found.length < 9);
			assert.deepEqual(found, [...want, 'base'], `pages of ${maxresults}`);
		}
	});
	test('a snapshot cannot be changed', async () => {
		const path = fresh();
		expectStatus(await b.put(path, 'x', { 'x-ms-tags': 'a=b' }), 201);
		const snapshot = await b.snapshot(path);
		const q = { snapshot };
		await unchangeable(b, path, q);
		expectStatus(await b.delete(path, { 'x-ms-delete-snapshots': 'include' }, q), 400);
		assert.equal((await b.get(path, {}, q)).text, 'x');
		const tags = expectStatus(await b.get(path, {}, { comp: 'tags', ...q }), 200);
		assert.deepEqual(elements(tags.text, 'Key'), ['a']);
		const head = await b.head(path, {}, q);
		assert.equal(head.headers['x-ms-lease-status'], undefined);
	});
	for (const kind of ['append', 'page'])
		test(`a write to a snapshot reaches neither it nor its ${kind} blob`, async () => {
			const path = fresh();
			const make = { append: () => b.appendBlob(path), page: () => b.pageBlob(path, 1024) };
			const write = { append: (byte) => b.append(path, Buffer.alloc(512, byte)), page: (byte) => b.pages(path, byte === 'A' ? 0 : 512, Buffer.alloc(512, byte)) };
			expectStatus(await make[kind](), 201);
			expectStatus(await write[kind]('A'), 201);
			const snapshot = await b.snapshot(path);
			expectStatus(await write[kind]('B'), 201);
			const base = (await b.get(path)).body, kept = (await b.get(path, {}, { snapshot })).body;
			await b.acquire(path);
			await unchangeable(b, path, { snapshot });
			const after = await b.get(path), old = await b.get(path, {}, { snapshot });
			assert.ok(after.body.equals(base) && old.body.equals(kept));
			assert.ok(kept.includes('A') && !kept.includes('B'));
			assert.deepEqual([after.headers['x-ms-blob-sealed'], old.headers['x-ms-blob-sealed']], [undefined, undefined]);
		});
	test('refusals', async () => {
		const path = fresh();
		expectError(await b.comp(path, 'snapshot'), 404, 'BlobNotFound');
		expectStatus(await b.put(path, 'x'), 201);
		expectError(await b.get(path, {}, { snapshot: '2020-01-01T00:00:00.0000000Z' }), 404, 'BlobNotFound');
		expectError(await b.get(path, {}, { snapshot: 'then' }), 400, 'InvalidQueryParameterValue');
		expectError(await b.get(path, {}, { snapshot: '2020-01-01T00:00:00.0000000Z', versionid: '2020-01-01T00:00:00.0000000Z' }), 400, 'MutuallyExclusiveQueryParameters');
		expectError(await b.delete(path, {}, { snapshot: '2020-01-01T00:00:00.0000000Z' }), 404, 'BlobNotFound');
		expectError(await b.delete(path, { 'x-ms-delete-snapshots': 'some' }), 400, 'InvalidHeaderValue');
	});
	for (const parameter of ['snapshot', 'versionid'])
		test(`${parameter} without a value is not the base`, async () => {
			const path = fresh();
			expectStatus(await b.put(path, 'x'), 201);
			for (const call of [b.get, b.head, b.delete]) {
				const r = await call.call(b, path, {}, { [parameter]: '' });
				assert.deepEqual([r.status, r.headers['x-ms-error-code']], [400, 'InvalidQueryParameterValue']);
			}
			expectStatus(await b.get(path), 200);
		});
	test('a lease is not copied and not needed', async () => {
		const path = fresh();
		expectStatus(await b.put(path, 'x'), 201);
		const id = await b.acquire(path);
		const snapshot = await b.snapshot(path);
		expectError(await b.comp(path, 'snapshot', { 'x-ms-lease-id': uuid() }), 412, 'LeaseIdMismatchWithBlobOperation');
		expectStatus(await b.delete(path, {}, { snapshot }), 202);
		expectStatus(await b.delete(path, { 'x-ms-lease-id': id }), 202);
	});
	test('a SAS for one snapshot reaches that one', async () => {
		const path = fresh(), name = path.split('/')[2];
		expectStatus(await b.put(path, 'old'), 201);
		const snapshot = await b.snapshot(path);
		expectStatus(await b.put(path, 'new'), 201);
		const other = await b.snapshot(path);
		const sas = blobSas(server.account, server.key, home, name, { sr: 'bs', snapshot, sp: 'r' });
		assert.equal(expectStatus(await client.get(path, { sas, query: { snapshot } }), 200).text, 'old');
		expectStatus(await client.get(path, { sas }), 403);
		expectStatus(await client.get(path, { sas, query: { snapshot: other } }), 403);
	});
	for (const kind of ['block', 'page', 'append'])
		test(`snapshots under racing writes equal a state the ${kind} blob had`, async () => {
			const path = fresh();
			const WRITERS = 4, ROUNDS = scaled(25, 5), SIZE = 1024;
			const make = { block: () => b.put(path, Buffer.alloc(SIZE, 1)), page: () => b.pageBlob(path, SIZE), append: () => b.appendBlob(path) };
			expectStatus(await make[kind](), 201);
			// A page blob is only ever written whole, an append blob by whole lines: any mixture is torn.
			let value = 1;
			const write = { block: (v) => b.put(path, Buffer.alloc(SIZE, v)), page: (v) => b.pages(path, 0, Buffer.alloc(SIZE, v)), append: (v) => b.append(path, Buffer.alloc(16, v)) };
			const snapshots = [];
			const writing = Promise.all(
				Array.from({ length: WRITERS }, async () => {
					for (let i = 0; i < ROUNDS; i++) expectStatus(await write[kind]((value = (value % 250) + 1)), 201);
				}),
			);
			const taking = (async () => {
				for (let i = 0; i < ROUNDS; i++) snapshots.push(await b.snapshot(path));
			})();
			await Promise.all([writing, taking]);
			const final = (await b.get(path)).body;
			for (const snapshot of snapshots) {
				const first = (await b.get(path, {}, { snapshot })).body;
				if (kind === 'append') assert.ok(final.subarray(0, first.length).equals(first) && first.length % 16 === 0, 'a prefix of what the blob became');
				else assert.ok(first.length === SIZE && first.every((byte) => byte === first[0]), 'one version');
			}
			assert.equal(new Set(snapshots).size, snapshots.length);
			expectStatus(await b.delete(path, { 'x-ms-delete-snapshots': 'include' }), 202);
			for (const snapshot of snapshots.slice(0, 3)) expectError(await b.get(path, {}, { snapshot }), 404, 'BlobNotFound');
		});
});

test('versions switched off: the current one stays when it is replaced', async () => {
	const { server, b } = await open({ flags: ['--blobVersioning'] });
	const replace = {
		put: (path) => b.put(path, 'new'),
		blocks: async (path) => (expectStatus(await b.block(path, 'y', 'new'), 201), b.blockList(path, [['Committed', 'x'], 'y'])),
		metadata: (path) => b.comp(path, 'metadata', { 'x-ms-meta-a': 'b' }),
		copy: (path) => b.copy(path, b.url(`/${home}/put`)),
	};
	const ids = {};
	for (const name of Object.keys(replace)) {
		expectStatus(await b.block(`/${home}/${name}`, 'x', 'old'), 201);
		ids[name] = expectStatus(await b.blockList(`/${home}/${name}`, ['x']), 201).headers['x-ms-version-id'];
	}
	await server.restart({ flags: [] });
	for (const [name, call] of Object.entries(replace)) {
		const path = `/${home}/${name}`;
		for (let twice = 0; twice < 2; twice++) {
			const r = await call(path);
			assert.equal(r.headers['x-ms-version-id'], undefined, name);
			assert.ok(r.status < 300, `${name}: ${r.status} ${r.code}`);
		}
		assert.equal(expectStatus(await b.get(path, {}, { versionid: ids[name] }), 200).text, 'old', name);
		assert.equal((await listed(b, path, 'versions')).length, 2, name);
	}
	await server.remove();
});

describe('versions', () => {
	let server, client, b, container;
	before(async () => ({ server, client, b, container } = await open({ flags: ['--blobVersioning'] })));
	after(() => server?.remove());
	const version = (r) => r.headers['x-ms-version-id'];

	test('with the official SDK: write, read, list, promote, delete', async () => {
		const blob = container.getBlockBlobClient(uniqueName('sdk'));
		const one = await blob.upload('one', 3);
		const two = await blob.upload('two', 3);
		assert.ok(one.versionId < two.versionId);
		assert.equal((await blob.withVersion(one.versionId).downloadToBuffer()).toString(), 'one');
		assert.equal((await blob.withVersion(two.versionId).downloadToBuffer()).toString(), 'two', 'the current one by its id');
		assert.equal((await blob.getProperties()).versionId, two.versionId);
		assert.equal((await blob.getProperties()).isCurrentVersion, true);
		const seen = [];
		for await (const item of container.listBlobsFlat({ prefix: blob.name, includeVersions: true })) seen.push([item.versionId, item.isCurrentVersion ?? false]);
		assert.deepEqual(seen, [[one.versionId, false], [two.versionId, true]]);
		await rejectsWith(blob.withVersion(two.versionId).delete(), 403, 'OperationNotAllowedOnRootBlob');
		const poller = await blob.beginCopyFromURL(blob.withVersion(one.versionId).url);
		await poller.pollUntilDone();
		assert.equal((await blob.downloadToBuffer()).toString(), 'one');
		await blob.withVersion(one.versionId).delete();
		await rejectsWith(blob.withVersion(one.versionId).getProperties(), 404);
		await blob.delete();
		await rejectsWith(blob.getProperties(), 404);
		assert.equal((await blob.withVersion(two.versionId).downloadToBuffer()).toString(), 'two', 'versions outlive the base');
	});
	test('what is not listed makes no prefix', async () => {
		const name = uniqueName('d'), below = `/${home}/${name}/x`;
		const prefixes = (include) => countPrefixes(b, name, include);
		expectStatus(await b.put(below, 'x'), 201);
		expectStatus(await b.delete(below), 202);
		for (const include of [undefined, 'deleted']) assert.equal(await prefixes(include), 0, `${include}`);
		assert.equal(await prefixes('versions'), 1);
	});
	test('names that have versions only', async () => {
		const prefix = uniqueName('o'), at = (name) => `/${home}/${prefix}${name}`;
		for (const name of ['a', 'b', 'c', 'd/x', 'd/y', 'e']) for (const body of ['1', '22']) expectStatus(await b.put(at(name), body), 201);
		for (const name of ['a', 'c', 'd/x', 'd/y', 'e']) expectStatus(await b.delete(at(name)), 202);
		expectStatus(await b.put(at('s'), 'x'), 201);
		await b.snapshot(at('s'));
		expectStatus(await b.block(at('e'), 'id', 'staged'), 201);
		const shown = async (query) => {
			const found = [];
			let marker;
			do {
				const { text } = expectStatus(await b.list(home, { prefix, marker, ...query }), 200);
				for (const m of text.matchAll(/<(Blob|BlobPrefix)>(.*?)<\/\1>/gs)) {
					const name = elements(m[2], 'Name')[0].slice(prefix.length);
					found.push(name + (m[1] === 'BlobPrefix' ? '' : m[2].includes('<HasVersionsOnly>true</HasVersionsOnly>') ? ' only' : m[2].includes('<VersionId>') && !m[2].includes('<IsCurrentVersion>') ? ' old' : ''));
				}
				marker = elements(text, 'NextMarker')[0];
			} while (marker);
			return found;
		};
		const only = { include: 'deletedwithversions' }, all = { include: 'deletedwithversions,versions' };
		for (const maxresults of [undefined, 1, 2, 3]) {
			assert.deepEqual(await shown({ ...only, maxresults }), ['a only', 'b', 'c only', 'd/x only', 'd/y only', 'e only', 's'], `pages of ${maxresults}`);
			assert.deepEqual(await shown({ ...only, delimiter: '/', maxresults }), ['a only', 'b', 'c only', 'd/', 'e only', 's'], `pages of ${maxresults}`);
			const each = (name) => [`${name} old`, `${name} old`, `${name} only`];
			assert.deepEqual(await shown({ ...all, maxresults }), [...each('a'), 'b old', 'b', ...each('c'), ...each('d/x'), ...each('d/y'), ...each('e'), 's old', 's'], `pages of ${maxresults}`);
			assert.deepEqual(await shown({ include: 'deletedwithversions,uncommittedblobs', maxresults }), ['a only', 'b', 'c only', 'd/x only', 'd/y only', 'e only', 's'], `pages of ${maxresults}`);
		}
		assert.deepEqual(await shown({ include: 'deleted' }), ['b', 's']);
		const sdk = [];
		for await (const item of container.listBlobsFlat({ prefix: `${prefix}a`, includeDeletedWithVersions: true })) sdk.push([item.name, item.hasVersionsOnly, item.versionId, item.properties.contentLength]);
		assert.deepEqual(sdk, [[`${prefix}a`, true, undefined, 2]]);
	});
	test('a list of one blob by pages: the prefix is its whole name', async () => {
		const path = fresh(), name = path.split('/')[2];
		for (let i = 0; i < 4; i++) expectStatus(await b.put(path, `${i}`), 201);
		await b.snapshot(path);
		expectStatus(await b.put(`${path}x`, 'behind it'), 201);
		for (const options of [{ includeVersions: true }, { includeSnapshots: true }, { includeVersions: true, includeSnapshots: true, includeDeletedWithVersions: true }]) {
			const at = (item) => `${item.name} ${item.snapshot} ${item.versionId}`, all = [];
			for await (const item of container.listBlobsFlat({ prefix: name, ...options })) all.push(at(item));
			for (const maxPageSize of [1, 2, 3]) {
				const found = [];
				for await (const page of container.listBlobsFlat({ prefix: name, ...options }).byPage({ maxPageSize })) {
					found.push(...page.segment.blobItems.map(at));
					assert.ok(found.length <= all.length, 'it goes round');
				}
				assert.deepEqual(found, all, JSON.stringify({ ...options, maxPageSize }));
			}
		}
	});
	test('a list passes over more history than a page holds, and ends', async () => {
		const prefix = uniqueName('deep'), metadata = Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`x-ms-meta-m${i}`, 'm'.repeat(1000)]));
		const count = 4500, paths = ['a', 'b', 'c'].map((name) => `/${home}/${prefix}${name}`);
		for (const path of paths) expectStatus(await b.put(path, 'x'), 201);
		let next = 0;
		await Promise.all(Array.from({ length: 16 }, async () => {
			while (next < count) expectStatus(await b.comp(paths[next++ % paths.length], 'metadata', metadata), 200);
		}));
		for (const path of paths.slice(0, 2)) expectStatus(await b.delete(path), 202);
		for (const [include, expected] of [['deleted', ['c']], ['snapshots', ['c']], ['deletedwithversions', ['a', 'b', 'c']]]) {
			const found = [];
			let marker, pages = 0;
			do {
				const { text } = expectStatus(await b.list(home, { prefix, include, marker }), 200);
				found.push(...elements(text, 'Name').map((name) => name.slice(prefix.length)));
				marker = elements(text, 'NextMarker')[0];
			} while (marker && ++pages < 20);
			assert.deepEqual(found, expected, include);
		}
	});
	test('every write that makes one', async () => {
		const path = fresh();
		const seen = [version(expectStatus(await b.put(path, '1'), 201))];
		seen.push(version(expectStatus(await b.comp(path, 'metadata', { 'x-ms-meta-a': 'b' }), 200)));
		expectStatus(await b.block(path, 'x', '3'), 201);
		seen.push(version(expectStatus(await b.blockList(path, ['x']), 201)));
		expectStatus(await b.put('/' + home + '/source', '4'), 201);
		seen.push(version(expectStatus(await b.copy(path, b.readable('/' + home + '/source')), 202)));
		seen.push(version(expectStatus(await b.copy(path, b.readable('/' + home + '/source'), { 'x-ms-requires-sync': 'true' }), 202)));
		assert.equal(new Set(seen).size, 5);
		for (const v of seen) assert.match(v, /Z$/);
		const bytes = [];
		for (const versionid of seen) bytes.push(expectStatus(await b.get(path, {}, { versionid }), 200).text);
		assert.deepEqual(bytes, ['1', '1', '3', '4', '4']);
		assert.equal((await b.head(path, {}, { versionid: seen[0] })).headers['x-ms-meta-a'], undefined);
		assert.equal((await b.head(path, {}, { versionid: seen[1] })).headers['x-ms-meta-a'], 'b');
		assert.equal((await listed(b, path, 'versions')).length, 5);
		assert.equal((await listed(b, path)).length, 1);
		// No new version: properties, tier, tags, lease.
		expectStatus(await b.comp(path, 'properties', { 'x-ms-blob-content-type': 'a/b' }), 200);
		expectStatus(await b.comp(path, 'tier', { 'x-ms-access-tier': 'Cool' }), 200);
		assert.equal((await listed(b, path, 'versions')).length, 5);
	});
	test('a version of a page blob keeps its pages', async () => {
		const path = fresh();
		expectStatus(await b.pageBlob(path, 1024), 201);
		expectStatus(await b.pages(path, 0, Buffer.alloc(512, 1)), 201);
		const old = (await b.head(path)).headers['x-ms-version-id'];
		expectStatus(await b.comp(path, 'metadata', { 'x-ms-meta-a': 'b' }), 200);
		expectStatus(await b.pages(path, 0, Buffer.alloc(512, 2)), 201);
		assert.equal((await b.get(path, {}, { versionid: old })).body[0], 1);
		assert.equal((await b.get(path)).body[0], 2);
	});
	for (const kind of ['append', 'page'])
		test(`a write to a version reaches neither it nor its ${kind} blob`, async () => {
			const path = fresh();
			const make = { append: () => b.appendBlob(path), page: () => b.pageBlob(path, 1024) };
			const write = { append: (byte) => b.append(path, Buffer.alloc(512, byte)), page: (byte) => b.pages(path, byte === 'A' ? 0 : 512, Buffer.alloc(512, byte)) };
			const first = version(expectStatus(await make[kind](), 201));
			expectStatus(await write[kind]('A'), 201);
			const current = version(expectStatus(await b.comp(path, 'metadata', { 'x-ms-meta-now': 'another' }), 200));
			expectStatus(await write[kind]('B'), 201);
			const states = async () => Promise.all([{}, { versionid: first }, { versionid: current }].map(async (query) => (await b.get(path, {}, query)).body.toString('latin1')));
			const before = await states();
			assert.ok(before[1].includes('A') && !before[1].includes('B'));
			for (const versionid of [first, current]) await unchangeable(b, path, { versionid });
			assert.deepEqual(await states(), before);
		});
	test('delete and write again', async () => {
		const path = fresh();
		const one = version(expectStatus(await b.put(path, '1'), 201));
		expectStatus(await b.delete(path), 202);
		expectError(await b.get(path), 404, 'BlobNotFound');
		assert.equal((await listed(b, path)).length, 0);
		assert.equal((await listed(b, path, 'versions')).length, 1);
		const two = version(expectStatus(await b.put(path, '2'), 201));
		assert.equal((await b.get(path, {}, { versionid: one })).text, '1');
		assert.equal((await b.get(path, {}, { versionid: two })).text, '2');
		expectError(await b.get(path, {}, { versionid: '2020-01-01T00:00:00.0000000Z' }), 404, 'BlobNotFound');
		expectError(await b.get(path, {}, { versionid: 'x' }), 400, 'InvalidQueryParameterValue');
	});
	test('SAS: x deletes versions, d does not; bv reaches one', async () => {
		const path = fresh(), name = path.split('/')[2];
		const one = version(expectStatus(await b.put(path, '1'), 201));
		expectStatus(await b.put(path, '2'), 201);
		const sas = (sp, o = {}) => blobSas(server.account, server.key, home, name, { sp, ...o });
		expectError(await client.delete(path, { sas: sas('d'), query: { versionid: one } }), 403, 'AuthorizationPermissionMismatch');
		const bv = sas('r', { sr: 'bv', snapshot: one });
		assert.equal(expectStatus(await client.get(path, { sas: bv, query: { versionid: one } }), 200).text, '1');
		expectStatus(await client.get(path, { sas: bv }), 403);
		expectStatus(await client.delete(path, { sas: sas('x'), query: { versionid: one } }), 202);
	});
	test('snapshots beside versions', async () => {
		const path = fresh();
		expectStatus(await b.put(path, '1'), 201);
		const r = expectStatus(await b.comp(path, 'snapshot'), 201);
		assert.ok(version(r));
		expectStatus(await b.put(path, '2'), 201);
		assert.equal((await b.get(path, {}, { snapshot: r.headers['x-ms-snapshot'] })).text, '1');
		assert.equal((await listed(b, path, 'snapshots')).length, 2);
		assert.equal((await listed(b, path, 'snapshots,versions')).length, 4); // taking a snapshot makes a version too
	});
});

describe('soft delete', () => {
	let server, client, b, container;
	before(async () => {
		({ server, client, b, container } = await open());
		expectStatus(await setRetention(client, 7), 202);
	});
	after(() => server?.remove());

	test('what is uncommitted is listed beside what was deleted, not beside a base', async () => {
		const path = fresh(), other = `${path}-other`;
		expectStatus(await b.put(path, 'x'), 201);
		expectStatus(await b.delete(path), 202);
		for (const at of [path, other]) expectStatus(await b.block(at, 'id', 'staged'), 201);
		const shown = async (include, maxresults) => {
			const found = [];
			let marker;
			do {
				const { text } = expectStatus(await b.list(home, { prefix: path.split('/')[2], include, maxresults, marker }), 200);
				for (const item of items(text)) found.push(`${elements(item, 'Name')[0].endsWith('other') ? 'other' : 'one'}${item.includes('<Deleted>true') ? ' deleted' : ''}`);
				marker = elements(text, 'NextMarker')[0];
			} while (marker && found.length < 9);
			return found;
		};
		for (const maxresults of [undefined, 1, 2]) {
			assert.deepEqual(await shown('uncommittedblobs', maxresults), ['one', 'other']);
			assert.deepEqual(await shown('deleted,uncommittedblobs', maxresults), ['one deleted', 'one', 'other']);
		}
		expectStatus(await b.comp(path, 'undelete'), 200);
		for (const maxresults of [undefined, 1, 2]) assert.deepEqual(await shown('deleted,uncommittedblobs', maxresults), ['one', 'other']);
	});
	test('with the official SDK: delete, list, undelete', async () => {
		const blob = container.getBlockBlobClient(uniqueName('sdk'));
		await blob.upload('kept', 4, { metadata: { a: 'b' }, tags: { t: '1' } });
		const deleted = await blob.delete();
		assert.equal(deleted.errorCode, undefined);
		assert.equal(await blob.exists(), false);
		const seen = [];
		for await (const item of container.listBlobsFlat({ prefix: blob.name, includeDeleted: true })) seen.push(item);
		assert.equal(seen.length, 1);
		assert.equal(seen[0].deleted, true);
		assert.equal(seen[0].properties.remainingRetentionDays, 6);
		assert.ok(seen[0].properties.deletedOn instanceof Date);
		await blob.undelete();
		assert.equal((await blob.downloadToBuffer()).toString(), 'kept');
		const p = await blob.getProperties();
		assert.deepEqual([p.metadata, p.tagCount], [{ a: 'b' }, 1]);
	});
	test('what is not listed makes no prefix', async () => {
		const name = uniqueName('d'), below = `/${home}/${name}/x`;
		const prefixes = (include, query) => countPrefixes(b, name, include, query);
		expectStatus(await b.put(below, 'x'), 201);
		expectStatus(await b.put(below, 'y'), 201);
		for (const include of [undefined, 'versions', 'deleted']) assert.equal(await prefixes(include), 1, `there, ${include}`);
		expectStatus(await b.delete(below), 202);
		for (const include of [undefined, 'versions', 'uncommittedblobs,versions']) assert.equal(await prefixes(include), 0, `deleted, ${include}`);
		assert.equal(await prefixes('deleted'), 1);
		assert.equal(await prefixes(undefined, { showonly: 'deleted' }), 1);
		expectStatus(await b.put(`/${home}/${name}/z`, 'z'), 201);
		assert.equal(await prefixes('versions', { maxresults: 1 }), 1, 'the next one does');
	});
	test('a deleted blob does not hide the uncommitted one of its name', async () => {
		const path = fresh(), states = async (query) => items(expectStatus(await b.list(home, { prefix: path.split('/')[2], include: 'deleted,uncommittedblobs', ...query }), 200).text).map((x) => x.includes('<Deleted>true</Deleted>'));
		expectStatus(await b.put(path, 'x'), 201);
		expectStatus(await b.delete(path), 202);
		expectStatus(await b.block(path, 'id', 'staged'), 201);
		assert.deepEqual(await states(), [true, false]);
		assert.deepEqual(await states({ showonly: 'deleted' }), [true]);
		expectStatus(await b.blockList(path, ['id']), 201);
		expectStatus(await b.block(path, 'id', 'again'), 201);
		assert.deepEqual(await states(), [true, false], 'the blob hides it');
	});
	test('snapshots go and come with the blob', async () => {
		const path = fresh();
		expectStatus(await b.put(path, '1'), 201);
		const snapshot = await b.snapshot(path);
		expectStatus(await b.put(path, '2'), 201);
		assert.equal(expectStatus(await b.delete(path, { 'x-ms-delete-snapshots': 'include' }), 202).headers['x-ms-delete-type-permanent'], 'false');
		expectError(await b.get(path, {}, { snapshot }), 404, 'BlobNotFound');
		expectStatus(await b.comp(path, 'undelete'), 200);
		assert.equal((await b.get(path)).text, '2');
		assert.equal((await b.get(path, {}, { snapshot })).text, '1');
	});
	test('an overwrite keeps the old state as a deleted snapshot', async () => {
		const path = fresh();
		expectStatus(await b.put(path, 'old'), 201);
		expectStatus(await b.put(path, 'new'), 201);
		assert.equal((await listed(b, path)).length, 1);
		const all = await listed(b, path, 'deleted,snapshots');
		assert.equal(all.length, 2);
		const snapshot = /<Snapshot>([^<]*)</.exec(all.find((x) => x.includes('<Deleted>true</Deleted>')))[1];
		expectError(await b.get(path, {}, { snapshot }), 404, 'BlobNotFound');
		expectStatus(await b.comp(path, 'undelete'), 200);
		assert.equal((await b.get(path, {}, { snapshot })).text, 'old');
		assert.equal((await b.get(path)).text, 'new');
	});
	test('undelete: nothing to do, nothing there', async () => {
		const path = fresh();
		expectError(await b.comp(path, 'undelete'), 404, 'BlobNotFound');
		expectStatus(await b.put(path, 'x'), 201);
		expectStatus(await b.comp(path, 'undelete'), 200);
		expectError(await b.comp('/no-such-container/x', 'undelete'), 404, 'ContainerNotFound');
	});
	test('permanent delete needs the switch, the letter and a snapshot', async () => {
		const path = fresh();
		expectStatus(await b.put(path, 'x'), 201);
		const snapshot = await b.snapshot(path);
		expectStatus(await b.delete(path, {}, { snapshot }), 202);
		expectError(await b.delete(path, {}, { snapshot, deletetype: 'permanent' }), 409, 'PermanentDeleteIsOff');
		expectError(await b.delete(path, {}, { deletetype: 'permanent' }), 400, 'InvalidQueryParameterValue');
		expectStatus(await setRetention(client, 7, '<AllowPermanentDelete>true</AllowPermanentDelete>'), 202);
		const sas = accountSas(server.account, server.key, { sp: 'rwd' });
		expectError(await client.delete(path, { sas, query: { snapshot, deletetype: 'permanent' } }), 403, 'AuthorizationPermissionMismatch');
		assert.equal(expectStatus(await b.delete(path, {}, { snapshot, deletetype: 'permanent' }), 202).headers['x-ms-delete-type-permanent'], 'true');
		assert.equal((await listed(b, path, 'deleted,snapshots')).length, 1);
		expectStatus(await setRetention(client, 7), 202);
	});
	test('thousands of snapshots go and come, more than a commit holds', async () => {
		const path = fresh();
		const COUNT = scaled(2300, 1100);
		expectStatus(await b.put(path, 'kept'), 201);
		const snapshots = [];
		await Promise.all(
			Array.from({ length: 48 }, async () => {
				while (snapshots.length < COUNT) snapshots.push(await b.snapshot(path));
			}),
		);
		const count = async (include) => {
			let n = 0, marker;
			do {
				const r = expectStatus(await b.list(home, { prefix: path.split('/')[2], include, marker }), 200);
				n += items(r.text).length;
				marker = elements(r.text, 'NextMarker')[0];
			} while (marker);
			return n;
		};
		assert.equal(await count('snapshots'), snapshots.length + 1);
		expectStatus(await b.delete(path, { 'x-ms-delete-snapshots': 'only' }), 202);
		assert.equal(await count('snapshots'), 1);
		expectStatus(await b.comp(path, 'undelete'), 200);
		assert.equal(await count('snapshots'), snapshots.length + 1);
		expectStatus(await b.delete(path, { 'x-ms-delete-snapshots': 'include' }), 202);
		assert.equal(await count('snapshots'), 0);
		assert.equal(await count('snapshots,deleted'), snapshots.length + 1);
		expectStatus(await b.comp(path, 'undelete'), 200);
		assert.equal(await count('snapshots'), snapshots.length + 1);
		assert.equal((await b.get(path)).text, 'kept');
		// And for good.
		expectStatus(await setRetention(client, 0), 202);
		expectStatus(await b.delete(path, { 'x-ms-delete-snapshots': 'include' }), 202);
		assert.equal(await count('snapshots,deleted'), 0);
		expectStatus(await setRetention(client, 7), 202);
	});
	test('the days are over', async () => {
		const path = fresh();
		expectStatus(await b.put(path, 'x'), 201);
		expectStatus(await b.delete(path), 202);
		await server.advanceClock(6 * DAY);
		expectStatus(await b.comp(path, 'undelete'), 200);
		expectStatus(await b.delete(path), 202);
		await server.advanceClock(8 * DAY);
		assert.equal((await listed(b, path, 'deleted')).length, 0);
		expectError(await b.comp(path, 'undelete'), 404, 'BlobNotFound');
		await server.setClock(0);
	});
	test('switched off, a delete is for good', async () => {
		expectStatus(await setRetention(client, 0), 202);
		const path = fresh();
		expectStatus(await b.put(path, 'x'), 201);
		assert.equal(expectStatus(await b.delete(path), 202).headers['x-ms-delete-type-permanent'], 'true');
		expectError(await b.comp(path, 'undelete'), 404, 'BlobNotFound');
		expectStatus(await setRetention(client, 7), 202);
	});
});

test('containers can be restored within their days', async () => {
	const { server, client, service } = await open({ flags: ['--containerRetentionDays', '3'] });
	try {
		const name = uniqueName('gone');
		const c = service.getContainerClient(name);
		await c.create({ metadata: { a: 'b' } });
		await c.getBlockBlobClient('x').upload('kept', 4);
		await c.delete();
		let version;
		for await (const item of service.listContainers({ includeDeleted: true, prefix: name })) version = item.version;
		assert.ok(version);
		expectError(await client.put(`/${name}`, { query: { restype: 'container', comp: 'undelete' } }), 400, 'MissingRequiredHeader');
		const { containerClient } = await service.undeleteContainer(name, version);
		assert.equal((await containerClient.getBlockBlobClient('x').downloadToBuffer()).toString(), 'kept');
		assert.deepEqual((await containerClient.getProperties()).metadata, { a: 'b' });
		await rejectsWith(service.undeleteContainer(name, version), 409, 'ContainerAlreadyExists');
		await c.delete();
		for await (const item of service.listContainers({ includeDeleted: true, prefix: name })) version = item.version;
		await server.advanceClock(3 * DAY + 60);
		// The SDK signs with the machine's clock.
		const left = expectStatus(await client.get('/', { query: { comp: 'list', include: 'deleted', prefix: name } }), 200);
		assert.deepEqual(elements(left.text, 'Name'), []);
		const headers = { 'x-ms-deleted-container-name': name, 'x-ms-deleted-container-version': version };
		expectError(await client.put(`/${name}`, { query: { restype: 'container', comp: 'undelete' }, headers }), 404, 'ContainerNotFound');
	} finally {
		await server.remove();
	}
});

test('deleted containers by pages, several of one name', async () => {
	const { server, client, service } = await open({ flags: ['--containerRetentionDays', '3'] });
	try {
		const prefix = uniqueName('p'), make = (name) => service.getContainerClient(prefix + name).create();
		for (const name of ['a', 'b', 'b', 'b', 'c', 'd', 'd']) {
			await make(name);
			await service.getContainerClient(prefix + name).delete();
		}
		for (const name of ['b', 'd', 'e']) await make(name);
		for (const maxPageSize of [undefined, 1, 2, 3, 4]) {
			const found = [];
			for await (const page of service.listContainers({ includeDeleted: true, prefix }).byPage({ maxPageSize })) {
				found.push(...page.containerItems.map((item) => `${item.name.slice(prefix.length)} ${item.deleted ? item.version : 'live'}`));
				assert.ok(found.length <= 10, 'it goes round');
			}
			assert.equal(new Set(found).size, 10, `each once in pages of ${maxPageSize}: ${found}`);
			assert.equal(found.map((x) => x[0]).join(''), 'abbbbcddde');
		}
		for (const marker of [`/${server.account}/${prefix}b/x`, `/${server.account}/${prefix}b/`])
			expectError(await client.get('/', { query: { comp: 'list', include: 'deleted', marker } }), 400, 'OutOfRangeInput');
	} finally {
		await server.remove();
	}
});

test('versioning was on: what is deleted after that comes back', async () => {
	const { server, client, b } = await open({ flags: ['--blobVersioning'] });
	try {
		expectStatus(await setRetention(client, 7), 202);
		const path = fresh(), other = fresh();
		expectStatus(await b.put(path, 'first', { 'x-ms-tags': 'k=v' }), 201);
		const version = expectStatus(await b.put(path, 'last', { 'x-ms-tags': 'k=v' }), 201).headers['x-ms-version-id'];
		expectStatus(await b.put(other, 'old'), 201);
		await server.restart({ flags: [] });
		expectStatus(await b.delete(path), 202);
		const shown = await listed(b, path, 'deletedwithversions');
		assert.deepEqual([shown.length, /<Content-Length>(\d+)</.exec(shown[0])[1]], [1, '5'], 'the version is the first state');
		expectStatus(await b.comp(path, 'undelete'), 200);
		const back = expectStatus(await b.get(path), 200);
		assert.deepEqual([back.text, back.headers['x-ms-version-id']], ['last', version]);
		assert.match(expectStatus(await client.get('/', { query: { comp: 'blobs', where: `k='v'` } }), 200).text, new RegExp(path.split('/')[2]));
		// What is a version stays one when it is replaced; what comes after it is none, and is kept as a deleted snapshot.
		expectStatus(await b.put(other, 'new'), 201);
		expectStatus(await b.put(other, 'newer'), 201);
		expectStatus(await b.comp(other, 'undelete'), 200);
		const states = await listed(b, other, 'snapshots,versions');
		assert.deepEqual(states.map((x) => [x.includes('<Snapshot>'), x.includes('<VersionId>')]), [[false, true], [true, false], [false, false]]);
	} finally {
		await server.remove();
	}
});

test('live and deleted containers of much metadata: each once, in order, in several pages', async () => {
	const { server, client } = await open({ flags: ['--containerRetentionDays', '3'] });
	try {
		const prefix = uniqueName('much');
		const names = Array.from({ length: 700 }, (_, i) => `${prefix}-${String(i).padStart(4, '0')}`);
		const query = { restype: 'container' };
		await Promise.all([0, 1, 2, 3, 4, 5, 6].map(async (k) => {
			for (const [i, name] of names.entries()) {
				if (i % 7 !== k) continue;
				expectStatus(await client.put(`/${name}`, { query, headers: { 'x-ms-meta-a': 'v'.repeat(8000) } }), 201);
				if (i % 10 === 0 || i > 690) expectStatus(await client.delete(`/${name}`, { query }), 202);
			}
		}));
		const found = [];
		let pages = 0;
		for (let marker = ''; marker !== undefined; pages++) {
			const page = expectStatus(await client.get('/', { query: { comp: 'list', prefix, include: 'deleted', marker } }), 200);
			found.push(...elements(page.text, 'Name'));
			marker = elements(page.text, 'NextMarker')[0];
		}
		assert.deepEqual(found, names);
		assert.ok(pages > 1);
	} finally {
		await server.remove();
	}
});

describe('immutability', () => {
	let server, client, b;
	before(async () => ({ server, client, b } = await open()));
	after(() => server?.remove());
	const until = (server, seconds) => new Date(server.now() + seconds * 1000).toUTCString();
	const policy = (path, seconds, mode, headers = {}) =>
		b.comp(path, 'immutabilityPolicies', { 'x-ms-immutability-policy-until-date': until(server, seconds), 'x-ms-immutability-policy-mode': mode, ...headers });
	const hold = (path, on) => b.comp(path, 'legalhold', { 'x-ms-legal-hold': String(on) });

	// Every operation that changes or removes the blob's bytes or properties.
	const PAGE = Buffer.alloc(512, 9);
	const WRITES = {
		'Put Blob': [(p) => b.put(p, 'x'), (p) => b.put(p, 'y')],
		'Put Block List': [(p) => b.put(p, 'x'), (p) => b.blockList(p, [])],
		'Delete Blob': [(p) => b.put(p, 'x'), (p) => b.delete(p)],
		'Set Blob Properties': [(p) => b.put(p, 'x'), (p) => b.comp(p, 'properties', { 'x-ms-blob-content-type': 'a/b' })],
		'Set Blob Metadata': [(p) => b.put(p, 'x'), (p) => b.comp(p, 'metadata', { 'x-ms-meta-a': 'b' })],
		'Copy Blob onto it': [(p) => b.put(p, 'x'), (p) => b.copy(p, b.readable(`/${home}/source`))],
		'Copy Blob From URL onto it': [(p) => b.put(p, 'x'), (p) => b.copy(p, b.readable(`/${home}/source`), { 'x-ms-requires-sync': 'true' })],
		'Put Blob From URL onto it': [(p) => b.put(p, 'x'), (p) => client.put(p, { headers: { 'x-ms-blob-type': 'BlockBlob', 'x-ms-copy-source': b.readable(`/${home}/source`) } })],
		'Put Page': [(p) => b.pageBlob(p, 512), (p) => b.pages(p, 0, PAGE)],
		'Put Page (clear)': [(p) => b.pageBlob(p, 512), (p) => b.clear(p, 0, 512)],
		'Resize': [(p) => b.pageBlob(p, 512), (p) => b.comp(p, 'properties', { 'x-ms-blob-content-length': 1024 })],
		'Append Block': [(p) => b.appendBlob(p), (p) => b.append(p, 'x')],
		'Append Blob Seal': [(p) => b.appendBlob(p), (p) => b.comp(p, 'seal')],
		'Append Block From URL': [(p) => b.appendBlob(p), (p) => b.comp(p, 'appendblock', { 'x-ms-copy-source': b.readable(`/${home}/source`) })],
	};
	for (const [name, [make, write]] of Object.entries(WRITES))
		test(`${name} is refused`, async () => {
			expectStatus(await b.put(`/${home}/source`, 'source'), 201);
			const path = fresh();
			expectStatus(await make(path), 201);
			const etag = (await b.head(path)).etag;
			expectStatus(await policy(path, 3600, 'unlocked'), 200);
			expectError(await write(path), 409, 'BlobImmutableDueToPolicy');
			expectStatus(await b.delete(path, {}, { comp: 'immutabilityPolicies' }), 200);
			expectStatus(await hold(path, true), 200);
			expectError(await write(path), 409, 'BlobImmutableDueToLegalHold');
			assert.equal((await b.head(path)).etag, etag, 'nothing of it changed the ETag');
			expectStatus(await hold(path, false), 200);
			const r = await write(path);
			assert.ok(r.status < 300, `${r.status} ${r.code}`);
		});
	test('what is not refused: reads, leases, tags, tier, snapshots, blocks', async () => {
		const path = fresh();
		expectStatus(await b.put(path, 'x'), 201);
		expectStatus(await hold(path, true), 200);
		expectStatus(await b.get(path), 200);
		const id = await b.acquire(path);
		expectStatus(await b.lease(path, 'release', { 'x-ms-lease-id': id }), 200);
		expectStatus(await b.comp(path, 'tier', { 'x-ms-access-tier': 'Cool' }), 200);
		expectStatus(await b.comp(path, 'snapshot'), 201);
	});
	test('a held snapshot stops the delete of the blob with its snapshots', async () => {
		const path = fresh();
		expectStatus(await b.put(path, 'x'), 201);
		expectStatus(await hold(path, true), 200);
		const snapshot = await b.snapshot(path);
		expectStatus(await hold(path, false), 200);
		assert.equal((await b.head(path, {}, { snapshot })).headers['x-ms-legal-hold'], 'true', 'taken with the hold');
		expectError(await b.delete(path, {}, { snapshot }), 409, 'BlobImmutableDueToLegalHold');
		expectError(await b.delete(path, { 'x-ms-delete-snapshots': 'include' }), 409, 'BlobImmutableDueToLegalHold');
		expectError(await b.delete(path, { 'x-ms-delete-snapshots': 'only' }), 409, 'BlobImmutableDueToLegalHold');
		assert.equal((await b.get(path, {}, { snapshot })).text, 'x');
		expectStatus(await b.comp(path, 'legalhold', { 'x-ms-legal-hold': 'false' }, undefined, { snapshot }), 200);
		expectStatus(await b.delete(path, { 'x-ms-delete-snapshots': 'include' }), 202);
	});
	test('a policy ends with its time', async () => {
		const path = fresh();
		expectStatus(await b.put(path, 'x'), 201);
		const r = expectStatus(await policy(path, 100, 'Unlocked'), 200);
		assert.equal(r.headers['x-ms-immutability-policy-mode'], 'unlocked');
		const p = await b.head(path);
		assert.equal(p.headers['x-ms-immutability-policy-mode'], 'unlocked');
		assert.ok(p.headers['x-ms-immutability-policy-until-date']);
		expectError(await b.delete(path), 409, 'BlobImmutableDueToPolicy');
		await server.advanceClock(101);
		expectStatus(await b.delete(path), 202);
		await server.setClock(0);
	});
	test('a locked policy only grows', async () => {
		const path = fresh();
		expectStatus(await b.put(path, 'x'), 201);
		expectStatus(await policy(path, 1000, 'locked'), 200);
		expectStatus(await policy(path, 500, 'locked'), 409);
		expectStatus(await policy(path, 2000, 'unlocked'), 409);
		expectStatus(await b.delete(path, {}, { comp: 'immutabilityPolicies' }), 409);
		expectStatus(await policy(path, 2000, 'locked'), 200);
		expectStatus(await b.delete(path), 409);
	});
	test('given with the write: the permission i', async () => {
		const path = fresh();
		const put = (sp, headers) => client.put(path, { sas: blobSas(server.account, server.key, home, path.split('/')[2], { sp }), body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob', ...headers } });
		for (const headers of [{ 'x-ms-legal-hold': 'true' }, { 'x-ms-immutability-policy-until-date': until(server, 3600), 'x-ms-immutability-policy-mode': 'unlocked' }])
			expectError(await put('cw', headers), 403, 'AuthorizationPermissionMismatch');
		expectStatus(await put('cw', {}), 201);
		expectStatus(await put('cwi', { 'x-ms-legal-hold': 'true' }), 201);
		expectError(await put('cw', {}), 409, 'BlobImmutableDueToLegalHold');
	});
	test('given with the write', async () => {
		const path = fresh();
		expectStatus(await b.put(path, 'x', { 'x-ms-legal-hold': 'true', 'x-ms-immutability-policy-until-date': until(server, 60), 'x-ms-immutability-policy-mode': 'unlocked' }), 201);
		const p = await b.head(path);
		assert.equal(p.headers['x-ms-legal-hold'], 'true');
		assert.equal(p.headers['x-ms-immutability-policy-mode'], 'unlocked');
		const xml = expectStatus(await b.list(home, { prefix: path.split('/')[2], include: 'immutabilitypolicy,legalhold' }), 200).text;
		assert.deepEqual(elements(xml, 'LegalHold'), ['true']);
		assert.equal(elements(xml, 'ImmutabilityPolicyMode').length, 1);
		assert.equal(elements(xml, 'ImmutabilityPolicyUntilDate').length, 1);
	});
	test('refusals', async () => {
		const path = fresh();
		expectError(await hold(path, true), 404, 'BlobNotFound');
		expectError(await policy(path, 60, 'locked'), 404, 'BlobNotFound');
		expectStatus(await b.put(path, 'x'), 201);
		expectError(await b.comp(path, 'legalhold'), 400, 'MissingRequiredHeader');
		expectError(await hold(path, 'maybe'), 400, 'InvalidHeaderValue');
		expectError(await b.comp(path, 'immutabilityPolicies', { 'x-ms-immutability-policy-mode': 'locked' }), 400, 'MissingRequiredHeader');
		expectError(await policy(path, -60, 'locked'), 400, 'InvalidHeaderValue');
		expectError(await policy(path, 60, 'sealed'), 400, 'InvalidHeaderValue');
		expectError(await policy(path, 60, 'unlocked', { 'If-Unmodified-Since': 'Sat, 01 Jan 2000 00:00:00 GMT' }), 412, 'ConditionNotMet');
	});
});

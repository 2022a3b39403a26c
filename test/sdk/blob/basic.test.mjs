// SPDX-License-Identifier: Apache-2.0
// Block blobs and containers, with the official SDK where it offers the call and raw where the bytes matter.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { BlobServiceClient, StorageSharedKeyCredential, newPipeline } from '@azure/storage-blob';
import { startServer } from '../../lib/server.mjs';
import { Client, RawConnection } from '../../lib/http.mjs';
import { accountSas, blobSas } from '../../lib/sign.mjs';
import { elements, expectError, expectStatus, md5, rejectsWith, uniqueName } from '../../lib/assert.mjs';

let server, client, service, container;
const name = uniqueName('basic');
before(async () => {
	server = await startServer();
	client = new Client(server);
	service = BlobServiceClient.fromConnectionString(server.connectionString, { retryOptions: { maxTries: 1 } });
	container = service.getContainerClient(name);
	await container.create();
});
after(() => server?.remove());

const put = (path, body, headers = {}, o = {}) => client.put(path, { body, ...o, headers: { 'x-ms-blob-type': 'BlockBlob', ...headers } });

describe('containers', () => {
	test('create, properties, metadata, delete', async () => {
		const c = service.getContainerClient(uniqueName('c'));
		const created = await c.create({ metadata: { Colour: 'blue', two: 'x y' } });
		assert.match(created.etag, /^"0x[0-9A-F]{15}"$/);
		assert.ok(created.requestId && created.version && created.date instanceof Date);
		const properties = await c.getProperties();
		assert.equal(properties.etag, created.etag);
		assert.deepEqual(properties.metadata, { colour: 'blue', two: 'x y' });
		assert.equal(properties.leaseState, 'available');
		assert.equal(properties.leaseStatus, 'unlocked');
		await rejectsWith(c.create(), 409, 'ContainerAlreadyExists');
		const changed = await c.setMetadata({ other: '1' });
		assert.notEqual(changed.etag, created.etag);
		assert.deepEqual((await c.getProperties()).metadata, { other: '1' });
		assert.equal(await c.exists(), true);
		await c.delete();
		assert.equal(await c.exists(), false);
		await rejectsWith(c.delete(), 404, 'ContainerNotFound');
		await rejectsWith(c.getBlockBlobClient('b').upload('x', 1), 404, 'ContainerNotFound');
	});
	test('a blob operation leaves the container alone', async () => {
		const before = await container.getProperties();
		await container.getBlockBlobClient('touch').upload('x', 1);
		const now = await container.getProperties();
		assert.equal(now.etag, before.etag);
		assert.deepEqual(now.lastModified, before.lastModified);
	});
	test('names', async () => {
		for (const bad of ['ab', 'a'.repeat(64)]) expectError(await client.put(`/${bad}`, { query: { restype: 'container' } }), 400, 'OutOfRangeInput');
		for (const bad of ['Upper', 'a--b', '-ab', 'ab-', 'a_b', 'a.b']) expectError(await client.put(`/${bad}`, { query: { restype: 'container' } }), 400, 'InvalidResourceName');
		expectStatus(await client.put('/$web', { query: { restype: 'container' } }), 201);
	});
	test('ACL: letters that an old version does not know are not shown to it', async () => {
		const path = `/${uniqueName('acl')}`, acl = { restype: 'container', comp: 'acl' };
		const policies = (permission) => `<SignedIdentifiers><SignedIdentifier><Id>p</Id><AccessPolicy><Permission>${permission}</Permission></AccessPolicy></SignedIdentifier><SignedIdentifier><Id>q</Id></SignedIdentifier></SignedIdentifiers>`;
		expectStatus(await client.put(path, { query: { restype: 'container' } }), 201);
		for (const permission of ['rac', 'a', 'cw', 'rwdl']) {
			expectStatus(await client.put(path, { query: acl, body: policies(permission) }), 200);
			expectStatus(await client.get(path, { query: acl, version: '2015-04-05' }), 200);
			const old = await client.get(path, { query: acl, version: '2015-02-21' });
			if (permission === 'rwdl') expectStatus(old, 200);
			else expectError(old, 409, 'FeatureVersionMismatch');
		}
	});
	test('ACL: policies and public access', async () => {
		const c = service.getContainerClient(uniqueName('acl'));
		await c.create();
		assert.equal((await c.getAccessPolicy()).signedIdentifiers.length, 0);
		const startsOn = new Date('2026-01-01T00:00:00Z');
		const expiresOn = new Date('2036-01-01T00:00:00Z');
		await c.setAccessPolicy('blob', [{ id: 'p1', accessPolicy: { permissions: 'rl', startsOn, expiresOn } }]);
		const policy = await c.getAccessPolicy();
		assert.equal(policy.blobPublicAccess, 'blob');
		assert.equal(policy.signedIdentifiers[0].id, 'p1');
		assert.equal(policy.signedIdentifiers[0].accessPolicy.permissions, 'rl');
		assert.deepEqual(policy.signedIdentifiers[0].accessPolicy.expiresOn, expiresOn);
		// Public blobs are read without credentials, and nothing else is.
		await c.getBlockBlobClient('open').upload('hello', 5);
		expectStatus(await client.get(`/${c.containerName}/open`, { anonymous: true }), 200);
		expectError(await client.get(`/${c.containerName}`, { anonymous: true, query: { restype: 'container', comp: 'list' } }), 401, 'NoAuthenticationInformation');
		expectError(await put(`/${c.containerName}/open`, 'x', {}, { anonymous: true }), 401, 'NoAuthenticationInformation');
		await c.setAccessPolicy('container', []);
		expectStatus(await client.get(`/${c.containerName}`, { anonymous: true, query: { restype: 'container', comp: 'list' } }), 200);
		await c.setAccessPolicy(undefined, []);
		expectError(await client.get(`/${c.containerName}/open`, { anonymous: true }), 401, 'NoAuthenticationInformation');
		const six = Array.from({ length: 6 }, (_, i) => ({ id: `p${i}`, accessPolicy: { permissions: 'r', startsOn, expiresOn } }));
		await rejectsWith(c.setAccessPolicy(undefined, six), 400, 'InvalidXmlDocument');
	});
});

describe('block blobs', () => {
	const SIZES = [0, 1, 511, 4096, 32 * 1024 - 1, 32 * 1024, 32 * 1024 + 1, 1024 * 1024, 4 * 1024 * 1024 - 1, 4 * 1024 * 1024 + 1, 9 * 1024 * 1024 + 7];
	for (const size of SIZES)
		test(`${size} bytes there and back`, async () => {
			const bytes = crypto.randomBytes(size);
			const blob = container.getBlockBlobClient(`size-${size}`);
			const up = await blob.upload(bytes, size);
			assert.equal(Buffer.from(up.contentMD5).toString('base64'), md5(bytes));
			assert.ok((await blob.downloadToBuffer()).equals(bytes));
			const r = expectStatus(await client.get(`/${name}/size-${size}`), 200);
			assert.ok(r.body.equals(bytes));
			assert.equal(r.headers['content-length'], String(size));
			assert.equal(r.headers['content-md5'], md5(bytes));
			assert.equal(r.etag, up.etag);
			assert.equal(r.headers['accept-ranges'], 'bytes');
			assert.equal(r.headers['x-ms-blob-type'], 'BlockBlob');
			assert.equal(r.headers['content-type'], 'application/octet-stream');
		});

	test('ranges', async () => {
		const bytes = crypto.randomBytes(5 * 1024 * 1024);
		await container.getBlockBlobClient('ranges').upload(bytes, bytes.length);
		const path = `/${name}/ranges`;
		const total = bytes.length;
		const good = [
			['bytes=0-0', 0, 1],
			['bytes=0-99', 0, 100],
			['bytes=100-', 100, total],
			[`bytes=${total - 1}-`, total - 1, total],
			[`bytes=1000-${total + 5}`, 1000, total],
			['bytes=32760-32780', 32760, 32781],
			[`bytes=${4194300}-${4194310}`, 4194300, 4194311],
			['bytes=0-18446744073709551614', 0, total],
		];
		for (const [range, from, to] of good)
			for (const header of ['range', 'x-ms-range']) {
				const r = expectStatus(await client.get(path, { headers: { [header]: range } }), 206);
				assert.ok(r.body.equals(bytes.subarray(from, to)), range);
				assert.equal(r.headers['content-range'], `bytes ${from}-${to - 1}/${total}`);
				assert.equal(r.headers['x-ms-blob-content-md5'], md5(bytes));
			}
		for (const range of [`bytes=${total}-`, `bytes=${total + 10}-${total + 20}`, 'bytes=9223372036854775807-', 'bytes=18446744073709551615-'])
			expectError(await client.get(path, { headers: { 'x-ms-range': range } }), 416, 'InvalidRange');
		// Both given: x-ms-range counts.
		const both = expectStatus(await client.get(path, { headers: { range: 'bytes=0-9', 'x-ms-range': 'bytes=0-4' } }), 206);
		assert.equal(both.body.length, 5);
		const hashed = expectStatus(await client.get(path, { headers: { 'x-ms-range': 'bytes=10-1033', 'x-ms-range-get-content-md5': 'true' } }), 206);
		assert.equal(hashed.headers['content-md5'], md5(bytes.subarray(10, 1034)));
		// A range of an empty blob cannot be met.
		await container.getBlockBlobClient('empty').upload('', 0);
		expectError(await client.get(`/${name}/empty`, { headers: { 'x-ms-range': 'bytes=0-' } }), 416, 'InvalidRange');
	});

	test('Content-MD5 is checked and kept', async () => {
		const path = `/${name}/md5`;
		expectError(await put(path, 'abc', { 'content-md5': md5('abd') }), 400, 'Md5Mismatch');
		expectStatus(await client.head(path), 404);
		expectStatus(await put(path, 'abc', { 'content-md5': md5('abc') }), 201);
		assert.equal((await client.head(path)).headers['content-md5'], md5('abc'));
		expectError(await put(path, 'abc', { 'content-md5': 'nonsense' }), 400, 'InvalidMd5');
		// x-ms-blob-content-md5 is stored; the body is still checked against it for a whole Put Blob.
		expectStatus(await put(path, 'abc', { 'x-ms-blob-content-md5': md5('abc') }), 201);
		assert.equal((await client.head(path)).headers['content-md5'], md5('abc'));
	});

	test('properties and metadata', async () => {
		const blob = container.getBlockBlobClient('properties');
		await blob.upload('text', 4, {
			blobHTTPHeaders: { blobContentType: 'text/plain; charset=utf-8', blobContentEncoding: 'identity', blobContentLanguage: 'de', blobCacheControl: 'no-cache', blobContentDisposition: 'inline' },
			metadata: { a: '1', Mixed: 'Case' },
		});
		let p = await blob.getProperties();
		assert.deepEqual([p.contentType, p.contentEncoding, p.contentLanguage, p.cacheControl, p.contentDisposition], ['text/plain; charset=utf-8', 'identity', 'de', 'no-cache', 'inline']);
		assert.deepEqual(p.metadata, { a: '1', mixed: 'Case' });
		assert.equal(p.blobType, 'BlockBlob');
		assert.equal(p.accessTier, 'Hot');
		assert.ok(p.createdOn instanceof Date);
		const created = p.createdOn;
		const raw = expectStatus(await client.head(`/${name}/properties`), 200);
		assert.ok(raw.rawHeaders.includes('x-ms-meta-Mixed') || raw.rawHeaders.includes('x-ms-meta-mixed'));
		const etag = p.etag;
		// Setting one replaces all six.
		await blob.setHTTPHeaders({ blobContentType: 'a/b' });
		p = await blob.getProperties();
		assert.equal(p.contentType, 'a/b');
		assert.equal(p.cacheControl, undefined);
		assert.notEqual(p.etag, etag);
		assert.deepEqual(p.metadata, { a: '1', mixed: 'Case' });
		await blob.setMetadata({ b: '2' });
		p = await blob.getProperties();
		assert.deepEqual(p.metadata, { b: '2' });
		assert.equal(p.contentType, 'a/b');
		assert.deepEqual(p.createdOn, created);
		// Put Blob replaces everything that was.
		await blob.upload('new', 3);
		p = await blob.getProperties();
		assert.deepEqual(p.metadata, {});
		assert.equal(p.contentType, 'application/octet-stream');
	});

	test('names of every kind', async () => {
		const names = ['plain', 'with space', 'a/b/c', 'ä ö ü ß', '日本語/ファイル', '100%', 'a+b&c=d?e#f', "quote'\"", 'trailing.', 'x'.repeat(1024), '%2F', 'a//b', '😀', '~tilde!*()'];
		for (const n of names) {
			const blob = container.getBlockBlobClient(n);
			await blob.upload(n, Buffer.byteLength(n));
			assert.equal((await blob.downloadToBuffer()).toString(), n);
		}
		const listed = [];
		for await (const item of container.listBlobsFlat()) listed.push(item.name);
		for (const n of names) assert.ok(listed.includes(n), n);
		// 1,024 characters as UTF-16 counts them, with all that may hang on a name.
		for (const long of ['x'.repeat(1024), '日'.repeat(1024), '😀'.repeat(512)]) {
			const path = `/${name}/${encodeURIComponent(long)}`;
			expectStatus(await put(path, 'x', { 'x-ms-tags': `${'k'.repeat(128)}=${'v'.repeat(256)}` }), 201);
			expectStatus(await client.put(path, { query: { comp: 'snapshot' } }), 201);
			expectStatus(await client.put(path, { query: { comp: 'block', blockid: Buffer.alloc(64).toString('base64') }, body: 'x' }), 201);
			expectError(await put(`${path}x`, 'x'), 400, 'OutOfRangeInput');
		}
	});

	test('delete', async () => {
		const blob = container.getBlockBlobClient('gone');
		await blob.upload('x', 1);
		await blob.delete();
		await rejectsWith(blob.delete(), 404, 'BlobNotFound');
		await rejectsWith(blob.download(), 404, 'BlobNotFound');
		assert.equal(await blob.exists(), false);
	});

	test('what is refused', async () => {
		expectError(await client.put(`/${name}/x`, { body: 'x' }), 400, 'MissingRequiredHeader');
		expectError(await put(`/${name}/x`, 'x', { 'x-ms-blob-type': 'Nonsense' }), 400, 'InvalidHeaderValue');
		expectError(await put('/nosuchcontainer/x', 'x'), 404, 'ContainerNotFound');
		expectError(await client.get(`/${name}/nothing`), 404, 'BlobNotFound');
		expectError(await put(`/${name}/x`, 'x', { 'x-ms-meta-': 'v' }), 400, 'EmptyMetadataKey');
		expectError(await put(`/${name}/x`, 'x', { 'x-ms-meta-1a': 'v' }), 400, 'InvalidMetadata');
		expectError(await put(`/${name}/x`, 'x', { 'x-ms-meta-a': 'v'.repeat(8193) }), 400, 'MetadataTooLarge');
	});

	test('chunked upload', async () => {
		const path = `/${name}/chunked`;
		const sas = accountSas(server.account, server.key);
		const url = client.url(path, {}, sas);
		const connection = await RawConnection.open(server.ports.blob);
		const head = `PUT ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\nx-ms-version: 2024-11-04\r\nx-ms-blob-type: BlockBlob\r\nTransfer-Encoding: chunked\r\n\r\n`;
		const r = await connection.exchange(`${head}5\r\nhello\r\n7;ext=1\r\n, world\r\n0\r\n\r\n`, 'PUT');
		await connection.end();
		// Put Blob requires a length.
		assert.ok(r.status === 201 || r.status === 411, String(r.status));
		if (r.status === 201) assert.equal((await client.get(path)).text, 'hello, world');
	});

	test('Expect: 100-continue is answered only when there is a chance', async () => {
		const sas = accountSas(server.account, server.key);
		const ask = async (path, extra = '') => {
			const url = client.url(path, {}, sas);
			const connection = await RawConnection.open(server.ports.blob);
			const r = await connection.exchange(
				`PUT ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\nx-ms-version: 2024-11-04\r\nx-ms-blob-type: BlockBlob\r\nContent-Length: 5\r\nExpect: 100-continue\r\n${extra}\r\n`,
				'PUT',
			);
			return { r, connection };
		};
		const good = await ask(`/${name}/expected`);
		assert.equal(good.r.status, 100);
		assert.equal((await good.connection.exchange('hello', 'PUT')).status, 201);
		await good.connection.end();
		const noContainer = await ask('/nosuchcontainer/x');
		assert.equal(noContainer.r.status, 404);
		await noContainer.connection.end();
		const stale = await ask(`/${name}/expected`, 'If-Match: "0x8DA0000000000AB"\r\n');
		assert.equal(stale.r.status, 412);
		await stale.connection.end();
		assert.equal((await client.get(`/${name}/expected`)).text, 'hello');
	});
});

describe('the front door', () => {
	test('ids, version, date, server', async () => {
		const r = expectStatus(await client.get('/', { query: { comp: 'list' }, headers: { 'x-ms-client-request-id': 'my-id-1' } }), 200);
		assert.match(r.headers['x-ms-request-id'], /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
		assert.equal(r.headers['x-ms-client-request-id'], 'my-id-1');
		assert.equal(r.headers['x-ms-version'], client.version);
		assert.ok(Math.abs(Date.parse(r.headers.date) - Date.now()) < 5000);
		assert.ok(r.headers.server);
	});
	for (const version of ['2012-02-12', '2014-02-14', '2015-02-21', '2017-11-09', '2019-12-12', '2021-12-02', '2026-04-06', '2031-01-01'])
		test(`version ${version} is accepted and echoed`, async () => {
			const r = expectStatus(await client.get(`/${name}`, { version, query: { restype: 'container' } }), 200);
			assert.equal(r.headers['x-ms-version'], version);
		});
	for (const version of ['nonsense', '2024-13-01', '2024-1-1', '2009-09-18', '99999-01-01'])
		test(`version ${version} is refused`, async () => expectStatus(await client.get(`/${name}`, { version, query: { restype: 'container' } }), 400));
	test('an error body is XML with id and time', async () => {
		const r = expectError(await client.get(`/${name}/nothing-here`), 404, 'BlobNotFound');
		assert.equal(r.headers['content-type'], 'application/xml');
		assert.ok(r.text.startsWith('\ufeff<?xml version="1.0" encoding="utf-8"?><Error><Code>BlobNotFound</Code><Message>The specified blob does not exist.\nRequestId:'));
		assert.match(r.text, /RequestId:[0-9a-f-]{36}\nTime:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z<\/Message><\/Error>$/);
	});
	test('Shared Key Lite', async () => expectStatus(await client.get(`/${name}`, { lite: true, query: { restype: 'container' } }), 200));
	test('a wrong key, an old date, nothing', async () => {
		const q = { query: { restype: 'container' } };
		expectError(await client.get(`/${name}`, { ...q, key: Buffer.from('wrong').toString('base64') }), 403, 'AuthenticationFailed');
		expectError(await client.get(`/${name}`, { ...q, date: new Date(server.now() - 16 * 60_000).toUTCString() }), 403, 'AuthenticationFailed');
		expectStatus(await client.get(`/${name}`, { ...q, date: new Date(server.now() - 14 * 60_000).toUTCString() }), 200);
		expectError(await client.get(`/${name}`, { ...q, anonymous: true }), 401, 'NoAuthenticationInformation');
		expectError(await client.get(`/${name}`, { ...q, headers: { authorization: 'nonsense' } }), 400, 'InvalidAuthenticationInfo');
	});
	test('account SAS: service, type, permission, time', async () => {
		await container.getBlockBlobClient('sas').upload('secret', 6);
		const get = (o) => client.get(`/${name}/sas`, { sas: accountSas(server.account, server.key, o), date: null });
		expectStatus(await get({}), 200);
		expectError(await get({ ss: 'q' }), 403, 'AuthorizationServiceMismatch');
		expectError(await get({ srt: 's' }), 403, 'AuthorizationResourceTypeMismatch');
		expectError(await get({ sp: 'w' }), 403, 'AuthorizationPermissionMismatch');
		expectError(await get({ se: new Date(Date.now() - 1000) }), 403, 'AuthenticationFailed');
		expectError(await get({ st: new Date(Date.now() + 600_000) }), 403, 'AuthenticationFailed');
		expectError(await get({ spr: 'https' }), 403, 'AuthorizationProtocolMismatch');
		expectError(await get({ sip: '10.1.1.1' }), 403, 'AuthorizationSourceIPMismatch');
		expectStatus(await get({ sip: '127.0.0.0-127.0.0.9' }), 200);
	});
	test('service SAS: blob, container, policy, overrides', async () => {
		const get = (blob, sas) => client.get(`/${name}/${blob}`, { sas, date: null });
		await container.getBlockBlobClient('sas').upload('secret', 6);
		await container.getBlockBlobClient('sas2').upload('secret', 6);
		const one = blobSas(server.account, server.key, name, 'sas', { sp: 'r' });
		expectStatus(await get('sas', one), 200);
		expectError(await get('sas2', one), 403, 'AuthenticationFailed');
		expectError(await client.put(`/${name}/sas`, { sas: one, date: null, body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob' } }), 403, 'AuthorizationPermissionMismatch');
		expectStatus(await get('sas2', blobSas(server.account, server.key, name, undefined, { sp: 'r' })), 200);
		const overridden = expectStatus(await get('sas', blobSas(server.account, server.key, name, 'sas', { sp: 'r', rsct: 'text/x', rscd: 'attachment' })), 200);
		assert.equal(overridden.headers['content-type'], 'text/x');
		assert.equal(overridden.headers['content-disposition'], 'attachment');
		// A stored policy, and its end.
		const tied = blobSas(server.account, server.key, name, undefined, { si: 'mine' });
		expectError(await get('sas', tied), 403, 'AuthenticationFailed');
		await container.setAccessPolicy(undefined, [{ id: 'mine', accessPolicy: { permissions: 'r', startsOn: new Date(Date.now() - 60_000), expiresOn: new Date(Date.now() + 600_000) } }]);
		expectStatus(await get('sas', tied), 200);
		await container.setAccessPolicy(undefined, []);
		expectError(await get('sas', tied), 403, 'AuthenticationFailed');
		// c creates, but does not overwrite.
		const create = blobSas(server.account, server.key, name, 'created', { sp: 'c' });
		const upload = () => client.put(`/${name}/created`, { sas: create, date: null, body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob' } });
		expectStatus(await upload(), 201);
		expectError(await upload(), 403, 'UnauthorizedBlobOverwrite');
	});
	test('host-style and dotted host names', async () => {
		const sas = accountSas(server.account, server.key);
		const ask = async (host, path) => {
			const connection = await RawConnection.open(server.ports.blob);
			const r = await connection.exchange(`GET ${path}?restype=container&${sas} HTTP/1.1\r\nHost: ${host}\r\nx-ms-version: 2024-11-04\r\n\r\n`);
			await connection.end();
			return r.status;
		};
		assert.equal(await ask(`devstoreaccount1.blob.example:${server.ports.blob}`, `/${name}`), 200);
		assert.equal(await ask('storage.my.docker.host', `/devstoreaccount1/${name}`), 200);
		assert.equal(await ask('localhost', `/devstoreaccount1/${name}`), 200);
	});
	test('an unknown method is refused', async () => {
		const r = await client.request('TRACE', '/');
		assert.ok(r.status === 405 || r.status === 400, String(r.status));
	});
	test('health needs no credentials', async () => {
		const r = await fetch(`http://127.0.0.1:${server.ports.blob}/health`);
		assert.equal(r.status, 200);
	});
	test('an older SDK pipeline with SharedKeyCredential works', async () => {
		const pipeline = newPipeline(new StorageSharedKeyCredential(server.account, server.key), { retryOptions: { maxTries: 1 } });
		const other = new BlobServiceClient(server.endpoints.blob, pipeline);
		const found = [];
		for await (const c of other.listContainers({ prefix: name })) found.push(c.name);
		assert.deepEqual(found, [name]);
		assert.ok(elements((await client.get('/', { query: { comp: 'list', prefix: name } })).text, 'Name').includes(name));
	});
});

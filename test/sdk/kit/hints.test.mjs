// SPDX-License-Identifier: Apache-2.0
// Errors that teach: in development mode every refusal has a hint in a header and a reason in the access log, HEAD too; in production
// mode neither.
import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { BlobServiceClient, BlobSASPermissions, StorageSharedKeyCredential, generateBlobSASQueryParameters } from '@azure/storage-blob';
import { TableClient } from '@azure/data-tables';
import { removeDir, root, scaled, startServer, tempDir } from '../../lib/server.mjs';
import { Client } from '../../lib/http.mjs';
import { expectStatus } from '../../lib/assert.mjs';

describe('hints', () => {
	let server, dir, client;
	before(async () => {
		dir = tempDir();
		server = await startServer({ accessLog: path.join(dir, 'log') });
		client = new Client(server);
		expectStatus(await client.put('/hints', { query: { restype: 'container' } }), 201);
		expectStatus(await client.put('/hints/b', { body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
	});
	after(async () => {
		await server.remove();
		removeDir(dir);
	});
	const hint = (r) => r.headers['x-zaffre-hint'] ?? '';
	const service = (name) => new Client(server, { service: name });
	const sasOf = (hours) => new URLSearchParams(generateBlobSASQueryParameters(
		{ containerName: 'hints', blobName: 'b', permissions: BlobSASPermissions.parse('r'), startsOn: new Date(Date.now() + (hours - 2) * 3600_000), expiresOn: new Date(Date.now() + hours * 3600_000) },
		new StorageSharedKeyCredential(server.account, server.key)).toString());

	test('another service was meant: this is the Queue port, Blob is at', async () => {
		const r = await service('queue').put('/hints/b', { body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob' } });
		assert.ok(r.status >= 400);
		assert.match(hint(r), new RegExp(`^This is the Queue port.*Blob, which is at http://127\\.0\\.0\\.1:${server.ports.blob}/`));
		assert.match(hint(await service('blob').get('/Tables')), new RegExp(`Table, which is at http://127\\.0\\.0\\.1:${server.ports.table}/`));
		assert.match(hint(await service('table').get('/q/messages', { headers: { 'user-agent': 'azsdk-js-azure-storage-queue/12.1' } })), /Queue, which is at/);
		// The official client, pointed at the wrong port.
		const wrong = BlobServiceClient.fromConnectionString(server.connectionString.replace(/BlobEndpoint=[^;]*/, `BlobEndpoint=${server.endpoints.queue}`), { retryOptions: { maxTries: 1 } });
		const error = await wrong.getContainerClient('hints').getBlockBlobClient('b').upload('x', 1).catch((e) => e);
		assert.match(error.response.headers.get('x-zaffre-hint'), /^This is the Queue port/);
	});
	test('no such account, have', async () => {
		const r = await new Client(server, { account: 'nobody' }).get('/x/y');
		assert.match(hint(r), /^No account nobody, have devstoreaccount1\./);
		assert.match(hint(await fetch(server.endpoints.blob.replace(/\/[^/]*$/, '/')).then((x) => ({ headers: Object.fromEntries(x.headers) }))), /names no account/);
	});
	test('Data Lake', async () => {
		assert.match(hint(await client.put('/hints', { query: { resource: 'filesystem' } })), /^Data Lake .* not served\. .*Blob API: http:/);
	});
	test('a SAS that ended, one that begins later, one that may not', async () => {
		assert.match(hint(await client.get('/hints/b', { sas: sasOf(-1) })), /^The SAS ended 1 hour ago, at /);
		assert.match(hint(await client.get('/hints/b', { sas: sasOf(5) })), /^The SAS begins in 2 hours, at /);
		expectStatus(await client.get('/hints/b', { sas: sasOf(1) }), 200);
		assert.match(hint(await client.put('/hints/b', { body: 'y', sas: sasOf(1), headers: { 'x-ms-blob-type': 'BlockBlob' } })), /^The SAS has sp=r; Put Blob needs one of/);
	});
	test('keys, leases, conditions, If-Match, what is not there', async () => {
		assert.match(hint(await client.get('/hints/b', { key: Buffer.alloc(64).toString('base64') })), /signature does not fit.*devstoreaccount1.*--debug/);
		assert.match(hint(await client.get('/hints/b', { anonymous: true })), /^No credentials/);
		assert.match(hint(await client.get('/absent/b')), /^No container absent in account devstoreaccount1: create it first, or start the server with --create absent/);
		assert.match(hint(await service('queue').get('/absent/messages')), /--create queue:absent/);
		assert.match(hint(await client.get('/hints/b', { headers: { 'if-match': '"0x8D0"' } })), /not the current one/);
		const lease = expectStatus(await client.put('/hints/b', { query: { comp: 'lease' }, headers: { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '15' } }), 201);
		assert.match(hint(await client.put('/hints/b', { body: 'y', headers: { 'x-ms-blob-type': 'BlockBlob' } })), /leased: send its id/);
		expectStatus(await client.put('/hints/b', { query: { comp: 'lease' }, headers: { 'x-ms-lease-action': 'release', 'x-ms-lease-id': lease.headers['x-ms-lease-id'] } }), 200);
		const table = TableClient.fromConnectionString(server.connectionString, 'Hints', { allowInsecureConnection: true });
		await table.createTable();
		await table.createEntity({ partitionKey: 'p', rowKey: 'r' });
		assert.match(hint(await service('table').request('DELETE', "/Hints(PartitionKey='p',RowKey='r')")), /needs If-Match: send the ETag/);
	});
	test('HEAD too, and every refusal of many kinds; the log has the reason', async () => {
		assert.match(hint(await client.request('HEAD', '/absent/b')), /^No container absent/);
		const asks = [['GET', '/hints', { comp: 'nonsense' }], ['PUT', '/hints/b', { comp: 'block' }], ['PUT', '/A', { restype: 'container' }], ['POST', '/hints/b', {}],
			['GET', '/hints/b', { snapshot: 'never' }], ['PUT', '/hints/p', { comp: 'page' }], ['GET', '/hints/nothing', {}], ['DELETE', '/hints/nothing', {}]];
		for (const [method, where, query] of asks) {
			const r = await client.request(method, where, { query });
			assert.ok(r.status >= 400, `${method} ${where} ${r.status}`);
			assert.ok(hint(r).length > 10, `${method} ${where}: ${hint(r)}`);
		}
		await new Promise((resolve) => setTimeout(resolve, 200));
		const lines = fs.readFileSync(path.join(dir, 'log'), 'utf8').trim().split('\n').map((l) => JSON.parse(l));
		const refused = lines.filter((l) => l.status >= 400);
		assert.ok(refused.length >= asks.length);
		for (const l of refused) assert.ok(l.reason?.length > 10, JSON.stringify(l));
		for (const l of lines.filter((l) => l.status < 400)) assert.equal(l.reason, undefined);
		assert.ok(!fs.readFileSync(path.join(dir, 'log'), 'utf8').includes('MAC signature'));
	});
	test('HEAD as GET, in every service', async () => {
		expectStatus(await service('file').put('/hints', { query: { restype: 'share' } }), 201);
		const asks = [['blob', '/hints/nothing', {}, /^No blob of that name/], ['blob', '/hints/b', { snapshot: '2020-01-01T00:00:00.0000000Z' }, /^No blob of that name/], ['blob', '/absent', { restype: 'container' }, /^No container absent/],
			['queue', '/absent', { comp: 'metadata' }, /^No queue absent/], ['file', '/absent', { restype: 'share' }, /^No share absent/], ['file', '/hints/dir/none', {}, /^Create the directory above/]];
		for (const [name, where, query, want] of asks)
			for (const method of ['GET', 'HEAD']) {
				const r = await service(name).request(method, where, { query });
				expectStatus(r, 404);
				assert.match(hint(r), want, `${method} ${name} ${where}`);
			}
	});
	test('what the answer says of this request stands in it too', async () => {
		const header = await client.put('/hints/x', { body: 'x', headers: { 'x-ms-blob-type': 'Nonsense' } });
		assert.match(hint(header), /^A header's value is not of the form .*\(HeaderName: x-ms-blob-type, HeaderValue: Nonsense\)$/);
		assert.match(hint(await client.put('/hints/b', { query: { comp: 'page' }, headers: { 'x-ms-page-write': 'clear', 'x-ms-range': 'bytes=0-511' } })), /^The blob is of another type/);
		assert.match(hint(await service('table').post('/Tables', { body: '{}', headers: { 'content-type': 'application/json' } })), /^A new entity needs .*a new table TableName/);
	});
	// Requests put together from good and bad parts: whatever is refused says why, in the answer and in the log.
	test('a sweep of requests over every service: no refusal without a hint', async (t) => {
		const swept = path.join(dir, 'swept');
		const own = await startServer({ accessLog: swept });
		const methods = ['GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'PATCH', 'MERGE', 'OPTIONS'];
		const paths = {
			blob: ['/', '/box', '/box/block', '/box/page', '/box/append', '/box/none', '/none/x', '/Bad_Name', '/$root/x', '/box/a%00b'],
			queue: ['/', '/box', '/box/messages', '/box/messages/123', '/none/messages', '/B', '/box/messages/00000000-0000-0000-0000-000000000000'],
			table: ['/', '/Tables', "/Tables('Box')", "/Tables('None')", '/Box', '/Box()', "/Box(PartitionKey='p',RowKey='r')", "/Box(PartitionKey='p',RowKey='none')", '/None', '/$batch', '/Box(nonsense'],
			file: ['/', '/box', '/box/dir', '/box/dir/f', '/box/f', '/box/none/f', '/none', '/none/f', '/BAD', '/box/a|b'],
		};
		const queries = [{}, { comp: 'list' }, { restype: 'container' }, { restype: 'share' }, { restype: 'directory' }, { restype: 'service', comp: 'properties' }, { restype: 'container', comp: 'lease' }, { comp: 'lease' }, { comp: 'block', blockid: 'x' }, { comp: 'blocklist' }, { comp: 'page' }, { comp: 'appendblock' }, { comp: 'range' }, { comp: 'metadata' }, { comp: 'acl' },
			{ comp: 'properties' }, { comp: 'tags' }, { comp: 'tier' }, { comp: 'snapshot' }, { comp: 'copy', copyid: 'x' }, { comp: 'undelete' }, { comp: 'rangelist' }, { comp: 'nonsense' }, { timeout: 'x' }, { snapshot: 'x' }, { versionid: 'x' }, { $filter: 'a eq' }, { $top: '0' }, { maxresults: '0' }, { visibilitytimeout: '-1' }, { popreceipt: 'x' }, { numofmessages: '99' }];
		const extra = [{}, { 'x-ms-blob-type': 'BlockBlob' }, { 'x-ms-blob-type': 'x' }, { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': '100' }, { 'if-match': '"0x1"' }, { 'if-none-match': '*' }, { 'x-ms-lease-id': '00000000-0000-0000-0000-000000000001' }, { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '5' }, { 'x-ms-lease-action': 'renew' }, { 'x-ms-lease-action': 'x' },
			{ range: 'bytes=99-100' }, { 'x-ms-range': 'bytes=0-511', 'x-ms-page-write': 'update' }, { 'x-ms-range': 'x', 'x-ms-write': 'update' }, { 'content-md5': 'AAAA' }, { 'x-ms-meta-': 'x' }, { 'x-ms-meta-1': 'x' }, { 'x-ms-copy-source': 'x' }, { 'x-ms-copy-source': 'http://127.0.0.1:1/x' }, { 'x-ms-access-tier': 'x' }, { 'x-ms-version': 'x' }, { 'x-ms-date': 'Mon, 01 Jan 2001 00:00:00 GMT' }, { 'content-type': 'application/json', accept: 'application/json' },
			{ 'content-type': 'application/json', accept: 'application/xml' }, { 'x-ms-type': 'file', 'x-ms-content-length': '-1' }, { 'x-ms-content-length': '10', 'x-ms-type': 'file' }, { 'x-ms-encryption-key': 'x' }, { 'x-ms-tags': 'a=b=c' }, { origin: 'http://other', 'access-control-request-method': 'PUT' }, { 'x-http-method': 'MERGE' }, { 'x-ms-requires-sync': 'x' }];
		const bodies = [undefined, '', 'x', '<', '<?xml version="1.0"?><BlockList><Latest>eA==</Latest></BlockList>', '<QueueMessage><MessageText>x</MessageText></QueueMessage>', '{}', '{"PartitionKey":"p","RowKey":"r"}', '{"TableName":"9"}', Buffer.alloc(512)];
		const others = [{}, {}, {}, {}, {}, {}, { anonymous: true }, { key: Buffer.alloc(64).toString('base64') }, { sas: new URLSearchParams('sv=2021-08-06&ss=b&srt=s&sp=r&se=2020-01-01T00:00:00Z&sig=x') }];
		const clients = Object.fromEntries(Object.keys(paths).map((name) => [name, new Client(own, { service: name })]));
		const { blob, queue, table, file } = clients;
		for (const [c, where, options] of [[blob, '/box', { query: { restype: 'container' } }], [blob, '/box/block', { body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob' } }], [blob, '/box/page', { headers: { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': '1024' } }], [blob, '/box/append', { headers: { 'x-ms-blob-type': 'AppendBlob' } }], [queue, '/box', {}], [file, '/box', { query: { restype: 'share' } }], [file, '/box/dir', { query: { restype: 'directory' } }], [file, '/box/f', { headers: { 'x-ms-type': 'file', 'x-ms-content-length': '10' } }]])
			expectStatus(await c.put(where, options), 201);
		expectStatus(await table.post('/Tables', { body: '{"TableName":"Box"}', headers: { 'content-type': 'application/json' } }), 201);
		// What fits the service comes more often, so that requests get further than their first check.
		const queriesOf = (...words) => queries.filter((q) => words.some((word) => Object.values(q).includes(word) || word in q));
		const asks = { blob: [{}, {}, ...queriesOf('container', 'lease', 'block', 'blocklist', 'page', 'appendblock', 'metadata', 'tags', 'tier', 'snapshot', 'undelete')], queue: [{}, {}, ...queriesOf('metadata', 'acl', 'popreceipt', 'numofmessages', 'visibilitytimeout')], table: [{}, {}, {}, ...queriesOf('$filter', '$top')], file: [{}, {}, ...queriesOf('share', 'directory', 'range', 'rangelist', 'metadata', 'lease', 'properties')] };
		const base = { blob: { 'x-ms-blob-type': 'BlockBlob' }, queue: {}, table: { 'content-type': 'application/json' }, file: { 'x-ms-type': 'file', 'x-ms-content-length': '10', 'x-ms-write': 'clear' } };
		let state = 20;
		const pick = (list) => {
			let x = (state = (state + 0x6d2b79f5) >>> 0);
			x = Math.imul(x ^ (x >>> 15), x | 1);
			x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
			return list[((x ^ (x >>> 14)) >>> 0) % list.length];
		};
		const codes = new Set(), bare = [];
		let refused = 0;
		for (let i = 0; i < scaled(4000); i++) {
			const name = pick(Object.keys(paths)), method = pick([pick(methods), pick(name === 'table' ? ['GET', 'POST', 'PUT', 'MERGE'] : ['GET', 'HEAD', 'PUT', 'PUT'])]), where = pick(paths[name]), options = { query: pick(pick([asks[name], asks[name], asks[name], queries])), headers: pick([base[name], { ...base[name], ...pick(extra) }, pick(extra)]), body: pick([undefined, pick(bodies)]), ...pick(others) };
			if (method === 'DELETE' && !/none|bad|messages\/|block/i.test(where)) continue; // the others ask for it
			if (method === 'GET' || method === 'HEAD') delete options.body;
			const r = await clients[name].request(method, where, options);
			if (r.status < 400) continue;
			refused++;
			codes.add(r.code);
			if (hint(r).length < 10) bare.push(`${method} ${name}${where} ${JSON.stringify(options.query)} ${JSON.stringify(options.headers)}: ${r.status} ${r.headers['x-ms-error-code']}`);
		}
		await own.stop();
		t.diagnostic(`${refused} refusals, ${codes.size} codes: ${[...codes].sort().join(' ')}`);
		assert.deepEqual(bare, []);
		if (scaled(4000) === 4000) assert.ok(refused > 2000 && codes.size > 35, `${refused} refusals, ${codes.size} codes`);
		const silent = fs.readFileSync(swept, 'utf8').trim().split('\n').map((l) => JSON.parse(l)).filter((l) => l.status >= 400 && !(l.reason?.length > 10));
		assert.deepEqual(silent, []);
		await own.remove();
	});
	test('every error that the services answer has a sentence', () => {
		const text = (file) => fs.readFileSync(path.join(root, file), 'utf8');
		const rows = [...text('src/base/errors.def').matchAll(/^X\((\w+), (\d+),/gm)].filter(([, , status]) => (status >= 400 && status < 500) || status > 500);
		const sentences = [...text('src/rest/core/kit/hints.def').matchAll(/^HINT\((\w+), ".{10,}"\)$/gm)].map(([, name]) => name);
		assert.ok(rows.length > 150 && sentences.length > 150, `${rows.length} errors, ${sentences.length} sentences`);
		assert.equal(new Set(sentences).size, sentences.length, 'one stands there twice');
		const used = new Set();
		for (const folder of ['auth', 'lock', 'rest', 'svc', 'jobs'])
			for (const file of fs.readdirSync(path.join(root, 'src', folder), { recursive: true }))
				if (/\.[ch]$/.test(file)) for (const [, name] of text(path.join('src', folder, file)).matchAll(/\bERR_(\w+)/g)) used.add(name);
		// hint.c names what is missing; those of SMB are answered there, but for the one that REST is told.
		const own = /^(CONTAINER|QUEUE|TABLE|SHARE)_NOT_FOUND$|^SMB_(?!DELETE_PENDING)/;
		assert.deepEqual(rows.map(([, name]) => name).filter((name) => used.has(name) && !own.test(name) && !sentences.includes(name)), []);
	});
	test('never in production mode', async () => {
		const log = path.join(dir, 'production');
		const production = await startServer({ flags: ['--mode', 'production'], accessLog: log });
		for (const where of ['/nobody/x', '/zaffre/absent/b']) {
			const r = await fetch(new URL(where, production.endpoints.blob));
			assert.ok(r.status >= 400);
			assert.equal(r.headers.get('x-zaffre-hint'), null);
		}
		await production.remove();
		assert.ok(!fs.readFileSync(log, 'utf8').includes('"reason"'));
	});
});

// SPDX-License-Identifier: Apache-2.0
// The test kit of development mode: the clock that leases, visibility, life of messages, SAS and retention follow; reset; named states;
// faults; and that none of it is there in production mode.
import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { BlobServiceClient, generateBlobSASQueryParameters, BlobSASPermissions, StorageSharedKeyCredential } from '@azure/storage-blob';
import { QueueServiceClient } from '@azure/storage-queue';
import { TableClient } from '@azure/data-tables';
import { freePort, removeDir, startServer, tempDir } from '../../lib/server.mjs';
import { Client } from '../../lib/http.mjs';
import { TestKit } from '../../../dist/npm/kit.js';
import { elements, expectError, expectStatus, rejectsWith, uniqueName } from '../../lib/assert.mjs';

const once = { retryOptions: { maxTries: 1 } };

async function startWithKit(flags = [], options = {}) {
	const port = await freePort();
	const server = await startServer({ flags: ['--adminPort', String(port), ...flags], ...options });
	return { server, port, kit: new TestKit(`http://127.0.0.1:${port}`) };
}

for (const [where, flags] of [['on disk', []], ['in memory', ['--inMemoryPersistence']]])
	describe(`test kit, ${where}`, () => {
		let server, kit, port, blobs;
		before(async () => {
			({ server, kit, port } = await startWithKit(flags));
			blobs = BlobServiceClient.fromConnectionString(server.connectionString, once);
		});
		after(() => server.remove());

		test('the clock: leases, visibility, life, SAS and retention follow it, dates of requests do not', async () => {
			const container = blobs.getContainerClient(uniqueName('clock'));
			await container.create();
			const blob = container.getBlockBlobClient('b');
			await blob.upload('x', 1);
			const lease = blob.getBlobLeaseClient();
			await lease.acquireLease(60);
			await rejectsWith(blob.upload('y', 1), 412, 'LeaseIdMissing');
			const queues = QueueServiceClient.fromConnectionString(server.connectionString, once);
			const queue = queues.getQueueClient(uniqueName('clock'));
			await queue.create();
			await queue.sendMessage('hidden', { visibilityTimeout: 300 });
			await queue.sendMessage('short', { messageTimeToLive: 120 });
			const credential = new StorageSharedKeyCredential(server.account, server.key);
			const sas = generateBlobSASQueryParameters(
				{ containerName: container.containerName, blobName: 'b', permissions: BlobSASPermissions.parse('r'), expiresOn: new Date(Date.now() + 600_000) }, credential);
			assert.equal((await fetch(`${blob.url}?${sas}`)).status, 200);
			await blobs.setProperties({ deleteRetentionPolicy: { enabled: true, days: 2 } });
			const gone = container.getBlockBlobClient('gone');
			await gone.upload('z', 1);
			await gone.delete();

			const before = new Date((await kit.state()).now);
			await kit.advance(130);
			await blob.upload('y', 1); // the lease is over, and this request is signed by the wall clock
			assert.deepEqual((await queue.receiveMessages({ numberOfMessages: 10 })).receivedMessageItems, []);
			assert.equal((await fetch(`${blob.url}?${sas}`)).status, 200);
			await kit.advance(3600);
			assert.deepEqual((await queue.receiveMessages({ numberOfMessages: 10 })).receivedMessageItems.map((m) => m.messageText), ['hidden']);
			assert.equal((await fetch(`${blob.url}?${sas}`)).status, 403);
			await gone.undelete();
			await gone.delete();
			await kit.advance(2 * 86400 + 1);
			await gone.undelete().catch(() => {}); // may be swept already; it is gone either way
			assert.equal(await gone.exists(), false);
			const now = new Date((await kit.state()).now);
			assert.ok(now - before >= (130 + 3600 + 2 * 86400) * 1000);
			// The wall clock still judges dates: one from the kit's time is a day off.
			expectError(await new Client(server).get('/', { query: { comp: 'list' }, date: now.toUTCString() }), 403, 'AuthenticationFailed');
		});

		test('the clock runs forward only, and says what it takes', async () => {
			for (const params of ['advance=-1', 'advance=soon', 'set=2001-01-01T00:00:00Z', 'set=x', ''])
				assert.equal((await fetch(`http://127.0.0.1:${port}/test/clock?${params}`, { method: 'POST' })).status, 400, params);
			const target = new Date(new Date((await kit.state()).now).getTime() + 86_400_000);
			const after = await kit.setClock(target);
			assert.ok(Math.abs(new Date(after.now) - target) < 5000);
		});

		test('reset: nothing of any kind is left, and everything can be made again', async () => {
			const name = uniqueName('all');
			const make = async () => {
				await blobs.getContainerClient(name).create();
				await blobs.getContainerClient(name).getBlockBlobClient('b').upload('x', 1);
				await QueueServiceClient.fromConnectionString(server.connectionString).getQueueClient(name).create();
				await TableClient.fromConnectionString(server.connectionString, name, { allowInsecureConnection: true }).createTable();
				expectStatus(await new Client(server, { service: 'file' }).put(`/${name}`, { query: { restype: 'share' } }), 201);
			};
			const names = async () => {
				const found = [];
				for await (const c of blobs.listContainers({ includeDeleted: true })) found.push(c.name);
				for await (const q of QueueServiceClient.fromConnectionString(server.connectionString).listQueues()) found.push(q.name);
				found.push(...elements((await new Client(server, { service: 'file' }).get('/', { query: { comp: 'list', include: 'deleted' } })).text, 'Name'));
				const tables = await new Client(server, { service: 'table' }).get('/Tables', { headers: { accept: 'application/json;odata=nometadata' } });
				return found.concat(JSON.parse(tables.text).value.map((t) => t.TableName));
			};
			await make();
			await blobs.setProperties({ cors: [{ allowedOrigins: '*', allowedMethods: 'GET', allowedHeaders: '*', exposedHeaders: '*', maxAgeInSeconds: 5 }] });
			assert.equal((await fetch(blobs.url, { method: 'OPTIONS', headers: { origin: 'http://x', 'access-control-request-method': 'GET' } })).status, 200);
			await blobs.getContainerClient(name).getBlobLeaseClient().acquireLease(-1);
			await kit.reset();
			assert.deepEqual(await names(), []);
			assert.equal((await fetch(blobs.url, { method: 'OPTIONS', headers: { origin: 'http://x', 'access-control-request-method': 'GET' } })).status, 403);
			await make();
			assert.deepEqual(await names(), [name, name, name, name]);
			await kit.reset(server.account);
			assert.deepEqual(await names(), []);
			await assert.rejects(kit.reset('nosuchaccount'), { status: 400 });
		});

		// How long it takes: bench/reset.mjs. That its work does not grow with what is below: unit/svc/account/test_resource_reset.
		test('reset of 10,000 objects: none is left, and names come back empty, while what was is given back behind it', async () => {
			const client = new Client(server);
			const containers = Array.from({ length: 10 }, (_, i) => `/many${i}`);
			const blob = (i) => `${containers[i % containers.length]}/b${i}`;
			const fill = async (count, body) => {
				for (const c of containers) expectStatus(await client.put(c, { query: { restype: 'container' } }), 201);
				let next = 0;
				await Promise.all(Array.from({ length: 32 }, async () => {
					for (let i; (i = next++) < count;) expectStatus(await client.put(blob(i), { body, headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
				}));
			};
			const listed = async (c) => elements(expectStatus(await client.get(c, { query: { restype: 'container', comp: 'list' } }), 200).text, 'Name');
			await fill(10_000, 'old');
			await kit.reset();
			for (const c of containers) expectError(await client.get(c, { query: { restype: 'container', comp: 'list' } }), 404, 'ContainerNotFound');
			expectError(await client.get(blob(9999)), 404, 'ContainerNotFound');
			// The old ones are still given back: new ones of the same names are others.
			await fill(100, 'new');
			for (const [k, c] of containers.entries()) {
				assert.deepEqual(await listed(c), Array.from({ length: 10 }, (_, i) => `b${k + 10 * i}`).sort());
				assert.equal(expectStatus(await client.get(blob(k)), 200).text, 'new');
			}
			expectError(await client.get(blob(9999)), 404, 'BlobNotFound');
			await kit.reset();
			expectError(await client.get(blob(0)), 404, 'ContainerNotFound');
		});

		test('faults: status, number, operation, delay', async () => {
			const client = new Client(server);
			expectStatus(await client.put('/faults', { query: { restype: 'container' } }), 201);
			const put = () => client.put('/faults/b', { body: 'hello world', headers: { 'x-ms-blob-type': 'BlockBlob' } });
			expectStatus(await put(), 201);
			await kit.fault({ action: 'busy', operation: 'blob_put', count: 2, retryAfter: 7 });
			assert.equal(expectError(await put(), 503, 'ServerBusy').headers['retry-after'], '7');
			expectStatus(await client.get('/faults/b'), 200);
			expectError(await put(), 503, 'ServerBusy');
			expectStatus(await put(), 201);
			assert.equal((await kit.state()).faults[0].hits, 2);
			await kit.clearFaults();
			await kit.fault({ action: '500', operation: 'BLOB_*', count: 1 });
			expectError(await client.get('/faults/b'), 500, 'InternalError');
			expectStatus(await client.get('/faults/b'), 200);
			await kit.clearFaults();
			await kit.fault({ action: 'delay', delayMs: 300, count: 1 });
			const began = performance.now();
			expectStatus(await client.get('/faults/b'), 200);
			assert.ok(performance.now() - began >= 295);
			await kit.clearFaults();
			await kit.fault({ action: 'error', rate: 0.5 });
			let failed = 0;
			for (let i = 0; i < 200; i++) failed += (await client.get('/faults/b')).status === 500;
			assert.ok(failed > 50 && failed < 150, `${failed} of 200`);
			await kit.clearFaults();
			expectStatus(await client.get('/faults/b'), 200);
			for (const rule of [{ action: 'panic' }, {}, { action: 'busy', rate: 2 }, { action: 'delay', delayMs: 1e9 }, { action: 'busy', count: 'x' }])
				await assert.rejects(kit.fault(rule), { status: 400 });
		});

		test('faults: a connection that is reset and an answer that is cut off were done', async () => {
			const client = new Client(server);
			expectStatus(await client.put('/cut', { query: { restype: 'container' } }), 201);
			await kit.fault({ action: 'reset', operation: 'BLOB_PUT', count: 1 });
			await assert.rejects(client.put('/cut/b', { body: 'x'.repeat(1000), headers: { 'x-ms-blob-type': 'BlockBlob' } }));
			assert.equal(expectStatus(await client.get('/cut/b'), 200).body.length, 1000);
			await kit.fault({ action: 'truncate', operation: 'BLOB_GET', count: 2 });
			await assert.rejects(client.get('/cut/b'));
			expectStatus(await client.put('/cut/large', { body: Buffer.alloc(5_000_000, 1), headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
			await assert.rejects(client.get('/cut/large'));
			assert.equal(expectStatus(await client.get('/cut/large'), 200).body.length, 5_000_000);
			await kit.fault({ action: 'truncate', operation: 'BLOB_DELETE', count: 1 });
			await assert.rejects(client.delete('/cut/large'));
			expectError(await client.get('/cut/large'), 404, 'BlobNotFound');
			// The official client tries again by itself, and does not notice.
			await kit.fault({ action: 'reset', operation: 'BLOB_GET', count: 2 });
			const patient = BlobServiceClient.fromConnectionString(server.connectionString, { retryOptions: { maxTries: 4, retryDelayInMs: 10 } });
			assert.equal((await patient.getContainerClient('cut').getBlobClient('b').downloadToBuffer()).length, 1000);
			await kit.clearFaults();
		});

		test('a page of another site may not change anything', async () => {
			const ask = (headers) => fetch(`http://127.0.0.1:${port}/test/reset`, { method: 'POST', headers }).then((r) => r.status);
			assert.equal(await ask({ origin: 'http://example.com' }), 403);
			// Nor one that only looks like ours: the explorer's own page shows its session.
			const origin = `http://127.0.0.1:${port}`;
			const { session } = await (await fetch(`${origin}/api/session`)).json();
			assert.equal(await ask({ origin }), 401);
			assert.equal(await ask({ origin, 'x-zaffre-session': session }), 200);
			assert.equal(await ask({}), 200, 'a program is no page');
		});
	});

describe('named states', () => {
	let server, kit;
	before(async () => {
		({ server, kit } = await startWithKit(['--inMemoryPersistence']));
	});
	after(() => server.remove());

	test('back to a state, as often as wanted, with large blobs, messages and leases', async () => {
		const client = new Client(server);
		const put = (name, body) => client.put(`/states/${name}`, { body, headers: { 'x-ms-blob-type': 'BlockBlob' } });
		expectStatus(await client.put('/states', { query: { restype: 'container' } }), 201);
		const large = Buffer.alloc(3_000_000, 7);
		const first = expectStatus(await put('large', large), 201);
		expectStatus(await put('small', 'one'), 201);
		const queue = QueueServiceClient.fromConnectionString(server.connectionString).getQueueClient('states');
		await queue.create();
		await queue.sendMessage('m');
		await kit.save('base');
		for (let round = 0; round < 3; round++) {
			expectStatus(await put('large', Buffer.alloc(2_000_000, 9)), 201);
			expectStatus(await put('small', 'two'), 201);
			expectStatus(await put('new', Buffer.alloc(1_000_000, 5)), 201);
			const { receivedMessageItems: [m] } = await queue.receiveMessages();
			await queue.deleteMessage(m.messageId, m.popReceipt);
			if (round === 1) await kit.reset();
			await kit.restore('base');
			const back = expectStatus(await client.get('/states/large'), 200);
			assert.ok(back.body.equals(large));
			assert.equal(back.etag, first.etag);
			assert.equal(expectStatus(await client.get('/states/small'), 200).text, 'one');
			expectError(await client.get('/states/new'), 404, 'BlobNotFound');
			assert.equal((await queue.peekMessages()).peekedMessageItems.length, 1);
		}
		assert.deepEqual((await kit.state()).states, ['base']);
		await assert.rejects(kit.restore('other'), { status: 400 });
	});

	test('states while clients write: each commit is in it as a whole', async () => {
		await kit.reset();
		const client = new Client(server);
		expectStatus(await client.put('/race', { query: { restype: 'container' } }), 201);
		await kit.save('empty');
		let stop = false;
		const seen = new Set();
		const writers = Array.from({ length: 8 }, async (_, w) => {
			for (let i = 0; !stop; i++) seen.add((await client.put(`/race/b${w}-${i % 5}`, { body: Buffer.alloc(100_000, i), headers: { 'x-ms-blob-type': 'BlockBlob' } })).status);
		});
		for (let i = 0; i < 20; i++) {
			await kit.restore('empty');
			await new Promise((resolve) => setTimeout(resolve, 10));
		}
		stop = true;
		await Promise.all(writers);
		assert.deepEqual([...seen], [201]);
		await kit.restore('empty');
		assert.equal(expectStatus(await client.get('/race', { query: { restype: 'container', comp: 'list' } }), 200).text.includes('<Blob>'), false);
	});

	test('a server on disk says what it needs for that', async () => {
		const { server: disk, kit: other } = await startWithKit();
		await assert.rejects(other.save('x'), /inMemoryPersistence/);
		assert.equal((await other.state()).states, null);
		await disk.remove();
	});
});

describe('in memory', () => {
	test('nothing on disk, also after kill -9', async () => {
		const tmp = tempDir();
		const cwd = tempDir();
		const server = await startServer({ flags: ['--inMemoryPersistence'], env: { TMPDIR: tmp }, cwd, dataDir: `${cwd}/data` });
		const client = new Client(server);
		expectStatus(await client.put('/mem', { query: { restype: 'container' } }), 201);
		expectStatus(await client.put('/mem/b', { body: Buffer.alloc(4_000_000), headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
		const open = fs.readdirSync(`/proc/${server.pid}/fd`).map((fd) => fs.readlinkSync(`/proc/${server.pid}/fd/${fd}`)).filter((f) => f.startsWith('/') && !f.startsWith('/dev/'));
		assert.deepEqual(open, []);
		await server.kill9();
		assert.deepEqual([fs.readdirSync(tmp), fs.readdirSync(cwd)], [[], []]);
		await server.remove();
		removeDir(tmp);
		removeDir(cwd);
	});
});

describe('--anyAccount', () => {
	test('each worker its own account: apart from each other, emptied one by one', async () => {
		const { server, kit } = await startWithKit(['--anyAccount', '--inMemoryPersistence']);
		const workers = Array.from({ length: 40 }, (_, i) => new Client(server, { account: `worker${i}` }));
		await Promise.all(workers.flatMap((w) => [w, w]).map((w) => w.put('/mine', { query: { restype: 'container' } })));
		await Promise.all(workers.map(async (w, i) => expectStatus(await w.put('/mine/b', { body: `of ${i}`, headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201)));
		for (const [i, w] of workers.entries()) assert.equal(expectStatus(await w.get('/mine/b'), 200).text, `of ${i}`);
		await kit.reset('worker3');
		expectError(await workers[3].get('/mine/b'), 404, 'ContainerNotFound');
		expectStatus(await workers[4].get('/mine/b'), 200);
		await kit.reset();
		expectError(await workers[4].get('/mine/b'), 404, 'ContainerNotFound');
		expectStatus(await new Client(server, { account: 'worker1', key: Buffer.alloc(64).toString('base64') }).get('/mine/b'), 403);
		expectStatus(await new Client(server, { account: 'No-Such' }).get('/mine/b'), 404);
		assert.equal((await fetch(new URL('/health', server.endpoints.blob))).status, 200);
		await server.remove();
	});
});

describe('production mode', () => {
	test('has no test kit', async () => {
		const port = await freePort();
		const server = await startServer({ flags: ['--mode', 'production', '--adminPort', String(port)] });
		for (const [method, path] of [['GET', '/test'], ['POST', '/test/reset'], ['POST', '/test/clock?advance=1'], ['POST', '/test/faults?action=busy']])
			assert.equal((await fetch(`http://127.0.0.1:${port}${path}`, { method })).status, 404, path);
		await server.remove();
	});
});

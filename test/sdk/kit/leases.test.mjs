// SPDX-License-Identifier: Apache-2.0
// What holds what: /leases and `zaffre leases` tell who holds which lease until when; /conflicts and `zaffre conflicts` who lost.
import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { BlobServiceClient } from '@azure/storage-blob';
import { freePort, runProgram, startServer } from '../../lib/server.mjs';
import { Client } from '../../lib/http.mjs';
import { expectStatus } from '../../lib/assert.mjs';
import { TestKit } from '../../../dist/npm/kit.js';

describe('leases', () => {
	let server, kit, client;
	before(async () => {
		const port = await freePort();
		server = await startServer({ flags: ['--adminPort', String(port)] });
		kit = new TestKit(`http://127.0.0.1:${port}`);
		client = new Client(server);
	});
	after(() => server.remove());
	const held = async () => (await kit.leases()).leases;

	test('of containers, blobs, shares and files; who, since when, until when', async () => {
		const blobs = BlobServiceClient.fromConnectionString(server.connectionString);
		const container = blobs.getContainerClient('held');
		await container.create();
		for (const name of ['free', 'dir/leased', 'endless']) await container.getBlockBlobClient(name).upload('x', 1);
		assert.deepEqual(await held(), []);
		const { leaseId } = await container.getBlobClient('dir/leased').getBlobLeaseClient().acquireLease(30);
		const taken = expectStatus(await client.put('/held/endless', { query: { comp: 'lease' }, headers: { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '-1', 'x-ms-client-request-id': 'worker-7', 'user-agent': 'the-worker' } }), 201);
		await container.getBlobLeaseClient().acquireLease(60);
		const file = new Client(server, { service: 'file' });
		expectStatus(await file.put('/shared', { query: { restype: 'share' } }), 201);
		expectStatus(await file.put('/shared/sub', { query: { restype: 'directory' } }), 201);
		expectStatus(await file.put('/shared/sub/f', { headers: { 'x-ms-type': 'file', 'x-ms-content-length': '10' } }), 201);
		expectStatus(await file.put('/shared/sub/f', { query: { comp: 'lease' }, headers: { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '-1' } }), 201);

		const found = Object.fromEntries((await held()).map((l) => [`${l.kind} ${l.container}/${l.name ?? ''}`, l]));
		assert.deepEqual(Object.keys(found).sort(), ['blob held/dir/leased', 'blob held/endless', 'container held/', 'file shared/sub/f']);
		const leased = found['blob held/dir/leased'];
		assert.deepEqual([leased.account, leased.state, leased.lease_id, leased.ip, leased.action], [server.account, 'leased', leaseId, '127.0.0.1', 'acquire']);
		assert.match(leased.user_agent, /storage-blob/);
		assert.ok(Math.abs(new Date(leased.until) - Date.now() - 30_000) < 10_000);
		const endless = found['blob held/endless'];
		assert.deepEqual([endless.until, endless.client_request_id, endless.user_agent, endless.lease_id], [null, 'worker-7', 'the-worker', taken.headers['x-ms-lease-id']]);

		await kit.advance(61);
		assert.deepEqual((await held()).map((l) => l.name), ['endless', 'sub/f']);
		expectStatus(await client.put('/held/endless', { query: { comp: 'lease' }, headers: { 'x-ms-lease-action': 'release', 'x-ms-lease-id': taken.headers['x-ms-lease-id'] } }), 200);
		assert.deepEqual((await held()).map((l) => l.name), ['sub/f']);
	});

	test('many blobs, page by page', async () => {
		expectStatus(await client.put('/many', { query: { restype: 'container' } }), 201);
		const next = { i: 0 };
		await Promise.all(Array.from({ length: 16 }, async () => {
			for (let i; (i = next.i++) < 1200;) {
				expectStatus(await client.put(`/many/b${i}`, { body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
				if (i % 100 === 0) expectStatus(await client.put(`/many/b${i}`, { query: { comp: 'lease' }, headers: { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '-1' } }), 201);
			}
		}));
		assert.equal((await held()).filter((l) => l.container === 'many').length, 12);
	});

	test('the commands ask the running server', async () => {
		const leases = await runProgram(['leases', '--location', server.dataDir]);
		assert.equal(leases.code, 0, leases.stderr);
		assert.equal(JSON.parse(leases.stdout).leases.filter((l) => l.container === 'many').length, 12);
		expectStatus(await client.put('/many/b0', { body: 'y', headers: { 'x-ms-blob-type': 'BlockBlob', 'x-ms-client-request-id': 'loser' } }), 412);
		let conflicts;
		for (let i = 0; i < 20 && !conflicts?.length; i++) conflicts = JSON.parse((await runProgram(['conflicts', '--location', server.dataDir])).stdout);
		assert.deepEqual([conflicts[0].client_request_id, conflicts[0].object, conflicts[0].error], ['loser', '/many/b0', 'LeaseIdMissing']);
		const none = await runProgram(['leases', '--location', '/nowhere']);
		assert.equal(none.code, 1);
		assert.match(none.stderr, /no server runs on \/nowhere/);
	});
});

// SPDX-License-Identifier: Apache-2.0
// Rates of accounts and containers: 503 ServerBusy with Retry-After past them, others not slowed, and the SDK's own retries get through.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { BlobServiceClient, StorageSharedKeyCredential } from '@azure/storage-blob';
import { expectError, expectStatus } from '../../lib/assert.mjs';
import { Client } from '../../lib/http.mjs';
import { accountSas } from '../../lib/sign.mjs';
import { removeDir, runProgram, startServer, tempDir } from '../../lib/server.mjs';

const key = Buffer.alloc(64, 9).toString('base64');
const names = ['free', 'counted', 'sends', 'takes', 'shelves'];
const MIB = 1 << 20;

describe('rates', () => {
	let dir, server;
	const client = (account) => new Client(server, { account, key });
	before(async () => {
		dir = tempDir();
		server = await startServer({ env: { ZAFFRE_ACCOUNTS: names.map((n) => `${n}:${key}`).join(';') } });
		for (const n of names) for (const c of ['ccc', 'slow']) expectStatus(await client(n).put(`/${c}`, { query: { restype: 'container' } }), 201);
		for (const n of names) expectStatus(await client(n).put('/ccc/b', { body: Buffer.alloc(MIB), headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
		fs.writeFileSync(`${dir}/limits`, 'counted requests-per-second 20\nsends ingress-per-second 1MiB\ntakes egress-per-second 1 MiB\nshelves/slow requests-per-second 5\n');
		await server.restart({ flags: ['--accountLimits', `${dir}/limits`] });
	});
	after(async () => {
		await server.remove();
		removeDir(dir);
	});

	test('requests a second: so many are let in, the others are told when to come back, a neighbour is not slowed', async () => {
		const began = Date.now();
		let ok = 0, busy = 0, neighbour = 0, going = true;
		const other = (async () => {
			while (going) {
				expectStatus(await client('free').request('HEAD', '/ccc/b'), 200);
				neighbour++;
			}
		})();
		while (Date.now() - began < 2000) {
			const r = await client('counted').get('/ccc', { query: { restype: 'container' } });
			if (r.status === 200) ok++;
			else {
				expectError(r, 503, 'ServerBusy');
				assert.match(r.text, /Operations per second is over the account limit\./);
				assert.equal(r.headers['retry-after'], '1');
				busy++;
			}
		}
		const seconds = (Date.now() - began) / 1000;
		going = false;
		await other;
		assert.ok(busy > 0);
		// A second's worth at once, then the rate.
		assert.ok(ok >= 20 * (seconds - 0.5) && ok <= 20 * (seconds + 1) + 2, `${ok} in ${seconds} s`);
		assert.ok(neighbour > 100, `${neighbour}`);
	});

	test('bytes in: who sent more waits until they are paid for', async () => {
		const put = () => client('sends').put('/ccc/up', { body: Buffer.alloc(3 * MIB), headers: { 'x-ms-blob-type': 'BlockBlob' } });
		expectStatus(await put(), 201);
		const r = await put();
		expectError(r, 503, 'ServerBusy');
		assert.match(r.text, /Ingress is over the account limit\./);
		assert.equal(r.headers['retry-after'], '2');
		// Reading is refused too, as long as the account is over: it has one limit, not one a direction of a request.
		await sleep(2200);
		expectStatus(await put(), 201);
	});

	test('bytes out, with the SDK: its retries follow Retry-After and all of it arrives', async () => {
		const sdk = new BlobServiceClient(server.endpoints.blob.replace(/\/[^/]+$/, '/takes'), new StorageSharedKeyCredential('takes', key), { retryOptions: { maxTries: 6, retryDelayInMs: 200 } });
		const began = Date.now();
		for (let i = 0; i < 4; i++) assert.equal((await sdk.getContainerClient('ccc').getBlockBlobClient('b').downloadToBuffer()).length, MIB);
		assert.ok(Date.now() - began > 1500, 'four MiB at one a second');
	});

	test('a container of its own rate; others of the account have none', async () => {
		const list = (c) => client('shelves').get(`/${c}`, { query: { restype: 'container', comp: 'list' } });
		const slow = await Promise.all(Array.from({ length: 30 }, () => list('slow')));
		assert.ok(slow.filter((r) => r.status === 200).length <= 7);
		assert.ok(slow.filter((r) => r.status === 503).length >= 23);
		for (const r of await Promise.all(Array.from({ length: 30 }, () => list('ccc')))) expectStatus(r, 200);
	});

	test('who is not let in uses nothing up', async () => {
		await sleep(1100);
		for (let i = 0; i < 60; i++) expectError(await new Client(server, { account: 'counted', key: Buffer.alloc(64, 1).toString('base64') }).get('/ccc', { query: { restype: 'container' } }), 403, 'AuthenticationFailed');
		expectStatus(await client('counted').get('/ccc', { query: { restype: 'container' } }), 200);
		const sas = accountSas('counted', key, { sp: 'r', now: server.now() });
		expectStatus(await client('counted').get('/ccc/b', { sas }), 200);
	});

	test('a line that is wrong prevents the start and names the line', async () => {
		for (const line of ['counted requests-per-second 0', 'counted requests-per-second many', 'counted/slow shared-key off', 'counted egress-per-second 5TiB', 'counted speed 5']) {
			fs.writeFileSync(`${dir}/bad`, `# first\n${line}\n`);
			const r = await runProgram(['--location', `${dir}/d`, '--accountLimits', `${dir}/bad`, '--blobPort', '0', '--queuePort', '0', '--tablePort', '0', '--filePort', '0'], { env: { ZAFFRE_ACCOUNTS: `counted:${key}` } });
			assert.equal(r.code, 1, line);
			assert.match(r.stderr, /line 2/);
		}
	});
});

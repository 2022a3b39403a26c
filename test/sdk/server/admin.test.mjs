// SPDX-License-Identifier: Apache-2.0
// The admin listener: metrics that count what was asked, health and readiness, the newest conflicts; `zaffre health`; --readyFile.
import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { freePort, removeDir, runProgram, startServer, tempDir } from '../../lib/server.mjs';
import { Client } from '../../lib/http.mjs';
import { expectStatus } from '../../lib/assert.mjs';

describe('admin listener', () => {
	let server, client, port, dir;
	before(async () => {
		port = await freePort();
		dir = tempDir();
		server = await startServer({ flags: ['--adminPort', String(port), '--readyFile', path.join(dir, 'ready.json')] });
		client = new Client(server);
	});
	after(async () => {
		await server.remove();
		removeDir(dir);
	});
	const get = async (name) => {
		const response = await fetch(`http://127.0.0.1:${port}${name}`);
		return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
	};
	// The value of one line of /metrics; NaN if it is not there.
	const metric = async (line) => Number((await get('/metrics')).text.split('\n').find((l) => l.startsWith(`${line} `))?.slice(line.length + 1) ?? NaN);

	test('counts requests by operation and status, errors by code, and bytes', async () => {
		expectStatus(await client.request('PUT', '/metrics', { query: { restype: 'container' } }), 201);
		for (let i = 0; i < 3; i++) expectStatus(await client.request('PUT', '/metrics/b', { headers: { 'x-ms-blob-type': 'BlockBlob' }, body: 'x'.repeat(100) }), 201);
		for (let i = 0; i < 2; i++) expectStatus(await client.request('GET', '/metrics/none'), 404);
		const labels = 'service="Blob",operation="BLOB_PUT"';
		assert.equal(await metric(`zaffre_requests_total{${labels},status="2xx"}`), 3);
		assert.equal(await metric(`zaffre_request_body_bytes_total{${labels}}`), 300);
		assert.equal(await metric(`zaffre_request_seconds_count{${labels}}`), 3);
		assert.equal(await metric(`zaffre_request_seconds_bucket{${labels},le="+Inf"}`), 3);
		assert.equal(await metric('zaffre_errors_total{error="BLOB_NOT_FOUND",code="BlobNotFound",status="404"}'), 2);
		assert.ok((await metric('zaffre_commit_transactions_total')) >= 4);
		assert.ok((await metric('zaffre_disk_syncs_total')) >= 1);
	});

	test('the text is what Prometheus reads: every sample has a type, no name twice', async () => {
		const { status, type, text } = await get('/metrics');
		assert.equal(status, 200);
		assert.match(type, /^text\/plain; version=0\.0\.4/);
		const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map((m) => m[1]);
		assert.equal(new Set(types).size, types.length);
		for (const line of text.trim().split('\n').filter((l) => !l.startsWith('#'))) {
			const name = /^([a-z_]+)(\{[^}]*\})? [0-9.e+-]+$/.exec(line)?.[1];
			assert.ok(name, line);
			assert.ok(types.includes(name.replace(/_(bucket|sum|count)$/, '')) || types.includes(name), line);
		}
	});

	test('says who lost which race', async () => {
		expectStatus(await client.request('PUT', '/metrics/raced', { headers: { 'x-ms-blob-type': 'BlockBlob' }, body: '1' }), 201);
		const lost = await client.request('PUT', '/metrics/raced', { headers: { 'x-ms-blob-type': 'BlockBlob', 'if-match': '"0x1"', 'x-ms-client-request-id': 'the-loser' }, body: '2' });
		expectStatus(lost, 412);
		// It is counted when the answer is out, which another loop may see first.
		let newest;
		for (let i = 0; i < 100 && !newest; i++) [newest] = JSON.parse((await get('/conflicts')).text);
		assert.equal(newest.status, 412);
		assert.equal(newest.error, 'ConditionNotMet');
		assert.equal(newest.operation, 'BLOB_PUT');
		assert.equal(newest.object, '/metrics/raced');
		assert.equal(newest.client_request_id, 'the-loser');
		assert.ok(!JSON.stringify(newest).includes('sig'));
	});

	test('health, readiness, stats; everything else is 404', async () => {
		assert.deepEqual([(await get('/healthz')).status, (await get('/readyz')).status], [200, 200]);
		assert.ok(JSON.parse((await get('/stats')).text).requests > 0);
		assert.equal((await get('/nothing')).status, 404);
		assert.ok((await fetch(`http://127.0.0.1:${port}/metrics`, { method: 'POST', body: 'x' })).status >= 400);
	});

	test('`zaffre health` asks it, and says no where nobody listens', async () => {
		const up = await runProgram(['health', '--adminPort', String(port)]);
		assert.deepEqual([up.code, up.stdout], [0, 'ready\n']);
		const byBlob = await runProgram(['health', '--blobPort', new URL(server.endpoints.blob).port]);
		assert.equal(byBlob.code, 0);
		const down = await runProgram(['health', '--adminPort', String(await freePort())]);
		assert.equal(down.code, 1);
		assert.match(down.stderr, /nothing listens/);
	});

	test('--readyFile has pid, endpoints and a connection string that works', () => {
		const ready = JSON.parse(fs.readFileSync(path.join(dir, 'ready.json'), 'utf8'));
		assert.equal(ready.pid, server.pid);
		assert.equal(ready.connectionString, server.connectionString);
		assert.equal(ready.endpoints.admin, `http://127.0.0.1:${port}`);
		assert.equal(fs.statSync(path.join(dir, 'ready.json')).mode & 0o777, 0o600);
	});
});

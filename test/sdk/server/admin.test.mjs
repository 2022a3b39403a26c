// SPDX-License-Identifier: Apache-2.0
// The admin listener: metrics that count what was asked, health and readiness, the newest conflicts; `zaffre health`; --readyFile.
import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import http from 'node:http';
import net from 'node:net';
import { once } from 'node:events';
import { spawn, spawnSync } from 'node:child_process';
import { BlobServiceClient } from '@azure/storage-blob';
import { QueueServiceClient } from '@azure/storage-queue';
import { TableClient } from '@azure/data-tables';
import { ShareServiceClient } from '@azure/storage-file-share';
import { setTimeout as sleep } from 'node:timers/promises';
import { bin, freePort, removeDir, runProgram, startServer, tempDir } from '../../lib/server.mjs';
import { Client } from '../../lib/http.mjs';
import { expectStatus } from '../../lib/assert.mjs';
import { Files, fileClient } from '../../lib/file.mjs';
import { askAdmin } from '../../lib/admin.mjs';
import { threadSeconds } from '../../lib/beside.mjs';
import { filledTable } from '../../lib/table.mjs';
import { RawConnection } from '../../lib/http.mjs';

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

	test('counts leases that are held, by kind, until they end', async () => {
		const leases = async () => (await get('/metrics')).text.match(/^zaffre_leases\{.*$/gm).map((line) => Number(line.split(' ')[1]));
		const lease = async (target, action, headers = {}, query = {}) =>
			expectStatus(await client.put(target, { query: { comp: 'lease', ...query }, headers: { 'x-ms-lease-action': action, ...headers } }), action === 'acquire' ? 201 : action === 'break' ? 202 : 200).headers['x-ms-lease-id'];
		// A request is counted when its answer is out, which another loop may see first.
		const settle = async (...expected) => {
			let now;
			for (let i = 0; i < 100; i++) {
				now = await leases();
				if (String(now) === String(expected)) return;
				await sleep(10);
			}
			assert.deepEqual(now, expected);
		};
		assert.match((await get('/metrics')).text, /^zaffre_leases\{kind="container"\} 0\nzaffre_leases\{kind="blob"\} 0\nzaffre_leases\{kind="share"\} 0\nzaffre_leases\{kind="file"\} 0$/m);
		for (const name of ['a', 'b', 'c', 'd']) expectStatus(await client.put(`/metrics/lease-${name}`, { headers: { 'x-ms-blob-type': 'BlockBlob' }, body: name }), 201);
		const container = await lease('/metrics', 'acquire', { 'x-ms-lease-duration': 60 }, { restype: 'container' });
		const a = await lease('/metrics/lease-a', 'acquire', { 'x-ms-lease-duration': 15 });
		await lease('/metrics/lease-b', 'acquire', { 'x-ms-lease-duration': -1 });
		const c = await lease('/metrics/lease-c', 'acquire', { 'x-ms-lease-duration': -1 });
		const d = await lease('/metrics/lease-d', 'acquire', { 'x-ms-lease-duration': 60 });
		await settle(1, 4, 0, 0);
		// The same one again, renewed, and under another id: still one.
		await lease('/metrics/lease-a', 'renew', { 'x-ms-lease-id': a });
		await lease('/metrics/lease-c', 'change', { 'x-ms-lease-id': c, 'x-ms-proposed-lease-id': '11111111-1111-4111-8111-111111111111' });
		await settle(1, 4, 0, 0);
		await lease('/metrics/lease-b', 'break', { 'x-ms-lease-break-period': 0 });
		await settle(1, 3, 0, 0);
		expectStatus(await client.delete('/metrics/lease-c', { headers: { 'x-ms-lease-id': '11111111-1111-4111-8111-111111111111' } }), 202);
		await settle(1, 2, 0, 0);
		await lease('/metrics/lease-d', 'release', { 'x-ms-lease-id': d });
		await settle(1, 1, 0, 0);
		await server.advanceClock(20); // the one of 15 seconds is over
		await settle(1, 0, 0, 0);
		await lease('/metrics', 'release', { 'x-ms-lease-id': container }, { restype: 'container' });
		await settle(0, 0, 0, 0);
		const files = new Files(fileClient(server));
		expectStatus(await files.share('leased'), 201);
		await files.put('/leased/f', Buffer.alloc(10));
		const file = new Client(server, { service: 'file' });
		expectStatus(await file.put('/leased', { query: { comp: 'lease', restype: 'share' }, headers: { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': 60 } }), 201);
		expectStatus(await file.put('/leased/f', { query: { comp: 'lease' }, headers: { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': -1 } }), 201);
		await settle(0, 0, 1, 1);
	});

	test('counts conflicts by what was in the way', async () => {
		const kinds = async () => Object.fromEntries([...(await get('/metrics')).text.matchAll(/^zaffre_conflicts_total\{kind="(\w+)"\} (\d+)$/gm)].map((m) => [m[1], Number(m[2])]));
		const before = await kinds();
		const blob = { 'x-ms-blob-type': 'BlockBlob' };
		expectStatus(await client.put('/metrics/fought', { headers: blob, body: 'x' }), 201);
		expectStatus(await client.put('/metrics', { query: { restype: 'container' } }), 409);
		expectStatus(await client.put('/metrics/fought', { headers: { ...blob, 'if-match': '"0x1"' }, body: 'x' }), 412);
		expectStatus(await client.put('/metrics/fought', { query: { comp: 'lease' }, headers: { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': 15 } }), 201);
		expectStatus(await client.put('/metrics/fought', { headers: blob, body: 'x' }), 412);
		expectStatus(await client.put('/metrics/fought', { headers: { 'x-ms-blob-type': 'AppendBlob' } }), 412);
		expectStatus(await client.put('/metrics/page', { headers: { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': 512 } }), 201);
		expectStatus(await client.put('/metrics/page', { query: { comp: 'appendblock' }, body: 'x' }), 409);
		let now;
		for (let i = 0; i < 100; i++) {
			now = await kinds();
			if (now.state > before.state) break;
			await sleep(10);
		}
		assert.deepEqual(now, { condition: before.condition + 1, lease: before.lease + 2, exists: before.exists + 1, open: before.open, state: before.state + 1 });
	});

	test('`zaffre stats` tells the stored bytes of an account with a quota of them exactly, and of no other', async () => {
		const limits = path.join(dir, 'quota');
		const key = Buffer.alloc(64, 5).toString('base64');
		fs.writeFileSync(limits, 'counted stored-bytes 1GiB\n');
		const own = await startServer({ flags: ['--accountLimits', limits], env: { ZAFFRE_ACCOUNTS: `counted:${key};other:${key}` } });
		for (const account of ['counted', 'other']) {
			const client = new Client(own, { account, key });
			expectStatus(await client.put('/box', { query: { restype: 'container' } }), 201);
			expectStatus(await client.put('/box/b', { body: Buffer.alloc(3 << 20, 1), headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
		}
		const { accounts } = JSON.parse((await runProgram(['stats', '--json', '--location', own.dataDir])).stdout);
		const [counted, other] = ['counted', 'other'].map((name) => accounts.find((a) => a.account === name));
		assert.ok(counted.storedBytes >= 3 << 20 && counted.storedBytes < (3 << 20) + 65536, String(counted.storedBytes));
		assert.equal('storedBytes' in other, false);
		const table = (await runProgram(['stats', '--location', own.dataDir])).stdout;
		assert.match(table, /^counted +\d+ +0 +(\d+|-) +3\.0 MiB  /m);
		await own.remove();
	});
	test('`zaffre stats --count` tells what every account holds of each service, and /stats and /metrics repeat it with its time', async () => {
		const key = Buffer.alloc(64, 6).toString('base64'), adminPort = await freePort();
		const own = await startServer({ flags: ['--adminPort', String(adminPort), '--blobVersioning'], env: { ZAFFRE_ACCOUNTS: `full:${key};empty:${key}` } });
		const connection = own.connectionString.replaceAll('devstoreaccount1', 'full').replace(/AccountKey=[^;]*/, `AccountKey=${key}`);
		const blobs = BlobServiceClient.fromConnectionString(connection).getContainerClient('box');
		await blobs.create();
		for (let i = 0; i < 2100; i++) if (i % 100 === 0) await Promise.all(Array.from({ length: 100 }, (_, j) => blobs.uploadBlockBlob(`blob${i + j}`, 'x'.repeat(1000), 1000)));
		const pages = blobs.getPageBlobClient('pages');
		await pages.create(1 << 20);
		await pages.uploadPages(Buffer.alloc(4096, 1), 0, 4096);
		await blobs.uploadBlockBlob('blob0', 'y'.repeat(1000), 1000); // a version more, and no blob more
		await blobs.getBlockBlobClient('staged').stageBlock(Buffer.from('id').toString('base64'), Buffer.alloc(5000), 5000);
		await blobs.deleteBlob('blob1');
		const queue = QueueServiceClient.fromConnectionString(connection).getQueueClient('box');
		await queue.create();
		for (const text of ['a', 'b', 'c'.repeat(9000)]) await queue.sendMessage(text);
		const table = TableClient.fromConnectionString(connection, 'box', { allowInsecureConnection: true });
		await table.createTable();
		for (let i = 0; i < 5; i++) await table.createEntity({ partitionKey: 'p', rowKey: String(i), ...Object.fromEntries(Array.from({ length: 4 }, (_, n) => [`v${n}`, 'z'.repeat(30000)])) });
		const shares = ShareServiceClient.fromConnectionString(connection).getShareClient('box');
		await shares.create();
		await shares.getDirectoryClient('folder').create();
		await shares.getDirectoryClient('folder').getFileClient('f').uploadData(Buffer.alloc(70000, 1));
		const counted = JSON.parse((await runProgram(['stats', '--count', '--json', '--location', own.dataDir])).stdout).accounts;
		const holds = counted.find((a) => a.account === 'full').holds;
		const { containers, blobs: blobCount, queues, messages, tables, entities, shares: shareCount, files, objects, fileBytes } = holds;
		assert.deepEqual({ containers, blobs: blobCount, queues, messages, tables, entities, shares: shareCount, files, objects, fileBytes }, { containers: 1, blobs: 2100, queues: 1, messages: 3, tables: 1, entities: 5, shares: 1, files: 1, objects: 2109, fileBytes: 70000 });
		// Content, and some hundred bytes of name and properties each; the deleted blob and the version before are there as versions.
		const content = 2101 * 1000 + 4096 + 5000;
		assert.ok(holds.blobBytes > content && holds.blobBytes < content + 2103 * 500, String(holds.blobBytes));
		assert.ok(holds.messageBytes > 9002 && holds.messageBytes < 9002 + 3 * 500, String(holds.messageBytes));
		assert.ok(holds.entityBytes > 5 * 4 * 30000 && holds.entityBytes < 5 * 4 * 62000, String(holds.entityBytes));
		assert.equal(holds.bytes, holds.blobBytes + holds.messageBytes + holds.entityBytes + holds.fileBytes);
		assert.equal(counted.find((a) => a.account === 'empty').holds.objects, 0);
		assert.ok(Math.abs(Date.parse(holds.counted) - Date.now()) < 60_000 && holds.countedSecondsAgo < 60, holds.counted);
		const shown = JSON.parse(await (await fetch(`http://127.0.0.1:${adminPort}/stats`)).text()).accounts.find((a) => a.account === 'full').holds;
		assert.deepEqual([shown.objects, shown.bytes], [objects, holds.bytes]);
		const metrics = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
		assert.match(metrics, /^zaffre_stored_objects\{account="full",service="Blob"\} 2100$/m);
		assert.match(metrics, new RegExp(`^zaffre_stored_bytes\\{account="full",service="Table"\\} ${holds.entityBytes}$`, 'm'));
		assert.match(metrics, /^zaffre_stored_counted_seconds\{account="full"\} \d{10}$/m);
		// A count begins after it was asked for: what was acknowledged before is in it.
		await blobs.uploadBlockBlob('later', 'x', 1);
		const table2 = (await runProgram(['stats', '--count', '--location', own.dataDir])).stdout;
		assert.match(table2, /^full +\d+ +\d+ +2110 +[\d.]+ MiB  counted 0 s ago$/m);
		await own.remove();
	});

	test('counting takes a fifth of a core at most while it goes on, and not again at once', async () => {
		const own = await startServer({});
		const counting = async () => JSON.parse((await askAdmin(own, '/count/progress')).text);
		await filledTable(own, 'many', 20_000);
		await own.restart();
		let first;
		while (!(first = await counting()).done) await sleep(10);
		assert.equal(first.objects, 20_000);
		const spent = threadSeconds(own, 'count');
		// It rests after each page four times as long as the page took; the last page has no rest that counts, and threads begin.
		assert.ok(spent < 0.3 * first.seconds, `${spent} s of CPU in ${first.seconds} s`);
		for (const end = Date.now() + 3000; Date.now() < end; await sleep(100)) assert.equal((await (new Client(own)).put(`/again${Date.now()}`, { query: { restype: 'container' } })).status, 201);
		assert.deepEqual([(await counting()).run, threadSeconds(own, 'count') - spent < 0.05], [1, true], 'the next one is a minute away');
		await own.remove();
	});

	test('`zaffre stats`: a table, JSON, and again and again', async () => {
		const table = await runProgram(['stats', '--location', server.dataDir]);
		assert.equal(table.code, 0, table.stderr);
		assert.match(table.stdout, /^zaffre \d\S*, up 0 d 00:\d\d:\d\d, \d+ connections, \d+ requests/);
		for (const line of [/^commits    [1-9]\d* transactions in [1-9]\d* groups \([\d.]+ each\), sync [\d.]+ ms, \d+ wait$/m, /^memory     [\d.]+ MiB resident; requests hold /m, /^disk       [\d.]+ \wiB free; extents /m, /^leases     \d+ blob, /m, /^conflicts  [1-9]\d* condition, [1-9]\d* lease, /m, /^Blob +[1-9]\d* +[1-9]\d* +0 +[\d.]+ +[\d.]+ /m, /^  BLOB_PUT +[1-9]\d* /m, /^devstoreaccount1 +[1-9]\d* +[1-9]\d* +(\d+|-) +(\S+ \S+|-)  (counted \d+ s ago|not counted yet)$/m])
			assert.match(table.stdout, line);
		const json = await runProgram(['stats', '--json', '--location', server.dataDir]);
		assert.equal(json.code, 0, json.stderr);
		const stats = JSON.parse(json.stdout);
		const blob = stats.services.find((s) => s.service === 'Blob');
		const put = blob.operations.find((o) => o.operation === 'BLOB_PUT');
		assert.ok(put.p50Ms > 0 && put.p99Ms >= put.p50Ms && put.requests >= put.refused + 3, JSON.stringify(put));
		assert.equal(blob.requests, blob.operations.reduce((sum, o) => sum + o.requests, 0));
		assert.ok(stats.memory.residentBytes > 1 << 20 && stats.disk.freeBytes > 0 && stats.disk.short === false);
		assert.ok(stats.commits.groupSize >= 1 && stats.commits.syncMs > 0);
		const watch = spawn(bin, ['stats', '--watch', '1', '--json', '--location', server.dataDir], { stdio: ['ignore', 'pipe', 'inherit'] });
		let seen = '';
		await new Promise((resolve) => watch.stdout.setEncoding('utf8').on('data', (text) => (seen += text).split('"version"').length > 3 && resolve()));
		watch.kill('SIGKILL');
		assert.equal((await runProgram(['stats', '--watch', '0', '--location', server.dataDir])).code, 2);
		assert.equal((await runProgram(['stats', '--location', dir])).code, 1);
	});

	test('`zaffre health` asks it, and says no where nobody listens', async () => {
		const up = await runProgram(['health', '--adminPort', String(port)]);
		assert.deepEqual([up.code, up.stdout], [0, 'ready\n']);
		const byBlob = await runProgram(['health', '--blobPort', new URL(server.endpoints.blob).port]);
		assert.equal(byBlob.code, 0);
		const down = await runProgram(['health', '--adminPort', String(await freePort())]);
		assert.equal(down.code, 1);
		assert.match(down.stderr, /nothing listens/);
		const silent = net.createServer((socket) => socket.end('220 mail\r\n')).listen(0, '127.0.0.1');
		await once(silent, 'listening');
		const other = await runProgram(['health', '--blobPort', String(silent.address().port)]);
		silent.close();
		assert.deepEqual([other.code, other.stdout, /does not answer HTTP \(if it serves HTTPS, give its --cert/.test(other.stderr)], [1, '', true], other.stderr);
	});

	test('`zaffre health --location` finds the server as the other commands do, whatever its ports', async () => {
		const up = await runProgram(['health', '--location', server.dataDir]);
		assert.deepEqual([up.code, up.stdout], [0, 'ready\n'], up.stderr);
		const queue = await runProgram(['health', '--services', 'queue', '--queuePort', new URL(server.endpoints.queue).port, '--blobPort', String(await freePort())]);
		assert.equal(queue.code, 0, queue.stderr);
		const nobody = await runProgram(['health', '--location', dir, '--blobPort', String(await freePort())]);
		assert.deepEqual([nobody.code, /nothing listens/.test(nobody.stderr)], [1, true]);
	});

	test('--readyFile has pid, endpoints and a connection string that works', () => {
		const ready = JSON.parse(fs.readFileSync(path.join(dir, 'ready.json'), 'utf8'));
		assert.equal(ready.pid, server.pid);
		assert.equal(ready.connectionString, server.connectionString);
		assert.equal(ready.endpoints.admin, `http://127.0.0.1:${port}`);
		assert.equal(fs.statSync(path.join(dir, 'ready.json')).mode & 0o777, 0o600);
	});
});

test('/readyz is 503 while the server drains', async () => {
	const port = await freePort();
	const server = await startServer({ flags: ['--adminPort', String(port)] });
	try {
		const client = new Client(server);
		expectStatus(await client.put('/drain', { query: { restype: 'container' } }), 201);
		const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
		const ready = () =>
			new Promise((resolve, reject) => {
				http.get({ host: '127.0.0.1', port, path: '/readyz', agent }, (r) => {
					let text = '';
					r.setEncoding('utf8').on('data', (part) => (text += part));
					r.once('end', () => resolve([r.statusCode, text]));
				}).once('error', reject);
			});
		assert.deepEqual(await ready(), [200, 'ready\n']);
		// A request whose body is on its way keeps the server from ending.
		const connection = await RawConnection.open(server.ports.blob);
		const bytes = client.bytes('PUT', '/drain/slow', { body: Buffer.alloc(100_000), headers: { 'x-ms-blob-type': 'BlockBlob' } });
		connection.write(bytes.subarray(0, 50_000));
		// Asked before the end and answered behind it: the request is there, its last byte is not.
		const asking = await RawConnection.open(port);
		asking.write('GET /readyz HTTP/1.1\r\nHost: x\r\n');
		await sleep(200);
		process.kill(server.pid, 'SIGTERM');
		await sleep(300);
		const answer = await asking.exchange(Buffer.from('\r\n'), 'GET');
		assert.equal(answer.status, 503);
		assert.equal(answer.body.toString(), 'ending\n');
		const put = await connection.exchange(bytes.subarray(50_000), 'PUT');
		assert.equal(put.status, 201);
		agent.destroy();
		await asking.end();
		await connection.end();
		assert.equal((await server.exited).code, 0);
	} finally {
		await server.remove();
	}
});

const run = (program, ...args) => {
	const r = spawnSync(program, args, { encoding: 'utf8' });
	if (r.status !== 0) throw new Error(`${program} ${args.join(' ')}: ${r.stderr || r.error}`);
};

test('/readyz is 503 while the disk is nearly full', { skip: process.getuid() !== 0 ? 'needs root for a small disk' : !fs.existsSync('/dev/loop-control') && 'no loop devices' }, async () => {
	const dir = tempDir('zaffre-full-');
	const mounted = path.join(dir, 'mounted');
	fs.mkdirSync(mounted);
	fs.closeSync(fs.openSync(path.join(dir, 'image'), 'w'));
	fs.truncateSync(path.join(dir, 'image'), 256 << 20);
	run('mkfs.ext4', '-q', path.join(dir, 'image'));
	run('mount', '-o', 'loop', path.join(dir, 'image'), mounted);
	let server;
	try {
		const port = await freePort();
		server = await startServer({ dataDir: path.join(mounted, 'data'), flags: ['--adminPort', String(port)] });
		const ready = async () => {
			const r = await fetch(`http://127.0.0.1:${port}/readyz`);
			return [r.status, await r.text()];
		};
		assert.deepEqual(await ready(), [200, 'ready\n']);
		const { bavail, bsize } = fs.statfsSync(mounted);
		run('fallocate', '-l', String((bavail - 1000) * bsize), path.join(mounted, 'others'));
		assert.deepEqual(await ready(), [503, 'the disk is nearly full\n']);
		for (const where of [['--adminPort', String(port)], ['--location', server.dataDir]]) {
			const health = await runProgram(['health', ...where]);
			assert.equal(health.code, 1);
			assert.match(health.stderr, where[0] === '--location' ? /not ready: the disk is nearly full/ : /not ready: it answers HTTP\/1.1 503/);
		}
		const r = await new Client(server).put('/full', { query: { restype: 'container' } });
		assert.ok(r.status >= 500, `a write was taken: ${r.status}`);
		assert.match((await runProgram(['stats', '--location', server.dataDir])).stdout, /NEARLY FULL/);
		fs.rmSync(path.join(mounted, 'others'));
		assert.deepEqual(await ready(), [200, 'ready\n']);
	} finally {
		if (server) await server.remove();
		run('umount', mounted);
		removeDir(dir);
	}
});

// SPDX-License-Identifier: Apache-2.0
// All attacks at once: floods of KeyUpdates, silent connections, lists that nobody reads, scans whose sender is gone,
// uploads that announce much, block lists of 50,000 blocks. Meanwhile another account puts and gets 4 KiB, and is
// answered; memory stays within its budget; afterwards nothing is left of it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startAttackers } from '../lib/attackers.mjs';
import { Client } from '../lib/http.mjs';
import { buildProgram } from '../lib/native.mjs';
import { figuresText, percentiles, startNoise } from '../lib/neighbours.mjs';
import { WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY, removeDir, scale, startServer, tempDir } from '../lib/server.mjs';
import { accountSas } from '../lib/sign.mjs';
import { portOf } from './wire.mjs';

const QUIET = 'quiet';
const QUIET_KEY = Buffer.from('the quiet account of this server, 32+').toString('base64');
const BUDGET_MIB = 128;
const BEFORE_S = 3;
const WARM_S = 3;
const SIEGE_S = 7;
const LIST_MIB = 4; // 50,000 rows of some 80 bytes
const GROWTH_MIB = 8; // what segments grow by at a time
const QUIET_MACHINE = process.env.ZAFFRE_QUIET === '1';

let dir, server, flood, mine, quiet;
before(async () => {
	if (scale < 1) return;
	dir = tempDir();
	const [cert, key] = [path.join(dir, 'cert.pem'), path.join(dir, 'key.pem')];
	execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=localhost', '-keyout', key, '-out', cert], { stdio: 'ignore' });
	flood = buildProgram('test/http/tls_flood.c', ['-lssl', '-lcrypto']);
	server = await startServer({
		flags: ['--silent', '--cert', cert, '--key', key, '--requestMemory', String(BUDGET_MIB), '--maxConnections', '400', '--maxConnectionsPerAddress', '400'],
		env: { ZAFFRE_ACCOUNTS: `${WELL_KNOWN_ACCOUNT}:${WELL_KNOWN_KEY};${QUIET}:${QUIET_KEY}` },
	});
	mine = new Client(server);
	quiet = new Client(server, { account: QUIET, key: QUIET_KEY });
	await fill();
});
after(async () => {
	await server?.remove();
	if (dir) removeDir(dir);
});

async function fill() {
	assert.equal((await quiet.put('/quiet', { query: { restype: 'container' } })).status, 201);
	assert.equal((await mine.put('/long', { query: { restype: 'container' } })).status, 201);
	const note = 'x'.repeat(3000);
	let next = 0;
	await Promise.all(Array.from({ length: 16 }, async () => {
		while (next < 1000) {
			const put = await mine.put(`/long/blob-${next++}`, { body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob', 'x-ms-meta-note': note } });
			assert.equal(put.status, 201);
		}
	}));
	const table = new Client(server, { service: 'table' });
	const json = { 'content-type': 'application/json', accept: 'application/json;odata=nometadata' };
	assert.equal((await table.post('/Tables', { body: JSON.stringify({ TableName: 'scans' }), headers: json })).status, 201);
	for (let batch = 0; batch < 100; batch++) {
		const b = `batch_${batch}`;
		let body = `--${b}\r\nContent-Type: multipart/mixed; boundary=c${b}\r\n\r\n`;
		for (let i = 0; i < 100; i++)
			body += `--c${b}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nPOST ${table.endpoint}/scans HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/json;odata=nometadata\r\nPrefer: return-no-content\r\n\r\n${JSON.stringify({ PartitionKey: `p${batch}`, RowKey: String(i), n: i })}\r\n`;
		body += `--c${b}--\r\n--${b}--\r\n`;
		assert.equal((await table.post('/$batch', { body, headers: { 'content-type': `multipart/mixed; boundary=${b}` } })).status, 202);
	}
}

const rssMib = () => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${server.pid}/status`, 'latin1'))[1]) / 1024;
// Connections; how many files the engine has open is its own matter.
const sockets = () => fs.readdirSync(`/proc/${server.pid}/fd`).filter((fd) => {
	try {
		return fs.readlinkSync(`/proc/${server.pid}/fd/${fd}`).startsWith('socket:');
	} catch {
		return false;
	}
}).length;
// Of a folder of the data directory: segments has bytes of blobs and what is reserved for them, db has rows.
const diskMib = (folder) => fs.readdirSync(path.join(server.dataDir, folder))
	.reduce((blocks, name) => blocks + (fs.statSync(path.join(server.dataDir, folder, name), { throwIfNoEntry: false })?.blocks ?? 0), 0) / 2048;

// PUT and GET in turns. A refused one (ServerBusy) counts as an answer, and is counted.
async function measure(seconds) {
	const took = { put: [], get: [] };
	let busy = 0;
	let most = 0;
	const body = Buffer.alloc(4096, 7);
	for (const end = performance.now() + seconds * 1000; performance.now() < end;)
		for (const kind of ['put', 'get']) {
			const name = `/quiet/b${took.put.length % 50}`;
			const began = performance.now();
			const answer = await (kind === 'put' ? quiet.put(name, { body, headers: { 'x-ms-blob-type': 'BlockBlob' } }) : quiet.get(`/quiet/b${(took.put.length - 1) % 50}`));
			took[kind].push(performance.now() - began);
			if (answer.status === 503) busy++;
			else assert.equal(answer.status, kind === 'put' ? 201 : 200, answer.text);
			most = Math.max(most, rssMib());
			await sleep(2);
		}
	return { put: percentiles(took.put), get: percentiles(took.get), busy, most };
}

async function eventually(what, seconds, holds) {
	for (const end = Date.now() + seconds * 1000; !(await holds()); await sleep(100)) assert.ok(Date.now() < end, `never came: ${what}`);
}

// Everything at once; all of it has ended when this returns.
async function besiege(seconds, container) {
	const sas = accountSas(WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY, {}).toString();
	const noise = await startNoise(server, { account: WELL_KNOWN_ACCOUNT, key: WELL_KNOWN_KEY, kind: 'lists', clients: 4, container });
	const siege = startAttackers({
		flood,
		ports: { blob: portOf(server.endpoints.blob), table: portOf(server.endpoints.table) },
		paths: {
			list: `/${WELL_KNOWN_ACCOUNT}/long?restype=container&comp=list&include=metadata&${sas}`,
			scan: `/${WELL_KNOWN_ACCOUNT}/scans()?$filter=n%20eq%201000000&${sas}`,
			upload: `/${WELL_KNOWN_ACCOUNT}/long/NAME?${sas}`,
		},
	});
	await sleep(1000); // all of them are under way
	const figures = await measure(seconds);
	return { ...figures, counts: await siege.stop(), lists: await noise.stop() };
}

test('under all attacks at once another account is answered, and nothing is left afterwards', { skip: scale < 1 ? 'times and memory mean nothing under a sanitizer' : false }, async (t) => {
	const alone = await measure(BEFORE_S);
	const connections = sockets();
	const calm = () => eventually('connections are closed', 30, () => sockets() <= connections + 4);
	// A short one first: tables in memory and caches grow once, and are no leak.
	const fresh = rssMib();
	await besiege(WARM_S, 'warm');
	await calm();
	await sleep(1000);
	const before = { rss: rssMib(), segments: diskMib('segments'), db: diskMib('db') };
	const during = await besiege(SIEGE_S, 'noise');
	t.diagnostic(`alone: PUT ${figuresText(alone.put)}; GET ${figuresText(alone.get)}`);
	t.diagnostic(`under siege: PUT ${figuresText(during.put)}; GET ${figuresText(during.get)}; ${during.busy} told to come again`);
	t.diagnostic(`attacks: ${JSON.stringify(during.counts)}, ${during.lists.done} lists of 50,000; memory ${fresh.toFixed(0)} MiB at first, ${before.rss.toFixed(0)} before, ${during.most.toFixed(0)} at most`);
	for (const [kind, count] of Object.entries(during.counts)) assert.ok(count > 3, `${kind}: only ${count}, that is no attack`);
	assert.ok(during.lists.done > 0, 'no list was committed: no neighbour made noise');
	// The bar is 50 ms on a machine that has nothing else to do (ZAFFRE_QUIET=1 says that this is one). Elsewhere other
	// work shares its cores with attackers, meter and server, and the bound is a second, however slow it is alone. It
	// catches a loop that is held: with no bound on control messages and reads of a TLS stream (io/tls.c) p99 of PUT was
	// 2078 ms and of GET 1228 ms, where 80 and 56 are usual on the same busy machine.
	for (const kind of ['put', 'get']) {
		const [median, tail] = QUIET_MACHINE ? [50, 50] : [100, 1000];
		assert.ok(during[kind].p50 < median && during[kind].p99 < tail, `${kind}: ${figuresText(during[kind])}; alone: ${figuresText(alone[kind])}`);
		assert.ok(during[kind].count > SIEGE_S, `only ${during[kind].count} of ${kind} were answered`);
	}
	assert.ok(during.busy < (during.put.count + during.get.count) / 4, `${during.busy} were told to come again`);
	assert.ok(during.most < before.rss + BUDGET_MIB * 2, `${during.most.toFixed(0)} MiB at most, ${before.rss.toFixed(0)} before`);
	await calm();
	await eventually('memory is given back', 30, async () => {
		await quiet.get('/quiet/b0');
		return rssMib() <= before.rss + 64;
	});
	// What uploads announced (100 MiB each) takes no space: what they sent is less than what goes to the disk at a time
	// (budget.test.mjs has those that send more).
	await eventually('uploads take no space', 30, () => diskMib('segments') <= before.segments + GROWTH_MIB);
	// Lists replace lists. Until old rows are compacted away all are there, and a compaction has what it reads and what it
	// writes at once.
	const rows = 2 * (before.db + LIST_MIB * (during.lists.done + 4));
	await eventually('old rows are given back', 30, () => diskMib('db') <= rows);
	const last = await measure(1);
	assert.equal(last.busy, 0);
	t.diagnostic(`segments ${before.segments.toFixed(0)} MiB before, ${diskMib('segments').toFixed(0)} after; rows ${before.db.toFixed(0)} before, ${diskMib('db').toFixed(0)} after, at most ${rows.toFixed(0)} allowed`);
	t.diagnostic(`afterwards: PUT ${figuresText(last.put)}; ${rssMib().toFixed(0)} MiB, ${sockets()} connections and listeners (${connections} before)`);
});

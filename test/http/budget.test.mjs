// SPDX-License-Identifier: Apache-2.0
// What peers can hold of the server, and what others notice of it: slots of connections, memory, workers, event loops.
// One account (or nobody at all) does the holding, another asks for little and must be answered.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { expectStatus } from '../lib/assert.mjs';
import { Client, send } from '../lib/http.mjs';
import { beside, inParallel, openSink, patience, sleep, threadSeconds, timesOf } from '../lib/beside.mjs';
import { figuresText, percentiles } from '../lib/neighbours.mjs';
import { freePort, startServer, scale, scaled } from '../lib/server.mjs';
import { accountSas } from '../lib/sign.mjs';
import { Wire, portOf } from './wire.mjs';

const REGION_MIB = 64;
const TABLES = scaled(10_000, 5000);
const OTHER = 'other';
const OTHER_KEY = Buffer.from('another account of this server, 32+').toString('base64');
const ACCOUNTS = (server) => ({ ZAFFRE_ACCOUNTS: `${server.account}:${server.key};${OTHER}:${OTHER_KEY}` });

const rssMib = (server) => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${server.pid}/status`, 'latin1'))[1]) / 1024;
// Looks again until it holds; what never holds is a failure that says what was waited for.
async function eventually(what, holds, seconds = 20) {
	for (const end = Date.now() + seconds * 1000 * patience; !(await holds()); await sleep(20)) assert.ok(Date.now() < end, `never came: ${what}`);
}
// The largest value seen until it has not grown for half a second.
async function highest(measure) {
	let most = measure();
	for (let calm = 0; calm < 10; calm++) {
		await sleep(50);
		const now = measure();
		if (now > most) [most, calm] = [now, 0];
	}
	return most;
}

describe('slots', () => {
	let server;
	before(async () => (server = await startServer({ flags: ['--maxConnections', '60', '--maxConnectionsPerAddress', '60', '--threads', '2'] })));
	after(() => server?.remove());

	test('silent connections make room for who has something to ask', async () => {
		const port = portOf(server.endpoints.blob);
		const silent = await Promise.all(Array.from({ length: 60 }, () => Wire.open(port)));
		const began = Date.now();
		const wire = await Wire.open(port);
		await wire.send('GET /health HTTP/1.1\r\nHost: h\r\n\r\n');
		await wire.until((text) => text.includes('"ok"'), 'the answer');
		assert.ok(Date.now() - began < 5000 * patience, `answered after ${Date.now() - began} ms`);
		assert.ok(silent.some((w) => w.socket.readyState !== 'open' || w.error), 'nobody made room');
		await Promise.all([...silent, wire].map((w) => w.destroy()));
	});
});

describe('an address', () => {
	let server;
	before(async () => (server = await startServer({ flags: ['--maxConnectionsPerAddress', '10'] })));
	after(() => server?.remove());

	test('has a bound of its own', async () => {
		const port = portOf(server.endpoints.blob);
		const wires = await Promise.all(Array.from({ length: 20 }, () => Wire.open(port)));
		const isOpen = (wire) => wire.socket.readyState === 'open';
		await eventually('ten are closed', () => wires.filter(isOpen).length <= 10);
		for (const wire of wires.filter(isOpen)) await wire.send('GET /health HTTP/1.1\r\nHost: h\r\n\r\n').catch(() => {});
		const answered = () => wires.filter((wire) => wire.text.includes('"ok"')).length;
		await eventually('those that are open are answered', () => answered() === wires.filter(isOpen).length);
		assert.equal(answered(), 10);
		await Promise.all(wires.map((wire) => wire.destroy()));
		// The server hears of their leaving one by one.
		await eventually('an answer after the others left', async () => {
			const again = await Wire.open(port);
			await again.send('GET /health HTTP/1.1\r\nHost: h\r\n\r\n').catch(() => {});
			await eventually('an answer or an end', () => again.text.includes('"ok"') || !isOpen(again));
			await again.destroy();
			return again.text.includes('"ok"');
		});
	});
});

describe('memory', () => {
	let server, client, sas;
	const LIMIT_MIB = 128;
	before(async () => {
		const adminPort = await freePort();
		server = await startServer({ flags: ['--requestMemory', String(LIMIT_MIB), '--threads', '2', '--silent', '--adminPort', String(adminPort)] });
		server.adminPort = adminPort;
		client = new Client(server);
		sas = accountSas(server.account, server.key, {}).toString();
		assert.equal((await client.put('/many', { query: { restype: 'container' } })).status, 201);
		const note = 'x'.repeat(3000);
		await inParallel(3000, 16, async (i) => {
			const put = await client.put(`/many/blob-${i}`, { body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob', 'x-ms-meta-note': note } });
			assert.equal(put.status, 201);
		});
	});
	after(() => server?.remove());

	const heldMib = async () => Number(/^zaffre_request_memory_bytes (\d+)/m.exec((await send('GET', new URL(`http://127.0.0.1:${server.adminPort}/metrics`), {})).text)[1]) / 1048576;

	// Under a sanitizer the process keeps what was freed: there only what requests hold is looked at.
	test('lists that nobody reads stay within the budget, others are answered, and it goes back', async () => {
		const before = rssMib(server);
		const port = portOf(server.endpoints.blob);
		const list = `GET /devstoreaccount1/many?restype=container&comp=list&include=metadata&${sas} HTTP/1.1\r\nHost: h\r\nx-ms-version: 2021-06-08\r\n\r\n`;
		const lazy = [];
		let most = 0;
		let held = 0;
		for (let i = 0; i < 60; i++) {
			const wire = await Wire.open(port);
			wire.socket.pause();
			await wire.send(list);
			lazy.push(wire);
			most = Math.max(most, rssMib(server));
			held = Math.max(held, await heldMib());
		}
		most = Math.max(most, await highest(() => rssMib(server)));
		await eventually('lists are held', async () => (held = Math.max(held, await heldMib())) > LIMIT_MIB / 4);
		let answer;
		for (let i = 0; i < 20; i++) {
			answer = await client.get('/many/blob-1');
			if (answer.status !== 503) break;
			assert.equal(answer.code, 'ServerBusy');
			assert.equal(answer.headers['retry-after'], '1');
			await sleep(300);
		}
		assert.equal(answer.status, 200);
		/* The budget, what the workers and loops are just making (a list each), and the allocator's slack. */
		assert.ok(held < LIMIT_MIB * 1.5, `${held} MiB were held at most`);
		if (scale >= 1) assert.ok(most < before + LIMIT_MIB * 2.5, `${before} MiB before, ${most} MiB at most`);
		await Promise.all(lazy.map((wire) => wire.destroy()));
		await eventually('requests hold next to nothing', async () => (await client.get('/many/blob-1'), (await heldMib()) < 8));
		if (scale < 1) return;
		let left;
		for (let i = 0; i < 40 && (left = rssMib(server)) > before + 80; i++) {
			await sleep(250);
			await client.get('/many/blob-1');
		}
		assert.ok(left <= before + 80, `${before} MiB before, ${left} MiB after`);
	});
});

describe('disk', () => {
	let server;
	before(async () => {
		server = await startServer({ flags: ['--threads', '1', '--silent'] });
		assert.equal((await new Client(server).put('/uploads', { query: { restype: 'container' } })).status, 201);
	});
	after(() => server?.remove());

	const allocatedMib = () => {
		let blocks = 0;
		for (const entry of fs.readdirSync(server.dataDir, { recursive: true, withFileTypes: true }))
			if (entry.isFile()) blocks += fs.statSync(`${entry.path}/${entry.name}`, { throwIfNoEntry: false })?.blocks ?? 0;
		return blocks / 2048;
	};

	// Begins so many uploads, waits until `wanted` MiB are taken, then leaves them: how many MiB were taken meanwhile.
	async function abandon(uploads, sent, wanted = 0) {
		const port = portOf(server.endpoints.blob);
		const sas = accountSas(server.account, server.key, {}).toString();
		const before = allocatedMib();
		const sinks = [];
		for (let i = 0; i < uploads; i++) {
			const sink = await openSink(port);
			sink.write(`PUT /devstoreaccount1/uploads/b${i}?${sas} HTTP/1.1\r\nHost: h\r\nx-ms-blob-type: BlockBlob\r\nx-ms-version: 2021-06-08\r\nContent-Length: ${100 * 1024 * 1024}\r\n\r\n`);
			sink.write(Buffer.alloc(sent));
			sinks.push(sink);
		}
		if (wanted) await eventually(`${wanted} MiB are reserved`, async () => allocatedMib() - before > wanted);
		const during = (await highest(allocatedMib)) - before;
		for (const sink of sinks) sink.destroy();
		if (process.env.ZAFFRE_TEST_FIGURES) console.error(`${((uploads * sent) / 1048576).toFixed(0)} MiB sent, ${during.toFixed(0)} MiB reserved`);
		return during;
	}

	test('uploads that announce much and send little reserve little', async () => {
		const uploads = 400;
		const sent = 200 * 1024;
		const during = await abandon(uploads, sent);
		assert.ok(during < (uploads * sent * 5) / 1048576 + 64, `${((uploads * sent) / 1048576).toFixed(0)} MiB sent, ${during.toFixed(0)} MiB reserved`);
	});

	// It goes back in regions when something is reclaimed; one free region is kept, and one has what was just deleted.
	test('what abandoned uploads reserved is given back', async () => {
		const before = allocatedMib();
		await abandon(100, 1200 * 1024, 2 * REGION_MIB);
		const client = new Client(server);
		await eventually('what was reserved is given back', async () => {
			assert.equal((await client.put('/uploads/last', { body: Buffer.alloc(1 << 20), headers: { 'x-ms-blob-type': 'BlockBlob' } })).status, 201);
			assert.equal((await client.request('DELETE', '/uploads/last')).status, 202);
			return allocatedMib() <= before + 2 * REGION_MIB;
		});
	});
});

// As many as LIMIT_ACCOUNT_UPLOADS may be on their way: what is begun holds a buffer and a place on the disk.
describe('uploads', () => {
	let server, other;
	const MOST = 4096;
	before(async () => {
		server = await startServer({ flags: ['--threads', '2', '--silent'] });
		await server.stop();
		await server.restart({ flags: ['--threads', '2', '--silent'], env: ACCOUNTS(server) });
		other = new Client(server, { account: OTHER, key: OTHER_KEY });
		for (const client of [new Client(server), other]) expectStatus(await client.put('/uploads', { query: { restype: 'container' } }), 201);
	});
	after(() => server?.remove());

	test('that are begun have a bound an account, and make room when they end', async () => {
		const port = portOf(server.endpoints.blob);
		const sas = accountSas(server.account, server.key, {}).toString();
		const head = (name) => `PUT /devstoreaccount1/uploads/${name}?${sas} HTTP/1.1\r\nHost: h\r\nx-ms-blob-type: BlockBlob\r\nx-ms-version: 2021-06-08\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n\r\n`;
		const begin = async (name) => {
			const wire = await Wire.open(port);
			await wire.send(head(name));
			return wire;
		};
		// "100 Continue" says that it was let in.
		const begun = [];
		await inParallel(MOST, 64, async (i) => {
			const wire = await begin(`b${i}`);
			begun.push(wire);
			await wire.until((text) => /^HTTP\/1.1 \d+ /.test(text), 'an answer', 20_000 * patience);
		});
		assert.deepEqual([...new Set(begun.map((wire) => wire.statuses[0]))], [100]);
		const late = await begin('late');
		await late.until((text) => text.includes('</Error>'), 'a refusal');
		assert.equal(late.statuses[0], 503);
		assert.match(late.text, /x-ms-error-code: ServerBusy\r\n/i);
		assert.match(late.text, /Retry-After: 1\r\n/i);
		await late.destroy();
		const body = Buffer.alloc(1_000_000, 7);
		const put = (client) => client.put('/uploads/whole', { body, headers: { 'x-ms-blob-type': 'BlockBlob' } });
		expectStatus(await put(other), 201);
		expectStatus(await new Client(server).put('/uploads/short', { body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
		for (const wire of begun.splice(0, 10)) await wire.destroy();
		await eventually('there is room again', async () => (await put(new Client(server))).status === 201);
		await Promise.all(begun.map((wire) => wire.destroy()));
	});
});

describe('workers and loops', () => {
	let server, mine, other;
	const askQuiet = () => other.get('/quiet/b');
	before(async () => {
		server = await startServer({ flags: ['--threads', '1', '--silent'] });
		await server.stop();
		await server.restart({ flags: ['--threads', '1', '--silent'], env: ACCOUNTS(server) });
		mine = new Client(server, { service: 'table' });
		other = new Client(server, { account: OTHER, key: OTHER_KEY });
		assert.equal((await other.put('/quiet', { query: { restype: 'container' } })).status, 201);
		assert.equal((await other.put('/quiet/b', { body: 'x'.repeat(4096), headers: { 'x-ms-blob-type': 'BlockBlob' } })).status, 201);
	});
	after(() => server?.remove());

	async function fillTable(table, name, rows) {
		const json = { 'content-type': 'application/json', accept: 'application/json;odata=nometadata' };
		assert.equal((await table.post('/Tables', { body: JSON.stringify({ TableName: name }), headers: json })).status, 201);
		await inParallel(rows / 100, 8, async (batch) => {
			const b = `batch_${batch}`;
			let body = `--${b}\r\nContent-Type: multipart/mixed; boundary=c${b}\r\n\r\n`;
			for (let i = 0; i < 100; i++)
				body += `--c${b}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nPOST ${table.endpoint}/${name} HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/json;odata=nometadata\r\nPrefer: return-no-content\r\n\r\n${JSON.stringify({ PartitionKey: `p${batch}`, RowKey: String(i), n: i })}\r\n`;
			body += `--c${b}--\r\n--${b}--\r\n`;
			assert.equal((await table.post('/$batch', { body, headers: { 'content-type': `multipart/mixed; boundary=${b}` } })).status, 202);
		});
	}

	const SCAN = { query: { $filter: 'n eq 1000000' }, headers: { accept: 'application/json;odata=nometadata' } };
	const requestText = (client, path, options) => {
		const { headers, url } = client.prepare('GET', path, options);
		return `GET ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\n${Object.entries(headers).map(([n, v]) => `${n}: ${v}\r\n`).join('')}\r\n`;
	};
	test('scans whose clients are gone are dropped', async () => {
		await fillTable(mine, 'scans', 60_000);
		const port = portOf(server.endpoints.table);
		const text = requestText(mine, '/scans()', SCAN);
		const worked = () => threadSeconds(server, 'worker-long'); // a loop's first milliseconds of a scan are spent either way
		const began = worked();
		const one = await Wire.open(port);
		await one.send(text.repeat(10));
		await one.until((t) => t.split('"value":[]').length > 10, 'the answers of ten scans');
		await one.destroy();
		const cost = (worked() - began) / 10;
		const start = worked();
		for (let i = 0; i < 200; i++) {
			const wire = await Wire.open(port);
			await wire.send(text);
			await wire.destroy();
		}
		const asked = Date.now();
		const answer = await mine.get('/scans()', SCAN);
		assert.equal(answer.status, 200);
		const waited = Date.now() - asked;
		const burned = worked() - start;
		if (process.env.ZAFFRE_TEST_FIGURES) console.error(`scan ${cost.toFixed(3)} s, 200 abandoned ${burned.toFixed(2)} s, next waited ${waited} ms`);
		assert.ok(burned < 200 * cost * 0.1, `one scan costs a worker ${cost.toFixed(3)} s, 200 abandoned ones burned ${burned.toFixed(2)} s`);
		assert.ok(waited < 3000 * patience, `the next scan was answered after ${waited} ms`);
	});

	// Both need workers. Without turns the other's scan waits for all that were asked before it, some sixty times as long.
	test('an account that asks for much does not keep the scans of another waiting', async () => {
		const otherTable = new Client(server, { service: 'table', account: OTHER, key: OTHER_KEY });
		await fillTable(otherTable, 'scans', 100 * scaled(600, 200));
		const scan = () => otherTable.get('/scans()', SCAN);
		const each = 10;
		const one = (await timesOf(3, () => mine.get('/scans()', SCAN)))[2];
		const wires = await Promise.all(Array.from({ length: 120 }, () => Wire.open(portOf(server.endpoints.table))));
		for (const wire of wires) await wire.send(requestText(mine, '/scans()', SCAN).repeat(each));
		await eventually('scans are under way', () => wires.some((wire) => wire.text.includes('"value":[]')));
		const took = await timesOf(10, scan);
		const answered = wires.reduce((n, wire) => n + wire.statuses.length, 0);
		await Promise.all(wires.map((wire) => wire.destroy()));
		if (process.env.ZAFFRE_TEST_FIGURES) console.error(`a scan alone ${one.toFixed(1)} ms, another account's beside many ${figuresText(percentiles(took))}`);
		// In its turn: behind what the workers just do, one scan each.
		assert.ok(took[5] < 15 * one, `half within ${took[5].toFixed(1)} ms, the slowest ${took[9].toFixed(1)} ms; a scan of the other account alone ${one.toFixed(1)} ms`);
		assert.ok(answered < wires.length * (each - 1), `${answered} scans were answered: too few waited`);
	});

	test('long lists and tag searches do not hold an event loop', async () => {
		const blob = new Client(server);
		assert.equal((await blob.put('/held', { query: { restype: 'container' } })).status, 201);
		await inParallel(4000, 16, async (i) => {
			const put = await blob.put(`/held/blob-${String(i).padStart(5, '0')}`, { body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob', 'x-ms-meta-a': 'b'.repeat(2000), 'x-ms-tags': `k=v${i % 7}&other=w` } });
			assert.equal(put.status, 201);
		});
		const port = portOf(server.endpoints.blob);
		const sas = accountSas(server.account, server.key, {}).toString();
		const find = `GET /devstoreaccount1?comp=blobs&where=${encodeURIComponent("other='w' AND k='none'")}&${sas} HTTP/1.1\r\nHost: h\r\nx-ms-version: 2021-06-08\r\n\r\n`;
		const list = `GET /devstoreaccount1/held?restype=container&comp=list&include=metadata&${sas} HTTP/1.1\r\nHost: h\r\nx-ms-version: 2021-06-08\r\n\r\n`;
		for (const asked of [{ port, text: find, count: 64 }, { port, text: list, count: 20 }]) {
			const took = await beside(server, [asked], askQuiet);
			assert.ok(took.p90 < 150 * patience && took.max < 800 * patience, figuresText(took));
		}
	});

	// Lists of 50,000 blocks that are not there: read, and refused.
	test('long documents do not hold an event loop', async () => {
		const port = portOf(server.endpoints.blob);
		const sas = accountSas(server.account, server.key, {}).toString();
		const xml = `<BlockList>${'<Latest>bm90IHRoZXJl</Latest>'.repeat(50_000)}</BlockList>`;
		const put = (close) => `PUT /devstoreaccount1/held/document?comp=blocklist&${sas} HTTP/1.1\r\nHost: h\r\nx-ms-version: 2021-06-08\r\n${close}Content-Length: ${xml.length}\r\n\r\n${xml}`;
		const took = await beside(server, Array.from({ length: 4 }, () => ({ port, text: put(''), last: put('Connection: close\r\n'), count: 8 })), askQuiet);
		assert.ok(took.p90 < 150 * patience && took.max < 800 * patience, figuresText(took));
	});

	// Searches through all tables that find none.
	test('searches through many tables do not hold an event loop', async () => {
		const json = { 'content-type': 'application/json', accept: 'application/json;odata=nometadata', prefer: 'return-no-content' };
		await inParallel(TABLES, 32, async (i) => {
			assert.equal((await mine.post('/Tables', { body: JSON.stringify({ TableName: `many${i}` }), headers: json })).status, 204);
		});
		const none = Array.from({ length: 15 }, (_, i) => `TableName eq 'none${i}'`).join(' or ');
		const search = { query: { $filter: none }, headers: { accept: 'application/json;odata=nometadata' } };
		expectStatus(await mine.get('/Tables', search), 200);
		const port = portOf(server.endpoints.table);
		const took = await beside(server, Array.from({ length: 8 }, () => ({ port, text: requestText(mine, '/Tables', search), count: 20 })), askQuiet);
		assert.ok(took.p90 < 150 * patience && took.max < 800 * patience, figuresText(took));
	});
});

// SPDX-License-Identifier: Apache-2.0
// Cheap requests for blobs in very many pieces: page ranges and their differences, block lists, the first bytes of such
// a blob, and all of it. What takes long is done by a worker or in turns; another account's small GETs are answered.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { expectStatus } from '../lib/assert.mjs';
import { beside, inParallel, load, openSink, patience, threadSeconds } from '../lib/beside.mjs';
import { Client } from '../lib/http.mjs';
import { figuresText } from '../lib/neighbours.mjs';
import { WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY, scaled, startServer } from '../lib/server.mjs';
import { accountSas } from '../lib/sign.mjs';
import { portOf } from './wire.mjs';

const OTHER_KEY = Buffer.from('another account of this server, 32+').toString('base64');
const MIB = 1 << 20;
const BLOCKS = 50_000;
const MANY_CHUNKS = scaled(10_000, 2000);
const DENSE_CHUNKS = 12; // every other page of them: more ranges than an answer of one of several has
const id = (i) => Buffer.from(String(i).padStart(64, 'i')).toString('base64'); // the longest there are

let server, blob, other, port, sas;
const askQuiet = () => other.get('/quiet/b');
before(async () => {
	server = await startServer({ flags: ['--threads', '1', '--silent'], env: { ZAFFRE_ACCOUNTS: `${WELL_KNOWN_ACCOUNT}:${WELL_KNOWN_KEY};other:${OTHER_KEY}` } });
	blob = new Client(server);
	other = new Client(server, { account: 'other', key: OTHER_KEY });
	port = portOf(server.endpoints.blob);
	sas = accountSas(server.account, server.key, {}).toString();
	expectStatus(await other.put('/quiet', { query: { restype: 'container' } }), 201);
	expectStatus(await other.put('/quiet/b', { body: 'x'.repeat(4096), headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
	expectStatus(await blob.put('/long', { query: { restype: 'container' } }), 201);
});
after(() => server?.remove());

const get = (name, query = '', headers = '') => `GET /devstoreaccount1/long/${name}?${query}${query && '&'}${sas} HTTP/1.1\r\nHost: h\r\nx-ms-version: 2021-06-08\r\n${headers}\r\n`;
const each = (text, count, connections = 4) => Array.from({ length: connections }, () => ({ port, text, count }));
function expectAnswered(took) {
	assert.ok(took.p90 < 150 * patience && took.max < 800 * patience, figuresText(took));
}

const writePage = async (name, first, value) => expectStatus(await blob.put(`/long/${name}`, { query: { comp: 'page' }, headers: { 'x-ms-page-write': 'update', 'x-ms-range': `bytes=${first}-${first + 511}` }, body: Buffer.alloc(512, value) }), 201);
const createPages = async (name, chunks) => expectStatus(await blob.put(`/long/${name}`, { headers: { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': chunks * MIB } }), 201);

// One page in each chunk, then a snapshot, then another page in each.
test('differences of page blobs', async () => {
	await createPages('pages', MANY_CHUNKS);
	await inParallel(MANY_CHUNKS, 16, (i) => writePage('pages', i * MIB, 1));
	const taken = await blob.put('/long/pages', { query: { comp: 'snapshot' } });
	expectStatus(taken, 201);
	const prevsnapshot = taken.headers['x-ms-snapshot'];
	await inParallel(MANY_CHUNKS, 16, (i) => writePage('pages', i * MIB + 7 * 512, 8));
	const one = await blob.get('/long/pages', { query: { comp: 'pagelist', prevsnapshot } });
	expectStatus(one, 200);
	assert.equal(one.text.match(/<PageRange>/g).length, MANY_CHUNKS);
	assert.ok(!one.text.includes('<ClearRange>'));
	expectAnswered(await beside(server, each(get('pages', `comp=pagelist&prevsnapshot=${encodeURIComponent(prevsnapshot)}`), 10), askQuiet));
});

// Where all of it lies is looked up before the first byte is sent; who asked leaves with that.
test('the first bytes of a page blob', async () => {
	const one = await blob.get('/long/pages', { headers: { range: `bytes=0-${MIB - 1}` } });
	expectStatus(one, 206);
	assert.deepEqual([one.body[0], one.body[512], one.body[7 * 512]], [1, 0, 8]);
	const before = { loop: threadSeconds(server, 'loop'), workers: threadSeconds(server, 'worker-long') };
	for (let i = 0; i < 20; i++) {
		const sink = await openSink(port);
		const first = new Promise((resolve) => sink.once('data', resolve));
		sink.write(get('pages'));
		assert.match((await first).toString('latin1'), /^HTTP\/1.1 200 /);
		sink.destroy();
	}
	const [loop, workers] = [threadSeconds(server, 'loop') - before.loop, threadSeconds(server, 'worker-long') - before.workers];
	if (process.env.ZAFFRE_TEST_FIGURES) console.error(`CPU of the loop ${loop.toFixed(3)} s, of workers ${workers.toFixed(3)} s`);
	assert.ok(workers > loop / 2, `the loop worked ${loop.toFixed(3)} s, workers only ${workers.toFixed(3)} s`);
});

test('all ranges of a page blob for a client that knows no markers', async () => {
	const pages = (DENSE_CHUNKS * MIB) / 1024;
	await createPages('dense', DENSE_CHUNKS);
	await inParallel(pages, 32, (i) => writePage('dense', i * 1024, 1));
	const one = await blob.get('/long/dense', { query: { comp: 'pagelist' }, version: '2019-12-12' });
	expectStatus(one, 200);
	assert.equal(one.text.match(/<PageRange>/g).length, pages);
	expectAnswered(await beside(server, each(get('dense', 'comp=pagelist').replace('2021-06-08', '2019-12-12'), 20), askQuiet));
});

// 50,000 blocks of one byte: four different ones, each many times.
test('lists of 50,000 blocks', async () => {
	for (let i = 0; i < 4; i++) expectStatus(await blob.put('/long/blocks', { query: { comp: 'block', blockid: id(i) }, body: Buffer.alloc(1, 65 + i) }), 201);
	const xml = `<BlockList>${Array.from({ length: BLOCKS }, (_, i) => `<Latest>${id(i % 4)}</Latest>`).join('')}</BlockList>`;
	expectStatus(await blob.put('/long/blocks', { query: { comp: 'blocklist' }, body: xml }), 201);
	const one = await blob.get('/long/blocks', { query: { comp: 'blocklist' } });
	expectStatus(one, 200);
	assert.equal(one.text.match(/<Block>/g).length, BLOCKS);
	expectAnswered(await beside(server, each(get('blocks', 'comp=blocklist'), 8), askQuiet, 1.5)); // to read it and to write it
});

// The loop reads the blocks itself, and lets others in meanwhile.
test('all bytes of a blob of 50,000 blocks', async () => {
	const one = await blob.get('/long/blocks');
	expectStatus(one, 200);
	assert.equal(one.text, 'ABCD'.repeat(BLOCKS / 4));
	const took = await load(server, each(get('blocks'), 4, 8), askQuiet);
	// One of the eight reads for 60 ms if nobody stops it; others come in after a turn of each.
	assert.ok(took.during > took.loop / 0.06, `${took.during} answers while the loop worked ${took.loop.toFixed(2)} s; ${figuresText(took)}`);
});

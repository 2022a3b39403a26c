// SPDX-License-Identifier: Apache-2.0
// What an account notices of another one that commits block lists of 50,000 blocks, as fast as four clients can: little
// more than of four clients that send as many bytes as plain blobs. Both are measured in one run, so that the bound holds
// on a busy machine as well.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client } from '../lib/http.mjs';
import { figuresText, measure, startNoise } from '../lib/neighbours.mjs';
import { WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY, scale, startServer } from '../lib/server.mjs';

const QUIET = 'quiet';
const QUIET_KEY = Buffer.from('the quiet account of this server, 32+').toString('base64');
const SECONDS = 4;

let server, quiet;
before(async () => {
	server = await startServer({ flags: ['--silent'], env: { ZAFFRE_ACCOUNTS: `${WELL_KNOWN_ACCOUNT}:${WELL_KNOWN_KEY};${QUIET}:${QUIET_KEY}` } });
	quiet = new Client(server, { account: QUIET, key: QUIET_KEY });
	assert.equal((await quiet.put('/quiet', { query: { restype: 'container' } })).status, 201);
});
after(() => server?.remove());

async function putBeside(kind) {
	const noise = await startNoise(server, { account: WELL_KNOWN_ACCOUNT, key: WELL_KNOWN_KEY, kind, container: kind });
	const figures = await measure(SECONDS, async (i) => {
		const put = await quiet.put(`/quiet/b${i % 50}`, { body: Buffer.alloc(4096, i), headers: { 'x-ms-blob-type': 'BlockBlob' } });
		assert.equal(put.status, 201, put.text);
	});
	const counts = await noise.stop();
	if (process.env.ZAFFRE_TEST_FIGURES) console.error(`PUT 4 KiB beside ${kind}: ${figuresText(figures)}; the others: ${counts.done} done, ${counts.refused} refused`);
	return { figures, counts };
}

test('lists of 50,000 blocks disturb another account no more than plain blobs of their size', { skip: scale < 1 ? 'times mean nothing under a sanitizer' : false }, async () => {
	const blobs = await putBeside('blobs');
	const lists = await putBeside('lists');
	assert.ok(lists.counts.done >= 4, `only ${lists.counts.done} lists were committed: nothing was disturbed`);
	// Before lists were worked out ahead the median was 15 times that of the plain blobs, and 50 to 130 ms.
	const bound = Math.max(10, 3 * blobs.figures.p50);
	assert.ok(lists.figures.p50 < bound, `beside blobs: ${figuresText(blobs.figures)}; beside lists: ${figuresText(lists.figures)}`);
	const tail = Math.max(60, 5 * blobs.figures.p90);
	assert.ok(lists.figures.p90 < tail, `beside blobs: ${figuresText(blobs.figures)}; beside lists: ${figuresText(lists.figures)}`);
});

test('racing lists: every one is whole, one order explains them', async () => {
	const client = new Client(server);
	const id = (i) => Buffer.from(`r${String(i).padStart(6, '0')}`).toString('base64');
	assert.equal((await client.put('/races', { query: { restype: 'container' } })).status, 201);
	for (let i = 0; i < 8; i++) assert.equal((await client.put('/races/b', { query: { comp: 'block', blockid: id(i) }, body: Buffer.alloc(16, i) })).status, 201);
	const entries = 2000; // enough to be planned ahead
	const body = (i) => `<BlockList>${`<Latest>${id(i)}</Latest>`.repeat(entries)}</BlockList>`;
	const all = `<BlockList>${Array.from({ length: entries }, (_, i) => `<Latest>${id(i % 8)}</Latest>`).join('')}</BlockList>`;
	assert.equal((await client.put('/races/b', { query: { comp: 'blocklist' }, body: all })).status, 201);
	for (let round = 0; round < 6; round++) {
		const { etag } = await client.head('/races/b');
		const put = (i) => client.put('/races/b', { query: { comp: 'blocklist' }, body: body(i), headers: { 'if-match': etag } });
		const stage = () => client.put('/races/b', { query: { comp: 'block', blockid: id(100 + round) }, body: 'x'.repeat(16) });
		const answers = await Promise.all([put(0), stage(), put(0), stage(), put(0), put(0), stage()]);
		const lists = answers.filter((_, i) => ![1, 3, 6].includes(i));
		const won = lists.filter((a) => a.status === 201);
		assert.ok(lists.every((a) => [201, 412, 503].includes(a.status)), lists.map((a) => `${a.status} ${a.code}`).join(', '));
		assert.ok(won.length <= 1, `${won.length} of four with one If-Match won`);
		const head = await client.head('/races/b');
		assert.equal(head.headers.etag, won[0]?.etag ?? etag);
		const read = await client.get('/races/b');
		assert.equal(read.body.length, entries * 16);
		if (won.length) assert.ok(read.body.every((byte) => byte === 0), 'not the bytes of the list that won');
	}
});

// SPDX-License-Identifier: Apache-2.0
// Large things in bounded memory: a sparse page blob of 1 TiB, a blob of 50,000 blocks, a container of many blobs. What the server
// holds at most is read from the kernel (VmHWM). ZAFFRE_TEST_LARGE=1 is the long form: a million blobs.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { after, before, test } from 'node:test';
import { scale, startServer } from '../../lib/server.mjs';
import { Client } from '../../lib/http.mjs';
import { bounded as checkMemory, flood as floodPort } from '../../lib/flood.mjs';
import { element, elements, expectStatus, uniqueName } from '../../lib/assert.mjs';
import { Blobs, base64, random, range } from '../../lib/blob.mjs';

const MIB = 1024 * 1024, GIB = 1024 * MIB, TIB = 1024 * GIB;
const LONG = process.env.ZAFFRE_TEST_LARGE === '1';
const BLOBS = LONG ? 1_000_000 : Math.round(20_000 * Math.min(1, scale * 2));
const BLOCKS = Math.round(50_000 * Math.min(1, scale * 2));

let server, client, b;
const home = uniqueName('large');
before(async () => {
	server = await startServer();
	client = new Client(server);
	b = new Blobs(client);
	expectStatus(await b.container(home), 201);
});
after(() => server?.remove());

const bounded = (t, what, limit) => checkMemory(t, server, what, limit);
const flood = (...args) => floodPort(server.ports.blob, client, ...args);

test('1 TiB of sparse pages', async (t) => {
	const path = `/${home}/sparse`;
	const WRITES = 600;
	expectStatus(await b.pageBlob(path, TIB), 201);
	const places = new Map();
	while (places.size < WRITES) places.set(crypto.randomInt(TIB / 512) * 512, random(512));
	const list = [...places];
	await flood(WRITES, (i) => ['PUT', path, { query: { comp: 'page' }, headers: { 'x-ms-page-write': 'update', 'x-ms-range': range(list[i][0], 512) }, body: list[i][1] }], 201, 2);
	const expected = [...places.keys()].sort((x, y) => x - y);
	const starts = [];
	let marker;
	do {
		const r = expectStatus(await b.get(path, {}, { comp: 'pagelist', maxresults: 250, marker }), 200);
		for (const [, first] of r.text.matchAll(/<Start>(\d+)</g)) starts.push(Number(first));
		marker = element(r.text, 'NextMarker');
	} while (marker);
	// Neighbours make one range; there are none to speak of among so few.
	for (const start of starts) assert.ok(places.has(start));
	assert.ok(starts.length > WRITES - 5);
	for (const [at, bytes] of list.slice(0, 50)) assert.ok((await b.get(path, { 'x-ms-range': range(at, 512) })).body.equals(bytes));
	// A stretch with a page of bytes in the middle of nothing.
	const at = expected[WRITES >> 1] - (expected[WRITES >> 1] % MIB);
	const stretch = (await b.get(path, { 'x-ms-range': range(at, 32 * MIB) })).body;
	const want = Buffer.alloc(stretch.length);
	for (const [offset, bytes] of places) if (offset >= at && offset < at + want.length) bytes.copy(want, offset - at);
	assert.ok(stretch.equals(want));
	const snapshot = await b.snapshot(path);
	expectStatus(await b.pages(path, 0, random(512)), 201);
	assert.deepEqual(await b.ranges(path, { prevsnapshot: snapshot }), [[0, 511]]);
	expectStatus(await b.clear(path, 0, TIB), 201);
	assert.deepEqual(await b.ranges(path), []);
	assert.ok((await b.get(path, { 'x-ms-range': range(list[7][0], 512) }, { snapshot })).body.equals(list[7][1]));
	expectStatus(await b.delete(path, { 'x-ms-delete-snapshots': 'include' }), 202);
	bounded(t, 'sparse pages', 128 * MIB);
});

test(`a blob of ${BLOCKS} blocks`, async (t) => {
	const path = `/${home}/blocks`;
	const id = (i) => `block-${String(i).padStart(6, '0')}`;
	const bytes = (i) => Buffer.alloc(24, `${i}.`);
	let begun = Date.now();
	await flood(BLOCKS, (i) => ['PUT', path, { query: { comp: 'block', blockid: base64(id(i)) }, body: bytes(i) }], 201);
	t.diagnostic(`staged in ${Date.now() - begun} ms`);
	begun = Date.now();
	expectStatus(await b.blockList(path, Array.from({ length: BLOCKS }, (_, i) => id(BLOCKS - 1 - i))), 201);
	t.diagnostic(`committed in ${Date.now() - begun} ms`);
	const hash = crypto.createHash('sha256');
	for (let i = BLOCKS - 1; i >= 0; i--) hash.update(bytes(i));
	const whole = expectStatus(await b.get(path), 200).body;
	assert.equal(crypto.createHash('sha256').update(whole).digest('hex'), hash.digest('hex'));
	const listed = await b.blocks(path);
	assert.equal(listed.committed.length, BLOCKS);
	assert.deepEqual([listed.committed[0][0], listed.committed.at(-1)[0], listed.uncommitted.length], [id(BLOCKS - 1), id(0), 0]);
	// Every second one again, from what is committed.
	begun = Date.now();
	expectStatus(await b.blockList(path, Array.from({ length: BLOCKS / 2 }, (_, i) => ['Committed', id(2 * i)])), 201);
	t.diagnostic(`committed again in ${Date.now() - begun} ms`);
	const half = expectStatus(await b.get(path), 200).body;
	assert.ok(half.equals(Buffer.concat(Array.from({ length: BLOCKS / 2 }, (_, i) => bytes(2 * i)))));
	expectStatus(await b.delete(path), 202);
	bounded(t, 'many blocks', 192 * MIB);
});

test(`a container of ${BLOBS} blobs`, async (t) => {
	const where = uniqueName('many');
	expectStatus(await b.container(where), 201);
	const name = (i) => `d${String(i % 100).padStart(2, '0')}/${String(i).padStart(8, '0')}`;
	let begun = Date.now();
	await flood(BLOBS, (i) => ['PUT', `/${where}/${name(i)}`, { headers: { 'x-ms-blob-type': 'BlockBlob' }, body: name(i) }], 201);
	t.diagnostic(`written in ${Date.now() - begun} ms`);
	begun = Date.now();
	let seen = 0, last = '', marker;
	do {
		const xml = expectStatus(await b.list(where, { marker }), 200).text;
		for (const item of elements(xml, 'Name')) {
			assert.ok(item > last, 'in order');
			last = item;
			seen++;
		}
		marker = element(xml, 'NextMarker');
	} while (marker);
	assert.equal(seen, BLOBS);
	t.diagnostic(`listed in ${Date.now() - begun} ms`);
	const folders = expectStatus(await b.list(where, { delimiter: '/' }), 200).text;
	assert.equal(elements(folders, 'Name').length, Math.min(100, BLOBS));
	for (let i = 0; i < 200; i++) {
		const pick = name(crypto.randomInt(BLOBS));
		assert.equal((await b.get(`/${where}/${pick}`)).text, pick);
	}
	begun = Date.now();
	await flood(BLOBS >> 1, (i) => ['DELETE', `/${where}/${name(2 * i)}`, {}], 202);
	t.diagnostic(`half deleted in ${Date.now() - begun} ms`);
	let left = 0;
	do {
		const xml = expectStatus(await b.list(where, { marker }), 200).text;
		left += elements(xml, 'Name').length;
		marker = element(xml, 'NextMarker');
	} while (marker);
	assert.equal(left, BLOBS - (BLOBS >> 1));
	begun = Date.now();
	expectStatus(await client.delete(`/${where}`, { query: { restype: 'container' } }), 202);
	t.diagnostic(`dropped in ${Date.now() - begun} ms`);
	bounded(t, 'many blobs', 256 * MIB);
});

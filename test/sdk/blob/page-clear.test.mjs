// SPDX-License-Identifier: Apache-2.0
// Clears and shrinks over more written chunks than a commit goes through: at once for every reader, also across a kill; what snapshots
// hold stays; what is written afterwards wins; and the space comes back.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { scaled, startServer } from '../../lib/server.mjs';
import { extentsComeTo } from '../../lib/scrub.mjs';
import { Client, RawConnection } from '../../lib/http.mjs';
import { expectStatus } from '../../lib/assert.mjs';
import { Blobs, random, range } from '../../lib/blob.mjs';

const MIB = 1024 * 1024, PAGE = 512;
const CHUNKS = scaled(3000, 2200); // of 1 MiB, each with two pages: beyond 2 GiB
const SIZE = CHUNKS * MIB;
let server, client, b;
before(async () => {
	server = await startServer();
	client = new Client(server);
	b = new Blobs(client);
	expectStatus(await b.container('pages'), 201);
});
after(() => server?.remove());
const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// A page at the begin and one in the middle of every chunk.
const firstOf = (chunk) => chunk * MIB, secondOf = (chunk) => chunk * MIB + MIB / 2;
async function fill(path, bytes, from = 0, to = CHUNKS) {
	const connections = await Promise.all(Array.from({ length: 8 }, () => RawConnection.open(server.ports.blob)));
	let next = from * 2;
	await Promise.all(
		connections.flatMap((c) =>
			Array.from({ length: 8 }, async () => {
				while (next < to * 2) {
					const i = next++, at = i % 2 ? secondOf(i >> 1) : firstOf(i >> 1);
					const o = { query: { comp: 'page' }, headers: { 'x-ms-page-write': 'update', 'x-ms-range': range(at, PAGE) }, body: bytes };
					const r = await c.exchange(client.bytes('PUT', path, o), 'PUT');
					assert.equal(r.status, 201, r.text);
				}
			}),
		),
	);
	await Promise.all(connections.map((c) => c.end()));
}
async function allRanges(path, query = {}) {
	const list = [];
	let marker;
	do {
		const r = expectStatus(await b.get(path, {}, { comp: 'pagelist', marker, ...query }), 200);
		for (const m of r.text.matchAll(/<(PageRange|ClearRange)><Start>(\d+)<\/Start><End>(\d+)<\/End>/g)) list.push([m[1] === 'ClearRange' ? 'clear' : 'page', Number(m[2]), Number(m[3])]);
		marker = /<NextMarker>([^<]+)</.exec(r.text)?.[1];
	} while (marker);
	return list;
}
const page = async (path, at, query = {}) => expectStatus(await b.get(path, { 'x-ms-range': range(at, PAGE) }, query), 206).body;
const isZero = (bytes) => bytes.every((x) => x === 0);
async function filled() {
	const path = `/pages/p${Math.random()}`, bytes = random(PAGE);
	expectStatus(await b.pageBlob(path, SIZE), 201);
	await fill(path, bytes);
	return [path, bytes];
}
const comesTo = (count) => extentsComeTo(server, count);

describe('nobody else holds the pages', () => {
	test('a whole clear is seen at once and lasts; later pages win; the space comes back', async () => {
		const [path, bytes] = await filled();
		const etag = (await b.head(path)).etag;
		const r = expectStatus(await b.clear(path, 0, SIZE), 201);
		assert.notEqual(r.etag, etag);
		assert.deepEqual(await allRanges(path), []);
		assert.ok(isZero(await page(path, secondOf(CHUNKS >> 1))));
		// Before, during and after the sweep.
		const kept = random(PAGE), places = [firstOf(0), secondOf(7), secondOf(CHUNKS >> 1), firstOf(CHUNKS - 1)];
		for (const at of places) expectStatus(await b.pages(path, at, kept), 201);
		await server.kill9();
		await server.restart();
		assert.deepEqual(await allRanges(path), places.map((at) => ['page', at, at + PAGE - 1]));
		for (const at of places) assert.ok((await page(path, at)).equals(kept));
		expectStatus(await b.clear(path, secondOf(7), PAGE), 201);
		expectStatus(await b.pages(path, firstOf(7), kept), 201);
		const now = [firstOf(0), firstOf(7), secondOf(CHUNKS >> 1), firstOf(CHUNKS - 1)];
		assert.deepEqual(await allRanges(path), now.map((at) => ['page', at, at + PAGE - 1]));
		await comesTo(now.length);
		assert.deepEqual(await allRanges(path), now.map((at) => ['page', at, at + PAGE - 1]));
		assert.ok((await page(path, firstOf(7))).equals(kept));
		assert.ok(!kept.equals(bytes));
		expectStatus(await b.delete(path), 202);
		await comesTo(0);
	});
	test('a clear keeps what lies before and behind it in the first and last chunk', async () => {
		const [path, bytes] = await filled();
		expectStatus(await b.clear(path, PAGE, SIZE - MIB / 2 - PAGE), 201);
		assert.deepEqual(await allRanges(path), [['page', 0, PAGE - 1], ['page', secondOf(CHUNKS - 1), secondOf(CHUNKS - 1) + PAGE - 1]]);
		assert.ok((await page(path, 0)).equals(bytes));
		expectStatus(await b.delete(path), 202);
	});
	test('a shrink, then a grow: zeros; again and again, killed in between', async () => {
		const [path, bytes] = await filled();
		const resize = (length) => b.comp(path, 'properties', { 'x-ms-blob-content-length': length });
		for (const small of [MIB, 0]) {
			expectStatus(await resize(small), 200);
			await server.kill9();
			await server.restart();
			assert.equal((await b.head(path)).headers['content-length'], String(small));
			expectStatus(await resize(SIZE), 200);
			assert.deepEqual(await allRanges(path), small ? [['page', 0, PAGE - 1], ['page', MIB / 2, MIB / 2 + PAGE - 1]] : []);
			assert.ok(isZero(await page(path, firstOf(1))));
			await fill(path, bytes, 1, 40);
			assert.equal((await allRanges(path)).length, (small ? 80 : 78));
			assert.ok((await page(path, secondOf(39))).equals(bytes));
		}
		expectStatus(await b.delete(path), 202);
		await comesTo(0);
	});
});

test('snapshots keep what they had, differences tell, and the background changes nothing', async () => {
	const path = `/pages/p${Math.random()}`, bytes = random(PAGE);
	expectStatus(await b.pageBlob(path, SIZE), 201);
	const zero = await b.snapshot(path); // empty as it will be again: what came and went is told all the same
	await fill(path, bytes);
	const one = await b.snapshot(path);
	const other = random(PAGE);
	await fill(path, other, 10, 20); // of the second epoch
	const whole = (kind) => Array.from({ length: CHUNKS }, (_, i) => [[kind, firstOf(i), firstOf(i) + PAGE - 1], [kind, secondOf(i), secondOf(i) + PAGE - 1]]).flat();
	expectStatus(await b.clear(path, 0, SIZE), 201);
	const two = await b.snapshot(path);
	expectStatus(await b.pages(path, firstOf(15), other), 201);
	const check = async () => {
		assert.deepEqual(await allRanges(path, { snapshot: one }), whole('page'));
		assert.ok((await page(path, secondOf(15), { snapshot: one })).equals(bytes));
		assert.deepEqual(await allRanges(path, { snapshot: two }), []);
		assert.ok(isZero(await page(path, firstOf(15), { snapshot: two })));
		assert.deepEqual(await allRanges(path), [['page', firstOf(15), firstOf(15) + PAGE - 1]]);
		assert.ok((await page(path, firstOf(15))).equals(other));
		assert.deepEqual(await allRanges(path, { snapshot: two, prevsnapshot: one }), whole('clear'));
		assert.deepEqual(await allRanges(path, { prevsnapshot: one }), whole('clear').map((x) => (x[1] === firstOf(15) ? ['page', x[1], x[2]] : x)));
		assert.deepEqual(await allRanges(path, { prevsnapshot: two }), [['page', firstOf(15), firstOf(15) + PAGE - 1]]);
		assert.deepEqual(await allRanges(path, { snapshot: one, prevsnapshot: zero }), whole('page'));
		assert.deepEqual(await allRanges(path, { snapshot: two, prevsnapshot: zero }), whole('clear'));
	};
	await check();
	await server.kill9();
	await server.restart();
	await check();
	// What only the base had written between snapshot and clear goes; the rest is the snapshot's.
	await comesTo(2 * CHUNKS + 1);
	await check();
	expectStatus(await b.delete(path, { 'x-ms-delete-snapshots': 'include' }), 202);
	await comesTo(0);
});

test('readers beside a clear see all of it or nothing', async () => {
	const [path] = await filled();
	const LOOK = Math.min(CHUNKS, 2400); // an answer has at most 5,000 ranges
	let stop = false, before = 0, behind = 0;
	const reading = Array.from({ length: 4 }, async () => {
		while (!stop) {
			const r = expectStatus(await b.get(path, { 'x-ms-range': range(0, LOOK * MIB) }, { comp: 'pagelist' }), 200);
			const count = [...r.text.matchAll(/<PageRange>/g)].length;
			assert.ok(count === 0 || count === 2 * LOOK, `${count} of ${2 * LOOK} ranges`);
			if (count) before++;
			else behind++;
		}
	});
	while (!before) await later(20); // somebody has seen it full
	expectStatus(await b.clear(path, 0, SIZE), 201);
	await later(1500); // the sweep runs meanwhile
	while (!behind) await later(20);
	stop = true;
	await Promise.all(reading);
	assert.ok(before && behind, `${before} before, ${behind} behind`);
});

// SPDX-License-Identifier: Apache-2.0
// More snapshots than a commit holds: they are deleted and undeleted together, for every reader and across every kill, and what goes for
// good gives its bytes back.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { runProgram, scaled, startServer } from '../../lib/server.mjs';
import { Client } from '../../lib/http.mjs';
import { expectError, expectStatus } from '../../lib/assert.mjs';
import { Blobs, random } from '../../lib/blob.mjs';

const COUNT = scaled(900, 600);
const path = '/many/blob';
let server, client, b;
const snapshots = [];
const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const setRetention = (days) =>
	client.put('/', {
		query: { restype: 'service', comp: 'properties' },
		body: `<StorageServiceProperties><DeleteRetentionPolicy><Enabled>${days > 0}</Enabled>${days ? `<Days>${days}</Days>` : ''}</DeleteRetentionPolicy></StorageServiceProperties>`,
	});
// How many live and how many deleted rows one list shows.
async function counts() {
	const r = expectStatus(await b.list('many', { include: 'snapshots,deleted' }), 200);
	assert.equal(/<NextMarker>[^<]/.test(r.text), false, 'one page');
	const deleted = [...r.text.matchAll(/<Deleted>true</g)].length;
	return [[...r.text.matchAll(/<Blob>/g)].length - deleted, deleted];
}
const ALL = () => [COUNT + 1, 0], NONE = () => [0, COUNT + 1];
const remove = (how = 'include') => b.delete(path, { 'x-ms-delete-snapshots': how });
const undelete = () => b.comp(path, 'undelete');

before(async () => {
	server = await startServer();
	client = new Client(server);
	b = new Blobs(client);
	expectStatus(await b.container('many'), 201);
	expectStatus(await setRetention(7), 202);
	expectStatus(await b.put(path, random(100_000)), 201);
	let begun = 0;
	await Promise.all(
		Array.from({ length: 48 }, async () => {
			while (begun++ < COUNT) snapshots.push(await b.snapshot(path));
		}),
	);
	assert.deepEqual(await counts(), ALL());
});
after(() => server?.remove());

test('lists and reads beside a delete and an undelete see all of it or nothing', async () => {
	let stop = false;
	const seen = new Set();
	const some = [snapshots[3], snapshots[COUNT >> 1], snapshots[COUNT - 1]];
	const listing = Array.from({ length: 2 }, async () => {
		for (; !stop; await later(3)) {
			const now = String(await counts());
			assert.ok(now === String(ALL()) || now === String(NONE()), now);
			seen.add(now);
		}
	});
	const reading = (async () => {
		for (; !stop; await later(3))
			for (const snapshot of some) {
				const r = await b.head(path, {}, { snapshot });
				assert.ok(r.status === 200 || r.status === 404, `${r.status}`);
			}
	})();
	for (let i = 0; i < 4; i++) {
		expectStatus(await remove(), 202);
		// Answered is seen: no snapshot of it can be read any more.
		assert.deepEqual(await counts(), NONE());
		for (const snapshot of some) expectStatus(await b.head(path, {}, { snapshot }), 404);
		expectStatus(await undelete(), 200);
		assert.deepEqual(await counts(), ALL());
		for (const snapshot of some) expectStatus(await b.head(path, {}, { snapshot }), 200);
		if (i === 2) await later(1500); // let the background catch up once
	}
	stop = true;
	await Promise.all([...listing, reading]);
	assert.equal(seen.size, 2, [...seen].join(' '));
});

test('a mark does not touch what comes later, nor do single operations need its sweep', async () => {
	const [one, two] = snapshots;
	expectStatus(await remove('only'), 202);
	assert.deepEqual(await counts(), [1, COUNT]);
	const fresh = await b.snapshot(path);
	assert.deepEqual(await counts(), [2, COUNT]);
	expectError(await b.delete(path), 409, 'SnapshotsPresent');
	expectStatus(await b.delete(path, {}, { snapshot: fresh }), 202);
	expectStatus(await b.delete(path), 202);
	expectStatus(await b.put(path, 'anew'), 201);
	assert.deepEqual(await counts(), [1, COUNT + 2]);
	expectStatus(await undelete(), 200);
	assert.equal((await b.get(path)).text, 'anew');
	assert.deepEqual(await counts(), [COUNT + 3, 0]);
	// One of them goes again, one changes, while only the mark says that they are there.
	expectStatus(await b.delete(path, {}, { snapshot: one }), 202);
	expectStatus(await b.comp(path, 'tier', { 'x-ms-access-tier': 'Cool' }, undefined, { snapshot: two }), 200);
	assert.deepEqual(await counts(), [COUNT + 2, 1]);
	expectStatus(await b.head(path, {}, { snapshot: one }), 404);
	assert.equal((await b.head(path, {}, { snapshot: two })).headers['x-ms-access-tier'], 'Cool');
	await later(2500);
	assert.deepEqual(await counts(), [COUNT + 2, 1]);
	assert.equal((await b.head(path, {}, { snapshot: two })).headers['x-ms-access-tier'], 'Cool');
	// Back to how it began: as many snapshots, all of them live.
	expectStatus(await undelete(), 200);
	for (const snapshot of [fresh, two]) expectStatus(await b.delete(path, {}, { snapshot }), 202);
	const gone = async (snapshot) => expectStatus(await b.delete(path, {}, { snapshot, deletetype: 'permanent' }), 202);
	expectStatus(
		await client.put('/', {
			query: { restype: 'service', comp: 'properties' },
			body: '<StorageServiceProperties><DeleteRetentionPolicy><Enabled>true</Enabled><Days>7</Days><AllowPermanentDelete>true</AllowPermanentDelete></DeleteRetentionPolicy></StorageServiceProperties>',
		}),
		202,
	);
	for (const snapshot of [fresh, two]) await gone(snapshot);
	assert.deepEqual(await counts(), ALL());
});

test('killed around a delete or an undelete: all of it or nothing', async () => {
	let live = true;
	const outcomes = new Set();
	for (let i = 0; i < scaled(14, 6); i++) {
		const request = (live ? remove() : undelete()).then((r) => r.status, () => 0);
		await later(i < 4 ? i : Math.random() * 30);
		await server.kill9();
		const status = await request;
		await server.restart();
		const now = String(await counts());
		assert.ok(now === String(ALL()) || now === String(NONE()), `after ${status}: ${now}`);
		const was = live;
		live = now === String(ALL());
		if (status) assert.notEqual(live, was, 'answered, and not done');
		outcomes.add(`${was}-${live}`);
		if (i % 3 === 0) {
			await later(1300); // into the sweep
			await server.kill9();
			const r = await runProgram(['scrub', '--location', server.dataDir]);
			assert.equal(r.code, 0, r.stdout + r.stderr);
			await server.restart();
			assert.equal(String(await counts()), now);
		}
	}
	assert.ok(outcomes.size >= 2, [...outcomes].join(' '));
	if (!live) expectStatus(await undelete(), 200);
	assert.deepEqual(await counts(), ALL());
});

test('a held snapshot stops all of it', async () => {
	const snapshot = snapshots[COUNT >> 1];
	expectStatus(await b.comp(path, 'legalhold', { 'x-ms-legal-hold': 'true' }, undefined, { snapshot }), 200);
	expectError(await remove(), 409, 'BlobImmutableDueToLegalHold');
	assert.deepEqual(await counts(), ALL());
	expectStatus(await b.comp(path, 'legalhold', { 'x-ms-legal-hold': 'false' }, undefined, { snapshot }), 200);
});

test('the days are over, for all of them', async () => {
	expectStatus(await remove(), 202);
	expectStatus(await undelete(), 200);
	await server.advanceClock(8 * 86400); // what came back has no days
	assert.deepEqual(await counts(), ALL());
	expectStatus(await remove(), 202);
	await server.advanceClock(8 * 86400);
	assert.deepEqual(await counts(), [0, 0]);
	expectError(await undelete(), 404, 'BlobNotFound');
	for (let i = 0; ; i++) {
		await later(2500); // the background's first round comes after a second
		await server.stop();
		const r = await runProgram(['scrub', '--location', server.dataDir]);
		assert.equal(r.code, 0, r.stdout + r.stderr);
		await server.restart();
		if (/ 0 extents/.test(r.stdout)) break;
		assert.ok(i < 12, `bytes are left: ${r.stdout}`);
	}
	assert.deepEqual(await counts(), [0, 0]);
});

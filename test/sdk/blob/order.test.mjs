// SPDX-License-Identifier: Apache-2.0
// Two faults in one request: the one that is looked at first is told (concurrency.md 2.3). Each fault is made alone to learn its
// answer, then with each of the later ones: who asks, what is malformed, what is missing, lease, conditions, tags, the conditions
// of pages and appends, holds, the type.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startServer } from '../../lib/server.mjs';
import { Client } from '../../lib/http.mjs';
import { expectStatus, uniqueName } from '../../lib/assert.mjs';
import { Blobs, base64, uuid } from '../../lib/blob.mjs';

const home = uniqueName('order');
let server, client, b;
before(async () => {
	server = await startServer();
	client = new Client(server);
	b = new Blobs(client);
	expectStatus(await b.container(home), 201);
	expectStatus(await b.put(`/${home}/source`, 'y'.repeat(512)), 201);
});
after(() => server?.remove());

const make = { block: () => b.fresh(home).block(), page: () => b.fresh(home).page(), append: () => b.fresh(home).append() };
const url = () => ({ 'x-ms-copy-source': b.url(`/${home}/source`) });
const PAGE = { 'x-ms-page-write': 'update', 'x-ms-range': 'bytes=0-511' };
const SEQUENCE = { 'x-ms-if-sequence-number-eq': 9 }, POSITION = { 'x-ms-blob-condition-appendpos': 9 }, MAX = { 'x-ms-blob-condition-maxsize': 1 };

// type: of the blob it needs (own: conditions of its own that do not hold).
const WRITES = {
	'Put Blob': { type: 'block', ask: (path, h) => b.put(path, 'new', h) },
	'Put Blob (page)': { type: 'page', ask: (path, h) => b.pageBlob(path, 512, h) },
	'Put Blob (append)': { type: 'append', ask: (path, h) => b.appendBlob(path, h) },
	'Put Block': { type: 'block', ask: (path, h) => b.block(path, 'id', 'bytes', h) },
	'Put Block From URL': { type: 'block', ask: (path, h) => b.comp(path, 'block', { ...url(), ...h }, undefined, { blockid: base64('id') }) },
	'Put Block List': { type: 'block', ask: (path, h) => b.blockList(path, [], h) },
	'Put Page': { type: 'page', own: SEQUENCE, ask: (path, h) => b.comp(path, 'page', { ...PAGE, ...h }, Buffer.alloc(512)) },
	'Put Page (clear)': { type: 'page', own: SEQUENCE, ask: (path, h) => b.clear(path, 0, 512, h) },
	'Put Page From URL': { type: 'page', own: SEQUENCE, ask: (path, h) => b.comp(path, 'page', { ...PAGE, 'x-ms-source-range': 'bytes=0-511', ...url(), ...h }) },
	'Append Block': { type: 'append', own: POSITION, ask: (path, h) => b.append(path, 'bytes', h) },
	'Append Block (size)': { type: 'append', own: MAX, ask: (path, h) => b.append(path, 'bytes', h) },
	'Append Block From URL': { type: 'append', own: POSITION, ask: (path, h) => b.comp(path, 'appendblock', { ...url(), ...h }) },
	'Append Blob Seal': { type: 'append', own: POSITION, ask: (path, h) => b.comp(path, 'seal', h) },
	'Set Blob Properties': { type: 'block', ask: (path, h) => b.comp(path, 'properties', { 'x-ms-blob-content-type': 'a/b', ...h }) },
	'Set Blob Properties (resize)': { type: 'page', ask: (path, h) => b.comp(path, 'properties', { 'x-ms-blob-content-length': 512, ...h }) },
	'Set Blob Properties (sequence)': { type: 'page', ask: (path, h) => b.comp(path, 'properties', { 'x-ms-sequence-number-action': 'increment', ...h }) },
	'Set Blob Metadata': { type: 'block', ask: (path, h) => b.comp(path, 'metadata', { 'x-ms-meta-a': 'b', ...h }) },
	'Snapshot Blob': { type: 'block', ask: (path, h) => b.comp(path, 'snapshot', h) },
	'Delete Blob': { type: 'block', ask: (path, h) => b.delete(path, h) },
	'Copy Blob': { type: 'block', ask: (path, h) => b.copy(path, url()['x-ms-copy-source'], h) },
	'Copy Blob From URL': { type: 'block', ask: (path, h) => b.copy(path, url()['x-ms-copy-source'], { 'x-ms-requires-sync': 'true', ...h }) },
	'Put Blob From URL': { type: 'block', ask: (path, h) => b.copy(path, url()['x-ms-copy-source'], { 'x-ms-blob-type': 'BlockBlob', ...h }) },
};

// In the order in which they are told.
const FAULTS = ['signature', 'malformed', 'no container', 'no blob', 'no lease id', 'other lease id', 'If-Match', 'x-ms-if-tags', 'own', 'hold', 'type'];
const MISSING = ['no container', 'no blob'];
const NEED_A_BLOB = ['no lease id', 'hold', 'type'];

async function answer(how, faults) {
	const is = (fault) => faults.includes(fault);
	const headers = is('own') ? { ...how.own } : {};
	let path = `/${uniqueName('absent')}/b`;
	if (is('no blob')) path = `/${home}/${uniqueName('absent')}`;
	else if (!is('no container')) path = await make[is('type') ? (how.type === 'block' ? 'append' : 'block') : how.type]();
	const exists = !is('no container') && !is('no blob');
	if (exists && (is('no lease id') || is('other lease id'))) await b.acquire(path);
	if (exists && is('hold')) expectStatus(await b.comp(path, 'legalhold', { 'x-ms-legal-hold': 'true' }), 200);
	if (is('other lease id')) headers['x-ms-lease-id'] = uuid();
	if (is('malformed')) headers['If-Modified-Since'] = 'then';
	if (is('If-Match')) headers['If-Match'] = '"0x8D0000000000000"';
	if (is('x-ms-if-tags')) headers['x-ms-if-tags'] = `"a" = 'b'`;
	if (is('signature')) headers.authorization = `SharedKey ${server.account}:${base64('nobody signs so')}`;
	const r = await how.ask(path, headers);
	return r.status < 300 ? 'done' : `${r.status} ${r.code}`;
}

for (const [name, how] of Object.entries(WRITES))
	test(`of two faults the first is told: ${name}`, async () => {
		const alone = {};
		for (const fault of FAULTS) if (fault !== 'own' || how.own) alone[fault] = await answer(how, [fault]);
		// Where ETags are not looked at they are malformed, and what does not matter to an operation is no fault of it.
		const told = FAULTS.filter((fault) => alone[fault] && alone[fault] !== 'done' && alone[fault] !== '400 ConditionHeadersNotSupported');
		assert.ok(told.length >= 5, JSON.stringify(alone));
		for (const [i, first] of told.entries())
			for (const second of told.slice(i + 1)) {
				if (MISSING.includes(first) && (NEED_A_BLOB.includes(second) || MISSING.includes(second))) continue;
				if (first === 'no lease id' && second === 'other lease id') continue;
				// A sequence number or an append position is nothing that other types have.
				const want = first === 'own' && second === 'type' ? alone.type : alone[first];
				assert.equal(await answer(how, [first, second]), want, `${first} and ${second}`);
			}
	});

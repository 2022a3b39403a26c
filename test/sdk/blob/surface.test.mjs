// SPDX-License-Identifier: Apache-2.0
// Headers and parameters that an operation of the Blob service declares, one by one: a good value does what it says and is shown
// by later reads, another one is refused by its name. Never is one passed over in silence.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startServer } from '../../lib/server.mjs';
import { Client } from '../../lib/http.mjs';
import { element, elements, expectError, expectStatus, md5, uniqueName } from '../../lib/assert.mjs';
import { Blobs, base64, crc64 } from '../../lib/blob.mjs';

const home = uniqueName('surface');
let server, client, b;
before(async () => {
	server = await startServer();
	client = new Client(server, { version: '2025-01-05' });
	b = new Blobs(client);
	expectStatus(await b.container(home), 201);
	expectStatus(await b.put(`/${home}/source`, 'y'.repeat(512)), 201);
});
after(() => server?.remove());

const source = () => b.readable(`/${home}/source`);
const block = () => b.fresh(home).block(), page = () => b.fresh(home).page(), append = () => b.fresh(home).append();

// Refused, and the body says which header it was.
function expectHeaderError(r, code, name) {
	expectError(r, 400, code);
	assert.equal(element(r.text, 'HeaderName'), name, r.text);
}

test('customer keys and encryption scopes are looked at by Set Blob Properties, too', async () => {
	const path = await page();
	const half = await b.comp(path, 'properties', { 'x-ms-blob-content-length': 512, 'x-ms-encryption-key': 'some' });
	expectHeaderError(half, 'MissingRequiredHeader', 'x-ms-encryption-key-sha256');
	const scoped = await b.comp(path, 'properties', { 'x-ms-blob-content-length': 512, 'x-ms-encryption-scope': 'some' });
	expectError(scoped, 409, 'BlobDoesNotUseCustomerSpecifiedEncryption');
	assert.equal((await b.head(path)).headers['content-length'], '1024');
});

// A way out of the archive that takes an hour, however slow we are: it begins by a clock that then goes back.
async function slowly(leave) {
	await server.advanceClock(3600);
	expectStatus(await leave(), 202);
	await server.setClock(0);
}

test('the priority with which a blob leaves the archive is shown while it does', async () => {
	const path = await block();
	const shown = async () => {
		const { text } = expectStatus(await b.list(home, { prefix: path.split('/')[2] }), 200);
		return [(await b.head(path)).headers['x-ms-rehydrate-priority'], element(text, 'RehydratePriority')];
	};
	const tier = (name, priority) => b.comp(path, 'tier', { 'x-ms-access-tier': name, 'x-ms-rehydrate-priority': priority });
	expectStatus(await tier('Archive'), 200);
	assert.deepEqual(await shown(), [undefined, undefined]);
	await slowly(() => tier('Hot'));
	assert.deepEqual(await shown(), ['Standard', 'Standard']);
	expectStatus(await tier('Hot', 'High'), 202);
	assert.deepEqual(await shown(), ['High', 'High']);
	expectStatus(await tier('Hot', 'Standard'), 202); // raised, never lowered
	assert.deepEqual(await shown(), ['High', 'High']);
	await server.advanceClock(7200);
	assert.deepEqual(await shown(), [undefined, undefined]);
	await server.setClock(0);
	expectHeaderError(await tier('Hot', 'Now'), 'InvalidHeaderValue', 'x-ms-rehydrate-priority');
	const to = await block();
	expectHeaderError(await b.copy(to, source(), { 'x-ms-rehydrate-priority': 'Now' }), 'InvalidHeaderValue', 'x-ms-rehydrate-priority');
	expectStatus(await b.copy(to, source(), { 'x-ms-rehydrate-priority': 'High' }), 202);
});

test('what is neither true nor false is refused', async () => {
	const path = await block(), range = { 'x-ms-range': 'bytes=0-1' };
	const url = { 'x-ms-copy-source': source(), 'x-ms-blob-type': 'BlockBlob' };
	const asked = {
		'x-ms-range-get-content-md5': (headers) => b.get(path, { ...range, ...headers }),
		'x-ms-range-get-content-crc64': (headers) => b.get(path, { ...range, ...headers }),
		'x-ms-copy-source-blob-properties': (headers) => client.put(path, { headers: { ...url, ...headers } }),
		'x-ms-seal-blob': (headers) => b.copy(path, source(), headers),
		'x-ms-legal-hold': (headers) => b.put(path, 'new', headers),
	};
	for (const [name, ask] of Object.entries(asked)) {
		for (const value of ['yes', '1', '']) expectHeaderError(await ask({ [name]: value }), 'InvalidHeaderValue', name);
		for (const value of ['false', 'False']) assert.ok((await ask({ [name]: value })).status < 300, name);
	}
	const { headers } = expectStatus(await asked['x-ms-range-get-content-md5']({ 'x-ms-range-get-content-md5': 'True' }), 206);
	assert.ok(headers['content-md5']);
});

test('a mode of immutability without its date protects nothing and is refused', async () => {
	const creates = {
		'Put Blob': (path, headers) => b.put(path, 'x', headers),
		'Put Blob (page)': (path, headers) => b.pageBlob(path, 512, headers),
		'Put Blob (append)': (path, headers) => b.appendBlob(path, headers),
		'Put Block List': (path, headers) => b.blockList(path, [], headers),
		'Copy Blob': (path, headers) => b.copy(path, source(), headers),
		'Copy Blob From URL': (path, headers) => b.copy(path, source(), { 'x-ms-requires-sync': 'true', ...headers }),
		'Put Blob From URL': (path, headers) => b.copy(path, source(), { 'x-ms-blob-type': 'BlockBlob', ...headers }),
	};
	for (const [name, create] of Object.entries(creates)) {
		const path = `/${home}/${uniqueName('b')}`;
		for (const mode of ['Locked', 'Unlocked']) expectHeaderError(await create(path, { 'x-ms-immutability-policy-mode': mode }), 'MissingRequiredHeader', 'x-ms-immutability-policy-until-date');
		const until = new Date(server.now() + 3600_000).toUTCString();
		expectHeaderError(await create(path, { 'x-ms-immutability-policy-until-date': until, 'x-ms-immutability-policy-mode': 'Open' }), 'InvalidHeaderValue', 'x-ms-immutability-policy-mode');
		expectError(await b.get(path), 404, 'BlobNotFound');
		assert.ok((await create(path, { 'x-ms-immutability-policy-until-date': until })).status < 300, name);
		assert.equal((await b.head(path)).headers['x-ms-immutability-policy-mode'], 'unlocked', name);
	}
});

test('several ETags in one header of a write are refused by its name', async () => {
	const path = await block();
	for (const name of ['If-Match', 'If-None-Match']) {
		const r = await b.comp(path, 'metadata', { [name]: '"0x8D0000000000001", "0x8D0000000000002"' });
		expectHeaderError(r, 'InvalidHeaderValue', name);
		assert.match(element(r.text, 'HeaderValue'), /0x8D0000000000001.*0x8D0000000000002/);
	}
});

test('an incremental copy without a source misses a header', async () => {
	expectHeaderError(await b.comp(`/${home}/${uniqueName('b')}`, 'incrementalcopy'), 'MissingRequiredHeader', 'x-ms-copy-source');
});

test('x-ms-blob-content-md5 is what the blob says of its content, however it is made', async () => {
	const given = md5('what the client says'), headers = { 'x-ms-blob-content-md5': given };
	expectError(await b.put(`/${home}/${uniqueName('b')}`, 'x', headers), 400, 'Md5Mismatch'); // Put Blob has the bytes and looks
	const forms = [
		(path) => b.blockList(path, [], headers),
		(path) => b.copy(path, source(), { 'x-ms-blob-type': 'BlockBlob', ...headers }),
	];
	for (const make of forms) {
		const path = await b.fresh(home).made(make);
		assert.equal((await b.head(path)).headers['content-md5'], given);
	}
	const path = await b.fresh(home).made((to) => b.copy(to, source(), { 'x-ms-blob-type': 'BlockBlob' }));
	assert.equal((await b.head(path)).headers['content-md5'], md5('y'.repeat(512)));
});

test('a list shows of an incremental copy what its properties show', async () => {
	const from = await page(), to = `/${home}/${uniqueName('b')}`;
	const snapshot = await b.snapshot(from);
	expectStatus(await b.comp(to, 'incrementalcopy', { 'x-ms-copy-source': b.url(from, { snapshot }) }), 202);
	const until = Date.now() + 60_000;
	let p = await b.head(to);
	while (p.headers['x-ms-copy-status'] === 'pending') {
		assert.ok(Date.now() < until, 'the copy does not end');
		await new Promise((resolve) => setTimeout(resolve, 20));
		p = await b.head(to);
	}
	const list = async (query) => expectStatus(await b.list(home, { prefix: to.split('/')[2], ...query }), 200).text;
	assert.equal(p.headers['x-ms-incremental-copy'], 'true');
	assert.equal(element(await list(), 'IncrementalCopy'), 'true');
	assert.equal(element(await list({ include: 'copy' }), 'IncrementalCopy'), 'true');
	assert.ok(p.headers['x-ms-copy-destination-snapshot']);
	assert.equal(element(await list({ include: 'copy' }), 'DestinationSnapshot'), p.headers['x-ms-copy-destination-snapshot']);
});

test('Find Blobs by Tags does not pass over what it was to include', async () => {
	for (const [path, query] of [['/', {}], [`/${home}`, { restype: 'container' }]]) {
		const find = (include) => client.get(path, { query: { ...query, comp: 'blobs', where: `"k"='v'`, include } });
		for (const include of [undefined, '', 'none']) expectStatus(await find(include), 200);
		const named = (r) => assert.equal(element(r.text, 'QueryParameterName'), 'include', r.text);
		for (const include of ['versions', 'none,versions']) named(expectError(await find(include), 400, 'UnsupportedQueryParameter'));
		named(expectError(await find('everything'), 400, 'InvalidQueryParameterValue'));
	}
});

test('in the archive a blob is not changed or replaced, until it is back', async () => {
	const from = () => ({ 'x-ms-copy-source': source() });
	const changes = {
		'Put Blob': (path) => b.put(path, 'new'),
		'Put Blob From URL': (path) => client.put(path, { headers: { ...from(), 'x-ms-blob-type': 'BlockBlob' } }),
		'Copy Blob': (path) => b.copy(path, source()),
		'Copy Blob From URL': (path) => b.copy(path, source(), { 'x-ms-requires-sync': 'true' }),
		'Put Block': (path) => b.block(path, 'id', 'x'),
		'Put Block From URL': (path) => b.comp(path, 'block', from(), undefined, { blockid: base64('id') }),
		'Put Block List': (path) => b.blockList(path, []),
		'Set Blob Metadata': (path) => b.comp(path, 'metadata', { 'x-ms-meta-a': 'b' }),
		'Set Blob Properties': (path) => b.comp(path, 'properties', { 'x-ms-blob-content-type': 'a/b' }),
		'Snapshot Blob': (path) => b.comp(path, 'snapshot'),
	};
	const path = await block();
	const tier = (name) => b.comp(path, 'tier', { 'x-ms-access-tier': name });
	expectStatus(await tier('Archive'), 200);
	for (const change of Object.values(changes)) expectError(await change(path), 409, 'BlobArchived');
	for (const comp of ['metadata', 'tags', 'blocklist']) expectStatus(await b.get(path, {}, { comp }), 200);
	const lease = await b.acquire(path);
	expectStatus(await b.lease(path, 'release', { 'x-ms-lease-id': lease }), 200);
	await slowly(() => tier('Hot'));
	for (const change of Object.values(changes)) expectError(await change(path), 409, 'BlobBeingRehydrated');
	await server.advanceClock(7200);
	assert.equal(expectStatus(await b.get(path), 200).text, 'old');
	for (const [name, change] of Object.entries(changes)) assert.ok((await change(path)).status < 300, name);
	await server.setClock(0);

	const other = await block(); // one that is not wanted any more can go
	expectStatus(await b.comp(other, 'tier', { 'x-ms-access-tier': 'Archive' }), 200);
	expectStatus(await b.delete(other), 202);
	expectStatus(await b.put(other, 'new'), 201);
});

test('a blob keeps its type as long as it lives', async () => {
	const makes = {
		block: (path) => b.put(path, 'new'),
		page: (path) => b.pageBlob(path, 512),
		append: (path) => b.appendBlob(path),
		'block from URL': (path) => client.put(path, { headers: { 'x-ms-copy-source': source(), 'x-ms-blob-type': 'BlockBlob' } }),
	};
	for (const [type, make] of Object.entries({ block, page, append }))
		for (const [other, again] of Object.entries(makes)) {
			const path = await make();
			if (other.startsWith(type)) {
				expectStatus(await again(path), 201);
				continue;
			}
			const was = await b.head(path);
			expectError(await again(path), 409, 'InvalidBlobType');
			const is = await b.head(path);
			assert.deepEqual([is.etag, is.headers['x-ms-blob-type']], [was.etag, was.headers['x-ms-blob-type']]);
			expectStatus(await b.delete(path), 202);
			expectStatus(await again(path), 201);
		}
});

test('a range beyond the end is answered with the length there is', async () => {
	const empty = await b.fresh(home).made((path) => b.put(path, '')), short = await block();
	for (const name of ['Range', 'x-ms-range'])
		for (const [path, range, length] of [[empty, 'bytes=0-4194303', 0], [empty, 'bytes=0-', 0], [short, 'bytes=3-', 3], [short, 'bytes=100-200', 3]])
			assert.equal(expectError(await b.get(path, { [name]: range }), 416, 'InvalidRange').headers['content-range'], `bytes */${length}`);
	const held = await b.get(short, { Range: 'bytes=3-', 'If-Match': '"0x8D0000000000000"' });
	assert.equal(expectError(held, 412, 'ConditionNotMet').headers['content-range'], undefined);
	const staged = await b.comp(short, 'block', { 'x-ms-copy-source': b.readable(short), 'x-ms-source-range': 'bytes=3-' }, undefined, { blockid: base64('id') });
	assert.equal(expectError(staged, 416, 'InvalidRange').headers['content-range'], undefined); // its own length is not what was asked for
});

test('a list begins with startFrom and ends before endBefore', async () => {
	const where = uniqueName('span');
	expectStatus(await b.container(where), 201);
	for (const name of ['a', 'b', 'b/1', 'b/2', 'c', 'd']) expectStatus(await b.put(`/${where}/${name}`, 'x'), 201);
	await b.snapshot(`/${where}/c`);
	expectStatus(await b.block(`/${where}/e`, 'id', 'x'), 201);
	const list = async (query) => {
		const seen = [];
		for (let marker; marker !== ''; ) {
			const { text } = expectStatus(await b.list(where, { maxresults: 2, marker, ...query }), 200);
			seen.push(...elements(text, 'Name'));
			marker = element(text, 'NextMarker') ?? '';
		}
		return seen.join(' ');
	};
	assert.equal(await list({ endBefore: 'c' }), 'a b b/1 b/2');
	assert.equal(await list({ startFrom: 'b/1', endBefore: 'd' }), 'b/1 b/2 c');
	assert.equal(await list({ prefix: 'b', endBefore: 'b/2' }), 'b b/1');
	assert.equal(await list({ prefix: 'b', endBefore: 'z' }), 'b b/1 b/2');
	assert.equal(await list({ prefix: 'b', endBefore: 'a' }), '');
	assert.equal(await list({ startFrom: 'c', endBefore: 'b' }), '');
	assert.equal(await list({ delimiter: '/', endBefore: 'b/2' }), 'a b b/');
	assert.equal(await list({ include: 'snapshots', endBefore: 'd' }), 'a b b/1 b/2 c c');
	assert.equal(await list({ include: 'snapshots', endBefore: 'c' }), 'a b b/1 b/2');
	assert.equal(await list({ include: 'uncommittedblobs', endBefore: 'e' }), 'a b b/1 b/2 c d');
	assert.equal(await list({ include: 'uncommittedblobs', endBefore: '' }), 'a b b/1 b/2 c d e');
	assert.equal(await list({ endBefore: 'z'.repeat(2000) }), 'a b b/1 b/2 c d');
});

test('a blob tells of the copy it is until its properties are set, or it is replaced', async () => {
	const told = async (path) => {
		const { headers } = expectStatus(await b.head(path), 200);
		const { text } = expectStatus(await b.list(home, { prefix: path.split('/')[2], include: 'copy' }), 200);
		const shown = Object.keys(headers).filter((name) => name.startsWith('x-ms-copy-'));
		assert.equal(element(text, 'CopyId'), headers['x-ms-copy-id']);
		return shown.length;
	};
	const changes = {
		'Set Blob Properties': [0, (path) => b.comp(path, 'properties', { 'x-ms-blob-content-type': 'a/b' })],
		'Put Blob': [0, (path) => b.put(path, 'x')],
		'Put Block List': [0, (path) => b.blockList(path, [])],
		'Set Blob Metadata': [5, (path) => b.comp(path, 'metadata', { 'x-ms-meta-a': 'b' })],
		'Set Blob Tier': [5, (path) => b.comp(path, 'tier', { 'x-ms-access-tier': 'Cool' })],
	};
	for (const [name, [count, change]] of Object.entries(changes)) {
		const path = `/${home}/${uniqueName('b')}`;
		expectStatus(await b.copy(path, source()), 202);
		assert.equal(await told(path), 5, name);
		assert.ok((await change(path)).status < 300, name);
		assert.equal(await told(path), count, name);
	}
});

test('a sequence number without an action is refused, and nothing is cleared', async () => {
	const path = await b.fresh(home).made((to) => b.pageBlob(to, 512, { 'x-ms-blob-content-type': 'a/b', 'x-ms-blob-sequence-number': 3 }));
	expectHeaderError(await b.comp(path, 'properties', { 'x-ms-blob-sequence-number': 5 }), 'MissingRequiredHeader', 'x-ms-sequence-number-action');
	const { headers } = await b.head(path);
	assert.deepEqual([headers['x-ms-blob-sequence-number'], headers['content-type']], ['3', 'a/b']);
});

test('Copy Blob From URL tells the MD5 if it was asked to compare it', async () => {
	const copy = (headers) => b.copy(`/${home}/${uniqueName('b')}`, source(), { 'x-ms-requires-sync': 'true', ...headers });
	const asked = expectStatus(await copy({ 'x-ms-source-content-md5': md5('y'.repeat(512)) }), 202);
	assert.equal(asked.headers['content-md5'], md5('y'.repeat(512)));
	const plain = expectStatus(await copy({}), 202);
	assert.deepEqual([plain.headers['content-md5'], plain.headers['x-ms-content-crc64']], [undefined, crc64('y'.repeat(512))]);
});

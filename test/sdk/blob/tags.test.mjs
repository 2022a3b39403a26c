// SPDX-License-Identifier: Apache-2.0
// Tags: set and get, the expressions of x-ms-if-tags and Find Blobs by Tags, and an index that follows every write.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BlobServiceClient } from '@azure/storage-blob';
import { scaled, startServer } from '../../lib/server.mjs';
import { Client } from '../../lib/http.mjs';
import { accountSas, blobSas } from '../../lib/sign.mjs';
import { element, elements, expectError, expectStatus, md5, rejectsWith, uniqueName } from '../../lib/assert.mjs';
import { Blobs, crc64 } from '../../lib/blob.mjs';

let server, client, b, service, container;
const home = uniqueName('tags');
before(async () => {
	server = await startServer();
	client = new Client(server);
	b = new Blobs(client);
	service = BlobServiceClient.fromConnectionString(server.connectionString, { retryOptions: { maxTries: 1 } });
	container = service.getContainerClient(home);
	await container.create();
});
after(() => server?.remove());
const fresh = () => `/${home}/${uniqueName('t')}`;
const xml = (pairs) => `<?xml version="1.0" encoding="utf-8"?><Tags><TagSet>${pairs.map(([k, v]) => `<Tag><Key>${k}</Key><Value>${v}</Value></Tag>`).join('')}</TagSet></Tags>`;
const set = (path, pairs, headers = {}) => b.comp(path, 'tags', headers, typeof pairs === 'string' ? pairs : xml(pairs));
async function tags(path, query = {}) {
	const r = expectStatus(await b.get(path, {}, { comp: 'tags', ...query }), 200);
	const keys = elements(r.text, 'Key'), values = elements(r.text, 'Value');
	return Object.fromEntries(keys.map((k, i) => [k, values[i]]));
}
async function find(where, { at = '/', query = {} } = {}) {
	const names = [];
	let marker;
	do {
		const r = expectStatus(await client.get(at, { query: { ...(at === '/' ? {} : { restype: 'container' }), comp: 'blobs', where, marker, ...query } }), 200);
		names.push(...elements(r.text, 'Name'));
		marker = element(r.text, 'NextMarker');
	} while (marker);
	return names;
}

describe('set and get', () => {
	test('with the official SDK', async () => {
		const blob = container.getBlockBlobClient(uniqueName('sdk'));
		await blob.upload('x', 1, { tags: { first: 'a b', 'k/2': 'x:y=z+1' } });
		assert.deepEqual((await blob.getTags()).tags, { first: 'a b', 'k/2': 'x:y=z+1' });
		assert.equal((await blob.getProperties()).tagCount, 2);
		await blob.setTags({ only: '' });
		assert.deepEqual((await blob.getTags()).tags, { only: '' });
		for await (const item of container.listBlobsFlat({ prefix: blob.name, includeTags: true })) assert.deepEqual(item.tags, { only: '' });
		await blob.setTags({});
		assert.deepEqual((await blob.getTags()).tags, {});
		assert.equal((await blob.getProperties()).tagCount, undefined);
		await rejectsWith(container.getBlockBlobClient('missing').getTags(), 404, 'BlobNotFound');
	});
	test('ETag and time stay; snapshots and copies have their own', async () => {
		const path = fresh();
		expectStatus(await b.put(path, 'x', { 'x-ms-tags': 'a=1' }), 201);
		const before = await b.head(path);
		const snapshot = await b.snapshot(path);
		expectStatus(await set(path, [['a', '2']]), 204);
		const now = await b.head(path);
		assert.deepEqual([now.etag, now.headers['last-modified']], [before.etag, before.headers['last-modified']]);
		assert.deepEqual(await tags(path, { snapshot }), { a: '1' });
		assert.deepEqual(await tags(path), { a: '2' });
	});
	test('limits', async () => {
		const path = fresh();
		expectStatus(await b.put(path, 'x'), 201);
		const n = (count) => Array.from({ length: count }, (_, i) => [`k${i}`, 'v']);
		expectStatus(await set(path, n(10)), 204);
		expectStatus(await set(path, n(11)), 400);
		expectStatus(await set(path, [['k'.repeat(128), 'v'.repeat(256)]]), 204);
		expectStatus(await set(path, [['k'.repeat(129), 'v']]), 400);
		expectStatus(await set(path, [['k', 'v'.repeat(257)]]), 400);
		expectStatus(await set(path, [['', 'v']]), 400);
		expectStatus(await set(path, [['a', '1'], ['a', '2']]), 400);
		for (const bad of ['a!', 'ä', 'a&lt;b', 'a*']) {
			expectStatus(await set(path, [[bad, 'v']]), 400);
			expectStatus(await set(path, [['k', bad]]), 400);
		}
		expectStatus(await set(path, [['aZ 9+-./:=_', '+-./:=_ 9']]), 204);
		assert.deepEqual(await tags(path), { 'aZ 9+-./:=_': '+-./:=_ 9' });
		for (const bad of ['no xml', '<Tags><TagSet><Tag><Key>a</Key></Tag></TagSet>', '<Other/>', '<!DOCTYPE t><Tags><TagSet></TagSet></Tags>', xml([['a', '<x/>']]), xml([['<x/>', 'a']]), xml([['a', '1</Value><Value>2']])]) expectError(await set(path, bad), 400, 'InvalidXmlDocument');
		expectStatus(await b.put(fresh(), 'x', { 'x-ms-tags': Array.from({ length: 11 }, (_, i) => `k${i}=v`).join('&') }), 400);
		expectStatus(await b.put(fresh(), 'x', { 'x-ms-tags': `k=${'v'.repeat(2048)}` }), 400);
		expectStatus(await b.put(fresh(), 'x', { 'x-ms-tags': 'k=%zz' }), 400);
	});
	test('hashes of the document', async () => {
		const path = fresh(), body = xml([['a', 'b']]);
		expectStatus(await b.put(path, 'x'), 201);
		expectStatus(await set(path, body, { 'Content-MD5': md5(body) }), 204);
		expectStatus(await set(path, body, { 'x-ms-content-crc64': crc64(body) }), 204);
		expectError(await set(path, body, { 'Content-MD5': md5('x') }), 400, 'Md5Mismatch');
		expectError(await set(path, body, { 'x-ms-content-crc64': crc64('x') }), 400, 'Crc64Mismatch');
	});
	test('permission t', async () => {
		const path = fresh(), name = path.split('/')[2];
		expectStatus(await b.put(path, 'x', { 'x-ms-tags': 'a=1' }), 201);
		const sas = (sp) => blobSas(server.account, server.key, home, name, { sp });
		const q = { query: { comp: 'tags' } };
		expectStatus(await client.get(path, { ...q, sas: sas('t') }), 200);
		expectError(await client.get(path, { ...q, sas: sas('rw') }), 403, 'AuthorizationPermissionMismatch');
		expectStatus(await client.put(path, { ...q, sas: sas('t'), body: xml([]) }), 204);
		expectError(await client.put(path, { ...q, sas: sas('w'), body: xml([]) }), 403, 'AuthorizationPermissionMismatch');
		expectError(await client.put(path, { sas: sas('cw'), body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob', 'x-ms-tags': 'a=1' } }), 403, 'AuthorizationPermissionMismatch');
		expectStatus(await client.put(path, { sas: sas('cwt'), body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob', 'x-ms-tags': 'a=1' } }), 201);
		const list = (sp, include) => client.get(`/${home}`, { query: { restype: 'container', comp: 'list', include, maxresults: 1 }, sas: blobSas(server.account, server.key, home, undefined, { sp }) });
		expectStatus(await list('l'), 200);
		expectStatus(await list('l', 'metadata'), 200);
		expectError(await list('l', 'metadata,tags'), 403, 'AuthorizationPermissionMismatch');
		expectStatus(await list('lt', 'metadata,tags'), 200);
	});
	test('permission t of both sides of a copy that takes the tags along', async () => {
		const from = fresh(), to = fresh();
		expectStatus(await b.put(from, 'x', { 'x-ms-tags': 'a=1' }), 201);
		const sas = (path, sp) => blobSas(server.account, server.key, home, path.split('/')[2], { sp });
		const copy = (sourceSp, sp, form) => client.put(to, { sas: sas(to, sp), headers: { 'x-ms-copy-source': b.url(from, {}, sas(from, sourceSp)), 'x-ms-copy-source-tag-option': 'COPY', ...form } });
		for (const form of [{ 'x-ms-requires-sync': 'true' }, { 'x-ms-blob-type': 'BlockBlob' }]) {
			expectError(await copy('rt', 'w', form), 403, 'AuthorizationPermissionMismatch');
			expectError(await copy('r', 'wt', form), 403, 'CannotVerifyCopySource');
			const r = await copy('rt', 'wt', form);
			assert.ok(r.status === 201 || r.status === 202, `${r.status} ${r.code}`);
			assert.deepEqual(await tags(to), { a: '1' });
		}
	});
	test('late versions know conditions of their own', async () => {
		const path = fresh();
		expectStatus(await b.put(path, 'x'), 201);
		const { etag } = await b.head(path);
		expectStatus(await set(path, [['a', '1']], { 'x-ms-blob-if-match': etag }), 204);
		expectError(await set(path, [['a', '2']], { 'x-ms-blob-if-match': '"0x8D0000000000000"' }), 412, 'ConditionNotMet');
		assert.deepEqual(await tags(path), { a: '1' });
	});
});

describe('x-ms-if-tags', () => {
	let path;
	before(async () => {
		path = fresh();
		expectStatus(await b.put(path, 'x', { 'x-ms-tags': 'status=open&size=050&Mixed=Case&two words=yes' }), 201);
	});
	const CASES = [
		[`status = 'open'`, true],
		[`status='open'`, true],
		[`"status" = 'open'`, true],
		[`status = 'closed'`, false],
		[`status <> 'closed'`, true],
		[`status <> 'open'`, false],
		[`size > '049'`, true],
		[`size > '050'`, false],
		[`size >= '050'`, true],
		[`size < '050'`, false],
		[`size <= '050'`, true],
		[`size < '100'`, true],
		[`missing = 'x'`, false],
		[`missing <> 'x'`, false],
		[`Mixed = 'Case'`, true],
		[`mixed = 'Case'`, false],
		[`Mixed = 'case'`, false],
		[`"two words" = 'yes'`, true],
		[`status = 'open' AND size = '050'`, true],
		[`status = 'open' AND size = '051'`, false],
		[`status = 'closed' OR size = '050'`, true],
		[`status = 'closed' OR size = '051'`, false],
		[`status = 'closed' AND size = '050' OR Mixed = 'Case'`, true],
		[`Mixed = 'Case' OR status = 'closed' AND size = '051'`, true],
		[`status = 'open' and size = '050'`, true],
	];
	for (const [expression, holds] of CASES)
		test(`${expression} is ${holds}`, async () => {
			const r = await b.head(path, { 'x-ms-if-tags': expression });
			assert.equal(r.status, holds ? 200 : 412, `${r.headers['x-ms-error-code']}`);
			if (!holds) assert.equal(r.headers['x-ms-error-code'], 'ConditionNotMet');
		});
	for (const bad of ['status', 'status =', `status = open`, `= 'open'`, `status == 'open'`, `status = 'open' AND`, `status = 'open' XOR size = '1'`, `status = 'open`, `(status = 'open'`, Array(12).fill(`a = 'b'`).join(' AND ')])
		test(`${bad.slice(0, 40)} is no expression`, async () => expectStatus(await b.get(path, { 'x-ms-if-tags': bad }), 400));
	test('together with an ETag, and with a lease', async () => {
		const { etag } = await b.head(path);
		expectStatus(await b.comp(path, 'metadata', { 'x-ms-if-tags': `status = 'open'`, 'If-Match': '"0x8D0000000000000"' }), 412);
		expectStatus(await b.comp(path, 'metadata', { 'x-ms-if-tags': `status = 'closed'`, 'If-Match': etag }), 412);
		expectStatus(await b.comp(path, 'metadata', { 'x-ms-if-tags': `status = 'open'`, 'If-Match': etag }), 200);
		const id = await b.acquire(path);
		expectError(await b.comp(path, 'metadata', { 'x-ms-if-tags': `status = 'closed'`, 'x-ms-lease-id': id }), 412, 'ConditionNotMet');
		expectStatus(await b.comp(path, 'metadata', { 'x-ms-if-tags': `status = 'open'`, 'x-ms-lease-id': id }), 200);
	});
	test('needs the letter t', async () => {
		const sas = blobSas(server.account, server.key, home, path.split('/')[2], { sp: 'r' });
		expectError(await client.get(path, { sas, headers: { 'x-ms-if-tags': `status = 'open'` } }), 403, 'AuthorizationPermissionMismatch');
	});
});

describe('find', () => {
	const mark = uniqueName('m');
	const second = uniqueName('tagz');
	const SIZES = ['010', '020', '030', '040'];
	before(async () => {
		expectStatus(await b.container(second), 201);
		for (const where of [home, second])
			for (const size of SIZES) expectStatus(await b.put(`/${where}/find-${size}`, 'x', { 'x-ms-tags': `mark=${mark}&size=${size}&half=${size < '025' ? 'low' : 'high'}` }), 201);
	});
	const all = (sizes) => sizes.map((s) => `find-${s}`);
	test('in a container', async () => {
		const at = `/${home}`;
		assert.deepEqual(await find(`mark='${mark}'`, { at }), all(SIZES));
		assert.deepEqual(await find(`mark='${mark}' AND size > '010' AND size <= '030'`, { at }), all(['020', '030']));
		assert.deepEqual(await find(`size >= '040' AND mark = '${mark}'`, { at }), all(['040']));
		assert.deepEqual(await find(`mark='${mark}' AND half='low'`, { at }), all(['010', '020']));
		assert.deepEqual(await find(`mark='nobody'`, { at }), []);
		expectStatus(await client.get(at, { query: { restype: 'container', comp: 'blobs', where: `@container='${home}'` } }), 400);
	});
	test('in the account, by pages', async () => {
		assert.equal((await find(`mark='${mark}'`)).length, 8);
		assert.deepEqual((await find(`mark='${mark}'`, { query: { maxresults: 3 } })).sort(), [...all(SIZES), ...all(SIZES)].sort());
		assert.deepEqual(await find(`@container='${second}' AND mark='${mark}' AND size < '030'`), all(['010', '020']));
	});
	test('the answer, and the official SDK', async () => {
		const r = expectStatus(await client.get('/', { query: { comp: 'blobs', where: `@container='${home}' AND size='010' AND mark='${mark}'` } }), 200);
		assert.equal(element(r.text, 'ContainerName'), home);
		assert.ok(r.text.includes('<Where>'));
		const seen = [];
		for await (const item of service.findBlobsByTags(`mark='${mark}' AND size='020'`)) seen.push([item.containerName, item.name, item.tags]);
		assert.deepEqual(seen.map((x) => x[0]).sort(), [home, second].sort());
		assert.deepEqual(seen[0][2], { mark, size: '020' });
	});
	test('a range by pages: each blob once, whatever the order of values and names', async () => {
		const count = scaled(22000, 300), there = uniqueName('many');
		expectStatus(await b.container(there), 201);
		const names = Array.from({ length: count }, (_, i) => `n${String(i).padStart(5, '0')}`);
		const value = (i) => `v${String(count - i).padStart(5, '0')}`;
		let next = 0;
		await Promise.all(Array.from({ length: 32 }, async () => {
			while (next < count) {
				const i = next++;
				expectStatus(await b.put(`/${there}/${names[i]}`, '', { 'x-ms-tags': `k=${value(i)}&odd=${i % 2}&r=${i % 7}` }), 201);
			}
		}));
		const among = (holds) => names.filter((_, i) => holds(i)).sort();
		const found = async (where, maxresults) => (await find(where, { at: `/${there}`, query: { maxresults } })).sort();
		assert.deepEqual(await found(`k>='v'`), names);
		assert.deepEqual(await found(`k<='w'`, 997), names);
		assert.deepEqual(await found(`k>'${value(count - 10)}' AND k<'${value(9)}'`), among((i) => i > 9 && i < count - 10));
		assert.deepEqual(await found(`k>='v' AND r<'2'`, 500), among((i) => i % 7 < 2), 'the first term is walked, the second judged');
		assert.deepEqual(await found(`k>='v' AND odd='1' AND r>='6'`, 100), among((i) => i % 2 === 1 && i % 7 === 6));
		assert.deepEqual(await found(`k>='v' AND r>'6'`), []);
		for (const bad of ['2!8!AAAAAAAA', 'x', '2!16!AAAAAAAAAP9jL3g=']) expectError(await client.get(`/${there}`, { query: { restype: 'container', comp: 'blobs', where: `k>='v'`, marker: bad } }), 400, 'OutOfRangeInput');
	});
	test('long names by pages', async () => {
		const there = uniqueName('long'), names = Array.from({ length: 3 }, (_, i) => '日'.repeat(1024 - i));
		expectStatus(await b.container(there), 201);
		for (const name of names) expectStatus(await b.put(`/${there}/${encodeURIComponent(name)}`, '', { 'x-ms-tags': `k=${'v'.repeat(256)}` }), 201);
		assert.deepEqual((await find(`k='${'v'.repeat(256)}'`, { at: `/${there}`, query: { maxresults: 1 } })).sort(), names.sort());
	});
	for (const bad of ['', 'mark', `mark = x`, `mark <> 'x'`, `mark = 'x' OR size = '1'`, `mark LIKE 'x'`, `@blob = 'x'`])
		test(`${bad || 'nothing'} is refused`, async () => expectStatus(await client.get('/', { query: { comp: 'blobs', where: bad } }), 400));
	test('the permission f', async () => {
		const q = { query: { comp: 'blobs', where: `mark='${mark}'` } };
		expectStatus(await client.get('/', { ...q, sas: accountSas(server.account, server.key, { sp: 'f' }) }), 200);
		expectStatus(await client.get('/', { ...q, sas: accountSas(server.account, server.key, { sp: 'rl' }) }), 403);
	});
});

test('the index follows writes', async () => {
	const mark = uniqueName('i');
	const at = `/${home}`;
	const found = (where = `mark='${mark}'`) => find(where, { at });
	const path = fresh(), name = path.split('/')[2];
	expectStatus(await b.put(path, 'x', { 'x-ms-tags': `mark=${mark}&v=1` }), 201);
	assert.deepEqual(await found(), [name]);
	expectStatus(await set(path, [['mark', mark], ['v', '2']]), 204);
	assert.deepEqual(await found(`mark='${mark}' AND v='1'`), []);
	assert.deepEqual(await found(`mark='${mark}' AND v='2'`), [name]);
	expectStatus(await b.comp(path, 'metadata', { 'x-ms-meta-a': 'b' }), 200);
	assert.deepEqual(await found(), [name], 'metadata leaves tags');
	expectStatus(await b.put(path, 'y'), 201);
	assert.deepEqual(await found(), [], 'an overwrite without tags');
	expectStatus(await b.blockList(path, [], { 'x-ms-tags': `mark=${mark}` }), 201);
	assert.deepEqual(await found(), [name]);
	await b.snapshot(path);
	assert.deepEqual(await found(), [name], 'a snapshot is not found');
	const copy = fresh();
	expectStatus(await b.copy(copy, b.url(path), { 'x-ms-tags': `mark=${mark}` }), 202);
	assert.deepEqual((await found()).sort(), [name, copy.split('/')[2]].sort());
	expectStatus(await b.delete(path, { 'x-ms-delete-snapshots': 'include' }), 202);
	assert.deepEqual(await found(), [copy.split('/')[2]]);
	expectStatus(await b.delete(copy), 202);
	assert.deepEqual(await found(), []);
});

test('a find during writes shows only tags that were set', async () => {
	const mark = uniqueName('r');
	const path = fresh(), name = path.split('/')[2];
	expectStatus(await b.put(path, 'x', { 'x-ms-tags': `mark=${mark}&v=0` }), 201);
	let stop = false;
	const writing = (async () => {
		for (let i = 1; !stop; i++) expectStatus(await set(path, [['mark', mark], ['v', String(i % 10)]]), 204);
	})();
	try {
		for (let i = 0; i < scaled(60, 10); i++) assert.deepEqual(await find(`mark='${mark}'`, { at: `/${home}` }), [name], 'once, always');
	} finally {
		stop = true;
		await writing;
	}
});

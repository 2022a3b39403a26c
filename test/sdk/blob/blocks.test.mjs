// SPDX-License-Identifier: Apache-2.0
// Block lists: which block a list means, what stays, what goes, and every documented refusal.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BlobServiceClient } from '@azure/storage-blob';
import { startServer } from '../../lib/server.mjs';
import { Client } from '../../lib/http.mjs';
import { blobSas } from '../../lib/sign.mjs';
import { element, expectError, expectStatus, md5, uniqueName } from '../../lib/assert.mjs';
import { Blobs, base64, crc64, random } from '../../lib/blob.mjs';

let server, client, b, container;
const home = uniqueName('blocks');
before(async () => {
	server = await startServer();
	client = new Client(server);
	b = new Blobs(client);
	container = BlobServiceClient.fromConnectionString(server.connectionString, { retryOptions: { maxTries: 1 } }).getContainerClient(home);
	await container.create();
});
after(() => server?.remove());
const fresh = () => `/${home}/${uniqueName('b')}`;
const text = async (path) => expectStatus(await b.get(path), 200).text;

describe('stage and commit', () => {
	test('with the official SDK', async () => {
		const blob = container.getBlockBlobClient(uniqueName('sdk'));
		const parts = [random(70_000), random(1), random(1_100_000)];
		for (const [i, part] of parts.entries()) await blob.stageBlock(base64(`id${i}`), part, part.length);
		const open = await blob.getBlockList('all');
		assert.equal(open.etag, undefined);
		assert.deepEqual(open.committedBlocks ?? [], []);
		assert.deepEqual(open.uncommittedBlocks.map((x) => [x.name, Number(x.size)]), parts.map((p, i) => [base64(`id${i}`), p.length]));
		const done = await blob.commitBlockList(['id2', 'id0', 'id1'].map(base64), { metadata: { a: '1' }, blobHTTPHeaders: { blobContentType: 'text/x' } });
		const want = Buffer.concat([parts[2], parts[0], parts[1]]);
		assert.ok((await blob.downloadToBuffer()).equals(want));
		const p = await blob.getProperties();
		assert.deepEqual([p.etag, p.contentType, p.metadata, p.contentLength, p.contentMD5], [done.etag, 'text/x', { a: '1' }, want.length, undefined]);
		const list = await blob.getBlockList('all');
		assert.deepEqual(list.committedBlocks.map((x) => x.name), ['id2', 'id0', 'id1'].map(base64));
		assert.deepEqual(list.uncommittedBlocks ?? [], []);
		assert.equal(list.etag, done.etag);
	});
	test('latest, committed, uncommitted', async () => {
		const path = fresh();
		for (const [id, body] of [['a', 'A1'], ['b', 'B1'], ['c', 'C1']]) expectStatus(await b.block(path, id, body), 201);
		expectStatus(await b.blockList(path, ['a', 'b', 'c']), 201);
		expectStatus(await b.block(path, 'a', 'A2'), 201);
		expectStatus(await b.block(path, 'd', 'D2'), 201);
		assert.equal(await text(path), 'A1B1C1', 'what is not committed is not seen');
		const before = await b.blocks(path);
		assert.deepEqual(before.committed, [['a', 2], ['b', 2], ['c', 2]]);
		assert.deepEqual(before.uncommitted, [['a', 2], ['d', 2]]);
		// The committed a, the new a, and both by Latest (the newer).
		expectStatus(await b.blockList(path, [['Committed', 'a'], ['Uncommitted', 'a'], 'a', 'd', ['Committed', 'c']]), 201);
		assert.equal(await text(path), 'A1A2A2D2C1');
		assert.deepEqual((await b.blocks(path)).uncommitted, []);
	});
	test('refused lists change nothing', async () => {
		const path = fresh();
		expectStatus(await b.block(path, 'a', 'A1'), 201);
		expectStatus(await b.blockList(path, ['a']), 201);
		expectStatus(await b.block(path, 'b', 'B2'), 201);
		const etag = (await b.head(path)).etag;
		expectError(await b.blockList(path, ['a', 'nowhere']), 400, 'InvalidBlockList');
		expectError(await b.blockList(path, [['Uncommitted', 'a']]), 400, 'InvalidBlockList');
		expectError(await b.blockList(path, [['Committed', 'b']]), 400, 'InvalidBlockList');
		assert.equal((await b.head(path)).etag, etag);
		assert.equal(await text(path), 'A1');
		assert.deepEqual((await b.blocks(path)).uncommitted, [['b', 2]], 'still there');
		expectStatus(await b.blockList(path, ['a', 'b']), 201);
		assert.equal(await text(path), 'A1B2');
	});
	test('what a list does not name is gone', async () => {
		const path = fresh();
		for (const id of ['a', 'b', 'c']) expectStatus(await b.block(path, id, id), 201);
		expectStatus(await b.blockList(path, ['a', 'b']), 201);
		assert.deepEqual(await b.blocks(path).then((l) => [l.committed, l.uncommitted]), [[['a', 1], ['b', 1]], []]);
		expectError(await b.blockList(path, ['c']), 400, 'InvalidBlockList');
		expectStatus(await b.blockList(path, ['b']), 201);
		expectError(await b.blockList(path, ['a']), 400, 'InvalidBlockList');
		assert.equal(await text(path), 'b');
	});
	test('one block many times', async () => {
		const path = fresh();
		expectStatus(await b.block(path, 'a', '12'), 201);
		expectStatus(await b.blockList(path, ['a', 'a', 'a']), 201);
		assert.equal(await text(path), '121212');
		assert.deepEqual((await b.blocks(path)).committed, [['a', 2], ['a', 2], ['a', 2]]);
		expectStatus(await b.blockList(path, ['a']), 201);
		assert.equal(await text(path), '12');
		expectStatus(await b.blockList(path, ['a', 'a']), 201);
		assert.equal(await text(path), '1212');
	});
	test('an empty list makes an empty blob', async () => {
		const path = fresh();
		expectStatus(await b.blockList(path, []), 201);
		assert.equal(await text(path), '');
		expectStatus(await b.put(path, 'filled'), 201);
		expectStatus(await b.blockList(path, []), 201);
		assert.equal(await text(path), '');
	});
	test('a block may be replaced before the commit; the last one counts', async () => {
		const path = fresh();
		for (const body of ['one', 'two', 'three']) expectStatus(await b.block(path, 'a', body), 201);
		assert.deepEqual((await b.blocks(path)).uncommitted, [['a', 5]]);
		expectStatus(await b.blockList(path, ['a']), 201);
		assert.equal(await text(path), 'three');
	});
	test('a committed list replaces properties, metadata and tags', async () => {
		const path = fresh();
		expectStatus(await b.put(path, 'x', { 'x-ms-blob-content-type': 'a/b', 'x-ms-meta-m': '1', 'x-ms-tags': 't=1', 'x-ms-blob-content-language': 'de' }), 201);
		expectStatus(await b.block(path, 'a', 'A'), 201);
		expectStatus(await b.blockList(path, ['a']), 201);
		const p = await b.head(path);
		assert.equal(p.headers['content-type'], 'application/octet-stream');
		for (const name of ['x-ms-meta-m', 'x-ms-tag-count', 'content-language', 'content-md5']) assert.equal(p.headers[name], undefined, name);
		expectStatus(await b.blockList(path, ['a'], { 'x-ms-blob-content-md5': md5('A'), 'x-ms-tags': 'k=v' }), 201);
		const q = await b.head(path);
		assert.equal(q.headers['content-md5'], md5('A'));
		assert.equal(q.headers['x-ms-tag-count'], '1');
	});
});

describe('the end of uncommitted blocks', () => {
	test('Put Blob discards them', async () => {
		const path = fresh();
		expectStatus(await b.block(path, 'a', 'A'), 201);
		expectStatus(await b.put(path, 'whole'), 201);
		assert.deepEqual((await b.blocks(path)).uncommitted, []);
		expectError(await b.blockList(path, ['a']), 400, 'InvalidBlockList');
		assert.equal(await text(path), 'whole');
	});
	test('Delete Blob and a copy onto it discard them too', async () => {
		const path = fresh();
		expectStatus(await b.put(path, 'x'), 201);
		expectStatus(await b.block(path, 'a', 'A'), 201);
		expectStatus(await b.delete(path), 202);
		expectError(await b.blockList(path, ['a']), 400, 'InvalidBlockList');
		const source = fresh();
		expectStatus(await b.put(source, 'source'), 201);
		expectStatus(await b.block(path, 'a', 'A'), 201);
		expectStatus(await b.copy(path, b.url(source)), 202);
		expectError(await b.blockList(path, ['a']), 400, 'InvalidBlockList');
	});
	test('an uncommitted blob is no blob, but its blocks are listed', async () => {
		const path = fresh();
		expectStatus(await b.block(path, 'a', 'A'), 201);
		expectError(await b.get(path), 404, 'BlobNotFound');
		const { answer } = await b.blocks(path);
		assert.equal(answer.etag, undefined);
		assert.equal(answer.headers['last-modified'], undefined);
		const name = path.split('/')[2];
		const plain = expectStatus(await b.list(home, { prefix: name }), 200).text;
		assert.ok(!plain.includes(name + '</Name>'));
		const all = expectStatus(await b.list(home, { prefix: name, include: 'uncommittedblobs' }), 200).text;
		assert.ok(all.includes(`<Name>${name}</Name>`), all);
		assert.equal(element(all, 'Content-Length'), '0');
		expectStatus(await b.delete(path), 202);
		expectError(await b.delete(path), 404, 'BlobNotFound');
	});
	test('a week after the last one', async () => {
		const path = fresh();
		const DAY = 86400;
		expectStatus(await b.block(path, 'a', 'A'), 201);
		await server.advanceClock(6 * DAY);
		expectStatus(await b.block(path, 'b', 'B'), 201);
		await server.advanceClock(6 * DAY);
		assert.deepEqual((await b.blocks(path)).uncommitted, [['a', 1], ['b', 1]], 'a later block keeps the earlier ones');
		await server.advanceClock(DAY + 60);
		expectError(await client.get(path, { query: { comp: 'blocklist', blocklisttype: 'all' } }), 404, 'BlobNotFound');
		expectError(await b.blockList(path, ['a']), 400, 'InvalidBlockList');
		// Ids of another length: nothing of the old staging counts.
		expectStatus(await b.block(path, 'longer', 'L'), 201);
		expectStatus(await b.blockList(path, ['longer']), 201);
		assert.equal(await text(path), 'L');
		await server.setClock(0);
	});
});

describe('what is refused', () => {
	test('ids: length, Base64, size', async () => {
		const path = fresh();
		expectStatus(await b.block(path, 'ab', 'x'), 201);
		expectError(await b.block(path, 'abc', 'x'), 400, 'InvalidBlobOrBlock');
		const put = (blockid) => client.put(path, { query: { comp: 'block', blockid }, body: 'x' });
		expectError(await put('%%%'), 400, 'InvalidQueryParameterValue');
		expectError(await put(''), 400, 'InvalidQueryParameterValue');
		expectError(await client.put(path, { query: { comp: 'block' }, body: 'x' }), 400, 'MissingRequiredQueryParameter');
		const other = fresh();
		expectStatus(await b.block(other, 'i'.repeat(64), 'x'), 201);
		expectError(await b.block(fresh(), 'i'.repeat(65), 'x'), 400, 'InvalidQueryParameterValue');
	});
	test('an empty block', async () => expectError(await b.block(fresh(), 'a', ''), 400, 'InvalidHeaderValue'));
	test('blob types', async () => {
		const page = fresh(), append = fresh();
		expectStatus(await b.pageBlob(page, 512), 201);
		expectStatus(await b.appendBlob(append), 201);
		for (const path of [page, append]) {
			expectError(await b.block(path, 'a', 'A'), 409, 'InvalidBlobType');
			expectError(await b.blockList(path, []), 409, 'InvalidBlobType');
			expectError(await client.get(path, { query: { comp: 'blocklist' } }), 409, 'InvalidBlobType');
		}
	});
	test('documents', async () => {
		const path = fresh();
		const list = (body) => b.comp(path, 'blocklist', {}, body);
		expectError(await list('no xml'), 400, 'InvalidXmlDocument');
		expectError(await list('<BlockList><Latest>YQ==</Latest>'), 400, 'InvalidXmlDocument');
		expectError(await list('<Other></Other>'), 400, 'InvalidXmlDocument');
		expectError(await list('<BlockList><Newest>YQ==</Newest></BlockList>'), 400, 'InvalidXmlDocument');
		expectError(await list('<!DOCTYPE x [<!ENTITY e "y">]><BlockList></BlockList>'), 400, 'InvalidXmlDocument');
		expectError(await list(''), 400, 'InvalidXmlDocument');
		expectStatus(await list('<BlockList><Latest>!!!</Latest></BlockList>'), 400);
		expectStatus(await b.put(path, 'stays'), 201);
		for (const text of ['AAAA', ' YQ== ', '&#65;', '<![CDATA[YQ==]]>']) expectError(await list(`<BlockList>${text}</BlockList>`), 400, 'InvalidXmlDocument');
		assert.equal((await b.get(path)).text, 'stays');
		expectStatus(await list('<BlockList>\n\t</BlockList>'), 201);
	});
	test('missing things', async () => {
		expectError(await b.blockList('/no-such-container/b', []), 404, 'ContainerNotFound');
		expectError(await b.block('/no-such-container/b', 'a', 'A'), 404, 'ContainerNotFound');
		expectError(await client.get(fresh(), { query: { comp: 'blocklist' } }), 404, 'BlobNotFound');
		expectError(await client.get(fresh(), { query: { comp: 'blocklist', blocklisttype: 'some' } }), 400, 'InvalidQueryParameterValue');
	});
	test('a SAS that may create but not write', async () => {
		const path = fresh(), name = path.split('/')[2];
		const sas = blobSas(server.account, server.key, home, name, { sp: 'c' });
		const commit = (o) => client.put(path, { query: { comp: 'blocklist' }, body: '<BlockList></BlockList>', ...o });
		expectStatus(await client.put(path, { sas, query: { comp: 'block', blockid: base64('a') }, body: 'A' }), 201);
		expectStatus(await commit({ sas }), 201);
		expectError(await commit({ sas }), 403, 'UnauthorizedBlobOverwrite');
	});
	test('50,000 entries and no more', async () => {
		const path = fresh();
		expectStatus(await b.block(path, 'a', '7'), 201);
		expectError(await b.blockList(path, Array(50_001).fill('a')), 400, 'BlockListTooLong');
		expectStatus(await b.blockList(path, Array(50_000).fill('a')), 201);
		const r = await b.get(path);
		assert.equal(r.body.length, 50_000);
		assert.ok(r.body.equals(Buffer.alloc(50_000, '7')));
		assert.equal((await b.blocks(path, 'committed')).committed.length, 50_000);
		expectStatus(await b.delete(path), 202);
	});
	test('hashes of blocks and lists', async () => {
		const path = fresh();
		const r = expectStatus(await b.block(path, 'a', 'A', { 'Content-MD5': md5('A') }), 201);
		assert.equal(r.headers['content-md5'], md5('A'));
		assert.equal(expectStatus(await b.block(path, 'b', 'B'), 201).headers['x-ms-content-crc64'], crc64('B'));
		expectStatus(await b.block(path, 'b', 'B', { 'x-ms-content-crc64': crc64('B') }), 201);
		expectError(await b.block(path, 'b', 'B', { 'Content-MD5': md5('A') }), 400, 'Md5Mismatch');
		expectError(await b.block(path, 'b', 'B', { 'x-ms-content-crc64': crc64('A') }), 400, 'Crc64Mismatch');
		expectError(await b.block(path, 'b', 'B', { 'Content-MD5': 'short' }), 400, 'InvalidMd5');
		expectError(await b.block(path, 'b', 'B', { 'Content-MD5': md5('B'), 'x-ms-content-crc64': crc64('B') }), 400, 'BothCrc64AndMd5HeaderPresent');
		const body = '<BlockList></BlockList>';
		expectError(await b.comp(path, 'blocklist', { 'Content-MD5': md5('A') }, body), 400, 'Md5Mismatch');
		expectError(await b.comp(path, 'blocklist', { 'x-ms-content-crc64': crc64('A') }, body), 400, 'Crc64Mismatch');
		expectStatus(await b.comp(path, 'blocklist', { 'Content-MD5': md5(body) }, body), 201);
	});
});

test('snapshots keep the blocks that a later list reuses or drops', async () => {
	const path = fresh();
	for (const id of ['a', 'b']) expectStatus(await b.block(path, id, id.repeat(3)), 201);
	expectStatus(await b.blockList(path, ['a', 'b']), 201);
	const snapshot = await b.snapshot(path);
	expectStatus(await b.block(path, 'c', 'ccc'), 201);
	expectStatus(await b.blockList(path, ['b', 'c']), 201);
	assert.equal(await text(path), 'bbbccc');
	assert.equal((await b.get(path, {}, { snapshot })).text, 'aaabbb');
	assert.deepEqual((await b.blocks(path, 'committed', { snapshot })).committed, [['a', 3], ['b', 3]]);
	expectStatus(await b.delete(path, {}, { snapshot }), 202);
	assert.equal(await text(path), 'bbbccc');
	expectStatus(await b.blockList(path, ['c', 'b']), 201);
	assert.equal(await text(path), 'cccbbb');
});

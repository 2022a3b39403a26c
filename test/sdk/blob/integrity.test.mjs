// SPDX-License-Identifier: Apache-2.0
// Hashes wherever they can be given or asked for, limits of names and metadata, and lists that show all that can be included.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startServer } from '../../lib/server.mjs';
import { Client } from '../../lib/http.mjs';
import { element, elements, expectError, expectStatus, md5, uniqueName } from '../../lib/assert.mjs';
import { Blobs, crc64, crc64Value, random, range } from '../../lib/blob.mjs';

let server, client, b;
const home = uniqueName('whole');
before(async () => {
	server = await startServer();
	client = new Client(server);
	b = new Blobs(client);
	expectStatus(await b.container(home), 201);
});
after(() => server?.remove());
const fresh = () => `/${home}/${uniqueName('i')}`;
const KIB = 1024, MIB = 1024 * KIB;

test('the test’s own CRC64 is CRC-64/NVME', () => assert.equal(crc64Value('123456789'), 0xae8b14860a799888n));

describe('hashes of what is written', () => {
	const body = Buffer.from('the bytes that are written');
	const page = random(512);
	const XML = '<?xml version="1.0" encoding="utf-8"?><BlockList></BlockList>';
	const WRITES = {
		'Put Blob': [async () => fresh(), (p, h) => b.put(p, body, h), body],
		'Put Block': [async () => fresh(), (p, h) => b.block(p, 'id', body, h), body],
		'Put Block List': [async () => fresh(), (p, h) => b.comp(p, 'blocklist', h, XML), XML],
		'Put Page': [async () => { const p = fresh(); expectStatus(await b.pageBlob(p, 512), 201); return p; }, (p, h) => b.pages(p, 0, page, h), page],
		'Append Block': [async () => { const p = fresh(); expectStatus(await b.appendBlob(p), 201); return p; }, (p, h) => b.append(p, body, h), body],
	};
	for (const [name, [make, write, bytes]] of Object.entries(WRITES))
		test(name, async () => {
			const right = { 'Content-MD5': md5(bytes) }, rightCrc = { 'x-ms-content-crc64': crc64(bytes) };
			expectStatus(await write(await make(), right), 201);
			expectStatus(await write(await make(), rightCrc), 201);
			const m = expectError(await write(await make(), { 'Content-MD5': md5('other') }), 400, 'Md5Mismatch');
			assert.equal(element(m.text, 'UserSpecifiedMd5'), md5('other'));
			assert.equal(element(m.text, 'ServerCalculatedMd5'), md5(bytes));
			const c = expectError(await write(await make(), { 'x-ms-content-crc64': crc64('other') }), 400, 'Crc64Mismatch');
			assert.equal(element(c.text, 'ServerCalculatedCrc'), crc64(bytes));
			expectError(await write(await make(), { ...right, ...rightCrc }), 400, 'BothCrc64AndMd5HeaderPresent');
			expectError(await write(await make(), { 'Content-MD5': 'AAAA' }), 400, 'InvalidMd5');
			expectError(await write(await make(), { 'Content-MD5': '!' }), 400, 'InvalidMd5');
			expectStatus(await write(await make(), { 'x-ms-content-crc64': 'AAAA' }), 400);
		});
	test('a refused body leaves nothing behind', async () => {
		for (const size of [10, 100 * KIB, 5 * MIB]) {
			const path = fresh();
			expectError(await b.put(path, random(size), { 'Content-MD5': md5('other') }), 400, 'Md5Mismatch');
			expectError(await b.get(path), 404, 'BlobNotFound');
			expectStatus(await b.put(path, 'old'), 201);
			expectError(await b.put(path, random(size), { 'x-ms-content-crc64': crc64('other') }), 400, 'Crc64Mismatch');
			assert.equal((await b.get(path)).text, 'old');
		}
	});
	test('what the server answers and keeps', async () => {
		const bytes = random(70 * KIB), path = fresh();
		const r = expectStatus(await b.put(path, bytes), 201);
		assert.equal(r.headers['content-md5'], md5(bytes));
		assert.equal(r.headers['x-ms-content-crc64'], crc64(bytes));
		assert.equal((await b.head(path)).headers['content-md5'], md5(bytes));
		// Set by the client it is kept as it is; a write that changes the bytes of an append blob drops it.
		expectStatus(await b.comp(path, 'properties', { 'x-ms-blob-content-md5': md5('mine') }), 200);
		assert.equal((await b.head(path)).headers['content-md5'], md5('mine'));
		expectStatus(await b.comp(path, 'properties', { 'x-ms-blob-content-type': 'a/b' }), 200);
		assert.equal((await b.head(path)).headers['content-md5'], undefined, 'one of the six replaces all six');
		expectError(await b.comp(path, 'properties', { 'x-ms-blob-content-md5': 'x' }), 400, 'InvalidHeaderValue');
	});
});

describe('hashes of what is read', () => {
	let path;
	const bytes = random(5 * MIB);
	before(async () => {
		path = fresh();
		expectStatus(await b.put(path, bytes), 201);
	});
	const MD5 = { 'x-ms-range-get-content-md5': 'true' }, CRC = { 'x-ms-range-get-content-crc64': 'true' };
	for (const [first, count] of [[0, 1], [0, 511], [1, 4095], [4 * KIB - 1, 70 * KIB], [MIB - 3, 6], [0, 4 * MIB], [5 * MIB - 7, 7]])
		test(`${count} bytes at ${first}`, async () => {
			const part = bytes.subarray(first, first + count);
			const m = expectStatus(await b.get(path, { 'x-ms-range': range(first, count), ...MD5 }), 206);
			assert.ok(m.body.equals(part));
			assert.equal(m.headers['content-md5'], md5(part));
			assert.equal(m.headers['x-ms-blob-content-md5'], md5(bytes));
			const c = expectStatus(await b.get(path, { 'x-ms-range': range(first, count), ...CRC }), 206);
			assert.ok(c.body.equals(part));
			assert.equal(c.headers['x-ms-content-crc64'], crc64(part));
		});
	test('refusals', async () => {
		expectError(await b.get(path, { 'x-ms-range': range(0, 10), ...MD5, ...CRC }), 400, 'BothCrc64AndMd5RangeHeaderPresent');
		for (const hash of [MD5, CRC]) {
			for (const long of [range(0, 4 * MIB + 1), 'bytes=0-']) {
				const r = expectError(await b.get(path, { 'x-ms-range': long, ...hash }), 400, 'InvalidHeaderValue');
				assert.equal(element(r.text, 'HeaderName'), Object.keys(hash)[0]);
			}
			assert.equal(element(expectError(await b.get(path, hash), 400, 'MissingRequiredHeader').text, 'HeaderName'), 'Range');
		}
	});
	test('the end of the blob cuts the range before the limit counts', async () => {
		const r = expectStatus(await b.get(path, { 'x-ms-range': `bytes=${5 * MIB - 10}-${5 * MIB + 99}`, ...MD5 }), 206);
		assert.equal(r.headers['content-md5'], md5(bytes.subarray(-10)));
	});
});

describe('names', () => {
	const put = (name) => b.put(`/${home}/${name}`, 'x');
	test('lengths and segments', async () => {
		expectStatus(await put('n'.repeat(1024)), 201);
		expectStatus(await put('n'.repeat(1025)), 400);
		expectStatus(await put(Array(254).fill('s').join('/')), 201);
		expectStatus(await put(Array(255).fill('s').join('/')), 400);
		// Characters, not bytes.
		expectStatus(await put(encodeURIComponent('ä'.repeat(1024))), 201);
		expectStatus(await put(encodeURIComponent('ä'.repeat(1025))), 400);
	});
	const NAMES = ['a b', 'a%b', 'a+b', 'a?b', 'a#b', 'a&b', "a'b", 'a"b', 'a<b>', 'ümläut', '日本語', 'emoji 😀', 'dots..in..it', '.hidden', 'a//b', 'UPPER', 'a=b', 'a:b', 'a;b@c', '~tilde', '%41'];
	for (const name of NAMES)
		test(`${name} there, listed and back`, async () => {
			const where = uniqueName('n');
			expectStatus(await b.container(where), 201);
			const path = `/${where}/${name.split('/').map(encodeURIComponent).join('/')}`;
			expectStatus(await b.put(path, name), 201);
			assert.equal(expectStatus(await b.get(path), 200).text, name);
			const xml = expectStatus(await b.list(where), 200).text;
			const shown = element(xml, 'Name').replace(/&lt;/g, '<').replace(/&gt;/g, '>').replace(/&quot;/g, '"').replace(/&apos;/g, "'").replace(/&amp;/g, '&');
			assert.equal(shown, name);
			expectStatus(await b.delete(path), 202);
		});
	test('characters that are not allowed', async () => {
		for (const bad of ['%00', '%01', '%1f', '%7f', '%ff%fe']) expectStatus(await put(`a${bad}b`), 400);
		const point = (n) => encodeURIComponent(`a${String.fromCodePoint(n)}b`);
		for (const bad of [0x80, 0x82, 0x9f, 0xfdd1, 0xfdef, 0xfff0, 0x1fffe, 0x3ffff, 0xfffff]) expectError(await put(point(bad)), 400, 'InvalidResourceName');
		for (const good of [0xa0, 0x81, 0x8d, 0xfddd, 0xffef, 0xffff, 0x1fffd, 0x4fffe, 0x10ffff]) expectStatus(await put(point(good)), 201);
	});
});

describe('metadata', () => {
	const put = (headers) => b.put(fresh(), 'x', headers);
	test('8 KiB in all', async () => {
		// names and values count
		expectStatus(await put({ 'x-ms-meta-a': 'v'.repeat(8191) }), 201);
		expectError(await put({ 'x-ms-meta-a': 'v'.repeat(8192) }), 400, 'MetadataTooLarge');
		const many = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`x-ms-meta-k${i}`, 'v'.repeat(100)]));
		const path = fresh();
		expectStatus(await b.put(path, 'x', many), 201);
		const got = await b.head(path);
		for (const [name, value] of Object.entries(many)) assert.equal(got.headers[name], value);
	});
	test('names are identifiers', async () => {
		for (const good of ['a', '_a', 'a1', 'aB_9']) expectStatus(await put({ [`x-ms-meta-${good}`]: 'v' }), 201);
		for (const bad of ['1a', 'a-b', 'a.b', 'a!b']) expectError(await put({ [`x-ms-meta-${bad}`]: 'v' }), 400, 'InvalidMetadata');
		expectError(await put({ 'x-ms-meta-': 'v' }), 400, 'EmptyMetadataKey');
	});
	test('every operation that takes them replaces all of them', async () => {
		const path = fresh();
		expectStatus(await b.put(path, 'x', { 'x-ms-meta-one': '1', 'x-ms-meta-two': '2' }), 201);
		expectStatus(await b.comp(path, 'metadata', { 'x-ms-meta-three': '3' }), 200);
		const names = Object.keys((await b.head(path)).headers).filter((n) => n.startsWith('x-ms-meta-'));
		assert.deepEqual(names, ['x-ms-meta-three']);
		expectStatus(await b.comp(path, 'metadata'), 200);
		assert.ok(!Object.keys((await b.get(path, {}, { comp: 'metadata' })).headers).some((n) => n.startsWith('x-ms-meta-')));
	});
});

describe('lists', () => {
	const where = uniqueName('list');
	let snapshot;
	before(async () => {
		expectStatus(await b.container(where), 201);
		expectStatus(await b.put(`/${where}/a`, 'x', { 'x-ms-meta-m': '1', 'x-ms-tags': 't=1', 'x-ms-blob-content-language': 'de', 'x-ms-blob-cache-control': 'none' }), 201);
		snapshot = await b.snapshot(`/${where}/a`);
		expectStatus(await b.copy(`/${where}/b`, b.url(`/${where}/a`)), 202);
		expectStatus(await b.pageBlob(`/${where}/c`, 1024, { 'x-ms-blob-sequence-number': 3 }), 201);
		expectStatus(await b.appendBlob(`/${where}/d`), 201);
		expectStatus(await b.block(`/${where}/e`, 'id', 'uncommitted'), 201);
	});
	const list = async (query) => expectStatus(await b.list(where, query), 200).text;
	const names = (xml) => elements(xml, 'Name');
	test('plain', async () => {
		const xml = await list({});
		assert.deepEqual(names(xml), ['a', 'b', 'c', 'd']);
		assert.deepEqual(elements(xml, 'BlobType'), ['BlockBlob', 'BlockBlob', 'PageBlob', 'AppendBlob']);
		for (const absent of ['Metadata', 'Tags', 'CopyId', 'Snapshot']) assert.ok(!xml.includes(`<${absent}>`), absent);
		assert.equal(element(xml, 'x-ms-blob-sequence-number'), '3');
		assert.equal(element(xml, 'Content-Language'), 'de');
		assert.equal(element(xml, 'Cache-Control'), 'none');
		assert.match(element(xml, 'Etag'), /^0x[0-9A-F]{15}$/);
		for (const name of ['Creation-Time', 'Last-Modified', 'Content-Length', 'Content-Type', 'LeaseStatus', 'LeaseState', 'ServerEncrypted']) assert.ok(xml.includes(`<${name}>`), name);
	});
	test('metadata, tags, copy, snapshots, uncommitted, each by itself', async () => {
		const metadata = await list({ include: 'metadata' });
		assert.match(metadata, /<Metadata><m>1<\/m><\/Metadata>/);
		assert.match(await list({ include: 'tags' }), /<Tags><TagSet><Tag><Key>t<\/Key><Value>1<\/Value><\/Tag><\/TagSet><\/Tags>/);
		const copy = await list({ include: 'copy' });
		assert.equal(elements(copy, 'CopyStatus')[0], 'success');
		for (const name of ['CopyId', 'CopySource', 'CopyProgress', 'CopyCompletionTime']) assert.equal(elements(copy, name).length, 1, name);
		const snapshots = await list({ include: 'snapshots' });
		assert.deepEqual(names(snapshots), ['a', 'a', 'b', 'c', 'd']);
		assert.deepEqual(elements(snapshots, 'Snapshot'), [snapshot]);
		assert.deepEqual(names(await list({ include: 'uncommittedblobs' })), ['a', 'b', 'c', 'd', 'e']);
		const all = await list({ include: 'copy,deleted,metadata,snapshots,uncommittedblobs,versions,tags,immutabilitypolicy,legalhold,deletedwithversions' });
		assert.deepEqual(names(all), ['a', 'a', 'b', 'c', 'd', 'e']);
		expectStatus(await b.list(where, { include: 'everything' }), 400);
	});
	test('pages of one, with snapshots and uncommitted ones between', async () => {
		const seen = [];
		let marker;
		do {
			const xml = await list({ include: 'snapshots,uncommittedblobs', maxresults: 1, marker });
			seen.push(...names(xml));
			marker = element(xml, 'NextMarker');
			assert.ok(seen.length < 20);
		} while (marker);
		assert.deepEqual(seen, ['a', 'a', 'b', 'c', 'd', 'e']);
	});
	test('a bad marker is refused, startFrom begins there', async () => {
		expectStatus(await b.list(where, { marker: 'no marker' }), 400);
		assert.deepEqual(names(await list({ startFrom: 'c' })), ['c', 'd']);
	});
});

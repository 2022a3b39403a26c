// SPDX-License-Identifier: Apache-2.0
// Customer-provided keys and encryption scopes: what is written under a key is read with it alone, lies encrypted on the disk, and
// every documented error comes. With the official client over TLS, and with raw requests.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { BlobServiceClient, StorageSharedKeyCredential } from '@azure/storage-blob';
import { bin, removeDir, startServer, tempDir } from '../../lib/server.mjs';
import { Client } from '../../lib/http.mjs';
import { blobSas } from '../../lib/sign.mjs';
import { element, expectError, expectStatus, md5, uniqueName } from '../../lib/assert.mjs';
import { Blobs, crc64, random, range } from '../../lib/blob.mjs';

process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'; // of this process: the certificate is the test's own

const sha256 = (bytes) => crypto.createHash('sha256').update(bytes).digest('base64');
function newKey() {
	const bytes = random(32);
	const key = bytes.toString('base64'), hash = sha256(bytes);
	return {
		key, hash,
		headers: { 'x-ms-encryption-key': key, 'x-ms-encryption-key-sha256': hash, 'x-ms-encryption-algorithm': 'AES256' },
		source: { 'x-ms-source-encryption-key': key, 'x-ms-source-encryption-key-sha256': hash, 'x-ms-source-encryption-algorithm': 'AES256' },
		sdk: { encryptionKey: key, encryptionKeySha256: hash, encryptionAlgorithm: 'AES256' },
	};
}
const home = uniqueName('keys');
const mine = newKey(), other = newKey();
let server, client, b;
before(async () => {
	server = await startServer();
	client = new Client(server);
	b = new Blobs(client);
	expectStatus(await b.container(home), 201);
});
after(async () => {
	await server?.remove();
});
const fresh = () => `/${home}/${uniqueName('a')}`;
const USES = 'BlobUsesCustomerSpecifiedEncryption', NOT = 'BlobDoesNotUseCustomerSpecifiedEncryption', MISMATCH = 'BlobCustomerSpecifiedEncryptionMismatch';
async function made(bytes = 'secret', key = mine) {
	const at = fresh();
	expectStatus(await b.put(at, bytes, key?.headers), 201);
	return at;
}
const readSource = (at) => client.url(at, {}, blobSas(client.account, client.key, home, at.split('/')[2], { sp: 'r', now: server.now() })).href;

describe('customer-provided keys', () => {
	test('Put Blob and Get Blob of many lengths; ranges; hashes', async () => {
		for (const size of [0, 1, 511, 512, 513, 16_383, 16_384, 16_385, 100_000, 1_048_576, 4_177_920, 4_177_921, 9_000_001]) {
			const bytes = random(size), at = fresh();
			const put = expectStatus(await b.put(at, bytes, { ...mine.headers, 'content-md5': md5(bytes) }), 201);
			assert.equal(put.headers['x-ms-encryption-key-sha256'], mine.hash);
			assert.equal(put.headers['x-ms-request-server-encrypted'], 'true');
			assert.equal(put.headers['x-ms-content-crc64'], crc64(bytes));
			assert.equal(put.headers['content-md5'], md5(bytes));
			const got = expectStatus(await b.get(at, mine.headers), 200);
			assert.ok(got.body.equals(bytes), `${size} bytes`);
			assert.equal(got.headers['x-ms-encryption-key-sha256'], mine.hash);
			assert.equal(got.headers['x-ms-server-encrypted'], 'true');
			assert.equal(got.headers['content-md5'], md5(bytes));
			for (let i = 0; i < (size > 1 ? 6 : 0); i++) {
				const first = crypto.randomInt(size), count = 1 + crypto.randomInt(Math.min(size - first, 200_000));
				const part = expectStatus(await b.get(at, { ...mine.headers, range: range(first, count) }), 206);
				assert.ok(part.body.equals(bytes.subarray(first, first + count)), `${first} + ${count} of ${size}`);
			}
			if (size < 1000) continue;
			const hashed = expectStatus(await b.get(at, { ...mine.headers, range: range(700, 300), 'x-ms-range-get-content-md5': 'true' }), 206);
			assert.equal(hashed.headers['content-md5'], md5(bytes.subarray(700, 1000)));
		}
	});

	test('blocks: Put Block, Put Block List, and blocks taken over from the committed list', async () => {
		const at = fresh(), one = random(100_000), two = random(20), three = random(70_000);
		const answer = expectStatus(await b.block(at, 'a1', one, mine.headers), 201);
		assert.equal(answer.headers['x-ms-encryption-key-sha256'], mine.hash);
		expectStatus(await b.block(at, 'a2', two, mine.headers), 201);
		// All blocks of a blob are under one key.
		expectError(await b.block(at, 'a3', three), 409, USES);
		expectError(await b.block(at, 'a3', three, other.headers), 409, MISMATCH);
		expectError(await b.blockList(at, ['a1', 'a2']), 409, USES);
		expectError(await b.blockList(at, ['a1', 'a2'], other.headers), 409, MISMATCH);
		const listed = expectStatus(await b.blockList(at, ['a1', 'a2'], mine.headers), 201);
		assert.equal(listed.headers['x-ms-encryption-key-sha256'], mine.hash);
		assert.ok((await b.get(at, mine.headers)).body.equals(Buffer.concat([one, two])));
		expectStatus(await b.block(at, 'a3', three, mine.headers), 201);
		expectStatus(await b.blockList(at, ['a3', ['Committed', 'a2'], ['Committed', 'a1']], mine.headers), 201);
		assert.ok((await b.get(at, mine.headers)).body.equals(Buffer.concat([three, two, one])));
		const part = await b.get(at, { ...mine.headers, range: range(69_990, 40) });
		assert.ok(part.body.equals(Buffer.concat([three, two, one]).subarray(69_990, 70_030)));
		// Blocks of the old list stay under the old key; none of them is in a list that begins anew.
		expectError(await b.blockList(at, [['Committed', 'a1']], other.headers), 409, MISMATCH);
		expectError(await b.blockList(at, [['Committed', 'a1']]), 409, USES);
		expectStatus(await b.block(at, 'b1', one, other.headers), 201);
		expectStatus(await b.blockList(at, ['b1'], other.headers), 201);
		assert.ok((await b.get(at, other.headers)).body.equals(one));
		expectError(await b.get(at, mine.headers), 409, MISMATCH);
	});

	test('append blobs', async () => {
		const at = fresh(), pieces = [random(10), random(16_384), random(500_000), random(1)];
		expectStatus(await client.put(at, { headers: { 'x-ms-blob-type': 'AppendBlob', ...mine.headers } }), 201);
		expectError(await b.comp(at, 'appendblock', {}, 'x'), 409, USES);
		expectError(await b.comp(at, 'appendblock', other.headers, 'x'), 409, MISMATCH);
		for (const piece of pieces) {
			const answer = expectStatus(await b.comp(at, 'appendblock', mine.headers, piece), 201);
			assert.equal(answer.headers['x-ms-encryption-key-sha256'], mine.hash);
		}
		const whole = Buffer.concat(pieces);
		assert.ok((await b.get(at, mine.headers)).body.equals(whole));
		for (const [first, count] of [[0, 1], [5, 20], [10, 16_384], [9, 16_386], [16_000, 400_000], [516_393, 2]])
			assert.ok((await b.get(at, { ...mine.headers, range: range(first, count) })).body.equals(whole.subarray(first, first + count)), `${first}`);
	});

	test('page blobs: overlapping writes, clears, snapshots', async () => {
		const at = fresh(), size = 3 * 1_048_576, shadow = Buffer.alloc(size);
		expectStatus(await client.put(at, { headers: { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': size, ...mine.headers } }), 201);
		const write = async (first, count) => {
			const bytes = random(count);
			const answer = expectStatus(await b.comp(at, 'page', { ...mine.headers, 'x-ms-page-write': 'update', range: range(first, count) }, bytes), 201);
			assert.equal(answer.headers['x-ms-encryption-key-sha256'], mine.hash);
			bytes.copy(shadow, first);
		};
		await write(0, size);
		for (let i = 0; i < 12; i++) {
			const first = 512 * crypto.randomInt(size / 512 - 1);
			await write(first, 512 * (1 + crypto.randomInt(Math.min(200, (size - first) / 512))));
		}
		expectStatus(await b.comp(at, 'page', { ...mine.headers, 'x-ms-page-write': 'clear', range: range(1_048_064, 1024) }), 201);
		shadow.fill(0, 1_048_064, 1_049_088);
		const before = Buffer.from(shadow);
		expectError(await b.comp(at, 'snapshot'), 409, USES);
		const snapshot = expectStatus(await b.comp(at, 'snapshot', mine.headers), 201).headers['x-ms-snapshot'];
		await write(512, 2_000_384);
		expectError(await b.comp(at, 'page', { 'x-ms-page-write': 'update', range: range(0, 512) }, random(512)), 409, USES);
		expectError(await b.comp(at, 'page', { ...other.headers, 'x-ms-page-write': 'update', range: range(0, 512) }, random(512)), 409, MISMATCH);
		assert.ok((await b.get(at, mine.headers)).body.equals(shadow));
		assert.ok((await b.get(at, mine.headers, { snapshot })).body.equals(before));
		expectError(await b.get(at, {}, { snapshot }), 409, USES);
	});

	test('properties, metadata and snapshots need the key; tags, leases, lists and delete do not', async () => {
		const at = await made('some bytes');
		expectError(await b.get(at), 409, USES);
		expectError(await b.get(at, other.headers), 409, MISMATCH);
		for (const [headers, code] of [[{}, USES], [other.headers, MISMATCH]]) {
			const head = expectStatus(await b.head(at, headers), 409);
			assert.equal(head.headers['x-ms-error-code'], code);
			expectError(await client.get(at, { headers, query: { comp: 'metadata' } }), 409, code);
			expectError(await b.comp(at, 'metadata', { ...headers, 'x-ms-meta-a': '1' }), 409, code);
			expectError(await b.comp(at, 'snapshot', headers), 409, code);
		}
		// A read may leave the algorithm out.
		const short = { ...mine.headers };
		delete short['x-ms-encryption-algorithm'];
		const head = expectStatus(await b.head(at, short), 200);
		assert.equal(head.headers['x-ms-encryption-key-sha256'], mine.hash);
		assert.equal(head.headers['content-length'], '10');
		const set = expectStatus(await b.comp(at, 'metadata', { ...mine.headers, 'x-ms-meta-a': '1' }), 200);
		assert.equal(set.headers['x-ms-encryption-key-sha256'], mine.hash);
		assert.equal((await client.get(at, { headers: mine.headers, query: { comp: 'metadata' } })).headers['x-ms-meta-a'], '1');
		expectStatus(await b.comp(at, 'properties', { 'x-ms-blob-content-type': 'a/b' }), 200);
		expectError(await b.comp(at, 'properties', { ...other.headers, 'x-ms-blob-content-type': 'a/b' }), 409, MISMATCH);
		expectStatus(await b.comp(at, 'tags', {}, '<Tags><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tags>'), 204);
		expectStatus(await b.comp(at, 'lease', { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '15' }), 201);
		expectStatus(await b.comp(at, 'lease', { 'x-ms-lease-action': 'break', 'x-ms-lease-break-period': '0' }), 202);
		const xml = (await b.list(home, { prefix: at.split('/')[2] })).text;
		assert.equal(element(xml, 'CustomerProvidedKeySha256'), mine.hash);
		assert.equal(element(xml, 'ServerEncrypted'), 'true');
		// A blob without a key wants none.
		const plain = await made('plain', null);
		expectError(await b.get(plain, mine.headers), 409, NOT);
		expectError(await b.comp(plain, 'metadata', mine.headers), 409, NOT);
		assert.ok(!(await b.list(home, { prefix: plain.split('/')[2] })).text.includes('CustomerProvidedKeySha256'));
		// Conditions come before the key.
		expectError(await b.get(at, { 'if-match': '"0x1"' }), 412, 'ConditionNotMet');
		// Whoever may write may replace it whole, with another key or none.
		expectStatus(await b.put(at, 'new', other.headers), 201);
		assert.equal((await b.get(at, other.headers)).text, 'new');
		expectStatus(await b.put(at, 'open'), 201);
		assert.equal((await b.get(at)).text, 'open');
		expectStatus(await b.delete(await made()), 202);
	});

	test('what is wrong with the headers: 400, and no answer shows a key', async () => {
		const at = fresh();
		const cases = [
			[{ 'x-ms-encryption-key': undefined }, 'MissingRequiredHeader', 'x-ms-encryption-key'],
			[{ 'x-ms-encryption-key-sha256': undefined }, 'MissingRequiredHeader', 'x-ms-encryption-key-sha256'],
			[{ 'x-ms-encryption-algorithm': undefined }, 'MissingRequiredHeader', 'x-ms-encryption-algorithm'],
			[{ 'x-ms-encryption-algorithm': 'AES128' }, 'InvalidHeaderValue', 'x-ms-encryption-algorithm'],
			[{ 'x-ms-encryption-key': 'no base64!' }, 'InvalidHeaderValue', 'x-ms-encryption-key'],
			[{ 'x-ms-encryption-key': random(31).toString('base64') }, 'InvalidHeaderValue', 'x-ms-encryption-key'],
			[{ 'x-ms-encryption-key': random(64).toString('base64') }, 'InvalidHeaderValue', 'x-ms-encryption-key'],
			[{ 'x-ms-encryption-key-sha256': other.hash }, 'InvalidHeaderValue', 'x-ms-encryption-key-sha256'],
			[{ 'x-ms-encryption-key-sha256': 'AAAA' }, 'InvalidHeaderValue', 'x-ms-encryption-key-sha256'],
		];
		for (const [change, code, header] of cases) {
			const r = expectError(await b.put(at, 'x', { ...mine.headers, ...change }), 400, code);
			assert.equal(element(r.text, 'HeaderName'), header);
			assert.ok(!r.text.includes(mine.key) && (header.endsWith('algorithm') || !element(r.text, 'HeaderValue')), r.text);
		}
		const both = await b.put(at, 'x', { ...mine.headers, 'x-ms-encryption-scope': 'scope1' });
		expectError(both, 400, 'InvalidHeaderValue');
		expectError(await b.get(at), 404, 'BlobNotFound');
		expectError(await client.put(at, { version: '2018-11-09', body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob', ...mine.headers } }), 409, 'FeatureVersionMismatch');
	});

	test('writes from a URL: a source under a key, a destination under another', async () => {
		const bytes = random(300_000), from = await made(bytes), url = readSource(from);
		const source = { 'x-ms-copy-source': url };
		const at = fresh();
		expectError(await client.put(at, { headers: { ...source, 'x-ms-blob-type': 'BlockBlob' } }), 409, USES);
		expectError(await client.put(at, { headers: { ...source, 'x-ms-blob-type': 'BlockBlob', ...other.source } }), 409, MISMATCH);
		const whole = expectStatus(await client.put(at, { headers: { ...source, 'x-ms-blob-type': 'BlockBlob', ...mine.source, ...other.headers } }), 201);
		assert.equal(whole.headers['x-ms-encryption-key-sha256'], other.hash);
		assert.ok((await b.get(at, other.headers)).body.equals(bytes));
		const open = fresh();
		expectStatus(await client.put(open, { headers: { ...source, 'x-ms-blob-type': 'BlockBlob', ...mine.source } }), 201);
		assert.ok((await b.get(open)).body.equals(bytes));
		// From a plain source into an encrypted one.
		const plain = readSource(open), sealed = fresh();
		expectStatus(await client.put(sealed, { headers: { 'x-ms-copy-source': plain, 'x-ms-blob-type': 'BlockBlob', ...other.headers } }), 201);
		assert.ok((await b.get(sealed, other.headers)).body.equals(bytes));

		const blocks = fresh();
		expectStatus(await b.comp(blocks, 'block', { ...source, ...mine.source, ...other.headers, 'x-ms-source-range': range(5, 1000) }, undefined, { blockid: 'AAAA' }), 201);
		expectStatus(await b.comp(blocks, 'blocklist', other.headers, '<BlockList><Latest>AAAA</Latest></BlockList>'), 201);
		assert.ok((await b.get(blocks, other.headers)).body.equals(bytes.subarray(5, 1005)));

		const log = fresh();
		expectStatus(await client.put(log, { headers: { 'x-ms-blob-type': 'AppendBlob', ...other.headers } }), 201);
		expectStatus(await b.comp(log, 'appendblock', { ...source, ...mine.source, ...other.headers, 'x-ms-source-range': range(20_000, 50_000) }), 201);
		assert.ok((await b.get(log, other.headers)).body.equals(bytes.subarray(20_000, 70_000)));

		const disk = fresh();
		expectStatus(await client.put(disk, { headers: { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': 8192, ...other.headers } }), 201);
		expectStatus(await b.comp(disk, 'page', { ...source, ...mine.source, ...other.headers, 'x-ms-page-write': 'update', range: range(1024, 4096), 'x-ms-source-range': range(100, 4096) }), 201);
		assert.ok((await b.get(disk, { ...other.headers, range: range(1024, 4096) })).body.equals(bytes.subarray(100, 4196)));
	});

	test('Copy Blob has no key: a source under one is refused, and so is a key for the destination', async () => {
		const from = await made(random(1000)), to = fresh();
		expectError(await client.put(to, { headers: { 'x-ms-copy-source': client.url(from).href } }), 409, USES);
		expectError(await client.put(to, { headers: { 'x-ms-copy-source': readSource(from), 'x-ms-requires-sync': 'true' } }), 409, USES);
		const plain = await made('plain', null);
		expectError(await client.put(to, { headers: { 'x-ms-copy-source': client.url(plain).href, ...mine.headers } }), 400, 'UnsupportedHeader');
	});

	test('a scrub reads it without the key; what is encrypted lies nowhere in the data directory in clear', async () => {
		const dir = tempDir();
		let s = await startServer({ dataDir: dir });
		try {
			const x = new Blobs(new Client(s));
			expectStatus(await x.container(home), 201);
			const words = (n) => Buffer.from(Array.from({ length: n }, (_, i) => `confidential sentence ${i};`).join(''));
			const clear = Buffer.from('this one may be read by anybody who has the disk');
			expectStatus(await x.put(`/${home}/small`, words(3), mine.headers), 201);
			expectStatus(await x.put(`/${home}/large`, words(40_000), mine.headers), 201);
			expectStatus(await x.block(`/${home}/blocks`, 'a', words(900), mine.headers), 201);
			expectStatus(await x.blockList(`/${home}/blocks`, ['a'], mine.headers), 201);
			expectStatus(await x.client.put(`/${home}/log`, { headers: { 'x-ms-blob-type': 'AppendBlob', ...mine.headers } }), 201);
			expectStatus(await x.comp(`/${home}/log`, 'appendblock', mine.headers, words(9)), 201);
			expectStatus(await x.client.put(`/${home}/disk`, { headers: { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': 4096, ...mine.headers } }), 201);
			expectStatus(await x.comp(`/${home}/disk`, 'page', { ...mine.headers, 'x-ms-page-write': 'update', range: range(0, 4096) }, words(200).subarray(0, 4096)), 201);
			expectStatus(await x.put(`/${home}/clear`, clear), 201);
			await s.restart();
			assert.ok((await x.get(`/${home}/large`, mine.headers)).body.equals(words(40_000)));
			assert.ok((await x.get(`/${home}/small`, mine.headers)).body.equals(words(3)));
			await s.stop();
			let seen = 0;
			const keyBytes = Buffer.from(mine.key, 'base64');
			for (const file of fs.readdirSync(dir, { recursive: true, withFileTypes: true })) {
				if (!file.isFile()) continue;
				const bytes = fs.readFileSync(path.join(file.parentPath ?? file.path, file.name));
				assert.equal(bytes.indexOf('confidential'), -1, `${file.name} has the text`);
				assert.equal(bytes.indexOf(keyBytes), -1, `${file.name} has the key`);
				assert.equal(bytes.indexOf(mine.key), -1, `${file.name} has the key's text`);
				seen += bytes.indexOf(clear) >= 0 ? 1 : 0;
			}
			assert.ok(seen > 0, 'the search finds what is there');
			const scrub = spawnSync(bin, ['scrub', '--location', dir], { encoding: 'utf8' });
			assert.equal(scrub.status, 0, scrub.stdout + scrub.stderr);
		} finally {
			await s.remove();
			removeDir(dir);
		}
	});

	test('versions and undelete keep the key of each state', async () => {
		const s = await startServer({ flags: ['--blobVersioning'] });
		try {
			const x = new Blobs(new Client(s));
			expectStatus(await x.container(home), 201);
			const at = `/${home}/v`;
			const first = expectStatus(await x.put(at, 'first', mine.headers), 201).headers['x-ms-version-id'];
			expectStatus(await x.put(at, 'second', other.headers), 201);
			expectStatus(await x.put(at, 'third'), 201);
			assert.equal((await x.get(at, mine.headers, { versionid: first })).text, 'first');
			expectError(await x.get(at, other.headers, { versionid: first }), 409, MISMATCH);
			assert.equal((await x.get(at)).text, 'third');
		} finally {
			await s.remove();
		}
	});

	test('a writer and readers race: every answer is one of the states, whole', async () => {
		const at = fresh();
		const states = Array.from({ length: 6 }, (_, i) => Buffer.alloc(60_000 + i, i + 1));
		expectStatus(await b.put(at, states[0], mine.headers), 201);
		let over = false;
		const writer = (async () => {
			for (let i = 0; i < 60; i++) expectStatus(await b.put(at, states[i % 6], mine.headers), 201);
			over = true;
		})();
		const readers = Array.from({ length: 4 }, async () => {
			let reads = 0;
			while (!over || reads === 0) {
				const got = expectStatus(await b.get(at, mine.headers), 200);
				assert.ok(states.some((s) => s.equals(got.body)), 'a mixture');
				reads++;
			}
		});
		await Promise.all([writer, ...readers]);
	});
});

describe('with the official client, over TLS', () => {
	let secure, container, dir;
	before(async () => {
		dir = tempDir();
		execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=localhost', '-keyout', `${dir}/key.pem`, '-out', `${dir}/cert.pem`], { stdio: 'ignore' });
		secure = await startServer({ flags: ['--cert', `${dir}/cert.pem`, '--key', `${dir}/key.pem`] });
		const service = new BlobServiceClient(secure.endpoints.blob, new StorageSharedKeyCredential(secure.account, secure.key), { retryOptions: { maxTries: 1 } });
		container = service.getContainerClient(uniqueName('sdk'));
		await container.create();
	});
	after(async () => {
		await secure?.remove();
		removeDir(dir);
	});

	test('customerProvidedKey: upload, download, metadata, blocks, append, pages, snapshot', async () => {
		const key = { customerProvidedKey: mine.sdk };
		const bytes = random(5_000_000);
		const blob = container.getBlockBlobClient('b');
		await blob.stageBlock('AAAA', bytes.subarray(0, 2_000_000), 2_000_000, key);
		await blob.stageBlock('AAAB', bytes.subarray(2_000_000), 3_000_000, key);
		assert.equal((await blob.commitBlockList(['AAAA', 'AAAB'], key)).encryptionKeySha256, mine.hash);
		assert.ok((await blob.downloadToBuffer(0, undefined, { ...key, blockSize: 700_000 })).equals(bytes));
		const properties = await blob.getProperties(key);
		assert.equal(properties.encryptionKeySha256, mine.hash);
		assert.equal(properties.isServerEncrypted, true);
		await blob.setMetadata({ a: 'b' }, key);
		const snapshot = await blob.createSnapshot(key);
		assert.ok((await blob.withSnapshot(snapshot.snapshot).downloadToBuffer(10, 1000, key)).equals(bytes.subarray(10, 1010)));
		await assert.rejects(blob.download(), (e) => e.statusCode === 409 && e.code === USES);
		await assert.rejects(blob.download(0, 10, { customerProvidedKey: other.sdk }), (e) => e.statusCode === 409 && e.code === MISMATCH);
		const log = container.getAppendBlobClient('a');
		await log.create(key);
		await log.appendBlock('one', 3, key);
		await log.appendBlock('two', 3, key);
		assert.equal((await log.downloadToBuffer(0, undefined, key)).toString(), 'onetwo');
		const disk = container.getPageBlobClient('p');
		await disk.create(4096, key);
		await disk.uploadPages(bytes.subarray(0, 1024), 512, 1024, key);
		assert.ok((await disk.downloadToBuffer(512, 1024, key)).equals(bytes.subarray(0, 1024)));
		const small = container.getBlockBlobClient('small');
		assert.equal((await small.upload('small', 5, key)).encryptionKeySha256, mine.hash);
		assert.equal((await small.downloadToBuffer(0, undefined, key)).toString(), 'small');
		for await (const item of container.listBlobsFlat({ prefix: 'b' })) assert.equal(item.properties.customerProvidedKeySha256, mine.hash);
	});

	test('encryptionScope: on blobs, and as the default of a container', async () => {
		const blob = container.getBlockBlobClient('scoped');
		const up = await blob.upload('x', 1, { encryptionScope: 'scope1' });
		assert.equal(up.encryptionScope, 'scope1');
		assert.equal((await blob.getProperties()).encryptionScope, 'scope1');
		for await (const item of container.listBlobsFlat({ prefix: 'scoped' })) assert.equal(item.properties.encryptionScope, 'scope1');
	});
});

describe('encryption scopes', () => {
	const SCOPE = 'x-ms-encryption-scope';
	const FORBIDDEN = 'RequestForbiddenByContainerEncryptionPolicy';
	const container = async (scope, deny) => {
		const name = uniqueName('scoped');
		expectStatus(await b.container(name, { 'x-ms-default-encryption-scope': scope, 'x-ms-deny-encryption-scope-override': deny }), 201);
		return name;
	};

	test('a container has a default scope and may deny others; it says so', async () => {
		const name = await container('house', 'true');
		const head = await client.head(`/${name}`, { query: { restype: 'container' } });
		assert.equal(head.headers['x-ms-default-encryption-scope'], 'house');
		assert.equal(head.headers['x-ms-deny-encryption-scope-override'], 'true');
		const listed = (await client.get('/', { query: { comp: 'list', prefix: name } })).text;
		assert.equal(element(listed, 'DefaultEncryptionScope'), 'house');
		assert.equal(element(listed, 'DenyEncryptionScopeOverride'), 'true');
		const plain = await client.head(`/${home}`, { query: { restype: 'container' } });
		assert.equal(plain.headers['x-ms-default-encryption-scope'], '$account-encryption-key');
		assert.equal(plain.headers['x-ms-deny-encryption-scope-override'], 'false');
		// It stays through other changes of the container.
		expectStatus(await client.put(`/${name}`, { query: { restype: 'container', comp: 'metadata' }, headers: { 'x-ms-meta-a': 'b' } }), 200);
		assert.equal((await client.head(`/${name}`, { query: { restype: 'container' } })).headers['x-ms-default-encryption-scope'], 'house');

		const put = expectStatus(await b.put(`/${name}/a`, 'x'), 201);
		assert.equal(put.headers[SCOPE], 'house');
		assert.equal((await b.head(`/${name}/a`)).headers[SCOPE], 'house');
		assert.equal((await b.get(`/${name}/a`)).headers[SCOPE], 'house');
		assert.equal(element((await b.list(name)).text, 'EncryptionScope'), 'house');
		expectStatus(await b.put(`/${name}/a`, 'x', { [SCOPE]: 'house' }), 201);
		expectError(await b.put(`/${name}/a`, 'x', { [SCOPE]: 'garden' }), 403, FORBIDDEN);
		expectError(await b.put(`/${name}/a`, 'x', { [SCOPE]: '$account-encryption-key' }), 403, FORBIDDEN);
		expectError(await b.put(`/${name}/a`, 'x', mine.headers), 403, FORBIDDEN);
		expectError(await b.block(`/${name}/a`, 'id', 'x', { [SCOPE]: 'garden' }), 403, FORBIDDEN);
		expectError(await b.comp(`/${name}/a`, 'metadata', { [SCOPE]: 'garden' }), 403, FORBIDDEN);
	});

	test('without denial a blob may name its own; it is kept by what follows', async () => {
		const name = await container('house', 'false');
		expectStatus(await b.put(`/${name}/a`, 'x', { [SCOPE]: 'garden' }), 201);
		assert.equal((await b.head(`/${name}/a`)).headers[SCOPE], 'garden');
		expectStatus(await b.put(`/${name}/b`, 'x', { [SCOPE]: '$account-encryption-key' }), 201);
		assert.equal((await b.head(`/${name}/b`)).headers[SCOPE], undefined);
		expectStatus(await client.put(`/${name}/log`, { headers: { 'x-ms-blob-type': 'AppendBlob', [SCOPE]: 'garden' } }), 201);
		const appended = expectStatus(await b.comp(`/${name}/log`, 'appendblock', {}, 'x'), 201);
		assert.equal(appended.headers[SCOPE], 'garden');
		expectStatus(await b.comp(`/${name}/log`, 'appendblock', { [SCOPE]: 'garden' }, 'x'), 201);
		expectError(await b.comp(`/${name}/log`, 'appendblock', { [SCOPE]: 'house' }, 'x'), 409, MISMATCH);
		expectStatus(await b.put(`/${home}/plain`, 'x'), 201);
		expectError(await b.comp(`/${home}/plain`, 'metadata', { [SCOPE]: 'house' }), 409, NOT);
		const copied = fresh();
		expectStatus(await client.put(copied, { headers: { 'x-ms-copy-source': client.url(`/${name}/a`, {}, blobSas(client.account, client.key, name, 'a', { sp: 'r', now: server.now() })).href, 'x-ms-requires-sync': 'true', [SCOPE]: 'roof' } }), 202);
		assert.equal((await b.head(copied)).headers[SCOPE], 'roof');
	});

	test('names and pairs of headers that are wrong: 400', async () => {
		for (const bad of ['ab', 'a_b_c', 'x'.repeat(64), 'with blank']) expectError(await b.put(fresh(), 'x', { [SCOPE]: bad }), 400, 'InvalidHeaderValue');
		const name = uniqueName('bad');
		expectError(await b.container(name, { 'x-ms-default-encryption-scope': 'house' }), 400, 'MissingRequiredHeader');
		expectError(await b.container(name, { 'x-ms-deny-encryption-scope-override': 'true' }), 400, 'MissingRequiredHeader');
		expectError(await b.container(name, { 'x-ms-default-encryption-scope': 'house', 'x-ms-deny-encryption-scope-override': 'maybe' }), 400, 'InvalidHeaderValue');
		expectError(await b.container(name, { 'x-ms-default-encryption-scope': '!', 'x-ms-deny-encryption-scope-override': 'true' }), 400, 'InvalidHeaderValue');
	});

	test('the scope of a SAS (ses) is that of what it writes', async () => {
		const name = await container('house', 'true');
		const write = (where, ses, headers = {}) => {
			const sas = blobSas(client.account, client.key, where, undefined, { sp: 'rcw', sr: 'c', ses, now: server.now() });
			return client.put(`/${where}/by-sas`, { sas, body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob', ...headers } });
		};
		const put = expectStatus(await write(home, 'garden'), 201);
		assert.equal(put.headers[SCOPE], 'garden');
		expectStatus(await write(home, 'garden', { [SCOPE]: 'garden' }), 201);
		expectError(await write(home, 'garden', { [SCOPE]: 'house' }), 400, 'InvalidHeaderValue');
		expectError(await write(home, 'garden', mine.headers), 400, 'InvalidHeaderValue');
		expectError(await write(name, 'garden'), 403, FORBIDDEN);
		expectStatus(await write(name, 'house'), 201);
	});
});

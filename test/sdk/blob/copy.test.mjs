// SPDX-License-Identifier: Apache-2.0
// Copies of every form: within a container, between containers and accounts, by SAS, pending and aborted, under racing writes, and
// the refusals with their codes; then blocks, pages and appends from URLs.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { BlobServiceClient } from '@azure/storage-blob';
import { scaled, startServer, WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY } from '../../lib/server.mjs';
import { Client, send } from '../../lib/http.mjs';
import { blobSas } from '../../lib/sign.mjs';
import { element, elements, expectError, expectStatus, md5, uniqueName } from '../../lib/assert.mjs';
import { Blobs, base64, crc64, random, range, uuid } from '../../lib/blob.mjs';

const MIB = 1024 * 1024;
const OTHER = 'otheraccount';
const OTHER_KEY = crypto.randomBytes(64).toString('base64');
let server, client, b, other, ob, container;
const home = uniqueName('copy'), away = uniqueName('away');
before(async () => {
	server = await startServer({ env: { ZAFFRE_ACCOUNTS: `${WELL_KNOWN_ACCOUNT}:${WELL_KNOWN_KEY};${OTHER}:${OTHER_KEY}` } });
	client = new Client(server);
	b = new Blobs(client);
	other = new Client(server, { account: OTHER, key: OTHER_KEY });
	ob = new Blobs(other);
	container = BlobServiceClient.fromConnectionString(server.connectionString, { retryOptions: { maxTries: 1 } }).getContainerClient(home);
	await container.create();
	expectStatus(await b.container(away), 201);
	expectStatus(await ob.container(home), 201);
});
after(() => server?.remove());
const fresh = (where = home) => `/${where}/${uniqueName('c')}`;
const SYNC = { 'x-ms-requires-sync': 'true' };
const FROM_URL = { 'x-ms-blob-type': 'BlockBlob' };
const FORMS = { 'Copy Blob': {}, 'Copy Blob From URL': SYNC, 'Put Blob From URL': FROM_URL };
const success = (form) => (form === 'Put Blob From URL' ? 201 : 202);

async function settled(path, want = 'success', blobs = b) {
	const until = Date.now() + 60_000;
	for (;;) {
		const r = expectStatus(await blobs.head(path), 200);
		if (r.headers['x-ms-copy-status'] !== 'pending') {
			assert.equal(r.headers['x-ms-copy-status'], want, r.headers['x-ms-copy-status-description']);
			return r;
		}
		assert.ok(Date.now() < until, 'the copy does not end');
		await new Promise((resolve) => setTimeout(resolve, 20));
	}
}
async function source(bytes = 'source', headers = {}, where = home) {
	const path = fresh(where);
	expectStatus(await b.put(path, bytes, headers), 201);
	return path;
}

describe('bytes', () => {
	test('with the official SDK', async () => {
		const from = container.getBlockBlobClient(uniqueName('from')), to = container.getBlockBlobClient(uniqueName('to'));
		const bytes = random(6 * MIB);
		await from.uploadData(bytes, { metadata: { a: 'b' }, tags: { t: '1' } });
		const poller = await to.beginCopyFromURL(from.url, { intervalInMs: 50 });
		const done = await poller.pollUntilDone();
		assert.equal(done.copyStatus, 'success');
		const p = await to.getProperties();
		assert.deepEqual([p.metadata, p.copyStatus, p.copyProgress, p.copySource, p.tagCount], [{ a: 'b' }, 'success', `${bytes.length}/${bytes.length}`, from.url, undefined]);
		assert.ok((await to.downloadToBuffer()).equals(bytes));
		const readable = b.readable(new URL(from.url).pathname.replace(/^\/[^/]*/, '')); // these two need a source that opens itself
		const sync = await to.syncCopyFromURL(readable, { sourceContentMD5: crypto.createHash('md5').update(bytes).digest() });
		assert.equal(sync.copyStatus, 'success');
		assert.equal((await to.syncUploadFromURL(readable)).etag, (await to.getProperties()).etag);
		assert.ok((await to.downloadToBuffer()).equals(bytes));
	});
	for (const size of [0, 1, 600, 40_000, 5 * MIB + 3])
		for (const where of ['the container', 'another container'])
			for (const form of Object.keys(FORMS))
				test(`${form}, ${size} bytes within ${where}`, async () => {
					const bytes = random(size);
					const from = await source(bytes, { 'x-ms-blob-content-type': 'a/b', 'x-ms-meta-a': 'b', 'x-ms-blob-content-language': 'de' });
					const to = fresh(where === 'the container' ? home : away);
					const r = expectStatus(await b.copy(to, b.readable(from), FORMS[form]), success(form));
					const now = form === 'Copy Blob' ? await settled(to) : expectStatus(await b.head(to), 200);
					assert.ok((await b.get(to)).body.equals(bytes));
					assert.equal(now.headers['content-type'], 'a/b');
					assert.equal(now.headers['content-language'], 'de');
					assert.equal(now.headers['x-ms-meta-a'], 'b');
					assert.equal(now.headers['content-md5'], md5(bytes));
					if (form !== 'Put Blob From URL') assert.equal(now.headers['x-ms-copy-id'], r.headers['x-ms-copy-id']);
					// Independent of the source from now on.
					expectStatus(await b.delete(from), 202);
					assert.ok((await b.get(to)).body.equals(bytes));
				});
	test('own metadata, tags and tier', async () => {
		const from = await source('x', { 'x-ms-meta-a': 'b', 'x-ms-tags': 'k=v' });
		for (const form of Object.keys(FORMS)) {
			const to = fresh();
			expectStatus(await b.copy(to, b.readable(from), { ...FORMS[form], 'x-ms-meta-own': 'yes', 'x-ms-tags': 'n=w', 'x-ms-access-tier': 'Cool' }), success(form));
			const p = await b.head(to);
			assert.deepEqual([p.headers['x-ms-meta-a'], p.headers['x-ms-meta-own'], p.headers['x-ms-tag-count'], p.headers['x-ms-access-tier']], [undefined, 'yes', '1', 'Cool'], form);
			const plain = fresh();
			expectStatus(await b.copy(plain, b.readable(from), FORMS[form]), success(form));
			assert.equal((await b.head(plain)).headers['x-ms-tag-count'], undefined, 'tags are not copied unasked');
		}
		const to = fresh();
		expectStatus(await b.copy(to, b.readable(from), { ...SYNC, 'x-ms-copy-source-tag-option': 'COPY' }), 202);
		assert.deepEqual(elements((await b.get(to, {}, { comp: 'tags' })).text, 'Key'), ['k']);
		expectStatus(await b.copy(to, b.readable(from), { ...SYNC, 'x-ms-copy-source-tag-option': 'COPY', 'x-ms-tags': 'a=b' }), 400);
	});
	test('the block list comes along', async () => {
		const from = fresh(), to = fresh();
		for (const id of ['a', 'b']) expectStatus(await b.block(from, id, id.repeat(700)), 201);
		expectStatus(await b.blockList(from, ['b', 'a']), 201);
		expectStatus(await b.copy(to, b.readable(from)), 202);
		assert.deepEqual((await b.blocks(to, 'committed')).committed, [['b', 700], ['a', 700]]);
		expectStatus(await b.blockList(to, ['a']), 201);
		assert.equal((await b.get(to)).text, 'a'.repeat(700));
		assert.equal((await b.get(from)).text, 'b'.repeat(700) + 'a'.repeat(700));
	});
	// More blocks than one commit publishes; some of them twice in the list, some longer than an extent.
	for (const form of ['Copy Blob', 'Copy Blob From URL'])
		for (const where of ['another container', 'another account'])
			test(`${form}: the block list comes along into ${where}`, async () => {
				const from = fresh(), ids = [], want = [], parts = new Map();
				const COUNT = scaled(1500, 300);
				await Promise.all(
					Array.from({ length: 16 }, async (_, lane) => {
						for (let i = lane; i < COUNT; i += 16) {
							const id = String(i).padStart(6, '0'), bytes = random(i === 7 ? 5 * MIB : 1 + (i % 300));
							parts.set(id, bytes);
							expectStatus(await b.block(from, id, bytes), 201);
						}
					}),
				);
				for (let i = 0; i < COUNT; i++) ids.push(String((i * 7) % COUNT).padStart(6, '0'));
				ids.push('000003', '000003');
				expectStatus(await b.blockList(from, ids), 201);
				for (const id of ids) want.push([id, parts.get(id).length]);
				const bytes = Buffer.concat(ids.map((id) => parts.get(id)));
				expectStatus(await b.block(from, 'uncomm', 'not committed'), 201);
				const [blobs, to] = where === 'another account' ? [ob, fresh()] : [b, fresh(away)];
				const url = b.readable(from, {}, blobSas(server.account, server.key, home, from.split('/')[2], { sp: 'r' }));
				expectStatus(await blobs.copy(to, url, FORMS[form]), 202);
				await settled(to, 'success', blobs);
				const now = await blobs.blocks(to);
				assert.deepEqual(now.committed, want);
				assert.deepEqual(now.uncommitted, []);
				assert.ok((await blobs.get(to)).body.equals(bytes));
				// They are blocks like others: a list may choose among them, and they outlive the source.
				expectStatus(await b.delete(from), 202);
				expectStatus(await blobs.blockList(to, [['Committed', '000007'], ['Committed', '000003']]), 201);
				assert.ok((await blobs.get(to)).body.equals(Buffer.concat([parts.get('000007'), parts.get('000003')])));
			});
	test('one extent and no block list: Put Blob, Put Blob From URL', async () => {
		const from = await source(random(MIB)), blocks = fresh(), to = fresh(away);
		expectStatus(await b.copy(to, b.readable(from), SYNC), 202);
		assert.deepEqual((await b.blocks(to)).committed, []);
		expectStatus(await b.block(blocks, 'a', 'bytes'), 201);
		expectStatus(await b.blockList(blocks, ['a']), 201);
		expectStatus(await b.copy(to, b.readable(blocks), FROM_URL), 201);
		assert.deepEqual((await b.blocks(to)).committed, []);
		assert.equal((await b.get(to)).text, 'bytes');
	});
	test('Copy Blob From URL takes 256 MiB and no byte more', async () => {
		const from = fresh();
		expectStatus(await b.block(from, 'a', random(4 * MIB)), 201);
		expectStatus(await b.block(from, 'b', 'x'), 201);
		expectStatus(await b.blockList(from, Array(64).fill('a')), 201);
		expectStatus(await b.copy(fresh(), b.readable(from), SYNC), 202);
		expectStatus(await b.block(from, 'b', 'x'), 201);
		expectStatus(await b.blockList(from, [...Array(64).fill('a'), 'b']), 201);
		expectError(await b.copy(fresh(), b.readable(from), SYNC), 409, 'CannotVerifyCopySource');
		expectStatus(await b.copy(fresh(), b.readable(from)), 202);
	});
	test('blocks: hashes and conditions are judged', async () => {
		const from = fresh(), to = fresh(away);
		for (const id of ['a', 'b']) expectStatus(await b.block(from, id, id.repeat(700)), 201);
		expectStatus(await b.blockList(from, ['b', 'a']), 201);
		const bytes = 'b'.repeat(700) + 'a'.repeat(700);
		expectError(await b.copy(to, b.readable(from), { ...SYNC, 'x-ms-source-content-md5': md5('other') }), 400, 'Md5Mismatch');
		expectStatus(await b.head(to), 404);
		const r = expectStatus(await b.copy(to, b.readable(from), { ...SYNC, 'x-ms-source-content-md5': md5(bytes) }), 202);
		assert.equal(r.headers['x-ms-content-crc64'], crc64(bytes));
		assert.equal((await b.head(to)).headers['content-md5'], md5(bytes));
		expectError(await b.copy(to, b.readable(from), { ...SYNC, 'If-None-Match': '*' }), 409, 'BlobAlreadyExists');
		assert.equal((await b.get(to)).text, bytes);
	});
	for (const [where, at] of [['the container', fresh], ['another container', () => fresh(away)]])
		test(`Copy Blob From URL within ${where}: hashes of the source are compared`, async () => {
			const from = fresh(), to = at(), bytes = random(2000);
			expectStatus(await b.put(from, bytes), 201);
			expectError(await b.copy(to, b.readable(from), { ...SYNC, 'x-ms-source-content-md5': md5('other') }), 400, 'Md5Mismatch');
			expectError(await b.copy(to, b.readable(from), { ...SYNC, 'x-ms-source-content-crc64': crc64('other') }), 400, 'Crc64Mismatch');
			expectStatus(await b.head(to), 404);
			expectStatus(await b.copy(to, b.readable(from), { ...SYNC, 'x-ms-source-content-md5': md5(bytes) }), 202);
			assert.ok((await b.get(to)).body.equals(bytes));
		});
	test('the blocks of an append blob come along', async () => {
		const from = fresh(), to = fresh(away);
		expectStatus(await b.appendBlob(from), 201);
		const bytes = [];
		for (let i = 0; i < 300; i++) {
			bytes.push(random(i % 40 ? 100 + i : 3 * MIB + i));
			expectStatus(await b.append(from, bytes[i]), 201);
		}
		const snapshot = await b.snapshot(from);
		expectStatus(await b.append(from, 'later'), 201);
		expectStatus(await b.copy(to, b.readable(from, { snapshot })), 202);
		const p = await settled(to);
		assert.equal(p.headers['x-ms-blob-committed-block-count'], '300');
		assert.ok((await b.get(to)).body.equals(Buffer.concat(bytes)));
		assert.equal(expectStatus(await b.append(to, 'more'), 201).headers['x-ms-blob-committed-block-count'], '301');
		assert.ok((await b.get(to)).body.equals(Buffer.concat([...bytes, Buffer.from('more')])));
	});
	test('append and page blobs', async () => {
		const append = fresh(), page = fresh();
		expectStatus(await b.appendBlob(append), 201);
		for (const text of ['one ', 'two']) expectStatus(await b.append(append, text), 201);
		const to = fresh();
		expectStatus(await b.copy(to, b.readable(append)), 202);
		await settled(to);
		assert.equal((await b.get(to)).text, 'one two');
		assert.equal((await b.head(to)).headers['x-ms-blob-type'], 'AppendBlob');
		expectStatus(await b.append(to, '!'), 201);
		assert.equal((await b.get(to)).text, 'one two!');
		expectStatus(await b.pageBlob(page, 2 * MIB, { 'x-ms-blob-sequence-number': 4 }), 201);
		const bytes = random(1024);
		expectStatus(await b.pages(page, MIB - 512, bytes), 201);
		const copy = fresh();
		expectStatus(await b.copy(copy, b.readable(page)), 202);
		const p = await settled(copy);
		assert.equal(p.headers['x-ms-blob-sequence-number'], '4');
		assert.deepEqual(await b.ranges(copy), [[MIB - 512, MIB + 511]]);
		assert.ok((await b.get(copy, { 'x-ms-range': `bytes=${MIB - 512}-${MIB + 511}` })).body.equals(bytes));
		for (const path of [append, page]) expectError(await b.copy(fresh(), b.readable(path), SYNC), 409, 'InvalidBlobType');
	});
	test('x-ms-seal-blob decides over the seal', async () => {
		const open = fresh(), sealed = fresh();
		for (const path of [open, sealed]) {
			expectStatus(await b.appendBlob(path), 201);
			expectStatus(await b.append(path, 'line'), 201);
		}
		expectStatus(await b.comp(sealed, 'seal'), 200);
		for (const [from, word, state] of [[open, undefined, undefined], [open, 'true', 'true'], [open, 'false', undefined], [sealed, undefined, 'true'], [sealed, 'false', undefined], [sealed, 'true', 'true']]) {
			const to = fresh();
			expectStatus(await b.copy(to, b.readable(from), { 'x-ms-seal-blob': word }), 202);
			const p = await settled(to);
			assert.equal(p.headers['x-ms-blob-sealed'], state, `${from === sealed ? 'sealed' : 'open'}, ${word}`);
			const more = await b.append(to, 'more');
			if (state) expectError(more, 409, 'BlobIsSealed');
			else expectStatus(more, 201);
		}
		expectError(await b.copy(fresh(), b.readable(open), { 'x-ms-seal-blob': 'maybe' }), 400, 'InvalidHeaderValue');
		expectError(await b.copy(fresh(), b.readable(await source('x')), { 'x-ms-seal-blob': 'true' }), 409, 'InvalidBlobType');
	});
	test('onto a blob of another type is 409', async () => {
		const block = await source('x'), page = fresh(), append = fresh();
		expectStatus(await b.pageBlob(page, 512), 201);
		expectStatus(await b.appendBlob(append), 201);
		expectError(await b.copy(page, b.readable(block)), 409, 'InvalidBlobType');
		expectError(await b.copy(append, b.readable(block)), 409, 'InvalidBlobType');
		expectError(await b.copy(block, b.readable(page)), 409, 'InvalidBlobType');
		assert.equal((await b.get(block)).text, 'x');
	});
	test('a snapshot as the source, and a blob over itself', async () => {
		const path = await source('old');
		const snapshot = await b.snapshot(path);
		expectStatus(await b.put(path, 'new'), 201);
		expectStatus(await b.copy(path, b.url(path, { snapshot })), 202);
		assert.equal((await b.get(path)).text, 'old');
		assert.equal(decodeURIComponent((await b.head(path)).headers['x-ms-copy-source']), decodeURIComponent(b.url(path, { snapshot })), 'the blob remembers which one');
		const large = random(100_000);
		const self = await source(large);
		expectStatus(await b.copy(self, b.readable(self), { 'x-ms-meta-new': '1' }), 202);
		await settled(self);
		assert.ok((await b.get(self)).body.equals(large));
		assert.equal((await b.head(self)).headers['x-ms-meta-new'], '1');
	});
});

describe('who may read the source', () => {
	test('a SAS, of this account and of another', async () => {
		const from = await source('secret'), name = from.split('/')[2];
		const url = (sp) => b.url(from, {}, blobSas(server.account, server.key, home, name, { sp }));
		for (const form of Object.keys(FORMS)) {
			const to = fresh();
			expectStatus(await ob.copy(to, url('r'), FORMS[form]), success(form));
			assert.equal((await ob.get(to)).text, 'secret');
			if (form !== 'Put Blob From URL') {
				const kept = (await ob.head(to)).headers['x-ms-copy-source'];
				assert.ok(!/sig=/.test(kept), `a signature is kept: ${kept}`);
			}
			const refused = await ob.copy(fresh(), url('w'), FORMS[form]);
			assert.ok([401, 403].includes(refused.status), `${form}: ${refused.status} ${refused.code}`);
			assert.equal(refused.code, 'CannotVerifyCopySource');
		}
	});
	for (const [form, headers] of Object.entries(FORMS))
		test(`${form}: a container named like one's own account opens no other account, however it is addressed`, async () => {
			const port = new URL(b.url('/')).port, named = `/${WELL_KNOWN_ACCOUNT}/secret`;
			await ob.container(WELL_KNOWN_ACCOUNT);
			expectStatus(await ob.put(named, 'of another account'), 201);
			for (const host of [`${OTHER}.localhost:${port}`, `${OTHER}.blob.core.windows.net:${port}`, `127.0.0.1:${port}/${OTHER}`]) {
				const r = await b.copy(fresh(), `http://${host}${named}`, headers);
				assert.ok([401, 403, 404].includes(r.status), `${host}: ${r.status}`);
			}
		});
	test('the owner copies from the secondary address, and from a blob whose name looks like a signature', async () => {
		const from = await source('mine'), odd = `${fresh()}sig=1`;
		expectStatus(await b.copy(fresh(), String(b.url(from)).replace(`/${WELL_KNOWN_ACCOUNT}/`, `/${WELL_KNOWN_ACCOUNT}-secondary/`)), 202);
		expectStatus(await b.put(odd, 'odd'), 201);
		const snapshot = expectStatus(await b.comp(odd, 'snapshot'), 201).headers['x-ms-snapshot'];
		expectStatus(await b.copy(fresh(), b.url(odd, { snapshot })), 202);
	});
	test('another account without a SAS is refused, public blobs are not', async () => {
		const from = await source('secret');
		for (const form of Object.keys(FORMS)) {
			const r = await ob.copy(fresh(), b.url(from), FORMS[form]);
			assert.ok([401, 403, 404].includes(r.status), `${form}: ${r.status}`);
			assert.equal(r.code, 'CannotVerifyCopySource');
		}
		const open = uniqueName('open');
		expectStatus(await b.container(open, { 'x-ms-blob-public-access': 'blob' }), 201);
		expectStatus(await b.put(`/${open}/x`, 'public'), 201);
		const to = fresh();
		expectStatus(await ob.copy(to, b.url(`/${open}/x`)), 202);
		assert.equal((await ob.get(to)).text, 'public');
	});
	test('a SAS for the destination alone does not open the source', async () => {
		const from = await source('secret'), to = fresh();
		const sas = blobSas(server.account, server.key, home, to.split('/')[2], { sp: 'cw' });
		const r = await client.put(to, { sas, headers: { 'x-ms-copy-source': b.url(from) } });
		assert.ok([401, 403, 404].includes(r.status), `${r.status}`);
		expectStatus(await client.put(to, { sas, headers: { 'x-ms-copy-source': b.url(from, {}, blobSas(server.account, server.key, home, from.split('/')[2], { sp: 'r' })) } }), 202);
	});
	test("the development account's name at Azure is this server, as az writes it", async () => {
		const from = await source('by az');
		for (const form of Object.keys(FORMS)) {
			const to = fresh();
			const sas = form === 'Copy Blob' ? '' : `?${blobSas(server.account, server.key, home, from.split('/')[2], { sp: 'r' })}`;
			expectStatus(await b.copy(to, `https://devstoreaccount1.blob.core.windows.net${from}${sas}`, FORMS[form]), success(form));
			assert.equal((await b.get(to)).text, 'by az');
		}
	});
	test('another account beside the one that is asked, without a port: as behind a proxy', async () => {
		const from = fresh(), name = from.split('/')[2];
		expectStatus(await ob.put(from, 'from the other'), 201);
		const sas = blobSas(OTHER, OTHER_KEY, home, name, { sp: 'r' });
		const ask = (host, source, form) => {
			const to = fresh(), url = new URL(`http://127.0.0.1:${server.ports.blob}${to}`);
			url.search = blobSas(server.account, server.key, home, to.split('/')[2], { sp: 'cw' });
			const headers = { ...FORMS[form], host, 'x-ms-version': '2021-12-02', 'x-ms-copy-source': `${source}${from}?${sas}`, 'content-length': 0 };
			return send('PUT', url, headers).then((r) => ({ r, to }));
		};
		for (const form of Object.keys(FORMS)) {
			for (const source of [`https://${OTHER}.blob.storage.example`, `http://${OTHER.toUpperCase()}.Blob.Storage.Example`]) {
				const { r, to } = await ask(`${server.account}.blob.storage.example`, source, form);
				expectStatus(r, success(form));
				assert.equal((await b.get(to)).text, 'from the other');
			}
			for (const source of [`https://${OTHER}.blob.elsewhere.example`, 'https://third.blob.storage.example', `https://${OTHER}.blob.storage.example:81`, 'https://blob.storage.example'])
				expectError((await ask(`${server.account}.blob.storage.example`, source, form)).r, 403, 'CannotVerifyCopySource');
		}
	});
	test('foreign hosts are never asked', async () => {
		for (const url of ['http://example.com/a/b/c', 'https://devstoreaccount1.blob.core.windows.net.example.com/c/b', 'http://127.0.0.1:1/devstoreaccount1/c/b', 'http://169.254.169.254/latest/meta-data', 'http://[::1]:22/x/y/z'])
			for (const form of Object.keys(FORMS)) expectError(await b.copy(fresh(), url, FORMS[form]), 403, 'CannotVerifyCopySource');
		for (const url of ['file:///etc/passwd', 'not a url', '']) expectStatus(await b.copy(fresh(), url), 400);
	});
	test('what is not a blob is no source', async () => {
		const r = await b.copy(fresh(), b.url(`/${home}`, { restype: 'container', comp: 'list' }));
		assert.ok(r.status >= 400, `${r.status}`);
		const missing = await b.copy(fresh(), b.url(fresh()));
		assert.equal(`${missing.status} ${missing.code}`, '404 BlobNotFound');
		const sync = await b.copy(fresh(), b.readable(fresh()), SYNC);
		assert.equal(`${sync.status} ${sync.code}`, '404 CannotVerifyCopySource');
	});
});

describe('conditions', () => {
	const OLD = 'Sat, 01 Jan 2000 00:00:00 GMT', FUTURE = 'Thu, 01 Jan 2099 00:00:00 GMT', ETAG = '"0x8D0000000000000"';
	const SOURCE = [
		['x-ms-source-if-match', ETAG, 412, 412],
		['x-ms-source-if-unmodified-since', OLD, 412, 412],
		['x-ms-source-if-none-match', undefined, 412, 304],
		['x-ms-source-if-modified-since', FUTURE, 412, 304],
	];
	for (const [header, value, asyncStatus, syncStatus] of SOURCE)
		for (const form of Object.keys(FORMS))
			test(`${form}, ${header}`, async () => {
				const from = await source('x');
				const etag = (await b.head(from)).etag;
				const r = await b.copy(fresh(), b.readable(from), { ...FORMS[form], [header]: value ?? etag });
				if (form === 'Copy Blob') expectError(r, asyncStatus, 'SourceConditionNotMet');
				else {
					assert.equal(r.status, syncStatus);
					assert.equal(r.headers['x-ms-error-code'], 'CannotVerifyCopySource');
				}
				const met = { 'x-ms-source-if-match': etag, 'x-ms-source-if-unmodified-since': FUTURE, 'x-ms-source-if-none-match': ETAG, 'x-ms-source-if-modified-since': OLD };
				expectStatus(await b.copy(fresh(), b.readable(from), { ...FORMS[form], [header]: met[header] }), success(form));
			});
	for (const form of Object.keys(FORMS))
		test(`${form}, the destination's`, async () => {
			const from = await source('x'), to = await source('old');
			const unmet = form === 'Copy Blob' ? 'TargetConditionNotMet' : 'ConditionNotMet';
			const etag = (await b.head(to)).etag;
			const copy = (headers) => b.copy(to, b.readable(from), { ...FORMS[form], ...headers });
			expectError(await copy({ 'If-Match': ETAG }), 412, unmet);
			expectError(await copy({ 'If-None-Match': etag }), 412, unmet);
			expectError(await copy({ 'If-Modified-Since': FUTURE }), 412, unmet);
			expectError(await copy({ 'If-Unmodified-Since': OLD }), 412, unmet);
			expectError(await copy({ 'If-None-Match': '*' }), 409, 'BlobAlreadyExists');
			expectError(await copy({ 'If-Match': 'garbage' }), 412, 'TargetConditionNotMet');
			expectError(await copy({ 'x-ms-if-tags': "a = 'b'" }), 412, 'ConditionNotMet');
			assert.equal((await b.get(to)).text, 'old');
			expectStatus(await copy({ 'If-Match': etag }), success(form));
			assert.equal((await b.get(to)).text, 'x');
			expectStatus(await b.copy(fresh(), b.readable(from), { ...FORMS[form], 'If-None-Match': '*' }), success(form));
			expectStatus(await b.copy(fresh(), b.readable(from), { ...FORMS[form], 'If-Match': '*' }), 412);
		});
	test('what is no ETag at all has codes of its own', async () => {
		const from = await source(random(512)), page = fresh(), append = fresh();
		expectStatus(await b.pageBlob(page, 512), 201);
		expectStatus(await b.appendBlob(append), 201);
		const SOURCE = { 'x-ms-source-if-match': 'garbage' }, TARGET = { 'If-Match': 'garbage' };
		const url = { 'x-ms-copy-source': b.readable(from) };
		const pages = { ...url, 'x-ms-page-write': 'update', 'x-ms-source-range': 'bytes=0-511', 'x-ms-range': 'bytes=0-511' };
		for (const form of ['Copy Blob From URL', 'Put Blob From URL']) expectError(await b.copy(fresh(), b.readable(from), { ...FORMS[form], ...SOURCE }), 412, 'SourceConditionNotMet');
		expectError(await b.comp(fresh(), 'block', { ...url, ...SOURCE }, undefined, { blockid: base64('a') }), 412, 'SourceConditionNotMet');
		expectError(await b.comp(append, 'appendblock', { ...url, ...SOURCE }), 412, 'CannotVerifyCopySource');
		expectError(await b.comp(page, 'page', { ...pages, ...SOURCE }), 412, 'CannotVerifyCopySource');
		expectError(await b.comp(page, 'page', { ...pages, ...TARGET }), 412, 'TargetConditionNotMet');
		expectError(await b.comp(page, 'page', { ...pages, 'If-Match': ETAG }), 412, 'ConditionNotMet');
		expectError(await b.comp(append, 'appendblock', { ...url, ...TARGET }), 412, 'ConditionNotMet');
		expectError(await b.comp(page, 'metadata', TARGET), 412, 'ConditionNotMet');
	});
	const BAD = { 'x-ms-source-if-modified-since': 'yesterday', 'x-ms-source-if-unmodified-since': 'never', 'x-ms-source-lease-id': 'no-guid', 'x-ms-source-if-tags': 'a LIKE b' };
	for (const [header, value] of Object.entries(BAD))
		test(`a malformed ${header} is 400, whatever the source`, async () => {
			const from = await source('x'), page = fresh(), append = fresh();
			expectStatus(await b.pageBlob(page, 512), 201);
			expectStatus(await b.appendBlob(append), 201);
			for (const url of [b.readable(from), b.readable(fresh())]) {
				const headers = { 'x-ms-copy-source': url, [header]: value };
				for (const form of Object.keys(FORMS)) expectError(await b.copy(fresh(), url, { ...FORMS[form], ...headers }), 400, 'InvalidHeaderValue');
				expectError(await b.comp(fresh(), 'block', headers, undefined, { blockid: base64('a') }), 400, 'InvalidHeaderValue');
				expectError(await b.comp(append, 'appendblock', headers), 400, 'InvalidHeaderValue');
				expectError(await b.comp(page, 'page', { ...headers, 'x-ms-page-write': 'update', 'x-ms-source-range': 'bytes=0-511', 'x-ms-range': 'bytes=0-511' }), 400, 'InvalidHeaderValue');
			}
		});
	for (const form of Object.keys(FORMS))
		test(`${form}, x-ms-source-if-none-match: * is met by no source`, async () => {
			const from = await source('x'), OLD_VERSION = { 'x-ms-version': '2015-12-11' };
			const copy = (headers, url = b.readable(from)) => b.copy(fresh(), url, { ...FORMS[form], 'x-ms-source-if-none-match': '*', ...headers });
			const unmet = form === 'Copy Blob' ? [412, 'SourceConditionNotMet'] : [304, 'CannotVerifyCopySource'];
			const r = await copy({});
			assert.deepEqual([r.status, r.headers['x-ms-error-code']], unmet);
			assert.equal((await copy({}, b.readable(fresh()))).status, 404);
			expectStatus(await copy({ 'x-ms-source-if-modified-since': OLD }), success(form));
			expectStatus(await copy({ 'x-ms-source-if-modified-since': FUTURE }), unmet[0]);
			if (form === 'Copy Blob') expectStatus(await copy(OLD_VERSION), 202);
		});
	test('a source that cannot be read as asked is 400', async () => {
		const from = await source('x');
		for (const form of Object.keys(FORMS)) expectError(await b.copy(fresh(), b.readable(from, { snapshot: 'never' }), FORMS[form]), 400, 'CannotVerifyCopySource');
	});
	test('x-ms-source-if-tags', async () => {
		const from = await source('x', { 'x-ms-tags': 'a=b' });
		expectError(await b.copy(fresh(), b.readable(from), { 'x-ms-source-if-tags': "a = 'c'" }), 412, 'ConditionNotMet');
		expectStatus(await b.copy(fresh(), b.readable(from), { 'x-ms-source-if-tags': "a = 'b'" }), 202);
	});
});

describe('leases', () => {
	test('of the destination: the id, and an infinite one for Copy Blob', async () => {
		const from = await source('x'), to = await source('old');
		const id = await b.acquire(to, 60);
		for (const form of Object.keys(FORMS)) expectError(await b.copy(to, b.readable(from), FORMS[form]), 412, 'LeaseIdMissing');
		expectError(await b.copy(to, b.readable(from), { 'x-ms-lease-id': uuid() }), 412, 'LeaseIdMismatchWithBlobOperation');
		expectError(await b.copy(to, b.readable(from), { 'x-ms-lease-id': id }), 412, 'InfiniteLeaseDurationRequired');
		expectStatus(await b.copy(to, b.readable(from), { ...SYNC, 'x-ms-lease-id': id }), 202);
		expectStatus(await b.lease(to, 'release', { 'x-ms-lease-id': id }), 200);
		const forever = await b.acquire(to);
		expectStatus(await b.copy(to, b.readable(from), { 'x-ms-lease-id': forever }), 202);
		assert.equal((await b.head(to)).headers['x-ms-lease-state'], 'leased', 'the lease stays');
		expectError(await b.copy(fresh(), b.readable(from), { 'x-ms-lease-id': uuid() }), 412, 'LeaseNotPresentWithBlobOperation');
	});
	test('its id lets If-None-Match: * pass for Put Blob From URL, as for Put Blob', async () => {
		const from = await source('x'), to = await source('old');
		const id = await b.acquire(to);
		const copy = (form, lease) => b.copy(to, b.readable(from), { ...FORMS[form], 'If-None-Match': '*', 'x-ms-lease-id': lease });
		expectError(await copy('Put Blob From URL', uuid()), 412, 'LeaseIdMismatchWithBlobOperation');
		for (const form of ['Copy Blob', 'Copy Blob From URL']) expectError(await copy(form, id), 409, 'BlobAlreadyExists');
		assert.equal((await b.get(to)).text, 'old');
		expectStatus(await copy('Put Blob From URL', id), 201);
		assert.equal((await b.get(to)).text, 'x');
	});
	test('of the source does not matter, unless named', async () => {
		const from = await source('x');
		const id = await b.acquire(from);
		expectStatus(await b.copy(fresh(), b.readable(from)), 202);
		expectStatus(await b.copy(fresh(), b.readable(from), { 'x-ms-source-lease-id': id }), 202);
		expectStatus(await b.copy(fresh(), b.readable(from), { 'x-ms-source-lease-id': uuid() }), 412);
	});
});

// What the destination of a copy refuses, of any type.
const changes = (path) => ({
	'Put Blob': () => b.put(path, 'x'),
	'Put Block': () => b.block(path, 'id', 'x'),
	'Set Blob Metadata': () => b.comp(path, 'metadata', { 'x-ms-meta-a': 'b' }),
	'Set Blob Properties': () => b.comp(path, 'properties', { 'x-ms-blob-content-type': 'a/b' }),
	'Set Blob Tags': () => b.comp(path, 'tags', {}, '<Tags><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tags>'),
	'Set Blob Tier': () => b.comp(path, 'tier', { 'x-ms-access-tier': 'Cool' }),
	'Set Blob Legal Hold': () => b.comp(path, 'legalhold', { 'x-ms-legal-hold': 'true' }),
	'Snapshot Blob': () => b.comp(path, 'snapshot'),
	'Lease Blob': () => b.lease(path, 'acquire', { 'x-ms-lease-duration': 15 }),
	'Lease Blob, break': () => b.lease(path, 'break'),
});

describe('a copy that takes its time', () => {
	test('one that finds no place leaves its destination as it was', async () => {
		const from = await source(random(32 * MIB), {}, away);
		const to = Array.from({ length: 24 }, () => fresh());
		await Promise.all(to.map(async (path) => expectStatus(await b.put(path, `precious ${path}`), 201)));
		const answers = await Promise.all(to.map((path) => b.copy(path, b.readable(from))));
		assert.ok(answers.some((r) => r.status === 202));
		assert.ok(answers.some((r) => r.status === 503), 'more at a time than there are places');
		for (const [i, r] of answers.entries())
			if (r.status === 202) await settled(to[i]);
			else assert.equal(expectStatus(await b.get(to[i]), 200).text, `precious ${to[i]}`, `${r.status} ${r.code}`);
	});
	let large;
	const SIZE = scaled(48, 16) * MIB;
	before(async () => {
		large = container.getBlockBlobClient('large');
		await large.uploadData(random(SIZE), { blockSize: 8 * MIB });
	});
	// To another container: nothing can be shared, so a job brings the bytes.
	const start = async (to) => expectStatus(await b.copy(to, large.url), 202);

	test('pending, progress, success', async () => {
		const to = fresh(away);
		const r = await start(to);
		assert.equal(r.headers['x-ms-copy-status'], 'pending');
		const p = await b.head(to);
		assert.match(p.headers['x-ms-copy-progress'], new RegExp(`^\\d+/${SIZE}$`));
		const done = await settled(to);
		assert.equal(done.headers['x-ms-copy-progress'], `${SIZE}/${SIZE}`);
		assert.ok(done.headers['x-ms-copy-completion-time']);
		assert.notEqual(done.etag, r.etag, 'new at the start and at the end');
		const hash = (bytes) => crypto.createHash('sha256').update(bytes).digest('hex');
		assert.equal(hash((await b.get(to)).body), hash(await large.downloadToBuffer()));
	});
	test('while it is pending', async () => {
		const to = fresh(away);
		const r = await start(to);
		const pending = async (name, call) => {
			const a = await call();
			// The machine may have been faster than the test: then there is nothing pending to run into.
			if ((await b.head(to)).headers['x-ms-copy-status'] === 'pending') assert.deepEqual([a.status, a.code], [409, 'PendingCopyOperation'], name);
		};
		await pending('Copy Blob', () => b.copy(to, large.url));
		await Promise.all(Object.entries(changes(to)).map(([name, call]) => pending(name, call)));
		const abort = await b.comp(to, 'copy', { 'x-ms-copy-action': 'abort' }, undefined, { copyid: r.headers['x-ms-copy-id'] });
		if (abort.status === 204) {
			const p = expectStatus(await b.head(to), 200);
			assert.equal(p.headers['x-ms-copy-status'], 'aborted');
			assert.equal(p.headers['content-length'], '0');
			assert.notEqual(p.etag, r.etag);
			expectStatus(await b.put(to, 'usable again'), 201);
			assert.equal((await b.get(to)).text, 'usable again');
		} else expectError(abort, 409, 'NoPendingCopyOperation'); // and the lease and the hold of above may be on it
	});
	test('abort: refusals', async () => {
		const to = await source('x');
		const abort = (headers, query) => b.comp(to, 'copy', headers, undefined, query);
		expectError(await abort({ 'x-ms-copy-action': 'abort' }, { copyid: uuid() }), 409, 'NoPendingCopyOperation');
		expectError(await abort({}, { copyid: uuid() }), 400, 'MissingRequiredHeader');
		expectError(await abort({ 'x-ms-copy-action': 'stop' }, { copyid: uuid() }), 400, 'InvalidHeaderValue');
		expectError(await abort({ 'x-ms-copy-action': 'abort' }, {}), 400, 'MissingRequiredQueryParameter');
		expectError(await abort({ 'x-ms-copy-action': 'abort' }, { copyid: 'x' }), 400, 'InvalidQueryParameterValue');
		const busy = fresh(away);
		await start(busy);
		const r = await b.comp(busy, 'copy', { 'x-ms-copy-action': 'abort' }, undefined, { copyid: uuid() });
		assert.ok(['CopyIdMismatch', 'NoPendingCopyOperation'].includes(r.code) && r.status === 409, `${r.status} ${r.code}`);
		await settled(busy);
	});
	test('deleting the destination ends it', async () => {
		const to = fresh(away);
		await start(to);
		expectStatus(await b.delete(to), 202);
		expectStatus(await b.put(to, 'new'), 201);
		await new Promise((resolve) => setTimeout(resolve, 300));
		assert.equal((await b.get(to)).text, 'new');
	});
	test('the source may go while it is copied', async () => {
		const from = fresh(), to = fresh(away);
		const bytes = random(12 * MIB);
		await container.getBlockBlobClient(from.split('/')[2]).uploadData(bytes, { blockSize: 4 * MIB });
		expectStatus(await b.copy(to, b.readable(from)), 202);
		expectStatus(await b.delete(from), 202);
		await settled(to);
		assert.ok((await b.get(to)).body.equals(bytes));
	});
});

test('a copy that a crash interrupted ends as failed, and the blob can be used again', async () => {
	const own = await startServer();
	try {
		const c = new Client(own), blobs = new Blobs(c);
		for (const name of ['one', 'two']) expectStatus(await blobs.container(name), 201);
		const bytes = random(64 * MIB);
		expectStatus(await blobs.put('/one/large', bytes), 201);
		const r = expectStatus(await blobs.copy('/two/copy', blobs.url('/one/large')), 202);
		assert.equal(r.headers['x-ms-copy-status'], 'pending');
		await own.kill9();
		await own.restart();
		const copyid = r.headers['x-ms-copy-id'];
		const now = expectStatus(await blobs.head('/two/copy'), 200);
		assert.equal(now.headers['x-ms-copy-id'], copyid);
		if (now.headers['x-ms-copy-status'] === 'success') {
			// It was done before the crash came: then all of it is there.
			assert.ok((await blobs.get('/two/copy')).body.equals(bytes));
		} else {
			await own.advanceClock(120);
			const later = expectStatus(await blobs.head('/two/copy'), 200);
			assert.equal(later.headers['x-ms-copy-status'], 'failed');
			assert.ok(later.headers['x-ms-copy-status-description']);
			expectError(await blobs.comp('/two/copy', 'copy', { 'x-ms-copy-action': 'abort' }, undefined, { copyid }), 409, 'NoPendingCopyOperation');
		}
		expectStatus(await blobs.put('/two/copy', 'again'), 201);
		assert.equal((await blobs.get('/two/copy')).text, 'again');
		assert.ok((await blobs.get('/one/large')).body.equals(bytes));
	} finally {
		await own.remove();
	}
});

test('copies under racing overwrites of the source are of one version', async () => {
	for (const size of [200, 50_000]) {
		const from = await source(Buffer.alloc(size, 1));
		let value = 1, stop = false;
		const writing = (async () => {
			while (!stop) expectStatus(await b.put(from, Buffer.alloc(size, (value = (value % 250) + 1))), 201);
		})();
		const forms = Object.values(FORMS);
		try {
			for (let i = 0; i < scaled(45, 9); i++) {
				const to = fresh(i % 2 ? home : away);
				const r = await b.copy(to, b.readable(from), forms[i % 3]);
				assert.ok([201, 202].includes(r.status), `${r.status} ${r.code}`);
				const bytes = (await b.get(to)).body;
				assert.equal(bytes.length, size);
				assert.ok(bytes.every((byte) => byte === bytes[0]), 'torn');
			}
		} finally {
			stop = true;
			await writing;
		}
	}
});

// A source that is written whole each time: any mixture is torn. Copies into another container, which take their time.
for (const kind of ['short block list', 'long block list', 'page', 'append'])
	test(`copies under racing writes of the source: ${kind}`, async () => {
		const from = fresh();
		const size = kind === 'long block list' ? 5 * MIB : kind === 'short block list' ? 3000 : 64 * 1024;
		let value = 0, stop = false;
		const next = () => Buffer.alloc(size, (value = (value % 250) + 1));
		const write = {
			'short block list': async () => {
				const bytes = next();
				for (const id of ['a', 'b', 'c']) expectStatus(await b.block(from, id, bytes.subarray(0, size / 3)), 201);
				return b.blockList(from, ['a', 'b', 'c']);
			},
			'long block list': async () => {
				const bytes = next();
				for (const id of ['a', 'b', 'c', 'd', 'e']) expectStatus(await b.block(from, id, bytes.subarray(0, MIB)), 201);
				return b.blockList(from, ['a', 'b', 'c', 'd', 'e']);
			},
			page: () => b.pages(from, 0, next()),
			append: () => b.append(from, next()),
		}[kind];
		if (kind === 'page') expectStatus(await b.pageBlob(from, size), 201);
		if (kind === 'append') expectStatus(await b.appendBlob(from), 201);
		expectStatus(await write(), 201);
		const writing = (async () => {
			while (!stop) expectStatus(await write(), 201);
		})();
		try {
			for (let i = 0; i < scaled(24, 6); i++) {
				const to = fresh(away);
				const r = await b.copy(to, b.readable(from), kind.endsWith('list') && size < MIB && i % 2 ? SYNC : {});
				expectStatus(r, 202);
				await settled(to);
				const bytes = (await b.get(to)).body;
				if (kind === 'append') assert.equal(bytes.length % size, 0);
				else assert.equal(bytes.length, size);
				for (let at = 0; at < bytes.length; at += size) assert.ok(bytes.subarray(at, at + size).every((x) => x === bytes[at]), 'torn');
				if (kind.endsWith('list')) assert.equal((await b.blocks(to)).committed.length, kind === 'short block list' ? 3 : 5);
			}
		} finally {
			stop = true;
			await writing;
		}
	});

describe('from URL', () => {
	test('Put Block From URL', async () => {
		const bytes = random(3000);
		const from = await source(bytes), to = fresh();
		const stage = (id, headers = {}) => b.comp(to, 'block', { 'x-ms-copy-source': b.readable(from), ...headers }, undefined, { blockid: base64(id) });
		const r = expectStatus(await stage('a', { 'x-ms-source-range': 'bytes=100-199' }), 201);
		assert.equal(r.headers['x-ms-content-crc64'], crc64(bytes.subarray(100, 200)));
		assert.equal(r.etag, undefined);
		expectStatus(await stage('b'), 201);
		expectStatus(await stage('c', { 'x-ms-source-range': 'bytes=0-9', 'x-ms-source-content-md5': md5(bytes.subarray(0, 10)) }), 201);
		expectStatus(await stage('d', { 'x-ms-source-range': 'bytes=0-9', 'x-ms-source-content-crc64': crc64(bytes.subarray(0, 10)) }), 201);
		expectError(await stage('e', { 'x-ms-source-content-md5': md5('x') }), 400, 'Md5Mismatch');
		expectError(await stage('e', { 'x-ms-source-content-crc64': crc64('x') }), 400, 'Crc64Mismatch');
		expectStatus(await stage('e', { 'x-ms-source-range': 'bytes=3000-3001' }), 416);
		expectStatus(await b.blockList(to, ['a', 'b', 'c', 'd']), 201);
		assert.ok((await b.get(to)).body.equals(Buffer.concat([bytes.subarray(100, 200), bytes, bytes.subarray(0, 10), bytes.subarray(0, 10)])));
		assert.equal((await stage('f', { 'x-ms-source-if-match': '"0x8D0000000000000"' })).headers['x-ms-error-code'], 'CannotVerifyCopySource');
		expectStatus(await b.comp(to, 'block', { 'x-ms-copy-source': b.readable(from) }, 'body', { blockid: base64('g') }), 400);
		expectError(await b.comp(to, 'block', { 'x-ms-copy-source': b.readable(fresh()) }, undefined, { blockid: base64('g') }), 404, 'CannotVerifyCopySource');
	});
	test('Append Block From URL', async () => {
		const bytes = random(2000);
		const from = await source(bytes), to = fresh();
		expectStatus(await b.appendBlob(to), 201);
		const append = (headers = {}) => b.comp(to, 'appendblock', { 'x-ms-copy-source': b.readable(from), ...headers });
		const r = expectStatus(await append({ 'x-ms-source-range': 'bytes=10-19' }), 201);
		assert.equal(r.headers['x-ms-blob-append-offset'], '0');
		expectStatus(await append({ 'x-ms-blob-condition-appendpos': 10 }), 201);
		expectError(await append({ 'x-ms-blob-condition-appendpos': 10 }), 412, 'AppendPositionConditionNotMet');
		expectError(await append({ 'x-ms-blob-condition-maxsize': 2011 }), 412, 'MaxBlobSizeConditionNotMet');
		expectError(await append({ 'x-ms-source-content-md5': md5('x') }), 400, 'Md5Mismatch');
		assert.ok((await b.get(to)).body.equals(Buffer.concat([bytes.subarray(10, 20), bytes])));
	});
	test('blocks as long as the plain operations take them', async () => {
		const from = fresh(), to = fresh();
		await container.getBlockBlobClient(from.split('/')[2]).uploadData(random(100 * MIB + 1024), { blockSize: 50 * MIB });
		expectStatus(await b.appendBlob(to), 201);
		const ask = (comp, version, headers = {}) =>
			client.put(to, { version, query: { comp, blockid: comp === 'block' ? base64('a') : undefined }, headers: { 'x-ms-copy-source': b.readable(from), ...headers } });
		const tooLarge = (r, limit) => assert.equal(element(expectError(r, 413, 'RequestBodyTooLarge').text, 'MaxLimit'), String(limit));
		tooLarge(await ask('appendblock', '2021-12-02', { 'x-ms-source-range': range(0, 4 * MIB + 1) }), 4 * MIB);
		expectStatus(await ask('appendblock', '2021-12-02', { 'x-ms-source-range': range(0, 4 * MIB) }), 201);
		tooLarge(await ask('appendblock', '2023-11-03'), 100 * MIB);
		expectStatus(await ask('appendblock', '2023-11-03', { 'x-ms-source-range': range(0, 4 * MIB + 1) }), 201);
		assert.equal((await b.head(to)).headers['content-length'], String(8 * MIB + 1));
		expectStatus(await b.delete(to), 202);
		tooLarge(await ask('block', '2018-11-09'), 100 * MIB);
		expectStatus(await ask('block', '2018-11-09', { 'x-ms-source-range': range(0, 100 * MIB) }), 201);
		expectStatus(await ask('block', '2020-04-08'), 201);
	});
	test('a source range is from here to there, or to the end', async () => {
		const bytes = random(2048), from = await source(bytes), append = fresh(), page = fresh();
		expectStatus(await b.appendBlob(append), 201);
		expectStatus(await b.pageBlob(page, 2048), 201);
		const url = { 'x-ms-copy-source': b.readable(from) };
		for (const bad of ['bytes=-5', 'bytes=5', 'bytes=9-5', 'bytes=a-b', 'bytes=0-1,3-4', 'items=0-5', '0-5', 'bytes=0-5x', '']) {
			const headers = { ...url, 'x-ms-source-range': bad };
			expectError(await b.comp(append, 'appendblock', headers), 400, 'InvalidHeaderValue');
			expectError(await b.comp(fresh(), 'block', headers, undefined, { blockid: base64('a') }), 400, 'InvalidHeaderValue');
			expectError(await b.comp(page, 'page', { ...headers, 'x-ms-page-write': 'update', 'x-ms-range': range(0, 2048) }), 400, 'InvalidHeaderValue');
		}
		assert.equal((await b.head(append)).headers['content-length'], '0');
		assert.ok((await b.get(page)).body.equals(Buffer.alloc(2048)));
		expectStatus(await b.comp(append, 'appendblock', { ...url, 'x-ms-source-range': 'bytes=2000-' }), 201);
		assert.ok((await b.get(append)).body.equals(bytes.subarray(2000)));
	});
	test('Put Page From URL', async () => {
		const bytes = random(2048);
		const from = await source(bytes), to = fresh();
		expectStatus(await b.pageBlob(to, 2048, { 'x-ms-blob-sequence-number': 3 }), 201);
		const write = (sourceRange, range, headers = {}) =>
			b.comp(to, 'page', { 'x-ms-page-write': 'update', 'x-ms-copy-source': b.readable(from), 'x-ms-source-range': sourceRange, 'x-ms-range': range, ...headers });
		expectStatus(await write('bytes=512-1023', 'bytes=0-511'), 201);
		expectStatus(await write('bytes=0-511', 'bytes=1536-2047', { 'x-ms-source-content-md5': md5(bytes.subarray(0, 512)) }), 201);
		const want = Buffer.concat([bytes.subarray(512, 1024), Buffer.alloc(1024), bytes.subarray(0, 512)]);
		assert.ok((await b.get(to)).body.equals(want));
		expectStatus(await write('bytes=0-1023', 'bytes=0-511'), 400);
		expectStatus(await write(undefined, 'bytes=0-511'), 400);
		expectError(await write('bytes=0-511', 'bytes=0-511', { 'x-ms-page-write': 'clear' }), 400, 'InvalidHeaderValue');
		expectError(await write('bytes=0-511', 'bytes=0-511', { 'x-ms-page-write': undefined }), 400, 'MissingRequiredHeader');
		expectError(await write('bytes=0-511', 'bytes=2048-2559'), 416, 'InvalidPageRange');
		expectError(await write('bytes=0-511', 'bytes=0-511', { 'x-ms-if-sequence-number-lt': 3 }), 412, 'SequenceNumberConditionNotMet');
		expectError(await write('bytes=0-511', 'bytes=0-511', { 'x-ms-source-content-crc64': crc64('x') }), 400, 'Crc64Mismatch');
		assert.ok((await b.get(to)).body.equals(want));
	});
});

describe('incremental copy', () => {
	test('snapshot by snapshot', async () => {
		const from = fresh(), to = fresh();
		expectStatus(await b.pageBlob(from, 2048), 201);
		expectStatus(await b.pages(from, 0, Buffer.alloc(512, 1)), 201);
		const one = await b.snapshot(from);
		const copy = (url) => b.comp(to, 'incrementalcopy', { 'x-ms-copy-source': url });
		expectStatus(await copy(b.url(from, { snapshot: one })), 202);
		const p = await settled(to);
		assert.equal(p.headers['x-ms-incremental-copy'], 'true');
		const kept = p.headers['x-ms-copy-destination-snapshot'];
		assert.equal((await b.get(to, {}, { snapshot: kept })).body[0], 1);
		expectStatus(await b.pages(from, 512, Buffer.alloc(512, 2)), 201);
		const two = await b.snapshot(from);
		expectStatus(await copy(b.url(from, { snapshot: two })), 202);
		await settled(to);
		const next = (await b.head(to)).headers['x-ms-copy-destination-snapshot'];
		assert.equal((await b.get(to, {}, { snapshot: next })).body[512], 2);
		assert.equal((await b.get(to, {}, { snapshot: kept })).body[512], 0);
		assert.deepEqual(await b.ranges(to, { snapshot: next }), [[0, 1023]]);
		expectStatus(await copy(b.url(from, { snapshot: one })), 409);
		expectError(await copy(b.url(from)), 409, 'IncrementalCopySourceMustBeSnapshot');
	});
	test('the destination knows properties, the next copy and delete', async () => {
		const from = fresh(), to = fresh();
		expectStatus(await b.pageBlob(from, 512), 201);
		const snapshot = await b.snapshot(from);
		expectStatus(await b.comp(to, 'incrementalcopy', { 'x-ms-copy-source': b.url(from, { snapshot }) }), 202);
		const p = await settled(to);
		const refused = {
			'Get Blob': () => b.get(to),
			'Get Page Ranges': () => b.get(to, {}, { comp: 'pagelist' }),
			'Put Page': () => b.pages(to, 0, Buffer.alloc(512)),
			...changes(to),
		};
		for (const name of ['Set Blob Tags', 'Lease Blob', 'Lease Blob, break']) delete refused[name]; // these it may
		for (const [name, call] of Object.entries(refused)) {
			const r = await call();
			assert.deepEqual([r.status, r.code], [409, 'OperationNotAllowedOnIncrementalCopyBlob'], name);
		}
		expectError(await b.copy(fresh(), b.url(to)), 409, 'OperationNotAllowedOnIncrementalCopyBlob');
		assert.equal(expectStatus(await b.head(to), 200).etag, p.etag);
		expectStatus(await b.delete(to, { 'x-ms-delete-snapshots': 'include' }), 202);
	});
});
